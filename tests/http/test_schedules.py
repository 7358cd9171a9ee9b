# SPDX-License-Identifier: MIT
"""Schedules: when they are due, and what becomes of them."""
import json
import os
import re
import shutil
import signal
import tempfile
import time

import pawl

from kit import Server, expect
from test_verbs import pawl as run

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

# ---- Stored schedules ----------------------------------------------------------------------

S = "/api/v1/schedules"
DAILY = {"cron": ["30 2 * * *"], "zone": "Europe/Berlin", "orchestration": "Echo", "input": {"a": 1}}


def put(server, name, spec, status=201, **headers):
    return expect(server.call("PUT", "%s/%s" % (S, name), spec,
                              headers={k.replace("_", "-"): v for k, v in headers.items()}), status)


def until(check, seconds=15):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def test_put_get_change_remove(server):
    first = put(server, "nightly", DAILY).json
    assert first["name"] == "nightly" and first["revision"] == 1 and first["zone"] == "Europe/Berlin", first
    assert len(first["next"]) == 3 and all("T02:30:00+0" in one["local"] for one in first["next"]), first
    shown = expect(server.get(S + "/nightly"), 200, name="nightly", revision=1, zone="Europe/Berlin").json
    assert shown["spec"] == DAILY and shown["next"] == first["next"], shown
    assert shown["next_ms"] == first["next"][0]["at"], shown
    later = {**DAILY, "cron": ["0 4 * * *"]}
    expect(put(server, "nightly", later, 412, If_Match='"7"'), 412, "conflict")
    assert put(server, "nightly", later, 200, If_Match='"1"').json["revision"] == 2
    assert put(server, "nightly", DAILY, 200, If_Match="2").json["revision"] == 3
    put(server, "nightly", DAILY, 412, If_None_Match="*")
    put(server, "other", {"every_ms": 3600000, "queue": "mail"}, 201, If_None_Match="*")
    for header in ({"If_Match": "x"}, {"If_Match": '"0"'}, {"If_Match": "*"}, {"If_None_Match": '"3"'},
                   {"If_None_Match": "*", "If_Match": "3"}):
        put(server, "nightly", DAILY, 400, **header)
    names = [one["name"] for one in expect(server.get(S), 200, next=None).json["schedules"]]
    assert names == ["nightly", "other"], names
    page = server.get(S + "?limit=1").json
    assert page["next"] == "nightly" and server.get(S + "?limit=1&after=nightly").json["schedules"][0]["name"] == "other"
    assert [one["name"] for one in server.get(S + "?prefix=oth").json["schedules"]] == ["other"]
    expect(server.call("DELETE", S + "/nightly", headers={"If-Match": "2"}), 412, "conflict")
    expect(server.call("DELETE", S + "/nightly", headers={"If-Match": "3"}), 200, name="nightly", removed=True)
    for method, path in (("GET", "/nightly"), ("DELETE", "/nightly"), ("GET", "/nightly/next"),
                         ("POST", "/nightly/pause"), ("POST", "/nightly/resume"), ("POST", "/nightly/trigger")):
        expect(server.call(method, S + path), 404, "not_found")


def test_put_refusals(server):
    for spec, code, words in (
            ({"cron": "@daily"}, "invalid", "starts nothing"),
            ({"cron": "@daily", "orchestration": "Nobody"}, "unknown_orchestration", "not registered"),
            ({"cron": "@daily", "zone": "Mars/X", "orchestration": "Echo"}, "unknown_zone", "tzdata"),
            ({"cron": "0 0 31 2 *", "orchestration": "Echo"}, "never_fires", "never fires"),
            ({"orchestration": "Echo"}, "invalid", "says no time"),
            ({"cron": "@daily", "queue": "q", "version": "1.0.0"}, "invalid", "version"),
            ({"cron": "@daily", "queue": "q", "queue_max": 3}, "invalid", "queue_max"),
            ({"every_ms": 1000, "jitter_ms": 500, "queue": "q"}, "invalid", "less than half"),
            ({"every_ms": 1000, "queue": "a/b"}, "invalid", "queue"),
            ({"cron": "@daily", "queue": "q", "overlap": "both"}, "invalid", "overlap")):
        reply = expect(server.call("PUT", S + "/bad", spec), 400, code)
        message = reply.json["error"]["message"]
        assert words in message and "\n" not in message, (spec, message)
    put(server, "odd", {"cron": "@daily", "orchestration": "Nobody", "allow_unregistered": True})
    assert [one["name"] for one in server.get(S).json["schedules"]] == ["odd"]
    for name in ("..", "a%2Fb", "x" * 256, "a%0Ab"):
        assert server.call("PUT", "%s/%s" % (S, name), DAILY).status in (400, 413), name


