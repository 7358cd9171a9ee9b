/* SPDX-License-Identifier: MIT */
/* store/memory/memory_object.c -- see the header. */
#include "store/memory/memory_object.h"

#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"
#include "store/memory/copy.h"
#include "store/memory/memory.h"
#include "store/round_rules.h"

#include <stdlib.h>
#include <string.h>

struct memory_object {
    pawl_object row;
    size_t key_len;
    char key[sizeof(int) + PAWL_OBJECT_NAME_MAX]; /* in the map: the kind, then the name */
};

static const struct row_shape shape_object = {
    sizeof(pawl_object), 2, {offsetof(pawl_object, name), offsetof(pawl_object, data)}
};

static pawl_str key_of(char room[sizeof(int) + PAWL_OBJECT_NAME_MAX], int kind, pawl_str name)
{
    size_t n = name.len < PAWL_OBJECT_NAME_MAX ? name.len : PAWL_OBJECT_NAME_MAX;
    memcpy(room, &kind, sizeof(kind));
    if (n)
        memcpy(room + sizeof(kind), name.ptr, n);
    return (pawl_str){room, sizeof(kind) + n};
}

static struct memory_object *find(const struct memory_objects *o, int kind, pawl_str name)
{
    char room[sizeof(int) + PAWL_OBJECT_NAME_MAX];
    return map_gets(&o->by_key, key_of(room, kind, name));
}

void memory_objects_init(struct memory_objects *o)
{
    map_init(&o->by_key);
}

static void free_object(struct memory_object *it)
{
    copy_drop(&shape_object, &it->row);
    free(it);
}

void memory_objects_deinit(struct memory_objects *o)
{
    struct memory_object *it;
    for (size_t cursor = 0; (it = map_next(&o->by_key, &cursor));)
        free_object(it);
    map_deinit(&o->by_key);
}

bool memory_objects_acceptable(const struct memory_objects *o, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);
    for (size_t i = 0; i < count; i++) {
        const struct memory_object *it = find(o, objects[i].kind, objects[i].name);
        if (!object_fits(&objects[i], it ? it->row.version : 0))
            return false;
    }
    return true;
}

void memory_object_load(struct memory_objects *o, const pawl_object *object)
{
    struct memory_object *it = find(o, object->kind, object->name);
    if (it) {
        copy_drop(&shape_object, &it->row);
    } else {
        it = copy_alloc(sizeof(*it));
        it->key_len = key_of(it->key, object->kind, object->name).len;
        need_memory(map_puts(&o->by_key, (pawl_str){it->key, it->key_len}, it));
    }
    copy_keep(&shape_object, &it->row, object);
}

static void remove_object(struct memory_objects *o, const pawl_object *object)
{
    struct memory_object *it = find(o, object->kind, object->name);
    if (!it)
        return;
    (void)map_removes(&o->by_key, (pawl_str){it->key, it->key_len});
    free_object(it);
}

void memory_objects_apply(struct memory_objects *o, const pawl_round *r, int64_t now_ms)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);
    for (size_t i = 0; i < count; i++) {
        if (!objects[i].data.ptr) {
            remove_object(o, &objects[i]);
            continue;
        }
        const struct memory_object *before = find(o, objects[i].kind, objects[i].name);
        pawl_object put = objects[i];
        put.version = (before ? before->row.version : 0) + 1;
        put.updated_ms = now_ms;
        memory_object_load(o, &put);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_compare((*(const pawl_object *const *)a)->name,
                       (*(const pawl_object *const *)b)->name);
}

const pawl_object **memory_objects_of(const struct memory_objects *o, int kind, pawl_str prefix,
                                      pawl_str after, size_t *retcount)
{
    const struct memory_object *it;
    const pawl_object **found = copy_alloc((o->by_key.count + 1) * sizeof(const pawl_object *));
    size_t count = 0;
    for (size_t cursor = 0; (it = map_next(&o->by_key, &cursor));)
        if (it->row.kind == kind && str_begins(it->row.name, prefix) &&
            str_compare(it->row.name, after) > 0)
            found[count++] = &it->row;
    qsort(found, count, sizeof(const pawl_object *), by_name);
    *retcount = count;
    return found;
}

pawl_status memory_read_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem,
                               pawl_object *ret, pawl_error *reterr)
{
    struct memory *m = memory_lock(s);
    const struct memory_object *it = find(&m->objects, kind, name);
    if (it)
        copy_give(&shape_object, ret, &it->row, mem);
    memory_unlock(m);
    if (it)
        return PAWL_OK;
    error_about(reterr, PAWL_NOT_FOUND, "there is no object '", name, "'");
    return PAWL_NOT_FOUND;
}

pawl_status memory_list_objects(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                                uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                                pawl_error *reterr UNUSED)
{
    struct memory *m = memory_lock(s);
    size_t count;
    const pawl_object **found = memory_objects_of(&m->objects, kind, prefix, after, &count);
    if (count > limit)
        count = limit;
    pawl_object *items = pawl_mem_alloc(mem, (count + 1) * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        copy_give(&shape_object, &items[i], found[i], mem);
    free(found);
    memory_unlock(m);
    *ret = (pawl_object_list){items, count};
    return PAWL_OK;
}
