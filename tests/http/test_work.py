# SPDX-License-Identifier: MIT
"""Remote activity workers: leases, fencing, restarts, and the Python module."""
import signal
import threading
import time

from kit import Server, expect

W = "/api/v1/work/"


def poll(server, **more):
    body = {"activities": ["Charge"], "max": 10, "wait_ms": 0, "lock_ms": 30000, **more}
    return expect(server.post(W + "poll", body, fresh="wait_ms" in more), 200).json["items"]


def poll_one(server, **more):
    items = poll(server, wait_ms=5000, **more)
    assert len(items) == 1, items
    return items[0]


def test_poll_and_complete(server):
    server.start_instance("RemoteOrder", {"amount": 3}, "r-1")
    item = poll_one(server)
    assert item["instance"] == "r-1" and item["activity"] == "Charge" and item["attempt"] == 1
    assert item["input"] == {"amount": 3} and item["execution"] == 1 and item["id"] == 1
    assert item["key"] and item["locked_until"] > time.time() * 1000 + 20000
    assert poll(server) == []
    waits = server.get("/api/v1/instances/r-1").json["waiting_for"]
    assert waits[0]["running"] is True
    expect(server.post(W + item["token"] + "/complete", '{"result":{"receipt" : 42}}'), 200)
    assert server.ended("r-1")["output"] == {"receipt": 42}
    assert b'"output":{"receipt" : 42}' in server.get("/api/v1/instances/r-1").body
    expect(server.post(W + item["token"] + "/complete", '{"result":{"receipt" : 42}}'), 200,
           recorded=True)
    expect(server.post(W + item["token"] + "/complete", {"result": 1}), 410, "lost")
    expect(server.post(W + item["token"] + "/fail", {"error": "x"}), 410, "lost")
    expect(server.post(W + "w999.x/complete", {"result": 1}), 410, "lost")
    expect(server.post(W + "nonsense/fail", {"error": "x"}), 410, "lost")
    expect(server.post(W + "nonsense/abandon"), 410, "lost")


def test_poll_waits(server):
    began = time.monotonic()
    assert poll(server, wait_ms=400) == []
    assert 0.35 < time.monotonic() - began < 5
    got = []
    thread = threading.Thread(target=lambda: got.extend(poll(server, wait_ms=20000)))
    thread.start()
    time.sleep(0.3)
    began = time.monotonic()
    server.start_instance("RemoteOrder", 1, "w-1")
    thread.join(10)
    assert len(got) == 1 and time.monotonic() - began < 2


def test_many_pollers_each_item_once(server):
    got, lock = [], threading.Lock()

    def run():
        while True:
            items = poll(server, wait_ms=1500, max=3)
            if not items:
                return
            with lock:
                got.extend(i["token"] for i in items)
            for i in items:
                expect(server.post(W + i["token"] + "/complete", {"result": i["input"]}, fresh=True),
                       200)
    threads = [threading.Thread(target=run) for _ in range(8)]
    for t in threads:
        t.start()
    ids = [server.start_instance("RemoteOrder", i) for i in range(60)]
    for i, id in enumerate(ids):
        assert server.ended(id)["output"] == i
    for t in threads:
        t.join(20)
    assert len(got) == 60 and len(set(got)) == 60


def test_fail(server):
    server.start_instance("RemoteOrder", 1, "f-1")
    expect(server.post(W + poll_one(server)["token"] + "/fail", {"error": "card refused"}), 200)
    assert server.ended("f-1")["error"] == "card refused"
    server.start_instance("RemoteRetry", 1, "f-2")
    for attempt in (1, 2):
        item = poll_one(server)
        assert item["attempt"] == attempt and item["instance"] == "f-2"
        expect(server.post(W + item["token"] + "/fail", {"error": "busy", "retryable": True}), 200)
    third = poll_one(server)
    assert third["attempt"] == 3 and third["key"] == item["key"]
    expect(server.post(W + third["token"] + "/complete", {"result": "done"}), 200)
    assert server.ended("f-2")["output"] == "done"
    server.start_instance("RemoteRetry", 1, "f-3")
    expect(server.post(W + poll_one(server)["token"] + "/fail",
                       {"error": {"code": 7}, "retryable": False}), 200)
    assert server.ended("f-3")["error"] == '{"code": 7}'


