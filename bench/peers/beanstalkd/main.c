/* SPDX-License-Identifier: MIT */
/*
 * bench/peers/beanstalkd/main.c -- beanstalkd.  push: put in the default tube.  pop and ack:
 * reserve without waiting, then delete.
 */
#include "../phases.h"

#include <stdlib.h>
#include <string.h>

static size_t push(uint32_t number, char *to)
{
    (void)number;
    return (size_t)snprintf(to, WIRE_REQUEST, "put 0 0 60 %zu\r\n%s\r\n", strlen(BENCH_ITEM),
                            BENCH_ITEM);
}

static size_t pop(uint32_t number, char *to)
{
    (void)number;
    return (size_t)snprintf(to, WIRE_REQUEST, "reserve-with-timeout 0\r\n");
}

static size_t ack(uint32_t number, const char *held, char *to)
{
    (void)number;
    return (size_t)snprintf(to, WIRE_REQUEST, "delete %s\r\n", held);
}

static size_t whole(const char *in, size_t n)
{
    const char *line = memmem(in, n, "\r\n", 2);
    unsigned long id, bytes;
    if (!line)
        return 0;
    size_t head = (size_t)(line + 2 - in);
    if (sscanf(in, "RESERVED %lu %lu", &id, &bytes) != 2)
        return head;
    return n < head + bytes + 2 ? 0 : head + bytes + 2;
}

static enum taken judge(pawl_str answer, bool popped, char held[HELD_BYTES])
{
    unsigned long id;
    if (popped && sscanf(answer.ptr, "RESERVED %lu", &id) == 1) {
        snprintf(held, HELD_BYTES, "%lu", id);
        return TAKEN;
    }
    if (popped && strncmp(answer.ptr, "TIMED_OUT", 9) == 0)
        return TAKEN_NOTHING;
    bool well = strncmp(answer.ptr, "INSERTED", 8) == 0 || strncmp(answer.ptr, "DELETED", 7) == 0;
    return well ? TAKEN : TAKEN_REFUSED;
}

int main(int argc, char **argv)
{
    return phases_main(&(struct protocol){push, pop, ack, whole, judge}, argc, argv);
}
