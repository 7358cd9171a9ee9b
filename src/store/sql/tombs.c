/* SPDX-License-Identifier: MIT */
/*
 * store/sql/tombs.c -- deleting what was removed, a few rows per commit.
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
#include "store/sql/tombs.h"
#include "base/attr.h"
#include "store/sql/sql_statements.h"

#define OF_A_QUEUE ((uint64_t)-1)

struct tomb {
    struct sql_cursor *c;
    uint64_t n;
    uint64_t uid;
    uint64_t execution; /* 0: the whole instance; OF_A_QUEUE: uid is a qid */
    uint64_t last_rid;
    uint32_t left; /* rows that may still go in this commit */
};

/* ---- Statements: false, or SQL_STEP_FAILED, when one failed -------------------------------- */

/* Run a statement with `count` numbers. */
static bool run(struct sql_cursor *c, int which, int count, uint64_t a, uint64_t b, uint64_t d)
{
    const uint64_t values[] = {a, b, d};

    if (!cursor_use(c, which))
        return false;
    for (int i = 0; i < count; i++)
        cursor_bind_id(c, i + 1, values[i]);
    (void)cursor_next(c);
    return c->step != SQL_STEP_FAILED;
}

/* The same, and count what it deleted. */
static bool spend(struct tomb *t, int which, int count, uint64_t a, uint64_t b, uint64_t d)
{
    if (!run(t->c, which, count, a, b, d))
        return false;
    uint64_t gone = t->c->driver->changes(t->c);
    t->left -= gone < t->left ? (uint32_t)gone : t->left;
    return true;
}

/* One row, two numbers. */
static enum sql_step look(struct sql_cursor *c, int which, uint64_t key, uint64_t *reta,
                          uint64_t *retb)
{
    if (!cursor_use(c, which))
        return SQL_STEP_FAILED;
    if (cursor_seek(c, key)) {
        *reta = cursor_id(c, 0);
        *retb = cursor_id(c, 1);
    }
    return c->step;
}

/* ---- Instances ------------------------------------------------------------------------------- */

/* The work and the timer that the event at the end of the chain started. */
static bool purge_started(struct tomb *t)
{
    const struct sql_driver *driver = t->c->driver;
    bool good = true;

    for (size_t i = 0; i < driver->started_count && good && t->left; i++)
        good = spend(t, driver->started[i].statement, driver->started[i].parameters, t->last_rid,
                     t->uid, 0);
    return good;
}

/* Delete the chain from its end: each event after the work and the timer it
 * started.  A row that is not ours ends the chain (P2). */
static bool purge_chain(struct tomb *t)
{
    while (t->last_rid && t->left) {
        uint64_t prev = 0, uid = 0;
        enum sql_step step = look(t->c, ST_CHAIN_HOP, t->last_rid, &prev, &uid);
        if (step == SQL_STEP_FAILED)
            return false;
        if (step == SQL_STEP_DONE || uid != t->uid) {
            t->last_rid = 0;
            return true;
        }
        if (!purge_started(t))
            return false;
        if (!t->left)
            return true;
        if (!spend(t, ST_EVENT_DELETE, 1, t->last_rid, 0, 0))
            return false;
        t->last_rid = prev < t->last_rid ? prev : 0;
    }
    return true;
}

/* After the chain: the next closed execution of a removed instance.  *retmore
 * tells that there is a chain to delete. */
static bool next_execution(struct tomb *t, bool *retmore)
{
    uint64_t execution = 0, last_rid = 0;
    assert_that(!t->last_rid && !t->execution); /* the chain before it is gone */
    enum sql_step step = look(t->c, ST_EXECUTION_NEXT, t->uid, &execution, &last_rid);

    *retmore = step == SQL_STEP_ROW;
    if (step != SQL_STEP_ROW)
        return step == SQL_STEP_DONE;
    t->last_rid = last_rid;
    return spend(t, ST_EXECUTION_DELETE, 2, t->uid, execution, 0);
}

