/* SPDX-License-Identifier: MIT */
/*
 * base/point.h -- named places where tests make the process die or look.
 *
 * A healthy process pays one predicted branch.  point_crash_at("commit.before:3")
 * kills the process (SIGKILL) the third time it comes by that place; the crash
 * tests set it through the environment variable PAWL_CRASH_AT.
 */
#ifndef PAWL_BASE_POINT_H
#define PAWL_BASE_POINT_H

#include "base/attr.h"

extern void (*point_hook)(const char *name);

#define POINT(name)                                                                                \
    do {                                                                                           \
        if (UNLIKELY(point_hook))                                                                  \
            point_hook(name);                                                                      \
    } while (0)

/* "NAME" or "NAME:COUNT"; NULL or "" turns it off. */
void point_crash_at(const char *spec);

#endif
