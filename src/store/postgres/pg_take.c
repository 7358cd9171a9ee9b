/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_take.c -- the owner of a lane: take, a new connection.
 *
 * The lane's row names the owner by (epoch, life).  take() makes a new epoch; each further
 * connection of that owner makes a new life.  Both are updates of the row that every commit locks:
 * so they wait for a commit that is under way, and one that comes later is refused.  They are
 * durable writes: what is read after them cannot disappear with a server that crashes (a plain
 * SELECT gave wrong answers, measured in docs/decisions/0038).
 *
 * take() makes this lane the only one: it locks the rows of all lanes, deletes the others, and gets
 * every shard, in one transaction of one round trip.  Beside others a lane comes by join (pg_lane.c).
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

pawl_status pg_fenced(const char *why, uint64_t epoch, pawl_error *reterr)
{
    error_set(reterr, PAWL_FENCED, "%s (our epoch is %llu); this one stops", why,
              (unsigned long long)epoch);
    return PAWL_FENCED;
}

static const char another[] = "another process took this store";

void pg_name_owner(struct pg_store *s)
{
    char host[64] = "";

    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(s->owner, sizeof s->owner, "%s:%ld", host, (long)getpid());
}

pawl_status pg_check_writable(const struct pg_store *s, pawl_error *reterr)
{
    if (!s->read_only)
        return PAWL_OK;
    error_set(reterr, PAWL_UNSUPPORTED, "the store was opened read-only; open it for writing");
    return PAWL_UNSUPPORTED;
}

/* ---- The fence ---------------------------------------------------------------------------- */

bool pg_send_fence(struct pg_store *s, const pawl_fence *fence)
{
    (void)link_send_begin(&s->writer);
    return pg_send_fence_only(s, fence);
}

bool pg_send_fence_only(struct pg_store *s, const pawl_fence *fence)
{
    uint64_t number = s->fence.group_no + 1;

    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_id(&s->params, fence->epoch);
    params_id(&s->params, s->life);
    params_id(&s->params, number);
    params_id(&s->params, fence->next_id);
    bool sent = link_send(&s->writer, ST_PG_FENCE, &s->params);
    if (!sent || number % TRIM_EVERY)
        return sent;
    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_id(&s->params, number - TRIM_EVERY);
    return link_send(&s->writer, ST_PG_LOG_TRIM, &s->params);
}

pawl_status pg_fence_refused(const pawl_fence *fence, const struct link_report *report,
                             pawl_error *reterr)
{
    if (sqlstate_status(report->sqlstate) != PAWL_CONFLICT)
        return link_error(report, "begin a commit", reterr);
    return pg_fenced(another, fence->epoch, reterr);
}

/* ---- Connections -------------------------------------------------------------------------- */

pawl_status pg_went_back(const struct pg_store *s, uint64_t found, pawl_error *reterr)
{
    error_set(reterr, PAWL_FENCED,
              "the server lost %llu commits that it had acknowledged: the last one it has is %llu, "
              "ours was %llu (was a standby promoted?); start again to go on from what it has",
              (unsigned long long)(s->fence.group_no - found), (unsigned long long)found,
              (unsigned long long)s->fence.group_no);
    return PAWL_FENCED;
}

/* Read the row of the lane. */
pawl_status pg_read_lane(struct pg_store *s, uint64_t *retepoch, uint64_t *retnumber,
                         pawl_error *reterr)
{
    pawl_status status;

    params_reset(&s->params);
    params_id(&s->params, s->lane);
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
pawl_status pg_raise_life(struct pg_store *s, uint64_t *retnumber, pawl_error *reterr)
{
    uint64_t epoch;
    pawl_status status;

    params_reset(&s->params);
    params_id(&s->params, s->lane);
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
        return pg_fenced(another, s->fence.epoch, reterr);
    return pg_read_lane(s, &epoch, retnumber, reterr);
}

pawl_status pg_connect(struct pg_store *s, pawl_error *reterr)
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
    pawl_status status = pg_check_writable(s, reterr);

    if (status != PAWL_OK)
        return status;
    if (s->in_doubt) {
        error_set(reterr, PAWL_UNKNOWN,
                  "the reply to the last commit was lost; ask for its outcome first");
        return PAWL_UNKNOWN;
    }
    if (link_is_up(&s->writer))
        return PAWL_OK;
    status = pg_connect(s, reterr);
    if (status != PAWL_OK || !s->life)
        return status;
    status = pg_raise_life(s, &number, reterr);
    if (status == PAWL_OK && number < s->fence.group_no)
        status = pg_went_back(s, number, reterr);
    else if (status == PAWL_OK && number > s->fence.group_no)
        status = pg_fenced("another process wrote to this store", s->fence.epoch, reterr);
    if (status != PAWL_OK)
        link_close(&s->writer); /* the next call connects again */
    return status;
}

/* ---- Work of shards that come --------------------------------------------------------------- */

void pg_heads_see(struct pg_heads *h, const PGresult *r)
{
    for (int i = 0; i < 2 * pq.ntuples(r); i++) {
        uint64_t *slot = vec_push(&h->ids);
        if (slot)
            *slot = value_id(r, i / 2, i % 2);
        else
            h->memory_gone = true;
    }
}

bool pg_heads_keep(struct pg_store *s, const struct pg_heads *h)
{
    const uint64_t *ids = h->ids.items;
    size_t i = 0;
    bool good = !h->memory_gone;

    for (; good && i < h->ids.count; i += 2)
        good = open_work_set(&s->open, ids[i], ids[i + 1]) && pg_work_inherit(s, ids[i + 1]);
    for (; !good && i > 0; i -= 2) {
        assert_that(open_work_set(&s->open, ids[i - 2], 0)); /* a removal needs no memory */
        pg_work_forget(s, &ids[i - 1], 1);
    }
    return good;
}

