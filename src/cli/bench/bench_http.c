/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_http.c -- what the benchmarks say over HTTP.
 *
 * hello: POST a start, GET its wait, over and over on each connection.  queue:
 * the phases of bench_queue.h.  One thread (wire.c) for all connections.
 */
#include "base/clock.h"
#include "cli/bench/bench_queue.h"
#include "cli/bench/bench_server.h"
#include "cli/bench/wire.h"

#include <stdlib.h>
#include <string.h>

/* A request that is sent again and again. */
struct saying {
    char text[WIRE_REQUEST];
    size_t len;
};

/* A connection. */
struct http_lane {
    char lock[PAWL_QUEUE_LOCK_CHARS]; /* held */
    bool has_lock;
    int64_t begun_us; /* the first request of what it does now */
    uint64_t round;
    bool waits; /* hello: started, not ended yet */
};

struct remote {
    struct bench_server server;
    struct wire *wire;
    struct http_lane *lanes;
    struct queue_phase *phase; /* NULL: hello */
    struct histogram *took;
    uint64_t count;
    int64_t end_us;
    bool enough;
    char head[400];           /* of every request, after its path */
    struct saying first, ack; /* queue: push or pop; the ack has room for a lock id at `hole` */
    size_t hole;
    char trouble[200];
};

/* ---- HTTP ---------------------------------------------------------------------------------- */

/* It goes line by line: all lines but one begin with another letter. */
static size_t http_whole(const char *in, size_t n)
{
    const char *end = in + n, *lf;
    size_t length = 0;
    for (const char *at = in; (lf = memchr(at, '\n', (size_t)(end - at))); at = lf + 1) {
        if (lf - at == 1) {
            size_t whole = (size_t)(lf + 1 - in) + length;
            return n < whole ? 0 : whole;
        }
        if ((*at == 'C' || *at == 'c') && strncasecmp(at, "content-length:", 15) == 0)
            length = strtoul(at + 15, NULL, 10);
    }
    return 0;
}

static pawl_str body_of(pawl_str answer)
{
    const char *end = memmem(answer.ptr, answer.len, "\r\n\r\n", 4);
    return (pawl_str){end + 4, answer.len - (size_t)(end + 4 - answer.ptr)};
}

static unsigned status_of(pawl_str answer)
{
    return answer.len > 12 ? (unsigned)strtoul(answer.ptr + 9, NULL, 10) : 0;
}

static size_t request(struct remote *r, char *to, const char *method, const char *path,
                      const char *body)
{
    int n = snprintf(to, WIRE_REQUEST, "%s %s%s%zu\r\n\r\n%s", method, path, r->head, strlen(body),
                     body);
    assert_that(n > 0 && n < WIRE_REQUEST);
    return (size_t)n;
}

static bool trouble(struct remote *r, pawl_str answer)
{
    pawl_str body = body_of(answer);
    snprintf(r->trouble, sizeof(r->trouble), "%u %.*s", status_of(answer),
             (int)(body.len < 150 ? body.len : 150), body.ptr);
    return false;
}

/* Count one more that is done. */
static void count(struct remote *r, struct http_lane *lane)
{
    lane->round++;
    r->count++;
    histogram_add(r->took, clock_mono_us() - lane->begun_us, 1);
}

/* ---- hello --------------------------------------------------------------------------------- */

static size_t ask_hello(void *user, uint32_t number, char *to)
{
    struct remote *r = user;
    struct http_lane *lane = &r->lanes[number];
    char path[128], body[256];
    const char *dir = strrchr(r->server.bench->dir, '/') + 1;
    unsigned long long round = lane->round;
    if (lane->waits) {
        snprintf(path, sizeof(path), "/api/v1/instances/%s-%u-%llu/wait", dir, number, round);
        return request(r, to, "GET", path, "");
    }
    lane->begun_us = clock_mono_us();
    if (lane->begun_us >= r->end_us)
        return 0;
    snprintf(body, sizeof(body),
             "{\"orchestration\":\"BenchHello\",\"input\":1,\"instance\":\"%s-%u-%llu\"}", dir,
             number, round);
    return request(r, to, "POST", "/api/v1/instances", body);
}

static bool take_hello(void *user, uint32_t number, pawl_str answer, int64_t took_us)
{
    struct remote *r = user;
    struct http_lane *lane = &r->lanes[number];
    (void)took_us;
    if (status_of(answer) != (lane->waits ? 200 : 201))
        return trouble(r, answer);
    if (lane->waits)
        count(r, lane);
    lane->waits = !lane->waits;
    return true;
}

/* ---- queue ----------------------------------------------------------------------------------- */

/* The texts are written once for the phase; only the lock id changes. */
static void prepare(struct remote *r, const struct queue_phase *p)
{
    char path[128], body[128];
    snprintf(path, sizeof(path), "/queue/%s/%s", p->queue,
             p->pops ? "pop?require_ack=true" : "push");
    r->first.len =
        request(r, r->first.text, "POST", path, p->pops ? "" : "{\"item\":" BENCH_ITEM "}");
    snprintf(path, sizeof(path), "/queue/%s/acknowledge", p->queue);
    snprintf(body, sizeof(body), "{\"lock_id\":\"%*s\"}", PAWL_QUEUE_LOCK_CHARS, "");
    r->ack.len = request(r, r->ack.text, "POST", path, body);
    r->hole = r->ack.len - PAWL_QUEUE_LOCK_CHARS - 2;
}

