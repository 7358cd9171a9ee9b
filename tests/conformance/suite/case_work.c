/* SPDX-License-Identifier: MIT */
/* suite/case_work.c -- work for activities: W1 to W3, A1, A2, R4. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void w1_oldest_id_first(struct probe *t)
{
    needs_delays(t);
    pawl_row a = make(t, "a"), b = make(t, "b");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("1"), .visible_ms = t->now + 5});
    enqueue(t, &b, "2");
    enqueue(t, &a, "3");
    CHECK_TEXT(fetch_jobs(t, 1), "2");
    tick(t, 5);
    CHECK_TEXT(fetch_jobs(t, 10), "1 3"); /* by id, not by the time it became visible */
}

static void w1_fetched_work_is_not_fetched_again(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue(t, &a, "j");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    tick(t, PAWL_HOURS(1));
    CHECK_TEXT(fetch_jobs(t, 10), "");
    CHECK_NUMBER(work(t, j).id, j); /* peeked, not deleted */
    CHECK_NUMBER(work(t, j).attempt, 0);
}

static void w1_only_the_names_asked_for(struct probe *t)
{
    pawl_row a = make(t, "a");
    enqueue(t, &a, "mail");
    enqueue(t, &a, "charge");
    enqueue(t, &a, "mailman");
    CHECK_TEXT(fetch_named(t, "charge", 10), "charge");
    CHECK_TEXT(fetch_named(t, "charge", 10), "");
    CHECK_TEXT(fetch_named(t, "mail", 10), "mail");
    CHECK_TEXT(fetch_jobs(t, 10), "mailman"); /* what was skipped was not taken */
}

static void w1_a_live_lease_hides_work_until_it_ends(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue(t, &a, "j");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    struct draft *d = free_round(t);
    draft_update_work(d, (pawl_work_update){.id = j,
                                            .attempt = 1,
                                            .lock_token = pawl_s("token"),
                                            .lock_until_ms = t->now + 100});
    CHECK_STATUS(commit(d), PAWL_OK);
    tick(t, 99);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    CHECK_NUMBER(work(t, j).attempt, 1);
}

static void w1_renewing_a_lease_extends_it(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue_work(
        t, &a,
        (pawl_work){.name = pawl_s("j"), .lock_token = pawl_s("t"), .lock_until_ms = t->now + 100});
    tick(t, 50);
    struct draft *d = free_round(t);
    draft_update_work(
        d, (pawl_work_update){.id = j, .lock_token = pawl_s("t"), .lock_until_ms = t->now + 100});
    CHECK_STATUS(commit(d), PAWL_OK);
    tick(t, 60); /* past the first end */
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 40);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void w1_giving_up_a_lease_frees_work_at_once(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue_work(
        t, &a,
        (pawl_work){.name = pawl_s("j"), .lock_token = pawl_s("t"), .lock_until_ms = t->now + 100});
    CHECK_TEXT(fetch_jobs(t, 10), "");
    struct draft *d = free_round(t);
    draft_update_work(d, (pawl_work_update){.id = j});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    CHECK_NUMBER(work(t, j).lock_token.len, 0);
}

static void w1_an_update_frees_or_keeps_by_its_epoch(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t free_one = enqueue(t, &a, "free"), kept = enqueue(t, &a, "kept");
    CHECK_TEXT(fetch_jobs(t, 10), "free kept");
    struct draft *d = free_round(t);
    draft_update_work(d, (pawl_work_update){.id = free_one, .attempt = 1});
    draft_update_work(d,
                      (pawl_work_update){.id = kept, .attempt = 1, .lock_epoch = t->fence.epoch});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch_jobs(t, 10), "free");
    t->store->ops->abandon_work(t->store, &kept, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "kept");
}

static void w1_w3_a_retry_waits_for_its_time(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue(t, &a, "j"), other = enqueue(t, &a, "other");
    CHECK_TEXT(fetch_jobs(t, 10), "j other");
    struct draft *d = free_round(t);
    draft_update_work(d, (pawl_work_update){.id = j,
                                            .attempt = 1,
                                            .crashes = 1,
                                            .visible_ms = t->now + 100,
                                            .last_error = pawl_s("declined")});
    CHECK_STATUS(commit(d), PAWL_OK);
    tick(t, 99);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    CHECK(work(t, j).attempt == 1 && work(t, j).crashes == 1);
    CHECK(pawl_str_is(work(t, j).last_error, "declined"));
    CHECK_NUMBER(work(t, other).attempt, 0);
}

