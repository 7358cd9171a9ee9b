/* SPDX-License-Identifier: MIT */
/* suite/case_commit.c -- what a round does: C1, C2, C4, C7, C8. */
#include "suite.h"

#include <stdio.h>

/* One of everything on `a`, naming what it adds "new". */
static struct draft *full_round(struct probe *t, pawl_row *a, uint64_t drop, uint64_t need)
{
    struct draft *d = change_all(t, a);
    draft_event(d, "new");
    d->row.custom_status = pawl_s("new");
    draft_drop_message(d, drop);
    draft_need_work(d, need);
    draft_mail(d, "new");
    draft_job(d, "new");
    draft_key(d, "new");
    return d;
}

static void c1_everything_in_a_round_appears_together(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "old"), j = enqueue(t, &a, "old");
    CHECK_STATUS(commit(full_round(t, &a, m, j)), PAWL_OK);
    CHECK_TEXT(history(t, a.uid, 1), "start new");
    CHECK(pawl_str_is(find(t, "a").custom_status, "new"));
    CHECK_TEXT(mailbox(t, a.uid, NULL), "new");
    CHECK_TEXT(fetch_jobs(t, 10), "new");
    CHECK_STATUS(t->store->ops->has_key(t->store, a.uid, pawl_s("new"), NULL), PAWL_OK);
}

static void c1_a_refused_round_leaves_nothing_behind(struct probe *t)
{
    pawl_row a = make(t, "a"), stale = a;
    append(t, &a, "x");
    uint64_t m = deliver(t, &a, "old"), j = enqueue(t, &a, "old");
    CHECK_STATUS(commit(full_round(t, &stale, m, j)), PAWL_CONFLICT);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
    CHECK_NUMBER(find(t, "a").custom_status.len, 0);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "old");
    CHECK_TEXT(fetch_jobs(t, 10), "old");
    CHECK_STATUS(t->store->ops->has_key(t->store, a.uid, pawl_s("new"), NULL), PAWL_EMPTY);
}

/* What is refused last in the round must undo what came first in it. */
static void c1_a_refusal_by_the_last_part_undoes_the_first(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "old"), j = enqueue(t, &a, "old");
    struct draft *d = full_round(t, &a, m, j);
    draft_need_work(d, new_id(t));
    pawl_row before = a;
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_TEXT(history(t, a.uid, 1), "start");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "old");
    CHECK_TEXT(fetch(t, 10), "old");
    CHECK_TEXT(fetch_jobs(t, 10), "old");
    a = before;
    append(t, &a, "goes on");
    CHECK_TEXT(history(t, a.uid, 1), "start goes on");
}

static void c1_two_completions_of_one_work_row_only_one_wins(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue(t, &a, "j");
    struct draft *two[] = {free_round(t), free_round(t)};
    for (int i = 0; i < 2; i++) {
        draft_need_work(two[i], j);
        draft_message(two[i], (pawl_message){.uid = a.uid, .data = pawl_s(i ? "second" : "first")});
    }
    CHECK_STATUS(commit_all(t, two, 2), PAWL_OK);
    CHECK_STATUS(two[0]->round.result, PAWL_OK);
    CHECK_STATUS(two[1]->round.result, PAWL_CONFLICT);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "first");
}

static void c2_refused_round_leaves_the_others_committed(struct probe *t)
{
    for (int bad = 0; bad < 3; bad++) {
        char names[3][32];
        pawl_row rows[3], fresh[3];
        struct draft *drafts[3];
        for (int i = 0; i < 3; i++) {
            snprintf(names[i], sizeof(names[i]), "row-%d-%d", bad, i);
            rows[i] = fresh[i] = make(t, names[i]);
        }
        append(t, &fresh[bad], "newer");
        for (int i = 0; i < 3; i++) {
            drafts[i] = change(t, &rows[i]);
            draft_event(drafts[i], "x");
        }
        CHECK_STATUS(commit_all(t, drafts, 3), PAWL_OK);
        for (int i = 0; i < 3; i++) {
            CHECK_STATUS(drafts[i]->round.result, i == bad ? PAWL_CONFLICT : PAWL_OK);
            CHECK_TEXT(history(t, rows[i].uid, 1), i == bad ? "start newer" : "start x");
        }
    }
}

