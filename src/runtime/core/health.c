/* SPDX-License-Identifier: MIT */
/* runtime/core/health.c -- see health.h. */
#include "runtime/core/health.h"

#include "base/misuse.h"
#include "runtime/core/doubt.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/owed.h"
#include "runtime/core/slots.h"
#include "store/store.h"

#include <stdio.h>
#include <unistd.h>

#define SLOW_COMMIT_MS 10000 /* from here on health is bad */
#define SLOW_ANSWER_MS 10000
#define LOOK_MS        1000 /* ask the store how it is, at most this often */
#define LOG_LONG       ((uint64_t)64 << 20)

static void set_trouble(pawl_runtime *rt, const char *text)
{
    pthread_mutex_lock(&rt->health.lock);
    (void)snprintf(rt->health.trouble, sizeof(rt->health.trouble), "store: %.180s", text);
    pthread_mutex_unlock(&rt->health.lock);
}

void health_unread(pawl_runtime *rt, const pawl_error *err)
{
    rt->health.retry_at_ms = rt_mono(rt) + 100;
    if (rt->health.failures++)
        return;
    rt->health.unread = true;
    log_error(&rt->log, "store", "cannot read; trying again", "why=\"%s\"", err->text);
    set_trouble(rt, err->text);
}

void health_failed(pawl_runtime *rt, pawl_status rc, const pawl_error *err)
{
    if (rc == PAWL_DISK_FULL)
        atomic_store(&rt->health.full, true);
    uint32_t doublings = rt->health.failures < 7 ? rt->health.failures : 7;
    int64_t delay = rc == PAWL_DISK_FULL && !rt->health.failures ? 1 : 10 << doublings;
    rt->health.failures++;
    rt->health.unread = false; /* only a commit tells that this is over */
    rt->health.retry_at_ms = rt_mono(rt) + delay;
    log_warn(&rt->log, "store", "commit failed; trying again", "status=%s why=\"%s\" in_ms=%lld",
             pawl_status_code(rc), err->text, (long long)delay);
    set_trouble(rt, err->text);
}

void health_doubt(pawl_runtime *rt, const pawl_error *err)
{
    uint32_t doublings = rt->health.failures < 6 ? rt->health.failures : 6;
    int64_t delay = 25 << doublings;
    rt->health.failures++;
    rt->health.unread = false;
    rt->health.retry_at_ms = rt_mono(rt) + delay;
    set_trouble(rt, err->text);
}

void health_stop_dead(pawl_runtime *rt, pawl_status rc, const char *text)
{
    log_error(&rt->log, "store", "commit failed; stopping at once", "status=%s why=\"%s\"",
              pawl_status_code(rc), text);
    slots_absolve(rt->slots); /* what runs now is not to blame */
    if (here_has_threads(rt))
        _exit(rc == PAWL_UNKNOWN ? 75 : 3);
    rt->health.dead = rc;
}

/* The store was deleted, moved or replaced under us: no commit is acknowledged, and the loop
 * refuses every call (refuse_calls) until the process ends. */
void health_gone(pawl_runtime *rt, const char *text)
{
    log_error(&rt->log, "store", "the store is gone; everything is refused", "why=\"%s\"", text);
    (void)snprintf(rt->health.gone_why, sizeof(rt->health.gone_why), "store: %.190s", text);
    atomic_store(&rt->health.gone, true);
    rt->health.refuse = true;
    rt->health.failures++;
    slots_absolve(rt->slots); /* what runs now is not to blame when this ends */
}

static void look_at_log(pawl_runtime *rt, uint64_t bytes)
{
    if (bytes >= 2 * (rt->health.log_told ? rt->health.log_told : LOG_LONG / 2)) {
        rt->health.log_told = bytes;
        log_warn(&rt->log, "store",
                 "the write-ahead log grows: a reader has held an old state open", "bytes=%llu",
                 (unsigned long long)bytes);
    } else if (rt->health.log_told && bytes < LOG_LONG / 2) {
        rt->health.log_told = 0;
        log_warn(&rt->log, "store", "the write-ahead log is short again", "bytes=%llu",
                 (unsigned long long)bytes);
    }
}

