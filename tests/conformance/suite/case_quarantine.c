/* SPDX-License-Identifier: MIT */
/* suite/case_quarantine.c -- messages put aside, never lost: M5, Q1. */
#include "suite.h"

static void q1_a_quarantined_message_is_there_and_nowhere_else(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    uint64_t m = draft_message(
        d, (pawl_message){.uid = a.uid, .name = pawl_s("Paid"), .data = pawl_s("poison")});
    CHECK_STATUS(commit(d), PAWL_OK);
    deliver(t, &a, "good");
    d = free_round(t);
    draft_quarantine(d, m, "tried \"5\" times");
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    take(t);
    CHECK_TEXT(fetch(t, 10), "good");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "good");
    pawl_message_list list = {0};
    CHECK_STATUS(t->store->ops->read_quarantine(t->store, 10, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 1);
    CHECK(list.items[0].id == m && list.items[0].uid == a.uid);
    CHECK(pawl_str_is(list.items[0].name, "Paid") && pawl_str_is(list.items[0].data, "poison"));
    CHECK(pawl_str_is(list.items[0].attrs, "{\"reason\":\"tried \\\"5\\\" times\"}"));
}

/* A reason that was cut to a length may end inside a character. */
static void q1_a_reason_is_any_bytes(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    uint64_t m = draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("poison")});
    CHECK_STATUS(commit(d), PAWL_OK);
    d = free_round(t);
    draft_quarantine(d, m, "cut \xc3");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(quarantined(t, 10), "poison");
}

static void q1_newest_first_up_to_the_limit(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t ids[] = {deliver(t, &a, "1"), deliver(t, &a, "2"), deliver(t, &a, "3")};
    for (int i = 0; i < 3; i++) {
        struct draft *d = free_round(t);
        draft_quarantine(d, ids[i], "test");
        CHECK_STATUS(commit(d), PAWL_OK);
    }
    CHECK_TEXT(quarantined(t, 10), "3 2 1");
    CHECK_TEXT(quarantined(t, 2), "3 2");
    CHECK_NUMBER(depths(t).quarantine, 3);
}

static void q1_c1_quarantine_is_part_of_the_round(struct probe *t)
{
    pawl_row a = make(t, "a"), stale = a;
    uint64_t m = deliver(t, &a, "m");
    append(t, &a, "x");
    struct draft *d = change(t, &stale);
    draft_quarantine(d, m, "test");
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_TEXT(quarantined(t, 10), "");
    CHECK_TEXT(fetch(t, 10), "m");
}

static void q1_taken_and_mailbox_messages_can_be_put_aside(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t taken = deliver(t, &a, "taken");
    CHECK_TEXT(fetch(t, 10), "taken");
    struct draft *d = free_round(t);
    uint64_t kept =
        draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("kept"), .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    d = free_round(t);
    draft_quarantine(d, taken, "test");
    draft_quarantine(d, kept, "test");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(depths(t).quarantine, 2);
    CHECK_NUMBER(depths(t).messages, 0);
    t->store->ops->abandon_messages(t->store, &taken, 1);
    CHECK_TEXT(fetch(t, 10), "");
}

static void m5_an_undecodable_message_is_put_aside_and_blocks_nobody(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t bad = deliver(t, &a, "bad");
    deliver(t, &a, "good");
    if (!t->factory->damage ||
        !t->factory->damage(t->factory->user, t->store, PAWL_DAMAGE_MESSAGE, bad))
        probe_skip(t);
    CHECK_TEXT(fetch(t, 1), "good"); /* not an empty answer because of its neighbour (M2) */
    CHECK_NUMBER(depths(t).quarantine, 1);
    CHECK_NUMBER(depths(t).messages, 1);
    die(t);
    take(t);
    CHECK_TEXT(fetch(t, 10), "good");
    pawl_message_list list = {0};
    CHECK_STATUS(t->store->ops->read_quarantine(t->store, 10, t->mem, &list, NULL), PAWL_OK);
    CHECK(list.count == 1 && list.items[0].id == bad);
}

const struct probe_case cases_quarantine[] = {
    CASE(q1_a_quarantined_message_is_there_and_nowhere_else),
    CASE(q1_a_reason_is_any_bytes),
    CASE(q1_newest_first_up_to_the_limit),
    CASE(q1_c1_quarantine_is_part_of_the_round),
    CASE(q1_taken_and_mailbox_messages_can_be_put_aside),
    CASE(m5_an_undecodable_message_is_put_aside_and_blocks_nobody),
    CASES_END,
};
