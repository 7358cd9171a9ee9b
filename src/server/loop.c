/* SPDX-License-Identifier: MIT */
/*
 * server/loop.c -- one thread, every connection.
 *
 * libmicrohttpd in external epoll mode: we wait on its epoll descriptor and on
 * one eventfd, then let it run.  (Its own threads lose the wake-ups of resumed
 * connections under load.)  A call whose answer is not there
 * yet suspends its connection; only this thread resumes one, so a reply that
 * comes before the suspension cannot be lost.
 *
 * The end of the other side: libmicrohttpd takes a short read for an empty socket
 * and misses an end that came with the data, so such a connection would stay for
 * a minute.  We watch for ends ourselves and make the kernel say it once more.
 *
 * Time: a connection has until `deadline_ms` to get its request through, so one
 * that drips bytes is cut off and costs a file descriptor meanwhile, no more.
 * Deadlines are looked at lazily: a heap node may be early, never late.
 *
 * Called by server.c; handlers call call_away(), call_park() and call_done().
 */
#include "base/clock.h"
#include "server/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MS    10000 /* the first request's head */
#define IDLE_S     60    /* nothing at all on a connection */
#define REST_MS    75000 /* the next request's head, however slowly it comes */
#define BODY_MS    30000 /* and a second for each KiB */
#define POOL_BYTES (20 * 1024)
#define SWALLOW    (64 * 1024) /* a refused body is read to its end up to this size */

/* ---- Coming and going ----------------------------------------------------------- */

void http_wake(pawl_server *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake_fd, &one, sizeof(one));
    (void)n; /* full means it is awake already */
}

void call_done(struct call *c)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->lock);
    bool first = !s->back;
    c->next = NULL;
    *s->back_end = c;
    s->back_end = &c->next;
    c->is_back = true;
    pthread_mutex_unlock(&s->lock);
    if (first) /* one write a commit: the rest of its replies find the list filled */
        http_wake(s);
}

void call_away(struct call *c)
{
    assert_that(c->state == CALL_BODY);
    c->state = CALL_AWAY;
    c->srv->away++;
}

static void park(struct call *c, int64_t until_mono_ms)
{
    c->parked = true;
    c->srv->parked++;
    c->until.key = until_mono_ms;
    c->until.tie = ++c->srv->tie;
    assert_that(heap_push(&c->srv->times, &c->until));
}

void call_park(struct call *c, int64_t until_mono_ms)
{
    if (c->state == CALL_BODY)
        call_away(c);
    park(c, until_mono_ms);
}

static void unpark(struct call *c)
{
    if (!c->parked)
        return;
    c->parked = false;
    c->srv->parked--;
    heap_remove(&c->srv->times, &c->until);
}

void call_linger(struct call *c)
{
    call_away(c);
    c->lingers = true;
    c->srv->lingering++;
}

static void come_back(struct call *c)
{
    unpark(c);
    if (c->lingers)
        c->srv->lingering--;
    c->lingers = false;
    if (c->on_back) {
        void (*on_back)(struct call *) = c->on_back;
        c->on_back = NULL;
        on_back(c);
        if (!c->answer.status && !c->stream) /* away again */
            return;
    }
    c->state = CALL_BACK;
    c->srv->away--;
    MHD_resume_connection(c->conn);
}

void call_unpark(struct call *c)
{
    wait_leave(c);
    come_back(c);
}

static void take_back(pawl_server *s)
{
    pthread_mutex_lock(&s->lock);
    struct call *c = s->back;
    s->back = NULL;
    s->back_end = &s->back;
    for (struct call *at = c; at; at = at->next)
        at->is_back = false;
    pthread_mutex_unlock(&s->lock);
    while (c) {
        struct call *next = c->next;
        come_back(c);
        c = next;
    }
}

/* ---- Answers ---------------------------------------------------------------------- */

static void add_headers(struct call *c, struct MHD_Response *r)
{
    char number[16];
    const struct answer *a = &c->answer;
    (void)MHD_add_response_header(r, "Content-Type", a->type ? a->type : "application/json");
    (void)MHD_add_response_header(r, "Cache-Control", "no-store");
    (void)MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (a->allow)
        (void)MHD_add_response_header(r, "Allow", a->allow);
    if (a->status == 401)
        (void)MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (a->retry_after) {
        (void)snprintf(number, sizeof(number), "%u", a->retry_after);
        (void)MHD_add_response_header(r, "Retry-After", number);
    }
    if (a->type && strncmp(a->type, "text/html", 9) == 0)
        (void)MHD_add_response_header(r, "Content-Security-Policy",
                                      "default-src 'none'; style-src 'self'; script-src 'self'; "
                                      "connect-src 'self'; frame-ancestors 'none'");
    if (a->close || atomic_load(&c->srv->draining))
        (void)MHD_add_response_header(r, "Connection", "close");
}

