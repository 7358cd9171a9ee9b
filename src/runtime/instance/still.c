/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/still.c -- suspend and resume what cannot run now. [engine]
 *
 * An instance that is blocked, or whose code is not here, has a history: the event is appended to
 * it by the tables alone, so that the suspension holds from its answer on, whatever is repaired later.
 * One that has not begun has no history yet: its row says it, and its start waits.
 *
 * Called by turn.c.
 */
#include "runtime/instance/still.h"

#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/instance/load.h"
#include "runtime/instance/park.h"

#include <stdio.h>

static struct delivered refuse(pawl_runtime *rt, const struct resident *r, struct letter *l,
                               const char *why)
{
    char text[500];
    (void)snprintf(text, sizeof(text), "instance '%.*s' %s", PAWL_FMT(r->row.id), why);
    if (l->stored) {
        struct stage *s = stage_bare(rt);
        stage_drop_message(rt, s, l->mail.id);
        stage_take(s, l);
    } else {
        letter_drop(rt, l, PAWL_CONFLICT, text);
    }
    return verdict_done();
}

static struct delivered consume(pawl_runtime *rt, struct stage *s, struct letter *l)
{
    if (l->stored)
        stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l);
    s->unpile = true; /* what else came waits for this commit, and is looked at again */
    return verdict_done();
}

static struct delivered steer_row(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct stage *s = stage_of(rt, r);
    s->row.state = l->mail.kind == PAWL_MSG_SUSPEND ? PAWL_SUSPENDED : PAWL_PENDING;
    stage_row_changed(s);
    return consume(rt, s, l);
}

static struct delivered steer_history(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct engine_finding finding = {0};
    enum engine_fate fate = FATE_IGNORED;
    execution *x = load_tables(rt, &r->row);
    if (!x)
        return turn_again(rt, r, l);
    if (execution_last_seq(x) < r->row.last_seq) {
        execution_destroy(x);
        return refuse(rt, r, l, "has a damaged history; run pawl doctor, restore a backup");
    }
    struct stage *s = stage_of(rt, r);
    enum engine_outcome outcome =
        execution_apply(x, &l->mail, rt->now_ms, &s->turn, &fate, &finding);
    bool suspended = execution_suspended(x);
    execution_destroy(x);
    if (outcome != ENGINE_WAITING || fate != FATE_APPLIED) {
        (void)stage_abort(rt, s);
        return refuse(rt, r, l,
                      outcome == ENGINE_LIMIT ? "is at the limit of its history; terminate it"
                      : fate == FATE_IGNORED && outcome == ENGINE_WAITING
                          ? "is suspended already; retry it first"
                          : "has just continued as new; try again");
    }
    if (s->row.state != PAWL_BLOCKED) /* else retry finds the event */
        s->row.state = suspended ? PAWL_SUSPENDED : PAWL_RUNNING;
    stage_row_changed(s);
    return consume(rt, s, l);
}

struct delivered turn_still(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    if (r->stage)
        return verdict_on(l, VERDICT_LATER);
    return r->row.last_seq ? steer_history(rt, r, l) : steer_row(rt, r, l);
}
