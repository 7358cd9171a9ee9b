/* SPDX-License-Identifier: MIT */
/*
 * server/queues.c -- push, pop, acknowledge.
 *
 * A request in seed form gets exactly the seed's keys in the seed's order; what
 * an extension adds comes after them.  Items are slices of
 * the body and of the reply: their bytes are never rewritten.  Answers are
 * written on the engine thread, because a reply is valid only there.
 */
#include "server/queues.h"

#include "base/arena.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/vec.h"
#include "view/render.h"

#include <string.h>

/* ---- Push --------------------------------------------------------------------------- */

struct push {
    pawl_queue_item *items;
    size_t count;
    bool bulk, extended;
};

static bool read_priority(struct call *c, pawl_str object, pawl_queue_item *item)
{
    pawl_str raw = call_field(c, object, "priority");
    if (!raw.ptr) {
        item->use_default_priority = true;
        return true;
    }
    if (!json_whole(raw, &item->priority)) {
        answer_error(c, 400, "invalid", "Priority must be an integer");
        return false;
    }
    if (item->priority < 0) {
        answer_error(c, 400, "invalid", "Priority must be non-negative");
        return false;
    }
    return true;
}

static bool read_extensions(struct call *c, pawl_str object, pawl_queue_item *item, bool *extended)
{
    static const char *const keys[] = {"dedup_id",           "delay_seconds", "deliver_at",
                                       "expires_in_seconds", "group",         "headers"};
    const char *dedup, *group;
    int64_t delay, at, expires;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        *extended = *extended || call_field(c, object, keys[i]).ptr;
    if (!call_text(c, object, "dedup_id", &dedup) || !call_text(c, object, "group", &group) ||
        !read_seconds(c, object, "delay_seconds", 0, 604800, &delay) ||
        !read_seconds(c, object, "deliver_at", 0, 99999999999, &at) ||
        !read_seconds(c, object, "expires_in_seconds", 0, 315360000, &expires))
        return false;
    item->headers = call_field(c, object, "headers");
    if (item->headers.ptr && json_type(item->headers) != JSON_OBJECT) {
        answer_error(c, 400, "invalid", "headers must be an object");
        return false;
    }
    item->dedup_id = pawl_s(dedup);
    item->group = pawl_s(group);
    item->delay_ms = delay > 0 ? delay : 0;
    item->deliver_at_ms = at > 0 ? at : 0;
    item->expires_in_ms = expires > 0 ? expires : 0;
    return true;
}

static bool read_item(struct call *c, pawl_str object, pawl_queue_item *item, bool *extended)
{
    item->data = call_field(c, object, "item");
    if (!item->data.ptr) {
        answer_error(c, 400, "invalid", "item is required");
        return false;
    }
    return read_priority(c, object, item) && read_extensions(c, object, item, extended);
}

/* One that is short enough is not counted. */
static bool has_too_many(pawl_str array)
{
    struct json_iter it;
    size_t count = 0;
    if (array.len <= 2 * PAWL_QUEUE_PUSH_MAX) /* a byte for each, and a comma between them */
        return false;
    for (json_begin(&it, array); json_next(&it);)
        count++;
    return count > PAWL_QUEUE_PUSH_MAX;
}

static bool read_items(struct call *c, pawl_str array, struct push *p)
{
    LIST(pawl_queue_item) items = {0};
    struct json_iter it;
    json_begin(&it, json_type(array) != JSON_ARRAY || has_too_many(array) ? pawl_s("[]") : array);
    while (json_next(&it)) {
        if (!call_field(c, it.value, "item").ptr) {
            answer_error(c, 400, "invalid", "items[%zu] must be an object with \"item\"",
                         items.count);
            return false;
        }
        if (!shape_check(c, it.value, &takes_item, "items", items.count) ||
            !read_item(c, it.value, list_add(c->mem, &items), &p->extended))
            return false;
    }
    p->items = items.items;
    p->count = items.count;
    if (items.count)
        return true;
    answer_error(c, 400, "invalid", "items must be an array of 1 to %d", PAWL_QUEUE_PUSH_MAX);
    return false;
}

/* One key for all: each item has its own, so that the same request again pushes nothing. */
static void add_keys(struct call *c, struct push *p, const char *key)
{
    for (size_t i = 0; i < p->count; i++)
        if (!p->items[i].dedup_id.len)
            p->items[i].dedup_id =
                p->bulk ? pawl_mem_printf(c->mem, "%s#%zu", key, i) : pawl_s(key);
}

/* Not by printf: this is the engine's thread. */
static pawl_str pushed_message(struct call *c, int64_t priority)
{
    char digits[24], *end = digits + sizeof(digits), *at = digits_before(end, (uint64_t)priority);
    const pawl_str parts[] = {
        pawl_s("Item pushed to queue "),
        pawl_s(c->args[0]),
        pawl_s(" at priority "),
        {at, (size_t)(end - at)}
    };
    return arena_join(c->mem, parts, COUNT_OF(parts));
}

