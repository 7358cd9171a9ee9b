# SPDX-License-Identifier: MIT
"""What /metrics counts by name, of remote workers, after a crash, and how long requests take."""
import time

from kit import Server, expect
from test_ops import metrics, value

I = "/api/v1/instances"


def lease(server, wait=5000):
    return expect(server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": wait}), 200).json["items"][0]


def instances(found, name):
    return [value(found, "pawl_instances_total", orchestration=name, event=e)
            for e in ("started", "completed", "failed", "cancelled")]


def calls(found, name):
    return [value(found, "pawl_activity_outcomes_total", activity=name, outcome=o)
            for o in ("completed", "failed", "retried")]


def test_metrics_by_name(server):
    assert "pawl_instances_total" not in metrics(server)     # and no family without a series
    for n in range(3):
        server.ended(server.start_instance("Echo", n))
    server.start_instance("Echo", 0, "same")
    expect(server.post(I, {"orchestration": "Echo", "input": 0, "instance": "same"}), 200)    # started once
    server.ended(server.start_instance("Wrong", None))
    server.start_instance("Ask", None, "a")
    server.start_instance("Ask", None, "b")
    expect(server.post(I + "/a/terminate"), 202)
    server.ended("a")
    server.ended("same")
    found = metrics(server)
    assert instances(found, "Echo") == [4, 4, 0, 0], instances(found, "Echo")
    assert instances(found, "Wrong") == [1, 0, 1, 0] and instances(found, "Ask") == [2, 0, 0, 1]
    expect(server.call("DELETE", I + "/b?force=true"), 200)  # removed is not ended
    assert instances(metrics(server), "Ask") == [2, 0, 0, 1]


def test_metrics_of_instances_by_state(server):
    for n, name in enumerate(("Ask", "Ask", "Ask", "Wrong", "Wrong", "Echo")):
        server.start_instance(name, 1, "i%d" % n)
    expect(server.post(I + "/i0/suspend"), 202)
    expect(server.post(I + "/i1/terminate"), 202)
    for n in (1, 3, 4, 5):
        server.ended("i%d" % n)
    for again in range(2):
        found = metrics(server)
        got = {s: value(found, "pawl_instances", state=s) for s in ("suspended", "blocked", "failed", "cancelled", "other")}
        assert got == {"suspended": 1, "blocked": 0, "failed": 2, "cancelled": 1, "other": 2}, got
        server.restart()


def test_metrics_count_remote_completions(server):
    server.start_instance("RemoteOrder", 1, "r")
    expect(server.post("/api/v1/work/%s/complete" % lease(server)["token"], {"result": 1}), 200)
    server.ended("r")
    found = metrics(server)
    assert value(found, "pawl_activities_completed_total") == 1 and calls(found, "Charge") == [1, 0, 0]
    server.start_instance("RemoteRetry", 1, "s")
    work = lease(server)
    expect(server.post("/api/v1/work/%s/fail" % work["token"], {"error": "once"}), 200)
    again = lease(server)
    expect(server.post("/api/v1/work/%s/fail" % again["token"], {"error": "twice", "retryable": False}), 200)
    server.ended("s")
    found = metrics(server)
    assert calls(found, "Charge") == [1, 1, 1], calls(found, "Charge")
    assert value(found, "pawl_activities_failed_total") == 1


def test_metrics_have_a_bounded_number_of_names(server):
    for n in range(230):
        expect(server.post(I, {"orchestration": "Nobody%d" % n, "allow_unregistered": True}), 201)
    found = metrics(server)
    names = {dict(labels)["orchestration"] for _, labels in found["pawl_instances_total"][1]}
    assert len(names) == 201 and "Nobody0" in names and "Nobody229" not in names, len(names)
    assert value(found, "pawl_instances_total", orchestration="", event="started") == 30


def test_metrics_time_work_that_was_recovered():
    with Server() as server:
        server.start_instance("Nap", 300, "n")
        for _ in range(200):
            if any(w.get("running") for w in server.get(I + "/n").json["waiting_for"]):
                break
            time.sleep(0.01)
        server.restart()                                     # kill -9 while it runs
        server.ended("n")
        name = "pawl_activity_schedule_to_start_seconds"
        series = metrics(server)[name][1]
        assert series[(name + "_count", ())] == 1
        assert series[(name + "_sum", ())] < 10              # since it was found, not since it was scheduled


def test_metrics_time_requests(server):
    name = "pawl_http_request_seconds"
    before = metrics(server)[name][1][(name + "_count", ())]
    for _ in range(10):
        server.get("/health")
    server.start_instance("Ask", None, "a")
    assert server.get(I + "/a/wait?timeout_ms=300").status == 202          # it wished to wait
    assert server.post("/queue/q/pop?wait_seconds=1").json["count"] == 0
    series = metrics(server)[name][1]
    assert series[(name + "_count", ())] == before + 12                   # and the scrape before
    assert series[(name + "_bucket", (("le", "10"),))] == before + 12
    assert 0 < series[(name + "_sum", ())] < 10


def test_metrics_know_a_slow_request(server):
    """A history of five megabytes takes longer than the first bound; nothing takes ten seconds."""
    server.start_instance("Heap", {"value": "x" * 500_000, "steps": 10}, "h")
    server.ended("h")
    for _ in range(3):
        assert server.get(I + "/h/history").status == 200
    name = "pawl_http_request_seconds"
    series = metrics(server)[name][1]
    buckets = [v for (n, labels), v in sorted(series.items(), key=lambda i: float(dict(i[0][1]).get("le", 0)))
               if n == name + "_bucket"]
    assert buckets == sorted(buckets) and buckets[-1] == series[(name + "_count", ())], buckets
    assert buckets[0] <= buckets[-1] - 3, buckets
