/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_fetch.c -- taking messages, deadlines, the next due time.
 *
 * The index message_due has the messages that are not in a mailbox, by (visible_ms, id).  Fetching
 * walks along it from a cursor: every row up to (seen_ms, seen_id) is taken, gone, or in
 * `free_messages`.  A row before the cursor that becomes free (an abandon, an update) is put into
 * that set, so the cursor never goes back and no row crosses the network twice.  The set may have
 * ids that are not free: the statement that reads them checks their rows.
 *
 * Two times save queries: no message after the cursor is visible before `mail_ms`, and no work has
 * a deadline before `deadline_ms`.  Both may be too early, never too late.
 *
 * Called on the engine thread, through the table of operations; pg_messages_lower and
 * pg_deadline_appears by pg_commit.c after a commit, pg_fetch_reset by pg_take.c.
 */
#include "base/attr.h"
#include "store/postgres/postgres.h"
#include "store/sql/columns.h"

/* A fetch in progress. */
struct mail_fetch {
    struct pg_store *s;
    pawl_mem *mem;
    int64_t now_ms;
    uint32_t limit;
    LIST(pawl_message) page; /* in front of the cursor */
    LIST(pawl_message) back; /* from free_messages */
    int64_t at_ms;           /* how far the pages have come */
    uint64_t at_id;
    bool ended;      /* there is nothing more in front */
    bool asked_back; /* the first statement was for free_messages … */
    bool back_ended; /* … and it has no more that are visible */
    LIST(uint64_t) unreadable;
};

bool pg_fetch_init(struct pg_store *s)
{
    idset_init(&s->messages);
    idset_init(&s->free_messages);
    idset_init(&s->queue_seen);
    idset_init(&s->queue_lone);
    queue_times_init(&s->queue_times);
    s->seen_ms = s->mail_ms = s->deadline_ms = INT64_MIN;
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
    s->seen_ms = s->mail_ms = s->deadline_ms = INT64_MIN;
    s->seen_id = 0;
    queue_times_reset(&s->queue_times);
    pg_work_reset(s);
}

static bool is_behind(const struct pg_store *s, int64_t ms, uint64_t id)
{
    return ms < s->seen_ms || (ms == s->seen_ms && id <= s->seen_id);
}

void pg_messages_lower(struct pg_store *s, int64_t visible_ms, uint64_t id)
{
    if (is_behind(s, visible_ms, id))
        need_memory(idset_add(&s->free_messages, id)); /* or it would wait until a restart */
    else if (visible_ms < s->mail_ms)
        s->mail_ms = visible_ms;
}

