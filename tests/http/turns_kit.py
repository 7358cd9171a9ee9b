# SPDX-License-Identifier: MIT
"""A worker for the tests of the turn protocol: the one call, and words for decisions."""
import secrets

from kit import expect


def call(ref, name, data="", **more):
    return {"do": "call", "ref": ref, "name": name, "data": data, **more}


def timer(ref, ms):
    return {"do": "timer", "ref": ref, "delay_ms": ms}


def wait_event(ref, name, **more):
    return {"do": "event", "ref": ref, "name": name, **more}


def end(how, **more):
    return {"end": how, **more}


def step(m, seq, *decisions):
    return {"m": m, "seq": seq, "decisions": list(decisions)}


class Worker:
    def __init__(self, server, *code, name="w-1", tell=True):
        self.server, self.name = server, name
        self.session = secrets.token_urlsafe(18)
        self.code = [{"name": c.partition(" ")[0], "version": c.partition(" ")[2] or "1.0.0"} for c in code]
        self.last = {}
        if tell:
            self.call(code=self.code)

    def call(self, status=200, **more):
        body = {"protocol": 1, "session": self.session, "worker": self.name, **more}
        r = self.server.post("/api/v1/turns", body, fresh=more.get("wait_ms", 0) > 0)
        assert r.status == status, r
        if status != 200:
            return r.json["error"]["code"]
        self.last = r.json
        return r.json

    def turns(self, max=10, wait_ms=5000):
        return self.call(max=max, wait_ms=wait_ms)["turns"]

    def turn(self, wait_ms=10000):
        t = self.turns(1, wait_ms)
        assert len(t) == 1, (t, self.server.log_text()[-2000:])
        return t[0]

    def exchange(self, answers, **more):
        """answers: (turn or token, steps, for, refs)"""
        body = []
        for a in answers:
            token = a[0]["token"] if isinstance(a[0], dict) else a[0]
            one = {"token": token, "steps": a[1]}
            if len(a) > 2 and a[2]:
                one["wait"] = {"for": a[2], "refs": a[3]}
            body.append(one)
        return self.call(answers=body, **more)

    def answer(self, turn, steps, wait=None, refs=None, **more):
        return self.exchange([(turn, steps, wait, refs)], **more)["answered"][0]
