/* SPDX-License-Identifier: MIT */
/* base/read_file.h -- reading files whole: a read may give less than was asked for. */
#ifndef PAWL_BASE_READ_FILE_H
#define PAWL_BASE_READ_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Bytes read from `at` on: fewer than n only at the end of the file; -1: errno says why. */
ssize_t file_read(int fd, void *to, size_t n, off_t at);

#endif
