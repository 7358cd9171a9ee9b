/* SPDX-License-Identifier: MIT */
/*
 * bench/peers/redis/main.c -- Redis.  push: LPUSH to one list.  pop and ack: LMOVE to a
 * list of the connection's own, then LREM from it; that list has one element, so both cost
 * Redis as little as they can.
 */
#include "../phases.h"

#include <stdlib.h>
#include <string.h>

static size_t command(char *to, int count, const char *const *words)
{
    int n = snprintf(to, WIRE_REQUEST, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        n += snprintf(to + n, WIRE_REQUEST - (size_t)n, "$%zu\r\n%s\r\n", strlen(words[i]),
                      words[i]);
    return (size_t)n;
}

static size_t push(uint32_t number, char *to)
{
    (void)number;
    return command(to, 3, (const char *const[]){"LPUSH", "bench", BENCH_ITEM});
}

static size_t pop(uint32_t number, char *to)
{
    char own[32];
    snprintf(own, sizeof(own), "taken-%u", number);
    return command(to, 5, (const char *const[]){"LMOVE", "bench", own, "RIGHT", "LEFT"});
}

static size_t ack(uint32_t number, const char *held, char *to)
{
    char own[32];
    (void)held;
    snprintf(own, sizeof(own), "taken-%u", number);
    return command(to, 4, (const char *const[]){"LREM", own, "1", BENCH_ITEM});
}

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

static enum taken judge(pawl_str answer, bool popped, char held[HELD_BYTES])
{
    if (answer.ptr[0] == '-')
        return TAKEN_REFUSED;
    if (popped && answer.ptr[1] == '-')
        return TAKEN_NOTHING;
    if (popped)
        memcpy(held, "1", 2);
    return TAKEN;
}

int main(int argc, char **argv)
{
    return phases_main(&(struct protocol){push, pop, ack, whole, judge}, argc, argv);
}
