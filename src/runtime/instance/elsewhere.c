/* SPDX-License-Identifier: MIT */
/* runtime/instance/elsewhere.c -- see elsewhere.h. */
#include "runtime/instance/elsewhere.h"

#include "engine/remote_code.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/load.h"
#include "runtime/instance/park.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/hand_out.h"
#include "runtime/remote/playing.h"
#include "runtime/remote/ready.h"
#include "runtime/remote/remote_run.h"
#include "runtime/work/activity.h"
#include "runtime/work/lease.h"
#include "store/store.h"

#include <stdio.h>

/* The letter waits as a row, behind those that wait already. */
static struct delivered wait_as_row(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    run_has_rows(rt, r->row.uid);
    if (l->stored && l->uid && !l->work_id) { /* it is one */
        r->piled = true;
        letter_drop(rt, l, PAWL_OK, "");
    } else {
        turn_pile(rt, r, l);
    }
    return verdict_done();
}

/* It cost too many workers. */
static struct delivered block_poison(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct engine_finding why = {0};
    uint32_t losses = run_losses(run_find(rt, r->row.uid));
    (void)snprintf(why.text, sizeof(why.text),
                   "poison: %u workers were lost in this turn; repair the code, then retry",
                   losses);
    run_forgive(rt, r->row.uid);
    run_unknown(rt, r->row.uid);
    return turn_block(rt, r, l, &why);
}

/* The code must see this message: hand it out, or let it wait for a worker. */
static struct delivered ask(pawl_runtime *rt, struct resident *r, struct letter *l,
                            const struct hand_out *h, const pawl_event *message)
{
    if (!l->stored) { /* its sender is answered, and it comes again */
        turn_store(rt, r, l);
        return verdict_done();
    }
    if (r->stage) /* what this group records of it is not committed yet */
        return verdict_on(l, VERDICT_LATER);
    if (run_losses(run_find(rt, h->uid)) >= rt->opts.max_attempts)
        return block_poison(rt, r, l);
    struct exchange *ex = run_taker(rt, h->uid, h->code);
    if (ex && hand_out_turn(rt, ex, h, message, l))
        return verdict_done();
    run_wait(rt, h->uid, h->code);
    return wait_as_row(rt, r, l);
}

static bool is_completion(int kind)
{
    return kind == PAWL_MSG_ACTIVITY_COMPLETED || kind == PAWL_MSG_ACTIVITY_FAILED ||
           kind == PAWL_MSG_TIMER_FIRED || kind == PAWL_MSG_CHILD_COMPLETED ||
           kind == PAWL_MSG_CHILD_FAILED;
}

/* May it be a turn together with others?  Not what is delivered alone (turn.c): the answer would
 * be put off for ever. */
static bool may_share(const pawl_runtime *rt, const struct remote_run *run, const struct letter *l)
{
    uint32_t count;
    const struct letter *first = run_letters(run, &count);

    return is_completion(l->mail.kind) && l->stored && !l->tries && !(first && first->tries) &&
           !rt->opts.hostile;
}

static struct hand_out place_of(pawl_runtime *rt, const struct resident *r)
{
    int64_t now_ms = r->x ? execution_now(r->x) : 0;
    return (struct hand_out){.uid = r->row.uid,
                             .execution = r->row.execution,
                             .seq = r->row.last_seq,
                             .instance = r->row.id,
                             .code = r->code,
                             .at_ms = rt->now_ms > now_ms ? rt->now_ms : now_ms};
}

struct delivered elsewhere_deliver(pawl_runtime *rt, struct resident *r, struct letter *l,
                                   struct delivered (*apply)(pawl_runtime *rt, struct resident *r,
                                                             struct letter *l))
{
    if (remote_playing(rt, r->row.uid)) {
        remote_play(rt, r->x, NULL);
        return apply(rt, r, l);
    }
    struct remote_run *run = run_find(rt, r->row.uid);
    struct remote_look look = execution_look(r->x, &l->mail, &rt->group_mem);
    if (run_is_out(run)) {
        bool more = look.fate == FATE_APPLIED && may_share(rt, run, l) &&
                    hand_out_more(rt, run, &look.event, l);
        return more ? verdict_done() : wait_as_row(rt, r, l);
    }
    bool steers = l->mail.kind == PAWL_MSG_SUSPEND || l->mail.kind == PAWL_MSG_RESUME;
    if (run_is_ready(run) && !steers)
        return wait_as_row(rt, r, l);
    if (!look.asks)
        return apply(rt, r, l);
    struct hand_out h = place_of(rt, r);
    return ask(rt, r, l, &h, &look.event);
}

bool elsewhere_begins(pawl_runtime *rt, struct resident *r, struct letter *l,
                      const struct code_entry *code, pawl_str attrs, struct delivered *ret)
{
    if (remote_playing(rt, r->row.uid))
        return false;
    struct hand_out h = place_of(rt, r);
    h.code = code;
    h.start_attrs = attrs;
    const pawl_event start = {.kind = PAWL_EV_ORCHESTRATION_STARTED,
                              .name = r->row.orchestration,
                              .data = l->mail.data,
                              .attrs = attrs};
    struct remote_run *run = run_find(rt, h.uid);
    if (run_begins(run)) { /* a worker has it since before it was a row */
        run_begin_with(rt, run, l);
        *ret = verdict_done();
        return true;
    }
    *ret = run_is_out(run) ? wait_as_row(rt, r, l) : ask(rt, r, l, &h, &start);
    return true;
}

