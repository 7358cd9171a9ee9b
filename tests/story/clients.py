# SPDX-License-Identifier: MIT
"""The clients of the story: who pushes, pops, starts, raises, works and dies.

Each is a coroutine with a connection of its own.  A client that does not know what
became of a request either asks again in the way the API offers (dedup_id, the same
instance id, Idempotency-Key) or leaves it; the checker knows from the ledger which.
"""
import asyncio
import random
import urllib.parse
import zlib

from wire import Wire

I = "/api/v1/instances"
W = "/api/v1/work/"


class World:
    """What all clients share."""

    def __init__(self, ledger, pace):
        self.ledger, self.pace, self.port = ledger, pace, None
        self.stopping = False     # nothing new is begun
        self.calm = False         # nobody dies any more
        self.done = False         # consumers and workers may go
        self.names = 0

    def name(self, what):
        self.names += 1
        return "%s%d" % (what, self.names)


def item(uid):
    """Mostly small; one in forty has up to 300 KB."""
    crc = zlib.crc32(uid.encode())
    return {"u": uid, "c": crc, **({} if crc % 40 else {"p": "x" * (crc % 300000)})}


def chance(percent):
    return random.random() * 100 < percent


class Client:
    def __init__(self, world):
        self.world, self.ledger = world, world.ledger
        self.wire = Wire(world.port)

    async def think(self, mean=1.0):
        if chance(1):
            self.wire.close()
        await asyncio.sleep(random.expovariate(1.0 / (mean * self.world.pace)))

    async def asked(self, record, method, path, body=None, key=None, want=(), say=None):
        """Written down, sent, answered, written down."""
        await self.wire.connect()
        n = self.ledger.send(*record)
        status, reply = 0, None
        try:
            status, reply = await self.wire.call(method, path, body, key)
        finally:
            self.ledger.answer(n, status, *(say(reply) if say and 200 <= status < 300 else ()))
        if 0 < status < 500 and status not in want:
            self.ledger.note("odd", record[0], n, status, str(reply)[:300])
        return status, reply

    async def look(self, path, method="GET", timeout=40):
        """A request that changes nothing; None unless it went well."""
        status, reply = await self.wire.call(method, path, timeout=timeout)
        self.ledger.count("look", status)
        return reply if status in (200, 202) else None


def unsure(status):
    return status == 0 or status >= 500


# ---- Queues ------------------------------------------------------------------------

class Pusher(Client):
    def __init__(self, world, queue, mean=1.0, delays=False, careful=0.5, bulk=20):
        super().__init__(world)
        self.queue, self.mean, self.delays, self.bulk = queue, mean, delays, bulk
        self.careful = random.random() < careful   # asks again, with a dedup id

    async def run(self):
        while not self.world.stopping:
            await self.push()
            await self.think(self.mean)

    async def push(self):
        count = random.randint(2, 10) if chance(self.bulk) else 1
        uids = [self.world.name("i") for _ in range(count)]
        priority = random.choice((0, 0, 0, 1, 2))
        delay = random.choice((0, 0.5, 1, 2.5)) if self.delays else 0
        entries = [{"item": item(u), "priority": priority} for u in uids]
        for e, u in zip(entries, uids):
            if self.careful:
                e["dedup_id"] = u
            if delay:
                e["delay_seconds"] = delay
        body = entries[0] if count == 1 else {"items": entries}
        ids = lambda r: [r["ids"] if "ids" in r else [r["id"]] if "id" in r else []]
        while True:
            status, _ = await self.asked(
                ("push", self.queue, priority, uids, delay, self.careful), "POST",
                "/queue/%s/push" % self.queue, body, want=(200,), say=ids)
            if not (self.careful and unsure(status)):
                return
            await asyncio.sleep(random.uniform(0.05, 0.5))


