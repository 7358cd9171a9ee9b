# SPDX-License-Identifier: MIT
"""Too little of something: disk, descriptors, threads, permission."""
import contextlib
import os
import pathlib
import resource
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

import kit
from world import World


@contextlib.contextmanager
def small_disk(size):
    """A file system of its own, or None where none can be mounted."""
    place = pathlib.Path(tempfile.mkdtemp(dir=kit.work_dir()))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%s,mode=0700" % size, "tmpfs",
                           str(place)], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print("| skipped: a tmpfs cannot be mounted here (%s)" % done.stderr.strip())
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def fill(place):
    with open(place / "filler", "wb", buffering=0) as f:
        with contextlib.suppress(OSError):
            while True:
                f.write(bytes(65536))


def test_D04_a_full_disk_refuses_new_work_and_loses_none():
    with small_disk("24m") as disk:
        if not disk:
            return
        with World(data=disk / "data") as w:
            w.crowd(pause=0.01)
            w.until(10)
            fill(disk)
            big = {"orchestration": "StoryChain", "input": {"n": 1, "pad": "x" * 200000}}
            end = time.monotonic() + 60
            while w.start_one(big) in (200, 201):  # until the reserve is used up too
                assert time.monotonic() < end, "the disk never filled"
            w.rest()
            assert 507 in w.refused, w.refused
            assert set(w.refused) <= {503, 507}, w.refused
            assert w.server.process.poll() is None
            kit.expect(w.server.get("/api/v1/instances?limit=1"), 200)  # looking always works
            sick = w.server.get("/health")  # new work is refused: that is no progress
            kit.expect(sick, 503, status="unhealthy")
            assert "disk is full" in sick.json["reason"], sick
            (disk / "filler").unlink()
            end = time.monotonic() + 30
            while w.server.get("/health").status != 200:  # though nobody asked for anything
                assert time.monotonic() < end, w.server.get("/health")
                time.sleep(0.1)
            end = time.monotonic() + 30
            while w.start_one() not in (200, 201):
                assert time.monotonic() < end, (w.refused, w.server.log_text()[-1000:])
                time.sleep(0.2)
            w.check()


def push_until_full(server, queue, item):
    """How many were accepted before the first refusal."""
    count, end = 0, time.monotonic() + 60
    while True:
        status = server.post("/queue/%s/push" % queue, {"item": item}).status
        if status == 507:
            return count
        assert status == 200 and time.monotonic() < end, status
        count += 1


def test_D04_a_disk_that_work_filled_is_usable_again_when_the_work_is_gone():
    """Nothing else is on it to be deleted: what is freed lies inside the database."""
    for size in ("16m", "48m"):
        with small_disk(size) as disk:
            if not disk:
                return
            with World(data=disk / "data", start=False) as w, open(w.place / "log", "ab") as log:
                w.server.start(output=log)  # not on that disk
                first = push_until_full(w.server, "big", "x" * 200000)
                assert first > 10, first
                said = (w.place / "log").read_text()
                assert "disk is full" in said, said
                kit.expect(w.server.post("/queue/big/purge", {}), 200, items_purged=first)
                again = push_until_full(w.server, "big", "y" * 200000)
                assert again > first / 3, (size, first, again)
                w.server.stop()
                w.server.start(output=log)  # full as it is
                kit.expect(w.server.post("/queue/big/purge", {}), 200, items_purged=again)
                assert push_until_full(w.server, "big", "z" * 200000) > first / 3


def run(*words):
    return subprocess.run([str(kit.PAWL), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=30)


def test_D10_a_read_only_disk_is_refused_for_work_and_good_for_looking():
    with small_disk("64m") as disk:
        if not disk:
            return
        data = str(disk / "data")
        with World(data=disk / "data") as w:
            for _ in range(5):
                w.start_one()
            w.server.stop()
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            done = run("work", "--data", data, "--until-idle")
            assert done.returncode == 3 and "read-only" in done.stderr.lower(), done
            done = run("ls", "--data", data, "-o", "ids")
            assert done.returncode == 0 and len(done.stdout.split()) == 5, done
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
            w.server.start()
            w.check()


def crowd_of_sockets(port, count):
    sockets = []
    for _ in range(count):
        s = socket.socket()
        s.settimeout(2)
        try:
            s.connect(("127.0.0.1", port))
        except OSError:
            s.close()
            break
        sockets.append(s)
    return sockets


def test_H03_no_descriptors_left_and_it_serves_again_when_there_are():
    with World(start=False) as w:
        w.server.start()
        pid = w.server.process.pid
        kit.expect(w.server.get("/health"), 200)
        used = len(os.listdir("/proc/%d/fd" % pid))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 12, used + 12))
        for _ in range(5):
            assert w.start_one() in (200, 201)
        sockets = crowd_of_sockets(w.server.port, 60)
        time.sleep(0.5)
        assert w.server.process.poll() is None, w.server.log_text()[-1000:]
        cpu = sum(map(float, pathlib.Path("/proc/%d/stat" % pid).read_text().split()[13:15]))
        time.sleep(1)
        spent = sum(map(float, pathlib.Path("/proc/%d/stat" % pid).read_text().split()[13:15])) - cpu
        assert spent < 50, "it spins: %d of 100 ticks" % spent
        for s in sockets:
            s.close()
        end = time.monotonic() + 30
        while w.start_one() not in (200, 201):
            assert time.monotonic() < end, w.server.log_text()[-1000:]
            time.sleep(0.2)
        w.check()


