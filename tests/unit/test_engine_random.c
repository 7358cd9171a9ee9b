/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_engine_random.c -- random programs, random mail, random damage.
 *
 * An orchestration wanders: every call it makes follows from its seed and from
 * what its awaits gave.  The driver answers in random order, late, twice or
 * wrongly, and after every message replays the history from scratch: same place,
 * no new event.  Then histories are damaged, and replay must find it or live
 * with it, never crash.  PAWL_SEEDS sets how many seeds (default 150).
 */
#include "../harness.h"
#include "random.h"

#include "engine/engine.h"
#include "fiber/fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS       40
#define HELD_MAX    32
#define HISTORY_MAX 3000

static const char *const names[] = {"Alpha", "Beta", "Gamma"};

/* ---- The wanderer ------------------------------------------------------- */

struct walk {
    pawl_ctx *ctx;
    uint64_t dice;
    pawl_task held[HELD_MAX];
    size_t count;
    unsigned scopes;
};

static void learn(struct walk *w, pawl_result r)
{
    uint64_t h = r.ok * 2u + r.cancelled;

    for (size_t i = 0; i < r.value.len; i++)
        h = h * 31 + (unsigned char)r.value.ptr[i];
    w->dice ^= h * UINT64_C(0x2545f4914f6cdd1d);
}

static void hold(struct walk *w, pawl_task t)
{
    w->held[w->count < HELD_MAX ? w->count++ : random_below(&w->dice, HELD_MAX)] = t;
}

static size_t choose(struct walk *w, pawl_task *some)
{
    size_t n = w->count ? 1 + random_below(&w->dice, w->count < 6 ? w->count : 6) : 0;

    for (size_t i = 0; i < n; i++)
        some[i] = w->held[random_below(&w->dice, w->count)];
    return n;
}

static void walk_start(struct walk *w)
{
    const char *name = names[random_below(&w->dice, 3)];
    pawl_child_opts opts = {.size = sizeof(opts),
                            .flags = random_below(&w->dice, 3) ? 0 : PAWL_CHILD_ABANDON};

    switch (random_below(&w->dice, 8)) {
    case 0:
    case 1:
        hold(w, pawl_start(w->ctx, name, pawl_s(name)));
        break;
    case 2:
        hold(w, pawl_timer(w->ctx, (int64_t)random_below(&w->dice, 1000)));
        break;
    case 3:
    case 4:
        hold(w, pawl_wait_event_with(w->ctx, name, random_below(&w->dice, 8) == 0));
        break;
    case 5:
        hold(w, pawl_start_child(w->ctx, name, pawl_s("in"), &opts));
        break;
    case 6:
        learn(w, pawl_start_detached(w->ctx, name, pawl_s("in"), NULL));
        break;
    default: /* refused: a bad name, a bad delay, an input too long */
        hold(w, pawl_start(w->ctx, "no/name", pawl_s("x")));
        hold(w, pawl_timer(w->ctx, -1));
        hold(w, pawl_start(w->ctx, name, pawl_printf(w->ctx, "%0300d", 7)));
        break;
    }
}

static void walk_wait(struct walk *w)
{
    pawl_task some[6];
    size_t n = choose(w, some);

    switch (random_below(&w->dice, 6)) {
    case 0:
        learn(w, pawl_await_all(w->ctx, some, n));
        break;
    case 1:
        learn(w, pawl_await_settled(w->ctx, some, n));
        break;
    case 2:
        w->dice += (uint64_t)pawl_await_any(w->ctx, some, n);
        break;
    case 3:
        w->dice += (uint64_t)pawl_race(w->ctx, some, n);
        break;
    default:
        learn(w, n ? pawl_await(w->ctx, some[0]) : pawl_sleep(w->ctx, 5));
        break;
    }
}

