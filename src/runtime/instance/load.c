/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/load.c -- bring an instance into memory: row, code, history, mailbox.
 * [engine]
 *
 * Loading decides nothing and writes nothing: what it finds (no code, mismatch)
 * is for turn.c to act on.
 */
#include "runtime/instance/load.h"
#include "runtime/instance/attribute_set.h"

#include "runtime/core/coming.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "store/store.h"

#include <stdio.h>

static bool is_trouble(pawl_status rc)
{
    return rc != PAWL_OK && rc != PAWL_NOT_FOUND && rc != PAWL_CORRUPT;
}

enum load_result load_row(pawl_runtime *rt, uint64_t uid, pawl_str id, struct resident **ret)
{
    struct resident *r = uid ? resident_by_uid(rt, uid) : resident_by_id(rt, id);
    if (!r) {
        pawl_row row;
        pawl_error err = {0};
        arena_reset(&rt->load_mem);
        pawl_status rc = uid ? store_find_uid(rt->store, uid, &rt->load_mem, &row, &err)
                             : store_find(rt->store, id, &rt->load_mem, &row, &err);
        if (rc == PAWL_NOT_FOUND)
            return LOAD_NONE;
        if (rc == PAWL_CORRUPT) {
            log_error(&rt->log, "load", "instance row is damaged; left as it is",
                      "uid=%llu instance=%.*s error=\"%s\"", (unsigned long long)uid, PAWL_FMT(id),
                      err.text);
            return LOAD_DAMAGED;
        }
        if (rc == PAWL_OK)
            r = resident_add(rt, &row);
        if (!r) {
            log_warn(&rt->log, "load", "instance row not readable; trying again",
                     "uid=%llu error=\"%s\"", (unsigned long long)uid, err.text);
            return LOAD_TROUBLE;
        }
    }
    resident_touch(rt, r);
    *ret = r;
    return LOAD_OK;
}

enum load_result load_for(pawl_runtime *rt, const struct letter *l, struct resident **ret)
{
    const struct known *known = letter_known(rt, l);
    bool absent = (known && known->absent) || coming_is_bold(rt, l);
    if (!absent || (!l->uid && resident_by_id(rt, l->instance)))
        return load_row(rt, l->uid, l->instance, ret);
    return LOAD_NONE;
}

struct resident *load_for_call(pawl_runtime *rt, struct letter *call, enum verdict_kind *ret)
{
    struct resident *r = NULL;
    *ret = VERDICT_DONE;
    switch (load_row(rt, 0, call->instance, &r)) {
    case LOAD_OK:
        *ret = VERDICT_FIRST;
        return r->stage ? NULL : r;
    case LOAD_NONE:
        request_refuse(call, PAWL_NOT_FOUND, "instance '%.*s' does not exist",
                       PAWL_FMT(call->instance));
        break;
    case LOAD_DAMAGED:
        request_refuse(call, PAWL_CORRUPT,
                       "the stored row of this instance is damaged; run pawl doctor");
        break;
    case LOAD_TROUBLE:
        request_refuse(call, PAWL_UNAVAILABLE, "the store did not answer; try again");
        break;
    }
    return NULL;
}

static void log_from_code(void *user, pawl_log_level level, pawl_str text)
{
    struct resident *r = user;
    log_record(&r->rt->log, level, "code", text.ptr, "instance=%.*s orchestration=%.*s",
               PAWL_FMT(r->row.id), PAWL_FMT(r->row.orchestration));
}

struct execution_spec load_spec(pawl_runtime *rt, const pawl_row *row,
                                const struct code_entry *code, void *log_user)
{
    struct execution_spec spec = {
        .pool = resident_fibers(rt),
        .rules = {.payload_max = rt->opts.max_payload,
                  .history_max = rt->opts.max_history,
                  .turn_memory = rt->opts.turn_memory,
                  .drop_early_events = rt->opts.drop_early_events,
                  .strict_await = rt->opts.strict_await,
                  .no_queues = !rt->caps.queues,
                  .no_objects = !rt->caps.objects},
        .instance = row->id,
        .uid = row->uid,
        .execution = row->execution,
        .log = log_user ? log_from_code : NULL,
        .log_user = log_user,
        .taken = coming_ask,
        .speaks = coming_speak,
        .taken_user = rt,
        .attributes = log_user ? attributes_ask : NULL,
    };
    if (code)
        spec.code = (struct engine_code){.fn = code->fn,
                                         .remote = code->remote,
                                         .user = code->user,
                                         .stack_bytes = code->stack_bytes,
                                         .name = code->name,
                                         .version = code->version};
    return spec;
}

/* What was read ahead of it in this pass; NULL: nothing. */
static const pawl_wanted_history *read_ahead(pawl_runtime *rt, const pawl_row *row)
{
    const struct resident *r = resident_by_uid(rt, row->uid);
    bool holds = r && r->ahead && r->ahead_pass == letter_pass(rt);
    return holds && r->ahead->execution == row->execution ? r->ahead : NULL;
}

static pawl_status read_history(pawl_runtime *rt, const pawl_row *row, pawl_event_list *ret,
                                pawl_error *err)
{
    const pawl_wanted_history *ahead = read_ahead(rt, row);
    arena_reset(&rt->load_mem);
    if (!ahead)
        return store_read_history(rt->store, row->uid, row->execution, 0, 0, &rt->load_mem, ret,
                                  err);
    *ret = ahead->events;
    return PAWL_OK;
}

