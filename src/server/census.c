/* SPDX-License-Identifier: MIT */
/*
 * server/census.c -- see census.h.  Called by instance_wait.c (the feed), series.c and overview.c.
 *
 * The walk and the commits never count an instance twice.  `frontier` is the lowest uid the walk
 * has seen: changes of older instances are left to it.  A page is read from a snapshot, and a
 * change may be told before or after the page is counted, whether the snapshot had it or not.  So a
 * change told while a page is read is kept in `window`, and rules over the page; and an instance
 * that a page had is `held` for HELD_MS, with the state it is counted in: a change told meanwhile
 * replaces that state and adds nothing.
 */
#include "server/census.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WALK_MS   20
#define WALK_PAGE 200
#define HELD_MS   5000 /* longer than any commit takes to be told */

struct counted_kind {
    struct census_kind c; /* first; its name follows the struct */
};

struct failure {
    const struct counted_kind *kind;
    int64_t at_ms;
    char *instance, *error; /* owned */
};

/* An instance in the window, or held. */
struct counted_one {
    struct counted_one *next; /* held: by time */
    struct counted_kind *kind;
    uint64_t uid;
    int state; /* -1: removed */
    int64_t at_ms;
};

struct census {
    atomic_bool walking; /* a thread is at it, and has the next two */
    char cursor[24];     /* of the walk: where its next page begins; "": at the newest */
    bool done;
    pthread_mutex_t lock; /* guards the rest */
    struct map kinds;     /* by name */
    struct map window;    /* by uid; so is the next */
    struct map held;
    struct counted_one *held_first, **held_end;
    bool reading;
    uint64_t frontier; /* 0: all are counted */
    struct census_flow flow;
    struct failure failures[CENSUS_FAILED];
    uint64_t failure_count; /* so far: the newest is at (count - 1) % CENSUS_FAILED */
};

/* ---- Orchestrations ----------------------------------------------------------------------- */

static struct counted_kind *make_kind(struct census *t, pawl_str name)
{
    struct counted_kind *k = calloc(1, sizeof(*k) + name.len + 1);
    if (!k)
        return NULL;
    if (name.len)
        memcpy((char *)(k + 1), name.ptr, name.len);
    k->c.name = (pawl_str){(char *)(k + 1), name.len};
    if (map_puts(&t->kinds, k->c.name, k))
        return k;
    free(k);
    return NULL;
}

/* NULL: out of memory, and it is not counted. */
static struct counted_kind *kind_of(struct census *t, pawl_str name)
{
    struct counted_kind *k = map_gets(&t->kinds, name);
    if (!k && t->kinds.count >= CENSUS_NAMES) {
        name = pawl_s("");
        k = map_gets(&t->kinds, name);
    }
    return k ? k : make_kind(t, name);
}

static void add(struct counted_kind *k, int state, int n)
{
    if (k && state >= 0 && state < CENSUS_STATES)
        k->c.counts[state] += (uint64_t)(int64_t)n;
}

/* Four buckets for each doubling: within 19 % of the time. */
static unsigned bucket_of(int64_t ms)
{
    uint64_t n = ms > 0 ? (uint64_t)ms : 0;
    if (n < 4)
        return (unsigned)n;
    unsigned top = 63 - (unsigned)__builtin_clzll(n);
    unsigned at = top * 4 - 4 + (unsigned)((n >> (top - 2)) & 3);
    return at < CENSUS_BUCKETS ? at : CENSUS_BUCKETS - 1;
}

/* The middle of a bucket. */
static int64_t time_of(unsigned bucket)
{
    if (bucket < 4)
        return bucket;
    unsigned top = bucket / 4 + 1;
    uint64_t low = (UINT64_C(4) + bucket % 4) << (top - 2);
    return (int64_t)(low + (UINT64_C(1) << (top - 2)) / 2);
}

int64_t census_percentile(const struct census_kind *kind, unsigned percent)
{
    uint64_t all = 0, sum = 0;
    for (unsigned i = 0; i < CENSUS_BUCKETS; i++)
        all += kind->took[i];
    for (unsigned i = 0; i < CENSUS_BUCKETS; i++) {
        sum += kind->took[i];
        if (sum && sum * 100 >= all * percent)
            return time_of(i);
    }
    return -1;
}

/* ---- Commits ---------------------------------------------------------------------------------- */