static void walk_other(struct walk *w)
{
    pawl_task some[6];
    size_t n = choose(w, some);

    switch (random_below(&w->dice, 9)) {
    case 0:
        if (n)
            pawl_cancel(w->ctx, some[0]);
        break;
    case 1:
        pawl_set_status(w->ctx, names[random_below(&w->dice, 3)]);
        break;
    case 2:
        w->dice += pawl_patched(w->ctx, names[random_below(&w->dice, 3)]);
        break;
    case 3:
        pawl_shield(w->ctx);
        break;
    case 4:
        pawl_unshield(w->ctx);
        break;
    case 5:
        if (w->scopes < 3) {
            pawl_scope_begin(w->ctx);
            w->scopes++;
        }
        break;
    case 6:
        if (w->scopes > 0) {
            pawl_scope_end(w->ctx);
            w->scopes--;
        }
        break;
    case 7:
        w->dice += pawl_random(w->ctx) + (uint64_t)pawl_now(w->ctx) + pawl_history_length(w->ctx);
        break;
    default:
        learn(w, (pawl_result){.value = pawl_uuid(w->ctx)});
        if (n)
            w->dice += pawl_is_done(w->ctx, some[0]);
        break;
    }
}

static pawl_result wander(pawl_ctx *ctx, pawl_str input)
{
    struct walk *w = pawl_alloc(ctx, sizeof(*w));
    const uint64_t *seed = pawl_user(ctx);

    w->ctx = ctx;
    w->dice = *seed;
    learn(w, (pawl_result){.value = input});
    for (int i = 0; i < STEPS; i++) {
        uint64_t what = random_below(&w->dice, 10);
        if (what < 4)
            walk_start(w);
        else if (what < 7)
            walk_wait(w);
        else
            walk_other(w);
        if (pawl_cancelled(ctx) && random_below(&w->dice, 4) == 0)
            break;
    }
    switch (random_below(&w->dice, 3)) {
    case 0:
        return pawl_continue_as_new(ctx, pawl_printf(ctx, "%llx", (unsigned long long)w->dice),
                                    NULL);
    case 1:
        return pawl_failf(ctx, "%llx", (unsigned long long)w->dice);
    default:
        return pawl_donef(ctx, "%llx", (unsigned long long)w->dice);
    }
}

/* ---- The driver --------------------------------------------------------- */

struct driver {
    uint64_t seed, dice;
    struct fiber_pool *pool;
    execution *x;
    uint64_t execution, message;
    int64_t now_ms;
    pawl_mem *mem, *turn_mem;
    pawl_event history[HISTORY_MAX];
    size_t count;
};

static execution *fresh(struct driver *d, bool with_code)
{
    struct execution_spec spec = {
        .pool = d->pool,
        .code = {.fn = with_code ? wander : NULL,
                 .user = &d->seed,
                 .stack_bytes = 128 * 1024,
                 .name = "W",
                 .version = "1.0.0"},
        .rules = {.payload_max = 200,                     .history_max = 2500},
        .instance = pawl_s("i"),
        .execution = d->execution
    };
    execution *x = execution_create(&spec);

    ck_assert_ptr_nonnull(x);
    return x;
}

static void same_place(struct driver *d, const execution *x)
{
    struct execution_ending a = execution_end(d->x), b = execution_end(x);
    struct open_task s, t;
    uint64_t cs = 0, ct = 0;
    bool more;

    ck_assert_uint_eq(execution_last_seq(d->x), execution_last_seq(x));
    ck_assert_int_eq(a.kind, b.kind);
    ck_assert(pawl_str_eq(a.value, b.value));
    do {
        more = execution_next_open(d->x, &cs, &s);
        ck_assert_int_eq(more, execution_next_open(x, &ct, &t));
        if (more)
            ck_assert(s.id == t.id && s.kind == t.kind && s.rid == t.rid &&
                      s.fire_at_ms == t.fire_at_ms && pawl_str_eq(s.child, t.child));
    } while (more);
}

static execution *replayed(struct driver *d, bool with_code)
{
    struct engine_finding finding = {0};
    execution *x = fresh(d, with_code);
    enum engine_outcome got = execution_replay(x, d->history, d->count, &finding);

    if (got >= ENGINE_MISMATCH)
        ck_abort_msg("seed %llu, %zu events: %s", (unsigned long long)d->seed, d->count,
                     finding.text);
    execution_check(x);
    same_place(d, x);
    return x;
}

static void carry(void *arg, const struct mail *m)
{
    execution_mailbox_keep(arg, m);
}

