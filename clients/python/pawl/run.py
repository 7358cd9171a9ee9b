# SPDX-License-Identifier: MIT
"""One execution of one orchestration: the trampoline, and what messages do to it.

The walk of a message: message() or feed() -> apply() closes a task, starts or cancels the code -> the
strands it wakes run one after the other until all of them wait (*quiet*) -> their decisions are the
step.  Nothing but messages, and the order in which strands began to wait, decides what runs next: that
is what makes a replay possible.  There is no event loop; what a coroutine yields must be ours.

Invariants: a strand is in `ready`, or has a `wait`, or is `current`, or has ended; tasks are numbered
1, 2, 3 … as in the history; `order` numbers what has ended, in the order of the history.
"""
from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Deque, Dict, Generator, List, Mapping, Optional, Sequence

from . import draws, kinds, limits, sites
from .codec import Decoder, json_codec
from .errors import BUGS, ContinueAsNew, Foreign, Stop, failure_text
from .handles import ALL, ANY, SETTLED, Handle, Strand, Wait, Waitable, enter
from .kinds import Event
from .replay import Decision
from .tables import Tables

NO_LIMITS: Mapping[str, Any] = {}


class Code:
    """What a worker knows about an orchestration: name, version, the function and how to call it."""

    def __init__(self, name: str, version: str, function: Callable[..., Any], codec: Any = json_codec,
                 bugs: str = "block", to: Optional[Decoder] = None):
        self.name, self.version, self.function = name, version, function
        self.codec, self.bugs, self.to = codec, bugs, to
        self.author = function                 # what its author wrote: for lint and for sites


