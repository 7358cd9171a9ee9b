/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/update_client.c -- updates, for clients (pawl/client.h).
 *
 * The walk of a call: pawl_client_update() submits it; the engine answers when the code has
 * (instance/updates.h).  An answer that was missed (the time was over, the process died, the key was
 * used before) is looked up: first among the mail of the instance, then in its histories, from the one
 * that is the newest by then.  In this order: mail becomes history, and what a history gives back is
 * mail again, so an update that is there is found in one of them.
 *
 * Called by: programs, the server (server/update_wait.c).
 */
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/api/waiter.h"
#include "runtime/core/audience.h"
#include "runtime/core/gate.h"
#include "runtime/core/here.h"
#include "store/store.h"

#include <string.h>
#include <time.h>

#define PIECE 64 /* events read at once */

/* What is known of an update. */
struct known_update {
    enum { FOUND_NONE, FOUND_OPEN, FOUND_BACK, FOUND_DONE } state; /* BACK: to the mailbox */
    uint64_t ref;                                                  /* of the wait that took it */
    pawl_str data;                                                 /* what it asked */
    pawl_result result;
    bool ended; /* its instance has */
};

static bool is_of(pawl_mem *mem, pawl_str attrs, pawl_str id)
{
    return attrs.len && pawl_str_eq(pawl_json_text(mem, attrs, "/update", ""), id);
}

static pawl_status look_at_mail(pawl_client *c, uint64_t uid, pawl_str id, pawl_mem *mem,
                                struct known_update *ret, pawl_error *err)
{
    pawl_message_list list = {0};
    pawl_status rc = store_read_messages(c->rt->store, uid, (pawl_str){0}, mem, &list, err);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++)
        if (list.items[i].kind == PAWL_MSG_UPDATE && is_of(mem, list.items[i].attrs, id)) {
            ret->state = FOUND_OPEN;
            ret->data = list.items[i].data;
        }
    return rc;
}

/* Is it about this update? */
static bool look_at_event(const pawl_event *e, pawl_str id, pawl_mem *mem, struct known_update *ret)
{
    if (e->kind == PAWL_EV_UPDATE_WAIT_CANCELLED && ret->state == FOUND_OPEN &&
        e->ref == ret->ref) {
        ret->state = FOUND_BACK;
        return true;
    }
    bool accepted = e->kind == PAWL_EV_UPDATE_ACCEPTED;
    if ((!accepted && e->kind != PAWL_EV_UPDATE_ANSWERED) || !is_of(mem, e->attrs, id))
        return false;
    bool rejected = !accepted && pawl_json_bool(e->attrs, "/rejected", false);
    ret->state = accepted ? FOUND_OPEN : FOUND_DONE;
    if (accepted) {
        ret->ref = e->ref;
        ret->data = e->data;
    } else {
        ret->result = (pawl_result){.ok = !rejected,
                                    .kind = rejected ? PAWL_RESULT_FAILED : PAWL_RESULT_OK,
                                    .value = e->data};
    }
    return true;
}

/* A history may have gigabytes: only pieces that are about the update stay in `mem`.  *retlast: the
 * number of its last event; 0: it has none. */
static pawl_status look_at_history(pawl_client *c, const pawl_row *row, uint64_t number,
                                   pawl_str id, pawl_mem *mem, struct known_update *ret,
                                   uint64_t *retlast, pawl_error *err)
{
    size_t count;
    *retlast = 0;
    do {
        pawl_event_list list = {0};
        struct arena_mark mark = arena_mark(mem);
        bool found = false;
        pawl_status rc =
            store_read_history(c->rt->store, row->uid, number, *retlast, PIECE, mem, &list, err);
        if (rc != PAWL_OK)
            return rc == PAWL_NOT_FOUND ? PAWL_OK : rc;
        count = list.count;
        for (size_t i = 0; i < count; i++) {
            found |= look_at_event(&list.items[i], id, mem, ret);
            *retlast = list.items[i].seq;
        }
        if (!found)
            arena_rewind(mem, mark);
    } while (count == PIECE && ret->state != FOUND_DONE);
    return PAWL_OK;
}

