/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/plan.c -- what a seed means.  Two levels: a site is active in about
 * a quarter of the seeds, and fires now and then while it is.
 */
#include "sim.h"

const char *const sim_site_names[SITE_COUNT] = {
#define SIM_SITE_NAME(name) #name,
    SIM_SITES(SIM_SITE_NAME)
#undef SIM_SITE_NAME
};

static unsigned rate_of(struct prng *r, enum sim_site site, bool on)
{
    static const unsigned highest[SITE_COUNT] = {
        [SITE_commit_before] = 250, [SITE_commit_unknown] = 60, [SITE_read] = 120,
        [SITE_fetch] = 200,         [SITE_purge] = 500,         [SITE_space] = 300,
        [SITE_crash] = 120,         [SITE_point] = 60,          [SITE_duplicate] = 300,
        [SITE_clock] = 150,         [SITE_versions] = 120,      [SITE_deviate] = 100,
        [SITE_unfused] = 600,       [SITE_outage] = 80,         [SITE_restart] = 60,
        [SITE_queue] = 600,         [SITE_worker] = 350,        [SITE_takeover] = 60,
        [SITE_skew] = 1000,         [SITE_upgrade] = 700,       [SITE_memory] = 60,
        [SITE_large] = 1000,        [SITE_unread] = 1000,       [SITE_taken] = 200,
        [SITE_detached] = 1000,     [SITE_greedy] = 1000,       [SITE_busy] = 200,
        [SITE_rude] = 500,          [SITE_oncancel] = 1000,     [SITE_outcome] = 200,
        [SITE_publish] = 1000,      [SITE_schedule] = 300,      [SITE_doors] = 600,
        [SITE_half] = 150,          [SITE_limit] = 200,         [SITE_turns] = 700,
        [SITE_update] = 400,        [SITE_group] = 1000,
    };
    bool often = site == SITE_crash || site == SITE_point || site == SITE_queue;
    bool active = prng_chance(r, often ? 450 : 270);
    unsigned rate = 1 + (unsigned)prng_below(r, highest[site]);
    return active || on ? rate : 0;
}

const char *const sim_store_names[] = {"memory", "sqlite", "jsonl", "far"};

struct plan plan_of_seed(uint64_t seed, enum sim_store store, const struct overrides *over)
{
    struct prng r = prng_split(seed, "plan");
    struct plan p = {.seed = seed, .store = store};
    bool small = prng_chance(&r, 300);
    p.ops = (int)prng_between(&r, 3, small ? 10 : 50);
    p.instances = (int)prng_between(&r, 1, small ? 2 : 6);
    p.size = (int)prng_between(&r, 2, small ? 6 : 24);
    struct prng more =
        prng_split(seed, "plan of later sites"); /* leaves older seeds as they were */
    for (int i = 0; i < SITE_COUNT; i++)
        p.rate[i] = rate_of(i < SITE_outage ? &r : &more, (enum sim_site)i, over->on >> i & 1);
    p.hostile = prng_chance(&r, 150);
    p.paranoid = prng_chance(&r, 150);
    p.drop_early = prng_chance(&r, 80);
    p.cancel_missing = prng_chance(&r, 60);
    p.group_limit = prng_chance(&r, 250) ? (uint32_t)prng_between(&r, 1, 3) : 0;
    p.max_history = prng_chance(&r, 70) ? (uint32_t)prng_between(&r, 8, 40) : 0;
    p.fiber_memory = prng_chance(&r, 250) ? (size_t)prng_between(&r, 1, 300000) : 0;
    p.cancel_grace_ms = prng_chance(&r, 500) ? prng_between(&r, 1, 2000) : 0;
    p.replay_rate = prng_chance(&r, 200) ? 1000 : 60;
    if (over->ops >= 0)
        p.ops = over->ops;
    if (over->instances >= 0)
        p.instances = over->instances;
    if (over->size >= 0)
        p.size = over->size;
    for (int i = 0; i < SITE_COUNT; i++)
        if (over->off >> i & 1)
            p.rate[i] = 0;
#ifdef __SANITIZE_ADDRESS__
    p.rate[SITE_memory] = 0; /* what the lost process had is leaked */
#endif
    if (store == SIM_JSONL) /* it keeps no queues */
        p.rate[SITE_queue] = p.rate[SITE_schedule] = p.rate[SITE_limit] = 0;
    if (store != SIM_JSONL || p.group_limit) /* or half a pass is done again, then the other half */
        p.rate[SITE_half] = 0;
    p.drop = over->drop;
    if (over->plain) {
        p.hostile = p.paranoid = p.drop_early = p.cancel_missing = false;
        p.group_limit = p.max_history = 0;
        p.fiber_memory = 0;
    }
    return p;
}

void plan_print(const struct plan *p, FILE *to)
{
    fprintf(to, "plan: seed=%llu store=%s ops=%d instances=%d size=%d", (unsigned long long)p->seed,
            sim_store_names[p->store], p->ops, p->instances, p->size);
    for (int i = 0; i < SITE_COUNT; i++)
        if (p->rate[i])
            fprintf(to, " %s=%u", sim_site_names[i], p->rate[i]);
    fprintf(to, "%s%s%s%s group_limit=%u max_history=%u fiber_memory=%zu grace=%lld\n",
            p->hostile ? " hostile" : "", p->paranoid ? " paranoid" : "",
            p->drop_early ? " drop_early" : "", p->cancel_missing ? " cancel_missing" : "",
            p->group_limit, p->max_history, p->fiber_memory, (long long)p->cancel_grace_ms);
}
