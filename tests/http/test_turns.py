# SPDX-License-Identifier: MIT
"""Orchestrations in workers (docs/protocol/turns.md), by raw HTTP: an honest worker's day."""
import json
import time

from kit import Server, expect
from turns_kit import Worker, call, end, step, timer, wait_event


def test_start_call_end(server):
    w = Worker(server, "Order")
    server.start_instance("Order", {"n": 1}, "o-1")
    t = w.turn()
    assert t["instance"] == "o-1" and t["execution"] == 1 and t["seq"] == 0 and t["after"] == 0
    assert t["events"] == [] and t["orchestration"] == "Order" and t["version"] == "1.0.0"
    m = t["messages"][0]
    assert m["kind"] == "OrchestrationStarted" and json.loads(m["data"]) == {"n": 1}
    assert len(m["attrs"]["seed"]) == 16
    a = w.answer(t, [step(1, 1, call(1, "Charge", '{"amount":3}'))], "any", [1])
    assert a["status"] == "ok" and a["seq"] == 2 and a["next"]
    item = expect(server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 5000}), 200).json["items"][0]
    assert item["input"] == {"amount": 3}
    expect(server.post("/api/v1/work/" + item["token"] + "/complete", {"result": 42}), 200)
    t = w.turn()
    assert t["seq"] == 2 and t["after"] == 2 and t["events"] == []
    m = t["messages"][0]
    assert m["kind"] == "ActivityCompleted" and m["ref"] == 1 and m["data"] == "42"
    a = w.answer(t, [step(1, 3, end("completed", output='"done"'))])
    assert a["status"] == "ok" and "next" not in a
    assert server.ended("o-1")["output"] == "done"
    kinds = [e["kind"] for e in server.get("/api/v1/instances/o-1/history").json["events"]]
    assert kinds == ["OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "OrchestrationCompleted"]


def test_timer_and_restart(server):
    w = Worker(server, "Order")
    server.start_instance("Order", 1, "o-2")
    t = w.turn()
    assert w.answer(t, [step(1, 1, timer(1, 50))], "any", [1])["status"] == "ok"
    t = w.turn()
    assert t["messages"][0]["kind"] == "TimerFired" and t["messages"][0]["attrs"]["fire_at_ms"]
    server.restart()
    assert w.call(answers=[{"token": t["token"], "release": True}], status=409) == "unknown_session"
    w = Worker(server, "Order")
    t = w.turn()
    assert t["after"] == 0 and [e["kind"] for e in t["events"]] == ["OrchestrationStarted", "TimerCreated"]
    assert t["seq"] == 2 and t["messages"][0]["kind"] == "TimerFired"
    assert w.answer(t, [step(1, 3, end("failed", error="no"))])["status"] == "ok"
    assert server.ended("o-2")["error"] == "no"


def test_event_before_and_after(server):
    w = Worker(server, "Order")
    server.start_instance("Order", 1, "o-3")
    expect(server.post("/api/v1/instances/o-3/events/Go", {"n": 1}), 202)
    t = w.turn()
    r = w.exchange([(t, [step(1, 1, wait_event(1, "Go"), wait_event(2, "Stop"))], "any", [1, 2])], max=5)
    assert r["answered"][0]["status"] == "ok"
    t = r["turns"][0] if r["turns"] else w.turn()
    m = t["messages"][0]
    assert m["kind"] == "ExternalEvent" and m["ref"] == 1 and json.loads(m["data"]) == {"n": 1}
    assert w.answer(t, [step(1, 4)], "any", [2])["status"] == "ok"
    expect(server.post("/api/v1/instances/o-3/events/Stop", 7), 202)
    t = w.turn()
    assert t["messages"][0]["ref"] == 2 and t["messages"][0]["data"] == "7"
    assert w.answer(t, [step(1, 5, end("completed", output=""))])["status"] == "ok"
    server.ended("o-3")


def test_too_many_sessions(server):
    """The last that is fine, the first that is not; those that are in go on."""
    first = Worker(server, "Many")
    for _ in range(999):
        Worker(server, "Many")
    more = Worker(server, "Many", tell=False)
    r = server.post("/api/v1/turns", {"protocol": 1, "session": more.session, "code": more.code})
    assert r.status == 429 and r.headers["Retry-After"] == "1", (r, r.headers)
    assert r.json["error"]["code"] == "too_many" and "silent for 60 s makes room" in r.json["error"]["message"], r
    assert first.call()["turns"] == []
    assert more.call(409) == "unknown_session"