static void w2_empty_only_when_nothing_is_there(struct probe *t)
{
    pawl_row a = make(t, "a");
    CHECK_TEXT(fetch_jobs(t, 1), "");
    struct draft *d = free_round(t);
    for (int i = 0; i < 50; i++) {
        draft_work(d, (pawl_work){.uid = a.uid, .name = pawl_s("late"), .visible_ms = t->now + 9});
        draft_work(d, (pawl_work){.uid = a.uid, .name = pawl_s("other")});
        draft_work(d, (pawl_work){.uid = a.uid, .name = pawl_s("j"), .lock_epoch = t->fence.epoch});
        draft_work(d, (pawl_work){.uid = a.uid,
                                  .name = pawl_s("j"),
                                  .lock_token = pawl_s("t"),
                                  .lock_until_ms = t->now + 9});
    }
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(fetch_named(t, "j", 1), "");
    enqueue(t, &a, "j");
    CHECK_TEXT(fetch_named(t, "j", 1), "j");
    CHECK_TEXT(fetch_named(t, "j", 1), "");
}

static void w2_every_one_of_many_is_fetched_once(struct probe *t)
{
    enum { TOTAL = 20000, PAGE = 700 };
    pawl_row a = make(t, "a");
    struct draft *d = free_round(t);
    for (int i = 0; i < TOTAL; i++)
        draft_job(d, "j");
    for (size_t i = 0; i < TOTAL; i++)
        d->work[i].uid = a.uid;
    CHECK_STATUS(commit(d), PAWL_OK);
    size_t seen = 0;
    uint64_t id = 0;
    for (;;) {
        pawl_work_list list = {0};
        CHECK_STATUS(
            t->store->ops->fetch_work(t->store, t->now, NULL, 0, PAGE, t->mem, &list, NULL),
            PAWL_OK);
        for (size_t i = 0; i < list.count; i++) {
            CHECK(list.items[i].id > id);
            id = list.items[i].id;
        }
        seen += list.count;
        if (list.count == 0)
            break;
    }
    CHECK_NUMBER(seen, TOTAL);
}

static void w3_never_before_its_time(struct probe *t)
{
    pawl_row a = make(t, "a");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("j"), .visible_ms = t->now + 1000});
    tick(t, 999);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    die(t);
    take(t);
    CHECK_TEXT(fetch_jobs(t, 10), "");
    tick(t, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "j");
}

static void w3_a_clock_that_steps_back_hides_work_again(struct probe *t)
{
    pawl_row a = make(t, "a");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("x"), .visible_ms = t->now + 100});
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("y"), .visible_ms = t->now + 100});
    tick(t, 100);
    CHECK_TEXT(fetch_jobs(t, 1), "x");
    tick(t, -1);
    CHECK_TEXT(fetch_jobs(t, 1), "");
    tick(t, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "y");
}

static void w1_a_clock_that_steps_back_finds_the_lease_alive(struct probe *t)
{
    pawl_row a = make(t, "a");
    for (int i = 0; i < 2; i++)
        enqueue_work(t, &a,
                     (pawl_work){.name = pawl_s(i ? "y" : "x"),
                                 .lock_token = pawl_s("t"),
                                 .lock_until_ms = t->now + 100});
    tick(t, 100);
    CHECK_TEXT(fetch_jobs(t, 1), "x");
    tick(t, -1);
    CHECK_TEXT(fetch_jobs(t, 1), "");
    tick(t, 1);
    CHECK_TEXT(fetch_jobs(t, 1), "y");
}

static void a1_abandoned_work_comes_back_in_order(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t ids[2] = {enqueue(t, &a, "1"), enqueue(t, &a, "2")};
    CHECK_TEXT(fetch_jobs(t, 10), "1 2");
    t->store->ops->abandon_work(t->store, ids + 1, 1);
    t->store->ops->abandon_work(t->store, ids, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "1 2");
    CHECK_NUMBER(work(t, ids[0]).attempt, 0);
}

