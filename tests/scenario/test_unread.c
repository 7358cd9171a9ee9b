/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_unread.c -- reads that fail.
 *
 * Whichever read of the store a call of the C API makes: when it fails, the call says so, in a
 * status and a text, and does not answer with a part of what it should have read.  A request on a
 * queue whose read or commit failed did nothing, or all of it: made again until it is answered
 * well, it leaves what one that met no trouble leaves.
 */
#include "queue_verbs.h"

#include "pawl/schedule.h"
#include "pawl/worker.h"

#include <stdarg.h>
#include <stdio.h>

#define MOST 60 /* reads of one call */

/* ---- Questions ------------------------------------------------------------------------- */

struct question {
    struct scene *s;
    uint64_t message;
    char *got; /* the answer in words */
    size_t room;
    pawl_error err;
};

static void say(struct question *q, const char *format, ...) PAWL_PRINTF(2, 3);
static void say(struct question *q, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t len = strlen(q->got);
    (void)vsnprintf(q->got + len, q->room - len, format, args);
    va_end(args);
}

static void say_info(struct question *q, const pawl_info *i)
{
    say(q, "%.*s %.*s %d x%d in '%.*s' out '%.*s' status '%.*s' parent '%.*s' mail %zu",
        PAWL_FMT(i->instance), PAWL_FMT(i->orchestration), (int)i->state, (int)i->execution,
        PAWL_FMT(i->input), PAWL_FMT(i->output), PAWL_FMT(i->custom_status), PAWL_FMT(i->parent),
        i->mailbox_count);
    for (size_t n = 0; n < i->waiting_count; n++)
        say(q, " [%s %.*s %.*s %d %u]", i->waiting[n].kind, PAWL_FMT(i->waiting[n].name),
            PAWL_FMT(i->waiting[n].instance), (int)(i->waiting[n].due_ms / 1000),
            i->waiting[n].attempt);
}

static pawl_status ask_get(struct question *q, const char *id, uint64_t execution)
{
    pawl_info info = {0};
    pawl_status rc = pawl_client_get(q->s->c, id, execution, q->s->mem, &info, &q->err);
    if (rc == PAWL_OK)
        say_info(q, &info);
    return rc;
}

static pawl_status ask_open(struct question *q)
{
    return ask_get(q, "i", 0);
}

static pawl_status ask_closed(struct question *q)
{
    return ask_get(q, "i", 1);
}

static pawl_status ask_ended(struct question *q)
{
    return ask_get(q, "ended", 0);
}

static pawl_status ask_pending(struct question *q)
{
    return ask_get(q, "later", 0);
}

static pawl_status ask_state(struct question *q)
{
    pawl_state state = PAWL_FAILED;
    pawl_status rc = pawl_client_state(q->s->c, "i", q->s->mem, &state, &q->err);
    if (rc == PAWL_OK)
        say(q, "%d", (int)state);
    return rc;
}

static pawl_status ask_wait(struct question *q)
{
    pawl_info info = {0};
    pawl_status rc = pawl_client_wait(q->s->c, "ended", 0, 0, q->s->mem, &info, &q->err);
    if (rc == PAWL_OK)
        say_info(q, &info);
    return rc;
}

static pawl_status ask_history(struct question *q)
{
    for (uint64_t x = 1; x <= 2; x++) {
        pawl_history h = {0};
        pawl_status rc = pawl_client_history(q->s->c, "i", x, 1, 3, q->s->mem, &h, &q->err);
        if (rc != PAWL_OK)
            return rc;
        for (size_t n = 0; n < h.count; n++)
            say(q, "%d %s %.*s; ", (int)h.events[n].seq, h.events[n].kind,
                PAWL_FMT(h.events[n].data));
        say(q, "next %d; ", (int)h.next);
    }
    return PAWL_OK;
}

static pawl_status ask_list(struct question *q)
{
    const pawl_filter *filters[] = {
        NULL,
        PAWL_FILTER(.limit = 1),
        PAWL_FILTER(.parent = "i"),
        PAWL_FILTER(.orchestration = "Kid", .roots = false),
        PAWL_FILTER(.states = 1u << PAWL_RUNNING, .roots = true),
        PAWL_FILTER(.text = "END"),
        PAWL_FILTER(.prefix = "e", .state = PAWL_COMPLETED + 1),
    };
    for (size_t f = 0; f < sizeof(filters) / sizeof(filters[0]); f++) {
        pawl_page page = {0};
        pawl_status rc = pawl_client_list(q->s->c, filters[f], q->s->mem, &page, &q->err);
        if (rc != PAWL_OK)
            return rc;
        for (size_t n = 0; n < page.count; n++)
            say(q, "%.*s ", PAWL_FMT(page.items[n].instance));
        say(q, "next '%s'; ", page.next.len ? "more" : "");
    }
    return PAWL_OK;
}

