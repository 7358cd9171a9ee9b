/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/busy.c -- what must not stop the others: instances that have a message in every
 * pass, and callbacks that misbehave.
 *
 * Busy: an instance of sixty timers of zero is started; while it runs, it is removed, retried or
 * terminated, and somebody else's start comes behind.  Both must be answered within a few
 * commits, however busy it is (L10).  With groups of one to three rounds the others' letters take
 * longer, and only faults are looked for.
 *
 * Rude: inside a reply every call that would wait for the engine must be refused at once (L11).
 * What such a call does when it is let through is seen, too: it steps inside a step.
 */
#include "memory.h"
#include "sim.h"

#include "runtime/core/runtime.h"

#include <stdlib.h>
#include <string.h>

#define TIMERS        60
#define SOON          16 /* commits */
#define PASSES_BEFORE 4

static void busy_program(char out[PROGRAM_BYTES])
{
    char *at = out;
    *at++ = '(';
    for (int i = 0; i < TIMERS; i++, at += 3)
        memcpy(at, "t0;", 3);
    memcpy(at, ")", 2);
}

/* Step until the call is answered; it must be, within SOON commits of the same node. */
static void expect_soon(struct sim *s, const struct op *op)
{
    uint64_t life = s->node->life;
    unsigned long long before = atomic_load(&s->node->rt->figures.n.commits);
    while (op->result == OP_WAITING && s->node->life == life && op->node == s->node) {
        unsigned long long commits = atomic_load(&s->node->rt->figures.n.commits) - before;
        if (commits > SOON && !s->plan.group_limit)
            sim_fail(s, "L10", "call %d to %s is not answered after %llu commits", (int)op->kind,
                     op->instance, commits);
        if (node_step(s) == 0)
            return; /* nothing to do, or trouble: time has to pass */
    }
    CHECKED(s, L10);
}

void busy_act(struct sim *s)
{
    static const pawl_op ops[] = {PAWL_OP_REMOVE, PAWL_OP_REMOVE, PAWL_OP_RETRY, PAWL_OP_TERMINATE};
    char id[24], program[PROGRAM_BYTES];
    (void)snprintf(id, sizeof(id), "i%d", (int)prng_below(&s->more, (uint64_t)s->plan.instances));
    busy_program(program);
    bool started = driver_start(s, id, program, NULL);
    for (int i = 0; i < PASSES_BEFORE && started; i++)
        (void)node_step(s);
    const struct op *asked =
        driver_steer(s, ops[prng_below(&s->more, COUNT_OF(ops))], id, prng_chance(&s->more, 600));
    size_t behind = s->op_count;
    (void)driver_start(s, "behind", "(l)", NULL);
    if (asked)
        expect_soon(s, asked);
    if (behind < s->op_count)
        expect_soon(s, s->ops[behind]);
}

void rude_try(struct sim *s, struct node *n)
{
    pawl_client *c = pawl_runtime_client(n->rt);
    pawl_error err = {0};
    pawl_reply reply = {0};
    uint64_t id = 0;
    pawl_status rc = PAWL_OK;
    CHECKED(s, L11);
    switch (prng_below(&s->more, 4)) {
    case 0:
        rc = pawl_client_raise(c, "i0", "E0", pawl_s("rude"), NULL, &err);
        break;
    case 1:
        rc = pawl_client_remove(c, "i0", true, &reply);
        break;
    case 2:
        rc = pawl_client_push(c, "q0", pawl_s("rude"), NULL, &id, &err);
        break;
    default:
        rc = pawl_runtime_step(n->rt, 0) < 0 ? PAWL_MISUSE : PAWL_OK;
        break;
    }
    if (rc != PAWL_MISUSE && n->rt->health.dead == PAWL_OK)
        sim_fail(s, "L11", "a blocking call inside a reply was answered %s, not refused",
                 pawl_status_code(rc));
}
