/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_lane.c -- a lane beside others: join, adopt, new ids.
 *
 * Each is one transaction of its own that locks the row of the cluster and then, where the lane is
 * there already, its row (G5).  None is a commit of the lane: there is no row in the log, and each
 * may be done again when its reply was lost.
 *
 * A handle that joins has a row of its own number, chosen once at random.  So a handle that joins
 * again, also after a lost reply, ends what it was before.
 *
 * adopt loads what memory must know of shards that came: which of their work is a number in a head.
 * Everything else is read when it is asked for (G6).  Rows that a former lane had locked are free
 * from then on.
 *
 * Ids: `cluster` has the end of the last block of all lanes.  The lane that has that block goes on
 * behind it without a gap; any other gets a new one.  The epoch of a block is in `epoch`, because
 * work that is a number in a head was taken by the lane that gave out its id.
 *
 * Called as operations of the store, on the engine thread.
 */
#include "base/point.h"
#include "base/rand.h"
#include "store/postgres/postgres.h"

static void send_ids(struct pg_store *s, int statement, size_t count, const uint64_t *ids)
{
    params_reset(&s->params);
    for (size_t i = 0; i < count; i++)
        params_id(&s->params, ids[i]);
    (void)link_send(&s->writer, statement, &s->params); /* link_reap tells */
}

#define SEND(s, statement, ...)                                                                    \
    send_ids(s, statement, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                   \
             (uint64_t[]){__VA_ARGS__})

/* Send COMMIT and read the results.  UNKNOWN: it may have happened. */
static pawl_status end_pipe(struct pg_store *s, const char *what,
                            void (*on_result)(void *user, size_t index, const PGresult *r),
                            void *user, struct link_report *report, pawl_error *reterr)
{
    POINT("postgres.commit.before");
    bool sent = link_send(&s->writer, ST_PG_COMMIT, NULL);
    link_reap(&s->writer, on_result, user, report);
    if (report->end == LINK_DONE && report->committed_tag && !report->wait_cancelled)
        return PAWL_OK;
    pawl_status status = link_error(report, what, reterr);
    if (report->end == LINK_FAILED)
        pg_roll_back(s);
    else if (sent)
        status = PAWL_UNKNOWN;
    if (reterr)
        reterr->status = status;
    return status;
}

/* ---- join --------------------------------------------------------------------------------------- */

enum { JOIN_BEGIN, JOIN_CLUSTER, JOIN_NODE, JOIN_FORMER, JOIN_OWN, JOIN_LOG, JOIN_LANE };

static void on_joined(void *user, size_t index, const PGresult *r)
{
    pawl_fence *ret = user;

    if (index != JOIN_LANE)
        return;
    ret->epoch = value_id(r, 0, 0);
    ret->next_id = value_id(r, 0, 1);
    ret->end_id = value_id(r, 0, 2);
}

static void send_join(struct pg_store *s, uint64_t node, int64_t now_ms)
{
    struct pg_params *p = &s->params;

    (void)link_send_begin(&s->writer);
    SEND(s, ST_PG_CLUSTER, 1);
    SEND(s, ST_PG_NODE_NEED, node);
    SEND(s, ST_PG_LANE_DROP, s->lane, s->fence.epoch ? s->fence.epoch : UINT64_MAX);
    SEND(s, ST_PG_LANE_DROP, s->number, 0);
    SEND(s, ST_PG_LOG_DROP, s->number);
    params_reset(p);
    params_id(p, s->number);
    params_str(p, pawl_s(s->owner));
    params_i64(p, now_ms);
    params_i64(p, !s->place.pooled);
    params_id(p, node);
    (void)link_send(&s->writer, ST_PG_LANE_JOIN, p);
}

/* A number of a lane: above that of the lane that takes the store. */
static void choose_number(struct pg_store *s)
{
    while (s->number <= PG_LANE) {
        random_bytes(&s->number, sizeof s->number);
        s->number >>= 2;
    }
}

static pawl_status pg_join(pawl_store *base, uint64_t node, int64_t now_ms, pawl_fence *ret,
                           pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct link_report report;
    pawl_fence fence = {0};

    pg_name_owner(s);
    choose_number(s);
    pawl_status status = pg_check_writable(s, reterr);
    if (status == PAWL_OK)
        status = pg_connect(s, reterr);
    if (status == PAWL_OK)
        status = pg_commit_pipe(s, reterr);
    if (status != PAWL_OK)
        return status;
    send_join(s, node, now_ms);
    status = end_pipe(s, "join the store", on_joined, &fence, &report, reterr);
    if (status == PAWL_CONFLICT && report.failed == JOIN_NODE) {
        status = PAWL_FENCED;
        error_set(reterr, status, "node %llu does not live", (unsigned long long)node);
    }
    if (status != PAWL_OK)
        return status;
    pg_forget_all(s);
    s->fence = *ret = fence;
    s->lane = s->number;
    s->life = 1;
    return PAWL_OK;
}

/* ---- adopt, new ids ------------------------------------------------------------------------------ */

enum { LANE_BEGIN, LANE_CLUSTER, LANE_HOLD, LANE_IDS, LANE_FRESH, LANE_WORK, LANE_HEADS };

