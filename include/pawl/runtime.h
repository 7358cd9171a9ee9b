/* SPDX-License-Identifier: MIT */
/*
 * pawl/runtime.h -- register code, open a store, run.
 *
 * An app is a table of orchestrations and activities.  A runtime runs an app on a store.
 * It runs on threads of its own (pawl_runtime_start) or on the caller's thread
 * (pawl_runtime_step); the engine is the same.
 */
#ifndef PAWL_RUNTIME_H
#define PAWL_RUNTIME_H

#include "pawl/activity.h"
#include "pawl/client.h"
#include "pawl/orchestration.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The app ------------------------------------------------------------ */

typedef struct pawl_app pawl_app;

PAWL_API pawl_app *pawl_app_new(void);
PAWL_API void pawl_app_free(pawl_app *app); /* after every runtime on it is closed */

typedef struct pawl_register_opts {
    size_t size;        /* set by PAWL_REGISTER_OPTS */
    size_t stack_bytes; /* of an orchestration: default 64 KiB, at least 16 KiB, at most 64 MiB */
    void *user;         /* for pawl_user() and pawl_activity_user() */
} pawl_register_opts;

#define PAWL_REGISTER_OPTS(...) PAWL_LEND(pawl_register_opts, __VA_ARGS__)

/*
 * Register code.  Names are 1..255 bytes without '/' or control characters, and do not
 * begin with "pawl."; versions are semver ("1.0.0").  Several versions of one
 * orchestration live side by side; new instances take the highest, running ones keep theirs.  You may
 * ignore the return value: pawl_runtime_open() reports all bad and doubled
 * registrations at once.  You may register new names and versions while a runtime
 * runs.
 */
PAWL_API pawl_status pawl_register_orchestration(pawl_app *app, const char *name,
                                                 const char *version, pawl_orchestration_fn *fn);
PAWL_API pawl_status pawl_register_orchestration_with(pawl_app *app, const char *name,
                                                      const char *version,
                                                      pawl_orchestration_fn *fn,
                                                      const pawl_register_opts *opts);
PAWL_API pawl_status pawl_register_activity(pawl_app *app, const char *name, pawl_activity_fn *fn);
PAWL_API pawl_status pawl_register_activity_with(pawl_app *app, const char *name,
                                                 pawl_activity_fn *fn,
                                                 const pawl_register_opts *opts);
/* True when the app has the orchestration (version NULL: any). */
PAWL_API bool pawl_app_has_orchestration(pawl_app *app, const char *name, const char *version);
PAWL_API bool pawl_app_has_code(pawl_app *app); /* any orchestration */
PAWL_API bool pawl_app_has_activity(pawl_app *app, const char *name);
/* What is registered: orchestrations by name and version, then activities by name. */
typedef struct pawl_code {
    const char *name;
    const char *version; /* NULL: an activity */
    const char *file;    /* the module, as it was named; NULL: the program itself */
} pawl_code;
/* Returns the number of entries.  The list is in `mem`; its texts live as long as the app. */
PAWL_SIZED size_t pawl_app_code(pawl_app *app, pawl_mem *mem, const pawl_code **ret);
/* Load a module (see PAWL_MODULE).  Pawl opens a private copy, so you may replace the
 * file later.  PAWL_INVALID says what is wrong with the file. */
PAWL_API pawl_status pawl_app_load(pawl_app *app, const char *path,
                                   pawl_error *reterr) PAWL_MUST_USE;

/* ---- The world ---------------------------------------------------------- */

/*
 * What the engine takes from outside.  A NULL member means the real clock or random
 * source.  The simulator and tests pass their own; the object code is the same.
 */
typedef struct pawl_env {
    void *user;
    int64_t (*now_ms)(void *user);                  /* wall clock, since 1970 */
    int64_t (*mono_ms)(void *user);                 /* never goes back */
    void (*random)(void *user, void *to, size_t n); /* unpredictable bytes */
    void (*point)(void *user, const char *name);    /* a named place: tests fail or die here */
} pawl_env;

