# SPDX-License-Identifier: MIT
"""Turns as an attacker and as an unlucky user: misread members, forged tokens, limits hit in mid-answer."""
import json
import struct
import time

from kit import Server, expect
from pawl.draws import siphash24
from turns_kit import Worker, call, end, step, timer, wait_event

I = "/api/v1/instances/"


def history(server, instance):
    return server.get(I + instance + "/history").json["events"]


def raw_answer(w, text):
    """An answer as bytes: json.dumps never doubles a member."""
    body = '{"protocol":1,"session":"%s","answers":[%s]}' % (w.session, text)
    r = w.server.call("POST", "/api/v1/turns", body.encode(), {"Content-Type": "application/json"})
    assert r.status == 200, r
    return r.json["answered"][0]


def test_members_given_twice(server):
    """The last one must not win, and no list may grow over the room of another."""
    w = Worker(server, "Hostile")
    server.start_instance("Hostile", 1, "h-1")
    t = w.turn()
    many = ",".join('{"do":"timer","ref":%d,"delay_ms":1}' % n for n in range(1, 3001))
    refs = ",".join(str(n) for n in range(1, 3001))
    head = '{"token":"%s",' % t["token"]
    one = '{"do":"timer","ref":1,"delay_ms":1}'
    wait = '"wait":{"for":"any","refs":[1]}}'
    for text in (
            head + '"steps":[{"m":1,"seq":1,"decisions":[%s],"decisions":[%s]}],' % (many, one) + wait,
            head + '"steps":[{"m":1,"seq":1,"decisions":[%s]}],"wait":{"for":"any","refs":[%s],"refs":[1]}}' % (one, refs),
            head + '"steps":[{"m":1,"seq":1,"decisions":[%s]}],"wait":{"for":"any","refs":[%s]},' % (one, refs) + wait,
            head + '"steps":[{"m":1,"seq":1,"decisions":[%s]}],"wait":{"for":"all","for":"any","refs":[1]}}' % one,
            head + '"steps":[{"result":{"lease":"w1","data":"","at":1},"result":{"lease":"w2","data":"","at":1},'
                   '"seq":1,"decisions":[%s]}],' % one + wait,
            head + '"steps":[{"m":1,"seq":1,"decisions":[{"do":"call","ref":1,"name":"A","data":"","opts":{"attempts":1},'
                   '"opts":{"attempts":2}}]}],' + wait,
            head + '"steps":[{"m":1,"seq":1,"decisions":[{"do":"call","ref":1,"name":"A","data":"",'
                   '"opts":{"backoff":"fixed","backoff":"linear"}}]}],' + wait,
            head + '"steps":[{"m":1,"seq":1,"decisions":[%s]}],"release":true,' % one + wait,
            head + '"token":"other","release":true}'):
        a = raw_answer(w, text)
        assert a["status"] == "refused" and a["code"] == "shape" and a["message"], (a, text[:200])
    assert server.get(I + "h-1").json["status"] == "pending"
    assert w.answer(t, [step(1, 1, end("completed", output=""))])["status"] == "ok"