int64_t health_next_look(pawl_runtime *rt)
{
    pawl_store_figures figures;
    store_figures(rt->store, &figures);
    return figures.damaged == rt->health.damaged ? INT64_MAX : rt->health.look_ms;
}

static void pulse(pawl_runtime *rt);

void health_look(pawl_runtime *rt)
{
    pawl_store_figures figures;
    if (UNLIKELY(atomic_load_explicit(&rt->health.asked, memory_order_relaxed)) && !doubt_is(rt))
        pulse(rt);
    if (rt_mono(rt) < rt->health.look_ms)
        return;
    rt->health.look_ms = rt_mono(rt) + LOOK_MS;
    store_figures(rt->store, &figures);
    look_at_log(rt, figures.log_bytes);
    if (figures.damaged == rt->health.damaged)
        return;
    rt->health.damaged = figures.damaged;
    log_error(&rt->log, "store", "stored rows are not what was written; they are left out",
              "met=%llu last=\"%s\"", (unsigned long long)figures.damaged, figures.damage);
}

void health_well(pawl_runtime *rt)
{
    if (!rt->health.failures || atomic_load(&rt->health.gone))
        return;
    rt->health.failures = 0;
    rt->health.unread = false;
    pthread_mutex_lock(&rt->health.lock);
    rt->health.trouble[0] = 0;
    pthread_mutex_unlock(&rt->health.lock);
}

bool health_no_room(pawl_runtime *rt)
{
    bool full = store_space(rt->store) != PAWL_OK;
    if (full == atomic_load_explicit(&rt->health.full, memory_order_relaxed))
        return full;
    atomic_store(&rt->health.full, full);
    if (full) {
        log_warn(&rt->log, "store", "the disk is full: new work is refused, running work goes on",
                 "store=%s", store_name(rt->store));
        return true;
    }
    log_warn(&rt->log, "store", "there is room again: new work is accepted", "store=%s",
             store_name(rt->store));
    health_well(rt); /* what failed for it may have been refused: no commit will tell */
    return false;
}

pawl_status health_ending(const pawl_runtime *rt, const char **rettext)
{
    bool unknown = rt->health.dead == PAWL_UNKNOWN || doubt_is(rt);
    if (atomic_load(&rt->health.gone) && !unknown) {
        *rettext = rt->health.gone_why;
        return PAWL_UNAVAILABLE;
    }
    *rettext = unknown ? "the runtime has stopped: this may have happened, or not"
                       : "the runtime is closing";
    return unknown ? PAWL_UNKNOWN : PAWL_SHUTDOWN;
}

/* A disk that does not answer says nothing: only the time tells. */
static void look_at_commit(pawl_runtime *rt, char trouble[PAWL_TROUBLE_BYTES])
{
    int64_t began = atomic_load_explicit(&rt->health.commit_began_ms, memory_order_relaxed);
    int64_t ms = began ? rt_mono(rt) - began : 0;
    if (ms >= SLOW_COMMIT_MS)
        (void)snprintf(trouble, PAWL_TROUBLE_BYTES,
                       "store: the disk has not answered a commit for %lld s",
                       (long long)ms / 1000);
}

/* A far store knows by itself that it is away, before a commit fails. */
static void look_at_store(pawl_runtime *rt, char trouble[PAWL_TROUBLE_BYTES])
{
    pawl_store_figures figures;
    if (!rt->caps.far)
        return;
    store_figures(rt->store, &figures);
    if (figures.trouble[0])
        (void)snprintf(trouble, PAWL_TROUBLE_BYTES, "store: %s", figures.trouble);
}

/* A far store may be gone, and an engine without work would not notice: a caller that asks for the
 * health makes the engine read from the store, at most once per second. */
static void ask_store(pawl_runtime *rt, char trouble[PAWL_TROUBLE_BYTES])
{
    if (!rt->caps.far)
        return;
    int64_t now = rt_mono(rt);
    if (atomic_load(&rt->health.asked)) {
        int64_t ms = now - atomic_load(&rt->health.asked_ms);
        if (ms >= SLOW_ANSWER_MS && !trouble[0])
            (void)snprintf(trouble, PAWL_TROUBLE_BYTES, "store: it has not answered for %lld s",
                           (long long)ms / 1000);
    } else if (now - atomic_load(&rt->health.asked_ms) >= LOOK_MS) {
        atomic_store(&rt->health.asked_ms, now);
        atomic_store(&rt->health.asked, true);
        inbox_wake(rt);
    }
}

