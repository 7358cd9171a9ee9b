/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/remove.c -- take instances out of the store, trees at a time. [engine]
 *
 * Removing is one commit: the ids are free at once, and the rows are deleted a few at a time
 * when there is nothing else to do.  Trees over TREE_MAX are removed in pieces (felling.h).  A
 * parent that still waits for a removed child is told.
 */
#include "runtime/request/remove.h"

#include "base/limits.h"
#include "runtime/core/doubt.h"
#include "runtime/core/due.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/asked.h"
#include "runtime/instance/load.h"
#include "runtime/instance/published.h"
#include "runtime/request/felling.h"
#include "runtime/schedule/schedule_mail.h"
#include "store/store.h"

#define TREE_MAX       2000 /* instances removed by one commit */
#define PURGE_ROWS     500
#define PURGE_RETRY_MS 1000

struct tree {
    LIST(pawl_row) rows; /* parents before children */
    pawl_status trouble;
    pawl_error err;
};

/* Add the direct children of `uid` to the tree. */
static void add_children(pawl_runtime *rt, struct tree *t, uint64_t uid)
{
    pawl_row_query query = {.parent_uid = uid, .limit = 1000};
    pawl_row_list list;
    do {
        t->trouble = store_list(rt->store, &query, &rt->group_mem, &list, &t->err);
        if (t->trouble != PAWL_OK)
            return;
        for (size_t i = 0; i < list.count; i++)
            *list_add(&rt->group_mem, &t->rows) = list.items[i];
        query.before_uid = list.next_uid;
    } while (list.next_uid && t->rows.count <= TREE_MAX);
}

static void collect(pawl_runtime *rt, struct tree *t, const pawl_row *root)
{
    *list_add(&rt->group_mem, &t->rows) = *root;
    for (size_t i = 0; i < t->rows.count && t->trouble == PAWL_OK && t->rows.count <= TREE_MAX; i++)
        add_children(rt, t, t->rows.items[i].uid);
    if (t->rows.count > TREE_MAX && t->trouble == PAWL_OK)
        t->trouble = PAWL_LIMIT;
}

/* The first of the tree that still runs; NULL: all have ended. */
static const pawl_row *first_open(const struct tree *t)
{
    for (size_t i = 0; i < t->rows.count; i++)
        if (!pawl_state_is_terminal(t->rows.items[i].state))
            return &t->rows.items[i];
    return NULL;
}

/* The rows that are removed together with an instance's row. */
struct leaving {
    struct resident *r;
    LIST(uint64_t) work; /* of an open instance; running activities are told */
    pawl_object_list published, asks;
};

/* Read everything before anything is staged.  False: a read failed. */
static bool look_at_leaving(pawl_runtime *rt, const pawl_row *row, struct leaving *ret)
{
    if (load_row(rt, row->uid, (pawl_str){0}, &ret->r) != LOAD_OK || ret->r->stage ||
        !published_look(rt, row->uid, &ret->published) || !asks_look(rt, row->uid, &ret->asks))
        return false;
    if (pawl_state_is_terminal(row->state))
        return true;
    execution *x = load_tables(rt, &ret->r->row);
    if (!x)
        return false;
    struct open_task task;
    for (uint64_t cursor = 0; execution_next_open(x, &cursor, &task);)
        if (task.kind == PAWL_EV_ACTIVITY_SCHEDULED)
            *list_add(&rt->group_mem, &ret->work) = task.rid;
    execution_destroy(x);
    return true;
}

/* Tell a parent outside the tree that waits for this child. */
static void tell_parent(pawl_runtime *rt, struct stage *s, const pawl_row *row)
{
    if (!row->parent_uid || pawl_state_is_terminal(row->state))
        return;
    pawl_message *m = stage_send(rt, s, PAWL_MSG_CHILD_FAILED, row->parent_uid, (pawl_str){0});
    m->shard = row->shard;
    m->execution = row->parent_execution;
    m->ref = row->parent_ref;
    m->data = pawl_s("the child was removed");
    m->attrs = pawl_s("{\"kind\":\"cancelled\"}");
}

