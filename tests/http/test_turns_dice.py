# SPDX-License-Identifier: MIT
"""Bodies of workers made by dice: honest ones with members dropped, changed, doubled, and bytes turned.

Whatever is sent, the answer is one of those that the protocol has; what is refused changes nothing, and
the honest answer that follows is good.  DICE=ROUNDS and SEED=N: more of it.
"""
import base64
import copy
import json
import os
import random
import secrets

import kit
from kit import expect
from turns_kit import Worker, call, end, step, timer, wait_event

ROUNDS = int(os.environ.get("DICE", "60"))
SEED = int(os.environ.get("SEED", "0")) or secrets.randbits(32)
VARIANTS = 8
I = "/api/v1/instances/"
ODD = [None, True, False, 0, -1, 1, 1.5, 1e300, 2 ** 53, 2 ** 64, "", "x", "x" * 300, "a/b", "\u0000", "\ud800", "%s%n", [], [[]], {},
       {"": ""}, [1, "1"], "any", "call", {"do": "call"}, "2000-01-01"]
STATUSES = {"ok", "lost", "refused", "blocked", "released"}


# ---- What is honest --------------------------------------------------------------------------


def decisions(dice, instance):
    """Some of each kind, with the refs they need, and the tasks that are open then."""
    made, ref, open_ = [], 0, []
    kinds = ["call", "lease", "timer", "event", "update", "child", "raise", "status", "state", "attributes", "push", "patch"]
    for n, kind in enumerate(dice.sample(kinds, dice.randint(2, 7)) + ["call"]):
        if kind in ("call", "lease", "timer", "event", "update", "child", "raise"):
            ref += 1
            if kind != "raise":
                open_.append(ref)
        made.append({"call": lambda: call(ref, "A", '{"n":1}', opts={"attempts": 3, "backoff": "fixed", "initial_ms": 5}),
                     "lease": lambda: call(ref, "inline", "x", lease=True), "timer": lambda: timer(ref, 3600000),
                     "event": lambda: wait_event(ref, "E", fresh=True), "update": lambda: {"do": "update", "ref": ref, "name": "U"},
                     "child": lambda: {"do": "child", "ref": ref, "name": "Sub", "data": "1", "instance": "%s:c%d" % (instance, n), "abandon": True},
                     "raise": lambda: {"do": "raise", "ref": ref, "instance": "nowhere", "name": "E", "data": "1"},
                     "status": lambda: {"do": "status", "text": "here"}, "state": lambda: {"do": "state", "name": "k", "data": "1"},
                     "attributes": lambda: {"do": "attributes", "attributes": {"customer": "c"}},
                     "push": lambda: {"do": "push", "name": "dice", "data": "1", "priority": 2},
                     "patch": lambda: {"do": "patch", "name": "p"}}[kind]())
    return made, open_


# ---- What is not -----------------------------------------------------------------------------


