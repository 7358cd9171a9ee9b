/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/redelivery.h -- what a store without atomic rounds hands out twice. [engine]
 *
 * Peek-lock mode (peek/repair.h): a half-done round may be delivered again.  What was done already is
 * recognised here.
 */
#ifndef PAWL_RUNTIME_REDELIVERY_H
#define PAWL_RUNTIME_REDELIVERY_H

#include "runtime/core/runtime.h"

/* The mail an ExternalEvent took, and the row it was before its adoption (the same: none). */
uint64_t redelivery_message_of(const pawl_event *e);
uint64_t redelivery_was_of(const pawl_event *e);
/* Mail that takes the place of a kept row says which one. */
void redelivery_adopted(pawl_runtime *rt, struct stage *s, pawl_message *mail, uint64_t was);
/* True when this raise was recorded already (redelivered after a half-done round). */
bool redelivery_was_taken(pawl_runtime *rt, struct resident *r, const struct letter *l);
/* An existing child is started again by its own parent: tell it how it ended. */
void redelivery_child(pawl_runtime *rt, struct stage *s, const pawl_row *row);

#endif
