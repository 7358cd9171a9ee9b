/* SPDX-License-Identifier: MIT */
/*
 * pawl/backup.h -- copy a SQLite store while its owner runs, and restore the copy.
 *
 * A backup is one file and shows one moment: it has every commit that was answered before
 * the call.  Both calls write a file beside their target (NAME.part), check it, sync it
 * and rename it: a kill at any moment leaves the target as it was.
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
 * Copy the store `file` to `to` while its owner keeps running.  An existing `to` is
 * PAWL_EXISTS unless `replace`; the store itself is never replaced.
 */
PAWL_SIZED pawl_status pawl_sqlite_backup(const char *file, const char *to, bool replace,
                                          pawl_backup_info *ret, pawl_error *reterr) PAWL_MUST_USE;

/*
 * Make the store `file` from a backup.  The directory of `file` is made when it is
 * missing.  It must be empty (else PAWL_EXISTS) and no process may own it (else
 * PAWL_UNAVAILABLE).
 *
 * The original store may have gone on after the backup, and the tokens and ids it handed
 * out are still in use.  So the epoch and the ids of the new store begin far above all of
 * them, and every worker's lease and every queue lock ends: its holder is told that it was
 * lost, and the work is handed out again.
 */
PAWL_SIZED pawl_status pawl_sqlite_restore(const char *backup, const char *file,
                                           pawl_backup_info *ret, pawl_error *reterr) PAWL_MUST_USE;

/* The calls marked PAWL_SIZED (pawl/types.h): `size` is sizeof(pawl_backup_info) of the caller. */
PAWL_API pawl_status pawl_sqlite_backup_sized(const char *file, const char *to, bool replace,
                                              pawl_backup_info *ret, pawl_error *reterr,
                                              size_t size) PAWL_MUST_USE;
PAWL_API pawl_status pawl_sqlite_restore_sized(const char *backup, const char *file,
                                               pawl_backup_info *ret, pawl_error *reterr,
                                               size_t size) PAWL_MUST_USE;

#ifndef PAWL_PLAIN

static inline pawl_status pawl_sqlite_backup(const char *file, const char *to, bool replace,
                                             pawl_backup_info *ret, pawl_error *reterr)
{
    return pawl_sqlite_backup_sized(file, to, replace, ret, reterr, sizeof(*ret));
}

static inline pawl_status pawl_sqlite_restore(const char *backup, const char *file,
                                              pawl_backup_info *ret, pawl_error *reterr)
{
    return pawl_sqlite_restore_sized(backup, file, ret, reterr, sizeof(*ret));
}

#endif

#ifdef __cplusplus
}
#endif
#endif
