/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_purge.c -- the end of removed instances and pruned executions.
 *
 * A removed instance is a directory under root/removed.  The mirror counts its rows
 * as every store does; messages and work leave the logs with the call that purged
 * them, the directories go when nothing is left of any.  Pruning deletes the
 * history files of closed executions at once, oldest first.
 */
#include "base/attr.h"
#include "base/limits.h"
#include "store/jsonl/jsonl.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Rows of removed instances, before and after. */
struct purged_rows {
    VEC(uint64_t) messages;
    VEC(uint64_t) work;
};

static void collect(const struct memory *m, struct purged_rows *l)
{
    for (size_t i = 0; i < m->removed.count; i++) {
        int64_t owner = (int64_t)m->removed.items[i]->row.uid;
        struct order_node *n = order_from(&m->messages_by_owner, owner, 0);
        for (; n && n->key == owner; n = order_next(n)) {
            uint64_t *slot = vec_push(&l->messages);
            need_memory(slot);
            *slot = n->tie;
        }
        n = order_from(&m->work_by_owner, owner, 0);
        for (; n && n->key == owner; n = order_next(n)) {
            uint64_t *slot = vec_push(&l->work);
            need_memory(slot);
            *slot = n->tie;
        }
    }
}

static pawl_status drop_gone(struct jsonl *j, const struct purged_rows *l, pawl_error *reterr)
{
    struct buf messages, work;
    buf_init(&messages, JSONL_BYTES_MAX);
    buf_init(&work, JSONL_BYTES_MAX);
    for (size_t i = 0; i < l->messages.count; i++)
        if (!memory_message(jsonl_mirror(j), l->messages.items[i]))
            queue_put_ack(&messages, l->messages.items[i]);
    for (size_t i = 0; i < l->work.count; i++)
        if (!memory_work(jsonl_mirror(j), l->work.items[i]))
            queue_put_ack(&work, l->work.items[i]);
    pawl_status rc = messages.failed || work.failed ? PAWL_NO_MEMORY : PAWL_OK;
    if (rc == PAWL_OK)
        rc = queue_append(j, &j->messages, &messages, reterr);
    if (rc == PAWL_OK)
        rc = queue_append(j, &j->work, &work, reterr);
    buf_deinit(&messages);
    buf_deinit(&work);
    return rc;
}

static pawl_status delete_removed(struct jsonl *j, pawl_error *reterr)
{
    char dir[JSONL_PATH_MAX], path[JSONL_PATH_MAX];
    if (!jsonl_path(j, dir, "removed"))
        return jsonl_trouble(reterr, "name", j->root);
    DIR *d = opendir(dir);
    if (!d)
        return errno == ENOENT ? PAWL_OK : jsonl_trouble(reterr, "open", dir);
    pawl_status rc = PAWL_OK;
    for (struct dirent *e; rc == PAWL_OK && (e = readdir(d));)
        if (e->d_name[0] != '.' && jsonl_path(j, path, "removed/%s", e->d_name))
            rc = jsonl_delete_dir(path, reterr);
    (void)closedir(d);
    return rc == PAWL_OK ? jsonl_sync_dir(j, dir, reterr) : rc;
}

static pawl_status purge_rows(struct jsonl *j, uint32_t limit, bool *retleft, pawl_error *reterr)
{
    struct purged_rows leaving = {0};
    struct memory *m = jsonl_mirror(j);
    bool any = m->removed.count > 0;
    collect(m, &leaving);
    pawl_fence fence = memory_fence(j->mirror);
    pawl_status rc = memory_purge(j->mirror, &fence, limit, retleft, reterr);
    if (rc == PAWL_OK)
        rc = drop_gone(j, &leaving, reterr);
    if (rc == PAWL_OK)
        rc = jsonl_point(j, "jsonl.purged", reterr);
    if (rc == PAWL_OK && any && !*retleft)
        rc = delete_removed(j, reterr);
    vec_deinit(&leaving.messages);
    vec_deinit(&leaving.work);
    return rc;
}

static pawl_status settle(struct jsonl *j, pawl_fence *fence, pawl_status rc, pawl_error *reterr)
{
    if (rc == PAWL_OK)
        rc = fence_move(j, fence, reterr);
    return rc == PAWL_OK ? rc : jsonl_failed(j, rc, reterr);
}

pawl_status jsonl_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                        pawl_error *reterr)
{
    struct jsonl *j = jsonl_lock(s);
    pawl_status rc = fence_check(j, fence, reterr);
    if (rc == PAWL_OK)
        rc = settle(j, fence, purge_rows(j, limit, retleft, reterr), reterr);
    jsonl_unlock(j);
    return rc;
}

/* Keys live with the instance, but some were written with the events of an execution that goes. */
static pawl_status keep_keys(struct jsonl *j, const struct memory_instance *i, pawl_error *reterr)
{
    struct buf lines;
    const pawl_str *key;
    buf_init(&lines, JSONL_BYTES_MAX);
    for (size_t cursor = 0; (key = map_next(&i->keys, &cursor));)
        queue_put_key(&lines, i->row.uid, *key);
    pawl_status rc = lines.failed ? PAWL_NO_MEMORY : queue_append(j, &j->messages, &lines, reterr);
    buf_deinit(&lines);
    return rc;
}

/* Delete the files of executions [from, to). */
static pawl_status delete_executions(struct jsonl *j, const pawl_row *row, uint64_t from,
                                     uint64_t to, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    for (uint64_t n = from; n < to; n++) {
        if (!jsonl_file(j, row, n, path))
            return jsonl_trouble(reterr, "name", j->root);
        if (unlink(path) != 0 && errno != ENOENT)
            return jsonl_trouble(reterr, "delete", path);
    }
    return jsonl_dir(j, row, path) ? jsonl_sync_dir(j, path, reterr) : PAWL_OK;
}

pawl_status jsonl_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                   uint64_t before_execution, uint64_t *retcount,
                                   pawl_error *reterr)
{
    struct jsonl *j = jsonl_lock(s);
    pawl_status rc = fence_check(j, fence, reterr);
    const struct memory_instance *i = memory_instance(jsonl_mirror(j), uid);
    if (rc == PAWL_OK && !i) {
        error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
                  (unsigned long long)uid);
        rc = PAWL_NOT_FOUND;
    } else if (rc == PAWL_OK) {
        uint64_t first = i->executions.count ? i->executions.items[0]->closed.execution : 0;
        pawl_fence own = memory_fence(j->mirror);
        rc = memory_prune_executions(j->mirror, &own, uid, before_execution, retcount, reterr);
        if (rc == PAWL_OK && *retcount)
            rc = keep_keys(j, i, reterr);
        if (rc == PAWL_OK && *retcount)
            rc = delete_executions(j, &i->row, first, first + *retcount, reterr);
        rc = settle(j, fence, rc, reterr);
    }
    jsonl_unlock(j);
    return rc;
}
