/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_bench.c -- what a step costs in the store alone.
 *
 * As a test it runs a few hundred steps and checks what is left in the tables.
 * With PAWL_BENCH_DIR=DIR it runs each shape for PAWL_BENCH_SECONDS (3) there and
 * prints rounds per second next to the bare fdatasync of the same disk; the
 * figures in docs/internals/sqlite.md come from it:
 *
 *     PAWL_BENCH_DIR=. PAWL_TEST_TIMEOUT=600 build/tests/unit/test_sqlite_bench figures
 *
 * PAWL_BENCH_COMMITS=N stops each shape after N commits, for counting instructions:
 *
 *     PAWL_BENCH_DIR=/dev/shm PAWL_BENCH_COMMITS=200 CK_FORK=no valgrind --tool=callgrind \
 *         --toggle-collect=sqlite_commit build/tests/unit/test_sqlite_bench figures
 */
#include "test_sqlite.h"

#include "base/clock.h"

#include <fcntl.h>
#include <time.h>

#define CHAINS_MAX 1024

struct chain {
    pawl_row row;
    uint64_t work;
    uint64_t ref;
    pawl_event events[2];
    pawl_work next;
    char id[24];
};

struct bench {
    struct box box;
    struct chain *chains; /* `instances` of them */
    pawl_round rounds[CHAINS_MAX];
};

static const char payload[] = "{\"order\":\"o-1234567\",\"step\":7,\"text\":\"some sixty bytes\"}";

static pawl_work next_work(struct bench *b, struct chain *c, uint64_t rid)
{
    return (pawl_work){
        .id = rid,
        .uid = c->row.uid,
        .execution = 1,
        .ref = c->ref,
        .instance = c->row.id,
        .name = pawl_s("Step"),
        .input = {payload, sizeof payload - 1},
        .scheduled_ms = 1700000000000,
        .lock_epoch = b->box.fence.epoch
    };
}

static pawl_event next_event(struct bench *b, struct chain *c, int kind)
{
    pawl_event e = {
        .rid = box_id(&b->box),
        .execution = 1,
        .seq = ++c->row.last_seq,
        .ref = c->ref,
        .kind = kind,
        .name = pawl_s("Step"),
        .data = {payload, sizeof payload - 1},
        .at_ms = 1700000000000
    };
    c->row.last_rid = e.rid;
    return e;
}

/* The round that starts a chain, or its next step. */
static void step(struct bench *b, struct chain *c, pawl_round *r)
{
    bool fresh = c->row.last_seq == 0;
    *r = (pawl_round){.uid = c->row.uid,
                      .execution = 1,
                      .base_seq = c->row.last_seq,
                      .base_rid = c->row.last_rid,
                      .change = fresh ? PAWL_ROW_INSERT : PAWL_ROW_LAST,
                      .row = &c->row,
                      .events = c->events,
                      .event_count = 2,
                      .work = &c->next,
                      .work_count = 1};
    if (!fresh) {
        r->need_work = &c->work;
        r->need_work_count = 1;
    }
    c->events[0] =
        next_event(b, c, fresh ? PAWL_EV_ORCHESTRATION_STARTED : PAWL_EV_ACTIVITY_COMPLETED);
    c->ref++;
    c->events[1] = next_event(b, c, PAWL_EV_ACTIVITY_SCHEDULED);
    c->next = next_work(b, c, c->events[1].rid);
    c->row.updated_ms++;
}

static void new_chain(struct bench *b, struct chain *c)
{
    c->row = (pawl_row){.uid = box_id(&b->box),
                        .id = pawl_s(c->id),
                        .orchestration = pawl_s("Order"),
                        .version = pawl_s("1.0.0"),
                        .state = PAWL_RUNNING,
                        .execution = 1,
                        .created_ms = 1700000000000,
                        .updated_ms = 1700000000000};
}

static void start_chains(struct bench *b, size_t count)
{
    b->chains = calloc(count, sizeof *b->chains);
    for (size_t i = 0; i < count; i++) {
        struct chain *c = &b->chains[i];
        (void)snprintf(c->id, sizeof c->id, "order-%08zx", i * 2654435761u & 0xffffffffu);
        new_chain(b, c);
    }
}

/* One commit of `batch` rounds, for chains from `at` on. */
static void commit_batch(struct bench *b, size_t batch, size_t instances, size_t at)
{
    static struct chain *used[CHAINS_MAX];
    for (size_t i = 0; i < batch; i++) {
        used[i] = &b->chains[(at + i) % instances];
        step(b, used[i], &b->rounds[i]);
    }
    pawl_status status = b->box.s->ops->commit(b->box.s, &b->box.fence, b->rounds, batch,
                                               1700000000000, &b->box.err);
    if (status != PAWL_OK)
        ck_abort_msg("%s", b->box.err.text);
    for (size_t i = 0; i < batch; i++) {
        if (b->rounds[i].result != PAWL_OK) /* an assertion that passes writes to a file */
            ck_abort_msg("round refused");
        used[i]->work = used[i]->next.id;
    }
}