static void c2_every_other_round_of_many_refused(struct probe *t)
{
    enum { ROUNDS = 200 };
    struct draft *drafts[ROUNDS];
    char name[ROUNDS][24];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name[i], sizeof(name[i]), "i-%03d", i / 2); /* each id twice */
        drafts[i] = insert(t, name[i]);
    }
    CHECK_STATUS(commit_all(t, drafts, ROUNDS), PAWL_OK);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_STATUS(drafts[i]->round.result, i % 2 ? PAWL_CONFLICT : PAWL_OK);
        CHECK_NUMBER(find(t, name[i]).uid, drafts[i & ~1]->row.uid);
    }
    CHECK_NUMBER(depths(t).instances, ROUNDS / 2);
}

static void c2_a_good_round_after_a_refused_one_on_the_same_instance(struct probe *t)
{
    pawl_row a = make(t, "a"), stale = a, same = a;
    stale.last_seq = 7;
    struct draft *two[] = {change(t, &stale), change(t, &same)};
    draft_event(two[0], "bad");
    draft_event(two[1], "good");
    CHECK_STATUS(commit_all(t, two, 2), PAWL_OK);
    CHECK_STATUS(two[0]->round.result, PAWL_CONFLICT);
    CHECK_STATUS(two[1]->round.result, PAWL_OK);
    CHECK_TEXT(history(t, a.uid, 1), "start good");
}

static void c2_rounds_of_one_commit_build_on_each_other(struct probe *t)
{
    struct draft *first = insert(t, "a");
    struct draft *second = change(t, &first->row), *third;
    draft_event(second, "x");
    uint64_t j = draft_job(second, "j");
    third = change(t, &second->row);
    draft_event(third, "y");
    draft_need_work(third, j);
    first->from = second->from = NULL;
    struct draft *all[] = {first, second, third};
    CHECK_STATUS(commit_all(t, all, 3), PAWL_OK);
    CHECK_STATUS(third->round.result, PAWL_OK);
    CHECK_TEXT(history(t, first->row.uid, 1), "start x y");
    CHECK_NUMBER(depths(t).work, 0);
}

static void c4_what_was_committed_survives_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change_all(t, &a);
    draft_event(d, "x");
    d->row.state = PAWL_SUSPENDED;
    d->row.custom_status = pawl_s("50%");
    draft_mail(d, "m");
    draft_job(d, "j");
    draft_key(d, "key");
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
    CHECK_NUMBER(find(t, "a").state, PAWL_SUSPENDED);
    CHECK(pawl_str_is(find(t, "a").custom_status, "50%"));
    CHECK_TEXT(mailbox(t, a.uid, NULL), "m");
    CHECK_STATUS(t->store->ops->has_key(t->store, a.uid, pawl_s("key"), NULL), PAWL_OK);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void c4_deaths_between_commits_lose_nothing(struct probe *t)
{
    pawl_row a = make(t, "a");
    for (int i = 0; i < 5; i++) {
        append(t, &a, "x");
        die(t);
        take(t);
    }
    CHECK_TEXT(history(t, a.uid, 1), "start x x x x x");
}

static void c7_inserted_messages_are_taken(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    uint64_t m = draft_mail(d, "m");
    draft_message(d, (pawl_message){.data = pawl_s("now"), .visible_ms = t->now});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "");
    t->store->ops->abandon_messages(t->store, &m, 1);
    CHECK_TEXT(fetch(t, 10), "m");
}

static void c7_m1_inserted_messages_of_the_future_are_fetched_in_time(struct probe *t)
{
    needs_delays(t);
    pawl_row a = make(t, "a");
    deliver_at(t, &a, "timer", t->now + 1);
    CHECK_TEXT(fetch(t, 10), "");
    tick(t, 1);
    CHECK_TEXT(fetch(t, 10), "timer");
}

static void c7_inserted_work_is_free_unless_locked(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_work(d, (pawl_work){.name = pawl_s("mine"), .lock_epoch = t->fence.epoch});
    draft_job(d, "free");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch_jobs(t, 10), "free");
    CHECK_NUMBER(depths(t).work, 2);
}

