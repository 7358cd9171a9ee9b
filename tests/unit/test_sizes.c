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
    ck_assert_int_eq(pawl_register_orchestration(app, "Waits", "1.0.0", waits), PAWL_OK);
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

/* ---- All of them --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {
    {"pawl_client_start_sized",   try_start  },
    {"pawl_client_call_sized",    try_call   },
    {"pawl_client_remove_sized",  try_remove },
    {"pawl_client_prune_sized",   try_prune  },
    {"pawl_client_submit_sized",  try_submit },
    {"pawl_client_get_sized",     try_get    },
    {"pawl_client_wait_sized",    try_wait   },
    {"pawl_client_list_sized",    try_list   },
    {"pawl_client_history_sized", try_history},
    {"pawl_client_feed_sized",    try_feed   },
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
