# SPDX-License-Identifier: MIT
"""The command line with --url: the same verbs, on a server."""
import json
import subprocess

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