struct pg_adoption {
    struct pg_heads heads;
    uint64_t next_id, end_id;
};

static void on_adopted(void *user, size_t index, const PGresult *r)
{
    struct pg_adoption *a = user;

    if (index == LANE_IDS) {
        a->next_id = value_id(r, 0, 0);
        a->end_id = value_id(r, 0, 1);
    }
    if (index == LANE_HEADS)
        pg_heads_see(&a->heads, r);
}

/* The lane's row is ours, and this transaction has it until it ends. */
static pawl_status begin_lane(struct pg_store *s, const pawl_fence *fence, pawl_error *reterr)
{
    pawl_status status = pg_commit_pipe(s, reterr);

    if (status != PAWL_OK)
        return status;
    (void)link_send_begin(&s->writer);
    SEND(s, ST_PG_CLUSTER, 0);
    SEND(s, ST_PG_LANE_HOLD, s->lane, fence->epoch, s->life);
    SEND(s, ST_PG_LANE_IDS, s->lane, fence->epoch, fence->next_id, s->fence.end_id);
    return PAWL_OK;
}

static pawl_status end_lane(struct pg_store *s, const pawl_fence *fence, const char *what,
                            struct pg_adoption *a, pawl_error *reterr)
{
    struct link_report report;
    pawl_status status = end_pipe(s, what, on_adopted, a, &report, reterr);

    if (status == PAWL_CONFLICT && report.failed == LANE_HOLD)
        return pg_fence_refused(fence, &report, reterr);
    return status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
}

static void take_ids(struct pg_store *s, pawl_fence *fence, const struct pg_adoption *a)
{
    s->fence.next_id = fence->next_id = a->next_id;
    s->fence.end_id = fence->end_id = a->end_id;
}

static pawl_status pg_new_ids(pawl_store *base, pawl_fence *fence, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct pg_adoption a = {0};
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = begin_lane(s, fence, reterr);
    if (status == PAWL_OK)
        status = end_lane(s, fence, "get new ids", &a, reterr);
    if (status == PAWL_OK)
        take_ids(s, fence, &a);
    return status;
}

/* All that the lane has: what it does not use yet came since it looked. */
static pawl_status read_shards(struct pg_store *s, const pawl_fence *fence, uint64_t *ret,
                               pawl_error *reterr)
{
    pawl_status status;

    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_id(&s->params, fence->epoch);
    params_id(&s->params, s->life);
    PGresult *r =
        link_run(&s->writer, ST_PG_SHARDS_OF, &s->params, "look for shards", &status, reterr);
    if (!r)
        return status;
    bool lives = pq.ntuples(r) == 1;
    *ret = lives ? value_id(r, 0, 0) : 0;
    pq.clear(r);
    return lives ? PAWL_OK : pg_fenced("another ended this lane", fence->epoch, reterr);
}

static void send_shards(struct pg_store *s, int statement, uint64_t shards)
{
    params_reset(&s->params);
    params_shards(&s->params, shards);
    (void)link_send(&s->writer, statement, &s->params);
}

/* They are ours until we give them or are buried, which the fence tells: so there is no hurry
 * between the question and the transaction. */
static pawl_status adopt(struct pg_store *s, pawl_fence *fence, uint64_t shards, pawl_error *reterr)
{
    struct pg_adoption a = {0};
    pawl_status status = begin_lane(s, fence, reterr);

    if (status != PAWL_OK)
        return status;
    send_shards(s, ST_PG_FRESH_FREE_OF, shards);
    send_shards(s, ST_PG_WORK_FREE_OF, shards);
    send_shards(s, ST_PG_HEADS_OPEN_OF, shards);
    status = end_lane(s, fence, "adopt shards", &a, reterr);
    if (status == PAWL_OK && !pg_heads_keep(s, &a.heads)) {
        status = PAWL_NO_MEMORY;
        error_set(reterr, status, "out of memory");
    }
    if (status == PAWL_OK) {
        take_ids(s, fence, &a);
        fence->shards = s->fence.shards |= shards;
        pg_times_forget(s, shards);
        pg_work_look_again(s);
        queue_times_reset(&s->queue_times);
    }
    pg_heads_deinit(&a.heads);
    return status;
}

static pawl_status pg_adopt(pawl_store *base, pawl_fence *fence, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    uint64_t shards = 0;
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = read_shards(s, fence, &shards, reterr);
    shards &= ~s->fence.shards;
    return status == PAWL_OK && shards ? adopt(s, fence, shards, reterr) : status;
}

const pawl_shared_ops pg_shared_ops = {
    .size = sizeof(pawl_shared_ops),
    .another = pg_another,
    .join = pg_join,
    .claim = pg_claim,
    .adopt = pg_adopt,
    .new_ids = pg_new_ids,
    .hint = pg_hint,
    .give = pg_give,
    .leave = pg_leave,
    .bury = pg_bury,
    .view = pg_view,
    .node_join = pg_node_join,
    .node_beat = pg_node_beat,
    .node_leave = pg_node_leave,
    .node_ask = pg_node_ask,
    .bury_over = pg_bury_over,
    .nodes = pg_nodes,
};
