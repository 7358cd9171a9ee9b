/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/withdraw.c -- cancel a waiting pop or poll whose caller has gone.
 *
 * A waiting pop or poll is answered by a commit that locks something for it.  If its caller had
 * gone by then, the item would stay locked until the lock expires, a message popped without a
 * lock would be lost, and an activity would be charged with an attempt that did not happen.  So
 * the server reports that the caller has gone, through the inbox, after the call itself.
 *
 * Called by pawl_client_withdraw() on any thread (the server's loop), and by loop.c.
 */
#include "runtime/request/withdraw.h"

#include "base/misuse.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/instance/updates.h"
#include "runtime/queue/queue_pass.h"
#include "runtime/remote/exchange.h"
#include "runtime/work/lease.h"

#include <stdlib.h>

struct withdrawal {
    struct item item;
    const void *arg;
};

void pawl_client_withdraw(pawl_client *c, const void *arg)
{
    MUST_HAVE("a client", c);
    pawl_error elsewhere;
    struct withdrawal *w = here_is_forked(c->rt, &elsewhere) ? NULL : malloc(sizeof(*w));
    if (!w)
        return; /* then the call waits until its time is over */
    *w = (struct withdrawal){.item.kind = ITEM_WITHDRAWAL, .arg = arg};
    if (!inbox_post(c->rt, &w->item))
        free(w); /* closing: every call is answered */
}

void withdraw_handle(pawl_runtime *rt, struct item *item)
{
    const void *arg = ((struct withdrawal *)(void *)item)->arg;
    free(item);
    queue_end_wait(rt, arg);
    updates_stop_waiting(rt, arg);
    lease_end_wait(rt, arg);
    exchange_end_wait(rt, arg);
}
