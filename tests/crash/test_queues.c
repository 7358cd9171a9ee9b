/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_queues.c -- queues with kill -9 between every two steps.
 *
 * A hand works through a list of moves (push, lock, extend, release, bury, redrive,
 * acknowledge), writing into a journal what it is about to send and what was answered.
 * After each death the database is read: every item that was acknowledged and
 * not yet taken is there once.  The next child asks again for what it does not know,
 * as a client would.  Then the same for what orchestrations do with queues.
 */
#include "../harness.h"
#include "base/point.h"
#include "crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- The hand ---------------------------------------------------------------------- */

#define LOCK_MS 1000 /* what a death costs when a lock's answer was lost */

static const struct move {
    pawl_queue_op op;
    const char *queue;
    const char *data; /* pushed, or what a pop must give */
} moves[] = {
    {PAWL_QUEUE_PUSH,       "q",            "a" },
    {PAWL_QUEUE_PUSH,       "q",            "b" },
    {PAWL_QUEUE_POP,        "q",            "a" },
    {PAWL_QUEUE_EXTEND,     "q",            NULL},
    {PAWL_QUEUE_RELEASE,    "q",            NULL},
    {PAWL_QUEUE_POP,        "q",            "a" },
    {PAWL_QUEUE_DEADLETTER, "q",            NULL},
    {PAWL_QUEUE_POP,        "q",            "b" },
    {PAWL_QUEUE_ACK,        "q",            "b" },
    {PAWL_QUEUE_REDRIVE,    "q-deadletter", NULL},
    {PAWL_QUEUE_POP,        "q",            "a" },
    {PAWL_QUEUE_ACK,        "q",            "a" },
};
#define MOVES (sizeof(moves) / sizeof(moves[0]))

struct hand {
    size_t at;     /* the next move */
    bool unsure;   /* it was sent before the last death */
    char lock[24]; /* of the last pop */
};

/* Lines "sent MOVE" and "next MOVE LOCK"; the last one rules. */
static struct hand read_journal(void)
{
    struct hand h = {.lock = "-"};
    char *text = read_text("journal"), *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        h.unsure = sscanf(line, "sent %zu", &h.at) == 1;
        if (!h.unsure && sscanf(line, "next %zu %23s", &h.at, h.lock) != 2)
            abort();
    }
    free(text);
    return h;
}

static int wrong_answer(size_t at, const pawl_queue_reply *r)
{
    fprintf(stderr, "move %zu: %s: %s\n", at, pawl_status_code(r->status), r->error.text);
    return 4;
}

static pawl_status make(pawl_client *c, const struct hand *h, pawl_mem *mem, pawl_queue_reply *r)
{
    const struct move *m = &moves[h->at];
    const char *lock = h->lock;
    pawl_queue_item item = {.data = pawl_s(m->data), .dedup_id = pawl_s(m->data)};
    return pawl_queue_call(c,
                           PAWL_QUEUE_REQUEST(.op = m->op, .queue = m->queue, .items = &item,
                                              .item_count = 1, .lock_ids = &lock, .lock_count = 1,
                                              .require_ack = true, .ttl_ms = LOCK_MS,
                                              .extend_ms = LOCK_MS),
                           mem, r);
}

static size_t pop_before(size_t at)
{
    while (moves[at].op != PAWL_QUEUE_POP)
        at--;
    return at;
}

/* One move; 0 done, the hand moved on. */
static int move_on(pawl_client *c, struct hand *h, pawl_mem *mem)
{
    const struct move *m = &moves[h->at];
    pawl_queue_reply r;
    append_record("journal", "sent %zu", h->at);
    pawl_status rc = make(c, h, mem, &r);
    bool gone = rc == PAWL_NOT_FOUND || rc == PAWL_INVALID;
    if (m->op == PAWL_QUEUE_POP && rc == PAWL_CONFLICT) { /* the lock of a pop without an answer */
        nap_ms(20);
        return 0;
    }
    if (m->op == PAWL_QUEUE_POP && rc == PAWL_OK) {
        if (r.message_count != 1 || !pawl_str_is(r.messages[0].data, m->data))
            return wrong_answer(h->at, &r);
        (void)snprintf(h->lock, sizeof(h->lock), "%.*s", PAWL_FMT(r.lock_id));
    }
    if (rc == PAWL_LOST && m->op >= PAWL_QUEUE_ACK && m->op <= PAWL_QUEUE_DEADLETTER)
        h->at = pop_before(h->at); /* we were dead for too long */
    else if (rc == PAWL_OK || (gone && h->unsure && m->op != PAWL_QUEUE_EXTEND))
        h->at++; /* now, or before we died */
    else
        return wrong_answer(h->at, &r);
    h->unsure = false;
    append_record("journal", "next %zu %s", h->at, h->lock);
    return 0;
}

