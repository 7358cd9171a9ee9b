# SPDX-License-Identifier: MIT
"""pawl backup beside a server, killed on the way, and restore into a new directory."""
import json
import os
import signal
import sqlite3
import subprocess
import threading

import kit
from kit import Server, expect

I = "/api/v1/instances"


def pawl(*words, want=0, env=None):
    done = subprocess.run([str(kit.PAWL), *map(str, words)], capture_output=True, text=True,
                          timeout=120, env={"PATH": "/usr/bin:/bin", **(env or {})},
                          cwd=kit.work_dir())
    assert done.returncode == want, (words, done)
    return done.stdout + done.stderr


def files(path):
    return sorted(p.name for p in path.iterdir())


class Load:
    """Starts and pushes on several connections; what was answered is remembered."""

    def __init__(self, server, threads=3, size=500):
        self.server, self.over, self.size = server, False, size
        self.instances, self.items, self.lock = [], [], threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(n,)) for n in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, n):
        import http.client
        conn = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

        def post(path, body):
            conn.request("POST", path, json.dumps(body))
            answer = conn.getresponse()
            answer.read()
            assert answer.status < 300, answer.status

        i = 0
        while not self.over:
            name, i = "load-%d-%d" % (n, i), i + 1
            post(I, {"orchestration": "Ask", "instance": name, "input": "x" * self.size})
            with self.lock:
                self.instances.append(name)
            post("/queue/load/push", {"item": name})
            with self.lock:
                self.items.append(name)

    def answered(self):
        with self.lock:
            return list(self.instances), list(self.items)

    def stop(self):
        self.over = True
        for thread in self.threads:
            thread.join(60)


def wait_for(load, count):
    import time
    for _ in range(3000):
        if len(load.answered()[1]) >= count:
            return
        time.sleep(0.01)
    raise AssertionError("the load does not move")


def contents(file):
    db = sqlite3.connect("file:%s?mode=ro" % file, uri=True)
    try:
        ids = {row[0] for row in db.execute("SELECT id FROM instance")}
        items = {json.loads(row[0]) for row in db.execute(
            "SELECT data FROM queue_entry JOIN queue USING(qid) WHERE queue.name='load'")}
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return ids, items
    finally:
        db.close()


def test_backup_under_load_has_everything_answered(server):
    goal = kit.work_dir() / "load.db"
    load = Load(server)
    try:
        wait_for(load, 150)
        instances, items = load.answered()
        said = json.loads(pawl("--data", server.data, "backup", goal, "-o", "json"))
    finally:
        load.stop()
    assert said["instances"] >= len(instances) and said["file"] == str(goal)
    assert os.stat(goal).st_mode & 0o777 == 0o600
    assert not list(kit.work_dir().glob("load.db?*")), "nothing beside it"
    ids, kept = contents(goal)
    assert set(instances) <= ids and set(items) <= kept
    # One moment: what one client did after another is there only with what came before.
    assert kept <= ids
    server.stop()
    new = kit.work_dir() / "load-new"
    pawl("restore", goal, "--data", new)
    with Server(data=new) as again:
        for name in (instances[0], instances[-1]):
            expect(again.get(I + "/" + name), 200, status="running")
            expect(again.post(I + "/%s/events/Answer" % name, "1"), 202)
            assert again.ended(name)["output"] == 1
        expect(again.get("/queue/load"), 200)


