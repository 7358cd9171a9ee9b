/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue/queue_batch.c -- purge, redrive and delete: a bounded piece at a time. [engine]
 *
 * Each piece reads entries from the store, so the queue must be clean: when this group has
 * changed it, the request waits for the next group.  A long purge is many commits with other
 * requests in between, and is answered after the last.
 */
#include "runtime/queue/queue_batch.h"

#include "base/limits.h"
#include "runtime/core/owed.h"
#include "runtime/queue/queue_answer.h"
#include "runtime/queue/queue_cache.h"
#include "store/store_queue.h"

#define PIECE 500

/* Rows for the next piece; false: put off, or refused. */
static bool read_piece(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req,
                       const pawl_entry_query *query, pawl_entry_list *ret)
{
    pawl_error err = {0};
    arena_reset(&rt->load_mem);
    pawl_status rc = store_query_entries(rt->store, query, &rt->load_mem, ret, &err);
    if (rc == PAWL_OK)
        return true;
    queue_unread(rt, s, req, queue_read_failed(rt, s, &err));
    return false;
}

static void answer_count(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    req->reply->count = req->at.moved;
    queue_answer(rt, s, req);
}

/* A piece was done, and there may be more. */
static void go_on(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    owed_renew(rt, &req->item);
    queue_put_off(rt, s, req);
}

/* ---- Purge -------------------------------------------------------------------- */

/* Ready entries first, then delayed ones; true: there may be more. */
static bool purge_piece(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req,
                        const pawl_entry_list *list)
{
    bool by_priority = req->args.has_priority;
    size_t i = 0;
    for (; i < list->count; i++) {
        if (by_priority && list->items[i].priority != req->args.priority)
            continue;
        queue_purge(&rt->queue_cache->group, s->q, &list->items[i]);
        req->at.moved++;
    }
    return list->more;
}

/* A piece is done with the commit of this group, or not at all. */
static void begin_piece(pawl_runtime *rt, struct queue_req *req)
{
    req->was = req->at;
    req->was_group = rt->fence.group_no;
    req->begun = true;
}

void queue_piece_undone(const pawl_runtime *rt, struct queue_req *req)
{
    if (req->begun && req->was_group == rt->fence.group_no)
        req->at = req->was;
    req->begun = false;
}

void queue_do_purge(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    if (s->q->dirty) {
        queue_put_off(rt, s, req);
        return;
    }
    begin_piece(rt, req);
    bool by_priority = req->args.has_priority;
    pawl_entry_list list;
    pawl_entry_query ready = {.qid = s->q->row.qid,
                              .order = PAWL_ENTRIES_READY,
                              .priority = by_priority ? req->args.priority : req->at.priority,
                              .place = req->at.place,
                              .limit = PIECE,
                              .heads = true};
    if (!read_piece(rt, s, req, &ready, &list))
        return;
    bool others = list.count && by_priority && list.items[0].priority != req->args.priority;
    if (list.count && !others) {
        req->at.priority = list.items[list.count - 1].priority;
        req->at.place = list.items[list.count - 1].place + 1;
        (void)purge_piece(rt, s, req, &list);
        go_on(rt, s, req); /* look again after the commit */
        return;
    }
    if (req->at.place) { /* once more from the front: entries may have come back */
        req->at.priority = 0;
        req->at.place = 0;
        queue_put_off(rt, s, req);
        return;
    }
    pawl_entry_query delayed = {.qid = s->q->row.qid,
                                .order = by_priority ? PAWL_ENTRIES_BY_ID : PAWL_ENTRIES_DELAYED,
                                .has_priority = by_priority,
                                .priority = req->args.priority,
                                .state = PAWL_QUEUE_DELAYED + 1,
                                .after = req->at.planned,
                                .limit = PIECE,
                                .heads = true};
    if (!read_piece(rt, s, req, &delayed, &list))
        return;
    bool more = purge_piece(rt, s, req, &list);
    req->at.planned = list.last_id;
    if (more)
        go_on(rt, s, req);
    else
        answer_count(rt, s, req);
}

/* ---- Redrive -------------------------------------------------------------------- */

/* The queue an entry goes to; *ret is NULL when the caller named none and the entry came from none. */
static pawl_status target_of(pawl_runtime *rt, const struct cached_queue *s,
                             const struct queue_req *req, const pawl_queue_entry *e,
                             struct cached_queue **ret)
{
    *ret = NULL;
    if (req->args.target)
        return cached_open(rt, pawl_s(req->args.target), ret);
    pawl_str source = pawl_json_text(&rt->group_mem, e->note, "/source", "");
    if (!source.len || pawl_str_eq(source, s->name))
        return PAWL_OK;
    return cached_open(rt, source, ret);
}

