/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_points.c -- kill -9 at every named point of a step, the n-th
 * time it is passed, for n = 1, 2, … until it is not reached any more.
 *
 * Which points there are is found out, not listed: an undisturbed run counts
 * them.  After each death the same plan runs again and must give the answer of
 * the undisturbed run, with each recorded completion exactly once.
 */
#include "../harness.h"
#include "crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct story {
    const char *name;
    struct plan_item item;
    const char *answer; /* state and output */
    int in_flight;      /* activities that can run at once */
};

static const struct story order = {
    "order",
    {"ProcessOrder", "o-1", "{\"id\":\"o-1\",\"return_window_ms\":5}", "FraudReview",
      "{\"approved\":true}"},
    "completed Order completed successfully",
    1
};
static const struct story provisioning = {
    "provisioning",
    {"ProvisionEnvironment", "p-1", "{\"name\":\"staging\",\"region\":\"eu\"}", NULL, NULL},
    "completed Environment ready: VM=staging.vm.eu.example, Storage=staging.storage.eu.example, "
    "DB=staging.db.eu.example",
    3
};
static const struct story refused = {
    "saga refused",
    {"BookTrip", "s-1", "{\"trip\":\"Oslo\",\"fail\":\"BookCar\"}", NULL, NULL},
    "failed BookCar: sold out; 2 bookings undone",
    1
};
static const struct story confirmed = {
    "saga confirmed",
    {"BookTrip", "s-2", "{\"trip\":\"Oslo\"}", "Confirm", "{}"},
    "completed booked: 3 legs",
    1
};
static const struct story eternal = {
    "eternal",
    {"Heartbeat", "e-1", "{\"every_ms\":1,\"until\":12}", NULL, NULL},
    "completed 12",
    1
};

/* ---- One death ------------------------------------------------------------------------ */

/* Two children a death: the run that dies, then the run that ends it.  True when
 * the point was reached. */
static bool die_at(const struct story *story, const char *point, int n, const pawl_options *options)
{
    char at[100];
    (void)snprintf(at, sizeof(at), "%s:%d", point, n);
    struct plan plan = {.items = &story->item, .count = 1, .crash_at = at};
    if (options)
        plan.options = *options;
    scratch_make();
    int status = child_run(plan_run, &plan, 30000);
    bool died = killed_by(status, SIGKILL);
    ck_assert_msg(died || exited_with(status, 0), "%s at %s: %s", story->name, at,
                  status_words(status));
    if (died) {
        plan.crash_at = NULL;
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(exited_with(status, 0), "%s after %s: %s", story->name, at,
                      status_words(status));
    }
    char *answer = answer_of(story->item.id);
    ck_assert_msg(answer && strcmp(answer, story->answer) == 0, "%s after %s: \"%s\"", story->name,
                  at, answer ? answer : "nothing");
    free(answer);
    const char *wrong = wrong_at_rest();
    if (!wrong)
        wrong = wrong_in_ledger(died ? story->in_flight : 0);
    ck_assert_msg(!wrong, "%s after %s: %s", story->name, at, wrong);
    scratch_drop();
    return died;
}

/* ---- All of them ------------------------------------------------------------------------ */

struct trial {
    const struct story *story;
    const pawl_options *options;
};

static bool die_once(const char *point, int n, const void *arg)
{
    const struct trial *trial = arg;
    return die_at(trial->story, point, n, trial->options);
}

static void story_dies(const struct story *story, const pawl_options *options)
{
    struct plan plan = {.items = &story->item, .count = 1, .census = true};
    struct trial trial = {story, options};
    if (options)
        plan.options = *options;
    scratch_make();
    int status = child_run(plan_run, &plan, 30000);
    ck_assert_msg(exited_with(status, 0), "%s: %s", story->name, status_words(status));
    (void)die_everywhere(die_once, &trial, 9);
    printf("%s%s\n", story->name, options && options->hostile ? " (hostile)" : "");
}

TEST(S7_order_dies_at_every_point)
{
    story_dies(&order, NULL);
}

TEST(S7_provisioning_dies_at_every_point)
{
    story_dies(&provisioning, NULL);
}

TEST(S7_saga_dies_at_every_point)
{
    story_dies(&refused, NULL);
}

