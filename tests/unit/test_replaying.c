/* SPDX-License-Identifier: MIT */
/* tests/unit/test_replaying.c -- pawl/replay.h and pawl/sim.h from C: reports, and what they refuse. */
#include "../harness.h"

#include "pawl.h"
#include "pawl/replay.h"
#include "pawl/sim.h"
#include "pawl/test.h"

#include <stdio.h>
#include <string.h>

#include <string.h>

static pawl_result flow(pawl_ctx *ctx, pawl_str in)
{
    pawl_result r = pawl_call(ctx, "First", in);
    if (!r.ok)
        return r;
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_call(ctx, "Second", in);
}

static pawl_result other(pawl_ctx *ctx, pawl_str in)
{
    pawl_ignore(pawl_call(ctx, "First", in));
    pawl_ignore(pawl_sleep(ctx, 2000));
    return pawl_done(ctx, "x");
}

static void setup(pawl_app *app)
{
    pawl_register_orchestration(app, "Flow", "1.0.0", flow);
}

/* A finished run: started, scheduled, completed, timer, fired, scheduled, completed, ended. */
struct recorded {
    pawl_test *t;
    pawl_app *app;
    pawl_info info;
    pawl_history h;
};

static struct recorded record(pawl_orchestration_fn *code)
{
    struct recorded r = {.t = pawl_test_new(setup), .app = pawl_app_new()};
    pawl_test_on(r.t, "First", pawl_test_ok("1"));
    pawl_test_on(r.t, "Second", pawl_test_ok("2"));
    pawl_test_start(r.t, "Flow", "{}");
    pawl_test_run(r.t);
    ck_assert(PAWL_EXPECT_COMPLETED(r.t, "2"));
    r.h = pawl_test_history(r.t);
    r.info = (pawl_info){.instance = pawl_s("test"),
                         .orchestration = pawl_s("Flow"),
                         .version = pawl_s("1.0.0"),
                         .execution = 1};
    if (code)
        pawl_register_orchestration(r.app, "Flow", "1.0.0", code);
    return r;
}

static void done(struct recorded *r)
{
    pawl_app_free(r->app);
    ck_assert_int_eq(pawl_test_end(r->t), 0);
}

static pawl_replay_report replay(struct recorded *r, size_t count, const pawl_replay_opts *opts)
{
    pawl_replay_report report;
    pawl_error err;
    ck_assert_int_eq(pawl_replay(r->app, &r->info, r->h.events, count, opts, &report, &err),
                     PAWL_OK);
    return report;
}

TEST(the_same_code_fits)
{
    struct recorded r = record(flow);
    pawl_replay_report report = replay(&r, r.h.count, NULL);
    ck_assert_int_eq(report.outcome, PAWL_REPLAY_ENDED);
    ck_assert_uint_eq(report.events, 8);
    ck_assert_str_eq(report.text, "");
    done(&r);
}

struct steps {
    unsigned events, waits, misfits;
    uint64_t last;
};

static void count_step(void *user, const pawl_replay_step *step)
{
    struct steps *n = user;
    n->events += step->what == PAWL_REPLAY_EVENT;
    n->waits += step->what == PAWL_REPLAY_WAIT;
    n->misfits += step->what == PAWL_REPLAY_MISFIT;
    if (step->event)
        n->last = step->event->seq;
}

TEST(a_prefix_ends_in_a_wait_and_every_step_is_told)
{
    struct recorded r = record(flow);
    struct steps n = {0};
    pawl_replay_report report =
        replay(&r, r.h.count, PAWL_REPLAY_OPTS(.until_seq = 4, .step = count_step, .user = &n));
    ck_assert_int_eq(report.outcome, PAWL_REPLAY_WAITS);
    ck_assert_uint_eq(report.events, 4);
    ck_assert_ptr_nonnull(report.address);
    ck_assert_uint_eq(n.events, 4);
    ck_assert_uint_eq(n.waits, 1);
    ck_assert_uint_eq(n.misfits, 0);
    ck_assert_uint_eq(n.last, 4);
    done(&r);
}

/* Cancelled while it waited for its code, or between two executions: nothing of the code is there. */
TEST(an_execution_that_ended_before_its_code_ran_fits)
{
    struct recorded r = record(flow);
    pawl_history_event both[2] = {
        r.h.events[0],
        {.seq = 2,
                      .kind = "OrchestrationCancelled",
                      .data = pawl_s("no code"),
                      .attrs = pawl_s("{\"forced\":true}")}
    };
    pawl_replay_report report;
    ck_assert_int_eq(pawl_replay(r.app, &r.info, both, 2, NULL, &report, NULL), PAWL_OK);
    ck_assert_int_eq(report.outcome, PAWL_REPLAY_ENDED);
    ck_assert_uint_eq(report.events, 2);
    both[1].attrs = (pawl_str){0}; /* not from outside: the code must have said so */
    ck_assert_int_eq(pawl_replay(r.app, &r.info, both, 2, NULL, &report, NULL), PAWL_OK);
    ck_assert_int_eq(report.outcome, PAWL_REPLAY_MISMATCH);
    done(&r);
}

