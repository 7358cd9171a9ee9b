/* SPDX-License-Identifier: MIT */
/*
 * runtime/open.c -- options, opening, starting, stepping, closing.
 *
 * Order of opening: directory, store (locks it), fence, slot file, recovery.
 * Closing goes the other way; a runtime that is dead (fenced, outcome unknown)
 * is closed without touching the store again.
 */
#include "base/clock.h"
#include "base/forks.h"
#include "base/limits.h"
#include "base/rand.h"
#include "fiber/fiber.h"
#include "runtime/group.h"
#include "runtime/hold.h"
#include "runtime/inbox.h"
#include "runtime/internal.h"
#include "runtime/job.h"
#include "runtime/lease.h"
#include "runtime/letter.h"
#include "runtime/loop.h"
#include "runtime/mailbox.h"
#include "runtime/queue_desk.h"
#include "runtime/resident.h"
#include "runtime/slots.h"
#include "store/lock.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The real world -------------------------------------------------------------- */

static int64_t real_now(void *user)
{
    (void)user;
    return clock_wall_ms();
}

static int64_t real_mono(void *user)
{
    (void)user;
    return clock_mono_ms();
}

static void real_random(void *user, void *to, size_t n)
{
    (void)user;
    random_bytes(to, n);
}

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
    DEFAULT(max_attempts, 10);
    DEFAULT(cancel_grace_ms, 60000);
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

/* A new directory is gone after a power loss, with all that was synced in it, unless its
 * parent is synced too.  One that was there may be as new: its maker may have crashed. */
static pawl_status keep_data_dir(const char *dir, pawl_error *err)
{
    char parent[4096];
    (void)snprintf(parent, sizeof(parent), "%s", dir);
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/')
        parent[--n] = 0;
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = 0;
    if (directory_sync(slash ? parent : ".") || errno == EACCES || errno == EINVAL)
        return PAWL_OK; /* not ours to read, or of a kind that cannot: it was there before */
    error_set(err, PAWL_UNAVAILABLE, "cannot sync the directory that has %s: %s", dir,
              strerror(errno));
    return PAWL_UNAVAILABLE;
}

static pawl_status make_data_dir(pawl_runtime *rt, pawl_error *err)
{
    const char *dir = rt->opts.data ? rt->opts.data : "./pawl-data";
    rt->data_dir = strdup(dir);
    if (!rt->data_dir)
        return PAWL_NO_MEMORY;
    struct stat st;
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode)) {
        error_set(err, PAWL_INVALID, "%s is not a directory; choose another with --data", dir);
        return PAWL_INVALID;
    }
    if (rt->opts.read_only && access(dir, F_OK) != 0) {
        error_set(err, PAWL_NOT_FOUND,
                  "no data in %s; start something there first, or choose another with --data", dir);
        return PAWL_NOT_FOUND;
    }
    if (!rt->opts.read_only && mkdir(dir, 0700) != 0 && errno != EEXIST) {
        error_set(err, PAWL_UNAVAILABLE,
                  "cannot make data directory %s: %s; make it, or choose another with --data", dir,
                  strerror(errno));
        return PAWL_UNAVAILABLE;
    }
    return rt->opts.read_only ? PAWL_OK : keep_data_dir(dir, err);
}

static pawl_status open_jsonl(pawl_runtime *rt, const char *dir, pawl_error *err)
{
    rt->opts.data = dir;
    pawl_status rc = make_data_dir(rt, err);
    rt->opts.data = rt->data_dir;
    if (rc != PAWL_OK)
        return rc;
    rt->store = pawl_jsonl_store(
        rt->data_dir, PAWL_STORE_OPTS(.read_only = rt->opts.read_only, .now_ms = rt_now(rt)), err);
    return rt->store ? PAWL_OK : err->status;
}

