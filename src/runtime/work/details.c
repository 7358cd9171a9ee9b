/* SPDX-License-Identifier: MIT */
/* runtime/work/details.c -- see details.h. */
#include "runtime/work/details.h"

#include "base/hex.h"
#include "runtime/core/health.h"
#include "runtime/core/inbox.h"
#include "runtime/core/stage.h"
#include "runtime/work/jobs.h"
#include "store/store.h"
#include "store/store_object.h"

#include <stdlib.h>
#include <string.h>

#define WRITE_BYTES ((size_t)4 << 20) /* of details in one group; the rest follows at once */

/* What a job has of details; guarded by the lock, except `resume`, which does not change. */
struct beat {
    struct job *job;
    struct beat *next; /* in the list */
    bool listed;
    char *text; /* owned: the newest; NULL: none */
    size_t len;
    pawl_str resume; /* of an earlier attempt */
};

static pawl_str name_of(pawl_mem *mem, uint64_t work_id)
{
    char hex[17];
    hex_write_u64(hex, work_id);
    return arena_dup(mem, pawl_s(hex));
}

/* False: it is no name of ours. */
static bool id_of(pawl_str name, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < name.len; i++) {
        int digit = hex_value(name.ptr[i]);
        if (digit < 0)
            return false;
        *ret = *ret << 4 | (uint64_t)digit;
    }
    return name.len == 16 && *ret;
}

/* ---- In the job ------------------------------------------------------------------------- */

static struct beat *beat_of(const struct job *job)
{
    return atomic_load_explicit(&job->beat, memory_order_acquire);
}

static struct beat *beat_make(struct job *job)
{
    struct beat *b = beat_of(job);
    if (b)
        return b;
    b = calloc(1, sizeof(*b));
    if (b) {
        b->job = job;
        atomic_store_explicit(&job->beat, b, memory_order_release);
    }
    return b;
}

/* Under the lock: it has details that are not stored.  True: it is the first one. */
static bool enlist(struct details *d, struct beat *b)
{
    bool first = !d->first;
    if (b->listed)
        return false;
    b->listed = true;
    b->next = d->first;
    d->first = b;
    return first;
}

/* Under the lock. */
static void strike(struct details *d, struct beat *b)
{
    struct beat **at = &d->first;
    while (*at && *at != b)
        at = &(*at)->next;
    if (*at)
        *at = b->next;
    b->listed = false;
}

bool details_note(pawl_runtime *rt, struct job *job, pawl_str details)
{
    struct details *d = jobs_details(rt);
    struct beat *b = beat_make(job);
    char *text = malloc(details.len + 1);
    if (!b || !text) {
        free(text);
        return false;
    }
    memcpy(text, details.len ? details.ptr : "", details.len);
    text[details.len] = 0;
    int64_t now = rt_mono(rt);
    pthread_mutex_lock(&d->lock);
    char *before = b->text;
    b->text = text;
    b->len = details.len;
    bool first = enlist(d, b);
    if (first) {
        int64_t at = d->written_ms + DETAILS_EVERY_MS;
        atomic_store(&d->due_ms, at > now ? at : now);
    }
    pthread_mutex_unlock(&d->lock);
    free(before);
    if (first)
        inbox_wake(rt);
    return true;
}

bool details_resume(const struct job *job, pawl_str *ret)
{
    const struct beat *b = beat_of(job);
    *ret = b ? b->resume : (pawl_str){0};
    return ret->ptr != NULL;
}

bool details_begin(struct job *job, pawl_str details)
{
    struct beat *b = details.ptr ? beat_make(job) : NULL;
    if (b)
        b->resume = details;
    return b || !details.ptr;
}

void details_move(struct job *from, struct job *to)
{
    struct details *d = jobs_details(from->rt);
    struct beat *a = beat_of(from), *b = a ? beat_make(to) : NULL;
    if (!a || !b)
        return;
    pthread_mutex_lock(&d->lock);
    strike(d, a);
    b->text = a->text;
    b->len = a->len;
    a->text = NULL;
    pthread_mutex_unlock(&d->lock);
}

void details_free(struct job *job)
{
    struct details *d = jobs_details(job->rt);
    struct beat *b = beat_of(job);
    if (!b)
        return;
    pthread_mutex_lock(&d->lock);
    strike(d, b);
    pthread_mutex_unlock(&d->lock);
    free(b->text);
    free(b);
}

/* ---- Written ------------------------------------------------------------------------------ */

