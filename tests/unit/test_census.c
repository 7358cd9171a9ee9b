/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_census.c -- server/census.h: counts that follow every commit are those that a look
 * at everything gives, also when instances begin, end and go while the walk reads a page; and
 * server/recent.c against a plain list.
 */
#include "../harness.h"

#include "pawl/provider.h"
#include "server/census.h"
#include "server/server.h"
#include "store/fault/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pawl_app *app;
static pawl_store *store;
static pawl_store_ops ops;
static const pawl_store_ops *plain;
static pawl_runtime *rt;
static pawl_client *c;
static pawl_mem *mem;
static struct census *census;
static pawl_error err;
static int made, meanwhile; /* instances; changes that are made while a page is read */

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_str_is(go.value, "bad") ? pawl_fail(ctx, "it was bad") : pawl_done(ctx, "");
}

static void on_feed(void *arg, const pawl_change *changes, size_t count)
{
    (void)arg;
    if (census)
        census_note(census, changes, count);
}

static const char *id_of(int n)
{
    return pawl_mem_printf(mem, "i%d", n).ptr;
}

static void start(void)
{
    static const char *const names[] = {"A", "B", "C"};
    pawl_reply reply;
    ck_assert_int_eq(pawl_client_start(c, names[made % 3], pawl_s(""),
                                       PAWL_START_OPTS(.instance = id_of(made)), &reply),
                     PAWL_OK);
    made++;
}

/* One that is there, or was: the status does not matter. */
static void change(int n)
{
    pawl_reply reply;
    const char *id = id_of(n % made);
    pawl_status rc = PAWL_OK;
    switch (n % 7) {
    case 0:
        rc = pawl_client_raise(c, id, "Go", pawl_s("bad"), NULL, &err);
        break;
    case 1:
        rc = pawl_client_raise(c, id, "Go", pawl_s("good"), NULL, &err);
        break;
    case 2:
        rc = pawl_client_terminate(c, id, "no", &err);
        break;
    case 3:
        rc = pawl_client_suspend(c, id, NULL, &err);
        break;
    case 4:
        rc = pawl_client_resume(c, id, NULL, &err);
        break;
    case 5:
        rc = pawl_client_remove(c, id, true, &reply);
        break;
    default:
        start();
    }
    (void)rc;
    for (int i = 0; i < 3; i++)
        (void)pawl_runtime_step(rt, 0);
}

static pawl_status list_meanwhile(pawl_store *s, const pawl_row_query *query, pawl_mem *m,
                                  pawl_row_list *ret, pawl_error *reterr)
{
    pawl_status rc = plain->list(s, query, m, ret, reterr);
    int n = meanwhile;
    meanwhile = 0; /* a removal reads lists, too */
    for (; n > 0; n--)
        change(n * 11);
    return rc;
}

static void open_world(void)
{
    app = pawl_app_new();
    mem = pawl_mem_new();
    store = fault_store(pawl_memory_store(), NULL, NULL);
    plain = store->ops;
    ops = *plain;
    ops.list = list_meanwhile;
    ops.search = NULL;
    store->ops = &ops;
    made = meanwhile = 0;
    static const char *const names[] = {"A", "B", "C"};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pawl_register_orchestration(app, names[i], "1.0.0", waits), PAWL_OK);
    rt = pawl_runtime_open(app, PAWL_OPTIONS(.opened_store = store), &err);
    ck_assert_msg(rt, "%s", err.text);
    c = pawl_runtime_client(rt);
    ck_assert_uint_ne(pawl_client_feed(c, on_feed, NULL), 0);
}

static void close_world(void)
{
    pawl_runtime_close(rt);
    store->ops = plain;
    plain->close(store);
    pawl_app_free(app);
    pawl_mem_free(mem);
    census_destroy(census);
    census = NULL;
}

