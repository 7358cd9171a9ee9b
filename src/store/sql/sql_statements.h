/* SPDX-License-Identifier: MIT */
/*
 * store/sql/sql_statements.h -- the statements that every SQL store has, with
 * holes for its dialect.
 *
 * X(NAME, SQL).  Columns come from the lists (columns.h), and the readers of
 * this room call the statements by number.  What differs between databases is a
 * macro that the store defines before it expands the texts:
 *
 *     SQL_SCHEMA          in front of the name of a table
 *     SQL_IN_ORDER        a join whose left table is read first
 *     SQL_SAME(a, b)      a column is found by an index where it has this value
 *     SQL_IS_TEXT         behind a parameter that is text; all others are numbers
 *     SQL_IS_BYTES        behind one that a client chose without a check: any bytes
 *     SQL_MOST(#n)        at most this many rows; see cursor_further()
 *     SQL_ROW_COLUMNS     the columns of an instance, in the order of SQL_ROW_NAMES
 *     SQL_CLOSED_COLUMNS  those of a closed execution, in the order of SQL_CLOSED_NAMES
 *     SQL_MAIL_COLUMNS    those of a message, of SQL_MESSAGE(SQL_NAMES)
 *     SQL_QUEUE_COLUMNS   those of a queue, of SQL_QUEUE(SQL_NAMES)
 *     SQL_ENTRY_COLUMNS   those of a queue's entry, of SQL_ENTRY(SQL_NAMES)
 *     SQL_LIST_STATES     instances of the rare states ?2 to ?5 below uid ?1, newest first
 *     SQL_STATE_COUNTS    how many there are of each rare state
 *     SQL_ENTRY_UNLOCKED  true of an entry `e` of state 0 that is not locked
 *     SQL_ENTRY_TAKEN     1 if an entry `e` of state 0 is locked, else 0
 *     SQL_WORK_BY_ID      the work ?1, columns of SQL_WORK(SQL_READ_NAMES)
 *     SQL_WORK_COUNT      how many there are
 *     SQL_OBJECT_COLUMNS  those of an object, of SQL_OBJECT(SQL_NAMES)
 *     SQL_PURGE_HELD      deletes the entries of the first lock of queue ?1
 *
 * A parameter is ?1, or ? for the next one.  A store whose database writes them
 * otherwise translates them when it prepares a statement; no text has a
 * question mark for another reason. Texts that find their rows by a partial
 * index spell out its WHERE clause word for word: SQLite proves that the index
 * applies by comparing terms.  tests/unit/test_sqlite_plan.c asks for the plan
 * of all of them and fails on a scan that is not listed there.
 */
#ifndef PAWL_STORE_SQL_SQL_STATEMENTS_H
#define PAWL_STORE_SQL_SQL_STATEMENTS_H

#include "store/sql/columns.h"

/* clang-format off */
#define SQL_T(table)    SQL_SCHEMA #table
#define SQL_ROWS        SQL_T(instance) " i " SQL_IN_ORDER " " SQL_T(head) " h ON " SQL_SAME("h.uid", "i.uid")
#define SQL_READ_ROWS   "SELECT " SQL_ROW_COLUMNS " FROM " SQL_ROWS
#define SQL_READ_MAIL   "SELECT " SQL_MAIL_COLUMNS " FROM " SQL_T(message)
#define SQL_READ_QUEUES "SELECT " SQL_QUEUE_COLUMNS " FROM " SQL_T(queue)
#define SQL_READ_OBJECTS "SELECT " SQL_OBJECT_COLUMNS " FROM " SQL_T(object)
#define SQL_READ_LOCKS  "SELECT " SQL_LOCK(SQL_NAMES) " FROM " SQL_T(queue_lock)
/* Entries as they are, and those of which it is known that they are not locked. */
#define SQL_READ_ENTRIES                                                                           \
    "SELECT " SQL_ENTRY_COLUMNS "," SQL_ENTRY_TAKEN " FROM " SQL_T(queue_entry) " e"
#define SQL_READ_FREE   "SELECT " SQL_ENTRY_COLUMNS ",0 FROM " SQL_T(queue_entry) " e"

