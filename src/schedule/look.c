/* SPDX-License-Identifier: MIT */
/* schedule/look.c -- see the header. */
#include "schedule/look.h"

#include "base/attr.h"
#include "schedule/instant.h"

#include <string.h>

/* ---- Ids ------------------------------------------------------------------------------- */

pawl_str look_run_id(pawl_mem *mem, pawl_str name, int64_t at_ms)
{
    char text[PAWL_LOCAL_TIME_BYTES];
    return pawl_mem_printf(mem, "%.*s@%s", PAWL_FMT(name), instant_text(text, at_ms));
}

/* 2026-11-17T06:00:00Z, with or without milliseconds. */
static bool is_instant(pawl_str text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    size_t n = sizeof(form) - 1;
    if (text.len != n + 1 && text.len != n + 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        if (form[i] == 'd' ? !digit : text.ptr[i] != form[i])
            return false;
    }
    return text.ptr[text.len - 1] == 'Z' && (text.len == n + 1 || text.ptr[n] == '.');
}

bool look_is_run(pawl_str id, pawl_str *retname)
{
    static const char manual[] = "manual-";
    const char *at = id.len ? memrchr(id.ptr, '@', id.len) : NULL;
    if (!at || at == id.ptr)
        return false;
    pawl_str rest = {at + 1, id.len - (size_t)(at - id.ptr) - 1};
    *retname = (pawl_str){id.ptr, (size_t)(at - id.ptr)};
    return is_instant(rest) ||
           (rest.len > sizeof(manual) - 1 && memcmp(rest.ptr, manual, sizeof(manual) - 1) == 0);
}

/* ---- Beginning runs ------------------------------------------------------------------------ */

static pawl_str add_act(struct look *l, enum look_act_kind kind, int64_t at_ms, pawl_str id)
{
    struct look_act *d = list_add(l->mem, &l->acts);
    *d = (struct look_act){kind, at_ms, id.len ? id : look_run_id(l->mem, l->name, at_ms)};
    return d->id;
}

/* May a run begin without waiting for the end of another? */
static bool is_free(const struct look *l)
{
    return l->spec->queue || l->spec->overlap == PAWL_OVERLAP_ALLOW;
}

static bool has_ran_out(const struct look *l)
{
    const struct schedule_state *s = l->state;
    return l->spec->max_runs && s->runs + s->waiting.count >= l->spec->max_runs;
}

static void begin_run(struct look *l, int64_t at_ms)
{
    struct schedule_state *s = l->state;
    pawl_str id = add_act(l, l->spec->queue ? LOOK_DO_PUSH : LOOK_DO_START, at_ms, (pawl_str){0});
    s->runs++;
    if (!is_free(l)) {
        s->open = id;
        s->stopping = false;
    }
}

static void drop_waiting(struct schedule_state *s, size_t count)
{
    if (!count)
        return;
    memmove(s->waiting.items, s->waiting.items + count,
            (s->waiting.count - count) * sizeof(s->waiting.items[0]));
    s->waiting.count -= count;
    s->skipped += count;
}

/* The occurrence waits for the end of the open run.  When too many wait, the oldest is skipped. */
static void wait_for_end(struct look *l, int64_t at_ms, size_t most)
{
    struct schedule_state *s = l->state;
    *list_add(l->mem, &s->waiting) = at_ms;
    if (s->waiting.count > most)
        drop_waiting(s, s->waiting.count - most);
}

/* Begin one occurrence that waits, or all when they need not wait for ends any more. */
static void begin_waiting(struct look *l)
{
    struct schedule_state *s = l->state;
    while (s->waiting.count && (is_free(l) || !s->open.len)) {
        int64_t at = s->waiting.items[0];
        drop_waiting(s, 1);
        s->skipped--; /* it begins */
        begin_run(l, at);
    }
}

static void stop_open(struct look *l, enum look_act_kind kind)
{
    if (!l->state->stopping)
        (void)add_act(l, kind, 0, l->state->open);
    l->state->stopping = true;
}

/* Treat a due occurrence as the overlap says. */
static void meet(struct look *l, int64_t at_ms)
{
    struct schedule_state *s = l->state;
    s->last_ms = at_ms;
    if (is_free(l) || !s->open.len) {
        begin_run(l, at_ms);
        return;
    }
    switch (l->spec->overlap) {
    case PAWL_OVERLAP_SKIP:
    case PAWL_OVERLAP_ALLOW:
        s->skipped++;
        break;
    case PAWL_OVERLAP_QUEUE:
        wait_for_end(l, at_ms, l->spec->queue_max ? l->spec->queue_max : 1);
        break;
    case PAWL_OVERLAP_CANCEL:
        wait_for_end(l, at_ms, 1);
        stop_open(l, LOOK_DO_CANCEL);
        break;
    case PAWL_OVERLAP_TERMINATE:
        wait_for_end(l, at_ms, 1);
        stop_open(l, LOOK_DO_TERMINATE);
        break;
    }
}

/* ---- What is due ------------------------------------------------------------------------------ */

/* The newest occurrence whose time, jitter included, has come. */
static bool newest_due(const struct look *l, int64_t *ret)
{
    int64_t after = l->state->last_ms, until = l->now_ms;
    while (plan_last(l->plan, after, until, ret)) {
        if (*ret + schedule_jitter(l->name, l->spec->jitter_ms, *ret) <= l->now_ms)
            return true;
        until = *ret - 1;
    }
    return false;
}

