/* SPDX-License-Identifier: MIT */
/* store/sql/work_names.c -- see the header. */
#include "store/sql/work_names.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

void work_names_init(struct work_names *w, size_t each)
{
    assert_that(each >= sizeof(struct work_name));
    *w = (struct work_names){.each = each};
    map_init(&w->by_name);
    idset_init(&w->taken);
    idset_init(&w->loose);
    idset_init(&w->abandoned);
}

static void free_name(struct work_name *n)
{
    vec_deinit(&n->loose);
    free(n);
}

void work_names_reset(struct work_names *w)
{
    size_t cursor = 0;
    struct work_name *n;

    while ((n = map_next(&w->by_name, &cursor)))
        free_name(n);
    map_reset(&w->by_name);
    idset_reset(&w->taken);
    idset_reset(&w->loose);
    idset_reset(&w->abandoned);
}

void work_names_deinit(struct work_names *w)
{
    work_names_reset(w);
    map_deinit(&w->by_name);
    idset_deinit(&w->taken);
    idset_deinit(&w->loose);
    idset_deinit(&w->abandoned);
}

void *work_name_of(struct work_names *w, pawl_str name)
{
    struct work_name *n = map_gets(&w->by_name, name);

    if (n)
        return n;
    n = calloc(1, w->each + name.len + 1);
    if (!n)
        return NULL;
    char *text = (char *)n + w->each;
    if (name.len)
        memcpy(text, name.ptr, name.len);
    n->name = (pawl_str){.ptr = text, .len = name.len};
    n->ready = true;
    n->look_ms = INT64_MIN;
    n->due_id = INT64_MAX; /* of the time 0: what was never delayed */
    if (!map_puts(&w->by_name, n->name, n)) {
        free(n);
        return NULL;
    }
    return n;
}

void work_names_trim(struct work_names *w)
{
    size_t cursor = 0, kept = 0;
    struct work_name *n, **keep;

    if (w->by_name.count <= WORK_NAMES_MAX ||
        !(keep = calloc(w->by_name.count, sizeof(struct work_name *))))
        return;
    while ((n = map_next(&w->by_name, &cursor))) {
        if (n->loose.count)
            keep[kept++] = n;
        else
            free_name(n);
    }
    map_reset(&w->by_name);
    for (size_t i = 0; i < kept; i++)
        need_memory(map_puts(&w->by_name, keep[i]->name, keep[i]));
    free(keep);
}

void work_name_look_again(struct work_name *n, uint64_t id, int64_t free_ms)
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

void work_name_loosen(struct work_names *w, struct work_name *n, uint64_t id, int64_t free_ms)
{
    if (idset_has(&w->loose, id))
        return;
    struct loose_work *slot = vec_push(&n->loose);
    need_memory(slot && idset_add(&w->loose, id)); /* else the row is stuck until a restart */
    *slot = (struct loose_work){id, free_ms};
}

/* Free work with this name appeared, or (name NULL) changed. */
static void appeared(struct work_names *w, const pawl_str *name, uint64_t id, int64_t free_ms)
{
    size_t cursor = 0;
    struct work_name *n;

    if (name) {
        if (w->by_name.count && (n = map_gets(&w->by_name, *name)))
            work_name_look_again(n, id, free_ms);
        return;
    }
    while ((n = map_next(&w->by_name, &cursor)))
        work_name_look_again(n, id, free_ms);
}

static void forget(struct work_names *w, uint64_t id)
{
    if (w->taken.count)
        idset_remove(&w->taken, id);
    if (w->loose.count)
        idset_remove(&w->loose, id);
    if (w->abandoned.count)
        idset_remove(&w->abandoned, id);
}

void work_names_remember(struct work_names *w, const pawl_round *r, uint64_t epoch)
{
    for (size_t i = 0; i < r->need_work_count; i++)
        forget(w, r->need_work[i]);
    for (size_t i = 0; i < r->work_count; i++) {
        const pawl_work *n = &r->work[i];
        if (n->lock_epoch != epoch)
            appeared(w, &n->name, n->id,
                     work_free_ms(n->visible_ms, n->lock_token, n->lock_until_ms));
    }
    for (size_t i = 0; i < r->work_update_count; i++) {
        const pawl_work_update *u = &r->work_updates[i];
        forget(w, u->id);
        if (u->lock_epoch != epoch)
            appeared(w, NULL, u->id, work_free_ms(u->visible_ms, u->lock_token, u->lock_until_ms));
    }
    for (size_t i = 0; i < r->drop_work_count; i++)
        forget(w, r->drop_work[i]);
}
