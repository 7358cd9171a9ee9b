# SPDX-License-Identifier: MIT
"""What orchestration code can wait for, and how it waits.

`Handle` is a started piece of work, `Strand` a part of the code that runs beside others.  An await that
must block yields one `Wait` to the trampoline (run.py); nothing else may be yielded.

A Wait counts what is pending: entering looks at every item once, each completion is O(1), so a fan-in
of n costs O(n).  An item knows its waits in the order in which they began: that is the order in which
they are woken.  Invariant: a wait that is over is in no item's list.

An event or update that came is *unseen* until an await returned it or `done` said so; a wait that is
given up unseen gives its event back (S16 of docs/internals/semantics.md).
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Generator, Generic, List, Optional, Sequence, TypeVar

from . import kinds
from .errors import Cancelled, Foreign, TaskFailed, failure_of

if TYPE_CHECKING:
    from .run import Run

T = TypeVar("T")
ANY, ALL, SETTLED = "any", "all", "settled"


class Waitable:
    """Has ended, or will."""

    __slots__ = ("_run", "_closed", "_ok", "_order", "_waits", "id")

    def __init__(self, run: "Run", id: int):
        self._run, self.id = run, id
        self._closed = self._ok = False
        self._order = 0
        self._waits: List["Wait"] = []

    def _end(self, ok: bool) -> None:
        """It has ended: whoever waits for it is looked at, the longest waiting first."""
        run = self._run
        run.order += 1
        self._closed, self._ok, self._order = True, ok, run.order
        waits, self._waits = self._waits, []
        for wait in waits:
            if wait.notice(self):
                run.wake(wait.strand)

    def _see(self) -> None:
        pass

    def _outcome(self) -> Any:
        raise NotImplementedError


class Handle(Waitable, Generic[T]):
    """A started piece of work.  `await` it for its result; a second await gives the same."""

    __slots__ = ("kind", "name", "instance", "abandon", "_text", "_attrs", "_to", "unseen", "owed")

    def __init__(self, run: Any, id: int, kind: str):
        super().__init__(run, id)
        self.kind, self.name, self.instance = kind, "", ""
        self.abandon = self.unseen = self.owed = False
        self._text = ""
        self._attrs: Any = None
        self._to: Optional[Callable[[Any], Any]] = None

    def __repr__(self) -> str:
        return "<%s #%d%s %s>" % (kinds.word_of(self.kind), self.id, " '%s'" % self.name if self.name else "",
                                  "open" if not self._closed else "done" if self._ok else "failed")

    def __await__(self) -> Generator["Wait", None, T]:
        if not self._closed or self._run.broken is not None or not self._run.active:
            yield from self._run.block(SETTLED, (self,))
        self._see()
        return self._outcome()

    @property
    def done(self) -> bool:
        """True when awaiting it would not wait."""
        self._run.check()
        self._see()
        return self._closed

    def result(self) -> T:
        """What an await gives, of one that has ended."""
        if not self.done:
            raise RuntimeError("%r has not ended: await it" % self)
        return self._outcome()

    def _see(self) -> None:
        if self.unseen:
            self.unseen = False
            self._run.unseen.remove(self)

    def _outcome(self) -> Any:
        if not self._ok:
            raise self._failure()
        if self.kind == kinds.TIMER:
            return None
        return self._run.codec.decode(self._text, self._to)

    def _failure(self) -> TaskFailed:
        attrs = self._attrs or {}
        return failure_of(self._text, attrs.get("kind", "failed"), attrs.get("attempts", 1),
                          self.kind == kinds.CHILD)

    def _close(self, ok: bool, text: str, attrs: Any = None) -> None:
        self._text, self._attrs = text, attrs
        self._run.inline.pop(self.id, None)
        self._end(ok)


class UpdateHandle(Handle[T]):
    """A wait for an update: await it for the request, then answer or reject it."""

    __slots__ = ()

    def answer(self, value: Any = None) -> None:
        """The client that asked gets this value."""
        self._run.answer(self, self._run.codec.encode(value), False, "ctx.answer")

    def reject(self, error: str) -> None:
        """The client that asked gets this error."""
        self._run.answer(self, error, True, "ctx.reject")


class Strand(Waitable, Generic[T]):
    """Code that runs beside other code of the same orchestration (ctx.spawn)."""

    __slots__ = ("coro", "shields", "wait", "value", "error")

    def __init__(self, run: "Run", coro: Any):
        super().__init__(run, 0)
        self.coro, self.shields = coro, 0
        self.wait: Optional["Wait"] = None
        self.value: Any = None
        self.error: Optional[BaseException] = None

    def __await__(self) -> Generator["Wait", None, T]:
        if not self._closed or self._run.broken is not None or not self._run.active:
            yield from self._run.block(SETTLED, (self,))
        return self._outcome()

    @property
    def done(self) -> bool:
        return self._closed

    def result(self) -> T:
        if not self._closed:
            raise RuntimeError("the strand has not ended: await it")
        return self._outcome()

    def _outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Wait:
    """One blocked await.  The trampoline gets it by yield, and resumes when it is ready."""

    __slots__ = ("mode", "items", "strand", "pending", "hit", "interrupted", "serial")

    def __init__(self, mode: str, items: Sequence[Waitable], strand: Strand[Any], serial: int):
        self.mode, self.items, self.strand, self.serial = mode, items, strand, serial
        self.pending = 0
        self.hit: Optional[Waitable] = None      # ANY: the first to end; ALL: the first to fail
        self.interrupted = False
        for item in items if len(items) == 1 else dict.fromkeys(items):
            if not item._closed:
                self.pending += 1
            elif mode == ANY or (mode == ALL and not item._ok):
                if self.hit is None or item._order < self.hit._order:
                    self.hit = item

    def __hash__(self) -> int:
        return id(self)

    @property
    def ready(self) -> bool:
        if self.mode == ANY:
            return self.hit is not None
        return self.pending == 0 or self.hit is not None

    def begin(self) -> None:
        for item in dict.fromkeys(self.items):
            if not item._closed:
                item._waits.append(self)

    def over(self) -> None:
        for item in dict.fromkeys(self.items):
            if not item._closed:
                item._waits.remove(self)

    def notice(self, item: Waitable) -> bool:
        """True: this made it ready."""
        if self.ready:
            return False
        self.pending -= 1
        if self.hit is None and (self.mode == ANY or (self.mode == ALL and not item._ok)):
            self.hit = item
        return self.ready

    def tell(self) -> None:
        """It returns: whatever it says has ended is seen now."""
        if self.mode == ANY:
            if self.hit is not None:
                self.hit._see()
        elif self.hit is None:
            for item in self.items:
                item._see()

    def describe(self) -> str:
        if len(self.items) == 1:
            item = self.items[0]
            return "waits for %s #%d" % (kinds.word_of(item.kind) if isinstance(item, Handle) else "a strand",
                                         item.id)
        return "waits for %s of %d tasks" % ("the first" if self.mode == ANY else "all", len(self.items))


def enter(run: "Run", mode: str, items: Sequence[Waitable]) -> Generator[Wait, None, Wait]:
    """Wait for items; the wait that is over.  Raises Cancelled where the rules say so."""
    run.check()
    for item in items:
        if not isinstance(item, Waitable) or item._run is not run:
            raise Foreign("waits for something that is no task of this orchestration: %.80r" % (item,))
    if not items and mode == ANY:
        raise Foreign("waits for the first of nothing")
    strand = run.current
    assert strand is not None
    run.waits += 1
    wait = Wait(mode, items, strand, run.waits)
    if not wait.ready:
        if run.cancelled and not strand.shields:
            raise Cancelled(run.reason)
        wait.begin()
        try:
            yield wait
        finally:
            wait.over()
        if wait.interrupted and not wait.ready:
            raise Cancelled(run.reason)
    wait.tell()
    return wait
