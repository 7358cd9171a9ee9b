/* SPDX-License-Identifier: MIT */
/*
 * store/sql/columns.h -- every column of every table, once.
 *
 * A list is a macro that hands each column of a table to M.  From it a store makes, at compile
 * time, the text that creates the table, the columns and parameters of its statements, the code
 * that binds and decodes a row and the columns of its bulk writes.  All of that code is straight:
 * nothing reads a list when it runs.  A new column is one line here, a field of its struct
 * (pawl/provider.h) and, where a database exists, a step of the schema.
 *
 *     M(POSITION, USE, TYPE, column, note)
 *
 * POSITION
 *     FIRST    of the table
 *     SET      the first of those that an update sets
 *     NEXT
 *     LAST     of the text that creates the table
 *     ADDED    not in that text: a step of the schema added it, whose number stands for the note
 * USE: where the value comes from, and when it changes
 *     KEY      it names the row; a local variable with its name has the value
 *     BESIDE   it stands beside the struct; a local variable with its name has the value
 *     FIXED    a field of the struct, written once
 *     CHANGES  a field of the struct, set by updates
 *     LATEST   the same, but a closed execution does not keep it
 *     OWN      the store's, not the struct's: never decoded; a local variable has the value
 * TYPE
 *     PRIMARY, ID        uint64_t; PRIMARY is the table's only key
 *     I64, INT, U32      int64_t, int, uint32_t
 *     BOOL, STATE, KIND  bool, pawl_state, int that may be NULL (then the row cannot be read)
 *     TEXT, NAME         pawl_str, UTF-8; NAME is unique
 *     BYTES              pawl_str, any bytes
 *     IDS                ids as text (lock_entries_text)
 *     LEASE              int64_t that is 0 without a lock_token
 *     SUM, JOINED        the check sum of the row; a uint64_t below 2^32 with the sum above it
 *
 * The order is that of the tables on disk, and notes are part of their text: both are released
 * and never change (tests/unit/test_sqlite_schema.c).  Lists are used by the SQL stores, and by
 * the memory store to find the strings of a row.
 */
#ifndef PAWL_STORE_SQL_COLUMNS_H
#define PAWL_STORE_SQL_COLUMNS_H

/* clang-format off */

/* ---- Instances: pawl_row ------------------------------------------------------- */

#define SQL_INSTANCE(M)                                                                            \
    M(FIRST,   KEY,     PRIMARY, uid, "")                                                          \
    M(SET,     LATEST,  STATE,   state, " -- 0 pending 1 running 2 suspended 3 blocked 4 completed"\
                                        " 5 failed 6 cancelled")                                   \
    M(NEXT,    CHANGES, ID,      first_rid, "")                                                    \
    M(NEXT,    CHANGES, I64,     created_ms, "")                                                   \
    M(NEXT,    FIXED,   NAME,    id, "")                                                           \
    M(NEXT,    CHANGES, TEXT,    orchestration, "")                                                \
    M(NEXT,    CHANGES, TEXT,    version, "")                                                      \
    M(NEXT,    FIXED,   ID,      parent_uid, "")                                                   \
    M(NEXT,    FIXED,   ID,      parent_execution, "")                                             \
    M(NEXT,    FIXED,   ID,      parent_ref, "")                                                   \
    M(NEXT,    FIXED,   TEXT,    parent_id, "")                                                    \
    M(NEXT,    LATEST,  BYTES,   output, "")                                                       \
    M(NEXT,    CHANGES, BYTES,   custom_status, "")                                                \
    M(LAST,    LATEST,  BYTES,   finding, "")                                                      \
    M(ADDED,   LATEST,  SUM,     sum, 4)                                                           \
    M(ADDED,   LATEST,  BYTES,   attributes, 6)

#define SQL_HEAD(M)                                                                                \
    M(FIRST,   KEY,     PRIMARY, uid, "")                                                          \
    M(SET,     CHANGES, ID,      execution, "")                                                    \
    M(NEXT,    CHANGES, ID,      last_seq, " -- last event of the execution")                      \
    M(NEXT,    CHANGES, ID,      last_rid, " -- its row in history")                               \
    M(LAST,    CHANGES, I64,     updated_ms, "")

