/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_commit.c -- rounds to files, phase by phase, and the fence.
 *
 *     events of every round ─▶ rows ─▶ puts and sets ─▶ acks, removals ─▶ fence
 *
 * Each phase is synced before the next begins, so a crash leaves a prefix of the
 * order (K1), and the fence, written last, tells which rounds are whole (K5).
 * When a step fails the mirror is loaded again from what is there.  A REMOVE ends a
 * batch: a new instance of that id must not meet the old files.
 */
#include "base/attr.h"
#include "base/idset.h"
#include "base/limits.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/record.h"
#include "store/jsonl/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FENCE_BYTES 256 /* a line, blanks included */
#define LAZY_FILES  8   /* files synced together */

/* ---- The fence ------------------------------------------------------------------------ */

static bool fence_newer(const pawl_fence *a, const pawl_fence *b)
{
    return a->epoch + a->group_no > b->epoch + b->group_no;
}

pawl_status fence_read(struct jsonl *j, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    pawl_str text;
    if (!jsonl_path(j, path, "fence.json"))
        return jsonl_trouble(reterr, "name", j->root);
    pawl_status rc = jsonl_read(path, j->mem, &text, reterr);
    j->fence = (pawl_fence){.next_id = 1, .whole_id = 1};
    if (rc != PAWL_OK || !text.len)
        return rc;
    bool any = false;
    for (size_t at = 0; at + FENCE_BYTES <= text.len; at += FENCE_BYTES) {
        pawl_fence fence = {0};
        pawl_str line = {text.ptr + at, FENCE_BYTES - 1};
        while (line.len && line.ptr[line.len - 1] == ' ')
            line.len--;
        if (!text_sealed(line) || !record_get(&record_fence, line, &fence, j->mem))
            continue;
        if (!any || fence_newer(&fence, &j->fence))
            j->fence = fence;
        any = true;
    }
    if (any)
        return PAWL_OK;
    error_set(reterr, PAWL_CORRUPT, "%.300s has no valid line", path);
    return PAWL_CORRUPT;
}

/* Two places in turn: the older one is overwritten, so one is always whole. */
pawl_status fence_write(struct jsonl *j, const pawl_fence *fence, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX], line[FENCE_BYTES];
    struct buf text;
    if (!jsonl_path(j, path, "fence.json"))
        return jsonl_trouble(reterr, "name", j->root);
    buf_init(&text, FENCE_BYTES);
    buf_putc(&text, '{');
    (void)record_put(&text, &record_fence, fence, ",");
    text_seal(&text, 0);
    assert_that(!text.failed && text.len < sizeof(line));
    memset(line, ' ', sizeof(line));
    memcpy(line, text.ptr, text.len - 1);
    line[sizeof(line) - 1] = '\n';
    buf_deinit(&text);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return jsonl_trouble(reterr, "open", path);
    off_t at = (off_t)((fence->epoch + fence->group_no) % 2 * sizeof(line));
    bool ok = pwrite(fd, line, sizeof(line), at) == (ssize_t)sizeof(line) && fdatasync(fd) == 0;
    pawl_status rc = PAWL_OK;
    if (!ok) {
        error_set(reterr, PAWL_UNKNOWN, "cannot write %.300s: %s", path, strerror(errno));
        rc = j->dead = PAWL_UNKNOWN;
    }
    (void)close(fd);
    return rc;
}

bool jsonl_is_gone(struct jsonl *j)
{
    if (there_is_gone(&j->lock_there) || there_is_gone(&j->fence_there))
        j->dead = PAWL_NOT_FOUND;
    return j->dead == PAWL_NOT_FOUND;
}

pawl_status fence_alive(struct jsonl *j, pawl_error *reterr)
{
    if (jsonl_is_gone(j))
        return there_refuse(j->root, reterr);
    if (j->dead != PAWL_OK)
        error_set(reterr, j->dead, "what is in %.300s is not known; start again", j->root);
    return j->dead;
}

pawl_status fence_check(struct jsonl *j, const pawl_fence *fence, pawl_error *reterr)
{
    pawl_status rc = fence_alive(j, reterr);
    if (rc != PAWL_OK)
        return rc;
    if (fence->epoch != 0 && fence->epoch == j->fence.epoch)
        return PAWL_OK;
    error_set(reterr, PAWL_FENCED, "epoch %llu is over: epoch %llu owns this store now",
              (unsigned long long)fence->epoch, (unsigned long long)j->fence.epoch);
    return PAWL_FENCED;
}

pawl_status fence_move(struct jsonl *j, pawl_fence *fence, pawl_error *reterr)
{
    pawl_fence moved = j->fence;
    moved.group_no++;
    if (moved.next_id < fence->next_id)
        moved.next_id = fence->next_id;
    moved.mending = fence->mending;
    if (!moved.mending)
        moved.whole_id = moved.next_id;
    pawl_status rc = fence_write(j, &moved, reterr);
    if (rc == PAWL_OK && jsonl_is_gone(j)) /* durable, but under another name */
        rc = there_refuse(j->root, reterr);
    if (rc == PAWL_OK)
        rc = jsonl_point(j, "jsonl.fenced", reterr);
    if (rc == PAWL_OK)
        *fence = j->fence = moved, memory_set_fence(j->mirror, &moved);
    return rc;
}

