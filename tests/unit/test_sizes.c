/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sizes.c -- a program whose header is older or newer than the library.
 *
 * Every function NAME_sized is called as such a program would: with structs of half the size and
 * guard bytes behind them, with longer ones, and with arrays of other strides.  The library must
 * write what both know and nothing beyond it; what only the program knows is zero.  The last test
 * looks through include/pawl for functions that nobody calls here.
 */
#include "../harness.h"

#include "base/attr.h"
#include "pawl.h"
#include "pawl/backup.h"
#include "pawl/replay.h"
#include "pawl/sim.h"
#include "pawl/test.h"
#include "pawl/turns.h"
#include "pawl/worker.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD  0xA5
#define LONGER 40

/* ---- A program of another age --------------------------------------------------------- */

enum age { SAME, OLDER, NEWER };

static enum age ret_age, row_age; /* of what the library fills in, and of the items of arrays */

static size_t size_at(enum age age, size_t ours)
{
    return age == OLDER ? ours / 16 * 8 : age == NEWER ? ours + LONGER : ours;
}

static size_t ret_size(size_t ours)
{
    return size_at(ret_age, ours);
}

static size_t row_size(size_t ours)
{
    return size_at(row_age, ours);
}

/* Room for one answer of the library; the guards are behind the bytes that the program has. */
static _Alignas(16) unsigned char room[8192];

static void *empty_room(void)
{
    memset(room, GUARD, sizeof(room));
    return room;
}

/* The struct in the room ends where the program's does, and is zero where ours has ended. */
static void room_is_kept(size_t ours)
{
    size_t size = ret_size(ours);
    for (size_t i = ours; i < size; i++)
        ck_assert_msg(room[i] == 0, "byte %zu of %zu, ours %zu, is not zero", i, size, ours);
    for (size_t i = size; i < sizeof(room); i++)
        ck_assert_msg(room[i] == GUARD, "byte %zu is written, the struct has %zu", i, size);
}

/* A member of the struct in the room, if the program has it. */
#define HAS(T, member) (offsetof(T, member) + sizeof(((T *)0)->member) <= ret_size(sizeof(T)))
#define READ(T, member)                                                                            \
    (*(const __typeof__(((T *)0)->member) *)(void *)(room + offsetof(T, member)))

/* Item `i` of an array, as the program finds it. */
static const void *item_at(const void *items, size_t ours, size_t i)
{
    return (const char *)items + i * row_size(ours);
}

/* The first members of the items are those of our own items; the rest of a longer one is zero. */
static void items_are(const void *items, const void *own, size_t count, size_t ours, size_t first)
{
    ck_assert(count > 1 && items && own);
    for (size_t i = 0; i < count; i++) {
        const char *item = item_at(items, ours, i);
        ck_assert_msg(memcmp(item, (const char *)own + i * ours, first) == 0,
                      "item %zu is not where the program looks", i);
        for (size_t at = ours; at < row_size(ours); at++)
            ck_assert_msg(item[at] == 0, "byte %zu of item %zu is not zero", at, i);
    }
}

/* The same for items that begin with a text. */
static void texts_are(const void *items, const void *own, size_t count, size_t ours)
{
    ck_assert(count > 1 && items && own);
    for (size_t i = 0; i < count; i++) {
        const char *item = item_at(items, ours, i);
        pawl_str a, b;
        memcpy(&a, item, sizeof(a));
        memcpy(&b, (const char *)own + i * ours, sizeof(b));
        ck_assert_msg(pawl_str_eq(a, b), "item %zu is not where the program looks", i);
        for (size_t at = ours; at < row_size(ours); at++)
            ck_assert_msg(item[at] == 0, "byte %zu of item %zu is not zero", at, i);
    }
}

/* ---- Its world ------------------------------------------------------------------------------ */

static pawl_app *app;
static pawl_runtime *rt;
static pawl_client *c;
static pawl_mem *mem;
static pawl_error err;

static pawl_result waits(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    pawl_task tasks[] = {pawl_wait_event(ctx, "Go"), pawl_timer(ctx, PAWL_DAYS(1)),
                         pawl_start(ctx, "Far", pawl_s("1")), pawl_start(ctx, "Far", pawl_s("2"))};
    return pawl_await(ctx, tasks[pawl_await_any(ctx, tasks, COUNT_OF(tasks))]);
}

static pawl_result stuck(pawl_ctx *ctx, pawl_str input)
{
    (void)input;
    return pawl_await(ctx, pawl_wait_event(ctx, "Never"));
}

static pawl_result room_of_results(pawl_ctx *ctx, pawl_str input)
{
    pawl_result slept = pawl_sleep(ctx, 1), pushed = pawl_queue_push(ctx, "q", input, NULL);
    bool used = slept.reserved || pushed.reserved || pawl_done(ctx, "x").reserved ||
                pawl_fail(ctx, "x").reserved;
    return pawl_done(ctx, used ? "used" : "empty");
}

static void setup(pawl_app *to)
{
    pawl_register_orchestration(to, "Room", "1.0.0", room_of_results);
    pawl_register_orchestration(to, "Waits", "1.0.0", waits);
    pawl_register_orchestration(to, "Stuck", "1.0.0", stuck);
}

static void start(const char *id)
{
    pawl_reply reply;
    ck_assert_int_eq(
        pawl_client_start(c, "Waits", pawl_s("0"), PAWL_START_OPTS(.instance = id), &reply),
        PAWL_OK);
}

/* Until it waits for all four. */
static void wait_for(const char *id)
{
    pawl_info info = {0};
    while (info.waiting_count < 4) {
        ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
        pawl_mem_reset(mem);
        ck_assert_int_eq(pawl_client_get(c, id, 0, mem, &info, &err), PAWL_OK);
    }
}

static void open_world(void)
{
    app = pawl_app_new();
    mem = pawl_mem_new();
    setup(app);
    rt = pawl_runtime_open(app, PAWL_OPTIONS(.store = "memory:"), &err);
    ck_assert_msg(rt, "%s", err.text);
    c = pawl_runtime_client(rt);
    start("one");
    start("two");
    wait_for("one");
    wait_for("two");
}

static void close_world(void)
{
    pawl_runtime_close(rt);
    pawl_app_free(app);
    pawl_mem_free(mem);
}

/* A callback has run; there are no threads, so it runs in a step. */
static bool called;

static void wait_for_call(void)
{
    while (!called)
        ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
    called = false;
}

