/* SPDX-License-Identifier: MIT */
/* tests/windows/window.c -- see window.h. */
#include "window.h"

#include "base/point.h"
#include "runtime/core/resident.h"
#include "runtime/core/slots.h"
#include "runtime/life/close.h"
#include "runtime/loop/loop.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVES_MAX 12
#define HOPS_MAX  400

const char *const window_ways[] = {"none",        "fails_before",   "fails_for_long",
                                   "fails_after", "loses_it",       "dies_before",
                                   "dies_after",  "fails_at_point", "dies_at_point"};

static struct window *current; /* for point_hook */

/* ---- What goes wrong -------------------------------------------------------------- */

static struct fault fire(struct window *w, enum fault_op op)
{
    bool commits = op == FAULT_OP_commit || op == FAULT_OP_purge;
    struct fault fault = {FAULT_BEFORE, PAWL_UNAVAILABLE};
    w->fired = true;
    switch (w->plan.way) {
    case WAY_BEFORE:
        break;
    case WAY_LONG:
        w->failing = WINDOW_FOREVER;
        break;
    case WAY_AFTER:
        fault.kind = FAULT_AFTER; /* a store with rounds has to say that it does not know */
        fault.status = w->kind == WINDOW_JSONL ? PAWL_UNAVAILABLE : PAWL_UNKNOWN;
        break;
    case WAY_LOST:
        fault.status = PAWL_UNKNOWN; /* and not done */
        break;
    case WAY_DIE:
    case WAY_DIE_AFTER:
        w->died = true;
        fault.kind = w->plan.way == WAY_DIE ? FAULT_BEFORE : FAULT_AFTER;
        fault.status = commits ? PAWL_UNKNOWN : PAWL_UNAVAILABLE;
        break;
    case WAY_NONE:
    case WAY_POINT_FAIL:
    case WAY_POINT_DIE:
    case WAY_COUNT:
        fault.kind = FAULT_NONE;
        break;
    }
    return fault;
}

/* What became of a commit is known at the second question; or this was the end. */
static struct fault tell(const struct window *w)
{
    if (w->died)
        return (struct fault){FAULT_BEFORE, PAWL_UNKNOWN};
    return (struct fault){w->calls[FAULT_OP_outcome] == 1 ? FAULT_BEFORE : FAULT_NONE,
                          PAWL_UNAVAILABLE};
}

static struct fault decide(void *user, enum fault_op op, uint64_t call)
{
    struct window *w = user;
    (void)call;
    if (w->plan.busy && !w->beside)
        return (struct fault){.kind = FAULT_NONE};
    w->calls[op]++;
    if (op == FAULT_OP_outcome)
        return tell(w);
    if (w->died)
        return (struct fault){FAULT_BEFORE, PAWL_UNAVAILABLE};
    if (w->failing && op == w->plan.op) {
        w->failing--;
        return (struct fault){FAULT_BEFORE, PAWL_UNAVAILABLE};
    }
    bool points = w->plan.way == WAY_POINT_FAIL || w->plan.way == WAY_POINT_DIE;
    if (!points && !w->fired && op == w->plan.op && w->calls[op] == w->plan.nth)
        return fire(w, op);
    return (struct fault){.kind = FAULT_NONE};
}

static void at_point(const char *name)
{
    struct window *w = current;
    const char *wanted = w->plan.point ? w->plan.point : "jsonl.";
    if (w->plan.busy && !w->beside)
        return;
    if (strncmp(name, wanted, strlen(wanted)) != 0 || ++w->points != w->plan.nth || !w->inner)
        return;
    w->fired = true;
    if (w->plan.way == WAY_POINT_FAIL)
        jsonl_set_trouble(w->inner, JSONL_FAIL);
    else if (w->plan.way == WAY_POINT_DIE)
        jsonl_set_trouble(w->inner, JSONL_DIE);
    w->died = w->died || w->plan.way == WAY_POINT_DIE;
}

/* ---- The world -------------------------------------------------------------------- */

static int64_t now_ms(void *user)
{
    return ((struct window *)user)->now;
}

