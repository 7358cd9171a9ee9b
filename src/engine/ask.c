/* SPDX-License-Identifier: MIT */
/*
 * engine/ask.c -- what a wait may ask for (pawl_wait_event_ask), before it is recorded.
 *
 * An ask is a JSON object for those who answer: title, text, schema, choices.  Pawl shows it and does
 * not compare answers with it.  A bad one is refused as any call over a limit (SEMANTICS 30, 40).
 * Called by api_start.c.  Pure.
 */
#include "base/json.h"
#include "base/limits.h"
#include "engine/engine_private.h"

#include <stdio.h>

static const char *bad_choices(pawl_str list)
{
    struct json_iter it;
    size_t n = 0;
    if (json_type(list) != JSON_ARRAY)
        return "choices is not a list of texts";
    for (json_begin(&it, list); json_next(&it); n++)
        if (json_type(it.value) != JSON_STRING)
            return "choices is not a list of texts";
    return n < 1 || n > LIMIT_ASK_CHOICES ? "choices has none, or more than 100" : NULL;
}

/* One with two titles would be read otherwise by each who reads it. */
static bool is_twice(pawl_str ask, const char *name)
{
    struct json_iter it;
    int n = 0;
    for (json_begin(&it, ask); json_next(&it);)
        n += pawl_str_is(it.key, name);
    return n > 1;
}

static bool has_twice(pawl_str ask)
{
    return is_twice(ask, "title") || is_twice(ask, "text") || is_twice(ask, "schema") ||
           is_twice(ask, "choices");
}

/* What is wrong with one member; NULL: nothing. */
static const char *bad_member(pawl_str key, pawl_str value)
{
    bool title = pawl_str_is(key, "title");
    if (title || pawl_str_is(key, "text"))
        return json_type(value) == JSON_STRING ? NULL
               : title                         ? "title is not a text"
                                               : "text is not a text";
    if (pawl_str_is(key, "schema"))
        return json_type(value) == JSON_OBJECT ? NULL : "schema is not an object";
    if (pawl_str_is(key, "choices"))
        return bad_choices(value);
    return "its members are title, text, schema and choices";
}

const char *ask_fault(pawl_str ask)
{
    struct json_iter it;
    bool says = false;
    if (is_odd(ask) || ask.len > LIMIT_ASK_BYTES)
        return "it has more than 16384 bytes";
    if (!json_fits(ask, LIMIT_JSON_DEPTH) || json_type(ask) != JSON_OBJECT)
        return "it is not a JSON object";
    for (json_begin(&it, ask); json_next(&it);) {
        const char *fault = bad_member(it.key, it.value);
        if (fault)
            return fault;
        bool text = pawl_str_is(it.key, "title") || pawl_str_is(it.key, "text");
        says = says || (text && !pawl_str_is(it.value, "\"\""));
    }
    return !says            ? "it needs a title or a text"
           : has_twice(ask) ? "one of its members is there twice"
                            : NULL;
}
