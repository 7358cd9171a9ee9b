/* SPDX-License-Identifier: MIT */
/*
 * bench/peers/redis.c -- the phases of `pawl bench queue`, said to Redis.
 *
 *     redis HOST PORT CONNECTIONS SECONDS
 *
 * push: LPUSH to one list.  pop and ack: LMOVE to a list of the connection's own,
 * then LREM from it; that list has one element, so both cost Redis as little as
 * they can.  Driven by the loop that drives Pawl (src/cli/wire.c), with the same
 * item.  Prints one JSON object.
 */
#include "base/clock.h"
#include "cli/bench.h"
#include "cli/wire.h"

#include <stdlib.h>
#include <string.h>

struct load {
    bool pops, enough;
    bool *held; /* by connection: something is in its own list */
    uint64_t count;
    int64_t end_us;
    bool failed;
};

static size_t whole(const char *in, size_t n)
{
    const char *line = memmem(in, n, "\r\n", 2);
    if (!line)
        return 0;
    size_t head = (size_t)(line + 2 - in);
    if (in[0] != '$' || in[1] == '-')
        return head;
    size_t all = head + strtoul(in + 1, NULL, 10) + 2;
    return n < all ? 0 : all;
}

static size_t command(char *to, int count, const char *const *words)
{
    int n = snprintf(to, WIRE_REQUEST, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        n += snprintf(to + n, WIRE_REQUEST - (size_t)n, "$%zu\r\n%s\r\n", strlen(words[i]),
                      words[i]);
    return (size_t)n;
}

static size_t ask(void *user, uint32_t number, char *to)
{
    struct load *l = user;
    char own[32];
    snprintf(own, sizeof(own), "taken-%u", number);
    if (l->held[number])
        return command(to, 4, (const char *const[]){"LREM", own, "1", BENCH_ITEM});
    if (l->enough || clock_mono_us() >= l->end_us)
        return 0;
    if (l->pops)
        return command(to, 5, (const char *const[]){"LMOVE", "bench", own, "RIGHT", "LEFT"});
    return command(to, 3, (const char *const[]){"LPUSH", "bench", BENCH_ITEM});
}

static bool take(void *user, uint32_t number, pawl_str answer, int64_t took_us)
{
    struct load *l = user;
    (void)took_us;
    if (answer.ptr[0] == '-') {
        fprintf(stderr, "redis said %.*s", PAWL_FMT(answer));
        l->failed = true;
        return false;
    }
    if (l->pops && !l->held[number]) {
        l->held[number] = answer.ptr[1] != '-';
        l->enough = l->enough || !l->held[number];
        return true;
    }
    l->held[number] = false;
    l->count++;
    return true;
}

static double run(struct wire *w, struct load *l, bool pops, double seconds)
{
    struct wire_plan plan = {ask, whole, take, l};
    pawl_error err = {0};
    int64_t begin = clock_mono_us();
    l->pops = pops;
    l->enough = false;
    l->count = 0;
    l->end_us = begin + (int64_t)(seconds * 1e6);
    if (!wire_run(w, &plan, INT64_MAX, &err) || l->failed) {
        fprintf(stderr, "redis: %s\n", err.text);
        exit(1);
    }
    return (double)l->count * 1e6 / (double)(clock_mono_us() - begin);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: redis HOST PORT CONNECTIONS SECONDS\n");
        return 2;
    }
    uint32_t count = (uint32_t)atoi(argv[3]);
    double seconds = atof(argv[4]);
    struct load load = {.held = calloc(count ? count : 1, sizeof(bool))};
    pawl_error err = {0};
    struct wire *w = wire_open(argv[1], argv[2], count, &err);
    if (!w || !load.held) {
        fprintf(stderr, "redis: %s\n", err.text);
        return 1;
    }
    double push = run(w, &load, false, seconds), pop = run(w, &load, true, seconds);
    printf("{\"peer\":\"redis\",\"concurrency\":%u,\"push_per_s\":%.0f,\"pop_ack_per_s\":%.0f}\n",
           count, push, pop);
    wire_close(w);
    free(load.held);
    return 0;
}