/* ---- pawl/client.h ------------------------------------------------------------------------- */

static const pawl_client_sizes *client_sizes(void)
{
    static pawl_client_sizes sizes;
    sizes = pawl_client_sizes_here;
    sizes.reply = ret_size(sizeof(pawl_reply));
    sizes.info = ret_size(sizeof(pawl_info));
    sizes.waiting = row_size(sizeof(pawl_waiting));
    sizes.page = ret_size(sizeof(pawl_page));
    sizes.history = ret_size(sizeof(pawl_history));
    sizes.change = row_size(sizeof(pawl_change));
    return &sizes;
}

static void reply_is_kept(pawl_status status, uint64_t instances)
{
    ck_assert_int_eq(READ(pawl_reply, status), status);
    ck_assert_uint_eq(READ(pawl_reply, instances), instances);
    if (HAS(pawl_reply, error))
        ck_assert_int_eq(READ(pawl_reply, error).status, PAWL_OK);
    room_is_kept(sizeof(pawl_reply));
}

static void try_start(void)
{
    const pawl_start_opts *opts = PAWL_START_OPTS(.instance = "three");
    pawl_status rc =
        pawl_client_start_sized(c, "Waits", pawl_s("0"), opts, empty_room(), client_sizes());
    ck_assert_int_eq(rc, PAWL_OK);
    ck_assert(READ(pawl_reply, created));
    ck_assert_str_eq((const char *)room + offsetof(pawl_reply, instance), "three");
    reply_is_kept(PAWL_OK, 0);
    rc = pawl_client_start_sized(c, "Waits", pawl_s("0"), opts, NULL, client_sizes());
    ck_assert_int_eq(rc, PAWL_OK);
}

static void try_call(void)
{
    const pawl_request *request =
        PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "two", .name = "Other");
    ck_assert_int_eq(pawl_client_call_sized(c, request, empty_room(), client_sizes()), PAWL_OK);
    reply_is_kept(PAWL_OK, 0);
    ck_assert_int_eq(pawl_client_call_sized(c, request, NULL, client_sizes()), PAWL_OK);
}

static void try_remove(void)
{
    pawl_status rc = pawl_client_remove_sized(c, "two", true, empty_room(), client_sizes());
    ck_assert_int_eq(rc, PAWL_OK);
    reply_is_kept(PAWL_OK, 1);
}

static void try_prune(void)
{
    ck_assert_int_eq(pawl_client_terminate(c, "two", "over", &err), PAWL_OK);
    pawl_status rc = pawl_client_prune_sized(c, INT64_MAX, 0, empty_room(), client_sizes());
    ck_assert_int_eq(rc, PAWL_OK);
    reply_is_kept(PAWL_OK, 1);
}

static void see_reply(void *arg, const pawl_reply *reply)
{
    ck_assert_ptr_eq(arg, &called);
    ck_assert_int_eq(reply->status, PAWL_OK);
    for (size_t i = sizeof(*reply); i < ret_size(sizeof(*reply)); i++)
        ck_assert_int_eq(((const char *)reply)[i], 0);
    called = true;
}

static void try_submit(void)
{
    const pawl_request *request =
        PAWL_REQUEST(.op = PAWL_OP_RAISE, .instance = "two", .name = "Other");
    ck_assert_int_eq(pawl_client_submit_sized(c, request, see_reply, &called, &err, client_sizes()),
                     PAWL_OK);
    wait_for_call();
    request = PAWL_REQUEST(.op = PAWL_OP_RESUME, .instance = "");
    ck_assert_int_eq(pawl_client_submit_sized(c, request, see_reply, &called, &err, client_sizes()),
                     PAWL_INVALID);
}

static void info_is_kept(const pawl_info *own)
{
    ck_assert(pawl_str_is(READ(pawl_info, instance), "one"));
    ck_assert_uint_eq(READ(pawl_info, uid), own->uid);
    if (HAS(pawl_info, waiting_count)) {
        ck_assert_uint_eq(READ(pawl_info, waiting_count), 4);
        items_are(READ(pawl_info, waiting), own->waiting, 4, sizeof(pawl_waiting),
                  offsetof(pawl_waiting, name));
    }
    if (HAS(pawl_info, max_crashes))
        ck_assert_uint_eq(READ(pawl_info, max_crashes), own->max_crashes);
    room_is_kept(sizeof(pawl_info));
}

