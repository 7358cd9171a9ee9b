# SPDX-License-Identifier: MIT
"""python -m pawl check MODULE: does this code repeat itself, and does it fit what is recorded?

First the source is looked at (lint.py).  Then histories are replayed: exported ones (--file), and with
--live those of every open instance of the server that runs an orchestration of the module.  Nothing is
changed anywhere.  Exit status 1: something was found.
"""
from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import lint, turns
from .client import Client
from .errors import Error
from .run import Code
from .worker import Worker

OPEN = ("running", "suspended", "blocked")


def history_of(text: str) -> Dict[str, Any]:
    """An exported history: what `pawl export` writes."""
    whole = json.loads(text)
    if not isinstance(whole, dict) or not isinstance(whole.get("events"), list):
        raise ValueError("this is no exported history: it has no events")
    if whole.get("next") is not None:
        raise ValueError("this is one page of a history; export the whole (pawl export)")
    return whole


def payload_text(value: Any, encoding: Optional[str]) -> str:
    """A payload of the HTTP API as the text that is recorded."""
    if encoding is not None:
        return str(value)
    return "" if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def event_of(given: Mapping[str, Any]) -> Dict[str, Any]:
    """An event of an export as the protocol has it: data is a text."""
    event = {k: v for k, v in given.items() if k in ("seq", "kind", "ref", "name", "attrs")}
    event["at"] = given.get("at", given.get("at_ms", 0))
    data = given.get("data")
    event["data"] = data if isinstance(data, str) and "encoding" not in given else payload_text(data, given.get("encoding"))
    if isinstance(event.get("attrs"), str):
        event["attrs"] = json.loads(event["attrs"] or "{}")
    return {k: v for k, v in event.items() if v not in (None, "", 0) or k in ("seq", "at")}


def replay(codes: Mapping[Tuple[str, str], Code], history: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The finding of one history; None: it replays.  LookupError: this module has no such code."""
    events = [event_of(e) for e in history["events"]]
    name = history.get("orchestration") or events[0].get("name", "")
    version = history.get("version") or (events[0].get("attrs") or {}).get("version", "")
    code = codes.get((name, version))
    if code is None:
        raise LookupError("%s %s" % (name, version))
    turn = {"instance": history["instance"], "execution": history.get("execution", 1), "orchestration": name,
            "version": version, "events": events}
    found = turns.check(code, turn)
    return found.get("mismatch") or found.get("bug")


class Report:
    """What was looked at, and what was found."""

    def __init__(self) -> None:
        self.looked = self.replayed = self.skipped = 0
        self.found: List[str] = []

    def add(self, text: str) -> None:
        self.found.append(text)
        print(text)

    def __str__(self) -> str:
        return ("%d orchestrations looked at, %d histories replayed, %d of other code left out: %d findings"
                % (self.looked, self.replayed, self.skipped, len(self.found)))


def look(report: Report, codes: Mapping[Tuple[str, str], Code]) -> None:
    for (name, version), code in sorted(codes.items()):
        report.looked += 1
        for finding in lint.look_at(code.author):
            report.add("%s %s: %s" % (name, version, finding))


def replay_all(report: Report, codes: Mapping[Tuple[str, str], Code], histories: Iterator[Tuple[str, Any]]) -> None:
    for title, history in histories:
        try:
            finding = replay(codes, history)
        except LookupError:
            report.skipped += 1
            continue
        report.replayed += 1
        if finding is not None:
            report.add("%s: %s (%s)" % (title, finding.get("text") or finding.get("error"), finding.get("site", "?")))


def from_files(paths: Sequence[str]) -> Iterator[Tuple[str, Any]]:
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield path, history_of(file.read())


def from_server(client: Client, names: Sequence[str]) -> Iterator[Tuple[str, Any]]:
    for name in names:
        for status in OPEN:
            for one in client.search(orchestration=name, status=status):
                yield one["instance"], client.export(one["instance"])


def main(workers: Sequence[Worker], options: Any) -> int:
    codes = {key: code for worker in workers for key, code in worker.runs.code.items()}
    report = Report()
    look(report, codes)
    try:
        replay_all(report, codes, from_files(options.file))
        if options.live:
            client = Client(options.url or workers[0].client.url, options.token or workers[0].client.token)
            replay_all(report, codes, from_server(client, sorted({name for name, _ in codes})))
    except (OSError, ValueError, Error) as error:
        report.add("cannot read: %s" % error)
    print(report)
    return 1 if report.found else 0
