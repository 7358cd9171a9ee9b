/* SPDX-License-Identifier: MIT */
/*
 * server/stand_in.c -- the loop works for the engine, and a second thread for the loop.
 *
 * Requests on queues are committed by the loop itself where the engine sleeps
 * (pawl_client_work): four wakings of threads fewer for each group.  Where commits take
 * longer than a few milliseconds the runtime does not lend.  But a disk may hang at any
 * time; then the second thread here goes on with the connections, so that health,
 * streams and whatever needs no commit are served.
 *
 * Invariants:
 *  - `round` is held by the thread that uses the connections.  The loop lets go of it only while it is
 *    with the engine (`visit` is odd), which is at the end of a round, before it would sleep;
 *  - the stand-in looks every LOOK_MS while there are visits, takes the round when one has
 *    lasted from one look to the next, and gives it back when that visit is over (the loop
 *    wakes it); without visits it sleeps for good;
 *  - the stand-in never works for the engine itself;
 *  - under `works` the runtime is there: stand_in_rest() returns when the loop has left it.
 *
 * Called by loop.c and server.c.
 */
#include "server/server.h"

#include "base/deadline.h"

#define LOOK_MS 20

/* ---- The loop ---------------------------------------------------------------------- */

/* Requests lie there and the engine goes to sleep: see to it that the loop comes by. */
static void come(void *arg)
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
        pthread_mutex_lock(&s->watch_lock);
        pthread_mutex_unlock(&s->watch_lock);
        pthread_cond_signal(&s->watch_wake);
    }
    pthread_mutex_unlock(&s->round);
}

static void end_visit(pawl_server *s)
{
    atomic_fetch_add(&s->visit, 1);
    if (pthread_mutex_trylock(&s->round) == 0)
        return;
    loop_wake(s);
    pthread_mutex_lock(&s->round);
}

bool stand_in_work(pawl_server *s)
{
    bool soon = false;
    if (s->stands_in || !atomic_exchange(&s->has_work, false)) {
        pawl_client_release();
        return false;
    }
    begin_visit(s);
    pthread_mutex_lock(&s->works);
    if (s->may_work)
        soon = pawl_client_work(s->client);
    else
        pawl_client_release();
    pthread_mutex_unlock(&s->works);
    end_visit(s);
    if (soon)
        atomic_store(&s->has_work, true);
    return soon;
}

void stand_in_rest(pawl_server *s)
{
    pthread_mutex_lock(&s->works);
    if (s->may_work)
        (void)pawl_client_lend(s->client, NULL, NULL);
    s->may_work = false;
    pthread_mutex_unlock(&s->works);
}

/* ---- The other thread --------------------------------------------------------------- */

static void stand_in(pawl_server *s, unsigned long long visit)
{
    pthread_mutex_lock(&s->round);
    s->stands_in = true;
    pawl_client_hold();
    while (atomic_load(&s->visit) == visit)
        httpd_round(s->httpd);
    pawl_client_release();
    s->stands_in = false;
    pthread_mutex_unlock(&s->round);
}

/* Until there is a visit, or the next look; `watch_lock` is held. */
static void wait_a_look(pawl_server *s, unsigned long long visit, bool idle)
{
    if (!idle) {
        struct timespec until = deadline_in(LOOK_MS);
        (void)pthread_cond_timedwait(&s->watch_wake, &s->watch_lock, &until);
        return;
    }
    atomic_store(&s->watch_asleep, true);
    while (atomic_load(&s->visit) == visit && !s->watch_stop)
        pthread_cond_wait(&s->watch_wake, &s->watch_lock);
    atomic_store(&s->watch_asleep, false);
}

static void *watch(void *arg)
{
    pawl_server *s = arg;
    pthread_mutex_lock(&s->watch_lock);
    for (unsigned long long seen = 0; !s->watch_stop;) {
        unsigned long long visit = atomic_load(&s->visit);
        bool lasts = visit == seen && visit % 2 == 1;
        if (lasts) {
            pthread_mutex_unlock(&s->watch_lock);
            stand_in(s, visit);
            pthread_mutex_lock(&s->watch_lock);
        }
        wait_a_look(s, visit, visit == seen && !lasts);
        seen = visit;
    }
    pthread_mutex_unlock(&s->watch_lock);
    return NULL;
}

bool stand_in_start(pawl_server *s)
{
    s->has_stand_in = pthread_create(&s->stand_in, NULL, watch, s) == 0;
    if (!s->has_stand_in)
        return false;
    pthread_mutex_lock(&s->works);
    s->may_work = pawl_client_lend(s->client, come, s);
    pthread_mutex_unlock(&s->works);
    return true;
}

void stand_in_stop(pawl_server *s)
{
    if (!s->has_stand_in)
        return;
    pthread_mutex_lock(&s->watch_lock);
    s->watch_stop = true;
    pthread_mutex_unlock(&s->watch_lock);
    pthread_cond_signal(&s->watch_wake);
    pthread_join(s->stand_in, NULL);
    s->has_stand_in = false;
}
