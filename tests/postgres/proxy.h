/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/proxy.h -- a bad network between a store and its PostgreSQL server.
 *
 * The proxy listens on a socket in a directory of its own and passes every connection on to the
 * server's.  A plan waits for a byte, counted from proxy_plan() on over all connections, and then
 * does one thing once.  Each connection has a thread; they end with the process.
 */
#ifndef PAWL_TESTS_PROXY_H
#define PAWL_TESTS_PROXY_H

#include <stdbool.h>
#include <stddef.h>

enum proxy_do {
    PROXY_CUT,     /* both sides end at the byte */
    PROXY_SWALLOW, /* the server's whole answer is lost; then both sides end */
    PROXY_LATE,    /* the client's side ends; the server gets the rest later: see `ms` */
    PROXY_DELAY,   /* everything waits at the byte for `ms` */
    PROXY_RETAG,   /* the next COMMIT is answered as if it had been ROLLBACK; no byte is counted */
};

struct proxy_plan {
    enum proxy_do act;
    bool to_client; /* which bytes are counted: the server's, or else the client's */
    size_t bytes;   /* this many pass unharmed */
    int ms;         /* -1: until proxy_release() */
};

struct proxy;

/* Listen in `dir`, which is made, as a server there would; NULL: it cannot. */
struct proxy *proxy_start(const char *dir, const char *server_dir);
void proxy_plan(struct proxy *p, struct proxy_plan plan);
bool proxy_is_armed(struct proxy *p); /* the plan has not happened yet */
void proxy_disarm(struct proxy *p);
/* How many of the counted bytes came since proxy_plan(), while it had not happened. */
size_t proxy_counted(struct proxy *p);
void proxy_release(struct proxy *p);
/* While it is on, connections are taken and every byte of every connection is lost. */
void proxy_hole(struct proxy *p, bool on);
/* How many connections clients have made. */
int proxy_connections(struct proxy *p);
/* How often the server has answered, or refused, what came late. */
int proxy_late_answers(struct proxy *p);

#endif
