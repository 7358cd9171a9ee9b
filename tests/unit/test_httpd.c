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
#include "http/http_conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG   ((size_t)8 << 20) /* more than any socket takes */

#define RESTS 10

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
    bool holds;           /* they are not */
    unsigned calls;       /* alive */
    unsigned gone;        /* told that the other side went */
    unsigned lost;        /* of these: for good */
    char *big;
    struct client *clients[4];
    size_t count;
    bool (*done)(void);
    int64_t end_ms;
    unsigned rests;        /* after that time: what a busy machine had no turn for is done now */
    struct client *chatty; /* speaks in every round */
    unsigned rounds;       /* since the handler was last told that it may hand on */
    unsigned rounds_most;
} w;

/* ---- The system ------------------------------------------------------------------------ */

static bool full;        /* every second send finds no room */
static bool no_sessions; /* of TLS */

extern ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
extern ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
extern int __real_gnutls_init(void *session, unsigned flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_gnutls_init(void *session, unsigned flags);

static bool has_no_room(int flags)
{
    static unsigned calls;
    if (!full || flags & MSG_DONTWAIT || calls++ % 2) /* clients say DONTWAIT */
        return false;
    errno = EAGAIN;
    return true;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
    return has_no_room(flags) ? -1 : __real_send(fd, bytes, n, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return has_no_room(flags) ? -1 : __real_sendmsg(fd, message, flags);
}

static struct http_tls *session; /* that is none */
static unsigned freed;           /* how often */

extern void __real_http_tls_free(struct http_tls *s);
void __wrap_http_tls_free(struct http_tls *s);

void __wrap_http_tls_free(struct http_tls *s)
{
    if (s && s == session)
        freed++;
    else
        __real_http_tls_free(s);
}

int __wrap_gnutls_init(void *at, unsigned flags)
{
    return no_sessions ? -25 : __real_gnutls_init(at, flags);
}

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
        c->answer.body = (pawl_str){w.big, c->answer.holds = BIG};
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

static void on_gone(void *call, bool lost)
{
    (void)call;
    w.gone++;
    w.lost += lost;
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
    if (now_ms > w.end_ms + 1000) /* never asleep any more */
        httpd_end(w.h);
    while (w.waiting && !w.holds) {
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
    if (w.done() || (now_ms > w.end_ms && ++w.rests > RESTS))
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

static size_t answer_bytes; /* of the next server */

static bool serve(uint32_t connections, uint32_t per_address)
{
    pawl_error err;
    struct httpd_opts opts = {.listen_fd = listener(),
                              .answer_bytes = answer_bytes,
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

/* Until `done`, or that time has gone and nothing was left to do some times. */
static void run(bool (*done)(void), int64_t ms)
{
    w.done = done;
    w.end_ms = clock_mono_ms() + ms;
    w.rests = 0;
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

static bool a_has_one_big(void)
{
    const char *body = strstr(a.in, "\r\n\r\n");
    return a.over || (body && a.have >= BIG + (size_t)(body + 4 - a.in));
}

static bool never(void)
{
    return false;
}

static bool both_are_held(void)
{
    return w.h->unsent >= 2 * BIG && w.calls == 2;
}

/* The oldest of those who do not read goes when all of them together hold too much. */
TEST(answers_nobody_reads_have_a_budget)
{
    static struct client c;
    answer_bytes = 2 * BIG + 4096;
    ck_assert(serve(10, 0));
    answer_bytes = 0;
    join_in(&a, ASK("/big"), 1000, 4096);
    a.deaf = true;
    run(never, 30);
    join_in(&b, ASK("/big"), 1000, 4096);
    b.deaf = true;
    run(both_are_held, 3000);
    ck_assert(both_are_held());
    struct httpd_conn *oldest = w.h->slow_first, *next = w.h->slow_last;
    ck_assert(oldest != next);
    join_in(&c, ASK("/big"), 1000, 4096);
    c.deaf = true;
    run(never, 50);
    ck_assert_uint_eq(w.calls, 2);
    ck_assert_ptr_eq(w.h->slow_first, next);
    ck_assert_uint_le(w.h->unsent, w.h->opts.answer_bytes);
    leave();
    run(never, 20);
    ck_assert_uint_eq(w.h->unsent, 0);
    httpd_free(w.h);
    ck_assert_uint_eq(w.calls, 0);
}

/* Who takes some of its answer earns time by what it takes, up to a minute. */
TEST(a_slow_reader_has_the_time_it_earns)
{
    ck_assert(serve(10, 0));
    join_in(&a, ASK("/big"), 1000, BIG + 4096);
    a.deaf = true;
    run(never, 30);
    struct httpd_conn *c = w.h->slow_first;
    ck_assert(c);
    ck_assert_int_le(c->deadline_ms, w.h->now_ms + SEND_MS);
    c->deadline_ms = w.h->now_ms + 100; /* almost over */
    slow_progress(c, 4096);
    ck_assert_int_le(c->deadline_ms, w.h->now_ms + 1100);
    ck_assert_int_gt(c->deadline_ms, w.h->now_ms + 900);
    ck_assert_int_le(c->look.key, c->deadline_ms);
    slow_progress(c, 100 << 20);
    ck_assert_int_eq(c->deadline_ms, w.h->now_ms + SEND_MS);
    c->deadline_ms = w.h->now_ms - 50; /* late, and a byte does not save it */
    slow_progress(c, 1);
    run(never, 20);
    ck_assert_uint_eq(w.calls, 0);
    leave();
    httpd_free(w.h);
}

static size_t key_of(const char *text, char ret[16])
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    memset(ret, 0, 16);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        return address_key((struct sockaddr *)&v6, ret);
    ck_assert(inet_pton(AF_INET, text, &v4.sin_addr) == 1);
    return address_key((struct sockaddr *)&v4, ret);
}

static bool are_one(const char *a_text, const char *b_text)
{
    char x[16], y[16];
    size_t n = key_of(a_text, x);
    return n == key_of(b_text, y) && memcmp(x, y, n) == 0;
}

TEST(one_household_is_one_address)
{
    ck_assert(are_one("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:ffff::1"));
    ck_assert(!are_one("2001:db8:1:2::1", "2001:db8:1:3::1"));
    ck_assert(are_one("192.0.2.7", "192.0.2.7"));
    ck_assert(!are_one("192.0.2.7", "192.0.2.8"));
    ck_assert(are_one("192.0.2.7", "::ffff:192.0.2.7"));
    ck_assert(!are_one("::ffff:192.0.2.7", "::ffff:192.0.2.8"));
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
    ck_assert(strstr(a.in, "X-Accel-Buffering: no\r\n"));
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

/* Nothing is lost and nothing is sent twice when there is no room at the first try. */
TEST(a_socket_without_room_loses_no_byte)
{
    for (int round = 0; round < 2; round++) {
        ck_assert(serve(10, 0));
        for (size_t i = 0; i < BIG; i++)
            w.big[i] = (char)(i * 7 + i / 251);
        full = true;
        join_in(&a, round ? ASK("/big") : ASK("/") ASK("/stream"), 1000, BIG + 4096);
        run(round ? a_has_one_big : a_has_all, 10000);
        full = false;
        const char *body = strstr(a.in, "\r\n\r\n") + 4;
        if (round)
            ck_assert(memcmp(body, w.big, BIG) == 0);
        else
            ck_assert(
                strncmp(body, "helloHTTP/1.1 200 OK\r\n", 22) == 0 &&
                strstr(body, "\r\n\r\n6\r\npiece\n\r\n6\r\npiece\n\r\n6\r\npiece\n\r\n0\r\n\r\n"));
        memset(w.big, 0, BIG);
        leave();
        httpd_free(w.h);
    }
}

static bool a_is_answered(void)
{
    return a.over || strstr(a.in, "hello");
}

TEST(heads_come_in_pieces)
{
    static const int sizes[] = {600, 1500, 5000, 15000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        static char text[16000];
        ck_assert(serve(10, 0));
        (void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: h\r\nX: %0*d\r\n\r\n", sizes[i],
                       0);
        join_in(&a, text, 100, 4096);
        run(a_is_answered, 5000);
        ck_assert_msg(strstr(a.in, "200 OK"), "%d bytes: '%s'", sizes[i], a.in);
        leave();
        httpd_free(w.h);
    }
}

static bool a_is_all_there(void)
{
    return a.sent == a.len && answers(&a) && w.h->conns && w.h->conns->state != CONN_BUSY;
}

/* What lies behind a request that came in pieces has its own time, not that between requests. */
TEST(what_is_begun_behind_a_request_has_its_time)
{
    static const struct {
        const char *behind;
        int64_t ms;
    } cases[] = {
        {"GET /par",                                                  HEAD_MS},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab", BODY_MS}
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "GET / HTT%s%s", "P/1.1\r\nHost: h\r\n\r\n",
                       cases[i].behind);
        ck_assert(serve(10, 0));
        join_in(&a, text, 9, 4096);
        a.len = 9;
        run(never, 20);
        struct httpd_conn *c = w.h->conns;
        ck_assert(c && c->in);
        heap_remove(&w.h->looks, &c->look); /* as after the first minute */
        c->look.key = c->deadline_ms = w.h->now_ms + REST_MS;
        ck_assert(heap_push(&w.h->looks, &c->look));
        a.piece = 1000;
        a.len = strlen(text);
        run(a_is_all_there, 3000);
        run(never, 20);
        ck_assert_int_le(c->deadline_ms, w.h->now_ms + cases[i].ms);
        ck_assert_int_le(c->look.key, c->deadline_ms);
        leave();
        httpd_free(w.h);
    }
}

static bool a_has_sent(void)
{
    return a.over || a.sent == a.len;
}

static bool nobody_is_left(void)
{
    return w.h->count == 0;
}

/* Who is refused in the middle of its body may send the rest of it: it is read over, so that the
 * refusal arrives. */
TEST(who_is_refused_is_read_over)
{
    size_t n = (size_t)32 << 20;
    char *text = __real_malloc(n + 1);
    memset(text, 'x', n);
    text[n] = 0;
    memcpy(text, " bad\r\n\r\n", 8);
    ck_assert(serve(10, 0));
    join_in(&a, text, 1 << 20, 4096);
    a.deaf = true; /* it looks for an answer when it has sent all */
    run(a_has_sent, 10000);
    ck_assert_uint_eq(a.sent, n);
    a.deaf = false;
    run(a_has_all, 1000);
    ck_assert(strstr(a.in, "HTTP/1.1 400 "));
    leave();
    run(nobody_is_left,
        LINGER_MS / 4 * 3); /* gone when the other side is, not when its time is over */
    ck_assert_uint_eq(w.h->count, 0);
    httpd_free(w.h);
    free(text);
}

/* What came behind a fault is not kept: nobody will read it, and many may be refused. */
TEST(who_is_refused_costs_no_memory)
{
    static const char *const faults[] = {
        "nonsense\r\n\r\n and more",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n and more",
        "POST /no HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n and more"};
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        ck_assert(serve(10, 0));
        join_in(&a, faults[i], 1000, 4096);
        run(a_is_answered, 3000);
        ck_assert(w.h->conns && w.h->conns->state == CONN_LINGER);
        ck_assert_ptr_null(w.h->conns->in);
        leave();
        httpd_free(w.h);
    }
}

static bool a_has_two(void)
{
    return a.over || (a.sent == a.len && answers(&a) == 2);
}

/* A refused body is read to its end, and the connection is kept: up to SWALLOW bytes, no more. */
TEST(a_refused_body_is_swallowed_up_to_its_limit)
{
    static const char head[] = "POST /no HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char rest[] = "\r\n0\r\n\r\n" ASK("/");
    for (size_t more = 0; more < 2; more++) {
        static char text[sizeof(head) + SWALLOW + 100];
        size_t n = (size_t)snprintf(text, sizeof(text), "%s%04zx\r\n", head, SWALLOW - 6 + more);
        memset(text + n, 'x', SWALLOW - 6 + more);
        memcpy(text + n + SWALLOW - 6 + more, rest, sizeof(rest));
        ck_assert(serve(10, 0));
        join_in(&a, text, 4096, 4096);
        a.len = n + SWALLOW - 6 + more;
        run(a_has_sent, 3000);
        run(never, 20);
        ck_assert_uint_eq(a.over, more);
        a.len = strlen(text);
        run(a_has_two, 3000);
        ck_assert_uint_eq(answers(&a), 2 - more);
        ck_assert(strstr(a.in, " 404 "));
        leave();
        httpd_free(w.h);
    }
}

static bool a_waits(void)
{
    return w.waiting;
}

/* The session goes with the socket; the rest of the connection when the call has its answer. */
TEST(a_session_of_who_is_lost_is_freed_once)
{
    int nobody = 0;
    ck_assert(serve(10, 0));
    join_in(&a, ASK("/later"), 1000, 4096);
    w.holds = true;
    run(a_waits, 3000);
    ck_assert(a_waits());
    struct call *c = w.waiting;
    w.waiting = NULL;
    w.holds = false;
    c->conn->tls = session = (struct http_tls *)(void *)&nobody;
    http_conn_close(c->conn);
    ck_assert_uint_eq(freed, 1);
    httpd_answer(c->conn, &c->answer);
    ck_assert_uint_eq(freed, 1);
    ck_assert_uint_eq(w.calls, 0);
    leave();
    httpd_free(w.h);
}

TEST(a_session_that_cannot_be_had_is_none)
{
    int nobody = 0;
    no_sessions = true;
    ck_assert_ptr_null(http_tls_new((struct http_trust *)(void *)&nobody, -1));
    no_sessions = false;
}
