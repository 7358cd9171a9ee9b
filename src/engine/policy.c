/* SPDX-License-Identifier: MIT */
/*
 * engine/policy.c -- retry policy and time-outs of a call, as data.
 *
 * A policy is normalised once, when the call is made, and stored in the attrs
 * of ActivityScheduled as far as it is not the default.  Delays are computed in
 * doubles and clamped to 0..cap before they become integers: no attempt number,
 * factor or jitter can overflow.
 *
 * Called by: decide.c (write), the runtime (read, delays).
 */
#include "engine/policy.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/misuse.h"

#include <math.h>
#include <string.h>

#define INITIAL_MS 1000
#define CAP_MS     60000
#define FACTOR     2.0

static const char *const backoff_words[] = {"exponential", "linear", "fixed"};

static int64_t or_default(int64_t given, int64_t otherwise);
static struct call_policy normal(struct call_policy p);
static void put_ms(pawl_json *w, const char *key, int64_t ms, int64_t otherwise);
static bool is_default(const struct call_policy *p);
static void parse_final_errors(struct call_policy *p, pawl_str attrs, pawl_mem *mem);

struct call_policy policy_default(void)
{
    return (struct call_policy){.attempts = 1,
                                .backoff = PAWL_BACKOFF_EXPONENTIAL,
                                .initial_ms = INITIAL_MS,
                                .cap_ms = CAP_MS,
                                .factor = FACTOR,
                                .priority = LIMIT_PRIORITY_DEFAULT};
}

struct call_policy policy_of(const pawl_call_opts *given, pawl_mem *mem)
{
    pawl_call_opts o;
    struct call_policy p = policy_default();
    pawl_error err;

    if (!given || !OPTIONS_TAKE(&o, given, "pawl_call_opts", &err))
        return p; /* the call was refused before */
    p = (struct call_policy){.attempts = o.attempts ? o.attempts : 1,
                             .backoff = o.backoff,
                             .initial_ms = or_default(o.initial_ms, INITIAL_MS),
                             .cap_ms = or_default(o.cap_ms, CAP_MS),
                             .factor = o.factor,
                             .jitter = o.jitter,
                             .no_retry_on_timeout = o.no_retry_on_timeout,
                             .schedule_to_start_ms = o.schedule_to_start_ms,
                             .start_to_close_ms = o.start_to_close_ms,
                             .schedule_to_close_ms = o.schedule_to_close_ms,
                             .heartbeat_ms = o.heartbeat_ms,
                             .tag = arena_dup(mem, pawl_s(o.tag)),
                             .max_crashes = o.max_crashes,
                             .at_most_once = o.at_most_once,
                             .key = arena_dup(mem, pawl_s(o.key)),
                             .priority = o.priority};
    size_t n = 0;
    while (o.final_errors && o.final_errors[n])
        n++;
    if (n > 0) {
        pawl_str *errors = arena_array(mem, pawl_str, n);
        for (size_t i = 0; i < n; i++)
            errors[i] = arena_dup(mem, pawl_s(o.final_errors[i]));
        p.final_errors = errors;
        p.final_error_count = n;
    }
    return normal(p);
}

