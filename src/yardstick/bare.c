/* SPDX-License-Identifier: MIT */
/*
 * yardstick/bare.c -- see the header.
 *
 * Same tables as the store's (the columns and indexes that the workload touches), same bytes, same
 * settings, same number of rounds per commit, one thread, and nothing else: no fibers, no inbox, no
 * workers, no checks.
 */
#include "yardstick/bare.h"

#include "base/clock.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char tables[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;"
    "PRAGMA cache_size=-65536; PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY;"
    "CREATE TABLE fence(one INTEGER PRIMARY KEY, epoch INT, group_no INT, next_id INT);"
    "INSERT INTO fence VALUES(1,1,0,1);"
    "CREATE TABLE instance(uid INTEGER PRIMARY KEY, execution INT, last_seq INT, last_rid INT,"
    " updated_ms INT, state INT, first_rid INT, created_ms INT, id TEXT UNIQUE,"
    " orchestration TEXT, version TEXT, parent_uid INT, parent_execution INT, parent_ref INT,"
    " parent_id TEXT, output, custom_status, finding);"
    "CREATE TABLE history(rid INTEGER PRIMARY KEY, uid INT, execution INT, seq INT, prev INT,"
    " kind INT, ref INT, name TEXT, data, attrs, at_ms INT);"
    "CREATE TABLE work(id INTEGER PRIMARY KEY, uid INT, execution INT, ref INT, instance TEXT,"
    " name TEXT, input, attrs, attempt INT, crashes INT, visible_ms INT, scheduled_ms INT,"
    " deadline_ms INT, last_error, lock_epoch INT, lock_token TEXT, lock_until_ms INT, held INT);"
    "CREATE TABLE queue(qid INTEGER PRIMARY KEY, name TEXT UNIQUE, paused INT, created_ms INT,"
    " due_ms INT, ready INT, delayed INT, locked INT, locks INT, bytes INT, config, totals);"
    "INSERT INTO queue VALUES(1,'bench',0,1700000000000,0,0,0,0,0,0,'{\"max_locks\":0}','{}');"
    "CREATE TABLE queue_entry(id INTEGER PRIMARY KEY, qid INT, state INT, priority INT, place INT,"
    " visible_ms INT, expires_ms INT, enqueued_ms INT, deliveries INT, bytes INT, note, data,"
    " attrs); CREATE INDEX queue_ready ON queue_entry(qid,priority,place) WHERE state=0;";

enum { BEGIN, COMMIT, FENCE, ROW_NEW, ROW_LAST, ROW_END, EVENT, WORK_NEW, WORK_DONE, PUSH, PUSHED, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [FENCE] = "UPDATE fence SET group_no=group_no+1,next_id=?1 WHERE one=1 AND epoch=1",
    [ROW_NEW] = "INSERT INTO instance VALUES(?1,1,2,?2,1700000000000,1,?2,1700000000000,"
                "'bench-'||?1,'BenchChain','1.0.0',0,0,0,'','','','')",
    [ROW_LAST] = "UPDATE instance SET execution=1,last_seq=?2,last_rid=?3,updated_ms=1700000000001"
                 " WHERE uid=?1 AND execution=1",
    [ROW_END] = "UPDATE instance SET last_seq=?2,last_rid=?3,updated_ms=1700000000002,state=4,"
                "output='" BENCH_OUTPUT "' WHERE uid=?1 AND execution=1",
    [EVENT] = "INSERT INTO history VALUES(?1,?2,1,?3,?4,10,?5,'BenchStep',?6,'',1700000000000)",
    [WORK_NEW] = "INSERT INTO work VALUES(?1,?2,1,?3,'bench-'||?2,'BenchStep','" BENCH_INPUT "','',"
                 "0,0,0,1700000000000,0,'',1,'',0,1)",
    [WORK_DONE] = "DELETE FROM work WHERE id=?1",
    [PUSH] = "INSERT INTO queue_entry VALUES(?1,1,0,0,?1,0,0,1700000000000,0,61,'','" BENCH_ITEM
             "','')",
    [PUSHED] = "UPDATE queue SET ready=ready+?1,bytes=bytes+61*?1,totals=?1 WHERE qid=1",
};
/* clang-format on */

/* One simulated orchestration. */
struct ceiling_run {
    int64_t uid;
    int64_t seq, last_rid, work;
    uint32_t phase; /* rounds written */
};

struct ceiling {
    const struct bare_load *load;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    int64_t next_id;
    struct ceiling_run *lanes;
    uint32_t lane;
    uint64_t steps, orchestrations;
    bool failed;
};

/* Bind up to five numbers and run. */
static void run(struct ceiling *c, int which, const int64_t *numbers, int count)
{
    sqlite3_stmt *s = c->statements[which];
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(s, i + 1, numbers[i]);
    int rc = sqlite3_step(s);
    c->failed |= rc != SQLITE_DONE && rc != SQLITE_ROW;
    sqlite3_reset(s);
}

