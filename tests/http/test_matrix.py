# SPDX-License-Identifier: MIT
"""Route × role × Host × origin, and every route's general refusals.

The routes come from the server (/openapi.json); what each may answer follows from the rules
written down here, which know nothing of how the server decides.
"""
import json
import re
import socket
import subprocess
import threading
import time

import kit
from kit import Server, expect

# Who may call what, by hand.  A route that is not here has at least the scope it claims.
PUBLIC = {"GET /", "GET /health", "GET /ready", "POST /login", "POST /logout", "GET /session"}
ADMIN = {"POST /api/v1/instances:batch", "POST /api/v1/instances:prune", "DELETE /api/v1/instances/{id}",
         "POST /queue/{queue}/purge", "PUT /queue/{queue}/config"}
KNOWN = PUBLIC | ADMIN | set("""
GET /version|GET /metrics|GET /openapi.json|GET /api/v1/stream|POST /api/v1/instances
GET /api/v1/instances|GET /api/v1/instances/{id}|GET /api/v1/instances/{id}/history
GET /api/v1/instances/{id}/wait|GET /api/v1/instances/{id}/why|GET /api/v1/instances/{id}/tree
POST /api/v1/instances/{id}/events/{name}|POST /api/v1/instances/{id}/cancel
POST /api/v1/instances/{id}/terminate|POST /api/v1/instances/{id}/suspend
POST /api/v1/instances/{id}/resume|POST /api/v1/instances/{id}/retry|GET /queue
GET /queue/{queue}|POST /queue/{queue}/push|POST /queue/{queue}/pop|POST /queue/{queue}/acknowledge
POST /queue/{queue}/extend-lock|POST /queue/{queue}/release|POST /queue/{queue}/deadletter
POST /queue/{queue}/redrive|GET /queue/{queue}/messages|GET /queue/{queue}/messages/{message}
DELETE /queue/{queue}/messages/{message}|GET /queue/{queue}/locks|POST /queue/{queue}/pause
POST /queue/{queue}/resume|GET /queue/{queue}/config|POST /api/v1/work/poll
POST /api/v1/work/{token}/complete|POST /api/v1/work/{token}/fail
POST /api/v1/work/{token}/heartbeat|POST /api/v1/work/{token}/abandon
""".replace("\n", "|").strip("|").split("|"))
RANK = {"none": 0, "wrong": 0, "public": 0, "work": 0.5, "read": 1, "operate": 2, "admin": 3, "prefix": 3}
ROLES = ["none", "wrong", "work", "read", "operate", "admin", "prefix"]


def routes(server, headers=None):
    """[(method, pattern, scope it claims)]"""
    doc = server.get("/openapi.json", headers=headers).json
    return [(method.upper(), path, operation["x-scope"]) for path, item in doc["paths"].items()
            for method, operation in item.items()]


def scope_of(method, pattern, claimed):
    name = method + " " + pattern
    if name in PUBLIC:
        return "public"
    if name in ADMIN:
        return "admin"
    if name == "POST /api/v1/schedules:next":                # it has a body, and changes nothing
        return "read"
    if pattern.startswith(("/api/v1/work/", "/api/v1/turns")):   # all that a worker calls, and nothing else
        return "work"
    if name not in KNOWN:
        return claimed if RANK[claimed] > (0 if method == "GET" else 1) else "a scope"
    return "read" if method == "GET" else "operate"


def path_of(pattern, queue="mail-1"):
    return re.sub(r"\{(\w+)\}", lambda m: queue if m[1] == "queue" else "x", pattern)


def wanted(method, pattern, scope, role, open_door, host, origin, queue):
    """The status of a request that would be 400 if it were let in."""
    if pattern in ("/health", "/ready"):                     # anybody, under any name: the body is refused
        return 400
    if not host:
        return 421
    if origin == "cross" and method != "GET":
        return 403
    rank = RANK[role]
    if role == "none" and open_door:
        rank = 3
    if rank < RANK[scope] or (role, scope) == ("read", "work"):
        return 401 if rank == 0 else 403
    if role == "prefix" and scope != "public" and not pattern.startswith("/queue") and pattern != "/api/v1/stream":
        return 403                                           # for queues, and nothing else
    if role == "prefix" and "{queue}" in pattern and not queue.startswith("mail"):
        return 403
    return 400


def origins(port):
    yield "none", {}
    yield "same", {"Sec-Fetch-Site": "same-origin"}
    yield "same", {"Sec-Fetch-Site": "none"}
    yield "same", {"Origin": "http://127.0.0.1:%d" % port}
    yield "cross", {"Sec-Fetch-Site": "cross-site"}
    yield "cross", {"Sec-Fetch-Site": "same-site"}
    yield "cross", {"Origin": "http://evil.example"}
    yield "cross", {"Origin": "null"}


def check_answer(reply, want, where):
    assert reply.status == want, (where, "want", want, reply)
    assert "Access-Control-Allow-Origin" not in reply.headers, where
    assert ("WWW-Authenticate" in reply.headers) == (want == 401), where
    body = reply.json
    assert body["error"]["message"] if "error" in body else body["success"] is False, (where, body)


