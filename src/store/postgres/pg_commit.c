/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_commit.c -- commit: a group as one pipeline, or round by round.
 *
 *     independent rounds ─▶ BEGIN, fence, one statement per table, COMMIT: one round trip
 *             │ a statement refused (it rolled back; no round is to blame by name)
 *             ├ ids of starts exist: the same again without those rounds
 *     others ─┴─▶ BEGIN, fence ─▶ (SAVEPOINT, a round, RELEASE) … ─▶ COMMIT
 *
 * Refused rounds are rare, so the second way is simple rather than fast (decision 0007).  A group
 * of one plain step has statements without arrays.
 *
 * Memory changes only after the server answered COMMIT, or outcome() found the number (G3).  The
 * server answers the COMMIT of an aborted transaction with the tag ROLLBACK, so the tag is checked.
 * When the connection is lost after COMMIT was sent, the outcome is in doubt, and this store writes
 * no more until outcome() knows.
 *
 * Called as an operation of the store, on the engine thread; the pieces of a commit by pg_purge.c too.
 */
#include "base/point.h"
#include "base/str.h"
#include "store/postgres/pg_group.h"
#include "store/round_rules.h"

/* ---- The end of a transaction ---------------------------------------------------------------- */

void pg_roll_back(struct pg_store *s)
{
    if (link_is_up(&s->writer) && link_do(&s->writer, "ROLLBACK", "roll back", NULL) != PAWL_OK)
        link_close(&s->writer); /* the server ends the transaction with its connection */
}

/* Would the server refuse this round every time: for a count, a key that exists, or a text that it
 * cannot store?  The other rounds of the group do not wait for it (C2). */
static bool is_refusal(const struct link_report *report)
{
    return report->end == LINK_FAILED &&
           (strncmp(report->sqlstate, "22", 2) == 0 || strncmp(report->sqlstate, "54", 2) == 0 ||
            sqlstate_status(report->sqlstate) == PAWL_CONFLICT);
}

pawl_status pg_judge_commit(struct pg_store *s, const pawl_fence *fence, size_t fence_at,
                            const struct link_report *report, bool commit_sent, pawl_error *reterr)
{
    POINT("postgres.commit.after");
    if (report->end == LINK_DONE && report->committed_tag && !report->wait_cancelled)
        return PAWL_OK;
    bool lost = report->end == LINK_LOST;
    if (commit_sent && (lost || (report->end == LINK_DONE && report->committed_tag))) {
        s->in_doubt = true;
        (void)link_error(report, "commit", reterr);
        if (reterr)
            reterr->status = PAWL_UNKNOWN;
        return PAWL_UNKNOWN;
    }
    pawl_status status = link_error(report, "commit", reterr);
    if (is_refusal(report))
        status =
            report->failed <= fence_at ? pg_fence_refused(fence, report, reterr) : PAWL_CONFLICT;
    if (!lost)
        pg_roll_back(s);
    return report->end == LINK_DONE ? PAWL_UNAVAILABLE : status;
}

pawl_status pg_commit_pipe(struct pg_store *s, pawl_error *reterr)
{
    if (link_pipe(&s->writer))
        return PAWL_OK;
    link_close(&s->writer);
    error_set(reterr, PAWL_UNAVAILABLE, "cannot commit: the connection to the server was lost");
    return PAWL_UNAVAILABLE;
}

pawl_status pg_commit_end(struct pg_store *s, const pawl_fence *fence,
                          void (*on_result)(void *user, size_t index, const PGresult *r),
                          void *user, pawl_error *reterr)
{
    struct link_report report;

    POINT("postgres.commit.before");
    bool sent = link_send(&s->writer, ST_PG_COMMIT, NULL);
    link_reap(&s->writer, on_result, user, &report);
    return pg_judge_commit(s, fence, PG_FENCE_AT, &report, sent, reterr);
}