/* A closed execution: what `instance` and `head` said of it. */
#define SQL_EXECUTION(M)                                                                           \
    M(FIRST,   KEY,     ID,      uid, "")                                                          \
    M(NEXT,    KEY,     ID,      execution, "")                                                    \
    M(NEXT,    FIXED,   TEXT,    orchestration, "")                                                \
    M(NEXT,    FIXED,   TEXT,    version, "")                                                      \
    M(NEXT,    BESIDE,  ID,      last_seq, "")                                                     \
    M(NEXT,    BESIDE,  ID,      last_rid, "")                                                     \
    M(NEXT,    BESIDE,  ID,      first_rid, "")                                                    \
    M(NEXT,    FIXED,   I64,     created_ms, "")                                                   \
    M(NEXT,    FIXED,   I64,     updated_ms, "")                                                   \
    M(NEXT,    FIXED,   BYTES,   custom_status, "")

/* ---- Events: pawl_event ---------------------------------------------------------- */

#define SQL_HISTORY(M)                                                                             \
    M(FIRST,   KEY,     PRIMARY, rid, "")                                                          \
    M(NEXT,    BESIDE,  ID,      uid, "")                                                          \
    M(NEXT,    FIXED,   ID,      execution, "")                                                    \
    M(NEXT,    FIXED,   JOINED,  seq, "")                                                          \
    M(NEXT,    BESIDE,  ID,      prev, " -- rid of event seq-1 of the execution; 0: the first")    \
    M(NEXT,    FIXED,   INT,     kind, " -- see event_kind")                                       \
    M(NEXT,    FIXED,   ID,      ref, "")                                                          \
    M(NEXT,    FIXED,   TEXT,    name, "")                                                         \
    M(NEXT,    FIXED,   BYTES,   data, "")                                                         \
    M(NEXT,    FIXED,   BYTES,   attrs, "")                                                        \
    M(LAST,    FIXED,   I64,     at_ms, "")

/* ---- Messages: pawl_message, pawl_message_update ----------------------------------- */

#define SQL_MESSAGE(M)                                                                             \
    M(FIRST,   KEY,     PRIMARY, id, "")                                                           \
    M(NEXT,    FIXED,   ID,      uid, " -- 0: for `instance` by name")                             \
    M(NEXT,    FIXED,   TEXT,    instance, "")                                                     \
    M(NEXT,    FIXED,   KIND,    kind, "         -- NULL cannot be read: moved to quarantine")     \
    M(NEXT,    FIXED,   ID,      execution, "")                                                    \
    M(NEXT,    FIXED,   ID,      ref, "")                                                          \
    M(NEXT,    FIXED,   TEXT,    name, "")                                                         \
    M(NEXT,    FIXED,   BYTES,   data, "")                                                         \
    M(NEXT,    FIXED,   BYTES,   attrs, "")                                                        \
    M(SET,     CHANGES, I64,     visible_ms, "")                                                   \
    M(NEXT,    FIXED,   I64,     created_ms, "")                                                   \
    M(NEXT,    CHANGES, U32,     attempt, "")                                                      \
    M(LAST,    CHANGES, BOOL,    mailbox, "")                                                      \
    M(ADDED,   FIXED,   SUM,     sum, 4)

/* ---- Work: pawl_work, pawl_work_update ----------------------------------------------- */

#define SQL_WORK(M)                                                                                \
    M(FIRST,   KEY,     PRIMARY, id, " -- rid of its ActivityScheduled event")                     \
    M(NEXT,    FIXED,   ID,      uid, "")                                                          \
    M(NEXT,    FIXED,   ID,      execution, "")                                                    \
    M(NEXT,    FIXED,   ID,      ref, "")                                                          \
    M(NEXT,    FIXED,   TEXT,    instance, "")                                                     \
    M(NEXT,    FIXED,   TEXT,    name, "")                                                         \
    M(NEXT,    FIXED,   BYTES,   input, "")                                                        \
    M(NEXT,    FIXED,   BYTES,   attrs, "")                                                        \
    M(SET,     CHANGES, U32,     attempt, "")                                                      \
    M(NEXT,    CHANGES, U32,     crashes, "")                                                      \
    M(NEXT,    CHANGES, I64,     visible_ms, "")                                                   \
    M(NEXT,    FIXED,   I64,     scheduled_ms, "")                                                 \
    M(NEXT,    CHANGES, I64,     deadline_ms, "")                                                  \
    M(NEXT,    CHANGES, BYTES,   last_error, "")                                                   \
    M(NEXT,    CHANGES, ID,      lock_epoch, "")                                                   \
    M(NEXT,    CHANGES, TEXT,    lock_token, "")                                                   \
    M(NEXT,    CHANGES, LEASE,   lock_until_ms, "")                                                \
    M(LAST,    OWN,     INT,     place, " -- 0 ready, 1 waits for a time, 2 held by the engine"    \
                                        " that owns the file")                                     \
    M(ADDED,   FIXED,   SUM,     sum, 4)

