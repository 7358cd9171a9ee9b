# SPDX-License-Identifier: MIT
"""Many busy connections: nobody stalls (lost wake-ups of resumed connections would show here)."""
import json
import os
import socket
import subprocess
import time

import kit
from kit import ROOT, Server, expect

SECONDS = os.environ.get("LOAD_SECONDS", "3")


def load(server, mode, connections):
    tool = kit.work_dir() / "load"
    if not tool.exists():
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(tool),
                        str(ROOT / "tests" / "http" / "load.c")], check=True)
    out = subprocess.run([str(tool), str(server.port), mode, str(connections), SECONDS],
                         capture_output=True, text=True)
    assert out.stdout, out
    figures = json.loads(out.stdout)
    print("| %(mode)s: %(connections)d connections, %(rounds_per_s)d rounds/s, "
          "%(requests_per_s)d requests/s, worst %(worst_ms).0f ms" % figures)
    assert figures["odd"] == 0, figures
    # a lost wake-up is for ever; a slow disk or a busy machine is not
    assert figures["worst_ms"] < 1500 and figures["open_ms"] < 1500, figures
    return figures


def test_128_busy_connections(server):
    for mode in ("start", "cycle", "push"):
        load(server, mode, 128)


def test_256_busy_and_1000_idle_connections(server):
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1000)]
    for s in idle:
        s.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    load(server, "start", 256)
    for s in idle:
        s.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.5)
    assert all(s.recv(65536).count(b"HTTP/1.1 200") == 2 for s in idle)


def test_idle_server_sleeps(server):
    expect(server.get("/health"), 200)
    time.sleep(0.5)
    stat = "/proc/%d/stat" % server.process.pid
    ticks = lambda: sum(int(x) for x in open(stat).read().rsplit(")", 1)[1].split()[11:13])
    before = ticks()
    time.sleep(2)
    assert ticks() - before <= 1
    rss = [l for l in open("/proc/%d/status" % server.process.pid) if l.startswith("VmRSS")][0]
    print("| idle server: %s" % rss.split(":")[1].strip())
