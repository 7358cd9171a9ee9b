/* SPDX-License-Identifier: MIT */
/*
 * http/http_conn.c -- from bytes to requests.
 *
 * A visit reads once into the scratch buffer that all connections share; most requests
 * are whole there and nothing is kept.  What is not understood yet (part of a head, or
 * requests behind one that has no answer) is copied to the connection's own buffer and
 * gone on with from there.  Bodies go straight to the handler, so that buffer is small.
 *
 * Every function here may close the connection; then its bytes are gone, and the state
 * says so.
 */
#include "http/http_conn.h"

#include "base/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define READS   4 /* in a visit */
#define IN_CAP  (HEAD_BYTES + 4096)
#define IDLE_MS 30000 /* of a body that brings no byte */

/* ---- A request ---------------------------------------------------------------------- */

static void complete(struct httpd_conn *c)
{
    c->state = CONN_BUSY;
    c->deadline_ms = INT64_MAX;
    if (c->answer)
        http_conn_send_answer(c);
    else
        c->h->handler->ready(c->call);
}

/* It has its answer before its body: read the body over when that is little. */
static void look_at_refusal(struct httpd_conn *c)
{
    if (!c->close && !c->answer->close && c->skipped <= SWALLOW &&
        (c->chunked || c->left <= SWALLOW))
        return;
    c->close = true;
    c->state = CONN_BUSY;
    http_conn_send_answer(c);
}

static void begin(struct httpd_conn *c, const struct head *head)
{
    c->no_body = pawl_str_is(head->method, "HEAD");
    c->is_old = head->is_old;
    c->close = !head->keep_alive || head->ambiguous;
    c->chunked = head->chunked;
    c->left = head->length;
    c->chunk = (struct chunk){0};
    c->skipped = 0;
    c->state = CONN_BODY;
    c->deadline_ms = c->h->now_ms + BODY_MS; /* looked at when it is not all there */
    c->call = c->h->handler->begin(c->h->user, c, head);
    if (!c->call) {
        http_conn_refuse(c, 503);
    } else if (!head->chunked && !head->length) {
        complete(c);
    } else if (c->answer) {
        c->close = c->close || head->wants_continue; /* a body may come, or not */
        look_at_refusal(c);
    } else if (head->wants_continue) {
        http_conn_send_continue(c);
    }
}

/* Bytes used; 0: the head is not all there. */
static size_t take_head(struct httpd_conn *c, char *bytes, size_t n)
{
    struct head head;
    enum head_fault fault;
    if (c->scanned == 0 && bytes[0] == '\r' && (n < 2 || bytes[1] == '\n'))
        return n < 2 ? 0 : 2; /* empty lines before a request */
    size_t len = head_scan(bytes, n, &c->scanned, &fault);
    if (fault == HEAD_OK && !len)
        return 0;
    c->scanned = 0;
    c->visit_requests++;
    if (fault == HEAD_OK)
        fault = head_parse(bytes, len, &head);
    if (fault != HEAD_OK) {
        c->no_body = c->is_old = false; /* those of the request before */
        http_conn_refuse(c, fault);
        return n;
    }
    head_seal(&head, bytes);
    begin(c, &head);
    return len;
}

static void bad_chunk(struct httpd_conn *c)
{
    c->close = true;
    c->state = CONN_BUSY;
    if (c->answer)
        http_conn_send_answer(c);
    else
        http_conn_refuse(c, HEAD_MALFORMED);
}

/* Bytes of a body earn time for the next ones, and not to be kept for hours. */
static void earn_time(struct httpd_conn *c, size_t bytes)
{
    int64_t earned = c->deadline_ms + (int64_t)bytes * 1000 / 1024;
    int64_t idle = c->h->now_ms + IDLE_MS;
    c->deadline_ms = earned < idle ? earned : idle;
}

static size_t take_body(struct httpd_conn *c, const char *bytes, size_t n)
{
    pawl_str data = {bytes, c->left < n ? (size_t)c->left : n};
    size_t used = data.len;
    if (c->chunked)
        used = chunk_eat(&c->chunk, bytes, n, &data);
    else
        c->left -= used;
    if (c->answer) {
        c->skipped += used;
    } else if (data.len) {
        earn_time(c, data.len);
        c->h->handler->body(c->call, data);
    }
    if (c->chunked && c->chunk.state == CHUNK_BAD) {
        bad_chunk(c);
        return n;
    }
    if (c->chunked ? c->chunk.state == CHUNK_END : c->left == 0)
        complete(c);
    else if (c->answer)
        look_at_refusal(c);
    return used;
}

/* Read over, with a limit. */
static size_t drop(struct httpd_conn *c, size_t n)
{
    if (c->left < n)
        http_conn_close(c);
    else
        c->left -= n;
    return n;
}

/* Understand as much as there is and may be; bytes used. */
static size_t understand(struct httpd_conn *c, char *bytes, size_t n)
{
    size_t at = 0, used = 1;
    while (at < n && used) {
        if (c->state == CONN_HEAD && c->visit_requests < VISIT_REQUESTS)
            used = take_head(c, bytes + at, n - at);
        else if (c->state == CONN_BODY)
            used = take_body(c, bytes + at, n - at);
        else if (c->state == CONN_LINGER || c->state == CONN_STREAM)
            used = drop(c, n - at);
        else
            break;
        at += used;
    }
    return at;
}

