/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/purge.c -- deleting what was removed, a few rows a commit.
 *
 * Removing an instance or pruning executions leaves a row in `tomb`; readers see
 * nothing of them from then on.  Purge follows the chain of the tomb's history
 * backwards.  The work and the timer of an event have its rid as their id, so
 * they are found on the way, without an index by instance on the hot path.
 *
 *     tomb --chain of events--> (whole instance: next closed execution, again)
 *          --> marks --> messages --> keys --> tomb deleted
 *
 * A dropped queue leaves one too, with its qid and the execution -1:
 *
 *     tomb --> entries that are not locked --> lock by lock what it holds --> past locks --> keys
 */
#include "base/attr.h"
#include "base/limits.h"
#include "store/sqlite/sqlite.h"

#define OF_A_QUEUE ((uint64_t)-1)

struct tomb {
    struct conn *c;
    uint64_t n;
    uint64_t uid;
    uint64_t execution; /* 0: the whole instance; OF_A_QUEUE: uid is a qid */
    uint64_t last_rid;
    uint32_t left; /* rows that may still go in this commit */
};

/* Run a statement with up to three numbers. */
static int run(struct conn *c, int which, uint64_t a, uint64_t b, uint64_t d)
{
    sqlite3_stmt *stmt = conn_statement(c, which);
    uint64_t values[] = {a, b, d};

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    for (int i = 0; i < 3 && i < sqlite3_bind_parameter_count(stmt); i++)
        bind_id(stmt, i + 1, values[i]);
    return conn_run(c, which);
}

/* One row, two numbers: SQLITE_ROW or SQLITE_DONE. */
static int look(struct conn *c, int which, uint64_t key, uint64_t *reta, uint64_t *retb)
{
    sqlite3_stmt *stmt = conn_statement(c, which);

    if (!stmt)
        return sqlite3_extended_errcode(c->db);
    bind_id(stmt, 1, key);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *reta = column_id(stmt, 0);
        *retb = column_id(stmt, 1);
    }
    (void)sqlite3_reset(stmt);
    return rc;
}

/* Count what the last delete took. */
static int spend(struct tomb *t, int rc)
{
    if (rc != SQLITE_OK)
        return rc;
    uint32_t gone = (uint32_t)sqlite3_changes(t->c->db);
    t->left -= gone < t->left ? gone : t->left;
    return SQLITE_OK;
}

/* Delete the chain from its end: each event after the work and the timer it
 * started.  A row that is not ours ends the chain (P2). */
static int purge_chain(struct tomb *t)
{
    static const int started[] = {ST_WORK_DELETE_OF, ST_LOCAL_DELETE, ST_FRESH_DELETE,
                                  ST_MESSAGE_DELETE_OF};
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && t->last_rid && t->left) {
        uint64_t prev = 0, uid = 0;
        rc = look(t->c, ST_CHAIN_HOP, t->last_rid, &prev, &uid);
        if (rc == SQLITE_DONE || (rc == SQLITE_ROW && uid != t->uid)) {
            t->last_rid = 0;
            return SQLITE_OK;
        }
        rc = rc == SQLITE_ROW ? SQLITE_OK : rc;
        for (size_t i = 0; i < COUNT_OF(started) && rc == SQLITE_OK && t->left; i++)
            rc = spend(t, run(t->c, started[i], t->last_rid, t->uid, 0));
        if (rc != SQLITE_OK || !t->left)
            return rc;
        rc = spend(t, run(t->c, ST_EVENT_DELETE, t->last_rid, 0, 0));
        t->last_rid = prev < t->last_rid ? prev : 0;
    }
    return rc;
}

/* After the chain: the next closed execution of a removed instance.  *retmore
 * tells that there is a chain to delete. */
static int next_execution(struct tomb *t, bool *retmore)
{
    uint64_t execution = 0, last_rid = 0;
    assert_that(!t->last_rid && !t->execution); /* the chain before it is gone */
    int rc = look(t->c, ST_EXECUTION_NEXT, t->uid, &execution, &last_rid);

    *retmore = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    t->last_rid = last_rid;
    return spend(t, run(t->c, ST_EXECUTION_DELETE, t->uid, execution, 0));
}

/* What hangs on the uid alone. */
static int purge_rest(struct tomb *t)
{
    static const int deletes[] = {ST_MARKS_DELETE, ST_MESSAGES_PURGE, ST_KEYS_DELETE};
    int rc = SQLITE_OK;

    assert_that(!t->last_rid); /* events are found by their chain only */
    if (t->execution)
        return spend(t, run(t->c, ST_MARKS_DELETE_OF, t->uid, t->execution, t->left));
    for (size_t i = 0; i < COUNT_OF(deletes) && rc == SQLITE_OK && t->left; i++)
        rc = spend(t, run(t->c, deletes[i], t->uid, t->left, 0));
    return rc;
}

