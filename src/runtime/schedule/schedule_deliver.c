/* SPDX-License-Identifier: MIT */
/*
 * runtime/schedule/schedule_deliver.c -- see the header.
 *
 * One round drops the message, starts what is due, writes the schedule and inserts the row of its
 * next occurrence.  So a crash at any point starts no occurrence twice and loses none.  A message
 * that is older than the schedule's state changes nothing: the state and the clock say what is due.
 */
#include "runtime/schedule/schedule_deliver.h"

#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/core/timers.h"
#include "runtime/schedule/schedule_hand.h"

#define ZONE_AGAIN_MS 10000

/* Discard the stage and give the letter back to the loop. */
static struct delivered give_up(pawl_runtime *rt, struct stage *s, struct letter *l,
                                pawl_status why)
{
    struct letter *none = stage_abort(rt, s);
    assert_that(!none);
    return verdict_on(l, why == PAWL_CORRUPT ? VERDICT_DAMAGED : VERDICT_UNREAD);
}

/* The zone file cannot be opened now.  The store is well, so only this schedule waits. */
static struct delivered wait_for_zone(pawl_runtime *rt, struct stage *s, struct letter *l,
                                      const pawl_error *why)
{
    log_warn(&rt->log, "schedule", "a zone cannot be read; trying again",
             "schedule=%.*s why=\"%s\"", PAWL_FMT(l->mail.name), why->text);
    (void)stage_abort(rt, s);
    timers_put_letter(rt, l, rt->now_ms + ZONE_AGAIN_MS);
    return verdict_done();
}

struct delivered schedule_deliver(pawl_runtime *rt, struct letter *l)
{
    struct schedule_hand h;
    pawl_error err;
    if (hand_is_busy(rt, l->mail.name))
        return verdict_on(l, VERDICT_LATER);
    pawl_status rc = hand_take(rt, l->mail.name, &h, &err);
    if (rc != PAWL_OK && rc != PAWL_NOT_FOUND)
        return verdict_on(l, rc == PAWL_CORRUPT ? VERDICT_DAMAGED : VERDICT_UNREAD);
    struct stage *s = stage_bare(rt);
    bool there = rc == PAWL_OK;
    if (there)
        rc = hand_plan(rt, &h, s, &err);
    if (there && rc != PAWL_OK)
        return wait_for_zone(rt, s, l, &err);
    if (there && l->mail.data.len)
        look_ended(&h.look, l->mail.data,
                   pawl_json_text(&rt->group_mem, l->mail.attrs, "/ended", ""));
    if (there)
        rc = hand_look(rt, &h, &err);
    if (there && rc != PAWL_OK)
        return give_up(rt, s, l, rc);
    if (there && h.state.row == l->mail.id)
        h.state.row = 0; /* this round drops it */
    if (there)
        hand_put(rt, s, &h);
    if (l->stored)
        stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l);
    return verdict_done();
}
