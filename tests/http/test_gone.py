# SPDX-License-Identifier: MIT
"""Clients that hang up while they wait: nothing is taken for nobody."""
import json
import socket
import struct
import time

from kit import expect


def ask(server, path, body=None):
    """A request on a connection of its own, not answered yet."""
    data = b"" if body is None else json.dumps(body).encode()
    s = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data)
    time.sleep(0.2)  # it waits now
    return s


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
