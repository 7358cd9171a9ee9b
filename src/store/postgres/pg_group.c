/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_group.c -- the rows of a group, collected by table (pg_group.h).
 *
 * Two things are not written twice.  An output that is the data of the last event is not in the
 * instance's row (head.flags has bit 0), so a plain end changes only head and history.  Everything
 * about untried work is in its event, so it is stored as a number (open_work.c).
 *
 * Called by pg_commit.c on the engine thread; the rounds are borrowed until group_send.
 */
#include "store/postgres/pg_group.h"
#include "store/round_rules.h"

static const struct {
    int statement;
    const char *columns;
    enum pg_counted counted;
} kinds[PG_LIST_COUNT] = {
#define PG_LIST_KIND(list, st, cols, count) {ST_PG_##st, cols, count},
    PG_LISTS(PG_LIST_KIND)
#undef PG_LIST_KIND
};

static enum pg_type type_of(char column)
{
    switch (column) {
    case '8':
        return PG_INT8;
    case '4':
        return PG_INT4;
    case '2':
        return PG_INT2;
    case 'o':
        return PG_BOOL;
    case 't':
        return PG_TEXT;
    default:
        assert_that(column == 'b');
        return PG_BYTEA;
    }
}

bool pg_group_init(struct pg_store *s)
{
    struct pg_group *g = calloc(1, sizeof *g);

    if (!g)
        return false;
    for (int i = 0; i < PG_LIST_COUNT; i++) {
        struct pg_rows *rows = &g->lists[i];
        rows->width = (int)strlen(kinds[i].columns);
        assert_that(rows->width <= PG_COLUMNS_MAX);
        for (int c = 0; c < rows->width; c++)
            rows->column[c].type = type_of(kinds[i].columns[c]);
    }
    idset_init(&g->named);
    idset_init(&g->changed);
    idset_init(&g->rids);
    idset_init(&g->objects);
    idset_init(&g->ids);
    s->group = g;
    return true;
}

void pg_group_deinit(struct pg_store *s)
{
    struct pg_group *g = s->group;

    if (!g)
        return;
    for (int i = 0; i < PG_LIST_COUNT; i++)
        for (int c = 0; c < g->lists[i].width; c++)
            array_deinit(&g->lists[i].column[c]);
    vec_deinit(&g->plans);
    vec_deinit(&g->labels);
    vec_deinit(&g->order);
    idset_deinit(&g->named);
    idset_deinit(&g->changed);
    idset_deinit(&g->rids);
    idset_deinit(&g->objects);
    idset_deinit(&g->ids);
    free(g);
    s->group = NULL;
}

void group_reset(struct pg_group *g)
{
    for (int i = 0; i < PG_LIST_COUNT; i++) {
        struct pg_rows *rows = &g->lists[i];
        for (int c = 0; c < rows->width && rows->count; c++)
            array_reset(&rows->column[c]);
        rows->count = 0;
    }
}

/* ---- Rows, column by column --------------------------------------------------------------- */

static struct pg_array *next_column(struct pg_rows *rows)
{
    struct pg_array *a = &rows->column[rows->next++];

    if (rows->next == rows->width) {
        rows->next = 0;
        rows->count++;
    }
    return a;
}

static void put_i64(struct pg_rows *rows, int64_t n)
{
    array_i64(next_column(rows), n);
}

static void put_id(struct pg_rows *rows, uint64_t id)
{
    array_id(next_column(rows), id);
}

/* A number of events or executions: four bytes. */
static void put_count(struct pg_rows *rows, uint64_t n)
{
    array_i64(next_column(rows), (int64_t)n);
}

static void put_str(struct pg_rows *rows, pawl_str s)
{
    array_str(next_column(rows), s);
}

static void put_null(struct pg_rows *rows)
{
    array_null(next_column(rows));
}

/* A new row of this list; the one before is whole. */
static struct pg_rows *row_in(struct pg_group *g, enum pg_list list)
{
    assert_that(g->lists[list].next == 0);
    return &g->lists[list];
}

static void put_ids(struct pg_group *g, enum pg_list list, const uint64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_id(row_in(g, list), ids[i]);
}

/* ---- Instances ---------------------------------------------------------------------------- */

/* Does the last event of the round have the output of its instance? */
static bool event_has_output(const pawl_round *r)
{
    return r->event_count && r->row->output.len && pawl_state_is_terminal(r->row->state) &&
           round_same(r->row->output, r->events[r->event_count - 1].data);
}

