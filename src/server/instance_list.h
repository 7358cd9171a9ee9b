/* SPDX-License-Identifier: MIT */
/*
 * server/instance_list.h -- a list of instances on its way; for instance_list.c, which reads what is
 * asked for and writes the newest first, and list_order.c, which sorts.
 */
#ifndef PAWL_SERVER_INSTANCE_LIST_H
#define PAWL_SERVER_INSTANCE_LIST_H

#include "server/server.h"

enum list_order { ORDER_NEWEST, ORDER_UPDATED, ORDER_WAITING, ORDER_ATTEMPTS };

struct list_call {
    struct call *c;
    pawl_where where[PAWL_WHERE_MAX]; /* of the filter */
    pawl_filter filter;               /* `after` moves along */
    enum list_order order;
    const char *wait_kind, *wait_name; /* only those that wait for this; NULL: any */
    bool with_waiting;                 /* rows have what they wait for, as far as there is time */
    bool nothing;                      /* no instance can match */
    bool cut;                          /* sorted: there are older ones, which were not looked at */
    int64_t until_ms;                  /* mono: then the page ends as it is */
    uint64_t examined;
};

/* What is asked for; false: 400 was answered. */
bool listing_read(struct call *c, struct list_call *l);
bool listing_is_over(const struct list_call *l);
/* Read what the instance waits for into `info`; the wait that the list is about, NULL: none. */
const pawl_waiting *listing_wait(struct list_call *l, pawl_mem *mem, pawl_info *info);
void listing_write(struct list_call *l, pawl_json *w, pawl_info *info);
/* list_order.c: the rows of the answer, in the order asked for.  False: answered. */
bool listing_sorted(struct list_call *l, pawl_json *w);

#endif
