/* SPDX-License-Identifier: MIT */
/*
 * store/lock.c -- one owner a data directory.
 *
 * DIR/lock is locked with flock for the life of the store and says who holds it.
 * The lock, not the file, is the truth: it goes with the process, however that
 * ends, and the file stays.
 */
#include "store/lock.h"

#include "base/file.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The pid written in the file, or 0. */
static long holder(int fd)
{
    char text[64] = "";
    long pid = 0;

    if (file_read(fd, text, sizeof text - 1, 0) <= 4 || strncmp(text, "pid ", 4) != 0)
        return 0;
    char *end;
    pid = strtol(text + 4, &end, 10);
    return *end == '\n' && pid > 0 ? pid : 0;
}

static void refuse(int fd, const char *dir, pawl_error *reterr)
{
    long pid = holder(fd);

    if (pid > 0)
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s is in use by pid %ld; stop it or use another --data", dir,
                  pid);
    else
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s is in use by another process; stop it or use another --data",
                  dir);
}

int lock_open(const char *dir, pawl_error *reterr)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/lock", dir) >= (int)sizeof path) {
        error_set(reterr, PAWL_INVALID, "the path of the data directory is too long");
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        error_set(reterr, PAWL_UNAVAILABLE,
                  "cannot write %s: %s; make the directory writable or use another --data", path,
                  strerror(errno));
        return -1;
    }
    int rc;
    while ((rc = flock(fd, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR)
        ;
    if (rc != 0) {
        if (errno == EWOULDBLOCK)
            refuse(fd, dir, reterr);
        else
            error_set(reterr, PAWL_UNAVAILABLE, "cannot lock %s: %s", path, strerror(errno));
        (void)close(fd);
        return -1;
    }
    char text[32];
    int n = snprintf(text, sizeof text, "pid %ld\n", (long)getpid());
    ssize_t written = ftruncate(fd, 0) == 0 ? pwrite(fd, text, (size_t)n, 0) : -1;
    (void)written; /* informative only: on a full disk the lock still holds */
    return fd;
}

void lock_close(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

bool directory_sync(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return false;
    int rc = fsync(fd), why = errno;
    (void)close(fd);
    errno = why;
    return rc == 0;
}
