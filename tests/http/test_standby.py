# SPDX-License-Identifier: MIT
"""pawl serve --standby on one data directory: it waits without listening, and goes on when the first is gone.

tests/postgres/verbs tries the same on PostgreSQL."""
import signal
import subprocess
import time

from kit import PAWL, Server, module


def stand_by(first, **more):
    """A process that waits for the store of `first`; its address will be in the file."""
    url = first.data.with_suffix(".second")
    command = [str(PAWL), "serve", "--standby", "--data", str(first.data), "--listen", "127.0.0.1:0",
               "--url-file", str(url), "--load", str(module())]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more), url


def test_it_waits_and_takes_over():
    with Server() as first:
        first.post("/queue/jobs/push", {"items": [{"item": n} for n in range(3)]})
        second, url = stand_by(first)
        try:
            line = second.stderr.readline()
            assert "standing by: data directory" in line and "in use by pid %d" % first.process.pid in line, line
            assert not url.exists()
            first.stop(signal.SIGKILL)
            until = time.monotonic() + 20
            while not (url.exists() and url.read_text().endswith("\n")) and time.monotonic() < until:
                time.sleep(0.05)
            first.port = int(url.read_text().rpartition(":")[2])
            got = first.post("/queue/jobs/pop?count=5", {}, fresh=True).json
            assert len(got["items"]) == 3, got
        finally:
            second.send_signal(signal.SIGTERM)
            rest = second.communicate(timeout=30)[1]
        assert second.returncode == 0, rest
        assert "standing by" not in rest                                          # it was said once


def test_signals_while_it_waits():
    with Server() as first:
        second, url = stand_by(first)
        assert "standing by" in second.stderr.readline()
        second.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert second.poll() is None
        second.send_signal(signal.SIGTERM)
        second.communicate(timeout=30)
        assert second.returncode == 0 and not url.exists()
        assert first.get("/health").status == 200


def test_without_trouble_it_serves():
    with Server("--standby") as server:
        assert server.get("/health").status == 200 and "standing by" not in server.log_text()
