# SPDX-License-Identifier: MIT
"""Running a server for long: what is kept, what is measured, modules."""
import http.client
import math
import os
import re
import signal
import socket
import subprocess
import time
from urllib.parse import quote

import kit
from kit import Server, expect

I = "/api/v1/instances"


def wait_until(condition, what, seconds=30):
    for _ in range(seconds * 50):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(what)


def test_retain_completed():
    for how in ({"flags": ["--retain-completed=500ms"]},
                {"flags": [], "env": {"PAWL_RETAIN_COMPLETED": "500ms"}}):
        with Server(*how["flags"], env=how.get("env")) as server:
            server.start_instance("Ask", None, "open")
            for n in range(30):
                server.start_instance("Parent", [n], "p%d" % n)
            wait_until(lambda: [i["instance"] for i in server.get(I).json["instances"]] == ["open"],
                       "what ended is still there")
            expect(server.get(I + "/p0"), 404)
            expect(server.post(I + "/open/events/Answer", "1"), 202)
            assert server.get(I + "/open/wait?timeout_ms=5000").json["output"] == 1
    with Server() as server:
        server.ended(server.start_instance("Echo", 1, "kept"))
        time.sleep(1.2)
        expect(server.get(I + "/kept"), 200)


def test_retain_completed_wants_a_duration():
    server = Server("--retain-completed=30", start=False)
    try:
        server.start()
        raise RuntimeError("started")
    except AssertionError as error:
        assert "a duration with a unit" in str(error), error
    assert server.process.returncode == 2


def test_ready_says_that_it_stops_to_who_asks_anew():
    server = Server("--drain", "20s")
    server.start_instance("Nap", 2000, "nap")
    wait_until(lambda: any(w.get("running") for w in server.get(I + "/nap").json["waiting_for"]), "no nap")
    server.process.send_signal(signal.SIGTERM)
    answers = []
    while server.process.poll() is None:
        try:
            reply = server.get("/ready", fresh=True)
            answers.append((reply.status, reply.json["status"], reply.headers.get("Connection")))
            if reply.status == 503: # before, the signal has not arrived and the push is accepted
                expect(server.post("/queue/q/push", {"item": 1}, fresh=True), 503)
        except OSError:
            pass  # the very end
        time.sleep(0.05)
    assert answers.count((503, "stopping", "close")) > 10, answers
    assert {a for a in answers} <= {(200, "ready", None), (503, "stopping", "close")}, answers
    assert server.process.returncode == 0


# ---- Under a supervisor ------------------------------------------------------------------


class Supervisor:
    """The end of NOTIFY_SOCKET that systemd has."""

    def __init__(self, **env):
        self.path = str(kit.work_dir() / ("notify-%d" % time.monotonic_ns()))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.env = {"NOTIFY_SOCKET": self.path, **env}

    def heard(self, seconds):
        """What is said until it is silent for so long."""
        words = []
        self.socket.settimeout(seconds)
        try:
            while True:
                words.append(self.socket.recv(4096).decode())
                assert len(words) < 100, words
        except socket.timeout:
            return words


def test_supervisor_is_told_of_ready_and_stopping():
    boss = Supervisor()
    with Server(env=boss.env) as server:
        assert boss.heard(0.5) == ["READY=1"]                # and of no watchdog that nobody set
        server.process.send_signal(signal.SIGHUP)
        assert boss.heard(0.5) == []
        expect(server.get("/health"), 200)
        assert server.stop() == 0
    assert boss.heard(0.5) == ["STOPPING=1"]


def test_supervisor_hears_the_watchdog_while_there_is_progress():
    boss = Supervisor(WATCHDOG_USEC="200000")
    with Server(env=boss.env) as server:
        boss.socket.settimeout(10)
        said = [boss.socket.recv(4096).decode() for _ in range(8)]
        assert said == ["READY=1"] + ["WATCHDOG=1"] * 7, said
        conn = http.client.HTTPConnection("127.0.0.1", server.port)   # a turn that never ends
        conn.request("POST", I, '{"orchestration":"Spin","instance":"spin"}')
        wait_until(lambda: server.get("/health").status == 503, "still healthy", 60)
        boss.heard(0.3)
        assert boss.heard(1) == [], "told although nothing goes on"
        assert "not telling the watchdog" in server.log_text()
    boss = Supervisor(WATCHDOG_USEC="200000", WATCHDOG_PID="1")
    with Server(env=boss.env):
        assert boss.heard(1) == ["READY=1"]                  # it is somebody else's


