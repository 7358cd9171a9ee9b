/* SPDX-License-Identifier: MIT */
/*
 * cli/http.h -- a small HTTP/1.1 client: one connection, one request at a time.
 *
 * For `--url`: http:// or https:// to a Pawl server.  (Why no library:
 * docs/decisions/0008-own-http-client.md.)
 */
#ifndef PAWL_CLI_HTTP_H
#define PAWL_CLI_HTTP_H

#include "base/buf.h"
#include "pawl.h"

struct http;

struct http_reply {
    unsigned status;
    pawl_str body; /* in the mem given */
};

/* NULL, with reterr: the URL is wrong, or `ca` (a PEM file of authorities; NULL: those of the system)
 * cannot be used.  Does not connect yet. */
struct http *http_open(const char *url, const char *token, const char *ca, pawl_error *reterr);
void http_close(struct http *h); /* NULL is fine */
const char *http_url(const struct http *h);
const char *http_name(const struct http *h); /* of the host, for the resolver */
const char *http_port(const struct http *h);

/* Does a server listen there?  The connection is kept for the first call. */
bool http_listens(struct http *h);

/* Send a request and read the answer, waiting at most `timeout_ms` for it.  A kept
 * connection that was closed meanwhile is opened again once.  PAWL_UNAVAILABLE: no server
 * answers there; PAWL_TIMEOUT. */
pawl_status http_call(struct http *h, const char *method, const char *path, pawl_str body,
                      const char *headers, int64_t timeout_ms, pawl_mem *mem,
                      struct http_reply *ret, pawl_error *reterr);

/* Begin an answer without an end, such as server-sent events; the connection serves no other call.
 * With status 200 http_stream_read() gives its bytes; with any other status the body is in *ret. */
pawl_status http_stream(struct http *h, const char *path, int64_t timeout_ms, pawl_mem *mem,
                        struct http_reply *ret, pawl_error *reterr);
/* Append what has come of it to `to`, without waiting; false: it is over. */
bool http_stream_read(struct http *h, struct buf *to);
int http_fd(const struct http *h); /* to poll; -1: not connected */

/* For interactive callers: no call takes longer than `most_ms`, and each ends (PAWL_UNAVAILABLE) when
 * `alarm` is readable; http_alarmed(): was that the cause of the last failure? */
void http_patience(struct http *h, int64_t most_ms, int alarm);
bool http_alarmed(struct http *h);

/* A path segment or query value, escaped. */
pawl_str http_escape(pawl_mem *mem, const char *text);

#endif
