/* SPDX-License-Identifier: MIT */
/*
 * engine/execution.c -- the life of an execution and its one door out.
 *
 *   NEW --replay--> REPLAY --apply--> LIVE            [execution_replay, _apply]
 *    \---------------apply-----------^                outcome WAITING until ENDED
 *
 * The struct lives in its own arena.  Entry functions set a guard; whatever
 * cannot go on calls engine_stop(), which leaves the fiber by switching away
 * for ever, or the entry function by a jump to its guard.  After that the
 * execution is broken: only execution_destroy() is legal, and entry functions
 * answer with the same outcome again.
 *
 * Called by: the runtime; replay.c, apply.c and ending.c for the shared parts.
 */
#include "base/hex.h"
#include "base/json.h"
#include "base/result.h"
#include "engine/engine_private.h"
#include "fiber/fiber.h"

struct birth {
    pawl_mem mem;
    jmp_buf out;
};

static execution *bear(struct birth *b, const struct execution_spec *spec);
static void no_memory_at_birth(void *user);
static void no_memory(void *user);
static void body(void *arg);
static uint64_t parse_seed(pawl_str raw);
static void check_open_list(const execution *x);

execution *execution_create(const struct execution_spec *spec)
{
    struct birth b;

    return bear(&b, spec);
}

void execution_destroy(execution *x)
{
    if (!x)
        return;
    assert_that(!x->running && !x->guarded);
    scope_run_deferred(x);
    fiber_destroy(x->fiber);
    scope_deinit_all(x);
    arena_deinit(&x->mail_mem);
    state_deinit(x);
    pawl_mem mem = x->mem; /* x lives in it, and its budget in x */
    mem.budget = NULL;
    arena_deinit(&mem);
}

static execution *bear(struct birth *b, const struct execution_spec *spec)
{
    arena_init(&b->mem);
    b->mem.limit = spec->rules.memory_max;
    b->mem.exhausted = no_memory_at_birth;
    b->mem.user = b;
    if (setjmp(b->out) != 0) {
        arena_deinit(&b->mem);
        return NULL;
    }
    execution *x = arena_new(&b->mem, execution);
    x->spec = *spec;
    x->spec.instance = arena_dup(&b->mem, spec->instance);
    x->mem = b->mem;
    x->mem.exhausted = no_memory;
    x->mem.user = x;
    x->budget = (struct arena_budget){.used = x->mem.total, .most = SIZE_MAX};
    x->mem.budget = &x->budget;
    arena_init(&x->mail_mem);
    x->mail_mem.limit = x->mem.limit;
    x->mail_mem.exhausted = no_memory;
    x->mail_mem.user = x;
    x->name = pawl_s(spec->code.name);
    x->version = pawl_s(spec->code.version);
    scope_init_root(x);
    return x;
}

static void no_memory_at_birth(void *user)
{
    struct birth *b = user;

    longjmp(b->out, 1);
}

/* What the code has asked for since the last message, with what it was refused. */
static size_t asked_for(const execution *x)
{
    size_t held = x->budget.used - x->turn_base, wanted = x->mem.wanted;

    for (const struct scope *s = x->scope; s; s = s->outer)
        if (s->own.wanted > wanted)
            wanted = s->own.wanted;
    if (x->turn && x->turn->mem->wanted) {
        held = x->turn->mem->total - x->turn_total;
        wanted = x->turn->mem->wanted;
    }
    return wanted < SIZE_MAX - held ? held + wanted : SIZE_MAX;
}

/* Too much for one turn is a fault of the code; else the system is out of memory. */
static void no_memory(void *user)
{
    execution *x = user;
    size_t max = x->spec.rules.turn_memory, asked = asked_for(x);

    if (!max || asked <= max)
        engine_stop(x, ENGINE_NO_MEMORY);
    finding_set(
        x, NULL, NULL,
        "its turn asked for %zu bytes; limit %zu (--turn-memory): repair the code or raise the "
        "limit",
        asked, max);
    engine_stop(x, ENGINE_LIMIT);
}

/* ---- In and out --------------------------------------------------------- */

bool execution_enter(execution *x, struct turn *turn, int64_t now_ms, struct engine_finding *ret)
{
    assert_that(!x->running && !x->guarded);
    if (x->outcome >= ENGINE_MISMATCH) {
        if (ret)
            *ret = (struct engine_finding){.text = "the execution is broken; load it again"};
        return false;
    }
    x->guarded = true;
    x->turn = turn;
    x->clock_ms = now_ms;
    x->finding = ret;
    if (turn) { /* code on the fiber allocates there too: the hook must be ours */
        x->turn_exhausted = turn->mem->exhausted;
        x->turn_user = turn->mem->user;
        turn->mem->exhausted = no_memory;
        turn->mem->user = x;
        turn->mem->wanted = 0;
        x->turn_total = turn->mem->total;
        x->turn_limit = turn->mem->limit;
        if (x->spec.rules.turn_memory && !execution_is_tables(x))
            turn->mem->limit = x->turn_total + x->spec.rules.turn_memory;
    }
    return true;
}

