# SPDX-License-Identifier: MIT
"""clients/python: every call, blocking and with asyncio; the package as pip installs it."""
import asyncio
import inspect
import io
import json
import os
import subprocess
import sys
import threading

import kit
import pawl
import pawl.aio


def test_py_queues_have_every_call(server):
    client = pawl.Client(server.url)
    mail = client.queue("mail")
    assert mail.push_many([{"item": n, "priority": n} for n in (3, 1, 2)])["items_pushed"] == 3
    assert client.push("mail", 0, dedup_id="d")["duplicate"] is False
    assert mail.push(0, dedup_id="d")["duplicate"] is True
    assert [m["item"] for m in mail.messages()] == [0, 1, 2, 3] and mail.get()["ready"] == 4
    items, lock = mail.pop_locked(count=2, ttl_seconds=30)
    assert items == [0, 1] and mail.locks() and mail.extend(lock, ttl_seconds=60) > 0
    assert mail.release(lock, reason="later") == 2
    mail.set_config(max_locks=0, max_deliveries=5)
    assert mail.change_config(max_locks=3)["max_locks"] == 3 and mail.config()["max_deliveries"] == 5
    one = mail.pop_messages(count=1)[0]
    assert mail.deadletter(one["lock_id"], "bad") == "mail-deadletter"
    assert client.queue("mail-deadletter").redrive() == 1
    two = mail.pop_messages(count=2)
    assert mail.ack_many([m["lock_id"] for m in two])["items_acknowledged"] == 2
    message = next(iter(mail.messages()))
    assert mail.message(message["id"])["item"] == message["item"]
    mail.drop(message["id"])
    mail.pause()
    assert mail.get()["paused"] is True
    mail.resume()
    assert mail.pop(count=5) == [3] or mail.purge() >= 0
    assert "mail" in [q["name"] for q in client.queues(prefix="ma")]
    assert mail.remove(force=True) >= 0
    try:
        mail.get()
        raise AssertionError("the queue is still there")
    except pawl.NotFound:
        pass


def test_py_instances_have_every_call(server):
    client = pawl.Client(server.url)
    client.start("RemoteOrder", 1, instance="a", attributes={"customer": "c-1"})
    client.start("RemoteOrder", 2, instance="b", attributes={"customer": "c-2"})
    assert [i["instance"] for i in client.search("customer=c-1")] == ["a"]
    assert client.instances(where=["customer=c-2"])["instances"][0]["instance"] == "b"
    assert len(list(client.search(limit=1))) == 2
    assert client.get("a", with_="why")["why"]["sentence"] and client.why("a")["sentence"]
    assert client.tree("a")["instance"] == "a" and client.timeline("a")["bars"]
    assert [e["kind"] for e in client.history("a")][0] == "OrchestrationStarted"
    assert client.export("a")["events"] and next(iter(client.executions("a")))["execution"] == 1
    client.suspend("a", "look")
    client.resume("a")
    client.set_attributes("a", {"customer": None})
    assert list(client.search("customer=c-1")) == []
    assert client.batch("cancel", ids=["b"], dry_run=True)["matched"] == 1
    client.terminate("a", "enough")
    assert client.wait("a", timeout=20)["status"] in ("failed", "terminated", "cancelled")
    assert client.delete("a")["instances"] == 1 and client.prune(0)["instances"] == 0
    assert client.overview()["counts"] and client.registry()["orchestrations"] and client.version()
    assert isinstance(client.workers(), list)


def test_py_limits(server):
    client = pawl.Client(server.url)
    assert client.limit_put("bank", match=[{"activity": "Charge"}], by="key", concurrency=5)["revision"] == 1
    assert [one["name"] for one in client.limits(prefix="ba")] == ["bank"] and client.limit("bank")["spec"]["concurrency"] == 5
    try:
        client.limit_put("bank", if_revision=7, match=[{"activity": "Charge"}], concurrency=6)
        raise AssertionError("changed another revision")
    except pawl.Error as error:
        assert error.status == 412
    client.limit_remove("bank", if_revision=1)
    assert list(client.limits()) == []


