# SPDX-License-Identifier: MIT
"""tests/replay/*.replay, the engine's specification, with the SDK as the worker.

Each script is played against the server's side of an execution (pawl.record) with a worker that answers
turns; what is recorded must be what the script says of the C engine.  After each act the history is
replayed cold, and every prefix that ends before a message.
"""
import json
import re
import subprocess
import sys

import kit
from pawl import codec, kinds, turns
from pawl.record import Mail, Record
from pawl.run import Code
from replay_program import COMPLETIONS, Program, fits, read

PLACE = kit.ROOT / "tests" / "replay"
# The words of C's calls in findings, and ours.
CALLS = {"pawl_call_child": "ctx.child", "pawl_start_child": "ctx.child", "pawl_start_detached": "ctx.detach",
         "pawl_start_with": "ctx.call", "pawl_call": "ctx.call", "pawl_start": "ctx.call", "pawl_timer": "ctx.timer",
         "pawl_sleep": "ctx.timer", "pawl_await": "await", "pawl_wait_event": "ctx.event", "pawl_cancel": "ctx.cancel", "pawl_race": "ctx.race",
         "pawl_set_status": "ctx.status", "pawl_state_set": "ctx.state.set", "pawl_state_clear": "ctx.state.clear",
         "pawl_raise": "ctx.raise_event", "pawl_wait_update": "ctx.update", "pawl_answer": "ctx.answer", "pawl_reject": "ctx.reject"}
# What is no business of a worker.
NOT_OURS = ((r"^\s+(scope|end-scope)\b", "memory scopes of C"), (r"\\xff|\\x80|\\xc0", "names that are no UTF-8"),
            (r"= none ", "forged handles"), (r"^rules.*(strict|history=|drop-early)", "rules of the server"),
            (r"outcome corrupt", "damaged histories"), (r"= update \S+ checked", "checks run in the server"),
            (r"= ask ", "an ask is text in C"))


class Skip(Exception):
    pass


