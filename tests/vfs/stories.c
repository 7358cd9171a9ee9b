/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/stories.c -- what is told on the disk: the flows of the crash windows, and
 * what they leave out: queues, checkpoints, opening, removal, repair.
 */
#include "../windows/window.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Code the flows do not have ------------------------------------------------------ */

static pawl_result tied(pawl_ctx *ctx, pawl_str input)
{
    pawl_result e = pawl_call(ctx, "Echo", input);
    pawl_ignore(pawl_queue_push(ctx, "out", e.value, PAWL_PUSH_OPTS(.priority = 3)));
    pawl_ignore(pawl_queue_push(ctx, "out", pawl_s("second"), NULL));
    return pawl_call(ctx, "Echo", pawl_s("after"));
}

static pawl_result fan(pawl_ctx *ctx, pawl_str input)
{
    pawl_task parts[8];
    for (int i = 0; i < 8; i++)
        parts[i] = pawl_start(ctx, "Echo", input);
    pawl_ignore(pawl_await_all(ctx, parts, 8));
    return pawl_done(ctx, "all");
}

/* More pages than one commit usually has. */
static pawl_result large(pawl_ctx *ctx, pawl_str input)
{
    static char text[40000];
    memset(text, 'l', sizeof(text));
    pawl_ignore(pawl_call(ctx, "Echo", (pawl_str){text, sizeof(text)}));
    return pawl_done_str(ctx, input);
}

void stories_register(pawl_app *app)
{
    flows_register(app);
    if (pawl_register_orchestration(app, "Tied", "1.0.0", tied) != PAWL_OK ||
        pawl_register_orchestration(app, "Fan", "1.0.0", fan) != PAWL_OK ||
        pawl_register_orchestration(app, "Large", "1.0.0", large) != PAWL_OK)
        abort();
}

/* ---- Steps ------------------------------------------------------------------------------ */

#define CALL(...)                                                                                  \
    {                                                                                              \
        .call = {.size = sizeof(pawl_request), __VA_ARGS__ }                                       \
    }
#define QUEUE(...)                                                                                 \
    {                                                                                              \
        .queue = {.size = sizeof(pawl_queue_request), .queue = "q", __VA_ARGS__ }                  \
    }
#define START(id, of) CALL(.op = PAWL_OP_START, .instance = (id), .name = (of), .data = {"x", 1})
#define GO(id, key)                                                                                \
    CALL(.op = PAWL_OP_RAISE, .instance = (id), .name = "Go", .data = {"1", 1},                    \
         .idempotency_key = (key))
#define ACT(what)                                                                                  \
    {                                                                                              \
        .act = (what)                                                                              \
    }
#define PUSH(of)   QUEUE(.op = PAWL_QUEUE_PUSH, .items = (of), .item_count = 2)
#define LOCKED_POP QUEUE(.op = PAWL_QUEUE_POP, .require_ack = true, .ttl_ms = 30000)
#define WITH_LOCK(...)                                                                             \
    {                                                                                              \
        .queue = {.size = sizeof(pawl_queue_request), .queue = "q", __VA_ARGS__}, .locked = true   \
    }

static const pawl_queue_item first[] = {
    {.data = {"a", 1}, .dedup_id = {"a", 1}, .priority = 1},
    {.data = {"b", 1},                .dedup_id = {"b", 1}                    }
};
static const pawl_queue_item second[] = {
    {.data = {"c", 1}, .dedup_id = {"c", 1}, .priority = 5   },
    {.data = {"d", 1}, .dedup_id = {"d", 1}, .delay_ms = 1000}
};

static const struct story ours[] = {
    {.name = "queue",
     .loose = true,
     .steps = {PUSH(first),
               PUSH(second),
               LOCKED_POP,
               WITH_LOCK(.op = PAWL_QUEUE_ACK),
               LOCKED_POP,
               WITH_LOCK(.op = PAWL_QUEUE_EXTEND, .ttl_ms = 60000),
               WITH_LOCK(.op = PAWL_QUEUE_RELEASE, .reason = "later"),
               LOCKED_POP,
               WITH_LOCK(.op = PAWL_QUEUE_DEADLETTER, .reason = "bad"),
               {.queue = {.size = sizeof(pawl_queue_request),
                          .queue = "q-deadletter",
                          .op = PAWL_QUEUE_REDRIVE}},
               QUEUE(.op = PAWL_QUEUE_POP),
               QUEUE(.op = PAWL_QUEUE_PAUSE),
               QUEUE(.op = PAWL_QUEUE_RESUME),
               QUEUE(.op = PAWL_QUEUE_PURGE)}},
    {.name = "queue_lock_runs_out",
     .loose = true,
     .steps = {PUSH(first), LOCKED_POP, ACT(ACT_LATER), LOCKED_POP,
               WITH_LOCK(.op = PAWL_QUEUE_ACK)}},
    {.name = "bound_queue",
     .steps = {QUEUE(.op = PAWL_QUEUE_BIND, .orchestration = "Kid"), PUSH(first), PUSH(second)},
     .loose = true},
    {.name = "tied", .steps = {START("i", "Tied")}                                                                                               },
    {.name = "fan",                                                                             .unordered = true,                                                                .steps = {START("i", "Fan"), START("j", "Fan")}},
    {.name = "checkpoint",
     .tight = true,
     .steps = {START("i", "Completion"), START("j", "Event"), GO("j", "a"), GO("j", "b"),
               START("k", "Large")}},
    {.name = "reopen",
     .steps = {START("i", "Event"), ACT(ACT_CLOSE), GO("i", "a"), ACT(ACT_DIE), ACT(ACT_CLOSE),
               GO("i", "b"), ACT(ACT_CLOSE), START("j", "Completion")}                                                                                      },
    {.name = "repair",
     .steps = {START("i", "Event"), GO("i", "a"), ACT(ACT_DIRTY), GO("i", "b"), ACT(ACT_DIRTY)}                                                                            },
    {.name = "remove",
     .tight = true,
     .steps = {START("i", "Completion"), START("j", "Child"),
               CALL(.op = PAWL_OP_REMOVE, .instance = "j"), START("k", "Event"),
               CALL(.op = PAWL_OP_REMOVE, .instance = "k", .force = true), START("k", "Begin"),
               CALL(.op = PAWL_OP_PRUNE, .before_ms = 1800000000000),
               CALL(.op = PAWL_OP_PRUNE, .before_ms = 1800000000000)}},
    {.name = "prune_executions",
     .steps = {START("i", "Again"), GO("i", "a"), GO("i", "b"),
               CALL(.op = PAWL_OP_PRUNE, .before_ms = 1800000000000), GO("i", "c")}},
};

#define OURS (sizeof(ours) / sizeof(ours[0]))

const struct story *stories(size_t *retcount)
{
    static struct story all[64];
    size_t n = 0;
    for (size_t i = 0; i < flow_count; i++, n++) {
        all[n].name = flows[i].name;
        all[n].flaky = strncmp(flows[i].name, "worker", 6) == 0;
        all[n].timed = strncmp(flows[i].name, "given_back", 10) == 0;
        for (size_t k = 0; k < WINDOW_CALLS && flows[i].calls[k].size; k++)
            all[n].steps[k].call = flows[i].calls[k];
    }
    for (size_t i = 0; i < OURS; i++)
        all[n++] = ours[i];
    *retcount = n;
    return all;
}
