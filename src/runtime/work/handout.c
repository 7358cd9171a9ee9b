/* SPDX-License-Identifier: MIT */
/* runtime/work/handout.c -- see handout.h.  Called by deal.c, lease.c, job.c, seal.c, group.c,
 * work_limits.c; handout_load.c has what happens once after a start. */
#include "runtime/work/handout.h"

#include "runtime/core/health.h"
#include "runtime/core/lane.h"
#include "runtime/core/registry.h"
#include "runtime/work/attempt.h"
#include "runtime/work/jobs.h"
#include "runtime/work/lease.h"
#include "runtime/work/work_limits.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_OF_LANE 64   /* jobs in memory */
#define KEPT_MAX     8192 /* of all lanes */
#define FETCH        16
#define PAUSE_MS     10 /* before rows are read again that found no memory */

/* A row that is out. */
struct lane_row {
    uint64_t id, uid;
    struct lane *lane;
    bool leased; /* it has a place; else the job has */
    bool fresh;  /* and the commit that says so is not done */
};

static int64_t now_us(const pawl_runtime *rt)
{
    return rt->now_ms * 1000;
}

/* ---- Lanes ------------------------------------------------------------------------------ */

static void set_ours(pawl_runtime *rt, struct fair_class *c)
{
    fair_set_ours(&rt->hands.handout->fair, c, lane_is_ours(rt, c->name) != NULL);
}

struct lane *lane_of_name(pawl_runtime *rt, pawl_str name)
{
    struct handout *h = rt->hands.handout;
    struct lane *lane = map_gets(&h->lanes, name);
    struct lane_parts parts;
    if (lane)
        return lane;
    lane = calloc(1, sizeof(*lane) + name.len + 1);
    need_memory(lane);
    char *text = (char *)(lane + 1);
    memcpy(text, name.ptr, name.len);
    lane->name = (pawl_str){text, name.len};
    lane->end = &lane->first;
    (void)lane_cut(lane->name, &parts);
    fair_lane_add(&h->fair, &lane->fair, parts.class, parts.priority, parts.key);
    set_ours(rt, lane->fair.class);
    need_memory(map_puts(&h->lanes, lane->name, lane));
    return lane;
}

static void forget_if_empty(pawl_runtime *rt, struct lane *lane)
{
    struct handout *h = rt->hands.handout;
    if (!lane->rows && !lane->delayed && !lane->more)
        heap_remove(&h->wakes, &lane->wake); /* the lease that it was for is over */
    if (lane->fair.state != FAIR_IDLE || lane->fair.out || lane->rows || lane->first ||
        lane->more || lane->wake.place)
        return;
    fair_lane_remove(&h->fair, &lane->fair);
    map_removes(&h->lanes, lane->name);
    free(lane);
}

void lane_stir(pawl_runtime *rt, struct lane *lane)
{
    fair_ready(&rt->hands.handout->fair, &lane->fair);
    rt->hands.handout->look = true;
    lease_may_find(rt);
}

static void handout_again(pawl_runtime *rt, struct lane *lane)
{
    lane->more = true;
    fair_count(&lane->fair, lane->fair.waiting + 1);
    lane_stir(rt, lane);
}

/* Look at it then: a lease of it ends, or a row is free from then on. */
static void look_at(pawl_runtime *rt, struct lane *lane, int64_t at_ms)
{
    if (lane->wake.place && lane->wake.key <= at_ms)
        return;
    heap_remove(&rt->hands.handout->wakes, &lane->wake);
    lane->wake.key = at_ms;
    need_memory(heap_push(&rt->hands.handout->wakes, &lane->wake));
}

/* Else it is one of pawl_pending(): nothing ends it but its completion, which is told. */
static bool has_end(const pawl_runtime *rt, int64_t until_ms)
{
    return until_ms - rt->now_ms < ATTEMPT_LEASE_MS / 2;
}

static void lease_ends(pawl_runtime *rt, struct lane *lane, int64_t until_ms)
{
    if (has_end(rt, until_ms))
        look_at(rt, lane, until_ms);
}

void lane_wake_at(pawl_runtime *rt, struct lane *lane, int64_t at_ms)
{
    lane->delayed = true;
    look_at(rt, lane, at_ms);
}

void handout_later(pawl_runtime *rt, struct lane *lane)
{
    handout_lock(rt->hands.handout);
    lane_wake_at(rt, lane, rt->now_ms + 1);
    if (!lane->first && !lane->more)
        fair_idle(&rt->hands.handout->fair, &lane->fair);
    handout_unlock(rt->hands.handout);
}

