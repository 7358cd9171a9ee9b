/* SPDX-License-Identifier: MIT */
/*
 * trial/world.h -- an author's code in a small world: the real runtime, one thread, a
 * store in memory, a clock that only we move, a process that dies when we say so.
 *
 * The orchestrations are the author's; activities never are: whatever is called is
 * answered by a hook.  Calls of clients lie on an agenda until their time has come
 * and are made again when the process died before it answered, as a careful client
 * does.  A crash inside a step freezes the store at that place and throws the
 * runtime away when the step returns: to store and clients that is a crash there.
 *
 * Everything is a function of what the hooks answer.  Used by test.c (scripts) and
 * seed.c (seeds).
 */
#ifndef PAWL_TRIAL_WORLD_H
#define PAWL_TRIAL_WORLD_H

#include "base/arena.h"
#include "base/map.h"
#include "pawl/provider.h"
#include "pawl/runtime.h"

#define WORLD_BEGIN_MS INT64_C(1700000000000)         /* the wall clock at the beginning */
#define WORLD_MONO_MS  1000                           /* the other clock */
#define WORLD_NEVER_MS (INT64_C(50) * 366 * 86400000) /* what is due later than that never comes */

struct world;

struct world_hooks {
    void *user;
    /* An attempt of an activity. */
    pawl_result (*activity)(void *user, pawl_activity *act, pawl_str input);
    /* A named place was reached: true, and the process dies here. */
    bool (*dies)(void *user, const char *point);
    /* An event was committed; `row` is its instance as it is now. */
    void (*event)(void *user, const pawl_row *row, const pawl_event *e);
    /* A commit changed this instance; after its events. */
    void (*changed)(void *user, const pawl_row *row);
    void (*log)(void *user, pawl_log_level level, const char *area, const char *text);
};

/* A call of a client, or of a test, that waits for its time. */
struct world_item {
    struct world_item *next; /* by time */
    int64_t at_ms;           /* mono */
    pawl_request request;    /* strings in world->mem */
    void (*fn)(void *arg);   /* instead of a request */
    void *arg;
    struct world *world;
    bool sent;
    unsigned tries; /* deaths it has seen; after a few it is let through */
};

/* What has been seen of one instance. */
struct world_seen {
    struct world_seen *next;
    uint64_t uid, execution, seq;
    pawl_str id;
};

struct world {
    pawl_app *code;    /* the author's; borrowed */
    pawl_app *app;     /* the same orchestrations, and activities that ask the hook */
    pawl_store *inner; /* survives crashes */
    pawl_store *store; /* as the runtime sees it */
    pawl_runtime *rt;
    struct world_hooks hooks;
    pawl_options options; /* of every runtime opened */
    int64_t wall_ms, mono_ms;
    uint64_t bytes; /* state of the random bytes */
    bool frozen;    /* dead, and the step has not returned yet */
    bool opening;
    uint64_t steps, crashes;
    pawl_mem mem;
    struct world_item *agenda;
    struct world_seen *seen;
    uint64_t keys;
    pawl_error trouble; /* the world itself cannot go on; status PAWL_OK: none */
    bool changes;       /* a commit happened since the last look */
};

/* False when it cannot be opened; w->trouble says why.  world_close() either way. */
bool world_open(struct world *w, pawl_app *code, const struct world_hooks *hooks,
                const pawl_options *options, uint64_t seed);
void world_close(struct world *w);

/* The process dies between two steps and is started again. */
void world_crash(struct world *w);
/* The same with other code, which is borrowed from now on. */
void world_deploy(struct world *w, pawl_app *code);

/* Put a call on the agenda, `in_ms` from now.  Strings are copied.  A raise or an
 * update without a key gets one, so that being made again does not raise twice. */
void world_call(struct world *w, int64_t in_ms, const pawl_request *request);
void world_call_fn(struct world *w, int64_t in_ms, void (*fn)(void *arg), void *arg);

/* Do what is ready now, once; false when there was nothing to do. */
bool world_step(struct world *w);
/* Let time pass until something is due, but not beyond `until_ms` (mono): false when
 * nothing will ever happen by itself, or not before that. */
bool world_pass(struct world *w, int64_t until_ms);
/* When something is due next, on the mono clock; INT64_MAX: never. */
int64_t world_next(struct world *w);
/* The wall clock alone jumps. */
void world_jump(struct world *w, int64_t by_ms);

/* From inside the activity hook: answer `in_ms` later, or never (in_ms < 0). */
pawl_result world_answer_later(struct world *w, pawl_activity *act, int64_t in_ms,
                               pawl_result result);
/* Can the running attempt time out? */
bool world_can_time_out(pawl_activity *act);

/* Put a row there, as another process or a late transaction might; false when refused. */
bool world_inject(struct world *w, const pawl_message *message);

/* The instance, in `mem`; false when there is none. */
bool world_find(struct world *w, const char *id, pawl_mem *mem, pawl_row *ret);
/* Why it does not go on, for people, in `mem`. */
pawl_str world_why(struct world *w, const char *id, pawl_mem *mem);

#endif
