# SPDX-License-Identifier: MIT
"""clients/node runs orchestrations on a real server: every call, and workers and servers that are killed."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import kit
from kit import Server
from test_node import HERE, node

STEPS = 4


class Kills:
    """Workers of tests/http/node/kills.mjs and the ledger of what they did."""

    def __init__(self, server):
        self.server, self.workers = server, []
        self.ledger = pathlib.Path(tempfile.mkdtemp(dir=kit.work_dir())) / "ledger"
        self.ledger.touch()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.kill()
            worker.wait()
            worker.stdout.close()

    def worker(self):
        env = {**os.environ, "PAWL_URL": self.server.url, "LEDGER": str(self.ledger)}
        self.workers.append(subprocess.Popen(["node", str(HERE / "kills.mjs")], env=env, stdout=subprocess.PIPE, text=True))
        said = self.workers[-1].stdout.readline()
        assert said.startswith("serves Steps 1.0.0, Inline 1.0.0"), said
        return self.workers[-1]

    def kill(self, worker):
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def start(self, name, ms, ids):
        for one in ids:
            self.server.start_instance(name, {"steps": STEPS, "ms": ms}, one)

    def did(self, order):
        return [line.split() for line in self.ledger.read_text().splitlines() if line.split()[1] == order]

    def until_step(self, order, step):
        for _ in range(600):
            if any(int(line[2]) >= step for line in self.did(order)):
                return
            time.sleep(0.02)
        raise AssertionError("step %d of %s never began: %s" % (step, order, self.ledger.read_text()))

    def check(self, order, name):
        """Every step began, in order, under one key; each is recorded once."""
        end = self.server.ended(order)
        assert end["status"] == "completed", end
        assert end["output"][:STEPS] == list(range(STEPS)), end
        keys = {}
        for _, _, step, key in self.did(order):
            keys.setdefault(int(step), set()).add(key)
        assert all(len(k) == 1 for k in keys.values()) and len({k for s in keys.values() for k in s}) == len(keys), keys
        events = self.server.get("/api/v1/instances/%s/history" % order).json["events"]
        kinds = [e["kind"] for e in events]
        calls = STEPS + (name == "Steps")
        assert kinds.count("ActivityScheduled") == kinds.count("ActivityCompleted") == calls, kinds
        assert [e["seq"] for e in events] == list(range(1, len(events) + 1))


def test_node_flows():
    with Server("--max-payload", "100K") as server:
        parts = ["work", "mail", "time", "across", "blocks", "fails", "evicted", "again", "told", "paged"]
        assert node(HERE / "flows.mjs", *parts, env={"PAWL_URL": server.url}).strip() == "all flows"


def test_node_worker_is_killed_and_another_goes_on():
    with Server("--turn-lease", "1s") as server, Kills(server) as kills:
        ids = ["k-%d" % i for i in range(6)]
        first = kills.worker()
        kills.start("Steps", 60, ids)
        kills.until_step(ids[0], 1)
        kills.kill(first)
        second = kills.worker()
        kills.until_step(ids[0], 3)
        kills.kill(second)
        kills.worker()
        for one in ids:
            kills.check(one, "Steps")


def test_node_server_is_killed_and_the_worker_goes_on():
    with Server("--turn-lease", "1s") as server, Kills(server) as kills:
        ids = ["s-%d" % i for i in range(6)]
        kills.worker()
        kills.start("Steps", 60, ids)
        for step in (1, 2, 3):
            kills.until_step(ids[0], step)
            server.restart()
        for one in ids:
            kills.check(one, "Steps")


def test_node_worker_is_killed_in_an_inline_step():
    """Its lease runs out, and another worker, whose code has replayed to that await, does the step."""
    with Server("--turn-lease", "1s") as server, Kills(server) as kills:
        first = kills.worker()
        kills.start("Inline", 1000, ["n-1"])
        kills.until_step("n-1", 0)
        kills.kill(first)                        # before its first beat: the lease is a second from its beginning
        killed = time.monotonic()
        kills.worker()
        kills.check("n-1", "Inline")
        assert time.monotonic() - killed < 20, time.monotonic() - killed
        assert len(kills.did("n-1")) > STEPS


def test_node_worker_leaves_and_another_goes_on_at_once():
    """SIGTERM: what runs is handed in, and no lease has to run out."""
    with Server() as server, Kills(server) as kills:      # a lease of 10 s
        first, second = kills.worker(), kills.worker()
        ids = ["l-%d" % i for i in range(8)]
        kills.start("Inline", 100, ids)
        kills.until_step(ids[0], 1)
        first.terminate()
        assert first.wait(20) == 0
        began = time.monotonic()
        for one in ids:
            kills.check(one, "Inline")
        assert time.monotonic() - began < 8 and second.poll() is None
