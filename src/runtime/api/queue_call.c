/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/queue_call.c -- pawl/queue.h: the blocking calls, from any thread.
 *
 * Each submits a request and waits.  The callback copies the reply into the caller's memory
 * while the caller sleeps.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "pawl/queue.h"
#include "queue/queue.h"
#include "runtime/api/waiter.h"
#include "runtime/core/gate.h"

#include <string.h>

struct queue_waiter {
    struct waiter waiter;
    pawl_mem *mem;
    pawl_queue_reply *reply;
};

static pawl_queue_message copy_message(pawl_mem *mem, const pawl_queue_message *from)
{
    pawl_queue_message m = *from;
    m.data = arena_dup(mem, from->data);
    m.group = arena_dup(mem, from->group);
    m.headers = arena_dup(mem, from->headers);
    m.source = arena_dup(mem, from->source);
    m.reason = arena_dup(mem, from->reason);
    m.lock_id = arena_dup(mem, from->lock_id);
    return m;
}

static void copy_reply(pawl_mem *mem, pawl_queue_reply *to, const pawl_queue_reply *from)
{
    *to = *from;
    to->lock_id = arena_dup(mem, from->lock_id);
    to->target = arena_dup(mem, from->target);
    to->warning = arena_dup(mem, from->warning);
    if (from->config) {
        pawl_queue_config *config = arena_new(mem, pawl_queue_config);
        *config = queue_config_read(queue_config_write(from->config, mem), mem);
        to->config = config;
    }
    if (from->pushed_count) {
        pawl_queue_pushed *list = arena_array(mem, pawl_queue_pushed, from->pushed_count);
        memcpy(list, from->pushed, from->pushed_count * sizeof(*list));
        to->pushed = list;
    }
    if (from->message_count) {
        pawl_queue_message *list = arena_array(mem, pawl_queue_message, from->message_count);
        for (size_t i = 0; i < from->message_count; i++)
            list[i] = copy_message(mem, &from->messages[i]);
        to->messages = list;
    }
    if (from->outcome_count) {
        pawl_queue_outcome *list = arena_array(mem, pawl_queue_outcome, from->outcome_count);
        for (size_t i = 0; i < from->outcome_count; i++) {
            list[i] = from->outcomes[i];
            list[i].lock_id = arena_dup(mem, from->outcomes[i].lock_id);
        }
        to->outcomes = list;
    }
}

static void take_reply(void *arg, const pawl_queue_reply *reply)
{
    struct queue_waiter *a = arg;
    copy_reply(a->mem, a->reply, reply);
    waiter_done(&a->waiter);
}

pawl_status pawl_queue_call(pawl_client *c, const pawl_queue_request *request, pawl_mem *mem,
                            pawl_queue_reply *ret)
{
    struct queue_waiter a = {.reply = ret, .mem = mem};
    pawl_error err = {0};
    if (!ret)
        return PAWL_MISUSE;
    if (!IS_THERE(c && request && mem, "a client, a request and memory", &ret->error))
        return ret->status = PAWL_MISUSE;
    *ret = (pawl_queue_reply){0};
    waiter_open(&a.waiter);
    /* Once handed in, *ret belongs to the engine until it has answered. */
    if (!gate_may_wait(c, &err) || pawl_queue_submit(c, request, take_reply, &a, &err) != PAWL_OK ||
        !waiter_wait(&a.waiter, c->rt, &a, &err))
        *ret = (pawl_queue_reply){.status = err.status, .error = err};
    waiter_close(&a.waiter);
    return ret->status;
}

/* ---- The everyday calls -------------------------------------------------------------- */

/* A call with its own memory; *retid is the id of the first item pushed. */
static pawl_status call_plain(pawl_client *c, const pawl_queue_request *request, uint64_t *retid,
                              pawl_error *reterr)
{
    pawl_mem mem;
    pawl_queue_reply reply;
    arena_init(&mem);
    pawl_status rc = pawl_queue_call(c, request, &mem, &reply);
    if (rc != PAWL_OK && reterr)
        *reterr = reply.error;
    if (rc == PAWL_OK && retid && reply.pushed_count)
        *retid = reply.pushed[0].id;
    arena_deinit(&mem);
    return rc;
}

pawl_status pawl_client_push(pawl_client *c, const char *queue, pawl_str data,
                             const pawl_queue_item *opts, uint64_t *retid, pawl_error *reterr)
{
    pawl_queue_item item = opts ? *opts : (pawl_queue_item){.use_default_priority = true};
    item.data = data;
    return call_plain(
        c,
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = queue, .items = &item, .item_count = 1),
        retid, reterr);
}

static pawl_status pop_one(pawl_client *c, const pawl_queue_request *request, pawl_mem *mem,
                           pawl_queue_message *ret, pawl_error *reterr)
{
    pawl_queue_reply reply;
    if (!is_there(ret, "a pop", "room for the message", reterr))
        return PAWL_MISUSE;
    pawl_status rc = pawl_queue_call(c, request, mem, &reply);
    if (rc != PAWL_OK) {
        if (reterr)
            *reterr = reply.error;
        return rc;
    }
    if (!reply.message_count) {
        error_set(reterr, PAWL_EMPTY, "the queue is empty");
        return PAWL_EMPTY;
    }
    *ret = reply.messages[0];
    if (reply.locked)
        ret->lock_id = reply.lock_id;
    return PAWL_OK;
}

pawl_status pawl_client_pop(pawl_client *c, const char *queue, int64_t wait_ms, pawl_mem *mem,
                            pawl_queue_message *ret, pawl_error *reterr)
{
    return pop_one(c, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue, .wait_ms = wait_ms),
                   mem, ret, reterr);
}

pawl_status pawl_client_pop_locked(pawl_client *c, const char *queue, int64_t ttl_ms,
                                   int64_t wait_ms, pawl_mem *mem, pawl_queue_message *ret,
                                   pawl_error *reterr)
{
    return pop_one(c,
                   PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue, .wait_ms = wait_ms,
                                      .require_ack = true, .ttl_ms = ttl_ms),
                   mem, ret, reterr);
}

pawl_status pawl_client_ack(pawl_client *c, const char *queue, const char *lock_id,
                            pawl_error *reterr)
{
    return call_plain(c,
                      PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_ACK, .queue = queue, .lock_ids = &lock_id,
                                         .lock_count = 1),
                      NULL, reterr);
}
