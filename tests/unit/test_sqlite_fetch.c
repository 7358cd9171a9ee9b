/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_fetch.c -- a fetch costs what it returns.
 *
 * Cost is counted, not timed: SQLite counts the operations of its virtual
 * machine a statement ran.  The tables hold tens of thousands of rows that a
 * fetch must not look at.
 */
#include "test_sqlite.h"

#define MANY 20000

/* Operations run by the writer's statements since the last call. */
static int64_t steps(struct box *b)
{
    int64_t sum = 0;
    struct conn *c = &sqlite_of(b->s)->writer;
    for (int i = 0; i < ST_COUNT; i++) {
        if (c->statements[i])
            sum += sqlite3_stmt_status(c->statements[i], SQLITE_STMTSTATUS_VM_STEP, 1);
    }
    return sum;
}

/* `count` messages for instance 1, all alike, in one commit; the first id. */
static uint64_t add_messages(struct box *b, size_t count, pawl_message like)
{
    pawl_message *m = calloc(count, sizeof *m);
    uint64_t first = b->fence.next_id;
    for (size_t i = 0; i < count; i++) {
        m[i] = like;
        m[i].id = box_id(b);
        m[i].uid = 1;
        m[i].kind = PAWL_MSG_EXTERNAL_RAISED;
    }
    pawl_round r = {.messages = m, .message_count = count};
    ck_assert_int_eq(box_commit(b, &r, 1), PAWL_OK);
    ck_assert_int_eq(r.result, PAWL_OK);
    free(m);
    return first;
}

static uint64_t add_work(struct box *b, size_t count, pawl_work like)
{
    pawl_work *w = calloc(count, sizeof *w);
    uint64_t first = b->fence.next_id;
    for (size_t i = 0; i < count; i++) {
        w[i] = like;
        w[i].id = box_id(b);
        w[i].uid = 1;
    }
    pawl_round r = {.work = w, .work_count = count};
    ck_assert_int_eq(box_commit(b, &r, 1), PAWL_OK);
    ck_assert_int_eq(r.result, PAWL_OK);
    free(w);
    return first;
}

static size_t messages_at(struct box *b, int64_t now_ms, uint32_t limit, pawl_message_list *l)
{
    ck_assert_int_eq(b->s->ops->fetch_messages(b->s, now_ms, limit, b->mem, l, &b->err), PAWL_OK);
    return l->count;
}

static size_t work_at(struct box *b, int64_t now_ms, const char *name, uint32_t limit,
                      pawl_work_list *l)
{
    pawl_str names[1] = {pawl_s(name)};
    ck_assert_int_eq(
        b->s->ops->fetch_work(b->s, now_ms, names, name ? 1 : 0, limit, b->mem, l, &b->err),
        PAWL_OK);
    return l->count;
}

TEST(messages_are_fetched_past_timers_mailboxes_and_taken_rows)
{
    struct box b;
    pawl_message_list l;
    box_make(&b);
    box_open(&b);
    add_messages(&b, MANY, (pawl_message){.visible_ms = 1000000});
    add_messages(&b, MANY, (pawl_message){.mailbox = true});
    add_messages(&b, MANY, (pawl_message){0});
    ck_assert_int_eq(b.s->ops->take(b.s, 1000, &b.fence, &b.err), PAWL_OK);
    ck_assert_uint_eq(messages_at(&b, 2000, MANY - 10, &l), MANY - 10); /* all but ten taken */
    uint64_t last = l.items[l.count - 1].id;
    steps(&b);
    ck_assert_uint_eq(messages_at(&b, 2000, 4, &l), 4);
    ck_assert_uint_eq(l.items[0].id, last + 1);
    ck_assert_int_lt(steps(&b), 400);
    ck_assert_uint_eq(messages_at(&b, 2000, 100, &l), 6);
    ck_assert_uint_eq(messages_at(&b, 2000, 100, &l), 0);
    ck_assert_int_lt(steps(&b), 600);
    int64_t due;
    ck_assert_int_eq(b.s->ops->next_due(b.s, 2000, &due, &b.err), PAWL_OK);
    ck_assert_int_eq(due, 1000000);
    ck_assert_int_lt(steps(&b), 100);
    box_drop(&b);
}

