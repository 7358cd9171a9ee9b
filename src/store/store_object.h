/* SPDX-License-Identifier: MIT */
/*
 * store/store_object.h -- calling the named objects of a store: store/store.h for clauses V1 to V5
 * of pawl/provider.h.
 *
 * Called by the runtime on stores whose capabilities say `objects`.  store.c checks the objects of a
 * round with round_check_objects() before it hands the round on.
 */
#ifndef PAWL_STORE_STORE_OBJECT_H
#define PAWL_STORE_STORE_OBJECT_H

#include "pawl/provider.h"

#define STORE_OBJECTS_PAGE 1000

/* Assert that the objects of a round are such as the caller promised. */
void round_check_objects(pawl_store *s, const pawl_round *r);

/* The same of its entries of the index of attributes. */
void round_check_entries(const pawl_round *r);

PAWL_MUST_USE pawl_status store_read_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem,
                                            pawl_object *ret, pawl_error *reterr);
PAWL_MUST_USE pawl_status store_list_objects(pawl_store *s, int kind, pawl_str prefix,
                                             pawl_str after, uint32_t limit, pawl_mem *mem,
                                             pawl_object_list *ret, pawl_error *reterr);

#endif
