/* SPDX-License-Identifier: MIT */
/* cli/bench/bench_crowd.c -- see the header. */
#include "cli/bench/bench_crowd.h"

#include <string.h>
#include <unistd.h>

#define AT_ONCE 1024

int crowd_open(struct crowd *c, pawl_feed_fn *feed, void *arg)
{
    pawl_error err;
    c->app = c->app ? c->app : bench_app();
    c->rt = bench_runtime(c->bench, c->app, &err);
    if (!c->rt)
        return cli_fail_error(c->bench->cli, &err);
    c->client = pawl_runtime_client(c->rt);
    if (!pawl_client_feed(c->client, feed, arg))
        return cli_fail(c->bench->cli, EXIT_NO_STORE, "out of memory");
    return 0;
}

void crowd_close(struct crowd *c)
{
    pawl_runtime_close(c->rt); /* no callback runs after this */
    c->rt = NULL;
}

void crowd_over(struct crowd *c, const char *trouble)
{
    if (trouble)
        snprintf(c->trouble, sizeof(c->trouble), "%.190s", trouble);
    atomic_store(&c->over, true);
    uint64_t one = 1;
    ssize_t n = write(c->bench->watch->wake, &one, sizeof(one));
    (void)n; /* an eventfd takes it */
}

int crowd_wait(struct crowd *c)
{
    while (!atomic_load(&c->over)) {
        int signal_number;
        if (watch_next(c->bench->watch, 1000, &signal_number) == WATCH_SIGNAL)
            return EXIT_INTERRUPTED + signal_number;
    }
    atomic_store(&c->over, false);
    return c->trouble[0]
               ? cli_fail(c->bench->cli, EXIT_FAILED, "the benchmark failed: %s", c->trouble)
               : 0;
}

static void on_start(void *arg, const pawl_reply *reply);

static void submit_next(struct crowd *c)
{
    char id[CROWD_ID_BYTES], input[32];
    pawl_error err;
    c->describe(c, c->submitted++, id, input);
    const pawl_request *start =
        PAWL_REQUEST(.op = PAWL_OP_START, .instance = id, .name = c->name, .data = pawl_s(input));
    if (pawl_client_submit(c->client, start, on_start, c, &err) != PAWL_OK)
        crowd_over(c, err.text);
}

static void on_start(void *arg, const pawl_reply *reply)
{
    struct crowd *c = arg;
    if (reply->status != PAWL_OK)
        crowd_over(c, reply->error.text);
    else if (++c->started == c->count)
        crowd_over(c, NULL);
    else if (c->submitted < c->count)
        submit_next(c);
}

/* Submit the first ones; each answer submits the next. */
int crowd_start(struct crowd *c)
{
    uint64_t first = c->count < AT_ONCE ? c->count : AT_ONCE;
    char id[CROWD_ID_BYTES], input[32];
    pawl_error err;
    c->submitted = first;
    c->started = 0;
    for (uint64_t i = 0; i < first; i++) {
        c->describe(c, i, id, input);
        const pawl_request *start = PAWL_REQUEST(.op = PAWL_OP_START, .instance = id,
                                                 .name = c->name, .data = pawl_s(input));
        if (pawl_client_submit(c->client, start, on_start, c, &err) != PAWL_OK)
            return cli_fail_error(c->bench->cli, &err);
    }
    return crowd_wait(c);
}
