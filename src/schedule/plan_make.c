/* SPDX-License-Identifier: MIT */
/*
 * schedule/plan_make.c -- what a schedule may be, and its plan.
 *
 * A refusal is one line that says which member is wrong and what to do.  Every member is checked:
 * a wrong one is neither stored nor ignored.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/reserved.h"
#include "schedule/plan.h"

#define refuse(...) (error_set(reterr, PAWL_INVALID, __VA_ARGS__), PAWL_INVALID)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        pawl_status status_ = (call);                                                              \
        if (status_ != PAWL_OK)                                                                    \
            return status_;                                                                        \
    } while (0)

static pawl_status check_one_kind(const pawl_schedule *s, pawl_error *reterr)
{
    bool cron = s->cron && s->cron[0], every = s->every_ms != 0, at = s->at_count != 0;
    int kinds = cron + every + at;
    if (kinds == 0)
        return refuse("the schedule says no time; give cron, every_ms or at_ms");
    if (kinds > 1)
        return refuse("the schedule has %s and %s; give one of them", cron ? "cron" : "every_ms",
                      at ? "at_ms" : "every_ms");
    return PAWL_OK;
}

static pawl_status take_lines(struct plan *p, const char *const *lines, pawl_error *reterr)
{
    for (size_t i = 0; lines && lines[i]; i++) {
        pawl_error why;
        if (i == PAWL_SCHEDULE_LINES_MAX)
            return refuse("the schedule has more than %d cron lines; make a second schedule",
                          PAWL_SCHEDULE_LINES_MAX);
        if (!cron_parse(&p->lines[i], lines[i], &why)) {
            if (reterr)
                *reterr = why;
            return why.status;
        }
        p->line_count = i + 1;
    }
    return PAWL_OK;
}

static pawl_status take_period(struct plan *p, const pawl_schedule *s, pawl_error *reterr)
{
    if (s->every_ms &&
        (s->every_ms < PAWL_SCHEDULE_EVERY_MIN || s->every_ms > PAWL_SCHEDULE_EVERY_MAX))
        return refuse("every_ms is %lld; give %lld (one second) to %lld (100 years)",
                      (long long)s->every_ms, (long long)PAWL_SCHEDULE_EVERY_MIN,
                      (long long)PAWL_SCHEDULE_EVERY_MAX);
    if (s->offset_ms && !s->every_ms)
        return refuse("offset_ms is given without every_ms; give both");
    if (s->offset_ms < 0 || (s->every_ms && s->offset_ms >= s->every_ms))
        return refuse("offset_ms is %lld; give 0 to %lld, less than every_ms",
                      (long long)s->offset_ms, (long long)(s->every_ms - 1));
    p->every_ms = s->every_ms;
    p->offset_ms = s->offset_ms;
    return PAWL_OK;
}

static bool is_time(int64_t ms)
{
    return ms >= 0 && ms <= PAWL_SCHEDULE_END;
}

static pawl_status take_times(struct plan *p, const pawl_schedule *s, pawl_error *reterr)
{
    if (s->at_count > PAWL_SCHEDULE_TIMES_MAX)
        return refuse("at_ms has %zu times, the limit is %d; make a second schedule", s->at_count,
                      PAWL_SCHEDULE_TIMES_MAX);
    for (size_t i = 0; i < s->at_count; i++)
        if (!is_time(s->at_ms[i]))
            return refuse(
                "at_ms has the time %lld; give milliseconds since 1970, before the year 10000",
                (long long)s->at_ms[i]);
    p->at_ms = s->at_ms;
    p->at_count = s->at_count;
    return PAWL_OK;
}

static pawl_status take_bounds(struct plan *p, const pawl_schedule *s, pawl_error *reterr)
{
    if (!is_time(s->from_ms) || !is_time(s->until_ms))
        return refuse("%s is not a time; give milliseconds since 1970, before the year 10000",
                      is_time(s->from_ms) ? "until_ms" : "from_ms");
    if (s->until_ms && s->until_ms < s->from_ms)
        return refuse("until_ms is before from_ms; give a later time");
    p->from_ms = s->from_ms;
    p->until_ms = s->until_ms ? s->until_ms : PAWL_SCHEDULE_END;
    return PAWL_OK;
}

static pawl_status take_changes(struct plan *p, const pawl_schedule *s, pawl_error *reterr)
{
    if ((unsigned)s->gap > PAWL_GAP_SKIP)
        return refuse("gap is %d; give a PAWL_GAP_…", (int)s->gap);
    if ((unsigned)s->fold > PAWL_FOLD_BOTH)
        return refuse("fold is %d; give a PAWL_FOLD_…", (int)s->fold);
    p->gap = s->gap;
    p->fold = s->fold;
    return PAWL_OK;
}

pawl_status plan_make(struct plan *ret, const pawl_schedule *s, const struct zone *zone,
                      pawl_error *reterr)
{
    *ret = (struct plan){.zone = zone};
    TRY(check_one_kind(s, reterr));
    TRY(take_lines(ret, s->cron, reterr));
    TRY(take_period(ret, s, reterr));
    TRY(take_times(ret, s, reterr));
    TRY(take_bounds(ret, s, reterr));
    TRY(take_changes(ret, s, reterr));
    return PAWL_OK;
}

pawl_status plan_check_jitter(const struct plan *p, int64_t jitter_ms, int64_t after_ms,
                              pawl_error *reterr)
{
    int64_t last, at, shortest = INT64_MAX;
    if (jitter_ms < 0 || jitter_ms > PAWL_DAYS(366))
        return refuse("jitter_ms is %lld; give 0 to %lld (366 days)", (long long)jitter_ms,
                      (long long)PAWL_DAYS(366));
    if (!jitter_ms || !plan_next(p, after_ms, &last))
        return PAWL_OK;
    for (int i = 1; i < 100 && plan_next(p, last, &at); i++, last = at)
        if (at - last < shortest)
            shortest = at - last;
    if (jitter_ms < shortest - shortest / 2)
        return PAWL_OK;
    return refuse(
        "jitter_ms is %lld, but two occurrences are only %lld ms apart; give less than half "
        "of that",
        (long long)jitter_ms, (long long)shortest);
}

/* ---- What it starts ---------------------------------------------------------------------- */

