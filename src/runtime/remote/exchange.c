/* SPDX-License-Identifier: MIT */
/* runtime/remote/exchange.c -- see exchange.h. */
#include "runtime/remote/exchange.h"

#include "base/limits.h"
#include "pawl/queue.h"
#include "runtime/core/health.h"
#include "runtime/remote/remote_run.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/worker_session.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_BYTES    ((size_t)6 << 20) /* of turns in one answer; one may be larger */

#define OF_ENDS(node) ((struct exchange *)(void *)((char *)(node)-offsetof(struct exchange, ends)))

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
        .taken = ex->taken.items,
        .taken_count = ex->taken.count,
        .beats_lost = ex->beats_lost.items,
        .beats_lost_count = ex->beats_lost.count
    };

    memcpy(reply.boot, rt->hands.remotes->boot, sizeof(reply.boot));
    for (size_t i = 0; i < ex->turn_count; i++)
        run_sent(rt, ex->turns[i].token);
    end(ex, &reply);
}

/* Does it only ask, so that it loses nothing when it is refused? */
static bool only_asks(const pawl_turns *q)
{
    return q->max && !q->answer_count && !q->beat_count && !q->forget_count && !q->leaving;
}

bool exchange_may_begin(const pawl_runtime *rt, const struct exchange *ex, pawl_error *err)
{
    const pawl_turns *q = &ex->request;
    const struct worker_session *s = session_find(rt, q->session);

    if (!only_asks(q))
        return true;
    if (q->wait_ms && rt->hands.remotes->waiting_count >= PAWL_TURNS_WAITING_MAX)
        error_set(err, PAWL_BUSY,
                  "too_many: %d calls for turns wait here already, the limit; ask again in a "
                  "second, with one call at a time from each worker",
                  PAWL_TURNS_WAITING_MAX);
    else if (s && s->out >= PAWL_TURNS_SESSION_OUT_MAX)
        error_set(err, PAWL_BUSY,
                  "too_many: this session has %d turns that it did not answer, the limit; answer "
                  "or release some, and ask for as many as the worker can run",
                  PAWL_TURNS_SESSION_OUT_MAX);
    else
        return true;
    return false;
}

int64_t exchange_lease_ms(const struct exchange *ex)
{
    return ex->session->lease_ms;
}

bool exchange_is_full(const struct exchange *ex)
{
    return ex->turn_count && ex->turn_bytes >= TURN_BYTES;
}

pawl_turn *exchange_add_turn(pawl_runtime *rt, struct exchange *ex)
{
    if (ex->turn_count >= ex->request.max || ex->request.leaving || exchange_is_full(ex))
        return NULL;
    if (!ex->turns)
        ex->turns = arena_array(&ex->mem, pawl_turn, ex->request.max);
    if (!ex->turn_count) {
        struct exchange **at = &rt->hands.remotes->filled;
        while (*at)
            at = &(*at)->next_filled;
        *at = ex;
    }
    return &ex->turns[ex->turn_count++];
}

/* ---- Those that wait ------------------------------------------------------------ */

void exchange_wait(pawl_runtime *rt, struct exchange *ex)
{
    struct remotes *all = rt->hands.remotes;

    ex->session->waiting++;
    ex->ends.key = ex->had_answers ? 0 : rt_mono(rt) + ex->request.wait_ms;
    ex->ends.tie = ++all->waited;
    ex->prev = all->waiting_last;
    *(ex->prev ? &ex->prev->next : &all->waiting) = ex;
    all->waiting_last = ex;
    all->waiting_count++;
    if (!all->fresh)
        all->fresh = ex;
}

void exchange_offered(pawl_runtime *rt)
{
    struct remotes *all = rt->hands.remotes;

    for (; all->fresh; all->fresh = all->fresh->next)
        need_memory(heap_push(&all->ends, &all->fresh->ends));
}

void exchange_settled(pawl_runtime *rt, struct exchange *ex)
{
    assert_that(ex->pending > 0);
    if (--ex->pending == 0 && ex->handled)
        exchange_wait(rt, ex);
}

/* It does not wait any more. */
static struct exchange *unlink_waiting(pawl_runtime *rt, struct exchange *ex)
{
    struct remotes *all = rt->hands.remotes;
    struct exchange **at = &all->filled;

    if (all->fresh == ex)
        all->fresh = ex->next;
    *(ex->prev ? &ex->prev->next : &all->waiting) = ex->next;
    *(ex->next ? &ex->next->prev : &all->waiting_last) = ex->prev;
    while (*at && *at != ex)
        at = &(*at)->next_filled;
    if (*at)
        *at = ex->next_filled;
    heap_remove(&all->ends, &ex->ends);
    all->waiting_count--;
    ex->session->waiting--;
    session_touch(rt, ex->session);
    return ex;
}

static void serve_filled(pawl_runtime *rt, bool committed)
{
    for (struct exchange *ex = rt->hands.remotes->filled, *next; ex; ex = next) {
        next = ex->next_filled;
        if (committed || !ex->after_commit)
            answer(rt, unlink_waiting(rt, ex));
    }
}

void exchange_serve(pawl_runtime *rt, bool committed)
{
    struct remotes *all = rt->hands.remotes;
    struct heap_node *top;
    int64_t mono;

    if (LIKELY(!all->waiting))
        return;
    serve_filled(rt, committed);
    mono = rt_mono(rt);
    while ((top = heap_top(&all->ends)) && top->key <= mono) {
        struct exchange *ex = OF_ENDS(top);
        if (ex->turn_count) /* its leases are not committed: see above */
            break;
        answer(rt, unlink_waiting(rt, ex));
    }
}

int64_t exchange_next(const pawl_runtime *rt)
{
    const struct heap_node *top = heap_top(&rt->hands.remotes->ends);

    return top ? top->key : INT64_MAX;
}

bool exchange_may_serve(const pawl_runtime *rt)
{
    const struct remotes *all = rt->hands.remotes;

    return all->fresh || (all->waiting && all->moved) || all->bring.count;
}

bool exchange_is_owed(pawl_runtime *rt)
{
    const struct exchange *ex = rt->hands.remotes->fresh;

    while (ex && ex->ends.key > rt_mono(rt))
        ex = ex->next;
    return ex != NULL;
}

void exchange_end_wait(pawl_runtime *rt, const void *arg)
{
    for (struct exchange *ex = rt->hands.remotes->waiting; ex; ex = ex->next)
        if (ex->arg == arg) {
            answer(rt, unlink_waiting(rt, ex));
            return;
        }
}

void exchange_stop(pawl_runtime *rt)
{
    const char *text;
    pawl_status status = health_ending(rt, &text);

    while (rt->hands.remotes->waiting)
        exchange_refuse(unlink_waiting(rt, rt->hands.remotes->waiting), status, "%s", text);
}
