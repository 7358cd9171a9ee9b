/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/watchdog.c -- notice a turn that never ends.
 *
 * The watchdog sleeps while the engine waits and looks once per second while it works.
 * A turn over ten seconds makes the health bad and is named there; over turn_limit_ms the
 * process stops, and the slot file blames the message on restart.
 *
 * Only time between looks that came on time counts: a process that was stopped (SIGSTOP,
 * a debugger, a frozen machine) may resume an hour later, and its turn is not to blame.
 */
#include "runtime/loop/watchdog.h"

#include "base/deadline.h"
#include "runtime/core/health.h"
#include "runtime/core/registry.h"
#include "runtime/core/slots.h"
#include "runtime/core/stage.h"
#include "runtime/core/user_fault.h"

#include <unistd.h>

#define SLOW_TURN_MS 10000

struct watched {
    int64_t pause_ms;  /* between looks */
    int64_t looked_ms; /* mono: the last look */
    int64_t began_ms;  /* when the turn that ran then began; 0: none */
    int64_t ran_ms;    /* how long it has run while this thread was awake */
    bool slow;         /* that is too long: its end clears the trouble */
};

/* How long the turn that runs now has been running; 0: none runs. */
static int64_t turn_ms(struct watched *w, int64_t began_ms, int64_t now_ms)
{
    int64_t passed = now_ms - w->looked_ms, most = 2 * w->pause_ms;
    if (began_ms != w->began_ms) {
        passed = now_ms - began_ms;
        w->ran_ms = 0;
    }
    w->began_ms = began_ms;
    w->looked_ms = now_ms;
    w->ran_ms += passed < most ? passed : most;
    return began_ms ? w->ran_ms : 0;
}

/* True while a slow turn is on. */
static bool look(pawl_runtime *rt, struct watched *w)
{
    bool was_slow = w->slow;
    const struct code_entry *code = turn_clock_code(rt);
    int64_t ms = turn_ms(w, turn_clock_began(rt), rt_mono(rt));
    const char *name = code ? code->name : "?";
    char what[FAULT_TEXT] = "";
    if (ms >= rt->opts.turn_limit_ms) {
        fault_ask(rt, rt->threads.engine, what, sizeof(what));
        log_error(&rt->log, "watchdog", "a turn ran over the limit; stopping the process",
                  "orchestration=%s what=\"%s\" ms=%lld limit_ms=%lld flag=--turn-limit", name,
                  what, (long long)ms, (long long)rt->opts.turn_limit_ms);
        slots_fault_turn(rt->slots);
        _exit(70);
    }
    if (ms >= SLOW_TURN_MS) {
        if (!was_slow) {
            fault_ask(rt, rt->threads.engine, what, sizeof(what));
            log_error(&rt->log, "watchdog", "a turn holds the engine",
                      "orchestration=%s what=\"%s\" ms=%lld", name, what, (long long)ms);
        }
        health_slow_turn(rt, name, ms);
        return true;
    }
    if (was_slow)
        health_slow_turn(rt, NULL, 0);
    return false;
}

static void *watch(void *arg)
{
    pawl_runtime *rt = arg;
    int64_t pause = rt->opts.turn_limit_ms / 8; /* one late look alone never reaches the limit */
    struct watched w = {.pause_ms = pause < 1 ? 1 : pause > 1000 ? 1000 : pause};
    pthread_mutex_lock(&rt->watch.lock);
    while (!rt->watch.stop) {
        if (!atomic_load(&rt->watch.busy)) {
            atomic_store(&rt->watch.asleep, true);
            if (!atomic_load(&rt->watch.busy))
                pthread_cond_wait(&rt->watch.wake, &rt->watch.lock);
            atomic_store(&rt->watch.asleep, false);
            continue;
        }
        struct timespec until = deadline_in(w.pause_ms);
        w.looked_ms = rt_mono(rt);
        (void)pthread_cond_timedwait(&rt->watch.wake, &rt->watch.lock, &until);
        pthread_mutex_unlock(&rt->watch.lock); /* it may log */
        w.slow = look(rt, &w);
        pthread_mutex_lock(&rt->watch.lock);
    }
    pthread_mutex_unlock(&rt->watch.lock);
    return NULL;
}

bool watchdog_start(pawl_runtime *rt)
{
    atomic_store(&rt->watch.busy, true);
    return pthread_create(&rt->watch.thread, NULL, watch, rt) == 0;
}

void watchdog_stop(pawl_runtime *rt)
{
    pthread_mutex_lock(&rt->watch.lock);
    rt->watch.stop = true;
    pthread_mutex_unlock(&rt->watch.lock);
    pthread_cond_broadcast(&rt->watch.wake);
    pthread_join(rt->watch.thread, NULL);
}

void watchdog_wake(pawl_runtime *rt)
{
    if (atomic_exchange(&rt->watch.busy, true) || !atomic_load(&rt->watch.asleep))
        return;
    pthread_mutex_lock(&rt->watch.lock);
    pthread_mutex_unlock(&rt->watch.lock);
    pthread_cond_signal(&rt->watch.wake);
}

void watchdog_open(pawl_runtime *rt)
{
    pthread_mutex_init(&rt->watch.lock, NULL);
    deadline_cond_init(&rt->watch.wake);
}
