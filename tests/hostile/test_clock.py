# SPDX-License-Identifier: MIT
"""Wall clocks that jump, by libfaketime; the monotonic clock goes on."""
import glob
import time

import kit
from world import World


def library():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if not found:
        print("| skipped: libfaketime is not installed")
    return found[0] if found else None


class Clock:
    """The server's wall clock: `set` moves it by so many seconds from the true one."""

    def __init__(self, path):
        self.path = path
        self.set(0)

    def set(self, seconds):
        new = self.path.with_suffix(".new")
        new.write_text("%+d\n" % seconds)
        new.rename(self.path)

    def env(self, lib):
        return {"LD_PRELOAD": lib, "FAKETIME_TIMESTAMP_FILE": str(self.path),
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DISABLE_SHM": "1"}


def world():
    lib = library()
    if not lib:
        return None, None
    w = World(start=False)
    clock = Clock(w.place / "clock")
    w.server.env.update(clock.env(lib))
    w.server.start()
    return w, clock


def fired(w, name):
    events = w.server.get("/api/v1/instances/%s/history" % name).json["events"]
    return [e for e in events if e["kind"] == "TimerFired"]


def test_C01_an_hour_forward_fires_what_is_due_once():
    w, clock = world()
    if not w:
        return
    with w:
        w.start_one({"orchestration": "StoryNap", "instance": "nap", "input": {"n": 1800000}})
        w.crowd(pause=0.02)
        w.until(5)
        assert not fired(w, "nap")
        clock.set(3600)
        w.until(10)
        w.rest()
        assert w.server.ended("nap")["status"] == "completed"
        assert len(fired(w, "nap")) == 1
        w.check()


def test_C02_an_hour_back_loses_no_timer_and_fires_none_twice():
    """A timer set before the step waits for its time; new ones are not held up."""
    w, clock = world()
    if not w:
        return
    with w:
        w.start_one({"orchestration": "StoryNap", "instance": "before", "input": {"n": 1500}})
        clock.set(-3600)
        w.start_one({"orchestration": "StoryNap", "instance": "after", "input": {"n": 300}})
        w.crowd(pause=0.02)
        w.until(10)
        w.rest()
        assert w.server.ended("after")["status"] == "completed"
        clock.set(0)
        assert w.server.ended("before")["status"] == "completed"
        for name in ("before", "after"):
            assert len(fired(w, name)) == 1, name
        w.check()


def test_C01_a_lease_ends_early_when_the_clock_jumps_and_nothing_is_done_twice():
    w, clock = world()
    if not w:
        return
    with w:
        w.start_one({"orchestration": "StoryRemote", "instance": "far", "input": 7})
        poll = {"activities": ["Charge"], "max": 1, "lock_ms": 60000, "wait_ms": 10000}
        first = w.server.post("/api/v1/work/poll", poll).json["items"][0]
        clock.set(3600)
        again = w.server.post("/api/v1/work/poll", poll).json["items"]
        assert len(again) == 1, again
        assert w.server.post("/api/v1/work/%s/complete" % first["token"],
                             {"result": 1}).status == 410
        kit.expect(w.server.post("/api/v1/work/%s/complete" % again[0]["token"], {"result": 2}), 200)
        last = w.server.post("/api/v1/work/poll", poll).json["items"][0]
        kit.expect(w.server.post("/api/v1/work/%s/complete" % last["token"], {"result": 3}), 200)
        assert w.server.ended("far")["output"] == [2, 3]
        w.acked.clear()
        assert w.server.stop() == 0
        w.check_rows()


def test_C12_jumps_under_load_with_a_kill_between():
    w, clock = world()
    if not w:
        return
    with w:
        for jump in (7200, -7200, 86400, -3600, 0):
            w.crowd(pause=0.01)
            w.until(6)
            clock.set(jump)
            w.until(6)
            w.server.process.kill()
            w.server.process.wait(20)
            w.rest()
            w.server.start()
        w.check()


def test_C06_a_time_zone_of_nonsense():
    for zone in (":no/such/zone", "Asia/Kolkata", "XYZ-99:99"):
        with World(env={"TZ": zone}) as w:
            w.start_one({"orchestration": "StoryNap", "instance": "nap", "input": {"n": 50}})
            began = time.time() * 1000
            got = w.server.ended("nap")
            assert got["status"] == "completed", got
            events = w.server.get("/api/v1/instances/nap/history").json["events"]
            assert "Z" in str(events[0]) or began, events
            w.check()