/* ---- Queues: pawl_queue_row -------------------------------------------------------------- */

#define SQL_QUEUE(M)                                                                               \
    M(FIRST,   KEY,     PRIMARY, qid, "")                                                          \
    M(NEXT,    FIXED,   NAME,    name, "")                                                         \
    M(SET,     CHANGES, BOOL,    paused, "")                                                       \
    M(NEXT,    FIXED,   I64,     created_ms, "")                                                   \
    M(NEXT,    CHANGES, I64,     due_ms, " -- when to look at it again; 0: never")                 \
    M(NEXT,    CHANGES, ID,      ready, "")                                                        \
    M(NEXT,    CHANGES, ID,      delayed, "")                                                      \
    M(NEXT,    CHANGES, ID,      locked, "")                                                       \
    M(NEXT,    CHANGES, ID,      locks, "")                                                        \
    M(NEXT,    CHANGES, ID,      bytes, "")                                                        \
    M(NEXT,    CHANGES, BYTES,   config, "")                                                       \
    M(LAST,    CHANGES, BYTES,   totals, "")

/* pawl_queue_entry, pawl_entry_update.  A note is written with an update of its own. */
#define SQL_ENTRY(M)                                                                               \
    M(FIRST,   KEY,     PRIMARY, id, "")                                                           \
    M(SET,     CHANGES, ID,      qid, "")                                                          \
    M(NEXT,    CHANGES, INT,     state, " -- 0 ready 1 delayed 2 locked")                          \
    M(NEXT,    FIXED,   I64,     priority, "")                                                     \
    M(NEXT,    CHANGES, ID,      place, " -- order within the priority")                           \
    M(NEXT,    CHANGES, I64,     visible_ms, "")                                                   \
    M(NEXT,    CHANGES, I64,     expires_ms, "")                                                   \
    M(NEXT,    FIXED,   I64,     enqueued_ms, "")                                                  \
    M(NEXT,    CHANGES, U32,     deliveries, "")                                                   \
    M(NEXT,    FIXED,   JOINED,  bytes, "")                                                        \
    M(NEXT,    FIXED,   BYTES,   note, "")                                                         \
    M(NEXT,    FIXED,   BYTES,   data, "")                                                         \
    M(LAST,    FIXED,   BYTES,   attrs, "")

/* pawl_queue_lock */
#define SQL_LOCK(M)                                                                                \
    M(FIRST,   KEY,     ID,      qid, "")                                                          \
    M(NEXT,    KEY,     ID,      number, "")                                                       \
    M(NEXT,    FIXED,   TEXT,    id, " -- the lock_id people see")                                 \
    M(NEXT,    FIXED,   I64,     created_ms, "")                                                   \
    M(SET,     CHANGES, I64,     until_ms, "")                                                     \
    M(NEXT,    CHANGES, IDS,     entries, " -- their ids")

/* pawl_queue_past */
#define SQL_PAST(M)                                                                                \
    M(FIRST,   KEY,     ID,      qid, "")                                                          \
    M(NEXT,    FIXED,   TEXT,    id, "")                                                           \
    M(NEXT,    FIXED,   ID,      number, "")                                                       \
    M(NEXT,    FIXED,   I64,     at_ms, "")

/* pawl_queue_key */
#define SQL_KEY(M)                                                                                 \
    M(FIRST,   KEY,     ID,      qid, "")                                                          \
    M(NEXT,    FIXED,   TEXT,    key, "")                                                          \
    M(NEXT,    FIXED,   ID,      entry, "")                                                        \
    M(NEXT,    FIXED,   I64,     expires_ms, "")

/* ---- Named objects: pawl_object ------------------------------------------------------------- */

