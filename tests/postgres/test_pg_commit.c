/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_commit.c -- what a commit writes, and what it leaves alone.
 *
 * The contract's clauses are in tests/conformance; here are the rules of this store's own layout
 * (docs/decisions/0038): rows that are not written twice, lists that follow the state, and texts
 * that the server cannot store.
 */
#include "../harness.h"
#include "../scratch.h"
#include "chains.h"
#include "pawl/provider.h"

#include <string.h>

#define NOW 1700000000000

struct probe {
    struct scratch schema;
    pawl_store *store;
    pawl_fence fence;
    pawl_mem *mem;
};

static void begin(struct probe *p)
{
    pawl_error err = {0};
    *p = (struct probe){.mem = pawl_mem_new()};
    scratch_new(&p->schema);
    p->store = pawl_postgres_store(p->schema.url, PAWL_STORE_OPTS(.now_ms = NOW), &err);
    ck_assert_msg(p->store != NULL, "%s", err.text);
    ck_assert_int_eq(p->store->ops->take(p->store, NOW, &p->fence, &err), PAWL_OK);
}

static void end(struct probe *p)
{
    p->store->ops->close(p->store);
    scratch_drop(&p->schema);
    pawl_mem_free(p->mem);
}

static void commit(struct probe *p, pawl_round *rounds, size_t count)
{
    pawl_error err = {0};
    pawl_status status = p->store->ops->commit(p->store, &p->fence, rounds, count, NOW, &err);
    ck_assert_msg(status == PAWL_OK, "%s", err.text);
}

/* An instance with one event; `row` is what it is. */
static pawl_status start(struct probe *p, pawl_row *row, const char *id, pawl_str name)
{
    pawl_event e = {.execution = 1,
                    .seq = 1,
                    .kind = PAWL_EV_ORCHESTRATION_STARTED,
                    .name = name,
                    .at_ms = NOW};
    *row = (pawl_row){.uid = p->fence.next_id++,
                      .id = pawl_s(id),
                      .orchestration = pawl_s("o"),
                      .state = PAWL_RUNNING,
                      .execution = 1,
                      .last_seq = 1,
                      .created_ms = NOW};
    row->first_rid = row->last_rid = e.rid = p->fence.next_id++;
    pawl_round r = {.uid = row->uid,
                    .execution = 1,
                    .change = PAWL_ROW_INSERT,
                    .row = row,
                    .events = &e,
                    .event_count = 1};
    commit(p, &r, 1);
    return r.result;
}

/* One event more. */
static pawl_status append(struct probe *p, pawl_row *row, pawl_row_change change, int kind,
                          const char *data)
{
    pawl_event e = {.rid = p->fence.next_id++,
                    .execution = 1,
                    .seq = row->last_seq + 1,
                    .kind = kind,
                    .data = pawl_s(data),
                    .at_ms = NOW};
    pawl_round r = {.uid = row->uid,
                    .execution = 1,
                    .base_seq = row->last_seq,
                    .base_rid = row->last_rid,
                    .change = change,
                    .row = row,
                    .events = &e,
                    .event_count = 1};
    row->last_seq++;
    row->last_rid = e.rid;
    commit(p, &r, 1);
    return r.result;
}

static pawl_str output_of(struct probe *p, const pawl_row *row)
{
    pawl_row found;
    ck_assert_int_eq(p->store->ops->find_uid(p->store, row->uid, p->mem, &found, NULL), PAWL_OK);
    return found.output;
}

TEST(an_output_that_the_last_event_has_is_stored_once_postgres)
{
    struct probe p;
    pawl_row row;
    begin(&p);
    ck_assert_int_eq(start(&p, &row, "a", pawl_s("o")), PAWL_OK);
    int64_t before = scratch_number("SELECT xmin::text::bigint FROM %s.instance", p.schema.schema);
    row.state = PAWL_COMPLETED;
    row.output = pawl_s("forty-two");
    ck_assert_int_eq(append(&p, &row, PAWL_ROW_ALL, PAWL_EV_ORCHESTRATION_COMPLETED, "forty-two"),
                     PAWL_OK);
    ck_assert(pawl_str_eq(output_of(&p, &row), pawl_s("forty-two")));
    ck_assert_int_eq(scratch_number("SELECT xmin::text::bigint FROM %s.instance", p.schema.schema),
                     before);
    /* An event behind it: the output stays what it was. */
    ck_assert_int_eq(append(&p, &row, PAWL_ROW_LAST, PAWL_EV_EXTERNAL_EVENT, "late"), PAWL_OK);
    ck_assert(pawl_str_eq(output_of(&p, &row), pawl_s("forty-two")));
    end(&p);
}

