# SPDX-License-Identifier: MIT
"""`ctx`: what an orchestration may call.

Everything that starts something decides at the call, in program order, and gives a handle; awaiting the
handle gives the result.  Time, randomness and ids come from the history, so a replay agrees.  Times are
seconds, or timedelta; names with _ms are milliseconds.
"""
from __future__ import annotations

import datetime
import logging
from typing import (TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, Iterable, List, Mapping,
                    NoReturn, Optional, Sequence, TypeVar, Union)

from . import draws, kinds, limits
from .calls import Target, call_options, milliseconds, target_of
from .codec import decoder, json_codec
from .errors import CallRefused, ContinueAsNew
from .handles import ALL, ANY, SETTLED, Handle, Strand, UpdateHandle, Waitable
from .state import State

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")
Seconds = Union[int, float, datetime.timedelta]
SAME = "same"        # as `version` of continue_as_new: stay on the version that runs now
_log = logging.getLogger("pawl.orchestration")


class _Log(logging.LoggerAdapter):  # type: ignore[type-arg]
    """A logger that is silent while the code replays."""

    def isEnabledFor(self, level: int) -> bool:
        run: "Run" = self.extra["run"]  # type: ignore[index, assignment]
        return run.live and self.logger.isEnabledFor(level)

    def process(self, msg: Any, kwargs: Any) -> Any:
        return "%s: %s" % (self.extra["run"].instance, msg), kwargs  # type: ignore[index, union-attr]


class Shield:
    """`with ctx.shield():` awaits wait although cancellation was requested."""

    def __init__(self, run: "Run"):
        run.check()
        self._strand = run.current

    def __enter__(self) -> None:
        if self._strand is not None:
            self._strand.shields += 1

    def __exit__(self, *_: Any) -> None:
        if self._strand is not None and self._strand.shields > 0:
            self._strand.shields -= 1