static enum MHD_Result send_answer(struct call *c)
{
    pawl_server *s = c->srv;
    struct MHD_Response *r;
    if (c->stream && !c->answer.status) {
        r = streams_respond(c);
        c->answer.status = 200;
        c->answer.type = "text/event-stream";
    } else {
        assert_that(c->answer.status);
        /* its bytes live until NOTIFY_COMPLETED; libmicrohttpd does not write to them */
        union {
            const char *from;
            void *to;
        } bytes = {.from = c->answer.body.ptr};
        r = MHD_create_response_from_buffer(c->answer.body.len, bytes.to, MHD_RESPMEM_PERSISTENT);
    }
    if (!r)
        return MHD_NO;
    add_headers(c, r);
    unsigned kind = c->answer.status / 100;
    atomic_fetch_add_explicit(&s->n_status[kind < 6 ? kind : 0], 1, memory_order_relaxed);
    enum MHD_Result rc = MHD_queue_response(c->conn, c->answer.status, r);
    MHD_destroy_response(r);
    c->state = CALL_SENT;
    return rc;
}

/* ---- A request, step by step --------------------------------------------------------- */

/* As announced; 0: not, or none. */
static size_t body_length(struct call *c)
{
    const char *length = MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, "Content-Length");
    return !length ? 0 : strlen(length) > 18 ? SIZE_MAX : strtoull(length, NULL, 10);
}

static void too_large(struct call *c)
{
    answer_error(c, 413, "too_large",
                 "the request is over the limit of %zu bytes; raise it with --max-body",
                 c->srv->opts.max_body);
    c->answer.close = true;
}

static void set_deadline(struct call *c, int64_t in_ms)
{
    if (c->peer)
        c->peer->deadline_ms = in_ms < 0 ? INT64_MAX : clock_mono_ms() + in_ms;
}

/* The head is there: everything that can be refused without the body is. */
static enum MHD_Result take_head(struct call *c, struct MHD_Connection *conn, const char *method)
{
    c->conn = conn;
    c->method = pawl_mem_dup(c->mem, pawl_s(method)).ptr;
    c->state = CALL_BODY;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    c->peer = info ? info->socket_context : NULL;
    set_deadline(c, BODY_MS);
    atomic_fetch_add_explicit(&c->srv->n_requests, 1, memory_order_relaxed);
    bool ok = route_find(c); /* first, so that refusals have the shape of the family */
    if (!guard_check(c))
        ok = false;
    if (ok && !call_parse_query(c))
        ok = false;
    if (ok && body_length(c) > c->srv->opts.max_body) {
        too_large(c);
        ok = false;
    }
    if (ok || (!c->answer.close && body_length(c) <= SWALLOW))
        return MHD_YES; /* a refusal goes out when the body is read: the connection stays */
    c->answer.close = true;
    set_deadline(c, -1);
    return send_answer(c);
}

/* False: too much of a body that was refused; hang up. */
static bool take_body(struct call *c, const char *data, size_t n)
{
    if (c->answer.status) { /* refused: read on, keep nothing */
        c->swallowed += n;
        return c->swallowed < SWALLOW + c->srv->opts.max_body;
    }
    if (c->body.len + n > c->srv->opts.max_body) {
        buf_reset(&c->body);
        too_large(c);
        return true;
    }
    if (c->peer)
        c->peer->deadline_ms += (int64_t)n * 1000 / 1024;
    buf_put(&c->body, data, n);
    if (c->body.failed)
        answer_error(c, 503, "no_memory", "out of memory");
    return true;
}

static void dispatch(struct call *c)
{
    set_deadline(c, -1);
    if (c->answer.status)
        return;
    if (atomic_load(&c->srv->draining) && c->route->scope != SCOPE_PUBLIC) {
        answer_error(c, 503, "shutdown", "the server is stopping; try again");
        c->answer.retry_after = 1;
        return;
    }
    if (c->route->body != BODY_NONE && !call_parse_body(c))
        return;
    if (c->route->where == ON_READER) {
        call_away(c);
        reader_post(c);
    } else {
        c->route->handle(c);
    }
}

