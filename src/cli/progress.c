/* SPDX-License-Identifier: MIT */
/*
 * cli/progress.c -- what `run` shows on a terminal while it waits.
 *
 * Bounded: at most STEPS_SHOWN lines, then only the live line counts on; names
 * of at most TASKS_KEPT tasks are remembered.
 */
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/out.h"
#include "tables/awaitables.h"
#include "view/units.h"

#include <string.h>
#include <unistd.h>

#define DRAW_EVERY_MS 80
#define PAGE_EVENTS   500
#define STEPS_SHOWN   200
#define TASKS_KEPT    10000

void progress_begin(struct progress *p, const struct cli *cli, pawl_client *client, const char *id)
{
    bool on = isatty(STDERR_FILENO) && !cli->args.quiet && cli->args.output == OUTPUT_TABLE;
    *p = (struct progress){.cli = cli, .client = client, .id = id, .on = on, .execution = 1};
    if (on)
        p->names = pawl_mem_new();
}

static void forget_execution(struct progress *p, uint64_t execution)
{
    pawl_mem_reset(p->names);
    p->tasks = NULL;
    p->task_cap = 0;
    p->execution = execution;
    p->seq = 0;
}

static void remember(struct progress *p, const pawl_history_event *event, pawl_str name)
{
    if (event->ref == 0 || event->ref > TASKS_KEPT)
        return;
    if (event->ref > p->task_cap) {
        size_t cap = p->task_cap ? p->task_cap * 2 : 32;
        cap = cap < event->ref ? event->ref : cap;
        struct progress_task *tasks = pawl_mem_alloc(p->names, cap * sizeof(*tasks));
        if (p->task_cap)
            memcpy(tasks, p->tasks, p->task_cap * sizeof(*tasks));
        p->tasks = tasks;
        p->task_cap = cap;
    }
    struct progress_task *task = &p->tasks[event->ref - 1];
    task->name = out_clean(p->names, name);
    task->at_ms = event->at_ms;
}

static void print_step(struct progress *p, const pawl_history_event *event, bool ok)
{
    if (++p->shown > STEPS_SHOWN)
        return;
    char took[UNITS_BYTES] = "", name[80] = "";
    if (event->ref && event->ref <= p->task_cap) {
        const struct progress_task *task = &p->tasks[event->ref - 1];
        snprintf(name, sizeof(name), "%.*s", PAWL_FMT(task->name));
        if (task->at_ms)
            format_duration(took, event->at_ms - task->at_ms);
    }
    const char *mark = out_is_utf8() ? (ok ? "✓" : "✗") : (ok ? "+" : "x");
    fprintf(stderr, "\r\033[K  %s%s%s %-32s %s%s%s\n",
            out_begin(p->cli, stderr, ok ? TONE_GREEN : TONE_RED), mark, out_end(p->cli, stderr),
            name, out_begin(p->cli, stderr, TONE_DIM), took, out_end(p->cli, stderr));
}

static void show_event(struct progress *p, const pawl_history_event *event)
{
    int kind = pawl_event_kind_of(pawl_s(event->kind));
    if (awaitable_opens(kind))
        remember(p, event, kind == PAWL_EV_TIMER_CREATED ? pawl_s("timer") : event->name);
    if (awaitable_succeeds(kind) || awaitable_fails(kind))
        print_step(p, event, awaitable_succeeds(kind));
}

static void show_history(struct progress *p, pawl_mem *mem)
{
    pawl_history page = {0};
    do {
        if (pawl_client_history(p->client, p->id, p->execution, p->seq, PAGE_EVENTS, mem, &page,
                                NULL) != PAWL_OK)
            return;
        for (size_t i = 0; i < page.count; i++) {
            show_event(p, &page.events[i]);
            p->seq = page.events[i].seq;
        }
    } while (page.next);
}

static void show_waiting(struct progress *p, const pawl_info *info, int64_t now_ms)
{
    char text[160] = "", since[UNITS_BYTES] = "";
    for (size_t i = 0, n = 0; i < info->waiting_count && n < 100; i++) {
        const pawl_waiting *waits = &info->waiting[i];
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s%.40s", i ? ", " : "", waits->kind,
                              waits->name.len ? " " : "", waits->name.ptr ? waits->name.ptr : "");
    }
    if (info->waiting_count)
        format_duration(since, now_ms - info->waiting[info->waiting_count - 1].since_ms);
    pawl_str clean = out_clean(p->names, pawl_s(text));
    fprintf(stderr, "\r\033[K  %s%s %.*s  %s%s", out_begin(p->cli, stderr, TONE_DIM),
            out_is_utf8() ? "…" : ".", PAWL_FMT(clean), since, out_end(p->cli, stderr));
    fflush(stderr);
}

void progress_update(struct progress *p)
{
    int64_t now = clock_mono_ms();
    if (!p->on || now - p->drawn_ms < DRAW_EVERY_MS)
        return;
    p->drawn_ms = now;
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    if (pawl_client_get(p->client, p->id, 0, mem, &info, NULL) == PAWL_OK) {
        show_history(p, mem);
        if (info.execution != p->execution) {
            forget_execution(p, info.execution);
            show_history(p, mem);
        }
        if (!pawl_state_is_terminal(info.state))
            show_waiting(p, &info, clock_wall_ms());
    }
    pawl_mem_free(mem);
}

void progress_end(struct progress *p)
{
    if (!p->on)
        return;
    p->drawn_ms = -DRAW_EVERY_MS;
    progress_update(p);
    fputs("\r\033[K", stderr);
    pawl_mem_free(p->names);
    p->on = false;
}
