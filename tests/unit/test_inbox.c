/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_inbox.c -- a thread that holds (pawl_client_hold) wakes no engine before it
 * releases, whichever runtimes it submits to.  No engine runs here: "it waits" is a field.
 */
#include "../harness.h"
#include "runtime/core/runtime.h"

#include <pawl.h>

#define MANY 5 /* one more than a thread holds for */

static pawl_app *app;
static pawl_runtime *rts[MANY];

static void open_runtimes(void)
{
    pawl_error err = {0};
    app = pawl_app_new();
    for (int i = 0; i < MANY; i++) {
        rts[i] = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
        ck_assert_msg(rts[i], "%s", err.text);
        rts[i]->inbox.engine_waits = true;
    }
}

static void close_runtimes(void)
{
    for (int i = 0; i < MANY; i++)
        pawl_runtime_close(rts[i]);
    pawl_app_free(app);
}

static void raise_at(int i)
{
    pawl_error err = {0};
    pawl_status rc = pawl_client_submit(
        pawl_runtime_client(rts[i]),
        PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "i", .name = "Go"), NULL, NULL, &err);
    ck_assert_msg(rc == PAWL_OK, "%s", err.text);
}

static int asleep(void)
{
    int n = 0;
    for (int i = 0; i < MANY; i++)
        n += rts[i]->inbox.engine_waits;
    return n;
}

TEST(a_thread_holds_for_several_runtimes)
{
    open_runtimes();
    pawl_client_hold();
    raise_at(0);
    raise_at(1);
    raise_at(0);
    ck_assert_int_eq(asleep(), MANY);
    pawl_client_release();
    ck_assert_int_eq(asleep(), MANY - 2);
    raise_at(2); /* nothing is held any more */
    ck_assert_int_eq(asleep(), MANY - 3);
    close_runtimes();
}

TEST(what_is_posted_to_one_runtime_too_many_is_not_held)
{
    open_runtimes();
    pawl_client_hold();
    for (int i = 0; i < MANY - 1; i++)
        raise_at(i);
    ck_assert_int_eq(asleep(), MANY);
    raise_at(MANY - 1);
    ck_assert_int_eq(asleep(), MANY - 1);
    pawl_client_release();
    ck_assert_int_eq(asleep(), 0);
    close_runtimes();
}

TEST(many_requests_to_one_runtime_do_not_wait_for_the_release)
{
    open_runtimes();
    pawl_client_hold();
    raise_at(1); /* counted for each runtime */
    for (int i = 0; i < 15; i++)
        raise_at(0);
    ck_assert_int_eq(asleep(), MANY);
    raise_at(0);
    ck_assert_int_eq(asleep(), MANY - 1);
    pawl_client_release();
    close_runtimes();
}
