# SPDX-License-Identifier: MIT
"""GET /api/v1/instances with everything that it can be asked for, and :batch by name."""
import time

from kit import Server, expect


def ids(server, query):
    """The ids over all pages, and how many instances were looked at."""
    got, after, examined = [], "", 0
    while True:
        page = expect(server.get("/api/v1/instances?" + query + after), 200).json
        got += [i["instance"] for i in page["instances"]]
        examined += page["examined"]
        if not page["next"]:
            return got, examined
        after = "&after=" + page["next"]


def fill(server):
    for n in range(3):
        server.start_instance("Ask", {"n": n}, "ask-%d" % n)
    server.start_instance("Echo", "x", "echo-1")
    server.start_instance("Wrong", None, "boom-1")
    server.start_instance("Ask", None, "Quiet")
    for name in ("echo-1", "boom-1"):
        server.ended(name)
    expect(server.post("/api/v1/instances/ask-0/suspend", {"reason": "tea"}), 202)
    expect(server.post("/api/v1/instances/ask-1/cancel", {"reason": "no more Tea"}), 202)
    server.ended("ask-1")


def test_several_states_a_text_and_roots(server):
    fill(server)
    for query, want in (("status=failed,suspended", ["boom-1", "ask-0"]),
                        ("status=cancelled,completed", ["echo-1", "ask-1"]),
                        ("status=running", ["Quiet", "ask-2"]),
                        ("status=", ["Quiet", "boom-1", "echo-1", "ask-2", "ask-1", "ask-0"]),
                        ("q=ASK-", ["ask-2", "ask-1", "ask-0"]), ("q=qui", ["Quiet"]),
                        ("q=more%20tea", ["ask-1"]), ("q=none", []), ("q=ask&status=running&prefix=ask", ["ask-2"]),
                        ("roots=1&status=running", ["Quiet", "ask-2"]), ("prefix=ask-", ["ask-2", "ask-1", "ask-0"]),
                        ("waiting=event", ["Quiet", "ask-2", "ask-0"]), ("waiting=event:Answer&status=running", ["Quiet", "ask-2"]),
                        ("waiting=event:Other", []), ("waiting=timer", []), ("waiting=event&status=completed", [])):
        for limit in (1, 2, 100):
            got, examined = ids(server, "%s&limit=%d" % (query, limit))
            assert got == want and examined <= 6, (query, limit, got, examined)
    for query, message in (("status=failed,tired", "'tired' is no status"), ("status=,", "is no status"),
                           ("sort=size", "sort must be"), ("with=input", "with must be"), ("waiting=godot", "waiting must be"),
                           ("roots=maybe", "roots"), ("sort=updated&after=9", "one page")):
        reply = expect(server.get("/api/v1/instances?" + query), 400, "invalid")
        assert message in reply.json["error"]["message"], (query, reply)


def test_orders(server):
    fill(server)
    page = server.get("/api/v1/instances?sort=updated&limit=2").json
    assert [i["instance"] for i in page["instances"]] == ["ask-1", "ask-0"], page
    assert page["next"] is None and page["complete"] is False and page["examined"] == 6
    page = server.get("/api/v1/instances?sort=updated").json
    assert page["complete"] is True and len(page["instances"]) == 6
    times = [i["updated_at"] for i in page["instances"]]
    assert times == sorted(times, reverse=True)
    page = server.get("/api/v1/instances?sort=waiting").json
    assert [i["instance"] for i in page["instances"]] == ["ask-2", "Quiet", "ask-0"], page
    page = server.get("/api/v1/instances?sort=waiting&waiting=event:Answer").json
    assert [i["instance"] for i in page["instances"]] == ["ask-0", "ask-2", "Quiet"], page   # by the wait, not the row
    assert server.get("/api/v1/instances?sort=newest").json["instances"][0]["instance"] == "Quiet"


