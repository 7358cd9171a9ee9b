/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/replay_history.c -- pawl/replay.h: code against a history, without a runtime.
 *
 * The engine does the replay.  This file turns public events into the engine's, and the
 * engine's finding into a report.  Nothing is kept between two calls.
 *
 * Called by: `pawl check`, `pawl replay`, the user-facing simulator, tests.
 */
#include "base/arena.h"
#include "base/attr.h"
#include "base/fit.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "engine/engine.h"
#include "fiber/fiber.h"
#include "pawl/replay.h"
#include "runtime/core/registry.h"
#include "runtime/core/site.h"

#include <stdio.h>

/* One replay on its way. */
struct replaying {
    const pawl_history_event *events;
    pawl_replay_opts opts;
    uint64_t met;
    void *code; /* the function: the place that is shown for its return */
    void *site; /* the place of the last wait or misfit */
};

static const char *const outcomes[] = {"waits", "ended", "mismatch", "no_code", "damaged"};

const char *pawl_replay_outcome_name(pawl_replay_outcome outcome)
{
    return (size_t)outcome < COUNT_OF(outcomes) ? outcomes[outcome] : "unknown";
}

void pawl_replay_site(void *address, char *to, size_t size)
{
    if (!to || !size)
        return;
    if (address)
        site_describe(address, to, size);
    else
        to[0] = 0;
}

/* ---- Events ------------------------------------------------------------------------- */

static pawl_event *convert(pawl_mem *mem, uint64_t execution_no, const pawl_history_event *from,
                           size_t count)
{
    pawl_event *to = arena_array(mem, pawl_event, count + 1);
    for (size_t i = 0; i < count; i++)
        to[i] = (pawl_event){.rid = from[i].seq,
                             .execution = execution_no,
                             .seq = from[i].seq,
                             .ref = from[i].ref,
                             .kind = pawl_event_kind_of(pawl_s(from[i].kind)),
                             .name = from[i].name,
                             .data = from[i].data,
                             .attrs = from[i].attrs,
                             .at_ms = from[i].at_ms};
    return to;
}

static size_t count_until(const pawl_history_event *events, size_t count, uint64_t until_seq)
{
    size_t n = 0;
    while (n < count && (!until_seq || events[n].seq <= until_seq))
        n++;
    return n;
}

static bool is_message(const pawl_event *e)
{
#define MESSAGE_CASE(name, number, text, klass)                                                    \
    if (e->kind == (number))                                                                       \
        return #klass[0] == 'M' && #klass[1] == 'E';
    PAWL_EVENT_KINDS(MESSAGE_CASE)
#undef MESSAGE_CASE
    return false;
}

/* ---- The way ------------------------------------------------------------------------ */

static void tell(struct replaying *r, pawl_replay_what what, const pawl_event *e, void *site)
{
    pawl_replay_step step = {
        .what = what, .event = e ? &r->events[e->seq - 1] : NULL, .site = site};
    if (r->opts.step)
        r->opts.step(r->opts.user, &step);
}

static void met(void *user, enum engine_trace what, const pawl_event *e, void *site)
{
    struct replaying *r = user;
    switch (what) {
    case TRACE_EVENT:
        r->met++;
        tell(r, PAWL_REPLAY_EVENT, e, site);
        break;
    case TRACE_WAIT:
        r->site = site;
        if (!e || !is_message(e))
            tell(r, PAWL_REPLAY_WAIT, e, site);
        break;
    case TRACE_MISMATCH:
        r->site = site ? site : r->code;
        if (engine_on_fiber())
            tell(r, PAWL_REPLAY_MISFIT, NULL, site);
        break;
    }
}

static pawl_status judge(enum engine_outcome outcome, const struct engine_finding *f,
                         const struct replaying *r, pawl_replay_report *ret, pawl_error *err)
{
    switch (outcome) {
    case ENGINE_WAITING:
        ret->outcome = PAWL_REPLAY_WAITS;
        break;
    case ENGINE_ENDED:
        ret->outcome = PAWL_REPLAY_ENDED;
        break;
    case ENGINE_MISMATCH:
        ret->outcome = PAWL_REPLAY_MISMATCH;
        break;
    case ENGINE_CORRUPT:
    case ENGINE_REFUSED:
        ret->outcome = PAWL_REPLAY_DAMAGED;
        break;
    case ENGINE_LIMIT:
    case ENGINE_NO_MEMORY:
        error_set(err, PAWL_NO_MEMORY, "out of memory while replaying");
        return PAWL_NO_MEMORY;
    }
    ret->events = r->met;
    ret->seq = f->seq;
    (void)snprintf(ret->text, sizeof(ret->text), "%s", f->text);
    (void)snprintf(ret->recorded, sizeof(ret->recorded), "%s", f->recorded);
    (void)snprintf(ret->attempted, sizeof(ret->attempted), "%s", f->attempted);
    ret->address = r->site;
    if (outcome == ENGINE_MISMATCH && !r->opts.no_site)
        pawl_replay_site(r->site, ret->site, sizeof(ret->site));
    return PAWL_OK;
}

