# SPDX-License-Identifier: MIT
"""Bad input of every kind: its 4xx, nothing stored, and the connection in order afterwards.

Every request goes over a raw connection.  After the answer the same connection must serve the next
request, or, when the answer says so, be closed without another byte.
"""
import json
import re
import socket
import time

import kit
from kit import Server
from test_matrix import path_of, routes, snapshot

I = "/api/v1/instances"
DEEP = 64                                                    # levels that are still allowed


class Wire:
    """One raw connection."""
    def __init__(self, server):
        self.port, self.sock = server.port, None

    def open(self):
        if self.sock is None:
            self.sock = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            self.rest = b""

    def close(self):
        if self.sock:
            self.sock.close()
        self.sock = None

    def more(self):
        try:
            got = self.sock.recv(65536)
        except ConnectionResetError:
            got = b""
        self.rest += got
        return bool(got)

    def answer(self):
        """(status, headers, body); status 0: hung up without one."""
        while b"\r\n\r\n" not in self.rest:
            if not self.more():
                assert self.rest == b"", self.rest
                return 0, {}, b""
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}
        length = int(headers["content-length"])
        while len(self.rest) < length:
            assert self.more(), "cut short"
        body, self.rest = self.rest[:length], self.rest[length:]
        return int(lines[0].split(" ")[1]), headers, body

    def is_over(self):
        while self.more():
            pass
        return self.rest == b""


def check(server, wire, request, want, method=None, path=None):
    """Send the bytes; the status is `want` (0: hung up), and the connection is in order."""
    wire.open()
    wire.sock.sendall(request if isinstance(request, bytes) else request.encode())
    status, headers, body = wire.answer()
    shown = (request[:200], status, body[:200])
    assert status in (want if isinstance(want, tuple) else (want,)), ("want", want, *shown)
    if method:
        kit.seen(method, path, status)
    if status == 0 or headers.get("connection", "").lower() == "close":
        assert wire.is_over(), ("more after a close", *shown)
        wire.close()
        return body
    wire.sock.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    after, _, ready = wire.answer()
    assert after == 200 and ready == b'{"status":"ready"}' and wire.rest == b"", (after, ready, *shown)
    return body


def request(method, path, body="", **headers):
    body = body.encode() if isinstance(body, str) else body
    head = "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % (method, path, len(body))
    for key, value in headers.items():
        head += "%s: %s\r\n" % (key.replace("_", "-"), value)
    return head.encode() + b"\r\n" + body


def commits(server):
    return re.search(r"\npawl_commits_total (\d+)", server.get("/metrics").body.decode())[1]


class Nothing:
    """Within it nothing is stored: what can be seen is the same, and nothing was committed."""
    def __init__(self, server):
        self.server = server

    def __enter__(self):
        time.sleep(0.1)
        self.before = snapshot(self.server), commits(self.server)
        self.wire = Wire(self.server)
        return self.wire

    def __exit__(self, kind, *_):
        self.wire.close()
        if kind is None:
            after = snapshot(self.server), commits(self.server)
            assert after == self.before, (self.before, after)


def prepared():
    """A server with one of everything, so that a wrong request could do damage."""
    server = Server()
    server.start_instance("Ask", 1, "x")
    for queue in ("x", "mail-1"):
        for i in range(2):
            assert server.post("/queue/%s/push" % queue, {"item": i}).status == 200
    for _ in range(100):
        if server.get(I + "/x").json["waiting_for"]:
            break
        time.sleep(0.02)
    return server


BAD_JSON = ["", "{", "}", '{"a":1', '{"a":1}x', '{"a":1,}', "{'a':1}", '{"a" 1}', "nul", "NaN", "01", "1.",
            "-", "+1", "1e", "Infinity", '"\x01"', '"\n"', '"\\x"', '"\\u12"', '"\\ud800', "\ufeff{}", "[1,]",
            "{}{}", "/* */{}", b"\xff\xfe", b'{"a":"\xc3\x28"}', b'{"a":"\xed\xa0\x80"}',
            b'{"a":"\xf4\x90\x80\x80"}', b'{"a":"\xc0\xaf"}', b'{"a":1}\x00',
            '{"a":%s1%s}' % ("[" * DEEP, "]" * DEEP), "[" * 100000, '{"a":' * 5000]


