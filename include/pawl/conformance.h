/* SPDX-License-Identifier: MIT */
/*
 * pawl/conformance.h -- check that a store keeps every clause of pawl/provider.h.
 *
 * Link libpawl-conformance.a and libpawl, describe how to make your store, and
 * call pawl_conformance() from your own main().  Each test is named by the
 * clauses it checks (c2_refused_round_leaves_the_others_committed), runs on a
 * fresh store in a process of its own, and prints one line when it fails.  The
 * table at the end has a row for every clause.
 *
 *     static pawl_store *open_mine(void *user, pawl_error *reterr) { … }
 *     …
 *     int main(int argc, char **argv)
 *     {
 *         pawl_conformance_factory mine = {.size = sizeof(mine), .name = "mine",
 *             .open = open_mine, .reopen = reopen_mine, .close = close_mine};
 *         return pawl_conformance(&mine, argc > 1 ? argv[1] : NULL) != 0;
 *     }
 *
 * With CK_FORK=no in the environment everything runs in one process, for a
 * debugger.
 */
#ifndef PAWL_CONFORMANCE_H
#define PAWL_CONFORMANCE_H

#include "pawl/provider.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_damage {
    PAWL_DAMAGE_MESSAGE = 1, /* make the message row undecodable (M5) */
    PAWL_DAMAGE_EVENT = 2,   /* make the event row not fit its neighbours (H3) */
} pawl_damage;

typedef struct pawl_conformance_factory {
    size_t size;      /* sizeof(pawl_conformance_factory) */
    const char *name; /* for the report */
    void *user;
    /* A new, empty store. */
    pawl_store *(*open)(void *user, pawl_error *reterr);
    /* Act as if the process died: drop what is only in memory, without a clean close,
     * and open the same data again.  `s` is invalid afterwards. */
    pawl_store *(*reopen)(void *user, pawl_store *s, pawl_error *reterr);
    /* Close the store and delete its data. */
    void (*close)(void *user, pawl_store *s);
    /* Damage one stored row without the store knowing it.  When this returns false or is
     * NULL, the clause stays unchecked. */
    bool (*damage)(void *user, pawl_store *s, pawl_damage what, uint64_t id);
} pawl_conformance_factory;

/* Run the tests whose name contains `filter` (NULL: all), print failures and the
 * table of clauses.  Returns the number of failures. */
PAWL_API int pawl_conformance(const pawl_conformance_factory *factory, const char *filter);

typedef struct pawl_conformance_opts {
    size_t size;              /* sizeof(pawl_conformance_opts) */
    const char *filter;       /* tests whose name contains it; NULL: all */
    const char *const *specs; /* files with interleavings of your own */
    size_t spec_count;
} pawl_conformance_opts;

/* How a run went, all stores together. */
typedef struct pawl_conformance_totals {
    int passed, failed, skipped;
} pawl_conformance_totals;

/* The same on several stores, with one table: one row per clause, one column per store. */
PAWL_API pawl_conformance_totals pawl_conformance_run(const pawl_conformance_factory *factories,
                                                      size_t count,
                                                      const pawl_conformance_opts *opts);

/* How many tests check a clause ("C2"). */
PAWL_API int pawl_conformance_tests(const char *clause);

#ifdef __cplusplus
}
#endif
#endif
