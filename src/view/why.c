/* SPDX-License-Identifier: MIT */
/*
 * view/why.c -- see why.h.  First the facts, then one English sentence made of
 * them, then JSON.  Everything comes from the store.
 */
#include "view/why.h"

#include "base/limits.h"
#include "view/render.h"
#include "view/schedule_view.h"
#include "view/units.h"

#include <string.h>

#define FAILURES_WITHIN 1000 /* events looked at for the last failure */
#define NAMED_WAITS     4    /* named in the sentence */
#define DETAILS_SHOWN   80   /* bytes of a heartbeat's details in the sentence */

/* ---- Facts --------------------------------------------------------------------- */

static void note_failure(struct why *y, const pawl_history *page)
{
    for (size_t i = page->count; i-- > 0;) {
        const pawl_history_event *e = &page->events[i];
        if (strcmp(e->kind, "ActivityFailed") != 0 &&
            strcmp(e->kind, "SubOrchestrationFailed") != 0)
            continue;
        y->failed_error = e->data;
        y->failed_ms = e->at_ms;
        y->failed_name = e->name;
        for (size_t k = i; k-- > 0 && !y->failed_name.len;)
            if (page->events[k].ref == e->ref)
                y->failed_name = page->events[k].name; /* the schedule event has it */
        return;
    }
}

/* Only ids that a schedule makes are worth a look: NAME@… */
static void note_schedule(struct why *y, pawl_client *client, const char *id,
                          const pawl_history *page)
{
    const pawl_history_event *first = page->count ? &page->events[0] : NULL;
    pawl_history begin = {0};
    if (!strchr(id, '@'))
        return;
    if ((!first || first->seq != 1) &&
        pawl_client_history(client, id, 0, 0, 1, y->mem, &begin, NULL) == PAWL_OK)
        first = begin.count ? &begin.events[0] : NULL;
    if (first && !view_scheduled(y->mem, first, &y->schedule, &y->scheduled_ms))
        y->schedule = (pawl_str){0};
}

pawl_status why_gather(struct why *y, pawl_client *client, const char *id, pawl_error *reterr)
{
    pawl_status rc = pawl_client_get(client, id, 0, y->mem, &y->info, reterr);
    if (rc != PAWL_OK)
        return rc;
    uint64_t length = y->info.history_length;
    pawl_history page = {0};
    rc = pawl_client_history(client, id, 0, length > FAILURES_WITHIN ? length - FAILURES_WITHIN : 0,
                             FAILURES_WITHIN, y->mem, &page, reterr);
    if (rc != PAWL_OK)
        return rc;
    note_failure(y, &page);
    note_schedule(y, client, id, &page);
    for (size_t i = 0; i < y->info.waiting_count; i++) {
        const pawl_waiting *waits = &y->info.waiting[i];
        if (waits->due_ms && (!y->next || waits->due_ms < y->next->due_ms))
            y->next = waits;
    }
    return PAWL_OK;
}

/* ---- The sentence ------------------------------------------------------------------ */

/* Without an owner only those run that a lease keeps outside. */
static bool is_running(const struct why *y, const pawl_waiting *waits)
{
    return waits->running && (y->owner != 0 || waits->leased);
}

/* "… 3 of 10 times"; nothing when there were none. */
static void say_crashes(struct buf *s, const char *what, uint32_t crashes, uint32_t most)
{
    if (crashes && most == PAWL_UNLIMITED)
        buf_printf(s, "%s%u time%s", what, crashes, crashes == 1 ? "" : "s");
    else if (crashes)
        buf_printf(s, "%s%u of %u times", what, crashes, most);
}

/* Where it got to, as far as a sentence has room for it. */
static void say_details(struct buf *s, pawl_str details)
{
    size_t n = details.len;
    if (!utf8_valid(details)) {
        buf_printf(s, "; its last heartbeat had %zu bytes of details", n);
        return;
    }
    if (n > DETAILS_SHOWN)
        for (n = DETAILS_SHOWN; ((unsigned char)details.ptr[n] & 0xc0) == 0x80;)
            n--; /* not inside a character */
    buf_printf(s, "; it got to %.*s%s", (int)n, details.ptr, n < details.len ? "…" : "");
}

