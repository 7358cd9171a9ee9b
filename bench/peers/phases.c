/* SPDX-License-Identifier: MIT */
/* bench/peers/phases.c -- see phases.h. */
#include "phases.h"

#include "base/clock.h"

#include <stdlib.h>

struct load {
    const struct protocol *protocol;
    char (*held)[HELD_BYTES]; /* by connection; "": nothing */
    bool pops, enough, failed;
    uint64_t count;
    int64_t end_us;
};

static size_t ask(void *user, uint32_t number, char *to)
{
    struct load *l = user;
    if (l->held[number][0])
        return l->protocol->ack(number, l->held[number], to);
    if (l->enough || clock_mono_us() >= l->end_us)
        return 0;
    return l->pops ? l->protocol->pop(number, to) : l->protocol->push(number, to);
}

static bool take(void *user, uint32_t number, pawl_str answer, int64_t took_us)
{
    struct load *l = user;
    bool popped = l->pops && !l->held[number][0];
    (void)took_us;
    l->held[number][0] = 0;
    switch (l->protocol->judge(answer, popped, l->held[number])) {
    case TAKEN:
        l->count += !popped;
        return true;
    case TAKEN_NOTHING:
        l->enough = true;
        return true;
    case TAKEN_REFUSED:
        break;
    }
    fprintf(stderr, "it said %.*s\n", PAWL_FMT(answer));
    l->failed = true;
    return false;
}

static double run(struct wire *w, struct load *l, bool pops, double seconds)
{
    struct wire_plan plan = {ask, l->protocol->whole, take, l};
    pawl_error err = {0};
    int64_t begin = clock_mono_us();
    l->pops = pops;
    l->enough = false;
    l->count = 0;
    l->end_us = begin + (int64_t)(seconds * 1e6);
    if (!wire_run(w, &plan, INT64_MAX, &err) || l->failed) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return (double)l->count * 1e6 / (double)(clock_mono_us() - begin);
}

int phases_main(const struct protocol *p, int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s HOST PORT CONNECTIONS SECONDS\n", argv[0]);
        return 2;
    }
    uint32_t count = (uint32_t)atoi(argv[3]);
    double seconds = atof(argv[4]);
    struct load load = {.protocol = p, .held = calloc(count ? count : 1, HELD_BYTES)};
    pawl_error err = {0};
    struct wire *w = wire_open(argv[1], argv[2], count, &err);
    if (!w || !load.held) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double push = run(w, &load, false, seconds), pop = run(w, &load, true, seconds);
    printf("{\"push_per_s\":%.0f,\"pop_ack_per_s\":%.0f}\n", push, pop);
    wire_close(w);
    free(load.held);
    return 0;
}