typedef void pawl_log_fn(void *user, pawl_log_level level, const char *area, const char *text);

/* ---- The runtime -------------------------------------------------------- */

typedef struct pawl_runtime pawl_runtime;
typedef struct pawl_store pawl_store; /* pawl/provider.h */

/* Zero means the default of the field. */
typedef struct pawl_options {
    size_t size; /* set by PAWL_OPTIONS */
    /* Where: `store` is "sqlite:FILE", "jsonl:DIR", "memory:" or "postgres://USER@HOST/DATABASE"
     * (then `data` has the record of crashes alone), or opened_store is a store that the caller
     * keeps (if `data` is set too, the record of crashes is kept there); neither means
     * sqlite:DATA/pawl.db. */
    const char *data; /* directory, made 0700 when missing; default "./pawl-data".  It must
                       * belong to this user and not be writable by others; no symbolic link
                       * in it is followed */
    const char *store;
    pawl_store *opened_store;
    bool read_only; /* no lock, no engine; only reading client calls work */

    /* Activity threads; default 32, started when needed.  All activities share them.  Of 8 or
     * more threads, one in eight is reserved for activities that have nothing running. */
    uint32_t workers;
    size_t max_payload;    /* default 2 MiB */
    uint32_t max_history;  /* events per execution; default 50,000 */
    size_t fiber_memory;   /* resident stacks and arenas; default 256 MiB */
    uint32_t max_attempts; /* before a crashing item is quarantined; default 10 */
    /* How long cancelled code may wait outside a shield while a process that has the code runs;
     * default 0: no limit.  Time inside a shield does not count, and what a shield scheduled is
     * never withdrawn.  Cancelled code waits only inside a shield (pawl_shield), so this limit
     * never ends anything; use terminate to end an instance by force. */
    int64_t cancel_grace_ms;
    int64_t turn_limit_ms; /* a turn that runs longer stops the process; default 60,000 */
    int64_t drain_ms;      /* how long close waits for running activities; default 10,000 */
    uint32_t group_limit;  /* rounds in one commit; default 1,024 */

    /* Policies; false is the first choice named. */
    bool fail_on_mismatch;       /* code that does not match its history: block it, or fail it */
    bool drop_early_events;      /* events that no wait expects yet: keep them, or drop them */
    bool cancel_missing_version; /* version not registered: let it wait, or cancel it */
    bool strict_await;           /* a completion not awaited in its turn is a mismatch */
    bool paranoid;               /* replay after every turn and compare */
    bool hostile;                /* drop the stack at every await (tests) */

    pawl_log_level log_level; /* default PAWL_LOG_ERROR (0): raise it for more */
    pawl_log_fn *log;         /* default: logfmt lines on stderr */
    void *log_user;
    const pawl_env *env;  /* default: the real world; copied */
    bool log_json;        /* without `log`: one JSON object per line instead of logfmt */
    bool steers_only;     /* no code runs here: instances are not marked as lacking code */
    int64_t retain_ms;    /* remove instances that ended longer ago; default 0: keep them */
    uint32_t max_mailbox; /* events kept for one instance; more are refused; default 10,000 */
    uint32_t max_depth;   /* levels of children; deeper ones fail; default 1,000 */
    const char *tags;     /* "gpu,eu": calls with one of these tags run here, too; default: none */
    /* Install no handlers for SIGSEGV, SIGBUS, SIGABRT, SIGFPE and SIGILL.  The handlers of the
     * runtime name the code that faults (and detect a stack overflow), then pass the signal on to
     * the handler that was there before; close restores that one. */
    bool no_signals;
    size_t turn_memory;    /* what one turn may allocate (pawl_alloc …); more blocks the instance;
                         * default 256 MiB */
    int64_t turn_lease_ms; /* a worker (pawl/turns.h) that is silent for longer loses its turn;
                            * default 10 s */
} pawl_options;

