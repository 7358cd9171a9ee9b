/* SPDX-License-Identifier: MIT */
/*
 * trial/expect.c -- pawl/test.h: expectations, and what is shown when one fails.
 */
#include "trial/test.h"

#include "base/misuse.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Showing ------------------------------------------------------------------------------------ */

static void print_to(pawl_test *t, FILE *to)
{
    pawl_history h = pawl_test_history(t);
    for (size_t i = 0; i < h.count; i++) {
        const pawl_history_event *e = &h.events[i];
        fprintf(to, "  %4llu %+12lld ms  %-26s", (unsigned long long)e->seq,
                (long long)(e->at_ms - WORLD_BEGIN_MS), e->kind);
        if (e->ref)
            fprintf(to, " #%llu", (unsigned long long)e->ref);
        fprintf(to, " %.*s %.200s\n", PAWL_FMT(e->name), e->data.len ? e->data.ptr : "");
    }
    if (t->subject && !pawl_state_is_terminal(pawl_test_state(t)))
        fprintf(to, "  %s\n", pawl_test_why(t));
}

void pawl_test_print(pawl_test *t)
{
    MUST_HAVE("a test", t);
    print_to(t, stderr);
}

void pawl_test_on_failure(pawl_test *t, void (*fn)(void *arg, const char *text), void *arg)
{
    MUST_HAVE("a test", t);
    t->on_failure = fn;
    t->on_failure_arg = arg;
}

/* Say so, with the history; always false. */
PAWL_PRINTF(4, 5)
static bool fails(pawl_test *t, const char *file, int line, const char *format, ...)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    va_list args;
    t->failures++;
    if (!to)
        return false;
    fprintf(to, "%s:%d: ", file, line);
    va_start(args, format);
    (void)vfprintf(to, format, args);
    va_end(args);
    fputc('\n', to);
    print_to(t, to);
    fclose(to);
    const char *kept = arena_dup(&t->mem, (pawl_str){text, size}).ptr; /* fn may not return */
    free(text);
    if (t->on_failure)
        t->on_failure(t->on_failure_arg, kept);
    else
        fputs(kept, stderr);
    return false;
}

/* ---- Expectations ------------------------------------------------------------------------------- */

bool pawl_test_expect(pawl_test *t, const char *file, int line, bool holds, const char *text)
{
    MUST_HAVE("a test", t);
    return holds || fails(t, file, line, "expected: %s", text);
}

static const char *ending_of(pawl_test *t)
{
    return pawl_test_state(t) == PAWL_COMPLETED ? pawl_test_output(t) : pawl_test_error(t);
}

bool pawl_test_expect_end(pawl_test *t, const char *file, int line, pawl_state state,
                          const char *text)
{
    MUST_HAVE("a test", t);
    pawl_state is = pawl_test_state(t);
    const char *ending = ending_of(t);
    if (is == state && (!text || strcmp(text, ending) == 0))
        return true;
    return fails(t, file, line, "expected %s%s%s%s, found %s%s%s%s", pawl_state_name(state),
                 text ? " '" : "", text ? text : "", text ? "'" : "", pawl_state_name(is),
                 ending[0] ? " '" : "", ending, ending[0] ? "'" : "");
}

bool pawl_test_expect_runs(pawl_test *t, const char *file, int line, const char *activity,
                           unsigned n)
{
    MUST_HAVE("a test", t);
    unsigned runs = pawl_test_runs(t, activity);
    return runs == n || fails(t, file, line, "expected %u attempts of activity '%s', found %u", n,
                              activity, runs);
}

unsigned pawl_test_events(pawl_test *t, const char *kind, const char *name)
{
    MUST_HAVE("a test", t);
    pawl_history h = pawl_test_history(t);
    unsigned n = 0;
    for (size_t i = 0; i < h.count; i++)
        n += strcmp(h.events[i].kind, kind) == 0 && (!name || pawl_str_is(h.events[i].name, name));
    return n;
}

bool pawl_test_expect_events(pawl_test *t, const char *file, int line, const char *kind,
                             const char *name, unsigned n)
{
    MUST_HAVE("a test", t);
    unsigned found = pawl_test_events(t, kind, name);
    return found == n || fails(t, file, line, "expected %u events %s%s%s, found %u", n, kind,
                               name ? " " : "", name ? name : "", found);
}