pawl_status pg_commit_begin(struct pg_store *s, const pawl_fence *fence, pawl_error *reterr)
{
    struct link_report report;
    pawl_status status = pg_commit_pipe(s, reterr);

    if (status != PAWL_OK)
        return status;
    (void)pg_send_fence(s, fence);
    link_reap(&s->writer, NULL, NULL, &report);
    if (report.end == LINK_DONE)
        return PAWL_OK;
    status = pg_fence_refused(fence, &report, reterr);
    pg_roll_back(s);
    return status;
}

void pg_fence_moved(struct pg_store *s, pawl_fence *fence)
{
    s->fence.group_no++;
    s->fence.next_id = fence->next_id;
    s->fence.mail = 0;
    *fence = s->fence;
}

/* ---- A plain step alone ------------------------------------------------------------------------- */

/* Two events that are one row, the work of the head replaced by the next, and nothing else. */
static bool is_plain_step(const pawl_round *r)
{
    return r->change == PAWL_ROW_LAST && r->event_count == 2 && r->need_work_count == 1 &&
           r->work_count == 1 && !r->drop_work_count && !r->work_update_count &&
           !r->message_count && !r->drop_message_count && !r->message_update_count &&
           !r->quarantine_count && !r->key_count && !r->queue && !r->extra &&
           r->events[1].rid == r->events[0].rid + 1 &&
           r->events[1].execution == r->events[0].execution &&
           r->events[1].at_ms == r->events[0].at_ms && r->events[0].seq % PG_MARK_EVERY &&
           r->events[1].seq % PG_MARK_EVERY;
}

static void lone_head(struct pg_params *p, const pawl_round *r, struct open_plan plan)
{
    params_reset(p);
    params_id(p, r->uid);
    params_id(p, r->execution);
    params_id(p, r->base_seq);
    params_id(p, r->row->last_seq);
    params_id(p, r->row->last_rid);
    params_i64(p, r->row->updated_ms);
    params_id(p, plan.was);
    params_i64(p, open_work_stored(plan.now, r->row->last_rid));
}

static void lone_event(struct pg_params *p, const pawl_round *r)
{
    const pawl_event *a = &r->events[0], *b = &r->events[1];

    params_reset(p);
    params_id(p, a->rid);
    params_id(p, r->uid);
    params_id(p, a->seq == 1 ? 0 : r->base_rid);
    params_i64(p, a->at_ms);
    params_id(p, a->ref);
    params_id(p, b->ref);
    params_id(p, a->execution);
    params_id(p, a->seq);
    params_i64(p, a->kind);
    params_i64(p, b->kind);
    params_str(p, a->name);
    params_str(p, a->data);
    params_str(p, a->attrs);
    params_str(p, b->name);
    params_str(p, b->data);
    params_str(p, b->attrs);
}

/* False: it is not such a step, and nothing was sent. */
static bool send_lone(struct pg_store *s, const pawl_round *r)
{
    if (!is_plain_step(r))
        return false;
    struct open_plan plan = open_work_plan(&s->open, s->fence.epoch, r);
    if (plan.was != r->need_work[0] || plan.now != r->work[0].id)
        return false;
    s->group->plans.items[0] = plan;
    lone_head(&s->params, r, plan);
    (void)link_send(&s->writer, ST_PG_LONE_HEAD, &s->params);
    lone_event(&s->params, r);
    (void)link_send(&s->writer, ST_PG_LONE_EVENT, &s->params);
    return true;
}

/* ---- Groups ------------------------------------------------------------------------------------- */

static bool is_start(const pawl_round *r)
{
    return r->uid && r->change == PAWL_ROW_INSERT && !r->queue;
}

/* Starts by their ids, behind all others. */
static int by_start(const void *a, const void *b, void *rounds)
{
    const pawl_round *x = (const pawl_round *)rounds + *(const size_t *)a;
    const pawl_round *y = (const pawl_round *)rounds + *(const size_t *)b;
    bool p = is_start(x), q = is_start(y);

    if (p != q)
        return p - q;
    return p ? str_compare(x->row->id, y->row->id) : (x > y) - (x < y);
}

/* The order in which the rounds are collected; false: their own.  Beside other lanes starts are sorted by their ids:
 * two lanes that insert the same ids wait for each other in one order, not in a circle (E11). */
