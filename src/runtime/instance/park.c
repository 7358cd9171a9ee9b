/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/park.c -- letters that cannot be delivered now: kept as rows, tried again.
 * [engine]
 *
 * Parking never appends to a history: a bad deploy must not destroy running
 * work.  The finding lives on the instance row, the letters wait as rows, and
 * retry (or the missing code) brings them back (turn_unpile).
 *
 * Called by turn.c, begin.c and finish.c; turn_unpile by group.c, loop.c and repair.c, when an
 * instance may run again.
 */
#include "runtime/instance/park.h"

#include "runtime/core/due.h"
#include "runtime/core/letter.h"
#include "runtime/core/resident.h"
#include "runtime/core/site.h"
#include "runtime/core/stage.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/end_by.h"
#include "runtime/instance/finish.h"
#include "runtime/work/jobs.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

void turn_store(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct stage *s = stage_of(rt, r);
    if (l->work_id)
        *list_add(&rt->group_mem, &s->need_work) = l->work_id;
    if (l->stored && !l->uid) { /* sent by name: the row waits under its uid */
        pawl_message *m = stage_send(rt, s, l->mail.kind, s->row.uid, (pawl_str){0});
        m->execution = l->mail.kind == PAWL_MSG_START ? s->row.execution : l->mail.execution;
        m->ref = l->mail.ref;
        if (l->mail.kind == PAWL_MSG_EXTERNAL_RAISED) /* those are of its sender's call */
            m->execution = m->ref = 0;
        m->name = l->mail.name;
        m->data = l->mail.data;
        m->attrs = l->mail.attrs;
        *list_add(&rt->group_mem, &s->quiet) = m->id;
        stage_drop_message(rt, s, l->mail.id);
        stage_take(s, l);
        return;
    }
    if (!l->stored && !l->mail.id)
        l->mail.id = rt_new_id(rt);
    stage_keep(rt, s, l, false);
    if (l->key.len)
        *list_add(&rt->group_mem, &s->keys) = l->key;
    stage_take(s, l);
}

void turn_pile(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    bool inserted = !l->stored;
    r->piled = true;
    turn_store(rt, r, l);
    if (inserted)
        *list_add(&rt->group_mem, &r->stage->quiet) = l->mail.id;
}

/* Forget what the stage collected; an inserted instance stays to be inserted. */
static void stage_clear(struct resident *r, struct stage *s)
{
    s->turn.count = s->turn.discarded_count = 0;
    s->drop_messages.count = s->messages.count = s->message_updates.count = 0;
    s->quarantine.count = s->need_work.count = s->drop_work.count = 0;
    s->keys.count = s->quiet.count = s->timers.count = s->adoptions.count = 0;
    s->row = r->row;
    s->turn.refused_count = 0;
    s->ended = s->mail_gone = s->unpile = s->adopted = false;
    if (s->change != PAWL_ROW_INSERT)
        s->change = PAWL_ROW_NONE;
}

struct delivered turn_again(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct letter *list = r->stage ? stage_abort(rt, r->stage) : NULL;
    struct letter **end = &list;
    while (*end)
        end = &(*end)->next;
    if (l) {
        l->next = NULL;
        *end = l;
    }
    resident_evict(rt, r);
    resident_trim(rt, true, NULL);
    return (struct delivered){VERDICT_ALONE, list};
}

/* `label` and `what`, unless the text says it already. */
static pawl_str unless_said(pawl_runtime *rt, const char *text, const char *label, const char *what)
{
    bool said = !what[0] || strstr(text, what);
    return said ? pawl_s("") : pawl_mem_printf(&rt->group_mem, "; %s%s", label, what);
}

/* The finding as one text for people and for the row. */
static pawl_str describe(pawl_runtime *rt, const struct engine_finding *f)
{
    char where[400] = "", event[32] = "";
    if (f->site)
        site_place(f->site, where, sizeof(where)); /* the line: see site_name */
    if (f->seq)
        (void)snprintf(event, sizeof(event), "event %llu", (unsigned long long)f->seq);
    return pawl_mem_printf(&rt->group_mem, "%s%s%s%s%s%s", f->text,
                           unless_said(rt, f->text, "recorded: ", f->recorded).ptr,
                           unless_said(rt, f->text, "attempted: ", f->attempted).ptr,
                           unless_said(rt, f->text, "", event).ptr,
                           where[0] ? "; called from " : "", where);
}