def test_json_that_is_none():
    with prepared() as server, Nothing(server) as wire:
        doc = server.get("/openapi.json").json
        count = 0
        for method, pattern, _ in routes(server):
            body = doc["paths"][pattern][method.lower()].get("requestBody")
            if not body:
                continue
            path = path_of(pattern)
            for bad in BAD_JSON:
                if bad == "" and not body["required"]:
                    continue
                answer = check(server, wire, request(method, path, bad), 400, method, path)
                text = json.loads(answer)
                assert text.get("message", "").startswith(("Request body is not valid JSON", "Request body is nested")) or \
                    text["error"]["code"] == "invalid_json", (path, bad[:50], answer)
                count += 1
        print("| %d bodies" % count)


def test_how_deep():
    with prepared() as server:
        wire = Wire(server)
        for depth, want in ((DEEP, 202), (DEEP + 1, 400)):
            body = "[" * depth + "]" * depth
            check(server, wire, request("POST", I + "/x/events/Deep", body), want)
        for depth, want in ((DEEP - 1, 200), (DEEP, 400)):   # the object around it is a level
            body = '{"item":%s%s}' % ("[" * depth, "]" * depth)
            check(server, wire, request("POST", "/queue/deep/push", body), want)
        wire.close()
        assert server.get("/queue/deep").json["ready"] == 1


def test_truncated_bodies():
    """The client goes away in the middle: no answer is owed, nothing is stored."""
    with prepared() as server, Nothing(server):
        for path, body in ((I, '{"orchestration":"Echo"}'), ("/queue/x/push", '{"item":1}'),
                           (I + "/x/events/Answer", "1")):
            whole = request("POST", path, body)
            chunked = ("POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "%x\r\n%s\r\n" % (path, len(body), body)).encode()
            for text in (whole[:-1], whole[:40], chunked, chunked[:-3]):
                for half in (True, False):
                    s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
                    s.sendall(text)
                    if half:
                        s.shutdown(socket.SHUT_WR)
                        assert s.recv(4096) == b""           # at once, not at some time-out
                    s.close()
        time.sleep(0.2)


def test_half_closed_connections_end_at_once():
    """The client sends all it has and no more: an answer if one is due, then the end."""
    push = request("POST", "/queue/h/push", '{"item":1}')
    ready = request("GET", "/ready")
    with Server() as server:
        for text, answers in ((ready, 1), (push, 1), (ready * 3, 3), (push * 3, 3), (ready + push[:-3], 1),
                              (push[:-3], 0), (push[:60], 0), (ready[:10], 0), (b"", 0)):
            for _ in range(30):
                s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
                s.sendall(text)
                s.shutdown(socket.SHUT_WR)
                got = b""
                while more := s.recv(65536):
                    got += more
                assert got.count(b"HTTP/1.1 200") == answers, (text, got)
                s.close()


def test_percent_encoding():
    bad = ["%", "%2", "%zz", "a%", "a%4", "%00", "a%00b", "%ff", "%c3%28", "%c0%af", "%ed%a0%80", "%g1", "% 1"]
    with prepared() as server, Nothing(server) as wire:
        for method, pattern, _ in routes(server):
            for name in re.findall(r"\{(\w+)\}", pattern):
                for text in bad[:-1]:
                    path = path_of(pattern.replace("{%s}" % name, text))
                    check(server, wire, request(method, path, "{}"), 400)
        for path in (I + "?prefix=", "/queue?prefix=", "/queue/x/messages?state=", I + "?status="):
            for text in bad[:-1]:
                check(server, wire, request("GET", path + text), 400)
        for text in bad[:-1]:
            check(server, wire, request("POST", "/queue/x/pop?require_ack=" + text), 400)
            check(server, wire, request("POST", "/queue/x/pop?%s=1" % text), 400)


def test_unknown_paths_and_methods():
    with prepared() as server, Nothing(server) as wire:
        for path in ("/nothing", "/api", "/api/v1", "/api/v2/instances", I + "/", I + "/x/", I + "/x/nothing",
                     "//health", "/health/", "/Health", "/queue/", "/queue//push", "/queue/x/push/",
                     "/queue/x/push/y", "/queue/x/PUSH", "/./health", "/../etc/passwd", "/%2e%2e/etc/passwd",
                     "/queue/x/messages/1/2", "/api/v1/work", "/api/v1/work/t/", "/api%2Fv1%2Finstances",
                     "/favicon.ico", I + ":bitch", I + ":batch/"):
            for method in ("GET", "POST", "DELETE"):
                body = json.loads(check(server, wire, request(method, path, "{}"), 404))
                assert body["error"]["code"] == "unknown_path", body
        allowed = {}
        for method, pattern, _ in routes(server):
            allowed.setdefault(pattern, []).append(method)
        for pattern, methods in allowed.items():
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW",
                           "get", "POSTX"):
                if method in methods:
                    continue
                wire.open()
                wire.sock.sendall(request(method, path_of(pattern), "{}"))
                status, headers, _ = wire.answer()
                assert status == 405, (method, pattern, status)
                assert sorted(headers["allow"].split(", ")) == sorted(methods), (pattern, headers)
                if headers.get("connection") == "close":
                    wire.close()
        check(server, wire, "GET health HTTP/1.1\r\nHost: localhost\r\n\r\n", (400, 404))


