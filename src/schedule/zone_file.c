/* SPDX-License-Identifier: MIT */
/*
 * schedule/zone_file.c -- the zone files of the system: the only file here that reaches the world.
 *
 * A name comes from outside and becomes a path: words of letters, digits and -+_ with slashes
 * between, so it never leaves the directory.
 */
#include "base/arena.h"
#include "base/limits.h"
#include "base/read_file.h"
#include "schedule/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '+' || c == '_';
}

/* No slash at an end, no two slashes, no dot. */
static bool is_zone_name(const char *name)
{
    size_t len = strlen(name);
    if (!len || len > ZONE_NAME_BYTES || name[len - 1] == '/')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_word_byte(name[i]) && (name[i] != '/' || i == 0 || name[i - 1] == '/'))
            return false;
    return true;
}

static pawl_status read_all(int fd, const char *path, pawl_mem *mem, pawl_str *ret,
                            pawl_error *reterr)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > ZONE_FILE_MAX) {
        error_set(reterr, PAWL_INVALID,
                  "%s is not a file of at most %d bytes; reinstall the package tzdata", path,
                  ZONE_FILE_MAX);
        return PAWL_INVALID;
    }
    char *to = arena_alloc(mem, (size_t)st.st_size + 1);
    ssize_t got = file_read(fd, to, (size_t)st.st_size, 0);
    if (got < 0) {
        error_set(reterr, PAWL_UNAVAILABLE, "cannot read %s: %s; try again", path, strerror(errno));
        return PAWL_UNAVAILABLE;
    }
    *ret = (pawl_str){to, (size_t)got};
    return PAWL_OK;
}

/* There is no such file.  Is there any? */
static pawl_status unknown(const char *name, const char *dir, pawl_error *reterr)
{
    if (access(dir, R_OK | X_OK) != 0)
        error_set(
            reterr, PAWL_NOT_FOUND,
            "zone '%s' is unknown: there are no time zones in %s; install the package tzdata, "
            "or set TZDIR",
            name, dir);
    else
        error_set(reterr, PAWL_NOT_FOUND,
                  "zone '%s' is unknown: it is not in %s; write it like Europe/Berlin, or install "
                  "the package tzdata (old names: tzdata-legacy)",
                  name, dir);
    return PAWL_NOT_FOUND;
}

static pawl_status open_zone(const char *name, char *path, size_t size, int *ret,
                             pawl_error *reterr)
{
    const char *set = getenv("TZDIR"), *dir = set && *set ? set : "/usr/share/zoneinfo";
    if ((size_t)snprintf(path, size, "%s/%s", dir, name) >= size) {
        error_set(reterr, PAWL_INVALID, "TZDIR is too long; set it to a shorter path");
        return PAWL_INVALID;
    }
    *ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*ret >= 0)
        return PAWL_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return unknown(name, dir, reterr);
    error_set(reterr, PAWL_UNAVAILABLE, "cannot open %s: %s; try again", path, strerror(errno));
    return PAWL_UNAVAILABLE;
}

static pawl_status load(const char *name, pawl_mem *mem, const struct zone **ret,
                        pawl_error *reterr)
{
    char path[1024];
    int fd;
    pawl_status status = open_zone(name, path, sizeof(path), &fd, reterr);
    if (status != PAWL_OK)
        return status;
    pawl_str bytes = {0};
    status = read_all(fd, path, mem, &bytes, reterr);
    (void)close(fd);
    if (status != PAWL_OK)
        return status;
    struct zone *z = arena_new(mem, struct zone);
    pawl_error why;
    if (!zone_read(z, bytes, &why)) {
        error_set(reterr, PAWL_INVALID,
                  "zone '%s' cannot be used: %s (%s); reinstall the package tzdata", name, why.text,
                  path);
        return PAWL_INVALID;
    }
    *ret = z;
    return PAWL_OK;
}

pawl_status zone_load(const char *name, pawl_mem *mem, const struct zone **ret, pawl_error *reterr)
{
    *ret = NULL;
    if (!name || !*name || strcmp(name, "UTC") == 0)
        return PAWL_OK;
    if (is_zone_name(name))
        return load(name, mem, ret, reterr);
    error_set(reterr, PAWL_INVALID,
              "the zone is not a name of at most %d letters, digits and -+_/; write it like "
              "Europe/Berlin",
              ZONE_NAME_BYTES);
    return PAWL_INVALID;
}
