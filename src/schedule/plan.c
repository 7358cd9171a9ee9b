/* SPDX-License-Identifier: MIT */
/*
 * schedule/plan.c -- the occurrences of a schedule, whatever says when.
 *
 * See plan.h.
 */
#include "schedule/plan.h"

#include "base/rand.h"
#include "schedule/civil.h"

static bool cron_lines_next(const struct plan *p, int64_t after_ms, int64_t *ret)
{
    int64_t after = floor_div(after_ms, 1000), best = INT64_MAX;
    int64_t until =
        smaller(floor_div(p->until_ms, 1000), after + PLAN_YEARS_MAX * INT64_C(366) * DAY_SECONDS);
    for (size_t i = 0; i < p->line_count; i++) {
        int64_t found;
        if (line_next(p, &p->lines[i], after, until, &found)) {
            best = found;
            until = found - 1; /* only an earlier one is of interest now */
        }
    }
    if (best == INT64_MAX)
        return false;
    *ret = best * 1000;
    return true;
}

static bool every_next(const struct plan *p, int64_t after_ms, int64_t *ret)
{
    int64_t past = floor_div(after_ms - p->offset_ms, p->every_ms);
    *ret = (past + 1) * p->every_ms + p->offset_ms;
    return true;
}

static bool listed_next(const struct plan *p, int64_t after_ms, int64_t *ret)
{
    *ret = INT64_MAX;
    for (size_t i = 0; i < p->at_count; i++)
        if (p->at_ms[i] > after_ms)
            *ret = smaller(*ret, p->at_ms[i]);
    return *ret != INT64_MAX;
}

bool plan_next(const struct plan *p, int64_t after_ms, int64_t *ret)
{
    int64_t found;
    if (after_ms < p->from_ms - 1)
        after_ms = p->from_ms - 1;
    if (after_ms >= p->until_ms)
        return false;
    bool is = p->line_count ? cron_lines_next(p, after_ms, &found)
              : p->every_ms ? every_next(p, after_ms, &found)
                            : listed_next(p, after_ms, &found);
    if (!is || found > p->until_ms)
        return false;
    *ret = found;
    return true;
}

/* Is there one after `after_ms` that is not after `until_ms`? */
static bool has_one(const struct plan *p, int64_t after_ms, int64_t until_ms, int64_t *ret)
{
    return plan_next(p, after_ms, ret) && *ret <= until_ms;
}

bool plan_last(const struct plan *p, int64_t after_ms, int64_t until_ms, int64_t *ret)
{
    int64_t end = smaller(until_ms, p->until_ms), found, step = 1000;
    int64_t bottom = after_ms < p->from_ms - 1 ? p->from_ms - 1 : after_ms;
    if (bottom >= end || !has_one(p, bottom, end, &found))
        return false;
    /* Back from the end in longer and longer steps, until there is one … */
    int64_t low = end, none = end;
    while (!has_one(p, low, end, &found)) {
        none = low;
        low = end - step > bottom ? end - step : bottom;
        step *= 2;
    }
    /* … then halve: one lies behind `low`, none behind `none`. */
    for (*ret = found; none - low > 1;) {
        int64_t middle = low + (none - low) / 2;
        if (has_one(p, middle, end, &found)) {
            *ret = found;
            low = found - 1;
        } else {
            none = middle;
        }
    }
    return true;
}

uint64_t plan_count(const struct plan *p, int64_t after_ms, int64_t until_ms, uint64_t most)
{
    uint64_t n = 0;
    if (p->every_ms) {
        int64_t first, last;
        if (!has_one(p, after_ms, until_ms, &first) || !plan_last(p, after_ms, until_ms, &last))
            return 0;
        n = (uint64_t)((last - first) / p->every_ms) + 1;
        return n < most ? n : most;
    }
    while (n < most && has_one(p, after_ms, until_ms, &after_ms))
        n++;
    return n;
}

int64_t schedule_jitter(pawl_str name, int64_t jitter_ms, int64_t occurrence_ms)
{
    if (jitter_ms <= 0)
        return 0;
    const uint64_t key[2] = {UINT64_C(0x6a697474), (uint64_t)occurrence_ms};
    return (int64_t)(siphash24(key, name.ptr, name.len) % (uint64_t)jitter_ms);
}