static pawl_str bulk_message(struct call *c, uint64_t count)
{
    char digits[24], *end = digits + sizeof(digits), *at = digits_before(end, count);
    const pawl_str parts[] = {
        pawl_s("Pushed "),
        {at, (size_t)(end - at)},
        pawl_s(" items to queue "),
        pawl_s(c->args[0])
    };
    return arena_join(c->mem, parts, COUNT_OF(parts));
}

static void write_pushed(struct call *c, const pawl_queue_reply *reply)
{
    const pawl_queue_pushed *first = &reply->pushed[0];
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, true);
    pawl_json_key(w, "message");
    pawl_json_str(w, pushed_message(c, first->priority));
    if (c->queueing.extended) {
        pawl_json_key(w, "id");
        write_id(w, first->id);
        pawl_json_key(w, "duplicate");
        pawl_json_truth(w, first->duplicate);
    }
    pawl_json_end(w);
    answer_json(c, 200, w);
}

static void write_bulk(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, true);
    pawl_json_key(w, "message");
    pawl_json_str(w, bulk_message(c, reply->count));
    write_count(w, "items_pushed", reply->count);
    write_count(w, "itemsPushed", reply->count);
    pawl_json_key(w, "ids");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->pushed_count; i++)
        write_id(w, reply->pushed[i].id);
    pawl_json_end(w);
    pawl_json_key(w, "results");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->pushed_count; i++) {
        pawl_json_object(w);
        pawl_json_key(w, "id");
        write_id(w, reply->pushed[i].id);
        pawl_json_key(w, "duplicate");
        pawl_json_truth(w, reply->pushed[i].duplicate);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_push(struct call *c)
{
    struct push p = {0};
    pawl_queue_item one = {0};
    pawl_str items = call_field(c, c->json, "items");
    const char *key = c->given.idempotency_key;
    p.bulk = items.ptr && !call_field(c, c->json, "item").ptr;
    if (!call_check_key(c))
        return;
    if (p.bulk) {
        if (!read_items(c, items, &p))
            return;
    } else {
        if (!read_item(c, c->json, &one, &p.extended))
            return;
        p.extended = p.extended || key;
        p.items = &one;
        p.count = 1;
    }
    if (key)
        add_keys(c, &p, key);
    c->queueing.extended = p.extended;
    pawl_queue_request q = {.size = sizeof(q),
                            .op = PAWL_QUEUE_PUSH,
                            .items = p.items,
                            .item_count = p.count,
                            .key = key};
    queue_submit(c, &q, p.bulk ? write_bulk : write_pushed, false);
}

/* ---- Pop ---------------------------------------------------------------------------- */

/* Whole numbers of any size are clamped to min..max; anything else is refused. */
static bool read_clamped(struct call *c, const char *name, int64_t min, int64_t max, int64_t *ret)
{
    const char *text = call_param(c, name);
    *ret = -1;
    if (!text)
        return true;
    bool negative = text[0] == '-';
    const char *digits = text + (negative || text[0] == '+');
    if (!digits[0] || digits[strspn(digits, "0123456789")]) {
        answer_error(c, 400, "invalid", "%s must be an integer", name);
        return false;
    }
    int64_t n = 0;
    for (; *digits && n <= max; digits++)
        n = n * 10 + (*digits - '0');
    n = negative ? -n : n;
    *ret = n < min ? min : n > max ? max : n;
    return true;
}

static void write_messages(struct call *c, pawl_json *w, const pawl_queue_reply *reply)
{
    bool meta = call_param(c, "meta") != NULL;
    pawl_json_key(w, "messages");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->message_count; i++) {
        const pawl_queue_message *m = &reply->messages[i];
        pawl_json_object(w);
        write_message_members(w, m);
        if (meta && m->lock_id.len)
            render_text(w, "lock_id", m->lock_id);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void write_popped(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "items");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->message_count; i++) {
        pawl_str item = reply->messages[i].data;
        if (pawl_json_valid(item, NULL)) /* pushed from C it may be any text */
            json_put(w, item);
        else
            pawl_json_str(w, item);
    }
    pawl_json_end(w);
    pawl_json_key(w, "count");
    pawl_json_num(w, (int64_t)reply->message_count);
    if (c->queueing.wants_lock) {
        pawl_json_key(w, "locked");
        pawl_json_truth(w, reply->locked);
        if (reply->locked) {
            render_text(w, "lock_id", reply->lock_id);
            write_seconds(w, "lock_expires_at", reply->locked_until_ms);
        }
    }
    if (c->queueing.extended)
        write_messages(c, w, reply);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_pop(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_POP};
    int64_t ttl, wait, count;
    bool meta = false;
    if (!call_flag(c, "require_ack", &q.require_ack) ||
        !read_clamped(c, "ttl_seconds", 1, 300, &ttl) ||
        !call_number(c, "count", 1, PAWL_QUEUE_POP_MAX, 1, &count) ||
        !read_clamped(c, "wait_seconds", 0, 30, &wait) || !call_flag(c, "meta", &meta) ||
        !call_number(c, "max_priority", 0, INT64_MAX, 0, &q.priority))
        return;
    q.has_priority = call_param(c, "max_priority") != NULL;
    q.ttl_ms = ttl > 0 ? ttl * 1000 : 0;
    q.wait_ms = wait > 0 ? wait * 1000 : 0;
    q.count = (uint32_t)count;
    c->queueing.wants_lock = q.require_ack;
    c->queueing.extended = call_param(c, "count") || wait >= 0 || meta || q.has_priority;
    queue_submit(c, &q, write_popped, q.wait_ms > 0);
}