/* The output in the instance's own row. */
static pawl_str output_of(const pawl_round *r)
{
    return !event_has_output(r) ? r->row->output : (pawl_str){0};
}

/* List instances that may need an operator (PG_ODD_STATES). */
static void put_odd(struct pg_group *g, const pawl_round *r)
{
    pawl_state state = r->row->state;

    if (state != PAWL_SUSPENDED && state != PAWL_BLOCKED && state != PAWL_FAILED &&
        state != PAWL_CANCELLED)
        return;
    struct pg_rows *odd = row_in(g, LIST_ODD);
    put_i64(odd, state);
    put_id(odd, r->uid);
}

/* The columns of an instance that a later round may change. */
static void put_texts(struct pg_rows *i, const pawl_round *r)
{
    const pawl_row *w = r->row;

    put_i64(i, w->created_ms);
    put_id(i, w->first_rid);
    put_str(i, w->orchestration);
    put_str(i, w->version);
    put_str(i, w->custom_status);
    put_str(i, w->finding);
    put_str(i, output_of(r));
    put_str(i, w->attributes);
}

static void put_new(struct pg_group *g, const pawl_round *r, struct open_plan plan)
{
    const pawl_row *w = r->row;
    struct pg_rows *i = row_in(g, LIST_INSTANCE), *h = row_in(g, LIST_HEAD);

    put_id(i, r->uid);
    put_id(i, w->parent_uid);
    put_id(i, w->parent_execution);
    put_id(i, w->parent_ref);
    put_str(i, w->id);
    put_str(i, w->parent_id);
    put_texts(i, r);

    put_id(h, r->uid);
    put_count(h, w->execution);
    put_count(h, w->last_seq);
    put_id(h, w->last_rid);
    put_i64(h, w->updated_ms);
    put_i64(h, open_work_stored(plan.now, w->last_rid));
    put_i64(h, w->state);
    put_i64(h, event_has_output(r));
    put_i64(h, w->shard);
    put_odd(g, r);
}

/* The compare-and-set that every change of an instance goes through. */
static void put_head(struct pg_group *g, const pawl_round *r, struct open_plan plan)
{
    bool all = r->change == PAWL_ROW_ALL;
    struct pg_rows *h = row_in(g, all ? LIST_HEAD_ALL : LIST_HEAD_LAST);

    put_id(h, r->uid);
    put_count(h, r->execution);
    put_count(h, r->base_seq);
    put_count(h, r->row->execution);
    put_count(h, r->row->last_seq);
    put_id(h, r->row->last_rid);
    put_i64(h, r->row->updated_ms);
    put_id(h, plan.was);
    put_i64(h, open_work_stored(plan.now, r->row->last_rid));
    if (all) {
        put_i64(h, r->row->state);
        put_i64(h, event_has_output(r));
        put_odd(g, r);
    }
}

/* Any other column may have changed; the statement skips a row that did not. */
static void put_instance(struct pg_group *g, const pawl_round *r)
{
    struct pg_rows *i = row_in(g, LIST_INSTANCE_UPDATE);

    put_id(i, r->uid);
    put_texts(i, r);
}

/* Keep what find_execution needs of the execution that ends here (R2). */
static void put_closed(struct pg_group *g, const pawl_round *r)
{
    bool made = r->change == PAWL_ROW_INSERT;
    const pawl_event *last = round_last_of_closed(r);
    struct pg_rows *x = row_in(g, made ? LIST_EXECUTION_MAKE : LIST_EXECUTION_END);

    assert_that(!last || last->seq > r->base_seq);
    put_id(x, r->uid);
    put_count(x, r->execution);
    if (made)
        put_str(x, r->row->orchestration);
    else
        put_count(x, r->base_seq);
    put_str(x, r->row->version);
    put_count(x, last ? last->seq : r->base_seq);
    put_id(x, last ? last->rid : r->base_rid);
    put_id(x, last && r->base_seq == 0 ? r->events[0].rid : 0);
    if (made)
        put_i64(x, r->row->created_ms);
    put_i64(x, r->row->updated_ms);
    if (made)
        put_str(x, r->row->custom_status);
}

