/* SPDX-License-Identifier: MIT */
/*
 * pawl/limit.h -- how much may run: limits as objects with a name.
 *
 * A limit names activities and says how many attempts of them may run at a time (`concurrency`)
 * and how often one may begin (`rate`): all together, for each key, or for each first level of the
 * key (`by`).  A call says with its options for whom it is (`key`, pawl/orchestration.h).  Work
 * that finds no room waits, in the order of priorities and fair shares, and costs nothing meanwhile.
 *
 * Several limits may match one activity: an attempt needs room in all of them.
 *
 *   concurrency   attempts that run in this process or are leased to a worker.  The number is never
 *                 above the limit, also after a crash.
 *   rate          beginnings of attempts, retries included: `count` in `per_ms`, evenly, and up to
 *                 `burst` at once.  In any span of per_ms at most count + burst attempts begin, also
 *                 over a restart: what was used is stored before an attempt begins.
 *
 * Changing a limit acts at once on what has not begun; nothing that runs is taken back.
 */
#ifndef PAWL_LIMIT_H
#define PAWL_LIMIT_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_LIMITS_MAX            1000 /* limits of a store */
#define PAWL_LIMIT_NAME_MAX        100  /* bytes of a name */
#define PAWL_LIMIT_MATCHES_MAX     16   /* of a limit */
#define PAWL_LIMIT_WEIGHTS_MAX     1000 /* of a limit */
#define PAWL_LIMIT_WEIGHT_MAX      1000 /* of a key */
#define PAWL_LIMIT_CONCURRENCY_MAX 1000000
#define PAWL_LIMIT_RATE_MAX        1000000        /* count, and burst */
#define PAWL_LIMIT_PERIOD_MAX      PAWL_DAYS(366) /* per_ms */

/* The words are stored and are in the JSON: append, never change. */
/* clang-format off */
#define PAWL_LIMIT_BYS(X)                                                               \
    X(ALL,       0, "all",       "one bucket for everything that matches")               \
    X(KEY,       1, "key",       "a bucket for each key")                                \
    X(FIRST,     2, "first",     "a bucket for each first level of a key, the acme of acme/ann")
/* clang-format on */

typedef enum pawl_limit_by {
#define PAWL_LIMIT_BY_ENUM(name, number, word, text) PAWL_BY_##name = (number),
    PAWL_LIMIT_BYS(PAWL_LIMIT_BY_ENUM)
#undef PAWL_LIMIT_BY_ENUM
} pawl_limit_by;

/* What is limited; the text may end in '*'. */
typedef struct pawl_limit_match {
    const char *activity;
} pawl_limit_match;

/* The share of a key, or of all keys with this first level: 1 unless given. */
typedef struct pawl_weight {
    const char *key;
    uint32_t weight; /* 1..1000 */
} pawl_weight;

/* At least one of concurrency, rate_count and weights. */
typedef struct pawl_limit {
    size_t size;      /* set by PAWL_LIMIT_SPEC */
    const char *name; /* 1..100 bytes, as a queue's */
    const pawl_limit_match *match;
    size_t match_count; /* 1..16 */
    pawl_limit_by by;
    uint32_t concurrency; /* 0: not limited */
    uint32_t rate_count;  /* 0: not limited */
    int64_t rate_per_ms;
    uint32_t rate_burst; /* that may begin at once; 0: 1 */
    const pawl_weight *weights;
    size_t weight_count; /* at most 1,000 */
} pawl_limit;

#define PAWL_LIMIT_SPEC(...) PAWL_LEND(pawl_limit, __VA_ARGS__)

/*
 * A limit as JSON, without its name:
 *
 *     {"match":[{"activity":"Charge"},{"activity":"Refund*"}], "by":"key", "concurrency":5,
 *      "rate":{"count":100,"per_ms":60000,"burst":20}, "weights":{"gold":4}}
 *
 * What is stored is checked: unknown members, wrong types and numbers outside the bounds above are
 * refused with a line that says what to do.  This call writes what is in the struct, in `mem`.
 */
PAWL_API pawl_status pawl_limit_to_json(const pawl_limit *limit, pawl_mem *mem, pawl_str *ret,
                                        pawl_error *reterr) PAWL_MUST_USE;

/* ---- Stored limits ---------------------------------------------------------------------------
 *
 * On stores that can hand out work in turn (SQLite, PostgreSQL, memory); elsewhere
 * PAWL_UNSUPPORTED.  PAWL_OK means durable, and that no later beginning ignores it.  The writing
 * calls are pawl_client_call() with PAWL_OP_LIMIT_PUT and PAWL_OP_LIMIT_REMOVE.
 */
struct pawl_client;

/* Store a limit, or change it.  `if_revision`: PAWL_CONFLICT when its revision is another one; 0:
 * whatever is there; PAWL_IF_NEW: PAWL_EXISTS when it exists. */
PAWL_API pawl_status pawl_limit_put(struct pawl_client *c, const pawl_limit *limit,
                                    uint64_t if_revision, pawl_error *reterr) PAWL_MUST_USE;
/* What waits for it may go on. */
PAWL_API pawl_status pawl_limit_remove(struct pawl_client *c, const char *name,
                                       pawl_error *reterr) PAWL_MUST_USE;
/*
 * A limit and its use, as JSON; PAWL_NOT_FOUND:
 *
 *   name, revision, updated_ms, spec (as above)
 *   in_use       attempts that run or are leased now
 *   waiting      calls that wait for it, as far as this process knows
 *   throttled    how often work began to wait for the rate, since this process began
 *   keys         the busiest buckets, at most 100: [{key, in_use, waiting, oldest_ms, next_ms}, …]
 *                oldest_ms: when the oldest call that waits was made; next_ms: when the rate has
 *                room again
 *
 * Only the process that owns the store knows the use; elsewhere those members are left out.
 */
PAWL_API pawl_status pawl_limit_get(struct pawl_client *c, const char *name, pawl_mem *mem,
                                    pawl_str *ret, pawl_error *reterr) PAWL_MUST_USE;
/* A page of them, by name, as a JSON array, without `keys`: names with the prefix (NULL: all),
 * after `after` (NULL: from the first), at most `limit` (0: 100; at most 1,000). */
PAWL_API pawl_status pawl_limit_list(struct pawl_client *c, const char *prefix, const char *after,
                                     uint32_t limit, pawl_mem *mem, pawl_str *ret,
                                     pawl_error *reterr) PAWL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
