/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_fetch.c -- taking messages.
 *
 * The index message_due has the messages that are not in a mailbox, by (shard, visible_ms, id).
 * Fetching walks along it from a cursor in each shard: every row of a shard up to (seen_ms, seen_id)
 * is taken, gone, or in `free_messages`.  A row before the cursor that becomes free (an abandon, an
 * update) is put into that set, so the cursor never goes back and no row crosses the network twice.
 * The set may have ids that are not free: the statement that reads them checks their rows.
 *
 * Other lanes may insert behind a cursor: a hint sets it to the front, and the server leaves out what
 * is taken.
 *
 * A fetch gives the oldest messages of all our shards, so it merges them: one round trip reads some
 * rows of each shard that may have any, and another one follows when those of a shard are used up
 * before the page is full.  `mail_ms` of a shard saves both.
 *
 * Called on the engine thread, through the table of operations; pg_fetch_reset by pg_take.c.
 */
#include "base/attr.h"
#include "store/postgres/postgres.h"
#include "store/sql/columns.h"

#define MORE_OF_EACH 16 /* rows of a shard beyond its part of a page */

/* One shard of a fetch in progress. */
struct mail_shard {
    LIST(pawl_message) rows; /* in front of the cursor */
    size_t used;
    uint32_t came; /* with the page under way */
    int64_t at_ms; /* how far the pages have come */
    uint64_t at_id;
    uint32_t shard;
    bool ended; /* there is nothing more in front */
};

/* A fetch in progress. */
struct mail_fetch {
    struct pg_store *s;
    pawl_mem *mem;
    int64_t now_ms;
    uint32_t limit;
    struct mail_shard *shards; /* those that may have messages */
    size_t count;
    LIST(pawl_message) back; /* from free_messages */
    size_t back_used;
    uint32_t chunk;            /* rows of one shard in one page */
    size_t asked[PAWL_SHARDS]; /* which of `shards` a page is for */
    size_t asked_count;
    struct mail_shard *of[PAWL_SHARDS]; /* by their number */
    bool asked_back;                    /* the first statement was for free_messages … */
    bool back_ended;                    /* … and it has no more that are visible */
    LIST(uint64_t) unreadable;
};

bool pg_fetch_init(struct pg_store *s)
{
    idset_init(&s->messages);
    idset_init(&s->free_messages);
    idset_init(&s->queue_seen);
    idset_init(&s->queue_lone);
    queue_times_init(&s->queue_times);
    pg_times_forget(s, PAWL_SHARDS_ALL);
    return pg_work_init(s);
}

void pg_fetch_deinit(struct pg_store *s)
{
    pg_work_deinit(s);
    queue_times_deinit(&s->queue_times);
    idset_deinit(&s->queue_lone);
    idset_deinit(&s->queue_seen);
    idset_deinit(&s->free_messages);
    idset_deinit(&s->messages);
    for (int i = 0; i < PG_SCRATCH; i++)
        array_deinit(&s->scratch[i]);
}

void pg_fetch_reset(struct pg_store *s)
{
    idset_reset(&s->messages);
    idset_reset(&s->free_messages);
    pg_times_forget(s, PAWL_SHARDS_ALL);
    s->hinted = false;
    queue_times_reset(&s->queue_times);
    pg_work_reset(s);
}

/* The next fetch reads them by their ids. */
void pg_abandon_messages(pawl_store *base, const uint64_t *ids, size_t count)
{
    struct pg_store *s = pg_of(base);

    for (size_t i = 0; i < count; i++) {
        if (!ids[i])
            continue;
        idset_remove(&s->messages, ids[i]);
        need_memory(idset_add(&s->free_messages, ids[i]));
    }
}

