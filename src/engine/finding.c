/* SPDX-License-Identifier: MIT */
/*
 * engine/finding.c -- say what is wrong so that a person can act on it.
 *
 * Every finding begins with the seeds' wording where the seeds have one and
 * then names both sides: the recorded event and the attempted call.  The return
 * address of the call is kept as it is; the reporter turns it into a source line.
 *
 * Called by: decide.c, replay.c, apply.c, ending.c.
 */
#include "engine/engine_private.h"

#include <stdio.h>

PAWL_PRINTF(3, 0)
static void fill(struct engine_finding *f, const pawl_event *e, const char *format, va_list args)
{
    *f = (struct engine_finding){.seq = e ? e->seq : 0};
    if (e)
        finding_describe_event(e, f->recorded, sizeof(f->recorded));
    (void)vsnprintf(f->text, sizeof(f->text), format, args);
}

void finding_set(execution *x, const pawl_event *recorded, const struct decision *d,
                 const char *format, ...)
{
    if (!x->finding)
        return;
    va_list args;

    va_start(args, format);
    fill(x->finding, recorded, format, args);
    va_end(args);
    if (d) {
        x->finding->site = engine_site(x, d->site);
        finding_describe_call(d, x->finding->attempted, sizeof(x->finding->attempted));
    }
}

void finding_completion(execution *x, const pawl_event *recorded, int kind, uint64_t ref,
                        const struct task *t)
{
    if (t)
        finding_set(
            x, recorded, NULL,
            "nondeterministic: completion kind mismatch for id=%llu, expected '%s', got '%s'",
            (unsigned long long)ref, kind_word(t->kind), kind_word(kind));
    else
        finding_set(x, recorded, NULL,
                    "nondeterministic: completion kind '%s' for id=%llu has no matching schedule "
                    "in prior history",
                    kind_word(kind), (unsigned long long)ref);
}

void finding_corrupt(execution *x, const pawl_event *e, const char *format, ...)
{
    va_list args;

    if (x->finding) {
        va_start(args, format);
        fill(x->finding, e, format, args);
        va_end(args);
    }
    engine_stop(x, ENGINE_CORRUPT);
}

void finding_describe_event(const pawl_event *e, char *out, size_t n)
{
    const char *kind = pawl_event_kind_name(e->kind);
    char name[128] = "", ref[32] = "", number[32];

    (void)snprintf(number, sizeof(number), "kind %d", e->kind);
    if (e->ref)
        (void)snprintf(ref, sizeof(ref), " #%llu", (unsigned long long)e->ref);
    if (e->name.len)
        (void)snprintf(name, sizeof(name), " '%.*s'", PAWL_FMT(e->name));
    (void)snprintf(out, n, "%s%s%s", kind ? kind : number, ref, name);
}

void finding_describe_call(const struct decision *d, char *out, size_t n)
{
    const char *api = d->api ? d->api : "the code";

    if (d->kind == PAWL_EV_TIMER_CREATED)
        (void)snprintf(out, n, "%s timer of %lld ms", api, (long long)d->delay_ms);
    else if (kind_schedule_of(d->kind))
        (void)snprintf(out, n, "%s cancels %s #%llu", api, kind_word(d->kind),
                       (unsigned long long)d->ref);
    else if (event_class(d->kind) == CLASS_END)
        (void)snprintf(out, n, "%s: %s", api, pawl_event_kind_name(d->kind));
    else if (d->name.len == 0)
        (void)snprintf(out, n, "%s", api);
    else
        (void)snprintf(out, n, "%s %s '%.*s'", api, kind_word(d->kind), PAWL_FMT(d->name));
}

void finding_describe_wait(const execution *x, char *out, size_t n)
{
    const struct wait *w = &x->wait;

    if (w->count == 1) {
        const struct task *t = task_find(x, w->tasks[0].id);
        (void)snprintf(out, n, "waits for %s #%llu", t ? kind_word(t->kind) : "a task",
                       (unsigned long long)w->tasks[0].id);
    } else {
        (void)snprintf(out, n, "waits for %s of %zu tasks",
                       w->mode == WAIT_ANY ? "the first" : "all", w->count);
    }
}
