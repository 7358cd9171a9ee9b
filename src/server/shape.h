/* SPDX-License-Identifier: MIT */
/*
 * server/shape.h -- what a request may have in it, as tables.
 *
 * A shape is an object: its members, and what each may be.  The body of every route
 * has one (takes.c), and every answer (gives.h).  Unknown, doubled and contradictory members
 * are refused before a handler runs (shape.c), and /openapi.json is written from the same
 * table.
 */
#ifndef PAWL_SERVER_SHAPE_H
#define PAWL_SERVER_SHAPE_H

#include "base/limits.h"
#include "pawl/types.h"

struct call;
struct route;

enum kind {
    KIND_ANY, /* any JSON value */
    KIND_TEXT,
    KIND_WHOLE,  /* a whole number: 5 and 5.0 */
    KIND_NUMBER, /* with a fraction */
    KIND_TRUTH,
    KIND_OBJECT, /* of shape `inside`, or with members of any name */
    KIND_ATTRIBUTES,
    KIND_LIST, /* of objects of shape `inside` */
    KIND_TEXTS,
    KIND_VALUES, /* a list of any */
    KIND_NUMBERS
};

enum {
    NEEDED = 1, /* must be there */
    OR_NULL = 2 /* may be null: in a request the same as absent */
};

struct field {
    const char *name;
    enum kind kind;
    unsigned flags;
    int64_t min, max; /* of a number, of the length of a text or list; 0 and 0: any */
    int64_t each_max; /* of the numbers of a list; 0: any */
    const struct shape *inside;
    const char *words;     /* the only texts it may be, space-separated */
    const char *pattern;   /* of a text */
    const char *not_with;  /* a member that contradicts it */
    const char *otherwise; /* what it is when it is left out, as JSON */
    const char *about;     /* one line for people */
};

enum presence {
    BODY_JSON = 1, /* an object */
    BODY_OPTIONAL, /* an object, or nothing */
    BODY_VALUE     /* any JSON, or nothing; its one field has no name and says what it may be */
};

struct shape {
    const char *name; /* in /openapi.json */
    enum presence presence;
    const struct field *fields;  /* ends with one without a name */
    const struct shape *instead; /* the shape of a body that has the first member of that one */
    bool always;                 /* refused with --lenient too */
    const char *example;         /* JSON */
    const char *never;           /* JSON: a schema that no body fits */
};

#define BODY_NONE NULL

/* A request without a body is refused. */
static inline bool shape_is_needed(const struct shape *s)
{
    return s->presence == BODY_JSON || (s->presence == BODY_VALUE && s->fields->flags & NEEDED);
}

/* Rows of the tables of fields: the line for people, and further members of struct field. */
#define FIELD_OF(k, n, f, ...)                                                                     \
    {                                                                                              \
        .name = (n), .kind = (k), .flags = (f), .about = __VA_ARGS__                               \
    }
#define ANY(n, f, ...)   FIELD_OF(KIND_ANY, n, f, __VA_ARGS__)
#define TEXT(n, f, ...)  FIELD_OF(KIND_TEXT, n, f, __VA_ARGS__)
#define TRUTH(n, f, ...) FIELD_OF(KIND_TRUTH, n, f, __VA_ARGS__)
#define WHOLE(n, f, least, most, ...)                                                              \
    FIELD_OF(KIND_WHOLE, n, f, __VA_ARGS__, .min = (least), .max = (most))
#define NUMBER(n, f, least, most, ...)                                                             \
    FIELD_OF(KIND_NUMBER, n, f, __VA_ARGS__, .min = (least), .max = (most))
#define TEXTS(n, f, least, most, ...)                                                              \
    FIELD_OF(KIND_TEXTS, n, f, __VA_ARGS__, .min = (least), .max = (most))
#define OBJECT(n, f, shape, ...)  FIELD_OF(KIND_OBJECT, n, f, __VA_ARGS__, .inside = (shape))
#define ATTRIBUTES(n, f, ...)     FIELD_OF(KIND_ATTRIBUTES, n, f, __VA_ARGS__)
#define OBJECTS(n, f, shape, ...) FIELD_OF(KIND_LIST, n, f, __VA_ARGS__, .inside = (shape))
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* What texts may look like; limits.c has the rules. */
#define NO_CONTROLS "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
/* As check_chosen_id() has it: not queue~NAME~NUMBER, which bound queues make. */
#define CHOSEN_ID    "^(?!queue~.*~[0-9]+$)[^\\u0000-\\u001f\\u007f-\\u009f]*$"
#define IS_ID        .min = 1, .max = LIMIT_INSTANCE_BYTES, .pattern = NO_CONTROLS
#define IS_CHOSEN_ID .min = 1, .max = LIMIT_INSTANCE_BYTES, .pattern = CHOSEN_ID
#define IS_NAME                                                                                    \
    .min = 1, .max = LIMIT_NAME_BYTES, .pattern = "^[^/\\u0000-\\u001f\\u007f-\\u009f]*$"
/* Words with dots between; a number in a pre-release has no leading zero. */
#define PRE_WORD "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
#define IS_VERSION                                                                                 \
    .min = 5, .max = LIMIT_VERSION_BYTES,                                                          \
    .pattern = "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)"                              \
               "(-" PRE_WORD "(\\." PRE_WORD ")*)?(\\+[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*)?$"
/* As pawl_where_parse() reads it: a value may be a text in quotes, a whole number or a text. */
#define CONDITION                                                                                  \
    "^[a-z][a-z0-9_.-]{0,62}(=|!=|<=|>=|<|>|\\^=)(\"([^\"\\\\\\u0000-\\u001f\\u007f]|"             \
    "\\\\[\"\\\\/])*\"|(?!\"|-?[1-9][0-9]{18,}$)[^\\u0000-\\u001f\\u007f]{0,255})$"
#define IS_CURSOR .max = 16, .pattern = "^([0-9a-f]*[1-9a-f][0-9a-f]*)?$"
/* One of them, or several with commas. */
#define A_STATE     "(pending|running|completed|failed|cancelled|suspended|blocked|continued_as_new)"
#define SOME_STATES "^(" A_STATE "(," A_STATE ")*)?$"
#define STATES      "pending running completed failed cancelled suspended blocked continued_as_new"

/* Check that every member of the object is known and there once, and that none contradicts another.
 * False: 400 was answered.  Anything but an object passes.  `where` is the name of the member of the
 * body that is checked, NULL: the body itself; `at` its place in a list, NOWHERE: it is in none. */
bool shape_check(struct call *c, pawl_str object, const struct shape *shape, const char *where,
                 size_t at);
#define NOWHERE SIZE_MAX

/* gives.c: the answer of a route with this status; NULL: it has none. */
const struct shape *gives_of(const struct route *r, unsigned status);
/* asks.c: a parameter of the route's query or path; NULL: it is not described. */
const struct field *asks_of(const struct route *r, pawl_str name);

/* takes.c: the bodies of requests */
extern const struct shape takes_schedule, takes_backfill, takes_limit;
extern const struct shape takes_value, takes_attributes, takes_nothing, takes_login;
extern const struct shape takes_job, takes_raised, takes_rerun, takes_start, takes_start_update,
    takes_reason, takes_batch, takes_filter, takes_prune;
extern const struct shape takes_push, takes_item, takes_ack, takes_extend, takes_release;
extern const struct shape takes_deadletter, takes_redrive, takes_purge, takes_config;
extern const struct shape takes_turns;
extern const struct shape takes_poll, takes_complete, takes_fail, takes_beat, takes_abandon;

#endif
