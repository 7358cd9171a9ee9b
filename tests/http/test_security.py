# SPDX-License-Identifier: MIT
"""The security baseline: tokens, TLS, framing, limits, slow clients.  The matrix: test_matrix.py."""
import contextlib
import json
import os
import socket
import stat
import subprocess
import threading
import time

import kit
from kit import Server, expect

def token(server, scope, *more):
    return subprocess.run([str(kit.PAWL), "token", "new", "--data", str(server.data), "--scope",
                           scope, *more], check=True, capture_output=True,
                          text=True).stdout.strip()


def test_health_tells_strangers_no_version():
    server = Server("--require-token", start=False)
    head = {"Authorization": "Bearer " + token(server, "read")}
    with server.start():
        assert "version" not in server.get("/health").json
        assert "version" in server.get("/health", headers=head).json


def test_a_header_with_one_value_is_given_once():
    body = '{"orchestration":"Ask","instance":"once-%d"}'
    with Server() as server:
        for n, (name, values) in enumerate((("Idempotency-Key", ("a", "b")), ("idempotency-key", ("a", "a")),
                                            ("Authorization", ("Bearer a", "Bearer b")),
                                            ("Content-Type", ("application/json", "text/plain")),
                                            ("If-Match", ('"1"', '"2"')), ("Last-Event-ID", ("1", "2")))):
            text = body % n
            start = ("POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
                     % len(text))
            twice = "".join("%s: %s\r\n" % (name, value) for value in values)
            got = server.raw(start + twice + "\r\n" + text, timeout=2)
            assert status_of(got) == 400 and b"is given twice; give it once" in got, (name, got)
            assert server.get("/api/v1/instances/once-%d" % n).status == 404


def test_allow_host():
    with Server("--allow-host", "pawl.example,other.example") as server:
        expect(server.get("/version", headers={"Host": "pawl.example"}), 200)
        expect(server.get("/version", headers={"Host": "other.example:8000"}), 200)
        expect(server.get("/version", headers={"Host": "third.example"}), 421, "wrong_host")


def test_probes_are_answered_under_any_name(server):
    """Load balancers and supervisors know the address, speak HTTP/1.0, and add a query."""
    for path in ("/health", "/ready"):
        for text in ("GET %s HTTP/1.0\r\n\r\n", "GET %s HTTP/1.1\r\nHost: 10.9.9.9:80\r\n\r\n",
                     "GET %s HTTP/1.1\r\nHost: pawl.internal\r\n\r\n", "HEAD %s HTTP/1.0\r\n\r\n",
                     "GET %s?t=1&x=%%zz&&t=1 HTTP/1.0\r\nHost: a\r\n\r\n"):
            got = server.raw(text % path)
            assert status_of(got) == 200, (text, got)
            assert b"version" not in got, "a page on a rebound name learns nothing"
    for text in ("GET / HTTP/1.0\r\n\r\n", "GET /version HTTP/1.0\r\n\r\n"):
        assert status_of(server.raw(text)) == 421


def test_an_address_as_host_is_fine_where_a_token_is_needed():
    server = Server("--require-token", start=False)
    head = {"Authorization": "Bearer " + token(server, "read")}
    with server.start():
        for host in ("10.1.2.3", "10.1.2.3:8443", "[2001:db8::1]", "[2001:db8::1]:8000"):
            expect(server.get("/version", headers={**head, "Host": host}), 200)
            expect(server.get("/version", headers={"Host": host}), 401, "unauthorized")
        for host in ("10.1.2", "10.1.2.3.evil.example", "[2001:db8::1", "[]", "2001:db8::1", "[10.1.2.3]",
                     "1" * 60, "10.1.2.3.", "evil.example"):
            expect(server.get("/version", headers={**head, "Host": host}), 421, "wrong_host")


def refused(*flags, with_token=False):
    server = Server("--listen", "0.0.0.0:0", *flags, start=False)
    if with_token:
        token(server, "admin")
    try:
        server.start()
    except AssertionError as error:
        return server.process.returncode, str(error)
    server.stop()
    return 0, ""


def test_tokens_made_together_are_all_kept():
    server = Server(start=False)
    first = token(server, "read")
    run = [str(kit.PAWL), "token", "--data", str(server.data)]
    made = [subprocess.Popen(run[:2] + ["new"] + run[2:] + ["--scope", "read"],
                             stdout=subprocess.PIPE, text=True) for _ in range(16)]
    made.append(subprocess.Popen(run[:2] + ["revoke", first.split("_")[1]] + run[2:],
                                 stdout=subprocess.PIPE, text=True))
    answers = [(p.communicate()[0].strip(), p.returncode) for p in made]
    assert [code for _, code in answers] == [0] * 17, answers
    with server.start():
        for text, _ in answers[:16]:
            expect(server.get("/api/v1/instances", headers={"Authorization": "Bearer " + text}), 200)
        expect(server.get("/api/v1/instances", headers={"Authorization": "Bearer " + first}), 401)