def snapshot(server, headers=None):
    """All that is stored, as far as anybody can see it."""
    look = lambda path: server.get(path, headers=headers).json
    queues = [q["name"] for q in look("/queue?limit=1000")["queues"]]
    still = lambda stats: {k: v for k, v in stats.items() if k != "oldest_age_seconds"}
    return (look("/api/v1/instances?limit=1000"),
            [(still(look("/queue/" + q)), look("/queue/%s/messages?limit=1000" % q)) for q in queues])


def run_matrix(*flags):
    server = Server(*flags, start=False)
    new = lambda scope, *more: subprocess.run(
        [str(kit.PAWL), "token", "new", "--data", str(server.data), "--scope", scope, *more],
        check=True, capture_output=True, text=True).stdout.strip()
    tokens = {"work": new("work"), "read": new("read"), "operate": new("operate"), "admin": new("admin"),
              "prefix": new("admin", "--queues", "mail,orders-")}
    tokens["wrong"] = tokens["admin"][:-4] + "zzzz"
    heads = {role: {"Authorization": "Bearer " + tokens[role]} for role in ROLES[1:]}
    heads["none"] = {}
    count = 0
    with server.start():
        before = snapshot(server, heads["admin"])
        table = routes(server, heads["admin"])
        assert {m + " " + p for m, p, _ in table} >= KNOWN
        for method, pattern, claimed in table:
            scope = scope_of(method, pattern, claimed)
            assert scope == claimed, (method, pattern, claimed)
            for role in ROLES:
                for good in (True, False):
                    for origin, more in origins(server.port):
                        for queue in ("mail-1", "other") if "{queue}" in pattern else ("",):
                            head = {**heads[role], **more}
                            if not good:
                                head["Host"] = "evil.example"
                            want = wanted(method, pattern, scope, role, not flags, good, origin,
                                          queue)
                            # whoever is let in is refused for the parameter: nothing happens
                            reply = server.call(method, path_of(pattern, queue) + "?zz=1", "[",
                                                headers=head)
                            check_answer(reply, want, (method, pattern, role, good, more, queue))
                            count += 1
        for role in ROLES:                                   # what is not there, and not allowed
            want = 403 if role == "work" else 404 if RANK[role] or (role == "none" and not flags) else 401
            check_answer(server.get("/nothing", headers=heads[role]), want, role)
            want = 405 if RANK[role] > 1 or (role == "none" and not flags) else 403 if RANK[role] \
                else 401
            reply = server.call("PATCH", "/queue/mail/push", headers=heads[role])
            check_answer(reply, want, role)
            assert ("Allow" in reply.headers) == (want == 405)
        assert snapshot(server, heads["admin"]) == before
    print("| %d requests%s" % (count, " with " + flags[0] if flags else ""))


def test_route_role_host_origin_matrix_with_tokens():
    run_matrix("--require-token")


def test_route_role_host_origin_matrix_on_loopback():
    run_matrix()


def test_hosts_in_all_spellings(server):
    port = server.port
    for host in ("127.0.0.1:%d" % port, "localhost:%d" % port, "[::1]:%d" % port, "localhost",
                 "LOCALHOST", "127.0.0.1", "[::1]", "localhost:1"):
        assert server.get("/api/v1/instances", headers={"Host": host}).status == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example:%d" % port, "localhost:80@evil", "localhost:x",
                 "localhost.", "xlocalhost", "localhostx", "[::1", "::1", "0.0.0.0", "127.0.0.2",
                 "localhost:8000:8000", "localhost/", "localhost,evil.example"):
        check_answer(server.get("/api/v1/instances", headers={"Host": host}), 421, host)
        assert server.get("/ready", headers={"Host": host}).status == 200, host


def test_413_on_every_route(server):
    before = snapshot(server)
    for method, pattern, _ in routes(server):
        text = "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n{" % (
            method, path_of(pattern))
        got = server.raw(text, timeout=5)
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in head, (text, got)
        assert b"--max-body" in body, body
        kit.seen(method, path_of(pattern), 413)
    assert snapshot(server) == before


def test_503_on_every_route_while_stopping():
    server = Server("--drain", "20s")
    table = [(m, p, s) for m, p, s in routes(server) if p != "/"]
    server.start_instance("Nap", 3000, "nap")
    conns = []
    for _ in table:                                          # old ones and new ones alike
        s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in s.recv(4096)
        conns.append(s)
    for _ in range(200):
        if any(w.get("running") for w in server.get("/api/v1/instances/nap").json["waiting_for"]):
            break
        time.sleep(0.02)
    stopper = threading.Thread(target=server.stop)
    stopper.start()
    for _ in range(200):
        if b" 503 " in server.raw("GET /ready HTTP/1.0\r\n\r\n"):
            break
        time.sleep(0.02)
    for n, ((method, pattern, _), s) in enumerate(zip(table, conns)):
        if n % 2:
            s.close()
            s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        s.sendall(("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
                   % (method, path_of(pattern))).encode())
        got = b""
        while more := s.recv(4096):
            got += more
        assert got.startswith(b"HTTP/1.1 503 "), (method, pattern, got)
        assert b"Connection: close" in got
        assert b"Retry-After: 1" in got or pattern == "/ready", (pattern, got)
        kit.seen(method, path_of(pattern), 503)
        s.close()
    stopper.join(30)
    assert server.process.returncode == 0
    server.start()
    assert server.ended("nap")["output"] == 3000
    assert server.get("/queue").json["queues"] == []
    server.stop()
