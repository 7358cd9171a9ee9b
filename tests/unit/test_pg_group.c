/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_pg_group.c -- what the PostgreSQL store decides before it asks the server:
 * which work is a number in a head, and which rounds may be mixed.
 */
#include "child.h"
#include "store/postgres/pg_group.h"

#define EPOCH 7

static struct pg_store store;

static void store_begin(void)
{
    store = (struct pg_store){
        .fence = {.epoch = EPOCH, .shards = PAWL_SHARDS_ALL}
    };
    open_work_init(&store.open);
    ck_assert(pg_group_init(&store));
}

static void store_end(void)
{
    open_work_check(&store.open);
    open_work_deinit(&store.open);
    pg_group_deinit(&store);
}

/* ---- Work in heads ------------------------------------------------------------------------- */

/* A step of instance 10: its work `done` ends, `next` begins; 0: neither. */
struct step {
    pawl_row row;
    pawl_event event;
    pawl_work work;
    uint64_t done;
    pawl_round round;
};

static pawl_round *step_of(struct step *s, uint64_t done, uint64_t next)
{
    *s = (struct step){
        .row = {.uid = 10, .id = pawl_s("a"), .execution = 1, .last_seq = 5},
          .done = done
    };
    s->event = (pawl_event){.rid = next,
                            .execution = 1,
                            .seq = 5,
                            .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                            .ref = 3,
                            .name = pawl_s("act"),
                            .at_ms = 100};
    s->row.last_rid = next;
    s->work = (pawl_work){.id = next,
                          .uid = 10,
                          .execution = 1,
                          .ref = 3,
                          .instance = pawl_s("a"),
                          .name = pawl_s("act"),
                          .scheduled_ms = 100,
                          .lock_epoch = EPOCH};
    s->round = (pawl_round){.uid = 10,
                            .execution = 1,
                            .base_seq = 4,
                            .change = PAWL_ROW_LAST,
                            .row = &s->row,
                            .events = &s->event,
                            .event_count = next ? 1 : 0,
                            .work = &s->work,
                            .work_count = next ? 1 : 0,
                            .need_work = &s->done,
                            .need_work_count = done ? 1 : 0};
    return &s->round;
}

static struct open_plan plan_of(const pawl_round *r)
{
    return open_work_plan(&store.open, EPOCH, r);
}

TEST(the_next_work_of_a_step_replaces_the_last_in_its_head)
{
    struct step s;

    store_begin();
    ck_assert(open_work_set(&store.open, 10, 20));
    struct open_plan p = plan_of(step_of(&s, 20, 21));
    ck_assert_uint_eq(p.was, 20);
    ck_assert_uint_eq(p.now, 21);
    ck_assert(open_work_reserve(&store.open, &s.round, 1));
    open_work_apply(&store.open, &s.round, p);
    ck_assert_uint_eq(open_work_of(&store.open, 10), 21);
    ck_assert_uint_eq(open_work_uid(&store.open, 21), 10);
    ck_assert_uint_eq(open_work_uid(&store.open, 20), 0);
    store_end();
}

TEST(work_that_is_not_as_its_event_says_is_in_no_head)
{
    struct step s;

    store_begin();
    ck_assert_uint_eq(plan_of(step_of(&s, 0, 21)).now, 21);
    step_of(&s, 0, 21);
    s.work.attempt = 1;
    ck_assert_uint_eq(plan_of(&s.round).now, 0);
    step_of(&s, 0, 21);
    s.work.lock_epoch = 0; /* another process may run it */
    ck_assert_uint_eq(plan_of(&s.round).now, 0);
    step_of(&s, 0, 21);
    s.round.drop_work = &s.work.id;
    s.round.drop_work_count = 1;
    ck_assert_uint_eq(plan_of(&s.round).now, 0);
    step_of(&s, 0, 21);
    pawl_work_update update = {.id = 21};
    s.round.work_updates = &update;
    s.round.work_update_count = 1;
    ck_assert_uint_eq(plan_of(&s.round).now, 0);
    store_end();
}