def test_a_prefix_that_would_mean_every_queue_is_refused():
    server = Server(start=False)
    result = subprocess.run([str(kit.PAWL), "token", "new", "--data", str(server.data), "--scope",
                             "operate", "--queues=-"], capture_output=True, text=True)
    assert result.returncode == 2 and "prefix" in result.stderr, result


def test_other_addresses_need_token_and_tls():
    status, text = refused()
    assert status == 2 and "needs a token" in text
    status, text = refused(with_token=True)
    assert status == 2 and "--tls-cert" in text and "--insecure-listen" in text
    assert refused("--insecure-listen", with_token=True)[0] == 0


def test_tokens():
    data = kit.work_dir() / "tok"
    server = Server(data=data, start=False)
    good = token(server, "operate+", "--name", "the shop", "--queues", "orders-,mail")
    path = data / "tokens"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert good.split("_")[2] not in path.read_text()
    run = lambda *a: subprocess.run([str(kit.PAWL), "token", *a, "--data", str(data)],
                                    capture_output=True, text=True)
    row = json.loads(run("ls", "-o", "json").stdout)["tokens"][0]
    assert row["scope"] == "operate+" and row["name"] == "the shop" and row["queues"] == "orders-,mail"
    with server.start():
        expect(server.get("/version"), 200)                  # loopback needs none
        bear = lambda t: {"Authorization": "Bearer " + t}
        expect(server.get("/version", headers=bear(good)), 200)
        for bad in (good + "x", good[:-1], "pawl_x_y", "", good.upper()):
            expect(server.get("/version", headers=bear(bad)), 401, "unauthorized")
        expect(server.get("/version", headers={"Authorization": "Basic eDp5"}), 401)
        assert run("revoke", row["id"]).returncode == 0
        expect(server.get("/version", headers=bear(good)), 401)   # at once
        assert run("revoke", row["id"]).returncode == 4
        assert good not in server.log_text()
    assert run("new", "--scope", "god").returncode == 2
    for queues in ("", ",", "a,", ",a", "a,,b", "-", "a b"):   # an empty prefix would be every queue
        done = run("new", "--queues", queues)
        assert done.returncode == 2 and done.stdout == "" and "queues" in done.stderr, (queues, done)
    done = run("new", "--scope", "work", "--queues", "mail")
    assert done.returncode == 2 and "the scope work has none" in done.stderr, done
    assert run("new", "--scope", "read+").returncode == 2 and run("new", "--scope", "+").returncode == 2
    assert json.loads(run("ls", "-o", "json").stdout)["tokens"] == []


def test_ids_of_tokens_are_random():
    server = Server(start=False)
    ids = [int(token(server, "read").split("_")[1], 16) for _ in range(40)]
    assert len(set(ids)) == 40
    for bit in range(32):                                    # what was on the stack has bits that never change
        assert len({n >> bit & 1 for n in ids}) == 2, (bit, ids)


def test_a_token_for_queues_is_for_nothing_else():
    server = Server("--require-token", start=False)
    bear = lambda *a: {"Authorization": "Bearer " + token(server, *a)}
    only, more = bear("operate", "--queues", "mail"), bear("operate+", "--queues", "mail")
    with server.start():
        for path in ("/version", "/metrics", "/openapi.json", "/api/v1/instances", "/api/v1/instances/x/wait"):
            reply = expect(server.get(path, headers=only), 403, "forbidden")
            assert "operate+" in reply.json["error"]["message"], reply
        expect(server.post("/api/v1/work/poll", {"activities": ["A"]}, headers=only), 403, "forbidden")
        for head in (only, more):
            expect(server.post("/queue/mail/push", {"item": 1}, headers=head), 200)
            expect(server.post("/queue/other/push", {"item": 1}, headers=head), 403)
        for path in ("/health", "/ready", "/queue", "/queue/mail/messages"):
            expect(server.get(path, headers=only), 200)
        expect(server.get("/version", headers=more), 200)
        expect(server.get("/api/v1/instances", headers=more), 200)


