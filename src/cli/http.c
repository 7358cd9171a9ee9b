/* SPDX-License-Identifier: MIT */
/*
 * cli/http.c -- see http.h.
 *
 * Reads answers with Content-Length or in chunks, up to a bound; anything it does
 * not understand is an error, never a guess.
 */
#include "cli/http.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "cli/client_tls.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX (256U << 20)
#define CONNECT_MS 5000
#define CHUNK_LINE 1024 /* bytes of the line before a chunk */

struct http {
    char url[512], host[300], name[300], port[8];
    char base[300]; /* path of a server behind a proxy, without its last slash */
    char token[200];
    struct tls *tls; /* of https://; NULL: plain */
    int fd;
    struct buf in;
    size_t at; /* read so far of `in` */
    int64_t until_ms;
    int64_t most_ms; /* that a call may take; 0: as its caller says */
    int alarm;       /* waiting ends when it is readable; -1: none */
    bool alarmed;
    bool chunked;      /* of a stream */
    size_t chunk_left; /* bytes of its chunk that did not come yet */
};

/* ---- The address ------------------------------------------------------------------ */

/* "NAME", "NAME:PORT" or "[ADDRESS]:PORT" */
static void split_host(struct http *h, char *rest, const char *port)
{
    (void)snprintf(h->host, sizeof(h->host), "%s", rest);
    char *colon = strrchr(rest, ':'), *bracket = strchr(rest, ']');
    bool has_port = colon && (!bracket || colon > bracket);
    (void)snprintf(h->port, sizeof(h->port), "%.7s", has_port ? colon + 1 : port);
    if (has_port)
        *colon = 0;
    if (bracket)
        *bracket = 0;
    (void)snprintf(h->name, sizeof(h->name), "%s", rest + (rest[0] == '['));
}

/* "http://NAME:PORT/BASE" into host, name, port and base. */
static bool split_url(struct http *h, const char *url, bool secure)
{
    const char *at = url + (secure ? 8 : 7);
    size_t n = strcspn(at, "/"), m = strlen(at + n);
    char rest[300];
    if ((!secure && strncmp(url, "http://", 7) != 0) || n == 0 || n >= sizeof(rest) ||
        m >= sizeof(h->base) || strpbrk(at, "?# \t\r\n"))
        return false;
    (void)snprintf(rest, sizeof(rest), "%.*s", (int)n, at);
    while (m && at[n + m - 1] == '/')
        m--;
    (void)snprintf(h->base, sizeof(h->base), "%.*s", (int)m, at + n);
    split_host(h, rest, secure ? "443" : "80");
    char *end;
    unsigned long port = strtoul(h->port, &end, 10);
    return isdigit((unsigned char)h->port[0]) && !*end && port > 0 && port < 65536;
}

struct http *http_open(const char *url, const char *token, const char *ca, pawl_error *reterr)
{
    struct http *h = calloc(1, sizeof(*h));
    bool secure = strncmp(url, "https://", 8) == 0;
    assert_that(h);
    h->fd = h->alarm = -1;
    buf_init(&h->in, ANSWER_MAX);
    (void)snprintf(h->url, sizeof(h->url), "%s", url);
    (void)snprintf(h->token, sizeof(h->token), "%s", token ? token : "");
    if (!split_url(h, url, secure)) {
        error_set(reterr, PAWL_INVALID, "'%s' is no address; write http://127.0.0.1:8000", url);
        http_close(h);
        return NULL;
    }
    if (secure && !(h->tls = tls_open(ca, reterr))) {
        http_close(h);
        return NULL;
    }
    return h;
}

static void hang_up(struct http *h)
{
    if (h->fd < 0)
        return;
    if (h->tls)
        tls_end(h->tls);
    close(h->fd);
    h->fd = -1;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    hang_up(h);
    tls_close(h->tls);
    buf_deinit(&h->in);
    free(h);
}

const char *http_url(const struct http *h)
{
    return h->url;
}

const char *http_name(const struct http *h)
{
    return h->name;
}

const char *http_port(const struct http *h)
{
    return h->port;
}

pawl_str http_escape(pawl_mem *mem, const char *text)
{
    char *out = pawl_mem_alloc(mem, strlen(text) * 3 + 1), *to = out;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (isalnum(*p) || strchr("-._~", *p))
            *to++ = (char)*p;
        else
            to += snprintf(to, 4, "%%%02X", *p);
    }
    return (pawl_str){out, (size_t)(to - out)};
}