def test_what_is_tried_again_is_known_without_a_look_at_the_others(server):
    poll = lambda: server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 5000, "lock_ms": 60000}).json["items"][0]
    for name, attempts in (("a", 2), ("b", 1)):
        server.start_instance("RemoteRetry", None, name)
        for n in range(attempts):
            expect(server.post("/api/v1/work/%s/fail" % poll()["token"], {"error": "no %d" % n}), 200)
        poll()                                               # the next attempt, which does not end
    server.start_instance("Ask", None, "c")
    page = server.get("/api/v1/instances?sort=attempts").json
    assert [i["instance"] for i in page["instances"]] == ["a", "b"] and page["examined"] == 2, page
    assert ids(server, "waiting=retrying")[0] == ["b", "a"]
    assert ids(server, "waiting=retrying:Charge&status=running")[0] == ["b", "a"]
    assert ids(server, "waiting=retrying:Other")[0] == []
    assert [i["instance"] for i in server.get("/api/v1/instances?sort=attempts&waiting=retrying:Other").json["instances"]] == []


def test_rows_have_what_they_wait_for_when_asked(server):
    fill(server)
    plain = server.get("/api/v1/instances?status=running").json["instances"]
    assert all(i["waiting_for"] == [] for i in plain)
    rows = server.get("/api/v1/instances?with=waiting").json["instances"]
    assert {i["instance"]: [w["name"] for w in i["waiting_for"]] for i in rows} == {
        "Quiet": ["Answer"], "ask-2": ["Answer"], "ask-0": ["Answer"], "ask-1": [], "boom-1": [], "echo-1": []}, rows


def test_a_search_of_many_is_bounded_and_goes_on(server):
    for n in range(0, 12000, 100):
        server.post("/queue/many/push", {"items": [{"item": n}] * 100})
    expect(server.call("PUT", "/queue/many/config", {"orchestration": "Ask"}), 200)
    for _ in range(600):
        if server.get("/queue/many").json["ready"] == 0:
            break
        time.sleep(0.1)
    server.start_instance("Ask", None, "zz-newest")
    page = server.get("/api/v1/instances?q=no-such-thing").json
    assert page["instances"] == [] and page["examined"] >= 10000, page
    assert ids(server, "q=no-such-thing") == ([], 12001)
    page = server.get("/api/v1/instances?prefix=zz-").json
    assert page["examined"] == 1 and len(page["instances"]) == 1, page
    page = server.get("/api/v1/instances?sort=updated&limit=3").json
    assert page["complete"] is False and page["examined"] >= 1000, (page["examined"], page["complete"])


def test_batch_by_name(server):
    fill(server)
    dry = expect(server.post("/api/v1/instances:batch", {"action": "cancel", "ids": ["ask-2", "nobody"], "dry_run": True}), 200).json
    assert dry["instances"] == ["ask-2", "nobody"] and dry["matched"] == 2 and dry["done"] == 0, dry
    done = expect(server.post("/api/v1/instances:batch",
                              {"action": "cancel", "ids": ["ask-2", "nobody", "echo-1"], "reason": "enough"}), 200).json
    assert done["done"] == 1 and {f["instance"]: f["code"] for f in done["failed"]} == {"nobody": "not_found", "echo-1": "conflict"}, done
    assert server.ended("ask-2")["status"] == "cancelled"
    for body in ({"ids": []}, {"ids": "ask-2"}, {"ids": [5]}, {"ids": [""]}, {"ids": ["a\u0000"]}, {"ids": ["x"] * 1001},
                 {"ids": ["a"], "filter": {}}, {}, {"ids": None}, {"filter": {"status": "tired"}}):
        expect(server.post("/api/v1/instances:batch", {"action": "cancel", **body}), 400)
    more = expect(server.post("/api/v1/instances:batch", {"action": "delete", "filter": {"status": "failed,completed", "q": "1",
                                                                                         "roots": True}}), 200).json
    assert sorted(more["instances"]) == ["boom-1", "echo-1"] and more["done"] == 2, more


def test_lists_of_an_open_store_and_a_busy_one_are_the_same():
    """Search goes to the store; another store answers the same."""
    with Server("--store", "memory:") as server:
        fill(server)
        assert ids(server, "status=failed,suspended&limit=1")[0] == ["boom-1", "ask-0"]
        assert ids(server, "q=ASK-&limit=1")[0] == ["ask-2", "ask-1", "ask-0"]
