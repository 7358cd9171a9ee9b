/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/world.c -- one seed from an empty store to a quiet one.
 *
 * Safety phase: clients call, the node steps, faults happen.  Then everything is
 * healed, and whatever was accepted has to end: time goes to the next due
 * moment, waits get their events, blocked instances their code (L1, L2).  At the
 * end nothing is left to do and nothing more is written (I20).
 */
#include "sim.h"

#include "fiber/fiber.h"
#include "runtime/core/doubt.h"
#include "runtime/loop/loop.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sim_verbose;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_dir(const struct sim *s)
{
    if (s->dir[0])
        (void)nftw(s->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void sim_fail(const struct sim *s, const char *rule, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("FAIL seed=%llu step=%llu [%s] %s\n", (unsigned long long)s->plan.seed,
           (unsigned long long)s->step, rule, text);
    fflush(stdout);
    remove_dir(s);
    _exit(10);
}

void sim_trace(const struct sim *s, const char *format, ...)
{
    if (!sim_verbose)
        return;
    printf("%5llu %8lld ", (unsigned long long)s->step, (long long)(s->wall_ms % 100000000));
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

void *sim_grow(void *items_field, size_t *count, size_t *cap, size_t size)
{
    char **items = items_field;
    if (*count == *cap) {
        *cap = *cap ? *cap * 2 : 8;
        *items = realloc(*items, *cap * size);
        assert_that(*items);
    }
    char *at = *items + (*count)++ * size;
    memset(at, 0, size);
    return at;
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void pass(struct sim *s, int64_t ms)
{
    s->wall_ms += ms;
    s->mono_ms += ms;
}

/* To the next moment something is due, within reason; false: there is none. */
static bool pass_until_due(struct sim *s, int64_t most)
{
    s->node->spins = 0;
    int64_t until = loop_idle_until(s->node->rt);
    if (until == INT64_MAX)
        return false;
    int64_t wait = until - s->mono_ms;
    if (wait > most)
        return false;
    pass(s, wait > 0 ? wait : 0);
    return true;
}

/* ---- The two phases ----------------------------------------------------------------------------- */

static void some_time(struct sim *s)
{
    uint64_t n = prng_below(&s->clock, 10);
    if (n < 4)
        pass(s, prng_between(&s->clock, 0, 30));
    else if (n < 7)
        (void)pass_until_due(s, INT64_C(100000000));
    else if (n == 7)
        pass(s, prng_between(&s->clock, 0, 5000));
    faults_clock(s);
}

static void one_moment(struct sim *s)
{
    const unsigned *rate = s->plan.rate;
    if (prng_chance(&s->faults, rate[SITE_crash])) {
        s->n->fired[SITE_crash]++;
        if (prng_chance(&s->faults, 150))
            node_close(s);
        else
            node_crash(s);
        node_open(s);
    }
    if (prng_chance(&s->faults, rate[SITE_versions]))
        node_register(s);
    faults_duplicate(s);
    faults_outage(s);
    faults_restart(s);
    queues_take_id(s);
    if (rate[SITE_takeover])
        node_takeover(s);
    (void)node_step(s);
    node_step_old(s);
    some_time(s);
}

static void safety(struct sim *s)
{
    for (int left = s->plan.ops; left > 0;) {
        for (uint64_t n = prng_below(&s->schedule, 4); n > 0 && left > 0; n--, left--)
            driver_act(s);
        for (uint64_t n = prng_below(&s->schedule, 4); n > 0; n--)
            one_moment(s);
    }
    for (int i = 0; i < 20; i++)
        one_moment(s);
}

static const struct seen *first_open(const struct sim *s)
{
    for (size_t i = 0; i < s->seen_count; i++)
        if (!s->seen[i]->removed && !pawl_state_is_terminal(s->seen[i]->state))
            return s->seen[i];
    return NULL;
}

static bool calls_open(const struct sim *s)
{
    for (size_t i = 0; i < s->op_count; i++)
        if (s->ops[i]->result == OP_WAITING)
            return true;
    return queues_open(s, NULL) || workers_open(s, NULL) || turned_open(s, NULL) || served_open(s);
}

/* A runtime that sleeps has left nothing lying about that it could do (L2, L4). */
static void check_idle(struct sim *s)
{
    pawl_runtime *rt = s->node->rt;
    s->node->spins = 0;
    if (loop_idle_until(rt) <= s->mono_ms || rt->health.retry_at_ms > s->mono_ms)
        return;
    pawl_mem_reset(s->mem);
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct seen *i = s->seen[k];
        if (!i->removed && i->state == PAWL_RUNNING)
            check_waiting(s, i, s->wall_ms + s->node->skew_ms);
    }
}

/* Work as long as there is some at this moment. */
static void settle(struct sim *s)
{
    for (int i = 0; node_step(s) > 0; i++)
        if (i > 3000)
            sim_fail(s, "L1", "work without end");
    check_idle(s);
}

/* Some instance ran its code, or will when its call comes through. */
static bool has_worked(const struct sim *s)
{
    for (size_t i = 0; i < s->seen_count; i++)
        if (s->seen[i]->last_seq > 1 && !s->seen[i]->forced)
            return true;
    return false;
}

/* One that asks for too much stops nobody else: nothing is wrong any more but such code. */
static void work_beside(struct sim *s)
{
    if (s->plan.rate[SITE_limit]) /* another call may have the only place */
        return;
    CHECKED(s, L9);
    if (!driver_start(s, "beside", "(ao0)", NULL))
        return;
    for (int i = 0; i < 100; i++) {
        settle(s);
        const struct seen *beside = seen_by_id(s, pawl_s("beside"));
        if (beside && beside->state == PAWL_COMPLETED)
            return;
        (void)pass_until_due(s, 3000);
    }
    sim_fail(s, "L9", "code that asks for too much memory keeps others from going on");
}

/* A commit made before may be in doubt.  The store is asked; one that cannot tell ends the process. */
static void end_doubt(struct sim *s)
{
    for (int i = 0; doubt_is(s->node->rt); i++) {
        if (i > 100)
            sim_fail(s, "L1", "the doubt about a commit has no end");
        (void)pass_until_due(s, 3000);
        (void)node_step(s);
    }
}

static void heal(struct sim *s)
{
    node_drop_old(s);
    s->healing = true;
    node_register(s);
    end_doubt(s);
    if (s->node->code.greedy && !s->node->code.deviates)
        work_beside(s);
    bool fresh = s->node->code.deviates || !s->patched || s->node->skew_ms || s->plan.max_history ||
                 s->plan.cancel_missing || s->plan.rate[SITE_greedy] ||
                 prng_chance(&s->schedule, 500);
    if (fresh) {
        node_crash(s);
        node_open(s);
    }
    bool last = false, busy = false;
    for (int i = 0;; i++) {
        if (i > 2000)
            sim_fail(s, "L1", "no end in sight: %s", first_open(s) ? first_open(s)->id : "idle");
        settle(s);
        bool scheduled = schedules_help(s);
        if (pass_until_due(s, 3000) || turned_help(s) || driver_help(s) || served_help(s) ||
            queues_help(s) || workers_help(s) || turned_help(s) || pass_until_due(s, INT64_MAX) ||
            scheduled)
            continue;
        const struct seen *open = first_open(s);
        CHECKED(s, L1);
        if (open)
            sim_fail(s, "L1", "%s is %s, and nothing will ever happen", open->id,
                     pawl_state_name(open->state));
        if (calls_open(s))
            sim_fail(s, "L1", "a call was never answered");
        if (last)
            break;
        if (!busy && !has_worked(s)) { /* nothing was accepted so far: a seed has to do something */
            char program[PROGRAM_BYTES];
            busy = true;
            program_make(&s->more, &s->plan, program);
            (void)driver_start(s, "busy", program, NULL);
            continue;
        }
        last = true; /* the healed world takes on new work */
        if (!driver_start(s, "last", "(ao0t10;n)", NULL))
            sim_fail(s, "L8", "a start is refused on a healthy store");
    }
}

/* What is left over, for people. */
static void tell_messages(struct sim *s)
{
    for (size_t k = 0; k < s->seen_count; k++) {
        pawl_message_list list;
        pawl_error err;
        const struct seen *i = s->seen[k];
        if (s->inner->ops->read_messages(s->inner, i->uid, (pawl_str){0}, s->mem, &list, &err) !=
            PAWL_OK)
            continue;
        for (size_t m = 0; m < list.count; m++)
            printf("left over: %s (%s%s): kind %d execution %llu ref %llu '%.*s'%s\n", i->id,
                   pawl_state_name(i->state), i->removed ? ", removed" : "", list.items[m].kind,
                   (unsigned long long)list.items[m].execution,
                   (unsigned long long)list.items[m].ref, PAWL_FMT(list.items[m].data),
                   list.items[m].mailbox ? " in the mailbox" : "");
    }
}

/* Nothing is ever put aside: all mail here is of our own making. */
static void check_quarantine(struct sim *s)
{
    pawl_message_list list;
    pawl_error err;
    if (s->inner->ops->read_quarantine(s->inner, 100, s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "Q1", "the quarantine is not readable: %s", err.text);
    CHECKED(s, S31);
    for (size_t i = 0; i < list.count; i++)
        sim_fail(s, "S31", "message %llu of kind %d is in the quarantine: %.*s",
                 (unsigned long long)list.items[i].id, list.items[i].kind,
                 PAWL_FMT(list.items[i].attrs));
}

static void quiet(struct sim *s)
{
    pawl_depths depths = {.size = sizeof(depths)};
    pawl_error err;
    int worked = 0;
    const struct seen *last = seen_by_id(s, pawl_s("last"));
    CHECKED(s, L8);
    if (!last || last->state != PAWL_COMPLETED)
        sim_fail(s, "L8", "the last instance did not complete");
    for (size_t k = 0; k < s->seen_count; k++)
        worked += s->seen[k]->forced ? 0 : s->seen[k]->last_seq > 1;
    if (worked < 2)
        sim_fail(s, "L8", "no instance but the last one ran: the seed did no work");
    for (int i = 0; i < 5; i++) {
        pass(s, 4000000);
        CHECKED(s, I20);
        if (node_step(s) != 0)
            sim_fail(s, "I20", "a quiet runtime writes");
    }
    if (s->inner->ops->depths(s->inner, s->wall_ms, &depths, &err) != PAWL_OK)
        sim_fail(s, "L3", "depths not readable: %s", err.text);
    uint64_t kept = 0;
    for (size_t k = 0; k < s->token_count; k++)
        kept += (uint64_t)s->tokens[k].rows;
    if (depths.work)
        sim_fail(s, "I5", "%llu work rows are left over", (unsigned long long)depths.work);
    if (depths.messages != kept) {
        tell_messages(s);
        sim_fail(s, "I5", "%llu messages are left over, %llu expected",
                 (unsigned long long)depths.messages, (unsigned long long)kept);
    }
    check_quarantine(s);
    queues_final(s);
    schedules_final(s);
}

void world_run(const struct plan *plan, struct counters *n)
{
    struct sim sim = {.plan = *plan,
                      .work = prng_split(plan->seed, "work"),
                      .schedule = prng_split(plan->seed, "schedule"),
                      .faults = prng_split(plan->seed, "faults"),
                      .clock = prng_split(plan->seed, "clock"),
                      .bytes = prng_split(plan->seed, "bytes"),
                      .more = prng_split(plan->seed, "more"),
                      .wall_ms = INT64_C(1700000000000),
                      .mono_ms = 1000000,
                      .n = n};
    struct sim *s = &sim;
    map_fix_order(plan->seed);
    map_init(&s->rids);
    map_init(&s->messages);
    s->mem = pawl_mem_new();
    s->fibers = fiber_pool_create(4);
    s->queues = queues_create();
    s->large = pawl_mem_new();
    s->workers = workers_create();
    s->schedules = schedules_create();
    s->limited = limited_create();
    s->turned = turned_create();
    s->served = served_create();
    if (!sim_in_memory(plan->store)) {
        (void)snprintf(s->dir, sizeof(s->dir), "%s/pawl-sim.XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(s->dir))
            sim_fail(s, "open", "no temporary directory");
    }
    node_open(s);
    safety(s);
    heal(s);
    check_final(s);
    quiet(s);
    node_close(s);
    s->inner->ops->close(s->inner);
    remove_dir(s);
    driver_free(s);
    queues_free(s->queues);
    pawl_mem_free(s->large);
    workers_free(s->workers);
    schedules_free(s->schedules);
    limited_free(s->limited);
    turned_free(s->turned);
    served_free(s->served);
    seen_free(s);
    ledger_free(s);
    fiber_pool_destroy(s->fibers);
    pawl_mem_free(s->mem);
    n->seeds++;
}
