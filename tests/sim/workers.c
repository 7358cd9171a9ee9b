/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/workers.c -- workers outside: they lease work, complete it, extend, give back, or go
 * silent; some answer after their lease was over.
 *
 * Every lease has a value of its own, so a recorded result tells whose it is.  It has to be of the
 * lease the row carried (I7), and a worker whose lease lives is never told that it is lost (I15).
 */
#include "memory.h"

#include "pawl/worker.h"
#include "runtime/core/runtime.h"

#include <stdlib.h>
#include <string.h>

struct lease {
    char token[64];
    char instance[80];
    char input[64];
    uint64_t uid, execution, ref;
    uint32_t attempt;
    int64_t until_ms;
    bool live;         /* the row carries it, as of the last look */
    bool accepted;     /* its result went into the mail, with the row */
    bool over;         /* completed, or told that it is lost */
    int sent;          /* calls with it not answered */
    bool ok;           /* a good result was sent */
    char recorded[80]; /* what the history has of it */
};

enum wop_kind { WOP_POLL, WOP_EXTEND, WOP_ABANDON, WOP_COMPLETE };

struct wop {
    struct sim *sim;
    struct node *node;
    enum wop_kind kind;
    size_t lease; /* index */
    bool in_time; /* complete: the lease lived when it was sent */
    int details;  /* extend: those it gave; 0: none */
    char data[80];
    enum op_result result;
};

struct workers {
    struct lease *leases;
    size_t lease_count, lease_cap;
    struct wop **ops;
    size_t op_count, op_cap;
};

struct workers *workers_create(void)
{
    struct workers *w = calloc(1, sizeof(*w));
    assert_that(w);
    return w;
}

void workers_free(struct workers *w)
{
    for (size_t i = 0; i < w->op_count; i++)
        free(w->ops[i]);
    free(w->ops);
    free(w->leases);
    free(w);
}

bool workers_open(const struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->workers->op_count; i++)
        if (s->workers->ops[i]->result == OP_WAITING && (!n || s->workers->ops[i]->node == n))
            return true;
    return false;
}

static struct wop *new_op(struct sim *s, enum wop_kind kind, size_t lease)
{
    struct workers *w = s->workers;
    struct wop *op = calloc(1, sizeof(*op));
    assert_that(op);
    *op = (struct wop){.sim = s, .kind = kind, .lease = lease, .node = s->node};
    for (size_t i = 0; i < OLD_NODES && !s->healing; i++)
        if (s->old[i] && prng_chance(&s->more, 150))
            op->node = s->old[i];
    *(struct wop **)sim_grow(&w->ops, &w->op_count, &w->op_cap, sizeof(op)) = op;
    s->n->fired[SITE_worker]++;
    return op;
}

static enum op_result result_of(const struct wop *op, pawl_status status)
{
    if (op->node->frozen || op->node->old || status == PAWL_UNKNOWN)
        return OP_LOST;
    return status == PAWL_OK ? OP_ACKED : OP_REFUSED;
}

/* ---- Polls ---------------------------------------------------------------------------------- */

static void take_lease(struct sim *s, const pawl_lease *from)
{
    struct workers *w = s->workers;
    struct seen *i = seen_by_id(s, from->instance);
    CHECKED(s, I14);
    if (!i) /* removed in the commit that leased it */
        return;
    struct lease *l = sim_grow(&w->leases, &w->lease_count, &w->lease_cap, sizeof(*l));
    *l = (struct lease){.uid = i->uid,
                        .execution = from->execution,
                        .ref = from->id,
                        .attempt = from->attempt,
                        .until_ms = from->locked_until_ms};
    (void)snprintf(l->token, sizeof(l->token), "%.*s", PAWL_FMT(from->token));
    (void)snprintf(l->instance, sizeof(l->instance), "%.*s", PAWL_FMT(from->instance));
    (void)snprintf(l->input, sizeof(l->input), "%.*s", PAWL_FMT(from->input));
    const struct seen_task *t = i->execution == l->execution ? seen_task(i, l->ref) : NULL;
    if (!t || t->now != TASK_IS_OPEN || i->end_kind || !t->row_free_ms) { /* withdrawn meanwhile */
        l->over = true;
        return;
    }
    if (strcmp(t->row_token, l->token) != 0)
        sim_fail(s, "I7", "%s: task %llu was leased, but its row does not say so", i->id,
                 (unsigned long long)l->ref);
    l->live = true;
    details_resumed(s, i, seen_task(i, l->ref), from->details);
    sim_trace(s, "worker has %s of %s #%llu attempt %u as %zu", l->input, l->instance,
              (unsigned long long)l->ref, l->attempt, w->lease_count - 1);
}

