/* SPDX-License-Identifier: MIT */
/*
 * tables/operations.h -- the operations of clients: what they are called, where they are in the
 * HTTP API, which fields of a request they use.
 *
 * One table feeds the checks of the runtime (api/client.c), the routes, batch actions and
 * /openapi.json of the server, and the verbs and remote calls of the command line.  The
 * operations of STEERING look alike everywhere: POST to a path that ends with their word, a verb
 * with that word and ids, a batch action.  A new one is a row there, its number in pawl/client.h,
 * its call in api/client.c, and what its message does.
 */
#ifndef PAWL_TABLES_OPERATIONS_H
#define PAWL_TABLES_OPERATIONS_H

#include "pawl/client.h"
#include "pawl/event.h"

/* Fields of a request that an operation uses, beside those that only it has. */
enum operation_field {
    OP_INSTANCE = 1 << 0, /* instance: an id, in the path */
    OP_EVENT = 1 << 1,    /* name: of an event, in the path */
    OP_DATA = 1 << 2,     /* data: a payload */
    OP_KEY = 1 << 3,      /* idempotency_key */
    OP_REASON = 1 << 4,
    OP_AWAIT = 1 << 5,    /* await_start, in the query */
    OP_FORCE = 1 << 6,    /* force, in the query */
    OP_SCHEDULE = 1 << 7, /* name: of a schedule, in the path */
    OP_UPDATE = 1 << 8,   /* name: of an update, in the path */
    OP_LIMIT = 1 << 9,    /* name: of a limit, in the path */
};

/* Method and path. */
#define AT_START       "POST", "/api/v1/instances"
#define AT_PRUNE       "POST", "/api/v1/instances:prune"
#define AT_REMOVE      "DELETE", "/api/v1/instances/{id}"
#define AT_RAISE       "POST", "/api/v1/instances/{id}/events/{name}"
#define AT_UPDATE      "POST", "/api/v1/instances/{id}/updates/{name}"
#define AT_STEER(word) "POST", "/api/v1/instances/{id}/" word
#define AT_ATTRIBUTES  "PATCH", "/api/v1/instances/{id}/attributes"
#define AT_NONE        NULL, NULL

/* clang-format off */
/* X(op, word, scope, message, its reason if none is given, fields, what the verb says when it is
 * done, one line for the API, one line for the list of verbs, more for the help of the verb, its
 * examples) */
#define STEERING(X)                                                                              \
    X(CANCEL, "cancel", SCOPE_OPERATE, PAWL_MSG_CANCEL, "cancelled by request", OP_REASON,       \
      "cancel requested",                                                                        \
      "ask it to end; its code may compensate",                                                  \
      "ask it to end; its code may compensate", "",                                              \
      "  {} cancel o-1 --reason 'customer called'\n")                                            \
    X(TERMINATE, "terminate", SCOPE_OPERATE, PAWL_MSG_TERMINATE, "terminated by request",        \
      OP_REASON, "terminated",                                                                   \
      "end it at once",                                                                          \
      "end it at once; its code does not run again", "",                                         \
      "  {} terminate o-1 --reason 'test data'\n")                                               \
    X(SUSPEND, "suspend", SCOPE_OPERATE, PAWL_MSG_SUSPEND, "", OP_REASON,                        \
      "suspend requested",                                                                       \
      "stop its turns until resume",                                                             \
      "stop its turns; events and timers are kept", "",                                          \
      "  {} suspend o-1\n")                                                                      \
    X(RESUME, "resume", SCOPE_OPERATE, PAWL_MSG_RESUME, "", OP_REASON,                           \
      "resume requested",                                                                        \
      "continue a suspended instance",                                                           \
      "continue a suspended instance", "",                                                       \
      "  {} resume o-1\n")                                                                       \
    X(RETRY, "retry", SCOPE_OPERATE, 0, NULL, 0, "retry requested",                              \
      "try a blocked instance again",                                                            \
      "try a blocked instance again",                                                            \
      "Use it after you repaired the code or raised the limit; `why` says which.",               \
      "  {} ls --status blocked -o ids | xargs {} retry\n")
/* clang-format on */

#define OPERATION_COUNT (PAWL_OP_LIMIT_REMOVE + 1) /* that of the last one */

struct operation {
    const char *word;          /* the verb */
    const char *action;        /* in a batch; NULL: it is none */
    const char *method, *path; /* NULL: it has no route of its own */
    int message;               /* to the instance (pawl/event.h); 0: it acts without one */
    const char *reason;        /* of the message, if none is given; NULL: it carries data */
    unsigned fields;           /* enum operation_field */
    const char *done;          /* what the verb says */
};

extern const struct operation operations[OPERATION_COUNT];

/* NULL: there is no such operation. */
static inline const struct operation *operation_of(pawl_op op)
{
    return (size_t)op < OPERATION_COUNT ? &operations[op] : NULL;
}

/* Of one that exists: it was checked, or is a constant. */
static inline const struct operation *operation_at(pawl_op op)
{
    return &operations[op];
}

/* The operation with this verb, or with this action in a batch; false: there is none. */
bool operation_of_word(const char *word, pawl_op *ret);
bool operation_of_action(const char *action, pawl_op *ret);
/* The actions of a batch, in order, with a space between. */
#define OPERATION_ACTION(OP, word, ...) word " "
#define OPERATION_ACTIONS               STEERING(OPERATION_ACTION) "delete"

#endif
