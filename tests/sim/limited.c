/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/limited.c -- limits on activities: no commit leases more than there are places (I28).
 *
 * Two limits are put, changed and removed while everything else goes wrong: by all, key or first
 * level, with few places, some with a rate.
 *
 *   I28  a commit that leases a call which was made after the limit leaves no more leased calls in
 *        its bucket than there are places
 *
 * What runs in the process is not seen here, so the count is a lower one.  A clock that jumps makes
 * leases live and end at will: there only liveness is checked (L1: all that waits for a limit ends).
 */
#include "sim.h"

#include "fair/limit_json.h"
#include "runtime/core/runtime.h"
#include "runtime/core/tray.h"
#include "runtime/work/handout.h"

#include <stdlib.h>
#include <string.h>

#define LIMITS 2

struct limited {
    struct {
        uint64_t version;
        uint64_t since; /* calls from this id on were made under it */
    } of[LIMITS];
};

struct limited *limited_create(void)
{
    struct limited *all = calloc(1, sizeof(*all));
    assert_that(all);
    return all;
}

void limited_free(struct limited *all)
{
    free(all);
}

/* ---- Calls ------------------------------------------------------------------------------ */

static void nothing(void *arg, const pawl_reply *reply)
{
    (void)arg, (void)reply;
}

void limited_act(struct sim *s)
{
    static const char *const matches[] = {"*", "Act", "Act2", "Act*"};
    static const char *const bys[] = {"all", "key", "first"};
    struct prng *r = &s->more;
    char name[8], rate[80] = "";
    pawl_error err = {0};
    (void)snprintf(name, sizeof(name), "l%d", (int)prng_below(r, LIMITS));
    s->n->fired[SITE_limit]++;
    pawl_mem_reset(s->mem);
    if (prng_chance(r, 300))
        (void)snprintf(rate, sizeof(rate), ",\"rate\":{\"count\":%d,\"per_ms\":1000,\"burst\":%d}",
                       1 + (int)prng_below(r, 5), 1 + (int)prng_below(r, 3));
    pawl_str data = pawl_mem_printf(
        s->mem, "{\"match\":[{\"activity\":\"%s\"}],\"by\":\"%s\",\"concurrency\":%d%s}",
        matches[prng_below(r, COUNT_OF(matches))], bys[prng_below(r, COUNT_OF(bys))],
        1 + (int)prng_below(r, 3), rate);
    bool removes = prng_chance(r, 250);
    pawl_request q = {.size = sizeof(q),
                      .op = removes ? PAWL_OP_LIMIT_REMOVE : PAWL_OP_LIMIT_PUT,
                      .name = name,
                      .data = removes ? (pawl_str){0} : data};
    if (s->mute)
        return;
    sim_trace(s, "limit %s: %s", name, removes ? "removed" : data.ptr);
    pawl_status rc = pawl_client_submit(pawl_runtime_client(s->node->rt), &q, nothing, NULL, &err);
    if (rc != PAWL_OK && rc != PAWL_FENCED && rc != PAWL_SHUTDOWN && rc != PAWL_NO_MEMORY)
        sim_fail(s, "I28", "a call on a limit is refused: %s", err.text);
}

/* ---- Looking ------------------------------------------------------------------------------- */

void limited_row(struct seen_task *t, const pawl_work *row)
{
    bool leased = row && row->lock_token.len;
    t->leased_now = leased && !pawl_str_is(row->lock_token, t->row_token);
    (void)snprintf(t->tray, sizeof(t->tray), "%.*s", row ? (int)row->name.len : 0,
                   row ? row->name.ptr : "");
}

bool limited_waits(const struct sim *s, const pawl_work *w, int64_t now_ms)
{
    const struct handout *h = s->node->rt->hands.handout;
    const struct tray *tray = h ? map_gets(&h->trays, w->name) : NULL;
    return tray && fair_obstacle(&tray->fair, now_ms * 1000);
}

static bool is_leased(const struct sim *s, const struct seen *i, const struct seen_task *t)
{
    return !i->removed && !i->end_kind && t->now == TASK_IS_OPEN && t->row_token[0] && t->tray[0] &&
           t->row_free_ms > s->wall_ms;
}

/* Its bucket; false: the limit does not match. */
static bool bucket_of_task(const struct fair_rule *rule, const struct seen_task *t, pawl_str *ret)
{
    struct tray_parts parts;
    (void)tray_cut(pawl_s(t->tray), &parts);
    *ret = rule_key(rule, parts.key);
    return rule_matches(rule, tray_activity(pawl_s(t->tray)));
}

static void check_bucket(struct sim *s, const char *name, const struct fair_rule *rule,
                         pawl_str bucket)
{
    uint32_t used = 0;
    for (size_t k = 0; k < s->seen_count; k++)
        for (size_t j = 0; j < s->seen[k]->task_count; j++) {
            pawl_str of;
            const struct seen_task *t = &s->seen[k]->tasks[j];
            used += is_leased(s, s->seen[k], t) && bucket_of_task(rule, t, &of) &&
                    pawl_str_eq(of, bucket);
        }
    CHECKED(s, I28);
    if (rule->concurrency && used > rule->concurrency)
        sim_fail(s, "I28", "%s: %u are leased for '%.*s', and there are %u places", name, used,
                 PAWL_FMT(bucket), rule->concurrency);
}

static void look_at(struct sim *s, const char *name, const struct fair_rule *rule, uint64_t since)
{
    for (size_t k = 0; k < s->seen_count; k++)
        for (size_t j = 0; j < s->seen[k]->task_count; j++) {
            pawl_str bucket;
            const struct seen_task *t = &s->seen[k]->tasks[j];
            if (t->leased_now && t->rid >= since && is_leased(s, s->seen[k], t) &&
                bucket_of_task(rule, t, &bucket))
                check_bucket(s, name, rule, bucket);
        }
}

void limited_look(struct sim *s)
{
    pawl_object_list list;
    pawl_error err;
    bool there[LIMITS] = {false};
    if (s->plan.rate[SITE_clock] || s->plan.rate[SITE_skew])
        return;
    if (s->inner->ops->list_objects(s->inner, PAWL_OBJECT_LIMIT, (pawl_str){0}, (pawl_str){0}, 10,
                                    s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "I28", "limits not readable: %s", err.text);
    for (size_t k = 0; k < list.count; k++) {
        const char *name = list.items[k].name.ptr;
        int n = name[1] - '0';
        struct fair_rule rule;
        there[n] = true;
        if (!limit_read_json(&rule, list.items[k].data, s->mem, &err))
            sim_fail(s, "I28", "%s cannot be read: %s", name, err.text);
        if (s->limited->of[n].version == list.items[k].version) {
            look_at(s, name, &rule, s->limited->of[n].since);
            continue;
        }
        s->limited->of[n].version = list.items[k].version;
        s->limited->of[n].since = s->node->rt->fence.next_id;
    }
    for (int n = 0; n < LIMITS; n++)
        if (!there[n])
            s->limited->of[n].version = 0;
}
