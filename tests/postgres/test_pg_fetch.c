/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_fetch.c -- how often the store asks the server: what memory knows costs
 * no round trip.
 *
 * A round trip is a call of libpq that waits for an answer; the calls are counted on their way.
 */
#include "../harness.h"
#include "../scratch.h"
#include "store/postgres/postgres.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

#define NOW 1000000

static struct libpq real;
static int trips;

static PGresult *count_run(PGconn *c, const char *name, int n, const char *const *values,
                           const int *lengths, const int *formats, int result_format)
{
    trips++;
    return real.execPrepared(c, name, n, values, lengths, formats, result_format);
}

static int count_sync(PGconn *c)
{
    trips++;
    return real.pipelineSync(c);
}

struct bed {
    struct scratch place;
    pawl_store *store;
    pawl_fence fence;
    pawl_mem *mem;
    uint64_t uid;
};

static void commit(struct bed *t, pawl_round round)
{
    pawl_error err = {0};
    pawl_status status = t->store->ops->commit(t->store, &t->fence, &round, 1, NOW, &err);
    ck_assert_msg(status == PAWL_OK && round.result == PAWL_OK, "%s", err.text);
}

static uint64_t new_id(struct bed *t)
{
    return t->fence.next_id++;
}

static struct bed open_bed(void)
{
    struct bed t = {.mem = pawl_mem_new()};
    pawl_error err = {0};
    scratch_new(&t.place);
    t.store = pawl_postgres_store(t.place.url, PAWL_STORE_OPTS(.now_ms = NOW), &err);
    ck_assert_msg(t.store != NULL, "%s", err.text);
    (void)store_engine_set(t.store);
    ck_assert_int_eq(t.store->ops->take(t.store, NOW, &t.fence, &err), PAWL_OK);
    t.uid = new_id(&t);
    pawl_row row = {.uid = t.uid,
                    .id = pawl_s("a"),
                    .orchestration = pawl_s("o"),
                    .execution = 1,
                    .created_ms = NOW,
                    .updated_ms = NOW};
    commit(&t, (pawl_round){.uid = t.uid, .execution = 1, .change = PAWL_ROW_INSERT, .row = &row});
    real = pq;
    pq.execPrepared = count_run;
    pq.pipelineSync = count_sync;
    return t;
}

static void close_bed(struct bed *t)
{
    pq = real;
    (void)store_engine_set(NULL);
    t->store->ops->close(t->store);
    scratch_drop(&t->place);
    pawl_mem_free(t->mem);
}

/* How many messages or jobs came, and in how many round trips. */
static size_t fetch_mail(struct bed *t, int64_t now_ms, int *rettrips)
{
    pawl_message_list list = {0};
    trips = 0;
    ck_assert_int_eq(t->store->ops->fetch_messages(t->store, now_ms, 100, t->mem, &list, NULL),
                     PAWL_OK);
    *rettrips = trips;
    return list.count;
}

static size_t fetch_jobs(struct bed *t, const char *name, int64_t now_ms, int *rettrips)
{
    pawl_work_list list = {0};
    pawl_str names[] = {pawl_s(name)};
    trips = 0;
    ck_assert_int_eq(
        t->store->ops->fetch_work(t->store, now_ms, names, 1, 100, t->mem, &list, NULL), PAWL_OK);
    *rettrips = trips;
    return list.count;
}

static uint64_t deliver_in(struct bed *t, uint32_t shard, int64_t visible_ms)
{
    pawl_message m = {
        .id = new_id(t), .uid = t->uid, .kind = 1, .shard = shard, .visible_ms = visible_ms};
    commit(t, (pawl_round){.messages = &m, .message_count = 1});
    return m.id;
}

static uint64_t deliver(struct bed *t, int64_t visible_ms)
{
    return deliver_in(t, 0, visible_ms);
}

static uint64_t enqueue(struct bed *t, const char *name, int64_t visible_ms)
{
    pawl_work w = {.id = new_id(t),
                   .uid = t->uid,
                   .execution = 1,
                   .name = pawl_s(name),
                   .visible_ms = visible_ms};
    commit(t, (pawl_round){.work = &w, .work_count = 1});
    return w.id;
}

