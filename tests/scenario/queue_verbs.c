/* SPDX-License-Identifier: MIT */
/* tests/scenario/queue_verbs.c -- see the header. */
#include "queue_verbs.h"

#include <stdatomic.h>
#include <stdio.h>

struct answer {
    struct scene *s;
    pawl_queue_reply *reply;
    atomic_bool done;
};

static void copy_messages(pawl_mem *mem, pawl_queue_reply *to)
{
    pawl_queue_message *list = pawl_mem_alloc(mem, (to->message_count + 1) * sizeof(*list));
    for (size_t i = 0; i < to->message_count; i++) {
        list[i] = to->messages[i];
        pawl_str *texts[] = {&list[i].data,   &list[i].group,  &list[i].headers,
                             &list[i].source, &list[i].reason, &list[i].lock_id};
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
            *texts[j] = pawl_mem_dup(mem, *texts[j]);
    }
    to->messages = list;
}

static void copy_config(pawl_mem *mem, pawl_queue_reply *to)
{
    pawl_queue_config *own = pawl_mem_alloc(mem, sizeof(*own));
    *own = *to->config;
    int64_t *backoff = pawl_mem_alloc(mem, (own->retry_backoff_count + 1) * sizeof(*backoff));
    for (size_t i = 0; i < own->retry_backoff_count; i++)
        backoff[i] = own->retry_backoff[i];
    own->retry_backoff = backoff;
    own->dead_letter_queue = pawl_mem_dup(mem, own->dead_letter_queue);
    own->orchestration = pawl_mem_dup(mem, own->orchestration);
    own->version = pawl_mem_dup(mem, own->version);
    to->config = own;
}

static void take_answer(void *arg, const pawl_queue_reply *from)
{
    struct answer *a = arg;
    pawl_mem *mem = a->s->mem;
    pawl_queue_reply *to = a->reply;
    *to = *from;
    to->lock_id = pawl_mem_dup(mem, from->lock_id);
    to->target = pawl_mem_dup(mem, from->target);
    to->warning = pawl_mem_dup(mem, from->warning);
    if (from->config)
        copy_config(mem, to);
    copy_messages(mem, to);
    pawl_queue_pushed *pushed = pawl_mem_alloc(mem, (from->pushed_count + 1) * sizeof(*pushed));
    for (size_t i = 0; i < from->pushed_count; i++)
        pushed[i] = from->pushed[i];
    to->pushed = pushed;
    pawl_queue_outcome *out = pawl_mem_alloc(mem, (from->outcome_count + 1) * sizeof(*out));
    for (size_t i = 0; i < from->outcome_count; i++) {
        out[i] = from->outcomes[i];
        out[i].lock_id = pawl_mem_dup(mem, out[i].lock_id);
    }
    to->outcomes = out;
    atomic_store(&a->done, true);
}

/* Submit and run; time moves only when the store was in trouble. */
pawl_queue_reply *queue_do(struct scene *s, const pawl_queue_request *request)
{
    scene_up(s);
    pawl_queue_reply *reply = pawl_mem_alloc(s->mem, sizeof(*reply));
    struct answer a = {.s = s, .reply = reply};
    if (s->threads) {
        ck_assert_int_eq(pawl_queue_call(s->c, request, s->mem, reply), reply->status);
        return reply;
    }
    reply->status = pawl_queue_submit(s->c, request, take_answer, &a, &reply->error);
    if (reply->status != PAWL_OK)
        return reply;
    for (int i = 0; i < 20000 && !atomic_load(&a.done); i++) {
        scene_settle(s);
        if (!atomic_load(&a.done) && !scene_hop(s))
            break;
    }
    ck_assert_msg(atomic_load(&a.done), "the call was never answered");
    return reply;
}

void q_push_item(struct scene *s, const char *queue, pawl_queue_item item)
{
    pawl_queue_reply *r = queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = queue,
                                                         .items = &item, .item_count = 1));
    ck_assert_msg(r->status == PAWL_OK, "%s", r->error.text);
}

