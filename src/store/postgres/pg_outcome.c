/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_outcome.c -- what became of a commit whose reply was lost.
 *
 * A new connection raises the lane's life (pg_take.c): that waits for a commit under way, and no
 * commit of the old connection happens after it.  So the number in lane_log decides:
 *
 *     number = ours + 1   it happened                 number = ours   it did not, and never will
 *     number < ours       the server went back: a standby that lacked commits was promoted
 *
 * A lane that left has no row any more: then its last commit says so itself.
 *
 * Called as an operation of the store, on the engine thread.
 */
#include "store/postgres/postgres.h"

/* Is this commit of our lane in the log?  A lane that is over commits no more, so what is read is
 * final; it is visible, so it is durable. */
static pawl_status log_has(struct pg_store *s, uint64_t number, bool *ret, pawl_error *reterr)
{
    pawl_status status;

    params_reset(&s->params);
    params_id(&s->params, s->lane);
    params_id(&s->params, number);
    PGresult *r = link_run(&s->writer, ST_PG_LOG_HAS, &s->params, "read the lane", &status, reterr);
    *ret = r && pq.ntuples(r) == 1;
    pq.clear(r);
    return status;
}

/* The lane has no row: did it leave, or did another end it? */
static pawl_status did_leave(struct pg_store *s, uint64_t *retnumber, pawl_error *reterr)
{
    bool left = false;
    pawl_status status = log_has(s, s->fence.group_no + 1, &left, reterr);

    *retnumber = s->fence.group_no + left;
    return status == PAWL_OK && !left ? pg_fenced("another ended this lane", s->fence.epoch, reterr)
                                      : status;
}

/* Did the server carry out the commit whose reply was lost? */
static pawl_status resolve(struct pg_store *s, uint64_t *retnumber, pawl_error *reterr)
{
    pawl_status status = pg_connect(s, reterr);

    if (status == PAWL_OK)
        status = pg_raise_life(s, retnumber, reterr);
    if (status == PAWL_FENCED && s->writing == PG_LEAVE)
        return did_leave(s, retnumber, reterr);
    if (status == PAWL_OK && *retnumber < s->fence.group_no)
        status = pg_went_back(s, *retnumber, reterr);
    if (status != PAWL_OK)
        link_close(&s->writer);
    return status;
}

/* The reply was lost between this store and its caller: memory moved already. */
static pawl_status recall(struct pg_store *s, pawl_fence *fence, bool *retcommitted,
                          pawl_error *reterr)
{
    bool moved = s->fence.epoch == fence->epoch && s->fence.group_no > fence->group_no;
    uint64_t epoch = fence->epoch, number;
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK && !(moved && s->writing == PG_LEAVE))
        status = pg_read_lane(s, &epoch, &number, reterr);
    if (status != PAWL_OK)
        return status;
    if (epoch != fence->epoch)
        return pg_fenced("another process took this store", fence->epoch, reterr);
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
    if (status == PAWL_OK && number > s->fence.group_no && s->writing == PG_ROUNDS)
        status = pg_labels_read(s, rounds, count, reterr);
    if (status != PAWL_OK)
        return status;
    s->in_doubt = false;
    if (number == s->fence.group_no)
        return PAWL_OK;
    *retcommitted = true;
    if (s->writing != PG_ROUNDS) {
        pg_moved(s, fence);
        return PAWL_OK;
    }
    pg_fence_moved(s, fence);
    assert_that(s->fence.group_no == number);
    pg_remember(s, rounds, count, now_ms);
    fence->mail = s->fence.mail;
    return PAWL_OK;
}
