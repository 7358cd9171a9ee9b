/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_lanes.c -- several lanes on one database, and a bad network between them
 * and the server.
 *
 * What lanes may do is in tests/conformance (clauses E).  Here: a commit of a lane that was buried
 * and arrives late, operations that are cut at any byte, blocks of ids after a crash of the server,
 * lanes that insert the same ids, and what a lane costs that is alone.
 */
#include "../harness.h"
#include "chains.h"
#include "proxy.h"
#include "store/postgres/pg_work_names.h"
#include "store/store.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW INT64_C(1700000000000)

/* One lane: the caller's side of it. */
struct lane {
    pawl_store *store;
    pawl_fence fence;
    pawl_error error;
};

struct bed {
    struct scratch schema;
    char bad_url[400]; /* by way of the proxy */
    struct proxy *proxy;
    pawl_mem *mem;
};

static void bed_make(struct bed *b)
{
    char dir[120], server[120];
    *b = (struct bed){.mem = pawl_mem_new()};
    snprintf(dir, sizeof(dir), "%s/l%d", getenv("PAWL_TEST_PG_DIR"), (int)getpid());
    snprintf(server, sizeof(server), "%s/a", getenv("PAWL_TEST_PG_DIR"));
    scratch_new(&b->schema);
    b->proxy = proxy_start(dir, server);
    ck_assert_ptr_nonnull(b->proxy);
    snprintf(b->bad_url, sizeof(b->bad_url),
             "postgresql:///postgres?host=%s&user=pawl&pawl_schema=%s", dir, b->schema.schema);
}

static void bed_end(struct bed *b)
{
    scratch_drop(&b->schema);
    pawl_mem_free(b->mem);
}

static void expect(const struct lane *l, pawl_status status, pawl_status wanted)
{
    ck_assert_msg(status == wanted, "%s, not %s: %s", pawl_status_code(status),
                  pawl_status_code(wanted), l->error.text);
}

static const pawl_shared_ops *shared(const struct lane *l)
{
    return l->store->ops->shared;
}

static struct lane open_lane(const char *url)
{
    struct lane l = {0};
    l.store = pawl_postgres_store(url, PAWL_STORE_OPTS(.now_ms = NOW), &l.error);
    ck_assert_msg(l.store != NULL, "%s", l.error.text);
    return l;
}

static void must_join(struct lane *l)
{
    expect(l, shared(l)->join(l->store, 0, NOW, &l->fence, &l->error), PAWL_OK);
}

static void must_claim(struct lane *l, uint64_t shards)
{
    expect(l, shared(l)->claim(l->store, &l->fence, shards, &l->error), PAWL_OK);
    expect(l, shared(l)->adopt(l->store, &l->fence, &l->error), PAWL_OK);
}

static struct lane new_lane(const char *url, uint64_t shards)
{
    struct lane l = open_lane(url);
    must_join(&l);
    must_claim(&l, shards);
    return l;
}

static void lane_close(struct lane *l)
{
    l->store->ops->close(l->store);
}

static pawl_status bury(struct lane *by, const struct lane *dead)
{
    by->error = (pawl_error){0};
    return shared(by)->bury(by->store, dead->fence.epoch, NOW, &by->error);
}

/* What the database says of a lane: its shards; 0 also when it does not live. */
static uint64_t shards_of(struct bed *b, struct lane *asked, uint64_t epoch)
{
    pawl_lane_view view = {.size = sizeof(view)};
    expect(asked, shared(asked)->view(asked->store, b->mem, &view, &asked->error), PAWL_OK);
    for (size_t i = 0; i < view.lane_count; i++)
        if (view.lanes[i].epoch == epoch)
            return view.lanes[i].shards;
    return 0;
}

/* A message for an instance that there is not, by name: `shard` may be PAWL_SHARD_LOOK. */
static pawl_status send_to(struct lane *l, uint32_t shard, const char *name)
{
    pawl_message m = {.id = l->fence.next_id++,
                      .kind = 1,
                      .instance = pawl_s(name),
                      .shard = shard,
                      .data = pawl_s("x"),
                      .created_ms = NOW};
    pawl_round r = {.messages = &m, .message_count = 1};
    return l->store->ops->commit(l->store, &l->fence, &r, 1, NOW, &l->error);
}

static size_t fetch(struct bed *b, struct lane *l)
{
    pawl_message_list list = {0};
    expect(l, l->store->ops->fetch_messages(l->store, NOW, 100, b->mem, &list, &l->error), PAWL_OK);
    return list.count;
}

static int64_t messages(const struct bed *b)
{
    return scratch_number("SELECT count(*) FROM %s.message", b->schema.schema);
}

/* outcome() of a call without rounds, asked until it is answered. */
static pawl_status ask_outcome(struct lane *l, bool *retcommitted)
{
    pawl_status status = PAWL_BUSY;
    for (int i = 0; i < 500 && (status == PAWL_BUSY || status == PAWL_UNAVAILABLE); i++)
        status = l->store->ops->outcome(l->store, &l->fence, NULL, 0, NOW, retcommitted, &l->error);
    return status;
}

