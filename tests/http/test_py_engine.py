# SPDX-License-Identifier: MIT
"""clients/python without a server: the trampoline, draws, limits, findings, lint."""
import asyncio
import dataclasses
import enum
import json
import random
import threading
import time
import typing
import uuid
import warnings

import kit

import pawl
from pawl import codec, draws, errors, kinds, limits, lint, turns
from pawl.run import Code

VECTORS = kit.ROOT / "tests" / "protocol" / "vectors.json"
BEGIN = {"kind": kinds.STARTED, "at": 1700000000000, "attrs": {"version": "1.0.0", "seed": "0123456789abcdef"}}


class Run:
    """One execution, fed by hand; `answers` has everything it answered."""

    def __init__(self, function, input="", limits=None, **code):
        self.code = Code("F", "1.0.0", function, **code)
        self.driver = turns.Driver([self.code])
        self.driver.limits = limits or {}
        self.events, self.seq, self.n = [], 0, 0
        self.answer = self.say({**BEGIN, "name": "F", "data": input})

    def turn(self, *messages, cold=False):
        run = self.driver.runs.get("r")
        after = 0 if cold or run is None else run.seq
        return {"token": "t", "run": "r", "instance": "i", "execution": 1, "orchestration": "F", "version": "1.0.0",
                "after": after, "events": [e for e in self.events if e["seq"] > after], "seq": len(self.events),
                "messages": list(messages)}

    def say(self, *messages, cold=False):
        if cold:
            self.driver.forget("r")
        self.answer = self.driver.drive(self.turn(*messages, cold=cold))
        for step in self.answer.get("steps", ()):
            self.record(messages[step["m"] - 1], step)
        return self.answer

    def record(self, message, step):
        """What the server would record."""
        assert step["seq"] == len(self.events) + 1, (step, self.events)
        self.events.append({**message, "seq": step["seq"]})
        for d in step["decisions"]:
            at = {"seq": len(self.events) + 1, "at": message["at"]}
            opens = next((k for k, f in kinds.FAMILIES.items() if f.do == d.get("do")), None)
            if opens:
                attrs = {k: d[k] for k in ("refused", "delay_ms", "instance", "version") if k in d}
                self.events.append({**at, "kind": opens, "ref": d["ref"], "name": d.get("name", ""), "data": d.get("data", ""),
                                    "attrs": attrs})
                if "refused" in d and kinds.FAMILIES[opens].refusal:
                    self.events.append({"seq": len(self.events) + 1, "at": message["at"], "ref": d["ref"],
                                        "kind": kinds.FAMILIES[opens].refusal, "data": d["refused"]})
            elif d.get("do") == "cancel":
                ref = next(e for e in self.events if e.get("ref") == d["ref"])
                self.events.append({**at, "kind": kinds.FAMILIES[ref["kind"]].cancel, "ref": d["ref"], "data": d["reason"]})
            elif d.get("do") == "patch":
                self.events.append({**at, "kind": kinds.PATCH, "name": d["name"]})
            elif d.get("do") == "status":
                self.events.append({**at, "kind": kinds.STATUS, "data": d["text"]})

    def done(self, ref, data="1", at=1700000000001, cold=False):
        return self.say({"kind": "ActivityCompleted", "ref": ref, "data": data, "at": at}, cold=cold)

    def decisions(self):
        return [d for step in self.answer["steps"] for d in step["decisions"]]


def bug_of(function, *refs):
    run = Run(function)
    for ref in refs:
        run.done(ref)
    assert "bug" in run.answer, run.answer
    return run.answer["bug"]


# ---- Draws ------------------------------------------------------------------------------


def test_py_draws_are_those_of_the_vectors():
    rows = json.loads(VECTORS.read_text())
    assert len(rows) >= 5
    for v in rows:
        seed, at = int(v["seed"], 16), v["message_seq"]
        assert ["%016x" % draws.word(seed, at, n, 0) for n in (1, 2)] == v["draws"][:2], v
        assert draws.uuid(seed, at, 3, v["now"]) == v["draws"][2], v
        assert [draws.unit(draws.word(seed, at, n, 0)) for n in (1, 2)] == v["as_float"], v
    assert [draws.seed_of(t) for t in ("ff", "", None, "xyz", "0" * 17, 5)] == [255, 0, 0, 0, 0, 0]