static void put(pawl_runtime *rt, struct stage *s, uint64_t work_id, pawl_str data)
{
    *list_add(&rt->group_mem, &s->objects) = (pawl_object){.kind = PAWL_OBJECT_DETAILS,
                                                           .name = name_of(&rt->group_mem, work_id),
                                                           .version = PAWL_VERSION_ANY,
                                                           .data = data};
}

static void put_early(pawl_runtime *rt, struct stage *s, uint64_t work_id, pawl_str details)
{
    need_memory(idset_add(&jobs_details(rt)->kept, work_id));
    atomic_store(&jobs_details(rt)->shown, true);
    put(rt, s, work_id, arena_dup(&rt->group_mem, details));
}

void details_put(pawl_runtime *rt, uint64_t work_id, pawl_str details)
{
    if (rt->caps.objects)
        put_early(rt, stage_early(rt), work_id, details);
}

void details_put_of(pawl_runtime *rt, struct job *job)
{
    struct details *d = jobs_details(rt);
    struct beat *b = beat_of(job);
    if (!b)
        return;
    pthread_mutex_lock(&d->lock);
    strike(d, b);
    if (b->text)
        details_put(rt, job->work.id, (pawl_str){b->text, b->len});
    pthread_mutex_unlock(&d->lock);
}

/* The commit of the last look failed: what it wrote is listed again. */
static void look_back(pawl_runtime *rt)
{
    struct details *d = jobs_details(rt);
    if (!d->flying.count)
        return;
    if (rt->fence.group_no == d->group_no) {
        uint64_t *ids = arena_array(&rt->group_mem, uint64_t, d->flying.count);
        idset_list(&d->flying, ids);
        pthread_mutex_lock(&d->lock);
        for (size_t i = 0; i < d->flying.count; i++) {
            const struct job *job = job_find(rt, ids[i]);
            struct beat *b = job ? beat_of(job) : NULL;
            if (b && b->text)
                (void)enlist(d, b);
        }
        if (d->first)
            atomic_store(&d->due_ms, rt_mono(rt));
        pthread_mutex_unlock(&d->lock);
    }
    idset_reset(&d->flying);
}

/* Under the lock: write those that still run, as many as a group may have. */
static void write_listed(pawl_runtime *rt, struct stage **s)
{
    struct details *d = jobs_details(rt);
    struct beat *later = NULL, *b;
    size_t bytes = 0;
    while ((b = d->first) && bytes < WRITE_BYTES) {
        uint64_t id = b->job->work.id;
        d->first = b->next;
        b->listed = false;
        if (b->job->given_up || job_find(rt, id) != b->job || !b->text || !rt->caps.objects)
            continue;
        if (stage_has_work(rt, id)) { /* decided in this group, perhaps: look after it */
            b->listed = true;
            b->next = later;
            later = b;
            continue;
        }
        if (!*s)
            *s = stage_early(rt);
        need_memory(idset_add(&d->flying, id));
        put_early(rt, *s, id, (pawl_str){b->text, b->len});
        bytes += b->len;
    }
    while ((b = later)) {
        later = b->next;
        b->next = d->first;
        d->first = b;
    }
}

/* What an earlier process left behind. */
static void sweep(pawl_runtime *rt)
{
    struct details *d = jobs_details(rt);
    if (!d->orphans.count)
        return;
    uint64_t *ids = arena_array(&rt->group_mem, uint64_t, d->orphans.count);
    idset_list(&d->orphans, ids);
    struct stage *s = stage_early(rt);
    for (size_t i = 0; i < d->orphans.count; i++)
        put(rt, s, ids[i], (pawl_str){0});
    idset_reset(&d->orphans); /* if this commit fails, the next process finds them again */
}

void details_look(pawl_runtime *rt, int64_t mono_ms)
{
    struct details *d = jobs_details(rt);
    struct stage *s = NULL;
    look_back(rt);
    sweep(rt);
    pthread_mutex_lock(&d->lock);
    int64_t due = atomic_load(&d->due_ms);
    if (due <= mono_ms || (due != INT64_MAX && inbox_stops(rt))) {
        write_listed(rt, &s);
        d->written_ms = mono_ms;
        d->group_no = rt->fence.group_no;
        bool more = d->first && s; /* they did not fit */
        atomic_store(&d->due_ms, !d->first ? INT64_MAX : more ? mono_ms : mono_ms + 1);
    }
    pthread_mutex_unlock(&d->lock);
}