def test_too_large():
    with prepared() as server, Nothing(server) as wire:
        head = "GET /health HTTP/1.1\r\nHost: localhost\r\n"
        check(server, wire, head + "X-Big: %s\r\n\r\n" % ("x" * 40000), 431)
        wire.close()
        check(server, wire, head + "".join("X-%d: y\r\n" % i for i in range(3000)) + "\r\n", 431)
        wire.close()
        check(server, wire, "GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % ("x" * 40000), 414)
        wire.close()
        for path in (I, "/queue/x/push"):
            body = check(server, wire, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                         % (path, (8 << 20) + 1), 413)
            assert b"8388608" in body and b"--max-body" in body, body
        body = check(server, wire, request("POST", "/queue/x/push", '{"item":"%s"}' % ("x" * (1 << 20))), 413)
        assert b"1048576" in body or b"1 MiB" in body, body
        body = check(server, wire, request("POST", I, '{"orchestration":"Echo","input":"%s"}'
                                           % ("x" * (2 << 20))), 413)
        assert b"2097152" in body and b"--max-payload" in body, body
        body = check(server, wire, request("POST", I + "/x/events/Big", '"%s"' % ("x" * (2 << 20))), 413)
        for name in ("x" * 600, "%41" * 600):
            assert check(server, wire, request("GET", I + "/" + name), (400, 404)) is not None
            check(server, wire, request("POST", "/queue/%s/push" % name, '{"item":1}'), (400, 413))
        query = "&".join("p%d=1" % i for i in range(30))
        check(server, wire, request("GET", I + "?" + query), 400)
    with Server("--max-body", "10000") as server, Nothing(server) as wire:
        text = "POST /queue/x/push HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = "400\r\n%s\r\n" % ("x" * 1024)
        check(server, wire, text + chunk * 11 + "0\r\n\r\n", 413)


def test_framing():
    """What a proxy in front might read as another request than we do."""
    body = '{"item":"smuggled"}'
    inner = "POST /queue/x/push HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body), body)
    start = "POST /queue/x/push HTTP/1.1\r\nHost: localhost\r\n"
    n = len(inner)
    with prepared() as server, Nothing(server) as wire:
        for head, want in (("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % n, 400),
                           ("Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % n, 400),
                           ("Content-Length: 0\r\nContent-Length: %d\r\n" % n, 400),
                           ("Content-Length: %d\r\nContent-Length: %d\r\n" % (n, n), 400),
                           ("Transfer-Encoding: chunked, identity\r\n", 400),
                           ("Transfer-Encoding: identity\r\nContent-Length: 0\r\n", 400),
                           ("Transfer-Encoding: gzip\r\n", 400), ("Transfer-Encoding: xchunked\r\n", 400),
                           ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
                           ("Host: localhost\r\nContent-Length: 0\r\n", 400)):
            check(server, wire, start + head + "\r\n" + "0\r\n\r\n" + inner, want)
            assert wire.sock is None, ("kept open after", head)
        for length in ("-1", "+0", "0x0", "0, 0", "", "1e1", "99999999999999999999999"):
            check(server, wire, start + "Content-Length: %s\r\n\r\n0\r\n\r\n" % length + inner,
                  413 if length[0:1] == "9" else 400)
            assert wire.sock is None, ("kept open after", length)
        chunked = start + "Transfer-Encoding: chunked\r\n\r\n"
        for chunks in ("zz\r\n", "ffffffffffffffffff\r\nx", "-1\r\n", "1\r\nxx\r\n", "5\r\nab\r\n0\r\n\r\n"):
            check(server, wire, chunked + chunks + inner, (0, 400, 413))
            wire.close()
        for text in ("GARBAGE\r\n\r\n", "\0\1\2\3\r\n\r\n", "GET /version\r\n\r\n", "GET  /version HTTP/1.1\r\n\r\n",
                     "GET /version HTTP/9.9\r\nHost: localhost\r\n\r\n", "GET /version HTTP/1.1\r\n\r\n",
                     "GET /version HTTP/1.1\r\nHost: a b\r\n\r\n"):
            got = server.raw(text, timeout=15, close=True)
            assert got == b"" or re.match(rb"HTTP/1.[01] (400|421|505) ", got), (text, got)
        for encoding in ("gzip", "br"):
            check(server, wire, start + "Content-Encoding: %s\r\nContent-Length: 2\r\n\r\n{}" % encoding, 415)


NAMES = ["", "a\nb", "\t", "a\x00b", "\x7f", "a\x1b[0m", "x" * 600]


def test_names():
    quote = lambda text: "".join("%%%02x" % b for b in text.encode())
    with prepared() as server, Nothing(server) as wire:
        for name in [*NAMES, "a/b", "/", "a\\b/c"]:
            text = json.dumps(name)
            for body in ('{"orchestration":%s}', '{"orchestration":"Echo","version":%s}'):
                check(server, wire, request("POST", I, body % text), (400, 413))
            check(server, wire, request("POST", "/api/v1/work/poll", '{"activities":[%s]}' % text), (400, 413))
            if name:
                check(server, wire, request("POST", "/queue/%s/push" % quote(name), '{"item":1}'), (400, 413))
                check(server, wire, request("POST", I + "/x/events/" + quote(name), "1"), (400, 413))
                check(server, wire, request("PUT", "/queue/%s/config" % quote(name), "{}"), (400, 413))
        for name in NAMES:                                   # a slash is fine in an instance id
            text = json.dumps(name)
            check(server, wire, request("POST", I, '{"orchestration":"Echo","instance":%s}' % text), (400, 413))
        for name in NAMES[1:]:
            text = json.dumps(name)
            check(server, wire, request("PUT", "/queue/x/config", '{"dead_letter_queue":%s}' % text), (400, 413))
            check(server, wire, request("PUT", "/queue/x/config", '{"orchestration":%s}' % text), (400, 413))
            check(server, wire, request("POST", "/queue/x/redrive", '{"target":%s}' % text), (400, 413))
        for bad in ("5", "true", "[]", "{}", "1.5"):         # and what is no text
            for body in ('{"orchestration":%s}', '{"orchestration":"Echo","instance":%s}',
                         '{"orchestration":"Echo","version":%s}'):
                check(server, wire, request("POST", I, body % bad), 400)
            for body in ('{"item":1,"dedup_id":%s}', '{"item":1,"group":%s}'):
                check(server, wire, request("POST", "/queue/x/push", body % bad), 400)
            check(server, wire, request("POST", "/api/v1/work/poll", '{"activities":[%s]}' % bad), 400)
            check(server, wire, request("POST", I + "/x/cancel", '{"reason":%s}' % bad), 400)


def test_unknown_parameters_everywhere():
    with prepared() as server, Nothing(server) as wire:
        for method, pattern, _ in routes(server):
            path = path_of(pattern)
            if path in ("/health", "/ready"):                # whatever a probe sends along
                continue
            for query in ("zz=1", "zz", "=1", "zz=1&zz=1", "require_Ack=true", "%7a=1"):
                check(server, wire, request(method, path + "?" + query, "{}"), 400, method, path)
        for query in ("requireack=true", "require-ack=true", "requireAck=1", "ttl=5", "ttlSeconds=5",
                      "require_ack=true&require_ack=true", "require_ack=true&ttl_second=5", "lock=1"):
            body = check(server, wire, request("POST", "/queue/x/pop?" + query), 400)
            assert b'"success":false' in body and (b"known here" in body or b"twice" in body), body


def test_a_misspelt_parameter_is_told_everywhere():
    with prepared() as server, Nothing(server) as wire:
        paths, tried = server.get("/openapi.json").json["paths"], 0
        for method, pattern, _ in routes(server):
            about = paths[pattern][method.lower()].get("parameters", [])
            names = [p["name"] for p in about if p.get("in") == "query"]
            for name in names if path_of(pattern) not in ("/health", "/ready") else []:
                for odd in {name[:-1] + "_" + name[-1:], name.upper(), name + "x", name[1::-1] + name[2:]}:
                    if odd in names or len(name) < 3:
                        continue
                    body = check(server, wire, request(method, path_of(pattern) + "?" + odd + "=1", "{}"), 400).decode()
                    assert "unknown query parameter '%s' (did you mean '%s'?); known here: " % (odd, name) in body, body
                    tried += 1
            if not names and pattern not in ("/health", "/ready"):
                body = check(server, wire, request(method, path_of(pattern) + "?zz=1", "{}"), 400)
                assert b"unknown query parameter 'zz'; this call has none" in body, (pattern, body)
        assert tried > 100, tried


WRONG = ["-1", "1.5", "99999999999999999999", "1e400", "0x10", "x", " 1", "1 ", "", "null", "NaN", "true",
         "9223372036854775808", "-9223372036854775809", "--1", "1,5"]


def test_numbers_in_queries():
    with prepared() as server, Nothing(server) as wire:
        for path, name in ((I, "limit"), (I, "created_after"), (I + "/x", "execution"),
                           (I + "/x/history", "execution"), (I + "/x/history", "after"),
                           (I + "/x/history", "limit"), (I + "/x/wait", "timeout_ms"), ("/queue", "limit"),
                           ("/queue/x/messages", "limit"), ("/queue/x/messages", "after"),
                           ("/queue/x/messages", "priority")):
            for text in WRONG:
                text = text.replace(" ", "%20")
                check(server, wire, request("GET", "%s?%s=%s" % (path, name, text)), 400)
        for name in ("count", "max_priority"):
            for text in WRONG:
                check(server, wire, request("POST", "/queue/x/pop?%s=%s" % (name, text.replace(" ", "%20"))), 400)
        for name in ("ttl_seconds", "wait_seconds"):         # whole ones are brought into range
            for text in ("1.5", "1e400", "0x10", "x", "%201", "1%20", "", "null", "NaN", "true", "--1", "-", "+"):
                body = check(server, wire, request("POST", "/queue/x/pop?%s=%s" % (name, text)), 400)
                assert json.loads(body)["message"] == name + " must be an integer", body
        for text in ("0", "1001"):
            check(server, wire, request("GET", I + "?limit=" + text), 400)
        for text in ("0", "101"):
            check(server, wire, request("POST", "/queue/x/pop?count=" + text), 400)
        check(server, wire, request("GET", I + "/x/wait?timeout_ms=60001"), 400)


def test_numbers_in_bodies():
    whole = ["-1", "1.5", "99999999999999999999", "1e400", '"1"', "true", "[]", "{}", "9223372036854775808"]
    parts = ["-1", "1e400", "99999999999999999999", '"1"', "true", "[]", "{}", "-0.5"]
    with prepared() as server, Nothing(server) as wire:
        post = lambda path, body: check(server, wire, request("POST", path, body), 400)
        for bad in whole:
            body = post("/queue/x/push", '{"item":1,"priority":%s}' % bad)
            assert json.loads(body)["message"] == (
                "Priority must be non-negative" if bad == "-1" else "Priority must be an integer"), body
            post("/queue/x/push", '{"items":[{"item":1},{"item":2,"priority":%s}]}' % bad)
            for name in ("max", "wait_ms", "lock_ms"):
                post("/api/v1/work/poll", '{"activities":["A"],"%s":%s}' % (name, bad))
            for name in ("max", "rate_per_second"):
                post("/queue/x/redrive", '{"%s":%s}' % (name, bad))
            post("/queue/x/purge", '{"priority":%s}' % bad)
            post(I + ":batch", '{"action":"cancel","filter":{},"limit":%s}' % bad)
            post(I + ":batch", '{"action":"cancel","filter":{"created_after":%s}}' % bad)
            post("/api/v1/work/w1.x/heartbeat", '{"lock_ms":%s}' % bad)
            post("/api/v1/work/w1.x/abandon", '{"delay_ms":%s}' % bad)
            for name in ("max_locks", "max_deliveries", "max_length", "max_bytes", "default_priority"):
                check(server, wire, request("PUT", "/queue/x/config", '{"%s":%s}' % (name, bad)), 400)
        for bad in parts:
            for name in ("delay_seconds", "deliver_at", "expires_in_seconds"):
                post("/queue/x/push", '{"item":1,"%s":%s}' % (name, bad))
            for name in ("additional_ttl_seconds", "ttl_seconds"):
                post("/queue/x/extend-lock", '{"lock_id":"l","%s":%s}' % (name, bad))
            post("/queue/x/release", '{"lock_id":"l","delay_seconds":%s}' % bad)
            for name in ("default_ttl_seconds", "max_lock_seconds", "dedup_window_seconds",
                         "message_ttl_seconds"):
                check(server, wire, request("PUT", "/queue/x/config", '{"%s":%s}' % (name, bad)), 400)
            check(server, wire, request("PUT", "/queue/x/config", '{"retry_backoff_seconds":[%s]}' % bad), 400)
