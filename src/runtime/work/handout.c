/* SPDX-License-Identifier: MIT */
/* runtime/work/handout.c -- see handout.h.  Called by deal.c, lease.c, job.c, seal.c, group.c,
 * work_limits.c; handout_load.c has what happens once after a start. */
#include "runtime/work/handout.h"

#include "runtime/core/health.h"
#include "runtime/core/registry.h"
#include "runtime/core/tray.h"
#include "runtime/work/attempt.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/work_limits.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_OF_TRAY 64   /* jobs in memory */
#define KEPT_MAX     8192 /* of all trays */
#define FETCH        16
#define PAUSE_MS     10 /* before rows are read again that found no memory */

/* A row that is out. */
struct tray_row {
    uint64_t id, uid;
    struct tray *tray;
    bool leased; /* it has a place; else the job has */
    bool fresh;  /* and the commit that says so is not done */
};

static int64_t now_us(const pawl_runtime *rt)
{
    return rt->now_ms * 1000;
}

/* ---- Trays ------------------------------------------------------------------------------ */

static void set_ours(pawl_runtime *rt, struct fair_class *c)
{
    fair_set_ours(&rt->hands.handout->fair, c, tray_is_ours(rt, c->name) != NULL);
}

struct tray *tray_of_name(pawl_runtime *rt, pawl_str name)
{
    struct handout *h = rt->hands.handout;
    struct tray *tray = map_gets(&h->trays, name);
    struct tray_parts parts;
    if (tray)
        return tray;
    tray = calloc(1, sizeof(*tray) + name.len + 1);
    need_memory(tray);
    char *text = (char *)(tray + 1);
    memcpy(text, name.ptr, name.len);
    tray->name = (pawl_str){text, name.len};
    tray->end = &tray->first;
    (void)tray_cut(tray->name, &parts);
    fair_tray_add(&h->fair, &tray->fair, parts.class, parts.priority, parts.key);
    set_ours(rt, tray->fair.class);
    need_memory(map_puts(&h->trays, tray->name, tray));
    return tray;
}

static void forget_if_empty(pawl_runtime *rt, struct tray *tray)
{
    struct handout *h = rt->hands.handout;
    if (!tray->rows && !tray->delayed && !tray->more)
        heap_remove(&h->wakes, &tray->wake); /* the lease that it was for is over */
    if (tray->fair.state != FAIR_IDLE || tray->fair.out || tray->rows || tray->first ||
        tray->more || tray->wake.place)
        return;
    fair_tray_remove(&h->fair, &tray->fair);
    map_removes(&h->trays, tray->name);
    free(tray);
}

void tray_stir(pawl_runtime *rt, struct tray *tray)
{
    fair_ready(&rt->hands.handout->fair, &tray->fair);
    rt->hands.handout->look = true;
    lease_may_find(rt);
}

static void handout_again(pawl_runtime *rt, struct tray *tray)
{
    tray->more = true;
    fair_count(&tray->fair, tray->fair.waiting + 1);
    tray_stir(rt, tray);
}

/* Look at it then: a lease of it ends, or a row is free from then on. */
static void look_at(pawl_runtime *rt, struct tray *tray, int64_t at_ms)
{
    if (tray->wake.place && tray->wake.key <= at_ms)
        return;
    heap_remove(&rt->hands.handout->wakes, &tray->wake);
    tray->wake.key = at_ms;
    need_memory(heap_push(&rt->hands.handout->wakes, &tray->wake));
}

/* Else it is one of pawl_pending(): nothing ends it but its completion, which is told. */
static bool has_end(const pawl_runtime *rt, int64_t until_ms)
{
    return until_ms - rt->now_ms < ATTEMPT_LEASE_MS / 2;
}

static void lease_ends(pawl_runtime *rt, struct tray *tray, int64_t until_ms)
{
    if (has_end(rt, until_ms))
        look_at(rt, tray, until_ms);
}