pawl_str policy_format(const struct call_policy *p, pawl_mem *mem)
{
    if (is_default(p))
        return (pawl_str){.ptr = "", .len = 0};
    pawl_json *w = pawl_json_new(mem);

    pawl_json_object(w);
    put_ms(w, "attempts", p->attempts, 1);
    if (p->backoff != PAWL_BACKOFF_EXPONENTIAL) {
        pawl_json_key(w, "backoff");
        pawl_json_cstr(w, backoff_words[p->backoff]);
    }
    put_ms(w, "initial_ms", p->initial_ms, INITIAL_MS);
    put_ms(w, "cap_ms", p->cap_ms, CAP_MS);
    if (fabs(p->factor - FACTOR) > 0) {
        pawl_json_key(w, "factor");
        pawl_json_real(w, p->factor);
    }
    if (p->jitter > 0) {
        pawl_json_key(w, "jitter");
        pawl_json_real(w, p->jitter);
    }
    if (p->final_error_count) {
        pawl_json_key(w, "final_errors");
        pawl_json_array(w);
        for (size_t i = 0; i < p->final_error_count; i++)
            pawl_json_str(w, p->final_errors[i]);
        pawl_json_end(w);
    }
    if (p->no_retry_on_timeout) {
        pawl_json_key(w, "no_retry_on_timeout");
        pawl_json_truth(w, true);
    }
    put_ms(w, "schedule_to_start_ms", p->schedule_to_start_ms, 0);
    put_ms(w, "start_to_close_ms", p->start_to_close_ms, 0);
    put_ms(w, "schedule_to_close_ms", p->schedule_to_close_ms, 0);
    put_ms(w, "heartbeat_ms", p->heartbeat_ms, 0);
    if (p->tag.len) {
        pawl_json_key(w, "tag");
        pawl_json_str(w, p->tag);
    }
    put_ms(w, "max_crashes", p->max_crashes, 0);
    if (p->at_most_once) {
        pawl_json_key(w, "at_most_once");
        pawl_json_truth(w, true);
    }
    if (p->key.len) {
        pawl_json_key(w, "key");
        pawl_json_str(w, p->key);
    }
    put_ms(w, "priority", p->priority, LIMIT_PRIORITY_DEFAULT);
    pawl_json_end(w);
    return pawl_json_done(w);
}

struct call_policy policy_parse(pawl_str attrs, pawl_mem *mem)
{
    struct call_policy p = policy_default();

    if (attrs.len == 0)
        return p;
    int64_t attempts = pawl_json_int(attrs, "/attempts", 1);
    p.attempts = attempts >= 1 && attempts <= UINT32_MAX ? (uint32_t)attempts : 1;
    pawl_str word = pawl_json_text(mem, attrs, "/backoff", backoff_words[0]);
    for (unsigned i = 0; i < 3; i++)
        if (pawl_str_is(word, backoff_words[i]))
            p.backoff = (pawl_backoff)i;
    p.initial_ms = pawl_json_int(attrs, "/initial_ms", p.initial_ms);
    p.cap_ms = pawl_json_int(attrs, "/cap_ms", p.cap_ms);
    p.factor = pawl_json_number(attrs, "/factor", p.factor);
    p.jitter = pawl_json_number(attrs, "/jitter", p.jitter);
    p.no_retry_on_timeout = pawl_json_bool(attrs, "/no_retry_on_timeout", false);
    p.schedule_to_start_ms = pawl_json_int(attrs, "/schedule_to_start_ms", 0);
    p.start_to_close_ms = pawl_json_int(attrs, "/start_to_close_ms", 0);
    p.schedule_to_close_ms = pawl_json_int(attrs, "/schedule_to_close_ms", 0);
    p.heartbeat_ms = pawl_json_int(attrs, "/heartbeat_ms", 0);
    p.tag = pawl_json_text(mem, attrs, "/tag", "");
    int64_t crashes = pawl_json_int(attrs, "/max_crashes", 0);
    p.max_crashes = crashes >= 0 && crashes <= UINT32_MAX ? (uint32_t)crashes : 0;
    p.at_most_once = pawl_json_bool(attrs, "/at_most_once", false);
    p.key = pawl_json_text(mem, attrs, "/key", "");
    int64_t priority = pawl_json_int(attrs, "/priority", 0);
    p.priority = priority > 0 && priority <= LIMIT_PRIORITY ? (uint32_t)priority : 0;
    parse_final_errors(&p, attrs, mem);
    return normal(p);
}

