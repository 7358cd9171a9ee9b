/* SPDX-License-Identifier: MIT */
/* tests/vfs/world.c -- see world.h. */
#include "world.h"

#include "runtime/core/health.h"
#include "runtime/life/close.h"
#include "runtime/loop/loop.h"
#include "runtime/work/activity.h"
#include "store/sqlite/sqlite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVES_MAX 40
#define TRIES_MAX 40
#define HOPS_MAX  400

static struct world *current;

void world_trouble(struct world *w, const char *format, ...)
{
    va_list args;
    if (w->trouble[0])
        return;
    va_start(args, format);
    (void)vsnprintf(w->trouble, sizeof(w->trouble), format, args);
    va_end(args);
}

/* ---- What the runtime takes from outside ------------------------------------------ */

static int64_t now_ms(void *user)
{
    return ((struct world *)user)->now;
}

static int64_t mono_ms(void *user)
{
    return ((struct world *)user)->mono;
}

static void dice(void *user, void *to, size_t n)
{
    struct world *w = user;
    for (size_t i = 0; i < n; i++) {
        w->dice = w->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((unsigned char *)to)[i] = (unsigned char)(w->dice >> 56);
    }
}

/* For a debugger of people: PAWL_WORLD_LOG=1. */
static void say(void *user, pawl_log_level level, const char *area, const char *text)
{
    (void)user, (void)level;
    if (getenv("PAWL_WORLD_LOG"))
        fprintf(stderr, "%s: %s\n", area, text);
}

/* By --wrap: an activity begins. */
extern void __real_activity_run(pawl_runtime *rt, struct job *job);
extern void __wrap_activity_run(pawl_runtime *rt, struct job *job);

void __wrap_activity_run(pawl_runtime *rt, struct job *job)
{
    if (current && current->acted)
        current->acted(current, &job->work);
    __real_activity_run(rt, job);
}

/* ---- Up and down ------------------------------------------------------------------- */

void world_init(struct world *w, const struct story *story)
{
    *w = (struct world){.story = story, .now = 1700000000000, .mono = 1000};
    current = w;
}

/* In story order: checkpoints come with every commit, not with every 2,000th page. */
static void tighten(struct world *w)
{
    if (w->story->tight && w->rt)
        sqlite_of(w->rt->store)->checkpoint_at = 1;
}

bool world_up(struct world *w)
{
    pawl_env env = {.user = w, .now_ms = now_ms, .mono_ms = mono_ms, .random = dice};
    pawl_error err = {0};
    current = w;
    if (w->rt)
        return true;
    if (!w->app) {
        disk_enter(); /* a program that cannot register its code does not begin */
        w->app = pawl_app_new();
        stories_register(w->app);
        disk_leave();
    }
    w->rt = pawl_runtime_open(
        w->app,
        PAWL_OPTIONS(.data = WORLD_DATA, .env = &env, .log = say, .log_level = PAWL_LOG_DEBUG),
        &err);
    if (!w->rt && ++w->lives > LIVES_MAX)
        world_trouble(w, "cannot open: %.300s", err.text);
    tighten(w);
    return w->rt != NULL;
}

void world_abandon(struct world *w)
{
    w->rt = NULL;
    w->app = NULL;
    w->abandoned++;
    disk_lose_process();
    if (++w->lives > LIVES_MAX)
        world_trouble(w, "ended again and again");
}

void world_close(struct world *w)
{
    pawl_runtime_close(w->rt);
    if (w->app)
        pawl_app_free(w->app);
    w->rt = NULL;
    w->app = NULL;
}

/* Until nothing is ready; false: the runtime is gone. */
static bool settle(struct world *w)
{
    for (int i = 0; i < 20000 && !w->trouble[0]; i++) {
        int done = pawl_runtime_step(w->rt, 0);
        tighten(w);
        if (done < 0) {
            world_abandon(w);
            if (w->ended)
                w->ended(w);
            return false;
        }
        if (!done && !w->rt->shares.queued && !w->rt->inbox.first &&
            loop_idle_until(w->rt) > w->mono)
            return true;
    }
    world_trouble(w, "does not come to rest");
    return false;
}

