# SPDX-License-Identifier: MIT
"""The life of instances in workers: steering, continue as new, children, fan-in, what code publishes."""
import json
import threading
import time

from kit import Server, expect
from turns_kit import Worker, call, end, step, timer, wait_event

I = "/api/v1/instances/"


def kinds(server, instance, execution=0):
    path = I + instance + "/history" + ("?execution=%d" % execution if execution else "")
    return [e["kind"] for e in server.get(path).json["events"]]


def begun(w, name, instance, *decisions, wait="any", refs=(1,)):
    w.server.start_instance(name, 1, instance)
    t = w.turn()
    assert w.answer(t, [step(1, 1, *decisions)], wait, list(refs))["status"] == "ok"


def test_cancel_suspend_resume_terminate(server):
    w = Worker(server, "Life")
    begun(w, "Life", "s-1", wait_event(1, "Go"))
    expect(server.post(I + "s-1/suspend", {"reason": "rest"}), 202)
    expect(server.post(I + "s-1/events/Go", 5), 202)
    assert w.turns(wait_ms=200) == []
    assert server.get(I + "s-1").json["status"] == "suspended"
    expect(server.post(I + "s-1/resume"), 202)
    t = w.turn()
    assert [e["kind"] for e in t["events"]] == ["OrchestrationSuspended", "OrchestrationResumed"], t
    assert t["messages"][0]["kind"] == "ExternalEvent" and t["seq"] == 4
    assert w.answer(t, [step(1, 5, timer(2, 10 ** 9))], "any", [2])["status"] == "ok"
    expect(server.post(I + "s-1/cancel", {"reason": "no more"}), 202)
    t = w.turn()
    m = t["messages"][0]
    assert m["kind"] == "OrchestrationCancelRequested" and m["data"] == "no more"
    assert w.answer(t, [step(1, t["seq"] + 1, end("cancelled"))])["status"] == "ok"
    assert server.ended("s-1")["status"] == "cancelled"
    assert kinds(server, "s-1")[-2:] == ["TimerCancelled", "OrchestrationCancelled"]

    begun(w, "Life", "s-2", wait_event(1, "Go"))
    expect(server.post(I + "s-2/events/Go", 5), 202)
    t = w.turn()
    expect(server.post(I + "s-2/terminate", {"reason": "now"}), 202)
    assert server.ended("s-2")["status"] == "cancelled"
    assert w.answer(t, [step(1, 3, end("completed", output=""))])["status"] == "lost"


def test_a_suspend_waits_for_the_answer(server):
    w = Worker(server, "Life")
    server.start_instance("Life", 1, "w-1")
    t = w.turn()
    assert w.answer(t, [step(1, 1, timer(1, 1))], "any", [1])["status"] == "ok"
    t = w.turn()
    expect(server.post(I + "w-1/suspend"), 202)
    assert w.answer(t, [step(1, 3, timer(2, 1))], "any", [2])["status"] == "ok"
    assert w.turns(wait_ms=300) == []
    assert server.get(I + "w-1").json["status"] == "suspended"
    expect(server.post(I + "w-1/resume"), 202)
    t = w.turn()
    assert t["messages"][0]["ref"] == 2
    assert w.answer(t, [step(1, t["seq"] + 1, end("completed", output=""))])["status"] == "ok"


def test_continue_as_new_with_state_and_mail(server):
    w = Worker(server, "Life")
    server.start_instance("Life", 1, "n-1")
    for text in ("a", "b"):
        expect(server.post(I + "n-1/events/In", json.dumps(text)), 202)
    t = w.turn()
    state = {"do": "state", "name": "seen", "data": '"x"'}
    r = w.exchange([(t, [step(1, 1, state, end("continue", input="2"))])], max=1)
    assert r["answered"][0]["status"] == "ok" and "next" not in r["answered"][0]
    t = r["turns"][0] if r["turns"] else w.turn()
    assert t["execution"] == 2 and t["seq"] == 0 and t["messages"][0]["data"] == "2"
    assert [(c["kind"], c["name"], c["data"]) for c in t["carried"]] == [("StateCarried", "seen", '"x"')]
    r = w.exchange([(t, [step(1, 1, wait_event(1, "In"))], "any", [1])], max=1)
    assert r["answered"][0]["status"] == "ok" and r["answered"][0]["seq"] == 3
    t = r["turns"][0] if r["turns"] else w.turn()
    assert t["messages"][0]["data"] == '"a"' and t["seq"] == 3
    server.restart()
    assert server.get(I + "n-1/state/seen").json["value"] == "x"
    for _ in range(500):                     # due mail waits for the code, whatever is looked at before
        if server.get(I + "n-1").json.get("finding"):
            break
        time.sleep(0.01)
    assert "is not registered here" in server.get(I + "n-1").json["finding"]
    w = Worker(server, "Life")
    t = w.turn()
    assert [e["kind"] for e in t["events"]] == ["OrchestrationStarted", "StateCarried", "ExternalSubscribed"]
    assert t["messages"][0]["data"] == '"a"'
    assert w.answer(t, [step(1, 4, end("completed", output='"ok"'))])["status"] == "ok"
    assert server.ended("n-1")["output"] == "ok"


