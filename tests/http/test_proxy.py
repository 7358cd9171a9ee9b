# SPDX-License-Identifier: MIT
"""Behind nginx and HAProxy, with the configurations that the guide prints."""
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time

import kit
from kit import ROOT, Server


def block(word):
    """The fenced block of the guide that begins with this word."""
    text = (ROOT / "docs" / "guide" / "http.md").read_text()
    return re.search(r"```%s\n(.*?)```" % word, text, re.S)[1]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def certificate(home):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=pawl.example", "-addext", "subjectAltName=DNS:pawl.example", "-keyout",
                    str(home / "key.pem"), "-out", str(home / "cert.pem")], check=True, capture_output=True)
    (home / "both.pem").write_text((home / "cert.pem").read_text() + (home / "key.pem").read_text())


def replaced(text, pairs):
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


class Proxy:
    """As the guide says it, on a free port, with a certificate of our own, for pawl.example."""

    def __init__(self, name, server):
        tool = shutil.which(name) or "/usr/sbin/" + name
        assert shutil.which(tool), "there is no %s: scripts/setup test installs it" % name
        self.home = kit.work_dir() / (name + str(server.port))
        self.home.mkdir()
        certificate(self.home)
        self.port = free_port()
        back = ("127.0.0.1:8000", "127.0.0.1:%d" % server.port)
        if name == "nginx":
            text = replaced(block("nginx"), [
                back, ("listen 443 ssl", "listen 127.0.0.1:%d ssl" % self.port),
                ("/etc/ssl/pawl.example.pem", str(self.home / "cert.pem")),
                ("/etc/ssl/pawl.example.key", str(self.home / "key.pem"))])
            temp = "".join("%s_temp_path %s/%s;\n" % (n, self.home, n) for n in
                           ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            text = ("user root;\n" if os.geteuid() == 0 else "") + (
                    "daemon off; pid %s/pid; error_log %s/log; worker_processes 1;\nevents {}\n"
                    "http { access_log off;\n%s%s}\n" % (self.home, self.home, temp, text))
            command = [tool, "-p", str(self.home), "-c", str(self.home / "conf")]
        else:
            text = replaced(block("haproxy"), [
                back, ("bind :443 ssl", "bind 127.0.0.1:%d ssl" % self.port),
                ("/etc/ssl/pawl.example.pem", str(self.home / "both.pem"))])
            command = [tool, "-db", "-f", str(self.home / "conf")]
        (self.home / "conf").write_text(text)
        self.log = open(self.home / "out", "ab")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def __enter__(self):
        for _ in range(400):
            try:
                if self.ask("GET", "/ready")[0] == 200:
                    return self
            except OSError:
                pass
            assert self.process.poll() is None, (self.home / "out").read_text()
            time.sleep(0.05)
        raise AssertionError("the proxy does not answer: " + (self.home / "out").read_text())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()

    def open(self, method, path, body=b""):
        context = ssl.create_default_context(cafile=str(self.home / "cert.pem"))
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        s = context.wrap_socket(raw, server_hostname="pawl.example")
        s.sendall(b"%s %s HTTP/1.1\r\nHost: pawl.example\r\nOrigin: https://pawl.example\r\n"
                  b"Connection: close\r\nContent-Length: %d\r\n\r\n%s"
                  % (method.encode(), path.encode(), len(body), body))
        return s

    def ask(self, method, path, body=None):
        with self.open(method, path, b"" if body is None else json.dumps(body).encode()) as s:
            got = b""
            while more := s.recv(65536):
                got += more
        head, _, rest = got.partition(b"\r\n\r\n")
        if b"chunked" in head.lower():
            rest = rest.partition(b"\r\n")[2].rpartition(b"\r\n0\r\n")[0]
        return int(head.split()[1]), rest


def serves(name):
    with Server("--allow-host", "pawl.example") as server, Proxy(name, server) as proxy:
        status, body = proxy.ask("POST", "/queue/mail/push", {"item": "x" * 2_000_00})
        assert status == 200, (status, body)
        status, body = proxy.ask("POST", "/queue/mail/pop?require_ack=1")
        assert status == 200 and len(json.loads(body)["items"][0]) == 200_000
        # a stream says at once what happens
        with proxy.open("GET", "/api/v1/stream") as s:
            got = b""
            while b"retry: " not in got:
                got += s.recv(4096)
            server.start_instance("Ask", None, "seen")
            began = time.monotonic()
            while b'"seen"' not in got:
                more = s.recv(4096)
                assert more, got
                got += more
            assert time.monotonic() - began < 5, got
        # a wait that ends late
        with proxy.open("GET", "/api/v1/instances/seen/wait?timeout_ms=60000") as s:
            time.sleep(3)
            server.post("/api/v1/instances/seen/events/Answer", "7")
            got = b""
            while more := s.recv(65536):
                got += more
            assert got.startswith(b"HTTP/1.1 200") and b'"output":7' in got, got
        # a body over the server's own limit is refused by somebody, in words
        status, body = proxy.ask("POST", "/queue/mail/push", {"item": "x" * 9_000_000})
        assert status == 413, (status, body)


def test_behind_nginx():
    serves("nginx")


def test_behind_haproxy():
    serves("haproxy")