/* Microseconds of CPU this thread has used: what other programs cannot disturb. */
static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Median microseconds of an appending write and fdatasync. */
static int64_t measure_sync(const char *dir, size_t bytes, bool overwrite)
{
    enum { TIMES = 2000 };
    static int64_t us[TIMES];
    static char zeros[65536];
    char path[128];
    (void)snprintf(path, sizeof path, "%s/sync", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    if (overwrite) {
        for (int i = 0; i < TIMES; i++)
            ck_assert_int_eq(pwrite(fd, zeros, bytes, (off_t)((size_t)i * bytes)), (ssize_t)bytes);
        fsync(fd);
    }
    for (int i = 0; i < TIMES; i++) {
        int64_t t = clock_mono_us();
        if (pwrite(fd, zeros, bytes, (off_t)((size_t)i * bytes)) != (ssize_t)bytes)
            ck_abort_msg("cannot write");
        fdatasync(fd);
        us[i] = clock_mono_us() - t;
    }
    close(fd);
    unlink(path);
    qsort(us, TIMES, sizeof us[0], compare);
    return us[TIMES / 2];
}

static void run(const char *dir, size_t batch, size_t instances, double seconds)
{
    static struct bench b;
    static int64_t us[1 << 20];
    size_t n = 0;
    b = (struct bench){0};
    box_make_in(&b.box, dir);
    box_open(&b.box);
    start_chains(&b, instances);
    for (size_t at = 0; at < instances; at += batch)
        commit_batch(&b, batch, instances, at);
    int64_t cpu = cpu_us(), start = clock_mono_us(), end = start + (int64_t)(seconds * 1e6),
            t = start;
    const char *commits = getenv("PAWL_BENCH_COMMITS");
    size_t max = commits ? strtoul(commits, NULL, 10) : sizeof us / sizeof us[0];
    for (size_t at = 0; t < end && n < max; at += batch) {
        commit_batch(&b, batch, instances, at);
        int64_t now = clock_mono_us();
        us[n++] = now - t;
        t = now;
    }
    cpu = cpu_us() - cpu;
    qsort(us, n, sizeof us[0], compare);
    printf("%4zu a commit: %8.0f rounds/s, commit p50 %lld us, p99 %lld, "
           "max %lld; %.2f us CPU a round\n",
           batch, (double)(n * batch) * 1e6 / (double)(t - start), (long long)us[n / 2],
           (long long)us[n * 99 / 100], (long long)us[n - 1], (double)cpu / (double)(n * batch));
    free(b.chains);
    box_drop(&b.box);
}

/* ---- many instances, few of them busy: each step is two commits -------------------- */

/* 256 at random wake up and start an activity; then all complete and rest again. */
static void run_random(const char *dir, size_t instances, double seconds)
{
    enum { BATCH = 256 };
    static struct bench b;
    static struct chain *used[BATCH];
    uint64_t seed = 88172645463325252u;
    size_t steps = 0;
    b = (struct bench){0};
    box_make_in(&b.box, dir);
    box_open(&b.box);
    start_chains(&b, instances);
    for (size_t at = 0; at < instances; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            step(&b, &b.chains[at + i], &b.rounds[i]);
            b.rounds[i].work_count = 0;
        }
        if (box_commit(&b.box, b.rounds, BATCH) != PAWL_OK)
            ck_abort_msg("%s", b.box.err.text);
    }
    int64_t cpu = cpu_us(), start = clock_mono_us(), end = start + (int64_t)(seconds * 1e6);
    for (bool wake = true; clock_mono_us() < end; wake = !wake) {
        for (size_t i = 0; i < BATCH; i++) {
            if (wake) {
                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                used[i] = &b.chains[seed % (instances / BATCH) * BATCH + i];
            }
            step(&b, used[i], &b.rounds[i]);
            if (wake) {
                b.rounds[i].need_work_count = 0;
                used[i]->work = used[i]->next.id;
            } else {
                b.rounds[i].work_count = 0;
            }
        }
        if (box_commit(&b.box, b.rounds, BATCH) != PAWL_OK)
            ck_abort_msg("%s", b.box.err.text);
        for (size_t i = 0; i < BATCH; i++) {
            if (b.rounds[i].result != PAWL_OK)
                ck_abort_msg("round refused");
        }
        steps += BATCH;
    }
    double took = (double)(clock_mono_us() - start);
    printf("%zu instances at random, %d a commit: %8.0f rounds/s; %.2f us CPU a round\n", instances,
           BATCH, (double)steps * 1e6 / took, (double)(cpu_us() - cpu) / (double)steps);
    free(b.chains);
    box_drop(&b.box);
}

