/* SPDX-License-Identifier: MIT */
/* suite/case_load.c -- many questions in one call: B1, B2. */
#include "suite.h"

#include "store/fault/fault.h"
#include "store/store.h"

/* An instance with a key and a job, and one without; the job's id. */
static uint64_t two_instances(struct probe *t, pawl_row *a, pawl_row *b)
{
    *a = make(t, "a");
    *b = make(t, "b");
    struct draft *d = change(t, a);
    draft_key(d, "k");
    uint64_t job = draft_job(d, "j");
    CHECK_STATUS(commit(d), PAWL_OK);
    return job;
}

static void check_row(struct probe *t, const pawl_wanted *w, const char *id)
{
    pawl_row alone = find(t, id);
    CHECK_STATUS(w->status, PAWL_OK);
    CHECK(pawl_str_eq(w->row->id, alone.id) && w->row->uid == alone.uid &&
          w->row->last_seq == alone.last_seq && w->row->updated_ms == alone.updated_ms &&
          w->row->state == alone.state && pawl_str_eq(w->row->orchestration, alone.orchestration));
}

static pawl_wanted by_id(const char *id, const char *key)
{
    return (pawl_wanted){.id = pawl_s(id), .key = pawl_s(key)};
}

static pawl_wanted by_uid(uint64_t uid, const char *key)
{
    return (pawl_wanted){.uid = uid, .key = pawl_s(key)};
}

static pawl_wanted by_work(uint64_t id)
{
    return (pawl_wanted){.work = id};
}

static void b1_each_is_answered_as_if_asked_alone(struct probe *t)
{
    pawl_row a, b;
    uint64_t job = two_instances(t, &a, &b);
    die(t);
    pawl_wanted w[] = {
        by_id("a", NULL), by_uid(b.uid, "k"),  by_id("nobody", "k"),       by_work(job),
        by_id("a", "k"),  by_work(job + 1000), by_uid(a.uid + 1000, NULL), by_uid(a.uid, "K")};
    CHECK_STATUS(store_load(t->store, w, sizeof(w) / sizeof(w[0]), SIZE_MAX / 2, t->mem, NULL),
                 PAWL_OK);
    check_row(t, &w[0], "a");
    check_row(t, &w[1], "b");
    CHECK_STATUS(w[1].key_status, PAWL_EMPTY);
    CHECK_STATUS(w[2].status, PAWL_NOT_FOUND);
    CHECK_STATUS(w[3].status, PAWL_OK);
    CHECK(w[3].item->id == job && w[3].item->uid == a.uid && pawl_str_is(w[3].item->name, "j"));
    check_row(t, &w[4], "a");
    CHECK_STATUS(w[4].key_status, PAWL_OK);
    CHECK_STATUS(w[5].status, PAWL_NOT_FOUND);
    CHECK_STATUS(w[6].status, PAWL_NOT_FOUND);
    check_row(t, &w[7], "a");
    CHECK_STATUS(w[7].key_status, PAWL_EMPTY);
}

static void b1_removed_instances_are_not_found(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    CHECK_STATUS(commit(remove_round(t, &a)), PAWL_OK);
    pawl_wanted w[] = {by_id("a", "k"), by_uid(a.uid, NULL), by_id("b", NULL)};
    CHECK_STATUS(store_load(t->store, w, 3, SIZE_MAX / 2, t->mem, NULL), PAWL_OK);
    CHECK_STATUS(w[0].status, PAWL_NOT_FOUND);
    CHECK_STATUS(w[1].status, PAWL_NOT_FOUND);
    check_row(t, &w[2], "b");
}

static pawl_status second_find;

static struct fault second_find_fails(void *user, enum fault_op op, uint64_t call)
{
    (void)user;
    if (op == FAULT_OP_find && call == 2)
        return (struct fault){FAULT_BEFORE, second_find};
    return (struct fault){.kind = FAULT_NONE};
}

/* Around a store that answers one by one, as the fault decorator does. */
static void ask_with_trouble(struct probe *t, pawl_status trouble, pawl_wanted w[3])
{
    second_find = trouble;
    t->store = fault_store(t->store, second_find_fails, NULL);
    pawl_status status = store_load(t->store, w, 3, SIZE_MAX / 2, t->mem, NULL);
    t->store = fault_store_release(t->store);
    CHECK_STATUS(status, PAWL_OK);
    check_row(t, &w[0], "a");
    CHECK_STATUS(w[1].status, trouble);
}

static void b2_a_damaged_row_is_its_own_affair(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[] = {by_id("a", NULL), by_id("b", NULL), by_uid(b.uid, NULL)};
    ask_with_trouble(t, PAWL_CORRUPT, w);
    check_row(t, &w[2], "b");
}

static void b3_after_trouble_the_rest_is_left_out(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[] = {by_id("a", NULL), by_id("b", NULL), by_uid(b.uid, "k")};
    ask_with_trouble(t, PAWL_UNAVAILABLE, w);
    CHECK_STATUS(w[2].status, PAWL_UNAVAILABLE);
    CHECK_STATUS(w[2].key_status, PAWL_UNAVAILABLE);
}

static void b3_beyond_the_limit_it_is_right_or_left_out(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[40];
    for (size_t i = 0; i < 40; i++)
        w[i] = by_id(i % 2 ? "a" : "b", NULL);
    CHECK_STATUS(store_load(t->store, w, 40, 1, t->mem, NULL), PAWL_OK);
    for (size_t i = 0; i < 40; i++)
        if (w[i].status != PAWL_UNAVAILABLE)
            check_row(t, &w[i], i % 2 ? "a" : "b");
}

static void b1_only_the_key_when_only_that_is_asked_for(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[] = {by_uid(a.uid, "k"), by_uid(b.uid, "k")};
    w[0].key_only = w[1].key_only = true;
    CHECK_STATUS(store_load(t->store, w, 2, SIZE_MAX / 2, t->mem, NULL), PAWL_OK);
    CHECK_STATUS(w[0].status, PAWL_OK);
    CHECK_STATUS(w[0].key_status, PAWL_OK);
    CHECK_STATUS(w[1].status, PAWL_OK);
    CHECK_STATUS(w[1].key_status, PAWL_EMPTY);
}

const struct probe_case cases_load[] = {
    CASE(b1_each_is_answered_as_if_asked_alone),
    CASE(b1_removed_instances_are_not_found),
    CASE(b1_only_the_key_when_only_that_is_asked_for),
    CASE(b2_a_damaged_row_is_its_own_affair),
    CASE(b3_after_trouble_the_rest_is_left_out),
    CASE(b3_beyond_the_limit_it_is_right_or_left_out),
    CASES_END,
};
