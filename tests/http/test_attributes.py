# SPDX-License-Identifier: MIT
"""S51 to S54 over HTTP: attributes at a start, changed by an operator, in filters."""
import json
import urllib.parse

from kit import expect

I = "/api/v1/instances"


def start(server, instance, attributes):
    body = {"orchestration": "Board", "input": 1, "instance": instance, "attributes": attributes}
    return server.post(I, json.dumps(body))


def patch(server, instance, change):
    return server.call("PATCH", I + "/" + instance + "/attributes", json.dumps(change))


def found(server, *where, **query):
    text = urllib.parse.urlencode([("where", w) for w in where] + list(query.items()))
    return [i["instance"] for i in expect(server.get(I + "?" + text), 200).json["instances"]]


def test_s51_s54_start_change_and_find(server):
    expect(start(server, "at-1", {"customer": "c-42", "total": 990}), 201)
    expect(start(server, "at-2", {"customer": "c-42", "total": 10}), 201)
    got = expect(server.get(I + "/at-1"), 200).json
    assert got["attributes"] == {"customer": "c-42", "total": 990}
    assert found(server, "customer=c-42") == ["at-2", "at-1"]
    assert found(server, "customer=c-42", "total>=500") == ["at-1"]
    assert found(server, "customer^=c-", "total<500", status="running,pending") == ["at-2"]
    assert found(server, 'total="990"') == []
    expect(patch(server, "at-2", {"total": None, "who": "me"}), 200)
    assert found(server, "who=me") == ["at-2"]
    assert found(server, "total<=10", prefix="at-") == []
    body = {"action": "cancel", "dry_run": True, "filter": {"where": ["customer=c-42", "total>1"]}}
    assert expect(server.post(I + ":batch", json.dumps(body)), 200).json["matched"] == 1


def test_s51_bad_attributes_and_filters(server):
    for bad in ({"a": 1.5}, {"a": {}}, {"a": True}, {"pawl.x": 1}, {"A": 1}, {"a": "x" * 256},
                {"n%d" % i: i for i in range(33)}):
        answer = expect(start(server, "at-bad", bad), 400)
        assert "\n" not in answer.json["error"]["message"]
    expect(server.get(I + "/at-bad"), 404)
    expect(start(server, "at-3", {}), 201)
    expect(patch(server, "at-3", {"a": [1]}), 400)
    expect(patch(server, "at-3", [1]), 400)
    expect(patch(server, "at-none", {"a": 1}), 404)
    for where in ("", "a", "a~1", "A=1", "a=99999999999999999999", 'a="x'):
        expect(server.get(I + "?where=" + urllib.parse.quote(where)), 400)
    expect(server.get(I + "?" + "&".join("where=a%%3D%d" % i for i in range(9))), 400)
