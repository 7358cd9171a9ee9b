/* SPDX-License-Identifier: MIT */
/*
 * server/census.h -- how many instances there are, by state and orchestration; what failed lately.
 *
 * Every commit that begins, ends, stops or removes an instance says so (the commit feed), and is
 * counted here.  What was there before this process is counted once, with the first questions: a
 * walk over all instances, newest first, WALK_MS per question, until it has seen them all.  The
 * counts are exact for what the walk has seen, and for all that is newer; when it is done they are
 * exact for all.  Without a question nothing is read.
 *
 * census_note() is called by the engine; everything else by readers.
 */
#ifndef PAWL_SERVER_CENSUS_H
#define PAWL_SERVER_CENSUS_H

#include "pawl.h"

#define CENSUS_STATES  (PAWL_CONTINUED_AS_NEW + 1)
#define CENSUS_NAMES   200 /* orchestrations with counts of their own; all others share one */
#define CENSUS_FAILED  256 /* failures that are remembered */
#define CENSUS_BUCKETS 128 /* of how long instances took */
#define CENSUS_TEXT    200

struct census;

/* Counts since this process began to serve. */
struct census_flow {
    uint64_t starts, ended, failed;
};

/* An orchestration. */
struct census_kind {
    pawl_str name; /* empty: all without counts of their own */
    uint64_t counts[CENSUS_STATES];
    uint64_t took[CENSUS_BUCKETS]; /* completed since the start, by their time */
};

struct census_failure {
    const struct census_kind *kind;
    int64_t at_ms;
    pawl_str instance, error;
};

struct census *census_create(void); /* NULL: out of memory */
void census_destroy(struct census *t);
void census_note(struct census *t, const pawl_change *changes, size_t count);
struct census_flow census_flow(struct census *t);
/* Look at instances that are not counted yet, for a moment; false: the store does not answer. */
bool census_walk(struct census *t, pawl_client *client, pawl_error *reterr);

/* What is known now, in `mem`: kinds by name; failures, newest first. */
struct census_view {
    bool exact; /* every instance is counted */
    const struct census_kind *kinds;
    size_t kind_count;
    const struct census_failure *failures;
    size_t failure_count;
};
void census_look(struct census *t, pawl_mem *mem, struct census_view *ret);
/* The time that `percent` of them stayed within, about; -1: none completed. */
int64_t census_percentile(const struct census_kind *kind, unsigned percent);

#endif
