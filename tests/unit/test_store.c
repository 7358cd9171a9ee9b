/* SPDX-License-Identifier: MIT */
/* tests/unit/test_store.c -- checked calls stop at a broken clause; the fault decorator. */
#include "../harness.h"
#include "base/attr.h"
#include "store/fault/fault.h"
#include "store/store.h"
#include "store/store_object.h"
#include "store/store_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pawl_row row(uint64_t uid)
{
    return (pawl_row){.uid = uid, .id = pawl_s("a"), .execution = 1, .state = PAWL_RUNNING};
}

TEST(a_good_life_passes_every_check)
{
    pawl_store *s = pawl_memory_store();
    pawl_mem *mem = pawl_mem_new();
    pawl_fence f;
    ck_assert_int_eq(store_take(s, 1, &f, NULL), PAWL_OK);
    pawl_row a = row(f.next_id++);
    pawl_event e = {.rid = f.next_id++, .execution = 1, .seq = 1, .kind = 1};
    pawl_message m = {.id = f.next_id++, .uid = a.uid, .kind = 5, .visible_ms = 5};
    pawl_work w = {.id = e.rid, .uid = a.uid, .name = pawl_s("j"), .deadline_ms = 5};
    a.last_seq = 1;
    a.last_rid = a.first_rid = e.rid;
    pawl_round r = {.uid = a.uid,
                    .execution = 1,
                    .change = PAWL_ROW_INSERT,
                    .row = &a,
                    .events = &e,
                    .event_count = 1,
                    .messages = &m,
                    .message_count = 1,
                    .work = &w,
                    .work_count = 1};
    ck_assert_int_eq(store_commit(s, &f, &r, 1, 1, NULL), PAWL_OK);
    ck_assert_int_eq(r.result, PAWL_OK);

    int64_t due = 0;
    ck_assert_int_eq(store_next_due(s, 1, &due, NULL), PAWL_OK);
    ck_assert_int_eq(due, 5);
    pawl_message_list messages;
    pawl_work_list work;
    pawl_event_list events;
    pawl_row got;
    pawl_row_list rows;
    bool left = true;
    uint64_t pruned = 9;
    ck_assert_int_eq(store_fetch_messages(s, 5, 9, mem, &messages, NULL), PAWL_OK);
    ck_assert_int_eq(store_fetch_work(s, 5, NULL, 0, 9, mem, &work, NULL), PAWL_OK);
    ck_assert_uint_eq(messages.count + work.count, 2);
    ck_assert_int_eq(store_fetch_deadlines(s, 5, 9, mem, &work, NULL), PAWL_OK);
    ck_assert_uint_eq(work.count, 1);
    ck_assert_int_eq(store_read_history(s, a.uid, 1, 0, 0, mem, &events, NULL), PAWL_OK);
    ck_assert_int_eq(store_read_messages(s, a.uid, pawl_s(NULL), mem, &messages, NULL), PAWL_OK);
    ck_assert_int_eq(store_find(s, a.id, mem, &got, NULL), PAWL_OK);
    ck_assert_int_eq(store_find_uid(s, a.uid, mem, &got, NULL), PAWL_OK);
    ck_assert_int_eq(store_find_execution(s, a.uid, 1, mem, &got, NULL), PAWL_OK);
    ck_assert_int_eq(store_list(s, &(pawl_row_query){.limit = 5}, mem, &rows, NULL), PAWL_OK);
    ck_assert_int_eq(store_purge(s, &f, 5, &left, NULL), PAWL_OK);
    ck_assert_int_eq(store_prune_executions(s, &f, a.uid, 5, &pruned, NULL), PAWL_OK);
    ck_assert(!left && pruned == 0);
    pawl_mem_free(mem);
    store_close(s);
    store_close(NULL);
}

