/* SPDX-License-Identifier: MIT */
/*
 * tests/http/full.c -- preloaded into the server: no space for its reserve while the
 * file that $PAWL_TEST_FULL names exists.  The store then says that the disk is full.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int posix_fallocate(int fd, off_t at, off_t n)
{
    const char *file = getenv("PAWL_TEST_FULL");
    union {
        void *found;
        int (*call)(int, off_t, off_t);
    } real = {.found = dlsym(RTLD_NEXT, "posix_fallocate")};
    return file && access(file, F_OK) == 0 ? ENOSPC : real.call(fd, at, n);
}
