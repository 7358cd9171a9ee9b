# SPDX-License-Identifier: MIT
"""What the contracts of the API say and no other module looks at: bodies that are no objects, tokens
for some queues, the stream, a full disk, an engine that hangs."""
import http.client
import json
import subprocess
import threading
import time

import kit
from kit import ROOT, Server, expect
from test_instances import open_stream
from test_matrix import snapshot
from test_queue import ack, pop, push
from test_security import token

I = "/api/v1/instances"


def bearer(server, scope, *more):
    return {"Authorization": "Bearer " + token(server, scope, *more)}


def test_bodies_that_are_no_objects(server):
    """[1] is not an object without members: a purge of one priority must not become one of all."""
    server.start_instance("Ask", None, "a")
    server.start_instance("RemoteOrder", 1, "r")
    for i in range(3):
        push(server, "p", str(i), priority=i)
    lease = expect(server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 5000}),
                   200).json["items"][0]["token"]
    before = snapshot(server)
    for path in (I, I + ":batch", I + "/a/cancel", I + "/a/terminate", I + "/a/suspend",
                 I + "/a/resume", I + "/a/retry", "/queue/p/purge", "/queue/p/pause",
                 "/queue/p/resume", "/queue/p/redrive", "/queue/p/push", "/queue/p/acknowledge",
                 "/queue/p/extend-lock", "/queue/p/release", "/queue/p/deadletter",
                 "/api/v1/work/poll", *("/api/v1/work/%s/%s" % (lease, verb) for verb in
                                        ("complete", "fail", "heartbeat", "abandon"))):
        for body in ("[]", "[1]", "5", '"x"', "null", "true"):
            assert server.post(path, body).status == 400, (path, body)
    for body in ("[]", "5", "null"):
        assert server.call("PUT", "/queue/p/config", body).status == 400
    assert snapshot(server) == before
    for body in ("[]", "5", "null", '"x"', "{}"):            # an event is any value
        expect(server.post(I + "/a/events/Other", body), 202)
    expect(server.post("/api/v1/work/%s/complete" % lease, '{"result":null}'), 200)


def test_stream_names_queues_however_they_change(server):
    """Pushed by an orchestration, moved to the dead letters, put back by a lock that ran out."""
    answers = {}

    def names_until(conn, want, seconds=10):
        found, end = set(), time.monotonic() + seconds
        answer = answers[conn] = answers.get(conn) or conn.getresponse()
        while not want <= found and time.monotonic() < end:
            line = answer.readline().decode()
            if line.startswith("data: {"):
                found.update(json.loads(line[6:]).get("queues", []))
        return found
    conn = open_stream(server)
    time.sleep(0.2)
    push(server, "first", "1")
    began = time.monotonic()
    assert names_until(conn, {"first"}) == {"first"}
    assert time.monotonic() - began < 3                      # nothing else wakes the server
    server.ended(server.start_instance("Post", {"n": 1}, "p"))
    assert names_until(conn, {"posted"}) == {"posted"}
    conn.close()
    push(server, "short", "1")
    lock = pop(server, "short", "?require_ack=true&ttl_seconds=1")
    push(server, "dead", "1")
    other = pop(server, "dead", "?require_ack=true")
    time.sleep(0.3)
    conn = open_stream(server)
    time.sleep(0.2)
    expect(server.post("/queue/dead/deadletter", {"lock_id": other["lock_id"]}), 200)
    assert names_until(conn, {"short", "dead", "dead-deadletter"}) == {
        "short", "dead", "dead-deadletter"}
    ack(server, "short", lock["lock_id"], 410)
    conn.close()
    conn = open_stream(server)                               # one name, twice
    time.sleep(0.2)
    push(server, "same", "1")
    server.start_instance("Ask", None, "same")
    queues, ids, answer = [], [], conn.getresponse()
    while not (queues and ids):
        line = answer.readline().decode()
        if line.startswith("data: {"):
            data = json.loads(line[6:])
            assert not data.get("more"), data
            queues += data["queues"]
            ids += [i["instance"] for i in data["instances"]]
    assert set(queues) == set(ids) == {"same"}


