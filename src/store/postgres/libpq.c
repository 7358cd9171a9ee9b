/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/libpq.c -- loading libpq.so.5.
 *
 * Once in the process, by whichever thread comes first; it is never unloaded, because connections
 * of other stores may use it.  A library that was missing stays missing until the process ends.
 *
 * Called by link.c.
 */
#include "store/postgres/libpq.h"
#include "base/limits.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libpq.so.5"

struct libpq pq;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char trouble[300]; /* "": loaded */

/* A pointer to a function out of one to data, as POSIX has it. */
static bool find(void *handle, const char *name, void *ret)
{
    void *at = dlsym(handle, name);

    if (!at) {
        (void)snprintf(trouble, sizeof trouble,
                       "the installed %s is too old: it has no %s; install the package libpq5 "
                       "of version 14 or newer",
                       LIBRARY, name);
        return false;
    }
    memcpy(ret, &at, sizeof at);
    return true;
}

static void load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    struct libpq found;

    if (!handle) {
        const char *why = dlerror();
        (void)snprintf(trouble, sizeof trouble,
                       "cannot load %s: %.150s; install the package libpq5", LIBRARY,
                       why ? why : "no reason given");
        return;
    }
#define LIBPQ_FIND(result, name, parameters)                                                       \
    if (!find(handle, "PQ" #name, &found.name))                                                    \
        return;
    LIBPQ_FUNCTIONS(LIBPQ_FIND)
#undef LIBPQ_FIND
    pq = found;
}

pawl_status libpq_load(pawl_error *reterr)
{
    (void)pthread_once(&once, load);
    if (!trouble[0])
        return PAWL_OK;
    error_set(reterr, PAWL_UNSUPPORTED, "%s", trouble);
    return PAWL_UNSUPPORTED;
}
