/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_due.c -- times by shard: deadlines, the next due time, and what is known of them.
 *
 * The indexes by time have the shard first, so a lane never reads past rows of other lanes.  That
 * is one search per shard (5 µs of the server for each in next_due, on PostgreSQL 15), so memory
 * keeps a bound for each, and few are asked for.  An update of a message names its row and not the
 * shard: then all of ours may have that time.
 *
 * Called on the engine thread, through the table of operations; pg_messages_lower and
 * pg_work_appears after a commit, pg_times_forget when shards come.
 */
#include "base/attr.h"
#include "store/postgres/postgres.h"
#include "store/sql/columns.h"

#define NEXT_ASKED 4 /* shards that come first, of those that memory knows */

/* For each of our shards that is in `which`; `n` is its number. */
#define EACH_SHARD(s, which, n)                                                                    \
    for (uint64_t left_ = (which) & (s)->fence.shards;                                             \
         left_ && ((n) = (uint32_t)__builtin_ctzll(left_), true); left_ &= left_ - 1)

static uint64_t those(uint32_t shard)
{
    return shard == PG_SOME_SHARD ? PAWL_SHARDS_ALL : UINT64_C(1) << shard;
}

static int64_t after(int64_t ms)
{
    return ms == INT64_MAX ? ms : ms + 1;
}

void pg_times_forget(struct pg_store *s, uint64_t shards)
{
    for (uint32_t n = 0; n < PAWL_SHARDS; n++)
        if (shards >> n & 1)
            s->times[n] = (struct pg_times){.seen_ms = INT64_MIN,
                                            .mail_ms = INT64_MIN,
                                            .deadline_ms = INT64_MIN,
                                            .work_ms = INT64_MIN,
                                            .asked_ms = INT64_MIN};
}

/* The next fetch reads these shards from the front; what is taken is left out (pg_fetch.c). */
void pg_hint(pawl_store *base, uint64_t shards)
{
    struct pg_store *s = pg_of(base);
    uint32_t n;

    EACH_SHARD(s, shards, n)
    {
        s->times[n].seen_ms = s->times[n].mail_ms = INT64_MIN;
        s->times[n].seen_id = 0;
        s->hinted = true;
    }
}

static bool is_behind(const struct pg_times *t, int64_t ms, uint64_t id)
{
    return ms < t->seen_ms || (ms == t->seen_ms && id <= t->seen_id);
}

void pg_messages_lower(struct pg_store *s, uint32_t shard, int64_t visible_ms, uint64_t id)
{
    uint32_t n;

    EACH_SHARD(s, those(shard), n)
    {
        bool behind = is_behind(&s->times[n], visible_ms, id);
        if (behind)
            need_memory(idset_add(&s->free_messages, id)); /* or it would wait until a restart */
        if (visible_ms < s->times[n].mail_ms && (!behind || visible_ms > s->now_ms))
            s->times[n].mail_ms = visible_ms;
    }
}

void pg_work_appears(struct pg_store *s, uint64_t shards, int64_t visible_ms, int64_t deadline_ms)
{
    uint32_t n;

    if (visible_ms <= 0 && deadline_ms <= 0)
        return;
    EACH_SHARD(s, shards, n)
    {
        struct pg_times *t = &s->times[n];
        if (deadline_ms > 0 && deadline_ms < t->deadline_ms)
            t->deadline_ms = deadline_ms;
        if (visible_ms > 0 && visible_ms < t->work_ms)
            t->work_ms = visible_ms;
    }
}

/* ---- Deadlines ---------------------------------------------------------------------------- */

/* Of shards without a row nothing is due; of the others the first row says it. */
static void note_deadlines(struct pg_store *s, uint64_t asked, const PGresult *r, uint32_t limit,
                           int64_t now_ms)
{
    bool whole = (uint32_t)pq.ntuples(r) < limit;
    uint32_t n;

    EACH_SHARD(s, whole ? asked : 0, n)
    {
        s->times[n].deadline_ms = after(now_ms);
    }
    for (int i = pq.ntuples(r) - 1; i >= 0; i--) /* the first of a shard is the last noted */
        s->times[value_i64(r, i, PG_WORK_SHARD)].deadline_ms = value_i64(r, i, WORK_deadline_ms);
}