#define SQL_OBJECT(M)                                                                              \
    M(FIRST,   FIXED,   INT,     kind, " -- 1 schedule 2 limit 3 hook 4 tool 5 code 6 link")       \
    M(NEXT,    FIXED,   TEXT,    name, "")                                                         \
    M(NEXT,    BESIDE,  ID,      version, " -- grows with every change")                           \
    M(NEXT,    BESIDE,  I64,     updated_ms, "")                                                   \
    M(NEXT,    FIXED,   BYTES,   data, "")                                                         \
    M(NEXT,    FIXED,   SUM,     sum, "")

/* ---- Text from a list ---------------------------------------------------------------------- */

/* "a,b,c"; "i.a,i.b,i.c"; "?,?,?". */
#define SQL_NAMES(position, use, type, column, note)      SQL_COMMA_##position #column
#define SQL_I_NAMES(position, use, type, column, note)    SQL_COMMA_##position "i." #column
#define SQL_PARAMETERS(position, use, type, column, note) SQL_COMMA_##position "?"
#define SQL_COMMA_FIRST
#define SQL_COMMA_SET     ","
#define SQL_COMMA_NEXT    ","
#define SQL_COMMA_LAST    ","
#define SQL_COMMA_ADDED   ","

/* Without those that were added to the table later. */
#define SQL_FIRST_NAMES(position, use, type, column, note) SQL_FIRST_NAMES_##position(#column)
#define SQL_FIRST_NAMES_FIRST(name) name
#define SQL_FIRST_NAMES_SET(name)   "," name
#define SQL_FIRST_NAMES_NEXT(name)  "," name
#define SQL_FIRST_NAMES_LAST(name)  "," name
#define SQL_FIRST_NAMES_ADDED(name)

/* M(position, use, type, column, note) where a row is read: without those of the store. */
#define SQL_READ(M, position, use, type, column) SQL_READ_##use(M, position, use, type, column)
#define SQL_READ_KEY(M, position, use, type, column)     M(position, use, type, column, "")
#define SQL_READ_BESIDE(M, position, use, type, column)  M(position, use, type, column, "")
#define SQL_READ_FIXED(M, position, use, type, column)   M(position, use, type, column, "")
#define SQL_READ_CHANGES(M, position, use, type, column) M(position, use, type, column, "")
#define SQL_READ_LATEST(M, position, use, type, column)  M(position, use, type, column, "")
#define SQL_READ_OWN(M, position, use, type, column)
#define SQL_READ_NAMES(position, use, type, column, note)                                          \
    SQL_READ(SQL_NAMES, position, use, type, column)

/* M for those that an update sets. */
#define SQL_CHANGED(M, position, use, type, column) SQL_CHANGED_##use(M, position, use, type, column)
#define SQL_CHANGED_KEY(M, position, use, type, column)
#define SQL_CHANGED_BESIDE(M, position, use, type, column)
#define SQL_CHANGED_FIXED(M, position, use, type, column)
#define SQL_CHANGED_CHANGES(M, position, use, type, column) M(position, use, type, column, "")
#define SQL_CHANGED_LATEST(M, position, use, type, column)  M(position, use, type, column, "")
#define SQL_CHANGED_OWN(M, position, use, type, column)     M(position, use, type, column, "")

/* "b=?,c=?"; "b=u.b,c=u.c"; ",b,c". */
#define SQL_SETS(position, use, type, column, note)                                                \
    SQL_CHANGED(SQL_SET, position, use, type, column)
#define SQL_U_SETS(position, use, type, column, note)                                              \
    SQL_CHANGED(SQL_U_SET, position, use, type, column)
#define SQL_SET_NAMES(position, use, type, column, note)                                           \
    SQL_CHANGED(SQL_SET_NAME, position, use, type, column)
#define SQL_SET(position, use, type, column, note)      SQL_SET_COMMA_##position #column "=?"
#define SQL_U_SET(position, use, type, column, note)    SQL_SET_COMMA_##position #column "=u." #column
#define SQL_SET_NAME(position, use, type, column, note) "," #column
#define SQL_SET_COMMA_SET
#define SQL_SET_COMMA_NEXT    ","
#define SQL_SET_COMMA_LAST    ","
#define SQL_SET_COMMA_ADDED   ","

