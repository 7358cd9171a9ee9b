# SPDX-License-Identifier: MIT
"""What the turn loop has under way: the turn that is driven, steps that run in this worker, calls that
carry answers."""
from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from .errors import Error
from .leases import Task, say
from .turns import Answer
from .wire import Trouble


class Inline:
    """A step that runs in this worker."""

    def __init__(self, run: str, ref: int, task: Task, function: Callable[[], Any], encode: Callable[[Any], str]):
        self.run, self.ref, self.task, self.function, self.encode = run, ref, task, function, encode
        self.text = ""


class Call:
    """Answers that were sent together: by run, and the results inside them."""

    def __init__(self, batch: Dict[str, Answer], sent: Dict[str, List[Inline]], forgets: List[str], asks: int):
        self.batch, self.sent, self.forgets, self.asks = batch, sent, forgets, asks
        self.tokens = {answer["token"]: run for run, answer in batch.items()}
        self.response: Dict[str, Any] = {}
        self.error: Optional[Exception] = None

    def make(self, post: Callable[..., Dict[str, Any]]) -> None:
        """In the thread of a sender: the response, or why there is none."""
        members: Dict[str, Any] = {"answers": list(self.batch.values()), "max": self.asks}
        if self.forgets:
            members["forget"] = self.forgets
        try:
            self.response = post(**members)
        except Exception as error:                         # the driver judges it
            self.error = error

    def is_unsendable(self) -> bool:
        """Is it about what the answers hold: too large, no JSON?  Then nothing was done."""
        if isinstance(self.error, Error):
            return self.error.status in (400, 413)
        return self.error is not None and not isinstance(self.error, Trouble)


class Watch:
    """Code that does not come to its next await.

    The lease of a turn is renewed while it is worked on, but not for ever: after TURN_LIMIT seconds in
    one turn its stack is printed and the lease may end, so that the server sees a lost worker and blocks
    the instance after some of them (poison)."""

    TURN_LIMIT = 30.0

    def __init__(self) -> None:
        self._now: Optional[Tuple[str, str, float, int]] = None     # token, instance, since, thread
        self._told = ""

    @contextlib.contextmanager
    def over(self, turn: Mapping[str, Any]) -> Iterator[None]:
        self._now = (turn["token"], turn["instance"], time.monotonic(), threading.get_ident())
        try:
            yield
        finally:
            self._now = None

    def late(self, in_hand: Dict[str, float], turn_ms: int) -> List[str]:
        """Tokens whose leases must be renewed soon."""
        old, stuck = time.monotonic() - turn_ms / 4000, self._stuck()
        return [token for token, since in list(in_hand.items()) if since < old and token != stuck]

    def _stuck(self) -> str:
        now = self._now
        if now is None or time.monotonic() - now[2] < self.TURN_LIMIT:
            return ""
        if self._told != now[0]:
            self._told = now[0]
            stack = "".join(traceback.format_stack(sys._current_frames().get(now[3]), 12))
            say("%s: its code runs for %d s without an await; is it blocking?" % (now[1], self.TURN_LIMIT))
            print(stack, file=sys.stderr, flush=True)
        return now[0]
