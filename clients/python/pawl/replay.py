# SPDX-License-Identifier: MIT
"""The cursor: a decision of the code becomes a member of the answer, or meets what is recorded.

Live, a decision is appended to the step.  Replaying, it must be the very next recorded event that is
no mark: same kind, task, name and payload; of a timer the delay, of a child instance and version.  A
decision too many is a *frontier* mismatch, a different one a *schedule* mismatch; one too few is found
by run.py (*await*, *leftover*, *returned*, *ending*).  The texts are those of src/engine/finding.c.

Invariants: `seq` is the number of the last event that was met or made; `live` is false while recorded
events are fed; after a mismatch or a bug `broken` is set and the code never decides again: every
further call raises Stop, and what is reported is what was found first.
"""
from __future__ import annotations

import threading
from typing import Any, Dict, List, Optional

from . import kinds, limits, sites
from .codec import same
from .errors import Foreign, Stop
from .kinds import Event

Decision = Dict[str, Any]


class Cursor:
    """Where the code is in its history."""

    def __init__(self) -> None:
        self.seq = 0
        self.live = False
        self.broken: Optional[Dict[str, Any]] = None   # the member of the answer: mismatch or bug
        self.active = False                            # the code is running
        self.thread = 0
        self.events: List[Event] = []
        self.cursor = 0
        self.step: List[Decision] = []
        self.patches: Dict[str, bool] = {}

    # ---- Recorded events ---------------------------------------------------------------

    def peek(self) -> Optional[Event]:
        """The next event that is no mark; marks before it are stepped over."""
        while self.cursor < len(self.events):
            event = self.events[self.cursor]
            if event["kind"] not in kinds.MARKS:
                return event
            self.meet()
        return None

    def meet(self) -> Event:
        event = self.events[self.cursor]
        self.seq = event["seq"]
        self.cursor += 1
        return event

    # ---- Deciding ----------------------------------------------------------------------

    def check(self) -> None:
        """Every call of the code passes here: only in its turn, on its thread."""
        if self.broken is not None:
            raise Stop()
        if not self.active or self.thread != threading.get_ident():
            error = Foreign("the context is used outside its turn: by another thread, by a callback, or "
                            "after the code awaited something that is not Pawl's")
            self.bug(error, sites.here())
            raise error

    def decide(self, kind: str, decision: Decision, name: str = "", data: str = "", api: str = "",
               **more: Any) -> Optional[Event]:
        """Live: append it to the step.  Replaying: the recorded event that it meets."""
        self.check()
        if self.live:
            self.step.append(decision)
            closes = "refused" in decision and kind in kinds.FAMILIES and kinds.FAMILIES[kind].refusal
            self.seq += 2 if closes else 1
            return None
        event = self.peek()
        what = attempted(kind, decision, name, api, more)
        if event is None or event["kind"] not in kinds.DECISIONS:
            self._frontier(event, what)
        assert event is not None
        why = difference(event, kind, decision.get("ref", 0), name, data, more)
        if why is not None:
            self.stop("schedule", event, "nondeterministic: schedule mismatch at event %d: recorded %s, the code now "
                      "calls %s: %s" % (event["seq"], kinds.describe(event), what, why), what)
            raise Stop()
        return self.meet()

    def _frontier(self, event: Optional[Event], what: str) -> None:
        recorded = kinds.describe(event) if event else "nothing: the recorded history waits here"
        self.stop("frontier", event, "nondeterministic: new schedules introduced at same decision frontier: after event "
                  "%d the code now calls %s, recorded is %s" % (self.seq, what, recorded), what)
        raise Stop()

    def patched(self, name: str) -> bool:
        """True for executions that reach this place for the first time with this code."""
        self.check()
        name = limits.cut(name, limits.NAME_BYTES)
        if name in self.patches:
            at = self.cursor
            if at < len(self.events) and self.events[at]["kind"] == kinds.PATCH and self.events[at].get("name", "") == name:
                self.meet()
            return self.patches[name]
        self.patches[name] = self.live
        if self.live:
            self.step.append({"do": "patch", "name": name})
            self.seq += 1
        return self.live

    # ---- Findings ----------------------------------------------------------------------

    def stop(self, code: str, event: Optional[Event], text: str, what: str = "", site: str = "") -> None:
        """The code does not fit the history."""
        if self.broken is None:
            found = {"code": code, "seq": event["seq"] if event else 0, "text": limits.cut(text, 399)}
            found["recorded"] = kinds.describe(event) if event else ""
            found["attempted"], found["site"] = what, site or sites.here()
            self.broken = {"mismatch": found}

    def bug(self, error: BaseException, site: str) -> None:
        """The code is wrong; that is nobody's failure."""
        if self.broken is None:
            text = "%s: %s" % (type(error).__name__, error)
            self.broken = {"bug": {"error": limits.cut(text, 399), "site": site, "trace": sites.trace(error)}}


