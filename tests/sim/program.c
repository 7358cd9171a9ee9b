/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/program.c -- workflow programs as text, from a grammar with a budget.
 *
 *   seq  := '(' item* ')'
 *   item := leaf | 'P' mode '[' leaf+ ']'      mode: a all, s settled, y any, r race
 *         | 'x' leaf (start, cancel, await) | 'g' leaf (start, never await)
 *         | 'd' seq (detached) | 'h' seq (shield) | 'S' seq (scope)
 *         | 'u' status | 'v' DIGIT patched | 'n' now, random, uuid | 'l' log
 *         | 'N' DIGIT seq (continue as new) | 'R' return | 'F' return a failure
 *         | 'Q' DIGIT (push to a queue) | 'O' DIGIT (pop, then acknowledge)
 *         | 'U' HOW DIGIT leaf (open a wait, await the leaf, give the wait up unread)
 *           HOW: c cancel, r a race it has lost, s end of its scope, k keep it
 *         | 'K' HOW DIGIT (published state; HOW: s set, c clear, g get)
 *         | 'V' DIGIT DIGIT (raise an event to an instance)
 *         | 'A' HOW DIGIT (serve an update; HOW: a answer, r reject, t answer twice, s after a step,
 *           k under a check, l leave it to the end, c give the wait up)
 *         | 'D' DIGIT seq (detached, own id) | 'M' DIGIT (ask for memory, from little to absurd)
 *   leaf := 'a' KIND POLICY | 'b' KIND POLICY (the second activity) | 't' NUMBER ';'
 *         | 'e' KIND POLICY (by a worker outside) | 'o' DIGIT (pop from a queue)
 *         | 'w' DIGIT | 'z' DIGIT (drops early mail)
 *         | 'i' DIGIT (waits for an update, and never answers it)
 *         | 'c' VERSION seq | 'q' seq (abandoned child) | 'k' DIGIT seq (own id)
 *   program := ['!'] seq          '!': compensates when it is cancelled
 *
 * A program inside a program is smaller than it, so everything ends.
 */
#include "sim.h"

#include <stdarg.h>
#include <string.h>

struct maker {
    struct prng *r;
    char *out;
    size_t len;
    int left;  /* nodes that may still be made */
    int depth; /* of programs inside programs */
    bool queues, workers, unread, detached, greedy, oncancel, publish, doors, updates;
};

static void put(struct maker *m, const char *format, ...) PAWL_PRINTF(2, 3);

static void put(struct maker *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(m->out + m->len, PROGRAM_BYTES - m->len, format, args);
    va_end(args);
    assert_that(n >= 0 && m->len + (size_t)n < PROGRAM_BYTES);
    m->len += (size_t)n;
}

static int pick(struct maker *m, int n)
{
    return (int)prng_below(m->r, (uint64_t)n);
}

static void seq(struct maker *m, int items);

static void timer(struct maker *m)
{
    static const long long delays[] = {0, 1, 5, 20, 100, 1000, 30000, 3600000, 86400000};
    put(m, "t%lld;", delays[pick(m, (int)COUNT_OF(delays))]);
}

static void inner(struct maker *m)
{
    m->depth++;
    seq(m, 1 + pick(m, 4));
    m->depth--;
}

static void leaf(struct maker *m)
{
    m->left--;
    if (m->queues && pick(m, 8) == 0) {
        put(m, "o%d", pick(m, 3));
        return;
    }
    if (m->workers && pick(m, 5) == 0) {
        put(m, "e%c%d", "oooofy"[pick(m, 6)], pick(m, 8));
        return;
    }
    if (m->oncancel && pick(m, 8) == 0) {
        put(m, "%cc%d", pick(m, 5) ? 'a' : 'b', pick(m, 8));
        return;
    }
    if (m->updates && pick(m, 8) == 0) {
        put(m, "i%d", pick(m, 3));
        return;
    }
    int kind = pick(m, m->depth < 2 && m->left > 2 ? 20 : 14);
    if (kind < 6)
        put(m, "%c%c%d", pick(m, 5) ? 'a' : 'b', "oooofyyssp"[pick(m, 10)], pick(m, 8));
    else if (kind < 9)
        timer(m);
    else if (kind < 13)
        put(m, "w%d", pick(m, EVENT_NAMES));
    else if (kind < 14)
        put(m, "z%d", pick(m, EVENT_NAMES));
    else if (kind < 17) {
        put(m, "c%d", pick(m, 6) > 2 ? 0 : pick(m, 3));
        inner(m);
    } else if (kind < 18) {
        put(m, "q");
        inner(m);
    } else {
        put(m, "k%d", pick(m, 3));
        inner(m);
    }
}

