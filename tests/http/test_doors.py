# SPDX-License-Identifier: MIT
"""Small doors to instances: jobs, and the ways to start one."""
import pawl

from kit import expect

J = "/api/v1/jobs"
I = "/api/v1/instances"


def test_job(server):
    body = {"activity": "Twice", "input": 4, "id": "j-1", "attempts": 3.0, "tag": None}
    expect(server.post(J, body), 201, instance="j-1", execution=1, created=True)
    expect(server.post(J, {**body, "attempts": 3}), 200, instance="j-1", created=False)
    expect(server.post(J, {**body, "input": 5}), 409, "exists")
    done = server.ended("j-1")
    assert done["orchestration"] == "pawl.job" and done["output"] == 4, done
    assert done["input"] == {"activity": "Twice", "input": 4, "attempts": 3}, done
    for bad in ({}, [], {"activity": 1}, {"activity": ""}, {"activity": "a/b"},
                {"activity": "A", "attempts": 0}, {"activity": "A", "attempts": 1.5},
                {"activity": "A", "attemps": 2}, {"activity": "A", "backoff": "never"},
                {"activity": "A", "jitter": 2}, {"activity": "A", "final_errors": [1]}, {"activity": "A", "final_errors": ["\u0000"]},
                {"activity": "A", "version": "1.0.0"}, {"activity": "A", "id": "a\nb"},
                {"activity": "A", "id": "a", "instance": "a"}):
        reply = server.post(J, bad)
        assert reply.status in (400, 413) and "\n" not in reply.json["error"]["message"], (bad, reply)
    key = {"Idempotency-Key": "k"}
    first = server.call("POST", J, {"activity": "Twice", "input": 1}, headers=key)
    again = server.call("POST", J, {"activity": "Twice", "input": 1}, headers=key)
    assert (first.status, again.status) == (201, 200) and first.json["instance"] == again.json["instance"]
    assert "pawl.job" not in server.get("/api/v1/registry").body.decode()


def test_reserved_names(server):
    """No code can have such a name: a start of one would wait for ever."""
    start = {"orchestration": "pawl.x", "instance": "never", "allow_unregistered": True}
    every = {"every_ms": 60000, "orchestration": "pawl.x", "allow_unregistered": True}
    for method, path, body in (("POST", I, start), ("POST", I, {**start, "delay_ms": 1000}),
                               ("PUT", "/api/v1/schedules/never", every)):
        said = expect(server.call(method, path, body), 400, "invalid").json["error"]["message"]
        assert "start pawl.job, or choose another name" in said and "\n" not in said, said
    bound = server.call("PUT", "/queue/never/config", {"orchestration": "pawl.x"})
    assert bound.status == 400 and b"start pawl.job, or choose another name" in bound.body, bound
    for job in ({"activity": "pawl.x"}, {"activity": "pawl\u002ex"}, {"activity": "Twice", "tag": "pawl.x"}):
        expect(server.post(J, {**job, "id": "never"}), 400, "invalid")
    old = {**start, "orchestration": "pawl.job", "version": "9.0.0", "input": {"activity": "Twice"}}
    expect(server.post(I, old), 404, "unknown_orchestration")
    expect(server.call("PUT", "/api/v1/schedules/never", {**every, "orchestration": "pawl.job", "version": "9.0.0"}), 400, "unknown_orchestration")
    for path in (I + "/never", "/api/v1/schedules/never"):
        expect(server.get(path), 404)


