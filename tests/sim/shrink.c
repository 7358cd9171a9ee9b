/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/shrink.c -- a failing seed made small: no special options, fewer faults,
 * fewer calls, smaller programs, then single calls left out, as long as the same rule is broken.
 * What is left is run once more and its events are printed.
 */
#include "run.h"

#include <string.h>

#define TOLD_LINES 120

static struct outcome trial_outcome;

static bool still_fails(uint64_t seed, const struct settings *set, const struct overrides *over,
                        const char *rule)
{
    struct settings smaller = *set;
    struct counters before = tally->n;
    smaller.over = *over;
    run_child(seed, seed, &smaller, 0, &trial_outcome);
    tally->n = before;
    return trial_outcome.failed && strcmp(trial_outcome.rule, rule) == 0;
}

static void print_sites(const char *flag, uint64_t set)
{
    for (int i = 0; i < SITE_COUNT; i++)
        if (set >> i & 1) {
            printf("%s%s", flag, sim_site_names[i]);
            flag = ",";
        }
}

void shrink_command(uint64_t seed, const struct settings *set, const struct overrides *over)
{
    printf("  repeat: build/tests/sim/pawl-sim --seed %llu", (unsigned long long)seed);
    if (set->store != SIM_MEMORY)
        printf(" --store %s", sim_store_names[set->store]);
    if (over->ops >= 0)
        printf(" --ops %d", over->ops);
    if (over->instances >= 0)
        printf(" --instances %d", over->instances);
    if (over->size >= 0)
        printf(" --size %d", over->size);
    if (over->drop)
        printf(" --drop %llx", (unsigned long long)over->drop);
    print_sites(" --off ", over->off);
    print_sites(" --on ", over->on);
    printf("%s -v\n", over->plain ? " --plain" : "");
}

/* Try smaller values of one number, half of it first. */
static void shrink_number(uint64_t seed, const struct settings *set, struct overrides *best,
                          int *field, int now, const char *rule)
{
    int low = 1;
    while (low < now) {
        int middle = low + (now - low) / 2, before = *field;
        *field = middle;
        if (still_fails(seed, set, best, rule)) {
            now = middle;
        } else {
            *field = before;
            low = middle + 1;
        }
    }
}

static void shrink_faults(const struct outcome *found, const struct settings *set,
                          const struct plan *plan, struct overrides *best)
{
    struct overrides trial = *best;
    trial.plain = true;
    if (still_fails(found->seed, set, &trial, found->rule))
        *best = trial;
    for (int i = 0; i < SITE_COUNT; i++) {
        trial = *best;
        trial.off |= UINT64_C(1) << i;
        if (plan->rate[i] && still_fails(found->seed, set, &trial, found->rule))
            *best = trial;
    }
}

/* Leave out calls: halves, quarters … one by one. */
static void shrink_calls(const struct outcome *found, const struct settings *set,
                         struct overrides *best, int ops)
{
    if (ops > 64)
        ops = 64;
    for (int piece = ops / 2; piece > 0; piece /= 2)
        for (int at = 0; at < ops; at += piece) {
            struct overrides trial = *best;
            for (int i = at; i < at + piece && i < ops; i++)
                trial.drop |= UINT64_C(1) << i;
            if (trial.drop != best->drop && still_fails(found->seed, set, &trial, found->rule))
                *best = trial;
        }
}

/* The last lines of what the smallest one did. */
static void tell_events(uint64_t seed, const struct settings *set, const struct overrides *over,
                        const char *rule)
{
    sim_verbose = true;
    (void)still_fails(seed, set, over, rule);
    sim_verbose = false;
    const char *text = trial_outcome.text, *at = text + strlen(text);
    for (int lines = 0; at > text && lines <= TOLD_LINES; at--)
        lines += at[-1] == '\n';
    printf("  its events (the last %d lines):\n%s\n", TOLD_LINES, at);
}

void shrink(const struct outcome *found, const struct settings *set)
{
    struct overrides best = set->over;
    struct plan plan = plan_of_seed(found->seed, set->store, &best);
    shrink_faults(found, set, &plan, &best);
    shrink_number(found->seed, set, &best, &best.ops, plan.ops, found->rule);
    shrink_number(found->seed, set, &best, &best.instances, plan.instances, found->rule);
    shrink_number(found->seed, set, &best, &best.size, plan.size, found->rule);
    shrink_calls(found, set, &best, best.ops >= 0 ? best.ops : plan.ops);
    tell_events(found->seed, set, &best, found->rule);
    printf("  smallest:\n");
    shrink_command(found->seed, set, &best);
}
