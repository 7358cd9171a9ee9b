/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/client.c -- pawl/client.h: the writing calls, from any thread.
 *
 * Everything that can be refused without looking at the store is refused here,
 * on the caller's thread, with a line that says what to do.  The rest goes
 * through the inbox.  pawl_client_call() waits for the callback of
 * pawl_client_submit(); the calls named after an operation fill in a request.
 */
#include "base/arena.h"
#include "base/attributes.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/api/plain_call.h"
#include "runtime/api/waiter.h"
#include "runtime/core/built_in.h"
#include "runtime/core/gate.h"
#include "runtime/core/inbox.h"
#include "runtime/core/letter.h"
#include "runtime/core/registered.h"
#include "runtime/core/registry.h"
#include "runtime/instance/mailbox.h"
#include "runtime/schedule/schedule_check.h"
#include "runtime/work/limit_call.h"
#include "tables/operations.h"

#include <stdlib.h>
#include <string.h>

/* ---- Checks ------------------------------------------------------------------- */

static bool check_payload(pawl_runtime *rt, pawl_str data, pawl_error *err)
{
    if (is_odd(data)) {
        error_set(err, PAWL_MISUSE, "payload has a length of %zu and no bytes", data.len);
        return false;
    }
    if (data.len <= rt->opts.max_payload)
        return true;
    error_set(err, PAWL_LIMIT,
              "payload of %zu bytes is over the limit of %zu; raise it with --max-payload",
              data.len, rt->opts.max_payload);
    return false;
}

static bool check_text(const char *what, const char *text, size_t max, pawl_error *err)
{
    if (!text || strlen(text) <= max)
        return true;
    error_set(err, PAWL_LIMIT, "%s is longer than %zu bytes", what, max);
    return false;
}

static bool check_key(const char *key, pawl_error *err)
{
    if (key && !key[0]) {
        error_set(err, PAWL_INVALID, "idempotency key is empty; give 1 to %d bytes, or none",
                  LIMIT_KEY_BYTES);
        return false;
    }
    if (key && key[0] == RESERVED_KEYS[0]) {
        error_set(err, PAWL_INVALID,
                  "idempotency key begins with the byte 1, which is reserved; choose another");
        return false;
    }
    return check_text("idempotency key", key, LIMIT_KEY_BYTES, err);
}

/* The times of a start: when it begins, and its deadline. */
static bool check_when(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    if (!q->start_at_ms && !q->delay_ms && !q->deadline_ms)
        return true;
    if (q->deadline_ms < 0 || q->deadline_ms > LIMIT_DELAY_MS)
        error_set(err, PAWL_INVALID, "deadline_ms is %lld; give 0 to %lld (100 years)",
                  (long long)q->deadline_ms, (long long)LIMIT_DELAY_MS);
    else if (q->start_at_ms && q->delay_ms)
        error_set(err, PAWL_INVALID, "start_at and delay_ms contradict each other; give one");
    else if (q->delay_ms < 0 || q->delay_ms > LIMIT_DELAY_MS)
        error_set(err, PAWL_INVALID, "delay_ms is %lld; give 0 to %lld (100 years)",
                  (long long)q->delay_ms, (long long)LIMIT_DELAY_MS);
    else if (q->start_at_ms < 0 || q->start_at_ms > rt_now(rt) + LIMIT_DELAY_MS)
        error_set(err, PAWL_INVALID,
                  "start_at is %lld; give milliseconds since 1970, at most 100 years ahead",
                  (long long)q->start_at_ms);
    else
        return true;
    return false;
}

static bool check_if_exists(const pawl_request *q, pawl_error *err)
{
    if ((unsigned)q->if_exists > PAWL_IF_EXISTS_TERMINATE) {
        error_set(err, PAWL_INVALID, "if_exists is %d; give a pawl_if_exists", (int)q->if_exists);
        return false;
    }
    if (!q->if_exists || q->instance)
        return true;
    error_set(err, PAWL_INVALID, "if_exists needs an instance id; give one");
    return false;
}