static void take_polled(struct wop *op, const pawl_worker_reply *reply)
{
    struct sim *s = op->sim;
    if (op->result != OP_WAITING)
        sim_fail(s, "I15", "a poll was answered twice");
    if (op->node->frozen || op->node->old || reply->status == PAWL_UNKNOWN) {
        op->result = OP_LOST;
        return;
    }
    op->result = reply->status == PAWL_OK ? OP_ACKED : OP_REFUSED;
    sim_trace(s, "poll: %s, %zu items", pawl_status_code(reply->status), reply->count);
    CHECKED(s, I15);
    if (reply->status != PAWL_OK && reply->status != PAWL_SHUTDOWN &&
        reply->status != PAWL_NO_MEMORY)
        sim_fail(s, "I15", "a poll was answered %s", pawl_status_code(reply->status));
    for (size_t i = 0; i < reply->count; i++)
        take_lease(s, &reply->leases[i]);
}

static void polled(void *arg, const pawl_worker_reply *reply)
{
    memory_pause();
    take_polled(arg, reply);
    memory_resume();
}

static void poll_work(struct sim *s, uint32_t max)
{
    static const char *const names[] = {"Remote"};
    static const int64_t waits[] = {0, 0, 500, 60000};
    struct wop *op = new_op(s, WOP_POLL, 0);
    int64_t wait = s->healing ? 0 : waits[prng_below(&s->more, COUNT_OF(waits))];
    int64_t lock = prng_between(&s->more, 1000, 8000);
    pawl_error err = {0};
    if (pawl_worker_poll(pawl_runtime_client(op->node->rt),
                         PAWL_POLL(.activities = names, .activity_count = 1, .max = max,
                                   .wait_ms = wait, .lock_ms = lock, .worker = "w"),
                         polled, op, &err) == PAWL_OK)
        return;
    op->result = OP_REFUSED;
    if (!op->node->old)
        sim_fail(s, "I15", "a poll was refused: %s", err.text);
}

/* ---- Calls with a lease ------------------------------------------------------------------------ */

/* Told LOST: then the row must not carry it any more. */
static void check_lost(struct sim *s, struct lease *l, pawl_status status)
{
    CHECKED(s, I15);
    if (status == PAWL_LOST && l->live && l->until_ms > s->wall_max_ms)
        sim_fail(s, "I15", "%s: the lease of task %llu lives, its worker is told that it is lost",
                 l->instance, (unsigned long long)l->ref);
    l->over |= status == PAWL_LOST;
}

static void take_changed(struct wop *op, const pawl_worker_reply *reply)
{
    struct sim *s = op->sim;
    struct lease *l = &s->workers->leases[op->lease];
    if (op->result != OP_WAITING)
        sim_fail(s, "I15", "a call of a worker was answered twice");
    l->sent--;
    op->result = result_of(op, reply->status);
    if (op->result == OP_LOST)
        return;
    check_lost(s, l, reply->status);
    if (reply->status == PAWL_OK && op->kind == WOP_ABANDON)
        l->over = true;
    if (reply->status == PAWL_OK && op->kind == WOP_EXTEND && !reply->cancelled)
        l->until_ms = reply->locked_until_ms;
    struct seen *i = seen_by_uid(s, l->uid);
    struct seen_task *t = i && i->execution == l->execution ? seen_task(i, l->ref) : NULL;
    if (t && reply->status == PAWL_OK && !reply->cancelled && op->details > t->details)
        t->details = op->details;
}