def test_tries_are_told_and_recorded(server):
    server.start_instance("RemoteRetry", 1, "t-1")
    before = time.time() * 1000
    first = poll_one(server, worker="w-one")
    waits = server.get("/api/v1/instances/t-1").json["waiting_for"][0]
    assert abs(waits["started_at"] - before) < 5000 and "tries" not in waits
    expect(server.post(W + first["token"] + "/fail", {"error": "busy", "retryable": True}), 200)
    second = poll_one(server, worker="w-two")
    waits = server.get("/api/v1/instances/t-1").json["waiting_for"][0]
    assert [(t["n"], t["worker"], t["error"]) for t in waits["tries"]] == [(1, "w-one", "busy")]
    assert waits["worker"] == "w-two" and waits["started_at"] >= waits["tries"][0]["to"]
    expect(server.post(W + second["token"] + "/complete", {"result": "done"}), 200)
    server.ended("t-1")
    done = server.get("/api/v1/instances/t-1/history").json["events"][2]
    assert done["attempts"] == 2 and done["attrs"]["worker"] == "w-two", done
    assert done["attrs"]["tries"] == waits["tries"]
    assert done["attrs"]["started_ms"] == waits["started_at"]


def test_lease_expires_and_fences(server):
    server.start_instance("RemoteOrder", 1, "x-1")
    first = poll_one(server, lock_ms=1000)
    second = poll_one(server)                  # a waiting poll is woken by the end of the lease
    assert second["attempt"] == 2 and second["token"] != first["token"]
    assert second["key"] == first["key"]
    expect(server.post(W + first["token"] + "/complete", {"result": "late"}), 410, "lost")
    expect(server.post(W + first["token"] + "/heartbeat"), 410, "lost")
    expect(server.post(W + first["token"] + "/abandon"), 410, "lost")
    expect(server.post(W + second["token"] + "/complete", {"result": "good"}), 200)
    assert server.ended("x-1")["output"] == "good"   # a lost lease used up no attempt


def test_heartbeat(server):
    server.start_instance("RemoteOrder", 1, "h-1")
    item = poll_one(server, lock_ms=1000)
    for _ in range(4):
        time.sleep(0.5)
        reply = expect(server.post(W + item["token"] + "/heartbeat", {"lock_ms": 1000,
                                                                    "details": {"at": 5}}), 200)
        assert reply.json["cancelled"] is False
        assert abs(reply.json["locked_until"] - time.time() * 1000 - 1000) < 900
    assert poll(server) == []
    expect(server.post("/api/v1/instances/h-1/cancel"), 202)
    server.ended("h-1")
    expect(server.post(W + item["token"] + "/heartbeat"), 200, cancelled=True)
    expect(server.post(W + item["token"] + "/complete", {"result": 1}), 410, "lost")


