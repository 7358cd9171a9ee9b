/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_take.c -- the owner of the lane: take, a new connection, a lost reply.
 *
 * The lane's row names the owner by (epoch, life).  take() makes a new epoch; each further
 * connection of that owner makes a new life.  Both are updates of the row that every commit locks:
 * so they wait for a commit that is under way, and one that comes later is refused.  They are
 * durable writes: what is read after them cannot disappear with a server that crashes (a plain
 * SELECT gave wrong answers, measured in docs/decisions/0038).
 *
 * So the number in lane_log decides what became of a commit whose reply was lost:
 *
 *     number = ours + 1   it happened                 number = ours   it did not, and never will
 *     number < ours       the server went back: a standby that lacked commits was promoted
 *
 * No loop waits for a server: each call tries once, and the runtime calls again.  Only take() waits
 * a little, for the connection of an owner that was killed just now.
 *
 * Called by pg_commit.c, pg_purge.c, the fetching files, and as operations of the store.
 */
#include "base/point.h"
#include "store/postgres/pg_group.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define OWNER_LOOKS    30 /* for the end of the former owner's connection … */
#define OWNER_PAUSE_MS 100
#define TRIM_EVERY     1024 /* groups; as many rows of lane_log stay */

static pawl_status fenced(const char *why, uint64_t epoch, pawl_error *reterr)
{
    error_set(reterr, PAWL_FENCED, "%s (our epoch is %llu); this one stops", why,
              (unsigned long long)epoch);
    return PAWL_FENCED;
}

static const char another[] = "another process took this store";

static void name_owner(struct pg_store *s)
{
    char host[64] = "";

    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(s->owner, sizeof s->owner, "%s:%ld", host, (long)getpid());
}

static pawl_status check_writable(const struct pg_store *s, pawl_error *reterr)
{
    if (!s->read_only)
        return PAWL_OK;
    error_set(reterr, PAWL_UNSUPPORTED, "the store was opened read-only; open it for writing");
    return PAWL_UNSUPPORTED;
}

/* ---- The fence ---------------------------------------------------------------------------- */

bool pg_send_fence(struct pg_store *s, const pawl_fence *fence)
{
    uint64_t number = s->fence.group_no + 1;

    (void)link_send_begin(&s->writer);
    params_reset(&s->params);
    params_i64(&s->params, PG_LANE);
    params_id(&s->params, fence->epoch);
    params_id(&s->params, s->life);
    params_id(&s->params, number);
    params_id(&s->params, fence->next_id);
    bool sent = link_send(&s->writer, ST_PG_FENCE, &s->params);
    if (!sent || number % TRIM_EVERY)
        return sent;
    params_reset(&s->params);
    params_i64(&s->params, PG_LANE);
    params_id(&s->params, number - TRIM_EVERY);
    return link_send(&s->writer, ST_PG_LOG_TRIM, &s->params);
}

pawl_status pg_fence_refused(const pawl_fence *fence, const struct link_report *report,
                             pawl_error *reterr)
{
    if (sqlstate_status(report->sqlstate) != PAWL_CONFLICT)
        return link_error(report, "begin a commit", reterr);
    return fenced(another, fence->epoch, reterr);
}

/* ---- Connections -------------------------------------------------------------------------- */

static pawl_status went_back(struct pg_store *s, uint64_t found, pawl_error *reterr)
{
    error_set(reterr, PAWL_FENCED,
              "the server lost %llu commits that it had acknowledged: the last one it has is %llu, "
              "ours was %llu (was a standby promoted?); start again to go on from what it has",
              (unsigned long long)(s->fence.group_no - found), (unsigned long long)found,
              (unsigned long long)s->fence.group_no);
    return PAWL_FENCED;
}

/* Read the row of the lane. */
static pawl_status read_lane(struct pg_store *s, uint64_t *retepoch, uint64_t *retnumber,
                             pawl_error *reterr)
{
    pawl_status status;

    params_reset(&s->params);
    params_i64(&s->params, PG_LANE);
    PGresult *r =
        link_run(&s->writer, ST_PG_LANE_READ, &s->params, "read the lane", &status, reterr);
    if (!r)
        return status;
    *retepoch = pq.ntuples(r) ? value_id(r, 0, 0) : 0;
    *retnumber = pq.ntuples(r) ? value_id(r, 0, 2) : 0;
    pq.clear(r);
    return PAWL_OK;
}

/* The server may not know that our former connection is gone: something in between keeps its
 * socket open, and its transaction the lane's row.  It is ended; a COMMIT that the server has in
 * hand is carried out or not, and the number tells. */
static void end_former(struct pg_store *s)
{
    pawl_status status;

    PGresult *r = link_run(&s->writer, ST_PG_LANE_END, &s->params, "end our former connection",
                           &status, NULL);
    pq.clear(r);
}

