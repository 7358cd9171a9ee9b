/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_remote_code.c -- executions whose code is in workers, on the bare engine: the same
 * program gives the same history as C code, what looks changes nothing, and lies are refused.
 */
#include "../harness.h"

#include "base/json.h"
#include "engine/engine_private.h"
#include "fiber/fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct fiber_pool *pool;
    pawl_mem *mem;
    struct turn turn;
    enum engine_fate fate;
    struct engine_finding finding;
    execution *x;
};

static enum engine_taken taken(void *user, pawl_str instance)
{
    (void)user;
    return pawl_str_is(instance, "busy")     ? TAKEN_YES
           : pawl_str_is(instance, "unsure") ? TAKEN_UNKNOWN
                                             : TAKEN_NO;
}

static void bench_init(struct bench *b, pawl_orchestration_fn *fn, void *user)
{
    *b = (struct bench){.pool = fiber_pool_create(2), .mem = pawl_mem_new()};
    b->turn.mem = b->mem;
    struct execution_spec spec = {
        .pool = b->pool,
        .code = {.fn = fn,      .remote = !fn, .user = user, .stack_bytes = 256 * 1024, .name = "T"},
        .rules = {.payload_max = 1000},
        .instance = pawl_s("i"),
        .execution = 1,
        .taken = taken
    };
    b->x = execution_create(&spec);
}

static void bench_deinit(struct bench *b)
{
    execution_check(b->x);
    execution_destroy(b->x);
    fiber_pool_destroy(b->pool);
    pawl_mem_free(b->mem);
}

static struct mail mail_of(int kind, uint64_t ref, const char *name, const char *data)
{
    return (struct mail){.id = 7,
                         .kind = kind,
                         .execution = 1,
                         .ref = ref,
                         .name = pawl_s(name),
                         .data = pawl_s(data),
                         .attrs = pawl_s(kind == PAWL_MSG_START ? "{\"seed\":\"1\"}" : "")};
}

/* Apply a message, with the worker's decisions where there are some. */
static enum engine_outcome send(struct bench *b, const struct mail *m, const pawl_decision *list,
                                size_t count)
{
    struct remote_step step = {
        .at_ms = 1000, .seq = execution_last_seq(b->x) + 1, .decisions = list, .count = count};
    if (list)
        execution_step(b->x, &step);
    return execution_apply(b->x, m, 1000, &b->turn, &b->fate, &b->finding);
}

#define SEND(b, m, ...)                                                                            \
    send(b, &(m), (const pawl_decision[]){__VA_ARGS__},                                            \
         sizeof((const pawl_decision[]){__VA_ARGS__}) / sizeof(pawl_decision))

#define CALL(n, what, text)                                                                        \
    {                                                                                              \
        .deed = PAWL_DEED_CALL, .ref = (n), .name = pawl_s(what), .data = pawl_s(text)             \
    }
#define TIMER(n, ms)                                                                               \
    {                                                                                              \
        .deed = PAWL_DEED_TIMER, .ref = (n), .delay_ms = (ms)                                      \
    }
#define DONE(text)                                                                                 \
    {                                                                                              \
        .deed = PAWL_DEED_FINISH, .end = PAWL_DEED_COMPLETED, .data = pawl_s(text)                 \
    }

/* ---- The same history -------------------------------------------------------- */

static pawl_result program(pawl_ctx *ctx, pawl_str input)
{
    pawl_task tasks[3] = {pawl_start(ctx, "A", input), pawl_timer(ctx, 50),
                          pawl_wait_event(ctx, "Go")};
    pawl_set_status(ctx, "begun");
    ck_assert_int_eq(pawl_race(ctx, tasks, 3), 2);
    pawl_ignore(pawl_state_set(ctx, "k", pawl_s("v")));
    return pawl_done(ctx, "ok");
}

