/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_bridge.c -- where orchestrations and queues meet.
 *
 * Both directions are one commit each.  A push of an orchestration is a message in the round
 * of its turn; the group that delivers it inserts the item and drops the message.  A
 * bound queue turns an item into a start message in the round that takes the item out; when
 * the start finds its id taken, the item becomes a dead letter in the round that drops the start.
 * So a crash at any point neither loses nor repeats a push or a start.
 */
#include "runtime/queue/queue_bridge.h"

#include "base/limits.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/stage.h"
#include "runtime/core/timers.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_handle.h"
#include "runtime/queue/queue_take.h"

#define STARTS_MAX 100

/* ---- Pushes of orchestrations ------------------------------------------------------ */

/* The letter's queue, in memory and ready for requests; otherwise the letter waits. */
static pawl_status cached_for(pawl_runtime *rt, pawl_str name, struct cached_queue **ret)
{
    struct cached_queue *dead;
    pawl_status rc = cached_open(rt, name, ret);
    if (rc != PAWL_OK)
        return rc;
    if ((*ret)->put_off)
        return PAWL_BUSY;
    if (queue_may_bury((*ret)->q))
        rc = cached_open(rt, queue_dead_letters((*ret)->q, &rt->group_mem), &dead);
    return rc;
}

/* Its queue is damaged: only this letter waits. */
static struct delivered wait_for_queue(pawl_runtime *rt, struct letter *l, pawl_str queue)
{
    struct cached_queue *s = cached_find(rt->queue_cache, queue);
    back_off_start(rt, &s->due);
    timers_put_letter(rt, l, rt->now_ms + (s->due.until_ms - rt_mono(rt)));
    return verdict_done();
}

struct delivered queue_deliver(pawl_runtime *rt, struct letter *l)
{
    struct cached_queue *s;
    pawl_status why = cached_for(rt, l->mail.name, &s);
    if (why == PAWL_CORRUPT)
        return wait_for_queue(rt, l, l->mail.name);
    if (why != PAWL_OK)
        return verdict_on(l, VERDICT_LATER);
    pawl_queue_item item = {.data = l->mail.data,
                            .priority = pawl_json_int(l->mail.attrs, "/priority", 0),
                            .delay_ms = pawl_json_int(l->mail.attrs, "/delay_ms", 0),
                            .dedup_id =
                                pawl_json_text(&rt->group_mem, l->mail.attrs, "/dedup_id", "")};
    uint64_t twin;
    if (queue_find_twin(rt, s, item.dedup_id, &twin) != PAWL_OK)
        return verdict_on(l, VERDICT_LATER);
    rt->queue_cache->group.now_ms = rt->now_ms;
    queue_push_always(&rt->queue_cache->group, s->q, &item, twin);
    struct stage *stage = queue_stage(rt);
    stage_drop_message(rt, stage, l->mail.id);
    stage_take(stage, l); /* the item's bytes may be the letter's until the commit */
    RT_POINT(rt, "queue.delivered");
    return verdict_done();
}

/* ---- Bound queues ------------------------------------------------------------------ */

