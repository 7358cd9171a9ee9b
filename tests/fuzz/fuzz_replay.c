/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_replay.c -- histories of any kind against programs of any kind.
 *
 * The input is a program (bytes that are calls), then messages, then damage.  The
 * messages are applied live; what that recorded must replay to the same place, with
 * code and without.  Then events are damaged one after another, or made up, and
 * replayed: any outcome but a crash, and an execution that says it waits takes
 * messages.
 */
#include "base/attr.h"
#include "engine/engine.h"
#include "fiber/fiber.h"
#include "fuzz.h"
#include "pawl/orchestration.h"
#include "pawl/queue.h"

#include <string.h>

#define OPS_MAX     48
#define TASKS_MAX   64
#define MAIL_MAX    40
#define HISTORY_MAX 2000
#define DAMAGE_MAX  12

static const char *const words[] = {"A",         "B",  "Go",   "",  "x",
                                    "{\"a\":1}", "\n", "/bad", "q", "null"};

static pawl_str word_of(uint8_t byte)
{
    return pawl_s(words[byte % COUNT_OF(words)]);
}

/* ---- The program ---------------------------------------------------------------- */

struct program {
    const uint8_t *ops;
    size_t count;
};

struct state {
    pawl_task tasks[TASKS_MAX];
    size_t count;
    char out[200];
};

static void note(struct state *s, pawl_str text)
{
    size_t n = strlen(s->out), room = sizeof(s->out) - 1 - n;
    memcpy(s->out + n, text.ptr ? text.ptr : "", text.len < room ? text.len : room);
}

static pawl_task *slot(struct state *s)
{
    return &s->tasks[s->count < TASKS_MAX ? s->count++ : TASKS_MAX - 1];
}

static pawl_task pick(const struct state *s, uint8_t arg)
{
    return s->count ? s->tasks[arg % s->count] : (pawl_task){arg};
}

static void start(pawl_ctx *ctx, struct state *s, unsigned op, uint8_t arg)
{
    const char *name = words[arg % COUNT_OF(words)];
    pawl_str input = word_of(arg >> 3);
    switch (op) {
    case 0:
        *slot(s) = pawl_start(ctx, name, input);
        break;
    case 1:
        *slot(s) = pawl_start_with(ctx, name, input,
                                   PAWL_CALL_OPTS(.attempts = arg, .cap_ms = arg, .tag = "t"));
        break;
    case 2:
        *slot(s) = pawl_timer(ctx, arg < 250 ? arg : (int64_t)arg << 40);
        break;
    case 3:
        *slot(s) = pawl_wait_event_with(ctx, name, arg >> 7);
        break;
    case 4:
        *slot(s) = pawl_start_child(
            ctx, name, input, arg & 1 ? PAWL_CHILD_OPTS(.instance = "c", .flags = arg >> 7) : NULL);
        break;
    case 5:
        note(s, pawl_start_detached(ctx, name, input, NULL).value);
        break;
    case 6:
        note(s, pawl_queue_push(ctx, name, input, NULL).value);
        break;
    default:
        *slot(s) = pawl_queue_pop(ctx, name, arg, arg);
        break;
    }
}

static void await(pawl_ctx *ctx, struct state *s, unsigned op, uint8_t arg)
{
    switch (op) {
    case 8:
        note(s, pawl_await(ctx, pick(s, arg)).value);
        break;
    case 9:
        note(s, pawl_await_all(ctx, s->tasks, s->count).value);
        break;
    case 10:
        note(s, pawl_await_settled(ctx, s->tasks, s->count).value);
        break;
    case 11:
        note(s, pawl_s(pawl_await_any(ctx, s->tasks, s->count) & 1 ? "odd" : "even"));
        break;
    case 12:
        note(s, pawl_s(pawl_race(ctx, s->tasks, s->count) & 1 ? "odd" : "even"));
        break;
    default:
        pawl_cancel(ctx, pick(s, arg));
        break;
    }
}

static void look(pawl_ctx *ctx, struct state *s, uint8_t arg)
{
    switch (arg % 8) {
    case 0:
        note(s, pawl_uuid(ctx));
        break;
    case 1:
        note(s, pawl_s(pawl_random(ctx) & 1 ? "1" : "0"));
        break;
    case 2:
        note(s, pawl_s(pawl_now(ctx) & 1 ? "t" : "f"));
        break;
    case 3:
        pawl_set_status(ctx, words[(arg >> 3) % COUNT_OF(words)]);
        break;
    case 4:
        note(s, pawl_s(pawl_is_done(ctx, pick(s, arg >> 3)) ? "done" : "open"));
        break;
    case 5:
        pawl_shield(ctx);
        break;
    case 6:
        pawl_unshield(ctx);
        break;
    default:
        note(s, pawl_s(pawl_cancelled(ctx) ? "cancelled" : ""));
        break;
    }
}

