# SPDX-License-Identifier: MIT
"""A browser signs in once: the cookie, whose requests it counts for, and how it ends.  tests/page does it with one."""
import json
import re
import socket
import subprocess

import kit
from kit import Server, expect
from test_security import status_of, token

PAGE = {"Sec-Fetch-Site": "same-origin"}


def guarded(*tokens, flags=()):
    server = Server("--require-token", *flags, start=False)
    return server, [token(server, *t) for t in tokens]


def sign_in(server, secret, headers=None):
    """The cookie as a browser would send it."""
    reply = expect(server.post("/login", {"token": secret}, headers={**PAGE, **(headers or {})}), 200)
    return {"Cookie": reply.headers["Set-Cookie"].split(";")[0]}


def test_the_cookie_is_for_the_page_alone():
    server, (secret,) = guarded(["operate"])
    with server.start():
        reply = expect(server.post("/login", {"token": secret}, headers=PAGE), 200)
        assert reply.headers["Set-Cookie"] == "pawl-%d=%s; Path=/; HttpOnly; SameSite=Strict" % (server.port, secret)
        assert reply.json["scope"] == "operate" and reply.json["token"] == secret.split("_")[1], reply
        assert reply.json["queues"] is None and reply.json["queues_only"] is False and reply.json["version"]
        assert secret not in reply.body.decode() and reply.headers["Cache-Control"] == "no-store"
        cookie = {"Cookie": "a=b; " + reply.headers["Set-Cookie"].split(";")[0] + "; z=1"}
        ours = "http://127.0.0.1:%d" % server.port
        for more in (PAGE, {"Origin": ours}, {"Pawl-Page": "1"}):
            expect(server.get("/api/v1/instances", headers={**cookie, **more}), 200)
            expect(server.post("/queue/q/push", {"item": 1}, headers={**cookie, **more}), 200)
        for more in ({}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site"},
                     {"Sec-Fetch-Site": "cross-site", "Origin": ours}, {"Sec-Fetch-Site": "same-site", "Pawl-Page": "1"},
                     {"Origin": "http://evil.example"}, {"Origin": "null", "Pawl-Page": "1"}):
            expect(server.get("/api/v1/instances", headers={**cookie, **more}), 401, "unauthorized")
            assert server.post("/queue/q/push", {"item": 1}, headers={**cookie, **more}).status in (401, 403), more


def test_a_token_in_a_header_goes_before_the_cookie():
    server, (mine, other) = guarded(["read"], ["admin"])
    with server.start():
        cookie = {**sign_in(server, other), **PAGE}
        assert server.get("/session", headers=cookie).json["scope"] == "admin"
        both = {**cookie, "Authorization": "Bearer " + mine}
        assert server.get("/session", headers=both).json["scope"] == "read"
        expect(server.get("/version", headers={**cookie, "Authorization": "Bearer pawl_x_y"}), 401)


def test_what_the_caller_may_do_is_told_without_an_error():
    server, (queues, both) = guarded(["operate", "--queues", "mail-,orders"], ["read+", "--queues", "mail-"])
    with server.start():
        nobody = expect(server.get("/session"), 200).json
        assert nobody["needs_token"] and nobody["scope"] is None and nobody["version"] is None, nobody
        for secret, only in ((queues, True), (both, False)):
            said = server.get("/session", headers={**sign_in(server, secret), **PAGE}).json
            assert said["queues"] == (["mail-", "orders"] if only else ["mail-"]) and said["queues_only"] is only, said
        cookie = {**sign_in(server, queues), **PAGE}
        for name, want in (("mail-1", 200), ("other", 403)):
            assert server.post("/queue/%s/push" % name, {"item": 1}, headers=cookie).status == want
        names = [q["name"] for q in expect(server.get("/queue", headers=cookie), 200).json["queues"]]
        assert names == ["mail-1"], names
        expect(server.get("/api/v1/instances", headers=cookie), 403, "forbidden")
    with Server() as server:
        said = server.get("/session").json
        assert said["needs_token"] is False and said["scope"] == "admin" and said["token"] is None, said


def test_an_overview_that_all_share_shows_a_token_its_queues_alone():
    server, (all_of_it, some) = guarded(["admin"], ["read+", "--queues", "mail-"])
    with server.start():
        whole, part = ({"Authorization": "Bearer " + t} for t in (all_of_it, some))
        for name in ("mail-1", "other"):
            expect(server.post("/queue/%s/push" % name, {"item": 1}, headers=whole), 200)
        for _ in range(2):                       # made, and then shared
            for who, want in ((whole, {"mail-1", "other"}), (part, {"mail-1"})):
                got = expect(server.get("/api/v1/overview?with=all", headers=who), 200).json
                assert {q["name"] for q in got["queues"]} == want, got["queues"]
                assert (got["made"] == 0) == (who is part)


