/* SPDX-License-Identifier: MIT */
/* runtime/work/crew.c -- see crew.h.  Called by lease.c, by_token.c, seal.c, query.c, open_runtime.c, close.c. */
#include "runtime/work/crew.h"

#include "base/misuse.h"
#include "base/near.h"
#include "runtime/core/gate.h"
#include "runtime/core/registry.h"
#include "runtime/work/lease.h"

#include <stdlib.h>
#include <string.h>

#define FORGET_AT_ONCE 256
#define NOBODY         "this activity is not registered, and no worker has polled for it; it waits"

struct worker {
    pawl_str name; /* all text of a worker is in its own memory */
    pawl_mem mem;
    const pawl_str *activities, *tags;
    size_t activity_count, tag_count;
    int64_t seen_ms;
    uint64_t polls;
};

struct crew_lease {
    pawl_mem mem;
    uint64_t work_id, task;
    pawl_str worker, instance, activity;
    int64_t until_ms;
};

struct crew {
    pthread_mutex_t lock;
    struct map workers; /* by name */
    struct map names;   /* activity -> itself, owned: a worker polled for it */
    struct map held;    /* by work id */
    struct map told;    /* activity -> itself, owned: it was logged as missing */
};

/* ---- Names ------------------------------------------------------------------------------ */

static void forget_names(struct map *names)
{
    char *name;
    for (size_t cursor = 0; (name = map_next(names, &cursor));)
        free(name);
    map_reset(names);
}

/* False: it was there. */
static bool remember(struct map *names, pawl_str name)
{
    if (map_gets(names, name))
        return false;
    if (names->count >= CREW_NAMES) /* a worker that still polls is here again with its next poll */
        forget_names(names);
    char *copy = strndup(name.ptr, name.len);
    if (copy && !map_puts(names, (pawl_str){copy, name.len}, copy))
        free(copy);
    return true;
}

/* ---- Workers ---------------------------------------------------------------------------- */

static void forget_worker(struct crew *crew, struct worker *w)
{
    map_removes(&crew->workers, w->name);
    arena_deinit(&w->mem);
    free(w);
}

/* Room for one more: all that were silent for long go, or the one that was silent longest. */
static void make_room(struct crew *crew, int64_t now_ms)
{
    struct worker *w, *oldest = NULL, *gone[FORGET_AT_ONCE];
    size_t n = 0;
    for (size_t cursor = 0; (w = map_next(&crew->workers, &cursor));) {
        if (w->seen_ms < now_ms - CREW_FORGET_MS && n < FORGET_AT_ONCE)
            gone[n++] = w;
        if (!oldest || w->seen_ms < oldest->seen_ms)
            oldest = w;
    }
    for (size_t i = 0; i < n; i++)
        forget_worker(crew, gone[i]);
    if (!n && oldest)
        forget_worker(crew, oldest);
}

static const pawl_str *copy_all(pawl_mem *mem, const pawl_str *list, size_t count)
{
    pawl_str *copy = arena_array(mem, pawl_str, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_dup(mem, list[i]);
    return copy;
}

static struct worker *worker_of(struct crew *crew, pawl_str name, int64_t now_ms)
{
    struct worker *w = map_gets(&crew->workers, name);
    if (w)
        return w;
    if (crew->workers.count >= CREW_MAX)
        make_room(crew, now_ms);
    w = calloc(1, sizeof(*w));
    need_memory(w);
    arena_init(&w->mem);
    w->name = arena_dup(&w->mem, name);
    need_memory(map_puts(&crew->workers, w->name, w));
    return w;
}

static bool same_list(const pawl_str *a, size_t n, const pawl_str *b, size_t m)
{
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++)
        same = pawl_str_eq(a[i], b[i]);
    return same;
}

static void note_worker(struct crew *crew, const struct lease_call *q, int64_t now_ms)
{
    struct worker *w = worker_of(crew, q->worker, now_ms);
    w->seen_ms = now_ms;
    w->polls++;
    if (same_list(w->activities, w->activity_count, q->names, q->name_count) &&
        same_list(w->tags, w->tag_count, q->tags, q->tag_count))
        return;
    map_removes(&crew->workers, w->name);
    arena_reset(&w->mem);
    w->name = arena_dup(&w->mem, q->worker);
    need_memory(map_puts(&crew->workers, w->name, w));
    w->activities = copy_all(&w->mem, q->names, q->name_count);
    w->activity_count = q->name_count;
    w->tags = copy_all(&w->mem, q->tags, q->tag_count);
    w->tag_count = q->tag_count;
}

