# SPDX-License-Identifier: MIT
"""Registrations, and what a call needs of them: names, types, options.

A function that a worker registered knows its name and types (`__pawl__`), so that `ctx.call(charge, x)`
is the call of that activity with a typed result.
"""
from __future__ import annotations

import datetime
import inspect
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, Union

from .codec import Decoder, decoder, hints_of

Target = Union[str, Callable[..., Any]]


class Registration(NamedTuple):
    kind: str                  # "activity" or "orchestration"
    name: str
    version: str
    to: Optional[Decoder]      # of its input
    gives: Optional[Decoder]   # of its result
    takes: int                 # how many arguments: input, and what comes with it


def register(function: Callable[..., Any], kind: str, name: str, version: str = "") -> Registration:
    """What is known about a function; remembered in it, where it has room."""
    hints = hints_of(function)
    names = _positional(function)
    first = 1 if kind == "orchestration" else 0      # before it comes ctx
    to = decoder(hints.get(names[first])) if len(names) > first else None
    takes = len(names) if names or not _takes_any(function) else 2
    made = Registration(kind, name, version, to, decoder(hints.get("return")), takes)
    try:
        function.__pawl__ = made  # type: ignore[attr-defined]
    except AttributeError:                           # a built-in, a bound method: called by its name
        pass
    return made


def _positional(function: Callable[..., Any]) -> Tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ("input", "task")
    some = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters) and len(some) < 2:
        return tuple(p.name for p in some) + ("input", "task")[len(some):]
    return tuple(p.name for p in some)


def _takes_any(function: Callable[..., Any]) -> bool:
    try:
        return any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return True


def target_of(target: Target, type: Any, kind: str) -> Tuple[str, Optional[Decoder]]:
    """The name to call, and how to read its result."""
    if isinstance(target, str):
        return target, decoder(type)
    made = getattr(target, "__pawl__", None)
    if not isinstance(made, Registration) or made.kind != kind:
        raise TypeError("%r is no registered %s: register it with a worker, or give its name"
                        % (getattr(target, "__name__", target), kind))
    return made.name, decoder(type) if type is not None else made.gives


# ---- Options of a call -----------------------------------------------------------------

_SECONDS = ("initial", "cap", "schedule_to_start", "start_to_close", "schedule_to_close", "heartbeat")
_PLAIN = ("attempts", "backoff", "factor", "jitter", "final_errors", "no_retry_on_timeout", "tag", "max_crashes",
          "at_most_once", "key", "priority")
_MS = tuple(name + "_ms" for name in _SECONDS)


def milliseconds(seconds: Union[int, float, datetime.timedelta]) -> int:
    if isinstance(seconds, datetime.timedelta):
        return round(seconds.total_seconds() * 1000)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError("a time is seconds or a timedelta, not %s" % type(seconds).__name__)
    return round(seconds * 1000)


def call_options(given: Dict[str, Any]) -> Dict[str, Any]:
    """As the protocol has them; a name that is none raises TypeError."""
    options: Dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name in _SECONDS:
            options[name + "_ms"] = milliseconds(value)
        elif name in _PLAIN or name in _MS:
            options[name] = list(value) if name == "final_errors" else value
        else:
            raise TypeError("a call has no option %r; it has %s" % (name, ", ".join(sorted(_SECONDS + _PLAIN))))
    return options
