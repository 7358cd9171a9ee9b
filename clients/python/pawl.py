# SPDX-License-Identifier: MIT
"""Pawl for Python: serve activities, start and steer workflows, use queues.

One file, standard library only (Python 3.8 and later).

    import pawl

    client = pawl.Client("http://127.0.0.1:8000")     # or PAWL_URL and PAWL_TOKEN

    worker = pawl.Worker(client)

    @worker.activity("Charge")
    def charge(order, task):
        return {"receipt": pay(order["amount"], idempotency_key=task.key)}

    worker.run()                                       # until SIGTERM or Ctrl-C

    client.start("ProcessOrder", {"amount": 3}, instance="order-1")
    print(client.wait("order-1")["output"])

An activity runs in a thread under a lease that is renewed in the background.
It may run more than once (a worker died, a lease was lost): hand `task.key` to
the outside world as idempotency key.  What it returns is the result; an
exception (sys.exit() too) is a failed attempt, and `pawl.Final` one that must
not be retried.  Both are handed in until the lease is over, however often the
server is away meanwhile.  A result the server refuses (NaN, nested too deeply,
too large, 401, 403) is printed and becomes a failure that is not retried, with
the server's words: another attempt would return the same.
"""
from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

__all__ = ["Client", "Worker", "Task", "Error", "NotFound", "Conflict", "Lost", "Locked", "Rejected",
           "Refused", "Pending", "Final"]

_ABSENT: Any = object()


class Error(Exception):
    """An answer other than 2xx; `status` is HTTP's, `code` a stable word."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class NotFound(Error):
    """404: there is no such thing."""


class Conflict(Error):
    """409: the state forbids it, or it exists with other contents."""


class Lost(Error):
    """410: the lock or lease was lost."""


class Locked(Error):
    """423: another consumer holds the queue's lock."""


class Rejected(Conflict):
    """409: the code rejected the update, or ended without answering it."""


class Refused(Error):
    """422: the check of its wait refused the update; nothing is recorded."""


class Pending(Exception):
    """An update that is durable and not answered yet; `update` is its id."""

    def __init__(self, update: str):
        super().__init__("the update %s is not answered yet" % update)
        self.update = update


class Final(Exception):
    """Raise it in an activity: this failure must not be retried."""


_ERRORS = {404: NotFound, 409: Conflict, 410: Lost, 422: Refused, 423: Locked}