TEST(an_abandoned_message_comes_back_in_its_place)
{
    struct box b;
    pawl_message_list l;
    box_make(&b);
    box_open(&b);
    uint64_t first = add_messages(&b, 10, (pawl_message){0});
    ck_assert_uint_eq(messages_at(&b, 2000, 100, &l), 0); /* C7: the committer has them */
    uint64_t ids[] = {first + 5, first + 2, 999999};
    b.s->ops->abandon_messages(b.s, ids, 3);
    ck_assert_uint_eq(messages_at(&b, 2000, 100, &l), 2);
    ck_assert_uint_eq(l.items[0].id, first + 2);
    ck_assert_uint_eq(l.items[1].id, first + 5);
    ck_assert_uint_eq(messages_at(&b, 2000, 100, &l), 0);
    box_drop(&b);
}

TEST(a_clock_that_steps_back_hides_nothing)
{
    struct box b;
    pawl_message_list l;
    box_make(&b);
    box_open(&b);
    add_messages(&b, 1, (pawl_message){.visible_ms = 5000});
    ck_assert_uint_eq(messages_at(&b, 9000, 10, &l), 1); /* the cursor is at 5000 */
    add_messages(&b, 1, (pawl_message){.visible_ms = 4000});
    ck_assert_uint_eq(messages_at(&b, 3000, 10, &l), 0);
    ck_assert_uint_eq(messages_at(&b, 4000, 10, &l), 1);
    ck_assert_int_eq(l.items[0].visible_ms, 4000);
    box_drop(&b);
}

TEST(work_nobody_here_can_do_costs_nothing)
{
    struct box b;
    pawl_work_list l;
    box_make(&b);
    box_open(&b);
    add_work(&b, MANY, (pawl_work){.name = pawl_s("Elsewhere")});
    add_work(&b, MANY, (pawl_work){.name = pawl_s("Elsewhere"), .visible_ms = 1500});
    add_work(&b, 3, (pawl_work){.name = pawl_s("Here")});
    steps(&b);
    ck_assert_uint_eq(work_at(&b, 2000, "Here", 100, &l), 3);
    ck_assert_int_lt(steps(&b), 500);
    ck_assert_uint_eq(work_at(&b, 2000, "Here", 100, &l), 0);
    steps(&b);
    ck_assert_uint_eq(work_at(&b, 2000, "Here", 100, &l), 0);
    ck_assert_int_eq(steps(&b), 0); /* known to be empty: no query at all */
    add_work(&b, 1, (pawl_work){.name = pawl_s("Here")});
    ck_assert_uint_eq(work_at(&b, 2000, "Here", 100, &l), 1);
    ck_assert_uint_eq(work_at(&b, 2000, NULL, 5, &l), 5); /* any name */
    ck_assert(pawl_str_is(l.items[0].name, "Elsewhere"));
    box_drop(&b);
}

TEST(taken_work_is_passed_once)
{
    struct box b;
    pawl_work_list l;
    box_make(&b);
    box_open(&b);
    add_work(&b, MANY, (pawl_work){.name = pawl_s("A")});
    ck_assert_uint_eq(work_at(&b, 2000, "A", MANY - 10, &l), MANY - 10);
    ck_assert_uint_eq(work_at(&b, 2000, "A", 2, &l), 2);
    steps(&b);
    ck_assert_uint_eq(work_at(&b, 2000, "A", 2, &l), 2);
    ck_assert_int_lt(steps(&b), 400);
    ck_assert_uint_eq(work_at(&b, 2000, "A", 100, &l), 6);
    ck_assert_uint_eq(work_at(&b, 2000, "A", 100, &l), 0);
    box_drop(&b);
}