/* Copy the entries: opening a target uses the memory they are in. */
static pawl_queue_entry *copy_rows(pawl_runtime *rt, const pawl_entry_list *list)
{
    pawl_queue_entry *rows = arena_array(&rt->group_mem, pawl_queue_entry, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        rows[i] = list->items[i];
        rows[i].note = arena_dup(&rt->group_mem, rows[i].note);
        rows[i].data = rows[i].attrs = (pawl_str){0};
    }
    return rows;
}

/* Entries that do not fit into the target stay, and the answer counts them. */
static void answer_moved(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    if (req->at.stayed)
        req->reply->warning = pawl_mem_printf(
            &rt->group_mem, "%llu dead letters stay: where they go is full (max_length, max_bytes)",
            (unsigned long long)req->at.stayed);
    answer_count(rt, s, req);
}

void queue_do_redrive(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    if (s->q->dirty) {
        queue_put_off(rt, s, req);
        return;
    }
    begin_piece(rt, req);
    if (!req->at.planned) /* entries that come in later are not moved */
        req->at.planned =
            req->args.max && req->args.max < s->q->row.ready ? req->args.max : s->q->row.ready;
    uint64_t left = req->at.planned - req->at.moved;
    pawl_entry_list list = {0};
    pawl_entry_query query = {.qid = s->q->row.qid,
                              .order = PAWL_ENTRIES_READY,
                              .priority = req->at.priority,
                              .place = req->at.place,
                              .limit = left < PIECE ? (uint32_t)left : PIECE,
                              .heads = true};
    if (left && !read_piece(rt, s, req, &query, &list))
        return;
    pawl_queue_entry *rows = copy_rows(rt, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct cached_queue *to;
        pawl_status why = target_of(rt, s, req, &rows[i], &to);
        if (why != PAWL_OK) {
            queue_unread(rt, s, req, why); /* goes on from here */
            return;
        }
        req->at.priority = rows[i].priority;
        req->at.place = rows[i].place + 1;
        if (!to || to == s)
            continue; /* it stays */
        if (queue_limit(to->q, 1, rows[i].bytes)) {
            req->at.stayed++;
            continue;
        }
        if (req->args.rate_per_second) {
            int64_t from = req->at.visible_ms > rt->now_ms ? req->at.visible_ms : rt->now_ms;
            req->at.visible_ms =
                from + (1000 + req->args.rate_per_second - 1) / (int64_t)req->args.rate_per_second;
        }
        queue_redrive(&rt->queue_cache->group, s->q, &rows[i], to->q, req->at.visible_ms);
        req->at.moved++;
    }
    if (list.count && req->at.moved < req->at.planned)
        go_on(rt, s, req);
    else
        answer_moved(rt, s, req);
}

/* ---- Delete ---------------------------------------------------------------------- */

void queue_do_delete(pawl_runtime *rt, struct cached_queue *s, struct queue_req *req)
{
    pawl_entry_list list;
    pawl_error err = {0};
    if (s->q->dirty) {
        queue_put_off(rt, s, req);
        return;
    }
    pawl_status rc =
        store_read_entries(rt->store, &req->args.message, 1, false, &rt->group_mem, &list, &err);
    if (rc != PAWL_OK) {
        queue_unread(rt, s, req, queue_read_failed(rt, s, &err));
        return;
    }
    const pawl_queue_entry *e = list.items;
    if (!list.count || e->qid != s->q->row.qid) {
        queue_refuse(req, PAWL_NOT_FOUND, "No such message in this queue");
        return;
    }
    if (e->state == PAWL_QUEUE_LOCKED) {
        queue_refuse(req, PAWL_CONFLICT, "Message is locked pending acknowledgement");
        return;
    }
    queue_purge(&rt->queue_cache->group, s->q, e);
    pawl_queue_message *m = arena_new(&rt->group_mem, pawl_queue_message);
    *m = (pawl_queue_message){.id = e->id,
                              .data = e->data,
                              .priority = e->priority,
                              .delivery_count = e->deliveries,
                              .enqueued_ms = e->enqueued_ms};
    req->reply->messages = m;
    req->reply->message_count = req->reply->count = 1;
    queue_answer(rt, s, req);
}
