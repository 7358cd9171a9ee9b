/* SPDX-License-Identifier: MIT */
/* suite/case_instances.c -- instance rows, executions and keys: R1, R2, R5. */
#include "suite.h"

static void r1_an_instance_appears_with_its_round_and_not_before(struct probe *t)
{
    struct draft *d = insert(t, "a");
    draft_mail(d, "m");
    CHECK_NUMBER(find(t, "a").uid, 0);
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(find(t, "a").uid, d->row.uid);
    CHECK_NUMBER(find(t, "A").uid, 0); /* ids are bytes */
    CHECK_NUMBER(find(t, "").uid, 0);
}

static void check_row(struct probe *t, const pawl_row *got, const pawl_row *want)
{
    CHECK(got->uid == want->uid && got->state == want->state);
    CHECK(got->execution == want->execution && got->last_seq == want->last_seq);
    CHECK(got->last_rid == want->last_rid && got->first_rid == want->first_rid);
    CHECK(got->created_ms == want->created_ms && got->updated_ms == want->updated_ms);
    CHECK(got->parent_uid == want->parent_uid && got->parent_ref == want->parent_ref);
    CHECK(got->parent_execution == want->parent_execution);
    CHECK(pawl_str_eq(got->id, want->id) && pawl_str_eq(got->version, want->version));
    CHECK(pawl_str_eq(got->orchestration, want->orchestration));
    CHECK(pawl_str_eq(got->parent_id, want->parent_id) && pawl_str_eq(got->output, want->output));
    CHECK(pawl_str_eq(got->custom_status, want->custom_status));
    CHECK(pawl_str_eq(got->finding, want->finding));
}

static void fill(struct probe *t, pawl_row *row)
{
    row->orchestration = pawl_s("Ship");
    row->version = pawl_s("2.1.0");
    row->state = PAWL_BLOCKED;
    row->created_ms = t->now - 5;
    row->output = pawl_s("out");
    row->custom_status = pawl_s("half way");
    row->finding = pawl_s("nondeterministic");
}

static void r1_every_field_of_an_inserted_row_comes_back(struct probe *t)
{
    struct draft *d = insert(t, "a");
    fill(t, &d->row);
    d->row.parent_uid = 77;
    d->row.parent_execution = 2;
    d->row.parent_ref = 9;
    d->row.parent_id = pawl_s("parent");
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    pawl_row got = find(t, "a");
    check_row(t, &got, &d->row);
    CHECK_STATUS(t->store->ops->find_uid(t->store, d->row.uid, t->mem, &got, NULL), PAWL_OK);
    check_row(t, &got, &d->row);
}

static void r1_all_changes_every_field_and_last_only_the_position(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change_all(t, &a);
    fill(t, &d->row);
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_row got = find(t, "a");
    check_row(t, &got, &d->row);

    tick(t, 10);
    struct draft *last = change(t, &a);
    draft_event(last, "x");
    pawl_row want = last->row;
    last->row.state = PAWL_RUNNING; /* not part of LAST */
    last->row.custom_status = pawl_s("ignored");
    CHECK_STATUS(commit(last), PAWL_OK);
    got = find(t, "a");
    check_row(t, &got, &want);
}

static void r1_a_round_without_a_row_change_leaves_the_row(struct probe *t)
{
    pawl_row a = make(t, "a"), want = a;
    tick(t, 10);
    struct draft *d = change(t, &a);
    d->round.change = PAWL_ROW_NONE;
    d->round.row = NULL;
    draft_mail(d, "m");
    d->from = NULL;
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_row got = find(t, "a");
    check_row(t, &got, &want);
    CHECK_TEXT(mailbox(t, a.uid, NULL), "m");
}

static void r1_custom_status_is_set_kept_and_cleared(struct probe *t)
{
    pawl_row a = make(t, "a");
    CHECK_NUMBER(find(t, "a").custom_status.len, 0);
    struct draft *set = change_all(t, &a);
    set->row.custom_status = pawl_s("50%");
    CHECK_STATUS(commit(set), PAWL_OK);
    append(t, &a, "x");
    CHECK(pawl_str_is(find(t, "a").custom_status, "50%"));
    struct draft *clear = change_all(t, &a);
    clear->row.custom_status = (pawl_str){0};
    CHECK_STATUS(commit(clear), PAWL_OK);
    CHECK_NUMBER(find(t, "a").custom_status.len, 0);
}

static void r1_unknown_instances_and_executions_are_not_found(struct probe *t)
{
    pawl_row a = make(t, "a"), got;
    pawl_error err = {0};
    CHECK_STATUS(t->store->ops->find(t->store, pawl_s("b"), t->mem, &got, &err), PAWL_NOT_FOUND);
    CHECK_STATUS(t->store->ops->find_uid(t->store, 424242, t->mem, &got, &err), PAWL_NOT_FOUND);
    CHECK_STATUS(t->store->ops->find_execution(t->store, a.uid, 2, t->mem, &got, &err),
                 PAWL_NOT_FOUND);
    CHECK_STATUS(t->store->ops->find_execution(t->store, 424242, 1, t->mem, &got, &err),
                 PAWL_NOT_FOUND);
}

