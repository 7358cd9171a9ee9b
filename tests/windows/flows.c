/* SPDX-License-Identifier: MIT */
/*
 * tests/windows/flows.c -- the flows of issue 3: start, completion, timer, external
 * event, ContinueAsNew, sub-orchestration, cancel, worker completion; and what lies
 * between them.  Sequential, so that an undisturbed history is the only right one.
 */
#include "window.h"

#include <stdlib.h>
#include <string.h>

static pawl_result echo(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result flaky(pawl_activity *act, pawl_str input)
{
    (void)input;
    return pawl_activity_attempt(act) < 3 ? pawl_err(act, "not yet") : pawl_ok(act, "at last");
}

static pawl_result begin(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

static pawl_result completion(pawl_ctx *ctx, pawl_str input)
{
    pawl_result a = pawl_call(ctx, "Echo", input);
    pawl_set_status(ctx, "half");
    pawl_result b = pawl_call(ctx, "Echo", a.value);
    return pawl_donef(ctx, "%s%s", a.value.ptr, b.value.ptr);
}

static pawl_result timer(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_task race[] = {pawl_timer(ctx, 100), pawl_timer(ctx, PAWL_HOURS(1))};
    int first = pawl_race(ctx, race, 2);
    pawl_ignore(pawl_sleep(ctx, 10));
    return pawl_donef(ctx, "%s%d", input.ptr, first);
}

static pawl_result event(pawl_ctx *ctx, pawl_str input)
{
    pawl_result one = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_result e = pawl_call(ctx, "Echo", input);
    pawl_result two = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    return pawl_donef(ctx, "%s %s %s", one.value.ptr, e.value.ptr, two.value.ptr);
}

/* Raises come before anybody waits. */
static pawl_result early(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_sleep(ctx, 1000));
    return event(ctx, input);
}

static pawl_result again(pawl_ctx *ctx, pawl_str input)
{
    pawl_result go = pawl_await(ctx, pawl_wait_event(ctx, "Go"));
    pawl_result e = pawl_call(ctx, "Echo", go.value);
    pawl_str next = pawl_printf(ctx, "%s%s", input.ptr, e.value.ptr);
    if (pawl_execution(ctx) < 3)
        return pawl_continue_as_new(ctx, next, NULL);
    return pawl_done_str(ctx, next);
}

/* State that is set, changed, cleared and carried to the next execution. */
static pawl_result publish(pawl_ctx *ctx, pawl_str input)
{
    bool ok = pawl_state_set(ctx, "a", input).ok;
    pawl_ignore(pawl_call(ctx, "Echo", input));
    ok = ok && pawl_state_set(ctx, "b", pawl_printf(ctx, "%s!", pawl_state_get(ctx, "a").ptr)).ok;
    ok = ok && pawl_state_clear(ctx, "c").ok;
    pawl_ignore(pawl_call(ctx, "Echo", input));
    ok = ok && pawl_state_set(ctx, "c", pawl_s("late")).ok && pawl_state_clear(ctx, "a").ok;
    if (pawl_execution(ctx) < 2)
        return pawl_continue_as_new(ctx, pawl_state_get(ctx, "b"), NULL);
    return pawl_donef(ctx, "%d%s", ok, pawl_state_get(ctx, "b").ptr);
}

/* What a wait took and nobody read comes back: by a cancel, and by continue as new. */
static pawl_result give_back(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) > 1)
        return event(ctx, input);
    pawl_task first = pawl_wait_event(ctx, "Go");
    pawl_ignore(pawl_sleep(ctx, 1000));
    pawl_cancel(ctx, first);
    pawl_ignore(pawl_sleep(ctx, 10));
    (void)pawl_wait_event(ctx, "Go");
    pawl_ignore(pawl_sleep(ctx, 10));
    return pawl_continue_as_new(ctx, input, NULL);
}