static pawl_result run_program(pawl_ctx *ctx, pawl_str input)
{
    const struct program *p = pawl_user(ctx);
    struct state *s = pawl_alloc(ctx, sizeof(*s));
    note(s, input);
    for (size_t i = 0; i + 1 < p->count; i += 2) {
        unsigned op = p->ops[i] % 18;
        uint8_t arg = p->ops[i + 1];
        if (op < 8)
            start(ctx, s, op, arg);
        else if (op < 14)
            await(ctx, s, op, arg);
        else if (op == 14)
            look(ctx, s, arg);
        else if (op == 15 && pawl_patched(ctx, words[arg % COUNT_OF(words)]))
            i += 2;
        else if (op == 16 && arg < 16)
            return pawl_fail(ctx, s->out);
        else if (op == 17 && arg < 16)
            return pawl_continue_as_new(ctx, pawl_s(s->out), arg & 1 ? PAWL_SAME_VERSION : NULL);
    }
    return pawl_done(ctx, s->out);
}

/* ---- Executions -------------------------------------------------------------------- */

struct run {
    struct program program;
    struct engine_rules rules;
    pawl_mem *mem;
    struct fiber_pool *pool;
    pawl_event history[HISTORY_MAX];
    size_t count;
    int64_t now;
};

static execution *fresh(struct run *r, bool with_code)
{
    execution *x = execution_create(&(struct execution_spec){
        .pool = r->pool,
        .code = {.fn = with_code ? run_program : NULL,
                 .user = &r->program,
                 .stack_bytes = 128 * 1024,
                 .name = "Fuzz",
                 .version = "1.0.0"},
        .rules = r->rules,
        .instance = pawl_s("i"),
        .uid = 7,
        .execution = 1
    });
    must(x);
    return x;
}

static void keep(struct run *r, execution *x, const struct turn *turn)
{
    for (size_t i = 0; i < turn->count; i++) {
        if (r->count == HISTORY_MAX)
            return;
        pawl_event *e = &r->history[r->count++];
        *e = turn->steps[i].event;
        e->rid = 1000 + e->seq;
        if (e->ref)
            execution_committed(x, e->ref, e->rid);
    }
}

static enum engine_outcome apply(struct run *r, execution *x, const struct mail *m, bool keeps)
{
    struct turn turn = {.mem = r->mem};
    struct engine_finding finding = {0};
    enum engine_fate fate;
    const uint64_t *ids;
    enum engine_outcome got = execution_apply(x, m, r->now, &turn, &fate, &finding);
    if (got < ENGINE_MISMATCH) {
        execution_check(x);
        (void)execution_consumed(x, &ids);
        if (keeps)
            keep(r, x, &turn);
    } else {
        must(finding.text[0] || got == ENGINE_NO_MEMORY);
    }
    return got;
}

static struct mail mail_of(struct feed *f, uint64_t id)
{
    uint8_t what = feed_byte(f), ref = feed_byte(f), text = feed_byte(f);
    return (struct mail){.id = id,
                         .kind = what % 14 + 1,
                         .execution = what >= 240 ? what : 1,
                         .ref = ref,
                         .name = word_of(text),
                         .data = word_of(text >> 4),
                         .attrs = pawl_s(what & 64 ? "{\"attempts\":2}" : "")};
}

static enum engine_outcome replay(struct run *r, execution *x, size_t count)
{
    struct engine_finding finding = {0};
    enum engine_outcome got = execution_replay(x, r->history, count, &finding);
    if (got < ENGINE_MISMATCH)
        execution_check(x);
    else
        must(finding.text[0] || got == ENGINE_NO_MEMORY);
    return got;
}

static void same_place(const execution *a, const execution *b)
{
    struct execution_ending x = execution_end(a), y = execution_end(b);
    struct open_task p, q;
    uint64_t cp = 0, cq = 0;
    must(x.kind == y.kind && pawl_str_eq(x.value, y.value) && pawl_str_eq(x.version, y.version));
    must(execution_last_seq(a) == execution_last_seq(b));
    for (bool more = true; more;) {
        more = execution_next_open(a, &cp, &p);
        must(more == execution_next_open(b, &cq, &q));
        must(!more || (p.id == q.id && p.kind == q.kind && p.fire_at_ms == q.fire_at_ms));
    }
}