static void on_published(void *arg, pawl_str key, pawl_str value, uint64_t version, int64_t at)
{
    (void)at;
    say(arg, "%.*s=%.*s@%d ", PAWL_FMT(key), PAWL_FMT(value), (int)version);
}

static pawl_status ask_published(struct question *q)
{
    return pawl_client_published(q->s->c, "i", NULL, on_published, q, &q->err);
}

static pawl_status ask_published_key(struct question *q)
{
    return pawl_client_published(q->s->c, "i", "b", on_published, q, &q->err);
}

static pawl_status ask_queue(struct question *q)
{
    pawl_queue_stats st = {0};
    pawl_status rc = pawl_queue_get_stats(q->s->c, "q", q->s->mem, &st, &q->err);
    if (rc != PAWL_OK)
        return rc;
    say(q, "%d %d %d old %d:", (int)st.ready, (int)st.delayed, (int)st.locked, st.oldest_ms != 0);
    for (size_t n = 0; n < st.level_count; n++)
        say(q, " %d*%d", (int)st.levels[n].priority, (int)st.levels[n].ready);
    return PAWL_OK;
}

static pawl_status ask_queue_config(struct question *q)
{
    pawl_queue_config config = {0};
    pawl_status rc = pawl_queue_get_config(q->s->c, "q", q->s->mem, &config, &q->err);
    if (rc == PAWL_OK)
        say(q, "%d", (int)config.max_deliveries);
    return rc;
}

static pawl_status ask_queues(struct question *q)
{
    pawl_queue_page page = {0};
    pawl_status rc = pawl_queue_list(q->s->c, NULL, NULL, 1, q->s->mem, &page, &q->err);
    if (rc != PAWL_OK)
        return rc;
    say(q, "%zu then '%.*s'", page.count, PAWL_FMT(page.next));
    return PAWL_OK;
}

static pawl_status ask_messages(struct question *q)
{
    pawl_queue_messages list = {0};
    pawl_status rc = pawl_queue_browse_messages(q->s->c, "q", NULL, q->s->mem, &list, &q->err);
    for (size_t n = 0; rc == PAWL_OK && n < list.count; n++)
        say(q, "%.*s/%d ", PAWL_FMT(list.items[n].data), (int)list.items[n].state);
    return rc;
}

static pawl_status ask_message(struct question *q)
{
    pawl_queue_message m = {0};
    pawl_status rc = pawl_queue_get_message(q->s->c, "q", q->message, q->s->mem, &m, &q->err);
    if (rc == PAWL_OK)
        say(q, "%.*s %d", PAWL_FMT(m.data), (int)m.delivery_count);
    return rc;
}

static pawl_status ask_locks(struct question *q)
{
    pawl_queue_locks locks = {0};
    pawl_status rc = pawl_queue_get_locks(q->s->c, "q", q->s->mem, &locks, &q->err);
    for (size_t n = 0; rc == PAWL_OK && n < locks.count; n++)
        say(q, "%d items until +%d; ", (int)locks.items[n].items,
            (int)((locks.items[n].expires_ms - locks.items[n].created_ms) / 1000));
    return rc;
}

static pawl_status ask_schedule(struct question *q)
{
    pawl_str json = {0};
    pawl_status rc = pawl_schedule_get(q->s->c, "n", q->s->mem, &json, &q->err);
    if (rc == PAWL_OK)
        say(q, "%.*s", PAWL_FMT(json));
    return rc;
}

static pawl_status ask_schedules(struct question *q)
{
    pawl_str json = {0};
    pawl_status rc = pawl_schedule_list(q->s->c, NULL, NULL, 0, q->s->mem, &json, &q->err);
    if (rc == PAWL_OK)
        say(q, "%.*s", PAWL_FMT(json));
    return rc;
}

