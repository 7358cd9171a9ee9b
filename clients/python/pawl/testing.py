# SPDX-License-Identifier: MIT
"""Orchestrations in virtual time, without a server.

    from pawl.testing import World

    def test_order():
        world = World(worker)                     # its orchestrations and activities
        world.fake("Charge", {"receipt": 1})      # a value, a function, an exception, or a list of them
        world.start("Order", {"id": 1}, instance="o-1")
        world.raise_event("o-1", "Review", "ok")
        assert world.result("o-1") == "shipped"

Timers take no time: result() moves the clock to what is due next.  After every step the history is
replayed by a fresh run of the code, so code that does not repeat itself is found by any test that runs
it.  World(seed=…) throws dice: completions in another order, workers that die with a turn in hand, runs
dropped from memory; sim() does that for many seeds.
"""
from __future__ import annotations

import heapq
import itertools
import random
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import kinds
from .calls import Registration, milliseconds
from .codec import json_codec
from .errors import Rejected
from .fakes import NEVER, Call
from .record import Mail, Record
from .run import Code
from .turns import Driver, check
from .worker import Worker

BEGIN_MS = 1700000000000


class Failed(Exception):
    """The orchestration ended, and not well; `status` is failed, cancelled or terminated."""

    def __init__(self, status: str, text: str):
        super().__init__("%s: %s" % (status, text) if text else status)
        self.status, self.text = status, text


class Blocked(Exception):
    """The code is wrong, or does not fit its history; `finding` is what a worker would report."""

    def __init__(self, instance: str, finding: Mapping[str, Any]):
        self.finding = finding
        text = finding.get("text") or finding.get("error") or ""
        super().__init__("%s: %s (%s)%s" % (instance, text, finding.get("site", "?"),
                                            "\n" + finding["trace"] if "trace" in finding else ""))


class Waits(Exception):
    """It waits for something that only the test can do."""


class _Instance:
    def __init__(self, id: str, code: Code, parent: Optional[Tuple[str, int, int]] = None):
        self.id, self.code, self.parent = id, code, parent
        self.executions: List[Record] = [Record(id, 1)]
        self.letters: List[Dict[str, Any]] = []
        self.attributes: Dict[str, Any] = {}
        self.answers: Dict[str, Tuple[bool, str]] = {}    # update -> (rejected, text)
        self.blocked: Optional[Mapping[str, Any]] = None   # the finding

    @property
    def record(self) -> Record:
        return self.executions[-1]

    @property
    def run(self) -> str:
        return "%s.%d" % (self.id, self.record.execution)