TEST(delayed_work_comes_when_due_oldest_id_first)
{
    struct box b;
    pawl_work_list l;
    box_make(&b);
    box_open(&b);
    uint64_t late = add_work(&b, 1, (pawl_work){.name = pawl_s("A"), .visible_ms = 3000});
    uint64_t soon = add_work(&b, 1, (pawl_work){.name = pawl_s("A"), .visible_ms = 2000});
    uint64_t leased = add_work(
        &b, 1, (pawl_work){.name = pawl_s("A"), .lock_token = pawl_s("t"), .lock_until_ms = 2500});
    uint64_t now = add_work(&b, 1, (pawl_work){.name = pawl_s("A")});
    ck_assert_uint_eq(work_at(&b, 1999, "A", 9, &l), 1);
    ck_assert_uint_eq(l.items[0].id, now);
    steps(&b);
    ck_assert_uint_eq(work_at(&b, 1999, "A", 9, &l), 0);
    ck_assert_uint_eq(work_at(&b, 1999, "A", 9, &l), 0);
    ck_assert_int_lt(steps(&b), 200);
    b.s->ops->abandon_work(b.s, &now, 1);
    ck_assert_uint_eq(work_at(&b, 3000, "A", 9, &l), 4);
    ck_assert_uint_eq(l.items[0].id, late);
    ck_assert_uint_eq(l.items[1].id, soon);
    ck_assert_uint_eq(l.items[2].id, leased);
    ck_assert_uint_eq(l.items[3].id, now);
    ck_assert_uint_eq(work_at(&b, 3000, "A", 9, &l), 0);
    box_drop(&b);
}

TEST(many_due_at_once_all_come_each_once)
{
    struct box b;
    pawl_work_list l;
    size_t got = 0;
    box_make(&b);
    box_open(&b);
    add_work(&b, 5000, (pawl_work){.name = pawl_s("A"), .visible_ms = 2000});
    while (work_at(&b, 2000, "A", 300, &l) > 0)
        got += l.count;
    ck_assert_uint_eq(got, 5000);
    box_drop(&b);
}

/* ---- Work the engine keeps for itself ------------------------------------------------ */

/* A turn that starts one activity, as the runtime commits it. */
static uint64_t start_local(struct box *b, pawl_row *row, pawl_str input)
{
    pawl_event e = {.rid = box_id(b),
                    .execution = 1,
                    .seq = row->last_seq + 1,
                    .ref = 4,
                    .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                    .name = pawl_s("Step"),
                    .data = input,
                    .attrs = pawl_s("{\"retry\":3}"),
                    .at_ms = 1234};
    pawl_work w = {.id = e.rid,
                   .uid = row->uid,
                   .execution = 1,
                   .ref = 4,
                   .instance = row->id,
                   .name = e.name,
                   .input = input,
                   .attrs = e.attrs,
                   .scheduled_ms = 1234,
                   .lock_epoch = b->fence.epoch};
    pawl_row next;
    pawl_round r = box_round(row, &e, &next);
    r.work = &w;
    r.work_count = 1;
    ck_assert_int_eq(box_commit(b, &r, 1), PAWL_OK);
    ck_assert_int_eq(r.result, PAWL_OK);
    *row = next;
    return e.rid;
}