void crew_polled(pawl_runtime *rt, const struct lease_call *q)
{
    struct crew *crew = rt->hands.crew;
    pthread_mutex_lock(&crew->lock);
    for (size_t i = 0; i < q->name_count; i++)
        (void)remember(&crew->names, q->names[i]);
    if (q->worker.len)
        note_worker(crew, q, rt->now_ms);
    pthread_mutex_unlock(&crew->lock);
}

/* ---- Leases ----------------------------------------------------------------------------- */

static void forget_held(struct crew *crew, struct crew_lease *h)
{
    map_remove(&crew->held, h->work_id);
    arena_deinit(&h->mem);
    free(h);
}

/* Leases that ended without a word from the worker. */
static void forget_ended(struct crew *crew, int64_t now_ms)
{
    struct crew_lease *h, *gone[FORGET_AT_ONCE];
    size_t n = 0;
    for (size_t cursor = 0; n < FORGET_AT_ONCE && (h = map_next(&crew->held, &cursor));)
        if (h->until_ms <= now_ms)
            gone[n++] = h;
    for (size_t i = 0; i < n; i++)
        forget_held(crew, gone[i]);
}

void crew_leased(pawl_runtime *rt, pawl_str worker, const pawl_work *w, int64_t until_ms)
{
    struct crew *crew = rt->hands.crew;
    pthread_mutex_lock(&crew->lock);
    struct crew_lease *h = map_get(&crew->held, w->id);
    if (!h && worker.len) {
        if (crew->held.count >= CREW_NAMES)
            forget_ended(crew, rt->now_ms);
        h = crew->held.count < CREW_NAMES ? calloc(1, sizeof(*h)) : NULL;
        if (h) {
            arena_init(&h->mem);
            h->work_id = w->id;
            h->task = w->ref;
            h->instance = arena_dup(&h->mem, w->instance);
            h->activity = arena_dup(&h->mem, w->name);
            need_memory(map_put(&crew->held, w->id, h));
        }
    }
    if (h)
        h->until_ms = until_ms;
    if (h && worker.len)
        h->worker = arena_dup(&h->mem, worker);
    pthread_mutex_unlock(&crew->lock);
}

void crew_freed(pawl_runtime *rt, uint64_t work_id)
{
    struct crew *crew = rt->hands.crew;
    pthread_mutex_lock(&crew->lock);
    struct crew_lease *h = map_get(&crew->held, work_id);
    if (h)
        forget_held(crew, h);
    pthread_mutex_unlock(&crew->lock);
}

pawl_str crew_holder(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem)
{
    pawl_str name = {0};
    if (!rt->hands.crew)
        return name;
    pthread_mutex_lock(&rt->hands.crew->lock);
    const struct crew_lease *h = map_get(&rt->hands.crew->held, work_id);
    if (h)
        name = arena_dup(mem, h->worker);
    pthread_mutex_unlock(&rt->hands.crew->lock);
    return name;
}

/* ---- Missing activities --------------------------------------------------------------------- */

bool crew_lacks(pawl_runtime *rt, pawl_str activity, pawl_mem *mem, pawl_str *retmeant)
{
    struct crew *crew = rt->hands.crew;
    const pawl_str *ours;
    *retmeant = (pawl_str){0};
    if (!crew || rt->opts.steers_only || registry_activity(rt->app, activity))
        return false;
    size_t n = registry_activity_names(rt->app, mem, &ours), at = 0;
    pthread_mutex_lock(&crew->lock);
    bool polled = map_gets(&crew->names, activity) != NULL;
    const char **words = arena_array(mem, const char *, n + crew->names.count + 1);
    for (; at < n; at++)
        words[at] = ours[at].ptr;
    for (size_t cursor = 0; !polled && (words[at] = map_next(&crew->names, &cursor));)
        at++;
    const char *meant = polled ? NULL : nearest_word(arena_dup(mem, activity).ptr, words, at);
    if (meant)
        *retmeant = arena_dup(mem, pawl_s(meant));
    pthread_mutex_unlock(&crew->lock);
    return !polled;
}

