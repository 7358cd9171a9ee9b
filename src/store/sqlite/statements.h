/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/statements.h -- the SQL statements of this store: those that all
 * SQL stores share (store/sql/sql_statements.h), in the dialect of SQLite, and
 * its own.
 *
 * X(NAME, SQL).  Each connection prepares a statement the first time it is used
 * and keeps it (conn.c).  Statements that must find their rows by an index
 * spell out the index's WHERE clause word for word: SQLite proves that a
 * partial index applies by comparing terms.  tests/unit/test_sqlite_plan.c asks
 * for the plan of all of them and fails on a scan that is not listed there.
 */
#ifndef PAWL_STORE_SQLITE_STATEMENTS_H
#define PAWL_STORE_SQLITE_STATEMENTS_H

#include "store/sql/sql_statements.h"
#include "store/sqlite/queue_statements.h"

/* The dialect, for the statements that SQL stores share. */
#define SQL_SCHEMA         ""
#define SQL_IN_ORDER       "CROSS JOIN"
#define SQL_SAME(a, b)     a "=" b
#define SQL_IS_TEXT        ""
#define SQL_IS_BYTES       ""
#define SQL_MOST(n)        ""
#define SQL_ROW_COLUMNS    SQL_ROW_NAMES
#define SQL_CLOSED_COLUMNS SQL_CLOSED_NAMES
#define SQL_QUEUE_COLUMNS  SQL_QUEUE(SQL_NAMES)
#define SQL_MAIL_COLUMNS   SQL_MESSAGE(SQL_NAMES)
#define SQL_ENTRY_COLUMNS  SQL_ENTRY(SQL_NAMES)
#define SQL_OBJECT_COLUMNS SQL_OBJECT(SQL_NAMES)
/* The four walks of the index are merged as they go: nothing is sorted. */
#define SQL_LIST_STATES                                                                            \
    LITE_STATE("?2")                                                                               \
    " UNION ALL " LITE_STATE("?3") " UNION ALL " LITE_STATE("?4") " UNION ALL " LITE_STATE(        \
        "?5") " ORDER BY 1 DESC"
#define LITE_STATE(n) SQL_READ_ROWS " WHERE i.state=" n " AND i.state>1 AND i.state<>4 AND i.uid<?1"
#define SQL_STATE_COUNTS                                                                           \
    "SELECT state,count(*) FROM instance WHERE state>1 AND state<>4 GROUP BY state"
/* Is an entry that looks ready locked?  See queue_schema.c. */
#define SQL_ENTRY_LOCK     "(SELECT 1 FROM queue_lock l WHERE l.qid=e.qid AND l.number=e.id)"
#define SQL_ENTRY_UNLOCKED SQL_ENTRY_LOCK " IS NULL"
#define SQL_ENTRY_TAKEN    "CASE WHEN e.state=0 THEN " SQL_ENTRY_LOCK " IS NOT NULL ELSE 0 END"
#define SQL_WORK_BY_ID                                                                             \
    READ_WORK " WHERE id=?1 UNION ALL"                                                             \
              " SELECT " UNTRIED_COLUMNS " FROM work_local" UNTRIED_JOIN " WHERE l.id=?1"          \
              " UNION ALL"                                                                         \
              " SELECT " UNTRIED_COLUMNS " FROM work_fresh" UNTRIED_JOIN " WHERE l.id=?1"
#define SQL_WORK_COUNT                                                                             \
    "SELECT (SELECT count(*) FROM work)+(SELECT count(*) FROM work_local)"                         \
    "+(SELECT count(*) FROM work_fresh)"

#define SQL_PURGE_HELD                                                                             \
    "DELETE FROM queue_entry WHERE qid=?1 AND id IN (SELECT value FROM"                            \
    " json_each(coalesce((SELECT iif(json_valid('['||replace(entries,' ',',')||']'),"              \
    " '['||replace(entries,' ',',')||']','[]') FROM queue_lock WHERE qid=?1"                       \
    " ORDER BY number LIMIT 1),'[]')))"

#define READ_WORK "SELECT " SQL_WORK(SQL_READ_NAMES) " FROM work"
/* Untried work `l`, from its event: the columns of READ_WORK. */
#define UNTRIED_COLUMNS                                                                            \
    "l.id,h.uid,h.execution,h.ref,ifnull(i.id,''),h.name,h.data,h.attrs,0,0,0,"                    \
    "h.at_ms,0,'',"                                                                                \
    "l.lock_epoch,'',0,h.seq>>32"