static char *cut(pawl_str text)
{
    size_t n = text.len < CENSUS_TEXT ? text.len : CENSUS_TEXT;
    while (n && n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
        n--;
    return strndup(text.ptr ? text.ptr : "", n);
}

static void note_failure(struct census *t, const struct counted_kind *k, const pawl_change *c)
{
    struct failure *f = &t->failures[t->failure_count++ % CENSUS_FAILED];
    free(f->instance);
    free(f->error);
    *f = (struct failure){k, c->updated_ms, strndup(c->instance.ptr, c->instance.len),
                          cut(c->ended ? c->ended->error : (pawl_str){0})};
}

/* What happens, whatever the walk has seen. */
static void note_flow(struct census *t, struct counted_kind *k, const pawl_change *c)
{
    bool ends = !c->removed && pawl_state_is_terminal(c->state) &&
                (c->was < 0 || !pawl_state_is_terminal((pawl_state)c->was));
    t->flow.starts += c->was < 0;
    t->flow.ended += ends;
    t->flow.failed += ends && c->state == PAWL_FAILED;
    if (ends && c->state == PAWL_FAILED && k)
        note_failure(t, k, c);
    if (ends && c->state == PAWL_COMPLETED && k)
        k->c.took[bucket_of(c->updated_ms - c->created_ms)]++;
}

static void keep_in_window(struct census *t, struct counted_kind *k, const pawl_change *c)
{
    struct counted_one *seen = map_get(&t->window, c->uid);
    if (!seen) {
        seen = calloc(1, sizeof(*seen));
        if (!seen || !map_put(&t->window, c->uid, seen)) {
            free(seen);
            return;
        }
    }
    *seen =
        (struct counted_one){.kind = k, .uid = c->uid, .state = c->removed ? -1 : (int)c->state};
}

static void note_one(struct census *t, const pawl_change *c)
{
    if (c->queue.len || (c->was == (int)c->state && !c->removed))
        return;
    struct counted_kind *k = kind_of(t, c->orchestration);
    note_flow(t, k, c);
    struct counted_one *held = map_get(&t->held, c->uid);
    if (!held && c->uid < t->frontier) {
        if (t->reading)
            keep_in_window(t, k, c);
        return;
    }
    add(k, held ? held->state : c->was, -1);
    if (!c->removed)
        add(k, (int)c->state, 1);
    if (held)
        held->state = c->removed ? -1 : (int)c->state;
}

static bool says_something(const pawl_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!changes[i].queue.len &&
            (changes[i].was != (int)changes[i].state || changes[i].removed))
            return true;
    return false;
}

void census_note(struct census *t, const pawl_change *changes, size_t count)
{
    if (!says_something(changes, count))
        return;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < count; i++)
        note_one(t, &changes[i]);
    pthread_mutex_unlock(&t->lock);
}

struct census_flow census_flow(struct census *t)
{
    pthread_mutex_lock(&t->lock);
    struct census_flow flow = t->flow;
    pthread_mutex_unlock(&t->lock);
    return flow;
}

/* ---- The walk ------------------------------------------------------------------------------------ */

static void empty_window(struct census *t, bool reading)
{
    struct counted_one *seen;
    for (size_t cursor = 0; (seen = map_next(&t->window, &cursor));)
        free(seen);
    map_reset(&t->window);
    t->reading = reading;
}

/* Count an instance, and hold it. */
static void count_one(struct census *t, uint64_t uid, struct counted_kind *k, int state,
                      int64_t now_ms)
{
    struct counted_one *held = calloc(1, sizeof(*held));
    add(k, state, 1);
    if (!held || !map_put(&t->held, uid, held)) {
        free(held);
        return;
    }
    *held = (struct counted_one){.kind = k, .uid = uid, .state = state, .at_ms = now_ms};
    *t->held_end = held;
    t->held_end = &held->next;
}

/* Those that were held long enough are only counted. */
static void let_go(struct census *t, int64_t before_ms)
{
    while (t->held_first && t->held_first->at_ms < before_ms) {
        struct counted_one *held = t->held_first;
        t->held_first = held->next;
        if (!t->held_first)
            t->held_end = &t->held_first;
        map_remove(&t->held, held->uid);
        free(held);
    }
}

