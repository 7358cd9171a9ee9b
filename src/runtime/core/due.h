/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/due.h -- what is due in the store, and what is to be fetched from it. [engine]
 *
 * Code that changes rows says here when they are due; loop.c looks, fetches and asks the store.
 */
#ifndef PAWL_RUNTIME_DUE_H
#define PAWL_RUNTIME_DUE_H

#include "runtime/core/runtime.h"

/* Something is due then. */
static inline void due_at(pawl_runtime *rt, int64_t at_ms)
{
    if (at_ms < rt->due.next_ms)
        rt->due.next_ms = at_ms;
}

/* What is due next is not known: ask the store. */
static inline void due_ask(pawl_runtime *rt)
{
    rt->due.ask = true;
}

/* Messages lie in the store that may be delivered now. */
static inline void due_fetch(pawl_runtime *rt)
{
    rt->due.fetch_messages = true;
}

static inline bool due_has_mail(const pawl_runtime *rt)
{
    return rt->due.fetch_messages;
}

/* The store has messages that this process sent and did not deliver from memory.  Until all of them
 * are fetched, newer ones wait in the store, too, and do not overtake them. */
static inline void due_mail_lies(pawl_runtime *rt)
{
    rt->due.mail_lies = rt->due.fetch_messages = true;
}

static inline bool due_has_lying_mail(const pawl_runtime *rt)
{
    return rt->due.mail_lies;
}

/* Are there rows whose deadline may have passed? */
static inline void due_deadlines(pawl_runtime *rt, bool look)
{
    rt->due.look_deadlines = look;
}

/* Rows of what was removed are left: delete them when there is nothing else to do. */
static inline void due_purge(pawl_runtime *rt)
{
    rt->due.purge_left = true;
}

/* Of the zones of schedules (schedule_zones.h). */
static inline struct zones *due_zones(pawl_runtime *rt)
{
    return &rt->due.zones;
}

/* Are schedules to be gone through? */
static inline bool due_has_zones(const pawl_runtime *rt)
{
    return rt->due.zones.walking;
}

/* A store that was just opened: look at everything. */
static inline void due_all(pawl_runtime *rt)
{
    rt->due.fetch_messages = rt->due.look_deadlines = rt->due.ask = rt->due.purge_left = true;
    rt->due.next_ms = INT64_MAX;
    rt->due.looked_ms = rt->now_ms;
}

#endif
