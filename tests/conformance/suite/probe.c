/* SPDX-License-Identifier: MIT */
/* suite/probe.c -- checks, and questions to the store answered as texts. */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void probe_fail(struct probe *t, const char *file, int line, const char *format, ...)
{
    const char *name = strrchr(file, '/');
    int n = snprintf(t->failure, sizeof(t->failure), "%s:%d: ", name ? name + 1 : file, line);
    va_list args;
    va_start(args, format);
    vsnprintf(t->failure + n, sizeof(t->failure) - (size_t)n, format, args);
    va_end(args);
    longjmp(t->out, 1);
}

void probe_skip(struct probe *t)
{
    t->skipped = true;
    longjmp(t->out, 1);
}

void probe_text(struct probe *t, const char *file, int line, const char *got, const char *want)
{
    if (strcmp(got, want) != 0)
        probe_fail(t, file, line, "got \"%.300s\", want \"%.300s\"", got, want);
}

void probe_status(struct probe *t, const char *file, int line, const char *what, int got, int want)
{
    if (got != want)
        probe_fail(t, file, line, "%s gave %s, want %s", what, pawl_status_code(got),
                   pawl_status_code(want));
}

/* For operations that must not fail in the test at hand. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        pawl_error err_ = {0};                                                                     \
        pawl_error *reterr = &err_;                                                                \
        pawl_status st_ = (call);                                                                  \
        if (st_ != PAWL_OK)                                                                        \
            probe_fail(t, __FILE__, __LINE__, "%s gave %s: %s", #call, pawl_status_code(st_),      \
                       err_.text);                                                                 \
    } while (0)

void take(struct probe *t)
{
    MUST(t->store->ops->take(t->store, t->now, &t->fence, reterr));
}

void die(struct probe *t)
{
    pawl_error err = {0};
    CHECK(t->store == t->first);
    t->store = t->first = t->factory->reopen(t->factory->user, t->store, &err);
    if (!t->store)
        probe_fail(t, __FILE__, __LINE__, "reopen failed: %s", err.text);
}

/* ---- Several lanes -------------------------------------------------------- */

void needs_lanes(struct probe *t)
{
    if (!caps_of(t).shared)
        probe_skip(t);
}

const pawl_shared_ops *shared(struct probe *t)
{
    return t->store->ops->shared;
}

void needs_nodes(struct probe *t)
{
    needs_lanes(t);
    const pawl_shared_ops *ops = shared(t);
    if (ops->size < offsetof(pawl_shared_ops, nodes) + sizeof(ops->nodes) || !ops->nodes)
        probe_skip(t);
}

