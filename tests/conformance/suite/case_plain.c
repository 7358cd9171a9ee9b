/* SPDX-License-Identifier: MIT */
/*
 * suite/case_plain.c -- the commonest work row in every situation: taken by the
 * engine that scheduled it, and nothing in it but what its event says.  A store
 * that keeps it in a special form must not be found out.
 */
#include "suite.h"

/* An instance with one plain work row "j". */
static uint64_t plain(struct probe *t, pawl_row *ret)
{
    *ret = make(t, "a");
    struct draft *d = change(t, ret);
    uint64_t j = draft_plain(d, "j");
    CHECK_STATUS(commit(d), PAWL_OK);
    return j;
}

static void c7_l3_plain_work_is_taken_and_counted(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    CHECK_NUMBER(depths(t).work, 1);
    CHECK_NUMBER(work(t, j).id, j);
}

static void r4_plain_work_comes_back_with_every_field(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    for (int i = 0; i < 2; i++) {
        pawl_work w = work(t, j);
        CHECK(w.id == j && w.uid == a.uid && w.execution == 1 && w.ref == j);
        CHECK(pawl_str_is(w.instance, "a") && pawl_str_is(w.name, "j"));
        CHECK(pawl_str_is(w.input, "input") && w.attrs.len == 0 && w.last_error.len == 0);
        CHECK(w.attempt == 0 && w.crashes == 0 && w.visible_ms == 0 && w.deadline_ms == 0);
        CHECK(w.scheduled_ms == t->now && w.lock_epoch == t->fence.epoch);
        CHECK(w.lock_token.len == 0 && w.lock_until_ms == 0);
        die(t);
    }
}

static void a1_abandoned_plain_work_is_fetched_in_order(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    enqueue(t, &a, "newer");
    t->store->ops->abandon_work(t->store, &j, 1);
    CHECK_TEXT(fetch_named(t, "other", 10), "");
    CHECK_TEXT(fetch_jobs(t, 10), "j newer");
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void t3_plain_work_is_free_after_a_death(struct probe *t)
{
    pawl_row a;
    plain(t, &a);
    die(t);
    take(t);
    enqueue(t, &a, "newer");
    CHECK_TEXT(fetch_named(t, "j", 10), "j");
    CHECK_TEXT(fetch_jobs(t, 10), "newer");
}

static void t3_plain_work_of_two_epochs_is_told_apart(struct probe *t)
{
    pawl_row a;
    plain(t, &a);
    take(t);
    struct draft *d = change(t, &a);
    draft_plain(d, "mine");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "j mine");
}

static void w1_w3_an_updated_plain_row_is_a_row_like_any_other(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    struct draft *d = free_round(t);
    draft_update_work(d, (pawl_work_update){.id = j,
                                            .attempt = 1,
                                            .visible_ms = t->now + 10,
                                            .deadline_ms = t->now + 20,
                                            .last_error = pawl_s("oops")});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(next_due(t, t->now), t->now + 10);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 10);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    CHECK(work(t, j).attempt == 1 && pawl_str_is(work(t, j).last_error, "oops"));
    CHECK(pawl_str_is(work(t, j).input, "input") && work(t, j).ref == j);
    tick(t, 10);
    CHECK_TEXT(overdue(t, 10), "j");
    CHECK_NUMBER(depths(t).work, 1);
}

static void w1_a_plain_row_can_be_leased_out(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    struct draft *d = free_round(t);
    draft_update_work(
        d, (pawl_work_update){.id = j, .lock_token = pawl_s("t"), .lock_until_ms = t->now + 10});
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 10);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void c3_plain_work_is_completed_once(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    struct draft *d = free_round(t);
    draft_need_work(d, j);
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_NUMBER(work(t, j).id, 0);
    die(t);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    CHECK_NUMBER(depths(t).work, 0);
}

static void c3_the_id_of_plain_work_is_used(struct probe *t)
{
    needs_rounds(t);
    pawl_row a;
    uint64_t j = plain(t, &a);
    struct draft *d = free_round(t);
    draft_work(d, (pawl_work){.id = j, .uid = a.uid, .name = pawl_s("again")});
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK(pawl_str_is(work(t, j).name, "j"));
}

static void c8_plain_work_is_dropped(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    struct draft *d = change(t, &a);
    draft_drop_work(d, j);
    draft_drop_work(d, draft_plain(d, "never")); /* and in its own round */
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(depths(t).work, 0);
    t->store->ops->abandon_work(t->store, &j, 1);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void c1_a_refused_round_leaves_no_plain_work(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    struct draft *d = change(t, &a);
    draft_need_work(d, j);
    draft_plain(d, "spoilt");
    draft_need_work(d, new_id(t));
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_NUMBER(depths(t).work, 1);
    die(t);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void c9_p1_plain_work_goes_with_its_instance(struct probe *t)
{
    pawl_row a;
    uint64_t j = plain(t, &a);
    remove_instance(t, &a);
    purge_all(t);
    CHECK_NUMBER(depths(t).work, 0);
    CHECK_NUMBER(work(t, j).id, 0);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void w2_a_thousand_plain_rows_after_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    for (int i = 0; i < 10; i++) {
        struct draft *d = change(t, &a);
        for (int n = 0; n < 100; n++)
            draft_plain(d, n % 2 ? "odd" : "even");
        CHECK_STATUS(commit(d), PAWL_OK);
    }
    die(t);
    take(t);
    size_t seen = 0;
    for (uint64_t last = 0;;) {
        pawl_work_list list = {0};
        pawl_str name = pawl_s("odd");
        CHECK_STATUS(t->store->ops->fetch_work(t->store, t->now, &name, 1, 7, t->mem, &list, NULL),
                     PAWL_OK);
        for (size_t i = 0; i < list.count; i++) {
            CHECK(list.items[i].id > last && pawl_str_is(list.items[i].name, "odd"));
            last = list.items[i].id;
        }
        seen += list.count;
        if (list.count == 0)
            break;
    }
    CHECK_NUMBER(seen, 500);
}

const struct probe_case cases_plain[] = {
    CASE(c7_l3_plain_work_is_taken_and_counted),
    CASE(r4_plain_work_comes_back_with_every_field),
    CASE(a1_abandoned_plain_work_is_fetched_in_order),
    CASE(t3_plain_work_is_free_after_a_death),
    CASE(t3_plain_work_of_two_epochs_is_told_apart),
    CASE(w1_w3_an_updated_plain_row_is_a_row_like_any_other),
    CASE(w1_a_plain_row_can_be_leased_out),
    CASE(c3_plain_work_is_completed_once),
    CASE(c3_the_id_of_plain_work_is_used),
    CASE(c8_plain_work_is_dropped),
    CASE(c1_a_refused_round_leaves_no_plain_work),
    CASE(c9_p1_plain_work_goes_with_its_instance),
    CASE(w2_a_thousand_plain_rows_after_a_death),
    CASES_END,
};