static void a2_abandoning_finished_work_does_not_revive_it(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t j = enqueue(t, &a, "j");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    struct draft *d = change(t, &a);
    draft_need_work(d, j);
    CHECK_STATUS(commit(d), PAWL_OK);
    t->store->ops->abandon_work(t->store, &j, 1);
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

static void c3_work_is_completed_whatever_became_of_its_instance(struct probe *t)
{
    uint64_t j = enqueue(t, &(pawl_row){.uid = new_id(t)}, "orphan");
    CHECK_TEXT(fetch_jobs(t, 10), "orphan");
    struct draft *d = free_round(t);
    draft_need_work(d, j);
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
}

static void r4_rows_that_exist_in_the_order_asked(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t x = enqueue(t, &a, "x"), y = enqueue(t, &a, "y");
    uint64_t ids[] = {y, 424242, x};
    pawl_work_list list = {0};
    CHECK_STATUS(t->store->ops->read_work(t->store, ids, 3, t->mem, &list, NULL), PAWL_OK);
    CHECK_NUMBER(list.count, 2);
    CHECK(list.items[0].id == y && list.items[1].id == x);
}

static void r4_every_field_of_work_comes_back(struct probe *t)
{
    pawl_row a = make(t, "a");
    pawl_work in = {.uid = a.uid,
                    .execution = 3,
                    .ref = 4,
                    .instance = pawl_s("a"),
                    .name = pawl_s("Charge"),
                    .input = pawl_s("{\"order\":42}"),
                    .attrs = pawl_s("{\"attempts\":5}"),
                    .attempt = 6,
                    .crashes = 7,
                    .visible_ms = t->now - 8,
                    .scheduled_ms = t->now - 9,
                    .deadline_ms = t->now + 10,
                    .last_error = pawl_s("oops"),
                    .lock_token = pawl_s("token"),
                    .lock_until_ms = t->now - 1};
    in.id = enqueue_work(t, &a, in);
    die(t);
    take(t);
    pawl_work_list list = {0};
    CHECK_STATUS(t->store->ops->fetch_work(t->store, t->now, NULL, 0, 5, t->mem, &list, NULL),
                 PAWL_OK);
    CHECK_NUMBER(list.count, 1);
    pawl_work out[2] = {work(t, in.id), list.items[0]};
    for (int i = 0; i < 2; i++) {
        CHECK(out[i].id == in.id && out[i].uid == a.uid && out[i].execution == 3);
        CHECK(out[i].ref == 4 && out[i].attempt == 6 && out[i].crashes == 7);
        CHECK(pawl_str_eq(out[i].instance, in.instance) && pawl_str_eq(out[i].name, in.name));
        CHECK(pawl_str_eq(out[i].input, in.input) && pawl_str_eq(out[i].attrs, in.attrs));
        CHECK(pawl_str_eq(out[i].last_error, in.last_error));
        CHECK(pawl_str_eq(out[i].lock_token, in.lock_token) && out[i].lock_epoch == 0);
        CHECK(out[i].visible_ms == in.visible_ms && out[i].scheduled_ms == in.scheduled_ms);
        CHECK(out[i].deadline_ms == in.deadline_ms && out[i].lock_until_ms == in.lock_until_ms);
    }
}

static void r4_taken_work_says_by_which_epoch(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t epoch = t->fence.epoch;
    uint64_t mine = enqueue_work(t, &a, (pawl_work){.name = pawl_s("mine"), .lock_epoch = epoch});
    uint64_t second = enqueue_work(t, &a, (pawl_work){.name = pawl_s("too"), .lock_epoch = epoch});
    uint64_t free_one = enqueue(t, &a, "free");
    for (int i = 0; i < 3; i++) {
        CHECK_NUMBER(work(t, mine).lock_epoch, epoch);
        CHECK_NUMBER(work(t, second).lock_epoch, epoch);
        CHECK_NUMBER(work(t, free_one).lock_epoch, 0);
        take(t);
    }
}

/* ---- Names of work --------------------------------------------------------------------------------- */

static void needs_work_names(struct probe *t)
{
    const pawl_store_ops *ops = t->store->ops;
    if (ops->size < offsetof(pawl_store_ops, read_named_work) + sizeof(ops->read_named_work) ||
        !ops->list_work_names || !ops->read_named_work)
        probe_skip(t);
}

static const char *work_names(struct probe *t, uint32_t limit)
{
    char text[400] = "";
    pawl_str after = {0};
    pawl_text_list list = {0};
    do {
        CHECK_STATUS(t->store->ops->list_work_names(t->store, after, limit, t->mem, &list, NULL),
                     PAWL_OK);
        for (size_t i = 0; i < list.count; i++) {
            size_t len = strlen(text);
            (void)snprintf(text + len, sizeof(text) - len, "%s%.*s", len ? " " : "",
                           PAWL_FMT(list.items[i]));
            after = list.items[i];
        }
    } while (list.count == limit);
    return pawl_mem_printf(t->mem, "%s", text).ptr;
}

static const char *named_work(struct probe *t, const char *name, uint32_t limit)
{
    char text[400] = "";
    pawl_work_list list = {0};
    CHECK_STATUS(
        t->store->ops->read_named_work(t->store, pawl_s(name), t->now, limit, t->mem, &list, NULL),
        PAWL_OK);
    for (size_t i = 0; i < list.count; i++) {
        size_t len = strlen(text);
        (void)snprintf(
            text + len, sizeof(text) - len, "%s%.*s%lld", len ? " " : "",
            PAWL_FMT(list.items[i].lock_token),
            (long long)(list.items[i].visible_ms ? list.items[i].visible_ms - t->now : 0));
    }
    return pawl_mem_printf(t->mem, "%s", text).ptr;
}

static void w4_every_name_once_in_order(struct probe *t)
{
    needs_work_names(t);
    pawl_row a = make(t, "a");
    CHECK_TEXT(work_names(t, 10), "");
    enqueue(t, &a, "b//050/k");
    enqueue(t, &a, "a");
    enqueue(t, &a, "b//050/k");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("late"), .visible_ms = t->now + 9});
    enqueue_work(
        t, &a,
        (pawl_work){.name = pawl_s("out"), .lock_token = pawl_s("t"), .lock_until_ms = t->now + 9});
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("held"), .lock_epoch = t->fence.epoch});
    for (uint32_t limit = 1; limit < 6; limit++)
        CHECK_TEXT(work_names(t, limit), "a b//050/k late out");
    take(t); /* what an earlier epoch had taken is free again (T3) */
    CHECK_TEXT(work_names(t, 2), "a b//050/k held late out");
}