static void c8_work_inserted_and_dropped_in_one_round_is_nothing(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_drop_work(d, draft_job(d, "never"));
    draft_job(d, "stays");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch_jobs(t, 10), "stays");
    CHECK_NUMBER(depths(t).work, 1);
}

static void c8_message_inserted_and_dropped_in_one_round_is_nothing(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_drop_message(d, draft_message(d, (pawl_message){.visible_ms = t->now + 10}));
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(depths(t).messages, 0);
    CHECK(next_due(t, t->now) == INT64_MAX);
}

static void c8_dropping_many_deletes_just_those(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a), *drop = change(t, &a);
    for (int i = 0; i < 100; i++) {
        uint64_t id = draft_job(d, i % 2 ? "odd" : "even");
        if (i % 2 == 0)
            draft_drop_work(drop, id);
    }
    d->from = NULL;
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_STATUS(commit(drop), PAWL_OK);
    CHECK_NUMBER(depths(t).work, 50);
    CHECK_TEXT(fetch_named(t, "even", 100), "");
}

static void c8_missing_rows_are_no_error(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m"), j = enqueue(t, &a, "j");
    for (int i = 0; i < 2; i++) { /* the second time nothing is there */
        struct draft *d = change(t, &a);
        draft_event(d, "x");
        draft_drop_message(d, m);
        draft_drop_work(d, j);
        draft_update_message(d, (pawl_message_update){.id = m + 1000000});
        draft_update_work(d, (pawl_work_update){.id = j + 1000000});
        draft_quarantine(d, m + 1000000, "none");
        CHECK_STATUS(commit(d), PAWL_OK);
    }
    CHECK_TEXT(history(t, a.uid, 1), "start x x");
    CHECK_NUMBER(depths(t).messages + depths(t).work + depths(t).quarantine, 0);
}

static void c8_a_dropped_row_does_not_come_back_by_an_update(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m"), j = enqueue(t, &a, "j");
    struct draft *d = free_round(t);
    draft_drop_message(d, m);
    draft_update_message(d, (pawl_message_update){.id = m});
    draft_drop_work(d, j);
    draft_update_work(d, (pawl_work_update){.id = j});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void c8_a_dropped_message_may_be_inserted_again_in_its_old_place(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    uint64_t first =
        draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("first"), .mailbox = true});
    draft_message(d, (pawl_message){.uid = a.uid, .data = pawl_s("second"), .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    d = free_round(t);
    draft_drop_message(d, first);
    CHECK_STATUS(commit(d), PAWL_OK);
    d = free_round(t);
    draft_message(
        d, (pawl_message){.id = first, .uid = a.uid, .data = pawl_s("first"), .mailbox = true});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "first second");
    die(t);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "first second");
}

const struct probe_case cases_commit[] = {
    CASE(c1_everything_in_a_round_appears_together),
    CASE(c1_a_refused_round_leaves_nothing_behind),
    CASE(c1_a_refusal_by_the_last_part_undoes_the_first),
    CASE(c1_two_completions_of_one_work_row_only_one_wins),
    CASE(c2_refused_round_leaves_the_others_committed),
    CASE(c2_every_other_round_of_many_refused),
    CASE(c2_a_good_round_after_a_refused_one_on_the_same_instance),
    CASE(c2_rounds_of_one_commit_build_on_each_other),
    CASE(c4_what_was_committed_survives_a_death),
    CASE(c4_deaths_between_commits_lose_nothing),
    CASE(c7_inserted_messages_are_taken),
    CASE(c7_m1_inserted_messages_of_the_future_are_fetched_in_time),
    CASE(c7_inserted_work_is_free_unless_locked),
    CASE(c8_work_inserted_and_dropped_in_one_round_is_nothing),
    CASE(c8_message_inserted_and_dropped_in_one_round_is_nothing),
    CASE(c8_dropping_many_deletes_just_those),
    CASE(c8_missing_rows_are_no_error),
    CASE(c8_a_dropped_message_may_be_inserted_again_in_its_old_place),
    CASE(c8_a_dropped_row_does_not_come_back_by_an_update),
    CASES_END,
};
