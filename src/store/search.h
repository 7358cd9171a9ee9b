/* SPDX-License-Identifier: MIT */
/*
 * store/search.h -- what rows of a search have in common, whatever the store (L4 to L6 of
 * pawl/provider.h).
 *
 * Pure.  Called by the stores, and by store.c for one that does not search itself.
 */
#ifndef PAWL_STORE_SEARCH_H
#define PAWL_STORE_SEARCH_H

#include "base/attributes.h"
#include "pawl/provider.h"

#define SEARCH_ALL_STATES ((1u << (PAWL_CONTINUED_AS_NEW + 1)) - 1)
/* The states that have an index: of these there are few, or people look for them. */
#define SEARCH_RARE_STATES                                                                         \
    (1u << PAWL_SUSPENDED | 1u << PAWL_BLOCKED | 1u << PAWL_FAILED | 1u << PAWL_CANCELLED)

/* The states that it wants, one bit each. */
uint32_t search_states(const pawl_search *s);
/* Does an instance in this state show its text in `output`? */
bool search_reads_output(pawl_state state);
/* Does `text` occur in it, ASCII letters in either case?  The empty text occurs everywhere. */
bool search_text_in(pawl_str in, pawl_str text);
/* Does `text` occur in why an instance of this state is not well? */
bool search_error_in(pawl_state state, pawl_str output, pawl_str finding, pawl_str text);
/* The condition whose entries of the index are walked: the first EQ, else the first range; NULL:
 * none. */
const pawl_where *search_along(const pawl_search *s);
/* Everything but the place in the list: before_uid and limit. */
bool search_matches(const pawl_search *s, const pawl_row *row);

#endif