static const struct {
    const char *name;
    pawl_status (*ask)(struct question *q);
    bool queues; /* or schedules: not for plain files */
} questions[] = {
    {"get",       ask_open,          false},
    {"closed",    ask_closed,        false},
    {"ended",     ask_ended,         false},
    {"pending",   ask_pending,       false},
    {"state",     ask_state,         false},
    {"wait",      ask_wait,          false},
    {"history",   ask_history,       false},
    {"list",      ask_list,          false},
    {"published", ask_published,     true },
    {"key",       ask_published_key, true },
    {"queue",     ask_queue,         true },
    {"config",    ask_queue_config,  true },
    {"queues",    ask_queues,        true },
    {"messages",  ask_messages,      true },
    {"message",   ask_message,       true },
    {"locks",     ask_locks,         true },
    {"schedule",  ask_schedule,      true },
    {"schedules", ask_schedules,     true },
};

static bool is_read(enum fault_op op)
{
    return (op >= FAULT_OP_find && op <= FAULT_OP_list_objects) || op == FAULT_OP_queue_read;
}

/* The n-th read of each kind fails, for every n; how many did. */
static int fails_at_each(struct question *q, size_t which, const char *whole, pawl_status trouble)
{
    int met = 0;
    for (enum fault_op op = 0; op < FAULT_OP_COUNT; op++)
        for (int n = 0; is_read(op) && n < MOST; n++) {
            q->got[0] = 0;
            q->err = (pawl_error){0};
            scene_fail(q->s, op, n, 1, FAULT_BEFORE, trouble);
            pawl_status rc = questions[which].ask(q);
            bool fell = q->s->fault.left == 0;
            scene_fail(q->s, op, 0, 0, FAULT_BEFORE, trouble);
            if (!fell) {
                ck_assert_msg(rc == PAWL_OK && strcmp(q->got, whole) == 0, "%s: %s, not %s",
                              questions[which].name, q->got, whole);
                break;
            }
            met++;
            if (rc == PAWL_OK && trouble == PAWL_CORRUPT)
                continue; /* what is damaged is shown without */
            ck_assert_msg(rc == trouble && q->err.status == rc && q->err.text[0],
                          "%s: %s number %d failed: %d '%s'", questions[which].name,
                          fault_op_name(op), n, (int)rc, q->err.text);
        }
    return met;
}

static void fails_at_every_read(struct scene *s, uint64_t message, bool queues)
{
    static char got[16384], whole[16384];
    struct question q = {.s = s, .message = message, .got = got, .room = sizeof(got)};
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        if (questions[i].queues && !queues)
            continue;
        got[0] = 0;
        ck_assert_msg(questions[i].ask(&q) == PAWL_OK, "%s: %s", questions[i].name, q.err.text);
        memcpy(whole, got, sizeof(whole));
        ck_assert_msg(whole[0], "%s says nothing", questions[i].name);
        ck_assert_int_gt(fails_at_each(&q, i, whole, PAWL_UNAVAILABLE), 0);
        ck_assert_int_gt(fails_at_each(&q, i, whole, PAWL_CORRUPT), 0);
    }
}

/* ---- The world ---------------------------------------------------------------------------- */

static pawl_result kid(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result flow(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1) {
        pawl_ignore(pawl_call(ctx, "Echo", input));
        return pawl_continue_as_new(ctx, pawl_s("again"), NULL);
    }
    pawl_set_status(ctx, "half");
    pawl_ignore(pawl_state_set(ctx, "a", pawl_s("1")));
    pawl_ignore(pawl_state_set(ctx, "b", pawl_s("2")));
    pawl_task parts[] = {pawl_start_child(ctx, "Kid", input, PAWL_CHILD_OPTS(.instance = "kid")),
                         pawl_timer(ctx, PAWL_HOURS(1)), pawl_wait_event(ctx, "Go"),
                         pawl_start_with(ctx, "Flaky", pawl_s("9"),
                                         PAWL_CALL_OPTS(.attempts = 9, .initial_ms = 50000))};
    pawl_ignore(pawl_await_all(ctx, parts, 4));
    return pawl_done(ctx, "");
}

/* Without what a store of plain files lacks. */
static pawl_result plain_flow(pawl_ctx *ctx, pawl_str input)
{
    if (pawl_execution(ctx) == 1) {
        pawl_ignore(pawl_call(ctx, "Echo", input));
        return pawl_continue_as_new(ctx, pawl_s("again"), NULL);
    }
    return pawl_await(ctx, pawl_wait_event(ctx, "Go"));
}

