/* SPDX-License-Identifier: MIT */
/*
 * order_test -- unit tests of examples/order.c: two days of review and thirty days of
 * return window, in milliseconds.
 *
 *     cc -Iinclude examples/tests/order_test.c -lpawl -lsqlite3 -pthread -lm -ldl -o order_test
 *     ./order_test
 *
 * The code under test is included, so that its `setup` is at hand; as a module it
 * brings no main() of its own.
 */
#ifndef PAWL_AS_MODULE
#define PAWL_AS_MODULE
#endif
#include "../order.c"

#include <pawl/test.h>

/* Everything goes well. */
static pawl_test *good_day(void)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_on(t, "ValidatePayment", pawl_test_ok("{\"payment\":\"p-1\"}"));
    pawl_test_on(t, "ReserveInventory", pawl_test_ok("{\"warehouse\":\"north\"}"));
    pawl_test_on(t, "ShipOrder", pawl_test_ok("{\"parcel\":1}"));
    pawl_test_on(t, "FinalizeOrder", pawl_test_ok("null"));
    pawl_test_start(t, "ProcessOrder", "{\"id\":\"o-1\"}");
    return t;
}

static int completes_after_the_return_window(void)
{
    pawl_test *t = good_day();
    pawl_test_raise_at(t, PAWL_HOURS(2), "FraudReview", "{\"approved\":true}");
    pawl_test_run(t);
    PAWL_EXPECT_COMPLETED(t, "Order completed successfully");
    PAWL_EXPECT(t, pawl_test_now(t) == PAWL_HOURS(2) + PAWL_DAYS(30));
    return pawl_test_end(t);
}

static int fails_without_a_review(void)
{
    pawl_test *t = good_day();
    pawl_test_run(t);
    PAWL_EXPECT_FAILED(t, "no fraud review in time");
    PAWL_EXPECT(t, pawl_test_now(t) == PAWL_HOURS(48));
    PAWL_EXPECT_RUNS(t, "ShipOrder", 0);
    return pawl_test_end(t);
}

/* The bank is down twice: the policy of the call tries again. */
static int tries_the_payment_again(void)
{
    pawl_test *t = good_day();
    pawl_test_on_nth(t, "ValidatePayment", 1, pawl_test_fail("bank down"));
    pawl_test_on_nth(t, "ValidatePayment", 2, pawl_test_fail("bank down"));
    pawl_test_raise(t, "FraudReview", "{\"approved\":true}");
    pawl_test_run(t);
    PAWL_EXPECT_COMPLETED(t, "Order completed successfully");
    PAWL_EXPECT_RUNS(t, "ValidatePayment", 3);
    PAWL_EXPECT_EVENTS(t, "ActivityScheduled", "ValidatePayment", 1);
    return pawl_test_end(t);
}

/* kill -9 after every commit changes nothing, and nothing runs twice. */
static int survives_every_crash(void)
{
    pawl_test *t = good_day();
    pawl_test_crash_each(t, true);
    pawl_test_raise_at(t, PAWL_HOURS(2), "FraudReview", "{\"approved\":true}");
    pawl_test_run(t);
    PAWL_EXPECT_COMPLETED(t, "Order completed successfully");
    PAWL_EXPECT_RUNS(t, "ShipOrder", 1);
    return pawl_test_end(t);
}

int main(void)
{
    int bad = completes_after_the_return_window() + fails_without_a_review() +
              tries_the_payment_again() + survives_every_crash();
    printf("order_test: %d failed\n", bad);
    return bad != 0;
}
