/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/world.h -- a story told on the disk of disk.h: real store, real runtime.
 *
 * A story is what clients do, one step after the other.  The runtime is stepped and
 * has a clock of its own, so a story always makes the same calls to the disk, and a
 * test can stop the world at any of them, change it, and see how the story goes on:
 * steps that were answered are not repeated, the one under way is.
 */
#ifndef PAWL_TESTS_WORLD_H
#define PAWL_TESTS_WORLD_H

#include "base/buf.h"
#include "disk.h"
#include "pawl/provider.h"
#include "pawl/queue.h"
#include "pawl/runtime.h"

#define WORLD_DATA  DISK_ROOT "/data"
#define WORLD_FILE  WORLD_DATA "/pawl.db"
#define STORY_STEPS 16

enum story_act {
    ACT_NONE,
    ACT_CLOSE, /* close the runtime, open it again */
    ACT_DIE,   /* the process ends without a word */
    ACT_DIRTY, /* as after a failed sync, and the process ends */
    ACT_LATER, /* to the next time something is due */
};

struct story_step {
    pawl_request call; /* size 0: none */
    pawl_queue_request queue;
    enum story_act act;
    bool locked; /* `queue` is about the lock of the last pop */
};

struct story {
    const char *name;
    struct story_step steps[STORY_STEPS]; /* the first empty one is the end */
    bool tight;                           /* checkpoint after every commit */
    bool loose;                           /* repeated steps may change what is left */
    bool unordered;                       /* completions may come in any order */
    bool flaky; /* its activity looks at the attempt, which a crash counts */
    bool timed; /* calls race with timers: its end is certain, the order of its events is not */
};
bool story_removes(const struct story *story); /* instances or executions */
const struct story *stories(size_t *retcount); /* stories.c */
void stories_register(pawl_app *app);

struct world {
    const struct story *story;
    size_t at; /* the step under way */
    pawl_app *app;
    pawl_runtime *rt;
    int64_t now, mono;
    uint64_t dice;
    bool again;     /* the step was under way when the world changed */
    bool disturbed; /* nothing is certain: what it began may take longer */
    char lock[64];
    int lives, abandoned;
    uint64_t answered; /* calls answered with OK */
    char trouble[400]; /* why the story could not go on; "": it could */
    void (*acted)(struct world *w,
                  const pawl_work *work); /* an activity begins; NULL: nobody asks */
    void (*told)(struct world *w);        /* a client was told OK; NULL: nobody asks */
    void (*ended)(struct world *w);       /* the runtime stopped itself */
};

void world_init(struct world *w, const struct story *story);
/* Tell the story from where it is to its end; false: trouble. */
bool world_tell(struct world *w);
/* Open the runtime if it is not; false: trouble, or it is not to be had now. */
bool world_up(struct world *w);
/* Leave the runtime and its store as they are, as a process that ended does. */
void world_abandon(struct world *w);
/* Give everything back. */
void world_close(struct world *w);
void world_trouble(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- look.c: what is in the database, without the store's help -------------------- */

struct sight {
    bool there;            /* there is a database with our tables */
    uint64_t epoch, group; /* of the fence */
    uint64_t hash;         /* of every row of every table */
    int tables;
    char trouble[200]; /* damaged, or not to be opened; "": neither */
};
/* With no runtime open.  The disk is as before. */
void look(struct sight *ret, bool check);
/* Beside a live runtime. */
void look_beside(struct sight *ret);
/* An activity that began: the event that scheduled it. */
struct begun {
    uint64_t rid, uid, execution;
};
/* True when all of their events are there; `removes`: or the execution is gone. */
bool look_for_begun(const struct begun *list, size_t count, bool removes, uint64_t *retmissing);
/* What the end of a story leaves, for comparing. */
void look_at_end(const struct story *story, struct buf *ret);

#endif