/* ---- Commits of the dead ------------------------------------------------------------------ */

TEST(a_commit_that_comes_after_the_burial_is_refused_postgres)
{
    static struct bed b;
    bool committed = true;
    bed_make(&b);
    struct lane a = new_lane(b.schema.url, 1), dead = new_lane(b.bad_url, 2);
    expect(&dead, send_to(&dead, 1, "before"), PAWL_OK);
    proxy_plan(b.proxy, (struct proxy_plan){PROXY_LATE, false, 0, -1});
    expect(&dead, send_to(&dead, 1, "late"), PAWL_UNKNOWN);
    expect(&a, bury(&a, &dead), PAWL_OK);
    proxy_release(b.proxy);
    for (int i = 0; i < 500 && proxy_late_answers(b.proxy) == 0; i++)
        usleep(10000);
    ck_assert_int_eq(proxy_late_answers(b.proxy), 1);
    ck_assert_int_eq(messages(&b), 1);
    expect(&dead, ask_outcome(&dead, &committed), PAWL_FENCED);
    expect(&dead, send_to(&dead, 1, "again"), PAWL_UNKNOWN); /* not decided for this engine */
    expect(&a, shared(&a)->adopt(a.store, &a.fence, &a.error), PAWL_OK);
    ck_assert_uint_eq(a.fence.shards, 3);
    ck_assert_uint_eq(fetch(&b, &a), 1);
    expect(&a, bury(&a, &dead), PAWL_NOT_FOUND);
    lane_close(&dead);
    lane_close(&a);
    bed_end(&b);
}

/* How many bytes a commit of one message sends. */
static size_t bytes_of_commit(struct bed *b, struct lane *l)
{
    proxy_plan(b->proxy, (struct proxy_plan){.bytes = (size_t)1 << 40});
    expect(l, send_to(l, 1, "same"), PAWL_OK);
    size_t bytes = proxy_counted(b->proxy);
    proxy_disarm(b->proxy);
    ck_assert_uint_gt(bytes, 50);
    return bytes;
}

/* Everything is carried out but COMMIT, which arrives while the lane is being buried. */
TEST(a_burial_waits_for_the_commit_under_way_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane a = new_lane(b.schema.url, 1), dead = new_lane(b.bad_url, 2);
    expect(&dead, send_to(&dead, 1, "same"), PAWL_OK);
    size_t bytes = bytes_of_commit(&b, &dead);
    int64_t before = messages(&b);
    proxy_plan(b.proxy, (struct proxy_plan){PROXY_LATE, false, bytes - 8, 300});
    expect(&dead, send_to(&dead, 1, "same"), PAWL_UNKNOWN);
    expect(&a, bury(&a, &dead), PAWL_OK);
    ck_assert_int_eq(messages(&b), before + 1); /* it happened, as a whole */
    expect(&a, shared(&a)->adopt(a.store, &a.fence, &a.error), PAWL_OK);
    ck_assert_uint_eq(fetch(&b, &a), (size_t)before + 1);
    lane_close(&dead);
    lane_close(&a);
    bed_end(&b);
}

/* The server does not know that the process is gone, and its transaction has the lane's row. */
TEST(a_connection_of_the_dead_that_keeps_its_lane_is_ended_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane a = new_lane(b.schema.url, 1), dead = new_lane(b.bad_url, 2);
    expect(&dead, send_to(&dead, 1, "same"), PAWL_OK);
    size_t bytes = bytes_of_commit(&b, &dead);
    int64_t before = messages(&b);
    proxy_plan(b.proxy, (struct proxy_plan){PROXY_LATE, false, bytes - 8, -1});
    expect(&dead, send_to(&dead, 1, "same"), PAWL_UNKNOWN);
    pawl_status status = PAWL_BUSY;
    for (int i = 0; i < 3 && status == PAWL_BUSY; i++) /* it has a few seconds */
        status = bury(&a, &dead);
    expect(&a, status, PAWL_OK);
    proxy_release(b.proxy);
    usleep(100000);
    ck_assert_int_eq(messages(&b), before);
    ck_assert_uint_eq(shards_of(&b, &a, a.fence.epoch), 3);
    lane_close(&dead);
    lane_close(&a);
    bed_end(&b);
}

/* One lane is in doubt; the other writes, and looks who lives. */
TEST(a_lane_in_doubt_holds_up_no_other_postgres)
{
    static struct bed b;
    bool committed = true;
    bed_make(&b);
    struct lane a = new_lane(b.schema.url, 1), slow = new_lane(b.bad_url, 2);
    expect(&slow, send_to(&slow, 1, "same"), PAWL_OK);
    size_t bytes = bytes_of_commit(&b, &slow);
    proxy_plan(b.proxy, (struct proxy_plan){PROXY_LATE, false, bytes - 8, 2000});
    expect(&slow, send_to(&slow, 1, "same"), PAWL_UNKNOWN); /* its row is locked, for now */
    for (int i = 0; i < 20; i++)
        expect(&a, send_to(&a, 1, "from a"), PAWL_OK);
    ck_assert_uint_eq(shards_of(&b, &a, slow.fence.epoch), 2);
    must_claim(&a, 4);
    expect(&a, shared(&a)->new_ids(a.store, &a.fence, &a.error), PAWL_OK);
    expect(&slow, ask_outcome(&slow, &committed), PAWL_OK);
    ck_assert(committed);
    lane_close(&slow);
    lane_close(&a);
    bed_end(&b);
}

