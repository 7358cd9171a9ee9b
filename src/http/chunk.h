/* SPDX-License-Identifier: MIT */
/*
 * http/chunk.h -- the body of a request that comes in chunks.
 *
 * A reader that consumes bytes as they come: any cut gives the same body.  Extensions and
 * trailers are skipped, up to a limit over the whole body, so that a client cannot send them
 * for ever without reaching the limit of the length.
 */
#ifndef PAWL_HTTP_CHUNK_H
#define PAWL_HTTP_CHUNK_H

#include "pawl/types.h"

#define CHUNK_EXTRA (16 * 1024) /* bytes of extensions and trailers in one body */

enum chunk_state {
    CHUNK_SIZE,      /* digits */
    CHUNK_BLANKS,    /* behind them */
    CHUNK_EXTENSION, /* behind a semicolon */
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    CHUNK_TRAILER, /* at the beginning of a line */
    CHUNK_TRAILER_LINE,
    CHUNK_TRAILER_LF,
    CHUNK_LAST_LF,
    CHUNK_END,
    CHUNK_BAD
};

struct chunk {
    uint64_t left;  /* of the data of this chunk; while CHUNK_SIZE: as read so far */
    uint32_t extra; /* bytes of extensions and trailers so far */
    uint8_t digits;
    uint8_t state; /* enum chunk_state; {0} is the beginning */
};

/*
 * Consume bytes from the front of `bytes` until there is data of the body, the body ends, or no byte
 * is left.  Returns how many bytes were consumed; *retdata is the body among them, at their end.
 * Nothing is consumed at CHUNK_END or CHUNK_BAD.
 */
size_t chunk_eat(struct chunk *c, const char *bytes, size_t n, pawl_str *retdata);

#endif