def test_tokens_for_some_queues_see_only_those():
    server = Server("--require-token", start=False)
    some = bearer(server, "admin+", "--queues", "mail,orders-,mailbox,zz")
    full = bearer(server, "admin")
    names = ["a", "mail", "mail-1", "mailbox", "orders", "orders-1", "orders-2", "secret", "zz-top"]
    with server.start():
        for name in names:
            expect(server.post("/queue/%s/push" % name, '{"item":1}', headers=full), 200)
        seen, after = [], ""
        for _ in range(20):
            page = server.get("/queue?limit=2" + after, headers=some).json
            seen += [q["name"] for q in page["queues"]]
            if not page["next"]:
                break
            assert page["next"] in seen                      # a cursor names nothing hidden
            after = "&after=" + page["next"]
        assert seen == ["mail", "mail-1", "mailbox", "orders-1", "orders-2", "zz-top"], seen
        listed = lambda q: [x["name"] for x in server.get("/queue" + q, headers=some).json["queues"]]
        assert listed("?prefix=orders") == ["orders-1", "orders-2"]
        assert listed("?prefix=orders-2") == ["orders-2"] and listed("?prefix=s") == []
        assert listed("?prefix=mail") == ["mail", "mail-1", "mailbox"]
        full_names = [x["name"] for x in server.get("/queue?limit=4", headers=full).json["queues"]]
        assert full_names == names[:4]
        conf = lambda k: server.call("PUT", "/queue/mail/config", {"dead_letter_queue": k},
                                     headers=some)
        expect(conf("secret"), 403)                          # nor send anything there
        expect(conf("mail-dead"), 200)
        conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        conn.request("GET", "/api/v1/stream", headers=some)
        time.sleep(0.2)
        for name in ("secret", "mail"):
            expect(server.post("/queue/%s/push" % name, '{"item":2}', headers=full), 200)
        text, answer = "", conn.getresponse()
        while '"mail"' not in text:
            text += answer.readline().decode()
        assert "secret" not in text, text


def test_bulk_push_with_an_idempotency_key(server):
    head = {"Idempotency-Key": "once"}
    body = {"items": [{"item": 1}, {"item": 2, "dedup_id": "own"}, {"item": 3}]}
    one = expect(server.post("/queue/b/push", body, headers=head), 200).json
    two = expect(server.post("/queue/b/push", body, headers=head), 200).json
    assert one["ids"] == two["ids"] and server.get("/queue/b").json["ready"] == 3
    expect(server.post("/queue/b/push", {"items": [{"item": 9, "dedup_id": "own"}]}), 200)
    assert server.get("/queue/b").json["ready"] == 3
    expect(server.post("/queue/b/push", body, headers={"Idempotency-Key": "k" * 200}), 400)


def test_lock_ids_are_compared_whole(server):
    push(server, "n", "1")
    lock = pop(server, "n", "?require_ack=true")["lock_id"]
    body = json.dumps({"lock_ids": [lock + "\0x"]})
    reply = expect(server.post("/queue/n/acknowledge", body), 207).json
    assert reply["results"][0]["status"] == "invalid" and reply["items_acknowledged"] == 0
    expect(server.post("/queue/n/acknowledge", {"lock_id": lock + "\0x"}), 400)
    ack(server, "n", lock)


def test_config_round_trip(server):
    """What GET says can be PUT; what does not exist yet is refused, not ignored."""
    conf = server.get("/queue/c/config").json
    assert conf == {"max_locks": 1, "default_ttl_seconds": 30, "max_lock_seconds": 43200,
                    "on_expire": "front", "max_deliveries": 0, "dead_letter_queue": "c-deadletter",
                    "retry_backoff_seconds": [], "dedup_window_seconds": 300,
                    "message_ttl_seconds": 0, "dead_letter_expired": conf["dead_letter_expired"],
                    "max_length": 0, "max_bytes": 0, "default_priority": 0, "groups": False,
                    "retain": False, "orchestration": None, "version": None}, conf
    assert expect(server.call("PUT", "/queue/c/config", conf), 200).json == conf
    assert server.get("/queue/c").json["config"] == conf
    assert expect(server.call("PATCH", "/queue/c/config", {"groups": True}), 200).json["groups"] is True
    assert expect(server.call("PATCH", "/queue/c/config", {"groups": None}), 200).json == conf
    expect(server.call("PUT", "/queue/c/config", {"retain": True}), 400)
    for key in ("groups", "retain"):
        expect(server.call("PUT", "/queue/c/config", {key: 1}), 400)
    expect(server.call("PUT", "/queue/c/config", {"max_bytes": 30}), 200)
    push(server, "c", '"0123456789"')
    expect(server.post("/queue/c/push", {"item": "x" * 40}), 429)
    assert server.get("/queue/c").json["ready"] == 1


def test_message_under_a_lock_cannot_be_revoked(server):
    push(server, "v", "1")
    id = server.get("/queue/v/messages").json["messages"][0]["id"]
    lock = pop(server, "v", "?require_ack=true&ttl_seconds=2")["lock_id"]
    expect(server.call("DELETE", "/queue/v/messages/" + id), 409)
    for path in ("extend-lock", "release", "deadletter"):
        expect(server.post("/queue/v/" + path, {"lock_id": "nonsense"}), 400)
    time.sleep(2.2)
    for path in ("extend-lock", "release", "deadletter"):
        expect(server.post("/queue/v/" + path, {"lock_id": lock}), 410)
    for path in ("heartbeat", "abandon", "complete", "fail"):
        expect(server.post("/api/v1/work/nonsense/" + path, "{}"), 410, "lost")