def test_H03_started_with_few_descriptors():
    """Enough for the store and a few clients, or a line that says what is missing."""
    place = pathlib.Path(tempfile.mkdtemp(dir=kit.work_dir()))
    for limit in (4, 8, 12, 16, 24, 40):
        done = subprocess.run(
            [str(kit.PAWL), "start", "Nobody", "--allow-unregistered", "--data", str(place / "d"),
             "--id", "n-%d" % limit],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
        assert done.returncode in (0, 3), (limit, done)
        assert done.returncode == 0 or done.stderr.startswith("pawl: "), (limit, done)
    assert done.returncode == 0, done


def test_D12_somebody_else_holds_the_write_lock():
    """An operator's sqlite3 shell with an open transaction: work waits, none fails."""
    with World() as w:
        w.crowd(pause=0.02)
        w.until(5)
        db = sqlite3.connect(w.server.data / "pawl.db", isolation_level=None, timeout=5)
        db.execute("BEGIN IMMEDIATE")
        time.sleep(2)
        assert w.server.process.poll() is None
        db.execute("ROLLBACK")
        db.close()
        w.until(5)
        w.check()


def test_D14_a_long_reader_only_lets_the_log_grow():
    with World() as w:
        w.crowd()
        w.until(5)
        db = sqlite3.connect("file:%s?mode=ro" % (w.server.data / "pawl.db"), uri=True)
        rows = db.execute("SELECT a.rid FROM history a, history b")
        rows.fetchone()
        w.until(60)
        db.close()
        w.check()


def test_D09_a_shared_memory_file_of_noise_is_made_anew():
    with World() as w:
        for _ in range(8):
            w.start_one()
        w.server.process.kill()
        w.server.process.wait(20)
        shm = w.server.data / "pawl.db-shm"
        shm.write_bytes(os.urandom(32768))
        w.server.start()
        w.check()


def test_C16_a_second_server_on_the_directory_is_refused():
    with World() as w:
        w.start_one()
        done = subprocess.run([str(kit.PAWL), "serve", "--data", str(w.server.data), "--listen",
                               "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=30)
        assert done.returncode == 3 and "in use by pid %d" % w.server.process.pid in done.stderr, done
        w.check()


def test_K10_files_are_private_whatever_the_umask():
    before = os.umask(0)
    try:
        with World() as w:
            w.start_one()
            subprocess.run([str(kit.PAWL), "token", "new", "--scope", "read", "--data",
                            str(w.server.data)], check=True, stdout=subprocess.DEVNULL)
            for path in [w.server.data, *w.server.data.iterdir()]:
                assert path.stat().st_mode & 0o077 == 0, (path, oct(path.stat().st_mode))
    finally:
        os.umask(before)


def test_D11_the_database_is_moved_away_underneath():
    """It cannot notice at once; but it never mixes two files, and says what is wrong."""
    with World() as w:
        for _ in range(5):
            w.start_one()
        moved = w.server.data.with_name("moved")
        w.server.data.rename(moved)
        w.start_one()  # into the file it has open
        w.server.stop()
        moved.rename(w.server.data)
        w.server.start()
        w.check()


def test_F15_a_storm_of_events_is_refused_and_hurts_nobody_else():
    with World("--max-mailbox=200") as w:
        kit.expect(w.server.post("/api/v1/instances", {"orchestration": "StoryAsk", "instance": "i",
                                                       "input": {}}), 201)
        raised = []

        def storm():
            for n in range(100):
                raised.append(w.server.call("POST", "/api/v1/instances/i/events/Nobody", {"n": n}, fresh=True))
        threads = [threading.Thread(target=storm) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        kept = [r for r in raised if r.status == 202]
        over = [r for r in raised if r.status == 409]
        assert len(kept) == 200 and len(over) == 200, (len(kept), len(over))
        assert "--max-mailbox" in over[0].json["error"]["message"], over[0]
        for _ in range(5):
            assert w.start_one() in (200, 201)
        w.server.restart()
        kit.expect(w.server.post("/api/v1/instances/i/events/Nobody", {}), 409, "conflict")
        kit.expect(w.server.get("/health"), 200)
        kit.expect(w.server.post("/api/v1/instances/i/terminate", {}), 202)
        w.check()