static int64_t after(int64_t ms)
{
    return ms == INT64_MAX ? ms : ms + 1;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Those of our shards in which a message may be visible. */
static void choose_shards(struct mail_fetch *f)
{
    const struct pg_store *s = f->s;

    f->shards = arena_array(f->mem, struct mail_shard, PAWL_SHARDS);
    for (uint32_t n = 0; n < PAWL_SHARDS; n++) {
        const struct pg_times *t = &s->times[n];
        if (!pg_owns(s, n) || f->now_ms < t->mail_ms || f->now_ms < t->seen_ms)
            continue;
        f->of[n] = &f->shards[f->count++];
        *f->of[n] = (struct mail_shard){.shard = n, .at_ms = t->seen_ms, .at_id = t->seen_id};
    }
    f->chunk = f->count > 1 ? f->limit / (uint32_t)f->count + MORE_OF_EACH : f->limit;
}

/* Its rows are used up, and there may be more. */
static bool is_dry(const struct mail_shard *m)
{
    return !m->ended && m->used == m->rows.count;
}

static void see_message(struct mail_fetch *f, struct mail_shard *m, const PGresult *r, int row)
{
    uint64_t id = value_id(r, row, MESSAGE_id);
    pawl_message message;

    if (idset_has(&f->s->messages, id))
        return;
    if (pg_decode_message(r, row, f->mem, &message) != SQL_SOUND) {
        damage_note(&f->s->sql.base, "message", id);
        *list_add(f->mem, &f->unreadable) = id;
    } else if (!m) {
        *list_add(f->mem, &f->back) = message;
    } else if (!idset_has(&f->s->free_messages, id)) {
        *list_add(f->mem, &m->rows) = message;
    }
}

/* Those of each shard come in their order. */
static void see_page(struct mail_fetch *f, const PGresult *r)
{
    for (size_t i = 0; i < f->asked_count; i++)
        f->shards[f->asked[i]].came = 0;
    for (int row = 0; row < pq.ntuples(r); row++) {
        struct mail_shard *m = f->of[value_i64(r, row, PG_MESSAGE_SHARD)];
        see_message(f, m, r, row);
        m->at_ms = value_i64(r, row, MESSAGE_visible_ms);
        m->at_id = value_id(r, row, MESSAGE_id);
        m->came++;
    }
    for (size_t i = 0; i < f->asked_count; i++) {
        struct mail_shard *m = &f->shards[f->asked[i]];
        m->ended = m->came < f->chunk;
    }
}

static void on_mail(void *user, size_t index, const PGresult *r)
{
    struct mail_fetch *f = user;

    if (!f->asked_back || index) {
        see_page(f, r);
        return;
    }
    for (int i = 0; i < pq.ntuples(r); i++)
        see_message(f, NULL, r, i);
    f->back_ended = (uint32_t)pq.ntuples(r) < f->limit;
}

static void ask_back(struct mail_fetch *f)
{
    struct pg_store *s = f->s;
    uint64_t *ids = arena_array(f->mem, uint64_t, s->free_messages.count);

    idset_list(&s->free_messages, ids);
    params_reset(&s->params);
    params_ids(&s->params, ids, s->free_messages.count);
    params_i64(&s->params, f->now_ms);
    params_i64(&s->params, f->limit);
    params_id(&s->params, s->fence.shards);
    (void)link_send(&s->writer, ST_PG_MAIL_BY_IDS, &s->params); /* link_reap tells */
}

/* After a hint the server leaves out what is taken: there may be much of it in front. */
static void put_taken(struct mail_fetch *f)
{
    struct pg_store *s = f->s;
    size_t count = s->hinted ? s->messages.count : 0;
    uint64_t *ids = arena_array(f->mem, uint64_t, count + 1);

    if (count)
        idset_list(&s->messages, ids);
    params_ids(&s->params, ids, count);
}

static void ask_page(struct mail_fetch *f)
{
    static const enum pg_type types[] = {PG_INT2, PG_INT8, PG_INT8};
    struct pg_store *s = f->s;
    struct pg_array *column = s->scratch;

    for (int i = 0; i < 3; i++) {
        array_reset(&column[i]);
        column[i].type = types[i];
    }
    for (size_t i = 0; i < f->asked_count; i++) {
        const struct mail_shard *m = &f->shards[f->asked[i]];
        array_i64(&column[0], m->shard);
        array_i64(&column[1], m->at_ms);
        array_id(&column[2], m->at_id);
    }
    params_reset(&s->params);
    for (int i = 0; i < 3; i++)
        params_array(&s->params, &column[i]);
    params_i64(&s->params, f->now_ms);
    params_i64(&s->params, f->chunk);
    put_taken(f);
    (void)link_send(&s->writer, ST_PG_MAIL_PAGE, &s->params); /* link_reap tells */
}

/* One round trip: more of every shard that has no rows left; then most are in few of them. */
static pawl_status look_once(struct mail_fetch *f, bool first, pawl_error *reterr)
{
    struct link_report report;

    f->asked_back = first && f->s->free_messages.count > 0;
    f->asked_count = 0;
    if (!first)
        f->chunk = f->chunk < f->limit / 2 ? f->chunk * 2 : f->limit;
    for (size_t i = 0; i < f->count; i++)
        if (is_dry(&f->shards[i]))
            f->asked[f->asked_count++] = i;
    if (link_pipe(&f->s->writer)) {
        if (f->asked_back)
            ask_back(f);
        if (f->asked_count)
            ask_page(f);
    }
    link_reap(&f->s->writer, on_mail, f, &report);
    return report.end == LINK_DONE ? PAWL_OK : link_error(&report, "fetch messages", reterr);
}

/* Move rows that cannot be read into the quarantine, or every start would find them again (M5). */
static pawl_status put_aside(struct mail_fetch *f, pawl_error *reterr)
{
    struct pg_store *s = f->s;
    pawl_status status;

    if (!f->unreadable.count)
        return PAWL_OK;
    params_reset(&s->params);
    params_ids(&s->params, f->unreadable.items, f->unreadable.count);
    params_id(&s->params, s->lane);
    params_id(&s->params, s->fence.epoch);
    params_str(&s->params, pawl_s("the stored row cannot be read"));
    PGresult *r = link_run(&s->writer, ST_PG_MAIL_ASIDE, &s->params,
                           "put unreadable messages aside", &status, reterr);
    if (!r)
        return status;
    pq.clear(r);
    return PAWL_OK;
}

/* ---- Taking -------------------------------------------------------------------------------- */

static bool comes_before(const pawl_message *a, const pawl_message *b)
{
    return a->visible_ms != b->visible_ms ? a->visible_ms < b->visible_ms : a->id < b->id;
}

/* The oldest row that was read and not used; NULL: none, or rows of a shard must be read first. */
static const pawl_message *next_mail(struct mail_fetch *f, bool *retdry)
{
    const pawl_message *best = NULL;
    size_t *from = NULL;

    *retdry = false;
    for (size_t i = 0; i < f->count && !*retdry; i++) {
        struct mail_shard *m = &f->shards[i];
        *retdry = is_dry(m);
        if (m->used == m->rows.count || (best && comes_before(best, &m->rows.items[m->used])))
            continue;
        best = &m->rows.items[m->used];
        from = &m->used;
    }
    if (*retdry)
        return NULL;
    if (f->back_used < f->back.count &&
        (!best || comes_before(&f->back.items[f->back_used], best))) {
        best = &f->back.items[f->back_used];
        from = &f->back_used;
    }
    if (best)
        ++*from;
    return best;
}

/* Move the cursor of a shard behind the rows that were taken; to this moment when none is left
 * after it. */
static void move_cursor(struct mail_fetch *f, const struct mail_shard *m)
{
    struct pg_times *t = &f->s->times[m->shard];

    if (m->used < m->rows.count) {
        if (m->used) {
            t->seen_ms = m->rows.items[m->used - 1].visible_ms;
            t->seen_id = m->rows.items[m->used - 1].id;
        }
        return;
    }
    bool passed = m->ended && f->now_ms > m->at_ms;
    t->seen_ms = passed ? f->now_ms : m->at_ms;
    t->seen_id = passed ? INT64_MAX : m->at_id;
    if (m->ended && t->mail_ms <= f->now_ms)
        t->mail_ms = after(f->now_ms);
}

/* The rest of free_messages is gone, in a mailbox, or becomes visible after the cursors: forget it.
 * Nothing is forgotten while a cursor stands in the future, where the clock was before. */
static void forget_back(struct mail_fetch *f)
{
    struct pg_store *s = f->s;

    for (uint32_t n = 0; n < PAWL_SHARDS; n++)
        if (pg_owns(s, n) && s->times[n].seen_ms > f->now_ms)
            return;
    for (uint32_t n = 0; n < PAWL_SHARDS && s->free_messages.count; n++)
        if (s->times[n].mail_ms > after(f->now_ms))
            s->times[n].mail_ms = after(f->now_ms);
    idset_reset(&s->free_messages);
}

/* They are taken from now on; room was made. */
static void take_mail(struct mail_fetch *f, const pawl_message_list *list)
{
    struct pg_store *s = f->s;

    for (size_t i = 0; i < list->count; i++) {
        idset_remove(&s->free_messages, list->items[i].id);
        assert_that(idset_add(&s->messages, list->items[i].id));
    }
    for (size_t i = 0; i < f->count; i++)
        move_cursor(f, &f->shards[i]);
    if (f->back_ended && f->back_used == f->back.count)
        forget_back(f);
    bool front = false;
    for (uint32_t n = 0; n < PAWL_SHARDS; n++)
        front |= pg_owns(s, n) && s->times[n].seen_ms == INT64_MIN;
    s->hinted = s->hinted && front;
}

/* Read and merge until the page is full or nothing is left. */
static pawl_status gather(struct mail_fetch *f, pawl_message_list *ret, pawl_error *reterr)
{
    LIST(pawl_message) items = {0};
    pawl_status status = look_once(f, true, reterr);
    bool dry = false;

    while (status == PAWL_OK && items.count < f->limit && !f->unreadable.count) {
        const pawl_message *m = next_mail(f, &dry);
        if (m)
            *list_add(f->mem, &items) = *m;
        else if (dry)
            status = look_once(f, false, reterr);
        else
            break;
    }
    *ret = (pawl_message_list){.items = items.items, .count = items.count};
    return status;
}

pawl_status pg_fetch_messages(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_message_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct mail_fetch f = {.s = s, .mem = mem, .now_ms = now_ms, .limit = limit};
    pawl_message_list list;

    *ret = (pawl_message_list){0};
    pawl_status status = pg_attach(s, reterr);
    if (status != PAWL_OK || !limit)
        return status;
    choose_shards(&f);
    if (!f.count && !s->free_messages.count)
        return PAWL_OK;
    status = gather(&f, &list, reterr);
    if (status == PAWL_OK)
        status = put_aside(&f, reterr);
    if (status == PAWL_OK && f.unreadable.count)
        /* they are gone: look at the rows behind them (M2) */
        return pg_fetch_messages(base, now_ms, limit, mem, ret, reterr);
    if (status == PAWL_OK && !idset_reserve(&s->messages, list.count)) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        status = PAWL_NO_MEMORY;
    }
    if (status != PAWL_OK)
        return status;
    take_mail(&f, &list);
    *ret = list;
    return PAWL_OK;
}