static size_t ask_queue(void *user, uint32_t number, char *to)
{
    struct remote *r = user;
    const struct queue_phase *p = r->phase;
    struct http_lane *lane = &r->lanes[number];
    if (lane->has_lock) {
        memcpy(to, r->ack.text, r->ack.len);
        memcpy(to + r->hole, lane->lock, PAWL_QUEUE_LOCK_CHARS);
        return r->ack.len;
    }
    lane->begun_us = clock_mono_us();
    if (number >= p->lanes || r->enough || lane->begun_us >= r->end_us)
        return 0;
    memcpy(to, r->first.text, r->first.len);
    return r->first.len;
}

static bool take_queue(void *user, uint32_t number, pawl_str answer, int64_t took_us)
{
    struct remote *r = user;
    struct http_lane *lane = &r->lanes[number];
    bool popped = r->phase->pops && !lane->has_lock;
    (void)took_us;
    lane->has_lock = false;
    if (status_of(answer) != 200)
        return trouble(r, answer);
    if (!popped) {
        count(r, lane);
        return true;
    }
    const char *lock = strstr(body_of(answer).ptr, "\"lock_id\":\"");
    lane->has_lock = lock && strlen(lock + 11) > PAWL_QUEUE_LOCK_CHARS;
    if (lane->has_lock)
        memcpy(lane->lock, lock + 11, PAWL_QUEUE_LOCK_CHARS);
    else
        r->enough = true; /* it is empty */
    return true;
}

/* ---- Running it --------------------------------------------------------------------------- */

static void remote_close(void *of)
{
    struct remote *r = of;
    wire_close(r->wire);
    bench_server_close(&r->server);
    free(r->lanes);
    free(r);
}

static int remote_open(struct bench *b, void **ret)
{
    struct remote *r = calloc(1, sizeof(*r));
    const char *token = b->cli->args.token;
    pawl_error err = {0};
    assert_that(r);
    *ret = r;
    r->lanes = calloc(b->in_flight, sizeof(*r->lanes));
    assert_that(r->lanes);
    int status = bench_server_open(&r->server, b);
    if (status)
        return status;
    snprintf(r->head, sizeof(r->head), " HTTP/1.1\r\nHost: localhost\r\n%s%.200s%sContent-Length: ",
             token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "");
    r->wire = wire_open(http_name(r->server.http), http_port(r->server.http), b->in_flight, &err);
    return r->wire ? 0 : cli_fail_error(b->cli, &err);
}

static int remote_configure(void *of, const char *queue, uint32_t max_locks)
{
    struct remote *r = of;
    char path[128], body[64];
    snprintf(path, sizeof(path), "/queue/%s/config", queue);
    snprintf(body, sizeof(body), "{\"max_locks\":%u}", max_locks);
    return bench_server_call(&r->server, "PUT", path, body, NULL);
}

/* Drive the plan until its time is up; *used: what the server used meanwhile. */
static int drive(struct remote *r, const struct wire_plan *plan, double seconds, double *rettook,
                 struct bench_usage *used)
{
    struct cli *cli = r->server.bench->cli;
    struct bench_usage before = {0};
    pawl_error err = {0};
    int status = bench_server_usage(&r->server, &before);
    if (status)
        return status;
    int64_t begin = clock_mono_us();
    r->count = 0;
    r->enough = false;
    r->end_us = begin + (int64_t)(seconds * 1e6);
    /* the plan ends by itself: what was started is completed */
    bool ok = wire_run(r->wire, plan, INT64_MAX, &err);
    *rettook = (double)(clock_mono_us() - begin) / 1e6;
    if (r->trouble[0])
        return cli_fail(cli, EXIT_FAILED, "the benchmark failed: the server said %s", r->trouble);
    if (!ok)
        return cli_fail_error(cli, &err);
    status = bench_server_usage(&r->server, used);
    used->commits -= before.commits;
    used->cpu_us -= before.cpu_us;
    return status;
}

static int remote_run(void *of, struct queue_phase *p)
{
    struct remote *r = of;
    struct bench_usage used = {0};
    struct wire_plan plan = {ask_queue, http_whole, take_queue, r};
    r->phase = p;
    r->took = p->took;
    prepare(r, p);
    int status = drive(r, &plan, p->for_seconds, &p->seconds, &used);
    p->count = r->count;
    p->syncs = (uint64_t)used.commits;
    p->cpu_us = used.cpu_us;
    p->rss_kb = (uint64_t)used.rss_kb;
    return status;
}

const struct transport bench_remote = {remote_open, remote_configure, remote_run, remote_close};

int bench_hello_http(struct bench *b, struct bench_result *ret)
{
    void *of = NULL;
    struct bench_usage used = {0};
    int status = remote_open(b, &of);
    struct remote *r = of;
    struct wire_plan plan = {ask_hello, http_whole, take_hello, r};
    r->took = calloc(1, sizeof(*r->took));
    assert_that(r->took);
    if (!status)
        status = drive(r, &plan, (double)b->cli->args.seconds, &ret->seconds, &used);
    ret->orchestrations = ret->steps = r->count;
    ret->rounds = 2 * r->count;
    ret->syncs = (uint64_t)used.commits;
    ret->cpu_us = used.cpu_us;
    ret->rss_kb = (uint64_t)used.rss_kb;
    ret->p50_us = histogram_at(r->took, 50);
    ret->p99_us = histogram_at(r->took, 99);
    free(r->took);
    remote_close(r);
    return status;
}
