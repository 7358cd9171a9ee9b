/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_cron.c -- cron lines, and schedules as JSON.
 *
 * The first line is a cron line, the rest a document.  A line that is accepted has
 * occurrences that grow and that its sets contain; the last one before the fifth is the fourth.  A
 * document that is accepted is written and read again, the same.
 */
#include "fuzz.h"
#include "schedule/civil.h"
#include "schedule/plan.h"

#include <string.h>

static void check_occurrences(const struct plan *p)
{
    const struct cron_line *l = &p->lines[0];
    int64_t at[5] = {INT64_C(1790000000000)}, last;
    size_t n = 0;
    while (n < 4 && plan_next(p, at[n], &at[n + 1])) {
        int64_t s = at[n + 1] / 1000;
        must(at[n + 1] > at[n] && at[n + 1] % 1000 == 0);
        must(cron_matches_day(l, s / DAY_SECONDS));
        must(l->seconds >> s % 60 & 1 && l->minutes >> s / 60 % 60 & 1 &&
             l->hours >> s / 3600 % 24 & 1);
        n++;
    }
    must(n); /* the next 29 February that is a Sunday may be 40 years away, but not the first */
    must(n < 4 || (plan_last(p, at[0], at[4] - 1, &last) && last == at[3]));
}

static void check_line(pawl_mem *mem, pawl_str text)
{
    const char *const lines[] = {pawl_mem_dup(mem, text).ptr, NULL};
    const pawl_schedule s = {.size = sizeof(s), .cron = lines};
    struct plan p;
    pawl_error err = {0};
    if (plan_make(&p, &s, NULL, &err) == PAWL_OK)
        check_occurrences(&p);
    else
        must(err.text[0] && !strchr(err.text, '\n'));
}

static void check_document(pawl_mem *mem, pawl_str json)
{
    pawl_schedule s, again;
    pawl_str text, second;
    pawl_error err = {0};
    int64_t at[3];
    size_t n;
    if (pawl_schedule_from_json(json, mem, &s, &err) != PAWL_OK) {
        must(err.text[0]);
        return;
    }
    if (pawl_schedule_to_json(&s, mem, &text, &err) != PAWL_OK)
        return; /* its input is too deep */
    must(pawl_schedule_from_json(text, mem, &again, &err) == PAWL_OK);
    must(pawl_schedule_to_json(&again, mem, &second, &err) == PAWL_OK);
    must(pawl_str_eq(text, second));
    (void)schedule_check_target(&s, &err);
    if (pawl_schedule_next(&s, 0, at, 3, &n, &err) == PAWL_OK)
        must(n <= 3 && (n < 2 || at[1] > at[0]));
    else
        must(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    pawl_mem *mem = pawl_mem_new();
    check_line(mem, feed_line(&f));
    check_document(mem, feed_rest(&f));
    pawl_mem_free(mem);
    return 0;
}