static int64_t mono_ms(void *user)
{
    return ((struct window *)user)->mono;
}

static void dice(void *user, void *to, size_t n)
{
    struct window *w = user;
    for (size_t i = 0; i < n; i++) {
        w->dice = w->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((unsigned char *)to)[i] = (unsigned char)(w->dice >> 56);
    }
}

static void open_store(struct window *w)
{
    char file[300];
    pawl_error err = {0};
    snprintf(file, sizeof(file), "%s/pawl.db", w->dir);
    if (w->kind == WINDOW_SQLITE)
        w->inner = pawl_sqlite_store(file, PAWL_STORE_OPTS(.now_ms = w->now), &err);
    else if (w->kind == WINDOW_JSONL)
        w->inner = pawl_jsonl_store(file, PAWL_STORE_OPTS(.now_ms = w->now), &err);
    else if (!w->inner)
        w->inner = pawl_memory_store();
    if (!w->inner)
        snprintf(w->trouble, sizeof(w->trouble), "cannot open: %.200s", err.text);
    else
        w->store = fault_store(w->inner, decide, w);
}

/* A killed process leaves its slots as they were, not absolved as one that could end itself. */
static void leave_slots(const struct window *w)
{
    struct slots_past *past = calloc(1, sizeof(*past));
    struct slots *s = past ? slots_open(w->dir, past) : NULL;
    if (!s)
        abort();
    slots_begin(s, NULL);
    slots_work(s, 0, w->beside);
    slots_close(s, false);
    free(past);
}

/* The process dies; what it left is opened by the next one. */
static void die(struct window *w)
{
    if (w->rt)
        runtime_discard(w->rt);
    w->rt = NULL;
    if (w->beside)
        leave_slots(w);
    if (w->store)
        (void)fault_store_release(w->store);
    w->store = NULL;
    if (w->kind != WINDOW_MEMORY && w->inner) {
        w->inner->ops->close(w->inner);
        w->inner = NULL;
    }
    w->died = false;
    if (++w->lives > LIVES_MAX)
        snprintf(w->trouble, sizeof(w->trouble), "died again and again");
}

static void say_nothing(void *user, pawl_log_level level, const char *area, const char *text)
{
    (void)user, (void)level, (void)area, (void)text;
}

/* False: it cannot be brought up. */
static bool up(struct window *w)
{
    pawl_env env = {.user = w, .now_ms = now_ms, .mono_ms = mono_ms, .random = dice};
    while (!w->rt && !w->trouble[0]) {
        pawl_error err = {0};
        if (!w->store)
            open_store(w);
        if (w->trouble[0])
            return false;
        w->rt = pawl_runtime_open(w->app,
                                  PAWL_OPTIONS(.opened_store = w->store,
                                               .data = w->plan.busy ? w->dir : NULL,
                                               .group_limit = w->plan.busy && w->lives ? 1 : 0,
                                               .env = &env, .log = say_nothing),
                                  &err);
        if (!w->rt && ++w->lives > LIVES_MAX)
            snprintf(w->trouble, sizeof(w->trouble), "cannot start: %.200s", err.text);
        if (!w->rt && w->died)
            die(w);
    }
    return w->rt != NULL;
}

/* Until nothing is ready; false: the process died. */
static bool settle(struct window *w)
{
    for (int i = 0; i < 20000 && !w->trouble[0]; i++) {
        int done = pawl_runtime_step(w->rt, 0);
        resident_check(w->rt);
        if (done < 0 || w->died) {
            die(w);
            return false;
        }
        if (!done && !w->rt->shares.queued && !w->rt->inbox.first &&
            loop_idle_until(w->rt) > w->mono)
            return true;
    }
    if (!w->trouble[0])
        snprintf(w->trouble, sizeof(w->trouble), "does not come to rest");
    return false;
}

/* To the next due time; false: there is none, or the process died. */
static bool hop(struct window *w)
{
    if (!up(w) || !settle(w))
        return false;
    int64_t until = loop_idle_until(w->rt);
    if (until == INT64_MAX)
        return false;
    w->now += until - w->mono;
    w->mono = until;
    (void)settle(w);
    return true;
}

