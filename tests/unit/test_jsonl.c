/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_jsonl.c -- what the files of a jsonl store look like, and what is made
 * of them when they are torn, damaged or somebody else's.
 */
#include "../harness.h"

#include "base/point.h"
#include "pawl/json.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/text.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What reaches the disk ---------------------------------------------------------- */

static int syncs, renames, fail_sync;
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);

static int fail_this_one(void)
{
    errno = EIO;
    return ++syncs == fail_sync;
}

int __wrap_fdatasync(int fd)
{
    return fail_this_one() ? -1 : __real_fdatasync(fd);
}

int __wrap_fsync(int fd)
{
    return fail_this_one() ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    ck_assert_msg(syncs > 0, "%s was renamed before it was synced", from);
    renames++;
    return __real_rename(from, to);
}

/* ---- A store to play with -------------------------------------------------------------- */

static char root[100];
static pawl_store *store;
static pawl_fence fence;
static pawl_mem *mem;

static int delete_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void delete_all(void)
{
    (void)nftw(root, delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void take(void)
{
    pawl_error err = {0};
    store = pawl_jsonl_store(root, NULL, &err);
    ck_assert_msg(store, "%s", err.text);
    ck_assert_int_eq(store->ops->take(store, 1000, &fence, &err), PAWL_OK);
}

static void open_new(void)
{
    snprintf(root, sizeof(root), "%s/pawl-jsonl-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert(mkdtemp(root));
    mem = pawl_mem_new();
    take();
}

static void open_again(void)
{
    store->ops->close(store);
    take();
}

static void end(void)
{
    store->ops->close(store);
    delete_all();
    pawl_mem_free(mem);
}

static pawl_status commit_round(pawl_round *r)
{
    pawl_error err = {0};
    pawl_status rc = store->ops->commit(store, &fence, r, 1, 2000, &err);
    return rc == PAWL_OK ? r->result : rc;
}

/* A new instance whose history is one event. */
static pawl_row make(const char *id, const char *data)
{
    pawl_row row = {.uid = fence.next_id++,
                    .id = pawl_s(id),
                    .orchestration = pawl_s("Flow"),
                    .state = PAWL_RUNNING,
                    .execution = 1,
                    .last_seq = 1,
                    .created_ms = 1000,
                    .updated_ms = 1000};
    pawl_event e = {.rid = fence.next_id++,
                    .execution = 1,
                    .seq = 1,
                    .kind = PAWL_EV_ORCHESTRATION_STARTED,
                    .name = pawl_s("Flow"),
                    .data = pawl_s(data),
                    .at_ms = 1700000000123};
    row.last_rid = row.first_rid = e.rid;
    pawl_round r = {.uid = row.uid,
                    .execution = 1,
                    .change = PAWL_ROW_INSERT,
                    .row = &row,
                    .events = &e,
                    .event_count = 1};
    ck_assert_int_eq(commit_round(&r), PAWL_OK);
    return row;
}

static void append_one(pawl_row *row, const char *data)
{
    pawl_row now = *row;
    pawl_event e = {.rid = fence.next_id++,
                    .execution = now.execution,
                    .seq = now.last_seq + 1,
                    .kind = PAWL_EV_EXTERNAL_EVENT,
                    .data = pawl_s(data)};
    now.last_seq++;
    now.last_rid = e.rid;
    pawl_round r = {.uid = row->uid,
                    .execution = row->execution,
                    .base_seq = row->last_seq,
                    .base_rid = row->last_rid,
                    .change = PAWL_ROW_LAST,
                    .row = &now,
                    .events = &e,
                    .event_count = 1};
    ck_assert_int_eq(commit_round(&r), PAWL_OK);
    *row = now;
}

static size_t history_count(uint64_t uid)
{
    pawl_event_list list = {0};
    pawl_error err = {0};
    ck_assert_msg(store->ops->read_history(store, uid, 1, 0, 0, mem, &list, &err) == PAWL_OK, "%s",
                  err.text);
    return list.count;
}

static pawl_str contents(const char *name)
{
    char path[300];
    pawl_str text;
    pawl_error err;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    ck_assert_int_eq(jsonl_read(path, mem, &text, &err), PAWL_OK);
    return text;
}

/* ---- Reading with less -------------------------------------------------------------------- */

static void has_text(const char *file, const char *words)
{
    ck_assert_msg(strstr(contents(file).ptr, words), "%s: no %s in\n%s", file, words,
                  contents(file).ptr);
}

TEST(a_history_makes_sense_to_a_person)
{
    open_new();
    pawl_row a = make("order-1", "{\"sku\": 7}");
    append_one(&a, "plain words");
    append_one(&a, "\"a JSON string\"");
    append_one(&a, "two\nlines");
    append_one(&a, "\xff\xfe");
    has_text("order-1/1.jsonl", "{\"instance\":\"order-1\",\"uid\":1,\"orchestration\":\"Flow\"");
    has_text("order-1/1.jsonl", "\n{\"seq\":1,\"kind\":\"OrchestrationStarted\",\"name\":\"Flow\","
                                "\"data\":{\"sku\": 7},\"at\":\"2023-11-14T22:13:20.123Z\"");
    has_text("order-1/1.jsonl", "\"data\":\"plain words\"");
    has_text("order-1/1.jsonl", "\"data\":\"\\\"a JSON string\\\"\"");
    has_text("order-1/1.jsonl", "\"data\":\"two\\nlines\"");
    has_text("order-1/1.jsonl", "\"data\":\"//4=\",\"encoding\":\"base64\"");
    has_text("order-1/1.jsonl", "\n{\"turn\":[5,5],");
    has_text("order-1/instance.json", "  \"state\":\"running\",\n");
    open_again();
    pawl_event_list list = {0};
    ck_assert_int_eq(store->ops->read_history(store, a.uid, 1, 0, 0, mem, &list, NULL), PAWL_OK);
    static const char *const data[] = {"{\"sku\": 7}", "plain words", "\"a JSON string\"",
                                       "two\nlines", "\xff\xfe"};
    for (size_t i = 0; i < 5; i++)
        ck_assert(pawl_str_is(list.items[i].data, data[i]));
    end();
}

TEST(any_payload_and_any_time_comes_back)
{
    static const char *const texts[] = {
        "",   " 1",   "1 ",   "1.50", "-0",    "true",  "null", "[1,2]", "{\"a\":}", "\"",
        "\\", "\x01", "{}\n", "%",    "\"x\"", "Grüße", "\xc3", "[[]]",  "1e400",    "nul"};
    pawl_mem *m = pawl_mem_new();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct buf b;
        pawl_str got, line;
        buf_init(&b, 10000);
        buf_putc(&b, '{');
        text_put(&b, "data", pawl_s(texts[i]), true);
        buf_putc(&b, '}');
        line = buf_slice(&b);
        ck_assert_msg(pawl_json_valid(line, NULL), "%s", line.ptr);
        bool base64 = pawl_json_get(line, "/encoding").len;
        ck_assert(text_get(pawl_json_get(line, "/data"), base64, m, &got));
        ck_assert_msg(pawl_str_is(got, texts[i]), "%s", line.ptr);
        buf_deinit(&b);
    }
    static const int64_t times[] = {
        1,  999,       86400000, 951782400000, 1700000000123, 253402300799999, 253402300800000,
        -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct buf b;
        int64_t got = 0;
        buf_init(&b, 100);
        text_put_time(&b, times[i]);
        ck_assert(text_get_time(buf_slice(&b), &got));
        ck_assert_msg(got == times[i], "%lld became %s", (long long)times[i], b.ptr);
        buf_deinit(&b);
    }
    pawl_mem_free(m);
}

TEST(ids_that_are_no_file_names_are_escaped)
{
    static const struct {
        const char *id, *dir;
    } names[] = {
        {"a/b",     "a%2Fb"  },
        {"..",      "%2E."   },
        {"a%2Fb",   "a%252Fb"},
        {"queue",   "%71ueue"},
        {"lock",    "%6Cock" },
        {"x y",     "x%20y"  },
        {"Grüße", "Grüße"},
        {"a:b@c",   "a:b@c"  },
        {"queues",  "queues" },
    };
    open_new();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[300];
        (void)make(names[i].id, "1");
        snprintf(path, sizeof(path), "%s/%s/1.jsonl", root, names[i].dir);
        ck_assert_msg(access(path, F_OK) == 0, "%s", path);
    }
    char longest[513];
    memset(longest, 'x', 512);
    longest[512] = 0;
    pawl_row a = make(longest, "1");
    longest[511] = 'y';
    pawl_row b = make(longest, "2");
    open_again();
    pawl_row got;
    ck_assert_int_eq(store->ops->find(store, pawl_s(longest), mem, &got, NULL), PAWL_OK);
    ck_assert(got.uid == b.uid && got.uid != a.uid);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ck_assert_int_eq(store->ops->find(store, pawl_s(names[i].id), mem, &got, NULL), PAWL_OK);
    end();
}

/* ---- Torn and damaged ------------------------------------------------------------------------ */

static void set_file(const char *name, pawl_str text, size_t len)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    ck_assert(f && fwrite(text.ptr, 1, len, f) == len);
    fclose(f);
}

