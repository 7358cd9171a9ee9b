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
    expect(patch(server, "at-2", {"whole": 5.0}), 200)   # as everywhere: 5.0 is 5
    assert b'"whole":5}' in server.get(I + "/at-2").body and found(server, "whole=5") == ["at-2"]
    expect(patch(server, "at-2", {"whole": None}), 200)
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
    expect(patch(server, "at-3", {"n%d" % i: i for i in range(33)}), 400)
    expect(patch(server, "at-3", {"n%d" % i: i for i in range(32)}), 200)
    expect(patch(server, "at-3", {"one-more": 1}), 409)
    expect(patch(server, "at-3", {"one-more": 1, "n0": None}), 200)
    for where in ("", "a", "a~1", "A=1", "a=99999999999999999999", 'a="x'):
        expect(server.get(I + "?where=" + urllib.parse.quote(where)), 400)
    got = expect(server.get(I + "?where=total%3E%3D1.5"), 400, "invalid").json["error"]["message"]
    assert "'total' compares with a number that is no integer" in got and "\n" not in got, got
    expect(server.get(I + "?where=total%3D1.5"), 200)                         # a text
    expect(server.get(I + "?" + "&".join("where=a%%3D%d" % i for i in range(9))), 400)


def test_s54_bad_conditions_of_a_batch_act_on_nothing(server):
    """A condition that is not read must not be taken for none: the batch would reach everything."""
    expect(start(server, "at-4", {"n": 1}), 201)
    for where in ({}, "n=1", 1, [1], [None], ["n=1", {}], ["n=1"] * 9, [""]):
        body = {"action": "terminate", "filter": {"where": where}}
        assert "where" in expect(server.post(I + ":batch", json.dumps(body)), 400).json["error"]["message"]
    assert expect(server.get(I + "/at-4"), 200).json["status"] != "failed"
    for where in (None, [], ["n=1"] * 8):
        body = {"action": "terminate", "dry_run": True, "filter": {"where": where, "prefix": "at-4"}}
        assert expect(server.post(I + ":batch", json.dumps(body)), 200).json["matched"] == 1


def test_s55_counts(server):
    for i in range(12):
        body = {"orchestration": "RemoteOrder" if i % 3 else "Account", "input": 1, "instance": "ct-%d" % i,
                "attributes": {"count_me": "v%d" % (i % 2), "n": i % 4}}
        expect(server.post("/api/v1/instances", body), 201)
    C = "/api/v1/instances:count"
    got = expect(server.get(C + "?by=count_me"), 200).json
    assert got == {"by": "count_me", "groups": [{"value": "v0", "count": 6}, {"value": "v1", "count": 6}],
                   "total": 12, "examined": 12, "more": False}, got
    got = expect(server.get(C + "?by=n&where=count_me%3Dv0"), 200).json
    assert got["groups"] == [{"value": 0, "count": 3}, {"value": 2, "count": 3}] and got["total"] == 6
    got = expect(server.get(C + "?by=orchestration&prefix=ct-"), 200).json
    assert got["groups"] == [{"value": "Account", "count": 4}, {"value": "RemoteOrder", "count": 8}]
    assert expect(server.get(C + "?prefix=ct-"), 200).json["total"] == 12
    for by in ("status", "orchestration"):          # of all: the census says the same as a walk
        census = expect(server.get(C + "?by=" + by), 200).json
        walked = expect(server.get(C + "?by=" + by + "&created_after=1"), 200).json
        assert census["groups"] == walked["groups"] and census["total"] == walked["total"], (census, walked)
        assert census["examined"] == 0 and walked["examined"] >= walked["total"]
    expect(server.get(C + "?by=Customer"), 400)
    expect(server.get(C + "?by=n&limit=5"), 400)
    expect(server.get(C + "?by=n&where=~"), 400)
    expect(server.get(C + "?by=n&parent=nobody"), 404)
