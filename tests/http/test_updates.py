# SPDX-License-Identifier: MIT
"""POST …/updates/{name} and GET …/updates/{id}: requests that the code of an instance answers."""
import http.client
import json
import random
import socket
import threading
import time

from kit import Server, expect

I = "/api/v1/instances/"


def ask(server, instance, data, key=None, query="", name="add", fresh=False):
    headers = {"Idempotency-Key": key} if key else {}
    return server.post(I + instance + "/updates/" + name + query, json.dumps(data), headers=headers,
                       **({"fresh": True} if fresh else {}))


def test_it_is_answered_rejected_or_refused(server):
    server.start_instance("Account", 10, "u-1")
    got = expect(ask(server, "u-1", 5), 200).json
    assert got["result"] == 15 and len(got["update"]) == 36
    found = expect(server.get(I + "u-1/updates/" + got["update"]), 200).json
    assert found == got
    no = expect(ask(server, "u-1", -1, "k-no"), 409).json["error"]
    assert no == {"code": "rejected", "message": "not minus one"}
    assert expect(server.get(I + "u-1/updates/k-no"), 409).json["error"] == no
    before = len(expect(server.get(I + "u-1/history"), 200).json["events"])
    refused = expect(ask(server, "u-1", "five", "k-bad"), 422).json["error"]
    assert refused == {"code": "refused", "message": '"five" is no number'}
    assert len(server.get(I + "u-1/history").json["events"]) == before
    expect(server.get(I + "u-1/updates/k-bad"), 404)
    expect(ask(server, "nobody", 1), 404)
    expect(ask(server, "u-1", 1, query="?timeout=1"), 400)
    expect(ask(server, "u-1", 1, query="?timeout_ms=60001"), 400)
    expect(ask(server, "u-1", 1, key="k" * 129), 413)
    why = expect(server.get(I + "u-1/why"), 200).json
    assert "update 'add'" in why["sentence"], why


def test_the_same_key_gives_the_same_answer(server):
    server.start_instance("Account", 0, "u-2")
    answers = []

    def run():
        answers.append(ask(server, "u-2", 7, "k", fresh=True))
    threads = [threading.Thread(target=run) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
    assert [expect(a, 200).json for a in answers] == [{"update": "k", "result": 7}] * 8
    kinds = [e["kind"] for e in server.get(I + "u-2/history").json["events"]]
    assert kinds.count("UpdateAccepted") == 1
    other = expect(ask(server, "u-2", 8, "k"), 409).json["error"]
    assert other["code"] == "conflict" and "other data" in other["message"]
    server.post(I + "u-2/events/end", "1")
    server.ended("u-2")
    assert expect(ask(server, "u-2", 7, "k"), 200).json["result"] == 7       # after the end, too
    assert expect(ask(server, "u-2", 1), 410).json["error"]["code"] == "lost"


def test_what_nobody_takes_waits(server):
    server.start_instance("Account", 0, "u-3")
    began = time.monotonic()
    got = expect(ask(server, "u-3", 1, query="?timeout_ms=300", name="other"), 202).json
    assert list(got) == ["update"] and time.monotonic() - began >= 0.28
    path = I + "u-3/updates/" + got["update"]
    assert expect(server.get(path), 202).json == got
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.get(path + "?wait_ms=20000", fresh=True)))
               for _ in range(3)]
    threads.append(threading.Thread(
        target=lambda: answers.append(ask(server, "u-3", 2, query="?timeout_ms=20000", name="other", fresh=True))))
    for t in threads:
        t.start()
    time.sleep(0.3)
    assert not answers
    assert "2 updates wait that it has not taken yet" in server.get(I + "u-3/why").json["sentence"]
    server.post(I + "u-3/events/end", "1")
    for t in threads:
        t.join(20)
    for a in answers:
        assert expect(a, 410).json["error"]["code"] == "lost"


def test_python(server):
    import pawl
    client = pawl.Client(server.url)
    server.start_instance("Account", 1, "u-4")
    assert client.update("u-4", "add", 4, key="k") == 5
    assert client.update("u-4", "add", 4, key="k") == 5
    assert client.update_result("u-4", "k") == 5
    for data, error in ((-1, pawl.Rejected), ("x", pawl.Refused)):
        try:
            client.update("u-4", "add", data)
            assert False
        except error:
            pass
    try:
        client.update("u-4", "none", 1, timeout_ms=100)
        assert False
    except pawl.Pending as e:
        assert len(e.update) == 36


