/* SPDX-License-Identifier: MIT */
/* suite/case_fence.c -- who owns the store: T1 to T5, C5. */
#include "suite.h"

static void t1_every_take_gives_a_greater_epoch(struct probe *t)
{
    for (int i = 0; i < 5; i++) {
        uint64_t before = t->fence.epoch;
        take(t);
        CHECK(t->fence.epoch > before);
    }
}

static void t1_epochs_grow_over_a_death(struct probe *t)
{
    uint64_t before = t->fence.epoch;
    die(t);
    take(t);
    CHECK(t->fence.epoch > before);
}

static void t2_next_id_is_above_everything_committed(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_event(d, "x");
    draft_mail(d, "m");
    uint64_t last = draft_job(d, "j");
    CHECK_STATUS(commit(d), PAWL_OK);
    take(t);
    CHECK(t->fence.next_id > last);
    die(t);
    take(t);
    CHECK(t->fence.next_id > last);
}

static void t2_c5_next_id_is_kept_when_every_round_was_refused(struct probe *t)
{
    pawl_row a = make(t, "a"), ghost = a;
    ghost.uid = new_id(t);
    CHECK_STATUS(commit(change(t, &ghost)), PAWL_CONFLICT);
    uint64_t next = t->fence.next_id;
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.next_id, next);
}

static void t3_fetched_rows_are_free_after_a_take(struct probe *t)
{
    pawl_row a = make(t, "a");
    deliver(t, &a, "m");
    enqueue(t, &a, "j");
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    take(t);
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void t3_fetched_rows_are_free_after_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    deliver(t, &a, "m");
    enqueue(t, &a, "j");
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    die(t);
    take(t);
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void t3_c7_rows_inserted_as_taken_are_free_after_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_mail(d, "m");
    draft_work(d, (pawl_work){.name = pawl_s("j"), .lock_epoch = t->fence.epoch});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(fetch_jobs(t, 10), "");
    die(t);
    take(t);
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void t3_w1_leases_by_token_outlive_their_engine(struct probe *t)
{
    pawl_row a = make(t, "a");
    enqueue_work(t, &a,
                 (pawl_work){.name = pawl_s("leased"),
                             .lock_token = pawl_s("token-1"),
                             .lock_until_ms = t->now + 5000});
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    die(t);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 5000);
    CHECK_TEXT(fetch_jobs(t, 10), "leased");
}

/* Everything a round can hold, by an engine that does not know it was replaced. */
static void t4_c5_late_commit_of_an_old_epoch_changes_nothing(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver(t, &a, "m"), j = enqueue(t, &a, "j");
    pawl_fence old = t->fence;
    take(t);
    pawl_fence owner = t->fence;
    t->fence = old;
    struct draft *d = change(t, &a);
    draft_event(d, "late");
    draft_mail(d, "late");
    draft_job(d, "late");
    draft_drop_message(d, m);
    draft_need_work(d, j);
    draft_key(d, "late");
    CHECK_STATUS(commit(d), PAWL_FENCED);
    CHECK_STATUS(commit(insert(t, "b")), PAWL_FENCED);
    CHECK_STATUS(commit_all(t, NULL, 0), PAWL_FENCED);

    t->fence = owner;
    CHECK_TEXT(history(t, a.uid, 1), "start");
    CHECK_TEXT(mailbox(t, a.uid, NULL), "m");
    CHECK_NUMBER(depths(t).work, 1);
    CHECK_NUMBER(find(t, "b").uid, 0);
    CHECK_STATUS(t->store->ops->has_key(t->store, a.uid, pawl_s("late"), NULL), PAWL_EMPTY);
    take(t);
    CHECK_NUMBER(t->fence.group_no, owner.group_no);
    CHECK_NUMBER(t->fence.next_id, owner.next_id);
}

