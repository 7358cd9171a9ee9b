/* SPDX-License-Identifier: MIT */
/*
 * server/paging.h -- an answer that is made of pieces, until it has enough items or bytes.
 *
 * Outputs and events may be megabytes each, so what is read at once depends on what came so far,
 * and an answer ends, with a `next`, when it has PAGE_BYTES.  Called by the handlers that list.
 */
#ifndef PAWL_SERVER_PAGING_H
#define PAWL_SERVER_PAGING_H

#include "server/server.h"

#define PIECE 50 /* read at once */

struct paging {
    uint32_t left, given; /* items */
    size_t bytes;
};

/* How many to read next. */
uint32_t paging_piece(const struct paging *p);
/* One more item is in the answer; false: that is enough of them. */
bool paging_count(struct paging *p, size_t bytes);
/* What an instance is worth in an answer. */
size_t paging_bytes_of(const pawl_info *info);

#endif
