/* SPDX-License-Identifier: MIT */
/* server/waits.c -- see waits.h.  Called by overview.c, on a reader thread. */
#include "server/waits.h"

#include "base/clock.h"
#include "server/problems.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX    64    /* events, and activities, that are told apart */
#define RETRYING     3     /* from this attempt on it is a problem */
#define NOT_TAKEN_MS 20000 /* time for a worker to take an activity */

/* An event of an orchestration, or an activity of any. */
struct waited {
    pawl_str name, orchestration, instance; /* the instance that waits longest */
    uint64_t count, running, later;         /* later: it backs off */
    int64_t since_ms;
    uint32_t attempt;
};

struct waited_list {
    struct waited items[NAMES_MAX];
    size_t count;
};

struct waits {
    int64_t now_ms;              /* wall */
    int64_t began_us, began_cpu; /* mono; CPU of this thread */
    size_t looked;
    bool more; /* than were looked at */
    struct waited_list events, activities;
    struct problems problems;
};

/* ---- Counting ------------------------------------------------------------------------------- */

/* NULL: there are too many. */
static struct waited *waited_of(struct waited_list *l, pawl_str name, pawl_str orchestration)
{
    for (size_t i = 0; i < l->count; i++)
        if (pawl_str_eq(l->items[i].name, name) &&
            pawl_str_eq(l->items[i].orchestration, orchestration))
            return &l->items[i];
    if (l->count == NAMES_MAX)
        return NULL;
    struct waited *x = &l->items[l->count++];
    *x = (struct waited){.name = name, .orchestration = orchestration};
    return x;
}

static void count_wait(struct waited *x, const pawl_waiting *w, pawl_str instance, bool later)
{
    if (!x)
        return;
    x->count++;
    x->running += w->running;
    x->later += later;
    if (w->attempt > x->attempt)
        x->attempt = w->attempt;
    if (x->since_ms && w->since_ms >= x->since_ms)
        return;
    x->since_ms = w->since_ms;
    x->instance = instance;
}

static void count_activity(struct waits *t, const pawl_waiting *w, pawl_str instance)
{
    bool later = !w->running && w->due_ms > t->now_ms;
    count_wait(waited_of(&t->activities, w->name, (pawl_str){0}), w, instance, later);
    struct problem like = {.activity = w->name, .since_ms = w->since_ms};
    if (w->attempt >= RETRYING) {
        like.kind = "retrying";
        like.detail = w->last_error;
        like.attempt = w->attempt;
    } else if (!w->running && !later && t->now_ms - w->since_ms > NOT_TAKEN_MS) {
        like.kind = "no_worker";
    }
    if (like.kind)
        problems_add(&t->problems, &like, instance);
}

static void count_instance(struct waits *t, const pawl_info *info)
{
    for (size_t i = 0; i < info->waiting_count; i++) {
        const pawl_waiting *w = &info->waiting[i];
        if (strcmp(w->kind, "event") == 0)
            count_wait(waited_of(&t->events, w->name, info->orchestration), w, info->instance,
                       false);
        else if (strcmp(w->kind, "activity") == 0)
            count_activity(t, w, info->instance);
    }
}

/* ---- Looking -------------------------------------------------------------------------------- */

static int64_t cost_us(const struct waits *t)
{
    return clock_cpu_us() - t->began_cpu;
}

/* On a busy machine most of the time goes to others, which is no reason to look at less. */
static bool is_over(const struct waits *t)
{
    return cost_us(t) >= (int64_t)WAITS_MS * 1000 ||
           clock_mono_us() - t->began_us >= (int64_t)WAITS_LONGEST_MS * 1000;
}

/* One that ended meanwhile waits for nothing. */
static void look_at(struct waits *t, pawl_client *client, const char *instance)
{
    pawl_info info;
    t->looked++;
    if (pawl_client_get(client, instance, 0, t->problems.mem, &info, NULL) == PAWL_OK)
        count_instance(t, &info);
}

static bool look_at_newest(struct waits *t, pawl_client *client, pawl_error *reterr)
{
    pawl_page page = {0};
    do {
        if (pawl_client_list(client,
                             PAWL_FILTER(.limit = (uint32_t)(WAITS_LOOKED - t->looked),
                                         .state = PAWL_RUNNING + 1,
                                         .after = page.next.len ? page.next.ptr : NULL),
                             t->problems.mem, &page, reterr) != PAWL_OK)
            return false;
        size_t i = 0;
        while (i < page.count && !is_over(t))
            look_at(t, client, page.items[i++].instance.ptr);
        t->more = i < page.count || page.next.len;
    } while (t->more && t->looked < WAITS_LOOKED && !is_over(t));
    return true;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void put_number(pawl_json *w, const char *key, int64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, n);
}

static void put_text(pawl_json *w, const char *key, pawl_str text)
{
    pawl_json_key(w, key);
    pawl_json_str(w, text);
}

static void write_event(pawl_json *w, const struct waited *x)
{
    put_text(w, "event", x->name);
    put_text(w, "orchestration", x->orchestration);
    put_number(w, "count", (int64_t)x->count);
}

static void write_activity(pawl_json *w, const struct waited *x)
{
    put_text(w, "activity", x->name);
    put_number(w, "running", (int64_t)x->running);
    put_number(w, "queued", (int64_t)(x->count - x->running - x->later));
    put_number(w, "backing_off", (int64_t)x->later);
    put_number(w, "attempt", x->attempt);
}

static int by_count(const void *left, const void *right)
{
    const struct waited *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    int names = strcmp(a->name.ptr, b->name.ptr);
    return names ? names : a->since_ms < b->since_ms ? -1 : 1;
}

static void write_list(pawl_json *w, const char *key, struct waited_list *l,
                       void (*write)(pawl_json *w, const struct waited *x))
{
    qsort(l->items, l->count, sizeof(*l->items), by_count);
    pawl_json_key(w, key);
    pawl_json_array(w);
    for (size_t i = 0; i < l->count; i++) {
        pawl_json_object(w);
        write(w, &l->items[i]);
        put_number(w, "oldest", l->items[i].since_ms);
        put_text(w, "instance", l->items[i].instance);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

bool waits_write(pawl_client *client, pawl_mem *mem, pawl_json *w, int64_t *retcost_us,
                 pawl_error *reterr)
{
    struct waits *t = pawl_mem_alloc(mem, sizeof(*t));
    memset(t, 0, sizeof(*t));
    t->now_ms = pawl_client_now(client);
    t->began_us = clock_mono_us();
    t->began_cpu = clock_cpu_us();
    t->problems.mem = mem;
    if (!look_at_newest(t, client, reterr))
        return false;
    pawl_json_object(w);
    pawl_json_key(w, "looked");
    if (t->more)
        pawl_json_num(w, (int64_t)t->looked);
    else
        pawl_json_null(w);
    write_list(w, "events", &t->events, write_event);
    write_list(w, "activities", &t->activities, write_activity);
    pawl_json_key(w, "problems");
    problems_write(&t->problems, w);
    pawl_json_end(w);
    *retcost_us = cost_us(t);
    return true;
}