TEST(messages_are_asked_for_when_there_may_be_some)
{
    struct bed t = open_bed();
    int asked;
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 0);
    ck_assert_int_eq(asked, 1); /* after a take nothing is known */
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 0);
    ck_assert_int_eq(asked, 0);
    (void)deliver(&t, NOW); /* the committer has it */
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 0);
    ck_assert_int_eq(asked, 0);
    (void)deliver(&t, NOW + 50);
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 0);
    ck_assert_int_eq(asked, 0);
    ck_assert_uint_eq(fetch_mail(&t, NOW + 50, &asked), 1);
    ck_assert_int_eq(asked, 1);
    close_bed(&t);
}

TEST(an_abandoned_message_comes_back_alone)
{
    struct bed t = open_bed();
    int asked;
    uint64_t first = deliver(&t, NOW);
    for (int i = 0; i < 5; i++)
        (void)deliver(&t, NOW);
    (void)fetch_mail(&t, NOW, &asked);
    t.store->ops->abandon_messages(t.store, &first, 1);
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 1);
    ck_assert_int_eq(asked, 1);
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 0);
    ck_assert_int_eq(asked, 0);
    close_bed(&t);
}

TEST(a_name_without_work_costs_nothing)
{
    struct bed t = open_bed();
    int asked;
    ck_assert_uint_eq(fetch_jobs(&t, "mail", NOW, &asked), 0);
    ck_assert_int_eq(asked, 1);
    (void)enqueue(&t, "other", 0);
    ck_assert_uint_eq(fetch_jobs(&t, "mail", NOW, &asked), 0);
    ck_assert_int_eq(asked, 0);
    (void)enqueue(&t, "mail", 0);
    ck_assert_uint_eq(fetch_jobs(&t, "mail", NOW, &asked), 1);
    ck_assert_int_eq(asked, 1);
    ck_assert_uint_eq(fetch_jobs(&t, "mail", NOW, &asked), 0);
    ck_assert_int_eq(asked, 0);
    close_bed(&t);
}

TEST(delayed_work_is_asked_for_at_its_time)
{
    struct bed t = open_bed();
    int asked;
    (void)fetch_jobs(&t, "mail", NOW, &asked);
    (void)enqueue(&t, "mail", NOW + 50);
    ck_assert_uint_eq(fetch_jobs(&t, "mail", NOW + 49, &asked), 0);
    ck_assert_int_eq(asked, 0);
    ck_assert_uint_eq(fetch_jobs(&t, "mail", NOW + 50, &asked), 1);
    ck_assert_int_eq(asked, 2); /* its id, its row */
    close_bed(&t);
}

/* ---- Many shards ---------------------------------------------------------------------------- */

/* Messages of these shards that get visible in the 50 ms after a time, at random. */
static void scatter(struct bed *t, const int *counts, int64_t after_ms, unsigned seed)
{
    static pawl_message mail[PAWL_SHARDS * 100];
    size_t n = 0;
    for (uint32_t shard = 0; shard < PAWL_SHARDS; shard++)
        for (int i = 0; i < counts[shard]; i++)
            mail[n++] = (pawl_message){.id = new_id(t),
                                       .uid = t->uid,
                                       .kind = 1,
                                       .shard = shard,
                                       .visible_ms = after_ms + 1 + rand_r(&seed) % 50};
    commit(t, (pawl_round){.messages = mail, .message_count = n});
}

/* All of them, in pages: each once, the oldest first.  The round trips are counted. */
static int gather(struct bed *t, int64_t now_ms, uint32_t limit, size_t wanted)
{
    pawl_message_list list = {0};
    int64_t ms = 0;
    uint64_t id = 0;
    size_t count = 0;
    trips = 0;
    do {
        ck_assert_int_eq(
            t->store->ops->fetch_messages(t->store, now_ms, limit, t->mem, &list, NULL), PAWL_OK);
        for (size_t i = 0; i < list.count; i++) {
            const pawl_message *m = &list.items[i];
            ck_assert(m->visible_ms > ms || (m->visible_ms == ms && m->id > id));
            ms = m->visible_ms;
            id = m->id;
        }
        count += list.count;
        ck_assert(list.count == limit || count == wanted); /* a short page is the last one */
    } while (list.count == limit);
    ck_assert_uint_eq(count, wanted);
    return trips;
}

