/* SPDX-License-Identifier: MIT */
/* runtime/schedule/schedule_call.c -- see the header. */
#include "runtime/schedule/schedule_call.h"

#include "base/limits.h"
#include "base/rand.h"
#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/schedule/schedule_hand.h"
#include "runtime/schedule/schedule_mail.h"
#include "schedule/schedule_json.h"

#include <stdio.h>

/* One call: its schedule and its answer. */
struct asked {
    pawl_runtime *rt;
    const struct letter *call;
    struct stage *s;
    struct schedule_hand h;
    bool there;
    pawl_reply *reply;
    pawl_error err;
};

#define REFUSE(a, status, ...) (error_set(&(a)->err, status, __VA_ARGS__), status)

/* ---- Put ---------------------------------------------------------------------------- */

static pawl_status check_revision(struct asked *a)
{
    uint64_t want = a->call->ask.if_revision, has = a->there ? a->h.state.revision : 0;
    if (!want || want == has || (want == PAWL_IF_NEW && !a->there))
        return PAWL_OK;
    if (!a->there)
        return REFUSE(a, PAWL_NOT_FOUND, "there is no schedule '%.*s'", PAWL_FMT(a->h.name));
    if (want == PAWL_IF_NEW)
        return REFUSE(a, PAWL_EXISTS, "schedule '%.*s' exists already; choose another name",
                      PAWL_FMT(a->h.name));
    return REFUSE(a, PAWL_CONFLICT, "schedule '%.*s' has revision %llu, not %llu; read it again",
                  PAWL_FMT(a->h.name), (unsigned long long)has, (unsigned long long)want);
}

/* The spec as it is stored, without `paused`, which belongs to the state. */
static pawl_status read_spec(struct asked *a, pawl_str *ret, bool *retpaused)
{
    pawl_schedule spec;
    pawl_status rc = schedule_read_json(&spec, a->call->mail.data, &a->rt->group_mem, &a->err);
    if (rc != PAWL_OK)
        return rc;
    *retpaused = spec.paused;
    spec.paused = false;
    pawl_json *w = pawl_json_new(&a->rt->group_mem);
    schedule_write_json(w, &spec);
    *ret = pawl_json_done(w);
    return ret->len ? PAWL_OK : REFUSE(a, PAWL_INVALID, "the schedule is no valid JSON");
}

/* Occurrences that are due by the old spec begin by the old spec; the new one counts from now on. */
static pawl_status put(struct asked *a)
{
    struct schedule_state *state = &a->h.state;
    pawl_str spec;
    bool paused;
    pawl_status rc = check_revision(a);
    if (rc == PAWL_OK)
        rc = read_spec(a, &spec, &paused);
    if (rc == PAWL_OK && a->there)
        rc = hand_plan(a->rt, &a->h, a->s, &a->err);
    if (rc == PAWL_OK && a->there) {
        look_due(&a->h.look);
        look_leave(&a->h.look);
        hand_do(a->rt, a->s, &a->h);
    }
    if (rc != PAWL_OK)
        return rc;
    if (!a->there)
        state->created_ms = a->rt->now_ms;
    state->spec = spec;
    state->revision++;
    state->last_ms = larger(state->last_ms, a->rt->now_ms);
    state->paused = paused;
    state->reason = (pawl_str){0};
    a->h.was_next = -1; /* write a new row, also for the same time */
    return hand_plan(a->rt, &a->h, a->s, &a->err);
}

/* ---- The others ------------------------------------------------------------------------- */

static pawl_status steer_pause(struct asked *a)
{
    a->h.state.paused = true;
    a->h.state.reason = a->call->mail.data;
    return PAWL_OK;
}

static pawl_status steer_resume(struct asked *a)
{
    a->h.state.paused = false;
    a->h.state.reason = (pawl_str){0};
    return PAWL_OK;
}

/* Without a key each call starts another run. */
static pawl_status trigger(struct asked *a)
{
    pawl_runtime *rt = a->rt;
    char made[37];
    pawl_str key = a->call->key;
    if (!key.len) {
        uint8_t bits[10];
        rt->env.random(rt->env.user, bits, sizeof(bits));
        uuid7_format(made, rt->now_ms, bits);
        key = pawl_s(made);
    }
    pawl_str id =
        pawl_mem_printf(&rt->group_mem, "%.*s@manual-%.*s", PAWL_FMT(a->h.name), PAWL_FMT(key));
    hand_begin(rt, a->s, &a->h, id, rt->now_ms);
    a->h.state.triggered++;
    if (!a->h.spec.queue) /* a push makes no instance */
        (void)snprintf(a->reply->instance, sizeof(a->reply->instance), "%.*s", PAWL_FMT(id));
    return PAWL_OK;
}