static void say_limit(struct why *y, const pawl_waiting *waits, const char *since)
{
    struct buf *s = &y->sentence;
    char left[UNITS_BYTES];
    bool keyed = waits->limit_key.len != 0;
    buf_printf(s, ", which has waited for %s for the limit '%.*s'", since, PAWL_FMT(waits->limit));
    if (waits->limit_of)
        buf_printf(s, " (%llu of %u run", (unsigned long long)waits->limit_in_use, waits->limit_of);
    else
        buf_puts(s, " (its rate is used up");
    buf_printf(s, "%s%.*s%s), %llu before it", keyed ? " for '" : "", PAWL_FMT(waits->limit_key),
               keyed ? "'" : "", (unsigned long long)waits->limit_before);
    if (waits->limit_ms > y->now_ms)
        buf_printf(s, ", for about %s more", format_duration(left, waits->limit_ms - y->now_ms));
}

static void say_activity(struct why *y, const pawl_waiting *waits)
{
    char since[UNITS_BYTES], due[UNITS_BYTES];
    struct buf *s = &y->sentence;
    format_duration(since, y->now_ms - waits->since_ms);
    buf_printf(s, "activity '%.*s'", PAWL_FMT(waits->name));
    if (is_running(y, waits))
        buf_printf(s, ", running%s%.*s%s%s (scheduled %s ago%s)", waits->worker.len ? " at " : "",
                   PAWL_FMT(waits->worker), waits->leased_ms ? " until " : "",
                   waits->leased_ms ? format_time(due, waits->leased_ms) : "", since,
                   waits->attempt > 1 ? ", not its first try" : "");
    else if (waits->due_ms > y->now_ms)
        buf_printf(s, ", which failed %u time%s and is tried again in %s", waits->attempt - 1,
                   waits->attempt == 2 ? "" : "s", format_duration(due, waits->due_ms - y->now_ms));
    else if (y->owner == 0)
        buf_printf(s, ", scheduled %s ago", since);
    else if (waits->limit.len)
        say_limit(y, waits, since);
    else
        buf_printf(s, ", queued for %s until a worker that has it takes it", since);
    say_crashes(s, ", which ended the process ", waits->crashes, waits->max_crashes);
    if (waits->unknown)
        buf_printf(s, "; '%.*s' is not registered, and no worker has polled for it%s%.*s%s",
                   PAWL_FMT(waits->name), waits->meant.len ? "; did you mean '" : "",
                   PAWL_FMT(waits->meant), waits->meant.len ? "'" : "");
    if (waits->details.len)
        say_details(s, waits->details);
    if (waits->last_error.len)
        buf_printf(s, " (last error: %.*s)", PAWL_FMT(waits->last_error));
}

/* The title of what is asked, or its text. */
static pawl_str question(pawl_mem *mem, pawl_str ask)
{
    pawl_str title = pawl_json_text(mem, ask, "/title", "");
    return title.len ? title : pawl_json_text(mem, ask, "/text", "");
}

static void say_wait(struct why *y, const pawl_waiting *waits)
{
    char since[UNITS_BYTES], due[UNITS_BYTES], at[UNITS_BYTES];
    struct buf *s = &y->sentence;
    format_duration(since, y->now_ms - waits->since_ms);
    if (strcmp(waits->kind, "activity") == 0)
        say_activity(y, waits);
    else if (strcmp(waits->kind, "timer") == 0 && waits->due_ms > y->now_ms)
        buf_printf(s, "a timer that fires in %s (at %s)",
                   format_duration(due, waits->due_ms - y->now_ms), format_time(at, waits->due_ms));
    else if (strcmp(waits->kind, "timer") == 0)
        buf_printf(s, "a timer that was due at %s", format_time(at, waits->due_ms));
    else if (waits->ask.len)
        buf_printf(s, "an answer to \"%.*s\", for %s now (raise it with: %s raise %.*s %.*s JSON)",
                   PAWL_FMT(question(y->mem, waits->ask)), since, y->prog,
                   PAWL_FMT(y->info.instance), PAWL_FMT(waits->name));
    else if (strcmp(waits->kind, "event") == 0)
        buf_printf(s, "event '%.*s', for %s now (raise it with: %s raise %.*s %.*s)",
                   PAWL_FMT(waits->name), since, y->prog, PAWL_FMT(y->info.instance),
                   PAWL_FMT(waits->name));
    else if (strcmp(waits->kind, "update") == 0)
        buf_printf(s, "update '%.*s', for %s now (ask it with: %s update %.*s %.*s)",
                   PAWL_FMT(waits->name), since, y->prog, PAWL_FMT(y->info.instance),
                   PAWL_FMT(waits->name));
    else
        buf_printf(s, "child '%.*s' (%.*s), for %s now", PAWL_FMT(waits->instance),
                   PAWL_FMT(waits->name), since);
}

