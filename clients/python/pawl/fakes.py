# SPDX-License-Identifier: MIT
"""Activities of a World (testing.py): fakes, attempts, back-off and time-outs in virtual time.

A call runs its function, or what stands for it, when its turn comes.  A failure is tried again after its
back-off, as the options of the call say; NEVER gives no answer, so that time-outs can be tried.
"""
from __future__ import annotations

from typing import Any, Dict, Mapping

from .calls import register
from .codec import json_codec
from .leases import Task, perform
from .worker import call_activity

NEVER = type("Never", (), {"__repr__": lambda _: "NEVER"})()   # as a fake: the activity gives no answer


class Call:
    """One call of an activity, with its attempts."""

    def __init__(self, world: Any, it: Any, execution: int, slot: Any, decision: Mapping[str, Any], inline: Any):
        self.world, self.it, self.execution, self.slot, self.inline = world, it, execution, slot, inline
        self.options, self.data = decision.get("opts") or {}, decision.get("data", "")
        self.attempts = 0

    def attempt(self) -> None:
        if not self.slot.open or self.it.record.execution != self.execution:
            return
        self.attempts += 1
        task = Task({"token": "t", "instance": self.it.id, "execution": self.execution, "id": self.slot.ref,
                     "activity": self.slot.name, "input": json_codec.decode(self.data), "attempt": self.attempts,
                     "key": "%s:%d:%d" % (self.it.id, self.execution, self.slot.ref)})
        self.world.calls.append((task.activity, task.input))
        verb, given = perform(task, lambda: self._outcome(task))
        if verb == "fail":
            self._failed(given["error"], given["retryable"])
        elif given is NEVER:
            self._silent()
        else:
            self._over("ActivityCompleted", json_codec.encode(given), {})

    def _outcome(self, task: Task) -> Any:
        fakes = self.world._fakes.get(task.activity)
        if fakes is not None:
            fake = fakes[min(task.attempt, len(fakes)) - 1]
            if isinstance(fake, BaseException) or isinstance(fake, type) and issubclass(fake, BaseException):
                raise fake
            known = register(fake, "activity", task.activity) if callable(fake) else None
            return call_activity(fake, known, task) if known is not None else fake
        if self.inline is not None:
            return self.inline()
        if task.activity not in self.world._activities:
            raise LookupError("no activity %r is registered or faked in this World" % task.activity)
        function, known = self.world._activities[task.activity]
        return call_activity(function, known, task)

    def _silent(self) -> None:
        """It gives no answer: a time-out of the call says when that is over."""
        for kind in ("heartbeat", "start_to_close", "schedule_to_close"):
            limit = self.options.get(kind + "_ms")
            if limit:
                text = "timeout: %s after %d ms" % (kind, limit)
                self.world._later(limit, lambda: self._failed(text, kind != "schedule_to_close", kind))
                return

    def _failed(self, text: str, retryable: bool, kind: str = "failed") -> None:
        final = any(text.startswith(prefix) for prefix in self.options.get("final_errors", ()))
        if retryable and not final and self.attempts < self.options.get("attempts", 1):
            self.world._later(self._delay(), self.attempt)
            return
        self._over("ActivityFailed", text, {"kind": kind} if kind != "failed" else {})

    def _delay(self) -> int:
        initial, cap = self.options.get("initial_ms", 1000), self.options.get("cap_ms", 60000)
        word, n = self.options.get("backoff", "exponential"), self.attempts
        factor = self.options.get("factor", 2) ** (n - 1) if word == "exponential" else n if word == "linear" else 1
        return int(min(cap, initial * factor))

    def _over(self, kind: str, data: str, attrs: Dict[str, Any]) -> None:
        if self.attempts != 1:
            attrs["attempts"] = self.attempts
        self.world._complete(self.it, self.execution, self.slot.ref, kind, data, attrs)
