# SPDX-License-Identifier: MIT
"""What a dashboard reads: registered code, the process, counts, problems, rates."""
import os
import threading
import time

from kit import Server, expect

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


def overview(server):
    """Until every instance is counted."""
    for _ in range(100):
        got = expect(server.get(A + "/overview"), 200).json
        if got["exact"]:
            return got
    raise AssertionError("the walk does not end: %s" % got["counts"])


def listed(server):
    """The same counts, from the list of instances."""
    counts, after = {}, ""
    while True:
        page = server.get(A + "/instances?limit=1000" + (after and "&after=" + after)).json
        for i in page["instances"]:
            counts[i["status"]] = counts.get(i["status"], 0) + 1
        after = page["next"]
        if not after:
            return counts


def agree(server):
    """A call is answered a moment before its commit is told: not at once, but soon."""
    for _ in range(50):
        got, want = overview(server), listed(server)
        if {k: n for k, n in got["counts"].items() if n} == want:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("counted %s, listed %s" % (got["counts"], want))
    for state, n in got["counts"].items():
        assert sum(o["counts"][state] for o in got["orchestrations"]) == n
    return got


def test_counts_follow_every_change(server):
    agree(server)
    server.start_instance("Ask", 1, "c-1")
    server.start_instance("Ask", 1, "c-2")
    server.ended(server.start_instance("Echo", 1, "c-3"))
    got = agree(server)
    assert got["counts"]["running"] >= 2 and got["counts"]["completed"] >= 1
    echo = [o for o in got["orchestrations"] if o["name"] == "Echo"][0]
    assert 0 <= echo["p50_ms"] <= echo["p95_ms"] < 60000
    expect(server.post(A + "/instances/c-1/suspend"), 202)
    assert agree(server)["counts"]["suspended"] >= 1
    expect(server.post(A + "/instances/c-1/resume"), 202)
    expect(server.post(A + "/instances/c-1/cancel"), 202)
    server.ended("c-1")
    assert agree(server)["counts"]["cancelled"] >= 1
    expect(server.call("DELETE", A + "/instances/c-1"), 200)
    expect(server.call("DELETE", A + "/instances/c-2?force=true"), 200)
    agree(server)


def test_counts_are_exact_after_a_restart_under_load():
    with Server() as server:
        for n in range(700):
            server.start_instance("Ask" if n % 3 else "Echo", 1, "r-%d" % n)
        server.ended("r-699")
        server.restart()
        stop = threading.Event()

        def work():                              # instances change while older ones are counted
            for n in range(700):
                if stop.is_set():
                    return
                if n % 3:
                    server.post(A + "/instances/r-%d/cancel" % n, fresh=True)
                server.post(A + "/instances", {"orchestration": "Echo", "input": 1,
                                               "instance": "new-%d" % n}, fresh=True)
        thread = threading.Thread(target=work)
        thread.start()
        overview(server)
        stop.set()
        thread.join()
        server.ended(server.start_instance("Echo", 1, "last"))
        agree(server)


def test_problems_are_grouped_by_cause(server):
    for n in range(7):
        server.ended(server.start_instance("Wrong", "order %d" % (n + 100), "p-%d" % n))
    got = [p for p in overview(server)["problems"] if p["kind"] == "failed" and
           p["orchestration"] == "Wrong"]
    assert len(got) == 1 and got[0]["count"] == 7 and len(got[0]["instances"]) == 5, got
    assert got[0]["detail"]


def everything(server):
    return expect(server.get(A + "/overview?with=all"), 200).json


def settled(server):
    """With every commit in it."""
    for _ in range(100):
        got = everything(server)
        if got["current"] and got["exact"]:
            return got
        time.sleep(0.1)
    raise AssertionError("never current: %s" % got)


def test_one_answer_for_all_who_look(server):
    server.ended(server.start_instance("Echo", 1, "shared-1"))
    first = settled(server)
    again = [everything(server) for _ in range(200)]
    assert len({a["made"] for a in again}) <= 1 + (again[-1]["now"] - first["now"]) / 1000
    stop = threading.Event()

    def work():
        for n in range(100000):
            if stop.is_set():
                return
            server.post(A + "/instances", {"orchestration": "Echo", "input": 1,
                                           "instance": "shared-b%d" % n}, fresh=True)
    thread = threading.Thread(target=work)
    thread.start()
    before, seen, asked = everything(server), set(), 0
    while len(seen) < 3:                          # under load: one for many questions
        got = everything(server)
        asked += 1
        seen.add(got["made"])
    stop.set()
    thread.join()
    made = got["made"] - before["made"]
    assert made <= 1 + (got["now"] - before["now"]) / 1000, (made, asked)
    assert asked > 3 * made, (made, asked)
    last = settled(server)                       # and nothing is forgotten
    assert last["counts"] == overview(server)["counts"]


def test_everything_says_who_is_waited_for(server):
    for n in range(3):
        server.start_instance("Ask", 1, "w-%d" % n)
    expect(server.post("/queue/w-mail/push", {"item": 1}), 200)
    got = settled(server)
    plain = overview(server)
    assert set(plain) < set(got) and "waits" not in plain
    event = [e for e in got["waits"]["events"] if e["instance"] == "w-0"]
    assert len(event) == 1 and event[0]["orchestration"] == "Ask", got["waits"]
    assert event[0]["count"] >= 3 and event[0]["oldest"] <= got["now"]
    assert "w-mail" in [q["name"] for q in got["queues"]]
    assert all(len(v) == 300 for v in got["series"].values())
    for n in range(3):
        expect(server.post(A + "/instances/w-%d/terminate" % n), 202)
    assert not [e for e in settled(server)["waits"]["events"] if e["instance"].startswith("w-")]
    assert "with" in expect(server.get(A + "/overview?with=some"), 400).json["error"]["message"]


def test_everything_has_activities_that_nobody_takes(server):
    server.start_instance("RemoteOrder", 1, "act-1")
    got = settled(server)["waits"]["activities"]
    mine = [a for a in got if a["instance"] == "act-1" or a["activity"] == "Charge"]
    assert mine and mine[0]["queued"] >= 1 and mine[0]["running"] == 0, got


def test_series_have_what_happened(server):
    before = expect(server.get(A + "/series?seconds=600"), 200).json
    for n in range(20):
        server.ended(server.start_instance("Echo", 1, "s-%d" % n))
    after = expect(server.get(A + "/series?seconds=600"), 200).json
    assert after["step_ms"] == 1000 and len(after["series"]["turns"]) == 600
    for name in "starts", "ended", "activities":
        assert sum(after["series"][name]) == sum(before["series"][name]) + 20, name
    assert sum(after["series"]["commits"]) > sum(before["series"]["commits"])
    for name in "delay_p50_ms", "delay_p95_ms":  # null in a second in which no attempt began
        delays, known = after["series"][name], [d for d in after["series"][name] if d is not None]
        assert len(delays) == 600 and 1 <= len(known) < 600 and all(0 <= d < 60000 for d in known), known
    assert all(
        a is None and b is None or a <= b
        for a, b in zip(after["series"]["delay_p50_ms"], after["series"]["delay_p95_ms"])
    )
    assert len(expect(server.get(A + "/series?seconds=1"), 200).json["series"]["turns"]) == 1
    expect(server.get(A + "/series?seconds=601"), 400, "invalid")
