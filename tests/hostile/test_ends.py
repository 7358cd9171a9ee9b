# SPDX-License-Identifier: MIT
"""Ways to end the process, or to hold it, while it has work."""
import os
import signal
import time

import kit
from world import World


def test_A19_sigterm_and_then_sigkill_loses_nothing_acknowledged():
    with World() as w:
        for grace in (0.0, 0.01, 0.05, 0.2):
            w.crowd()
            w.until(15)
            w.server.process.send_signal(signal.SIGTERM)
            time.sleep(grace)
            w.server.process.send_signal(signal.SIGKILL)
            w.server.process.wait(20)
            w.rest()
            w.server.start()
        w.check()


def test_A07_kill_9_under_load_loses_nothing_acknowledged():
    with World() as w:
        for _ in range(4):
            w.crowd()
            w.until(15)
            w.server.process.kill()
            w.server.process.wait(20)
            w.rest()
            w.server.start()
        w.check()


def poll(w, wait_ms=0):
    reply = kit.expect(w.server.post("/api/v1/work/poll", {
        "activities": ["Charge"], "max": 1, "lock_ms": 1000, "wait_ms": wait_ms}), 200)
    return reply.json["items"]


def test_A20_a_server_stopped_beyond_its_leases_gives_work_and_items_again_once():
    """While it is stopped lease and lock run out: their holders are told, others get both."""
    with World() as w:
        w.start_one({"orchestration": "StoryRemote", "instance": "far", "input": 7})
        first = poll(w, 5000)
        assert len(first) == 1, first
        kit.expect(w.server.post("/queue/q/push", {"item": 1}), 200)
        held = kit.expect(w.server.post("/queue/q/pop?require_ack=true&ttl_seconds=1"), 200).json
        w.server.process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        w.server.process.send_signal(signal.SIGCONT)
        again = poll(w, 10000)
        assert len(again) == 1 and again[0]["token"] != first[0]["token"], again
        late = w.server.post("/api/v1/work/%s/complete" % first[0]["token"], {"result": 1})
        assert late.status == 410, late
        kit.expect(w.server.post("/api/v1/work/%s/complete" % again[0]["token"], {"result": 2}), 200)
        other = kit.expect(w.server.post("/queue/q/pop?require_ack=true&ttl_seconds=5"), 200).json
        assert other.get("lock_id") and other["lock_id"] != held["lock_id"], other
        lost = w.server.post("/queue/q/acknowledge", {"lock_id": held["lock_id"]})
        assert lost.status == 410, lost
        kit.expect(w.server.post("/queue/q/acknowledge", {"lock_id": other["lock_id"]}), 200)
        last = poll(w, 10000)
        kit.expect(w.server.post("/api/v1/work/%s/complete" % last[0]["token"], {"result": 3}), 200)
        assert w.server.ended("far")["output"] == [2, 3]
        w.acked.clear()
        assert w.server.stop() == 0
        w.check_rows()


def test_B06_a_worker_that_slept_beyond_its_lease_is_told_and_recorded_once():
    with World() as w:
        w.start_one({"orchestration": "StoryRemote", "instance": "far", "input": 7})
        slept = poll(w, 5000)[0]
        woke = poll(w, 10000)[0]  # the lease of the first is over
        kit.expect(w.server.post("/api/v1/work/%s/complete" % woke["token"], {"result": 2}), 200)
        assert w.server.post("/api/v1/work/%s/complete" % slept["token"],
                             {"result": 1}).status == 410
        beat = w.server.post("/api/v1/work/%s/heartbeat" % slept["token"], {})
        assert beat.status == 200 and beat.json["cancelled"] is True, beat  # told to stop
        last = poll(w, 10000)[0]
        kit.expect(w.server.post("/api/v1/work/%s/complete" % last["token"], {"result": 3}), 200)
        assert w.server.ended("far")["output"] == [2, 3]


def test_H05_nobody_reads_its_output():
    """stdout and stderr are pipes whose reader is gone: it serves on."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with World("--log-level", "debug", start=False) as w:
        w.server.start(output=write_end)
        os.close(write_end)
        for _ in range(20):
            kit.expect(w.server.get("/health"), 200)
            assert w.start_one() == 201
        w.check()