def test_delayed_start(server):
    body = {"orchestration": "Echo", "input": 1, "instance": "later", "delay_ms": 300}
    expect(server.post(I, body), 201, created=True)
    info = expect(server.get(I + "/later"), 200, status="pending", waiting_for=[]).json
    assert 0 < info["start_at"] - info["created_at"] <= 300, info
    why = server.get(I + "/later/why").json
    assert "starts at" in why["sentence"] and why["next_at"] == info["start_at"], why
    done = server.ended("later")
    assert done["output"] == 1 and "start_at" not in done, done
    started = server.get(I + "/later/history").json["events"][0]["at"]
    assert started >= info["start_at"], (started, info)
    far = {"orchestration": "Echo", "instance": "far", "start_at": info["created_at"] + 86400000}
    expect(server.post(I, far), 201)
    expect(server.call("DELETE", I + "/far"), 409)
    expect(server.call("DELETE", I + "/far?force=1"), 200)
    expect(server.post(J, {"activity": "Twice", "id": "far-job", "delay_ms": 86400000}), 201)
    expect(server.post(I + "/far-job/cancel", {}), 202)
    assert server.ended("far-job")["status"] == "cancelled"
    for bad in ({"delay_ms": -1}, {"delay_ms": "1"}, {"delay_ms": 1, "start_at": 1},
                {"start_at": -1}, {"start_at": 1.5}, {"start_at": 2**62}, {"delay_ms": 2**50}):
        expect(server.post(I, {"orchestration": "Echo", **bad}), 400, "invalid")


def test_deadline(server):
    expect(server.post(I, {"orchestration": "Ask", "instance": "d", "deadline_ms": 200}), 201)
    info = expect(server.get(I + "/d"), 200, status="running").json
    assert 0 < info["deadline_at"] - info["created_at"] <= 200, info
    assert "its deadline is" in server.get(I + "/d/why").json["sentence"]
    done = server.ended("d")
    assert done["status"] == "cancelled" and done["error"] == "deadline of 200ms passed", done
    assert "deadline_at" not in done
    expect(server.post(J, {"activity": "Nobody", "id": "dj", "deadline_ms": 100}), 201)
    assert server.ended("dj")["status"] == "cancelled"
    for bad in (0, -1, "1", 1.5, 2**50):
        expect(server.post(I, {"orchestration": "Ask", "deadline_ms": bad}), 400, "invalid")


def test_rerun(server):
    body = {"orchestration": "Ask", "instance": "r", "input": 1}
    expect(server.post(I, body), 201, created=True)
    expect(server.post(I + "/r/rerun", {}), 409, "conflict")
    expect(server.post(I, {**body, "input": 2, "if_exists": "use"}), 200, created=False, execution=1)
    expect(server.post(I, {**body, "if_exists": "rerun"}), 409, "conflict")
    expect(server.post(I + "/r/events/Answer", "7"), 202)
    assert server.ended("r")["output"] == 7
    expect(server.post(I + "/r/rerun"), 200, instance="r", execution=2, created=False)
    expect(server.get(I + "/r"), 200, status="running", execution=2, input=1, output=None)
    expect(server.get(I + "/r?execution=1"), 200, status="completed", output=7)
    expect(server.post(I, {**body, "input": 3, "if_exists": "terminate"}), 200, execution=3)
    expect(server.get(I + "/r?execution=2"), 200, status="cancelled")
    expect(server.post(I + "/r/events/Answer", "8"), 202)
    assert server.get(I + "/r/wait?timeout_ms=9000").json["output"] == 8
    assert pawl.Client("http://127.0.0.1:%d" % server.port).rerun("r", 5)["execution"] == 4
    expect(server.post(I + "/none/rerun"), 404, "not_found")
    for bad in ({"if_exists": "replace"}, {"if_exists": 1}, {"if_exists": "use", "instance": None}):
        expect(server.post(I, {**body, **bad}), 400, "invalid")
    for bad in ({"inptu": 1}, {"version": "x"}, {"deadline_ms": 0}, []):
        expect(server.post(I + "/r/rerun", bad), 400, "invalid")