TEST(state_that_was_carried_to_an_execution_whose_code_never_ran_fits)
{
    struct recorded r = record(flow);
    pawl_history_event all[3] = {
        r.h.events[0],
        {.seq = 2, .kind = "StateCarried", .name = pawl_s("k"), .data = pawl_s("v")},
        {.seq = 3,        .kind = "OrchestrationCancelled",                       .attrs = pawl_s("{\"forced\":true}")  }
    };
    pawl_replay_report report;
    ck_assert_int_eq(pawl_replay(r.app, &r.info, all, 3, NULL, &report, NULL), PAWL_OK);
    ck_assert_int_eq(report.outcome, PAWL_REPLAY_ENDED);
    ck_assert_uint_eq(report.events, 3);
    done(&r);
}

TEST(other_code_does_not_fit_and_both_sides_are_named)
{
    struct recorded r = record(other);
    struct steps n = {0};
    pawl_replay_report report =
        replay(&r, r.h.count, PAWL_REPLAY_OPTS(.step = count_step, .user = &n));
    ck_assert_int_eq(report.outcome, PAWL_REPLAY_MISMATCH);
    ck_assert_uint_eq(report.seq, 4);
    ck_assert_str_eq(report.recorded, "TimerCreated #2");
    ck_assert_ptr_nonnull(strstr(report.attempted, "timer of 2000 ms"));
    ck_assert_ptr_nonnull(strstr(report.site, "test_replaying"));
    ck_assert_uint_eq(n.misfits, 1);
    done(&r);
}

TEST(missing_code_and_damaged_histories_are_reports_too)
{
    struct recorded r = record(NULL);
    ck_assert_int_eq(replay(&r, r.h.count, NULL).outcome, PAWL_REPLAY_NO_CODE);
    pawl_register_orchestration(r.app, "Flow", "1.0.0", flow);
    ck_assert_int_eq(replay(&r, 0, NULL).outcome, PAWL_REPLAY_DAMAGED);
    pawl_history_event cut[16];
    memcpy(cut, r.h.events + 1, 3 * sizeof(*cut)); /* without its first event */
    pawl_history whole = r.h;
    r.h.events = cut;
    ck_assert_int_eq(replay(&r, 3, NULL).outcome, PAWL_REPLAY_DAMAGED);
    memcpy(cut, whole.events, 6 * sizeof(*cut));
    cut[3] = cut[4]; /* a gap */
    ck_assert_int_eq(replay(&r, 6, NULL).outcome, PAWL_REPLAY_DAMAGED);
    cut[3] = whole.events[3];
    cut[3].kind = "Nonsense";
    ck_assert_int_eq(replay(&r, 6, NULL).outcome, PAWL_REPLAY_DAMAGED);
    done(&r);
}

TEST(names_of_outcomes)
{
    ck_assert_str_eq(pawl_replay_outcome_name(PAWL_REPLAY_MISMATCH), "mismatch");
    ck_assert_str_eq(pawl_replay_outcome_name((pawl_replay_outcome)99), "unknown");
    ck_assert_str_eq(pawl_sim_problem_name(PAWL_SIM_HANG), "hang");
    ck_assert_str_eq(pawl_sim_problem_name((pawl_sim_problem)99), "unknown");
}

/* ---- Simulation ---------------------------------------------------------------------------- */

static void count_seeds(void *user, uint64_t seeds)
{
    *(uint64_t *)user = seeds;
}

TEST(good_code_passes_and_is_counted)
{
    pawl_app *app = pawl_app_new();
    pawl_mem *mem = pawl_mem_new();
    pawl_sim_report r;
    pawl_error err;
    uint64_t seeds = 0;
    setup(app);
    ck_assert_int_eq(pawl_sim(app,
                              PAWL_SIM_OPTS(.orchestration = "Flow", .seeds = 40,
                                            .faults = PAWL_SIM_CRASH | PAWL_SIM_DELAY,
                                            .progress = count_seeds, .user = &seeds),
                              mem, &r, &err),
                     PAWL_OK);
    ck_assert_int_eq(r.problem, PAWL_SIM_NONE);
    ck_assert_uint_eq(r.seeds, 40);
    ck_assert_uint_eq(seeds, 40);
    ck_assert_uint_eq(r.completed + r.failed, 40);
    ck_assert_uint_gt(r.completed, 0);
    ck_assert_uint_gt(r.failed, 0); /* `any` fails now and then */
    ck_assert_uint_gt(r.crashes, 0);
    pawl_mem_free(mem);
    pawl_app_free(app);
}

