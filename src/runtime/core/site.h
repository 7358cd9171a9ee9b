/* SPDX-License-Identifier: MIT */
/* runtime/core/site.h -- a return address in an author's code, for people. */
#ifndef PAWL_RUNTIME_SITE_H
#define PAWL_RUNTIME_SITE_H

#include "pawl/types.h"

/* "process_order at order.c:41" when addr2line is installed, else "order.so+0x12ab";
 * "" when unknown.  Slow: only for reports. */
void site_describe(void *address, char *to, size_t size);

/* The same without another process, where time matters: "/path/order.so+0x12ab". */
void site_place(void *address, char *to, size_t size);
/* `text` with such a place in it as site_describe() would have said it, in `mem`; as it is when
 * there is none, or the file is younger than `since_ms`, when the text was made.  Slow. */
pawl_str site_name(pawl_mem *mem, pawl_str text, int64_t since_ms);

#endif