def test_children_across(server):
    w = Worker(server, "Above", "Below")
    server.start_instance("Above", 1, "p-1")
    t = w.turn()
    child = {"do": "child", "ref": 1, "name": "Below", "data": "7", "instance": "p-1:1:1"}
    c = {"do": "child", "ref": 2, "name": "Echo", "data": '"hi"', "instance": "p-1:1:2"}     # C code
    d = {"do": "detach", "ref": 3, "name": "Below", "data": "8", "instance": "p-1-free"}
    assert w.answer(t, [step(1, 1, child, c, d)], "all", [1, 2])["status"] == "ok"
    for _ in range(2):
        t = w.turn()
        assert t["orchestration"] == "Below" and t["messages"][0]["data"] in ("7", "8"), t
        assert w.answer(t, [step(1, 1, end("completed", output=t["messages"][0]["data"]))])["status"] == "ok"
    t = w.turn()
    assert t["orchestration"] == "Above", t
    got = {e["ref"]: e["data"] for e in t["events"] + t["messages"] if e["kind"] == "SubOrchestrationCompleted"}
    assert got == {1: "7", 2: '"hi"'}
    assert w.answer(t, [step(n + 1, t["seq"] + n + 1, *([end("completed", output="")] if n + 1 == len(t["messages"]) else []))
                        for n in range(len(t["messages"]))])["status"] == "ok"
    server.ended("p-1")
    assert server.ended("p-1-free")["output"] == 8


def detach(ref, instance, **more):
    return {"do": "detach", "ref": ref, "name": "Below", "data": "1", "instance": instance, **more}


def test_detached_start_of_an_id_that_is_taken(server):
    """The code learns it at the call, as C code does: the decision must be marked, and nothing is recorded before."""
    w = Worker(server, "Above", "Below")
    server.start_instance("Echo", 1, "taken")
    server.start_instance("Above", 1, "d-1")
    t, text = w.turn(), "instance 'taken' exists already"
    for n, lie in enumerate(([detach(1, "taken")], [call(1, "A"), detach(2, "taken")],
                             [call(1, "a/b", refused="no"), detach(2, "taken")])):
        a = w.answer(t, [step(1, 1, *lie)], "any", [1])
        assert (a["status"], a["code"], a["message"], a["seq"]) == ("refused", "call", text, (2, 3, 4)[n]), a
    a = w.answer(t, [step(1, 1, detach(1, "free"), detach(2, "free"))], "any", [1])     # one id, two starts
    assert (a["code"], a["message"], a["seq"]) == ("call", "instance 'free' exists already", 3), a
    assert kinds(server, "d-1") == []
    marked = {"do": "detach", "ref": 2, "name": "Below", "refused": text}
    assert w.answer(t, [step(1, 1, detach(1, "free"), marked, call(3, "A"))], "any", [3])["status"] == "ok"
    sent = [e for e in server.get(I + "d-1/history").json["events"] if e["kind"] == "OrchestrationChained"]
    assert [e.get("attrs", {}).get("refused") for e in sent] == [None, text], sent
    t = w.turn()
    assert t["instance"] == "free"
    assert w.answer(t, [step(1, 1, end("completed", output=""))])["status"] == "ok"


def test_an_id_that_a_refused_answer_reserved_is_free(server):
    w = Worker(server, "Above", "Below")
    for one in ("r-1", "r-2"):
        server.start_instance("Above", 1, one)
    turns = []
    while len(turns) < 2:
        turns += w.turns()
    lie, good = [step(1, 1, detach(1, "once"), call(9, "A"))], [step(1, 1, detach(1, "once"), call(2, "A"))]
    r = w.exchange([(turns[0], lie, "any", [2]), (turns[1], good, "any", [2])])
    assert [a["status"] for a in r["answered"]] == ["refused", "ok"], r["answered"]


def test_attributes_that_are_too_many(server):
    w = Worker(server, "Life")
    server.start_instance("Life", 1, "a-1")
    t = w.turn()
    many = {"do": "attributes", "attributes": {"n%d" % n: n for n in range(32)}}
    more = {"do": "attributes", "attributes": {"one": 1}}
    a = w.answer(t, [step(1, 1, many, more, call(1, "A"))], "any", [1])
    assert (a["status"], a["code"], a["seq"]) == ("refused", "call", 3) and "32" in a["message"], a
    marked = {"do": "attributes", "refused": a["message"]}
    assert w.answer(t, [step(1, 1, many, marked, call(1, "A"))], "any", [1])["status"] == "ok"
    assert len(server.get(I + "a-1").json["attributes"]) == 32


