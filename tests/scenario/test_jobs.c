/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_jobs.c -- S33: one activity without orchestration code. */
#include "scene.h"

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
