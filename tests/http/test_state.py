# SPDX-License-Identifier: MIT
"""GET …/state: what the code of an instance has published."""
import json
import threading
import time
import urllib.parse

from kit import expect

I = "/api/v1/instances/"


def put(server, instance, value):
    expect(server.post(I + instance + "/events/Put", json.dumps(value)), 202)


def test_all_keys_and_one(server):
    server.start_instance("Board", {"a": [1, 2]}, "b-1")
    put(server, "b-1", {"n": 12345678901234567890})
    put(server, "b-1", "second")
    put(server, "b-1", "x")
    server.ended("b-1")
    got = expect(server.get(I + "b-1/state"), 200).json        # after the end, too
    assert got["instance"] == "b-1" and got["count"] == 3
    first, last, raw = got["items"]
    assert first["key"] == "first" and first["value"] == {"a": [1, 2]} and first["version"] == 1
    assert last["value"] == "second" and last["version"] in (1, 2) and last["updated_at"] >= first["updated_at"]
    assert raw["key"] == "raw \u00e9" and raw["value"] == "not JSON" and raw["encoding"] == "text"
    path = I + "b-1/state/" + urllib.parse.quote("raw \u00e9")
    assert expect(server.get(path), 200).json == raw
    assert expect(server.get(I + "b-1/state/last"), 200).json == last


def waiting(server, path):
    """A long poll in a thread; its answer, and how long it took."""
    got = []

    def run():
        began = time.monotonic()
        got.append((server.get(path, fresh=True), time.monotonic() - began))
    thread = threading.Thread(target=run)
    thread.start()
    return thread, got


def test_a_long_poll_for_a_newer_version(server):
    server.start_instance("Board", 1, "b-3")
    thread, got = waiting(server, I + "b-3/state/last?wait_ms=20000")       # not set yet
    time.sleep(0.3)
    assert not got
    put(server, "b-3", "one")
    thread.join(10)
    answer, took = got[0]
    assert expect(answer, 200).json["value"] == "one" and took < 10
    version = answer.json["version"]
    assert server.get(I + "b-3/state/last?version=%d&wait_ms=20000" % (version - 1)).json["value"] == "one"
    threads = [waiting(server, I + "b-3/state/last?version=%d&wait_ms=20000" % version) for _ in range(5)]
    other = waiting(server, I + "b-3/state/first?version=1&wait_ms=700")    # another key: its time is over
    time.sleep(0.2)
    put(server, "b-3", "two")
    for thread, got in threads:
        thread.join(10)
        assert expect(got[0][0], 200).json["value"] == "two"
    other[0].join(10)
    assert expect(other[1][0][0], 200).json["version"] == 1 and other[1][0][1] >= 0.6
    threads = [waiting(server, I + "b-3/state/last?version=%d&wait_ms=20000" % (version + 1)) for _ in range(2)]
    time.sleep(0.2)
    put(server, "b-3", "x")                                                 # the end wakes them
    for thread, got in threads:
        thread.join(10)
        assert expect(got[0][0], 200).json["value"] == "two" and got[0][1] < 10
    assert expect(server.get(I + "b-3/state/last?version=99&wait_ms=20000"), 200).json["value"] == "two"


def test_a_long_poll_of_what_never_comes(server):
    server.start_instance("Board", 1, "b-4")
    began = time.monotonic()
    expect(server.get(I + "b-4/state/never?wait_ms=400"), 404)
    assert time.monotonic() - began >= 0.4
    thread, got = waiting(server, I + "b-4/state/last?wait_ms=20000")
    time.sleep(0.2)
    expect(server.call("DELETE", I + "b-4?force=true"), 200)
    thread.join(10)
    assert expect(got[0][0], 404)
    expect(server.get(I + "nobody/state/k?wait_ms=20000"), 404)
    expect(server.get(I + "b-4/state/k?wait_ms=60001"), 400)
    expect(server.get(I + "b-4/state/k?version=-1"), 400)


def test_what_is_not_there(server):
    server.start_instance("Board", None, "b-2")
    assert "state key 'last' is not set" in expect(server.get(I + "b-2/state/last"), 404).json["error"]["message"]
    assert "instance 'nobody' does not exist" in expect(server.get(I + "nobody/state"), 404).json["error"]["message"]
    expect(server.get(I + "nobody/state/k"), 404)
    assert "verison" in expect(server.get(I + "b-2/state?verison=1"), 400).json["error"]["message"]
    server.start_instance("Echo", 1, "e-1")
    server.ended("e-1")
    assert expect(server.get(I + "e-1/state"), 200).json == {"instance": "e-1", "items": [], "count": 0}