static int64_t number(struct box *b, const char *sql)
{
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_prepare_v2(sqlite_of(b->s)->writer.db, sql, -1, &stmt, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static pawl_work read_one(struct box *b, uint64_t id)
{
    pawl_work_list l;
    ck_assert_int_eq(b->s->ops->read_work(b->s, &id, 1, b->mem, &l, &b->err), PAWL_OK);
    ck_assert_uint_eq(l.count, 1);
    return l.items[0];
}

static void check_fields(struct box *b, pawl_work w, pawl_row *row, pawl_str input)
{
    (void)b;
    ck_assert_uint_eq(w.uid, row->uid);
    ck_assert_uint_eq(w.execution, 1);
    ck_assert_uint_eq(w.ref, 4);
    ck_assert(pawl_str_eq(w.instance, row->id));
    ck_assert(pawl_str_is(w.name, "Step"));
    ck_assert(pawl_str_eq(w.input, input));
    ck_assert(pawl_str_is(w.attrs, "{\"retry\":3}"));
    ck_assert_int_eq(w.scheduled_ms, 1234);
}

TEST(local_work_is_a_number_until_it_is_free)
{
    struct box b;
    pawl_work_list l;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    uint64_t id = start_local(&b, &a, pawl_s("in"));
    ck_assert_int_eq(number(&b, "SELECT count(*) FROM work_local"), 1);
    ck_assert_int_eq(number(&b, "SELECT count(*) FROM work"), 0);
    ck_assert_int_eq(number(&b, "SELECT count(*) FROM all_work WHERE name='Step'"), 1);
    pawl_work w = read_one(&b, id);
    check_fields(&b, w, &a, pawl_s("in"));
    ck_assert_uint_eq(w.lock_epoch, b.fence.epoch);
    ck_assert_uint_eq(work_at(&b, 2000, "Step", 9, &l), 0); /* ours */
    b.s->ops->abandon_work(b.s, &id, 1);
    ck_assert_uint_eq(work_at(&b, 2000, "Other", 9, &l), 0);
    ck_assert_uint_eq(work_at(&b, 2000, "Step", 9, &l), 1);
    check_fields(&b, l.items[0], &a, pawl_s("in"));
    ck_assert_uint_eq(work_at(&b, 2000, NULL, 9, &l), 0);
    box_close(&b);
    box_open(&b); /* another engine: free, as a row of its own */
    ck_assert_int_eq(number(&b, "SELECT count(*) FROM work_local"), 0);
    ck_assert_uint_eq(work_at(&b, 2000, "Step", 9, &l), 1);
    check_fields(&b, l.items[0], &a, pawl_s("in"));
    ck_assert_uint_eq(l.items[0].lock_epoch, b.fence.epoch - 1); /* as committed */
    box_drop(&b);
}

static int interrupt(void *unused)
{
    (void)unused;
    return 1;
}

/* Memory ran out while it was given back: nobody found it until a restart. */
TEST(work_that_was_abandoned_in_trouble_is_found)
{
    struct box b;
    pawl_work_list l;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    uint64_t id = start_local(&b, &a, pawl_s("in"));
    sqlite3 *db = sqlite_of(b.s)->writer.db;
    sqlite3_progress_handler(db, 1, interrupt, NULL);
    b.s->ops->abandon_work(b.s, &id, 1);
    ck_assert_int_ne(
        b.s->ops->fetch_work(b.s, 2000, (pawl_str[]){pawl_s("Step")}, 1, 9, b.mem, &l, &b.err),
        PAWL_OK);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    ck_assert_uint_eq(work_at(&b, 2000, "Step", 9, &l), 1);
    check_fields(&b, l.items[0], &a, pawl_s("in"));
    ck_assert_uint_eq(work_at(&b, 2000, "Step", 9, &l), 0);
    box_drop(&b);
}

TEST(local_work_that_is_tried_again_gets_its_own_row)
{
    struct box b;
    pawl_work_list l;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 3);
    uint64_t id = start_local(&b, &a, pawl_s("in"));
    pawl_work_update u = {
        .id = id, .attempt = 1, .visible_ms = 5000, .last_error = pawl_s("no luck")};
    pawl_round r = {.work_updates = &u, .work_update_count = 1};
    ck_assert_int_eq(box_commit(&b, &r, 1), PAWL_OK);
    ck_assert_int_eq(number(&b, "SELECT count(*) FROM work_local"), 0);
    ck_assert_uint_eq(work_at(&b, 4999, "Step", 9, &l), 0);
    int64_t due;
    ck_assert_int_eq(b.s->ops->next_due(b.s, 1, &due, &b.err), PAWL_OK);
    ck_assert_int_eq(due, 5000);
    ck_assert_uint_eq(work_at(&b, 5000, "Step", 9, &l), 1);
    check_fields(&b, l.items[0], &a, pawl_s("in"));
    ck_assert_uint_eq(l.items[0].attempt, 1);
    ck_assert(pawl_str_is(l.items[0].last_error, "no luck"));
    pawl_round done = {.need_work = &id, .need_work_count = 1};
    ck_assert_int_eq(box_commit(&b, &done, 1), PAWL_OK);
    ck_assert_int_eq(done.result, PAWL_OK);
    ck_assert_int_eq(number(&b, "SELECT count(*) FROM all_work"), 0);
    box_drop(&b);
}

TEST(bytes_come_back_and_text_stays_text)
{
    static const struct {
        pawl_str bytes;
        const char *type;
    } cases[] = {
        {{"plain ascii of more than eight bytes", 36},   "text"},
        {{"", 0},                                        "text"},
        {{"gr\xc3\xbc\xc3\x9f dich, a longer text", 25}, "text"},
        {{"nul \0 inside", 12},                          "blob"},
        {{"\0", 1},                                      "blob"},
        {{"broken \xc3 utf-8", 14},                      "blob"},
        {{"12345678\xff", 9},                            "blob"},
    };
    struct box b;
    char sql[120];
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t id = start_local(&b, &a, cases[i].bytes);
        ck_assert(pawl_str_eq(read_one(&b, id).input, cases[i].bytes));
        (void)snprintf(sql, sizeof sql, "SELECT typeof(data)='%s' FROM history WHERE rid=%d",
                       cases[i].type, (int)id);
        ck_assert_msg(number(&b, sql) == 1, "case %zu", i);
    }
    box_drop(&b);
}

