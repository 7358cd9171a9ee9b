# SPDX-License-Identifier: MIT
"""Orchestrations in Python against the real server: scenarios, kills, refusals."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import kit
import pawl
from kit import Server, expect
from test_security import token

HERE = pathlib.Path(__file__).resolve().parent


class Serving:
    """A worker in threads of this process."""

    def __init__(self, server, *register, tokens=(None, None), **options):
        self.client = pawl.Client(server.url, tokens[0])
        self.worker = pawl.Worker(pawl.Client(server.url, tokens[1]), name=options.pop("name", "w"), grace=5, poll_seconds=0.2, **options)
        for one in register:
            one(self.worker)
        self.error = None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.worker.run(signals=False)
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.worker.stop()
        self.thread.join(30)
        assert not self.thread.is_alive(), "the worker did not stop"
        assert self.error is None, self.error

    def run(self, name, input=None, instance=None, **more):
        made = self.client.start(name, input, instance=instance, allow_unregistered=True, **more)
        return self.client.wait(made["instance"], timeout=30)


def until(look, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come in %d s: %r" % (seconds, look))


def kinds(client, instance):
    return [e["kind"] for e in client.history(instance)]


def shop(worker):
    """Scenarios; each a few lines that use one thing."""
    @worker.activity("Double")
    def double(x): return 2 * x

    @worker.activity("Flaky")
    def flaky(x, task):
        if task.attempt < 3:
            raise ConnectionError("busy")
        return task.attempt

    @worker.activity("Broken")
    def broken(x): raise pawl.Final("CardDeclined: no money")

    @worker.activity("Slow")
    def slow(x):
        time.sleep(0.3)
        return x

    @worker.orchestration("Pair")
    async def pair(ctx, x): return await ctx.call(double, await ctx.call("Double", x))

    @worker.orchestration("PyWide")
    async def wide(ctx, n): return sum(await ctx.all(*[ctx.call(double, i) for i in range(n)]))

    @worker.orchestration("PyChain")
    async def chain(ctx, n):
        total = 0
        for i in range(n):
            total += await ctx.step(lambda: i, name="one")
        return total

    @worker.orchestration("Errors")
    async def errors(ctx, x):
        seen = [await ctx.call(flaky, attempts=3, initial=0.01)]
        try:
            await ctx.call(broken, attempts=5)
        except pawl.TaskFailed as error:
            seen += [error.type, error.message, error.attempts]
        try:
            await ctx.step(lambda: 1 / 0, name="divides")
        except pawl.TaskFailed as error:
            seen.append(error.text)
        return seen

    @worker.orchestration("Race")
    async def race(ctx, x):
        review, limit = ctx.event("Review"), ctx.timer(x)
        return "late" if await ctx.race(review, limit) is limit else review.result()

    @worker.orchestration("Two")
    async def two(ctx):
        await ctx.call(double, 1)
        return [await ctx.event("E"), await ctx.event("E")]

    @worker.orchestration("Family")
    async def family(ctx, x):
        kid, other = ctx.child(pair, x), ctx.child("Race", 0.01, instance=ctx.instance + "-r")
        return [await kid, await other, ctx.detach("Pair", 1, instance=ctx.instance + "-d")]

    @worker.orchestration("Compensates")
    async def compensates(ctx, x):
        paid = await ctx.call(double, x)
        try:
            await ctx.event("Go")
        except pawl.Cancelled:
            with ctx.shield():
                ctx.state["refund"] = await ctx.call(double, paid)
            raise

    @worker.orchestration("Again")
    async def again(ctx, n):
        ctx.state["n"] = [n, ctx.state.get("n")]
        await ctx.timer(0.01)
        if n < 4:
            ctx.continue_as_new(n + 1)
        return [n, ctx.execution, ctx.state["n"]]

    @worker.orchestration("Total")
    async def total(ctx):
        sum = 0
        while True:
            u = ctx.update("add")
            n = await u
            if n is None:
                u.answer(sum)
                return sum
            if not isinstance(n, int):
                u.reject("%r is no number" % n)
                continue
            sum += n
            u.answer(sum)

    @worker.orchestration("Tells")
    async def tells(ctx, to):
        ctx.status("begun")
        ctx.attributes(customer="c-9", total=7)
        ctx.push("py", {"from": ctx.instance}, priority=2)
        ctx.raise_event(to, "Review", "told")
        return await ctx.ask("Approve", "Refund 900 EUR?", choices=["yes", "no"])

    @worker.orchestration("Draws")
    async def draws(ctx):
        first = [ctx.now, ctx.random(), ctx.uuid()]
        await ctx.call(double, 1)
        return [first, [ctx.now, ctx.random64() > 0, ctx.version, ctx.name]]

    @worker.orchestration("Strands")
    async def strands(ctx):
        async def side(n):
            a = await ctx.call(double, n)
            return await ctx.call(double, a)
        return await ctx.gather(side(1), side(2), ctx.call(double, 3))

    @worker.orchestration("Text")
    async def text(ctx, x): return await ctx.call("Double", {"ü": "🚀\u2028"}, type=None) if False else [x, "ü🚀\u2028"]

    @worker.orchestration("Mixed")
    async def mixed(ctx):
        return await ctx.all(ctx.step(lambda: time.sleep(0.2) or 1, name="inline"), ctx.call(double, 5), ctx.call(slow, 7))

    @worker.orchestration("Bug")
    async def bug(ctx, x): return (await ctx.call(double, x))["amount"]

    @worker.orchestration("Told")
    async def told(ctx, id):
        said = [await ctx.call(double, 1)]
        for one in (id, ctx.instance + "-d", ctx.instance + "-d"):
            try:
                said.append(ctx.detach("Pair", 1, instance=one))
            except pawl.CallRefused as error:
                said.append(str(error))
        ctx.attributes({"n%d" % n: n for n in range(32)})
        try:
            ctx.attributes(more=1)
        except pawl.CallRefused as error:
            said.append("32" in str(error))
        said.append(await ctx.step(lambda: 5, name="inline"))
        try:
            ctx.detach("Pair", 1, instance=id)
        except pawl.CallRefused as error:
            said.append(str(error))
        return [*said, await ctx.call(double, 2)]

    @worker.orchestration("Too")
    async def too(ctx, n):
        try:
            await ctx.call("Double", "x" * n)
        except pawl.CallRefused as error:
            return str(error)


def test_py_scenarios(server):
    with Serving(server, shop, concurrency=4) as s:
        def out(*words, **more):
            got = s.run(*words, **more)
            assert got["status"] == "completed", got
            return got["output"]
        for got, want in ((out("Pair", 3), 12), (out("PyWide", 30), 870), (out("PyChain", 12), 66)):
            assert got == want, (got, want)
        assert out("Errors") == [3, "CardDeclined", "no money", 1, "ZeroDivisionError: division by zero"]
        assert out("Race", 0.02) == "late" and out("Family", 4, instance="f") == [16, "late", "f-d"]
        assert until(lambda: list(s.client.search(prefix="f-d"))) and s.client.wait("f-d", timeout=20)["output"] == 4
        assert out("Again", 1) == [4, 4, [4, [3, [2, [1, None]]]]]
        assert out("Strands") == [4, 8, 6] and out("Text", "é\u2029") == ["é\u2029", "ü🚀\u2028"]
        first, second = out("Draws")
        assert first[0] <= second[0] and 0 <= first[1] < 1 and len(first[2]) == 36 and second[1:] == [True, "1.0.0", "Draws"]
        assert out("Mixed") == [1, 10, 7]


def test_py_code_sees_what_the_server_refuses(server):
    with Serving(server, shop) as s:
        assert s.run("Pair", 1, instance="taken")["output"] == 4
        taken = "instance 'taken' exists already"
        want = [2, taken, "told-d", "instance 'told-d' exists already", True, 5, taken, 4]
        assert s.run("Told", "taken", instance="told")["output"] == want
        assert s.client.wait("told-d", timeout=20)["output"] == 4
        sent = [e.get("attrs", {}).get("refused") for e in s.client.history("told") if e["kind"] == "OrchestrationChained"]
        assert sent == [taken, None, "instance 'told-d' exists already", taken], sent


def test_py_a_worker_needs_the_scope_work_and_no_more():
    server = Server("--require-token", start=False)
    both = [token(server, scope) for scope in ("operate", "work")]
    with server.start(), Serving(server, shop, tokens=both) as s:
        assert s.run("Pair", 3)["output"] == 12 and s.run("Mixed")["output"] == [1, 10, 7]
        assert s.run("Errors")["output"][0] == 3
        for call in (lambda c: c.start("Pair", 1), lambda c: c.get("x"), lambda c: c.pop("mail"), lambda c: c.raise_event("x", "E")):
            try:
                call(s.worker.client)
                raise AssertionError("a worker's token did more than a worker's work")
            except pawl.Error as error:
                assert error.status == 403, error


def test_py_events_updates_and_what_code_tells(server):
    with Serving(server, shop) as s:
        s.client.start("Race", 60, instance="r", allow_unregistered=True)
        s.client.start("Tells", "r", instance="t", allow_unregistered=True)
        assert s.client.wait("r", timeout=20)["output"] == "told"
        asks = until(lambda: list(s.client.asks()))
        assert asks[0]["instance"] == "t" and asks[0]["ask"]["choices"] == ["yes", "no"], asks
        assert [i["instance"] for i in s.client.search(["customer=c-9", "total>=7"])] == ["t"]
        assert s.client.get("t")["custom_status"] == "begun" and s.client.pop("py") == [{"from": "t"}]
        s.client.raise_event("t", "Approve", "yes")
        assert s.client.wait("t", timeout=20)["output"] == "yes"
        s.client.start("Two", instance="e", raise_=[{"event": "E", "data": 1}, {"event": "E", "data": 2}], allow_unregistered=True)
        assert s.client.wait("e", timeout=20)["output"] == [1, 2]
        s.client.start("Total", instance="u", allow_unregistered=True)
        assert [s.client.update("u", "add", n) for n in (4, 5)] == [4, 9]
        try:
            s.client.update("u", "add", "x")
            raise AssertionError("took a text")
        except pawl.Rejected as error:
            assert "no number" in str(error)
        assert s.client.update("u", "add") == 9 and s.client.wait("u", timeout=20)["output"] == 9


def test_py_cancel_and_compensation(server):
    with Serving(server, shop) as s:
        s.client.start("Compensates", 2, instance="c", allow_unregistered=True)
        until(lambda: "ExternalSubscribed" in kinds(s.client, "c"))
        s.client.cancel("c", "changed my mind")
        got = s.client.wait("c", timeout=20)
        assert got["status"] == "cancelled" and s.client.state("c") == {"refund": 8}, got


def test_py_bugs_block_and_corrected_code_goes_on(server):
    with Serving(server, shop) as s:
        s.client.start("Bug", 1, instance="b", allow_unregistered=True)
        blocked = until(lambda: [g for g in [s.client.get("b")] if g["status"] == "blocked"])[0]
        said = s.client.why("b")["sentence"] + json.dumps(blocked)
        assert "TypeError" in said and "test_py_turns.py:" in said, said

    def mended(worker):
        shop(worker)
        @worker.orchestration("Bug")
        async def bug(ctx, x): return await ctx.call("Double", x)
    with Serving(server, mended, name="w2") as s:
        s.client.retry("b")
        assert s.client.wait("b", timeout=20)["output"] == 2


def test_py_a_mismatch_blocks_with_both_sides(server):
    with Serving(server, shop) as s:
        s.client.start("Race", 60, instance="m", allow_unregistered=True)
        until(lambda: "ExternalSubscribed" in kinds(s.client, "m"))

    def changed(worker):
        @worker.orchestration("Race")
        async def race(ctx, x): return await ctx.event("Other")
    with Serving(server, changed, name="w2") as s:
        s.client.raise_event("m", "Review", 1)
        until(lambda: s.client.get("m")["status"] == "blocked")
        said = s.client.why("m")["sentence"] + json.dumps(s.client.get("m"))
        assert "another name" in said and "ctx.event" in said, said
    with Serving(server, shop, name="w3") as s:
        s.client.retry("m")
        assert s.client.wait("m", timeout=20)["output"] == 1


def test_py_an_answer_that_cannot_be_sent_stops_no_other(server):
    def code(worker):
        shop(worker)

        @worker.orchestration("Huge")
        async def huge(ctx): await ctx.all(*[ctx.call("Double", "x" * 1900000) for _ in range(6)])

        @worker.orchestration("NaN")
        async def nan(ctx): await ctx.call("Double", 1, attempts=2, factor=float("nan"))

        @worker.orchestration("Half")
        async def half(ctx):
            ctx.status("\ud800")
            await ctx.call("Double", 1)
    with Serving(server, code) as s:
        names = ["Huge", "NaN", "Half"]
        for name in names:
            s.client.start(name, instance=name, allow_unregistered=True)
            s.client.start("Pair", 3, instance="beside-" + name, allow_unregistered=True)
        for name in names:
            assert s.client.wait("beside-" + name, timeout=20)["output"] == 12
            finding = until(lambda: s.client.get(name).get("finding"))
            assert "cannot be sent" in finding or "the server refused" in finding, (name, finding)
        assert s.run("Pair", 4)["output"] == 16


def test_py_limits_are_refused_and_recorded():
    with Server("--max-payload", "1000") as server, Serving(server, shop) as s:
        got = s.run("Too", 5000, instance="x")
        assert got["output"] == "input is 5002 bytes, limit 1000 (--max-payload)", got
        assert kinds(s.client, "x") == ["OrchestrationStarted", "ActivityScheduled", "ActivityFailed", "OrchestrationCompleted"]


def test_py_c_and_python_side_by_side(server):
    """A new version moves an orchestration from C to Python while instances of the old one run."""
    client = pawl.Client(server.url)
    client.start("RemoteOrder", 1, instance="old")            # C code of remote.c; it waits for Charge
    until(lambda: "ActivityScheduled" in kinds(client, "old"))

    def moved(worker):
        @worker.activity("Charge")
        def charge(x): return "paid"

        @worker.orchestration("RemoteOrder", version="9.0.0")
        async def order(ctx, x):
            return [await ctx.call(charge, x), await ctx.child("Echo", {"n": x}), ctx.version]
    with Serving(server, moved) as s:
        until(lambda: client.start("RemoteOrder", 2, instance="new-%d" % time.monotonic_ns()) and
              [i for i in client.search(orchestration="RemoteOrder", prefix="new-") if i["version"] == "9.0.0"])
        new = [i for i in client.search(orchestration="RemoteOrder", prefix="new-") if i["version"] == "9.0.0"][0]["instance"]
        assert client.wait(new, timeout=20)["output"] == ["paid", {"n": 2}, "9.0.0"]
        old = client.wait("old", timeout=20)
        assert old["output"] == "paid" and old["version"] != "9.0.0", old


# ---- Deaths -------------------------------------------------------------------------------

ORDER = '''
import pathlib, sys, time
import pawl
ledger = pathlib.Path(sys.argv[-1])
worker = pawl.Worker(lock_seconds=1.0)

def note(word):
    with open(ledger, "a") as f:
        f.write("%s %s\\n" % (word, pawl.task().key))

@worker.activity
def charge(order):
    note("charge")
    return order["id"]

@worker.activity
def pack(order):
    note("pack")
    time.sleep(order["pack"])
    return "packed"

@worker.activity
def ship(order):
    note("ship")
    return "shipped"

@worker.orchestration("Order")
async def order(ctx, order):
    paid = await ctx.call(charge, order)
    packed = await (ctx.step if order.get("inline") else ctx.call)(pack, order)
    ctx.status(packed)
    await ctx.event("Go")
    return [paid, packed, await ctx.call(ship, order)]

worker.run()
'''


class Process:
    """A worker in a process of its own."""

    def __init__(self, server, ledger):
        path = kit.work_dir() / "order_worker.py"
        path.write_text(ORDER)
        env = {**os.environ, "PAWL_URL": server.url, "PYTHONPATH": str(kit.ROOT / "clients" / "python")}
        self.log = open(str(ledger) + ".log", "ab")
        self.process = subprocess.Popen([sys.executable, str(path), str(ledger)], env=env, stdout=self.log, stderr=self.log)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        return self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.log.close()


def noted(ledger, word):
    return [line for line in ledger.read_text().splitlines() if line.startswith(word)] if ledger.exists() else []


def test_py_kill_the_worker_in_mid_order_and_another_goes_on(server):
    ledger = kit.work_dir() / "ledger-1"
    client = pawl.Client(server.url)
    client.start("Order", {"id": 8, "pack": 0, "inline": True}, instance="p", allow_unregistered=True)
    with Process(server, ledger) as third:
        until(lambda: client.get("p")["custom_status"] == "packed")
        third.kill()                              # while it waits: another builds it from its history
        client.raise_event("p", "Go")
        with Process(server, ledger) as fourth:
            assert client.wait("p", timeout=30)["output"] == [8, "packed", "shipped"]
            assert fourth.kill(signal.SIGTERM) == 0
    assert len(noted(ledger, "ship")) == 1


def test_py_an_inline_step_is_done_again_when_its_worker_dies(server):
    ledger = kit.work_dir() / "ledger-3"
    client = pawl.Client(server.url)
    client.start("Order", {"id": 7, "pack": 2, "inline": True}, instance="o", allow_unregistered=True)
    with Process(server, ledger) as first:
        until(lambda: noted(ledger, "pack"))
        first.kill()                              # before its first heartbeat: the lease is a second from its beginning
    killed = time.monotonic()
    client.raise_event("o", "Go")
    with Process(server, ledger):
        assert client.wait("o", timeout=60)["output"] == [7, "packed", "shipped"]
    assert time.monotonic() - killed < 20, time.monotonic() - killed
    packs = noted(ledger, "pack")
    assert len(packs) == 2 and len(set(packs)) == 1, packs    # again, under the same key
    assert len(noted(ledger, "charge")) == 1


def test_py_inline_steps_are_tried_again(server):
    tries = []

    def flaky():
        tries.append(pawl.task().attempt)
        if len(tries) < 3:
            raise ConnectionError("busy")
        return len(tries)

    def code(worker):
        @worker.orchestration("Tries")
        async def f(ctx):
            return [await ctx.step(flaky, attempts=5, initial=0.01), await ctx.step(lambda: 1, name="one")]
    with Serving(server, code) as s:
        assert s.run("Tries")["output"] == [3, 1] and tries == [1, 2, 3], tries


def test_py_kill_the_server_and_the_worker_goes_on():
    with Server() as server:
        ledger = kit.work_dir() / "ledger-2"
        with Process(server, ledger) as worker:
            client = pawl.Client(server.url)
            for i in range(8):
                client.start("Order", {"id": i, "pack": 0.02 * i}, instance="o-%d" % i, allow_unregistered=True)
            for _ in range(3):
                time.sleep(0.1)
                server.restart()
            for i in range(8):
                client.raise_event("o-%d" % i, "Go")
            server.restart()
            for i in range(8):
                assert client.wait("o-%d" % i, timeout=30)["output"] == [i, "packed", "shipped"], i
            assert worker.process.poll() is None
            for i in range(8):
                ended = [e["kind"] for e in client.history("o-%d" % i)]
                assert ended.count("ActivityCompleted") == 3 and ended[-1] == "OrchestrationCompleted", ended


def test_py_workers_share_and_leave(server):
    """Two workers; one leaves in an orderly way while its instances wait, the other has them at once."""
    with Serving(server, shop, name="stays") as stays:
        with Serving(server, shop, name="goes") as goes:
            for i in range(20):
                goes.client.start("Race", 60, instance="r-%d" % i, allow_unregistered=True)
            until(lambda: all("ExternalSubscribed" in kinds(goes.client, "r-%d" % i) for i in range(20)))
        began = time.monotonic()
        for i in range(20):
            stays.client.raise_event("r-%d" % i, "Review", i)
        for i in range(20):
            assert stays.client.wait("r-%d" % i, timeout=20)["output"] == i
        assert time.monotonic() - began < 8


def test_py_a_small_cache_forgets_and_builds_again(server):
    with Serving(server, shop, cache=2) as s:
        for i in range(12):
            s.client.start("Two", instance="e-%d" % i, allow_unregistered=True)
        for n in range(2):
            for i in range(12):
                s.client.raise_event("e-%d" % i, "E", n)
        for i in range(12):
            assert s.client.wait("e-%d" % i, timeout=30)["output"] == [0, 1]
        assert len(s.worker.runs.runs) <= 2 + 1


# ---- Bad input ------------------------------------------------------------------------------


def test_py_lies_are_refused_and_the_token_stays_good(server):
    base = {"protocol": 1, "session": "s" * 20, "worker": "liar"}
    first = expect(server.post("/api/v1/turns", {**base, "max": 1}), 409)
    assert first.json["error"]["code"] == "unknown_session"
    base["code"] = [{"name": "Lie", "version": "1.0.0"}]
    server.post("/api/v1/turns", {**base, "max": 0})
    pawl.Client(server.url).start("Lie", 1, instance="x", allow_unregistered=True)
    turn = expect(server.post("/api/v1/turns", {**base, "max": 1, "wait_ms": 5000}), 200).json["turns"][0]

    def answer(steps, wait=None, token=turn["token"]):
        body = {"token": token, "steps": steps, **({"wait": wait} if wait else {})}
        return expect(server.post("/api/v1/turns", {**base, "answers": [body], "max": 0}), 200).json["answered"][0]

    def step(*decisions, seq=1, m=1):
        return [{"m": m, "seq": seq, "decisions": list(decisions)}]
    call = {"do": "call", "ref": 1, "name": "A", "data": ""}
    lies = [(step({**call, "ref": 2}), {"for": "any", "refs": [2]}), (step(call, seq=7), {"for": "any", "refs": [1]}),
            (step({"end": "completed", "output": ""}, {"do": "status", "text": "x"}), None), (step({"do": "fly"}), None),
            (step({"do": "cancel", "ref": 3, "reason": ""}), {"for": "any", "refs": [1]}),
            (step(call), {"for": "any", "refs": [4]}), ([], {"for": "any", "refs": [1]}),
            (step(call) + step(seq=3, m=2), {"for": "any", "refs": [1]}), (step({"end": "cancelled"}), None),
            (step(call), None)]
    for steps, wait in lies:
        assert answer(steps, wait)["status"] == "refused", (steps, wait)
    assert answer(step(call), {"for": "any", "refs": [1]}, "t1.1.1.1.0000000000000000")["status"] == "lost"
    good = answer(step(call), {"for": "any", "refs": [1]})
    assert good["status"] == "ok" and good["seq"] == 2, good
    assert answer(step(call), {"for": "any", "refs": [1]})["status"] == "lost"
    for bad in ({"protocol": 9}, {"session": "short"}, {"max": 101}, {"nonsense": 1}, {"answers": 5}):
        reply = server.post("/api/v1/turns", {**base, **bad})
        assert reply.status in (400, 409), (bad, reply)
