# SPDX-License-Identifier: MIT
"""Work under a lease: run it once, renew the lease meanwhile, hand in what came of it.

The walk: a Task is held (its lease has begun) -> its function runs in a thread, and a heartbeat renews
the lease three times within its life -> result or failure is handed in until it is recorded, known to be
lost, or the lease is over, however often the server is away meanwhile.  Activities and inline steps of
orchestrations go this way; only the results of inline steps go with their turn (loop.py).

Invariant: a lease is taken to end no later than the server ends it: its life is counted from before the
request that began or renewed it.
"""
from __future__ import annotations

import asyncio
import contextvars
import http.client
import inspect
import json
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .errors import Error, Final, Lost, TaskFailed, passes, text_of
from .wire import Wire

_current: "contextvars.ContextVar[Optional[Task]]" = contextvars.ContextVar("pawl.task", default=None)


class Task:
    """What an activity knows about its call."""

    def __init__(self, item: Dict[str, Any]):
        self.token: str = item["token"]
        self.instance: str = item["instance"]
        self.execution: int = item["execution"]
        self.id: int = item["id"]
        self.activity: str = item["activity"]
        self.input: Any = item["input"]
        self.attempt: int = item["attempt"]
        self.key: str = item["key"]
        self.details: Any = item.get("details")   # of the last heartbeat that had any, of any attempt
        self._tell: Optional[Callable[["Task", Any], None]] = None
        self._cancelled = threading.Event()
        self._wanted = True               # as far as the server said
        self._lease_end = 0.0             # by time.monotonic(); never before the server's

    def __str__(self) -> str:
        return "%s of instance %r (attempt %d)" % (self.activity, self.instance, self.attempt)

    @property
    def cancelled(self) -> bool:
        """True when nobody waits for the result any more."""
        return self._cancelled.is_set()

    def heartbeat(self, details: Any) -> None:
        """Say where the work is: any JSON up to 16 KiB, durable on return.  The next attempt finds it in
        `details`, and can go on from there.  Heartbeats without details are sent by themselves."""
        if self._tell is not None:
            self._tell(self, details)


def task() -> Task:
    """The task of the activity or step that runs in this thread."""
    found = _current.get()
    if found is None:
        raise LookupError("no activity and no step runs here")
    return found


def perform(task: Task, function: Callable[[], Any]) -> Tuple[str, Any]:
    """Run it once: ("complete", result), or ("fail", the body to hand in)."""
    token = _current.set(task)
    try:
        result = function()
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return "complete", result
    except BaseException as error:        # the author's: this attempt failed; sys.exit() is no end
        final = isinstance(error, Final) or isinstance(error, TaskFailed) and error.final
        named = not isinstance(error, Final)
        text = ("%s: %s" % (type(error).__name__, text_of(error))) if named else text_of(error)
        return "fail", {"error": text, "retryable": not final}
    finally:
        _current.reset(token)


def is_json(result: Any) -> Optional[str]:
    """Why a result cannot be sent; None: it can."""
    try:
        json.dumps(result, allow_nan=False)
    except Exception as error:            # it would be none the next time either
        return "the result is no JSON (%s: %s)" % (type(error).__name__, text_of(error))
    return None


class Leases:
    """The tasks that a worker has."""

    def __init__(self, client: Wire, lock_ms: int):
        self.client, self.lock_ms = client, lock_ms
        self._tasks: Dict[str, Task] = {}
        self._lock = threading.Lock()

    def take(self, task: Task) -> None:
        self.hold(task)
        task._tell = self._renew
        with self._lock:
            self._tasks[task.token] = task

    def drop(self, task: Task) -> None:
        with self._lock:
            self._tasks.pop(task.token, None)

    def clear(self) -> List[Task]:
        with self._lock:
            tasks = list(self._tasks.values())
            self._tasks.clear()
        return tasks

    def hold(self, task: Task) -> None:
        """The lease was given or renewed before its answer came: it is over by then."""
        task._lease_end = time.monotonic() + self.lock_ms / 1000

    # ---- Handing in --------------------------------------------------------------------

    def hand_in(self, task: Task, verb: str, body: Dict[str, Any]) -> None:
        """Until it is recorded, known to be lost, or the lease is over."""
        pause, told = 0.1, ""
        while True:
            trouble = self._offer(task, verb, body)
            if isinstance(trouble, Error) and not passes(trouble):
                # Not to be had as it is.  Were it the credentials, the failure is refused as
                # well, and the result stays what it was: they may be mended before the lease ends.
                text = "the server refused the %s: %d %s" % (
                    "result" if verb == "complete" else "error text", trouble.status, trouble)
                if text != told:
                    say("%s: %s" % (task, text))
                told = text
                if verb == "fail":
                    text += "; it begins: " + ascii(str(body["error"])[:200])
                trouble = self._offer(task, "fail", {"error": text, "retryable": False})
            if trouble is None:
                return
            left = task._lease_end - time.monotonic()
            if left <= 0:
                return say("%s: not handed in before the lease was over (%s); it will run again" % (task, trouble))
            time.sleep(min(pause, left))
            pause = min(pause * 2, 2.0)

    def _offer(self, task: Task, verb: str, body: Dict[str, Any]) -> Optional[Exception]:
        """Hand in once; None when that settled it, for good or not."""
        try:
            self.client.request("POST", "/api/v1/work/%s/%s" % (task.token, verb), body,
                                repeat=True, timeout=max(5.0, self.lock_ms / 1000))
        except Lost as error:             # somebody else does it, or nobody waits
            if task._wanted:
                say("%s: %s" % (task, error))
        except (Error, OSError, http.client.HTTPException) as error:
            return error                  # perhaps it was recorded: then the next one says so
        return None

    def abandon(self, task: Task) -> None:
        """Give the work back; nobody is blamed."""
        try:
            self.client.request("POST", "/api/v1/work/%s/abandon" % task.token, {}, repeat=True, timeout=5.0)
        except (Error, OSError, http.client.HTTPException):
            pass                          # its lease ends

    # ---- Heartbeats --------------------------------------------------------------------

    def beat(self, over: threading.Event) -> None:
        """Renew what is held, three times within the life of a lease; a thread's work."""
        while not over.wait(self.lock_ms / 3000):
            with self._lock:
                tasks = list(self._tasks.values())
            for task in tasks:
                try:
                    self._renew(task)
                except Lost:
                    task._cancelled.set()
                except Error:
                    pass                  # the next beat comes before the lease ends
                except (OSError, http.client.HTTPException):
                    break                 # nor would it answer for the others

    def _renew(self, task: Task, details: Any = None) -> None:
        body = {"lock_ms": self.lock_ms, **({"details": details} if details is not None else {})}
        answer = self.client.request("POST", "/api/v1/work/%s/heartbeat" % task.token, body, repeat=True,
                                     timeout=max(1.0, self.lock_ms / 3000))[1]
        self.hold(task)
        if answer["cancelled"]:
            task._wanted = False
            task._cancelled.set()


def say(text: str) -> None:
    clean = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    print("pawl: worker: " + clean, file=sys.stderr, flush=True)
