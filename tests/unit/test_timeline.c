/* SPDX-License-Identifier: MIT */
/* tests/unit/test_timeline.c -- a history becomes bars: outcomes, attempts, cuts, rows by name. */
#include "../harness.h"
#include "view/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 1000000

static pawl_mem *mem;
static struct timeline t;
static uint64_t seq;

static void begin(void)
{
    mem = pawl_mem_new();
    timeline_begin(&t, mem);
    seq = 0;
}

static void end(void)
{
    timeline_end(&t);
    pawl_mem_free(mem);
}

/* An event `at` milliseconds after the first. */
static void add(int64_t at, const char *kind, uint64_t ref, const char *name, const char *attrs,
                const char *data)
{
    pawl_history_event e = {.seq = ++seq,
                            .kind = kind,
                            .ref = ref,
                            .name = pawl_s(name),
                            .attrs = pawl_s(attrs),
                            .data = pawl_s(data),
                            .at_ms = T0 + at};
    timeline_add(&t, &e);
}

static void step(uint64_t ref, const char *name, int64_t from, int64_t to)
{
    add(from, "ActivityScheduled", ref, name, "", "");
    add(to, "ActivityCompleted", ref, "", "", "");
}

static void started(void)
{
    add(0, "OrchestrationStarted", 0, "Shop", "", "");
}

static void completed(int64_t at)
{
    add(at, "OrchestrationCompleted", 0, "", "", "");
    timeline_finish(&t, T0 + at + 5000);
}

static size_t cuts(void)
{
    size_t n = 0;
    for (size_t i = 0; i < t.part_count; i++)
        n += t.parts[i].cut;
    return n;
}

static pawl_str rendered(void)
{
    pawl_json *w = pawl_json_new(mem);
    timeline_render(&t, w);
    pawl_str doc = pawl_json_done(w);
    ck_assert_msg(pawl_json_valid(doc, NULL), "%s", doc.ptr);
    return doc;
}

static void is(pawl_str doc, const char *pointer, const char *want)
{
    pawl_str got = pawl_json_get(doc, pointer);
    ck_assert_msg(pawl_str_is(got, want), "%s is %.*s, not %s", pointer, PAWL_FMT(got), want);
}

/* The axis is whole: it begins at 0, ends at 1, and time and place both grow. */
static void axis_is_whole(void)
{
    ck_assert_uint_ge(t.part_count, 1);
    ck_assert(t.parts[0].at < 1e-9 && t.parts[0].from_ms <= t.start_ms);
    ck_assert(t.parts[t.part_count - 1].until > 1 - 1e-9);
    ck_assert(t.parts[t.part_count - 1].to_ms >= t.to_ms);
    for (size_t i = 0; i < t.part_count; i++) {
        ck_assert(t.parts[i].until > t.parts[i].at && t.parts[i].to_ms > t.parts[i].from_ms);
        ck_assert(!i || t.parts[i].from_ms == t.parts[i - 1].to_ms);
    }
}

TEST(every_kind_of_step_has_its_bar)
{
    begin();
    started();
    add(0, "ActivityScheduled", 1, "Pay", "", "");
    add(100, "ActivityCompleted", 1, "", "{\"started_ms\":1000040,\"worker\":\"adam\"}", "1");
    add(100, "TimerCreated", 2, "", "{\"fire_at_ms\":1000300}", "");
    add(100, "ExternalSubscribed", 3, "Review", "", "");
    add(150, "ExternalEvent", 3, "Review", "", "{}");
    add(150, "TimerCancelled", 2, "", "", "");
    add(150, "SubOrchestrationScheduled", 4, "Ship", "{\"instance\":\"o-1::ship\"}", "");
    add(250, "SubOrchestrationFailed", 4, "", "", "no truck");
    add(250, "QueuePushed", 0, "mail", "", "1");
    add(250, "OrchestrationChained", 0, "Audit", "{\"instance\":\"a-1\"}", "");
    add(250, "CustomStatusUpdated", 0, "", "", "almost");
    add(250, "ExternalSubscribed", 5, "Return", "", "");
    completed(300);
    pawl_str doc = rendered();
    ck_assert_int_eq(pawl_json_count(doc, "/bars"), 7);
    is(doc, "/bars/0",
       "{\"kind\":\"activity\",\"name\":\"Pay\",\"ref\":1,\"seq\":2,\"end_seq\":3,\"outcome\":"
       "\"done\",\"scheduled_at\":1000000,\"started_at\":1000040,\"ended_at\":1000100,"
       "\"attempts\":1,\"worker\":\"adam\"}");
    is(doc, "/bars/1",
       "{\"kind\":\"timer\",\"name\":null,\"ref\":2,\"seq\":4,\"end_seq\":7,\"outcome\":"
       "\"cancelled\",\"scheduled_at\":1000100,\"started_at\":null,\"ended_at\":1000150,"
       "\"due_at\":1000300}");
    is(doc, "/bars/2/outcome", "\"done\"");
    is(doc, "/bars/3",
       "{\"kind\":\"child\",\"name\":\"Ship\",\"ref\":4,\"seq\":8,\"end_seq\":9,\"outcome\":"
       "\"failed\",\"scheduled_at\":1000150,\"started_at\":null,\"ended_at\":1000250,"
       "\"instance\":\"o-1::ship\",\"error\":\"no truck\"}");
    is(doc, "/bars/4/kind", "\"queue\"");
    is(doc, "/bars/4/ref", "null");
    is(doc, "/bars/5/kind", "\"detached\"");
    is(doc, "/bars/5/instance", "\"a-1\"");
    is(doc, "/bars/6/outcome", "\"cancelled\""); /* open when the run ended */
    is(doc, "/bars/6/ended_at", "1000300");
    is(doc, "/steps", "7");
    is(doc, "/events", "14");
    is(doc, "/grouped", "false");
    is(doc, "/names", "[]");
    axis_is_whole();
    end();
}

