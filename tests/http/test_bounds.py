# SPDX-License-Identifier: MIT
"""One answer has at most some megabytes, whatever is asked for; the rest is behind `next`."""
import os
import socket

from kit import Server, expect

I = "/api/v1/instances"
LARGE = "x" * 500_000
MOST = 9_000_000   # 4 MiB of data and the item that went over it; 8 MiB for queues


def pages(server, path, member):
    """Everything, page by page, and how many pages that took."""
    items, count, after = [], 0, None
    while True:
        reply = expect(server.get(path + ("&after=%s" % after if after else "")), 200)
        assert len(reply.body) < MOST, len(reply.body)
        page = reply.json
        items += page[member]
        count += 1
        after = page["next"]
        if after is None:
            return items, count


def test_a_page_of_a_history_has_a_limit_in_bytes(server):
    server.start_instance("Heap", {"value": LARGE, "steps": 30}, "h")
    server.ended("h")
    events, count = pages(server, I + "/h/history?limit=1000", "events")
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1)) and len(events) > 60
    assert count >= 5, count


def test_a_page_of_small_events_is_whole(server):
    server.start_instance("Heap", {"value": "x", "steps": 400}, "s")
    server.ended("s")
    page = expect(server.get(I + "/s/history?limit=1000"), 200).json
    assert len(page["events"]) == 802 and page["next"] is None and page["execution"] == 1
    page = expect(server.get(I + "/s/history?limit=33"), 200).json
    assert len(page["events"]) == 33 and page["next"] == 33


def test_a_list_and_a_tree_have_a_limit_in_bytes(server):
    server.start_instance("Heap", {"value": LARGE, "children": 30}, "p")
    server.ended("p")
    instances, count = pages(server, I + "?limit=1000", "instances")
    assert len(instances) == 31 and len({i["instance"] for i in instances}) == 31
    assert 4 <= count <= 10, count
    reply = expect(server.get(I + "/p/tree"), 200, truncated=True)
    assert len(reply.body) < MOST and 5 < len(reply.json["children"]) < 20


def test_a_list_of_many_is_whole(server):
    ids = {server.start_instance("Ask", None, "n%d" % n) for n in range(130)}
    reply = expect(server.get(I + "?limit=1000"), 200, next=None)
    assert {i["instance"] for i in reply.json["instances"]} == ids
    server.start_instance("Heap", {"value": 1, "children": 120}, "p")
    server.ended("p")
    tree = expect(server.get(I + "/p/tree"), 200).json
    assert [c["instance"] for c in tree["children"]] == ["p:1:%d" % n for n in range(1, 121)]
    assert "truncated" not in tree


def test_a_poll_has_a_limit_in_bytes(server):
    for n in range(20):
        server.start_instance("RemoteOrder", LARGE, "w%d" % n)
    got = []
    while len(got) < 20:
        reply = expect(server.post("/api/v1/work/poll", {"activities": ["Charge"], "max": 100,
                                                         "wait_ms": 10000, "lock_ms": 600000}), 200)
        assert len(reply.body) < MOST and reply.json["items"], reply
        got += [i["instance"] for i in reply.json["items"]]
    assert sorted(got) == sorted("w%d" % n for n in range(20)), got


def test_a_page_of_messages_has_a_limit_in_bytes(server):
    for n in range(40):
        expect(server.post("/queue/big/push", {"item": LARGE}), 200)
    items, count = pages(server, "/queue/big/messages?limit=1000", "messages")
    assert len(items) == 40 and count >= 3


def test_a_page_of_asks_has_a_limit_in_bytes(server):
    for n in range(600):
        server.start_instance("Question", {"title": "x" * 16000}, "q%d" % n)
    asks, count = pages(server, "/api/v1/asks?limit=1000", "asks")
    assert len({a["instance"] for a in asks}) == len(asks) == 600 and 3 <= count <= 5, (len(asks), count)
    none, count = pages(server, "/api/v1/asks?limit=1000&event=Other", "asks")
    assert not none and 3 <= count <= 5, count             # what is looked at is bounded, too


def test_a_page_of_schedules_has_a_limit_in_bytes(server):
    names = ["s%03d" % n for n in range(300)]
    for name in names:
        spec = {"every_ms": 86400000, "queue": "q", "input": "x" * 32000}
        expect(server.call("PUT", "/api/v1/schedules/" + name, spec), 201)
    found, count = pages(server, "/api/v1/schedules?limit=1000", "schedules")
    assert [s["name"] for s in found] == names and 3 <= count <= 5, (len(found), count)
    page = expect(server.get("/api/v1/schedules?limit=7&after=s000"), 200).json
    assert [s["name"] for s in page["schedules"]] == names[1:8] and page["next"] == "s007"
    assert server.get("/api/v1/schedules?limit=1&after=s298").json["next"] == "s299"
    assert server.get("/api/v1/schedules?limit=2&after=s298").json["next"] is None


def test_a_page_of_limits_has_a_limit_in_bytes(server):
    names = ["l%02d" % n for n in range(99)]
    weights = {"x" * 120 + "%03d" % n: 2 for n in range(1000)}
    for name in names:
        spec = {"match": [{"activity": "A"}], "concurrency": 1, "weights": weights}
        expect(server.call("PUT", "/api/v1/limits/" + name, spec), 201)
    found, count = pages(server, "/api/v1/limits?limit=1000", "limits")
    assert [x["name"] for x in found] == names and 3 <= count <= 6, (len(found), count)
    page = expect(server.get("/api/v1/limits?limit=7&after=l00"), 200).json
    assert [x["name"] for x in page["limits"]] == names[1:8] and page["next"] == "l07"
    assert server.get("/api/v1/limits?limit=2&after=l97").json["next"] is None


def resident(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        return int([line.split()[1] for line in f if line.startswith("VmRSS")][0]) // 1024


def answers_nobody_reads(server):
    server.start_instance("Heap", {"value": LARGE, "steps": 10}, "h")
    server.ended("h")
    deaf = []
    for _ in range(300):   # 300 times five megabytes, if all of them stayed
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", server.port))
        s.sendall(b"GET %s/h/history HTTP/1.1\r\nHost: localhost\r\n\r\n" % I.encode())
        deaf.append(s)
    most = 0
    for n in range(40):   # read after the others, so they are through
        expect(server.get(I + "/h/history?limit=1", fresh=True), 200)
        most = max(most, resident(server))
    print("| %d MB at most, with 300 answers nobody reads" % most)
    assert most < 600, most
    assert "slow clients disconnected" in server.log_text()
    for s in deaf:
        s.close()


def test_answers_nobody_reads_have_a_limit_together():
    with Server(env={"MALLOC_PERTURB_": "0"}) as server:   # its memory is measured
        answers_nobody_reads(server)


def slow_down_the_loop(server):
    """The thread that waits for connections gets the processor last."""
    EPOLL = ("232", "281")   # epoll_wait and epoll_pwait
    tasks = "/proc/%d/task" % server.process.pid
    for tid in os.listdir(tasks):
        with open("%s/%s/syscall" % (tasks, tid)) as f:
            if f.read().split()[0] in EPOLL:
                os.setpriority(os.PRIO_PROCESS, int(tid), 19)
                return
    raise AssertionError("no thread waits for connections")


def test_answers_the_loop_has_not_taken_have_a_limit_too():
    with Server(env={"MALLOC_PERTURB_": "0"}) as server:
        slow_down_the_loop(server)
        answers_nobody_reads(server)
