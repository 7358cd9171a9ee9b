#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chains of inline steps from one worker process: steps per second, commits and CPU time per step.

    bench/turns/chain.py [--sdk python node] [--flight 1 32] [--length 10] [--seconds 5] [--call]

A server of its own (build/pawl, SQLite, every commit synced) in a temporary directory.  --call makes each
step an activity that the same worker polls for, instead of an inline step.  A chain of n steps alone is n + 1
commits: the start with the first turn, and each result with what follows from it; n + 2 when the worker's
first answer takes longer than 25 ms (src/runtime/instance/first_turn.h).
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import pawl  # noqa: E402


def serve(where, binary):
    url = where / "url"
    process = subprocess.Popen([str(binary), "serve", "--data", str(where / "data"), "--listen", "127.0.0.1:0",
                                "--url-file", str(url)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (url.exists() and url.read_text().endswith("\n")):
        time.sleep(0.01)
    return process, url.read_text().strip()


def commits(url):
    text = urllib.request.urlopen(url + "/metrics").read().decode()
    return float(re.search(r"^pawl_commits_total(?:\{[^}]*\})? (\S+)", text, re.M)[1])


def cpu(process):
    """Seconds of CPU that a process has used."""
    fields = pathlib.Path("/proc/%d/stat" % process.pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(url, name, flight, length, seconds):
    """(chains, seconds, commits): each of `flight` threads starts one after the other, and waits for it."""
    client, end, done = pawl.Client(url), time.monotonic() + seconds, []

    def one():
        while time.monotonic() < end:
            made = client.start(name, length, allow_unregistered=True)
            got = client.wait(made["instance"])
            assert got["output"] == length, got
            done.append(1)
    before, began = commits(url), time.monotonic()
    threads = [threading.Thread(target=one) for _ in range(flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done), time.monotonic() - began, commits(url) - before


def work(url):
    """The worker: a process of its own, so that the clients do not share its interpreter."""
    worker = pawl.Worker(pawl.Client(url), concurrency=32)

    @worker.activity("One")
    def one(x): return 1

    @worker.orchestration("Inline")
    async def inline(ctx, n):
        total = 0
        for _ in range(n):
            total += await ctx.step(lambda: 1, name="one")
        return total

    @worker.orchestration("Called")
    async def called(ctx, n):
        total = 0
        for _ in range(n):
            total += await ctx.call(one)
        return total
    worker.run()


def start_worker(sdk, url):
    command = [sys.executable, __file__, "--worker", url]
    if sdk == "node":
        command = ["node", str(pathlib.Path(__file__).with_name("chain_worker.mjs")), url]
    return subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL)


def chains(o, sdk):
    where = pathlib.Path(tempfile.mkdtemp(prefix="pawl-chain-"))
    server, url = serve(where, o.binary)
    worker = start_worker(sdk, url)
    try:
        measure(url, "Inline", 1, 1, 0.3)                 # everybody is there
        for flight in o.flight:
            used = cpu(worker), cpu(server)
            count, took, rounds = measure(url, "Called" if o.call else "Inline", flight, o.length, o.seconds)
            steps = count * o.length
            print("%-6s %3d in flight: %6.0f steps/s, %5.1f chains/s, %.2f commits/step, CPU per step: worker %.0f us, server %.0f us"
                  % (sdk, flight, steps / took, count / took, rounds / steps, (cpu(worker) - used[0]) / steps * 1e6,
                     (cpu(server) - used[1]) / steps * 1e6), flush=True)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
        server.send_signal(signal.SIGKILL)
        server.wait()
        shutil.rmtree(where, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sdk", nargs="+", choices=("python", "node"), default=["python", "node"])
    p.add_argument("--flight", type=int, nargs="+", default=[1, 32])
    p.add_argument("--length", type=int, default=10)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--call", action="store_true")
    p.add_argument("--binary", default=str(ROOT / "build" / "pawl"))
    p.add_argument("--worker", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.worker:
        return work(o.worker)
    for sdk in o.sdk:
        chains(o, sdk)


if __name__ == "__main__":
    main()
