/* SPDX-License-Identifier: MIT */
/*
 * suite/case_outcome.c -- failures and lost replies (C6), by the fault decorator.
 *
 * An engine that got UNKNOWN stops; whoever takes the store next learns from
 * group_no whether the commit happened.
 */
#include "suite.h"

#include "store/fault/fault.h"

/* Fail the commit numbered `call` in this way. */
struct plan {
    uint64_t call;
    struct fault fault;
};

static struct fault by_plan(void *user, enum fault_op op, uint64_t call)
{
    const struct plan *plan = user;
    if (op == FAULT_OP_commit && call == plan->call)
        return plan->fault;
    return (struct fault){.kind = FAULT_NONE};
}

/* One round {event, message, work} whose commit goes by the plan. */
static struct draft *commit_by(struct probe *t, pawl_row *a, struct plan plan)
{
    struct draft *d = change(t, a);
    draft_event(d, "x");
    draft_mail(d, "m");
    draft_job(d, "j");
    t->store = fault_store(t->store, by_plan, &plan);
    pawl_status status = commit(d);
    t->store = fault_store_release(t->store);
    CHECK_STATUS(status, plan.fault.status);
    return d;
}

static void c6_failures_that_say_nothing_happened_may_be_repeated(struct probe *t)
{
    pawl_row a = make(t, "a");
    pawl_status soft[] = {PAWL_BUSY, PAWL_DISK_FULL, PAWL_UNAVAILABLE, PAWL_NO_MEMORY};
    for (int i = 0; i < 4; i++) {
        struct draft *d = commit_by(t, &a,
                                    (struct plan){
                                        1, {FAULT_BEFORE, soft[i]}
        });
        CHECK_NUMBER(find(t, "a").last_seq, i + 1);
        CHECK_STATUS(commit(d), PAWL_OK);
        CHECK_NUMBER(find(t, "a").last_seq, i + 2);
    }
}

static void c6_t5_unknown_and_done_shows_in_group_no(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t group = t->fence.group_no, used;
    commit_by(t, &a,
              (struct plan){
                  1, {FAULT_AFTER, PAWL_UNKNOWN}
    });
    CHECK_NUMBER(t->fence.group_no, group);
    used = t->fence.next_id;
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.group_no, group + 1);
    CHECK(t->fence.next_id >= used);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
    CHECK_TEXT(fetch(t, 10), "m");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void c6_t5_unknown_and_not_done_shows_in_group_no(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t group = t->fence.group_no;
    commit_by(t, &a,
              (struct plan){
                  1, {FAULT_BEFORE, PAWL_UNKNOWN}
    });
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.group_no, group);
    CHECK_TEXT(history(t, a.uid, 1), "start");
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void c6_repeating_a_commit_that_was_done_is_refused(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = commit_by(t, &a,
                                (struct plan){
                                    1, {FAULT_AFTER, PAWL_UNKNOWN}
    });
    take(t);
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
    CHECK_NUMBER(depths(t).messages, 1);
}

const struct probe_case cases_outcome[] = {
    CASE(c6_failures_that_say_nothing_happened_may_be_repeated),
    CASE(c6_t5_unknown_and_done_shows_in_group_no),
    CASE(c6_t5_unknown_and_not_done_shows_in_group_no),
    CASE(c6_repeating_a_commit_that_was_done_is_refused),
    CASES_END,
};
