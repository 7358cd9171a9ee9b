/* SPDX-License-Identifier: MIT */
/*
 * http/conn_pool.c -- connections come and go.
 *
 * Connections that are closed in a round are freed at its end, because events of the
 * same round may still point to them.  One whose call is with the handler loses its
 * socket at once, and is freed when the answer comes.  A few hundred structs are kept for the
 * next connections (`spare`).
 *
 * http_conn_add is called by listen.c, http_conn_close by the file that notices an end,
 * http_free_closed by httpd_loop.c.
 */
#include "http/http_conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SPARE_MAX 256

static void link_conn(struct httpd_conn *c)
{
    struct httpd *h = c->h;
    c->prev = NULL;
    c->next = h->conns;
    if (h->conns)
        h->conns->prev = c;
    h->conns = c;
    h->count++;
}

static void unlink_conn(struct httpd_conn *c)
{
    struct httpd *h = c->h;
    *(c->prev ? &c->prev->next : &h->conns) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    h->count--;
}

static struct httpd_conn *conn_alloc(struct httpd *h)
{
    struct httpd_conn *c = h->spare;
    if (!c)
        return calloc(1, sizeof(*c));
    h->spare = c->next_pending;
    h->spare_count--;
    memset(c, 0, sizeof(*c));
    return c;
}

static void conn_release(struct httpd *h, struct httpd_conn *c)
{
    if (h->spare_count >= SPARE_MAX) {
        free(c);
        return;
    }
    c->next_pending = h->spare;
    h->spare = c;
    h->spare_count++;
}

bool http_conn_add(struct httpd *h, int fd, struct address *address)
{
    struct httpd_conn *c = conn_alloc(h);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (!c)
        return false;
    c->h = h;
    c->fd = fd;
    c->watched = EPOLLIN;
    c->deadline_ms = c->look.key = h->now_ms + HEAD_MS;
    c->look.tie = ++h->tie;
    c->state = h->trust ? CONN_HANDSHAKE : CONN_HEAD;
    c->tls = h->trust ? http_tls_new(h->trust, fd) : NULL;
    bool ok = (c->tls || !h->trust) && heap_push(&h->looks, &c->look);
    if (ok && epoll_ctl(h->poll_fd, EPOLL_CTL_ADD, fd, &e) == 0) {
        c->address = address;
        link_conn(c);
        return true;
    }
    heap_remove(&h->looks, &c->look);
    http_tls_free(c->tls);
    conn_release(h, c);
    return false;
}

/* The socket goes at once, the call when it has its answer. */
static void let_go(struct httpd_conn *c)
{
    http_tls_free(c->tls);
    c->tls = NULL;
    if (c->fd >= 0)
        (void)close(c->fd); /* and out of the epoll */
    c->fd = -1;
    free(c->in);
    free(c->out);
    c->in = c->out = NULL;
    c->in_at = c->in_len = c->in_cap = c->out_at = c->out_len = 0;
}

void http_conn_close(struct httpd_conn *c)
{
    struct httpd *h = c->h;
    if (c->state == CONN_CLOSED)
        return;
    slow_leave(c);
    let_go(c);
    if (c->state == CONN_BUSY && c->call && !c->answer) {
        c->state = CONN_LOST; /* until httpd_answer() */
        http_conn_deadline(c, -1);
        return;
    }
    c->state = CONN_CLOSED;
    if (c->call)
        h->handler->finish(c->call);
    c->call = NULL;
    address_leave(h, c->address);
    heap_remove(&h->looks, &c->look);
    unlink_conn(c);
    if (!c->is_pending) { /* else when it is visited */
        c->next_pending = h->closed;
        h->closed = c;
    }
    listen_start(h); /* there is room again */
}

void http_free_closed(struct httpd *h)
{
    while (h->closed) {
        struct httpd_conn *c = h->closed;
        h->closed = c->next_pending;
        conn_release(h, c);
    }
}
