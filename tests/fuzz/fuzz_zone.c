/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_zone.c -- zone files.
 *
 * The bytes are a TZif file, and once more a rule.  One that is accepted has segments without holes,
 * in order, and occurrences that grow, whatever the line, the gap and the fold.
 */
#include "fuzz.h"
#include "schedule/plan.h"

#include <stdlib.h>
#include <string.h>

static void check_segments(const struct zone *z)
{
    int64_t at = -ZONE_FOREVER;
    for (int i = 0; i < 300 && at < ZONE_FOREVER; i++) {
        struct segment s = zone_segment(z, at);
        must(s.start <= at && s.end > at);
        must(s.offset > -4 * 86400 && s.offset < 4 * 86400);
        at = s.end;
    }
}

static void check_occurrences(const struct zone *z)
{
    static const char *const kinds[][3] = {
        {"30 2 * * *",   NULL,          NULL},
        {"*/15 * * * *", "0 1-3 L * *", NULL},
        {"* * 2 1 1 *",  NULL,          NULL},
    };
    for (unsigned i = 0; i < 9; i++) {
        const pawl_schedule s = {.size = sizeof(s),
                                 .cron = kinds[i % 3],
                                 .gap = i % 2 ? PAWL_GAP_SKIP : PAWL_GAP_SHIFT,
                                 .fold = (pawl_dst_fold)(i / 3)};
        struct plan p;
        int64_t at = INT64_C(1000000000000) * (1 + i % 4), next;
        must(plan_make(&p, &s, z, NULL) == PAWL_OK);
        for (int n = 0; n < 10 && plan_next(&p, at, &next); n++) {
            must(next > at);
            at = next;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone z;
    struct zone_rule rule;
    pawl_error err = {0};
    char *bytes = malloc(size + !size); /* so that a byte behind the file is seen */
    must(bytes);
    if (size)
        memcpy(bytes, data, size);
    if (zone_read(&z, (pawl_str){bytes, size}, &err)) {
        check_segments(&z);
        check_occurrences(&z);
    } else {
        must(err.text[0]);
    }
    if (zone_read_rule(&rule, (pawl_str){bytes, size})) {
        z = (struct zone){.has_rule = true, .rule = rule};
        check_segments(&z);
        check_occurrences(&z);
    }
    free(bytes);
    return 0;
}