class World:
    """A server, its workers and a clock, in one test."""

    def __init__(self, *workers: Worker, seed: Optional[int] = None, check: bool = True):
        self.now = BEGIN_MS
        self.queues: Dict[str, List[Any]] = {}
        self.calls: List[Tuple[str, Any]] = []            # activities and steps that ran, with their input
        self._check = check
        self._dice = None if seed is None else random.Random(seed)
        self._driver = Driver(capacity=1000000)
        self._driver.judge = self._refusal
        self._activities: Dict[str, Tuple[Callable[..., Any], Registration]] = {}
        self._fakes: Dict[str, Any] = {}
        self._instances: Dict[str, _Instance] = {}
        self._agenda: List[Tuple[int, int, Callable[[], None]]] = []
        self._ready: List[Callable[[], None]] = []
        self._serial = itertools.count(1)
        for worker in workers:
            self.add(worker)

    def add(self, worker: Worker) -> None:
        """What a worker serves."""
        for code in worker.runs.code.values():
            self._driver.add(code)
        for name, function in worker.activities.items():
            self._activities[name] = (function, worker._known[name])

    def orchestration(self, name: str, function: Callable[..., Any], version: str = "1.0.0") -> None:
        worker = Worker()
        worker.orchestration(name, version)(function)
        self.add(worker)

    def fake(self, name: str, outcome: Any) -> None:
        """What the activity or step `name` does here: a function of its input, a value, an exception, NEVER,
        or a list of these, one per attempt; the last one repeats."""
        self._fakes[name] = list(outcome) if isinstance(outcome, list) else [outcome]

    # ---- What a client does ------------------------------------------------------------

    def start(self, orchestration: str, input: Any = None, instance: Optional[str] = None,
              version: Optional[str] = None) -> str:
        id = instance or "i-%d" % next(self._serial)
        if id in self._instances:
            raise ValueError("instance %r exists already" % id)
        self._begin(id, orchestration, json_codec.encode(input), version)
        self._settle(id)
        return id

    def run(self, orchestration: str, input: Any = None, instance: Optional[str] = None) -> Any:
        """start(), then result()."""
        return self.result(self.start(orchestration, input, instance))

    def raise_event(self, instance: str, event: str, data: Any = None) -> None:
        self._mail(instance, Mail(next(self._serial), kinds.EXTERNAL, event, json_codec.encode(data)))
        self._settle(instance)

    def update(self, instance: str, name: str, data: Any = None) -> Any:
        """The code's answer; raises pawl.Rejected.  Waits when the code does not answer."""
        id = "u-%d" % next(self._serial)
        self._mail(instance, Mail(next(self._serial), kinds.UPDATE, name, json_codec.encode(data), id))
        self._settle(instance)
        answers = self._instances[instance].answers
        if id not in answers:
            raise Waits("the update %r is not answered" % name)
        rejected, text = answers[id]
        if rejected:
            raise Rejected(409, "rejected", text)
        return json_codec.decode(text)

    def cancel(self, instance: str, reason: str = "") -> None:
        self._letter(instance, kind=kinds.CANCEL_REQUESTED, data=reason)
        self._settle(instance)

    def retry(self, instance: str) -> None:
        """Try a blocked instance again, for instance with code that was registered anew."""
        it = self._instances[instance]
        it.blocked, it.code = None, self._code(it.code.name, it.code.version)
        self._driver.forget(it.run)
        self._settle(instance)

    def terminate(self, instance: str, reason: str = "") -> None:
        it = self._instances[instance]
        it.record.force(kinds.TERMINATED, reason, self.now)
        self._driver.forget(it.run)
        self._follow(it)
        self.settle()

    def skip(self, seconds: Any = 0, *, days: float = 0, hours: float = 0, minutes: float = 0) -> None:
        """Let time pass; everything that is due meanwhile happens in its order."""
        end = self.now + milliseconds(seconds) + round((days * 24 + hours) * 3600000 + minutes * 60000)
        self.settle()
        while self._agenda and self._agenda[0][0] <= end:
            self._next()
        self.now = max(self.now, end)

    def result(self, instance: str) -> Any:
        """Its output, once it has ended; time passes as it must.  Failed, Blocked or Waits otherwise."""
        self._settle(instance)
        it = self._instances[instance]
        while it.record.end is None:
            if not self._agenda:
                raise Waits("%s waits for %s" % (instance, ", ".join(self.waiting(instance)) or "nothing"))
            self._next()
            self._settle(instance)
        end = it.record.end
        if end["kind"] == kinds.COMPLETED:
            return json_codec.decode(end.get("data", ""))
        raise Failed(self.status(instance), end.get("data", ""))

    # ---- What a client sees ------------------------------------------------------------

    def status(self, instance: str) -> str:
        it = self._instances[instance]
        record = it.record
        if it.blocked is not None:
            return "blocked"
        words = {kinds.COMPLETED: "completed", kinds.FAILED: "failed", kinds.CANCELLED: "cancelled", kinds.TERMINATED: "terminated"}
        return "running" if record.end is None else words[record.end["kind"]]

    def history(self, instance: str, execution: int = 0) -> List[Dict[str, Any]]:
        return list(self._instances[instance].executions[execution - 1].events)

    def state(self, instance: str) -> Dict[str, Any]:
        return {k: json_codec.decode(v) for k, v in self._instances[instance].record.state.items()}

    def attributes(self, instance: str) -> Dict[str, Any]:
        return dict(self._instances[instance].attributes)

    def custom_status(self, instance: str) -> str:
        found = [e for e in self._instances[instance].record.events if e["kind"] == kinds.STATUS]
        return found[-1].get("data", "") if found else ""

    def waiting(self, instance: str) -> List[str]:
        """What it waits for: "event Review", "timer #2" …"""
        return ["%s %s" % ({"external": "event", "sub": "child"}.get(w, w), s.name or "#%d" % s.ref)
                for s in self._instances[instance].record.slots if s.open for w in (kinds.word_of(s.kind),)]

    # ---- The engine --------------------------------------------------------------------

    def settle(self) -> None:
        """Do everything that needs no time."""
        while True:
            ready = [i for i in self._instances.values()
                     if i.blocked is None and (i.letters and not i.record.suspended or i.record.asked)]
            if ready:
                self._turn(self._pick(ready))
            elif self._ready:
                self._ready.pop(self._dice.randrange(len(self._ready)) if self._dice else 0)()
            else:
                return

    def _settle(self, instance: str) -> None:
        self.settle()
        blocked = self._instances[instance].blocked
        if blocked is not None:
            raise Blocked(instance, blocked)

    def _pick(self, items: List[_Instance]) -> _Instance:
        return self._dice.choice(items) if self._dice else items[0]

    def _next(self) -> None:
        at, _, action = heapq.heappop(self._agenda)
        self.now = max(self.now, at)
        action()
        self.settle()

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (self.now + delay_ms, next(self._serial), action))

    def _begin(self, id: str, name: str, data: str, version: Optional[str] = None,
               parent: Optional[Tuple[str, int, int]] = None) -> None:
        code = self._code(name, version)
        self._instances[id] = _Instance(id, code, parent)
        self._letter(id, kind=kinds.STARTED, name=name, data=data, attrs=self._start_attrs(code))

    def _start_attrs(self, code: Code) -> Dict[str, Any]:
        return {"version": code.version, "seed": "%016x" % (0x9E3779B97F4A7C15 * next(self._serial) & (1 << 64) - 1)}

    def _code(self, name: str, version: Optional[str]) -> Code:
        fits = [c for c in self._driver.code.values() if c.name == name and version in (None, c.version)]
        if not fits:
            raise LookupError("no orchestration %r%s is registered in this World" % (name, " " + version if version else ""))
        return max(fits, key=lambda c: [int(p) for p in c.version.split("-")[0].split("+")[0].split(".")])

    def _letter(self, instance: str, **letter: Any) -> None:
        self._instances[instance].letters.append(letter)

    def _mail(self, instance: str, mail: Mail) -> None:
        if instance not in self._instances:
            raise LookupError("there is no instance %r" % instance)
        self._letter(instance, kind="mail", mail=mail)

    def _turn(self, it: _Instance) -> None:
        """One message, and the code's answer to it."""
        record = it.record
        if record.asked is None:
            letter = dict(it.letters.pop(0))
            record.apply(letter.pop("kind"), self.now, **letter)
            if record.asked is None:
                record.settle(self.now)
        if record.asked is not None:
            self._ask(it, record)
        if it.blocked is None:
            self._follow(it)

    def _ask(self, it: _Instance, record: Record) -> None:
        asked = record.asked
        assert asked is not None
        if self._dice and self._dice.random() < 0.1:      # dropped from memory, or the worker dies in the turn
            self._driver.forget(it.run)
            if self._dice.random() < 0.5:
                self._driver.drive(self._turn_of(it, record, asked))
                self._driver.forget(it.run)
        answer = self._driver.drive(self._turn_of(it, record, asked))
        finding = answer.get("mismatch") or answer.get("bug")
        if finding:
            it.blocked = finding
            return
        inline = dict(self._driver.runs[it.run].inline) if it.run in self._driver.runs else {}
        for step in answer["steps"]:
            record.decide(step, self.now)
        record.expect(answer.get("wait"))
        self._replay(it, record)
        record.settle(self.now)
        for kind, slot, decision in self._made(record):
            self._act(it, kind, slot, decision, inline)

    def _turn_of(self, it: _Instance, record: Record, asked: Mapping[str, Any]) -> Dict[str, Any]:
        known = self._driver.runs.get(it.run)
        after, last = known.seq if known else 0, asked["seq"] - 1
        message = {k: v for k, v in asked.items() if k != "seq"}
        state = [e for e in record.events if e["kind"] == kinds.CARRIED] if asked["kind"] == kinds.STARTED else []
        return {"token": "t", "run": it.run, "instance": it.id, "execution": record.execution, "orchestration": it.code.name,
                "version": it.code.version, "after": after, "events": record.events[after:last], "seq": last,
                "messages": [message], "carried": state}

    def _replay(self, it: _Instance, record: Record) -> None:
        """A fresh run of the code must meet this very history."""
        if not self._check:
            return
        found = check(it.code, {"instance": it.id, "execution": record.execution, "orchestration": it.code.name,
                                "version": it.code.version, "events": record.events})
        finding = found.get("mismatch") or found.get("bug")
        if finding:
            it.blocked = finding

    @staticmethod
    def _made(record: Record) -> Iterable[Any]:
        made, record.made = record.made, []
        return made

    # ---- What follows from a step ------------------------------------------------------

    def _act(self, it: _Instance, kind: str, slot: Any, decision: Mapping[str, Any], inline: Mapping[int, Any]) -> None:
        execution, ref = it.record.execution, slot.ref
        if kind == kinds.ACTIVITY:
            call = Call(self, it, execution, slot, decision, inline.get(ref))
            self._ready.append(call.attempt)
        elif kind == kinds.TIMER:
            self._later(decision["delay_ms"], lambda: self._complete(it, execution, ref, "TimerFired", ""))
        elif kind in (kinds.CHILD, kinds.DETACHED):
            self._start_child(it, kind, execution, slot, decision)
        elif kind == kinds.SENT_EVENT and decision["instance"] in self._instances:
            self._mail(decision["instance"], Mail(next(self._serial), kinds.EXTERNAL, slot.name, decision.get("data", "")))
        elif kind == kinds.PUSHED:
            self.queues.setdefault(slot.name, []).append(json_codec.decode(decision.get("data", "")))
        elif kind == kinds.ATTRIBUTES:
            it.attributes = {k: v for k, v in {**it.attributes, **decision["attributes"]}.items() if v is not None}
        elif kind == kinds.ANSWERED and slot.mail is not None:
            it.answers[slot.mail.update] = (decision["rejected"], decision["data"])
        elif kind == kinds.FAMILIES[kinds.CHILD].cancel:
            child = slot.more.get("instance")
            if child in self._instances:
                self._letter(child, kind=kinds.CANCEL_REQUESTED, data=decision["reason"])

    def _refusal(self, run: Any, decision: Mapping[str, Any]) -> Optional[str]:
        """Why a server refuses this call, and no worker can know it."""
        id = decision.get("instance")
        if decision["do"] != "detach":
            return None
        before = any(d.get("do") == "detach" and d.get("instance") == id for d in run.step)
        return "instance '%s' exists already" % id if before or id in self._instances else None

    def _start_child(self, it: _Instance, kind: str, execution: int, slot: Any, decision: Mapping[str, Any]) -> None:
        id = decision["instance"]
        slot.more["instance"] = id
        if id not in self._instances:
            self._begin(id, slot.name, decision.get("data", ""), decision.get("version"),
                        (it.id, execution, slot.ref) if kind == kinds.CHILD else None)
        elif kind == kinds.CHILD:
            self._complete(it, execution, slot.ref, "SubOrchestrationFailed", "instance '%s' exists already" % id)

    def _complete(self, it: _Instance, execution: int, ref: int, kind: str, data: str,
                  attrs: Optional[Dict[str, Any]] = None) -> None:
        if it.record.execution == execution:
            self._letter(it.id, kind=kind, ref=ref, data=data, attrs=attrs or {})

    def _follow(self, it: _Instance) -> None:
        """After an end: the next execution, or the parent hears of it."""
        record = it.record
        for kind, slot, decision in self._made(record):   # of an end from outside
            self._act(it, kind, slot, decision, {})
        end = record.end
        if end is None:
            return
        if end["kind"] == kinds.CONTINUED:
            it.code = self._code(it.code.name, kinds.attrs_of(end).get("version"))
            following = Record(it.id, record.execution + 1)
            following.mail, following.state = record.mail, dict(record.state)
            it.executions.append(following)
            it.letters.insert(0, {"kind": kinds.STARTED, "name": it.code.name, "data": end.get("data", ""),
                                  "attrs": self._start_attrs(it.code)})
        elif it.parent is not None:
            parent, it.parent = it.parent, None
            done = end["kind"] == kinds.COMPLETED
            kind = "SubOrchestrationCompleted" if done else "SubOrchestrationFailed"
            cancelled = {"kind": "cancelled"} if end["kind"] == kinds.CANCELLED else {}
            self._complete(self._instances[parent[0]], parent[1], parent[2], kind, end.get("data", ""), cancelled)


def sim(scenario: Callable[[World], Any], *workers: Worker, seeds: Union[int, Iterable[int]] = 100) -> None:
    """Play a scenario with many seeds of dice; the first seed that raises is named."""
    for seed in range(seeds) if isinstance(seeds, int) else seeds:
        try:
            scenario(World(*workers, seed=seed))
        except Exception as error:
            raise AssertionError("seed %d: %s: %s" % (seed, type(error).__name__, error)) from error


__all__ = ["World", "Failed", "Blocked", "Waits", "NEVER", "sim"]