static void expect_same(const struct bench *a, const struct bench *b)
{
    ck_assert_uint_eq(a->turn.count, b->turn.count);
    for (size_t i = 0; i < a->turn.count; i++) {
        const pawl_event *e = &a->turn.steps[i].event, *f = &b->turn.steps[i].event;
        ck_assert_int_eq(e->kind, f->kind);
        ck_assert(e->seq == f->seq && e->ref == f->ref && e->at_ms == f->at_ms);
        ck_assert(pawl_str_eq(e->name, f->name) && pawl_str_eq(e->data, f->data) &&
                  pawl_str_eq(e->attrs, f->attrs));
    }
}

TEST(a_worker_makes_the_history_that_c_code_makes)
{
    struct bench c, w;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", "in"),
                raised = mail_of(PAWL_MSG_EXTERNAL_RAISED, 0, "Go", "x");

    bench_init(&c, program, NULL);
    bench_init(&w, NULL, NULL);
    ck_assert_int_eq(send(&c, &start, NULL, 0), ENGINE_WAITING);
    ck_assert_int_eq(send(&c, &raised, NULL, 0), ENGINE_ENDED);

    ck_assert_int_eq(SEND(&w, start, CALL(1, "A", "in"), TIMER(2, 50),
                          {.deed = PAWL_DEED_EVENT, .ref = 3, .name = pawl_s("Go")},
                          {.deed = PAWL_DEED_STATUS, .data = pawl_s("begun")}),
                     ENGINE_WAITING);
    ck_assert_int_eq(
        SEND(&w, raised, {.deed = PAWL_DEED_CANCEL, .ref = 1, .reason = pawl_s("lost the race")},
             {.deed = PAWL_DEED_CANCEL, .ref = 2, .reason = pawl_s("lost the race")},
             {.deed = PAWL_DEED_STATE, .name = pawl_s("k"), .data = pawl_s("v")}, DONE("ok")),
        ENGINE_ENDED);
    expect_same(&c, &w);
    bench_deinit(&c);
    bench_deinit(&w);
}

/* ---- Looking ------------------------------------------------------------------ */

TEST(a_look_changes_nothing_and_says_who_is_asked)
{
    struct bench w;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", ""),
                one = mail_of(PAWL_MSG_ACTIVITY_COMPLETED, 1, "", "1"),
                two = mail_of(PAWL_MSG_ACTIVITY_FAILED, 2, "", "no"),
                none = mail_of(PAWL_MSG_ACTIVITY_COMPLETED, 9, "", "");
    char why[100];

    bench_init(&w, NULL, NULL);
    ck_assert(execution_look(w.x, &start, w.mem).asks);
    ck_assert_uint_eq(execution_last_seq(w.x), 0);
    ck_assert_int_eq(SEND(&w, start, CALL(1, "A", ""), CALL(2, "A", ""), CALL(3, "A", "")),
                     ENGINE_WAITING);
    ck_assert(execution_look(w.x, &one, w.mem).asks); /* nothing was said: it is asked */
    ck_assert(!execution_expect(w.x, PAWL_TURN_WAIT_ALL, (uint64_t[]){3, 2}, 2, why, sizeof(why)));
    ck_assert(!execution_expect(w.x, PAWL_TURN_WAIT_ALL, (uint64_t[]){4}, 1, why, sizeof(why)));
    ck_assert(execution_expect(w.x, PAWL_TURN_WAIT_ALL, (uint64_t[]){1, 2}, 2, why, sizeof(why)));
    struct remote_look look = execution_look(w.x, &one, w.mem);
    ck_assert(look.fate == FATE_APPLIED && !look.asks && look.event.ref == 1);
    ck_assert(execution_look(w.x, &two, w.mem).asks); /* a failure ends `all` */
    ck_assert_int_eq(execution_look(w.x, &none, w.mem).fate, FATE_ODD);
    ck_assert_int_eq(send(&w, &one, NULL, 0), ENGINE_WAITING);
    ck_assert_int_eq(execution_look(w.x, &one, w.mem).fate, FATE_IGNORED);
    ck_assert(execution_look(w.x, &two, w.mem).asks);
    ck_assert_int_eq(SEND(&w, two, DONE("")), ENGINE_ENDED);
    bench_deinit(&w);
}