static void say_waits(struct why *y)
{
    size_t count = y->info.waiting_count;
    struct buf *s = &y->sentence;
    if (count == 0) {
        buf_puts(s, "is ready to go on: its next turn is due");
        return;
    }
    buf_puts(s, "waits for ");
    for (size_t i = 0; i < count && i < NAMED_WAITS; i++) {
        bool last = i + 1 == count;
        buf_puts(s, i == 0 ? "" : last ? " and for " : ", ");
        say_wait(y, &y->info.waiting[i]);
    }
    if (count > NAMED_WAITS)
        buf_printf(s, " and %zu more", count - NAMED_WAITS);
}

/* Cancelled code waits only inside a shield, where no time counts. */
static void say_cancel(struct why *y)
{
    struct buf *s = &y->sentence;
    const pawl_info *info = &y->info;
    char ago[UNITS_BYTES], left[UNITS_BYTES];
    buf_printf(s, "; it was cancelled %s ago and compensates, ",
               format_duration(ago, y->now_ms - info->cancel_ms));
    if (info->cancel_left_ms >= 0)
        buf_printf(s, "with all %s of --cancel-grace left (no time inside a shield counts)",
                   format_duration(left, info->cancel_left_ms));
    else
        buf_puts(s, "with no limit to its time");
    buf_printf(s, "; the force is: %s terminate %.*s", y->prog, PAWL_FMT(info->instance));
}

static void say_state(struct why *y)
{
    struct buf *s = &y->sentence;
    const pawl_info *info = &y->info;
    char ago[UNITS_BYTES], at[UNITS_BYTES], left[UNITS_BYTES];
    format_duration(ago, y->now_ms - info->updated_ms);
    switch (info->state) {
    case PAWL_PENDING:
        if (info->start_ms) {
            buf_printf(s, "starts at %s, in %s", format_time(at, info->start_ms),
                       format_duration(left, info->start_ms - y->now_ms));
            return;
        }
        buf_printf(s, "was accepted %s ago and has not run yet%s%.*s", ago,
                   info->finding.len ? ": it " : "", PAWL_FMT(info->finding));
        return;
    case PAWL_RUNNING:
        say_waits(y);
        return;
    case PAWL_SUSPENDED:
        buf_printf(s, "has been suspended for %s; continue it with: %s resume %.*s", ago, y->prog,
                   PAWL_FMT(info->instance));
        return;
    case PAWL_BLOCKED:
        buf_printf(s, "is blocked: %.*s; repair that, then: %s retry %.*s", PAWL_FMT(info->finding),
                   y->prog, PAWL_FMT(info->instance));
        return;
    case PAWL_COMPLETED:
    case PAWL_CONTINUED_AS_NEW:
        buf_printf(s, "completed %s ago; nothing more will happen", ago);
        return;
    case PAWL_FAILED:
        buf_printf(s, "failed %s ago: %.*s", ago, PAWL_FMT(info->error));
        return;
    case PAWL_CANCELLED:
        buf_printf(s, "was cancelled %s ago: %.*s", ago, PAWL_FMT(info->error));
        return;
    }
}

