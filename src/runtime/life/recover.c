/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/recover.c -- after opening: blame, resume, remember. [engine]
 *
 * Resuming needs no scan of instances: everything in flight is in the store as messages
 * and work, and take() unlocked it.  After an unclean end the crash count of each item in
 * the slot file grows by one, durably, before anything runs, and the item runs unfused.
 * Other items are not touched.
 */
#include "runtime/life/recover.h"

#include "runtime/core/due.h"
#include "runtime/core/peek.h"
#include "runtime/core/slots.h"
#include "runtime/core/stage.h"
#include "runtime/core/tray.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/asked.h"
#include "runtime/instance/published.h"
#include "runtime/instance/seal.h"
#include "runtime/schedule/schedule_zones.h"
#include "runtime/work/details.h"
#include "runtime/work/jobs.h"
#include "store/store.h"

static bool suspect(pawl_runtime *rt, uint64_t id)
{
    jobs_suspect(rt, id);
    return true;
}

/* Count one more crash of a work row.  False: there is no such work row. */
static bool blame_work(pawl_runtime *rt, struct stage *s, uint64_t id, uint32_t crashes)
{
    pawl_work_list list;
    pawl_error err;
    if (store_read_work(rt->store, &id, 1, &rt->group_mem, &list, &err) != PAWL_OK ||
        list.count != 1)
        return false;
    const pawl_work *w = &list.items[0];
    log_warn(&rt->log, "recover", "activity was running when the process died",
             "instance=%.*s activity=%.*s crashes=%u", PAWL_FMT(w->instance),
             PAWL_FMT(tray_activity(w->name)), w->crashes + crashes);
    pawl_work_update *u = list_add(&rt->group_mem, &s->work_updates);
    *u = (pawl_work_update){.id = w->id,
                            .attempt = w->attempt + crashes,
                            .crashes = w->crashes + crashes,
                            .visible_ms = w->visible_ms,
                            .deadline_ms = w->deadline_ms,
                            .last_error = w->last_error,
                            .lock_token = w->lock_token,
                            .lock_until_ms = w->lock_until_ms};
    return suspect(rt, id);
}

/* Count one more crash of the message `item` of `uid` (0: a message sent by name). */
static void blame_message(pawl_runtime *rt, struct stage *s, uint64_t uid, uint64_t item)
{
    pawl_message_list list;
    pawl_error err;
    if (store_read_messages(rt->store, uid, (pawl_str){0}, &rt->group_mem, &list, &err) != PAWL_OK)
        return;
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].id != item)
            continue;
        pawl_message_update *u = list_add(&rt->group_mem, &s->message_updates);
        *u = (pawl_message_update){.id = item,
                                   .visible_ms = list.items[i].visible_ms,
                                   .attempt = list.items[i].attempt + 1,
                                   .mailbox = list.items[i].mailbox};
    }
}

/* Blame the message, if any, whose turn ran. */
static void blame_turn(pawl_runtime *rt, struct stage *s, uint64_t uid, uint64_t item)
{
    pawl_row row = {0};
    pawl_error err;
    if (store_find_uid(rt->store, uid, &rt->group_mem, &row, &err) != PAWL_OK)
        row = (pawl_row){0}; /* a start has none yet */
    log_warn(&rt->log, "recover", "a turn was running when the process died",
             "instance=%.*s orchestration=%.*s uid=%llu item=%llu", PAWL_FMT(row.id),
             PAWL_FMT(row.orchestration), (unsigned long long)uid, (unsigned long long)item);
    if (!item) { /* a start or raise that had no row: from now on they are stored first */
        rt->blame.unfused_requests = true;
        return;
    }
    if (blame_work(rt, s, item, 0))
        return;
    blame_message(rt, s, uid, item);
    blame_message(rt, s, 0, item); /* a child's start or cancel */
}

/* When several ran, the one to blame is not known: count it only after this many times. */
#define SEVERAL_COUNT 10

static void blame_all_work(pawl_runtime *rt, struct stage *s, const struct slots_past *past)
{
    size_t spared = 0;
    for (size_t i = 0; i < past->work_count; i++) {
        bool spare = past->rebooted || (past->several && past->times[i] % SEVERAL_COUNT != 0);
        spared += spare;
        if (spare)
            (void)suspect(rt, past->work[i]);
        else
            (void)blame_work(rt, s, past->work[i], 1);
    }
    if (spared)
        log_warn(&rt->log, "recover",
                 past->rebooted
                     ? "the machine went down while activities ran: none of them is to blame"
                     : "the process was ended from outside while several things ran: not counted",
                 "activities=%u", (unsigned)spared);
}

static pawl_status blame(pawl_runtime *rt, const struct slots_past *past, pawl_error *reterr)
{
    struct stage *s = stage_bare(rt);
    if (past->text[0])
        log_error(&rt->log, "recover", "user code ended the process before", "what=\"%s\"",
                  past->text);
    if (past->turn_uid && !past->rebooted)
        blame_turn(rt, s, past->turn_uid, past->turn_item);
    blame_all_work(rt, s, past);
    pawl_round round;
    stage_seal(rt, s, &round);
    (void)stage_all(rt);
    if (!round.work_update_count && !round.message_update_count)
        return PAWL_OK;
    RT_POINT(rt, "recover.blame");
    return store_commit(rt->store, &rt->fence, &round, 1, rt->now_ms, reterr);
}

/* Names of instances that mail waits for. */
static pawl_status remember_kept(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_message_list list;
    pawl_status rc =
        store_read_messages(rt->store, 0, (pawl_str){0}, &rt->group_mem, &list, reterr);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++)
        if (list.items[i].mailbox && !adopt_note(rt, list.items[i].instance))
            rc = PAWL_NO_MEMORY;
    return rc;
}

pawl_status recover(pawl_runtime *rt, const struct slots_past *past, pawl_error *reterr)
{
    arena_reset(&rt->group_mem);
    rt->now_ms = rt_now(rt);
    rt->blame.recovered_ms = rt->now_ms;
    pawl_status rc = peek_recover(rt, reterr);
    if (rc == PAWL_OK && past->unclean) /* it commits, so the list of repairs is made before */
        rc = blame(rt, past, reterr);
    if (rc == PAWL_OK)
        rc = remember_kept(rt, reterr);
    if (rc == PAWL_OK)
        rc = published_open(rt, reterr);
    if (rc == PAWL_OK)
        rc = asks_open(rt, reterr);
    if (rc == PAWL_OK)
        rc = details_open(rt, reterr);
    if (rc == PAWL_OK)
        rc = zones_recover(rt, reterr);
    due_all(rt);
    jobs_lie(rt);
    return rc;
}
