# SPDX-License-Identifier: MIT
"""The blocking client: every call of the server as a method.

The calls themselves are plans (plans.py): instances.py, queues.py, schedules.py.  aio.py has the same
methods for asyncio.
"""
from __future__ import annotations

from typing import Any, Iterator

from . import instances as _i
from . import queues as _q
from . import schedules as _s
from . import server_limits as _l
from .plans import Json, Pages, Plan, T, blocking, own, own_paging, paging
from .wire import Wire


class Client(Wire):
    """Calls to one server.  Thread-safe: every thread has a connection of its own."""

    def _make(self, plan: "Plan[T]") -> T:
        try:
            request = next(plan)
            while True:
                request = plan.send(self.request(*request))
        except StopIteration as over:
            return over.value

    def _pages(self, pages: Pages) -> Iterator[Json]:
        after = pages.first
        while True:
            page = self.request(*pages.request(after))[1]
            yield from page[pages.member]
            after = page.get("next")
            if after is None:
                return

    # ---- Instances ---------------------------------------------------------------------
    start = blocking(_i.start)
    job = blocking(_i.job)
    rerun = blocking(_i.rerun)
    instances = blocking(_i.instances)
    search = paging(_i.search)
    batch = blocking(_i.batch)
    prune = blocking(_i.prune)
    set_attributes = blocking(_i.set_attributes)
    get = blocking(_i.get)
    wait = blocking(_i.wait)
    raise_event = blocking(_i.raise_event)
    update = blocking(_i.update)
    update_result = blocking(_i.update_result)
    cancel = blocking(_i.cancel)
    terminate = blocking(_i.terminate)
    suspend = blocking(_i.suspend)
    resume = blocking(_i.resume)
    retry = blocking(_i.retry)
    delete = blocking(_i.delete)
    history = paging(_i.history)
    export = blocking(_i.export)
    executions = paging(_i.executions)
    why = blocking(_i.why)
    tree = blocking(_i.tree)
    timeline = blocking(_i.timeline)
    state = blocking(_i.state)
    state_wait = blocking(_i.state_wait)
    asks = paging(_i.asks)
    overview = blocking(_i.overview)
    registry = blocking(_i.registry)
    workers = blocking(_i.workers)
    version = blocking(_i.version)

    # ---- Schedules ---------------------------------------------------------------------
    schedule_put = blocking(_s.schedule_put)
    schedule = blocking(_s.schedule)
    schedules = paging(_s.schedules)
    schedule_next = blocking(_s.schedule_next)
    schedule_pause = blocking(_s.schedule_pause)
    schedule_resume = blocking(_s.schedule_resume)
    schedule_run = blocking(_s.schedule_run)
    schedule_backfill = blocking(_s.schedule_backfill)
    schedule_remove = blocking(_s.schedule_remove)

    # ---- Limits ------------------------------------------------------------------------
    limit_put = blocking(_l.limit_put)
    limit = blocking(_l.limit)
    limits = paging(_l.limits)
    limit_remove = blocking(_l.limit_remove)

    # ---- Queues ------------------------------------------------------------------------
    push = blocking(_q.push)
    pop = blocking(_q.pop)
    pop_locked = blocking(_q.pop_locked)
    ack = blocking(_q.ack)
    queues = paging(_q.queues)

    def queue(self, name: str) -> "Queue":
        """One queue, with every call of it."""
        return Queue(self, name)


class Queue:
    """One durable priority queue.  Made by client.queue(name)."""

    def __init__(self, client: Client, name: str):
        self._client, self.name = client, name

    def _make(self, plan: Any) -> Any:
        return self._client._make(plan)

    def _pages(self, pages: Pages) -> Iterator[Json]:
        return self._client._pages(pages)

    push = own(_q.push)  # type: ignore[arg-type]
    push_many = own(_q.push_many)
    pop = own(_q.pop)  # type: ignore[arg-type]
    pop_locked = own(_q.pop_locked)  # type: ignore[arg-type]
    pop_messages = own(_q.pop_messages)  # type: ignore[arg-type]
    ack = own(_q.ack)
    ack_many = own(_q.ack_many)
    extend = own(_q.extend)
    release = own(_q.release)
    deadletter = own(_q.deadletter)
    redrive = own(_q.redrive)  # type: ignore[arg-type]
    purge = own(_q.purge)
    pause = own(_q.pause)
    resume = own(_q.resume)
    get = own(_q.get)
    remove = own(_q.remove)
    messages = own_paging(_q.messages)  # type: ignore[arg-type]
    message = own(_q.message)
    drop = own(_q.drop)
    locks = own(_q.locks)
    config = own(_q.config)
    set_config = own(_q.set_config)  # type: ignore[arg-type]
    change_config = own(_q.change_config)  # type: ignore[arg-type]