def test_a_server_without_standard_input_knows_its_port():
    """Its first file is its socket then: descriptor 0 is as good as any other."""
    server = Server("--store", "memory:", load=[], start=False)
    server.wrap = ["sh", "-c", 'exec "$@" <&-', "sh"]
    with server.start():
        assert server.port, server.url
        assert os.readlink("/proc/%d/fd/0" % server.process.pid).startswith("socket:")
        expect(server.get("/health"), 200)
        assert server.stop() == 0, server.log_text()


def test_the_front_page_is_whole(server):
    body = expect(server.get("/"), 200).body
    assert body.startswith(b"<!doctype html>") and body.endswith(b"</html>\n") and b"\0" not in body, body


# ---- Metrics ---------------------------------------------------------------------------

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')


def parse(text):
    """The Prometheus text format, strictly: {family: (type, {(name, labels): value})}."""
    assert text.endswith("\n")
    families, current, helped = {}, None, None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            helped, words = line.split(" ", 3)[2:]
            assert NAME.fullmatch(helped) and words and helped not in families, line
        elif line.startswith("# TYPE "):
            current, kind = line.split(" ")[2:]
            assert current == helped and current not in families, line
            assert kind in ("counter", "gauge", "histogram"), line
            families[current] = (kind, {})
        else:
            name = NAME.match(line).group()
            rest, labels = line[len(name):], {}
            if rest.startswith("{"):
                at = 1
                while rest[at] != "}":
                    match = LABEL.match(rest, at)
                    assert match and match.group(1) not in labels, line
                    labels[match.group(1)] = re.sub(
                        r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1),
                        match.group(2))
                    at = match.end() + (rest[match.end()] == ",")
                rest = rest[at + 1:]
            assert re.fullmatch(r" (\+Inf|-?[0-9.]+(e[+-]?[0-9]+)?)", rest), line
            kind, series = families[current]
            allowed = [current + end for end in ("_bucket", "_sum", "_count")] \
                if kind == "histogram" else [current]
            assert name in allowed, "%s is not of %s" % (line, current)
            key = (name, tuple(sorted(labels.items())))
            assert key not in series, "twice: " + line
            series[key] = float(rest)
            assert kind != "counter" or (series[key] >= 0 and name.endswith("_total")), line
    for name, (kind, series) in families.items():
        assert series, name + " has no series"
        if kind == "histogram":
            check_histogram(name, series)
    return families


def check_histogram(name, series):
    buckets = sorted((float(dict(labels)["le"]), value) for (n, labels), value in series.items()
                     if n == name + "_bucket")
    assert buckets[-1][0] == math.inf
    assert [v for _, v in buckets] == sorted(v for _, v in buckets), "not cumulative"
    assert series[(name + "_count", ())] == buckets[-1][1]
    assert (name + "_sum", ()) in series


def metrics(server):
    return parse(server.get("/metrics").body.decode())


def value(found, name, **labels):
    return found[name][1][(name, tuple(sorted(labels.items())))]