/* ---- hello: start, one activity, done: two rounds an orchestration ---------------- */

/* The round that completes a chain after its first activity. */
static void finish(struct bench *b, struct chain *c, pawl_round *r)
{
    step(b, c, r);
    r->work_count = 0;
    c->events[1].kind = PAWL_EV_ORCHESTRATION_COMPLETED;
    c->row.state = PAWL_COMPLETED;
    c->row.output = (pawl_str){payload, sizeof payload - 1};
    r->change = PAWL_ROW_ALL;
}

static void run_hello(const char *dir, size_t batch, double seconds)
{
    static struct bench b;
    size_t done = 0, made = 0;
    b = (struct bench){0};
    box_make_in(&b.box, dir);
    box_open(&b.box);
    b.chains = calloc(batch, sizeof *b.chains);
    int64_t cpu = cpu_us(), start = clock_mono_us(), end = start + (int64_t)(seconds * 1e6);
    const char *commits = getenv("PAWL_BENCH_COMMITS");
    size_t max = commits ? strtoul(commits, NULL, 10) * batch : SIZE_MAX;
    while (clock_mono_us() < end && done < max) {
        for (size_t i = 0; i < batch; i++) {
            struct chain *c = &b.chains[i];
            if (c->work) {
                finish(&b, c, &b.rounds[i]);
                continue;
            }
            (void)snprintf(c->id, sizeof c->id, "order-%08zx", made++ * 2654435761u & 0xffffffffu);
            new_chain(&b, c);
            step(&b, c, &b.rounds[i]);
        }
        if (box_commit(&b.box, b.rounds, batch) != PAWL_OK)
            ck_abort_msg("%s", b.box.err.text);
        for (size_t i = 0; i < batch; i++) {
            struct chain *c = &b.chains[i];
            if (b.rounds[i].result != PAWL_OK)
                ck_abort_msg("round refused");
            done += c->work != 0;
            if (c->work)
                *c = (struct chain){0};
            else
                c->work = c->next.id;
        }
    }
    double took = (double)(clock_mono_us() - start);
    printf("hello, %4zu a commit: %8.0f orchestrations/s; %.2f us CPU each\n", batch,
           (double)done * 1e6 / took, (double)(cpu_us() - cpu) / (double)done);
    free(b.chains);
    box_drop(&b.box);
}

/* ---- fan-out: one turn starts `wide`, 64 workers fetch, all complete ------------------ */

static void run_fanout(const char *dir, size_t wide)
{
    static struct bench b;
    b = (struct bench){0};
    box_make_in(&b.box, dir);
    box_open(&b.box);
    pawl_row row = box_instance(&b.box, "fan", 1);
    pawl_event *events = calloc(wide, sizeof *events);
    pawl_work *work = calloc(wide, sizeof *work);
    struct chain c = {.row = row};
    int64_t cpu = cpu_us(), start = clock_mono_us();
    pawl_round r = {.uid = row.uid, .execution = 1, .change = PAWL_ROW_LAST, .row = &c.row};
    r.base_seq = row.last_seq, r.base_rid = row.last_rid;
    for (size_t i = 0; i < wide; i++) {
        c.ref++;
        events[i] = next_event(&b, &c, PAWL_EV_ACTIVITY_SCHEDULED);
        work[i] = next_work(&b, &c, events[i].rid);
        if (i >= 64)
            work[i].lock_epoch = 0; /* no worker is free for it */
    }
    r.events = events, r.event_count = wide, r.work = work, r.work_count = wide;
    if (box_commit(&b.box, &r, 1) != PAWL_OK || r.result != PAWL_OK)
        ck_abort_msg("cannot start");
    uint64_t ids[64];
    size_t have = wide < 64 ? wide : 64;
    for (size_t i = 0; i < have; i++)
        ids[i] = work[i].id;
    while (have) {
        pawl_round done = {.uid = row.uid, .execution = 1, .change = PAWL_ROW_LAST};
        done.base_seq = c.row.last_seq, done.base_rid = c.row.last_rid;
        for (size_t i = 0; i < have; i++)
            events[i] = next_event(&b, &c, PAWL_EV_ACTIVITY_COMPLETED);
        done.row = &c.row, done.events = events, done.event_count = have;
        done.need_work = ids, done.need_work_count = have;
        if (box_commit(&b.box, &done, 1) != PAWL_OK || done.result != PAWL_OK)
            ck_abort_msg("cannot complete");
        pawl_work_list l;
        pawl_str name = pawl_s("Step");
        pawl_mem_reset(b.box.mem);
        if (b.box.s->ops->fetch_work(b.box.s, 1000, &name, 1, 64, b.box.mem, &l, &b.box.err))
            ck_abort_msg("%s", b.box.err.text);
        have = l.count;
        for (size_t i = 0; i < have; i++)
            ids[i] = l.items[i].id;
    }
    double took = (double)(clock_mono_us() - start);
    printf("fan-out of %zu, 64 workers: %8.0f steps/s; %.2f us CPU each\n", wide,
           (double)wide * 1e6 / took, (double)(cpu_us() - cpu) / (double)wide);
    free(events);
    free(work);
    box_drop(&b.box);
}

