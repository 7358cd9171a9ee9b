/* SPDX-License-Identifier: MIT */
/*
 * store/store.h -- calling a store: the clauses of pawl/provider.h that can be
 * seen from outside are checked before and after each call.
 *
 * What we hand in is asserted: a malformed round must stop the process before it
 * reaches the disk.  Results are validated: an impossible one (a damaged index)
 * returns CORRUPT to this caller only.  Operations about which nothing can be
 * said are passed on as they are.  The runtime and trials call a store by these, by
 * store/store_queue.h and by store/store_object.h alone (tools/check-layers).
 */
#ifndef PAWL_STORE_STORE_H
#define PAWL_STORE_STORE_H

#include "pawl/provider.h"

/* This thread is the engine of that store until the next call; NULL: of none.  Returns the
 * store of the call before.  A store may then read on the connection it writes with: no other
 * thread uses it, and what it has in memory outlives a commit. */
const pawl_store *store_engine_set(const pawl_store *s);
bool store_engine_is(const pawl_store *s);

/* CORRUPT: an answer that cannot be true; `what` it was. */
pawl_status store_unbelievable(const char *what, pawl_error *reterr);

/* Was the store built for this edition of the contract, and is it whole? */
PAWL_MUST_USE pawl_status store_check(const pawl_store *s, pawl_error *reterr);

PAWL_MUST_USE pawl_status store_take(pawl_store *s, int64_t now_ms, pawl_fence *ret,
                                     pawl_error *reterr);
PAWL_MUST_USE pawl_status store_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds,
                                       size_t count, int64_t now_ms, pawl_error *reterr);
/* May be asked of any store; one that cannot tell answers UNKNOWN. */
PAWL_MUST_USE pawl_status store_outcome(pawl_store *s, pawl_fence *fence, pawl_round *rounds,
                                        size_t count, int64_t now_ms, bool *retcommitted,
                                        pawl_error *reterr);
PAWL_MUST_USE pawl_status store_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit,
                                               pawl_mem *mem, pawl_message_list *ret,
                                               pawl_error *reterr);
PAWL_MUST_USE pawl_status store_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                                           size_t name_count, uint32_t limit, pawl_mem *mem,
                                           pawl_work_list *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_fetch_deadlines(pawl_store *s, int64_t now_ms, uint32_t limit,
                                                pawl_mem *mem, pawl_work_list *ret,
                                                pawl_error *reterr);
PAWL_MUST_USE pawl_status store_next_due(pawl_store *s, int64_t after_ms, int64_t *ret,
                                         pawl_error *reterr);
PAWL_MUST_USE pawl_status store_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret,
                                     pawl_error *reterr);
PAWL_MUST_USE pawl_status store_find_uid(pawl_store *s, uint64_t uid, pawl_mem *mem, pawl_row *ret,
                                         pawl_error *reterr);