/* The locks of a queue, each with what it holds. */
static int purge_locks(struct tomb *t)
{
    int rc = SQLITE_OK;
    bool more = true;

    while (rc == SQLITE_OK && more && t->left) {
        rc = spend(t, run(t->c, ST_QUEUE_HELD_PURGE, t->uid, 0, 0));
        if (rc == SQLITE_OK)
            rc = spend(t, run(t->c, ST_QUEUE_LOCK_PURGE, t->uid, 0, 0));
        more = rc == SQLITE_OK && sqlite3_changes(t->c->db) > 0;
    }
    return rc;
}

static int purge_queue(struct tomb *t)
{
    static const int deletes[] = {ST_QUEUE_READY_PURGE, ST_QUEUE_DELAYED_PURGE, ST_QUEUE_PAST_PURGE,
                                  ST_QUEUE_KEY_PURGE};
    int rc = SQLITE_OK;

    for (size_t i = 0; i < COUNT_OF(deletes) && rc == SQLITE_OK && t->left; i++)
        rc = spend(t, run(t->c, deletes[i], t->uid, t->left, 0));
    return rc == SQLITE_OK && t->left ? purge_locks(t) : rc;
}

static int purge_tomb(struct tomb *t)
{
    assert_that(t->left); /* room left at the end says that all is gone */
    bool more = t->execution != OF_A_QUEUE;
    int rc = more ? SQLITE_OK : purge_queue(t);

    while (rc == SQLITE_OK && more && t->left) {
        rc = purge_chain(t);
        more = false;
        if (rc == SQLITE_OK && !t->last_rid && !t->execution && t->left)
            rc = next_execution(t, &more);
    }
    if (rc == SQLITE_OK && t->left && t->execution != OF_A_QUEUE)
        rc = purge_rest(t);
    if (rc != SQLITE_OK)
        return rc;
    /* With room left over everything is gone. */
    return t->left ? run(t->c, ST_TOMB_DELETE, t->n, 0, 0)
                   : run(t->c, ST_TOMB_UPDATE, t->n, t->last_rid, 0);
}

/* The oldest tomb: SQLITE_ROW or SQLITE_DONE. */
static int next_tomb(struct tomb *t)
{
    sqlite3_stmt *stmt = conn_statement(t->c, ST_TOMB_READ);

    if (!stmt)
        return sqlite3_extended_errcode(t->c->db);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        t->n = column_id(stmt, 0);
        t->uid = column_id(stmt, 1);
        t->execution = column_id(stmt, 2);
        t->last_rid = column_id(stmt, 3);
    }
    (void)sqlite3_reset(stmt);
    return rc;
}

pawl_status sqlite_purge(pawl_store *base, pawl_fence *fence, uint32_t limit, bool *retleft,
                         pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct tomb t = {.c = &s->writer, .left = limit};

    pawl_status status = group_begin(s, fence, reterr);
    if (status != PAWL_OK)
        return status;
    int rc;
    while ((rc = next_tomb(&t)) == SQLITE_ROW && t.left) {
        rc = purge_tomb(&t);
        if (rc != SQLITE_OK)
            break;
    }
    bool left = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return group_fail(s, rc, "purge", reterr);
    status = group_end(s, fence, reterr);
    if (status == PAWL_OK)
        *retleft = left;
    return status;
}

pawl_status sqlite_prune_executions(pawl_store *base, pawl_fence *fence, uint64_t uid,
                                    uint64_t before_execution, uint64_t *retcount,
                                    pawl_error *reterr)
{
    struct sqlite_store *s = sqlite_of(base);
    struct conn *c = &s->writer;
    uint64_t execution, unused;

    pawl_status status = group_begin(s, fence, reterr);
    if (status != PAWL_OK)
        return status;
    int rc = look(c, ST_ROW_BY_UID, uid, &execution, &unused);
    if (rc == SQLITE_DONE) {
        conn_rollback(c);
        error_set(reterr, PAWL_NOT_FOUND, "there is no instance with uid %llu",
                  (unsigned long long)uid);
        return PAWL_NOT_FOUND;
    }
    if (rc == SQLITE_ROW)
        rc = run(c, ST_TOMB_EXECUTIONS, uid, before_execution, 0);
    uint64_t count = (uint64_t)sqlite3_changes(c->db);
    if (rc == SQLITE_OK)
        rc = run(c, ST_EXECUTIONS_DELETE, uid, before_execution, 0);
    if (rc != SQLITE_OK)
        return group_fail(s, rc, "prune executions", reterr);
    status = group_end(s, fence, reterr);
    if (status == PAWL_OK)
        *retcount = count;
    return status;
}