def test_runs(server):
    put(server, "often", {"every_ms": 1000, "orchestration": "Echo", "input": "x"})
    until(lambda: server.get(S + "/often").json.get("runs", 0) >= 2)
    expect(server.post(S + "/often/pause", {"reason": "enough"}), 202, name="often", accepted=True)
    shown = expect(server.get(S + "/often"), 200, paused=True, reason="enough", next=[]).json
    runs = server.get("/api/v1/instances?prefix=often@").json["instances"]
    assert len(runs) == shown["runs"] and all(re.match(r"often@2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", r["instance"])
                                              for r in runs), runs
    why = server.get("/api/v1/instances/%s/why" % runs[0]["instance"]).json
    assert why["schedule"]["name"] == "often" and "the schedule 'often' started it for 2" in why["sentence"], why
    expect(server.post(S + "/often/resume"), 202)
    assert server.get(S + "/often").json.get("paused", False) is False


def test_trigger_and_queue(server):
    put(server, "mails", {"cron": "@yearly", "queue": "mail", "input": {"to": "you"}, "priority": 3})
    key = {"Idempotency-Key": "k1"}
    pushed = expect(server.call("POST", S + "/mails/trigger", headers=key), 202, name="mails", accepted=True)
    assert "instance" not in pushed.json, pushed              # there will be none
    assert server.post("/queue/mail/pop").json["items"] == [{"to": "you"}]
    put(server, "nightly", DAILY)
    one = expect(server.call("POST", S + "/nightly/trigger", headers=key), 202, instance="nightly@manual-k1")
    server.call("POST", S + "/nightly/trigger", headers=key)
    until(lambda: server.get("/api/v1/instances/nightly@manual-k1").status == 200)
    assert server.ended("nightly@manual-k1")["input"] == {"a": 1}, one
    assert len(server.get("/api/v1/instances?prefix=nightly@").json["instances"]) == 1


def test_a_triggered_run_is_there_when_it_is_told(server):
    put(server, "nightly", DAILY)
    for n in range(60):
        got = expect(server.call("POST", S + "/nightly/trigger"), 202, accepted=True, started=True).json
        expect(server.get("/api/v1/instances/" + got["instance"]), 200)
    again = {"Idempotency-Key": "twice"}
    for _ in range(2):
        got = expect(server.call("POST", S + "/nightly/trigger", headers=again), 202, started=True).json
    expect(server.get("/api/v1/instances/" + got["instance"]), 200)


def test_backfill(server):
    put(server, "nightly", DAILY)
    day = 86400000
    body = {"from_ms": MARCH, "to_ms": MARCH + 3 * day}
    expect(server.post(S + "/nightly/backfill", body), 202, name="nightly", accepted=True)
    ids = ["nightly@2023-03-25T01:30:00Z", "nightly@2023-03-26T01:00:00Z", "nightly@2023-03-27T00:30:00Z"]
    for id in ids:
        until(lambda: server.get("/api/v1/instances/" + id).status == 200)
        server.ended(id)
    until(lambda: not server.get(S + "/nightly").json.get("backfill", {}).get("on", False))
    for bad in ({}, {"from_ms": 1}, {"from_ms": 5, "to_ms": 1}, {"from_ms": 0, "to_ms": 253402300799000},
                {"from_ms": 0, "to_ms": 1, "spec": {"cron": "x"}}, {"from_ms": 0, "to_ms": 1, "allow": 1},
                {"from_ms": 0, "to_ms": 1, "spec": {"crn": "x"}}):
        assert server.post(S + "/nightly/backfill", bad).status in (400, 413), bad
    expect(server.post(S + "/no/backfill", body), 404)
    put(server, "slow", {**DAILY, "orchestration": "Ask"})
    expect(server.post(S + "/slow/backfill", body), 202)
    expect(server.post(S + "/slow/backfill", body), 409, "conflict")