/* What lay there while it was suspended is taken and given back in one round. */
static pawl_result give_back_at_once(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_task unread = pawl_wait_event(ctx, "Go");
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Stop")));
    pawl_cancel(ctx, unread);
    pawl_ignore(pawl_sleep(ctx, 1000));
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

/* It asks, is answered, and asks again in its next execution. */
static pawl_result asking(pawl_ctx *ctx, pawl_str input)
{
    pawl_task other = pawl_wait_event_ask(ctx, "Other", pawl_s("{\"text\":\"never\"}"));
    pawl_result go = pawl_await(ctx, pawl_wait_event_ask(ctx, "Go", pawl_s("{\"title\":\"?\"}")));
    pawl_ignore(pawl_call(ctx, "Echo", go.value));
    if (pawl_execution(ctx) < 2)
        return pawl_continue_as_new(ctx, input, NULL);
    pawl_cancel(ctx, other);
    (void)pawl_wait_event_ask(ctx, "Never", pawl_s("{\"title\":\"open\"}"));
    pawl_ignore(pawl_call(ctx, "Echo", go.value));
    return pawl_done_str(ctx, go.value);
}

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    pawl_result e = pawl_call(ctx, "Echo", input);
    return pawl_donef(ctx, "kid %s", e.value.ptr);
}

static pawl_result child(pawl_ctx *ctx, pawl_str input)
{
    pawl_result k = pawl_call_child(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "kid-1"));
    pawl_result m = pawl_call_child(ctx, "Kid", k.value, PAWL_CHILD_OPTS(.instance = "kid-2"));
    return pawl_done_str(ctx, m.value);
}

static pawl_result detach(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_start_detached(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "free")));
    return pawl_done(ctx, "left");
}

/* The starter lives on. */
static pawl_result leave(pawl_ctx *ctx, pawl_str input)
{
    (void)detach(ctx, input);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

/* What the last turn of an execution started is started, whatever its successor does. */
static pawl_result leave_again(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) > 1)
        return pawl_call(ctx, "Echo", input);
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    (void)detach(ctx, input);
    return pawl_continue_as_new(ctx, input, NULL);
}

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "never")));
    return pawl_done(ctx, "woken");
}

static pawl_result cancelled(pawl_ctx *ctx, pawl_str input)
{
    pawl_task parts[] = {
        pawl_start_child(ctx, "Waits", input, PAWL_CHILD_OPTS(.instance = "waiting")),
        pawl_timer(ctx, PAWL_HOURS(1))};
    pawl_ignore(pawl_await_any(ctx, parts, 2));
    pawl_shield(ctx);
    pawl_result e = pawl_call(ctx, "Echo", pawl_s("undone"));
    pawl_unshield(ctx);
    return pawl_fail(ctx, e.value.ptr);
}

static pawl_result worker(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Flaky", input, PAWL_CALL_OPTS(.attempts = 5, .initial_ms = 100));
}

static pawl_result failing(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r =
        pawl_call_with(ctx, "Flaky", input, PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 100));
    return pawl_failf(ctx, "gave up: %s", r.value.ptr);
}

