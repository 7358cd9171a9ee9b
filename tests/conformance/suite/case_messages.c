/* SPDX-License-Identifier: MIT */
/* suite/case_messages.c -- mail for instances: M1 to M4, A1, A2, R3. */
#include "suite.h"

#include <stdio.h>

static void m1_oldest_first_by_time_then_id(struct probe *t)
{
    pawl_row a = make(t, "a"), b = make(t, "b");
    deliver_at(t, &a, "c", t->now + 20);
    deliver_at(t, &b, "a", t->now + 10);
    deliver_at(t, &a, "d", t->now + 20);
    deliver_at(t, &a, "b", t->now + 10);
    deliver(t, &b, "first");
    tick(t, 30);
    CHECK_TEXT(fetch(t, 10), "first a b c d");
}

static void m1_a_fetched_message_is_not_fetched_again(struct probe *t)
{
    pawl_row a = make(t, "a");
    deliver(t, &a, "m");
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch(t, 10), "");
    tick(t, PAWL_HOURS(1)); /* taking is no lease */
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "m");
}

static void m1_messages_that_arrive_later_are_fetched_alone(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t first = deliver(t, &a, "first");
    CHECK_TEXT(fetch(t, 10), "first");
    deliver(t, &a, "second");
    CHECK_TEXT(fetch(t, 10), "second");
    struct draft *d = change(t, &a);
    draft_drop_message(d, first); /* the ack of what was fetched touches nothing else */
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "second");
}

static void m1_the_limit_holds_and_the_rest_follows(struct probe *t)
{
    pawl_row a = make(t, "a");
    for (int i = 0; i < 5; i++)
        deliver(t, &a, "m");
    CHECK_TEXT(fetch(t, 2), "m m");
    CHECK_TEXT(fetch(t, 2), "m m");
    CHECK_TEXT(fetch(t, 2), "m");
    CHECK_TEXT(fetch(t, 2), "");
}

static void m1_mailbox_messages_are_not_fetched(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "early");
    CHECK_TEXT(fetch(t, 10), "early");
    struct draft *d = free_round(t);
    draft_update_message(d, (pawl_message_update){.id = m, .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "");
    die(t);
    take(t);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "early");
    CHECK(message(t, a.uid, m).mailbox);
}

static void m1_an_inserted_mailbox_message_is_not_fetched(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("kept"), .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    take(t);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "kept");
}

static void m1_leaving_the_mailbox_makes_it_fetchable(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m");
    struct draft *in = free_round(t), *out = free_round(t);
    draft_update_message(in, (pawl_message_update){.id = m, .mailbox = true});
    draft_update_message(out, (pawl_message_update){.id = m});
    CHECK_STATUS(commit(in), PAWL_OK);
    CHECK_STATUS(commit(out), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "m");
}

static void m1_an_update_frees_counts_and_delays(struct probe *t)
{
    needs_delays(t);
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m"), other = deliver(t, &a, "other");
    CHECK_TEXT(fetch(t, 10), "m other");
    struct draft *d = free_round(t);
    draft_update_message(d,
                         (pawl_message_update){.id = m, .visible_ms = t->now + 100, .attempt = 3});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "");
    tick(t, 100);
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_NUMBER(message(t, a.uid, m).attempt, 3);
    CHECK_NUMBER(message(t, a.uid, other).attempt, 0); /* per message */
}

static void m2_empty_only_when_nothing_is_there(struct probe *t)
{
    pawl_row a = make(t, "a");
    CHECK_TEXT(fetch(t, 1), "");
    uint64_t taken[50];
    for (int i = 0; i < 50; i++)
        taken[i] = deliver(t, &a, "taken");
    fetch(t, 50);
    struct draft *d = free_round(t); /* as many in a mailbox, as many in the future */
    for (int i = 0; i < 50; i++) {
        draft_message(d, (pawl_message){.uid = a.uid, .mailbox = true});
        draft_message(d, (pawl_message){.uid = a.uid, .visible_ms = t->now + 10});
    }
    CHECK_STATUS(commit(d), PAWL_OK);
    deliver(t, &a, "ready");
    CHECK_TEXT(fetch(t, 1), "ready");
    CHECK_TEXT(fetch(t, 1), "");
    t->store->ops->abandon_messages(t->store, &taken[49], 1);
    CHECK_TEXT(fetch(t, 1), "taken");
}

