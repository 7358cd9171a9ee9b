/* SPDX-License-Identifier: MIT */
/* runtime/schedule/schedule_hand.c -- see the header. */
#include "runtime/schedule/schedule_hand.h"

#include "base/hex.h"
#include "base/limits.h"
#include "base/rand.h"
#include "pawl/queue.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/schedule/schedule_mail.h"
#include "runtime/schedule/schedule_zones.h"
#include "schedule/schedule_json.h"
#include "store/store.h"
#include "store/store_object.h"

bool hand_is_busy(const pawl_runtime *rt, pawl_str name)
{
    for (const struct stage *s = stage_first(rt); s; s = s->next)
        for (size_t i = 0; i < s->objects.count; i++)
            if (s->objects.items[i].kind == PAWL_OBJECT_SCHEDULE &&
                pawl_str_eq(s->objects.items[i].name, name))
                return true;
    return false;
}

pawl_status hand_take(pawl_runtime *rt, pawl_str name, struct schedule_hand *ret,
                      pawl_error *reterr)
{
    pawl_object o;
    *ret = (struct schedule_hand){.name = arena_dup(&rt->group_mem, name)};
    pawl_status rc =
        store_read_object(rt->store, PAWL_OBJECT_SCHEDULE, ret->name, &rt->group_mem, &o, reterr);
    if (rc != PAWL_OK)
        return rc;
    ret->version = o.version;
    if (!state_read(&ret->state, o.data, &rt->group_mem)) {
        error_about(reterr, PAWL_CORRUPT, "the stored schedule '", name,
                    "' cannot be read; remove it and make it again");
        return PAWL_CORRUPT;
    }
    ret->was_row = ret->state.row;
    ret->was_next = ret->state.next_ms;
    return PAWL_OK;
}

/* Read a stored spec and make its plan.  NOT_FOUND, INVALID: its zone is gone, or a newer version
 * wrote it. */
static pawl_status make_plan(pawl_runtime *rt, pawl_str json, pawl_schedule *spec,
                             const struct zone **retzone, struct plan *plan, pawl_error *reterr)
{
    *retzone = NULL;
    pawl_status rc = schedule_read_json(spec, json, &rt->group_mem, reterr);
    if (rc == PAWL_OK)
        rc = zone_load(spec->zone, &rt->group_mem, retzone, reterr);
    if (rc == PAWL_OK)
        rc = plan_make(plan, spec, *retzone, reterr);
    return rc;
}

pawl_status hand_plan(pawl_runtime *rt, struct schedule_hand *h, struct stage *s,
                      pawl_error *reterr)
{
    const struct zone *zone;
    pawl_error err = {0};
    pawl_status rc = make_plan(rt, h->state.spec, &h->spec, &zone, &h->plan, &err);
    if (rc != PAWL_OK && rc != PAWL_NOT_FOUND && rc != PAWL_INVALID && rc != PAWL_LIMIT) {
        if (reterr)
            *reterr = err;
        return rc;
    }
    bool parked = h->state.finding.len > 0;
    h->state.finding = rc != PAWL_OK ? arena_dup(&rt->group_mem, pawl_s(err.text)) : (pawl_str){0};
    if (rc != PAWL_OK && !parked)
        log_warn(&rt->log, "schedule", "a schedule cannot go on", "schedule=%.*s why=\"%s\"",
                 PAWL_FMT(h->name), err.text);
    if (h->spec.zone)
        zones_note(rt, s, pawl_s(h->spec.zone), zone ? zone->hash : 0);
    h->look = (struct look){.state = &h->state,
                            .spec = &h->spec,
                            .plan = &h->plan,
                            .name = h->name,
                            .now_ms = rt->now_ms,
                            .mem = &rt->group_mem};
    return PAWL_OK;
}

/* Is there, or will there be after this commit, an instance with this id? */
static pawl_status exists(void *user, pawl_str id)
{
    pawl_runtime *rt = user;
    pawl_row row;
    pawl_error err;
    if (resident_by_id(rt, id))
        return PAWL_OK;
    pawl_status rc = store_find(rt->store, id, &rt->group_mem, &row, &err);
    return rc == PAWL_NOT_FOUND ? PAWL_EMPTY : rc;
}

static pawl_status step_backfill(pawl_runtime *rt, struct schedule_hand *h, pawl_error *reterr)
{
    const struct schedule_backfill *b = &h->state.backfill;
    const struct zone *zone;
    pawl_schedule spec;
    struct plan plan = h->plan;
    if (!b->on)
        return PAWL_OK;
    pawl_status rc = PAWL_OK;
    if (b->spec.len)
        rc = make_plan(rt, b->spec, &spec, &zone, &plan, reterr);
    if (rc != PAWL_OK)
        return PAWL_OK; /* when its zone is back */
    return look_backfill(&h->look, &plan, exists, rt);
}