/* ---- What is committed ---------------------------------------------------------------------- */

bool handout_knows(const pawl_runtime *rt, pawl_str lane)
{
    struct lane_parts parts;
    return rt->hands.handout &&
           (lane_cut(lane, &parts) || (rt->hands.limits && limits_name(rt, lane_activity(lane))));
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
    const struct lane *lane = map_gets(&h->lanes, w->name);
    if (!h->loaded || !h->adopted || w->visible_ms > rt->now_ms || h->kept >= KEPT_MAX)
        return false;
    return !lane || (!lane->more && !lane->delayed && lane->kept < KEPT_OF_LANE);
}

/* Behind those in memory; it has no place yet. */
static void line_up(pawl_runtime *rt, struct lane *lane, struct job *job)
{
    job->lane = lane;
    job->priority = 0;
    job->next_queued = NULL;
    *lane->end = job;
    lane->end = &job->next_queued;
    lane->kept++;
    rt->hands.handout->kept++;
}

static bool keep(pawl_runtime *rt, struct lane *lane, const pawl_work *w)
{
    struct job *job = job_keep(rt, w);
    if (!job) {
        store_abandon_work(rt->store, &w->id, 1);
        lane->more = true;
        return false;
    }
    if (job->policy.schedule_to_close_ms || job->policy.schedule_to_start_ms)
        job_watch(rt, job);
    line_up(rt, lane, job);
    return true;
}

void lane_take_in(pawl_runtime *rt, struct lane *lane, struct job *job)
{
    job->share = NULL;
    job_only_waits(rt, job);
    line_up(rt, lane, job);
    fair_count(&lane->fair, lane->fair.waiting + 1);
    lane_stir(rt, lane);
}

void handout_added(pawl_runtime *rt, const pawl_work *w)
{
    handout_lock(rt->hands.handout);
    struct lane *lane = lane_of_name(rt, w->name);
    if (w->lock_epoch)
        (void)keep(rt, lane, w);
    else
        lane->more = true;
    fair_count(&lane->fair, lane->fair.waiting + 1);
    lane_stir(rt, lane);
    handout_unlock(rt->hands.handout);
}

void handout_freed(pawl_runtime *rt, pawl_str name)
{
    handout_lock(rt->hands.handout);
    handout_again(rt, lane_of_name(rt, name));
    handout_unlock(rt->hands.handout);
}

/* ---- What is out ------------------------------------------------------------------------------ */

static void give(pawl_runtime *rt, struct lane *lane)
{
    fair_give(&rt->hands.handout->fair, &lane->fair, now_us(rt));
    rt->hands.handout->look = true;
    lease_may_find(rt);
}

static struct lane *take_out(pawl_runtime *rt, struct lane_row *row)
{
    struct lane *lane = row->lane;
    map_remove(&rt->hands.handout->out, row->id);
    lane->rows--;
    if (row->leased)
        give(rt, lane);
    free(row);
    return lane;
}

static struct lane_row *put_out(pawl_runtime *rt, struct lane *lane, const pawl_work *w,
                                bool leased)
{
    struct lane_row *row = calloc(1, sizeof(*row));
    need_memory(row && map_put(&rt->hands.handout->out, w->id, row));
    *row = (struct lane_row){.id = w->id, .uid = w->uid, .lane = lane, .leased = leased};
    lane->rows++;
    return row;
}

void lane_found_out(pawl_runtime *rt, struct lane *lane, const pawl_work *w, bool leased)
{
    if (map_get(&rt->hands.handout->out, w->id))
        return;
    (void)put_out(rt, lane, w, leased);
    fair_was_out(&lane->fair);
    if (leased)
        lease_ends(rt, lane, w->lock_until_ms);
}

void handout_out(pawl_runtime *rt, struct lane *lane, const pawl_work *w, bool leased)
{
    struct handout *h = rt->hands.handout;
    handout_lock(h);
    struct lane_row *row = map_get(&h->out, w->id);
    if (row) /* its lease ran out a moment ago */
        (void)take_out(rt, row);
    fair_take(&h->fair, &lane->fair, now_us(rt));
    if (lane->fair.waiting)
        fair_count(&lane->fair, lane->fair.waiting - 1);
    put_out(rt, lane, w, leased)->fresh = leased;
    if (!lane->first && !lane->more)
        fair_idle(&h->fair, &lane->fair);
    handout_unlock(h);
}