void crew_look_at(pawl_runtime *rt, pawl_str activity)
{
    pawl_str meant;
    if (map_gets(&rt->hands.crew->told, activity) || map_gets(&rt->hands.crew->names, activity) ||
        !crew_lacks(rt, activity, &rt->group_mem, &meant))
        return;
    (void)remember(&rt->hands.crew->told, activity);
    if (meant.len)
        log_warn(&rt->log, "work", NOBODY, "activity=%.*s did_you_mean=%.*s", PAWL_FMT(activity),
                 PAWL_FMT(meant));
    else
        log_warn(&rt->log, "work", NOBODY, "activity=%.*s", PAWL_FMT(activity));
}

/* ---- Looking ------------------------------------------------------------------------------ */

static void list_held(const struct crew *crew, const struct worker *w, int64_t now_ms,
                      pawl_mem *mem, pawl_worker_info *to)
{
    const struct crew_lease *h;
    pawl_held *list = arena_array(mem, pawl_held, crew->held.count + 1);
    for (size_t cursor = 0; (h = map_next(&crew->held, &cursor));)
        if (pawl_str_eq(h->worker, w->name) && h->until_ms > now_ms)
            list[to->held_count++] = (pawl_held){.instance = arena_dup(mem, h->instance),
                                                 .id = h->task,
                                                 .activity = arena_dup(mem, h->activity),
                                                 .until_ms = h->until_ms};
    to->held = list;
}

static int by_name(const void *a, const void *b)
{
    const pawl_worker_info *x = a, *y = b;
    return strcmp(x->worker.ptr, y->worker.ptr);
}

pawl_status pawl_worker_list(pawl_client *c, pawl_mem *mem, pawl_worker_page *ret,
                             pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    if (!IS_THERE(c && mem && ret, "a client, memory and room for the answer", err) ||
        !gate_pass(c, GATE_READS, err))
        return err->status;
    struct crew *crew = c->rt->hands.crew;
    const struct worker *w;
    *ret = (pawl_worker_page){0};
    if (!crew) /* read only: workers poll the process that owns the store */
        return PAWL_OK;
    int64_t now_ms = rt_now(c->rt);
    pthread_mutex_lock(&crew->lock);
    pawl_worker_info *list = arena_array(mem, pawl_worker_info, crew->workers.count + 1);
    for (size_t cursor = 0; (w = map_next(&crew->workers, &cursor));) {
        pawl_worker_info *to = &list[ret->count];
        *to = (pawl_worker_info){.worker = arena_dup(mem, w->name),
                                 .activities = copy_all(mem, w->activities, w->activity_count),
                                 .activity_count = w->activity_count,
                                 .tags = copy_all(mem, w->tags, w->tag_count),
                                 .tag_count = w->tag_count,
                                 .seen_ms = w->seen_ms,
                                 .polls = w->polls};
        list_held(crew, w, now_ms, mem, to);
        if (to->held_count || w->seen_ms >= now_ms - CREW_FORGET_MS)
            ret->count++;
    }
    pthread_mutex_unlock(&crew->lock);
    qsort(list, ret->count, sizeof(*list), by_name);
    ret->items = list;
    return PAWL_OK;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

bool crew_open(pawl_runtime *rt)
{
    rt->hands.crew = calloc(1, sizeof(*rt->hands.crew));
    if (!rt->hands.crew)
        return false;
    pthread_mutex_init(&rt->hands.crew->lock, NULL);
    map_init(&rt->hands.crew->workers);
    map_init(&rt->hands.crew->names);
    map_init(&rt->hands.crew->held);
    map_init(&rt->hands.crew->told);
    return true;
}

void crew_close(pawl_runtime *rt)
{
    struct crew *crew = rt->hands.crew;
    struct worker *w;
    struct crew_lease *h;
    if (!crew)
        return;
    for (size_t cursor = 0; (w = map_next(&crew->workers, &cursor)); free(w))
        arena_deinit(&w->mem);
    for (size_t cursor = 0; (h = map_next(&crew->held, &cursor)); free(h))
        arena_deinit(&h->mem);
    forget_names(&crew->names);
    forget_names(&crew->told);
    map_deinit(&crew->workers);
    map_deinit(&crew->names);
    map_deinit(&crew->held);
    map_deinit(&crew->told);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
    rt->hands.crew = NULL;
}