def preloaded(name):
    """tests/http/NAME.c built, and the file whose existence turns it on; None where nothing can be preloaded."""
    if "asan" in str(kit.BUILD) or "tsan" in str(kit.BUILD):
        return None, None                                    # they want to be first
    shim = kit.work_dir() / (name + ".so")
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", str(shim),
                    str(ROOT / "tests" / "http" / (name + ".c")), "-ldl"], check=True)
    return shim, kit.work_dir() / name


def test_507_when_the_disk_is_full():
    shim, flag = preloaded("full")
    if not shim:
        return
    with Server() as server:
        server.start_instance("Ask", None, "before")
        push(server, "q", "1")
        server.stop()
        flag.touch()
        server.env = {"LD_PRELOAD": str(shim), "PAWL_TEST_FULL": str(flag)}
        server.start()
        for path, body in ((I, {"orchestration": "Ask"}), ("/api/v1/jobs", {"activity": "A"}), (I + "/before/events/Answer", "1"), (I + "/before/updates/add", "1"),
                           ("/queue/q/push", {"item": 2})):
            reply = expect(server.post(path, body), 507)
            assert reply.headers["Retry-After"] and b"disk is full" in reply.body, reply
        lock = pop(server, "q", "?require_ack=true")         # what ends work goes on
        ack(server, "q", lock["lock_id"])
        flag.unlink()
        for _ in range(100):
            if server.post("/queue/q/push", {"item": 2}).status == 200:
                break
            time.sleep(0.05)
        expect(server.post(I + "/before/events/Answer", "1"), 202)
        assert server.ended("before")["output"] == 1


def push_alone(server, item, statuses):
    """On a connection of its own, for a thread."""
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    conn.request("POST", "/queue/q/push", json.dumps({"item": item}))
    statuses.append(conn.getresponse().status)
    conn.close()


def test_a_disk_that_hangs_holds_up_only_what_needs_it():
    """Commits wait, and with them their answers; whatever needs none goes on, and nothing is lost."""
    shim, flag = preloaded("hang")
    if not shim:
        return
    with Server(env={"LD_PRELOAD": str(shim), "PAWL_TEST_HANG": str(flag)}) as server:
        for i in range(20):
            push(server, "q", str(i))
        stream = open_stream(server).getresponse()
        for hung in range(3):
            replies = []
            flag.touch()
            waiting = [threading.Thread(target=push_alone, args=(server, "late", replies)) for _ in range(4)]
            for t in waiting:
                t.start()
                time.sleep(0.03)                             # one is in the commit, the others come after it
            for i in range(20):
                begin = time.monotonic()
                assert server.get("/health").status in (200, 503)
                assert len(server.get("/queue").json["queues"]) == 1
                expect(server.post("/queue/q/push", "{"), 400)
                assert time.monotonic() - begin < 1, time.monotonic() - begin
            assert not replies                               # 2xx means durable
            flag.unlink()
            for t in waiting:
                t.join(20)
            assert replies == [200] * 4, replies
        lock = pop(server, "q", "?require_ack=true")         # all is as before
        ack(server, "q", lock["lock_id"])
        assert server.get("/queue/q").json["ready"] == 20 + 3 * 4 - 1
        stream.close()
        flag.touch()                                         # and it ends, though a commit hangs for a while
        replies = []
        last = threading.Thread(target=push_alone, args=(server, "last", replies))
        last.start()
        time.sleep(0.1)
        threading.Timer(0.5, flag.unlink).start()
        server.stop()
        last.join(20)
        assert replies == [200], replies


def test_health_is_progress(server):
    """A turn that never ends: the port answers, health does not say 200."""
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=1)
    conn.request("POST", I, json.dumps({"orchestration": "Spin", "instance": "s"}))
    reply, end = None, time.monotonic() + 30
    while time.monotonic() < end:
        reply = server.get("/health")
        if reply.status == 503 and "'Spin'" in reply.json["reason"]:
            break                                            # at first perhaps only that a call has no answer
        time.sleep(0.25)
    expect(reply, 503, status="unhealthy", service="pawl")
    assert "'Spin'" in reply.json["reason"] and reply.headers["Retry-After"]
    assert server.get("/ready").status == 200


def test_too_many_streams(server):
    conns = [open_stream(server) for _ in range(256)]
    for c in conns:
        c.getresponse()
    expect(server.get("/api/v1/stream"), 429, "too_many")
    for c in conns[:10]:
        c.close()
        c.sock and c.sock.close()
    conns = conns[10:]
    for c in conns:
        c.close()
