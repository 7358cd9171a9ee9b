/* SPDX-License-Identifier: MIT */
/* server/stream_notes.c -- see stream_notes.h. */
#include "server/stream_notes.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

struct note {
    struct note *next;
    pawl_state state;
    uint64_t execution, seq;
    bool is_queue;
    bool created, removed; /* since the batch before */
    char *orchestration;   /* owned; NULL: its state did not change */
    pawl_str name;         /* behind the struct */
};

void notes_init(struct notes *t, const struct notes_bounds *bounds)
{
    t->bounds = bounds;
    t->end = &t->first;
    map_init(&t->noted[0]);
    map_init(&t->noted[1]);
}

void notes_drop(struct notes *t)
{
    while (t->first) {
        struct note *n = t->first;
        t->first = n->next;
        free(n->orchestration);
        free(n);
    }
    t->end = &t->first;
    t->more = false;
    map_reset(&t->noted[0]);
    map_reset(&t->noted[1]);
    atomic_store(&t->full[0], false);
    atomic_store(&t->full[1], false);
}

void notes_deinit(struct notes *t)
{
    notes_drop(t);
    map_deinit(&t->noted[0]);
    map_deinit(&t->noted[1]);
    for (size_t i = 0; i < NOTES_RING; i++)
        free(t->ring[i]);
}

/* ---- Notes: any thread -------------------------------------------------------------- */

bool notes_count(struct notes *t, size_t changes)
{
    atomic_fetch_add_explicit(&t->count, changes, memory_order_relaxed);
    return !atomic_load(&t->some) && !atomic_exchange(&t->some, true);
}

bool notes_want(const struct notes *t, const pawl_change *change)
{
    return atomic_load_explicit(&t->on, memory_order_relaxed) &&
           !atomic_load_explicit(&t->full[change->queue.len > 0], memory_order_relaxed);
}

static bool is_full(struct notes *t, bool is_queue)
{
    if (!t->bounds->is_sample)
        return t->noted[0].count + t->noted[1].count >= t->bounds->names;
    return t->noted[is_queue].count >= t->bounds->names;
}

static struct note *note_of(struct notes *t, pawl_str name, bool is_queue)
{
    struct note *n = map_gets(&t->noted[is_queue], name);
    if (n)
        return n;
    if (is_full(t, is_queue)) {
        t->more = true;
        return NULL;
    }
    n = calloc(1, sizeof(*n) + name.len + 1);
    if (!n)
        return NULL;
    memcpy((char *)(n + 1), name.ptr, name.len);
    n->name = (pawl_str){(char *)(n + 1), name.len};
    n->is_queue = is_queue;
    if (!map_puts(&t->noted[is_queue], n->name, n)) {
        free(n);
        return NULL;
    }
    *t->end = n;
    t->end = &n->next;
    if (t->bounds->is_sample)
        atomic_store(&t->full[is_queue], is_full(t, is_queue));
    return n;
}

void notes_take(struct notes *t, const pawl_change *c)
{
    bool is_queue = c->queue.len > 0;
    struct note *n = note_of(t, is_queue ? c->queue : c->instance, is_queue);
    if (!n || is_queue)
        return;
    n->state = c->state;
    n->execution = c->execution;
    n->seq = c->last_seq;
    n->created = n->created || c->was < 0;
    n->removed = c->removed;
    if (c->orchestration.len && !n->orchestration)
        n->orchestration = strndup(c->orchestration.ptr, c->orchestration.len);
}

/* ---- Batches: the loop ---------------------------------------------------------------- */

static void write_instance(pawl_json *w, const struct note *n)
{
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_str(w, n->name);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, pawl_state_name(n->state));
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)n->execution);
    pawl_json_key(w, "seq");
    pawl_json_num(w, (int64_t)n->seq);
    if (n->orchestration) {
        pawl_json_key(w, "orchestration");
        pawl_json_cstr(w, n->orchestration);
    }
    if (n->created) {
        pawl_json_key(w, "created");
        pawl_json_truth(w, true);
    }
    if (n->removed) {
        pawl_json_key(w, "removed");
        pawl_json_truth(w, true);
    }
    pawl_json_end(w);
}

static void write_names(const struct notes *t, pawl_json *w)
{
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    for (const struct note *n = t->first; n; n = n->next)
        if (!n->is_queue)
            write_instance(w, n);
    pawl_json_end(w);
    pawl_json_key(w, "queues");
    pawl_json_array(w);
    for (const struct note *n = t->first; n; n = n->next)
        if (n->is_queue)
            pawl_json_str(w, n->name);
    pawl_json_end(w);
}

static void write_batch(const struct notes *t, pawl_json *w, uint64_t count, size_t names)
{
    pawl_json_object(w);
    write_names(t, w);
    pawl_json_key(w, "count");
    pawl_json_num(w, (int64_t)count);
    if (t->more || (t->bounds->is_sample && count > names)) {
        pawl_json_key(w, "more");
        pawl_json_truth(w, true);
    }
    pawl_json_end(w);
}

static void keep(struct notes *t, pawl_mem *mem, int64_t life, pawl_json *w)
{
    t->last++;
    pawl_str text = pawl_mem_printf(mem, "id: %llx-%s%llu\nevent: changes\ndata: %s\n\n",
                                    (unsigned long long)life, t->bounds->mark,
                                    (unsigned long long)t->last, pawl_json_done(w).ptr);
    free(t->ring[t->last % NOTES_RING]);
    t->ring[t->last % NOTES_RING] = strdup(text.ptr);
}

/* `some` goes before the count is taken: a change that is counted without the lock is in this
 * batch, or makes the next one. */
bool notes_batch(struct notes *t, pthread_mutex_t *lock, int64_t life, int64_t now_ms)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json *w = pawl_json_new(mem);
    pthread_mutex_lock(lock);
    atomic_store(&t->some, false);
    uint64_t count = atomic_exchange(&t->count, 0);
    size_t names = t->noted[0].count + t->noted[1].count;
    int64_t pause_ms = (int64_t)names * t->bounds->name_ms;
    if (count)
        write_batch(t, w, count, names);
    notes_drop(t);
    pthread_mutex_unlock(lock);
    if (count)
        keep(t, mem, life, w);
    pawl_mem_free(mem);
    t->batch_at_ms = now_ms + (pause_ms > t->bounds->every_ms ? pause_ms : t->bounds->every_ms);
    return count;
}