def test_py_asyncio_has_the_same_calls(server):
    ours = {n for n, f in vars(pawl.Client).items() if inspect.isfunction(f) and not n.startswith("_")}
    theirs = {n for n, f in vars(pawl.aio.Client).items() if inspect.isfunction(f) and not n.startswith("_")}
    assert ours == theirs, ours ^ theirs
    queue = {n for n in vars(pawl.Queue) if not n.startswith("_")}
    assert queue == {n for n in vars(pawl.aio.Queue) if not n.startswith("_")} and len(queue) > 20
    assert str(inspect.signature(pawl.Client.get)) == str(inspect.signature(pawl.aio.Client.get))
    assert list(inspect.signature(pawl.Client.get).parameters) == ["self", "instance", "execution", "with_"]

    async def use():
        async with pawl.aio.Client(server.url) as client:
            await client.start("RemoteOrder", 1, instance="o")
            await asyncio.gather(*[client.push("q", n, priority=n) for n in range(40)])
            assert [m["item"] async for m in client.queue("q").messages(limit=7)] == list(range(40))
            assert await client.queue("q").pop(count=3) == [0, 1, 2]
            waits = asyncio.ensure_future(client.wait("o"))
            await asyncio.sleep(0.05)
            await client.cancel("o", "no")
            assert (await waits)["status"] == "cancelled"
            try:
                await client.get("nobody")
                raise AssertionError("found nobody")
            except pawl.NotFound as error:
                assert error.status == 404
            try:
                await client.wait("o2", timeout=1)
            except pawl.NotFound:
                pass
            waits = asyncio.ensure_future(client.queue("empty").pop(wait_seconds=30))
            await asyncio.sleep(0.05)
            waits.cancel()                        # its connection is not used for the next one
            assert await client.queue("q").pop() == [3]
    asyncio.run(use())


def test_py_asyncio_on_a_connection_that_was_closed(server):
    async def use():
        client = pawl.aio.Client(server.url)
        await client.push("q", 1)
        server.restart()
        await client.push("q", 2)                 # may be sent twice
        assert await client.queue("q").pop(count=2) == [1, 2]
        await client.close()
    asyncio.run(use())


def test_py_requests_are_checked_before_they_are_sent():
    for url in ("ftp://x", "127.0.0.1:8000"):
        for make in (pawl.Client, pawl.aio.Client):
            try:
                make(url)
                raise AssertionError(url)
            except ValueError:
                pass
    assert pawl.plans.quote("..") == "..," and pawl.plans.quote("a/b ü") == "a%2Fb%20%C3%BC"


def test_py_activities_take_what_they_declare(server):
    """Input as a dataclass, no task, async functions, and pawl.task()."""
    import dataclasses

    @dataclasses.dataclass
    class Order:
        amount: int

    worker = pawl.Worker(pawl.Client(server.url))

    @worker.activity("Charge")
    async def charge(order: Order) -> Order:
        await asyncio.sleep(0)
        return Order(order.amount + pawl.task().attempt)
    thread = threading.Thread(target=worker.run, args=(False,))
    thread.start()
    try:
        made = worker.client.job("Charge", {"amount": 3})
        assert worker.client.wait(made["instance"], timeout=20)["output"] == {"amount": 4}
        made = worker.client.job("Charge", {"much": 3})
        assert "TypeError" in worker.client.wait(made["instance"], timeout=20)["error"]
    finally:
        worker.stop()
        thread.join(20)


def test_py_an_activity_goes_on_from_its_details(server):
    worker = pawl.Worker(pawl.Client(server.url), poll_seconds=0.2)

    @worker.activity("Copy")
    def copy(files, task):
        done = task.details or 0
        for n in range(done, files):
            task.heartbeat(n + 1)
            if n + 1 == 3 and task.attempt == 1:
                raise ConnectionError("down")
        return [done, files]
    thread = threading.Thread(target=worker.run, args=(False,))
    thread.start()
    try:
        made = worker.client.job("Copy", 5, attempts=2, initial_ms=1)
        assert worker.client.wait(made["instance"], timeout=20)["output"] == [3, 5]
    finally:
        worker.stop()
        thread.join(20)