def test_members_of_another_decision(server):
    """A member that this decision has not is refused, and so is one that is missing."""
    w = Worker(server, "Hostile")
    server.start_instance("Hostile", 1, "h-1")
    t = w.turn()
    base = {"call": call(1, "A", "x"), "timer": timer(1, 5), "event": wait_event(1, "E"),
            "child": {"do": "child", "ref": 1, "name": "C", "data": "", "instance": "c-1"},
            "push": {"do": "push", "name": "q", "data": "1"}, "status": {"do": "status", "text": "s"},
            "cancel": {"do": "cancel", "ref": 1, "reason": "r"}}
    wrong = [
        {**base["timer"], "data": "x"}, {**base["timer"], "name": "x"}, {**base["timer"], "lease": True},
        {**base["call"], "delay_ms": 5000}, {**base["call"], "text": "y"}, {**base["call"], "data64": "eA=="},
        {**base["call"], "fresh": True}, {**base["call"], "reason": "r"}, {**base["call"], "priority": 1},
        {**base["event"], "delay_ms": 5000}, {**base["event"], "data": "x"}, {**base["event"], "opts": {"attempts": 1}},
        {**base["child"], "reason": "r"}, {**base["child"], "await_start": True},
        {**base["status"], "data": "x"}, {**base["status"], "ref": 1}, {**base["push"], "ref": 1},
        {**base["push"], "deadline_ms": 1}, {"do": "detach", **{k: v for k, v in base["child"].items() if k != "do"}, "abandon": True},
        {**base["cancel"], "refused": "x"}, {"do": "patch", "name": "p", "refused": "x"},
        {"do": "patch", "name": "p", "data": "x"}, {"do": "state", "name": "k", "data": "1", "cleared": True},
        {"do": "attributes", "attributes": {"a": 1}, "data": "{}"},
        {"end": "completed", "error": "x"}, {"end": "failed", "output": "x"}, {"end": "continue", "output": "x"},
        {"end": "completed", "output": "x", "version": "1.0.0"}, {"end": "cancelled", "output": "x"},
        {"end": "completed", "output": "x", "ref": 1}, {"end": "completed", "output": "x", "error": "y"},
        {"do": "timer", "ref": 1}, {"do": "call", "ref": 1}, {"do": "call", "name": "A", "data": ""},
        {"do": "child", "ref": 1, "name": "C", "data": ""}, {"do": "status"}, {"do": "state", "name": "k"},
        {"do": "cancel", "reason": "r"}, {"do": "attributes"}, {"do": "raise", "ref": 1, "name": "E", "data": ""},
        {**base["call"], "refused": ""},
    ]
    for d in wrong:
        a = w.answer(t, [step(1, 1, d)], "any", [1])
        assert a["status"] == "refused" and a["code"] == "shape", (d, a)
    good = [base["call"], {**base["timer"], "ref": 2}, {**base["event"], "ref": 3, "fresh": True}, base["status"],
            {"do": "call", "ref": 4, "name": "B", "refused": "too large"},
            {"do": "cancel", "ref": 2, "reason": "r"}, {"do": "state", "name": "k", "data": "1"},
            {"do": "state", "name": "k", "cleared": True}, {"do": "attributes", "attributes": {"a": 1}}]
    assert w.answer(t, [step(1, 1, *good)], "any", [1])["status"] == "ok", w.last


def test_forged_before_the_first_session(server):
    """A server without a worker has no key yet; a key of zeroes must not open histories."""
    server.start_instance("Echo", "secret", "f-1")
    server.ended("f-1")
    uid = server.get(I + "f-1").json.get("uid", 1)
    for u in {uid, 1, 2, 3}:
        parts = (u, 1, 9, 0, 0)
        mac = siphash24(0, 0, struct.pack("<5Q", *parts))
        r = server.get("/api/v1/turns/t%d.%d.%d.%d.%d.%016x/history" % (*parts, mac))
        assert r.status == 410, r


def test_a_token_is_of_its_session(server):
    """Another worker that learned it, idle or not, cannot answer with it; its owner can."""
    w, thief = Worker(server, "Hostile"), Worker(server, "Hostile", name="thief")
    server.start_instance("Hostile", 1, "s-1")
    t = w.turn()
    assert thief.answer(t, [step(1, 1, end("completed", output="1"))])["status"] == "lost"
    assert thief.call(beats=[t["token"]])["beats"] == [{"token": t["token"], "status": "lost"}]
    a = w.answer(t, [step(1, 1, call(1, "s", "", lease=True))], "any", [1])
    stolen = result(a["leases"][0], 3, "1", w.last["now"], end("completed", output="1"))
    assert thief.answer(a["next"], [stolen])["status"] == "lost"
    assert thief.call(answers=[{"token": a["next"], "bug": {"error": "no"}}])["answered"][0]["status"] == "lost"
    assert server.get(I + "s-1").json["status"] == "running"
    again = Worker(server, "Hostile")
    again.session = w.session                                  # the same process, which tells its code again
    again.call(code=w.code)
    done = result(a["leases"][0], 3, "1", w.last["now"], end("completed", output="7"))
    assert again.answer(a["next"], [done])["status"] == "ok"
    assert server.ended("s-1")["output"] == 7


