/* SPDX-License-Identifier: MIT */
/*
 * order -- an order, from the payment to the end of its return window.
 *
 *     pawl run ProcessOrder --load build/examples/order.so --id o-1 \
 *         --input '{"id":"o-1","return_window_ms":2000}' --raise FraudReview='{"approved":true}'
 *
 * Input: {"id":"o-1"} and, optionally, "step_ms" (how long each activity takes;
 * 0), "return_window_ms" (30 days), "review_ms" (48 hours), "card" ("refused"
 * fails the payment).  kill -9 it at any moment and run the same command again:
 * it goes on after the last recorded step.
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Activities: ordinary C that may block, fail, and be run again ---------------- */

/* Take as long as the order says, but not longer than anybody waits for it. */
static void do_work(pawl_activity *act, pawl_str order)
{
    if (getenv("PAWL_EXAMPLE_LOUD"))
        fprintf(stderr, "    -> %s runs (pid %d, attempt %u)\n", pawl_activity_name(act).ptr,
                (int)getpid(), pawl_activity_attempt(act));
    for (int64_t left = pawl_json_int(order, "/step_ms", 0); left > 0; left -= 10) {
        if (pawl_activity_cancelled(act))
            return;
        usleep(10 * 1000);
    }
}

static pawl_result validate_payment(pawl_activity *act, pawl_str order)
{
    do_work(act, order);
    pawl_str card = pawl_json_text(pawl_activity_mem(act), order, "/card", "good");
    if (pawl_str_is(card, "refused"))
        return pawl_err_final(act, "card refused");
    /* The key is the same on every attempt: give it to the bank, and a payment
     * that is tried twice happens once. */
    return pawl_okf(act, "{\"payment\":\"%s\"}", pawl_activity_key(act));
}

static pawl_result reserve_inventory(pawl_activity *act, pawl_str order)
{
    do_work(act, order);
    return pawl_ok(act, "{\"warehouse\":\"north\"}");
}

static pawl_result ship_order(pawl_activity *act, pawl_str order)
{
    do_work(act, order);
    return pawl_ok(act, "{\"carrier\":\"snail\"}");
}

static pawl_result finalize_order(pawl_activity *act, pawl_str order)
{
    do_work(act, order);
    return pawl_ok(act, "{\"closed\":true}");
}

/* ---- The orchestration: straight-line, deterministic C ---------------------------- */

static pawl_result process_order(pawl_ctx *ctx, pawl_str order)
{
    if (!pawl_json_get(order, "/id").len)
        return pawl_fail(ctx, "the order has no \"id\"");

    /* 1. Validate the payment; refusals are final, a bank that is down is not. */
    pawl_result paid = pawl_call_with(ctx, "ValidatePayment", order,
                                      PAWL_CALL_OPTS(.attempts = 5, .initial_ms = 200));
    if (!paid.ok)
        return paid;

    /* 2. Reserve what was ordered. */
    pawl_result reserved = pawl_call(ctx, "ReserveInventory", order);
    if (!reserved.ok)
        return reserved;

    /* 3. A person reviews it within 48 hours, or it fails. */
    pawl_task review = pawl_wait_event(ctx, "FraudReview");
    pawl_task limit = pawl_timer(ctx, pawl_json_int(order, "/review_ms", PAWL_HOURS(48)));
    if (pawl_race(ctx, (pawl_task[]){review, limit}, 2) != 0)
        return pawl_fail(ctx, "no fraud review in time");
    if (!pawl_json_bool(pawl_await(ctx, review).value, "/approved", true))
        return pawl_fail(ctx, "refused by the fraud review");

    /* 4. Ship it. */
    pawl_result shipped = pawl_call(ctx, "ShipOrder", order);
    if (!shipped.ok)
        return shipped;

    /* 5. Wait for the return window: survives restarts, deploys and months. */
    pawl_result over = pawl_sleep(ctx, pawl_json_int(order, "/return_window_ms", PAWL_DAYS(30)));
    if (!over.ok)
        return over;

    /* 6. Close the books. */
    pawl_result closed = pawl_call(ctx, "FinalizeOrder", order);
    return closed.ok ? pawl_done(ctx, "Order completed successfully") : closed;
}

static void setup(pawl_app *app)
{
    pawl_register_activity(app, "ValidatePayment", validate_payment);
    pawl_register_activity(app, "ReserveInventory", reserve_inventory);
    pawl_register_activity(app, "ShipOrder", ship_order);
    pawl_register_activity(app, "FinalizeOrder", finalize_order);
    pawl_register_orchestration(app, "ProcessOrder", "1.0.0", process_order);
}

PAWL_EXPORT(setup)