class Context:
    """One execution, as its code sees it."""

    def __init__(self, run: "Run"):
        self._run = run
        self.state = State(run)
        self.log = _Log(_log, {"run": run})

    # ---- Who and when ------------------------------------------------------------------

    @property
    def instance(self) -> str:
        return self._run.instance

    @property
    def execution(self) -> int:
        return self._run.execution

    @property
    def name(self) -> str:
        return self._run.name

    @property
    def version(self) -> str:
        return self._run.version

    @property
    def now(self) -> int:
        """The time of the message that woke this code, in milliseconds since 1970."""
        return self._run.now

    @property
    def datetime(self) -> datetime.datetime:
        """`now`, as a datetime in UTC."""
        return datetime.datetime.fromtimestamp(self._run.now / 1000, datetime.timezone.utc)

    @property
    def scheduled_at(self) -> int:
        """The occurrence of the schedule that started the instance; 0: none did."""
        return self._run.scheduled_at

    @property
    def history_length(self) -> int:
        """Events so far: continue as new before the limit."""
        return self._run.seq

    @property
    def replaying(self) -> bool:
        """True while recorded history is replayed.  Do not branch on it."""
        return not self._run.live

    @property
    def cancelled(self) -> bool:
        """True once cancellation was requested."""
        return self._run.cancelled

    def random64(self) -> int:
        run = self._run
        return draws.word(run.seed, run.message_seq, run.draw(), 0)

    def random(self) -> float:
        """From 0 up to 1; the same in every replay."""
        return draws.unit(self.random64())

    def uuid(self) -> str:
        run = self._run
        return draws.uuid(run.seed, run.message_seq, run.draw(), run.now)

    # ---- Starting ----------------------------------------------------------------------

    def call(self, activity: Target, input: Any = None, **options: Any) -> Handle[Any]:
        """Start an activity: a name, or a function that is registered as one.

        Options: attempts, backoff, initial, cap, factor, jitter, final_errors, no_retry_on_timeout,
        schedule_to_start, start_to_close, schedule_to_close, heartbeat (seconds), tag, key, priority,
        max_crashes, at_most_once; type= makes the result a dataclass or a model.
        """
        name, to = target_of(activity, options.pop("type", None), "activity")
        return self._call(name, self._run.codec.encode(input), call_options(options), to, "ctx.call")

    def step(self, function: Callable[..., Any], *args: Any, name: Optional[str] = None,
             **options: Any) -> Handle[Any]:
        """Run a function in this worker, as part of this turn: one commit records its result and what
        the code decides on it.  Options as of call().  It may run again when the worker dies: give
        `pawl.task().key` to the outside world.
        """
        run = self._run
        title = str(name or getattr(function, "__name__", "step"))
        to = decoder(options.pop("type", None))
        data = run.codec.encode(list(args)) if args else ""
        handle = self._call(title, data, call_options(options), to, "ctx.step", lease=True)
        if not handle._closed:
            run.inline[handle.id] = lambda: function(*args)
        return handle

    def _call(self, name: str, data: str, options: Dict[str, Any], to: Any, api: str,
              lease: bool = False) -> Handle[Any]:
        run = self._run
        members: Dict[str, Any] = {"name": name, "data": data}
        if options:
            members["opts"] = options
        if lease:
            members["lease"] = True
        wrong = run.live and (limits.name("activity name", name) or limits.options(options)
                              or limits.payload("input", data, run.limits))
        handle = run.start(kinds.ACTIVITY, members, api, wrong or None)
        handle._to = to
        return handle

    def timer(self, seconds: Seconds = 0, *, days: float = 0, hours: float = 0, minutes: float = 0,
              ms: int = 0) -> Handle[None]:
        """A task that ends after this time: never early, and it survives restarts."""
        delay = milliseconds(seconds) + round((days * 24 + hours) * 3600000 + minutes * 60000) + ms
        wrong = limits.delay("delay", delay)
        return self._run.start(kinds.TIMER, {"delay_ms": delay}, "ctx.timer", wrong, delay_ms=delay)

    async def sleep(self, seconds: Seconds) -> None:
        await self.timer(seconds)

    def event(self, name: str, *, fresh: bool = False, type: Any = None) -> Handle[Any]:
        """The next event of that name, from the mailbox or the future.  fresh: drop earlier ones."""
        return self._event(name, {"fresh": True} if fresh else {}, type, None)

    def ask(self, event: str, title: Optional[str] = None, *, text: Optional[str] = None,
            choices: Optional[Sequence[str]] = None, schema: Optional[Mapping[str, Any]] = None,
            type: Any = None) -> Handle[Any]:
        """event(), and say what you want, for the people who may answer (`pawl asks`, the page)."""
        ask = {"title": title, "text": text, "choices": list(choices) if choices is not None else None, "schema": schema}
        said = {k: v for k, v in ask.items() if v is not None}
        words = json_codec.encode(said)
        wrong = ("what it asks for cannot be used: it needs a title or a text" if title is None and text is None else
                 "what it asks for cannot be used: it has more than 16384 bytes" if limits.size(words) > limits.ASK_BYTES
                 else None)
        return self._event(event, {"ask": said}, type, wrong)

    def _event(self, name: str, members: Dict[str, Any], to: Any, wrong: Optional[str]) -> Handle[Any]:
        wrong = limits.name("event name", name) or wrong
        handle = self._run.start(kinds.EXTERNAL, {"name": name, **members}, "ctx.event", wrong)
        handle._to = decoder(to)
        return handle

    def update(self, name: str, *, type: Any = None) -> UpdateHandle[Any]:
        """The next update of that name: await it for the request, then .answer() or .reject() it."""
        handle = self._run.start(kinds.UPDATE, {"name": name}, "ctx.update", limits.name("update name", name))
        handle._to = decoder(type)
        assert isinstance(handle, UpdateHandle)
        return handle

    def child(self, orchestration: Target, input: Any = None, *, instance: Optional[str] = None,
              version: Optional[str] = None, abandon: bool = False, inherit: bool = False,
              deadline: Optional[Seconds] = None, type: Any = None) -> Handle[Any]:
        """Start another orchestration as a child; its end is the result."""
        name, to = target_of(orchestration, type, "orchestration")
        more = {k: True for k, v in (("abandon", abandon), ("inherit", inherit)) if v}
        handle = self._child(kinds.CHILD, name, input, instance, version, deadline, more, "ctx.child")
        handle._to = to
        return handle

    def detach(self, orchestration: Target, input: Any = None, *, instance: Optional[str] = None,
               version: Optional[str] = None, deadline: Optional[Seconds] = None) -> str:
        """Start an independent instance in this commit; its id.  Raises CallRefused."""
        name, _ = target_of(orchestration, None, "orchestration")
        handle = self._child(kinds.DETACHED, name, input, instance, version, deadline, {}, "ctx.detach")
        if not handle._ok:
            raise CallRefused(handle._text, "refused")
        return handle.instance

    def _child(self, kind: str, name: str, input: Any, instance: Optional[str], version: Optional[str],
               deadline: Optional[Seconds], more: Dict[str, Any], api: str) -> Handle[Any]:
        run = self._run
        data = run.codec.encode(input)
        id = "%s:%d:%d" % (run.instance, run.execution, len(run.tasks) + 1) if instance is None else instance
        wrong = (limits.name("orchestration name", name)
                 or (limits.made_instance(id) if instance is None else limits.instance(id)) or limits.version(version))
        members: Dict[str, Any] = {"name": name, "data": data, "instance": id, **more}
        if version:
            members["version"] = version
        if deadline is not None:
            members["deadline_ms"] = milliseconds(deadline)
            wrong = wrong or limits.delay("deadline", members["deadline_ms"])
        wrong = wrong or limits.payload("input", data, run.limits)
        handle = run.start(kind, members, api, wrong, instance=id, version=version)
        handle.instance = id
        return handle

    # ---- Waiting -----------------------------------------------------------------------

    async def all(self, *tasks: Waitable) -> List[Any]:
        """The results of all, in argument order; the first failure at once, the others go on."""
        wait = await _Await(self._run, ALL, tasks)
        if wait.hit is not None:
            wait.hit._outcome()
        return [task._outcome() for task in tasks]

    async def settled(self, *tasks: Waitable) -> List[Any]:
        """Wait until every one has ended, well or not; the tasks, for .result() of each."""
        await _Await(self._run, SETTLED, tasks)
        return list(tasks)

    async def any(self, *tasks: Waitable) -> Any:
        """The task that ended first, in the order of the history.  The others go on."""
        return (await _Await(self._run, ANY, tasks)).hit

    select = any

    async def race(self, *tasks: Waitable) -> Any:
        """any(), then cancel() for the rest."""
        first = await self.any(*tasks)
        for task in tasks:
            if task is not first and isinstance(task, Handle):
                self._run.withdraw(task, "lost the race", "ctx.race")
        return first

    async def as_done(self, tasks: Iterable[Waitable]) -> AsyncIterator[Any]:
        """`async for task in ctx.as_done(tasks):` in the order in which they end."""
        left = list(dict.fromkeys(tasks))
        while left:
            first = await self.any(*left)
            left.remove(first)
            yield first

    def spawn(self, coro: Coroutine[Any, Any, T]) -> Strand[T]:
        """Run code beside this code; await the strand for what it returns."""
        return self._run.spawn(coro)

    async def gather(self, *parts: Union[Waitable, Coroutine[Any, Any, Any]]) -> List[Any]:
        """all(), of tasks and of coroutines, which run beside each other."""
        return await self.all(*[p if isinstance(p, Waitable) else self.spawn(p) for p in parts])

    async def map(self, start: Callable[[Any], Waitable], items: Iterable[Any], window: int = 0) -> List[Any]:
        """start(item) for each, at most `window` open at a time (0: all); results in order of items."""
        todo = list(items)
        tasks: List[Waitable] = []
        open_: List[Waitable] = []
        while todo or open_:
            while todo and (window <= 0 or len(open_) < window):
                tasks.append(start(todo.pop(0)))
                open_.append(tasks[-1])
            first = await self.any(*open_)
            open_.remove(first)
            first._outcome()
        return [task._outcome() for task in tasks]

    def cancel(self, task: Handle[Any]) -> None:
        """Give up a task: its work is withdrawn; an event that nobody saw goes back to the mailbox."""
        self._run.withdraw(task, "cancelled by the orchestration", "ctx.cancel")

    def shield(self) -> Shield:
        """`with ctx.shield():` for compensation while the orchestration is being cancelled."""
        return Shield(self._run)

    # ---- Telling -----------------------------------------------------------------------

    def status(self, text: str) -> None:
        """A short text shown with the instance; "" clears it."""
        self._run.plain(kinds.STATUS, {"do": "status", "text": text}, "ctx.status", limits.status(text))

    def raise_event(self, instance: str, event: str, data: Any = None, *, await_start: bool = False) -> None:
        """Raise an event to another instance, in this commit, exactly once.  Raises CallRefused."""
        run = self._run
        text = run.codec.encode(data)
        members: Dict[str, Any] = {"name": event, "data": text, "instance": instance}
        if await_start:
            members["await_start"] = True
        wrong = (limits.name("event name", event) or limits.raised_to(instance)
                 or limits.payload("input", text, run.limits))
        handle = run.start(kinds.SENT_EVENT, members, "ctx.raise_event", wrong, instance=instance)
        if not handle._ok:
            raise CallRefused(handle._text, "refused")

    def push(self, queue: str, item: Any, *, priority: int = 0, delay: Seconds = 0) -> None:
        """Push to a queue in this commit.  Raises CallRefused."""
        run = self._run
        text, delay_ms = run.codec.encode(item), milliseconds(delay)
        decision: Dict[str, Any] = {"do": "push", "name": queue, "data": text}
        decision.update({k: v for k, v in (("priority", priority), ("delay_ms", delay_ms)) if v})
        wrong = limits.item(queue, text, priority, delay_ms, run.limits)
        self._refused(run.plain(kinds.PUSHED, decision, "ctx.push", wrong))

    def pop(self, queue: str, *, ttl: Seconds = 30, wait: Seconds = 0) -> Handle[Any]:
        """Pop an item under a lock: a task."""
        data = {"queue": queue, "ttl_ms": milliseconds(ttl), "wait_ms": milliseconds(wait)}
        return self.call("pawl.queue.pop", data)

    def ack(self, queue: str, lock_id: str) -> Handle[Any]:
        """Acknowledge what pop() gave: a task."""
        return self.call("pawl.queue.ack", {"queue": queue, "lock_id": lock_id})

    def attributes(self, values: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Names and values the instance can be found by; None removes one.  Raises CallRefused."""
        change = {**(values or {}), **more}
        text = self._run.codec.encode(change)
        wrong = limits.attributes(change, text)
        self._refused(self._run.plain(kinds.ATTRIBUTES, {"do": "attributes", "attributes": change}, "ctx.attributes", wrong,
                                      data=text))

    def patched(self, name: str) -> bool:
        """Guard a change of code: true for executions that reach it from now on."""
        return self._run.patched(name)

    patch = patched

    def continue_as_new(self, input: Any = None, version: Optional[str] = None) -> NoReturn:
        """End this execution and begin the next one with a fresh history.  Does not return.

        `version`: None resolves again, pawl.SAME stays, or an exact one."""
        self._run.check()
        raise ContinueAsNew(input, self._run.version if version == SAME else version)

    @staticmethod
    def _refused(why: Optional[str]) -> None:
        if why is not None:
            raise CallRefused(why, "refused")


class _Await:
    """An awaitable over many tasks."""

    __slots__ = ("run", "mode", "tasks")

    def __init__(self, run: "Run", mode: str, tasks: Sequence[Waitable]):
        self.run, self.mode, self.tasks = run, mode, tasks

    def __await__(self) -> Any:
        return (yield from self.run.block(self.mode, self.tasks))


Orchestration = Callable[..., Awaitable[Any]]
