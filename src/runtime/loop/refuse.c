/* SPDX-License-Identifier: MIT */
/*
 * runtime/loop/refuse.c -- see refuse.h.  Called by loop.c when the store is gone, by close.c, and
 * by blocking calls of clients of a runtime that is dead.
 */
#include "runtime/loop/refuse.h"

#include "runtime/core/health.h"
#include "runtime/core/here.h"
#include "runtime/core/inbox.h"
#include "runtime/core/items.h"
#include "runtime/core/letter.h"
#include "runtime/instance/updates.h"
#include "runtime/queue/queue_answer.h"
#include "runtime/queue/queue_cache.h"
#include "runtime/remote/exchange.h"
#include "runtime/request/felling.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"

#include <stdlib.h>

static void refuse_items(pawl_runtime *rt, struct item *item)
{
    const char *text;
    pawl_status status = health_ending(rt, &text);
    for (struct item *next; item; item = next) {
        next = item->next;
        if (item->kind == ITEM_REQUEST)
            request_refuse(letter_of_item(item), status, "%s", text);
        else if (item->kind == ITEM_LEASE)
            lease_refuse(rt, item);
        else if (item->kind == ITEM_QUEUE)
            queue_refuse((struct queue_req *)(void *)item, status, text);
        else if (item->kind == ITEM_WITHDRAWAL)
            free(item);
        else if (item->kind == ITEM_TURNS)
            exchange_refuse(exchange_of_item(item), status, "%s", text);
        else
            job_drop(rt, (struct job *)(void *)item);
    }
}

static void drop_letters(pawl_runtime *rt)
{
    struct letter *l;
    const char *text;
    pawl_status status = health_ending(rt, &text);
    letter_back_later(rt);
    while ((l = letter_next(rt)))
        letter_drop(rt, l, status, text);
}

/* They are durable; their clients ask again for the answer. */
static void refuse_updates(pawl_runtime *rt)
{
    const char *text;
    pawl_status status = health_ending(rt, &text);
    updates_refuse_all(rt, status, text);
}

void refuse_calls(pawl_runtime *rt)
{
    const pawl_runtime *outer = here_enter(rt);
    health_refused(rt);
    inbox_take(rt);
    refuse_items(rt, items_all(rt));
    queue_refuse_all(rt);
    refuse_updates(rt);
    drop_letters(rt);
    felling_stop(rt);
    lease_stop(rt);
    exchange_stop(rt);
    here_leave(outer);
}

void refuse_all(pawl_runtime *rt)
{
    jobs_unwatch(rt);
    refuse_calls(rt);
}
