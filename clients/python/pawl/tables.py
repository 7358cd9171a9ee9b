# SPDX-License-Identifier: MIT
"""The tasks of an execution, and the decisions that need them.

Each call of the code that starts something takes the next task id and becomes one decision; on replay it
meets the recorded one (replay.py).  A call that breaks a limit is refused at the call: it takes its id,
and is closed, failed, with the sentence.  On replay the record says whether it was refused.  What only the
server knows (an id that is taken) `refuses` says: it is asked live, with the number of the call's event.

Invariants: tasks[i] has the id i + 1; `unseen` has the events and updates that came and that the code was
not told of, in the order in which they came; an update is `owed` from its acceptance until its answer.
Called by context.py and run.py.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from . import kinds, limits
from .handles import Handle, UpdateHandle
from .replay import Cursor, Decision

_REFUSED = {"kind": "refused", "attempts": 0}
_CANCELLED = {"kind": "cancelled", "attempts": 0}


class Tables(Cursor):
    """See above."""

    def __init__(self, codec: Any, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.codec, self.limits = codec, given
        self.order = 0
        self.tasks: List[Handle[Any]] = []
        self.unseen: List[Handle[Any]] = []
        self.state: Dict[str, str] = {}
        self.inline: Dict[int, Callable[[], Any]] = {}
        self.refuses: Callable[[int, Decision], Optional[str]] = lambda seq, decision: None   # the server's word

    def warn(self, text: str) -> None:
        """A line for the author; not while replaying."""

    def task(self, ref: int) -> Optional[Handle[Any]]:
        return self.tasks[ref - 1] if 1 <= ref <= len(self.tasks) else None

    def start(self, kind: str, members: Decision, api: str, refused: Optional[str] = None,
              **more: Any) -> Handle[Any]:
        """Open the next task: recorded, or as a decision of this step."""
        self.check()
        make = UpdateHandle if kind == kinds.UPDATE else Handle
        task: Handle[Any] = make(self, len(self.tasks) + 1, kind)
        family = kinds.FAMILIES[kind]
        decision = {"do": family.do, "ref": task.id, **members}
        name, data = limits.cut(decision.get("name", ""), limits.NAME_BYTES), decision.get("data", "")
        if refused is None and self.live:
            refused = self.refuses(self.seq + 1, decision)
        if refused is not None and self.live:
            decision = {"do": family.do, "ref": task.id, "refused": limits.cut(refused, limits.REFUSAL_BYTES)}
            if "name" in members:
                decision["name"] = name
        event = self.decide(kind, decision, name, data, api, **more)
        if event is not None:
            refused = kinds.refusal_of(event)
        task.name, task.abandon = name, bool(members.get("abandon"))
        self.tasks.append(task)
        if refused is not None and family.refusal:
            if event is not None and self.peek() is not None:
                self.meet()
            task._close(False, refused, _REFUSED)
        elif kind in kinds.SENT:
            task._close(refused is None, refused or "", _REFUSED)
        return task

    def plain(self, kind: str, decision: Decision, api: str, refused: Optional[str] = None,
              **more: Any) -> Optional[str]:
        """A decision without a task; the refusal, if it is refused."""
        self.check()
        name = limits.cut(decision.get("name", ""), limits.NAME_BYTES)
        data = more.pop("data", None) or decision.get("data", "")
        if refused is None and self.live:
            refused = self.refuses(self.seq + 1, decision)
        if refused is not None and self.live:
            decision = {k: v for k, v in decision.items() if k in ("do", "cleared")}
            decision["refused"] = limits.cut(refused, limits.REFUSAL_BYTES)
            if name:
                decision["name"] = name
        event = self.decide(kind, decision, name, data, api, **more)
        return refused if event is None else kinds.refusal_of(event)

    def withdraw(self, task: Handle[Any], reason: str, api: str) -> None:
        """Give up a task: its work is withdrawn; an event nobody saw goes back."""
        self.check()
        if not task._closed:
            self.decide(kinds.FAMILIES[task.kind].cancel, {"do": "cancel", "ref": task.id, "reason": reason}, api=api)
            task._close(False, "cancelled", _CANCELLED)
        elif task.unseen:
            self.give_back(task, reason)

    def give_back(self, task: Handle[Any], reason: str) -> None:
        kind = kinds.FAMILIES[task.kind].cancel
        decision = {"do": "cancel", "ref": task.id, "reason": reason}
        if not self.live and not task.owed:    # older histories say nothing here, and are believed
            event = self.peek()
            if event is None or event["kind"] != kind or event.get("ref") != task.id:
                task._see()
                return
        task._see()
        self.decide(kind, decision, api="the end of a wait")
        task.owed = task._ok = False
        task._text, task._attrs = "cancelled", _CANCELLED

    def answer(self, task: Handle[Any], data: str, rejected: bool, api: str) -> None:
        self.check()
        if not task.owed:
            return self.warn("%s of task %d is ignored: %s" % (api, task.id, _why_not_owed(task)))
        task._see()
        self._answer(task, data, rejected, api)

    def _answer(self, task: Handle[Any], data: str, rejected: bool, api: str, left: bool = False) -> None:
        decision: Decision = {"do": "answer", "ref": task.id, "data": data, **({"rejected": True} if rejected else {})}
        wrong = limits.payload("its answer", data, self.limits) or self.refuses(self.seq + 1, decision) if self.live else None
        if wrong is not None:
            decision = {"do": "answer", "ref": task.id, "refused": wrong}
        self.decide(kinds.ANSWERED, decision, task.name, data, api, rejected=rejected, left=left)
        task.owed = False


def _why_not_owed(task: Handle[Any]) -> str:
    return ("no update has come yet" if not task._closed else
            "its wait was given up" if not task._ok else "it was answered before")
