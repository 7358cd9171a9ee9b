/* SPDX-License-Identifier: MIT */
/* store/postgres/pg_work_names.c -- see the header. */
#include "store/postgres/pg_work_names.h"

bool pg_work_init(struct pg_store *s)
{
    s->names = calloc(1, sizeof *s->names);
    if (!s->names)
        return false;
    work_names_init(&s->names->known, sizeof(struct pg_name));
    return true;
}

void pg_work_remember(struct pg_store *s, const pawl_round *r)
{
    work_names_remember(&s->names->known, r, s->fence.epoch);
}

void pg_work_reset(struct pg_store *s)
{
    work_names_reset(&s->names->known);
    vec_reset(&s->names->look);
}

void pg_work_deinit(struct pg_store *s)
{
    if (!s->names)
        return;
    work_names_deinit(&s->names->known);
    vec_deinit(&s->names->look);
    free(s->names);
    s->names = NULL;
}

void pg_work_look_again(struct pg_store *s)
{
    size_t cursor = 0;
    struct work_name *n;

    while ((n = map_next(&s->names->known.by_name, &cursor))) {
        n->ready = true;
        n->fresh_id = n->ready_id = 0;
        n->look_ms = INT64_MIN;
        n->due_ms = 0;
        n->due_id = INT64_MAX;
    }
}

pawl_status pg_work_list(const struct pg_store *s, uint64_t **ret, size_t *retcount)
{
    const struct work_names *w = &s->names->known;
    const struct idset *sets[] = {&w->taken, &w->loose, &w->abandoned};
    size_t count = w->taken.count + w->loose.count + w->abandoned.count;

    *retcount = 0;
    *ret = calloc(count + 1, sizeof **ret);
    if (!*ret)
        return PAWL_NO_MEMORY;
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (sets[i]->count) {
            idset_list(sets[i], *ret + *retcount);
            *retcount += sets[i]->count;
        }
    return PAWL_OK;
}

/* Loose ones that are not in the set are stale (work_names.h). */
void pg_work_forget(struct pg_store *s, const uint64_t *ids, size_t count)
{
    struct work_names *w = &s->names->known;

    for (size_t i = 0; i < count; i++) {
        idset_remove(&w->taken, ids[i]);
        idset_remove(&w->loose, ids[i]);
        idset_remove(&w->abandoned, ids[i]);
    }
}

bool pg_work_inherit(struct pg_store *s, uint64_t id)
{
    return idset_add(&s->names->known.abandoned, id);
}

/* The next fetch asks where they are, with one query for all. */
void pg_abandon_work(pawl_store *base, const uint64_t *ids, size_t count)
{
    struct pg_store *s = pg_of(base);

    for (size_t i = 0; i < count; i++) {
        if (!ids[i])
            continue;
        idset_remove(&s->names->known.taken, ids[i]);
        need_memory(pg_work_inherit(s, ids[i])); /* or it would wait until a restart */
    }
}
