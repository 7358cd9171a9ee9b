/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_move.c -- claim, give, leave: commits of a lane that change whose shards are.
 *
 *     BEGIN ─▶ the row of the cluster ─▶ the fence ─▶ shards ─▶ COMMIT: one pipeline
 *
 * Nothing of a shard that leaves may stay in memory, and memory knows rows by their ids alone.  So
 * give asks first which of these ids are in the shards: no other lane writes those rows, and this
 * one does not before the commit.  What the lane had taken is freed by the lane that adopts them.
 *
 * Called as operations of the store, on the engine thread; pg_moved by pg_outcome.c, too.
 */
#include "base/point.h"
#include "store/postgres/postgres.h"

enum { MOVE_BEGIN, MOVE_CLUSTER, MOVE_FENCE };

/* ---- What memory has of shards that leave --------------------------------------------------- */

enum { ASK_MAIL, ASK_WORK, ASK_HEADS };

struct leaving_asked {
    struct pg_leaving *l;
    bool memory_gone;
};

static void keep(struct leaving_asked *a, struct pg_ids *ids, uint64_t id)
{
    uint64_t *slot = vec_push(ids);

    if (slot)
        *slot = id;
    else
        a->memory_gone = true;
}

static void on_answer(void *user, size_t index, const PGresult *r)
{
    struct leaving_asked *a = user;

    for (int i = 0; i < pq.ntuples(r); i++) {
        uint64_t id = value_id(r, i, 0);
        if (index == ASK_MAIL) {
            keep(a, &a->l->mail, id);
        } else if (index == ASK_WORK) {
            keep(a, &a->l->work, id);
        } else {
            keep(a, &a->l->uids, id);
            keep(a, &a->l->work, value_id(r, i, 1));
        }
    }
}

static void ask_ids(struct pg_store *s, int statement, const uint64_t *ids, size_t count)
{
    params_reset(&s->params);
    params_ids(&s->params, ids, count);
    params_shards(&s->params, s->leaving.shards);
    (void)link_send(&s->writer, statement, &s->params); /* link_reap tells */
}

static bool send_questions(struct pg_store *s)
{
    size_t mail_count = s->messages.count, count;
    uint64_t *work = NULL;
    uint64_t *mail = calloc(mail_count + s->free_messages.count + 1, sizeof *mail);

    if (!mail || pg_work_list(s, &work, &count) != PAWL_OK) {
        free(mail);
        return false;
    }
    idset_list(&s->messages, mail);
    idset_list(&s->free_messages, mail + mail_count);
    ask_ids(s, ST_PG_GIVEN_MAIL, mail, mail_count + s->free_messages.count);
    ask_ids(s, ST_PG_GIVEN_WORK, work, count);
    params_reset(&s->params);
    params_shards(&s->params, s->leaving.shards);
    (void)link_send(&s->writer, ST_PG_HEADS_OPEN_OF, &s->params);
    free(mail);
    free(work);
    return true;
}

/* One round trip. */
static pawl_status ask_leaving(struct pg_store *s, uint64_t shards, pawl_error *reterr)
{
    struct leaving_asked a = {.l = &s->leaving};
    struct link_report report;

    s->leaving.shards = shards;
    vec_reset(&s->leaving.mail);
    vec_reset(&s->leaving.work);
    vec_reset(&s->leaving.uids);
    if (!shards)
        return PAWL_OK;
    if (link_pipe(&s->writer))
        a.memory_gone = !send_questions(s);
    link_reap(&s->writer, on_answer, &a, &report);
    if (report.end != LINK_DONE)
        return link_error(&report, "look at shards", reterr);
    if (a.memory_gone)
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
    return a.memory_gone ? PAWL_NO_MEMORY : PAWL_OK;
}

