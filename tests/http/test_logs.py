# SPDX-License-Identifier: MIT
"""What a server writes to stderr: every line parses, whatever names are in it."""
import json
import re
import signal
import time
from urllib.parse import quote

from kit import Server, expect

I = "/api/v1/instances"
HOSTILE = ['a b', 'x="y" level=error', 'quote"', 'back\\slash', 'naïve – ünïcode', '{"a":1}', "=", "a=b"]
PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\\x00-\x1f]|\\.)*"|[^ "=\\]+)(?: |$)')


def logfmt(line):
    """A strict reading: all of the line, no key twice."""
    pairs, at = {}, 0
    while at < len(line):
        match = PAIR.match(line, at)
        assert match, "no pair at %r of %r" % (line[at:], line)
        key, value = match.groups()
        assert key not in pairs, line
        pairs[key] = json.loads(value) if value.startswith('"') else value
        at = match.end()
    return pairs


def provoke(server):
    """Warnings with names from outside: events that nobody waits for."""
    for n, name in enumerate(HOSTILE):
        server.start_instance("RemoteOrder", None, name + str(n))
        expect(server.post(I + "/%s/events/%s" % (quote(name + str(n), safe=""),
                                                  quote(name, safe="")), "1"), 202)


def lines_of(server):
    """Without what a sanitizer says when it starts."""
    return [line for line in server.log_text().splitlines() if "ASan doesn't fully" not in line]


def records(server, parse):
    provoke(server)
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert server.stop() == 0
    lines = lines_of(server)
    found = [parse(line) for line in lines]
    for record in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["ts"]), record
        assert record["level"] in ("error", "warn", "info", "debug") and record["area"], record
        assert record["msg"], record
    seen = {r.get("instance") for r in found}
    assert {name + str(n) for n, name in enumerate(HOSTILE)} <= seen, seen
    assert set(HOSTILE) <= {r.get("event") for r in found}
    messages = " ".join(r["msg"] for r in found)
    assert "serving on http://" in messages and "loaded" in messages and "stopping" in messages
    return found


def test_logfmt_by_default():
    with Server("--early-events", "drop") as server:
        records(server, logfmt)


def test_log_json():
    with Server("--early-events", "drop", "--log=json") as server:
        found = records(server, json.loads)
        assert all(isinstance(r, dict) for r in found)


def test_log_json_from_the_environment_and_levels():
    with Server(env={"PAWL_LOG": "json", "PAWL_LOG_LEVEL": "error"}) as server:
        server.post(I, {"orchestration": "None", "instance": "x", "allow_unregistered": True})
        server.stop()
        assert not lines_of(server), server.log_text()
    with Server("--log=json", "--log-level", "debug") as server:
        server.start_instance("Echo", [1], "e")
        server.ended("e")
        server.stop()
        assert all(json.loads(line)["level"] for line in lines_of(server))


def test_a_failure_to_start_is_a_record_too(server):
    other = Server("--listen", server.listen, "--log=json", start=False)
    try:
        other.start()
        raise RuntimeError("two servers on one port")
    except AssertionError:
        pass
    record = json.loads(other.log_text().splitlines()[-1])
    assert record["level"] == "error" and "is taken" in record["msg"], record
