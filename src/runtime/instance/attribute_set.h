/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/attribute_set.h -- the attributes of an instance, from a start, its code or an
 * operator to its row and the index. [engine]
 *
 * The walk: a change (JSON) is read and merged into `attributes` of the stage's row; sealing
 * compares that with the row of the resident, which is what the store has, and hands the difference
 * to the store as entries.  So entries and sets agree by construction, whatever changed them, and
 * an instance without attributes costs two comparisons of a length.
 *
 * Invariant: a set in a row is canonical (base/attributes.h).  Called by begin, finish, load, seal
 * and request.
 */
#ifndef PAWL_RUNTIME_INSTANCE_ATTRIBUTE_SET_H
#define PAWL_RUNTIME_INSTANCE_ATTRIBUTE_SET_H

#include "base/attributes.h"
#include "runtime/core/runtime.h"
#include "runtime/core/verdict.h"

/* The set that a start gives its instance: the client's, its parent's, and ours. */
pawl_str attributes_at_start(pawl_runtime *rt, const struct letter *l);
/* Merge what a rerun brings; false: too many. */
bool attributes_rerun(pawl_runtime *rt, struct stage *s, const struct letter *l,
                      pawl_error *reterr);
/* May the code of resident `user` make this change now?  For execution_spec. */
bool attributes_ask(void *user, const struct attribute_list *change, pawl_error *reterr);
/* Its AttributesSet is part of the stage. */
void attributes_derive(pawl_runtime *rt, struct stage *s, const pawl_event *e);
/* A start that was half stored: its row may lack what its event has. */
void attributes_repair(pawl_runtime *rt, struct stage *s, const pawl_event *started);
/* What the stage changes in the index; NULL: nothing. */
const pawl_attribute_entry *attributes_entries(pawl_runtime *rt, const struct stage *s,
                                               size_t *retcount);
/* An operator's change: no event. */
enum verdict_kind attributes_call(pawl_runtime *rt, struct letter *call);

#endif
