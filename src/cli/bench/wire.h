/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/wire.h -- many busy connections on one thread, for benchmarks.
 *
 * Each connection has one request out at a time and sends the next as soon as
 * the answer is there.  The plan writes the requests, so the same loop drives a Pawl server and
 * what it is compared with.  Cheap on purpose: one
 * read and one write per request, so that the load generator is not what is measured.
 */
#ifndef PAWL_CLI_WIRE_H
#define PAWL_CLI_WIRE_H

#include "pawl/types.h"

#include <stdint.h>

#define WIRE_REQUEST 2048 /* bytes a request may have */
#define WIRE_ANSWER  8192 /* and an answer */

struct wire_plan {
    /* Write the next request of connection `number` to `to`.  Its length; 0: it has none now. */
    size_t (*ask)(void *user, uint32_t number, char *to);
    /* Length of the answer at the front of `in`; 0: not whole yet. */
    size_t (*whole)(const char *in, size_t n);
    /* False: no connection sends another request. */
    bool (*take)(void *user, uint32_t number, pawl_str answer, int64_t took_us);
    void *user;
};

struct wire;

/* `host` without a '/' in it, else a Unix socket.  NULL with *reterr set. */
struct wire *wire_open(const char *host, const char *port, uint32_t count, pawl_error *reterr);
void wire_close(struct wire *w); /* NULL is fine */

/* Until `until_us` (clock_mono_us) or take() says no; then the last answers are waited for.
 * False, with *reterr set: a connection broke, or nothing came for a long time. */
bool wire_run(struct wire *w, const struct wire_plan *plan, int64_t until_us, pawl_error *reterr);

#endif
