/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/open.c -- options and opening.
 *
 * Order of opening: directory, store (locks it; open_store.c), fence, slot file,
 * recovery.  Closing goes the other way (close.c).
 *
 * Called by users (pawl/runtime.h).
 */

#include "base/clock.h"
#include "base/deadline.h"
#include "base/forks.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "fiber/fiber.h"
#include "runtime/core/fault.h"
#include "runtime/core/lane.h"
#include "runtime/core/owed.h"
#include "runtime/core/registry.h"
#include "runtime/core/slots.h"
#include "runtime/life/close.h"
#include "runtime/life/env.h"
#include "runtime/life/open_store.h"
#include "runtime/life/recover.h"
#include "runtime/queue/queue_clock.h"
#include "runtime/queue/queue_desk.h"
#include "runtime/request/retain.h"
#include "runtime/work/crew.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    DEFAULT(drain_ms, 10000);
    DEFAULT(group_limit, 1024);
    if (o->workers > SLOTS_WORKERS)
        o->workers = SLOTS_WORKERS;
    int64_t *times[] = {&o->cancel_grace_ms, &o->turn_limit_ms, &o->drain_ms, &o->retain_ms};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (*times[i] > LIMIT_DELAY_MS) /* "for ever": sums with it must not overflow */
            *times[i] = LIMIT_DELAY_MS;
}

/* Stacks cost two mappings each: stay under half of what the system allows. */
static size_t resident_limit(void)
{
    long maps = 65530;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f) {
        char line[32];
        if (fgets(line, sizeof(line), f))
            maps = strtol(line, NULL, 10);
        fclose(f);
    }
    return maps / 2 > 2100 ? (size_t)maps / 2 - 2000 : 100;
}

/* ---- Opening ---------------------------------------------------------------------------- */

static void init_lists(pawl_runtime *rt)
{
    rt->inbox.end = &rt->inbox.first;
    owed_open(rt);
    rt->letters.todo_end = &rt->letters.todo;
    rt->letters.later_end = &rt->letters.later;
    rt->items.end = &rt->items.first;
    rt->staging.end = &rt->staging.first;
    map_init(&rt->shares.by_name);
    map_init(&rt->figures.tallies[0].by_name);
    map_init(&rt->figures.tallies[1].by_name);
    rt->shares.end = &rt->shares.waiting;
    rt->workers.handing_end = &rt->workers.handing;
    map_init(&rt->residents.by_uid);
    map_init(&rt->residents.by_id);
    map_init(&rt->letters.inflight);
    idset_init(&rt->mail.codeless);
    idset_init(&rt->mail.piled);
    map_init(&rt->mail.kept_names);
    map_init(&rt->mail.coming);
    map_init(&rt->mail.boxes);
    idset_init(&rt->blame.suspects);
    map_init(&rt->jobs.by_id);
    rt->leases.polls_end = &rt->leases.polls;
    map_init(&rt->told.waiters);
    idset_init(&rt->peek.mend);
    heap_init(&rt->peek.held);
    map_init(&rt->peek.timers);
    heap_init(&rt->jobs.limits);
    arena_init(&rt->group_mem);
    arena_init(&rt->load_mem);
}

static void init_locks(pawl_runtime *rt)
{
    pthread_mutex_init(&rt->inbox.lock, NULL);
    pthread_mutex_init(&rt->told.lock, NULL);
    pthread_mutex_init(&rt->workers.lock, NULL);
    pthread_mutex_init(&rt->watch.lock, NULL);
    pthread_mutex_init(&rt->health.lock, NULL);
    deadline_cond_init(&rt->inbox.wake);
    deadline_cond_init(&rt->workers.ready);
    pthread_mutex_init(&rt->workers.cancels.lock, NULL);
    deadline_cond_init(&rt->workers.cancels.changed);
    deadline_cond_init(&rt->watch.wake);
}

static pawl_runtime *create(pawl_app *app, const pawl_options *opts)
{
    pawl_runtime *rt = calloc(1, sizeof(*rt));
    if (!rt)
        return NULL;
    rt->opts = *opts;
    fill_in(&rt->opts);
    rt->app = app;
    rt->threads.pid = getpid();
    fault_open(rt);
    rt->client.rt = rt;
    rt->log = (struct logger){rt->opts.log_level, rt->opts.log, rt->opts.log_user,
                              .json = rt->opts.log_json};
    env_open(rt);
    rt->env.random(rt->env.user, rt->staging.seed_key, sizeof(rt->staging.seed_key));
    init_lists(rt);
    init_locks(rt);
    rt->residents.max = resident_limit();
    rt->workers.threads = calloc(rt->opts.workers, sizeof(*rt->workers.threads));
    return rt;
}

/* Become the owner and look at what was left. */
static pawl_status take_over(pawl_runtime *rt, pawl_error *err)
{
    struct slots_past *past = calloc(1, sizeof(*past));
    rt->residents.fibers = fiber_pool_create(1024);
    if (!past || !rt->residents.fibers) {
        free(past);
        return PAWL_NO_MEMORY;
    }
    pawl_status rc = store_take(rt->store, rt_now(rt), &rt->fence, err);
    if (rc == PAWL_OK) {
        rt->slots = slots_open(rt->data_dir, past);
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
    if (!rt || !rt->workers.threads) {
        free(rt);
        error_set(err, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    if (getenv("PAWL_CRASH_AT"))
        point_crash_at(getenv("PAWL_CRASH_AT"));
    pawl_status rc = lane_open(rt, err) ? runtime_open_store(rt, err) : err->status;
    if (rc == PAWL_OK)
        rt->caps = store_caps(rt->store);
    if (rc == PAWL_OK && !rt->opts.read_only)
        rc = take_over(rt, err);
    if (rc == PAWL_OK && !rt->opts.read_only && !crew_open(rt))
        rc = PAWL_NO_MEMORY;
    if (rc == PAWL_OK && rt->caps.queues && !queue_desk_open(rt))
        rc = PAWL_NO_MEMORY;
    rt->jobs.withdrawn = queue_withdraw;
    if (rc == PAWL_OK) {
        registry_join(app, rt);
        return rt;
    }
    if (!err->text[0])
        error_set(err, rc, "cannot open the store: %s", pawl_status_text(rc));
    rt->health.dead = rc;
    runtime_discard(rt);
    return NULL;
}

pawl_client *pawl_runtime_client(pawl_runtime *rt)
{
    MUST_HAVE("a runtime", rt);
    return &rt->client;
}
