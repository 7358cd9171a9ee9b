# SPDX-License-Identifier: MIT
"""The turn loop: one call to the server carries answers out and turns in.

The *poller* has the long poll and does nothing but put what comes into the inbox.  The *driver* owns the
runs: it drives turns, takes results of inline steps, and makes answers.  The *senders* make the calls with
answers, which never wait and bring the turns that follow from them.  While all senders are busy answers
pile up and go out together: that is how a busy worker makes one request of a hundred answers.  Inline
steps run in a pool.

Invariants: only the driver touches runs, tokens and answers.  For each run at most one answer is *flying*
(sent, and its fate unknown); what comes for the run meanwhile is held until it is known.  A run whose
answer did not come back `ok` is dropped, with its tokens, and the results in that answer are handed in as
ordinary work: nothing is lost, and nothing is decided twice.  When `boot` changes, another process
answers: every run is dropped.
"""
from __future__ import annotations

import queue
import secrets
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .codec import json_codec
from .errors import Conflict, Error, passes
from .flights import Call, Inline, Watch
from .leases import Leases, Task, perform, say
from .pool import Pool
from .turns import Answer, Driver, Missing
from .wire import Trouble, Wire

PROTOCOL = 1
MOST = 100                 # answers, and turns, of one call
WAIT_MS = 30000
BACKLOG = 200              # turns that wait for the driver: more are not asked for
SENDERS = 2                # while one waits for its commit, the driver fills the other


