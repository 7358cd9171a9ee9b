/* SPDX-License-Identifier: MIT */
/*
 * suite/case_weak.c -- stores without atomic rounds or delayed visibility: K1 to K5.
 *
 * Skipped by stores that have the capability: there the stronger clauses hold.
 */
#include "suite.h"

static pawl_store_caps caps(struct probe *t)
{
    return caps_of(t);
}

static void only_without_rounds(struct probe *t)
{
    if (caps(t).atomic_rounds)
        probe_skip(t);
}

static void k1_a_committed_round_survives_a_death_whole(struct probe *t)
{
    only_without_rounds(t);
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_event(d, "x");
    draft_event(d, "y");
    draft_message(d, (pawl_message){.ref = 1, .data = pawl_s("m")});
    draft_work(d, (pawl_work){.ref = 2, .name = pawl_s("j")});
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    take(t);
    CHECK_TEXT(history(t, a.uid, 1), "start x y");
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

/* The engine died between append and enqueue: it hands in the rest again. */
static void k2_the_rest_of_a_round_completes_it(struct probe *t)
{
    only_without_rounds(t);
    pawl_row a = make(t, "a");
    for (int i = 0; i < 2; i++) { /* the second time with new ids */
        struct draft *d = free_round(t);
        draft_message(d,
                      (pawl_message){.uid = a.uid, .execution = 1, .ref = 7, .data = pawl_s("m")});
        draft_work(d, (pawl_work){.uid = a.uid, .ref = 7, .name = pawl_s("j")});
        if (i == 1)
            draft_message(
                d, (pawl_message){.uid = a.uid, .execution = 1, .ref = 8, .data = pawl_s("rest")});
        CHECK_STATUS(commit(d), PAWL_OK);
    }
    CHECK_TEXT(mailbox(t, a.uid, NULL), "m rest");
    CHECK_NUMBER(depths(t).work, 1);
}

static void k2_without_a_ref_the_id_tells_rows_apart(struct probe *t)
{
    only_without_rounds(t);
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    uint64_t id = draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("one")});
    draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("two")});
    CHECK_STATUS(commit(d), PAWL_OK);
    d = free_round(t);
    draft_message(d, (pawl_message){.id = id, .uid = a.uid, .data = pawl_s("one")});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "one two");
}

static void k3_the_row_follows_from_the_events(struct probe *t)
{
    only_without_rounds(t);
    pawl_row a = make(t, "a");
    append(t, &a, "x");
    continue_as_new(t, &a, "second");
    append(t, &a, "y");
    die(t);
    pawl_row got = find(t, "a");
    CHECK(got.execution == 2 && got.last_seq == 2);
    CHECK(got.last_rid == a.last_rid && got.first_rid == a.first_rid);
}

static void k5_whole_id_follows_commits_that_are_done(struct probe *t)
{
    only_without_rounds(t);
    pawl_row a = make(t, "a");
    append(t, &a, "x");
    CHECK_NUMBER(t->fence.whole_id, t->fence.next_id);
    uint64_t whole = t->fence.whole_id;
    new_id(t);
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.whole_id, whole);
}

/* Half-done rounds are told by the mark, so it waits until the engine has put them right. */
static void k5_whole_id_stays_while_the_engine_mends(struct probe *t)
{
    only_without_rounds(t);
    pawl_row a = make(t, "a");
    uint64_t whole = t->fence.whole_id;
    t->fence.mending = true;
    append(t, &a, "x");
    CHECK_NUMBER(t->fence.whole_id, whole);
    CHECK(t->fence.mending && t->fence.next_id > whole);
    purge_all(t);
    CHECK_NUMBER(t->fence.whole_id, whole);
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.whole_id, whole);
    CHECK(!t->fence.mending);
    append(t, &a, "y");
    CHECK_NUMBER(t->fence.whole_id, t->fence.next_id);
}

static void k4_rows_come_whatever_their_time(struct probe *t)
{
    if (caps(t).delayed_visibility)
        probe_skip(t);
    pawl_row a = make(t, "a");
    deliver_at(t, &a, "later", t->now + 1000);
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("later"), .visible_ms = t->now + 1000});
    take(t);
    CHECK_TEXT(fetch(t, 10), "later");
    CHECK_TEXT(fetch_jobs(t, 10), "later");
}

static void k5_whole_rounds_are_told_from_others(struct probe *t)
{
    only_without_rounds(t);
    CHECK(t->fence.whole_id > 0);
    pawl_row a = make(t, "a");
    CHECK(t->fence.whole_id > a.last_rid && t->fence.whole_id == t->fence.next_id);
    append(t, &a, "x");
    CHECK(t->fence.whole_id > a.last_rid);
    uint64_t whole = t->fence.whole_id;
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.whole_id, whole);
    CHECK(t->fence.next_id >= whole);
}

const struct probe_case cases_weak[] = {
    CASE(k1_a_committed_round_survives_a_death_whole),
    CASE(k2_the_rest_of_a_round_completes_it),
    CASE(k2_without_a_ref_the_id_tells_rows_apart),
    CASE(k3_the_row_follows_from_the_events),
    CASE(k5_whole_id_follows_commits_that_are_done),
    CASE(k4_rows_come_whatever_their_time),
    CASE(k5_whole_rounds_are_told_from_others),
    CASE(k5_whole_id_stays_while_the_engine_mends),
    CASES_END,
};
