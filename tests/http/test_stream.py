# SPDX-License-Identifier: MIT
"""GET /api/v1/stream by kind of reader: everything, in brief, one instance, one queue.  test_instances.py and
test_contract.py have what all of them share."""
import http.client
import json
import socket
import threading
import time

from kit import Server, expect, seen
from test_contract import bearer

S = "/api/v1/stream"


class Reader:
    """A stream that is open from now on; its events come into `events`."""

    def __init__(self, server, query="", last=None, headers=None):
        self.conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.conn.request("GET", S + query, headers={**(headers or {}), **({"Last-Event-ID": last} if last else {})})
        self.answer = self.conn.getresponse()
        seen("GET", S, self.answer.status)
        assert self.answer.status == 200, self.answer.read()
        self.sock = self.conn.sock
        self.events, self.first = [], self.event()          # the greeting: it is heard from now on
        threading.Thread(target=self.run, daemon=True).start()

    def event(self):
        one = {}
        for line in iter(self.answer.readline, b""):
            line = line.decode().rstrip("\n")
            if not line:
                return one
            if not line.startswith(":"):
                key, _, value = line.partition(": ")
                one[key] = value
        return None

    def run(self):
        try:
            while (one := self.event()) is not None:
                if "event" in one:
                    self.events.append({**one, "at": time.monotonic(), **json.loads(one["data"])})
        except (OSError, ValueError, AttributeError):
            pass

    def until(self, holds, seconds=10):
        end = time.monotonic() + seconds
        while not holds(self) and time.monotonic() < end:
            time.sleep(0.02)
        assert holds(self), self.events
        return self

    def names(self):
        return {i["instance"] for e in self.events for i in e.get("instances", [])}

    def queues(self):
        return {q for e in self.events for q in e.get("queues", [])}

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)                 # or close() waits for the thread that reads
        self.conn.close()


def test_a_brief_stream_names_a_few_and_counts_the_rest(server):
    r = Reader(server, "?brief=true")
    for i in range(60):
        server.start_instance("Echo", i, "b-%d" % i)
    expect(server.post("/queue/mail/push", '{"item":1}'), 200)
    r.until(lambda r: "mail" in r.queues() and sum(e["count"] for e in r.events) >= 61)
    assert all(len(e["instances"]) <= 12 and len(e["queues"]) <= 12 for e in r.events)
    assert any(e.get("more") for e in r.events), "60 changes do not fit"
    gaps = [b["at"] - a["at"] for a, b in zip(r.events, r.events[1:])]
    assert all(g > 0.8 for g in gaps), gaps                  # once per second
    assert len({e["id"] for e in r.events}) == len(r.events)
    r.close()


def test_a_brief_stream_is_silent_when_nothing_changes_and_whole_when_little_does(server):
    r = Reader(server, "?brief=true")
    time.sleep(1.5)
    assert not r.events
    server.start_instance("Ask", None, "one")
    r.until(lambda r: "one" in r.names())
    item = [i for e in r.events for i in e["instances"]][0]
    assert item["created"] is True and item["orchestration"] == "Ask" and item["status"] == "running"
    time.sleep(1.5)
    assert sum(e["count"] for e in r.events) >= 1 and len(r.events) == 1, r.events
    r.close()


def test_a_watcher_hears_of_one_instance_and_its_children(server):
    r, other = Reader(server, "?instance=par"), Reader(server, "?instance=pa")
    for name in ("par-not", "pa:x:y", "par:1", "pa", "par", "par:1:2", "x:par"):
        server.start_instance("Ask", None, name)
    expect(server.post("/queue/par/push", '{"item":1}'), 200)
    r.until(lambda r: {"par", "par:1", "par:1:2"} <= r.names())
    other.until(lambda r: {"pa", "pa:x:y"} <= r.names())
    time.sleep(0.3)
    assert r.names() == {"par", "par:1", "par:1:2"} and not r.queues(), r.events
    assert other.names() == {"pa", "pa:x:y"}, other.events
    assert all(e["instances"] for e in r.events), "no batch about others alone"
    before = len(r.events)
    expect(server.post("/api/v1/instances/par/terminate"), 202)
    r.until(lambda r: any(i["status"] == "cancelled" or i["status"] == "failed"
                          for e in r.events[before:] for i in e["instances"]))
    r.close()
    other.close()