static void m2_every_one_of_many_is_fetched_once(struct probe *t)
{
    enum { TOTAL = 20000, PAGE = 700 };
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    for (int i = 0; i < TOTAL; i++)
        draft_message(d, (pawl_message){.uid = a.uid, .visible_ms = t->now + 1 + i % 7});
    CHECK_STATUS(commit(d), PAWL_OK);
    tick(t, 10);
    int64_t seen = 0, time = 0;
    uint64_t id = 0;
    for (;;) {
        pawl_message_list list = {0};
        CHECK_STATUS(t->store->ops->fetch_messages(t->store, t->now, PAGE, t->mem, &list, NULL),
                     PAWL_OK);
        for (size_t i = 0; i < list.count; i++) {
            const pawl_message *m = &list.items[i];
            CHECK(m->visible_ms > time || (m->visible_ms == time && m->id > id));
            time = m->visible_ms;
            id = m->id;
        }
        seen += (int64_t)list.count;
        if (list.count == 0)
            break;
    }
    CHECK_NUMBER(seen, TOTAL);
}

static void m3_never_before_its_time(struct probe *t)
{
    pawl_row a = make(t, "a");
    deliver_at(t, &a, "timer", t->now + 1000);
    tick(t, 999);
    CHECK_TEXT(fetch(t, 10), "");
    die(t);
    take(t);
    CHECK_TEXT(fetch(t, 10), "");
    tick(t, 1);
    CHECK_TEXT(fetch(t, 10), "timer");
}

static void m3_a_clock_that_steps_back_fires_nothing_early_or_twice(struct probe *t)
{
    pawl_row a = make(t, "a");
    deliver_at(t, &a, "one", t->now + 100);
    deliver_at(t, &a, "two", t->now + 200);
    tick(t, 150);
    CHECK_TEXT(fetch(t, 10), "one");
    tick(t, -100);
    CHECK_TEXT(fetch(t, 10), "");
    tick(t, 150);
    CHECK_TEXT(fetch(t, 10), "two");
}

static void m4_messages_of_unknown_instances_block_nobody(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    draft_message(d, (pawl_message){.uid = new_id(t), .data = pawl_s("by-uid")});
    draft_message(d, (pawl_message){.instance = pawl_s("typo"), .data = pawl_s("by-name")});
    CHECK_STATUS(commit(d), PAWL_OK);
    deliver(t, &a, "known");
    take(t);
    CHECK_TEXT(fetch(t, 10), "by-uid by-name known");
    CHECK_NUMBER(depths(t).instances, 1); /* enqueueing makes no instance */
}

static void m4_r3_messages_by_name_are_found_by_name(struct probe *t)
{
    struct draft *d = free_round(t);
    draft_message(d, (pawl_message){.instance = pawl_s("x"), .data = pawl_s("for-x")});
    draft_message(d, (pawl_message){.instance = pawl_s("y"), .data = pawl_s("for-y")});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(mailbox(t, 0, "x"), "for-x");
    CHECK_TEXT(mailbox(t, 0, "y"), "for-y");
    CHECK_TEXT(mailbox(t, 0, "z"), "");
    CHECK_TEXT(mailbox(t, 0, ""), "for-x for-y"); /* everybody's */
    take(t);
    CHECK_TEXT(fetch(t, 10), "for-x for-y");
}

static void a1_abandoned_messages_come_back_in_order(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t ids[3] = {deliver(t, &a, "1"), deliver(t, &a, "2"), deliver(t, &a, "3")};
    CHECK_TEXT(fetch(t, 10), "1 2 3");
    t->store->ops->abandon_messages(t->store, ids + 1, 2);
    t->store->ops->abandon_messages(t->store, ids, 1);
    CHECK_TEXT(fetch(t, 10), "1 2 3");
    CHECK_NUMBER(message(t, a.uid, ids[0]).attempt, 0); /* giving back blames nobody */
}