static bool check_attributes(pawl_str json, pawl_error *err)
{
    struct attribute_list list;
    pawl_str set;
    pawl_mem mem;
    if (is_odd(json)) {
        error_set(err, PAWL_MISUSE, "attributes have a length of %zu and no bytes", json.len);
        return false;
    }
    if (json.len > LIMIT_ATTRIBUTES_BYTES) {
        error_set(err, PAWL_LIMIT, "attributes are %zu bytes, the limit is %d; shorten them",
                  json.len, LIMIT_ATTRIBUTES_BYTES);
        return false;
    }
    if (!json.len)
        return true;
    arena_init(&mem);
    bool fine = attributes_read(&mem, json, ATTRIBUTES_OF_USERS, &list, err) &&
                attributes_merge(&mem, (pawl_str){0}, &list, &set, err);
    arena_deinit(&mem);
    return fine;
}

static bool check_set_attributes(const pawl_request *q, pawl_error *err)
{
    if (!check_instance_id(pawl_s(q->instance), LIMIT_CHILD_ID_BYTES, err))
        return false;
    if (q->data.len)
        return check_attributes(q->data, err);
    error_set(err, PAWL_INVALID, "no attributes to set; give a JSON object, null removes one");
    return false;
}

static bool check_rerun(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    pawl_request when = {.deadline_ms = q->deadline_ms};
    return check_instance_id(pawl_s(q->instance), LIMIT_CHILD_ID_BYTES, err) &&
           check_payload(rt, q->data, err) && check_when(rt, &when, err) &&
           check_attributes(q->attributes, err) &&
           (!q->version || check_version(pawl_s(q->version), err));
}

static bool check_start_update(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    if (!check_name("update name", pawl_s(q->update), err) ||
        !check_payload(rt, q->update_data, err) || !check_key(q->update_key, err))
        return false;
    if (q->update_key && !utf8_valid(pawl_s(q->update_key))) {
        error_set(err, PAWL_INVALID, "the key of an update is not UTF-8");
        return false;
    }
    if (!q->if_exists || q->update_key)
        return true;
    error_set(err, PAWL_INVALID,
              "with if_exists an instance may get several updates: give this one a key of its own");
    return false;
}

static bool check_raises(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    uint64_t bytes = q->update_data.len;
    uint32_t most = rt->opts.max_mailbox < LIMIT_RAISES ? rt->opts.max_mailbox : LIMIT_RAISES;
    if (!q->raises || q->raise_count > most) {
        error_set(err, q->raises ? PAWL_LIMIT : PAWL_MISUSE,
                  "%zu events to raise with a start; give at most %u, and raise the rest after it",
                  q->raise_count, most);
        return false;
    }
    for (size_t i = 0; i < q->raise_count; i++) {
        const pawl_raise_item *one = &q->raises[i];
        if (!check_name("event name", pawl_s(one->event), err) ||
            !check_payload(rt, one->data, err) || !check_key(one->idempotency_key, err))
            return false;
        bytes += one->data.len;
    }
    if (bytes <= (uint64_t)MAILBOX_PAYLOADS * rt->opts.max_payload)
        return true;
    error_set(err, PAWL_LIMIT, "the events to raise with a start have %llu bytes, limit %llu",
              (unsigned long long)bytes,
              (unsigned long long)MAILBOX_PAYLOADS * rt->opts.max_payload);
    return false;
}

/* What comes with a start. */
static bool check_brought(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    if (!rt->caps.atomic_rounds) {
        error_set(err, PAWL_UNSUPPORTED,
                  "this store cannot start and %s in one commit; %s after the start",
                  q->update ? "update" : "raise", q->update ? "update it" : "raise");
        return false;
    }
    return (!q->update || check_start_update(rt, q, err)) &&
           (!q->raise_count || check_raises(rt, q, err));
}

static bool check_start(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    if (!check_orchestration_name(pawl_s(q->name), err) || !check_payload(rt, q->data, err) ||
        !check_when(rt, q, err) || !check_if_exists(q, err) ||
        !check_attributes(q->attributes, err))
        return false;
    if (UNLIKELY(q->raise_count || q->update) && !check_brought(rt, q, err))
        return false;
    if (q->instance && !check_chosen_id(pawl_s(q->instance), LIMIT_INSTANCE_BYTES, err))
        return false;
    if (q->version && !check_version(pawl_s(q->version), err))
        return false;
    bool ours = is_reserved(pawl_s(q->name)); /* of ours no more code comes */
    if (ours && !job_check(q->data, err))
        return false;
    return (q->allow_unregistered && !ours) || registry_check(rt->app, q->name, q->version, err);
}