#define UNTRIED_JOIN " l JOIN history h ON h.rid=l.id LEFT JOIN instance i ON i.uid=h.uid"
#define MOVE_UNTRIED                                                                               \
    "INSERT INTO work(" SQL_WORK(SQL_READ_NAMES) ",place) "                                        \
                                                 "SELECT " UNTRIED_COLUMNS

/* Where a work row is found (enum place) and from when on it is free. */
#define WHERE_READY   "place=0"
#define WHERE_DELAYED "place=1"
#define FREE_MS       "max(visible_ms,lock_until_ms)"

/* clang-format off */
#define SQLITE_STATEMENTS(X)                                                                       \
    /* Transactions and the fence. */                                                              \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                              \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(SAVEPOINT, "SAVEPOINT round")                                                                \
    X(RELEASE, "RELEASE round")                                                                    \
    X(ROLLBACK_TO, "ROLLBACK TO round")                                                            \
    X(FENCE_MOVE, "UPDATE fence SET group_no=group_no+1,next_id=?1"                                \
        " WHERE one=1 AND epoch=?2 AND epoch>0") /* T4: no commit before a take */            \
    X(FENCE_READ, "SELECT epoch,group_no,next_id FROM fence WHERE one=1")                          \
    X(SUMS_FROM, "SELECT sums_from FROM fence WHERE one=1")                                        \
    X(FENCE_TAKE, "UPDATE fence SET epoch=?1,next_id=?2 WHERE one=1")                              \
    X(ID_HIGHEST, "SELECT max(ifnull((SELECT max(rid) FROM history),0),"                           \
        "ifnull((SELECT max(uid) FROM instance),0),ifnull((SELECT max(id) FROM message),0),"       \
        "ifnull((SELECT max(id) FROM work),0),ifnull((SELECT max(id) FROM work_local),0),"         \
        "ifnull((SELECT max(id) FROM work_fresh),0),"                                              \
        "ifnull((SELECT max(id) FROM queue_entry),0))")                                            \
    X(WORK_FREE_ALL, "UPDATE work SET place=(" FREE_MS ">0) WHERE place=2")                        \
    X(LOCAL_FREE_ALL, "INSERT OR IGNORE INTO work_fresh(id,name,lock_epoch)"                       \
        " SELECT l.id,h.name,l.lock_epoch FROM work_local l JOIN history h ON h.rid=l.id")         \
    X(LOCAL_CLEAR, "DELETE FROM work_local WHERE id IN (SELECT id FROM work_fresh)")               \
    /* One round. */                                                                               \
    X(ROW_INSERT, "INSERT OR FAIL INTO instance(" SQL_INSTANCE(SQL_NAMES) ")"                      \
        " SELECT " SQL_INSTANCE(SQL_NAMES) " FROM pawl_row")                                       \
    X(HEAD_INSERT, "INSERT OR FAIL INTO head(" SQL_HEAD(SQL_NAMES) ")"                             \
        " SELECT " SQL_HEAD(SQL_NAMES) " FROM pawl_head")                                          \
    X(HEAD_UPDATE, "UPDATE head SET " SQL_HEAD(SQL_SETS)                                           \
        " WHERE uid=? AND execution=? AND last_seq=?")                                             \
    X(ROW_UPDATE, "UPDATE instance SET " SQL_INSTANCE(SQL_SETS) " WHERE uid=?")                    \
    X(HEAD_CHECK, "SELECT 1 FROM head WHERE uid=?1 AND execution=?2 AND last_seq=?3")              \
    X(ROW_REMOVE, "DELETE FROM instance WHERE uid=?1")                                             \
    X(HEAD_REMOVE, "DELETE FROM head WHERE uid=?1")                                                \
    X(HEAD_TOMB, "INSERT INTO tomb(uid,execution,last_rid) SELECT uid,0,last_rid FROM head"        \
        " WHERE uid=?1 AND execution=?2 AND last_seq=?3")                                          \
    X(EXECUTION_CLOSE, "INSERT INTO execution(" SQL_EXECUTION(SQL_NAMES) ") SELECT i.uid,"         \
        "h.execution,i.orchestration,CASE i.version WHEN '' THEN ?4 ELSE i.version END,?5,?6,"     \
        "CASE i.first_rid WHEN 0 THEN ?7 ELSE i.first_rid END,i.created_ms,?8,i.custom_status"     \
        " FROM " SQL_ROWS " WHERE i.uid=?1 AND h.execution=?2 AND h.last_seq=?3")                \
    X(EXECUTION_INSERT, "INSERT INTO execution(" SQL_EXECUTION(SQL_NAMES) ")"                      \
        " VALUES(" SQL_EXECUTION(SQL_PARAMETERS) ")")                                              \
    X(EVENT_INSERT, "INSERT OR FAIL INTO history(" SQL_HISTORY(SQL_NAMES) ")"                      \
        " SELECT " SQL_HISTORY(SQL_NAMES) " FROM pawl_event")                                      \
    X(MARK_INSERT, "INSERT INTO mark(uid,execution,seq,rid) VALUES(?1,?2,?3,?4)")                  \
    X(MESSAGE_INSERT, "INSERT INTO message(" SQL_MESSAGE(SQL_NAMES) ")"                            \
        " VALUES(" SQL_MESSAGE(SQL_PARAMETERS) ")")                                                \
    X(MESSAGE_UPDATE, "UPDATE message SET " SQL_MESSAGE(SQL_SETS) " WHERE id=?")                   \
    X(MESSAGE_DELETE, "DELETE FROM message WHERE id=?1")                                           \
    X(QUARANTINE_INSERT, "INSERT INTO quarantine(" SQL_MESSAGE(SQL_FIRST_NAMES) ",reason)"         \
        " SELECT " SQL_MESSAGE(SQL_FIRST_NAMES) ",?2 FROM message WHERE id=?1")                    \
    X(WORK_INSERT, "INSERT INTO work(" SQL_WORK(SQL_NAMES) ")"                                     \
        " VALUES(" SQL_WORK(SQL_PARAMETERS) ")")                                                   \
    X(WORK_UPDATE, "UPDATE work SET " SQL_WORK(SQL_SETS) " WHERE id=?")                            \
    X(WORK_DELETE, "DELETE FROM work WHERE id=?1")                                                 \
    X(WORK_DELETE_RUN, "DELETE FROM work WHERE id>=?1 AND id<=?2")                                 \
    X(LOCAL_INSERT, "INSERT OR FAIL INTO work_local(id,lock_epoch)"                                \
        " SELECT id,lock_epoch FROM pawl_local")                                                   \
    X(LOCAL_DELETE, "DELETE FROM work_local WHERE id=?1")                                          \
    X(LOCAL_DELETE_RUN, "DELETE FROM work_local WHERE id>=?1 AND id<=?2")                          \
    X(FRESH_INSERT, "INSERT OR FAIL INTO work_fresh(id,name,lock_epoch)"                           \
        " SELECT id,name,lock_epoch FROM pawl_fresh")                                              \
    X(FRESH_DELETE, "DELETE FROM work_fresh WHERE id=?1")                                          \
    X(FRESH_DELETE_RUN, "DELETE FROM work_fresh WHERE id>=?1 AND id<=?2")                          \
    X(UNTRIED_CHECK, "SELECT 1 FROM work_local WHERE id=?1 UNION ALL"                              \
        " SELECT 1 FROM work_fresh WHERE id=?1")                                                   \
    X(LOCAL_MOVE, MOVE_UNTRIED ",2 FROM work_local" UNTRIED_JOIN " WHERE l.id=?1")                 \
    X(FRESH_MOVE, MOVE_UNTRIED ",0 FROM work_fresh" UNTRIED_JOIN " WHERE l.id=?1")                 \
    X(KEY_INSERT, "INSERT OR IGNORE INTO dedup(uid,key) VALUES(?1,?2)")                            \
    X(OBJECT_VERSION, "SELECT version FROM object WHERE kind=?1 AND name=?2")                      \
    X(OBJECT_PUT, "INSERT OR REPLACE INTO object(" SQL_OBJECT(SQL_NAMES) ")"                       \
        " VALUES(" SQL_OBJECT(SQL_PARAMETERS) ")")                                                 \
    X(OBJECT_DELETE, "DELETE FROM object WHERE kind=?1 AND name=?2")                               \
    X(ATTRIBUTE_PUT, "INSERT OR IGNORE INTO attribute(seg,name,value,uid) VALUES(?3>>18,?1,?2,?3)") \
    X(ATTRIBUTE_DROP, "DELETE FROM attribute WHERE seg=?3>>18 AND name=?1 AND value=?2 AND uid=?3") \
    /* Fetching. */                                                                                \
    X(MESSAGES_AT, SQL_READ_MAIL " WHERE mailbox=0 AND visible_ms=?1 AND id>?2 ORDER BY id")           \
    X(MESSAGES_AFTER, SQL_READ_MAIL " WHERE mailbox=0 AND visible_ms>?1 AND visible_ms<=?2"            \
        " ORDER BY visible_ms,id")                                                                 \
    X(MESSAGE_WHEN, "SELECT visible_ms FROM message WHERE id=?1")                                  \
    X(WORK_READY, "SELECT id FROM work WHERE " WHERE_READY " AND name=?1 AND id>?2 ORDER BY id")   \
    X(FRESH_READY, "SELECT id FROM work_fresh WHERE name=?1 AND id>?2 ORDER BY id")                \
    X(WORK_DELAYED_AT, "SELECT id," FREE_MS " FROM work WHERE " WHERE_DELAYED                      \
        " AND name=?1 AND " FREE_MS "=?2 AND id>?3 ORDER BY id")                                   \
    X(WORK_DELAYED_AFTER, "SELECT id," FREE_MS " FROM work WHERE " WHERE_DELAYED                   \
        " AND name=?1 AND " FREE_MS ">?2 ORDER BY " FREE_MS ",id")                                 \
    X(WORK_READY_NAME, "SELECT name FROM work WHERE " WHERE_READY                                  \
        " AND name>?1 ORDER BY name LIMIT 1")                                                      \
    X(FRESH_NAME, "SELECT name FROM work_fresh WHERE name>?1 ORDER BY name LIMIT 1")               \
    X(WORK_DELAYED_NAME, "SELECT name FROM work WHERE " WHERE_DELAYED                              \
        " AND name>?1 ORDER BY name LIMIT 1")                                                      \
    X(LANE_READ, READ_WORK " WHERE " WHERE_DELAYED " AND name=?1 AND " FREE_MS ">?2"               \
        " ORDER BY " FREE_MS ",id LIMIT ?3")                                                       \
    X(WORK_PLACE, "SELECT name,place," FREE_MS " FROM work WHERE id=?1 UNION ALL"                  \
        " SELECT name,0,0 FROM work_fresh WHERE id=?1 UNION ALL"                                   \
        " SELECT h.name,2,0 FROM work_local l JOIN history h ON h.rid=l.id WHERE l.id=?1")         \
    X(FRESH_READ, "SELECT " UNTRIED_COLUMNS " FROM work_fresh" UNTRIED_JOIN                        \
        " WHERE l.id>=?1 AND l.id<=?2 ORDER BY l.id")                                              \
    X(WORK_DEADLINES, READ_WORK " WHERE deadline_ms>0 AND deadline_ms<=?1"                         \
        " ORDER BY deadline_ms,id LIMIT ?2")                                                       \
    X(DUE_MESSAGE, "SELECT visible_ms FROM message WHERE mailbox=0 AND visible_ms>?1"              \
        " ORDER BY visible_ms LIMIT 1")                                                            \
    X(DUE_WORK, "SELECT visible_ms FROM work WHERE visible_ms>0 AND visible_ms>?1"                 \
        " ORDER BY visible_ms LIMIT 1")                                                            \
    X(DUE_DEADLINE, "SELECT deadline_ms FROM work WHERE deadline_ms>0 AND deadline_ms>?1"          \
        " ORDER BY deadline_ms LIMIT 1")                                                           \
    /* Purging. */                                                                                 \
    X(WORK_DELETE_OF, "DELETE FROM work WHERE id=?1 AND uid=?2")                                   \
    X(MESSAGE_DELETE_OF, "DELETE FROM message WHERE id=?1 AND uid=?2")                             \
    /* Damage, for tests of M5 and H3. */                                                          \
    X(MESSAGE_DAMAGE, "UPDATE message SET kind=NULL WHERE id=?1")                                  \
    X(EVENT_DAMAGE, "UPDATE history SET seq=seq+1000000 WHERE rid=?1")                             \
    SQLITE_QUEUE_STATEMENTS(X)
/* clang-format on */

#define ALL_STATEMENTS(X) SQL_STATEMENTS(X) SQLITE_STATEMENTS(X)

enum sqlite_statement {
    ST_LAST_SHARED = SQL_STATEMENT_COUNT - 1,
#define STATEMENT_ENUM(name, sql) ST_##name,
    SQLITE_STATEMENTS(STATEMENT_ENUM)
#undef STATEMENT_ENUM
        ST_COUNT
};

#endif