static pawl_result ends(pawl_ctx *ctx, pawl_str input)
{
    return pawl_done_str(ctx, input);
}

static void begin(struct scene *s, pawl_orchestration_fn *fn)
{
    scene_flow(s, "Flow", fn);
    scene_flow(s, "Kid", kid);
    scene_flow(s, "Ends", ends);
    scene_start(s, "Flow", "i", "input");
    scene_raise(s, "i", "Other", "kept");
    scene_start(s, "Ends", "ended", "the end");
    expect_is(scene_do(s, PAWL_REQUEST(.op = PAWL_OP_START, .instance = "later", .name = "Ends",
                                       .data = pawl_s("\"later\""), .delay_ms = PAWL_HOURS(5))),
              PAWL_OK);
    scene_settle(s);
}

QUEUE_SCENARIO(a_question_whose_read_fails_is_told_so)
{
    const char *data;
    begin(s, flow);
    pawl_queue_config config = pawl_queue_config_default();
    config.max_locks = 5;
    q_config(s, "q", config);
    q_push(s, "q", "one", 3);
    q_push(s, "q", "two", 3);
    q_push(s, "q", "three", 5);
    q_push(s, "r", "x", 0);
    ck_assert_ptr_nonnull(q_lock(s, "q", 1, 60000, &data));
    ck_assert_ptr_nonnull(q_lock(s, "q", 1, 30000, &data));
    pawl_queue_messages list = {0};
    expect_is(pawl_queue_browse_messages(s->c, "q", NULL, s->mem, &list, NULL), PAWL_OK);
    expect_is(
        pawl_schedule_put(
            s->c, PAWL_SCHEDULE(.name = "n", .every_ms = 60000, .orchestration = "Ends"), 0, NULL),
        PAWL_OK);
    fails_at_every_read(s, list.items[0].id, true);
}

SCENARIO(a_question_about_instances_whose_read_fails_is_told_so)
{
    begin(s, plain_flow);
    fails_at_every_read(s, 0, false);
}

/* ---- Requests on queues --------------------------------------------------------------------- */

/* What each leaves in the queue "q" and beside it, in words. */
static const char *left_by(struct scene *s)
{
    static const char *const names[] = {"q", "q.dead", "q2"};
    pawl_str text = pawl_s("");
    for (size_t i = 0; i < 3; i++) {
        pawl_queue_stats st = {0};
        pawl_status rc = pawl_queue_get_stats(s->c, names[i], s->mem, &st, NULL);
        text = pawl_mem_printf(s->mem, "%.*s| %s: %d", PAWL_FMT(text), names[i], (int)rc);
        if (rc == PAWL_OK)
            text =
                pawl_mem_printf(s->mem, "%.*s %s, %s, %d %d", PAWL_FMT(text), q_counts(s, names[i]),
                                q_all(s, names[i]), st.paused, (int)st.config.max_deliveries);
    }
    return text.ptr;
}

enum deed { DEED_PUSH, DEED_TAKE, DEED_SETTLE, DEED_OTHER };

static const struct {
    const char *name;
    enum deed deed;
    pawl_queue_request request;
} requests[] = {
    {"push",       DEED_PUSH,   {.op = PAWL_QUEUE_PUSH, .queue = "q", .key = "k"}                          },
    {"push_new",   DEED_PUSH,   {.op = PAWL_QUEUE_PUSH, .queue = "q2", .key = "k"}                         },
    {"pop",        DEED_TAKE,   {.op = PAWL_QUEUE_POP, .queue = "q", .require_ack = true, .key = "k"}      },
    {"ack",        DEED_SETTLE, {.op = PAWL_QUEUE_ACK, .queue = "q", .key = "k"}                           },
    {"release",    DEED_SETTLE, {.op = PAWL_QUEUE_RELEASE, .queue = "q", .reason = "no"}                   },
    {"bury",       DEED_SETTLE, {.op = PAWL_QUEUE_DEADLETTER, .queue = "q", .reason = "bad"}               },
    {"extend",     DEED_SETTLE, {.op = PAWL_QUEUE_EXTEND, .queue = "q", .ttl_ms = 100000}                  },
    {"redrive",    DEED_OTHER,  {.op = PAWL_QUEUE_REDRIVE, .queue = "q.dead"}                              },
    {"redrive_to", DEED_OTHER,  {.op = PAWL_QUEUE_REDRIVE, .queue = "q.dead", .target = "q2"}              },
    {"purge",      DEED_OTHER,  {.op = PAWL_QUEUE_PURGE, .queue = "q"}                                     },
    {"purge_some",
     DEED_OTHER,                {.op = PAWL_QUEUE_PURGE, .queue = "q", .has_priority = true, .priority = 5}},
    {"pause",      DEED_OTHER,  {.op = PAWL_QUEUE_PAUSE, .queue = "q"}                                     },
    {"resume",     DEED_OTHER,  {.op = PAWL_QUEUE_RESUME, .queue = "q"}                                    },
    {"remove",     DEED_OTHER,  {.op = PAWL_QUEUE_REMOVE, .queue = "q", .force = true}                     },
};