static void stage_leaving(pawl_runtime *rt, const struct leaving *leaving, bool root)
{
    struct stage *s = stage_of(rt, leaving->r);
    s->change = PAWL_ROW_REMOVE;
    s->removed = true;
    for (size_t k = 0; k < leaving->work.count; k++)
        *list_add(&rt->group_mem, &s->drop_work) = leaving->work.items[k];
    published_remove(rt, s, &leaving->published);
    asks_remove(rt, s, &leaving->asks);
    if (root)
        tell_parent(rt, s, &leaving->r->row);
    if (!pawl_state_is_terminal(leaving->r->row.state))
        schedule_run_ended(rt, s, leaving->r->row.id, "removed");
}

bool remove_one(pawl_runtime *rt, const pawl_row *row, bool root)
{
    struct leaving leaving = {0};
    if (!look_at_leaving(rt, row, &leaving))
        return false;
    stage_leaving(rt, &leaving, root);
    due_purge(rt);
    return true;
}

/* Stage the removal of the whole tree, or nothing.  False: a read failed, or an instance of the
 * tree is busy in this group. */
static bool remove_tree(pawl_runtime *rt, const struct tree *t)
{
    struct leaving *leaving = arena_array(&rt->group_mem, struct leaving, t->rows.count);
    for (size_t i = 0; i < t->rows.count; i++)
        if (!look_at_leaving(rt, &t->rows.items[i], &leaving[i]))
            return false;
    /* Children first: of a store whose rounds are no group, what is left is still a tree. */
    for (size_t i = t->rows.count; i-- > 0;)
        stage_leaving(rt, &leaving[i], i == 0);
    return true;
}

/* Is a child of the tree being made in this group? */
static bool any_child_made(const pawl_runtime *rt, const struct tree *t)
{
    for (const struct stage *s = stage_first(rt); s; s = s->next)
        for (size_t i = 0; s->change == PAWL_ROW_INSERT && i < t->rows.count; i++)
            if (s->row.parent_uid == t->rows.items[i].uid)
                return true;
    return false;
}

/* Is any instance of the tree staged already?  Then the request waits for the next group. */
static bool any_staged(pawl_runtime *rt, const struct tree *t)
{
    if (any_child_made(rt, t))
        return true;
    for (size_t i = 0; i < t->rows.count; i++) {
        struct resident *r = resident_by_uid(rt, t->rows.items[i].uid);
        if (r && r->stage)
            return true;
    }
    return false;
}

static void count_tree(const struct tree *t, pawl_reply *reply)
{
    reply->instances += t->rows.count;
    for (size_t i = 0; i < t->rows.count; i++) {
        reply->executions += t->rows.items[i].execution;
        reply->events += t->rows.items[i].last_seq;
    }
}

/* Answer after the commit, with the counts. */
void remove_answer(pawl_runtime *rt, struct letter *call, const pawl_reply *reply)
{
    struct stage *s = stage_bare(rt);
    s->reply = arena_new(&rt->group_mem, pawl_reply);
    *s->reply = *reply;
    stage_answer(s, call);
    due_purge(rt);
}

