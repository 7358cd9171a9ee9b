/* SPDX-License-Identifier: MIT */
/* base/read_file.c -- see read_file.h. */
#include "base/read_file.h"

#include <errno.h>
#include <unistd.h>

ssize_t file_read(int fd, void *to, size_t n, off_t at)
{
    size_t have = 0;
    while (have < n) {
        ssize_t got = pread(fd, (char *)to + have, n - have, at + (off_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}
