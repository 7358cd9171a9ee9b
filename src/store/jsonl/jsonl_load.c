/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_load.c -- from files to the mirror: at open, and after a failed write.
 *
 * The events say how far an instance is (K3); instance.json, or the header of the
 * newest history file when that is newer, says the rest.  Every structure is built
 * through rounds of the memory store, which checks them, so files that contradict
 * each other are found here and not later.
 */
#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/record.h"
#include "store/memory/copy.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void load_round(struct jsonl *j, pawl_round *r, int64_t now_ms)
{
    pawl_fence fence = memory_fence(j->mirror);
    pawl_status rc = memory_commit(j->mirror, &fence, r, 1, now_ms, NULL);
    assert_that(rc == PAWL_OK); /* the mirror's own fence is the newest */
}

/* ---- One instance ------------------------------------------------------------------ */

struct found {
    const char *dir;
    pawl_row row; /* instance.json; uid 0: none */
    VEC(struct history) files;
};

static int by_execution(const void *a, const void *b)
{
    const struct history *x = a, *y = b;
    return x->execution < y->execution ? -1 : x->execution > y->execution;
}

/* "12.jsonl" is execution 12. */
static bool is_history(const char *name, uint64_t *ret)
{
    char *end;
    unsigned long long n = strtoull(name, &end, 10);
    *ret = n;
    return end != name && strcmp(end, ".jsonl") == 0;
}

static pawl_status read_file(struct jsonl *j, struct found *f, const char *name, uint64_t execution,
                             pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    pawl_str text;
    if (snprintf(path, sizeof(path), "%s/%s", f->dir, name) >= (int)sizeof(path))
        return jsonl_trouble(reterr, "name", name);
    pawl_status rc = jsonl_read(path, j->mem, &text, reterr);
    if (rc != PAWL_OK)
        return rc;
    struct history *h = vec_push(&f->files);
    assert_that(h);
    h->execution = execution;
    h->blanks = j->blanks;
    history_parse(h, text, j->mem);
    j->blanks = h->blanks;
    return h->whole < text.len ? jsonl_cut(j, path, text, h->whole, reterr) : PAWL_OK;
}

static pawl_status read_row(struct jsonl *j, struct found *f, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    pawl_str text;
    if (snprintf(path, sizeof(path), "%s/instance.json", f->dir) >= (int)sizeof(path))
        return jsonl_trouble(reterr, "name", f->dir);
    pawl_status rc = jsonl_read(path, j->mem, &text, reterr);
    if (rc == PAWL_OK && text.len &&
        (!pawl_json_valid(text, NULL) || !record_get(&record_row, text, &f->row, j->mem)))
        f->row = (pawl_row){0}; /* the history's header has one too */
    return rc;
}

static pawl_status read_dir(struct jsonl *j, struct found *f, pawl_error *reterr)
{
    DIR *d = opendir(f->dir);
    if (!d)
        return jsonl_trouble(reterr, "open", f->dir);
    pawl_status rc = read_row(j, f, reterr);
    uint64_t execution;
    for (struct dirent *e; rc == PAWL_OK && (e = readdir(d));)
        if (is_history(e->d_name, &execution))
            rc = read_file(j, f, e->d_name, execution, reterr);
    (void)closedir(d);
    if (f->files.count)
        qsort(f->files.items, f->files.count, sizeof(f->files.items[0]), by_execution);
    return rc;
}

static bool is_newer(const pawl_row *a, const pawl_row *b)
{
    return a->execution != b->execution ? a->execution > b->execution : a->last_seq > b->last_seq;
}

/* Files of executions that were begun and never had a turn do not count, unless the row
 * says that it is there. */
static void drop_unborn(struct found *f)
{
    while (f->files.count) {
        struct history *last = &f->files.items[f->files.count - 1];
        if (last->events.count || (f->row.uid && f->row.execution >= last->execution))
            return;
        history_deinit(last);
        f->files.count--;
    }
}

