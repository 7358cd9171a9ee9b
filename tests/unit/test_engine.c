/* SPDX-License-Identifier: MIT */
/* tests/unit/test_engine.c -- what replay scripts cannot say: memory, clean-up, cost. */
#include "../harness.h"

#include "base/asan.h"
#include "base/limits.h"
#include "engine/engine_private.h"
#include "fiber/fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct bench {
    struct fiber_pool *pool;
    pawl_mem *turn_mem;
    struct turn turn;
    struct engine_rules rules;
    enum engine_fate fate;
    struct engine_finding finding;
    pawl_orchestration_fn *fn;
    void *user;
    uint64_t execution;
};

static void bench_init(struct bench *b, pawl_orchestration_fn *fn, void *user)
{
    *b = (struct bench){.pool = fiber_pool_create(2),
                        .turn_mem = pawl_mem_new(),
                        .fn = fn,
                        .user = user,
                        .execution = 1};
    b->turn.mem = b->turn_mem;
}

static void bench_deinit(struct bench *b)
{
    fiber_pool_destroy(b->pool);
    pawl_mem_free(b->turn_mem);
}

static execution *make(struct bench *b)
{
    struct execution_spec spec = {
        .pool = b->pool,
        .code = {.fn = b->fn, .user = b->user, .stack_bytes = 256 * 1024, .name = "T"},
        .rules = b->rules,
        .instance = pawl_s("i"),
        .execution = b->execution
    };

    return execution_create(&spec);
}

static enum engine_outcome send(struct bench *b, execution *x, int kind, uint64_t ref,
                                const char *data)
{
    struct mail m = {.id = 1,
                     .kind = kind,
                     .execution = b->execution,
                     .ref = ref,
                     .name = pawl_s("T"),
                     .data = pawl_s(data),
                     .attrs = pawl_s("{\"seed\":\"1\"}")};

    return execution_apply(x, &m, 1000, &b->turn, &b->fate, &b->finding);
}

static enum engine_outcome replay(struct bench *b, execution *x)
{
    pawl_event *events = pawl_mem_alloc(b->turn_mem, sizeof(*events) * (b->turn.count + 1));

    for (size_t i = 0; i < b->turn.count; i++)
        events[i] = b->turn.steps[i].event;
    return execution_replay(x, events, b->turn.count, &b->finding);
}

/* ---- Clean-up ----------------------------------------------------------- */

static char trace[100];

static void leave_trace(void *arg)
{
    strcat(trace, arg);
}

static char *mark(char c)
{
    static char marks[26][2];

    marks[c - 'a'][0] = c;
    return marks[c - 'a'];
}

static pawl_result deferring(pawl_ctx *ctx, pawl_str input)
{
    pawl_defer(ctx, leave_trace, mark('a'));
    pawl_scope_begin(ctx);
    pawl_defer(ctx, leave_trace, mark('b'));
    pawl_defer(ctx, leave_trace, mark('c'));
    pawl_scope_end(ctx);
    pawl_scope_begin(ctx);
    pawl_defer(ctx, leave_trace, mark('d'));
    pawl_ignore(pawl_call(ctx, "A", input));
    pawl_defer(ctx, leave_trace, mark('e'));
    return pawl_done(ctx, "done");
}

TEST(deferred_functions_run_at_scope_end_and_at_the_end_last_first)
{
    struct bench b;

    bench_init(&b, deferring, NULL);
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_WAITING);
    ck_assert_str_eq(trace, "cb");
    ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, 1, "r"), ENGINE_ENDED);
    ck_assert_str_eq(trace, "cbeda");
    execution_destroy(x);
    ck_assert_str_eq(trace, "cbeda");
    bench_deinit(&b);
}