def inline(w, instance, *more, refs=(1,)):
    w.server.start_instance(w.code[0]["name"], 1, instance)
    a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True), *more)], "any", list(refs))
    assert a["status"] == "ok", a
    return a


def result(lease, seq, data, now, *decisions):
    return {"result": {"lease": lease["lease"], "data": data, "at": now}, "seq": seq, "decisions": list(decisions)}


def test_a_result_over_the_history_limit():
    with Server("--max-history", "6") as server:
        w = Worker(server, "Hostile")
        for n in range(3):
            a = inline(w, "r-%d" % n)
            over = [timer(2 + k, 10 ** 6) for k in range(8)]
            a = w.answer(a["next"], [result(a["leases"][0], 3, "7", w.last["now"], *over)], "any", [2])
            assert a["status"] == "blocked" and "max-history" in a["message"], a
            assert server.get(I + "r-%d" % n).json["status"] == "blocked"
        expect(server.post(I + "r-0/retry"), 202)
        t = w.turn()
        assert t["messages"][0]["kind"] == "ActivityCompleted" and t["messages"][0]["data"] == "7", t
        assert w.answer(t, [step(1, 3, end("completed", output="1"))])["status"] == "ok"
        assert server.ended("r-0")["output"] == 1
        assert server.get("/health").status == 200


def test_two_results_and_the_second_is_refused(server):
    w = Worker(server, "Hostile")
    a = inline(w, "q-1", call(2, "s", "", lease=True), refs=(1, 2))
    one, two, now = a["leases"][0], a["leases"][1], w.last["now"]
    for _ in range(3):
        r = w.answer(a["next"], [result(one, 4, "1", now), result(two, 9, "2", now, end("completed", output=""))])
        assert r["status"] == "refused" and r["code"] == "step", r
    same = w.answer(a["next"], [result(one, 4, "1", now), result(one, 5, "1", now, end("completed", output=""))])
    assert same["status"] == "refused" and same["code"] == "lease", same
    r = w.answer(a["next"], [result(one, 4, "1", now), result(two, 5, "2", now, end("completed", output="3"))])
    assert r["status"] == "ok", r
    assert server.ended("q-1")["output"] == 3


def two_timers(w, instance):
    """A turn with both of two timers, 1 and 2."""
    w.server.start_instance(w.code[0]["name"], 1, instance)
    assert w.answer(w.turn(), [step(1, 1, timer(1, 1), timer(2, 1))], "any", [1, 2])["status"] == "ok"
    time.sleep(0.3)                                            # both are due before anybody asks
    t = w.turn()
    assert [m["ref"] for m in t["messages"]] == [1, 2] and t["seq"] == 3, t
    return t


def test_a_batch_whose_second_step_is_over_the_limit():
    """The first message stands alone then, and the second blocks; it is not given again for ever."""
    with Server("--max-history", "8") as server:
        w = Worker(server, "Hostile")
        over = [timer(3 + k, 10 ** 6) for k in range(8)]
        t = two_timers(w, "b-1")
        assert w.answer(t, [step(1, 4), step(2, 5, *over)], "any", [3])["status"] == "lost"
        t = w.turn()
        assert [m["ref"] for m in t["messages"]] == [1], t
        assert w.answer(t, [step(1, 4)], "any", [2])["status"] == "ok"
        t = w.turn()
        a = w.answer(t, [step(1, 5, *over)], "any", [3])
        assert a["status"] == "blocked" and "max-history" in a["message"], a


def test_a_batch_whose_first_step_continues_in_c(server):
    w = Worker(server, "Echo 7.0.0")
    t = two_timers(w, "c-1")
    a = w.answer(t, [step(1, t["seq"] + 1, end("continue", input='"c"', version="1.0.0"))])
    assert a["status"] == "ok", a
    assert server.ended("c-1")["output"] == "c"