/* Check that the instance is what the round expects, or also remove it. */
static void put_believed(struct pg_group *g, enum pg_list list, const pawl_round *r)
{
    struct pg_rows *rows = row_in(g, list);

    put_id(rows, r->uid);
    put_count(rows, r->execution);
    put_count(rows, r->base_seq);
}

static void add_instance(struct pg_group *g, const pawl_round *r, struct open_plan plan)
{
    if (r->change == PAWL_ROW_NONE) {
        put_believed(g, LIST_HEAD_CHECK, r);
        return;
    }
    if (r->change == PAWL_ROW_REMOVE) {
        put_believed(g, g->removes_late ? LIST_REMOVE_LATE : LIST_REMOVE, r);
        return;
    }
    assert_that(r->row);
    if (r->change == PAWL_ROW_INSERT)
        put_new(g, r, plan);
    else
        put_head(g, r, plan);
    if (r->change != PAWL_ROW_LAST && round_closes(r))
        put_closed(g, r);
    if (r->change == PAWL_ROW_ALL)
        put_instance(g, r);
}

/* ---- Events ------------------------------------------------------------------------------- */

/* Two events are one row when the second one's rid, execution and time follow from the first. */
static bool are_one_row(const pawl_event *a, const pawl_event *b)
{
    return b->rid == a->rid + 1 && b->execution == a->execution && b->at_ms == a->at_ms;
}

static void put_mark(struct pg_group *g, uint64_t uid, const pawl_event *last)
{
    struct pg_rows *m = row_in(g, LIST_MARK);

    put_id(m, uid);
    put_count(m, last->execution);
    put_count(m, last->seq);
    put_id(m, last->rid);
}

static void put_event(struct pg_group *g, const pawl_round *r, const pawl_event *e,
                      const pawl_event *second, uint64_t prev)
{
    struct pg_rows *h = row_in(g, LIST_EVENT);

    put_id(h, e->rid);
    put_id(h, r->uid);
    put_id(h, e->seq == 1 ? 0 : prev);
    put_i64(h, e->at_ms);
    put_id(h, e->ref);
    second ? put_id(h, second->ref) : put_null(h);
    put_count(h, e->execution);
    put_count(h, e->seq);
    put_i64(h, e->kind);
    second ? put_i64(h, second->kind) : put_null(h);
    put_str(h, e->name);
    put_str(h, e->data);
    put_str(h, e->attrs);
    second ? put_str(h, second->name) : put_null(h);
    second ? put_str(h, second->data) : put_null(h);
    second ? put_str(h, second->attrs) : put_null(h);
}

static void add_events(struct pg_group *g, const pawl_round *r)
{
    uint64_t prev = r->base_rid;

    for (size_t i = 0; i < r->event_count; i++) {
        const pawl_event *e = &r->events[i], *last = e;
        if (e->rid < g->new_from)
            put_id(row_in(g, LIST_EVENT_CHECK), e->rid);
        if (i + 1 < r->event_count && are_one_row(e, e + 1))
            last = &r->events[++i];
        if (last != e && last->rid < g->new_from)
            put_id(row_in(g, LIST_EVENT_CHECK), last->rid);
        put_event(g, r, e, last == e ? NULL : last, prev);
        if (e->seq % PG_MARK_EVERY == 0 || last->seq % PG_MARK_EVERY == 0)
            put_mark(g, r->uid, last);
        prev = last->rid;
    }
}

/* ---- Messages ----------------------------------------------------------------------------- */

static void put_message(struct pg_group *g, const pawl_message *m)
{
    bool look = m->shard == PAWL_SHARD_LOOK;
    struct pg_rows *rows = row_in(g, look ? LIST_MESSAGE_LOOK : LIST_MESSAGE);

    put_id(rows, m->id);
    put_id(rows, m->uid);
    put_i64(rows, m->created_ms);
    put_id(rows, m->execution);
    put_id(rows, m->ref);
    put_i64(rows, m->kind);
    put_str(rows, m->instance);
    put_str(rows, m->name);
    put_str(rows, m->data);
    put_str(rows, m->attrs);
    put_i64(rows, m->visible_ms);
    put_i64(rows, m->attempt);
    put_i64(rows, m->mailbox);
    put_i64(rows, look ? pawl_shard_of(m->instance) : m->shard);
}

