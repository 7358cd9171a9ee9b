# SPDX-License-Identifier: MIT
"""Payloads are texts; values are JSON in them.

Out: a value becomes JSON in the order in which it was made; dataclasses, enums and pydantic models as
what they hold; None is the empty text.  What is no JSON (NaN, a set, half of a surrogate pair) raises
TypeError: the code is wrong, so the instance blocks and does not fail.
In: JSON becomes a value, and by an annotation a dataclass, an enum, a pydantic model, or lists,
dictionaries and optionals of them.  A text that is no JSON is given as str: C code returns such.
`raw` leaves texts alone.  The default never changes within a major version: histories hold the texts.
"""
from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import sys
import typing
from typing import Any, Callable, Dict, Optional, Union

Decoder = Callable[[Any], Any]


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError("%s is no JSON: give it as text, number, list, dictionary or dataclass"
                    % type(value).__name__)


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain).encode


class Json:
    """The default codec."""

    @staticmethod
    def encode(value: Any) -> str:
        if value is None:
            return ""
        try:
            text = _encode(value)
            if not text.isascii():
                text.encode()
        except UnicodeEncodeError:
            raise TypeError("a text has half of a surrogate pair, which is no UTF-8") from None
        except (ValueError, RecursionError) as error:
            raise TypeError("the value is no JSON: %s" % error) from None
        return text

    @staticmethod
    def decode(text: str, to: Optional[Decoder] = None) -> Any:
        if not text:
            return None
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        return value if to is None else to(value)


class Raw:
    """Texts as they are."""

    @staticmethod
    def encode(value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError("with the raw codec every payload is a str, not %s" % type(value).__name__)
        return value

    @staticmethod
    def decode(text: str, to: Optional[Decoder] = None) -> Any:
        return text


json_codec, raw = Json(), Raw()


def same(a: str, b: str) -> bool:
    """Are two payloads the same to a replay?  Texts are; objects and lists also as JSON values."""
    if a == b:
        return True
    if a[:1] not in ("{", "[") or a[:1] != b[:1]:
        return False
    try:
        return bool(json.loads(a) == json.loads(b))
    except ValueError:
        return False


# ---- Annotations -----------------------------------------------------------------------


def decoder(annotation: Any) -> Optional[Decoder]:
    """What makes a value of this type from JSON; None: JSON is what is wanted."""
    if annotation is None or annotation is inspect.Parameter.empty or annotation is Any:
        return None
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Union or (sys.version_info >= (3, 10) and origin is _union_type()):
        return _optional(args)
    if origin in (list, tuple):
        return _items(list if origin is list else tuple, args)
    if origin is dict:
        return _values(args)
    if not isinstance(annotation, type):
        return None
    if dataclasses.is_dataclass(annotation):
        return _dataclass(annotation)
    if issubclass(annotation, enum.Enum):
        return annotation
    validate = getattr(annotation, "model_validate", None)
    return typing.cast(Optional[Decoder], validate) if callable(validate) else None


def _union_type() -> Any:
    import types
    return getattr(types, "UnionType", None)


def _optional(args: Any) -> Optional[Decoder]:
    inner = [decoder(a) for a in args if a is not type(None)]
    if len(inner) != 1 or inner[0] is None:
        return None
    to = inner[0]
    return lambda value: None if value is None else to(value)


def _items(make: Callable[[Any], Any], args: Any) -> Optional[Decoder]:
    to = decoder(args[0]) if args and (len(args) == 1 or args[1] is Ellipsis) else None
    if to is None:
        return None if make is list else (lambda value: value if value is None else make(value))
    one = to
    return lambda value: value if value is None else make([one(v) for v in value])


def _values(args: Any) -> Optional[Decoder]:
    to = decoder(args[1]) if len(args) == 2 else None
    if to is None:
        return None
    one = to
    return lambda value: value if value is None else {k: one(v) for k, v in value.items()}


def _dataclass(cls: Any) -> Decoder:
    members: Dict[str, Optional[Decoder]] = {}

    def build(value: Any) -> Any:
        if isinstance(value, cls) or value is None:
            return value
        if not isinstance(value, dict):
            raise TypeError("a %s is made from an object, not from %.60r" % (cls.__name__, value))
        if not members:                       # at the first use: classes may name each other
            hints = typing.get_type_hints(cls)
            members.update({f.name: decoder(hints.get(f.name)) for f in dataclasses.fields(cls)})
        unknown = [k for k in value if k not in members]
        if unknown:
            raise TypeError("a %s has no member %r" % (cls.__name__, unknown[0]))
        made = {}
        for key, member in value.items():
            to = members[key]
            made[key] = member if to is None else to(member)
        return cls(**made)
    return build


def hints_of(function: Callable[..., Any]) -> Dict[str, Any]:
    """Its annotations, as types; {} when they cannot be had."""
    try:
        return typing.get_type_hints(function)
    except Exception:
        return {}