void tray_wake_at(pawl_runtime *rt, struct tray *tray, int64_t at_ms)
{
    tray->delayed = true;
    look_at(rt, tray, at_ms);
}

void handout_later(pawl_runtime *rt, struct tray *tray)
{
    handout_lock(rt->hands.handout);
    tray_wake_at(rt, tray, rt->now_ms + 1);
    if (!tray->first && !tray->more)
        fair_idle(&rt->hands.handout->fair, &tray->fair);
    handout_unlock(rt->hands.handout);
}

/* ---- What is committed ---------------------------------------------------------------------- */

bool handout_knows(const pawl_runtime *rt, pawl_str tray)
{
    struct tray_parts parts;
    return rt->hands.handout &&
           (tray_cut(tray, &parts) || (rt->hands.limits && limits_name(rt, tray_activity(tray))));
}

size_t handout_plain(pawl_runtime *rt, pawl_mem *mem, const pawl_str **names, size_t count)
{
    size_t n = 0;
    if (LIKELY(!rt->hands.limits))
        return count;
    pawl_str *plain = arena_array(mem, pawl_str, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!handout_knows(rt, (*names)[i]))
            plain[n++] = (*names)[i];
    *names = plain;
    return n;
}

/* Behind rows in the store it would overtake them. */
bool handout_admit(pawl_runtime *rt, const pawl_work *w)
{
    const struct handout *h = rt->hands.handout;
    const struct tray *tray = map_gets(&h->trays, w->name);
    if (!h->loaded || !h->adopted || w->visible_ms > rt->now_ms || h->kept >= KEPT_MAX)
        return false;
    return !tray || (!tray->more && !tray->delayed && tray->kept < KEPT_OF_TRAY);
}

/* Behind those in memory; it has no place yet. */
static void line_up(pawl_runtime *rt, struct tray *tray, struct job *job)
{
    job->tray = tray;
    job->priority = 0;
    job->next_queued = NULL;
    *tray->end = job;
    tray->end = &job->next_queued;
    tray->kept++;
    rt->hands.handout->kept++;
}

static bool keep(pawl_runtime *rt, struct tray *tray, const pawl_work *w)
{
    struct job *job = job_keep(rt, w);
    if (!job) {
        store_abandon_work(rt->store, &w->id, 1);
        tray->more = true;
        return false;
    }
    if (job->policy.schedule_to_close_ms || job->policy.schedule_to_start_ms)
        job_watch(rt, job);
    line_up(rt, tray, job);
    return true;
}

void tray_take_in(pawl_runtime *rt, struct tray *tray, struct job *job)
{
    job->share = NULL;
    job_only_waits(rt, job);
    line_up(rt, tray, job);
    fair_count(&tray->fair, tray->fair.waiting + 1);
    tray_stir(rt, tray);
}

void handout_added(pawl_runtime *rt, const pawl_work *w)
{
    handout_lock(rt->hands.handout);
    struct tray *tray = tray_of_name(rt, w->name);
    if (w->lock_epoch)
        (void)keep(rt, tray, w);
    else
        tray->more = true;
    fair_count(&tray->fair, tray->fair.waiting + 1);
    tray_stir(rt, tray);
    handout_unlock(rt->hands.handout);
}

void handout_freed(pawl_runtime *rt, pawl_str name)
{
    handout_lock(rt->hands.handout);
    handout_again(rt, tray_of_name(rt, name));
    handout_unlock(rt->hands.handout);
}

/* ---- What is out ------------------------------------------------------------------------------ */

static void give(pawl_runtime *rt, struct tray *tray)
{
    fair_give(&rt->hands.handout->fair, &tray->fair, now_us(rt));
    rt->hands.handout->look = true;
    lease_may_find(rt);
}

static struct tray *take_out(pawl_runtime *rt, struct tray_row *row)
{
    struct tray *tray = row->tray;
    map_remove(&rt->hands.handout->out, row->id);
    tray->rows--;
    if (row->leased)
        give(rt, tray);
    free(row);
    return tray;
}

