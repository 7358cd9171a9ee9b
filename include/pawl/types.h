/* SPDX-License-Identifier: MIT */
/*
 * pawl/types.h -- the small vocabulary every other header shares.
 *
 * Strings are slices, results and tasks are values, memory belongs to the
 * context it came from.  Nothing here needs to be freed.
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

/*
 * Structs grow: new members come at the end.  A program may run with a newer library than
 * its header, or with an older one.  A call marked PAWL_SIZED is an inline function: it calls the
 * exported function of its name with _sized and says how large the structs are in this
 * program.  The library fills in what both know, writes nothing beyond that, and its arrays
 * have the stride of the program; members that only the program knows are zero.  There is
 * nothing to set.  Other languages call the _sized functions and give the sizes of their
 * own declarations (pawl/client_sizes.h, pawl/queue_sizes.h, pawl/worker_sizes.h,
 * pawl/runtime_sizes.h); the names without _sized are exported too, for the sizes of the
 * library itself.
 *
 * These structs do not change: pawl_str, pawl_error, pawl_result, pawl_task,
 * pawl_history_event (what else an event has is in `attrs`), pawl_json_iter, pawl_env,
 * pawl_replay_step, pawl_sim_activity, pawl_sim_event, pawl_test_answer.
 */
#ifdef PAWL_PLAIN /* the library itself */
#define PAWL_SIZED PAWL_API
#else
#define PAWL_SIZED static inline
#endif

/*
 * The compiler warns when you ignore the result of a call that may fail.  To ignore
 * it on purpose: `pawl_ignore(pawl_sleep(ctx, 500));`.  (For gcc a cast to void is
 * not enough.)
 */
#ifdef __cplusplus
#define pawl_ignore(call)                                                                          \
    do {                                                                                           \
        const auto &pawl_ignored_ = (call);                                                        \
        (void)pawl_ignored_;                                                                       \
    } while (0)
#else
#define pawl_ignore(call)                                                                          \
    do {                                                                                           \
        __typeof__(call) pawl_ignored_ = (call);                                                   \
        (void)pawl_ignored_;                                                                       \
    } while (0)
#endif

/*
 * PAWL_LEND(type, .field = value, …) is the address of a `type` with these
 * fields set, all others zero and `size` filled in; the macros named after a struct
 * of options (PAWL_CALL_OPTS …) use it.  In C it lives to the end of the block, in
 * C++ to the end of the statement, which is long enough for a call.  C++ needs the
 * fields in the order of the struct.
 *
 * `size` says how much of a struct its caller knows.  When an older caller passes a
 * shorter struct, the missing fields are zero (in a queue's configuration: the
 * default).  When a newer caller passes a longer one, its extra fields must be zero,
 * or the call returns PAWL_MISUSE.  A size of 0 means the size in this header.  NULL
 * for options means all zero.
 *
 * A NULL where something is needed (a client, memory, room for the answer, the bytes
 * of a length) returns PAWL_MISUSE, in an orchestration a refused result; a call that
 * can return neither stops the process with a line that names the call.
 */
#ifdef __cplusplus
extern "C++" {
template <typename T> inline const T *pawl_lend_(const T &temporary)
{
    return &temporary;
}
}
#if defined(__GNUC__)
#pragma GCC system_header /* fields left out are zero on purpose: silences -Wextra */
#endif
#define PAWL_LEND(type, ...) pawl_lend_(type{.size = sizeof(type), __VA_ARGS__})
#else
#define PAWL_LEND(type, ...) (&(type){.size = sizeof(type), __VA_ARGS__})
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes with a length.  What the library returns is also NUL-terminated (the NUL is
 * not counted), so `.ptr` prints; what you pass need not be.  {NULL, 0} is the empty
 * slice.  A slice is borrowed: it lives as long as the context, activity or pawl_mem
 * it came from.
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
 * The class says what the caller should do: DONE nothing, FINAL change the request,
 * RETRY repeat the request, FATAL stop and investigate, BUG fix the caller.
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
 * Why a piece of work ended as it did.  X(ENUM, number, word, text); the words
 * are stored and are in the JSON: append, never change.  A refused call was never
 * made (it is over a limit, its id is taken, its handle is not a task).
 */
/* clang-format off */
#define PAWL_RESULT_KINDS(X)                                                            \
    X(OK,                0, "ok",                "it succeeded")                         \
    X(FAILED,            1, "failed",            "it failed; `value` is what it said")   \
    X(SCHEDULE_TO_START, 2, "schedule_to_start", "timed out: no worker took it")         \
    X(START_TO_CLOSE,    3, "start_to_close",    "timed out: the last attempt")          \
    X(SCHEDULE_TO_CLOSE, 4, "schedule_to_close", "timed out: all attempts together")     \
    X(HEARTBEAT,         5, "heartbeat",         "timed out: it went silent")            \
    X(CANCELLED,         6, "cancelled",         "withdrawn, or a child that was")       \
    X(POISON,            7, "poison",            "given up: it ended the process too often") \
    X(REFUSED,           8, "refused",           "never begun")                          \
    X(LOST,              9, "lost",              "unknown whether it was done")
/* clang-format on */

typedef enum pawl_result_kind {
#define PAWL_RESULT_ENUM(name, number, word, text) PAWL_RESULT_##name = (number),
    PAWL_RESULT_KINDS(PAWL_RESULT_ENUM)
#undef PAWL_RESULT_ENUM
} pawl_result_kind;

/* "ok", "failed", …; NULL for a number that is no kind. */
PAWL_API const char *pawl_result_kind_name(int kind);

/*
 * How a piece of work ended.  `value` is the result when `ok`, otherwise the
 * error text: what the activity or child returned, byte for byte, or a line of Pawl
 * where it returned nothing (time-outs, poison, refusals).  `cancelled` is set when
 * the wait was interrupted because the orchestration is being cancelled (then `ok`
 * is false).  `attempts` of an activity is the number of tries that its policy
 * counted, without those ended by the death of a process; 0 when none was made.
 */
typedef struct pawl_result {
    bool ok;
    bool cancelled;
    uint16_t kind; /* pawl_result_kind */
    uint32_t attempts;
    pawl_str value;
    const void *reserved; /* NULL */
} pawl_result;

/* True for the four time-outs. */
static inline bool pawl_timed_out(pawl_result r)
{
    return r.kind >= PAWL_RESULT_SCHEDULE_TO_START && r.kind <= PAWL_RESULT_HEARTBEAT;
}

/* Where an instance stands.  Values are stored: append, never renumber. */
typedef enum pawl_state {
    PAWL_PENDING = 0,   /* accepted, no turn yet */
    PAWL_RUNNING = 1,   /* has run at least one turn */
    PAWL_SUSPENDED = 2, /* messages wait until resume */
    PAWL_BLOCKED = 3,   /* cannot continue; `finding` says why; retry tries again */
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
 * Memory owned by a context, an activity or a caller: everything allocated from it is
 * freed with it.  Inside an orchestration use pawl_ctx_mem(), inside an activity
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
