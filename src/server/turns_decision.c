/* SPDX-License-Identifier: MIT */
/*
 * server/turns_decision.c -- the decisions of a worker's step, from JSON.
 *
 * One table has every member that some decision has; a second one says which of them each decision
 * must and may have (docs/protocol/turns.md, section 6).  A member that belongs to another decision
 * is refused as an unknown one is: {"end":"completed","error":"x"} says two things.
 *
 * Called by turns_read.c.
 */
#include "server/turns_decision.h"

#include "base/json.h"

#include <stddef.h>
#include <string.h>

/* ---- Options of a call -------------------------------------------------------- */

static bool read_backoff(struct turn_reading *r, void *to, pawl_str value)
{
    static const char *const words[] = {"exponential", "linear", "fixed"};
    static const pawl_backoff backoffs[] = {PAWL_BACKOFF_EXPONENTIAL, PAWL_BACKOFF_LINEAR,
                                            PAWL_BACKOFF_FIXED};
    pawl_str text;

    for (size_t i = 0; turn_text(r, value, &text) && i < COUNT_OF(words); i++)
        if (pawl_str_is(text, words[i])) {
            ((pawl_call_opts *)to)->backoff = backoffs[i];
            return true;
        }
    return false;
}

static bool read_final_errors(struct turn_reading *r, void *to, pawl_str value)
{
    struct json_iter it;
    size_t n = 0;

    if (json_type(value) != JSON_ARRAY)
        return false;
    const char **list = pawl_mem_alloc(r->mem, (turn_length(value) + 1) * sizeof(*list));
    for (json_begin(&it, value); json_next(&it);)
        if (!turn_cstr(r, it.value, &list[n++]))
            return false;
    list[n] = NULL;
    ((pawl_call_opts *)to)->final_errors = list;
    return true;
}

#define IN_OPTS(field) offsetof(pawl_call_opts, field)
static const struct turn_member opts_members[] = {
    {"attempts",             TO_U32,     IN_OPTS(attempts),             0, NULL             },
    {"initial_ms",           TO_INT,     IN_OPTS(initial_ms),           0, NULL             },
    {"cap_ms",               TO_INT,     IN_OPTS(cap_ms),               0, NULL             },
    {"factor",               TO_REAL,    IN_OPTS(factor),               0, NULL             },
    {"jitter",               TO_REAL,    IN_OPTS(jitter),               0, NULL             },
    {"no_retry_on_timeout",  TO_BOOL,    IN_OPTS(no_retry_on_timeout),  0, NULL             },
    {"schedule_to_start_ms", TO_INT,     IN_OPTS(schedule_to_start_ms), 0, NULL             },
    {"start_to_close_ms",    TO_INT,     IN_OPTS(start_to_close_ms),    0, NULL             },
    {"schedule_to_close_ms", TO_INT,     IN_OPTS(schedule_to_close_ms), 0, NULL             },
    {"heartbeat_ms",         TO_INT,     IN_OPTS(heartbeat_ms),         0, NULL             },
    {"tag",                  TO_CSTR,    IN_OPTS(tag),                  0, NULL             },
    {"max_crashes",          TO_U32,     IN_OPTS(max_crashes),          0, NULL             },
    {"at_most_once",         TO_BOOL,    IN_OPTS(at_most_once),         0, NULL             },
    {"key",                  TO_CSTR,    IN_OPTS(key),                  0, NULL             },
    {"priority",             TO_U32,     IN_OPTS(priority),             0, NULL             },
    {"backoff",              TO_ITS_OWN, 0,                             0, read_backoff     },
    {"final_errors",         TO_ITS_OWN, 0,                             0, read_final_errors},
    {NULL,                   TO_TEXT,    0,                             0, NULL             }
};

static bool read_opts(struct turn_reading *r, void *to, pawl_str raw)
{
    pawl_call_opts *opts = pawl_mem_alloc(r->mem, sizeof(*opts));

    *opts = (pawl_call_opts){.size = sizeof(*opts)};
    if (!turn_object(r, raw, opts_members, opts, NULL))
        return false;
    if (opts->tag && strncmp(opts->tag, "pawl.", 5) == 0)
        return turn_bad(r, "a tag that begins with pawl. is reserved", pawl_s(opts->tag));
    ((pawl_decision *)to)->opts = opts;
    return true;
}

/* ---- Members ------------------------------------------------------------------- */

static bool read_attributes(struct turn_reading *r, void *to, pawl_str value)
{
    (void)r;
    ((pawl_decision *)to)->data = value;
    return json_type(value) == JSON_OBJECT;
}

