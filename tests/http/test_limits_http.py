# SPDX-License-Identifier: MIT
"""Limits over HTTP: stored, shown, in force; what is wrong is refused."""
import http.client
import json
import threading
import time

from kit import Server, expect

LIMITS = "/api/v1/limits"
CHARGE = {"match": [{"activity": "LimCharge"}], "by": "key", "concurrency": 2}


def put(server, path, body, **more):
    return server.call("PUT", path, body, **more)


def job(server, key, number):
    return expect(server.post("/api/v1/jobs", {"activity": "LimCharge", "key": key, "instance": f"lim-{key}-{number}"}), 201)


def poll(server, most=10):
    reply = server.post("/api/v1/work/poll", {"activities": ["LimCharge"], "max": most, "lock_ms": 60000, "wait_ms": 0})
    return expect(reply, 200).json["items"]


def test_a_limit_is_stored_changed_and_removed(server):
    made = expect(put(server, LIMITS + "/lim-a", CHARGE), 201, name="lim-a", revision=1)
    assert made.json == {"name": "lim-a", "revision": 1}
    expect(put(server, LIMITS + "/lim-a", {**CHARGE, "concurrency": 3}), 200, revision=2)
    shown = expect(server.get(LIMITS + "/lim-a"), 200, revision=2, in_use=0, waiting=0, keys=[]).json
    assert shown["spec"] == {**CHARGE, "concurrency": 3}
    expect(put(server, LIMITS + "/lim-a", CHARGE, headers={"If-Match": '"1"'}), 412, "conflict")
    expect(put(server, LIMITS + "/lim-a", CHARGE, headers={"If-None-Match": "*"}), 412, "exists")
    expect(put(server, LIMITS + "/lim-b", CHARGE), 201)
    names = [one["name"] for one in expect(server.get(LIMITS + "?prefix=lim-&limit=1"), 200, next="lim-a").json["limits"]]
    assert names == ["lim-a"]
    assert [one["name"] for one in server.get(LIMITS + "?prefix=lim-&after=lim-a").json["limits"]] == ["lim-b"]
    for name in ("lim-a", "lim-b"):
        expect(server.call("DELETE", LIMITS + "/" + name), 200, removed=True)
    expect(server.get(LIMITS + "/lim-a"), 404, "not_found")
    expect(server.call("DELETE", LIMITS + "/lim-a"), 404)


def test_a_limit_is_in_force_and_why_names_it(server):
    expect(put(server, LIMITS + "/lim-force", CHARGE), 201)
    for n in range(5):
        job(server, "acme", n)
    job(server, "zoo", 0)
    deadline, leases = time.time() + 10, []
    while len(leases) < 3 and time.time() < deadline:
        leases += poll(server)
    assert len(leases) == 3 and not poll(server), leases
    shown = server.get(LIMITS + "/lim-force").json
    assert shown["in_use"] == 3 and shown["waiting"] == 3, shown
    assert shown["keys"][0]["key"] == "acme" and shown["keys"][0]["in_use"] == 2, shown
    why = expect(server.get("/api/v1/instances/lim-acme-4/why"), 200).json
    assert "the limit 'lim-force' (2 of 2 run for 'acme'), 2 before it" in why["sentence"], why
    assert why["waiting_for"][0]["limit"] == {"name": "lim-force", "key": "acme", "in_use": 2, "concurrency": 2,
                                              "before": 2, "begins_at": None}
    metrics = server.get("/metrics").body.decode()
    assert 'pawl_limit_in_use{limit="lim-force"} 3\n' in metrics
    assert 'pawl_limit_waiting{limit="lim-force"} 3\n' in metrics
    while leases:
        expect(server.post(f"/api/v1/work/{leases.pop()['token']}/complete", {"result": 1}), 200)
        leases += poll(server)
        held = [lease["instance"] for lease in leases]
        assert sum("acme" in one for one in held) <= 2, held
    assert server.get(LIMITS + "/lim-force").json["in_use"] == 0
    expect(server.call("DELETE", LIMITS + "/lim-force", headers={"If-Match": "99"}), 412)
    expect(server.call("DELETE", LIMITS + "/lim-force"), 200)