# ---- The package -------------------------------------------------------------------------


def _run(*words, **more):
    return subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, **more)


def test_py_pip_installs_it_without_a_network():
    where = kit.work_dir() / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", where)
    python = where / "bin" / "python"
    site = _run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout.strip()
    done = _run(sys.executable, "-m", "pip", "install", "--no-index", "--target", site, kit.ROOT / "clients" / "python",
                env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    assert done.returncode == 0, done.stdout
    code = ("import pawl, pawl.aio, pawl.testing, importlib.metadata as m, pathlib\n"
            "print(m.version('pawl'), pawl.__version__, (pathlib.Path(pawl.__file__).parent / 'py.typed').exists())")
    done = _run(python, "-I", "-c", code, cwd=where)
    assert done.stdout == "0.1.0 0.1.0 True\n", done.stdout
    assert "worker" in _run(python, "-I", "-m", "pawl", "--help", cwd=where).stdout


FLOWS = '''
import time
import pawl
worker = pawl.Worker()

@worker.orchestration("Pair")
async def pair(ctx, x):
    a = await ctx.call("A", x)
    return await ctx.call("%s", a)

@worker.orchestration("Clock")
async def clock(ctx):
    return %s
'''


def _history(path):
    from pawl.testing import World
    worker = pawl.Worker()

    async def pair(ctx, x):
        return await ctx.call("B", await ctx.call("A", x))
    worker.orchestration("Pair")(pair)
    world = World(worker)
    world.fake("A", 2)
    world.fake("B", 3)
    world.run("Pair", 1, "p")
    path.write_text(json.dumps({"instance": "p", "execution": 1, "orchestration": "Pair", "version": "1.0.0",
                                "events": world.history("p")}))


def test_py_check_finds_what_changed():
    where = kit.work_dir()
    _history(where / "p.json")
    env = {**os.environ, "PYTHONPATH": str(kit.ROOT / "clients" / "python"), "PYTHONWARNINGS": "ignore"}
    for second, now, status, said in (("B", "ctx.now", 0, ["1 histories replayed", "0 findings"]),
                                      ("C", "time.time()", 1, ["time.time() is not the same", "another name (flows.py:9)"])):
        (where / "flows.py").write_text(FLOWS % (second, now))
        done = _run(sys.executable, "-m", "pawl", "check", "flows.py", "--file", "p.json", cwd=where, env=env)
        assert done.returncode == status and all(s in done.stdout for s in said), done.stdout
    (where / "bad.json").write_text('{"events":3}')
    done = _run(sys.executable, "-m", "pawl", "check", "flows.py", "--file", "bad.json", cwd=where, env=env)
    assert done.returncode == 1 and "no exported history" in done.stdout, done.stdout
    (where / "serves.py").write_text(FLOWS % ("B", "ctx.now") + "\nworker.run()\n")   # it is looked at, and serves nothing
    alone = {**env, "PAWL_URL": "http://127.0.0.1:1"}
    done = _run("timeout", "60", sys.executable, "-m", "pawl", "check", "serves.py", "--file", "p.json", cwd=where, env=alone)
    assert done.returncode == 0 and "1 histories replayed" in done.stdout, done.stdout
    (where / "empty.py").write_text("")
    done = _run(sys.executable, "-m", "pawl", "worker", "empty.py", cwd=where, env=env)
    assert done.returncode == 1 and "makes no pawl.Worker" in done.stdout, done.stdout


def test_py_a_worker_that_may_not_says_so(server):
    """A server that refuses the poll for good ends the worker with its words."""
    worker = pawl.Worker(pawl.Client(server.url))
    worker.activity("a/b")(lambda x: x)
    said, sys.stderr = sys.stderr, io.StringIO()
    try:
        worker.run(signals=False)
        raise AssertionError("it went on")
    except pawl.Error as error:
        assert error.status == 400, error
    finally:
        sys.stderr = said
