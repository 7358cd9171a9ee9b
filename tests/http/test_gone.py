# SPDX-License-Identifier: MIT
"""Clients that hang up while they wait: nothing is taken for nobody."""
import json
import select
import socket
import struct
import time

from kit import Server, expect

I = "/api/v1/instances"


def ask(server, path, body=None):
    """A request on a connection of its own, not answered yet."""
    data = b"" if body is None else json.dumps(body).encode()
    s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data)
    time.sleep(0.2)  # it waits now
    return s


def get(server, path):
    """The same with GET, and no time for it to begin."""
    s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
    return s


def metric(server, name):
    lines = expect(server.get("/metrics", fresh=True), 200).body.decode().splitlines()
    return float([line.split()[1] for line in lines if line.startswith(name + " ")][0])


def heavy(server, instance, letters=3000):
    """An instance whose every look reads a long mailbox."""
    server.start_instance("Ask", None, instance)
    data = b'"%s"' % (b"x" * 1000)
    one = b"POST %s/%s/events/Kept HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
        I.encode(), instance.encode(), len(data), data)
    conns = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(50)]
    for _ in range(letters // len(conns)):  # one of each, together: they share a sync
        for s in conns:
            s.sendall(one)
        for s in conns:
            assert s.recv(65536).startswith(b"HTTP/1.1 202"), s
    for s in conns:
        s.close()


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def behind(s):
    """Hang up with a request sent behind the one that waits."""
    s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.1)
    s.close()


def test_a_message_is_not_popped_for_who_hung_up(server):
    for n, (how, query) in enumerate((how, query) for how in (socket.socket.close, reset, behind)
                                     for query in ("", "&require_ack=true&ttl_seconds=300")):
        queue = "gone-%d" % n
        how(ask(server, "/queue/%s/pop?wait_seconds=20%s" % (queue, query)))
        time.sleep(0.2)
        expect(server.post("/queue/%s/push" % queue, {"item": n}), 200)
        got = expect(server.post("/queue/%s/pop" % queue), 200).json
        assert got == {"items": [n], "count": 1}, (how, query, got)


def test_deliveries_nobody_saw_are_not_counted(server):
    expect(server.call("PUT", "/queue/gone-dead/config", {"max_deliveries": 2}), 200)
    for _ in range(3):
        ask(server, "/queue/gone-dead/pop?wait_seconds=20&require_ack=true&ttl_seconds=1").close()
    expect(server.post("/queue/gone-dead/push", {"item": 1}), 200)
    got = expect(server.post("/queue/gone-dead/pop?meta=1&require_ack=1"), 200).json
    assert got["messages"][0]["delivery_count"] == 1, got
    expect(server.post("/queue/gone-dead/acknowledge", {"lock_id": got["lock_id"]}), 200)


def test_work_is_not_leased_to_who_hung_up(server):
    wait = {"activities": ["Charge"], "wait_ms": 20000, "lock_ms": 1000}
    for how in (socket.socket.close, reset, behind):
        for _ in range(4):
            how(ask(server, "/api/v1/work/poll", wait))
    time.sleep(0.2)
    server.start_instance("RemoteOrder", {"amount": 1}, "gone-1")
    item = expect(server.post("/api/v1/work/poll", wait), 200).json["items"][0]
    assert item["instance"] == "gone-1" and item["attempt"] == 1, item
    expect(server.post("/api/v1/work/%s/complete" % item["token"], {"result": 7}), 200)
    assert server.ended("gone-1")["output"] == 7


def test_who_only_stops_sending_is_answered_at_once(server):
    for path, body, want in (("/queue/gone-half/pop?wait_seconds=20", None,
                              {"items": [], "count": 0, "messages": []}),
                             ("/queue/gone-half/pop?wait_seconds=20&require_ack=1", None,
                              {"items": [], "count": 0, "locked": False, "messages": []}),
                             ("/api/v1/work/poll", {"activities": ["None"], "wait_ms": 20000}, {"items": []})):
        s = ask(server, path, body)
        s.shutdown(socket.SHUT_WR)
        text = b""
        while True:
            more = s.recv(65536)
            if not more:
                break
            text += more
        assert text.startswith(b"HTTP/1.1 200 ") and json.loads(text.split(b"\r\n\r\n")[1]) == want, text
        s.close()


def test_who_waits_on_with_another_request_behind_is_served(server):
    s = ask(server, "/queue/gone-live/pop?wait_seconds=20")
    s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.2)
    expect(server.post("/queue/gone-live/push", {"item": "x"}), 200)
    text = b""
    while text.count(b"HTTP/1.1 200") < 2:
        text += s.recv(65536)
    assert b'{"items":["x"],"count":1,' in text and b"healthy" in text, text
    s.close()


def small():
    """A server with little room for connections."""
    server = Server(start=False)
    server.wrap = ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"]
    return server.start()


def test_a_wait_whose_client_is_gone_leaves_its_place():
    for how in (reset, socket.socket.close):
        with small() as server:
            server.start_instance("Ask", None, "w")
            server.start_instance("Ask", None, "old")
            server.restart()  # nothing is known of "old" without a look
            server.start_instance("Ask", None, "new")
            began = time.monotonic()
            for n in range(3):  # more than fit, if any of them stayed
                waits = [get(server, "%s/%s/wait?timeout_ms=60000" % (I, ("old", "new")[i % 2])) for i in range(130)]
                time.sleep(0.2)
                for s in waits:
                    how(s)
            expect(server.get(I + "/old", fresh=True), 200)
            assert time.monotonic() - began < 15, how


def test_nothing_is_read_for_who_is_lost(server):
    heavy(server, "m")
    gone = [get(server, I + "/m") for _ in range(300)]
    for s in gone:
        reset(s)
    expect(server.get(I + "/m", fresh=True), 200)
    assert metric(server, "pawl_http_dropped_total") > 200


def test_who_is_there_is_read_for_before_who_may_be_gone(server):
    heavy(server, "m")
    quiet = [get(server, I + "/m") for _ in range(300)]
    for s in quiet:
        s.shutdown(socket.SHUT_WR)
    expect(server.get(I + "/m", fresh=True), 200)
    left = len(quiet) - len(select.select(quiet, [], [], 0)[0])
    assert left > 100, left  # it overtook them
    for s in quiet:  # and they are answered all the same
        assert s.recv(20).startswith(b"HTTP/1.1 200"), "an answer is due to who still reads"


def test_the_loop_reads_no_mailbox_for_a_wait(server):
    heavy(server, "m", 6000)
    waits = [get(server, I + "/m/wait?timeout_ms=700") for _ in range(300)]
    began, worst = time.monotonic(), 0
    while time.monotonic() - began < 1.5:
        at = time.monotonic()
        expect(server.get("/health"), 200)
        worst = max(worst, time.monotonic() - at)
    assert worst < 1, worst  # all three hundred looks at once would take many seconds
    for s in waits:
        s.close()
