/* SPDX-License-Identifier: MIT */
/*
 * pawl/backup.h -- a copy of a SQLite store, taken beside its owner, and its way back.
 *
 * A backup is one file, of one moment: every commit that was answered before the
 * call is in it.  Both calls write beside their goal (NAME.part), check what they
 * wrote, sync it, and rename it: a kill at any moment leaves the goal as it was.
 */
#ifndef PAWL_BACKUP_H
#define PAWL_BACKUP_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is in the copy. */
typedef struct pawl_backup_info {
    uint64_t bytes;
    uint64_t instances;
    uint64_t events;
    uint64_t queue_items;
    uint64_t epoch;
    int schema;
} pawl_backup_info;

/*
 * Copy the store `file` to `to` while its owner goes on.  An existing `to` is
 * PAWL_EXISTS unless `replace`; the store itself is never replaced.
 */
PAWL_API pawl_status pawl_sqlite_backup(const char *file, const char *to, bool replace,
                                        pawl_backup_info *ret, pawl_error *reterr) PAWL_MUST_USE;

/*
 * Make the store `file` from a backup.  Its directory is made when missing and must
 * be empty (PAWL_EXISTS) and nobody's (PAWL_UNAVAILABLE).
 *
 * The original may have gone on after the backup, and what it handed out is still
 * out there.  So the new store's epoch and ids begin far above all of that, and every
 * lease of a worker and lock of a queue ends: its holder is told that it was lost,
 * the work is given out again.
 */
PAWL_API pawl_status pawl_sqlite_restore(const char *backup, const char *file,
                                         pawl_backup_info *ret, pawl_error *reterr) PAWL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
