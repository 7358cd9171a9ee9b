# SPDX-License-Identifier: MIT
"""A server, a crowd that gives it work, and a checker that believes neither.

The crowd writes down what was acknowledged (a 2xx, in the ledger of this process), the
activities write down that they ran (the file STORY_EFFECTS, one write a run), and at the
end the database is asked with SQL.  Acknowledged work must end, once, with the right
output; whatever ran was scheduled; whatever is recorded ran.
"""
import http.client
import pathlib
import sqlite3
import subprocess
import tempfile
import threading
import time

import database
import kit

STEPS = 4
_module = None


def module():
    """The orchestrations of the story."""
    global _module
    if _module is None:
        _module = kit.work_dir() / "flows.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-I", str(kit.ROOT / "include"), "-o",
                        str(_module), str(kit.ROOT / "tests" / "story" / "flows.c")], check=True)
    return _module


class World:
    def __init__(self, *flags, data=None, env=None, start=True):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=kit.work_dir()))
        self.effects = self.place / "effects"
        self.effects.touch()
        self.server = kit.Server(*flags, data=data or self.place / "data", load=[module()],
                                 env={"STORY_EFFECTS": str(self.effects), **(env or {})},
                                 start=False)
        self.acked, self.refused, self.lost = {}, {}, 0
        self.lock, self.threads, self.on = threading.Lock(), [], False
        self.next = 0
        if start:
            self.server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rest()
        self.server.stop(kit.signal.SIGKILL)

    # ---- The crowd ----------------------------------------------------------------

    def start_one(self, body=None):
        """Start one instance: the status, or None when nobody answered."""
        with self.lock:
            self.next += 1
            name = "x-%d" % self.next
        try:
            reply = self.server.call("POST", "/api/v1/instances", body or {
                "orchestration": "StoryChain", "instance": name, "input": {"n": STEPS}},
                fresh=True, timeout=20)
        except (OSError, http.client.HTTPException):
            with self.lock:
                self.lost += 1
            return None
        with self.lock:
            if reply.status in (200, 201):
                self.acked[reply.json["instance"]] = body
            else:
                assert reply.json["error"]["message"], reply
                self.refused[reply.status] = self.refused.get(reply.status, 0) + 1
        return reply.status

    def crowd(self, clients=4, pause=0.0):
        def client():
            while self.on:
                if self.start_one() is None:
                    time.sleep(0.05)
                time.sleep(pause)
        self.on = True
        self.threads = [threading.Thread(target=client) for _ in range(clients)]
        for t in self.threads:
            t.start()

    def rest(self):
        self.on = False
        for t in self.threads:
            t.join()
        self.threads = []

    def until(self, count, seconds=30):
        """Until so many more were acknowledged."""
        want, end = len(self.acked) + count, time.monotonic() + seconds
        while len(self.acked) < want:
            assert time.monotonic() < end, "only %d of %d acknowledged, refused %r" % (
                len(self.acked), want, self.refused)
            time.sleep(0.02)

    # ---- The checker ----------------------------------------------------------------

    def runs(self):
        return len(self.effects.read_text().split("\n")) - 1

    def check(self, seconds=60):
        """All acknowledged work ends as it has to; then the rows, with the server gone."""
        self.rest()
        end = time.monotonic() + seconds
        for name, body in self.acked.items():
            got = {}
            while got.get("status") != "completed" and time.monotonic() < end:
                reply = self.server.get("/api/v1/instances/%s/wait?timeout_ms=5000" % name)
                assert reply.status in (200, 202), (name, reply)
                got = reply.json
                assert got["status"] not in ("failed", "cancelled", "terminated"), got
            assert got.get("status") == "completed", (name, got)
            if body is None:
                assert got["output"] == sum(range(1, STEPS + 1)), got
        for state in ("pending", "running"):    # refused ones may be there, and end like the others
            while self.server.get("/api/v1/instances?status=" + state).json["instances"]:
                assert time.monotonic() < end, "one is still " + state
                time.sleep(0.05)
        assert self.server.stop() == 0, self.server.log_text()[-2000:]
        self.check_rows()

    def check_rows(self):
        db = sqlite3.connect(self.server.data / "pawl.db")
        db.executescript(
            "CREATE TEMP TABLE h AS SELECT uid,execution,seq&4294967295 AS seq,kind,ref,name FROM history;"
            "CREATE INDEX temp.by_task ON h(uid,execution,ref)")
        database.ask(self, db, "history", database.HISTORY)
        database.check_effects(self, db, self.effects)
        ids = {row[0] for row in db.execute("SELECT id FROM instance")}
        db.close()
        missing = [name for name in self.acked if name not in ids]
        assert not missing, "acknowledged and gone: %r" % missing

    def wrong(self, rule, text):
        raise AssertionError("%s: %s" % (rule, text))

    def count(self, what, n):
        pass
