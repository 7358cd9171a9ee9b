/* SPDX-License-Identifier: MIT */
/* runtime/work/work_limits.c -- see work_limits.h. */
#include "runtime/work/work_limits.h"

#include "base/arena.h"
#include "base/json.h"
#include "fair/limit_json.h"
#include "runtime/core/health.h"
#include "runtime/core/stage.h"
#include "runtime/core/tray.h"
#include "runtime/work/handout.h"
#include "runtime/work/job.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/share.h"
#include "runtime/work/worker.h"
#include "store/store.h"
#include "store/store_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_KEPT   10000 /* of activities, with the answer of limits_name() */
#define WIPE_AT_ONCE 1000  /* objects in one commit */

/* An activity, and whether a limit names it. */
struct named {
    bool limited;
    char name[];
};

struct limits {
    struct map names;          /* activity -> struct named */
    struct job *waits, **end;  /* for the commit of what they used */
    LIST(pawl_object) changes; /* of limits, committed with this group and not in force yet */
    VEC(char *) wiped;         /* names of objects that are to go; owned */
    size_t sealed;             /* of these, from the first: they go with this commit */
};

bool limits_work(const pawl_runtime *rt)
{
    return store_has_work_names(rt->store) && tray_counts(rt) && rt->caps.objects &&
           rt->caps.atomic_rounds;
}

/* ---- What is limited ----------------------------------------------------------------------- */

static void forget_names(struct limits *l)
{
    struct named *n;
    for (size_t at = 0; (n = map_next(&l->names, &at));)
        free(n);
    map_reset(&l->names);
}

bool limits_name(const pawl_runtime *rt, pawl_str activity)
{
    struct limits *l = rt->hands.handout->limits;
    struct named *n = map_gets(&l->names, activity);
    if (n)
        return n->limited;
    bool limited = fair_is_limited(&rt->hands.handout->fair, activity);
    if (l->names.count >= NAMES_KEPT)
        forget_names(l);
    n = calloc(1, sizeof(*n) + activity.len + 1);
    if (n) {
        n->limited = limited;
        memcpy(n->name, activity.ptr, activity.len);
        if (!map_puts(&l->names, (pawl_str){n->name, activity.len}, n))
            free(n);
    }
    return limited;
}

const struct limit *limits_find(const pawl_runtime *rt, pawl_str name)
{
    struct fair_limit *fair = fair_limit_find(&rt->hands.handout->fair, name);
    return fair ? CONTAINER_OF(fair, struct limit, fair) : NULL;
}

/* ---- In force -------------------------------------------------------------------------------- */

/* Buckets that are no more: what is stored of them is to go.  While their limits live. */
static void take_stale(struct handout *h)
{
    struct fair_bucket *b;
    while ((b = fair_take_stale(&h->fair))) {
        size_t bytes = b->limit->name.len + 1 + b->key.len + 1;
        char **name = vec_push(&h->limits->wiped), *text = malloc(bytes);
        need_memory(name && text);
        (void)snprintf(text, bytes, "%.*s/%.*s", PAWL_FMT(b->limit->name), PAWL_FMT(b->key));
        *name = text;
        free(b);
    }
}

static void free_limit(struct handout *h, struct fair_limit *fair)
{
    if (!fair)
        return;
    struct limit *limit = CONTAINER_OF(fair, struct limit, fair);
    take_stale(h);
    arena_deinit(&limit->mem);
    free(limit);
}

/* False: what is stored is no limit. */
static bool set_limit(pawl_runtime *rt, pawl_str name, pawl_str json, uint64_t version)
{
    struct handout *h = rt->hands.handout;
    struct limit *limit = calloc(1, sizeof(*limit));
    pawl_error err = {0};
    need_memory(limit);
    arena_init(&limit->mem);
    limit->version = version;
    limit->fair.name = arena_dup(&limit->mem, name);
    bool good = limit_read_json(&limit->fair.rule, json, &limit->mem, &err);
    if (good) {
        free_limit(h, fair_limit_set(&h->fair, &limit->fair));
    } else {
        log_error(&rt->log, "work", "a stored limit cannot be read; put it again",
                  "limit=%.*s why=\"%s\"", PAWL_FMT(name), err.text);
        arena_deinit(&limit->mem);
        free(limit);
    }
    forget_names(h->limits);
    rt->hands.limits = h->fair.limits.count;
    return good;
}

static void remove_limit(pawl_runtime *rt, pawl_str name)
{
    struct handout *h = rt->hands.handout;
    free_limit(h, fair_limit_remove(&h->fair, name));
    forget_names(h->limits);
    rt->hands.limits = h->fair.limits.count;
}

/* ---- Work that was handed out without a turn -------------------------------------------------- */