/* By orchestration and state, counted one by one. */
static void check_counts(void)
{
    uint64_t truth[3][CENSUS_STATES] = {0};
    struct census_view view;
    pawl_page page = {0};
    do {
        ck_assert_int_eq(
            pawl_client_list(
                c, PAWL_FILTER(.limit = 1000, .after = page.next.len ? page.next.ptr : NULL), mem,
                &page, &err),
            PAWL_OK);
        for (size_t i = 0; i < page.count; i++)
            truth[page.items[i].orchestration.ptr[0] - 'A'][page.items[i].state]++;
    } while (page.next.len);
    census_look(census, mem, &view);
    ck_assert(view.exact);
    for (size_t k = 0; k < view.kind_count; k++) {
        ck_assert(k == 0 || strcmp(view.kinds[k - 1].name.ptr, view.kinds[k].name.ptr) < 0);
        for (int s = 0; s < CENSUS_STATES; s++)
            ck_assert_msg(view.kinds[k].counts[s] == truth[view.kinds[k].name.ptr[0] - 'A'][s],
                          "%s, state %d: %d, not %d", view.kinds[k].name.ptr, s,
                          (int)view.kinds[k].counts[s],
                          (int)truth[view.kinds[k].name.ptr[0] - 'A'][s]);
    }
}

/* As many as a page and some more were there before; what happens meanwhile is counted once. */
TEST(counts_are_exact_whatever_happens_while_they_are_made)
{
    for (int often = 0; often <= 60; often += 20) {
        open_world();
        for (int i = 0; i < 2300; i++)
            start();
        for (int i = 0; i < 300; i++)
            change(i * 5);
        census = census_create();
        ck_assert_ptr_nonnull(census);
        struct census_view view;
        census_look(census, mem, &view);
        ck_assert(!view.exact);
        for (int i = 0; i < 50; i++) /* before the walk: only new ones count */
            change(i * 3);
        for (int i = 0; i < 1000 && !view.exact; i++) {
            meanwhile = often;
            ck_assert_msg(census_walk(census, c, &err), "%s", err.text);
            meanwhile = 0;
            change(i * 13);
            census_look(census, mem, &view);
        }
        check_counts();
        for (int i = 0; i < 400; i++)
            change(i * 17);
        check_counts();
        close_world();
    }
}

static bool is_away;

static pawl_status list_of_the_away(pawl_store *s, const pawl_row_query *query, pawl_mem *m,
                                    pawl_row_list *ret, pawl_error *reterr)
{
    if (!is_away)
        return plain->list(s, query, m, ret, reterr);
    if (reterr)
        *reterr = (pawl_error){PAWL_UNAVAILABLE, "away"};
    return PAWL_UNAVAILABLE;
}

TEST(a_walk_that_cannot_read_says_so_and_goes_on_later)
{
    struct census_view view;
    open_world();
    for (int i = 0; i < 20; i++)
        start();
    census = census_create();
    ops.list = list_of_the_away;
    is_away = true;
    ck_assert(!census_walk(census, c, &err));
    ck_assert_int_eq(err.status, PAWL_UNAVAILABLE);
    census_look(census, mem, &view);
    ck_assert(!view.exact);
    is_away = false;
    ck_assert(census_walk(census, c, &err));
    check_counts();
    close_world();
}

/* ---- What is told without a store ------------------------------------------------------------ */

static pawl_change a_change(uint64_t uid, const char *name, int was, pawl_state now)
{
    return (pawl_change){.instance = pawl_s("i"),
                         .uid = uid,
                         .was = was,
                         .state = now,
                         .orchestration = pawl_s(name),
                         .created_ms = 1000,
                         .updated_ms = 1000};
}