static void add_messages(struct pg_group *g, const pawl_round *r)
{
    for (size_t i = 0; i < r->message_count; i++)
        put_message(g, &r->messages[i]);
    for (size_t i = 0; i < r->message_update_count; i++) {
        const pawl_message_update *u = &r->message_updates[i];
        struct pg_rows *rows = row_in(g, u->relabel ? LIST_MESSAGE_MOVE : LIST_MESSAGE_UPDATE);
        put_id(rows, u->id);
        put_i64(rows, u->visible_ms);
        put_i64(rows, u->attempt);
        put_i64(rows, u->mailbox);
        if (u->relabel)
            put_i64(rows, u->shard);
    }
    for (size_t i = 0; i < r->quarantine_count; i++) {
        struct pg_rows *rows = row_in(g, LIST_QUARANTINE);
        put_id(rows, r->quarantine[i].id);
        put_str(rows, r->quarantine[i].reason);
    }
    put_ids(g, LIST_MESSAGE_DROP, r->drop_messages, r->drop_message_count);
}

/* ---- Work --------------------------------------------------------------------------------- */

/* Without a token there is no lease: free from visible_ms on (index work_free). */
static int64_t lease_end(pawl_str token, int64_t until_ms)
{
    return token.len ? until_ms : 0;
}

/* What an update of work sets (PG_STATE_OF_WORK). */
static void put_work_state(struct pg_rows *rows, const struct pg_store *s,
                           const pawl_work_update *u)
{
    put_i64(rows, u->attempt);
    put_i64(rows, u->crashes);
    put_i64(rows, u->visible_ms);
    put_i64(rows, u->deadline_ms);
    put_id(rows, u->lock_epoch);
    put_i64(rows, lease_end(u->lock_token, u->lock_until_ms));
    put_i64(rows, u->lock_epoch == s->fence.epoch);
    put_str(rows, u->lock_token);
    put_str(rows, u->last_error);
}

static void put_work(struct pg_group *g, const struct pg_store *s, const pawl_work *w)
{
    struct pg_rows *rows = row_in(g, LIST_WORK);

    put_id(rows, w->id);
    put_id(rows, w->uid);
    put_id(rows, w->execution);
    put_id(rows, w->ref);
    put_i64(rows, w->scheduled_ms);
    put_str(rows, w->instance);
    put_str(rows, w->name);
    put_str(rows, w->input);
    put_str(rows, w->attrs);
    put_work_state(rows, s,
                   &(pawl_work_update){.attempt = w->attempt,
                                       .crashes = w->crashes,
                                       .visible_ms = w->visible_ms,
                                       .deadline_ms = w->deadline_ms,
                                       .lock_epoch = w->lock_epoch,
                                       .lock_until_ms = w->lock_until_ms,
                                       .lock_token = w->lock_token,
                                       .last_error = w->last_error});
    put_i64(rows, w->shard);
}

static void put_fresh(struct pg_group *g, const struct pg_store *s, const pawl_work *w)
{
    struct pg_rows *rows = row_in(g, LIST_FRESH);

    put_id(rows, w->id);
    put_id(rows, w->uid);
    put_str(rows, w->name);
    /* Below 0: as it was given, but free. */
    put_i64(rows,
            w->lock_epoch == s->fence.epoch ? (int64_t)w->lock_epoch : -(int64_t)w->lock_epoch);
    put_i64(rows, w->shard);
}

static void add_new_work(struct pg_group *g, const struct pg_store *s, const pawl_round *r,
                         struct open_plan plan)
{
    for (size_t i = 0, at = 0; i < r->work_count; i++) {
        const pawl_work *w = &r->work[i];
        const pawl_event *e = open_work_event(r, w, &at);
        if (w->id == plan.now && plan.now != plan.was)
            continue; /* its head says so */
        if (e && round_is_untried(r, w, e)) {
            put_fresh(g, s, w);
            continue;
        }
        if (!e) /* an event with a new rid has new work */
            put_id(row_in(g, LIST_UNTRIED), w->id);
        put_work(g, s, w);
    }
}

