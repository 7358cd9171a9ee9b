/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_open.c -- open, close, take, and the questions the mirror answers.
 *
 * No delayed visibility (K4): fetches look at no visible time, only at leases.
 * Closing writes nothing: whatever was answered OK is on disk already, so a closed
 * store and one whose process died leave the same files.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "store/forward.h"
#include "store/jsonl/jsonl.h"
#include "store/lock.h"
#include "store/memory/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void jsonl_caps(pawl_store *s UNUSED, pawl_store_caps *ret)
{
    static const pawl_store_caps caps = {
        .atomic_rounds = false, .delayed_visibility = false, .durable = true, .objects = true};
    pawl_fill(ret, &caps, sizeof(caps));
}

/* What tells whether the directory is still ours: the lock, and the fence once it is written. */
static pawl_status note_places(struct jsonl *j, pawl_error *reterr)
{
    if (there_note(&j->lock_there, j->root, "/lock") &&
        there_note(&j->fence_there, j->root, "/fence.json"))
        return PAWL_OK;
    error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    return PAWL_NO_MEMORY;
}

static pawl_status jsonl_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    struct jsonl *j = jsonl_lock(s);
    pawl_fence next = j->fence, ignored;
    next.epoch++;
    next.mending = false; /* the next owner says so itself */
    pawl_status rc = fence_alive(j, reterr);
    if (rc == PAWL_OK)
        rc = fence_write(j, &next, reterr);
    if (rc == PAWL_OK && !j->fence_there.path)
        rc = note_places(j, reterr);
    if (rc == PAWL_OK && jsonl_is_gone(j))
        rc = there_refuse(j->root, reterr);
    if (rc == PAWL_OK)
        rc = j->mirror->ops->take(j->mirror, now_ms, &ignored, reterr); /* nothing is taken now */
    if (rc == PAWL_OK)
        *ret = j->fence = next, memory_set_fence(j->mirror, &next);
    jsonl_unlock(j);
    return rc;
}

/* ---- Fetching ----------------------------------------------------------------------- */

static pawl_status jsonl_fetch_messages(pawl_store *s, int64_t now_ms UNUSED, uint32_t limit,
                                        pawl_mem *mem, pawl_message_list *ret, pawl_error *reterr)
{
    struct jsonl *j = jsonl_lock(s);
    pawl_status rc = memory_fetch_messages(j->mirror, INT64_MAX, limit, mem, ret, reterr);
    jsonl_unlock(j);
    return rc;
}

static bool is_wanted(const pawl_work *w, const pawl_str *names, size_t count, int64_t now_ms)
{
    bool named = count == 0;
    for (size_t i = 0; i < count && !named; i++)
        named = pawl_str_eq(w->name, names[i]);
    return named && !(w->lock_token.len && w->lock_until_ms > now_ms);
}

static pawl_status jsonl_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                                    size_t name_count, uint32_t limit, pawl_mem *mem,
                                    pawl_work_list *ret, pawl_error *reterr UNUSED)
{
    struct jsonl *j = jsonl_lock(s);
    struct memory *m = memory_lock(j->mirror);
    size_t most = m->work_by_id.count < limit ? m->work_by_id.count : limit, count = 0;
    pawl_work *items = pawl_mem_alloc(mem, most * sizeof(*items));
    for (struct order_node *n = order_first(&m->work_by_id); n && count < most; n = order_next(n)) {
        struct memory_work *w = CONTAINER_OF(n, struct memory_work, by_id);
        if (w->taken || !is_wanted(&w->work, names, name_count, now_ms))
            continue;
        w->taken = true;
        memory_place_work(m, w);
        copy_give(&shape_work, &items[count++], &w->work, mem);
    }
    *ret = (pawl_work_list){.items = items, .count = count};
    memory_unlock(m);
    jsonl_unlock(j);
    return PAWL_OK;
}

/* ---- Passed on ------------------------------------------------------------------------ */

#define ASK(op, ...)                                                                               \
    struct jsonl *j = jsonl_lock(s);                                                               \
    pawl_status rc = j->dead == PAWL_NOT_FOUND ? there_refuse_read(j->root, reterr)                \
                                               : j->mirror->ops->op(j->mirror, __VA_ARGS__);       \
    jsonl_unlock(j);                                                                               \
    return rc

#define ARGS(...) __VA_ARGS__
#define FORWARD(op, parameters, arguments)                                                         \
    static pawl_status jsonl_##op(pawl_store *s, ARGS parameters)                                  \
    {                                                                                              \
        ASK(op, ARGS arguments);                                                                   \
    }
STORE_FORWARDED(FORWARD)

static void jsonl_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count)
{
    struct jsonl *j = jsonl_lock(s);
    memory_abandon_messages(j->mirror, ids, count);
    jsonl_unlock(j);
}

static void jsonl_abandon_work(pawl_store *s, const uint64_t *ids, size_t count)
{
    struct jsonl *j = jsonl_lock(s);
    memory_abandon_work(j->mirror, ids, count);
    jsonl_unlock(j);
}

static pawl_status jsonl_search(pawl_store *s, const pawl_search *search, pawl_mem *mem,
                                pawl_found *ret, pawl_error *reterr)
{
    ASK(search, search, mem, ret, reterr);
}

static pawl_status jsonl_space(pawl_store *s UNUSED)
{
    return PAWL_OK; /* no reserve: a full disk refuses the write itself */
}

/* ---- Opening ------------------------------------------------------------------------------ */