/* ---- Cut at any byte ------------------------------------------------------------------------ */

enum deed { CLAIM, GIVE, LEAVE, DEEDS };
static const char *const deed_names[DEEDS] = {"claim", "give", "leave"};

static pawl_status do_deed(struct lane *l, enum deed deed, uint64_t heir)
{
    l->error = (pawl_error){0};
    switch (deed) {
    case CLAIM:
        return shared(l)->claim(l->store, &l->fence, 0xf0, &l->error);
    case GIVE:
        return shared(l)->give(l->store, &l->fence, 3, heir, &l->error);
    case LEAVE:
    case DEEDS:
        break;
    }
    return shared(l)->leave(l->store, &l->fence, &l->error);
}

/* The shards of the cut lane in the database, before or after its deed. */
static uint64_t shards_after(enum deed deed, bool done)
{
    return !done || deed == CLAIM ? (done ? 0xff : 0x0f) : deed == GIVE ? 0x0c : 0;
}

/* What the engine was told is what the database has, and the lane goes on, or is over. */
static void check_deed(struct bed *b, struct lane *other, struct lane *cut, enum deed deed,
                       bool done)
{
    ck_assert_uint_eq(shards_of(b, other, cut->fence.epoch), shards_after(deed, done));
    if (deed != CLAIM)
        ck_assert_uint_eq(cut->fence.shards, shards_after(deed, done));
    pawl_status status = send_to(cut, 2, "after");
    expect(cut, status, deed == LEAVE && done ? PAWL_FENCED : PAWL_OK);
    if (deed == GIVE && done)
        ck_assert_uint_eq(shards_of(b, other, other->fence.epoch), 0x100 | 3);
}

/* Once with this plan; true: the reply was lost. */
static bool cut_deed(struct bed *b, struct lane *other, enum deed deed, struct proxy_plan plan,
                     size_t *retbytes)
{
    struct lane cut = new_lane(b->bad_url, 0x0f);
    bool done = false;
    expect(&cut, send_to(&cut, 2, "before"), PAWL_OK);
    uint64_t group = cut.fence.group_no;
    proxy_plan(b->proxy, plan);
    pawl_status status = do_deed(&cut, deed, other->fence.epoch);
    *retbytes = proxy_counted(b->proxy);
    proxy_disarm(b->proxy);
    bool doubt = status == PAWL_UNKNOWN;
    if (doubt)
        expect(&cut, ask_outcome(&cut, &done), PAWL_OK);
    else
        ck_assert_msg(status == PAWL_OK || status == PAWL_UNAVAILABLE, "%s: %s",
                      pawl_status_code(status), cut.error.text);
    done = done || status == PAWL_OK;
    ck_assert_uint_eq(cut.fence.group_no, group + done);
    check_deed(b, other, &cut, deed, done);
    lane_close(&cut);
    (void)bury(other, &cut);
    expect(other, shared(other)->adopt(other->store, &other->fence, &other->error), PAWL_OK);
    expect(other,
           shared(other)->give(other->store, &other->fence, other->fence.shards & ~UINT64_C(0x100),
                               0, &other->error),
           PAWL_OK);
    return doubt;
}

/* (A gift is two round trips; COMMIT and its answer are at the end of what is sent.) */
static void cut_often(enum proxy_do act, bool to_client, int times)
{
    static struct bed b;
    unsigned seed = 5;
    bed_make(&b);
    struct lane other = new_lane(b.schema.url, 0x100);
    for (enum deed deed = CLAIM; deed < DEEDS; deed++) {
        size_t room, unused;
        int doubts = 0;
        ck_assert(!cut_deed(&b, &other, deed,
                            (struct proxy_plan){.to_client = to_client, .bytes = (size_t)1 << 40},
                            &room));
        for (int i = 0; i < times; i++) {
            size_t at = (size_t)rand_r(&seed);
            at = act == PROXY_SWALLOW ? room - 10
                 : act == PROXY_LATE  ? room - 1 - at % 40
                                      : at % room;
            doubts +=
                cut_deed(&b, &other, deed, (struct proxy_plan){act, to_client, at, 20}, &unused);
        }
        printf("| %s cut %d times: %d doubts\n", deed_names[deed], times, doubts);
        ck_assert_int_gt(doubts, 0);
    }
    lane_close(&other);
    bed_end(&b);
}

static int sample(int few, int many)
{
    return getenv("PAWL_PG_FULL") ? many : few;
}

TEST(shards_move_as_a_whole_or_not_when_the_way_there_is_cut_postgres)
{
    cut_often(PROXY_CUT, false, sample(6, 100));
}

