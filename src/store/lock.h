/* SPDX-License-Identifier: MIT */
/*
 * store/lock.h -- one owner a data directory, and its entries, for stores on disk.
 */
#ifndef PAWL_STORE_LOCK_H
#define PAWL_STORE_LOCK_H

#include "pawl/types.h"

/* Lock DIR/lock for the life of the descriptor; -1: somebody has it (reterr says who). */
int lock_open(const char *dir, pawl_error *reterr);
void lock_close(int fd); /* -1 is fine */

/* The entries of a directory survive a power loss from here on; errno when false. */
bool directory_sync(const char *dir);

#endif