def test_py_context_draws_by_message():
    async def f(ctx, _):
        first = [ctx.random64(), ctx.random64(), ctx.uuid(), ctx.now]
        await ctx.call("A", ["%016x" % n for n in first[:2]] + first[2:])
        return ["%016x" % ctx.random64(), ctx.now]
    run = Run(f)
    row = json.loads(VECTORS.read_text())[1]
    assert json.loads(run.decisions()[0]["data"]) == row["draws"] + [1700000000000]
    run.done(1, at=1700000000123, cold=True)
    assert json.loads(run.decisions()[0]["output"]) == ["%016x" % draws.word(0x123456789abcdef, 3, 1, 0), 1700000000123]


# ---- Trampoline --------------------------------------------------------------------------


def test_py_a_step_is_one_message_until_quiet():
    async def f(ctx, x):
        a = await ctx.call("A", x)
        return await ctx.call("B", a, attempts=3, start_to_close=1.5)
    run = Run(f, '{"a":1}')
    assert run.answer["steps"] == [{"m": 1, "seq": 1, "decisions": [{"do": "call", "ref": 1, "name": "A", "data": '{"a":1}'}]}]
    assert run.answer["wait"] == {"for": "any", "refs": [1]}
    run.done(1, '"x"')
    assert run.decisions() == [{"do": "call", "ref": 2, "name": "B", "data": '"x"',
                                "opts": {"attempts": 3, "start_to_close_ms": 1500}}]
    run.done(2, "7", cold=True)
    assert run.answer == {"token": "t", "steps": [{"m": 1, "seq": 5, "decisions": [{"end": "completed", "output": "7"}]}]}
    assert not run.driver.runs


def test_py_wait_is_canonical():
    async def every(ctx, _): await ctx.all(*[ctx.call("A") for _ in range(3)])
    async def settled(ctx, _): await ctx.settled(ctx.call("A"), ctx.call("B"))
    async def first(ctx, _): await ctx.any(ctx.call("A"), ctx.timer(5))
    async def strands(ctx, _): await ctx.gather(every(ctx, 0), ctx.call("Z"))
    waits = [Run(f).answer["wait"] for f in (every, settled, first, strands)]
    assert waits == [{"for": "all", "refs": [1, 2, 3]}, {"for": "settled", "refs": [1, 2]}, {"for": "any", "refs": [1, 2]},
                     {"for": "any", "refs": [1, 2, 3, 4]}], waits


def test_py_a_fan_in_costs_as_much_as_it_is_wide():
    n, looked = 3000, []

    async def f(ctx, _):
        return len(await ctx.all(*[ctx.call("A", i) for i in range(n)]))
    run = Run(f)
    notice = pawl.handles.Wait.notice
    pawl.handles.Wait.notice = lambda self, item: looked.append(1) or notice(self, item)
    try:
        run.say(*[{"kind": "ActivityCompleted", "ref": i + 1, "data": "1", "at": 2} for i in range(n)])
    finally:
        pawl.handles.Wait.notice = notice
    assert run.decisions() == [{"end": "completed", "output": str(n)}] and len(looked) == n


def test_py_a_race_gives_the_task_and_cancels_the_rest():
    async def f(ctx, _):
        a, b, c = ctx.call("A"), ctx.timer(5), ctx.event("E")
        assert await ctx.race(a, b, c) is b
        assert a.done and c.done
        try:
            await a
        except pawl.TaskCancelled as error:
            return str(error)
    run = Run(f)
    run.say({"kind": "TimerFired", "ref": 2, "at": 5})
    assert run.decisions() == [{"do": "cancel", "ref": 1, "reason": "lost the race"},
                               {"do": "cancel", "ref": 3, "reason": "lost the race"}, {"end": "completed", "output": '"cancelled"'}]