TEST(shards_move_as_a_whole_or_not_when_the_way_back_is_cut_postgres)
{
    cut_often(PROXY_CUT, true, sample(6, 100));
}

TEST(a_lost_answer_to_a_move_is_found_again_postgres)
{
    cut_often(PROXY_SWALLOW, true, sample(2, 30));
}

TEST(a_move_that_comes_after_the_verdict_is_refused_postgres)
{
    cut_often(PROXY_LATE, false, sample(2, 50));
}

/* By a handle whose way to the server is cut: what it does not know, it does again. */
TEST(a_burial_that_is_cut_is_done_again_postgres)
{
    static struct bed b;
    unsigned seed = 3;
    bed_make(&b);
    struct lane a = new_lane(b.schema.url, 1), keeper = open_lane(b.bad_url);
    for (int i = 0; i < sample(12, 200); i++) {
        struct lane dead = new_lane(b.schema.url, 0xf0);
        lane_close(&dead);
        (void)shards_of(&b, &keeper, 1); /* its connection is up */
        bool back = i % 2;
        proxy_plan(b.proxy, (struct proxy_plan){i % 4 == 1 ? PROXY_SWALLOW : PROXY_CUT, back,
                                                i % 4 == 1 ? 0 : (size_t)rand_r(&seed) % 300, 0});
        pawl_status status = bury(&keeper, &dead);
        proxy_disarm(b.proxy);
        for (int n = 0; n < 5 && status != PAWL_OK && status != PAWL_NOT_FOUND; n++) {
            ck_assert_msg(status == PAWL_UNKNOWN || status == PAWL_UNAVAILABLE ||
                              status == PAWL_BUSY,
                          "%s", keeper.error.text);
            status = bury(&keeper, &dead);
        }
        ck_assert(status == PAWL_OK || status == PAWL_NOT_FOUND);
        ck_assert_uint_eq(shards_of(&b, &a, a.fence.epoch), 0xf1);
        expect(&a, shared(&a)->adopt(a.store, &a.fence, &a.error), PAWL_OK);
        expect(&a, shared(&a)->give(a.store, &a.fence, 0xf0, 0, &a.error), PAWL_OK);
    }
    lane_close(&keeper);
    lane_close(&a);
    bed_end(&b);
}

TEST(a_handle_that_joins_again_after_a_lost_answer_is_one_lane_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane a = open_lane(b.schema.url), l = open_lane(b.bad_url);
    must_join(&a);
    must_join(&l); /* statements are prepared now */
    must_claim(&l, 6);
    proxy_plan(b.proxy, (struct proxy_plan){PROXY_SWALLOW, true, 0, 0});
    expect(&l, shared(&l)->join(l.store, 0, NOW, &l.fence, &l.error), PAWL_UNKNOWN);
    proxy_disarm(b.proxy);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.lane WHERE life>0", b.schema.schema),
                     2);
    must_join(&l);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.lane WHERE life>0", b.schema.schema),
                     2);
    must_claim(&a, 6); /* what it had is free */
    ck_assert_uint_eq(a.fence.shards, 6);
    lane_close(&l);
    lane_close(&a);
    bed_end(&b);
}

/* ---- Ledgers: two lanes that take steps ------------------------------------------------------- */

static pid_t storm(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    while (pid == 0) {
        (void)scratch_do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE application_name='stormy' AND random()<0.5");
        usleep(100000);
    }
    return pid;
}

TEST(two_lanes_lose_nothing_when_their_connections_are_ended_postgres)
{
    struct scratch schema;
    static struct chains c[2];
    char url[440];
    int trouble = sample(4, 100);
    scratch_new(&schema);
    snprintf(url, sizeof(url), "%s&application_name=stormy", schema.url);
    for (uint32_t i = 0; i < 2; i++)
        chains_join(&c[i], &schema, url, i * 40);
    pid_t pid = storm();
    for (int n = 0; n < 100000 && (c[0].unknown < trouble || c[1].unknown < trouble); n++)
        ck_assert_msg(chains_step(&c[n % 2]) == PAWL_OK, "%s", c[n % 2].error.text);
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    for (int i = 0; i < 2; i++) {
        printf("| %d doubts (%d committed), %d commits refused, %d wrong verdicts\n", c[i].unknown,
               c[i].committed, c[i].refused, c[i].wrong);
        chains_check(&c[i]);
        chains_end(&c[i]);
    }
    scratch_drop(&schema);
}

/* ---- Another process ------------------------------------------------------------------------------ */

