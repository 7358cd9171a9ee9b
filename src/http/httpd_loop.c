/* SPDX-License-Identifier: MIT */
/*
 * http/httpd_loop.c -- one epoll, every connection.
 *
 * Level-triggered, so that whatever is left for the next round is told again.  One
 * epoll_wait a round; a connection costs no other system call than its recv and its
 * send: it stays registered for reading while its call is away, and only when something
 * arrives meanwhile is it taken out.
 *
 * Time: a connection has until `deadline_ms` for what it is doing, so one that drips
 * bytes is cut off.  Deadlines are looked at lazily: a heap node may be early, never
 * late, and nothing is moved when a request comes.
 *
 * Called by src/server, whose thread it is; the rest of this room for what a connection
 * is to wait for.
 */
#include "http/http_conn.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS     256
#define HANDSHAKES 4 /* steps of them in a round: each may cost a millisecond */
#define OUT_MAX    ((size_t)4 << 20)

/* ---- Connections ------------------------------------------------------------------ */

void http_conn_watch(struct httpd_conn *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (c->watched == events || c->fd < 0)
        return;
    c->watched = events;
    (void)epoll_ctl(c->h->poll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

void http_conn_deadline(struct httpd_conn *c, int64_t in_ms)
{
    c->deadline_ms = in_ms < 0 ? INT64_MAX : c->h->now_ms + in_ms;
    if (c->deadline_ms >= c->look.key)
        return; /* the look is early enough */
    heap_remove(&c->h->looks, &c->look);
    c->look.key = c->deadline_ms;
    (void)heap_push(&c->h->looks, &c->look); /* there was room for it a moment ago */
}

void http_conn_pend(struct httpd_conn *c)
{
    if (c->is_pending || c->state == CONN_CLOSED)
        return;
    c->is_pending = true;
    c->next_pending = NULL;
    *c->h->pending_end = c;
    c->h->pending_end = &c->next_pending;
}

/* ---- Time --------------------------------------------------------------------------- */

int64_t http_whole_second(int64_t ms)
{
    return ms - ms % 1000;
}

static void look_at_clock(struct httpd *h)
{
    h->now_ms = clock_mono_ms();
    int64_t wall = clock_wall_ms() / 1000;
    if (wall == h->date_s)
        return;
    time_t at = (time_t)wall;
    struct tm tm;
    h->date_s = wall;
    (void)strftime(h->date, sizeof(h->date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
}

static void cut_off(struct httpd *h)
{
    struct heap_node *top;
    while ((top = heap_top(&h->looks)) && top->key <= h->now_ms) {
        struct httpd_conn *c = CONTAINER_OF(top, struct httpd_conn, look);
        if (c->deadline_ms <= h->now_ms) {
            http_conn_close(c);
            continue;
        }
        heap_remove(&h->looks, top);
        int64_t far = http_whole_second(h->now_ms + REST_MS);
        top->key = c->deadline_ms < far ? c->deadline_ms : far;
        top->tie = ++h->tie;
        (void)heap_push(&h->looks, top); /* there was room for it a moment ago */
    }
}

static int sleep_ms(struct httpd *h)
{
    int64_t at = h->handler->asleep(h->user, h->now_ms);
    look_at_clock(h); /* that may have taken time */
    struct heap_node *top = heap_top(&h->looks);
    if (h->pending ||
        atomic_load(&h->end)) /* a thread that stands in may have been told of the end */
        return 0;
    if (top && top->key < at)
        at = top->key;
    if (h->listen_again_ms < at)
        at = h->listen_again_ms;
    if (at == INT64_MAX)
        return -1;
    int64_t left = at - h->now_ms;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* ---- The round ------------------------------------------------------------------------ */

static void shake(struct httpd_conn *c)
{
    uint32_t events = EPOLLIN;
    if (c->h->handshakes >= HANDSHAKES)
        return; /* it will be told again */
    c->h->handshakes++;
    int rc = http_tls_shake(c->tls, &events);
    if (rc < 0) {
        http_conn_close(c);
        return;
    }
    http_conn_watch(c, rc ? EPOLLIN : events);
    if (rc) {
        c->state = CONN_HEAD;
        http_conn_pend(c); /* the request may have come along */
    }
}

/* While its call is away: the next request, which has to wait, or the end of the other side. */
static void busy_event(struct httpd_conn *c, uint32_t events)
{
    char byte;
    bool ends = events & EPOLLRDHUP;
    if (events & (EPOLLERR | EPOLLHUP)) {
        http_conn_close(c);
        if (c->state == CONN_LOST)
            c->h->handler->gone(c->call, true);
        return;
    }
    if (!ends)
        ends = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    http_conn_watch(c, ends ? 0 : EPOLLRDHUP); /* else the bytes are told of for ever */
    if (ends)
        c->h->handler->gone(c->call, false);
}

static void on_event(struct httpd_conn *c, uint32_t events)
{
    bool gone = events & (EPOLLERR | EPOLLHUP);
    switch ((enum conn_state)c->state) {
    case CONN_HANDSHAKE:
        shake(c);
        break;
    case CONN_HEAD:
    case CONN_BODY:
    case CONN_LINGER:
        http_conn_readable(c);
        break;
    case CONN_BUSY:
        busy_event(c, events);
        break;
    case CONN_SENDING:
    case CONN_STREAM:
        if (gone)
            http_conn_close(c);
        else if (events & EPOLLOUT)
            http_conn_writable(c);
        else
            http_conn_readable(c);
        break;
    case CONN_LOST:
    case CONN_CLOSED:
        break;
    }
}

/* Those that had more than their share. */
static void visit_pending(struct httpd *h)
{
    struct httpd_conn *c = h->pending;
    h->pending = NULL;
    h->pending_end = &h->pending;
    while (c) {
        struct httpd_conn *next = c->next_pending;
        c->is_pending = false;
        if (c->state == CONN_CLOSED) {
            c->next_pending = h->closed;
            h->closed = c;
        } else {
            http_conn_resume(c);
        }
        c = next;
    }
}

/* Requests come in swarms, because answers do: those of a commit go out together.  So after a
 * round that had some there is one look more before the handler is told that it is over
 * and hands them on, in one piece.  One: a stream of events must not keep them for ever. */
static int next_events(struct httpd *h, struct epoll_event *events)
{
    int n = h->looks_again ? epoll_wait(h->poll_fd, events, EVENTS, 0) : 0;
    bool again = n == 0;
    if (again)
        n = epoll_wait(h->poll_fd, events, EVENTS, sleep_ms(h));
    h->looks_again = again && n > 0;
    return n;
}

static void change_trust(struct httpd *h)
{
    struct http_trust *t = atomic_exchange(&h->next_trust, NULL);
    if (!t)
        return;
    http_trust_leave(h->trust);
    h->trust = t;
}

void httpd_round(struct httpd *h)
{
    struct epoll_event events[EVENTS];
    int n = next_events(h, events);
    bool accepts = false;
    if (n < 0 && errno != EINTR)
        log_error(&h->opts.log, "http", "cannot wait", "why=\"%s\"", strerror(errno));
    look_at_clock(h);
    h->handshakes = 0;
    h->handler->awake(h->user, h->now_ms);
    for (int i = 0; i < n; i++) {
        if (!events[i].data.ptr)
            continue; /* awake, that is all */
        if (events[i].data.ptr == h)
            accepts = true;
        else
            on_event(events[i].data.ptr, events[i].events);
    }
    visit_pending(h);
    if (atomic_load_explicit(&h->next_trust, memory_order_relaxed))
        change_trust(h);
    if (accepts)
        listen_accept(h); /* last: a closed connection of this round made room */
    cut_off(h);
    slow_cut(h);
    if (h->now_ms >= h->listen_again_ms)
        listen_start(h);
    http_free_closed(h);
}

bool httpd_reload_tls(struct httpd *h, pawl_error *reterr)
{
    if (!h->opts.tls_cert)
        return true;
    struct http_trust *t = http_trust_open(h->opts.tls_cert, h->opts.tls_key, &h->opts.log, reterr);
    if (!t)
        return false;
    http_trust_leave(atomic_exchange(&h->next_trust, t)); /* one that was not used yet */
    httpd_wake(h);
    return true;
}

void httpd_run(struct httpd *h)
{
    while (!atomic_exchange(&h->end, false))
        httpd_round(h);
}

void httpd_wake(struct httpd *h)
{
    uint64_t one = 1;
    ssize_t n = write(h->wake_fd, &one, sizeof(one));
    (void)n; /* full means it is awake already */
}

void httpd_end(struct httpd *h)
{
    atomic_store(&h->end, true);
    httpd_wake(h);
}

void httpd_wind_up(struct httpd *h)
{
    h->winds_up = true;
}

/* ---- Life -------------------------------------------------------------------------------- */

static bool open_files(struct httpd *h)
{
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET}; /* told once: never read */
    h->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return h->poll_fd >= 0 && h->wake_fd >= 0 &&
           epoll_ctl(h->poll_fd, EPOLL_CTL_ADD, h->wake_fd, &wake) == 0;
}

struct httpd *httpd_open(const struct httpd_opts *opts, pawl_error *reterr)
{
    struct httpd *h = calloc(1, sizeof(*h));
    if (!h)
        goto no_memory;
    h->opts = *opts;
    h->handler = opts->handler;
    h->user = opts->user;
    h->poll_fd = h->wake_fd = -1;
    h->listen_fd = opts->listen_fd;
    h->listen_again_ms = INT64_MAX;
    h->pending_end = &h->pending;
    heap_init(&h->looks);
    map_init(&h->addresses);
    buf_init(&h->out, OUT_MAX);
    buf_init(&h->pull, OUT_MAX);
    h->scratch = malloc(SCRATCH + 1);
    look_at_clock(h);
    if (opts->tls_cert || opts->tls_key) {
        h->trust = http_trust_open(opts->tls_cert, opts->tls_key, &opts->log, reterr);
        if (!h->trust) {
            httpd_free(h);
            return NULL;
        }
    }
    if (!h->scratch || !open_files(h))
        goto no_memory;
    listen_start(h);
    return h;
no_memory:
    *reterr = (pawl_error){.status = PAWL_UNAVAILABLE,
                           .text = "the HTTP server cannot start: no memory, or no descriptors"};
    httpd_free(h);
    return NULL;
}

void httpd_free(struct httpd *h)
{
    if (!h)
        return;
    while (h->conns) {
        assert_that(h->conns->state != CONN_BUSY && h->conns->state != CONN_LOST);
        http_conn_close(h->conns);
    }
    visit_pending(h);
    http_free_closed(h);
    while (h->spare) {
        struct httpd_conn *c = h->spare;
        h->spare = c->next_pending;
        free(c);
    }
    http_trust_leave(h->trust);
    http_trust_leave(atomic_load(&h->next_trust));
    heap_deinit(&h->looks);
    map_deinit(&h->addresses);
    buf_deinit(&h->out);
    buf_deinit(&h->pull);
    free(h->scratch);
    if (h->listen_fd >= 0)
        (void)close(h->listen_fd);
    if (h->poll_fd >= 0)
        (void)close(h->poll_fd);
    if (h->wake_fd >= 0)
        (void)close(h->wake_fd);
    free(h);
}