def test_texts_are_cut_at_characters(server):
    w = Worker(server, "Hostile")
    server.start_instance("Hostile", 1, "u-1")
    t = w.turn()
    odd = "x" + "é" * 400
    a = w.answer(t, [step(1, 1, timer(1, 10 ** 6), timer(2, 10 ** 6), {"do": "cancel", "ref": 1, "reason": odd})], "any", [2])
    if a["status"] == "ok":
        r = server.get(I + "u-1/history")
        r.body.decode()                                        # UTF-8, whole
        assert "\ufffd" not in r.body.decode()
    else:
        assert a["code"] in ("shape", "step"), a
    for n, answer in enumerate(({"bug": {"error": odd, "site": odd}}, {"mismatch": {"code": "x", "seq": 1, "text": odd,
                                "recorded": odd, "attempted": odd}})):
        server.start_instance("Hostile", 1, "v-%d" % n)
        t = w.turn()
        r = w.server.post("/api/v1/turns", {"protocol": 1, "session": w.session, "answers": [{"token": t["token"], **answer}]})
        assert r.status == 200 and r.json["answered"][0]["status"] in ("blocked", "refused"), r
        assert "\ufffd" not in r.body.decode()
        assert "\ufffd" not in server.get(I + "v-%d" % n).body.decode()


def test_a_keyed_raise(server):
    w = Worker(server, "Hostile")
    server.start_instance("Hostile", 1, "k-1")
    assert w.answer(w.turn(), [step(1, 1, wait_event(1, "Go"))], "any", [1])["status"] == "ok"
    for _ in range(2):
        expect(server.post(I + "k-1/events/Go", 5, headers={"Idempotency-Key": "one"}), 202)
    t = w.turn()
    assert t["messages"][0]["kind"] == "ExternalEvent"
    assert w.answer(t, [step(1, 3, wait_event(2, "Go"))], "any", [2])["status"] == "ok"
    assert w.turns(wait_ms=200) == []


def test_a_batch_is_bounded_in_bytes(server):
    """100 completions of a megabyte each are not one answer of 100 MB."""
    w = Worker(server, "Hostile")
    server.start_instance("Hostile", 1, "y-1")
    n = 24
    a = w.answer(w.turn(), [step(1, 1, *[call(k, "Big", "") for k in range(1, n + 1)])], "any", list(range(1, n + 1)))
    assert a["status"] == "ok", a
    got = 0
    big = json.dumps("y" * (1 << 20))
    while got < n:
        for item in server.post("/api/v1/work/poll", {"activities": ["Big"], "max": 32, "wait_ms": 2000}).json["items"]:
            expect(server.post("/api/v1/work/%s/complete" % item["token"], {"result": json.loads(big)}), 200)
            got += 1
    seen, most, opened = 0, 0, set(range(1, n + 1))
    while seen < n:
        r = server.post("/api/v1/turns", {"protocol": 1, "session": w.session, "max": 10, "wait_ms": 5000}, fresh=True)
        most = max(most, len(r.body))
        for t in r.json["turns"]:
            seen += len(t["messages"])
            refs = [t["messages"][i]["ref"] for i in range(len(t["messages"]))]
            opened -= set(refs)
            steps = [step(i + 1, t["seq"] + 1 + i) for i in range(len(refs))]
            if opened:
                a = w.answer(t, steps, "any", sorted(opened))
            else:
                steps[-1]["decisions"] = [end("completed", output="")]
                a = w.answer(t, steps)
            assert a["status"] == "ok", a
    assert most < 10 << 20, most
    server.ended("y-1")