/* Cut at any byte, or with any byte of it not written: the turn is gone, whole. */
TEST(b_half_a_turn_never_survives)
{
    open_new();
    pawl_row a = make("a", "1");
    size_t before = contents("a/1.jsonl").len;
    append_one(&a, "{\"some\":\"event of some length\"}");
    pawl_str whole = contents("a/1.jsonl");
    for (size_t len = before; len < whole.len; len++) {
        store->ops->close(store);
        set_file("a/1.jsonl", whole, len);
        take();
        ck_assert_uint_eq(history_count(a.uid), 1);
        ck_assert_uint_eq(contents("a/1.jsonl").len, before);
    }
    for (size_t at = before; at < whole.len; at++) {
        char *holed = strndup(whole.ptr, whole.len);
        holed[at] = 0;
        store->ops->close(store);
        set_file("a/1.jsonl", (pawl_str){holed, whole.len}, whole.len);
        take();
        free(holed);
        ck_assert_uint_eq(history_count(a.uid), 1);
    }
    pawl_row now;
    ck_assert_int_eq(store->ops->find(store, pawl_s("a"), mem, &now, NULL), PAWL_OK);
    ck_assert_uint_eq(now.last_seq, 1);
    append_one(&now, "again");
    open_again();
    ck_assert_uint_eq(history_count(a.uid), 2);
    ck_assert(contents("a/1.jsonl.torn").len > 0); /* and nothing was thrown away */
    end();
}