static struct tray *tray_of_job(pawl_runtime *rt, const struct job *job)
{
    return tray_of_name(rt, tray_of(&rt->group_mem, job->work.name, job->policy.tag));
}

/* Those that no thread has begun wait for their turn from now on. */
static void take_back_queued(pawl_runtime *rt)
{
    const pawl_str *names;
    size_t count = tray_ours(rt, &rt->group_mem, &names);
    for (size_t i = 0; i < count; i++) {
        const struct activity_entry *a = tray_entry(rt, tray_activity(names[i]));
        if (!a || !limits_name(rt, tray_activity(names[i])))
            continue;
        for (struct job *job = worker_take_back(rt, a), *next; job; job = next) {
            next = job->next_queued;
            tray_take_in(rt, tray_of_job(rt, job), job);
        }
    }
}

/* Those that run are out. */
static void count_running(pawl_runtime *rt)
{
    struct job *job;
    for (size_t at = 0; (job = jobs_next(rt, &at));) {
        if (job->tray || !limits_name(rt, job->work.name))
            continue;
        struct tray *tray = tray_of_job(rt, job);
        tray_found_out(rt, tray, &job->work, false);
        job->tray = tray;
        job->priority = tray->fair.priority;
    }
}

static void adopt(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    worker_flush(rt);
    take_back_queued(rt);
    count_running(rt);
    h->adopted = !rt->hands.limits; /* and what the store has: handout_load.c */
    h->look = true;
    jobs_lie(rt);
    lease_may_find(rt);
}

/* ---- What was used of rates --------------------------------------------------------------------- */

bool limits_bound(const struct tray *tray)
{
    for (size_t i = 0; i < tray->fair.bucket_count; i++)
        if (tray->fair.buckets[i]->limit->interval_us)
            return true;
    return false;
}

void limits_wait(pawl_runtime *rt, struct job *job)
{
    struct limits *l = rt->hands.handout->limits;
    job->next_queued = NULL;
    *l->end = job;
    l->end = &job->next_queued;
}

static struct job *take_waiting(struct limits *l)
{
    struct job *first = l->waits;
    l->waits = NULL;
    l->end = &l->waits;
    return first;
}

static void put_rate(pawl_runtime *rt, struct stage *s, const struct fair_bucket *b)
{
    *list_add(&rt->group_mem, &s->objects) = (pawl_object){
        .kind = PAWL_OBJECT_RATE,
        .name = pawl_mem_printf(&rt->group_mem, "%.*s/%.*s", PAWL_FMT(b->limit->name),
                                PAWL_FMT(b->key)),
        .version = PAWL_VERSION_ANY,
        .data = pawl_mem_printf(&rt->group_mem, "%lld", (long long)b->free_us),
    };
}

/* A bucket of this name is back: its object is written, or will be. */
static bool is_back(const struct handout *h, pawl_str name)
{
    const char *mark = memchr(name.ptr, '/', name.len);
    size_t len = (size_t)(mark - name.ptr);
    const struct fair_limit *limit = fair_limit_find(&h->fair, (pawl_str){name.ptr, len});
    const struct fair_bucket *b =
        limit ? map_gets(&limit->buckets, (pawl_str){mark + 1, name.len - len - 1}) : NULL;
    return b && (b->dirty || b->stored);
}

/* Leave out those that are back; returns how many go with the next commit. */
static size_t next_wiped(struct handout *h)
{
    struct limits *l = h->limits;
    size_t kept = 0;
    for (size_t i = 0; i < l->wiped.count; i++)
        if (is_back(h, pawl_s(l->wiped.items[i])))
            free(l->wiped.items[i]);
        else
            l->wiped.items[kept++] = l->wiped.items[i];
    l->wiped.count = kept;
    return kept < WIPE_AT_ONCE ? kept : WIPE_AT_ONCE;
}

static struct job *seal(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    take_stale(h);
    h->limits->sealed = h->limits->wiped.count ? next_wiped(h) : 0;
    struct job *begins = h->fair.dirty ? NULL : take_waiting(h->limits); /* their limit is gone */
    if (!h->fair.dirty && !h->limits->sealed)
        return begins;
    struct stage *s = stage_bare(rt);
    for (const struct fair_bucket *b = h->fair.dirty; b; b = b->next_dirty)
        put_rate(rt, s, b);
    for (size_t i = 0; i < h->limits->sealed; i++)
        *list_add(&rt->group_mem, &s->objects) =
            (pawl_object){.kind = PAWL_OBJECT_RATE,
                          .name = arena_dup(&rt->group_mem, pawl_s(h->limits->wiped.items[i])),
                          .version = PAWL_VERSION_ANY};
    h->look = true; /* until it is committed */
    return begins;
}

