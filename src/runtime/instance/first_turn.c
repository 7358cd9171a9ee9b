/* SPDX-License-Identifier: MIT */
/* runtime/instance/first_turn.c -- see first_turn.h. */
#include "runtime/instance/first_turn.h"

#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/hand_out.h"
#include "runtime/remote/remote_run.h"

/* Nothing but one row and its start. */
static bool is_plain(const struct stage *s)
{
    return !s->next && s->letters && !s->letters->next && s->messages.count == 1 && !s->adopted &&
           !s->adoptions.count && !s->call && !s->exchange;
}

bool first_turn_may(pawl_runtime *rt, const struct resident *r, const struct letter *l)
{
    bool usual =
        l->asked && !l->uid && !l->tries && !l->raises && !rt->opts.hostile && !rt->opts.paranoid;
    bool alone = stage_first(rt) == r->stage && is_plain(r->stage) && !letter_first(rt) &&
                 !items_first(rt) && !inbox_count(rt);

    return usual && alone && here_has_threads(rt) && !inbox_stops(rt) && run_first_hopes(rt) &&
           !run_find(rt, r->row.uid);
}

void first_turn_offer(pawl_runtime *rt, struct resident *r, const struct letter *l,
                      const struct code_entry *code, pawl_str attrs)
{
    struct exchange *ex = run_taker(rt, r->row.uid, code);
    const struct hand_out h = {.uid = r->row.uid,
                               .execution = r->row.execution,
                               .instance = r->row.id,
                               .code = code,
                               .at_ms = rt->now_ms,
                               .start_attrs = attrs};
    const pawl_event start = {.kind = PAWL_EV_ORCHESTRATION_STARTED,
                              .name = r->row.orchestration,
                              .data = l->mail.data,
                              .attrs = attrs};

    if (ex && hand_out_turn(rt, ex, &h, &start, NULL))
        run_set_begins(run_find(rt, r->row.uid));
}

bool first_turn_is(const pawl_runtime *rt, const struct resident *r)
{
    return r->stage && stage_first(rt) == r->stage && is_plain(r->stage) &&
           run_begins(run_find(rt, r->row.uid));
}

bool first_turn_waits(const pawl_runtime *rt)
{
    const struct stage *s = stage_first(rt);

    return s && !s->next && s->r && first_turn_is(rt, s->r);
}

struct letter *first_turn_take(pawl_runtime *rt, struct resident *r)
{
    struct letter *l = stage_abort(rt, r->stage);

    resident_evict(rt, r);
    return l;
}
