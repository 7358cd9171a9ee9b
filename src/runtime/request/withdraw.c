/* SPDX-License-Identifier: MIT */
/*
 * runtime/request/withdraw.c -- cancel a waiting pop or poll whose caller has gone.
 *
 * A pop or a poll that waits is answered by a commit that locks something for it.  When its
 * caller has gone meanwhile, the item would stay locked until the lock runs out, a message
 * popped for good would be lost, and an activity would be charged with an attempt that did
 * not happen.  So the caller's side says that it has gone, through the inbox like every call,
 * behind the call it is about.
 *
 * Called by pawl_client_withdraw() on any thread (the server's loop), and by loop.c.
 */
#include "runtime/request/withdraw.h"

#include "base/misuse.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/queue/queue_pass.h"
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
        return; /* it waits until its time is over */
    *w = (struct withdrawal){.item.kind = ITEM_WITHDRAWAL, .arg = arg};
    if (!inbox_post(c->rt, &w->item))
        free(w); /* closing: every call is answered */
}

void withdraw_handle(pawl_runtime *rt, struct item *item)
{
    const void *arg = ((struct withdrawal *)(void *)item)->arg;
    free(item);
    queue_end_wait(rt, arg);
    lease_end_wait(rt, arg);
}