TEST(the_first_end_of_a_task_counts)
{
    begin();
    started();
    add(0, "ActivityScheduled", 1, "Pay", "", "");
    add(50, "ActivityCancelRequested", 1, "", "", "");
    add(90, "ActivityFailed", 1, "", "", "cancelled");
    add(95, "ActivityCompleted", 9, "", "", ""); /* of a task that is not there */
    completed(100);
    ck_assert_uint_eq(t.bars.count, 1);
    ck_assert_str_eq(t.bars.items[0].outcome, "cancelled");
    ck_assert_int_eq(t.bars.items[0].ended_ms, T0 + 50);
    end();
}

TEST(attempts_that_were_recorded_are_where_they_were)
{
    begin();
    started();
    add(0, "ActivityScheduled", 1, "Pay", "{\"attempts\":5}", "");
    add(5000, "ActivityFailed", 1, "",
        "{\"attempts\":3,\"started_ms\":1004800,\"tries\":[{\"n\":1,\"from\":1000010,\"to\":"
        "1000200,\"error\":\"busy\"},{\"n\":2,\"from\":1001200,\"to\":1001300,\"worker\":\"eve\","
        "\"error\":\"down\"}]}",
        "gave up");
    completed(5000);
    pawl_str doc = rendered();
    is(doc, "/bars/0/tries",
       "[{\"n\":1,\"from\":1000010,\"to\":1000200,\"error\":\"busy\"},{\"n\":2,\"from\":1001200,"
       "\"to\":1001300,\"worker\":\"eve\",\"error\":\"down\"},{\"n\":3,\"from\":1004800,\"to\":"
       "1005000,\"error\":\"gave up\",\"last\":true}]");
    ck_assert_uint_eq(cuts(), 1); /* the wait before the third: 3.5 s of 1.7 s busy or shown */
    axis_is_whole();
    end();
}

TEST(attempts_that_were_not_recorded_follow_from_the_policy)
{
    begin();
    started();
    add(0, "ActivityScheduled", 1, "Pay",
        "{\"attempts\":3,\"backoff\":\"fixed\",\"initial_ms\":100}", "");
    add(500, "ActivityCompleted", 1, "", "{\"attempts\":3,\"last_error\":\"busy\"}", "1");
    completed(500);
    struct timeline_try tries[TIMELINE_TRIES];
    ck_assert_uint_eq(timeline_tries(&t, &t.bars.items[0], tries), 3);
    int64_t want[][2] = {
        {0,   100},
        {200, 300},
        {400, 500}
    };
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(tries[i].from_ms, T0 + want[i][0]);
        ck_assert_int_eq(tries[i].to_ms, T0 + want[i][1]);
        ck_assert(tries[i].estimated);
        ck_assert(tries[i].last == (i == 2));
    }
    end();
}

TEST(estimates_never_leave_their_bar)
{
    static const char *const policies[] = {
        "",
        "{\"backoff\":\"linear\"}",
        "{\"initial_ms\":9223372036854775807,\"cap_ms\":9223372036854775807}",
        "{\"factor\":1e300}",
        "{\"factor\":-7}",
        "{\"initial_ms\":-5}",
        "not JSON",
    };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        begin();
        started();
        add(0, "ActivityScheduled", 1, "Pay", policies[i], "");
        add(700, "ActivityFailed", 1, "", "{\"attempts\":9}", "no");
        completed(700);
        struct timeline_try tries[TIMELINE_TRIES];
        ck_assert_uint_eq(timeline_tries(&t, &t.bars.items[0], tries), 9);
        for (size_t k = 0; k < 9; k++) {
            ck_assert_msg(tries[k].from_ms >= T0 && tries[k].to_ms <= T0 + 700, "%s", policies[i]);
            ck_assert(tries[k].from_ms <= tries[k].to_ms);
            ck_assert(!k || tries[k].from_ms >= tries[k - 1].to_ms);
        }
        end();
    }
}