def test_py_a_completion_that_an_earlier_step_closed_has_no_step():
    async def f(ctx, _):
        await ctx.race(ctx.call("A"), ctx.call("B"))
        await ctx.call("C")
    run = Run(f)
    run.say({"kind": "ActivityCompleted", "ref": 1, "data": "", "at": 2}, {"kind": "ActivityCompleted", "ref": 2, "data": "", "at": 2})
    assert [s["m"] for s in run.answer["steps"]] == [1] and run.answer["wait"] == {"for": "any", "refs": [3]}


def test_py_events_that_nobody_saw_go_back():
    async def f(ctx, how):
        e, t = ctx.event("E"), ctx.timer(5)
        await t                                  # the event comes meanwhile
        if how == "seen":
            assert e.done
        ctx.cancel(e)
        if how == "again":
            ctx.continue_as_new(1)
        await ctx.call("A")
    for how, cancels in (("unseen", 1), ("seen", 0)):
        run = Run(f, json.dumps(how))
        run.say({"kind": "ExternalEvent", "ref": 1, "name": "E", "data": "1", "at": 2})
        run.say({"kind": "TimerFired", "ref": 2, "at": 5})
        assert len([d for d in run.decisions() if d["do"] == "cancel"]) == cancels, (how, run.answer)
        run.done(3, cold=True)
        assert run.decisions()[-1]["end"] == "completed"

    async def again(ctx, _):
        ctx.event("E")
        await ctx.timer(5)
        ctx.continue_as_new(7)
    run = Run(again)
    run.say({"kind": "ExternalEvent", "ref": 1, "name": "E", "data": "1", "at": 2})
    run.say({"kind": "TimerFired", "ref": 2, "at": 5})
    assert run.decisions() == [{"do": "cancel", "ref": 1, "reason": "orchestration continued as new"},
                               {"end": "continue", "input": "7"}]


def test_py_strands_wake_in_the_order_they_began_to_wait():
    async def two(ctx, n, seen):
        await ctx.call(n + "1")
        seen.append(n)
        await ctx.call(n + "2")

    async def f(ctx, _):
        seen, both = [], ctx.event("Go")

        async def late(n):
            await both
            seen.append(n)
        await ctx.gather(two(ctx, "L", seen), two(ctx, "R", seen), late("x"), late("y"))
        return seen
    run = Run(f)
    run.done(3)
    assert [d["name"] for d in run.decisions()] == ["R2"]
    run.done(2)
    assert [d["name"] for d in run.decisions()] == ["L2"], run.answer
    run.say({"kind": "ExternalEvent", "ref": 1, "name": "Go", "at": 3}, cold=True)
    run.done(4)
    run.done(5)
    assert run.decisions() == [{"end": "completed", "output": '["R","L","x","y"]'}], run.answer


def test_py_cancel_reaches_every_await_outside_a_shield():
    async def f(ctx, _):
        paid = await ctx.call("Charge")
        try:
            await ctx.event("Go")
        except pawl.Cancelled as error:
            assert error.reason == "stop" and ctx.cancelled
            with ctx.shield():
                await ctx.call("Refund", paid)
            await ctx.call("Never")
    run = Run(f)
    run.done(1, "9")
    run.say({"kind": kinds.CANCEL_REQUESTED, "data": "stop", "at": 3})
    assert [d["name"] for d in run.decisions()] == ["Refund"]
    run.done(3, cold=True)
    assert run.decisions() == [{"do": "call", "ref": 4, "name": "Never", "data": ""}, {"end": "cancelled"}]


def test_py_cancelled_is_no_exception_and_may_be_swallowed():
    async def f(ctx, _):
        try:
            await ctx.event("Go")
        except Exception:
            raise AssertionError("Cancelled is no Exception")
    run = Run(f)
    run.say({"kind": kinds.CANCEL_REQUESTED, "at": 3})
    assert run.decisions() == [{"end": "cancelled"}]


# ---- Errors ------------------------------------------------------------------------------


def end_of(function, message=None, **code):
    run = Run(function, **code)
    if message:
        run.say(message)
    return run.answer.get("bug") or run.decisions()[-1]


