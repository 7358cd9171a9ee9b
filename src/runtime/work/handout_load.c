/* SPDX-License-Identifier: MIT */
/* runtime/work/handout_load.c -- see the header. */
#include "runtime/work/handout_load.h"

#include "base/heap.h"
#include "runtime/core/health.h"
#include "runtime/core/registry.h"
#include "runtime/core/tray.h"
#include "runtime/work/handout.h"
#include "store/store.h"

#define CLASSES_KEPT 4096 /* without trays; more are forgotten */
#define LIST_PAGE    100000

/* A row that is not free: leased, or not due. */
static void found(pawl_runtime *rt, struct tray *tray, const pawl_work *w)
{
    if (w->lock_token.len && w->lock_until_ms > rt->now_ms)
        tray_found_out(rt, tray, w, true);
    else
        tray_wake_at(rt, tray, w->visible_ms);
}

static bool load_tray(pawl_runtime *rt, pawl_str name)
{
    pawl_work_list list;
    pawl_error err;
    pawl_mem mem;
    arena_init(&mem);
    bool good =
        store_read_named_work(rt->store, name, rt->now_ms, LIST_PAGE, &mem, &list, &err) == PAWL_OK;
    if (good) {
        struct tray *tray = tray_of_name(rt, name);
        for (size_t i = 0; i < list.count; i++)
            found(rt, tray, &list.items[i]);
        tray->more = true;
        tray_stir(rt, tray);
    } else {
        health_unread(rt, &err);
    }
    arena_deinit(&mem);
    return good;
}

/* `named`: only trays without key and priority, which a limit has made come by their turn. */
static bool load_page(pawl_runtime *rt, const pawl_text_list *list, bool named)
{
    bool good = true;
    struct tray_parts parts;
    for (size_t i = 0; good && i < list->count; i++)
        if (handout_knows(rt, list->items[i]) && !(named && tray_cut(list->items[i], &parts)))
            good = load_tray(rt, list->items[i]);
    return good;
}

static bool load(pawl_runtime *rt, bool named)
{
    pawl_text_list list;
    pawl_error err;
    pawl_mem mem;
    pawl_str after = {0};
    bool good = true;
    arena_init(&mem);
    do {
        good = store_list_work_names(rt->store, after, LIST_PAGE, &mem, &list, &err) == PAWL_OK;
        if (!good)
            health_unread(rt, &err);
        good = good && load_page(rt, &list, named);
        if (good && list.count)
            after = list.items[list.count - 1];
    } while (good && list.count == LIST_PAGE);
    arena_deinit(&mem);
    return good;
}

static void look_at_registry(pawl_runtime *rt)
{
    unsigned long now = atomic_load(&rt->app->generation);
    if (now == rt->hands.handout->generation)
        return;
    rt->hands.handout->generation = now;
    handout_set_ours(rt);
}

static void look_at_clock(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    struct heap_node *top;
    fair_due(&h->fair, rt->now_ms * 1000);
    while ((top = heap_top(&h->wakes)) && top->key <= rt->now_ms) {
        struct tray *tray = CONTAINER_OF(top, struct tray, wake);
        heap_remove(&h->wakes, top);
        tray->more = true;
        tray_stir(rt, tray);
    }
}

static bool ready(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    if (UNLIKELY(!h->loaded) && !(h->loaded = h->adopted = load(rt, false)))
        return false;
    if (UNLIKELY(!h->adopted) && !(h->adopted = load(rt, true)))
        return false;
    look_at_registry(rt);
    h->unread = false;
    if (h->fair.classes.count > CLASSES_KEPT)
        fair_sweep(&h->fair);
    look_at_clock(rt);
    return true;
}

bool handout_ready(pawl_runtime *rt)
{
    handout_lock(rt->hands.handout);
    bool good = ready(rt);
    handout_unlock(rt->hands.handout);
    return good;
}
