#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`pawl top`, `why --watch` and the screen they leave: on a terminal of our own.

    tests/cli/top.py            all;  B=build/asan tests/cli/top.py  another build
    tests/cli/top.py hostile    only tests whose name has the word

Terminal is a small one: it obeys what top.c may send and nothing else, so an escape that slips
through is an error of the test.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http"))
import kit  # noqa: E402
from kit import PAWL, Server  # noqa: E402

A = "/api/v1/instances"
ESCAPE = re.compile(rb"\x1b(?:\[(\??)([0-9;]*)([A-Za-z])|([78=>]))")
MODES = {b"1049", b"25", b"7"}


class Terminal:
    def __init__(self, *command, rows=24, columns=80, env=None):
        self.rows, self.columns = rows, columns
        self.modes, self.raw, self.pending = {}, b"", b""
        self.clear()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
            os.execv(command[0], [str(c) for c in command])
        self.resize(rows, columns, notify=False)

    def resize(self, rows, columns, notify=True):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if notify:
            self.clear()

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.y = self.x = 0

    def obey(self, match):
        private, numbers, end, _ = match.groups()
        if private:
            assert numbers in MODES and end in b"hl", match.group()
            self.modes[numbers] = end == b"h"
            if numbers == b"1049":
                self.clear()
        elif end == b"H":
            y, _, x = numbers.partition(b";")
            self.y, self.x = int(y or 1) - 1, int(x or 1) - 1
        elif end == b"J":
            assert numbers == b"2", match.group()
            self.clear()
        elif end == b"K":
            if self.y < self.rows:
                self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)
        else:
            assert end == b"m", match.group()

    def put(self, text):
        for c in text:
            if c in "\r\n":
                self.x, self.y = (0, self.y) if c == "\r" else (self.x, self.y + 1)
                continue
            assert c >= " " and not "\x7f" <= c < "\xa0" and c not in "\u202e\u2066\u200f", repr(text)
            if self.y < self.rows and self.x < self.columns:
                self.cells[self.y][self.x] = c
            self.x += 1

    def feed(self, data):
        self.raw += data
        data = self.pending + data
        while data:
            match = ESCAPE.match(data)
            if match:
                self.obey(match)
                data = data[match.end():]
                continue
            if data[0] == 0x1b and len(data) < 16:
                break
            assert data[0] != 0x1b, data[:20]
            stop = data.find(b"\x1b")
            piece = data if stop < 0 else data[:stop]
            try:
                self.put(piece.decode())
            except UnicodeDecodeError:
                if stop >= 0:
                    raise
                break
            data = data[len(piece):]
        self.pending = data

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.feed(os.read(self.fd, 65536))
                return True
            except OSError:
                return None
        return False

    @property
    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    @property
    def text(self):
        return "\n".join(self.lines)

    def until(self, pattern, seconds=20, gone=False):
        """Wait until the screen has (or no longer has) the pattern."""
        end = time.monotonic() + seconds
        while bool(re.search(pattern, self.text, re.M)) == gone:
            left = end - time.monotonic()
            assert left > 0, "no %r on:\n%s" % (pattern, self.text)
            if self.read(min(left, 0.5)) is None:
                raise AssertionError("it ended, without %r on:\n%s" % (pattern, self.text))
        return self

    def keys(self, text):
        os.write(self.fd, text.encode() if isinstance(text, str) else text)
        return self

    def end(self, seconds=20):
        """Its exit status."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.05):
                    pass
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError("it does not end:\n" + self.text)

    def is_restored(self):
        assert self.modes == {b"1049": False, b"25": True, b"7": True}, self.modes


def top(server, *flags, **kw):
    return Terminal(PAWL, "top", "--url", server.url, *flags, **kw)


def shop():
    """A server with the example orders."""
    return Server(load=[kit.BUILD / "examples" / "order.so", kit.module()])


def order(server, name, **more):
    return server.start_instance("ProcessOrder", {"id": name, "step_ms": 20, "return_window_ms": 200,
                                                  **more}, name)


UP, DOWN, LEFT, ESC, ENTER = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b", "\r"


def test_first_screen_fits_80_by_24():
    with shop() as server:
        for name in ("o-1", "o-2", "o-3"):
            order(server, name)
        server.post("/queue/mail/push", {"item": 1})
        t = top(server).until("o-1 .*running +event FraudReview").until("^  mail +1 ready")
        t.until("^running 3$").until("^pawl top .*live").until("starts [0-9.]+/s")
        assert len(t.lines) == 24 and t.lines[23].endswith("q quit"), t.text
        server.post(A + "/o-2/suspend")
        t.until("^running 2  suspended 1$").until("^[> ] suspended +1 +ProcessOrder")
        assert "nothing" not in t.text
        assert t.keys("q").end() == 0
        t.is_restored()


def test_an_instance_is_opened_raised_and_completes():
    with shop() as server:
        order(server, "o-1")
        t = top(server).until("^> o-1 .*event FraudReview").keys(ENTER)
        t.until("^'o-1' .*waits for event 'FraudReview'").until("^ValidatePayment +[░█]+ +[0-9]+ ms")
        t.until("^event FraudReview .*open")
        t.keys("e").until("raise to o-1[?] event: FraudReview_").keys(ENTER)
        t.until("data as JSON: [{][}]_").keys("\x7f\x7f{oops").keys(ENTER).until("not JSON at byte 1")
        t.keys("\x15").keys('{"approved":true}').keys(ENTER).until("o-1: event raised")
        t.until("^'o-1' .*completed .* ago").until("^FinalizeOrder +.*█")
        t.keys(ESC).until("INSTANCES  running").until("completed 1$")
        assert t.keys("\x03").end() == 0
        t.is_restored()


def test_actions_ask_first_and_say_what_was_refused():
    with Server("--require-token", start=False) as server:
        def token(scope):
            return kit.subprocess.run([PAWL, "token", "new", "--scope", scope, "--data", server.data, "-q"],
                                      check=True, capture_output=True, text=True).stdout.split()[-1]
        reader, operator = token("read"), token("operate")
        server.start()
        head = {"Authorization": "Bearer " + operator}
        for name in ("a-1", "a-2"):
            kit.expect(server.post(A, {"orchestration": "Ask", "instance": name}, headers=head), 201)
        state = lambda name: server.get(A + "/" + name, headers=head).json["status"]
        t = top(server, env={"PAWL_TOKEN": reader}).until("^> a-2 ").keys("x")
        t.until("terminate a-2[?] reason: _").keys("why not").until("reason: why not_").keys(ESC)
        t.until("nothing was done")
        assert state("a-2") == "running"
        t.keys("x").until("reason: _").keys("no").keys(ENTER).until("a-2: .*(scope|token)")
        assert state("a-2") == "running"
        assert t.keys("q").end() == 0
        t = top(server, env={"PAWL_TOKEN": operator}).until("^> a-2 ").keys("s").until("suspend a-2[?]")
        t.keys("later").keys(ENTER).until("a-2: suspend requested").until("suspended +1 +Ask")
        t.keys("\t").until("INSTANCES  suspended").until("^[> ] a-2 ").keys(DOWN).until("^> a-2")
        t.keys("r").keys(ENTER).until("a-2: resume requested").until("suspended 1", gone=True)
        t.keys("\t\t\t\t\t\t\t").until("INSTANCES  running").until("^[> ] a-2 ").keys(UP + UP).keys("t")
        t.until("retry a-2[?] Enter does it").keys(ENTER).until("a-2: ")
        t.keys("c").until("cancel a-2").keys("enough").keys(ENTER).until("a-2: cancel requested")
        t.until("cancelled 1").keys("q")
        assert t.end() == 0
        history = server.get(A + "/a-2/history", headers=head).json["events"]
        assert [e["data"] for e in history if e["kind"] == "OrchestrationCancelRequested"] == ["enough"]
        wrong = top(server, env={"PAWL_TOKEN": "nonsense"}).until("GONE").until("token")
        assert wrong.keys("q").end() == 0


def test_filter_and_states():
    with Server() as server:
        for n in range(30):
            server.start_instance("Ask", 1, "ask-%02d" % n)
        server.ended(server.start_instance("Echo", 1, "echo-1"))
        t = top(server).until("ask-29").until("ask-2[0-9]")
        t.keys("/").until("^/_").keys("ask-0").until("begins with ask-0").until("ask-29", gone=True)
        t.until("ask-09").keys(ENTER).until("^/", gone=True).keys(ESC).until("ask-10").keys("\x1b[H").until("^> ask-29")
        t.keys("/@Ech").keys("o").until("orchestration Echo").until("  none fits; Esc")
        t.keys(ENTER).keys("\x1b[Z").until("INSTANCES  pending").keys("\x1b[Z").until("INSTANCES  all")
        t.until("^[> ] echo-1 .*completed").keys(ESC).until("ask-29")
        t.keys("\x1b[F").until("^> ask-0[0-9] ").keys("\x1b[H").until("^> echo-1 ")
        t.keys("?").until("Every action asks first").keys(" ").until("INSTANCES  all")
        assert t.keys("q").end() == 0


def test_resize_and_small_terminals():
    with Server() as server:
        server.start_instance("Ask", 1, "r-1")
        t = top(server).until("^> r-1 .*event Answer")
        t.resize(40, 132)
        t.until("^> r-1 .*event Answer").until("retried 0.0")
        assert t.lines[39].endswith("q quit"), t.text
        t.resize(5, 20)
        t.until("40 columns and 10")
        t.resize(12, 50)
        t.until("^> r-1 ").keys(ENTER).until("'r-1' .*waits")
        t.resize(24, 80)
        t.until("^'r-1' [(]Ask 1.0.0[)] waits for event 'Answer', for .* now").keys("q")
        assert t.end() == 0
        t.is_restored()


HOSTILE = ["\u202egnp.exe", "注文" * 30, "e\u0301" * 40, "-rf", "$(reboot)", "%s%n", "🧨" * 30, "a" * 250]


def test_hostile_names_do_nothing():
    with Server() as server:
        for name in HOSTILE:
            server.start_instance("Ask", "\x1b[2J\x1b]0;owned\x07", name)
        item = "\x1b[31mred\x9b2J"
        server.post("/queue/%E2%80%AEq/push", {"item": item})
        server.start_instance("RemoteRetry", 1, "bad-error")
        poll = server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 5000,
                                                 "worker": "eve\u202e"}).json["items"][0]
        server.post("/api/v1/work/%s/fail" % poll["token"], {"error": "\x1b]0;owned\x07\x9b2J\u202e"})
        t = top(server).until("bad-error").until(r"\\u202egnp").until("-rf").until("reboot").until("%s%n")
        t.keys(ENTER).until("'bad-error'").until(r"x1b\]0;owned")
        for _ in HOSTILE:
            t.keys(ESC).until("INSTANCES").keys(DOWN + ENTER).until("^event Answer +┄")
        t.keys("q")
        assert t.end() == 0
        assert b"owned\x07" not in t.raw and "\u202e".encode() not in t.raw and b"\x9b" not in t.raw
        for line in t.raw.split(b"\x1b["):
            assert b"\x07" not in line


def test_a_killed_server_is_shown_as_gone_and_comes_back():
    with Server() as server:
        server.start_instance("Ask", 1, "k-1")
        t = top(server).until("^> k-1 ")
        server.stop(signal.SIGKILL)
        t.until("GONE for ").until("^> k-1 ")                 # what was known stays
        t.keys("c").until("cancel k-1").keys(ENTER).until("k-1: .*(no server|did not answer)")
        server.start()
        t.until("^pawl top .* live").until("GONE", gone=True)
        server.start_instance("Ask", 1, "k-2")
        t.until("k-2 ")
        t.keys(ENTER).until("'k-1'")
        server.restart()
        t.until("^'k-1' .*waits for event").until("live")
        assert t.keys("q").end() == 0
        t.is_restored()


def test_a_server_that_hangs_does_not_hang_the_keys():
    with Server() as server:
        server.start_instance("Ask", 1, "h-1")
        t = top(server).until("^> h-1 ")
        server.process.send_signal(signal.SIGSTOP)
        t.keys(ENTER)
        time.sleep(0.3)
        began = time.monotonic()
        assert t.keys("q").end() == 0
        assert time.monotonic() - began < 3
        t.is_restored()
        server.process.send_signal(signal.SIGCONT)


def test_signals_restore_the_terminal():
    with Server() as server:
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 0), (signal.SIGHUP, 129),
                               (signal.SIGSEGV, -11)):
            if kit.SANITIZED and number == signal.SIGSEGV:
                continue
            t = top(server).until("live")
            os.kill(t.pid, number)
            assert t.end() == status, number
            t.is_restored()


def test_ctrl_z_and_back():
    with Server() as server:
        server.start_instance("Ask", 1, "z-1")
        t = Terminal("/bin/bash", "--norc", "--noprofile", "-i", env={"PS1": "ready> ", "TERM": "dumb"})
        t.until("ready>").keys("TERM=xterm %s top --url %s\r" % (PAWL, server.url)).until("^> z-1 ")
        t.keys("\x1a").until("Stopped")
        t.is_restored()
        t.keys("stty -a | grep -o ' icanon'; echo $((6*7))\r").until("^42").until("^ icanon")
        t.keys("fg\r").until("^> z-1 .*event").keys("q").until("ready>")
        t.is_restored()
        t.keys("exit\r").end()


def test_idle_server_stays_idle():
    with Server() as server:
        server.start_instance("Ask", 1, "i-1")
        t = top(server).until("^> i-1 .*event Answer")
        end = time.monotonic() + 3
        while time.monotonic() < end:                          # what is late comes in
            t.read(0.2)
        count = lambda: sum(int(float(l.split()[-1])) for l in server.get("/metrics").body.decode().splitlines()
                            if l.startswith("pawl_http_requests_total"))
        before = count()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            t.read(0.2)
        assert count() - before <= 1, (before, count())        # the question itself
        t.until("live").keys("q")
        assert t.end() == 0


def test_a_store_without_a_server_is_read_only():
    with shop() as server:
        order(server, "l-1")
        t = top(server).until("FraudReview").keys("q")
        assert t.end() == 0
        server.stop()
        t = Terminal(PAWL, "top", "--data", server.data).until("read only").until("^> l-1 .*event FraudReview")
        t.keys("c").until("read only: no server was named").keys(ENTER).until("^'l-1' ").until("no process has this store")
        t.keys(ESC)
        run = kit.subprocess.Popen([PAWL, "run", "ProcessOrder", "--load", kit.BUILD / "examples" / "order.so",
                                    "--data", server.data, "--id", "l-2", "--input",
                                    '{"id":"l-2","step_ms":10,"return_window_ms":10}', "--raise",
                                    'FraudReview={"approved":true}', "-q"], stdout=kit.subprocess.DEVNULL)
        t.until("completed 1$")
        assert run.wait(20) == 0
        assert t.keys("q").end() == 0
        t.is_restored()


def test_once():
    with shop() as server:
        order(server, "once-1")
        run = lambda *a, **kw: kit.subprocess.run([PAWL, "top", *a], capture_output=True, text=True,
                                                  stdin=kit.subprocess.DEVNULL,
                                                  env={**os.environ, "LC_ALL": "C.UTF-8"}, **kw)
        got = run("--once", "--url", server.url)
        assert got.returncode == 0 and got.stderr == "" and "once-1" in got.stdout, got
        assert "\x1b" not in got.stdout and max(map(len, got.stdout.splitlines())) <= 80, got.stdout
        got = run("--url", server.url)
        assert got.returncode == 2 and "top --once" in got.stderr, got
        got = run("--once", "-o", "json", "--url", server.url)
        assert got.returncode == 2 and "for programs" in got.stderr, got
        got = run("--once", "--url", "http://127.0.0.1:1")
        assert got.returncode == 3 and "no server at" in got.stderr, got
        got = run("--once", "--data", str(server.data) + "-none")
        assert got.returncode == 3 and "there is no store" in got.stderr, got


def test_why_is_watched_until_the_end():
    with shop() as server:
        order(server, "w-1")
        t = Terminal(PAWL, "why", "w-1", "--watch", "--url", server.url, columns=200)
        t.until("waits for event 'FraudReview'")
        server.restart()
        time.sleep(1.5)
        server.post(A + "/w-1/events/FraudReview", {"approved": True})
        assert t.end(30) == 0
        assert "completed" in t.text and "tried again" in t.text, t.text
        order(server, "w-2")
        t = Terminal(PAWL, "why", "w-2", "--watch", "--url", server.url, columns=200).until("'FraudReview'")
        assert t.keys("\x03").end() == 130
        server.stop()
        t = Terminal(PAWL, "why", "w-2", "--watch", "--data", server.data, columns=200).until("'FraudReview'")
        kit.subprocess.run([PAWL, "terminate", "w-2", "--data", server.data, "-q"], check=True)
        assert t.end() == 0 and "was cancelled" in t.text, t.text


if __name__ == "__main__":
    sys.exit(kit.run_tests("terminal", [sys.modules["__main__"]], *sys.argv[1:]))