def test_next_of_a_stored_one(server):
    put(server, "nightly", {**DAILY, "jitter_ms": 60000})
    reply = expect(server.get(S + "/nightly/next?count=3&from=%d" % MARCH), 200, zone="Europe/Berlin")
    assert instants(reply) == ["2023-03-25T01:30:00Z", "2023-03-26T01:00:00Z", "2023-03-27T00:30:00Z"]
    expect(server.get(S + "/nightly/next?count=0"), 400)


def test_it_survives_a_kill(server):
    put(server, "nightly", DAILY)
    before = server.get(S + "/nightly").json
    server.stop(signal.SIGKILL)
    server.start()
    assert server.get(S + "/nightly").json == before


def test_a_zone_that_vanished():
    with tempfile.TemporaryDirectory() as zones, Server(env={"TZDIR": zones}) as server:
        expect(server.call("PUT", S + "/lost", DAILY), 400, "unknown_zone")
        os.mkdir(zones + "/Europe")
        shutil.copy("/usr/share/zoneinfo/Europe/Berlin", zones + "/Europe/Berlin")
        put(server, "lost", DAILY)
        put(server, "often", {"every_ms": 1000, "orchestration": "Echo"})
        server.stop()
        os.unlink(zones + "/Europe/Berlin")
        server.start()  # which looks at the files of zones while it serves
        until(lambda: "finding" in server.get(S + "/lost").json)
        shown = server.get(S + "/lost").json
        assert "Europe/Berlin" in shown["finding"] and shown["next"] == [], shown
        runs = server.get(S + "/often").json.get("runs", 0)
        until(lambda: server.get(S + "/often").json.get("runs", 0) > runs)
        expect(server.post(S + "/lost/trigger"), 409, "conflict")
        server.stop()
        shutil.copy("/usr/share/zoneinfo/Europe/Berlin", zones + "/Europe/Berlin")
        server.start()
        until(lambda: len(server.get(S + "/lost").json["next"]) == 3)


def test_python(server):
    client = pawl.Client("http://127.0.0.1:%d" % server.port)
    stored = client.schedule_put("nightly", **DAILY)
    assert stored["revision"] == 1 and len(stored["next"]) == 3
    assert client.schedule_put("nightly", if_revision=1, **DAILY)["revision"] in (1, 2)
    assert [one["name"] for one in client.schedules()] == ["nightly"]
    assert [one["utc"] for one in client.schedule_next("nightly", 1, MARCH)] == ["2023-03-25T01:30:00Z"]
    assert [one["at"] for one in client.schedule_next(count=2, from_ms=0, every_ms=5000)] == [0, 5000]
    client.schedule_pause("nightly", "holidays")
    assert client.schedule("nightly")["reason"] == "holidays"
    client.schedule_resume("nightly")
    assert client.schedule_run("nightly", "k")["instance"] == "nightly@manual-k"
    client.schedule_backfill("nightly", MARCH, MARCH + 86400000, allow=True)
    until(lambda: server.get("/api/v1/instances/nightly@2023-03-25T01:30:00Z").status == 200)
    client.schedule_remove("nightly")
    try:
        client.schedule("nightly")
    except pawl.NotFound as error:
        assert error.code == "not_found"
    else:
        raise AssertionError("it is still there")


