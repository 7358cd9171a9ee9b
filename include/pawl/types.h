/* SPDX-License-Identifier: MIT */
/*
 * pawl/types.h -- the small vocabulary every other header shares.
 *
 * Strings are slices, results and tasks are values, memory belongs to the
 * context it came from.  There is nothing here to free.
 */
#ifndef PAWL_TYPES_H
#define PAWL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAWL_VERSION "0.1.0"

#if defined(__GNUC__)
#define PAWL_API          __attribute__((visibility("default")))
#define PAWL_MUST_USE     __attribute__((warn_unused_result))
#define PAWL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define PAWL_API
#define PAWL_MUST_USE
#define PAWL_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes with a length.  What the library hands out is also NUL-terminated (the
 * NUL is not counted), so `.ptr` prints; what you hand in need not be.
 * {NULL, 0} is the empty slice.  Borrowed: it lives as long as the context,
 * activity or pawl_mem it came from.
 */
typedef struct pawl_str {
    const char *ptr;
    size_t len;
} pawl_str;

/* A slice of a C string (NULL gives the empty slice).  For literals and names. */
PAWL_API pawl_str pawl_s(const char *text);
/* True when both hold the same bytes. */
PAWL_API bool pawl_str_eq(pawl_str a, pawl_str b);
/* True when `a` holds exactly the bytes of `text`. */
PAWL_API bool pawl_str_is(pawl_str a, const char *text);

#define PAWL_FMT(s) (int)(s).len, (s).ptr ? (s).ptr : "" /* for "%.*s" */

/* Durations are milliseconds in an int64_t. */
#define PAWL_MS(n)      ((int64_t)(n))
#define PAWL_SECONDS(n) ((int64_t)(n)*1000)
#define PAWL_MINUTES(n) ((int64_t)(n)*60000)
#define PAWL_HOURS(n)   ((int64_t)(n)*3600000)
#define PAWL_DAYS(n)    ((int64_t)(n)*86400000)

/*
 * Every status the library returns.  Values are pinned: append, never renumber.
 * The class says what a caller can do: DONE nothing, FINAL change the request,
 * RETRY try again as it is, FATAL stop and look, BUG fix the caller.
 */
/* clang-format off */
#define PAWL_STATUS_MAP(X)                                                              \
    X(OK,            0, DONE,  "ok")                                                    \
    X(EMPTY,        -1, DONE,  "nothing to return")                                     \
    X(NOT_FOUND,    -2, FINAL, "does not exist")                                        \
    X(EXISTS,       -3, FINAL, "exists already with other contents")                    \
    X(CONFLICT,     -4, FINAL, "the state forbids it")                                  \
    X(INVALID,      -5, FINAL, "bad input")                                             \
    X(LIMIT,        -6, FINAL, "over a limit")                                          \
    X(TIMEOUT,      -7, RETRY, "time ran out")                                          \
    X(BUSY,         -8, RETRY, "store is busy")                                         \
    X(UNAVAILABLE,  -9, RETRY, "store cannot be used now")                              \
    X(DISK_FULL,   -10, RETRY, "disk is full")                                          \
    X(NO_MEMORY,   -11, RETRY, "out of memory")                                         \
    X(SHUTDOWN,    -12, RETRY, "shutting down")                                         \
    X(LOST,        -13, FINAL, "the lock was lost")                                     \
    X(FENCED,      -14, FATAL, "another process owns this store now")                   \
    X(UNKNOWN,     -15, FATAL, "commit outcome unknown; a restart resolves it")         \
    X(CORRUPT,     -16, FATAL, "stored data breaks an invariant")                       \
    X(UNSUPPORTED, -17, FINAL, "this store or build cannot do it")                      \
    X(MISUSE,      -18, BUG,   "called against the contract")
/* clang-format on */

typedef enum pawl_status {
#define PAWL_STATUS_ENUM(name, value, klass, text) PAWL_##name = (value),
    PAWL_STATUS_MAP(PAWL_STATUS_ENUM)
#undef PAWL_STATUS_ENUM
} pawl_status;

/* The words of PAWL_STATUS_MAP, e.g. "not_found" and "does not exist". */
PAWL_API const char *pawl_status_code(pawl_status status);
PAWL_API const char *pawl_status_text(pawl_status status);

/* What went wrong, for people: one line that says what to do.  Lives on the
 * caller's stack; written only when a call fails. */
typedef struct pawl_error {
    pawl_status status;
    char text[500];
} pawl_error;

/*
 * How a piece of work ended.  `value` is the result when `ok`, otherwise the
 * error text.  `cancelled` is set when the wait was interrupted because the
 * orchestration is being cancelled (then `ok` is false).
 */
typedef struct pawl_result {
    bool ok;
    bool cancelled;
    pawl_str value;
} pawl_result;

/* Where an instance stands.  Values are stored: append, never renumber. */
typedef enum pawl_state {
    PAWL_PENDING = 0,   /* accepted, no turn yet */
    PAWL_RUNNING = 1,   /* has run at least one turn */
    PAWL_SUSPENDED = 2, /* messages wait until resume */
    PAWL_BLOCKED = 3,   /* cannot go on; `finding` says why; retry tries again */
    PAWL_COMPLETED = 4,
    PAWL_FAILED = 5,
    PAWL_CANCELLED = 6,
    PAWL_CONTINUED_AS_NEW = 7, /* of an execution, never of an instance */
} pawl_state;

/* "pending", "running", …; NULL for a number that is no state. */
PAWL_API const char *pawl_state_name(pawl_state state);
/* True for completed, failed, cancelled and continued_as_new. */
PAWL_API bool pawl_state_is_terminal(pawl_state state);

/*
 * Memory owned by a context, an activity or a caller: everything taken from it
 * dies with it.  Inside an orchestration use pawl_ctx_mem(), inside an activity
 * pawl_activity_mem(); client code makes its own.
 */
typedef struct pawl_mem pawl_mem;

PAWL_API pawl_mem *pawl_mem_new(void);
PAWL_API void pawl_mem_free(pawl_mem *mem);  /* NULL is fine */
PAWL_API void pawl_mem_reset(pawl_mem *mem); /* forget everything, keep the first block */
PAWL_API void *pawl_mem_alloc(pawl_mem *mem, size_t size); /* zeroed, aligned to 16 */
PAWL_API pawl_str pawl_mem_dup(pawl_mem *mem, pawl_str text);
PAWL_API pawl_str pawl_mem_printf(pawl_mem *mem, const char *format, ...) PAWL_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
