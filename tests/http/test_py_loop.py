# SPDX-License-Identifier: MIT
"""The turn loop of clients/python against a server that misbehaves on purpose.

The server here is the server's side of an execution (pawl.record) behind the one call; it can lose
answers, refuse them, forget sessions, change its boot, and hang up before or after it has committed.
"""
import contextlib
import io
import itertools
import threading
import time

import pawl
from pawl import kinds, loop, turns
from pawl.errors import Conflict
from pawl.leases import Leases
from pawl.pool import Pool
from pawl.record import Lie, Mail, Record
from pawl.run import Code

PAGE = 3      # events of one turn: histories are fetched in pages


class Fake:
    """One run, `Record`, and what a test wants to go wrong."""

    def __init__(self, patience=0.02):
        self.url, self.token = "fake://", None
        self.lock, self.serial, self.patience = threading.Lock(), itertools.count(1), patience
        self.record, self.boot, self.now = Record("i", 1), "b1", 1700000000000
        self.sessions, self.known, self.out, self.idle = set(), {}, None, None
        self.calls, self.work, self.said, self.turn_ms = [], [], [], 10000
        self.leases, self.fates, self.hang_up = {}, [], []
        self.record.apply(kinds.STARTED, self.now, name="F", data="", attrs={"version": "1.0.0", "seed": "1"})

    def interrupt(self):
        pass

    def request(self, method, path, body=None, query=None, headers=None, repeat=None, timeout=None):
        with self.lock:
            if path == "/api/v1/turns":
                answer = self.turns(body)
            elif path.startswith("/api/v1/turns/"):
                rest = [e for e in self.record.events[:self.committed()] if e["seq"] > query["after"]][:PAGE]
                return 200, {"events": rest}
            else:
                return self.hand_in(path.split("/")[4], path.split("/")[5], body)
        if not body.get("answers") and not answer["turns"]:
            time.sleep(self.patience)
        return 200, answer

    def committed(self):
        return self.record.asked["seq"] - 1 if self.record.asked else self.record.seq

    def turns(self, body):
        self.calls.append(body)
        if "code" in body:
            self.sessions.add(body["session"])
        if body["session"] not in self.sessions:
            raise Conflict(409, "unknown_session", "who are you?")
        how = self.hang_up.pop(0) if self.hang_up and body.get("answers") else None
        if how == "before":
            raise ConnectionResetError("before")
        answered = [self.answer(a, body["session"]) for a in body.get("answers", ())]
        given = [self.hand_out(body["session"])] if body.get("max") and self.is_ready() else []
        if how == "after":
            raise ConnectionResetError("after")
        return {"protocol": 1, "boot": self.boot, "now": self.now, "limits": {"turn_ms": self.turn_ms}, "answered": answered,
                "turns": given}

    def is_ready(self):
        if self.record.asked is None:
            self.record.settle(self.now)
        return self.record.asked is not None and self.out is None

    def hand_out(self, session):
        asked, after = self.record.asked, self.known.get(session, 0)
        self.out = "t%d" % next(self.serial)
        events = self.record.events[after:asked["seq"] - 1]
        return {"token": self.out, "run": "r", "instance": "i", "execution": 1, "orchestration": "F", "version": "1.0.0",
                "after": after, "events": events[:PAGE], "more": len(events) > PAGE, "seq": asked["seq"] - 1,
                "messages": [{k: v for k, v in asked.items() if k != "seq"}], "leases": []}

    def answer(self, answer, session):
        self.said.append(answer)
        token, fate = answer["token"], self.fates.pop(0) if self.fates else None
        if token not in (self.out, self.idle):
            return {"token": token, "status": "lost"}
        if fate:
            if fate["status"] == "lost":
                self.out = self.idle = None
                self.known.clear()
            return {"token": token, **fate}
        if "steps" not in answer:
            self.out = None
            self.known.clear()
            return {"token": token, "status": "released" if "release" in answer else "blocked"}
        return self.commit(answer, token, session)

    def commit(self, answer, token, session):
        kept = self.record.copy()
        try:
            for step in answer["steps"]:
                if "result" in step:
                    ref, self.record.wait = self.leases.pop(step["result"]["lease"]), None
                    self.record.apply("ActivityCompleted", step["result"]["at"], ref=ref, data=step["result"]["data"])
                self.record.decide(step, self.now)
            self.record.expect(answer.get("wait"))
        except (Lie, KeyError) as error:
            self.record = kept
            return {"token": token, "status": "refused", "code": "step", "message": str(error)}
        self.out, self.known[session], self.idle = None, self.record.seq, "i%d" % next(self.serial)
        return {"token": token, "status": "ok", "seq": self.record.seq, "next": self.idle, "leases": self.lease()}

    def lease(self):
        given = []
        for kind, slot, decision in self.record.made:
            if decision.get("lease"):
                name = "w%d" % next(self.serial)
                self.leases[name] = slot.ref
                given.append({"ref": slot.ref, "lease": name, "key": "k%d" % slot.ref, "attempt": 1})
        self.record.made = []
        return given

    def hand_in(self, lease, verb, body):
        self.work.append((lease, verb, body))
        ref = self.leases.pop(lease, None)
        if verb in ("complete", "fail") and ref is not None:
            kind = "ActivityCompleted" if verb == "complete" else "ActivityFailed"
            self.record.apply(kind, self.now, ref=ref, data=str(body.get("result", body.get("error"))))
            self.idle = None
        return 200, {"recorded": True, "cancelled": False}

    def raise_event(self, name, data=""):
        with self.lock:
            self.record.apply("mail", self.now, mail=Mail(next(self.serial), kinds.EXTERNAL, name, data))


