/* SPDX-License-Identifier: MIT */
/* suite/case_history.c -- histories: H1 to H4. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

static pawl_event_list page(struct probe *t, uint64_t uid, uint64_t after, uint32_t limit)
{
    pawl_event_list list = {0};
    CHECK_STATUS(t->store->ops->read_history(t->store, uid, 1, after, limit, t->mem, &list, NULL),
                 PAWL_OK);
    return list;
}

static void h1_every_field_of_an_event_comes_back(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_event(d, "data");
    pawl_event *in = &d->events[0];
    in->ref = 7;
    in->kind = PAWL_EV_ACTIVITY_SCHEDULED;
    in->name = pawl_s("Charge");
    in->attrs = pawl_s("{\"attempts\":3}");
    in->at_ms = t->now - 1;
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    pawl_event one = {0};
    CHECK_STATUS(t->store->ops->read_event(t->store, in->rid, t->mem, &one, NULL), PAWL_OK);
    pawl_event out[2] = {page(t, a.uid, 1, 0).items[0], one};
    for (int i = 0; i < 2; i++) {
        CHECK(out[i].rid == in->rid && out[i].seq == 2 && out[i].execution == 1);
        CHECK(out[i].ref == 7 && out[i].kind == in->kind && out[i].at_ms == in->at_ms);
        CHECK(pawl_str_eq(out[i].name, in->name) && pawl_str_eq(out[i].data, in->data));
        CHECK(pawl_str_eq(out[i].attrs, in->attrs));
    }
}

static void h1_events_of_a_kind_nobody_knows_are_kept(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_event(d, "from the future");
    d->events[0].kind = 9999; /* a newer engine wrote it: the store does not care */
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(page(t, a.uid, 1, 0).items[0].kind, 9999);
}

/* A thousand events by rounds of every size, among those of another instance. */
static pawl_row thousand(struct probe *t)
{
    pawl_row a = make(t, "a"), b = make(t, "b");
    while (a.last_seq < 1000) {
        struct draft *d = change(t, &a);
        char text[24];
        for (uint64_t n = a.last_seq % 97 + 1; n > 0 && d->row.last_seq < 1000; n--) {
            snprintf(text, sizeof(text), "e%llu", (unsigned long long)d->row.last_seq + 1);
            draft_event(d, text);
        }
        CHECK_STATUS(commit(d), PAWL_OK);
        append(t, &b, "b");
    }
    return a;
}

static void check_events(struct probe *t, pawl_event_list list, uint64_t after, size_t count)
{
    CHECK_NUMBER(list.count, count);
    for (size_t i = 0; i < list.count; i++) {
        char text[24];
        snprintf(text, sizeof(text), "e%llu", (unsigned long long)list.items[i].seq);
        CHECK_NUMBER(list.items[i].seq, after + i + 1);
        CHECK(pawl_str_is(list.items[i].data, list.items[i].seq == 1 ? "start" : text));
        CHECK(i == 0 || list.items[i].rid > list.items[i - 1].rid);
    }
}

static void h1_a_thousand_events_whole_and_page_by_page(struct probe *t)
{
    pawl_row a = thousand(t);
    check_events(t, page(t, a.uid, 0, 0), 0, 1000);
    uint32_t sizes[] = {1, 7, 128, 129, 999, 1000, 5000};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        uint64_t after = sizes[s] == 1 ? 950 : 0;
        while (after < 1000) {
            uint64_t want = 1000 - after < sizes[s] ? 1000 - after : sizes[s];
            check_events(t, page(t, a.uid, after, sizes[s]), after, want);
            after += want;
        }
        CHECK_NUMBER(page(t, a.uid, after, sizes[s]).count, 0);
    }
}

static void h1_any_place_of_a_long_history_is_reached(struct probe *t)
{
    pawl_row a = thousand(t);
    for (uint64_t after = 0; after < 1000; after += 13)
        check_events(t, page(t, a.uid, after, 2), after, after == 999 ? 1 : 2);
    CHECK_NUMBER(page(t, a.uid, 1000, 0).count, 0);
    CHECK_NUMBER(page(t, a.uid, 5000, 10).count, 0);
    die(t);
    check_events(t, page(t, a.uid, 700, 0), 700, 300);
}

