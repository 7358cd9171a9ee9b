# SPDX-License-Identifier: MIT
"""HTTP_API "Instances" and "Operations": every call with every status."""
import http.client
import json
import signal
import socket
import threading
import time

from kit import Server, expect, seen

I = "/api/v1/instances"


def test_health_ready_version_root(server):
    expect(server.get("/health"), 200, status="healthy", service="pawl")
    assert server.get("/health").json["version"] == server.get("/version").json["version"]
    expect(server.get("/ready"), 200, status="ready")
    reply = server.get("/")
    assert reply.status == 200 and b"/openapi.json" in reply.body
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]


def test_metrics(server):
    server.ended(server.start_instance("Echo", 1))
    text = server.get("/metrics").body.decode()
    for name in ("turns_total", "commits_total", "rounds_total", "commit_seconds_total",
                 "orchestrator_queue_depth", "worker_queue_depth", "timer_queue_depth",
                 "resident_fibers", "activity_attempts_total", "parked_total"):
        assert "\npawl_%s " % name in text, name
    assert "pawl_timer_queue_depth 0\n" in text


def test_openapi_fits_the_routes(server):
    doc = server.get("/openapi.json").json
    assert doc["openapi"] == "3.1.0"
    for path, item in doc["paths"].items():
        real = path.replace("{", "").replace("}", "")
        for method in ("get", "post", "put", "delete"):
            reply = server.call(method.upper(), real + "?no_such_parameter=1", body="[",
                                headers={"Sec-Fetch-Site": "same-origin"})
            if method in item:
                assert reply.status == 400, (method, path, reply)
                assert all(p["required"] == (p["in"] == "path")
                           for p in item[method]["parameters"])
            else:
                assert reply.status == 405, (method, path, reply)
                allowed = sorted(m.strip().lower() for m in reply.headers["Allow"].split(","))
                assert allowed == sorted(item), (path, reply.headers)
    expect(server.get("/api/v1/nothing"), 404, "unknown_path")


def test_start(server):
    body = {"orchestration": "Echo", "input": {"a": 1}, "instance": "order-1"}
    expect(server.post(I, body), 201, instance="order-1", execution=1, created=True)
    expect(server.post(I, body), 200, instance="order-1", execution=1, created=False)
    expect(server.post(I, {**body, "input": {"a": 2}}), 409, "exists")
    expect(server.post(I, {**body, "orchestration": "Wrong"}), 409, "exists")
    expect(server.post(I, {"orchestration": "Nobody"}), 404, "unknown_orchestration")
    expect(server.post(I, {"orchestration": "Echo", "version": "9.9.9"}), 404,
           "unknown_orchestration")
    expect(server.post(I, {"orchestration": "Nobody", "allow_unregistered": True}), 201,
           created=True)
    expect(server.post(I, {"orchestration": "Echo", "version": "1.0.0"}), 201, created=True)
    for bad in ({}, {"orchestration": 1}, {"orchestration": ""}, {"orchestration": "a/b"},
                {"orchestration": "Echo", "instance": 5}, {"orchestration": "Echo", "instance": ""},
                {"orchestration": "Echo", "instance": "a\nb"},
                {"orchestration": "Echo", "instance": "a\x00b"},
                {"orchestration": "Echo", "version": "one"},
                {"orchestration": "Echo", "allow_unregistered": "yes"}, []):
        reply = server.post(I, bad)
        assert reply.status == 400, (bad, reply)
    assert server.post(I, {"orchestration": "Echo", "instance": "x" * 600}).status in (400, 413)
    assert len(server.get(I).json["instances"]) == 3


def test_payload_bytes_are_verbatim(server):
    raw = '{ "n":1.0000000000000000000001e+5,  "s":"\\u00e4\\/é", "a":[ ] }'
    body = '{"orchestration":"Echo","instance":"v","input":%s}' % raw
    expect(server.post(I, body), 201)
    reply = server.get(I + "/v/wait?timeout_ms=10000")
    assert ('"input":' + raw).encode() in reply.body
    assert ('"output":' + raw).encode() in reply.body


