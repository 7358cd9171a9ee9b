/* SPDX-License-Identifier: MIT */
/*
 * base/attr.c -- what happens when an invariant is broken.
 *
 * One line on stderr, then abort(): a core dump at the broken place is worth
 * more than a process that goes on and writes what it no longer understands.
 * Called through assert_that() from everywhere, also on the small stack of a
 * fiber and with a damaged heap, so it allocates nothing.
 */
#include "base/attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

NORETURN static void stop(char *text, size_t room, int n)
{
    if (n >= (int)room)
        n = (int)room - 1;
    /* Nothing can be done about an stderr that is gone. */
    if (n < 0 || write(STDERR_FILENO, text, (size_t)n) < 0)
        abort();
    abort();
}

void assert_failed(const char *what, const char *file, int line)
{
    char text[512];
    stop(text, sizeof text,
         snprintf(text, sizeof text, "pawl: broken invariant: %s (%s:%d); stopping\n", what, file,
                  line));
}

void memory_gone(const char *file, int line)
{
    char text[512];
    stop(
        text, sizeof text,
        snprintf(text, sizeof text,
                 "pawl: out of memory (%s:%d); stopping: what was committed is safe, start again\n",
                 file, line));
}

void rule_stop(const char *rule)
{
    char text[512];
    stop(text, sizeof text, snprintf(text, sizeof text, "pawl: %s\n", rule));
}