void http_patience(struct http *h, int64_t most_ms, int alarm)
{
    h->most_ms = most_ms;
    h->alarm = alarm;
}

bool http_alarmed(struct http *h)
{
    bool alarmed = h->alarmed;
    h->alarmed = false;
    return alarmed;
}

/* ---- The socket ---------------------------------------------------------------------- */

static bool wait_for(void *user, short events)
{
    struct http *h = user;
    struct pollfd p[] = {
        {.fd = h->fd,    .events = events},
        {.fd = h->alarm, .events = POLLIN},
    };
    int64_t left = h->until_ms - clock_mono_ms();
    int n = poll(p, COUNT_OF(p), left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left);
    if (n == 0)
        errno = ETIMEDOUT;
    if (n <= 0 || p[0].revents)
        return n > 0;
    h->alarmed = true;
    errno = ECANCELED;
    return false;
}

static void set_time(struct http *h, int64_t ms)
{
    h->until_ms = clock_mono_ms() + (h->most_ms && h->most_ms < ms ? h->most_ms : ms);
}

static int try_connect(struct http *h, const struct addrinfo *to)
{
    int one = 1, trouble = 0;
    socklen_t n = sizeof(trouble);
    h->fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (h->fd < 0)
        return errno;
    (void)setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(h->fd, to->ai_addr, to->ai_addrlen) == 0)
        return 0;
    trouble = errno;
    if (trouble == EINPROGRESS &&
        (!wait_for(h, POLLOUT) || getsockopt(h->fd, SOL_SOCKET, SO_ERROR, &trouble, &n) != 0))
        trouble = errno;
    if (!trouble)
        return 0;
    close(h->fd);
    h->fd = -1;
    return trouble;
}

static pawl_status connect_to(struct http *h, pawl_error *reterr)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int rc = getaddrinfo(h->name, h->port, &hints, &list), trouble = 0;
    set_time(h, CONNECT_MS);
    for (struct addrinfo *to = list; to && h->fd < 0; to = to->ai_next)
        trouble = try_connect(h, to);
    if (list)
        freeaddrinfo(list);
    if (h->fd >= 0) {
        if (!h->tls || tls_begin(h->tls, h->fd, h->name, wait_for, h, reterr) == PAWL_OK)
            return PAWL_OK;
        hang_up(h);
        return PAWL_UNAVAILABLE;
    }
    error_set(reterr, PAWL_UNAVAILABLE,
              "no server at %s (%s); start one with 'pawl serve', or name another with --url",
              h->url, rc ? gai_strerror(rc) : strerror(trouble));
    return PAWL_UNAVAILABLE;
}

bool http_listens(struct http *h)
{
    pawl_error err;
    return h->fd >= 0 || connect_to(h, &err) == PAWL_OK;
}

