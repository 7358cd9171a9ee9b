# SPDX-License-Identifier: MIT
"""Running a server for long: what is kept, what is measured, modules."""
import time

from kit import Server, expect

I = "/api/v1/instances"


def wait_until(condition, what, seconds=30):
    for _ in range(seconds * 50):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def test_retain_completed():
    for how in ({"flags": ["--retain-completed=500ms"]},
                {"flags": [], "env": {"PAWL_RETAIN_COMPLETED": "500ms"}}):
        with Server(*how["flags"], env=how.get("env")) as server:
            server.start_instance("Ask", None, "open")
            for n in range(30):
                server.start_instance("Parent", [n], "p%d" % n)
            wait_until(lambda: [i["instance"] for i in server.get(I).json["instances"]] == ["open"],
                       "what ended is still there")
            expect(server.get(I + "/p0"), 404)
            expect(server.post(I + "/open/events/Answer", "1"), 202)
            assert server.get(I + "/open/wait?timeout_ms=5000").json["output"] == 1
    with Server() as server:
        server.ended(server.start_instance("Echo", 1, "kept"))
        time.sleep(1.2)
        expect(server.get(I + "/kept"), 200)


def test_retain_completed_wants_a_duration():
    server = Server("--retain-completed=30", start=False)
    try:
        server.start()
        raise RuntimeError("started")
    except AssertionError as error:
        assert "a duration with a unit" in str(error), error
    assert server.process.returncode == 2