TEST(open_work_says_whether_somebody_has_it)
{
    begin();
    started();
    add(0, "ActivityScheduled", 1, "Pay", "", "");
    add(0, "ActivityScheduled", 2, "Ship", "{\"initial_ms\":1000}", "");
    add(0, "ExternalSubscribed", 3, "Review", "", "");
    pawl_waiting waits[] = {
        {.id = 1,             .kind = "activity", .attempt = 1, .running = true, .started_ms = T0 + 50},
        {.id = 2,
         .kind = "activity",
         .attempt = 2,
         .due_ms = T0 + 9000,
         .last_error = pawl_s("busy"),
         .tries = pawl_s("[{\"n\":1,\"from\":1000000,\"to\":1000100,\"error\":\"busy\"}]")},
        {.id = 3,             .kind = "event"                     },
        {.id = 77, .kind = "activity"           }, /* of no event: left out */
    };
    pawl_info info = {
        .instance = pawl_s("o-1"), .state = PAWL_RUNNING, .waiting = waits, .waiting_count = 4};
    timeline_waits(&t, &info);
    timeline_finish(&t, T0 + 1000);
    pawl_str doc = rendered();
    is(doc, "/instance", "\"o-1\"");
    is(doc, "/status", "\"running\"");
    is(doc, "/ended_at", "null");
    is(doc, "/bars/0/running", "true");
    is(doc, "/bars/0/started_at", "1000050");
    is(doc, "/bars/1/running", "false");
    is(doc, "/bars/1/due_at", "1009000");
    is(doc, "/bars/1/attempts", "2");
    /* The second attempt has not begun: one is shown. */
    is(doc, "/bars/1/tries", "[{\"n\":1,\"from\":1000000,\"to\":1000100,\"error\":\"busy\"}]");
    is(doc, "/bars/2/outcome", "\"open\"");
    end();
}