def attempted(kind: str, decision: Decision, name: str, api: str, more: Dict[str, Any]) -> str:
    """The call as a finding names it: ctx.call activity 'Charge'"""
    if kind == kinds.TIMER:
        return "%s timer of %d ms" % (api, more.get("delay_ms", 0))
    if kind in kinds.CANCELS:
        return "%s cancels %s #%d" % (api, kinds.word_of(kind), decision["ref"])
    return "%s %s '%s'" % (api, kinds.word_of(kind), name) if name else api


def difference(event: Event, kind: str, ref: int, name: str, data: str, more: Dict[str, Any]) -> Optional[str]:
    """Why this is not the recorded decision; None: it is."""
    if event["kind"] != kind:
        return "another kind of call"
    if kind == kinds.STATUS:
        return None
    if event.get("ref", 0) != ref:
        return "recorded for task #%d" % event.get("ref", 0)
    if kind in kinds.CANCELS:
        return None
    if event.get("name", "") != name:
        return "another name"
    attrs = kinds.attrs_of(event)
    why = _answer_difference(attrs, more) if kind == kinds.ANSWERED else None
    if why is not None or attrs.get("refused") is not None or more.get("left"):
        return why
    if kind == kinds.STATE and bool(attrs.get("cleared")) != bool(more.get("cleared")):
        return "recorded is that it was %s" % ("set" if more.get("cleared") else "cleared")
    recorded = event.get("data", "")
    if not same(recorded, data):
        return ("input differs at byte %d (recorded %d bytes, now %d)"
                % (_first_difference(recorded, data), limits.size(recorded), limits.size(data)))
    if kind == kinds.TIMER and attrs.get("delay_ms", more["delay_ms"]) != more["delay_ms"]:
        return "recorded delay is %d ms" % attrs["delay_ms"]
    if "instance" in more:
        return _child_difference(attrs, more)
    return None


def _child_difference(attrs: Dict[str, Any], more: Dict[str, Any]) -> Optional[str]:
    for member in ("instance", "version"):
        recorded, now = attrs.get(member, ""), more.get(member) or ""
        if recorded != now:
            return "recorded %s is '%s', now '%s'" % (member, recorded, now)
    return None


def _answer_difference(attrs: Dict[str, Any], more: Dict[str, Any]) -> Optional[str]:
    if bool(attrs.get("left")) != bool(more.get("left")):
        return "recorded is that %s" % ("the code answered" if more.get("left") else "the end did")
    rejected = bool(attrs.get("rejected"))
    if rejected != bool(more.get("rejected")) and attrs.get("refused") is None:
        return "recorded is that it was %s" % ("rejected" if rejected else "answered")
    return None


def _first_difference(a: str, b: str) -> int:
    x, y = a.encode("utf-8", "surrogatepass"), b.encode("utf-8", "surrogatepass")
    return next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
