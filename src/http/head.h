/* SPDX-License-Identifier: MIT */
/*
 * http/head.h -- the head of a request: where it ends, and what it says.
 *
 * Pure functions over bytes, so that tests can cut them anywhere and a fuzzer can
 * throw anything at them.  Strict: what two readers might take for two different
 * requests is refused.  The slices point into the bytes given.
 *
 *   head_scan    is the whole head there?  Line by line, each byte once.
 *   head_parse   a whole head into a struct head.
 *   head_seal    end every text in place with a NUL, for callers that want C strings.
 */
#ifndef PAWL_HTTP_HEAD_H
#define PAWL_HTTP_HEAD_H

#include "pawl/types.h"

#define HEAD_BYTES   (20 * 1024) /* of all lines together */
#define HEAD_LINE    (16 * 1024) /* of the first one */
#define HEAD_HEADERS 100

/* What is wrong with a head; the numbers are the statuses of the answer. */
enum head_fault {
    HEAD_OK = 0,
    HEAD_MALFORMED = 400,
    HEAD_URI_TOO_LONG = 414,
    HEAD_TOO_LARGE = 431,
    HEAD_VERSION = 505
};

struct head_header {
    pawl_str name, value;
};

struct head {
    pawl_str method;
    pawl_str target;     /* in origin form, "/path?query"; or "*" */
    pawl_str host;       /* of the target when it names one, else of the header; ptr NULL: none */
    bool is_old;         /* HTTP/1.0 */
    bool keep_alive;     /* after the answer */
    bool wants_continue; /* Expect: 100-continue */
    bool chunked;
    bool ambiguous;       /* framing that two readers could read differently: refuse and hang up */
    const char *repeated; /* a header that has one value and is given twice: its name; NULL: none */
    uint64_t length;      /* of the body, when not chunked; UINT64_MAX: more than fits */
    size_t count;
    struct head_header headers[HEAD_HEADERS];
};

/*
 * How long is the head at the front of `bytes`?  0: not all of it is there, and *scanned
 * says how far it was looked at (0 at the beginning; give it again with more bytes).
 * *fault: what is wrong already.  The answer does not depend on how the bytes came.
 */
size_t head_scan(const char *bytes, size_t n, size_t *scanned, enum head_fault *fault);

/* `bytes` is what head_scan found. */
enum head_fault head_parse(const char *bytes, size_t n, struct head *ret);

/* Method, target and the values of headers end with a NUL from now on; `bytes` is what
 * head_parse got.  (The host does not: it may touch the target.) */
void head_seal(struct head *head, char *bytes);

/* The value of a header, by its name in any case; ptr NULL: none.  The first, if many. */
pawl_str head_get(const struct head *head, const char *name);

#endif