TEST(flow_counts_starts_and_ends_once)
{
    struct census *t = census_create();
    pawl_change all[] = {
        a_change(1, "A", -1, PAWL_RUNNING),
        a_change(2, "A", -1, PAWL_COMPLETED), /* began and ended at once */
        a_change(1, "A", PAWL_RUNNING, PAWL_SUSPENDED),
        a_change(1, "A", PAWL_SUSPENDED, PAWL_SUSPENDED), /* only its history grew */
        a_change(1, "A", PAWL_SUSPENDED, PAWL_FAILED),
        a_change(3, "A", -1, PAWL_RUNNING),
        a_change(3, "A", PAWL_RUNNING, PAWL_CANCELLED),
        a_change(4, "A", -1, PAWL_RUNNING),
        a_change(4, "A", PAWL_RUNNING, PAWL_RUNNING),
        a_change(2, "A", PAWL_COMPLETED, PAWL_RUNNING), /* run again */
    };
    all[8].removed = true;
    census_note(t, all, sizeof all / sizeof all[0]);
    pawl_change queue = {.queue = pawl_s("q"), .was = -1};
    census_note(t, &queue, 1);
    struct census_flow f = census_flow(t);
    ck_assert_uint_eq(f.starts, 4);
    ck_assert_uint_eq(f.ended, 3);
    ck_assert_uint_eq(f.failed, 1);
    pawl_mem *m = pawl_mem_new();
    struct census_view view;
    census_look(t, m, &view);
    ck_assert_uint_eq(view.kind_count, 1);
    ck_assert_uint_eq(view.failure_count, 1);
    ck_assert(pawl_str_is(view.failures[0].kind->name, "A"));
    pawl_mem_free(m);
    census_destroy(t);
}

TEST(times_are_told_within_a_fifth)
{
    static const int64_t times[] = {
        0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 100, 1000, 12345, 3600000, 86400000, INT64_C(2592000000),
        -5};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct census *t = census_create();
        pawl_mem *m = pawl_mem_new();
        struct census_view view;
        pawl_change one = a_change(1, "A", PAWL_RUNNING, PAWL_COMPLETED);
        one.updated_ms = one.created_ms + times[i];
        census_note(t, &one, 1);
        census_look(t, m, &view);
        int64_t want = times[i] < 0 ? 0 : times[i], got = census_percentile(view.kinds, 50);
        ck_assert_msg(got * 5 >= want * 4 && got * 5 <= want * 6, "%lld ms are told as %lld",
                      (long long)want, (long long)got);
        if (want < 4)
            ck_assert_int_eq(got, want);
        pawl_mem_free(m);
        census_destroy(t);
    }
}

TEST(percentiles_are_in_order)
{
    struct census *t = census_create();
    pawl_mem *m = pawl_mem_new();
    struct census_view view;
    for (int i = 1; i <= 100; i++) {
        pawl_change one = a_change((uint64_t)i, "A", PAWL_RUNNING, PAWL_COMPLETED);
        one.updated_ms = one.created_ms + (i <= 50 ? 1 : i <= 95 ? 100 : 10000);
        census_note(t, &one, 1);
    }
    pawl_change none = a_change(999, "B", -1, PAWL_RUNNING);
    census_note(t, &none, 1);
    census_look(t, m, &view);
    ck_assert_int_eq(census_percentile(&view.kinds[0], 50), 1);
    ck_assert_int_ge(census_percentile(&view.kinds[0], 51), 80);
    ck_assert_int_le(census_percentile(&view.kinds[0], 95), 120);
    ck_assert_int_ge(census_percentile(&view.kinds[0], 96), 8000);
    ck_assert_int_le(census_percentile(&view.kinds[0], 100), 12000);
    ck_assert_int_eq(census_percentile(&view.kinds[1], 50), -1);
    pawl_mem_free(m);
    census_destroy(t);
}