pawl_status jsonl_failed(struct jsonl *j, pawl_status rc, pawl_error *reterr)
{
    if (jsonl_is_gone(j))
        return there_refuse(j->root, reterr);
    return j->dead == PAWL_OK && load_again(j, reterr) != PAWL_OK ? PAWL_UNKNOWN : rc;
}

/* ---- The phases ------------------------------------------------------------------------- */

/* Many files of different instances may be synced together; the order of two appends to
 * one instance must be kept. */
static bool may_be_lazy(const struct jsonl_batch *b)
{
    struct idset seen;
    bool ok = b->appends.count >= LAZY_FILES;
    idset_init(&seen);
    for (size_t i = 0; ok && i < b->appends.count; i++)
        ok =
            !idset_has(&seen, b->appends.items[i].uid) && idset_add(&seen, b->appends.items[i].uid);
    idset_deinit(&seen);
    return ok;
}

/* End a phase that was lazy: what it wrote is synced. */
static pawl_status end_lazy(struct jsonl *j, pawl_status rc, pawl_error *reterr)
{
    bool lazy = j->lazy;
    j->lazy = false;
    return rc == PAWL_OK && lazy ? jsonl_sync_all(j, reterr) : rc;
}

static pawl_status append_events(struct jsonl *j, struct jsonl_batch *b, pawl_error *reterr)
{
    pawl_status rc = PAWL_OK;
    j->lazy = may_be_lazy(b);
    for (size_t i = 0; rc == PAWL_OK && i < b->appends.count; i++) {
        const struct jsonl_append *a = &b->appends.items[i];
        if (a->text.failed)
            rc = PAWL_NO_MEMORY;
        if (rc == PAWL_OK && a->dir)
            rc = jsonl_mkdir(j, a->dir, reterr);
        if (rc == PAWL_OK)
            rc = jsonl_append(j, a->path, buf_slice(&a->text), reterr);
        if (rc == PAWL_OK)
            rc = jsonl_point(j, "jsonl.appended", reterr);
    }
    return end_lazy(j, rc, reterr);
}

static bool row_path(const struct jsonl *j, const pawl_row *row, char path[JSONL_PATH_MAX])
{
    static const char name[] = "/instance.json";
    bool ok = jsonl_dir(j, row, path) && strlen(path) + sizeof(name) <= JSONL_PATH_MAX;
    if (ok)
        memcpy(path + strlen(path), name, sizeof(name));
    return ok;
}

/* instance.json beside the old one. */
static pawl_status write_row(struct jsonl *j, const pawl_row *row, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    struct buf text;
    if (!jsonl_dir(j, row, path))
        return jsonl_trouble(reterr, "name", j->root);
    pawl_status rc = jsonl_mkdir(j, path, reterr);
    if (rc != PAWL_OK || !row_path(j, row, path))
        return rc;
    buf_init(&text, JSONL_BYTES_MAX);
    buf_puts(&text, "{\n  ");
    (void)record_put(&text, &record_row, row, ",\n  ");
    buf_puts(&text, "\n}\n");
    rc = text.failed ? PAWL_NO_MEMORY : jsonl_write_new(j, path, buf_slice(&text), reterr);
    buf_deinit(&text);
    return rc;
}

static pawl_status use_row(struct jsonl *j, const pawl_row *row, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    pawl_status rc = row_path(j, row, path) ? jsonl_use_new(j, path, reterr) : PAWL_OK;
    return rc == PAWL_OK ? jsonl_point(j, "jsonl.row", reterr) : rc;
}

/* Do one thing with every row of the batch. */
static pawl_status each_row(struct jsonl *j, const struct jsonl_batch *b,
                            pawl_status (*fn)(struct jsonl *, const pawl_row *, pawl_error *),
                            pawl_error *reterr)
{
    pawl_status rc = PAWL_OK;
    j->lazy = b->rows.count >= LAZY_FILES;
    for (size_t i = 0; rc == PAWL_OK && i < b->rows.count; i++) {
        const struct memory_instance *it = memory_instance(jsonl_mirror(j), b->rows.items[i]);
        if (it)
            rc = fn(j, &it->row, reterr);
    }
    return end_lazy(j, rc, reterr);
}

static pawl_status write_rows(struct jsonl *j, const struct jsonl_batch *b, pawl_error *reterr)
{
    pawl_status rc = each_row(j, b, write_row, reterr);
    return rc == PAWL_OK ? each_row(j, b, use_row, reterr) : rc;
}