class Player:
    """One script."""

    def __init__(self, path):
        self.path, self.text = path, path.read_text()
        for pattern, why in NOT_OURS:
            if re.search(pattern, self.text, re.M):
                raise Skip(why)
        self.programs, self.acts = read(path)
        self.lines = self.programs.get("main", [])
        self.code = Code("Test", "1.0.0", self.run, codec.raw)
        self.driver = turns.Driver([self.code])
        self.instance, self.version, self.clock, self.letters, self.replays = "order-42", "1.0.0", 1000, 0, 0
        self.record, self.by_hand = Record(self.instance, 1), False

    async def run(self, ctx, input):
        return await Program(ctx, input, self.lines).run()

    # ---- Acts --------------------------------------------------------------------------

    def play(self):
        for act, expected in self.acts:
            if self.by_hand and act[0] == "in":
                return                            # such a history has no tables to go on from
            self.act, self.applied, self.finding = act, True, None
            before = len(self.record.events)
            for word in act:
                if word.startswith("at="):
                    self.clock = int(word[3:])
            step = getattr(self, "act_" + act[0].replace("-", "_"), None)
            if step is None:
                raise Skip("the act %s" % act[0])
            record = self.record
            step(act)
            if record is not self.record:
                before = 0
            self.compare(expected, before)

    def act_in(self, act):
        word, rest = act[1], [w for w in act[2:] if not re.match("(at|exec|attrs)=", w)]
        ref = int(rest.pop(0)[1:]) if rest and re.match(r"#\d+$", rest[0]) else 0
        options = dict(w.split("=", 1) for w in act if re.match("(exec|attrs)=", w))
        if int(options.get("exec", self.record.execution)) != self.record.execution:
            self.applied = False
            return
        if word in ("raised", "update"):
            self.letters += 1
            attrs = json.loads(options.get("attrs", "{}"))
            kind = kinds.EXTERNAL if word == "raised" else kinds.UPDATE
            letter = {"mail": Mail(500 + self.letters, kind, rest[0], rest[1] if len(rest) > 1 else "", attrs.get("update", "u"))}
            kind = "mail"
        else:
            kind = {**COMPLETIONS, "started": kinds.STARTED, "cancel": kinds.CANCEL_REQUESTED, "suspend": kinds.SUSPENDED,
                    "resume": kinds.RESUMED}.get(word)
            letter = {"data": rest[0] if rest else ""}
            if kind == kinds.STARTED:
                letter.update(name="Test", attrs={"version": self.version, "seed": "00000000deadbeef"})
            elif ref:
                letter["ref"] = ref
        kept = len(self.record.events)
        if kind is not None:                      # `wake` only looks at the mail
            self.record.apply(kind, self.clock, **letter)
        self.applied = len(self.record.events) > kept
        self.pump()

    def act_complete_all(self, act):
        for ref in range(int(act[1].strip("#")), int(act[2].strip("#")) + 1):
            self.record.apply("ActivityCompleted", self.clock, ref=ref, data=act[3] if len(act) > 3 else "")
            self.pump()
        self.applied = None                       # the messages are not repeated in the script

    def act_drop_fiber(self, act):
        self.driver.forget("r")

    def act_swap_program(self, act):
        self.lines = self.programs[act[1]]
        self.driver.forget("r")
        self.applied = False
        if self.record.events:
            self.finding = self.check(self.record.events)

    def act_replay(self, act):
        self.applied = False
        self.finding = self.check(self.record.events)

    def act_replay_tables(self, act):
        self.applied = False

    def act_finish(self, act):
        self.applied = False
        kind = {"terminated": kinds.TERMINATED, "cancelled": kinds.CANCELLED, "failed": kinds.FAILED}[act[1]]
        if self.record.end is None:
            self.record.force(kind, act[2] if len(act) > 2 else "", self.clock)
        self.driver.forget("r")

    def act_next_execution(self, act):
        old, self.record = self.record, Record(self.instance, self.record.execution + 1)
        self.record.mail, self.record.state = old.mail, dict(old.state)
        self.driver.forget("r")
        self.record.apply(kinds.STARTED, self.clock, name="Test", data=old.end.get("data", ""),
                          attrs={"version": self.version, "seed": "2"})
        self.pump()

    def act_mail_add(self, act):
        self.applied = False
        self.record.mail.append(Mail(int(act[1]), kinds.EXTERNAL, act[2], act[3] if len(act) > 3 else ""))

    def act_clear_history(self, act):
        self.driver.forget("r")
        self.record = Record(self.instance, 1)

    def act_event(self, act):
        """An event of a history that is written by hand, for `replay`."""
        self.applied, self.by_hand = False, True
        event = {"seq": int(act[1]), "kind": act[2], "at": self.clock}
        for word in act[3:]:
            key, _, value = word.partition("=")
            if word.startswith("#"):
                event["ref"] = int(word[1:])
            elif key == "attrs":
                event["attrs"] = json.loads(value)
            else:
                event["at" if key == "at" else key] = int(value) if key == "at" else value
        self.record.events.append(event)

    def act_rules(self, act):
        self.applied = False
        for word in act[1:]:
            key, _, value = word.partition("=")
            if key == "payload":
                self.driver.limits = {"payload_bytes": int(value)}
            elif key == "instance":
                self.instance = value
            elif key == "instance-bytes":
                self.instance = "i" * int(value)
            elif key == "version":
                self.version = value
                self.driver.add(Code("Test", value, self.run, codec.raw))
        if not self.record.events:
            self.record = Record(self.instance, 1)

    # ---- The worker --------------------------------------------------------------------

    def turn(self, asked):
        known = self.driver.runs.get("r")
        after, last = known.seq if known else 0, asked["seq"] - 1
        carried = [e for e in self.record.events if e["kind"] == kinds.CARRIED] if asked["kind"] == kinds.STARTED else []
        return {"token": "t", "run": "r", "instance": self.record.instance, "execution": self.record.execution,
                "orchestration": "Test", "version": self.version, "after": after, "events": self.record.events[after:last],
                "seq": last, "messages": [{k: v for k, v in asked.items() if k != "seq"}], "carried": carried}

    def pump(self):
        while True:
            if self.record.asked is None:
                self.record.settle(self.clock)
            asked = self.record.asked
            if asked is None:
                return
            answer = self.driver.drive(self.turn(asked))
            self.finding = answer.get("mismatch") or answer.get("bug")
            if self.finding:                      # nothing is recorded, and the message stays
                del self.record.events[asked["seq"] - 1:]
                self.record.asked = None
                return
            for step in answer["steps"]:
                self.record.decide(step, self.clock)
            self.record.expect(answer.get("wait"))

    def check(self, events):
        self.replays += 1
        found = turns.check(self.driver.code["Test", self.version],
                            {"run": "c", "instance": self.record.instance, "execution": self.record.execution,
                             "orchestration": "Test", "version": self.version, "events": events})
        return found.get("mismatch") or found.get("bug")

    # ---- Expectations ------------------------------------------------------------------

    def compare(self, expected, before):
        want = {e[0]: e[1:] for e in expected if e[0] not in ("out", "out-fan")}
        fails = want.get("outcome", ["ok"])[0] in ("mismatch",)
        assert bool(self.finding) == fails, (self.act, want, self.finding)
        if self.finding:
            return self.compare_finding(want)
        new = self.record.events[before:] if self.act[0] != "event" else []
        if self.applied is None:
            new = [e for e in new if e["kind"] != "ActivityCompleted"]
        elif self.applied and new and self.act[0] in ("in", "next-execution"):
            new = new[1:]
        outs = []
        for e in expected:
            if e[0] == "out":
                outs.append(e[1:])
            elif e[0] == "out-fan":
                first, last = (int(w.strip("#")) for w in e[1:3])
                outs += [["#%d" % n, "activity", e[3], str(n - first)] for n in range(first, last + 1)]
        assert len(new) == len(outs) and all(fits(a, b) for a, b in zip(new, outs)), (self.act, new, outs)
        if "open" in want and self.record.slots:  # none in a history written by hand
            open_ = {"#%d" % s.ref for s in self.record.slots if s.open}
            assert open_ == set(want["open"]) - {"none"}, (self.act, open_, want)
        if "mail" in want:
            assert len(self.record.mail) == int(want["mail"][0]), (self.act, want)
        if self.record.events and self.act[0] not in ("swap-program", "event"):
            self.replay_all()

    def compare_finding(self, want):
        for word, member in (("finding", "text"), ("attempted", "attempted"), ("recorded", "recorded")):
            if word in want:
                part = want[word][0]
                for theirs, ours in CALLS.items():
                    part = re.sub(r"\b%s\b" % theirs, ours, part)
                assert part in self.finding[member], (self.act, part, self.finding)
        if "at-event" in want:
            assert self.finding["seq"] == int(want["at-event"][0]), (self.act, want, self.finding)

    def replay_all(self):
        """All of it, and every prefix that ends before a message."""
        events = self.record.events
        cuts = [i for i, e in enumerate(events) if i and e["kind"] in kinds.MESSAGES and
                not (e["kind"] in ("ActivityFailed", "SubOrchestrationFailed") and "refused" in kinds.attrs_of(events[i - 1]))]
        for n in (cuts if len(cuts) < 20 else cuts[:3] + cuts[-3:]) + [len(events)]:
            found = self.check(events[:n])
            assert not found, (self.act, n, found)


