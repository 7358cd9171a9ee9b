# SPDX-License-Identifier: MIT
"""The Python workers of `deaths`: one process forks them, so that a life costs no start of Python.

Each line of the input is "fork" (answered with a pid) or "kill PID" (answered when it is gone).
What an attempt does is a line of the file LEDGER, written before its result is handed in.
"""
import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import pawl  # noqa: E402


def attempt():
    """One attempt of the running task: noted, and named by what nobody else can say."""
    key, word = pawl.task().key, "%s-%s" % (pawl.task().key, os.urandom(6).hex())
    line = "%s %s %d\n" % (key, word, time.time() * 1000)
    ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)
    os.write(ledger, line.encode())
    os.close(ledger)
    return word


def make():
    worker = pawl.Worker(concurrency=8, lock_seconds=1.5, poll_seconds=1.0)

    @worker.activity("Do")
    def do(nap):
        word = attempt()
        time.sleep(nap / 1000)
        return word

    @worker.orchestration("Sum.py")
    async def total(ctx, words):
        return [len(words), await ctx.step(attempt)]

    @worker.orchestration("Order.py")
    async def order(ctx, o):
        got = o["got"]
        for i in range(o["steps"]):
            got.append(await (ctx.step(attempt) if i % 2 else ctx.call("Do", o["nap"])))
        if ctx.execution == 1:
            ctx.continue_as_new({**o, "got": got, "steps": 1})
        both = await ctx.all(ctx.call("Do", o["nap"]), ctx.timer(0.02), ctx.child("Sum.js", got))
        go = await ctx.event("Go")
        ctx.push("done", ctx.instance)
        return {"got": got + [both[0]], "child": both[2], "go": go}
    return worker


def child():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    try:
        make().run()
    finally:
        os._exit(3)                              # it is killed, or it is wrong


def main():
    for line in sys.stdin:
        words = line.split()
        if words[0] == "fork":
            pid = os.fork()
            if pid == 0:
                child()
            print(pid, flush=True)
        else:
            os.kill(int(words[1]), signal.SIGKILL)
            print(os.waitstatus_to_exitcode(os.waitpid(int(words[1]), 0)[1]), flush=True)


main()
