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

void assert_failed(const char *what, const char *file, int line)
{
    char text[512];
    int n = snprintf(text, sizeof text, "pawl: broken invariant: %s (%s:%d); stopping\n", what,
                     file, line);

    if (n >= (int)sizeof text)
        n = (int)sizeof text - 1;
    /* Nothing can be done about an stderr that is gone. */
    if (n < 0 || write(STDERR_FILENO, text, (size_t)n) < 0)
        abort();
    abort();
}