/* A new life for this connection (G2), and the number of the last commit before it. */
static pawl_status raise_life(struct pg_store *s, uint64_t *retnumber, pawl_error *reterr)
{
    uint64_t epoch;
    pawl_status status;

    params_reset(&s->params);
    params_i64(&s->params, PG_LANE);
    params_id(&s->params, s->fence.epoch);
    params_str(&s->params, pawl_s(s->owner));
    params_i64(&s->params, !s->place.pooled);
    PGresult *r =
        link_run(&s->writer, ST_PG_LANE_LIFE, &s->params, "renew the lane", &status, reterr);
    if (!r && status == PAWL_BUSY)
        end_former(s); /* a commit under way had its time; the caller tries again */
    if (!r)
        return status;
    bool ours = pq.ntuples(r) == 1;
    if (ours)
        s->life = value_id(r, 0, 0);
    pq.clear(r);
    if (!ours)
        return fenced(another, s->fence.epoch, reterr);
    return read_lane(s, &epoch, retnumber, reterr);
}

static pawl_status connect_writer(struct pg_store *s, pawl_error *reterr)
{
    if (link_is_up(&s->writer))
        return PAWL_OK;
    pawl_error room = {0}, *err = reterr ? reterr : &room;
    link_close(&s->writer);
    pawl_status status = link_open(&s->writer, &s->place, s->texts, err);
    pthread_mutex_lock(&s->pool_lock);
    (void)snprintf(s->trouble, sizeof s->trouble, "%.159s", status == PAWL_OK ? "" : err->text);
    pthread_mutex_unlock(&s->pool_lock);
    return status;
}

pawl_status pg_attach(struct pg_store *s, pawl_error *reterr)
{
    uint64_t number = 0;
    pawl_status status = check_writable(s, reterr);

    if (status != PAWL_OK)
        return status;
    if (s->in_doubt) {
        error_set(reterr, PAWL_UNKNOWN,
                  "the reply to the last commit was lost; ask for its outcome first");
        return PAWL_UNKNOWN;
    }
    if (link_is_up(&s->writer))
        return PAWL_OK;
    status = connect_writer(s, reterr);
    if (status != PAWL_OK || !s->life)
        return status;
    status = raise_life(s, &number, reterr);
    if (status == PAWL_OK && number < s->fence.group_no)
        status = went_back(s, number, reterr);
    else if (status == PAWL_OK && number > s->fence.group_no)
        status = fenced("another process wrote to this store", s->fence.epoch, reterr);
    if (status != PAWL_OK)
        link_close(&s->writer); /* the next call connects again */
    return status;
}

/* ---- take --------------------------------------------------------------------------------- */

/* Statements of take, in the order in which they are sent. */
enum { TAKE_BEGIN, TAKE_LOCK, TAKE_FREE, TAKE_LAST, TAKE_EPOCH, TAKE_IDS, TAKE_OPEN };

struct taking {
    struct pg_store *s;
    pawl_fence fence;
    bool memory_gone;
};

static void take_open(struct taking *t, const PGresult *r)
{
    int count = pq.ntuples(r);

    open_work_reset(&t->s->open);
    for (int i = 0; i < count && !t->memory_gone; i++)
        t->memory_gone = !open_work_set(&t->s->open, value_id(r, i, 0), value_id(r, i, 1)) ||
                         !pg_work_inherit(t->s, value_id(r, i, 1));
}

static void take_result(void *user, size_t index, const PGresult *r)
{
    struct taking *t = user;

    if (index == TAKE_OPEN) {
        take_open(t, r);
        return;
    }
    if (!pq.ntuples(r))
        return; /* no commit yet */
    if (index == TAKE_LAST) {
        t->fence.group_no = value_id(r, 0, 0);
    } else if (index == TAKE_EPOCH) {
        t->fence.epoch = value_id(r, 0, 0);
    } else if (index == TAKE_IDS) {
        t->fence.next_id = value_id(r, 0, 0);
    }
}

static bool send_take(struct pg_store *s, int64_t now_ms)
{
    struct pg_params *p = &s->params;

    (void)link_send_begin(&s->writer);
    params_reset(p);
    params_i64(p, PG_LANE);
    (void)link_send(&s->writer, ST_PG_LANE_LOCK, p);
    params_str(p, pawl_s(s->owner));
    (void)link_send(&s->writer, ST_PG_LANE_FREE, p);
    params_reset(p);
    params_i64(p, PG_LANE);
    (void)link_send(&s->writer, ST_PG_LANE_LAST, p);
    params_str(p, pawl_s(s->owner));
    params_i64(p, now_ms);
    params_i64(p, !s->place.pooled);
    (void)link_send(&s->writer, ST_PG_LANE_TAKE, p);
    params_reset(p);
    params_i64(p, PG_LANE);
    (void)link_send(&s->writer, ST_PG_EPOCH_BEGIN, p);
    params_reset(p);
    (void)link_send(&s->writer, ST_PG_HEADS_OPEN, p);
    (void)link_send(&s->writer, ST_PG_FRESH_FREE, p);
    (void)link_send(&s->writer, ST_PG_WORK_FREE, p);
    POINT("postgres.commit.before");
    return link_send(&s->writer, ST_PG_COMMIT, p);
}

