# SPDX-License-Identifier: MIT
"""Nothing in a body is misread in silence: unknown, misspelt, doubled and contradictory members are
refused, with what is known, and change nothing.  The bodies are written down here by hand."""
import json

from kit import Server, expect
from test_matrix import path_of, routes, snapshot
from test_queue import pop, push

I = "/api/v1/instances"
LOCK = {"lock_id": "abc"}
SCHEDULE = """cron every_ms offset_ms at_ms zone gap fold from_ms until_ms jitter_ms max_runs overlap queue_max missed
    missed_window_ms paused pause_on_failure orchestration version queue priority input allow_unregistered"""

# Every call with a body: one that is fine, and every member there is.
BODIES = {
    "POST " + I: ({"orchestration": "Ask"}, "orchestration input instance id start_at delay_ms deadline_ms if_exists attributes version "
                           "allow_unregistered raise update"),
    "POST /api/v1/jobs": ({"activity": "A"}, "activity input instance id start_at delay_ms deadline_ms if_exists attributes attempts "
                          "backoff initial_ms cap_ms factor jitter final_errors no_retry_on_timeout "
                          "schedule_to_start_ms start_to_close_ms schedule_to_close_ms heartbeat_ms tag max_crashes "
                          "at_most_once key priority"),
    "POST " + I + ":batch": ({"action": "cancel", "filter": {}, "dry_run": True},
                             "action filter ids dry_run reason limit after"),
    "POST " + I + ":prune": ({"before": 1}, "before limit"),
    "POST /api/v1/schedules:next": ({"every_ms": 1000}, SCHEDULE),
    "PUT /api/v1/schedules/{schedule}": ({"every_ms": 1000}, SCHEDULE),
    "POST /api/v1/schedules/{schedule}/backfill": ({"from_ms": 0, "to_ms": 1}, "from_ms to_ms allow spec"),
    "POST /api/v1/schedules/{schedule}/pause": ({}, "reason"),
    "POST /api/v1/schedules/{schedule}/resume": ({}, ""), "POST /api/v1/schedules/{schedule}/trigger": ({}, ""),
    "POST /api/v1/work/poll": ({"activities": ["Nobody"]}, "activities tags max wait_ms lock_ms worker"),
    "POST /api/v1/work/{token}/complete": ({"result": 1}, "result"),
    "POST /api/v1/work/{token}/fail": ({"error": "e"}, "error retryable"),
    "POST /api/v1/work/{token}/heartbeat": ({}, "lock_ms details"),
    "POST /api/v1/work/{token}/abandon": ({}, "delay_ms"),
    "POST /queue/{queue}/push": ({"item": 1}, "item priority dedup_id delay_seconds deliver_at "
                                              "expires_in_seconds headers group"),
    "POST /queue/{queue}/acknowledge": (LOCK, "lock_id"),
    "POST /queue/{queue}/extend-lock": (LOCK, "lock_id additional_ttl_seconds ttl_seconds"),
    "POST /queue/{queue}/release": (LOCK, "lock_id delay_seconds reason"),
    "POST /queue/{queue}/deadletter": (LOCK, "lock_id reason"),
    "POST /queue/{queue}/redrive": ({}, "max rate_per_second target"),
    "POST /queue/{queue}/purge": ({}, "priority"),
    "POST /queue/{queue}/pause": ({}, ""), "POST /queue/{queue}/resume": ({}, ""),
    "PUT /queue/{queue}/config": ({}, """max_locks default_ttl_seconds max_lock_seconds on_expire max_deliveries
        dead_letter_queue retry_backoff_seconds dedup_window_seconds message_ttl_seconds dead_letter_expired
        max_length max_bytes default_priority groups retain orchestration version"""),
    **{"POST %s/{id}/%s" % (I, verb): ({}, "reason") for verb in "cancel terminate suspend resume retry".split()},
}


def prepared():
    server = Server()
    server.start_instance("Ask", None, "x")
    for i in range(3):
        push(server, "mail-1", str(i), priority=i)
    return server


def said(reply):
    body = reply.json
    return body["message"] if "message" in body else body["error"]["message"]


def refused(server, name, body):
    method, pattern = name.split(" ")
    reply = server.call(method, path_of(pattern), body)
    assert reply.status == 400, (name, body, reply)
    return said(reply)


