/* SPDX-License-Identifier: MIT */
/*
 * runtime/remove.c -- take instances out of the store, trees at a time. [engine]
 *
 * Removing is one commit: the ids are free at once, the rows go a few at a time
 * when there is nothing else to do.  A child whose parent still waits is not
 * removed alone without telling the parent.
 */
#include "runtime/group.h"
#include "runtime/letter.h"
#include "runtime/loop.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "store/store.h"

#include <stdio.h>

#define TREE_MAX       10000 /* instances removed by one call */
#define PURGE_ROWS     500
#define PURGE_RETRY_MS 1000

struct tree {
    LIST(pawl_row) rows; /* parents before children */
    pawl_status trouble;
    pawl_error err;
};

/* Direct children of `uid` join the tree. */
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
    if (t->rows.count > TREE_MAX && t->trouble == PAWL_OK) {
        t->trouble = PAWL_LIMIT;
        (void)snprintf(t->err.text, sizeof(t->err.text),
                       "'%.*s' has more than %d descendants; remove some of them first",
                       PAWL_FMT(root->id), TREE_MAX);
    }
}

/* The first of the tree that still runs; NULL: all have ended. */
static const pawl_row *first_open(const struct tree *t)
{
    for (size_t i = 0; i < t->rows.count; i++)
        if (!pawl_state_is_terminal(t->rows.items[i].state))
            return &t->rows.items[i];
    return NULL;
}

/* What is removed with its row. */
struct leaving {
    struct resident *r;
    LIST(uint64_t) work; /* of an open instance; running activities are told */
};

