# SPDX-License-Identifier: MIT
"""Calls about instances (docs/guide/http.md): start, find, ask, steer, look.  Plans: see plans.py."""
from __future__ import annotations

import time
from typing import Any, Dict, Iterable, List, Optional, Union

from .errors import Pending
from .plans import ABSENT, Answer, Json, Pages, Plan, Request, at_instance, given, quote


def start(orchestration: str, input: Any = ABSENT, instance: Optional[str] = None, version: Optional[str] = None,
          allow_unregistered: bool = False, **options: Any) -> Plan[Json]:
    """Start an orchestration; durable on return, and idempotent by instance id.

    Options: start_at (milliseconds since 1970) or delay_ms, deadline_ms, if_exists ("same",
    "use", "rerun", "terminate"), attributes (names and values it can be found by), and
    raise_=[{"event": …, "data": …, "key": …}, …]: events for it, in the commit of the start.
    """
    if "raise_" in options:  # raise is a word of Python
        options["raise"] = options.pop("raise_")
    body = {"orchestration": orchestration, **options, **given(instance=instance, version=version)}
    if input is not ABSENT:
        body["input"] = input
    if allow_unregistered:
        body["allow_unregistered"] = True
    twice = instance is not None and body.get("if_exists") not in ("rerun", "terminate")
    return (yield Request("POST", "/api/v1/instances", body, repeat=twice))[1]


def job(activity: str, input: Any = ABSENT, instance: Optional[str] = None, **options: Any) -> Plan[Json]:
    """Run one activity, durably, without orchestration code; as start().

    Options: attempts, backoff, initial_ms, start_to_close_ms, tag, key, priority … as in the HTTP API.
    """
    body = {"activity": activity, **options, **given(instance=instance)}
    if input is not ABSENT:
        body["input"] = input
    return (yield Request("POST", "/api/v1/jobs", body))[1]


def rerun(instance: str, input: Any = ABSENT, **options: Any) -> Plan[Json]:
    """Run an instance that has ended again; without `input` with that of its start.

    Options: version, deadline_ms, attributes.
    """
    body = {**options, **({} if input is ABSENT else {"input": input})}
    return (yield Request("POST", at_instance(instance) + "/rerun", body))[1]


def instances(where: Union[str, Iterable[str]] = (), **query: Any) -> Plan[Json]:
    """A page of instances, newest first: "instances", and "next" for `after`.

    `where` has conditions on attributes, all of which hold: ["customer=c-42", "total>=500"].
    Others: status, orchestration, prefix, parent, q, limit, after … as in the HTTP API.
    """
    return (yield Request("GET", "/api/v1/instances", query={**query, "where": _conditions(where)}))[1]


def search(where: Union[str, Iterable[str]] = (), **query: Any) -> Pages:
    """Every instance that matches, newest first, page after page; arguments as of instances()."""
    return Pages("/api/v1/instances", "instances", {**query, "where": _conditions(where)})


def _conditions(where: Union[str, Iterable[str]]) -> Optional[List[str]]:
    return ([where] if isinstance(where, str) else list(where)) or None


def batch(action: str, filter: Optional[Json] = None, ids: Optional[List[str]] = None, **options: Any) -> Plan[Json]:
    """One action (cancel, terminate, suspend, resume, retry, delete …) on many instances.

    Options: dry_run, reason, limit, after."""
    return (yield Request("POST", "/api/v1/instances:batch", {"action": action, **given(filter=filter, ids=ids), **options}))[1]


def prune(before: int, limit: Optional[int] = None) -> Plan[Json]:
    """Remove trees that ended before a time (milliseconds since 1970); again until it removes none."""
    return (yield Request("POST", "/api/v1/instances:prune", given(before=before, limit=limit)))[1]


def set_attributes(instance: str, attributes: Json) -> Plan[Json]:
    """Change attributes of an instance: merged into those it has, None removes one."""
    return (yield Request("PATCH", at_instance(instance) + "/attributes", attributes))[1]


def get(instance: str, execution: Optional[int] = None, with_: Optional[str] = None) -> Plan[Json]:
    """An instance; with_="why" also why it waits."""
    return (yield Request("GET", at_instance(instance), query={"execution": execution, "with": with_}))[1]


