# SPDX-License-Identifier: MIT
"""The command line over https://, with a certificate authority of our own."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import kit
from kit import Server


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True,
                   cwd=kit.work_dir())


def authority(name):
    dir = kit.work_dir()
    if not (dir / (name + ".pem")).exists():
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                "/CN=" + name, "-keyout", name + ".key", "-out", name + ".pem")
    return dir / (name + ".pem")


def certificate(name, by, san, days=2):
    """A certificate and its key, in two files."""
    dir = kit.work_dir()
    authority(by)
    (dir / (name + ".ext")).write_text("subjectAltName=%s\n" % san)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name, "-keyout",
            name + ".key", "-out", name + ".csr")
    openssl("x509", "-req", "-in", name + ".csr", "-CA", by + ".pem", "-CAkey", by + ".key",
            "-CAcreateserial", "-days", days, "-extfile", name + ".ext", "-out", name + ".pem")
    return dir / (name + ".pem"), dir / (name + ".key")


def tls_server(cert, key, *flags):
    return Server("--tls-cert", str(cert), "--tls-key", str(key), *flags)


def pawl(url, *words, want=0, env=None):
    done = subprocess.run([str(kit.PAWL), *map(str, words)], capture_output=True, text=True,
                          timeout=60, cwd=kit.work_dir(),
                          env={"PATH": "/usr/bin:/bin", "PAWL_URL": url, **(env or {})})
    assert done.returncode == want, (words, done)
    return done.stdout + done.stderr


def test_https_verbs():
    ca = authority("ca")
    with tls_server(*certificate("here", "ca", "DNS:localhost,IP:127.0.0.1")) as server:
        url = "https://localhost:%d" % server.port
        big = json.dumps("x" * 700000)
        (kit.work_dir() / "big.json").write_text(big)
        for address in (url, server.url):                    # by name, and by number
            pawl(address, "--ca", ca, "ls")
        assert pawl(url, "start", "Ask", "--id", "a", "--ca", ca) == "a\n"
        pawl(url, "raise", "a", "Answer", "@big.json", env={"PAWL_CA": str(ca)})
        assert pawl(url, "wait", "a", "--ca", ca).strip() == big
        assert "OrchestrationCompleted" in pawl(url, "show", "a", "--ca", ca)
        pawl(url, "queue", "push", "mail", "1", "--ca", ca)
        assert pawl(url, "queue", "pop", "mail", "--ca", ca) == "1\n"
        pawl(url, "cancel", "nobody", "--ca", ca, want=4)
        # The same command line on a connection that is used more than once.
        assert pawl(url, "cancel", "n1", "n2", "n3", "--ca", ca, want=4).count("does not exist") == 3


def test_https_is_checked():
    ca, other = authority("ca"), authority("other")
    with tls_server(*certificate("here", "ca", "DNS:localhost")) as server:
        url = "https://localhost:%d" % server.port
        said = pawl(url, "ls", want=3)
        assert "not to be trusted" in said and "--ca FILE" in said, said
        said = pawl(url, "ls", "--ca", other, want=3)
        assert "not to be trusted" in said and "in the file of --ca" in said, said
        said = pawl("https://127.0.0.1:%d" % server.port, "ls", "--ca", ca, want=3)
        assert "the name it was made for" in said, said
        assert "'/nowhere'" in pawl(url, "ls", "--ca", "/nowhere", want=2)
        (kit.work_dir() / "no.pem").write_text("hello\n")
        assert "give a PEM file" in pawl(url, "ls", "--ca", kit.work_dir() / "no.pem", want=2)
        assert "did not answer" in pawl(server.url.replace("https", "http"), "ls", want=3)
    with tls_server(*certificate("old", "ca", "DNS:localhost", days=-1)) as server:
        said = pawl("https://localhost:%d" % server.port, "ls", "--ca", ca, want=3)
        assert "expired" in said, said


def test_https_to_a_server_without_tls(server):
    said = pawl("https://127.0.0.1:%d" % server.port, "ls", want=3)
    assert "does not speak TLS" in said and "http://" in said, said


def test_no_token_goes_to_a_server_that_is_not_trusted():
    cert, key = certificate("thief", "other", "DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    heard, listener = [], socket.create_server(("127.0.0.1", 0))

    def serve():
        conn = listener.accept()[0]
        try:
            with context.wrap_socket(conn, server_side=True) as tls:
                heard.append(tls.recv(1000))
        except OSError as error:
            heard.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    pawl("https://localhost:%d" % listener.getsockname()[1], "ls", "--ca", authority("ca"),
         "--token", "pawl_secret", want=3)
    thread.join(20)
    listener.close()
    assert heard and not (isinstance(heard[0], bytes) and heard[0]), heard


def test_a_silent_server_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        said = pawl("https://127.0.0.1:%d" % listener.getsockname()[1], "ls", "--ca",
                    authority("ca"), want=3)
        assert "timed out" in said, said


def scan(server):
    """What the server accepts, as sslscan sees it, which can still offer the old versions."""
    assert shutil.which("sslscan"), "there is no sslscan: scripts/setup test installs it"
    out = subprocess.run(["sslscan", "--no-colour", "127.0.0.1:%d" % server.port], capture_output=True,
                         text=True, timeout=60).stdout
    versions = dict(re.findall(r"^(SSLv\d|TLSv1\.\d) +(enabled|disabled)$", out, re.M))
    suites = re.findall(r"^(?:Preferred|Accepted) +(TLSv1\.\d|SSLv\d) +(\d+) bits +(\S+)", out, re.M)
    return versions, suites, out


def test_tls_has_no_old_versions_and_weak_suites():
    with tls_server(*certificate("here", "ca", "DNS:localhost")) as server:
        versions, suites, out = scan(server)
        assert versions == {"SSLv2": "disabled", "SSLv3": "disabled", "TLSv1.0": "disabled", "TLSv1.1": "disabled",
                            "TLSv1.2": "enabled", "TLSv1.3": "enabled"}, out
        assert {s[2] for s in suites} == {
            "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256",
            "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-GCM-SHA256"}, suites


def warned(cert, key):
    """What is said of a certificate when the server starts."""
    with tls_server(cert, key) as server:
        lines = [l for l in server.log_text().splitlines() if "clients may refuse" in l]
        assert all(str(cert) in l and "level=warn" in l for l in lines), lines
        return " ".join(l.partition("why=")[2] for l in lines)


def test_tls_warns_of_bad_certificates():
    authority("ca")
    assert warned(*certificate("good", "ca", "DNS:localhost", days=100)) == ""
    assert "expires on " in warned(*certificate("soon", "ca", "DNS:localhost", days=5))
    past = ["-not_before", "20200101000000Z", "-not_after", "20200201000000Z"]
    dir = kit.work_dir()
    for name, more in (("past", past), ("weak", ["-days", "100"]), ("sha1", ["-days", "100", "-sha1"])):
        bits = "1024" if name == "weak" else "2048"
        openssl("req", "-newkey", "rsa:" + bits, "-nodes", "-subj", "/CN=localhost", "-keyout", name + ".key",
                "-out", name + ".csr")
        if name == "past":                                   # x509 has no such dates before OpenSSL 3.4
            (dir / "ca.db").write_text("")
            (dir / "ca.cnf").write_text("[ca]\ndefault_ca=x\n[x]\ndatabase=ca.db\nnew_certs_dir=.\nrand_serial=yes\n"
                                        "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
            openssl("ca", "-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-startdate",
                    "20200101000000Z", "-enddate", "20200201000000Z", "-in", name + ".csr", "-out", name + ".pem",
                    "-notext")
        else:
            openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                    *more, "-out", name + ".pem")
    words = {name: warned(dir / (name + ".pem"), dir / (name + ".key")) for name in ("past", "weak", "sha1")}
    assert words == {"past": '"expired on 2020-02-01"', "weak": '"an RSA key of 1024 bits is weak"',
                     "sha1": '"signed with SHA1, which is broken"'}, words


def peer_of(server):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        with context.wrap_socket(raw) as s:
            s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in s.recv(4096)
            return s.getpeercert(binary_form=True)


def test_tls_certificates_are_read_again():
    first, second = certificate("first", "ca", "DNS:localhost", 90), certificate("second", "ca", "DNS:localhost", 90)
    cert, key = kit.work_dir() / "used.pem", kit.work_dir() / "used.key"
    der = lambda path: ssl.PEM_cert_to_DER_cert(path.read_text())

    def use(pair):
        shutil.copy(pair[0], cert)
        shutil.copy(pair[1], key)
    use(first)
    with tls_server(cert, key) as server:
        assert peer_of(server) == der(first[0])
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        old = context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        use(second)
        for _ in range(20):                                  # some that nobody uses, too
            server.process.send_signal(signal.SIGHUP)
        for _ in range(200):
            if peer_of(server) == der(second[0]):
                break
            time.sleep(0.05)
        assert peer_of(server) == der(second[0])
        cert.write_text("nonsense")                          # a mistake changes nothing, and is said
        server.process.send_signal(signal.SIGHUP)
        for _ in range(200):
            if "going on with" in server.log_text():
                break
            time.sleep(0.05)
        assert "are certificate and key in order?" in server.log_text(), server.log_text()
        assert peer_of(server) == der(second[0])
        old.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in old.recv(4096)                    # who was there goes on
        old.close()
        assert server.stop() == 0


def test_tls_plain_text_is_hung_up_on_at_once():
    with tls_server(*certificate("here", "ca", "DNS:localhost")) as server:
        for text in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 2000, b"\0" * 100):
            began = time.monotonic()
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
                s.sendall(text)
                with contextlib.suppress(ConnectionResetError):
                    while s.recv(4096):
                        pass
            assert time.monotonic() - began < 5, text       # not when the ten seconds for a head are over


def test_tls_clients_that_hang_up_while_they_wait():
    """Their session goes with the connection, and once."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with tls_server(*certificate("here", "ca", "DNS:localhost")) as server:
        for n in range(30):
            raw = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            s = context.wrap_socket(raw)
            s.sendall(b"POST /queue/q/pop?wait_seconds=20 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            time.sleep(0.02)
            if n % 2:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        peer_of(server)
        assert server.stop() == 0


def test_tls_that_breaks_ends_the_connection():
    """Bytes that are no TLS, after the handshake: it is over, nobody waits for more."""
    authority("ca")
    with tls_server(*certificate("here", "ca", "DNS:localhost,IP:127.0.0.1")) as server:
        context = ssl.create_default_context(cafile=str(kit.work_dir() / "ca.pem"))
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        with context.wrap_socket(raw, server_hostname="localhost") as tls:
            tls.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in tls.recv(65536)
            with socket.socket(fileno=os.dup(tls.fileno())) as plain:
                plain.settimeout(20)
                plain.sendall(b"this is no record of TLS\r\n" * 10)
                began = time.monotonic()
                with contextlib.suppress(ConnectionResetError):
                    while plain.recv(65536):
                        pass
                assert time.monotonic() - began < 8


def test_tls_a_goodbye_ends_the_connection():
    """The client says that nothing more will come, and leaves its socket open: nobody waits for it."""
    with tls_server(*certificate("here", "ca", "DNS:localhost,IP:127.0.0.1")) as server:
        context = ssl.create_default_context(cafile=str(kit.work_dir() / "ca.pem"))
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        with context.wrap_socket(raw, server_hostname="localhost") as tls:
            tls.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in tls.recv(65536)
            began = time.monotonic()
            with contextlib.suppress(ssl.SSLError, ConnectionResetError):
                tls.unwrap().recv(1)
            assert time.monotonic() - began < 8              # not when its idle time is over
