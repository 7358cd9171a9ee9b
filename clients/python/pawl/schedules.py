# SPDX-License-Identifier: MIT
"""Calls of schedules (docs/guide/schedules.md).  Plans: see plans.py."""
from __future__ import annotations

import uuid
from typing import Any, Dict, List, Optional

from .plans import Json, Pages, Plan, Request, at_schedule


def if_match(revision: Optional[int]) -> Optional[Dict[str, str]]:
    return None if revision is None else {"If-Match": '"%d"' % revision}


def schedule_put(name: str, if_revision: Optional[int] = None, **spec: Any) -> Plan[Json]:
    """Store a schedule, or change it; durable on return.  The answer has its next instants.

    spec: cron and zone, every_ms, or at_ms; orchestration or queue; input, overlap, missed …
    as in the HTTP API.
    """
    return (yield Request("PUT", at_schedule(name), spec, headers=if_match(if_revision)))[1]


def schedule(name: str) -> Plan[Json]:
    """A schedule: its spec, how far it is, what is due next."""
    return (yield Request("GET", at_schedule(name)))[1]


def schedules(prefix: Optional[str] = None) -> Pages:
    """All schedules by name."""
    return Pages("/api/v1/schedules", "schedules", {"prefix": prefix})


def schedule_next(name: Optional[str] = None, count: int = 10, from_ms: Optional[int] = None,
                  **spec: Any) -> Plan[List[Json]]:
    """When it is due: at (milliseconds since 1970), utc and local.  Without a name: of `spec`,
    which is not stored."""
    query = {"count": count, "from": from_ms}
    if name is not None:
        return (yield Request("GET", at_schedule(name) + "/next", query=query))[1]["next"]
    return (yield Request("POST", "/api/v1/schedules:next", spec, query=query, repeat=True))[1]["next"]


def schedule_pause(name: str, reason: Optional[str] = None) -> Plan[None]:
    """Start nothing until it is resumed."""
    yield Request("POST", at_schedule(name) + "/pause", {"reason": reason})


def schedule_resume(name: str) -> Plan[None]:
    yield Request("POST", at_schedule(name) + "/resume")


def schedule_run(name: str, key: Optional[str] = None) -> Plan[Json]:
    """Start it now, beside what runs; the same key twice starts once."""
    return (yield Request("POST", at_schedule(name) + "/trigger", headers={"Idempotency-Key": key or uuid.uuid4().hex}))[1]


def schedule_backfill(name: str, from_ms: int, to_ms: int, allow: bool = False,
                      spec: Optional[Json] = None) -> Plan[None]:
    """Start the occurrences of a time that is past: one after the other, or all at once."""
    body: Json = {"from_ms": from_ms, "to_ms": to_ms, "allow": allow}
    if spec is not None:
        body["spec"] = spec
    yield Request("POST", at_schedule(name) + "/backfill", body)


def schedule_remove(name: str, if_revision: Optional[int] = None) -> Plan[None]:
    yield Request("DELETE", at_schedule(name), headers=if_match(if_revision))