static int64_t odd_rows(const struct probe *p, int state)
{
    return scratch_number("SELECT count(*) FROM %s.odd WHERE state=%d OR %d<0", p->schema.schema,
                          state, state);
}

TEST(the_list_of_odd_states_follows_the_state_postgres)
{
    static const pawl_state states[] = {PAWL_SUSPENDED, PAWL_BLOCKED, PAWL_RUNNING,  PAWL_FAILED,
                                        PAWL_FAILED,    PAWL_RUNNING, PAWL_CANCELLED};
    struct probe p;
    pawl_row row;
    begin(&p);
    ck_assert_int_eq(start(&p, &row, "a", pawl_s("o")), PAWL_OK);
    ck_assert_int_eq(odd_rows(&p, -1), 0);
    for (size_t i = 0; i < 7; i++) {
        row.state = states[i];
        ck_assert_int_eq(append(&p, &row, PAWL_ROW_ALL, PAWL_EV_EXTERNAL_EVENT, ""), PAWL_OK);
        ck_assert_int_eq(odd_rows(&p, -1), states[i] != PAWL_RUNNING);
        ck_assert_int_eq(odd_rows(&p, (int)states[i]), states[i] != PAWL_RUNNING);
    }
    pawl_round gone = {.uid = row.uid,
                       .execution = 1,
                       .base_seq = row.last_seq,
                       .base_rid = row.last_rid,
                       .change = PAWL_ROW_REMOVE};
    commit(&p, &gone, 1);
    ck_assert_int_eq(gone.result, PAWL_OK);
    ck_assert_int_eq(odd_rows(&p, -1), 0);
    end(&p);
}

TEST(a_text_that_the_server_cannot_store_refuses_its_round_alone_postgres)
{
    struct probe p;
    pawl_row row;
    begin(&p);
    ck_assert_int_eq(start(&p, &row, "a", (pawl_str){"a\0b", 3}), PAWL_CONFLICT);
    ck_assert_int_eq(start(&p, &row, "b", (pawl_str){"\xff", 1}), PAWL_CONFLICT);
    const pawl_message mail[] = {
        {.id = p.fence.next_id++, .name = {"a\0b", 3}   },
        {.id = p.fence.next_id++, .name = pawl_s("fine")}
    };
    pawl_round two[] = {
        {.messages = &mail[0], .message_count = 1},
        {.messages = &mail[1], .message_count = 1}
    };
    commit(&p, two, 2);
    ck_assert_int_eq(two[0].result, PAWL_CONFLICT);
    ck_assert_int_eq(two[1].result, PAWL_OK);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.message", p.schema.schema), 1);
    end(&p);
}

TEST(two_events_share_a_row_and_no_rid_comes_twice_postgres)
{
    struct probe p;
    pawl_row row;
    begin(&p);
    ck_assert_int_eq(start(&p, &row, "a", pawl_s("o")), PAWL_OK);
    pawl_event e[2];
    for (uint64_t i = 0; i < 2; i++)
        e[i] = (pawl_event){.rid = p.fence.next_id++,
                            .execution = 1,
                            .seq = 2 + i,
                            .kind = PAWL_EV_EXTERNAL_EVENT,
                            .at_ms = NOW};
    row.last_seq = 3;
    row.last_rid = e[1].rid;
    pawl_round r = {.uid = row.uid,
                    .execution = 1,
                    .base_seq = 1,
                    .base_rid = row.first_rid,
                    .change = PAWL_ROW_LAST,
                    .row = &row,
                    .events = e,
                    .event_count = 2};
    commit(&p, &r, 1);
    ck_assert_int_eq(r.result, PAWL_OK);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.history", p.schema.schema), 2);
    /* The second event of that row has no key of its own. */
    pawl_event again = {.rid = e[1].rid, .execution = 1, .seq = 4, .at_ms = NOW};
    row.last_seq = 4;
    pawl_round late = r;
    late.base_seq = 3;
    late.base_rid = e[0].rid;
    late.events = &again;
    late.event_count = 1;
    commit(&p, &late, 1);
    ck_assert_int_eq(late.result, PAWL_CONFLICT);
    end(&p);
}