pawl_str why_compose(struct why *y)
{
    struct buf *s = &y->sentence;
    buf_reset(s);
    bool open = !pawl_state_is_terminal(y->info.state);
    char ago[UNITS_BYTES];
    buf_printf(s, "'%.*s' (%.*s%s%.*s) ", PAWL_FMT(y->info.instance),
               PAWL_FMT(y->info.orchestration), y->info.version.len ? " " : "",
               PAWL_FMT(y->info.version));
    say_state(y);
    if (y->info.state == PAWL_RUNNING && y->owner != 0 && y->info.finding.len)
        buf_printf(s, "; it %.*s", PAWL_FMT(y->info.finding));
    if (open && y->info.cancel_ms)
        say_cancel(y);
    else if (open && y->info.deadline_ms)
        buf_printf(s, "; its deadline is %s", format_time(ago, y->info.deadline_ms));
    if (open)
        say_crashes(s, "; its turn ended the process ", y->info.turn_crashes, y->info.max_crashes);
    if (open && y->info.mailbox_count)
        buf_printf(s, "; %zu event%s raised that it has not taken yet", y->info.mailbox_count,
                   y->info.mailbox_count == 1 ? " was" : "s were");
    if (open && y->info.update_count)
        buf_printf(s, "; %zu update%s that it has not taken yet", y->info.update_count,
                   y->info.update_count == 1 ? " waits" : "s wait");
    if (open && y->failed_ms)
        buf_printf(s, "; the last failure was '%.*s' %s ago: %.*s", PAWL_FMT(y->failed_name),
                   format_duration(ago, y->now_ms - y->failed_ms), PAWL_FMT(y->failed_error));
    if (open && y->owner == 0)
        buf_printf(s,
                   "; no process has this store open: nothing happens before one does "
                   "(%s work --load FILE.so)",
                   y->prog);
    if (y->schedule.len)
        buf_printf(s, "; the schedule '%.*s' started it for %s", PAWL_FMT(y->schedule),
                   format_time(ago, y->scheduled_ms));
    buf_putc(s, '.');
    return buf_slice(s);
}

/* ---- Output ---------------------------------------------------------------------- */

/* What can wake it, as a command where there is one. */
static pawl_str waker(const struct why *y, const pawl_waiting *waits)
{
    pawl_mem *mem = y->mem;
    if (strcmp(waits->kind, "event") == 0)
        return pawl_mem_printf(mem, "%s raise %.*s %.*s", y->prog, PAWL_FMT(y->info.instance),
                               PAWL_FMT(waits->name));
    if (strcmp(waits->kind, "update") == 0)
        return pawl_mem_printf(mem, "%s update %.*s %.*s", y->prog, PAWL_FMT(y->info.instance),
                               PAWL_FMT(waits->name));
    if (strcmp(waits->kind, "child") == 0)
        return pawl_mem_printf(mem, "%s why %.*s", y->prog, PAWL_FMT(waits->instance));
    return pawl_s(strcmp(waits->kind, "timer") == 0 ? "the clock" : "a worker with this activity");
}

void why_render(struct why *y, pawl_json *w)
{
    pawl_json_object(w);
    render_text(w, "instance", y->info.instance);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, pawl_state_name(y->info.state));
    render_text(w, "sentence", buf_slice(&y->sentence));
    pawl_json_key(w, "waiting_for");
    pawl_json_array(w);
    for (size_t i = 0; i < y->info.waiting_count; i++) {
        pawl_json_object(w);
        pawl_waiting waits = y->info.waiting[i];
        waits.running = is_running(y, &waits);
        render_waiting_members(w, y->mem, &waits);
        render_text(w, "woken_by", waker(y, &y->info.waiting[i]));
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_key(w, "last_failure");
    if (y->failed_ms) {
        pawl_json_object(w);
        render_text(w, "name", y->failed_name);
        render_text(w, "error", y->failed_error);
        render_number(w, "at", y->failed_ms);
        pawl_json_end(w);
    } else {
        pawl_json_null(w);
    }
    if (y->schedule.len) {
        pawl_json_key(w, "schedule");
        pawl_json_object(w);
        render_text(w, "name", y->schedule);
        render_number(w, "at", y->scheduled_ms);
        pawl_json_end(w);
    }
    render_number(w, "next_at", y->next ? y->next->due_ms : y->info.start_ms);
    pawl_json_key(w, "mailbox");
    pawl_json_num(w, (int64_t)y->info.mailbox_count);
    render_text(w, "finding", y->info.finding);
    if (y->info.cancel_ms) {
        render_number(w, "cancel_requested_at", y->info.cancel_ms);
        render_number(w, "cancel_left_ms", y->info.cancel_left_ms > 0 ? y->info.cancel_left_ms : 0);
    }
    render_number(w, "owner_pid", y->owner > 0 ? y->owner : 0);
    render_number(w, "now", y->now_ms);
    pawl_json_end(w);
}