class Looping:
    """A loop that serves F from a Fake, until it has ended."""

    def __init__(self, fake, function):
        self.fake, self.errors = fake, []
        self.driver = turns.Driver([Code("F", "1.0.0", function)])
        self.loop = loop.TurnLoop(fake, self.driver, "w", Pool(4, "step"), Leases(fake, 3000), self.errors.append, fake)

    def __enter__(self):
        self.loop.start()
        return self

    def __exit__(self, *_):
        self.loop.stop(2)
        assert not self.errors, self.errors

    def until(self, look, seconds=10):
        end = time.monotonic() + seconds
        while not look():
            assert time.monotonic() < end and not self.errors, (self.fake.record.events, self.fake.said[-3:], self.errors)
            time.sleep(0.005)

    def ends(self):
        self.until(lambda: self.fake.record.end is not None)
        return self.fake.record.end.get("data", "")


def chain(n, ran=None):
    async def f(ctx, _):
        total = 0
        for i in range(n):
            total += await ctx.step(lambda: (ran.append(i) if ran is not None else None) or 1, name="one")
        return total
    return f


def played(function, prepare=lambda fake: None, during=lambda fake, l: None):
    fake = Fake()
    prepare(fake)
    with Looping(fake, function) as l:
        during(fake, l)
        return fake, l.ends()


def test_py_loop_a_chain_is_one_call_a_step():
    fake, end = played(chain(10))
    answers = [c for c in fake.calls if c.get("answers")]
    assert end == "10" and len(answers) == 11, len(answers)
    assert [c for c in fake.calls if "code" in c] and not fake.work
    assert all(c.get("wait_ms") is None for c in answers)


def test_py_loop_results_are_handed_in_when_their_answer_is_lost():
    ran = []
    fake, end = played(chain(5, ran), lambda fake: fake.fates.extend([None, None, {"status": "lost"}]))
    assert end == "5" and [w[1] for w in fake.work] == ["complete"] and ran == [0, 1, 2, 3, 4], (fake.work, ran)


def test_py_loop_a_connection_that_breaks_loses_nothing():
    for how in ("before", "after"):
        ran = []
        fake, end = played(chain(3, ran), lambda fake: (fake.hang_up.extend([None, how]), fake.known.clear()),
                           lambda fake, l: retake(fake, l, how))
        assert end == "3" and [w[1] for w in fake.work] == ["complete"], (how, fake.work)
        assert ran[0] == 0 and len(ran) == len(set(ran)), (how, ran)


def retake(fake, l, how):
    """What the server does by itself after a while: a step whose lease nobody was told of is leased again."""
    if how == "before":
        return
    l.until(lambda: fake.work)
    with fake.lock:
        assert fake.record.slots[1].open, "the second step was committed, and its lease never arrived"
        lease = next(name for name, ref in fake.leases.items() if ref == 2)
        fake.leases.pop(lease)
        fake.known.clear()
        fake.record.apply("ActivityCompleted", fake.now, ref=2, data="1")
    # the function of step 2 was never run here: its result came from outside
    l.loop.runs.code["F", "1.0.0"].function = chain(3)


def test_py_loop_a_refusal_is_a_bug_but_not_one_of_a_result():
    async def waits(ctx, _):
        await ctx.event("Go")
        return await ctx.step(lambda: 7, name="seven")
    fake = Fake()
    fake.fates.append({"status": "refused", "code": "step", "message": "no such thing"})
    with Looping(fake, waits) as l:
        l.until(lambda: any("bug" in a for a in fake.said))
        assert "the server refused: no such thing" in fake.said[1]["bug"]["error"] and fake.said[1]["token"] == fake.said[0]["token"]
    for code in ("at", "lease"):
        fake = Fake()
        fake.fates += [None, None, {"status": "refused", "code": code, "message": "x"}]
        with Looping(fake, waits) as l:
            l.until(lambda: len(fake.said) == 1)
            fake.raise_event("Go")
            assert l.ends() == "7"
            assert [w[1] for w in fake.work] == ["complete"] and not any("bug" in a for a in fake.said), (code, fake.said)