#define SQL_COMMON_STATEMENTS(X)                                                                   \
    /* Instances and their histories. */                                                           \
    X(ROW_IS_THERE, "SELECT 1 FROM " SQL_T(instance) " WHERE id=?1" SQL_IS_TEXT)                   \
    X(ROW_BY_ID, SQL_READ_ROWS " WHERE i.id=?1" SQL_IS_TEXT)                                       \
    X(ROW_BY_UID, SQL_READ_ROWS " WHERE i.uid=?1")                                                 \
    X(EXECUTION_READ, "SELECT " SQL_CLOSED_COLUMNS " FROM " SQL_T(execution) " x JOIN "              \
        SQL_T(instance) " i ON i.uid=x.uid WHERE x.uid=?1 AND x.execution=?2")                     \
    /* Messages, work, keys. */                                                                    \
    X(MESSAGES_OF_UID, SQL_READ_MAIL " WHERE uid=?1 AND uid>0 ORDER BY visible_ms,id")             \
    X(MESSAGES_OF_NAME, SQL_READ_MAIL " WHERE uid=0 AND instance=?1" SQL_IS_TEXT " ORDER BY visible_ms,id") \
    X(MESSAGES_BY_NAME, SQL_READ_MAIL " WHERE uid=0 ORDER BY visible_ms,id")                       \
    X(QUARANTINE_READ, "SELECT " SQL_MESSAGE(SQL_FIRST_NAMES) ",reason FROM " SQL_T(quarantine)    \
        " ORDER BY n DESC LIMIT ?1")                                                               \
    X(KEY_READ, "SELECT 1 FROM " SQL_T(dedup) " WHERE uid=?1 AND key=?2" SQL_IS_BYTES              \
        " AND EXISTS(SELECT 1 FROM " SQL_T(head) " WHERE head.uid=?1)")                            \
    /* Queues. */                                                                                  \
    X(QUEUE_BY_NAME, SQL_READ_QUEUES " WHERE name=?1" SQL_IS_TEXT)                                 \
    X(QUEUES_FROM, SQL_READ_QUEUES " WHERE name>?1" SQL_IS_TEXT " AND name>=?2" SQL_IS_TEXT " ORDER BY name" SQL_MOST("#1")) \
    X(ENTRIES_READY_AT, SQL_READ_FREE " WHERE state=0 AND qid=?1 AND priority=?2 AND place>=?3"    \
        " AND " SQL_ENTRY_UNLOCKED " ORDER BY place" SQL_MOST("#2"))                               \
    X(ENTRIES_READY_ABOVE, SQL_READ_FREE " WHERE state=0 AND qid=?1 AND priority>?2"               \
        " AND " SQL_ENTRY_UNLOCKED " ORDER BY priority,place" SQL_MOST("#2"))                      \
    X(ENTRIES_DELAYED_AT, SQL_READ_FREE " WHERE state=1 AND qid=?1 AND visible_ms=?2 AND id>?3"    \
        " ORDER BY id" SQL_MOST("#2"))                                                             \
    X(ENTRIES_DELAYED_ABOVE, SQL_READ_FREE " WHERE state=1 AND qid=?1 AND visible_ms>?2"           \
        " ORDER BY visible_ms,id" SQL_MOST("#2"))                                                  \
    X(ENTRIES_EXPIRING, SQL_READ_FREE " WHERE state<2 AND expires_ms>0 AND qid=?1"                 \
        " AND (state=1 OR " SQL_ENTRY_UNLOCKED ") ORDER BY expires_ms,id" SQL_MOST("#2"))          \
    X(ENTRIES_BY_ID, SQL_READ_ENTRIES " WHERE id>?1 ORDER BY id" SQL_MOST("#2"))                   \
    X(ENTRY_READ, SQL_READ_ENTRIES " WHERE id=?1")                                                 \
    X(LOCKS_READ, SQL_READ_LOCKS " WHERE qid=?1 ORDER BY number LIMIT ?2")                         \
    X(LOCKS_FROM, SQL_READ_LOCKS " WHERE qid=?1 AND number>=?2 ORDER BY number" SQL_MOST("#1"))    \
    X(PAST_READ, "SELECT 1 FROM " SQL_T(queue_past) " WHERE qid=?1 AND id=?2" SQL_IS_BYTES)        \
    X(DEDUP_READ, "SELECT entry,expires_ms FROM " SQL_T(queue_key) " WHERE qid=?1 AND key=?2" SQL_IS_BYTES) \
    X(LEVELS, "SELECT priority,count(*) FROM " SQL_T(queue_entry) " e WHERE state=0 AND qid=?1"    \
        " AND " SQL_ENTRY_UNLOCKED " GROUP BY priority ORDER BY priority LIMIT ?2")                \
    /* Named objects. */                                                                           \
    X(OBJECT_READ, SQL_READ_OBJECTS " WHERE kind=?1 AND name=?2" SQL_IS_TEXT)                      \
    X(OBJECTS_FROM, SQL_READ_OBJECTS " WHERE kind=?1 AND name>?2" SQL_IS_TEXT " AND name>=?3" SQL_IS_TEXT \
        " ORDER BY name" SQL_MOST("#1"))