/* A wait it never reads, and more memory than a turn may have. */
static pawl_result forgetful(pawl_ctx *ctx, pawl_str input)
{
    pawl_task waits[] = {pawl_timer(ctx, 1), pawl_wait_event(ctx, "E")};
    pawl_ignore(pawl_sleep(ctx, PAWL_DAYS(2)));
    if (pawl_execution(ctx) % 2)
        pawl_ignore(pawl_race(ctx, waits, 2));
    if (pawl_execution(ctx) < 6 && !pawl_cancelled(ctx))
        return pawl_continue_as_new(ctx, input, NULL);
    pawl_shield(ctx);
    pawl_ignore(pawl_sleep(ctx, PAWL_DAYS(2)));
    pawl_unshield(ctx);
    return pawl_done(ctx, "");
}

static pawl_result gluttonous(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "A", input));
    memset(pawl_alloc(ctx, (size_t)-8), 1, 1);
    return pawl_done(ctx, "");
}

static pawl_sim_problem problem_of(pawl_orchestration_fn *fn, char text[300])
{
    pawl_app *app = pawl_app_new();
    pawl_mem *mem = pawl_mem_new();
    pawl_sim_report r;
    pawl_error err;
    const pawl_sim_event events[] = {
        {.name = "E", .data = "1"}
    };
    ck_assert_int_eq(pawl_register_orchestration(app, "Flow", "1.0.0", fn), PAWL_OK);
    ck_assert_int_eq(
        pawl_sim(app,
                 PAWL_SIM_OPTS(.orchestration = "Flow", .seeds = 30, .events = events,
                               .event_count = 1, .faults = PAWL_SIM_CRASH | PAWL_SIM_CANCEL),
                 mem, &r, &err),
        PAWL_OK);
    (void)snprintf(text, 300, "%.*s", PAWL_FMT(r.text));
    pawl_sim_problem problem = r.problem;
    pawl_mem_free(mem);
    pawl_app_free(app);
    return problem;
}

TEST(events_nobody_read_and_compensations_are_not_lost)
{
    char text[300];
    ck_assert_msg(problem_of(forgetful, text) == PAWL_SIM_NONE, "%s", text);
}

TEST(a_turn_that_asks_for_too_much_is_found)
{
    char text[300];
    ck_assert_int_eq(problem_of(gluttonous, text), PAWL_SIM_BLOCKED);
    ck_assert_msg(strstr(text, "its turn asked for "), "%s", text);
}

TEST(the_same_seed_does_the_same)
{
    pawl_app *app = pawl_app_new();
    pawl_mem *mem = pawl_mem_new();
    pawl_sim_report a, b;
    pawl_error err;
    setup(app);
    const pawl_sim_opts *opts = PAWL_SIM_OPTS(.orchestration = "Flow", .first_seed = 3, .seeds = 30,
                                              .faults = PAWL_SIM_CRASH | PAWL_SIM_CLOCK);
    ck_assert_int_eq(pawl_sim(app, opts, mem, &a, &err), PAWL_OK);
    ck_assert_int_eq(pawl_sim(app, opts, mem, &b, &err), PAWL_OK);
    ck_assert_uint_eq(a.crashes, b.crashes);
    ck_assert_uint_eq(a.events, b.events);
    ck_assert_uint_eq(a.completed, b.completed);
    ck_assert_int_eq(a.virtual_ms, b.virtual_ms);
    pawl_mem_free(mem);
    pawl_app_free(app);
}

TEST(a_simulation_needs_something_to_simulate)
{
    pawl_app *app = pawl_app_new();
    pawl_mem *mem = pawl_mem_new();
    pawl_sim_report r;
    pawl_error err;
    ck_assert_int_eq(pawl_sim(app, PAWL_SIM_OPTS(.seeds = 1), mem, &r, &err), PAWL_MISUSE);
    ck_assert_int_eq(pawl_sim(app, PAWL_SIM_OPTS(.orchestration = "Flow"), mem, &r, &err),
                     PAWL_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "no loaded module has an orchestration 'Flow'"));
    pawl_mem_free(mem);
    pawl_app_free(app);
}