/* The second time it is asked on a new connection. */
static void pulse(pawl_runtime *rt)
{
    pawl_error err;
    int64_t due;
    pawl_status rc = store_next_due(rt->store, rt->now_ms, &due, &err);
    if (rc == PAWL_UNAVAILABLE)
        rc = store_next_due(rt->store, rt->now_ms, &due, &err);
    if (rc != PAWL_OK)
        health_unread(rt, &err);
    atomic_store(&rt->health.asked, false);
}

/* Whatever holds it up: a call that came long ago has its answer, or something is wrong. */
static void look_at_calls(pawl_runtime *rt, char trouble[PAWL_TROUBLE_BYTES])
{
    int64_t since = owed_since(rt);
    int64_t ms = since ? rt_mono(rt) - since : 0;
    if (ms >= SLOW_ANSWER_MS)
        (void)snprintf(trouble, PAWL_TROUBLE_BYTES, "engine: a call has no answer for %lld s",
                       (long long)ms / 1000);
}

/* There is no engine in a forked child, and its locks may be held for ever. */
static bool is_elsewhere(const pawl_runtime *rt, char trouble[PAWL_TROUBLE_BYTES])
{
    pawl_error err;
    if (!here_is_forked(rt, &err))
        return false;
    (void)snprintf(trouble, PAWL_TROUBLE_BYTES, "%.*s", PAWL_TROUBLE_BYTES - 1, err.text);
    return true;
}

bool pawl_runtime_healthy(pawl_runtime *rt, char rettrouble[PAWL_TROUBLE_BYTES])
{
    MUST_HAVE("a runtime", rt);
    if (is_elsewhere(rt, rettrouble))
        return false;
    pthread_mutex_lock(&rt->health.lock);
    memcpy(rettrouble, rt->health.trouble, PAWL_TROUBLE_BYTES);
    pthread_mutex_unlock(&rt->health.lock);
    if (atomic_load(&rt->health.gone))
        (void)snprintf(rettrouble, PAWL_TROUBLE_BYTES, "%s", rt->health.gone_why);
    if (!rettrouble[0])
        look_at_store(rt, rettrouble);
    if (!rettrouble[0])
        look_at_commit(rt, rettrouble);
    if (!rettrouble[0])
        look_at_calls(rt, rettrouble);
    ask_store(rt, rettrouble);
    if (!rettrouble[0] && atomic_load(&rt->health.no_threads))
        (void)snprintf(rettrouble, PAWL_TROUBLE_BYTES, "no thread for activities can be started");
    if (!atomic_load(&rt->health.full))
        return !rettrouble[0];
    if (!rettrouble[0])
        (void)snprintf(rettrouble, PAWL_TROUBLE_BYTES,
                       "store: the disk is full: new work is refused until space is freed");
    inbox_wake(rt); /* the engine looks again by itself */
    return !rettrouble[0];
}

bool pawl_runtime_ready(pawl_runtime *rt, char rettrouble[PAWL_TROUBLE_BYTES])
{
    MUST_HAVE("a runtime", rt);
    if (is_elsewhere(rt, rettrouble))
        return false;
    if (pawl_runtime_healthy(rt, rettrouble) || health_is_full(rt))
        return true;
    return strncmp(rettrouble, "store: ", 7) != 0;
}

void health_slow_turn(pawl_runtime *rt, const char *name, int64_t ms)
{
    pthread_mutex_lock(&rt->health.lock);
    rt->health.trouble[0] = 0;
    if (name)
        (void)snprintf(rt->health.trouble, sizeof(rt->health.trouble),
                       "a turn of orchestration '%s' runs for %lld s", name, (long long)ms / 1000);
    pthread_mutex_unlock(&rt->health.lock);
}

bool health_try_now(pawl_runtime *rt)
{
    int64_t mono = rt_mono(rt);
    if (rt->health.retry_at_ms <= mono)
        return false;
    rt->health.retry_at_ms = mono;
    return true;
}

void health_open(pawl_runtime *rt)
{
    pthread_mutex_init(&rt->health.lock, NULL);
}
