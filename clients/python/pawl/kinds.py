# SPDX-License-Identifier: MIT
"""What must be known about each kind of event: its class and its family.

A history is a list of events.  A START opens it, a MESSAGE happened to it, a DECISION was made by its
code, a MARK is stepped over by a replay, an END closes it.  What code can wait for comes in families of
one shape: a decision that opens a task, messages that complete it, a decision that withdraws it.
The server's tables are include/pawl/event.h and src/tables/awaitables.h.
"""
from __future__ import annotations

from typing import Any, Dict, FrozenSet, NamedTuple

Event = Dict[str, Any]

STARTED = "OrchestrationStarted"
CANCEL_REQUESTED = "OrchestrationCancelRequested"
SUSPENDED, RESUMED = "OrchestrationSuspended", "OrchestrationResumed"
COMPLETED, FAILED = "OrchestrationCompleted", "OrchestrationFailed"
CONTINUED, CANCELLED = "OrchestrationContinuedAsNew", "OrchestrationCancelled"
TERMINATED = "OrchestrationTerminated"
ENDS = frozenset((COMPLETED, FAILED, CONTINUED, CANCELLED, TERMINATED))

ACTIVITY, TIMER, EXTERNAL = "ActivityScheduled", "TimerCreated", "ExternalSubscribed"
UPDATE, CHILD = "UpdateWaited", "SubOrchestrationScheduled"
DETACHED, SENT_EVENT = "OrchestrationChained", "EventSent"
ANSWERED = "UpdateAnswered"
STATUS, PUSHED, STATE, ATTRIBUTES = "CustomStatusUpdated", "QueuePushed", "StateChanged", "AttributesSet"
PATCH, CARRIED = "PatchRecorded", "StateCarried"
MARKS = frozenset((PATCH, CARRIED))


class Family(NamedTuple):
    word: str      # in findings
    do: str        # of the decision that opens the task
    done: str
    failed: str    # "": it cannot fail
    cancel: str
    refusal: str   # follows a refused schedule at once; "": nothing does


FAMILIES: Dict[str, Family] = {
    ACTIVITY: Family("activity", "call", "ActivityCompleted", "ActivityFailed",
                     "ActivityCancelRequested", "ActivityFailed"),
    TIMER: Family("timer", "timer", "TimerFired", "", "TimerCancelled", "TimerCancelled"),
    EXTERNAL: Family("external", "event", "ExternalEvent", "", "ExternalCancelled", "ExternalCancelled"),
    UPDATE: Family("update", "update", "UpdateAccepted", "", "UpdateWaitCancelled", "UpdateWaitCancelled"),
    CHILD: Family("sub", "child", "SubOrchestrationCompleted", "SubOrchestrationFailed",
                  "SubOrchestrationCancelRequested", "SubOrchestrationFailed"),
    DETACHED: Family("detached", "detach", "", "", "", ""),
    SENT_EVENT: Family("event", "raise", "", "", "", ""),
}
SENT = frozenset((DETACHED, SENT_EVENT))          # a task id, done at once
COMPLETES: Dict[str, str] = {kind: opens for opens, f in FAMILIES.items() for kind in (f.done, f.failed) if kind}
CANCELS: Dict[str, str] = {f.cancel: opens for opens, f in FAMILIES.items() if f.cancel}
MESSAGES: FrozenSet[str] = frozenset(COMPLETES) | {CANCEL_REQUESTED, SUSPENDED, RESUMED}
DECISIONS: FrozenSet[str] = (frozenset(FAMILIES) | frozenset(CANCELS) |
                             {ANSWERED, STATUS, PUSHED, STATE, ATTRIBUTES})
KNOWN: FrozenSet[str] = DECISIONS | MESSAGES | ENDS | MARKS | {STARTED}
_WORDS = {PUSHED: "queue", STATE: "key", ANSWERED: "update", ATTRIBUTES: "attributes"}

# The end of a step, and the event it becomes; the reason given to what is still open then.
END_KIND = {"completed": COMPLETED, "failed": FAILED, "continue": CONTINUED, "cancelled": CANCELLED}
REASON = {COMPLETED: "orchestration completed", FAILED: "orchestration failed",
          CONTINUED: "orchestration continued as new", CANCELLED: "orchestration cancelled",
          TERMINATED: "orchestration terminated"}


def word_of(kind: str) -> str:
    """The word of a finding: "activity", "timer", "key" …"""
    opens = CANCELS.get(kind) or COMPLETES.get(kind) or kind
    return FAMILIES[opens].word if opens in FAMILIES else _WORDS.get(kind, "none")


def attrs_of(event: Event) -> Dict[str, Any]:
    return event.get("attrs") or {}


def refusal_of(event: Event) -> Any:
    """Why the recorded call was refused; None: it was not."""
    return attrs_of(event).get("refused")


def belongs_to_end(kind: str) -> bool:
    """May it stand between the return of the code and the END?"""
    return kind in CANCELS or kind == ANSWERED


def describe(event: Event) -> str:
    """ActivityScheduled #2 'Charge'"""
    ref, name = event.get("ref"), event.get("name")
    return event["kind"] + (" #%d" % ref if ref else "") + (" '%s'" % name if name else "")