def test_py_peoples_errors_fail_and_the_interpreters_block():
    def raising(error):
        async def f(ctx, _): raise error
        return f
    assert end_of(raising(pawl.Fail("no review"))) == {"end": "failed", "error": "no review"}
    assert end_of(raising(ValueError("no stock"))) == {"end": "failed", "error": "ValueError: no stock"}
    assert end_of(raising(type("Own", (Exception,), {})("x"))) == {"end": "failed", "error": "Own: x"}
    for error in (TypeError("t"), KeyError("amount"), AttributeError("a"), NameError("n"), AssertionError("a"), ImportError("i")):
        bug = end_of(raising(error))
        assert bug["error"].startswith(type(error).__name__ + ": ") and bug["site"].startswith("test_py_engine.py:"), bug
        assert "Traceback" in bug["trace"]
    assert end_of(raising(KeyError("k")), bugs="fail") == {"end": "failed", "error": "KeyError: 'k'"}

    async def returns(ctx, _): return {1, 2}
    async def nan(ctx, _): await ctx.call("A", float("nan"))
    async def half(ctx, _): await ctx.call("A", "\ud800")
    for f in (returns, nan, half):
        assert end_of(f)["error"].startswith("TypeError: "), f


def test_py_failures_come_as_their_classes():
    @pawl.error
    class CardDeclined(pawl.TaskFailed):
        """the bank said no"""

    async def f(ctx, _):
        try:
            await ctx.call("A")
        except pawl.TaskFailed as error:
            return [type(error).__name__, error.type, error.message, error.kind, error.attempts]

    def got(data, **attrs):
        run = Run(f)
        run.say({"kind": "ActivityFailed", "ref": 1, "data": data, "attrs": attrs, "at": 2})
        return json.loads(run.decisions()[0]["output"])
    assert got("CardDeclined: no money") == ["CardDeclined", "CardDeclined", "no money", "failed", 1]
    assert got("boom", attempts=3) == ["TaskFailed", "", "boom", "failed", 3]
    assert got("t", kind="start_to_close") == ["Timeout", "", "t", "start_to_close", 1]
    assert got("p", kind="poison")[0] == "Poison" and got("l", kind="lost")[0] == "WorkLost"

    async def child(ctx, _):
        try:
            await ctx.child("Sub")
        except pawl.ChildFailed as error:
            return type(error).__name__
    for text, attrs, name in (("broke", {}, "ChildFailed"), ("instance 'x' exists already", {}, "ChildExists"),
                              ("no", {"kind": "cancelled"}, "ChildCancelled")):
        run = Run(child)
        run.say({"kind": "SubOrchestrationFailed", "ref": 1, "data": text, "attrs": attrs, "at": 2})
        assert run.decisions() == [{"end": "completed", "output": '"%s"' % name}]


def test_py_foreign_awaits_are_found_with_their_line():
    async def helper(): await asyncio.sleep(0)
    async def plain(ctx, _): await ctx.call("A"); await helper()
    async def strand(ctx, _): await ctx.gather(ctx.call("A"), helper())
    async def nothing(ctx, _): await ctx.any()
    async def future(ctx, _): await asyncio.Future(loop=asyncio.new_event_loop())
    line = helper.__code__.co_firstlineno
    assert bug_of(plain, 1)["site"] == "test_py_engine.py:%d" % line
    assert bug_of(strand)["site"] == "test_py_engine.py:%d" % line
    assert "the first of nothing" in bug_of(nothing)["error"]
    assert "not Pawl's" in bug_of(future)["error"]


def test_py_a_context_is_used_in_its_turn_and_on_its_thread():
    got = []

    async def thread(ctx, _):
        def other():
            try:
                ctx.call("B")
            except pawl.Foreign as error:
                got.append(error)
        t = threading.Thread(target=other)
        t.start()
        t.join()
        await ctx.call("A")
    assert "outside its turn" in bug_of(thread)["error"] and len(got) == 1
    kept = []

    async def keeps(ctx, _):
        kept.append(ctx)
        await ctx.call("A")
    run = Run(keeps)
    try:
        kept[0].timer(1)
        raise AssertionError("decided outside its turn")
    except pawl.Foreign:
        pass


