/* SPDX-License-Identifier: MIT */
/*
 * store/lock.h -- one owner per data directory, and checks of its entries, for stores on disk.
 */
#ifndef PAWL_STORE_LOCK_H
#define PAWL_STORE_LOCK_H

#include "pawl/types.h"

/* Lock DIR/lock for the life of the descriptor; -1: another process has it (reterr says which),
 * or the directory belongs to another user, or other users may write there. */
int lock_open(const char *dir, pawl_error *reterr);
/* PAWL_OK when `path` with `suffix` behind it is a plain file, or nothing yet.  What is in a data
 * directory is looked at with this before it is opened: a link or a device stays untouched. */
pawl_status file_check(const char *path, const char *suffix, pawl_error *reterr);
void lock_close(int fd); /* -1 is fine */
/* After a fork() this process holds DIR/lock: write its pid there. */
void lock_sign(const char *dir);

/* Sync the directory: its entries survive a power loss.  False: errno says why not. */
bool directory_sync(const char *dir);

#endif
