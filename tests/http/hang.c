/* SPDX-License-Identifier: MIT */
/*
 * tests/http/hang.c -- preloaded into the server: the disk does not answer while the file
 * that $PAWL_TEST_HANG names exists.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int sync_later(const char *name, int fd)
{
    const char *file = getenv("PAWL_TEST_HANG");
    union {
        void *found;
        int (*call)(int);
    } real = {.found = dlsym(RTLD_NEXT, name)};
    while (file && access(file, F_OK) == 0)
        usleep(1000);
    return real.call(fd);
}

int fdatasync(int fd)
{
    return sync_later("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_later("fsync", fd);
}
