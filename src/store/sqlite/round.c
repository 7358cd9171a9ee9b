/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/round.c -- one round, statement by statement.
 *
 * The order puts everything that usually refuses a round first: the shape of
 * its events (no SQL), then the compare-and-set on the instance's head.  A round
 * refused there has written nothing and costs nothing to refuse.  One refused
 * later (a missing work row, an id that exists) has; commit.c then rolls the
 * group back and runs it again with a savepoint around each round.
 *
 * The plain step of an orchestration runs five statements: update head,
 * delete work, insert two events, insert work.  Its work rows are a number
 * each: see is_untried().
 */
#include "store/sqlite/sqlite.h"

/* Not an SQLite code: the round breaks clause C3. */
#define REFUSED (-1)

_Static_assert(ST_WORK_DELETE_RUN == ST_WORK_DELETE + 1 &&
                   ST_LOCAL_DELETE_RUN == ST_LOCAL_DELETE + 1 &&
                   ST_FRESH_DELETE_RUN == ST_FRESH_DELETE + 1,
               "delete_from() counts on it");

struct apply {
    struct sqlite_store *s;
    struct conn *c;
    const pawl_round *r;
    bool wrote;
};

static int change_instance(struct apply *a);
static int append_events(struct apply *a);
static int change_messages(struct apply *a);
static int change_work(struct apply *a);
static int delete_needed(struct apply *a);
static int remember_keys(struct apply *a);

/* The events continue the history, and the row agrees with the last of them. */
static bool is_sound(const pawl_round *r)
{
    if (r->event_count == 0)
        return true;
    if (r->uid == 0 || !r->row || r->change == PAWL_ROW_NONE || r->change == PAWL_ROW_REMOVE)
        return false;
    uint64_t execution = r->execution, seq = r->base_seq;
    for (size_t i = 0; i < r->event_count; i++) {
        const pawl_event *e = &r->events[i];
        if (e->execution == r->execution + 1 && execution == r->execution) {
            execution++;
            seq = 0;
        }
        if (e->execution != execution || e->seq != ++seq)
            return false;
    }
    const pawl_event *last = &r->events[r->event_count - 1];
    return r->row->execution == execution && r->row->last_seq == seq &&
           r->row->last_rid == last->rid &&
           (execution == r->execution || r->change != PAWL_ROW_LAST);
}

int round_apply(struct sqlite_store *s, pawl_round *round, bool *retwrote)
{
    struct apply a = {.s = s, .c = &s->writer, .r = round};
    int rc = is_sound(round) ? SQLITE_OK : REFUSED;

    if (rc == SQLITE_OK && round->uid != 0)
        rc = change_instance(&a);
    if (rc == SQLITE_OK && round->need_work_count)
        rc = delete_needed(&a);
    if (rc == SQLITE_OK && round->event_count)
        rc = append_events(&a);
    if (rc == SQLITE_OK)
        rc = change_messages(&a);
    if (rc == SQLITE_OK)
        rc = change_work(&a);
    if (rc == SQLITE_OK && round->key_count && round->uid != 0)
        rc = remember_keys(&a);
    if (rc == SQLITE_OK && round->queue)
        rc = queue_round_apply(a.c, round->queue, &a.wrote);
    *retwrote = a.wrote;
    bool refused = rc == REFUSED || (rc & 0xff) == SQLITE_CONSTRAINT;
    round->result = refused ? PAWL_CONFLICT : PAWL_OK;
    return refused ? SQLITE_OK : rc;
}

/* Run a write; what it did decides how a refusal is undone. */
static int run(struct apply *a, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);

    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    a->wrote = true;
    return SQLITE_OK;
}

/* As run(), REFUSED when no row matched. */
static int run_one(struct apply *a, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);

    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    if (sqlite3_changes(a->c->db) == 0)
        return REFUSED;
    a->wrote = true;
    return SQLITE_OK;
}

static int broken(struct apply *a)
{
    return sqlite3_extended_errcode(a->c->db);
}

/* Run a statement whose only parameter is an id, for each of them. */
static int run_ids(struct apply *a, enum statement which, const uint64_t *ids, size_t count)
{
    if (count == 0)
        return SQLITE_OK;
    sqlite3_stmt *stmt = conn_statement(a->c, which);
    if (!stmt)
        return broken(a);
    int rc = SQLITE_OK;
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        bind_id(stmt, 1, ids[i]);
        rc = run(a, stmt);
    }
    return rc;
}

