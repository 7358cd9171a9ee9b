# SPDX-License-Identifier: MIT
"""Pawl for Python: durable orchestrations, activities, queues.  Standard library only, typed.

    import pawl

    worker = pawl.Worker(pawl.Client("http://127.0.0.1:8000"))     # or PAWL_URL and PAWL_TOKEN

    @worker.activity
    def charge(order, task):
        return {"receipt": pay(order["amount"], idempotency_key=task.key)}

    @worker.orchestration("Order")
    async def order(ctx, order):
        paid = await ctx.call(charge, order, attempts=5)
        review, limit = ctx.event("Review"), ctx.timer(hours=48)
        if await ctx.race(review, limit) is limit:
            raise pawl.Fail("no review in time")
        return paid

    worker.run()                                       # until SIGTERM or Ctrl-C

An orchestration is ordinary code that must be deterministic: the same input and the same awaited results
lead to the same calls.  Kill its process at any line; another worker continues from the recorded history.
It takes time, randomness and ids from `ctx` and awaits nothing but what `ctx` gives.

An activity runs in a thread under a lease that is renewed in the background.  It may run more than once
(a worker died, a lease was lost): hand `task.key` to the outside world as idempotency key.  What it
returns is the result; an exception (sys.exit() too) is a failed attempt, and `pawl.Final` one that must
not be retried.  Both are handed in until the lease is over, however often the server is away meanwhile.
A result the server refuses (NaN, nested too deeply, too large, 401, 403) is printed and becomes a failure
that is not retried, with the server's words: another attempt would return the same.

`pawl.aio` has the client for asyncio, `pawl.testing` runs orchestrations in virtual time.
"""
from .client import Client, Queue
from .codec import raw
from .context import SAME, Context
from .errors import (CallRefused, Cancelled, ChildCancelled, ChildExists, ChildFailed, Conflict, Error, Fail, Final,
                     Foreign, Locked, Lost, NotFound, Pending, Poison, Refused, Rejected, TaskCancelled, TaskFailed,
                     Timeout, WorkLost, error)
from .handles import Handle, Strand, UpdateHandle
from .leases import Task, task
from .lint import Nondeterministic, NondeterministicWarning
from .worker import Worker

__version__ = "0.1.0"
__all__ = ["Client", "Queue", "Worker", "Task", "task", "Context", "Handle", "UpdateHandle", "Strand", "SAME", "raw",
           "Error", "NotFound", "Conflict", "Lost", "Locked", "Rejected", "Refused", "Pending", "Final", "Fail",
           "TaskFailed", "Timeout", "Poison", "WorkLost", "CallRefused", "TaskCancelled", "ChildFailed", "ChildCancelled",
           "ChildExists", "Cancelled", "Foreign", "Nondeterministic", "NondeterministicWarning", "error"]