static void try_get(void)
{
    pawl_info own;
    ck_assert_int_eq(pawl_client_get(c, "one", 0, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_client_get_sized(c, "one", 0, mem, empty_room(), &err, client_sizes()),
                     PAWL_OK);
    info_is_kept(&own);
    ck_assert_int_eq(pawl_client_get_sized(c, "none", 0, mem, empty_room(), &err, client_sizes()),
                     PAWL_NOT_FOUND);
    for (size_t i = ret_size(sizeof(own)); i < sizeof(room); i++)
        ck_assert_int_eq(room[i], GUARD);
}

static void try_wait(void)
{
    pawl_info own;
    ck_assert_int_eq(pawl_client_get(c, "one", 0, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(
        pawl_client_wait_sized(c, "one", 0, 0, mem, empty_room(), &err, client_sizes()),
        PAWL_TIMEOUT);
    info_is_kept(&own);
}

static void try_list(void)
{
    pawl_page own;
    pawl_client_sizes sizes = *client_sizes();
    sizes.info = row_size(sizeof(pawl_info)); /* here they are items */
    ck_assert_int_eq(pawl_client_list(c, NULL, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_client_list_sized(c, NULL, mem, empty_room(), &err, &sizes), PAWL_OK);
    ck_assert_uint_eq(READ(pawl_page, count), 2);
    texts_are(READ(pawl_page, items), own.items, own.count, sizeof(pawl_info));
    room_is_kept(sizeof(pawl_page));
}

static void try_history(void)
{
    pawl_history own;
    ck_assert_int_eq(pawl_client_history(c, "one", 0, 0, 0, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(
        pawl_client_history_sized(c, "one", 0, 0, 0, mem, empty_room(), &err, client_sizes()),
        PAWL_OK);
    ck_assert_uint_eq(READ(pawl_history, execution), 1);
    ck_assert_uint_eq(READ(pawl_history, events)[own.count - 1].seq, own.count);
    room_is_kept(sizeof(pawl_history));
}

static void see_changes(void *arg, const pawl_change *changes, size_t count)
{
    ck_assert_ptr_eq(arg, &called);
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++) {
        const char *item = item_at(changes, sizeof(pawl_change), i);
        const pawl_change *change = (const pawl_change *)(const void *)item;
        ck_assert_uint_eq(change->instance.len, 3);
        ck_assert_uint_eq(change->execution, 1);
        for (size_t at = sizeof(*change); at < row_size(sizeof(*change)); at++)
            ck_assert_int_eq(item[at], 0);
        if (row_age == OLDER)
            continue;
        ck_assert(change->ended);
        for (size_t at = sizeof(pawl_info); at < ret_size(sizeof(pawl_info)); at++)
            ck_assert_int_eq(((const char *)change->ended)[at], 0);
    }
    called = true;
}

static void try_feed(void)
{
    uint64_t feed = pawl_client_feed_sized(c, see_changes, &called, client_sizes());
    ck_assert(feed);
    for (int i = 0; i < 2; i++) /* no step in between: one commit for both */
        ck_assert_int_eq(pawl_client_submit(c,
                                            PAWL_REQUEST(.op = PAWL_OP_RAISE, .name = "Go",
                                                         .instance = i ? "two" : "one"),
                                            NULL, NULL, &err),
                         PAWL_OK);
    wait_for_call();
    pawl_client_unfeed(c, feed);
}

/* A program whose table of sizes ends early does not know the arrays behind its end. */
TEST(an_array_whose_size_is_not_given_is_not_handed_out)
{
    open_world();
    ret_age = row_age = SAME;
    pawl_client_sizes sizes = pawl_client_sizes_here;
    sizes.size = offsetof(pawl_client_sizes, waiting);
    ck_assert_int_eq(pawl_client_get_sized(c, "one", 0, mem, empty_room(), &err, &sizes), PAWL_OK);
    ck_assert_uint_eq(READ(pawl_info, uid) != 0, 1);
    ck_assert_ptr_null(READ(pawl_info, waiting));
    room_is_kept(sizeof(pawl_info));
    close_world();
}

/* ---- pawl/queue.h -------------------------------------------------------------------------- */

static const pawl_queue_sizes *queue_sizes(void)
{
    static pawl_queue_sizes sizes;
    sizes = (pawl_queue_sizes){.size = sizeof(sizes),
                               .item = row_size(sizeof(pawl_queue_item)),
                               .reply = ret_size(sizeof(pawl_queue_reply)),
                               .pushed = row_size(sizeof(pawl_queue_pushed)),
                               .message = row_size(sizeof(pawl_queue_message)),
                               .outcome = row_size(sizeof(pawl_queue_outcome)),
                               .config = ret_size(sizeof(pawl_queue_config)),
                               .stats = ret_size(sizeof(pawl_queue_stats)),
                               .level = row_size(sizeof(pawl_queue_level)),
                               .page = ret_size(sizeof(pawl_queue_page)),
                               .messages = ret_size(sizeof(pawl_queue_messages)),
                               .locks = ret_size(sizeof(pawl_queue_locks)),
                               .lock_info = row_size(sizeof(pawl_queue_lock_info))};
    return &sizes;
}

/* The same where a message is what the library fills in. */
static const pawl_queue_sizes *one_message(void)
{
    static pawl_queue_sizes sizes;
    sizes = *queue_sizes();
    sizes.message = ret_size(sizeof(pawl_queue_message));
    return &sizes;
}

/* Two items as the program has them: "A" with priority 1, and "B" with priority 2. */
static _Alignas(16) char given[2 * (sizeof(pawl_queue_item) + LONGER)];

static const pawl_queue_item *two_items(void)
{
    memset(given, 0, sizeof(given));
    for (int i = 0; i < 2; i++) {
        pawl_queue_item item = {.data = pawl_s(i ? "B" : "A"), .priority = i + 1};
        size_t size = row_size(sizeof(item));
        memcpy(given + (size_t)i * size, &item, size < sizeof(item) ? size : sizeof(item));
    }
    return (const pawl_queue_item *)(void *)given;
}

static const pawl_queue_request *push_two(void)
{
    static pawl_queue_request request;
    request = *PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_PUSH, .queue = "q", .items = two_items(),
                                  .item_count = 2);
    return &request;
}

/* Two items in the queue, and no limit of locks. */
static void fill_queue(void)
{
    pawl_queue_reply reply;
    pawl_queue_config config = pawl_queue_config_default();
    config.max_locks = 0;
    ck_assert_int_eq(pawl_queue_call(c,
                                     PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q",
                                                        .config = &config),
                                     mem, &reply),
                     PAWL_OK);
    for (int i = 0; i < 2; i++) {
        pawl_queue_item item = {.priority = i + 1};
        pawl_str data = pawl_s(i ? "B" : "A");
        ck_assert_int_eq(pawl_client_push(c, "q", data, &item, NULL, &err), PAWL_OK);
    }
}

static void messages_are_kept(const pawl_queue_message *messages)
{
    for (size_t i = 0; i < 2; i++) {
        const pawl_queue_message *m = item_at(messages, sizeof(*m), i);
        ck_assert(m->id && pawl_str_is(m->data, i ? "B" : "A"));
        ck_assert_int_eq(m->priority, (int)i + 1);
        for (size_t at = sizeof(*m); at < row_size(sizeof(*m)); at++)
            ck_assert_int_eq(((const char *)m)[at], 0);
    }
}

/* A configuration says how much of it is there, so that the program may hand it in again. */
static void config_is_kept(const void *config, uint32_t max_locks)
{
    size_t ours = sizeof(pawl_queue_config), size = ret_size(ours), said;
    memcpy(&said, config, sizeof(said));
    ck_assert_uint_eq(said, size < ours ? size : ours);
    ck_assert_uint_eq(((const pawl_queue_config *)config)->max_locks, max_locks);
    for (size_t at = ours; at < size; at++)
        ck_assert_int_eq(((const char *)config)[at], 0);
}

static void outcomes_are_kept(const pawl_queue_outcome *outcomes)
{
    for (size_t i = 0; i < 2; i++) {
        const pawl_queue_outcome *o = item_at(outcomes, sizeof(*o), i);
        ck_assert(pawl_str_is(o->lock_id, i ? "other" : "AAAAAAAAAAA"));
        for (size_t at = sizeof(*o); at < row_size(sizeof(*o)); at++)
            ck_assert_int_eq(((const char *)o)[at], 0);
    }
}

static void pushed_are_kept(const pawl_queue_pushed *pushed)
{
    const pawl_queue_pushed *first = item_at(pushed, sizeof(*first), 0);
    const pawl_queue_pushed *second = item_at(pushed, sizeof(*second), 1);
    ck_assert(first->id);
    ck_assert_uint_eq(second->id, first->id + 1);
}

static const pawl_queue_request *requests[4];

/* A push, a pop, acks that fail, and a configuration: they have all arrays of a reply. */
static void make_requests(void)
{
    static const char *const ids[] = {"AAAAAAAAAAA", "other"};
    static pawl_queue_request pop, ack, configure;
    static pawl_queue_config config;
    config = pawl_queue_config_default();
    config.max_locks = 7;
    pop = *PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .count = 2);
    ack = *PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_ACK, .queue = "q", .lock_ids = ids, .lock_count = 2);
    configure = *PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "q", .config = &config);
    requests[0] = push_two();
    requests[1] = &pop;
    requests[2] = &ack;
    requests[3] = &configure;
}

