# SPDX-License-Identifier: MIT
"""examples/python in virtual time, with dice, and through `python -m pawl check`."""
import importlib.util
import os
import subprocess
import sys

import kit
from pawl.testing import Failed, World, sim

PLACE = kit.ROOT / "examples" / "python"


def example(name):
    spec = importlib.util.spec_from_file_location("example_" + name, PLACE / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.worker


def fails(world, instance):
    try:
        raise AssertionError(world.result(instance))
    except Failed as error:
        return str(error)


def test_py_example_order():
    def scenario(world):
        for id, review in (("yes", True), ("no", False)):
            world.start("Order", {"id": id}, instance=id)
            world.raise_event(id, "Review", {"approved": review})
        assert world.result("yes") == "shipped yes from shelf-7"
        assert fails(world, "no") == "failed: the review said no"
        world.start("Order", {"id": "late"}, instance="late")
        assert fails(world, "late") == "failed: no review in time"
        world.start("Order", {"id": "stop"}, instance="stop")
        world.cancel("stop", "changed my mind")
        assert fails(world, "stop") == "cancelled: changed my mind"
        assert len([c for c in world.calls if c[0] == "refund"]) == 3
    sim(scenario, example("order"), seeds=15)


def test_py_example_saga():
    world = World(example("saga"))
    assert len(world.run("Trip", {"to": "Lisbon"})) == 3
    world.start("Trip", {"to": "Lisbon", "rooms": 0}, instance="t")
    assert fails(world, "t") == "failed: no hotel left; 1 bookings undone"
    undone = [input for name, input in world.calls if name == "cancel_booking"]
    assert len(undone) == 1 and undone[0].startswith("flight-"), undone
    assert len([c for c in world.calls if c[0] == "book"]) == 5, "what is sold out is not tried again"


def test_py_example_approval():
    world = World(example("approval"))
    world.start("SignOff", {"text": "Refund?"}, instance="a")
    world.skip(hours=49)
    assert [c for c in world.calls if c[0] == "remind"] == [("remind", "everybody")] * 2
    assert [world.update("a", "comment", text) for text in ("one", "two")] == [1, 2]
    assert world.state("a") == {"comments": ["one", "two"]}
    world.raise_event("a", "Decision", "yes")
    assert world.result("a") == {"decision": "yes", "comments": ["one", "two"]}


def test_py_example_agent():
    for answer, said in (("yes", "freed 12 GB"), ("no", "a person said no")):
        world = World(example("agent"))
        world.start("Agent", {"goal": "free 10 GB"}, instance="g")
        assert "event Allow" in world.waiting("g") and world.custom_status("g") == "delete /var/log/old"
        world.raise_event("g", "Allow", answer)
        assert world.result("g") == "done: 12 GB of old logs; " + said
        assert [c[0] for c in world.calls].count("model") == 3


def test_py_examples_pass_their_check():
    env = {**os.environ, "PYTHONPATH": str(kit.ROOT / "clients" / "python")}
    for path in sorted(PLACE.glob("*.py")):
        done = subprocess.run([sys.executable, "-m", "pawl", "check", str(path)], env=env, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0 and "1 orchestrations looked at" in done.stdout, done.stdout
