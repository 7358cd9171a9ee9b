# SPDX-License-Identifier: MIT
"""Lines of the author's source, for findings: `order.py:41`.

A frame of this package or of the standard library is not the author's.  Nothing here runs while all
is well: sites are looked up when a finding is made.
"""
from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Optional

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
UNKNOWN = "?"


def _is_authors(path: str) -> bool:
    path = os.path.abspath(path)
    if path.startswith(_HERE):
        return False
    return not path.startswith(_STANDARD) or "site-packages" in path


def _site(path: str, line: Optional[int]) -> str:
    return "%s:%d" % (os.path.basename(path), line or 0)


def here() -> str:
    """The author's line that is running now."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if _is_authors(frame.f_code.co_filename):
            return _site(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN


def of_error(error: BaseException) -> str:
    """The author's line that raised it."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_authors(frame.filename):
            return _site(frame.filename, frame.lineno)
    return UNKNOWN


def of_wait(coro: Any) -> str:
    """The author's innermost line in which a coroutine is suspended."""
    site = UNKNOWN
    while coro is not None:
        frame = getattr(coro, "cr_frame", None) or getattr(coro, "gi_frame", None)
        if frame is not None and _is_authors(frame.f_code.co_filename):
            site = _site(frame.f_code.co_filename, frame.f_lineno)
        coro = getattr(coro, "cr_await", None) or getattr(coro, "gi_yieldfrom", None)
    return site


def of_function(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return _site(code.co_filename, code.co_firstlineno) if code else UNKNOWN


def trace(error: BaseException, most: int = 8000) -> str:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return text[-most:]