/* One activity that this process runs, which is the last event. */
static uint64_t schedule(struct probe *p, pawl_row *row)
{
    pawl_event e = {.rid = p->fence.next_id++,
                    .execution = 1,
                    .seq = row->last_seq + 1,
                    .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                    .ref = 1,
                    .name = pawl_s("A"),
                    .at_ms = NOW};
    pawl_work w = {.id = e.rid,
                   .uid = row->uid,
                   .execution = 1,
                   .ref = 1,
                   .instance = row->id,
                   .name = e.name,
                   .scheduled_ms = NOW,
                   .lock_epoch = p->fence.epoch};
    pawl_round r = {.uid = row->uid,
                    .execution = 1,
                    .base_seq = row->last_seq,
                    .base_rid = row->last_rid,
                    .change = PAWL_ROW_LAST,
                    .row = row,
                    .events = &e,
                    .event_count = 1,
                    .work = &w,
                    .work_count = 1};
    row->last_seq++;
    row->last_rid = e.rid;
    commit(p, &r, 1);
    ck_assert_int_eq(r.result, PAWL_OK);
    return w.id;
}

static int64_t open1_of(const struct probe *p)
{
    return scratch_number("SELECT open1 FROM %s.head", p->schema.schema);
}

/* Another owner of the store, as after a restart. */
static void take_again(struct probe *p)
{
    pawl_error err = {0};
    p->store->ops->close(p->store);
    p->store = pawl_postgres_store(p->schema.url, PAWL_STORE_OPTS(.now_ms = NOW), &err);
    ck_assert_msg(p->store != NULL, "%s", err.text);
    ck_assert_int_eq(p->store->ops->take(p->store, NOW, &p->fence, &err), PAWL_OK);
}

static void expect_work(struct probe *p, uint64_t id)
{
    pawl_work_list list = {0};
    pawl_error err = {0};
    ck_assert_int_eq(p->store->ops->read_work(p->store, &id, 1, p->mem, &list, &err), PAWL_OK);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_uint_eq(list.items[0].id, id);
    ck_assert(pawl_str_eq(list.items[0].name, pawl_s("A")));
}

TEST(work_that_is_the_last_event_has_no_number_of_its_own_postgres)
{
    struct probe p;
    pawl_row row;
    begin(&p);
    ck_assert_int_eq(start(&p, &row, "a", pawl_s("o")), PAWL_OK);
    ck_assert_int_eq(open1_of(&p), 0);
    uint64_t work = schedule(&p, &row);
    ck_assert_int_eq(open1_of(&p), -1);
    expect_work(&p, work);
    take_again(&p);
    expect_work(&p, work);
    /* An event behind it, while it runs: now it needs its number. */
    ck_assert_int_eq(append(&p, &row, PAWL_ROW_LAST, PAWL_EV_EXTERNAL_EVENT, "late"), PAWL_OK);
    ck_assert_int_eq(open1_of(&p), (int64_t)work);
    expect_work(&p, work);
    take_again(&p);
    expect_work(&p, work);
    pawl_round done = {.need_work = &work, .need_work_count = 1};
    pawl_round twice = done;
    commit(&p, &done, 1);
    ck_assert_int_eq(done.result, PAWL_OK);
    ck_assert_int_eq(open1_of(&p), 0);
    commit(&p, &twice, 1);
    ck_assert_int_eq(twice.result, PAWL_CONFLICT);
    end(&p);
}

/* A start whose id exists is taken out of its group; what is left is mixed only where it may be. */
TEST(rounds_that_depend_on_each_other_stay_in_order_beside_an_id_that_exists_postgres)
{
    struct probe p;
    pawl_row row, again;
    begin(&p);
    ck_assert_int_eq(start(&p, &row, "a", pawl_s("o")), PAWL_OK);
    pawl_work w = {.id = p.fence.next_id++,
                   .uid = row.uid,
                   .execution = 1,
                   .name = pawl_s("A"),
                   .visible_ms = NOW + 1};
    pawl_round made = {.work = &w, .work_count = 1};
    commit(&p, &made, 1);
    again = row;
    again.uid = p.fence.next_id++;
    again.last_seq = again.last_rid = again.first_rid = 0;
    pawl_round three[] = {
        {.uid = again.uid,      .execution = 1, .change = PAWL_ROW_INSERT, .row = &again},
        {.drop_work = &w.id,        .drop_work_count = 1                     },
        {.need_work = &w.id,.need_work_count = 1},
    };
    commit(&p, three, 3);
    ck_assert_int_eq(three[0].result, PAWL_CONFLICT);
    ck_assert_int_eq(three[1].result, PAWL_OK);
    ck_assert_int_eq(three[2].result, PAWL_CONFLICT); /* it is gone */
    end(&p);
}

