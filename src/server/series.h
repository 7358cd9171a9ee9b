/* SPDX-License-Identifier: MIT */
/*
 * server/series.h -- what the server did in each of the last seconds.
 *
 * The commit that sees a new second reads the counters of the runtime and writes what was added
 * into the second before; a question does the same.  Seconds without a commit are empty.  So an
 * idle server is not woken, and a busy one reads its counters once a second.
 */
#ifndef PAWL_SERVER_SERIES_H
#define PAWL_SERVER_SERIES_H

#include "pawl.h"

#define SERIES_SECONDS 600

/* X(name in the answer). */
#define SERIES(X)                                                                                  \
    X(starts)                                                                                      \
    X(ended)                                                                                       \
    X(failed)                                                                                      \
    X(turns)                                                                                       \
    X(activities)                                                                                  \
    X(retried)                                                                                     \
    X(commits)                                                                                     \
    X(commit_us)

enum series_name {
#define SERIES_ENUM(name) SERIES_##name,
    SERIES(SERIES_ENUM)
#undef SERIES_ENUM
        SERIES_COUNT
};

struct series;
struct census;

struct series *series_create(pawl_runtime *rt, struct census *census); /* NULL: out of memory */
void series_destroy(struct series *t);
/* [engine] A commit was made. */
void series_look(struct series *t);
/* "series":{…}: each an array of the last `seconds`, oldest first; the last one is still going on.
 * Inside an object. */
void series_write(struct series *t, pawl_json *w, unsigned seconds);

#endif