def test_s39_details_of_heartbeats(server):
    server.start_instance("RemoteRetry", 1, "hd-1")
    first = poll_one(server, worker="w-one")
    assert "details" not in first
    beat = W + first["token"] + "/heartbeat"
    expect(server.post(beat, '{"details":{"page" : 7}}'), 200)
    expect(server.post(beat, {"lock_ms": 5000}), 200)          # those before stand
    big = server.post(beat, {"details": "x" * 16383})          # with its quotes: 16385
    expect(big, 413, "too_large")
    assert "16385 bytes are over the limit of 16384" in big.json["error"]["message"]
    waits = server.get("/api/v1/instances/hd-1").json["waiting_for"][0]
    assert waits["details"] == {"page": 7}
    why = server.get("/api/v1/instances/hd-1/why").json
    assert 'it got to {"page" : 7}' in why["sentence"], why
    expect(server.post(W + first["token"] + "/fail", {"error": "busy"}), 200)
    second = poll_one(server, worker="w-two")
    assert second["attempt"] == 2 and second["details"] == {"page": 7}
    expect(server.post(W + second["token"] + "/heartbeat", {"details": "x" * 16382}), 200)
    expect(server.post(W + second["token"] + "/abandon"), 200)
    third = poll_one(server)
    assert third["details"] == "x" * 16382
    expect(server.post(W + third["token"] + "/complete", {"result": "done"}), 200)
    server.ended("hd-1")
    assert b"page" not in server.get("/api/v1/instances/hd-1/history").body


def test_s39_details_survive_kill_9():
    with Server() as server:
        server.start_instance("RemoteOrder", 1, "hk-1")
        item = poll_one(server, lock_ms=1000)
        expect(server.post(W + item["token"] + "/heartbeat", {"lock_ms": 1000,
                                                            "details": [1, 2]}), 200)
        server.stop(signal.SIGKILL)
        server.start()
        again = poll_one(server)
        assert again["attempt"] == 2 and again["details"] == [1, 2]


def test_abandon(server):
    server.start_instance("RemoteOrder", 1, "a-1")
    item = poll_one(server)
    expect(server.post(W + item["token"] + "/abandon", {"delay_ms": 600}), 200)
    assert poll(server) == []
    began = time.monotonic()
    again = poll_one(server)
    assert 0.2 < time.monotonic() - began and again["attempt"] == 1
    expect(server.post(W + item["token"] + "/complete", {"result": 1}), 410, "lost")
    expect(server.post(W + again["token"] + "/abandon"), 200)
    assert poll_one(server)["attempt"] == 1


def test_tags(server):
    server.start_instance("RemoteTagged", 1, "t-1")
    server.start_instance("RemoteOrder", 1, "t-2")
    assert poll_one(server)["instance"] == "t-2"
    assert poll(server, tags=["cpu"]) == []
    assert poll_one(server, tags=["cpu", "gpu"])["instance"] == "t-1"


def test_workers(server):
    server.start_instance("RemoteOrder", 1, "wk-1")
    item = poll_one(server, worker="adam", tags=["gpu"])
    me = [w for w in expect(server.get("/api/v1/workers"), 200).json["items"] if w["worker"] == "adam"]
    assert len(me) == 1 and me[0]["activities"] == ["Charge"] and me[0]["tags"] == ["gpu"], me
    held = [h for h in me[0]["leases"] if h["instance"] == "wk-1"]
    assert len(held) == 1 and held[0]["locked_until"] == item["locked_until"], me
    why = server.get("/api/v1/instances/wk-1/why").json
    assert "running at adam until " in why["sentence"], why
    assert why["waiting_for"][0]["worker"] == "adam"
    assert why["waiting_for"][0]["leased_until"] == item["locked_until"]
    expect(server.post(W + item["token"] + "/complete", {"result": 1}), 200)
    assert server.ended("wk-1")["status"] == "completed"
    me = [w for w in server.get("/api/v1/workers").json["items"] if w["worker"] == "adam"]
    assert all(h["instance"] != "wk-1" for h in me[0]["leases"]), me


def test_bad_polls(server):
    for bad in ({}, {"activities": []}, {"activities": "Charge"}, {"activities": [1]},
                {"activities": ["a/b"]}, {"activities": ["A"] * 101},
                {"activities": ["A"], "max": 0}, {"activities": ["A"], "max": 101},
                {"activities": ["A"], "max": 1.5}, {"activities": ["A"], "wait_ms": 60001},
                {"activities": ["A"], "lock_ms": 10}, {"activities": ["A"], "lock_ms": -1},
                {"activities": ["A"], "tags": "x"}, {"activities": ["A"], "worker": 1}):
        assert server.post(W + "poll", bad).status == 400, bad