def test_unknown_members_are_refused_everywhere():
    with prepared() as server:
        doc = server.get("/openapi.json").json
        before = snapshot(server)
        for method, pattern, _ in routes(server):
            body = doc["paths"][pattern][method.lower()].get("requestBody")
            name = method + " " + pattern
            if not body or name.endswith(("/events/{name}", "/updates/{name}", "/attributes")):  # those are any JSON
                continue
            good, known = BODIES[name] if name in BODIES else ({}, None)
            for odd in ("zz", "", "a b", "Item\u00e4", "\u0000", "x" * 300):
                text = refused(server, name, {**good, odd: 1})
                assert text.startswith("unknown field '"), (name, text)
                if known is not None:
                    assert text.endswith("; known here: " + (", ".join(known.split()) or "none")), (name, text)
        assert set(BODIES) <= {m + " " + p for m, p, _ in routes(server)}
        assert snapshot(server) == before


def test_an_idempotency_key_has_its_limits_on_every_call():
    with prepared() as server:
        paths, tried = server.get("/openapi.json").json["paths"], 0
        before = snapshot(server)
        for method, pattern, _ in routes(server):
            about = paths[pattern][method.lower()].get("parameters", [])
            if "Idempotency-Key" in [p.get("name", p.get("$ref", "").split("/")[-1]) for p in about]:
                good = BODIES.get(method + " " + pattern, ({},))[0]
                for key in ("", "k" * 129, "k" * 5000):
                    reply = server.call(method, path_of(pattern), good, headers={"Idempotency-Key": key})
                    assert reply.status in (400, 413) and "Idempotency-Key" in said(reply), (pattern, len(key), reply)
                    assert "1 to 128" in said(reply), (pattern, reply)
                tried += 1
        assert tried >= 5, tried
        assert snapshot(server) == before


SAMPLES = {"string": "zz", "integer": 3, "number": 0.5, "boolean": True, "array": [7], "object": {"zz": 1}}


def variants(doc, schema):
    """What a value may be: the schema, or each of its alternatives."""
    while "$ref" in schema:
        at = doc
        for part in schema["$ref"].split("/")[1:]:
            at = at[part]
        schema = at
    several = schema.get("oneOf") or schema.get("anyOf")
    return sum((variants(doc, s) for s in several), []) if several else [schema]


def kinds(doc, schema):
    found = set()
    for one in variants(doc, schema):
        given = one.get("type", list(SAMPLES))
        found |= {given} if isinstance(given, str) else set(given)
    return found | ({"integer"} if "number" in found else set())


def wrong_values(doc, schema, depth=0):
    """Values of other kinds than the schema's, one wrong thing at a time; lists that are too long."""
    yield from (value for kind, value in SAMPLES.items() if kind not in kinds(doc, schema))
    for one in variants(doc, schema) if depth < 3 else []:
        for name, member in one.get("properties", {}).items():
            needed = {n: 1 if n == "item" else "e" for n in one.get("required", [])}
            yield from ({**needed, name: value} for value in wrong_values(doc, member, depth + 1))
        if "items" in one:
            yield from ([value] for value in wrong_values(doc, one["items"], depth + 1))
        if "items" in one and one.get("maxItems", 9999) < 2000:
            yield ["a=1"] * (one["maxItems"] + 1)