/* ---- The instance row ------------------------------------------------------ */

/* Only that it is as the round believes. */
static int check_head(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_HEAD_CHECK);

    if (!stmt)
        return broken(a);
    bind_id(stmt, 1, a->r->uid);
    bind_id(stmt, 2, a->r->execution);
    bind_id(stmt, 3, a->r->base_seq);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? REFUSED : rc;
}

/* The compare-and-set every round of an instance goes through. */
static int update_head(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_HEAD_UPDATE);

    if (!stmt)
        return broken(a);
    bind_head(stmt, a->r->uid, a->r->row);
    bind_id(stmt, 6, a->r->execution);
    bind_id(stmt, 7, a->r->base_seq);
    return run_one(a, stmt);
}

static int update_row(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_ROW_UPDATE);

    if (!stmt)
        return broken(a);
    bind_row(stmt, a->r->row);
    bind_id(stmt, 1, a->r->uid);
    return run_one(a, stmt);
}

static int insert_row(struct apply *a)
{
    sqlite3_stmt *row = conn_statement(a->c, ST_ROW_INSERT);
    sqlite3_stmt *head = conn_statement(a->c, ST_HEAD_INSERT);

    if (!row || !head)
        return broken(a);
    if (a->r->base_seq != 0)
        return REFUSED;
    bind_row(row, a->r->row);
    bind_new_row(row, a->r->row);
    bind_id(row, 1, a->r->uid);
    int rc = run(a, row);
    if (rc != SQLITE_OK)
        return rc;
    bind_head(head, a->r->uid, a->r->row);
    return run(a, head);
}

/* The instance goes; a tomb remembers where its rows hang. */
static int remove_row(struct apply *a)
{
    sqlite3_stmt *tomb = conn_statement(a->c, ST_HEAD_TOMB);

    if (!tomb)
        return broken(a);
    bind_id(tomb, 1, a->r->uid);
    bind_id(tomb, 2, a->r->execution);
    bind_id(tomb, 3, a->r->base_seq);
    int rc = run_one(a, tomb);
    if (rc == SQLITE_OK)
        rc = run_ids(a, ST_ROW_REMOVE, &a->r->uid, 1);
    if (rc == SQLITE_OK)
        rc = run_ids(a, ST_HEAD_REMOVE, &a->r->uid, 1);
    return rc;
}

/* The last event of the execution that the round leaves behind; NULL: it has none. */
static const pawl_event *last_of_closed(const pawl_round *r)
{
    const pawl_event *last = NULL;

    for (size_t i = 0; i < r->event_count && r->events[i].execution == r->execution; i++)
        last = &r->events[i];
    return last;
}

/* Keep what find_execution needs of the execution that ends here (R2). */
static int close_execution(struct apply *a)
{
    const pawl_round *r = a->r;
    bool fresh = r->change == PAWL_ROW_INSERT;
    sqlite3_stmt *stmt = conn_statement(a->c, fresh ? ST_EXECUTION_INSERT : ST_EXECUTION_CLOSE);

    if (!stmt)
        return broken(a);
    const pawl_event *last = last_of_closed(r);
    uint64_t last_seq = last ? last->seq : r->base_seq, last_rid = last ? last->rid : r->base_rid;
    uint64_t first_rid = last && r->base_seq == 0 ? r->events[0].rid : 0;
    bind_id(stmt, 1, r->uid);
    bind_id(stmt, 2, r->execution);
    if (fresh) {
        bind_text(stmt, 3, r->row->orchestration);
        bind_text(stmt, 4, r->row->version);
        bind_id(stmt, 5, last_seq);
        bind_id(stmt, 6, last_rid);
        bind_id(stmt, 7, first_rid);
        (void)sqlite3_bind_int64(stmt, 8, r->row->created_ms);
        (void)sqlite3_bind_int64(stmt, 9, r->row->updated_ms);
        bind_bytes(stmt, 10, r->row->custom_status);
        return run(a, stmt);
    }
    bind_id(stmt, 3, r->base_seq);
    bind_text(stmt, 4, r->row->version);
    bind_id(stmt, 5, last_seq);
    bind_id(stmt, 6, last_rid);
    bind_id(stmt, 7, first_rid);
    (void)sqlite3_bind_int64(stmt, 8, r->row->updated_ms);
    return run_one(a, stmt);
}