static struct tray_row *put_out(pawl_runtime *rt, struct tray *tray, const pawl_work *w,
                                bool leased)
{
    struct tray_row *row = calloc(1, sizeof(*row));
    need_memory(row && map_put(&rt->hands.handout->out, w->id, row));
    *row = (struct tray_row){.id = w->id, .uid = w->uid, .tray = tray, .leased = leased};
    tray->rows++;
    return row;
}

void tray_found_out(pawl_runtime *rt, struct tray *tray, const pawl_work *w, bool leased)
{
    if (map_get(&rt->hands.handout->out, w->id))
        return;
    (void)put_out(rt, tray, w, leased);
    fair_was_out(&tray->fair);
    if (leased)
        lease_ends(rt, tray, w->lock_until_ms);
}

void handout_out(pawl_runtime *rt, struct tray *tray, const pawl_work *w, bool leased)
{
    struct handout *h = rt->hands.handout;
    handout_lock(h);
    struct tray_row *row = map_get(&h->out, w->id);
    if (row) /* its lease ran out a moment ago */
        (void)take_out(rt, row);
    fair_take(&h->fair, &tray->fair, now_us(rt));
    if (tray->fair.waiting)
        fair_count(&tray->fair, tray->fair.waiting - 1);
    put_out(rt, tray, w, leased)->fresh = leased;
    if (!tray->first && !tray->more)
        fair_idle(&h->fair, &tray->fair);
    handout_unlock(h);
}

static void changed(pawl_runtime *rt, struct tray_row *row, const pawl_work_update *u)
{
    if (u->lock_token.len || u->lock_epoch) {
        if (u->lock_token.len && !u->lock_epoch && !row->leased) {
            row->leased = true; /* it will be completed by token: the job gives its place back */
            fair_was_out(&row->tray->fair);
        }
        row->fresh = false;
        if (u->lock_token.len && !u->lock_epoch)
            lease_ends(rt, row->tray, u->lock_until_ms);
        return;
    }
    struct tray *tray = take_out(rt, row);
    if (u->visible_ms > rt->now_ms) {
        fair_count(&tray->fair, tray->fair.waiting + 1);
        tray_wake_at(rt, tray, u->visible_ms);
    } else {
        handout_again(rt, tray);
    }
}

void handout_changed(pawl_runtime *rt, const pawl_work_update *u)
{
    struct tray_row *row = map_get(&rt->hands.handout->out, u->id);
    if (!row)
        return;
    handout_lock(rt->hands.handout);
    changed(rt, row, u);
    handout_unlock(rt->hands.handout);
}

/* The attempt was not begun: its place and its tokens are given back. */
static void undone(pawl_runtime *rt, struct tray_row *row)
{
    struct tray *tray = row->tray;
    row->leased = false;
    (void)take_out(rt, row);
    fair_untake(&rt->hands.handout->fair, &tray->fair, now_us(rt));
    handout_again(rt, tray);
}

void handout_undone(pawl_runtime *rt, uint64_t work_id)
{
    struct tray_row *row = map_get(&rt->hands.handout->out, work_id);
    if (!row || !row->fresh)
        return;
    handout_lock(rt->hands.handout);
    undone(rt, row);
    handout_unlock(rt->hands.handout);
}

void handout_lost(pawl_runtime *rt, uint64_t work_id)
{
    struct tray_row *row = map_get(&rt->hands.handout->out, work_id);
    if (!row)
        return;
    handout_lock(rt->hands.handout);
    forget_if_empty(rt, take_out(rt, row));
    handout_unlock(rt->hands.handout);
}

void handout_removed(pawl_runtime *rt, uint64_t uid)
{
    struct tray_row *row;
    handout_lock(rt->hands.handout);
    for (size_t at = 0; (row = map_next(&rt->hands.handout->out, &at));)
        if (row->uid == uid)
            forget_if_empty(rt, take_out(rt, row));
    handout_unlock(rt->hands.handout);
}

