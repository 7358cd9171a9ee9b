# SPDX-License-Identifier: MIT
"""A few threads that run what they are given, in the order given.

Smaller than concurrent.futures, and its threads are daemons: an activity that never returns cannot keep a
process that was told to stop.  Threads start when they are needed.
"""
from __future__ import annotations

import queue
import threading
import time
from typing import Callable, List, Optional

Job = Callable[[], None]


class Pool:
    """At most `size` threads."""

    def __init__(self, size: int, name: str):
        self.size, self.name = max(1, size), name
        self._jobs: "queue.SimpleQueue[Optional[Job]]" = queue.SimpleQueue()
        self._threads: List[threading.Thread] = []
        self._lock = threading.Lock()
        self._busy = 0                    # jobs that run or wait

    @property
    def busy(self) -> int:
        return self._busy

    def submit(self, job: Job) -> None:
        with self._lock:
            self._busy += 1
            if self._busy > len(self._threads) and len(self._threads) < self.size:
                thread = threading.Thread(target=self._work, daemon=True, name="%s-%d" % (self.name, len(self._threads) + 1))
                self._threads.append(thread)
                thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            try:
                job()
            finally:
                with self._lock:
                    self._busy -= 1

    def wait(self, seconds: Optional[float]) -> bool:
        """Until nothing runs; False: the time is over."""
        end = None if seconds is None else time.monotonic() + seconds
        while self._busy:
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(0.005)
        return True

    def close(self) -> None:
        """Its threads end when they have done what they have."""
        for _ in self._threads:
            self._jobs.put(None)
