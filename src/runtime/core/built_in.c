/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/built_in.c -- see built_in.h.
 *
 * pawl.job is orchestration code as authors write it: what it does is compared with histories that
 * other versions of Pawl recorded.  A change of its decisions needs a new version of it.  So it
 * reads its input as it comes, and the checks are made where a client starts it.
 */
#include "runtime/core/built_in.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/policy.h"
#include "pawl/client.h"
#include "pawl/orchestration.h"
#include "runtime/core/registry.h"
#include "tables/job_options.h"

#include <stdio.h>
#include <string.h>

/* ---- The code --------------------------------------------------------------------- */

/* The members are those that policy_format() writes. */
static pawl_call_opts options_of(pawl_mem *mem, pawl_str input)
{
    struct call_policy p = policy_parse(input, mem);
    const char **errors = pawl_mem_alloc(mem, (p.final_error_count + 1) * sizeof(*errors));
    for (size_t i = 0; i < p.final_error_count; i++)
        errors[i] = p.final_errors[i].ptr;
    errors[p.final_error_count] = NULL;
    return (pawl_call_opts){.size = sizeof(pawl_call_opts),
                            .attempts = p.attempts,
                            .backoff = p.backoff,
                            .initial_ms = p.initial_ms,
                            .cap_ms = p.cap_ms,
                            .factor = p.factor,
                            .jitter = p.jitter,
                            .final_errors = errors,
                            .no_retry_on_timeout = p.no_retry_on_timeout,
                            .schedule_to_start_ms = p.schedule_to_start_ms,
                            .start_to_close_ms = p.start_to_close_ms,
                            .schedule_to_close_ms = p.schedule_to_close_ms,
                            .heartbeat_ms = p.heartbeat_ms,
                            .tag = p.tag.len ? p.tag.ptr : NULL,
                            .max_crashes = p.max_crashes,
                            .at_most_once = p.at_most_once,
                            .key = p.key.len ? p.key.ptr : NULL,
                            .priority = p.priority};
}

static pawl_result job_code(pawl_ctx *ctx, pawl_str input)
{
    pawl_mem *mem = pawl_ctx_mem(ctx);
    pawl_call_opts opts = options_of(mem, input);
    return pawl_call_with(ctx, pawl_json_text(mem, input, "/activity", "").ptr,
                          pawl_json_get(input, "/input"), &opts);
}

bool built_in_register(pawl_app *app)
{
    return registry_add_code(app, PAWL_JOB, "1.0.0", job_code, NULL) == PAWL_OK;
}

/* ---- Its input --------------------------------------------------------------------- */

enum option_kind { WHOLE, NUMBER, TRUTH, TEXT, TEXTS, GROWTH };

static const struct job_option {
    const char *name;
    enum option_kind kind;
    int64_t least, most;
} options[] = {
#define OPTION(name, kind, least, most, about) {#name, kind, least, most},
    JOB_OPTIONS(OPTION)
#undef OPTION
};

/* A text that C code can be given as it is: some bytes, and no NUL among them. */
static bool is_c_text(pawl_str raw)
{
    char bytes[4] = "";
    if (json_type(raw) != JSON_STRING || raw.len == 2)
        return false;
    struct json_text text = json_text_of((pawl_str){raw.ptr + 1, raw.len - 2});
    while (json_text_next(&text, bytes))
        if (!bytes[0])
            return false;
    return true;
}

static bool is_texts(pawl_str raw, int64_t most)
{
    struct json_iter it;
    if (json_type(raw) != JSON_ARRAY)
        return false;
    for (json_begin(&it, raw); json_next(&it); most--)
        if (most < 1 || !is_c_text(it.value))
            return false;
    return true;
}

static bool refuse(pawl_error *reterr, const char *name, const char *what)
{
    error_set(reterr, PAWL_INVALID, "'%s' of a job must be %s", name, what);
    return false;
}