/* Schema 4 has the number also where it is the last event: rows that were there stay so. */
TEST(work_of_an_older_schema_goes_on_postgres)
{
    struct scratch schema;
    static struct chains c;
    for (int alone = 0; alone < 2; alone++) { /* both forms of a step */
        scratch_new(&schema);
        chains_begin(&c, &schema, schema.url);
        c.no_mail = true;
        chains_renew(&c, alone ? 1 : 3);
        ck_assert_int_eq(chains_step(&c), PAWL_OK);
        ck_assert(scratch_do("UPDATE %s.head SET open1=last_rid WHERE open1=-1", schema.schema));
        ck_assert_int_eq(chains_step(&c), PAWL_OK);
        ck_assert_int_eq(
            scratch_number("SELECT count(*) FROM %s.head WHERE open1=-1", schema.schema), c.count);
        chains_end(&c);
        scratch_drop(&schema);
    }
}

TEST(the_log_of_commits_is_trimmed_and_keeps_its_end_postgres)
{
    struct probe p;
    begin(&p);
    for (int i = 0; i < 2100; i++)
        commit(&p, NULL, 0);
    int64_t rows = scratch_number("SELECT count(*) FROM %s.lane_log", p.schema.schema);
    ck_assert_msg(rows >= 1024 && rows < 2048, "%lld rows", (long long)rows);
    ck_assert_int_eq(scratch_number("SELECT max(group_no) FROM %s.lane_log", p.schema.schema),
                     2100);
    end(&p);
}

/* Something in between kept the socket of our former connection open, and its transaction the row
 * that every commit locks.  The connection of the test stands for it. */
TEST(a_former_connection_that_keeps_the_lane_is_ended_postgres)
{
    struct probe p;
    pawl_error err = {0};
    bool committed = true;
    begin(&p);
    commit(&p, NULL, 0);
    ck_assert(scratch_do("SELECT pg_terminate_backend(pid) FROM %s.lane", p.schema.schema));
    ck_assert(scratch_do("UPDATE %s.lane SET pid=pg_backend_pid(),started_us=(SELECT"
                         " (extract(epoch FROM backend_start)*1000000)::bigint"
                         " FROM pg_stat_activity WHERE pid=pg_backend_pid())",
                         p.schema.schema));
    ck_assert(scratch_do("BEGIN; SELECT 1 FROM %s.lane FOR UPDATE", p.schema.schema));
    ck_assert_int_eq(p.store->ops->commit(p.store, &p.fence, NULL, 0, NOW, &err), PAWL_UNKNOWN);
    pawl_status status = PAWL_BUSY; /* a commit under way has a few seconds */
    for (int i = 0; i < 3 && status == PAWL_BUSY; i++)
        status = p.store->ops->outcome(p.store, &p.fence, NULL, 0, NOW, &committed, &err);
    ck_assert_msg(status == PAWL_OK, "%s", err.text);
    ck_assert(!committed);
    commit(&p, NULL, 0);
    ck_assert(!scratch_do("COMMIT")); /* it is gone */
    end(&p);
}

TEST(a_store_in_use_is_not_taken_and_its_owner_is_named_postgres)
{
    struct probe p;
    pawl_error err = {0};
    pawl_fence fence;
    begin(&p);
    pawl_store *other = pawl_postgres_store(p.schema.url, PAWL_STORE_OPTS(.now_ms = NOW), &err);
    ck_assert_msg(other != NULL, "%s", err.text);
    ck_assert(scratch_do("UPDATE %s.lane SET owner='elsewhere:1'", p.schema.schema));
    ck_assert_int_eq(other->ops->take(other, NOW, &fence, &err), PAWL_UNAVAILABLE);
    ck_assert_msg(strstr(err.text, "in use by elsewhere:1; stop it") != NULL, "%s", err.text);
    commit(&p, NULL, 0); /* the owner goes on */
    p.store->ops->close(p.store);
    p.store = other; /* its connection is gone: the next owner need not wait for anything */
    ck_assert_int_eq(other->ops->take(other, NOW, &p.fence, &err), PAWL_OK);
    commit(&p, NULL, 0);
    end(&p);
}
