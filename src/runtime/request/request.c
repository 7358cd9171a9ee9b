/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/request.c -- a client's call, on the engine thread. [engine]
 *
 * Most calls become a letter that carries the request: it is answered when the
 * letter's round is committed.  Names and sizes were checked on the caller's
 * thread (client.c).
 */
#include "runtime/request/request.h"

#include "base/limits.h"
#include "base/rand.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/instance/load.h"
#include "runtime/request/remove.h"
#include "runtime/work/by_token.h"
#include "store/store.h"

static bool refuse_when_full(pawl_runtime *rt, struct request *req)
{
    if (!health_no_room(rt))
        return false;
    request_refuse(
        req, PAWL_DISK_FULL,
        "the disk is full: new work is refused until space is freed; running work goes on");
    return true;
}

static void deliver(pawl_runtime *rt, struct request *req, const struct mail *mail,
                    pawl_str instance, pawl_str key)
{
    struct letter *l = letter_create(mail, 0, instance, key);
    if (!l) {
        request_refuse(req, PAWL_NO_MEMORY, "out of memory");
        return;
    }
    l->request = req;
    l->created_ms = rt->now_ms;
    letter_todo(rt, l);
}

static void start(pawl_runtime *rt, struct request *req)
{
    if (refuse_when_full(rt, req))
        return;
    char made[37];
    pawl_str id = pawl_s(req->args.instance);
    if (!id.len) {
        uint8_t bits[10];
        rt->env.random(rt->env.user, bits, sizeof(bits));
        uuid7_format(made, rt->now_ms, bits);
        id = pawl_s(made);
    }
    struct mail mail = {.kind = PAWL_MSG_START,
                        .execution = 1,
                        .name = pawl_s(req->args.name),
                        .data = req->args.data};
    if (req->args.version)
        mail.attrs = pawl_mem_printf(&rt->group_mem, "{\"version\":\"%s\"}", req->args.version);
    deliver(rt, req, &mail, id, (pawl_str){0});
}

static void raise_event(pawl_runtime *rt, struct request *req)
{
    if (refuse_when_full(rt, req))
        return;
    struct mail mail = {
        .kind = PAWL_MSG_EXTERNAL_RAISED, .name = pawl_s(req->args.name), .data = req->args.data};
    deliver(rt, req, &mail, pawl_s(req->args.instance), pawl_s(req->args.idempotency_key));
}

static void steer(pawl_runtime *rt, struct request *req, int kind, const char *otherwise)
{
    struct mail mail = {.kind = kind,
                        .data = pawl_s(req->args.reason ? req->args.reason : otherwise)};
    deliver(rt, req, &mail, pawl_s(req->args.instance), (pawl_str){0});
}

/* Rows that wait for it start counting crashes afresh. */
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

static enum verdict_kind retry(pawl_runtime *rt, struct request *req)
{
    struct resident *r = NULL;
    enum load_result found = load_row(rt, 0, pawl_s(req->args.instance), &r);
    if (found == LOAD_NONE) {
        request_refuse(req, PAWL_NOT_FOUND, "instance '%s' does not exist", req->args.instance);
        return VERDICT_DONE;
    }
    if (found == LOAD_TROUBLE || found == LOAD_DAMAGED) {
        request_refuse(req, found == LOAD_DAMAGED ? PAWL_CORRUPT : PAWL_UNAVAILABLE,
                       found == LOAD_DAMAGED
                           ? "the stored row of this instance is damaged; run pawl doctor"
                           : "the store did not answer; try again");
        return VERDICT_DONE;
    }
    if (r->stage) /* mail that waits for it was just looked at */
        return VERDICT_FIRST;
    if (r->row.state != PAWL_BLOCKED) {
        request_refuse(req, PAWL_CONFLICT, "instance '%s' is %s, not blocked", req->args.instance,
                       pawl_state_name(r->row.state));
        return VERDICT_DONE;
    }
    pawl_message_list waiting;
    pawl_error err;
    execution *x = load_tables(rt, &r->row);
    arena_reset(&rt->load_mem);
    if (!x || store_read_messages(rt->store, r->row.uid, (pawl_str){0}, &rt->load_mem, &waiting,
                                  &err) != PAWL_OK) {
        execution_destroy(x);
        request_refuse(req, PAWL_UNAVAILABLE, "the store did not answer; try again");
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
    stage_answer(s, req);
    return VERDICT_DONE;
}

bool request_acts_at_once(const struct request *req)
{
    return req->args.op != PAWL_OP_START && req->args.op != PAWL_OP_RAISE &&
           req->args.op != PAWL_OP_CANCEL && req->args.op != PAWL_OP_TERMINATE &&
           req->args.op != PAWL_OP_SUSPEND && req->args.op != PAWL_OP_RESUME;
}

enum verdict_kind request_handle(pawl_runtime *rt, struct request *req)
{
    switch (req->args.op) {
    case PAWL_OP_START:
        start(rt, req);
        break;
    case PAWL_OP_RAISE:
        raise_event(rt, req);
        break;
    case PAWL_OP_CANCEL:
        steer(rt, req, PAWL_MSG_CANCEL, "cancelled by request");
        break;
    case PAWL_OP_TERMINATE:
        steer(rt, req, PAWL_MSG_TERMINATE, "terminated by request");
        break;
    case PAWL_OP_SUSPEND:
        steer(rt, req, PAWL_MSG_SUSPEND, "");
        break;
    case PAWL_OP_RESUME:
        steer(rt, req, PAWL_MSG_RESUME, "");
        break;
    case PAWL_OP_RETRY:
        return retry(rt, req);
    case PAWL_OP_REMOVE:
        return remove_handle(rt, req);
    case PAWL_OP_PRUNE:
        prune_handle(rt, req);
        break;
    case PAWL_OP_COMPLETE:
        return by_token_complete(rt, req);
    case PAWL_OP_HEARTBEAT:
        return by_token_heartbeat(rt, req);
    }
    return VERDICT_DONE;
}