/* Everything that has to be read, before anything is staged; false: trouble. */
static bool look_at_leaving(pawl_runtime *rt, const pawl_row *row, struct leaving *ret)
{
    if (load_row(rt, row->uid, (pawl_str){0}, &ret->r) != LOAD_OK || ret->r->stage)
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

/* A parent outside the tree that waits for this child hears of it. */
static void tell_parent(pawl_runtime *rt, struct stage *s, const pawl_row *row)
{
    if (!row->parent_uid || pawl_state_is_terminal(row->state))
        return;
    pawl_message *m = stage_send(rt, s, PAWL_MSG_CHILD_FAILED, row->parent_uid, (pawl_str){0});
    m->execution = row->parent_execution;
    m->ref = row->parent_ref;
    m->data = pawl_s("the child was removed");
}

/* Stage the removal of the tree, all of it or nothing; false: trouble, or one of
 * them is busy in this group. */
static bool remove_tree(pawl_runtime *rt, const struct tree *t)
{
    struct leaving *leaving = arena_array(&rt->group_mem, struct leaving, t->rows.count);
    for (size_t i = 0; i < t->rows.count; i++)
        if (!look_at_leaving(rt, &t->rows.items[i], &leaving[i]))
            return false;
    for (size_t i = 0; i < t->rows.count; i++) {
        struct stage *s = stage_of(rt, leaving[i].r);
        s->change = PAWL_ROW_REMOVE;
        s->removed = true;
        for (size_t k = 0; k < leaving[i].work.count; k++)
            *list_add(&rt->group_mem, &s->drop_work) = leaving[i].work.items[k];
        if (i == 0)
            tell_parent(rt, s, &t->rows.items[i]);
    }
    return true;
}

/* Is a child of theirs being made in this very group? */
static bool any_child_made(const pawl_runtime *rt, const struct tree *t)
{
    for (const struct stage *s = rt->stages; s; s = s->next)
        for (size_t i = 0; s->change == PAWL_ROW_INSERT && i < t->rows.count; i++)
            if (s->row.parent_uid == t->rows.items[i].uid)
                return true;
    return false;
}

/* Is any of them staged already?  Then the request waits for the next group. */
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

/* Answered with the commit, with counts. */
static void answer_counts(pawl_runtime *rt, struct request *req, const pawl_reply *reply)
{
    struct stage *s = stage_bare(rt);
    s->reply = arena_new(&rt->group_mem, pawl_reply);
    *s->reply = *reply;
    stage_answer(s, req);
    rt->purge_left = true;
}

void remove_handle(pawl_runtime *rt, struct request *req)
{
    struct resident *r = NULL;
    enum load_result found = load_row(rt, 0, pawl_s(req->args.instance), &r);
    if (found == LOAD_NONE) {
        request_refuse(req, PAWL_NOT_FOUND, "instance '%s' does not exist", req->args.instance);
        return;
    }
    if (found != LOAD_OK) {
        request_refuse(req, PAWL_UNAVAILABLE, "instance '%s' could not be read; try again",
                       req->args.instance);
        return;
    }
    if (r->stage) {
        request_put_off(rt, req);
        return;
    }
    struct tree tree = {0};
    pawl_row root = r->row;
    root.id = arena_dup(&rt->group_mem, root.id);
    collect(rt, &tree, &root);
    const pawl_row *open = first_open(&tree);
    if (tree.trouble != PAWL_OK) {
        request_refuse(req, tree.trouble, "%s", tree.err.text);
    } else if (open && !req->args.force) {
        request_refuse(req, PAWL_CONFLICT,
                       "instance '%.*s' is %s; cancel it first, or force it (--force, ?force=true)",
                       PAWL_FMT(open->id), pawl_state_name(open->state));
    } else if (any_staged(rt, &tree)) {
        request_put_off(rt, req);
    } else if (!remove_tree(rt, &tree)) {
        request_refuse(req, PAWL_UNAVAILABLE, "the store did not answer; try again");
    } else {
        pawl_reply reply = {.status = PAWL_OK};
        count_tree(&tree, &reply);
        answer_counts(rt, req, &reply);
    }
}

/* ---- Prune ------------------------------------------------------------------------ */

/* Remove a finished root with its finished tree; false: not now. */
static bool prune_root(pawl_runtime *rt, const pawl_row *row, pawl_reply *reply)
{
    struct tree tree = {0};
    collect(rt, &tree, row);
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

/* Finished roots, page by page from the newest: what is not one may fill whole pages. */
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

/* Closed executions of up to `limit` instances that run on. */
static void prune_executions(pawl_runtime *rt, uint32_t limit, pawl_reply *reply)
{
    pawl_row_query query = {.state = PAWL_RUNNING + 1, .limit = limit};
    pawl_row_list list;
    pawl_error err;
    pawl_mem page;
    arena_init(&page);
    for (uint32_t looked = 0; looked < limit;) {
        arena_reset(&page);
        if (store_list(rt->store, &query, &page, &list, &err) != PAWL_OK)
            break;
        for (size_t i = 0; i < list.count && looked < limit; i++) {
            uint64_t n = 0;
            if (list.items[i].execution < 2)
                continue;
            looked++;
            if (store_prune_executions(rt->store, &rt->fence, list.items[i].uid,
                                       list.items[i].execution, &n, &err) == PAWL_OK)
                reply->executions += n;
        }
        query.before_uid = list.next_uid;
        if (!list.next_uid)
            break;
    }
    arena_deinit(&page);
}

void prune_handle(pawl_runtime *rt, struct request *req)
{
    uint32_t limit = req->args.limit ? req->args.limit : 1000;
    pawl_reply reply = {.status = PAWL_OK};
    pawl_error err = {0};
    pawl_status rc = prune_roots(rt, req->args.before_ms, limit, &reply, &err);
    if (rc != PAWL_OK && !reply.instances) {
        request_refuse(req, rc, "%s", err.text);
        return;
    }
    prune_executions(rt, limit, &reply);
    answer_counts(rt, req, &reply);
}

void remove_purge(pawl_runtime *rt)
{
    pawl_error err = {0};
    bool left = false;
    pawl_status rc = store_purge(rt->store, &rt->fence, PURGE_ROWS, &left, &err);
    if (rc == PAWL_FENCED || rc == PAWL_UNKNOWN) {
        group_stop_dead(rt, rc, err.text);
        return;
    }
    if (rc != PAWL_OK) {
        rt->purge_at_ms = rt_mono(rt) + PURGE_RETRY_MS;
        return;
    }
    rt->purge_left = left;
}