static void changed(void *arg, const pawl_worker_reply *reply)
{
    memory_pause();
    take_changed(arg, reply);
    memory_resume();
}

/* Was the same result handed in before, and is recorded or in the mail?  Then it is answered again. */
static bool is_again(const struct sim *s, const struct wop *again)
{
    const struct lease *l = &s->workers->leases[again->lease];
    if (l->recorded[0] && strcmp(l->recorded, again->data) == 0)
        return true;
    for (size_t i = 0; i < s->workers->op_count; i++) {
        const struct wop *op = s->workers->ops[i];
        if (op != again && op->kind == WOP_COMPLETE && op->lease == again->lease && op->in_time &&
            (op->result == OP_ACKED || op->result == OP_LOST) && strcmp(op->data, again->data) == 0)
            return true;
    }
    return false;
}

static void take_completed(struct wop *op, const pawl_reply *reply)
{
    struct sim *s = op->sim;
    struct lease *l = &s->workers->leases[op->lease];
    if (op->result != OP_WAITING)
        sim_fail(s, "I15", "a completion was answered twice");
    l->sent--;
    op->result = result_of(op, reply->status);
    if (op->result == OP_LOST)
        return;
    sim_trace(s, "answer: completion of lease %zu: %s", op->lease, pawl_status_code(reply->status));
    check_lost(s, l, reply->status);
    l->over |= reply->status == PAWL_OK;
    /* The clock may have stepped back since: then the lease lived when it was looked at. */
    bool lives = l->until_ms > s->wall_ms + op->node->skew_ms;
    if (reply->status == PAWL_OK && !op->in_time && !lives && !is_again(s, op))
        sim_fail(s, "I7", "%s: a result for task %llu was taken after the lease had ended",
                 l->instance, (unsigned long long)l->ref);
    if (reply->status == PAWL_OK && l->live)
        sim_fail(s, "I15", "%s: a result for task %llu was acknowledged; the row is still leased",
                 l->instance, (unsigned long long)l->ref);
}

static void completed(void *arg, const pawl_reply *reply)
{
    memory_pause();
    take_completed(arg, reply);
    memory_resume();
}

static void complete(struct sim *s, size_t at, bool failed)
{
    struct lease *l = &s->workers->leases[at];
    char value[40], data[80];
    interp_result(pawl_s(l->instance), l->execution, l->ref, pawl_s(l->input), value);
    failed |= l->input[0] == 'f' || (l->input[0] == 'y' && l->attempt < 3);
    (void)snprintf(data, sizeof(data), "%s%s@%zu", failed ? "err " : "", value, at);
    struct wop *op = new_op(s, WOP_COMPLETE, at);
    pawl_error err = {0};
    (void)snprintf(op->data, sizeof(op->data), "%s", data);
    op->in_time = l->live && l->until_ms > s->wall_ms + op->node->skew_ms;
    l->ok |= !failed;
    l->sent++;
    sim_trace(s, "worker completes lease %zu: %s", at, data);
    if (pawl_client_submit(pawl_runtime_client(op->node->rt),
                           PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = l->token,
                                        .data = pawl_s(data), .failed = failed,
                                        .final = failed && prng_chance(&s->more, 200)),
                           completed, op, &err) == PAWL_OK)
        return;
    op->result = OP_REFUSED;
    l->sent--;
    if (!op->node->old)
        sim_fail(s, "I15", "a completion was refused: %s", err.text);
}

