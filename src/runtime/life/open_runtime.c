/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/open_runtime.c -- options and opening.
 *
 * Order of opening: directory, store (locks it; open_store.c), fence, slot file,
 * recovery.  Closing goes the other way (close.c).
 *
 * Called by users (pawl/runtime.h).
 */

#include "base/clock.h"
#include "base/forks.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/core/audience.h"
#include "runtime/core/coming.h"
#include "runtime/core/health.h"
#include "runtime/core/inbox.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/core/owed.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/slots.h"
#include "runtime/core/stage.h"
#include "runtime/core/store_clock.h"
#include "runtime/core/tally.h"
#include "runtime/core/timers.h"
#include "runtime/core/tray.h"
#include "runtime/core/user_fault.h"
#include "runtime/instance/adopt.h"
#include "runtime/instance/halt.h"
#include "runtime/instance/kept_tables.h"
#include "runtime/instance/mailbox.h"
#include "runtime/instance/park.h"
#include "runtime/instance/updates.h"
#include "runtime/life/close.h"
#include "runtime/life/env.h"
#include "runtime/life/open_store.h"
#include "runtime/life/recover.h"
#include "runtime/loop/watchdog.h"
#include "runtime/peek/peek_mode.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/queue/queue_pass.h"
#include "runtime/remote/playing.h"
#include "runtime/request/retain.h"
#include "runtime/schedule/schedule_zones.h"
#include "runtime/work/cancel.h"
#include "runtime/work/crew.h"
#include "runtime/work/handout.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/share.h"
#include "runtime/work/worker.h"
#include "store/store.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- Options ------------------------------------------------------------------------ */

#define DEFAULT(field, value)                                                                      \
    do {                                                                                           \
        if (!o->field)                                                                             \
            o->field = (value);                                                                    \
    } while (0)

static void fill_in(pawl_options *o)
{
    DEFAULT(workers, 32);
    DEFAULT(max_payload, LIMIT_PAYLOAD_BYTES);
    DEFAULT(max_history, LIMIT_HISTORY_EVENTS);
    DEFAULT(max_mailbox, LIMIT_MAILBOX_EVENTS);
    DEFAULT(max_depth, LIMIT_DEPTH);
    DEFAULT(fiber_memory, (size_t)256 << 20);
    DEFAULT(turn_memory, (size_t)256 << 20);
    DEFAULT(max_attempts, 10);
    DEFAULT(turn_limit_ms, 60000);
    DEFAULT(turn_lease_ms, 10000);
    DEFAULT(drain_ms, 10000);
    DEFAULT(group_limit, 1024);
    if (o->workers > SLOTS_WORKERS)
        o->workers = SLOTS_WORKERS;
    int64_t *times[] = {&o->cancel_grace_ms, &o->turn_limit_ms, &o->drain_ms, &o->retain_ms,
                        &o->turn_lease_ms};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (*times[i] > LIMIT_DELAY_MS) /* "for ever": sums with it must not overflow */
            *times[i] = LIMIT_DELAY_MS;
}

/* ---- Opening ---------------------------------------------------------------------------- */

static bool open_parts(pawl_runtime *rt)
{
    void (*const parts[])(pawl_runtime *) = {
        inbox_open,    items_open,    owed_open,   letter_open, stage_open,  resident_open,
        audience_open, health_open,   tally_open,  timers_open, coming_open, jobs_open,
        lease_open,    share_open,    cancel_open, park_open,   adopt_open,  mailbox_open,
        updates_open,  watchdog_open, halt_open,   zones_open};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        parts[i](rt);
    arena_init(&rt->group_mem);
    arena_init(&rt->load_mem);
    return remote_open(rt) && worker_open(rt);
}

static pawl_runtime *create(pawl_app *app, const pawl_options *opts)
{
    pawl_runtime *rt = calloc(1, sizeof(*rt));
    if (!rt)
        return NULL;
    rt->opts = *opts;
    fill_in(&rt->opts);
    rt->app = app;
    rt->data.lock = -1;
    rt->threads.pid = getpid();
    fault_open(rt);
    rt->client.rt = rt;
    rt->client.tables = kept_tables_open();
    rt->log = (struct logger){rt->opts.log_level, rt->opts.log, rt->opts.log_user,
                              .json = rt->opts.log_json};
    env_open(rt);
    if (open_parts(rt))
        return rt;
    kept_tables_close(rt->client.tables);
    remote_close(rt);
    free(rt);
    return NULL;
}

/* Become the owner and look at what was left. */
static pawl_status take_over(pawl_runtime *rt, pawl_error *err)
{
    struct slots_past *past = calloc(1, sizeof(*past));
    if (!past || !resident_open_fibers(rt)) {
        free(past);
        return PAWL_NO_MEMORY;
    }
    pawl_status rc = store_take(rt->store, rt_now(rt), &rt->fence, err);
    if (rc == PAWL_OK) {
        rt->slots = slots_open(rt->data.path, past);
        rc = recover(rt, past, err);
        if (rc == PAWL_OK)
            slots_begin(rt->slots, past);
        retain_open(rt);
    }
    free(past);
    return rc;
}

pawl_runtime *pawl_runtime_open(pawl_app *app, const pawl_options *opts, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_options room;
    *err = (pawl_error){0};
    if (!(opts = OPTIONS_OF(&room, opts, "pawl_options", err)))
        return NULL;
    if (!app || (app->trouble_count && !opts->read_only)) {
        if (app)
            registry_trouble(app, err);
        else
            error_set(err, PAWL_MISUSE, "pawl_runtime_open() without an app");
        return NULL;
    }
    pawl_runtime *rt = create(app, opts);
    if (!rt) {
        error_set(err, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    if (getenv("PAWL_CRASH_AT"))
        point_crash_at(getenv("PAWL_CRASH_AT"));
    pawl_status rc = tray_open(rt, err) ? runtime_open_store(rt, err) : err->status;
    if (rc == PAWL_OK) {
        rt->caps = store_caps(rt->store);
        peek_open(rt);
        rc = store_clock_open(rt, err);
    }
    if (rc == PAWL_OK && !rt->opts.read_only)
        rc = take_over(rt, err);
    if (rc == PAWL_OK && !rt->opts.read_only && !crew_open(rt))
        rc = PAWL_NO_MEMORY;
    if (rc == PAWL_OK && rt->caps.queues && !queue_cache_open(rt))
        rc = PAWL_NO_MEMORY;
    if (rc == PAWL_OK)
        rc = handout_open(rt, err);
    jobs_tell_withdrawn(rt, queue_withdraw);
    if (rc == PAWL_OK) {
        registry_join(app, rt);
        return rt;
    }
    if (!err->text[0])
        error_set(err, rc, "cannot open the store: %s", pawl_status_text(rc));
    health_never_opened(rt, rc);
    runtime_discard(rt);
    return NULL;
}

pawl_app *pawl_runtime_app(pawl_runtime *rt)
{
    MUST_HAVE("a runtime", rt);
    return rt->app;
}

const char *pawl_runtime_data(pawl_runtime *rt)
{
    MUST_HAVE("a runtime", rt);
    return rt->data.path;
}

pawl_client *pawl_runtime_client(pawl_runtime *rt)
{
    MUST_HAVE("a runtime", rt);
    return &rt->client;
}
