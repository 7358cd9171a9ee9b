/* SPDX-License-Identifier: MIT */
/*
 * store/round_rules.h -- what every store asks of a round before it looks at its rows.
 *
 * Pure functions over pawl_round, for the stores that apply one (clauses C3 and R2 of
 * pawl/provider.h).
 */
#ifndef PAWL_STORE_ROUND_RULES_H
#define PAWL_STORE_ROUND_RULES_H

#include "pawl/provider.h"

/* The events continue the history, and the row agrees with the last of them. */
bool round_is_sound(const pawl_round *r);

/* Does the round leave its execution for the next one? */
static inline bool round_closes(const pawl_round *r)
{
    return r->row && r->row->execution == r->execution + 1;
}

/* The last event of the execution that the round leaves behind; NULL: it has none. */
const pawl_event *round_last_of_closed(const pawl_round *r);

/* True when a work row of the round says nothing but what its event `e` says. */
bool round_is_untried(const pawl_round *r, const pawl_work *w, const pawl_event *e);

/* The end of the run of ids that starts at `at`: each one more than the last. */
static inline size_t ids_run_end(const uint64_t *ids, size_t at, size_t count)
{
    while (at + 1 < count && ids[at + 1] == ids[at] + 1)
        at++;
    return at + 1;
}

#endif
