/* SPDX-License-Identifier: MIT */
/*
 * server/problems.h -- problems by cause: a thousand instances that failed alike are one line.
 *
 * Two problems are the same when kind, name and text are, but for the numbers in the text.  Texts
 * are borrowed and must live as long as the list.  Called by overview.c and waits.c.
 */
#ifndef PAWL_SERVER_PROBLEMS_H
#define PAWL_SERVER_PROBLEMS_H

#include "pawl.h"

#define PROBLEMS_MAX   32
#define PROBLEMS_NAMED 5 /* instances named with each */

struct problem {
    const char *kind;
    pawl_str orchestration, activity; /* whose problem it is; empty: of none */
    pawl_str detail, cause;           /* cause: detail with its digits as '#' */
    uint64_t count;
    int64_t since_ms;
    uint32_t attempt; /* the highest; 0: of none */
    pawl_str named[PROBLEMS_NAMED];
    size_t named_count;
};

struct problems {
    pawl_mem *mem;
    struct problem items[PROBLEMS_MAX];
    size_t count;
    bool more; /* than fit, or than were looked at */
};

/* One more with `like`'s kind, names, detail, since_ms and attempt; `instance` may be empty. */
void problems_add(struct problems *all, const struct problem *like, pawl_str instance);
/* An array. */
void problems_write(const struct problems *all, pawl_json *w);

#endif
