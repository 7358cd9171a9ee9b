/* SPDX-License-Identifier: MIT */
/*
 * pawl/sim.h -- seeded fault simulation of your own orchestrations.
 *
 * One seed is one life of an instance in a small world with virtual time: years pass in
 * milliseconds, the process dies at any commit, events come late or twice, the clock
 * jumps, activities fail or time out.  Activities never run for real.  The simulator drops
 * the fiber at waits and replays every history after every turn.  The same seed always
 * does the same.  `pawl sim` is built on this.
 *
 * These are failures: code that decides differently when it runs again (divergence), an
 * instance that nothing can wake any more (hang), a pawl_sim_check() of the module that
 * does not hold (check), code that crashes or does not return (crash, loop), memory lost in
 * builds with AddressSanitizer and waits that a loop leaves open (leak), and anything else
 * that stops an instance (blocked).  An orchestration that *fails* is not a failure.
 */
#ifndef PAWL_SIM_H
#define PAWL_SIM_H

#include "pawl/client.h"
#include "pawl/runtime.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- For the module under test ---------------------------------------------- */

/* An instance as a check sees it, after a commit that changed it. */
typedef struct pawl_sim_look {
    size_t size; /* sizeof(pawl_sim_look) the simulator was built with */
    const char *instance;
    const char *orchestration;
    uint64_t execution;
    pawl_state state;
    pawl_str input;
    pawl_str output;                  /* result or error text, once it has ended */
    const pawl_history_event *events; /* of this execution, all so far */
    size_t count;
    bool over; /* the last look of this seed: nothing more will happen */
    pawl_mem *mem;
} pawl_sim_look;

/*
 * A module (or program) may define this function; the simulator finds it by its name
 * and calls it for every instance after every commit that changed it, and once more
 * at the end.  NULL: all is well; otherwise what is wrong, in words.
 *
 *     const char *pawl_sim_check(const pawl_sim_look *look)
 *     {
 *         if (pawl_sim_count(look, "ActivityCompleted", "Ship") > 1)
 *             return "shipped twice";
 *         return NULL;
 *     }
 */
PAWL_API const char *pawl_sim_check(const pawl_sim_look *look);

/* The number of events of this kind.  `name` (NULL: any) is that of the event or of its
 * task, so ("ActivityCompleted", "Ship") counts the completions of Ship. */
PAWL_API unsigned pawl_sim_count(const pawl_sim_look *look, const char *kind, const char *name);

/* ---- Running ------------------------------------------------------------------ */

/* X(NAME, bit, word of --faults) */
#define PAWL_SIM_FAULTS(X)                                                                         \
    X(CRASH, 1, "crash")                                                                           \
    X(DUPLICATE, 2, "duplicate")                                                                   \
    X(DELAY, 4, "delay")                                                                           \
    X(CLOCK, 8, "clock")                                                                           \
    X(ACTIVITY_FAILURE, 16, "activity-failure")                                                    \
    X(CANCEL, 32, "cancel")

typedef enum pawl_sim_fault {
#define PAWL_SIM_FAULT_ENUM(name, bit, word) PAWL_SIM_##name = (bit),
    PAWL_SIM_FAULTS(PAWL_SIM_FAULT_ENUM)
#undef PAWL_SIM_FAULT_ENUM
        PAWL_SIM_NO_FAULT = 0,
} pawl_sim_fault;

typedef enum pawl_sim_answer {
    PAWL_SIM_ANY = 0,  /* the seed chooses: null, a failure, or a time-out if the call has one */
    PAWL_SIM_OK = 1,   /* `text` */
    PAWL_SIM_FAIL = 2, /* with `text` */
} pawl_sim_answer;

typedef struct pawl_sim_activity {
    const char *name;
    pawl_sim_answer answer;
    const char *text;
} pawl_sim_activity;

/* Raised once for every wait for it, early or late as the seed decides; asked, if that is a wait for
 * an update. */
typedef struct pawl_sim_event {
    const char *name;
    const char *data;
} pawl_sim_event;