/* Count the occurrences up to `until_ms` as missed. */
static void miss(struct look *l, int64_t until_ms)
{
    struct schedule_state *s = l->state;
    if (until_ms <= s->last_ms)
        return;
    uint64_t most = l->plan->every_ms ? UINT64_MAX : LOOK_COUNT_MAX; /* each line costs time */
    s->missed += plan_count(l->plan, s->last_ms, until_ms, most);
    s->last_ms = until_ms;
}

/* Keep only the newest 1,000, searched from the end: there may be millions. */
static void keep_newest(struct look *l, int64_t newest)
{
    int64_t at = newest + 1;
    for (int i = 0; i < LOOK_ALL_MAX; i++)
        if (!plan_last(l->plan, l->state->last_ms, at - 1, &at))
            return;
    miss(l, at - 1);
}

/* Treat each due occurrence, oldest first.  False: a run must end before the rest. */
static bool meet_each(struct look *l, int64_t newest)
{
    struct schedule_state *s = l->state;
    int64_t at;
    bool several = plan_count(l->plan, s->last_ms, newest, 2) > 1;
    while (s->last_ms < newest && !has_ran_out(l) && plan_next(l->plan, s->last_ms, &at)) {
        if (several && !is_free(l) && s->open.len)
            return false;
        if (l->acts.count >= LOOK_STARTS_MAX) {
            l->again = true;
            return true;
        }
        meet(l, at);
    }
    return true;
}

static void set_next(struct look *l, int64_t after_ms)
{
    if (has_ran_out(l) || !plan_next(l->plan, after_ms, &l->state->next_ms))
        l->state->next_ms = 0;
}

void look_due(struct look *l)
{
    struct schedule_state *s = l->state;
    int64_t newest,
        window = l->spec->missed_window_ms ? l->spec->missed_window_ms : PAWL_SCHEDULE_WINDOW;
    if (s->paused || s->finding.len) {
        s->next_ms = 0;
        return;
    }
    begin_waiting(l); /* a run may have ended while it was paused */
    if (has_ran_out(l) || !newest_due(l, &newest)) {
        set_next(l, s->last_ms);
        return;
    }
    if (l->spec->missed == PAWL_MISSED_SKIP)
        window = smaller(window, LOOK_SKIP_MS);
    window += l->spec->jitter_ms; /* it begins that much later */
    if (l->spec->missed == PAWL_MISSED_LATEST) {
        bool late = newest < l->now_ms - window;
        miss(l, late ? newest : newest - 1);
        if (!late)
            meet(l, newest);
        set_next(l, s->last_ms);
        return;
    }
    miss(l, smaller(newest, l->now_ms - window - 1));
    keep_newest(l, newest);
    bool all = meet_each(l, newest);
    set_next(l, all ? s->last_ms : newest);
}

void look_leave(struct look *l)
{
    if (!l->state->finding.len && !has_ran_out(l))
        miss(l, l->now_ms);
}

/* ---- Ends --------------------------------------------------------------------------------------- */

static void pause_for(struct look *l, pawl_str id)
{
    struct schedule_state *s = l->state;
    s->paused = true;
    s->reason = pawl_mem_printf(l->mem, "run '%.*s' failed", PAWL_FMT(id));
    drop_waiting(s, s->waiting.count);
}

void look_ended(struct look *l, pawl_str id, pawl_str how)
{
    struct schedule_state *s = l->state;
    bool existed = pawl_str_is(how, "exists"), ours = pawl_str_eq(id, s->open);
    if (existed) {
        s->existed++;
        s->runs -= s->runs > 0 && ours;
    } else {
        s->ended.instance = arena_dup(l->mem, id);
        s->ended.state = arena_dup(l->mem, how);
        s->ended.ended_ms = l->now_ms;
    }
    if (pawl_str_is(how, "failed") && l->spec->pause_on_failure && !s->paused)
        pause_for(l, id);
    if (pawl_str_eq(id, s->backfill.open))
        s->backfill.open = (pawl_str){0};
    if (!ours)
        return;
    s->open = (pawl_str){0};
    s->stopping = false;
    if (!s->paused && !s->finding.len)
        begin_waiting(l);
}

/* ---- Backfill --------------------------------------------------------------------------------------- */

pawl_status look_backfill(struct look *l, const struct plan *plan,
                          pawl_status (*exists)(void *user, pawl_str id), void *user)
{
    struct schedule_backfill *b = &l->state->backfill;
    int64_t at;
    for (int i = 0; b->on && !l->state->paused && (b->allow || !b->open.len); i++) {
        if (!plan_next(plan, b->cursor_ms, &at) || at > b->to_ms) {
            b->on = false;
            break;
        }
        if (i == LOOK_STARTS_MAX) {
            l->again = true;
            break;
        }
        pawl_str id = look_run_id(l->mem, l->name, at);
        pawl_status rc = l->spec->queue ? PAWL_EMPTY : exists(user, id);
        if (rc != PAWL_OK && rc != PAWL_EMPTY)
            return rc;
        b->cursor_ms = at;
        if (rc == PAWL_OK) {
            b->existed++;
            continue;
        }
        (void)add_act(l, l->spec->queue ? LOOK_DO_PUSH : LOOK_DO_START, at, id);
        b->started++;
        if (!b->allow && !l->spec->queue)
            b->open = id;
    }
    return PAWL_OK;
}