static int work(pawl_client *c)
{
    struct hand h = read_journal();
    pawl_mem *mem = pawl_mem_new();
    int status = 0;
    while (h.at < MOVES && !status) {
        pawl_mem_reset(mem);
        status = move_on(c, &h, mem);
    }
    pawl_mem_free(mem);
    return status;
}

/* ---- What the database says after a death --------------------------------------------- */

static bool may_be_taken(const struct hand *h, const char *data)
{
    for (size_t i = 0; i < h->at + h->unsure && i < MOVES; i++)
        if (moves[i].op == PAWL_QUEUE_ACK && strcmp(moves[i].data, data) == 0)
            return true;
    return false;
}

static const char *wrong_in_queues(void)
{
    if (ask("SELECT count(*) FROM queue q WHERE ready+delayed+locked<>"
            "(SELECT count(*) FROM queue_entry e WHERE e.qid=q.qid)"))
        return "counters and entries differ";
    if (ask("SELECT count(*) FROM queue q WHERE locks<>"
            "(SELECT count(*) FROM queue_lock l WHERE l.qid=q.qid)"))
        return "counters and locks differ";
    if (ask("SELECT count(*) FROM queue_entry WHERE qid NOT IN(SELECT qid FROM queue)"))
        return "an entry of no queue";
    return NULL;
}

static const char *wrong_after_death(void)
{
    static char wrong[100];
    struct hand h = read_journal();
    const char *found =
        ask("SELECT count(*) FROM sqlite_master WHERE name='queue'") > 0 ? wrong_in_queues() : NULL;
    for (size_t i = 0; i < 2 && !found; i++) {
        char sql[100];
        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM queue_entry WHERE data='%s'",
                       moves[i].data);
        if (h.at <= i && !(h.at == i && h.unsure))
            continue; /* not pushed yet */
        long long n = ask(sql);
        bool maybe_none = h.at == i || may_be_taken(&h, moves[i].data);
        if (n == 1 || (n == 0 && maybe_none))
            continue;
        (void)snprintf(wrong, sizeof(wrong), "%s is there %lld times at move %zu", moves[i].data, n,
                       h.at);
        found = wrong;
    }
    return found;
}

/* ---- Deaths ---------------------------------------------------------------------------- */

struct drama {
    const char *name;
    struct plan plan;
    const char *(*after_death)(void);
    const char *(*at_end)(void);
};

/* The run that dies, then the run that ends it.  True when the point was reached. */
static bool die_at(const char *point, int n, const void *arg)
{
    const struct drama *drama = arg;
    char at[100];
    struct plan plan = drama->plan;
    (void)snprintf(at, sizeof(at), "%s:%d", point, n);
    plan.crash_at = at;
    scratch_make();
    int status = child_run(plan_run, &plan, 60000);
    bool died = killed_by(status, SIGKILL);
    ck_assert_msg(died || exited_with(status, 0), "%s at %s: %s", drama->name, at,
                  status_words(status));
    const char *wrong = died && drama->after_death ? drama->after_death() : NULL;
    ck_assert_msg(!wrong, "%s dead at %s: %s", drama->name, at, wrong);
    if (died) {
        plan.crash_at = NULL;
        status = child_run(plan_run, &plan, 60000);
        ck_assert_msg(exited_with(status, 0), "%s after %s: %s", drama->name, at,
                      status_words(status));
    }
    wrong = wrong_at_rest();
    if (!wrong)
        wrong = wrong_in_queues();
    if (!wrong)
        wrong = drama->at_end();
    ck_assert_msg(!wrong, "%s after %s: %s", drama->name, at, wrong);
    scratch_drop();
    return died;
}

