/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/reserve.c -- disk space in reserve for a full disk.
 *
 * On a full disk even a DELETE fails, because the WAL must grow: acks and completions
 * would be stuck behind the work that filled the disk.  So DIR/reserve holds real blocks.
 * The first SQLITE_FULL frees them; from then on space() says DISK_FULL, new work is
 * refused, and acks and completions fit into the freed room.  When the disk has twice the
 * reserve free again, the file is made again.  The WAL must fit into the room of the
 * reserve: after it is checkpointed it is overwritten and does not grow (commit.c).
 *
 *      kept --[SQLITE_FULL: reserve_spend]--> spent
 *      spent --[room again: reserve_refill]--> kept
 */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define RESERVE_BYTES       (INT64_C(8) << 20)
#define RESERVE_BYTES_SMALL (INT64_C(1) << 20)
#define SMALL_DISK_BYTES    (INT64_C(128) << 20)

/* The bytes that an unprivileged process may still use; -1 when unknown. */
static int64_t bytes_free(const struct reserve *r, int64_t *rettotal)
{
    char dir[PATH_MAX];
    struct statvfs fs;
    size_t len = (size_t)(strrchr(r->path, '/') - r->path);

    assert_that(len < sizeof dir);
    memcpy(dir, r->path, len);
    dir[len] = '\0';
    if (statvfs(dir, &fs) != 0)
        return -1;
    *rettotal = (int64_t)(fs.f_blocks * fs.f_frsize);
    return (int64_t)(fs.f_bavail * fs.f_frsize);
}

/* Make the file with all its blocks, or leave none. */
static bool allocate(struct reserve *r)
{
    int fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return false;
    int rc;
    while ((rc = posix_fallocate(fd, 0, r->bytes)) == EINTR)
        ;
    (void)close(fd);
    if (rc != 0)
        (void)unlink(r->path);
    return rc == 0;
}

bool reserve_open(struct reserve *r, const char *dir)
{
    size_t len = strlen(dir) + sizeof "/reserve";

    *r = (struct reserve){.path = malloc(len), .bytes = RESERVE_BYTES};
    if (!r->path || len > PATH_MAX)
        return false;
    (void)snprintf(r->path, len, "%s/reserve", dir);
    int64_t total = INT64_MAX;
    (void)bytes_free(r, &total);
    if (total < SMALL_DISK_BYTES)
        r->bytes = RESERVE_BYTES_SMALL;
    r->spent = !allocate(r);
    return true;
}

void reserve_close(struct reserve *r)
{
    free(r->path);
    r->path = NULL;
}

void reserve_spend(struct reserve *r)
{
    assert_that(r->path && r->bytes > 0);
    r->spent = true;
    (void)unlink(r->path);
}

void reserve_refill(struct reserve *r)
{
    assert_that(r->path && r->bytes > 0);
    int64_t total, room = bytes_free(r, &total);

    if (r->spent && room >= 2 * r->bytes)
        r->spent = !allocate(r);
}