class Client:
    """Calls to one server.  Thread-safe: every thread has a connection of its own."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None,
                 timeout: float = 75.0):
        self.url = (url or os.environ.get("PAWL_URL") or "http://127.0.0.1:8000").rstrip("/")
        self.token = token or os.environ.get("PAWL_TOKEN")
        self.timeout = timeout
        self._parts = urllib.parse.urlsplit(self.url)
        if self._parts.scheme not in ("http", "https"):
            raise ValueError("the address must begin with http:// or https://")
        self._local = threading.local()

    # ---- one request ---------------------------------------------------------------

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        kind = (http.client.HTTPSConnection if self._parts.scheme == "https"
                else http.client.HTTPConnection)
        conn = kind(self._parts.hostname or "127.0.0.1", self._parts.port, timeout=timeout)
        conn.connect()
        conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return conn

    def request(self, method: str, path: str, body: Any = _ABSENT,
                query: Optional[Dict[str, Any]] = None,
                headers: Optional[Dict[str, str]] = None,
                repeat: Optional[bool] = None,
                timeout: Optional[float] = None) -> Tuple[int, Any]:
        """One request; (status, decoded answer).  Raises Error for 4xx and 5xx.

        When the connection breaks before the answer, nobody knows whether the request was acted
        on.  One that may be sent twice is sent once more: `repeat`, by default a GET and what has
        an Idempotency-Key.  Any other raises, and it is the caller who decides.
        """
        path = self._parts.path + path    # of a server behind a proxy: http://host/pawl
        if query:
            given = {k: v for k, v in query.items() if v is not None}
            path += "?" + urllib.parse.urlencode(given, doseq=True) if given else ""
        data = b"" if body is _ABSENT else json.dumps(body, allow_nan=False).encode()
        head = {"Content-Type": "application/json", **(headers or {})}
        if self.token:
            head["Authorization"] = "Bearer " + self.token
        if repeat is None:
            repeat = method == "GET" or "Idempotency-Key" in head
        for last in (False, True):
            conn = getattr(self._local, "conn", None)
            if conn is not None and _closed(conn):    # before anything was sent: no harm
                conn.close()
                conn = None
            if conn is None:
                self._local.conn = None
                conn = self._local.conn = self._connect(timeout or self.timeout)
            conn.sock.settimeout(timeout or self.timeout)
            try:
                conn.request(method, path, data, head)
                answer = conn.getresponse()
                text = answer.read()
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                conn.close()
                self._local.conn = None
                if last or not repeat:
                    raise
            except Exception:
                conn.close()
                self._local.conn = None
                raise
        if answer.will_close:
            self._local.conn = None
        try:
            value = json.loads(text) if text else None
        except ValueError:
            value = text.decode(errors="replace")
        if answer.status >= 400:
            raise _error_of(answer.status, value)
        return answer.status, value

    # ---- workflows -------------------------------------------------------------------

    def start(self, orchestration: str, input: Any = _ABSENT, instance: Optional[str] = None,
              version: Optional[str] = None, allow_unregistered: bool = False,
              **options: Any) -> Dict[str, Any]:
        """Start an orchestration; durable on return, and idempotent by instance id.

        Options: start_at (milliseconds since 1970) or delay_ms, deadline_ms, if_exists ("same",
        "use", "rerun", "terminate"), attributes (names and values it can be found by), and
        raise_=[{"event": …, "data": …, "key": …}, …]: events for it, in the commit of the start.
        """
        if "raise_" in options:  # raise is a word of Python
            options["raise"] = options.pop("raise_")
        body: Dict[str, Any] = {"orchestration": orchestration, **options}
        if input is not _ABSENT:
            body["input"] = input
        if instance is not None:
            body["instance"] = instance
        if version is not None:
            body["version"] = version
        if allow_unregistered:
            body["allow_unregistered"] = True
        return self.request("POST", "/api/v1/instances", body)[1]

    def job(self, activity: str, input: Any = _ABSENT, instance: Optional[str] = None,
            **options: Any) -> Dict[str, Any]:
        """Run one activity, durably, without orchestration code; as start().

        Options: attempts, backoff, initial_ms, start_to_close_ms, tag, key, priority … as in the HTTP API.
        """
        body: Dict[str, Any] = {"activity": activity, **options}
        if input is not _ABSENT:
            body["input"] = input
        if instance is not None:
            body["instance"] = instance
        return self.request("POST", "/api/v1/jobs", body)[1]

    def rerun(self, instance: str, input: Any = _ABSENT, **options: Any) -> Dict[str, Any]:
        """Run an instance that has ended again; without `input` with that of its start.

        Options: version, deadline_ms, attributes.
        """
        body = {**options, **({} if input is _ABSENT else {"input": input})}
        return self.request("POST", _instance(instance) + "/rerun", body)[1]

    def instances(self, where: Any = (), **query: Any) -> Dict[str, Any]:
        """A page of instances, newest first: "instances", and "next" for `after`.

        `where` has conditions on attributes, all of which hold: ["customer=c-42", "total>=500"].
        Others: status, orchestration, prefix, parent, q, limit, after … as in the HTTP API.
        """
        conditions = [where] if isinstance(where, str) else list(where)
        return self.request("GET", "/api/v1/instances",
                            query={**query, "where": conditions or None})[1]

    def set_attributes(self, instance: str, attributes: Dict[str, Any]) -> Dict[str, Any]:
        """Change attributes of an instance: merged into those it has, None removes one."""
        return self.request("PATCH", _instance(instance) + "/attributes", attributes)[1]

    def get(self, instance: str) -> Dict[str, Any]:
        return self.request("GET", _instance(instance))[1]

    def wait(self, instance: str, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Wait until it has ended; TimeoutError when that takes longer than `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = 60.0 if end is None else max(0.0, min(60.0, end - time.monotonic()))
            status, value = self.request("GET", _instance(instance) + "/wait",
                                         query={"timeout_ms": int(left * 1000)})
            if status == 200:
                return value
            if end is not None and time.monotonic() >= end:
                raise TimeoutError("instance %r is still %s" % (instance, value["status"]))

    def raise_event(self, instance: str, event: str, data: Any = None,
                    key: Optional[str] = None, await_start: bool = False) -> None:
        self.request("POST", _instance(instance) + "/events/" + _quote(event), data,
                     {"await_start": 1} if await_start else None,
                     {"Idempotency-Key": key} if key else None)

    def update(self, instance: str, name: str, data: Any = None, key: Optional[str] = None,
               timeout_ms: int = 10000) -> Any:
        """Ask the code of an instance for something, and return its answer.

        A rejection raises Rejected, a refusal by a check Refused, a time-out Pending with the id of
        the update (`update`) for update_result().  The same key gives the same answer.
        """
        answer = self.request("POST", _instance(instance) + "/updates/" + _quote(name), data,
                              {"timeout_ms": timeout_ms}, {"Idempotency-Key": key} if key else None)
        return _answered(*answer)

    def update_result(self, instance: str, update: str, wait_ms: int = 0) -> Any:
        """The answer of an update that was made before, by its id."""
        return _answered(*self.request("GET", _instance(instance) + "/updates/" + _quote(update),
                                       query={"wait_ms": wait_ms}))

    def cancel(self, instance: str, reason: Optional[str] = None) -> None:
        self.request("POST", _instance(instance) + "/cancel", {"reason": reason})

    def history(self, instance: str) -> Iterable[Dict[str, Any]]:
        """Its events; one that completes a task has `result_kind` (ok, failed, which time-out,
        poison …), one that completes an activity `attempts`, too."""
        after = 0
        while after is not None:
            page = self.request("GET", _instance(instance) + "/history", query={"after": after})[1]
            yield from page["events"]
            after = page["next"]

    def state(self, instance: str, key: Optional[str] = None) -> Any:
        """What the code of an instance has published: the value of `key`, or all by key.

        A key that is not set raises NotFound."""
        path = _instance(instance) + "/state"
        if key is not None:
            return self.request("GET", path + "/" + _quote(key))[1]["value"]
        return {item["key"]: item["value"] for item in self.request("GET", path)[1]["items"]}

    # ---- schedules ---------------------------------------------------------------------

    def schedule_put(self, name: str, if_revision: Optional[int] = None,
                     **spec: Any) -> Dict[str, Any]:
        """Store a schedule, or change it; durable on return.  The answer has its next instants.

        spec: cron and zone, every_ms, or at_ms; orchestration or queue; input, overlap, missed …
        as in the HTTP API.
        """
        return self.request("PUT", _schedule(name), spec, headers=_if_match(if_revision))[1]

    def schedule(self, name: str) -> Dict[str, Any]:
        return self.request("GET", _schedule(name))[1]

    def asks(self, event: Optional[str] = None,
             orchestration: Optional[str] = None) -> Iterable[Dict[str, Any]]:
        """What instances ask people for; answer with raise_event()."""
        after: Any = None
        while True:
            page = self.request("GET", "/api/v1/asks",
                                query={"event": event, "orchestration": orchestration,
                                       "after": after})[1]
            yield from page["asks"]
            after = page["next"]
            if after is None:
                return

    def schedules(self, prefix: Optional[str] = None) -> Iterable[Dict[str, Any]]:
        after: Any = None
        while True:
            page = self.request("GET", "/api/v1/schedules",
                                query={"prefix": prefix, "after": after})[1]
            yield from page["schedules"]
            after = page["next"]
            if after is None:
                return

    def schedule_next(self, name: Optional[str] = None, count: int = 10,
                      from_ms: Optional[int] = None, **spec: Any) -> List[Dict[str, Any]]:
        """When it is due: at (milliseconds since 1970), utc and local.  Without a name: of `spec`,
        which is not stored."""
        query = {"count": count, "from": from_ms}
        if name is not None:
            return self.request("GET", _schedule(name) + "/next", query=query)[1]["next"]
        return self.request("POST", "/api/v1/schedules:next", spec, query=query,
                            repeat=True)[1]["next"]

    def schedule_pause(self, name: str, reason: Optional[str] = None) -> None:
        self.request("POST", _schedule(name) + "/pause", {"reason": reason})

    def schedule_resume(self, name: str) -> None:
        self.request("POST", _schedule(name) + "/resume")

    def schedule_run(self, name: str, key: Optional[str] = None) -> Dict[str, Any]:
        """Start it now, beside what runs; the same key twice starts once."""
        return self.request("POST", _schedule(name) + "/trigger",
                            headers={"Idempotency-Key": key or uuid.uuid4().hex})[1]

    def schedule_backfill(self, name: str, from_ms: int, to_ms: int, allow: bool = False,
                          spec: Optional[Dict[str, Any]] = None) -> None:
        """Start the occurrences of a time that is past: one after the other, or all at once."""
        body: Dict[str, Any] = {"from_ms": from_ms, "to_ms": to_ms, "allow": allow}
        if spec is not None:
            body["spec"] = spec
        self.request("POST", _schedule(name) + "/backfill", body)

    def schedule_remove(self, name: str, if_revision: Optional[int] = None) -> None:
        self.request("DELETE", _schedule(name), headers=_if_match(if_revision))

    # ---- queues ------------------------------------------------------------------------

    def push(self, queue: str, item: Any, priority: int = 0, **options: Any) -> Dict[str, Any]:
        """Durable on return.  Options: dedup_id, delay_seconds, expires_in_seconds, headers …"""
        # Either id lets the server recognize the second of two, should the answer get lost.
        key = {} if options.get("dedup_id") else {"Idempotency-Key": uuid.uuid4().hex}
        return self.request("POST", "/queue/%s/push" % _quote(queue),
                            {"item": item, "priority": priority, **options},
                            headers=key, repeat=True)[1]

    def pop(self, queue: str, **options: Any) -> List[Any]:
        """Take items for good (at most once; a broken connection may lose them)."""
        return self.request("POST", "/queue/%s/pop" % _quote(queue), query=options)[1]["items"]

    def pop_locked(self, queue: str, ttl_seconds: Optional[int] = None,
                   **options: Any) -> Tuple[List[Any], Optional[str]]:
        """Items under a lock, and its id for ack(); ([], None) when there are none."""
        answer = self.request("POST", "/queue/%s/pop" % _quote(queue),
                              query={"require_ack": "true", "ttl_seconds": ttl_seconds,
                                     **options})[1]
        return answer["items"], answer.get("lock_id")

    def ack(self, queue: str, lock_id: str) -> int:
        """How many items are done; raises Lost when the lock had run out."""
        return self.request("POST", "/queue/%s/acknowledge" % _quote(queue),
                            {"lock_id": lock_id}, repeat=True)[1]["items_acknowledged"]


class Task:
    """What an activity knows about its call."""

    def __init__(self, worker: "Worker", item: Dict[str, Any]):
        self._worker = worker
        self.token: str = item["token"]
        self.instance: str = item["instance"]
        self.execution: int = item["execution"]
        self.id: int = item["id"]
        self.activity: str = item["activity"]
        self.input: Any = item["input"]
        self.attempt: int = item["attempt"]
        self.key: str = item["key"]
        self._cancelled = threading.Event()
        self._wanted = True               # as far as the server said
        self._lease_end = 0.0             # by time.monotonic(); never before the server's

    def __str__(self) -> str:
        return "%s of instance %r (attempt %d)" % (self.activity, self.instance, self.attempt)

    @property
    def cancelled(self) -> bool:
        """True when nobody waits for the result any more."""
        return self._cancelled.is_set()


class Worker:
    """Polls for work and runs activities in threads."""

    def __init__(self, client: Optional[Client] = None, concurrency: int = 8,
                 lock_seconds: float = 30.0, tags: Optional[List[str]] = None,
                 name: Optional[str] = None):
        self.client = client or Client()
        self.concurrency, self.lock_ms = concurrency, int(lock_seconds * 1000)
        self.tags = list(tags or [])
        self.name = name or "%s:%d" % (socket.gethostname(), os.getpid())
        self._functions: Dict[str, Callable[..., Any]] = {}
        self._stop = threading.Event()
        self._free = threading.Semaphore(concurrency)
        self._tasks: Dict[str, Task] = {}
        self._lock = threading.Lock()
        self._told = False                # that the server is away

    def activity(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: this function does the activity `name`: function(input, task)."""
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._functions[name] = function
            return function
        return register

    def stop(self) -> None:
        """Take no new work; run() returns when what runs is done."""
        self._stop.set()

    def run(self, signals: bool = True) -> None:
        """Serve until stop(), SIGTERM or SIGINT; running activities may finish."""
        if signals and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        over = threading.Event()
        try:
            with ThreadPoolExecutor(self.concurrency, "pawl-activity") as pool:
                beats = threading.Thread(target=self._beat, args=(over,), name="pawl-heartbeat",
                                         daemon=True)
                beats.start()
                while not self._stop.is_set():
                    for item in self._poll():
                        task = Task(self, item)
                        self._hold(task)
                        with self._lock:
                            self._tasks[task.token] = task
                        self._free.acquire()
                        pool.submit(self._work, task)
        finally:
            over.set()
            with self._lock:
                self._tasks.clear()

    def _poll(self) -> List[Dict[str, Any]]:
        free = 0
        while self._free.acquire(blocking=False):
            free += 1
        for _ in range(free):
            self._free.release()
        if free == 0:
            self._stop.wait(0.01)
            return []
        try:
            # short enough that a stop is not waited for long
            items = self.client.request("POST", "/api/v1/work/poll", {
                "activities": list(self._functions), "tags": self.tags, "max": min(free, 100),
                "wait_ms": 2000, "lock_ms": self.lock_ms, "worker": self.name})[1]["items"]
            self._told = False
            return items
        except (OSError, http.client.HTTPException) as error:
            self._wait_for_server(error)
        except Error as error:
            if not _passes(error):
                raise
            self._wait_for_server(error)
        return []

    def _wait_for_server(self, error: Exception) -> None:
        if not self._told:                # once, until it has answered again
            _say("%s does not answer (%s); trying again" % (self.client.url, error))
        self._told = True
        self._stop.wait(0.5)

    def _hold(self, task: Task) -> None:
        """The lease was given or renewed before its answer came: it is over by then."""
        task._lease_end = time.monotonic() + self.lock_ms / 1000

    def _work(self, task: Task) -> None:
        try:
            self._hand_in(task, *self._attempt(task))
        finally:
            with self._lock:
                self._tasks.pop(task.token, None)
            self._free.release()

    def _attempt(self, task: Task) -> Tuple[str, Dict[str, Any]]:
        """Run it once; the verb and body to hand in."""
        try:
            result = self._functions[task.activity](task.input, task)
        except Final as error:
            return "fail", {"error": _text_of(error), "retryable": False}
        except BaseException as error:    # the author's: this attempt failed; sys.exit() is no end
            text = "%s: %s" % (type(error).__name__, _text_of(error))
            return "fail", {"error": text, "retryable": True}
        try:
            json.dumps(result, allow_nan=False)
        except Exception as error:        # it would be none the next time either
            text = "the result is no JSON (%s: %s)" % (type(error).__name__, _text_of(error))
            _say("%s: %s" % (task, text))
            return "fail", {"error": text, "retryable": False}
        return "complete", {"result": result}

    def _hand_in(self, task: Task, verb: str, body: Dict[str, Any]) -> None:
        """Until it is recorded, known to be lost, or the lease is over."""
        pause, told = 0.1, ""
        while True:
            trouble = self._offer(task, verb, body)
            if isinstance(trouble, Error) and not _passes(trouble):
                # Not to be had as it is.  Were it the credentials, the failure is refused as
                # well, and the result stays what it was: they may be mended before the lease ends.
                text = "the server refused the %s: %d %s" % (
                    "result" if verb == "complete" else "error text", trouble.status, trouble)
                if text != told:
                    _say("%s: %s" % (task, text))
                told = text
                if verb == "fail":
                    text += "; it begins: " + ascii(str(body["error"])[:200])
                trouble = self._offer(task, "fail", {"error": text, "retryable": False})
            if trouble is None:
                return
            left = task._lease_end - time.monotonic()
            if left <= 0:
                return _say("%s: not handed in before the lease was over (%s); it will run again"
                            % (task, trouble))
            time.sleep(min(pause, left))
            pause = min(pause * 2, 2.0)

    def _offer(self, task: Task, verb: str, body: Dict[str, Any]) -> Optional[Exception]:
        """Hand in once; None when that settled it, for good or not."""
        try:
            self.client.request("POST", "/api/v1/work/%s/%s" % (task.token, verb), body,
                                repeat=True, timeout=max(5.0, self.lock_ms / 1000))
        except Lost as error:             # somebody else does it, or nobody waits
            if task._wanted:
                _say("%s: %s" % (task, error))
        except (Error, OSError, http.client.HTTPException) as error:
            return error                  # perhaps it was recorded: then the next one says so
        return None

    def _beat(self, over: threading.Event) -> None:
        while not over.wait(self.lock_ms / 3000):
            with self._lock:
                tasks = list(self._tasks.values())
            for task in tasks:
                try:
                    answer = self.client.request(
                        "POST", "/api/v1/work/%s/heartbeat" % task.token,
                        {"lock_ms": self.lock_ms}, repeat=True,
                        timeout=max(1.0, self.lock_ms / 3000))[1]
                    self._hold(task)
                    if answer["cancelled"]:
                        task._wanted = False
                        task._cancelled.set()
                except Lost:
                    task._cancelled.set()
                except Error:
                    pass                  # the next beat comes before the lease ends
                except (OSError, http.client.HTTPException):
                    break                 # nor would it answer for the others