/* A job that came by its turn is freed. */
static void handout_over(pawl_runtime *rt, struct job *job)
{
    struct tray *tray = job->tray;
    job->tray = NULL;
    if (!rt->hands.handout || !job->priority) /* closing; or it was not handed out */
        return;
    handout_lock(rt->hands.handout);
    give(rt, tray);
    forget_if_empty(rt, tray);
    handout_unlock(rt->hands.handout);
}

void handout_skipped(pawl_runtime *rt, const struct job *job)
{
    struct tray_row *row = map_get(&rt->hands.handout->out, job->work.id);
    if (!row)
        return;
    handout_lock(rt->hands.handout);
    handout_again(rt, take_out(rt, row));
    handout_unlock(rt->hands.handout);
}

static struct job *unlink_first(pawl_runtime *rt, struct tray *tray, struct job **at)
{
    struct job *job = *at;
    *at = job->next_queued;
    if (!*at)
        tray->end = at;
    tray->kept--;
    rt->hands.handout->kept--;
    return job;
}

void handout_drop(pawl_runtime *rt, struct job *job)
{
    struct tray *tray = job->tray;
    struct job **at = &tray->first;
    handout_lock(rt->hands.handout);
    while (*at != job)
        at = &(*at)->next_queued;
    (void)unlink_first(rt, tray, at);
    job_forget(rt, job);
    job_free(job);
    if (tray->fair.waiting)
        fair_count(&tray->fair, tray->fair.waiting - 1);
    if (!tray->first && !tray->more) {
        fair_idle(&rt->hands.handout->fair, &tray->fair);
        forget_if_empty(rt, tray);
    }
    handout_unlock(rt->hands.handout);
}

/* ---- Whose turn it is ---------------------------------------------------------------------------- */

size_t handout_classes(pawl_runtime *rt, const pawl_str *names, size_t count,
                       struct fair_class ***ret)
{
    size_t n = 0;
    struct fair_class **list = arena_array(&rt->group_mem, struct fair_class *, count + 1);
    for (size_t i = 0; i < count; i++)
        if ((list[n] = fair_class_find(&rt->hands.handout->fair, names[i])))
            n++;
    *ret = list;
    return n;
}

struct tray *handout_pick(pawl_runtime *rt, struct fair_class *const *classes, size_t count,
                          uint32_t ceiling)
{
    struct handout *h = rt->hands.handout;
    if (h->unread)
        return NULL;
    handout_lock(h);
    struct fair_tray *tray = fair_pick(&h->fair, classes, count, ceiling, now_us(rt));
    handout_unlock(h);
    return tray ? CONTAINER_OF(tray, struct tray, fair) : NULL;
}

/* When its next row is free, as the store has it. */
static bool find_delayed(pawl_runtime *rt, struct tray *tray)
{
    pawl_work_list list;
    pawl_error err;
    if (store_read_named_work(rt->store, tray->name, rt->now_ms, 1, &rt->load_mem, &list, &err) !=
        PAWL_OK) {
        health_unread(rt, &err);
        return false;
    }
    tray->delayed = false;
    if (list.count) {
        const pawl_work *w = &list.items[0];
        int64_t at = w->lock_until_ms > w->visible_ms ? w->lock_until_ms : w->visible_ms;
        if (has_end(rt, at))
            tray_wake_at(rt, tray, at);
    }
    return true;
}

/* Rows of the store into memory.  False: it did not answer. */
static bool fill(pawl_runtime *rt, struct tray *tray)
{
    pawl_work_list list;
    pawl_error err;
    arena_reset(&rt->load_mem);
    if (store_fetch_work(rt->store, rt->now_ms, &tray->name, 1, FETCH, &rt->load_mem, &list,
                         &err) != PAWL_OK) {
        health_unread(rt, &err);
        return false;
    }
    tray->more = list.count == FETCH;
    for (size_t i = 0; i < list.count; i++)
        if (!job_find(rt, list.items[i].id))
            (void)keep(rt, tray, &list.items[i]);
    if (!tray->more && tray->delayed && !tray->wake.place)
        return find_delayed(rt, tray);
    return true;
}

