# SPDX-License-Identifier: MIT
"""The server's side of one execution, for tests: a history that only grows by the rules.

It is what src/engine does for code that runs in a worker: apply() records a message if it changes
anything, and says whether the code must be asked; decide() plays the code's answer; settle() hands out
mail.  Whatever an honest worker cannot send raises Lie, and nothing has changed.  Pure; used by testing.py.

Invariants: events are numbered 1, 2, 3 …; a message that asks is followed by its step before anything
else is recorded; `open` tasks are those that a completion may close.
"""
from __future__ import annotations

import copy
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import kinds
from .kinds import Event

_DO = {f.do: opens for opens, f in kinds.FAMILIES.items()}


class Lie(Exception):
    """An answer that the server refuses."""


class Mail:
    """A letter in the mailbox: an event, or an update with its id."""

    def __init__(self, id: int, kind: str, name: str, data: str, update: str = ""):
        self.id, self.kind, self.name, self.data, self.update = id, kind, name, data, update


class Slot:
    """A task, as the server knows it."""

    def __init__(self, ref: int, kind: str, name: str, **more: Any):
        self.ref, self.kind, self.name, self.more = ref, kind, name, more
        self.open, self.owed = True, False
        self.mail: Optional[Mail] = None


class Record:
    """One execution."""

    def __init__(self, instance: str, execution: int):
        self.instance, self.execution = instance, execution
        self.events: List[Event] = []
        self.slots: List[Slot] = []
        self.mail: List[Mail] = []
        self.state: Dict[str, str] = {}
        self.now = 0
        self.cancelled, self.reason, self.suspended = False, "", False
        self.end: Optional[Event] = None
        self.asked: Optional[Event] = None               # recorded, and not answered by the code
        self.wait: Optional[Dict[str, Any]] = None       # what the code said it waits for
        self.made: List[Tuple[str, Slot, Mapping[str, Any]]] = []   # what a step led to, for the world around

    @property
    def seq(self) -> int:
        return len(self.events)

    def copy(self) -> "Record":
        return copy.deepcopy(self)

    def append(self, kind: str, ref: int = 0, name: str = "", data: str = "",
               attrs: Optional[Mapping[str, Any]] = None) -> Event:
        event: Event = {"seq": self.seq + 1, "kind": kind, "at": self.now}
        event.update({k: v for k, v in (("ref", ref), ("name", name), ("data", data), ("attrs", dict(attrs or {}))) if v})
        self.events.append(event)
        return event

    # ---- Messages ----------------------------------------------------------------------

    def record(self, kind: str, now: int, **members: Any) -> Event:
        self.now = max(self.now, now)
        self.asked = self.append(kind, **members)
        return self.asked

    def apply(self, kind: str, now: int, ref: int = 0, name: str = "", data: str = "",
              attrs: Optional[Mapping[str, Any]] = None, mail: Optional[Mail] = None) -> bool:
        """True: it is recorded, or kept.  `asked` is set when the code must see it."""
        if mail is not None:
            return self._raised(mail, now)
        if self.end is not None:
            return False
        if kind == kinds.STARTED:
            self.record(kind, now, name=name, data=data, attrs=attrs)
            for key in sorted(self.state):
                self.append(kinds.CARRIED, name=key, data=self.state[key])
            return True
        if kind == kinds.CANCEL_REQUESTED:
            return self._cancel(now, data)
        if kind in (kinds.SUSPENDED, kinds.RESUMED):
            return self._suspend(kind, now, data)
        return self._complete(kind, now, ref, data, attrs)

    def _cancel(self, now: int, data: str) -> bool:
        if self.cancelled:
            return False
        self.record(kinds.CANCEL_REQUESTED, now, data=data)
        self.cancelled, self.reason = True, data
        return True

    def _suspend(self, kind: str, now: int, data: str) -> bool:
        if self.suspended == (kind == kinds.SUSPENDED):
            return False
        self.record(kind, now, data=data)
        self.asked, self.suspended = None, not self.suspended
        return True

    def _complete(self, kind: str, now: int, ref: int, data: str, attrs: Optional[Mapping[str, Any]]) -> bool:
        slot = self.slots[ref - 1] if 1 <= ref <= len(self.slots) else None
        if slot is None or slot.kind != kinds.COMPLETES[kind] or not slot.open:
            return False
        self.record(kind, now, ref=ref, data=data, attrs=attrs)
        slot.open = False
        if not self._wakes(ref, kind == kinds.FAMILIES[slot.kind].failed):
            self.asked = None
        return True

    def _wakes(self, ref: int, failed: bool) -> bool:
        """Would this satisfy what the code waits for?  Nothing said: ask."""
        wait = self.wait
        if wait is None:
            return True
        if ref not in wait["refs"]:
            return False
        wait["refs"] = [r for r in wait["refs"] if r != ref]
        return wait["for"] == "any" or (wait["for"] == "all" and failed) or not wait["refs"]

    def _raised(self, mail: Mail, now: int) -> bool:
        slot = self._waits_for(mail) if self.end is None else None
        if slot is not None and not any(m.kind == mail.kind and m.name == mail.name for m in self.mail):
            self._take(slot, mail, now)
        else:
            self.mail.append(mail)
        return True

    def _waits_for(self, mail: Mail) -> Optional[Slot]:
        return next((s for s in self.slots if s.open and s.kind == mail.kind and s.name == mail.name), None)

    def _take(self, slot: Slot, mail: Mail, now: int) -> None:
        update = slot.kind == kinds.UPDATE
        attrs = {"message": mail.id, **({"update": mail.update} if update else {})}
        self.record(kinds.FAMILIES[slot.kind].done, now, ref=slot.ref, name=mail.name, data=mail.data, attrs=attrs)
        slot.open, slot.mail, slot.owed = False, mail, update
        if not self._wakes(slot.ref, False):
            self.asked = None

    def settle(self, now: int) -> None:
        """Mail for open waits, the oldest wait first, until the code must be asked."""
        while self.asked is None and self.end is None:
            hit = next(((s, m) for s in self.slots if s.open and s.kind in (kinds.EXTERNAL, kinds.UPDATE)
                        for m in self.mail if m.kind == s.kind and m.name == s.name), None)
            if hit is None:
                return
            self.mail.remove(hit[1])
            self._take(hit[0], hit[1], now)

    # ---- Answers -----------------------------------------------------------------------

    def decide(self, step: Mapping[str, Any], clock: int) -> None:
        """The code's answer to the message it was asked about."""
        asked = self.asked
        if asked is None:
            raise Lie("step for a message that was not given")
        if step["seq"] != asked["seq"]:
            raise Lie("step says its message is event %d, it is %d" % (step["seq"], asked["seq"]))
        self.asked = self.wait = None
        for decision in step["decisions"]:
            if self.end is not None:
                raise Lie("decision after the end")
            if "end" in decision:
                self._end(decision)
            elif decision.get("do") in _DO:
                self._open(_DO[decision["do"]], decision, clock)
            else:
                self._plain(decision)

    def expect(self, wait: Optional[Mapping[str, Any]]) -> None:
        """What the code waits for, after its last step."""
        if self.end is not None:
            return
        if wait is None:
            raise Lie("neither end nor wait")
        open_ = {s.ref for s in self.slots if s.open}
        if not wait["refs"] or set(wait["refs"]) - open_:
            raise Lie("waits for %s" % ("nothing" if not wait["refs"] else "a task that is not open"))
        self.wait = {"for": wait["for"], "refs": list(wait["refs"])}

    def _open(self, kind: str, decision: Mapping[str, Any], clock: int) -> None:
        family, ref = kinds.FAMILIES[kind], decision["ref"]
        if ref != len(self.slots) + 1:
            raise Lie("ref is %s, the next is %d" % (ref, len(self.slots) + 1))
        slot = Slot(ref, kind, decision.get("name", ""), abandon=bool(decision.get("abandon")))
        self.slots.append(slot)
        if "refused" in decision:
            self.append(kind, ref, slot.name, attrs={"refused": decision["refused"]})
            if family.refusal:
                self.append(family.refusal, ref, data=decision["refused"])
            slot.open = False
            return
        attrs = {k: decision[k] for k in ("instance", "version", "abandon", "await_start", "inherit") if decision.get(k)}
        if kind == kinds.TIMER:
            attrs = {"delay_ms": decision["delay_ms"], "fire_at_ms": clock + decision["delay_ms"]}
        elif kind == kinds.ACTIVITY:
            attrs = dict(decision.get("opts") or {})
        self.append(kind, ref, slot.name, decision.get("data", ""), attrs)
        slot.open = kind not in kinds.SENT
        if decision.get("fresh"):
            self.mail = [m for m in self.mail if m.kind != kind or m.name != slot.name]
        self.made.append((kind, slot, {**decision, **attrs}))

    def _plain(self, decision: Mapping[str, Any]) -> None:
        do, refused = decision.get("do"), decision.get("refused")
        attrs: Dict[str, Any] = {"refused": refused} if refused is not None else {}
        name, data = decision.get("name", ""), "" if refused is not None else decision.get("data", "")
        if do == "cancel":
            self._withdraw(decision["ref"], decision["reason"])
        elif do == "status":
            self.append(kinds.STATUS, data="" if refused is not None else decision["text"], attrs=attrs)
        elif do == "patch":
            self.append(kinds.PATCH, name=name)
        elif do == "push":
            attrs.update({k: decision[k] for k in ("priority", "delay_ms") if k in decision})
            self.append(kinds.PUSHED, name=name, data=data, attrs=attrs)
            self._tell(kinds.PUSHED, decision)
        elif do == "state":
            self._state(name, data, bool(decision.get("cleared")), attrs)
        elif do == "attributes":
            text = json.dumps(decision["attributes"]) if refused is None else ""
            self.append(kinds.ATTRIBUTES, data=text, attrs=attrs)
            self._tell(kinds.ATTRIBUTES, decision)
        elif do == "answer":
            self._answer(decision, attrs)
        else:
            raise Lie("unknown decision %r" % (do,))

    def _tell(self, kind: str, decision: Mapping[str, Any]) -> None:
        if "refused" not in decision:
            self.made.append((kind, Slot(0, kind, decision.get("name", "")), decision))

    def _state(self, key: str, data: str, clear: bool, attrs: Dict[str, Any]) -> None:
        self.append(kinds.STATE, name=key, data=data, attrs={**attrs, **({"cleared": True} if clear else {})})
        if "refused" in attrs:
            return
        if clear:
            self.state.pop(key, None)
        else:
            self.state[key] = data

    def _answer(self, decision: Mapping[str, Any], attrs: Dict[str, Any], left: bool = False) -> None:
        slot = self.slots[decision["ref"] - 1] if 1 <= decision["ref"] <= len(self.slots) else None
        if slot is None or not slot.owed or slot.mail is None:
            raise Lie("answer to a task that owes none")
        rejected = bool(decision.get("rejected")) or "refused" in decision
        data = decision.get("refused", decision.get("data", ""))
        attrs = {"update": slot.mail.update, **({"rejected": True} if rejected else {}), **({"left": True} if left else {}), **attrs}
        self.append(kinds.ANSWERED, slot.ref, slot.name, data, attrs)
        slot.owed = False
        self.made.append((kinds.ANSWERED, slot, {"data": data, "rejected": rejected}))

    def _withdraw(self, ref: int, reason: str) -> None:
        slot = self.slots[ref - 1] if 1 <= ref <= len(self.slots) else None
        back = slot is not None and not slot.open and slot.mail is not None and (slot.kind == kinds.EXTERNAL or slot.owed)
        if slot is None or not (slot.open or back):
            raise Lie("cancel of a task that is not open")
        self.append(kinds.FAMILIES[slot.kind].cancel, ref, data=reason)
        if back and slot.mail is not None:
            at = next((i for i, m in enumerate(self.mail) if m.id > slot.mail.id), len(self.mail))
            self.mail.insert(at, slot.mail)
            slot.mail, slot.owed = None, False
        slot.open = False
        self.made.append((kinds.FAMILIES[slot.kind].cancel, slot, {"reason": reason}))

    def _end(self, decision: Mapping[str, Any]) -> None:
        kind = kinds.END_KIND.get(decision["end"])
        if kind is None or (kind == kinds.CANCELLED and not self.cancelled):
            raise Lie("nobody asked to cancel" if kind else "unknown end")
        data = decision.get("output", decision.get("error", decision.get("input", "")))
        attrs = {"version": decision["version"]} if decision.get("version") else {}
        if self.cancelled:
            kind, data, attrs = kinds.CANCELLED, self.reason, {}
        self._leave(kind)
        if decision.get("refused") and kind != kinds.CANCELLED:
            kind, data, attrs = kinds.FAILED, decision["refused"], {"refused": decision["refused"]}
        self.end = self.append(kind, data=data, attrs=attrs)

    def force(self, kind: str, reason: str, now: int) -> None:
        """End it from outside."""
        self.now = max(self.now, now)
        self._leave(kind)
        self.end = self.append(kind, data=reason, attrs={"forced": True})

    def _leave(self, kind: str) -> None:
        """What is still open is withdrawn, in the order of its numbers; owed answers are rejections."""
        for slot in self.slots:
            if slot.owed:
                self._answer({"ref": slot.ref, "data": kinds.REASON[kind], "rejected": True}, {}, left=True)
        for slot in self.slots:
            if slot.open and not slot.more.get("abandon"):
                self._withdraw(slot.ref, kinds.REASON[kind])