enum engine_outcome execution_leave(execution *x)
{
    if (x->guarded && x->turn) {
        x->turn->mem->exhausted = x->turn_exhausted;
        x->turn->mem->user = x->turn_user;
        x->turn->mem->limit = x->turn_limit;
    }
    x->guarded = false;
    x->turn = NULL;
    x->finding = NULL;
    x->step = NULL;
    x->events = NULL;
    x->event_count = x->cursor = 0;
    return x->outcome;
}

void engine_stop(execution *x, enum engine_outcome outcome)
{
    assert_that(outcome >= ENGINE_MISMATCH && x->guarded);
    if (outcome == ENGINE_MISMATCH && x->spec.trace && x->outcome != outcome)
        x->spec.trace(x->spec.trace_user, TRACE_MISMATCH, NULL,
                      x->finding ? x->finding->site : NULL);
    x->outcome = outcome;
    while (engine_on_fiber())
        fiber_yield(); /* execution_run() sees the outcome and never resumes */
    longjmp(x->guard, 1);
}

bool engine_on_fiber(void)
{
    return fiber_current() != NULL;
}

/* ---- Running ------------------------------------------------------------ */

/* attrs of OrchestrationStarted, walked once. */
static void read_start(execution *x, pawl_str attrs)
{
    struct json_iter it;
    x->version = arena_dup(&x->mem, x->version);
    for (json_begin(&it, attrs); json_next(&it);) {
        if (pawl_str_is(it.key, "version"))
            x->version = pawl_json_text(&x->mem, it.value, "", x->version.ptr);
        else if (pawl_str_is(it.key, "seed"))
            x->seed = parse_seed(it.value);
        else if (pawl_str_is(it.key, "deadline_ms"))
            (void)json_integer(it.value, &x->deadline_ms);
        else if (pawl_str_is(it.key, "scheduled_at"))
            (void)json_integer(it.value, &x->scheduled.at_ms);
        else if (pawl_str_is(it.key, "schedule"))
            x->scheduled.schedule = pawl_json_text(&x->mem, it.value, "", "");
    }
}

void execution_open(execution *x, pawl_str name, pawl_str input, pawl_str attrs)
{
    x->name = arena_dup(&x->mem, name);
    read_start(x, attrs);
    if (execution_is_tables(x))
        return;
    x->input = arena_dup(&x->mem, input);
    x->fiber = fiber_create(x->spec.pool, x->spec.code.stack_bytes, body, x, x->name.ptr);
    if (!x->fiber)
        engine_stop(x, ENGINE_NO_MEMORY);
}

void execution_message(execution *x, uint64_t seq, int64_t at_ms)
{
    x->message_seq = seq;
    x->now_ms = at_ms;
    x->draws = 0;
    x->turn_base = x->budget.used;
    size_t max = execution_is_tables(x) ? 0 : x->spec.rules.turn_memory;
    if (max) /* blocks may fall otherwise in replay: a little more, so that it is no stricter */
        x->budget.most = x->turn_base + max + (x->phase == PHASE_REPLAY ? max / 4 : 0);
}

void execution_run(execution *x)
{
    assert_that(x->fiber && !x->running && x->outcome == ENGINE_WAITING);
    x->blocked = false;
    x->running = true;
    bool alive = fiber_resume(x->fiber);
    while (alive && x->question.ptr && x->answer != TAKEN_UNKNOWN) {
        x->answer = x->spec.taken(x->spec.taken_user, x->question);
        if (x->answer != TAKEN_UNKNOWN)
            alive = fiber_resume(x->fiber);
    }
    x->running = false;
    if (x->answer == TAKEN_UNKNOWN)
        engine_stop(x, ENGINE_NO_MEMORY);
    if (x->outcome >= ENGINE_MISMATCH)
        engine_stop(x, x->outcome); /* it stopped on the fiber; go on outside */
    assert_that(alive == x->blocked);
    if (!alive)
        ending_of_return(x);
}

bool execution_is_taken(execution *x, pawl_str instance)
{
    if (!x->spec.taken)
        return false;
    if (execution_is_tables(x)) { /* a worker's step: there is no fiber to leave */
        enum engine_taken taken = x->spec.taken(x->spec.taken_user, instance);
        if (taken == TAKEN_UNKNOWN)
            engine_stop(x, ENGINE_NO_MEMORY);
        return taken == TAKEN_YES;
    }
    x->question = instance;
    fiber_yield();
    x->question = (pawl_str){0};
    return x->answer == TAKEN_YES;
}