TEST(a_store_with_a_lane_of_a_living_process_is_not_taken_postgres)
{
    static struct bed b;
    int up[2];
    char byte;
    bed_make(&b);
    struct lane a = open_lane(b.schema.url);
    ck_assert_int_eq(pipe(up), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct lane l = new_lane(b.schema.url, 6);
        (void)!write(up[1], l.store ? "x" : "", 1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(up[0], &byte, 1), 1);
    expect(&a, a.store->ops->take(a.store, NOW, &a.fence, &a.error), PAWL_UNAVAILABLE);
    ck_assert_msg(strstr(a.error.text, "is in use by ") != NULL, "%s", a.error.text);
    must_join(&a);
    must_claim(&a, 15);
    ck_assert_uint_eq(a.fence.shards, 9);
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    expect(&a, a.store->ops->take(a.store, NOW, &a.fence, &a.error), PAWL_OK);
    ck_assert_uint_eq(a.fence.shards, PAWL_SHARDS_ALL);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.lane", b.schema.schema), 1);
    expect(&a, send_to(&a, 1, "x"), PAWL_OK);
    lane_close(&a);
    bed_end(&b);
}

/* ---- Ids --------------------------------------------------------------------------------------------- */

#define BLOCKS 60

struct blocks {
    uint64_t first[BLOCKS], end[BLOCKS];
    int count;
};

/* No id of the lane's range was given before. */
static void note_block(struct blocks *all, const pawl_fence *f)
{
    for (int i = 0; i < all->count; i++)
        ck_assert_msg(f->next_id >= all->end[i] || f->end_id <= all->first[i],
                      "ids %llu to %llu were given twice", (unsigned long long)f->next_id,
                      (unsigned long long)f->end_id);
    ck_assert_int_lt(all->count, BLOCKS);
    all->first[all->count] = f->next_id;
    all->end[all->count++] = f->end_id;
}

static void draw(struct blocks *all, struct lane *l)
{
    l->fence.next_id = l->fence.end_id - 3; /* nearly all are used */
    pawl_fence before = l->fence;
    expect(l, shared(l)->new_ids(l->store, &l->fence, &l->error), PAWL_OK);
    ck_assert_uint_ge(l->fence.end_id - l->fence.next_id, PAWL_ID_BLOCK / 2);
    ck_assert(l->fence.next_id == before.next_id || l->fence.next_id >= before.end_id);
    pawl_fence fresh = l->fence;
    fresh.next_id = fresh.next_id == before.next_id ? before.end_id : fresh.next_id;
    note_block(all, &fresh);
}

TEST(no_id_is_given_twice_also_after_a_crash_of_the_server_postgres)
{
    static struct blocks all;
    char dir[120], command[400], url[300];
    struct scratch schema;
    snprintf(dir, sizeof(dir), "%s/i%d", getenv("PAWL_TEST_PG_DIR"), (int)getpid());
    snprintf(command, sizeof(command),
             "tests/postgres/server make %s && tests/postgres/server start %s", dir, dir);
    ck_assert_int_eq(system(command), 0);
    snprintf(url, sizeof(url), "postgresql:///postgres?host=%s&user=pawl", dir);
    ck_assert_int_eq(setenv("PAWL_TEST_PG", url, 1), 0);
    scratch_new(&schema);
    struct lane l[3];
    for (int i = 0; i < 3; i++) {
        l[i] = new_lane(schema.url, UINT64_C(1) << i);
        note_block(&all, &l[i].fence);
    }
    for (int n = 0; n < 12; n++)
        draw(&all, &l[n * 7 % 3]);
    snprintf(command, sizeof(command),
             "tests/postgres/server kill %s && tests/postgres/server start %s", dir, dir);
    ck_assert_int_eq(system(command), 0);
    for (int i = 0; i < 3; i++) { /* each notices, and comes back */
        pawl_status status = PAWL_UNAVAILABLE;
        for (int n = 0; n < 50 && status == PAWL_UNAVAILABLE; n++)
            status = l[i].store->ops->commit(l[i].store, &l[i].fence, NULL, 0, NOW, &l[i].error);
        bool committed;
        if (status == PAWL_UNKNOWN)
            status = ask_outcome(&l[i], &committed);
        expect(&l[i], status, PAWL_OK);
    }
    for (int n = 0; n < 12; n++)
        draw(&all, &l[n * 5 % 3]);
    struct lane late = new_lane(schema.url, 8);
    note_block(&all, &late.fence);
    lane_close(&late);
    for (int i = 0; i < 3; i++)
        lane_close(&l[i]);
    snprintf(command, sizeof(command), "tests/postgres/server remove %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* Alone, a lane counts on without a gap, over blocks and restarts. */
TEST(a_lane_that_is_alone_counts_without_a_gap_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane l = open_lane(b.schema.url);
    uint64_t next = 1;
    for (int n = 0; n < 3; n++) {
        expect(&l, l.store->ops->take(l.store, NOW, &l.fence, &l.error), PAWL_OK);
        ck_assert_uint_eq(l.fence.next_id, next);
        l.fence.next_id = l.fence.end_id - 10;
        uint64_t before = l.fence.next_id;
        expect(&l, shared(&l)->new_ids(l.store, &l.fence, &l.error), PAWL_OK);
        ck_assert_uint_eq(l.fence.next_id, before);
        l.fence.next_id += 20;
        expect(&l, send_to(&l, 0, "x"), PAWL_OK);
        next = l.fence.next_id;
        lane_close(&l);
        l = open_lane(b.schema.url);
    }
    lane_close(&l);
    bed_end(&b);
}

/* ---- Lanes that write the same ------------------------------------------------------------------------ */

#define SAME  24
#define TIMES 40

struct racer {
    struct lane lane;
    uint32_t shard;
    bool backwards;
    int accepted, busy;
};

/* Starts of the same ids, in the one order or the other, and objects of the same names. */
static void race_once(struct racer *r, int turn)
{
    static __thread pawl_row rows[SAME];
    static __thread pawl_round rounds[SAME + 1];
    static __thread char names[SAME][24];
    static __thread pawl_object objects[SAME];
    pawl_round_extra extra = {.size = sizeof(extra), .objects = objects, .object_count = SAME};
    for (int i = 0; i < SAME; i++) {
        int n = r->backwards ? SAME - 1 - i : i;
        snprintf(names[i], sizeof(names[i]), "t%d-%02d", turn, n);
        rows[i] = (pawl_row){.uid = r->lane.fence.next_id++,
                             .id = pawl_s(names[i]),
                             .orchestration = pawl_s("O"),
                             .state = PAWL_RUNNING,
                             .shard = r->shard,
                             .execution = 1,
                             .created_ms = NOW};
        rounds[i] = (pawl_round){
            .uid = rows[i].uid, .execution = 1, .change = PAWL_ROW_INSERT, .row = &rows[i]};
        objects[i] = (pawl_object){.kind = PAWL_OBJECT_STATE,
                                   .name = rows[i].id,
                                   .version = PAWL_VERSION_ANY,
                                   .data = pawl_s("{}")};
    }
    rounds[SAME] = (pawl_round){.extra = &extra};
    pawl_status status = PAWL_BUSY;
    for (; status == PAWL_BUSY; r->busy += status == PAWL_BUSY)
        status = r->lane.store->ops->commit(r->lane.store, &r->lane.fence, rounds, SAME + 1, NOW,
                                            &r->lane.error);
    expect(&r->lane, status, PAWL_OK);
    for (int i = 0; i < SAME; i++)
        r->accepted += rounds[i].result == PAWL_OK;
}

static void *race(void *arg)
{
    for (int turn = 0; turn < TIMES; turn++)
        race_once(arg, turn);
    return NULL;
}

static int64_t deadlocks(void)
{
    return scratch_number(
        "SELECT deadlocks FROM pg_stat_database WHERE datname=current_database()");
}

TEST(lanes_that_insert_the_same_wait_for_each_other_in_one_order_postgres)
{
    static struct bed b;
    static struct racer r[2];
    pthread_t threads[2];
    bed_make(&b);
    for (int i = 0; i < 2; i++) {
        r[i] = (struct racer){.shard = (uint32_t)i, .backwards = i};
        r[i].lane = new_lane(b.schema.url, UINT64_C(1) << i);
    }
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &r[i]), 0);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(r[0].accepted + r[1].accepted, SAME * TIMES); /* each id once */
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.instance", b.schema.schema),
                     SAME * TIMES);
    ck_assert_int_eq(r[0].busy + r[1].busy, 0); /* no deadlock was broken by the server */
    for (int i = 0; i < 2; i++)
        lane_close(&r[i].lane);
    bed_end(&b);
}