static bool put_in_order(struct pg_store *s, pawl_round *rounds, size_t count)
{
    struct pg_group *g = s->group;

    vec_reset(&g->order);
    if (s->fence.shards == PAWL_SHARDS_ALL || count < 2)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t *slot = vec_push(&g->order);
        if (!slot)
            return false; /* a deadlock costs time only */
        *slot = i;
    }
    qsort_r(g->order.items, count, sizeof *g->order.items, by_start, rounds);
    return true;
}

static void send_rounds(struct pg_store *s, pawl_round *rounds, size_t count)
{
    struct pg_group *g = s->group;
    bool ordered = put_in_order(s, rounds, count);

    group_reset(g);
    for (size_t n = 0; n < count; n++) {
        size_t i = ordered ? g->order.items[n] : n;
        if (rounds[i].result == PAWL_OK)
            g->plans.items[i] = group_add(g, s, &rounds[i]);
    }
    if (group_send(g, s))
        (void)pg_send_queues(s, rounds, count);
}

/* Commit all rounds that are not refused yet, in one round trip.  CONFLICT: one was refused. */
static pawl_status commit_together(struct pg_store *s, const pawl_fence *fence, pawl_round *rounds,
                                   size_t count, pawl_error *reterr)
{
    pawl_status status = pg_commit_pipe(s, reterr);

    if (status != PAWL_OK)
        return status;
    (void)pg_send_fence(s, fence);
    vec_reset(&s->group->labels);
    s->group->work_shards = 0;
    if (count != 1 || !send_lone(s, &rounds[0]))
        send_rounds(s, rounds, count);
    return pg_commit_end(s, fence, pg_see_result, s, reterr);
}

/* After a group was refused: starts are sent without a look for their ids, so look for those ids
 * first.  True: some exist, and their rounds are refused. */
static bool refuse_existing(struct pg_store *s, pawl_round *rounds, size_t count)
{
    pawl_str *ids = calloc(count + 1, sizeof *ids);
    size_t starts = 0;
    pawl_status status;

    for (size_t i = 0; ids && i < count; i++) { /* the place of an id is that of its round */
        ids[i] = is_start(&rounds[i]) ? rounds[i].row->id : (pawl_str){0};
        starts += ids[i].len > 0;
    }
    params_reset(&s->params);
    params_texts(&s->params, ids, starts ? count : 0);
    PGresult *r =
        starts ? link_run(&s->writer, ST_PG_IDS_THERE, &s->params, "look for ids", &status, NULL)
               : NULL;
    int found = r ? pq.ntuples(r) : 0;
    for (int i = 0; i < found; i++) {
        pawl_round *there = &rounds[value_id(r, i, 0) - 1];
        there->result = PAWL_CONFLICT;
        there->why = PAWL_WHY_EXISTS;
    }
    pq.clear(r);
    free(ids);
    return found > 0;
}

/* By the statement that refused it. */
static pawl_why why_refused(const struct pg_store *s, const pawl_round *r, size_t failed)
{
    switch (link_sent(&s->writer, failed)) {
    case ST_PG_INSTANCE_INSERT:
    case ST_PG_HEAD_INSERT:
        return PAWL_WHY_EXISTS;
    case ST_PG_WORK_NEED:
    case ST_PG_OPEN_NEED:
        return PAWL_WHY_WORK_GONE;
    case ST_PG_HEAD_LAST: /* work that is a number in the head is looked for with it */
    case ST_PG_HEAD_ALL:
        return r->need_work_count ? PAWL_WHY_UNKNOWN : PAWL_WHY_MOVED;
    case ST_PG_HEAD_CHECK:
    case ST_PG_REMOVE: /* also of an instance that is elsewhere */
        return s->fence.shards != PAWL_SHARDS_ALL ? PAWL_WHY_UNKNOWN : PAWL_WHY_MOVED;
    case ST_PG_EXECUTION_END:
        return PAWL_WHY_MOVED;
    default:
        return PAWL_WHY_OTHER;
    }
}