static void play(const struct drama *drama)
{
    struct plan plan = drama->plan;
    plan.census = true;
    scratch_make();
    int status = child_run(plan_run, &plan, 60000);
    ck_assert_msg(exited_with(status, 0), "%s: %s", drama->name, status_words(status));
    const char *wrong = drama->at_end();
    ck_assert_msg(!wrong, "%s: %s", drama->name, wrong);
    ck_assert_int_gt(die_everywhere(die_at, drama, 7), 0);
    printf("%s\n", drama->name);
}

static const char *nothing_left(void)
{
    return ask("SELECT count(*) FROM queue_entry") ? "something is left in a queue" : NULL;
}

TEST(S7_queue_push_lock_extend_release_bury_redrive_ack_die_at_every_point)
{
    struct drama drama = {.name = "queue moves",
                          .plan = {.last = work},
                          .after_death = wrong_after_death,
                          .at_end = nothing_left};
    play(&drama);
}

/* ---- Orchestrations ------------------------------------------------------------------------ */

static pawl_result echo(pawl_activity *act, pawl_str input)
{
    return pawl_ok_str(act, input);
}

static pawl_result pusher(pawl_ctx *ctx, pawl_str input)
{
    pawl_ignore(pawl_call(ctx, "Echo", input));
    pawl_result r = pawl_queue_push(ctx, "out", pawl_s("x"), NULL);
    if (r.ok)
        r = pawl_queue_push(ctx, "out", pawl_s("y"), PAWL_PUSH_OPTS(.priority = 1));
    pawl_ignore(pawl_call(ctx, "Echo", input));
    return r.ok ? pawl_done(ctx, "pushed") : r;
}

/* Until the lock was ours to the end, or was acknowledged by a run that died. */
static pawl_result popper(pawl_ctx *ctx, pawl_str input)
{
    for (;;) {
        pawl_result got = pawl_await(ctx, pawl_queue_pop(ctx, "in", LOCK_MS, 100));
        if (!got.ok && !strstr(got.value.ptr, "locked"))
            return got;
        if (!got.ok || pawl_str_is(got.value, "null"))
            return pawl_done(ctx, "nothing");
        pawl_ignore(pawl_call(ctx, "Echo", input));
        pawl_str lock = pawl_json_text(pawl_ctx_mem(ctx), got.value, "/lock_id", "");
        pawl_result r = pawl_await(ctx, pawl_queue_ack(ctx, "in", lock));
        if (r.ok || !strstr(r.value.ptr, "expired"))
            return pawl_done_str(ctx, pawl_json_get(got.value, "/item"));
    }
}

static pawl_result order(pawl_ctx *ctx, pawl_str input)
{
    return pawl_call(ctx, "Echo", input);
}

static void app_queues(pawl_app *app)
{
    pawl_register_activity(app, "Echo", echo);
    pawl_register_orchestration(app, "Pusher", "1.0.0", pusher);
    pawl_register_orchestration(app, "Popper", "1.0.0", popper);
    pawl_register_orchestration(app, "Order", "1.0.0", order);
}

/* Until the queue has this many ready items and none else. */
static int await_ready(pawl_client *c, const char *queue, uint64_t want)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_queue_stats s = {0};
    pawl_error err;
    bool reached = false;
    for (int i = 0; i < 2000 && !reached; i++) {
        if (i)
            nap_ms(5);
        pawl_mem_reset(mem);
        reached = pawl_queue_get_stats(c, queue, mem, &s, &err) == PAWL_OK && s.ready == want &&
                  s.locked == 0;
    }
    pawl_mem_free(mem);
    return reached ? 0 : 3;
}

static int both_there(pawl_client *c)
{
    return await_ready(c, "out", 2);
}

static const char *each_pushed_once(void)
{
    if (ask("SELECT count(*) FROM queue_entry") != 2)
        return "not two items";
    return ask("SELECT count(*) FROM queue_entry WHERE (data='x' AND priority=0) OR"
               " (data='y' AND priority=1)") == 2
               ? NULL
               : "not the items pushed";
}

TEST(S7_a_push_of_an_orchestration_dies_at_every_point)
{
    static const struct plan_item flow = {"Pusher", "f-1", "1", NULL, NULL};
    struct drama drama = {
        .name = "push in a turn",
        .plan = {.items = &flow, .count = 1, .app = app_queues, .last = both_there},
        .at_end = each_pushed_once
    };
    play(&drama);
}