static bool check_update(const pawl_request *q, pawl_error *err)
{
    if (q->wait_ms < 0 || q->wait_ms > LIMIT_DELAY_MS) {
        error_set(err, PAWL_INVALID, "wait_ms is %lld; give 0 to %lld (100 years)",
                  (long long)q->wait_ms, (long long)LIMIT_DELAY_MS);
        return false;
    }
    if (!utf8_valid(pawl_s(q->idempotency_key))) { /* it is the id, a text */
        error_set(err, PAWL_INVALID, "idempotency key is not UTF-8; encode it so");
        return false;
    }
    return check_name("update name", pawl_s(q->name), err);
}

/* Check the fields that the operation uses, and no others. */
static bool check_request(pawl_runtime *rt, const pawl_request *q, pawl_error *err)
{
    const struct operation *o = operation_of(q->op);
    if (!o) {
        error_set(err, PAWL_MISUSE, "unknown operation %d", (int)q->op);
        return false;
    }
    if (q->op == PAWL_OP_START)
        return check_start(rt, q, err);
    if (q->op == PAWL_OP_RERUN)
        return check_rerun(rt, q, err);
    if (q->op == PAWL_OP_SET_ATTRIBUTES)
        return check_set_attributes(q, err);
    if ((o->fields & OP_SCHEDULE) && !schedule_check(rt, q, err))
        return false;
    if ((o->fields & OP_LIMIT) && !limit_check(rt, q, err))
        return false;
    if ((o->fields & OP_INSTANCE) &&
        !check_instance_id(pawl_s(q->instance), LIMIT_CHILD_ID_BYTES, err))
        return false;
    if ((o->fields & OP_EVENT) && !check_name("event name", pawl_s(q->name), err))
        return false;
    if ((o->fields & OP_UPDATE) && !check_update(q, err))
        return false;
    if ((o->fields & OP_DATA) && !check_payload(rt, q->data, err))
        return false;
    if (q->op == PAWL_OP_HEARTBEAT && !check_details(q->data, err))
        return false;
    if ((o->fields & OP_KEY) && !check_key(q->idempotency_key, err))
        return false;
    return !(o->fields & OP_REASON) || check_text("reason", q->reason, LIMIT_REASON_BYTES, err);
}

/* ---- Submit ----------------------------------------------------------------------- */

void pawl_client_hold(void)
{
    inbox_hold();
}

void pawl_client_release(void)
{
    inbox_release(NULL);
}

pawl_status pawl_client_submit(pawl_client *c, const pawl_request *request, pawl_reply_fn *fn,
                               void *arg, pawl_error *reterr)
{
    pawl_error local; /* not zeroed: that would be a third of the cost of this call */
    local.status = PAWL_OK;
    pawl_error *err = reterr ? reterr : &local;
    pawl_request room;
    const pawl_request *q;
    if (!gate_pass(c, GATE_WRITES, err) || !IS_THERE(request, "a request", err) ||
        !(q = OPTIONS_OF(&room, request, "pawl_request", err)) || !check_request(c->rt, q, err))
        return err->status;
    struct letter *call = letter_of_request(q, fn, arg);
    if (!call)
        return gate_no_memory(err);
    pawl_status rc = gate_post(c, &call->item, err);
    if (rc != PAWL_OK)
        free(call);
    return rc;
}

/* ---- The blocking form -------------------------------------------------------------- */

struct client_waiter {
    struct waiter waiter;
    pawl_reply *reply;
};

static void take_reply(void *arg, const pawl_reply *reply)
{
    struct client_waiter *w = arg;
    *w->reply = *reply;
    w->reply->update = w->reply->value = (pawl_str){0}; /* of this callback */
    waiter_done(&w->waiter);
}

static pawl_status refused(pawl_reply *ret, const pawl_error *err)
{
    *ret = (pawl_reply){.status = err->status, .error = *err};
    return err->status;
}

