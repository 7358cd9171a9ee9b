# SPDX-License-Identifier: MIT
"""Schedules: when they are due."""
from kit import expect

NEXT = "/api/v1/schedules:next"
BERLIN = {"cron": ["30 2 * * *"], "zone": "Europe/Berlin"}
OCTOBER = 1697846400000  # 2023-10-21T00:00:00Z; clocks went back on the 29th
MARCH = 1679702400000    # 2023-03-25T00:00:00Z; clocks went forward on the 26th


def instants(reply):
    return [one["utc"] for one in reply.json["next"]]


def test_next_over_the_change_of_clocks(server):
    reply = expect(server.post(NEXT + "?count=4&from=%d" % MARCH, BERLIN), 200, zone="Europe/Berlin")
    assert instants(reply) == ["2023-03-25T01:30:00Z", "2023-03-26T01:00:00Z", "2023-03-27T00:30:00Z",
                               "2023-03-28T00:30:00Z"], reply.json
    assert reply.json["next"][1] == {"at": 1679792400000, "utc": "2023-03-26T01:00:00Z",
                                     "local": "2023-03-26T03:00:00+02:00"}
    both = server.post(NEXT + "?count=11&from=%d" % OCTOBER, {**BERLIN, "fold": "both"})
    assert instants(both)[7:10] == ["2023-10-28T00:30:00Z", "2023-10-29T00:30:00Z", "2023-10-29T01:30:00Z"]
    skip = server.post(NEXT + "?count=2&from=%d" % MARCH, {**BERLIN, "gap": "skip"})
    assert instants(skip) == ["2023-03-25T01:30:00Z", "2023-03-27T00:30:00Z"]


def test_next_forms(server):
    assert len(expect(server.post(NEXT, {"cron": "@hourly"}), 200, zone="UTC").json["next"]) == 10
    assert len(server.post(NEXT + "?count=1000", {"every_ms": 1000}).json["next"]) == 1000
    ends = expect(server.post(NEXT + "?from=0", {"at_ms": [5000, 1000], "orchestration": "X", "input": None}), 200)
    assert [one["at"] for one in ends.json["next"]] == [1000, 5000]
    exact = server.post(NEXT + "?from=5000&count=1", {"every_ms": 5000})
    assert exact.json["next"][0] == {"at": 5000, "utc": "1970-01-01T00:00:05Z", "local": "1970-01-01T00:00:05Z"}
    expect(server.post(NEXT, {"at_ms": [1]}), 200, next=[])


def test_next_refusals(server):
    for body, code, words in (
            ({"cron": "30 2 * * *", "zone": "Europe/Berln"}, "unknown_zone", "package tzdata"),
            ({"cron": "30 2 30 2 *"}, "never_fires", "never fires"),
            ({"cron": ["0 0 * * *", "0 0 31 4 *"]}, "never_fires", "'0 0 31 4 *'"),
            ({}, "invalid", "says no time"),
            ({"cron": "@daily", "every_ms": 1000}, "invalid", "give one of them"),
            ({"cron": "0 22-2 * * *"}, "invalid", "write 22-23,0-2"),
            ({"cron": "0 0 1 1 * 2027 *"}, "invalid", "7 fields"),
            ({"every_ms": 999}, "invalid", "every_ms is 999"),
            ({"every_ms": 2000, "jitter_ms": 1000}, "invalid", "less than half"),
            ({"every_ms": 1000, "zone": "../../etc/passwd"}, "invalid", "Europe/Berlin"),
            ({"every_ms": 1000, "orchestration": "A", "queue": "q"}, "invalid", "queue"),
            ({"every_ms": 1000, "gap": "jump"}, "invalid", "shift, skip"),
            ({"cron": ["@daily"] * 17}, "invalid", "more than 16"),
            ({"at_ms": [1] * 1001}, "invalid", "1000")):
        reply = expect(server.post(NEXT, body), 400, code)
        message = reply.json["error"]["message"]
        assert words in message and "\n" not in message, (body, message)
    for query in ("?count=0", "?count=1001", "?count=x", "?from=-1", "?from=253402300799001", "?to=5"):
        expect(server.post(NEXT + query, {"every_ms": 1000}), 400)
    for body in ([], "x", {"every_ms": 1000, "crn": 1}):
        expect(server.post(NEXT, body), 400)
    assert server.get(NEXT).status == 405
