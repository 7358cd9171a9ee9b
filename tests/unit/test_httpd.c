/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_httpd.c -- the HTTP server alone, with a handler of a few lines.
 *
 * Server and clients are one thread: before each wait of the loop the clients take a
 * step with their non-blocking sockets.  So allocations can be counted and made to
 * fail: whichever fails, only that connection suffers.
 */
#include "../harness.h"
#include "base/attr.h"
#include "base/clock.h"
#include "faults.h"
#include "http/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG ((size_t)8 << 20) /* more than any socket takes */

struct call {
    struct httpd_conn *conn;
    struct httpd_answer answer;
    size_t got;
    bool big, later, stream;
    unsigned pieces;
    struct call *next;
};

struct client {
    int fd;
    const char *text;
    size_t len, sent, piece;
    char *in; /* heard; not allocated while faults are counted */
    size_t have, cap;
    bool over; /* the other side hung up */
    bool deaf; /* does not read */
};

static struct {
    struct httpd *h;
    int port;
    struct call *waiting; /* answered in the next round */
    unsigned calls;       /* alive */
    unsigned gone;        /* told that the other side went */
    char *big;
    struct client *clients[4];
    size_t count;
    bool (*done)(void);
    int64_t end_ms;
    struct client *chatty; /* speaks in every round */
    unsigned rounds;       /* since the handler was last told that it may hand on */
    unsigned rounds_most;
} w;

/* ---- The handler ---------------------------------------------------------------------- */

static void *on_begin(void *user, struct httpd_conn *conn, const struct head *head)
{
    struct call *c = calloc(1, sizeof(*c));
    (void)user;
    if (!c)
        return NULL;
    w.calls++;
    c->conn = conn;
    c->answer = (struct httpd_answer){.status = 200, .body = pawl_s("hello"), .type = "text/plain"};
    c->big = strstr(head->target.ptr, "big");
    c->later = strstr(head->target.ptr, "later");
    c->stream = strstr(head->target.ptr, "stream");
    if (c->big)
        c->answer.body = (pawl_str){w.big, BIG};
    if (strstr(head->target.ptr, "no")) {
        c->answer.status = 404;
        httpd_answer(conn, &c->answer);
    }
    return c;
}

static void on_body(void *call, pawl_str bytes)
{
    struct call *c = call;
    c->got += bytes.len;
}

static void on_ready(void *call)
{
    struct call *c = call;
    if (c->later) {
        c->next = w.waiting;
        w.waiting = c;
    } else if (c->stream) {
        httpd_stream(c->conn, &c->answer);
    } else {
        httpd_answer(c->conn, &c->answer);
    }
}

static void on_gone(void *call)
{
    (void)call;
    w.gone++;
}

static enum httpd_pull on_pull(void *call, struct buf *out)
{
    struct call *c = call;
    if (c->pieces == 3)
        return HTTPD_OVER;
    c->pieces++;
    buf_puts(out, "piece\n");
    return HTTPD_MORE;
}

static void on_finish(void *call)
{
    w.calls--;
    free(call);
}

static void on_refused(void *user, unsigned status)
{
    (void)user;
    (void)status;
}

static void step(struct client *c);

static void on_awake(void *user, int64_t now_ms)
{
    (void)user;
    if (++w.rounds > w.rounds_most)
        w.rounds_most = w.rounds;
    if (w.chatty)
        step(w.chatty);
    if (now_ms > w.end_ms) /* never asleep any more */
        httpd_end(w.h);
    while (w.waiting) {
        struct call *c = w.waiting;
        w.waiting = c->next;
        httpd_answer(c->conn, &c->answer);
    }
}

