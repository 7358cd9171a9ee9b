/* SPDX-License-Identifier: MIT */
/*
 * base/str.h -- the order of texts, for what is listed by name.
 *
 * Byte order, as databases with a plain collation have it.  Used by the stores and their checks.
 */
#ifndef PAWL_BASE_STR_H
#define PAWL_BASE_STR_H

#include "pawl/types.h"

#include <string.h>

/* <0, 0, >0. */
static inline int str_compare(pawl_str a, pawl_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int by_bytes = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return by_bytes ? by_bytes : (a.len > b.len) - (a.len < b.len);
}

static inline bool str_begins(pawl_str text, pawl_str prefix)
{
    return text.len >= prefix.len &&
           (prefix.len == 0 || memcmp(text.ptr, prefix.ptr, prefix.len) == 0);
}

#endif