/* The fields that turn the start back into a message if its id is taken. */
static pawl_str start_attrs_of(pawl_runtime *rt, const struct cached_queue *s,
                               const pawl_queue_message *m)
{
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    if (s->q->config.version.len) {
        pawl_json_key(w, "version");
        pawl_json_str(w, s->q->config.version);
    }
    pawl_json_key(w, "queue");
    pawl_json_str(w, s->name);
    pawl_json_key(w, "priority");
    pawl_json_num(w, m->priority);
    pawl_json_key(w, "enqueued_ms");
    pawl_json_num(w, m->enqueued_ms);
    if (m->group.len) {
        pawl_json_key(w, "group");
        pawl_json_str(w, m->group);
    }
    if (m->headers.len) {
        pawl_json_key(w, "headers");
        pawl_json_raw(w, m->headers);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

/* The id is a function of queue and message, of a form that callers may not choose: a start
 * that is delivered twice is one start. */
static void start_one(pawl_runtime *rt, const struct cached_queue *s, const pawl_queue_message *m)
{
    const pawl_queue_config *c = &s->q->config;
    pawl_str id = pawl_mem_printf(&rt->group_mem, ID_OF_QUEUE "%.*s~%llu", PAWL_FMT(s->name),
                                  (unsigned long long)m->id);
    pawl_message *msg = stage_send(rt, queue_stage(rt), PAWL_MSG_START, 0, id);
    msg->shard = rt_shard_of(rt, id);
    msg->execution = 1;
    msg->name = arena_dup(&rt->group_mem, c->orchestration);
    msg->data = arena_dup(&rt->group_mem, m->data);
    msg->attrs = start_attrs_of(rt, s, m);
}

pawl_str queue_bound_warning(pawl_runtime *rt, const pawl_queue_config *c, pawl_mem *mem)
{
    if (!c->orchestration.len || registry_code(rt->app, c->orchestration, c->version))
        return (pawl_str){0};
    pawl_str what = registry_has_name(rt->app, c->orchestration)
                        ? pawl_mem_printf(mem, "has no version %.*s", PAWL_FMT(c->version))
                        : pawl_s("is not registered");
    return pawl_mem_printf(
        mem, "orchestration '%.*s' %.*s here: messages start instances that wait for its code",
        PAWL_FMT(c->orchestration), PAWL_FMT(what));
}

static pawl_str queue_of(pawl_runtime *rt, const struct letter *l)
{
    return pawl_json_text(&rt->group_mem, l->mail.attrs, "/queue", "");
}

bool queue_sent(pawl_runtime *rt, const struct letter *l)
{
    return rt->queue_cache && queue_of(rt, l).len > 0;
}

/* Into the dead letter queue, in the round that drops the start. */
static pawl_status bury_start(pawl_runtime *rt, const struct letter *l)
{
    struct cached_queue *s, *dead;
    pawl_str attrs = l->mail.attrs;
    pawl_status rc = cached_for(rt, queue_of(rt, l), &s);
    if (rc == PAWL_OK)
        rc = cached_open(rt, queue_dead_letters(s->q, &rt->group_mem), &dead);
    if (rc != PAWL_OK)
        return rc;
    pawl_queue_message m = {.data = l->mail.data,
                            .priority = pawl_json_int(attrs, "/priority", 0),
                            .delivery_count = 1,
                            .enqueued_ms = pawl_json_int(attrs, "/enqueued_ms", 0),
                            .group = pawl_json_text(&rt->group_mem, attrs, "/group", ""),
                            .headers = pawl_json_get(attrs, "/headers")};
    rt->queue_cache->group.now_ms = rt->now_ms;
    queue_bury_start(&rt->queue_cache->group, s->q, &m,
                     pawl_mem_printf(&rt->group_mem,
                                     "its instance id '%.*s' is taken by another instance",
                                     PAWL_FMT(l->instance)));
    log_warn(&rt->log, "queue", "a message could not start its instance; it is a dead letter",
             "queue=%s instance=%.*s", s->q->name, PAWL_FMT(l->instance));
    return PAWL_OK;
}

struct delivered queue_start_taken(pawl_runtime *rt, struct letter *l, bool twin)
{
    pawl_status rc = twin ? PAWL_OK : bury_start(rt, l);
    if (rc == PAWL_CORRUPT)
        return wait_for_queue(rt, l, queue_of(rt, l));
    if (rc != PAWL_OK)
        return verdict_on(l, VERDICT_LATER);
    struct stage *stage = queue_stage(rt);
    stage_drop_message(rt, stage, l->mail.id);
    stage_take(stage, l);
    RT_POINT(rt, "queue.taken");
    return verdict_done();
}

void queue_start_bound(pawl_runtime *rt, struct cached_queue *s)
{
    struct queue_cache *d = rt->queue_cache;
    struct queue *q = s->q;
    if (!queue_is_bound(q) || backs_off(rt, &s->starts))
        return;
    struct queue_req req = {
        .args = {.op = PAWL_QUEUE_POP, .count = STARTS_MAX}
    };
    pawl_queue_reply reply;
    pawl_status why;
    req.reply = &reply;
    enum queue_verdict verdict = queue_try_pop(rt, s, &req, &why);
    if (why == PAWL_CORRUPT) {
        back_off_start(rt, &s->starts);
        return;
    }
    if (why != PAWL_OK) {
        d->again = true;
        return;
    }
    if (verdict != QUEUE_DONE)
        return;
    for (size_t i = 0; i < reply.message_count; i++) {
        start_one(rt, s, &reply.messages[i]);
        RT_POINT(rt, "queue.bound");
    }
    q->totals.started += reply.message_count;
    d->again |= q->row.ready > 0;
}