static void jsonl_close(pawl_store *s)
{
    struct jsonl *j = (struct jsonl *)s;
    if (j->mirror)
        j->mirror->ops->close(j->mirror);
    lock_close(j->lock_fd);
    there_deinit(&j->lock_there);
    there_deinit(&j->fence_there);
    vec_deinit(&j->held_messages);
    vec_deinit(&j->held_work);
    pawl_mem_free(j->mem);
    pthread_mutex_destroy(&j->lock);
    free(j->root);
    free(j);
}

static const pawl_store_ops jsonl_ops = {
    .size = sizeof(pawl_store_ops),
    .abi = PAWL_STORE_ABI,
    .name = "jsonl",
    .caps = jsonl_caps,
    .take = jsonl_take,
    .commit = jsonl_commit,
    .fetch_messages = jsonl_fetch_messages,
    .fetch_work = jsonl_fetch_work,
    .fetch_deadlines = jsonl_fetch_deadlines,
    .abandon_messages = jsonl_abandon_messages,
    .abandon_work = jsonl_abandon_work,
    .next_due = jsonl_next_due,
    .find = jsonl_find,
    .find_uid = jsonl_find_uid,
    .find_execution = jsonl_find_execution,
    .read_history = jsonl_read_history,
    .read_event = jsonl_read_event,
    .read_messages = jsonl_read_messages,
    .read_work = jsonl_read_work,
    .has_key = jsonl_has_key,
    .list = jsonl_list,
    .depths = jsonl_depths,
    .read_quarantine = jsonl_read_quarantine,
    .purge = jsonl_purge,
    .prune_executions = jsonl_prune_executions,
    .space = jsonl_space,
    .close = jsonl_close,
    .read_object = jsonl_read_object,
    .list_objects = jsonl_list_objects,
    .search = jsonl_search,
};

struct jsonl *jsonl_lock(pawl_store *s)
{
    struct jsonl *j = (struct jsonl *)s;
    assert_that(j->base.ops == &jsonl_ops);
    pthread_mutex_lock(&j->lock);
    return j;
}

void jsonl_unlock(struct jsonl *j)
{
    pawl_mem_reset(j->mem);
    pthread_mutex_unlock(&j->lock);
}

/* Files are opened without following links; directories are looked at. */
bool jsonl_is_link(const char *path, pawl_error *reterr)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return false;
    error_set(reterr, PAWL_INVALID,
              "%.300s is a symbolic link, and none is followed in a data directory; put the "
              "directory itself there, or choose another --data",
              path);
    return true;
}

static pawl_status open_files(struct jsonl *j, pawl_error *reterr)
{
    static const char *const directories[] = {"queue", "removed"};
    char queue[JSONL_PATH_MAX];
    if (!jsonl_path(j, queue, "queue")) {
        error_set(reterr, PAWL_INVALID, "the path of the data directory is too long");
        return PAWL_INVALID;
    }
    if (!j->read_only) {
        pawl_status rc = PAWL_OK;
        if (mkdir(j->root, 0700) != 0 && errno != EEXIST)
            return jsonl_trouble(reterr, "make", j->root);
        j->lock_fd = lock_open(j->root, reterr);
        if (j->lock_fd < 0)
            return PAWL_UNAVAILABLE;
        for (size_t i = 0; i < COUNT_OF(directories); i++)
            if (jsonl_path(j, queue, "%s", directories[i]) && jsonl_is_link(queue, reterr))
                return PAWL_INVALID;
        if (!jsonl_path(j, queue, "queue"))
            return jsonl_trouble(reterr, "name", j->root);
        rc = jsonl_mkdir(j, queue, reterr);
        if (rc == PAWL_OK)
            rc = note_places(j, reterr);
        if (rc != PAWL_OK)
            return rc;
    }
    return load_all(j, reterr);
}

pawl_store *pawl_jsonl_store(const char *root, const pawl_store_open_opts *opts, pawl_error *reterr)
{
    pawl_store_open_opts room;
    pawl_error local = {0}, *err = reterr ? reterr : &local;
    if (!IS_THERE(root && *root, "a directory", err) ||
        !(opts = OPTIONS_OF(&room, opts, "pawl_store_open_opts", err)))
        return NULL;
    struct jsonl *j = calloc(1, sizeof(*j));
    if (!j) {
        error_set(err, PAWL_NO_MEMORY, "out of memory");
        return NULL;
    }
    j->base.ops = &jsonl_ops;
    j->lock_fd = -1;
    j->read_only = opts->read_only;
    j->messages.name = "messages";
    j->work.name = "work";
    j->mem = pawl_mem_new();
    j->root = strdup(root);
    assert_that(pthread_mutex_init(&j->lock, NULL) == 0);
    if (!j->mem || !j->root) {
        error_set(err, PAWL_NO_MEMORY, "out of memory");
        jsonl_close(&j->base);
        return NULL;
    }
    if (open_files(j, err) != PAWL_OK) {
        jsonl_close(&j->base);
        return NULL;
    }
    return &j->base;
}

/* ---- For tests ----------------------------------------------------------------------------- */

void jsonl_set_trouble(pawl_store *s, enum jsonl_trouble trouble)
{
    ((struct jsonl *)s)->trouble = trouble; /* from a crash point: the lock is held */
}

pawl_status jsonl_reload(pawl_store *s, pawl_error *reterr)
{
    struct jsonl *j = jsonl_lock(s);
    pawl_status rc = load_again(j, reterr);
    jsonl_unlock(j);
    return rc;
}