struct job *limits_seal(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    if (LIKELY(!h->fair.dirty && !h->fair.stale && !h->limits->wiped.count && !h->limits->waits))
        return NULL;
    handout_lock(h);
    struct job *begins = seal(rt);
    handout_unlock(h);
    return begins;
}

static void rates_committed(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    struct limits *l = h->limits;
    fair_written(&h->fair);
    for (size_t i = 0; i < l->sealed; i++)
        free(l->wiped.items[i]);
    l->wiped.count -= l->sealed;
    if (l->sealed)
        memmove(l->wiped.items, l->wiped.items + l->sealed,
                l->wiped.count * sizeof(*l->wiped.items));
    l->sealed = 0;
}

struct job *limits_committed(pawl_runtime *rt, const struct stage *s)
{
    struct handout *h = rt->hands.handout;
    bool rates = false;
    for (size_t i = 0; i < s->objects.count; i++) {
        rates |= s->objects.items[i].kind == PAWL_OBJECT_RATE;
        if (s->objects.items[i].kind == PAWL_OBJECT_LIMIT) {
            *list_add(&rt->group_mem, &h->limits->changes) = s->objects.items[i];
            rt->hands.limits_changed = true;
        }
    }
    if (!rates)
        return NULL;
    handout_lock(h);
    rates_committed(rt);
    handout_unlock(h);
    return take_waiting(h->limits);
}

void limits_apply(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    handout_lock(h);
    for (size_t i = 0; i < h->limits->changes.count; i++) {
        const pawl_object *o = &h->limits->changes.items[i];
        if (o->data.ptr)
            (void)set_limit(rt, o->name, o->data, o->version + 1);
        else
            remove_limit(rt, o->name);
    }
    memset(&h->limits->changes, 0, sizeof(h->limits->changes));
    rt->hands.limits_changed = false;
    adopt(rt);
    handout_unlock(h);
}

/* ---- Opening and closing ----------------------------------------------------------------------- */

/* A debt of an earlier process. */
static void found_rate(pawl_runtime *rt, const pawl_object *o)
{
    struct handout *h = rt->hands.handout;
    const char *mark = memchr(o->name.ptr, '/', o->name.len);
    size_t len = mark ? (size_t)(mark - o->name.ptr) : 0;
    struct fair_limit *limit = fair_limit_find(&h->fair, (pawl_str){o->name.ptr, len});
    int64_t free_us;
    if (limit && limit->interval_us && json_integer(o->data, &free_us)) {
        fair_debt(&h->fair, limit, (pawl_str){mark + 1, o->name.len - len - 1}, free_us);
        return;
    }
    char **name = vec_push(&h->limits->wiped);
    need_memory(name && (*name = strndup(o->name.ptr, o->name.len)));
}

static void found_limit(pawl_runtime *rt, const pawl_object *o)
{
    (void)set_limit(rt, o->name, o->data, o->version);
}

static pawl_status read_all(pawl_runtime *rt, int kind,
                            void (*found)(pawl_runtime *, const pawl_object *), pawl_error *reterr)
{
    pawl_object_list list;
    pawl_str after = {0};
    pawl_mem mem;
    arena_init(&mem);
    pawl_status rc;
    do {
        rc = store_list_objects(rt->store, kind, (pawl_str){0}, after, STORE_OBJECTS_PAGE, &mem,
                                &list, reterr);
        for (size_t i = 0; rc == PAWL_OK && i < list.count; i++) {
            found(rt, &list.items[i]);
            after = list.items[i].name;
        }
    } while (rc == PAWL_OK && list.count == STORE_OBJECTS_PAGE);
    arena_deinit(&mem);
    return rc;
}

pawl_status limits_open(pawl_runtime *rt, pawl_error *reterr)
{
    struct limits *l = calloc(1, sizeof(*l));
    if (!l)
        return PAWL_NO_MEMORY;
    map_init(&l->names);
    l->end = &l->waits;
    rt->hands.handout->limits = l;
    if (!limits_work(rt))
        return PAWL_OK;
    pawl_status rc = read_all(rt, PAWL_OBJECT_LIMIT, found_limit, reterr);
    return rc == PAWL_OK ? read_all(rt, PAWL_OBJECT_RATE, found_rate, reterr) : rc;
}

void limits_close(struct handout *h)
{
    struct limits *l = h->limits;
    struct fair_limit *limit;
    if (!l)
        return;
    for (struct job *job = l->waits, *next; job; job = next) {
        next = job->next_queued;
        job_free(job);
    }
    for (size_t at = 0; (limit = map_next(&h->fair.limits, &at)); at = 0)
        free_limit(h, fair_limit_remove(&h->fair, limit->name));
    for (size_t i = 0; i < l->wiped.count; i++)
        free(l->wiped.items[i]);
    vec_deinit(&l->wiped);
    forget_names(l);
    map_deinit(&l->names);
    free(l);
}
