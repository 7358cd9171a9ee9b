/* SPDX-License-Identifier: MIT */
/*
 * saga -- book a trip; when anything goes wrong, or the traveller cancels, undo
 * what was booked, in reverse.
 *
 *     pawl run BookTrip --load build/examples/saga.so --input '{"trip":"Oslo","fail":"BookCar"}'
 *     pawl run BookTrip --load build/examples/saga.so --input '{"trip":"Oslo"}' --raise Confirm
 *
 * Input: {"trip":"…"} and, optionally, "fail" (the activity that shall fail),
 * "step_ms" (how long each activity takes; 0), "hold_ms" (how long the bookings
 * are held for the event Confirm; 1 hour).
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
    const char *book;
    const char *undo;
} legs[] = {
    {"BookFlight", "CancelFlight"},
    {"BookHotel",  "CancelHotel" },
    {"BookCar",    "CancelCar"   },
};
#define LEGS (sizeof(legs) / sizeof(legs[0]))

/* Every activity of the trip: books or cancels by its own name. */
static pawl_result travel_agency(pawl_activity *act, pawl_str trip)
{
    pawl_str name = pawl_activity_name(act);
    if (getenv("PAWL_EXAMPLE_LOUD"))
        fprintf(stderr, "    -> %s\n", name.ptr);
    for (int64_t left = pawl_json_int(trip, "/step_ms", 0); left > 0; left -= 10) {
        if (pawl_activity_cancelled(act))
            return pawl_err(act, "given up");
        usleep(10 * 1000);
    }
    if (pawl_str_eq(pawl_json_text(pawl_activity_mem(act), trip, "/fail", ""), name))
        return pawl_errf(act, "%s: sold out", name.ptr);
    return pawl_ok(act, "ok");
}

/* Undo the first `booked` legs, the last one first.  The shield makes these calls
 * run although the orchestration is being cancelled. */
static void compensate(pawl_ctx *ctx, pawl_str trip, size_t booked)
{
    const pawl_call_opts *stubborn = PAWL_CALL_OPTS(.attempts = 10, .initial_ms = 100);
    pawl_shield(ctx);
    while (booked-- > 0)
        pawl_ignore(pawl_call_with(ctx, legs[booked].undo, trip, stubborn));
    pawl_unshield(ctx);
}

static pawl_result book_trip(pawl_ctx *ctx, pawl_str trip)
{
    pawl_result r = {.ok = true};
    size_t booked = 0;
    while (r.ok && booked < LEGS) {
        r = pawl_call(ctx, legs[booked].book, trip);
        booked += r.ok;
    }
    if (r.ok) {
        pawl_set_status(ctx, "held, waits for Confirm");
        pawl_task confirm = pawl_wait_event(ctx, "Confirm");
        pawl_task hold = pawl_timer(ctx, pawl_json_int(trip, "/hold_ms", PAWL_HOURS(1)));
        int first = pawl_race(ctx, (pawl_task[]){confirm, hold}, 2);
        if (first == 0)
            return pawl_donef(ctx, "booked: %zu legs", booked);
        r = pawl_fail(ctx, first == 1 ? "not confirmed in time" : "cancelled by the traveller");
    }
    compensate(ctx, trip, booked);
    return pawl_failf(ctx, "%s; %zu bookings undone", r.value.ptr, booked);
}

static void setup(pawl_app *app)
{
    for (size_t i = 0; i < LEGS; i++) {
        pawl_register_activity(app, legs[i].book, travel_agency);
        pawl_register_activity(app, legs[i].undo, travel_agency);
    }
    pawl_register_orchestration(app, "BookTrip", "1.0.0", book_trip);
}

PAWL_EXPORT(setup)
