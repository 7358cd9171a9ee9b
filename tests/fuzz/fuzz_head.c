/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_head.c -- bytes of a client, through the parsers of the HTTP server.
 *
 * First byte: how large the pieces are in which the rest comes.  Whole and in pieces the
 * verdict must be the same; every slice lies within the head and holds what its kind
 * may; and the chunks behind it give the same body however they are cut.
 */
#include "base/buf.h"
#include "fuzz.h"
#include "http/chunk.h"
#include "http/head.h"

#include <stdlib.h>
#include <string.h>

static bool within(pawl_str part, const char *bytes, size_t n)
{
    return part.ptr >= bytes && part.ptr + part.len < bytes + n;
}

static bool is_text(pawl_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!text.ptr[i] || text.ptr[i] == '\r' || text.ptr[i] == '\n')
            return false;
    return true;
}

static void check_head(const struct head *h, const char *bytes, size_t n)
{
    must(h->method.len && within(h->method, bytes, n) && is_text(h->method));
    must(h->target.len && is_text(h->target));
    must(within(h->target, bytes, n) || pawl_str_is(h->target, "/"));
    must(h->target.ptr[0] == '/' || pawl_str_is(h->target, "*"));
    must(!h->host.ptr || (within(h->host, bytes, n) && is_text(h->host)));
    must(h->host.ptr || h->is_old || h->ambiguous);
    must(!h->chunked || !h->length);
    must(h->count <= HEAD_HEADERS);
    for (size_t i = 0; i < h->count; i++) {
        must(h->headers[i].name.len && within(h->headers[i].name, bytes, n));
        must(within(h->headers[i].value, bytes, n) && is_text(h->headers[i].value));
    }
}

/* As it comes: `piece` more bytes each time. */
static size_t scan(const char *bytes, size_t n, size_t piece, enum head_fault *fault)
{
    size_t scanned = 0, len = 0, have = 0;
    *fault = HEAD_OK;
    while (have < n && !len && *fault == HEAD_OK) {
        have = n - have < piece ? n : have + piece;
        len = head_scan(bytes, have, &scanned, fault);
        must(len <= have && scanned <= have);
    }
    return len;
}

static int eat(const char *bytes, size_t n, size_t piece, struct buf *body)
{
    struct chunk c = {0};
    for (size_t at = 0; at < n && c.state != CHUNK_END && c.state != CHUNK_BAD;) {
        size_t room = n - at < piece ? n - at : piece;
        pawl_str data;
        size_t used = chunk_eat(&c, bytes + at, room, &data);
        must(used && used <= room && data.len <= used);
        buf_str(body, data);
        at += used;
    }
    return c.state;
}

static void check_chunks(const char *bytes, size_t n, size_t piece)
{
    struct buf whole, cut;
    buf_init(&whole, n + 1);
    buf_init(&cut, n + 1);
    int state = eat(bytes, n, n + 1, &whole);
    must(eat(bytes, n, piece, &cut) == state && !whole.failed && !cut.failed);
    must(pawl_str_eq(buf_slice(&whole), buf_slice(&cut)));
    buf_deinit(&whole);
    buf_deinit(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    size_t piece = (size_t)feed_byte(&f) + 1;
    pawl_str rest = feed_rest(&f);
    struct head head;
    enum head_fault fault, other;
    char *bytes = malloc(rest.len + 1); /* so that a byte too far is seen */
    must(bytes);
    if (rest.len)
        memcpy(bytes, rest.ptr, rest.len);
    size_t len = scan(bytes, rest.len, rest.len + 1, &fault);
    must(scan(bytes, rest.len, piece, &other) == len && other == fault);
    if (len && head_parse(bytes, len, &head) == HEAD_OK) {
        check_head(&head, bytes, len);
        head_seal(&head, bytes);
        must(strlen(head.method.ptr) == head.method.len);
        must(strlen(head.target.ptr) == head.target.len);
        check_chunks(bytes + len, rest.len - len, piece);
    } else {
        check_chunks(bytes, rest.len, piece);
    }
    free(bytes);
    return 0;
}
