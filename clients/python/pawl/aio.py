# SPDX-License-Identifier: MIT
"""The client for asyncio: the methods of pawl.Client, awaited.

    async with pawl.aio.Client() as client:
        await client.start("Order", {"id": 1}, instance="o-1")
        async for event in client.history("o-1"): ...

Its transport speaks HTTP/1.1 over asyncio's streams and keeps connections: as many as there are calls
under way.  A connection is taken from the idle ones, used for one request and its whole answer, and put
back; one that broke or was cancelled in the middle is closed.  What may be sent twice is sent once more
on a connection that breaks before the answer, as wire.py does.
"""
from __future__ import annotations

import asyncio
import os
import ssl
import urllib.parse
from typing import Any, AsyncIterator, Dict, List, Optional, Tuple

from . import instances as _i
from . import queues as _q
from . import schedules as _s
from . import server_limits as _l
from .errors import error_of
from .plans import (ABSENT, Json, Pages, Plan, T, awaiting, own_awaiting, own_paging_later, paging_later)
from .wire import address, decode, encode, may_repeat, target

_Broken = (ConnectionError, asyncio.IncompleteReadError)


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer, self.keeps = reader, writer, True

    def is_closed(self) -> bool:
        return self.reader.at_eof() or self.writer.is_closing()

    def close(self) -> None:
        self.writer.close()

    async def exchange(self, head: bytes, data: bytes) -> Tuple[int, bytes]:
        self.writer.write(head + data)
        await self.writer.drain()
        status, fields = await self._head()
        while 100 <= status < 200:
            status, fields = await self._head()
        self.keeps = fields.get("connection", "").lower() != "close"
        return status, await self._body(status, fields)

    async def _head(self) -> Tuple[int, Dict[str, str]]:
        text = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = text.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ConnectionError("the answer is no HTTP: %.80r" % first)
        fields = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                fields[name.strip().lower()] = value.strip()
        return int(words[1]), fields

    async def _body(self, status: int, fields: Dict[str, str]) -> bytes:
        if status in (204, 304):
            return b""
        if fields.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        if "content-length" in fields:
            return await self.reader.readexactly(int(fields["content-length"]))
        self.keeps = False
        return await self.reader.read()

    async def _chunks(self) -> bytes:
        parts: List[bytes] = []
        while True:
            size = int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16)
            parts.append(await self.reader.readexactly(size))
            await self.reader.readuntil(b"\r\n")
            if size == 0:
                return b"".join(parts)


class Wire:
    """Requests to one server, in one event loop."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 75.0):
        self.url = address(url)
        self.token = token or os.environ.get("PAWL_TOKEN")
        self.timeout = timeout
        self._parts = urllib.parse.urlsplit(self.url)
        self._idle: List[_Connection] = []

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections that rest."""
        idle, self._idle = self._idle, []
        for conn in idle:
            conn.close()

    async def _connection(self) -> _Connection:
        while self._idle:
            conn = self._idle.pop()
            if not conn.is_closed():
                return conn
            conn.close()
        tls = ssl.create_default_context() if self._parts.scheme == "https" else None
        host = self._parts.hostname or "127.0.0.1"
        port = self._parts.port or (443 if tls else 80)
        return _Connection(*await asyncio.open_connection(host, port, ssl=tls, limit=1 << 20))

    def _head(self, method: str, path: str, fields: Dict[str, str], size: int) -> bytes:
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: " + self._parts.netloc.rpartition("@")[2],
                 "Content-Type: application/json", "Content-Length: %d" % size]
        if self.token:
            lines.append("Authorization: Bearer " + self.token)
        lines += ["%s: %s" % field for field in fields.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header has a line break")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def request(self, method: str, path: str, body: Any = ABSENT, query: Optional[Dict[str, Any]] = None,
                      headers: Optional[Dict[str, str]] = None, repeat: Optional[bool] = None,
                      timeout: Optional[float] = None) -> Tuple[int, Any]:
        """One request; (status, decoded answer).  Raises Error for 4xx and 5xx."""
        data, fields = encode(body), headers or {}
        head = self._head(method, target(self._parts.path + path, query), fields, len(data))
        tries = 2 if may_repeat(method, fields, repeat) else 1
        while True:
            tries -= 1
            try:
                status, text = await asyncio.wait_for(self._send(head, data), timeout or self.timeout)
                break
            except _Broken as error:
                if tries == 0:
                    raise error if isinstance(error, ConnectionError) else ConnectionResetError(
                        "the server closed the connection before its answer") from error
        value = decode(text)
        if status >= 400:
            raise error_of(status, value)
        return status, value

    async def _send(self, head: bytes, data: bytes) -> Tuple[int, bytes]:
        conn = await self._connection()
        try:
            answer = await conn.exchange(head, data)
        except BaseException:                # cancelled, too: what comes is the answer to nobody
            conn.close()
            raise
        if conn.keeps:
            self._idle.append(conn)
        else:
            conn.close()
        return answer