static bool read_deed(struct turn_reading *r, void *to, pawl_str value)
{
    pawl_decision *d = to;
    pawl_str word;

    if (d->deed || !turn_text(r, value, &word))
        return false;
#define DEED(name, number, text)                                                                   \
    if (pawl_str_is(word, text) && (number) != PAWL_DEED_FINISH)                                   \
        d->deed = PAWL_DEED_##name;
    PAWL_DEEDS(DEED)
#undef DEED
    return d->deed || turn_bad(r, "unknown decision", word);
}

static bool read_end(struct turn_reading *r, void *to, pawl_str value)
{
    static const char *const words[] = {"completed", "failed", "continue", "cancelled"};
    pawl_decision *d = to;
    pawl_str word;

    if (d->deed || !turn_text(r, value, &word))
        return false;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (pawl_str_is(word, words[i]))
            d->end = (pawl_deed_end)(i + 1);
    d->deed = PAWL_DEED_FINISH;
    return d->end || turn_bad(r, "unknown end", word);
}

/* 1 to 399 bytes. */
static bool read_refused(struct turn_reading *r, void *to, pawl_str value)
{
    pawl_str *refused = &((pawl_decision *)to)->refused;

    return turn_text(r, value, refused) && refused->len >= 1 && refused->len <= 399;
}

/* X(ENUM, word, type, field, flag, reader) */
/* clang-format off */
#define MEMBERS(X)                                                                     \
    X(DO,          "do",          TO_ITS_OWN, deed,        0,                     read_deed)       \
    X(OUTCOME,     "end",         TO_ITS_OWN, deed,        0,                     read_end)        \
    X(REF,         "ref",         TO_REF,     ref,         0,                     NULL)            \
    X(NAME,        "name",        TO_TEXT,    name,        0,                     NULL)            \
    X(DATA,        "data",        TO_TEXT,    data,        0,                     NULL)            \
    X(DATA64,      "data64",      TO_BYTES,   data,        0,                     NULL)            \
    X(TEXT,        "text",        TO_TEXT,    data,        0,                     NULL)            \
    X(OUTPUT,      "output",      TO_TEXT,    data,        0,                     NULL)            \
    X(ERROR,       "error",       TO_TEXT,    data,        0,                     NULL)            \
    X(INPUT,       "input",       TO_TEXT,    data,        0,                     NULL)            \
    X(INSTANCE,    "instance",    TO_TEXT,    instance,    0,                     NULL)            \
    X(VERSION,     "version",     TO_TEXT,    version,     0,                     NULL)            \
    X(REASON,      "reason",      TO_TEXT,    reason,      0,                     NULL)            \
    X(REFUSED,     "refused",     TO_ITS_OWN, refused,     0,                     read_refused)    \
    X(ASK,         "ask",         TO_RAW,     ask,         0,                     NULL)            \
    X(DELAY,       "delay_ms",    TO_INT,     delay_ms,    0,                     NULL)            \
    X(PRIORITY,    "priority",    TO_INT,     priority,    0,                     NULL)            \
    X(DEADLINE,    "deadline_ms", TO_INT,     deadline_ms, 0,                     NULL)            \
    X(LEASE,       "lease",       TO_FLAG,    flags,       PAWL_DEED_LEASE,       NULL)            \
    X(FRESH,       "fresh",       TO_FLAG,    flags,       PAWL_DEED_FRESH,       NULL)            \
    X(ABANDON,     "abandon",     TO_FLAG,    flags,       PAWL_DEED_ABANDON,     NULL)            \
    X(INHERIT,     "inherit",     TO_FLAG,    flags,       PAWL_DEED_INHERIT,     NULL)            \
    X(AWAIT_START, "await_start", TO_FLAG,    flags,       PAWL_DEED_AWAIT_START, NULL)            \
    X(CLEARED,     "cleared",     TO_FLAG,    flags,       PAWL_DEED_CLEARED,     NULL)            \
    X(REJECTED,    "rejected",    TO_FLAG,    flags,       PAWL_DEED_REJECTED,    NULL)            \
    X(OPTS,        "opts",        TO_ITS_OWN, opts,        0,                     read_opts)       \
    X(ATTRIBUTES,  "attributes",  TO_ITS_OWN, data,        0,                     read_attributes)
/* clang-format on */

enum {
#define MEMBER_NUMBER(name, word, to, field, flag, reader) NUMBER_##name,
    MEMBERS(MEMBER_NUMBER)
#undef MEMBER_NUMBER
};

enum {
#define MEMBER_BIT(name, word, to, field, flag, reader) M_##name = 1 << NUMBER_##name,
    MEMBERS(MEMBER_BIT)
#undef MEMBER_BIT
};

/* clang-format off */
static const struct turn_member members[] = {
#define MEMBER_ROW(name, word, to, field, flag, reader)                                            \
    {word, to, (to) == TO_ITS_OWN ? 0 : offsetof(pawl_decision, field), flag, reader},
    MEMBERS(MEMBER_ROW)
#undef MEMBER_ROW
    {NULL, TO_TEXT, 0, 0, NULL}
};
/* clang-format on */

