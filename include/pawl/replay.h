/* SPDX-License-Identifier: MIT */
/*
 * pawl/replay.h -- run code against a recorded history, and change nothing.
 *
 * Does new code fit the histories it will find?  pawl_replay() runs the code of an
 * orchestration from the top against recorded events, as a restarted process does, and
 * reports where the two disagree.  It writes no store, runs no activity and starts nothing.
 * `pawl check` and `pawl replay` are built on it; events come from pawl_client_history()
 * or from a file of `pawl export`.
 *
 *     pawl_replay_report report;
 *     if (pawl_replay(app, &info, events, count, NULL, &report, &err) != PAWL_OK)
 *         …;                                    // no memory, no such arguments
 *     if (report.outcome == PAWL_REPLAY_MISMATCH)
 *         printf("event %llu is %s, but %s at %s\n", (unsigned long long)report.seq,
 *                report.recorded, report.attempted, report.site);
 *
 * Call it from any thread that is not inside an orchestration.  If the code crashes or
 * does not return, so does the caller: fork first when that matters.
 */
#ifndef PAWL_REPLAY_H
#define PAWL_REPLAY_H

#include "pawl/client.h"
#include "pawl/runtime.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_replay_outcome {
    PAWL_REPLAY_WAITS = 0,    /* it fits; the code waits for more */
    PAWL_REPLAY_ENDED = 1,    /* it fits; the history has an end */
    PAWL_REPLAY_MISMATCH = 2, /* code and history disagree */
    PAWL_REPLAY_NO_CODE = 3,  /* the app has no such orchestration and version */
    PAWL_REPLAY_DAMAGED = 4,  /* these events are not a valid history */
} pawl_replay_outcome;

/* "waits", "ended", "mismatch", "no_code", "damaged". */
PAWL_API const char *pawl_replay_outcome_name(pawl_replay_outcome outcome);

typedef struct pawl_replay_report {
    pawl_replay_outcome outcome;
    uint64_t events;     /* replayed before it stopped */
    uint64_t seq;        /* mismatch: the recorded event; 0: nothing is recorded there */
    char text[400];      /* one line for people; empty when it fits */
    char recorded[160];  /* "ActivityScheduled #3 'Charge'"; empty: nothing */
    char attempted[160]; /* "pawl_call activity 'Refund'"; empty: no call */
    void *address;       /* of that call, or of the wait after the last event; NULL: unknown */
    char site[240];      /* mismatch: the same in words, "process_order at order.c:41" */
} pawl_replay_report;

typedef enum pawl_replay_what {
    PAWL_REPLAY_EVENT = 0,  /* a recorded event was replayed */
    PAWL_REPLAY_WAIT = 1,   /* the code waits and the replay ends here: nothing more is
                              recorded, or the next event is not a completion.  Called on the
                              stack of the code, so a debugger sees where it waits */
    PAWL_REPLAY_MISFIT = 2, /* a call of the code is about to be reported; called on its stack */
} pawl_replay_what;

typedef struct pawl_replay_step {
    pawl_replay_what what;
    const pawl_history_event *event; /* replayed, or next; NULL: none */
    void *site;                      /* return address of the call in the code; NULL: unknown */
} pawl_replay_step;

typedef void pawl_replay_fn(void *user, const pawl_replay_step *step);

/* Zero means the default of the field. */
typedef struct pawl_replay_opts {
    size_t size;          /* set by PAWL_REPLAY_OPTS */
    uint64_t until_seq;   /* replay only the events up to this one; default: all */
    const char *version;  /* of the code; default: the recorded one */
    bool strict_await;    /* as in pawl_options */
    bool no_site;         /* leave `site` to pawl_replay_site(), which is slow */
    pawl_replay_fn *step; /* called for every step, in order; it must not call the API */
    void *user;
} pawl_replay_opts;

#define PAWL_REPLAY_OPTS(...) PAWL_LEND(pawl_replay_opts, __VA_ARGS__)

/*
 * Replay one execution: `info` gives instance, orchestration, version and
 * execution, `events` is its whole history from the first event on.  PAWL_OK when
 * there is a report, whatever it says.
 */
PAWL_SIZED pawl_status pawl_replay(pawl_app *app, const pawl_info *info,
                                   const pawl_history_event *events, size_t count,
                                   const pawl_replay_opts *opts, pawl_replay_report *ret,
                                   pawl_error *reterr) PAWL_MUST_USE;

/* A return address in words: "process_order at order.c:41" where addr2line is
 * installed and the code has debug information, else "order.so+0x12ab".  Slow. */
PAWL_API void pawl_replay_site(void *address, char *to, size_t size);

/* The call marked PAWL_SIZED (pawl/types.h): `size` is sizeof(pawl_replay_report) of the caller. */
PAWL_API pawl_status pawl_replay_sized(pawl_app *app, const pawl_info *info,
                                       const pawl_history_event *events, size_t count,
                                       const pawl_replay_opts *opts, pawl_replay_report *ret,
                                       pawl_error *reterr, size_t size) PAWL_MUST_USE;

#ifndef PAWL_PLAIN

static inline pawl_status pawl_replay(pawl_app *app, const pawl_info *info,
                                      const pawl_history_event *events, size_t count,
                                      const pawl_replay_opts *opts, pawl_replay_report *ret,
                                      pawl_error *reterr)
{
    return pawl_replay_sized(app, info, events, count, opts, ret, reterr, sizeof(*ret));
}

#endif

#ifdef __cplusplus
}
#endif
#endif
