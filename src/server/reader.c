/* SPDX-License-Identifier: MIT */
/*
 * server/reader.c -- threads for reads that may take a while.
 *
 * Reading calls never wait for the engine, but a long history takes
 * milliseconds; the loop must not wait for that.  Handlers of routes
 * marked ON_READER run here, and whatever else reads the store for a call
 * (instance_wait.c).  Then the call goes back to the loop with its answer, unless the
 * handler gave it to another thread (reader_keep).
 *
 * Clients that are gone cost nothing.  A call whose client is lost is taken out before a
 * reader sees it.  A client that only stopped sending may still read, so its call is not
 * refused; but most of these clients are gone, so such calls are served when no other call
 * waits, and by one reader at a time: the other readers stay free for the next calls.
 *
 * Large answers that the loop has not taken yet are bounded: beyond UNTAKEN_BYTES readers wait.
 * Otherwise a loop that gets little of the processor finds hundreds of them at once, before it
 * can apply its own budget (http/slow.c).
 */
#include "server/server.h"

#include "base/arena.h"

#define SLIM_BYTES    ((size_t)1 << 20)
#define LARGE_BYTES   ((size_t)256 << 10) /* smaller answers do not count */
#define UNTAKEN_BYTES ((size_t)64 << 20)

static _Thread_local bool kept;

static void put(struct reader_line *lane, struct call *c)
{
    c->place.next = NULL;
    c->place.prev = lane->last;
    *(lane->last ? &lane->last->place.next : &lane->first) = c;
    lane->last = c;
    c->place.lane = lane;
}

static void take(struct call *c)
{
    *(c->place.prev ? &c->place.prev->place.next : &c->place.lane->first) = c->place.next;
    *(c->place.next ? &c->place.next->place.prev : &c->place.lane->last) = c->place.prev;
    c->place.lane = NULL;
}

/* ---- The threads ------------------------------------------------------------------- */

/* The next call, under the lock; *late: its client may be gone. */
static struct call *choose(pawl_server *s, bool *late)
{
    struct reader_line *lane = s->reads.first || s->late_busy ? &s->reads : &s->late;
    struct call *c = s->read_stop || s->untaken > UNTAKEN_BYTES ? NULL : lane->first;
    *late = c && lane == &s->late;
    if (c)
        take(c);
    if (*late)
        s->late_busy = true;
    return c;
}

static struct call *next_call(pawl_server *s, bool *late)
{
    struct call *c;
    pthread_mutex_lock(&s->read_lock);
    if (*late)
        s->late_busy = false;
    while (!(c = choose(s, late)) && !s->read_stop)
        pthread_cond_wait(&s->read_wake, &s->read_lock);
    pthread_mutex_unlock(&s->read_lock);
    return c;
}

/* Free what was read: a large answer may wait long for its client. */
static void slim(struct call *c)
{
    if (!c->answer.status || c->place.on_back ||
        arena_bytes(c->mem) < c->answer.body.len + c->answer.body.len / 4 + SLIM_BYTES)
        return;
    pawl_mem *mem = pawl_mem_new();
    if (!mem)
        return;
    c->answer.body = pawl_mem_dup(mem, c->answer.body);
    pawl_mem_free(c->mem); /* arguments and parameters with it: the call is answered */
    c->mem = mem;
}

static void count_large(struct call *c)
{
    if (c->answer.body.len < LARGE_BYTES)
        return;
    c->place.untaken = c->answer.body.len;
    pthread_mutex_lock(&c->srv->read_lock);
    c->srv->untaken += c->place.untaken;
    pthread_mutex_unlock(&c->srv->read_lock);
}

static void *reader_thread(void *arg)
{
    pawl_server *s = arg;
    bool late = false;
    for (struct call *c; (c = next_call(s, &late));) {
        kept = false;
        c->place.read(c);
        if (kept) /* `c` may be gone */
            continue;
        slim(c);
        count_large(c);
        call_done(c);
    }
    return NULL;
}

void reader_keep(void)
{
    kept = true;
}

/* ---- The loop ------------------------------------------------------------------------ */

static void refuse(struct call *c)
{
    wait_leave(c);
    answer_error(c, 503, "shutdown", "the server is stopping; try again");
    c->answer.retry_after = 1;
}

void reader_post(struct call *c, void (*read)(struct call *c))
{
    pawl_server *s = c->srv;
    c->place.read = read;
    pthread_mutex_lock(&s->read_lock);
    bool posted = !s->read_stop;
    if (posted)
        put(c->place.asker == ASKER_HERE ? &s->reads : &s->late, c);
    pthread_mutex_unlock(&s->read_lock);
    if (!posted) {
        refuse(c);
        return;
    }
    pthread_cond_signal(&s->read_wake);
    if (!c->place.is_away)
        call_away(c);
}

void reader_taken(struct call *c)
{
    pawl_server *s = c->srv;
    if (!c->place.untaken)
        return;
    pthread_mutex_lock(&s->read_lock);
    s->untaken -= c->place.untaken;
    pthread_mutex_unlock(&s->read_lock);
    c->place.untaken = 0;
    pthread_cond_broadcast(&s->read_wake); /* readers may have waited for it */
}

bool reader_drop(struct call *c)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->read_lock);
    bool waits = c->place.lane;
    if (waits)
        take(c);
    pthread_mutex_unlock(&s->read_lock);
    return waits;
}

void reader_put_off(struct call *c)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->read_lock);
    if (c->place.lane == &s->reads) {
        take(c);
        put(&s->late, c);
    }
    pthread_mutex_unlock(&s->read_lock);
    pthread_cond_signal(&s->read_wake); /* the one woken for it may have found nothing */
}

/* ---- Starting and stopping -------------------------------------------------------------- */

bool reader_start(pawl_server *s)
{
    while (s->reader_count < READERS &&
           pthread_create(&s->readers[s->reader_count], NULL, reader_thread, s) == 0)
        s->reader_count++;
    return s->reader_count == READERS;
}

/* Calls that still wait are refused: the time to answer is over. */
static void refuse_all(struct reader_line *lane)
{
    for (struct call *c; (c = lane->first);) {
        take(c);
        c->place.on_back = NULL;
        refuse(c);
        call_done(c);
    }
}

void reader_stop(pawl_server *s)
{
    pthread_mutex_lock(&s->read_lock);
    s->read_stop = true;
    pthread_mutex_unlock(&s->read_lock);
    pthread_cond_broadcast(&s->read_wake);
    while (s->reader_count)
        pthread_join(s->readers[--s->reader_count], NULL);
    pthread_mutex_lock(&s->read_lock); /* the loop may still drop one */
    refuse_all(&s->reads);
    refuse_all(&s->late);
    pthread_mutex_unlock(&s->read_lock);
}