/* ---- Paging ----------------------------------------------------------------------------- */

static int64_t reader_steps(struct box *b)
{
    int64_t sum = 0;
    for (struct conn *c = sqlite_of(b->s)->pool; c; c = c->next) {
        for (int i = 0; i < ST_COUNT; i++) {
            if (c->statements[i])
                sum += sqlite3_stmt_status(c->statements[i], SQLITE_STMTSTATUS_VM_STEP, 1);
        }
    }
    return sum;
}

TEST(a_page_in_the_middle_of_a_history_does_not_walk_all_of_it)
{
    struct box b;
    pawl_event_list l;
    box_make(&b);
    box_open(&b);
    pawl_row a = box_instance(&b, "a", 5000);
    for (uint64_t after = 0; after < 5000; after += 777) {
        ck_assert_int_eq(b.s->ops->read_history(b.s, a.uid, 1, after, 10, b.mem, &l, &b.err),
                         PAWL_OK);
        ck_assert_uint_eq(l.count, 10);
        for (uint64_t i = 0; i < 10; i++)
            ck_assert_uint_eq(l.items[i].seq, after + i + 1);
        ck_assert_int_lt(reader_steps(&b), 150 * 20); /* at most 138 rows */
    }
    ck_assert_int_eq(b.s->ops->read_history(b.s, a.uid, 1, 4995, 10, b.mem, &l, &b.err), PAWL_OK);
    ck_assert_uint_eq(l.count, 5);
    box_drop(&b);
}

/* Calls with a tag, as schema 3 had them: tried, untried and free, untried and held. */
TEST(calls_with_a_tag_get_their_tray_with_schema_4)
{
    struct box b;
    pawl_work_list l;
    pawl_str tagged = pawl_s("{\"attempts\":2,\"tag\":\"gpu\"}");
    box_make(&b);
    box_open(&b);
    add_work(&b, 2, (pawl_work){.name = pawl_s("Send"), .attrs = tagged, .attempt = 1});
    add_work(&b, 1, (pawl_work){.name = pawl_s("Send")});
    box_close(&b);
    box_sql(&b, BOX_SCHEMA_3
            "INSERT INTO history VALUES(901,1,1,1,0,10,1,'Send','','{\"tag\":\"gpu\"}',1),"
            "(902,1,1,2,901,10,2,'Send','','{\"tag\":\"gpu\"}',1),"
            "(903,1,1,3,902,10,3,'Send','','',1);"
            "INSERT INTO work_fresh VALUES(901,'Send',0),(903,'Send',0);"
            "INSERT INTO work_local VALUES(902,0);UPDATE fence SET next_id=1000");
    box_open(&b);
    ck_assert_uint_eq(work_at(&b, 2000, "Send", 100, &l), 2);
    ck_assert_uint_eq(l.items[1].id, 903);
    ck_assert_uint_eq(work_at(&b, 2000, "Send/gpu", 100, &l), 4);
    ck_assert_uint_eq(l.items[2].id, 901);
    ck_assert_uint_eq(l.items[3].id, 902);
    box_drop(&b);
}

/* Names come from outside: they are forgotten again, and nothing that is to be found is. */
TEST(names_somebody_asked_for_are_bounded)
{
    struct box b;
    pawl_work_list l;
    char name[32];
    box_make(&b);
    box_open(&b);
    uint64_t held =
        add_work(&b, 1, (pawl_work){.name = pawl_s("Held"), .lock_epoch = b.fence.epoch});
    add_work(&b, 1, (pawl_work){.name = pawl_s("Free")});
    ck_assert_uint_eq(work_at(&b, 2000, "Held", 10, &l), 0);
    b.s->ops->abandon_work(b.s, &held, 1);
    for (int i = 0; i < 40000; i++) {
        (void)snprintf(name, sizeof name, "Name%d", i);
        ck_assert_uint_eq(work_at(&b, 2000, name, 10, &l), 0);
    }
    ck_assert_uint_lt(sqlite_of(b.s)->names.by_name.count, 20000);
    ck_assert_uint_eq(work_at(&b, 2000, "Held", 10, &l), 1);
    ck_assert_uint_eq(work_at(&b, 2000, "Free", 10, &l), 1);
    box_drop(&b);
}

