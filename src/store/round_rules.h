/* SPDX-License-Identifier: MIT */
/*
 * store/round_rules.h -- what every store asks of a round before it looks at its rows.
 *
 * Pure functions over pawl_round, for the stores that apply one (clauses C3 and R2 of
 * pawl/provider.h).  They are inline: each is called once per round or per work row.
 */
#ifndef PAWL_STORE_ROUND_RULES_H
#define PAWL_STORE_ROUND_RULES_H

#include "pawl/provider.h"

#include <string.h>

/* The events continue the history, and the row agrees with the last of them. */
static inline bool round_is_sound(const pawl_round *r)
{
    if (r->event_count == 0)
        return true;
    if (r->uid == 0 || !r->row || r->change == PAWL_ROW_NONE || r->change == PAWL_ROW_REMOVE)
        return false;
    uint64_t execution = r->execution, seq = r->base_seq;
    for (size_t i = 0; i < r->event_count; i++) {
        const pawl_event *e = &r->events[i];
        if (e->execution == r->execution + 1 && execution == r->execution) {
            execution++;
            seq = 0;
        }
        if (e->execution != execution || e->seq != ++seq)
            return false;
    }
    const pawl_event *last = &r->events[r->event_count - 1];
    return r->row->execution == execution && r->row->last_seq == seq &&
           r->row->last_rid == last->rid &&
           (execution == r->execution || r->change != PAWL_ROW_LAST);
}

/* Does the round leave its execution for the next one? */
static inline bool round_closes(const pawl_round *r)
{
    return r->row && r->row->execution == r->execution + 1;
}

/* The last event of the execution that the round leaves behind; NULL: it has none. */
static inline const pawl_event *round_last_of_closed(const pawl_round *r)
{
    const pawl_event *last = NULL;

    for (size_t i = 0; i < r->event_count && r->events[i].execution == r->execution; i++)
        last = &r->events[i];
    return last;
}

static inline bool round_same(pawl_str a, pawl_str b)
{
    return a.len == b.len && (a.ptr == b.ptr || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* True when a work row of the round says nothing but what its event `e` says. */
static inline bool round_is_untried(const pawl_round *r, const pawl_work *w, const pawl_event *e)
{
    return e->kind == PAWL_EV_ACTIVITY_SCHEDULED && w->attempt == 0 && w->crashes == 0 &&
           w->visible_ms == 0 && w->deadline_ms == 0 && w->last_error.len == 0 &&
           w->lock_token.len == 0 && w->uid == r->uid && w->execution == e->execution &&
           w->ref == e->ref && w->scheduled_ms == e->at_ms && round_same(w->name, e->name) &&
           round_same(w->input, e->data) && round_same(w->attrs, e->attrs) &&
           round_same(w->instance, r->row->id);
}

/* The named objects of a round. */
static inline const pawl_object *round_objects(const pawl_round *r, size_t *retcount)
{
    *retcount = r->extra ? r->extra->object_count : 0;
    return r->extra ? r->extra->objects : NULL;
}

/* Its entries of the index of attributes. */
static inline const pawl_attribute_entry *round_entries(const pawl_round *r, size_t *retcount)
{
    bool known = r->extra && r->extra->size > offsetof(pawl_round_extra, entry_count);
    *retcount = known ? r->extra->entry_count : 0;
    return known ? r->extra->entries : NULL;
}

/* Where the labels of its messages are wanted; NULL: nowhere. */
static inline uint32_t *round_shards(const pawl_round *r)
{
    bool known = r->extra && r->extra->size > offsetof(pawl_round_extra, shards);
    return known ? r->extra->shards : NULL;
}

static inline bool object_is(const pawl_object *o, int kind, pawl_str name)
{
    return o->kind == kind && round_same(o->name, name);
}

/* May a round change the object that has this version now (0: it is not there)?  V1. */
static inline bool object_fits(const pawl_object *o, uint64_t version)
{
    return o->version == PAWL_VERSION_ANY || o->version == version;
}

/* The end of the run of ids that starts at `at`: each one more than the last. */
static inline size_t ids_run_end(const uint64_t *ids, size_t at, size_t count)
{
    while (at + 1 < count && ids[at + 1] == ids[at] + 1)
        at++;
    return at + 1;
}

#endif
