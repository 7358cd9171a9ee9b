/* SPDX-License-Identifier: MIT */
/*
 * base/types.c -- the words behind the public enums, and slices.
 *
 * Where it can, a table comes from the X-macro that defines its enum, so a new
 * status or event kind cannot be without its words.  Names are part of the API
 * and of what people keep (logs, JSON, the dashboard): they never change.
 */
#include "pawl/event.h"

#include "base/attr.h"
#include "base/misuse.h"

#include <string.h>

pawl_str pawl_s(const char *text)
{
    if (!text)
        return (pawl_str){0};
    return (pawl_str){.ptr = text, .len = strlen(text)};
}

bool pawl_str_eq(pawl_str a, pawl_str b)
{
    return a.len == b.len && (a.len == 0 || (a.ptr && b.ptr && memcmp(a.ptr, b.ptr, a.len) == 0));
}

/* Most texts that are not the same differ in their first byte. */
bool pawl_str_is(pawl_str a, const char *text)
{
    if (a.len && a.ptr && text && *a.ptr != *text)
        return false;
    return pawl_str_eq(a, pawl_s(text));
}

/* Indexed by the negated status.  The preprocessor cannot make small letters of
 * the enum's names; the test compares the two spellings. */
static const char *const status_codes[] = {
    [-PAWL_OK] = "ok",
    [-PAWL_EMPTY] = "empty",
    [-PAWL_NOT_FOUND] = "not_found",
    [-PAWL_EXISTS] = "exists",
    [-PAWL_CONFLICT] = "conflict",
    [-PAWL_INVALID] = "invalid",
    [-PAWL_LIMIT] = "limit",
    [-PAWL_TIMEOUT] = "timeout",
    [-PAWL_BUSY] = "busy",
    [-PAWL_UNAVAILABLE] = "unavailable",
    [-PAWL_DISK_FULL] = "disk_full",
    [-PAWL_NO_MEMORY] = "no_memory",
    [-PAWL_SHUTDOWN] = "shutdown",
    [-PAWL_LOST] = "lost",
    [-PAWL_FENCED] = "fenced",
    [-PAWL_UNKNOWN] = "unknown",
    [-PAWL_CORRUPT] = "corrupt",
    [-PAWL_UNSUPPORTED] = "unsupported",
    [-PAWL_MISUSE] = "misuse",
};

const char *pawl_status_code(pawl_status status)
{
    size_t i = (size_t)(-(long)status); /* a positive number becomes a huge one */

    return i < COUNT_OF(status_codes) ? status_codes[i] : "no_status";
}

const char *pawl_status_text(pawl_status status)
{
    switch (status) {
#define X(name, value, klass, text)                                                                \
    case PAWL_##name:                                                                              \
        return text;
        PAWL_STATUS_MAP(X)
#undef X
    }
    return "a number that is no status";
}

static const char *const state_names[] = {
    [PAWL_PENDING] = "pending",     [PAWL_RUNNING] = "running",
    [PAWL_SUSPENDED] = "suspended", [PAWL_BLOCKED] = "blocked",
    [PAWL_COMPLETED] = "completed", [PAWL_FAILED] = "failed",
    [PAWL_CANCELLED] = "cancelled", [PAWL_CONTINUED_AS_NEW] = "continued_as_new",
};

const char *pawl_state_name(pawl_state state)
{
    size_t i = (size_t)state; /* a negative number becomes a huge one */

    return i < COUNT_OF(state_names) ? state_names[i] : NULL;
}

bool pawl_state_is_terminal(pawl_state state)
{
    return state == PAWL_COMPLETED || state == PAWL_FAILED || state == PAWL_CANCELLED ||
           state == PAWL_CONTINUED_AS_NEW;
}

const char *pawl_result_kind_name(int kind)
{
    switch (kind) {
#define RESULT_CASE(name, number, word, text)                                                      \
    case PAWL_RESULT_##name:                                                                       \
        return word;
        PAWL_RESULT_KINDS(RESULT_CASE)
#undef RESULT_CASE
    default: /* a number from somewhere, not one of our enums */
        return NULL;
    }
}

const char *pawl_event_kind_name(int kind)
{
    switch (kind) {
#define X(name, number, text, klass)                                                               \
    case number:                                                                                   \
        return text;
        PAWL_EVENT_KINDS(X)
#undef X
    }
    return NULL;
}

int pawl_event_kind_of(pawl_str name)
{
    if (is_odd(name))
        return 0;
#define X(symbol, number, text, klass)                                                             \
    if (name.len == sizeof(text) - 1 && memcmp(name.ptr, text, sizeof(text) - 1) == 0)             \
        return number;
    PAWL_EVENT_KINDS(X)
#undef X
    return 0;
}
