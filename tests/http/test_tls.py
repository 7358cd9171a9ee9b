# SPDX-License-Identifier: MIT
"""The command line over https://, with a certificate authority of our own."""
import json
import socket
import ssl
import subprocess
import threading

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