enum verdict_kind remove_handle(pawl_runtime *rt, struct letter *call)
{
    enum verdict_kind verdict;
    struct resident *r = load_for_call(rt, call, &verdict);
    if (!r)
        return verdict;
    struct tree tree = {0};
    pawl_row root = r->row;
    root.id = arena_dup(&rt->group_mem, root.id);
    collect(rt, &tree, &root);
    const pawl_row *open = first_open(&tree);
    if (tree.trouble != PAWL_OK && tree.trouble != PAWL_LIMIT) {
        request_refuse(call, tree.trouble, "%s", tree.err.text);
    } else if (open && !call->ask.force) {
        request_refuse(call, PAWL_CONFLICT,
                       "instance '%.*s' is %s; cancel it first, or force it (--force, ?force=true)",
                       PAWL_FMT(open->id), pawl_state_name(open->state));
    } else if (tree.trouble == PAWL_LIMIT && felling_is(rt, root.uid)) {
        request_refuse(call, PAWL_CONFLICT, "instance '%.*s' is being removed",
                       PAWL_FMT(call->instance));
    } else if (tree.trouble == PAWL_LIMIT) {
        felling_begin(rt, &root, call, call->ask.force, &(pawl_reply){.status = PAWL_OK});
    } else if (any_staged(rt, &tree)) {
        return VERDICT_FIRST;
    } else if (!remove_tree(rt, &tree)) {
        request_refuse(call, PAWL_UNAVAILABLE, "the store did not answer; try again");
    } else {
        pawl_reply reply = {.status = PAWL_OK};
        count_tree(&tree, &reply);
        remove_answer(rt, call, &reply);
    }
    return VERDICT_DONE;
}

/* ---- Prune ------------------------------------------------------------------------ */

/* Remove a finished root with its finished tree; false: not now. */
static bool prune_root(pawl_runtime *rt, const pawl_row *row, pawl_reply *reply)
{
    struct tree tree = {0};
    collect(rt, &tree, row);
    if (tree.trouble == PAWL_LIMIT && !first_open(&tree) && !felling_any(rt))
        felling_begin(rt, row, NULL, false, &(pawl_reply){.status = PAWL_OK}); /* one at a time */
    if (tree.trouble != PAWL_OK || first_open(&tree) || any_staged(rt, &tree) ||
        !remove_tree(rt, &tree))
        return false;
    count_tree(&tree, reply);
    return true;
}

pawl_status prune_page(pawl_runtime *rt, int64_t before_ms, uint32_t limit, uint64_t *cursor,
                       pawl_reply *reply, bool *retfound, pawl_error *err)
{
    pawl_row_query query = {.ended_before_ms = before_ms, .limit = limit, .before_uid = *cursor};
    pawl_row_list list = {0};
    uint64_t had = reply->instances;
    pawl_mem page;
    arena_init(&page);
    pawl_status rc = store_list(rt->store, &query, &page, &list, err);
    for (size_t i = 0; rc == PAWL_OK && i < list.count && reply->instances - had < limit; i++) {
        const pawl_row *row = &list.items[i];
        if (row->parent_uid || !pawl_state_is_terminal(row->state))
            continue;
        *retfound = true;
        (void)prune_root(rt, row, reply);
    }
    *cursor = rc == PAWL_OK ? list.next_uid : *cursor;
    arena_deinit(&page);
    return rc;
}

/* Finished roots, page by page from the newest; a page may have none. */
static pawl_status prune_roots(pawl_runtime *rt, int64_t before_ms, uint32_t limit,
                               pawl_reply *reply, pawl_error *err)
{
    uint64_t cursor = 0;
    bool found;
    pawl_status rc;
    do
        rc = prune_page(rt, before_ms, limit - (uint32_t)reply->instances, &cursor, reply, &found,
                        err);
    while (rc == PAWL_OK && cursor && reply->instances < limit);
    return rc;
}

/* Was this execution closed before that time?  One that no longer exists was. */
static pawl_status was_closed(pawl_runtime *rt, uint64_t uid, uint64_t number, int64_t before_ms,
                              bool *ret, pawl_error *err)
{
    pawl_row closed;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_find_execution(rt->store, uid, number, &rt->load_mem, &closed, err);
    *ret = rc == PAWL_NOT_FOUND || (rc == PAWL_OK && closed.updated_ms < before_ms);
    return rc == PAWL_NOT_FOUND ? PAWL_OK : rc;
}

/* The first execution that is open or was closed at that time or later.  They close in order. */
static pawl_status first_kept(pawl_runtime *rt, const pawl_row *row, int64_t before_ms,
                              uint64_t *ret, pawl_error *err)
{
    uint64_t low = 1, high = row->execution;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        bool closed = false;
        pawl_status rc = was_closed(rt, row->uid, middle, before_ms, &closed, err);
        if (rc != PAWL_OK)
            return rc;
        if (closed)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return PAWL_OK;
}