static bool advance(struct world *w, int64_t most)
{
    if (!world_up(w) || !settle(w))
        return false;
    int64_t until = loop_idle_until(w->rt);
    if (until == INT64_MAX && most == INT64_MAX)
        return false;
    if (until - w->mono > most)
        until = w->mono + most;
    w->now += until - w->mono;
    w->mono = until;
    return settle(w);
}

/* To the next due time; false: there is none, or the runtime is gone. */
static bool hop(struct world *w)
{
    return advance(w, INT64_MAX);
}

/* Trouble passes; the story's own times do not come nearer than that. */
static void wait_a_little(struct world *w)
{
    (void)advance(w, 100);
}

/* ---- Steps ------------------------------------------------------------------------------ */

struct answer {
    struct world *w;
    bool done;
    pawl_status status;
};

static void told(struct answer *a, pawl_status status)
{
    a->done = true;
    a->status = status;
    if (status == PAWL_OK) {
        a->w->answered++;
        if (a->w->told)
            a->w->told(a->w);
    }
}

static void on_reply(void *arg, const pawl_reply *reply)
{
    told(arg, reply->status);
}

static void on_queue_reply(void *arg, const pawl_queue_reply *reply)
{
    struct answer *a = arg;
    if (reply->status == PAWL_OK && reply->locked)
        (void)snprintf(a->w->lock, sizeof(a->w->lock), "%.*s", PAWL_FMT(reply->lock_id));
    told(a, reply->status);
}

static pawl_status submit(struct world *w, const struct story_step *step, struct answer *a)
{
    pawl_client *c = pawl_runtime_client(w->rt);
    pawl_error err = {0};
    if (step->call.size)
        return pawl_client_submit(c, &step->call, on_reply, a, &err);
    pawl_queue_request request = step->queue;
    const char *id = w->lock;
    if (step->locked) {
        request.lock_ids = &id;
        request.lock_count = 1;
    }
    return pawl_queue_submit(c, &request, on_queue_reply, a, &err);
}

/* Trouble of the machine: to be tried again, by client or user. */
static bool is_trouble(pawl_status status)
{
    return status == PAWL_UNAVAILABLE || status == PAWL_BUSY || status == PAWL_DISK_FULL ||
           status == PAWL_UNKNOWN || status == PAWL_NO_MEMORY || status == PAWL_SHUTDOWN;
}

/* What an unanswered call did is no error to the one that repeats it; a lock may be over. */
static bool is_fine(const struct story_step *step, pawl_status status, bool again)
{
    return status == PAWL_OK ||
           (again && !is_trouble(status) &&
            (status == PAWL_CONFLICT || status == PAWL_NOT_FOUND || status == PAWL_EXISTS ||
             ((step->queue.size != 0) && (status == PAWL_LOST || status == PAWL_INVALID))));
}

/* After a failed commit, or a turn without memory: it goes on in a moment. */
static bool pauses(const struct world *w)
{
    return w->rt->health.failures || health_retry_at(w->rt) > w->mono;
}

enum attempt { ATTEMPT_DONE, ATTEMPT_AGAIN, ATTEMPT_LOCKED, ATTEMPT_WRONG };