/* The row as the files have it; uid 0: there is no instance here. */
static pawl_row newest_row(const struct found *f)
{
    pawl_row row = f->row;
    const struct history *last = f->files.count ? &f->files.items[f->files.count - 1] : NULL;
    if (last && last->head.uid && (!row.uid || is_newer(&last->head, &row)))
        row = last->head;
    if (!last || !row.uid || last->execution < row.execution)
        return row;
    row.execution = last->execution; /* K3 */
    size_t n = last->events.count;
    if (n != row.last_seq)
        row.updated_ms = last->updated_ms;
    row.last_seq = n;
    row.last_rid = n ? last->events.items[n - 1].rid : 0;
    row.first_rid = n ? last->events.items[0].rid : 0;
    return row;
}

/* The row while execution `i` was the current one. */
static pawl_row row_at(const struct found *f, size_t i, const pawl_row *now)
{
    if (i + 1 == f->files.count)
        return *now;
    pawl_row row = f->files.items[i + 1].closed.uid ? f->files.items[i + 1].closed : *now;
    row.state = PAWL_RUNNING;
    row.execution = f->files.items[i].execution;
    row.last_seq = f->files.items[i].events.count;
    return row;
}

/* How the execution before ended, exactly (R2). */
static void set_closed(struct jsonl *j, uint64_t uid, const pawl_row *closed)
{
    struct memory_instance *i = memory_instance(jsonl_mirror(j), uid);
    struct memory_execution *x = i && closed->uid ? memory_execution(i, closed->execution) : NULL;
    if (!x)
        return;
    copy_drop(&shape_row, &x->closed);
    copy_keep(&shape_row, &x->closed, closed);
}

static bool add_execution(struct jsonl *j, const struct found *f, size_t i, const pawl_row *now)
{
    assert_that(f->files.items && i < f->files.count);
    const struct history *h = &f->files.items[i], *before = i ? h - 1 : NULL;
    pawl_row row = row_at(f, i, now);
    pawl_round r = {.uid = now->uid,
                    .execution = before ? before->execution : h->execution,
                    .base_seq = before ? before->events.count : 0,
                    .change = before ? PAWL_ROW_ALL : PAWL_ROW_INSERT,
                    .row = &row,
                    .events = h->events.items,
                    .event_count = h->events.count,
                    .keys = h->keys.items,
                    .key_count = h->keys.count};
    load_round(j, &r, INT64_MIN);
    if (r.result != PAWL_OK)
        return false;
    if (before)
        set_closed(j, now->uid, &h->closed);
    for (size_t k = 0; k < h->damaged.count; k++)
        (void)memory_damage_event(j->mirror, h->damaged.items[k]);
    return true;
}

static bool add_instance(struct jsonl *j, struct found *f)
{
    drop_unborn(f);
    pawl_row row = newest_row(f);
    if (!row.uid)
        return true; /* a directory made, and nothing in it yet */
    if (!f->files.count) {
        pawl_round r = {
            .uid = row.uid, .execution = row.execution, .change = PAWL_ROW_INSERT, .row = &row};
        load_round(j, &r, INT64_MIN);
        return r.result == PAWL_OK;
    }
    for (size_t i = 0; i < f->files.count; i++)
        if (!add_execution(j, f, i, &row))
            return false;
    return true;
}

/* An instance of root/removed waits for purge. */
static void remove_again(struct jsonl *j, uint64_t uid)
{
    const struct memory_instance *i = memory_instance(jsonl_mirror(j), uid);
    if (!i)
        return;
    pawl_round r = {.uid = uid,
                    .execution = i->row.execution,
                    .base_seq = i->row.last_seq,
                    .base_rid = i->row.last_rid,
                    .change = PAWL_ROW_REMOVE};
    load_round(j, &r, INT64_MIN);
}

/* Not inlined: a path is large, and one a frame is enough. */
__attribute__((noinline)) static pawl_status load_instance(struct jsonl *j, const char *dir,
                                                           bool removed, pawl_error *reterr)
{
    struct found f = {.dir = dir};
    pawl_status rc = read_dir(j, &f, reterr);
    if (rc == PAWL_OK && !add_instance(j, &f)) {
        error_set(reterr, PAWL_CORRUPT, "the files in %.300s contradict each other", dir);
        rc = PAWL_CORRUPT;
    }
    if (rc == PAWL_OK && removed)
        remove_again(j, newest_row(&f).uid);
    for (size_t i = 0; i < f.files.count; i++)
        history_deinit(&f.files.items[i]);
    vec_deinit(&f.files);
    pawl_mem_reset(j->mem);
    return rc;
}