#define RUN(c, which, ...)                                                                         \
    run((c), (which), (const int64_t[]){__VA_ARGS__},                                              \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static void append(struct ceiling *c, struct ceiling_run *lane, const char *data)
{
    int64_t rid = c->next_id++;
    sqlite3_bind_text(c->statements[EVENT], 6, data, -1, SQLITE_STATIC);
    RUN(c, EVENT, rid, lane->uid, ++lane->seq, lane->last_rid, lane->seq / 2);
    lane->last_rid = rid;
}

/* One recorded event and the next wait. */
static void events_commit(struct ceiling *c, uint64_t batch)
{
    for (uint64_t i = 0; i < batch; i++) {
        struct ceiling_run *lane = &c->lanes[c->lane];
        if (!lane->uid) {
            lane->uid = c->next_id++;
            append(c, lane, "1");
            RUN(c, ROW_NEW, lane->uid, lane->last_rid);
        }
        append(c, lane, BENCH_OUTPUT);
        append(c, lane, "");
        RUN(c, ROW_LAST, lane->uid, lane->seq, lane->last_rid);
        c->steps++;
        c->lane = (c->lane + 1) % c->load->in_flight;
    }
}

/* Start, a step, or the end: what one turn of a chain writes. */
static void chain_round(struct ceiling *c, struct ceiling_run *lane)
{
    uint32_t steps = c->load->steps;
    if (lane->phase == 0) {
        *lane = (struct ceiling_run){.uid = c->next_id++};
        append(c, lane, "10");
    } else {
        RUN(c, WORK_DONE, lane->work);
        append(c, lane, BENCH_OUTPUT);
        c->steps++;
    }
    append(c, lane, lane->phase < steps ? BENCH_INPUT : BENCH_OUTPUT);
    if (lane->phase < steps) {
        lane->work = lane->last_rid;
        RUN(c, WORK_NEW, lane->work, lane->uid, lane->phase + 1);
    }
    if (lane->phase == 0)
        RUN(c, ROW_NEW, lane->uid, lane->last_rid);
    else
        RUN(c, lane->phase < steps ? ROW_LAST : ROW_END, lane->uid, lane->seq, lane->last_rid);
    c->orchestrations += lane->phase == steps;
    lane->phase = lane->phase == steps ? 0 : lane->phase + 1;
}

static void chain_commit(struct ceiling *c, uint64_t batch)
{
    for (uint64_t i = 0; i < batch; i++) {
        chain_round(c, &c->lanes[c->lane]);
        c->lane = (c->lane + 1) % c->load->in_flight;
    }
}

static void fanout_start(struct ceiling *c, struct ceiling_run *lane)
{
    *lane = (struct ceiling_run){.uid = c->next_id++};
    append(c, lane, "100");
    lane->work = c->next_id;
    for (uint32_t i = 0; i < c->load->steps; i++) {
        append(c, lane, BENCH_INPUT);
        RUN(c, WORK_NEW, lane->last_rid, lane->uid, i + 1);
    }
    RUN(c, ROW_NEW, lane->uid, lane->last_rid);
}

/* Up to `batch` completions of one fan-out. */
static void fanout_commit(struct ceiling *c, uint64_t batch)
{
    struct ceiling_run *lane = &c->lanes[c->lane];
    if (lane->phase == 0)
        fanout_start(c, lane);
    for (uint64_t i = 0; i < batch && lane->phase < c->load->steps; i++) {
        RUN(c, WORK_DONE, lane->work++);
        append(c, lane, BENCH_OUTPUT);
        lane->phase++;
        c->steps++;
    }
    if (lane->phase == c->load->steps) {
        append(c, lane, BENCH_OUTPUT);
        lane->phase = 0;
        c->orchestrations++;
    }
    RUN(c, lane->phase ? ROW_LAST : ROW_END, lane->uid, lane->seq, lane->last_rid);
    c->lane = (c->lane + 1) % c->load->in_flight;
}

/* `batch` messages pushed to one queue. */
static void queue_commit(struct ceiling *c, uint64_t batch)
{
    for (uint64_t i = 0; i < batch; i++) {
        RUN(c, PUSH, c->next_id++);
        c->steps++;
    }
    RUN(c, PUSHED, (int64_t)batch);
}

static bool open_database(struct ceiling *c)
{
    char file[4096];
    if (snprintf(file, sizeof(file), "%s/ceiling.db", c->load->dir) >= (int)sizeof(file) ||
        sqlite3_open_v2(file, &c->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(c->db, tables, NULL, NULL, NULL) != SQLITE_OK)
        return false;
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(c->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statements[i],
                               NULL) != SQLITE_OK)
            return false;
    return true;
}

static double measure(struct ceiling *c, uint64_t batch, double seconds)
{
    enum workload workload = c->load->workload;
    int64_t begin = clock_mono_us(), end = begin + (int64_t)(seconds * 1e6), now;
    do {
        run(c, BEGIN, NULL, 0);
        RUN(c, FENCE, c->next_id);
        if (workload == WORKLOAD_QUEUE)
            queue_commit(c, batch);
        else if (workload == WORKLOAD_FANOUT)
            fanout_commit(c, batch);
        else if (workload == WORKLOAD_EVENTS)
            events_commit(c, batch);
        else
            chain_commit(c, batch);
        run(c, COMMIT, NULL, 0);
        now = clock_mono_us();
    } while (now < end && !c->failed);
    uint64_t count = workload == WORKLOAD_HELLO ? c->orchestrations : c->steps;
    return (double)count * 1e6 / (double)(now - begin);
}

double bare_sqlite(const struct bare_load *load, uint64_t batch, double seconds, pawl_error *reterr)
{
    struct ceiling c = {.load = load, .next_id = 1};
    double rate = -1;
    c.lanes = calloc(load->in_flight, sizeof(*c.lanes));
    if (c.lanes && open_database(&c))
        rate = measure(&c, batch, seconds);
    if (rate < 0 || c.failed) {
        rate = -1;
        reterr->status = PAWL_UNAVAILABLE;
        snprintf(reterr->text, sizeof(reterr->text), "the comparison with bare SQLite failed: %s",
                 c.db ? sqlite3_errmsg(c.db) : "out of memory");
    }
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(c.statements[i]);
    sqlite3_close(c.db);
    free(c.lanes);
    return rate;
}
