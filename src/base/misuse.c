/* SPDX-License-Identifier: MIT */
/* base/misuse.c -- see misuse.h. */
#include "base/misuse.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void misuse_stop(const char *function, const char *what)
{
    (void)fprintf(stderr, "pawl: misuse: %s() was called without %s\n", function, what);
    abort();
}

void refuse_missing(const char *function, const char *what, pawl_error *err)
{
    error_set(err, PAWL_MISUSE, "%s() needs %s", function, what);
}

bool options_take(void *to, size_t known, const void *from, const char *what, pawl_error *err)
{
    size_t size = known;

    memset(to, 0, known);
    if (from)
        memcpy(&size, from, sizeof(size));
    size = size ? size : known;
    if (size < sizeof(size)) {
        error_set(err, PAWL_MISUSE, "%s of %zu bytes; make it with its macro, which sets .size",
                  what, size);
        return false;
    }
    for (size_t i = known; i < size && from; i++)
        if (((const char *)from)[i]) {
            error_set(err, PAWL_MISUSE,
                      "%s has an option that this library is too old for (%zu bytes, known are "
                      "%zu); link the library of the header",
                      what, size, known);
            return false;
        }
    if (from)
        memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof(known));
    return true;
}