static enum MHD_Result access_handler(void *cls, struct MHD_Connection *conn, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **con_cls)
{
    struct call *c = *con_cls;
    (void)cls;
    (void)url;
    (void)version;
    if (!c)
        return MHD_NO; /* out of memory: hang up */
    switch (c->state) {
    case CALL_HEAD:
        return take_head(c, conn, method);
    case CALL_BODY:
        if (*upload_size) {
            bool go_on = take_body(c, upload, *upload_size);
            *upload_size = 0;
            return go_on ? MHD_YES : MHD_NO;
        }
        dispatch(c);
        if (c->state == CALL_AWAY) {
            MHD_suspend_connection(conn);
            return MHD_YES;
        }
        return send_answer(c);
    case CALL_BACK:
        return send_answer(c);
    case CALL_AWAY:
    case CALL_SENT:
        break;
    }
    return MHD_YES;
}

/* ---- What libmicrohttpd tells us ------------------------------------------------------- */

static int fd_of(struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static void watch_end(struct peer *p, int how)
{
    struct epoll_event end = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = p};
    (void)epoll_ctl(p->srv->ends_fd, how, fd_of(p->conn), &end); /* goes when it is closed */
}

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *conn)
{
    (void)conn;
    return call_create(cls, uri);
}

static void on_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
                         enum MHD_RequestTerminationCode why)
{
    struct call *c = *con_cls;
    (void)cls;
    (void)conn;
    (void)why;
    if (!c)
        return;
    set_deadline(c, REST_MS);
    if (c->peer && c->peer->half_closed) { /* whatever else it sent is read from now on */
        c->peer->half_closed = false;
        watch_end(c->peer, EPOLL_CTL_MOD);
    }
    if (c->stream)
        streams_leave(c);
    call_destroy(c);
    *con_cls = NULL;
}

static void peer_watch(struct peer *p)
{
    p->look.key = p->deadline_ms;
    p->look.tie = ++p->srv->tie;
    assert_that(heap_push(&p->srv->peers, &p->look));
}

static void on_connection(void *cls, struct MHD_Connection *conn, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    pawl_server *s = cls;
    struct peer *p = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        p = calloc(1, sizeof(*p));
        *context = p;
        if (!p)
            return;
        *p = (struct peer){.srv = s, .conn = conn, .deadline_ms = clock_mono_ms() + HEAD_MS};
        peer_watch(p);
        s->peer_count++;
        watch_end(p, EPOLL_CTL_ADD);
    } else if (p) {
        heap_remove(&s->peers, &p->look);
        s->peer_count--;
        free(p);
        *context = NULL;
    }
}

/* Escapes are undone after routing, not before. */
static size_t no_unescape(void *cls, struct MHD_Connection *conn, char *text)
{
    (void)cls;
    (void)conn;
    return strlen(text);
}

static void on_log(void *cls, const char *format, va_list args)
{
    pawl_server *s = cls;
    char text[300];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)vsnprintf(text, sizeof(text), format, args);
#pragma GCC diagnostic pop
    text[strcspn(text, "\r\n")] = 0;
    log_debug(&s->log, "http", "libmicrohttpd", "text=\"%s\"", text);
}

/* ---- The loop ---------------------------------------------------------------------------- */

static void cut_off(pawl_server *s, int64_t now)
{
    struct heap_node *top;
    while ((top = heap_top(&s->peers)) && top->key <= now) {
        struct peer *p = CONTAINER_OF(top, struct peer, look);
        heap_remove(&s->peers, top);
        if (p->deadline_ms <= now) {
            int fd = fd_of(p->conn);
            if (fd >= 0)
                (void)shutdown(fd, SHUT_RDWR);
            p->deadline_ms = now + HEAD_MS; /* it is told that the other side hung up */
        }
        p->look.key = p->deadline_ms < now + REST_MS ? p->deadline_ms : now + REST_MS;
        p->look.tie = ++s->tie;
        assert_that(heap_push(&s->peers, &p->look));
    }
}

/* After libmicrohttpd ran.  A shutdown of our side of the reading makes a new event, and what
 * was sent can still be read.  Twice: the first may fall together with that of the data. */
static void note_ends(pawl_server *s)
{
    struct epoll_event ends[64];
    int n = epoll_wait(s->ends_fd, ends, COUNT_OF(ends), 0);
    for (int i = 0; i < n; i++) {
        struct peer *p = ends[i].data.ptr;
        (void)shutdown(fd_of(p->conn), SHUT_RD);
        if (!p->half_closed)
            watch_end(p, EPOLL_CTL_MOD);
        p->half_closed = true;
    }
}

static void end_polls(pawl_server *s, int64_t now)
{
    struct heap_node *top;
    while ((top = heap_top(&s->times)) && top->key <= now)
        call_unpark(CONTAINER_OF(top, struct call, until));
}