TEST(the_newest_failures_are_remembered_and_their_texts_cut)
{
    struct census *t = census_create();
    pawl_mem *m = pawl_mem_new();
    struct census_view view;
    char text[600] = "";
    for (int i = 0; i < 260; i++) {
        pawl_info info = {0};
        pawl_change one = a_change((uint64_t)i + 1, "A", PAWL_RUNNING, PAWL_FAILED);
        (void)snprintf(text, sizeof text, "failure %d %s", i, i == 259 ? "" : "x");
        for (size_t n = strlen(text); i == 259 && n + 3 < sizeof text; n += 2)
            memcpy(text + n, "\xc3\xbc", 3);
        info.error = pawl_s(text);
        one.ended = i == 258 ? NULL : &info;
        one.updated_ms = 1000 + i;
        one.instance = pawl_mem_printf(m, "i%d", i);
        census_note(t, &one, 1);
        census_look(t, m, &view);
        ck_assert_uint_eq(view.failure_count, (size_t)(i < CENSUS_FAILED ? i + 1 : CENSUS_FAILED));
        ck_assert(pawl_str_eq(view.failures[0].instance, one.instance));
        ck_assert_int_eq(view.failures[0].at_ms, 1000 + i);
    }
    pawl_str cut = view.failures[0].error;
    ck_assert(cut.len <= CENSUS_TEXT && cut.len >= CENSUS_TEXT - 1);
    ck_assert(memcmp(cut.ptr, text, cut.len) == 0);
    ck_assert_uint_eq((unsigned char)cut.ptr[cut.len - 1], 0xbc); /* a whole character */
    ck_assert_uint_eq(view.failures[1].error.len, 0);
    ck_assert(pawl_str_is(view.failures[2].error, "failure 257 x"));
    ck_assert(pawl_str_is(view.failures[CENSUS_FAILED - 1].instance, "i4"));
    pawl_mem_free(m);
    census_destroy(t);
}

TEST(orchestrations_beyond_the_limit_share_their_counts)
{
    struct census *t = census_create();
    pawl_mem *m = pawl_mem_new();
    struct census_view view;
    for (int i = 0; i < CENSUS_NAMES + 7; i++) {
        pawl_change one =
            a_change((uint64_t)i + 1, pawl_mem_printf(m, "N%03d", i).ptr, -1, PAWL_COMPLETED);
        census_note(t, &one, 1);
    }
    census_look(t, m, &view);
    ck_assert_uint_eq(view.kind_count, CENSUS_NAMES + 1);
    ck_assert_uint_eq(view.kinds[0].name.len, 0);
    ck_assert_uint_eq(view.kinds[0].took[0], 7);
    ck_assert(pawl_str_is(view.kinds[CENSUS_NAMES].name, "N199"));
    ck_assert_uint_eq(view.kinds[CENSUS_NAMES].took[0], 1);
    pawl_mem_free(m);
    census_destroy(t);
}

/* ---- Instances started lately ---------------------------------------------------------------- */

#define LATELY_MAX   2048
#define LATELY_BYTES (512 * 1024)
#define LATELY_BODY  8192

TEST(what_was_started_lately_is_known_until_it_is_given_out)
{
    struct recents t;
    pawl_mem *m = pawl_mem_new();
    pawl_str body = {0}, a = pawl_s("a"), b = pawl_s("b");
    recents_init(&t);
    ck_assert_int_eq(recent_look(&t, a, m, &body), RECENT_UNKNOWN);
    ck_assert(!recent_is_alive(&t, a));
    recent_ended(&t, a, pawl_s("x")); /* nobody waits for what was not started here */
    ck_assert_int_eq(recent_look(&t, a, m, &body), RECENT_UNKNOWN);
    recent_started(&t, a);
    recent_started(&t, b);
    ck_assert(recent_is_alive(&t, a));
    ck_assert_int_eq(recent_look(&t, a, m, &body), RECENT_ALIVE);
    recent_ended(&t, a, pawl_s("the end"));
    ck_assert(!recent_is_alive(&t, a) && recent_is_alive(&t, b));
    ck_assert_int_eq(recent_look(&t, a, m, &body), RECENT_ENDED);
    ck_assert(pawl_str_is(body, "the end"));
    ck_assert_int_eq(recent_look(&t, a, m, &body), RECENT_UNKNOWN); /* once */
    recent_ended(&t, b, pawl_s("one"));
    recent_ended(&t, b, pawl_s("two")); /* twice: it is looked up */
    ck_assert_int_eq(recent_look(&t, b, m, &body), RECENT_UNKNOWN);
    recent_started(&t, b);
    recent_ended(&t, b, pawl_s("old"));
    recent_started(&t, b); /* again, under its name */
    ck_assert_int_eq(recent_look(&t, b, m, &body), RECENT_ALIVE);
    recent_forget(&t, b);
    recent_forget(&t, b);
    ck_assert_int_eq(recent_look(&t, b, m, &body), RECENT_UNKNOWN);
    ck_assert_uint_eq(t.count, 0);
    ck_assert_uint_eq(t.bytes, 0);
    recent_started(&t, a);
    recent_started(&t, b);
    recents_reset(&t);
    ck_assert_int_eq(recent_look(&t, a, m, &body), RECENT_UNKNOWN);
    ck_assert_uint_eq(t.count, 0);
    recents_deinit(&t);
    pawl_mem_free(m);
}