static pawl_status prune_closed(pawl_runtime *rt, const pawl_row *row, int64_t before_ms,
                                pawl_reply *reply, pawl_error *err)
{
    uint64_t kept = 0, n = 0;
    pawl_status rc = first_kept(rt, row, before_ms, &kept, err);
    if (rc == PAWL_OK && doubt_is(rt)) {
        error_set(err, PAWL_UNAVAILABLE, "an earlier commit may have happened or not; try again");
        return PAWL_UNAVAILABLE;
    }
    if (rc == PAWL_OK && kept > 1)
        rc = store_prune_executions(rt->store, &rt->fence, row->uid, kept, &n, err);
    if (rc == PAWL_OK)
        reply->executions += n;
    if (rc == PAWL_UNKNOWN) {
        doubt_begin(rt, NULL, 0, err);
        return PAWL_UNAVAILABLE; /* the same call, made again, prunes the rest */
    }
    return rc;
}

/* Prune the executions closed before that time, of up to `limit` instances that still run; stop at
 * the first failure. */
static pawl_status prune_executions(pawl_runtime *rt, int64_t before_ms, uint32_t limit,
                                    pawl_reply *reply, pawl_error *err)
{
    pawl_row_query query = {.state = PAWL_RUNNING + 1, .limit = limit};
    pawl_row_list list;
    pawl_status rc = PAWL_OK;
    pawl_mem page;
    arena_init(&page);
    for (uint32_t looked = 0; looked < limit && rc == PAWL_OK;) {
        arena_reset(&page);
        rc = store_list(rt->store, &query, &page, &list, err);
        for (size_t i = 0; rc == PAWL_OK && i < list.count && looked < limit; i++) {
            if (list.items[i].execution < 2)
                continue;
            looked++;
            rc = prune_closed(rt, &list.items[i], before_ms, reply, err);
        }
        if (rc != PAWL_OK || !list.next_uid)
            break;
        query.before_uid = list.next_uid;
    }
    arena_deinit(&page);
    return rc;
}

/* After a failure the caller is told what was pruned before it; if nothing was, the failure is the
 * answer. */
void prune_handle(pawl_runtime *rt, struct letter *call)
{
    uint32_t limit = call->ask.limit ? call->ask.limit : 1000;
    pawl_reply reply = {.status = PAWL_OK};
    pawl_error err = {0};
    bool busy = felling_any(rt);
    pawl_status rc = prune_roots(rt, call->ask.before_ms, limit, &reply, &err);
    if (rc == PAWL_OK)
        rc = prune_executions(rt, call->ask.before_ms, limit, &reply, &err);
    if (rc == PAWL_FENCED)
        health_stop_dead(rt, rc, err.text);
    if (rc != PAWL_OK && !reply.instances && !reply.executions) {
        request_refuse(call, rc, "%s", err.text);
        return;
    }
    if (busy || !felling_answers(rt, call, &reply))
        remove_answer(rt, call, &reply);
}

void remove_purge(pawl_runtime *rt)
{
    pawl_error err = {0};
    bool left = false;
    pawl_status rc = store_purge(rt->store, &rt->fence, PURGE_ROWS, &left, &err);
    if (rc == PAWL_UNKNOWN) {
        doubt_begin(rt, NULL, 0, &err);
        return; /* the next purge finds the rest */
    }
    if (rc == PAWL_FENCED) {
        health_stop_dead(rt, rc, err.text);
        return;
    }
    if (rc == PAWL_NOT_FOUND) {
        health_gone(rt, err.text);
        return;
    }
    if (rc != PAWL_OK) {
        rt->due.purge_at_ms = rt_mono(rt) + PURGE_RETRY_MS;
        return;
    }
    rt->due.purge_left = left;
}