def test_verbs(server):
    spec = ["--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--start", "Echo", "--input", '{"a": 1}']
    lines = run(server, "schedule", "put", "nightly", *spec).splitlines()
    assert lines[0].split() == ["UTC", "Europe/Berlin"] and len(lines) == 4 and "T02:30:00+0" in lines[1], lines
    assert json.loads(run(server, "schedule", "put", "nightly", *spec, "--if-revision", "1", "-o", "json"))["revision"] == 2
    assert "revision 2, not 1" in run(server, "schedule", "put", "nightly", *spec, "--if-revision", "1", want=4)
    run(server, "schedule", "put", "poll", "--every", "1h", "--offset", "5m", "--queue", "work", "--priority", "2",
        "--overlap", "allow", "--missed", "skip", "--missed-window", "2h", "--max-runs", "5", "--jitter", "1m",
        "--paused", "--from", "2026-01-01T00:00:00Z", "--to", "2036-01-01T00:00:00Z")
    stored = json.loads(run(server, "schedule", "show", "poll", "-o", "json"))
    assert stored["paused"] and {**stored["spec"], "paused": True} == {
        "every_ms": 3600000, "offset_ms": 300000, "from_ms": 1767225600000, "until_ms": 2082758400000,
        "jitter_ms": 60000, "max_runs": 5, "overlap": "allow", "missed": "skip", "missed_window_ms": 7200000,
        "paused": True, "queue": "work", "priority": 2}, stored
    table = [line.split()[:2] for line in run(server, "schedule", "ls").splitlines()]
    assert table == [["NAME", "STATE"], ["nightly", "active"], ["poll", "paused"]], table
    assert run(server, "schedule", "ls", "-o", "ids", "--all") == "nightly\npoll\n"
    assert run(server, "schedule", "ls", "--limit", "1", "-o", "ids") == "nightly\n"
    assert len(json.loads(run(server, "schedule", "ls", "-o", "json"))["schedules"]) == 2
    assert len(run(server, "schedule", "ls", "--prefix", "po", "-o", "jsonl").splitlines()) == 1
    assert "2023-03-26T01:00:00Z  2023-03-26T03:00:00+02:00" in run(
        server, "schedule", "next", "nightly", "--count", "2", "--from", "2023-03-25T00:00:00Z")
    assert run(server, "schedule", "pause", "nightly", "--reason", "holidays") == "nightly: paused\n"
    shown = run(server, "schedule", "show", "nightly")
    assert "nightly  paused  revision 2" in shown and "holidays" in shown and "30 2 * * *" in shown, shown
    assert run(server, "schedule", "resume", "nightly") == "nightly: resumed\n"
    assert run(server, "schedule", "run", "nightly", "--key", "k") == "nightly@manual-k\n"
    until(lambda: server.get("/api/v1/instances/nightly@manual-k").status == 200)
    assert run(server, "wait", "nightly@manual-k") == '{"a": 1}\n'
    assert re.search(r"schedule +nightly, for 2\d{3}-", run(server, "show", "nightly@manual-k"))
    assert "backfill begun" in run(server, "schedule", "backfill", "nightly", "--from", "2023-03-25T00:00:00Z",
                                   "--to", "2023-03-26T00:00:00Z", "--cron", "0 12 * * *")
    until(lambda: server.get("/api/v1/instances/nightly@2023-03-25T12:00:00Z").status == 200)
    for words, want in ((("backfill", "nightly"), "say which time"), (("put", "x", "--cron", "@daily"), "starts nothing"),
                        (("put", "x"), "says no time"), (("show", "x", "--zone", "UTC"), "does not take --zone"),
                        (("put",), "write: pawl schedule put NAME"), (("puts", "x"), "did you mean 'schedule put'"),
                        (("next", "nightly", "--every", "1h"), "leave out its name"),
                        (("backfill", "x", "--overlap", "queue", "--from", "0", "--to", "1"), "takes --overlap allow"),
                        (("run", "nightly", "--key", ""), "--key is empty")):
        assert want in run(server, "schedule", *words, want=2), words
    run(server, "schedule", "rm", "nightly", "--if-revision", "1", want=4)
    assert run(server, "schedule", "rm", "nightly") == "nightly: removed\n"
    assert "there is no schedule 'nightly'" in run(server, "schedule", "show", "nightly", want=4)
