/* SPDX-License-Identifier: MIT */
/* suite/case_shards.c -- labels: what a lane sees, and mail from one to another.  E5 to E11. */
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SHARD(n) (UINT64_C(1) << (n))

/* ---- What a lane sees --------------------------------------------------------- */

static void e5_fetches_find_rows_of_own_shards_only(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    deliver(t, &a, "m-a");
    deliver(t, &z, "m-z");
    enqueue(t, &a, "j-a");
    enqueue(t, &z, "j-z");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("d-a"), .deadline_ms = t->now});
    enqueue_work(t, &z, (pawl_work){.name = pawl_s("d-z"), .deadline_ms = t->now});
    hand_over(t, &b, SHARD(5));
    for (int i = 0; i < 2; i++, speak_for(t, &b)) {
        CHECK_TEXT(overdue(t, 10), i ? "d-a" : "d-z");
        CHECK_TEXT(fetch(t, 10), i ? "m-a" : "m-z");
        CHECK_TEXT(fetch_named(t, "j-a", 10), i ? "j-a" : "");
        CHECK_TEXT(fetch_jobs(t, 10), i ? "d-a" : "j-z d-z");
    }
}

static void e5_times_are_of_own_shards_only(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    deliver_at(t, &a, "m", t->now + 100);
    enqueue_work(t, &z, (pawl_work){.name = pawl_s("j"), .visible_ms = t->now + 200});
    hand_over(t, &b, SHARD(5));
    CHECK_NUMBER(next_due(t, t->now), t->now + 200);
    speak_for(t, &b);
    CHECK_NUMBER(next_due(t, t->now), t->now + 100);
    CHECK_NUMBER(next_due(t, t->now + 100), INT64_MAX);
}

static const char *names(struct probe *t)
{
    pawl_text_list list = {0};
    pawl_str text = {"", 0};
    CHECK_STATUS(t->store->ops->list_work_names(t->store, text, 10, t->mem, &list, NULL), PAWL_OK);
    for (size_t i = 0; i < list.count; i++)
        text = pawl_mem_printf(t->mem, "%s%.*s ", text.ptr, PAWL_FMT(list.items[i]));
    return text.ptr;
}

static size_t waiting(struct probe *t, const char *name)
{
    pawl_work_list list = {0};
    CHECK_STATUS(
        t->store->ops->read_named_work(t->store, pawl_s(name), t->now, 10, t->mem, &list, NULL),
        PAWL_OK);
    return list.count;
}

static void e5_names_of_work_are_of_own_shards_only(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    enqueue(t, &a, "both");
    enqueue(t, &z, "both");
    enqueue_work(t, &a, (pawl_work){.name = pawl_s("of-a"), .visible_ms = t->now + 9});
    enqueue_work(t, &z, (pawl_work){.name = pawl_s("of-z"), .visible_ms = t->now + 9});
    hand_over(t, &b, SHARD(5));
    CHECK_TEXT(names(t), "both of-z ");
    CHECK_NUMBER(waiting(t, "of-a"), 0);
    CHECK_NUMBER(waiting(t, "of-z"), 1);
    speak_for(t, &b);
    CHECK_TEXT(names(t), "both of-a ");
    CHECK_NUMBER(waiting(t, "of-a"), 1);
}

/* A queue of this name and time, in this shard. */
static pawl_status make_queue(struct probe *t, const char *name, uint32_t shard)
{
    pawl_queue_row row = {.qid = new_id(t),
                          .name = pawl_s(name),
                          .shard = shard,
                          .created_ms = t->now,
                          .due_ms = t->now + (int64_t)shard};
    pawl_queue_round part = {.new_queues = &row, .new_queue_count = 1};
    struct draft *d = free_round(t);
    d->round.queue = &part;
    return commit(d);
}

static const char *due(struct probe *t)
{
    pawl_queue_row_list list = {0};
    pawl_str text = {"", 0};
    CHECK_STATUS(t->store->ops->queues->due_queues(t->store, t->now, 10, t->mem, &list, NULL),
                 PAWL_OK);
    for (size_t i = 0; i < list.count; i++)
        text = pawl_mem_printf(t->mem, "%s%.*s:%u ", text.ptr, PAWL_FMT(list.items[i].name),
                               list.items[i].shard);
    return text.ptr;
}

