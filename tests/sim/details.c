/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/details.c -- activities, here and outside, that say where they got to.
 *
 * I34: details are numbered as they are given.  An attempt that follows one which this process saw
 * fail has exactly its details; any other attempt has none that were replaced before by newer ones
 * that were acknowledged or had been resumed; and only a work row that exists has any.
 * Called by interp.c, workers.c, and by rows.c after every commit.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

static bool is_on(const struct sim *s)
{
    return s->plan.rate[SITE_doors] > 0;
}

pawl_str details_next(struct sim *s)
{
    return pawl_mem_printf(s->mem, "D%d", ++s->details);
}

static int number_of(pawl_str details)
{
    return details.len > 1 && details.ptr[0] == 'D' ? atoi(details.ptr + 1) : 0;
}

void details_resumed(struct sim *s, const struct seen *i, struct seen_task *t, pawl_str details)
{
    int n = number_of(details);
    CHECKED(s, I34);
    if (n < t->details)
        sim_fail(s, "I34", "%s: an attempt resumes from D%d, and D%d was stored", i->id, n,
                 t->details);
    t->details = n;
}

void details_activity(struct node *n, pawl_activity *act, const struct seen *i, struct seen_task *t)
{
    struct sim *s = n->sim;
    pawl_str from = {0};
    uint32_t attempt = pawl_activity_attempt(act);
    if (!is_on(s))
        return;
    (void)pawl_activity_resume(act, &from);
    details_resumed(s, i, t, from);
    bool follows =
        t->failed_attempt && t->failed_attempt + 1 == attempt && t->failed_life == n->life;
    if (follows && number_of(from) != t->failed_details)
        sim_fail(s, "I34", "%s: attempt %u resumes from D%d; the one before got to D%d", i->id,
                 attempt, number_of(from), t->failed_details);
    t->failed_attempt = attempt; /* if it fails, as the caller decides */
    t->failed_life = n->life;
    t->failed_details = s->details + 1;
    (void)pawl_activity_beat(act, details_next(s));
}

void details_check(struct sim *s)
{
    pawl_object_list list = {0};
    pawl_error err;
    if (!is_on(s) || strcmp(sim_store_names[s->plan.store], "jsonl") == 0 || !s->details)
        return;
    if (s->inner->ops->list_objects(s->inner, PAWL_OBJECT_DETAILS, (pawl_str){0}, (pawl_str){0},
                                    1000, s->mem, &list, &err) != PAWL_OK)
        return;
    CHECKED(s, I34);
    for (size_t k = 0; k < list.count; k++) {
        pawl_work_list rows = {0};
        uint64_t id = strtoull(list.items[k].name.ptr, NULL, 16);
        if (s->inner->ops->read_work(s->inner, &id, 1, s->mem, &rows, &err) == PAWL_OK &&
            !rows.count)
            sim_fail(s, "I34", "work %llu is gone, and its details are there",
                     (unsigned long long)id);
    }
}
