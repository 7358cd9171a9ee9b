# SPDX-License-Identifier: MIT
"""Turns into answers: the runs a worker has in memory, and how a turn drives one of them.

The walk: a turn has recorded events, then messages -> the run is found in the cache, or built by replay
-> each message is applied when the code is quiet, one after the other -> the steps, and what the code
waits for, are the answer.  Results of inline steps are messages too, which this worker makes itself.

Invariants: a cached run is a confirmed prefix of its history plus at most the one answer that is under
way; whoever does not get `ok` for an answer drops the run (forget).  Pure but for the cache: no thread,
no clock, no network.  Used by the turn loop, by testing and by `pawl check`.
"""
from __future__ import annotations

import base64
import collections
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .context import Context
from .errors import Foreign
from .kinds import Event
from .run import Code, Run

Answer = Dict[str, Any]
Turn = Mapping[str, Any]


class Missing(Exception):
    """The turn does not begin at the beginning, and the run is not here: its history must be fetched."""


class Driver:
    """The runs of one worker."""

    def __init__(self, code: Sequence[Code] = (), capacity: int = 1000):
        self.code: Dict[Tuple[str, str], Code] = {(c.name, c.version): c for c in code}
        self.runs: "collections.OrderedDict[str, Run]" = collections.OrderedDict()
        self.capacity = capacity
        self.limits: Mapping[str, Any] = {}
        self.judge: Optional[Callable[[Run, Dict[str, Any]], Optional[str]]] = None   # a world's: what a server knows

    def add(self, code: Code) -> None:
        self.code[code.name, code.version] = code

    # ---- The cache ---------------------------------------------------------------------

    def knows(self, turn: Turn) -> bool:
        run = self.runs.get(turn["run"])
        return run is not None and turn["after"] <= run.seq <= turn["seq"]

    def forget(self, run_id: str) -> None:
        run = self.runs.pop(run_id, None)
        if run is not None:
            run.drop()

    def forget_all(self) -> None:
        for run_id in list(self.runs):
            self.forget(run_id)

    def shrink(self, busy: Callable[[str], bool] = lambda _: False) -> List[str]:
        """Drop the runs that were not used for the longest time; their names, for `forget`."""
        gone: List[str] = []
        for run_id in list(self.runs):
            if len(self.runs) - len(gone) <= self.capacity:
                break
            if not busy(run_id):
                gone.append(run_id)
        for run_id in gone:
            self.forget(run_id)
        return gone

    # ---- One turn ----------------------------------------------------------------------

    def drive(self, turn: Turn, refusals: Optional[Mapping[int, str]] = None) -> Answer:
        """The answer to a turn.  Raises Missing when its history must be fetched first.

        `refusals`: calls of an earlier answer to this turn that the server refused, by the number of their event."""
        run = self._run_of(turn)
        run.refuses = self._refuses(run, refusals or {})
        run.feed([_text(e) for e in turn["events"] if e["seq"] > run.seq])
        steps: List[Dict[str, Any]] = []
        state = turn.get("carried") or ()
        for number, message in enumerate(turn["messages"], 1):
            if run.broken is not None or run.ended:
                break
            before = run.seq
            decisions = run.message(_text(message), [_text(s) for s in state] if number == 1 else ())
            if decisions is not None:
                steps.append({"m": number, "seq": before + 1, "decisions": decisions})
        run.refuses = self._refuses(run, {})
        return self._answer(run, turn["token"], steps)

    def _refuses(self, run: Run, refusals: Mapping[int, str]) -> Callable[[int, Dict[str, Any]], Optional[str]]:
        return lambda seq, decision: refusals.get(seq) or (self.judge(run, decision) if self.judge else None)

    def result(self, run_id: str, token: str, lease: str, ref: int, data: str, at: int,
               answer: Optional[Answer] = None) -> Optional[Answer]:
        """The result of an inline step: as an answer of its own, or behind the steps of `answer`.

        None: nobody waits for it any more, or the run is not here: hand it in as work."""
        run = self.runs.get(run_id)
        if run is None or run.ended or run.broken is not None:
            return None
        task = run.task(ref)
        if task is None or task._closed:
            return None
        steps = answer["steps"] if answer is not None else []
        before, at = run.seq, max(run.now, at)
        decisions = run.message({"kind": "ActivityCompleted", "ref": ref, "data": data, "at": at})
        if decisions is not None:
            steps.append({"result": {"lease": lease, "data": data, "at": at}, "seq": before + 1, "decisions": decisions})
        return self._answer(run, token, steps)

    def _run_of(self, turn: Turn) -> Run:
        if self.knows(turn):
            run = self.runs[turn["run"]]
            run.limits = self.limits
            self.runs.move_to_end(turn["run"])
            return run
        self.forget(turn["run"])
        if turn["after"] != 0:
            raise Missing(turn["run"])
        run = Run(self._code_of(turn), turn, Context, self.limits)
        self.runs[turn["run"]] = run
        return run

    def _code_of(self, turn: Turn) -> Code:
        code = self.code.get((turn["orchestration"], turn["version"]))
        if code is None:
            raise Foreign("this worker has no %s %s" % (turn["orchestration"], turn["version"]))
        return code

    def _answer(self, run: Run, token: str, steps: List[Dict[str, Any]]) -> Answer:
        if run.broken is None and not run.ended and run.stuck():
            run.bug(Foreign("it waits for nothing that can come"), _waits_at(run))
        if run.broken is not None:
            self.forget(run.id)
            return {"token": token, **run.broken}
        if run.ended:
            self.forget(run.id)
            return {"token": token, "steps": steps}
        return {"token": token, "steps": steps, "wait": run.waiting()}


def _waits_at(run: Run) -> str:
    from .sites import UNKNOWN, of_wait
    return next((of_wait(s.coro) for s in run.strands if s.wait is not None), UNKNOWN)


def _text(event: Event) -> Event:
    """An event whose data is text: bytes that are no UTF-8 come as base64, and are read as Latin-1."""
    if "data64" not in event:
        return event
    return {**event, "data": base64.b64decode(event["data64"]).decode("latin-1")}


def check(code: Code, turn: Turn) -> Dict[str, Any]:
    """Replay a history against code: {"ended", "seq"}, or the finding."""
    run = Run(code, turn, Context)
    run.feed([_text(e) for e in turn["events"]])
    broken = run.broken
    found = dict(broken) if broken is not None else {"ended": run.ended, "seq": run.seq}
    run.drop()
    return found
