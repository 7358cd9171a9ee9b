/* SPDX-License-Identifier: MIT */
/* tests/conformance/stumble.c -- see the header. */
#include "stumble.h"

#include <dlfcn.h>
#include <sqlite3.h>
#include <string.h>

static struct {
    const pawl_store_ops *real;
    pawl_store_ops ops;
    pawl_queue_ops queue_ops;
    pawl_conformance_factory sqlite;
    uint64_t random, count;
    int well; /* so many more go well, then one does not; -1: all do */
    bool fell;
} t = {.random = 88172645463325252u, .well = -1};

static uint64_t draw(uint64_t below)
{
    t.random ^= t.random << 13;
    t.random ^= t.random >> 7;
    t.random ^= t.random << 17;
    return (t.random >> 11) % below;
}

/* ---- In front of SQLite ----------------------------------------------------------- */

static bool falls(void)
{
    if (t.well < 0 || t.well-- > 0)
        return false;
    t.fell = true;
    t.count++;
    return true;
}

/* A rollback needs nobody, and the store relies on that.  A commit that could not even be prepared
 * is taken for one whose outcome is not known, which is not asked here. */
int sqlite3_step(sqlite3_stmt *stmt)
{
    static int (*real)(sqlite3_stmt *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sqlite3_step");
    const char *text = t.well < 0 ? NULL : sqlite3_sql(stmt);
    bool back = text && strncmp(text, "ROLLBACK", 8) == 0;
    return t.well >= 0 && !back && falls() ? SQLITE_BUSY : real(stmt);
}

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **ret,
                       const char **rest)
{
    static int (*real)(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
    bool whole = strncmp(sql, "COMMIT", 6) != 0 && strncmp(sql, "ROLLBACK", 8) != 0;
    return whole && falls() ? real(db, "no statement", -1, 0, ret, NULL)
                            : real(db, sql, bytes, flags, ret, rest);
}

/* ---- In front of the store ---------------------------------------------------------- */

static void arm(bool again)
{
    t.fell = false;
    t.well = again || draw(3) == 0 ? -1 : (int)draw(draw(8) ? 9 : 80);
}

/* Did it stumble, and say so?  Then it did nothing. */
static bool said_so(pawl_status rc)
{
    t.well = -1;
    return t.fell && (rc == PAWL_BUSY || rc == PAWL_CORRUPT);
}

#define TWICE(call)                                                                                \
    bool again = false;                                                                            \
    pawl_status rc;                                                                                \
    do {                                                                                           \
        arm(again);                                                                                \
        rc = (call);                                                                               \
        again = said_so(rc);                                                                       \
    } while (again);                                                                               \
    return rc

#define OP(name, names, ...)                                                                       \
    static pawl_status do_##name(pawl_store *s, __VA_ARGS__)                                       \
    {                                                                                              \
        TWICE(t.real->name names);                                                                 \
    }
#define QUEUE_OP(name, names, ...)                                                                 \
    static pawl_status do_##name(pawl_store *s, __VA_ARGS__)                                       \
    {                                                                                              \
        TWICE(t.real->queues->name names);                                                         \
    }

/* clang-format off */
#define OPS(X)                                                                                     \
    X(take, (s, now, ret, e), int64_t now, pawl_fence *ret, pawl_error *e)                         \
    X(commit, (s, f, r, n, now, e), pawl_fence *f, pawl_round *r, size_t n, int64_t now,           \
      pawl_error *e)                                                                               \
    X(fetch_messages, (s, now, n, m, ret, e), int64_t now, uint32_t n, pawl_mem *m,                \
      pawl_message_list *ret, pawl_error *e)                                                       \
    X(fetch_work, (s, now, names, k, n, m, ret, e), int64_t now, const pawl_str *names, size_t k,  \
      uint32_t n, pawl_mem *m, pawl_work_list *ret, pawl_error *e)                                 \
    X(fetch_deadlines, (s, now, n, m, ret, e), int64_t now, uint32_t n, pawl_mem *m,               \
      pawl_work_list *ret, pawl_error *e)                                                          \
    X(next_due, (s, now, ret, e), int64_t now, int64_t *ret, pawl_error *e)                        \
    X(find, (s, id, m, ret, e), pawl_str id, pawl_mem *m, pawl_row *ret, pawl_error *e)            \
    X(find_uid, (s, uid, m, ret, e), uint64_t uid, pawl_mem *m, pawl_row *ret, pawl_error *e)      \
    X(find_execution, (s, uid, x, m, ret, e), uint64_t uid, uint64_t x, pawl_mem *m,               \
      pawl_row *ret, pawl_error *e)                                                                \
    X(read_history, (s, uid, x, after, n, m, ret, e), uint64_t uid, uint64_t x, uint64_t after,    \
      uint32_t n, pawl_mem *m, pawl_event_list *ret, pawl_error *e)                                \
    X(read_event, (s, rid, m, ret, e), uint64_t rid, pawl_mem *m, pawl_event *ret, pawl_error *e)  \
    X(read_messages, (s, uid, id, m, ret, e), uint64_t uid, pawl_str id, pawl_mem *m,              \
      pawl_message_list *ret, pawl_error *e)                                                       \
    X(read_work, (s, ids, n, m, ret, e), const uint64_t *ids, size_t n, pawl_mem *m,               \
      pawl_work_list *ret, pawl_error *e)                                                          \
    X(has_key, (s, uid, key, e), uint64_t uid, pawl_str key, pawl_error *e)                        \
    X(list, (s, q, m, ret, e), const pawl_row_query *q, pawl_mem *m, pawl_row_list *ret,           \
      pawl_error *e)                                                                               \
    X(depths, (s, now, ret, e), int64_t now, pawl_depths *ret, pawl_error *e)                      \
    X(read_quarantine, (s, n, m, ret, e), uint32_t n, pawl_mem *m, pawl_message_list *ret,         \
      pawl_error *e)                                                                               \
    X(purge, (s, f, n, left, e), pawl_fence *f, uint32_t n, bool *left, pawl_error *e)             \
    X(prune_executions, (s, f, uid, x, ret, e), pawl_fence *f, uint64_t uid, uint64_t x,           \
      uint64_t *ret, pawl_error *e)                                                                \
    X(read_object, (s, kind, name, m, ret, e), int kind, pawl_str name, pawl_mem *m,               \
      pawl_object *ret, pawl_error *e)                                                             \
    X(list_objects, (s, kind, prefix, after, n, m, ret, e), int kind, pawl_str prefix,             \
      pawl_str after, uint32_t n, pawl_mem *m, pawl_object_list *ret, pawl_error *e)               \
    X(search, (s, q, m, ret, e), const pawl_search *q, pawl_mem *m, pawl_found *ret, pawl_error *e)

#define QUEUE_OPS(X)                                                                               \
    X(find_queue, (s, name, m, ret, e), pawl_str name, pawl_mem *m, pawl_queue_row *ret,           \
      pawl_error *e)                                                                               \
    X(list_queues, (s, prefix, after, n, m, ret, e), pawl_str prefix, pawl_str after, uint32_t n,  \
      pawl_mem *m, pawl_queue_row_list *ret, pawl_error *e)                                        \
    X(due_queues, (s, now, n, m, ret, e), int64_t now, uint32_t n, pawl_mem *m,                    \
      pawl_queue_row_list *ret, pawl_error *e)                                                     \
    X(query_entries, (s, q, m, ret, e), const pawl_entry_query *q, pawl_mem *m,                    \
      pawl_entry_list *ret, pawl_error *e)                                                         \
    X(read_entries, (s, ids, n, heads, m, ret, e), const uint64_t *ids, size_t n, bool heads,      \
      pawl_mem *m, pawl_entry_list *ret, pawl_error *e)                                            \
    X(read_locks, (s, qid, n, m, ret, e), uint64_t qid, uint32_t n, pawl_mem *m,                   \
      pawl_lock_list *ret, pawl_error *e)                                                          \
    X(has_past, (s, qid, id, e), uint64_t qid, pawl_str id, pawl_error *e)                         \
    X(find_key, (s, qid, key, ret, e), uint64_t qid, pawl_str key, pawl_queue_key *ret,            \
      pawl_error *e)                                                                               \
    X(levels, (s, qid, n, m, ret, e), uint64_t qid, uint32_t n, pawl_mem *m, pawl_level_list *ret, \
      pawl_error *e)                                                                               \
    X(find_keys, (s, qid, keys, n, ret, e), uint64_t qid, const pawl_str *keys, size_t n,          \
      pawl_queue_key *ret, pawl_error *e)
/* clang-format on */

OPS(OP)
QUEUE_OPS(QUEUE_OP)

static pawl_store *put_over(pawl_store *s)
{
    if (!s)
        return NULL;
    t.real = s->ops;
    t.ops = *s->ops;
    t.queue_ops = *s->ops->queues;
#define PUT(name, ...)       t.ops.name = t.real->name ? do_##name : NULL;
#define PUT_QUEUE(name, ...) t.queue_ops.name = t.real->queues->name ? do_##name : NULL;
    OPS(PUT)
    QUEUE_OPS(PUT_QUEUE)
    t.ops.queues = &t.queue_ops;
    s->ops = &t.ops;
    return s;
}

static pawl_store *open_it(void *user, pawl_error *reterr)
{
    return put_over(t.sqlite.open(user, reterr));
}

static pawl_store *reopen_it(void *user, pawl_store *s, pawl_error *reterr)
{
    return put_over(t.sqlite.reopen(user, s, reterr));
}

pawl_conformance_factory stumbling(const pawl_conformance_factory *sqlite)
{
    t.sqlite = *sqlite;
    pawl_conformance_factory f = *sqlite;
    f.name = "stumbling";
    f.open = open_it;
    f.reopen = reopen_it;
    return f;
}

uint64_t stumble_count(void)
{
    return t.count;
}
