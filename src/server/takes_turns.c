/* SPDX-License-Identifier: MIT */
/*
 * server/takes_turns.c -- the body of POST /api/v1/turns, for its check and for /openapi.json.
 *
 * Its own members are checked by this table; answers by turns_read.c, each alone.  The schemas in
 * docs/protocol/turns.schema.json say the same in full.
 */
#include "pawl/turns.h"
#include "server/shape.h"

/* clang-format off */
static const struct field code_fields[] = {
    TEXT("name", NEEDED, "of the orchestration", IS_NAME),
    TEXT("version", NEEDED, "of its code", IS_VERSION),
    END
};
static const struct shape code = {.name = "TurnCode", .presence = BODY_JSON, .fields = code_fields, .always = true};

static const struct field answer_fields[] = {
    TEXT("token", NEEDED, "of the turn, or the idle token", .min = 1),
    ANY("steps", 0, "what the code did on each message"),
    ANY("wait", 0, "what it waits for now"),
    ANY("mismatch", 0, "code and history disagree"),
    ANY("bug", 0, "the code is wrong"),
    ANY("release", 0, "true: give it back"),
    END
};
static const struct shape answer = {.name = "TurnAnswer", .presence = BODY_JSON, .fields = answer_fields, .always = true};

static const struct field turns_fields[] = {
    WHOLE("protocol", NEEDED, 1, INT32_MAX, "1"),
    TEXT("session", NEEDED, "one life of one worker process, random", .min = PAWL_TURNS_SESSION_MIN,
         .max = PAWL_TURNS_SESSION_MAX, .pattern = "^[A-Za-z0-9_-]*$"),
    TEXT("worker", OR_NULL, "its name, for people", .max = LIMIT_NAME_BYTES, .pattern = "^[^\\u0000]*$"),
    OBJECTS("code", 0, &code, "what this session can run; left out: as last told", .min = 1, .max = PAWL_TURNS_CODE_MAX),
    OBJECTS("answers", 0, &answer, "to turns in hand; independent of each other", .max = PAWL_TURNS_ANSWERS_MAX),
    TEXTS("beats", 0, 0, PAWL_TURNS_ANSWERS_MAX, "tokens of turns that are still worked on"),
    TEXTS("forget", 0, 0, PAWL_TURNS_FORGET_MAX, "runs dropped from its cache"),
    WHOLE("max", OR_NULL, 0, PAWL_TURNS_MAX, "turns wanted", .otherwise = "0"),
    WHOLE("wait_ms", OR_NULL, 0, PAWL_TURNS_WAIT_MAX, "how long to wait for the first; with answers not at all", .otherwise = "0"),
    WHOLE("lease_ms", OR_NULL, PAWL_LEASE_MIN, PAWL_LEASE_MAX, "leases of its inline steps, until their first heartbeat; left out: as last told, at first 30000"),
    TRUTH("leaving", OR_NULL, "it shuts down: no turns, and others may have its runs", .otherwise = "false"),
    END
};
const struct shape takes_turns = {.name = "Turns", .presence = BODY_JSON, .fields = turns_fields, .always = true,
    .example = "{\"protocol\":1,\"session\":\"k3J0aVx9Qe2LmN7p\",\"code\":[{\"name\":\"Order\",\"version\":\"1.0.0\"}],\"max\":1}"};
/* clang-format on */
