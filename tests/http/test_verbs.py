# SPDX-License-Identifier: MIT
"""The command line with --url: the same verbs, on a server."""
import json
import re
import subprocess
import sys

import kit
from kit import Server


def pawl(server, *words, want=0, url=None):
    done = subprocess.run([str(kit.PAWL), *words], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin", "PAWL_URL": url or server.url},
                          cwd=kit.work_dir())
    assert done.returncode == want, (words, done)
    return done.stdout + done.stderr


def test_verbs(server):
    assert pawl(server, "start", "Ask", "--id", "a/1", "--input", '{"q": 1}') == "a/1\n"
    row = json.loads(pawl(server, "start", "Ask", "--id", "a/1", "--input", '{"q": 1}', "-o", "json"))
    assert row == {"instance": "a/1", "execution": 1, "created": False}
    pawl(server, "start", "Nobody", want=4)
    assert "a/1" in pawl(server, "ls") and pawl(server, "ls", "-o", "ids") == "a/1\n"
    assert "event 'Answer'" in pawl(server, "why", "a/1")
    assert json.loads(pawl(server, "why", "a/1", "-o", "json"))["status"] == "running"
    assert "still running" in pawl(server, "wait", "a/1", "--timeout", "200ms", want=5)
    pawl(server, "suspend", "a/1")
    pawl(server, "resume", "a/1", "--reason", "go on")
    pawl(server, "retry", "a/1", want=4)
    assert "event raised" in pawl(server, "raise", "a/1", "Answer", '{"b" : 2}', "--key", "k")
    assert pawl(server, "wait", "a/1") == '{"b" : 2}\n'
    shown = pawl(server, "show", "a/1")
    assert "OrchestrationCompleted" in shown and '{"q": 1}' in shown
    kinds = [json.loads(l)["kind"] for l in pawl(server, "show", "a/1", "-o", "jsonl").splitlines()]
    assert kinds[0] == "OrchestrationStarted" and kinds[-1] == "OrchestrationCompleted"
    pawl(server, "cancel", "a/1", want=4)
    server.ended(server.start_instance("Parent", [1], "p"))
    assert len(pawl(server, "tree", "p", "-o", "ids").splitlines()) == 2
    assert "instances 2" in pawl(server, "rm", "p")
    pawl(server, "show", "p", want=4)
    server.start_instance("Texts", "bytes", "b")
    server.ended("b")
    assert json.loads(pawl(server, "wait", "b", "-o", "json"))["encoding"] == "base64"
    assert server.start_instance("Wrong", None, "w") and "it went wrong" in pawl(server, "wait", "w",
                                                                               want=1)


def test_queue_verbs(server):
    pawl(server, "queue", "push", "mail", '{"to":1}')
    pawl(server, "queue", "push", "mail", "2", "--priority", "5")
    assert "mail" in pawl(server, "queue", "ls") and pawl(server, "queue", "ls", "-o", "ids") == "mail\n"
    assert json.loads(pawl(server, "queue", "stats", "mail"))["ready"] == 2
    assert len(json.loads(pawl(server, "queue", "peek", "mail"))["messages"]) == 2
    lock = json.loads(pawl(server, "queue", "pop", "mail", "--ack", "--ttl", "60s"))["lock_id"]
    pawl(server, "queue", "pop", "mail", want=4)
    pawl(server, "queue", "ack", "mail", "wrong", want=2)
    pawl(server, "queue", "ack", "mail", lock)
    assert pawl(server, "queue", "pop", "mail") == "2\n"
    pawl(server, "queue", "pop", "mail", want=5)
    pawl(server, "queue", "push", "mail", "3")
    assert json.loads(pawl(server, "queue", "purge", "mail"))["items_purged"] == 1
    pawl(server, "queue", "push", "mail", "not json", want=2)
    pawl(server, "queue", "fly", want=2)