static void changed(pawl_runtime *rt, struct lane_row *row, const pawl_work_update *u)
{
    if (u->lock_token.len || u->lock_epoch) {
        if (u->lock_token.len && !u->lock_epoch && !row->leased) {
            row->leased = true; /* it will be completed by token: the job gives its place back */
            fair_was_out(&row->lane->fair);
        }
        row->fresh = false;
        if (u->lock_token.len && !u->lock_epoch)
            lease_ends(rt, row->lane, u->lock_until_ms);
        return;
    }
    struct lane *lane = take_out(rt, row);
    if (u->visible_ms > rt->now_ms) {
        fair_count(&lane->fair, lane->fair.waiting + 1);
        lane_wake_at(rt, lane, u->visible_ms);
    } else {
        handout_again(rt, lane);
    }
}

void handout_changed(pawl_runtime *rt, const pawl_work_update *u)
{
    struct lane_row *row = map_get(&rt->hands.handout->out, u->id);
    if (!row)
        return;
    handout_lock(rt->hands.handout);
    changed(rt, row, u);
    handout_unlock(rt->hands.handout);
}

/* The attempt was not begun: its place and its tokens are given back. */
static void undone(pawl_runtime *rt, struct lane_row *row)
{
    struct lane *lane = row->lane;
    row->leased = false;
    (void)take_out(rt, row);
    fair_untake(&rt->hands.handout->fair, &lane->fair, now_us(rt));
    handout_again(rt, lane);
}

void handout_undone(pawl_runtime *rt, uint64_t work_id)
{
    struct lane_row *row = map_get(&rt->hands.handout->out, work_id);
    if (!row || !row->fresh)
        return;
    handout_lock(rt->hands.handout);
    undone(rt, row);
    handout_unlock(rt->hands.handout);
}

void handout_lost(pawl_runtime *rt, uint64_t work_id)
{
    struct lane_row *row = map_get(&rt->hands.handout->out, work_id);
    if (!row)
        return;
    handout_lock(rt->hands.handout);
    forget_if_empty(rt, take_out(rt, row));
    handout_unlock(rt->hands.handout);
}

void handout_removed(pawl_runtime *rt, uint64_t uid)
{
    struct lane_row *row;
    handout_lock(rt->hands.handout);
    for (size_t at = 0; (row = map_next(&rt->hands.handout->out, &at));)
        if (row->uid == uid)
            forget_if_empty(rt, take_out(rt, row));
    handout_unlock(rt->hands.handout);
}

/* A job that came by its turn is freed. */
static void handout_over(pawl_runtime *rt, struct job *job)
{
    struct lane *lane = job->lane;
    job->lane = NULL;
    if (!rt->hands.handout || !job->priority) /* closing; or it was not handed out */
        return;
    handout_lock(rt->hands.handout);
    give(rt, lane);
    forget_if_empty(rt, lane);
    handout_unlock(rt->hands.handout);
}

void handout_skipped(pawl_runtime *rt, const struct job *job)
{
    struct lane_row *row = map_get(&rt->hands.handout->out, job->work.id);
    if (!row)
        return;
    handout_lock(rt->hands.handout);
    handout_again(rt, take_out(rt, row));
    handout_unlock(rt->hands.handout);
}

static struct job *unlink_first(pawl_runtime *rt, struct lane *lane, struct job **at)
{
    struct job *job = *at;
    *at = job->next_queued;
    if (!*at)
        lane->end = at;
    lane->kept--;
    rt->hands.handout->kept--;
    return job;
}

