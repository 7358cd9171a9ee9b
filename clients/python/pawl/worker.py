# SPDX-License-Identifier: MIT
"""A worker: serves activities and orchestrations until it is told to stop.

Activities are polled for and run in threads under leases (leases.py).  Orchestrations are driven by the
turn loop (loop.py), which also runs their inline steps; functions that block belong into either, never
into orchestration code.  For more than one core run more processes: `python -m pawl worker MODULE
--processes 4`.  Workers with the same orchestration and version must have the same code.
"""
from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, TypeVar, Union, cast

from . import lint
from .calls import Registration, register
from .client import Client
from .codec import json_codec
from .errors import Error, passes
from .leases import Leases, Task, is_json, perform, say
from .loop import TurnLoop
from .pool import Pool
from .run import Code
from .turns import Driver
from .wire import Trouble

F = TypeVar("F", bound=Callable[..., Any])
_looked_at = False                        # is a module loaded by `python -m pawl`?  Then run() serves nothing


@contextlib.contextmanager
def only_looked_at() -> Iterator[None]:
    """Workers that run() meanwhile return at once: their module is to be looked at, or is run by the caller."""
    global _looked_at
    _looked_at = True
    try:
        yield
    finally:
        _looked_at = False


class Worker:
    """Polls for work, and runs it."""

    def __init__(self, client: Optional[Client] = None, concurrency: int = 8, lock_seconds: float = 30.0,
                 tags: Optional[List[str]] = None, name: Optional[str] = None, cache: int = 1000,
                 grace: float = 30.0, strict: bool = False, poll_seconds: float = 2.0):
        """`concurrency` activities, and as many inline steps, at a time; `cache` runs are kept in memory;
        `grace` seconds to finish when it stops, which it notices after a poll for activities of
        `poll_seconds`; `strict` refuses orchestrations that lint warns of."""
        self.client = client or Client()
        self.concurrency, self.lock_ms = concurrency, int(lock_seconds * 1000)
        self.tags = list(tags or [])
        self.name = name or "%s:%d" % (socket.gethostname(), os.getpid())
        self.grace, self.strict, self.poll_ms = grace, strict, int(poll_seconds * 1000)
        self.runs = Driver(capacity=cache)
        self._functions: Dict[str, Callable[..., Any]] = {}
        self._known: Dict[str, Registration] = {}
        self._stop = threading.Event()
        self._free = threading.Semaphore(concurrency)
        self._leases = Leases(self.client, self.lock_ms)
        self._told = False                # that the server is away
        self._error: Optional[BaseException] = None

    # ---- Registering -------------------------------------------------------------------

    def activity(self, name: Union[str, F, None] = None) -> Any:
        """Decorator: this function does the activity `name` (default: its own name).

        It is called with the input, and with the Task if it takes a second argument.  It may be async.
        """
        def add(function: F) -> F:
            title = name if isinstance(name, str) else function.__name__
            self._known[title] = register(function, "activity", title)
            self._functions[title] = function
            return function
        return add(name) if callable(name) else add

    def orchestration(self, name: Union[str, F, None] = None, version: str = "1.0.0", *, codec: Any = json_codec,
                      bugs: str = "block") -> Any:
        """Decorator: this `async def f(ctx, input)` is the orchestration `name` in this version.

        `bugs`: errors of the interpreter (TypeError, KeyError …) "block" an instance until corrected
        code goes on, or "fail" it.  codec=pawl.raw leaves payloads as texts.
        """
        if bugs not in ("block", "fail"):
            raise ValueError("bugs is 'block' or 'fail', not %r" % (bugs,))

        def add(function: F) -> F:
            title = name if isinstance(name, str) else function.__name__
            self._look_at(title, function)
            known = register(function, "orchestration", title, version)
            to = None if codec is not json_codec else known.to
            code = Code(title, version, _with_input(function, known.takes), codec, bugs, to)
            code.author = function
            self.runs.add(code)
            return function
        return add(name) if callable(name) else add

    def _look_at(self, name: str, function: Callable[..., Any]) -> None:
        found = lint.look_at(function)
        if found and self.strict:
            raise lint.Nondeterministic("; ".join(str(f) for f in found))
        for finding in found:
            warnings.warn("orchestration %s: %s" % (name, finding), lint.NondeterministicWarning, stacklevel=4)

    @property
    def activities(self) -> Dict[str, Callable[..., Any]]:
        return dict(self._functions)

    # ---- Life --------------------------------------------------------------------------

    def stop(self) -> None:
        """Take no new work; run() returns when what runs is done."""
        self._stop.set()

    def run(self, signals: bool = True) -> None:
        """Serve until stop(), SIGTERM or SIGINT; what runs may finish.

        In a module that `python -m pawl check` or `worker` loads it returns at once: they do the rest.
        """
        if _looked_at:
            return
        if not self._functions and not self.runs.code:
            raise ValueError("nothing to serve; register an activity or an orchestration before run()")
        if signals and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        over = threading.Event()
        threading.Thread(target=self._leases.beat, args=(over,), name="pawl-heartbeat", daemon=True).start()
        pool, steps = Pool(self.concurrency, "pawl-activity"), Pool(self.concurrency, "pawl-step")
        loop = TurnLoop(self.client, self.runs, self.name, steps, self._leases, self._failed) if self.runs.code else None
        try:
            if loop is not None:
                loop.start()
            self._serve(pool)
            pool.wait(self.grace if self._error is None else 0)
        finally:
            if loop is not None:
                loop.stop(self.grace if self._error is None else 0)
                self.runs.forget_all()
            over.set()
            for task in self._leases.clear():
                self._leases.abandon(task)
            pool.close()
            steps.close()
        if self._error is not None:
            raise self._error

    def _failed(self, error: BaseException) -> None:
        self._error = error
        self._stop.set()

    def _serve(self, pool: Pool) -> None:
        if not self._functions:
            while not self._stop.wait(3600):
                pass
            return
        while not self._stop.is_set():
            for item in self._poll():
                task = Task(item)
                self._leases.take(task)
                self._free.acquire()
                pool.submit(lambda task=task: self._work(task))  # type: ignore[misc]

    # ---- Activities --------------------------------------------------------------------

    def _poll(self) -> List[Dict[str, Any]]:
        free = 0
        while self._free.acquire(blocking=False):
            free += 1
        for _ in range(free):
            self._free.release()
        if free == 0:
            self._stop.wait(0.01)
            return []
        try:
            # short enough that a stop is not waited for long
            items = self.client.request("POST", "/api/v1/work/poll", {
                "activities": list(self._functions), "tags": self.tags, "max": min(free, 100),
                "wait_ms": self.poll_ms, "lock_ms": self.lock_ms, "worker": self.name})[1]["items"]
            self._told = False
            return cast(List[Dict[str, Any]], items)
        except Trouble as error:
            self._wait_for_server(error)
        except Error as error:
            if not passes(error):
                raise
            self._wait_for_server(error)
        return []

    def _wait_for_server(self, error: BaseException) -> None:
        if not self._told:                # once, until it has answered again
            say("%s does not answer (%s); trying again" % (self.client.url, error))
        self._told = True
        self._stop.wait(0.5)

    def _work(self, task: Task) -> None:
        try:
            self._leases.hand_in(task, *self._attempt(task))
        finally:
            self._leases.drop(task)
            self._free.release()

    def _attempt(self, task: Task) -> Any:
        """Run it once; the verb and body to hand in."""
        verb, result = perform(task, lambda: call_activity(self._functions[task.activity], self._known[task.activity], task))
        if verb == "fail":
            return verb, result
        wrong = is_json(result)
        if wrong is not None and not isinstance(result, (str, int, float)):
            try:                          # a dataclass, an enum, a model
                result = json_codec.decode(json_codec.encode(result))
                wrong = None
            except TypeError:
                pass
        if wrong is not None:
            say("%s: %s" % (task, wrong))
            return "fail", {"error": wrong, "retryable": False}
        return "complete", {"result": result}


def call_activity(function: Callable[..., Any], known: Registration, task: Task) -> Any:
    """With the input as its annotation says, and with the task if it takes one."""
    input = task.input if known.to is None else known.to(task.input)
    return function(*(input, task)[:min(known.takes, 2)])


def _with_input(function: Callable[..., Any], takes: int) -> Callable[..., Any]:
    """An orchestration may leave its input out."""
    if takes >= 2:
        return function
    return lambda ctx, input: function(ctx)