static bool is_among(const uint64_t *ids, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void add_work_updates(struct pg_group *g, const struct pg_store *s, const pawl_round *r)
{
    for (size_t i = 0; i < r->work_update_count; i++) {
        const pawl_work_update *u = &r->work_updates[i];
        uint64_t uid = open_work_uid(&s->open, u->id);
        if (uid && (is_among(r->need_work, r->need_work_count, u->id) ||
                    is_among(r->drop_work, r->drop_work_count, u->id)))
            continue; /* this round deletes it */
        struct pg_rows *rows = row_in(g, uid ? LIST_OPEN_MOVE : LIST_WORK_UPDATE);
        if (uid)
            put_id(rows, uid);
        put_id(rows, u->id);
        put_work_state(rows, s, u);
    }
}

/* Add ids to delete.  The update of the head deletes its own; those of other heads are pairs. */
static void add_gone(struct pg_group *g, const struct pg_store *s, const uint64_t *ids,
                     size_t count, struct open_plan plan, enum pg_list open, enum pg_list rows)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == plan.was && plan.now != plan.was)
            continue;
        uint64_t uid = open_work_uid(&s->open, ids[i]);
        struct pg_rows *list = row_in(g, uid ? open : rows);
        if (uid)
            put_id(list, uid);
        put_id(list, ids[i]);
    }
}

/* ---- Named objects ------------------------------------------------------------------------- */

static enum pg_list object_list(const pawl_object *o)
{
    bool any = o->version == PAWL_VERSION_ANY;

    if (!o->data.ptr)
        return any ? LIST_OBJECT_DROP : LIST_OBJECT_REMOVE;
    return any ? LIST_OBJECT_PUT : o->version ? LIST_OBJECT_SET : LIST_OBJECT_NEW;
}

static void add_objects(struct pg_group *g, const struct pg_store *s, const pawl_round *r)
{
    size_t count;
    const pawl_object *objects = round_objects(r, &count);

    for (size_t i = 0; i < count; i++) {
        const pawl_object *o = &objects[i];
        enum pg_list list = object_list(o);
        struct pg_rows *rows = row_in(g, list);
        put_i64(rows, o->kind);
        put_str(rows, o->name);
        if (list == LIST_OBJECT_SET || list == LIST_OBJECT_REMOVE)
            put_id(rows, o->version);
        if (o->data.ptr) {
            put_i64(rows, s->now_ms);
            put_str(rows, o->data);
        }
    }
}

static void add_entries(struct pg_group *g, const pawl_round *r)
{
    size_t count;
    const pawl_attribute_entry *entries = round_entries(r, &count);

    for (size_t i = 0; i < count; i++) {
        struct pg_rows *rows =
            row_in(g, entries[i].drop ? LIST_ATTRIBUTE_DROP : LIST_ATTRIBUTE_PUT);
        put_str(rows, entries[i].name);
        put_str(rows, entries[i].key);
        put_id(rows, r->uid);
    }
}

/* ---- A round ------------------------------------------------------------------------------ */

struct open_plan group_add(struct pg_group *g, const struct pg_store *s, const pawl_round *r)
{
    struct open_plan plan = open_work_plan(&s->open, s->fence.epoch, r);

    if (r->uid)
        add_instance(g, r, plan);
    add_gone(g, s, r->need_work, r->need_work_count, plan, LIST_OPEN_NEED, LIST_WORK_NEED);
    add_events(g, r);
    add_messages(g, r);
    add_new_work(g, s, r, plan);
    add_work_updates(g, s, r);
    add_gone(g, s, r->drop_work, r->drop_work_count, plan, LIST_OPEN_DROP, LIST_WORK_DROP);
    for (size_t i = 0; i < r->key_count && r->uid; i++) {
        struct pg_rows *keys = row_in(g, LIST_KEY);
        put_id(keys, r->uid);
        put_str(keys, r->keys[i]);
    }
    if (r->extra) {
        add_objects(g, s, r);
        add_entries(g, r);
    }
    return plan;
}

bool group_send(struct pg_group *g, struct pg_store *s)
{
    bool sent = true;

    for (int i = 0; i < PG_LIST_COUNT && sent; i++) {
        const struct pg_rows *rows = &g->lists[i];
        if (!rows->count)
            continue;
        assert_that(rows->next == 0);
        params_reset(&s->params);
        for (int c = 0; c < rows->width; c++)
            params_array(&s->params, &rows->column[c]);
        if (kinds[i].counted)
            params_i64(&s->params, (int64_t)rows->count);
        if (kinds[i].counted == PG_COUNT_OURS)
            params_id(&s->params, s->fence.shards);
        sent = link_send(&s->writer, kinds[i].statement, &s->params);
    }
    return sent;
}
