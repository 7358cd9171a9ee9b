# SPDX-License-Identifier: MIT
"""GET …/timeline: the steps of an execution as bars; `pawl show --timeline` over HTTP."""
import time

import kit
from kit import Server, expect
from test_work import poll_one

I = "/api/v1/instances/"
W = "/api/v1/work/"


def timeline(server, instance, query=""):
    return expect(server.get(I + instance + "/timeline" + query), 200).json


def test_a_finished_run(server):
    server.ended(server.start_instance("Parent", 1, "p-1"))
    got = timeline(server, "p-1")
    assert got["instance"] == "p-1" and got["status"] == "completed" and got["execution"] == 1
    assert got["orchestration"] == "Parent" and got["version"] == "1.0.0"
    bar, = got["bars"]
    assert bar["kind"] == "child" and bar["name"] == "Echo" and bar["outcome"] == "done"
    assert bar["instance"] and bar["scheduled_at"] <= bar["ended_at"] <= got["to"] == got["ended_at"]
    assert got["axis"][0]["at"] == 0 and got["axis"][-1]["until"] == 1
    events = server.get(I + "p-1/history").json["events"]
    assert got["events"] == events[-1]["seq"] and got["from"] == events[0]["at"]
    assert [e["kind"] for e in events if e["seq"] in (bar["seq"], bar["end_seq"])] == \
        ["SubOrchestrationScheduled", "SubOrchestrationCompleted"]


def test_an_open_run_and_its_attempts(server):
    server.start_instance("RemoteRetry", 1, "r-1")
    item = poll_one(server, worker="adam")
    bar, = timeline(server, "r-1")["bars"]
    assert bar["outcome"] == "open" and bar["running"] is True and bar["worker"] == "adam", bar
    assert bar["attempts"] == 1 and "tries" not in bar and bar["ended_at"] is None
    expect(server.post(W + item["token"] + "/fail", {"error": "busy\u202e\x1b[2J"}), 200)
    item = poll_one(server, worker="eve")
    first, second = timeline(server, "r-1")["bars"][0]["tries"]
    assert first["error"] == "busy\u202e\x1b[2J" and first["worker"] == "adam" and first["n"] == 1
    assert second["last"] and second["worker"] == "eve" and "estimated" not in second
    assert first["from"] <= first["to"] <= second["from"] <= second["to"]
    expect(server.post(W + item["token"] + "/complete", {"result": 1}), 200)
    server.ended("r-1")
    bar, = timeline(server, "r-1")["bars"]
    assert bar["outcome"] == "done" and bar["attempts"] == 2 and bar["worker"] == "eve"
    assert [t["n"] for t in bar["tries"]] == [1, 2] and bar["tries"][1]["to"] == bar["ended_at"]


def test_what_is_asked_wrongly(server):
    server.ended(server.start_instance("Echo", 1, "e-1"))
    expect(server.get(I + "nobody/timeline"), 404, "not_found")
    expect(server.get(I + "e-1/timeline?execution=2"), 404, "not_found")
    for bad in ("execution=x", "execution=-1"):
        expect(server.get(I + "e-1/timeline?" + bad), 400, "invalid")
    expect(server.get(I + "e-1/timeline?limit=1"), 400, "unknown_parameter")
    assert timeline(server, "e-1", "?execution=1") | {"now": 0} == timeline(server, "e-1") | {"now": 0}


def test_a_long_history_is_short(server):
    server.ended(server.start_instance("Heap", {"steps": 2000, "children": 3, "value": 1}, "h-1"))
    reply = expect(server.get(I + "h-1/timeline"), 200)
    got = reply.json
    assert got["grouped"] and got["bars"] == [] and got["steps"] == 2003, got["steps"]
    assert [(n["kind"], n["name"], n["count"]) for n in got["names"]] == \
        [("activity", "Twice", 2000), ("child", "Echo", 3)]
    assert len(got["names"][0]["skyline"]) == 80 and got["names"][0]["most_at_once"] >= 1
    assert len(reply.body) < 4096, len(reply.body)


def test_large_payloads_cost_nothing(server):
    server.ended(server.start_instance("Heap", {"steps": 20, "value": "x" * 500000}, "l-1"))
    reply = expect(server.get(I + "l-1/timeline"), 200)
    assert len(reply.json["bars"]) == 20 and len(reply.body) < 8192, len(reply.body)


def test_the_page_draws_the_same():
    """Histories of many kinds, drawn by the page's code (tests/page/agree.mjs) and by the server."""
    order = kit.BUILD / "examples" / "order.so"
    with Server(load=[order, kit.module()]) as server:
        for name, code, value in (("parent", "Parent", 1), ("heap", "Heap", {"steps": 30, "value": 1}),
                                  ("wide", "Wide", 300), ("post", "Post", 1), ("wrong", "Wrong", 1),
                                  ("nap", "Nap", 1700), ("late", "Late", 1)):
            server.start_instance(code, value, name)
        server.start_instance("ProcessOrder", {"id": "order", "step_ms": 30, "return_window_ms": 2500}, "order")
        server.post(I + "order/events/FraudReview", {"approved": True})
        for name, lives in (("told", 1), ("estimated", 2)):     # a restart forgets how attempts went
            server.start_instance("RemoteRetry", 1, name)
            expect(server.post(W + poll_one(server)["token"] + "/fail", {"error": "busy"}), 200)
            if lives > 1:
                server.restart()
            time.sleep(0.1)
            expect(server.post(W + poll_one(server)["token"] + "/complete", {"result": 1}), 200)
        server.start_instance("Ask", 1, "open")
        names = [i["instance"] for i in server.get("/api/v1/instances").json["instances"]]
        for name in set(names) - {"open"}:
            server.ended(name)
        folder = kit.work_dir() / "agree"
        folder.mkdir()
        for name in names:
            path = I + kit.urllib.parse.quote(name, safe="")
            history = server.get(path + "/history").json
            history["waiting_for"] = server.get(path).json["waiting_for"]
            stem = str(folder / name.replace("/", "_").replace(":", "_"))
            told = expect(server.get(path + "/timeline"), 200).json
            for kind, doc in (("history", history), ("timeline", told)):
                with open("%s.%s.json" % (stem, kind), "w") as out:
                    kit.json.dump(doc, out)
        got = kit.subprocess.run(["node", kit.ROOT / "tests" / "page" / "agree.mjs", folder],
                                 capture_output=True, text=True)
        assert got.returncode == 0, got.stdout + got.stderr
        tried = {n: timeline(server, n)["bars"][0]["tries"] for n in ("told", "estimated")}
        assert not any("estimated" in t for t in tried["told"]), tried
        assert all(t["estimated"] for t in tried["estimated"]), tried
        assert any(p["cut"] for p in timeline(server, "order")["axis"])


def test_fifty_thousand_events_are_answered_soon():
    with Server("--max-history", "60000") as server:
        server.ended(server.start_instance("Wide", 24990, "m-1"))
        began = time.monotonic()
        got = timeline(server, "m-1")
        took = time.monotonic() - began
        assert got["events"] > 49900 and got["steps"] == 24990, got
        assert got["names"][0]["count"] == 24990 and got["names"][0]["most_at_once"] > 100, got
        assert took < (20 if kit.SANITIZED else 5), took
