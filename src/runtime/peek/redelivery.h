/* SPDX-License-Identifier: MIT */
/*
 * runtime/peek/redelivery.h -- what a store without atomic rounds hands out twice. [engine]
 *
 * Peek-lock mode (peek/repair.h): the messages of a half-done round may be delivered again.  These
 * functions recognise what was done already.
 */
#ifndef PAWL_RUNTIME_REDELIVERY_H
#define PAWL_RUNTIME_REDELIVERY_H

#include "runtime/core/runtime.h"

/* The mail that an ExternalEvent took, or the row it was before its adoption. */
uint64_t redelivery_message_of(const pawl_event *e);
uint64_t redelivery_was_of(const pawl_event *e);
/* Note in adopted mail which kept row it replaces. */
void redelivery_adopted(pawl_runtime *rt, struct stage *s, pawl_message *mail, uint64_t was);
/* OK when this raise was recorded already (it is delivered again after a half-done round), EMPTY when
 * not; else the store did not answer. */
pawl_status redelivery_find_taken(pawl_runtime *rt, struct resident *r, const struct letter *l);
/* A parent starts a child that exists: tell the parent how the child ended. */
void redelivery_child(pawl_runtime *rt, struct stage *s, const pawl_row *row);

#endif
