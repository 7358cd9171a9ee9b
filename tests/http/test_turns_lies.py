# SPDX-License-Identifier: MIT
"""Workers that lie, are slow, die or speak another protocol: each its refusal, nothing changed."""
import time

from kit import Server, expect
from turns_kit import Worker, call, end, step, timer, wait_event


def history(server, instance):
    return server.get("/api/v1/instances/%s/history" % instance).json["events"]


def refused(w, t, code, *args):
    """The answer is refused, the history is as it was, and the token is still good."""
    before = history(w.server, "l-1")
    a = w.answer(t, *args)
    assert a["status"] == "refused" and a["code"] == code and a["message"], a
    assert history(w.server, "l-1") == before


def test_lies(server):
    w = Worker(server, "Lie")
    server.start_instance("Lie", 1, "l-1")
    t = w.turn()
    good = call(1, "A", "x")
    big = "y" * (3 << 20)
    lies = [
        ("step", [step(1, 1, call(2, "A", "x"))], "any", [2]),                   # wrong ref
        ("step", [step(1, 2, good)], "any", [1]),                               # wrong seq
        ("step", [step(2, 1, good)], "any", [1]),                               # a message not given
        ("step", [step(1, 1, good), step(2, 3, timer(2, 5))], "any", [1]),      # one too many
        ("step", [step(1, 1, end("completed", output=""), good)], None),         # after the end
        ("step", [step(1, 1, end("completed", output="")), step(2, 3)], None),
        ("step", [step(1, 1, {"do": "cancel", "ref": 1, "reason": "x"})], "any", [1]),
        ("step", [step(1, 1, good, {"do": "cancel", "ref": 1, "reason": "x"},
                       {"do": "cancel", "ref": 1, "reason": "x"})], "any", [1]),
        ("step", [step(1, 1, end("cancelled"))], None),                          # unasked
        ("call", [step(1, 1, call(1, "A", big))], "any", [1]),                  # over the limit
        ("call", [step(1, 1, call(1, "a/b", "x"))], "any", [1]),
        ("call", [step(1, 1, timer(1, -1))], "any", [1]),
        ("step", [step(1, 1, {"do": "answer", "ref": 1, "data": "x"})], "any", [1]),
        ("call", [step(1, 1, {"do": "state", "name": "k" * 300, "data": "x"})], "any", [1]),
        ("step", [step(1, 1, {"do": "patch", "name": ""})], "any", [1]),
        ("step", [], "any", [1]),                                                # no step
        ("wait", [step(1, 1, good)], None),                                      # neither end nor wait
        ("wait", [step(1, 1, good)], "any", []),                                # for nothing
        ("wait", [step(1, 1, good)], "any", [2]),                               # not open
        ("wait", [step(1, 1, good, timer(2, 9))], "any", [2, 1]),               # not ascending
        ("wait", [step(1, 1, end("completed", output=""))], "any", [1]),        # ended and waits
        ("shape", [step(1, 1, {"do": "dance", "ref": 1})], "any", [1]),
        ("shape", [step(1, 1, {"do": "call", "ref": "1", "name": "A"})], "any", [1]),
        ("shape", [step(1, 1, {"do": "call", "ref": 1, "name": "A", "colour": 1})], "any", [1]),
        ("shape", [step(1, 1, call(1, "A", "", opts={"tag": "pawl.inline"}))], "any", [1]),
        ("shape", [{"seq": 1, "decisions": []}], "any", [1]),
    ]
    for code, *args in lies:
        refused(w, t, code, *args)
    for body in ({"mismatch": {"code": "x", "seq": 1, "text": "t"}, "bug": {"error": "e"}}, {}, {"release": False}):
        a = w.call(answers=[{"token": t["token"], **body}])["answered"][0]
        assert a["status"] == "refused" and a["code"] == "shape", a
    assert w.answer(t, [step(1, 1, good)], "any", [1])["status"] == "ok"
    assert w.answer(t, [step(1, 1, good)], "any", [1])["status"] == "lost"      # used up


def test_the_call_itself(server):
    w = Worker(server, "Lie", tell=False)
    assert w.call(status=409) == "unknown_session"
    w.call(code=w.code)
    ok = {"protocol": 1, "session": w.session}
    expect(server.post("/api/v1/turns", {**ok, "protocol": 2}), 409, "protocol")
    for more in ({"session": "short"}, {"session": "x" * 65}, {"session": "!" * 20}, {"max": 101}, {"max": -1},
                 {"wait_ms": 60001}, {"colour": 1}, {"code": []}, {"code": [{"name": "a/b", "version": "1.0.0"}]},
                 {"code": [{"name": "A", "version": "one"}]}, {"code": 1}, {"answers": 1}, {"answers": [{}]},
                 {"answers": [{"token": "t"}] * 101}, {"beats": [1]}, {"forget": "x"}, {"forget": [""]}, {"beats": [""]}, {"worker": "w" * 256}):
        expect(server.post("/api/v1/turns", {**ok, **more}), 400)
    for token in ("", "t", "t1.1.1.1", "t1.1.1.1.0000000000000000", "x" * 300):
        a = w.call(answers=[{"token": token or "-", "release": True}])["answered"][0]
        assert a["status"] == "lost", a
        assert server.get("/api/v1/turns/%s/history" % (token or "-")).status == 410
    r = w.call(beats=["t1.1.1.1.0000000000000000"])
    assert r["beats"] == [{"token": "t1.1.1.1.0000000000000000", "status": "lost"}]


