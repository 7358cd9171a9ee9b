/* SPDX-License-Identifier: MIT */
/*
 * http/slow.c -- answers that wait for slow readers, and what they may hold together.
 *
 * An answer that the socket did not take stays in memory until its reader has it.  Each such
 * answer has a deadline that moves with what the reader takes, and all of them together have
 * a budget.  Beyond it the connection that has been reading longest is cut off: a client that
 * reads is soon done, so this cuts clients that do not read, and never the newest one.
 *
 * Called by send.c (enter, progress), by the file that ends an answer (leave), and by
 * httpd_loop.c at the end of a round (cut): not in the middle, because other code may be
 * walking over connections.
 */
#include "http/http_conn.h"

#define SEND_RATE  4096 /* bytes that earn a second */
#define TELL_AGAIN 60000

void slow_enter(struct httpd_conn *c, size_t bytes)
{
    struct httpd *h = c->h;
    slow_leave(c);
    c->unsent = bytes ? bytes : 1;
    h->unsent += c->unsent;
    c->slow_next = NULL;
    c->slow_prev = h->slow_last;
    *(h->slow_last ? &h->slow_last->slow_next : &h->slow_first) = c;
    h->slow_last = c;
}

void slow_leave(struct httpd_conn *c)
{
    struct httpd *h = c->h;
    if (!c->unsent)
        return;
    *(c->slow_prev ? &c->slow_prev->slow_next : &h->slow_first) = c->slow_next;
    *(c->slow_next ? &c->slow_next->slow_prev : &h->slow_last) = c->slow_prev;
    h->unsent -= c->unsent;
    c->unsent = 0;
}

void slow_progress(struct httpd_conn *c, size_t bytes)
{
    int64_t now = c->h->now_ms, earned = c->deadline_ms + (int64_t)bytes * 1000 / SEND_RATE;
    int64_t left = (earned < now + SEND_MS ? earned : now + SEND_MS) - now;
    http_conn_deadline(c, left > 0 ? left : 0); /* late: not "none" */
}

void slow_cut(struct httpd *h)
{
    size_t cut = 0;
    for (; h->opts.answer_bytes && h->unsent > h->opts.answer_bytes; cut++)
        http_conn_close(h->slow_first);
    if (!cut || h->now_ms < h->slow_told_ms)
        return;
    h->slow_told_ms = h->now_ms + TELL_AGAIN;
    log_warn(&h->opts.log, "http", "unread answers take too much memory: slow clients disconnected",
             "clients=%llu limit=%llu", (unsigned long long)cut,
             (unsigned long long)h->opts.answer_bytes);
}