static void see_queue_reply(void *arg, const pawl_queue_reply *reply)
{
    const pawl_queue_request *request = arg;
    ck_assert_int_eq(reply->status, request->op == PAWL_QUEUE_ACK ? PAWL_NOT_FOUND : PAWL_OK);
    for (size_t at = sizeof(*reply); at < ret_size(sizeof(*reply)); at++)
        ck_assert_int_eq(((const char *)reply)[at], 0);
    if (request->op == PAWL_QUEUE_PUSH)
        pushed_are_kept(reply->pushed);
    if (request->op == PAWL_QUEUE_POP)
        messages_are_kept(reply->messages);
    if (request->op == PAWL_QUEUE_ACK)
        outcomes_are_kept(reply->outcomes);
    if (request->op == PAWL_QUEUE_CONFIGURE)
        config_is_kept(reply->config, 7);
    called = true;
}

static void try_queue_submit(void)
{
    make_requests();
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        pawl_queue_request request = *requests[i];
        ck_assert_int_eq(
            pawl_queue_submit_sized(c, &request, see_queue_reply, &request, &err, queue_sizes()),
            PAWL_OK);
        memset(&request.items, GUARD, sizeof(request.items)); /* it was copied */
        wait_for_call();
    }
}

/* A pop that waits is withdrawn by what the program gave as `arg`. */
static void see_nothing(void *arg, const pawl_queue_reply *reply)
{
    ck_assert_ptr_eq(arg, &called);
    ck_assert_int_eq(reply->status, PAWL_OK);
    ck_assert_uint_eq(reply->message_count, 0);
    called = true;
}

TEST(a_pop_of_an_older_program_is_withdrawn)
{
    ret_age = row_age = OLDER;
    open_world();
    ck_assert_int_eq(pawl_queue_submit_sized(
                         c,
                         PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_POP, .queue = "q", .wait_ms = 30000),
                         see_nothing, &called, &err, queue_sizes()),
                     PAWL_OK);
    ck_assert_int_ge(pawl_runtime_step(rt, 0), 0);
    pawl_client_withdraw(c, &called);
    wait_for_call();
    close_world();
}

static void try_queue_call(void)
{
    make_requests();
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        pawl_queue_op op = requests[i]->op;
        pawl_status want = op == PAWL_QUEUE_ACK ? PAWL_NOT_FOUND : PAWL_OK;
        ck_assert_int_eq(pawl_queue_call_sized(c, requests[i], mem, empty_room(), queue_sizes()),
                         want);
        ck_assert_int_eq(READ(pawl_queue_reply, status), want);
        if (op == PAWL_QUEUE_PUSH && HAS(pawl_queue_reply, pushed))
            pushed_are_kept(READ(pawl_queue_reply, pushed));
        if (op == PAWL_QUEUE_POP && HAS(pawl_queue_reply, messages))
            messages_are_kept(READ(pawl_queue_reply, messages));
        if (op == PAWL_QUEUE_ACK && HAS(pawl_queue_reply, outcomes))
            outcomes_are_kept(READ(pawl_queue_reply, outcomes));
        if (op == PAWL_QUEUE_CONFIGURE && HAS(pawl_queue_reply, config))
            config_is_kept(READ(pawl_queue_reply, config), 7);
        room_is_kept(sizeof(pawl_queue_reply));
    }
    ck_assert_int_eq(pawl_queue_call_sized(c, NULL, mem, empty_room(), queue_sizes()), PAWL_MISUSE);
    room_is_kept(sizeof(pawl_queue_reply));
}

static void try_push(void)
{
    pawl_queue_message own;
    ck_assert_int_eq(
        pawl_client_push_sized(c, "q", pawl_s("C"), two_items(), NULL, &err, queue_sizes()),
        PAWL_OK);
    ck_assert_int_eq(pawl_client_pop(c, "q", 0, mem, &own, &err), PAWL_OK);
    ck_assert(pawl_str_is(own.data, "C") && own.priority == 1 && !own.visible_ms && !own.group.len);
}

static void message_is_kept(pawl_status status)
{
    ck_assert_int_eq(status, PAWL_OK);
    ck_assert(pawl_str_is(READ(pawl_queue_message, data), "A"));
    ck_assert_int_eq(READ(pawl_queue_message, priority), 1);
    room_is_kept(sizeof(pawl_queue_message));
}

static void try_pop(void)
{
    fill_queue();
    message_is_kept(pawl_client_pop_sized(c, "q", 0, mem, empty_room(), &err, one_message()));
}

static void try_pop_locked(void)
{
    fill_queue();
    message_is_kept(
        pawl_client_pop_locked_sized(c, "q", 0, 0, mem, empty_room(), &err, one_message()));
    if (HAS(pawl_queue_message, lock_id))
        ck_assert_uint_eq(READ(pawl_queue_message, lock_id).len, PAWL_QUEUE_LOCK_CHARS);
}

static void try_get_message(void)
{
    pawl_queue_messages own;
    fill_queue();
    ck_assert_int_eq(pawl_queue_browse_messages(c, "q", NULL, mem, &own, &err), PAWL_OK);
    message_is_kept(pawl_queue_get_message_sized(c, "q", own.items[0].id, mem, empty_room(), &err,
                                                 one_message()));
}

static void try_browse(void)
{
    fill_queue();
    ck_assert_int_eq(
        pawl_queue_browse_messages_sized(c, "q", NULL, mem, empty_room(), &err, queue_sizes()),
        PAWL_OK);
    messages_are_kept(READ(pawl_queue_messages, items));
    room_is_kept(sizeof(pawl_queue_messages));
}

