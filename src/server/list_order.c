/* SPDX-License-Identifier: MIT */
/*
 * server/list_order.c -- a list in another order than newest first: one page, bounded.
 *
 * No store has an index on what changes with every step.  So the newest SORT_MAX instances that
 * match (or those of SORT_MS) are looked at, their keys are sorted, and the first `limit` are read
 * again for the answer; it says whether there were older ones.  Instances that are tried again are
 * known in memory (pawl_client_retries), so the order by attempts looks at no others.
 *
 * Called by instance_list.c, on a reader thread.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/vec.h"
#include "server/instance_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SORT_MAX  10000
#define SORT_MS   50
#define SORT_PAGE 200

struct ranked {
    int64_t key; /* the highest comes first */
    uint64_t uid;
};

struct ranking {
    struct list_call *l;
    LIST(struct ranked) all;
};

static int higher_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->uid < y->uid ? 1 : x->uid > y->uid ? -1 : 0;
}

static void add(struct ranking *r, int64_t key, uint64_t uid)
{
    *list_add(r->l->c->mem, &r->all) = (struct ranked){key, uid};
}

/* ---- By a time ---------------------------------------------------------------------- */

static void rank_page(struct ranking *r, pawl_mem *mem, const pawl_page *page)
{
    struct list_call *l = r->l;
    for (size_t i = 0; i < page->count; i++) {
        pawl_info info = page->items[i];
        const pawl_waiting *wait = NULL;
        if (l->wait_kind && listing_is_over(l)) {
            l->cut = true;
            return;
        }
        if (l->wait_kind && !(wait = listing_wait(l, mem, &info)))
            continue;
        int64_t since = wait && l->order == ORDER_WAITING ? wait->since_ms : info.updated_ms;
        add(r, l->order == ORDER_WAITING ? -since : since, info.uid);
    }
}

/* False: answered. */
static bool rank_newest(struct ranking *r, pawl_mem *mem)
{
    struct list_call *l = r->l;
    char after[24] = "";
    pawl_filter filter = l->filter;
    pawl_page page;
    pawl_error err;
    filter.limit = SORT_PAGE;
    do {
        pawl_mem_reset(mem);
        filter.after = after;
        if (pawl_client_list(l->c->srv->client, &filter, mem, &page, &err) != PAWL_OK) {
            answer_failure(l->c, &err);
            return false;
        }
        l->examined += page.examined;
        rank_page(r, mem, &page);
        (void)snprintf(after, sizeof(after), "%.*s", PAWL_FMT(page.next));
    } while (after[0] && l->examined < SORT_MAX && !listing_is_over(l));
    l->cut = l->cut || after[0];
    return true;
}

static int same_together(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->uid != y->uid ? (x->uid < y->uid ? 1 : -1) : higher_first(a, b);
}

/* ---- By attempts ---------------------------------------------------------------------- */

static void rank_retry(void *arg, const pawl_retry *retry)
{
    struct ranking *r = arg;
    const struct list_call *l = r->l;
    if (!l->wait_name || pawl_str_is(retry->activity, l->wait_name))
        add(r, retry->attempts, retry->uid);
}

/* An instance may have several calls that are tried again: one is enough. */
static void rank_retries(struct ranking *r)
{
    size_t kept = 0;
    pawl_client_retries(r->l->c->srv->client, rank_retry, r);
    r->l->examined = r->all.count;
    if (r->all.count)
        qsort(r->all.items, r->all.count, sizeof(*r->all.items), same_together);
    for (size_t i = 0; i < r->all.count; i++)
        if (!i || r->all.items[i].uid != r->all.items[i - 1].uid)
            r->all.items[kept++] = r->all.items[i];
    r->all.count = kept;
}

/* ---- The answer -------------------------------------------------------------------------- */

/* The instance, if it is still there and matches: the newest one below uid + 1. */
static bool write_one(struct ranking *r, pawl_json *w, uint64_t uid)
{
    struct list_call *l = r->l;
    pawl_filter filter = l->filter;
    pawl_page page;
    pawl_error err;
    filter.limit = 1;
    filter.after = pawl_mem_printf(l->c->mem, "%llx", (unsigned long long)uid + 1).ptr;
    if (pawl_client_list(l->c->srv->client, &filter, l->c->mem, &page, &err) != PAWL_OK ||
        !page.count || page.items[0].uid != uid)
        return false;
    pawl_info info = page.items[0];
    listing_write(l, w, &info);
    return true;
}

static void write_ranked(struct ranking *r, pawl_json *w)
{
    uint32_t given = 0;
    size_t bytes = arena_bytes(r->l->c->mem);
    if (r->all.count)
        qsort(r->all.items, r->all.count, sizeof(*r->all.items), higher_first);
    for (size_t i = 0; i < r->all.count && given < r->l->filter.limit; i++) {
        given += write_one(r, w, r->all.items[i].uid);
        if (arena_bytes(r->l->c->mem) - bytes > PAGE_BYTES) {
            r->l->cut = true;
            return;
        }
    }
    r->l->cut = r->l->cut || given == r->l->filter.limit;
}

bool listing_sorted(struct list_call *l, pawl_json *w)
{
    struct ranking r = {.l = l};
    bool ranked = true;
    l->until_ms = clock_mono_ms() + SORT_MS;
    if (l->order == ORDER_ATTEMPTS) {
        rank_retries(&r);
    } else {
        pawl_mem *mem = pawl_mem_new();
        ranked = rank_newest(&r, mem);
        pawl_mem_free(mem);
    }
    l->until_ms = clock_mono_ms() + SORT_MS; /* for what the rows wait for */
    if (ranked)
        write_ranked(&r, w);
    l->filter.after = NULL;
    return ranked;
}