def test_py_replay_scripts_of_the_engine():
    played, skipped, replays, failed = 0, {}, 0, []
    for path in sorted(PLACE.glob("*.replay")):
        try:
            player = Player(path)
            player.play()
            played, replays = played + 1, replays + player.replays
        except Skip as why:
            skipped.setdefault(str(why), []).append(path.stem)
        except (AssertionError, Exception) as error:
            failed.append("%s: %s: %.700s" % (path.stem, type(error).__name__, error))
    assert not failed, "%d of %d scripts:\n%s" % (len(failed), played + len(failed), "\n".join(failed))
    assert played >= 125 and replays > 900, (played, replays, skipped)


def test_py_vectors_are_what_the_scripts_make():
    """tests/protocol/turns.json: the turns of these scripts, and the answers that the C engine agrees with."""
    made = subprocess.run([sys.executable, str(kit.ROOT / "tests" / "protocol" / "make")], stdout=subprocess.PIPE, check=True).stdout.decode()
    kept = (kit.ROOT / "tests" / "protocol" / "turns.json").read_text()
    for one, other in zip(made.splitlines(), kept.splitlines()):
        assert one == other, "run tests/protocol/make >tests/protocol/turns.json, and look at the difference: %.500s | %.500s" % (one, other)
    cases = sum(len(v["cases"]) for v in json.loads(kept))
    assert made == kept and cases >= 300, cases