def wait(instance: str, timeout: Optional[float] = None) -> Plan[Json]:
    """Wait until it has ended; TimeoutError when that takes longer than `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = 60.0 if end is None else max(0.0, min(60.0, end - time.monotonic()))
        status, value = yield Request("GET", at_instance(instance) + "/wait", query={"timeout_ms": int(left * 1000)})
        if status == 200:
            return value
        if end is not None and time.monotonic() >= end:
            raise TimeoutError("instance %r is still %s" % (instance, value["status"]))


def raise_event(instance: str, event: str, data: Any = None, key: Optional[str] = None,
                await_start: bool = False) -> Plan[None]:
    """Raise an event.  The same key raises it once; await_start keeps it for an id that is not there yet."""
    yield Request("POST", at_instance(instance) + "/events/" + quote(event), data,
                  {"await_start": 1} if await_start else None, {"Idempotency-Key": key} if key else None)


# ---- Updates ----------------------------------------------------------------------------


def update(instance: str, name: str, data: Any = None, key: Optional[str] = None, timeout_ms: int = 10000) -> Plan[Any]:
    """Ask the code of an instance for something, and return its answer.

    A rejection raises Rejected, a refusal by a check Refused, a time-out Pending with the id of
    the update (`update`) for update_result().  The same key gives the same answer.
    """
    answer = yield Request("POST", at_instance(instance) + "/updates/" + quote(name), data, {"timeout_ms": timeout_ms},
                           {"Idempotency-Key": key} if key else None)
    return _answered(answer)


def update_result(instance: str, update: str, wait_ms: int = 0) -> Plan[Any]:
    """The answer of an update that was made before, by its id."""
    return _answered((yield Request("GET", at_instance(instance) + "/updates/" + quote(update), query={"wait_ms": wait_ms})))


def _answered(answer: Answer) -> Any:
    status, value = answer
    if status == 202:
        raise Pending(value["update"])
    return value["result"]


# ---- Steering ---------------------------------------------------------------------------


def _steer(instance: str, verb: str, reason: Optional[str]) -> Plan[None]:
    yield Request("POST", "%s/%s" % (at_instance(instance), verb), {"reason": reason})


def cancel(instance: str, reason: Optional[str] = None) -> Plan[None]:
    """Ask its code to stop; it may compensate first."""
    return _steer(instance, "cancel", reason)


def terminate(instance: str, reason: Optional[str] = None) -> Plan[None]:
    """End it at once, without its code."""
    return _steer(instance, "terminate", reason)


def suspend(instance: str, reason: Optional[str] = None) -> Plan[None]:
    """Nothing of it runs until resume()."""
    return _steer(instance, "suspend", reason)


def resume(instance: str, reason: Optional[str] = None) -> Plan[None]:
    """Go on after suspend()."""
    return _steer(instance, "resume", reason)


def retry(instance: str, reason: Optional[str] = None) -> Plan[None]:
    """Try a blocked instance again, for instance with corrected code."""
    return _steer(instance, "retry", reason)


def delete(instance: str, force: bool = False) -> Plan[Json]:
    """Remove an instance and its descendants; `force` one that runs, too."""
    return (yield Request("DELETE", at_instance(instance), query={"force": "true" if force else None}))[1]


# ---- Looking ----------------------------------------------------------------------------


def history(instance: str, execution: Optional[int] = None) -> Pages:
    """Its events; one that completes a task has `result_kind` (ok, failed, which time-out,
    poison …), one that completes an activity `attempts`, too."""
    return Pages(at_instance(instance) + "/history", "events", {"execution": execution}, 0)


def export(instance: str, execution: Optional[int] = None) -> Plan[Json]:
    """An execution as a file: what `pawl export` writes, all pages of it."""
    whole: Dict[str, Any] = {}
    after: Any = 0
    while after is not None:
        page = (yield Request("GET", at_instance(instance) + "/export", query={"execution": execution, "after": after}))[1]
        events = whole.get("events", []) + page["events"]
        whole = {**page, "events": events}
        after = whole.pop("next", None)
    return whole


def executions(instance: str) -> Pages:
    """Its executions, the newest first."""
    return Pages(at_instance(instance) + "/executions", "executions", {})


def why(instance: str) -> Plan[Json]:
    """What it waits for, since when, and what wakes it: a `sentence` and its parts."""
    return (yield Request("GET", at_instance(instance) + "/why"))[1]


def tree(instance: str) -> Plan[Json]:
    """The instance with its `children`."""
    return (yield Request("GET", at_instance(instance) + "/tree"))[1]


def timeline(instance: str, execution: Optional[int] = None) -> Plan[Json]:
    """Its steps as bars over time."""
    return (yield Request("GET", at_instance(instance) + "/timeline", query={"execution": execution}))[1]


def state(instance: str, key: Optional[str] = None) -> Plan[Any]:
    """What the code of an instance has published: the value of `key`, or all by key.

    A key that is not set raises NotFound."""
    path = at_instance(instance) + "/state"
    if key is not None:
        return (yield Request("GET", path + "/" + quote(key)))[1]["value"]
    return {item["key"]: item["value"] for item in (yield Request("GET", path))[1]["items"]}


def state_wait(instance: str, key: str, version: int = 0, wait_ms: int = 30000) -> Plan[Json]:
    """One key with its `version`, once it has a newer one than `version`, or the time is over."""
    return (yield Request("GET", at_instance(instance) + "/state/" + quote(key), query={"version": version, "wait_ms": wait_ms}))[1]


def asks(event: Optional[str] = None, orchestration: Optional[str] = None) -> Pages:
    """What instances ask people for; answer with raise_event()."""
    return Pages("/api/v1/asks", "asks", {"event": event, "orchestration": orchestration})


# ---- The server -------------------------------------------------------------------------


def overview() -> Plan[Json]:
    """Counts by state and orchestration, problems by cause, the process."""
    return (yield Request("GET", "/api/v1/overview"))[1]


def registry() -> Plan[Json]:
    """The code this server has."""
    return (yield Request("GET", "/api/v1/registry"))[1]


def workers() -> Plan[List[Json]]:
    """Workers that gave a name in the last ten minutes."""
    return (yield Request("GET", "/api/v1/workers"))[1]["items"]


def version() -> Plan[Json]:
    """Which version the server is."""
    return (yield Request("GET", "/version"))[1]