static void try_get_locks(void)
{
    pawl_queue_message own;
    pawl_queue_locks locks;
    fill_queue();
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pawl_client_pop_locked(c, "q", 0, 0, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_queue_get_locks(c, "q", mem, &locks, &err), PAWL_OK);
    ck_assert_int_eq(pawl_queue_get_locks_sized(c, "q", mem, empty_room(), &err, queue_sizes()),
                     PAWL_OK);
    texts_are(READ(pawl_queue_locks, items), locks.items, locks.count,
              sizeof(pawl_queue_lock_info));
    room_is_kept(sizeof(pawl_queue_locks));
}

static void try_get_stats(void)
{
    pawl_queue_stats own;
    fill_queue();
    ck_assert_int_eq(pawl_queue_get_stats(c, "q", mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_queue_get_stats_sized(c, "q", mem, empty_room(), &err, queue_sizes()),
                     PAWL_OK);
    ck_assert(pawl_str_is(READ(pawl_queue_stats, name), "q"));
    ck_assert_uint_eq(READ(pawl_queue_stats, ready), 2);
    if (HAS(pawl_queue_stats, levels))
        items_are(READ(pawl_queue_stats, levels), own.levels, own.level_count,
                  sizeof(pawl_queue_level), sizeof(int64_t));
    if (HAS(pawl_queue_stats, config))
        config_is_kept(room + offsetof(pawl_queue_stats, config), 0);
    room_is_kept(sizeof(pawl_queue_stats));
}

/* The configuration inside the figures is shorter, and nothing is behind it. */
TEST(an_older_configuration_inside_of_figures)
{
    ret_age = row_age = SAME;
    open_world();
    fill_queue();
    size_t before = offsetof(pawl_queue_stats, config);
    pawl_queue_sizes sizes = pawl_queue_sizes_here;
    sizes.config = sizeof(pawl_queue_config) / 2;
    sizes.stats = before + sizes.config;
    ck_assert_int_eq(pawl_queue_get_stats_sized(c, "q", mem, empty_room(), &err, &sizes), PAWL_OK);
    ck_assert_uint_eq(READ(pawl_queue_stats, config.size), sizes.config);
    ck_assert_int_eq(READ(pawl_queue_stats, config.default_ttl_ms), 30000);
    for (size_t i = sizes.stats; i < sizeof(room); i++)
        ck_assert_int_eq(room[i], GUARD);
    close_world();
}

static void try_get_config(void)
{
    fill_queue();
    ck_assert_int_eq(pawl_queue_get_config_sized(c, "q", mem, empty_room(), &err, queue_sizes()),
                     PAWL_OK);
    config_is_kept(room, 0);
    room_is_kept(sizeof(pawl_queue_config));
    /* What was returned may be handed in. */
    const pawl_queue_request *request =
        PAWL_QUEUE_REQUEST(.op = PAWL_QUEUE_CONFIGURE, .queue = "r",
                           .config = (const pawl_queue_config *)(void *)room);
    pawl_queue_reply reply;
    ck_assert_int_eq(pawl_queue_call(c, request, mem, &reply), PAWL_OK);
    ck_assert_uint_eq(reply.config->max_locks, 0);
}

static void try_schedule(void)
{
    pawl_str json = pawl_s("{\"every_ms\":5000,\"queue\":\"q\",\"allow_unregistered\":true}");
    ck_assert_int_eq(pawl_schedule_from_json_sized(json, mem, empty_room(), &err,
                                                   ret_size(sizeof(pawl_schedule))),
                     PAWL_OK);
    room_is_kept(sizeof(pawl_schedule));
    ck_assert_int_eq(READ(pawl_schedule, every_ms), 5000);
    ck_assert(!HAS(pawl_schedule, allow_unregistered) || READ(pawl_schedule, allow_unregistered));
    ck_assert(READ(pawl_schedule, size) <= ret_size(sizeof(pawl_schedule)));
}

static void try_config_default(void)
{
    pawl_queue_config_default_sized(empty_room(), queue_sizes());
    config_is_kept(room, 1);
    room_is_kept(sizeof(pawl_queue_config));
}

static void try_queue_list(void)
{
    pawl_queue_page own;
    pawl_queue_sizes sizes = *queue_sizes();
    sizes.config = row_size(sizeof(pawl_queue_config));
    sizes.stats = row_size(sizeof(pawl_queue_stats)); /* here they are items */
    fill_queue();
    ck_assert_int_eq(pawl_client_push(c, "r", pawl_s("1"), NULL, NULL, &err), PAWL_OK);
    ck_assert_int_eq(pawl_queue_list(c, NULL, NULL, 0, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_queue_list_sized(c, NULL, NULL, 0, mem, empty_room(), &err, &sizes),
                     PAWL_OK);
    texts_are(READ(pawl_queue_page, items), own.items, own.count, sizeof(pawl_queue_stats));
    room_is_kept(sizeof(pawl_queue_page));
}

TEST(an_item_of_a_newer_program_that_is_not_understood_is_refused)
{
    ret_age = row_age = NEWER;
    open_world();
    pawl_queue_request request = *push_two();
    char *second = given + row_size(sizeof(pawl_queue_item));
    second[sizeof(pawl_queue_item) + 3] = 1;
    ck_assert_int_eq(pawl_queue_submit_sized(c, &request, NULL, NULL, &err, queue_sizes()),
                     PAWL_MISUSE);
    ck_assert_ptr_nonnull(strstr(err.text, "pawl_queue_item has a member that this library"));
    ck_assert_int_eq(pawl_queue_call_sized(c, &request, mem, empty_room(), queue_sizes()),
                     PAWL_MISUSE);
    ck_assert_int_eq(READ(pawl_queue_reply, status), PAWL_MISUSE);
    room_is_kept(sizeof(pawl_queue_reply));
    const pawl_queue_item *item = (const pawl_queue_item *)(void *)second;
    ck_assert_int_eq(pawl_client_push_sized(c, "q", pawl_s("1"), item, NULL, &err, queue_sizes()),
                     PAWL_MISUSE);
    close_world();
}

/* ---- pawl/worker.h -------------------------------------------------------------------------- */

static char tokens[4][100];
static size_t token_count;

static const pawl_worker_sizes *worker_sizes(void)
{
    static pawl_worker_sizes sizes;
    sizes = (pawl_worker_sizes){.size = sizeof(sizes),
                                .reply = ret_size(sizeof(pawl_worker_reply)),
                                .lease = row_size(sizeof(pawl_lease)),
                                .page = ret_size(sizeof(pawl_worker_page)),
                                .info = ret_size(sizeof(pawl_worker_info)),
                                .held = row_size(sizeof(pawl_held))};
    return &sizes;
}

static void see_leases(void *arg, const pawl_worker_reply *reply)
{
    ck_assert_ptr_eq(arg, &called);
    ck_assert_int_eq(reply->status, PAWL_OK);
    for (size_t at = sizeof(*reply); at < ret_size(sizeof(*reply)); at++)
        ck_assert_int_eq(((const char *)reply)[at], 0);
    for (size_t i = 0; i < reply->count; i++) {
        const pawl_lease *lease = item_at(reply->leases, sizeof(*lease), i);
        ck_assert(lease->instance.len == 3 && lease->execution == 1 && token_count < 4);
        (void)snprintf(tokens[token_count++], sizeof(tokens[0]), "%s", lease->token.ptr);
        for (size_t at = sizeof(*lease); at < row_size(sizeof(*lease)); at++)
            ck_assert_int_eq(((const char *)lease)[at], 0);
    }
    called = true;
}

static void poll_as(const char *worker)
{
    static const char *const names[] = {"Far"};
    pawl_poll poll = {.size = sizeof(poll), .activities = names, .activity_count = 1, .max = 2};
    poll.worker = worker;
    ck_assert_int_eq(pawl_worker_poll_sized(c, &poll, see_leases, &called, &err, worker_sizes()),
                     PAWL_OK);
    wait_for_call();
}

static void try_poll(void)
{
    token_count = 0;
    poll_as("w1");
    ck_assert_uint_eq(token_count, 2);
    ck_assert_str_ne(tokens[0], tokens[1]);
}

static void try_extend(void)
{
    try_poll();
    ck_assert_int_eq(
        pawl_worker_extend_sized(c, tokens[1], 1000, see_leases, &called, &err, worker_sizes()),
        PAWL_OK);
    wait_for_call();
}

static void try_beat(void)
{
    try_poll();
    ck_assert_int_eq(pawl_worker_beat_sized(c, tokens[1], 1000, pawl_s("half"), see_leases, &called,
                                            &err, worker_sizes()),
                     PAWL_OK);
    wait_for_call();
}

static void try_abandon(void)
{
    try_poll();
    ck_assert_int_eq(
        pawl_worker_abandon_sized(c, tokens[1], 0, see_leases, &called, &err, worker_sizes()),
        PAWL_OK);
    wait_for_call();
}

/* Programs that speak for workers of other languages are compiled with the library: a struct of
 * another size is refused before anything is read. */
static void see_turns(void *arg, const pawl_turns_reply *reply)
{
    ck_assert_ptr_eq(arg, &called);
    ck_assert_int_eq(reply->status, PAWL_OK);
    called = true;
}

static void try_turns(void)
{
    const pawl_turn_code code = {pawl_s("Elsewhere"), pawl_s("1.0.0")};
    const pawl_turns q = {.protocol = PAWL_TURNS_PROTOCOL,
                          .session = pawl_s("0123456789abcdef"),
                          .code = &code,
                          .code_count = 1,
                          .has_code = true};
    const size_t sizes[8] = {
        ret_size(sizeof(pawl_turns)),         row_size(sizeof(pawl_turn_answer)),
        row_size(sizeof(pawl_turn_step)),     row_size(sizeof(pawl_decision)),
        ret_size(sizeof(pawl_turns_reply)),   row_size(sizeof(pawl_turn)),
        row_size(sizeof(pawl_turn_answered)), row_size(sizeof(pawl_turn_lease))};
    bool same = ret_age == SAME && row_age == SAME;
    pawl_status rc = pawl_turns_exchange_sized(c, &q, see_turns, &called, &err, sizes);
    ck_assert_int_eq(rc, same ? PAWL_OK : PAWL_MISUSE);
    if (same)
        wait_for_call();
    else
        ck_assert_ptr_nonnull(strstr(err.text, "compile it again"));
}

static void try_worker_list(void)
{
    pawl_worker_page own;
    try_poll();
    poll_as("w2");
    ck_assert_int_eq(pawl_worker_list(c, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_worker_list_sized(c, mem, empty_room(), &err, worker_sizes()), PAWL_OK);
    ck_assert_uint_eq(own.count, 2);
    const char *at = (const char *)READ(pawl_worker_page, items);
    for (size_t i = 0; i < 2; i++, at += ret_size(sizeof(pawl_worker_info))) {
        const pawl_worker_info *info = (const pawl_worker_info *)(const void *)at;
        ck_assert(pawl_str_is(info->worker, i ? "w2" : "w1"));
        if (HAS(pawl_worker_info, held_count)) {
            ck_assert_uint_eq(info->held_count, 2);
            texts_are(info->held, own.items[i].held, 2, sizeof(pawl_held));
        }
    }
    room_is_kept(sizeof(pawl_worker_page));
}

/* ---- pawl/runtime.h --------------------------------------------------------------------------- */

static const pawl_runtime_sizes *runtime_sizes(void)
{
    static pawl_runtime_sizes sizes;
    sizes = (pawl_runtime_sizes){.size = sizeof(sizes),
                                 .code = row_size(sizeof(pawl_code)),
                                 .stats = ret_size(sizeof(pawl_stats)),
                                 .tally = row_size(sizeof(pawl_tally))};
    return &sizes;
}

static void try_code(void)
{
    const pawl_code *own, *list;
    size_t count = pawl_app_code(app, mem, &own);
    ck_assert_uint_eq(pawl_app_code_sized(app, mem, &list, runtime_sizes()), count);
    items_are(list, own, count, sizeof(pawl_code), sizeof(own->name)); /* texts of the app */
}

static void try_tallies(void)
{
    const pawl_tally *own, *list;
    pawl_reply reply;
    ck_assert_int_eq(pawl_client_start(c, "Stuck", pawl_s("0"), NULL, &reply), PAWL_OK);
    size_t count = pawl_runtime_tallies(rt, mem, &own);
    ck_assert_uint_eq(pawl_runtime_tallies_sized(rt, mem, &list, runtime_sizes()), count);
    texts_are(list, own, count, sizeof(pawl_tally));
}

static void try_stats(void)
{
    pawl_stats own;
    pawl_runtime_stats(rt, &own);
    pawl_runtime_stats_sized(rt, empty_room(), runtime_sizes());
    ck_assert(own.turns && own.instances == 2);
    ck_assert_uint_eq(READ(pawl_stats, turns), own.turns);
    if (HAS(pawl_stats, instances))
        ck_assert_uint_eq(READ(pawl_stats, instances), 2);
    room_is_kept(sizeof(pawl_stats));
}

static void try_counters(void)
{
    pawl_stats own;
    pawl_runtime_counters(rt, &own);
    pawl_runtime_counters_sized(rt, empty_room(), runtime_sizes());
    ck_assert(own.turns && !own.instances);
    ck_assert_uint_eq(READ(pawl_stats, turns), own.turns);
    room_is_kept(sizeof(pawl_stats));
}

/* ---- The other headers -------------------------------------------------------------------------- */

static void try_backup(void)
{
    char dir[] = "/tmp/pawl-sizes-XXXXXX", words[3][100];
    ck_assert(mkdtemp(dir));
    for (int i = 0; i < 3; i++)
        (void)snprintf(words[i], sizeof(words[0]), "%s%s/%s", i ? "" : "sqlite:", dir,
                       i == 0   ? "a.db"
                       : i == 1 ? "copy"
                                : "new/b.db");
    pawl_app *other = pawl_app_new();
    pawl_runtime *r = pawl_runtime_open(other, PAWL_OPTIONS(.store = words[0], .data = dir), &err);
    ck_assert_msg(r, "%s", err.text);
    ck_assert_int_eq(pawl_sqlite_backup_sized(words[0] + 7, words[1], false, empty_room(), &err,
                                              ret_size(sizeof(pawl_backup_info))),
                     PAWL_OK);
    ck_assert(READ(pawl_backup_info, bytes));
    room_is_kept(sizeof(pawl_backup_info));
    pawl_runtime_close(r);
    pawl_app_free(other);
    ck_assert_int_eq(pawl_sqlite_restore_sized(words[1], words[2], empty_room(), &err,
                                               ret_size(sizeof(pawl_backup_info))),
                     PAWL_OK);
    ck_assert(READ(pawl_backup_info, bytes));
    room_is_kept(sizeof(pawl_backup_info));
    char remove[200];
    (void)snprintf(remove, sizeof(remove), "rm -r %s", dir);
    ck_assert_int_eq(system(remove), 0); // NOLINT
}

static void try_replay(void)
{
    pawl_info info;
    pawl_history own;
    ck_assert_int_eq(pawl_client_get(c, "one", 0, mem, &info, &err), PAWL_OK);
    ck_assert_int_eq(pawl_client_history(c, "one", 0, 0, 0, mem, &own, &err), PAWL_OK);
    ck_assert_int_eq(pawl_replay_sized(app, &info, own.events, own.count, NULL, empty_room(), &err,
                                       ret_size(sizeof(pawl_replay_report))),
                     PAWL_OK);
    ck_assert_int_eq(READ(pawl_replay_report, outcome), PAWL_REPLAY_WAITS);
    ck_assert_uint_eq(READ(pawl_replay_report, events), own.count);
    room_is_kept(sizeof(pawl_replay_report));
}

static void try_sim(void)
{
    ck_assert_int_eq(pawl_sim_sized(app, PAWL_SIM_OPTS(.orchestration = "Stuck", .seeds = 1), mem,
                                    empty_room(), &err, ret_size(sizeof(pawl_sim_report)),
                                    row_size(sizeof(pawl_sim_line))),
                     PAWL_OK);
    ck_assert_int_eq(READ(pawl_sim_report, problem), PAWL_SIM_HANG);
    if (HAS(pawl_sim_report, line_count)) {
        ck_assert_uint_ge(READ(pawl_sim_report, line_count), 2);
        for (size_t i = 0; i < READ(pawl_sim_report, line_count); i++) {
            const pawl_sim_line *line =
                item_at(READ(pawl_sim_report, lines), sizeof(pawl_sim_line), i);
            ck_assert(line->is_fault || line->instance.len);
            for (size_t at = sizeof(*line); at < row_size(sizeof(*line)); at++)
                ck_assert_int_eq(((const char *)line)[at], 0);
        }
    }
    room_is_kept(sizeof(pawl_sim_report));
}

static void try_test_history(void)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "Stuck", NULL);
    (void)pawl_test_run(t);
    pawl_test_history_sized(t, empty_room(), ret_size(sizeof(pawl_history)));
    ck_assert_uint_eq(READ(pawl_history, execution), 1);
    ck_assert_uint_eq(READ(pawl_history, events)[1].seq, 2);
    room_is_kept(sizeof(pawl_history));
    ck_assert_int_eq(pawl_test_end(t), 0);
}

/* ---- What ABI 2 says ------------------------------------------------------------------------------ */

/* Members are added behind the last one of ABI 2, which stays where it is; some structs never
 * change.  Numbers of a machine with 64 bits. */
#define LAST(T, member, was) {#T, offsetof(T, member), was},
#define WHOLE(T, was)        {#T, sizeof(T), was},

static const struct {
    const char *name;
    size_t is, was;
} layout[] = {
    /* clang-format off */
    LAST(pawl_reply, error, 556) LAST(pawl_info, max_crashes, 236) LAST(pawl_waiting, tries, 160)
    LAST(pawl_page, next, 16) LAST(pawl_history, next, 24) LAST(pawl_change, ended, 64)
    LAST(pawl_queue_item, headers, 88) LAST(pawl_queue_reply, more, 640)
    LAST(pawl_queue_pushed, duplicate, 16) LAST(pawl_queue_message, lock_id, 136)
    LAST(pawl_queue_outcome, expires_ms, 32) LAST(pawl_queue_config, version, 136)
    LAST(pawl_queue_stats, config, 208) LAST(pawl_queue_level, ready, 8)
    LAST(pawl_queue_page, next, 16) LAST(pawl_queue_messages, cursor, 24)
    LAST(pawl_queue_locks, count, 8) LAST(pawl_queue_lock_info, items, 32)
    LAST(pawl_worker_reply, error, 36) LAST(pawl_lease, locked_until_ms, 104)
    LAST(pawl_worker_page, count, 8) LAST(pawl_worker_info, held_count, 72)
    LAST(pawl_held, until_ms, 40) LAST(pawl_code, file, 16)
    LAST(pawl_stats, instances_cancelled, 608) LAST(pawl_tally, counts, 24)
    LAST(pawl_backup_info, schema, 40) LAST(pawl_replay_report, site, 752)
    LAST(pawl_sim_report, virtual_ms, 136) LAST(pawl_sim_line, data, 80) WHOLE(pawl_str, 16)
    WHOLE(pawl_task, 8) WHOLE(pawl_error, 504) WHOLE(pawl_result, 32)
    WHOLE(pawl_history_event, 80) WHOLE(pawl_json_iter, 72) WHOLE(pawl_env, 40)
    WHOLE(pawl_replay_step, 24) WHOLE(pawl_sim_activity, 24) WHOLE(pawl_sim_event, 16)
    WHOLE(pawl_test_answer, 32)
    /* clang-format on */
};

TEST(structs_grow_at_the_end_only)
{
    for (size_t i = 0; sizeof(void *) == 8 && i < COUNT_OF(layout); i++)
        ck_assert_msg(layout[i].is == layout[i].was, "%s has another layout: %zu, not %zu",
                      layout[i].name, layout[i].is, layout[i].was);
}

TEST(a_result_has_room_that_nobody_uses_yet)
{
    pawl_test *t = pawl_test_new(setup);
    pawl_test_start(t, "Room", NULL);
    (void)pawl_test_run(t);
    PAWL_EXPECT_COMPLETED(t, "empty");
    ck_assert_int_eq(pawl_test_end(t), 0);
}

/* ---- All of them --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {
    {"pawl_client_start_sized",          try_start         },
    {"pawl_client_call_sized",           try_call          },
    {"pawl_client_remove_sized",         try_remove        },
    {"pawl_client_prune_sized",          try_prune         },
    {"pawl_client_submit_sized",         try_submit        },
    {"pawl_client_get_sized",            try_get           },
    {"pawl_client_wait_sized",           try_wait          },
    {"pawl_client_list_sized",           try_list          },
    {"pawl_client_history_sized",        try_history       },
    {"pawl_client_feed_sized",           try_feed          },
    {"pawl_queue_submit_sized",          try_queue_submit  },
    {"pawl_queue_call_sized",            try_queue_call    },
    {"pawl_client_push_sized",           try_push          },
    {"pawl_client_pop_sized",            try_pop           },
    {"pawl_client_pop_locked_sized",     try_pop_locked    },
    {"pawl_queue_get_message_sized",     try_get_message   },
    {"pawl_queue_browse_messages_sized", try_browse        },
    {"pawl_queue_get_locks_sized",       try_get_locks     },
    {"pawl_queue_get_stats_sized",       try_get_stats     },
    {"pawl_queue_get_config_sized",      try_get_config    },
    {"pawl_queue_config_default_sized",  try_config_default},
    {"pawl_queue_list_sized",            try_queue_list    },
    {"pawl_worker_poll_sized",           try_poll          },
    {"pawl_worker_extend_sized",         try_extend        },
    {"pawl_worker_beat_sized",           try_beat          },
    {"pawl_worker_abandon_sized",        try_abandon       },
    {"pawl_worker_list_sized",           try_worker_list   },
    {"pawl_turns_exchange_sized",        try_turns         },
    {"pawl_app_code_sized",              try_code          },
    {"pawl_runtime_tallies_sized",       try_tallies       },
    {"pawl_runtime_stats_sized",         try_stats         },
    {"pawl_runtime_counters_sized",      try_counters      },
    {"pawl_sqlite_backup_sized",         try_backup        },
    {"pawl_sqlite_restore_sized",        try_backup        },
    {"pawl_replay_sized",                try_replay        },
    {"pawl_sim_sized",                   try_sim           },
    {"pawl_schedule_from_json_sized",    try_schedule      },
    {"pawl_test_history_sized",          try_test_history  },
};

static void try_all(enum age ret, enum age row)
{
    ret_age = ret;
    row_age = row;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        open_world();
        calls[i].run();
        close_world();
    }
}

TEST(an_older_program_is_not_written_beyond_its_structs)
{
    try_all(OLDER, SAME);
}

TEST(an_older_program_finds_items_where_it_looks)
{
    try_all(SAME, OLDER);
}

TEST(an_older_program_with_short_structs_and_items)
{
    try_all(OLDER, OLDER);
}

TEST(a_newer_program_finds_zeroes_in_what_the_library_lacks)
{
    try_all(NEWER, NEWER);
}

TEST(a_program_of_the_same_age)
{
    try_all(SAME, SAME);
}

/* ---- What a call says of a failure reaches every program ----------------------------------------- */

#define FAILS(call) ck_assert_msg((call) == PAWL_INVALID, "%s", #call)

static void fail_all(void)
{
    const char *bad = "..";
    FAILS(pawl_queue_get_message_sized(c, bad, 1, mem, empty_room(), &err, one_message()));
    FAILS(pawl_queue_browse_messages_sized(c, bad, NULL, mem, empty_room(), &err, queue_sizes()));
    FAILS(pawl_queue_get_locks_sized(c, bad, mem, empty_room(), &err, queue_sizes()));
    FAILS(pawl_queue_get_stats_sized(c, bad, mem, empty_room(), &err, queue_sizes()));
    FAILS(pawl_queue_get_config_sized(c, bad, mem, empty_room(), &err, queue_sizes()));
}

TEST(a_failure_is_told_to_programs_of_every_age)
{
    for (int i = 0; i < 9; i++) {
        ret_age = (enum age)(i / 3);
        row_age = (enum age)(i % 3);
        open_world();
        fail_all();
        close_world();
    }
}

static bool is_called(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (strcmp(calls[i].name, name) == 0)
            return true;
    return false;
}

static void look_through(const char *path)
{
    static char text[100000];
    FILE *f = fopen(path, "re");
    ck_assert(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    ck_assert(!fclose(f));
    for (char *at = text; (at = strstr(at, "_sized(")); at += 7) {
        char *name = at;
        while (name > text && (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z')))
            name--;
        at[6] = 0;
        ck_assert_msg(is_called(name), "%s() of %s is not called here", name, path);
        at[6] = '(';
    }
}

TEST(no_sized_call_is_left_out)
{
    char here[400], pattern[500];
    glob_t found;
    (void)snprintf(here, sizeof(here), "%s", __FILE__);
    char *dir = strstr(here, "tests/unit");
    ck_assert(dir);
    *dir = 0;
    (void)snprintf(pattern, sizeof(pattern), "%sinclude/pawl/*.h", here);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        look_through(found.gl_pathv[i]);
    globfree(&found);
}
