/* SPDX-License-Identifier: MIT */
/*
 * http/listen.c -- new connections.
 *
 * At the limit the socket is not watched any more: the next client waits in the backlog
 * until a connection closes.  Out of descriptors: stop watching too, and try again shortly.
 * Connections over the limit of one address are closed at once.
 */
#include "http/http_conn.h"

#include "base/attr.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS  64  /* in a round */
#define AGAIN_MS 100 /* after running out of descriptors or memory */

union name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct address {
    uint32_t count;
    size_t len;
    char bytes[16];
};

/* ---- Watching ----------------------------------------------------------------------- */

void listen_start(struct httpd *h)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = h};
    if (h->listening || h->listen_fd < 0 || h->count >= h->opts.connections)
        return;
    h->listen_again_ms = INT64_MAX;
    h->listening = epoll_ctl(h->poll_fd, EPOLL_CTL_ADD, h->listen_fd, &e) == 0;
}

void listen_stop(struct httpd *h)
{
    h->listen_again_ms = INT64_MAX;
    if (h->listening)
        (void)epoll_ctl(h->poll_fd, EPOLL_CTL_DEL, h->listen_fd, NULL);
    h->listening = false;
}

static void rest(struct httpd *h, const char *why)
{
    log_debug(&h->opts.log, "http", "no new connections for a moment", "why=\"%s\"", why);
    listen_stop(h);
    h->listen_again_ms = h->now_ms + AGAIN_MS;
}

/* ---- One address ---------------------------------------------------------------------- */

size_t address_key(const struct sockaddr *from, char ret[16])
{
    static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:1.2.3.4 */
    union name name;
    const char *bytes = (const char *)&name.v6.sin6_addr;
    size_t n = 8;
    memcpy(&name, from, from->sa_family == AF_INET6 ? sizeof(name.v6) : sizeof(name.v4));
    if (from->sa_family != AF_INET6) {
        bytes = (const char *)&name.v4.sin_addr;
        n = 4;
    } else if (memcmp(bytes, v4, sizeof(v4)) == 0) {
        bytes += sizeof(v4);
        n = 4;
    }
    memcpy(ret, bytes, n);
    return n;
}

static pawl_str name_of(const struct address *a)
{
    return (pawl_str){a->bytes, a->len};
}

/* One more of it; NULL: too many, or no memory. */
static struct address *address_enter(struct httpd *h, const union name *from)
{
    struct address key = {0};
    key.len = address_key(&from->any, key.bytes);
    struct address *a = map_gets(&h->addresses, name_of(&key));
    if (!a) {
        a = malloc(sizeof(*a));
        if (!a)
            return NULL;
        *a = key;
        if (!map_puts(&h->addresses, name_of(a), a)) {
            free(a);
            return NULL;
        }
    }
    if (a->count >= h->opts.per_address)
        return NULL;
    a->count++;
    return a;
}

void address_leave(struct httpd *h, struct address *a)
{
    if (!a || --a->count > 0)
        return;
    (void)map_removes(&h->addresses, name_of(a));
    free(a);
}

/* ---- Accepting --------------------------------------------------------------------------- */

static void take(struct httpd *h, int fd, const union name *from)
{
    struct address *a = NULL;
    if (h->opts.per_address) {
        a = address_enter(h, from);
        if (!a) {
            log_debug(&h->opts.log, "http", "too many connections of one address", "");
            (void)close(fd);
            return;
        }
    }
    if (http_conn_add(h, fd, a))
        return;
    address_leave(h, a);
    (void)close(fd);
}

void listen_accept(struct httpd *h)
{
    for (int i = 0; i < ACCEPTS && h->listening; i++) {
        union name from = {0};
        socklen_t n = sizeof(from);
        if (h->count >= h->opts.connections) {
            log_debug(&h->opts.log, "http", "as many connections as allowed", "");
            listen_stop(h); /* until one is closed */
            return;
        }
        int fd = accept4(h->listen_fd, &from.any, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            take(h, fd, &from);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            rest(h, strerror(errno));
        else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}
