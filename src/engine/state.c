/* SPDX-License-Identifier: MIT */
/*
 * engine/state.c -- the published state of an instance: values by key, set by its code.
 *
 * The walk of a value: pawl_state_set() -> a decision (StateChanged; replayed: the recorded one)
 * -> this map, where pawl_state_get() reads it -> the runtime's object of that key, for readers
 * outside.  At ContinueAsNew the map goes to the next execution, whose history begins with one
 * StateCarried per key.  So each history alone says what its code read: replay, check and export
 * of any execution need nothing else, and never see a value that was set later.
 *
 * Invariants (state_check): keys are in byte order, each once; `bytes` is the sum of what keys
 * and values take; the limits hold.  The items live in an arena of their own, which is copied
 * when most of it is values that were replaced: a loop that sets one key does not grow.
 * An execution that publishes nothing has none of this.
 *
 * Called by: api_state.c on the fiber; replay.c and apply.c; execution.c.
 */
#include "base/limits.h"
#include "engine/engine_private.h"

#include <string.h>

#define WASTE (64 << 10) /* of values that are gone: not worth a copy */

struct state_item {
    pawl_str key, value;
};

struct state {
    pawl_mem mem;
    struct state_item *items; /* in byte order of the keys */
    size_t count, cap;
    size_t bytes;
};

static size_t bytes_of(const struct state_item *item)
{
    return item->key.len + item->value.len;
}

