/* SPDX-License-Identifier: MIT */
/* base/point.c -- see point.h.  Called by runtime/life/open_runtime.c and the tests. */
#include "base/point.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void (*point_hook)(const char *name);

static char crash_name[64];
static atomic_long crash_count;

static void crash_here(const char *name)
{
    if (strcmp(name, crash_name) != 0 || atomic_fetch_sub(&crash_count, 1) != 1)
        return;
    (void)kill(getpid(), SIGKILL);
}

void point_crash_at(const char *spec)
{
    point_hook = NULL;
    if (!spec || !spec[0])
        return;
    const char *colon = strrchr(spec, ':');
    size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
    if (len >= sizeof(crash_name))
        return;
    memcpy(crash_name, spec, len);
    crash_name[len] = 0;
    long count = colon ? strtol(colon + 1, NULL, 10) : 1;
    atomic_store(&crash_count, count > 0 ? count : 1);
    point_hook = crash_here;
}
