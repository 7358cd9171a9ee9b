# SPDX-License-Identifier: MIT
"""Calls of queues (docs/guide/http.md, Queues).  Plans: see plans.py.  The first argument is the queue."""
from __future__ import annotations

import uuid
from typing import Any, Dict, List, Optional, Tuple

from .plans import Json, Pages, Plan, Request, given, quote


def _at(queue: str, verb: str = "") -> str:
    return "/queue/%s%s" % (quote(queue), verb)


def push(queue: str, item: Any, priority: int = 0, **options: Any) -> Plan[Json]:
    """Durable on return.  Options: dedup_id, group, delay_seconds, expires_in_seconds, headers …"""
    # Either id lets the server recognize the second of two, should the answer get lost.
    key = {} if options.get("dedup_id") else {"Idempotency-Key": uuid.uuid4().hex}
    return (yield Request("POST", _at(queue, "/push"), {"item": item, "priority": priority, **options}, headers=key,
                          repeat=True))[1]


def push_many(queue: str, items: List[Json], key: Optional[str] = None) -> Plan[Json]:
    """Many items, all or none: [{"item": …, "priority": 5, "dedup_id": …}, …], 1 to 1,000."""
    return (yield Request("POST", _at(queue, "/push"), {"items": items},
                          headers={"Idempotency-Key": key or uuid.uuid4().hex}, repeat=True))[1]


def pop(queue: str, **options: Any) -> Plan[List[Any]]:
    """Take items for good (at most once; a broken connection may lose them).

    Options: count, wait_seconds, max_priority."""
    return (yield Request("POST", _at(queue, "/pop"), query=options))[1]["items"]


def pop_locked(queue: str, ttl_seconds: Optional[int] = None, **options: Any) -> Plan[Tuple[List[Any], Optional[str]]]:
    """Items under a lock, and its id for ack(); ([], None) when there are none."""
    answer = (yield Request("POST", _at(queue, "/pop"), query={"require_ack": "true", "ttl_seconds": ttl_seconds, **options}))[1]
    return answer["items"], answer.get("lock_id")


def pop_messages(queue: str, ttl_seconds: Optional[int] = None, **options: Any) -> Plan[List[Json]]:
    """Messages, each with a lock_id of its own, its id, priority, delivery_count, headers and item."""
    answer = (yield Request("POST", _at(queue, "/pop"),
                            query={"require_ack": "true", "meta": 1, "ttl_seconds": ttl_seconds, **options}))[1]
    return answer.get("messages") or []


def ack(queue: str, lock_id: str) -> Plan[int]:
    """How many items are done; raises Lost when the lock had run out."""
    return (yield Request("POST", _at(queue, "/acknowledge"), {"lock_id": lock_id}, repeat=True))[1]["items_acknowledged"]


def ack_many(queue: str, lock_ids: List[str]) -> Plan[Json]:
    """Up to 100 locks; `results` says what became of each."""
    return (yield Request("POST", _at(queue, "/acknowledge"), {"lock_ids": lock_ids}, repeat=True))[1]


def extend(queue: str, lock_id: str, ttl_seconds: Optional[int] = None,
           additional_ttl_seconds: Optional[int] = None) -> Plan[float]:
    """End a lock later; its new end, in seconds since 1970."""
    body = given(lock_id=lock_id, ttl_seconds=ttl_seconds, additional_ttl_seconds=additional_ttl_seconds)
    return (yield Request("POST", _at(queue, "/extend-lock"), body))[1]["new_expires_at"]


def release(queue: str, lock_id: str, delay_seconds: Optional[float] = None, reason: Optional[str] = None) -> Plan[int]:
    """Give the items of a lock back; how many."""
    body = given(lock_id=lock_id, delay_seconds=delay_seconds, reason=reason)
    return (yield Request("POST", _at(queue, "/release"), body))[1]["items_released"]


def deadletter(queue: str, lock_id: str, reason: Optional[str] = None) -> Plan[str]:
    """Move the items of a lock to the dead letter queue; its name."""
    return (yield Request("POST", _at(queue, "/deadletter"), given(lock_id=lock_id, reason=reason)))[1]["dlq_id"]


def redrive(queue: str, **options: Any) -> Plan[int]:
    """Move dead letters back; how many.  Options: max, rate_per_second, target."""
    return (yield Request("POST", _at(queue, "/redrive"), options))[1]["items_moved"]


def purge(queue: str, priority: Optional[int] = None) -> Plan[int]:
    """Drop messages that are ready or delayed; how many."""
    return (yield Request("POST", _at(queue, "/purge"), given(priority=priority)))[1]["items_purged"]


def pause(queue: str) -> Plan[None]:
    """Pops get nothing until resume()."""
    yield Request("POST", _at(queue, "/pause"))


def resume(queue: str) -> Plan[None]:
    yield Request("POST", _at(queue, "/resume"))


def get(queue: str) -> Plan[Json]:
    """Counts and configuration."""
    return (yield Request("GET", _at(queue)))[1]


def remove(queue: str, force: bool = False) -> Plan[int]:
    """Remove it with its configuration; with `force` its messages, too.  How many."""
    return (yield Request("DELETE", _at(queue), query={"force": "true" if force else None}))[1]["items_removed"]


def messages(queue: str, **query: Any) -> Pages:
    """Its messages in the order of delivery; changes nothing.  Query: priority, state, limit."""
    return Pages(_at(queue, "/messages"), "messages", query)


def message(queue: str, id: str) -> Plan[Json]:
    return (yield Request("GET", _at(queue, "/messages/" + quote(id))))[1]


def drop(queue: str, id: str) -> Plan[None]:
    """Drop one message."""
    yield Request("DELETE", _at(queue, "/messages/" + quote(id)))


def locks(queue: str) -> Plan[List[Json]]:
    return (yield Request("GET", _at(queue, "/locks")))[1]["locks"]


def config(queue: str) -> Plan[Json]:
    return (yield Request("GET", _at(queue, "/config")))[1]


def set_config(queue: str, **settings: Any) -> Plan[Json]:
    """Replace the whole configuration: what is left out gets its default."""
    return (yield Request("PUT", _at(queue, "/config"), settings))[1]


def change_config(queue: str, **settings: Any) -> Plan[Json]:
    """Change these settings (None: the default) and keep the others."""
    return (yield Request("PATCH", _at(queue, "/config"), settings))[1]


def queues(prefix: Optional[str] = None) -> Pages:
    """All queues by name, with counts."""
    query: Dict[str, Any] = {"prefix": prefix}
    return Pages("/queue", "queues", query)