TEST(deferred_functions_run_when_the_stack_is_dropped)
{
    struct bench b;

    bench_init(&b, deferring, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    execution_destroy(x);
    ck_assert_str_eq(trace, "cbda");
    x = make(&b);
    ck_assert_int_eq(replay(&b, x), ENGINE_WAITING);
    execution_destroy(x);
    ck_assert_str_eq(trace, "cbdacbda");
    bench_deinit(&b);
}

TEST(finish_runs_deferred_functions_once)
{
    struct bench b;

    bench_init(&b, deferring, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    ck_assert_int_eq(execution_finish(x, PAWL_EV_ORCHESTRATION_TERMINATED, pawl_s("x"), 5, &b.turn),
                     ENGINE_ENDED);
    ck_assert_str_eq(trace, "cbda");
    execution_destroy(x);
    ck_assert_str_eq(trace, "cbda");
    bench_deinit(&b);
}

static pawl_result returns_deferred_memory(pawl_ctx *ctx, pawl_str input)
{
    char *heap = strdup("from the heap");

    (void)input;
    pawl_defer(ctx, free, heap);
    return (pawl_result){.ok = true, .value = pawl_s(heap)};
}

TEST(the_output_is_copied_before_deferred_functions_run)
{
    struct bench b;

    bench_init(&b, returns_deferred_memory, NULL);
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_ENDED);
    ck_assert_str_eq(execution_end(x).value.ptr, "from the heap");
    execution_destroy(x);
    bench_deinit(&b);
}

/* ---- Memory ------------------------------------------------------------- */

static pawl_result scoped_loop(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (int i = 0; i < 1000; i++) {
        pawl_scope_begin(ctx);
        memset(pawl_alloc(ctx, 3000), 'x', 3000);
        pawl_result r = pawl_call(ctx, "A", pawl_s(""));
        ck_assert_uint_eq(r.value.len, 1000);
        pawl_scope_end(ctx);
    }
    return pawl_done(ctx, "");
}

TEST(a_scope_keeps_a_long_loop_small)
{
    static char data[1001];
    struct bench b;
    size_t early = 0;

    memset(data, 'r', 1000);
    bench_init(&b, scoped_loop, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    for (uint64_t i = 1; i <= 1000; i++) {
        send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, i, data);
        if (i == 10)
            early = execution_bytes(x);
    }
    ck_assert_int_eq(execution_end(x).kind, PAWL_EV_ORCHESTRATION_COMPLETED);
    /* 4 MB went through; what grew is the task table */
    ck_assert_uint_lt(execution_bytes(x), early + 600 * 1000);
    execution_destroy(x);
    bench_deinit(&b);
}

static pawl_result hungry(pawl_ctx *ctx, pawl_str input)
{
    pawl_defer(ctx, leave_trace, mark('a'));
    pawl_ignore(pawl_call(ctx, "A", input));
    for (size_t total = 0; total < 1 << 30; total += 4096)
        memset(pawl_alloc(ctx, 4096), 1, 4096);
    return pawl_done(ctx, "a gigabyte");
}

TEST(exhaustion_on_the_fiber_is_no_memory)
{
    struct bench b;

    bench_init(&b, hungry, NULL);
    b.rules.memory_max = 100 * 1024;
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_WAITING);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, 1, ""), ENGINE_NO_MEMORY);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_CANCEL, 0, ""), ENGINE_NO_MEMORY); /* broken for good */
    ck_assert(!b.turn_mem->exhausted); /* the turn has its own hook back */
    execution_destroy(x);
    ck_assert_str_eq(trace, "a");
    bench_deinit(&b);
}

/* Asks in one of four ways for what its input says, in kilobytes. */
static pawl_result greedy(pawl_ctx *ctx, pawl_str input)
{
    size_t bytes = (size_t)atoi(input.ptr + 1) * 1024;

    pawl_ignore(pawl_call(ctx, "A", input));
    if (input.ptr[0] == 's')
        pawl_scope_begin(ctx);
    for (size_t k = 0; k < bytes && input.ptr[0] != 'a'; k += 4096)
        memset(pawl_alloc(ctx, 4096), 1, 4096);
    for (size_t k = 0; k < bytes && input.ptr[0] == 'a'; k += 4096)
        (void)pawl_start(ctx, "B", (pawl_str){(char *)pawl_alloc(ctx, 1), 1});
    if (input.ptr[0] == 'n')
        memset(pawl_alloc(ctx, (size_t)-8), 1, 1);
    return pawl_call(ctx, "A", input);
}

