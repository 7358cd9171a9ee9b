# SPDX-License-Identifier: MIT
"""One connection of a client, and the ledger: the story's two ends.

The ledger is append-only and outside the server.  A request that changes something is
written down before it is sent and again when it is answered.  Records are JSON arrays:

    [time, n, kind, …]        sent, or seen; n is its number
    [time, n, status, …]      what became of n: the HTTP status, 0 when nobody knows

Times are the wall clock in seconds, as those of the server's locks.
"""
import asyncio
import json
import random
import time


class Ledger:
    def __init__(self, path):
        self.file = open(path, "w", buffering=1 << 16)
        self.n = 0
        self.sent = {}      # requests by kind
        self.acked = {}     # 2xx by kind
        self.unknown = {}   # sent, outcome unknown
        self.kinds = {}     # of requests on their way

    def write(self, *record):
        self.file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def note(self, kind, *rest):
        """Something seen; its number."""
        self.n += 1
        self.write(round(time.time(), 4), self.n, kind, *rest)
        return self.n

    def send(self, kind, *rest):
        n = self.note(kind, *rest)
        self.kinds[n] = kind
        return n

    def answer(self, n, status, *rest):
        self.count(self.kinds.pop(n), status)
        self.write(round(time.time(), 4), n, status, *rest)

    def count(self, kind, status):
        self.sent[kind] = self.sent.get(kind, 0) + 1
        if 200 <= status < 300:
            self.acked[kind] = self.acked.get(kind, 0) + 1
        elif status == 0 or status >= 500:
            self.unknown[kind] = self.unknown.get(kind, 0) + 1


class Wire:
    """A keep-alive connection; made again when it breaks."""

    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    def close(self):
        if self.writer:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def connect(self):
        """Until there is a server: a request that was never sent is not written down."""
        while self.writer is None or self.writer.is_closing() or self.reader.at_eof():
            self.close()
            try:
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(random.uniform(0.05, 0.3))

    async def call(self, method, path, body=None, key=None, timeout=40):
        """(status, body): status 0 when it was sent and the answer did not come."""
        await self.connect()
        data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        head = "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % (
            method, path, len(data))
        if key:
            head += "Idempotency-Key: %s\r\n" % key
        try:
            self.writer.write(head.encode() + b"\r\n" + data)
            return await asyncio.wait_for(self._answer(), timeout)
        except (OSError, EOFError, asyncio.TimeoutError):
            self.close()
            return 0, None
        except asyncio.CancelledError:
            self.close()
            raise

    async def _answer(self):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status, length, close = int(head[0].split()[1]), 0, False
        for line in head[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
            close = close or (name.lower() == "connection" and "close" in value.lower())
        data = await self.reader.readexactly(length)
        if close:
            self.close()
        return status, json.loads(data) if data[:1] in b"{[" and data else data.decode()
