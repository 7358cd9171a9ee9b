/* SPDX-License-Identifier: MIT */
/*
 * cli/disk.c -- what bench and doctor ask of a disk.
 *
 * The sync is measured as the database does it: overwriting space that is
 * already allocated, so that no file system journal is written for the size.
 */
#include "cli/disk.h"

#include "base/attr.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SYNC_SAMPLES 300
#define SYNC_FILE    (1 << 20)
#define SYNC_BLOCK   4096

static const struct {
    unsigned long magic;
    const char *name;
    bool memory, remote;
} kinds[] = {
    {0x01021994, "tmpfs",     true,  false},
    {0x858458f6, "ramfs",     true,  false},
    {0xef53,     "ext4",      false, false},
    {0x58465342, "xfs",       false, false},
    {0x9123683e, "btrfs",     false, false},
    {0x2fc12fc1, "zfs",       false, false},
    {0xf2f52010, "f2fs",      false, false},
    {0x794c7630, "overlayfs", false, false},
    {0x6969,     "nfs",       false, true },
    {0xff534d42, "cifs",      false, true },
    {0xfe534d42, "smb2",      false, true },
    {0x01021997, "9p",        false, true },
    {0x65735546, "fuse",      false, true },
    {0x0bd00bd0, "lustre",    false, true },
    {0x00c36400, "ceph",      false, true },
};

/* Index into kinds, or -1. */
static int kind_of(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].magic == ((unsigned long)fs.f_type & 0xffffffffUL))
            return (int)i;
    return -1;
}

const char *disk_kind(const char *path)
{
    int kind = kind_of(path);
    return kind < 0 ? "unknown" : kinds[kind].name;
}

bool disk_is_memory(const char *path)
{
    int kind = kind_of(path);
    return kind >= 0 && kinds[kind].memory;
}

bool disk_is_remote(const char *path)
{
    int kind = kind_of(path);
    return kind >= 0 && kinds[kind].remote;
}

uint64_t disk_free(const char *path)
{
    struct statvfs fs;
    return statvfs(path, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
}

/* ---- Syncing ------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How many samples were taken; -1 on error. */
static int sample_syncs(int fd, int64_t budget_ms, int64_t us[SYNC_SAMPLES])
{
    static const char block[SYNC_BLOCK];
    for (off_t at = 0; at < SYNC_FILE; at += SYNC_BLOCK)
        if (pwrite(fd, block, sizeof(block), at) != SYNC_BLOCK)
            return -1;
    if (fsync(fd) != 0)
        return -1;
    int64_t end_us = clock_mono_us() + budget_ms * 1000;
    int n = 0;
    while (n < SYNC_SAMPLES && (n < 5 || clock_mono_us() < end_us)) {
        off_t at = (off_t)n * SYNC_BLOCK % SYNC_FILE;
        int64_t begin = clock_mono_us();
        if (pwrite(fd, block, sizeof(block), at) != SYNC_BLOCK || fdatasync(fd) != 0)
            return -1;
        us[n++] = clock_mono_us() - begin;
    }
    return n;
}

double disk_sync_us(const char *dir, int64_t budget_ms)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/sync-XXXXXX", dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -1;
    (void)unlink(path); /* so it is gone when closed, also after a kill */
    int64_t us[SYNC_SAMPLES];
    int n = sample_syncs(fd, budget_ms, us);
    int error = errno;
    close(fd);
    errno = error;
    if (n <= 0)
        return -1;
    qsort(us, (size_t)n, sizeof(us[0]), by_value);
    size_t middle = (size_t)n / 2;
    return (double)us[middle];
}

void disk_remove(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *entry; (entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    closedir(d);
    (void)rmdir(dir);
}
