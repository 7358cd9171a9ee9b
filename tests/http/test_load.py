# SPDX-License-Identifier: MIT
"""Many busy connections: nobody stalls (lost wake-ups of resumed connections would show here)."""
import json
import os
import resource
import socket
import subprocess
import time

import kit
from kit import ROOT, Server, expect

SECONDS = os.environ.get("LOAD_SECONDS", "3")


def is_calm(figures):
    """Nobody is answered only while the machine or its disk stands still."""
    return figures["quiet_ms"] < 100 + 3 * (figures["control_ms"] + figures["sync_ms"])


def load(server, mode, connections, seconds=SECONDS):
    """Measured once more when it was not calm: a server that stalls stalls again, a busy machine may not."""
    figures = measure(server, mode, connections, seconds)
    if not is_calm(figures):
        figures = measure(server, mode, connections, seconds)
    assert is_calm(figures), figures


def measure(server, mode, connections, seconds):
    tool = kit.work_dir() / "load"
    if not tool.exists():
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", str(tool),
                        str(ROOT / "tests" / "http" / "load.c")], check=True)
    out = subprocess.run([str(tool), str(server.port), mode, str(connections), seconds,
                          str(kit.work_dir() / "sync")], capture_output=True, text=True)
    assert out.stdout, out
    figures = json.loads(out.stdout)
    print("| %(mode)s: %(connections)d connections, %(rounds_per_s)d rounds/s, "
          "%(requests_per_s)d requests/s, worst %(worst_ms).0f ms, %(slow)d over 100 ms, %(stalled)d "
          "stalled (overtaken %(overtaken).1f times); without any answer %(quiet_ms).0f ms; the machine: "
          "%(control_ms).0f ms asleep, %(sync_ms).0f ms syncing" % figures)
    assert figures["odd"] == 0, figures
    assert figures["stalled"] == 0, figures
    return figures


def test_128_busy_connections(server):
    for mode in ("start", "cycle", "push"):
        load(server, mode, 128)


def test_256_busy_connections(server):
    load(server, "start", 256)


def test_256_busy_and_4000_idle_connections(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 4000 if hard == resource.RLIM_INFINITY or hard > 5000 else hard - 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 100), hard))
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
    for s in idle:
        s.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    load(server, "start", 256, "3")                          # idle ones are closed after a minute
    for s in idle:
        s.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for s in idle:
        s.settimeout(20)
        got = b""
        while got.count(b"HTTP/1.1 200") < 2:
            more = s.recv(65536)
            assert more, "an idle connection was closed"
            got += more
        s.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


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
