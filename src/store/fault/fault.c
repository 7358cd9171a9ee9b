/* SPDX-License-Identifier: MIT */
/*
 * store/fault/fault.c -- see the header.
 *
 * The operations of lanes are in fault_shared.c.
 */
#include "store/fault/fault.h"

#include "base/attr.h"
#include "base/limits.h"
#include "store/fault/fault_private.h"
#include "store/forward.h"
#include "store/store_shared.h"

#include <stdlib.h>

static const char *const op_names[] = {
#define FAULT_OP_NAME(name) #name,
    FAULT_OPS(FAULT_OP_NAME)
#undef FAULT_OP_NAME
};

const char *fault_op_name(enum fault_op op)
{
    assert_that(op < FAULT_OP_COUNT);
    return op_names[op];
}

struct fault faulty_ask(pawl_store *s, enum fault_op op)
{
    struct fault_store *f = faulty_self(s);
    uint64_t call = atomic_fetch_add(&f->calls[op], 1) + 1;
    return f->decide ? f->decide(f->user, op, call) : (struct fault){.kind = FAULT_NONE};
}

pawl_status faulty_report(pawl_store *s, struct fault fault, enum fault_op op, pawl_status status,
                          pawl_error *reterr)
{
    if (faulty_self(s)->done)
        faulty_self(s)->done(faulty_self(s)->user);
    if (fault.kind == FAULT_NONE)
        return status;
    error_set(reterr, fault.status, "%s: injected %s it was done", op_names[op],
              fault.kind == FAULT_BEFORE ? "before" : "after");
    return fault.status;
}

const pawl_store *faulty_inner_engine(pawl_store *s)
{
    return store_engine_set(store_engine_is(s) ? faulty_self(s)->inner : NULL);
}

static void fault_caps(pawl_store *s, pawl_store_caps *ret)
{
    faulty_self(s)->inner->ops->caps(faulty_self(s)->inner, ret);
}

static pawl_status fault_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr)
{
    FAULTY(take, now_ms, ret, reterr);
}

static pawl_status fault_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                                int64_t now_ms, pawl_error *reterr)
{
    FAULTY_FENCE(ops, commit, commit, rounds, count, now_ms, reterr);
}

static pawl_status fault_outcome(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                                 int64_t now_ms, bool *retcommitted, pawl_error *reterr)
{
    struct fault fault = faulty_ask(s, FAULT_OP_outcome);
    pawl_status status = PAWL_OK;
    if (fault.kind == FAULT_NONE)
        status = store_outcome(faulty_self(s)->inner, fence, rounds, count, now_ms, retcommitted,
                               reterr);
    return faulty_report(s, fault, FAULT_OP_outcome, status, reterr);
}

static pawl_status fault_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit,
                                        pawl_mem *mem, pawl_message_list *ret, pawl_error *reterr)
{
    FAULTY(fetch_messages, now_ms, limit, mem, ret, reterr);
}

static pawl_status fault_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                                    size_t name_count, uint32_t limit, pawl_mem *mem,
                                    pawl_work_list *ret, pawl_error *reterr)
{
    FAULTY(fetch_work, now_ms, names, name_count, limit, mem, ret, reterr);
}

static pawl_status fault_list_work_names(pawl_store *s, pawl_str after, uint32_t limit,
                                         pawl_mem *mem, pawl_text_list *ret, pawl_error *reterr)
{
    FAULTY(list_work_names, after, limit, mem, ret, reterr);
}

static pawl_status fault_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms,
                                         uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                                         pawl_error *reterr)
{
    FAULTY(read_named_work, name, now_ms, limit, mem, ret, reterr);
}

#define ARGS(...) __VA_ARGS__
#define FORWARD(op, parameters, arguments)                                                         \
    static pawl_status fault_##op(pawl_store *s, ARGS parameters)                                  \
    {                                                                                              \
        FAULTY(op, ARGS arguments);                                                                \
    }