TEST(a_torn_line_of_a_log_is_cut)
{
    open_new();
    pawl_row a = make("a", "1");
    pawl_message m[] = {
        {.id = fence.next_id++, .uid = a.uid,          .kind = PAWL_MSG_WAKE   },
        { .id = fence.next_id++,         .uid = a.uid, .kind = PAWL_MSG_WAKE, .data = pawl_s("second")}
    };
    pawl_round r = {.messages = m, .message_count = 2};
    ck_assert_int_eq(commit_round(&r), PAWL_OK);
    pawl_str log = contents("queue/messages.jsonl");
    store->ops->close(store);
    set_file("queue/messages.jsonl", log, log.len - 3);
    take();
    pawl_depths d = {0};
    ck_assert_int_eq(store->ops->depths(store, 2000, &d, NULL), PAWL_OK);
    ck_assert_uint_eq(d.messages, 1);
    ck_assert_uint_eq(d.quarantine, 0);
    ck_assert(fence.next_id > m[1].id); /* its id is not used again */
    end();
}

TEST(damage_in_the_middle_is_told_and_nothing_is_cut)
{
    open_new();
    pawl_row a = make("a", "1");
    append_one(&a, "x");
    append_one(&a, "y");
    pawl_str whole = contents("a/1.jsonl");
    char *bad = strndup(whole.ptr, whole.len);
    memcpy(strstr(bad, "\"data\":\"x\""), "\"data\":\"z\"", 10);
    store->ops->close(store);
    set_file("a/1.jsonl", (pawl_str){bad, whole.len}, whole.len);
    free(bad);
    take();
    pawl_event_list list = {0};
    pawl_error err = {0};
    ck_assert_int_eq(store->ops->read_history(store, a.uid, 1, 0, 0, mem, &list, &err),
                     PAWL_CORRUPT);
    ck_assert_uint_eq(contents("a/1.jsonl").len, whole.len);
    end();
}