static enum engine_outcome ask_for(struct bench *b, const char *what, char text[400])
{
    execution *x = make(b);
    struct engine_finding finding = {0};
    struct mail mail = {.kind = PAWL_MSG_ACTIVITY_COMPLETED, .execution = 1, .ref = 1};
    struct turn turn = {.mem = b->turn_mem};
    enum engine_fate fate;

    ck_assert_int_eq(send(b, x, PAWL_MSG_START, 0, what), ENGINE_WAITING);
    enum engine_outcome outcome = execution_apply(x, &mail, 2, &turn, &fate, &finding);
    (void)snprintf(text, 400, "%s", finding.text);
    execution_destroy(x);
    return outcome;
}

TEST(more_memory_than_a_turn_may_have_is_a_limit)
{
    struct bench b;
    char text[400];

    bench_init(&b, greedy, NULL);
    b.rules.turn_memory = 1 << 20;
    ck_assert_int_eq(ask_for(&b, "p100", text), ENGINE_WAITING);
    ck_assert_int_eq(ask_for(&b, "p2000", text), ENGINE_LIMIT);
    ck_assert_msg(strstr(text, "its turn asked for ") == text && strstr(text, "limit 1048576"),
                  "%s", text);
    ck_assert_int_eq(ask_for(&b, "s100", text), ENGINE_WAITING);
    ck_assert_int_eq(ask_for(&b, "s2000", text), ENGINE_LIMIT);
    ck_assert_int_eq(ask_for(&b, "a100000", text), ENGINE_LIMIT); /* decisions count, too */
    ck_assert_int_eq(ask_for(&b, "n0", text), ENGINE_LIMIT);
    ck_assert_msg(strstr(text, "asked for 1844674407370955"), "%s", text);
    ck_assert_uint_eq(b.turn_mem->limit, 0); /* the turn has its own limit back */
    bench_deinit(&b);
}

static pawl_result grows(pawl_ctx *ctx, pawl_str input)
{
    for (int i = 0; i < 10; i++) {
        pawl_ignore(pawl_call(ctx, "A", input));
        memset(pawl_alloc(ctx, 700 * 1024), 1, 1);
    }
    return pawl_done(ctx, "7 MB in all");
}

TEST(the_memory_of_a_turn_is_counted_from_its_message)
{
    struct bench b;

    bench_init(&b, grows, NULL);
    b.rules.turn_memory = 1 << 20;
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_WAITING);
    for (uint64_t i = 1; i < 10; i++)
        ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, i, ""), ENGINE_WAITING);
    execution_destroy(x);
    bench_deinit(&b);
}

static pawl_result waiting(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "A", input);
}

TEST(exhaustion_outside_the_fiber_is_no_memory)
{
    static char large[200 * 1024];
    struct bench b;

    memset(large, 'x', sizeof(large) - 1);
    bench_init(&b, waiting, NULL);
    b.rules.memory_max = 100 * 1024;
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_WAITING);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, 1, large), ENGINE_NO_MEMORY);
    execution_destroy(x);
    x = make(&b);
    execution_mailbox_add(x, 1, pawl_s("E"), pawl_s(large));
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_NO_MEMORY);
    execution_destroy(x);
    b.rules.memory_max = 64;
    ck_assert_ptr_null(make(&b));
    bench_deinit(&b);
}

static void *hook_user;

static void turn_hook(void *user)
{
    hook_user = user; /* must not be reached while the engine runs */
    abort();
}