/* ---- All of them ---------------------------------------------------------------------- */

static bool is_own_name(const char *name)
{
    return name[0] == '.' || strcmp(name, "queue") == 0 || strcmp(name, "removed") == 0;
}

static pawl_status load_under(struct jsonl *j, const char *under, bool removed, pawl_error *reterr)
{
    DIR *d = opendir(under);
    if (!d)
        return errno == ENOENT ? PAWL_OK : jsonl_trouble(reterr, "open", under);
    pawl_status rc = PAWL_OK;
    for (struct dirent *e; rc == PAWL_OK && (e = readdir(d));) {
        char path[JSONL_PATH_MAX];
        struct stat st;
        if (is_own_name(e->d_name) ||
            snprintf(path, sizeof(path), "%s/%s", under, e->d_name) >= (int)sizeof(path))
            continue;
        if (jsonl_is_link(path, reterr))
            rc = PAWL_INVALID;
        else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            rc = load_instance(j, path, removed, reterr);
    }
    (void)closedir(d);
    return rc;
}

/* Ids are never used again, whatever the fence says after a crash (T2). */
static void find_next_id(struct jsonl *j)
{
    const struct memory *m = jsonl_mirror(j);
    const struct order *tables[] = {&m->by_uid, &m->by_rid, &m->messages_by_id, &m->work_by_id};
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        struct order_node *n = order_last(tables[i]);
        while (n && n->tie > UINT64_MAX >> 2) /* place holders of damaged rows */
            n = order_prev(n);
        if (n && n->tie >= j->fence.next_id)
            j->fence.next_id = n->tie + 1;
    }
}

pawl_status load_all(struct jsonl *j, pawl_error *reterr)
{
    char removed[JSONL_PATH_MAX];
    j->mirror = pawl_memory_store();
    pawl_status rc = fence_read(j, reterr);
    memory_set_fence(j->mirror, &(pawl_fence){.epoch = j->fence.epoch ? j->fence.epoch : 1});
    if (rc == PAWL_OK && !jsonl_path(j, removed, "removed"))
        rc = jsonl_trouble(reterr, "name", j->root);
    if (rc == PAWL_OK)
        rc = load_under(j, removed, true, reterr);
    if (rc == PAWL_OK)
        rc = load_under(j, j->root, false, reterr);
    if (rc == PAWL_OK)
        rc = queue_load(j, reterr);
    if (rc == PAWL_OK)
        rc = objects_load(j, reterr);
    pawl_mem_reset(j->mem);
    if (rc == PAWL_OK) {
        find_next_id(j);
        memory_set_fence(j->mirror, &j->fence);
    }
    return rc;
}

static void take_message(struct jsonl *j, uint64_t id)
{
    struct memory_message *msg = memory_message(jsonl_mirror(j), id);
    if (!msg)
        return;
    msg->taken = true;
    memory_place_message(jsonl_mirror(j), msg);
}

static void take_work(struct jsonl *j, uint64_t id)
{
    struct memory_work *w = memory_work(jsonl_mirror(j), id);
    if (!w)
        return;
    w->taken = true;
    memory_place_work(jsonl_mirror(j), w);
}

pawl_status load_again(struct jsonl *j, pawl_error *reterr)
{
    pawl_store *old = j->mirror;
    pawl_fence fence = j->fence;
    struct memory *m = jsonl_mirror(j);
    pawl_status rc = load_all(j, reterr);
    if (rc != PAWL_OK) { /* nothing is known any more */
        j->dead = PAWL_UNKNOWN;
        j->mirror->ops->close(j->mirror);
        j->mirror = old;
        j->fence = fence;
        return PAWL_UNKNOWN;
    }
    for (struct order_node *n = order_first(&m->messages_by_id); n; n = order_next(n))
        if (CONTAINER_OF(n, struct memory_message, by_id)->taken)
            take_message(j, n->tie);
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n))
        if (CONTAINER_OF(n, struct memory_work, by_id)->taken)
            take_work(j, n->tie);
    for (size_t i = 0; i < j->held_messages.count; i++) /* by an engine that has them still */
        take_message(j, j->held_messages.items[i]);
    for (size_t i = 0; i < j->held_work.count; i++)
        take_work(j, j->held_work.items[i]);
    old->ops->close(old);
    return PAWL_OK;
}