def test_py_a_dropped_run_decides_nothing_in_its_finally():
    left = []

    async def f(ctx, _):
        try:
            await ctx.call("A")
        finally:
            try:
                ctx.call("B")
            except BaseException as error:
                left.append(type(error).__name__)
                raise
    run = Run(f)
    run.driver.forget("r")
    assert left == ["Stop"]


# ---- Replay ------------------------------------------------------------------------------


def mismatch(before, after, *messages):
    """The finding of other code on a history."""
    run = Run(before)
    for m in messages:
        run.say(m)
    found = turns.check(Code("F", "1.0.0", after), {"run": "r", "instance": "i", "execution": 1, "orchestration": "F",
                                                     "version": "1.0.0", "events": run.events})
    assert "mismatch" in found, (found, run.events)
    return found["mismatch"]


def test_py_mismatches_are_named_with_both_sides_and_the_line():
    done = {"kind": "ActivityCompleted", "ref": 1, "data": "2", "at": 2}
    async def ab(ctx, _): await ctx.call("A"); await ctx.call("B", {"x": 1})
    async def ac(ctx, _): await ctx.call("A"); await ctx.call("C", {"x": 1})
    async def ab2(ctx, _): await ctx.call("A"); await ctx.call("B", {"x": 2})
    async def at(ctx, _): await ctx.call("A"); await ctx.timer(1)
    async def a(ctx, _): await ctx.call("A"); await ctx.event("E")
    async def aab(ctx, _): ctx.call("A"); await ctx.call("A")
    async def returns(ctx, _): await ctx.call("A")
    found = mismatch(ab, ac, done)
    assert found["code"] == "schedule" and found["seq"] == 4, found
    assert found["text"] == ("nondeterministic: schedule mismatch at event 4: recorded ActivityScheduled #2 'B', the code now "
                             "calls ctx.call activity 'C': another name")
    assert found["site"] == "test_py_engine.py:%d" % ac.__code__.co_firstlineno
    assert "input differs at byte 5 (recorded 7 bytes, now 7)" in mismatch(ab, ab2, done)["text"]
    assert "another kind of call" in mismatch(ab, at, done)["text"]
    assert mismatch(ab, aab, done)["code"] == "frontier"
    assert mismatch(a, returns, done)["code"] == "leftover"
    waits = Run(returns)
    early = turns.check(Code("F", "1.0.0", lambda ctx, _: _nothing()), {"run": "r", "instance": "i", "execution": 1,
                        "orchestration": "F", "version": "1.0.0", "events": waits.events})
    assert early["mismatch"]["code"] == "leftover", early


async def _nothing():
    return None


def test_py_order_of_members_is_no_mismatch_and_digits_are_text():
    assert codec.same('{"a":1,"b":[1]}', '{ "b":[1],"a":1}') and codec.same("", "") and not codec.same("1", "1.0")
    assert not codec.same('{"a":1}', '{"a":2}') and not codec.same("{", "[") and not codec.same('{"a":1}', "{bad")


def test_py_a_swallowed_stop_is_reported_anyway():
    async def ab(ctx, _): await ctx.call("A"); await ctx.call("B")

    async def swallow(ctx, _):
        try:
            await ctx.call("X")
        except BaseException:
            pass
        await ctx.call("B")
        return 1
    found = mismatch(ab, swallow, {"kind": "ActivityCompleted", "ref": 1, "data": "2", "at": 2})
    assert found["code"] == "schedule" and "'X'" in found["text"]


def test_py_patches_guard_a_change():
    async def old(ctx, _): await ctx.call("A"); await ctx.call("B")
    async def new(ctx, _): await ctx.call("A"); await ctx.call("C" if ctx.patched("p") else "B")
    run = Run(old)
    run.done(1)
    run.driver.add(Code("F", "1.0.0", new))
    run.done(2, cold=True)
    assert run.decisions() == [{"end": "completed", "output": ""}], run.answer
    fresh = Run(new)
    fresh.done(1)
    assert [d.get("do") for d in fresh.decisions()] == ["patch", "call"] and fresh.decisions()[1]["name"] == "C"
    fresh.done(2, cold=True)
    assert fresh.decisions() == [{"end": "completed", "output": ""}], fresh.answer