PAWL_MUST_USE pawl_status store_find_execution(pawl_store *s, uint64_t uid, uint64_t execution,
                                               pawl_mem *mem, pawl_row *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_read_history(pawl_store *s, uint64_t uid, uint64_t execution,
                                             uint64_t after_seq, uint32_t limit, pawl_mem *mem,
                                             pawl_event_list *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_read_messages(pawl_store *s, uint64_t uid, pawl_str instance,
                                              pawl_mem *mem, pawl_message_list *ret,
                                              pawl_error *reterr);
PAWL_MUST_USE pawl_status store_list(pawl_store *s, const pawl_row_query *query, pawl_mem *mem,
                                     pawl_row_list *ret, pawl_error *reterr);
/* May be asked of any store. */
PAWL_MUST_USE pawl_status store_search(pawl_store *s, const pawl_search *search, pawl_mem *mem,
                                       pawl_found *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_purge(pawl_store *s, pawl_fence *fence, uint32_t limit,
                                      bool *retleft, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                                 uint64_t before_execution, uint64_t *retcount,
                                                 pawl_error *reterr);

/* One call where the store has it, else one after the other. */
PAWL_MUST_USE pawl_status store_load(pawl_store *s, pawl_wanted *wanted, size_t count,
                                     size_t max_bytes, pawl_mem *mem, pawl_error *reterr);

/* Only where store_has_load_histories(); the others read them when they are needed. */
PAWL_MUST_USE pawl_status store_load_histories(pawl_store *s, pawl_wanted_history *wanted,
                                               size_t count, size_t max_bytes, pawl_mem *mem,
                                               pawl_error *reterr);

PAWL_MUST_USE static inline pawl_status store_read_event(pawl_store *s, uint64_t rid, pawl_mem *mem,
                                                         pawl_event *ret, pawl_error *reterr)
{
    return s->ops->read_event(s, rid, mem, ret, reterr);
}

PAWL_MUST_USE static inline pawl_status store_read_work(pawl_store *s, const uint64_t *ids,
                                                        size_t count, pawl_mem *mem,
                                                        pawl_work_list *ret, pawl_error *reterr)
{
    return s->ops->read_work(s, ids, count, mem, ret, reterr);
}

PAWL_MUST_USE static inline pawl_status store_has_key(pawl_store *s, uint64_t uid, pawl_str key,
                                                      pawl_error *reterr)
{
    return s->ops->has_key(s, uid, key, reterr);
}

PAWL_MUST_USE static inline pawl_status store_depths(pawl_store *s, int64_t now_ms,
                                                     pawl_depths *ret, pawl_error *reterr)
{
    *ret = (pawl_depths){.size = sizeof(*ret)};
    return s->ops->depths(s, now_ms, ret, reterr);
}

static inline void store_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count)
{
    s->ops->abandon_messages(s, ids, count);
}

static inline void store_abandon_work(pawl_store *s, const uint64_t *ids, size_t count)
{
    s->ops->abandon_work(s, ids, count);
}

static inline pawl_store_caps store_caps(pawl_store *s)
{
    pawl_store_caps caps = {.size = sizeof(caps)};
    s->ops->caps(s, &caps);
    return caps;
}

/* Has the store this slot?  One built with an older header of this edition may be shorter. */
#define STORE_HAS(s, op)                                                                           \
    ((s)->ops->size >= offsetof(pawl_store_ops, op) + sizeof((s)->ops->op) && (s)->ops->op)

static inline bool store_has_load_histories(const pawl_store *s)
{
    return STORE_HAS(s, load_histories);
}

static inline bool store_has_clock(const pawl_store *s)
{
    return STORE_HAS(s, clock);
}

/* Only where store_has_clock(). */
PAWL_MUST_USE pawl_status store_clock(pawl_store *s, int64_t *ret, pawl_error *reterr);

/* Can names of work be found again after a start? */
static inline bool store_has_work_names(const pawl_store *s)
{
    return STORE_HAS(s, list_work_names) && STORE_HAS(s, read_named_work);
}
/* Only where store_has_work_names(). */
PAWL_MUST_USE pawl_status store_list_work_names(pawl_store *s, pawl_str after, uint32_t limit,
                                                pawl_mem *mem, pawl_text_list *ret,
                                                pawl_error *reterr);
/* UNSUPPORTED: the store has no index of attributes. */
PAWL_MUST_USE pawl_status store_count_values(pawl_store *s, pawl_str name, uint32_t max_values,
                                             uint64_t max_entries, pawl_mem *mem,
                                             pawl_value_counts *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms,
                                                uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                                                pawl_error *reterr);

static inline pawl_status store_space(pawl_store *s)
{
    return s->ops->space(s);
}

static inline void store_figures(pawl_store *s, pawl_store_figures *ret)
{
    *ret = (pawl_store_figures){.size = sizeof(*ret)};
    if (STORE_HAS(s, figures))
        s->ops->figures(s, ret);
}

static inline const char *store_name(const pawl_store *s)
{
    return s->ops->name;
}

static inline void store_close(pawl_store *s) /* NULL is fine */
{
    if (s)
        s->ops->close(s);
}

#endif
