/* SPDX-License-Identifier: MIT */
/*
 * engine/judge.c -- is a call within its limits?
 *
 * A decision is judged before it is recorded, by the same rules whether C code made it (api_*.c) or
 * a worker did (remote_code.c).  What breaks a limit is refused by value: the text goes into the
 * decision, and decide.c records it (SEMANTICS 30).  Only names are looked at in replay, too; every
 * other limit is asked live, because replay believes the record.
 *
 * Invariants: a refusal is valid UTF-8; the first one stands.  Pure.
 */
#include "base/attributes.h"
#include "base/limits.h"
#include "base/reserved.h"
#include "engine/engine_private.h"
#include "pawl/queue.h"

#include <stdio.h>
#include <string.h>

static bool must_check(const execution *x, const struct decision *d)
{
    return x->phase == PHASE_LIVE && d->refusal[0] == '\0';
}

/* The text is recorded as JSON and as data: make it one and the same valid UTF-8. */
void judge_refuse(struct decision *d, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(d->refusal, sizeof(d->refusal), format, args);
    va_end(args);
    if (!utf8_valid(pawl_s(d->refusal)))
        for (size_t i = 0; d->refusal[i]; i++)
            if ((unsigned char)d->refusal[i] >= 0x80)
                d->refusal[i] = '?';
}

static void check_text(struct decision *d, const char *what, pawl_str name)
{
    pawl_error err;

    if (d->refusal[0] == '\0' && !check_name(what, name, &err))
        judge_refuse(d, "%s", err.text);
}

static void check_payload(const execution *x, struct decision *d)
{
    size_t max = x->spec.rules.payload_max;

    if (is_odd(d->data)) {
        judge_refuse(d, "input has a length of %zu and no bytes", d->data.len);
        d->data = (pawl_str){0};
    }
    if (must_check(x, d) && max && d->data.len > max)
        judge_refuse(d, "input is %zu bytes, limit %zu (--max-payload)", d->data.len, max);
}

/* For whom it is, and how urgent. */
static void check_turn(struct decision *d, const pawl_call_opts *opts)
{
    pawl_error err;

    if (d->refusal[0] == '\0' && opts->key && !check_tray_key(pawl_s(opts->key), &err))
        judge_refuse(d, "%s", err.text);
    if (d->refusal[0] == '\0' && opts->priority > LIMIT_PRIORITY)
        judge_refuse(d, "priority is %u, limit 1..%d", opts->priority, LIMIT_PRIORITY);
}

void judge_call(const execution *x, struct decision *d)
{
    check_text(d, "activity name", d->name);
    if (d->opts && d->opts->tag)
        check_text(d, "tag", pawl_s(d->opts->tag));
    if (d->opts)
        check_turn(d, d->opts);
    check_payload(x, d);
}

void judge_timer(struct decision *d)
{
    if (d->delay_ms < 0 || d->delay_ms > LIMIT_DELAY_MS)
        judge_refuse(d, "delay is %lld ms, limit 0..%lld (100 years)", (long long)d->delay_ms,
                     (long long)LIMIT_DELAY_MS);
}

void judge_wait(const execution *x, struct decision *d)
{
    check_text(d, "event name", d->name);
    if (LIKELY(!d->ask.ptr && !d->ask.len))
        return;
    const char *fault = must_check(x, d) ? ask_fault(d->ask) : NULL;
    if (fault)
        judge_refuse(d, "what it asks for cannot be used: %s", fault);
}

void judge_child(const execution *x, struct decision *d, bool explicit_id)
{
    size_t max = explicit_id ? LIMIT_INSTANCE_BYTES : LIMIT_CHILD_ID_BYTES;
    pawl_error err;

    check_text(d, "orchestration name", d->name);
    if (must_check(x, d)) {
        if (!explicit_id && d->child.len > max)
            judge_refuse(d, "the child's id would be %zu bytes, limit %zu: give it a shorter one",
                         d->child.len, max);
        else if (explicit_id ? !check_chosen_id(d->child, max, &err)
                             : !check_instance_id(d->child, max, &err))
            judge_refuse(d, "%s", err.text);
        else if (!check_startable(d->name, &err) ||
                 (d->version.len && !check_version(d->version, &err)))
            judge_refuse(d, "%s", err.text);
        else if (d->deadline_ms < 0 || d->deadline_ms > LIMIT_DELAY_MS)
            judge_refuse(d, "deadline is %lld ms, limit 0..%lld (100 years)",
                         (long long)d->deadline_ms, (long long)LIMIT_DELAY_MS);
    }
    check_payload(x, d);
}

void judge_taken(struct decision *d)
{
    judge_refuse(d, "instance '%.*s' exists already", PAWL_FMT(d->child));
}