class Consumer(Client):
    """Pops under a lock and acknowledges, mostly."""

    def __init__(self, world, queue, count=1, ttl=2, bury=0, mean=0.3):
        super().__init__(world)
        self.queue, self.count, self.ttl, self.bury, self.mean = queue, count, ttl, bury, mean
        self.wait = random.random() < 0.5

    async def run(self):
        while not self.world.done:
            got = await self.pop()
            if got:
                await self.settle(got)
            await self.think(self.mean * (0.2 if self.world.calm else 1 if got else 2))

    async def pop(self):
        count = 20 if self.world.calm else random.randint(1, self.count)
        path = "/queue/%s/pop?require_ack=true&ttl_seconds=%d&meta=1&count=%d" % (
            self.queue, self.ttl, count)
        if self.wait and not self.world.calm:
            path += "&wait_seconds=%d" % random.randint(1, 3)
        return await self.popped(path, count, self.ttl)

    async def popped(self, path, count, ttl):
        await self.wire.connect()
        n = self.ledger.send("pop", self.queue, count, ttl)
        status, reply = 0, None
        try:
            status, reply = await self.wire.call("POST", path)
        finally:
            said = []
            if status == 200 and reply["count"]:
                said = [reply.get("lock_id"), reply.get("lock_expires_at"), [
                    [i["u"], m["id"], m["priority"], m["delivery_count"],
                     i.get("c", 0) in (0, zlib.crc32(i["u"].encode()))]
                    for i, m in zip(reply["items"], reply["messages"])]]
            self.ledger.answer(n, status, *said)
        if 0 < status < 500 and status not in (200, 423):
            self.ledger.note("odd", "pop", n, status, str(reply)[:300])
        return reply if status == 200 and reply["count"] else None

    async def settle(self, got):
        lock, calm = got["lock_id"], self.world.calm
        if not calm and chance(4):          # dies with the lock
            self.wire.close()
            await asyncio.sleep(self.ttl)
            return
        if not calm and chance(3):          # too slow
            await asyncio.sleep(self.ttl + random.uniform(-0.2, 0.7))
        if not calm and chance(8):
            await self.lock_op("extend", lock, {"additional_ttl_seconds": 2})
            await asyncio.sleep(random.uniform(0, 2.5))
        if not calm and chance(5):
            await self.lock_op("release", lock)
            return
        if not calm and chance(self.bury):
            await self.lock_op("deadletter", lock, {"reason": "story"})
            return
        if len(got["messages"]) > 1 and chance(30):
            for m in got["messages"]:
                await self.lock_op("acknowledge", m["lock_id"])
            return
        await self.lock_op("acknowledge", lock)

    async def lock_op(self, op, lock, more=None):
        path = "/queue/%s/%s" % (self.queue, "extend-lock" if op == "extend" else op)
        for _ in range(6):
            status, _reply = await self.asked(
                (op, self.queue, lock), "POST", path, {"lock_id": lock, **(more or {})},
                want=(200, 400, 404, 410), say=lambda r: [r.get("new_expires_at")])
            if not unsure(status):
                return
            await asyncio.sleep(random.uniform(0.05, 0.5))


class Taker(Consumer):
    """Pops for good."""

    async def run(self):
        while not self.world.done:
            count = random.randint(1, 3)
            got = await self.popped("/queue/%s/pop?meta=1&count=%d" % (self.queue, count), count, 0)
            await self.think(self.mean if got else self.mean * 2)


class Redriver(Client):
    """Brings dead letters back."""

    def __init__(self, world, queue):
        super().__init__(world)
        self.queue = queue

    async def run(self):
        while not self.world.done:
            await self.asked(("redrive", self.queue), "POST",
                             "/queue/%s-deadletter/redrive" % self.queue, {}, want=(200, 404))
            await asyncio.sleep(random.uniform(1, 4))


# ---- Instances -----------------------------------------------------------------------