def test_py_unknown_kinds_and_missing_history_are_said():
    async def f(ctx, _): await ctx.call("A")
    run = Run(f)
    answer = run.say({"kind": "MoonRose", "at": 2})
    assert answer["bug"]["error"] == "cannot: event kind MoonRose needs a newer SDK"
    run = Run(f)
    run.driver.forget("r")
    try:
        run.driver.drive({**run.turn(), "after": 2})
        raise AssertionError("built a run without its beginning")
    except turns.Missing:
        pass


# ---- Limits ------------------------------------------------------------------------------


def test_py_what_breaks_a_limit_is_refused_at_the_call():
    async def f(ctx, _):
        big = ctx.call("A", "x" * 100)
        seen = []
        for handle in (big if big.done else ctx.call("/"), ctx.call("a/b"), ctx.call(""), ctx.timer(-1), ctx.event("\x01"), ctx.child("Sub", version="1")):
            try:
                await handle
            except pawl.CallRefused as error:
                seen.append(error.text)
        for call in (lambda: ctx.detach("Sub", instance=""), lambda: ctx.push("..", 1), lambda: ctx.state.set("k" * 129, 1),
                     lambda: ctx.attributes(A=1), lambda: ctx.raise_event("", "E")):
            try:
                call()
            except pawl.CallRefused as error:
                seen.append(error.text)
        return seen
    run = Run(f, limits={"payload_bytes": 60000, "queues": True})
    assert [d.get("refused") is not None for d in run.decisions()[:-1]] == [False] + [True] * 11, run.decisions()
    run = Run(f, limits={"payload_bytes": 50})
    first = run.decisions()[0]
    assert first == {"do": "call", "ref": 1, "name": "A", "refused": "input is 102 bytes, limit 50 (--max-payload)"}
    assert run.decisions()[-1]["end"] == "completed" and "output is" in run.decisions()[-1]["refused"]
    assert "output" not in run.decisions()[-1]


def test_py_a_refusal_is_what_the_record_says():
    async def f(ctx, _):
        try:
            return await ctx.call("A", "x" * 100)
        except pawl.CallRefused as error:
            return str(error)
        finally:
            await ctx.call("B")
    run = Run(f, limits={"payload_bytes": 50})
    run.driver.limits = {}                       # the limit was raised meanwhile
    run.done(2, cold=True)
    assert "limit 50" in run.decisions()[0]["output"], run.answer


def test_py_limits_say_the_same_as_the_server(server):
    """The sentences are those of src/base/limits.c, where the server says them too."""
    for name in ("", "a/b", "x" * 256, "a\x01b", "a\x85b"):
        reply = server.post("/api/v1/instances", {"orchestration": name})
        assert reply.status in (400, 413), reply
        assert limits.name("orchestration name", name) in reply.json["error"]["message"], (name, reply)
    for id in ("x" * 513, "a\x01", "queue~q~7"):
        reply = server.post("/api/v1/instances", {"orchestration": "Echo", "instance": id})
        assert reply.status in (400, 413) and limits.instance(id) in reply.json["error"]["message"], (id, reply)
    for bad in ({"A": 1}, {"a": True}, {"a": "x" * 256}, {"pawl.x": 1}, {"a": 1.5}, {"a": []}, {"a": "\x01"}, {"a" * 64: 1}):
        reply = server.post("/api/v1/instances", {"orchestration": "Echo", "attributes": bad})
        assert reply.status == 400 and limits.attributes(bad, json.dumps(bad)) in reply.json["error"]["message"], (bad, reply)


def test_py_options_of_calls():
    async def f(ctx, _):
        ctx.call("A", attempts=2, initial=0.5, cap_ms=9, backoff="fixed", final_errors=("X",), key="k", priority=5, tag="gpu",
                 at_most_once=True, max_crashes=3, heartbeat=1)
        await ctx.call("B", atempts=3)
    bug = bug_of(f)
    assert "a call has no option 'atempts'" in bug["error"]

    async def good(ctx, _):
        await ctx.call("A", attempts=2, initial=0.5, cap_ms=9, final_errors=("X",), tag="gpu")
    assert Run(good).decisions()[0]["opts"] == {"attempts": 2, "initial_ms": 500, "cap_ms": 9, "final_errors": ["X"], "tag": "gpu"}

    async def tagged(ctx, _): await ctx.call("A", tag="pawl.inline")
    assert "reserved" in Run(tagged).decisions()[0]["refused"]


