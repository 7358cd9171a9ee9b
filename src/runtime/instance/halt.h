/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/halt.h -- trees that decide nothing any more. [engine]
 *
 * A large tree that is removed by force is removed in pieces.  Its open instances would run on
 * meanwhile, and one that starts a child in every pass would never run out of children.  So from the
 * request on no code of the tree runs: letters to its instances wait as rows, and starts of more
 * children stay in the store.
 *
 * Nothing of this is stored: when the removal is refused half-way, or the process ends, all of it
 * goes on where it was.
 */
#ifndef PAWL_RUNTIME_HALT_H
#define PAWL_RUNTIME_HALT_H

#include "runtime/core/verdict.h"

void halt_open(pawl_runtime *rt);
void halt_close(pawl_runtime *rt);

/* The instance `root_uid` and all below it stand still. */
void halt_tree(pawl_runtime *rt, uint64_t root_uid);
/* It is gone, or it may go on. */
void halt_end(pawl_runtime *rt, uint64_t root_uid);
/* An instance of such a tree was removed. */
void halt_gone(pawl_runtime *rt, uint64_t uid);

/* A letter for this instance.  False: it may be delivered. */
bool halt_takes(pawl_runtime *rt, struct resident *r, struct letter *l, struct delivered *ret);
/* The start of a child of `parent_uid`.  False: it may begin. */
bool halt_takes_start(pawl_runtime *rt, uint64_t parent_uid, struct letter *l,
                      struct delivered *ret);

#endif