TEST(messages_of_all_shards_come_in_one_order)
{
    struct bed t = open_bed();
    int counts[PAWL_SHARDS] = {0};
    for (int i = 0; i < PAWL_SHARDS; i++)
        counts[i] = 30;
    scatter(&t, counts, NOW, 1);
    ck_assert_int_le(gather(&t, NOW + 50, 300, (size_t)30 * PAWL_SHARDS), 16);
    for (int i = 0; i < PAWL_SHARDS; i++) /* most in one of them */
        counts[i] = i == 17 ? 700 : i % 2;
    scatter(&t, counts, NOW + 50, 2);
    ck_assert_int_le(gather(&t, NOW + 100, 300, 700 + PAWL_SHARDS / 2 - 1), 15);
    int asked;
    ck_assert_uint_eq(fetch_mail(&t, NOW + 100, &asked), 0);
    ck_assert_int_eq(asked, 0);
    (void)deliver_in(&t, 63, NOW + 110); /* one shard has one */
    ck_assert_uint_eq(fetch_mail(&t, NOW + 110, &asked), 1);
    ck_assert_int_eq(asked, 1);
    close_bed(&t);
}

static int64_t due_after(struct bed *t, int64_t ms)
{
    int64_t due = 0;
    trips = 0;
    ck_assert_int_eq(t->store->ops->next_due(t->store, ms, &due, NULL), PAWL_OK);
    return due;
}

/* Memory has times of rows that are gone. */
TEST(the_next_due_time_is_that_of_a_row_that_is_there)
{
    struct bed t = open_bed();
    pawl_work_list none = {0};
    uint64_t ids[20];
    int asked;
    ck_assert_uint_eq(fetch_mail(&t, NOW, &asked), 0); /* nothing is due now */
    ck_assert_int_eq(t.store->ops->fetch_deadlines(t.store, NOW, 10, t.mem, &none, NULL), PAWL_OK);
    for (uint32_t i = 0; i < 20; i++)
        ids[i] = deliver_in(&t, i, NOW + 10 + i);
    ck_assert_int_eq(due_after(&t, NOW), NOW + 10);
    commit(&t, (pawl_round){.drop_messages = ids, .drop_message_count = 12});
    ck_assert_int_eq(due_after(&t, NOW), NOW + 22);
    ck_assert_int_le(trips, 2);
    ck_assert_int_eq(due_after(&t, NOW), NOW + 22);
    ck_assert_int_eq(trips, 1);
    ck_assert_int_eq(due_after(&t, NOW + 22), NOW + 23);
    ck_assert_int_eq(due_after(&t, NOW + 5), NOW + 22); /* the clock was set back */
    commit(&t, (pawl_round){.drop_messages = ids, .drop_message_count = 20});
    ck_assert_int_eq(due_after(&t, NOW), INT64_MAX);
    ck_assert_int_eq(due_after(&t, NOW), INT64_MAX);
    ck_assert_int_eq(trips, 0); /* nothing is to come in any shard */
    close_bed(&t);
}

TEST(deadlines_are_read_when_one_may_be_over)
{
    struct bed t = open_bed();
    pawl_work_list list = {0};
    int64_t due;
    ck_assert_int_eq(t.store->ops->fetch_deadlines(t.store, NOW, 10, t.mem, &list, NULL), PAWL_OK);
    pawl_work w = {.id = new_id(&t),
                   .uid = t.uid,
                   .execution = 1,
                   .name = pawl_s("mail"),
                   .deadline_ms = NOW + 50};
    commit(&t, (pawl_round){.work = &w, .work_count = 1});
    ck_assert_int_eq(t.store->ops->next_due(t.store, NOW, &due, NULL), PAWL_OK);
    ck_assert_int_eq(due, NOW + 50);
    trips = 0;
    ck_assert_int_eq(t.store->ops->fetch_deadlines(t.store, NOW + 49, 10, t.mem, &list, NULL),
                     PAWL_OK);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(trips, 0);
    ck_assert_int_eq(t.store->ops->fetch_deadlines(t.store, NOW + 50, 10, t.mem, &list, NULL),
                     PAWL_OK);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_int_eq(trips, 1);
    close_bed(&t);
}

