/* SPDX-License-Identifier: MIT */
/* tests/unit/test_fair.c -- trays, their order and their limits, against a naive model. */
#include "base/attr.h"
#include "child.h"
#include "fair/bucket.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#define TRAYS 60

static struct fair_tray trays[TRAYS + 1];
static char keys[TRAYS + 1][16];

static void add(struct fair *f, int i, const char *class, uint32_t priority, const char *key)
{
    trays[i] = (struct fair_tray){0};
    (void)snprintf(keys[i], sizeof(keys[i]), "%s", key);
    fair_tray_add(f, &trays[i], pawl_s(class), priority, pawl_s(keys[i]));
    fair_set_ours(f, trays[i].class, true);
}

static void drop(struct fair *f, int i)
{
    fair_idle(f, &trays[i]);
    while (trays[i].out)
        fair_give(f, &trays[i], 0);
    fair_tray_remove(f, &trays[i]);
}

static int pick(struct fair *f, int64_t now_us)
{
    struct fair_tray *tray = fair_pick(f, NULL, 0, 999, now_us);
    return tray ? (int)(tray - trays) : -1;
}

static int take(struct fair *f, int64_t now_us)
{
    int i = pick(f, now_us);
    if (i >= 0)
        fair_take(f, &trays[i], now_us);
    fair_check(f);
    return i;
}

static struct fair_limit limit_of(const char *name, const char *activity, enum fair_by by,
                                  uint32_t concurrency)
{
    struct fair_limit limit = {.name = pawl_s(name)};
    limit.rule.names[0] = pawl_s(activity);
    limit.rule.name_count = 1;
    limit.rule.by = by;
    limit.rule.concurrency = concurrency;
    return limit;
}

TEST(s42_the_lowest_priority_goes_first)
{
    static struct fair f;
    fair_init(&f);
    add(&f, 0, "Send", 500, "a");
    add(&f, 1, "Send", 1, "b");
    add(&f, 2, "Call/gpu", 100, "");
    for (int i = 0; i < 3; i++)
        fair_ready(&f, &trays[i]);
    ck_assert_int_eq(take(&f, 0), 1);
    ck_assert_int_eq(take(&f, 0), 1);
    fair_idle(&f, &trays[1]);
    ck_assert_int_eq(take(&f, 0), 2);
    fair_idle(&f, &trays[2]);
    ck_assert_ptr_null(fair_pick(&f, NULL, 0, 499, 0));
    ck_assert_int_eq(take(&f, 0), 0);
    for (int i = 0; i < 3; i++)
        drop(&f, i);
    fair_deinit(&f);
}

/* Classes that no thread here serves are not walked when ours are asked for. */
TEST(s42_others_stand_in_a_list_of_their_own)
{
    static struct fair f;
    fair_init(&f);
    add(&f, 0, "Send/gpu", 100, "a");
    add(&f, 1, "Send", 200, "a");
    for (int i = 0; i < 2; i++)
        fair_ready(&f, &trays[i]);
    ck_assert_int_eq(pick(&f, 0), 0);
    fair_set_ours(&f, trays[0].class, false); /* while it is ready */
    fair_check(&f);
    ck_assert_ptr_eq(f.ours, trays[1].class);
    ck_assert_ptr_null(f.ours->next_ready);
    ck_assert_ptr_eq(f.others, trays[0].class);
    ck_assert_int_eq(take(&f, 0), 1);
    fair_set_ours(&f, trays[0].class, true);
    ck_assert_ptr_null(f.others);
    ck_assert_int_eq(take(&f, 0), 0);
    for (int i = 0; i < 2; i++)
        drop(&f, i);
    fair_deinit(&f);
}

