/* SPDX-License-Identifier: MIT */
/* store/postgres/pg_work_names.c -- see the header. */
#include "store/postgres/pg_work_names.h"

#define NAMES_MAX 16384

bool pg_work_init(struct pg_store *s)
{
    idset_init(&s->work);
    idset_init(&s->loose);
    s->names = calloc(1, sizeof *s->names);
    if (!s->names)
        return false;
    map_init(&s->names->by_name);
    idset_init(&s->names->abandoned);
    return true;
}

struct pg_name *pg_name_of(struct pg_store *s, pawl_str name)
{
    struct pg_name *n = map_gets(&s->names->by_name, name);

    if (n)
        return n;
    n = calloc(1, sizeof *n + name.len + 1);
    if (!n)
        return NULL;
    if (name.len)
        memcpy(n->text, name.ptr, name.len);
    n->name = (pawl_str){.ptr = n->text, .len = name.len};
    n->ready = true;
    n->look_ms = INT64_MIN;
    n->due_id = INT64_MAX; /* of the time 0: what was never delayed */
    if (!map_puts(&s->names->by_name, n->name, n)) {
        free(n);
        return NULL;
    }
    return n;
}

static void free_name(struct pg_name *n)
{
    vec_deinit(&n->loose);
    free(n);
}

/* Names come from outside and are only a cache: start again, but keep what is nowhere else. */
void pg_names_trim(struct pg_store *s)
{
    struct map *names = &s->names->by_name;
    size_t cursor = 0, kept = 0;
    struct pg_name *n, **keep;

    if (names->count <= NAMES_MAX || !(keep = calloc(names->count, sizeof(struct pg_name *))))
        return;
    while ((n = map_next(names, &cursor))) {
        if (n->loose.count)
            keep[kept++] = n;
        else
            free_name(n);
    }
    map_reset(names);
    for (size_t i = 0; i < kept; i++)
        need_memory(map_puts(names, keep[i]->name, keep[i]));
    free(keep);
}

void pg_name_look_again(struct pg_name *n, uint64_t id, int64_t free_ms)
{
    assert_that(id != 0); /* the places stand at the id before it */
    if (free_ms <= 0) {
        n->ready = true;
        if (n->fresh_id >= id)
            n->fresh_id = id - 1;
        if (n->ready_id >= id)
            n->ready_id = id - 1;
        return;
    }
    if (n->look_ms > free_ms)
        n->look_ms = free_ms;
    if (n->due_ms > free_ms || (n->due_ms == free_ms && n->due_id >= id)) {
        n->due_ms = free_ms;
        n->due_id = id - 1;
    }
}

void pg_name_loosen(struct pg_store *s, struct pg_name *n, uint64_t id, int64_t free_ms)
{
    struct loose_work *slot = vec_push(&n->loose);

    need_memory(slot && idset_add(&s->loose, id)); /* else the row is stuck until a restart */
    *slot = (struct loose_work){id, free_ms};
}

void pg_work_appeared(struct pg_store *s, const pawl_str *name, uint64_t id, int64_t free_ms)
{
    struct map *names = &s->names->by_name;
    size_t cursor = 0;
    struct pg_name *n;

    if (name) {
        if (names->count && (n = map_gets(names, *name)))
            pg_name_look_again(n, id, free_ms);
        return;
    }
    while ((n = map_next(names, &cursor)))
        pg_name_look_again(n, id, free_ms);
}

void pg_work_forget(struct pg_store *s, uint64_t id)
{
    if (s->work.count)
        idset_remove(&s->work, id);
    if (s->loose.count)
        idset_remove(&s->loose, id);
    if (s->names->abandoned.count)
        idset_remove(&s->names->abandoned, id);
}

void pg_work_reset(struct pg_store *s)
{
    size_t cursor = 0;
    struct pg_name *n;

    while ((n = map_next(&s->names->by_name, &cursor)))
        free_name(n);
    map_reset(&s->names->by_name);
    idset_reset(&s->names->abandoned);
    vec_reset(&s->names->look);
    idset_reset(&s->work);
    idset_reset(&s->loose);
}

void pg_work_deinit(struct pg_store *s)
{
    if (!s->names)
        return;
    pg_work_reset(s);
    map_deinit(&s->names->by_name);
    idset_deinit(&s->names->abandoned);
    vec_deinit(&s->names->look);
    free(s->names);
    s->names = NULL;
    idset_deinit(&s->work);
    idset_deinit(&s->loose);
}

bool pg_work_inherit(struct pg_store *s, uint64_t id)
{
    return idset_add(&s->names->abandoned, id);
}

/* Where they are is asked with the next fetch, for all of them at once. */
void pg_abandon_work(pawl_store *base, const uint64_t *ids, size_t count)
{
    struct pg_store *s = pg_of(base);

    for (size_t i = 0; i < count; i++) {
        if (!ids[i])
            continue;
        idset_remove(&s->work, ids[i]);
        need_memory(pg_work_inherit(s, ids[i])); /* else it is stuck until a restart */
    }
}