def _say(text: str) -> None:
    clean = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    print("pawl: worker: " + clean, file=sys.stderr, flush=True)


def _text_of(error: BaseException) -> str:
    """What it says, whatever its __str__ does, as text that can be sent."""
    try:
        text = str(error)
    except Exception:
        text = "(an exception that cannot be printed)"
    return text.encode("utf-8", "replace").decode()


def _passes(error: Error) -> bool:
    """Is this about the moment and not about the request?"""
    return error.status >= 500 or error.status in (408, 425, 429)


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


def _quote(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _instance(instance: str) -> str:
    return "/api/v1/instances/" + _quote(instance)


def _schedule(name: str) -> str:
    return "/api/v1/schedules/" + _quote(name)


def _if_match(revision: Optional[int]) -> Optional[Dict[str, str]]:
    return None if revision is None else {"If-Match": '"%d"' % revision}


def _error_of(status: int, value: Any) -> Error:
    code, message = "error", str(value)
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        code, message = value["error"].get("code", code), value["error"].get("message", message)
    elif isinstance(value, dict):
        code, message = value.get("error_code", code), value.get("message", message)
    if code == "rejected":
        return Rejected(status, code, message)
    return _ERRORS.get(status, Error)(status, code, message)


def _answered(status: int, answer: Dict[str, Any]) -> Any:
    if status == 202:
        raise Pending(answer["update"])
    return answer["result"]