class Run(Tables):
    """See above.  Driven by turns.py; decided on by context.py."""

    def __init__(self, code: Code, turn: Mapping[str, Any], make_context: Callable[["Run"], Any],
                 given: Mapping[str, Any] = NO_LIMITS):
        super().__init__(code.codec, given)
        self.code = code
        self.id: str = turn.get("run", "")
        self.instance: str = turn["instance"]
        self.execution: int = turn["execution"]
        self.name: str = turn["orchestration"]
        self.version: str = turn["version"]
        self.context = make_context(self)
        self.message_seq = self.now = self.drawn = self.seed = self.waits = 0
        self.scheduled_at = 0
        self.strands: List[Strand[Any]] = []
        self.ready: Deque[Strand[Any]] = collections.deque()
        self.current: Optional[Strand[Any]] = None
        self.main: Optional[Strand[Any]] = None
        self.cancelled, self.reason = False, ""
        self.ended: Optional[str] = None

    # ---- Driving -----------------------------------------------------------------------

    def feed(self, events: Sequence[Event]) -> None:
        """Replay what is recorded, as far as it goes."""
        self.events, self.cursor, self.live = list(events), 0, False
        for event in self.events:
            if event["kind"] == kinds.PATCH:
                self.patches[event.get("name", "")] = True
            elif event["kind"] not in kinds.KNOWN:
                self._unknown(event["kind"])
        while self.broken is None and not self.ended:
            next_one = self.peek()
            if next_one is None:
                break
            self._replay(next_one)
        self.events, self.cursor = [], 0

    def _replay(self, event: Event) -> None:
        kind = event["kind"]
        if kind in kinds.MESSAGES or kind == kinds.STARTED:
            self.meet()
            self.apply(event, event["seq"])
        elif self._ends_by_force():
            self.seq = self.events[-1]["seq"]
            self.ended = self.events[-1]["kind"]
        else:
            blocked = self._blocked()
            wait = blocked[0].wait if blocked else None
            waits = wait.describe() if wait else "has not begun"
            site = sites.of_wait(wait.strand.coro) if wait else sites.UNKNOWN
            self.stop("await", event, "nondeterministic: await mismatch at event %d: recorded %s, but the code %s"
                      % (event["seq"], kinds.describe(event), waits), "await", site)

    def _unknown(self, kind: str) -> None:
        self.broken = self.broken or {"bug": {"error": "cannot: event kind %s needs a newer SDK" % kind}}

    def _ends_by_force(self) -> bool:
        """Are only withdrawals and a forced END left?"""
        last = self.events[-1]
        if last["kind"] not in kinds.ENDS or not kinds.attrs_of(last).get("forced"):
            return False
        return all(kinds.belongs_to_end(e["kind"]) or e["kind"] in kinds.MARKS for e in self.events[self.cursor:-1])

    def message(self, message: Event, state: Sequence[Event] = ()) -> Optional[List[Decision]]:
        """A live message: what the code decided on it, or None when it changes nothing."""
        kind = message["kind"]
        if kind in kinds.COMPLETES:
            task = self.task(message.get("ref", 0))
            if task is not None and task._closed:
                return None
        elif kind not in kinds.KNOWN:
            self._unknown(kind)
            return None
        self.live, self.step = True, []
        self.seq += 1
        at = self.seq
        for carried in state:
            self.state[carried["name"]] = carried.get("data", "")
            self.seq += 1
        self.apply(message, at)
        return self.step

    def apply(self, event: Event, seq: int) -> None:
        kind = event["kind"]
        self.message_seq, self.now, self.drawn = seq, event["at"], 0
        if kind == kinds.STARTED:
            self._start(event)
        elif kind == kinds.CANCEL_REQUESTED:
            self._cancel(event.get("data", ""))
        elif kind in kinds.COMPLETES and not self._complete(event, kind):
            return
        self.drain()

    def _start(self, event: Event) -> None:
        attrs = kinds.attrs_of(event)
        self.seed = draws.seed_of(attrs.get("seed"))
        self.scheduled_at = attrs.get("scheduled_at", 0)
        self.version, self.name = attrs.get("version", self.version), event.get("name", self.name)
        while not self.live and self.cursor < len(self.events) and self.events[self.cursor]["kind"] == kinds.CARRIED:
            carried = self.meet()
            self.state[carried["name"]] = carried.get("data", "")
        data = event.get("data", "")
        self.main = Strand(self, self._enter(data))
        self.strands.append(self.main)
        self.ready.append(self.main)

    async def _enter(self, data: str) -> Any:
        """The author's function; a payload that does not fit its annotation is its bug."""
        return await self.code.function(self.context, self.codec.decode(data, self.code.to))

    def _cancel(self, reason: str) -> None:
        if self.cancelled:
            return
        self.cancelled, self.reason = True, reason
        for strand in self._blocked():
            if not strand.shields and strand.wait is not None:
                strand.wait.interrupted = True
                self.wake(strand)

    def _complete(self, event: Event, kind: str) -> bool:
        """Close the task; False: there is nothing to run for."""
        ref, opens = event.get("ref", 0), kinds.COMPLETES[kind]
        task = self.task(ref)
        if task is None:
            self.stop("completion", event if "seq" in event else None, "nondeterministic: completion kind '%s' for "
                      "id=%d has no matching schedule in prior history" % (kinds.word_of(kind), ref), site=sites.UNKNOWN)
        elif task.kind != opens:
            self.stop("completion", event if "seq" in event else None, "nondeterministic: completion kind mismatch for "
                      "id=%d, expected '%s', got '%s'" % (ref, kinds.word_of(task.kind), kinds.word_of(kind)),
                      site=sites.UNKNOWN)
        elif not task._closed:
            if opens in (kinds.EXTERNAL, kinds.UPDATE):
                task.unseen, task.owed = True, opens == kinds.UPDATE
                self.unseen.append(task)
            task._close(kind != kinds.FAMILIES[opens].failed, event.get("data", ""), event.get("attrs"))
            return True
        return False

    # ---- Strands -----------------------------------------------------------------------

    def wake(self, strand: Strand[Any]) -> None:
        if strand not in self.ready:
            self.ready.append(strand)

    def _blocked(self) -> List[Strand[Any]]:
        """Those that wait, the longest waiting first."""
        return sorted((s for s in self.strands if s.wait is not None), key=lambda s: s.wait.serial if s.wait else 0)

    def block(self, mode: str, items: Sequence[Waitable]) -> Generator[Wait, None, Wait]:
        return enter(self, mode, items)

    def drain(self) -> None:
        """Run the code until it is quiet."""
        self.active, self.thread = True, threading.get_ident()
        try:
            while self.ready and self.broken is None:
                self._resume(self.ready.popleft())
        finally:
            self.active, self.current = False, None
        main = self.main
        if main is not None and main._closed and self.broken is None and not self.ended:
            self._finish(main)

    def _resume(self, strand: Strand[Any]) -> None:
        self.current, strand.wait = strand, None
        try:
            given = strand.coro.send(None)
        except StopIteration as over:
            strand.value = over.value
            return self._over(strand, True)
        except KeyboardInterrupt:
            raise
        except BaseException as error:         # whatever it is, Stop too: _over() knows
            strand.error = error
            return self._over(strand, False)
        if self.broken is not None:
            return
        if isinstance(given, Wait) and given.strand is strand:
            strand.wait = given
            return
        site = sites.of_wait(strand.coro)
        self.bug(Foreign("%s awaits something that is not Pawl's (%s)" % (site, type(given).__name__)), site)

    def _over(self, strand: Strand[Any], ok: bool) -> None:
        if self.broken is None:
            self.strands.remove(strand)
            strand._end(ok)

    def spawn(self, coro: Any) -> Strand[Any]:
        self.check()
        strand: Strand[Any] = Strand(self, coro)
        self.strands.append(strand)
        self.ready.append(strand)
        return strand

    # ---- What the code waits for -------------------------------------------------------

    def waiting(self) -> Dict[str, Any]:
        """The canonical `wait` of an answer: which completions can wake the code."""
        waits = [s.wait for s in self.strands if s.wait is not None]
        refs = sorted({t.id for w in waits for t in w.items if t.id and not t._closed})
        alone = len(waits) == 1 and len(refs) > 1 and all(isinstance(t, Handle) for t in waits[0].items)
        return {"for": waits[0].mode if alone and waits[0].mode in (ALL, SETTLED) else ANY, "refs": refs}

    def stuck(self) -> bool:
        """Does it wait for what can never come?  True only when it is quiet and has not ended."""
        return not any(t.id and not t._closed for s in self.strands if s.wait for t in s.wait.items)

    # ---- The end -----------------------------------------------------------------------

    def _finish(self, main: Strand[Any]) -> None:
        try:
            end = self._verdict(main.error, main.value)
        except TypeError as error:             # what it returns is no JSON
            return self.bug(error, sites.of_function(self.code.author))
        if end is None:
            return
        kind = kinds.END_KIND[end["end"]]
        said: str = end.get("output") or end.get("error") or end.get("input") or ""
        data = self.reason if self.cancelled else said
        self.active = True                     # what follows are decisions of the end
        try:
            if self.live:
                self._end_live(end, kind, data)
            else:
                self._end_recorded(kind, data)
        except Stop:
            pass
        finally:
            self.active = False

    def _verdict(self, error: Optional[BaseException], value: Any) -> Optional[Decision]:
        """What leaving the function means; None: it is a bug, and reported."""
        if self.cancelled:
            return {"end": "cancelled"}
        if isinstance(error, ContinueAsNew):
            end = {"end": "continue", "input": self.codec.encode(error.input)}
            return {**end, "version": error.version} if error.version else end
        if error is None:
            return {"end": "completed", "output": self.codec.encode(value)}
        if isinstance(error, BUGS) and self.code.bugs == "block":
            self.bug(error, sites.of_error(error))
            return None
        return {"end": "failed", "error": failure_text(error)}

    def _end_live(self, end: Decision, kind: str, data: str) -> None:
        refused = None if self.cancelled else self._end_refusal(end, data)
        if refused is not None:
            end = {"end": end["end"], "refused": refused}
        if kind == kinds.CONTINUED:
            for task in list(self.unseen):
                self.give_back(task, kinds.REASON[kind])
        self.step.append(end)
        self.ended = kind

    def _end_refusal(self, end: Decision, data: str) -> Optional[str]:
        what = {"continue": "input of continue as new", "failed": "error text"}.get(end["end"], "output")
        wrong = limits.version(end.get("version"))
        return "continue as new: " + wrong if wrong else limits.payload(what, data, self.limits)

    def _end_recorded(self, kind: str, data: str) -> None:
        self._check_leftover()
        if kind == kinds.CONTINUED:
            for task in list(self.unseen):
                self.give_back(task, "")
        for task in self.tasks:
            if task.owed:
                self._answer(task, "", True, "return", left=True)
        for task in self.tasks:
            if not task._closed and not task.abandon:
                self.decide(kinds.FAMILIES[task.kind].cancel, {"do": "cancel", "ref": task.id}, api="return")
        event = self._check_leftover()
        same = event["kind"] == kind and event.get("data", "") == data
        if not same and kinds.refusal_of(event) is None:
            recorded = event.get("data", "")
            self.stop("ending", event, "nondeterministic: ending mismatch at event %d: recorded %s (%d bytes), the code "
                      "now ends with %s (%d bytes)" % (event["seq"], kinds.describe(event), limits.size(recorded), kind,
                                                       limits.size(data)), "return", self._end_site())
            raise Stop()
        self.meet()
        self.ended = event["kind"]

    def _check_leftover(self) -> Event:
        """The code returned: only withdrawals and the END may follow."""
        event = self.peek()
        if event is None:
            self.stop("returned", None, "nondeterministic: the code returned where the recorded history waits, after "
                      "event %d" % self.seq, "return", self._end_site())
            raise Stop()
        if not kinds.belongs_to_end(event["kind"]) and event["kind"] not in kinds.ENDS:
            self.stop("leftover", event, "nondeterministic: history left over at return: event %d is %s, but the code "
                      "has returned" % (event["seq"], kinds.describe(event)), "return", self._end_site())
            raise Stop()
        return event

    def _end_site(self) -> str:
        error = self.main.error if self.main is not None else None
        return sites.of_error(error) if error is not None else sites.of_function(self.code.author)

    # ---- Draws and dropping ------------------------------------------------------------

    def warn(self, text: str) -> None:
        self.context.log.warning(text)

    def draw(self) -> int:
        self.check()
        self.drawn += 1
        return self.drawn

    def drop(self) -> None:
        """Forget the run: its code is closed and can decide nothing in its `finally` blocks."""
        if self.broken is None:
            self.broken = {}
        for strand in self.strands + ([self.main] if self.main else []):
            try:
                strand.coro.close()
            except BaseException:              # it waits again, or raises: nobody listens any more
                pass