void pg_heads_deinit(struct pg_heads *h)
{
    vec_deinit(&h->ids);
}

/* ---- take --------------------------------------------------------------------------------- */

/* Statements of take, in the order in which they are sent. */
enum {
    TAKE_BEGIN,
    TAKE_CLUSTER,
    TAKE_NODES,
    TAKE_LOCK,
    TAKE_FREE,
    TAKE_LANE,
    TAKE_LAST,
    TAKE_OPEN
};

struct taking {
    struct pg_store *s;
    pawl_fence fence;
    struct pg_heads heads;
};

static void take_result(void *user, size_t index, const PGresult *r)
{
    struct taking *t = user;

    if (index == TAKE_OPEN) {
        pg_heads_see(&t->heads, r);
    } else if (index == TAKE_LAST) {
        t->fence.group_no = value_id(r, 0, 0);
    } else if (index == TAKE_LANE) {
        t->fence.epoch = value_id(r, 0, 0);
        t->fence.next_id = value_id(r, 0, 1);
        t->fence.end_id = value_id(r, 0, 2);
    }
}

/* The row of our lane is written; what it needs of other lanes is read before they are deleted. */
static void send_lane(struct pg_store *s, int64_t now_ms)
{
    struct pg_params *p = &s->params;

    params_reset(p);
    params_i64(p, PG_LANE);
    params_str(p, pawl_s(s->owner));
    params_i64(p, now_ms);
    params_i64(p, !s->place.pooled);
    (void)link_send(&s->writer, ST_PG_LANE_TAKE, p);
    params_reset(p);
    params_i64(p, PG_LANE);
    (void)link_send(&s->writer, ST_PG_LANES_LAST, p);
}

static bool send_take(struct pg_store *s, int64_t now_ms)
{
    struct pg_params *p = &s->params;

    (void)link_send_begin(&s->writer);
    params_reset(p);
    params_i64(p, 1);
    (void)link_send(&s->writer, ST_PG_CLUSTER, p);
    params_reset(p);
    (void)link_send(&s->writer, ST_PG_NODES_LEASED, p);
    (void)link_send(&s->writer, ST_PG_LANES_LOCK, p);
    params_str(p, pawl_s(s->owner));
    (void)link_send(&s->writer, ST_PG_LANES_FREE, p);
    send_lane(s, now_ms);
    params_reset(p);
    (void)link_send(&s->writer, ST_PG_HEADS_OPEN, p);
    (void)link_send(&s->writer, ST_PG_FRESH_FREE, p);
    (void)link_send(&s->writer, ST_PG_WORK_FREE, p);
    params_i64(p, PG_LANE);
    (void)link_send(&s->writer, ST_PG_LANES_GONE, p);
    (void)link_send(&s->writer, ST_PG_LOGS_GONE, p);
    (void)link_send(&s->writer, ST_PG_SHARDS_TAKE, p);
    POINT("postgres.commit.before");
    return link_send(&s->writer, ST_PG_COMMIT, NULL);
}

/* Another owner is still connected. */
static pawl_status in_use(struct pg_store *s, pawl_error *reterr)
{
    pawl_status status;

    params_reset(&s->params);
    params_str(&s->params, pawl_s(s->owner));
    PGresult *r =
        link_run(&s->writer, ST_PG_LANES_OWNER, &s->params, "look for the owner", &status, reterr);
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
    if (status == PAWL_CONFLICT && report.failed == TAKE_NODES)
        error_set(reterr, PAWL_UNAVAILABLE,
                  "schema %s is in use by nodes that share it; join them, or wait until they have "
                  "left",
                  s->place.schema);
    *retagain = report.end == LINK_FAILED && report.failed == TAKE_FREE && status == PAWL_CONFLICT;
    return status == PAWL_OK || status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
}

void pg_forget_all(struct pg_store *s)
{
    s->life = 0;
    s->fence.shards = 0;
    s->in_doubt = false;
    open_work_reset(&s->open);
    pg_fetch_reset(s);
}

/* What this handle was before is over. */
static pawl_status begin_anew(struct taking *t, pawl_error *reterr)
{
    pg_forget_all(t->s);
    if (pg_heads_keep(t->s, &t->heads))
        return PAWL_OK;
    error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    return PAWL_NO_MEMORY;
}

pawl_status pg_take(pawl_store *base, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct taking t = {.s = s};
    bool again = true;

    pg_name_owner(s);
    pawl_status status = pg_check_writable(s, reterr);
    if (status == PAWL_OK)
        status = pg_connect(s, reterr);
    if (status != PAWL_OK)
        return status;
    for (int i = 0; i < OWNER_LOOKS && again; i++) {
        if (i)
            (void)nanosleep(&(struct timespec){.tv_nsec = OWNER_PAUSE_MS * 1000000L}, NULL);
        status = take_once(&t, now_ms, &again, reterr);
    }
    if (status == PAWL_OK)
        status = begin_anew(&t, reterr);
    pg_heads_deinit(&t.heads);
    if (status != PAWL_OK)
        return again ? in_use(s, reterr) : status;
    t.fence.shards = PAWL_SHARDS_ALL;
    s->fence = *ret = t.fence;
    s->lane = PG_LANE;
    s->life = 1;
    open_work_check(&s->open);
    return PAWL_OK;
}