static enum attempt attempt(struct world *w, const struct story_step *step)
{
    disk_enter();
    struct answer *a = calloc(1, sizeof(*a)); /* an abandoned runtime may still know it */
    disk_leave();
    if (!a || !world_up(w)) {
        free(a);
        return ATTEMPT_AGAIN;
    }
    a->w = w;
    pawl_status status = submit(w, step, a);
    int lives = w->lives;
    for (int i = 0; status == PAWL_OK && i < HOPS_MAX && !w->trouble[0]; i++) {
        if (!settle(w) || lives != w->lives)
            return ATTEMPT_AGAIN;
        if (a->done)
            break;
        wait_a_little(w);
        if (lives != w->lives)
            return ATTEMPT_AGAIN;
    }
    if (status == PAWL_OK)
        status = a->done ? a->status : PAWL_TIMEOUT;
    free(a);
    /* By a pop that nobody heard the answer of: its lock runs out. */
    bool is_locked = step->queue.size && step->queue.op == PAWL_QUEUE_POP &&
                     status == PAWL_CONFLICT && (w->again || w->story->loose);
    bool runs_on = w->disturbed && status == PAWL_CONFLICT && step->call.size &&
                   step->call.op == PAWL_OP_REMOVE && !step->call.force;
    is_locked = is_locked || runs_on;
    if (!is_locked && is_fine(step, status, w->again)) {
        for (int i = 0; i < HOPS_MAX && w->rt && pauses(w); i++)
            wait_a_little(w); /* what it began is done before the next */
        for (int i = 0; i < 3 && w->rt && w->disturbed; i++)
            wait_a_little(w);
        return ATTEMPT_DONE;
    }
    if (is_trouble(status) || is_locked)
        return is_locked ? ATTEMPT_LOCKED : ATTEMPT_AGAIN;
    world_trouble(w, "step %zu was answered with %s", w->at, pawl_status_text(status));
    return ATTEMPT_WRONG;
}

static void do_step(struct world *w, const struct story_step *step)
{
    for (int tries = 0; tries < TRIES_MAX && !w->trouble[0]; tries++) {
        if (tries)
            wait_a_little(w);
        enum attempt got = attempt(w, step);
        if (got == ATTEMPT_LOCKED)
            (void)hop(w);
        else if (got != ATTEMPT_AGAIN)
            return;
        w->again = true;
    }
    world_trouble(w, "step %zu was never answered well", w->at);
}

static void act(struct world *w, enum story_act what)
{
    if (what == ACT_CLOSE) {
        world_close(w);
    } else if (what == ACT_DIE) {
        world_abandon(w);
    } else if (what == ACT_DIRTY) {
        enum disk_fault fault;
        (void)disk_open(WORLD_DATA "/dirty", true, &fault);
        world_abandon(w);
    } else {
        (void)hop(w);
    }
    (void)world_up(w);
}

static bool is_end(const struct story_step *s)
{
    return !s->call.size && !s->queue.size && s->act == ACT_NONE;
}

bool story_removes(const struct story *story)
{
    for (size_t i = 0; i < STORY_STEPS; i++) {
        const pawl_request *call = &story->steps[i].call;
        if (call->size && (call->op == PAWL_OP_REMOVE || call->op == PAWL_OP_PRUNE))
            return true;
    }
    return false;
}

/* ---- The end ------------------------------------------------------------------------------ */

static bool all_ended(struct world *w)
{
    pawl_row_list rows = {0};
    pawl_error err;
    disk_enter();
    pawl_mem *mem = pawl_mem_new();
    bool ended = w->rt->store->ops->list(w->rt->store, &(pawl_row_query){.limit = 100}, mem, &rows,
                                         &err) == PAWL_OK;
    for (size_t i = 0; i < rows.count; i++)
        ended = ended && pawl_state_is_terminal(rows.items[i].state);
    pawl_mem_free(mem);
    disk_leave();
    return ended;
}

bool world_tell(struct world *w)
{
    for (int i = 0; i < LIVES_MAX && !w->trouble[0] && !world_up(w); i++)
        ;
    for (; w->at < STORY_STEPS && !is_end(&w->story->steps[w->at]) && !w->trouble[0]; w->at++) {
        const struct story_step *step = &w->story->steps[w->at];
        if (step->act != ACT_NONE)
            act(w, step->act);
        else
            do_step(w, step);
        w->again = false;
    }
    for (int i = 0; i < HOPS_MAX && !w->trouble[0]; i++) {
        if (!world_up(w) || !settle(w))
            continue;
        if (all_ended(w))
            break;
        (void)hop(w);
    }
    for (int i = 0; i < 30 && !w->trouble[0]; i++) /* what is late is dropped */
        (void)hop(w);
    return !w->trouble[0];
}
