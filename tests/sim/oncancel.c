/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/oncancel.c -- activities that are cancelled while they run, and what they left to be
 * called then (L12).
 *
 * There is one thread, so such an activity has itself cancelled: it ends or cancels its own
 * instance, or lets its time run out, and steps until that has happened.  Its callback runs inside
 * one of those steps.  It must run once, after the pass and not in it, with no lock held; inside
 * it the activity takes the callback back, registers it again, asks for its token, and steps.
 */
#include "memory.h"

#include "runtime/core/here.h"
#include "runtime/core/runtime.h"

#define STEPS 12
#define DEEP  4 /* such activities one in another */

struct visit {
    struct node *node;
    pawl_activity *act;
    int told;   /* calls of the callback that was there in time */
    int nested; /* calls under way */
};

static bool is_free(pthread_mutex_t *lock)
{
    if (pthread_mutex_trylock(lock) != 0)
        return false;
    pthread_mutex_unlock(lock);
    return true;
}

static void check_place(const struct visit *v)
{
    pawl_runtime *rt = v->node->rt;
    const struct sim *s = v->node->sim;
    CHECKED(s, L12);
    if (here_is_engine(rt))
        sim_fail(s, "L12", "the callback of a cancelled activity runs inside a pass");
    if (!is_free(&rt->workers.cancels.lock) || !is_free(&rt->workers.lock))
        sim_fail(s, "L12", "the callback of a cancelled activity runs with a lock held");
    if (!pawl_activity_cancelled(v->act))
        sim_fail(s, "L12", "the callback of an activity that is not cancelled was called");
}

static void step(const struct visit *v)
{
    pawl_runtime *rt = v->node->rt;
    if (pawl_runtime_step(rt, 0) < 0 && rt->health.dead == PAWL_OK)
        sim_fail(v->node->sim, "L12", "the engine does not go on beside a cancelled activity");
}

static void when_cancelled(void *arg)
{
    struct visit *v = arg;
    struct sim *s = v->node->sim;
    memory_pause();
    check_place(v);
    if (++v->told > 1 || v->nested++)
        sim_fail(s, "L12", "the callback of a cancelled activity was called twice");
    uint64_t dice = prng_next(&s->more);
    if (dice & 1)
        pawl_activity_on_cancel(v->act, NULL, NULL);
    if (dice & 2)
        pawl_activity_on_cancel(v->act, when_cancelled, v);
    if (!pawl_activity_token(v->act)[0])
        sim_fail(s, "L12", "no token for an activity in its callback");
    if (dice & 4)
        step(v);
    v->nested--;
    memory_resume();
}

static void at_once(void *arg)
{
    check_place(arg);
    ((struct visit *)arg)->nested++;
}

/* Have it cancelled, one way or another. */
static void ask(const struct visit *v)
{
    struct sim *s = v->node->sim;
    char id[80];
    (void)snprintf(id, sizeof(id), "%.*s", PAWL_FMT(pawl_activity_instance(v->act)));
    s->n->fired[SITE_oncancel]++;
    switch (s->healing ? 1 : prng_below(&s->more, 4)) { /* what is healed is to complete */
    case 0:
        (void)driver_steer(s, PAWL_OP_TERMINATE, id, false);
        break;
    case 1:
        s->wall_ms += 200; /* longer than any attempt may take */
        s->mono_ms += 200;
        break;
    default:
        (void)driver_steer(s, PAWL_OP_CANCEL, id, false);
        break;
    }
}

bool oncancel_run(struct node *n, pawl_activity *act)
{
    struct visit v = {.node = n, .act = act};
    pawl_activity_on_cancel(act, when_cancelled, &v);
    if (n->inside <= DEEP)
        ask(&v);
    for (int i = 0; i < STEPS && n->inside <= DEEP && !pawl_activity_cancelled(act); i++) {
        if (node_is_over(n))
            break;
        step(&v);
    }
    bool cancelled = pawl_activity_cancelled(act);
    if (v.told != cancelled)
        sim_fail(n->sim, "L12", "an activity was%s cancelled; its callback was called %d times",
                 cancelled ? "" : " not", v.told);
    if (cancelled) { /* too late for the next one: it is called before the call returns */
        pawl_activity_on_cancel(act, at_once, &v);
        if (v.nested != 1)
            sim_fail(n->sim, "L12", "cancelled already, but the callback was not called at once");
    }
    return cancelled;
}