/* One execution at a time, the newest first; those before it may be pruned. */
static pawl_status look_at_histories(pawl_client *c, const pawl_row *row, pawl_str id,
                                     pawl_mem *mem, struct known_update *ret, pawl_error *err)
{
    for (uint64_t n = row->execution; n > 0 && ret->state == FOUND_NONE; n--) {
        uint64_t last;
        pawl_status rc = look_at_history(c, row, n, id, mem, ret, &last, err);
        if (rc != PAWL_OK)
            return rc;
        if (!last && n < row->execution)
            return PAWL_OK; /* pruned, and so are those before */
    }
    return PAWL_OK;
}

static pawl_status look(pawl_client *c, const char *instance, pawl_str id, pawl_mem *mem,
                        struct known_update *ret, pawl_error *err)
{
    pawl_row row = {0};
    *ret = (struct known_update){0};
    pawl_status rc = store_find(c->rt->store, pawl_s(instance), mem, &row, err);
    if (rc == PAWL_NOT_FOUND)
        error_set(err, rc, "instance '%s' does not exist", instance);
    if (rc != PAWL_OK)
        return rc;
    rc = look_at_mail(c, row.uid, id, mem, ret, err);
    if (rc == PAWL_OK &&
        ret->state == FOUND_NONE) /* the execution that took it may be a newer one */
        rc = store_find_uid(c->rt->store, row.uid, mem, &row, err);
    ret->ended = pawl_state_is_terminal(row.state);
    if (rc == PAWL_OK && ret->state == FOUND_NONE)
        rc = look_at_histories(c, &row, id, mem, ret, err);
    return rc;
}

/* What is known, as the answer of the call. */
static pawl_status tell(const struct known_update *f, const char *instance, const char *update,
                        const pawl_str *data, pawl_mem *mem, pawl_result *ret, pawl_error *err)
{
    *ret = (pawl_result){.kind = PAWL_RESULT_FAILED};
    if (f->state != FOUND_NONE && data && !json_same(mem, *data, f->data))
        error_set(err, PAWL_CONFLICT,
                  "the key '%s' was used with other data; give another key, or the same data",
                  update);
    else if (f->state == FOUND_DONE)
        *ret = f->result;
    else if (f->ended && f->state != FOUND_OPEN) /* mail goes with the end */
        error_set(err, PAWL_LOST, "instance '%s' has ended without taking the update '%s'",
                  instance, update);
    else if (f->state == FOUND_NONE)
        error_set(err, PAWL_NOT_FOUND,
                  "instance '%s' has no update '%s': it was not made, was refused, or its history "
                  "is gone",
                  instance, update);
    else
        error_set(err, PAWL_TIMEOUT, "the update '%s' is not answered yet", update);
    if (err->status == PAWL_TIMEOUT)
        ret->value = pawl_mem_dup(mem, pawl_s(update));
    return err->status;
}

/* A moment of waiting; false: the time is over. */
static bool wait_a_bit(pawl_runtime *rt, struct wait_node *w, int64_t end_ms)
{
    int64_t left = end_ms == INT64_MAX ? 1000 : end_ms - rt_mono(rt);
    if (left <= 0)
        return false;
    if (!rt->opts.read_only && !here_steps(rt)) {
        struct timespec until = deadline_in(left);
        return audience_wait(rt, w, end_ms == INT64_MAX ? NULL : &until);
    }
    if (rt->opts.read_only) { /* the owner is another process: look now and then */
        struct timespec nap = {.tv_nsec = 20000000};
        nanosleep(&nap, NULL);
        return true;
    }
    return pawl_runtime_step(rt, left > 1000 ? 1000 : left) >= 0;
}

static pawl_status result_in(pawl_client *c, struct wait_node *w, const char *instance,
                             const char *update, const pawl_str *data, int64_t timeout_ms,
                             pawl_mem *mem, pawl_result *ret, pawl_error *err)
{
    pawl_runtime *rt = c->rt;
    int64_t now = rt_mono(rt);
    int64_t end_ms = timeout_ms < 0 || timeout_ms > LIMIT_DELAY_MS ? INT64_MAX : now + timeout_ms;
    for (bool more = timeout_ms != 0;; more = wait_a_bit(rt, w, end_ms)) {
        struct known_update found;
        struct arena_mark mark = arena_mark(mem);
        *err = (pawl_error){0};
        pawl_status rc = look(c, instance, pawl_s(update), mem, &found, err);
        if (rc == PAWL_OK)
            rc = tell(&found, instance, update, data, mem, ret, err);
        if (rc != PAWL_TIMEOUT || !more)
            return rc;
        arena_rewind(mem, mark);
    }
}

