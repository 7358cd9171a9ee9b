# SPDX-License-Identifier: MIT
"""pawl.testing: orchestrations in virtual time, and that it finds what is wrong with them."""
import random

import pawl
from pawl.testing import NEVER, Blocked, Failed, Waits, World, sim

worker = pawl.Worker()


@worker.activity
def charge(order, task):
    return {"receipt": "r-" + task.key}


@worker.activity("Refund")
def refund(paid):
    return "refunded " + paid["receipt"]


def ship(order):
    return "shipped %s (%s)" % (order["id"], pawl.task().attempt)


@worker.orchestration("Order")
async def order(ctx, order):
    paid = await ctx.call(charge, order, attempts=3)
    review, limit = ctx.event("Review"), ctx.timer(hours=48)
    try:
        if await ctx.race(review, limit) is limit:
            raise pawl.Fail("no review in time")
        ctx.status("reviewed")
        ctx.attributes(customer="c-1", total=5)
        ctx.push("mail", {"to": order["id"]})
        return await ctx.step(ship, order)
    except pawl.Cancelled:
        with ctx.shield():
            ctx.state["refund"] = await ctx.call(refund, paid)
        raise


@worker.orchestration("Loop")
async def loop(ctx, n):
    await ctx.sleep(10)
    ctx.state["n"] = n
    if n < 3:
        ctx.continue_as_new(n + 1)
    return [ctx.state["n"], ctx.execution, "m" in ctx.state]


@worker.orchestration
async def parent(ctx):
    first, second = ctx.child(loop, 1), ctx.child("Loop", 2, instance="x")
    return await ctx.all(first, second)


@worker.orchestration
async def total(ctx):
    sum = 0
    while True:
        u = ctx.update("add")
        n = await u
        if n == "stop":
            u.answer(sum)
            return sum
        if not isinstance(n, int):
            u.reject("%r is no number" % n)
            continue
        sum += n
        u.answer(sum)


def failed(world, instance):
    try:
        return world.result(instance)
    except Failed as error:
        return str(error)


def test_py_world_an_order_in_virtual_time():
    world = World(worker)
    world.start("Order", {"id": "o-1"}, instance="o-1")
    assert world.waiting("o-1") == ["event Review", "timer #3"]
    world.raise_event("o-1", "Review")
    assert world.result("o-1") == "shipped o-1 (1)" and world.status("o-1") == "completed"
    assert world.attributes("o-1") == {"customer": "c-1", "total": 5} and world.custom_status("o-1") == "reviewed"
    assert world.queues == {"mail": [{"to": "o-1"}]}
    world.start("Order", {"id": "o-2"}, instance="o-2")
    world.skip(hours=47)
    assert world.status("o-2") == "running"
    assert failed(world, "o-2") == "failed: no review in time"
    world.start("Order", {"id": "o-3"}, instance="o-3")
    world.cancel("o-3", "changed my mind")
    assert failed(world, "o-3") == "cancelled: changed my mind"
    assert world.state("o-3") == {"refund": "refunded r-o-3:1:1"}


def test_py_world_fakes_attempts_and_time_outs():
    world = World(worker)
    world.fake("charge", [ValueError("busy"), ConnectionError("down"), {"receipt": 1}])
    world.fake("ship", lambda args: "flown " + args[0]["id"])
    begun = world.now
    world.start("Order", {"id": "o"}, instance="o")
    world.raise_event("o", "Review")
    assert world.result("o") == "flown o" and world.now == begun + 3000      # 1 s and 2 s of back-off
    world.fake("charge", pawl.Final("no money"))
    assert failed(world, world.start("Order", {"id": "p"})) == "failed: no money"

    async def slow(ctx):
        try:
            await ctx.call("Slow", attempts=2, start_to_close=30)
        except pawl.Timeout as error:
            return [error.kind, error.attempts]
    world.orchestration("Slow", slow)
    world.fake("Slow", NEVER)
    assert world.run("Slow") == ["start_to_close", 2]
    try:
        world.run("total")
        raise AssertionError("total does not end by itself")
    except Waits as error:
        assert "update add" in str(error)


def test_py_world_children_state_and_continue_as_new():
    world = World(worker)
    assert world.run("parent") == [[3, 3, False], [3, 2, False]]
    kinds = [e["kind"] for e in world.history("x")]
    assert kinds[:2] == ["OrchestrationStarted", "StateCarried"], kinds
    world.start("parent", instance="again")
    assert "instance 'x' exists already" in failed(world, "again")


def test_py_world_refuses_a_detached_start_of_a_taken_id():
    world = World(worker)

    async def twice(ctx):
        said = [ctx.detach("Ends", instance="one")]
        for id in ("one", ctx.instance):
            try:
                ctx.detach("Ends", instance=id)
            except pawl.CallRefused as error:
                said.append(str(error))
        return said

    async def ends(ctx):
        return 1
    world.orchestration("Twice", twice)
    world.orchestration("Ends", ends)
    assert world.run("Twice", instance="t") == ["one", "instance 'one' exists already", "instance 't' exists already"]


def test_py_world_updates_and_messages_between_instances():
    world = World(worker)

    async def sends(ctx, to):
        ctx.raise_event(to, "Hello", {"from": ctx.instance})
        return ctx.detach("Listens", instance="other")

    async def listens(ctx):
        return await ctx.event("Hello")
    world.orchestration("Sends", sends)
    world.orchestration("Listens", listens)
    world.start("Listens", instance="l")
    assert world.run("Sends", "l", instance="s") == "other" and world.result("l") == {"from": "s"}
    world.start("total", instance="t")
    assert [world.update("t", "add", n) for n in (4, 5)] == [4, 9]
    try:
        world.update("t", "add", "x")
        raise AssertionError("took a text")
    except pawl.Rejected as error:
        assert "no number" in str(error)
    assert world.update("t", "add", "stop") == 9 and world.result("t") == 9


def test_py_world_finds_code_that_does_not_repeat_itself():
    world = World(worker)

    async def drifts(ctx):
        await ctx.call("x", random.random())

    async def wrong(ctx):
        return {}["amount"]
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world.orchestration("Drifts", drifts)
        world.orchestration("Wrong", wrong)
    for name, text in (("Drifts", "input differs at byte"), ("Wrong", "KeyError: 'amount'")):
        try:
            world.start(name, instance=name)
            raise AssertionError(name)
        except Blocked as error:
            assert text in str(error) and "test_py_world.py:" in str(error), error
        assert world.status(name) == "blocked"
    assert world.run("parent")                   # the others go on

    async def right(ctx):
        return 1
    world.orchestration("Wrong", right)
    world.retry("Wrong")
    assert world.result("Wrong") == 1


def test_py_world_dice_change_nothing_that_code_may_see():
    def scenario(world):
        world.start("Order", {"id": "o"}, instance="o")
        world.start("parent", instance="p")
        world.start("total", instance="t")
        world.raise_event("o", "Review")
        assert world.update("t", "add", 4) == 4
        assert world.result("o").startswith("shipped o") and world.result("p") == [[3, 3, False], [3, 2, False]]
    sim(scenario, worker, seeds=60)

    async def counts(ctx):
        order = []
        async for task in ctx.as_done([ctx.call("a"), ctx.call("b"), ctx.call("c")]):
            order.append(task.name)
        return order
    orders = set()
    for seed in range(20):
        world = World(seed=seed)
        world.orchestration("Counts", counts)
        for name in "abc":
            world.fake(name, name)
        orders.add(tuple(world.run("Counts")))
    assert len(orders) > 1, "the dice never changed the order of completions"