def test_py_loop_another_boot_drops_every_run():
    async def two(ctx, _):
        return [await ctx.event("E"), await ctx.event("E")]
    fake = Fake()
    with Looping(fake, two) as l:
        l.until(lambda: fake.idle)
        fake.raise_event("E", "1")
        l.until(lambda: fake.record.seq == 4)
        first = l.driver.runs["r"]
        with fake.lock:                             # another process: it knows no session, no token
            fake.boot = "b2"
            fake.sessions.clear()
            fake.known.clear()
        fake.raise_event("E", "2")
        assert l.ends() == "[1,2]"
        assert first.broken is not None, "the run of the old boot was used again"
    assert len([c for c in fake.calls if "code" in c]) == 2


def test_py_loop_long_histories_are_fetched_in_pages():
    async def many(ctx, _):
        return [await ctx.event("E") for _ in range(8)]
    fake = Fake()
    with Looping(fake, many) as l:
        for n in range(7):
            fake.raise_event("E", str(n))
        l.until(lambda: fake.record.seq == 16)
    fake.raise_event("E", "7")
    with Looping(fake, many) as l:                  # a new worker: it has nothing
        assert l.ends() == "[0,1,2,3,4,5,6,7]"


def test_py_loop_a_run_that_was_dropped_is_built_again():
    async def two(ctx, _):
        return [await ctx.event("E"), await ctx.event("E"), await ctx.step(lambda: 3, name="three")]
    fake = Fake()
    l = Looping(fake, two)
    l.driver.capacity = 0
    with l:
        for n in (1, 2):
            l.until(lambda: fake.idle and not l.driver.runs)
            fake.idle = None
            fake.raise_event("E", str(n))
        assert l.ends() == "[1,2,3]"
    assert any(c.get("forget") == ["r"] for c in fake.calls) and any(c.get("leaving") for c in fake.calls)


def test_py_loop_failures_and_steps_that_are_no_json():
    async def f(ctx, _):
        said = []
        for step in (lambda: 1 / 0, lambda: {1, 2}):
            try:
                await ctx.step(step, name="bad")
            except pawl.TaskFailed as error:
                said.append(error.type or "json" if "no JSON" in error.text else error.type)
        return said
    fake, end = played(f)
    assert end == '["ZeroDivisionError","json"]', end
    assert [(w[1], w[2]["retryable"]) for w in fake.work] == [("fail", True), ("fail", False)]


def test_py_loop_two_steps_of_one_run_at_once():
    async def f(ctx, _):
        return await ctx.all(*[ctx.step(lambda n=n: time.sleep(0.01 * n) or n, name="s%d" % n) for n in range(6)])
    fake, end = played(f)
    assert end == "[0,1,2,3,4,5]" and fake.record.end["kind"] == kinds.COMPLETED


def test_py_loop_code_that_never_waits_is_beaten_for_a_while_and_then_shown():
    go, said = threading.Event(), io.StringIO()

    async def blocks(ctx, _):
        go.wait(10)
        return 1
    fake = Fake()
    fake.turn_ms = 200
    l = Looping(fake, blocks)
    l.loop.turn_ms, l.loop.watch.TURN_LIMIT = 200, 0.6
    with contextlib.redirect_stderr(said), l:
        l.until(lambda: "without an await" in said.getvalue())
        beats = len([c for c in fake.calls if c.get("beats")])
        assert beats >= 2, beats
        time.sleep(0.4)
        assert len([c for c in fake.calls if c.get("beats")]) <= beats + 1, "its lease is renewed for ever"
        assert "go.wait(10)" in said.getvalue(), said.getvalue()
        go.set()
        assert l.ends() == "1"


def test_py_loop_a_turn_that_makes_no_sense_stops_no_other():
    async def f(ctx, _):
        return 1
    fake = Fake()
    with Looping(fake, f) as l:
        l.until(lambda: fake.sessions)
        l.loop.inbox.put({"boot": fake.boot, "now": 1, "limits": {}, "answered": [], "turns": [
            {"token": "x", "run": "q", "instance": "q", "execution": 1, "orchestration": "Nobody", "version": "1.0.0", "after": 0,
             "events": [], "more": False, "seq": 0, "messages": [{"kind": kinds.STARTED, "at": 1}], "leases": []}]})
        l.until(lambda: any("cannot drive" in str(a.get("bug")) for a in fake.said))
        assert l.ends() == "1"