TEST(a_head_has_one_work_and_keeps_it_until_it_is_done)
{
    struct step s;

    store_begin();
    ck_assert(open_work_set(&store.open, 10, 20));
    struct open_plan p = plan_of(step_of(&s, 0, 21));
    ck_assert_uint_eq(p.was, 20);
    ck_assert_uint_eq(p.now, 20);
    pawl_work_update update = {.id = 20, .attempt = 1}; /* it becomes a row before */
    s.round.work_updates = &update;
    s.round.work_update_count = 1;
    p = plan_of(&s.round);
    ck_assert_uint_eq(p.was, 0);
    ck_assert_uint_eq(p.now, 21);
    step_of(&s, 20, 21);
    s.round.change = PAWL_ROW_NONE; /* its head is not updated */
    p = plan_of(&s.round);
    ck_assert_uint_eq(p.was, 20);
    ck_assert_uint_eq(p.now, 20);
    store_end();
}

TEST(a_trial_is_taken_back_to_the_last_pair)
{
    struct step s;

    store_begin();
    ck_assert(open_work_set(&store.open, 10, 20));
    ck_assert(open_work_set(&store.open, 11, 19));
    pawl_round *r = step_of(&s, 20, 21);
    ck_assert(open_work_reserve(&store.open, r, 1));
    open_work_try(&store.open);
    open_work_apply(&store.open, r, plan_of(r));
    r = step_of(&s, 19, 0); /* of another instance */
    open_work_apply(&store.open, r, plan_of(r));
    step_of(&s, 0, 0)->change = PAWL_ROW_REMOVE;
    open_work_apply(&store.open, r, plan_of(r));
    ck_assert_uint_eq(store.open.by_uid.count, 0);
    open_work_undo(&store.open);
    ck_assert_uint_eq(open_work_of(&store.open, 10), 20);
    ck_assert_uint_eq(open_work_of(&store.open, 11), 19);
    ck_assert_uint_eq(open_work_uid(&store.open, 21), 0);
    store_end();
}

/* ---- Rounds that may be mixed ---------------------------------------------------------------- */

static bool are_independent(pawl_round a, pawl_round b)
{
    pawl_round both[] = {a, b};

    return rounds_are_independent(store.group, &store, both, 2);
}

static pawl_round none_of(uint64_t uid)
{
    return (pawl_round){.uid = uid, .execution = 1};
}

TEST(rounds_that_name_different_rows_are_independent)
{
    static const uint64_t a = 5, b = 6;
    pawl_round x = {.need_work = &a, .need_work_count = 1};
    pawl_round y = {.drop_work = &b, .drop_work_count = 1};

    store_begin();
    ck_assert(are_independent(x, y));
    y.drop_work = &a;
    ck_assert(!are_independent(x, y));
    ck_assert(are_independent(none_of(3), none_of(3)));
    store_end();
}

TEST(an_instance_is_changed_by_one_round_of_a_group)
{
    struct step s, t;

    store_begin();
    pawl_round *a = step_of(&s, 0, 21), *b = step_of(&t, 0, 22);
    ck_assert(!are_independent(*a, *b));
    b->uid = 11;
    ck_assert(are_independent(*a, *b));
    ck_assert(!are_independent(*a, none_of(10)));
    ck_assert(!are_independent(none_of(10), *a));
    store_end();
}

TEST(a_row_that_one_round_makes_and_another_one_names_orders_them)
{
    static const uint64_t mail = 40;
    const pawl_message m = {.id = 40};
    pawl_round makes = {.messages = &m, .message_count = 1};
    pawl_round drops = {.drop_messages = &mail, .drop_message_count = 1};
    struct step s;

    store_begin();
    ck_assert(!are_independent(makes, drops));
    ck_assert(!are_independent(drops, makes));
    makes.drop_messages = &mail; /* by itself: in order */
    makes.drop_message_count = 1;
    ck_assert(are_independent(makes, none_of(3)));
    pawl_round *r = step_of(&s, 0, 21);
    pawl_round needs = {.need_work = &s.work.id, .need_work_count = 1};
    ck_assert(!are_independent(*r, needs));
    r->need_work = &s.work.id; /* it is to be there before */
    r->need_work_count = 1;
    ck_assert(!are_independent(*r, none_of(3)));
    store_end();
}