def test_another_session_has_no_claim(server):
    w, thief = Worker(server, "Lie"), Worker(server, "Lie", name="w-1")          # two workers with one name
    server.start_instance("Lie", 1, "l-1")
    t = w.turn()
    a = thief.answer(t, [step(1, 1, end("completed", output=""))])
    assert a["status"] == "lost"
    assert thief.turns(wait_ms=0) == []                                          # at most one hand-out a run
    assert w.answer(t, [step(1, 1, end("completed", output=""))])["status"] == "ok"


def test_mismatch_and_bug_block(server):
    w = Worker(server, "Lie")
    for instance, answer, code, text in (
            ("b-1", {"mismatch": {"code": "schedule", "seq": 1, "text": "nondeterministic: schedule mismatch at event 1",
                                  "site": "order.py:41"}}, "mismatch", "nondeterministic"),
            ("b-2", {"bug": {"error": "KeyError: 'amount'", "site": "order.py:41"}}, "bug", "bug: KeyError")):
        server.start_instance("Lie", 1, instance)
        t = w.turn()
        a = w.call(answers=[{"token": t["token"], **answer}])["answered"][0]
        assert a["status"] == "blocked" and a["code"] == code, a
        info = server.get("/api/v1/instances/" + instance).json
        assert info["status"] == "blocked" and text in info["finding"] and "order.py:41" in info["finding"]
        assert w.turns(wait_ms=0) == []
        expect(server.post("/api/v1/instances/%s/retry" % instance), 202)
        t = w.turn()
        assert t["messages"][0]["kind"] == "OrchestrationStarted"
        assert w.answer(t, [step(1, 1, end("completed", output=""))])["status"] == "ok"
        server.ended(instance)


def test_slow_and_lost_workers():
    with Server("--turn-lease", "400ms", "--max-attempts", "3") as server:
        w, v = Worker(server, "Lie"), Worker(server, "Lie", name="w-2")
        server.start_instance("Lie", 1, "s-1")
        t = w.turn()
        for _ in range(4):                                                       # beats keep it
            time.sleep(0.2)
            w.call(beats=[t["token"]])
        assert w.answer(t, [step(1, 1, timer(1, 1))], "any", [1])["status"] == "ok"
        t = w.turn()
        again = v.turn(wait_ms=20000)                                            # silence loses it
        assert again["after"] == 0 and again["messages"][0]["kind"] == "TimerFired"
        assert w.answer(t, [step(1, 3, end("completed", output=""))])["status"] == "lost"
        assert v.answer(again, [step(1, 3, timer(2, 1))], "any", [2])["status"] == "ok"
        for _ in range(3):
            assert v.turn(wait_ms=20000)["messages"][0]["ref"] == 2
        for _ in range(100):
            info = server.get("/api/v1/instances/s-1").json
            if info["status"] == "blocked":
                break
            v.turns(wait_ms=100)
        assert info["status"] == "blocked" and "poison: 3 workers" in info["finding"], info


def test_release_and_leaving(server):
    w, v = Worker(server, "Lie"), Worker(server, "Lie", name="w-2")
    server.start_instance("Lie", 1, "r-1")
    t = w.turn()
    assert w.call(answers=[{"token": t["token"], "release": True}])["answered"][0]["status"] == "released"
    t = v.turn()
    assert v.answer(t, [step(1, 1, wait_event(1, "Go"))], "any", [1])["status"] == "ok"
    v.call(leaving=True, max=5)
    expect(server.post("/api/v1/instances/r-1/events/Go", 1), 202)
    began = time.monotonic()
    t = w.turn()
    assert time.monotonic() - began < 1.5 and t["after"] == 0 and len(t["events"]) == 2
    assert w.answer(t, [step(1, 3, end("completed", output=""))])["status"] == "ok"


def test_one_lie_does_not_touch_others(server):
    w = Worker(server, "Lie")
    for n in range(5):
        server.start_instance("Lie", n, "m-%d" % n)
    turns = []
    while len(turns) < 5:
        turns += w.turns(max=5)
    r = w.exchange([(t, [step(1, 9 if i == 2 else 1, end("completed", output=""))]) for i, t in enumerate(turns)])
    assert [a["status"] for a in r["answered"]] == ["ok", "ok", "refused", "ok", "ok"]
    assert w.answer(turns[2], [step(1, 1, end("completed", output=""))])["status"] == "ok"
    for n in range(5):
        server.ended("m-%d" % n)


def test_one_token_in_two_answers(server):
    """They are judged in their order: what one took, the next one does not find."""
    w = Worker(server, "Lie")
    server.start_instance("Lie", 1, "l-1")
    t, good, bad = w.turn(), [step(1, 1, wait_event(1, "Go"))], [step(1, 9, timer(1, 5))]
    r = w.exchange([(t, bad, "any", [1]), (t, good, "any", [1]), (t, good, "any", [1])])
    assert [a["status"] for a in r["answered"]] == ["refused", "ok", "lost"], r
    assert len(history(server, "l-1")) == 2
    server.post("/api/v1/instances/l-1/events/Go", {})
    assert w.answer(w.turn(), [step(1, 3, end("completed", output=""))])["status"] == "ok"


def test_a_token_behind_what_cannot_be_read(server):
    """The answer alone is refused, wherever its token stands; the call is not."""
    w = Worker(server, "Lies")
    w.call(code=w.code)
    for answer in ({"bug": None, "token": "t1.1.1"}, {"steps": 5, "nonsense": 1, "token": "t1.1.1"}):
        a = w.call(answers=[answer])["answered"][0]
        assert a["token"] == "t1.1.1" and a["status"] in ("refused", "lost"), a
    assert w.call(400, answers=[{"steps": []}]) == "invalid"