void pg_deadline_appears(struct pg_store *s, int64_t deadline_ms)
{
    if (deadline_ms > 0 && deadline_ms < s->deadline_ms)
        s->deadline_ms = deadline_ms;
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

/* ---- Messages ------------------------------------------------------------------------------ */

static void see_message(struct mail_fetch *f, const PGresult *r, int row, bool back)
{
    uint64_t id = value_id(r, row, MESSAGE_id);
    pawl_message m;

    if (idset_has(&f->s->messages, id))
        return;
    if (pg_decode_message(r, row, f->mem, &m) != SQL_SOUND) {
        damage_note(&f->s->sql.base, "message", id);
        *list_add(f->mem, &f->unreadable) = id;
    } else if (back) {
        *list_add(f->mem, &f->back) = m;
    } else if (!idset_has(&f->s->free_messages, id)) {
        *list_add(f->mem, &f->page) = m;
    }
}

static void on_mail(void *user, size_t index, const PGresult *r)
{
    struct mail_fetch *f = user;
    int rows = pq.ntuples(r);
    bool back = f->asked_back && index == 0;

    for (int i = 0; i < rows; i++)
        see_message(f, r, i, back);
    if (back) {
        f->back_ended = (uint32_t)rows < f->limit;
        return;
    }
    f->ended = (uint32_t)rows < f->limit;
    if (rows) {
        f->at_ms = value_i64(r, rows - 1, MESSAGE_visible_ms);
        f->at_id = value_id(r, rows - 1, MESSAGE_id);
    }
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
    (void)link_send(&s->writer, ST_PG_MAIL_BY_IDS, &s->params); /* link_reap tells */
}

static void ask_page(struct mail_fetch *f)
{
    struct pg_store *s = f->s;

    params_reset(&s->params);
    params_i64(&s->params, f->at_ms);
    params_id(&s->params, f->at_id);
    params_i64(&s->params, f->now_ms);
    params_i64(&s->params, f->limit);
    (void)link_send(&s->writer, ST_PG_MAIL_PAGE, &s->params); /* link_reap tells */
}

/* One round trip. */
static pawl_status look_once(struct mail_fetch *f, bool first, pawl_error *reterr)
{
    struct link_report report;

    f->asked_back = first && f->s->free_messages.count > 0;
    if (link_pipe(&f->s->writer)) {
        if (f->asked_back)
            ask_back(f);
        if (!f->ended)
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
    params_i64(&s->params, PG_LANE);
    params_id(&s->params, s->fence.epoch);
    params_str(&s->params, pawl_s("the stored row cannot be read"));
    PGresult *r = link_run(&s->writer, ST_PG_MAIL_ASIDE, &s->params,
                           "put unreadable messages aside", &status, reterr);
    if (!r)
        return status;
    pq.clear(r);
    return PAWL_OK;
}

static bool comes_before(const pawl_message *a, const pawl_message *b)
{
    return a->visible_ms != b->visible_ms ? a->visible_ms < b->visible_ms : a->id < b->id;
}

/* Move the cursor behind the rows that were taken; to this moment when none is left after it. */
static void move_cursor(struct mail_fetch *f, size_t taken)
{
    struct pg_store *s = f->s;

    if (taken < f->page.count) {
        if (taken) {
            s->seen_ms = f->page.items[taken - 1].visible_ms;
            s->seen_id = f->page.items[taken - 1].id;
        }
        return;
    }
    bool passed = f->ended && f->now_ms > f->at_ms;
    s->seen_ms = passed ? f->now_ms : f->at_ms;
    s->seen_id = passed ? INT64_MAX : f->at_id;
    if (f->ended && s->mail_ms <= f->now_ms)
        s->mail_ms = after(f->now_ms);
}

/* The rest of free_messages is gone, in a mailbox, or becomes visible after the cursor: forget it. */
static void forget_back(struct mail_fetch *f)
{
    if (f->s->free_messages.count && f->s->mail_ms > after(f->now_ms))
        f->s->mail_ms = after(f->now_ms);
    idset_reset(&f->s->free_messages);
}

/* Merge both lists in order, and mark the messages as taken. */
static void take_mail(struct mail_fetch *f, pawl_message_list *ret)
{
    size_t page = 0, back = 0, count = 0, most = f->page.count + f->back.count;
    pawl_message *items =
        arena_array(f->mem, pawl_message, (most < f->limit ? most : f->limit) + 1);

    while (count < f->limit && page + back < most) {
        bool from_back =
            page == f->page.count ||
            (back < f->back.count && comes_before(&f->back.items[back], &f->page.items[page]));
        items[count] = from_back ? f->back.items[back++] : f->page.items[page++];
        idset_remove(&f->s->free_messages, items[count].id);
        assert_that(idset_add(&f->s->messages, items[count++].id)); /* room was made */
    }
    move_cursor(f, page);
    if (f->back_ended && back == f->back.count && f->s->seen_ms <= f->now_ms)
        forget_back(f);
    *ret = (pawl_message_list){.items = items, .count = count};
}

pawl_status pg_fetch_messages(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                              pawl_message_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    struct mail_fetch f = {.s = s,
                           .mem = mem,
                           .now_ms = now_ms,
                           .limit = limit,
                           .at_ms = s->seen_ms,
                           .at_id = s->seen_id,
                           .ended = now_ms < s->mail_ms || now_ms < s->seen_ms};

    *ret = (pawl_message_list){0};
    pawl_status status = pg_attach(s, reterr);
    bool nothing = f.ended && !s->free_messages.count;
    if (status != PAWL_OK || nothing || !limit)
        return status;
    for (bool first = true; status == PAWL_OK; first = false) {
        status = look_once(&f, first, reterr);
        if (f.ended || f.page.count >= limit)
            break;
    }
    if (status == PAWL_OK)
        status = put_aside(&f, reterr);
    if (status == PAWL_OK &&
        f.unreadable.count) /* they are gone: look at the rows behind them (M2) */
        return pg_fetch_messages(base, now_ms, limit, mem, ret, reterr);
    if (status == PAWL_OK && !idset_reserve(&s->messages, f.page.count + f.back.count)) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        status = PAWL_NO_MEMORY;
    }
    if (status == PAWL_OK)
        take_mail(&f, ret);
    return status;
}

/* ---- Deadlines, the next due time ----------------------------------------------------------------- */

pawl_status pg_fetch_deadlines(pawl_store *base, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                               pawl_work_list *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    LIST(pawl_work) items = {0};

    *ret = (pawl_work_list){0};
    pawl_status status = pg_attach(s, reterr);
    if (status != PAWL_OK || now_ms < s->deadline_ms || !limit)
        return status;
    params_reset(&s->params);
    params_i64(&s->params, now_ms);
    params_i64(&s->params, limit);
    PGresult *r =
        link_run(&s->writer, ST_PG_DEADLINES, &s->params, "read deadlines", &status, reterr);
    if (!r)
        return status;
    int rows = pq.ntuples(r);
    for (int i = 0; i < rows; i++) {
        if (pg_decode_work(r, i, mem, list_room(mem, &items)) == SQL_SOUND)
            items.count++;
        else
            damage_note(&s->sql.base, "work", value_id(r, i, WORK_id));
    }
    if (rows)
        s->deadline_ms = value_i64(r, 0, WORK_deadline_ms);
    else
        s->deadline_ms = after(now_ms);
    pq.clear(r);
    *ret = (pawl_work_list){.items = items.items, .count = items.count};
    return PAWL_OK;
}

/* Note the times before which no query is needed. */
static void note_due(struct pg_store *s, int64_t after_ms, int64_t mail_ms, int64_t deadline_ms)
{
    if (s->mail_ms > after_ms)
        s->mail_ms = mail_ms;
    if (s->deadline_ms > after_ms)
        s->deadline_ms = deadline_ms;
}

pawl_status pg_next_due(pawl_store *base, int64_t after_ms, int64_t *ret, pawl_error *reterr)
{
    struct pg_store *s = pg_of(base);
    int64_t due[3];
    pawl_status status = pg_attach(s, reterr);

    if (status == PAWL_OK)
        status = pg_queues_learn(s, reterr);
    if (status != PAWL_OK)
        return status;
    params_reset(&s->params);
    params_i64(&s->params, after_ms);
    PGresult *r =
        link_run(&s->writer, ST_PG_NEXT_DUE, &s->params, "find the next due time", &status, reterr);
    if (!r)
        return status;
    *ret = pg_queues_next(s, after_ms);
    for (int i = 0; i < 3; i++) {
        due[i] = value_is_null(r, 0, i) ? INT64_MAX : value_i64(r, 0, i);
        if (due[i] < *ret)
            *ret = due[i];
    }
    pq.clear(r);
    note_due(s, after_ms, due[0], due[1]);
    return PAWL_OK;
}
