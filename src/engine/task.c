/* SPDX-License-Identifier: MIT */
/*
 * engine/task.c -- the table of everything the code has started.
 *
 * Ids are 1, 2, 3 … in the order of the calls, so the table is an array: block k
 * holds 8 << k tasks, a task never moves, finding one is a shift.  Open tasks
 * are also on a list in id order, so that ending an execution, matching mail
 * and answering `why` cost what is open, not what has been.
 *
 * Invariants (execution_check): a task is on the open list exactly while its
 * state is OPEN; `order` numbers completions 1 … completion_count; a wait is on
 * its channel's list exactly while it is open.
 *
 * Called by: decide.c (new tasks), replay.c (tables), apply.c, wait.c.
 */
#include "engine/engine_private.h"
#include "pawl/json.h"

#define FIRST_BLOCK 8

static void link_open(execution *x, struct task *t);
static void unlink_open(execution *x, struct task *t);

/* Where task `id` lives: ids 1..8 in block 0, 9..24 in block 1, 25..56 in block 2 … */
static unsigned block_of(uint64_t id, uint64_t *retoffset)
{
    uint64_t n = id - 1 + FIRST_BLOCK;
    unsigned k = 63u - (unsigned)__builtin_clzll(n) - 3u;

    *retoffset = n - ((uint64_t)FIRST_BLOCK << k);
    return k;
}

struct task *task_add(execution *x, int kind, uint64_t rid, int64_t at_ms)
{
    uint64_t id = x->task_count + 1, offset;
    unsigned k = block_of(id, &offset);

    assert_that(k < TASK_BLOCKS);
    if (!x->blocks[k])
        x->blocks[k] = arena_array(&x->mem, struct task, (size_t)FIRST_BLOCK << k);
    struct task *t = &x->blocks[k][offset];
    t->id = id;
    t->kind = (uint8_t)kind;
    t->rid = rid;
    t->at_ms = at_ms;
    t->scope = x->scope;
    t->scope_serial = x->scope->serial;
    x->task_count = id;
    link_open(x, t);
    return t;
}

struct task *task_find(const execution *x, uint64_t id)
{
    uint64_t offset;

    if (id == 0 || id > x->task_count)
        return NULL;
    unsigned k = block_of(id, &offset);
    return &x->blocks[k][offset];
}

void task_close(execution *x, struct task *t, enum task_state state, pawl_str value)
{
    assert_that(t->state == TASK_OPEN && state != TASK_OPEN);
    bool kept = !execution_is_tables(x) || (t->channel && x->spec.code.remote);
    if (kept && t->scope->serial == t->scope_serial)
        t->value = arena_dup(t->scope->mem, value);
    unlink_open(x, t);
    if (t->channel)
        channel_close_wait(t);
    t->state = (uint8_t)state;
    t->order = ++x->completion_count;
}

const char *task_bad(const struct task *t)
{
    if (!t || kind_is_sent(t->kind))
        return "no such task: the handle was not made by this execution";
    if (t->scope->serial != t->scope_serial)
        return "task is out of scope: it was started inside a scope that has ended";
    return NULL;
}

/* Most waits have no attrs. */
static void recall_ask(execution *x, struct task *t, const pawl_event *e)
{
    if (UNLIKELY(e->attrs.len))
        t->child = arena_dup(&x->mem, pawl_json_get(e->attrs, "/ask"));
}

struct task *task_from_event(execution *x, const pawl_event *e)
{
    struct task *t = task_add(x, e->kind, e->rid, e->at_ms);

    if (e->kind == PAWL_EV_EXTERNAL_SUBSCRIBED || e->kind == PAWL_EV_UPDATE_WAITED)
        channel_open_wait(x, t, e->name);
    else if (execution_is_tables(x))
        t->name = arena_dup(&x->mem, e->name);
    if (e->kind == PAWL_EV_EXTERNAL_SUBSCRIBED)
        recall_ask(x, t, e);
    if (e->kind == PAWL_EV_TIMER_CREATED)
        t->fire_at_ms = pawl_json_int(e->attrs, "/fire_at_ms", 0);
    if (e->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED) {
        t->child = pawl_json_text(&x->mem, e->attrs, "/instance", "");
        t->abandon = pawl_json_bool(e->attrs, "/abandon", false);
    }
    if (kind_is_sent(e->kind))
        task_close(x, t, TASK_DONE, (pawl_str){0});
    return t;
}

bool event_is_refused(const pawl_event *e)
{
    return e->attrs.len > 0 && pawl_json_get(e->attrs, "/refused").len > 0;
}

static void link_open(execution *x, struct task *t)
{
    t->open_prev = x->open_tail;
    if (x->open_tail)
        x->open_tail->open_next = t;
    else
        x->open_head = t;
    x->open_tail = t;
    if (x->settling && !x->settle_next)
        x->settle_next = t; /* the walk had reached the end */
}

static void unlink_open(execution *x, struct task *t)
{
    if (x->settle_next == t)
        x->settle_next = t->open_next;
    if (t->open_prev)
        t->open_prev->open_next = t->open_next;
    else
        x->open_head = t->open_next;
    if (t->open_next)
        t->open_next->open_prev = t->open_prev;
    else
        x->open_tail = t->open_prev;
    t->open_prev = t->open_next = NULL;
}