static void change(struct sim *s, size_t at, enum wop_kind kind)
{
    struct lease *l = &s->workers->leases[at];
    struct wop *op = new_op(s, kind, at);
    pawl_client *c = pawl_runtime_client(op->node->rt);
    pawl_error err = {0};
    l->sent++;
    sim_trace(s, "worker %s lease %zu", kind == WOP_EXTEND ? "extends" : "gives back", at);
    bool beats = kind == WOP_EXTEND && s->plan.rate[SITE_doors];
    pawl_str details = beats ? details_next(s) : (pawl_str){0};
    op->details = beats ? s->details : 0;
    pawl_status rc = kind == WOP_EXTEND
                         ? pawl_worker_beat(c, l->token, prng_between(&s->more, 1000, 9000),
                                            details, changed, op, &err)
                         : pawl_worker_abandon(c, l->token, prng_chance(&s->more, 300) ? 600 : 0,
                                               changed, op, &err);
    if (rc == PAWL_OK)
        return;
    op->result = OP_REFUSED;
    l->sent--;
    if (!op->node->old)
        sim_fail(s, "I15", "a call of a worker was refused: %s", err.text);
}

void workers_lost(struct sim *s, const struct node *n)
{
    for (size_t i = 0; i < s->workers->op_count; i++) {
        struct wop *op = s->workers->ops[i];
        if (op->node != n || op->result != OP_WAITING)
            continue;
        op->result = OP_LOST;
        if (op->kind != WOP_POLL)
            s->workers->leases[op->lease].sent--;
    }
}

void workers_act(struct sim *s)
{
    struct workers *w = s->workers;
    uint64_t n = prng_below(&s->more, 100);
    if (s->mute)
        return;
    if (n < 40 || !w->lease_count) {
        poll_work(s, (uint32_t)prng_between(&s->more, 1, 3));
        return;
    }
    size_t at = prng_below(&s->more, w->lease_count);
    if (w->leases[at].over && prng_chance(&s->more, 700))
        return;
    if (n < 75)
        complete(s, at, prng_chance(&s->more, 150));
    else if (n < 87)
        change(s, at, WOP_EXTEND);
    else if (n < 95)
        change(s, at, WOP_ABANDON);
}

/* ---- The row, after every commit ---------------------------------------------------------------- */

static bool is_named(const struct sim *s, size_t lease)
{
    for (size_t i = 0; i < s->workers->op_count; i++) {
        const struct wop *op = s->workers->ops[i];
        if (op->kind != WOP_POLL && op->kind != WOP_EXTEND && op->lease == lease &&
            op->result == OP_WAITING)
            return true;
    }
    return false;
}

/* Its lease went from the row: by its end, or by a call that names it.  Calls with limits of their
 * own may end earlier. */
static void lease_ended(struct sim *s, const struct seen *i, const struct seen_task *t, size_t at)
{
    const struct lease *l = &s->workers->leases[at];
    bool limited = !strchr("016", t->input[1]);
    CHECKED(s, I7);
    if (!limited && t->now == TASK_IS_OPEN && !i->end_kind && l->until_ms > s->wall_max_ms &&
        !is_named(s, at))
        sim_fail(s, "I7", "%s: the lease of task %llu was taken away %lld ms before its end", i->id,
                 (unsigned long long)l->ref, (long long)(l->until_ms - s->wall_max_ms));
}

void workers_row(struct sim *s, struct seen *i, struct seen_task *t, uint64_t ref,
                 const pawl_work *row)
{
    struct workers *w = s->workers;
    CHECKED(s, L3);
    if (row && row->crashes > s->node->rt->opts.max_attempts)
        sim_fail(s, "L3", "%s: work of task %llu took the process or its lease %u times", i->id,
                 (unsigned long long)ref, row->crashes);
    CHECKED(s, I14);
    if (row && row->attempt > interp_attempts(pawl_s(t->input)) + row->crashes)
        sim_fail(s, "I14", "%s: task %llu has made %u attempts, %u crashes; it has %u", i->id,
                 (unsigned long long)ref, row->attempt, row->crashes,
                 interp_attempts(pawl_s(t->input)));
    limited_row(t, row);
    (void)snprintf(t->row_token, sizeof(t->row_token), "%.*s", row ? (int)row->lock_token.len : 0,
                   row ? row->lock_token.ptr : "");
    t->row_free_ms = !row ? 0 : row->lock_token.len ? row->lock_until_ms : row->visible_ms + 1;
    for (size_t k = 0; k < w->lease_count; k++) {
        struct lease *l = &w->leases[k];
        if (!l->live || l->uid != i->uid || l->execution != i->execution || l->ref != ref)
            continue;
        l->live = row && strcmp(t->row_token, l->token) == 0;
        if (l->live) /* extended, which may make it shorter */
            l->until_ms = row->lock_until_ms;
        if (!l->live)
            lease_ended(s, i, t, k);
        l->accepted = !row && is_named(s, k);
    }
}

