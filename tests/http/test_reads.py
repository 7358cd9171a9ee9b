# SPDX-License-Identifier: MIT
"""One instance, read in other ways: with its reasons, only when it changed, by execution, as a file."""
import json
import subprocess

import kit
from kit import expect

I = "/api/v1/instances/"


def test_an_instance_that_did_not_change_costs_304(server):
    server.start_instance("Ask", {"n": 1}, "a")
    first = expect(server.get(I + "a"), 200)
    tag = first.headers["ETag"]
    assert first.headers["Cache-Control"] == "private, no-cache" and first.json["events"] >= 2 and first.json["started_at"]
    for given in (tag, '"x", ' + tag, "W/" + tag):
        same = server.get(I + "a", headers={"If-None-Match": given})
        assert same.status == 304 and same.body == b"" and same.headers["ETag"] == tag, same
    both = expect(server.get(I + "a?with=why"), 200)
    data = both.json
    why = data.pop("why")
    assert data == first.json and both.headers["ETag"] != tag
    assert why["sentence"] and why["waiting_for"][0]["name"] == "Answer" and why["now"] and why["mailbox"] == 0, why
    tags = {"If-None-Match": both.headers["ETag"]}
    assert server.get(I + "a?with=why", headers=tags).status == 304
    expect(server.post(I + "a/events/Other", "1"), 202)          # only its mailbox has it
    more = expect(server.get(I + "a?with=why", headers=tags), 200)
    assert more.json["why"]["mailbox"] == 1, more
    expect(server.post(I + "a/events/Answer", "1"), 202)
    server.ended("a")
    done = expect(server.get(I + "a", headers={"If-None-Match": tag}), 200)
    assert done.json["status"] == "completed" and "ETag" in done.headers
    expect(server.get(I + "a?with=all"), 400)
    expect(server.get(I + "none?with=why", headers=tags), 404)


def test_an_attempt_that_failed_is_a_change(server):
    server.start_instance("RemoteRetry", None, "r")
    poll = lambda: server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 5000}).json["items"][0]["token"]
    token = poll()
    tag = {"If-None-Match": server.get(I + "r?with=why").headers["ETag"]}
    assert server.get(I + "r?with=why", headers=tag).status == 304
    expect(server.post("/api/v1/work/%s/fail" % token, {"error": "no"}), 200)
    assert expect(server.get(I + "r?with=why", headers=tag), 200).json["waiting_for"][0]["attempt"] == 2


def test_executions_newest_first(server):
    from kit import Server
    with Server(load=[kit.BUILD / "examples" / "eternal.so"]) as other:
        other.start_instance("Heartbeat", {"every_ms": 1, "until": 7}, "h")
        other.ended("h")
        all_of_them = expect(other.get(I + "h/executions"), 200).json
        rows = all_of_them["executions"]
        n = rows[0]["execution"]
        assert n > 1 and [r["execution"] for r in rows] == list(range(n, 0, -1)) and all_of_them["next"] is None, rows
        assert rows[0]["status"] == "completed" and all(r["status"] == "continued_as_new" for r in rows[1:]), rows
        assert all(r["events"] > 1 and r["started_at"] <= r["ended_at"] for r in rows), rows
        assert all(a["started_at"] >= b["ended_at"] for a, b in zip(rows, rows[1:])), rows
        got, after = [], ""
        while True:
            page = expect(other.get(I + "h/executions?limit=2" + after), 200).json
            got += page["executions"]
            if not page["next"]:
                break
            after = "&after=%d" % page["next"]
        assert got == rows
    expect(server.get(I + "none/executions"), 404)
    expect(server.get(I + "none/executions?limit=0"), 400)


def test_export_is_what_the_command_writes(server):
    server.start_instance("Echo", {"n": 1}, "e")
    server.ended("e")
    text = expect(server.get(I + "e/export"), 200)
    run = lambda *a: subprocess.run([str(kit.PAWL), *a], capture_output=True, text=True)
    said = run("export", "e", "--url", server.url)
    assert json.loads(said.stdout) == text.json and said.stdout.strip() == text.body.decode().strip(), (said, text)
    path = kit.work_dir() / "e.json"
    path.write_bytes(text.body)
    done = run("replay", str(path), "--load", str(kit.module()))
    assert done.returncode == 0, done
    expect(server.get(I + "none/export"), 404)
    server.start_instance("Texts", "bytes", "b")
    server.ended("b")
    assert expect(server.get(I + "b/export"), 200).json["encoding"] == "base64"


def test_an_export_is_bounded(server):
    server.start_instance("Heap", {"steps": 40, "value": "x" * 900_000}, "heap")
    server.ended("heap")
    events, after, pages = [], "", 0
    while after is not None:
        reply = expect(server.get(I + "heap/export" + after, timeout=60), 200)
        assert len(reply.body) < 9_000_000, len(reply.body)
        events += reply.json["events"]
        after = "?after=%d" % reply.json["next"] if "next" in reply.json else None
        pages += 1
        if pages == 1:
            part = kit.work_dir() / "part.json"
            part.write_bytes(reply.body)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1)) and pages > 5, (len(events), pages)
    assert len(events) == server.get(I + "heap").json["events"]
    assert reply.json["status"] == "completed" and events[-1]["kind"] == "OrchestrationCompleted"
    said = subprocess.run([str(kit.PAWL), "replay", str(part), "--load", str(kit.module())],
                          capture_output=True, text=True)
    assert said.returncode != 0 and "page of an export" in said.stderr, said
    expect(server.get(I + "heap/export?after=x"), 400, "invalid")