TEST(queues_that_are_not_due_are_not_asked_for)
{
    struct bed t = open_bed();
    pawl_queue_row_list list;
    pawl_queue_row q = {.qid = new_id(&t), .name = pawl_s("q"), .due_ms = NOW + 50};
    ck_assert_int_eq(t.store->ops->queues->due_queues(t.store, NOW, 10, t.mem, &list, NULL),
                     PAWL_OK);
    pawl_queue_round part = {.new_queues = &q, .new_queue_count = 1};
    commit(&t, (pawl_round){.queue = &part});
    trips = 0;
    ck_assert_int_eq(t.store->ops->queues->due_queues(t.store, NOW + 49, 10, t.mem, &list, NULL),
                     PAWL_OK);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_int_eq(trips, 0);
    ck_assert_int_eq(t.store->ops->queues->due_queues(t.store, NOW + 50, 10, t.mem, &list, NULL),
                     PAWL_OK);
    ck_assert_uint_eq(list.count, 1);
    ck_assert_int_eq(trips, 1);
    close_bed(&t);
}

TEST(all_questions_of_a_pass_are_one_round_trip)
{
    struct bed t = open_bed();
    uint64_t job = enqueue(&t, "mail", 0);
    pawl_str keys[] = {pawl_s("k")};
    commit(&t, (pawl_round){.uid = t.uid, .execution = 1, .keys = keys, .key_count = 1});
    pawl_wanted w[] = {
        {.id = pawl_s("a"),    .key = pawl_s("k")},
        {.id = pawl_s("nobody")                   },
        {.uid = t.uid, .key = pawl_s("no")},
        {.work = job},
    };
    trips = 0;
    ck_assert_int_eq(store_load(t.store, w, 4, 1 << 20, t.mem, NULL), PAWL_OK);
    ck_assert_int_eq(trips, 1);
    ck_assert(w[0].status == PAWL_OK && w[0].key_status == PAWL_OK && w[0].row->uid == t.uid);
    ck_assert_int_eq(w[1].status, PAWL_NOT_FOUND);
    ck_assert(w[2].status == PAWL_OK && w[2].key_status == PAWL_EMPTY);
    ck_assert(w[3].status == PAWL_OK && w[3].item->id == job);
    close_bed(&t);
}

TEST(a_push_a_pop_and_an_ack_are_one_round_trip_each)
{
    struct bed t = open_bed();
    pawl_queue_row q = {.qid = new_id(&t), .name = pawl_s("q")};
    commit(&t, (pawl_round){
                   .queue = &(pawl_queue_round){.new_queues = &q, .new_queue_count = 1}
    });
    pawl_queue_entry e = {.id = new_id(&t), .qid = q.qid, .data = pawl_s("x")};
    pawl_entry_update take = {.id = e.id, .qid = q.qid, .state = 2, .deliveries = 1};
    pawl_queue_lock l = {.number = e.id,
                         .qid = q.qid,
                         .id = pawl_s("l"),
                         .until_ms = NOW + 9,
                         .entries = &e.id,
                         .entry_count = 1};
    pawl_queue_round parts[] = {
        {.queues = &q,          .queue_count = 1, .entries = &e, .entry_count = 1},
        { .queues = &q,
         .queue_count = 1,
         .updates = &take,
         .update_count = 1,
         .new_locks = &l,
         .new_lock_count = 1},
        {                                                      .queues = &q,
         .queue_count = 1,
         .drop_entries = &e.id,
         .drop_entry_count = 1,
         .drop_locks = &l,
         .drop_lock_count = 1},
    };
    for (int i = 0; i < 3; i++) {
        trips = 0;
        commit(&t, (pawl_round){.queue = &parts[i]});
        ck_assert_int_eq(trips, 1);
    }
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.queue_entry", t.place.schema), 0);
    close_bed(&t);
}