static int change_instance(struct apply *a)
{
    const pawl_round *r = a->r;

    if (r->change == PAWL_ROW_NONE)
        return check_head(a);
    if (r->change == PAWL_ROW_REMOVE)
        return remove_row(a);
    if (r->change == PAWL_ROW_LAST)
        return update_head(a);
    bool closes = r->row->execution == r->execution + 1;
    int rc = SQLITE_OK;
    if (r->change == PAWL_ROW_INSERT) {
        rc = insert_row(a);
        return rc == SQLITE_OK && closes ? close_execution(a) : rc;
    }
    if (closes)
        rc = close_execution(a);
    if (rc == SQLITE_OK)
        rc = update_head(a);
    return rc == SQLITE_OK ? update_row(a) : rc;
}

/* ---- Events ---------------------------------------------------------------- */

static int insert_mark(struct apply *a, const pawl_event *e)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_MARK_INSERT);

    if (!stmt)
        return broken(a);
    bind_id(stmt, 1, a->r->uid);
    bind_id(stmt, 2, e->execution);
    bind_id(stmt, 3, e->seq);
    bind_id(stmt, 4, e->rid);
    return run(a, stmt);
}

static int append_events(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_EVENT_INSERT);
    uint64_t prev = a->r->base_rid;

    if (!stmt)
        return broken(a);
    bind_id(stmt, 2, a->r->uid);
    for (size_t i = 0; i < a->r->event_count; i++) {
        const pawl_event *e = &a->r->events[i];
        bind_id(stmt, 1, e->rid);
        bind_id(stmt, 3, e->execution);
        bind_id(stmt, 4, e->seq);
        bind_id(stmt, 5, e->seq == 1 ? 0 : prev);
        (void)sqlite3_bind_int(stmt, 6, e->kind);
        bind_id(stmt, 7, e->ref);
        bind_text(stmt, 8, e->name);
        bind_bytes(stmt, 9, e->data);
        bind_bytes(stmt, 10, e->attrs);
        (void)sqlite3_bind_int64(stmt, 11, e->at_ms);
        int rc = run(a, stmt);
        if (rc == SQLITE_OK && e->seq % MARK_EVERY == 0)
            rc = insert_mark(a, e);
        if (rc != SQLITE_OK)
            return rc;
        prev = e->rid;
    }
    return SQLITE_OK;
}

/* ---- Messages -------------------------------------------------------------- */

static int insert_messages(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_MESSAGE_INSERT);
    int rc = stmt ? SQLITE_OK : broken(a);

    for (size_t i = 0; i < a->r->message_count && rc == SQLITE_OK; i++) {
        bind_message(stmt, &a->r->messages[i]);
        rc = run(a, stmt);
    }
    return rc;
}

static int update_messages(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_MESSAGE_UPDATE);
    int rc = stmt ? SQLITE_OK : broken(a);

    for (size_t i = 0; i < a->r->message_update_count && rc == SQLITE_OK; i++) {
        const pawl_message_update *u = &a->r->message_updates[i];
        bind_id(stmt, 1, u->id);
        (void)sqlite3_bind_int64(stmt, 2, u->visible_ms);
        (void)sqlite3_bind_int64(stmt, 3, u->attempt);
        (void)sqlite3_bind_int(stmt, 4, u->mailbox);
        rc = run(a, stmt);
    }
    return rc;
}

static int quarantine_messages(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_QUARANTINE_INSERT);
    int rc = stmt ? SQLITE_OK : broken(a);

    for (size_t i = 0; i < a->r->quarantine_count && rc == SQLITE_OK; i++) {
        const pawl_quarantine *q = &a->r->quarantine[i];
        bind_id(stmt, 1, q->id);
        bind_text(stmt, 2, q->reason);
        rc = run(a, stmt);
        if (rc == SQLITE_OK)
            rc = run_ids(a, ST_MESSAGE_DELETE, &q->id, 1);
    }
    return rc;
}

static int change_messages(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = r->message_count ? insert_messages(a) : SQLITE_OK;

    if (rc == SQLITE_OK && r->message_update_count)
        rc = update_messages(a);
    if (rc == SQLITE_OK && r->quarantine_count)
        rc = quarantine_messages(a);
    if (rc == SQLITE_OK)
        rc = run_ids(a, ST_MESSAGE_DELETE, r->drop_messages, r->drop_message_count);
    return rc;
}