/* ---- No memory ----------------------------------------------------------------------------- */

static int until_none = -1; /* so many growing lists more; negative: any number */

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    return until_none >= 0 && until_none-- == 0 ? NULL : __real_realloc(p, n);
}

static pawl_status try_messages(struct box *b, size_t *retcount)
{
    pawl_message_list l = {0};
    pawl_status rc = b->s->ops->fetch_messages(b->s, 2000, 100, b->mem, &l, &b->err);
    *retcount = l.count;
    return rc;
}

static pawl_status try_work(struct box *b, size_t *retcount)
{
    pawl_work_list l = {0};
    pawl_status rc = b->s->ops->fetch_work(b->s, 2000, (pawl_str[]){pawl_s("Step")}, 1, 100, b->mem,
                                           &l, &b->err);
    *retcount = l.count;
    return rc;
}

static void put_messages(struct box *b)
{
    add_messages(b, 40, (pawl_message){0});
    ck_assert_int_eq(b->s->ops->take(b->s, 1000, &b->fence, &b->err), PAWL_OK); /* free again */
}

static void put_ready(struct box *b)
{
    add_work(b, 40, (pawl_work){.name = pawl_s("Step")});
}

static void put_delayed(struct box *b)
{
    add_work(b, 40, (pawl_work){.name = pawl_s("Step"), .visible_ms = 1500});
}

/* Taken, and then abandoned: it is in no index. */
static void put_loose(struct box *b)
{
    pawl_row a = box_instance(b, "a", 3);
    uint64_t id = start_local(b, &a, pawl_s("in"));
    b->s->ops->abandon_work(b->s, &id, 1);
}

static void put_history(struct box *b)
{
    (void)box_instance(b, "a", 40);
}

static pawl_status try_history(struct box *b, size_t *retcount)
{
    pawl_row row;
    pawl_event_list l = {0};
    ck_assert_int_eq(b->s->ops->find(b->s, pawl_s("a"), b->mem, &row, &b->err), PAWL_OK);
    pawl_status rc = b->s->ops->read_history(b->s, row.uid, 1, 0, 0, b->mem, &l, &b->err);
    *retcount = l.count;
    return rc;
}

/* Each list that grows finds no memory once: that fetch fails, and the next one has every row. */
static void fetch_without_memory(size_t rows, void (*put)(struct box *b),
                                 pawl_status (*fetch)(struct box *b, size_t *retcount))
{
    bool failed = false, all = false;
    for (int n = 0; !all; n++) {
        struct box b;
        size_t count;
        box_make(&b);
        box_open(&b);
        put(&b);
        until_none = n;
        pawl_status rc = fetch(&b, &count);
        all = until_none >= 0;
        until_none = -1;
        if (!all) {
            failed = true;
            ck_assert_int_eq(rc, PAWL_NO_MEMORY);
            rc = fetch(&b, &count);
        }
        ck_assert_msg(rc == PAWL_OK, "%s", b.err.text);
        ck_assert_msg(count == rows, "%d: %zu rows", n, count);
        box_drop(&b);
    }
    ck_assert(failed);
}

TEST(a_fetch_of_messages_without_memory_fails_and_loses_no_row)
{
    fetch_without_memory(40, put_messages, try_messages);
}

TEST(a_fetch_of_work_without_memory_fails_and_loses_no_row)
{
    fetch_without_memory(40, put_ready, try_work);
}

TEST(a_fetch_of_delayed_work_without_memory_fails_and_loses_no_row)
{
    fetch_without_memory(40, put_delayed, try_work);
}

TEST(a_fetch_of_abandoned_work_without_memory_fails_and_loses_no_row)
{
    fetch_without_memory(1, put_loose, try_work);
}

TEST(a_history_read_without_memory_is_not_half_a_history)
{
    fetch_without_memory(40, put_history, try_history);
}
