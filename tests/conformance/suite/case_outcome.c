/* SPDX-License-Identifier: MIT */
/*
 * suite/case_outcome.c -- failures and lost replies (C6), by the fault decorator.
 *
 * An engine that got UNKNOWN asks (O1 to O4).  Without an answer it stops; whoever takes the
 * store next learns from group_no whether the commit happened.
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

/* ---- The store is asked ------------------------------------------------------ */

static void needs_outcome(struct probe *t)
{
    if (!t->store->ops->outcome)
        probe_skip(t);
}

/* A refused round first, then one that is accepted: {event, message, taken message, job}. */
static pawl_status lose(struct probe *t, pawl_row *a, struct fault fault, pawl_round rounds[2],
                        struct draft **retd)
{
    struct plan plan = {1, fault};
    struct draft *refused = insert(t, "a"), *d = change(t, a);
    draft_event(d, "x");
    draft_mail(d, "m");
    draft_job(d, "j");
    rounds[0] = draft_round(refused);
    rounds[1] = draft_round(d);
    t->store = fault_store(t->store, by_plan, &plan);
    pawl_error err;
    pawl_status status = t->store->ops->commit(t->store, &t->fence, rounds, 2, t->now, &err);
    t->store = fault_store_release(t->store);
    *retd = d;
    return status;
}

static pawl_status ask(struct probe *t, pawl_round rounds[2], bool *retcommitted)
{
    pawl_error err;
    *retcommitted = false;
    return t->store->ops->outcome(t->store, &t->fence, rounds, rounds ? 2 : 0, t->now, retcommitted,
                                  &err);
}

static void o1_what_was_done_is_as_if_commit_had_said_so(struct probe *t)
{
    needs_outcome(t);
    pawl_row a = make(t, "a");
    uint64_t group = t->fence.group_no;
    pawl_round rounds[2];
    struct draft *d;
    bool committed;
    CHECK_STATUS(lose(t, &a, (struct fault){FAULT_AFTER, PAWL_UNKNOWN}, rounds, &d), PAWL_UNKNOWN);
    CHECK_NUMBER(t->fence.group_no, group);
    CHECK_STATUS(ask(t, rounds, &committed), PAWL_OK);
    CHECK(committed);
    CHECK_NUMBER(t->fence.group_no, group + 1);
    CHECK_STATUS(rounds[0].result, PAWL_CONFLICT);
    CHECK_STATUS(rounds[1].result, PAWL_OK);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
    CHECK_TEXT(fetch(t, 10), ""); /* taken by the committer (C7) */
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    a = find(t, "a");
    append(t, &a, "y"); /* and the fence goes on from there */
    die(t);
    take(t);
    CHECK_NUMBER(t->fence.group_no, group + 2);
    CHECK_TEXT(history(t, a.uid, 1), "start x y");
}

static void o2_what_was_not_done_never_happens(struct probe *t)
{
    needs_outcome(t);
    pawl_row a = make(t, "a");
    uint64_t group = t->fence.group_no;
    pawl_round rounds[2];
    struct draft *d;
    bool committed;
    CHECK_STATUS(lose(t, &a, (struct fault){FAULT_BEFORE, PAWL_UNKNOWN}, rounds, &d), PAWL_UNKNOWN);
    CHECK_STATUS(ask(t, rounds, &committed), PAWL_OK);
    CHECK(!committed);
    CHECK_NUMBER(t->fence.group_no, group);
    CHECK_TEXT(history(t, a.uid, 1), "start");
    CHECK_NUMBER(depths(t).messages, 0);
    CHECK_STATUS(commit(d), PAWL_OK); /* the same group again, with the same ids */
    CHECK_NUMBER(t->fence.group_no, group + 1);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
}

static struct fault no_answer(void *user, enum fault_op op, uint64_t call)
{
    (void)user;
    return (struct fault){op == FAULT_OP_outcome && call == 1 ? FAULT_BEFORE : FAULT_NONE,
                          PAWL_UNAVAILABLE};
}

static void o3_a_question_without_an_answer_changes_nothing(struct probe *t)
{
    needs_outcome(t);
    pawl_row a = make(t, "a");
    uint64_t group = t->fence.group_no;
    pawl_round rounds[2];
    struct draft *d;
    bool committed;
    CHECK_STATUS(lose(t, &a, (struct fault){FAULT_AFTER, PAWL_UNKNOWN}, rounds, &d), PAWL_UNKNOWN);
    t->store = fault_store(t->store, no_answer, NULL);
    CHECK_STATUS(ask(t, rounds, &committed), PAWL_UNAVAILABLE);
    CHECK(!committed);
    CHECK_NUMBER(t->fence.group_no, group);
    CHECK_STATUS(ask(t, rounds, &committed), PAWL_OK); /* through the decorator */
    CHECK(committed);
    t->store = fault_store_release(t->store);
    CHECK_NUMBER(t->fence.group_no, group + 1);
}

static void o1_o2_a_purge_may_be_asked_about(struct probe *t)
{
    needs_outcome(t);
    for (int done = 0; done < 2; done++) {
        pawl_row a = make(t, "a");
        remove_instance(t, &a);
        pawl_fence before = t->fence;
        bool committed, left;
        pawl_error err;
        if (done)
            CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 100, &left, &err), PAWL_OK);
        t->fence = before; /* the reply never came */
        CHECK_STATUS(ask(t, NULL, &committed), PAWL_OK);
        CHECK_NUMBER(committed, done);
        CHECK_NUMBER(t->fence.group_no, before.group_no + (uint64_t)done);
        purge_all(t);
    }
}

static void o4_who_lost_the_store_is_told_that(struct probe *t)
{
    needs_outcome(t);
    pawl_row a = make(t, "a");
    pawl_round rounds[2];
    struct draft *d;
    bool committed;
    CHECK_STATUS(lose(t, &a, (struct fault){FAULT_AFTER, PAWL_UNKNOWN}, rounds, &d), PAWL_UNKNOWN);
    pawl_fence old = t->fence, lost = t->fence;
    take(t);
    pawl_fence owner = t->fence;
    t->fence = old;
    CHECK_STATUS(ask(t, rounds, &committed), PAWL_FENCED);
    CHECK(!committed);
    CHECK_NUMBER(t->fence.group_no, lost.group_no);
    t->fence = owner;
    CHECK_TEXT(history(t, a.uid, 1), "start x");
}

const struct probe_case cases_outcome[] = {
    CASE(c6_failures_that_say_nothing_happened_may_be_repeated),
    CASE(c6_t5_unknown_and_done_shows_in_group_no),
    CASE(c6_t5_unknown_and_not_done_shows_in_group_no),
    CASE(c6_repeating_a_commit_that_was_done_is_refused),
    CASE(o1_what_was_done_is_as_if_commit_had_said_so),
    CASE(o2_what_was_not_done_never_happens),
    CASE(o3_a_question_without_an_answer_changes_nothing),
    CASE(o1_o2_a_purge_may_be_asked_about),
    CASE(o4_who_lost_the_store_is_told_that),
    CASES_END,
};