def test_metrics_parse_and_have_everything(server):
    odd = ['quo"te', "back\\slash", "a,b={}", "ünï"]
    for n, name in enumerate(odd):
        for _ in range(n + 1):
            expect(server.post("/queue/%s/push" % quote(name, safe=""), {"item": 1}), 200)
    expect(server.post("/queue/%s/pop?require_ack=true" % quote(odd[1], safe="")), 200)
    expect(server.post("/queue/later/push", {"item": 1, "delay_seconds": 1000}), 200)
    for n in range(5):
        server.ended(server.start_instance("Echo", n))
    server.start_instance("RemoteOrder", 1, "r")
    time.sleep(0.06)
    server.post("/api/v1/work/poll", {"activities": ["Charge"], "wait_ms": 5000})
    found = metrics(server)
    for name in ("turns_total", "commits_total", "rounds_total", "commit_seconds_total",
                 "orchestrator_queue_depth", "worker_queue_depth", "timer_queue_depth",
                 "resident_fibers", "activity_attempts_total", "parked_total", "retired_total",
                 "healthy", "http_requests_total"):
        assert "pawl_" + name in found, name
    assert value(found, "pawl_timer_queue_depth") == 0 and value(found, "pawl_healthy") == 1
    name = "pawl_activity_schedule_to_start_seconds"
    series = found[name][1]
    assert series[(name + "_count", ())] == 6 == value(found, "pawl_activity_attempts_total")
    assert series[(name + "_sum", ())] >= 0.06
    assert series[(name + "_bucket", (("le", "0.05"),))] < 6      # the one of the worker waited
    for n, queue in enumerate(odd):
        assert value(found, "pawl_queue_ready", queue=queue) == n + 1 - (n == 1), queue
        assert value(found, "pawl_queue_pushed_total", queue=queue) == n + 1
    assert value(found, "pawl_queue_locked", queue=odd[1]) == 1
    assert value(found, "pawl_queue_delayed", queue="later") == 1
    assert value(found, "pawl_queue_ready_age_seconds", queue=odd[0]) > 0
    assert value(found, "pawl_queue_ready_age_seconds", queue="later") == 0
    sums = {"pawl_queues": 5, "pawl_queues_ready": 9, "pawl_queues_delayed": 1, "pawl_queues_locked": 1,
            "pawl_queues_without_series": 0, "pawl_http_dropped_total": 0}
    assert {name: value(found, name) for name in sums} == sums
    assert 0 < value(found, "pawl_uptime_seconds") < 600


def test_metrics_have_few_series_with_many_queues(server):
    for n in range(230):
        expect(server.post("/queue/q%03d/push" % n, {"item": 1}), 200)
    found = metrics(server)
    assert value(found, "pawl_queues") == 230 and value(found, "pawl_queues_ready") == 230
    assert value(found, "pawl_queues_without_series") == 30
    assert len(found["pawl_queue_ready"][1]) == 200
    assert sum(len(series) for _, series in found.values()) < 200 * 12 + 150


def test_metrics_show_a_token_its_own_queues():
    from test_security import token
    server = Server("--require-token", start=False)
    own, all_ = token(server, "read+", "--queues", "mine-"), token(server, "operate")
    with server.start():
        for name in ("mine-a", "theirs-b"):
            expect(server.post("/queue/%s/push" % name, {"item": 1},
                               headers={"Authorization": "Bearer " + all_}), 200)
        text = server.get("/metrics", headers={"Authorization": "Bearer " + own}).body.decode()
        assert "mine-a" in text and "theirs-b" not in text
        assert value(parse(text), "pawl_queues_ready") == 1


# ---- Modules -----------------------------------------------------------------------------

SOURCE = """
#include <pawl.h>
static pawl_result step(pawl_activity *act, pawl_str in) { (void)in; return pawl_ok(act, "%(word)s"); }
static pawl_result flow(pawl_ctx *ctx, pawl_str in)
{
    (void)in;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    return pawl_call(ctx, "Step%(word)s", pawl_s("1"));
}
static void all(pawl_app *app)
{
    (void)pawl_register_orchestration(app, "Flow", "%(version)s", flow);
    (void)pawl_register_activity(app, "Step%(word)s", step);
}
%(export)s
"""
EXPORT = "PAWL_MODULE(all)"
OTHER_ABI = """PAWL_API extern const pawl_module pawl_module_v1;
PAWL_API const pawl_module pawl_module_v1 = {sizeof(pawl_module), 999, all};"""


def build(path, version, word, export=EXPORT):
    source = path.with_suffix(".c")
    source.write_text(SOURCE % {"version": version, "word": word, "export": export})
    subprocess.run(["cc", "-shared", "-fPIC", "-I", str(kit.ROOT / "include"), "-o",
                    str(path) + ".new", str(source)], check=True)
    (path.parent / (path.name + ".new")).rename(path)
    return path


def hang_up(server, word):
    """SIGHUP, and wait until it is told that it was acted upon."""
    before = server.log_text().count(word)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.log_text().count(word) > before, "no '%s' in the log" % word)