pawl_status pg_fetch_deadlines(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                               pawl_work_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    LIST(pawl_work) items = {0};
    uint64_t asked = 0;
    uint32_t n;

    *ret = (pawl_work_list){0};
    pawl_status status = pg_attach(s, reterr);
    EACH_SHARD(s, PAWL_SHARDS_ALL, n)
    {
        asked |= (uint64_t)(s->times[n].deadline_ms <= now_ms) << n;
    }
    if (status != PAWL_OK || !asked || !limit)
        return status;
    params_reset(&s->params);
    params_i64(&s->params, now_ms);
    params_i64(&s->params, limit);
    params_shards(&s->params, asked);
    PGresult *r =
        link_run(&s->writer, ST_PG_DEADLINES, &s->params, "read deadlines", &status, reterr);
    if (!r)
        return status;
    for (int i = 0; i < pq.ntuples(r); i++) {
        if (pg_decode_work(r, i, mem, list_room(mem, &items)) == SQL_SOUND)
            items.count++;
        else
            damage_note(&s->sql.base, "work", value_id(r, i, WORK_id));
    }
    note_deadlines(s, asked, r, limit, now_ms);
    pq.clear(r);
    *ret = (pawl_work_list){.items = items.items, .count = items.count};
    return PAWL_OK;
}

/* ---- The next due time ----------------------------------------------------------------------- */

/* Nothing comes in this shard before this time, as far as memory knows; INT64_MAX: nothing at all. */
static int64_t least_of(const struct pg_times *t, int64_t after_ms)
{
    int64_t least = after_ms < t->asked_ms ? INT64_MIN : t->work_ms;

    least = t->mail_ms < least ? t->mail_ms : least;
    return t->deadline_ms < least ? t->deadline_ms : least;
}

static int64_t time_at(const PGresult *r, int row, int column, int64_t *least)
{
    int64_t ms = value_is_null(r, row, column) ? INT64_MAX : value_i64(r, row, column);

    if (ms < *least)
        *least = ms;
    return ms;
}

/* Note the times before which no query is needed. */
static void note_due(struct pg_store *s, const PGresult *r, int row, int64_t after_ms,
                     int64_t *least)
{
    struct pg_times *t = &s->times[value_i64(r, row, 0)];
    int64_t mail_ms = time_at(r, row, 1, least), deadline_ms = time_at(r, row, 2, least);

    if (t->mail_ms > after_ms)
        t->mail_ms = mail_ms;
    if (t->deadline_ms > after_ms)
        t->deadline_ms = deadline_ms;
    t->work_ms = time_at(r, row, 3, least);
    t->asked_ms = after_ms;
}

/* Ask about these shards, in one round trip; *least gets lower. */
static pawl_status ask_due(struct pg_store *s, uint64_t shards, int64_t after_ms, int64_t *least,
                           pawl_error *reterr)
{
    pawl_status status;

    if (!shards)
        return PAWL_OK;
    params_reset(&s->params);
    params_i64(&s->params, after_ms);
    params_shards(&s->params, shards);
    PGresult *r =
        link_run(&s->writer, ST_PG_NEXT_DUE, &s->params, "find the next due time", &status, reterr);
    for (int i = 0; r && i < pq.ntuples(r); i++)
        note_due(s, r, i, after_ms, least);
    pq.clear(r);
    return status;
}

/* Those of our shards, but for `not_these`, in which something may come before `until_ms`. */
static uint64_t coming(const struct pg_store *s, uint64_t not_these, int64_t after_ms,
                       int64_t until_ms)
{
    uint64_t ret = 0;
    uint32_t n;

    EACH_SHARD(s, ~not_these, n)
    {
        ret |= (uint64_t)(least_of(&s->times[n], after_ms) < until_ms) << n;
    }
    return ret;
}

/* The first of these shards, by what memory knows: at most NEXT_ASKED. */
static uint64_t first_of(const struct pg_store *s, uint64_t shards, int64_t after_ms)
{
    uint64_t ret = 0;
    uint32_t n;

    for (int i = 0; i < NEXT_ASKED && (shards & ~ret); i++) {
        uint32_t best = PAWL_SHARDS;
        EACH_SHARD(s, shards & ~ret, n)
        {
            if (best == PAWL_SHARDS ||
                least_of(&s->times[n], after_ms) < least_of(&s->times[best], after_ms))
                best = n;
        }
        ret |= UINT64_C(1) << best;
    }
    return ret;
}

/* A time that memory has may be that of a row that is gone.  So the server is asked about the shards
 * of which memory knows nothing, and about those that come first; and then about others that may
 * come before what it said, which are few. */
pawl_status pg_next_due(pawl_store *base, int64_t after_ms, int64_t *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    int64_t least = INT64_MAX;

    pawl_status status = pg_attach(s, reterr);
    if (status == PAWL_OK)
        status = pg_queues_learn(s, reterr);
    if (status != PAWL_OK)
        return status;
    uint64_t asked = coming(s, 0, after_ms, after(after(after_ms)));
    asked |= first_of(s, coming(s, asked, after_ms, INT64_MAX), after_ms);
    status = ask_due(s, asked, after_ms, &least, reterr);
    if (status == PAWL_OK)
        status = ask_due(s, coming(s, asked, after_ms, least), after_ms, &least, reterr);
    if (status != PAWL_OK)
        return status;
    *ret = pg_queues_next(s, after_ms);
    *ret = least < *ret ? least : *ret;
    return PAWL_OK;
}
