/* SPDX-License-Identifier: MIT */
/*
 * store/memory/memory_object.h -- the memory store's named objects: a map by kind and name.
 *
 * memory_commit.c checks and applies those of a round under the store's mutex; the jsonl store
 * fills its mirror with memory_object_load() and writes what memory_objects_of() finds.
 */
#ifndef PAWL_STORE_MEMORY_MEMORY_OBJECT_H
#define PAWL_STORE_MEMORY_MEMORY_OBJECT_H

#include "base/map.h"
#include "pawl/provider.h"

/* All objects of a store. */
struct memory_objects {
    struct map by_key;
};

void memory_objects_init(struct memory_objects *o);
void memory_objects_deinit(struct memory_objects *o);
/* V1: could the objects of this round be put? */
bool memory_objects_acceptable(const struct memory_objects *o, const pawl_round *r);
void memory_objects_apply(struct memory_objects *o, const pawl_round *r, int64_t now_ms);
/* Put one as it is, version and time included. */
void memory_object_load(struct memory_objects *o, const pawl_object *object);
/* Those of a kind with the prefix, after `after`, by name: pointers on the heap, for the caller to
 * free. */
const pawl_object **memory_objects_of(const struct memory_objects *o, int kind, pawl_str prefix,
                                      pawl_str after, size_t *retcount);

pawl_status memory_read_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem,
                               pawl_object *ret, pawl_error *reterr);
pawl_status memory_list_objects(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                                uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                                pawl_error *reterr);

#endif