def test_lease_survives_restart(server):
    server.start_instance("RemoteOrder", 7, "s-1")
    item = poll_one(server)
    server.restart()
    assert poll(server) == []
    expect(server.post(W + item["token"] + "/heartbeat"), 200, cancelled=False)
    server.restart()
    expect(server.post(W + item["token"] + "/complete", {"result": 8}), 200)
    assert server.ended("s-1")["output"] == 8


def test_lease_ends_while_the_server_is_down(server):
    server.start_instance("RemoteOrder", 7, "s-2")
    first = poll_one(server, lock_ms=1000)
    server.stop()
    time.sleep(1.2)
    server.start()
    second = poll_one(server)
    assert second["attempt"] == 2
    expect(server.post(W + first["token"] + "/complete", {"result": 8}), 410, "lost")


def test_poison():
    with Server("--max-attempts", "2") as server:
        server.start_instance("RemoteOrder", 7, "p-1")
        poll_one(server, lock_ms=1000)
        poll_one(server, lock_ms=1000)
        assert "poison" in server.ended("p-1")["error"]


def test_stopping_answers_waiting_polls(server):
    replies = []
    thread = threading.Thread(target=lambda: replies.append(server.post(
        W + "poll", {"activities": ["Charge"], "wait_ms": 50000}, fresh=True)))
    thread.start()
    time.sleep(0.3)
    assert server.stop() == 0
    thread.join(10)
    assert replies and replies[0].status == 503, replies


def test_python_worker(server):
    import pawl
    client = pawl.Client(server.url)
    worker = pawl.Worker(client, concurrency=4, lock_seconds=1.0)
    seen = []

    @worker.activity("Charge")
    def charge(amount, task):
        seen.append((task.instance, task.attempt, task.key))
        if amount == "slow":
            time.sleep(2.5)                     # longer than the lease: heartbeats keep it
        if amount == "bad":
            raise pawl.Final("no such card")
        if amount == "once" and task.attempt < 3:
            raise ValueError("try again")
        return {"charged": amount}

    thread = threading.Thread(target=worker.run, args=(False,))
    thread.start()
    ids = [client.start("RemoteOrder", i)["instance"] for i in range(20)]
    slow = client.start("RemoteOrder", "slow")["instance"]
    bad = client.start("RemoteRetry", "bad")["instance"]
    once = client.start("RemoteRetry", "once")["instance"]
    assert [client.wait(i, 20)["output"]["charged"] for i in ids] == list(range(20))
    assert client.wait(once, 20)["output"] == {"charged": "once"}
    assert "no such card" in client.wait(bad, 20)["error"]
    assert client.wait(slow, 20)["output"] == {"charged": "slow"}
    assert sum(1 for s in seen if s[0] == slow) == 1
    server.restart()
    assert client.wait(client.start("RemoteOrder", "after")["instance"], 20)["status"] == "completed"
    worker.stop()
    thread.join(15)
    assert not thread.is_alive()


def test_python_client(server):
    import pawl
    client = pawl.Client(server.url)
    assert client.start("Ask", instance="py")["created"] is True
    try:
        client.wait("py", 0.2)
        raise AssertionError("no time-out")
    except TimeoutError:
        pass
    client.raise_event("py", "Answer", {"ok": [1, 2]}, key="k")
    assert client.wait("py")["output"] == {"ok": [1, 2]}
    assert [e["kind"] for e in client.history("py")][0] == "OrchestrationStarted"
    for call, error in ((lambda: client.get("nobody"), pawl.NotFound),
                        (lambda: client.raise_event("py", "Answer"), pawl.Conflict)):
        try:
            call()
            raise AssertionError("no error")
        except error as e:
            assert e.code and e.message
