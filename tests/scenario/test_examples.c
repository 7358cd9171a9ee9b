/* SPDX-License-Identifier: MIT */
/* tests/scenario/test_examples.c -- E13, E14: the examples as modules, dying at every step. */
#include "scene.h"

#include <stdio.h>
#include <unistd.h>

/* Load a module that lies beside the tests: B/tests/scenario/x -> B/examples/NAME.so. */
static void load(struct scene *s, const char *name)
{
    char self[400], path[600];
    pawl_error err = {0};
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    ck_assert(n > 0);
    self[n] = 0;
    for (int i = 0; i < 3; i++)
        *strrchr(self, '/') = 0;
    snprintf(path, sizeof(path), "%s/examples/%s.so", self, name);
    pawl_status rc = pawl_app_load(s->app, path, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
}

/* To die is to open the store again.  On a database server that is two connections with fresh
 * plans, and a month has 700 hops: there only the first ones and then every eighth is a death. */
#define DEATHS_FAR 40
static bool may_die(const struct scene *s, int hop)
{
    return s->kind != SCENE_POSTGRES || hop < DEATHS_FAR || hop % 8 == 0;
}

/* Hop from due to due, dying after each; months pass in a moment. */
static void live(struct scene *s, const char *id, bool die)
{
    for (int i = 0; i < 3000 && !pawl_state_is_terminal(scene_row(s, id).state); i++) {
        if (die && may_die(s, i))
            scene_crash(s);
        if (!scene_hop(s))
            break;
    }
}

/* The review comes while the timer of 48 hours runs: raise before the clock moves. */
SCENARIO(e13_order_processing_runs_to_the_end)
{
    load(s, "order");
    scene_start(s, "ProcessOrder", "o", "{\"id\":\"o\"}");
    scene_raise(s, "o", "FraudReview", "{\"approved\":true}");
    live(s, "o", false);
    scene_settle(s);
    expect_is(scene_info(s, "o").state, PAWL_COMPLETED);
    ck_assert(s->now - SCENE_T0 >= PAWL_DAYS(30));
    scene_expect_empty(s);
}

SCENARIO(e13_order_killed_at_every_step_has_the_same_history)
{
    load(s, "order");
    scene_start(s, "ProcessOrder", "calm", "{\"id\":\"o\"}");
    scene_raise(s, "calm", "FraudReview", "{\"approved\":true}");
    scene_start(s, "ProcessOrder", "rough", "{\"id\":\"o\"}");
    scene_crash(s);
    scene_raise(s, "rough", "FraudReview", "{\"approved\":true}");
    live(s, "rough", true);
    live(s, "calm", false);
    scene_settle(s);
    expect_is(scene_info(s, "rough").state, PAWL_COMPLETED);
    ck_assert_str_eq(scene_history(s, "calm", 0), scene_history(s, "rough", 0));
    ck_assert_str_eq(scene_info(s, "calm").output.ptr ? "output" : "none", "output");
}

SCENARIO(e13_order_without_a_review_fails_in_48_hours)
{
    load(s, "order");
    scene_start(s, "ProcessOrder", "o", "{\"id\":\"o\"}");
    live(s, "o", true);
    scene_settle(s);
    pawl_info info = scene_info(s, "o");
    ck_assert(pawl_state_is_terminal(info.state));
    ck_assert(s->now - SCENE_T0 >= PAWL_HOURS(48));
}

SCENARIO(e13_provisioning_joins_three_or_fails_at_the_first)
{
    load(s, "provisioning");
    scene_start(s, "ProvisionEnvironment", "ok", "{\"name\":\"staging\",\"region\":\"eu-1\"}");
    scene_expect(s, "ok", PAWL_COMPLETED,
                 "Environment ready: VM=staging.vm.eu-1.example, "
                 "Storage=staging.storage.eu-1.example, DB=staging.db.eu-1.example");
    scene_start(s, "ProvisionEnvironment", "bad",
                "{\"name\":\"staging\",\"fail\":\"CreateVirtualMachine\"}");
    scene_expect(s, "bad", PAWL_FAILED, "CreateVirtualMachine: quota exceeded");
    scene_expect_empty(s);
}