/* Leases of executions that are over. */
void workers_look(struct sim *s)
{
    for (size_t k = 0; k < s->workers->lease_count; k++) {
        struct lease *l = &s->workers->leases[k];
        const struct seen *i = l->live ? seen_by_uid(s, l->uid) : NULL;
        if (i && (i->removed || i->end_kind || i->execution != l->execution))
            l->live = false;
    }
}

/* Handed in before the end, recorded after it: the store was busy.  Of a call that died with
 * its node nobody knows whether it was the last thing committed. */
static bool came_in_time(const struct sim *s, size_t lease)
{
    for (size_t i = 0; i < s->workers->op_count; i++) {
        const struct wop *op = s->workers->ops[i];
        if (op->kind == WOP_COMPLETE && op->lease == lease && op->in_time &&
            (op->result == OP_WAITING || op->result == OP_LOST))
            return true;
    }
    return false;
}

/* A result is of the lease that the row carried when it came. */
void workers_result(struct sim *s, const struct seen *i, const pawl_event *e)
{
    const char *sign = e->data.len ? memchr(e->data.ptr, '@', e->data.len) : NULL;
    if (!sign || (e->data.ptr[0] != 'r' && e->data.ptr[0] != 'e'))
        return; /* timeout, poison */
    size_t at = strtoul(sign + 1, NULL, 10);
    CHECKED(s, I7);
    if (at >= s->workers->lease_count)
        sim_fail(s, "result", "%s: a result of no lease: %.*s", i->id, PAWL_FMT(e->data));
    struct lease *l = &s->workers->leases[at];
    (void)snprintf(l->recorded, sizeof(l->recorded), "%.*s", PAWL_FMT(e->data));
    if (l->uid != i->uid || l->execution != i->execution || l->ref != e->ref)
        sim_fail(s, "I18", "%s: task %llu got the result of another", i->id,
                 (unsigned long long)e->ref);
    if (!l->live && !l->accepted && !came_in_time(s, at))
        sim_fail(s, "I7", "%s: task %llu has the result of a lease that was over", i->id,
                 (unsigned long long)e->ref);
    if (e->kind == PAWL_EV_ACTIVITY_COMPLETED && !l->ok)
        sim_fail(s, "result", "%s: task %llu completed, its worker said it failed", i->id,
                 (unsigned long long)e->ref);
}

/* ---- Healing -------------------------------------------------------------------------------------- */

bool workers_help(struct sim *s)
{
    struct workers *w = s->workers;
    bool helped = false;
    for (size_t k = 0; k < w->lease_count; k++)
        if (!w->leases[k].over && w->leases[k].live && !w->leases[k].sent) {
            complete(s, k, false);
            helped = true;
        }
    for (size_t k = 0; !helped && k < s->seen_count; k++) {
        const struct seen *i = s->seen[k];
        for (size_t t = 0; t < i->task_count && !i->removed && !i->end_kind; t++)
            if (i->tasks[t].now == TASK_IS_OPEN && i->tasks[t].row_free_ms &&
                i->tasks[t].row_free_ms <= s->wall_ms + 1 &&
                strcmp(i->tasks[t].name, "Remote") == 0) {
                poll_work(s, 10);
                return true;
            }
    }
    return helped;
}