/* True when committing the round stops the process. */
static bool stops(pawl_round r)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fclose(stderr);
        pawl_store *s = pawl_memory_store();
        pawl_fence f;
        _exit(store_take(s, 1, &f, NULL) == PAWL_OK && (f.next_id = 100) &&
                      store_commit(s, &f, &r, 1, 1, NULL) == PAWL_OK
                  ? 0
                  : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(malformed_rounds_stop_the_process)
{
    pawl_row a = row(1), wrong_uid = row(2), ahead = row(1), continued = row(1);
    pawl_event e = {.rid = 5, .execution = 1, .seq = 1},
               late = {.rid = 100, .execution = 1, .seq = 1};
    pawl_message unaddressed = {.id = 5}, unnumbered = {.uid = 1};
    pawl_work strange = {.id = 5, .uid = 1, .name = pawl_s("j"), .lock_epoch = 77};
    ahead.last_seq = 9;
    continued.execution = 2;
    ck_assert(!stops((pawl_round){0}));
    ck_assert(!stops((pawl_round){.uid = 1, .execution = 1, .change = PAWL_ROW_INSERT, .row = &a}));
    pawl_round bad[] = {
        {.change = PAWL_ROW_INSERT, .row = &a             },
        {.uid = 1,                  .execution = 1,         .change = PAWL_ROW_INSERT, .row = &wrong_uid},
        {.uid = 1,        .execution = 1,                              .change = PAWL_ROW_INSERT, .row = &ahead},
        {.uid = 1,    .execution = 1,.change = PAWL_ROW_LAST, .row = &continued},
        {.uid = 1,                         .execution = 1,                                        .events = &e, .event_count = 1},
        {.uid = 1,
         .execution = 1,
         .change = PAWL_ROW_INSERT,
         .row = &a,
         .events = &e,
         .event_count = 1},
        {.uid = 1,
         .execution = 1,
         .change = PAWL_ROW_INSERT,
         .row = &a,
         .events = &late,
         .event_count = 1},
        {.uid = 1,         .execution = 1,                               .base_seq = 3, .change = PAWL_ROW_LAST, .row = &a},
        {.messages = &unaddressed,            .message_count = 1                        },
        {.messages = &unnumbered,              .message_count = 1                                 },
        {.work = &strange,                  .work_count = 1                                   },
        {.keys = &(pawl_str){0},                 .key_count = 1                                  },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(stops(bad[i]), "row %zu passed", i);
}

TEST(a_round_on_rows_of_somebody_else_is_fenced)
{
    pawl_store *s = pawl_memory_store();
    pawl_fence f, later;
    ck_assert_int_eq(store_take(s, 1, &f, NULL), PAWL_OK);
    pawl_round rounds[] = {{.uid = f.next_id}, {0}}; /* nobody else is there: it is damaged */
    ck_assert_int_eq(store_commit(s, &f, rounds, 2, 1, NULL), PAWL_OK);
    ck_assert_int_eq(rounds[0].result, PAWL_CONFLICT);
    ck_assert_int_eq(rounds[1].result, PAWL_OK);
    ck_assert_int_eq(store_take(s, 1, &later, NULL), PAWL_OK);
    pawl_round newer = {.uid = f.next_id};
    ck_assert_int_eq(store_commit(s, &f, &newer, 1, 1, NULL), PAWL_FENCED);
    store_close(s);
}

/* A store whose index is damaged: rows come in the wrong order. */
static pawl_status list_upside_down(pawl_store *s UNUSED, const pawl_row_query *query UNUSED,
                                    pawl_mem *mem, pawl_row_list *ret, pawl_error *reterr UNUSED)
{
    pawl_row *rows = pawl_mem_alloc(mem, 2 * sizeof(*rows));
    rows[0] = row(1);
    rows[1] = row(2);
    *ret = (pawl_row_list){.items = rows, .count = 2};
    return PAWL_OK;
}

TEST(an_answer_that_cannot_be_true_is_corrupt_for_who_asked)
{
    pawl_store *s = pawl_memory_store();
    const pawl_store_ops *honest = s->ops;
    pawl_store_ops lying = *honest;
    pawl_mem *mem = pawl_mem_new();
    pawl_row_list rows;
    pawl_error err;
    lying.list = list_upside_down;
    s->ops = &lying;
    ck_assert_int_eq(store_list(s, &(pawl_row_query){.limit = 5}, mem, &rows, &err), PAWL_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "out of order"));
    s->ops = honest;
    pawl_mem_free(mem);
    store_close(s);
}

static struct fault third_commit(void *user, enum fault_op op, uint64_t call)
{
    enum fault_kind *kind = user;
    bool now = op == FAULT_OP_commit && call == 3;
    return (struct fault){.kind = now ? *kind : FAULT_NONE, .status = PAWL_UNKNOWN};
}

TEST(faults_come_before_or_after_and_calls_are_counted)
{
    for (int i = 0; i < 2; i++) {
        enum fault_kind kind = i ? FAULT_AFTER : FAULT_BEFORE;
        pawl_store *s = fault_store(pawl_memory_store(), third_commit, &kind);
        pawl_fence f;
        ck_assert_int_eq(store_take(s, 1, &f, NULL), PAWL_OK);
        for (int n = 1; n <= 3; n++)
            ck_assert_int_eq(store_commit(s, &f, NULL, 0, 1, NULL),
                             n == 3 ? PAWL_UNKNOWN : PAWL_OK);
        ck_assert_uint_eq(f.group_no, 2);
        ck_assert_uint_eq(fault_store_calls(s, FAULT_OP_commit), 3);
        ck_assert_str_eq(fault_op_name(FAULT_OP_commit), "commit");
        s = fault_store_release(s);
        ck_assert_int_eq(store_take(s, 1, &f, NULL), PAWL_OK);
        ck_assert_uint_eq(f.group_no, kind == FAULT_AFTER ? 3 : 2);
        store_close(s);
    }
}

/* ---- Editions ---------------------------------------------------------------------------- */

/* A store whose structs end before what was added last. */
static void old_caps(pawl_store *s, pawl_store_caps *ret)
{
    struct {
        size_t size;
        bool atomic_rounds;
    } caps = {.atomic_rounds = true};
    (void)s;
    pawl_fill(ret, &caps, sizeof(caps.size) + sizeof(caps.atomic_rounds));
}

static void no_figures(pawl_store *s, pawl_store_figures *ret)
{
    (void)s;
    ret->damaged = 77; /* beyond the size of its table: never called */
}

TEST(a_shorter_store_of_this_edition_is_used_as_far_as_it_goes)
{
    pawl_store_ops ops = {.size = offsetof(pawl_store_ops, figures),
                          .abi = PAWL_STORE_ABI,
                          .caps = old_caps,
                          .figures = no_figures};
    pawl_store s = {&ops};
    pawl_store_figures figures;
    ck_assert_int_eq(store_check(&s, NULL), PAWL_OK);
    store_figures(&s, &figures);
    ck_assert_uint_eq(figures.damaged, 0);
    pawl_store_caps caps = store_caps(&s);
    ck_assert(caps.atomic_rounds && !caps.delayed_visibility && !caps.durable && !caps.queues);
    ops.size = sizeof(ops);
    store_figures(&s, &figures);
    ck_assert_uint_eq(figures.damaged, 77);
}

TEST(a_store_fills_no_more_than_an_older_caller_has_room_for)
{
    struct {
        size_t size;
        bool atomic_rounds;
        char wall[sizeof(pawl_store_caps)];
    } old = {.size = offsetof(pawl_store_caps, atomic_rounds) + sizeof(bool)};
    pawl_store *s = pawl_memory_store();
    memset(old.wall, 0x55, sizeof(old.wall));
    s->ops->caps(s, (pawl_store_caps *)(void *)&old);
    ck_assert(old.atomic_rounds);
    for (size_t i = 0; i < sizeof(old.wall); i++)
        ck_assert_int_eq(old.wall[i], 0x55);
    store_close(s);
}

TEST(a_store_of_another_edition_is_refused)
{
    pawl_error err;
    pawl_store_ops ops = {.size = sizeof(ops), .abi = 1};
    pawl_store s = {&ops};
    ck_assert_int_eq(store_check(&s, &err), PAWL_MISUSE);
    ck_assert_ptr_nonnull(strstr(err.text, "edition 1"));
    ops = (pawl_store_ops){.size = 100, .abi = PAWL_STORE_ABI};
    ck_assert_int_eq(store_check(&s, &err), PAWL_MISUSE);
    ops.size = 0; /* nobody knows how long it is */
    ck_assert_int_eq(store_check(&s, &err), PAWL_MISUSE);
    s.ops = NULL;
    ck_assert_int_eq(store_check(&s, &err), PAWL_MISUSE);
}

static pawl_status large_find(pawl_store *s, pawl_str id, pawl_mem *mem, pawl_row *ret,
                              pawl_error *reterr)
{
    (void)s, (void)id, (void)ret, (void)reterr;
    (void)pawl_mem_alloc(mem, 1 << 20);
    return PAWL_NOT_FOUND;
}

TEST(questions_beyond_the_limit_in_bytes_are_left_out)
{
    pawl_store_ops ops = {.size = sizeof(ops), .abi = PAWL_STORE_ABI, .find = large_find};
    pawl_store s = {&ops};
    pawl_wanted w[4] = {{.id = pawl_s("a")}, {.id = pawl_s("b")}, {.id = pawl_s("c")}};
    pawl_mem *mem = pawl_mem_new();
    ck_assert_int_eq(store_load(&s, w, 4, 3 << 19, mem, NULL), PAWL_OK);
    ck_assert_int_eq(w[0].status, PAWL_NOT_FOUND);
    ck_assert_int_eq(w[1].status, PAWL_NOT_FOUND);
    ck_assert_int_eq(w[3].status, PAWL_UNAVAILABLE);
    ck_assert_int_eq(w[3].key_status, PAWL_UNAVAILABLE);
    pawl_mem_free(mem);
}

/* ---- Answers about objects that cannot be true ------------------------------------------ */

static pawl_object false_objects[2];

static pawl_status lie_object(pawl_store *s, int kind, pawl_str name, pawl_mem *mem,
                              pawl_object *ret, pawl_error *reterr)
{
    (void)s, (void)kind, (void)name, (void)mem, (void)reterr;
    *ret = false_objects[0];
    return PAWL_OK;
}

static pawl_status lie_objects(pawl_store *s, int kind, pawl_str prefix, pawl_str after,
                               uint32_t limit, pawl_mem *mem, pawl_object_list *ret,
                               pawl_error *reterr)
{
    (void)s, (void)kind, (void)prefix, (void)after, (void)limit, (void)mem, (void)reterr;
    *ret = (pawl_object_list){false_objects, 2};
    return PAWL_OK;
}

TEST(answers_about_objects_are_not_believed)
{
    static const pawl_store_ops ops = {.size = sizeof(ops),
                                       .name = "liar",
                                       .read_object = lie_object,
                                       .list_objects = lie_objects};
    pawl_store s = {&ops};
    pawl_object o;
    pawl_object_list list;
    false_objects[0] = (pawl_object){.kind = 1, .name = pawl_s("a"), .version = 1};
    false_objects[1] = (pawl_object){.kind = 1, .name = pawl_s("b"), .version = 1};
    ck_assert_int_eq(store_read_object(&s, 1, pawl_s("a"), NULL, &o, NULL), PAWL_OK);
    ck_assert_int_eq(store_read_object(&s, 1, pawl_s("b"), NULL, &o, NULL), PAWL_CORRUPT);
    ck_assert_int_eq(store_read_object(&s, 2, pawl_s("a"), NULL, &o, NULL), PAWL_CORRUPT);
    ck_assert_int_eq(store_list_objects(&s, 1, pawl_s(""), pawl_s(""), 2, NULL, &list, NULL),
                     PAWL_OK);
    ck_assert_int_eq(store_list_objects(&s, 2, pawl_s(""), pawl_s(""), 2, NULL, &list, NULL),
                     PAWL_CORRUPT);
    ck_assert_int_eq(store_list_objects(&s, 1, pawl_s(""), pawl_s("a"), 2, NULL, &list, NULL),
                     PAWL_CORRUPT);
    false_objects[1].name = pawl_s("a");
    ck_assert_int_eq(store_list_objects(&s, 1, pawl_s(""), pawl_s(""), 2, NULL, &list, NULL),
                     PAWL_CORRUPT);
}

/* ---- Answers about queues that cannot be true ------------------------------------------- */

static struct {
    pawl_queue_row queues[2];
    pawl_queue_entry entries[2];
    pawl_queue_lock locks[2];
} lies;

static pawl_status lie_find(pawl_store *s, pawl_str name, pawl_mem *mem, pawl_queue_row *ret,
                            pawl_error *reterr)
{
    (void)s, (void)name, (void)mem, (void)reterr;
    *ret = lies.queues[0];
    return PAWL_OK;
}

static pawl_status lie_due(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                           pawl_queue_row_list *ret, pawl_error *reterr)
{
    (void)s, (void)now_ms, (void)limit, (void)mem, (void)reterr;
    *ret = (pawl_queue_row_list){lies.queues, 2};
    return PAWL_OK;
}

static pawl_status lie_list(pawl_store *s, pawl_str prefix, pawl_str after, uint32_t limit,
                            pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr)
{
    (void)prefix, (void)after;
    return lie_due(s, 0, limit, mem, ret, reterr);
}

static pawl_status lie_query(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                             pawl_entry_list *ret, pawl_error *reterr)
{
    (void)s, (void)query, (void)mem, (void)reterr;
    *ret = (pawl_entry_list){.items = lies.entries, .count = 2};
    return PAWL_OK;
}

static pawl_status lie_read(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                            pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    (void)ids, (void)count, (void)heads;
    return lie_query(s, NULL, mem, ret, reterr);
}

static pawl_status lie_locks(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                             pawl_lock_list *ret, pawl_error *reterr)
{
    (void)s, (void)qid, (void)limit, (void)mem, (void)reterr;
    *ret = (pawl_lock_list){lies.locks, 2};
    return PAWL_OK;
}

static pawl_status ask_entries(pawl_store *s, pawl_entry_order order)
{
    pawl_entry_list list;
    return store_query_entries(s, &(pawl_entry_query){.qid = 7, .order = order, .limit = 2}, NULL,
                               &list, NULL);
}

TEST(answers_about_queues_are_not_believed)
{
    static const pawl_queue_ops queues = {.size = sizeof(queues),
                                          .find_queue = lie_find,
                                          .list_queues = lie_list,
                                          .due_queues = lie_due,
                                          .query_entries = lie_query,
                                          .read_entries = lie_read,
                                          .read_locks = lie_locks};
    static const pawl_store_ops ops = {.size = sizeof(ops), .name = "liar", .queues = &queues};
    pawl_store s = {&ops};
    pawl_queue_row row;
    pawl_queue_row_list rows;
    pawl_entry_list entries;
    pawl_lock_list locks;
    lies.queues[0] = (pawl_queue_row){.qid = 7, .name = pawl_s("a"), .due_ms = 3};
    lies.queues[1] = (pawl_queue_row){.qid = 8, .name = pawl_s("b"), .due_ms = 5};
    lies.entries[0] = (pawl_queue_entry){.id = 1, .qid = 7, .place = 1};
    lies.entries[1] = (pawl_queue_entry){.id = 2, .qid = 7, .place = 2};
    lies.locks[0] = (pawl_queue_lock){.number = 1, .qid = 7};
    lies.locks[1] = (pawl_queue_lock){.number = 2, .qid = 7};
    ck_assert_int_eq(store_find_queue(&s, pawl_s("a"), NULL, &row, NULL), PAWL_OK);
    ck_assert_int_eq(store_find_queue(&s, pawl_s("b"), NULL, &row, NULL), PAWL_CORRUPT);
    ck_assert_int_eq(store_due_queues(&s, 5, 2, NULL, &rows, NULL), PAWL_OK);
    ck_assert_int_eq(store_due_queues(&s, 4, 2, NULL, &rows, NULL), PAWL_CORRUPT);
    ck_assert_int_eq(store_list_queues(&s, pawl_s(""), pawl_s(""), 2, NULL, &rows, NULL), PAWL_OK);
    ck_assert_int_eq(store_list_queues(&s, pawl_s(""), pawl_s("a"), 2, NULL, &rows, NULL),
                     PAWL_CORRUPT);
    ck_assert_int_eq(ask_entries(&s, PAWL_ENTRIES_READY), PAWL_OK);
    ck_assert_int_eq(ask_entries(&s, PAWL_ENTRIES_LOCKED), PAWL_CORRUPT);
    ck_assert_int_eq(store_read_entries(&s, (uint64_t[]){1, 9, 2}, 3, true, NULL, &entries, NULL),
                     PAWL_OK);
    ck_assert_int_eq(store_read_entries(&s, (uint64_t[]){2, 1}, 2, true, NULL, &entries, NULL),
                     PAWL_CORRUPT);
    ck_assert_int_eq(store_read_locks(&s, 7, 0, NULL, &locks, NULL), PAWL_OK);
    ck_assert_int_eq(store_read_locks(&s, 8, 0, NULL, &locks, NULL), PAWL_CORRUPT);
    lies.entries[1].place = 1;
    ck_assert_int_eq(ask_entries(&s, PAWL_ENTRIES_READY), PAWL_CORRUPT);
    lies.locks[1].number = 1;
    ck_assert_int_eq(store_read_locks(&s, 7, 0, NULL, &locks, NULL), PAWL_CORRUPT);
}