/* The rows that are found by the uid alone. */
static bool purge_rest(struct tomb *t)
{
    static const int deletes[] = {ST_MARKS_DELETE, ST_MESSAGES_PURGE, ST_KEYS_DELETE};
    bool good = true;

    assert_that(!t->last_rid); /* events are found by their chain only */
    if (t->execution)
        return spend(t, ST_MARKS_DELETE_OF, 3, t->uid, t->execution, t->left);
    for (size_t i = 0; i < COUNT_OF(deletes) && good && t->left; i++)
        good = spend(t, deletes[i], 2, t->uid, t->left, 0);
    return good;
}

static bool purge_instance(struct tomb *t)
{
    bool more = true;

    while (more && t->left) {
        more = false;
        if (!purge_chain(t))
            return false;
        if (!t->last_rid && !t->execution && t->left && !next_execution(t, &more))
            return false;
    }
    return !t->left || purge_rest(t);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* The locks of a queue, each with what it holds. */
static bool purge_locks(struct tomb *t)
{
    bool more = true;

    while (more && t->left) {
        if (!spend(t, ST_QUEUE_HELD_PURGE, 1, t->uid, 0, 0) ||
            !spend(t, ST_QUEUE_LOCK_PURGE, 1, t->uid, 0, 0))
            return false;
        more = t->c->driver->changes(t->c) > 0;
    }
    return true;
}

static bool purge_queue(struct tomb *t)
{
    static const int deletes[] = {ST_QUEUE_READY_PURGE, ST_QUEUE_DELAYED_PURGE, ST_QUEUE_PAST_PURGE,
                                  ST_QUEUE_KEY_PURGE};
    bool good = true;

    for (size_t i = 0; i < COUNT_OF(deletes) && good && t->left; i++)
        good = spend(t, deletes[i], 2, t->uid, t->left, 0);
    return good && (!t->left || purge_locks(t));
}

/* ---- Tombs ----------------------------------------------------------------------------------- */

static bool purge_tomb(struct tomb *t)
{
    assert_that(t->left); /* room left at the end says that all is gone */
    if (!(t->execution == OF_A_QUEUE ? purge_queue(t) : purge_instance(t)))
        return false;
    /* With room left over everything is gone. */
    return t->left ? run(t->c, ST_TOMB_DELETE, 1, t->n, 0, 0)
                   : run(t->c, ST_TOMB_UPDATE, 2, t->n, t->last_rid, 0);
}

/* The oldest tomb. */
static enum sql_step next_tomb(struct tomb *t)
{
    if (!cursor_use(t->c, ST_TOMB_READ))
        return SQL_STEP_FAILED;
    if (cursor_next(t->c)) {
        t->n = cursor_id(t->c, 0);
        t->uid = cursor_id(t->c, 1);
        t->execution = cursor_id(t->c, 2);
        t->last_rid = cursor_id(t->c, 3);
    }
    return t->c->step;
}

bool tombs_purge(struct sql_cursor *c, uint32_t limit, bool *retleft)
{
    struct tomb t = {.c = c, .left = limit};
    enum sql_step step;

    while ((step = next_tomb(&t)) == SQL_STEP_ROW && t.left) {
        if (!purge_tomb(&t))
            return false;
    }
    *retleft = step == SQL_STEP_ROW;
    if (step != SQL_STEP_FAILED)
        cursor_rest(c);
    return step != SQL_STEP_FAILED;
}

bool tombs_of_executions(struct sql_cursor *c, uint64_t uid, uint64_t before, bool *retfound,
                         uint64_t *retcount)
{
    uint64_t unused;
    enum sql_step step = look(c, ST_ROW_BY_UID, uid, &unused, &unused);

    *retfound = step == SQL_STEP_ROW;
    if (step != SQL_STEP_ROW)
        return step == SQL_STEP_DONE;
    if (!run(c, ST_TOMB_EXECUTIONS, 2, uid, before, 0))
        return false;
    *retcount = c->driver->changes(c);
    if (!run(c, ST_EXECUTIONS_DELETE, 2, uid, before, 0))
        return false;
    cursor_rest(c);
    return true;
}