/* Was it ended from outside before its code ran?  Then its history has no event of the code. */
static bool never_ran(const pawl_event *events, size_t count)
{
    size_t end = 1;
    while (end < count && events[end].kind == PAWL_EV_STATE_CARRIED)
        end++;
    return end + 1 == count && events[0].kind == PAWL_EV_ORCHESTRATION_STARTED &&
           events[end].attrs.len && pawl_json_bool(events[end].attrs, "/forced", false);
}

static pawl_status run(const struct code_entry *code, const pawl_info *info,
                       const pawl_event *events, size_t count, struct replaying *r,
                       pawl_replay_report *ret, pawl_error *err)
{
    struct fiber_pool *pool = fiber_pool_create(0);
    struct execution_spec spec = {
        .pool = pool,
        .code = {.fn = code->fn,
                 .user = code->user,
                 .stack_bytes = code->stack_bytes,
                 .name = code->name,
                 .version = code->version},
        .rules = {.payload_max = SIZE_MAX,
                 .history_max = UINT32_MAX,
                 .strict_await = r->opts.strict_await},
        .instance = info->instance,
        .execution = info->execution ? info->execution : 1,
        .trace = met,
        .trace_user = r,
    };
    struct engine_finding finding = {0};
    execution *x = pool ? execution_create(&spec) : NULL;
    enum engine_outcome outcome =
        x ? execution_replay(x, events, count, &finding) : ENGINE_NO_MEMORY;
    pawl_status rc = judge(outcome, &finding, r, ret, err);
    execution_destroy(x);
    fiber_pool_destroy(pool);
    return rc;
}

static const struct code_entry *find_code(pawl_app *app, const pawl_info *info, const char *version,
                                          pawl_replay_report *ret)
{
    pawl_str wanted = version ? pawl_s(version) : info->version;
    const struct code_entry *code = registry_code(app, info->orchestration, wanted);
    if (code && !code->remote)
        return code;
    ret->outcome = PAWL_REPLAY_NO_CODE;
    (void)snprintf(ret->text, sizeof(ret->text),
                   code ? "orchestration '%.*s' version %.*s runs in workers; check it there"
                        : "no loaded module has orchestration '%.*s' version %.*s",
                   PAWL_FMT(info->orchestration), PAWL_FMT(wanted));
    return NULL;
}

pawl_status pawl_replay(pawl_app *app, const pawl_info *info, const pawl_history_event *events,
                        size_t count, const pawl_replay_opts *opts, pawl_replay_report *ret,
                        pawl_error *reterr)
{
    struct replaying r = {.events = events};
    if (!IS_THERE(app && info && ret && (events || !count),
                  "an app, an instance, its events and room for the report", reterr))
        return PAWL_MISUSE;
    *ret = (pawl_replay_report){0};
    if (engine_on_fiber()) {
        error_set(reterr, PAWL_MISUSE, "pawl_replay() needs an app, and is not for orchestrations");
        return PAWL_MISUSE;
    }
    if (!OPTIONS_TAKE(&r.opts, opts, "pawl_replay_opts", reterr))
        return PAWL_MISUSE;
    const struct code_entry *code = find_code(app, info, r.opts.version, ret);
    if (!code)
        return PAWL_OK;
    r.code = (void *)((uintptr_t)code->fn + 1);
    fiber_guard_thread();
    count = count_until(events, count, r.opts.until_seq);
    if (!count || events[0].seq != 1) {
        ret->outcome = PAWL_REPLAY_DAMAGED;
        (void)snprintf(ret->text, sizeof(ret->text),
                       count ? "the history begins with event %llu" : "there is no event",
                       count ? (unsigned long long)events[0].seq : 0ULL);
        return PAWL_OK;
    }
    pawl_mem mem;
    arena_init(&mem);
    pawl_event *list = convert(&mem, info->execution ? info->execution : 1, events, count);
    pawl_status rc = PAWL_OK;
    if (never_ran(list, count)) {
        ret->outcome = PAWL_REPLAY_ENDED;
        ret->events = count;
    } else {
        rc = run(code, info, list, count, &r, ret, reterr);
    }
    arena_deinit(&mem);
    return rc;
}

pawl_status pawl_replay_sized(pawl_app *app, const pawl_info *info,
                              const pawl_history_event *events, size_t count,
                              const pawl_replay_opts *opts, pawl_replay_report *ret,
                              pawl_error *reterr, size_t size)
{
    pawl_replay_report own = {0};
    pawl_status rc = pawl_replay(app, info, events, count, opts, ret ? &own : NULL, reterr);
    if (ret)
        fit_struct(ret, size, &own, sizeof(own));
    return rc;
}
