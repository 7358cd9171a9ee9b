# SPDX-License-Identifier: MIT
"""Inline steps of workers: leased with the commit, handed in with the next answer."""
import threading
import time

from kit import Server, expect
from turns_kit import Worker, call, end, step


def commits(server):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith("pawl_commits_total"):
            return int(float(line.split()[-1]))
    raise AssertionError("no commits in /metrics")


def result(lease, seq, data, now, *decisions):
    return {"result": {"lease": lease["lease"], "data": data, "at": now}, "seq": seq, "decisions": list(decisions)}


def test_chain_one_commit_a_step(server):
    w = Worker(server, "Chain")
    server.start_instance("Chain", 1, "c-1")
    t = w.turn()
    before = commits(server)
    a = w.answer(t, [step(1, 1, call(1, "s", "0", lease=True))], "any", [1])
    for n in range(1, 11):
        assert a["status"] == "ok" and len(a["leases"]) == 1, a
        lease = a["leases"][0]
        assert lease["ref"] == n and lease["attempt"] == 1 and lease["key"] and lease["until"] > w.last["now"]
        more = [call(n + 1, "s", str(n), lease=True)] if n < 10 else [end("completed", output="10")]
        seq = 1 + 2 * n
        a = w.answer(a["next"], [result(lease, seq, str(n), w.last["now"], *more)],
                     *(["any", [n + 1]] if n < 10 else []))
    assert a["status"] == "ok" and "next" not in a
    assert server.ended("c-1")["output"] == 10
    assert commits(server) - before == 11
    expect(server.post("/api/v1/work/poll", {"activities": ["pawl.inline"]}), 400)


def chain_of_one(w, server, name):
    """Commits of a start, its first turn and one inline step, with a call of the worker that waits."""
    before, turns = commits(server), []
    poll = threading.Thread(target=lambda: turns.append(w.turn(wait_ms=20000)))
    poll.start()
    time.sleep(0.05)
    body = {"orchestration": "Chain", "input": 1, "instance": name}
    started = threading.Thread(target=lambda: expect(server.post("/api/v1/instances", body, fresh=True), 201))
    started.start()                                     # answered with the commit of its first turn
    poll.join()
    a = w.answer(turns[0], [step(1, 1, call(1, "s", "0", lease=True))], "any", [1])
    started.join()
    a = w.answer(a["next"], [result(a["leases"][0], 3, "1", w.last["now"], end("completed", output="1"))])
    assert a["status"] == "ok" and server.ended(name)["output"] == 1
    return commits(server) - before


def test_chain_alone_is_one_commit_more_than_its_steps(server):
    w, seen = Worker(server, "Chain"), []
    while 2 not in seen and len(seen) < 60:             # a busy machine does not always answer within 25 ms
        seen.append(chain_of_one(w, server, "alone-%d" % len(seen)))
    assert seen[-1] == 2 and set(seen) <= {2, 3}, seen


def test_result_refusals(server):
    w = Worker(server, "Chain")
    server.start_instance("Chain", 1, "c-2")
    a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True))], "any", [1])
    lease, token, now = a["leases"][0], a["next"], w.last["now"]
    done = [end("completed", output="")]
    for bad, code in ((result(lease, 3, "x", now + 60000, *done), "at"), (result(lease, 3, "x", 1, *done), "at"),
                      (result({"lease": "w1.2.3"}, 3, "x", now, *done), "lease"),
                      (result(lease, 4, "x", now, *done), "step")):
        r = w.answer(token, [bad])
        assert r["status"] == "refused" and r["code"] == code and r["message"], r
    assert w.answer(token, [result(lease, 3, "x", now, *done)])["status"] == "ok"
    assert w.answer(token, [result(lease, 3, "x", now, *done)])["status"] == "lost"
    server.ended("c-2")


def test_failed_attempt_comes_back(server):
    w = Worker(server, "Chain")
    server.start_instance("Chain", 1, "c-3")
    opts = {"attempts": 2, "initial_ms": 1, "backoff": "fixed"}
    a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True, opts=opts))], "any", [1])
    expect(server.post("/api/v1/work/" + a["leases"][0]["lease"] + "/fail", {"error": "not yet"}), 200)
    t = w.turn()
    assert t["messages"] == [] and t["leases"][0]["ref"] == 1 and t["leases"][0]["attempt"] == 2, t
    a = w.answer(t, [], "any", [1])                 # taken over: nothing is recorded, the run is idle
    assert a["status"] == "ok" and a["seq"] == t["seq"] and a["next"], a
    expect(server.post("/api/v1/work/" + t["leases"][0]["lease"] + "/fail", {"error": "never"}), 200)
    t = w.turn()
    assert t["messages"][0]["kind"] == "ActivityFailed" and t["messages"][0]["data"] == "never"
    assert w.answer(t, [step(1, t["seq"] + 1, end("failed", error="never"))])["status"] == "ok"
    server.ended("c-3")


