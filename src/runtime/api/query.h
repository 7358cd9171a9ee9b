/* SPDX-License-Identifier: MIT */
/* runtime/api/query.h -- a client's filter as a search of the store; for count_client.c, too. */
#ifndef PAWL_RUNTIME_QUERY_H
#define PAWL_RUNTIME_QUERY_H

#include "pawl/client.h"
#include "pawl/provider.h"

/* False: it is refused, or its parent cannot be found. */
bool filter_search(pawl_client *c, const pawl_filter *f, pawl_mem *mem, pawl_search *s,
                   pawl_error *err);

#endif
