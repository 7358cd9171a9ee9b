/* SPDX-License-Identifier: MIT */
/*
 * store/there.h -- is a file still where it was opened?
 *
 * A file that was deleted, moved or replaced still takes writes and syncs without an
 * error; only its name tells.  A store on disk asks when a commit is durable and before it is
 * acknowledged: what was acknowledged was in its place at that moment.
 * Two of these cost 1 µs beside a sync of a hundred or more.
 */
#ifndef PAWL_STORE_THERE_H
#define PAWL_STORE_THERE_H

#include "pawl/types.h"

#include <sys/types.h>

struct there {
    char *path; /* absolute, owned; NULL: never looked at */
    dev_t dev;
    ino_t ino;
    off_t bytes; /* when it was last looked at */
};

/* Remember what `path` with `suffix` behind it leads to now; nothing when there is nothing.
 * False: no memory. */
bool there_note(struct there *t, const char *path, const char *suffix);
/* Another file is there, or none.  Without permission to look: false. */
bool there_is_gone(struct there *t);
void there_deinit(struct there *t);
/* Refuse a call: PAWL_NOT_FOUND and what to do.  A read is refused with PAWL_UNAVAILABLE: NOT_FOUND
 * would say that the row does not exist. */
pawl_status there_refuse(const char *path, pawl_error *reterr);
pawl_status there_refuse_read(const char *path, pawl_error *reterr);

#endif