TEST(mail_that_is_due_waits_for_its_step)
{
    struct bench w;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", ""),
                raised = mail_of(PAWL_MSG_EXTERNAL_RAISED, 0, "Go", "x"),
                wake = mail_of(PAWL_MSG_WAKE, 0, "", "");

    bench_init(&w, NULL, NULL);
    ck_assert(execution_mailbox_add(w.x, 7, raised.name, raised.data));
    ck_assert_int_eq(SEND(&w, start, {.deed = PAWL_DEED_EVENT, .ref = 1, .name = pawl_s("Go")}),
                     ENGINE_WAITING);
    ck_assert(execution_has_due_mail(w.x));
    ck_assert_uint_eq(execution_last_seq(w.x), 2); /* not recorded without its step */
    ck_assert_int_eq(execution_look(w.x, &wake, w.mem).event.kind, PAWL_EV_EXTERNAL_EVENT);
    ck_assert_int_eq(SEND(&w, wake, DONE("")), ENGINE_ENDED);
    ck_assert_int_eq(w.turn.steps[2].event.kind, PAWL_EV_EXTERNAL_EVENT);
    bench_deinit(&w);
}

/* ---- Ids that are taken ------------------------------------------------------------- */

static pawl_result starts_busy(pawl_ctx *ctx, pawl_str input)
{
    pawl_result r = pawl_start_detached(ctx, "B", input, PAWL_CHILD_OPTS(.instance = "busy"));
    return pawl_done(ctx, r.ok ? "started" : "refused");
}

#define DETACH(id, why)                                                                            \
    {                                                                                              \
        .deed = PAWL_DEED_DETACH, .ref = 1, .name = pawl_s("B"), .instance = pawl_s(id),           \
        .refused = pawl_s(why)                                                                     \
    }

TEST(a_worker_is_told_that_an_id_is_taken_and_records_what_c_code_records)
{
    struct bench c, w, again;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", "");

    bench_init(&c, starts_busy, NULL);
    bench_init(&w, NULL, NULL);
    bench_init(&again, NULL, NULL);
    ck_assert_int_eq(send(&c, &start, NULL, 0), ENGINE_ENDED);
    ck_assert_int_eq(SEND(&w, start, DETACH("busy", ""), DONE("started")), ENGINE_REFUSED);
    ck_assert_str_eq(w.finding.text, "instance 'busy' exists already");
    ck_assert_uint_eq(w.finding.seq, 2);
    ck_assert_int_eq(SEND(&again, start, DETACH("", w.finding.text), DONE("refused")),
                     ENGINE_ENDED);
    expect_same(&c, &again);
    bench_deinit(&c);
    bench_deinit(&w);
    bench_deinit(&again);
}

TEST(a_store_that_cannot_say_whether_an_id_is_taken_refuses_no_call)
{
    struct bench w;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", "");

    bench_init(&w, NULL, NULL);
    ck_assert_int_eq(SEND(&w, start, DETACH("unsure", ""), DONE("")), ENGINE_NO_MEMORY);
    bench_deinit(&w);
}

/* ---- Lies -------------------------------------------------------------------------- */

static void refuse(const pawl_decision *list, size_t count, uint64_t seq, const char *why)
{
    struct bench w;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", "");
    struct remote_step step = {.at_ms = 1000, .seq = seq, .decisions = list, .count = count};

    bench_init(&w, NULL, NULL);
    execution_step(w.x, &step);
    ck_assert_int_eq(execution_apply(w.x, &start, 1000, &w.turn, &w.fate, &w.finding),
                     ENGINE_REFUSED);
    ck_assert_msg(strstr(w.finding.text, why), "%s", w.finding.text);
    bench_deinit(&w);
}

#define REFUSED(seq, why, ...)                                                                     \
    refuse((const pawl_decision[]){__VA_ARGS__},                                                   \
           sizeof((const pawl_decision[]){__VA_ARGS__}) / sizeof(pawl_decision), seq, why)