#define PAWL_OPTIONS(...) PAWL_LEND(pawl_options, __VA_ARGS__)

/* Open the store, take ownership of it, recover.  NULL on failure; `reterr`
 * says in one line what to do. */
PAWL_API pawl_runtime *pawl_runtime_open(pawl_app *app, const pawl_options *opts,
                                         pawl_error *reterr) PAWL_MUST_USE;
/* Run on threads of the runtime until close. */
PAWL_API pawl_status pawl_runtime_start(pawl_runtime *rt, pawl_error *reterr) PAWL_MUST_USE;
/*
 * For callers without threads: do what is ready (turns, one commit, activities)
 * on this thread; wait up to `wait_ms` for something to become ready.  Returns the
 * number of rounds committed, or -1 when the runtime has stopped, has threads, or
 * the call comes from one of its callbacks.  Blocking client calls on the stepping
 * thread step by themselves.
 */
PAWL_API int pawl_runtime_step(pawl_runtime *rt, int64_t wait_ms);
/*
 * For a program that waits in epoll, poll or libuv instead: wait until this descriptor is
 * readable or pawl_runtime_timeout_ms() has passed, then call pawl_runtime_step(rt, 0) until
 * the time-out is not 0.  The descriptor belongs to the runtime: do not read or close it.
 * It becomes readable when any thread submits something, and unreadable with the next
 * step.  -1: the runtime has threads of its own, is read-only, or the process has no
 * descriptor left.
 */
PAWL_API int pawl_runtime_fd(pawl_runtime *rt) PAWL_MUST_USE;
/* Milliseconds until something is due: 0: step now, -1: nothing is due.  Call it on the
 * stepping thread. */
PAWL_API int64_t pawl_runtime_timeout_ms(pawl_runtime *rt) PAWL_MUST_USE;
PAWL_API pawl_client *pawl_runtime_client(pawl_runtime *rt);
/* What it was opened with: the app, and the data directory (NULL: none). */
PAWL_API pawl_app *pawl_runtime_app(pawl_runtime *rt);
PAWL_API const char *pawl_runtime_data(pawl_runtime *rt);

/* Refuse new work, let running activities finish (for at most drain_ms), stop the
 * threads, close the store if the runtime opened it, and free the runtime.  NULL is fine.
 * Inside a callback of the runtime the call would wait for itself: it closes nothing and
 * logs a line. */
PAWL_API void pawl_runtime_close(pawl_runtime *rt);

#define PAWL_TROUBLE_BYTES 200
#define PAWL_DELAY_BUCKETS 17

typedef struct pawl_stats {
    uint64_t turns, rounds, commits, events;
    uint64_t activities_started, activities_completed, activities_failed, activities_retried;
    uint64_t timers_fired, replays, replayed_events, evictions, mismatches, quarantined;
    uint64_t commit_us, store_errors;
    uint64_t resident, inbox, timers_near;     /* now */
    uint64_t orchestrator_queue, worker_queue; /* depth now */
    uint64_t timer_queue;                      /* always 0: timers are in the orchestrator queue */
    uint64_t running_activities;
    bool healthy;
    char trouble[PAWL_TROUBLE_BYTES]; /* when not healthy */
    uint64_t retired;                 /* instances removed by retain_ms */
    /* Attempts of activities by how long they were ready before they began.  A bucket counts
     * delays up to its pawl_delay_bound_ms() and above that of the previous bucket. */
    uint64_t schedule_to_start[PAWL_DELAY_BUCKETS];
    uint64_t schedule_to_start_count, schedule_to_start_ms; /* their number and sum */
    bool busy;                               /* the engine is working, not waiting for work */
    uint64_t store_log_bytes, store_damaged; /* of pawl_store_figures (pawl/provider.h) */
    uint64_t instances;                      /* stored now; the next four count some of them */
    uint64_t instances_suspended, instances_blocked, instances_failed, instances_cancelled;
    uint64_t raises_dropped; /* events of pawl_raise() that no instance could take */
} pawl_stats;