struct delivered elsewhere_continues(pawl_runtime *rt, struct resident *r, struct letter *l,
                                     const struct code_entry *code, const struct mail *start)
{
    const pawl_row *row = resident_row(r);
    const struct remote_run *run = run_find(rt, r->row.uid);
    bool stands = row->state == PAWL_BLOCKED || row->state == PAWL_SUSPENDED;
    if (stands || run_is_out(run) || run_is_ready(run))
        return wait_as_row(rt, r, l);
    struct hand_out h = place_of(rt, r);
    h.code = code;
    h.execution++;
    h.seq = 0;
    h.x = r->x;
    h.start_attrs = start->attrs;
    return ask(rt, r, l, &h,
               &(pawl_event){.kind = PAWL_EV_ORCHESTRATION_STARTED,
                             .name = start->name,
                             .data = start->data,
                             .attrs = start->attrs});
}

enum wake_purpose elsewhere_wakes(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    const struct code_entry *code = registry_code(rt->app, r->row.orchestration, r->row.version);
    const pawl_row *row = resident_row(r);
    struct engine_finding finding;
    if (LIKELY(!code || !code->remote) || !row->last_seq ||
        load_execution(rt, r, &finding) != READY_OK || !execution_has_due_mail(r->x))
        return WAKE_OPENS;
    if (row->state != PAWL_BLOCKED && row->state != PAWL_SUSPENDED)
        return WAKE_TAKES;
    (void)wait_as_row(rt, r, l);
    return WAKE_WAITS;
}

void elsewhere_committed(pawl_runtime *rt, const struct stage *s)
{
    if (s->ended || s->removed)
        run_end(rt, s->row.uid);
}

/* ---- Inline steps that are to be done again ------------------------------------------- */

/* The instance of an inline step, if its turn may be handed out now; NULL: not now. */
static struct resident *inline_place(pawl_runtime *rt, const pawl_work *w)
{
    struct resident *r = NULL;
    struct engine_finding finding;
    if (load_row(rt, w->uid, (pawl_str){0}, &r) != LOAD_OK || r->stage ||
        r->row.state != PAWL_RUNNING || r->row.execution != w->execution ||
        load_execution(rt, r, &finding) != READY_OK || !r->code->remote)
        return NULL;
    return r;
}

/* Lease it to a worker that waits.  False: none does, or it has a turn already. */
static bool lease_again(pawl_runtime *rt, pawl_work *w)
{
    struct resident *r = inline_place(rt, w);
    if (!r)
        return false;
    const struct remote_run *run = run_find(rt, w->uid);
    bool out = run_is_out(run);
    struct exchange *ex = out ? NULL : run_taker(rt, w->uid, r->code);
    if (!ex && !out)
        run_wait(rt, w->uid, r->code);
    if (out ? !run_is_unsent(run) : !ex)
        return false;
    /* it is decided, or held until it is due */
    if (!lease_inline_again(rt, w, out ? run_lease_ms(run) : exchange_lease_ms(ex)))
        return true;
    struct hand_out h = place_of(rt, r);
    char key[ACTIVITY_KEY_BYTES];
    (void)hand_out_lease(rt, ex, &h,
                         &(pawl_turn_lease){.ref = w->ref,
                                            .lease = w->lock_token,
                                            .key = pawl_s(activity_key(w, key)),
                                            .attempt = w->attempt + 1,
                                            .until_ms = w->lock_until_ms});
    return true; /* a lease that could not be told of ends by itself */
}

#define INLINE_AT_ONCE 100

static void look_inline(pawl_runtime *rt)
{
    pawl_mem mem;
    pawl_work_list list = {0};
    pawl_error err;
    if (!run_any_session(rt))
        return;
    bool looks = lease_looks_inline(rt), waits = run_inline_waits(rt);
    if (!looks && !waits)
        return;
    run_set_inline_waits(rt, false);
    arena_init(&mem);
    if (lease_fetch_inline(rt, INLINE_AT_ONCE, &mem, &list, &err) != PAWL_OK)
        health_unread(rt, &err);
    for (size_t i = 0; i < list.count; i++) {
        pawl_work w = list.items[i];
        if (lease_again(rt, &w))
            continue;
        store_abandon_work(rt->store, &w.id, 1);
        run_set_inline_waits(rt, true); /* looked at again when something else happens */
    }
    arena_deinit(&mem);
}

void elsewhere_look(pawl_runtime *rt)
{
    uint64_t uid;
    ready_look(rt);
    while (run_brought(rt, &uid)) {
        lease_may_find(rt);
        turn_unpile(rt, uid);
    }
    look_inline(rt);
}