def test_killed_backup_leaves_the_goal_alone(server):
    """At every point on the way; the next try succeeds whatever was left."""
    goal = kit.work_dir() / "killed.db"
    server.start_instance("Ask", None, "first")
    pawl("--data", server.data, "backup", goal)
    before = goal.read_bytes()
    load = Load(server, 1, 12000)
    try:
        wait_for(load, 300)
        for point in ("backup.step", "backup.step:2", "backup.copied", "backup.checked",
                      "backup.synced"):
            pawl("--data", server.data, "backup", goal, "--force", want=-signal.SIGKILL,
                 env={"PAWL_CRASH_AT": point})
            assert goal.read_bytes() == before, point
            fresh = kit.work_dir() / "killed-fresh.db"
            pawl("--data", server.data, "backup", fresh, want=-signal.SIGKILL,
                 env={"PAWL_CRASH_AT": point})
            assert not fresh.exists(), point
        pawl("--data", server.data, "backup", goal, "--force", want=-signal.SIGKILL,
             env={"PAWL_CRASH_AT": "backup.renamed"})
        contents(goal)                                    # the new one, whole
        assert goal.read_bytes() != before
        pawl("--data", server.data, "backup", goal, "--force")
    finally:
        load.stop()
    assert "first" in contents(goal)[0]
    expect(server.get("/health"), 200)
    assert files(server.data) == ["lock", "pawl.db", "pawl.db-committed", "pawl.db-shm", "pawl.db-wal",
                                  "reserve", "slots"], files(server.data)


def test_restore_fences_leases_and_locks(server):
    server.start_instance("RemoteOrder", {"n": 1}, "leased")
    work = server.post("/api/v1/work/poll", {"activities": ["Charge"], "lock_ms": 600000,
                                             "wait_ms": 5000}).json["items"][0]
    server.post("/queue/q/push", {"item": "held"})
    lock = server.post("/queue/q/pop?require_ack=true&ttl_seconds=300").json["lock_id"]
    goal, new = kit.work_dir() / "fence.db", kit.work_dir() / "fence-new"
    pawl("--data", server.data, "backup", goal)
    old = json.loads(pawl("--data", server.data, "ls", "-o", "json"))
    # What the original does afterwards is not in the backup, and its tokens mean nothing there.
    server.start_instance("RemoteOrder", {"n": 2}, "later")
    later = server.post("/api/v1/work/poll", {"activities": ["Charge"], "lock_ms": 600000,
                                              "wait_ms": 5000}).json["items"][0]
    server.post("/queue/other/push", {"item": "later"})
    lock2 = server.post("/queue/other/pop?require_ack=true&ttl_seconds=300").json["lock_id"]
    info = json.loads(pawl("restore", goal, "--data", new, "-o", "json", "-q"))
    assert info["epoch"] > 2 ** 20 and info["instances"] == len(old["instances"])
    with Server(data=new) as again:
        for item in (work, later):
            for verb, body in (("complete", {"result": 1}), ("fail", {"error": "x"}),
                               ("abandon", {})):
                expect(again.post("/api/v1/work/%s/%s" % (item["token"], verb), body), 410)
        assert again.post("/queue/q/acknowledge", {"lock_id": lock}).status in (404, 410)
        assert again.post("/queue/other/acknowledge", {"lock_id": lock2}).status in (404, 410)
        expect(again.get(I + "/later"), 404)
        # The work is given out again, under another token; the message too.
        anew = again.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 20000,
                                                "lock_ms": 60000}).json["items"][0]
        assert anew["instance"] == "leased" and anew["token"] != work["token"]
        assert anew["key"] == work["key"]                 # the same call, for who asks twice
        expect(again.post("/api/v1/work/%s/complete" % anew["token"], {"result": "paid"}), 200)
        assert again.ended("leased")["output"] == "paid"
        got = again.post("/queue/q/pop?count=1&wait_seconds=10").json["items"]
        assert len(got) == 1 and "held" in json.dumps(got), got
        # No id of the original's later life is used again: keys of activities stay apart.
        again.start_instance("RemoteOrder", {"n": 3}, "later")
        other = again.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 20000,
                                                 "lock_ms": 60000}).json["items"][0]
        assert other["key"] != later["key"]
    # The original never noticed.
    expect(server.post("/api/v1/work/%s/complete" % later["token"], {"result": 1}), 200)
    expect(server.post("/queue/q/acknowledge", {"lock_id": lock}), 200)