void execution_resolve(execution *x, struct task *t, int kind, pawl_str data, pawl_str attrs)
{
    const struct result_of result = result_of_event(kind, attrs);

    task_close(x, t, kind_is_failure(kind) ? TASK_FAILED : TASK_DONE, data);
    t->result = (uint8_t)result.kind;
    t->attempts = result.attempts;
    if (t->update)
        update_taken(x, t, attrs);
    if (execution_is_tables(x)) {
        wait_notice(x, t); /* of code elsewhere, as far as it said what it waits for */
        return;
    }
    if (t->channel && t->scope->serial == t->scope_serial)
        unseen_add(x, t);
    wait_notice(x, t);
    if (x->blocked && x->wait.ready)
        execution_run(x);
    if (x->spec.rules.strict_await && !t->awaited) {
        finding_set(x, NULL, NULL,
                    "nondeterministic: completion id=%llu of kind '%s' was not awaited this turn",
                    (unsigned long long)t->id, kind_word(t->kind));
        engine_stop(x, ENGINE_MISMATCH);
    }
}

/* The last call of a function may be a jump: it then seems to be made from here.  A
 * section of its own tells where that is; the linker names its two ends. */
extern const char __start_pawl_body[] __attribute__((visibility("hidden")));
extern const char __stop_pawl_body[] __attribute__((visibility("hidden")));

void *engine_site(const execution *x, void *site)
{
    const char *at = site;

    if (at >= __start_pawl_body && at <= __stop_pawl_body)
        return (void *)((uintptr_t)x->spec.code.fn + 1); /* all that is known: which function */
    return site;
}

__attribute__((section("pawl_body"), noinline)) static void body(void *arg)
{
    execution *x = arg;

    x->returned = x->spec.code.fn(x, x->input);
}

/* 16 hex digits; anything else is seed 0, still deterministic. */
/* `raw`: sixteen hex digits in quotes. */
static uint64_t parse_seed(pawl_str raw)
{
    uint64_t seed = 0;

    for (size_t i = 1; i + 1 < raw.len; i++) {
        int digit = hex_value(raw.ptr[i]);
        if (digit < 0)
            return 0;
        seed = seed << 4 | (uint64_t)digit;
    }
    return seed;
}

struct scheduled execution_scheduled(const execution *x)
{
    return x->scheduled;
}

void execution_inherit(execution *next, const execution *from)
{
    next->scheduled = from->scheduled;
    next->scheduled.schedule = arena_dup(&next->mem, from->scheduled.schedule);
}

/* ---- Questions ---------------------------------------------------------- */

void execution_committed(execution *x, uint64_t ref, uint64_t rid)
{
    struct task *t = task_find(x, ref);

    if (t)
        t->rid = rid;
}

struct execution_ending execution_end(const execution *x)
{
    return x->ending;
}

bool execution_next_open(const execution *x, uint64_t *cursor, struct open_task *ret)
{
    const struct task *t = x->open_head;

    if (*cursor) {
        uint64_t id = *cursor;
        t = task_find(x, id);
        if (t && t->state == TASK_OPEN)
            t = t->open_next;
        else /* closed since: look for the next open id */
            do
                t = task_find(x, ++id);
            while (t && t->state != TASK_OPEN);
    }
    if (!t)
        return false;
    *cursor = t->id;
    *ret = (struct open_task){.id = t->id,
                              .kind = t->kind,
                              .rid = t->rid,
                              .name = t->name,
                              .child = t->child,
                              .at_ms = t->at_ms,
                              .fire_at_ms = t->fire_at_ms,
                              .abandon = t->abandon};
    return true;
}

pawl_str execution_input(const execution *x)
{
    return x->input;
}

uint64_t execution_last_seq(const execution *x)
{
    return x->outcome >= ENGINE_MISMATCH ? 0 : x->last_seq;
}

int64_t execution_deadline(const execution *x)
{
    return x->deadline_ms;
}

bool execution_cancel_requested(const execution *x)
{
    return x->cancel_requested;
}

bool execution_suspended(const execution *x)
{
    return x->suspended;
}

size_t execution_bytes(const execution *x)
{
    size_t stack = x->fiber ? fiber_stack_bytes(x->fiber) : 0;

    return stack + arena_bytes(&x->mem) + arena_bytes(&x->mail_mem) + scope_bytes(x) +
           state_bytes(x);
}

void execution_check(const execution *x)
{
    if (x->outcome >= ENGINE_MISMATCH)
        return; /* stopped half-way: its tables may be inconsistent */
    arena_check(&x->mem);
    arena_check(&x->mail_mem);
    state_check(x);
    assert_that(!x->running && !x->guarded && !x->settling);
    assert_that((x->outcome == ENGINE_ENDED) == (x->ending.kind != 0));
    if (x->outcome == ENGINE_WAITING && x->fiber)
        assert_that(x->blocked && !x->wait.ready && !x->wait.interrupted);
    check_open_list(x);
    update_check(x);
}

static void check_open_list(const execution *x)
{
    const struct task *expected = x->open_head;
    uint64_t closed = 0;

    for (uint64_t id = 1; id <= x->task_count; id++) {
        const struct task *t = task_find(x, id);
        assert_that(t->id == id);
        if (t->state == TASK_OPEN) {
            assert_that(t == expected && t->order == 0);
            expected = t->open_next;
        } else {
            assert_that(t->order > 0 && t->order <= x->completion_count);
            closed++;
        }
    }
    assert_that(!expected && closed == x->completion_count);
}
