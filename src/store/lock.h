/* SPDX-License-Identifier: MIT */
/*
 * store/lock.h -- one owner a data directory, and its entries, for stores on disk.
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
/* This process holds DIR/lock since a fork(): its pid is the one to name. */
void lock_sign(const char *dir);

/* The entries of a directory survive a power loss from here on; errno when false. */
bool directory_sync(const char *dir);

#endif