int64_t policy_delay_ms(const struct call_policy *p, uint32_t next, uint64_t bits)
{
    double cap = (double)p->cap_ms, delay = (double)p->initial_ms;
    double failed = next >= 2 ? (double)(next - 1) : 1; /* attempts so far */

    if (p->backoff == PAWL_BACKOFF_EXPONENTIAL)
        delay *= pow(p->factor, failed - 1);
    else if (p->backoff == PAWL_BACKOFF_LINEAR)
        delay *= failed;
    if (!(delay < cap)) /* also when 0 × infinity made it no number */
        delay = p->initial_ms > 0 ? cap : 0;
    double unit = (double)(bits >> 11) * 0x1p-53; /* 0 <= unit < 1 */
    delay *= 1 + p->jitter * (2 * unit - 1);
    if (delay >= cap)
        return p->cap_ms;
    return delay > 0 ? (int64_t)delay : 0;
}

bool policy_is_final(const struct call_policy *p, pawl_str error)
{
    for (size_t i = 0; i < p->final_error_count; i++) {
        pawl_str prefix = p->final_errors[i];
        if (prefix.len <= error.len &&
            (prefix.len == 0 || memcmp(prefix.ptr, error.ptr, prefix.len) == 0))
            return true;
    }
    return false;
}

static int64_t or_default(int64_t given, int64_t otherwise)
{
    return given == 0 ? otherwise : given;
}

/* Negative -> 0, too long -> the longest delay, no number -> the default. */
static struct call_policy normal(struct call_policy p)
{
    int64_t *const times[] = {
        &p.initial_ms,           &p.cap_ms,       &p.schedule_to_start_ms, &p.start_to_close_ms,
        &p.schedule_to_close_ms, &p.heartbeat_ms,
    };

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (*times[i] < 0)
            *times[i] = 0;
        if (*times[i] > LIMIT_DELAY_MS)
            *times[i] = LIMIT_DELAY_MS;
    }
    if ((unsigned)p.backoff > PAWL_BACKOFF_FIXED)
        p.backoff = PAWL_BACKOFF_EXPONENTIAL;
    if (!isfinite(p.factor) || p.factor <= 0)
        p.factor = FACTOR;
    else if (p.factor < 1)
        p.factor = 1; /* delays never shrink */
    if (p.priority == 0 || p.priority > LIMIT_PRIORITY)
        p.priority = LIMIT_PRIORITY_DEFAULT;
    if (!(p.jitter > 0))
        p.jitter = 0;
    else if (p.jitter > 1)
        p.jitter = 1;
    return p;
}

static bool is_default(const struct call_policy *p)
{
    const struct call_policy d = policy_default();

    return p->attempts == d.attempts && p->backoff == d.backoff && p->initial_ms == d.initial_ms &&
           p->cap_ms == d.cap_ms && !(fabs(p->factor - d.factor) > 0) && !(p->jitter > 0) &&
           p->final_error_count == 0 && !p->no_retry_on_timeout && p->schedule_to_start_ms == 0 &&
           p->start_to_close_ms == 0 && p->schedule_to_close_ms == 0 && p->heartbeat_ms == 0 &&
           p->tag.len == 0 && p->max_crashes == 0 && !p->at_most_once && p->key.len == 0 &&
           p->priority == d.priority;
}

static void put_ms(pawl_json *w, const char *key, int64_t ms, int64_t otherwise)
{
    if (ms == otherwise)
        return;
    pawl_json_key(w, key);
    pawl_json_num(w, ms);
}

static void parse_final_errors(struct call_policy *p, pawl_str attrs, pawl_mem *mem)
{
    pawl_str raw = pawl_json_get(attrs, "/final_errors");
    struct json_iter it;
    size_t n = 0;

    if (json_type(raw) != JSON_ARRAY)
        return;
    for (json_begin(&it, raw); json_next(&it);)
        n++;
    pawl_str *errors = arena_array(mem, pawl_str, n);
    for (json_begin(&it, raw); json_next(&it);)
        if (json_type(it.value) == JSON_STRING)
            errors[p->final_error_count++] = pawl_json_text(mem, it.value, "", "");
    p->final_errors = errors;
}