/* ---- Which decision has which ---------------------------------------------------- */

#define M_BYTES (M_DATA | M_DATA64)
#define M_CHILD (M_BYTES | M_VERSION | M_INHERIT | M_DEADLINE | M_REFUSED)

struct deed_rule {
    unsigned must;  /* always */
    unsigned needs; /* unless it is refused */
    unsigned may;
};

static const struct deed_rule rules[] = {
    [PAWL_DEED_CALL] = {M_REF,            M_NAME,              M_BYTES | M_OPTS | M_LEASE | M_REFUSED    },
    [PAWL_DEED_TIMER] = {M_REF,            M_DELAY,             M_REFUSED                                 },
    [PAWL_DEED_EVENT] = {M_REF,            M_NAME,              M_FRESH | M_ASK | M_REFUSED               },
    [PAWL_DEED_UPDATE] = {M_REF,            M_NAME,              M_REFUSED                                 },
    [PAWL_DEED_CHILD] = {M_REF,            M_NAME | M_INSTANCE, M_CHILD | M_ABANDON                       },
    [PAWL_DEED_DETACH] = {M_REF,            M_NAME | M_INSTANCE, M_CHILD                                   },
    [PAWL_DEED_RAISE] = {M_REF,            M_NAME | M_INSTANCE, M_BYTES | M_AWAIT_START | M_REFUSED       },
    [PAWL_DEED_CANCEL] = {M_REF | M_REASON, 0,                   0                                         },
    [PAWL_DEED_ANSWER] = {M_REF,            0,                   M_BYTES | M_REJECTED | M_REFUSED          },
    [PAWL_DEED_STATUS] = {0,                M_TEXT,              M_REFUSED                                 },
    [PAWL_DEED_STATE] = {0,                M_NAME,              M_BYTES | M_CLEARED | M_REFUSED           },
    [PAWL_DEED_ATTRIBUTES] = {0,                M_ATTRIBUTES,        M_REFUSED                                 },
    [PAWL_DEED_PUSH] = {0,                M_NAME,              M_BYTES | M_PRIORITY | M_DELAY | M_REFUSED},
    [PAWL_DEED_PATCH] = {M_NAME,           0,                   0                                         },
};

static const struct deed_rule ends[] = {
    [PAWL_DEED_COMPLETED] = {0, 0, M_OUTPUT | M_REFUSED           },
    [PAWL_DEED_FAILED] = {0, 0, M_ERROR | M_REFUSED            },
    [PAWL_DEED_CONTINUE] = {0, 0, M_INPUT | M_VERSION | M_REFUSED},
    [PAWL_DEED_CANCELLED] = {0, 0, 0                              },
};

/* The word of the lowest of these members. */
static pawl_str word_of(unsigned bits)
{
    size_t n = 0;

    while (!(bits >> n & 1))
        n++;
    return pawl_s(members[n].name);
}

static bool fits(struct turn_reading *r, const pawl_decision *d, unsigned seen)
{
    const struct deed_rule *rule = d->deed == PAWL_DEED_FINISH ? &ends[d->end] : &rules[d->deed];
    unsigned must = rule->must | (seen & M_REFUSED ? 0 : rule->needs);
    unsigned more = seen & ~(rule->must | rule->needs | rule->may | M_DO | M_OUTCOME);

    if (must & ~seen)
        return turn_bad(r, "it is missing", word_of(must & ~seen));
    if (more)
        return turn_bad(r, "this decision has no such member", word_of(more));
    if ((seen & M_BYTES) == M_BYTES)
        return turn_bad(r, "data and", pawl_s("data64"));
    if (d->deed == PAWL_DEED_STATE && !(seen & M_REFUSED) &&
        !(seen & M_BYTES) == !(seen & M_CLEARED))
        return turn_bad(r, "state has data, or it is", pawl_s("cleared"));
    return true;
}

bool turn_decisions(struct turn_reading *r, pawl_str raw, pawl_turn_step *step)
{
    struct json_iter it;

    if (json_type(raw) != JSON_ARRAY)
        return turn_bad(r, "not a list", pawl_s("decisions"));
    pawl_decision *list = pawl_mem_alloc(r->mem, (turn_length(raw) + 1) * sizeof(*list));
    for (json_begin(&it, raw); json_next(&it);) {
        pawl_decision *d = &list[step->count++];
        uint64_t seen = 0;
        *d = (pawl_decision){0};
        if (!turn_object(r, it.value, members, d, &seen))
            return false;
        if (!d->deed)
            return turn_bad(r, "a decision has 'do' or 'end'", pawl_s(""));
        if (!fits(r, d, (unsigned)seen))
            return false;
    }
    step->decisions = list;
    return true;
}
