/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/test_differential.c -- the same random operations through the
 * memory store and another one must give the same answers and the same contents.
 *
 *     test_differential [SEED [STEPS]] | STORE [STEPS]
 */
#include "differ.h"
#include "stores.h"
#include "stumble.h"

#include "store/fault/fault.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS     4
#define STEPS     2500
#define STEPS_FAR 500 /* where each look is a question to a server */

/* Memory behind a decorator that often says BUSY. */

static struct fault sometimes_busy(void *user, enum fault_op op, uint64_t call)
{
    (void)user;
    bool reader = op >= FAULT_OP_find && op <= FAULT_OP_list_objects;
    bool busy = !reader && op != FAULT_OP_take && call % 3 == 0;
    return (struct fault){.kind = busy ? FAULT_BEFORE : FAULT_NONE, .status = PAWL_BUSY};
}

static pawl_store *busy_open(void *user, pawl_error *reterr)
{
    (void)user, (void)reterr;
    return fault_store(pawl_memory_store(), sometimes_busy, NULL);
}

static pawl_store *busy_reopen(void *user, pawl_store *s, pawl_error *reterr)
{
    (void)user, (void)reterr;
    return s;
}

static void busy_close(void *user, pawl_store *s)
{
    (void)user;
    s->ops->close(s);
}

int main(int argc, char **argv)
{
    pawl_conformance_factory all[STORES_MAX + 2];
    size_t count = stores(all);
    bool one = argc > 1 && !isdigit((unsigned char)argv[1][0]); /* a store by name */
    if (one)
        all[1] = store_called(argv[1]);
    all[count++] = (pawl_conformance_factory){.size = sizeof(all[0]),
                                              .name = "busy",
                                              .open = busy_open,
                                              .reopen = busy_reopen,
                                              .close = busy_close};
    if (one)
        count = 2;
    else
        all[count++] = stumbling(&all[1]);
    uint64_t seed = argc > 1 && !one ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t seeds = argc > 1 && !one ? 1 : SEEDS,
             steps = argc > 2 ? strtoull(argv[2], NULL, 10) : STEPS;
    if (one && argc == 2 && strcmp(argv[1], "postgres") == 0)
        steps = STEPS_FAR;
    int passed = 0, failed = 0;
    for (size_t i = 1; i < count; i++) {
        for (uint64_t n = 0; n < seeds; n++) {
            bool same = differ_run(&all[0], &all[i],
                                   (struct differ_source){.seed = seed + n, .steps = steps});
            passed += same;
            failed += !same;
        }
    }
    if (!one && !stumble_count()) {
        printf("FAIL the database always answered\n");
        failed++;
    }
    printf("test_differential: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
