/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_statements.h -- the SQL of queues; part of statements.h, whose
 * rules hold here too.
 */
#ifndef PAWL_STORE_SQLITE_QUEUE_STATEMENTS_H
#define PAWL_STORE_SQLITE_QUEUE_STATEMENTS_H

#define QUEUE_COLUMNS                                                                              \
    "qid,name,paused,created_ms,due_ms,ready,delayed,locked,locks,bytes,config,totals"
#define ENTRY_HEAD                                                                                 \
    "id,qid,state,priority,place,visible_ms,expires_ms,enqueued_ms,deliveries,bytes,note"
#define ENTRY_COLUMNS ENTRY_HEAD ",data,attrs"
/* Is an entry that looks ready locked?  See queue_schema.c. */
#define ENTRY_LOCK "(SELECT 1 FROM queue_lock l WHERE l.qid=e.qid AND l.number=e.id)"
#define ENTRY_SEEN                                                                                 \
    "SELECT " ENTRY_COLUMNS ",CASE WHEN e.state=0 THEN " ENTRY_LOCK " IS NOT NULL ELSE 0 END"      \
    " FROM queue_entry e"
/* Those that are not locked: as they look. */
#define ENTRY_FREE    "SELECT " ENTRY_COLUMNS ",0 FROM queue_entry e"
#define LOCK_COLUMNS  "qid,number,id,created_ms,until_ms,entries"
#define ENTRY_CHANGES "id,qid,state,place,visible_ms,expires_ms,deliveries"

/* clang-format off */
#define SQLITE_QUEUE_STATEMENTS(X)                                                                 \
    X(QUEUE_INSERT, "INSERT INTO queue(" QUEUE_COLUMNS ")"                                         \
        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")                                         \
    X(QUEUE_UPDATE, "UPDATE queue SET paused=?3,due_ms=?5,ready=?6,delayed=?7,locked=?8,locks=?9," \
        "bytes=?10,config=?11,totals=?12 WHERE qid=?1")                                            \
    X(ENTRY_INSERT, "INSERT OR FAIL INTO queue_entry(" ENTRY_COLUMNS ")"                           \
        " SELECT " ENTRY_COLUMNS " FROM pawl_entry")                                               \
    X(ENTRY_UPDATE, "UPDATE OR FAIL queue_entry AS e SET qid=u.qid,state=u.state,place=u.place,"   \
        "visible_ms=u.visible_ms,expires_ms=u.expires_ms,deliveries=u.deliveries"                  \
        " FROM pawl_entry_update u WHERE e.id=u.id")                                               \
    X(ENTRY_NOTE, "UPDATE queue_entry SET qid=?2,state=?3,place=?4,visible_ms=?5,expires_ms=?6,"   \
        "deliveries=?7,note=?8 WHERE id=?1")                                                       \
    X(ENTRY_DELETE, "DELETE FROM queue_entry WHERE id IN (SELECT id FROM pawl_entry_drop)")        \
    X(LOCK_INSERT, "INSERT OR FAIL INTO queue_lock(" LOCK_COLUMNS ")"                              \
        " SELECT " LOCK_COLUMNS " FROM pawl_lock")                                                 \
    X(LOCK_UPDATE, "UPDATE queue_lock SET until_ms=?3,entries=?4 WHERE qid=?1 AND number=?2")      \
    X(LOCK_DELETE, "DELETE FROM queue_lock WHERE qid=?1 AND number=?2")                            \
    X(PAST_INSERT, "INSERT OR REPLACE INTO queue_past(qid,id,number,at_ms) VALUES(?1,?2,?3,?4)")   \
    X(PAST_FORGET, "DELETE FROM queue_past WHERE qid=?1 AND at_ms<?2")                             \
    X(PAST_OLD, "SELECT number FROM queue_past INDEXED BY queue_past_number WHERE qid=?1"          \
        " ORDER BY number DESC LIMIT 1 OFFSET ?2")                                                 \
    X(PAST_TRIM, "DELETE FROM queue_past INDEXED BY queue_past_number WHERE qid=?1 AND number<=?2")\
    X(DEDUP_INSERT, "INSERT OR REPLACE INTO queue_key(qid,key,entry,expires_ms)"                   \
        " VALUES(?1,?2,?3,?4)")                                                                    \
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
    X(QUEUE_BY_NAME, "SELECT " QUEUE_COLUMNS " FROM queue WHERE name=?1")                          \
    X(QUEUES_FROM, "SELECT " QUEUE_COLUMNS " FROM queue WHERE name>?1 AND name>=?2"                \
        " ORDER BY name")                                                                          \
    X(QUEUES_DUE, "SELECT " QUEUE_COLUMNS " FROM queue WHERE due_ms>0 AND due_ms<=?1"              \
        " ORDER BY due_ms,qid LIMIT ?2")                                                           \
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
    X(LOCKS_READ, "SELECT number,qid,id,created_ms,until_ms,entries FROM queue_lock WHERE qid=?1"  \
        " ORDER BY number LIMIT ?2")                                                               \
    X(LOCKS_FROM, "SELECT number,qid,id,created_ms,until_ms,entries FROM queue_lock WHERE qid=?1"  \
        " AND number>=?2 ORDER BY number")                                                         \
    X(PAST_READ, "SELECT 1 FROM queue_past WHERE qid=?1 AND id=?2")                                \
    X(DEDUP_READ, "SELECT entry,expires_ms FROM queue_key WHERE qid=?1 AND key=?2")                \
    X(LEVELS, "SELECT priority,count(*) FROM queue_entry e WHERE state=0 AND qid=?1"               \
        " AND " ENTRY_LOCK " IS NULL GROUP BY priority ORDER BY priority LIMIT ?2")
/* clang-format on */

#endif
