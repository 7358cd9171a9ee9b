# SPDX-License-Identifier: MIT
"""Last of all: every status that a contract promises was seen, and none that no one promised.

The promises of HTTP_API and QUEUE_API are written down here by hand; /openapi.json must have them,
and every status it has must have been answered to some test of this run.
"""
import re

import kit

GENERAL = {304, 405, 414, 415, 431}                               # not the business of one route
CONTRACT = {
    "GET /health": "200 503", "GET /ready": "200 503", "GET /metrics": "200", "GET /openapi.json": "200",
    "GET /": "200", "GET /version": "200", "GET /api/v1/stream": "200",
    "POST /api/v1/instances": "200 201 400 401 403 404 409 413 421 503 507",
    "GET /api/v1/instances": "200 400 401 421 503",
    "GET /api/v1/instances/{id}": "200 400 404", "GET /api/v1/instances/{id}/history": "200 400 404",
    "GET /api/v1/instances/{id}/wait": "200 202 400 404", "GET /api/v1/instances/{id}/why": "200 404",
    "GET /api/v1/instances/{id}/tree": "200 404", "GET /api/v1/instances/{id}/timeline": "200 400 404",
    "PATCH /api/v1/instances/{id}/attributes": "200 400 404",
    "GET /api/v1/instances/{id}/state": "200 404", "GET /api/v1/instances/{id}/state/{key}": "200 400 404",
    "POST /api/v1/instances/{id}/events/{name}": "202 400 404 409 413 507",
    "POST /api/v1/instances/{id}/cancel": "202 400 404 409",
    "POST /api/v1/instances/{id}/terminate": "202 400 404 409",
    "POST /api/v1/instances/{id}/suspend": "202 400 404 409",
    "POST /api/v1/instances/{id}/resume": "202 400 404 409",
    "POST /api/v1/instances/{id}/retry": "202 400 404 409",
    "DELETE /api/v1/instances/{id}": "200 400 404 409", "POST /api/v1/instances:batch": "200 400",
    "POST /api/v1/instances:prune": "200 400",
    "POST /api/v1/work/poll": "200 400", "POST /api/v1/work/{token}/complete": "200 410",
    "POST /api/v1/work/{token}/fail": "200 410", "POST /api/v1/work/{token}/heartbeat": "200 410",
    "POST /api/v1/work/{token}/abandon": "200 410",
    "POST /queue/{queue}/push": "200 400 413 429 503 507", "POST /queue/{queue}/pop": "200 400 423",
    "POST /queue/{queue}/acknowledge": "200 207 400 404 410",
    "POST /queue/{queue}/extend-lock": "200 400 404 410", "POST /queue/{queue}/release": "200 400 404 410",
    "POST /queue/{queue}/deadletter": "200 400 404 410", "POST /queue/{queue}/redrive": "200",
    "GET /queue/{queue}": "200 404", "GET /queue": "200", "GET /queue/{queue}/messages": "200",
    "GET /queue/{queue}/messages/{message}": "200 404",
    "DELETE /queue/{queue}/messages/{message}": "200 404 409", "GET /queue/{queue}/locks": "200",
    "POST /queue/{queue}/purge": "200", "POST /queue/{queue}/pause": "200",
    "POST /queue/{queue}/resume": "200", "PUT /queue/{queue}/config": "200 400",
    "GET /queue/{queue}/config": "200",
}


def documented(server):
    """{(method, pattern): statuses}"""
    doc = server.get("/openapi.json").json
    return {(method.upper(), path): {int(s) for s in operation["responses"]}
            for path, item in doc["paths"].items() for method, operation in item.items()}


def test_every_documented_status_was_seen(server):
    table = documented(server)
    for name, statuses in CONTRACT.items():
        method, pattern = name.split(" ")
        missing = {int(s) for s in statuses.split()} - table[method, pattern]
        assert not missing, (name, "not in /openapi.json", missing)
    if kit.ONLY or "asan" in str(kit.BUILD) or "tsan" in str(kit.BUILD):
        return                                               # the rest needs the other tests, all of them
    shapes = {key: re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(key[1])) + "$") for key in table}
    seen = {key: set() for key in table}
    for method, path, status in kit.SEEN:
        fits = [key for key in table if key[0] == method and shapes[key].match(path)]
        exact = [key for key in fits if key[1] == path]
        for key in exact or fits:
            seen[key].add(status)
    unseen = sorted("%s %s: %d" % (*key, s) for key in table for s in table[key] - seen[key])
    assert not unseen, "no test had it answered: %s" % unseen
    extra = sorted("%s %s: %d" % (*key, s) for key in table for s in seen[key] - table[key] - GENERAL)
    assert not extra, "answered, and not documented: %s" % extra