static struct job *next_of(pawl_runtime *rt, struct tray *tray)
{
    if (!tray->first && tray->more && !fill(rt, tray)) {
        rt->hands.handout->unread = rt->hands.handout->look = true;
        return NULL;
    }
    if (!tray->first) {
        fair_idle(&rt->hands.handout->fair, &tray->fair);
        if (tray->more) /* there was no memory for them */
            look_at(rt, tray, rt->now_ms + PAUSE_MS);
        else
            fair_count(&tray->fair, 0);
        forget_if_empty(rt, tray);
        return NULL;
    }
    struct job *job = unlink_first(rt, tray, &tray->first);
    job->next_queued = NULL;
    return job;
}

struct job *handout_next(pawl_runtime *rt, struct tray *tray)
{
    handout_lock(rt->hands.handout);
    struct job *job = next_of(rt, tray);
    handout_unlock(rt->hands.handout);
    return job;
}

/* ---- The time --------------------------------------------------------------------------------------- */

void handout_set_ours(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    struct fair_class *c;
    for (size_t at = 0; (c = map_next(&h->fair.classes, &at));)
        set_ours(rt, c);
    h->look = true;
}

int64_t handout_next_ms(const pawl_runtime *rt)
{
    const struct handout *h = rt->hands.handout;
    if (!h)
        return INT64_MAX;
    const struct heap_node *top = heap_top(&h->wakes);
    int64_t room = fair_next(&h->fair), at = top ? top->key : INT64_MAX;
    if (room == INT64_MAX)
        return at;
    room = room < 0 ? 0 : (room + 999) / 1000;
    return room < at ? room : at;
}

/* ---- Opening and closing ----------------------------------------------------------------------------- */

static void open_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

pawl_status handout_open(pawl_runtime *rt, pawl_error *reterr)
{
    if (!store_has_work_names(rt->store) || !tray_counts(rt) || rt->opts.read_only)
        return PAWL_OK;
    struct handout *h = calloc(1, sizeof(*h));
    if (!h)
        return PAWL_NO_MEMORY;
    open_lock(&h->lock);
    fair_init(&h->fair);
    map_init(&h->trays);
    map_init(&h->out);
    heap_init(&h->wakes);
    h->look = h->adopted = true;
    rt->hands.handout = h;
    jobs_tell_over(rt, handout_over);
    return limits_open(rt, reterr);
}

static void free_tray(struct handout *h, struct tray *tray)
{
    for (struct job *job = tray->first, *next; job; job = next) {
        next = job->next_queued;
        job->tray = NULL;
        job_free(job);
    }
    fair_idle(&h->fair, &tray->fair);
    while (tray->fair.out)
        fair_give(&h->fair, &tray->fair, 0);
    fair_tray_remove(&h->fair, &tray->fair);
    free(tray);
}

void handout_close(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    struct tray_row *row;
    struct tray *tray;
    rt->hands.handout = NULL;
    if (!h)
        return;
    heap_deinit(&h->wakes); /* it tells its nodes */
    for (size_t at = 0; (row = map_next(&h->out, &at));)
        free(row);
    for (size_t at = 0; (tray = map_next(&h->trays, &at));)
        free_tray(h, tray);
    map_deinit(&h->out);
    map_deinit(&h->trays);
    limits_close(h);
    rt->hands.limits = 0;
    fair_deinit(&h->fair);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void handout_check(const pawl_runtime *rt)
{
    const struct handout *h = rt->hands.handout;
    const struct tray *tray;
    size_t kept = 0;
    if (!h)
        return;
    fair_check(&h->fair);
    for (size_t at = 0; (tray = map_next(&h->trays, &at)); kept += tray->kept)
        assert_that(!(tray->first || tray->more) || tray->fair.state != FAIR_IDLE ||
                    tray->wake.place);
    assert_that(kept == h->kept);
}
