/* SPDX-License-Identifier: MIT */
/*
 * store/lock.c -- one owner a data directory.
 *
 * DIR/lock is locked with flock for the life of the store and names its owner.
 * The lock, not the file, is the truth: it goes with the process, however that
 * ends, and the file stays.
 */
#include "store/lock.h"

#include "base/limits.h"
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
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

    if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s is in use by a child that pid %ld, which has ended, left "
                  "behind; stop it or use another --data",
                  dir, pid);
    else if (pid > 0)
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s is in use by pid %ld; stop it or use another --data", dir,
                  pid);
    else
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s is in use by another process; stop it or use another --data",
                  dir);
}

/* Informative only: on a full disk the lock still holds. */
static void sign(int fd)
{
    char text[32];
    int n = snprintf(text, sizeof text, "pid %ld\n", (long)getpid());
    ssize_t written = ftruncate(fd, 0) == 0 ? pwrite(fd, text, (size_t)n, 0) : -1;
    (void)written;
}

pawl_status file_check(const char *path, const char *suffix, pawl_error *reterr)
{
    char full[PATH_MAX];
    struct stat st;

    if (snprintf(full, sizeof full, "%s%s", path, suffix) >= (int)sizeof full) {
        error_set(reterr, PAWL_INVALID, "the path of the data directory is too long");
        return PAWL_INVALID;
    }
    if (lstat(full, &st) != 0 || S_ISREG(st.st_mode))
        return PAWL_OK;
    if (S_ISLNK(st.st_mode))
        error_set(reterr, PAWL_INVALID,
                  "%s is a symbolic link, and none is followed in a data directory; put the file "
                  "itself there, or choose another --data",
                  full);
    else
        error_set(reterr, PAWL_INVALID,
                  "%s is not a plain file; name a file, or choose another --data", full);
    return PAWL_INVALID;
}

/* A user who can write there can put another file in the place of ours.  Root may use any
 * user's directory: containers need that, and root follows no link there. */
static bool is_ours(const char *dir, pawl_error *reterr)
{
    struct stat st;

    if (stat(dir, &st) != 0)
        return true; /* opening the lock says why */
    if (st.st_uid != geteuid() && geteuid() != 0) {
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s belongs to user %u, not to you (%u); run as its owner, or use "
                  "another --data",
                  dir, (unsigned)st.st_uid, (unsigned)geteuid());
        return false;
    }
    if (!(st.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    if (st.st_mode & S_ISVTX) /* /tmp: open to all users on purpose */
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s is writable by all users; use a directory of your own in it "
                  "as --data",
                  dir);
    else
        error_set(reterr, PAWL_UNAVAILABLE,
                  "data directory %s may be written by others (mode %03o); say chmod go-w %s, or "
                  "use another --data",
                  dir, (unsigned)(st.st_mode & 0777), dir);
    return false;
}

int lock_open(const char *dir, pawl_error *reterr)
{
    static const char *const names[] = {"/lock", "/slots", "/reserve", "/dirty"};
    char path[PATH_MAX];

    if (!is_ours(dir, reterr))
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (file_check(dir, names[i], reterr) != PAWL_OK)
            return -1;

    if (snprintf(path, sizeof path, "%s/lock", dir) >= (int)sizeof path) {
        error_set(reterr, PAWL_INVALID, "the path of the data directory is too long");
        return -1;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
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
    sign(fd);
    return fd;
}

void lock_sign(const char *dir)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/lock", dir) >= (int)sizeof path)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        sign(fd);
        (void)close(fd);
    }
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