static void forget_leaving(struct pg_store *s)
{
    const struct pg_leaving *l = &s->leaving;

    for (size_t i = 0; i < l->mail.count; i++) {
        idset_remove(&s->messages, l->mail.items[i]);
        idset_remove(&s->free_messages, l->mail.items[i]);
    }
    pg_work_forget(s, l->work.items, l->work.count);
    for (size_t i = 0; i < l->uids.count; i++)
        assert_that(open_work_set(&s->open, l->uids.items[i], 0)); /* a removal needs no memory */
    queue_times_reset(&s->queue_times);
    pg_times_forget(s, l->shards);
    s->fence.shards &= ~l->shards;
}

void pg_leaving_deinit(struct pg_store *s)
{
    vec_deinit(&s->leaving.mail);
    vec_deinit(&s->leaving.work);
    vec_deinit(&s->leaving.uids);
}

/* ---- Commits ----------------------------------------------------------------------------------- */

void pg_moved(struct pg_store *s, pawl_fence *fence)
{
    if (s->writing == PG_GIVE)
        forget_leaving(s);
    if (s->writing == PG_LEAVE)
        pg_forget_all(s);
    pg_fence_moved(s, fence);
}

static void send_number(struct pg_store *s, int statement, uint64_t n)
{
    params_reset(&s->params);
    params_id(&s->params, n);
    (void)link_send(&s->writer, statement, &s->params); /* link_reap tells */
}

/* The row of the cluster comes before that of a lane (G5). */
static pawl_status begin_move(struct pg_store *s, const pawl_fence *fence, enum pg_writing what,
                              pawl_error *reterr)
{
    pawl_status status = pg_commit_pipe(s, reterr);

    if (status != PAWL_OK)
        return status;
    s->writing = what;
    (void)link_send_begin(&s->writer);
    send_number(s, ST_PG_CLUSTER, 1);
    (void)pg_send_fence_only(s, fence);
    return PAWL_OK;
}

/* CONFLICT: a statement behind the fence refused. */
static pawl_status end_move(struct pg_store *s, pawl_fence *fence, pawl_error *reterr)
{
    struct link_report report;

    POINT("postgres.commit.before");
    bool sent = link_send(&s->writer, ST_PG_COMMIT, NULL);
    link_reap(&s->writer, NULL, NULL, &report);
    pawl_status status = pg_judge_commit(s, fence, MOVE_FENCE, &report, sent, reterr);
    if (status == PAWL_OK)
        pg_moved(s, fence);
    return status;
}

pawl_status pg_claim(pawl_store *base, pawl_fence *fence, uint64_t wanted, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = begin_move(s, fence, PG_CLAIM, reterr);
    if (status != PAWL_OK)
        return status;
    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_shards(&s->params, wanted);
    (void)link_send(&s->writer, ST_PG_SHARDS_CLAIM, &s->params);
    return end_move(s, fence, reterr);
}

pawl_status pg_give(pawl_store *base, pawl_fence *fence, uint64_t shards, uint64_t heir,
                    pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = ask_leaving(s, shards, reterr);
    if (status == PAWL_OK)
        status = begin_move(s, fence, PG_GIVE, reterr);
    if (status != PAWL_OK)
        return status;
    if (heir)
        send_number(s, ST_PG_HEIR_NEED, heir);
    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_shards(&s->params, shards);
    params_id(&s->params, heir);
    (void)link_send(&s->writer, ST_PG_SHARDS_GIVE, &s->params);
    status = end_move(s, fence, reterr);
    if (status == PAWL_CONFLICT)
        error_set(reterr, PAWL_CONFLICT, "there is no lane %llu", (unsigned long long)heir);
    return status;
}

/* Its row goes; the log keeps the last commit, for outcome(). */
pawl_status pg_leave(pawl_store *base, pawl_fence *fence, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = begin_move(s, fence, PG_LEAVE, reterr);
    if (status != PAWL_OK)
        return status;
    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_id(&s->params, fence->epoch);
    (void)link_send(&s->writer, ST_PG_LANE_DROP, &s->params);
    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_id(&s->params, s->fence.group_no + 1);
    (void)link_send(&s->writer, ST_PG_LOG_TRIM, &s->params);
    return end_move(s, fence, reterr);
}