static bool send_all(struct http *h, pawl_str bytes)
{
    while (bytes.len) {
        ssize_t n = h->tls ? tls_send(h->tls, bytes.ptr, bytes.len)
                           : send(h->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (n > 0) {
            bytes.ptr += n;
            bytes.len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            if (!wait_for(h, h->tls ? tls_events(h->tls) : POLLOUT))
                return false;
        } else if (n < 0 && errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* More bytes onto h->in; false at the end or after the time. */
static bool receive(struct http *h)
{
    for (;;) {
        if (!buf_reserve(&h->in, 65536)) {
            errno = ENOMEM;
            return false;
        }
        char *to = h->in.ptr + h->in.len;
        ssize_t n = h->tls ? tls_recv(h->tls, to, 65536) : recv(h->fd, to, 65536, 0);
        if (n > 0) {
            h->in.len += (size_t)n;
            h->in.ptr[h->in.len] = 0;
            return true;
        }
        if (n == 0) {
            errno = ECONNRESET;
            return false;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN || !wait_for(h, h->tls ? tls_events(h->tls) : POLLIN))
            return false;
    }
}

/* ---- The answer ---------------------------------------------------------------------- */

/* The next line without its end; NULL: none came. */
static const char *read_line(struct http *h, pawl_mem *mem)
{
    for (;;) {
        const char *from = h->in.len > h->at ? h->in.ptr + h->at : NULL;
        const char *end = from ? memchr(from, '\n', h->in.len - h->at) : NULL;
        if (end) {
            size_t n = (size_t)(end - from);
            h->at += n + 1;
            return pawl_mem_dup(mem, (pawl_str){from, n && from[n - 1] == '\r' ? n - 1 : n}).ptr;
        }
        if (!receive(h))
            return NULL;
    }
}

static bool read_bytes(struct http *h, size_t n, struct buf *to)
{
    if (!n)
        return true;
    while (h->in.len - h->at < n)
        if (!receive(h))
            return false;
    buf_put(to, h->in.ptr + h->at, n);
    h->at += n;
    return !to->failed;
}

/* Digits and nothing else up to `ends`; an answer is never guessed at. */
static bool read_number(const char *text, int base, const char *ends, size_t *ret)
{
    char *end;
    text += strspn(text, " \t");
    bool signless = isxdigit((unsigned char)*text); /* strtoul would take one */
    *ret = signless ? strtoul(text, &end, base) : 0;
    if (signless && *ret <= ANSWER_MAX && (!*end || strchr(ends, *end)))
        return true;
    errno = EPROTO;
    return false;
}

static bool read_chunks(struct http *h, pawl_mem *mem, struct buf *to)
{
    for (;;) {
        const char *line = read_line(h, mem);
        size_t n;
        if (!line || !read_number(line, 16, "; \t", &n))
            return false;
        if (!n)
            return read_line(h, mem) != NULL;
        if (!read_bytes(h, n, to) || !read_line(h, mem))
            return false;
    }
}

/* How the body of an answer is framed. */
struct framing {
    size_t length;
    bool chunked, closes;
};

static bool read_head(struct http *h, pawl_mem *mem, struct http_reply *ret, struct framing *how)
{
    bool understood = true;
    const char *line = read_line(h, mem);
    *how = (struct framing){0};
    if (line && (sscanf(line, "HTTP/1.%*u %3u", &ret->status) != 1 || ret->status < 100))
        errno = EPROTO, line = NULL;
    if (!line)
        return false;
    while ((line = read_line(h, mem)) && line[0]) {
        if (strncasecmp(line, "Content-Length:", 15) == 0)
            understood &= read_number(line + 15, 10, " \t", &how->length);
        else if (strncasecmp(line, "Transfer-Encoding:", 18) == 0)
            how->chunked = strstr(line, "chunked") != NULL;
        else if (strncasecmp(line, "Connection:", 11) == 0)
            how->closes = strstr(line, "close") != NULL;
    }
    if (line && !understood)
        errno = EPROTO;
    return line && understood;
}

static bool read_body(struct http *h, pawl_mem *mem, const struct framing *how,
                      struct http_reply *ret)
{
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    bool ok = how->chunked ? read_chunks(h, mem, &body) : read_bytes(h, how->length, &body);
    if (ok)
        ret->body = pawl_mem_dup(mem, buf_slice(&body));
    buf_deinit(&body);
    return ok;
}

static bool read_answer(struct http *h, pawl_mem *mem, struct http_reply *ret)
{
    struct framing how;
    bool ok = read_head(h, mem, ret, &how) && read_body(h, mem, &how, ret);
    int why = errno;
    if (!ok || how.closes)
        hang_up(h);
    errno = why;
    return ok;
}

static pawl_str compose(struct http *h, const char *method, const char *path, pawl_str body,
                        const char *headers, pawl_mem *mem)
{
    pawl_str head = pawl_mem_printf(
        mem,
        "%s %s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: "
        "%zu\r\n%s%s%s%s\r\n",
        method, h->base, path, h->host, body.len, h->token[0] ? "Authorization: Bearer " : "",
        h->token, h->token[0] ? "\r\n" : "", headers ? headers : "");
    char *all = pawl_mem_alloc(mem, head.len + body.len + 1);
    memcpy(all, head.ptr, head.len);
    if (body.len)
        memcpy(all + head.len, body.ptr, body.len);
    return (pawl_str){all, head.len + body.len};
}

pawl_status http_call(struct http *h, const char *method, const char *path, pawl_str body,
                      const char *headers, int64_t timeout_ms, pawl_mem *mem,
                      struct http_reply *ret, pawl_error *reterr)
{
    pawl_str request = compose(h, method, path, body, headers, mem);
    for (int tries = 0; tries < 2; tries++) {
        bool kept = h->fd >= 0;
        pawl_status rc = kept ? PAWL_OK : connect_to(h, reterr);
        if (rc != PAWL_OK)
            return rc;
        set_time(h, timeout_ms);
        buf_reset(&h->in);
        h->at = 0;
        if (send_all(h, request) && read_answer(h, mem, ret))
            return PAWL_OK;
        bool silent = h->in.len == 0 && errno != ETIMEDOUT;
        int why = errno;
        hang_up(h);
        errno = why;
        if (!kept || !silent)
            break;
    }
    pawl_status status = errno == ETIMEDOUT ? PAWL_TIMEOUT : PAWL_UNAVAILABLE;
    error_set(reterr, status, "%s did not answer: %s", h->url, strerror(errno));
    return status;
}

/* ---- An answer without an end ------------------------------------------------------------ */

pawl_status http_stream(struct http *h, const char *path, int64_t timeout_ms, pawl_mem *mem,
                        struct http_reply *ret, pawl_error *reterr)
{
    struct framing how = {0};
    pawl_str request = compose(h, "GET", path, (pawl_str){0}, NULL, mem);
    hang_up(h);
    pawl_status rc = connect_to(h, reterr);
    if (rc != PAWL_OK)
        return rc;
    set_time(h, timeout_ms);
    buf_reset(&h->in);
    h->at = 0;
    bool ok = send_all(h, request) && read_head(h, mem, ret, &how) &&
              (ret->status == 200 || read_body(h, mem, &how, ret));
    h->chunked = how.chunked;
    h->chunk_left = 0;
    if (ok)
        return PAWL_OK;
    rc = errno == ETIMEDOUT ? PAWL_TIMEOUT : PAWL_UNAVAILABLE;
    error_set(reterr, rc, "%s did not answer: %s", h->url, strerror(errno));
    hang_up(h);
    return rc;
}

int http_fd(const struct http *h)
{
    return h->fd;
}

/* The size of the next chunk, once its line is whole; false: it is not, or (errno) it is none. */
static bool next_chunk(struct http *h)
{
    size_t n;
    errno = 0;
    do { /* an empty line ends the chunk before */
        const char *from = h->in.ptr + h->at;
        const char *end = h->in.len > h->at ? memchr(from, '\n', h->in.len - h->at) : NULL;
        if (!end) {
            errno = h->in.len - h->at > CHUNK_LINE ? EPROTO : 0;
            return false;
        }
        n = (size_t)(end - from);
        h->at += n + 1;
        if (n && from[0] != '\r' && !read_number(from, 16, "; \t\r\n", &h->chunk_left))
            return false;
        n = from[0] == '\r' ? 0 : n;
    } while (!n);
    if (!h->chunk_left)
        errno = ECONNRESET; /* that was the last one */
    return h->chunk_left > 0;
}

/* What has come of the body; false: it ended, or is not understood. */
static bool unframe(struct http *h, struct buf *to)
{
    while (h->in.len > h->at) {
        size_t have = h->in.len - h->at, n = have;
        if (h->chunked && !h->chunk_left && !next_chunk(h))
            break;
        if (h->chunked) {
            have = h->in.len - h->at;
            n = have < h->chunk_left ? have : h->chunk_left;
            h->chunk_left -= n;
        }
        buf_put(to, h->in.ptr + h->at, n);
        h->at += n;
        errno = 0;
    }
    bool fine = errno == 0 && !to->failed;
    if (h->at && h->in.len >= h->at) {
        memmove(h->in.ptr, h->in.ptr + h->at, h->in.len - h->at);
        h->in.len -= h->at;
        h->in.ptr[h->in.len] = 0;
        h->at = 0;
    }
    return fine;
}

bool http_stream_read(struct http *h, struct buf *to)
{
    int alarm = h->alarm;
    if (h->fd < 0)
        return false;
    h->until_ms = 0; /* take what is there */
    h->alarm = -1;
    while (receive(h))
        ;
    bool open = errno == ETIMEDOUT;
    h->alarm = alarm;
    errno = 0;
    open = unframe(h, to) && open;
    if (!open)
        hang_up(h);
    return open;
}
