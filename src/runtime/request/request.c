/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/request.c -- a client's call, on the engine thread. [engine]
 *
 * Most calls are messages to an instance: they are answered when the round that consumes
 * them is committed.  Names and sizes were checked on the caller's
 * thread (client.c).
 */
#include "runtime/request/request.h"

#include "base/limits.h"
#include "base/rand.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/instance/attribute_set.h"
#include "runtime/instance/end_by.h"
#include "runtime/instance/load.h"
#include "runtime/instance/updates.h"
#include "runtime/request/remove.h"
#include "runtime/schedule/schedule_call.h"
#include "runtime/work/by_token.h"
#include "runtime/work/limit_call.h"
#include "store/store.h"

bool request_admit(pawl_runtime *rt, struct letter *l)
{
    bool new_work = l->mail.kind == PAWL_MSG_START || l->mail.kind == PAWL_MSG_EXTERNAL_RAISED ||
                    l->mail.kind == PAWL_MSG_UPDATE;
    if (new_work && health_no_room(rt)) {
        request_refuse(
            l, PAWL_DISK_FULL,
            "the disk is full: new work is refused until space is freed; running work goes on");
        return false;
    }
    if (!l->instance.len) { /* a start without an id gets a new one */
        uint8_t bits[10];
        rt->env.random(rt->env.user, bits, sizeof(bits));
        letter_name(l, rt->now_ms, bits);
        letter_know(rt, l, &(struct known){.absent = true}); /* if the store refuses it, look */
    }
    if (l->mail.kind == PAWL_MSG_UPDATE)
        updates_name(rt, l);
    if (l->ask.delay_ms)
        l->ask.start_ms = rt->now_ms + l->ask.delay_ms;
    l->ask.delay_ms = 0;
    deadline_fix(rt, l);
    l->created_ms = rt->now_ms;
    return true;
}

/* Set the crash counts of the waiting rows to 0. */
static void forgive(pawl_runtime *rt, struct stage *s, const pawl_message_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_message *m = &list->items[i];
        if (!m->attempt || m->mailbox)
            continue;
        pawl_message_update *u = list_add(&rt->group_mem, &s->message_updates);
        *u = (pawl_message_update){.id = m->id, .visible_ms = m->visible_ms};
    }
}

static enum verdict_kind retry(pawl_runtime *rt, struct letter *call)
{
    enum verdict_kind verdict;
    struct resident *r = load_for_call(rt, call, &verdict);
    if (!r)
        return verdict;
    if (r->row.state != PAWL_BLOCKED) {
        request_refuse(call, PAWL_CONFLICT, "instance '%.*s' is %s, not blocked",
                       PAWL_FMT(call->instance), pawl_state_name(r->row.state));
        return VERDICT_DONE;
    }
    pawl_message_list waiting;
    pawl_error err;
    execution *x = load_tables(rt, &r->row);
    arena_reset(&rt->load_mem);
    if (!x || store_read_messages(rt->store, r->row.uid, (pawl_str){0}, &rt->load_mem, &waiting,
                                  &err) != PAWL_OK) {
        execution_destroy(x);
        request_refuse(call, PAWL_UNAVAILABLE, "the store did not answer; try again");
        return VERDICT_DONE;
    }
    struct stage *s = stage_of(rt, r);
    s->row.state = !s->row.last_seq         ? PAWL_PENDING
                   : execution_suspended(x) ? PAWL_SUSPENDED
                                            : PAWL_RUNNING;
    execution_destroy(x);
    s->row.finding = (pawl_str){0};
    s->change = PAWL_ROW_ALL;
    s->unpile = true;
    forgive(rt, s, &waiting);
    stage_answer(s, call);
    return VERDICT_DONE;
}

enum verdict_kind request_act(pawl_runtime *rt, struct letter *call)
{
    switch ((int)call->ask.op) {
    case PAWL_OP_RETRY:
        return retry(rt, call);
    case PAWL_OP_SET_ATTRIBUTES:
        return attributes_call(rt, call);
    case PAWL_OP_REMOVE:
        return remove_handle(rt, call);
    case PAWL_OP_PRUNE:
        prune_handle(rt, call);
        break;
    case PAWL_OP_COMPLETE:
        return by_token_complete(rt, call);
    case PAWL_OP_HEARTBEAT:
        return by_token_heartbeat(rt, call);
    case PAWL_OP_SCHEDULE_PUT:
    case PAWL_OP_SCHEDULE_REMOVE:
    case PAWL_OP_SCHEDULE_PAUSE:
    case PAWL_OP_SCHEDULE_RESUME:
    case PAWL_OP_SCHEDULE_TRIGGER:
    case PAWL_OP_SCHEDULE_BACKFILL:
        return schedule_call(rt, call);
    case PAWL_OP_LIMIT_PUT:
    case PAWL_OP_LIMIT_REMOVE:
        return limit_call(rt, call);
    default: /* a message (tables/operations.h): the loop delivers it */
        assert_that(false);
    }
    return VERDICT_DONE;
}
