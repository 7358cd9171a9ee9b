/* SPDX-License-Identifier: MIT */
/*
 * runtime/watchdog.c -- notice a turn that never ends.
 *
 * Sleeps for ever while the engine waits; looks once a second while it works.
 * A turn over ten seconds turns health bad and is named; over turn_limit_ms the
 * process stops, and the slot file blames the message on restart.
 */
#include "runtime/loop.h"
#include "runtime/slots.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SLOW_TURN_MS 10000

static void set_trouble(pawl_runtime *rt, const char *name, int64_t ms)
{
    pthread_mutex_lock(&rt->trouble_lock);
    (void)snprintf(rt->trouble, sizeof(rt->trouble), "a turn of orchestration '%s' runs for %lld s",
                   name, (long long)ms / 1000);
    pthread_mutex_unlock(&rt->trouble_lock);
}

/* True while a slow turn is on, so that its end clears the trouble. */
static bool look(pawl_runtime *rt, bool was_slow)
{
    int64_t began = atomic_load(&rt->turn_began_ms);
    const struct code_entry *code = atomic_load(&rt->turn_code);
    int64_t ms = began ? rt_mono(rt) - began : 0;
    const char *name = code ? code->name : "?";
    if (ms >= rt->opts.turn_limit_ms) {
        log_error(&rt->log, "watchdog", "a turn ran over the limit; stopping the process",
                  "orchestration=%s ms=%lld limit_ms=%lld flag=--turn-limit", name, (long long)ms,
                  (long long)rt->opts.turn_limit_ms);
        slots_fault_turn(rt->slots);
        _exit(70);
    }
    if (ms >= SLOW_TURN_MS) {
        if (!was_slow)
            log_error(&rt->log, "watchdog", "a turn holds the engine", "orchestration=%s ms=%lld",
                      name, (long long)ms);
        set_trouble(rt, name, ms);
        return true;
    }
    if (was_slow) {
        pthread_mutex_lock(&rt->trouble_lock);
        rt->trouble[0] = 0;
        pthread_mutex_unlock(&rt->trouble_lock);
    }
    return false;
}

static void *watch(void *arg)
{
    pawl_runtime *rt = arg;
    bool slow = false;
    pthread_mutex_lock(&rt->watch_lock);
    while (!rt->watch_stop) {
        if (!atomic_load(&rt->busy)) {
            atomic_store(&rt->watch_asleep, true);
            if (!atomic_load(&rt->busy))
                pthread_cond_wait(&rt->watch_wake, &rt->watch_lock);
            atomic_store(&rt->watch_asleep, false);
            continue;
        }
        int64_t pause = rt->opts.turn_limit_ms < 2000 ? rt->opts.turn_limit_ms / 2 : 1000;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (pause % 1000) * 1000000;
        until.tv_sec += pause / 1000 + until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&rt->watch_wake, &rt->watch_lock, &until);
        slow = look(rt, slow);
    }
    pthread_mutex_unlock(&rt->watch_lock);
    return NULL;
}

bool watchdog_start(pawl_runtime *rt)
{
    return pthread_create(&rt->watchdog_thread, NULL, watch, rt) == 0;
}

void watchdog_stop(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->watch_lock);
    rt->watch_stop = true;
    pthread_mutex_unlock(&rt->watch_lock);
    pthread_cond_broadcast(&rt->watch_wake);
    pthread_join(rt->watchdog_thread, NULL);
}

void watchdog_wake(pawl_runtime *rt)
{
    if (atomic_exchange(&rt->busy, true) || !atomic_load(&rt->watch_asleep))
        return;
    pthread_mutex_lock(&rt->watch_lock);
    pthread_mutex_unlock(&rt->watch_lock);
    pthread_cond_signal(&rt->watch_wake);
}