def test_start_and_raise(server):
    body = {"orchestration": "Ask", "instance": "sr", "raise": [{"event": "Answer", "data": 7, "key": "k"}]}
    expect(server.post(I, body), 201, created=True)
    assert server.ended("sr")["output"] == 7
    expect(server.post(I, body), 200, created=False)
    expect(server.post(I, {**body, "if_exists": "use"}), 200, created=False)
    other = [{"event": "Answer", "data": None}, {"event": "Other", "key": None}]
    expect(server.post(I, {**body, "if_exists": "use", "raise": other}), 409, "conflict")
    expect(server.post(I, {**body, "if_exists": "rerun", "input": 2, "raise": other}), 200, execution=2)
    assert server.ended("sr")["output"] is None
    expect(server.post(I, {"orchestration": "Ask", "instance": "su", "raise": []}), 201)
    expect(server.post(I, {**body, "instance": "su", "if_exists": "use"}), 200, created=False, execution=1)
    assert server.ended("su")["output"] == 7
    client = pawl.Client("http://127.0.0.1:%d" % server.port)
    started = client.start("Ask", instance="sp", raise_=[{"event": "Answer", "data": {"ok": True}}])
    assert started["created"] and client.wait("sp", 10)["output"] == {"ok": True}
    for bad in (1, {}, "x", [1], [{}], [{"event": ""}], [{"event": 1}], [{"event": "a/b"}], [{"evnet": "A"}],
                [{"event": "A", "key": ""}], [{"event": "A", "key": 1}], [{"event": "A", "dta": 1}]):
        reply = expect(server.post(I, {"orchestration": "Ask", "instance": "none", "raise": bad}), 400, "invalid")
        assert "\n" not in reply.json["error"]["message"], reply
    many = [{"event": "Answer", "data": n} for n in range(101)]
    expect(server.post(I, {"orchestration": "Ask", "instance": "none", "raise": many}), 413)
    expect(server.get(I + "/none"), 404)
    expect(server.post(I, {"orchestration": "Ask", "instance": "many", "raise": many[:100]}), 201)
    assert server.ended("many")["output"] == 0


def test_asks(server):
    for n in range(3):
        expect(server.post(I, {"orchestration": "Question", "instance": "q%d" % n, "input": {"title": "Pay %d?" % n}}), 201)
    expect(server.post(I, {"orchestration": "Ask", "instance": "plain"}), 201)
    page = expect(server.get("/api/v1/asks"), 200, next=None).json
    assert [a["instance"] for a in page["asks"]] == ["q0", "q1", "q2"], page
    one = page["asks"][0]
    assert one["ask"] == {"title": "Pay 0?"} and one["event"] == "Reply" and one["id"] == 1 and one["execution"] == 1
    assert one["orchestration"] == "Question" and one["since"] > 0, one
    assert server.get(I + "/q0").json["waiting_for"][0]["ask"] == {"title": "Pay 0?"}
    assert "ask" not in server.get(I + "/plain").json["waiting_for"][0]
    why = server.get(I + "/q0/why").json
    assert 'an answer to "Pay 0?"' in why["sentence"] and why["waiting_for"][0]["ask"], why
    first = server.get("/api/v1/asks?limit=2").json
    rest = server.get("/api/v1/asks?limit=2&after=" + first["next"]).json
    assert len(first["asks"]) == 2 and [a["instance"] for a in rest["asks"]] == ["q2"] and rest["next"] is None
    assert not server.get("/api/v1/asks?event=Other").json["asks"]
    assert len(server.get("/api/v1/asks?event=Reply&orchestration=Question").json["asks"]) == 3
    client = pawl.Client("http://127.0.0.1:%d" % server.port)
    for ask in client.asks(event="Reply"):
        client.raise_event(ask["instance"], ask["event"], ask["ask"]["title"])
    assert server.ended("q1")["output"] == "Pay 1?"
    assert not list(client.asks(orchestration="Question"))
    expect(server.post(I, {"orchestration": "Question", "instance": "qb", "input": {"tilte": 1}}), 201)
    assert "what it asks for cannot be used" in server.ended("qb")["error"]
    expect(server.get("/api/v1/asks?evnet=a"), 400, "unknown_parameter")
    for bad in ("limit=0", "limit=1001", "limit=x", "limit=1&limit=2"):
        expect(server.get("/api/v1/asks?" + bad), 400, "invalid")


def test_job_of_a_python_worker(server):
    client = pawl.Client("http://127.0.0.1:%d" % server.port)
    worker = pawl.Worker(client, concurrency=1)
    tries = []

    @worker.activity("Mail")
    def mail(address, task):
        tries.append(task.attempt)
        worker.stop() if task.attempt > 1 else None
        if task.attempt == 1:
            raise OSError("not now")
        return {"sent": address}

    job = client.job("Mail", "a@example.org", attempts=2, initial_ms=10)
    assert job["created"]
    worker.run(signals=False)
    assert client.wait(job["instance"], 10)["output"] == {"sent": "a@example.org"} and tries == [1, 2]
