# SPDX-License-Identifier: MIT
"""For schemathesis: what is fine by the schema and no business of a test is brought nearer."""
import time

import schemathesis


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@schemathesis.hook
def before_call(context, case, **kwargs):
    body = case.body if isinstance(case.body, dict) else {}
    waits = ((case.query, "wait_seconds", None), (case.query, "timeout_ms", 60000), (body, "wait_ms", 60000))
    for part, name, most in waits:                           # a long wait is a wait
        value = part.get(name) if part else None
        if number(value) and value == int(value) > 1 and (not most or value <= most):
            part[name] = 1
    for item in [body] + [i for i in body.get("items") or [] if isinstance(i, dict)] \
            if isinstance(body.get("items", []), list) else [body]:
        if number(item.get("deliver_at")) and 0 <= item["deliver_at"] <= 99999999999:
            item["deliver_at"] = min(item["deliver_at"], time.time() + 1000)   # at most 7 days ahead of today
    if number(body.get("start_at")) and 0 <= body["start_at"] < 2 ** 63:
        body["start_at"] = min(body["start_at"], int(time.time() * 1000) + 1000)   # at most 100 years ahead of today
    if case.query and case.query.get("sort") and "after" in case.query:
        del case.query["after"]                              # a sorted list is one page
    if body.get("orchestration") == "pawl.job":
        body["orchestration"] = "job"                        # its input is that of a job
    if body.get("action") and not body.get("filter") and not body.get("ids"):
        body["filter"] = {}                                  # one of them
    queue = (case.path_parameters or {}).get("queue")
    if queue is not None and body.get("dead_letter_queue") == queue:
        del body["dead_letter_queue"]                        # no queue is its own