/* ---- The row of an instance, read from `instance i` and `head h` --------------------------- */

#define SQL_ROW_NAMES SQL_INSTANCE(SQL_I_NAMES) SQL_HEAD(SQL_H_NAMES)
#define SQL_H_NAMES(position, use, type, column, note) SQL_H_NAMES_##use(#column)
#define SQL_H_NAMES_KEY(name)
#define SQL_H_NAMES_CHANGES(name) ",h." name

/* The same of a closed execution, from `instance i` and `execution x`. */
#define SQL_CLOSED_NAMES SQL_INSTANCE(SQL_X_NAMES) SQL_HEAD(SQL_XH_NAMES)
#define SQL_X_NAMES(position, use, type, column, note)                                             \
    SQL_COMMA_##position SQL_X_NAMES_##use(type, #column)
#define SQL_X_NAMES_KEY(type, name)     "i." name
#define SQL_X_NAMES_FIXED(type, name)   "i." name
#define SQL_X_NAMES_CHANGES(type, name) "x." name
#define SQL_X_NAMES_LATEST(type, name)  SQL_CLOSED_##type
#define SQL_CLOSED_STATE "7"
#define SQL_CLOSED_BYTES "''"
#define SQL_CLOSED_SUM   "0"
#define SQL_CLOSED_ID    "0"
#define SQL_CLOSED_I64   "0"
#define SQL_CLOSED_INT   "0"
#define SQL_CLOSED_U32   "0"
#define SQL_CLOSED_BOOL  "0"
#define SQL_CLOSED_TEXT  "''"
#define SQL_XH_NAMES(position, use, type, column, note) SQL_XH_NAMES_##use(#column)
#define SQL_XH_NAMES_KEY(name)
#define SQL_XH_NAMES_CHANGES(name) ",x." name

/* ---- Places of columns in what is read -------------------------------------------------------- */

#define SQL_ROW_AT(position, use, type, column, note)      ROW_##column,
#define SQL_ROW_HEAD_AT(position, use, type, column, note) SQL_ROW_HEAD_AT_##use(column)
#define SQL_ROW_HEAD_AT_KEY(column)
#define SQL_ROW_HEAD_AT_CHANGES(column) ROW_##column,
#define SQL_HEAD_AT(position, use, type, column, note)     HEAD_##column,
#define SQL_EVENT_AT(position, use, type, column, note)    EVENT_##column,
#define SQL_MESSAGE_AT(position, use, type, column, note)  MESSAGE_##column,
#define SQL_WORK_AT_(position, use, type, column, note)    WORK_##column,
#define SQL_WORK_AT(position, use, type, column, note)                                             \
    SQL_READ(SQL_WORK_AT_, position, use, type, column)
#define SQL_QUEUE_AT(position, use, type, column, note)    QUEUE_##column,
#define SQL_ENTRY_AT(position, use, type, column, note)    ENTRY_##column,
#define SQL_LOCK_AT(position, use, type, column, note)     LOCK_##column,
#define SQL_OBJECT_AT(position, use, type, column, note)    OBJECT_##column,
#define SQL_CHANGE_AT_(position, use, type, column, note)  CHANGE_##column,
#define SQL_CHANGE_AT(position, use, type, column, note)                                           \
    SQL_CHANGED(SQL_CHANGE_AT_, position, use, type, column)

enum sql_row_at { SQL_INSTANCE(SQL_ROW_AT) SQL_HEAD(SQL_ROW_HEAD_AT) };
enum sql_head_at { SQL_HEAD(SQL_HEAD_AT) };
enum sql_event_at { SQL_HISTORY(SQL_EVENT_AT) };
enum sql_message_at { SQL_MESSAGE(SQL_MESSAGE_AT) };
enum sql_work_at { SQL_WORK(SQL_WORK_AT) };
enum sql_queue_at { SQL_QUEUE(SQL_QUEUE_AT) };
enum sql_entry_at { SQL_ENTRY(SQL_ENTRY_AT) ENTRY_is_taken };
enum sql_lock_at { SQL_LOCK(SQL_LOCK_AT) };
enum sql_object_at { SQL_OBJECT(SQL_OBJECT_AT) };
enum sql_change_at { CHANGE_id, SQL_ENTRY(SQL_CHANGE_AT) }; /* of an entry */

/* clang-format on */

#endif
