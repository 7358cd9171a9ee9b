# SPDX-License-Identifier: MIT
"""One request over a connection that is kept: the blocking transport.

Every thread has a connection of its own.  A connection that the server closed while it rested is noticed
before anything is sent.  When one breaks before the answer, nobody knows whether the request was acted
on: one that may be sent twice is sent once more, any other raises, and its caller decides.
"""
from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import urllib.parse
import weakref
from typing import Any, Dict, Optional, Tuple

from .errors import error_of
from .plans import ABSENT

Broken = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ConnectionAbortedError)
Trouble = (OSError, http.client.HTTPException)       # the server is away, or talks no HTTP


def address(url: Optional[str]) -> str:
    """The server's address: given, PAWL_URL, or this machine."""
    url = (url or os.environ.get("PAWL_URL") or "http://127.0.0.1:8000").rstrip("/")
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("the address must begin with http:// or https://")
    return url


def target(path: str, query: Optional[Dict[str, Any]]) -> str:
    given = {k: v for k, v in (query or {}).items() if v is not None}
    return path + "?" + urllib.parse.urlencode(given, doseq=True) if given else path


def encode(body: Any) -> bytes:
    return b"" if body is ABSENT else json.dumps(body, allow_nan=False, separators=(",", ":")).encode()


def decode(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")


def may_repeat(method: str, headers: Dict[str, str], repeat: Optional[bool]) -> bool:
    return method == "GET" or "Idempotency-Key" in headers if repeat is None else repeat


class Wire:
    """Requests to one server."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 75.0):
        self.url = address(url)
        self.token = token or os.environ.get("PAWL_TOKEN")
        self.timeout = timeout
        self._parts = urllib.parse.urlsplit(self.url)
        self._local = threading.local()
        self._open: "weakref.WeakSet[http.client.HTTPConnection]" = weakref.WeakSet()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        conn = kind(self._parts.hostname or "127.0.0.1", self._parts.port, timeout=timeout)
        conn.connect()
        conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open.add(conn)
        return conn

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        """This thread's; a new one when the other side has closed it."""
        conn: Optional[http.client.HTTPConnection] = getattr(self._local, "conn", None)
        if conn is not None and _closed(conn):           # before anything was sent: no harm
            self.close()
            conn = None
        if conn is None:
            conn = self._local.conn = self._connect(timeout)
        conn.sock.settimeout(timeout)
        return conn

    def close(self) -> None:
        """Close this thread's connection."""
        conn = getattr(self._local, "conn", None)
        if conn is not None:
            self._open.discard(conn)
            conn.close()
            self._local.conn = None

    def interrupt(self) -> None:
        """Break the calls that are under way in other threads; whoever made them gets an OSError."""
        for conn in list(self._open):
            try:
                conn.sock.shutdown(socket.SHUT_RDWR)
            except (OSError, AttributeError):            # it was closed meanwhile
                pass

    def _headers(self, more: Optional[Dict[str, str]]) -> Dict[str, str]:
        head = {"Content-Type": "application/json", **(more or {})}
        if self.token:
            head["Authorization"] = "Bearer " + self.token
        return head

    def request(self, method: str, path: str, body: Any = ABSENT, query: Optional[Dict[str, Any]] = None,
                headers: Optional[Dict[str, str]] = None, repeat: Optional[bool] = None,
                timeout: Optional[float] = None) -> Tuple[int, Any]:
        """One request; (status, decoded answer).  Raises Error for 4xx and 5xx.

        `repeat` says whether it may be sent twice; by default a GET and what has an Idempotency-Key.
        """
        path = target(self._parts.path + path, query)    # of a server behind a proxy: http://host/pawl
        data, head = encode(body), self._headers(headers)
        tries = 2 if may_repeat(method, head, repeat) else 1
        while True:
            tries -= 1
            try:
                status, text = self._send(method, path, data, head, timeout or self.timeout)
                break
            except Broken:
                if tries == 0:
                    raise
        value = decode(text)
        if status >= 400:
            raise error_of(status, value)
        return status, value

    def _send(self, method: str, path: str, data: bytes, head: Dict[str, str], timeout: float) -> Tuple[int, bytes]:
        conn = self._connection(timeout)
        try:
            conn.request(method, path, data, head)
            answer = conn.getresponse()
            text = answer.read()
        except BaseException:
            self.close()
            raise
        if answer.will_close:
            self.close()
        return answer.status, text


def _closed(conn: http.client.HTTPConnection) -> bool:
    """Has the other side closed a connection at rest?"""
    sock = conn.sock
    if sock is None:
        return True
    try:
        limit = sock.gettimeout()
        sock.settimeout(0)
        try:                              # below TLS too: at rest nothing is to be read
            socket.socket.recv(sock, 1, socket.MSG_PEEK)
            return True
        except BlockingIOError:
            return False
        finally:
            sock.settimeout(limit)
    except OSError:
        return True