struct delivered turn_block(pawl_runtime *rt, struct resident *r, struct letter *l,
                            const struct engine_finding *finding)
{
    if (r->stage && r->stage->letters) /* others share the stage: try one by one */
        return turn_again(rt, r, l);
    execution_destroy(r->x);
    r->x = NULL;
    struct stage *s = stage_of(rt, r);
    stage_clear(r, s);
    if (s->change == PAWL_ROW_INSERT) {
        deadline_set(rt, s, l);
        if (!adopt_mail(rt, r, s, l))
            return turn_again(rt, r, l);
    }
    s->row.finding = describe(rt, finding);
    COUNT(rt, mismatches);
    if (rt->opts.fail_on_mismatch && r->row.last_seq)
        return turn_finish(rt, r, l, PAWL_EV_ORCHESTRATION_FAILED, s->row.finding);
    log_error(&rt->log, "turn", "instance is blocked; repair the code, then retry",
              "instance=%.*s why=\"%.*s\"", PAWL_FMT(r->row.id), PAWL_FMT(s->row.finding));
    s->row.state = PAWL_BLOCKED;
    stage_row_changed(s);
    r->doomed = true;
    if (l)
        turn_pile(rt, r, l);
    return verdict_done();
}

pawl_str turn_missing(pawl_runtime *rt, const pawl_row *row, pawl_str version)
{
    if (rt->opts.cancel_missing_version && version.len)
        return pawl_mem_printf(&rt->group_mem, "version %.*s of '%.*s' is not registered",
                               PAWL_FMT(version), PAWL_FMT(row->orchestration));
    if (rt->opts.cancel_missing_version)
        return pawl_mem_printf(&rt->group_mem, "orchestration '%.*s' is not registered",
                               PAWL_FMT(row->orchestration));
    return pawl_mem_printf(
        &rt->group_mem, "waits for code: orchestration '%.*s'%s%.*s is not registered here",
        PAWL_FMT(row->orchestration), version.len ? " version " : "", PAWL_FMT(version));
}

struct delivered turn_codeless(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    struct stage *s = stage_of(rt, r);
    pawl_str finding = turn_missing(rt, &s->row, s->row.version);
    if (rt->opts.cancel_missing_version)
        return turn_finish(rt, r, l, PAWL_EV_ORCHESTRATION_CANCELLED, finding);
    assert_that(s->row.state != PAWL_BLOCKED); /* it keeps saying why: nothing runs it (turn.c) */
    if (!pawl_str_eq(s->row.finding, finding) && !rt->opts.steers_only) {
        log_warn(&rt->log, "turn", "no code for this instance; it waits", "instance=%.*s",
                 PAWL_FMT(s->row.id));
        s->row.finding = finding;
        stage_row_changed(s);
    }
    park_codeless(rt, r->row.uid);
    r->doomed = true;
    turn_pile(rt, r, l);
    return verdict_done();
}

void turn_unpile(pawl_runtime *rt, uint64_t uid)
{
    pawl_message_list list;
    pawl_error err;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_read_messages(rt->store, uid, (pawl_str){0}, &rt->load_mem, &list, &err);
    if (rc == PAWL_CORRUPT) { /* permanent: waiting for it would stop all other letters */
        log_error(&rt->log, "store",
                  "mail of an instance is damaged and stays where it is; "
                  "run pawl doctor",
                  "uid=%llu why=\"%s\"", (unsigned long long)uid, err.text);
        return;
    }
    if (rc != PAWL_OK) {
        park_unpile(rt, uid);
        return;
    }
    struct letter *first = NULL, **end = &first;
    for (size_t i = 0; i < list.count; i++) {
        const pawl_message *m = &list.items[i];
        if (m->mailbox)
            continue;
        if (m->visible_ms > rt->now_ms) { /* taken in before the clock was set back: due again */
            store_abandon_messages(rt->store, &m->id, 1);
            due_ask(rt);
            continue;
        }
        struct letter *l = letter_of_row(rt, m);
        if (!l)
            continue;
        *end = l;
        end = &l->next;
    }
    letter_back(rt, first); /* older than whatever came meanwhile */
}

void park_codeless(pawl_runtime *rt, uint64_t uid)
{
    need_memory(idset_add(&rt->mail.codeless, uid));
}

static void unpile_all(pawl_runtime *rt, struct idset *uids)
{
    size_t n = uids->count;
    uint64_t *list = arena_array(&rt->group_mem, uint64_t, n + 1);
    idset_list(uids, list);
    idset_reset(uids);
    for (size_t i = 0; i < n; i++)
        turn_unpile(rt, list[i]);
}

void park_look(pawl_runtime *rt)
{
    if (rt->mail.piled.count)
        unpile_all(rt, &rt->mail.piled);
    unsigned long now = atomic_load(&rt->app->generation);
    if (now == rt->mail.generation)
        return;
    rt->mail.generation = now;
    jobs_lie(rt);
    unpile_all(rt, &rt->mail.codeless);
}

void park_unpile(pawl_runtime *rt, uint64_t uid)
{
    need_memory(idset_add(&rt->mail.piled, uid));
}

void park_open(pawl_runtime *rt)
{
    idset_init(&rt->mail.codeless);
    idset_init(&rt->mail.piled);
}

void park_close(pawl_runtime *rt)
{
    idset_deinit(&rt->mail.codeless);
    idset_deinit(&rt->mail.piled);
}
