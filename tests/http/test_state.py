# SPDX-License-Identifier: MIT
"""GET …/state: what the code of an instance has published."""
import json
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


def test_what_is_not_there(server):
    server.start_instance("Board", None, "b-2")
    assert "state key 'last' is not set" in expect(server.get(I + "b-2/state/last"), 404).json["error"]["message"]
    assert "instance 'nobody' does not exist" in expect(server.get(I + "nobody/state"), 404).json["error"]["message"]
    expect(server.get(I + "nobody/state/k"), 404)
    assert "verison" in expect(server.get(I + "b-2/state?verison=1"), 400).json["error"]["message"]
    server.start_instance("Echo", 1, "e-1")
    server.ended("e-1")
    assert expect(server.get(I + "e-1/state"), 200).json == {"instance": "e-1", "items": [], "count": 0}
