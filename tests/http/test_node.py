# SPDX-License-Identifier: MIT
"""clients/node: every call, its worker and a network that fails it, its types, its package."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import kit
from kit import Server
from test_python import DROP, GONE, PASS, Proxy

HERE = kit.ROOT / "tests" / "http" / "node"


def node(*args, env=None, cwd=None):
    done = subprocess.run(["node", *map(str, args)], env={**os.environ, **(env or {})}, cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


class Shop:
    """tests/http/node/shop.mjs behind a proxy."""

    def __init__(self, server, rule=lambda verb: PASS, lock_ms=3000):
        self.proxy = Proxy(server, rule)
        self.lines, self.lock_ms = [], lock_ms

    def __enter__(self):
        self.process = subprocess.Popen(["node", str(HERE / "shop.mjs"), self.proxy.url, str(self.lock_ms)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.status = self.process.wait(30)
        finally:
            self.process.kill()
            self.reader.join()
            self.proxy.http.shutdown()
            self.proxy.http.server_close()

    def runs(self, order):
        return sum(1 for line in self.lines if line.startswith("run %s " % order))

    def said(self, text):
        return any(text in line for line in self.lines)

    def until_said(self, text):
        for _ in range(300):
            if self.said(text):
                return
            time.sleep(0.1)
        raise AssertionError("%r is not in %r" % (text, self.lines))


def test_node_every_call(server):
    assert node(HERE / "calls.mjs", env={"PAWL_URL": server.url}).strip() == "all calls"


def test_node_turns_without_a_server():
    """Draws, findings with their lines, guards, pawl/testing, and a session by a table of answers."""
    assert node(HERE / "turns.mjs").strip() == "all turns"


def test_node_replay_scripts():
    """The engine's specification (tests/replay) through the client and its world for tests."""
    said = node(HERE / "replay.mjs")
    assert ", 0 failed," in said and int(said.split()[1]) >= 129, said


def test_node_vectors():
    """Each turn of tests/protocol/turns.json gets the answer that the C engine and the Python client agree on."""
    assert ", 0 failed" in node(HERE / "vectors.mjs")


def test_node_refused_results_are_final_failures():
    with Server("--max-payload", "100K") as server, Shop(server) as shop:
        told = {"nan": "no JSON (the value of 'mean' is NaN", "deep": "refused the result: 400",
                "large": "refused the result: 4", "big": "no JSON", "ring": "no JSON", "final": "never again",
                "odd": "null", "long": "refused the error text: 4", "surrogate": "Error: file \ufffd"}
        retried = ("odd", "surrogate")           # ordinary failures: the policy's three attempts
        for order, text in told.items():
            end = server.ended(server.start_instance("RemoteRetry", order))
            assert end["status"] == "failed" and text in end["error"], (order, end)
            assert shop.runs(order) == (3 if order in retried else 1), (order, shop.lines)
            assert order in retried + ("final",) or shop.said(text), (order, shop.lines)
        assert server.ended(server.start_instance("RemoteOrder", "nothing"))["output"] is None
    assert shop.status == 0 and shop.lines[-1] == "stopped\n", shop.lines


def test_node_hands_in_until_the_lease_is_over(server):
    """Away for twice the lease, in two ways; beats go through, so the lease lives."""
    began = time.monotonic()

    def rule(verb):
        past = time.monotonic() - began
        return PASS if verb != "complete" or past > 6 else GONE if past < 3 else 503

    with Shop(server, rule) as shop:
        assert server.ended(server.start_instance("RemoteOrder", "a"))["output"] == "paid"
        assert time.monotonic() - began > 6 and shop.runs("a") == 1
        assert shop.proxy.times("heartbeat") >= 4, shop.proxy.paths


def test_node_hands_in_again_when_the_answer_was_lost(server):
    verbs = []

    def rule(verb):
        verbs.append(verb)
        return DROP if verb == "complete" and verbs.count(verb) < 3 else PASS

    with Shop(server, rule) as shop:
        assert server.ended(server.start_instance("RemoteOrder", "a"))["output"] == "paid" and shop.runs("a") == 1
    assert verbs.count("complete") >= 2, verbs


def test_node_says_what_it_could_not_hand_in(server):
    with Shop(server, lambda verb: PASS if verb == "poll" else GONE, lock_ms=1000) as shop:
        server.start_instance("RemoteOrder", "a", "lost-1")
        shop.until_said("Charge of instance 'lost-1' (attempt 1): not handed in before the lease")
        shop.proxy.rule = lambda verb: PASS
        assert server.ended("lost-1")["output"] == "paid" and shop.runs("a") >= 2


def test_node_hears_that_nobody_waits(server):
    with Shop(server, lock_ms=1000) as shop:
        server.start_instance("RemoteOrder", "patient", "p")
        shop.until_said("run patient")
        server.post("/api/v1/instances/p/cancel")
        server.ended("p")
    assert shop.status == 0 and shop.lines[-1] == "stopped\n", shop.lines    # else it would wait for ever