TEST(no_two_events_of_a_group_have_one_rid)
{
    struct step s, t;

    store_begin();
    pawl_round *a = step_of(&s, 0, 22), *b = step_of(&t, 0, 21);
    b->uid = 11;
    ck_assert(are_independent(*a, *b)); /* not in order, but different */
    t.event.rid = t.work.id = t.row.last_rid = 22;
    ck_assert(!are_independent(*a, *b));
    store_end();
}

TEST(an_object_is_put_by_one_round_of_a_group)
{
    pawl_object a = {.kind = 1, .name = pawl_s("a")}, b = {.kind = 1, .name = pawl_s("b")};
    pawl_round_extra puts_a = {.size = sizeof(puts_a), .objects = &a, .object_count = 1};
    pawl_round_extra puts_b = {.size = sizeof(puts_b), .objects = &b, .object_count = 1};
    pawl_round x = {.extra = &puts_a}, y = {.extra = &puts_b};

    store_begin();
    ck_assert(are_independent(x, y));
    b.name = pawl_s("a");
    ck_assert(!are_independent(x, y));
    b.kind = 2;
    ck_assert(are_independent(x, y));
    store_end();
}

TEST(a_start_and_a_removal_keep_their_order)
{
    const pawl_row row = {.uid = 30, .id = pawl_s("x"), .execution = 1};
    pawl_round start = {.uid = 30, .execution = 1, .change = PAWL_ROW_INSERT, .row = &row};
    pawl_round gone = {.uid = 10, .execution = 1, .change = PAWL_ROW_REMOVE};

    store_begin();
    ck_assert(are_independent(gone, start));
    ck_assert(!store.group->removes_late);
    ck_assert(are_independent(start, gone));
    ck_assert(store.group->removes_late);
    pawl_round three[] = {start, gone, start};
    three[2].uid = 31;
    ck_assert(!rounds_are_independent(store.group, &store, three, 3));
    store_end();
}

/* What is inserted by a later round has no label yet for an earlier one (E7). */
TEST(a_look_for_the_label_of_what_a_group_makes_keeps_its_order)
{
    pawl_row row = {.uid = 30, .id = pawl_s("x"), .execution = 1};
    pawl_message m = {.id = 20, .instance = pawl_s("x"), .shard = PAWL_SHARD_LOOK};
    pawl_round start = {.uid = 30, .execution = 1, .change = PAWL_ROW_INSERT, .row = &row};
    pawl_round gone = {.uid = 31, .execution = 1, .change = PAWL_ROW_REMOVE};
    pawl_round mail = {.messages = &m, .message_count = 1};

    store_begin();
    ck_assert(!are_independent(mail, start));
    ck_assert(!are_independent(mail, gone)); /* it may have this id */
    m.instance = pawl_s("y");
    ck_assert(are_independent(mail, start));
    m.uid = 30;
    ck_assert(!are_independent(mail, start));
    m.uid = 31;
    ck_assert(!are_independent(mail, gone));
    m.uid = 32;
    ck_assert(are_independent(mail, gone) && are_independent(mail, start));
    m = (pawl_message){.id = 20, .instance = pawl_s("x"), .shard = 3}; /* it has its label */
    ck_assert(are_independent(mail, start) && are_independent(mail, gone));
    store_end();
}

TEST(a_round_on_an_instance_of_another_lane_is_hopeless)
{
    pawl_row row = {.uid = 30, .id = pawl_s("x"), .shard = 5, .execution = 1};
    pawl_round r = {.uid = 30, .execution = 1, .change = PAWL_ROW_INSERT, .row = &row};

    store_begin();
    ck_assert(!round_is_hopeless(&store, &r));
    store.fence.shards = ~(UINT64_C(1) << 5);
    ck_assert(round_is_hopeless(&store, &r) && round_is_elsewhere(&store, &r));
    row.shard = 4;
    ck_assert(!round_is_hopeless(&store, &r));
    store_end();
}

TEST(work_without_an_event_that_a_head_has_is_hopeless)
{
    const pawl_work work = {.id = 20};
    pawl_round r = {.work = &work, .work_count = 1};

    store_begin();
    ck_assert(!round_is_hopeless(&store, &r));
    ck_assert(open_work_set(&store.open, 10, 20));
    ck_assert(round_is_hopeless(&store, &r));
    ck_assert(!are_independent(r, none_of(3)));
    store_end();
}