/* Whatever the order of the rounds: so two lanes never wait for each other in a circle. */
TEST(starts_beside_other_lanes_are_inserted_by_their_ids_postgres)
{
    static const char *const names[] = {"d", "b", "a", "c"};
    static struct bed b;
    pawl_row rows[4];
    pawl_round rounds[4];
    bed_make(&b);
    struct lane l = new_lane(b.schema.url, 1);
    for (int i = 0; i < 4; i++) {
        rows[i] = (pawl_row){.uid = l.fence.next_id++,
                             .id = pawl_s(names[i]),
                             .orchestration = pawl_s("O"),
                             .state = PAWL_RUNNING,
                             .execution = 1,
                             .created_ms = NOW};
        rounds[i] = (pawl_round){
            .uid = rows[i].uid, .execution = 1, .change = PAWL_ROW_INSERT, .row = &rows[i]};
    }
    expect(&l, l.store->ops->commit(l.store, &l.fence, rounds, 4, NOW, &l.error), PAWL_OK);
    char *order =
        scratch_text("SELECT string_agg(id,'' ORDER BY ctid) FROM %s.instance", b.schema.schema);
    ck_assert_str_eq(order, "abcd\n");
    free(order);
    lane_close(&l);
    bed_end(&b);
}

/* ---- Who has what, all at once --------------------------------------------------------------------------- */

struct mover {
    struct lane lane;
    uint64_t other; /* epoch */
    int busy;
};

/* Give shards away and take what comes, and draw ids meanwhile. */
static void *move(void *arg)
{
    struct mover *m = arg;
    for (int n = 0; n < TIMES; n++) {
        struct lane *l = &m->lane;
        uint64_t some = l->fence.shards & (0x5555555555555555 << n % 2);
        pawl_status status = PAWL_BUSY;
        while (status == PAWL_BUSY) {
            status = n % 3 == 0 ? shared(l)->new_ids(l->store, &l->fence, &l->error)
                     : n % 3 == 1
                         ? shared(l)->give(l->store, &l->fence, some, m->other, &l->error)
                         : shared(l)->claim(l->store, &l->fence, PAWL_SHARDS_ALL, &l->error);
            m->busy += status == PAWL_BUSY;
        }
        expect(l, status, PAWL_OK);
        expect(l, send_to(l, (uint32_t)n % 64, "m"), PAWL_OK);
        expect(l, shared(l)->adopt(l->store, &l->fence, &l->error), PAWL_OK);
    }
    return NULL;
}