/* Of a store in the same process, where each statement costs a call: the rows of a history one by
 * one, counts, due times by an index, tombs.  A server far away answers these by texts of its own. */
#define SQL_NEAR_STATEMENTS(X)                                                                     \
    X(CHAIN_HEAD, "SELECT last_seq,last_rid FROM " SQL_T(head) " WHERE uid=?1 AND execution=?2")   \
    X(CHAIN_HEAD_CLOSED, "SELECT x.last_seq,x.last_rid FROM " SQL_T(execution) " x JOIN "          \
        SQL_T(head) " h ON h.uid=x.uid WHERE x.uid=?1 AND x.execution=?2")                         \
    X(MARK_AFTER, "SELECT seq,rid FROM " SQL_T(mark) " WHERE uid=?1 AND execution=?2 AND seq>=?3"  \
        " ORDER BY seq LIMIT 1")                                                                   \
    X(EVENT_READ, "SELECT " SQL_HISTORY(SQL_NAMES) " FROM " SQL_T(history) " WHERE rid=?1")        \
    X(LIST_ALL, SQL_READ_ROWS " WHERE i.uid<?1 ORDER BY i.uid DESC")                               \
    X(LIST_PARENT, SQL_READ_ROWS " WHERE i.parent_uid=?2 AND i.parent_uid>0 AND i.uid<?1"          \
        " ORDER BY i.uid DESC")                                                                    \
    X(LIST_STATES, SQL_LIST_STATES)                                                                \
    X(LIST_ATTRIBUTE, "SELECT " SQL_ROW_COLUMNS " FROM " SQL_T(attribute) " a " SQL_IN_ORDER " "   \
        SQL_T(instance) " i ON " SQL_SAME("i.uid", "a.uid") " " SQL_IN_ORDER " " SQL_T(head)       \
        " h ON " SQL_SAME("h.uid", "i.uid") " WHERE a.seg=?2 AND a.name=?3 AND a.value=?4"         \
        " AND a.uid<?1 ORDER BY a.uid DESC")                                                       \
    X(ATTRIBUTE_RANGE, "SELECT uid FROM " SQL_T(attribute) " WHERE seg=?2 AND name=?3"             \
        " AND value>=?4 AND value<?5 AND uid<?1")                                                  \
    X(ATTRIBUTE_VALUES, "SELECT value,count(*) FROM " SQL_T(attribute)                             \
        " WHERE seg=?1 AND name=?2 GROUP BY value ORDER BY value")                                 \
    X(ATTRIBUTE_SEGMENT, "SELECT seg FROM " SQL_T(attribute) " WHERE seg<=?1"                     \
        " ORDER BY seg DESC LIMIT 1")                                                              \
    X(IDS_FROM, "SELECT id,uid FROM " SQL_T(instance) " WHERE id>=?1 ORDER BY id")                 \
    X(WORK_READ, SQL_WORK_BY_ID)                                                                   \
    /* How much there is. */                                                                       \
    X(COUNT_MESSAGES, "SELECT count(*) FROM " SQL_T(message))                                      \
    X(COUNT_TIMERS, "SELECT count(*) FROM " SQL_T(message) " WHERE mailbox=0 AND visible_ms>?1")   \
    X(COUNT_WORK, SQL_WORK_COUNT)                                                                  \
    X(COUNT_QUARANTINE, "SELECT count(*) FROM " SQL_T(quarantine))                                 \
    X(COUNT_INSTANCES, "SELECT count(*) FROM " SQL_T(head))                                        \
    X(COUNT_STATES, SQL_STATE_COUNTS)                                                              \
    X(QUEUES_DUE, SQL_READ_QUEUES " WHERE due_ms>0 AND due_ms<=?1 ORDER BY due_ms,qid LIMIT ?2")   \
    /* Purging. */                                                                                 \
    X(TOMB_READ, "SELECT n,uid,execution,last_rid FROM " SQL_T(tomb) " ORDER BY n LIMIT 1")        \
    X(TOMB_UPDATE, "UPDATE " SQL_T(tomb) " SET last_rid=?2 WHERE n=?1")                            \
    X(TOMB_DELETE, "DELETE FROM " SQL_T(tomb) " WHERE n=?1")                                       \
    X(TOMB_EXECUTIONS, "INSERT INTO " SQL_T(tomb) "(uid,execution,last_rid) SELECT uid,execution,last_rid" \
        " FROM " SQL_T(execution) " WHERE uid=?1 AND execution<?2")                                \
    X(EXECUTIONS_DELETE, "DELETE FROM " SQL_T(execution) " WHERE uid=?1 AND execution<?2")         \
    X(EXECUTION_NEXT, "SELECT execution,last_rid FROM " SQL_T(execution) " WHERE uid=?1"           \
        " ORDER BY execution LIMIT 1")                                                             \
    X(EXECUTION_DELETE, "DELETE FROM " SQL_T(execution) " WHERE uid=?1 AND execution=?2")          \
    X(CHAIN_HOP, "SELECT prev,uid FROM " SQL_T(history) " WHERE rid=?1")                           \
    X(EVENT_DELETE, "DELETE FROM " SQL_T(history) " WHERE rid=?1")                                 \
    X(MARKS_DELETE, "DELETE FROM " SQL_T(mark) " WHERE uid=?1 AND (execution,seq) IN"              \
        " (SELECT execution,seq FROM " SQL_T(mark) " WHERE uid=?1 LIMIT ?2)")                      \
    X(MARKS_DELETE_OF, "DELETE FROM " SQL_T(mark) " WHERE uid=?1 AND execution=?2 AND seq IN"      \
        " (SELECT seq FROM " SQL_T(mark) " WHERE uid=?1 AND execution=?2 LIMIT ?3)")               \
    X(MESSAGES_PURGE, "DELETE FROM " SQL_T(message) " WHERE id IN"                                 \
        " (SELECT id FROM " SQL_T(message) " WHERE uid=?1 AND uid>0 LIMIT ?2)")                    \
    X(KEYS_DELETE, "DELETE FROM " SQL_T(dedup) " WHERE uid=?1 AND key IN"                          \
        " (SELECT key FROM " SQL_T(dedup) " WHERE uid=?1 LIMIT ?2)")                               \
    X(QUEUE_READY_PURGE, "DELETE FROM " SQL_T(queue_entry) " WHERE id IN"                          \
        " (SELECT id FROM " SQL_T(queue_entry) " WHERE state=0 AND qid=?1 LIMIT ?2)")              \
    X(QUEUE_DELAYED_PURGE, "DELETE FROM " SQL_T(queue_entry) " WHERE id IN"                        \
        " (SELECT id FROM " SQL_T(queue_entry) " WHERE state=1 AND qid=?1 LIMIT ?2)")              \
    X(QUEUE_HELD_PURGE, SQL_PURGE_HELD)                                                            \
    X(QUEUE_LOCK_PURGE, "DELETE FROM " SQL_T(queue_lock) " WHERE qid=?1"                           \
        " AND number=(SELECT min(number) FROM " SQL_T(queue_lock) " WHERE qid=?1)")                \
    X(QUEUE_PAST_PURGE, "DELETE FROM " SQL_T(queue_past) " WHERE qid=?1"                           \
        " AND id IN (SELECT id FROM " SQL_T(queue_past) " WHERE qid=?1 LIMIT ?2)")                 \
    X(QUEUE_KEY_PURGE, "DELETE FROM " SQL_T(queue_key) " WHERE qid=?1"                             \
        " AND key IN (SELECT key FROM " SQL_T(queue_key) " WHERE qid=?1 LIMIT ?2)")

#define SQL_STATEMENTS(X) SQL_COMMON_STATEMENTS(X) SQL_NEAR_STATEMENTS(X)
/* clang-format on */

enum sql_statement {
#define SQL_STATEMENT_ENUM(name, sql) ST_##name,
    SQL_STATEMENTS(SQL_STATEMENT_ENUM)
#undef SQL_STATEMENT_ENUM
        SQL_STATEMENT_COUNT
};

#endif
