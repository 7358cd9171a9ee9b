# SPDX-License-Identifier: MIT
"""`ctx.state`: values by key that the code publishes; any client may read them while it waits.

Setting and clearing are decisions, compared on replay.  Reading follows from the history alone.  The
state survives continue-as-new.  A change beyond the limits raises CallRefused, and the value before
stands.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional

from . import kinds, limits
from .errors import CallRefused

if TYPE_CHECKING:
    from .run import Run


class State:
    """A mapping: ctx.state["total"] = 5; ctx.state.get("total"); del ctx.state["total"]."""

    def __init__(self, run: "Run"):
        self._run = run

    def set(self, key: str, value: Any) -> None:
        run = self._run
        text = run.codec.encode(value)
        wrong = limits.state(key, text, run.state) if run.live else None
        self._decide({"do": "state", "name": key, "data": text}, "ctx.state.set", wrong, False)
        run.state[limits.cut(key, limits.NAME_BYTES)] = text

    def clear(self, key: str) -> None:
        run = self._run
        wrong = limits.state(key, None, run.state) if run.live else None
        self._decide({"do": "state", "name": key, "cleared": True}, "ctx.state.clear", wrong, True)
        run.state.pop(key, None)

    def get(self, key: str, default: Any = None) -> Any:
        """What this instance set last."""
        text: Optional[str] = self._run.state.get(key)
        return default if text is None else self._run.codec.decode(text)

    def _decide(self, decision: Dict[str, Any], api: str, wrong: Optional[str], cleared: bool) -> None:
        refused = self._run.plain(kinds.STATE, decision, api, wrong, cleared=cleared)
        if refused is not None:
            raise CallRefused(refused, "refused")

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __getitem__(self, key: str) -> Any:
        if key not in self._run.state:
            raise KeyError(key)
        return self.get(key)

    def __delitem__(self, key: str) -> None:
        self.clear(key)

    def __contains__(self, key: object) -> bool:
        return key in self._run.state

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._run.state))

    def __len__(self) -> int:
        return len(self._run.state)