/* Count a page, under the lock: its instances from `low` on, but as they are now. */
static void count_page(struct census *t, const pawl_page *page, uint64_t low)
{
    struct counted_one *seen;
    int64_t now = clock_mono_ms();
    let_go(t, now - HELD_MS);
    for (size_t i = 0; i < page->count; i++)
        if (!map_get(&t->window, page->items[i].uid))
            count_one(t, page->items[i].uid, kind_of(t, page->items[i].orchestration),
                      (int)page->items[i].state, now);
    for (size_t cursor = 0; (seen = map_next(&t->window, &cursor));)
        if (seen->uid >= low)
            count_one(t, seen->uid, seen->kind, seen->state, now);
    t->frontier = low;
}

static bool walk_page(struct census *t, pawl_client *client, pawl_mem *mem, pawl_error *reterr)
{
    pawl_page page;
    pthread_mutex_lock(&t->lock);
    empty_window(t, true);
    pthread_mutex_unlock(&t->lock);
    pawl_status rc = pawl_client_list(
        client, PAWL_FILTER(.limit = WALK_PAGE, .after = t->cursor[0] ? t->cursor : NULL), mem,
        &page, reterr);
    uint64_t low = rc == PAWL_OK && page.next.len ? strtoull(page.next.ptr, NULL, 16) : 0;
    pthread_mutex_lock(&t->lock);
    if (rc == PAWL_OK)
        count_page(t, &page, low);
    empty_window(t, false);
    pthread_mutex_unlock(&t->lock);
    if (rc != PAWL_OK)
        return false;
    t->done = !page.next.len;
    assert_that(page.next.len < sizeof(t->cursor));
    memcpy(t->cursor, page.next.len ? page.next.ptr : "", page.next.len + 1);
    return true;
}

bool census_walk(struct census *t, pawl_client *client, pawl_error *reterr)
{
    if (atomic_exchange(&t->walking, true))
        return true; /* another reader is at it */
    bool ok = true;
    int64_t until = clock_mono_ms() + WALK_MS;
    while (ok && !t->done && clock_mono_ms() < until) {
        pawl_mem *mem = pawl_mem_new();
        ok = mem && walk_page(t, client, mem, reterr);
        pawl_mem_free(mem);
    }
    atomic_store(&t->walking, false);
    return ok;
}

/* ---- Looking --------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    const struct census_kind *a = left, *b = right;
    return strcmp(a->name.ptr, b->name.ptr);
}

static void copy_failures(const struct census *t, pawl_mem *mem, struct census_view *ret)
{
    size_t n = t->failure_count < CENSUS_FAILED ? (size_t)t->failure_count : CENSUS_FAILED;
    struct census_failure *list = pawl_mem_alloc(mem, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        const struct failure *f = &t->failures[(t->failure_count - 1 - i) % CENSUS_FAILED];
        list[i] =
            (struct census_failure){&f->kind->c, f->at_ms, pawl_mem_dup(mem, pawl_s(f->instance)),
                                    pawl_mem_dup(mem, pawl_s(f->error))};
    }
    ret->failures = list;
    ret->failure_count = n;
}

void census_look(struct census *t, pawl_mem *mem, struct census_view *ret)
{
    const struct counted_kind *k;
    pthread_mutex_lock(&t->lock);
    let_go(t, clock_mono_ms() - HELD_MS);
    struct census_kind *list = pawl_mem_alloc(mem, (t->kinds.count + 1) * sizeof(*list));
    *ret = (struct census_view){.exact = t->frontier == 0, .kinds = list};
    for (size_t cursor = 0; (k = map_next(&t->kinds, &cursor));)
        list[ret->kind_count++] = k->c; /* kinds stay as long as the census: so do their names */
    copy_failures(t, mem, ret);
    pthread_mutex_unlock(&t->lock);
    qsort(list, ret->kind_count, sizeof(*list), by_name);
}

/* ---- Life ------------------------------------------------------------------------------------------ */

struct census *census_create(void)
{
    struct census *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    map_init(&t->kinds);
    map_init(&t->window);
    map_init(&t->held);
    t->held_end = &t->held_first;
    t->frontier = UINT64_MAX;
    return t;
}

void census_destroy(struct census *t)
{
    struct counted_kind *k;
    if (!t)
        return;
    empty_window(t, false);
    let_go(t, INT64_MAX);
    for (size_t cursor = 0; (k = map_next(&t->kinds, &cursor));)
        free(k);
    for (size_t i = 0; i < CENSUS_FAILED; i++) {
        free(t->failures[i].instance);
        free(t->failures[i].error);
    }
    map_deinit(&t->kinds);
    map_deinit(&t->window);
    map_deinit(&t->held);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