def test_revoking_reaches_who_waits_and_listens():
    server = Server("--require-token", start=False)
    mine, other = token(server, "operate"), token(server, "operate")
    ask = lambda text, t: (text % ("Host: localhost\r\nAuthorization: Bearer %s\r\n" % t)).encode()
    poll = '{"activities":["Charge"],"wait_ms":60000}'
    texts = ["GET /api/v1/stream HTTP/1.1\r\n%s\r\n", "GET /api/v1/instances/a/wait?timeout_ms=60000 HTTP/1.1\r\n%s\r\n",
             "POST /queue/q/pop?wait_seconds=30 HTTP/1.1\r\n%sContent-Length: 0\r\n\r\n",
             "POST /api/v1/work/poll HTTP/1.1\r\n%%sContent-Length: %d\r\n\r\n%s" % (len(poll), poll)]

    def heard(s, seconds):
        """All that comes until it is silent for so long, or over."""
        s.settimeout(seconds)
        got = b""
        with contextlib.suppress(socket.timeout):
            while more := s.recv(65536):
                got += more
                if not got.startswith(b"HTTP/1.1 200 OK") or b"event-stream" not in got:
                    break
        return got
    with server.start():
        head = {"Authorization": "Bearer " + other}
        expect(server.post("/api/v1/instances", {"orchestration": "Ask", "instance": "a"}, headers=head), 201)
        conns = {}
        for t in (mine, other):
            conns[t] = [socket.create_connection(("127.0.0.1", server.port)) for _ in texts]
            for s, text in zip(conns[t], texts):
                s.sendall(ask(text, t))
        time.sleep(0.5)
        subprocess.run([str(kit.PAWL), "token", "revoke", mine.split("_")[1], "--data", str(server.data)], check=True)
        expect(server.get("/api/v1/instances", headers=head), 200)   # whose request reads the file first
        stream, wait, pop, work = [heard(s, 10) for s in conns[mine]]
        assert stream.endswith(b"0\r\n\r\n"), stream                 # over, as it should be
        assert wait.startswith(b"HTTP/1.1 401 ") and b"revoked" in wait, wait
        assert b'"items":[]' in pop and b'"items":[]' in work, (pop, work)
        for s in conns[other]:                                       # nobody else notices
            assert b"HTTP/1.1 401" not in heard(s, 0.3) and not heard(s, 0.1)
        expect(server.post("/queue/q/push", {"item": 7}, headers=head), 200)
        assert b'"items":[7]' in heard(conns[other][2], 10)
        expect(server.post("/api/v1/instances/a/events/Answer", "1", headers=head), 202)
        assert heard(conns[other][1], 10).startswith(b"HTTP/1.1 200 ")
        for s in conns[mine] + conns[other]:
            s.close()


def test_tokens_that_cannot_be_read_are_trouble():
    server = Server("--require-token", start=False)
    good = {"Authorization": "Bearer " + token(server, "operate")}
    path = server.data / "tokens"
    kept = path.read_text()
    path.unlink()
    path.mkdir()                                                     # not readable, for root neither
    try:
        server.start()
        raise RuntimeError("started")
    except AssertionError as error:
        assert "cannot read the tokens" in str(error) and "there is none" not in str(error), error
    for what in ("ls", "new"):
        done = subprocess.run([str(kit.PAWL), "token", what, "--data", str(server.data)], capture_output=True, text=True)
        assert done.returncode == 3 and "cannot read the tokens" in done.stderr, done
    path.rmdir()
    path.write_text(kept)
    with server.start():
        expect(server.get("/version", headers=good), 200)
        before = server.log_text().count("no caller with a token is let in")
        path.unlink()
        path.mkdir()
        expect(server.get("/version", headers=good), 503, "unavailable")
        expect(server.get("/version", headers=good), 503, "unavailable")
        expect(server.get("/version"), 401, "unauthorized")
        assert server.log_text().count("no caller with a token is let in") == before + 1   # once
        path.rmdir()
        path.write_text("what is this\n" + kept)
        expect(server.get("/version", headers=good), 200)            # the others are good
        assert "a line is no token" in server.log_text()
        done = subprocess.run([str(kit.PAWL), "token", "new", "--data", str(server.data)], capture_output=True, text=True)
        assert done.returncode == 3 and "line 1 of" in done.stderr, done
        assert path.read_text().startswith("what is this\n")        # nothing was lost