/* The same event of two, unreadable; and one whose number became the other's. */
TEST(damage_in_two_places_stops_nobody_else)
{
    char number[2][40];
    open_new();
    pawl_row rows[] = {make("a", "1"), make("b", "1"), make("c", "1")};
    for (int i = 0; i < 3; i++) {
        append_one(&rows[i], "x");
        append_one(&rows[i], "y");
        if (i < 2)
            (void)snprintf(number[i], sizeof(number[i]), "\"rid\":%llu",
                           (unsigned long long)rows[i].last_rid - 1);
    }
    for (int way = 0; way < 2; way++) {
        pawl_str whole[2] = {contents("a/1.jsonl"), contents("b/1.jsonl")};
        store->ops->close(store);
        for (int i = 0; i < 2; i++) {
            char *bad = strndup(whole[i].ptr, whole[i].len), *at;
            if (way == 0 && (at = strstr(bad, "\"data\":\"x\"")))
                at[0] = '}';
            if (way == 1 && i == 1 && (at = strstr(bad, number[1])))
                memcpy(at, number[0], strlen(number[0]));
            set_file(i ? "b/1.jsonl" : "a/1.jsonl", (pawl_str){bad, whole[i].len}, whole[i].len);
            free(bad);
        }
        take();
        ck_assert_uint_eq(history_count(rows[2].uid), 3);
        pawl_event_list list = {0};
        pawl_error err = {0};
        ck_assert_int_eq(store->ops->read_history(store, rows[1].uid, 1, 0, 0, mem, &list, &err),
                         PAWL_CORRUPT);
        store->ops->close(store);
        set_file("a/1.jsonl", whole[0], whole[0].len);
        set_file("b/1.jsonl", whole[1], whole[1].len);
        take();
    }
    end();
}

/* ---- Durable, and alone ------------------------------------------------------------------------ */

TEST(what_is_ok_is_synced)
{
    open_new();
    syncs = renames = 0;
    pawl_row a = make("a", "1");
    ck_assert_int_ge(syncs, 6); /* root, history, directory, row, directory, fence */
    ck_assert_int_eq(renames, 1);
    syncs = 0;
    append_one(&a, "x");
    ck_assert_int_eq(syncs, 2); /* history, fence */
    pawl_work w = {.id = fence.next_id++, .uid = a.uid, .name = pawl_s("j")};
    pawl_round r = {.work = &w, .work_count = 1};
    syncs = 0;
    ck_assert_int_eq(commit_round(&r), PAWL_OK);
    ck_assert_int_eq(syncs, 3); /* log and its directory, for it is new; fence */
    end();
}

TEST(a_sync_that_fails_is_unknown_and_stops_the_store)
{
    for (int n = 1; n <= 3; n++) {
        open_new();
        pawl_row a = make("a", "1");
        pawl_work w = {.id = fence.next_id++, .uid = a.uid, .name = pawl_s("j")};
        pawl_round r = {.work = &w, .work_count = 1};
        syncs = 0;
        fail_sync = n;
        ck_assert_int_eq(commit_round(&r), PAWL_UNKNOWN);
        fail_sync = 0;
        ck_assert_int_eq(commit_round(&r), PAWL_UNKNOWN); /* also when it would work */
        open_again();
        w.id = fence.next_id++;
        ck_assert_int_eq(commit_round(&r), PAWL_OK);
        end();
    }
}

TEST(a_log_that_is_mostly_dead_is_written_anew)
{
    open_new();
    pawl_row a = make("a", "1");
    for (int i = 0; i < 1500; i++) {
        pawl_message m = {.id = fence.next_id++, .uid = a.uid, .kind = PAWL_MSG_WAKE};
        uint64_t dropped = i % 100 ? m.id : 0;
        pawl_round r = {
            .messages = &m, .message_count = 1, .drop_messages = &dropped, .drop_message_count = 1};
        ck_assert_int_eq(commit_round(&r), PAWL_OK);
    }
    size_t lines = 0;
    pawl_str log = contents("queue/messages.jsonl");
    for (size_t i = 0; i < log.len; i++)
        lines += log.ptr[i] == '\n';
    ck_assert_uint_lt(lines, 1100);
    open_again();
    pawl_depths d = {0};
    ck_assert_int_eq(store->ops->depths(store, 2000, &d, NULL), PAWL_OK);
    ck_assert_uint_eq(d.messages, 15);
    end();
}

