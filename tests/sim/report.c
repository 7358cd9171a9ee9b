/* SPDX-License-Identifier: MIT */
/* tests/sim/report.c -- what a run did, for people and for programs that add runs up. */
#include "run.h"

const char *const sim_rule_names[RULE_COUNT] = {
#define SIM_RULE_NAME(name) #name,
    SIM_RULES(SIM_RULE_NAME)
#undef SIM_RULE_NAME
};

#define U(n) ((unsigned long long)(n))

void report_print(const struct tally *t, double seconds)
{
    const struct counters *n = &t->n;
    printf("| sim: %llu seeds in %.1f s (%.0f/s): %llu turns (%.0f/s), %llu steps, %llu looks, "
           "%llu instances (%llu ended), %llu events, %llu activities, %llu calls acknowledged, "
           "%llu crashes, %llu duplicates, %llu replays\n",
           U(n->seeds), seconds, (double)n->seeds / seconds, U(n->turns),
           (double)n->turns / seconds, U(n->steps), U(n->looks), U(n->instances), U(n->completed),
           U(n->events), U(n->activities), U(n->acked), U(n->crashes), U(n->duplicates),
           U(n->replays));
    printf("| faults:");
    for (int i = 0; i < SITE_COUNT; i++)
        printf(" %s=%llu", sim_site_names[i], U(n->fired[i]));
    printf("\n| checked:");
    for (int i = 0; i < RULE_COUNT; i++)
        printf(" %s=%llu", sim_rule_names[i], U(n->checked[i]));
    printf("\n");
}

bool report_append(const struct tally *t, const struct settings *set, double seconds)
{
    const struct counters *n = &t->n;
    FILE *f = fopen(set->summary, "ae");
    if (!f)
        return false;
    fprintf(f,
            "{\"what\":\"sim\",\"store\":\"%s\",\"seeds\":%llu,\"failures\":%llu,\"seconds\":%.1f,"
            "\"turns\":%llu,\"commits\":%llu,\"steps\":%llu,\"looks\":%llu,\"instances\":%llu,"
            "\"events\":%llu,\"activities\":%llu,\"acknowledged\":%llu,\"crashes\":%llu,"
            "\"duplicates\":%llu,\"replays\":%llu,\"faults\":{",
            sim_store_names[set->store], U(n->seeds), U(t->failures), seconds, U(n->turns),
            U(n->commits), U(n->steps), U(n->looks), U(n->instances), U(n->events),
            U(n->activities), U(n->acked), U(n->crashes), U(n->duplicates), U(n->replays));
    for (int i = 0; i < SITE_COUNT; i++)
        fprintf(f, "%s\"%s\":%llu", i ? "," : "", sim_site_names[i], U(n->fired[i]));
    fprintf(f, "},\"checked\":{");
    for (int i = 0; i < RULE_COUNT; i++)
        fprintf(f, "%s\"%s\":%llu", i ? "," : "", sim_rule_names[i], U(n->checked[i]));
    fprintf(f, "}}\n");
    return fclose(f) == 0;
}