class Client(Wire):
    """Calls to one server, in one event loop; the methods of pawl.Client."""

    async def _make(self, plan: "Plan[T]") -> T:
        try:
            request = next(plan)
            while True:
                request = plan.send(await self.request(*request))
        except StopIteration as over:
            return over.value

    async def _pages(self, pages: Pages) -> AsyncIterator[Json]:
        after = pages.first
        while True:
            page = (await self.request(*pages.request(after)))[1]
            for item in page[pages.member]:
                yield item
            after = page.get("next")
            if after is None:
                return

    # ---- Instances ---------------------------------------------------------------------
    start = awaiting(_i.start)
    job = awaiting(_i.job)
    rerun = awaiting(_i.rerun)
    instances = awaiting(_i.instances)
    search = paging_later(_i.search)
    batch = awaiting(_i.batch)
    prune = awaiting(_i.prune)
    set_attributes = awaiting(_i.set_attributes)
    get = awaiting(_i.get)
    wait = awaiting(_i.wait)
    raise_event = awaiting(_i.raise_event)
    update = awaiting(_i.update)
    update_result = awaiting(_i.update_result)
    cancel = awaiting(_i.cancel)
    terminate = awaiting(_i.terminate)
    suspend = awaiting(_i.suspend)
    resume = awaiting(_i.resume)
    retry = awaiting(_i.retry)
    delete = awaiting(_i.delete)
    history = paging_later(_i.history)
    export = awaiting(_i.export)
    executions = paging_later(_i.executions)
    why = awaiting(_i.why)
    tree = awaiting(_i.tree)
    timeline = awaiting(_i.timeline)
    state = awaiting(_i.state)
    state_wait = awaiting(_i.state_wait)
    asks = paging_later(_i.asks)
    overview = awaiting(_i.overview)
    registry = awaiting(_i.registry)
    workers = awaiting(_i.workers)
    version = awaiting(_i.version)

    # ---- Schedules ---------------------------------------------------------------------
    schedule_put = awaiting(_s.schedule_put)
    schedule = awaiting(_s.schedule)
    schedules = paging_later(_s.schedules)
    schedule_next = awaiting(_s.schedule_next)
    schedule_pause = awaiting(_s.schedule_pause)
    schedule_resume = awaiting(_s.schedule_resume)
    schedule_run = awaiting(_s.schedule_run)
    schedule_backfill = awaiting(_s.schedule_backfill)
    schedule_remove = awaiting(_s.schedule_remove)

    # ---- Limits ------------------------------------------------------------------------
    limit_put = awaiting(_l.limit_put)
    limit = awaiting(_l.limit)
    limits = paging_later(_l.limits)
    limit_remove = awaiting(_l.limit_remove)

    # ---- Queues ------------------------------------------------------------------------
    push = awaiting(_q.push)
    pop = awaiting(_q.pop)
    pop_locked = awaiting(_q.pop_locked)
    ack = awaiting(_q.ack)
    queues = paging_later(_q.queues)

    def queue(self, name: str) -> "Queue":
        """One queue, with every call of it."""
        return Queue(self, name)


class Queue:
    """One durable priority queue.  Made by client.queue(name)."""

    def __init__(self, client: Client, name: str):
        self._client, self.name = client, name

    def _make(self, plan: Any) -> Any:
        return self._client._make(plan)

    def _pages(self, pages: Pages) -> AsyncIterator[Json]:
        return self._client._pages(pages)

    push = own_awaiting(_q.push)  # type: ignore[arg-type]
    push_many = own_awaiting(_q.push_many)
    pop = own_awaiting(_q.pop)  # type: ignore[arg-type]
    pop_locked = own_awaiting(_q.pop_locked)  # type: ignore[arg-type]
    pop_messages = own_awaiting(_q.pop_messages)  # type: ignore[arg-type]
    ack = own_awaiting(_q.ack)
    ack_many = own_awaiting(_q.ack_many)
    extend = own_awaiting(_q.extend)
    release = own_awaiting(_q.release)
    deadletter = own_awaiting(_q.deadletter)
    redrive = own_awaiting(_q.redrive)  # type: ignore[arg-type]
    purge = own_awaiting(_q.purge)
    pause = own_awaiting(_q.pause)
    resume = own_awaiting(_q.resume)
    get = own_awaiting(_q.get)
    remove = own_awaiting(_q.remove)
    messages = own_paging_later(_q.messages)  # type: ignore[arg-type]
    message = own_awaiting(_q.message)
    drop = own_awaiting(_q.drop)
    locks = own_awaiting(_q.locks)
    config = own_awaiting(_q.config)
    set_config = own_awaiting(_q.set_config)  # type: ignore[arg-type]
    change_config = own_awaiting(_q.change_config)  # type: ignore[arg-type]