def test_the_worker_dies_in_a_step(server):
    w = Worker(server, "Chain")
    server.start_instance("Chain", 1, "c-4")
    opts = {"start_to_close_ms": 300, "attempts": 3, "initial_ms": 1}
    a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True, opts=opts))], "any", [1])
    lease, idle = a["leases"][0], a["next"]
    v = Worker(server, "Chain", name="w-2")
    t = v.turn(wait_ms=20000)
    assert t["after"] == 0 and [e["kind"] for e in t["events"]] == ["OrchestrationStarted", "ActivityScheduled"]
    assert t["leases"][0]["ref"] == 1 and t["leases"][0]["key"] == lease["key"], t
    late = w.answer(idle, [result(lease, 3, "x", w.last["now"], end("completed", output=""))])
    assert late["status"] in ("lost", "refused"), late
    r = v.answer(t, [result(t["leases"][0], 3, "7", v.last["now"], end("completed", output="7"))])
    assert r["status"] == "ok", r
    assert server.ended("c-4")["output"] == 7


def test_inline_survives_a_restart(server):
    w = Worker(server, "Chain")
    server.start_instance("Chain", 1, "c-5")
    opts = {"attempts": 5, "initial_ms": 1, "backoff": "fixed"}
    a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True, opts=opts))], "any", [1])
    expect(server.post("/api/v1/work/" + a["leases"][0]["lease"] + "/fail", {"error": "once"}), 200)
    server.restart()
    w = Worker(server, "Chain")
    t = w.turn(wait_ms=20000)
    assert t["leases"][0]["ref"] == 1 and t["leases"][0]["attempt"] == 2 and t["messages"] == []
    r = w.answer(t, [result(t["leases"][0], 3, "7", w.last["now"], end("completed", output="7"))])
    assert r["status"] == "ok", r
    assert server.ended("c-5")["output"] == 7


def test_what_comes_while_a_turn_is_out_is_not_forgotten():
    with Server("--turn-lease", "400ms") as server:
        w = Worker(server, "Chain")
        server.start_instance("Chain", 1, "c-6")
        opts = {"attempts": 2, "initial_ms": 1, "backoff": "fixed"}
        a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True, opts=opts))], "any", [1])
        expect(server.post("/api/v1/work/" + a["leases"][0]["lease"] + "/fail", {"error": "not yet"}), 200)
        t = w.turn()                                    # out, and never answered
        expect(server.post("/api/v1/work/" + t["leases"][0]["lease"] + "/fail", {"error": "never"}), 200)
        t = w.turn()
        assert t["messages"][0]["kind"] == "ActivityFailed", t
        assert w.answer(t, [step(1, 3, end("failed", error="never"))])["status"] == "ok"


def lease_of_a_step(w, server, instance):
    server.start_instance("Chain", 1, instance)
    a = w.answer(w.turn(), [step(1, 1, call(1, "s", "", lease=True))], "any", [1])
    return a["leases"][0]["until"] - w.last["now"]


def test_a_session_says_how_long_its_leases_are(server):
    w = Worker(server, "Chain", tell=False)
    w.call(code=w.code, lease_ms=2000)
    assert abs(lease_of_a_step(w, server, "c-7") - 2000) < 1000
    w.call(lease_ms=600000)                              # any call may say another one
    assert abs(lease_of_a_step(w, server, "c-8") - 600000) < 1000
    w.call()                                             # left out: as last told
    assert abs(lease_of_a_step(w, server, "c-9") - 600000) < 1000
    v = Worker(server, "Chain", name="w-2")              # another session never said it
    w.call(leaving=True)
    assert abs(lease_of_a_step(v, server, "c-10") - 30000) < 1000


def test_a_step_of_a_dead_worker_comes_back_when_its_lease_is_over(server):
    w = Worker(server, "Chain", tell=False)
    w.call(code=w.code, lease_ms=1000)
    lease_of_a_step(w, server, "c-11")
    v, began = Worker(server, "Chain", name="w-2", tell=False), time.monotonic()
    v.call(code=v.code, lease_ms=5000)
    t = v.turn(wait_ms=20000)
    assert time.monotonic() - began < 10
    assert t["leases"][0]["attempt"] == 2 and abs(t["leases"][0]["until"] - v.last["now"] - 5000) < 1000, t
    r = v.answer(t, [result(t["leases"][0], 3, "7", v.last["now"], end("completed", output="7"))])
    assert r["status"] == "ok", r
    assert server.ended("c-11")["output"] == 7


def test_a_lease_out_of_bounds_is_refused(server):
    w = Worker(server, "Chain", tell=False)
    for bad in (999, 3600001, -1, 0, "30000", 1.5):
        assert w.call(status=400, code=w.code, lease_ms=bad) == "invalid"
    assert w.call(status=409, lease_ms=1000) == "unknown_session"      # none of them began it
    for fine in (1000, 3600000):
        w.call(code=w.code, lease_ms=fine)