/* Zero means the default of the field. */
typedef struct pawl_sim_opts {
    size_t size; /* set by PAWL_SIM_OPTS */
    const char *orchestration;
    const char *version; /* default: the latest */
    pawl_str input;
    uint64_t first_seed;                 /* default 1 */
    uint64_t seeds;                      /* default 1,000 */
    unsigned faults;                     /* of pawl_sim_fault, or-ed; 0: none */
    const pawl_sim_activity *activities; /* all others answer PAWL_SIM_ANY */
    size_t activity_count;
    const pawl_sim_event *events;
    size_t event_count;
    pawl_app *stubs;       /* activities registered here do run; the app is borrowed */
    int64_t horizon_ms;    /* virtual time after which a seed is over; default ten years */
    uint32_t max_steps;    /* commits after which a seed is over; default 5,000 */
    uint32_t seed_limit_s; /* real seconds without a commit that count as a loop; default 10 */
    void (*progress)(void *user, uint64_t done);
    void *user;
} pawl_sim_opts;

#define PAWL_SIM_OPTS(...) PAWL_LEND(pawl_sim_opts, __VA_ARGS__)

typedef enum pawl_sim_problem {
    PAWL_SIM_NONE = 0,
    PAWL_SIM_DIVERGENCE = 1,
    PAWL_SIM_HANG = 2,
    PAWL_SIM_CHECK_FAILED = 3,
    PAWL_SIM_LEAK = 4,
    PAWL_SIM_CRASHED = 5,
    PAWL_SIM_LOOP = 6,
    PAWL_SIM_BLOCKED = 7,
    PAWL_SIM_LOST =
        8, /* an event that no code saw, a compensation that was cut short: our bug, not yours */
} pawl_sim_problem;

/* "none", "divergence", "hang", "check", "leak", "crash", "loop", "blocked", "lost". */
PAWL_API const char *pawl_sim_problem_name(pawl_sim_problem problem);

/* One line of what happened in the failing seed. */
typedef struct pawl_sim_line {
    int64_t at_ms;     /* virtual, since the beginning of the seed */
    bool is_fault;     /* injected by the simulator; else a recorded event */
    pawl_str instance; /* empty for a fault */
    uint64_t seq, ref;
    pawl_str kind; /* of the event, or the fault */
    pawl_str name;
    pawl_str data; /* its first bytes */
} pawl_sim_line;

typedef struct pawl_sim_report {
    uint64_t seeds;           /* run; stops at the first failure */
    uint64_t seed;            /* the smallest seed that failed; 0: none */
    pawl_sim_problem problem; /* of that seed */
    unsigned faults;          /* the fewest faults with which it still fails */
    pawl_str instance;        /* the instance concerned */
    pawl_str text;            /* what is wrong, in words */
    const pawl_sim_line *lines;
    size_t line_count;
    bool cut; /* there were more lines */

    uint64_t completed, failed, cancelled, unfinished; /* instances the seeds began with */
    uint64_t crashes, events, commits;
    int64_t virtual_ms;
} pawl_sim_report;

/*
 * Simulate.  PAWL_OK when there is a report, whatever it says; PAWL_INVALID or
 * PAWL_NOT_FOUND for wrong options.  Strings of the report live in `mem`.  Each seed
 * runs in a child process: call this from a process without threads.
 */
PAWL_SIZED pawl_status pawl_sim(pawl_app *app, const pawl_sim_opts *opts, pawl_mem *mem,
                                pawl_sim_report *ret, pawl_error *reterr) PAWL_MUST_USE;

/* The call marked PAWL_SIZED (pawl/types.h): the sizes of pawl_sim_report and pawl_sim_line of the
 * caller. */
PAWL_API pawl_status pawl_sim_sized(pawl_app *app, const pawl_sim_opts *opts, pawl_mem *mem,
                                    pawl_sim_report *ret, pawl_error *reterr, size_t size,
                                    size_t line_size) PAWL_MUST_USE;

#ifndef PAWL_PLAIN

static inline pawl_status pawl_sim(pawl_app *app, const pawl_sim_opts *opts, pawl_mem *mem,
                                   pawl_sim_report *ret, pawl_error *reterr)
{
    return pawl_sim_sized(app, opts, mem, ret, reterr, sizeof(*ret), sizeof(pawl_sim_line));
}

#endif

#ifdef __cplusplus
}
#endif
#endif