TEST(a_second_opener_is_told_who_has_it)
{
    pawl_error err = {0};
    open_new();
    ck_assert_ptr_null(pawl_jsonl_store(root, NULL, &err));
    ck_assert_int_eq(err.status, PAWL_UNAVAILABLE);
    ck_assert_msg(strstr(err.text, "is in use by pid"), "%s", err.text);
    pawl_store *reader = pawl_jsonl_store(root, PAWL_STORE_OPTS(.read_only = true), &err);
    ck_assert_msg(reader, "%s", err.text);
    reader->ops->close(reader);
    end();
}

TEST(a_fence_half_written_is_the_one_before)
{
    open_new();
    (void)make("a", "1");
    uint64_t group = fence.group_no;
    (void)make("b", "2");
    pawl_str text = contents("fence.json");
    size_t newer = (fence.epoch + fence.group_no) % 2 * 256;
    char *torn = strndup(text.ptr, text.len);
    memset(torn + newer + 20, 'x', 30);
    store->ops->close(store);
    set_file("fence.json", (pawl_str){torn, text.len}, text.len);
    free(torn);
    take();
    ck_assert_uint_eq(fence.group_no, group);
    ck_assert_uint_gt(fence.next_id, 4); /* whatever the fence says, ids in use are not given */
    end();
}

/* ---- Not there any more ------------------------------------------------------------------ */

static void at_end_of_commit(const char *name)
{
    if (strcmp(name, "jsonl.acked") != 0)
        return;
    point_hook = NULL;
    char path[200];
    snprintf(path, sizeof(path), "%s/lock", root);
    ck_assert_int_eq(unlink(path), 0);
}

TEST(D08_nothing_is_committed_to_a_directory_that_is_not_there)
{
    pawl_row row;
    pawl_error err;
    open_new();
    (void)make("a", "1");
    delete_all();
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(commit_round(&(pawl_round){0}), PAWL_NOT_FOUND);
        ck_assert_int_eq(store->ops->find(store, pawl_s("a"), mem, &row, &err), PAWL_UNAVAILABLE);
    }
    end();
}

TEST(D08_nor_to_one_that_took_its_place)
{
    open_new();
    (void)make("a", "1");
    delete_all();
    ck_assert_int_eq(mkdir(root, 0700), 0);
    ck_assert_int_eq(commit_round(&(pawl_round){0}), PAWL_NOT_FOUND);
    ck_assert_int_eq(rmdir(root), 0); /* nothing was written there */
    end();
}

TEST(D08_deleted_in_the_middle_of_a_commit)
{
    open_new();
    point_hook = at_end_of_commit;
    ck_assert_int_eq(commit_round(&(pawl_round){0}), PAWL_NOT_FOUND);
    ck_assert(!point_hook);
    end();
}

/* ---- A commit that is left half done ---------------------------------------------------------- */

static const char *half_at;

static void stop_half_way(const char *name)
{
    if (strcmp(name, half_at) == 0)
        jsonl_set_trouble(store, JSONL_FAIL);
}

/* Commit up to that point; then the write fails. */
static void commit_half(pawl_round *r, const char *point)
{
    half_at = point;
    point_hook = stop_half_way;
    ck_assert_int_eq(commit_round(r), PAWL_UNAVAILABLE);
    point_hook = NULL;
}

static size_t free_work(void)
{
    pawl_str names[] = {pawl_s("Charge")};
    pawl_work_list list = {0};
    pawl_error err;
    ck_assert_int_eq(store->ops->fetch_work(store, 9000, names, 1, 9, mem, &list, &err), PAWL_OK);
    return list.count;
}

static size_t free_messages(void)
{
    pawl_message_list list = {0};
    pawl_error err;
    ck_assert_int_eq(store->ops->fetch_messages(store, 9000, 9, mem, &list, &err), PAWL_OK);
    return list.count;
}