static void parallel(struct maker *m)
{
    int n = 1 + pick(m, 4);
    put(m, "P%c[", "asyr"[pick(m, 4)]);
    for (int i = 0; i < n; i++)
        leaf(m);
    put(m, "]");
}

static void item(struct maker *m)
{
    m->left--;
    if (m->queues && pick(m, 6) == 0) {
        put(m, "%c%d", pick(m, 3) ? 'Q' : 'O', pick(m, 3));
        return;
    }
    if (m->unread && pick(m, 6) == 0) {
        put(m, "U%c%d", "crsk"[pick(m, 4)], pick(m, 2)); /* few names: more mail behind */
        leaf(m);
        return;
    }
    if (m->detached && m->depth < 2 && pick(m, 8) == 0) {
        put(m, "D%d", pick(m, 3));
        inner(m);
        return;
    }
    if (m->publish && pick(m, 5) == 0) {
        put(m, "K%c%d", "sssgc"[pick(m, 5)], pick(m, 3));
        return;
    }
    if (m->doors && pick(m, 5) == 0) {
        put(m, "V%d%d", pick(m, EVENT_NAMES), pick(m, 3));
        return;
    }
    if (m->updates && pick(m, 4) == 0) {
        put(m, "A%c%d", "aartsklcc"[pick(m, 9)], pick(m, 3));
        return;
    }
    if (m->greedy && pick(m, 16) == 0) {
        put(m, "M%d", pick(m, 5));
        return;
    }
    int kind = pick(m, 32);
    if (kind < 14)
        leaf(m);
    else if (kind < 20)
        parallel(m);
    else if (kind < 22) {
        put(m, "%c", pick(m, 2) ? 'x' : 'g');
        leaf(m);
    } else if (kind < 23 && m->depth < 2) {
        put(m, "d");
        inner(m);
    } else if (kind < 25) {
        put(m, pick(m, 2) ? "h" : "S");
        inner(m);
    } else if (kind < 26)
        put(m, "u");
    else if (kind < 27)
        put(m, "v%d", pick(m, 3));
    else if (kind < 30)
        put(m, "n");
    else if (kind < 31)
        put(m, "l");
    else if (m->depth < 3 && pick(m, 2)) {
        put(m, "N%d", pick(m, 3));
        inner(m);
    } else
        put(m, pick(m, 2) ? "R" : "F");
}

static void seq(struct maker *m, int items)
{
    put(m, "(");
    for (int i = 0; i < items && m->left > 0 && m->len < PROGRAM_BYTES - 200; i++)
        item(m);
    put(m, ")");
}

void program_make(struct prng *r, const struct plan *plan, char out[PROGRAM_BYTES])
{
    int size = plan->size;
    struct maker m = {.r = r,
                      .out = out,
                      .left = size,
                      .queues = plan->rate[SITE_queue] > 0,
                      .workers = plan->rate[SITE_worker] > 0,
                      .unread = plan->rate[SITE_unread] > 0,
                      .detached = plan->rate[SITE_detached] > 0,
                      .greedy = plan->rate[SITE_greedy] > 0,
                      .oncancel = plan->rate[SITE_oncancel] > 0,
                      .publish = plan->rate[SITE_publish] > 0,
                      .doors = plan->rate[SITE_doors] > 0,
                      .updates = plan->rate[SITE_update] > 0};
    if (pick(&m, 2))
        put(&m, "!");
    if (pick(&m, 40) == 0) { /* many in a row: more than one round takes */
        for (int i = 0; i < 12; i++)
            put(&m, "(N%d", i % 3);
        seq(&m, size);
        for (int i = 0; i < 12; i++)
            put(&m, ")");
        return;
    }
    seq(&m, size);
}
