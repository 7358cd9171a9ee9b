/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_statements.h -- the SQL of queues; part of statements.h, whose
 * rules hold here too.
 */
#ifndef PAWL_STORE_SQLITE_QUEUE_STATEMENTS_H
#define PAWL_STORE_SQLITE_QUEUE_STATEMENTS_H

#include "store/sql/columns.h"

#define READ_QUEUES "SELECT " SQL_QUEUE(SQL_NAMES) " FROM queue"
#define READ_LOCKS  "SELECT " SQL_LOCK(SQL_NAMES) " FROM queue_lock"
/* Is an entry that looks ready locked?  See queue_schema.c. */
#define ENTRY_LOCK "(SELECT 1 FROM queue_lock l WHERE l.qid=e.qid AND l.number=e.id)"
#define ENTRY_SEEN                                                                                 \
    "SELECT " SQL_ENTRY(SQL_NAMES) ",CASE WHEN e.state=0 THEN " ENTRY_LOCK                         \
                                   " IS NOT NULL ELSE 0 END FROM queue_entry e"
/* Those that are not locked: as they look. */
#define ENTRY_FREE    "SELECT " SQL_ENTRY(SQL_NAMES) ",0 FROM queue_entry e"
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
    X(QUEUE_READY_PURGE, "DELETE FROM queue_entry WHERE id IN (SELECT id FROM queue_entry"         \
        " WHERE state=0 AND qid=?1 LIMIT ?2)")                                                     \
    X(QUEUE_DELAYED_PURGE, "DELETE FROM queue_entry WHERE id IN (SELECT id FROM queue_entry"       \
        " WHERE state=1 AND qid=?1 LIMIT ?2)")                                                     \
    X(QUEUE_HELD_PURGE, "DELETE FROM queue_entry WHERE qid=?1 AND id IN (SELECT value FROM"        \
        " json_each(coalesce((SELECT iif(json_valid('['||replace(entries,' ',',')||']'),"          \
        " '['||replace(entries,' ',',')||']','[]') FROM queue_lock WHERE qid=?1"                   \
        " ORDER BY number LIMIT 1),'[]')))")                                                        \
    X(QUEUE_LOCK_PURGE, "DELETE FROM queue_lock WHERE qid=?1"                                      \
        " AND number=(SELECT min(number) FROM queue_lock WHERE qid=?1)")                           \
    X(QUEUE_PAST_PURGE, "DELETE FROM queue_past WHERE qid=?1"                                      \
        " AND id IN (SELECT id FROM queue_past WHERE qid=?1 LIMIT ?2)")                            \
    X(QUEUE_KEY_PURGE, "DELETE FROM queue_key WHERE qid=?1"                                        \
        " AND key IN (SELECT key FROM queue_key WHERE qid=?1 LIMIT ?2)")                           \
    X(QUEUE_BY_NAME, READ_QUEUES " WHERE name=?1")                                                 \
    X(QUEUES_FROM, READ_QUEUES " WHERE name>?1 AND name>=?2 ORDER BY name")                        \
    X(QUEUES_DUE, READ_QUEUES " WHERE due_ms>0 AND due_ms<=?1 ORDER BY due_ms,qid LIMIT ?2")       \
    X(DUE_QUEUE, "SELECT due_ms FROM queue WHERE due_ms>0 AND due_ms>?1 ORDER BY due_ms LIMIT 1")  \
    X(ENTRIES_READY_AT, ENTRY_FREE " WHERE state=0 AND qid=?1 AND priority=?2 AND place>=?3"       \
        " AND " ENTRY_LOCK " IS NULL ORDER BY place")                                              \
    X(ENTRIES_READY_ABOVE, ENTRY_FREE " WHERE state=0 AND qid=?1 AND priority>?2"                  \
        " AND " ENTRY_LOCK " IS NULL ORDER BY priority,place")                                     \
    X(ENTRIES_DELAYED_AT, ENTRY_FREE " WHERE state=1 AND qid=?1 AND visible_ms=?2 AND id>?3"       \
        " ORDER BY id")                                                                            \
    X(ENTRIES_DELAYED_ABOVE, ENTRY_FREE " WHERE state=1 AND qid=?1 AND visible_ms>?2"              \
        " ORDER BY visible_ms,id")                                                                 \
    X(ENTRIES_EXPIRING, ENTRY_FREE " WHERE state<2 AND expires_ms>0 AND qid=?1"                    \
        " AND (state=1 OR " ENTRY_LOCK " IS NULL) ORDER BY expires_ms,id")                         \
    X(ENTRIES_BY_ID, ENTRY_SEEN " WHERE id>?2 ORDER BY id")                                        \
    X(ENTRY_READ, ENTRY_SEEN " WHERE id=?1")                                                       \
    X(LOCKS_READ, READ_LOCKS " WHERE qid=?1 ORDER BY number LIMIT ?2")                             \
    X(LOCKS_FROM, READ_LOCKS " WHERE qid=?1 AND number>=?2 ORDER BY number")                       \
    X(PAST_READ, "SELECT 1 FROM queue_past WHERE qid=?1 AND id=?2")                                \
    X(DEDUP_READ, "SELECT entry,expires_ms FROM queue_key WHERE qid=?1 AND key=?2")                \
    X(LEVELS, "SELECT priority,count(*) FROM queue_entry e WHERE state=0 AND qid=?1"               \
        " AND " ENTRY_LOCK " IS NULL GROUP BY priority ORDER BY priority LIMIT ?2")
/* clang-format on */

#endif