def test_worker_ls(server):
    assert pawl(server, "worker", "ls", "-o", "jsonl") == ""
    server.start_instance("RemoteOrder", 1, "wl-1")
    body = {"activities": ["Charge", "Ship"], "worker": "adam", "tags": ["gpu"], "wait_ms": 5000}
    item = server.post("/api/v1/work/poll", body).json["items"][0]
    assert pawl(server, "worker", "ls", "-o", "ids") == "adam\n"
    [one] = lines(pawl(server, "worker", "ls", "-o", "jsonl"))
    assert one["activities"] == ["Charge", "Ship"] and one["tags"] == ["gpu"], one
    assert [(h["instance"], h["locked_until"]) for h in one["leases"]] == [("wl-1", item["locked_until"])]
    assert json.loads(pawl(server, "worker", "ls", "-o", "json"))["items"][0]["worker"] == "adam"
    head, row = pawl(server, "worker", "ls").splitlines()
    assert head.split()[:4] == ["WORKER", "SEEN", "HAS", "ACTIVITIES"], head
    assert re.match(r"adam +[\d.]+ ?\w+ +1 +Charge Ship +gpu", row), row
    assert "there is no 'worker lst'; there is: ls" in pawl(server, "worker", "lst", want=2)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def feed(server, text, *words, want=0):
    done = subprocess.run([str(kit.PAWL), *words], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin", "PAWL_URL": server.url}, input=text)
    assert done.returncode == want, (words, done)
    return done.stdout + done.stderr


def test_queue_push_options(server):
    pawl(server, "queue", "push", "q", "1", "--delay", "1h", "--dedup-id", "d", "--priority", "3",
         "--expires-in", "2h", "--headers", '{"a":1}')
    again = json.loads(pawl(server, "queue", "push", "q", "1", "--dedup-id", "d"))
    assert again["duplicate"] is True
    [one] = lines(pawl(server, "queue", "peek", "q", "-o", "jsonl"))
    assert one["state"] == "delayed" and one["priority"] == 3 and one["headers"] == {"a": 1}, one
    pawl(server, "queue", "push", "q", "2", "--key", "k")
    pawl(server, "queue", "push", "q", "2", "--key", "k")
    assert json.loads(pawl(server, "queue", "stats", "q"))["ready"] == 1
    server.call("PUT", "/queue/q/config", {"default_priority": 7})
    pawl(server, "queue", "push", "q", "3")
    assert [m["priority"] for m in lines(pawl(server, "queue", "peek", "q", "--state", "ready",
                                              "-o", "jsonl")) if m["item"] == 3] == [7]


def test_queue_push_of_lines(server):
    many = "".join('{"n": %d}\n\n' % i for i in range(2500))
    assert json.loads(feed(server, many, "queue", "push", "q", "--key", "monday"))["items_pushed"] == 2500
    stats = json.loads(pawl(server, "queue", "stats", "q"))
    assert stats["ready"] == 2500, stats
    feed(server, many, "queue", "push", "q", "--key", "monday")      # the same command again
    assert json.loads(pawl(server, "queue", "stats", "q"))["ready"] == 2500
    got = lines(pawl(server, "queue", "peek", "q", "--all", "-o", "jsonl"))
    assert [m["item"]["n"] for m in got] == list(range(2500))
    assert len(pawl(server, "queue", "peek", "q", "-o", "ids").splitlines()) == 100
    whole = json.loads(pawl(server, "queue", "peek", "q", "--all", "-o", "json"))
    assert len(whole["messages"]) == 2500 and whole["next"] is None
    assert len(json.loads(pawl(server, "queue", "peek", "q", "--limit", "1200"))["messages"]) == 1200
    assert "drop all but the first" in feed(server, "1\n2\n", "queue", "push", "q", "-", "--dedup-id",
                                            "d", want=2)
    assert feed(server, '{"one":\n "value"}\n', "queue", "push", "one", "-", "-o", "json")
    assert pawl(server, "queue", "pop", "one") == '{"one":\n "value"}\n'


def test_queue_pop_options(server):
    feed(server, "1\n2\n3\n4\n", "queue", "push", "q", "-")
    assert pawl(server, "queue", "pop", "q", "--count", "2") == "1\n2\n"
    [third] = lines(pawl(server, "queue", "pop", "q", "--ack", "-o", "jsonl"))
    assert third["item"] == 3 and third["lock_id"] and third["delivery_count"] == 1
    pawl(server, "queue", "extend", "q", third["lock_id"], "--ttl", "60s")
    pawl(server, "queue", "release", "q", third["lock_id"], "--delay", "1h", "--reason", "later")
    lock = json.loads(pawl(server, "queue", "pop", "q", "--ack"))["lock_id"]
    assert len(lines(pawl(server, "queue", "locks", "q", "-o", "jsonl"))) == 1
    pawl(server, "queue", "deadletter", "q", lock, "--reason", "bad")
    [dead] = lines(pawl(server, "queue", "peek", "q-deadletter", "-o", "jsonl"))
    assert dead["item"] == 4 and dead["reason"] == "bad"
    assert json.loads(pawl(server, "queue", "redrive", "q-deadletter", "--target", "r", "--max", "1")
                      )["items_moved"] == 1
    assert pawl(server, "queue", "pop", "r", "--wait", "5s") == "4\n"
    assert "nothing ready" in pawl(server, "queue", "pop", "r", "--wait", "1s", want=5)
    [later] = pawl(server, "queue", "peek", "q", "-o", "ids").split()
    pawl(server, "queue", "revoke", "q", later)
    pawl(server, "queue", "revoke", "q", later, want=4)


def test_queue_rm(server):
    assert "there is no queue 'gone'" in pawl(server, "queue", "rm", "gone", want=4)
    feed(server, "1\n2\n", "queue", "push", "q", "-")
    assert "has 2 messages" in pawl(server, "queue", "rm", "q", want=4)
    assert json.loads(pawl(server, "queue", "rm", "q", "--force"))["items_removed"] == 2
    pawl(server, "queue", "stats", "q", want=4)
    assert pawl(server, "queue", "ls", "-o", "ids") == ""


def test_queue_pop_waits_longer_than_a_server(server):
    import threading
    import time
    began = time.monotonic()
    threading.Timer(31.5, lambda: server.post("/queue/q/push", {"item": 1}, fresh=True)).start()
    assert pawl(server, "queue", "pop", "q", "--wait", "45s") == "1\n"
    assert time.monotonic() - began > 31


def test_queue_pause_and_ack_of_many(server):
    server.call("PUT", "/queue/q/config", {"max_locks": 0})
    feed(server, "1\n2\n", "queue", "push", "q", "-")
    pawl(server, "queue", "pause", "q")
    assert "paused" in pawl(server, "queue", "ls")
    pawl(server, "queue", "pop", "q", want=5)
    pawl(server, "queue", "resume", "q")
    locks = [m["lock_id"] for m in lines(pawl(server, "queue", "pop", "q", "--ack", "--count", "2",
                                              "-o", "jsonl"))]
    assert len(set(locks)) == 2
    pawl(server, "queue", "ack", "q", *locks, "nosuchlock", want=4)
    assert json.loads(pawl(server, "queue", "stats", "q"))["locked"] == 0
    for i in range(3):
        pawl(server, "queue", "push", "many-%d" % i, "1")
    assert pawl(server, "queue", "ls", "--prefix", "many-", "--limit", "2", "-o", "ids") == "many-0\nmany-1\n"
    assert pawl(server, "queue", "ls", "--prefix", "many-", "--after", "many-0", "-o", "ids"
                ) == "many-1\nmany-2\n"
    names = [q["name"] for q in lines(pawl(server, "queue", "ls", "--all", "-o", "jsonl"))]
    assert names == ["many-0", "many-1", "many-2", "q"], names


def test_queue_config(server):
    assert json.loads(pawl(server, "queue", "config", "q"))["max_locks"] == 1
    pawl(server, "queue", "config", "q", "max_locks=0", "on_expire=back", "retry_backoff_seconds=[1,5]")
    pawl(server, "queue", "config", "q", '{"max_deliveries": 4}')
    now = json.loads(pawl(server, "queue", "config", "q", "-o", "json"))
    assert (now["max_locks"], now["on_expire"], now["retry_backoff_seconds"], now["max_deliveries"]
            ) == (0, "back", [1, 5], 4), now
    pawl(server, "queue", "config", "q", "max_locks=2", "--replace")
    now = json.loads(pawl(server, "queue", "config", "q"))
    assert now["max_locks"] == 2 and now["max_deliveries"] == 0, now
    assert "max_lock" in pawl(server, "queue", "config", "q", "max_lock=3", want=2)
    pawl(server, "queue", "config", "q", "max_locks", want=2)
    pawl(server, "queue", "config", "q", "--replace", want=2)


def test_pages_to_the_end(server):
    for i in range(130):
        server.start_instance("Ask", i, "a-%03d" % i)
    assert len(pawl(server, "ls", "-o", "ids").splitlines()) == 100
    for form in ("ids", "jsonl"):
        assert len(pawl(server, "ls", "--all", "-o", form).splitlines()) == 130
    assert len(json.loads(pawl(server, "ls", "--all", "-o", "json"))["instances"]) == 130
    assert len(pawl(server, "ls", "--all").splitlines()) == 131


def follow(server, *words):
    """Running, with its lines in a list."""
    import threading
    process = subprocess.Popen([str(kit.PAWL), *words], stdout=subprocess.PIPE, text=True,
                               env={"PATH": "/usr/bin:/bin", "PAWL_URL": server.url})
    got = []
    threading.Thread(target=lambda: got.extend(iter(process.stdout.readline, "")), daemon=True).start()
    return process, got


def until(condition):
    import time
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_ls_watch(server):
    import signal
    server.start_instance("Ask", 1, "w-1")
    process, got = follow(server, "ls", "--watch", "-o", "jsonl")
    until(lambda: len(got) == 1)
    server.start_instance("Ask", 1, "w-2")
    until(lambda: len(got) == 2)
    server.post("/api/v1/instances/w-1/events/Answer", 5)
    until(lambda: len(got) == 3)
    rows = [json.loads(g) for g in got]
    assert [r["instance"] for r in rows] == ["w-1", "w-2", "w-1"] and rows[2]["output"] == 5
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0


def test_show_follow(server):
    server.start_instance("Ask", 1, "f-1")
    process, got = follow(server, "show", "f-1", "--follow", "-o", "jsonl")
    until(lambda: len(got) >= 2)
    server.post("/api/v1/instances/f-1/events/Answer", 5)
    assert process.wait(20) == 0
    until(lambda: json.loads(got[-1])["kind"] == "OrchestrationCompleted")
    assert [json.loads(g)["seq"] for g in got] == list(range(1, len(got) + 1))
    table = pawl(server, "show", "f-1", "-f")
    assert "instance       f-1" in table and "OrchestrationCompleted" in table
    pawl(server, "show", "f-1", "-f", "-o", "json", want=2)


def test_prune(server):
    for i in range(3):
        server.ended(server.start_instance("Echo", i))
    open_id = server.start_instance("Ask", 1)
    assert "instances 0" in pawl(server, "prune", "--older-than", "1h")
    assert json.loads(pawl(server, "prune", "--older-than", "0s", "-o", "json"))["instances"] == 3
    assert pawl(server, "ls", "-o", "ids") == open_id + "\n"
    done = server.post("/api/v1/instances:prune", {"before": 1, "limit": 5})
    assert done.status == 200 and done.json == {"instances": 0, "executions": 0, "events": 0}, done
    for bad in ({}, {"before": "x"}, {"before": 1, "limit": 0}):
        assert server.post("/api/v1/instances:prune", bad).status == 400, bad


def test_base_path(server):
    from test_python import Proxy
    proxy = Proxy(server, lambda verb: 200)
    pawl(server, "cancel", "x", url=proxy.url + "/base/path/")
    assert proxy.paths == ["/base/path/api/v1/instances/x/cancel"], proxy.paths


def test_addresses(server):
    assert "no server at http://127.0.0.1:1" in pawl(server, "ls", want=3, url="http://127.0.0.1:1")
    assert "no server at https://127.0.0.1:1" in pawl(server, "ls", want=3, url="https://127.0.0.1:1")
    assert "no address" in pawl(server, "ls", want=2, url="localhost")
    assert "two places" in pawl(server, "ls", "--data", "x", "--url", server.url, want=2)


def test_token_of_the_environment():
    from test_security import token
    server = Server("--require-token", start=False)
    good = token(server, "read")
    with server.start():
        assert "a token is needed" in pawl(server, "ls", want=2)
        pawl(server, "--token", good, "ls")
        assert "scope" in pawl(server, "--token", good, "cancel", "x", want=2)


# ---- What a terminal may be told --------------------------------------------------------

EVIL = "a\u001b[2Jb\u009bc\u007fd\u202ee\u2066f\u200fg\u0007h"
UNSAFE = set(map(chr, [*range(32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F),
                       *range(0x2066, 0x206A)])) - set("\r\n\t")


def on_terminal(server, *words, data=None):
    """Its output on a terminal of 200 columns."""
    env = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    env.update({"PAWL_DATA": str(data)} if data else {"PAWL_URL": server.url})
    done = subprocess.run([sys.executable, str(kit.ROOT / "tests" / "cli" / "tty"), "200",
                           str(kit.PAWL), *words], capture_output=True, timeout=60, env=env,
                          cwd=kit.work_dir())
    return done.stdout.decode().replace("\r\n", "\n")


def evil_instances(server):
    """Everything a user can set, set to EVIL; their ids."""
    from test_work import poll_one
    safe = EVIL.replace("\u001b", "").replace("\u0007", "")   # what ids may hold is another matter
    server.start_instance("Echo", EVIL, "echo")
    server.ended("echo")
    server.start_instance("RemoteOrder", EVIL, "fails")
    item = poll_one(server)
    server.post("/api/v1/work/%s/fail" % item["token"], {"error": EVIL, "retryable": False})
    server.ended("fails")
    reply = server.post("/api/v1/instances", {"orchestration": "Ask", "instance": safe, "input": EVIL})
    if reply.status != 201:
        safe = "plain"
        server.start_instance("Ask", EVIL, safe)
    reply = server.post("/api/v1/instances", {"orchestration": "No" + EVIL, "instance": "no code",
                                              "allow_unregistered": True})
    server.post("/queue/q/push", {"item": EVIL, "headers": {"h": EVIL}})
    return ["echo", "fails", safe]


LOOKS = [("wait", "{}", "--timeout", "0s"), ("show", "{}"), ("why", "{}"), ("tree", "{}"), ("ls",),
         ("suspend", "{}"), ("resume", "{}"), ("raise", "{}", EVIL.replace("\0", "")),
         ("cancel", "{}", "--reason", EVIL)]


def check_terminal(server, ids, forms, data=None):
    for verb in forms:
        for form in ("table", "json", "jsonl", "ids"):
            for id in ids if "{}" in verb else ids[:1]:
                words = [w.replace("{}", id) for w in verb] + ["-o", form]
                text = on_terminal(server, *words, data=data)
                assert text and not UNSAFE & set(text), (words, text)


def test_no_control_character_reaches_a_terminal(server):
    ids = evil_instances(server)
    check_terminal(server, ids, LOOKS + [("queue", "peek", "q"), ("queue", "ls"), ("queue", "stats", "q"),
                                         ("export", "{}")])
    assert "\\u009b" in on_terminal(server, "wait", "echo")            # the same JSON
    assert json.loads(on_terminal(server, "wait", "echo")) == EVIL
    assert "a\\x1b[2Jb\\x9bc\\x7fd\\u202ee" in on_terminal(server, "wait", "fails")
    assert on_terminal(server, "queue", "pop", "q").startswith('"a\\u001b[2Jb\\u009b')
    server.stop()
    check_terminal(server, ids, LOOKS, data=server.data)


def test_a_program_gets_the_bytes_as_they_are(server):
    server.start_instance("Echo", EVIL, "echo")
    server.ended("echo")
    raw = json.dumps(EVIL)                                            # as it was sent
    assert pawl(server, "wait", "echo") == raw + "\n"
    server.call("POST", "/api/v1/instances", '{"orchestration":"Echo","instance":"raw","input":"\u009b\x7f"}')
    server.ended("raw")
    assert pawl(server, "wait", "raw") == '"\u009b\x7f"\n'
    assert '"\u009b\x7f"' in pawl(server, "show", "raw", "-o", "json")