void q_push(struct scene *s, const char *queue, const char *data, int64_t priority)
{
    q_push_item(s, queue, (pawl_queue_item){.data = pawl_s(data), .priority = priority});
}

static const char *data_of(struct scene *s, const pawl_queue_reply *r)
{
    pawl_str text = {"", 0};
    if (r->status == PAWL_CONFLICT)
        return "locked";
    ck_assert_msg(r->status == PAWL_OK, "%s", r->error.text);
    ck_assert_uint_eq(r->count, r->message_count);
    for (size_t i = 0; i < r->message_count; i++)
        text = pawl_mem_printf(s->mem, "%s%s%.*s", text.ptr, i ? " " : "",
                               PAWL_FMT(r->messages[i].data));
    return text.ptr;
}

const char *q_pop(struct scene *s, const char *queue, uint32_t count)
{
    return data_of(
        s, queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue, .count = count)));
}

const char *q_lock(struct scene *s, const char *queue, uint32_t count, int64_t ttl_ms,
                   const char **retdata)
{
    pawl_queue_reply *r =
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue, .count = count,
                                       .require_ack = true, .ttl_ms = ttl_ms));
    if (retdata)
        *retdata = data_of(s, r);
    ck_assert_int_eq(r->locked, r->status == PAWL_OK && r->count > 0);
    return r->locked ? r->lock_id.ptr : NULL;
}

pawl_status q_settle(struct scene *s, pawl_queue_op op, const char *queue, const char *lock)
{
    return queue_do(
               s, PAWL_QUEUE_REQUEST(.op = op, .queue = queue, .lock_ids = &lock, .lock_count = 1))
        ->status;
}

void q_config(struct scene *s, const char *queue, pawl_queue_config config)
{
    pawl_queue_reply *r = queue_do(
        s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = queue, .config = &config));
    ck_assert_msg(r->status == PAWL_OK, "%s", r->error.text);
}

pawl_queue_stats q_stats(struct scene *s, const char *queue)
{
    pawl_queue_stats stats;
    pawl_error err;
    scene_up(s);
    pawl_status rc = pawl_queue_get_stats(s->c, queue, s->mem, &stats, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    return stats;
}

const char *q_counts(struct scene *s, const char *queue)
{
    pawl_queue_stats t = q_stats(s, queue);
    return pawl_mem_printf(s->mem, "%d %d %d %d", (int)t.ready, (int)t.delayed, (int)t.locked,
                           (int)t.locks)
        .ptr;
}

const char *q_all(struct scene *s, const char *queue)
{
    static const char *const states[] = {"ready", "delayed", "locked"};
    pawl_str text = {"", 0};
    pawl_queue_messages page = {0};
    scene_up(s);
    do {
        pawl_error err;
        pawl_status rc = pawl_queue_browse_messages(
            s->c, queue, PAWL_QUEUE_BROWSE(.limit = 3, .cursor = page.cursor.ptr), s->mem, &page,
            &err);
        ck_assert_msg(rc == PAWL_OK, "%s", err.text);
        for (size_t i = 0; i < page.count; i++)
            text = pawl_mem_printf(s->mem, "%s%s%.*s:%s", text.ptr, text.len ? " " : "",
                                   PAWL_FMT(page.items[i].data), states[page.items[i].state]);
    } while (page.next);
    return text.ptr;
}

static void take_poll(void *arg, const pawl_queue_reply *r)
{
    struct q_poll *p = arg;
    p->done = true;
    p->status = r->status;
    if (r->message_count)
        (void)snprintf(p->data, sizeof(p->data), "%.*s", PAWL_FMT(r->messages[0].data));
    (void)snprintf(p->lock, sizeof(p->lock), "%.*s", PAWL_FMT(r->lock_id));
}

void q_poll(struct scene *s, const char *queue, int64_t wait_ms, bool ack, struct q_poll *p)
{
    pawl_error err;
    *p = (struct q_poll){0};
    scene_up(s);
    pawl_status rc = pawl_queue_submit(s->c,
                                       PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = queue,
                                                          .wait_ms = wait_ms, .require_ack = ack),
                                       take_poll, p, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
    scene_settle(s);
}