/* ---- Work ------------------------------------------------------------------ */

/* Delete ids first..last from one of the three tables; how many in *retgone. */
static int delete_from(struct apply *a, enum statement which, uint64_t first, uint64_t last,
                       uint64_t *retgone)
{
    bool run_of = first != last;
    /* Each _RUN statement comes right behind the one for a single id. */
    sqlite3_stmt *stmt = conn_statement(a->c, run_of ? which + 1 : which);

    if (!stmt)
        return broken(a);
    bind_id(stmt, 1, first);
    if (run_of)
        bind_id(stmt, 2, last);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    if (rc != SQLITE_DONE)
        return rc;
    uint64_t gone = (uint64_t)sqlite3_changes(a->c->db);
    a->wrote |= gone != 0;
    *retgone += gone;
    return SQLITE_OK;
}

/* Most work is local; what was fetched is not. */
static int delete_work(struct apply *a, uint64_t first, uint64_t last, uint64_t *retgone)
{
    static const enum statement kept[] = {ST_LOCAL_DELETE, ST_FRESH_DELETE, ST_WORK_DELETE};
    static const enum statement fetched[] = {ST_FRESH_DELETE, ST_WORK_DELETE, ST_LOCAL_DELETE};
    bool was_fetched = a->s->work.count && taken_has(&a->s->work, first);
    int rc = SQLITE_OK;

    *retgone = 0;
    for (int i = 0; i < 3 && rc == SQLITE_OK && *retgone <= last - first; i++)
        rc = delete_from(a, was_fetched ? fetched[i] : kept[i], first, last, retgone);
    return rc;
}

/* The end of the run of ids that starts at `at`: each one more than the last. */
static size_t run_end(const uint64_t *ids, size_t at, size_t count)
{
    while (at + 1 < count && ids[at + 1] == ids[at] + 1)
        at++;
    return at + 1;
}

static int delete_needed(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = SQLITE_OK;

    for (size_t i = 0, end; i < r->need_work_count && rc == SQLITE_OK; i = end) {
        uint64_t gone;
        end = run_end(r->need_work, i, r->need_work_count);
        rc = delete_work(a, r->need_work[i], r->need_work[end - 1], &gone);
        if (rc == SQLITE_OK && gone != end - i)
            rc = REFUSED;
    }
    return rc;
}

static bool same(pawl_str a, pawl_str b)
{
    return a.len == b.len && (a.ptr == b.ptr || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* True when a work row says nothing but what its event says. */
static bool is_untried(const struct apply *a, const pawl_work *w, const pawl_event *e)
{
    return w->attempt == 0 && w->crashes == 0 && w->visible_ms == 0 && w->deadline_ms == 0 &&
           w->last_error.len == 0 && w->lock_token.len == 0 && w->uid == a->r->uid &&
           w->execution == e->execution && w->ref == e->ref && w->scheduled_ms == e->at_ms &&
           same(w->name, e->name) && same(w->input, e->data) && same(w->attrs, e->attrs) &&
           same(w->instance, a->r->row->id);
}

static int insert_untried(struct apply *a, const pawl_work *w)
{
    bool local = w->lock_epoch == a->s->fence.epoch;
    sqlite3_stmt *stmt = conn_statement(a->c, local ? ST_LOCAL_INSERT : ST_FRESH_INSERT);

    if (!stmt)
        return broken(a);
    bind_id(stmt, 1, w->id);
    if (!local)
        bind_text(stmt, 2, w->name);
    bind_id(stmt, local ? 2 : 3, w->lock_epoch);
    return run(a, stmt);
}

/* REFUSED when one of the other tables has the id.  Only for work without an
 * event in this round: where the event's rid is new, its work is. */
static int check_no_untried(struct apply *a, uint64_t id)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_UNTRIED_CHECK);

    if (!stmt)
        return broken(a);
    bind_id(stmt, 1, id);
    int rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc == SQLITE_ROW ? REFUSED : rc;
}

static enum place place_of(const struct apply *a, uint64_t lock_epoch, int64_t free_ms)
{
    if (lock_epoch == a->s->fence.epoch)
        return PLACE_HELD;
    return free_ms > 0 ? PLACE_DELAYED : PLACE_READY;
}

