/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/tally.c -- counts by name; see tally.h.
 *
 * The engine makes entries and counts; they stay until the runtime is closed, in a list
 * that only grows at its head, so any thread may read it meanwhile.
 */
#include "runtime/core/tally.h"

#include "base/misuse.h"
#include "runtime/core/tray.h"

#include <stdlib.h>
#include <string.h>

struct tally {
    struct tally *next;
    bool is_activity;
    atomic_ullong counts[PAWL_TALLY_COUNT];
    size_t len;
    char name[];
};

/* NULL: out of memory, and it is not counted. */
static struct tally *make(pawl_runtime *rt, struct tallies *t, bool is_activity, pawl_str name)
{
    struct tally *e = calloc(1, sizeof(*e) + name.len + 1);
    if (!e)
        return NULL;
    e->is_activity = is_activity;
    e->len = name.len;
    if (name.len)
        memcpy(e->name, name.ptr, name.len);
    if (!map_puts(&t->by_name, (pawl_str){e->name, e->len}, e)) {
        free(e);
        return NULL;
    }
    e->next = atomic_load_explicit(&rt->figures.tally_list, memory_order_relaxed);
    atomic_store_explicit(&rt->figures.tally_list, e, memory_order_release);
    return e;
}

static bool is_of(const struct tally *e, pawl_str name)
{
    return e && e->len == name.len && (!e->len || memcmp(e->name, name.ptr, e->len) == 0);
}

static void count(pawl_runtime *rt, bool is_activity, pawl_str name, pawl_tally_what what)
{
    struct tallies *t = &rt->figures.tallies[is_activity];
    struct tally *e = t->last; /* most often the one before, and a call without a tag */
    if (!is_of(e, name)) {
        if (is_activity)
            name = tray_activity(name);
        e = is_of(e, name) ? e : map_gets(&t->by_name, name);
    }
    if (!e && t->by_name.count >= TALLY_NAMES) {
        name = pawl_s("");
        e = map_gets(&t->by_name, name);
    }
    if (!e)
        e = make(rt, t, is_activity, name);
    t->last = e;
    if (e)
        atomic_fetch_add_explicit(&e->counts[what], 1, memory_order_relaxed);
}

void tally_activity(pawl_runtime *rt, pawl_str tray, pawl_tally_what what)
{
    count(rt, true, tray, what);
}

static pawl_tally_what how_it_ended(pawl_state state)
{
    return state == PAWL_COMPLETED ? PAWL_TALLY_COMPLETED
           : state == PAWL_FAILED  ? PAWL_TALLY_FAILED
                                   : PAWL_TALLY_CANCELLED;
}

void tally_stage(pawl_runtime *rt, const struct stage *s)
{
    if (s->change == PAWL_ROW_LAST || s->change == PAWL_ROW_NONE)
        return; /* neither begins nor ends */
    bool begins = s->change == PAWL_ROW_INSERT;
    if (begins)
        count(rt, false, s->row.orchestration, PAWL_TALLY_STARTED);
    if (pawl_state_is_terminal(s->row.state) &&
        (begins || !pawl_state_is_terminal(s->r->row.state)))
        count(rt, false, s->row.orchestration, how_it_ended(s->row.state));
}

void tally_free(pawl_runtime *rt)
{
    pthread_mutex_destroy(&rt->figures.count_lock);
    for (struct tally *e = atomic_load(&rt->figures.tally_list), *next; e; e = next) {
        next = e->next;
        free(e);
    }
    for (size_t i = 0; i < COUNT_OF(rt->figures.tallies); i++)
        map_deinit(&rt->figures.tallies[i].by_name);
}

size_t pawl_runtime_tallies(pawl_runtime *rt, pawl_mem *mem, const pawl_tally **ret)
{
    MUST_HAVE("a runtime, memory and room for the answer", rt && mem && ret);
    struct tally *first = atomic_load_explicit(&rt->figures.tally_list, memory_order_acquire);
    size_t n = 0;
    for (struct tally *e = first; e; e = e->next)
        n++;
    pawl_tally *list = pawl_mem_alloc(mem, (n + 1) * sizeof(*list));
    n = 0;
    for (struct tally *e = first; e; e = e->next) {
        list[n] = (pawl_tally){
            .name = {e->name, e->len},
              .is_activity = e->is_activity
        };
        for (size_t i = 0; i < PAWL_TALLY_COUNT; i++)
            list[n].counts[i] = atomic_load_explicit(&e->counts[i], memory_order_relaxed);
        n++;
    }
    *ret = list;
    return n;
}

void tally_open(pawl_runtime *rt)
{
    pthread_mutex_init(&rt->figures.count_lock, NULL);
    for (size_t i = 0; i < COUNT_OF(rt->figures.tallies); i++)
        map_init(&rt->figures.tallies[i].by_name);
}