def test_lost_and_buggy_starts_of_a_next_execution():
    with Server("--turn-lease", "300ms", "--max-attempts", "2") as server:
        w = Worker(server, "Hostile")
        server.start_instance("Hostile", 1, "n-1")
        assert w.answer(w.turn(), [step(1, 1, end("continue", input="2"))])["status"] == "ok"
        t = w.turn()
        assert t["execution"] == 2 and t["seq"] == 0
        a = w.call(answers=[{"token": t["token"], "bug": {"error": "no"}}])["answered"][0]
        assert a["status"] == "blocked", a
        assert server.get(I + "n-1").json["status"] == "blocked"
        server.restart()
        w = Worker(server, "Hostile")
        expect(server.post(I + "n-1/retry"), 202)
        for _ in range(2):                                     # lost twice: poison
            t = w.turn(wait_ms=20000)
            assert t["execution"] == 2 and t["messages"][0]["data"] == "2", t
        for _ in range(100):
            if server.get(I + "n-1").json["status"] == "blocked":
                break
            assert w.turns(wait_ms=100) == []
        assert "poison: 2 workers" in server.get(I + "n-1").json["finding"]
        expect(server.post(I + "n-1/retry"), 202)
        t = w.turn(wait_ms=20000)
        expect(server.post(I + "n-1/cancel", {"reason": "enough"}), 202)
        assert w.answer(t, [step(1, 1, timer(1, 10 ** 6))], "any", [1])["status"] == "ok"
        t = w.turn()
        assert t["messages"][0]["kind"] == "OrchestrationCancelRequested", t
        assert w.answer(t, [step(1, 3, end("cancelled"))])["status"] == "ok"
        assert server.ended("n-1")["status"] == "cancelled"


def test_terminate_between_executions(server):
    w = Worker(server, "Hostile")
    server.start_instance("Hostile", 1, "t-1")
    assert w.answer(w.turn(), [step(1, 1, end("continue", input="2"))])["status"] == "ok"
    t = w.turn()
    expect(server.post(I + "t-1/terminate", {"reason": "now"}), 202)
    server.ended("t-1")
    assert w.answer(t, [step(1, 1, end("completed", output=""))])["status"] == "lost"
    expect(server.call("DELETE", I + "t-1"), 200)


def test_continue_with_open_inline_steps(server):
    w = Worker(server, "Hostile")
    a = inline(w, "o-1", wait_event(2, "Go"), refs=(1, 2))
    lease, idle = a["leases"][0], a["next"]
    expect(server.post(I + "o-1/events/Go", 1), 202)
    t = w.turn()
    assert w.answer(idle, [result(lease, 4, "1", w.last["now"])], "any", [2])["status"] == "lost"   # a turn is out
    r = w.exchange([(t, [step(1, 4, end("continue", input="2"))])], max=1)
    assert r["answered"][0]["status"] == "ok", r
    assert w.answer(idle, [result(lease, 4, "1", w.last["now"], end("completed", output=""))])["status"] == "lost"
    assert server.post("/api/v1/work/%s/complete" % lease["lease"], {"result": 1}).status == 410
    expect(server.post("/api/v1/work/%s/heartbeat" % lease["lease"], {}), 200, cancelled=True)
    t = r["turns"][0] if r["turns"] else w.turn()
    assert t["leases"] == [] and t["execution"] == 2
    assert w.answer(t, [step(1, 1, end("completed", output=""))])["status"] == "ok"
    server.ended("o-1")


def test_an_idle_token_may_say_bug(server):
    w = Worker(server, "Hostile")
    a = inline(w, "i-1")
    r = w.call(answers=[{"token": a["next"], "bug": {"error": "no"}}])["answered"][0]
    assert r["status"] == "blocked", r
    assert server.get(I + "i-1").json["status"] == "blocked"
    expect(server.post("/api/v1/work/%s/complete" % a["leases"][0]["lease"], {"result": 1}), 200)
    expect(server.post(I + "i-1/retry"), 202)
    t = w.turn()
    assert w.answer(t, [step(1, 3, end("completed", output=""))])["status"] == "ok"
    server.ended("i-1")


def test_tokens_of_two_servers(server):
    with Server() as other:
        w, v = Worker(server, "Hostile"), Worker(other, "Hostile")
        server.start_instance("Hostile", 1, "x-1")
        other.start_instance("Hostile", 1, "x-1")
        t, s = w.turn(), v.turn()
        done = [step(1, 1, end("completed", output=""))]
        assert w.answer(s, done)["status"] == "lost" and v.answer(t, done)["status"] == "lost"
        assert server.get("/api/v1/turns/%s/history" % s["token"]).status == 410
        assert w.answer(t, done)["status"] == "ok" and v.answer(s, done)["status"] == "ok"