/* Work and events both come in the order of their ids. */
static int insert_work(struct apply *a)
{
    const pawl_round *r = a->r;
    size_t at = 0;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < r->work_count && rc == SQLITE_OK; i++) {
        const pawl_work *w = &r->work[i];
        while (at < r->event_count && r->events[at].rid < w->id)
            at++;
        bool has_event = at < r->event_count && r->events[at].rid == w->id;
        if (has_event && is_untried(a, w, &r->events[at])) {
            rc = insert_untried(a, w);
            continue;
        }
        sqlite3_stmt *stmt = conn_statement(a->c, ST_WORK_INSERT);
        if (!stmt)
            return broken(a);
        if (!has_event)
            rc = check_no_untried(a, w->id);
        int64_t free_ms = work_free_ms(w->visible_ms, w->lock_token, w->lock_until_ms);
        bind_work(stmt, w, place_of(a, w->lock_epoch, free_ms));
        if (rc == SQLITE_OK)
            rc = run(a, stmt);
    }
    return rc;
}

static int update_one(struct apply *a, sqlite3_stmt *stmt, const pawl_work_update *u)
{
    bind_id(stmt, 1, u->id);
    (void)sqlite3_bind_int64(stmt, 2, u->attempt);
    (void)sqlite3_bind_int64(stmt, 3, u->crashes);
    (void)sqlite3_bind_int64(stmt, 4, u->visible_ms);
    (void)sqlite3_bind_int64(stmt, 5, u->deadline_ms);
    bind_bytes(stmt, 6, u->last_error);
    bind_id(stmt, 7, u->lock_epoch);
    bind_text(stmt, 8, u->lock_token);
    (void)sqlite3_bind_int64(stmt, 9, u->lock_token.len ? u->lock_until_ms : 0);
    int64_t free_ms = work_free_ms(u->visible_ms, u->lock_token, u->lock_until_ms);
    (void)sqlite3_bind_int(stmt, 10, (int)place_of(a, u->lock_epoch, free_ms));
    return run(a, stmt);
}

/* Untried work gets something of its own: a row in `work`.  *retmoved tells
 * whether there was any. */
static int move_to_work(struct apply *a, uint64_t id, bool *retmoved)
{
    static const enum statement ways[][2] = {
        {ST_LOCAL_MOVE, ST_LOCAL_DELETE},
        {ST_FRESH_MOVE, ST_FRESH_DELETE},
    };
    int rc = SQLITE_OK;

    *retmoved = false;
    for (int i = 0; i < 2 && rc == SQLITE_OK && !*retmoved; i++) {
        rc = run_ids(a, ways[i][0], &id, 1);
        *retmoved = rc == SQLITE_OK && sqlite3_changes(a->c->db) != 0;
        if (*retmoved)
            rc = run_ids(a, ways[i][1], &id, 1);
    }
    return rc;
}

static int update_work(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_WORK_UPDATE);
    int rc = stmt ? SQLITE_OK : broken(a);

    for (size_t i = 0; i < a->r->work_update_count && rc == SQLITE_OK; i++) {
        const pawl_work_update *u = &a->r->work_updates[i];
        bool moved = false;
        rc = update_one(a, stmt, u);
        if (rc == SQLITE_OK && sqlite3_changes(a->c->db) == 0)
            rc = move_to_work(a, u->id, &moved);
        if (rc == SQLITE_OK && moved)
            rc = update_one(a, stmt, u);
    }
    return rc;
}

static int change_work(struct apply *a)
{
    const pawl_round *r = a->r;
    int rc = r->work_count ? insert_work(a) : SQLITE_OK;

    if (rc == SQLITE_OK && r->work_update_count)
        rc = update_work(a);
    for (size_t i = 0, end; i < r->drop_work_count && rc == SQLITE_OK; i = end) {
        uint64_t gone;
        end = run_end(r->drop_work, i, r->drop_work_count);
        rc = delete_work(a, r->drop_work[i], r->drop_work[end - 1], &gone);
    }
    return rc;
}

/* ---- Keys ------------------------------------------------------------------ */

static int remember_keys(struct apply *a)
{
    sqlite3_stmt *stmt = conn_statement(a->c, ST_KEY_INSERT);
    int rc = stmt ? SQLITE_OK : broken(a);

    for (size_t i = 0; i < a->r->key_count && rc == SQLITE_OK; i++) {
        bind_id(stmt, 1, a->r->uid);
        bind_text(stmt, 2, a->r->keys[i]);
        rc = run(a, stmt);
    }
    return rc;
}
