/* SPDX-License-Identifier: MIT */
/* suite/case_remove.c -- removal, purge and pruning: C9, P1 to P3, X1 to X3. */
#include "suite.h"

static void c9_r1_a_removed_instance_is_gone_at_once(struct probe *t)
{
    pawl_row a = make(t, "a"), keep = a, got;
    continue_as_new(t, &a, "second");
    remove_instance(t, &a);
    CHECK_NUMBER(find(t, "a").uid, 0);
    CHECK_STATUS(t->store->ops->find_uid(t->store, keep.uid, t->mem, &got, NULL), PAWL_NOT_FOUND);
    CHECK_NUMBER(find_execution(t, keep.uid, 1).uid, 0);
    CHECK_NUMBER(find_execution(t, keep.uid, 2).uid, 0);
    CHECK_TEXT(history(t, keep.uid, 1), "");
    CHECK_TEXT(history(t, keep.uid, 2), "");
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 5}), "");
    die(t);
    CHECK_NUMBER(find(t, "a").uid, 0);
}

static void c9_a_new_instance_of_the_id_has_nothing_of_the_old(struct probe *t)
{
    pawl_row old = make(t, "a");
    struct draft *d = change_all(t, &old);
    d->row.custom_status = pawl_s("old");
    draft_scheduled(d, "old");
    draft_mail(d, "old");
    draft_key(d, "old");
    CHECK_STATUS(commit(d), PAWL_OK);
    continue_as_new(t, &old, "old");
    uint64_t uid = old.uid;
    remove_instance(t, &old);

    pawl_row a = make(t, "a");
    CHECK(a.uid != uid);
    for (int i = 0; i < 2; i++) { /* not yet purged, then purged */
        CHECK_NUMBER(find(t, "a").uid, a.uid);
        CHECK_NUMBER(find(t, "a").custom_status.len, 0);
        CHECK_NUMBER(find(t, "a").execution, 1);
        CHECK_TEXT(history(t, a.uid, 1), "start");
        CHECK_TEXT(history(t, a.uid, 2), "");
        CHECK_NUMBER(find_execution(t, a.uid, 2).uid, 0);
        CHECK_TEXT(mailbox(t, a.uid, NULL), "");
        CHECK_STATUS(t->store->ops->has_key(t->store, a.uid, pawl_s("old"), NULL), PAWL_EMPTY);
        CHECK_TEXT(listed(t, (pawl_row_query){.limit = 5}), "a");
        purge_all(t);
    }
    CHECK_NUMBER(depths(t).messages + depths(t).work, 0);
}

static void c9_remove_and_insert_of_one_id_in_one_commit(struct probe *t)
{
    pawl_row old = make(t, "a");
    struct draft *two[] = {remove_round(t, &old), insert(t, "a")};
    CHECK_STATUS(commit_all(t, two, 2), PAWL_OK);
    CHECK_STATUS(two[1]->round.result, PAWL_OK);
    CHECK_NUMBER(find(t, "a").uid, two[1]->row.uid);
}

/* A turn that was running while its instance was removed must not revive it. */
static void c3_c9_a_late_round_of_a_removed_instance_is_refused(struct probe *t)
{
    pawl_row a = make(t, "a"), running = a;
    uint64_t j = enqueue(t, &a, "j");
    remove_instance(t, &a);
    make(t, "a");
    struct draft *d = change(t, &running);
    draft_event(d, "late");
    draft_need_work(d, j);
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_TEXT(history(t, find(t, "a").uid, 1), "start");
}

static void c9_a_late_completion_does_not_reach_the_new_instance(struct probe *t)
{
    pawl_row old = make(t, "a"), keep = old;
    uint64_t j = enqueue(t, &old, "j");
    CHECK_TEXT(fetch_jobs(t, 1), "j");
    remove_instance(t, &old);
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t); /* the worker did not hear of it */
    draft_need_work(d, j);
    draft_message(d, (pawl_message){.uid = keep.uid, .data = pawl_s("late")});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "");
    purge_all(t);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "");
}

static void c9_messages_by_name_stay(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    draft_message(d, (pawl_message){.instance = pawl_s("a"), .data = pawl_s("by-name")});
    CHECK_STATUS(commit(d), PAWL_OK);
    remove_instance(t, &a);
    purge_all(t);
    CHECK_TEXT(mailbox(t, 0, "a"), "by-name");
}

static void p1_nothing_to_purge_says_so(struct probe *t)
{
    make(t, "a");
    bool left = true;
    CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 10, &left, NULL), PAWL_OK);
    CHECK(!left);
}

static void p1_purge_goes_on_until_nothing_is_left(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t rid = a.first_rid;
    struct draft *d = change(t, &a);
    for (int i = 0; i < 100; i++) {
        draft_scheduled(d, "x");
        draft_mail(d, "m");
    }
    CHECK_STATUS(commit(d), PAWL_OK);
    remove_instance(t, &a);
    bool left = true;
    int calls = 0;
    for (; left; calls++) {
        CHECK(calls < 1000);
        CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 50, &left, NULL), PAWL_OK);
    }
    CHECK(calls >= 4); /* 50 at a time: events with their work, then messages */
    CHECK_NUMBER(depths(t).messages + depths(t).work, 0);
    pawl_event e;
    CHECK_STATUS(t->store->ops->read_event(t->store, rid, t->mem, &e, NULL), PAWL_NOT_FOUND);
}