TEST(exhaustion_of_the_turn_is_no_memory_too)
{
    struct bench b;
    int mine;

    bench_init(&b, scoped_loop, NULL);
    b.turn_mem->limit = 20 * 1024;
    b.turn_mem->exhausted = turn_hook;
    b.turn_mem->user = &mine;
    execution *x = make(&b);
    enum engine_outcome got = send(&b, x, PAWL_MSG_START, 0, "");
    for (uint64_t i = 1; got == ENGINE_WAITING; i++) {
        char data[1001];
        memset(data, 'r', 1000);
        data[1000] = '\0';
        got = send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, i, data);
    }
    ck_assert_int_eq(got, ENGINE_NO_MEMORY);
    ck_assert(b.turn_mem->exhausted == turn_hook);
    ck_assert_ptr_eq(b.turn_mem->user, &mine);
    ck_assert_ptr_null(hook_user);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(kept_mail_is_freed_when_it_is_taken)
{
    static char data[10001];
    struct bench b;

    memset(data, 'm', 10000);
    bench_init(&b, waiting, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    for (int i = 0; i < 50; i++)
        send(&b, x, PAWL_MSG_EXTERNAL_RAISED, 0, data);
    ck_assert_int_eq(b.fate, FATE_KEPT);
    ck_assert_uint_eq(execution_mailbox_count(x), 50);
    ck_assert_uint_gt(arena_bytes(&x->mail_mem), 500000);
    while (x->mail_head)
        mailbox_remove(x, x->mail_head);
    ck_assert_uint_lt(arena_bytes(&x->mail_mem), 20000);
    execution_destroy(x);
    bench_deinit(&b);
}

/* "A1 B2 C3 A4 …": what is kept, in order. */
static void append_letter(void *arg, const struct mail *m)
{
    char *text = arg;
    (void)sprintf(text + strlen(text), "%.*s%llu ", PAWL_FMT(m->name), (unsigned long long)m->id);
}

TEST(a_mailbox_moves_to_the_next_execution_in_order)
{
    static const char *const names[] = {"A", "B", "C"};
    struct bench b;
    char text[200] = "";

    bench_init(&b, waiting, NULL);
    execution *x = make(&b), *next = make(&b);
    for (uint64_t i = 1; i <= 7; i++)
        ck_assert(execution_mailbox_add(x, i, pawl_s(names[i % 3]), pawl_s("data")));
    mailbox_remove(x, x->mail_head); /* B1 */
    ck_assert(execution_mailbox_move(next, x));
    ck_assert_uint_eq(execution_mailbox_count(x), 0);
    execution_destroy(x);
    ck_assert(execution_mailbox_add(next, 8, pawl_s("C"), pawl_s("data")));
    ck_assert(execution_mailbox_add(next, 9, pawl_s("D"), pawl_s("data")));
    execution_mailbox_each(next, append_letter, text);
    ck_assert_str_eq(text, "C2 A3 B4 C5 A6 B7 C8 D9 ");
    ck_assert_uint_eq(execution_mailbox_bytes(next), 8 * 4);
    struct channel *c = channel_find(next, false, pawl_s("C"), false);
    for (uint64_t i = 2; i <= 8; i += 3) {
        ck_assert_uint_eq(c->mail->head->id, i);
        mailbox_remove(next, c->mail->head);
    }
    ck_assert_ptr_null(c->mail);
    execution_destroy(next);
    bench_deinit(&b);
}

/* It is never empty, and letters go as they come. */
TEST(a_mailbox_that_moves_for_ever_does_not_grow)
{
    static char data[1001];
    struct bench b;

    memset(data, 'm', 1000);
    bench_init(&b, waiting, NULL);
    execution *x = make(&b);
    for (uint64_t i = 0; i < 10000; i++) {
        execution *next = make(&b);
        ck_assert(execution_mailbox_add(x, i, pawl_s("A"), pawl_s(data)));
        if (i >= 3)
            mailbox_remove(x, x->mail_head);
        ck_assert(execution_mailbox_move(next, x));
        execution_destroy(x);
        x = next;
        ck_assert_uint_lt(arena_bytes(&x->mail_mem), 600000);
    }
    ck_assert_uint_eq(execution_mailbox_count(x), 3);
    execution_destroy(x);
    bench_deinit(&b);
}

/* ---- Cost --------------------------------------------------------------- */

#define WIDTH 10000

static pawl_result wide(pawl_ctx *ctx, pawl_str input)
{
    pawl_task *tasks = pawl_alloc(ctx, WIDTH * sizeof(*tasks));

    for (size_t i = 0; i < WIDTH; i++)
        tasks[i] = pawl_start(ctx, "A", input);
    pawl_result all = pawl_await_all(ctx, tasks, WIDTH);
    return all.ok ? pawl_done(ctx, "all") : all;
}

TEST(a_fan_in_of_ten_thousand_is_linear)
{
    struct bench b;

    bench_init(&b, wide, NULL);
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_WAITING);
    for (uint64_t i = WIDTH; i > 1; i--)
        ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, i, ""), ENGINE_WAITING);
    execution_check(x);
    ck_assert_uint_eq(x->wait.pending, 1);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, 1, ""), ENGINE_ENDED);
    ck_assert_uint_eq(x->evaluations, WIDTH); /* one look a completion */
    execution_destroy(x);
    x = make(&b);
    ck_assert_int_eq(replay(&b, x), ENGINE_ENDED);
    ck_assert_uint_eq(x->evaluations, WIDTH);
    execution_check(x);
    execution_destroy(x);
    bench_deinit(&b);
}