static void e5_e3_queues_are_due_in_their_lane(struct probe *t)
{
    needs_lanes(t);
    struct side b = beside(t);
    CHECK_STATUS(make_queue(t, "q", 5), PAWL_OK);
    CHECK_STATUS(make_queue(t, "r", 6), PAWL_OK);
    hand_over(t, &b, SHARD(5));
    CHECK_NUMBER(next_due(t, t->now), t->now + 6);
    tick(t, 6);
    CHECK_TEXT(due(t), "r:6 ");
    speak_for(t, &b);
    CHECK_NUMBER(next_due(t, t->now - 6), t->now - 1);
    CHECK_TEXT(due(t), "q:5 ");
    CHECK_STATUS(make_queue(t, "s", 5), PAWL_OK);
    pawl_queue_row row = {0};
    CHECK_STATUS(t->store->ops->queues->find_queue(t->store, pawl_s("r"), t->mem, &row, NULL),
                 PAWL_OK); /* readers see all */
    CHECK_NUMBER(row.shard, 6);
}

static void e5_readers_see_all_shards(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    uint64_t mail = deliver(t, &z, "m"), job = enqueue(t, &z, "j");
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    CHECK_TEXT(listed(t, (pawl_row_query){.limit = 10}), "z a");
    CHECK_NUMBER(find(t, "z").shard, 6);
    CHECK_NUMBER(find(t, "a").shard, 5);
    CHECK_TEXT(history(t, z.uid, 1), "start");
    CHECK_NUMBER(message(t, z.uid, mail).shard, 6);
    CHECK_NUMBER(work(t, job).shard, 6);
    CHECK_NUMBER(depths(t).instances, 2);
    pawl_wanted want = {.uid = z.uid, .status = PAWL_UNAVAILABLE};
    if (t->store->ops->load) {
        CHECK_STATUS(t->store->ops->load(t->store, &want, 1, 1 << 20, t->mem, NULL), PAWL_OK);
        CHECK_STATUS(want.status, PAWL_OK);
        CHECK_NUMBER(want.row->shard, 6);
    }
    append(t, &a, "x");
    CHECK_NUMBER(find(t, "a").shard, 5);
    CHECK_NUMBER(find_execution(t, z.uid, 1).shard, 6);
}

static void e5_labels_last(struct probe *t)
{
    pawl_row a = make_in(t, "a", 63);
    struct draft *d = change_all(t, &a);
    draft_event(d, "x");
    d->row.custom_status = pawl_s("status");
    CHECK_STATUS(commit(d), PAWL_OK);
    continue_as_new(t, &a, "next");
    uint64_t job = enqueue(t, &a, "j");
    draft_update_work(d = free_round(t), (pawl_work_update){.id = job, .attempt = 1});
    CHECK_STATUS(commit(d), PAWL_OK);
    uint64_t mail = deliver(t, &a, "m");
    die(t);
    take(t);
    CHECK_NUMBER(find(t, "a").shard, 63);
    CHECK_NUMBER(find_execution(t, a.uid, 1).shard, 63);
    CHECK_NUMBER(work(t, job).shard, 63);
    CHECK_NUMBER(message(t, a.uid, mail).shard, 63);
}

static void e5_purge_and_prune_are_of_own_shards_only(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    deliver(t, &z, "m");
    continue_as_new(t, &a, "second");
    hand_over(t, &b, SHARD(5));
    remove_instance(t, &z);
    uint64_t count;
    CHECK_STATUS(t->store->ops->prune_executions(t->store, &t->fence, a.uid, 2, &count, NULL),
                 PAWL_NOT_FOUND);
    speak_for(t, &b);
    bool left = true;
    CHECK_STATUS(t->store->ops->purge(t->store, &t->fence, 100, &left, NULL), PAWL_OK);
    CHECK(!left);
    CHECK_TEXT(mailbox(t, z.uid, NULL), "m");
    CHECK_STATUS(t->store->ops->prune_executions(t->store, &t->fence, a.uid, 2, &count, NULL),
                 PAWL_OK);
    CHECK_NUMBER(count, 1);
    speak_for(t, &b);
    purge_all(t);
    CHECK_TEXT(mailbox(t, z.uid, NULL), "");
    CHECK_TEXT(history(t, a.uid, 2), "second");
}

/* ---- Instances of others --------------------------------------------------------- */