def test_node_keeps_its_lease_over_a_kill_of_the_server(server):
    with Shop(server) as shop:
        server.start_instance("RemoteOrder", "patient", "p")
        shop.until_said("run patient")
        server.restart()
        server.post("/api/v1/instances/p/cancel")
        server.ended("p")
        shop.until_said("does not answer")


def project(home):
    """A directory with what `npm pack` would take of the client."""
    source, target = kit.ROOT / "clients" / "node", os.path.join(home, "node_modules", "pawl")
    os.makedirs(target)
    for name in ["package.json"] + json.loads((source / "package.json").read_text())["files"]:
        subprocess.run(["cp", "-r", name, target], cwd=source, check=True)


def test_node_examples_in_virtual_time():
    with tempfile.TemporaryDirectory(dir=kit.work_dir()) as home:
        project(home)
        for file in (kit.ROOT / "examples" / "node").glob("*.mjs"):
            shutil.copy(file, home)
        assert "# pass 6" in node("--test", cwd=home)


def test_node_check_finds_what_a_deploy_would_block():
    """A history of yesterday's code (in virtual time) against today's."""
    with tempfile.TemporaryDirectory(dir=kit.work_dir()) as home:
        project(home)
        code = """
            import { orchestration } from "pawl";
            export const order = orchestration("Order", { version: "1.0.0" }, async (ctx, o) => {
              await ctx.call("Charge", { amount: o.amount });
              await ctx.call("%s", o);
            });"""
        for name, second in (("old", "Ship"), ("new", "Send")):
            (pathlib.Path(home) / (name + ".mjs")).write_text(code % second)
        node("--input-type=module", "-e", """
            import fs from "node:fs";
            import { World } from "pawl/testing";
            import { order } from "./old.mjs";
            const world = new World().orchestration(order).activity("Charge", () => null);
            const id = await world.start(order, { amount: 3 });
            const events = world.history(id).map(({ data, ...e }) => ({ ...e, data: data === undefined ? null : JSON.parse(data),
              ...(data === "null" ? { encoding: "json" } : {}) }));
            fs.writeFileSync("run.json", JSON.stringify({ instance: id, orchestration: "Order", version: "1.0.0", execution: 1, events }));
            """, cwd=home)
        check = ["node_modules/pawl/bin/pawl-node.js", "check"]
        assert node(*check, "old.mjs", "--history", "run.json", cwd=home) == "1 checked, 0 do not fit\n"
        done = subprocess.run(["node", *check, "new.mjs", "--history", "run.json"], cwd=home, text=True, stdout=subprocess.PIPE)
        assert done.returncode == 1 and "at new.mjs:5: nondeterministic: schedule mismatch at event 4" in done.stdout, done.stdout
        serves = (pathlib.Path(home) / "old.mjs").read_text().replace("export const", "const") + """
            import { Worker } from "pawl";
            await new Worker().orchestration(order).run();"""
        (pathlib.Path(home) / "serves.mjs").write_text(serves)    # its worker is looked at, and takes no turns
        assert node(*check, "serves.mjs", "--history", "run.json", cwd=home, env={"PAWL_URL": "http://127.0.0.1:1"}) == "1 checked, 0 do not fit\n"
        done = subprocess.run(["node", *check], cwd=home, text=True, stderr=subprocess.PIPE)
        assert done.returncode == 2 and "usage" in done.stderr


def test_node_package_is_whole(server):
    """What `npm pack` would take is enough, in a project of its own, and its types agree with its code."""
    with tempfile.TemporaryDirectory(dir=kit.work_dir()) as home:
        project(home)
        out = node("--input-type=module", "-e", """
            import * as pawl from "pawl";
            import * as testing from "pawl/testing";
            const isClass = (o) => Function.prototype.toString.call(o).startsWith("class");
            const names = (o) => Object.getOwnPropertyNames(o.prototype).filter((n) => n !== "constructor").sort();
            const parts = (m) => Object.fromEntries(Object.keys(m).map((k) => [k, isClass(m[k]) ? names(m[k]) : null]));
            console.log(JSON.stringify([parts(pawl), parts(testing)]));
            """, cwd=home)
    for found, types in zip(json.loads(out), ("index.d.ts", "testing.d.ts")):
        check_declared(found, (kit.ROOT / "clients" / "node" / types).read_text())


def check_declared(found, declared):
    for name, methods in found.items():
        if methods is None:
            assert "export function %s" % name in declared, name
            continue
        body = re.search(r"export class %s\b.*?\{(.*?)^\}|export class %s\b[^\n]*\{\}" % (name, name), declared, re.M | re.S)
        assert body, "%s is not in index.d.ts" % name
        for method in methods:
            if method in ("call", "steer"):      # ours
                continue
            assert re.search(r"^  (readonly )?%s[(:]" % method, body.group(1) or "", re.M), (name, method)