/* Another owner is still connected. */
static pawl_status in_use(struct pg_store *s, pawl_error *reterr)
{
    pawl_status status;

    params_reset(&s->params);
    params_i64(&s->params, PG_LANE);
    params_str(&s->params, pawl_s(s->owner));
    PGresult *r =
        link_run(&s->writer, ST_PG_LANE_OWNER, &s->params, "look for the owner", &status, reterr);
    if (!r)
        return status;
    pawl_str owner = pq.ntuples(r) ? value_view(r, 0, 0) : pawl_s("a process that just ended");
    error_set(reterr, PAWL_UNAVAILABLE,
              "schema %s is in use by %.*s; stop it or use another pawl_schema", s->place.schema,
              (int)owner.len, owner.ptr);
    pq.clear(r);
    return PAWL_UNAVAILABLE;
}

/* *retagain: the former owner's connection is still there. */
static pawl_status take_once(struct taking *t, int64_t now_ms, bool *retagain, pawl_error *reterr)
{
    struct pg_store *s = t->s;
    struct link_report report;

    *retagain = false;
    if (!link_pipe(&s->writer)) {
        link_close(&s->writer);
        error_set(reterr, PAWL_UNAVAILABLE, "cannot take the store: the connection was lost");
        return PAWL_UNAVAILABLE;
    }
    (void)send_take(s, now_ms);
    link_reap(&s->writer, take_result, t, &report);
    if (report.end == LINK_DONE && report.committed_tag)
        return PAWL_OK;
    pawl_status status = link_error(&report, "take the store", reterr);
    if (report.end == LINK_FAILED)
        pg_roll_back(s);
    *retagain = report.end == LINK_FAILED && report.failed == TAKE_FREE && status == PAWL_CONFLICT;
    return status == PAWL_OK || status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
}

static void forget_all(struct pg_store *s)
{
    s->life = 0;
    s->in_doubt = false;
    open_work_reset(&s->open);
    pg_fetch_reset(s);
}

pawl_status pg_take(pawl_store *base, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct taking t = {.s = s};
    bool again = true;

    name_owner(s);
    pawl_status status = check_writable(s, reterr);
    if (status == PAWL_OK)
        status = connect_writer(s, reterr);
    if (status != PAWL_OK)
        return status;
    forget_all(s);
    for (int i = 0; i < OWNER_LOOKS && again; i++) {
        if (i)
            (void)nanosleep(&(struct timespec){.tv_nsec = OWNER_PAUSE_MS * 1000000L}, NULL);
        status = take_once(&t, now_ms, &again, reterr);
    }
    if (again)
        return in_use(s, reterr);
    if (status == PAWL_OK && t.memory_gone) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        status = PAWL_NO_MEMORY;
    }
    if (status != PAWL_OK)
        return status;
    s->fence = *ret = t.fence;
    s->life = 1;
    open_work_check(&s->open);
    return PAWL_OK;
}

/* ---- outcome ------------------------------------------------------------------------------ */

/* Did the server carry out the commit whose reply was lost? */
static pawl_status resolve(struct pg_store *s, uint64_t *retnumber, pawl_error *reterr)
{
    pawl_status status = connect_writer(s, reterr);

    if (status == PAWL_OK)
        status = raise_life(s, retnumber, reterr);
    if (status == PAWL_OK && *retnumber < s->fence.group_no)
        status = went_back(s, *retnumber, reterr);
    if (status != PAWL_OK)
        link_close(&s->writer);
    return status;
}

/* The reply was lost between this store and its caller: memory moved already. */
static pawl_status recall(struct pg_store *s, pawl_fence *fence, bool *retcommitted,
                          pawl_error *reterr)
{
    uint64_t epoch = 0, number;
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = read_lane(s, &epoch, &number, reterr);
    if (status != PAWL_OK)
        return status;
    if (epoch != fence->epoch)
        return fenced(another, fence->epoch, reterr);
    *retcommitted = s->fence.group_no > fence->group_no;
    if (*retcommitted)
        *fence = s->fence;
    return PAWL_OK;
}

pawl_status pg_outcome(pawl_store *base, pawl_fence *fence, pawl_round *rounds, size_t count,
                       int64_t now_ms, bool *retcommitted, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    uint64_t number = 0;

    *retcommitted = false;
    if (!s->in_doubt)
        return recall(s, fence, retcommitted, reterr);
    pawl_status status = resolve(s, &number, reterr);
    if (status != PAWL_OK)
        return status;
    s->in_doubt = false;
    if (number == s->fence.group_no)
        return PAWL_OK;
    s->fence.group_no = number;
    s->fence.next_id = fence->next_id;
    *fence = s->fence;
    pg_remember(s, rounds, count, now_ms);
    *retcommitted = true;
    return PAWL_OK;
}
