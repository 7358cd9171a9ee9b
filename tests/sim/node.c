/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/node.c -- a runtime on the shared store.  A crash between steps is
 * runtime_discard(); a crash inside one freezes the store for this runtime from
 * that place on and discards it when the step returns: as far as the store and
 * the clients can tell, it died there.
 */
#include "sim.h"

#include "runtime/internal.h"
#include "runtime/runtime.h"
#include "store/memory/memory.h"

#include <stdlib.h>
#include <unistd.h>

bool node_is_frozen(const struct sim *s)
{
    return s->node.frozen;
}

/* Which code the new process has. */
static void choose_code(struct sim *s)
{
    struct node *n = &s->node;
    n->has_v1 = n->has_v2 = n->has_second = true;
    n->code = (struct code){.sim = s};
    if (s->healing)
        return;
    if (prng_chance(&s->faults, s->plan.rate[SITE_versions] * 4)) {
        n->has_v1 = prng_chance(&s->faults, 500);
        n->has_v2 = prng_chance(&s->faults, 500);
        n->has_second = prng_chance(&s->faults, 500);
        s->n->fired[SITE_versions]++;
    }
    if (prng_chance(&s->faults, s->plan.rate[SITE_deviate] * 3)) {
        n->code.deviates = true;
        s->n->fired[SITE_deviate]++;
    }
}

static void register_version(struct node *n, const char *version)
{
    (void)pawl_register_orchestration_with(n->app, "Prog", version, interp_orchestration,
                                           PAWL_REGISTER_OPTS(.user = &n->code));
}

static void make_app(struct sim *s)
{
    struct node *n = &s->node;
    n->app = pawl_app_new();
    (void)pawl_register_activity_with(n->app, "Act", interp_activity,
                                      PAWL_REGISTER_OPTS(.user = s));
    if (n->has_second)
        (void)pawl_register_activity_with(n->app, "Act2", interp_activity,
                                          PAWL_REGISTER_OPTS(.user = s));
    if (n->has_v1)
        register_version(n, "1.0.0");
    if (n->has_v2)
        register_version(n, "2.0.0");
}

void node_register(struct sim *s)
{
    struct node *n = &s->node;
    if (!n->has_v1)
        register_version(n, "1.0.0");
    if (!n->has_v2)
        register_version(n, "2.0.0");
    if (!n->has_second)
        (void)pawl_register_activity_with(n->app, "Act2", interp_activity,
                                          PAWL_REGISTER_OPTS(.user = s));
    n->has_v1 = n->has_v2 = n->has_second = true;
}

static void log_line(void *user, pawl_log_level level, const char *area, const char *text)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    sim_trace(user, "  %s %s: %s", names[level], area, text);
}

/* As after an unclean end: run everything that was under way unfused. */
static void suspect_all(struct sim *s)
{
    pawl_runtime *rt = s->node.rt;
    rt->unfused_requests = true;
    for (size_t i = 0; i < s->seen_count; i++)
        for (size_t k = 0; k < s->seen[i]->task_count; k++)
            if (s->seen[i]->tasks[k].kind == PAWL_EV_ACTIVITY_SCHEDULED)
                (void)map_put(&rt->suspects, s->seen[i]->tasks[k].rid, rt);
    s->n->fired[SITE_unfused]++;
}

static void open_inner(struct sim *s)
{
    if (s->inner)
        return;
    char file[96];
    pawl_error err = {0};
    (void)snprintf(file, sizeof(file), "%s/sim.db", s->dir);
    switch (s->plan.store) {
    case SIM_MEMORY:
        s->inner = pawl_memory_store();
        break;
    case SIM_SQLITE:
        s->inner = pawl_sqlite_store(file, PAWL_STORE_OPTS(.now_ms = s->wall_ms), &err);
        break;
    case SIM_JSONL:
        s->inner = pawl_jsonl_store(file, PAWL_STORE_OPTS(.now_ms = s->wall_ms), &err);
        break;
    }
    if (!s->inner)
        sim_fail(s, "open", "the store does not open: %s", err.text);
}

static bool try_open(struct sim *s)
{
    struct node *n = &s->node;
    const struct plan *p = &s->plan;
    pawl_env env = faults_env(s);
    pawl_error err = {0};
    open_inner(s);
    n->store = fault_store(s->inner, faults_decide, s);
    n->rt = pawl_runtime_open(
        n->app,
        PAWL_OPTIONS(.opened_store = n->store, .env = &env, .hostile = p->hostile,
                     .paranoid = p->paranoid, .group_limit = p->group_limit,
                     .fiber_memory = p->fiber_memory, .drop_early_events = p->drop_early,
                     .cancel_missing_version = p->cancel_missing && !s->healing,
                     .max_history = s->healing ? 0 : p->max_history,
                     .cancel_grace_ms = p->cancel_grace_ms, .log = log_line, .log_user = s,
                     .log_level = sim_verbose ? PAWL_LOG_DEBUG : PAWL_LOG_ERROR),
        &err);
    if (n->rt)
        return true;
    sim_trace(s, "open failed: %s", err.text);
    if (s->healing)
        sim_fail(s, "open", "the runtime does not open on a healthy store: %s", err.text);
    (void)fault_store_release(n->store);
    n->store = NULL;
    return false;
}

void node_open(struct sim *s)
{
    struct node *n = &s->node;
    choose_code(s);
    make_app(s);
    n->frozen = false;
    sim_trace(s, "open: v1=%d v2=%d act2=%d deviates=%d", n->has_v1, n->has_v2, n->has_second,
              n->code.deviates);
    while (!try_open(s)) { /* somebody starts it again after a while */
        s->wall_ms += 500;
        s->mono_ms += 500;
    }
    if (n->rt->fence.next_id <= s->max_id)
        sim_fail(s, "T2", "next id %llu after take, but %llu is used",
                 (unsigned long long)n->rt->fence.next_id, (unsigned long long)s->max_id);
    if (!s->healing && prng_chance(&s->faults, s->plan.rate[SITE_unfused]))
        suspect_all(s);
}

static void let_go(struct sim *s)
{
    struct node *n = &s->node;
    n->rt = NULL;
    (void)fault_store_release(n->store);
    n->store = NULL;
    pawl_app_free(n->app);
    n->app = NULL;
    if (s->plan.store != SIM_MEMORY && prng_chance(&s->faults, 500)) {
        s->inner->ops->close(s->inner);
        s->inner = NULL;
        open_inner(s);
    }
}

void node_crash(struct sim *s)
{
    sim_trace(s, "crash");
    s->n->crashes++;
    s->node.frozen = true; /* answers that come now reach nobody */
    runtime_discard(s->node.rt);
    let_go(s);
    s->node.frozen = false;
}

void node_close(struct sim *s)
{
    sim_trace(s, "close");
    pawl_runtime_close(s->node.rt);
    let_go(s);
}

int node_step(struct sim *s)
{
    struct node *n = &s->node;
    n->spins = 0;
    s->step++;
    s->n->steps++;
    int done = pawl_runtime_step(n->rt, 0);
    if (n->frozen || done < 0) {
        if (!n->frozen && s->healing)
            sim_fail(s, "L1", "the runtime died (%s) on a healthy store",
                     pawl_status_code(n->rt->dead));
        node_crash(s);
        node_open(s);
        return 1;
    }
    return done;
}
