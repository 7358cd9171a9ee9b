/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_client.c -- pawl/queue.h: the writing calls, from any thread.
 *
 * Whatever can be refused without the store is refused here, on the caller's thread.  Any other
 * request is copied into one block and goes through the inbox.
 */
#include "runtime/queue/queue_client.h"

#include "base/fit.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/pack.h"
#include "base/rand.h"
#include "base/reserved.h"
#include "runtime/core/gate.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_fit.h"

#include <stdlib.h>
#include <string.h>

/* ---- Checks -------------------------------------------------------------------- */

static bool refuse(pawl_error *err, pawl_status status, const char *text)
{
    error_set(err, status, "%s", text);
    return false;
}

static bool check_item(const pawl_queue_item *i, int64_t now_ms, pawl_error *err)
{
    if (is_odd(i->data) || is_odd(i->dedup_id) || is_odd(i->group) || is_odd(i->headers))
        return refuse(err, PAWL_MISUSE, "an item has a length and no bytes");
    if (i->data.len + i->headers.len + i->group.len > PAWL_QUEUE_ITEM_BYTES) {
        error_set(err, PAWL_LIMIT, "item of %zu bytes is over the limit of %zu", i->data.len,
                  PAWL_QUEUE_ITEM_BYTES);
        return false;
    }
    if (!i->use_default_priority && i->priority < 0)
        return refuse(err, PAWL_INVALID, "Priority must be non-negative");
    if (i->dedup_id.len > PAWL_QUEUE_DEDUP_BYTES)
        return refuse(err, PAWL_INVALID, "dedup_id is longer than 128 bytes");
    if (i->group.len > PAWL_QUEUE_GROUP_BYTES)
        return refuse(err, PAWL_INVALID, "group is longer than 128 bytes");
    if (!utf8_valid(i->dedup_id) || !utf8_valid(i->group))
        return refuse(err, PAWL_INVALID, "dedup_id and group must be UTF-8");
    if (i->delay_ms < 0 || i->delay_ms > PAWL_QUEUE_DELAY_MAX)
        return refuse(err, PAWL_INVALID, "delay_seconds must be between 0 and 604800");
    if (i->deliver_at_ms < 0 || i->deliver_at_ms > now_ms + PAWL_QUEUE_DELAY_MAX)
        return refuse(err, PAWL_INVALID, "deliver_at must be at most 604800 seconds ahead");
    if (i->expires_in_ms < 0 || i->expires_in_ms > LIMIT_DELAY_MS)
        return refuse(err, PAWL_INVALID, "expires_in_seconds is out of range");
    if (i->headers.len && (i->headers.ptr[0] != '{' || !pawl_json_valid(i->headers, NULL)))
        return refuse(err, PAWL_INVALID, "headers must be a JSON object");
    return true;
}

static bool check_push(pawl_runtime *rt, const pawl_queue_request *q, pawl_error *err)
{
    if (q->item_count < 1)
        return refuse(err, PAWL_INVALID, "Items array cannot be empty");
    if (q->item_count > PAWL_QUEUE_PUSH_MAX)
        return refuse(err, PAWL_INVALID, "Maximum 1000 items per push");
    if (!q->items)
        return refuse(err, PAWL_MISUSE, "item_count without items");
    if (q->key && (!q->key[0] || strlen(q->key) > PAWL_QUEUE_DEDUP_BYTES))
        return refuse(err, PAWL_INVALID, "the key of a push has 1 to 128 bytes");
    int64_t now = rt_now(rt);
    for (size_t i = 0; i < q->item_count; i++)
        if (!check_item(&q->items[i], now, err))
            return false;
    return true;
}

