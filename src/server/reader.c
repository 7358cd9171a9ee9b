/* SPDX-License-Identifier: MIT */
/*
 * server/reader.c -- a thread for reads that may take a while.
 *
 * Reading calls never wait for the engine, but a long history takes
 * milliseconds; the loop must not stand still for that.  Handlers of routes
 * marked ON_READER run here, one call at a time, and the call goes back to the
 * loop with its answer, unless the handler gave it to somebody else
 * (it sets reader_kept before).
 */
#include "server/server.h"

static struct call *next_call(pawl_server *s)
{
    pthread_mutex_lock(&s->read_lock);
    while (!s->reads && !s->read_stop)
        pthread_cond_wait(&s->read_wake, &s->read_lock);
    struct call *c = s->reads;
    if (c) {
        s->reads = c->next;
        if (!s->reads)
            s->reads_end = &s->reads;
    }
    pthread_mutex_unlock(&s->read_lock);
    return c;
}

static void *reader_thread(void *arg)
{
    pawl_server *s = arg;
    for (struct call *c; (c = next_call(s));) {
        s->reader_kept = false;
        c->route->handle(c);
        if (!s->reader_kept) /* else `c` may be gone */
            call_done(c);
    }
    return NULL;
}

void reader_post(struct call *c)
{
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->read_lock);
    c->next = NULL;
    *s->reads_end = c;
    s->reads_end = &c->next;
    pthread_mutex_unlock(&s->read_lock);
    pthread_cond_signal(&s->read_wake);
}

bool reader_start(pawl_server *s)
{
    s->reads_end = &s->reads;
    s->has_reader = pthread_create(&s->reader, NULL, reader_thread, s) == 0;
    return s->has_reader;
}

void reader_stop(pawl_server *s)
{
    if (!s->has_reader)
        return;
    pthread_mutex_lock(&s->read_lock);
    s->read_stop = true;
    pthread_mutex_unlock(&s->read_lock);
    pthread_cond_signal(&s->read_wake);
    pthread_join(s->reader, NULL);
    s->has_reader = false;
}