pawl_status pawl_client_update_result(pawl_client *c, const char *instance, const char *update,
                                      const pawl_str *data, int64_t timeout_ms, pawl_mem *mem,
                                      pawl_result *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    struct wait_node node;
    if (!IS_THERE(c && mem && ret && update, "a client, an id, memory and room for the answer",
                  err) ||
        !gate_pass(c, GATE_READS, err) || (timeout_ms && !gate_may_wait(c, err)) ||
        !check_instance_id(pawl_s(instance), LIMIT_CHILD_ID_BYTES, err))
        return err->status;
    if (!timeout_ms)
        return result_in(c, NULL, instance, update, data, 0, mem, ret, err);
    audience_enter(c->rt, &node, pawl_s(instance));
    pawl_status rc = result_in(c, &node, instance, update, data, timeout_ms, mem, ret, err);
    audience_leave(c->rt, &node);
    return rc;
}

/* ---- The blocking form ----------------------------------------------------------------- */

struct update_waiter {
    struct waiter waiter;
    pawl_mem *mem;
    pawl_reply reply;
};

static void take_reply(void *arg, const pawl_reply *reply)
{
    struct update_waiter *w = arg;
    w->reply = *reply;
    w->reply.update = pawl_mem_dup(w->mem, reply->update);
    w->reply.value = pawl_mem_dup(w->mem, reply->value);
    waiter_done(&w->waiter);
}

static pawl_status call(pawl_client *c, const pawl_request *q, struct update_waiter *w,
                        pawl_error *err)
{
    waiter_open(&w->waiter);
    pawl_status rc = pawl_client_submit(c, q, take_reply, w, err);
    if (rc == PAWL_OK && !waiter_wait(&w->waiter, c->rt, w, err))
        rc = err->status;
    waiter_close(&w->waiter);
    if (rc == PAWL_OK && w->reply.status != PAWL_OK) {
        *err = w->reply.error;
        rc = w->reply.status;
    }
    return rc;
}

pawl_status pawl_client_update(pawl_client *c, const char *instance, const char *name,
                               pawl_str data, const pawl_update_opts *opts, int64_t timeout_ms,
                               pawl_mem *mem, pawl_result *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_update_opts o;
    if (!IS_THERE(c && mem && ret, "a client, memory and room for the answer", err) ||
        !OPTIONS_TAKE(&o, opts, "pawl_update_opts", err) || !gate_pass(c, GATE_WRITES, err) ||
        !gate_may_wait(c, err))
        return err->status;
    if (timeout_ms < 0 || timeout_ms > LIMIT_DELAY_MS)
        timeout_ms = LIMIT_DELAY_MS;
    struct update_waiter w = {.mem = mem};
    int64_t began = rt_mono(c->rt);
    pawl_status rc =
        call(c,
             PAWL_REQUEST(.op = PAWL_OP_UPDATE, .instance = instance, .name = name, .data = data,
                          .idempotency_key = o.idempotency_key, .wait_ms = timeout_ms),
             &w, err);
    if (rc != PAWL_OK)
        return rc;
    if (w.reply.repeated) {
        int64_t left = timeout_ms - (rt_mono(c->rt) - began);
        return pawl_client_update_result(c, instance, w.reply.update.ptr, &data,
                                         left > 0 ? left : 0, mem, ret, err);
    }
    bool ok = w.reply.answered && !w.reply.rejected;
    *ret = (pawl_result){.ok = ok,
                         .kind = ok ? PAWL_RESULT_OK : PAWL_RESULT_FAILED,
                         .value = w.reply.answered ? w.reply.value : w.reply.update};
    if (w.reply.answered)
        return PAWL_OK;
    error_set(err, PAWL_TIMEOUT, "the update '%.*s' is not answered yet", PAWL_FMT(w.reply.update));
    return PAWL_TIMEOUT;
}
