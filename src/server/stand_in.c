/* SPDX-License-Identifier: MIT */
/*
 * server/stand_in.c -- the loop works for the engine, and a second thread for the loop.
 *
 * The loop itself commits requests on queues while the engine sleeps (runtime/loop/lend.h):
 * that saves four wake-ups of threads per group.  Where commits take longer than a few
 * milliseconds the runtime does not lend.  But a disk may hang at any time; then the second
 * thread here serves the connections, so that health, streams and everything that needs no
 * commit are answered.
 *
 * Invariants:
 *  - `loop_lock` is held by the thread that uses the connections.  The loop
 *    releases it only while it works for the engine (`visit` is odd), which is at the end of a round, before it would sleep;
 *  - the stand-in looks every LOOK_MS while there are visits, takes `loop_lock` when one has
 *    lasted from one look to the next, and gives it back when that visit is over (the loop
 *    wakes it); without visits it sleeps for good;
 *  - the stand-in never works for the engine itself;
 *  - no lock is held while the loop works for the engine: `at_engine` says that it does, and
 *    stand_in_rest() returns when it has left and will not come again.
 *
 * Called by server_loop.c and server.c.
 */
#include "server/server.h"

#include "base/deadline.h"
#include "runtime/loop/lend.h"

#define LOOK_MS 20

/* ---- The loop ---------------------------------------------------------------------- */

/* Requests wait and the engine goes to sleep: make the loop come and commit them. */
static void wake_loop(void *arg)
{
    pawl_server *s = arg;
    atomic_store(&s->has_work, true);
    pthread_mutex_lock(&s->lock);
    bool wake = s->sleeps;
    s->sleeps = false;
    pthread_mutex_unlock(&s->lock);
    if (wake)
        loop_wake(s);
}

static void begin_visit(pawl_server *s)
{
    atomic_fetch_add(&s->visit, 1);
    if (atomic_load(&s->watch_asleep)) {
        pthread_mutex_lock(&s->lock);
        pthread_mutex_unlock(&s->lock);
        pthread_cond_signal(&s->watch_wake);
    }
    pthread_mutex_unlock(&s->loop_lock);
}

static void end_visit(pawl_server *s)
{
    atomic_fetch_add(&s->visit, 1);
    if (pthread_mutex_trylock(&s->loop_lock) == 0)
        return;
    loop_wake(s);
    pthread_mutex_lock(&s->loop_lock);
}

/* False: the runtime is about to go, or does not lend. */
static bool enter_runtime(pawl_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool may = s->at_engine = s->may_work;
    pthread_mutex_unlock(&s->lock);
    return may;
}

static void leave_runtime(pawl_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->at_engine = false;
    bool awaited = !s->may_work;
    pthread_mutex_unlock(&s->lock);
    if (awaited)
        pthread_cond_broadcast(&s->quiet);
}

bool stand_in_work(pawl_server *s)
{
    bool soon = false;
    if (s->stands_in || !atomic_exchange(&s->has_work, false)) {
        pawl_client_release();
        return false;
    }
    begin_visit(s);
    if (enter_runtime(s)) {
        soon = pawl_lend_work(s->client);
        leave_runtime(s);
    } else {
        pawl_client_release();
    }
    end_visit(s);
    if (soon)
        atomic_store(&s->has_work, true);
    return soon;
}

void stand_in_rest(pawl_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool lent = s->may_work;
    s->may_work = false;
    while (s->at_engine)
        pthread_cond_wait(&s->quiet, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (lent) /* what the loop left is the engine's */
        (void)pawl_lend_to(s->client, NULL, NULL);
}

/* ---- The other thread --------------------------------------------------------------- */

static void stand_in(pawl_server *s, unsigned long long visit)
{
    pthread_mutex_lock(&s->loop_lock);
    s->stands_in = true;
    pawl_client_hold();
    while (atomic_load(&s->visit) == visit)
        httpd_round(s->httpd);
    pawl_client_release();
    s->stands_in = false;
    pthread_mutex_unlock(&s->loop_lock);
}

/* Until there is a visit, or the next look; the lock is held. */
static void wait_a_look(pawl_server *s, unsigned long long visit, bool idle)
{
    if (!idle) {
        struct timespec until = deadline_in(LOOK_MS);
        (void)pthread_cond_timedwait(&s->watch_wake, &s->lock, &until);
        return;
    }
    atomic_store(&s->watch_asleep, true);
    while (atomic_load(&s->visit) == visit && !s->watch_stop)
        pthread_cond_wait(&s->watch_wake, &s->lock);
    atomic_store(&s->watch_asleep, false);
}

static void *watch(void *arg)
{
    pawl_server *s = arg;
    pthread_mutex_lock(&s->lock);
    for (unsigned long long seen = 0; !s->watch_stop;) {
        unsigned long long visit = atomic_load(&s->visit);
        bool lasts = visit == seen && visit % 2 == 1;
        if (lasts) {
            pthread_mutex_unlock(&s->lock);
            stand_in(s, visit);
            pthread_mutex_lock(&s->lock);
        }
        wait_a_look(s, visit, visit == seen && !lasts);
        seen = visit;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void allow_work(pawl_server *s, bool may)
{
    pthread_mutex_lock(&s->lock);
    s->may_work = may;
    pthread_mutex_unlock(&s->lock);
}

bool stand_in_start(pawl_server *s)
{
    s->has_stand_in = pthread_create(&s->stand_in, NULL, watch, s) == 0;
    if (!s->has_stand_in)
        return false;
    allow_work(s, true); /* first: a loop that was called comes */
    if (!pawl_lend_to(s->client, wake_loop, s))
        allow_work(s, false);
    return true;
}

void stand_in_stop(pawl_server *s)
{
    if (!s->has_stand_in)
        return;
    pthread_mutex_lock(&s->lock);
    s->watch_stop = true;
    pthread_mutex_unlock(&s->lock);
    pthread_cond_signal(&s->watch_wake);
    pthread_join(s->stand_in, NULL);
    s->has_stand_in = false;
}