pawl_status pawl_client_call(pawl_client *c, const pawl_request *request, pawl_reply *ret)
{
    pawl_reply local = {0};
    struct client_waiter w = {.reply = ret ? ret : &local};
    pawl_error err = {0};
    if (!gate_pass(c, GATE_WRITES, &err) || !gate_may_wait(c, &err) ||
        !IS_THERE(request, "a request", &err))
        return refused(w.reply, &err);
    waiter_open(&w.waiter);
    /* Once handed in, *w.reply belongs to the engine until it has answered. */
    if (pawl_client_submit(c, request, take_reply, &w, &err) != PAWL_OK ||
        !waiter_wait(&w.waiter, c->rt, &w, &err))
        (void)refused(w.reply, &err);
    waiter_close(&w.waiter);
    return w.reply->status;
}

pawl_status pawl_client_start(pawl_client *c, const char *orchestration, pawl_str input,
                              const pawl_start_opts *opts, pawl_reply *ret)
{
    pawl_reply local;
    pawl_error err = {0};
    pawl_start_opts o;
    if (!OPTIONS_TAKE(&o, opts, "pawl_start_opts", &err))
        return refused(ret ? ret : &local, &err);
    return pawl_client_call(
        c,
        PAWL_REQUEST(.op = PAWL_OP_START, .name = orchestration, .data = input,
                     .instance = o.instance, .version = o.version,
                     .allow_unregistered = o.allow_unregistered, .start_at_ms = o.start_at_ms,
                     .delay_ms = o.delay_ms, .deadline_ms = o.deadline_ms, .if_exists = o.if_exists,
                     .attributes = o.attributes, .raises = o.raises, .raise_count = o.raise_count,
                     .update = o.update, .update_data = o.update_data, .update_key = o.update_key),
        ret);
}

pawl_status pawl_client_raise(pawl_client *c, const char *instance, const char *event,
                              pawl_str data, const pawl_raise_opts *opts, pawl_error *reterr)
{
    pawl_raise_opts o;
    if (!OPTIONS_TAKE(&o, opts, "pawl_raise_opts", reterr))
        return PAWL_MISUSE;
    return plain_call(c,
                      PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = instance, .name = event,
                                   .data = data, .idempotency_key = o.idempotency_key,
                                   .await_start = o.await_start),
                      reterr);
}

pawl_status pawl_client_cancel(pawl_client *c, const char *instance, const char *reason,
                               pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = instance, .reason = reason),
                      reterr);
}

pawl_status pawl_client_terminate(pawl_client *c, const char *instance, const char *reason,
                                  pawl_error *reterr)
{
    return plain_call(
        c, PAWL_REQUEST(.op = PAWL_OP_TERMINATE, .instance = instance, .reason = reason), reterr);
}

pawl_status pawl_client_suspend(pawl_client *c, const char *instance, const char *reason,
                                pawl_error *reterr)
{
    return plain_call(
        c, PAWL_REQUEST(.op = PAWL_OP_SUSPEND, .instance = instance, .reason = reason), reterr);
}

pawl_status pawl_client_resume(pawl_client *c, const char *instance, const char *reason,
                               pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_RESUME, .instance = instance, .reason = reason),
                      reterr);
}

pawl_status pawl_client_retry(pawl_client *c, const char *instance, pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_RETRY, .instance = instance), reterr);
}

pawl_status pawl_client_set_attributes(pawl_client *c, const char *instance, pawl_str object,
                                       pawl_error *reterr)
{
    return plain_call(
        c, PAWL_REQUEST(.op = PAWL_OP_SET_ATTRIBUTES, .instance = instance, .data = object),
        reterr);
}

pawl_status pawl_client_remove(pawl_client *c, const char *instance, bool force, pawl_reply *ret)
{
    return pawl_client_call(
        c, PAWL_REQUEST(.op = PAWL_OP_REMOVE, .instance = instance, .force = force), ret);
}

pawl_status pawl_client_prune(pawl_client *c, int64_t before_ms, uint32_t limit, pawl_reply *ret)
{
    return pawl_client_call(
        c, PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = before_ms, .limit = limit), ret);
}

pawl_status pawl_client_complete(pawl_client *c, const char *token, pawl_result result,
                                 pawl_error *reterr)
{
    return plain_call(c,
                      PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = token, .data = result.value,
                                   .failed = !result.ok),
                      reterr);
}

pawl_status pawl_client_heartbeat(pawl_client *c, const char *token, pawl_error *reterr)
{
    return plain_call(c, PAWL_REQUEST(.op = PAWL_OP_HEARTBEAT, .name = token), reterr);
}
