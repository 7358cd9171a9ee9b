# SPDX-License-Identifier: MIT
"""Reads that fail: every route that reads the store says so, whichever of its reads it is, and never answers
with a part of what it should have read."""
import re

from kit import Server, expect
from test_contract import preloaded
from test_queue import pop, push

I = "/api/v1/instances"
# They read the store, by hand: each must have been refused.  A route that is not here may be answered.
READERS = {"/api/v1/overview", I, I + "/{id}", I + "/{id}/history", I + "/{id}/why", I + "/{id}/tree",
           I + "/{id}/timeline", "/queue", "/queue/{queue}", "/queue/{queue}/messages",
           "/queue/{queue}/messages/{message}", "/queue/{queue}/locks", "/queue/{queue}/config"}
# They go without what they cannot read.
OTHERS = ("/health", "/ready", "/metrics", "/api/v1/registry", "/api/v1/series", "/api/v1/node", "/api/v1/workers")
MOST = 100    # reads of one request


def without_time(body):
    text = re.sub(r"[0-9.]+ m?s (ago|now)", "lately", body.decode())
    text = re.sub(r'"(at|until|for_ms|oldest_age_seconds|rss_bytes|disk_free_bytes)":[0-9.]+', "", text)
    return re.sub(r"\b[0-9]{13}\b", "then", text)


def is_refused(reply, path):
    """503 in the words of its family, and when to try again."""
    expect(reply, 503)
    said = reply.json["message"] if path.startswith("/queue") else reply.json["error"]["message"]
    assert "disk I/O error" in said, reply
    if path.startswith("/queue"):
        assert reply.json["success"] is False, reply
    else:
        assert reply.json["error"]["code"] == "unavailable", reply
    return True


def fails_at_each_read(server, flag, ask, path):
    """The n-th read fails, for every n: refused, or the answer is the whole one.  How often it was refused."""
    whole, refused = ask(), 0
    for n in range(MOST):
        flag.write_text(str(n))
        try:
            reply = ask()
        finally:
            flag.unlink()
        expect(server.get(I + "?limit=1"), 200)              # the next one begins to count again
        if reply.status == 200:
            assert without_time(reply.body) == without_time(whole.body), (path, n, reply)
            if n > refused:                                  # the disk was bad, and nobody met it
                return refused
            continue
        refused += is_refused(reply, path)
    raise AssertionError("%s reads more than %d times" % (path, MOST))


def unread_server():
    shim, flag = preloaded("unread")
    return shim and Server(env={"LD_PRELOAD": str(shim), "PAWL_TEST_UNREAD": str(flag)}), flag


def test_every_read_that_fails_is_told():
    server, flag = unread_server()
    if not server:
        return
    with server:
        server.start_instance("Parent", None, "i")
        server.ended("i")
        server.start_instance("Ask", None, "asks")
        for n in range(3):
            push(server, "q", str(n))
        pop(server, "q", "?require_ack=true")
        id = expect(server.get("/queue/q/messages"), 200).json["messages"][0]["id"]
        paths = {p for p, item in server.get("/openapi.json").json["paths"].items() if "get" in item}
        assert paths > READERS, READERS - paths
        for path in sorted(paths - {"/", "/api/v1/stream"}):
            for instance in ("i", "asks") if "{id}" in path and "wait" not in path else ("i",):
                at = path.replace("{id}", instance).replace("{queue}", "q").replace("{message}", id)
                if server.get(at).status == 200 and not at.startswith(OTHERS):
                    refused = fails_at_each_read(server, flag, lambda: server.get(at), at)
                    assert refused or path not in READERS, at
        expect(server.get("/health"), 200)


def test_who_goes_without_what_cannot_be_read_is_answered():
    server, flag = unread_server()
    if not server:
        return
    with server:
        push(server, "q", "1")
        for path in OTHERS:
            flag.write_text("0")
            expect(server.get(path), 200)
            flag.unlink()


def test_a_batch_whose_instances_cannot_be_read_does_nothing():
    server, flag = unread_server()
    if not server:
        return
    with server:
        for id in ("a", "b"):
            server.start_instance("Ask", None, id)
        for n in range(MOST):
            flag.write_text(str(n))
            reply = server.post(I + ":batch", {"action": "cancel", "filter": {"orchestration": "Ask"}})
            flag.unlink()
            if reply.status == 200:
                assert n and reply.json["done"] == 2, reply
                return
            is_refused(reply, I)
            assert [server.get(I + "/" + id).json["status"] for id in ("a", "b")] == ["running"] * 2
        raise AssertionError("it was never done")
