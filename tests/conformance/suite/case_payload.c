/* SPDX-License-Identifier: MIT */
/* suite/case_payload.c -- bytes come back as they went in: H1, R1, R3, R4. */
#include "suite.h"

#include <string.h>

#define BIG_BYTES ((size_t)2 * 1024 * 1024)

static pawl_str bytes(struct probe *t, size_t n)
{
    char *p = pawl_mem_alloc(t->mem, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)((i * 131) >> 3);
    return (pawl_str){.ptr = p, .len = n};
}

/* The same bytes as event, message, work and instance fields, over a death. */
static void round_trip(struct probe *t, pawl_str in)
{
    struct draft *d = insert(t, "a");
    d->events[0].data = d->events[0].attrs = in;
    d->row.output = d->row.custom_status = in;
    uint64_t m = draft_message(d, (pawl_message){.data = in, .attrs = in});
    uint64_t j =
        draft_work(d, (pawl_work){.name = pawl_s("j"), .input = in, .attrs = in, .last_error = in});
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    take(t);
    pawl_event e;
    pawl_row row = find(t, "a");
    CHECK_STATUS(t->store->ops->read_event(t->store, d->events[0].rid, t->mem, &e, NULL), PAWL_OK);
    CHECK(pawl_str_eq(e.data, in) && pawl_str_eq(e.attrs, in));
    CHECK(pawl_str_eq(row.output, in) && pawl_str_eq(row.custom_status, in));
    pawl_message msg = message(t, d->row.uid, m);
    CHECK(pawl_str_eq(msg.data, in) && pawl_str_eq(msg.attrs, in));
    pawl_work w = work(t, j);
    CHECK(pawl_str_eq(w.input, in) && pawl_str_eq(w.attrs, in) && pawl_str_eq(w.last_error, in));
    CHECK(w.input.ptr[in.len] == '\0'); /* what is handed out prints */
}

static void h1_r1_r3_r4_bytes_with_nul_come_back(struct probe *t)
{
    round_trip(t, (pawl_str){.ptr = "a\0b\0\0", .len = 5});
}

static void h1_r1_r3_r4_bytes_that_are_no_text_come_back(struct probe *t)
{
    round_trip(t, (pawl_str){.ptr = "\xff\xfe\x80\xc0' \"\\;--\n\r\t\x01", .len = 16});
}

static void h1_r1_r3_r4_text_of_many_scripts_comes_back(struct probe *t)
{
    round_trip(t, pawl_s("Grüße, 東京, \U0001F980, e\xCC\x81"));
}

static void h1_r1_r3_r4_empty_comes_back_empty(struct probe *t)
{
    round_trip(t, (pawl_str){.ptr = "", .len = 0});
}

static void h1_r3_r4_two_mebibytes_come_back(struct probe *t)
{
    pawl_row a = make(t, "a");
    pawl_str in = bytes(t, BIG_BYTES);
    struct draft *d = change(t, &a);
    draft_event(d, "");
    d->events[0].data = in;
    uint64_t m = draft_message(d, (pawl_message){.data = in});
    uint64_t j = draft_work(d, (pawl_work){.name = pawl_s("j"), .input = in});
    CHECK_STATUS(commit(d), PAWL_OK);
    die(t);
    pawl_event_list list = {0};
    CHECK_STATUS(t->store->ops->read_history(t->store, a.uid, 1, 1, 1, t->mem, &list, NULL),
                 PAWL_OK);
    CHECK(list.count == 1 && pawl_str_eq(list.items[0].data, in));
    CHECK(pawl_str_eq(message(t, a.uid, m).data, in));
    CHECK(pawl_str_eq(work(t, j).input, in));
}

static void r1_ids_are_bytes(struct probe *t)
{
    char longest[1025];
    memset(longest, 'x', 1024);
    longest[1024] = '\0';
    const char *ids[] = {"é", "e\xCC\x81", "東京/注文-1", "a b",  "A", "a", "'; DROP TABLE x; --",
                         "%", "*",         "\U0001F980",  longest};
    enum { COUNT = sizeof(ids) / sizeof(ids[0]) };
    uint64_t uids[COUNT];
    for (int i = 0; i < COUNT; i++)
        uids[i] = make(t, ids[i]).uid;
    die(t);
    for (int i = 0; i < COUNT; i++) {
        CHECK_NUMBER(find(t, ids[i]).uid, uids[i]);
        CHECK(pawl_str_is(find(t, ids[i]).id, ids[i]));
    }
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 4, .prefix = pawl_s("東")}), "東京/注文-1");
}

static void r1_r3_numbers_of_any_size_come_back(struct probe *t)
{
    struct draft *d = insert(t, "a");
    d->row.parent_uid = INT64_MAX;
    d->row.parent_ref = (uint64_t)1 << 40;
    d->row.created_ms = -1;
    uint64_t m = draft_message(d, (pawl_message){.ref = INT64_MAX, .attempt = UINT32_MAX});
    uint64_t j = draft_work(
        d, (pawl_work){.name = pawl_s("j"), .deadline_ms = INT64_MAX, .crashes = UINT32_MAX});
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_row row = find(t, "a");
    CHECK(row.parent_uid == INT64_MAX && row.parent_ref == (uint64_t)1 << 40);
    CHECK_NUMBER(row.created_ms, -1);
    CHECK(message(t, d->row.uid, m).ref == INT64_MAX);
    CHECK(message(t, d->row.uid, m).attempt == UINT32_MAX);
    CHECK(work(t, j).deadline_ms == INT64_MAX && work(t, j).crashes == UINT32_MAX);
}

const struct probe_case cases_payload[] = {
    CASE(h1_r1_r3_r4_bytes_with_nul_come_back),
    CASE(h1_r1_r3_r4_bytes_that_are_no_text_come_back),
    CASE(h1_r1_r3_r4_text_of_many_scripts_comes_back),
    CASE(h1_r1_r3_r4_empty_comes_back_empty),
    CASE(h1_r3_r4_two_mebibytes_come_back),
    CASE(r1_ids_are_bytes),
    CASE(r1_r3_numbers_of_any_size_come_back),
    CASES_END,
};