class Starter(Client):
    """Starts one instance after the other and mostly waits for it."""

    def __init__(self, world, flow, low, high, mean=1.0, waits=70, cancels=5):
        super().__init__(world)
        self.flow, self.low, self.high, self.mean = flow, low, high, mean
        self.waits, self.cancels = waits, cancels

    async def run(self):
        while not self.world.stopping:
            instance = self.world.name(self.flow.lower() + "-")
            if await self.start(instance, {"n": random.randint(self.low, self.high)}):
                await self.go_on(instance)
            await self.think(self.mean)

    async def start(self, instance, input):
        """True when it is known to be there."""
        body = {"orchestration": self.flow, "instance": instance, "input": input}
        patient = chance(85)
        while True:
            status, _ = await self.asked(("start", instance, self.flow, input["n"]), "POST", I, body,
                                         want=(200, 201), say=lambda r: [r["created"]])
            if 200 <= status < 300 and chance(5):
                continue                    # once more: nothing may change
            if not unsure(status) or not patient:
                return 200 <= status < 300
            await asyncio.sleep(random.uniform(0.05, 0.5))

    async def go_on(self, instance):
        if chance(self.cancels):
            await self.cancel(instance)
        if chance(self.waits):
            await self.wait(instance)

    async def cancel(self, instance):
        while True:
            status, _ = await self.asked(("cancel", instance), "POST",
                                         "%s/%s/cancel" % (I, instance), {"reason": "story"},
                                         want=(202, 409))
            if not unsure(status):
                return
            await asyncio.sleep(random.uniform(0.05, 0.5))

    async def wait(self, instance):
        """Until it has ended, or the story stops: the end looks at everything again."""
        while not self.world.stopping:
            seen = await self.look("%s/%s/wait?timeout_ms=%d" % (
                I, instance, random.choice((500, 5000, 20000))))
            if seen and seen["status"] in ("completed", "failed", "cancelled"):
                self.ledger.note("end", instance, seen["status"], seen["output"], seen["error"])
                return
            if seen is None:
                await asyncio.sleep(0.2)


class Canceller(Starter):
    async def start(self, instance, input):
        while not await super().start(instance, input):
            pass                            # else nobody ends it
        return True

    async def go_on(self, instance):
        await asyncio.sleep(random.uniform(0, 1))
        await self.cancel(instance)
        await self.wait(instance)


class Asker(Starter):
    """Starts one and raises its events; some of them before the start."""

    async def run(self):
        while not self.world.stopping:
            instance, count = self.world.name("ask-"), random.randint(1, 6)
            early = chance(20)
            if early:
                await self.raise_one(instance, True, False, "?await_start=1")
            while not await self.start(instance, {"n": 0}):
                pass                        # events are for it
            for _ in range(count):
                await self.raise_one(instance, chance(50), False)
                if chance(30):
                    await self.think(0.3)
            await self.raise_one(instance, True, True)
            await self.wait(instance)
            await self.think(self.mean)

    async def raise_one(self, instance, careful, last, query=""):
        nonce = self.world.name("e")
        while True:
            status, _ = await self.asked(
                ("raise", instance, nonce, careful, last), "POST",
                "%s/%s/events/Item%s" % (I, instance, query), {"nonce": nonce, "last": last},
                key=nonce if careful else None, want=(202, 409) if last else (202,))
            if not (careful and unsure(status)):
                return
            await asyncio.sleep(random.uniform(0.05, 0.5))


# ---- Workers --------------------------------------------------------------------------

class Worker(Client):
    """A remote activity worker that forgets, oversleeps and dies now and then."""

    async def run(self):
        while not self.world.done:
            status, reply = await self.wire.call(
                "POST", W + "poll", {"activities": ["Charge"], "max": random.randint(1, 4),
                                     "wait_ms": random.choice((0, 1000, 3000)), "lock_ms": 2000,
                                     "worker": "story"})
            self.ledger.count("poll", status)
            for lease in reply["items"] if status == 200 else ():
                self.ledger.note("take", lease["token"], lease["key"], lease["instance"],
                                 lease["id"], lease["attempt"])
                await self.work(lease)
            await self.think(0.1)

    async def work(self, lease):
        calm, token = self.world.calm, urllib.parse.quote(lease["token"], safe="")
        if not calm and chance(3):
            self.wire.close()
            return
        await asyncio.sleep(random.uniform(0, 0.15))
        if not calm and chance(10):
            await self.asked(("heartbeat", lease["token"]), "POST", W + token + "/heartbeat",
                             {"lock_ms": 2000}, want=(200, 410))
        if not calm and chance(3):
            await self.asked(("abandon", lease["token"]), "POST", W + token + "/abandon",
                             {"delay_ms": random.choice((0, 300))}, want=(200, 410))
            return
        if not calm and chance(3):
            await asyncio.sleep(random.uniform(1.8, 2.8))
        nonce = self.world.name("r")
        for _ in range(6):
            status, _ = await self.asked(
                ("complete", lease["key"], nonce), "POST", W + token + "/complete",
                {"result": nonce}, want=(200, 410))
            if not unsure(status):
                return
            await asyncio.sleep(random.uniform(0.05, 0.5))
