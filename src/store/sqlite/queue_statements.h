/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_statements.h -- the SQL of queues; part of statements.h, whose
 * rules hold here too.
 */
#ifndef PAWL_STORE_SQLITE_QUEUE_STATEMENTS_H
#define PAWL_STORE_SQLITE_QUEUE_STATEMENTS_H

#include "store/sql/columns.h"

#define ENTRY_CHANGES "id" SQL_ENTRY(SQL_SET_NAMES)

/* clang-format off */
#define SQLITE_QUEUE_STATEMENTS(X)                                                                 \
    X(QUEUE_INSERT, "INSERT INTO queue(" SQL_QUEUE(SQL_NAMES) ")"                                  \
        " VALUES(" SQL_QUEUE(SQL_PARAMETERS) ")")                                                  \
    X(QUEUE_UPDATE, "UPDATE queue SET " SQL_QUEUE(SQL_SETS) " WHERE qid=?")                        \
    X(ENTRY_INSERT, "INSERT OR FAIL INTO queue_entry(" SQL_ENTRY(SQL_NAMES) ")"                    \
        " SELECT " SQL_ENTRY(SQL_NAMES) " FROM pawl_entry")                                        \
    X(ENTRY_UPDATE, "UPDATE OR FAIL queue_entry AS e SET " SQL_ENTRY(SQL_U_SETS)                   \
        " FROM pawl_entry_update u WHERE e.id=u.id")                                               \
    X(ENTRY_NOTE, "UPDATE queue_entry SET " SQL_ENTRY(SQL_SETS) ",note=? WHERE id=?")              \
    X(ENTRY_DELETE, "DELETE FROM queue_entry WHERE id IN (SELECT id FROM pawl_entry_drop)")        \
    X(LOCK_INSERT, "INSERT OR FAIL INTO queue_lock(" SQL_LOCK(SQL_NAMES) ")"                       \
        " SELECT " SQL_LOCK(SQL_NAMES) " FROM pawl_lock")                                          \
    X(LOCK_UPDATE, "UPDATE queue_lock SET " SQL_LOCK(SQL_SETS) " WHERE qid=? AND number=?")        \
    X(LOCK_DELETE, "DELETE FROM queue_lock WHERE qid=?1 AND number=?2")                            \
    X(PAST_INSERT, "INSERT OR REPLACE INTO queue_past(" SQL_PAST(SQL_NAMES) ")"                    \
        " VALUES(" SQL_PAST(SQL_PARAMETERS) ")")                                                   \
    X(PAST_FORGET, "DELETE FROM queue_past WHERE qid=?1 AND at_ms<?2")                             \
    X(PAST_OLD, "SELECT number FROM queue_past INDEXED BY queue_past_number WHERE qid=?1"          \
        " ORDER BY number DESC LIMIT 1 OFFSET ?2")                                                 \
    X(PAST_TRIM, "DELETE FROM queue_past INDEXED BY queue_past_number WHERE qid=?1 AND number<=?2")\
    X(DEDUP_INSERT, "INSERT OR REPLACE INTO queue_key(" SQL_KEY(SQL_NAMES) ")"                     \
        " VALUES(" SQL_KEY(SQL_PARAMETERS) ")")                                                    \
    X(DEDUP_FORGET, "DELETE FROM queue_key WHERE qid=?1 AND expires_ms<=?2")                       \
    X(QUEUE_DELETE, "DELETE FROM queue WHERE qid=?1")                                              \
    X(QUEUE_TOMB, "INSERT INTO tomb(uid,execution,last_rid) VALUES(?1,-1,0)")                      \
    X(DUE_QUEUE, "SELECT due_ms FROM queue WHERE due_ms>0 AND due_ms>?1 ORDER BY due_ms LIMIT 1")
/* clang-format on */

#endif