def test_a_token_file_moved_away_and_back_counts_again():
    server = Server("--require-token", start=False)
    good = {"Authorization": "Bearer " + token(server, "operate")}
    path, aside = server.data / "tokens", server.data / "tokens.aside"

    def until(status):
        for _ in range(400):
            if server.get("/api/v1/instances", headers=good).status == status:
                return
            time.sleep(0.02)
        raise AssertionError("never %d" % status)
    with server.start():
        until(200)
        path.rename(aside)
        until(401)
        aside.rename(path)     # the same file, and not changed since
        until(200)


def test_a_token_file_half_written_by_a_kill_is_written_again(server):
    left = server.data / "tokens.new"
    left.write_text("half a li")
    assert token(server, "read")
    assert not left.exists()


def test_root_makes_tokens_for_somebody_else():
    if os.geteuid() != 0:
        print("| not root: a file stays its owner's anyway")
        return
    data = kit.work_dir() / "theirs"
    data.mkdir(mode=0o700)
    os.chown(data, 1234, 2345)
    server = Server(data=data, start=False)
    path = data / "tokens"
    token(server, "read")                                            # a new file is the directory's owner's
    made = path.stat()
    assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (1234, 2345, 0o600), made
    os.chown(path, 1111, 2222)
    path.chmod(0o640)
    token(server, "read")                                            # an old one stays as it is
    kept = path.stat()
    assert (kept.st_uid, kept.st_gid, stat.S_IMODE(kept.st_mode)) == (1111, 2222, 0o640), kept
    assert len(path.read_text().splitlines()) == 2 and list(data.iterdir()) == [path]


def test_tls():
    key, cert = kit.work_dir() / "k.pem", kit.work_dir() / "c.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                           str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost"],
                          capture_output=True)
    if made.returncode:
        return                                                # no openssl here
    with Server("--tls-cert", str(cert), "--tls-key", str(key)) as server:
        assert server.url.startswith("https://")
        out = subprocess.run(["curl", "-sk", server.url + "/health"], capture_output=True, text=True)
        assert json.loads(out.stdout)["status"] == "healthy"


def status_of(text):
    return int(text.split(b" ", 2)[1]) if text.startswith(b"HTTP/1.1 ") else 0


def test_smuggling_and_framing(server):
    host = "Host: 127.0.0.1\r\n"
    start = "POST /api/v1/instances HTTP/1.1\r\n" + host
    body = '{"orchestration":"Echo","instance":"smuggled"}'
    for head in ("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(body),
                 "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                 "Content-Length: 5\r\nContent-Length: %d\r\n" % len(body),
                 "Content-Length: -1\r\n", "Content-Length: +5\r\n", "Content-Length: 0x5\r\n",
                 "Content-Length: 5, 5\r\n", "Transfer-Encoding: chunked, identity\r\n",
                 "Transfer-Encoding: gzip\r\n", "Content-Length: 99999999999999999999999\r\n"):
        got = server.raw(start + head + "\r\n" + body, timeout=2)
        assert status_of(got) in (0, 400, 413, 501), (head, got)
        assert b"HTTP/1.1 2" not in got, (head, got)
    for request in ("GET / HTTP/1.1\r\n\r\n", "GARBAGE\r\n\r\n", "GET /health HTTP/9.9\r\n" + host + "\r\n",
                    "GET /health\r\n\r\n", "\x00\x01\x02\x03\r\n\r\n",
                    "GET /health HTTP/1.1\r\n" + host + host + "\r\n",
                    "POST /queue/q/push HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n"
                    "ffffffffffffffffff\r\nx"):
        got = server.raw(request, timeout=2)
        assert status_of(got) in (0, 400, 413, 421, 505), (request, got)
    chunked = start + "Transfer-Encoding: chunked\r\n\r\n" + "%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    assert status_of(server.raw(chunked)) == 201               # one that is right
    assert len(server.get("/api/v1/instances").json["instances"]) == 1