static void r2_a_closed_execution_keeps_its_own_end(struct probe *t)
{
    pawl_row a = make(t, "a");
    append(t, &a, "x");
    pawl_row before = a;
    struct draft *d = change_all(t, &a);
    d->row.version = pawl_s("2.0.0");
    draft_continue(d, "second");
    CHECK_STATUS(commit(d), PAWL_OK);
    append(t, &a, "y");

    pawl_row first = find_execution(t, a.uid, 1), second = find_execution(t, a.uid, 2);
    CHECK_NUMBER(first.state, PAWL_CONTINUED_AS_NEW);
    CHECK(first.execution == 1 && first.last_seq == 3 && first.first_rid == before.first_rid);
    CHECK_NUMBER(first.last_rid, d->events[0].rid);
    CHECK(pawl_str_is(first.version, "1.0.0") && pawl_str_is(first.id, "a"));
    CHECK_NUMBER(second.state, PAWL_RUNNING);
    CHECK(second.execution == 2 && second.last_seq == 2 && pawl_str_is(second.version, "2.0.0"));
    CHECK_NUMBER(second.first_rid, d->events[1].rid);
    CHECK_NUMBER(find(t, "a").execution, 2);
}

static void r2_executions_are_found_after_many_and_a_death(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t first_rid[12] = {0, a.first_rid};
    for (uint64_t i = 2; i <= 10; i++) {
        continue_as_new(t, &a, "next");
        first_rid[i] = a.first_rid;
    }
    die(t);
    for (uint64_t i = 1; i <= 10; i++) {
        pawl_row x = find_execution(t, a.uid, i);
        CHECK_NUMBER(x.state, i < 10 ? PAWL_CONTINUED_AS_NEW : PAWL_RUNNING);
        CHECK(x.first_rid == first_rid[i] && x.last_seq == (i < 10 ? 2 : 1));
        CHECK_TEXT(history(t, a.uid, i), i == 1   ? "start continued"
                                         : i < 10 ? "next continued"
                                                  : "next");
    }
    CHECK_NUMBER(find_execution(t, a.uid, 11).uid, 0);
}

static void r2_a_version_resolved_by_the_closing_round_is_kept(struct probe *t)
{
    struct draft *d = insert(t, "a");
    d->row.version = (pawl_str){0};
    d->row.state = PAWL_PENDING;
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_row a = d->row;
    d = change_all(t, &a);
    d->row.version = pawl_s("3.0.0");
    draft_continue(d, "second");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK(pawl_str_is(find_execution(t, a.uid, 1).version, "3.0.0"));
}

static void r2_an_instance_may_start_and_continue_in_one_round(struct probe *t)
{
    struct draft *d = insert(t, "a");
    draft_continue(d, "second");
    d->round.execution = 1;
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(history(t, d->row.uid, 1), "start continued");
    CHECK_TEXT(history(t, d->row.uid, 2), "second");
    pawl_row first = find_execution(t, d->row.uid, 1);
    CHECK(first.state == PAWL_CONTINUED_AS_NEW && first.last_seq == 2);
    CHECK_NUMBER(first.first_rid, d->events[0].rid);
}

static void r5_keys_are_remembered_by_instance(struct probe *t)
{
    pawl_row a = make(t, "a"), b = make(t, "b");
    struct draft *d = change(t, &a);
    draft_key(d, "k");
    draft_key(d, "K");
    CHECK_STATUS(commit(d), PAWL_OK);
    d = change(t, &a);
    draft_key(d, "k"); /* twice is no error */
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    const pawl_store_ops *ops = t->store->ops;
    CHECK_STATUS(ops->has_key(t->store, a.uid, pawl_s("k"), NULL), PAWL_OK);
    CHECK_STATUS(ops->has_key(t->store, a.uid, pawl_s("K"), NULL), PAWL_OK);
    CHECK_STATUS(ops->has_key(t->store, a.uid, pawl_s("k2"), NULL), PAWL_EMPTY);
    CHECK_STATUS(ops->has_key(t->store, b.uid, pawl_s("k"), NULL), PAWL_EMPTY);
    CHECK_STATUS(ops->has_key(t->store, 424242, pawl_s("k"), NULL), PAWL_EMPTY);
}

/* A client chooses its key, and nothing checks that it is a text. */
static void r5_keys_are_any_bytes(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_key(d, "\xff\xfe");
    draft_key(d, "\xc3");
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    take(t);
    const pawl_store_ops *ops = t->store->ops;
    CHECK_STATUS(ops->has_key(t->store, a.uid, pawl_s("\xff\xfe"), NULL), PAWL_OK);
    CHECK_STATUS(ops->has_key(t->store, a.uid, pawl_s("\xff"), NULL), PAWL_EMPTY);
    if (!ops->load)
        return;
    pawl_wanted wanted = {.uid = a.uid, .key = pawl_s("\xc3"), .status = PAWL_UNAVAILABLE};
    CHECK_STATUS(ops->load(t->store, &wanted, 1, 1 << 20, t->mem, NULL), PAWL_OK);
    CHECK_STATUS(wanted.key_status, PAWL_OK);
}

static void r5_keys_outlive_executions(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_key(d, "k");
    CHECK_STATUS(commit(d), PAWL_OK);
    continue_as_new(t, &a, "second");
    CHECK_STATUS(t->store->ops->has_key(t->store, a.uid, pawl_s("k"), NULL), PAWL_OK);
}

const struct probe_case cases_instances[] = {
    CASE(r1_an_instance_appears_with_its_round_and_not_before),
    CASE(r1_every_field_of_an_inserted_row_comes_back),
    CASE(r1_all_changes_every_field_and_last_only_the_position),
    CASE(r1_a_round_without_a_row_change_leaves_the_row),
    CASE(r1_custom_status_is_set_kept_and_cleared),
    CASE(r1_unknown_instances_and_executions_are_not_found),
    CASE(r2_a_closed_execution_keeps_its_own_end),
    CASE(r2_executions_are_found_after_many_and_a_death),
    CASE(r2_a_version_resolved_by_the_closing_round_is_kept),
    CASE(r2_an_instance_may_start_and_continue_in_one_round),
    CASE(r5_keys_are_remembered_by_instance),
    CASE(r5_keys_are_any_bytes),
    CASE(r5_keys_outlive_executions),
    CASES_END,
};