/* A sweep walks all classes: it is made when they have doubled, not at each look. */
TEST(s43_classes_without_trays_are_forgotten_now_and_then)
{
    static struct fair f;
    char name[16];
    fair_init(&f);
    for (int i = 0; i < TRAYS; i++) {
        (void)snprintf(name, sizeof(name), "A%d", i);
        add(&f, i, name, 100, "");
    }
    drop(&f, 0);
    fair_sweep(&f);
    ck_assert_uint_eq(f.classes.count, TRAYS - 1);
    drop(&f, 1);
    fair_sweep(&f);
    ck_assert_uint_eq(f.classes.count, TRAYS - 1);
    for (int i = 2; i < TRAYS; i++)
        drop(&f, i);
    for (int i = 0; i < TRAYS; i++) {
        (void)snprintf(name, sizeof(name), "B%d", i);
        add(&f, i, name, 100, "");
    }
    fair_sweep(&f);
    ck_assert_uint_eq(f.classes.count, TRAYS);
    for (int i = 0; i < TRAYS; i++)
        drop(&f, i);
    fair_deinit(&f);
}

TEST(s43_one_key_delays_another_by_one_item)
{
    static struct fair f;
    fair_init(&f);
    add(&f, 0, "Send", 100, "big");
    add(&f, 1, "Send", 100, "small");
    fair_ready(&f, &trays[0]);
    for (int i = 0; i < 100000; i++)
        fair_take(&f, fair_pick(&f, NULL, 0, 999, 0), 0);
    fair_ready(&f, &trays[1]); /* late, and behind nobody */
    int first = take(&f, 0), second = take(&f, 0);
    ck_assert(first == 1 || second == 1);
    int late = 0; /* nor is it paid for its silence */
    for (int i = 0; i < 100; i++)
        late += take(&f, 0) == 1;
    ck_assert_int_ge(late, 49);
    ck_assert_int_le(late, 51);
    drop(&f, 0);
    drop(&f, 1);
    fair_deinit(&f);
}

TEST(s43_shares_follow_the_weights)
{
    static struct fair f;
    struct fair_limit limit = limit_of("w", "Se*", FAIR_BY_KEY, 0);
    const struct fair_weight weights[] = {
        {pawl_s("gold"), 4}
    };
    int got[2] = {0};
    limit.rule.weights = weights;
    limit.rule.weight_count = 1;
    fair_init(&f);
    ck_assert_ptr_null(fair_limit_set(&f, &limit));
    add(&f, 0, "Send", 100, "gold/ann"); /* the weight of the first level */
    add(&f, 1, "Send", 100, "tin");
    fair_ready(&f, &trays[0]);
    fair_ready(&f, &trays[1]);
    for (int i = 0; i < 1000; i++)
        got[take(&f, 0)]++;
    ck_assert_int_ge(got[0], 799);
    ck_assert_int_le(got[0], 801);
    drop(&f, 0);
    drop(&f, 1);
    ck_assert_ptr_eq(fair_limit_remove(&f, pawl_s("w")), &limit);
    fair_deinit(&f);
}

TEST(s45_places_are_given_and_given_back)
{
    static struct fair f;
    struct fair_limit limit = limit_of("two", "Send", FAIR_BY_FIRST, 2);
    fair_init(&f);
    add(&f, 0, "Send", 100, "acme/ann");
    add(&f, 1, "Send", 100, "acme/bob");
    add(&f, 2, "Send", 100, "other");
    fair_was_out(&trays[0]); /* before there was a limit */
    (void)fair_limit_set(&f, &limit);
    ck_assert_uint_eq(limit.in_use, 1);
    for (int i = 0; i < 3; i++)
        fair_ready(&f, &trays[i]);
    int acme = 1, other = 0;
    for (int i; (i = take(&f, 0)) >= 0;)
        i == 2 ? other++ : acme++;
    ck_assert_int_eq(acme, 2);
    ck_assert_int_eq(other, 2);
    ck_assert_int_eq(trays[0].state, FAIR_HUNG);
    fair_give(&f, &trays[0], 0);
    int next = take(&f, 0);
    ck_assert(next == 0 || next == 1);
    ck_assert_int_eq(pick(&f, 0), -1);
    ck_assert_ptr_eq(fair_limit_remove(&f, pawl_s("two")), &limit); /* frees all */
    ck_assert_int_ge(pick(&f, 0), 0);
    for (int i = 0; i < 3; i++)
        drop(&f, i);
    fair_deinit(&f);
}