def go(server, *ids):
    for id in ids:
        expect(server.post(I + "/%s/events/Go" % id, "1"), 202)
    return [(server.ended(id)["version"], server.ended(id)["output"]) for id in ids]


def test_versions_side_by_side_and_reload():
    a, b = kit.work_dir() / "side-a.so", kit.work_dir() / "side-b.so"
    build(a, "1.0.0", "1")
    build(b, "2.0.0", "2")
    with Server(load=[a, b]) as server:
        expect(server.post(I, {"orchestration": "Flow", "instance": "one", "version": "1.0.0"}), 201)
        server.start_instance("Flow", None, "two")               # the highest
        server.start_instance("Flow", None, "two-b")
        build(b, "3.0.0", "3")                                   # the same file, a newer version
        hang_up(server, "side-b.so again")
        server.start_instance("Flow", None, "three")
        assert go(server, "one", "two", "three") == [("1.0.0", 1), ("2.0.0", 2), ("3.0.0", 3)]
        server.start_instance("Flow", None, "three-b")
        # Nothing new, and something that cannot be loaded: it goes on.
        hang_up(server, "side-b.so again")
        build(b, "4.0.0", "4", OTHER_ABI)
        hang_up(server, "built for ABI 999, this pawl has 2; rebuild it")
        b.write_bytes(b"no module")
        hang_up(server, "not a shared object")
        build(b, "4.x", "4")
        hang_up(server, "is not of the form 1.2.3")
        assert go(server, "three-b") == [("3.0.0", 3)]
        # After a restart without version 2 its instance waits for it, the others go on.
        build(b, "3.0.0", "3")
        server.start_instance("Flow", None, "three-c")
        server.restart()
        assert go(server, "three-c") == [("3.0.0", 3)]
        expect(server.post(I + "/two-b/events/Go", "1"), 202)
        why = server.get(I + "/two-b/why").json["sentence"]
        assert "2.0.0" in why, why
        build(b, "2.0.0", "2")
        hang_up(server, "side-b.so again")
        done = server.ended("two-b")
        assert (done["version"], done["output"]) == ("2.0.0", 2)


def test_modules_that_cannot_be_loaded():
    good = build(kit.work_dir() / "bad-good.so", "1.0.0", "1")
    twin = build(kit.work_dir() / "bad-twin.so", "1.0.0", "2")
    shares = build(kit.work_dir() / "bad-shares.so", "2.0.0", "1")
    abi = build(kit.work_dir() / "bad-abi.so", "1.0.0", "3", OTHER_ABI)
    for load, want in (([good, abi], "bad-abi.so: built for ABI 999, this pawl has 2; rebuild it"),
                       ([good, twin], "bad-twin.so: orchestration 'Flow' 1.0.0 is registered twice"),
                       ([good, shares], "activity 'Step1' is registered twice; %s has it: put what both "
                        "need into a module of its own" % good),
                       ([good, good], "bad-good.so is loaded already"),
                       ([good, kit.work_dir() / "gone.so"], "gone.so: No such file")):
        server = Server(load=load, start=False)
        try:
            server.start()
            raise RuntimeError("started with %s" % load)
        except AssertionError as error:
            assert want in str(error), error
        assert server.process.returncode == 2
        assert not (server.data / "pawl.db").exists()


def test_stopping_answers_who_waits_for_a_reader(server):
    """More reads than readers, and then the end: everybody has an answer, 200 or 503."""
    server.start_instance("Heap", {"value": "x" * 200_000, "steps": 10}, "h")
    server.ended("h")
    asked = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(30)]
    for s in asked:
        s.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert s.recv(1000)[9:12] == b"200"
    for s in asked:
        s.sendall(b"GET /api/v1/instances/h/history HTTP/1.1\r\nHost: localhost\r\n\r\n")
    heads = [asked[0].recv(12, socket.MSG_WAITALL)]          # the readers are at it
    server.process.send_signal(signal.SIGTERM)
    heads += [s.recv(12, socket.MSG_WAITALL) for s in asked[1:]]
    assert all(head[9:] in (b"200", b"503") for head in heads), heads
    for s in asked:
        s.close()
    assert server.process.wait(30) == 0