static void h1_histories_of_interleaved_instances_stay_apart(struct probe *t)
{
    enum { INSTANCES = 10, EVENTS = 20 };
    pawl_row rows[INSTANCES];
    char name[INSTANCES][16];
    for (int i = 0; i < INSTANCES; i++) {
        snprintf(name[i], sizeof(name[i]), "i%d", i);
        rows[i] = make(t, name[i]);
    }
    for (int e = 0; e < EVENTS; e++) {
        struct draft *d[INSTANCES];
        for (int i = 0; i < INSTANCES; i++) {
            d[i] = change(t, &rows[i]);
            draft_event(d[i], name[i]);
        }
        CHECK_STATUS(commit_all(t, d, INSTANCES), PAWL_OK);
    }
    for (int i = 0; i < INSTANCES; i++) {
        pawl_event_list list = page(t, rows[i].uid, 1, 0);
        CHECK_NUMBER(list.count, EVENTS);
        for (size_t e = 0; e < list.count; e++)
            CHECK(pawl_str_is(list.items[e].data, name[i]));
    }
}

static void h1_executions_have_histories_of_their_own(struct probe *t)
{
    pawl_row a = make(t, "a");
    append(t, &a, "x");
    continue_as_new(t, &a, "second");
    append(t, &a, "y");
    continue_as_new(t, &a, "third");
    die(t);
    CHECK_TEXT(history(t, a.uid, 1), "start x continued");
    CHECK_TEXT(history(t, a.uid, 2), "second y continued");
    CHECK_TEXT(history(t, a.uid, 3), "third");
}

static void h1_a_round_may_end_one_execution_and_run_the_next(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change_all(t, &a);
    draft_event(d, "x");
    draft_continue(d, "second");
    draft_event(d, "y");
    draft_event(d, "z");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(history(t, a.uid, 1), "start x continued");
    CHECK_TEXT(history(t, a.uid, 2), "second y z");
    append(t, &a, "on");
    CHECK_TEXT(history(t, a.uid, 2), "second y z on");
}

static void h2_nobody_wrote_it_no_events(struct probe *t)
{
    pawl_row a = make(t, "a");
    CHECK_TEXT(history(t, a.uid, 2), "");
    CHECK_TEXT(history(t, a.uid, 0), "");
    CHECK_TEXT(history(t, 424242, 1), "");
}

static void h2_an_instance_without_events_has_an_empty_history(struct probe *t)
{
    struct draft *d = insert(t, "pending");
    d->round.event_count = 0;
    d->row.last_seq = d->row.last_rid = d->row.first_rid = 0;
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_TEXT(history(t, d->row.uid, 1), "");
    pawl_row a = d->row;
    append(t, &a, "first");
    CHECK_TEXT(history(t, a.uid, 1), "first");
}

static void h3_a_row_that_does_not_fit_is_corrupt_and_named(struct probe *t)
{
    pawl_row a = make(t, "a"), b = make(t, "b");
    append(t, &a, "x");
    uint64_t rid = a.last_rid;
    append(t, &a, "y");
    if (!t->factory->damage ||
        !t->factory->damage(t->factory->user, t->store, PAWL_DAMAGE_EVENT, rid))
        probe_skip(t);
    pawl_event_list list = {0};
    pawl_error err = {0};
    char word[24];
    snprintf(word, sizeof(word), "%llu", (unsigned long long)rid);
    CHECK_STATUS(t->store->ops->read_history(t->store, a.uid, 1, 0, 0, t->mem, &list, &err),
                 PAWL_CORRUPT);
    CHECK(strstr(err.text, word));
    CHECK_TEXT(history(t, b.uid, 1), "start"); /* these rows only */
}

static void h4_an_event_that_is_not_there_is_not_found(struct probe *t)
{
    pawl_row a = make(t, "a");
    pawl_event e = {0};
    CHECK_STATUS(t->store->ops->read_event(t->store, a.first_rid, t->mem, &e, NULL), PAWL_OK);
    CHECK_STATUS(t->store->ops->read_event(t->store, 424242, t->mem, &e, NULL), PAWL_NOT_FOUND);
}

const struct probe_case cases_history[] = {
    CASE(h1_every_field_of_an_event_comes_back),
    CASE(h1_events_of_a_kind_nobody_knows_are_kept),
    CASE(h1_a_thousand_events_whole_and_page_by_page),
    CASE(h1_any_place_of_a_long_history_is_reached),
    CASE(h1_histories_of_interleaved_instances_stay_apart),
    CASE(h1_executions_have_histories_of_their_own),
    CASE(h1_a_round_may_end_one_execution_and_run_the_next),
    CASE(h2_nobody_wrote_it_no_events),
    CASE(h2_an_instance_without_events_has_an_empty_history),
    CASE(h3_a_row_that_does_not_fit_is_corrupt_and_named),
    CASE(h4_an_event_that_is_not_there_is_not_found),
    CASES_END,
};