def test_fan_in_asks_twice(server):
    w = Worker(server, "Life")
    n = 40
    begun(w, "Life", "f-1", *[call(k, "A", str(k)) for k in range(1, n + 1)], wait="all", refs=range(1, n + 1))
    done = 0
    while done < n:
        items = expect(server.post("/api/v1/work/poll", {"activities": ["A"], "max": 100, "wait_ms": 5000}), 200).json["items"]
        for item in items:
            expect(server.post("/api/v1/work/" + item["token"] + "/complete", {"result": 1}), 200)
        done += len(items)
    t = w.turn()
    assert len(t["events"]) == n - 1 and len(t["messages"]) == 1, (len(t["events"]), len(t["messages"]))
    assert w.answer(t, [step(1, 2 * n + 1, end("completed", output=""))])["status"] == "ok"
    assert kinds(server, "f-1").count("ActivityCompleted") == n


def test_a_batch_with_a_task_that_its_first_step_cancels(server):
    w = Worker(server, "Life")
    begun(w, "Life", "b-1", timer(1, 1), timer(2, 1), timer(3, 1), refs=(1, 2, 3))
    time.sleep(0.3)
    t = w.turn()
    refs = [m["ref"] for m in t["messages"]]
    assert refs == [1, 2, 3], t
    steps = [step(1, 5, {"do": "cancel", "ref": 2, "reason": "lost the race"})]
    bad = w.answer(t, steps + [step(2, 7)], "any", [3])
    assert bad["status"] == "refused", bad
    assert w.answer(t, steps + [step(3, 7, end("completed", output=""))])["status"] == "ok"
    assert kinds(server, "b-1")[4:] == ["TimerFired", "TimerCancelled", "TimerFired", "OrchestrationCompleted"]


def test_a_prefix_of_a_batch(server):
    w = Worker(server, "Life")
    begun(w, "Life", "b-2", timer(1, 1), timer(2, 1), refs=(1, 2))
    time.sleep(0.3)
    t = w.turn()
    assert len(t["messages"]) == 2
    r = w.exchange([(t, [step(1, 4)], "any", [2])], max=1)
    assert r["answered"][0]["status"] == "ok"
    t = r["turns"][0] if r["turns"] else w.turn()
    assert t["messages"][0]["ref"] == 2 and t["seq"] == 4
    assert w.answer(t, [step(1, 5, end("completed", output=""))])["status"] == "ok"


def test_long_histories_come_in_pages(server):
    w = Worker(server, "Life")
    n = 2500
    begun(w, "Life", "h-1", *[{"do": "status", "text": str(k)} for k in range(n)], wait_event(1, "Go"))
    expect(server.post(I + "h-1/events/Go", 1), 202)
    v = Worker(server, "Life", name="w-2")
    w.call(leaving=True)
    t = v.turn()
    assert t["more"] is True and t["after"] == 0 and t["seq"] == n + 2
    events = t["events"]
    while len(events) < t["seq"]:
        page = expect(server.get("/api/v1/turns/%s/history?after=%d" % (t["token"], len(events))), 200).json
        assert page["events"][0]["seq"] == len(events) + 1 and page["seq"] == t["seq"]
        events += page["events"]
        assert page["more"] == (len(events) < t["seq"]) and page.get("next", t["seq"]) == len(events)
    assert [e["seq"] for e in events] == list(range(1, n + 3))
    assert v.answer(t, [step(1, n + 3, end("completed", output=""))])["status"] == "ok"


def test_what_code_does_else(server):
    w = Worker(server, "Life")
    begun(w, "Life", "e-1", {"do": "update", "ref": 1, "name": "Add"}, wait_event(2, "Ok", ask={"title": "May I?"}),
          {"do": "attributes", "attributes": {"customer": "c-1"}}, {"do": "push", "name": "mail", "data": '"hello"'},
          {"do": "status", "text": "waits"}, {"do": "patch", "name": "p1"}, refs=(1, 2))
    assert server.get(I + "e-1").json["attributes"]["customer"] == "c-1"
    assert server.get("/api/v1/asks").json["asks"][0]["instance"] == "e-1"
    assert server.post("/queue/mail/pop").json["items"] == ["hello"]
    got = []
    thread = threading.Thread(target=lambda: got.append(server.call("POST", I + "e-1/updates/Add", 3, fresh=True)))
    thread.start()
    t = w.turn()
    m = t["messages"][0]
    assert m["kind"] == "UpdateAccepted" and m["ref"] == 1 and m["data"] == "3" and m["attrs"]["update"]
    answer = {"do": "answer", "ref": 1, "data": '"added"'}
    raised = {"do": "raise", "ref": 3, "instance": "e-1", "name": "Ok", "data": '"yes"'}
    assert w.answer(t, [step(1, t["seq"] + 1, answer, raised)], "any", [2])["status"] == "ok"
    thread.join(10)
    assert got[0].status == 200 and b"added" in got[0].body, got
    t = w.turn()
    assert t["messages"][0]["kind"] == "ExternalEvent" and t["messages"][0]["data"] == '"yes"'
    assert w.answer(t, [step(1, t["seq"] + 1, end("completed", output=""))])["status"] == "ok"
    server.ended("e-1")