static pawl_result letters(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "First", input));
    for (int i = 0; i < WIDTH; i++) {
        pawl_scope_begin(ctx);
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "T")));
        pawl_scope_end(ctx);
    }
    return pawl_done(ctx, "read");
}

TEST(ten_thousand_letters_are_read_in_one_go)
{
    struct bench b;
    const uint64_t *ids;

    bench_init(&b, letters, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    for (uint64_t i = 1; i <= WIDTH; i++)
        execution_mailbox_add(x, i, pawl_s("T"), pawl_s("letter"));
    ck_assert_int_eq(send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, 1, ""), ENGINE_ENDED);
    ck_assert_uint_eq(execution_consumed(x, &ids), WIDTH);
    for (size_t i = 0; i < WIDTH; i++)
        ck_assert_uint_eq(ids[i], i + 1);
    ck_assert_uint_eq(execution_consumed(x, &ids), 0);
    ck_assert_uint_eq(execution_mailbox_count(x), 0);
    execution_destroy(x);
    bench_deinit(&b);
}

/* ---- The rest ----------------------------------------------------------- */

static pawl_result many_names(pawl_ctx *ctx, pawl_str input)
{
    pawl_task tasks[100];

    (void)input;
    for (int i = 0; i < 100; i++)
        tasks[i] = pawl_wait_event(ctx, pawl_printf(ctx, "name-%d", i).ptr);
    pawl_result all = pawl_await_all(ctx, tasks, 100);
    return all.ok ? pawl_done(ctx, "all") : all;
}

static pawl_result one_event(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "T"));
}

static int registered, released;

static void release(void *arg)
{
    (void)arg;
    released++;
}

static pawl_result defers_for_ever(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    for (; registered < 1000000;) {
        registered++;
        pawl_defer(ctx, release, NULL);
        pawl_alloc(ctx, 100);
    }
    return pawl_done(ctx, "");
}

static pawl_result long_name(pawl_ctx *ctx, pawl_str input)
{
    char name[400];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    pawl_result r = pawl_call_with(ctx, name, input, PAWL_CALL_OPTS(.attempts = 2));
    return r.ok ? r : pawl_done(ctx, r.value.ptr);
}

static pawl_result drawing(pawl_ctx *ctx, pawl_str input)
{
    uint64_t *to = pawl_user(ctx);

    (void)input;
    ck_assert_ptr_eq(pawl_ctx_mem(ctx), &ctx->mem);
    *to = pawl_random(ctx);
    return pawl_done(ctx, "");
}

