# SPDX-License-Identifier: MIT
"""An order, from the payment to the end of its return window.

    pip install ./clients/python
    pawl serve &
    python -m pawl worker examples/python/order.py &
    pawl start Order --id o-1 --input '{"id":"o-1","amount":900}'
    pawl raise o-1 Review '{"approved":true}'
    pawl wait o-1

Kill the worker or the server at any moment and start it again: the order goes on after its last recorded
step.  Activities may run again when their process dies; `task.key` is the same on every attempt.
"""
import dataclasses

import pawl

worker = pawl.Worker()


@dataclasses.dataclass
class Order:
    id: str
    amount: int = 10
    return_seconds: float = 2.0


@dataclasses.dataclass
class Review:
    approved: bool


@worker.activity
def charge(order: Order, task: pawl.Task) -> str:
    return "receipt-%s" % task.key            # give the key to the bank: it charges once


@worker.activity
def refund(receipt: str) -> str:
    return "refunded " + receipt


@worker.activity
def reserve(order: Order) -> str:
    return "shelf-7"


def ship(order: Order, shelf: str) -> str:
    return "shipped %s from %s" % (order.id, shelf)


@worker.orchestration("Order")
async def order(ctx: pawl.Context, order: Order) -> str:
    ctx.attributes(customer="c-42", total=order.amount)
    receipt = await ctx.call(charge, order, attempts=5, start_to_close=30)
    try:
        shelf = await ctx.call(reserve, order)
        review, limit = ctx.event("Review", type=Review), ctx.timer(hours=48)
        if await ctx.race(review, limit) is limit:
            raise pawl.Fail("no review in time")
        if not review.result().approved:
            raise pawl.Fail("the review said no")
        shipped = await ctx.step(ship, order, shelf)   # in this process; its result is one commit
        ctx.status(shipped)
        back, closed = ctx.event("Return"), ctx.timer(order.return_seconds)
        if await ctx.race(back, closed) is back:
            raise pawl.Fail("returned")
        return shipped
    except (pawl.Fail, pawl.Cancelled):
        with ctx.shield():                    # cancelled or not: the money goes back
            await ctx.call(refund, receipt, attempts=10)
        raise


if __name__ == "__main__":
    worker.run()