static bool check_backoff(pawl_str raw, pawl_error *reterr)
{
    if (pawl_str_is(raw, "\"exponential\"") || pawl_str_is(raw, "\"linear\"") ||
        pawl_str_is(raw, "\"fixed\""))
        return true;
    return refuse(reterr, "backoff", "exponential, linear or fixed");
}

static bool check_option(const struct job_option *o, pawl_str raw, pawl_error *reterr)
{
    char range[80];
    int64_t n;
    double real;
    switch (o->kind) {
    case WHOLE:
        if (json_integer(raw, &n) && n >= o->least && n <= o->most)
            return true;
        (void)snprintf(range, sizeof(range), "a whole number from %lld to %lld",
                       (long long)o->least, (long long)o->most);
        return refuse(reterr, o->name, range);
    case NUMBER:
        real = json_type(raw) == JSON_NUMBER ? pawl_json_number(raw, "", -1) : -1;
        if (real >= (double)o->least && real <= (double)o->most)
            return true;
        (void)snprintf(range, sizeof(range), "a number from %lld to %lld", (long long)o->least,
                       (long long)o->most);
        return refuse(reterr, o->name, range);
    case TRUTH:
        return json_type(raw) == JSON_BOOL || refuse(reterr, o->name, "true or false");
    case TEXT:
        return json_type(raw) == JSON_STRING || refuse(reterr, o->name, "a text");
    case GROWTH:
        return check_backoff(raw, reterr);
    case TEXTS:
        (void)snprintf(range, sizeof(range), "a list of at most %lld texts that are not empty",
                       (long long)o->most);
        return is_texts(raw, o->most) || refuse(reterr, o->name, range);
    }
    return false;
}

/* `name` of the input is a name as pawl_call() takes it. */
static bool check_named(pawl_str input, const char *member, const char *what, pawl_error *reterr)
{
    pawl_mem mem;
    arena_init(&mem);
    pawl_str name = pawl_json_text(&mem, input, member, "");
    bool fine = check_name(what, name, reterr);
    if (fine && is_reserved(name))
        fine = refuse(reterr, member + 1, "a name that does not begin with " RESERVED);
    if (fine && memchr(name.ptr, 0, name.len))
        fine = refuse(reterr, member + 1, "a text without NUL");
    arena_deinit(&mem);
    return fine;
}

/* `key` of the input: for whom the call is. */
static bool check_key(pawl_str input, pawl_error *reterr)
{
    pawl_mem mem;
    arena_init(&mem);
    bool fine = check_tray_key(pawl_json_text(&mem, input, "/key", ""), reterr);
    arena_deinit(&mem);
    return fine;
}

static bool check_member(pawl_str key, pawl_str raw, pawl_error *reterr)
{
    if (pawl_str_is(key, "activity") || pawl_str_is(key, "input") || json_type(raw) == JSON_NULL)
        return true;
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (pawl_str_is(key, options[i].name))
            return check_option(&options[i], raw, reterr);
    error_about(reterr, PAWL_INVALID, "unknown member '", key,
                "' in the input of a job; known: activity, input and the fields of "
                "pawl_call_opts");
    return false;
}

bool job_check(pawl_str input, pawl_error *reterr)
{
    struct json_iter it;
    if (!pawl_json_valid(input, NULL) || json_type(input) != JSON_OBJECT) {
        error_set(reterr, PAWL_INVALID,
                  "the input of a job must be a JSON object: {\"activity\":\"NAME\",\"input\":…}");
        return false;
    }
    for (json_begin(&it, input); json_next(&it);)
        if (!check_member(it.key, it.value, reterr))
            return false;
    if (json_type(pawl_json_get(input, "/activity")) != JSON_STRING)
        return refuse(reterr, "activity", "the name of an activity");
    if (!check_named(input, "/activity", "activity name", reterr))
        return false;
    if (json_type(pawl_json_get(input, "/tag")) == JSON_STRING &&
        !check_named(input, "/tag", "tag", reterr))
        return false;
    return json_type(pawl_json_get(input, "/key")) != JSON_STRING || check_key(input, reterr);
}