def test_as_deep_as_can_be(server):
    """What is accepted at the limit of 64 levels comes out wherever it is shown."""
    raw = "[" * 63 + "]" * 63
    body = '{"orchestration":"Echo","instance":"deep","input":%s}' % raw
    expect(server.post(I, body), 201)
    for path in ("/deep/wait", "/deep", "/deep/history", "/deep/why", "/deep/tree", ""):
        reply = expect(server.get(I + path), 200)
        assert path.startswith("/deep/") and path[6:] in ("why", "tree") or raw.encode() in reply.body
    expect(server.post("/queue/deep/push", '{"item":%s}' % raw), 200)
    assert raw.encode() in expect(server.get("/queue/deep/messages"), 200).body
    assert raw.encode() in expect(server.post("/queue/deep/pop"), 200).body
    expect(server.post(I, '{"orchestration":"Echo","input":[%s]}' % raw), 400, "invalid_json")


def test_many_members():
    """More members than are indexed: the rest is found too, where they are not refused."""
    many = ",".join('"x%d":%d' % (i, i) for i in range(50))
    start = '{%s,"orchestration":"Echo","instance":"many","input":7}' % many
    push = '{%s,"item":[1],"priority":3,"item":2}' % many
    with Server("--lenient") as server:
        expect(server.post(I, start), 201)
        expect(server.get(I + "/many/wait"), 200, output=7)
        expect(server.post("/queue/many/push", push), 200)
        expect(server.post("/queue/many/pop"), 200, items=[[1]])
    with Server() as server:
        expect(server.post(I, start), 400, "invalid")
        expect(server.post("/queue/many/push", push), 400)
        doubled = ",".join('"item":%d' % i for i in range(50))
        expect(server.post("/queue/many/push", "{%s}" % doubled), 400,
               message="'item' is given twice; give it once")
        assert server.get("/queue").json["queues"] == [] and server.get(I).json["instances"] == []


def test_other_payloads(server):
    server.start_instance("Texts", "text", "t")
    server.start_instance("Texts", "bytes", "b")
    expect(server.get(I + "/t/wait"), 200, output="plain text", encoding="text")
    expect(server.get(I + "/b/wait"), 200, output="//4h", encoding="base64")
    server.start_instance("Wrong", None, "w")
    expect(server.get(I + "/w/wait"), 200, status="failed", error="it went wrong", output=None)


def test_get(server):
    server.start_instance("Ask", {"q": 1}, "a/1")
    reply = expect(server.get(I + "/a%2F1"), 200, instance="a/1", orchestration="Ask",
                   version="1.0.0", execution=1, input={"q": 1}, output=None, error=None,
                   custom_status=None, parent=None)
    assert isinstance(reply.json["created_at"], int) and isinstance(reply.json["updated_at"], int)
    for _ in range(100):
        reply = server.get(I + "/a%2F1")
        if reply.json["waiting_for"]:
            break
        time.sleep(0.02)
    assert reply.json["status"] == "running"
    assert [w["kind"] + w["name"] for w in reply.json["waiting_for"]] == ["eventAnswer"]
    expect(server.get(I + "/a%2F1?execution=1"), 200)
    expect(server.get(I + "/a%2F1?execution=7"), 404, "not_found")
    expect(server.get(I + "/a/1"), 404, "unknown_path")
    expect(server.get(I + "/nobody"), 404, "not_found")
    expect(server.get(I + "/a%2F1?execution=x"), 400, "invalid")
    expect(server.get(I + "/a%2F1?execution=-1"), 400, "invalid")


def test_ids_that_a_browser_takes_for_steps(server):
    for name, path in ((".", ".,"), ("..", "..,"), (".,", ".%2C"), ("..,", "..%2C"), ("a,", "a,"), ("...,", "...,")):
        server.start_instance("Ask", name, name)
        expect(server.get(I + "/" + path), 200, instance=name)
        expect(server.get(I + "/" + path + "/why"), 200)
        expect(server.post(I + "/" + path + "/cancel"), 202)
    for path in (".", ".."):
        expect(server.get(I + "/" + path), 200, instance=path)      # who sends it as it is
    assert "a URL cannot hold" in expect(server.post("/queue/..,/push", {"item": 1}), 400).json["message"]


