/* SPDX-License-Identifier: MIT */
/* store/round_rules.c -- see the header. */
#include "store/round_rules.h"

#include "pawl/event.h"

#include <string.h>

bool round_is_sound(const pawl_round *r)
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

const pawl_event *round_last_of_closed(const pawl_round *r)
{
    const pawl_event *last = NULL;

    for (size_t i = 0; i < r->event_count && r->events[i].execution == r->execution; i++)
        last = &r->events[i];
    return last;
}

static bool same(pawl_str a, pawl_str b)
{
    return a.len == b.len && (a.ptr == b.ptr || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool round_is_untried(const pawl_round *r, const pawl_work *w, const pawl_event *e)
{
    return e->kind == PAWL_EV_ACTIVITY_SCHEDULED && w->attempt == 0 && w->crashes == 0 &&
           w->visible_ms == 0 && w->deadline_ms == 0 && w->last_error.len == 0 &&
           w->lock_token.len == 0 && w->uid == r->uid && w->execution == e->execution &&
           w->ref == e->ref && w->scheduled_ms == e->at_ms && same(w->name, e->name) &&
           same(w->input, e->data) && same(w->attrs, e->attrs) && same(w->instance, r->row->id);
}