static void w5_rows_that_are_not_free_in_the_order_of_their_time(struct probe *t)
{
    needs_work_names(t);
    pawl_row a = make(t, "a");
    enqueue(t, &a, "l");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("l"), .visible_ms = t->now + 30});
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("l"), .visible_ms = t->now + 10});
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("m"), .visible_ms = t->now + 5});
    enqueue_work(
        t, &a,
        (pawl_work){.name = pawl_s("l"), .lock_token = pawl_s("t"), .lock_until_ms = t->now + 20});
    CHECK_TEXT(named_work(t, "l", 10), "10 t0 30");
    CHECK_TEXT(named_work(t, "l", 2), "10 t0");
    CHECK_TEXT(fetch_named(t, "l", 10), "l"); /* nothing was taken by reading */
    tick(t, 10);
    CHECK_TEXT(named_work(t, "l", 10), "t0 20");
    CHECK_TEXT(fetch_named(t, "l", 10), "l");
}

const struct probe_case cases_work[] = {
    CASE(w1_oldest_id_first),
    CASE(w1_fetched_work_is_not_fetched_again),
    CASE(w1_only_the_names_asked_for),
    CASE(w1_a_live_lease_hides_work_until_it_ends),
    CASE(w1_renewing_a_lease_extends_it),
    CASE(w1_giving_up_a_lease_frees_work_at_once),
    CASE(w1_an_update_frees_or_keeps_by_its_epoch),
    CASE(w1_w3_a_retry_waits_for_its_time),
    CASE(w2_empty_only_when_nothing_is_there),
    CASE(w2_every_one_of_many_is_fetched_once),
    CASE(w3_never_before_its_time),
    CASE(w4_every_name_once_in_order),
    CASE(w5_rows_that_are_not_free_in_the_order_of_their_time),
    CASE(w3_a_clock_that_steps_back_hides_work_again),
    CASE(w1_a_clock_that_steps_back_finds_the_lease_alive),
    CASE(a1_abandoned_work_comes_back_in_order),
    CASE(a2_abandoning_finished_work_does_not_revive_it),
    CASE(c3_work_is_completed_whatever_became_of_its_instance),
    CASE(r4_rows_that_exist_in_the_order_asked),
    CASE(r4_every_field_of_work_comes_back),
    CASE(r4_taken_work_says_by_which_epoch),
    CASES_END,
};
