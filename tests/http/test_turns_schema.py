# SPDX-License-Identifier: MIT
"""docs/protocol/turns.schema.json says which members there are; so does the server, member by member."""
import json
import pathlib

from turns_kit import Worker

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/protocol/turns.schema.json").read_text())["$defs"]
VALUES = {
    "ref": 1, "name": "A", "data": "x", "data64": "eA==", "opts": {}, "lease": True, "refused": "no", "delay_ms": 1,
    "fresh": True, "ask": {}, "instance": "i-1", "version": "1.0.0", "abandon": True, "inherit": True, "deadline_ms": 5,
    "reason": "r", "text": "s", "priority": 1, "rejected": True, "await_start": True, "cleared": True,
    "attributes": {"a": 1}, "output": "x", "error": "x", "input": "x", "nonsense": 1,
}
OPTS = {"attempts": 1, "backoff": "fixed", "initial_ms": 1, "cap_ms": 1, "factor": 2.0, "jitter": 0.5, "final_errors": ["x"],
        "no_retry_on_timeout": True, "schedule_to_start_ms": 1, "start_to_close_ms": 1, "schedule_to_close_ms": 1,
        "heartbeat_ms": 1, "tag": "t", "max_crashes": 1, "at_most_once": True, "key": "k", "priority": 1, "nonsense": 1}
BASE = {
    "call": ["ref", "name"], "timer": ["ref", "delay_ms"], "event": ["ref", "name"], "update": ["ref", "name"],
    "child": ["ref", "name", "instance"], "detach": ["ref", "name", "instance"], "raise": ["ref", "name", "instance"],
    "cancel": ["ref", "reason"], "answer": ["ref"], "status": ["text"], "state": ["name", "data"],
    "attributes": ["attributes"], "push": ["name", "data"], "patch": ["name"],
}


def words_of(branch):
    do = branch["properties"].get("do", {})
    return do.get("enum") or [do["const"]] if do else []


def branch_of(word):
    found = [b for b in SCHEMA["decision"]["oneOf"] if word in words_of(b)]
    assert len(found) == 1, word
    return found[0]


class Judge:
    """Is this shape fine?  The step's seq is wrong, so that nothing stands and the token stays good."""

    def __init__(self, server):
        self.w = Worker(server, "Shapes")
        server.start_instance("Shapes", 1, "s-1")
        self.token = self.w.turn()["token"]

    def answer(self, **answer):
        a = self.w.call(answers=[{"token": self.token, **answer}])["answered"][0]
        assert a["status"] == "refused" and a["code"] in ("shape", "step", "lease", "at"), (answer, a)
        return a["code"] != "shape"

    def decision(self, d):
        return self.answer(steps=[{"m": 1, "seq": 999, "decisions": [d]}], wait={"for": "any", "refs": [1]})


def test_schema_of_decisions(server):
    judge = Judge(server)
    assert {w for b in SCHEMA["decision"]["oneOf"] for w in words_of(b)} == set(BASE)
    wrong = []
    for word, needed in BASE.items():
        branch = branch_of(word)
        base = {"do": word, **{m: VALUES[m] for m in needed}}
        assert judge.decision(base), base
        for member, value in VALUES.items():
            if member in base or (member in ("data64", "cleared") and "data" in base):
                continue
            if judge.decision({**base, member: value}) != (member in branch["properties"]):
                wrong.append((word, member))
        for member in needed:
            less = {k: v for k, v in base.items() if k != member}
            if member in branch["required"] and judge.decision(less):
                wrong.append((word, "needs", member))
    for member, value in OPTS.items():
        d = {"do": "call", "ref": 1, "name": "A", "opts": {member: value}}
        if judge.decision(d) != (member in SCHEMA["opts"]["properties"]):
            wrong.append(("opts", member))
    assert not wrong, wrong


def test_schema_of_ends(server):
    judge = Judge(server)
    wrong = []
    for how, own in (("completed", {"output"}), ("failed", {"error"}), ("continue", {"input", "version"}), ("cancelled", set())):
        branch = [b for b in SCHEMA["decision"]["oneOf"] if "end" in b["properties"]
                  and how in (b["properties"]["end"].get("enum") or [b["properties"]["end"]["const"]])]
        assert len(branch) == 1, how
        for member in VALUES:
            fine = judge.decision({"end": how, member: VALUES[member]})
            if fine != (member in branch[0]["properties"]):
                wrong.append((how, member))
        assert own <= set(branch[0]["properties"])
    assert not wrong, wrong


def test_schema_of_results_and_steps(server):
    judge = Judge(server)
    props = SCHEMA["step"]["properties"]["result"]["properties"]
    wrong = []
    base = {"lease": "w1", "at": 1}
    for member, value in {"data": "x", "data64": "eA==", "nonsense": 1}.items():
        fine = judge.answer(steps=[{"seq": 999, "decisions": [], "result": {**base, member: value}}], wait={"for": "any", "refs": [1]})
        if fine != (member in props):
            wrong.append(("result", member))
    for member in ("nonsense", "ref"):
        fine = judge.answer(steps=[{"m": 1, "seq": 999, "decisions": [], member: 1}], wait={"for": "any", "refs": [1]})
        if fine != (member in SCHEMA["step"]["properties"]):
            wrong.append(("step", member))
    assert not wrong, wrong


def test_schema_of_the_call(server):
    w = Worker(server, "Shapes")
    props = SCHEMA["request"]["properties"]
    values = {"protocol": 1, "session": w.session, "worker": "w-1", "code": w.code, "answers": [], "beats": [], "forget": [],
              "max": 0, "wait_ms": 0, "lease_ms": 30000, "leaving": True, "nonsense": 1, "lock_ms": 30000, "turn_ms": 1}
    assert set(props) <= set(values)
    for member, value in values.items():
        w.call(status=200 if member in props else 400, **{member: value})
    for member, of in props.items():
        for bound, past in (("minimum", -1), ("maximum", 1)):
            if bound in of:
                w.call(status=200, **{member: of[bound]})
                w.call(status=400, **{member: of[bound] + past})