static void send_singly(struct pg_store *s, const pawl_round *r)
{
    (void)link_send(&s->writer, ST_PG_SAVEPOINT, NULL);
    if (r->uid && r->change == PAWL_ROW_LAST) { /* an output stays where its event is not last */
        params_reset(&s->params);
        params_id(&s->params, r->uid);
        (void)link_send(&s->writer, ST_PG_OUTPUT_KEEP, &s->params);
    }
    if (group_send(s->group, s))
        (void)pg_send_queues(s, r, 1);
    (void)link_send(&s->writer, ST_PG_RELEASE, NULL);
}

/* One round inside the transaction; OK also when it is refused. */
static pawl_status apply_singly(struct pg_store *s, pawl_round *r, struct open_plan *plan,
                                pawl_error *reterr)
{
    struct link_report report;

    r->result = PAWL_CONFLICT;
    r->why = round_is_elsewhere(s, r) ? PAWL_WHY_ELSEWHERE : PAWL_WHY_OTHER;
    if (round_is_hopeless(s, r))
        return PAWL_OK;
    group_reset(s->group);
    *plan = group_add(s->group, s, r);
    pawl_status status = pg_commit_pipe(s, reterr);
    if (status != PAWL_OK)
        return status;
    send_singly(s, r);
    link_reap(&s->writer, pg_see_result, s, &report);
    if (report.end == LINK_DONE) {
        r->result = PAWL_OK;
        open_work_apply(&s->open, r, *plan); /* for the next round; undone at the end */
        return PAWL_OK;
    }
    if (!is_refusal(&report))
        return link_error(&report, "write a round", reterr);
    r->why = why_refused(s, r, report.failed);
    return link_do(&s->writer, "ROLLBACK TO SAVEPOINT round; RELEASE SAVEPOINT round",
                   "undo a round", reterr);
}

/* Each round in a savepoint, so that a refused one leaves the others (C2). */
static pawl_status commit_singly(struct pg_store *s, const pawl_fence *fence, pawl_round *rounds,
                                 size_t count, pawl_error *reterr)
{
    pawl_status status = pg_commit_begin(s, fence, reterr);

    if (status != PAWL_OK)
        return status;
    vec_reset(&s->group->labels);
    s->group->work_shards = 0;
    s->group->removes_late = false;
    s->group->new_from = UINT64_MAX; /* earlier rounds of this group count */
    open_work_try(&s->open);
    for (size_t i = 0; i < count && status == PAWL_OK; i++)
        status = apply_singly(s, &rounds[i], &s->group->plans.items[i], reterr);
    open_work_undo(&s->open);
    if (status == PAWL_OK)
        status = pg_commit_pipe(s, reterr);
    if (status != PAWL_OK) {
        pg_roll_back(s);
        return status;
    }
    status = pg_commit_end(s, fence, NULL, NULL, reterr);
    return status == PAWL_CONFLICT ? PAWL_UNAVAILABLE : status;
}

pawl_status pg_commit(pawl_store *base, pawl_fence *fence, pawl_round *rounds, size_t count,
                      int64_t now_ms, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    pawl_status status = pg_attach(s, reterr);

    s->now_ms = now_ms;
    s->writing = PG_ROUNDS;
    if (status != PAWL_OK)
        return status;
    if (!pg_make_room(s, rounds, count)) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return PAWL_NO_MEMORY;
    }
    status = PAWL_CONFLICT;
    for (size_t i = 0; i < count; i++)
        rounds[i].result = PAWL_OK;
    bool mixed = rounds_are_independent(s->group, s, rounds, count);
    if (mixed)
        status = commit_together(s, fence, rounds, count, reterr);
    if (mixed && status == PAWL_CONFLICT && refuse_existing(s, rounds, count))
        status = commit_together(s, fence, rounds, count, reterr);
    if (status == PAWL_CONFLICT)
        status = commit_singly(s, fence, rounds, count, reterr);
    if (status != PAWL_OK)
        return status;
    pg_fence_moved(s, fence);
    pg_remember(s, rounds, count, now_ms);
    fence->mail = s->fence.mail;
    return PAWL_OK;
}