static pawl_status read_messages(pawl_runtime *rt, const pawl_row *row, pawl_message_list *ret,
                                 pawl_error *err)
{
    const pawl_wanted_history *ahead = read_ahead(rt, row);
    if (!ahead)
        return store_read_messages(rt->store, row->uid, (pawl_str){0}, &rt->load_mem, ret, err);
    *ret = ahead->messages;
    return PAWL_OK;
}

bool load_mailbox(pawl_runtime *rt, struct resident *r, bool *retdamaged)
{
    pawl_message_list list;
    pawl_error err = {0};
    pawl_status rc = read_messages(rt, &r->row, &list, &err);
    *retdamaged = rc == PAWL_CORRUPT;
    if (rc == PAWL_CORRUPT)
        log_error(&rt->log, "load", "mailbox is damaged; left as it is",
                  "instance=%.*s error=\"%s\"", PAWL_FMT(r->row.id), err.text);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++)
        if (list.items[i].mailbox &&
            !execution_mailbox_keep(r->x, &(struct mail){.id = list.items[i].id,
                                                         .kind = list.items[i].kind,
                                                         .name = list.items[i].name,
                                                         .data = list.items[i].data,
                                                         .attrs = list.items[i].attrs}))
            return false; /* out of memory: what is in r->x is not what is stored */
    return !is_trouble(rc);
}

static enum ready_result ready_of(enum engine_outcome outcome)
{
    switch (outcome) {
    case ENGINE_WAITING:
    case ENGINE_ENDED:
        return READY_OK;
    case ENGINE_NO_MEMORY:
        return READY_TROUBLE;
    case ENGINE_MISMATCH:
    case ENGINE_LIMIT:
    case ENGINE_CORRUPT:
    case ENGINE_REFUSED:
        return READY_BLOCKED;
    }
    return READY_TROUBLE;
}

/* Replay what is stored into r->x. */
static enum ready_result replay(pawl_runtime *rt, struct resident *r,
                                struct engine_finding *finding)
{
    pawl_event_list events;
    pawl_error err = {0};
    pawl_status rc = read_history(rt, &r->row, &events, &err);
    uint64_t last = rc == PAWL_OK && events.count ? events.items[events.count - 1].seq : 0;
    if (rc == PAWL_OK && last != r->row.last_seq) { /* a store that found nothing amiss */
        rc = PAWL_CORRUPT;
        (void)snprintf(err.text, sizeof(err.text), "it ends with event %llu, not %llu",
                       (unsigned long long)last, (unsigned long long)r->row.last_seq);
    }
    if (rc == PAWL_CORRUPT) {
        *finding = (struct engine_finding){0};
        (void)snprintf(finding->text, sizeof(finding->text), "stored history is damaged: %.300s",
                       err.text);
        return READY_BLOCKED;
    }
    if (rc != PAWL_OK)
        return READY_TROUBLE;
    turn_clock_start(rt, r->code, &r->row);
    enum engine_outcome outcome = execution_replay(r->x, events.items, events.count, finding);
    turn_clock_stop(rt);
    COUNT(rt, replays);
    COUNT_BY(rt, replayed_events, events.count);
    return ready_of(outcome);
}

enum ready_result load_execution(pawl_runtime *rt, struct resident *r,
                                 struct engine_finding *finding)
{
    if (r->x)
        return READY_OK;
    r->code = registry_code(rt->app, r->row.orchestration, r->row.version);
    if (!r->code)
        return READY_CODELESS;
    struct execution_spec spec = load_spec(rt, &r->row, r->code, r);
    r->x = execution_create(&spec);
    if (!r->x) { /* no stack or memory: make room once */
        resident_trim(rt, true, r);
        r->x = execution_create(&spec);
    }
    enum ready_result ready = r->x ? READY_OK : READY_TROUBLE;
    if (ready == READY_OK && r->row.last_seq)
        ready = replay(rt, r, finding);
    bool damaged = false;
    if (ready == READY_OK && !load_mailbox(rt, r, &damaged))
        ready = READY_TROUBLE;
    if (damaged) {
        *finding = (struct engine_finding){.text = "its mailbox is damaged"};
        ready = READY_BLOCKED;
    }
    if (ready != READY_OK) {
        execution_destroy(r->x);
        r->x = NULL;
    } else if (execution_end(r->x).kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW) {
        r->piled = true; /* a cancel may wait for the next execution since before */
    }
    resident_weigh(rt, r);
    return ready;
}

execution *load_tables(pawl_runtime *rt, const pawl_row *row)
{
    struct execution_spec spec = load_spec(rt, row, NULL, NULL);
    execution *x = execution_create(&spec);
    if (!x || !row->last_seq)
        return x;
    pawl_event_list events;
    pawl_error err = {0};
    struct engine_finding finding;
    pawl_status rc = read_history(rt, row, &events, &err);
    if (is_trouble(rc) || (rc == PAWL_OK && execution_replay(x, events.items, events.count,
                                                             &finding) == ENGINE_NO_MEMORY)) {
        execution_destroy(x);
        return NULL;
    }
    return x;
}
