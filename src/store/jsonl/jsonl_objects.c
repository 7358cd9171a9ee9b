/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_objects.c -- named objects: one file a kind, a line an object.
 *
 *     queue/objects-1.jsonl      {"name":"nightly","version":3,"updated":"…","data":{…},"crc":"…"}
 *
 * A commit that changes objects of a kind writes its file beside the old one and renames it,
 * so all of them are as before or as after it.  Called by jsonl_commit.c and jsonl_load.c.
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

void objects_note(struct jsonl_batch *b, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < b->kinds.count && b->kinds.items[k] != objects[i].kind)
            k++;
        if (k < b->kinds.count)
            continue;
        int *slot = vec_push(&b->kinds);
        need_memory(slot);
        *slot = objects[i].kind;
    }
}

static pawl_status write_kind(struct jsonl *j, int kind, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    struct buf text;
    size_t count;
    if (!jsonl_path(j, path, "queue/objects-%d.jsonl", kind))
        return jsonl_trouble(reterr, "name", j->root);
    const pawl_object **all =
        memory_objects_of(&jsonl_mirror(j)->objects, kind, (pawl_str){0}, (pawl_str){0}, &count);
    buf_init(&text, JSONL_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t start = text.len;
        buf_putc(&text, '{');
        (void)record_put(&text, &record_object, all[i], ",");
        text_seal(&text, start);
    }
    free(all);
    pawl_status rc =
        text.failed ? PAWL_NO_MEMORY : jsonl_replace(j, path, buf_slice(&text), reterr);
    buf_deinit(&text);
    return rc;
}

pawl_status objects_write(struct jsonl *j, const struct jsonl_batch *b, pawl_error *reterr)
{
    pawl_status rc = PAWL_OK;
    for (size_t i = 0; rc == PAWL_OK && i < b->kinds.count; i++)
        rc = write_kind(j, b->kinds.items[i], reterr);
    return rc == PAWL_OK && b->kinds.count ? jsonl_point(j, "jsonl.objects", reterr) : rc;
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