/* ---- Acknowledge ----------------------------------------------------------------------- */

/* No lock id has a NUL: one that cannot be is as unknown as any other. */
static const char *lock_text(struct call *c, pawl_str raw)
{
    pawl_str text = pawl_json_text(c->mem, raw, "", "");
    return text.len && memchr(text.ptr, 0, text.len) ? "?" : text.ptr;
}

const char *queue_lock_id(struct call *c)
{
    pawl_str raw = call_field(c, c->json, "lock_id");
    const char *text = raw.ptr && json_type(raw) == JSON_STRING ? lock_text(c, raw) : "";
    if (text[0])
        return text;
    answer_error(c, 400, "invalid", "lock_id is required");
    return NULL;
}

static void write_acked(struct call *c, const pawl_queue_reply *reply)
{
    answer_done(c, "Items acknowledged successfully", "items_acknowledged", reply->count);
}

static void write_results(struct call *c, const pawl_queue_reply *reply)
{
    static const struct {
        pawl_status status;
        const char *word;
    } words[] = {
        {PAWL_OK,        "acknowledged"},
        {PAWL_LOST,      "expired"     },
        {PAWL_NOT_FOUND, "not_found"   },
        {PAWL_INVALID,   "invalid"     }
    };
    bool all = true;
    for (size_t i = 0; i < reply->outcome_count; i++)
        all = all && reply->outcomes[i].status == PAWL_OK;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "success");
    pawl_json_truth(w, all);
    pawl_json_key(w, "message");
    pawl_json_cstr(w, all ? "Items acknowledged successfully" : "Some locks were not acknowledged");
    pawl_json_key(w, "items_acknowledged");
    pawl_json_num(w, (int64_t)reply->count);
    pawl_json_key(w, "results");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->outcome_count; i++) {
        const char *word = pawl_status_code(reply->outcomes[i].status);
        for (size_t k = 0; k < COUNT_OF(words); k++)
            word = words[k].status == reply->outcomes[i].status ? words[k].word : word;
        pawl_json_object(w);
        render_text(w, "lock_id", reply->outcomes[i].lock_id);
        pawl_json_key(w, "status");
        pawl_json_cstr(w, word);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, all ? 200 : 207, w);
}

/* {"lock_ids":[…]}; false: 400 was answered. */
static bool read_lock_ids(struct call *c, pawl_str array, pawl_queue_request *q)
{
    struct json_iter it;
    const char **ids = pawl_mem_alloc(c->mem, PAWL_QUEUE_LOCKS_MAX * sizeof(*ids));
    size_t n = 0;
    bool ok = json_type(array) == JSON_ARRAY;
    if (ok)
        for (json_begin(&it, array); ok && json_next(&it); n++) {
            ok = n < PAWL_QUEUE_LOCKS_MAX && json_type(it.value) == JSON_STRING;
            if (ok)
                ids[n] = lock_text(c, it.value);
        }
    if (!ok || !n)
        answer_error(c, 400, "invalid", "lock_ids must be an array of 1 to %d texts",
                     PAWL_QUEUE_LOCKS_MAX);
    q->lock_ids = ids;
    q->lock_count = n;
    return ok && n;
}

void handle_ack(struct call *c)
{
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_ACK};
    pawl_str many = call_field(c, c->json, "lock_ids");
    const char *one = NULL;
    if (many.ptr) {
        if (!read_lock_ids(c, many, &q))
            return;
    } else {
        one = queue_lock_id(c);
        if (!one)
            return;
        q.lock_ids = &one;
        q.lock_count = 1;
    }
    c->queueing.extended = many.ptr != NULL;
    queue_submit(c, &q, many.ptr ? write_results : write_acked, false);
}
