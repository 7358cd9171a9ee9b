/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/badfs.h -- a file system that fails once, on order.
 *
 * The default SQLite VFS with a counter in front of the calls that matter.  The
 * n-th one fails as asked; all others are the real thing.
 */
#ifndef PAWL_TESTS_BADFS_H
#define PAWL_TESTS_BADFS_H

enum badfs {
    BADFS_SYNC,      /* fsync says EIO; the bytes are there all the same */
    BADFS_SYNC_LOST, /* fsync says EIO; what was appended since the last one is gone */
    BADFS_WRITE,     /* write says EIO */
    BADFS_FULL,      /* write says ENOSPC */
    BADFS_READ,      /* read says EIO */
};

/* In the child, before SQLite is used.  `nth` 0: never, only count. */
void badfs_install(enum badfs what, int nth);
int badfs_calls(void);

#endif