/* ---- Loading ------------------------------------------------------------------------- */

static void run_load(const char *dir, uint64_t events)
{
    static struct bench b;
    b = (struct bench){0};
    box_make_in(&b.box, dir);
    box_open(&b.box);
    pawl_row row = box_instance(&b.box, "long", 1);
    pawl_event *all = calloc(events, sizeof *all);
    struct chain c = {.row = row};
    pawl_round r = {.uid = row.uid, .execution = 1, .change = PAWL_ROW_LAST, .row = &c.row};
    r.base_seq = row.last_seq, r.base_rid = row.last_rid;
    for (uint64_t i = 0; i < events; i++)
        all[i] = next_event(&b, &c, PAWL_EV_ACTIVITY_COMPLETED);
    r.events = all, r.event_count = events;
    if (box_commit(&b.box, &r, 1) != PAWL_OK || r.result != PAWL_OK)
        ck_abort_msg("cannot append");
    for (int i = 0; i < 2; i++) {
        pawl_event_list l;
        pawl_mem_reset(b.box.mem);
        int64_t cpu = cpu_us();
        if (b.box.s->ops->read_history(b.box.s, row.uid, 1, 0, 0, b.box.mem, &l, &b.box.err))
            ck_abort_msg("%s", b.box.err.text);
        printf("load %llu events, %s: %.2f us CPU each\n", (unsigned long long)events,
               i ? "warm" : "first", (double)(cpu_us() - cpu) / (double)l.count);
    }
    free(all);
    box_drop(&b.box);
}

/* ---- Tests --------------------------------------------------------------------------- */

TEST(steps_leave_one_work_row_a_chain)
{
    static struct bench b;
    box_make(&b.box);
    box_open(&b.box);
    start_chains(&b, 8);
    for (size_t i = 0; i < 40; i++)
        commit_batch(&b, 8, 8, 0);
    pawl_depths d = {0};
    ck_assert_int_eq(b.box.s->ops->depths(b.box.s, 0, &d, &b.box.err), PAWL_OK);
    ck_assert_uint_eq(d.work, 8);
    ck_assert_uint_eq(d.instances, 8);
    for (size_t i = 0; i < 8; i++) {
        pawl_event_list l;
        ck_assert_int_eq(b.box.s->ops->read_history(b.box.s, b.chains[i].row.uid, 1, 0, 0,
                                                    b.box.mem, &l, &b.box.err),
                         PAWL_OK);
        ck_assert_uint_eq(l.count, 80);
    }
    free(b.chains);
    box_drop(&b.box);
}

TEST(figures)
{
    const char *dir = getenv("PAWL_BENCH_DIR"), *s = getenv("PAWL_BENCH_SECONDS");
    double seconds = s ? atof(s) : 3;
    if (!dir)
        return;
    printf("fdatasync: 4 KiB appended %lld us, overwritten %lld us; 16 KiB %lld, %lld us\n",
           (long long)measure_sync(dir, 4096, false), (long long)measure_sync(dir, 4096, true),
           (long long)measure_sync(dir, 16384, false), (long long)measure_sync(dir, 16384, true));
    const char *only = getenv("PAWL_BENCH_BATCH");
    static const size_t batches[] = {1, 32, 256};
    for (size_t i = 0; i < 3; i++) {
        if (!only || strtoul(only, NULL, 10) == batches[i])
            run(dir, batches[i], batches[i], seconds);
    }
    const char *shape = getenv("PAWL_BENCH_SHAPE");
    if (only && !shape)
        return;
    if (!shape || !strcmp(shape, "hello")) {
        run_hello(dir, 1, seconds);
        run_hello(dir, 256, seconds);
    }
    if (!shape || !strcmp(shape, "fanout")) {
        run_fanout(dir, 100);
        run_fanout(dir, 10000);
    }
    if (!shape || !strcmp(shape, "load"))
        run_load(dir, 100000);
    const char *many = getenv("PAWL_BENCH_INSTANCES");
    if (many)
        run_random(dir, strtoul(many, NULL, 10) / 256 * 256, seconds);
    fflush(stdout);
}