static int sleep_ms(pawl_server *s, int64_t now, int64_t streams_at)
{
    MHD_UNSIGNED_LONG_LONG own = 0;
    int64_t at = streams_at;
    struct heap_node *top = heap_top(&s->peers);
    if (top && top->key < at)
        at = top->key;
    top = heap_top(&s->times);
    if (top && top->key < at)
        at = top->key;
    if (MHD_get_timeout(s->daemon, &own) == MHD_YES && now + (int64_t)own < at)
        at = now + (int64_t)own;
    if (at == INT64_MAX)
        return -1;
    int64_t left = at - now;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* While draining: the last answer is on its way when nothing is away but parked or waiting. */
static void look_for_quiet(pawl_server *s)
{
    if (!atomic_load(&s->draining))
        return;
    streams_end(s->streams);
    end_polls(s, INT64_MAX);
    if (s->away > s->parked + s->lingering)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_quiet = !s->back;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
}

static void *loop_thread(void *arg)
{
    pawl_server *s = arg;
    bool quiesced = false;
    while (!atomic_load(&s->stop)) {
        int64_t now = clock_mono_ms(), streams_at = streams_tick(s->streams, now);
        struct pollfd fds[3] = {
            {.fd = s->poll_fd, .events = POLLIN},
            {.fd = s->wake_fd, .events = POLLIN},
            {.fd = s->ends_fd, .events = POLLIN}
        };
        if (poll(fds, 3, sleep_ms(s, now, streams_at)) < 0 && errno != EINTR)
            log_error(&s->log, "http", "cannot wait", "why=\"%s\"", strerror(errno));
        if (fds[1].revents) {
            uint64_t count;
            ssize_t n = read(s->wake_fd, &count, sizeof(count));
            (void)n; /* only empties it */
        }
        now = clock_mono_ms();
        take_back(s);
        end_polls(s, now);
        cut_off(s, now);
        if (atomic_load(&s->draining) && !quiesced) {
            quiesced = true;
            int fd = MHD_quiesce_daemon(s->daemon);
            if (fd >= 0)
                close(fd);
        }
        look_for_quiet(s);
        pawl_client_hold(); /* requests that came together go together */
        (void)MHD_run(s->daemon);
        pawl_client_release();
        if (fds[2].revents)
            note_ends(s);
    }
    return NULL;
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

static char *read_pem(pawl_server *s, const char *path, pawl_error *reterr)
{
    FILE *f = path ? fopen(path, "re") : NULL;
    char *text = pawl_mem_alloc(s->mem, 65536);
    size_t n = f ? fread(text, 1, 65535, f) : 0;
    if (f)
        fclose(f);
    if (n)
        return text;
    *reterr = (pawl_error){.status = PAWL_INVALID};
    (void)snprintf(reterr->text, sizeof(reterr->text),
                   "cannot read '%s'; TLS needs --tls-cert and --tls-key", path ? path : "");
    return NULL;
}

bool http_start(pawl_server *s, pawl_error *reterr)
{
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_END, 0, NULL},
        {MHD_OPTION_END, 0, NULL},
        {MHD_OPTION_END, 0, NULL}
    };
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (s->has_tls) {
        flags |= MHD_USE_TLS;
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
                                         read_pem(s, s->opts.tls_cert, reterr)};
        tls[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0,
                                         read_pem(s, s->opts.tls_key, reterr)};
        if (!tls[0].ptr_value || !tls[1].ptr_value)
            return false;
    }
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->ends_fd = epoll_create1(EPOLL_CLOEXEC);
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, access_handler, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
        MHD_OPTION_LISTEN_SOCKET, s->listen_fd, MHD_OPTION_CONNECTION_LIMIT, s->opts.connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->per_address, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        s, MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, s,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (info && s->wake_fd >= 0 && s->ends_fd >= 0) {
        s->poll_fd = info->epoll_fd;
        s->has_thread = pthread_create(&s->thread, NULL, loop_thread, s) == 0;
    }
    if (s->has_thread)
        return true;
    *reterr = (pawl_error){.status = PAWL_UNAVAILABLE};
    (void)snprintf(reterr->text, sizeof(reterr->text), "the HTTP server cannot start%s",
                   s->has_tls ? "; are certificate and key in order?" : "");
    return false;
}

void http_stop(pawl_server *s)
{
    atomic_store(&s->stop, true);
    if (s->has_thread) {
        http_wake(s);
        pthread_join(s->thread, NULL);
        take_back(s); /* answers of a runtime that was closed after the loop */
        (void)MHD_run(s->daemon);
    }
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    while (s->spare) {
        struct call *next = s->spare->next;
        pawl_mem_free(s->spare->mem);
        buf_deinit(&s->spare->body);
        free(s->spare);
        s->spare = next;
    }
    heap_deinit(&s->peers);
    heap_deinit(&s->times);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    if (s->ends_fd >= 0)
        close(s->ends_fd);
}