/* A call nobody takes is given up, and then a timer: the rows that go are not the first ones. */
static pawl_result withdrawn(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    pawl_task call = pawl_start_with(ctx, "Elsewhere", input, PAWL_CALL_OPTS(.tag = "nobody"));
    pawl_ignore(pawl_sleep(ctx, 10));
    pawl_cancel(ctx, call);
    pawl_ignore(pawl_sleep(ctx, 10));
    pawl_task timer = pawl_timer(ctx, PAWL_HOURS(1));
    pawl_ignore(pawl_sleep(ctx, 10));
    pawl_cancel(ctx, timer);
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

/* An event for somebody who is there, one for somebody who comes later, one for nobody. */
static pawl_result raises(pawl_ctx *ctx, pawl_str input)
{
    pawl_task kid = pawl_start_child(ctx, "Event", input, PAWL_CHILD_OPTS(.instance = "hears"));
    pawl_ignore(pawl_raise(ctx, "hears", "Go", pawl_s("1"), PAWL_RAISE_AWAIT_START));
    pawl_ignore(pawl_raise(ctx, "nobody", "Go", pawl_s("2"), 0));
    pawl_ignore(pawl_call(ctx, "Echo", input));
    pawl_ignore(pawl_raise(ctx, "hears", "Go", pawl_s("3"), 0));
    return pawl_await(ctx, kid);
}

/* Events for somebody whom a client starts later. */
static pawl_result foretells(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_ignore(pawl_raise(ctx, "late", "Go", pawl_s("1"), PAWL_RAISE_AWAIT_START));
    pawl_ignore(pawl_raise(ctx, "late", "Go", pawl_s("2"), PAWL_RAISE_AWAIT_START));
    return pawl_done(ctx, "told");
}

/* More than any turn may have: it is blocked. */
static pawl_result greedy(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_done(ctx, pawl_alloc(ctx, (size_t)1 << 40) ? "rich" : "poor");
}

/* Its activity is not ours to run: it is somebody else's, all the time. */
/* Serves two updates, the first in one commit, the second with work before its answer. */
static pawl_result serves(pawl_ctx *ctx, pawl_str input)
{
    pawl_task one = pawl_wait_update(ctx, "add");
    pawl_result a = pawl_await(ctx, one);
    pawl_answer(ctx, one, a.value);
    pawl_task two = pawl_wait_update(ctx, "add");
    pawl_result b = pawl_await(ctx, two);
    pawl_result e = pawl_call(ctx, "Echo", input);
    if (e.ok)
        pawl_reject(ctx, two, "no more");
    return pawl_donef(ctx, "%s%s", a.value.ptr, b.value.ptr);
}

/* Where its first attempts got to: the last one says whether it was told. */
static pawl_result beats(pawl_activity *act, pawl_str input)
{
    pawl_str from;
    (void)input;
    if (pawl_activity_resume(act, &from))
        return pawl_ok(act, "resumed");
    (void)pawl_activity_beat(act, pawl_s("half"));
    return pawl_err(act, "not yet");
}

static pawl_result beating(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call_with(ctx, "Beats", input, PAWL_CALL_OPTS(.attempts = 5, .initial_ms = 100));
}

static pawl_result beside(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Elsewhere", input);
}

void flows_register(pawl_app *app)
{
    static const struct {
        const char *name;
        pawl_orchestration_fn *fn;
    } code[] = {
        {"Begin",      begin            },
        {"Beside",     beside           },
        {"Completion", completion       },
        {"Timer",      timer            },
        {"Event",      event            },
        {"Early",      early            },
        {"Again",      again            },
        {"Asking",     asking           },
        {"GiveBack",   give_back        },
        {"GiveAtOnce", give_back_at_once},
        {"Kid",        kid              },
        {"Child",      child            },
        {"Detach",     detach           },
        {"Leave",      leave            },
        {"LeaveAgain", leave_again      },
        {"Waits",      waits            },
        {"Cancelled",  cancelled        },
        {"Worker",     worker           },
        {"Withdrawn",  withdrawn        },
        {"Publish",    publish          },
        {"Failing",    failing          },
        {"Raises",     raises           },
        {"Foretells",  foretells        },
        {"Greedy",     greedy           },
        {"Serves",     serves           },
        {"Beating",    beating          },
    };
    for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
        if (pawl_register_orchestration(app, code[i].name, "1.0.0", code[i].fn) != PAWL_OK)
            abort();
    if (pawl_register_activity(app, "Echo", echo) != PAWL_OK ||
        pawl_register_activity(app, "Flaky", flaky) != PAWL_OK ||
        pawl_register_activity(app, "Beats", beats) != PAWL_OK)
        abort();
}

#define REQUEST(...)                                                                               \
    {                                                                                              \
        .size = sizeof(pawl_request), .instance = "i", __VA_ARGS__                                 \
    }
#define START(code) REQUEST(.op = PAWL_OP_START, .name = (code), .data = {"x", 1})
#define RAISE(text, key)                                                                           \
    REQUEST(.op = PAWL_OP_RAISE, .name = "Go", .data = {(text), 1}, .idempotency_key = (key))

#define UPDATE(text, key)                                                                          \
    REQUEST(.op = PAWL_OP_UPDATE, .name = "add", .data = {(text), 1}, .idempotency_key = (key))
#define KEPT(text, key)                                                                            \
    REQUEST(.op = PAWL_OP_RAISE, .name = "Go", .data = {(text), 1}, .idempotency_key = (key),      \
            .await_start = true)
#define AS_DATA(text)                                                                              \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
#define SCHEDULE(how, ...)                                                                         \
    {                                                                                              \
        .size = sizeof(pawl_request), .op = PAWL_OP_SCHEDULE_##how, .name = "n", __VA_ARGS__       \
    }
#define SCHEDULE_JSON "{\"every_ms\":60000,\"max_runs\":2,\"orchestration\":\"Begin\",\"input\":1}"

#define FILL_JSON     "{\"from_ms\":1699999800000,\"to_ms\":1699999900000}"

static const pawl_raise_item brought[] = {
    {.event = "Go", .data = {"1", 1}, .idempotency_key = "a"},
    {.event = "Go", .data = {"2", 1}, .idempotency_key = "b"}
};

const struct flow flows[] = {
    {"start_raises",
     {REQUEST(.op = PAWL_OP_START, .name = "Event", .data = {"x", 1}, .raises = brought,
              .raise_count = 2)},
     0                                                                                                                },
    {"updates",            {START("Serves"), UPDATE("1", "a"), UPDATE("2", "b")},                             0       },
    {"start_updates",
     {REQUEST(.op = PAWL_OP_START, .name = "Serves", .data = {"x", 1}, .update = "add",
              .update_data = {"1", 1}),
      UPDATE("2", "b")},
     0                                                                                                                },
    {"details",            {START("Beating")},                                                                0       },
    {"asks",               {START("Asking"), RAISE("1", "a"), RAISE("2", "b")},                               0       },
    {"use_raises",
     {START("Event"),
      REQUEST(.op = PAWL_OP_START, .name = "Event", .data = {"y", 1},
              .if_exists = PAWL_IF_EXISTS_USE, .raises = brought, .raise_count = 2)},
     0                                                                                                                },
    {"start",              {START("Begin")},                                                                  0       },
    {"completion",         {START("Completion")},                                                             0       },
    {"timer",              {START("Timer")},                                                                  0       },
    {"event",              {START("Event"), RAISE("1", "a"), RAISE("2", "b")},                                0       },
    {"early_event",        {START("Early"), RAISE("1", "a"), RAISE("2", "b")},                                0       },
    {"together",           {START("Event"), RAISE("1", "a"), RAISE("2", "b")},                                TOGETHER},
    {"together_early",     {START("Early"), RAISE("1", "a"), RAISE("2", "b")},                                TOGETHER},
    {"kept_event",         {KEPT("1", "a"), START("Event"), RAISE("2", "b")},                                 0       },
    {"given_back",         {START("GiveBack"), RAISE("1", "a"), RAISE("2", "b")},                             0       },
    {"given_back_kept",    {KEPT("1", "a"), START("GiveBack"), RAISE("2", "b")},                              0       },
    {"given_back_at_once",
     {START("GiveAtOnce"), REQUEST(.op = PAWL_OP_SUSPEND), RAISE("1", "a"),
      REQUEST(.op = PAWL_OP_RAISE, .name = "Stop", .data = {"2", 1}, .idempotency_key = "b"),
      REQUEST(.op = PAWL_OP_RESUME)},
     0                                                                                                                },
    {"continue",           {START("Again"), RAISE("1", "a"), RAISE("2", "b"), RAISE("3", "c")},               0       },
    {"child",              {START("Child")},                                                                  0       },
    {"taken_child",        /* a stranger has the id of the first of two */
     {{.size = sizeof(pawl_request), .instance = "kid-1", .op = PAWL_OP_START, .name = "Begin"},
      START("Child")},
     0                                                                                                                },
    {"detached",           {START("Detach")},                                                                 0       },
    {"cancel",             {START("Cancelled"), REQUEST(.op = PAWL_OP_CANCEL, .reason = "no")},               0       },
    {"terminate",          {START("Cancelled"), REQUEST(.op = PAWL_OP_TERMINATE, .reason = "now")},           0       },
    {"suspend",
     {START("Event"), REQUEST(.op = PAWL_OP_SUSPEND), RAISE("1", "a"), RAISE("2", "b"),
      REQUEST(.op = PAWL_OP_RESUME)},
     0                                                                                                                },
    {"removed_child",
     {START("Leave"),
      {.size = sizeof(pawl_request), .instance = "free", .op = PAWL_OP_REMOVE, .force = true},
      RAISE("1", "a")},
     0                                                                                                                },
    {"continue_detached",  {START("LeaveAgain"), RAISE("1", "a")},                                            0       },
    {"worker",             {START("Worker")},                                                                 0       },
    {"worker_fails",       {START("Failing")},                                                                0       },
    {"withdrawn",          {START("Withdrawn"), RAISE("1", "a")},                                             0       },
    {"schedule",           /* two runs, a minute apart */
     {START("Begin"), SCHEDULE(PUT, .data = AS_DATA(SCHEDULE_JSON))},
     0                                                                                                                },
    {"schedule_by_hand",   /* paused before its first run, started by hand, gone on with, removed */
     {SCHEDULE(PUT, .data = AS_DATA(SCHEDULE_JSON)), SCHEDULE(PAUSE, .data = AS_DATA("why")),
      SCHEDULE(TRIGGER, .idempotency_key = "k"), SCHEDULE(RESUME), SCHEDULE(REMOVE)},
     0                                                                                                                },
    {"schedule_filled",
     {SCHEDULE(PUT, .data = AS_DATA(SCHEDULE_JSON)),
      SCHEDULE(BACKFILL, .data = AS_DATA(FILL_JSON))},
     0                                                                                                                },
    {"published",          {START("Publish")},                                                                0       },
    {"rerun",
     {START("Event"), RAISE("1", "a"), RAISE("2", "b"),
      REQUEST(.op = PAWL_OP_RERUN, .data = {"y", 1}), RAISE("3", "c"), RAISE("4", "d")},
     3                                                                                                                },
    {"rerun_as_before",
     {START("Event"), RAISE("1", "a"), RAISE("2", "b"), REQUEST(.op = PAWL_OP_RERUN),
      RAISE("3", "c"), RAISE("4", "d")},
     3                                                                                                                },
    {"deadline",
     {REQUEST(.op = PAWL_OP_START, .name = "Cancelled", .data = {"x", 1}, .deadline_ms = 5000)},
     0                                                                                                                },
    {"deadline_carried",
     {REQUEST(.op = PAWL_OP_START, .name = "Again", .data = {"x", 1}, .deadline_ms = 5000),
      RAISE("1", "a")},
     0                                                                                                                },
    {"delayed",
     {REQUEST(.op = PAWL_OP_START, .name = "Event", .data = {"x", 1}, .delay_ms = 5000),
      RAISE("1", "a"), RAISE("2", "b")},
     0                                                                                                                },
    {"delayed_cancel",
     {REQUEST(.op = PAWL_OP_START, .name = "Event", .data = {"x", 1}, .delay_ms = 5000),
      REQUEST(.op = PAWL_OP_CANCEL, .reason = "no")},
     0                                                                                                                },
    {"raises",             {START("Raises")},                                                                 0       },
    {"raises_early",
     {START("Foretells"),
      {.size = sizeof(pawl_request), .instance = "late", .op = PAWL_OP_START, .name = "Event"}},
     0                                                                                                                },
    {"job",
     {REQUEST(.op = PAWL_OP_START, .name = PAWL_JOB,
              .data = AS_DATA("{\"activity\":\"Flaky\",\"input\":1,\"attempts\":3}"))},
     0                                                                                                                },
    {"removed_tree",
     {{.size = sizeof(pawl_request), .instance = "j", .op = PAWL_OP_START, .name = "Begin"},
      START("Child"),
      REQUEST(.op = PAWL_OP_REMOVE)},
     2                                                                                                                },
    {"codeless",
     {KEPT("1", "a"),
      REQUEST(.op = PAWL_OP_START, .name = "Nobody", .data = {"x", 1}, .allow_unregistered = true),
      RAISE("2", "b")},
     STAYS                                                                                                            },
    {"blocked",            {KEPT("1", "a"), START("Greedy"), RAISE("2", "b")},                                STAYS   },
    {"suspended",          {START("Event"), REQUEST(.op = PAWL_OP_SUSPEND), RAISE("1", "a")},                 STAYS   },
    {"waits_long",
     {REQUEST(.op = PAWL_OP_START, .name = "Event", .data = {"x", 1},
              .delay_ms = PAWL_HOURS(99999)),
      RAISE("1", "a")},
     STAYS                                                                                                            },
};
const size_t flow_count = sizeof(flows) / sizeof(flows[0]);