def test_list(server):
    for i in range(5):
        server.ended(server.start_instance("Echo", i, "e-%d" % i))
    server.start_instance("Ask", None, "ask")
    page = expect(server.get(I + "?limit=4"), 200).json
    assert [i["instance"] for i in page["instances"]] == ["ask", "e-4", "e-3", "e-2"]
    rest = server.get(I + "?limit=4&after=" + page["next"]).json
    assert [i["instance"] for i in rest["instances"]] == ["e-1", "e-0"] and rest["next"] is None
    names = lambda q: [i["instance"] for i in server.get(I + "?" + q).json["instances"]]
    assert names("status=completed&limit=1000") == ["e-4", "e-3", "e-2", "e-1", "e-0"]
    assert names("orchestration=Ask") == ["ask"] and names("prefix=e-3") == ["e-3"]
    assert names("created_after=99999999999999") == []
    expect(server.get(I + "?parent=nobody"), 404, "not_found")
    for bad in ("limit=0", "limit=1001", "limit=1.5", "status=odd", "stauts=failed", "limit=1&limit=2",
                "after=zz", "created_after=-1", "prefix=%zz", "prefix=%ff"):
        assert server.get(I + "?" + bad).status == 400, bad


def test_history(server):
    server.ended(server.start_instance("Echo", {"x": 1}, "h"))
    page = expect(server.get(I + "/h/history"), 200).json
    assert [e["kind"] for e in page["events"]] == [
        "OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "OrchestrationCompleted"]
    assert [e["seq"] for e in page["events"]] == [1, 2, 3, 4] and page["next"] is None
    assert page["events"][1]["name"] == "Twice" and page["events"][1]["data"] == {"x": 1}
    page = server.get(I + "/h/history?limit=2").json
    assert len(page["events"]) == 2 and page["next"] == 2
    assert server.get(I + "/h/history?after=2").json["events"][0]["seq"] == 3
    expect(server.get(I + "/nobody/history"), 404, "not_found")
    expect(server.get(I + "/h/history?limit=0"), 400, "invalid")


def test_history_says_how_a_task_ended(server):
    server.ended(server.start_instance("Echo", 1, "ok"))
    done = server.get(I + "/ok/history").json["events"][2]
    assert done["result_kind"] == "ok" and done["attempts"] == 1
    server.ended(server.start_instance("Late", 1, "late"))
    failed = server.get(I + "/late/history").json["events"][2]
    assert failed["kind"] == "ActivityFailed" and failed["result_kind"] == "schedule_to_start"
    assert failed["attempts"] == 0
    assert "result_kind" not in server.get(I + "/late/history").json["events"][1]


def test_why_says_that_it_compensates(server):
    server.start_instance("Undo", None, "u")
    assert "cancel_requested_at" not in server.get(I + "/u").json
    expect(server.post(I + "/u/cancel", "{}"), 202)
    server.restart()
    why = expect(server.get(I + "/u/why"), 200, status="running").json
    assert "and compensates, with no limit to its time; the force is: pawl terminate u" in why["sentence"]
    assert why["cancel_requested_at"] and why["cancel_left_ms"] is None
    assert server.get(I + "/u").json["cancel_requested_at"] == why["cancel_requested_at"]
    expect(server.post(I + "/u/events/Undone", "1"), 202)
    assert server.ended("u")["status"] == "cancelled"


def test_wait(server):
    server.start_instance("Ask", None, "w")
    began = time.monotonic()
    expect(server.get(I + "/w/wait?timeout_ms=300"), 202, instance="w")
    assert 0.25 < time.monotonic() - began < 5
    expect(server.get(I + "/w/wait?timeout_ms=0"), 202)
    expect(server.get(I + "/w/wait?timeout_ms=60001"), 400, "invalid")
    expect(server.get(I + "/nobody/wait"), 404, "not_found")
    replies = []
    waiters = [threading.Thread(target=lambda: replies.append(
        server.get(I + "/w/wait?timeout_ms=20000", fresh=True))) for _ in range(10)]
    for t in waiters:
        t.start()
    time.sleep(0.3)
    expect(server.post(I + "/w/events/Answer", {"yes": True}), 202)
    for t in waiters:
        t.join(20)
    assert len(replies) == 10 and all(r.status == 200 for r in replies)
    assert all(r.json["output"] == {"yes": True} for r in replies)
    expect(server.get(I + "/w/wait"), 200, status="completed")


def without_more(reply):
    """What only GET has."""
    return {k: v for k, v in reply.json.items() if k not in ("started_at", "events")}


def test_wait_says_what_get_says(server):
    """Whether the end came before the wait, during it, or long ago: the same answer."""
    big = "x" * 20000
    for n, given in enumerate(([1, {"a": None}], "text", big, None)):
        before, during = "before-%d" % n, "during-%d" % n
        server.start_instance("Echo", given, before)
        for _ in range(1000):
            if server.get(I + "/" + before).json["status"] == "completed":
                break
            time.sleep(0.01)
        first = expect(server.get(I + "/%s/wait" % before), 200)   # kept since it ended
        again = expect(server.get(I + "/%s/wait" % before), 200)   # read
        assert first.body == again.body and first.json == without_more(server.get(I + "/" + before))
        server.start_instance("Ask", given, during)
        replies = []
        waiter = threading.Thread(target=lambda: replies.append(
            server.get(I + "/%s/wait?timeout_ms=20000" % during, fresh=True)))
        waiter.start()
        time.sleep(0.2)
        expect(server.post(I + "/%s/events/Answer" % during, '"%s"' % big if n == 2 else "7"), 202)
        waiter.join(20)
        assert replies[0].json == without_more(server.get(I + "/" + during))
        assert replies[0].json["status"] == "completed"
    server.start_instance("Wrong", None, "wrong")
    expect(server.get(I + "/wrong/wait"), 200, status="failed", error="it went wrong", output=None)


def test_wait_for_what_only_the_store_knows(server):
    """A reader looks whether it has ended; what the call asked for must outlive that look."""
    server.start_instance("Ask", None, "old")
    server.restart()
    replies = []
    waiter = threading.Thread(target=lambda: replies.append(
        server.get(I + "/old/wait?timeout_ms=5000", fresh=True)))
    waiter.start()
    time.sleep(0.3)
    expect(server.post(I + "/old/events/Answer", {"yes": True}), 202)
    waiter.join(20)
    expect(replies[0], 200, instance="old", output={"yes": True})


def test_wait_for_what_is_removed(server):
    for n in range(30):  # ended and kept for a wait; then gone, at once
        gone = "gone-%d" % n
        server.start_instance("Echo", 1, gone)
        while server.get(I + "/" + gone).json["status"] != "completed":
            time.sleep(0.01)
        if n % 2:
            expect(server.call("DELETE", I + "/" + gone), 200)
        else:
            expect(server.post(I + ":batch", {"action": "delete", "filter": {"prefix": gone}}),
                   200, done=1)
        expect(server.get(I + "/%s/wait" % gone), 404, "not_found")
    server.start_instance("Ask", None, "going")
    replies = []
    waiter = threading.Thread(target=lambda: replies.append(
        server.get(I + "/going/wait?timeout_ms=20000", fresh=True)))
    began = time.monotonic()
    waiter.start()
    time.sleep(0.3)
    expect(server.call("DELETE", I + "/going?force=1"), 200)
    waiter.join(20)
    assert replies[0].status == 404 and time.monotonic() - began < 10, replies
    server.start_instance("Ask", None, "going")
    expect(server.get(I + "/going/wait?timeout_ms=100"), 202)


def test_why_and_tree(server):
    server.start_instance("Ask", None, "y")
    time.sleep(0.2)
    why = expect(server.get(I + "/y/why"), 200, instance="y", status="running").json
    assert "event 'Answer'" in why["sentence"] and why["waiting_for"][0]["name"] == "Answer"
    server.ended(server.start_instance("Parent", [1], "p"))
    tree = expect(server.get(I + "/p/tree"), 200, instance="p").json
    assert len(tree["children"]) == 1 and tree["children"][0]["parent"] == "p"
    assert tree["children"][0]["children"] == []
    expect(server.get(I + "/nobody/why"), 404, "not_found")
    expect(server.get(I + "/nobody/tree"), 404, "not_found")


def test_raise(server):
    server.start_instance("Ask", None, "r")
    expect(server.post(I + "/nobody/events/Answer", "1"), 404, "not_found")
    expect(server.post(I + "/r/events/Other", '{"kept":1}'), 202)
    expect(server.post(I + "/r/events/Answer", "{bad"), 400, "invalid_json")
    expect(server.post(I + "/r/events/a%2Fb", "1"), 400, "invalid")
    key = {"Idempotency-Key": "k-1"}
    expect(server.post(I + "/r/events/Other", "2", headers=key), 202)
    expect(server.post(I + "/r/events/Other", "2", headers=key), 202)
    for _ in range(50):
        if server.get(I + "/r/why").json["mailbox"] == 2:
            break
        time.sleep(0.02)
    assert server.get(I + "/r/why").json["mailbox"] == 2
    expect(server.post(I + "/r/events/Other", "2", headers={"Idempotency-Key": "k" * 200}), 413)
    expect(server.post(I + "/r/events/Answer", '  [1,  2]'), 202)
    server.ended("r")
    assert b'"output":[1,  2]' in server.get(I + "/r").body or \
        b'"output":  [1,  2]' in server.get(I + "/r").body
    expect(server.post(I + "/r/events/Answer", "1"), 409, "conflict")
    expect(server.post(I + "/later/events/Answer?await_start=1", '"early"'), 202)
    server.start_instance("Ask", None, "later")
    assert server.ended("later")["output"] == "early"


def test_steer(server):
    for id in ("c", "t", "s"):
        server.start_instance("Ask", None, id)
    expect(server.post(I + "/c/cancel", {"reason": "enough"}), 202)
    assert server.ended("c")["status"] == "cancelled"
    expect(server.post(I + "/c/cancel"), 409, "conflict")
    expect(server.post(I + "/t/terminate", {"reason": "now"}), 202)
    assert "now" in server.ended("t")["error"]
    expect(server.post(I + "/s/suspend"), 202)
    for _ in range(100):
        if server.get(I + "/s").json["status"] == "suspended":
            break
        time.sleep(0.02)
    expect(server.get(I + "/s"), 200, status="suspended")
    expect(server.post(I + "/s/events/Answer", "7"), 202)
    expect(server.post(I + "/s/retry"), 409, "conflict")
    expect(server.post(I + "/s/resume", "{}"), 202)
    assert server.ended("s")["output"] == 7
    for verb in ("cancel", "terminate", "suspend", "resume", "retry"):
        expect(server.post(I + "/nobody/" + verb), 404, "not_found")
        expect(server.post(I + "/s/" + verb, {"reason": 5}), 409 if verb == "none" else 400)


def test_steering_what_has_ended(server):
    server.ended(server.start_instance("Echo", 1, "e"))
    before = server.get(I + "/e/history").json
    for verb in ("cancel", "terminate", "suspend", "resume", "retry"):
        expect(server.post(I + "/e/" + verb), 409, "conflict")
    assert server.get(I + "/e/history").json == before


def test_retry_of_a_blocked_instance():
    def reaches(state):
        for _ in range(200):
            if server.get(I + "/f").json["status"] == state:
                return True
            time.sleep(0.02)
        return False
    with Server() as server:
        server.start_instance("Fickle", None, "f")
        assert reaches("running")
        server.env = {"FICKLE": "1"}
        server.restart()
        expect(server.post(I + "/f/events/Answer", "7"), 202)
        assert reaches("blocked"), server.get(I + "/f").json
        expect(server.post(I + "/f/retry"), 202)             # with the same code: blocked again
        assert reaches("blocked")
        server.env = {}
        server.restart()
        expect(server.post(I + "/f/retry"), 202)
        assert server.ended("f")["output"] == 7


def test_remove(server):
    server.start_instance("Ask", None, "d")
    expect(server.call("DELETE", I + "/d"), 409, "conflict")
    expect(server.call("DELETE", I + "/d?force=perhaps"), 400, "invalid")
    expect(server.call("DELETE", I + "/d?force=1"), 200, instance="d", instances=1)
    expect(server.get(I + "/d"), 404, "not_found")
    expect(server.call("DELETE", I + "/d"), 404, "not_found")
    server.ended(server.start_instance("Parent", [1], "tree"))
    expect(server.call("DELETE", I + "/tree"), 200, instances=2, executions=2)


def test_batch(server):
    for i in range(20):
        server.start_instance("Ask", i, "b-%d" % i)
    server.start_instance("Ask", 0, "other")
    B = "/api/v1/instances:batch"
    want = {"action": "cancel", "filter": {"prefix": "b-"}, "dry_run": True}
    reply = expect(server.post(B, want), 200, matched=20, done=0, dry_run=True)
    assert sorted(reply.json["instances"]) == sorted("b-%d" % i for i in range(20))
    reply = expect(server.post(B, {**want, "dry_run": False, "limit": 15}), 200, matched=15, done=15)
    assert reply.json["next"]
    expect(server.post(B, {**want, "dry_run": False, "after": reply.json["next"]}), 200, done=5)
    for i in range(20):
        assert server.ended("b-%d" % i)["status"] == "cancelled"
    expect(server.get(I + "/other"), 200, status="running")
    reply = expect(server.post(B, {"action": "cancel", "filter": {"prefix": "b-1"}}), 200, done=0)
    assert all(f["code"] == "conflict" for f in reply.json["failed"])
    expect(server.post(B, {"action": "delete", "filter": {"prefix": "b-"}}), 200, done=20)
    for bad in ({"action": "cancel"}, {"action": "explode", "filter": {}}, {"filter": {}},
                {"action": "cancel", "filter": {"perfix": "b"}}, {"action": "cancel", "filter": 1},
                {"action": "cancel", "filter": {"status": "odd"}},
                {"action": "cancel", "filter": {}, "limit": 1001}):
        assert server.post(B, bad).status == 400, bad


def test_batch_refuses_unknown_fields(server):
    """A misspelt dry_run must not act for real."""
    server.start_instance("Ask", 1, "mis")
    B = "/api/v1/instances:batch"
    good = {"action": "cancel", "filter": {"prefix": "mis"}}
    for name, shown in (("dryrun", "dryrun' (did you mean 'dry_run'?)"), ("Limit", "Limit' (did you mean 'limit'?)"),
                        ("", "'"), ("status", "status'"), ("\u00e4" * 400, None)):
        reply = expect(server.post(B, {**good, name: True}), 400, "invalid")
        if shown is not None:
            assert reply.json["error"]["message"] == (
                "unknown field '%s; known here: action, filter, ids, dry_run, reason, limit, after" % shown), reply
    expect(server.get(I + "/mis"), 200, status="running")
    expect(server.post(B, {**good, "dry_run": True, "reason": "r", "limit": 5}), 200, matched=1, done=0)
    expect(server.get(I + "/mis"), 200, status="running")


def read_events(conn, want, seconds=10):
    answer, events, end = conn.getresponse(), [], time.monotonic() + seconds
    seen("GET", "/api/v1/stream", answer.status)
    event = {}
    while len(events) < want and time.monotonic() < end:
        line = answer.readline().decode().rstrip("\n")
        if line == "":
            if "event" in event:
                events.append(event)
            event = {}
        elif not line.startswith(":"):
            key, _, value = line.partition(": ")
            event[key] = value
    return events


def open_stream(server, last=None):
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    conn.request("GET", "/api/v1/stream", headers={"Last-Event-ID": last} if last else {})
    return conn


def test_stream(server):
    conn = open_stream(server)
    time.sleep(0.2)
    server.start_instance("Ask", None, "s-1")
    events = read_events(conn, 1)
    assert events[0]["event"] == "changes"
    assert json.loads(events[0]["data"])["instances"][0]["instance"] == "s-1"
    conn.close()
    server.start_instance("Ask", None, "s-2")
    time.sleep(0.4)
    again = read_events(open_stream(server, events[0]["id"]), 1)
    assert any(i["instance"] == "s-2" for e in again for i in json.loads(e["data"])["instances"])
    assert read_events(open_stream(server, "1-1"), 1)[0]["event"] == "reset"
    assert read_events(open_stream(server, "nonsense"), 1)[0]["event"] == "reset"


def test_streams_that_leave_take_no_other_along(server):
    for gone in ((0,), (1,), (2,), (0, 2), (1, 0), (2, 1)):
        conns = [open_stream(server) for _ in range(3)]
        time.sleep(0.2)
        for n in gone:
            conns[n].close()
            time.sleep(0.1)
        name = "left-" + "-".join(str(n) for n in gone)
        server.start_instance("Ask", None, name)
        for n in {0, 1, 2} - set(gone):
            assert told(read_events(conns[n], 1), name), (gone, n)
            conns[n].close()
    expect(server.get("/health"), 200)


def told(conn_events, instance):
    return [i for e in conn_events for i in json.loads(e["data"])["instances"]
            if i["instance"] == instance]


def test_stream_tells_state_changes_and_attempts(server):
    conn = open_stream(server)
    time.sleep(0.2)
    server.start_instance("RemoteRetry", 1, "st-1")
    first = told(read_events(conn, 1), "st-1")[-1]
    assert first["created"] is True and first["orchestration"] == "RemoteRetry", first
    conn.close()

    def after(act):                            # what a reader is told of something without a step
        conn = open_stream(server)
        time.sleep(0.2)
        result = act()
        item = told(read_events(conn, 1), "st-1")[-1]
        conn.close()
        assert item["seq"] == first["seq"] and item["status"] == "running", item
        assert "created" not in item and "orchestration" not in item
        return result
    W = "/api/v1/work/"
    token = after(lambda: server.post(W + "poll", {"activities": ["Charge"], "wait_ms": 5000},
                                      fresh=True).json["items"][0]["token"])
    after(lambda: expect(server.post(W + token + "/fail", {"error": "no", "retryable": True}), 200))
    expect(server.post("/api/v1/instances/st-1/terminate"), 202)
    server.ended("st-1")
    time.sleep(0.5)                            # its batch is made
    conn = open_stream(server)
    time.sleep(0.2)
    expect(server.call("DELETE", "/api/v1/instances/st-1"), 200)
    assert told(read_events(conn, 1), "st-1")[-1]["removed"] is True
    conn.close()


def test_stream_ends_whole_when_the_server_stops(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        s.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = s.recv(65536)
        server.process.send_signal(signal.SIGTERM)
        while more := s.recv(65536):
            got += more
    assert got.endswith(b"0\r\n\r\n"), got[-200:]      # the last chunk, not a connection cut off
    assert server.process.wait(20) == 0


def test_stream_is_coalesced(server):
    conn = open_stream(server)
    time.sleep(0.2)
    began = time.monotonic()
    for i in range(100):
        server.start_instance("Echo", i)
    took = time.monotonic() - began
    events = read_events(conn, 100, took + 1) if False else []
    conn.sock.settimeout(1.5)
    text = b""
    try:
        while True:
            more = conn.sock.recv(65536)
            if not more:
                break
            text += more
    except OSError:
        pass
    batches = text.count(b"event: changes")
    assert 0 < batches <= (took + 2) * 10 + 2, (batches, took)


def test_restart_and_kill(server):
    for i in range(10):
        server.start_instance("Ask", i, "k-%d" % i)
    server.restart()
    assert len(server.get(I + "?prefix=k-").json["instances"]) == 10
    for i in range(10):
        expect(server.post(I + "/k-%d/events/Answer" % i, {"n": i}), 202)
    server.restart()
    for i in range(10):
        assert server.ended("k-%d" % i)["output"] == {"n": i}


def test_sigterm_is_graceful(server):
    server.start_instance("Ask", None, "g")
    replies = []
    waiter = threading.Thread(target=lambda: replies.append(
        server.get(I + "/g/wait?timeout_ms=50000", fresh=True)))
    waiter.start()
    time.sleep(0.3)
    began = time.monotonic()
    assert server.stop() == 0
    waiter.join(10)
    assert replies and replies[0].status == 202, replies
    assert time.monotonic() - began < 5


def test_sighup_loads_new_versions():
    import shutil
    import signal
    import kit
    path = kit.work_dir() / "reload.so"
    shutil.copy(kit.module(), path)
    with Server(load=[path]) as server:
        expect(server.post(I, {"orchestration": "Echo", "version": "2.0.0"}), 404)
        server.start_instance("Ask", None, "old")
        shutil.copy(kit.module(second=True), str(path) + ".new")
        (kit.work_dir() / "reload.so.new").rename(path)
        server.process.send_signal(signal.SIGHUP)
        for _ in range(200):
            reply = server.post(I, {"orchestration": "Echo", "version": "2.0.0", "instance": "n"})
            if reply.status == 201:
                break
            time.sleep(0.02)
        expect(reply, 201)
        assert server.ended("n")["version"] == "2.0.0"
        expect(server.post(I + "/old/events/Answer", "1"), 202)
        assert server.ended("old")["version"] == "1.0.0"


def test_port_taken(server):
    import kit
    other = Server("--listen", server.listen, start=False)
    try:
        other.start()
        raise RuntimeError("two servers on one port")
    except AssertionError as error:
        assert "PORT=%d make run" % (server.port + 1) in str(error), error
    assert other.process.returncode == 3
