/* SPDX-License-Identifier: MIT */
/*
 * server/stream.h -- the readers of GET /api/v1/stream, by kind, and what they hear.
 *
 *   kind     hears                                          is for
 *   all      what changed, by name                          programs, lists
 *   brief    once per second: a few names, and a count      the overview
 *   watched  one instance with its children, or one queue   the page of it
 *
 * Each kind has notes and batches of its own (stream_notes.h).  The commit feed only takes notes,
 * for kinds that have readers; the loop makes the batches, and stream_text.c gives each reader what
 * it may see.  Called by the loop, by the feed (instance_wait.c) and by server.c.
 */
#ifndef PAWL_SERVER_STREAM_H
#define PAWL_SERVER_STREAM_H

#include "server/server.h"
#include "server/stream_notes.h"

enum stream_kind { STREAM_ALL, STREAM_BRIEF, STREAM_WATCHED, STREAM_KINDS };

extern const struct notes_bounds stream_bounds[STREAM_KINDS];

/* One reader. [loop] */
struct stream {
    struct stream *next;
    struct call *c;
    enum stream_kind kind;
    struct watched_name *instance, *queue; /* of a watcher; NULL: none */
    uint64_t want;                         /* number of the next batch */
    bool reset, ended, ping, greeted;
};

/* A name that readers watch. */
struct watched_name {
    size_t readers;
    pawl_str name; /* behind the struct */
};

struct streams {
    pawl_server *srv;
    pthread_mutex_t lock;  /* guards the names in the notes, and this: */
    struct map watched[2]; /* by name: instances, queues */
    struct notes notes[STREAM_KINDS];
    /* [loop] */
    struct stream *readers;
    size_t count, counts[STREAM_KINDS];
    int64_t ping_at_ms, until_ms;
};

struct streams *streams_create(pawl_server *s);
void streams_destroy(struct streams *t);
void streams_note(struct streams *t, const pawl_change *changes, size_t count);
/* [loop] Send what is due; mono time of the next look, INT64_MAX: none. */
int64_t streams_tick(struct streams *t, int64_t now_ms);
/* [loop] This one ends. */
void streams_end_one(struct call *c);
void streams_leave(struct call *c);
/* [loop] The server is stopping: end them all. */
void streams_end(struct streams *t);

/* ---- stream_text.c */

/* [loop] What a call to /api/v1/stream says next. */
enum httpd_pull streams_pull(struct call *c, struct buf *out);

#endif
