/* SPDX-License-Identifier: MIT */
/* runtime/instance/published.c -- see published.h.  An instance that publishes nothing costs nothing:
 * removing one looks for objects only when some instance of the store has had any. */
#include "runtime/instance/published.h"

#include "base/hex.h"
#include "base/limits.h"
#include "runtime/core/stage.h"
#include "store/store.h"
#include "store/store_object.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX_BYTES 17 /* the uid in hex, and '/' */

_Static_assert(PREFIX_BYTES + LIMIT_STATE_KEY_BYTES <= PAWL_OBJECT_NAME_MAX, "a key fits a name");
_Static_assert(LIMIT_STATE_VALUE_BYTES <= PAWL_OBJECT_BYTES_MAX, "a value fits an object");
_Static_assert(LIMIT_STATE_KEYS <= STORE_OBJECTS_PAGE, "all keys fit a page");

static pawl_str name_of(pawl_mem *mem, uint64_t uid, pawl_str key)
{
    char hex[PREFIX_BYTES];
    hex_write_u64(hex, uid);
    return pawl_mem_printf(mem, "%s/%.*s", hex, PAWL_FMT(key));
}

void published_derive(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    static const pawl_str none;
    bool cleared = e->attrs.len && pawl_json_bool(e->attrs, "/cleared", false);
    stage_set_published(rt, true);
    *list_add(&rt->group_mem, &s->objects) =
        (pawl_object){.kind = PAWL_OBJECT_STATE,
                      .name = name_of(&rt->group_mem, s->row.uid, e->name),
                      .version = PAWL_VERSION_ANY,
                      .data = cleared       ? none
                              : e->data.ptr ? e->data
                                            : pawl_s("")};
}

/* By name; of one name, the last derived is the last (it lies behind the others). */
static int by_name(const void *a, const void *b)
{
    const pawl_object *one = *(const pawl_object *const *)a, *two = *(const pawl_object *const *)b;
    int order = strcmp(one->name.ptr, two->name.ptr);
    return order ? order : (one > two) - (one < two);
}

void published_settle(pawl_runtime *rt, struct stage *s)
{
    size_t n = s->objects.count, kept = 0;
    if (n < 2)
        return;
    const pawl_object **sorted = arena_array(&rt->group_mem, const pawl_object *, n);
    pawl_object *objects = arena_array(&rt->group_mem, pawl_object, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &s->objects.items[i];
    qsort(sorted, n, sizeof(const pawl_object *), by_name);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || sorted[i]->kind != sorted[i + 1]->kind ||
            !pawl_str_eq(sorted[i]->name, sorted[i + 1]->name))
            objects[kept++] = *sorted[i];
    s->objects.items = objects;
    s->objects.count = kept;
    s->objects.cap = n;
}

bool published_look(pawl_runtime *rt, uint64_t uid, pawl_object_list *ret)
{
    pawl_error err;
    *ret = (pawl_object_list){0};
    return !stage_published(rt) ||
           store_list_objects(rt->store, PAWL_OBJECT_STATE,
                              name_of(&rt->group_mem, uid, pawl_s("")), (pawl_str){0},
                              STORE_OBJECTS_PAGE, &rt->group_mem, ret, &err) == PAWL_OK;
}

void published_remove(pawl_runtime *rt, struct stage *s, const pawl_object_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        *list_add(&rt->group_mem, &s->objects) = (pawl_object){
            .kind = PAWL_OBJECT_STATE, .name = list->items[i].name, .version = PAWL_VERSION_ANY};
}

pawl_status published_open(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_object_list list = {0};
    if (!rt->caps.objects)
        return PAWL_OK;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_list_objects(rt->store, PAWL_OBJECT_STATE, (pawl_str){0}, (pawl_str){0},
                                        1, &rt->load_mem, &list, reterr);
    stage_set_published(rt, list.count > 0);
    return rc;
}

static void tell(const pawl_object *o, pawl_published_fn *fn, void *arg)
{
    pawl_str key = {.ptr = o->name.ptr + PREFIX_BYTES, .len = o->name.len - PREFIX_BYTES};
    fn(arg, key, o->data, o->version, o->updated_ms);
}

static pawl_status read_one(pawl_runtime *rt, uint64_t uid, const char *key, pawl_mem *mem,
                            pawl_object *ret, pawl_error *reterr)
{
    if (strlen(key) > LIMIT_STATE_KEY_BYTES || !check_name("state key", pawl_s(key), reterr))
        return PAWL_NOT_FOUND;
    return store_read_object(rt->store, PAWL_OBJECT_STATE, name_of(mem, uid, pawl_s(key)), mem, ret,
                             reterr);
}

pawl_status published_read(pawl_runtime *rt, uint64_t uid, const char *key, pawl_mem *mem,
                           pawl_published_fn *fn, void *arg, pawl_error *reterr)
{
    pawl_object one = {0};
    pawl_object_list list = {0};
    pawl_status rc;
    if (!rt->caps.objects)
        rc = key ? PAWL_NOT_FOUND : PAWL_OK;
    else if (key)
        rc = read_one(rt, uid, key, mem, &one, reterr);
    else
        rc = store_list_objects(rt->store, PAWL_OBJECT_STATE, name_of(mem, uid, pawl_s("")),
                                (pawl_str){0}, STORE_OBJECTS_PAGE, mem, &list, reterr);
    if (rc == PAWL_OK && key)
        tell(&one, fn, arg);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++)
        tell(&list.items[i], fn, arg);
    if (rc == PAWL_NOT_FOUND)
        error_set(reterr, rc, "state key '%.128s' is not set", key);
    return rc;
}