static pawl_status backfill(struct asked *a)
{
    pawl_str args = a->call->mail.data, spec = pawl_json_get(args, "/spec");
    struct schedule_backfill *b = &a->h.state.backfill;
    const struct zone *zone = NULL;
    struct plan plan = a->h.plan;
    pawl_schedule when;
    pawl_status rc = PAWL_OK;
    if (b->on)
        return REFUSE(a, PAWL_CONFLICT, "a backfill of schedule '%.*s' is under way; wait for it",
                      PAWL_FMT(a->h.name));
    if (spec.len)
        rc = schedule_read_json(&when, spec, &a->rt->group_mem, &a->err);
    if (rc == PAWL_OK && spec.len)
        rc = zone_load(when.zone, &a->rt->group_mem, &zone, &a->err);
    if (rc == PAWL_OK && spec.len)
        rc = plan_make(&plan, &when, zone, &a->err);
    if (rc != PAWL_OK)
        return rc;
    int64_t from = pawl_json_int(args, "/from_ms", 0), to = pawl_json_int(args, "/to_ms", 0);
    to = smaller(to, a->rt->now_ms);
    if (plan_count(&plan, from - 1, to, BACKFILL_MAX + 1) > BACKFILL_MAX)
        return REFUSE(a, PAWL_LIMIT,
                      "the backfill has more than %d occurrences; give a shorter time",
                      BACKFILL_MAX);
    *b = (struct schedule_backfill){.on = true,
                                    .from_ms = from,
                                    .to_ms = to,
                                    .cursor_ms = from - 1,
                                    .allow = pawl_json_bool(args, "/allow", false),
                                    .spec = spec};
    return PAWL_OK;
}

static pawl_status steer(struct asked *a)
{
    if (a->call->ask.op == PAWL_OP_SCHEDULE_PUT)
        return put(a);
    pawl_status rc = hand_plan(a->rt, &a->h, a->s, &a->err);
    if (rc != PAWL_OK)
        return rc;
    if (a->h.state.finding.len && a->call->ask.op != PAWL_OP_SCHEDULE_PAUSE &&
        a->call->ask.op != PAWL_OP_SCHEDULE_RESUME)
        return REFUSE(a, PAWL_CONFLICT, "%.*s", PAWL_FMT(a->h.state.finding));
    switch ((int)a->call->ask.op) {
    case PAWL_OP_SCHEDULE_PAUSE:
        return steer_pause(a);
    case PAWL_OP_SCHEDULE_RESUME:
        return steer_resume(a);
    case PAWL_OP_SCHEDULE_TRIGGER:
        return trigger(a);
    default:
        return backfill(a);
    }
}

/* Remove the object and its row; its runs stay. */
static pawl_status remove_it(struct asked *a)
{
    pawl_status rc = check_revision(a);
    if (rc != PAWL_OK)
        return rc;
    stage_drop_message(a->rt, a->s, a->h.was_row);
    *list_add(&a->rt->group_mem, &a->s->objects) =
        (pawl_object){.kind = PAWL_OBJECT_SCHEDULE,
                      .name = a->h.name,
                      .version = a->h.version ? a->h.version : PAWL_VERSION_ANY};
    return PAWL_OK;
}

static pawl_status act(struct asked *a)
{
    if (a->call->ask.op == PAWL_OP_SCHEDULE_REMOVE)
        return remove_it(a);
    pawl_status rc = steer(a);
    if (rc == PAWL_OK)
        rc = hand_look(a->rt, &a->h, &a->err);
    if (rc == PAWL_OK)
        hand_put(a->rt, a->s, &a->h);
    a->reply->revision = a->h.state.revision;
    return rc;
}

/* OK also when there is no such schedule and the call may make it. */
static pawl_status take(struct asked *a)
{
    pawl_op op = a->call->ask.op;
    pawl_status rc = hand_take(a->rt, a->call->mail.name, &a->h, &a->err);
    a->there = rc == PAWL_OK;
    if (rc == PAWL_NOT_FOUND && op == PAWL_OP_SCHEDULE_PUT)
        return PAWL_OK;
    if (rc == PAWL_NOT_FOUND)
        return REFUSE(a, rc, "there is no schedule '%.*s'", PAWL_FMT(a->call->mail.name));
    if (rc == PAWL_CORRUPT && op == PAWL_OP_SCHEDULE_REMOVE)
        return PAWL_OK;
    return rc;
}

enum verdict_kind schedule_call(pawl_runtime *rt, struct letter *call)
{
    if (hand_is_busy(rt, call->mail.name))
        return VERDICT_FIRST;
    struct asked a = {.rt = rt, .call = call, .reply = arena_new(&rt->group_mem, pawl_reply)};
    *a.reply = (pawl_reply){.status = PAWL_OK};
    pawl_status rc = take(&a);
    if (rc == PAWL_OK) {
        a.s = stage_bare(rt);
        rc = act(&a);
    }
    if (rc != PAWL_OK) {
        if (a.s)
            (void)stage_abort(rt, a.s);
        request_refuse(call, rc, "%s", a.err.text);
        return VERDICT_DONE;
    }
    a.s->reply = a.reply;
    stage_answer(a.s, call);
    return VERDICT_DONE;
}