static void e6_rounds_on_instances_of_others_are_refused_alone(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    struct draft *d[] = {change(t, &a), change_all(t, &a), remove_round(t, &a), insert(t, "new"),
                         change(t, &z)};
    for (int i = 0; i < 5; i++)
        if (i != 2 && i != 3)
            draft_event(d[i], "x");
    draft_message(d[0], (pawl_message){.uid = z.uid, .shard = 6, .data = pawl_s("none")});
    d[3]->row.shard = 5;
    CHECK_STATUS(commit_all(t, d, 5), PAWL_OK);
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(d[i]->round.result, PAWL_CONFLICT);
        CHECK(d[i]->round.why == PAWL_WHY_ELSEWHERE || d[i]->round.why == PAWL_WHY_UNKNOWN);
    }
    CHECK_STATUS(d[4]->round.result, PAWL_OK);
    CHECK_NUMBER(t->fence.mail, 0);
    CHECK_TEXT(history(t, a.uid, 1), "start");
    CHECK_TEXT(history(t, z.uid, 1), "start x");
    CHECK_TEXT(mailbox(t, z.uid, NULL), "");
    CHECK_NUMBER(find(t, "new").uid, 0);
    speak_for(t, &b);
    append(t, &a, "by-b");
}

/* ---- Labels of messages ------------------------------------------------------------ */

/* A round whose labels are wanted in `ret`. */
static struct draft *labelled(struct probe *t, uint32_t *ret)
{
    struct draft *d = free_round(t);
    pawl_round_extra *extra = pawl_mem_alloc(t->mem, sizeof(*extra));
    *extra = (pawl_round_extra){.size = sizeof(*extra), .shards = ret};
    d->round.extra = extra;
    return d;
}

static void e7_the_store_finds_the_shard_of_an_instance(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    uint32_t got[4] = {99, 99, 99, 99};
    struct draft *d[] = {insert(t, "new"), labelled(t, got)};
    d[0]->row.shard = 17;
    pawl_message m = {.shard = PAWL_SHARD_LOOK, .data = pawl_s("m")};
    m.uid = a.uid;
    draft_message(d[1], m);
    m.uid = 0;
    m.instance = pawl_s("a");
    draft_message(d[1], m);
    m.instance = pawl_s("new");
    uint64_t by_name = draft_message(d[1], m);
    m.instance = pawl_s("nobody");
    uint64_t to_nobody = draft_message(d[1], m);
    CHECK_STATUS(commit_all(t, d, 2), PAWL_OK);
    CHECK_STATUS(d[1]->round.result, PAWL_OK);
    CHECK_NUMBER(got[0], 5);
    CHECK_NUMBER(got[1], 5);
    CHECK_NUMBER(got[2], 17);
    CHECK_NUMBER(got[3], pawl_shard_of(pawl_s("nobody")));
    CHECK_NUMBER(message(t, 0, by_name).shard, 17);
    CHECK_NUMBER(message(t, 0, to_nobody).shard, pawl_shard_of(pawl_s("nobody")));
}

static void e7_an_uid_that_is_gone_is_nobody(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    remove_instance(t, &a);
    uint32_t got = 99;
    struct draft *d = labelled(t, &got);
    draft_message(d,
                  (pawl_message){.uid = a.uid, .shard = PAWL_SHARD_LOOK, .data = pawl_s("late")});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(got, pawl_shard_of((pawl_str){0}));
}

static void e8_mail_for_others_is_told_and_not_taken(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5), z = make_in(t, "z", 6);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    uint32_t got[3] = {99, 99, 99};
    struct draft *d = labelled(t, got);
    pawl_message m = {.uid = z.uid, .shard = 6, .data = pawl_s("own")};
    draft_message(d, m);
    m = (pawl_message){.uid = a.uid, .shard = 5, .data = pawl_s("other")};
    draft_message(d, m);
    m = (pawl_message){.instance = pawl_s("a"), .shard = PAWL_SHARD_LOOK, .data = pawl_s("named")};
    draft_message(d, m);
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(got[0], 6);
    CHECK_NUMBER(got[1], 5);
    CHECK_NUMBER(got[2], 5);
    CHECK_NUMBER(t->fence.mail, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_STATUS(commit(free_round(t)), PAWL_OK);
    CHECK_NUMBER(t->fence.mail, 0);
    speak_for(t, &b);
    hint(t, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "other named");
}

/* ---- Hints ---------------------------------------------------------------------------- */

/* Mail by the probe for an instance in the shard of another lane. */
static uint64_t send_at(struct probe *t, const pawl_row *to, const char *data, int64_t visible_ms)
{
    uint64_t id = deliver_at(t, to, data, visible_ms);
    CHECK_NUMBER(t->fence.mail, SHARD(to->shard));
    return id;
}