static bool was_on_fiber, was_replaying[2];

static pawl_result looking(pawl_ctx *ctx, pawl_str input)
{
    was_on_fiber = engine_on_fiber();
    was_replaying[0] = pawl_is_replaying(ctx);
    pawl_ignore(pawl_call(ctx, "A", input));
    was_replaying[1] = pawl_is_replaying(ctx);
    pawl_ignore(pawl_call(ctx, "B", input));
    return pawl_done(ctx, "");
}

TEST(replaying_lasts_until_the_first_live_message)
{
    struct bench b;

    bench_init(&b, looking, NULL);
    execution *x = make(&b);
    ck_assert(!engine_on_fiber());
    send(&b, x, PAWL_MSG_START, 0, "");
    ck_assert(was_on_fiber && !engine_on_fiber() && !was_replaying[0]);
    execution_destroy(x);
    x = make(&b);
    ck_assert_int_eq(replay(&b, x), ENGINE_WAITING);
    ck_assert(was_replaying[0]);
    send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, 1, "");
    ck_assert(!was_replaying[1]);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(the_site_of_a_finding_is_in_the_calling_code)
{
    struct bench b;

    bench_init(&b, waiting, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    execution_destroy(x);
    b.fn = hungry; /* calls A too, but returns into another function */
    x = make(&b);
    b.turn.steps[1].event.name = pawl_s("Other");
    ck_assert_int_eq(replay(&b, x), ENGINE_MISMATCH);
    ck_assert_ptr_nonnull(b.finding.site);
    ck_assert((char *)b.finding.site > (char *)(uintptr_t)hungry &&
              (char *)b.finding.site < (char *)(uintptr_t)hungry + 4096);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(tables_are_filled_in_pieces)
{
    struct bench b;

    bench_init(&b, wide, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    execution_destroy(x);
    b.fn = NULL;
    x = make(&b);
    for (size_t i = 0; i < b.turn.count; i++)
        ck_assert_int_eq(execution_replay(x, &b.turn.steps[i].event, 1, &b.finding),
                         ENGINE_WAITING);
    ck_assert_uint_eq(execution_last_seq(x), WIDTH + 1);
    struct open_task open;
    uint64_t cursor = 0, n = 0;
    while (execution_next_open(x, &cursor, &open))
        ck_assert(open.id == ++n && pawl_str_is(open.name, "A"));
    ck_assert_uint_eq(n, WIDTH);
    execution_check(x);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(the_open_list_can_be_walked_while_it_shrinks)
{
    struct bench b;
    struct open_task open;
    uint64_t cursor = 0, seen = 0;

    bench_init(&b, wide, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    while (execution_next_open(x, &cursor, &open)) {
        seen++;
        send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, cursor, "");
        send(&b, x, PAWL_MSG_ACTIVITY_COMPLETED, cursor + 1, "");
    }
    ck_assert_uint_eq(seen, WIDTH / 2);
    ck_assert_int_eq(execution_end(x).kind, PAWL_EV_ORCHESTRATION_COMPLETED);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(mail_of_many_names_finds_its_waits)
{
    struct bench b;
    const uint64_t *ids;

    bench_init(&b, many_names, NULL);
    execution *x = make(&b);
    for (uint64_t i = 0; i < 100; i++) {
        char name[24];
        snprintf(name, sizeof(name), "name-%llu", (unsigned long long)(99 - i));
        execution_mailbox_add(x, i + 1, pawl_s(name), pawl_s("m"));
    }
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_ENDED);
    ck_assert_uint_eq(execution_consumed(x, &ids), 100);
    ck_assert(ids[0] == 100 && ids[99] == 1); /* oldest wait first */
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(older_mail_is_taken_before_a_new_event)
{
    struct bench b;
    const uint64_t *ids;

    bench_init(&b, one_event, NULL);
    execution *x = make(&b);
    send(&b, x, PAWL_MSG_START, 0, "");
    execution_mailbox_add(x, 50, pawl_s("T"), pawl_s("older"));
    ck_assert_int_eq(send(&b, x, PAWL_MSG_EXTERNAL_RAISED, 0, "newer"), ENGINE_ENDED);
    ck_assert_int_eq(b.fate, FATE_KEPT);
    ck_assert_str_eq(execution_end(x).value.ptr, "older");
    ck_assert_uint_eq(execution_consumed(x, &ids), 1);
    ck_assert_uint_eq(ids[0], 50);
    ck_assert_uint_eq(execution_mailbox_count(x), 1);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(a_defer_that_finds_no_memory_still_runs)
{
    struct bench b;

    bench_init(&b, defers_for_ever, NULL);
    b.rules.memory_max = 40 * 1024;
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_NO_MEMORY);
    execution_destroy(x);
    ck_assert_int_gt(registered, 0);
    ck_assert_int_eq(registered, released);
    bench_deinit(&b);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHADOWED 1
#endif
#endif
#if !defined(HAVE_ASAN) && !defined(SHADOWED) /* their shadow memory is address space too */
TEST(no_stack_is_no_memory)
{
    struct bench b;
    struct execution_spec spec = {
        .code = {.fn = waiting, .stack_bytes = LIMIT_STACK_MAX, .name = "T"},
          .execution = 1
    };
    struct rlimit limit;

    bench_init(&b, waiting, NULL);
    spec.pool = b.pool;
    execution *x = execution_create(&spec);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = 1 << 20;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    enum engine_outcome got = send(&b, x, PAWL_MSG_START, 0, "");
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(got, ENGINE_NO_MEMORY);
    ck_assert_uint_eq(execution_last_seq(x), 0);
    execution_destroy(x);
    bench_deinit(&b);
}
#endif

TEST(names_that_are_too_long_are_refused_and_cut)
{
    struct bench b;

    bench_init(&b, long_name, NULL);
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, ""), ENGINE_ENDED);
    ck_assert(b.turn.steps[1].refused && b.turn.steps[2].refused);
    ck_assert_uint_eq(b.turn.steps[1].event.name.len, 255);
    execution_destroy(x);
    x = make(&b);
    ck_assert_int_eq(replay(&b, x), ENGINE_ENDED);
    execution_destroy(x);
    bench_deinit(&b);
}

TEST(the_seed_of_the_start_decides_the_draws)
{
    static const char *const seeds[] = {"{\"seed\":\"ABCDEF\"}", "{\"seed\":\"abcdef\"}",
                                        "{\"seed\":\"abcde0\"}", "{\"seed\":\"no hex\"}", ""};
    uint64_t draws[5];

    for (int i = 0; i < 5; i++) {
        struct bench b;
        bench_init(&b, drawing, &draws[i]);
        execution *x = make(&b);
        struct mail m = {.kind = PAWL_MSG_START, .attrs = pawl_s(seeds[i])};
        execution_apply(x, &m, 1, &b.turn, &b.fate, &b.finding);
        execution_destroy(x);
        bench_deinit(&b);
    }
    ck_assert(draws[0] == draws[1] && draws[1] != draws[2] && draws[3] == draws[4]);
}

TEST(an_execution_that_never_started_can_be_ended)
{
    struct bench b;

    bench_init(&b, NULL, NULL);
    execution *x = make(&b);
    ck_assert_int_eq(send(&b, x, PAWL_MSG_START, 0, "in"), ENGINE_WAITING);
    ck_assert_int_eq(
        execution_finish(x, PAWL_EV_ORCHESTRATION_CANCELLED, pawl_s("why"), 9, &b.turn),
        ENGINE_ENDED);
    ck_assert_uint_eq(b.turn.count, 2);
    ck_assert_str_eq(execution_end(x).value.ptr, "why");
    execution_destroy(x);
    execution_destroy(NULL);
    bench_deinit(&b);
}
