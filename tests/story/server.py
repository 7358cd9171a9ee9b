# SPDX-License-Identifier: MIT
"""The server of the story, and who kills it.

It is ended in every way a process can be: kill -9 at a random moment, kill -9 at a named
point of the engine (PAWL_CRASH_AT), kill -9 while it recovers, SIGTERM, and SIGSTOP for longer
than locks and leases live.  It always comes back on the same port and data directory.
"""
import asyncio
import os
import random
import signal
import subprocess
import time

POINTS = ("commit.before", "commit.after", "handout.before", "handout.after", "turn.run",
          "activity.before", "activity.after", "sqlite.begin", "sqlite.round",
          "sqlite.commit.before", "sqlite.commit.after", "recover.blame")


class Server:
    def __init__(self, pawl, module, place, ledger, flags=()):
        self.pawl, self.place, self.ledger, self.flags = pawl, place, ledger, list(flags)
        self.module, self.listen = module, "127.0.0.1:0"
        self.process, self.port = None, None
        self.ends = {}          # how it was ended, how often
        self.wrong = []         # what it may not do
        self.slowest = 0.0      # of all starts
        self.armed = None

    async def start(self, crash_at=None):
        url = self.place / "url"
        url.unlink(missing_ok=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith("PAWL_")}
        env["STORY_EFFECTS"] = str(self.place / "effects")
        if crash_at:
            env["PAWL_CRASH_AT"] = crash_at
        self.armed = crash_at
        with open(self.place / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                [str(self.pawl), "serve", "--data", str(self.place / "data"), "--listen",
                 self.listen, "--url-file", str(url), "--load", str(self.module)]
                + self.flags,
                stdout=log, stderr=log, env=env)
        began = time.monotonic()
        while not (url.exists() and url.read_text().endswith("\n")):
            if self.process.poll() is not None:
                return
            if time.monotonic() - began > 60:
                self.wrong.append("no server after 60 s")
                self.process.kill()
                return
            await asyncio.sleep(0.01)
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.port = int(url.read_text().strip().rsplit(":", 1)[1])
        self.listen = "127.0.0.1:%d" % self.port

    def note(self, how):
        self.ends[how] = self.ends.get(how, 0) + 1
        self.ledger.note("kill", how)

    async def gone(self, how, timeout=60):
        """Wait for its end; how it should look is known from `how`."""
        end = time.monotonic() + timeout
        while self.process.poll() is None:
            if time.monotonic() > end:
                self.wrong.append("%s: still there after %d s" % (how, timeout))
                self.process.kill()
            await asyncio.sleep(0.01)
        status = self.process.returncode
        if status != (0 if how == "SIGTERM" else -signal.SIGKILL):
            self.wrong.append("%s: ended with %s" % (how, status))

    async def end(self, how):
        if self.process.poll() is None:
            self.note(how)
            if how == "SIGSTOP":
                self.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(random.uniform(2.5, 5))
                if random.random() < 0.5:
                    self.process.send_signal(signal.SIGCONT)
                    return False
            self.process.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        elif self.armed:
            how = "kill -9 at a point"
            self.note(how)
        await self.gone(how)
        return True

    async def torment(self, until, wait):
        """Until that time: an end every few seconds, and up again."""
        while time.monotonic() < until:
            await asyncio.sleep(random.uniform(*wait))
            how = random.choices(("kill -9", "SIGTERM", "SIGSTOP", "kill -9 twice"),
                                 (76, 10, 7, 7))[0]
            if not await self.end(how):
                continue
            if how == "kill -9 twice":
                await self.start()
                await asyncio.sleep(random.uniform(0, 0.2))
                await self.end("kill -9 twice")
            point = random.random() < 0.3
            await self.start("%s:%d" % (random.choice(POINTS), random.randint(1, 300))
                             if point else None)
        if self.process.poll() is not None or self.armed:   # a point may lie ahead
            await self.end("kill -9")
            await self.start()
