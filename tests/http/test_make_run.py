# SPDX-License-Identifier: MIT
"""`make run`: sets up, builds, serves, says what to try, stops with 0, goes on the next time.

In a copy of the tracked files with this build beside them; with FRESH=1 in a real clone
that has nothing built.
"""
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import kit
from kit import ROOT

SIGNALS = ((signal.SIGTERM, False), (signal.SIGINT, False), (signal.SIGTERM, True),
           (signal.SIGINT, True))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def copy(name):
    """The project in a directory of its own; sources keep their times, so nothing is built anew."""
    place = kit.work_dir() / name
    if os.environ.get("FRESH"):
        subprocess.run(["git", "clone", "-q", str(ROOT), str(place)], check=True)
        return place
    place.mkdir()
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["xargs", "-0", "cp", "-a", "--parents", "-t", str(place)], cwd=ROOT,
                   input=names.stdout, check=True)
    # What `make all` made and no more: other groups of tests write beside it meanwhile.
    for name in subprocess.run("ls -d build/libpawl* build/pawl build/examples build/obj/src "
                               "build/obj/lib*.[ao]", shell=True, cwd=ROOT, capture_output=True,
                               text=True, check=True).stdout.split():
        subprocess.run(["cp", "-a", "--parents", "-t", str(place), name], cwd=ROOT, check=True)
    return place


def hear_signals():
    """What was started in the background ignores SIGINT, and a shell below it cannot change that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Run:
    def __init__(self, place, port):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PAWL_", "MAKE", "MFLAGS"))}
        env.pop("B", None)
        self.place, self.port = place, port
        self.process = subprocess.Popen(["make", "run"], cwd=place, env={**env, "PORT": str(port)},
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True, preexec_fn=hear_signals)
        self.text = ""
        self.watchdog = threading.Timer(240, self.kill)
        self.watchdog.daemon = True
        self.watchdog.start()

    def __enter__(self):
        return self

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.kill()
        self.process.wait()
        self.process.stdout.close()

    def read_to(self, words):
        for line in self.process.stdout:
            self.text += line
            if words in line:
                return self
        raise AssertionError("no '%s' in:\n%s" % (words, self.text))

    def end(self, number=None, group=False):
        if number and group:
            os.killpg(self.process.pid, number)
        elif number:
            self.process.send_signal(number)
        self.text += self.process.stdout.read()
        return self.process.wait(60)

    def get(self, path):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=30) as r:
            return json.load(r)

    def commands(self):
        """What it prints to try: the lines below 1., 2. and 3., as a person would paste them."""
        parts = re.split(r"\n  [123]\. .*\n", self.text)
        return ["\n".join(l for l in p.splitlines() if l.startswith("     ")) for p in parts[1:]]


def gone(port):
    for _ in range(500):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) != 0:
                return True
        time.sleep(0.02)
    return False


def test_make_run():
    place, port = copy("make-run"), free_port()
    shell = lambda text: subprocess.run(["bash", "-c", text], cwd=place, capture_output=True,
                                        text=True, timeout=120)
    with Run(place, port) as run:
        run.read_to("Ctrl-C")
        assert run.get("/health")["status"] == "healthy"
        start, watch, kill = run.commands()
        done = shell(start.replace("3000", "400").replace("15000", "2000"))
        assert done.returncode == 0, done
        assert run.get("/api/v1/instances/o-1")["orchestration"] == "ProcessOrder"
        done = shell(kill.split(";")[0])                   # the third command, in its two halves
        assert done.returncode == 0, done
        assert run.end() != 0                              # killed is not stopped
    again = kill.split(";")[1].strip()
    assert again == "PORT=%d make run" % port, again
    with Run(place, port) as run:
        run.read_to("Ctrl-C")
        assert "It continues where it stopped." in run.text
        done = shell(watch)
        assert done.stdout == "Order completed successfully\n", done
        assert run.end(signal.SIGTERM) == 0, run.text
    for number, group in SIGNALS[1:]:
        with Run(place, port) as run:
            run.read_to("Ctrl-C")
            assert run.get("/api/v1/instances/o-1")["status"] == "completed"
            assert run.end(number, group) == 0, (number, group, run.text)
            assert gone(port)
    with Run(place, port) as run:                          # nothing is left behind a kill -9
        run.read_to("Ctrl-C")
        os.killpg(run.process.pid, signal.SIGKILL)
        assert gone(port)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with Run(place, port) as run:
            assert run.end() != 0
            assert "PORT=%d make run" % (port + 1) in run.text, run.text
    with Run(place, port) as run:
        run.read_to("Ctrl-C")
        with Run(place, free_port()) as other:             # the same data twice
            assert other.end() != 0
            assert "pawl-data" in other.text, other.text
        assert run.end(signal.SIGTERM) == 0
