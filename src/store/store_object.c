/* SPDX-License-Identifier: MIT */
/* store/store_object.c -- see the header. */
#include "store/store_object.h"

#include "base/attr.h"
#include "base/attributes.h"
#include "base/str.h"
#include "store/round_rules.h"
#include "store/store.h"

static void check_object(const pawl_object *o)
{
    assert_that(o->kind > 0 && o->name.len > 0 && o->name.len <= PAWL_OBJECT_NAME_MAX);
    assert_that(o->data.len <= PAWL_OBJECT_BYTES_MAX);
    assert_that(o->data.ptr || o->version > 0);
}

/* Few objects are in a round: each is compared with those before it. */
void round_check_objects(pawl_store *s, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);
    assert_that(count == 0 || store_caps(s).objects);
    for (size_t i = 0; i < count; i++) {
        check_object(&objects[i]);
        for (size_t k = 0; k < i; k++)
            assert_that(!object_is(&objects[k], objects[i].kind, objects[i].name));
    }
}

void round_check_entries(const pawl_round *r)
{
    size_t count;
    const pawl_attribute_entry *entries = round_entries(r, &count);
    assert_that(count == 0 || r->uid);
    for (size_t i = 0; i < count; i++) {
        assert_that(entries[i].name.len > 0 && entries[i].name.len <= PAWL_ATTRIBUTE_NAME_MAX);
        assert_that(entries[i].key.len > 0 && entries[i].key.len <= ATTRIBUTE_KEY_MAX);
        assert_that(i == 0 || entries[i].drop <= entries[i - 1].drop);
    }
}

pawl_status store_read_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem,
                              pawl_object *ret, pawl_error *reterr)
{
    pawl_status status = s->ops->read_object(s, kind, name, mem, ret, reterr);
    if (status == PAWL_OK && (!object_is(ret, kind, name) || !ret->version))
        return store_unbelievable("another object", reterr);
    return status;
}

pawl_status store_list_objects(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                               uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                               pawl_error *reterr)
{
    assert_that(limit > 0 && limit <= STORE_OBJECTS_PAGE);
    pawl_status status = s->ops->list_objects(s, kind, prefix, after, limit, mem, ret, reterr);
    if (status != PAWL_OK)
        return status;
    assert_that(ret->count <= limit);
    for (size_t i = 0; i < ret->count; i++) {
        pawl_str before = i ? ret->items[i - 1].name : after;
        if (ret->items[i].kind != kind || str_compare(before, ret->items[i].name) >= 0)
            return store_unbelievable("objects that were not asked for, or out of order", reterr);
    }
    return status;
}
