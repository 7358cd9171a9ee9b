/* SPDX-License-Identifier: MIT */
/* runtime/remote/exchange.c -- see exchange.h. */
#include "runtime/remote/exchange.h"

#include "pawl/queue.h"
#include "runtime/core/health.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/remotes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_BYTES ((size_t)6 << 20) /* of turns in one answer; one may be larger */

static void end(struct exchange *ex, const pawl_turns_reply *reply)
{
    ex->fn(ex->arg, reply);
    arena_deinit(&ex->mem);
    free(ex);
}

void exchange_refuse(struct exchange *ex, pawl_status status, const char *format, ...)
{
    pawl_turns_reply reply = {.status = status, .error.status = status};
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reply.error.text, sizeof(reply.error.text), format, args);
    va_end(args);
    end(ex, &reply);
}

static void answer(pawl_runtime *rt, struct exchange *ex)
{
    struct worker_session *s = ex->session;
    size_t payload = rt->opts.max_payload;
    pawl_turns_reply reply = {
        .status = PAWL_OK,
        .now_ms = rt->now_ms,
        .limits = {.payload_bytes = payload,
                   .item_bytes =
                       payload && payload < PAWL_QUEUE_ITEM_BYTES ? payload : PAWL_QUEUE_ITEM_BYTES,
                   .queues = rt->caps.queues,
                   .turn_ms = rt->opts.turn_lease_ms},
        .answered = ex->answered,
        .answered_count = ex->request.answer_count,
        .turns = ex->turns,
        .turn_count = ex->turn_count,
        .taken = s->taken,
        .taken_count = s->taken_count,
        .beats_lost = ex->beats_lost.items,
        .beats_lost_count = ex->beats_lost.count
    };

    memcpy(reply.boot, rt->hands.remotes->boot, sizeof(reply.boot));
    s->taken_count = 0;
    for (size_t i = 0; i < ex->turn_count; i++)
        run_sent(rt, ex->turns[i].token);
    end(ex, &reply);
}

bool exchange_is_full(const struct exchange *ex)
{
    return ex->turn_count && ex->turn_bytes >= TURN_BYTES;
}

pawl_turn *exchange_add_turn(struct exchange *ex)
{
    if (ex->turn_count >= ex->request.max || ex->request.leaving || exchange_is_full(ex))
        return NULL;
    if (!ex->turns)
        ex->turns = arena_array(&ex->mem, pawl_turn, ex->request.max);
    return &ex->turns[ex->turn_count++];
}

void exchange_wait(pawl_runtime *rt, struct exchange *ex)
{
    struct remotes *all = rt->hands.remotes;

    ex->session->waiting++;
    ex->until_mono_ms = ex->had_answers ? 0 : rt_mono(rt) + ex->request.wait_ms;
    ex->next = NULL;
    *all->waiting_end = ex;
    all->waiting_end = &ex->next;
    all->waiting_count++;
    all->serve = true;
}

void exchange_settled(pawl_runtime *rt, struct exchange *ex)
{
    assert_that(ex->pending > 0);
    if (--ex->pending == 0 && ex->handled)
        exchange_wait(rt, ex);
}

/* Take it out of the list that `at` points into. */
static struct exchange *unlink_at(pawl_runtime *rt, struct exchange **at)
{
    struct exchange *ex = *at;

    *at = ex->next;
    if (!*at)
        rt->hands.remotes->waiting_end = at;
    rt->hands.remotes->waiting_count--;
    ex->session->waiting--;
    ex->session->heard_ms = rt_mono(rt);
    return ex;
}

void exchange_serve(pawl_runtime *rt, bool committed)
{
    struct remotes *all = rt->hands.remotes;
    int64_t mono;

    if (LIKELY(!all->waiting))
        return;
    mono = rt_mono(rt);
    all->serve = false;
    for (struct exchange **at = &all->waiting; *at;) {
        struct exchange *ex = *at;
        all->serve = all->serve || !ex->offered;
        if (ex->after_commit && !committed) {
            at = &ex->next;
            continue;
        }
        if (ex->turn_count || (ex->offered && mono >= ex->until_mono_ms))
            answer(rt, unlink_at(rt, at));
        else
            at = &ex->next;
    }
}

int64_t exchange_next(const pawl_runtime *rt)
{
    int64_t at = INT64_MAX;

    for (const struct exchange *ex = rt->hands.remotes->waiting; ex; ex = ex->next)
        if (ex->until_mono_ms < at)
            at = ex->until_mono_ms;
    return at;
}

bool exchange_may_serve(const pawl_runtime *rt)
{
    const struct remotes *all = rt->hands.remotes;

    return (all->waiting && all->serve) || all->bring.count;
}

void exchange_end_wait(pawl_runtime *rt, const void *arg)
{
    for (struct exchange **at = &rt->hands.remotes->waiting; *at; at = &(*at)->next)
        if ((*at)->arg == arg) {
            answer(rt, unlink_at(rt, at));
            return;
        }
}

void exchange_stop(pawl_runtime *rt)
{
    const char *text;
    pawl_status status = health_ending(rt, &text);

    while (rt->hands.remotes->waiting)
        exchange_refuse(unlink_at(rt, &rt->hands.remotes->waiting), status, "%s", text);
}