void judge_raise(const execution *x, struct decision *d, unsigned flags)
{
    pawl_error err;

    check_text(d, "event name", d->name);
    if (must_check(x, d) && !check_instance_id(d->child, LIMIT_CHILD_ID_BYTES, &err))
        judge_refuse(d, "%s", err.text);
    if (must_check(x, d) && flags & ~(unsigned)PAWL_RAISE_AWAIT_START)
        judge_refuse(d, "flags are %#x; pawl_raise() knows PAWL_RAISE_AWAIT_START", flags);
    check_payload(x, d);
}

void judge_update(struct decision *d)
{
    pawl_error err;

    if (!check_name("update name", d->name, &err))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    if (!utf8_valid(pawl_s(d->refusal)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "update name is not UTF-8");
}

/* Too large to be recorded: the client is told that. */
void judge_answer(const execution *x, struct decision *d)
{
    size_t max = x->spec.rules.payload_max;

    if (x->phase == PHASE_REPLAY)
        return;
    if (is_odd(d->data))
        (void)snprintf(d->refusal, sizeof(d->refusal), "its answer has a length and no bytes");
    else if (max && d->data.len > max)
        (void)snprintf(d->refusal, sizeof(d->refusal),
                       "its answer is %zu bytes, limit %zu (--max-payload)", d->data.len, max);
    if (!d->refusal[0])
        return;
    d->data = pawl_s(d->refusal);
    d->rejected = true;
}

/* Live only. */
void judge_push(const execution *x, struct decision *d, const pawl_push_opts *opts)
{
    pawl_error err;
    size_t max = x->spec.rules.payload_max;

    if (max > PAWL_QUEUE_ITEM_BYTES || !max)
        max = PAWL_QUEUE_ITEM_BYTES;
    if (!check_queue_name("queue name", d->name, &err))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    else if (x->spec.rules.no_queues)
        (void)snprintf(d->refusal, sizeof(d->refusal), "the store has no queues");
    else if (d->data.len > max)
        (void)snprintf(d->refusal, sizeof(d->refusal), "item is %zu bytes, limit %zu", d->data.len,
                       max);
    else if (opts->priority < 0)
        (void)snprintf(d->refusal, sizeof(d->refusal), "Priority must be non-negative");
    else if (opts->delay_ms < 0 || opts->delay_ms > PAWL_QUEUE_DELAY_MAX)
        (void)snprintf(d->refusal, sizeof(d->refusal), "delay must be between 0 and 7 days");
    if (!utf8_valid(pawl_s(d->refusal)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "queue name is not UTF-8");
}

static void check_key(struct decision *d)
{
    pawl_error err;

    if (d->name.len > LIMIT_STATE_KEY_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "state key is %zu bytes, limit %d",
                       d->name.len, LIMIT_STATE_KEY_BYTES);
    else if (!check_name("state key", d->name, &err))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    if (!utf8_valid(pawl_s(d->refusal)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "state key is not UTF-8");
}

static void check_value(const execution *x, struct decision *d)
{
    size_t count, bytes;

    if (d->data.len > LIMIT_STATE_VALUE_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "state value is %zu bytes, limit %d",
                       d->data.len, LIMIT_STATE_VALUE_BYTES);
    else if (!state_fits(x, d->name, d->data, &count, &bytes))
        (void)snprintf(d->refusal, sizeof(d->refusal),
                       "state would have %zu keys and %zu bytes, limit %d keys and %d bytes", count,
                       bytes, LIMIT_STATE_KEYS, LIMIT_STATE_BYTES);
}

/* Live only; `odd`: the value has a length and no bytes. */
void judge_state(const execution *x, struct decision *d, bool odd)
{
    if (x->spec.rules.no_objects)
        (void)snprintf(d->refusal, sizeof(d->refusal), "the store keeps no state");
    else if (odd)
        (void)snprintf(d->refusal, sizeof(d->refusal), "value has a length and no bytes");
    else
        check_key(d);
    if (!d->refusal[0] && !d->cleared)
        check_value(x, d);
}

/* Live only. */
void judge_attributes(execution *x, struct decision *d)
{
    struct attribute_list change;
    pawl_error err = {0};

    if (d->data.len > LIMIT_ATTRIBUTES_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "attributes are %zu bytes, limit %d",
                       d->data.len, LIMIT_ATTRIBUTES_BYTES);
    else if (!attributes_read(x->turn->mem, d->data, ATTRIBUTES_OF_USERS, &change, &err) ||
             (x->spec.attributes && !x->spec.attributes(x->spec.log_user, &change, &err)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "%.300s", err.text);
    if (!utf8_valid(pawl_s(d->refusal)))
        (void)snprintf(d->refusal, sizeof(d->refusal), "attributes are not UTF-8");
}

void judge_status(struct decision *d)
{
    if (d->data.len > LIMIT_STATUS_BYTES)
        (void)snprintf(d->refusal, sizeof(d->refusal), "status is %zu bytes, limit %d", d->data.len,
                       LIMIT_STATUS_BYTES);
}
