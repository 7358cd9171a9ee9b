/* SPDX-License-Identifier: MIT */
/*
 * cli/changes.h -- follow the stream of changes of a server (GET /api/v1/stream).
 *
 * It has its own connection.  After the server goes away it is tried again, first after a second,
 * later every RETRY_MOST_MS.  Used by `why --watch` and `top`.
 */
#ifndef PAWL_CLI_CHANGES_H
#define PAWL_CLI_CHANGES_H

#include "cli/cli.h"
#include "cli/http.h"

struct changes {
    struct http *http; /* owned; NULL: there is no server */
    struct buf in;     /* bytes of an event that is not whole */
    pawl_mem *mem;
    bool open;
    int64_t again_ms, pause_ms; /* when it is tried again (monotonic clock) */
    pawl_error trouble;         /* why it is not open */
};

/* One event of the stream: "changes" and its JSON, "reset" when some were missed, or "open" when
 * the stream has begun (again): read everything then. */
typedef void changes_fn(void *arg, const char *event, pawl_str data);

/* 0, or an exit status: the error was printed.  Connects to nothing yet. */
int changes_begin(struct changes *c, struct cli *cli, const char *url);
void changes_end(struct changes *c);
/* Connect if it is time, and call `fn` for the events that came.  Does not wait for events. */
void changes_hear(struct changes *c, int64_t now_ms, changes_fn *fn, void *arg);
/* To poll; -1: none. */
int changes_fd(const struct changes *c);
/* May this "changes" event be about this instance? */
bool changes_tell_of(pawl_str data, const char *instance);

/* Call `fn` for each whole event in `in`, and remove it from there. */
void changes_parse(struct buf *in, changes_fn *fn, void *arg);

#endif