TEST(S16_saga_confirmed_dies_at_every_point)
{
    story_dies(&confirmed, NULL);
}

TEST(S24_eternal_dies_at_every_point)
{
    story_dies(&eternal, NULL);
}

TEST(S7_order_dies_at_every_point_with_the_stack_dropped_at_every_await)
{
    pawl_options hostile = {.hostile = true};
    story_dies(&order, &hostile);
}

/* ---- Again, while it recovers --------------------------------------------------------------- */

/* Dies with an activity running, then once more on the way back. */
TEST(A21_dies_again_while_recovering)
{
    static const char *const again[] = {"recover.blame:1",        "sqlite.begin:1",
                                        "sqlite.round:1",         "sqlite.commit.before:1",
                                        "sqlite.commit.before:2", "sqlite.commit.after:1",
                                        "sqlite.commit.after:2",  "turn.run:1",
                                        "activity.before:1",      "activity.after:1",
                                        "commit.before:2",        "handout.before:1"};
    int deaths = 0;
    for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++) {
        struct plan plan = {.items = &order.item, .count = 1, .crash_at = "activity.before:2"};
        scratch_make();
        int status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(killed_by(status, SIGKILL), "%s", status_words(status));
        plan.crash_at = again[i];
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(killed_by(status, SIGKILL), "%s: %s", again[i], status_words(status));
        plan.crash_at = NULL;
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(exited_with(status, 0), "%s: %s", again[i], status_words(status));
        char *answer = answer_of("o-1");
        ck_assert_msg(answer && strcmp(answer, order.answer) == 0, "%s: %s", again[i],
                      answer ? answer : "nothing");
        free(answer);
        const char *wrong = wrong_at_rest();
        if (!wrong)
            wrong = wrong_in_ledger(2);
        ck_assert_msg(!wrong, "%s: %s", again[i], wrong);
        scratch_drop();
        deaths += 2;
    }
    printf("| while recovering: %d deaths\n", deaths);
}

/* ---- Plain files -------------------------------------------------------------------------- */

static pawl_result nap(pawl_activity *act, pawl_str input)
{
    nap_ms(100);
    return pawl_ok_str(act, input);
}

static pawl_result quick(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result sleeper(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Nap", input);
}

static pawl_result chain(pawl_ctx *ctx, pawl_str input)
{
    pawl_result first = pawl_call(ctx, "Quick", input);
    return pawl_call(ctx, "Quick", first.value);
}

static void app_beside(pawl_app *app)
{
    pawl_register_orchestration(app, "Sleeper", "1.0.0", sleeper);
    pawl_register_orchestration(app, "Chain", "1.0.0", chain);
    pawl_register_activity(app, "Nap", nap);
    pawl_register_activity(app, "Quick", quick);
}

/* The activity that runs is blamed by a commit of recovery itself, before the round that was
 * cut in half is mended: that one must still be known as half done. */
TEST(A21_dies_inside_a_commit_of_plain_files_while_an_activity_runs)
{
    static const struct plan_item items[] = {
        {"Sleeper", "sleeper", "1", NULL, NULL},
        {"Chain",   "chain",   "2", NULL, NULL},
    };
    static const char *const points[] = {"jsonl.appended", "jsonl.row", "jsonl.posted",
                                         "jsonl.enqueued"};
    for (size_t i = 0; i < 4 * sizeof(points) / sizeof(points[0]); i++) {
        char at[100], store[300];
        scratch_make();
        (void)snprintf(at, sizeof(at), "%s:%d", points[i / 4], (int)(i % 4) + 1);
        (void)snprintf(store, sizeof(store), "jsonl:%s", in_scratch("data"));
        struct plan plan = {.items = items,
                            .count = 2,
                            .app = app_beside,
                            .options = {.store = store},
                            .wait_ms = 5000,
                            .crash_at = at};
        int status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(killed_by(status, SIGKILL) || exited_with(status, 0), "%s: %s", at,
                      status_words(status));
        plan.crash_at = NULL;
        status = child_run(plan_run, &plan, 30000);
        ck_assert_msg(exited_with(status, 0), "after %s: %s", at, status_words(status));
        scratch_drop();
    }
}
