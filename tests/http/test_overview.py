# SPDX-License-Identifier: MIT
"""What a dashboard reads: registered code, the process, counts, problems, rates."""
import os
import time

from kit import expect

A = "/api/v1"


def test_registry(server):
    got = expect(server.get(A + "/registry"), 200).json
    by_name = {o["name"]: o for o in got["orchestrations"]}
    assert by_name["Echo"]["versions"] and by_name["Echo"]["module"], got
    assert [o["name"] for o in got["orchestrations"]] == sorted(by_name)
    assert "Charge" not in [a["name"] for a in got["activities"]]     # only a remote worker has it
    assert by_name["Echo"]["module"] in got["modules"]
    assert len(got["modules"]) == len(set(got["modules"]))
    assert abs(got["now"] - time.time() * 1000) < 5000


def test_node(server):
    got = expect(server.get(A + "/node"), 200).json
    node = got["node"]
    assert node["healthy"] is True and "trouble" not in node
    assert node["rss_bytes"] > 1 << 20 and node["disk_free_bytes"] > 0
    assert os.path.exists("/proc/%d" % node["pid"]) and node["started_at"] <= got["now"]
    before = node["commits"]
    server.ended(server.start_instance("Echo", 1, "node-1"))
    assert expect(server.get(A + "/node"), 200).json["node"]["commits"] > before


def test_why_has_the_clock(server):
    server.ended(server.start_instance("Echo", 1, "clock-1"))
    why = expect(server.get(A + "/instances/clock-1/why"), 200).json
    assert abs(why["now"] - time.time() * 1000) < 5000