def test_killed_restore_is_done_again(server):
    server.start_instance("Ask", None, "kept")
    goal = kit.work_dir() / "again.db"
    pawl("--data", server.data, "backup", goal)
    for n, point in enumerate(("backup.step", "backup.copied", "backup.checked", "backup.synced")):
        new = kit.work_dir() / ("again-%d" % n)
        pawl("restore", goal, "--data", new, want=-signal.SIGKILL, env={"PAWL_CRASH_AT": point})
        assert not (new / "pawl.db").exists()
        pawl("restore", goal, "--data", new)
        assert files(new) == ["lock", "pawl.db"]
        assert pawl("--data", new, "ls", "-o", "ids") == "kept\n"


def test_what_backup_refuses(server):
    dir = kit.work_dir() / "refusals"
    dir.mkdir()
    server.start_instance("Ask", None, "a")
    db = server.data / "pawl.db"
    assert "is the store itself" in pawl("--data", server.data, "backup", db, "--force", want=2)
    (dir / "link").symlink_to(db)
    assert "is the store itself" in pawl("--data", server.data, "backup", dir / "link", want=2)
    (dir / "there").write_text("mine")
    assert "--force" in pawl("--data", server.data, "backup", dir / "there", want=4)
    assert (dir / "there").read_text() == "mine"
    assert "no plain file" in pawl("--data", server.data, "backup", dir, want=2)
    assert "No such file" in pawl("--data", server.data, "backup", dir / "no/where", want=3)
    assert "no store in" in pawl("--data", dir, "backup", dir / "x.db", want=3)
    assert "plain files" in pawl("--store", "jsonl:%s" % dir, "backup", dir / "x.db", want=2)
    assert "memory:" in pawl("--store", "memory:", "backup", dir / "x.db", want=2)
    assert "does not take --url" in pawl("backup", dir / "x.db", "--url", server.url, want=2)
    assert files(dir) == ["link", "there"]


def test_what_restore_refuses(server):
    dir = kit.work_dir() / "refused"
    dir.mkdir()
    server.start_instance("Ask", None, "a")
    good = dir / "good.db"
    pawl("--data", server.data, "backup", good)
    inside = files(server.data)
    said = pawl("restore", good, "--data", server.data, want=3)
    assert "in use by pid %d" % server.process.pid in said
    assert files(server.data) == inside
    full = dir / "full"
    full.mkdir()
    (full / "photo.jpg").write_text("x")
    assert "not empty (photo.jpg)" in pawl("restore", good, "--data", full, want=4)
    assert files(full) == ["photo.jpg"]
    server.stop()
    assert "not empty" in pawl("restore", good, "--data", server.data, want=4)
    assert pawl("--data", server.data, "ls", "-o", "ids") == "a\n"
    for name, bytes in (("text", b"hello" * 1000), ("empty", b""), ("cut", good.read_bytes()[:8192]),
                        ("bent", good.read_bytes()[:4096] + b"\xff" * 8192 + good.read_bytes()[12288:])):
        (dir / name).write_bytes(bytes)
        pawl("restore", dir / name, "--data", dir / ("from-" + name), want=2 if name == "empty" else 3)
        assert not (dir / ("from-" + name) / "pawl.db").exists(), name
    db = sqlite3.connect(dir / "foreign")
    db.execute("CREATE TABLE t(x)")
    db.commit()
    db.close()
    assert "another program" in pawl("restore", dir / "foreign", "--data", dir / "n", want=2)
    (dir / "newer").write_bytes(good.read_bytes())
    db = sqlite3.connect(dir / "newer")
    db.execute("PRAGMA user_version=999")
    db.commit()
    db.close()
    assert "newer than this pawl" in pawl("restore", dir / "newer", "--data", dir / "n", want=2)
    assert "cannot read" in pawl("restore", dir / "nothing", "--data", dir / "n", want=3)
    assert "memory:" in pawl("restore", good, "--store", "memory:", want=2)
    assert not (dir / "n").exists()