static bool check_locks(const pawl_queue_request *q, pawl_error *err)
{
    if (q->lock_count < 1)
        return refuse(err, PAWL_INVALID, "lock_id is required");
    if (q->lock_count > PAWL_QUEUE_LOCKS_MAX)
        return refuse(err, PAWL_INVALID, "at most 100 lock ids in one call");
    if (!q->lock_ids)
        return refuse(err, PAWL_MISUSE, "lock_count without lock_ids");
    for (size_t i = 0; i < q->lock_count; i++)
        if (!q->lock_ids[i] || !q->lock_ids[i][0])
            return refuse(err, PAWL_INVALID, "lock_id is required");
    if (q->reason && strlen(q->reason) > LIMIT_REASON_BYTES)
        return refuse(err, PAWL_LIMIT, "reason is longer than 4096 bytes");
    if (q->op == PAWL_QUEUE_RELEASE && (q->delay_ms < 0 || q->delay_ms > PAWL_QUEUE_DELAY_MAX))
        return refuse(err, PAWL_INVALID, "delay_seconds must be between 0 and 604800");
    if (q->op == PAWL_QUEUE_EXTEND && q->extend_ms != 0 &&
        (q->extend_ms < PAWL_QUEUE_TTL_MIN || q->extend_ms > PAWL_QUEUE_TTL_MAX))
        return refuse(err, PAWL_INVALID, "additional_ttl_seconds must be between 1 and 300");
    return true;
}

static bool check_bind(const pawl_queue_request *q, pawl_error *err)
{
    if (q->version && q->version[0] && !check_version(pawl_s(q->version), err))
        return false;
    return !q->orchestration || !q->orchestration[0] ||
           check_orchestration_name(pawl_s(q->orchestration), err);
}

static bool check_request(pawl_runtime *rt, const pawl_queue_request *q, pawl_error *err)
{
    if (!check_queue_name("queue name", pawl_s(q->queue), err))
        return false;
    switch (q->op) {
    case PAWL_QUEUE_PUSH:
        return check_push(rt, q, err);
    case PAWL_QUEUE_POP:
        return q->count <= PAWL_QUEUE_POP_MAX ||
               refuse(err, PAWL_INVALID, "count must be between 1 and 100");
    case PAWL_QUEUE_ACK:
    case PAWL_QUEUE_EXTEND:
    case PAWL_QUEUE_RELEASE:
    case PAWL_QUEUE_DEADLETTER:
        return check_locks(q, err);
    case PAWL_QUEUE_CONFIGURE:
        return (q->config || refuse(err, PAWL_MISUSE, "no configuration given")) &&
               queue_config_check(q->config, pawl_s(q->queue), err);
    case PAWL_QUEUE_REDRIVE:
        return !q->target || check_queue_name("target queue", pawl_s(q->target), err);
    case PAWL_QUEUE_BIND:
        return check_bind(q, err);
    case PAWL_QUEUE_PURGE:
    case PAWL_QUEUE_PAUSE:
    case PAWL_QUEUE_RESUME:
    case PAWL_QUEUE_DELETE:
    case PAWL_QUEUE_REMOVE:
        return true;
    }
    error_set(err, PAWL_MISUSE, "unknown queue operation %d", (int)q->op);
    return false;
}

/* ---- A request as one block -------------------------------------------------------- */

/* A hash of the items: equal items have equal prints.  Positive, because it is stored as an id. */
static uint64_t print_of(const pawl_queue_request *a)
{
    uint64_t h = a->item_count;
    for (size_t i = 0; i < a->item_count; i++) {
        const pawl_queue_item *t = &a->items[i];
        const pawl_str texts[] = {t->data, t->dedup_id, t->group, t->headers};
        const int64_t numbers[] = {t->use_default_priority ? -1 : t->priority, t->delay_ms,
                                   t->deliver_at_ms, t->expires_in_ms};
        for (size_t k = 0; k < COUNT_OF(texts); k++)
            h = siphash24((const uint64_t[]){h, texts[k].len}, texts[k].ptr, texts[k].len);
        h = siphash24((const uint64_t[]){h, i}, numbers, sizeof(numbers));
    }
    return (h & INT64_MAX) | 1;
}

