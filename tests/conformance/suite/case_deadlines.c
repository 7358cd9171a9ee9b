/* SPDX-License-Identifier: MIT */
/* suite/case_deadlines.c -- time-outs of work and the next due time: D1, N1, N2. */
#include "suite.h"

static uint64_t with_deadline(struct probe *t, const pawl_row *a, const char *name, int64_t in_ms)
{
    return enqueue_work(t, a, (pawl_work){.name = pawl_s(name), .deadline_ms = t->now + in_ms});
}

static void d1_oldest_deadline_first_up_to_now(struct probe *t)
{
    pawl_row a = make(t, "a");
    with_deadline(t, &a, "late", 30);
    with_deadline(t, &a, "soon", 10);
    with_deadline(t, &a, "middle", 20);
    enqueue(t, &a, "none");
    tick(t, 9);
    CHECK_TEXT(overdue(t, 10), "");
    tick(t, 11);
    CHECK_TEXT(overdue(t, 10), "soon middle");
    CHECK_TEXT(overdue(t, 1), "soon");
    tick(t, 10);
    CHECK_TEXT(overdue(t, 10), "soon middle late");
}

static void d1_taken_and_leased_work_is_returned_too(struct probe *t)
{
    pawl_row a = make(t, "a");
    with_deadline(t, &a, "taken", 10);
    CHECK_TEXT(fetch_jobs(t, 10), "taken");
    enqueue_work(t, &a,
                 (pawl_work){.name = pawl_s("leased"),
                             .deadline_ms = t->now + 11,
                             .lock_token = pawl_s("t"),
                             .lock_until_ms = t->now + 1000});
    enqueue_work(t, &a,
                 (pawl_work){.name = pawl_s("delayed"),
                             .deadline_ms = t->now + 12,
                             .visible_ms = t->now + 1000});
    tick(t, 20);
    CHECK_TEXT(overdue(t, 10), "taken leased delayed");
}

static void d1_looking_at_deadlines_takes_nothing(struct probe *t)
{
    pawl_row a = make(t, "a");
    with_deadline(t, &a, "j", 10);
    tick(t, 10);
    CHECK_TEXT(overdue(t, 10), "j");
    CHECK_TEXT(overdue(t, 10), "j");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    CHECK_TEXT(overdue(t, 10), "j");
}

static void d1_an_update_moves_or_clears_the_deadline(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = with_deadline(t, &a, "j", 10), k = with_deadline(t, &a, "k", 10);
    struct draft *d = free_round(t);
    draft_update_work(d, (pawl_work_update){.id = j, .deadline_ms = t->now + 50});
    draft_update_work(d, (pawl_work_update){.id = k});
    CHECK_STATUS(commit(d), PAWL_OK);
    tick(t, 49);
    CHECK_TEXT(overdue(t, 10), "");
    tick(t, 1);
    CHECK_TEXT(overdue(t, 10), "j");
}

static void d1_deadlines_survive_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    with_deadline(t, &a, "j", 10);
    die(t);
    take(t);
    CHECK_NUMBER(next_due(t, t->now), t->now + 10);
    tick(t, 10);
    CHECK_TEXT(overdue(t, 10), "j");
}

static void n1_the_smallest_time_after_the_one_given(struct probe *t)
{
    pawl_row a = make(t, "a");
    CHECK(next_due(t, t->now) == INT64_MAX);
    CHECK(next_due(t, INT64_MAX) == INT64_MAX);
    deliver_at(t, &a, "timer", t->now + 300);
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("retry"), .visible_ms = t->now + 200});
    with_deadline(t, &a, "deadline", 100);
    CHECK_NUMBER(next_due(t, t->now), t->now + 100);
    CHECK_NUMBER(next_due(t, t->now + 99), t->now + 100);
    CHECK_NUMBER(next_due(t, t->now + 100), t->now + 200);
    CHECK_NUMBER(next_due(t, t->now + 200), t->now + 300);
    CHECK(next_due(t, t->now + 300) == INT64_MAX);
}

static void n1_what_is_ready_now_is_not_in_the_future(struct probe *t)
{
    pawl_row a = make(t, "a");
    deliver(t, &a, "ready");
    enqueue(t, &a, "ready");
    deliver_at(t, &a, "timer", t->now + 5);
    CHECK_NUMBER(next_due(t, t->now), t->now + 5);
    tick(t, 5);
    CHECK(next_due(t, t->now) == INT64_MAX);
}

static void n1_a_century_ahead_is_a_time_like_any_other(struct probe *t)
{
    pawl_row a = make(t, "a");
    int64_t far = t->now + PAWL_DAYS(36600);
    deliver_at(t, &a, "timer", far);
    CHECK(next_due(t, t->now) == far);
    t->now = far - 1;
    CHECK_TEXT(fetch(t, 1), "");
    t->now = far;
    CHECK_TEXT(fetch(t, 1), "timer");
}

static void n2_mailbox_and_dropped_rows_do_not_count(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t m = deliver_at(t, &a, "dropped", t->now + 10);
    uint64_t k = deliver_at(t, &a, "kept", t->now + 20);
    uint64_t j = with_deadline(t, &a, "j", 30);
    struct draft *d = free_round(t);
    draft_drop_message(d, m);
    draft_update_message(d,
                         (pawl_message_update){.id = k, .visible_ms = t->now + 20, .mailbox = 1});
    draft_drop_work(d, j);
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK(next_due(t, t->now) == INT64_MAX);
}

const struct probe_case cases_deadlines[] = {
    CASE(d1_oldest_deadline_first_up_to_now),
    CASE(d1_taken_and_leased_work_is_returned_too),
    CASE(d1_looking_at_deadlines_takes_nothing),
    CASE(d1_an_update_moves_or_clears_the_deadline),
    CASE(d1_deadlines_survive_a_death),
    CASE(n1_the_smallest_time_after_the_one_given),
    CASE(n1_what_is_ready_now_is_not_in_the_future),
    CASE(n1_a_century_ahead_is_a_time_like_any_other),
    CASE(n2_mailbox_and_dropped_rows_do_not_count),
    CASES_END,
};
