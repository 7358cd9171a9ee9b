# SPDX-License-Identifier: MIT
"""What the HTTP tests share: a server of their own, requests, and the counting.

A test is a function test_*(server) in a module test_*.py here.  It gets a fresh
server on a free port of 127.0.0.1, or makes its own with Server(...).
"""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
PAWL = BUILD / "pawl"
SANITIZED = BUILD.name in ("asan", "tsan")    # an orderly end tells of leaks
for name in [n for n in os.environ if n.startswith("PAWL_")]:
    del os.environ[name]
sys.path.insert(0, str(ROOT / "clients" / "python"))

_work = None


def work_dir():
    """A directory on the build's disk, removed at the end."""
    global _work
    if _work is None:
        _work = pathlib.Path(tempfile.mkdtemp(prefix="http-", dir=BUILD))
    return _work


def module(second=False):
    """The module of remote.c; `second` has a newer version of Echo."""
    path = work_dir() / ("second.so" if second else "remote.so")
    if not path.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-I", str(ROOT / "include"), "-o", str(path)]
                       + (["-DSECOND"] if second else [])
                       + [str(ROOT / "tests" / "http" / "remote.c")], check=True)
    return path


ONLY = None     # words: some tests are left out
SEEN = set()   # (method, path, status) of every answer, for the last test


def seen(method, path, status):
    SEEN.add((method, path.partition("?")[0], status))


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "%d %s" % (self.status, self.body[:300])


class Server:
    def __init__(self, *flags, data=None, load=None, env=None, start=True):
        self.data = pathlib.Path(data) if data else pathlib.Path(tempfile.mkdtemp(dir=work_dir()))
        self.flags, self.env, self.process = list(flags), env, None
        self.load = [module()] if load is None else load
        self.listen = "127.0.0.1:0"
        self.wrap = []                               # before the command
        self.conn = None
        if start:
            self.start()

    def start(self, output=None):
        url = self.data.with_suffix(".url")
        url.unlink(missing_ok=True)
        command = [str(PAWL), "serve", "--data", str(self.data), "--url-file", str(url)]
        if "--listen" not in self.flags:
            command += ["--listen", self.listen]
        for path in self.load:
            command += ["--load", str(path)]
        self.log = open(self.data.with_suffix(".log"), "ab")
        output = self.log if output is None else output
        # Memory given back is overwritten: whoever still reads it is noticed.
        self.process = subprocess.Popen(self.wrap + command + self.flags, stdout=output, stderr=output,
                                        env={**os.environ, "MALLOC_PERTURB_": "165", **(self.env or {})})
        for _ in range(1000):
            if url.exists() and url.read_text().endswith("\n"):
                break
            if self.process.poll() is not None:
                raise AssertionError("the server ended: " + self.log_text())
            time.sleep(0.01)
        self.url = url.read_text().strip()
        self.port = urllib.parse.urlsplit(self.url).port
        self.listen = "127.0.0.1:%d" % self.port     # the same one after a restart
        return self

    def log_text(self):
        return self.data.with_suffix(".log").read_text(errors="replace")

    def stop(self, how=signal.SIGTERM, timeout=30):
        if self.conn:
            self.conn.close()
            self.conn = None
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout)
        status = self.process.returncode if self.process else None
        self.log.close()
        return status

    def restart(self, how=signal.SIGKILL):
        self.stop(how)
        return self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)

    def call(self, method, path, body=None, headers=None, fresh=False, timeout=70):
        """One request; a str body goes as it is, anything else as JSON."""
        if isinstance(body, (dict, list, int, float, bool)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if fresh or self.conn is None:
            conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        else:
            conn = self.conn
        for again in (True, False):
            try:
                conn.putrequest(method, path, skip_host="Host" in (headers or {}),
                                skip_accept_encoding=True)
                for key, value in (headers or {}).items():
                    conn.putheader(key, value)
                if body is not None or method in ("POST", "PUT"):
                    conn.putheader("Content-Length", str(len(body or b"")))
                conn.endheaders(body)
                answer = conn.getresponse()
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                if not again or fresh:
                    raise
                conn.close()
        reply = Reply(answer.status, dict(answer.getheaders()), answer.read())
        seen(method, path, answer.status)
        if not fresh:
            self.conn = conn
        if answer.will_close:
            conn.close()
        return reply

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.call("POST", path, body, **kw)

    def raw(self, text, timeout=5, close=False):
        """Bytes as they are; everything the server says until it is silent or hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(text if isinstance(text, bytes) else text.encode())
            if close:
                s.shutdown(socket.SHUT_WR)
            got = b""
            s.settimeout(timeout)
            with contextlib.suppress(socket.timeout, ConnectionResetError):
                while True:
                    more = s.recv(65536)
                    if not more:
                        break
                    got += more
                    s.settimeout(0.3)
            return got

    def start_instance(self, name, input=None, instance=None):
        body = {"orchestration": name}
        if input is not None:
            body["input"] = input
        if instance:
            body["instance"] = instance
        reply = self.post("/api/v1/instances", body)
        assert reply.status == 201, reply
        return reply.json["instance"]

    def ended(self, instance):
        path = "/api/v1/instances/%s/wait?timeout_ms=20000" % urllib.parse.quote(instance, safe="")
        reply = self.get(path)
        assert reply.status == 200, reply
        return reply.json


def expect(reply, want, code=None, /, **members):
    """The status, the error code, and some members of the answer."""
    assert reply.status == want, "want %d, got %r" % (want, reply)
    if code:
        assert reply.json["error"]["code"] == code, reply
        assert reply.json["error"]["message"], reply
    for key, value in members.items():
        assert reply.json[key] == value, "want %s = %r in %r" % (key, value, reply)
    return reply


def end_well(server):
    """A sanitizer that found anything ends the server with another status."""
    status = server.stop()
    assert status in (0, -signal.SIGKILL), "the server ended with status %s" % status


def run_tests(name, modules, *words):
    """All tests, or those whose module.name holds one of the words."""
    global ONLY
    words = [w for w in words if w]
    ONLY = words
    passed = failed = 0
    try:
        for mod in modules:
            for title, function in list(vars(mod).items()):
                full = "%s.%s" % (mod.__name__, title)
                if not title.startswith("test_") or (words and not any(w in full for w in words)):
                    continue
                began = time.monotonic()
                server = None
                try:
                    if function.__code__.co_argcount:
                        server = Server()
                        function(server)
                        if SANITIZED:
                            end_well(server)
                    else:
                        function()
                    passed += 1
                except Exception:
                    failed += 1
                    print("FAILED %s.%s" % (mod.__name__, title))
                    traceback.print_exc(file=sys.stdout)
                    if server:
                        print(server.log_text()[-2000:])
                finally:
                    if server:
                        server.stop(signal.SIGKILL)
                if os.environ.get("SLOW") and time.monotonic() - began > 1:
                    print("| %s.%s took %.1f s" % (mod.__name__, title, time.monotonic() - began))
    finally:
        if _work and not os.environ.get("KEEP"):
            shutil.rmtree(_work, ignore_errors=True)
    print("%s: %d passed, %d failed" % (name, passed, failed))
    return 1 if failed else 0