static int compare_keys(pawl_str a, pawl_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* The place of the key; true: it is there. */
static bool place_of(const struct state *st, pawl_str key, size_t *ret)
{
    size_t low = 0, high = st->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_keys(st->items[middle].key, key);
        if (order == 0) {
            *ret = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return false;
}

static struct state *state_of(execution *x)
{
    if (!x->state) {
        x->state = arena_new(&x->mem, struct state);
        arena_init(&x->state->mem);
        x->state->mem.limit = x->mem.limit;
        x->state->mem.exhausted = x->mem.exhausted;
        x->state->mem.user = x->mem.user;
    }
    return x->state;
}

static pawl_str copy_text(char **at, pawl_str from)
{
    pawl_str to = {.ptr = *at, .len = from.len};

    if (from.len)
        memcpy(*at, from.ptr, from.len);
    (*at)[from.len] = '\0';
    *at += from.len + 1;
    return to;
}

/* All items into one block of a fresh arena.  When there is none, the old one is still whole. */
static void copy_out(struct state *st)
{
    struct state fresh = {.mem = st->mem, .count = st->count, .cap = st->count, .bytes = st->bytes};
    size_t head = sizeof(*st->items) * st->count;

    fresh.mem.head = NULL;
    fresh.mem.at = fresh.mem.end = NULL;
    fresh.mem.total = 0;
    fresh.items = arena_alloc(&fresh.mem, head + st->bytes + 2 * st->count);
    char *at = (char *)fresh.items + head;
    for (size_t i = 0; i < st->count; i++) {
        fresh.items[i].key = copy_text(&at, st->items[i].key);
        fresh.items[i].value = copy_text(&at, st->items[i].value);
    }
    arena_deinit(&st->mem);
    *st = fresh;
}

static void tidy(struct state *st)
{
    if (arena_bytes(&st->mem) > 3 * (st->bytes + st->cap * sizeof(*st->items)) + WASTE)
        copy_out(st);
}

static void make_room(struct state *st)
{
    if (st->count < st->cap)
        return;
    size_t cap = st->cap ? 2 * st->cap : 8;
    struct state_item *items = arena_alloc(&st->mem, cap * sizeof(*items));

    if (st->count)
        memcpy(items, st->items, st->count * sizeof(*items));
    st->items = items;
    st->cap = cap;
}

void state_set(execution *x, pawl_str key, pawl_str value)
{
    struct state *st = state_of(x);
    pawl_str kept = arena_dup(&st->mem, value);
    size_t at;

    if (place_of(st, key, &at)) {
        st->bytes += value.len;
        st->bytes -= st->items[at].value.len;
        st->items[at].value = kept;
    } else {
        struct state_item item = {.key = arena_dup(&st->mem, key), .value = kept};
        make_room(st);
        memmove(&st->items[at + 1], &st->items[at], (st->count - at) * sizeof(item));
        st->items[at] = item;
        st->count++;
        st->bytes += bytes_of(&item);
    }
    tidy(st);
}

void state_clear(execution *x, pawl_str key)
{
    struct state *st = x->state;
    size_t at;

    if (!st || !place_of(st, key, &at))
        return;
    st->bytes -= bytes_of(&st->items[at]);
    st->count--;
    memmove(&st->items[at], &st->items[at + 1], (st->count - at) * sizeof(*st->items));
    tidy(st);
}

const pawl_str *state_find(const execution *x, pawl_str key)
{
    size_t at;

    return x->state && place_of(x->state, key, &at) ? &x->state->items[at].value : NULL;
}

bool state_fits(const execution *x, pawl_str key, pawl_str value, size_t *retcount,
                size_t *retbytes)
{
    const pawl_str *old = state_find(x, key);
    size_t count = x->state ? x->state->count : 0, bytes = x->state ? x->state->bytes : 0;

    *retcount = count + !old;
    *retbytes = bytes + value.len + (old ? 0 : key.len) - (old ? old->len : 0);
    return *retcount <= LIMIT_STATE_KEYS && *retbytes <= LIMIT_STATE_BYTES;
}

void state_record(execution *x)
{
    for (size_t i = 0; x->state && i < x->state->count; i++)
        (void)decide_append(x, PAWL_EV_STATE_CARRIED, 0, x->state->items[i].key,
                            x->state->items[i].value);
}

void state_act(execution *x, const pawl_event *e)
{
    if (e->kind == PAWL_EV_STATE_CARRIED)
        state_set(x, e->name, e->data);
    else if (e->kind != PAWL_EV_STATE_CHANGED || event_is_refused(e))
        return;
    else if (state_is_cleared(e))
        state_clear(x, e->name);
    else
        state_set(x, e->name, e->data);
}

bool state_is_cleared(const pawl_event *e)
{
    return e->attrs.len && pawl_json_bool(e->attrs, "/cleared", false);
}

static void copy(execution *to, const execution *from)
{
    for (size_t i = 0; i < from->state->count; i++)
        state_set(to, from->state->items[i].key, from->state->items[i].value);
}

bool execution_state_copy(execution *to, const execution *from)
{
    assert_that(!to->state && to->last_seq == 0);
    if (!from->state || !from->state->count)
        return true;
    if (!execution_enter(to, NULL, 0, NULL))
        return false;
    if (setjmp(to->guard) == 0)
        copy(to, from);
    return execution_leave(to) != ENGINE_NO_MEMORY;
}

bool execution_next_state(const execution *x, size_t *cursor, pawl_str *retkey, pawl_str *retvalue)
{
    if (!x->state || *cursor >= x->state->count)
        return false;
    *retkey = x->state->items[*cursor].key;
    *retvalue = x->state->items[*cursor].value;
    ++*cursor;
    return true;
}

void state_deinit(execution *x)
{
    if (x->state)
        arena_deinit(&x->state->mem);
}

size_t state_bytes(const execution *x)
{
    return x->state ? arena_bytes(&x->state->mem) : 0;
}

void state_check(const execution *x)
{
    const struct state *st = x->state;
    size_t bytes = 0;

    if (!st)
        return;
    arena_check(&st->mem);
    for (size_t i = 0; i < st->count; i++) {
        bytes += bytes_of(&st->items[i]);
        assert_that(i == 0 || compare_keys(st->items[i - 1].key, st->items[i].key) < 0);
    }
    assert_that(bytes == st->bytes && st->count <= st->cap);
}