/* ---- Read --------------------------------------------------------------------------------- */

pawl_status details_show(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem, pawl_str *ret,
                         pawl_error *reterr)
{
    pawl_object o = {0};
    *ret = (pawl_str){0};
    bool reads = rt->caps.objects && (rt->opts.read_only || atomic_load(&jobs_details(rt)->shown));
    pawl_status rc = !reads ? PAWL_NOT_FOUND
                            : store_read_object(rt->store, PAWL_OBJECT_DETAILS,
                                                name_of(mem, work_id), mem, &o, reterr);
    if (rc == PAWL_OK)
        *ret = o.data;
    return rc == PAWL_NOT_FOUND ? PAWL_OK : rc;
}

bool details_read(pawl_runtime *rt, uint64_t work_id, pawl_mem *mem, pawl_str *ret)
{
    pawl_error err = {0};
    pawl_status rc = details_show(rt, work_id, mem, ret, &err);
    if (rc == PAWL_CORRUPT) { /* it begins without them: waiting repairs no row */
        log_error(&rt->log, "work", "details of a heartbeat are damaged", "work=%llu error=\"%s\"",
                  (unsigned long long)work_id, err.text);
        return true;
    }
    if (rc != PAWL_OK)
        health_unread(rt, &err);
    return rc == PAWL_OK;
}

/* ---- The row goes --------------------------------------------------------------------------- */

static void leave(pawl_runtime *rt, struct stage *s, const uint64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (idset_has(&jobs_details(rt)->kept, ids[i]))
            put(rt, s, ids[i], (pawl_str){0});
}

void details_leave(pawl_runtime *rt, struct stage *s)
{
    leave(rt, s, s->need_work.items, s->need_work.count);
    leave(rt, s, s->drop_work.items, s->drop_work.count);
}

void details_gone(pawl_runtime *rt, uint64_t work_id)
{
    idset_remove(&jobs_details(rt)->kept, work_id);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static bool is_there(const pawl_work_list *rows, uint64_t id)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].id == id)
            return true;
    return false;
}

/* Those of a page: kept, or left behind by a row that is gone. */
static pawl_status open_page(pawl_runtime *rt, const pawl_object_list *page, pawl_error *reterr)
{
    struct details *d = jobs_details(rt);
    pawl_work_list rows = {0};
    uint64_t *ids = arena_array(&rt->load_mem, uint64_t, page->count + 1);
    size_t n = 0;
    for (size_t i = 0; i < page->count; i++)
        if (id_of(page->items[i].name, &ids[n]))
            n++;
    pawl_status rc = store_read_work(rt->store, ids, n, &rt->load_mem, &rows, reterr);
    for (size_t i = 0; rc == PAWL_OK && i < n; i++)
        if (!idset_add(is_there(&rows, ids[i]) ? &d->kept : &d->orphans, ids[i]))
            rc = PAWL_NO_MEMORY;
    return rc;
}

void details_init(pawl_runtime *rt)
{
    struct details *d = jobs_details(rt);
    idset_init(&d->kept);
    idset_init(&d->flying);
    idset_init(&d->orphans);
    (void)pthread_mutex_init(&d->lock, NULL);
    atomic_store(&d->due_ms, INT64_MAX);
}

void details_deinit(pawl_runtime *rt)
{
    struct details *d = jobs_details(rt);
    idset_deinit(&d->kept);
    idset_deinit(&d->flying);
    idset_deinit(&d->orphans);
    (void)pthread_mutex_destroy(&d->lock);
}

pawl_status details_open(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_object_list page = {0};
    pawl_str after = {0};
    pawl_status rc = PAWL_OK;
    if (!rt->caps.objects)
        return rc;
    do {
        arena_reset(&rt->load_mem);
        rc = store_list_objects(rt->store, PAWL_OBJECT_DETAILS, (pawl_str){0}, after,
                                STORE_OBJECTS_PAGE, &rt->load_mem, &page, reterr);
        if (rc == PAWL_OK && page.count)
            rc = open_page(rt, &page, reterr);
        if (page.count)
            after = arena_dup(&rt->group_mem, page.items[page.count - 1].name);
    } while (rc == PAWL_OK && page.count == STORE_OBJECTS_PAGE);
    atomic_store(&jobs_details(rt)->shown, jobs_details(rt)->kept.count > 0);
    if (jobs_details(rt)->orphans.count)
        atomic_store(&jobs_details(rt)->due_ms, 0);
    return rc;
}