def test_wrong_limits_are_refused(server):
    match = [{"activity": "A"}]
    for body, words in (
            ({"match": match}, "limits nothing"),
            ({"concurrency": 1}, "match"),
            ({"match": [], "concurrency": 1}, "match"),
            ({"match": [{"activity": "a*b"}], "concurrency": 1}, "last character"),
            ({"match": [{"activty": "A"}], "concurrency": 1}, "activ"),
            ({"match": match, "concurrency": 0}, "concurrency"),
            ({"match": match, "rate": {"count": 0, "per_ms": 1000}}, "count"),
            ({"match": match, "rate": {"count": 1}}, "per_ms"),
            ({"match": match, "concurrency": 1, "by": "tenant"}, "by"),
            ({"match": match, "concurency": 1}, "concurrency"),
            ({"match": match, "weights": {"gold": 0}}, "gold")):
        reply = expect(put(server, LIMITS + "/lim-bad", body), 400)
        assert words in json.dumps(reply.json), (body, reply.json)
    expect(put(server, LIMITS + "/" + "n" * 101, CHARGE), 413)
    expect(server.get(LIMITS + "/lim-bad"), 404)


class Ledger:
    """Who holds which key, as the workers see it."""

    def __init__(self):
        self.lock, self.held, self.top = threading.Lock(), {}, {}

    def take(self, key):
        with self.lock:
            self.held[key] = self.held.get(key, 0) + 1
            self.top[key] = max(self.top.get(key, 0), self.held[key])

    def leave(self, key):
        with self.lock:
            self.held[key] -= 1


def work(server, ledger, stop):
    """A worker: it holds what it leased until it is done with it, and then says so."""
    while not stop.is_set():
        try:
            asked = time.time()
            items = server.post("/api/v1/work/poll", {"activities": ["LimCharge"], "max": 3, "lock_ms": 2000,
                                                      "wait_ms": 200}, fresh=True, timeout=5).json["items"]
        except Exception:  # the server died; what it may have leased is nobody's until that lease ends
            time.sleep(0.05)
            continue
        for item in items:
            ledger.take(item["input"])
        for item in items:
            done = False
            time.sleep(0.003)
            ledger.leave(item["input"])
            while not done and time.time() < asked + 1.9:
                try:
                    status = server.post("/api/v1/work/%s/complete" % item["token"], {"result": 1}, fresh=True,
                                         timeout=5).status
                    done = True
                    assert status in (200, 410), status
                except OSError:
                    time.sleep(0.05)
                except http.client.HTTPException:
                    time.sleep(0.05)


def test_no_key_is_ever_above_its_limit_while_the_server_dies(_):
    """20 keys, 2 places each, 12 workers, kill -9 again and again: an outside ledger counts."""
    jobs, keys = 400, 20
    with Server() as server:
        expect(put(server, LIMITS + "/two", {"match": [{"activity": "LimCharge"}], "by": "key", "concurrency": 2}), 201)
        for n in range(jobs):
            key = "k%d" % (0 if n % 4 == 0 else n % keys)
            expect(server.post("/api/v1/jobs", {"activity": "LimCharge", "key": key, "input": key, "attempts": 50,
                                                "instance": "led-%d" % n}), 201)
        ledger, stop = Ledger(), threading.Event()
        workers = [threading.Thread(target=work, args=(server, ledger, stop)) for _ in range(12)]
        for worker in workers:
            worker.start()
        for _ in range(5):
            time.sleep(0.4)
            server.restart()
        deadline = time.time() + 90
        while time.time() < deadline:
            left = server.get("/api/v1/instances?prefix=led-&status=running&limit=1", fresh=True).json["instances"]
            if not left:
                break
            time.sleep(0.1)
        stop.set()
        for worker in workers:
            worker.join()
        assert not left, left
        assert max(ledger.top.values()) == 2, ledger.top
        assert server.get(LIMITS + "/two", fresh=True).json["in_use"] == 0
