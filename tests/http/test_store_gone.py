# SPDX-License-Identifier: MIT
"""The data is deleted, moved or replaced under a running server: nothing is acknowledged that
nobody would find again."""
import os
import shutil
import signal
import sqlite3
import threading
import time

from kit import Server, expect
from test_fields import BODIES, prepared
from test_matrix import path_of, routes


def refused(server, path="/queue/q/push", body={"item": 1}):
    """Written nowhere, and the server says so; it still ends when told."""
    assert b"is gone" in expect(server.post(path, body), 503).body
    health = expect(server.get("/health"), 503)
    assert "is gone" in health.json["reason"], health
    expect(server.post(path, body), 503)
    began = time.monotonic()
    assert server.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < 8, "it took long to end"
    assert server.log_text().count("the store is gone") == 1, server.log_text()


class Pushers:
    """Some clients that push numbers, and note which were accepted."""

    def __init__(self, server, count=4):
        self.accepted, self.late, self.stop, self.over = [], [], False, False
        self.threads = [threading.Thread(target=self.push, args=(server, n)) for n in range(count)]
        for t in self.threads:
            t.start()

    def push(self, server, n):
        item = n * 1000000
        while not self.stop:
            after = self.over
            if server.post("/queue/q/push", {"item": item}, fresh=True).status == 200:
                (self.late if after else self.accepted).append(item)
            item += 1

    def end(self):
        self.stop = True
        for t in self.threads:
            t.join()


def everything(server):
    while True:
        items = expect(server.post("/queue/q/pop?count=100"), 200).json["items"]
        if not items:
            return
        yield from items


def test_store_gone_deleted_while_clients_push(server):
    pushers = Pushers(server)
    time.sleep(0.3)
    shutil.rmtree(server.data)
    pushers.over = True
    time.sleep(0.5)
    pushers.end()
    assert pushers.accepted and not pushers.late, pushers.late[:5]
    refused(server)


# They have a body, or a method, of what changes; they change nothing that is stored.
NOTHING_STORED = {"POST /login", "POST /logout", "POST /api/v1/schedules:next"}
FINE = {"PUT /api/v1/schedules/{schedule}": {"every_ms": 1000, "orchestration": "Ask"},
        "PUT /api/v1/limits/{limit}": {"match": [{"activity": "A"}], "concurrency": 1},
        "POST /api/v1/turns": {"protocol": 1, "session": "0123456789abcdef", "code": [{"name": "F", "version": "1.0.0"}]},
        "DELETE /queue/{queue}/messages/{message}": None}


def test_store_gone_no_call_that_writes_is_acknowledged():
    with prepared() as server:
        shutil.rmtree(server.data)
        expect(server.post("/queue/q/push", {"item": 1}), 503)
        seen = {}
        for method, pattern, _ in routes(server):
            name = method + " " + pattern
            if method != "GET" and name not in NOTHING_STORED:
                body = FINE[name] if name in FINE else BODIES.get(name, (None if method == "DELETE" else {},))[0]
                seen[name] = server.call(method, path_of(pattern.replace("{message}", "1")), body)
        taken = {name: str(reply) for name, reply in seen.items() if reply.status != 503}
        assert len(seen) > 40 and not taken, taken


def test_store_gone_every_accepted_item_is_where_the_directory_was_moved(server):
    for n in range(3):
        pushers = Pushers(server)
        time.sleep(0.2)
        moved = server.data.with_suffix(".moved%d" % n)
        os.rename(server.data, moved)
        time.sleep(0.2)
        pushers.end()
        server.stop(signal.SIGKILL)
        with Server(data=moved) as other:
            held = set(everything(other))
            assert held >= set(pushers.accepted + pushers.late), "accepted, and not there"
        os.rename(moved, server.data)
        server.start()


def test_store_gone_database_replaced(server):
    expect(server.post("/queue/q/push", {"item": 1}), 200)
    shutil.copy(server.data / "pawl.db", server.data / "other")
    os.rename(server.data / "other", server.data / "pawl.db")
    refused(server)


def test_store_gone_wal_deleted(server):
    expect(server.post("/queue/q/push", {"item": 1}), 200)
    (server.data / "pawl.db-wal").unlink()
    refused(server)


def test_store_gone_what_took_its_place_is_not_touched(server):
    expect(server.post("/queue/q/push", {"item": 1}), 200)
    moved = server.data.with_suffix(".before")
    os.rename(server.data, moved)
    shutil.copytree(moved, server.data)                  # as a restore beside the live one would
    before = {p.name: p.stat().st_size for p in server.data.iterdir()}
    refused(server)
    assert {p.name: p.stat().st_size for p in server.data.iterdir()} == before


def test_store_gone_plain_files_deleted():
    with Server(start=False) as server:
        server.flags += ["--store", "jsonl:%s" % server.data]
        server.start()
        server.ended(server.start_instance("Echo", 1))
        shutil.rmtree(server.data)
        refused(server, "/api/v1/instances", {"orchestration": "Echo", "input": 1})


def test_store_gone_plain_files_deleted_and_made_again():
    with Server(start=False) as server:
        server.flags += ["--store", "jsonl:%s" % server.data]
        server.start()
        server.ended(server.start_instance("Echo", 1))
        shutil.rmtree(server.data)
        server.data.mkdir(mode=0o700)
        refused(server, "/api/v1/instances", {"orchestration": "Echo", "input": 1})
        assert not list(server.data.iterdir()), list(server.data.iterdir())


def test_store_damaged_item_is_told_and_not_served(server):
    for n in range(3):
        expect(server.post("/queue/q/push", {"item": "item %d" % n}), 200)
    server.stop()
    db = sqlite3.connect(server.data / "pawl.db")
    db.execute("UPDATE queue_entry SET data=replace(data,'item 1','item 7')")
    db.commit()
    db.close()
    server.start()
    assert list(everything(server)) == ["item 0", "item 2"]
    server.post("/queue/q/push", {"item": 1})
    metrics = expect(server.get("/metrics"), 200).body.decode()
    told = [line for line in metrics.splitlines() if line.startswith("pawl_store_damaged_total ")]
    assert told and float(told[0].split()[1]) >= 1, told
    end = time.monotonic() + 20               # told within a second, though no request comes any more
    while 'last="queue entry' not in server.log_text() and time.monotonic() < end:
        time.sleep(0.1)
    assert 'last="queue entry' in server.log_text(), server.log_text()