/* A queue with four items, one of them locked, and a dead letter queue with one. */
static const char *prepare(struct scene *s)
{
    const char *data, *lock = q_lock(s, "q", 1, 60000, &data);
    pawl_queue_config config = pawl_queue_config_default();
    if (!lock) {
        for (int n = 0; n < 5; n++)
            q_push(s, "q", scene_id(s, "m", n), n < 3 ? 3 : 5);
        config.dead_letter_queue = pawl_s("q.dead");
        config.max_locks = 5;
        q_config(s, "q", config);
        expect_is(q_settle(s, PAWL_QUEUE_DEADLETTER, "q", q_lock(s, "q", 1, 60000, &data)),
                  PAWL_OK);
        lock = q_lock(s, "q", 1, 60000, &data);
    }
    ck_assert_ptr_nonnull(lock);
    return lock;
}

static bool is_over(pawl_status rc, bool again)
{
    return rc == PAWL_OK || (again && (rc == PAWL_LOST || rc == PAWL_NOT_FOUND));
}

/* Made until it is answered well; how many reads or commits failed on the way. */
static int make_it(struct scene *s, size_t which, const char *lock)
{
    pawl_queue_request r = requests[which].request;
    pawl_queue_item item = {.data = pawl_s("new"), .dedup_id = pawl_s("d")};
    r.size = sizeof(r);
    if (requests[which].deed == DEED_PUSH) {
        r.items = &item;
        r.item_count = 1;
    }
    if (requests[which].deed == DEED_SETTLE) {
        r.lock_ids = &lock;
        r.lock_count = 1;
    }
    for (int tries = 0; tries < 10; tries++) {
        pawl_queue_reply *reply = queue_do(s, &r);
        if (is_over(reply->status, tries > 0))
            return tries;
        ck_assert_msg(reply->error.text[0], "%s says nothing", requests[which].name);
        scene_settle(s);
        scene_advance(s, 2000);
    }
    ck_abort_msg("%s is never answered well", requests[which].name);
}

static const char *deed(enum scene_kind kind, size_t which, enum fault_op op, int nth,
                        pawl_status trouble, bool *retfell)
{
    struct scene *s = scene_open(kind);
    const char *lock = prepare(s);
    scene_restart(s); /* nothing of the queue is in memory */
    scene_up(s);
    scene_fail(s, op, nth, nth < 0 ? 0 : 1, FAULT_BEFORE, trouble);
    if (nth < 0)
        scene_fail(s, op, 0, 0, FAULT_BEFORE, trouble);
    (void)make_it(s, which, lock);
    *retfell = nth >= 0 && s->fault.left == 0;
    scene_fail(s, op, 0, 0, FAULT_BEFORE, trouble);
    scene_settle(s);
    static char text[4000];
    (void)snprintf(text, sizeof(text), "%s", left_by(s));
    scene_close(s);
    return text;
}

TEST(a_request_on_a_queue_that_met_trouble_is_done_once)
{
    static const enum fault_op ops[] = {FAULT_OP_queue_read, FAULT_OP_commit};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        bool fell;
        char whole[4000];
        (void)snprintf(whole, sizeof(whole), "%s",
                       deed(SCENE_MEMORY, i, FAULT_OP_commit, -1, PAWL_OK, &fell));
        for (size_t o = 0; o < 2; o++) {
            fell = true;
            for (int n = 0; fell && n < 40; n++) {
                const char *left = deed(SCENE_MEMORY, i, ops[o], n, PAWL_UNAVAILABLE, &fell);
                ck_assert_msg(strcmp(left, whole) == 0, "%s, %s %d failed:\n%s\nnot\n%s",
                              requests[i].name, fault_op_name(ops[o]), n, left, whole);
            }
        }
    }
}
