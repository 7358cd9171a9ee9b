# SPDX-License-Identifier: MIT
"""One description of each call, two ways to make it.

A *plan* is a generator that yields requests and is sent their answers; what it returns is the result of
the call.  It does no input or output, so the blocking client and the asyncio client (aio.py) share it:

    def get(instance: str) -> Plan[Dict[str, Any]]:
        return (yield Request("GET", at_instance(instance)))[1]

    class Client:      get = blocking(get)     # client.get("o-1")
    class aio.Client:  get = awaiting(get)     # await client.get("o-1")

`paged` plans describe lists that come in pages; they become iterators.
"""
from __future__ import annotations

import functools
import inspect
import urllib.parse
from typing import (TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Dict, Generator, Iterator, NamedTuple, Optional,
                    Tuple, TypeVar)

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec
    P = ParamSpec("P")

T = TypeVar("T")
ABSENT: Any = object()
Answer = Tuple[int, Any]
Plan = Generator["Request", Answer, T]
Json = Dict[str, Any]


class Request(NamedTuple):
    method: str
    path: str
    body: Any = ABSENT
    query: Optional[Dict[str, Any]] = None
    headers: Optional[Dict[str, str]] = None
    repeat: Optional[bool] = None       # may it be sent twice?  None: a GET, and what has a key
    timeout: Optional[float] = None


class Pages(NamedTuple):
    path: str
    member: str                          # of the page that has the items
    query: Dict[str, Any]
    first: Any = None                    # `after` of the first page

    def request(self, after: Any) -> Request:
        return Request("GET", self.path, query={**self.query, "after": after})


def quote(text: str) -> str:
    """A segment of a path.  `.` and `..` would be taken for steps: they have a comma behind them."""
    if text in (".", ".."):
        return text + ","
    return urllib.parse.quote(text, safe="")


def at_instance(instance: str) -> str:
    return "/api/v1/instances/" + quote(instance)


def at_schedule(name: str) -> str:
    return "/api/v1/schedules/" + quote(name)


def given(**members: Any) -> Json:
    """Those that are not None."""
    return {k: v for k, v in members.items() if v is not None}


# ---- Faces ------------------------------------------------------------------------------


def _method(plan: Callable[..., Any], run: str, own: bool) -> Callable[..., Any]:
    """A method whose arguments are those of the plan; `own`: behind the name of the object."""
    @functools.wraps(plan)
    def call(self: Any, *args: Any, **more: Any) -> Any:
        return getattr(self, run)(plan(self.name, *args, **more) if own else plan(*args, **more))
    signature = inspect.signature(plan)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    rest = list(signature.parameters.values())[1 if own else 0:]
    if rest and rest[0].kind == inspect.Parameter.POSITIONAL_OR_KEYWORD:
        first = first.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = signature.replace(parameters=[first, *rest])  # type: ignore[attr-defined]
    return call


def blocking(plan: "Callable[P, Plan[T]]") -> "Callable[Concatenate[Any, P], T]":
    """The method that makes the call and waits for its answer."""
    return _method(plan, "_make", False)


def awaiting(plan: "Callable[P, Plan[T]]") -> "Callable[Concatenate[Any, P], Awaitable[T]]":
    """The method whose result is awaited."""
    return _method(plan, "_make", False)


def paging(plan: "Callable[P, Pages]") -> "Callable[Concatenate[Any, P], Iterator[Json]]":
    """The method that gives the items one after the other."""
    return _method(plan, "_pages", False)


def paging_later(plan: "Callable[P, Pages]") -> "Callable[Concatenate[Any, P], AsyncIterator[Json]]":
    return _method(plan, "_pages", False)


def own(plan: "Callable[Concatenate[str, P], Plan[T]]") -> "Callable[Concatenate[Any, P], T]":
    """As blocking(), of an object with a name: its name is the first argument of the plan."""
    return _method(plan, "_make", True)


def own_awaiting(plan: "Callable[Concatenate[str, P], Plan[T]]") -> "Callable[Concatenate[Any, P], Awaitable[T]]":
    return _method(plan, "_make", True)


def own_paging(plan: "Callable[Concatenate[str, P], Pages]") -> "Callable[Concatenate[Any, P], Iterator[Json]]":
    return _method(plan, "_pages", True)


def own_paging_later(plan: "Callable[Concatenate[str, P], Pages]") -> "Callable[Concatenate[Any, P], AsyncIterator[Json]]":
    return _method(plan, "_pages", True)