/* Messages to running code; what they left behind replays to the same place. */
static void live(struct run *r, struct feed *f)
{
    execution *x = fresh(r, true);
    struct mail m = {.kind = PAWL_MSG_START, .execution = 1, .name = pawl_s("Fuzz")};
    m.data = word_of(feed_byte(f));
    enum engine_outcome got = apply(r, x, &m, true);
    for (uint64_t n = feed_byte(f) % MAIL_MAX; n && got == ENGINE_WAITING && f->at < f->end; n--) {
        r->now += feed_byte(f);
        m = mail_of(f, 100 + n);
        got = apply(r, x, &m, true);
    }
    if (got < ENGINE_MISMATCH && r->count < HISTORY_MAX)
        for (int with_code = 0; with_code < 2; with_code++) {
            execution *y = fresh(r, with_code);
            must(replay(r, y, r->count) == got);
            same_place(x, y);
            execution_destroy(y);
        }
    execution_destroy(x);
}

/* ---- Damage ------------------------------------------------------------------------- */

static void damage(struct run *r, struct feed *f)
{
    uint8_t what = feed_byte(f), at = feed_byte(f), with = feed_byte(f);
    if (!r->count || what % 9 == 8) { /* one more, made up */
        if (r->count == HISTORY_MAX)
            return;
        r->history[r->count] = (pawl_event){.rid = 5000 + r->count,
                                            .execution = 1,
                                            .seq = r->count + 1,
                                            .ref = with >> 2,
                                            .kind = at % 75,
                                            .name = word_of(with),
                                            .data = word_of(what >> 4),
                                            .attrs = pawl_s("")};
        r->count++;
        return;
    }
    pawl_event *e = &r->history[at % r->count];
    switch (what % 9) {
    case 0:
        e->kind = with % 75;
        break;
    case 1:
        e->ref = with;
        break;
    case 2:
        e->seq = with;
        break;
    case 3:
        e->name = word_of(with);
        break;
    case 4:
        e->data = word_of(with);
        break;
    case 5:
        e->attrs = with & 1 ? feed_text(f) : word_of(with);
        break;
    case 6:
        e->execution = with;
        break;
    default: /* gone */
        r->count--;
        memmove(e, e + 1, (size_t)(&r->history[r->count] - e) * sizeof(*e));
        break;
    }
}

static void try_damaged(struct run *r, struct feed *f)
{
    for (int with_code = 0; with_code < 2; with_code++) {
        execution *x = fresh(r, with_code);
        struct feed again = *f;
        if (replay(r, x, r->count) == ENGINE_WAITING && with_code && execution_last_seq(x)) {
            struct mail m = mail_of(&again, 99);
            execution_mailbox_add(x, 50, word_of((uint8_t)m.kind), m.data);
            if (apply(r, x, &m, false) == ENGINE_WAITING) {
                struct turn turn = {.mem = r->mem};
                (void)execution_finish(x, PAWL_EV_ORCHESTRATION_TERMINATED, pawl_s("end"), r->now,
                                       &turn);
            }
        }
        execution_destroy(x);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run run;
    static struct fiber_pool *pool;
    struct feed f = feed_of(data, size);
    if (!pool)
        pool = fiber_pool_create(4);
    uint8_t rules = feed_byte(&f);
    pawl_str ops = feed_text(&f);
    run.program =
        (struct program){(const uint8_t *)ops.ptr, ops.len < OPS_MAX * 2 ? ops.len : OPS_MAX * 2};
    run.rules = (struct engine_rules){.payload_max = rules & 1 ? 4 : 100000,
                                      .history_max = rules & 2 ? 20 : 1500,
                                      .drop_early_events = rules & 4,
                                      .strict_await = rules & 8,
                                      .no_queues = rules & 16};
    run.mem = pawl_mem_new();
    run.pool = pool;
    run.count = 0;
    run.now = 1000;
    if (!(rules & 32))
        live(&run, &f);
    for (int n = 0; n < DAMAGE_MAX && f.at < f.end; n++) {
        damage(&run, &f);
        try_damaged(&run, &f);
    }
    pawl_mem_free(run.mem);
    return 0;
}