# ---- Codec -------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Line:
    sku: str
    count: int = 1


@dataclasses.dataclass
class Order:
    id: int
    lines: typing.List[Line] = dataclasses.field(default_factory=list)
    colour: typing.Optional[Colour] = None
    extra: typing.Dict[str, Line] = dataclasses.field(default_factory=dict)


def test_py_values_travel_as_json_and_come_back_as_their_types():
    whole = Order(7, [Line("a", 2), Line("b")], Colour.RED, {"x": Line("c")})
    text = codec.json_codec.encode(whole)
    assert json.loads(text)["lines"][0] == {"sku": "a", "count": 2} and " " not in text
    assert codec.json_codec.decode(text, codec.decoder(Order)) == whole
    assert codec.json_codec.decode("[1,2]", codec.decoder(typing.Tuple[int, ...])) == (1, 2)
    assert codec.json_codec.decode("not json") == "not json" and codec.json_codec.decode("") is None
    assert codec.json_codec.encode({"ü": "🚀\u2028"}) == '{"ü":"🚀\u2028"}'
    for bad in ('{"id":1,"no":2}', "[1]", '"x"'):
        try:
            codec.json_codec.decode(bad, codec.decoder(Order))
            raise AssertionError(bad)
        except TypeError:
            pass

    async def typed(ctx, order: Order) -> int:
        return order.lines[0].count
    worker = pawl.Worker()
    worker.orchestration("T")(typed)
    code = worker.runs.code["T", "1.0.0"]
    driver = turns.Driver([code])
    turn = {"token": "t", "run": "r", "instance": "i", "execution": 1, "orchestration": "T", "version": "1.0.0", "after": 0,
            "events": [], "seq": 0, "messages": [{**BEGIN, "name": "T", "data": text}]}
    assert driver.drive(turn)["steps"][0]["decisions"] == [{"end": "completed", "output": "2"}]
    turn["messages"][0]["data"] = "5"
    assert "TypeError" in driver.drive(turn)["bug"]["error"]


def test_py_raw_texts_are_left_alone():
    async def f(ctx, x): return await ctx.call("A", x + "!")
    run = Run(f, "{bad", codec=pawl.raw)
    assert run.decisions()[0]["data"] == "{bad!"
    run.done(1, "9007199254740993")
    assert run.decisions() == [{"end": "completed", "output": "9007199254740993"}]


# ---- Lint --------------------------------------------------------------------------------


def _helper():
    return time.time()


async def _bad(ctx, _):
    await asyncio.sleep(1)
    _helper()
    await ctx.call("x%s" % random.random())
    for x in {1, 2}:
        uuid.uuid4()
    open("/etc/passwd")


async def _good(ctx, _):
    now = ctx.now
    await ctx.step(_helper)
    await ctx.call("A", [now, ctx.random(), ctx.uuid()])
    for x in sorted({1, 2}):
        await ctx.timer(x)


def test_py_lint_finds_what_a_replay_cannot_repeat():
    found = [f.what for f in lint.look_at(_bad)]
    assert sorted(found) == ["asyncio.sleep()", "open()", "random.random()", "the order of a set", "time.time()", "uuid.uuid4()"], found
    line = _bad.__code__.co_firstlineno
    assert any(f.site == "test_py_engine.py:%d" % (line + 1) for f in lint.look_at(_bad))
    assert lint.look_at(_good) == []
    worker = pawl.Worker()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        worker.orchestration("Bad")(_bad)
    assert len(caught) == 6 and issubclass(caught[0].category, pawl.NondeterministicWarning)
    try:
        pawl.Worker(strict=True).orchestration("Bad")(_bad)
        raise AssertionError("strict took it")
    except pawl.Nondeterministic:
        pass
    assert isinstance(errors.failure_of("x", "failed", 1, False), pawl.TaskFailed)