void pass(struct probe *t, int64_t ms)
{
    const pawl_store_ops *ops = t->store->ops;
    tick(t, ms);
    if (ops->size >= offsetof(pawl_store_ops, clock) + sizeof(ops->clock) && ops->clock)
        (void)nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

struct side another(struct probe *t)
{
    pawl_error err = {0};
    needs_lanes(t);
    for (int i = 0; i < SIDES_MAX; i++) {
        if (t->sides[i])
            continue;
        t->sides[i] = shared(t)->another(t->store, &err);
        if (!t->sides[i])
            probe_fail(t, __FILE__, __LINE__, "there is no further handle: %s", err.text);
        return (struct side){.store = t->sides[i]};
    }
    probe_fail(t, __FILE__, __LINE__, "too many handles");
}

struct side beside(struct probe *t)
{
    struct side b = another(t);
    MUST(shared(t)->join(b.store, 0, t->now, &b.fence, reterr));
    return b;
}

void speak_for(struct probe *t, struct side *other)
{
    struct side own = {t->store, t->fence};
    t->store = other->store;
    t->fence = other->fence;
    *other = own;
}

void side_close(struct probe *t, struct side *side)
{
    for (int i = 0; i < SIDES_MAX; i++)
        if (t->sides[i] == side->store)
            t->sides[i] = NULL;
    side->store->ops->close(side->store);
    side->store = NULL;
}

void sides_close(struct probe *t)
{
    for (int i = 0; i < SIDES_MAX; i++)
        if (t->sides[i])
            t->sides[i]->ops->close(t->sides[i]);
}

void adopt(struct probe *t)
{
    MUST(shared(t)->adopt(t->store, &t->fence, reterr));
}

void claim(struct probe *t, uint64_t shards)
{
    MUST(shared(t)->claim(t->store, &t->fence, shards, reterr));
    adopt(t);
}

void hand_over(struct probe *t, struct side *heir, uint64_t shards)
{
    MUST(shared(t)->give(t->store, &t->fence, shards, heir->fence.epoch, reterr));
    speak_for(t, heir);
    adopt(t);
    speak_for(t, heir);
}

void bury(struct probe *t, uint64_t epoch)
{
    MUST(shared(t)->bury(t->store, epoch, t->now, reterr));
}

void hint(struct probe *t, uint64_t shards)
{
    shared(t)->hint(t->store, shards);
}

pawl_lane_view lanes(struct probe *t)
{
    pawl_lane_view view = {.size = sizeof(view)};
    MUST(shared(t)->view(t->store, t->mem, &view, reterr));
    return view;
}

static pawl_str digits_of(struct probe *t, pawl_str text, uint64_t shards)
{
    text = pawl_mem_printf(t->mem, "%.*s%s%s", PAWL_FMT(text), text.len ? " " : "",
                           shards & 0xff ? "" : "-");
    for (int i = 0; i < 8; i++)
        if (shards >> i & 1)
            text = pawl_mem_printf(t->mem, "%.*s%d", PAWL_FMT(text), i);
    return text;
}

const char *owners(struct probe *t)
{
    pawl_lane_view view = lanes(t);
    pawl_str text = {0};
    for (size_t i = 0; i < view.lane_count; i++)
        text = digits_of(t, text, view.lanes[i].shards);
    return digits_of(t, text, view.free).ptr;
}

/* ---- The store as a whole -------------------------------------------------- */

pawl_store_caps caps_of(struct probe *t)
{
    pawl_store_caps caps = {.size = sizeof(caps)};
    t->store->ops->caps(t->store, &caps);
    return caps;
}

void needs_delays(struct probe *t)
{
    if (!caps_of(t).delayed_visibility)
        probe_skip(t);
}

void needs_rounds(struct probe *t)
{
    if (!caps_of(t).atomic_rounds)
        probe_skip(t);
}

void tick(struct probe *t, int64_t ms)
{
    t->now += ms;
}

uint64_t new_id(struct probe *t)
{
    return t->fence.next_id++;
}

/* A text that grows by words, in the probe's memory. */
struct words {
    pawl_str *items;
    size_t count;
};

static const char *joined(struct probe *t, struct words words)
{
    size_t len = 1;
    for (size_t i = 0; i < words.count; i++)
        len += words.items[i].len + 1;
    char *text = pawl_mem_alloc(t->mem, len), *at = text;
    for (size_t i = 0; i < words.count; i++) {
        if (i > 0)
            *at++ = ' ';
        if (words.items[i].len > 0)
            memcpy(at, words.items[i].ptr, words.items[i].len);
        at += words.items[i].len;
    }
    return text;
}

#define JOIN(list, field)                                                                          \
    do {                                                                                           \
        struct words words_ = {pawl_mem_alloc(t->mem, (list).count * sizeof(pawl_str)),            \
                               (list).count};                                                      \
        for (size_t i = 0; i < (list).count; i++)                                                  \
            words_.items[i] = (list).items[i].field;                                               \
        return joined(t, words_);                                                                  \
    } while (0)

const char *fetch(struct probe *t, uint32_t limit)
{
    pawl_message_list list = {0};
    MUST(t->store->ops->fetch_messages(t->store, t->now, limit, t->mem, &list, reterr));
    JOIN(list, data);
}

const char *fetch_jobs(struct probe *t, uint32_t limit)
{
    pawl_work_list list = {0};
    MUST(t->store->ops->fetch_work(t->store, t->now, NULL, 0, limit, t->mem, &list, reterr));
    JOIN(list, name);
}

const char *fetch_named(struct probe *t, const char *name, uint32_t limit)
{
    pawl_work_list list = {0};
    pawl_str names[] = {pawl_s("no-such-activity"), pawl_s(name)};
    MUST(t->store->ops->fetch_work(t->store, t->now, names, 2, limit, t->mem, &list, reterr));
    JOIN(list, name);
}

const char *overdue(struct probe *t, uint32_t limit)
{
    pawl_work_list list = {0};
    MUST(t->store->ops->fetch_deadlines(t->store, t->now, limit, t->mem, &list, reterr));
    JOIN(list, name);
}

int64_t next_due(struct probe *t, int64_t after_ms)
{
    int64_t due = 0;
    MUST(t->store->ops->next_due(t->store, after_ms, &due, reterr));
    return due;
}

const char *history(struct probe *t, uint64_t uid, uint64_t execution)
{
    pawl_event_list list = {0};
    MUST(t->store->ops->read_history(t->store, uid, execution, 0, 0, t->mem, &list, reterr));
    for (size_t i = 0; i < list.count; i++) {
        CHECK_NUMBER(list.items[i].seq, i + 1);
        CHECK_NUMBER(list.items[i].execution, execution);
    }
    JOIN(list, data);
}

const char *mailbox(struct probe *t, uint64_t uid, const char *instance)
{
    pawl_message_list list = {0};
    MUST(t->store->ops->read_messages(t->store, uid, pawl_s(instance), t->mem, &list, reterr));
    JOIN(list, data);
}

const char *listed(struct probe *t, pawl_row_query q)
{
    pawl_row *rows = pawl_mem_alloc(t->mem, 20000 * sizeof(*rows));
    pawl_row_list all = {.items = rows};
    do {
        pawl_row_list page = {0};
        MUST(t->store->ops->list(t->store, &q, t->mem, &page, reterr));
        CHECK(page.count <= q.limit && all.count + page.count <= 20000);
        CHECK(page.next_uid == 0 || q.before_uid == 0 || page.next_uid < q.before_uid);
        for (size_t i = 0; i < page.count; i++) {
            CHECK(all.count == 0 || page.items[i].uid < rows[all.count - 1].uid);
            rows[all.count++] = page.items[i];
        }
        q.before_uid = page.next_uid;
    } while (q.before_uid != 0);
    JOIN(all, id);
}

const char *quarantined(struct probe *t, uint32_t limit)
{
    pawl_message_list list = {0};
    MUST(t->store->ops->read_quarantine(t->store, limit, t->mem, &list, reterr));
    JOIN(list, data);
}

pawl_depths depths(struct probe *t)
{
    pawl_depths d = {0};
    MUST(t->store->ops->depths(t->store, t->now, &d, reterr));
    return d;
}

static pawl_row row_or_none(struct probe *t, pawl_status status, pawl_row row)
{
    if (status == PAWL_OK)
        return row;
    CHECK_STATUS(status, PAWL_NOT_FOUND);
    return (pawl_row){0};
}

pawl_row find(struct probe *t, const char *id)
{
    pawl_row row = {0};
    pawl_error err = {0};
    pawl_status status = t->store->ops->find(t->store, pawl_s(id), t->mem, &row, &err);
    return row_or_none(t, status, row);
}

pawl_row find_execution(struct probe *t, uint64_t uid, uint64_t execution)
{
    pawl_row row = {0};
    pawl_error err = {0};
    pawl_status status =
        t->store->ops->find_execution(t->store, uid, execution, t->mem, &row, &err);
    return row_or_none(t, status, row);
}

pawl_message message(struct probe *t, uint64_t uid, uint64_t id)
{
    pawl_message_list list = {0};
    MUST(t->store->ops->read_messages(t->store, uid, pawl_s(NULL), t->mem, &list, reterr));
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].id == id)
            return list.items[i];
    }
    return (pawl_message){0};
}

pawl_work work(struct probe *t, uint64_t id)
{
    pawl_work_list list = {0};
    MUST(t->store->ops->read_work(t->store, &id, 1, t->mem, &list, reterr));
    return list.count > 0 ? list.items[0] : (pawl_work){0};
}
