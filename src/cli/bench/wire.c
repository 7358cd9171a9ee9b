/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/wire.c -- see wire.h.
 *
 * Invariant: `out` connections wait for an answer; between two runs none does.
 */
#include "cli/bench/wire.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/limits.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STUCK_MS 30000
#define AT_ONCE  256

struct link {
    int fd;
    uint32_t number;
    int64_t sent_us;
    size_t have;
    char in[WIRE_ANSWER];
};

struct wire {
    int poll_fd;
    uint32_t count;
    uint32_t out; /* requests without their answer yet */
    bool enough;  /* ask no more */
    const struct wire_plan *plan;
    struct link links[];
};

/* ---- Connecting ---------------------------------------------------------------------- */

static int connect_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(to.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(to.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int connect_tcp(const struct addrinfo *list)
{
    int one = 1, fd = -1;
    for (const struct addrinfo *to = list; to && fd < 0; to = to->ai_next) {
        fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
            int why = errno;
            close(fd);
            fd = -1;
            errno = why;
        }
    }
    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static bool add(struct wire *w, int fd)
{
    struct link *l = &w->links[w->count];
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
    if (fd < 0)
        return false;
    l->fd = fd;
    l->number = w->count++;
    return epoll_ctl(w->poll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

struct wire *wire_open(const char *host, const char *port, uint32_t count, pawl_error *reterr)
{
    struct wire *w = calloc(1, sizeof(*w) + count * sizeof(struct link));
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    bool local = strchr(host, '/');
    if (!w) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    w->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    int rc = local ? 0 : getaddrinfo(host, port, &hints, &list);
    bool ok = rc == 0 && w->poll_fd >= 0;
    for (uint32_t i = 0; i < count && ok; i++)
        ok = add(w, local ? connect_unix(host) : connect_tcp(list));
    if (!ok)
        error_set(reterr, PAWL_UNAVAILABLE, "cannot connect to %s:%s (connection %u): %s", host,
                  port, w->count + 1, rc ? gai_strerror(rc) : strerror(errno));
    if (list)
        freeaddrinfo(list);
    if (ok)
        return w;
    wire_close(w);
    return NULL;
}

void wire_close(struct wire *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < w->count; i++)
        close(w->links[i].fd);
    if (w->poll_fd >= 0)
        close(w->poll_fd);
    free(w);
}

/* ---- Talking -------------------------------------------------------------------------- */

static bool ask(struct wire *w, struct link *l)
{
    char text[WIRE_REQUEST];
    size_t n = w->plan->ask(w->plan->user, l->number, text);
    if (!n)
        return true;
    l->sent_us = clock_mono_us();
    w->out++;
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(l->fd, text + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}

static bool hear(struct wire *w, struct link *l)
{
    ssize_t got = recv(l->fd, l->in + l->have, sizeof(l->in) - 1 - l->have, MSG_DONTWAIT);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    l->have += (size_t)got;
    l->in[l->have] = 0;
    size_t n = w->plan->whole(l->in, l->have);
    if (n == 0)
        return l->have < sizeof(l->in) - 1;
    if (n != l->have)
        return false; /* more than was asked for */
    w->out--;
    l->have = 0;
    if (!w->plan->take(w->plan->user, l->number, (pawl_str){l->in, n},
                       clock_mono_us() - l->sent_us))
        w->enough = true;
    return w->enough || ask(w, l);
}

static bool hear_some(struct wire *w)
{
    struct epoll_event events[AT_ONCE];
    int n = epoll_wait(w->poll_fd, events, AT_ONCE, STUCK_MS);
    if (n == 0) {
        errno = ETIMEDOUT;
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!hear(w, events[i].data.ptr))
            return false;
    return n > 0 || errno == EINTR;
}

bool wire_run(struct wire *w, const struct wire_plan *plan, int64_t until_us, pawl_error *reterr)
{
    bool ok = true;
    w->plan = plan;
    w->enough = false;
    errno = 0;
    for (uint32_t i = 0; i < w->count && ok; i++)
        ok = ask(w, &w->links[i]);
    while (ok && w->out) {
        ok = hear_some(w);
        w->enough = w->enough || clock_mono_us() >= until_us;
    }
    if (!ok)
        error_set(reterr, PAWL_UNAVAILABLE, "the connection failed: %s",
                  errno ? strerror(errno) : "an answer that is none, or too long");
    return ok;
}