static pawl_status check_policies(const pawl_schedule *s, pawl_error *reterr)
{
    if ((unsigned)s->overlap > PAWL_OVERLAP_ALLOW)
        return refuse("overlap is %d; give a PAWL_OVERLAP_…", (int)s->overlap);
    if ((unsigned)s->missed > PAWL_MISSED_SKIP)
        return refuse("missed is %d; give a PAWL_MISSED_…", (int)s->missed);
    if (s->queue_max && s->overlap != PAWL_OVERLAP_QUEUE)
        return refuse("queue_max is given, but overlap is not \"queue\"; give both or none");
    if (s->queue_max > PAWL_SCHEDULE_QUEUE_MAX)
        return refuse("queue_max is %u, the limit is %d", s->queue_max, PAWL_SCHEDULE_QUEUE_MAX);
    if (s->missed_window_ms < 0 || s->missed_window_ms > PAWL_SCHEDULE_EVERY_MAX)
        return refuse("missed_window_ms is %lld; give 0 (24 hours) to %lld (100 years)",
                      (long long)s->missed_window_ms, (long long)PAWL_SCHEDULE_EVERY_MAX);
    return PAWL_OK;
}

static pawl_status check_what(const pawl_schedule *s, pawl_error *reterr)
{
    pawl_error why = {0};
    if (!s->orchestration == !s->queue)
        return refuse(s->queue ? "the schedule has an orchestration and a queue; give one of them"
                               : "the schedule starts nothing; give an orchestration or a queue");
    if (s->version && s->queue)
        return refuse("version is given, but a queue has none; leave it out");
    if (s->priority && !s->queue)
        return refuse("priority is given, but only a queue has one; leave it out");
    if (s->priority < 0)
        return refuse("priority is %lld; give 0 or more", (long long)s->priority);
    bool ok = (!s->orchestration || check_orchestration_name(pawl_s(s->orchestration), &why)) &&
              (!s->version || check_version(pawl_s(s->version), &why)) &&
              (!s->queue || check_queue_name("queue name", pawl_s(s->queue), &why)) &&
              check_queue_name("schedule name", pawl_s(s->name), &why);
    if (!ok && reterr)
        *reterr = why;
    return ok ? PAWL_OK : why.status;
}

pawl_status schedule_check_target(const pawl_schedule *s, pawl_error *reterr)
{
    TRY(check_what(s, reterr));
    TRY(check_policies(s, reterr));
    if (s->input.len > PAWL_SCHEDULE_INPUT_BYTES)
        return refuse("input has %zu bytes, the limit is %zu; pass a reference to it", s->input.len,
                      PAWL_SCHEDULE_INPUT_BYTES);
    if (s->input.len && !json_fits(s->input, LIMIT_JSON_DEPTH - 4))
        return refuse("input is not JSON, or is nested too deeply; give one JSON value");
    return PAWL_OK;
}