def test_what_is_no_token_signs_nobody_in():
    server, (secret,) = guarded(["read"])
    with server.start():
        for bad in (secret + "x", secret[:-1], "pawl_x_y", "x", "; HttpOnly", "a\r\nSet-Cookie: b=c"):
            reply = expect(server.post("/login", {"token": bad}, headers=PAGE), 401, "unauthorized")
            assert "Set-Cookie" not in reply.headers, reply
        for body in ({}, {"token": ""}, {"token": 5}, {"token": None}, {"tokn": secret}, [], {"token": secret, "x": 1}):
            expect(server.post("/login", body, headers=PAGE), 400)
        for more in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
            for path in ("/login", "/logout"):
                reply = expect(server.post(path, {"token": secret} if path == "/login" else None, headers=more), 403)
                assert "Set-Cookie" not in reply.headers, reply
        name = "pawl-%d" % server.port
        for text in ("", name, name + "=", "x%s=%s" % (name, secret), "%sx=%s" % (name, secret), name + "=pawl_x_y",
                     "%s=%s x" % (name, secret), ";;; ", "pawl-1=" + secret, name + "x" + secret):
            expect(server.get("/version", headers={"Cookie": text, **PAGE}), 401, "unauthorized")


def test_signing_out_takes_the_cookie_and_keeps_the_token():
    server, (secret,) = guarded(["read"])
    with server.start():
        cookie = sign_in(server, secret)
        reply = expect(server.post("/logout", headers={**cookie, **PAGE}), 200)
        assert reply.headers["Set-Cookie"] == "pawl-%d=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0" % server.port
        assert reply.json["scope"] is None and reply.json["token"] is None, reply
        expect(server.get("/version", headers={"Authorization": "Bearer " + secret}), 200)


def test_revoking_ends_the_sign_in_and_its_streams():
    server, (mine, other) = guarded(["read"], ["read"])
    with server.start():
        cookie = sign_in(server, mine)
        ask = "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\nSec-Fetch-Site: same-origin\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.sendall((ask % cookie["Cookie"]).encode())
            s.settimeout(10)
            got = s.recv(65536)
            assert status_of(got) == 200, got
            subprocess.run([str(kit.PAWL), "token", "revoke", mine.split("_")[1], "--data", str(server.data)], check=True)
            while more := s.recv(65536):
                got += more
            assert got.endswith(b"0\r\n\r\n"), got
        reply = expect(server.get("/version", headers={**cookie, **PAGE}), 401, "unauthorized")
        assert "sign in again" in reply.json["error"]["message"], reply
        assert server.get("/session", headers={**cookie, **PAGE}).json["scope"] is None
        expect(server.get("/version", headers={**sign_in(server, other), **PAGE}), 200)


def test_tokens_that_cannot_be_read_sign_nobody_in():
    server, (secret,) = guarded(["read"])
    with server.start():
        path = server.data / "tokens"
        path.unlink()
        path.mkdir()
        reply = expect(server.post("/login", {"token": secret}, headers=PAGE), 503, "unavailable")
        assert reply.headers["Retry-After"] == "1" and "Set-Cookie" not in reply.headers


def test_an_old_cookie_changes_nothing_on_an_open_server(server):
    head = {"Cookie": "pawl-%d=pawl_x_y" % server.port, **PAGE}
    expect(server.get("/version", headers=head), 200)
    expect(server.post("/queue/q/push", {"item": 1}, headers=head), 200)


def test_under_tls_the_cookie_is_secure():
    key, cert = kit.work_dir() / "sk.pem", kit.work_dir() / "sc.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out",
                           str(cert), "-days", "2", "-subj", "/CN=localhost"], capture_output=True)
    assert made.returncode == 0, made
    server, (secret,) = guarded(["read"], flags=("--tls-cert", str(cert), "--tls-key", str(key)))
    with server.start():
        curl = lambda *a: subprocess.run(["curl", "-ski", *a], capture_output=True, text=True, check=True).stdout
        said = curl("-d", json.dumps({"token": secret}), server.url + "/login")
        cookie = re.search(r"Set-Cookie: (.*)", said)[1]
        assert cookie == "__Host-pawl-%d=%s; Path=/; HttpOnly; SameSite=Strict; Secure" % (server.port, secret)
        said = curl("-b", cookie.split(";")[0], "-H", "Sec-Fetch-Site: same-origin", server.url + "/version")
        assert said.startswith("HTTP/1.1 200"), said


def test_the_stream_of_a_token_for_queues_tells_of_its_queues_alone():
    server, (all_of_it, queues) = guarded(["admin"], ["operate", "--queues", "mail-"])
    with server.start(), socket.create_connection(("127.0.0.1", server.port)) as s:
        head = {"Authorization": "Bearer " + all_of_it}
        s.sendall(("GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % queues).encode())
        s.settimeout(10)
        got = s.recv(65536)
        assert status_of(got) == 200, got
        expect(server.post("/api/v1/instances", {"orchestration": "Ask", "instance": "secret"}, headers=head), 201)
        expect(server.post("/queue/other/push", {"item": 1}, headers=head), 200)
        expect(server.post("/queue/mail-1/push", {"item": 1}, headers=head), 200)
        while b"mail-1" not in got:
            got += s.recv(65536)
        assert b"secret" not in got and b"other" not in got and b'"instances":[]' in got, got