def test_members_of_another_kind_are_refused_everywhere():
    with prepared() as server:
        doc = server.get("/openapi.json").json
        before, tried = snapshot(server), 0
        for name, (good, known) in BODIES.items():
            method, pattern = name.split(" ")
            schema = doc["paths"][pattern][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
            for one in variants(doc, schema):
                for member, about in one.get("properties", {}).items():
                    for value in wrong_values(doc, about):
                        refused(server, name, {**good, member: value} if member in known.split() else {member: value})
                        tried += 1
        assert tried > 500, tried
        assert snapshot(server) == before


def test_did_you_mean():
    with prepared() as server:
        before = snapshot(server)
        for name, (good, known) in BODIES.items():
            for word in known.split():
                for odd in {word[:-1] + "_" + word[-1:], word.upper(), word + "x", word[1:2] + word[:1] + word[2:]}:
                    if odd == word or len(word) < 3:
                        continue
                    body = {k: v for k, v in good.items() if k != word}
                    text = refused(server, name, {odd: 1, **body})
                    assert "unknown field '%s'" % odd in text, (name, text)
                    assert "(did you mean '%s'?)" % word in text, (name, odd, text)
        assert snapshot(server) == before


def test_unknown_members_of_objects_inside():
    with prepared() as server:
        before = snapshot(server)
        text = refused(server, "POST " + I + ":batch", {"action": "cancel", "filter": {"prefx": "y"}})
        assert "unknown field 'prefx' in filter (did you mean 'prefix'?); known here: status, " in text, text
        text = refused(server, "POST /queue/{queue}/push", {"items": [{"item": 1}, {"item": 2, "prioriti": 1}]})
        assert "unknown field 'prioriti' in items[1] (did you mean 'priority'?)" in text, text
        text = refused(server, "POST /queue/{queue}/push", '{"items":[{"item":1,"item":2}]}')
        assert text == "'item' is given twice in items[0]; give it once", text
        text = refused(server, "POST /queue/{queue}/push",
                       {"items": [{"item": 1, "delay_seconds": 1, "deliver_at": 1}]})
        assert "contradict each other in items[0]" in text, text
        text = refused(server, "POST /queue/{queue}/push", {"items": [{"item": 1}], "priority": 5})
        assert text == "unknown field 'priority'; known here: items", text
        assert snapshot(server) == before


def test_contradictions_and_doubles():
    pairs = (("POST /queue/{queue}/push", {"item": 1, "items": [{"item": 1}]}),
             ("POST /queue/{queue}/push", {"item": 1, "delay_seconds": 1, "deliver_at": 1}),
             ("POST /queue/{queue}/push", {"item": 1, "delay_seconds": 0, "deliver_at": None}),
             ("POST /queue/{queue}/acknowledge", {"lock_id": "a", "lock_ids": ["b"]}),
             ("POST /queue/{queue}/extend-lock", {"lock_id": "a", "ttl_seconds": 5, "additional_ttl_seconds": 5}),
             ("POST " + I, {"orchestration": "Ask", "instance": "a", "id": "b"}),
             ("POST " + I, {"orchestration": "Ask", "id": "a", "instance": "a"}))
    with prepared() as server:
        before = snapshot(server)
        for name, body in pairs:
            assert "contradict each other; give one of them" in refused(server, name, body), (name, body)
        for name, (_, known) in BODIES.items():
            for word in known.split():
                text = refused(server, name, '{"%s":1,"%s":1}' % (word, word))
                assert text == "'%s' is given twice; give it once" % word, (name, text)
        assert snapshot(server) == before


def test_lenient_reads_as_before():
    with Server("--lenient") as server:
        for i in range(3):
            push(server, "q", str(i), priority=i)
        expect(server.post("/queue/q/purge", {"prority": 5}), 200, items_purged=3)
        expect(server.post("/queue/q/push", {"item": 1, "items": 5, "delay_second": 60, "group": "g"}), 200)
        expect(server.post("/queue/q/push", '{"item":2,"item":3}'), 200)
        assert [pop(server, "q")["items"] for _ in range(2)] == [[1], [2]]
        expect(server.post(I, {"orchestration": "Ask", "inptu": 1, "instance": "a"}), 201)
        expect(server.get(I + "/a", body='{"execution":7}'), 200)
        # these two refused what they do not know before, too
        expect(server.post(I + ":batch", {"action": "cancel", "filter": {"prefx": 1}}), 400)
        expect(server.post(I + ":batch", {"action": "cancel", "filter": {}, "dryrun": True}), 400)
        expect(server.call("PUT", "/queue/q/config", {"max_lock": 1}), 400)


def test_bodies_that_nobody_reads():
    """{"force":true} in the body of a DELETE, a filter in that of a GET: refused, not ignored."""
    with prepared() as server:
        doc = server.get("/openapi.json").json
        before = snapshot(server)
        for method, pattern, _ in routes(server):
            if "requestBody" in doc["paths"][pattern][method.lower()] or pattern == "/api/v1/stream":
                continue
            for body in ('{"force":true}', "[]", "x", '""'):
                reply = server.call(method, path_of(pattern), body)
                assert reply.status == 400 and "body" in said(reply), (method, pattern, body, reply)
            for body in ("", "{}", "null", " { } \n"):
                if method == "GET":
                    path = path_of(pattern) + ("?timeout_ms=0" if pattern.endswith("/wait") else "")
                    assert server.call(method, path, body).status != 400, (method, pattern, body)
        assert snapshot(server) == before


def test_whole_numbers_are_whole_however_written(server):
    for i, text in enumerate(("5", "5.0", "5.000", "0.5e1", "50e-1", "5E0", "500000.0e-5", "5.0e+0")):
        expect(server.post("/queue/w/push", '{"item":%d,"priority":%s}' % (i, text)), 200,
               message="Item pushed to queue w at priority 5")
    expect(server.post("/queue/w/push", '{"item":9,"priority":9223372036854775807.0}'), 200)
    expect(server.post("/queue/w/push", '{"item":9,"priority":-0.0}'), 200,
           message="Item pushed to queue w at priority 0")
    for bad in ("5.5", "5e-1", "9223372036854775808.0", "1e19", "1e99999999999", "1e-99999999999", "0.1e-400"):
        expect(server.post("/queue/w/push", '{"item":9,"priority":%s}' % bad), 400,
               message="Priority must be an integer")
    expect(server.post("/queue/w/purge", '{"priority":5.0}'), 200, items_purged=8)
    expect(server.post("/api/v1/work/poll", '{"activities":["A"],"max":1e1,"wait_ms":0.0}'), 200, items=[])


def test_half_of_a_surrogate_pair():
    """No text of any language has one; whoever reads it back cannot write it again."""
    halves = (r'"\ud800"', r'"\udc00"', r'"\udbff x"', r'"\ud83d\u0041"', r'"\ude00\ud83d"', r'"\uD800\\udc00"',
              r'"\ud83d\ud83d\ude00"', r'{"\udfff":1}')
    whole = (r'"\ud83d\ude00"', r'"\\ud800"', r'"\\\\ud800"', r'"\uD83D\uDE00\u0000\ud7ff\ue000"', r'"\"\ud83d\ude00"')
    with prepared() as server:
        before = snapshot(server)
        for raw in halves:
            for path, body in ((I + "/x/events/E", raw), ("/queue/mail-1/push", '{"item":%s}' % raw),
                               (I, '{"orchestration":"Ask","input":%s}' % raw),
                               ("/api/v1/work/w/complete", '{"result":[1,%s]}' % raw)):
                reply = expect(server.post(path, body), 400)
                assert "half of a surrogate pair at byte %d" % body.index("\\u", body.index(raw)) in said(reply) or \
                    raw.count("\\u") > 1, (body, reply)
        assert snapshot(server) == before
        for i, raw in enumerate(whole):
            expect(server.post(I, '{"orchestration":"Echo","instance":"w%d","input":%s}' % (i, raw)), 201)
            assert ('"output":' + raw).encode() in server.get(I + "/w%d/wait" % i).body


def test_refusals_name_the_limit():
    with Server("--max-body", "100K", "--max-payload", "10K") as server:
        deep = "[" * 64 + "]" * 64
        for path, body in ((I, '{"orchestration":"Ask","input":%s}' % deep), ("/queue/q/push", '{"item":%s}' % deep)):
            text = said(expect(server.post(path, body), 400))
            assert "nested deeper than 64 levels at byte %d" % (body.index("[") + 63) in text, text
        expect(server.post(I + "/x/events/E", deep), 404)
        big = json.dumps("x" * 120000)
        for path in (I, "/queue/q/push", I + "/x/events/E"):
            text = said(expect(server.post(path, big), 413))
            assert "102400 bytes" in text and "--max-body" in text, text
        text = said(expect(server.post(I, {"orchestration": "Ask", "input": "x" * 20000}), 413))
        assert "10240" in text and "--max-payload" in text, text
    with Server() as server:
        text = said(expect(server.post("/queue/q/push", {"item": "x" * 1100000}), 413))
        assert "1048576" in text, text


def test_id_is_another_name_for_instance(server):
    expect(server.post(I, {"orchestration": "Ask", "id": "mine"}), 201, instance="mine")
    expect(server.post(I, {"orchestration": "Ask", "instance": "mine"}), 200, created=False)
    expect(server.post(I, {"orchestration": "Ask", "id": ""}), 400)


def test_a_start_with_an_idempotency_key(server):
    start = lambda key, **more: server.post(I, {"orchestration": "Ask", **more}, headers={"Idempotency-Key": key})
    first = expect(start("k-1", input=1), 201, created=True).json["instance"]
    expect(start("k-1", input=1), 200, created=False, instance=first)
    expect(start("k-1", input=2), 409)                       # the same key for something else
    expect(start("k-2", input=1), 201)
    server.restart()
    expect(start("k-1", input=1), 200, created=False, instance=first)
    expect(start("\u00e4 /\t" * 25, input=1), 201)           # any text is a key
    expect(start("k" * 129, input=1), 413, "too_large")
    expect(server.post(I + "/own/events/E", "1", headers={"Idempotency-Key": ""}), 400, "invalid")
    expect(start("k-1", input=1, instance="own"), 201, instance="own")   # an id is a key already
    expect(start("", input=1), 400, "invalid")
    assert len(server.get(I).json["instances"]) == 4
    for body in ({}, {}):
        expect(server.post(I, {"orchestration": "Ask"}), 201)


WEEK, MOST = 604800, 2 ** 63 - 1

# Every number of a call: where, and its bounds.  The settings of queues are in test_queue.py.
IN_BODY = [
    (I + ":batch", {"action": "cancel", "filter": {}, "dry_run": True}, "limit", 1, 1000),
    (I + ":prune", {}, "before", 0, MOST), (I + ":prune", {"before": 1}, "limit", 1, 1000),
    ("/api/v1/work/poll", {"activities": ["Nobody"]}, "max", 1, 100),
    ("/api/v1/work/poll", {"activities": ["Nobody"]}, "lock_ms", 1000, 3600000),
    ("/api/v1/work/w1.0/heartbeat", {}, "lock_ms", 1000, 3600000),
    ("/api/v1/work/w1.0/abandon", {}, "delay_ms", 0, WEEK * 1000),
    ("/queue/n/push", {"item": 1}, "delay_seconds", 0, WEEK),
    ("/queue/n/push", {"item": 1}, "expires_in_seconds", 0, 315360000),
    ("/queue/n/extend-lock", LOCK, "additional_ttl_seconds", 1, 300),
    ("/queue/n/extend-lock", LOCK, "ttl_seconds", 1, 300),
    ("/queue/n/release", LOCK, "delay_seconds", 0, WEEK),
    ("/queue/n/redrive", {}, "max", 1, MOST), ("/queue/n/redrive", {}, "rate_per_second", 1, 1000000),
    ("/queue/n/purge", {}, "priority", 0, MOST),
]
IN_QUERY = [
    ("GET", I, "limit", 1, 1000), ("GET", I, "created_after", 0, MOST),
    ("GET", I + "/x", "execution", 0, MOST), ("GET", I + "/x/history", "execution", 0, MOST),
    ("GET", I + "/x/history", "after", 0, MOST), ("GET", I + "/x/history", "limit", 1, 1000),
    ("GET", I + "/x/wait", "timeout_ms", 0, 60000),
    ("GET", "/queue", "limit", 1, 1000), ("GET", "/queue/n/messages", "limit", 1, 1000),
    ("GET", "/queue/n/messages", "priority", 0, MOST),
    ("POST", "/queue/n/pop", "count", 1, 100), ("POST", "/queue/n/pop", "max_priority", 0, MOST),
]


def test_every_number_takes_its_bounds_and_nothing_beyond(server):
    server.start_instance("Echo", 1, "x")
    server.ended("x")
    push(server, "n", "1")
    for path, body, name, least, most in IN_BODY:
        for n in (least, most):
            reply = server.post(path, {**body, name: n})
            assert reply.status < 500 and reply.status != 400, (path, name, n, reply)
        for n in (least - 1, most + 1):
            text = said(expect(server.post(path, {**body, name: n}), 400))
            assert text == "%s must be a %s from %d to %d" % (
                name, "whole number" if "whole" in text else "number", least, most), text
    for method, path, name, least, most in IN_QUERY:
        for n in (least, most):
            reply = server.call(method, "%s?%s=%d" % (path, name, n))
            assert reply.status < 500 and reply.status != 400, (path, name, n, reply)
        for n in (least - 1, most + 1):
            text = said(expect(server.call(method, "%s?%s=%d" % (path, name, n)), 400))
            assert text == "%s must be a whole number from %d to %d" % (name, least, most), text