static void e9_mail_of_others_is_found_after_a_hint(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    deliver(t, &a, "own");
    CHECK_TEXT(fetch(t, 10), "own"); /* with an id above those of the other lane */
    CHECK_TEXT(fetch(t, 10), "");
    speak_for(t, &b);
    for (int i = 0; i < 3; i++)
        send_at(t, &a, i == 0 ? "1" : i == 1 ? "2" : "3", 0);
    speak_for(t, &b);
    hint(t, SHARD(5));
    CHECK_TEXT(fetch(t, 2), "1 2");
    CHECK_TEXT(fetch(t, 2), "3");
    CHECK_TEXT(fetch(t, 2), "");
    speak_for(t, &b);
    send_at(t, &a, "4", 0);
    speak_for(t, &b);
    hint(t, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "4");
}

static void e9_mail_of_others_waits_for_its_time(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    speak_for(t, &b);
    CHECK_NUMBER(next_due(t, t->now), INT64_MAX);
    speak_for(t, &b);
    send_at(t, &a, "later", t->now + 100);
    send_at(t, &a, "soon", t->now + 50);
    CHECK_NUMBER(next_due(t, t->now), INT64_MAX);
    speak_for(t, &b);
    hint(t, SHARD(5));
    CHECK_NUMBER(next_due(t, t->now), t->now + 50);
    CHECK_TEXT(fetch(t, 10), "");
    tick(t, 50);
    CHECK_TEXT(fetch(t, 10), "soon");
    CHECK_NUMBER(next_due(t, t->now), t->now + 50);
    tick(t, 50);
    CHECK_TEXT(fetch(t, 10), "later");
}

static void e9_many_from_two_lanes_all_arrive_once(struct probe *t)
{
    enum { MANY = 60 };
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t), c = beside(t);
    hand_over(t, &b, SHARD(5));
    char seen[MANY + 1] = "";
    for (int i = 0, sent = 0; sent < MANY || i < MANY + 10; i++) {
        for (int k = 0; k < 2 && sent < MANY; k++, sent++) {
            uint64_t id = send_at(t, &a, "", 0);
            (void)id;
            speak_for(t, &c);
        }
        speak_for(t, &b);
        hint(t, i % 3 ? SHARD(5) : PAWL_SHARDS_ALL);
        pawl_message_list list = {0};
        CHECK_STATUS(t->store->ops->fetch_messages(t->store, t->now, 3, t->mem, &list, NULL),
                     PAWL_OK);
        for (size_t n = 0; n < list.count; n++)
            strcat(seen, "x");
        CHECK(strlen(seen) <= MANY);
        speak_for(t, &b);
    }
    CHECK_NUMBER(strlen(seen), MANY);
}

static void e9_a_hint_is_not_believed(struct probe *t)
{
    pawl_row a = make_in(t, "a", 5);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    deliver(t, &a, "other"); /* by the first lane: it goes to b */
    for (int i = 0; i < 3; i++)
        hint(t, i == 0 ? SHARD(5) : i == 1 ? PAWL_SHARDS_ALL : 0);
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_NUMBER(next_due(t, t->now), INT64_MAX);
    speak_for(t, &b);
    hint(t, SHARD(6));
    hint(t, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "other");
    hint(t, SHARD(5));
    CHECK_TEXT(fetch(t, 10), ""); /* it is taken */
    enqueue(t, &a, "j");
    CHECK_TEXT(fetch_jobs(t, 10), "j");
    hint(t, SHARD(5));
    CHECK_TEXT(fetch_jobs(t, 10), "");
}

/* ---- A label that is not its instance's ---------------------------------------------------- */

static void e10_a_message_moves_to_the_shard_of_its_instance(struct probe *t)
{
    pawl_row z = make_in(t, "z", 6);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    struct draft *d = free_round(t);
    uint64_t id = draft_message(
        d, (pawl_message){.instance = pawl_s("z"), .shard = 5, .data = pawl_s("astray")});
    CHECK_STATUS(commit(d), PAWL_OK);
    speak_for(t, &b);
    hint(t, SHARD(5));
    CHECK_TEXT(fetch(t, 10), "astray");
    d = free_round(t);
    draft_update_message(d, (pawl_message_update){.id = id, .relabel = true, .shard = 6});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(t->fence.mail, SHARD(6));
    CHECK_TEXT(fetch(t, 10), "");
    CHECK_NUMBER(message(t, 0, id).shard, 6);
    speak_for(t, &b);
    hint(t, SHARD(6));
    CHECK_TEXT(fetch(t, 10), "astray");
    (void)z;
}