TEST(lies_are_refused)
{
    static char large[2000];

    memset(large, 'x', sizeof(large) - 1);
    REFUSED(1, "the next one is 1", CALL(2, "A", ""));
    REFUSED(2, "it is 1", CALL(1, "A", ""));
    REFUSED(1, "after the end", DONE(""), CALL(1, "A", ""));
    REFUSED(1, "input is 1999 bytes", CALL(1, "A", large));
    REFUSED(1, "activity name has a '/'", CALL(1, "a/b", ""));
    REFUSED(1, "delay is -1 ms", TIMER(1, -1));
    REFUSED(1, "not open", {.deed = PAWL_DEED_CANCEL, .ref = 1});
    REFUSED(1, "no cancellation", {.deed = PAWL_DEED_FINISH, .end = PAWL_DEED_CANCELLED});
    REFUSED(1, "no update", {.deed = PAWL_DEED_ANSWER, .ref = 1});
    REFUSED(1, "no decision has", {.deed = (pawl_deed)99});
}

TEST(what_the_worker_marks_as_refused_is_recorded_so)
{
    struct bench w;
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", "");

    bench_init(&w, NULL, NULL);
    ck_assert_int_eq(
        SEND(
            &w, start,
            {.deed = PAWL_DEED_CALL, .ref = 1, .name = pawl_s("A"), .refused = pawl_s("too large")},
            TIMER(2, 5)),
        ENGINE_WAITING);
    ck_assert_int_eq(w.turn.steps[2].event.kind, PAWL_EV_ACTIVITY_FAILED);
    ck_assert_str_eq(w.turn.steps[2].event.data.ptr, "too large");
    ck_assert_uint_eq(w.turn.steps[3].event.ref, 2);
    bench_deinit(&w);
}

/* ---- Vectors -------------------------------------------------------------------------- */

struct drawn {
    char first[17], second[17], uuid[37];
};

static pawl_result draws(pawl_ctx *ctx, pawl_str input)
{
    struct drawn *to = pawl_user(ctx);

    (void)input;
    if (to->first[0]) /* the message that counts is the second */
        pawl_ignore(pawl_await(ctx, pawl_wait_event(ctx, "Go")));
    (void)snprintf(to->first, sizeof(to->first), "%016llx", (unsigned long long)pawl_random(ctx));
    (void)snprintf(to->second, sizeof(to->second), "%016llx", (unsigned long long)pawl_random(ctx));
    (void)snprintf(to->uuid, sizeof(to->uuid), "%s", pawl_uuid(ctx).ptr);
    return pawl_done(ctx, "");
}

static void check_vector(pawl_str v)
{
    struct bench c;
    struct drawn got = {0};
    uint64_t seq = (uint64_t)pawl_json_int(v, "/message_seq", 0);
    int64_t now = pawl_json_int(v, "/now", -1);
    struct mail start = mail_of(PAWL_MSG_START, 0, "T", ""),
                go = mail_of(PAWL_MSG_EXTERNAL_RAISED, 0, "Go", "");

    got.first[0] = seq > 1 ? '?' : 0;
    bench_init(&c, draws, &got);
    start.attrs =
        pawl_mem_printf(c.mem, "{\"seed\":\"%s\"}", pawl_json_text(c.mem, v, "/seed", "").ptr);
    (void)execution_apply(c.x, &start, seq > 1 ? 0 : now, &c.turn, &c.fate, &c.finding);
    if (seq > 1) {
        c.x->last_seq = seq - 1; /* a history of that length */
        (void)execution_apply(c.x, &go, now, &c.turn, &c.fate, &c.finding);
    }
    ck_assert_str_eq(got.first, pawl_json_text(c.mem, v, "/draws/0", "").ptr);
    ck_assert_str_eq(got.second, pawl_json_text(c.mem, v, "/draws/1", "").ptr);
    ck_assert_str_eq(got.uuid, pawl_json_text(c.mem, v, "/draws/2", "").ptr);
    bench_deinit(&c);
}

TEST(the_vectors_of_the_protocol)
{
    static char text[65536];
    FILE *f = fopen("tests/protocol/vectors.json", "re");
    struct json_iter it;
    int count = 0;

    ck_assert_msg(f, "run from the root of the tree");
    pawl_str all = {text, fread(text, 1, sizeof(text) - 1, f)};
    fclose(f);
    for (json_begin(&it, all); json_next(&it); count++)
        check_vector(it.value);
    ck_assert_int_ge(count, 5);
}
