# SPDX-License-Identifier: MIT
"""python -m pawl worker MODULE, python -m pawl check MODULE.

MODULE is a file (flows.py) or a dotted name (shop.flows); the workers that it makes at its top level are
the ones that are run or checked.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from typing import Any, List, Optional, Sequence

from . import Client, Worker, check
from .leases import say
from .worker import only_looked_at


def load(name: str) -> Any:
    """A module, by file or by name.  Its workers do not begin to serve."""
    with only_looked_at():
        return _load(name)


def _load(name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = os.path.abspath(name)
    sys.path.insert(0, os.path.dirname(path))
    title = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None:
        raise ImportError("cannot load %s" % name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    spec.loader.exec_module(module)
    return module


def workers_of(module: Any) -> List[Worker]:
    found = list(dict.fromkeys(v for v in vars(module).values() if isinstance(v, Worker)))
    if not found:
        raise SystemExit("pawl: %s makes no pawl.Worker at its top level" % module.__name__)
    return found


def serve(options: argparse.Namespace) -> int:
    if options.processes > 1:
        return _processes(options)
    workers = workers_of(load(options.module))
    if len(workers) > 1:
        raise SystemExit("pawl: %s makes %d workers; run one in each process" % (options.module, len(workers)))
    worker = workers[0]
    if options.url or options.token:
        worker.client = Client(options.url or worker.client.url, options.token or worker.client.token)
        worker._leases.client = worker.client
    say("serving %s for %s" % (", ".join(_titles(worker)) or "nothing", worker.client.url))
    worker.run()
    return 0


def _titles(worker: Worker) -> List[str]:
    return ["%s %s" % key for key in sorted(worker.runs.code)] + sorted(worker.activities)


def _processes(options: argparse.Namespace) -> int:
    """That many workers; one that dies is started again, until all are told to stop."""
    command = [sys.executable, "-m", "pawl", "worker", options.module]
    for flag in ("url", "token"):
        if getattr(options, flag):
            command += ["--" + flag, getattr(options, flag)]
    stopping: List[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda n, _: stopping.append(n))
    children = [subprocess.Popen(command) for _ in range(options.processes)]
    while not stopping:
        time.sleep(0.2)
        for i, child in enumerate(children):
            if child.poll() is not None and not stopping:
                say("worker process %d ended with %s; starting another" % (child.pid, child.returncode))
                time.sleep(1)
                children[i] = subprocess.Popen(command)
    for child in children:
        child.terminate()
    return max(abs(child.wait()) for child in children)


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(prog="python -m pawl", description="Workers of Pawl in Python.")
    verbs = whole.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("worker", help="serve the activities and orchestrations of a module")
    one.add_argument("module")
    one.add_argument("--processes", type=int, default=1, metavar="N", help="that many workers")
    one.set_defaults(run=serve)
    two = verbs.add_parser("check", help="look for what a replay cannot repeat; replay histories with this code")
    two.add_argument("module")
    two.add_argument("--file", action="append", default=[], help="an exported history (pawl export ID); may be repeated")
    two.add_argument("--live", action="store_true", help="replay the open instances of the server, too")
    two.set_defaults(run=lambda options: check.main(workers_of(load(options.module)), options))
    for verb in (one, two):
        verb.add_argument("--url", help="the server's address; default PAWL_URL, then http://127.0.0.1:8000")
        verb.add_argument("--token", help="default PAWL_TOKEN")
    return whole


def main(words: Optional[Sequence[str]] = None) -> int:
    options = parser().parse_args(words)
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