STORE_FORWARDED(FORWARD)

static void fault_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count)
{
    faulty_self(s)->inner->ops->abandon_messages(faulty_self(s)->inner, ids, count);
}

static void fault_abandon_work(pawl_store *s, const uint64_t *ids, size_t count)
{
    faulty_self(s)->inner->ops->abandon_work(faulty_self(s)->inner, ids, count);
}

static pawl_status fault_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                               pawl_error *reterr)
{
    FAULTY_FENCE(ops, purge, purge, limit, retleft, reterr);
}

static pawl_status fault_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                          uint64_t before_execution, uint64_t *retcount,
                                          pawl_error *reterr)
{
    FAULTY_FENCE(ops, prune_executions, prune_executions, uid, before_execution, retcount, reterr);
}

static pawl_status fault_space(pawl_store *s)
{
    struct fault fault = faulty_ask(s, FAULT_OP_space);
    pawl_status status = faulty_self(s)->inner->ops->space(faulty_self(s)->inner);
    return faulty_report(s, fault, FAULT_OP_space, status, NULL);
}

static void fault_close(pawl_store *s)
{
    pawl_store *inner = fault_store_release(s);
    inner->ops->close(inner);
}

/* ---- Queues ----------------------------------------------------------------- */

#define FAULTY_QUEUE(op, ...)                                                                      \
    struct fault fault = faulty_ask(s, FAULT_OP_queue_read);                                       \
    pawl_status status = PAWL_OK;                                                                  \
    if (fault.kind != FAULT_BEFORE)                                                                \
        status = faulty_self(s)->inner->ops->queues->op(faulty_self(s)->inner, __VA_ARGS__);       \
    return faulty_report(s, fault, FAULT_OP_queue_read, status, reterr)

static pawl_status fault_find_queue(pawl_store *s, pawl_str name, pawl_mem *mem,
                                    pawl_queue_row *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(find_queue, name, mem, ret, reterr);
}

static pawl_status fault_list_queues(pawl_store *s, pawl_str prefix, pawl_str after, uint32_t limit,
                                     pawl_mem *mem, pawl_queue_row_list *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(list_queues, prefix, after, limit, mem, ret, reterr);
}

static pawl_status fault_due_queues(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                    pawl_queue_row_list *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(due_queues, now_ms, limit, mem, ret, reterr);
}

static pawl_status fault_query_entries(pawl_store *s, const pawl_entry_query *query, pawl_mem *mem,
                                       pawl_entry_list *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(query_entries, query, mem, ret, reterr);
}

static pawl_status fault_read_entries(pawl_store *s, const uint64_t *ids, size_t count, bool heads,
                                      pawl_mem *mem, pawl_entry_list *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(read_entries, ids, count, heads, mem, ret, reterr);
}

static pawl_status fault_read_locks(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                                    pawl_lock_list *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(read_locks, qid, limit, mem, ret, reterr);
}

static pawl_status fault_has_past(pawl_store *s, uint64_t qid, pawl_str id, pawl_error *reterr)
{
    FAULTY_QUEUE(has_past, qid, id, reterr);
}

static pawl_status fault_find_key(pawl_store *s, uint64_t qid, pawl_str key, pawl_queue_key *ret,
                                  pawl_error *reterr)
{
    FAULTY_QUEUE(find_key, qid, key, ret, reterr);
}

static pawl_status fault_levels(pawl_store *s, uint64_t qid, uint32_t limit, pawl_mem *mem,
                                pawl_level_list *ret, pawl_error *reterr)
{
    FAULTY_QUEUE(levels, qid, limit, mem, ret, reterr);
}

static const pawl_queue_ops fault_queue_ops = {
    .size = sizeof(pawl_queue_ops),
    .find_queue = fault_find_queue,
    .list_queues = fault_list_queues,
    .due_queues = fault_due_queues,
    .query_entries = fault_query_entries,
    .read_entries = fault_read_entries,
    .read_locks = fault_read_locks,
    .has_past = fault_has_past,
    .find_key = fault_find_key,
    .levels = fault_levels,
};

