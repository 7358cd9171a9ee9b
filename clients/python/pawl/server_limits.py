# SPDX-License-Identifier: MIT
"""Calls of limits (docs/guide/limits.md): how much may run.  Plans: see plans.py."""
from __future__ import annotations

from typing import Any, Optional

from .plans import Json, Pages, Plan, Request, quote
from .schedules import if_match


def _at(name: str) -> str:
    return "/api/v1/limits/" + quote(name)


def limit_put(name: str, if_revision: Optional[int] = None, **spec: Any) -> Plan[Json]:
    """Store a limit, or change it; durable on return.

    spec: match ([{"activity": "Charge"}, …]), by ("all", "key", "first"), concurrency,
    rate ({"count", "per_ms", "burst"}), weights ({key: share}).
    """
    return (yield Request("PUT", _at(name), spec, headers=if_match(if_revision)))[1]


def limit(name: str) -> Plan[Json]:
    """A limit: what it says, what is in use, who waits."""
    return (yield Request("GET", _at(name)))[1]


def limits(prefix: Optional[str] = None) -> Pages:
    """All limits by name."""
    return Pages("/api/v1/limits", "limits", {"prefix": prefix})


def limit_remove(name: str, if_revision: Optional[int] = None) -> Plan[None]:
    """Remove it; what waited for it goes on."""
    yield Request("DELETE", _at(name), headers=if_match(if_revision))