static void e10_a_label_changes_only_when_asked(struct probe *t)
{
    needs_lanes(t);
    struct draft *d = free_round(t);
    uint64_t id =
        draft_message(d, (pawl_message){.instance = pawl_s("z"), .shard = 5, .data = pawl_s("m")});
    CHECK_STATUS(commit(d), PAWL_OK);
    draft_update_message(d = free_round(t), (pawl_message_update){.id = id, .attempt = 1});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(message(t, 0, id).shard, 5);
    CHECK_TEXT(fetch(t, 10), "m");
    draft_update_message(d = free_round(t),
                         (pawl_message_update){.id = id, .relabel = true, .shard = 9});
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(t->fence.mail, 0);
    CHECK_TEXT(fetch(t, 10), "m"); /* it is ours still, and free */
}

/* ---- The same id from two lanes ------------------------------------------------------------- */

static void e11_one_of_two_gets_the_id(struct probe *t)
{
    needs_lanes(t);
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    (void)make_in(t, "same", 6);
    speak_for(t, &b);
    struct draft *d = insert(t, "same");
    d->row.shard = 5;
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK(d->round.why == PAWL_WHY_EXISTS || d->round.why == PAWL_WHY_UNKNOWN);
    CHECK_NUMBER(find(t, "same").shard, 6);
}

enum { RACES = 20, NAMES = 8 };

struct racer {
    struct probe t;
    uint32_t shard;
    bool backwards;
    pthread_barrier_t *start;
    int won[NAMES];
    char failure[200];
};

/* Insert all names of a race in one commit: those of the other lane come in another order. */
static void *race(void *arg)
{
    struct racer *r = arg;
    struct probe *t = &r->t;
    if (setjmp(t->out) == 0) {
        for (int n = 0; n < RACES; n++) {
            struct draft *d[NAMES];
            for (int i = 0; i < NAMES; i++) {
                int k = r->backwards ? NAMES - 1 - i : i;
                d[i] = insert(t, pawl_mem_printf(t->mem, "race-%d-%d", n, k).ptr);
                d[i]->row.shard = r->shard;
            }
            pthread_barrier_wait(r->start);
            pawl_status status;
            do /* a deadlock of the server's is BUSY: the caller tries again */
                status = commit_all(t, d, NAMES);
            while (status == PAWL_BUSY);
            CHECK_STATUS(status, PAWL_OK);
            for (int i = 0; i < NAMES; i++)
                r->won[r->backwards ? NAMES - 1 - i : i] += d[i]->round.result == PAWL_OK;
        }
    }
    snprintf(r->failure, sizeof(r->failure), "%.199s", t->failure);
    return NULL;
}

static void e11_lanes_that_insert_the_same_ids_do_not_wait_for_ever(struct probe *t)
{
    struct side b = beside(t);
    hand_over(t, &b, SHARD(5));
    pthread_barrier_t start;
    pthread_t threads[2];
    struct racer r[2] = {
        {.t = *t,     .shard = 6       },
        { .t = *t, .shard = 5, .backwards = true}
    };
    r[1].t.store = b.store;
    r[1].t.fence = b.fence;
    CHECK(pthread_barrier_init(&start, NULL, 2) == 0);
    for (int i = 0; i < 2; i++) {
        r[i].t.mem = pawl_mem_new();
        r[i].start = &start;
        CHECK(pthread_create(&threads[i], NULL, race, &r[i]) == 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    t->fence = r[0].t.fence;
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT(r[i].failure, "");
        pawl_mem_free(r[i].t.mem);
    }
    for (int i = 0; i < NAMES; i++)
        CHECK_NUMBER(r[0].won[i] + r[1].won[i], RACES);
}

const struct probe_case cases_shards[] = {
    CASE(e5_fetches_find_rows_of_own_shards_only),
    CASE(e5_times_are_of_own_shards_only),
    CASE(e5_names_of_work_are_of_own_shards_only),
    CASE(e5_e3_queues_are_due_in_their_lane),
    CASE(e5_readers_see_all_shards),
    CASE(e5_labels_last),
    CASE(e5_purge_and_prune_are_of_own_shards_only),
    CASE(e6_rounds_on_instances_of_others_are_refused_alone),
    CASE(e7_the_store_finds_the_shard_of_an_instance),
    CASE(e7_an_uid_that_is_gone_is_nobody),
    CASE(e8_mail_for_others_is_told_and_not_taken),
    CASE(e9_mail_of_others_is_found_after_a_hint),
    CASE(e9_mail_of_others_waits_for_its_time),
    CASE(e9_many_from_two_lanes_all_arrive_once),
    CASE(e9_a_hint_is_not_believed),
    CASE(e10_a_message_moves_to_the_shard_of_its_instance),
    CASE(e10_a_label_changes_only_when_asked),
    CASE(e11_one_of_two_gets_the_id),
    CASE(e11_lanes_that_insert_the_same_ids_do_not_wait_for_ever),
    CASES_END,
};