static pawl_status open_store(pawl_runtime *rt, pawl_error *err)
{
    const char *url = rt->opts.store;
    if (rt->opts.opened_store) {
        rt->store = rt->opts.opened_store;
        return PAWL_OK;
    }
    rt->owns_store = true;
    if (url && strcmp(url, "memory:") == 0) {
        rt->store = pawl_memory_store();
        return rt->store ? PAWL_OK : PAWL_NO_MEMORY;
    }
    if (url && strncmp(url, "jsonl:", 6) == 0)
        return open_jsonl(rt, url + 6, err);
    if (url && strncmp(url, "sqlite:", 7) != 0) {
        error_set(err, PAWL_INVALID,
                  "unknown store '%s': use sqlite:FILE, jsonl:DIR or memory:", url);
        return PAWL_INVALID;
    }
    char file[4096];
    if (url) {
        (void)snprintf(file, sizeof(file), "%s", url + 7);
        char *slash = strrchr(file, '/');
        if (slash)
            *slash = 0;
        rt->opts.data = !slash ? "." : slash == file ? "/" : file;
    }
    pawl_status rc = make_data_dir(rt, err);
    rt->opts.data = rt->data_dir;
    if (rc != PAWL_OK)
        return rc;
    if (url)
        (void)snprintf(file, sizeof(file), "%s", url + 7);
    else
        (void)snprintf(file, sizeof(file), "%s/pawl.db", rt->data_dir);
    rt->store = pawl_sqlite_store(
        file, PAWL_STORE_OPTS(.read_only = rt->opts.read_only, .now_ms = rt_now(rt)), err);
    return rt->store ? PAWL_OK : err->status;
}

static void init_lists(pawl_runtime *rt)
{
    rt->inbox_end = &rt->inbox;
    rt->todo_end = &rt->todo;
    rt->later_end = &rt->later;
    rt->items_end = &rt->items;
    rt->stages_end = &rt->stages;
    rt->queue_end = &rt->queue;
    rt->handing_end = &rt->handing;
    map_init(&rt->by_uid);
    map_init(&rt->by_id);
    map_init(&rt->inflight);
    map_init(&rt->codeless);
    map_init(&rt->piled);
    map_init(&rt->kept_names);
    map_init(&rt->mailboxes);
    map_init(&rt->suspects);
    map_init(&rt->jobs);
    rt->polls_end = &rt->polls;
    map_init(&rt->waiters);
    map_init(&rt->mend);
    heap_init(&rt->held);
    map_init(&rt->held_timers);
    heap_init(&rt->limits);
    arena_init(&rt->group_mem);
    arena_init(&rt->load_mem);
}

static void init_locks(pawl_runtime *rt)
{
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_mutex_init(&rt->lock, NULL);
    pthread_mutex_init(&rt->feed_lock, NULL);
    pthread_mutex_init(&rt->work_lock, NULL);
    pthread_mutex_init(&rt->watch_lock, NULL);
    pthread_mutex_init(&rt->trouble_lock, NULL);
    pthread_cond_init(&rt->wake, &mono);
    pthread_cond_init(&rt->work_ready, &mono);
    pthread_cond_init(&rt->watch_wake, &mono);
    pthread_condattr_destroy(&mono);
}

static pawl_runtime *create(pawl_app *app, const pawl_options *opts)
{
    pawl_runtime *rt = calloc(1, sizeof(*rt));
    if (!rt)
        return NULL;
    if (opts)
        memcpy(&rt->opts, opts,
               opts->size && opts->size < sizeof(*opts) ? opts->size : sizeof(*opts));
    fill_in(&rt->opts);
    rt->app = app;
    rt->client.rt = rt;
    rt->log = (struct logger){rt->opts.log_level, rt->opts.log, rt->opts.log_user,
                              .json = rt->opts.log_json};
    if (rt->opts.env)
        rt->env = *rt->opts.env;
    if (!rt->env.now_ms)
        rt->env.now_ms = real_now;
    if (!rt->env.mono_ms)
        rt->env.mono_ms = real_mono;
    if (!rt->env.random)
        rt->env.random = real_random;
    rt->env.random(rt->env.user, rt->seed_key, sizeof(rt->seed_key));
    init_lists(rt);
    init_locks(rt);
    rt->resident_max = resident_limit();
    rt->workers = calloc(rt->opts.workers, sizeof(*rt->workers));
    return rt;
}

/* Become the owner and look at what was left. */
static pawl_status take_over(pawl_runtime *rt, pawl_error *err)
{
    struct slots_past *past = calloc(1, sizeof(*past));
    rt->fibers = fiber_pool_create(1024);
    if (!past || !rt->fibers) {
        free(past);
        return PAWL_NO_MEMORY;
    }
    pawl_status rc = store_take(rt->store, rt_now(rt), &rt->fence, err);
    if (rc == PAWL_OK) {
        rt->slots = slots_open(rt->data_dir, past);
        fiber_on_fault(slots_fault);
        rc = recover(rt, past, err);
        if (rc == PAWL_OK)
            slots_begin(rt->slots);
        retain_open(rt);
    }
    free(past);
    return rc;
}