static pawl_status enqueue(struct jsonl *j, struct jsonl_batch *b, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    if (b->put_messages.failed || b->put_work.failed || b->put_quarantine.failed)
        return PAWL_NO_MEMORY;
    pawl_status rc = queue_append(j, &j->messages, &b->put_messages, reterr);
    if (rc == PAWL_OK && b->put_messages.len)
        rc = jsonl_point(j, "jsonl.posted", reterr);
    if (rc == PAWL_OK)
        rc = queue_append(j, &j->work, &b->put_work, reterr);
    if (rc == PAWL_OK && b->put_quarantine.len && jsonl_path(j, path, "quarantine.jsonl"))
        rc = jsonl_append(j, path, buf_slice(&b->put_quarantine), reterr);
    if (rc == PAWL_OK)
        rc = objects_write(j, b, reterr);
    return rc == PAWL_OK ? jsonl_point(j, "jsonl.enqueued", reterr) : rc;
}

/* The id is free from here on; purge deletes the files. */
static pawl_status put_away(struct jsonl *j, const pawl_row *row, pawl_error *reterr)
{
    char from[JSONL_PATH_MAX], to[JSONL_PATH_MAX], dir[JSONL_PATH_MAX];
    if (!jsonl_dir(j, row, from) || !jsonl_path(j, dir, "removed") ||
        !jsonl_path(j, to, "removed/%llu", (unsigned long long)row->uid))
        return jsonl_trouble(reterr, "name", j->root);
    pawl_status rc = jsonl_mkdir(j, dir, reterr);
    if (rc == PAWL_OK && rename(from, to) != 0)
        rc = jsonl_trouble(reterr, "rename", from);
    if (rc == PAWL_OK)
        rc = jsonl_sync_dir(j, dir, reterr);
    if (rc == PAWL_OK)
        rc = jsonl_sync_dir(j, j->root, reterr);
    return rc;
}

static pawl_status acknowledge(struct jsonl *j, struct jsonl_batch *b, pawl_error *reterr)
{
    if (b->drop_messages.failed || b->drop_work.failed)
        return PAWL_NO_MEMORY;
    pawl_status rc = queue_append(j, &j->messages, &b->drop_messages, reterr);
    if (rc == PAWL_OK && b->drop_messages.len)
        rc = jsonl_point(j, "jsonl.dropped", reterr);
    if (rc == PAWL_OK)
        rc = queue_append(j, &j->work, &b->drop_work, reterr);
    if (rc == PAWL_OK)
        rc = objects_drop(j, b, reterr);
    for (size_t i = 0; rc == PAWL_OK && i < b->removed.count; i++)
        rc = put_away(j, &b->removed.items[i], reterr);
    return rc == PAWL_OK ? jsonl_point(j, "jsonl.acked", reterr) : rc;
}

static pawl_status write_batch(struct jsonl *j, struct jsonl_batch *b, pawl_error *reterr)
{
    pawl_status rc = append_events(j, b, reterr);
    if (rc == PAWL_OK)
        rc = write_rows(j, b, reterr);
    if (rc == PAWL_OK)
        rc = enqueue(j, b, reterr);
    if (rc == PAWL_OK)
        rc = acknowledge(j, b, reterr);
    return rc;
}

/* Rounds from `from` up to the next REMOVE, that one included. */
static size_t batch_end(const pawl_round *rounds, size_t from, size_t count)
{
    while (from < count && rounds[from].change != PAWL_ROW_REMOVE)
        from++;
    return from < count ? from + 1 : count;
}

static pawl_status write_rounds(struct jsonl *j, pawl_round *rounds, size_t count, int64_t now_ms,
                                pawl_error *reterr)
{
    pawl_status rc = PAWL_OK;
    for (size_t from = 0, end; rc == PAWL_OK && from < count; from = end) {
        struct jsonl_batch b;
        round_batch_init(&b);
        end = batch_end(rounds, from, count);
        for (size_t i = from; i < end; i++)
            round_stage(j, &b, &rounds[i], now_ms);
        rc = write_batch(j, &b, reterr);
        round_batch_deinit(&b);
    }
    return rc;
}

pawl_status jsonl_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                         int64_t now_ms, pawl_error *reterr)
{
    struct jsonl *j = jsonl_lock(s);
    pawl_status rc = fence_check(j, fence, reterr);
    if (rc == PAWL_OK) {
        rc = jsonl_point(j, "jsonl.begin", reterr);
        if (rc == PAWL_OK)
            rc = write_rounds(j, rounds, count, now_ms, reterr);
        if (rc == PAWL_OK)
            rc = fence_move(j, fence, reterr);
        if (rc != PAWL_OK)
            rc = jsonl_failed(j, rc, reterr);
        j->held_messages.count = j->held_work.count = 0;
        bool compact = rc == PAWL_OK && queue_compact(j, NULL) == PAWL_OK;
        (void)compact; /* a log that cannot be rewritten now stays as it is */
    }
    jsonl_unlock(j);
    return rc;
}
