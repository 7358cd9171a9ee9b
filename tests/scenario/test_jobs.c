/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_jobs.c -- S33: one activity without orchestration code. */
#include "schedule_verbs.h"

#include "queue_verbs.h"

SCENARIO(s33_a_job_is_one_durable_call)
{
    scene_up(s);
    scene_start(s, PAWL_JOB, "j", "{\"activity\":\"Flaky\",\"input\": 3 ,\"attempts\":5}");
    scene_crash(s); /* between two attempts */
    scene_finish(s, "j");
    scene_expect(s, "j", PAWL_COMPLETED, "attempt 3");
    expect_is(scene_ran(s, "Flaky"), 3);
    scene_events(s, "j",
                 "OrchestrationStarted ActivityScheduled#1 ActivityCompleted#1 "
                 "OrchestrationCompleted");
    expect_is(
        scene_try_start(s, PAWL_JOB, "j", "{\"attempts\":5,\"input\":3,\"activity\":\"Flaky\"}"),
        PAWL_OK);
    expect_is(s->reply.created, false);
}

SCENARIO(s33_a_job_fails_with_the_error_of_its_activity)
{
    scene_up(s);
    scene_start(
        s, PAWL_JOB, "j",
        "{\"activity\":\"Fail\",\"input\":\"no\",\"attempts\":9,\"final_errors\":[\"\\\"n\"]}");
    scene_expect(s, "j", PAWL_FAILED, "\"no\"");
    expect_is(scene_ran(s, "Fail"), 1);
}

SCENARIO(s33_a_job_waits_for_its_activity_and_can_be_cancelled)
{
    scene_up(s);
    scene_start(s, PAWL_JOB, "j", "{\"activity\":\"Nobody\",\"tag\":\"gpu\"}");
    pawl_info info = scene_info(s, "j");
    expect_is(info.waiting_count, 1);
    expect_text(info.waiting[0].name.ptr, "Nobody");
    scene_cancel(s, "j", "enough");
    scene_expect(s, "j", PAWL_CANCELLED, "enough");
    scene_expect_empty(s);
}

SCENARIO(s33_bad_jobs_are_refused_and_nothing_is_stored)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"activity\":1}",
        "{\"activity\":\"\"}",
        "{\"activity\":\"a/b\"}",
        "{\"activity\":\"a\\u0000b\"}",
        "{\"activity\":\"pawl.x\"}",
        "{\"activity\":\"A\",\"tag\":\"pawl.x\"}",
        "{\"activity\":\"A\",\"attempts\":0}",
        "{\"activity\":\"A\",\"attempts\":4294967296}",
        "{\"activity\":\"A\",\"attempts\":\"5\"}",
        "{\"activity\":\"A\",\"backoff\":\"none\"}",
        "{\"activity\":\"A\",\"factor\":0}",
        "{\"activity\":\"A\",\"jitter\":1.5}",
        "{\"activity\":\"A\",\"final_errors\":[1]}",
        "{\"activity\":\"A\",\"final_errors\":[\"\"]}",
        "{\"activity\":\"A\",\"at_most_once\":1}",
        "{\"activity\":\"A\",\"tag\":\"\"}",
        "{\"activity\":\"A\",\"attemps\":5}",
    };
    scene_up(s);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(scene_try_start(s, PAWL_JOB, "j", bad[i]) == PAWL_INVALID, "%s: %s", bad[i],
                      s->reply.error.text);
    expect_is(scene_depths(s).instances, 0);
}

SCENARIO(s33_names_that_begin_with_pawl_are_reserved)
{
    expect_is(pawl_register_activity(s->app, "pawl.mine", NULL), PAWL_MISUSE);
    pawl_app *app = pawl_app_new();
    expect_is(pawl_app_has_code(app), false);
    expect_is(pawl_app_has_orchestration(app, PAWL_JOB, "1.0.0"), true);
    const pawl_code *list;
    expect_is(pawl_app_code(app, s->mem, &list), 0);
    expect_is(
        pawl_register_orchestration(app, "pawl.mine", NULL, (pawl_orchestration_fn *)(size_t)1),
        PAWL_INVALID);
    expect_is(pawl_register_activity(app, "pawl.mine", (pawl_activity_fn *)(size_t)1),
              PAWL_INVALID);
    pawl_app_free(app);
}

static pawl_result starts_reserved(pawl_ctx *ctx, pawl_str input)
{
    pawl_child_opts known = {.size = sizeof(known), .instance = "known"};
    pawl_result child = pawl_call_child(ctx, "pawl.x", input, NULL);
    pawl_result away = pawl_start_detached(ctx, "pawl.x", input, NULL);
    if (!pawl_start_detached(ctx, PAWL_JOB, pawl_s("{\"activity\":\"Echo\"}"), &known).ok)
        return pawl_fail(ctx, "no job");
    return pawl_donef(ctx, "%d %d %.*s", child.ok, away.ok, PAWL_FMT(child.value));
}

SCENARIO(s33_code_cannot_start_what_no_code_can_be)
{
    scene_flow(s, "Flow", starts_reserved);
    scene_start(s, "Flow", "i", "");
    scene_finish(s, "known");
    pawl_info info = scene_info(s, "i");
    expect_is(info.state, PAWL_COMPLETED);
    expect_text(info.output.ptr, "0 0 ");
    expect_text(info.output.ptr, "are reserved");
    expect_text(info.output.ptr, "start pawl.job, or choose another name");
    scene_crash(s);
    scene_expect_empty(s);
    expect_is(scene_stats(s).instances, 2);
}

/* Every door of a client says the same, and stores nothing. */
QUEUE_SCENARIO(s33_a_reserved_name_is_refused_whatever_starts_it)
{
    pawl_queue_config bound = pawl_queue_config_default();
    bound.orchestration = pawl_s("pawl.x");
    scene_up(s);
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = "pawl.x", .instance = "i",
                                       .allow_unregistered = true)),
              PAWL_INVALID);
    expect_text(s->reply.error.text, "start pawl.job, or choose another name");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .name = PAWL_JOB, .instance = "i",
                                       .version = "9.0.0", .allow_unregistered = true,
                                       .data = pawl_s("{\"activity\":\"Echo\"}"))),
              PAWL_NOT_FOUND);
    expect_is(try_put(s, "n",
                      "{\"every_ms\":60000,\"orchestration\":\"pawl.x\","
                      "\"allow_unregistered\":true}"),
              PAWL_INVALID);
    expect_is(
        queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &bound))
            ->status,
        PAWL_INVALID);
    expect_is(queue_do(s, PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "q",
                                             .orchestration = "pawl.x"))
                  ->status,
              PAWL_INVALID);
    expect_str(show(s, "n"), "none");
    expect_is(scene_stats(s).instances, 0);
}
