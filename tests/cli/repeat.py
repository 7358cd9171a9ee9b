# SPDX-License-Identifier: MIT
"""How often the Python client sends what got no answer: a server that reads a request and hangs up."""
import contextlib
import io
import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))
import pawl  # noqa: E402

seen = []
listener = socket.create_server(("127.0.0.1", 0))


def hang_up():
    while True:
        conn = listener.accept()[0]
        seen.append(conn.recv(65536))
        conn.close()


threading.Thread(target=hang_up, daemon=True).start()
client = pawl.Client("http://127.0.0.1:%d" % listener.getsockname()[1])
for name, call, want in (
        ("pop", lambda: client.pop("q"), 1),
        ("start", lambda: client.start("X"), 1),
        ("start-id", lambda: client.start("X", instance="i"), 2),  # the same id again is the same start
        ("start-rerun", lambda: client.start("X", instance="i", if_exists="rerun"), 1),
        ("raise", lambda: client.raise_event("i", "Go"), 1),
        ("raise-key", lambda: client.raise_event("i", "Go", key="k"), 2),
        ("push", lambda: client.push("q", 1), 2),
        ("push-dedup", lambda: client.push("q", 1, dedup_id="d"), 2),
        ("ack", lambda: client.ack("q", "l"), 2),
        ("get", lambda: client.get("i"), 2)):
    seen.clear()
    with contextlib.suppress(ConnectionError):
        call()
        sys.exit(name + " did not raise")
    if len(seen) != want:
        sys.exit("%s was sent %d times, not %d" % (name, len(seen), want))
    if name == "push":
        keys = {line for text in seen for line in text.split(b"\r\n") if b"Idempotency-Key" in line}
        assert len(keys) == 1, keys
worker, told = pawl.Worker(pawl.Client("http://127.0.0.1:1")), io.StringIO()
with contextlib.suppress(ValueError):
    worker.run(signals=False)
    sys.exit("a worker that has nothing to serve did not say so")
worker.activity("Send")(print)
with contextlib.redirect_stderr(told):
    threading.Timer(1.2, worker.stop).start()
    worker.run(signals=False)
assert told.getvalue().count("\n") == 1 and "does not answer" in told.getvalue(), told.getvalue()
print("well")