static size_t length(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* The arrays of a request that its operation reads. */
struct request_parts {
    size_t item_count, lock_count;
    const pawl_queue_config *config;
};

static struct request_parts parts_of(const pawl_queue_request *a)
{
    struct request_parts p = {0};
    switch ((int)a->op) {
    case PAWL_QUEUE_PUSH:
        p.item_count = a->item_count;
        break;
    case PAWL_QUEUE_ACK:
    case PAWL_QUEUE_EXTEND:
    case PAWL_QUEUE_RELEASE:
    case PAWL_QUEUE_DEADLETTER:
        p.lock_count = a->lock_count;
        break;
    case PAWL_QUEUE_CONFIGURE:
        p.config = a->config;
        break;
    default:
        break;
    }
    return p;
}

static size_t bytes_of(const pawl_queue_request *a, const struct request_parts *p)
{
    size_t n = length(a->queue) + length(a->reason) + length(a->target) + length(a->orchestration) +
               length(a->version) + length(a->key);
    for (size_t i = 0; i < p->item_count; i++) {
        const pawl_queue_item *item = &a->items[i];
        n += item->data.len + item->dedup_id.len + item->group.len + item->headers.len + 4;
    }
    for (size_t i = 0; i < p->lock_count; i++)
        n += length(a->lock_ids[i]);
    if (p->config)
        n += p->config->dead_letter_queue.len + p->config->orchestration.len +
             p->config->version.len + 3;
    return n;
}

static void copy_config(struct queue_req *req, const pawl_queue_config *from, int64_t *backoff,
                        char **at)
{
    req->config = *from;
    if (from->retry_backoff_count)
        memcpy(backoff, from->retry_backoff, from->retry_backoff_count * sizeof(*backoff));
    req->config.retry_backoff = backoff;
    req->config.dead_letter_queue = pack_str(at, from->dead_letter_queue);
    req->config.orchestration = pack_str(at, from->orchestration);
    req->config.version = pack_str(at, from->version);
    req->args.config = &req->config;
}

static struct queue_req *create(const pawl_queue_request *a, const pawl_queue_sizes *sizes)
{
    const struct request_parts p = parts_of(a);
    size_t items = p.item_count * sizeof(pawl_queue_item);
    size_t locks = p.lock_count * sizeof(char *);
    size_t backoff = p.config ? QUEUE_BACKOFF_MAX * sizeof(int64_t) : 0;
    size_t table = sizes ? sizeof(*sizes) : 0;
    struct queue_req *req =
        malloc(sizeof(*req) + items + locks + backoff + table + bytes_of(a, &p));
    if (!req)
        return NULL;
    memset(req, 0, sizeof(*req));
    req->item.kind = ITEM_QUEUE;
    req->args = *a;
    req->args.item_count = p.item_count;
    req->args.lock_count = p.lock_count;
    req->args.config = NULL;
    pawl_queue_item *to_items = (pawl_queue_item *)(void *)(req + 1);
    const char **to_locks = (const char **)(void *)((char *)to_items + items);
    int64_t *to_backoff = (int64_t *)(void *)((char *)to_locks + locks);
    char *at = (char *)to_backoff + backoff + table;
    if (sizes)
        req->sizes = memcpy((char *)to_backoff + backoff, sizes, sizeof(*sizes));
    req->args.queue = pack_text(&at, a->queue);
    req->args.reason = pack_text(&at, a->reason);
    req->args.target = pack_text(&at, a->target);
    req->args.orchestration = pack_text(&at, a->orchestration);
    req->args.version = pack_text(&at, a->version);
    req->args.key = pack_text(&at, a->key);
    req->print = p.item_count && a->key ? print_of(a) : 0;
    for (size_t i = 0; i < p.item_count; i++) {
        to_items[i] = a->items[i];
        to_items[i].data = pack_str(&at, a->items[i].data);
        to_items[i].dedup_id = pack_str(&at, a->items[i].dedup_id);
        to_items[i].group = pack_str(&at, a->items[i].group);
        to_items[i].headers = pack_str(&at, a->items[i].headers);
    }
    for (size_t i = 0; i < p.lock_count; i++)
        to_locks[i] = pack_text(&at, a->lock_ids[i]);
    req->args.items = to_items;
    req->args.lock_ids = to_locks;
    if (p.config)
        copy_config(req, p.config, to_backoff, &at);
    if (req->args.wait_ms > PAWL_QUEUE_WAIT_MAX)
        req->args.wait_ms = PAWL_QUEUE_WAIT_MAX;
    return req;
}

/* Fields that an older caller's configuration lacks get their defaults. */
static bool take_config(pawl_queue_config *to, const pawl_queue_config *from, pawl_error *err)
{
    pawl_queue_config given, known = pawl_queue_config_default();
    size_t size = from->size;
    if (!OPTIONS_TAKE(&given, from, "pawl_queue_config", err))
        return false;
    *to = given;
    if (size && size < sizeof(*to))
        memcpy((char *)to + size, (const char *)&known + size, sizeof(*to) - size);
    return true;
}

/* The caller, and the shape it wants the answer in. */
struct queue_caller {
    pawl_queue_reply_fn *fn;
    void *arg;
    struct job *job;
    const pawl_queue_sizes *sizes;
};

static pawl_status submit(pawl_client *c, const pawl_queue_request *request,
                          const struct queue_caller *caller, pawl_error *err)
{
    pawl_queue_request room;
    pawl_queue_config config;
    if (!IS_THERE(c && request, "a client and a request", err) ||
        !gate_pass(c, GATE_QUEUE_WRITES, err) ||
        !(request = OPTIONS_OF(&room, request, "pawl_queue_request", err)))
        return err->status;
    if (request->op == PAWL_QUEUE_CONFIGURE && request->config &&
        request->config->size != sizeof(config)) {
        if (!take_config(&config, request->config, err))
            return err->status;
        room = *request;
        room.config = &config;
        request = &room;
    }
    if (!check_request(c->rt, request, err))
        return err->status;
    struct queue_req *req = create(request, caller->sizes);
    if (!req)
        return gate_no_memory(err);
    req->fn = caller->fn;
    req->arg = caller->arg;
    req->job = caller->job;
    pawl_status rc = gate_post(c, &req->item, err);
    if (rc != PAWL_OK)
        free(req);
    return rc;
}

pawl_status pawl_queue_submit(pawl_client *c, const pawl_queue_request *request,
                              pawl_queue_reply_fn *fn, void *arg, pawl_error *reterr)
{
    pawl_error local; /* set where it is read */
    return submit(c, request, &(struct queue_caller){.fn = fn, .arg = arg},
                  reterr ? reterr : &local);
}

static pawl_status submit_fitted(pawl_client *c, const pawl_queue_request *request,
                                 const struct queue_caller *caller, pawl_error *err)
{
    pawl_queue_sizes known;
    if (!fit_sizes(&known, sizeof(known), caller->sizes, "pawl_queue_submit", err))
        return PAWL_MISUSE;
    pawl_mem mem;
    arena_init(&mem);
    struct queue_caller fitted = *caller;
    fitted.sizes = &known;
    const pawl_queue_request *ours = queue_fit_request(&mem, request, known.item, err);
    pawl_status rc = ours ? submit(c, ours, &fitted, err) : err->status;
    arena_deinit(&mem);
    return rc;
}

pawl_status pawl_queue_submit_sized(pawl_client *c, const pawl_queue_request *request,
                                    pawl_queue_reply_fn *fn, void *arg, pawl_error *reterr,
                                    const pawl_queue_sizes *sizes)
{
    if (!request || FIT_IS_OURS(sizes, pawl_queue_sizes_here))
        return pawl_queue_submit(c, request, fn, arg, reterr);
    pawl_error local = {0};
    return submit_fitted(c, request, &(struct queue_caller){.fn = fn, .arg = arg, .sizes = sizes},
                         reterr ? reterr : &local);
}

pawl_status queue_submit_job(pawl_client *c, const pawl_queue_request *request,
                             pawl_queue_reply_fn *fn, struct job *job, pawl_error *reterr)
{
    return submit(c, request, &(struct queue_caller){.fn = fn, .arg = job, .job = job}, reterr);
}