def test_a_client_that_goes_is_not_waited_for(server):
    """1,000 calls wait, hold no thread, and end when their clients go."""
    server.start_instance("Account", 0, "u-5")
    conns = []
    for n in range(1000):
        conn = socket.create_connection(("127.0.0.1", server.port))
        conn.sendall(b"POST /api/v1/instances/u-5/updates/none?timeout_ms=60000 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     b"Content-Type: application/json\r\nContent-Length: 1\r\n\r\n1")
        conns.append(conn)
    began = time.monotonic()
    while "1000 updates wait" not in server.get(I + "u-5/why").json["sentence"]:
        assert time.monotonic() - began < 20, server.get(I + "u-5/why").json["sentence"]
        time.sleep(0.1)
    assert expect(ask(server, "u-5", 3), 200).json["result"] == 3
    for conn in conns:
        conn.close()
    assert expect(ask(server, "u-5", 3), 200).json["result"] == 6


def test_kills_and_an_external_checker():
    """32 clients add under keys while the server is killed: each key counts once, and the answers are
    an order in which each could have been executed between its first request and its answer."""
    server = Server()
    server.start_instance("Account", 0, "u-6")
    done, stop = [], time.monotonic() + 12
    lock = threading.Lock()

    def client(no):
        dice = random.Random(no)
        n = 0
        while time.monotonic() < stop:
            n += 1
            amount, began, got = dice.randint(1, 9), time.monotonic(), None
            while got is None:
                try:
                    got = ask(server, "u-6", amount, "c%d-%d" % (no, n), fresh=True)
                    if got.status in (202, 503):
                        got = None
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05)
            assert got.status == 200, got
            with lock:
                done.append((got.json["result"], amount, began, time.monotonic()))
    threads = [threading.Thread(target=client, args=(n,)) for n in range(32)]
    for t in threads:
        t.start()
    while time.monotonic() < stop:
        time.sleep(1)
        server.restart()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    done.sort()
    total = 0
    for result, amount, began, ended in done:           # each sum follows from the one before it
        total += amount
        assert result == total, (result, total)
    latest = 0
    for result, amount, began, ended in done:           # and no answer came before an earlier one began
        assert ended >= latest, "not linearizable"
        latest = max(latest, began)
    assert len(done) > 100
    print("updates under kills: %d" % len(done))
    server.stop()


def test_s67_a_start_answers_with_its_update(server):
    body = {"orchestration": "Account", "input": 10, "instance": "us-1",
            "update": {"name": "add", "data": 5}}
    got = expect(server.post("/api/v1/instances", body), 201).json
    assert got == {"instance": "us-1", "execution": 1, "created": True,
                   "update": {"update": "start", "result": 15}}, got
    again = expect(server.post("/api/v1/instances", body), 200).json
    assert again["created"] is False and again["update"] == got["update"]
    kinds = [e["kind"] for e in server.get(I + "us-1/history").json["events"]]
    assert kinds.count("UpdateAccepted") == 1
    use = {**body, "if_exists": "use", "update": {"name": "add", "data": -1, "key": "k"}}
    assert expect(server.post("/api/v1/instances", use), 200).json["update"] == {
        "update": "k", "rejected": "not minus one"}
    late = {**body, "instance": "us-2", "update": {"name": "nobody", "data": 1, "timeout_ms": 50}}
    assert expect(server.post("/api/v1/instances", late), 201).json["update"] == {"update": "start"}
    no = {**body, "instance": "us-3", "update": {"name": "add", "data": "five"}}
    said = expect(server.post("/api/v1/instances", no), 201).json["update"]
    assert "no update 'start'" in said["error"], said
    other = {**body, "update": {"name": "add", "data": 6}}
    said = expect(server.post("/api/v1/instances", other), 200).json["update"]
    assert "other data" in said["error"], said


def test_s67_bad_updates_of_a_start_start_nothing(server):
    for update in (5, [], {"data": 1}, {"name": "a/b"}, {"name": "add", "key": ""},
                   {"name": "add", "nme": 1}, {"name": "add", "timeout_ms": 60001},
                   {"name": "add", "key": "k" * 129}):
        reply = server.post("/api/v1/instances", {"orchestration": "Account", "input": 1,
                                                  "instance": "us-9", "update": update})
        assert reply.status in (400, 413), (update, reply)
    expect(server.post("/api/v1/instances", {"orchestration": "Account", "instance": "us-9",
                                             "if_exists": "use", "update": {"name": "add"}}), 400)
    expect(server.get(I + "us-9"), 404)