def test_a_watcher_of_a_queue_hears_of_that_one(server):
    r = Reader(server, "?queue=mail")
    both = Reader(server, "?queue=post&instance=i-1")
    for name in ("mails", "mai", "mail", "post"):
        expect(server.post("/queue/%s/push" % name, '{"item":1}'), 200)
    server.start_instance("Ask", None, "i-1")
    r.until(lambda r: r.queues() == {"mail"})
    both.until(lambda r: r.queues() == {"post"} and r.names() == {"i-1"})
    assert not r.names(), r.events
    r.close()
    both.close()


def test_what_is_watched_is_forgotten_with_its_last_reader(server):
    one, two = Reader(server, "?instance=w"), Reader(server, "?instance=w")
    one.close()
    time.sleep(0.2)
    server.start_instance("Ask", None, "w")
    two.until(lambda r: r.names() == {"w"})
    two.close()
    time.sleep(0.2)
    expect(server.post("/api/v1/instances/w/suspend"), 202)
    again = Reader(server, "?instance=w")
    expect(server.post("/api/v1/instances/w/resume"), 202)
    again.until(lambda r: r.names() == {"w"})
    again.close()


def test_only_a_stream_of_everything_goes_on_where_it_was(server):
    r = Reader(server)
    server.start_instance("Ask", None, "g-1")
    r.until(lambda r: "g-1" in r.names())
    last = r.events[-1]["id"]
    r.close()
    for query in ("?brief=true", "?instance=g-1", "?queue=mail"):
        for id in (last, Reader(server, query).first["id"]):
            other = Reader(server, query, id).until(lambda r: r.events)
            assert other.events[0]["event"] == "reset", other.events
            mark = other.first["id"]
            other.close()
        whole = Reader(server, "", mark).until(lambda r: r.events)
        assert whole.events[0]["event"] == "reset", (query, whole.events)
        whole.close()
    server.start_instance("Ask", None, "g-2")
    time.sleep(0.3)
    r = Reader(server, "", last).until(lambda r: "g-2" in r.names())
    assert all(e["event"] == "changes" for e in r.events)
    r.close()


def test_a_stream_of_everything_names_a_thousand_a_second(server):
    r = Reader(server)
    server.start_instance("Ask", None, "calm")               # a small batch is followed soon by the next
    r.until(lambda r: "calm" in r.names())
    began = time.monotonic()
    expect(server.call("PUT", "/queue/many/config", {"orchestration": "Echo"}), 200)
    for k in range(8):
        expect(server.post("/queue/many/push", {"items": [{"item": k * 500 + i} for i in range(500)]}), 200)
    r.until(lambda r: sum(e["count"] for e in r.events) >= 4000, 30)
    took = time.monotonic() - began
    named = sum(len(e["instances"]) for e in r.events)
    assert all(len(e["instances"]) + len(e["queues"]) <= 1000 for e in r.events)
    assert named <= 1000 * (took + 2), (named, took)
    for a, b in zip(r.events, r.events[1:]):                 # a millisecond for each name
        assert b["at"] - a["at"] >= 0.0005 * len(a["instances"]), (len(a["instances"]), b["at"] - a["at"])
    r.close()


def test_what_the_stream_refuses(server):
    for query, why in (("?brief=maybe", "brief"), ("?instance=", "not empty"), ("?queue=", "not empty"),
                       ("?brief=true&instance=x", "leave out"), ("?brief=true&queue=x", "leave out"),
                       ("?instances=x", "instance")):
        reply = expect(server.get(S + query), 400)
        assert why in reply.json["error"]["message"], (query, reply.json)


def test_a_token_for_queues_watches_its_queues_alone():
    server = Server("--require-token", start=False)
    some, full = bearer(server, "operate", "--queues", "mail"), bearer(server, "admin")
    with server.start():
        expect(server.get(S + "?queue=secret", headers=some), 403)
        expect(server.get(S + "?instance=x", headers=some), 403)
        r, brief = Reader(server, "?queue=mail-1", headers=some), Reader(server, "?brief=true", headers=some)
        for name in ("secret", "mail-1"):
            expect(server.post("/queue/%s/push" % name, '{"item":1}', headers=full), 200)
        r.until(lambda r: r.queues() == {"mail-1"})
        brief.until(lambda r: r.queues() == {"mail-1"})
