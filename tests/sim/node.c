/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/node.c -- runtimes on the shared store.  A crash between steps is
 * runtime_discard(); a crash inside one freezes the store for this runtime from
 * that place on and discards it when the step returns: as far as the store and
 * the clients can tell, it died there.
 *
 * The fence makes one node the owner.  When another takes the store the old one is not told: it is
 * stepped on, gets calls, runs what it was handed, until its next commit is refused.
 */
#include "memory.h"

#include "runtime/core/doubt.h"
#include "runtime/core/resident.h"
#include "runtime/core/runtime.h"
#include "runtime/life/close.h"
#include "store/memory/memory.h"

#include <stdlib.h>
#include <unistd.h>

bool node_is_over(const struct node *n)
{
    return n->frozen || n->old || n->rt->health.dead != PAWL_OK;
}

bool node_in_doubt(const struct node *n)
{
    return n->rt->staging.doubt.is;
}

/* Which code the new process has. */
static void choose_code(struct sim *s, struct node *n)
{
    n->has_v1 = n->has_v2 = n->has_second = true;
    if (s->plan.rate[SITE_upgrade] == 0 || s->healing || faults_fires(s, SITE_upgrade))
        s->patched = true;
    n->code = (struct code){.sim = s, .patched = s->patched};
    if (s->plan.rate[SITE_skew] && !s->healing) {
        n->skew_ms = prng_between(&s->more, -90000, 90000);
        s->n->fired[SITE_skew]++;
    }
    if (s->healing)
        return;
    n->code.greedy = s->plan.rate[SITE_greedy] > 0;
    if (prng_chance(&s->faults, s->plan.rate[SITE_versions] * 4)) {
        n->has_v1 = prng_chance(&s->faults, 500);
        n->has_v2 = prng_chance(&s->faults, 500);
        n->has_second = prng_chance(&s->faults, 500);
        s->n->fired[SITE_versions]++;
    }
    if (prng_chance(&s->faults, s->plan.rate[SITE_deviate] * 3)) {
        n->code.deviates = s->deviated = true;
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
    struct node *n = s->node;
    n->app = pawl_app_new();
    (void)pawl_register_activity_with(n->app, "Act", interp_activity,
                                      PAWL_REGISTER_OPTS(.user = n));
    if (n->has_second)
        (void)pawl_register_activity_with(n->app, "Act2", interp_activity,
                                          PAWL_REGISTER_OPTS(.user = n));
    if (n->has_v1)
        register_version(n, "1.0.0");
    if (n->has_v2)
        register_version(n, "2.0.0");
}

void node_register(struct sim *s)
{
    struct node *n = s->node;
    if (!n->has_v1)
        register_version(n, "1.0.0");
    if (!n->has_v2)
        register_version(n, "2.0.0");
    if (!n->has_second)
        (void)pawl_register_activity_with(n->app, "Act2", interp_activity,
                                          PAWL_REGISTER_OPTS(.user = n));
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
    pawl_runtime *rt = s->node->rt;
    rt->blame.unfused_requests = true;
    for (size_t i = 0; i < s->seen_count; i++)
        for (size_t k = 0; k < s->seen[i]->task_count; k++)
            if (s->seen[i]->tasks[k].kind == PAWL_EV_ACTIVITY_SCHEDULED && s->seen[i]->tasks[k].rid)
                (void)idset_add(&rt->blame.suspects, s->seen[i]->tasks[k].rid);
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
    case SIM_FAR:
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
    struct node *n = s->node;
    const struct plan *p = &s->plan;
    pawl_env env = faults_env(n);
    pawl_error err = {0};
    open_inner(s);
    n->store = fault_store(s->inner, faults_decide, n);
    fault_store_on_done(n->store, faults_done);
    if (s->plan.store == SIM_FAR)
        fault_store_far(n->store);
    n->rt = pawl_runtime_open(
        n->app,
        PAWL_OPTIONS(.opened_store = n->store, .env = &env, .hostile = p->hostile,
                     .paranoid = p->paranoid, .group_limit = p->group_limit,
                     .fiber_memory = p->fiber_memory, .drop_early_events = p->drop_early,
                     .cancel_missing_version = p->cancel_missing && !s->healing,
                     .max_history = s->healing ? 0 : p->max_history, .turn_memory = SIM_TURN_MEMORY,
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

/* A new owner has a greater epoch, and ids above all that were used. */
static void check_fence(struct sim *s)
{
    const pawl_fence *fence = &s->node->rt->fence;
    CHECKED(s, I7);
    if (fence->epoch <= s->epoch)
        sim_fail(s, "I7", "epoch %llu after %llu", (unsigned long long)fence->epoch,
                 (unsigned long long)s->epoch);
    s->epoch = fence->epoch;
    if (fence->next_id <= s->max_id)
        sim_fail(s, "T2", "next id %llu after take, but %llu is used",
                 (unsigned long long)fence->next_id, (unsigned long long)s->max_id);
}

void node_open(struct sim *s)
{
    struct node *n = calloc(1, sizeof(*n));
    assert_that(n);
    *n = (struct node){.sim = s, .life = ++s->lives};
    s->node = n;
    choose_code(s, n);
    make_app(s);
    sim_trace(s, "open: v1=%d v2=%d act2=%d deviates=%d patched=%d skew=%lld", n->has_v1, n->has_v2,
              n->has_second, n->code.deviates, n->code.patched, (long long)n->skew_ms);
    while (!try_open(s)) { /* somebody starts it again after a while */
        s->wall_ms += 500;
        s->mono_ms += 500;
    }
    check_fence(s);
    check_ends(s);
    faults_open(s);
    if (!s->healing && prng_chance(&s->faults, s->plan.rate[SITE_unfused]))
        suspect_all(s);
}

/* What it did, before it goes. */
static void count_up(struct sim *s, const struct node *n)
{
    s->n->turns += atomic_load(&n->rt->figures.n.turns);
    s->n->commits += atomic_load(&n->rt->figures.n.commits);
}

static void let_go(struct node *n)
{
    (void)fault_store_release(n->store);
    pawl_app_free(n->app);
    free(n);
}

static void reopen_inner(struct sim *s)
{
    s->node = NULL;
    if (!sim_in_memory(s->plan.store) && prng_chance(&s->faults, 500)) {
        s->inner->ops->close(s->inner);
        s->inner = NULL;
        open_inner(s);
    }
}

static void discard(struct sim *s, struct node *n)
{
    count_up(s, n);
    n->frozen = true; /* answers that come now reach nobody */
    runtime_discard(n->rt);
    let_go(n);
}

void node_crash(struct sim *s)
{
    sim_trace(s, "crash");
    s->n->crashes++;
    discard(s, s->node);
    reopen_inner(s);
}

void node_close(struct sim *s)
{
    struct node *n = s->node;
    sim_trace(s, "close");
    count_up(s, n);
    n->spins = 0; /* closing takes few looks at the clock */
    pawl_runtime_close(n->rt);
    CHECKED(s, L5);
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i]->result == OP_WAITING && s->ops[i]->node == n)
            sim_fail(s, "L5", "closed, but call %d to %s was not answered", (int)s->ops[i]->kind,
                     s->ops[i]->instance);
    if (queues_open(s, n) || workers_open(s, n) || turned_open(s, n))
        sim_fail(s, "L5", "closed, but a call on a queue or of a worker was not answered");
    let_go(n);
    reopen_inner(s);
}

/* Out of memory: the process ended in the middle of something.  Its memory stays as it is. */
static void lose(struct sim *s, struct node *n)
{
    sim_trace(s, "out of memory: the process ends");
    s->n->crashes++;
    n->frozen = true;
    count_up(s, n);
    driver_lost(s, n);
    queues_lost(s, n);
    workers_lost(s, n);
    turned_lost(s, n);
    served_lost(s, n);
    s->node = NULL;
    node_open(s);
}

/* May it end although the store is well?  It asks what became of a commit made before, and this
 * store cannot tell. */
static bool may_die(const struct sim *s, const struct node *n, bool doubted)
{
    return doubted && s->plan.store == SIM_JSONL && n->rt->health.dead == PAWL_UNKNOWN;
}

int node_step(struct sim *s)
{
    struct node *n = s->node;
    bool doubted = doubt_is(n->rt);
    int done = 0;
    n->spins = 0;
    s->step++;
    s->n->steps++;
    bool short_of = s->plan.rate[SITE_memory] && faults_fires(s, SITE_memory);
    if (!short_of) {
        done = pawl_runtime_step(n->rt, 0);
    } else if (!memory_step(n, 1 + prng_below(&s->more, 15), &done)) {
        lose(s, n);
        return 1;
    }
    resident_check(n->rt);
    CHECKED(s, L6);
    if (n->frozen || done < 0) {
        if (!n->frozen && s->healing && !may_die(s, n, doubted))
            sim_fail(s, "L1", "the runtime died (%s) on a healthy store",
                     pawl_status_code(n->rt->health.dead));
        node_crash(s);
        node_open(s);
        return 1;
    }
    if (!done)
        faults_look(s);
    return done;
}

/* ---- Nodes that lost the store ------------------------------------------------------------ */

void node_takeover(struct sim *s)
{
    size_t at = 0;
    while (at < OLD_NODES && s->old[at])
        at++;
    if (at == OLD_NODES || !sim_in_memory(s->plan.store) || !faults_fires(s, SITE_takeover))
        return;
    sim_trace(s, "another node takes the store");
    s->node->old = true;
    s->old[at] = s->node;
    node_open(s);
}

static void end_old(struct sim *s, size_t at)
{
    struct node *n = s->old[at];
    s->old[at] = NULL;
    sim_trace(s, "the old node of life %llu ends: %s", (unsigned long long)n->life,
              pawl_status_code(n->rt->health.dead));
    discard(s, n);
}

/* It may run what it was handed, and think; nothing it decides is ever recorded. */
static void step_old(struct sim *s, size_t at)
{
    struct node *n = s->old[at];
    unsigned long long commits = atomic_load(&n->rt->figures.n.commits);
    n->spins = 0;
    sim_trace(s, "the old node of life %llu goes on", (unsigned long long)n->life);
    int done = pawl_runtime_step(n->rt, 0);
    CHECKED(s, I7);
    if (atomic_load(&n->rt->figures.n.commits) != commits)
        sim_fail(s, "I7", "a node committed after another one took the store");
    if (n->frozen || done < 0) {
        if (!n->frozen && n->rt->health.dead != PAWL_FENCED && n->rt->health.dead != PAWL_UNKNOWN)
            sim_fail(s, "I7", "a node that lost the store died of %s",
                     pawl_status_code(n->rt->health.dead));
        end_old(s, at);
    }
}

void node_step_old(struct sim *s)
{
    for (size_t i = 0; i < OLD_NODES; i++)
        if (s->old[i] && prng_chance(&s->more, 400))
            step_old(s, i);
}

void node_drop_old(struct sim *s)
{
    for (size_t i = 0; i < OLD_NODES; i++) {
        if (s->old[i])
            step_old(s, i);
        if (s->old[i])
            end_old(s, i);
    }
}