static void fault_figures(pawl_store *s, pawl_store_figures *ret)
{
    store_figures(((struct fault_store *)s)->inner, ret);
}

static pawl_status fault_load_histories(pawl_store *s, pawl_wanted_history *wanted, size_t count,
                                        size_t max_bytes, pawl_mem *mem, pawl_error *reterr)
{
    FAULTY(load_histories, wanted, count, max_bytes, mem, reterr);
}

/* clang-format off */
#define FAULT_TABLE                                                                     \
    .size = sizeof(pawl_store_ops),                                                     \
    .abi = PAWL_STORE_ABI,                                                              \
    .name = "fault",                                                                    \
    .caps = fault_caps,                                                                 \
    .take = fault_take,                                                                 \
    .commit = fault_commit,                                                             \
    .outcome = fault_outcome,                                                           \
    .fetch_messages = fault_fetch_messages,                                             \
    .fetch_work = fault_fetch_work,                                                     \
    .list_work_names = fault_list_work_names,                                                     \
    .read_named_work = fault_read_named_work,                                                       \
    .fetch_deadlines = fault_fetch_deadlines,                                           \
    .abandon_messages = fault_abandon_messages,                                         \
    .abandon_work = fault_abandon_work,                                                 \
    .next_due = fault_next_due,                                                         \
    .find = fault_find,                                                                 \
    .find_uid = fault_find_uid,                                                         \
    .find_execution = fault_find_execution,                                             \
    .read_history = fault_read_history,                                                 \
    .read_event = fault_read_event,                                                     \
    .read_messages = fault_read_messages,                                               \
    .read_work = fault_read_work,                                                       \
    .has_key = fault_has_key,                                                           \
    .list = fault_list,                                                                 \
    .depths = fault_depths,                                                             \
    .read_quarantine = fault_read_quarantine,                                           \
    .purge = fault_purge,                                                               \
    .prune_executions = fault_prune_executions,                                         \
    .figures = fault_figures,                                                           \
    .space = fault_space,                                                               \
    .close = fault_close,                                                               \
    .queues = &fault_queue_ops,                                                         \
    .read_object = fault_read_object,                                                   \
    .list_objects = fault_list_objects,
/* clang-format on */

static const pawl_store_ops fault_ops = {FAULT_TABLE};

static bool is_faulty(const pawl_store *s)
{
    return s->ops->close == fault_close;
}

pawl_store *fault_store(pawl_store *inner, fault_decide_fn *decide, void *user)
{
    struct fault_store *f = calloc(1, sizeof(*f));
    assert_that(f != NULL);
    f->ops = fault_ops;
    if (!store_has_work_names(inner)) {
        f->ops.list_work_names = NULL;
        f->ops.read_named_work = NULL;
    }
    if (store_is_shared(inner))
        f->ops.shared = store_has_nodes(inner) ? &fault_shared_ops : &fault_lane_ops;
    f->base.ops = &f->ops;
    f->inner = inner;
    f->decide = decide;
    f->user = user;
    return &f->base;
}

void fault_store_far(pawl_store *s)
{
    assert_that(store_has_load_histories(faulty_self(s)->inner));
    faulty_self(s)->ops.load_histories = fault_load_histories;
}

void fault_store_on_done(pawl_store *s, void (*done)(void *user))
{
    faulty_self(s)->done = done;
}

pawl_store *fault_store_release(pawl_store *s)
{
    assert_that(is_faulty(s));
    pawl_store *inner = faulty_self(s)->inner;
    free(s);
    return inner;
}

uint64_t fault_store_calls(pawl_store *s, enum fault_op op)
{
    assert_that(is_faulty(s) && op < FAULT_OP_COUNT);
    return atomic_load(&faulty_self(s)->calls[op]);
}
