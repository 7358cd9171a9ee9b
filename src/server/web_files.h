/* SPDX-License-Identifier: MIT */
/*
 * server/web_files.h -- the files of the page, as tools/embed-web.c puts them into the binary.
 *
 * Whole files in memory that is never written: serving one allocates nothing.  The only reader is
 * web_files.c.
 */
#ifndef PAWL_SERVER_WEB_FILES_H
#define PAWL_SERVER_WEB_FILES_H

#include <stddef.h>

struct web_file {
    const char *name, *type; /* "app.css"; a media type */
    const char *etag;        /* quoted, from the bytes */
    const unsigned char *plain;
    size_t plain_len;
    const unsigned char *packed; /* the same with gzip */
    size_t packed_len;
};

extern const struct web_file web_files[]; /* ends with a row without a name */

#endif