TEST(lanes_that_give_claim_and_draw_at_once_do_not_wait_in_a_circle_postgres)
{
    static struct bed b;
    static struct mover m[3];
    pthread_t threads[3];
    bed_make(&b);
    int64_t before = deadlocks();
    for (int i = 0; i < 3; i++)
        m[i].lane = new_lane(b.schema.url, UINT64_C(0xffff) << (16 * i));
    for (int i = 0; i < 3; i++) {
        m[i].other = m[(i + 1) % 3].lane.fence.epoch;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, move, &m[i]), 0);
    }
    uint64_t all = 0;
    for (int i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) {
        struct lane *l = &m[i].lane;
        expect(l, shared(l)->adopt(l->store, &l->fence, &l->error), PAWL_OK);
        ck_assert_uint_eq(all & l->fence.shards, 0);
        ck_assert_uint_eq(shards_of(&b, l, l->fence.epoch), l->fence.shards);
        all |= l->fence.shards;
        ck_assert_int_eq(m[i].busy, 0);
    }
    ck_assert_uint_ne(all, 0);
    ck_assert_int_eq(deadlocks(), before);
    for (int i = 0; i < 3; i++)
        lane_close(&m[i].lane);
    bed_end(&b);
}

/* ---- What it costs ---------------------------------------------------------------------------------------- */

static struct libpq real;
static int trips, statements;

static PGresult *count_run(PGconn *c, const char *name, int n, const char *const *values,
                           const int *lengths, const int *formats, int result_format)
{
    trips++;
    statements++;
    return real.execPrepared(c, name, n, values, lengths, formats, result_format);
}

static int count_sync(PGconn *c)
{
    trips++;
    return real.pipelineSync(c);
}

static int count_send(PGconn *c, const char *name, int n, const char *const *values,
                      const int *lengths, const int *formats, int result_format)
{
    statements++;
    return real.sendQueryPrepared(c, name, n, values, lengths, formats, result_format);
}

static void count_calls(void)
{
    real = pq;
    pq.execPrepared = count_run;
    pq.pipelineSync = count_sync;
    pq.sendQueryPrepared = count_send;
}

/* One commit: one round trip, and these statements (BEGIN is none of them). */
static void expect_cost(const char *what, int wanted)
{
    printf("| %s: %d statements\n", what, statements);
    ck_assert_int_eq(trips, 1);
    ck_assert_int_eq(statements, wanted);
    trips = statements = 0;
}

static void steps_cost(struct chains *c)
{
    c->no_mail = true;
    for (int count = 1; count <= 8; count += 7) {
        chains_renew(c, count);
        for (int i = 0; i < 2; i++) { /* the first time a statement is prepared */
            ck_assert_int_eq(chains_step(c), PAWL_OK);
            ck_assert_int_eq(chains_step(c), PAWL_OK);
            chains_renew(c, count);
        }
        trips = statements = 0;
        ck_assert_int_eq(chains_step(c), PAWL_OK);
        expect_cost(count == 1 ? "a start" : "starts", 5); /* fence, instance, head, event */
        ck_assert_int_eq(chains_step(c), PAWL_OK);
        expect_cost(count == 1 ? "a step alone" : "steps", 4);
        c->ending = true;
        ck_assert_int_eq(chains_step(c), PAWL_OK);
        expect_cost(count == 1 ? "an end" : "ends", 5);
        c->ending = false;
    }
}

TEST(a_commit_has_the_same_statements_with_and_without_other_lanes_postgres)
{
    struct scratch schema;
    static struct chains alone, a;
    scratch_new(&schema);
    chains_begin(&alone, &schema, schema.url);
    count_calls();
    steps_cost(&alone);
    pq = real;
    ck_assert_int_eq(alone.store->ops->shared->leave(alone.store, &alone.fence, &alone.error),
                     PAWL_OK);
    chains_end(&alone);
    chains_join(&a, &schema, schema.url, 3);
    count_calls();
    steps_cost(&a);
    pq = real;
    chains_end(&a);
    scratch_drop(&schema);
}

