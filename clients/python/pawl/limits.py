# SPDX-License-Identifier: MIT
"""Limits that an SDK checks at the call: what breaks one is refused there and then, and recorded.

Each check gives a sentence, or None when all is well.  The sentences are those of src/base/limits.c
and src/engine/api_*.c.  Only live calls are checked: on replay the record decides, so a limit that was
changed meanwhile changes no replay.  Pure.
"""
from __future__ import annotations

import re
from typing import Any, Mapping, Optional

NAME_BYTES, INSTANCE_BYTES, CHILD_BYTES = 255, 512, 1024
STATUS_BYTES, ASK_BYTES, ATTRIBUTES_BYTES = 262144, 16384, 65536
STATE_KEY_BYTES, STATE_VALUE_BYTES, STATE_KEYS, STATE_BYTES = 128, 65536, 1000, 1048576
LANE_KEY_BYTES, PRIORITY = 128, 999
DELAY_MS = 3162240000000
PUSH_DELAY_MS = 7 * 86400000
REFUSAL_BYTES = 399
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_ATTRIBUTE = re.compile("[a-z][a-z0-9_.-]*\\Z")
_NUMBER, _PRE = "(0|[1-9][0-9]*)", "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(r"{n}\.{n}\.{n}(-{p}(\.{p})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?\Z".format(n=_NUMBER, p=_PRE))


def size(text: str) -> int:
    """Bytes of its UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def cut(text: str, most: int) -> str:
    """At most so many bytes, cut at a character, and before half of a surrogate pair."""
    if text.isascii():
        return text[:most]
    data = text.encode("utf-8", "surrogatepass")[:most]
    return data.decode("utf-8", "ignore") if is_text(text) else _before_surrogate(data)


def _before_surrogate(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[:error.start].decode()


def is_text(text: str) -> bool:
    """Can it be sent as UTF-8?"""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_text(what: str, text: str, most: int) -> Optional[str]:
    n = size(text)
    if n == 0:
        return "%s is empty; give 1 to %d bytes" % (what, most)
    if n > most:
        return "%s has %d bytes, the limit is %d; shorten it" % (what, n, most)
    if not is_text(text):
        return "%s is not UTF-8; encode it as UTF-8" % what
    found = _CONTROL.search(text)
    if found:
        return "%s has a control character at byte %d; remove it" % (what, size(text[:found.start()]))
    return None


def name(what: str, text: str) -> Optional[str]:
    wrong = _check_text(what, text, NAME_BYTES)
    if wrong is None and "/" in text:
        return "%s has a '/' at byte %d; use '.' or '-' instead" % (what, size(text[:text.index("/")]))
    return wrong


def instance(text: str, most: int = INSTANCE_BYTES) -> Optional[str]:
    wrong = _check_text("instance id", text, most)
    if wrong is None and re.match(r"queue~.*~\d+\Z", text, re.S):
        return ("instance id '%s' has the form that bound queues make (queue~NAME~NUMBER); choose another id"
                % cut(text, 100))
    return wrong


def made_instance(text: str) -> Optional[str]:
    n = size(text)
    if n > CHILD_BYTES:
        return "the child's id would be %d bytes, limit %d: give it a shorter one" % (n, CHILD_BYTES)
    return None


def version(text: Optional[str]) -> Optional[str]:
    if text and size(text) > 64:
        return "version has %d bytes, the limit is 64; shorten it" % size(text)
    if text and not _VERSION.match(text):
        return 'version "%s" is not major.minor.patch[-pre][+build]; write it like 1.4.0' % text
    return None


def delay(what: str, ms: int) -> Optional[str]:
    if not 0 <= ms <= DELAY_MS:
        return "%s is %d ms, limit 0..%d (100 years)" % (what, ms, DELAY_MS)
    return None


def payload(what: str, text: str, limits: Mapping[str, Any]) -> Optional[str]:
    most = limits.get("payload_bytes")
    if most and size(text) > most:
        return "%s is %d bytes, limit %d (--max-payload)" % (what, size(text), most)
    return None


def status(text: str) -> Optional[str]:
    n = size(text)
    return "status is %d bytes, limit %d" % (n, STATUS_BYTES) if n > STATUS_BYTES else None


def item(queue: str, text: str, priority: int, delay_ms: int, limits: Mapping[str, Any]) -> Optional[str]:
    base = queue
    while base.endswith("-deadletter") and size(queue) <= 2 * NAME_BYTES and len(base) > len("-deadletter"):
        base = base[:-len("-deadletter")]
    wrong = name("queue name", base)
    if wrong is None and queue in (".", ".."):
        wrong = "queue name is '%s', which a URL cannot hold; choose another" % queue
    if wrong is None and limits.get("queues") is False:
        wrong = "the store has no queues"
    most = min(limits.get("item_bytes") or 1048576, limits.get("payload_bytes") or 1048576)
    if wrong is None and size(text) > most:
        wrong = "item is %d bytes, limit %d" % (size(text), most)
    if wrong is None and priority < 0:
        wrong = "Priority must be non-negative"
    if wrong is None and not 0 <= delay_ms <= PUSH_DELAY_MS:
        wrong = "delay must be between 0 and 7 days"
    return wrong


def state(key: str, value: Optional[str], held: Mapping[str, str]) -> Optional[str]:
    """A change of published state; `value` None clears the key."""
    n = size(key)
    if n > STATE_KEY_BYTES:
        return "state key is %d bytes, limit %d" % (n, STATE_KEY_BYTES)
    wrong = name("state key", key)
    if wrong or value is None:
        return wrong
    if size(value) > STATE_VALUE_BYTES:
        return "state value is %d bytes, limit %d" % (size(value), STATE_VALUE_BYTES)
    after = dict(held)
    after[key] = value
    total = sum(size(k) + size(v) for k, v in after.items())
    if len(after) > STATE_KEYS or total > STATE_BYTES:
        return ("state would have %d keys and %d bytes, limit %d keys and %d bytes"
                % (len(after), total, STATE_KEYS, STATE_BYTES))
    return None


def options(opts: Mapping[str, Any]) -> Optional[str]:
    """The options of a call that have a limit of their own."""
    tag, key, priority = opts.get("tag"), opts.get("key"), opts.get("priority")
    wrong = name("tag", tag) if tag is not None else None
    if wrong is None and tag is not None and tag.startswith("pawl."):
        wrong = "tag '%s' begins with pawl., which is reserved; choose another" % tag
    if wrong is None and key is not None:
        wrong = _check_text("key", key, LANE_KEY_BYTES)
    if wrong is None and priority is not None and not 0 <= priority <= PRIORITY:
        wrong = "priority is %d, limit 1..%d" % (priority, PRIORITY)
    return wrong


def raised_to(text: str) -> Optional[str]:
    """The instance an event is raised to: it may be one that Pawl made."""
    return _check_text("instance id", text, CHILD_BYTES)


def attributes(change: Mapping[str, Any], text: str) -> Optional[str]:
    """A change of attributes: names with a text, an integer or None.  How many there are the server knows."""
    if size(text) > ATTRIBUTES_BYTES:
        return "attributes are %d bytes, limit %d" % (size(text), ATTRIBUTES_BYTES)
    if len(change) > 64:
        return "a change has more than 64 attributes; make two of it"
    for key, value in change.items():
        if not _ATTRIBUTE.match(key):
            return "an attribute's name begins with a-z and has a-z, 0-9, '_', '.' or '-'; rename one of them"
        why = _attribute(key, value)
        if why:
            return "attribute '%s' %s" % (key[:63], why)
    return None


def _attribute(key: str, value: Any) -> Optional[str]:
    if len(key) > 63:
        return "has a name of more than 63 bytes; shorten it"
    if key.startswith("pawl."):
        return "begins with 'pawl.', which is reserved; rename it"
    if isinstance(value, bool):
        return "is true or false; give 1 or 0"
    if isinstance(value, str):
        return ("is a text of more than 255 bytes; shorten it" if size(value) > 255 else
                "has a control character in its text; remove it" if re.search("[\x00-\x1f\x7f]", value) else None)
    if isinstance(value, float) or isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return "is no integer of 64 bits; give one, or a text"
    return None if value is None or isinstance(value, int) else "is an array or an object; give a text or an integer"
