# SPDX-License-Identifier: MIT
"""/openapi.json as a machine reads it: everything has a type, a name and a schema, and nothing is left open.
Whether it is true is for tests/clients, which holds every answer against it."""
from kit import Server, expect
from test_fields import BODIES
from test_matrix import PUBLIC

I = "/api/v1/instances"
NO_JSON = {"root": "text/html", "metrics": "text/plain", "stream": "text/event-stream"}


def operations(doc):
    return [(method.upper() + " " + path, op) for path, item in doc["paths"].items() for method, op in item.items()]


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def test_every_operation_is_described(server):
    doc = server.get("/openapi.json").json
    ids = [op["operationId"] for _, op in operations(doc)]
    assert len(set(ids)) == len(ids) >= 44 and "pop" in ids, ids
    for name, op in operations(doc):
        assert op["summary"] and op["tags"], name
        for p in op["parameters"]:
            assert p["description"] and p["schema"].get("type"), (name, p)
            assert p["required"] == (p["in"] == "path"), (name, p)
        for status, answer in op["responses"].items():
            want = NO_JSON.get(op["operationId"], "application/json") if status[0] == "2" else "application/json"
            assert answer["description"] and list(answer["content"]) == [want], (name, status)
            if want == "application/json" and op["operationId"] != "openapi":
                assert "$ref" in answer["content"][want]["schema"], (name, status, "has no schema")
            if status in ("423", "429", "503", "507"):
                assert "Retry-After" in answer["headers"], (name, status)
        assert (op["security"] == []) == (name in PUBLIC), name
    for ref in references(doc):
        assert ref.startswith("#/components/schemas/") and ref.rpartition("/")[2] in doc["components"]["schemas"], ref
    named = {ref.rpartition("/")[2] for ref in references(doc)}
    assert set(doc["components"]["schemas"]) == named, "schemas that nobody refers to: generators make types of them"


def test_queries_have_types(server):
    doc = server.get("/openapi.json").json
    types = {(op["operationId"], p["name"]): p["schema"] for _, op in operations(doc) for p in op["parameters"]}
    assert types["pop", "count"] == {"type": "integer", "minimum": 1, "maximum": 100, "format": "int64", "default": 1}
    assert types["pop", "require_ack"] == {"type": "boolean", "default": False}
    assert "pending" in types["list", "status"]["pattern"] and types["list", "sort"]["enum"][0] == "newest"
    assert types["history", "after"]["type"] == "integer" and types["list", "after"]["type"] == "string"
    for name in ("push", "raise", "start"):
        assert types[name, "Idempotency-Key"] == {"type": "string", "minLength": 1, "maxLength": 128}


def test_bodies_are_those_that_are_taken(server):
    """The members of the schema are those of the list by hand, and the example is taken."""
    doc = server.get("/openapi.json").json
    schemas = doc["components"]["schemas"]
    for name, op in operations(doc):
        if name not in BODIES:
            continue
        media = op["requestBody"]["content"]["application/json"]
        schema = schemas[media["schema"]["$ref"].rpartition("/")[2]]
        for one in schema.get("oneOf", []):
            schema = schemas[one["$ref"].rpartition("/")[2]] if one["$ref"].endswith("One") else schema
        known = BODIES[name][1].split()
        assert sorted(schema["properties"]) == sorted(known), name
        assert schema.get("propertyNames", {"enum": []})["enum"] == known, name
        assert "example" in media, name
        assert all(p["description"] for p in schema["properties"].values()), name


# What a body must have, by hand.
NEEDED = {"Start": "orchestration", "Batch": "action", "Prune": "before", "PushOne": "item", "Items": "items",
          "Item": "item", "AcknowledgeOne": "lock_id", "AcknowledgeMany": "lock_ids", "ExtendLock": "lock_id",
          "Release": "lock_id", "DeadLetter": "lock_id", "Poll": "activities", "Reason": "", "Purge": "", "Redrive": "",
          "Config": "", "Complete": "", "Fail": "", "Heartbeat": "", "Abandon": ""}
# And some answers.
GIVEN = {"ApiError": "error", "ErrorBody": "code message", "QueueError": "success message", "Polled": "items",
         "Popped": "items count", "Started": "instance execution created", "Accepted": "instance accepted"}


def test_what_must_be_there_is_said(server):
    doc = server.get("/openapi.json").json
    schemas = doc["components"]["schemas"]
    for name, words in {**NEEDED, **GIVEN}.items():
        assert schemas[name].get("required", []) == words.split(), (name, schemas[name].get("required"))
    for name, op in operations(doc):                         # without it: refused, in words that name it
        method, path = name.split()
        schema = op.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        words = NEEDED.get(schema.get("$ref", "").rpartition("/")[2], "").split()
        if words:
            reply = expect(server.call(method, path.replace("{queue}", "q"), {}), 400)
            assert any(w.encode() in reply.body for w in words), (name, reply)


def test_security_follows_the_server():
    with Server("--store", "memory:") as server:
        doc = server.get("/openapi.json").json
        assert doc["paths"]["/queue"]["get"]["security"] == [{}, {"bearer": []}]
        assert doc["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_what_schemathesis_found(server):
    for path in ("/queue/nobody/messages", "/queue/nobody/locks"):
        expect(server.get(path), 404)
    expect(server.post(I + ":batch", {"action": "cancel", "filter": {"parent": "nobody"}}), 404, "not_found")
    for after in ("-1", "+1", " 1", "0x1", "AB", "1" * 17, "0", "12xyz"):
        expect(server.get(I + "?after=" + after.replace(" ", "%20").replace("+", "%2B")), 400, "invalid")
    expect(server.post(I + ":batch", {"action": "cancel", "filter": {}, "reason": "x" * 4097}), 413, "too_large")
    for key in ("orchestration", "version", "dead_letter_queue"):
        expect(server.call("PUT", "/queue/q/config", {key: ""}), 400, message=key + " is empty; give one, or leave it out")
    expect(server.post("/queue/q/redrive", {"target": ""}), 400)
    expect(server.post("/queue/q/push", {"item": 1}, headers={"Idempotency-Key": ""}), 400)
    expect(server.get("/queue/q"), 404)
