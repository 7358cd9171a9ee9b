/* SPDX-License-Identifier: MIT */
/*
 * cli/disk.h -- what bench and doctor ask of a disk.
 */
#ifndef PAWL_CLI_DISK_H
#define PAWL_CLI_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "ext4", "tmpfs", …; "unknown" when it has no name here. */
const char *disk_kind(const char *path);
/* True when nothing on it survives a power cut: tmpfs, ramfs. */
bool disk_is_memory(const char *path);
/* True for file systems over a network, where locks and syncs are doubtful. */
bool disk_is_remote(const char *path);
/* Bytes an ordinary user can still write; 0 when not known. */
uint64_t disk_free(const char *path);

/*
 * The median time of one small write and fdatasync, in microseconds, writing
 * over a preallocated file in `dir` for at most `budget_ms`.  This is what one
 * durable step cannot go below.  Negative when the file cannot be written
 * (errno tells).
 */
double disk_sync_us(const char *dir, int64_t budget_ms);

/* Remove a directory of plain files (no directories inside). */
void disk_remove(const char *dir);

#endif
