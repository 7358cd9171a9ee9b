/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_file.c -- the few things done to files, each durable when it returns OK.
 *
 * A write that fails is undone by cutting the file to its old length.  A sync that
 * fails cannot be undone or repeated (the kernel may have dropped the pages and
 * say OK next time), so the store stops there: the outcome is unknown until the
 * files are read again.
 */
#include "store/jsonl/jsonl.h"

#include "base/limits.h"
#include "base/point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pawl_status jsonl_trouble(pawl_error *reterr, const char *what, const char *path)
{
    bool full = errno == ENOSPC || errno == EDQUOT;
    pawl_status status = full ? PAWL_DISK_FULL : PAWL_UNAVAILABLE;
    error_set(reterr, status, "cannot %s %.300s: %s", what, path, strerror(errno));
    return status;
}

static pawl_status unknown(struct jsonl *j, pawl_error *reterr, const char *what, const char *path)
{
    j->dead = PAWL_UNKNOWN;
    error_set(reterr, PAWL_UNKNOWN, "cannot %s %.300s: %s; start again to find out what is there",
              what, path, strerror(errno));
    return PAWL_UNKNOWN;
}

pawl_status jsonl_point(struct jsonl *j, const char *name, pawl_error *reterr)
{
    POINT(name);
    if (j->trouble == JSONL_WELL)
        return PAWL_OK;
    pawl_status status = j->trouble == JSONL_DIE ? PAWL_UNKNOWN : PAWL_UNAVAILABLE;
    error_set(reterr, status, "a test asked for it at %s", name);
    if (j->trouble == JSONL_FAIL)
        j->trouble = JSONL_WELL;
    else
        j->dead = PAWL_UNKNOWN;
    return status;
}

static bool write_all(int fd, pawl_str text)
{
    while (text.len) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text.ptr += n;
        text.len -= (size_t)n;
    }
    return true;
}

static bool parent_of(const char *path, char dir[JSONL_PATH_MAX])
{
    int n = snprintf(dir, JSONL_PATH_MAX, "%s", path);
    char *slash = strrchr(dir, '/');
    if (n < 0 || n >= JSONL_PATH_MAX || !slash)
        return false;
    *(slash == dir ? slash + 1 : slash) = 0;
    return true;
}

pawl_status jsonl_sync_dir(struct jsonl *j, const char *path, pawl_error *reterr)
{
    if (j->lazy)
        return PAWL_OK;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return jsonl_trouble(reterr, "open", path);
    bool ok = fsync(fd) == 0;
    (void)close(fd);
    return ok ? PAWL_OK : unknown(j, reterr, "sync", path);
}

pawl_status jsonl_sync_all(struct jsonl *j, pawl_error *reterr)
{
    int fd = open(j->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return unknown(j, reterr, "open", j->root);
    bool ok = syncfs(fd) == 0;
    (void)close(fd);
    return ok ? PAWL_OK : unknown(j, reterr, "sync", j->root);
}

pawl_status jsonl_mkdir(struct jsonl *j, const char *path, pawl_error *reterr)
{
    char dir[JSONL_PATH_MAX];
    if (mkdir(path, 0700) != 0)
        return errno == EEXIST ? PAWL_OK : jsonl_trouble(reterr, "make", path);
    return parent_of(path, dir) ? jsonl_sync_dir(j, dir, reterr) : PAWL_OK;
}

/* Write and sync; on failure the file is as it was, or the outcome is unknown. */
static pawl_status append_to(struct jsonl *j, int fd, const char *path, pawl_str text,
                             pawl_error *reterr)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return jsonl_trouble(reterr, "look at", path);
    if (!write_all(fd, text)) {
        pawl_status status = jsonl_trouble(reterr, "write", path);
        return ftruncate(fd, st.st_size) == 0 ? status : unknown(j, reterr, "cut", path);
    }
    return j->lazy || fdatasync(fd) == 0 ? PAWL_OK : unknown(j, reterr, "sync", path);
}