pawl_status hand_look(pawl_runtime *rt, struct schedule_hand *h, pawl_error *reterr)
{
    look_due(&h->look);
    return h->state.finding.len ? PAWL_OK : step_backfill(rt, h, reterr);
}

/* ---- Writing ------------------------------------------------------------------------- */

static pawl_str run_attrs(pawl_runtime *rt, const struct schedule_hand *h, int64_t at_ms)
{
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    if (h->spec.version) {
        pawl_json_key(w, "version");
        pawl_json_cstr(w, h->spec.version);
    }
    pawl_json_key(w, "schedule");
    pawl_json_str(w, h->name);
    pawl_json_key(w, "scheduled_at");
    pawl_json_num(w, at_ms);
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* The occurrence is the dedup id: what is repeated within the queue's window adds no item.  One that
 * is too long for a dedup id is told apart by its hash. */
static pawl_str push_attrs(pawl_runtime *rt, const struct schedule_hand *h, pawl_str id)
{
    static const uint64_t salt[2] = {UINT64_C(0x7061776c70757368), UINT64_C(0x6f63637572726564)};
    char hash[17];
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    pawl_json_key(w, "priority");
    pawl_json_num(w, h->spec.priority);
    if (id.len > PAWL_QUEUE_DEDUP_BYTES) {
        hex_write_u64(hash, siphash24(salt, id.ptr, id.len));
        id = pawl_s(hash);
    }
    pawl_json_key(w, "dedup_id");
    pawl_json_str(w, id);
    pawl_json_end(w);
    return pawl_json_done(w);
}

void hand_begin(pawl_runtime *rt, struct stage *s, const struct schedule_hand *h, pawl_str id,
                int64_t at_ms)
{
    bool push = h->spec.queue != NULL;
    pawl_message *m = stage_send(rt, s, push ? PAWL_MSG_QUEUE_PUSH : PAWL_MSG_START, 0,
                                 push ? pawl_s(QUEUE_MAIL) : id);
    m->name = pawl_s(push ? h->spec.queue : h->spec.orchestration);
    m->shard = push ? rt_shard_of_queue(rt, m->name) : rt_shard_of(rt, id);
    m->data = h->spec.input;
    if (push) {
        m->attrs = push_attrs(rt, h, id);
        return;
    }
    m->execution = 1;
    m->attrs = run_attrs(rt, h, at_ms);
}

static void stop_run(pawl_runtime *rt, struct stage *s, const struct schedule_hand *h,
                     const struct look_act *d)
{
    pawl_message *m = stage_send(
        rt, s, d->kind == LOOK_DO_CANCEL ? PAWL_MSG_CANCEL : PAWL_MSG_TERMINATE, 0, d->id);
    m->data = pawl_mem_printf(&rt->group_mem, "the next run of schedule '%.*s' is due",
                              PAWL_FMT(h->name));
}

/* The row that is visible when its next occurrence is due. */
static void set_row(pawl_runtime *rt, struct stage *s, struct schedule_hand *h)
{
    struct schedule_state *state = &h->state;
    if (state->row && state->next_ms == h->was_next)
        return;
    stage_drop_message(rt, s, h->was_row);
    state->row = 0;
    if (!state->next_ms)
        return;
    int64_t at = state->next_ms + schedule_jitter(h->name, h->spec.jitter_ms, state->next_ms);
    state->row = schedule_wake_at(rt, s, h->name, at > 0 ? at : 1)->id;
}

void hand_do(pawl_runtime *rt, struct stage *s, struct schedule_hand *h)
{
    for (size_t i = 0; i < h->look.acts.count; i++) {
        const struct look_act *d = &h->look.acts.items[i];
        if (d->kind == LOOK_DO_START || d->kind == LOOK_DO_PUSH)
            hand_begin(rt, s, h, d->id, d->at_ms);
        else
            stop_run(rt, s, h, d);
    }
    h->look.acts.count = 0;
}

void hand_put(pawl_runtime *rt, struct stage *s, struct schedule_hand *h)
{
    hand_do(rt, s, h);
    set_row(rt, s, h);
    if (h->look.again)
        (void)schedule_wake_at(rt, s, h->name, 0);
    *list_add(&rt->group_mem, &s->objects) =
        (pawl_object){.kind = PAWL_OBJECT_SCHEDULE,
                      .name = h->name,
                      .version = h->version,
                      .data = state_write(&h->state, &rt->group_mem)};
    RT_POINT(rt, "schedule.staged");
}