def test_limits(server):
    big = "x" * 40000
    got = server.raw("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Big: %s\r\n\r\n" % big)
    assert status_of(got) in (413, 431), got[:100]
    got = server.raw("GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % big)
    assert status_of(got) in (414, 431), got[:100]
    got = server.raw("POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000"
                     "\r\n\r\n")
    assert status_of(got) == 413 and b"--max-body" in got
    payload = json.dumps({"orchestration": "Echo", "input": "x" * (3 << 20)})
    reply = expect(server.post("/api/v1/instances", payload), 413, "too_large")
    assert "--max-payload" in reply.json["error"]["message"]
    expect(server.get("/health"), 200)                          # the connection goes on
    got = server.raw("POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
                     "Content-Length: 2\r\n\r\n{}")
    assert status_of(got) == 415


def test_bad_json(server):
    deep = '{"orchestration":"Echo","input":%s}' % ("[" * 100 + "]" * 100)
    for bad in (deep, "[" * 200000, "", "{", '{"a":1}x', '{"orchestration":"Echo",}', b"\xff\xfe",
                b'{"orchestration":"Echo","input":"\xc3\x28"}', '{"orchestration":"Ec', "nul",
                "{'a':1}", "\ufeff{}", "NaN", "01"):
        reply = server.post("/api/v1/instances", bad)
        assert reply.status == 400, (bad[:50], reply)
    for bad in ("%", "%2", "%zz", "a%00b", "%c3%28", "%ff"):
        assert server.get("/api/v1/instances/" + bad).status == 400, bad
    assert server.get("/api/v1/instances/" + "%0a").status in (400, 404)
    assert server.get("/api/v1/instances/..%2f..%2fetc%2fpasswd").status == 404
    assert server.get("/../../etc/passwd").status == 404
    assert server.get("/api/v1/instances").json["instances"] == []
    expect(server.get("/health"), 200)


def test_methods(server):
    for method in ("OPTIONS", "TRACE", "PATCH", "BREW"):
        reply = server.call(method, "/health", fresh=True)
        assert reply.status == 405 and reply.headers["Allow"] == "GET", (method, reply)
    reply = server.call("HEAD", "/health")
    assert reply.status == 200 and reply.body == b""
    reply = server.call("PUT", "/api/v1/instances/x", body="{}")
    assert reply.status == 405 and reply.headers["Allow"] == "GET, DELETE"
    for path in ("/", "/health", "/api/v1/instances", "/nothing"):
        reply = server.get(path)
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "no-store"


def test_one_address_leaves_room_for_others():
    """With 128 connections in all, listening to the world: 96 of one address, and another gets in."""
    data = kit.work_dir() / "crowd"
    server = Server("--listen", "0.0.0.0:0", "--insecure-listen", data=data, start=False)
    head = "Authorization: Bearer %s\r\n" % token(server, "read")
    server.wrap = ["bash", "-c", 'ulimit -n 192; exec "$@"', "-"]   # 64 of them for other files
    server.start()
    ask = ("GET /version HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % head).encode()

    def is_served(source):
        s = socket.create_connection(("127.0.0.1", server.port), 5, (source, 0))
        try:
            s.sendall(ask)
            return b" 200 " in s.recv(4096), s
        except OSError:
            return False, s
    with server:
        crowd = [is_served("127.0.0.3") for _ in range(110)]
        assert sum(ok for ok, _ in crowd) == 96, sum(ok for ok, _ in crowd)
        other, s = is_served("127.0.0.4")
        assert other
        for _, sock in crowd:
            sock.close()
        time.sleep(0.3)
        assert is_served("127.0.0.3")[0]                       # room again


def test_slow_clients_hold_nobody_up(server):
    slow = []
    for i in range(300):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(b"POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\n"
                  + (b"Content-Length: 50\r\n\r\n{" if i % 2 else b"X-Drip: "))
        slow.append(s)
    stop = threading.Event()

    def drip():
        while not stop.wait(1):
            for s in slow:
                try:
                    s.send(b"a")
                except OSError:
                    pass
    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    worst, asleep, end = 0.0, 0.0, time.monotonic() + 12
    while time.monotonic() < end:
        began = time.monotonic()
        expect(server.get("/health"), 200)
        took = time.monotonic()
        worst = max(worst, took - began)
        time.sleep(0.02)
        asleep = max(asleep, time.monotonic() - took - 0.02)     # what the machine does to us
    assert worst < 0.1 + 5 * asleep, (worst, asleep)
    stop.set()
    closed = 0
    for s in slow[0::2]:                                       # heads: cut off after 10 s
        s.settimeout(0.05)
        try:
            closed += s.recv(1) == b""
        except (ConnectionResetError, BrokenPipeError):
            closed += 1
        except socket.timeout:
            pass
    assert closed == 150, closed
    for s in slow:
        s.close()


def test_pipelining_and_half_close(server):
    one = "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
    got = server.raw(one * 5)
    assert got.count(b"HTTP/1.1 200") == 5
    got = server.raw("GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", close=True)
    assert status_of(got) == 200


def test_only_loopback_listens(server):
    out = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True)
    if out.returncode:
        return
    lines = [l for l in out.stdout.splitlines() if ":%d " % server.port in l]
    assert lines and all("127.0.0.1:" in l for l in lines), lines
