/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/brought.c -- starts that bring events with them.
 *
 * I27: of the events of one start all were somewhere, or none, at every look; a start that found its
 * twin raised nothing.  That each is taken once, and none is lost, is I12 as for any raise.
 * And of asks: those that are listed are those that are open.
 * Called by driver.c, and by rows.c after every commit.
 */
#include "sim.h"

#include <string.h>

static bool is_weak(const struct sim *s)
{
    return strcmp(sim_store_names[s->plan.store], "jsonl") == 0;
}

const pawl_raise_item *brought_choose(struct sim *s, struct op *op)
{
    static char data[BRINGS_MOST][16], names[BRINGS_MOST][3];
    static pawl_raise_item items[BRINGS_MOST]; /* one thread, copied by the submit */
    if (!s->plan.rate[SITE_doors] || is_weak(s) || s->healing || !prng_chance(&s->more, 300))
        return NULL;
    op->brings = 1 + (int)prng_below(&s->more, BRINGS_MOST);
    op->uses = prng_chance(&s->more, 400);
    op->token = (int)s->token_count;
    for (int i = 0; i < op->brings; i++) {
        struct token *t = sim_grow(&s->tokens, &s->token_count, &s->token_cap, sizeof(*t));
        (void)snprintf(names[i], sizeof(names[i]), "E%d", (int)prng_below(&s->more, EVENT_NAMES));
        (void)snprintf(data[i], sizeof(data[i]), "R%d", op->token + i);
        (void)snprintf(t->instance, sizeof(t->instance), "%s", op->instance);
        (void)snprintf(t->name, sizeof(t->name), "%s", names[i]);
        t->submitted = op->number;
        items[i] = (pawl_raise_item){.event = names[i], .data = pawl_s(data[i])};
    }
    return items;
}

void brought_acked(struct sim *s, struct op *op, const pawl_reply *reply)
{
    op->created = reply->created;
    for (int i = 0; i < op->brings && (op->created || op->uses); i++)
        driver_token_acked(s, op, op->token + i);
}

/* May some of them be gone with the instance, or with a run of it? */
static bool is_over(struct sim *s, const struct op *op)
{
    const struct seen *i = seen_by_id(s, pawl_s(op->instance));
    for (int k = 0; k < op->brings; k++)
        if (s->tokens[op->token + k].excused)
            return true;
    return !i || i->removed || pawl_state_is_terminal(i->state) || i->reran;
}

void brought_check(struct sim *s)
{
    for (size_t k = 0; k < s->op_count; k++) {
        const struct op *op = s->ops[k];
        int ever = 0;
        for (int i = 0; i < op->brings; i++)
            ever += s->tokens[op->token + i].ever;
        if (!op->brings)
            continue;
        CHECKED(s, I27);
        if (ever && op->result == OP_ACKED && !op->created && !op->uses)
            sim_fail(s, "I27", "start of %s found its twin, and %d of its events are there",
                     op->instance, ever);
        if (ever && ever < op->brings && !s->plan.drop_early && !is_over(s, op))
            sim_fail(s, "I27", "%d of the %d events of the start of %s are there", ever, op->brings,
                     op->instance);
    }
}

/* The objects of an instance are its open asks, at every commit. */
void asks_check(struct sim *s, const struct seen *i)
{
    pawl_object_list list = {0};
    pawl_error err;
    size_t open = 0;
    if (is_weak(s)) /* there they come last, and are mended */
        return;
    for (size_t k = 0; k < i->task_count; k++)
        open += i->tasks[k].kind == PAWL_EV_EXTERNAL_SUBSCRIBED &&
                i->tasks[k].now == TASK_IS_OPEN && i->tasks[k].name[0] == 'E' &&
                i->tasks[k].name[1] == SIM_ASKS;
    pawl_str prefix = pawl_mem_printf(s->mem, "%016llx.", (unsigned long long)i->uid);
    if (s->inner->ops->list_objects(s->inner, PAWL_OBJECT_ASK, prefix, (pawl_str){0}, 1000, s->mem,
                                    &list, &err) != PAWL_OK)
        return;
    CHECKED(s, I27);
    if (list.count != open)
        sim_fail(s, "I27", "%s: %zu asks are listed, %zu are open", i->id, list.count, open);
}