/* ---- Bytes kept ------------------------------------------------------------------------ */

/* After a visit: what it waits for has a time. */
static void look_after(struct httpd_conn *c)
{
    bool more = c->in_len > c->in_at;
    int64_t left = c->deadline_ms - c->h->now_ms;
    if (c->state == CONN_BODY)
        http_conn_deadline(c, left > 0 ? left : 0); /* late: not "none" */
    else if (c->state == CONN_HEAD && more && c->visit_requests >= VISIT_REQUESTS)
        http_conn_pend(c);
    else if (c->state == CONN_HEAD && more && c->deadline_ms > c->h->now_ms + HEAD_MS)
        http_conn_deadline(c, HEAD_MS);
}

static void forget_in(struct httpd_conn *c)
{
    free(c->in);
    c->in = NULL;
    c->in_at = c->in_len = c->in_cap = 0;
}

static bool is_alive(const struct httpd_conn *c)
{
    return c->state != CONN_CLOSED && c->state != CONN_LOST;
}

static void go_on(struct httpd_conn *c)
{
    size_t used = understand(c, c->in + c->in_at, c->in_len - c->in_at);
    if (!is_alive(c))
        return;
    c->in_at += used;
    if (c->in_at >= c->in_len)
        forget_in(c);
    look_after(c);
}

static void keep(struct httpd_conn *c, const char *bytes, size_t n)
{
    size_t cap = n < 512 ? 512 : n;
    c->in = malloc(cap);
    if (!c->in) {
        http_conn_close(c);
        return;
    }
    memcpy(c->in, bytes, n);
    c->in_at = 0;
    c->in_len = n;
    c->in_cap = cap;
}

/* Room behind the bytes kept; false: no memory. */
static bool make_room(struct httpd_conn *c)
{
    if (c->in_at) {
        memmove(c->in, c->in + c->in_at, c->in_len - c->in_at);
        c->in_len -= c->in_at;
        c->in_at = 0;
    }
    if (c->in_len < c->in_cap)
        return true;
    size_t cap = c->in_cap < IN_CAP / 2 ? 512 + c->in_cap * 2 : c->in_len + IN_CAP;
    char *in = cap > c->in_len ? realloc(c->in, cap) : NULL;
    if (!in)
        return false;
    c->in = in;
    c->in_cap = cap;
    return true;
}

static void take_bytes(struct httpd_conn *c, char *bytes, size_t n)
{
    if (c->in) {
        c->in_len += n;
        go_on(c);
        return;
    }
    size_t used = understand(c, bytes, n);
    if (is_alive(c) && used < n)
        keep(c, bytes + used, n - used);
    if (is_alive(c))
        look_after(c);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static bool wants_bytes(const struct httpd_conn *c)
{
    return c->state == CONN_HEAD || c->state == CONN_BODY || c->state == CONN_LINGER ||
           c->state == CONN_STREAM;
}

/* One recv; false: enough of it in this visit. */
static bool read_once(struct httpd_conn *c)
{
    char *to = c->h->scratch;
    size_t room = SCRATCH;
    if (c->in) {
        if (!make_room(c)) {
            http_conn_close(c);
            return false;
        }
        to = c->in + c->in_len;
        room = c->in_cap - c->in_len;
    }
    ssize_t n = c->tls ? http_tls_recv(c->tls, to, room) : recv(c->fd, to, room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        http_conn_close(c);
        return false;
    }
    take_bytes(c, to, (size_t)n);
    return c->tls || (size_t)n == room; /* a short read: there is nothing more */
}

void http_conn_readable(struct httpd_conn *c)
{
    if (c->is_pending)
        return; /* it has more than its share already */
    c->visit_requests = 0;
    for (int i = 0; i < READS; i++)
        if (!wants_bytes(c) || c->visit_requests >= VISIT_REQUESTS || !read_once(c))
            break;
    if (wants_bytes(c) && c->tls && http_tls_pending(c->tls))
        http_conn_pend(c);
}

void http_conn_resume(struct httpd_conn *c)
{
    c->visit_requests = 0;
    if (wants_bytes(c) && c->in)
        go_on(c);
    if (wants_bytes(c) && c->tls && c->visit_requests < VISIT_REQUESTS)
        http_conn_readable(c);
}

/* ---- After the answer ------------------------------------------------------------------------ */

/* Closing with bytes unread would make the kernel take the answer back. */
static void linger(struct httpd_conn *c)
{
    forget_in(c);
    if (c->tls)
        http_tls_bye(c->tls);
    (void)shutdown(c->fd, SHUT_WR);
    c->state = CONN_LINGER;
    c->left = LINGER_BYTES;
    http_conn_deadline(c, LINGER_MS);
    http_conn_watch(c, EPOLLIN);
}

void http_conn_answered(struct httpd_conn *c)
{
    void *call = c->call;
    c->call = NULL;
    c->answer = NULL;
    if (call)
        c->h->handler->finish(call);
    if (c->close) {
        linger(c);
        return;
    }
    c->state = CONN_HEAD;
    c->scanned = 0;
    c->deadline_ms = http_whole_second(c->h->now_ms + REST_MS);
    http_conn_watch(c, EPOLLIN);
    if (c->in || (c->tls && http_tls_pending(c->tls)))
        http_conn_pend(c);
}