static void p1_purge_continues_after_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    for (int i = 0; i < 20; i++)
        draft_mail(d, "m");
    CHECK_STATUS(commit(d), PAWL_OK);
    remove_instance(t, &a);
    bool left = false;
    CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 5, &left, NULL), PAWL_OK);
    CHECK(left);
    die(t);
    take(t);
    purge_all(t);
    CHECK_NUMBER(depths(t).messages, 0);
}

static void p2_the_living_are_not_touched(struct probe *t)
{
    pawl_row a = make(t, "a"), b = make(t, "b");
    struct draft *d = change(t, &b);
    draft_event(d, "x");
    draft_mail(d, "m");
    draft_job(d, "j");
    draft_key(d, "k");
    CHECK_STATUS(commit(d), PAWL_OK);
    continue_as_new(t, &b, "second");
    deliver(t, &a, "gone");
    remove_instance(t, &a);
    purge_all(t);
    CHECK_TEXT(history(t, b.uid, 1), "start x continued");
    CHECK_TEXT(history(t, b.uid, 2), "second");
    CHECK_TEXT(mailbox(t, b.uid, NULL), "m");
    CHECK_STATUS(t->store->ops->has_key(t->store, b.uid, pawl_s("k"), NULL), PAWL_OK);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    CHECK_NUMBER(depths(t).messages, 1);
}

static void p3_x3_the_fence_moves_with_purge_and_prune(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t group = t->fence.group_no, count = 0;
    bool left = false;
    new_id(t);
    uint64_t next = t->fence.next_id;
    CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 5, &left, NULL), PAWL_OK);
    CHECK_NUMBER(t->fence.group_no, group + 1);
    CHECK_STATUS(t->store->ops->prune_executions(t->store, &t->fence, a.uid, 1, &count, NULL),
                 PAWL_OK);
    CHECK_NUMBER(t->fence.group_no, group + 2);
    take(t);
    CHECK(t->fence.group_no == group + 2 && t->fence.next_id == next);
}

static uint64_t prune(struct probe *t, uint64_t uid, uint64_t before)
{
    uint64_t count = 0;
    CHECK_STATUS(t->store->ops->prune_executions(t->store, &t->fence, uid, before, &count, NULL),
                 PAWL_OK);
    return count;
}

static void x1_pruned_executions_are_gone_the_others_stay(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t rid = a.first_rid;
    for (int i = 0; i < 4; i++)
        continue_as_new(t, &a, "next");
    CHECK_NUMBER(prune(t, a.uid, 3), 2);
    for (int i = 0; i < 2; i++) { /* marked, then purged */
        CHECK_TEXT(history(t, a.uid, 1), "");
        CHECK_TEXT(history(t, a.uid, 2), "");
        CHECK_TEXT(history(t, a.uid, 3), "next continued");
        CHECK_TEXT(history(t, a.uid, 5), "next");
        CHECK_NUMBER(find_execution(t, a.uid, 2).uid, 0);
        CHECK_NUMBER(find_execution(t, a.uid, 3).state, PAWL_CONTINUED_AS_NEW);
        purge_all(t);
    }
    pawl_event e;
    CHECK_STATUS(t->store->ops->read_event(t->store, rid, t->mem, &e, NULL), PAWL_NOT_FOUND);
    CHECK_NUMBER(prune(t, a.uid, 3), 0);
    CHECK_NUMBER(prune(t, a.uid, 4), 1);
}

static void x2_the_current_execution_is_never_pruned(struct probe *t)
{
    pawl_row a = make(t, "a");
    CHECK_NUMBER(prune(t, a.uid, 100), 0);
    continue_as_new(t, &a, "second");
    CHECK_NUMBER(prune(t, a.uid, 100), 1);
    purge_all(t);
    CHECK_TEXT(history(t, a.uid, 2), "second");
    append(t, &a, "on");
    CHECK_TEXT(history(t, a.uid, 2), "second on");
    CHECK_NUMBER(find_execution(t, a.uid, 2).state, PAWL_RUNNING);
}

static void x1_pruning_survives_a_death_and_then_removal(struct probe *t)
{
    pawl_row a = make(t, "a");
    continue_as_new(t, &a, "second");
    CHECK_NUMBER(prune(t, a.uid, 2), 1);
    die(t);
    take(t);
    CHECK_TEXT(history(t, a.uid, 1), "");
    remove_instance(t, &a);
    purge_all(t);
    bool left = true;
    CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 10, &left, NULL), PAWL_OK);
    CHECK(!left);
}

const struct probe_case cases_remove[] = {
    CASE(c9_r1_a_removed_instance_is_gone_at_once),
    CASE(c9_a_new_instance_of_the_id_has_nothing_of_the_old),
    CASE(c9_remove_and_insert_of_one_id_in_one_commit),
    CASE(c3_c9_a_late_round_of_a_removed_instance_is_refused),
    CASE(c9_a_late_completion_does_not_reach_the_new_instance),
    CASE(c9_messages_by_name_stay),
    CASE(p1_nothing_to_purge_says_so),
    CASE(p1_purge_goes_on_until_nothing_is_left),
    CASE(p1_purge_continues_after_a_death),
    CASE(p2_the_living_are_not_touched),
    CASE(p3_x3_the_fence_moves_with_purge_and_prune),
    CASE(x1_pruned_executions_are_gone_the_others_stay),
    CASE(x2_the_current_execution_is_never_pruned),
    CASE(x1_pruning_survives_a_death_and_then_removal),
    CASES_END,
};
