/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_objects.c -- named objects: one file a kind, a line an object.
 *
 *     queue/objects-1.jsonl      {"name":"nightly","version":3,"updated":"…","data":{…},"crc":"…"}
 *
 * A commit that changes objects of a kind writes its file beside the old one and renames it.
 * Objects are put with the inserts and removed behind the drops (K1), in a file written once more:
 * a row that is still there after a crash still has its object.  Called by jsonl_commit.c,
 * jsonl_round.c and jsonl_load.c.
 */
#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/record.h"
#include "store/jsonl/text.h"
#include "store/round_rules.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct jsonl_kind *kind_of(struct jsonl_batch *b, int kind)
{
    for (size_t k = 0; k < b->kinds.count; k++)
        if (b->kinds.items[k].kind == kind)
            return &b->kinds.items[k];
    struct jsonl_kind *slot = vec_push(&b->kinds);
    need_memory(slot);
    *slot = (struct jsonl_kind){.kind = kind};
    return slot;
}

void objects_note_gone(struct jsonl *j, struct jsonl_batch *b, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);
    for (size_t i = 0; i < count; i++) {
        pawl_object before;
        if (objects[i].data.ptr || memory_read_object(j->mirror, objects[i].kind, objects[i].name,
                                                      j->mem, &before, NULL) != PAWL_OK)
            continue;
        pawl_object *slot = vec_push(&b->gone);
        need_memory(slot);
        *slot = before;
    }
}

void objects_note(struct jsonl_batch *b, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);
    for (size_t i = 0; i < count; i++) {
        struct jsonl_kind *k = kind_of(b, objects[i].kind);
        k->puts = k->puts || objects[i].data.ptr;
        k->removes = k->removes || !objects[i].data.ptr;
    }
}

static void put_object(struct buf *text, const pawl_object *o)
{
    size_t start = text->len;
    buf_putc(text, '{');
    (void)record_put(text, &record_object, o, ",");
    text_seal(text, start);
}

/* Those that go, as they were last.  One that is there again was put after it was removed. */
static void put_gone(struct jsonl *j, struct buf *text, const struct jsonl_batch *b, int kind)
{
    for (size_t i = b->gone.count; i-- > 0;) {
        const pawl_object *o = &b->gone.items[i];
        bool later = false;
        for (size_t k = i + 1; k < b->gone.count; k++)
            later = later ||
                    (b->gone.items[k].kind == kind && pawl_str_eq(b->gone.items[k].name, o->name));
        pawl_object there;
        if (o->kind == kind && !later &&
            memory_read_object(j->mirror, kind, o->name, j->mem, &there, NULL) != PAWL_OK)
            put_object(text, o);
    }
}

/* `gone`: of this batch, or NULL for a file without what goes. */
static pawl_status write_kind(struct jsonl *j, int kind, const struct jsonl_batch *gone,
                              pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    struct buf text;
    size_t count;
    if (!jsonl_path(j, path, "queue/objects-%d.jsonl", kind))
        return jsonl_trouble(reterr, "name", j->root);
    const pawl_object **all =
        memory_objects_of(&jsonl_mirror(j)->objects, kind, (pawl_str){0}, (pawl_str){0}, &count);
    buf_init(&text, JSONL_BYTES_MAX);
    for (size_t i = 0; i < count; i++)
        put_object(&text, all[i]);
    if (gone)
        put_gone(j, &text, gone, kind);
    free(all);
    pawl_status rc =
        text.failed ? PAWL_NO_MEMORY : jsonl_replace(j, path, buf_slice(&text), reterr);
    buf_deinit(&text);
    return rc;
}

pawl_status objects_write(struct jsonl *j, const struct jsonl_batch *b, pawl_error *reterr)
{
    pawl_status rc = PAWL_OK;
    bool any = false;
    for (size_t i = 0; rc == PAWL_OK && i < b->kinds.count; i++) {
        any = any || b->kinds.items[i].puts;
        if (b->kinds.items[i].puts)
            rc = write_kind(j, b->kinds.items[i].kind, b, reterr);
    }
    return rc == PAWL_OK && any ? jsonl_point(j, "jsonl.objects", reterr) : rc;
}

pawl_status objects_drop(struct jsonl *j, const struct jsonl_batch *b, pawl_error *reterr)
{
    pawl_status rc = PAWL_OK;
    bool any = false;
    for (size_t i = 0; rc == PAWL_OK && i < b->kinds.count; i++)
        any = any || b->kinds.items[i].removes;
    if (any)
        rc = jsonl_point(j, "jsonl.leaving", reterr);
    for (size_t i = 0; rc == PAWL_OK && i < b->kinds.count; i++)
        if (b->kinds.items[i].removes)
            rc = write_kind(j, b->kinds.items[i].kind, NULL, reterr);
    return rc;
}

static bool read_line(struct jsonl *j, int kind, pawl_str line)
{
    pawl_object o = {0};
    if (!text_sealed(line) || !record_get(&record_object, line, &o, j->mem) || !o.name.len ||
        !o.version)
        return false;
    o.kind = kind;
    memory_object_load(&jsonl_mirror(j)->objects, &o);
    return true;
}

static pawl_status read_kind(struct jsonl *j, int kind, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    pawl_str text;
    if (!jsonl_path(j, path, "queue/objects-%d.jsonl", kind))
        return jsonl_trouble(reterr, "name", j->root);
    pawl_status rc = jsonl_read(path, j->mem, &text, reterr);
    size_t number = 1;
    for (size_t at = 0; rc == PAWL_OK && at < text.len; number++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t n = end ? (size_t)(end - text.ptr) - at : text.len - at;
        if (!read_line(j, kind, (pawl_str){text.ptr + at, n})) {
            error_set(reterr, PAWL_CORRUPT,
                      "line %zu of %.300s is damaged; restore a backup, or delete the line", number,
                      path);
            rc = PAWL_CORRUPT;
        }
        at += n + 1;
    }
    return rc;
}

pawl_status objects_load(struct jsonl *j, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    if (!jsonl_path(j, path, "queue"))
        return jsonl_trouble(reterr, "name", j->root);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? PAWL_OK : jsonl_trouble(reterr, "open", path);
    pawl_status rc = PAWL_OK;
    for (struct dirent *e; rc == PAWL_OK && (e = readdir(d));) {
        int kind, end = 0;
        if (sscanf(e->d_name, "objects-%9d.jsonl%n", &kind, &end) == 1 && end && !e->d_name[end])
            rc = read_kind(j, kind, reterr);
    }
    (void)closedir(d);
    return rc;
}
