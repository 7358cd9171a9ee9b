/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/plan.c -- what a child does: open, start, raise, wait, close.
 *
 * The same plan run again goes on where the last child died: starts are
 * idempotent by id, raises by key.
 */
#include "base/point.h"
#include "crash.h"

#include <check.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which points are passed ------------------------------------------------------ */

#define POINTS_MAX 64

static struct {
    const char *name;
    int count;
} points[POINTS_MAX];
static size_t point_count;
static pthread_mutex_t points_lock = PTHREAD_MUTEX_INITIALIZER;

static void count_point(const char *name)
{
    size_t i = 0;
    pthread_mutex_lock(&points_lock);
    while (i < point_count && strcmp(points[i].name, name) != 0)
        i++;
    if (i == point_count && i < POINTS_MAX)
        points[point_count++].name = name;
    points[i].count++;
    pthread_mutex_unlock(&points_lock);
}

static void write_points(void)
{
    for (size_t i = 0; i < point_count; i++)
        append_line("points", "%s %d", points[i].name, points[i].count);
}

/* Sampled: the first, then every eleventh with an offset by point. */
static bool in_sample(int n, int point)
{
    return full_matrix() || n == 1 || (n + point * 3) % 11 == 0;
}

int die_everywhere(bool (*die)(const char *point, int n, const void *arg), const void *arg,
                   int kinds)
{
    char *text = read_text("points"), *rest = text;
    int deaths = 0, at = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; at++) {
        char name[64];
        int count = 0;
        ck_assert_int_eq(sscanf(line, "%63s %d", name, &count), 2);
        bool reached = true;
        for (int n = 1; n <= count || (full_matrix() && reached); n++) {
            if (!in_sample(n, at))
                continue;
            reached = die(name, n, arg);
            deaths += reached;
        }
    }
    free(text);
    ck_assert_int_ge(at, kinds);
    printf("| %d points, %d deaths: ", at, deaths);
    return deaths;
}

/* ---- The plan ------------------------------------------------------------------------ */

static int complain(const char *what, const char *id, const pawl_error *err)
{
    fprintf(stderr, "%s %s: %s: %s\n", what, id, pawl_status_code(err->status), err->text);
    return 2;
}

static int begin(pawl_client *c, const struct plan_item *item)
{
    pawl_reply reply;
    pawl_error err;
    if (pawl_client_start(c, item->orchestration, pawl_s(item->input),
                          PAWL_START_OPTS(.instance = item->id), &reply) != PAWL_OK)
        return complain("start", item->id, &reply.error);
    append_record("acks", "%s", item->id);
    if (item->event &&
        pawl_client_raise(c, item->id, item->event, pawl_s(item->data),
                          PAWL_RAISE_OPTS(.idempotency_key = "once"), &err) != PAWL_OK &&
        err.status != PAWL_CONFLICT) /* it has ended meanwhile */
        return complain("raise", item->id, &err);
    return 0;
}

static int await(pawl_client *c, const struct plan_item *item, int wait_ms)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    pawl_error err;
    pawl_status rc = pawl_client_wait(c, item->id, 0, wait_ms ? wait_ms : 20000, mem, &info, &err);
    int status = 0;
    if (rc == PAWL_OK) {
        pawl_str said = info.state == PAWL_COMPLETED ? info.output : info.error;
        append_line("out", "%s %s %.*s", item->id, pawl_state_name(info.state), PAWL_FMT(said));
    } else {
        (void)complain("wait", item->id, &err);
        fprintf(stderr, "state %s finding %.*s\n",
                rc == PAWL_TIMEOUT ? pawl_state_name(info.state) : "?",
                PAWL_FMT(rc == PAWL_TIMEOUT ? info.finding : (pawl_str){0}));
        status = 3;
    }
    pawl_mem_free(mem);
    return status;
}

static int follow(const struct plan *plan, pawl_client *c)
{
    int status = 0;
    for (size_t i = 0; i < plan->count && !status; i++)
        status = begin(c, &plan->items[i]);
    if (!status && plan->then)
        plan->then(c);
    for (size_t i = 0; i < plan->count && !status; i++)
        status = await(c, &plan->items[i], plan->wait_ms);
    return status || !plan->last ? status : plan->last(c);
}

int plan_run(void *arg)
{
    const struct plan *plan = arg;
    pawl_options options = plan->options;
    pawl_error err;
    if (plan->crash_at)
        setenv("PAWL_CRASH_AT", plan->crash_at, 1);
    if (plan->census)
        point_hook = count_point;
    if (plan->before)
        plan->before();
    pawl_app *app = pawl_app_new();
    (plan->app ? plan->app : app_examples)(app);
    options.size = sizeof(options);
    if (!options.data)
        options.data = in_scratch("data");
    pawl_runtime *rt = pawl_runtime_open(app, &options, &err);
    if (!rt || pawl_runtime_start(rt, &err) != PAWL_OK) {
        fprintf(stderr, "open: %s: %s\n", pawl_status_code(err.status), err.text);
        return 1;
    }
    int status = follow(plan, pawl_runtime_client(rt));
    pawl_runtime_close(rt);
    pawl_app_free(app);
    if (plan->census)
        write_points();
    if (plan->after)
        plan->after();
    return status;
}

char *answer_of(const char *id)
{
    char *text = read_text("out"), *found = NULL, *rest = text;
    size_t len = strlen(id);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strncmp(line, id, len) == 0 && line[len] == ' ') {
            free(found);
            found = strdup(line + len + 1);
        }
    free(text);
    return found;
}