/* Reads the store to count rows for the depths. */
PAWL_SIZED void pawl_runtime_stats(pawl_runtime *rt, pawl_stats *ret);
/* The same without them: the store is not asked, and what it would count is 0. */
PAWL_SIZED void pawl_runtime_counters(pawl_runtime *rt, pawl_stats *ret);
typedef enum pawl_tally_what {
    PAWL_TALLY_STARTED, /* of an orchestration: instances; of an activity: not counted */
    PAWL_TALLY_COMPLETED,
    PAWL_TALLY_FAILED,    /* for good */
    PAWL_TALLY_CANCELLED, /* of an orchestration */
    PAWL_TALLY_RETRIED,   /* of an activity: attempts that were followed by another */
    PAWL_TALLY_COUNT
} pawl_tally_what;

typedef struct pawl_tally {
    pawl_str name; /* of the orchestration or activity; empty: all without their own counts */
    bool is_activity;
    uint64_t counts[PAWL_TALLY_COUNT];
} pawl_tally;

/* Counts by name since the runtime was opened: the first 200 orchestrations and the first 200
 * activities have counts of their own.  Returns the number of entries in *ret; names are valid
 * until the runtime is closed. */
PAWL_SIZED size_t pawl_runtime_tallies(pawl_runtime *rt, pawl_mem *mem, const pawl_tally **ret);
/* Does the engine make progress?  If not, *rettrouble says why: for example a turn, a commit or
 * an unanswered call is older than 10 s.  A call that waits on purpose does not count.  In a
 * forked child it is false, and the figures above are 0.  Cheap. */
PAWL_API bool pawl_runtime_healthy(pawl_runtime *rt, char rettrouble[PAWL_TROUBLE_BYTES]);
/* Can it take calls?  Not while its store is away or does not answer; *rettrouble says why.  A full
 * disk does not count: calls that free space are taken.  Cheap. */
PAWL_API bool pawl_runtime_ready(pawl_runtime *rt, char rettrouble[PAWL_TROUBLE_BYTES]);
/* The upper bound of a bucket; INT64_MAX for the last one. */
PAWL_API int64_t pawl_delay_bound_ms(unsigned bucket);

/* ---- Programs and modules ----------------------------------------------- */

/* The pawl command line on this app: run, start, ls, show, why …; returns the
 * exit status.  In libpawl-main. */
PAWL_API int pawl_main(pawl_app *app, int argc, char **argv);

#define PAWL_MODULE_ABI 2 /* also the number of libpawl.so */

typedef struct pawl_module {
    uint32_t size;
    uint32_t abi;
    void (*register_fn)(pawl_app *app);
} pawl_module;

/*
 * One source, two shapes.  PAWL_MODULE(fn) exports what `pawl --load FILE.so`
 * looks for; a module does not link with libpawl.  PAWL_PROGRAM(fn) is a main().
 * With PAWL_EXPORT(fn) the build decides: -DPAWL_AS_MODULE makes a module.
 */
#define PAWL_MODULE(fn)                                                                            \
    PAWL_API extern const pawl_module pawl_module_v1;                                              \
    const pawl_module pawl_module_v1 = {sizeof(pawl_module), PAWL_MODULE_ABI, (fn)};

#define PAWL_PROGRAM(fn)                                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        pawl_app *app = pawl_app_new();                                                            \
        (fn)(app);                                                                                 \
        int status = pawl_main(app, argc, argv);                                                   \
        pawl_app_free(app);                                                                        \
        return status;                                                                             \
    }

#ifdef PAWL_AS_MODULE
#define PAWL_EXPORT(fn) PAWL_MODULE(fn)
#else
#define PAWL_EXPORT(fn) PAWL_PROGRAM(fn)
#endif

#ifdef __cplusplus
}
#endif

#include "pawl/runtime_sizes.h" /* the calls marked PAWL_SIZED */
#endif
