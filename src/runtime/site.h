/* SPDX-License-Identifier: MIT */
/* runtime/site.h -- a return address in an author's code, for people. */
#ifndef PAWL_RUNTIME_SITE_H
#define PAWL_RUNTIME_SITE_H

#include <stddef.h>

/* "process_order at order.c:41" when addr2line is installed, else "order.so+0x12ab";
 * "" when unknown.  Slow: only for reports. */
void site_describe(void *address, char *to, size_t size);

#endif