/* ---- Driving ------------------------------------------------------------------------- */

struct answer {
    bool done;
    pawl_reply reply;
};

static void take_answer(void *arg, const pawl_reply *reply)
{
    struct answer *a = arg;
    a->done = true;
    a->reply = *reply;
}

/* What the first, unanswered call did is no error to the second. */
static bool is_fine(const pawl_reply *reply, bool again)
{
    return reply->status == PAWL_OK ||
           (again && (reply->status == PAWL_CONFLICT || reply->status == PAWL_NOT_FOUND));
}

static bool try_call(struct window *w, const pawl_request *call, bool again)
{
    struct answer a = {0};
    pawl_error err = {0};
    if (!up(w))
        return false;
    pawl_status rc = pawl_client_submit(pawl_runtime_client(w->rt), call, take_answer, &a, &err);
    if (rc != PAWL_OK)
        return rc == PAWL_UNSUPPORTED; /* this store does without */
    int life = w->lives;
    for (int i = 0; i < HOPS_MAX && !w->trouble[0]; i++) {
        if (!settle(w))
            return false; /* not answered, or not heard */
        if (a.done || life != w->lives)
            break;
        (void)hop(w); /* the store is in trouble: wait */
        if (life != w->lives)
            return false;
    }
    return a.done && is_fine(&a.reply, again);
}

static void make_call(struct window *w, const pawl_request *call)
{
    for (int tries = 0; tries < LIVES_MAX && !w->trouble[0]; tries++)
        if (try_call(w, call, tries > 0 || w->fired || w->points >= w->plan.nth))
            return;
    if (!w->trouble[0])
        snprintf(w->trouble, sizeof(w->trouble), "call %d was never answered well", (int)call->op);
}

static size_t answered(const struct answer *a, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += a[i].done;
    return n;
}

/* Several at once; when one is not answered well, all call again. */
static bool try_calls(struct window *w, const pawl_request *calls, size_t count, bool again)
{
    static struct answer a[WINDOW_CALLS]; /* the end of a life answers, too */
    pawl_error err = {0};
    bool fine = up(w);
    int life = w->lives;
    memset(a, 0, sizeof(a));
    for (size_t i = 0; fine && i < count; i++)
        fine = pawl_client_submit(pawl_runtime_client(w->rt), &calls[i], take_answer, &a[i],
                                  &err) == PAWL_OK;
    for (int i = 0; fine && i < HOPS_MAX && !w->trouble[0] && answered(a, count) < count; i++) {
        fine = settle(w);
        if (fine && answered(a, count) < count)
            (void)hop(w); /* the store is in trouble: wait */
        fine = fine && life == w->lives;
    }
    for (size_t i = 0; fine && i < count; i++)
        fine = a[i].done && is_fine(&a[i].reply, again);
    return fine;
}

static void make_calls(struct window *w, const pawl_request *calls, size_t count)
{
    for (int tries = 0; tries < LIVES_MAX && !w->trouble[0]; tries++)
        if (try_calls(w, calls, count, tries > 0 || w->fired || w->points >= w->plan.nth))
            return;
    if (!w->trouble[0])
        snprintf(w->trouble, sizeof(w->trouble), "%zu calls were never answered well", count);
}

/* ---- What is left ---------------------------------------------------------------------- */

static void dump_execution(struct window *w, const pawl_row *row, uint64_t number)
{
    pawl_event_list list = {0};
    pawl_error err = {0};
    if (w->inner->ops->read_history(w->inner, row->uid, number, 0, 0, w->mem, &list, &err) !=
        PAWL_OK)
        buf_printf(&w->left, " unreadable: %s", err.text);
    buf_printf(&w->left, "\n  %" PRIu64 ":", number);
    for (size_t i = 0; i < list.count; i++) {
        const char *kind = pawl_event_kind_name(list.items[i].kind);
        buf_printf(&w->left, " %s", kind ? kind : "?");
        if (list.items[i].ref)
            buf_printf(&w->left, "#%" PRIu64, list.items[i].ref);
        if (list.items[i].name.len || list.items[i].data.len)
            buf_printf(&w->left, "(%.*s '%.*s')", PAWL_FMT(list.items[i].name),
                       PAWL_FMT(list.items[i].data));
        if (list.items[i].seq != i + 1)
            buf_puts(&w->left, "(gap)");
    }
}