TEST(s46_any_span_has_at_most_count_and_burst)
{
    static struct fair f;
    struct fair_limit limit = limit_of("r", "Send", FAIR_BY_ALL, 0);
    static int64_t starts[4000];
    size_t n = 0;
    limit.rule.rate_count = 7;
    limit.rule.rate_per_ms = 100;
    limit.rule.rate_burst = 5;
    fair_init(&f);
    (void)fair_limit_set(&f, &limit);
    add(&f, 0, "Send", 100, "");
    fair_ready(&f, &trays[0]);
    uint64_t seed = 5;
    for (int64_t now = 0; now < 40000 && n < COUNT_OF(starts);
         now += (int64_t)random_below(&seed, 300) / 100) {
        fair_due(&f, now * 1000);
        if (take(&f, now * 1000) >= 0)
            starts[n++] = now;
    }
    ck_assert_uint_ge(n, 2700);
    ck_assert_uint_gt(limit.throttled, 0);
    for (size_t i = 0, k = 0; k < n; k++) {
        while (starts[k] - starts[i] >= 100)
            i++;
        ck_assert_uint_le(k - i + 1, 12);
    }
    fair_written(&f);
    drop(&f, 0);
    (void)fair_limit_remove(&f, pawl_s("r"));
    fair_deinit(&f);
}

TEST(s46_a_clock_that_was_set_back_costs_one_full_bucket)
{
    static struct fair f;
    struct fair_limit limit = limit_of("r", "*", FAIR_BY_ALL, 0);
    limit.rule.rate_count = 1;
    limit.rule.rate_per_ms = 1000;
    fair_init(&f);
    (void)fair_limit_set(&f, &limit);
    add(&f, 0, "Send", 100, "");
    fair_ready(&f, &trays[0]);
    ck_assert_int_eq(take(&f, INT64_C(1000000000)), 0);
    ck_assert_int_eq(take(&f, 5000000), -1);
    ck_assert_int_le(fair_next(&f), 6000000);
    fair_due(&f, 6000000);
    ck_assert_int_eq(take(&f, 6000000), 0); /* not when the old time is back */
    ck_assert_int_eq(take(&f, 6999999), -1);
    fair_due(&f, 7000000);
    ck_assert_int_eq(take(&f, 7000000), 0);
    drop(&f, 0);
    (void)fair_limit_remove(&f, pawl_s("r"));
    fair_deinit(&f);
}

/* ---- Any order of events ------------------------------------------------------------------ */

struct model {
    struct fair f;
    struct fair_limit limits[4];
    bool set[4];
    int items[TRAYS];
    int out[TRAYS];
    int64_t now_us;
    uint64_t seed;
};

static const char *const classes[] = {"Send", "Send/gpu", "Refund", "Charge"};
static const char *const owners[] = {"", "acme", "acme/ann", "zoo", "zoo/bob"};

/* By the words of the rules alone: is there room for this tray in every limit? */
static bool model_has_room(const struct model *m, int i)
{
    for (int k = 0; k < 4; k++) {
        const struct fair_rule *r = &m->limits[k].rule;
        pawl_str activity = trays[i].class->name;
        activity.len = strcspn(activity.ptr, "/");
        if (!m->set[k] || !rule_matches(r, activity))
            continue;
        uint32_t used = 0;
        for (int j = 0; j < TRAYS; j++) {
            pawl_str other = trays[j].class->name;
            other.len = strcspn(other.ptr, "/");
            if (rule_matches(r, other) &&
                pawl_str_eq(rule_key(r, trays[j].key), rule_key(r, trays[i].key)))
                used += (uint32_t)m->out[j];
        }
        if (r->concurrency && used >= r->concurrency)
            return false;
        for (size_t b = 0; b < trays[i].bucket_count; b++)
            if (trays[i].buckets[b]->limit == &m->limits[k] &&
                !bucket_has_room(trays[i].buckets[b], m->now_us))
                return false;
    }
    return true;
}