/* One message and one work row of an instance; the engine has both. */
static void put_taken(const pawl_row *row, uint64_t *retmessage, uint64_t *retwork)
{
    pawl_message m = {.id = fence.next_id++, .uid = row->uid, .kind = PAWL_MSG_SUSPEND};
    pawl_work w = {.id = fence.next_id++,
                   .uid = row->uid,
                   .execution = 1,
                   .ref = 1,
                   .instance = row->id,
                   .name = pawl_s("Charge")};
    pawl_round r = {.messages = &m, .message_count = 1, .work = &w, .work_count = 1};
    ck_assert_int_eq(commit_round(&r), PAWL_OK);
    *retmessage = m.id;
    *retwork = w.id;
    (void)free_messages();
    (void)free_work();
}

TEST(K1_rows_that_were_taken_stay_taken_when_a_commit_fails)
{
    uint64_t message, work;
    open_new();
    pawl_row row = make("a", "1");
    put_taken(&row, &message, &work);
    pawl_message_update mu = {.id = message};
    pawl_work_update wu = {.id = work, .attempt = 1};
    commit_half(&(pawl_round){.message_updates = &mu,
                              .message_update_count = 1,
                              .work_updates = &wu,
                              .work_update_count = 1},
                "jsonl.enqueued");
    ck_assert_uint_eq(free_messages() + free_work(), 0);
    pawl_round drops = {.drop_messages = &message,
                        .drop_message_count = 1,
                        .drop_work = &work,
                        .drop_work_count = 1};
    commit_half(&drops, "jsonl.enqueued");
    ck_assert_uint_eq(free_messages() + free_work(), 0);
    ck_assert_int_eq(commit_round(&(pawl_round){.work_updates = &wu, .work_update_count = 1}),
                     PAWL_OK);
    ck_assert_uint_eq(free_work(), 1);
    end();
}

static bool has_object(const char *name)
{
    pawl_object o;
    pawl_error err;
    return store->ops->read_object(store, 7, pawl_s(name), mem, &o, &err) == PAWL_OK;
}

/* A work row that a crash leaves has its object still; what was put is there before any drop. */
TEST(K1_objects_are_removed_behind_the_drops)
{
    uint64_t message, work;
    open_new();
    pawl_row row = make("a", "1");
    put_taken(&row, &message, &work);
    pawl_object put = {
        .kind = 7, .name = pawl_s("old"), .version = PAWL_VERSION_ANY, .data = pawl_s("1")};
    pawl_round_extra extra = {.size = sizeof(extra), .objects = &put, .object_count = 1};
    ck_assert_int_eq(commit_round(&(pawl_round){.extra = &extra}), PAWL_OK);
    pawl_object both[] = {
        {.kind = 7,              .name = pawl_s("old"),       .version = PAWL_VERSION_ANY},
        { .kind = 7, .name = pawl_s("new"), .version = PAWL_VERSION_ANY,         .data = pawl_s("2")},
    };
    extra = (pawl_round_extra){.size = sizeof(extra), .objects = both, .object_count = 2};
    pawl_round r = {.extra = &extra, .drop_work = &work, .drop_work_count = 1};
    commit_half(&r, "jsonl.enqueued");
    open_again();
    ck_assert(has_object("old") && has_object("new"));
    ck_assert_uint_eq(free_work(), 1);
    commit_half(&r, "jsonl.leaving");
    open_again();
    ck_assert(has_object("old") && has_object("new"));
    ck_assert_uint_eq(free_work(), 0);
    ck_assert_int_eq(commit_round(&r), PAWL_OK);
    open_again();
    ck_assert(!has_object("old") && has_object("new"));
    end();
}

/* ---- Whose directory ----------------------------------------------------------------------- */

static void refused(const char *words)
{
    pawl_error err = {0};
    ck_assert(!pawl_jsonl_store(root, NULL, &err));
    ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

TEST(C17_links_are_not_followed)
{
    static const char *const names[] = {"queue", "removed", "lock", "fence.json", "theirs"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[200];
        open_new();
        store->ops->close(store);
        snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        (void)remove(path);
        (void)rmdir(path);
        ck_assert_int_eq(symlink("/", path), 0);
        refused(i == 3 ? "symbolic links" : "is a symbolic link");
        ck_assert_int_eq(unlink(path), 0);
        take();
        end();
    }
}

TEST(C17_a_directory_that_others_may_write_is_refused)
{
    open_new();
    store->ops->close(store);
    ck_assert_int_eq(chmod(root, 0777), 0);
    refused("may be written by others");
    ck_assert_int_eq(chmod(root, 0700), 0);
    take();
    end();
}