static int by_id(const void *a, const void *b)
{
    const pawl_row *x = a, *y = b;
    size_t n = x->id.len < y->id.len ? x->id.len : y->id.len;
    int order = memcmp(x->id.ptr, y->id.ptr, n);
    return order ? order : x->id.len < y->id.len ? -1 : x->id.len > y->id.len;
}

/* What readers see of its published state. */
static void dump_state(struct window *w, const pawl_row *r)
{
    pawl_object_list list = {0};
    pawl_error err;
    pawl_str prefix = pawl_mem_printf(w->mem, "%016" PRIx64 "/", r->uid);
    (void)w->inner->ops->list_objects(w->inner, PAWL_OBJECT_STATE, prefix, (pawl_str){0}, 100,
                                      w->mem, &list, &err);
    for (size_t i = 0; i < list.count; i++)
        buf_printf(&w->left, "\n  %s = '%.*s'", list.items[i].name.ptr + prefix.len,
                   PAWL_FMT(list.items[i].data));
}

/* What lies there for it, but for what comes later. */
static void dump_mail(struct window *w, const pawl_row *r)
{
    pawl_message_list list = {0};
    pawl_error err;
    if (w->inner->ops->read_messages(w->inner, r->uid, (pawl_str){0}, w->mem, &list, &err) !=
        PAWL_OK)
        buf_printf(&w->left, " unreadable: %s", err.text);
    for (int kept = 1; kept >= 0; kept--)
        for (size_t i = 0; i < list.count; i++)
            if (list.items[i].mailbox == kept)
                buf_printf(&w->left, "\n  %s %d %.*s '%.*s'", kept ? "kept" : "mail",
                           list.items[i].kind, PAWL_FMT(list.items[i].name),
                           PAWL_FMT(list.items[i].data));
}

/* What it still asks for. */
static void dump_asks(struct window *w, const pawl_row *r)
{
    pawl_object_list list = {0};
    pawl_error err;
    pawl_str prefix = pawl_mem_printf(w->mem, "%016llx.", (unsigned long long)r->uid);
    (void)w->inner->ops->list_objects(w->inner, PAWL_OBJECT_ASK, prefix, (pawl_str){0}, 100, w->mem,
                                      &list, &err);
    if (list.count)
        buf_printf(&w->left, "\n  asks %zu", list.count);
}

/* Details of heartbeats whose call is over. */
static void dump_details(struct window *w)
{
    pawl_object_list list = {0};
    pawl_error err;
    (void)w->inner->ops->list_objects(w->inner, PAWL_OBJECT_DETAILS, (pawl_str){0}, (pawl_str){0},
                                      100, w->mem, &list, &err);
    if (list.count)
        buf_printf(&w->left, "details %zu\n", list.count);
}

static bool is_beside(const pawl_row *row)
{
    return pawl_str_eq(row->id, pawl_s("beside"));
}