static void step(struct client *c)
{
    size_t n = c->len - c->sent;
    if (n && !c->over) {
        ssize_t sent = send(c->fd, c->text + c->sent, n < c->piece ? n : c->piece,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        c->sent += sent > 0 ? (size_t)sent : 0;
    }
    if (c->deaf || c->over)
        return;
    size_t room = c->cap - 1 - c->have;
    ssize_t got = recv(c->fd, c->in + c->have, room, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        c->over = true;
    c->have += got > 0 ? (size_t)got : 0;
    c->in[c->have] = 0;
}

static int64_t on_asleep(void *user, int64_t now_ms)
{
    (void)user;
    w.rounds = 0;
    for (size_t i = 0; i < w.count; i++)
        step(w.clients[i]);
    if (w.done() || now_ms > w.end_ms)
        httpd_end(w.h);
    return now_ms + 1;
}

static const struct httpd_handler handler = {on_begin,  on_body,    on_ready, on_gone,  on_pull,
                                             on_finish, on_refused, on_awake, on_asleep};

/* ---- Life ------------------------------------------------------------------------------- */

static int listener(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_that(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    assert_that(listen(fd, 100) == 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    w.port = ntohs(at.sin_port);
    return fd;
}

static bool serve(uint32_t connections, uint32_t per_address)
{
    pawl_error err;
    struct httpd_opts opts = {.listen_fd = listener(),
                              .handler = &handler,
                              .connections = connections,
                              .per_address = per_address};
    if (!w.big)
        w.big = __real_calloc(1, BIG);
    w.h = httpd_open(&opts, &err);
    return w.h;
}

static void join_in(struct client *c, const char *text, size_t piece, size_t cap)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *c = (struct client){.text = text, .len = strlen(text), .piece = piece, .cap = cap};
    c->in = __real_malloc(cap);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_that(c->fd >= 0 && connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    w.clients[w.count++] = c;
}

static void leave(void)
{
    for (size_t i = 0; i < w.count; i++) {
        close(w.clients[i]->fd);
        free(w.clients[i]->in);
    }
    w.count = 0;
}

static unsigned answers(const struct client *c)
{
    unsigned n = 0;
    for (const char *at = c->in; (at = strstr(at, "HTTP/1.1 ")); at++)
        n++;
    return n;
}

/* Until `done`, or a second has gone. */
static void run(bool (*done)(void), int64_t ms)
{
    w.done = done;
    w.end_ms = clock_mono_ms() + ms;
    httpd_run(w.h);
}

static struct client a, b;

#define ASK(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static const char many[] =
    ASK("/") ASK("/later") "POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde"
                           "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                           "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                           "POST /no HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde" ASK("/")
                               ASK("/stream");

static bool a_has_all(void)
{
    return a.over;
}

TEST(requests_of_all_kinds_on_one_connection)
{
    for (size_t piece = 1; piece < sizeof(many); piece += piece < 20 ? 1 : 37) {
        ck_assert(serve(10, 0));
        join_in(&a, many, piece, 1 << 16);
        run(a_has_all, 5000);
        ck_assert_uint_eq(answers(&a), 7);
        ck_assert(strstr(a.in, "6\r\npiece\n\r\n6\r\npiece\n\r\n6\r\npiece\n\r\n0\r\n\r\n"));
        leave();
        httpd_free(w.h);
        ck_assert_uint_eq(w.calls, 0);
    }
}

static bool b_is_served(void)
{
    return b.over || answers(&b);
}

static bool a_is_through(void)
{
    return a.over || answers(&a) == 7;
}

TEST(a_failed_allocation_costs_one_connection)
{
    unsigned faults = 0, served = 0;
    for (long n = 0; n < 200; n++) {
        bool more = fault_at(n);
        if (!more)
            break;
        bool up = serve(10, 5);
        if (up) {
            join_in(&a, many, 11, 1 << 16);
            run(a_is_through, 3000);
            assert_that(a_is_through()); /* not the harness's: that allocates */
            leave();
        }
        faults += fault_hit();
        if (up) {
            join_in(&b, ASK("/"), 1000, 1 << 12);
            run(b_is_served, 3000);
            ck_assert_msg(strstr(b.in, "hello"), "fault %ld: nobody is served any more", n);
            served++;
            leave();
            httpd_free(w.h);
        }
        ck_assert_uint_eq(w.calls, 0);
    }
    ck_assert_uint_ge(faults, 8);
    ck_assert_uint_ge(served, 5);
}

static bool b_is_served_and_a_stuck(void)
{
    return answers(&b);
}

TEST(who_does_not_read_holds_nobody_up)
{
    ck_assert(serve(10, 0));
    join_in(&a, ASK("/big") ASK("/big") ASK("/"), 1000, BIG * 2 + 4096);
    a.deaf = true;
    join_in(&b, ASK("/"), 1000, 4096);
    run(b_is_served_and_a_stuck, 3000);
    ck_assert_uint_eq(answers(&b), 1);
    leave();
    httpd_free(w.h);
    ck_assert_uint_eq(w.calls, 0);
}

static bool a_has_big(void)
{
    return a.over || (a.have > 2 * BIG && memcmp(a.in + a.have - 5, "hello", 5) == 0);
}

TEST(answers_larger_than_a_socket_come_whole)
{
    ck_assert(serve(10, 0));
    join_in(&a, ASK("/big") ASK("/big") ASK("/"), 1000, BIG * 2 + 4096);
    run(a_has_big, 10000);
    ck_assert_msg(!a.over && a_has_big(), "%zu bytes", a.have);
    leave();
    httpd_free(w.h);
}

static bool never(void)
{
    return false;
}

TEST(more_connections_than_allowed_wait)
{
    static struct client c;
    ck_assert(serve(2, 0));
    join_in(&a, "", 1, 4096);
    join_in(&b, "", 1, 4096);
    join_in(&c, ASK("/"), 1000, 4096);
    run(never, 100);
    ck_assert(!c.have && !c.over);
    close(a.fd);
    a.fd = -1;
    a.over = true;
    run(never, 100);
    ck_assert_uint_eq(answers(&c), 1);
    leave();
    httpd_free(w.h);
}

TEST(more_of_one_address_than_allowed_are_sent_away)
{
    ck_assert(serve(10, 1));
    join_in(&a, ASK("/"), 1000, 4096);
    run(never, 50);
    join_in(&b, ASK("/"), 1000, 4096);
    run(never, 50);
    ck_assert(answers(&a) == 1 && b.over && !b.have);
    leave();
    httpd_free(w.h);
}

/* What a handler keeps until it may sleep is kept for two rounds at most. */
TEST(events_that_never_stop_hold_nothing_back)
{
    static char endless[40 << 10];
    for (char *at = endless; at + sizeof(ASK("/")) < endless + sizeof(endless);)
        at = stpcpy(at, ASK("/"));
    ck_assert(serve(50, 0));
    join_in(&a, endless, sizeof(ASK("/")) - 1, 1 << 20);
    w.chatty = &a;
    w.rounds_most = 0;
    run(never, 200);
    w.chatty = NULL;
    ck_assert_uint_gt(answers(&a), 10);
    ck_assert_uint_eq(w.rounds_most, 2);
    leave();
    httpd_free(w.h);
}

TEST(the_other_side_goes_away_while_the_call_is_away)
{
    static const char *const texts[] = {
        ASK("/later"), ASK("/later") ASK("/later"), ASK("/big"), ASK("/stream"),
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\nab"};
    ck_assert(serve(50, 0));
    for (size_t i = 0; i < COUNT_OF(texts) * 20; i++) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        join_in(&a, texts[i % COUNT_OF(texts)], 1000, 1 << 16);
        a.deaf = i & 1;
        run(never, (int64_t)(i % 3));
        (void)setsockopt(a.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        leave();
    }
    run(never, 20);
    ck_assert_uint_eq(w.calls, 0);
    httpd_free(w.h);
}

#define OLD "HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"

/* A refusal is not the answer to the request before it. */
TEST(a_refusal_has_a_body_whatever_came_before)
{
    static const char *const texts[] = {"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n bad\r\n\r\n",
                                        "HEAD / " OLD " bad\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        ck_assert(serve(10, 0));
        join_in(&a, texts[i], 1000, 4096);
        run(a_has_all, 3000);
        const char *last = strstr(a.in, "HTTP/1.1 400 ");
        ck_assert(last && strstr(last, "Connection: close\r\n"));
        const char *length = strstr(last, "Content-Length: "), *body = strstr(last, "\r\n\r\n");
        ck_assert(length && body);
        ck_assert_uint_eq(strlen(body + 4), strtoul(length + 16, NULL, 10));
        ck_assert_uint_gt(strlen(body + 4), 0);
        leave();
        httpd_free(w.h);
    }
}

/* It has neither a length nor chunks: only its end says where it ends. */
TEST(a_stream_to_an_old_client_says_that_it_closes)
{
    ck_assert(serve(10, 0));
    join_in(&a, "GET /stream " OLD, 1000, 4096);
    run(a_has_all, 3000);
    ck_assert(a.over && strstr(a.in, "Connection: close\r\n"));
    ck_assert(!strstr(a.in, "keep-alive") && !strstr(a.in, "chunked"));
    ck_assert(strstr(a.in, "\r\n\r\npiece\npiece\npiece\n"));
    leave();
    httpd_free(w.h);
}

#define STALL ((size_t)1 << 20)

static uint64_t body_left;

static bool a_is_sent(void)
{
    return w.h->conns && w.h->conns->state == CONN_BODY && w.h->conns->left == body_left;
}

/* What came gives time for what is to come, and never more than half a minute of silence. */
TEST(a_body_that_stalls_is_cut_off)
{
    char *text = __real_malloc(STALL + 100);
    int n = snprintf(text, 100, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", STALL);
    memset(text + n, 'x', STALL - 1);
    text[(size_t)n + STALL - 1] = 0;
    ck_assert(serve(10, 0));
    join_in(&a, text, STALL, 4096);
    body_left = 1;
    run(a_is_sent, 5000);
    ck_assert(a_is_sent());
    int64_t now = w.h->now_ms;
    ck_assert_int_le(w.h->conns->deadline_ms, now + 30000);
    ck_assert_int_gt(w.h->conns->deadline_ms, now + 20000);
    ck_assert_int_le(w.h->conns->look.key, w.h->conns->deadline_ms);
    leave();
    httpd_free(w.h);
    ck_assert_uint_eq(w.calls, 0);
    free(text);
}

/* One that drips gets no more than it brings, a second for each KiB; nor when it is late. */
TEST(a_body_that_drips_earns_no_time)
{
    ck_assert(serve(10, 0));
    join_in(&a, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n01234567890", 1000, 4096);
    a.len -= 10;
    body_left = 11;
    run(a_is_sent, 5000);
    ck_assert(a_is_sent());
    int64_t deadline = w.h->conns->deadline_ms;
    run(never, 20);
    a.len += 5;
    body_left = 6;
    run(a_is_sent, 5000);
    ck_assert(a_is_sent());
    ck_assert_int_le(w.h->conns->deadline_ms, deadline + 5);
    w.h->conns->deadline_ms = w.h->now_ms - 1; /* and then a byte comes before it is looked at */
    a.len += 1;
    run(a_has_all, 3000);
    ck_assert(a.over && !a.have);
    leave();
    httpd_free(w.h);
}