static void push_keyed(pawl_client *c, const char *queue, const char *data)
{
    pawl_error err;
    pawl_queue_item item = {.dedup_id = pawl_s(data)};
    if (pawl_client_push(c, queue, pawl_s(data), &item, NULL, &err) != PAWL_OK) {
        fprintf(stderr, "push %s: %s\n", data, err.text);
        _exit(2);
    }
}

/* The item is there before the first pop: the instance is started when it was pushed. */
static void push_then_start(pawl_client *c)
{
    pawl_reply r;
    push_keyed(c, "in", "\"item\"");
    if (pawl_client_start(c, "Popper", pawl_s("1"), PAWL_START_OPTS(.instance = "p-1"), &r) !=
        PAWL_OK) {
        fprintf(stderr, "start: %s\n", r.error.text);
        _exit(2);
    }
}

/* A first pop whose answer was lost finds nothing when it runs again: then once more. */
static int item_taken(pawl_client *c)
{
    pawl_mem *mem = pawl_mem_new();
    int status = 3;
    for (int i = 1; i < 50 && status == 3; i++) {
        pawl_info info;
        pawl_error err;
        pawl_reply r;
        char id[20];
        pawl_mem_reset(mem);
        (void)snprintf(id, sizeof(id), "p-%d", i);
        if (pawl_client_start(c, "Popper", pawl_s("1"), PAWL_START_OPTS(.instance = id), &r) !=
                PAWL_OK ||
            pawl_client_wait(c, id, 0, 20000, mem, &info, &err) != PAWL_OK)
            status = 2;
        else if (info.state == PAWL_COMPLETED && pawl_str_is(info.output, "\"item\""))
            status = 0;
        else if (info.state != PAWL_COMPLETED || !pawl_str_is(info.output, "nothing"))
            status = 5;
        if (status == 3)
            nap_ms(100);
    }
    pawl_mem_free(mem);
    return status ? status : await_ready(c, "in", 0);
}

/* One instance at least has it; a second only after a lock that ran out. */
static const char *item_recorded(void)
{
    if (nothing_left())
        return nothing_left();
    return ask("SELECT count(*) FROM instance WHERE output='\"item\"'") == 1 ? NULL
                                                                             : "not taken once";
}

TEST(S7_a_pop_of_an_orchestration_dies_at_every_point)
{
    struct drama drama = {
        .name = "pop and acknowledge as tasks",
        .plan = {.app = app_queues, .then = push_then_start, .last = item_taken},
        .at_end = item_recorded
    };
    play(&drama);
}

static void bind_and_push(pawl_client *c)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_queue_reply r;
    if (pawl_queue_call(
            c,
            PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_BIND, .queue = "orders", .orchestration = "Order"),
            mem, &r) != PAWL_OK)
        _exit(2);
    pawl_mem_free(mem);
    push_keyed(c, "orders", "1");
    push_keyed(c, "orders", "2");
    push_keyed(c, "orders", "3");
}

static int orders_ended(pawl_client *c)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_page page = {0};
    pawl_error err;
    size_t ended = 0;
    for (int i = 0; i < 2000 && ended != 3; i++) {
        if (i)
            nap_ms(5);
        pawl_mem_reset(mem);
        ended = 0;
        if (pawl_client_list(c, PAWL_FILTER(.prefix = "queue~orders~"), mem, &page, &err) !=
            PAWL_OK)
            break;
        for (size_t k = 0; k < page.count; k++)
            ended += page.items[k].state == PAWL_COMPLETED;
    }
    pawl_mem_free(mem);
    return ended == 3 ? 0 : 3;
}

static const char *each_started_once(void)
{
    if (nothing_left())
        return nothing_left();
    if (ask("SELECT count(*) FROM instance") != 3)
        return "not three instances";
    return ask("SELECT count(DISTINCT output) FROM instance WHERE output IN('1','2','3')") == 3
               ? NULL
               : "not the three outputs";
}

TEST(S7_a_bound_queue_dies_at_every_point)
{
    struct drama drama = {
        .name = "bound queue",
        .plan = {.app = app_queues, .then = bind_and_push, .last = orders_ended},
        .at_end = each_started_once
    };
    play(&drama);
}