static void dump(struct window *w)
{
    pawl_row_list rows = {0};
    pawl_depths d = {0};
    pawl_error err;
    (void)w->inner->ops->list(w->inner, &(pawl_row_query){.limit = 100}, w->mem, &rows, &err);
    (void)w->inner->ops->depths(w->inner, w->now, &d, &err);
    pawl_row *sorted = pawl_mem_alloc(w->mem, rows.count * sizeof(*sorted));
    for (size_t i = 0; i < rows.count; i++)
        sorted[i] = rows.items[i];
    qsort(sorted, rows.count, sizeof(*sorted), by_id);
    dump_details(w);
    for (size_t i = 0; i < rows.count; i++) {
        const pawl_row *r = &sorted[i];
        if (is_beside(r))
            continue;
        buf_printf(&w->left, "%.*s of %.*s %.*s %s '%.*s' status '%.*s' finding '%.*s'",
                   PAWL_FMT(r->id), PAWL_FMT(r->orchestration), PAWL_FMT(r->version),
                   pawl_state_name(r->state), PAWL_FMT(r->output), PAWL_FMT(r->custom_status),
                   PAWL_FMT(r->finding));
        for (uint64_t n = 1; n <= r->execution; n++)
            dump_execution(w, r, n);
        dump_state(w, r);
        dump_mail(w, r);
        dump_asks(w, r);
        buf_puts(&w->left, "\n");
    }
    buf_printf(&w->left, "messages %" PRIu64 " work %" PRIu64 " quarantine %" PRIu64 "\n",
               d.messages, d.work - w->plan.busy, d.quarantine);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static bool all_ended(struct window *w)
{
    pawl_row_list rows = {0};
    pawl_error err;
    (void)w->inner->ops->list(w->inner, &(pawl_row_query){.limit = 100}, w->mem, &rows, &err);
    for (size_t i = 0; i < rows.count; i++)
        if (!pawl_state_is_terminal(rows.items[i].state) && !is_beside(&rows.items[i]))
            return false;
    return rows.count > w->plan.busy;
}

static int delete_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* Somebody else's activity runs from now on; its work has the number of its event. */
static void begin_beside(struct window *w)
{
    pawl_request start = {
        .size = sizeof(start),
        .op = PAWL_OP_START,
        .instance = "beside",
        .name = "Beside",
        .data = {"x", 1}
    };
    pawl_row row;
    pawl_error err;
    make_call(w, &start);
    if (w->inner->ops->find(w->inner, pawl_s("beside"), w->mem, &row, &err) == PAWL_OK)
        w->beside = row.last_rid;
    else
        snprintf(w->trouble, sizeof(w->trouble), "nobody is beside it: %.200s", err.text);
}

static void until_all_ended(struct window *w)
{
    for (int i = 0; i < HOPS_MAX && !w->trouble[0]; i++) {
        if (!up(w) || !settle(w))
            continue;
        if (all_ended(w))
            break;
        (void)hop(w);
    }
}

static void drive(struct window *w)
{
    if (w->plan.busy)
        begin_beside(w);
    bool together = w->flow->ends_after == TOGETHER;
    int count = 0;
    while (count < WINDOW_CALLS && w->flow->calls[count].size)
        count++;
    for (int i = 0; i < (together ? 1 : count) && !w->trouble[0]; i++) {
        make_call(w, &w->flow->calls[i]);
        if (w->flow->ends_after == i + 1)
            until_all_ended(w);
    }
    if (together && !w->trouble[0])
        make_calls(w, &w->flow->calls[1], (size_t)count - 1);
    if (w->flow->ends_after != STAYS)
        until_all_ended(w);
    for (int i = 0; i < 40 && !w->trouble[0]; i++) /* what is late is dropped */
        (void)hop(w);
}

void window_drive(struct window *w, const struct flow *flow, enum window_store kind,
                  struct plan plan)
{
    *w = (struct window){.flow = flow, .kind = kind, .plan = plan, .now = 1700000000000};
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    buf_init(&w->left, 1 << 20);
    snprintf(w->dir, sizeof(w->dir), "%s/pawl-window-XXXXXX", base);
    if (kind != WINDOW_MEMORY && !mkdtemp(w->dir))
        abort();
    w->mem = pawl_mem_new();
    w->app = pawl_app_new();
    flows_register(w->app);
    current = w;
    point_hook = kind == WINDOW_JSONL ? at_point : NULL;
    drive(w);
    if (w->inner && !w->trouble[0])
        dump(w);
    point_hook = NULL;
    if (w->rt)
        runtime_discard(w->rt);
    w->rt = NULL;
    if (w->store)
        w->store->ops->close(w->store);
    else if (w->inner)
        w->inner->ops->close(w->inner);
    pawl_app_free(w->app);
    pawl_mem_free(w->mem);
    if (kind != WINDOW_MEMORY)
        (void)nftw(w->dir, delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

void window_forget(struct window *w)
{
    buf_deinit(&w->left);
}