def places(value, path=()):
    """Every place in it."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, path + (key,))


def turned(dice, body):
    """A copy with one to three changes."""
    body = {"": copy.deepcopy(body)}
    for _ in range(dice.randint(1, 3)):
        where = dice.choice([p for p in places(body) if p])
        inner = body
        for key in where[:-1]:
            inner = inner[key]
        key, how = where[-1], dice.randrange(6)
        if how == 0 and len(where) > 1:
            del inner[key]
        elif how == 1 and isinstance(inner[key], int):
            inner[key] += dice.choice((-1, 1))
        elif how == 2 and isinstance(inner, list):
            inner.insert(dice.randint(0, len(inner)), copy.deepcopy(dice.choice(inner)))
        elif how == 3 and isinstance(inner, list):
            dice.shuffle(inner)
        elif how == 4 and isinstance(inner[key], dict):
            inner[key][dice.choice(("colour", "do", "end", "refused", "data", "ref"))] = copy.deepcopy(dice.choice(ODD))
        else:
            inner[key] = copy.deepcopy(dice.choice(ODD))
        if "" not in body:
            return b""
    return json.dumps(body[""]).encode()


def bent(dice, text):
    """Bytes dropped, doubled, changed."""
    for _ in range(dice.randint(1, 3)):
        at, n = dice.randint(0, len(text)), dice.randint(1, 12)
        text = (text[:at] + text[at + n:], text[:at] + text[at:at + n] * 2 + text[at + n:],
                text[:at] + bytes([dice.randrange(256)]) + text[at + 1:], text[:at])[dice.choice((0, 0, 1, 1, 2, 2, 2, 3))]
    return text


def odd(dice, body):
    return bent(dice, json.dumps(body).encode()) if dice.random() < 0.3 else turned(dice, body)


def send(server, path, raw, allowed):
    r = server.call("POST", path, raw, {"Content-Type": "application/json"})
    said = "SEED=%d %s %s: %s" % (SEED, path, base64.b64encode(raw).decode(), r)
    assert r.status in allowed and isinstance(r.json, (dict, list)), said
    if r.status != 200:
        assert r.json["error"]["code"] and r.json["error"]["message"], said
    return r, said


# ---- The tests -------------------------------------------------------------------------------


def history(server, instance):
    return server.get(I + instance + "/history").json["events"]


def whole(server, instance):
    events = history(server, instance)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1)), events
    return events


def variants(dice, w, t, honest, counts):
    """Odd copies of the honest answer; False when one of them was taken."""
    body = {"protocol": 1, "session": w.session, "worker": "w", "answers": [honest], "beats": [t["token"]], "forget": ["0.1"], "max": 0}
    for _ in range(VARIANTS):
        before = history(w.server, t["instance"])
        r, said = send(w.server, "/api/v1/turns", odd(dice, body), (200, 400, 409, 413))
        answered = [a for a in (r.json.get("answered") or []) if a["token"] == t["token"]] if r.status == 200 else []
        assert all(a["status"] in STATUSES for a in answered), said
        counts[answered[0]["status"] if answered else r.status] = counts.get(answered[0]["status"] if answered else r.status, 0) + 1
        if any(a["status"] in ("ok", "blocked", "released") for a in answered):
            return False
        assert history(w.server, t["instance"]) == before, said
        assert all(a["message"] for a in answered if a["status"] == "refused"), said
    return True


def test_turns_with_odd_bodies(server):
    dice, counts, w = random.Random(SEED), {}, Worker(server, "Dice")
    for n in range(ROUNDS):
        instance = "d-%d" % n
        server.start_instance("Dice", 1, instance)
        t = w.turn()
        assert t["instance"] == instance
        made, refs = decisions(dice, instance)
        honest = {"token": t["token"], "steps": [step(1, 1, *made)], "wait": {"for": "any", "refs": refs}}
        if variants(dice, w, t, honest, counts):
            a = w.call(answers=[honest])["answered"][0]
            assert a["status"] == "ok" and a["seq"] == 1 + len(made), (SEED, made, a)
            leased(dice, w, a, counts)
        whole(server, instance)
        server.post(I + instance + "/terminate")
        w.call(max=0, forget=[t["run"]])
    assert counts.get("refused", 0) > ROUNDS / 2 and counts.get(400, 0) > ROUNDS / 10, counts
    expect(server.get("/health"), 200)


def leased(dice, w, answered, counts):
    """An inline step: odd results by the idle token, odd beats and failures by the lease."""
    for lease in answered["leases"]:
        path = "/api/v1/work/%s/" % lease["lease"]
        for verb, body in (("heartbeat", {"lock_ms": 30000, "details": {"n": 1}}), ("fail", {"error": "e", "retryable": "no"})):
            r, said = send(w.server, path + verb, odd(dice, body), (200, 400, 404, 410, 413))
            if verb == "fail" and r.status == 200:
                return
        result = {"lease": lease["lease"], "data": "7", "at": w.last["now"]}
        body = {"protocol": 1, "session": w.session, "answers": [
            {"token": answered["next"], "steps": [{"result": result, "seq": answered["seq"] + 1, "decisions": [end("completed", output="1")]}]}]}
        for _ in range(VARIANTS // 2):
            r, said = send(w.server, "/api/v1/turns", odd(dice, body), (200, 400, 409, 413))
            words = [a["status"] for a in r.json.get("answered") or [] if a["token"] == answered["next"]] if r.status == 200 else []
            if set(words) & {"ok", "blocked", "released"}:
                return
        a = w.call(answers=body["answers"])["answered"][0]
        assert a["status"] == "ok", (SEED, a)
        counts["results"] = counts.get("results", 0) + 1


def test_work_with_odd_bodies(server):
    """Polls, and what is said with a lease; at last the honest result is recorded, if none before it was."""
    dice, w, taken = random.Random(SEED + 1), Worker(server, "Dice"), 0
    for n in range(ROUNDS // 4):
        instance = "w-%d" % n
        server.start_instance("Dice", 1, instance)
        w.answer(w.turn(), [step(1, 1, call(1, "Odd", "1", opts={"attempts": 50, "backoff": "fixed", "initial_ms": 1}))], "any", [1])
        poll = {"activities": ["Odd"], "max": 1, "wait_ms": 0, "lock_ms": 60000, "worker": "w"}
        for _ in range(VARIANTS):
            r, _ = send(server, "/api/v1/work/poll", odd(dice, {**poll, "activities": ["Other"]}), (200, 400, 413))
            assert r.status != 200 or not [i for i in r.json["items"] if i["activity"] != "Odd"]
        items = server.post("/api/v1/work/poll", {**poll, "wait_ms": 2000}).json["items"]
        for item in items[:1]:
            path, open_ = "/api/v1/work/%s/" % item["token"], True
            for verb, body in [("heartbeat", {"lock_ms": 60000, "details": [1]}), ("complete", {"result": {"a": [1, "b"]}}),
                               ("fail", {"error": "e", "retryable": True}), ("abandon", {"delay_ms": 1})] * 2:
                r, _ = send(server, path + verb, odd(dice, body), (200, 400, 410, 413))
                open_ &= not (r.status == 200 and verb != "heartbeat")
            r = server.post(path + "complete", {"result": 7})
            assert r.status == 200 if open_ else r.status in (200, 410), (SEED, r)
            taken += 1
        whole(server, instance)
        server.post(I + instance + "/terminate")
    assert taken