static void keep(struct driver *d, const struct turn *turn)
{
    for (size_t i = 0; i < turn->count; i++) {
        ck_assert_uint_lt(d->count, HISTORY_MAX);
        pawl_event *e = &d->history[d->count++];
        *e = turn->steps[i].event;
        ck_assert_uint_eq(e->seq, d->count);
        e->rid = 5000 + e->seq;
        e->name = pawl_mem_dup(d->mem, e->name);
        e->data = pawl_mem_dup(d->mem, e->data);
        e->attrs = pawl_mem_dup(d->mem, e->attrs);
        if (e->ref)
            execution_committed(d->x, e->ref, 5000 + e->seq);
    }
    /* rid of a task is its schedule event's */
    for (size_t i = 0; i < d->count; i++)
        if (d->history[i].kind == PAWL_EV_ACTIVITY_SCHEDULED ||
            d->history[i].kind == PAWL_EV_TIMER_CREATED ||
            d->history[i].kind == PAWL_EV_EXTERNAL_SUBSCRIBED ||
            d->history[i].kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED)
            execution_committed(d->x, d->history[i].ref, d->history[i].rid);
}

static void deliver(struct driver *d, struct mail m)
{
    struct turn turn = {.mem = d->turn_mem};
    struct engine_finding finding = {0};
    enum engine_fate fate;

    pawl_mem_reset(d->turn_mem);
    m.id = d->message++;
    m.execution = d->execution;
    if (execution_apply(d->x, &m, d->now_ms, &turn, &fate, &finding) >= ENGINE_MISMATCH)
        ck_abort_msg("seed %llu: %s", (unsigned long long)d->seed, finding.text);
    keep(d, &turn);
    execution_check(d->x);
    if (turn.count == 0)
        return;
    execution_destroy(replayed(d, false));
    execution *again = replayed(d, true);
    if (random_below(&d->dice, 3) == 0) { /* as if the fiber had been dropped */
        execution_mailbox_each(d->x, carry, again);
        execution_destroy(d->x);
        d->x = again;
    } else {
        execution_destroy(again);
    }
}

static void start(struct driver *d, pawl_str input)
{
    deliver(d, (struct mail){.kind = PAWL_MSG_START,
                             .name = pawl_s("W"),
                             .data = input,
                             .attrs = pawl_s("{\"version\":\"1.0.0\",\"seed\":\"abcdef0123\"}")});
}

static struct mail answer(struct driver *d, const struct open_task *t)
{
    bool fails = random_below(&d->dice, 4) == 0;
    struct mail m = {.ref = t->id, .data = pawl_s(fails ? "no" : "yes")};

    if (t->kind == PAWL_EV_ACTIVITY_SCHEDULED)
        m.kind = fails ? PAWL_MSG_ACTIVITY_FAILED : PAWL_MSG_ACTIVITY_COMPLETED;
    else if (t->kind == PAWL_EV_TIMER_CREATED)
        m.kind = PAWL_MSG_TIMER_FIRED;
    else if (t->kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED)
        m.kind = fails ? PAWL_MSG_CHILD_FAILED : PAWL_MSG_CHILD_COMPLETED;
    else
        m = (struct mail){.kind = PAWL_MSG_EXTERNAL_RAISED, .name = t->name, .data = m.data};
    return m;
}

static struct mail invent(struct driver *d)
{
    struct open_task t;
    uint64_t cursor = 0, skip = random_below(&d->dice, 8);

    switch (random_below(&d->dice, 12)) {
    case 0: /* duplicate, late, unknown or of another kind */
        return (struct mail){.kind = (int)(2 + random_below(&d->dice, 6)),
                             .ref = random_below(&d->dice, 40),
                             .name = pawl_s(names[0]),
                             .data = pawl_s("odd")};
    case 1:
    case 2:
        return (struct mail){.kind = PAWL_MSG_EXTERNAL_RAISED,
                             .name = pawl_s(names[random_below(&d->dice, 3)]),
                             .data = pawl_s("mail")};
    case 3:
        return (struct mail){.kind = random_below(&d->dice, 4) ? PAWL_MSG_SUSPEND : PAWL_MSG_CANCEL,
                             .data = pawl_s("why")};
    case 4:
        return (struct mail){.kind = PAWL_MSG_RESUME};
    default:
        while (execution_next_open(d->x, &cursor, &t))
            if (skip-- == 0)
                break;
        return cursor ? answer(d, &t) : (struct mail){.kind = PAWL_MSG_WAKE};
    }
}