TEST(what_was_started_lately_is_bounded_and_the_oldest_goes)
{
    struct recents t;
    pawl_mem *m = pawl_mem_new();
    pawl_str got = {0};
    static char large[LATELY_BODY + 1];
    memset(large, 'x', sizeof large);
    recents_init(&t);
    for (int i = 0; i <= LATELY_MAX; i++) {
        recent_started(&t, pawl_mem_printf(m, "n%d", i));
        ck_assert_uint_eq(t.count, (size_t)(i < LATELY_MAX ? i + 1 : LATELY_MAX));
    }
    ck_assert(!recent_is_alive(&t, pawl_s("n0")) && recent_is_alive(&t, pawl_s("n1")));
    ck_assert(recent_is_alive(&t, pawl_mem_printf(m, "n%d", LATELY_MAX)));
    recent_forget(&t, pawl_s("n2")); /* in the middle */
    recent_started(&t, pawl_s("new"));
    ck_assert(recent_is_alive(&t, pawl_s("n1")) && recent_is_alive(&t, pawl_s("n3")));
    recent_started(&t, pawl_s("newer"));
    ck_assert(!recent_is_alive(&t, pawl_s("n1")) && recent_is_alive(&t, pawl_s("n3")));
    recents_reset(&t);
    /* Bodies: none beyond the limit, and the oldest go when they are too many bytes. */
    recent_started(&t, pawl_s("a"));
    recent_ended(&t, pawl_s("a"), (pawl_str){large, LATELY_BODY + 1});
    ck_assert_int_eq(recent_look(&t, pawl_s("a"), m, &got), RECENT_UNKNOWN);
    recent_started(&t, pawl_s("a"));
    recent_ended(&t, pawl_s("a"), (pawl_str){0});
    ck_assert_int_eq(recent_look(&t, pawl_s("a"), m, &got), RECENT_UNKNOWN);
    int fit = LATELY_BYTES / LATELY_BODY;
    for (int i = 0; i <= fit; i++) {
        pawl_str id = pawl_mem_printf(m, "b%d", i);
        recent_started(&t, id);
        recent_ended(&t, id, (pawl_str){large, LATELY_BODY});
        ck_assert_uint_eq(t.bytes, (size_t)(i < fit ? i + 1 : fit) * LATELY_BODY);
    }
    ck_assert_int_eq(recent_look(&t, pawl_s("b0"), m, &got), RECENT_UNKNOWN);
    ck_assert_int_eq(recent_look(&t, pawl_s("b1"), m, &got), RECENT_ENDED);
    ck_assert_uint_eq(got.len, LATELY_BODY);
    ck_assert_int_eq(recent_look(&t, pawl_mem_printf(m, "b%d", fit), m, &got), RECENT_ENDED);
    recents_deinit(&t);
    pawl_mem_free(m);
}
