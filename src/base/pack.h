/* SPDX-License-Identifier: MIT */
/*
 * base/pack.h -- texts one behind the other in memory that is there already.
 *
 * A thing that outlives its caller (a job, a letter, a request) is one allocation: its struct,
 * and behind it the bytes of its texts.  The owner adds up their lengths first, with one byte
 * more for each text, and then packs them; every copy ends with a NUL.
 *
 * Inline: several are packed for every message.
 */
#ifndef PAWL_BASE_PACK_H
#define PAWL_BASE_PACK_H

#include "pawl/types.h"

#include <string.h>

/* Copy `s` to *at and move *at behind it.  An empty text is there too, as a NUL. */
static inline pawl_str pack_str(char **at, pawl_str s)
{
    pawl_str copy = {*at, s.len};
    if (s.len)
        memcpy(*at, s.ptr, s.len);
    (*at)[s.len] = 0;
    *at += s.len + 1;
    return copy;
}

/* The same for a C string; NULL stays NULL and takes no room. */
static inline const char *pack_text(char **at, const char *text)
{
    return text ? pack_str(at, pawl_s(text)).ptr : NULL;
}

#endif