def test_a_wait_that_was_not_seen_gives_its_event_back(server):
    w = Worker(server, "Life")
    begun(w, "Life", "g-1", wait_event(1, "A"), wait_event(2, "B"), refs=(1, 2))
    expect(server.post(I + "g-1/events/A", 1), 202)
    t = w.turn()
    assert w.answer(t, [step(1, 4, {"do": "cancel", "ref": 1, "reason": "not looked at"}, wait_event(3, "A"))],
                    "any", [2, 3], max=1)["status"] == "ok"
    t = w.last["turns"][0] if w.last["turns"] else w.turn()
    assert t["messages"][0]["ref"] == 3 and t["messages"][0]["data"] == "1"
    assert w.answer(t, [step(1, t["seq"] + 1, end("completed", output=""))])["status"] == "ok"


def test_versions_over_both(server):
    w = Worker(server, "Echo 1.0.0", "Echo 7.0.0", "Life")
    w.call(code=w.code)
    assert {"name": "Echo", "version": "1.0.0", "status": "taken"} in w.last["code"], w.last
    server.start_instance("Echo", 1, "v-1")                            # the latest: 7.0.0, in workers
    t = w.turn()
    assert t["orchestration"] == "Echo" and t["version"] == "7.0.0"
    assert w.answer(t, [step(1, 1, end("continue", input='"c"', version="1.0.0"))])["status"] == "ok", w.last
    assert server.ended("v-1")["output"] == "c"                        # and on in C
    assert kinds(server, "v-1", 1)[-1] == "OrchestrationContinuedAsNew"


def test_operators_see_it(server):
    w = Worker(server, "Life")
    begun(w, "Life", "o-1", wait_event(1, "Go"))
    code = [o for o in server.get("/api/v1/registry").json["orchestrations"] if o["name"] == "Life"]
    assert "(workers)" in json.dumps(code), code
    why = server.get(I + "o-1/why").json
    assert "Go" in json.dumps(why), why
    file = server.get(I + "o-1/export").json
    assert [e["kind"] for e in file["events"]] == ["OrchestrationStarted", "ExternalSubscribed"]
    expect(server.post(I + "o-1/events/Go", 1), 202)
    t = w.turn()
    assert w.answer(t, [step(1, 3, end("completed", output=""))])["status"] == "ok"
    server.ended("o-1")
    expect(server.post(I + "o-1/rerun", {}), 409, "conflict")
    assert server.get(I + "o-1").json["execution"] == 1


def test_the_engine_dies_at_every_step(server):
    """kill -9 of the server between any two calls: nothing is lost, nothing is recorded twice."""
    w = Worker(server, "Life")
    server.start_instance("Life", 1, "k-1")
    for n in range(1, 6):
        server.restart()
        w = Worker(server, "Life")
        t = w.turn()
        assert t["seq"] == 2 * (n - 1) and len(t["messages"]) == 1, t
        if n % 2:
            server.restart()
            assert w.call(answers=[{"token": t["token"], "release": True}], status=409) == "unknown_session"
            w = Worker(server, "Life")
            t = w.turn()
        done = [end("completed", output='"k"')] if n == 5 else [timer(n, 1)]
        a = w.answer(t, [step(1, t["seq"] + 1, *done)], *(["any", [n]] if n < 5 else []))
        assert a["status"] == "ok", a
    assert server.ended("k-1")["output"] == "k"
    assert kinds(server, "k-1") == ["OrchestrationStarted"] + ["TimerCreated", "TimerFired"] * 4 + ["OrchestrationCompleted"]


def test_plain_files():
    with Server("--store", "jsonl:" + __import__("tempfile").mkdtemp()) as server:
        test_cancel_suspend_resume_terminate(server)
        test_a_batch_with_a_task_that_its_first_step_cancels(server)
        test_a_wait_that_was_not_seen_gives_its_event_back(server)
        test_the_engine_dies_at_every_step(server)