static void t4_two_engines_in_turn_only_the_newest_commits(struct probe *t)
{
    pawl_row a = make(t, "a"), mine = a;
    pawl_fence first = t->fence;
    take(t);
    append(t, &mine, "second");
    pawl_fence second = t->fence;
    t->fence = first;
    struct draft *d = change(t, &a);
    draft_event(d, "first");
    CHECK_STATUS(commit(d), PAWL_FENCED);
    t->fence = second;
    append(t, &mine, "again");
    CHECK_TEXT(history(t, a.uid, 1), "start second again");
}

static void t4_nobody_commits_without_a_take(struct probe *t)
{
    pawl_error err = {0};
    t->factory->close(t->factory->user, t->store); /* a store that was never taken */
    t->store = t->first = t->factory->open(t->factory->user, &err);
    CHECK(t->store);
    t->fence = (pawl_fence){.epoch = 0, .next_id = 100};
    CHECK_STATUS(commit(insert(t, "a")), PAWL_FENCED);
    CHECK_NUMBER(find(t, "a").uid, 0);
}

static void t4_p3_x3_purge_and_prune_of_an_old_epoch_are_fenced(struct probe *t)
{
    pawl_row a = make(t, "a");
    continue_as_new(t, &a, "again");
    pawl_fence old = t->fence;
    uint64_t count = 0;
    bool left = false;
    take(t);
    CHECK_STATUS(t->store->ops->purge(t->store, &old, 10, &left, NULL), PAWL_FENCED);
    CHECK_STATUS(t->store->ops->prune_executions(t->store, &old, a.uid, 2, &count, NULL),
                 PAWL_FENCED);
    CHECK_TEXT(history(t, a.uid, 1), "start continued");
}

static void t5_take_tells_the_last_group_and_does_not_move_it(struct probe *t)
{
    make(t, "a");
    make(t, "b");
    uint64_t group = t->fence.group_no;
    take(t);
    CHECK_NUMBER(t->fence.group_no, group);
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.group_no, group);
}

static void c5_group_no_counts_commits_not_rounds(struct probe *t)
{
    uint64_t group = t->fence.group_no;
    struct draft *three[] = {insert(t, "a"), insert(t, "b"), insert(t, "c")};
    CHECK_STATUS(commit_all(t, three, 3), PAWL_OK);
    CHECK_NUMBER(t->fence.group_no, group + 1);
    CHECK_STATUS(commit_all(t, NULL, 0), PAWL_OK);
    CHECK_NUMBER(t->fence.group_no, group + 2);
    take(t);
    CHECK_NUMBER(t->fence.group_no, group + 2);
}

static void c5_an_empty_commit_keeps_ids_handed_out(struct probe *t)
{
    for (int i = 0; i < 100; i++)
        new_id(t);
    uint64_t next = t->fence.next_id;
    CHECK_STATUS(commit_all(t, NULL, 0), PAWL_OK);
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.next_id, next);
}

const struct probe_case cases_fence[] = {
    CASE(t1_every_take_gives_a_greater_epoch),
    CASE(t1_epochs_grow_over_a_death),
    CASE(t2_next_id_is_above_everything_committed),
    CASE(t2_c5_next_id_is_kept_when_every_round_was_refused),
    CASE(t3_fetched_rows_are_free_after_a_take),
    CASE(t3_fetched_rows_are_free_after_a_death),
    CASE(t3_c7_rows_inserted_as_taken_are_free_after_a_death),
    CASE(t3_w1_leases_by_token_outlive_their_engine),
    CASE(t4_c5_late_commit_of_an_old_epoch_changes_nothing),
    CASE(t4_two_engines_in_turn_only_the_newest_commits),
    CASE(t4_nobody_commits_without_a_take),
    CASE(t4_p3_x3_purge_and_prune_of_an_old_epoch_are_fenced),
    CASE(t5_take_tells_the_last_group_and_does_not_move_it),
    CASE(c5_group_no_counts_commits_not_rounds),
    CASE(c5_an_empty_commit_keeps_ids_handed_out),
    CASES_END,
};
