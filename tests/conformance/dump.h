/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/dump.h -- what a store holds, as text, so that two can be compared.
 *
 * Every field the contract promises is printed, one row a line, in an order that
 * does not depend on the store.
 */
#ifndef PAWL_TESTS_DUMP_H
#define PAWL_TESTS_DUMP_H

#include "base/buf.h"
#include "pawl/provider.h"

void dump_row(struct buf *out, const pawl_row *row);
void dump_messages(struct buf *out, const pawl_message_list *list);
void dump_work(struct buf *out, const pawl_work_list *list);
void dump_events(struct buf *out, const pawl_event_list *list);
/* One instance: row, executions, histories, messages. */
void dump_instance(struct buf *out, pawl_store *s, uint64_t uid, pawl_mem *mem);
/* All instances, the work among `ids`, quarantine, counts. */
void dump_store(struct buf *out, pawl_store *s, const uint64_t *ids, size_t count, int64_t now_ms,
                pawl_mem *mem);
/* Print the first line in which two dumps differ; false when they do not. */
bool dump_differ(const struct buf *a, const struct buf *b, const char *names[2]);

#endif
