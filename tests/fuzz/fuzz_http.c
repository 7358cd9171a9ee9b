/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_http.c -- bytes of a client, through the real server.
 *
 * First byte: how the rest is cut into pieces.  Everything goes over one loopback
 * connection to a server on a memory store; then the client hangs up its half.
 * Whatever comes back is a row of whole answers, their bodies JSON where they say
 * so, and none of them is a 500.  The server is made anew every so many inputs,
 * and always for the first, so that a finding repeats alone.
 */
#include "base/buf.h"
#include "fuzz.h"
#include "pawl.h"
#include "pawl/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIFE       200 /* inputs a server serves */
#define QUIET_MS   8   /* an answer that takes longer is a long poll: hang up */
#define ANSWER_MAX ((size_t)64 << 20)

static struct {
    pawl_app *app;
    pawl_runtime *rt;
    pawl_server *srv;
    unsigned port, inputs;
} host;

static void no_log(void *user, pawl_log_level level, const char *area, const char *text)
{
    (void)user, (void)level, (void)area, (void)text;
}

static pawl_result echo(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result greet(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_call(ctx, "Echo", input);
    return r.ok ? pawl_done_str(ctx, r.value) : pawl_fail(ctx, "no");
}

static pawl_result linger(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result r = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_done_str(ctx, r.value);
}

static void host_stop(void)
{
    if (!host.srv)
        return;
    pawl_server_stop(host.srv, 1000);
    pawl_runtime_close(host.rt);
    pawl_server_free(host.srv);
    pawl_app_free(host.app);
    host.srv = NULL;
}

static void host_start(void)
{
    pawl_error err = {0};
    host.app = pawl_app_new();
    pawl_register_orchestration(host.app, "Greet", "1.0.0", greet);
    pawl_register_orchestration(host.app, "Linger", "1.0.0", linger);
    pawl_register_activity(host.app, "Echo", echo);
    host.rt = pawl_runtime_open(
        host.app, PAWL_OPTIONS(.store = "memory:", .workers = 1, .log = no_log), &err);
    must(host.rt && pawl_runtime_start(host.rt, &err) == PAWL_OK);
    host.srv =
        pawl_server_start(host.rt, PAWL_SERVER_OPTS(.listen = "127.0.0.1:0", .log = no_log), &err);
    must(host.srv);
    host.port = (unsigned)strtoul(strrchr(pawl_server_url(host.srv), ':') + 1, NULL, 10);
    host.inputs = 0;
}

static void need_host(void)
{
    static bool registered;
    if (!registered) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)atexit(host_stop);
        registered = true;
    }
    if (host.srv && host.inputs++ < LIFE)
        return;
    host_stop();
    host_start();
}

static int dial(void)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)host.port)};
    struct linger reset = {.l_onoff = 1, .l_linger = 0}; /* no TIME_WAIT: ports are few */
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(fd >= 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    must(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    return fd;
}

/* Read what there is; false when the other side is done or silent. */
static bool hear(int fd, int ms, struct buf *in)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, ms) <= 0 || !buf_reserve(in, 65536))
        return false;
    ssize_t n = recv(fd, in->ptr + in->len, 65536, MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    in->len += (size_t)n;
    return true;
}

static void say(int fd, pawl_str bytes, size_t piece, struct buf *in)
{
    while (bytes.len) {
        size_t n = piece && piece < bytes.len ? piece : bytes.len;
        ssize_t sent = send(fd, bytes.ptr, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent > 0) {
            bytes.ptr += sent;
            bytes.len -= (size_t)sent;
        }
        if (piece || sent < 0)
            while (hear(fd, sent < 0 ? 1 : 0, in))
                ;
    }
}

/* ---- Is it what a server may answer? ------------------------------------------------ */

static pawl_str header(pawl_str head, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = head.ptr, *end = head.ptr + head.len; at < end;) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
        must(line_end);
        if ((size_t)(line_end - at) > n && strncasecmp(at, name, n) == 0 && at[n] == ':')
            return (pawl_str){at + n + 2, (size_t)(line_end - at) - n - 2};
        at = line_end + 2;
    }
    return (pawl_str){0};
}

static bool starts(pawl_str text, const char *with)
{
    return text.len >= strlen(with) && memcmp(text.ptr, with, strlen(with)) == 0;
}

/* One answer at the front of `in`: how long it is; 0: not all of it is there. */
static size_t check_answer(pawl_str in, bool *retends)
{
    const char *end = memmem(in.ptr, in.len, "\r\n\r\n", 4);
    if (!end)
        return 0;
    pawl_str head = {in.ptr, (size_t)(end - in.ptr) + 2};
    size_t head_len = head.len + 2;
    must(starts(head, "HTTP/1.1 ") || starts(head, "HTTP/1.0 "));
    unsigned long status = strtoul(head.ptr + 9, NULL, 10);
    must(status >= 100 && status < 600 && status != 500);
    pawl_str length = header(head, "Content-Length"), type = header(head, "Content-Type");
    if (status == 100)
        return head_len;
    if (!length.ptr) { /* a stream: it goes on until somebody hangs up */
        *retends = true;
        return in.len;
    }
    size_t n = strtoul(length.ptr, NULL, 10);
    if (in.len - head_len < n)
        return 0;
    if (n && starts(type, "application/json") && starts((pawl_str){end + 4, n}, "{"))
        must(pawl_json_valid((pawl_str){end + 4, n}, NULL));
    return head_len + n;
}

static void check_answers(pawl_str in, pawl_str request)
{
    bool ends = false;
    if (memmem(request.ptr, request.len, "HEAD", 4))
        return; /* a length without a body: the client would have to know which */
    while (in.len && !ends) {
        size_t n = check_answer(in, &ends);
        if (!n)
            return;
        in.ptr += n;
        in.len -= n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    size_t piece = feed_byte(&f);
    pawl_str request = feed_rest(&f);
    struct buf in;
    if (!request.len)
        return 0;
    need_host();
    buf_init(&in, ANSWER_MAX);
    int fd = dial();
    say(fd, request, piece, &in);
    (void)shutdown(fd, SHUT_WR);
    while (hear(fd, QUIET_MS, &in))
        ;
    close(fd);
    must(!in.failed);
    check_answers(buf_slice(&in), request);
    buf_deinit(&in);
    return 0;
}