/* Work that no process has taken, on an instance of its own. */
static void enqueue(struct lane *l, uint32_t shard, const char *name, int count)
{
    static pawl_event events[500];
    static pawl_work work[500];
    pawl_row row = {.uid = l->fence.next_id++,
                    .id = pawl_s(shard ? "b" : "a"),
                    .orchestration = pawl_s("O"),
                    .state = PAWL_RUNNING,
                    .shard = shard,
                    .execution = 1,
                    .last_seq = (uint64_t)count,
                    .created_ms = NOW};
    for (int i = 0; i < count; i++) {
        events[i] = (pawl_event){.rid = l->fence.next_id++,
                                 .execution = 1,
                                 .seq = (uint64_t)i + 1,
                                 .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                                 .ref = 1,
                                 .name = pawl_s(name),
                                 .at_ms = NOW};
        work[i] = (pawl_work){.id = events[i].rid,
                              .uid = row.uid,
                              .execution = 1,
                              .ref = 1,
                              .shard = shard,
                              .instance = row.id,
                              .name = events[i].name,
                              .scheduled_ms = NOW};
    }
    row.first_rid = events[0].rid;
    row.last_rid = events[count - 1].rid;
    pawl_round r = {.uid = row.uid,
                    .execution = 1,
                    .change = PAWL_ROW_INSERT,
                    .row = &row,
                    .events = events,
                    .event_count = (size_t)count,
                    .work = work,
                    .work_count = (size_t)count};
    expect(l, l->store->ops->commit(l->store, &l->fence, &r, 1, NOW, &l->error), PAWL_OK);
    ck_assert_int_eq(r.result, PAWL_OK);
}

static size_t fetch_work(struct bed *b, struct lane *l, const char *name)
{
    pawl_work_list list = {0};
    pawl_str names[] = {pawl_s(name)};
    expect(l, l->store->ops->fetch_work(l->store, NOW, names, 1, 1000, b->mem, &list, &l->error),
           PAWL_OK);
    return list.count;
}

/* What a lane took is not taken any more when its shard went and came back, to the same handle. */
TEST(a_shard_that_comes_back_has_nothing_taken_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane l = new_lane(b.schema.url, 3);
    enqueue(&l, 1, "ship", 5);
    for (int i = 0; i < 4; i++)
        expect(&l, send_to(&l, (uint32_t)i % 2, "m"), PAWL_OK); /* taken by the commit (C7) */
    for (int n = 0; n < 3; n++) {
        ck_assert_uint_eq(fetch(&b, &l), n ? 2 : 0);
        ck_assert_uint_eq(fetch_work(&b, &l, "ship"), 5);
        ck_assert_uint_eq(fetch(&b, &l) + fetch_work(&b, &l, "ship"), 0);
        expect(&l, shared(&l)->give(l.store, &l.fence, 2, 0, &l.error), PAWL_OK);
        ck_assert_uint_eq(l.fence.shards, 1);
        ck_assert_uint_eq(fetch(&b, &l) + fetch_work(&b, &l, "ship"), 0);
        must_claim(&l, 2);
    }
    lane_close(&l);
    bed_end(&b);
}

/* One lane has much work of a name that the other looks for. */
TEST(work_of_other_lanes_is_passed_once_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane a = new_lane(b.schema.url, 1), c = new_lane(b.schema.url, 2);
    enqueue(&a, 0, "ship", 400);
    ck_assert_uint_eq(fetch_work(&b, &c, "ship"), 0);
    const struct work_names *known = &pg_of(c.store)->names->known;
    const struct work_name *n = map_gets(&known->by_name, pawl_s("ship"));
    ck_assert_uint_eq(n->fresh_id, c.fence.next_id - 1); /* behind all that was there */
    ck_assert_uint_eq(n->ready_id, c.fence.next_id - 1);
    enqueue(&c, 1, "ship", 3);
    ck_assert_uint_eq(fetch_work(&b, &c, "ship"), 3);
    ck_assert_uint_eq(fetch_work(&b, &a, "ship"), 400);
    lane_close(&a);
    lane_close(&c);
    bed_end(&b);
}

TEST(mail_for_another_lane_is_one_statement_and_one_question_postgres)
{
    static struct bed b;
    bed_make(&b);
    struct lane l[2] = {new_lane(b.schema.url, 1), new_lane(b.schema.url, ~UINT64_C(1))};
    for (int look = 0; look < 2; look++) {
        for (int i = 0; i < 2; i++) {
            expect(&l[i], send_to(&l[i], look ? PAWL_SHARD_LOOK : (uint32_t)!i, "warm"), PAWL_OK);
            (void)fetch(&b, &l[i]);
        }
        count_calls();
        for (int i = 0; i < 2; i++) {
            struct lane *other = &l[!i];
            trips = statements = 0;
            expect(&l[i], send_to(&l[i], look ? PAWL_SHARD_LOOK : (uint32_t)!i, "cold"), PAWL_OK);
            expect_cost(look ? "mail by name" : "mail", 3); /* fence, message, COMMIT */
            if (!look)
                ck_assert_uint_eq(l[i].fence.mail, i ? 1 : 2);
            shared(other)->hint(other->store, l[i].fence.mail);
            (void)fetch(&b, other);
            ck_assert_int_le(trips, 1);
            trips = statements = 0;
            (void)fetch(&b, other);
            ck_assert_int_eq(trips, 0); /* it is known that there is none */
        }
        pq = real;
    }
    ck_assert_int_eq(messages(&b), 8);
    lane_close(&l[0]);
    lane_close(&l[1]);
    bed_end(&b);
}