void handout_drop(pawl_runtime *rt, struct job *job)
{
    struct lane *lane = job->lane;
    struct job **at = &lane->first;
    handout_lock(rt->hands.handout);
    while (*at != job)
        at = &(*at)->next_queued;
    (void)unlink_first(rt, lane, at);
    job_forget(rt, job);
    job_free(job);
    if (lane->fair.waiting)
        fair_count(&lane->fair, lane->fair.waiting - 1);
    if (!lane->first && !lane->more) {
        fair_idle(&rt->hands.handout->fair, &lane->fair);
        forget_if_empty(rt, lane);
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

struct lane *handout_pick(pawl_runtime *rt, struct fair_class *const *classes, size_t count,
                          uint32_t ceiling)
{
    struct handout *h = rt->hands.handout;
    if (h->unread)
        return NULL;
    handout_lock(h);
    struct fair_lane *lane = fair_pick(&h->fair, classes, count, ceiling, now_us(rt));
    handout_unlock(h);
    return lane ? CONTAINER_OF(lane, struct lane, fair) : NULL;
}

/* When its next row is free, as the store has it. */
static bool find_delayed(pawl_runtime *rt, struct lane *lane)
{
    pawl_work_list list;
    pawl_error err;
    if (store_read_named_work(rt->store, lane->name, rt->now_ms, 1, &rt->load_mem, &list, &err) !=
        PAWL_OK) {
        health_unread(rt, &err);
        return false;
    }
    lane->delayed = false;
    if (list.count) {
        const pawl_work *w = &list.items[0];
        int64_t at = w->lock_until_ms > w->visible_ms ? w->lock_until_ms : w->visible_ms;
        if (has_end(rt, at))
            lane_wake_at(rt, lane, at);
    }
    return true;
}

/* Rows of the store into memory.  False: it did not answer. */
static bool fill(pawl_runtime *rt, struct lane *lane)
{
    pawl_work_list list;
    pawl_error err;
    arena_reset(&rt->load_mem);
    if (store_fetch_work(rt->store, rt->now_ms, &lane->name, 1, FETCH, &rt->load_mem, &list,
                         &err) != PAWL_OK) {
        health_unread(rt, &err);
        return false;
    }
    lane->more = list.count == FETCH;
    for (size_t i = 0; i < list.count; i++)
        if (!job_find(rt, list.items[i].id))
            (void)keep(rt, lane, &list.items[i]);
    if (!lane->more && lane->delayed && !lane->wake.place)
        return find_delayed(rt, lane);
    return true;
}

static struct job *next_of(pawl_runtime *rt, struct lane *lane)
{
    if (!lane->first && lane->more && !fill(rt, lane)) {
        rt->hands.handout->unread = rt->hands.handout->look = true;
        return NULL;
    }
    if (!lane->first) {
        fair_idle(&rt->hands.handout->fair, &lane->fair);
        if (lane->more) /* there was no memory for them */
            look_at(rt, lane, rt->now_ms + PAUSE_MS);
        else
            fair_count(&lane->fair, 0);
        forget_if_empty(rt, lane);
        return NULL;
    }
    struct job *job = unlink_first(rt, lane, &lane->first);
    job->next_queued = NULL;
    return job;
}

struct job *handout_next(pawl_runtime *rt, struct lane *lane)
{
    handout_lock(rt->hands.handout);
    struct job *job = next_of(rt, lane);
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
    if (!store_has_work_names(rt->store) || !lane_counts(rt) || rt->opts.read_only)
        return PAWL_OK;
    struct handout *h = calloc(1, sizeof(*h));
    if (!h)
        return PAWL_NO_MEMORY;
    open_lock(&h->lock);
    fair_init(&h->fair);
    map_init(&h->lanes);
    map_init(&h->out);
    heap_init(&h->wakes);
    h->look = h->adopted = true;
    rt->hands.handout = h;
    jobs_tell_over(rt, handout_over);
    return limits_open(rt, reterr);
}

static void free_lane(struct handout *h, struct lane *lane)
{
    for (struct job *job = lane->first, *next; job; job = next) {
        next = job->next_queued;
        job->lane = NULL;
        job_free(job);
    }
    fair_idle(&h->fair, &lane->fair);
    while (lane->fair.out)
        fair_give(&h->fair, &lane->fair, 0);
    fair_lane_remove(&h->fair, &lane->fair);
    free(lane);
}

void handout_close(pawl_runtime *rt)
{
    struct handout *h = rt->hands.handout;
    struct lane_row *row;
    struct lane *lane;
    rt->hands.handout = NULL;
    if (!h)
        return;
    heap_deinit(&h->wakes); /* it tells its nodes */
    for (size_t at = 0; (row = map_next(&h->out, &at));)
        free(row);
    for (size_t at = 0; (lane = map_next(&h->lanes, &at));)
        free_lane(h, lane);
    map_deinit(&h->out);
    map_deinit(&h->lanes);
    limits_close(h);
    rt->hands.limits = 0;
    fair_deinit(&h->fair);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void handout_check(const pawl_runtime *rt)
{
    const struct handout *h = rt->hands.handout;
    const struct lane *lane;
    size_t kept = 0;
    if (!h)
        return;
    fair_check(&h->fair);
    for (size_t at = 0; (lane = map_next(&h->lanes, &at)); kept += lane->kept)
        assert_that(!(lane->first || lane->more) || lane->fair.state != FAIR_IDLE ||
                    lane->wake.place);
    assert_that(kept == h->kept);
}
