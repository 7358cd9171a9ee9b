/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_store.c -- operations on the stores, as bytes.
 *
 * First byte: sqlite or jsonl.  The rest are the choices of the differential test
 * (tests/conformance/differ.h): the same rounds, fetches, removals and restarts on
 * the memory store and on the other one must answer alike, step by step.
 */
#include "../conformance/differ.h"
#include "../conformance/stores.h"
#include "fuzz.h"

#include <stdlib.h>

#define STEPS_MAX 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pawl_conformance_factory all[STORES_MAX];
    if (!all[0].name) {
        must(setenv("TMPDIR", fuzz_dir(), 1) == 0);
        must(unsetenv("PAWL_TEST_PG") == 0);
        must(stores(all) > 2);
    }
    struct feed f = feed_of(data, size);
    uint8_t which = feed_byte(&f);
    if (f.at == f.end)
        return 0;
    must(differ_run(&all[0], &all[which % 4 ? 1 : 2],
                    (struct differ_source){
                        .steps = STEPS_MAX, .bytes = f.at, .count = (size_t)(f.end - f.at)}));
    return 0;
}