static void a2_abandoning_what_is_not_there_is_no_error(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m");
    uint64_t ids[] = {m, m, m + 1000, 0};
    t->store->ops->abandon_messages(t->store, ids, 4);
    t->store->ops->abandon_work(t->store, ids, 4);
    t->store->ops->abandon_messages(t->store, NULL, 0);
    CHECK_TEXT(fetch(t, 10), "m");
}

static void a2_abandoning_a_dropped_message_does_not_revive_it(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m");
    CHECK_TEXT(fetch(t, 10), "m");
    struct draft *d = free_round(t);
    draft_drop_message(d, m);
    CHECK_STATUS(commit(d), PAWL_OK);
    t->store->ops->abandon_messages(t->store, &m, 1);
    CHECK_TEXT(fetch(t, 10), "");
}

static void r3_every_message_of_an_instance_by_time_then_id(struct probe *t)
{
    needs_delays(t);
    pawl_row a = make(t, "a"), b = make(t, "b");
    deliver_at(t, &a, "later", t->now + 10);
    deliver(t, &a, "taken");
    CHECK_TEXT(fetch(t, 10), "taken");
    deliver(t, &a, "ready");
    struct draft *d = free_round(t);
    draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("mailbox"), .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    deliver(t, &b, "other");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "taken ready mailbox later");
    CHECK_TEXT(mailbox(t, b.uid, NULL), "other");
    CHECK_TEXT(mailbox(t, 424242, NULL), "");
}

static void r3_every_field_of_a_message_comes_back(struct probe *t)
{
    pawl_row a = make(t, "a");
    pawl_message in = {.id = new_id(t),
                       .uid = a.uid,
                       .kind = PAWL_MSG_ACTIVITY_FAILED,
                       .execution = 7,
                       .ref = 8,
                       .name = pawl_s("name"),
                       .data = pawl_s("data"),
                       .attrs = pawl_s("{\"attempts\":2}"),
                       .visible_ms = t->now + 9,
                       .created_ms = t->now - 10,
                       .attempt = 11};
    struct draft *d = free_round(t);
    draft_message(d, in);
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    take(t);
    tick(t, 9);
    pawl_message_list list = {0};
    CHECK_STATUS(t->store->ops->fetch_messages(t->store, t->now, 5, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 1);
    pawl_message out[2] = {message(t, a.uid, in.id), list.items[0]};
    for (int i = 0; i < 2; i++) {
        CHECK(out[i].id == in.id && out[i].uid == in.uid && out[i].kind == in.kind);
        CHECK(out[i].execution == 7 && out[i].ref == 8 && out[i].attempt == 11);
        CHECK(pawl_str_eq(out[i].name, in.name) && pawl_str_eq(out[i].data, in.data));
        CHECK(pawl_str_eq(out[i].attrs, in.attrs) && !out[i].mailbox);
        CHECK(out[i].visible_ms == in.visible_ms && out[i].created_ms == in.created_ms);
    }
}

const struct probe_case cases_messages[] = {
    CASE(m1_oldest_first_by_time_then_id),
    CASE(m1_a_fetched_message_is_not_fetched_again),
    CASE(m1_messages_that_arrive_later_are_fetched_alone),
    CASE(m1_the_limit_holds_and_the_rest_follows),
    CASE(m1_mailbox_messages_are_not_fetched),
    CASE(m1_an_inserted_mailbox_message_is_not_fetched),
    CASE(m1_leaving_the_mailbox_makes_it_fetchable),
    CASE(m1_an_update_frees_counts_and_delays),
    CASE(m2_empty_only_when_nothing_is_there),
    CASE(m2_every_one_of_many_is_fetched_once),
    CASE(m3_never_before_its_time),
    CASE(m3_a_clock_that_steps_back_fires_nothing_early_or_twice),
    CASE(m4_messages_of_unknown_instances_block_nobody),
    CASE(m4_r3_messages_by_name_are_found_by_name),
    CASE(a1_abandoned_messages_come_back_in_order),
    CASE(a2_abandoning_what_is_not_there_is_no_error),
    CASE(a2_abandoning_a_dropped_message_does_not_revive_it),
    CASE(r3_every_message_of_an_instance_by_time_then_id),
    CASE(r3_every_field_of_a_message_comes_back),
    CASES_END,
};
