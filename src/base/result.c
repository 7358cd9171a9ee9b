/* SPDX-License-Identifier: MIT */
/* base/result.c -- see result.h. */
#include "base/result.h"

#include "base/attr.h"
#include "pawl/json.h"

#include <string.h>

static pawl_result_kind kind_of_word(pawl_str quoted)
{
    for (int k = PAWL_RESULT_FAILED; pawl_result_kind_name(k); k++) {
        pawl_str word = pawl_s(pawl_result_kind_name(k));
        if (quoted.len == word.len + 2 && pawl_str_eq((pawl_str){quoted.ptr + 1, word.len}, word))
            return (pawl_result_kind)k;
    }
    return PAWL_RESULT_FAILED;
}

/* Most attrs of completions have only the time at which the attempt began: no need to walk them. */
static bool says_nothing_else(pawl_str attrs)
{
    const size_t n = sizeof(RESULT_STARTED) - 1;
    return attrs.len > n && memcmp(attrs.ptr, RESULT_STARTED, n) == 0 &&
           !memchr(attrs.ptr + n, ',', attrs.len - n);
}

struct result_of result_of_event(int event_kind, pawl_str attrs)
{
    bool activity =
        event_kind == PAWL_EV_ACTIVITY_COMPLETED || event_kind == PAWL_EV_ACTIVITY_FAILED;
    bool failed =
        event_kind == PAWL_EV_ACTIVITY_FAILED || event_kind == PAWL_EV_SUB_ORCHESTRATION_FAILED;
    struct result_of r = {failed ? PAWL_RESULT_FAILED : PAWL_RESULT_OK, activity};

    if (attrs.len == 0 || says_nothing_else(attrs))
        return r;
    if (failed)
        r.kind = kind_of_word(pawl_json_get(attrs, "/kind"));
    if (activity) {
        int64_t attempts = pawl_json_int(attrs, "/attempts", 1);
        r.attempts = attempts >= 0 && attempts <= UINT32_MAX ? (uint32_t)attempts : 1;
    }
    return r;
}