static void model_pick(struct model *m)
{
    uint32_t best = 1000;
    for (int i = 0; i < TRAYS; i++)
        if (m->items[i] && trays[i].priority < best && model_has_room(m, i))
            best = trays[i].priority;
    fair_due(&m->f, m->now_us);
    int i = pick(&m->f, m->now_us);
    ck_assert_uint_eq(i < 0 ? 1000 : trays[i].priority, best); /* I30, and nothing is forgotten */
    if (i < 0)
        return;
    ck_assert(model_has_room(m, i)); /* I29 */
    fair_take(&m->f, &trays[i], m->now_us);
    m->out[i]++;
    if (--m->items[i] == 0)
        fair_idle(&m->f, &trays[i]);
}

static void model_limit(struct model *m)
{
    int k = (int)random_below(&m->seed, 4);
    static const char *const names[] = {"l0", "l1", "l2", "l3"};
    static const char *const matches[] = {"Send", "*", "Re*", "Charge"};
    if (m->set[k]) {
        ck_assert_ptr_eq(fair_limit_remove(&m->f, pawl_s(names[k])), &m->limits[k]);
        m->set[k] = false;
        return;
    }
    m->limits[k] =
        limit_of(names[k], matches[random_below(&m->seed, 4)],
                 (enum fair_by)random_below(&m->seed, 3), (uint32_t)random_below(&m->seed, 4));
    if (random_below(&m->seed, 2)) {
        m->limits[k].rule.rate_count = 1 + (uint32_t)random_below(&m->seed, 9);
        m->limits[k].rule.rate_per_ms = 1 + (int64_t)random_below(&m->seed, 50);
        m->limits[k].rule.rate_burst = (uint32_t)random_below(&m->seed, 4);
    }
    ck_assert_ptr_null(fair_limit_set(&m->f, &m->limits[k]));
    m->set[k] = true;
}

static void model_step(struct model *m)
{
    int i = (int)random_below(&m->seed, TRAYS);
    switch (random_below(&m->seed, 20)) {
    case 0:
        model_limit(m);
        break;
    case 1:
        m->now_us += (int64_t)random_below(&m->seed, 20000);
        break;
    case 2:
        m->items[i] = 0;
        fair_idle(&m->f, &trays[i]);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        m->items[i]++;
        fair_ready(&m->f, &trays[i]);
        break;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
        if (m->out[i]) {
            m->out[i]--;
            fair_give(&m->f, &trays[i], m->now_us);
        }
        break;
    default:
        model_pick(m);
    }
    fair_written(&m->f);
    for (struct fair_bucket *b; (b = fair_take_stale(&m->f));)
        free(b);
}

TEST(s41_s45_any_order_of_events_agrees_with_the_rules)
{
    static struct model m;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        m = (struct model){.seed = seed, .now_us = 1000000};
        fair_init(&m.f);
        for (int i = 0; i < TRAYS; i++)
            add(&m.f, i, classes[random_below(&m.seed, 4)],
                1 + (uint32_t)random_below(&m.seed, 3) * 50, owners[random_below(&m.seed, 5)]);
        for (int n = 0; n < 1500; n++) {
            model_step(&m);
            if (n % 10 == 0)
                fair_check(&m.f);
        }
        for (int k = 0; k < 4; k++)
            if (m.set[k])
                (void)fair_limit_remove(&m.f, m.limits[k].name);
        for (int i = 0; i < TRAYS; i++)
            drop(&m.f, i);
        fair_deinit(&m.f);
    }
}