static void continue_as_new(struct driver *d)
{
    execution *old = d->x;
    pawl_str input = execution_end(old).value;

    d->execution++;
    d->count = 0;
    d->x = fresh(d, true);
    execution_mailbox_each(old, carry, d->x);
    start(d, input);
    execution_destroy(old);
}

static void drive(struct driver *d, uint64_t seed)
{
    d->seed = seed;
    d->dice = seed * 77 + 1;
    d->execution = d->message = 1;
    d->now_ms = 100000;
    d->count = 0;
    d->x = fresh(d, true);
    start(d, pawl_s("begin"));
    for (int i = 0; i < 120 && d->execution < 4; i++) {
        int ending = execution_end(d->x).kind;
        if (ending == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW)
            continue_as_new(d);
        else if (ending)
            break;
        d->now_ms += (int64_t)random_below(&d->dice, 1000) - 200;
        deliver(d, invent(d));
    }
    if (execution_end(d->x).kind == 0) {
        struct turn turn = {.mem = d->turn_mem};
        execution_finish(d->x, PAWL_EV_ORCHESTRATION_TERMINATED, pawl_s("enough"), d->now_ms,
                         &turn);
        keep(d, &turn);
        execution_destroy(replayed(d, true));
        execution_destroy(replayed(d, false));
    }
}

/* ---- Damage ------------------------------------------------------------- */

static void damage(uint64_t *dice, pawl_event *events, size_t *count)
{
    size_t i = random_below(dice, *count), k = random_below(dice, *count);
    pawl_event moved = events[i];

    switch (random_below(dice, 7)) {
    case 0:
        *count = i;
        break;
    case 1:
        events[i] = events[k];
        events[k] = moved;
        break;
    case 2:
        events[i].kind = (int)random_below(dice, 72);
        break;
    case 3:
        events[i].ref = random_below(dice, 50);
        break;
    case 4:
        events[i].name = events[k].name;
        break;
    case 5:
        events[i].data = events[k].data;
        break;
    default:
        events[i].attrs = events[k].attrs;
        break;
    }
    for (size_t n = 0; random_below(dice, 4) && n < *count; n++)
        events[n].seq = n + 1; /* mostly well numbered, so that it gets further */
}

static void replay_damaged(struct driver *d)
{
    static pawl_event events[HISTORY_MAX];

    for (int i = 0; i < 30; i++) {
        size_t count = d->count;
        memcpy(events, d->history, count * sizeof(*events));
        for (uint64_t n = 1 + random_below(&d->dice, 3); n > 0 && count > 0; n--)
            damage(&d->dice, events, &count);
        for (int with_code = 0; with_code < 2; with_code++) {
            struct engine_finding finding = {0};
            execution *x = fresh(d, with_code);
            enum engine_outcome got = execution_replay(x, events, count, &finding);
            ck_assert((got >= ENGINE_MISMATCH) == (finding.text[0] != '\0'));
            execution_check(x);
            execution_destroy(x);
        }
    }
}

TEST(random_histories_replay_to_the_same_place)
{
    const char *seeds = getenv("PAWL_SEEDS");
    struct driver *d = calloc(1, sizeof(*d));

    d->pool = fiber_pool_create(4);
    d->mem = pawl_mem_new();
    d->turn_mem = pawl_mem_new();
    for (uint64_t seed = 1; seed <= (seeds ? strtoull(seeds, NULL, 10) : 150); seed++) {
        drive(d, seed);
        replay_damaged(d);
        execution_destroy(d->x);
        pawl_mem_reset(d->mem);
    }
    fiber_pool_destroy(d->pool);
    pawl_mem_free(d->mem);
    pawl_mem_free(d->turn_mem);
    free(d);
}