pawl_status jsonl_append(struct jsonl *j, const char *path, pawl_str text, pawl_error *reterr)
{
    char dir[JSONL_PATH_MAX];
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    bool made = fd < 0 && errno == ENOENT;
    if (made)
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return jsonl_trouble(reterr, "open", path);
    pawl_status rc = append_to(j, fd, path, text, reterr);
    (void)close(fd);
    if (rc == PAWL_OK && made && parent_of(path, dir))
        rc = jsonl_sync_dir(j, dir, reterr);
    return rc;
}

static bool new_of(const char *path, char beside[JSONL_PATH_MAX])
{
    errno = ENAMETOOLONG;
    return snprintf(beside, JSONL_PATH_MAX, "%s.new", path) < JSONL_PATH_MAX;
}

pawl_status jsonl_write_new(struct jsonl *j, const char *path, pawl_str text, pawl_error *reterr)
{
    char beside[JSONL_PATH_MAX];
    int fd = new_of(path, beside)
                 ? open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    if (fd < 0)
        return jsonl_trouble(reterr, "open", path);
    pawl_status rc = append_to(j, fd, beside, text, reterr);
    (void)close(fd);
    return rc;
}

pawl_status jsonl_use_new(struct jsonl *j, const char *path, pawl_error *reterr)
{
    char beside[JSONL_PATH_MAX];
    if (!new_of(path, beside) || rename(beside, path) != 0)
        return jsonl_trouble(reterr, "rename to", path);
    return parent_of(path, beside) ? jsonl_sync_dir(j, beside, reterr) : PAWL_OK;
}

pawl_status jsonl_replace(struct jsonl *j, const char *path, pawl_str text, pawl_error *reterr)
{
    pawl_status rc = jsonl_write_new(j, path, text, reterr);
    return rc == PAWL_OK ? jsonl_use_new(j, path, reterr) : rc;
}

pawl_status jsonl_read(const char *path, pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    *ret = (pawl_str){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? PAWL_OK : jsonl_trouble(reterr, "open", path);
    struct stat st;
    char *text = NULL;
    size_t got = 0;
    bool ok = fstat(fd, &st) == 0;
    if (ok) {
        text = pawl_mem_alloc(mem, (size_t)st.st_size + 1);
        for (ssize_t n = 1; ok && n > 0 && got < (size_t)st.st_size; got += (size_t)n) {
            n = read(fd, text + got, (size_t)st.st_size - got);
            ok = n >= 0;
            n = ok ? n : 0;
        }
    }
    pawl_status rc = ok ? PAWL_OK : jsonl_trouble(reterr, "read", path);
    (void)close(fd);
    *ret = (pawl_str){text, got};
    return rc;
}

pawl_status jsonl_cut(struct jsonl *j, const char *path, pawl_str all, size_t keep,
                      pawl_error *reterr)
{
    char torn[JSONL_PATH_MAX];
    pawl_str rest = {all.ptr + keep, all.len - keep};
    if (j->read_only)
        return PAWL_OK;
    if (snprintf(torn, sizeof(torn), "%s.torn", path) < (int)sizeof(torn)) {
        pawl_status rc = jsonl_append(j, torn, rest, reterr);
        if (rc != PAWL_OK)
            return rc;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return jsonl_trouble(reterr, "open", path);
    bool ok = ftruncate(fd, (off_t)keep) == 0 && fdatasync(fd) == 0;
    pawl_status rc = ok ? PAWL_OK : jsonl_trouble(reterr, "cut", path);
    (void)close(fd);
    return rc;
}

pawl_status jsonl_delete_dir(const char *path, pawl_error *reterr)
{
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? PAWL_OK : jsonl_trouble(reterr, "open", path);
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            ok = unlinkat(dirfd(d), e->d_name, 0) == 0;
    ok = ok && rmdir(path) == 0;
    pawl_status rc = ok ? PAWL_OK : jsonl_trouble(reterr, "delete", path);
    (void)closedir(d);
    return rc;
}
