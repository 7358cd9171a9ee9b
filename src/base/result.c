/* SPDX-License-Identifier: MIT */
/* base/result.c -- see result.h. */
#include "base/result.h"

#include "base/attr.h"
#include "pawl/json.h"

static pawl_result_kind kind_of_word(pawl_str quoted)
{
    for (int k = PAWL_RESULT_FAILED; pawl_result_kind_name(k); k++) {
        pawl_str word = pawl_s(pawl_result_kind_name(k));
        if (quoted.len == word.len + 2 && pawl_str_eq((pawl_str){quoted.ptr + 1, word.len}, word))
            return (pawl_result_kind)k;
    }
    return PAWL_RESULT_FAILED;
}

struct result_of result_of_event(int event_kind, pawl_str attrs)
{
    bool activity =
        event_kind == PAWL_EV_ACTIVITY_COMPLETED || event_kind == PAWL_EV_ACTIVITY_FAILED;
    bool failed =
        event_kind == PAWL_EV_ACTIVITY_FAILED || event_kind == PAWL_EV_SUB_ORCHESTRATION_FAILED;
    struct result_of r = {failed ? PAWL_RESULT_FAILED : PAWL_RESULT_OK, activity};

    if (attrs.len == 0)
        return r;
    if (failed)
        r.kind = kind_of_word(pawl_json_get(attrs, "/kind"));
    if (activity) {
        int64_t attempts = pawl_json_int(attrs, "/attempts", 1);
        r.attempts = attempts >= 0 && attempts <= UINT32_MAX ? (uint32_t)attempts : 1;
    }
    return r;
}