pawl_runtime *pawl_runtime_open(pawl_app *app, const pawl_options *opts, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    *err = (pawl_error){0};
    if (!app || (app->trouble_count && !(opts && opts->read_only))) {
        if (app)
            *err = app->trouble;
        else
            error_set(err, PAWL_MISUSE, "pawl_runtime_open() without an app");
        return NULL;
    }
    pawl_runtime *rt = create(app, opts);
    if (!rt || !rt->workers) {
        free(rt);
        error_set(err, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    if (getenv("PAWL_CRASH_AT"))
        point_crash_at(getenv("PAWL_CRASH_AT"));
    pawl_status rc = open_store(rt, err);
    if (rc == PAWL_OK)
        rt->caps = rt->store->ops->caps(rt->store);
    if (rc == PAWL_OK && !rt->opts.read_only)
        rc = take_over(rt, err);
    if (rc == PAWL_OK && rt->caps.queues && !queue_desk_open(rt))
        rc = PAWL_NO_MEMORY;
    if (rc == PAWL_OK) {
        registry_join(app, rt);
        return rt;
    }
    if (!err->text[0])
        error_set(err, rc, "cannot open the store: %s", pawl_status_text(rc));
    rt->dead = rc;
    runtime_discard(rt);
    return NULL;
}

/* ---- Running ---------------------------------------------------------------------------- */

pawl_status pawl_runtime_start(pawl_runtime *rt, pawl_error *reterr)
{
    if (rt->threaded || rt->stepping || rt->opts.read_only) {
        error_set(reterr, PAWL_MISUSE,
                  rt->opts.read_only ? "a read-only runtime cannot be started"
                                     : "the runtime runs already");
        return PAWL_MISUSE;
    }
    rt->threaded = true;
    rt->forks = forks_behind();
    atomic_store(&rt->busy, true);
    if (!watchdog_start(rt)) {
        rt->threaded = false;
        error_set(reterr, PAWL_NO_MEMORY, "cannot start a thread");
        return PAWL_NO_MEMORY;
    }
    if (pthread_create(&rt->engine_thread, NULL, loop_main, rt) != 0) {
        watchdog_stop(rt);
        rt->threaded = false;
        error_set(reterr, PAWL_NO_MEMORY, "cannot start a thread");
        return PAWL_NO_MEMORY;
    }
    return PAWL_OK;
}

bool runtime_is_elsewhere(const pawl_runtime *rt, pawl_error *err)
{
    if (!rt->threaded || rt->forks == forks_behind())
        return false;
    error_set(err, PAWL_MISUSE,
              "this process was forked from the one that runs the runtime: its threads are not "
              "here; fork before pawl_runtime_start(), or exec at once");
    return true;
}

bool runtime_steps_here(pawl_runtime *rt)
{
    return !rt->threaded &&
           (!atomic_load(&rt->stepping) || pthread_equal(rt->step_thread, pthread_self()));
}

int pawl_runtime_step(pawl_runtime *rt, int64_t wait_ms)
{
    if (rt->threaded || rt->opts.read_only)
        return -1;
    if (!atomic_load(&rt->stepping)) {
        fiber_guard_thread();
        rt->step_thread = pthread_self();
        atomic_store(&rt->stepping, true);
    }
    int64_t end = rt_mono(rt) + (wait_ms < LIMIT_DELAY_MS ? wait_ms : LIMIT_DELAY_MS);
    for (;;) {
        int ran = worker_run_here(rt, 64);
        int done = loop_once(rt);
        if (done != 0 || ran)
            return done;
        int64_t until = loop_idle_until(rt);
        int64_t now = rt_mono(rt);
        if (until <= now || rt->queue_count)
            continue;
        if (now >= end)
            return 0;
        if (rt->env.mono_ms != real_mono)
            return 0; /* the caller's clock: only the caller can make time pass */
        inbox_wait(rt, until < end ? until : end);
    }
}

int runtime_step_blocked(pawl_runtime *rt)
{
    int done = pawl_runtime_step(rt, 1000);
    if (done != 0 || rt->env.mono_ms == real_mono)
        return done < 0 ? -1 : 1;
    int64_t mono = rt_mono(rt);
    if (rt->queue_count || atomic_load(&rt->inbox_count) || loop_idle_until(rt) <= mono)
        return 1;
    usleep(1000); /* another thread may move the clock */
    if (rt->retry_at_ms <= mono)
        return 0;
    rt->retry_at_ms = mono;
    return 1;
}

pawl_client *pawl_runtime_client(pawl_runtime *rt)
{
    return &rt->client;
}

/* ---- Closing -------------------------------------------------------------------------------- */

pawl_status runtime_ending(const pawl_runtime *rt, const char **rettext)
{
    bool unknown = rt->dead == PAWL_UNKNOWN;
    *rettext = unknown ? "the runtime has stopped: this may have happened, or not"
                       : "the runtime is closing";
    return unknown ? PAWL_UNKNOWN : PAWL_SHUTDOWN;
}

static void refuse_items(pawl_runtime *rt, struct item *item)
{
    const char *text;
    pawl_status status = runtime_ending(rt, &text);
    for (struct item *next; item; item = next) {
        next = item->next;
        if (item->kind == ITEM_REQUEST)
            request_refuse((struct request *)(void *)item, status, "%s", text);
        else if (item->kind == ITEM_LEASE)
            lease_refuse(rt, item);
        else if (item->kind == ITEM_QUEUE)
            queue_refuse((struct queue_req *)(void *)item, status, text);
        else
            job_free((struct job *)(void *)item);
    }
}

static void drop_letters(pawl_runtime *rt)
{
    struct letter *l;
    const char *text;
    pawl_status status = runtime_ending(rt, &text);
    letter_back(rt, rt->later);
    rt->later = NULL;
    rt->later_end = &rt->later;
    while ((l = letter_next(rt)))
        letter_drop(rt, l, status, text);
}

void runtime_refuse(pawl_runtime *rt)
{
    heap_deinit(&rt->limits); /* while the jobs in it live */
    inbox_take(rt);
    refuse_items(rt, rt->items);
    rt->items = NULL;
    rt->items_end = &rt->items;
    queue_refuse_all(rt);
    drop_letters(rt);
}

static void free_jobs(pawl_runtime *rt)
{
    for (struct job *job = rt->queue, *next; job; job = next) {
        next = job->next_queued;
        job_free(job);
    }
    rt->queue = NULL;
}

void runtime_discard(pawl_runtime *rt)
{
    registry_leave(rt->app, rt);
    runtime_refuse(rt);
    lease_stop(rt);
    queue_desk_close(rt);
    free_jobs(rt);
    hold_free(rt);
    resident_trim(rt, true, NULL);
    mailbox_free(rt);
    for (size_t cursor = 0;;) {
        char *name = map_next(&rt->kept_names, &cursor);
        if (!name)
            break;
        free(name);
    }
    struct map *maps[] = {&rt->by_uid,     &rt->by_id,    &rt->inflight, &rt->codeless, &rt->piled,
                          &rt->kept_names, &rt->suspects, &rt->jobs,     &rt->waiters,  &rt->mend};
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        map_deinit(maps[i]);
    arena_deinit(&rt->group_mem);
    arena_deinit(&rt->load_mem);
    fiber_pool_destroy(rt->fibers);
    slots_close(rt->slots, rt->dead == PAWL_OK);
    if (rt->owns_store && rt->store)
        rt->store->ops->close(rt->store);
    while (rt->feeds) {
        struct feed *f = rt->feeds;
        rt->feeds = f->next;
        free(f);
    }
    free(rt->workers);
    free(rt->data_dir);
    free(rt);
}

void pawl_runtime_close(pawl_runtime *rt)
{
    pawl_error elsewhere;
    if (!rt || runtime_is_elsewhere(rt, &elsewhere)) /* the parent's: nothing here is ours to end */
        return;
    registry_leave(rt->app, rt);
    told_stop(rt);
    bool all = true;
    if (rt->threaded) {
        all = worker_stop(rt, rt->opts.drain_ms);
        for (int i = 0; all && i < 1000 && atomic_load(&rt->inbox_count); i++)
            usleep(1000); /* their results are taken in */
        atomic_store(&rt->stop, true);
        inbox_wake(rt);
        pthread_join(rt->engine_thread, NULL);
        watchdog_stop(rt);
    }
    if (rt->stepping)
        loop_finish(rt);
    told_drain(rt);
    lease_stop(rt);
    if (!all) { /* threads still use runtime and store: both are left to the end of the process */
        log_warn(&rt->log, "close", "activities still run; left behind", "drain_ms=%lld",
                 (long long)rt->opts.drain_ms);
        atomic_store(&rt->app->left_running, true);
        slots_absolve(rt->slots); /* we ended them: that is no crash of theirs */
        return;
    }
    runtime_discard(rt);
}