TEST(long_quiet_time_is_cut_and_short_is_not)
{
    static const struct {
        int64_t gap;
        size_t cuts;
    } cases[] = {
        {1400,    0}, /* under 1.5 s */
        {1600,    1},
        {3600000, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        started();
        step(1, "A", 0, 200);
        step(2, "B", 200 + cases[i].gap, 400 + cases[i].gap);
        completed(400 + cases[i].gap);
        ck_assert_uint_eq(cuts(), cases[i].cuts);
        axis_is_whole();
        end();
    }
    begin(); /* 2 s of quiet in 10 s of work: under 35 % */
    started();
    step(1, "A", 0, 5000);
    step(2, "B", 7000, 12000);
    completed(12000);
    ck_assert_uint_eq(cuts(), 0);
    end();
}

TEST(a_cut_keeps_what_is_busy_in_its_place)
{
    begin();
    started();
    step(1, "A", 0, 1000);
    step(2, "B", 3601000, 3602000);
    completed(3602000);
    double a = timeline_place(t.parts, t.part_count, T0 + 1000),
           b = timeline_place(t.parts, t.part_count, T0 + 3601000);
    ck_assert_msg(a > 0.4 && a < 0.5 && b > 0.5 && b < 0.6, "%f %f", a, b);
    ck_assert(timeline_place(t.parts, t.part_count, 0) < 1e-9);
    ck_assert(timeline_place(t.parts, t.part_count, INT64_MAX) > 1 - 1e-9);
    end();
}

/* Without it nothing would be left to look at. */
TEST(a_run_that_only_waits_is_not_cut)
{
    begin();
    started();
    add(0, "ExternalSubscribed", 1, "Review", "", "");
    timeline_finish(&t, T0 + 3600000);
    ck_assert_uint_eq(t.part_count, 1);
    ck_assert(!t.parts[0].cut);
    axis_is_whole();
    end();
    begin(); /* of several waits the longer ones are */
    started();
    add(0, "ExternalSubscribed", 1, "Review", "", "");
    add(60000, "ExternalEvent", 1, "Review", "", "{}");
    add(60000, "ExternalSubscribed", 2, "Review", "", "");
    timeline_finish(&t, T0 + 3600000);
    ck_assert_uint_eq(cuts(), 1);
    ck_assert(!t.parts[0].cut && t.parts[0].to_ms > T0 + 60000);
    axis_is_whole();
    end();
}

TEST(none_of_many_gaps_that_are_alike_is_cut)
{
    begin();
    started();
    for (uint64_t i = 0; i < 40; i++)
        step(i + 1, "A", (int64_t)i * 10000, (int64_t)i * 10000 + 10);
    completed(391000);
    ck_assert_uint_eq(cuts(), 0);
    axis_is_whole();
    end();
    begin(); /* ten that are much longer are */
    started();
    for (uint64_t i = 0; i < 40; i++)
        step(i + 1, "A", (int64_t)i * 3000 + (int64_t)(i / 4) * 10000000,
             (int64_t)i * 3000 + (int64_t)(i / 4) * 10000000 + 10);
    completed(39 * 3000 + 90000010);
    ck_assert_uint_eq(cuts(), 9);
    axis_is_whole();
    end();
}

TEST(more_than_160_steps_are_rows_by_name)
{
    begin();
    started();
    for (uint64_t i = 0; i < 160; i++)
        step(i + 1, "A", (int64_t)i * 10, (int64_t)i * 10 + 5);
    completed(1600);
    is(rendered(), "/grouped", "false");
    end();
    begin();
    started();
    for (uint64_t i = 0; i < 240; i++)
        add(0, "ActivityScheduled", i + 1, i % 3 ? "A" : "B", "", "");
    for (uint64_t i = 0; i < 239; i++)
        add(100 + (int64_t)i, i == 7 ? "ActivityFailed" : "ActivityCompleted", i + 1, "", "", "x");
    timeline_finish(&t, T0 + 400);
    pawl_str doc = rendered();
    is(doc, "/grouped", "true");
    is(doc, "/bars", "[]");
    is(doc, "/steps", "240");
    ck_assert_int_eq(pawl_json_count(doc, "/names"), 2);
    is(doc, "/names/0/name", "\"B\"");
    is(doc, "/names/0/count", "80");
    is(doc, "/names/0/open", "0");
    is(doc, "/names/1/open", "1");
    is(doc, "/names/1/failed", "1");
    is(doc, "/names/1/most_at_once", "160");
    is(doc, "/names/1/longest_ms", "338");
    ck_assert_int_eq(pawl_json_count(doc, "/names/1/skyline"), TIMELINE_SKYLINE);
    ck_assert_int_eq(pawl_json_count(doc, "/names/1/failed_in"), 1);
    end();
}

TEST(a_history_of_any_length_has_a_short_answer)
{
    char name[300];
    begin();
    started();
    for (uint64_t i = 0; i < TIMELINE_BARS_MAX + 10; i++) {
        memset(name, 'n', 250);
        snprintf(name + 250, 50, "%llu", (unsigned long long)(i % 5000));
        add((int64_t)i, "ActivityScheduled", i + 1, name, "", "");
    }
    completed(TIMELINE_BARS_MAX + 10);
    pawl_str doc = rendered();
    ck_assert_int_eq(pawl_json_count(doc, "/names"), TIMELINE_NAMES + 1);
    is(doc, "/names/200/kind", "\"mixed\"");
    is(doc, "/names/200/name", "null");
    is(doc, "/names/200/count", "96000");
    is(doc, "/truncated", "true");
    is(doc, "/steps", "100010");
    ck_assert_uint_lt(doc.len, 256 << 10);
    end();
}

TEST(a_run_without_events_is_an_empty_axis)
{
    begin();
    pawl_info info = {.instance = pawl_s("x"), .created_ms = T0};
    timeline_waits(&t, &info);
    timeline_finish(&t, T0);
    pawl_str doc = rendered();
    is(doc, "/bars", "[]");
    is(doc, "/from", "1000000");
    is(doc, "/to", "1000001");
    axis_is_whole();
    end();
}

TEST(odd_times_make_a_whole_axis)
{
    begin();
    started();
    add(-500, "ActivityScheduled", 1, "A", "", ""); /* the clock was set back */
    add(-900, "ActivityCompleted", 1, "", "", "");
    add(INT64_MAX - T0, "TimerCreated", 2, "", "{\"fire_at_ms\":-5}", "");
    add(-T0 - 5, "ExternalSubscribed", 3, "E", "", "");
    timeline_finish(&t, T0 + 10);
    axis_is_whole();
    for (size_t i = 0; i < t.bars.count; i++) /* sums and differences of them are times, too */
        ck_assert(t.bars.items[i].at_ms >= 0 && t.bars.items[i].at_ms <= INT64_MAX / 2000);
    (void)rendered();
    end();
}

TEST(an_error_is_cut_at_a_whole_character)
{
    char error[400];
    begin();
    memset(error, 'e', sizeof(error));
    memcpy(error + TIMELINE_TEXT - 1, "\xe2\x82\xac", 3);
    error[399] = 0;
    started();
    add(0, "ActivityScheduled", 1, "A", "", "");
    add(1, "ActivityFailed", 1, "", "", error);
    completed(2);
    ck_assert_uint_eq(t.bars.items[0].more->error.len, TIMELINE_TEXT - 1);
    end();
}
