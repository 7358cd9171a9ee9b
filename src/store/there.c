/* SPDX-License-Identifier: MIT */
/* store/there.c -- see there.h. */
#include "store/there.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program may change its directory later. */
static char *absolute(const char *path, const char *suffix)
{
    char *full = NULL, *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (asprintf(&full, "%s%s%s%s", here ? here : "", here ? "/" : "", path, suffix) < 0)
        full = NULL;
    free(here);
    return full;
}

bool there_note(struct there *t, const char *path, const char *suffix)
{
    struct stat st;
    there_deinit(t);
    char *full = absolute(path, suffix);
    if (!full)
        return false;
    if (stat(full, &st) != 0) {
        free(full);
        return true;
    }
    *t = (struct there){.path = full, .dev = st.st_dev, .ino = st.st_ino};
    return true;
}

bool there_is_gone(struct there *t)
{
    struct stat st;
    if (!t->path)
        return false;
    if (stat(t->path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR;
    t->bytes = st.st_size;
    return st.st_ino != t->ino || st.st_dev != t->dev;
}

void there_deinit(struct there *t)
{
    free(t->path);
    *t = (struct there){0};
}

static pawl_status refuse(const char *path, pawl_status status, pawl_error *reterr)
{
    error_set(reterr, status,
              "%.300s is gone (deleted, moved or replaced); put it back or restore a backup, then "
              "start again",
              path);
    return status;
}

pawl_status there_refuse(const char *path, pawl_error *reterr)
{
    return refuse(path, PAWL_NOT_FOUND, reterr);
}

pawl_status there_refuse_read(const char *path, pawl_error *reterr)
{
    return refuse(path, PAWL_UNAVAILABLE, reterr);
}