class TurnLoop:
    """See above."""

    def __init__(self, client: Wire, driver: Driver, name: str, pool: Pool, leases: Leases,
                 on_error: Callable[[BaseException], None], polls: Optional[Wire] = None):
        self.client, self.runs, self.name, self.pool, self.leases = client, driver, name, pool, leases
        self.polls = polls or Wire(client.url, client.token)   # the long poll's connection can be broken
        self.session = secrets.token_urlsafe(18)
        self.inbox: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self.on_error = on_error
        self.leaving = threading.Event()
        self.over = threading.Event()
        self.boot = ""
        self.turn_ms = 10000
        self.clock: Tuple[int, float] = (0, 0.0)           # the server's now, and ours when it said so
        self.idle: Dict[str, str] = {}                     # run -> token of its last commit
        self.given: Dict[str, Tuple[Dict[str, Any], Dict[int, str]]] = {}   # run -> its turn, and the calls refused in it
        self.answers: Dict[str, Answer] = {}               # run -> what was not sent yet
        self.sent: Dict[str, List[Inline]] = {}            # run -> results inside that answer
        self.flying: Dict[str, Call] = {}                  # run -> the call that has its answer
        self.held: Dict[str, List[Any]] = {}               # run -> turns and results that wait for its fate
        self.outbox: "queue.SimpleQueue[Optional[Call]]" = queue.SimpleQueue()
        self.free = SENDERS
        self.alone: Set[str] = set()                       # runs whose answer goes in a call of its own
        self.forgets: List[str] = []
        self.in_hand: Dict[str, float] = {}                # token -> since when
        self.watch = Watch()
        self.inlines: Set[Inline] = set()
        self.told = False
        self.threads = [threading.Thread(target=self._guard, args=(work,), name="pawl-" + title, daemon=True)
                        for title, work in (("turns", self._drive), ("poll", self._poll), ("beats", self._beat),
                                            *[("send", self._sender)] * SENDERS)]

    # ---- Life --------------------------------------------------------------------------

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self, grace: float) -> None:
        """No new turns; what runs may finish within the grace, and what does not is given back."""
        end = time.monotonic() + grace
        self.leaving.set()
        try:
            self.client.request("POST", "/api/v1/turns", self._body(leaving=True, max=0), timeout=5.0)
        except (Error, *Trouble):
            pass                                           # it will notice by itself
        while self.threads[1].is_alive() and time.monotonic() < end:
            self.polls.interrupt()
            self.threads[1].join(0.05)
        while (self.inlines or self.in_hand or self.answers or self.flying) and time.monotonic() < end and not self.over.is_set():
            time.sleep(0.01)
        self.over.set()
        self.inbox.put(None)
        for _ in range(SENDERS):
            self.outbox.put(None)
        self.threads[0].join(max(1.0, end - time.monotonic()))

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            if not self.over.is_set():
                self.over.set()
                self.on_error(error)

    # ---- The call ----------------------------------------------------------------------

    def _body(self, **members: Any) -> Dict[str, Any]:
        return {"protocol": PROTOCOL, "session": self.session, "worker": self.name, **members}

    def _post(self, timeout: float = 75.0, wire: Optional[Wire] = None, **members: Any) -> Dict[str, Any]:
        """One call.  A server that does not know us is told what we can run."""
        wire = wire or self.client
        try:
            return wire.request("POST", "/api/v1/turns", self._body(**members), timeout=timeout)[1]
        except Conflict as error:
            if error.code != "unknown_session":
                raise
        code = [{"name": name, "version": version} for name, version in sorted(self.runs.code)]
        told = self._body(code=code, lease_ms=self.leases.lock_ms, **members)
        return wire.request("POST", "/api/v1/turns", told, timeout=timeout)[1]

    def _poll(self) -> None:
        while not self.leaving.is_set():
            if len(self.in_hand) > BACKLOG:
                self.leaving.wait(0.01)
                continue
            try:
                response = self._post(wire=self.polls, max=MOST, wait_ms=WAIT_MS)
            except (Error, *Trouble) as error:
                if self.leaving.is_set():
                    return
                if isinstance(error, Error) and not passes(error):
                    raise
                self._away(error)
                continue
            self.told = False
            if response["turns"] or response["boot"] != self.boot or response.get("code"):
                for turn in response["turns"]:
                    self.in_hand[turn["token"]] = time.monotonic()
                self.inbox.put(response)

    def _away(self, error: Exception) -> None:
        if not self.told:                                  # once, until it has answered again
            say("%s does not answer (%s); trying again" % (self.client.url, error))
        self.told = True
        self.leaving.wait(0.5)

    def _beat(self) -> None:
        """The driver may be long with a turn: its lease is renewed."""
        while not self.over.wait(self.turn_ms / 3000):
            late = self.watch.late(self.in_hand, self.turn_ms)[:MOST]
            if late:
                try:
                    self._post(timeout=5.0, beats=late, max=0)
                except (Error, *Trouble):
                    pass                                   # the next one comes before the lease ends

    # ---- The driver --------------------------------------------------------------------

    def _drive(self) -> None:
        while not self.over.is_set():
            if not self.answers or not self.free:
                self._accept(self.inbox.get())
            while not self.inbox.empty():
                self._accept(self.inbox.get())
            while self.answers and self.free:
                self._send()

    def _accept(self, item: Any) -> None:
        if isinstance(item, Inline):
            self._finished(item)
        elif isinstance(item, Call):
            self._called(item)
        elif item is not None:
            self._response(item)

    def _send(self) -> None:
        first = next(iter(self.answers))
        some = [first] if first in self.alone else [run for run in self.answers if run not in self.alone][:MOST]
        batch = {run: self.answers[run] for run in some}
        sent = {run: self.sent.pop(run) for run in batch if run in self.sent}
        forgets, self.forgets = self.forgets[:1000], self.forgets[1000:]
        call = Call(batch, sent, forgets, 0 if self.leaving.is_set() else MOST)
        for run in batch:
            del self.answers[run]
            self.flying[run] = call
        self.free -= 1
        self.outbox.put(call)

    def _sender(self) -> None:
        """A thread's work: one call after the other."""
        while True:
            call = self.outbox.get()
            if call is None:
                return
            call.make(self._post)
            self.inbox.put(call)

    def _called(self, call: Call) -> None:
        """The fate of answers: whatever waited for it goes on."""
        self.free += 1
        for run, answer in call.batch.items():
            del self.flying[run]
            self.alone.discard(run)
            self.in_hand.pop(answer["token"], None)
        if call.error is None:
            self.told = False
            self._response(call.response, call)
        elif call.is_unsendable():
            self._apart(call, call.error)
        else:                                              # nobody knows what became of them
            for run in call.batch:
                self._drop(run, call.sent.get(run, []))
            if isinstance(call.error, Error) and not passes(call.error):
                raise call.error
            self._away(call.error)
        for run in call.batch:
            for item in self.held.pop(run, ()):
                self._finished(item) if isinstance(item, Inline) else self._turn(item)

    def _apart(self, call: Call, error: Exception) -> None:
        """One of them cannot be sent, and nothing was done: each goes alone, and the bad one is a bug."""
        for run, answer in call.batch.items():
            self.in_hand[answer["token"]] = time.monotonic()
            if len(call.batch) > 1:
                self.answers[run] = answer
                self.sent.update({run: call.sent[run]} if run in call.sent else {})
                self.alone.add(run)
                continue
            if "bug" in answer:
                raise error
            say("%s: its answer cannot be sent (%s)" % (run, error))
            self._drop(run, call.sent.get(run, []))
            self.answers[run] = {"token": answer["token"], "bug": {"error": "the answer cannot be sent: %.300s" % error}}

    def _response(self, response: Dict[str, Any], call: Optional[Call] = None) -> None:
        if response["boot"] != self.boot:
            self._new_boot(response["boot"])
        self.clock = (response["now"], time.monotonic())
        self.runs.limits = response["limits"]
        self.turn_ms = response["limits"].get("turn_ms", self.turn_ms)
        for code in response.get("code", ()):
            say("%s %s: the server has code of its own under this name and version, and uses that" % (code["name"], code["version"]))
        for answered in response.get("answered", ()):
            run = call.tokens.get(answered["token"]) if call is not None else None
            if call is not None and run is not None:
                self._answered(run, answered, call.batch[run], call.sent.get(run, []))
        for turn in response.get("turns", ()):
            self.in_hand[turn["token"]] = time.monotonic()
        for turn in response.get("turns", ()):
            self._turn(turn)
        self.forgets += self.runs.shrink(lambda run: run in self.answers or run in self.flying or bool(self.runs.runs[run].inline))

    def _new_boot(self, boot: str) -> None:
        """Another process, perhaps with another history under the same numbers."""
        if self.boot:
            for run in list(self.answers):
                self._drop(run, self.sent.pop(run, []))
            self.answers.clear()
            self.given.clear()
            self.idle.clear()
            self.runs.forget_all()
        self.boot = boot

    def _answered(self, run: str, answered: Dict[str, Any], answer: Answer, results: List[Inline]) -> None:
        status = answered["status"]
        turn, refusals = self.given.pop(run, ({}, {}))
        if status == "ok":
            self._done(results)
            if run not in self.runs.runs:
                self.idle.pop(run, None)                   # it has ended
            elif "next" in answered:
                self.idle[run] = answered["next"]
                self._begin(run, answered.get("leases", ()))
            return
        self._drop(run, results)
        if status != "refused":
            return
        if answered.get("code") == "call" and turn.get("token") == answered["token"]:
            self.in_hand[turn["token"]] = time.monotonic()
            return self._turn({**turn, "leases": ()}, {**refusals, answered["seq"]: answered["message"]})
        if answered.get("code") in ("at", "lease", "call"):    # of results alone: the next turn has them
            if any("m" in step for step in answer.get("steps", ())):
                self.answers[run] = {"token": answered["token"], "release": True}
            return
        text = "the server refused: %s" % answered.get("message", "")
        say("%s: %s" % (run, text))
        self.answers[run] = {"token": answered["token"], "bug": {"error": text[:390]}}

    def _drop(self, run: str, results: List[Inline]) -> None:
        """Its memory is worth nothing; the results in it are."""
        self.idle.pop(run, None)
        self.given.pop(run, None)
        self.runs.forget(run)
        for inline in results:
            self._hand_in(inline)

    def _turn(self, turn: Dict[str, Any], refusals: Optional[Dict[int, str]] = None) -> None:
        """Drive it.  With `refusals` once more: the server refused these calls, and the code is told."""
        run = turn["run"]
        if run in self.flying:
            self.held.setdefault(run, []).append(turn)
            return
        if run in self.answers:                            # an older answer that was not sent: it is lost
            self.answers.pop(run)
            self._drop(run, self.sent.pop(run, []))
        self.idle.pop(run, None)
        if self.leaving.is_set():                          # it came after the good-bye
            self.answers[run] = {"token": turn["token"], "release": True}
            return self.runs.forget(run)
        try:
            with self.watch.over(turn):
                answer = self.runs.drive(self._whole(turn), refusals)
        except (Error, *Trouble) as error:
            say("%s: its history cannot be read (%s)" % (turn["instance"], error))
            answer = {"token": turn["token"], "release": True}
        except Exception as error:                         # a turn that makes no sense here stops no other
            self.runs.forget(run)
            answer = {"token": turn["token"], "bug": {"error": "this worker cannot drive it: %.300s" % error}}
        self.answers[run] = answer                         # without steps, if it brings only leases
        self.given[run] = (turn, refusals or {})
        self._begin(run, turn.get("leases", ()))

    def _whole(self, turn: Dict[str, Any]) -> Dict[str, Any]:
        """With all of its history, if what is here does not suffice."""
        known = self.runs.knows(turn)
        if (known or turn["after"] == 0) and not turn.get("more"):
            return turn
        after = turn["after"] if known else 0
        events = list(turn["events"]) if known or turn["after"] == 0 else []
        if events:
            after = events[-1]["seq"]
        while after < turn["seq"]:
            page = self.client.request("GET", "/api/v1/turns/%s/history" % turn["token"], query={"after": after})[1]
            if not page["events"]:
                raise Missing(turn["run"])
            events += page["events"]
            after = events[-1]["seq"]
        return {**turn, "after": turn["after"] if known else 0, "events": events}

    # ---- Inline steps ------------------------------------------------------------------

    def _begin(self, run_id: str, leases: Any) -> None:
        run = self.runs.runs.get(run_id)
        for lease in leases:
            ref = lease["ref"]
            task = Task({"token": lease["lease"], "instance": run.instance if run else run_id,
                         "execution": run.execution if run else 0, "id": ref, "activity": "step #%d" % ref, "input": None,
                         "attempt": lease.get("attempt", 1), "key": lease.get("key", "")})
            function = run.inline.get(ref) if run is not None else None
            if run is None or function is None or self.leaving.is_set():
                self.pool.submit(lambda task=task: self.leases.abandon(task))  # type: ignore[misc]
                continue
            opened = run.task(ref)
            task.activity = opened.name if opened is not None else task.activity
            self.leases.take(task)
            inline = Inline(run_id, ref, task, function, run.codec.encode)
            self.inlines.add(inline)
            self.pool.submit(lambda inline=inline: self._perform(inline))      # type: ignore[misc]

    def _perform(self, inline: Inline) -> None:
        """In a thread of the pool."""
        verb, result = perform(inline.task, inline.function)
        if verb == "complete":
            try:
                inline.text = inline.encode(result)
                return self.inbox.put(inline)
            except TypeError as error:
                result = {"error": "the result is no JSON (%s)" % error, "retryable": False}
        self.leases.hand_in(inline.task, "fail", result)
        self._gone(inline)

    def _gone(self, inline: Inline) -> None:
        self.leases.drop(inline.task)
        self.inlines.discard(inline)

    def _finished(self, inline: Inline) -> None:
        """A result: behind the steps that wait to be sent, or as an answer of its own."""
        run = inline.run
        if run in self.flying:
            self.held.setdefault(run, []).append(inline)
            return
        answer = self.answers.get(run)
        token = answer["token"] if answer is not None else self.idle.get(run)
        made = None
        if token is not None and (answer is None or "steps" in answer):
            at = self.clock[0] + int((time.monotonic() - self.clock[1]) * 1000)
            made = self.runs.result(run, token, inline.task.token, inline.ref, inline.text, at, answer)
        if made is None:
            return self._hand_in(inline)
        if answer is None:
            self.idle.pop(run, None)
        self.answers[run] = made
        self.sent.setdefault(run, []).append(inline)

    def _hand_in(self, inline: Inline) -> None:
        """Not with a turn, so as any work."""
        result = json_codec.decode(inline.text)

        def work() -> None:
            self.leases.hand_in(inline.task, "complete", {"result": result})
            self._gone(inline)
        self.pool.submit(work)

    def _done(self, results: List[Inline]) -> None:
        for inline in results:
            self._gone(inline)
