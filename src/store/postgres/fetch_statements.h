/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/fetch_statements.h -- statements that take messages and work, answer many
 * questions at once, and write queues; X(NAME, SQL), see pg_statements.h.
 *
 * A name that is looked for is compared as `COLLATE "C"`, like the column: otherwise the server
 * does not know which order is meant.  OFFSET 0 keeps a subquery apart, where the planner could
 * otherwise go along an index by time and look for a few ids in it.  Statements that must find
 * every row count them (PG_COUNTED in commit_statements.h).
 */
#ifndef PAWL_STORE_POSTGRES_FETCH_STATEMENTS_H
#define PAWL_STORE_POSTGRES_FETCH_STATEMENTS_H

/* clang-format off */

/* ---- Work --------------------------------------------------------------------------------- */

/* From when on a row of `work` is free. */
#define PG_FREE_MS   "greatest(visible_ms,lock_until_ms)"
/* Its names, and what is behind the place that was read; $1 to $3. */
#define PG_ASKED     "unnest($1::text[],$2::bigint[]) AS n(name,after)"
#define PG_ASKED_DUE "unnest($1::text[],$2::bigint[],$3::bigint[]) WITH ORDINALITY AS n(name,ms,id,o)"
#define PG_IDS       "unnest($1::bigint[]) WITH ORDINALITY AS t(id,o)"
/* Free work of a name, in the order of time, behind a place; $6 our shards. */
#define PG_WAITING                                                                                 \
    "SELECT id," PG_FREE_MS " AS ms FROM @.work WHERE NOT held AND name=n.name COLLATE \"C\""      \
    " AND " PG_AMONG("$6", "shard")                                                                \
    " AND (" PG_FREE_MS ",id)>(n.ms,n.id)"
/* The names of free work, one search of the index each. */
#define PG_NAMES_OF(f, table, free)                                                                \
    f " AS ((SELECT name FROM " table " WHERE " free " ORDER BY name LIMIT 1) UNION ALL"           \
    " SELECT (SELECT x.name FROM " table " x WHERE " free " AND x.name>" f ".name"                 \
    " ORDER BY x.name LIMIT 1) FROM " f " WHERE " f ".name IS NOT NULL)"

#define PG_NAME_OURS(f, table, free)                                                               \
    "name IS NOT NULL AND ($1::bigint=-1 OR EXISTS(SELECT 1 FROM " table " x WHERE " free          \
    " AND x.name=" f ".name AND " PG_AMONG("$1", "x.shard") "))"

#define PG_FETCH_WORK_STATEMENTS(X)                                                                \
    /* At most $3 rows with ids above `after` and $4, by id; $5 our shards, $6 the end of our ids. */ \
    X(FRESH_PAGE, "SELECT " PG_UNTRIED_COLUMNS " FROM (SELECT f.id,f.lock_epoch,f.shard FROM "     \
        PG_ASKED " CROSS JOIN LATERAL (SELECT id,lock_epoch,shard FROM @.work_fresh"               \
        " WHERE lock_epoch<=0 AND " PG_AMONG("$5", "shard")                                        \
        " AND (name,id)>(n.name COLLATE \"C\",greatest(n.after,$4::bigint))"                       \
        " AND (name,id)<(n.name COLLATE \"C\",$6::bigint) ORDER BY name,id" /* as PG_OF_PARENT */  \
        " LIMIT $3::bigint) f ORDER BY f.id LIMIT $3::bigint)" PG_UNTRIED_JOIN " ORDER BY l.id")   \
    X(READY_PAGE, "SELECT " PG_WORK_COLUMNS " FROM (SELECT w.* FROM " PG_ASKED                     \
        " CROSS JOIN LATERAL (SELECT * FROM @.work WHERE NOT held AND name=n.name COLLATE \"C\""   \
        " AND " PG_AMONG("$5", "shard") " AND " PG_FREE_MS "=0"                                    \
        " AND id>greatest(n.after,$4::bigint) AND id<$6::bigint ORDER BY id LIMIT $3::bigint) w"   \
        " ORDER BY w.id LIMIT $3::bigint) x ORDER BY id")                                          \
    /* Ids of work that is free at $4, at most $5 a name, and of the first that is free later. */  \
    X(DUE_PAGE, "SELECT n.o,w.id,w.ms FROM " PG_ASKED_DUE " CROSS JOIN LATERAL (("                 \
        PG_WAITING " AND " PG_FREE_MS ">0 AND " PG_FREE_MS "<=$4::bigint"                          \
        " ORDER BY " PG_FREE_MS ",id LIMIT $5::bigint) UNION ALL ("                                \
        PG_WAITING " AND " PG_FREE_MS ">$4::bigint ORDER BY " PG_FREE_MS ",id LIMIT 1)) w"         \
        " ORDER BY n.o,w.ms,w.id")                                                                 \
    /* Work by id wherever it is, with the place of its id in $1. */                               \
    X(WORK_BY_IDS, "SELECT " PG_WORK_COLUMNS ",o FROM (SELECT w.*,t.o FROM " PG_IDS                \
        " JOIN @.work w ON w.id=ANY(ARRAY[t.id])) x UNION ALL SELECT " PG_UNTRIED_COLUMNS ",l.o FROM"          \
        " (SELECT f.id,f.lock_epoch,f.shard,t.o FROM " PG_IDS " JOIN @.work_fresh f ON f.id=ANY(ARRAY[t.id]))"         \
        PG_UNTRIED_JOIN " UNION ALL SELECT " PG_UNTRIED_OF("g.shard") ",l.o FROM"                  \
        " (SELECT t.id," PG_EPOCH_OF("t.id") " AS lock_epoch,t.o FROM " PG_IDS ")" PG_UNTRIED_JOIN \
        " JOIN @.head g ON g.uid=ANY(ARRAY[h.uid]) AND " PG_OPEN1("g") "=l.id ORDER BY o")                               \
    /* Where work of our shards ($2) is: its name, when it is free, and whether a page can find it. */ \
    X(WORK_PLACES, "SELECT w.id,w.name," PG_FREE_MS ",NOT w.held FROM " PG_IDS                     \
        " JOIN @.work w ON w.id=ANY(ARRAY[t.id]) AND " PG_AMONG("$2", "w.shard")                   \
        " UNION ALL SELECT f.id,f.name,0,f.lock_epoch<=0 FROM " PG_IDS                             \
        " JOIN @.work_fresh f ON f.id=ANY(ARRAY[t.id]) AND " PG_AMONG("$2", "f.shard")             \
        " UNION ALL SELECT t.id," PG_PART("h", "t.id", "name")                                     \
        ",0,false FROM " PG_IDS " JOIN @.history h ON " PG_ROW_OF("h", "t.id")                     \
        " JOIN @.head g ON g.uid=ANY(ARRAY[h.uid]) AND " PG_OPEN1("g") "=t.id AND "                \
        PG_AMONG("$2", "g.shard"))                                                                 \
    /* $1 our shards: a lane that has all need not look whose the rows are. */                     \
    X(WORK_NAMES, "WITH RECURSIVE " PG_NAMES_OF("f", "@.work_fresh", "lock_epoch<=0") ","          \
        PG_NAMES_OF("w", "@.work", "NOT held") " SELECT name FROM f WHERE "                        \
        PG_NAME_OURS("f", "@.work_fresh", "lock_epoch<=0")                                         \
        " UNION SELECT name FROM w WHERE " PG_NAME_OURS("w", "@.work", "NOT held"))                \
    X(WORK_NAMED, "SELECT " PG_WORK_COLUMNS " FROM @.work WHERE NOT held AND name=$1::text COLLATE \"C\""\
        " AND " PG_FREE_MS ">$2::bigint AND " PG_AMONG("$4", "shard")                              \
        " ORDER BY " PG_FREE_MS ",id LIMIT $3::bigint")                                            \
    X(DEADLINES, "SELECT " PG_WORK_COLUMNS " FROM unnest($3::smallint[]) AS t(s)"                  \
        " CROSS JOIN LATERAL (SELECT * FROM @.work WHERE shard=t.s AND deadline_ms>0"              \
        " AND deadline_ms<=$1::bigint ORDER BY deadline_ms,id LIMIT $2::bigint) w"                 \
        " ORDER BY deadline_ms,id LIMIT $2::bigint")

/* ---- Messages, due times ------------------------------------------------------------------- */

#define PG_FETCH_MAIL_STATEMENTS(X)                                                                \
    /* Of each shard ($1) the rows behind a place ($2, $3) that are visible at $4, at most $5, by   \
     * shard; without those of $6. */                                                              \
    X(MAIL_PAGE, "SELECT " SQL_MAIL_COLUMNS " FROM unnest($1::smallint[],$2::bigint[],"            \
        "$3::bigint[]) AS t(s,ms,i) CROSS JOIN LATERAL (SELECT * FROM @.message WHERE mailbox=0"   \
        " AND shard=t.s AND (visible_ms,id)>(t.ms,t.i) AND visible_ms<=$4::bigint"                 \
        " AND id NOT IN (SELECT unnest($6::bigint[])) ORDER BY visible_ms,id LIMIT $5::bigint) m") \
    X(MAIL_BY_IDS, "SELECT " SQL_MAIL_COLUMNS " FROM (SELECT * FROM @.message"                     \
        " WHERE id=ANY($1::bigint[]) OFFSET 0) m WHERE mailbox=0 AND visible_ms<=$2::bigint"       \
        " AND " PG_AMONG("$4", "shard") " ORDER BY visible_ms,id LIMIT $3::bigint")                                                \
    X(MAIL_ASIDE, "WITH d AS (DELETE FROM @.message WHERE id=ANY($1::bigint[])"                    \
        " AND EXISTS(SELECT 1 FROM @.lane WHERE lane=$2::bigint AND epoch=$3::bigint)"             \
        " RETURNING *) INSERT INTO @.quarantine(reason,id,uid,created_ms,execution,ref,kind,"      \
        "instance,name,data,attrs,shard,visible_ms,attempt,mailbox) SELECT $4::bytea,id,uid,"      \
        "created_ms,execution,ref,kind,instance,name,data,attrs,shard,visible_ms,attempt,mailbox"  \
        " FROM d")                                                                                 \
    X(NEXT_DUE, "SELECT t.s,(SELECT visible_ms FROM @.message WHERE mailbox=0 AND shard=t.s"       \
        " AND visible_ms>$1::bigint ORDER BY visible_ms LIMIT 1),"                                 \
        "(SELECT deadline_ms FROM @.work WHERE shard=t.s AND deadline_ms>0"                        \
        " AND deadline_ms>$1::bigint ORDER BY deadline_ms LIMIT 1),"                               \
        "(SELECT visible_ms FROM @.work WHERE shard=t.s AND visible_ms>0"                          \
        " AND visible_ms>$1::bigint ORDER BY visible_ms LIMIT 1) FROM unnest($2::smallint[]) AS t(s)")

/* ---- Many questions at once ----------------------------------------------------------------- */

/* The place of the question comes behind the columns of the row. */
#define PG_LOAD_STATEMENTS(X)                                                                      \
    X(ROWS_BY_IDS, "SELECT " SQL_ROW_COLUMNS ",t.o FROM unnest($1::text[])"                        \
        " WITH ORDINALITY AS t(id,o) JOIN @.instance i ON i.id=ANY(ARRAY[t.id COLLATE \"C\"])"                 \
        " JOIN @.head h ON h.uid=ANY(ARRAY[i.uid])")                                                           \
    X(IDS_THERE, "SELECT t.o FROM unnest($1::text[]) WITH ORDINALITY AS t(id,o)"                   \
        " WHERE (SELECT 1 FROM @.instance i WHERE i.id=t.id COLLATE \"C\") IS NOT NULL")           \
    X(ROWS_BY_UIDS, "SELECT " SQL_ROW_COLUMNS ",t.o FROM " PG_IDS                                  \
        " JOIN @.instance i ON i.uid=ANY(ARRAY[t.id]) JOIN @.head h ON h.uid=ANY(ARRAY[i.uid])")                           \
    /* $1 a uid or 0, $2 else an id, $3 a key. */                                                  \
    X(KEYS_THERE, "SELECT t.o FROM (SELECT a.o,a.key,CASE WHEN a.uid>0 THEN a.uid ELSE"            \
        " (SELECT i.uid FROM @.instance i WHERE i.id=a.id COLLATE \"C\") END AS uid FROM"          \
        " unnest($1::bigint[],$2::text[],$3::bytea[]) WITH ORDINALITY AS a(uid,id,key,o)"          \
        " OFFSET 0) t WHERE (SELECT 1 FROM @.dedup d WHERE d.uid=t.uid AND d.key=t.key) IS NOT NULL"\
        " AND (SELECT 1 FROM @.head h WHERE h.uid=t.uid) IS NOT NULL")                             \
    /* $1 a queue, $2 keys. */                                                                     \
    X(QUEUE_KEYS, "SELECT t.o,k.entry,k.expires_ms FROM unnest($2::bytea[])"                       \
        " WITH ORDINALITY AS t(key,o) CROSS JOIN LATERAL (SELECT entry,expires_ms"                 \
        " FROM @.queue_key WHERE qid=$1::bigint AND " SQL_SAME("key", "t.key") " OFFSET 0) k")

/* ---- Queues ----------------------------------------------------------------------------------- */

#define PG_QUEUE_COLUMNS                                                                           \
    "qid,created_ms,shard,name,due_ms,ready,delayed,locked,locks,bytes,paused,config,totals"
#define PG_ENTRY_TABLE                                                                             \
    "id,priority,enqueued_ms,bytes,data,attrs,qid,place,visible_ms,expires_ms,deliveries,state,note"

#define PG_QUEUE_STATEMENTS(X)                                                                     \
    X(QUEUE_INSERT, "INSERT INTO @.queue(" PG_QUEUE_COLUMNS ") SELECT q,c,s,n,d,r,l,k,o,b,p,f,t"   \
        " FROM unnest($1::bigint[],$2::bigint[],$3::text[],$4::bigint[],$5::bigint[],"             \
        "$6::bigint[],$7::bigint[],$8::bigint[],$9::bigint[],$10::boolean[],$11::bytea[],"         \
        "$12::bytea[],$13::smallint[]) AS t(q,c,n,d,r,l,k,o,b,p,f,t,s)")                                             \
    X(QUEUE_UPDATE, PG_COUNTED("UPDATE @.queue q SET due_ms=t.d,ready=t.r,delayed=t.l,"            \
        "locked=t.k,locks=t.o,bytes=t.b,paused=t.p,config=t.f,totals=t.t FROM"                     \
        " unnest($1::bigint[],$2::bigint[],$3::bigint[],$4::bigint[],$5::bigint[],$6::bigint[],"   \
        "$7::bigint[],$8::boolean[],$9::bytea[],$10::bytea[]) AS t(q,d,r,l,k,o,b,p,f,t)"           \
        " WHERE q.qid=ANY(ARRAY[t.q])", "$11"))                                                                \
    X(ENTRY_INSERT, "INSERT INTO @.queue_entry(" PG_ENTRY_TABLE ") SELECT * FROM"                  \
        " unnest($1::bigint[],$2::bigint[],$3::bigint[],$4::bigint[],$5::bytea[],$6::bytea[],"     \
        "$7::bigint[],$8::bigint[],$9::bigint[],$10::bigint[],$11::bigint[],$12::smallint[],"      \
        "$13::bytea[])")                                                                           \
    /* A note that is NULL stays. */                                                               \
    X(ENTRY_UPDATE, PG_COUNTED("UPDATE @.queue_entry e SET qid=t.q,place=t.p,visible_ms=t.v,"      \
        "expires_ms=t.x,deliveries=t.d,state=t.s,note=coalesce(t.n,e.note) FROM"                   \
        " unnest($1::bigint[],$2::bigint[],$3::bigint[],$4::bigint[],$5::bigint[],$6::bigint[],"   \
        "$7::smallint[],$8::bytea[]) AS t(id,q,p,v,x,d,s,n) WHERE e.id=ANY(ARRAY[t.id])", "$9"))               \
    X(ENTRY_DROP, PG_COUNTED("DELETE FROM @.queue_entry WHERE id=ANY($1::bigint[])", "$2"))        \
    /* The entries of all locks are one array; `f` and `l` say which are whose. */                 \
    X(LOCK_INSERT, "INSERT INTO @.queue_lock(qid,number,created_ms,until_ms,id,entries)"           \
        " SELECT q,n,c,u,i,($8::bigint[])[f:l] FROM unnest($1::bigint[],$2::bigint[],"             \
        "$3::bigint[],$4::bigint[],$5::text[],$6::int[],$7::int[]) AS t(q,n,c,u,i,f,l)")           \
    X(LOCK_UPDATE, PG_COUNTED("UPDATE @.queue_lock k SET until_ms=t.u,"                            \
        "entries=($6::bigint[])[t.f:t.l] FROM unnest($1::bigint[],$2::bigint[],$3::bigint[],"      \
        "$4::int[],$5::int[]) AS t(q,n,u,f,l) WHERE k.qid=ANY(ARRAY[t.q]) AND k.number=t.n", "$7"))            \
    X(LOCK_DROP, PG_COUNTED("DELETE FROM @.queue_lock k USING unnest($1::bigint[],$2::bigint[])"   \
        " AS t(q,n) WHERE k.qid=ANY(ARRAY[t.q]) AND k.number=t.n", "$3"))                                      \
    /* Of rows with one key the last one counts. */                                                \
    X(PAST_INSERT, "INSERT INTO @.queue_past(qid,id,number,at_ms) SELECT DISTINCT ON (q,i) q,i,n,a"\
        " FROM unnest($1::bigint[],$2::bytea[],$3::bigint[],$4::bigint[])"                         \
        " WITH ORDINALITY AS t(q,i,n,a,o) ORDER BY q,i,o DESC ON CONFLICT(qid,id)"                 \
        " DO UPDATE SET number=excluded.number,at_ms=excluded.at_ms")                              \
    X(QUEUE_KEY_INSERT, "INSERT INTO @.queue_key(qid,key,entry,expires_ms)"                        \
        " SELECT DISTINCT ON (q,k) q,k,e,x FROM unnest($1::bigint[],$2::bytea[],$3::bigint[],"     \
        "$4::bigint[]) WITH ORDINALITY AS t(q,k,e,x,o) ORDER BY q,k,o DESC ON CONFLICT(qid,key)"   \
        " DO UPDATE SET entry=excluded.entry,expires_ms=excluded.expires_ms")                      \
    /* $1 queues, $2 those older than it, $3 all but as many of the rest. */                       \
    X(PAST_FORGET, "DELETE FROM @.queue_past p USING (SELECT q,b,(SELECT x.number"                 \
        " FROM @.queue_past x WHERE x.qid=q AND x.at_ms>=b ORDER BY x.number DESC"                 \
        " OFFSET k LIMIT 1) AS n FROM unnest($1::bigint[],$2::bigint[],$3::bigint[]) AS t(q,b,k)"  \
        " OFFSET 0) z WHERE p.qid=ANY(ARRAY[z.q]) AND (p.at_ms<z.b OR p.number<=z.n)")                         \
    X(QUEUE_KEY_FORGET, "DELETE FROM @.queue_key k USING unnest($1::bigint[],$2::bigint[])"        \
        " AS t(q,m) WHERE k.qid=ANY(ARRAY[t.q]) AND k.expires_ms<=t.m")                                        \
    X(QUEUE_DROP, "WITH d AS (DELETE FROM @.queue WHERE qid=ANY($1::bigint[]) RETURNING qid,shard),"\
        "b AS (INSERT INTO @.tomb(uid,execution,last_rid,shard) SELECT qid,-1,0,shard FROM d"      \
        " RETURNING 1)"                                                                            \
        " SELECT 1/(count(*)=$2::bigint)::int FROM b")                                             \
    /* ENTRY_READ for many, with the place of the id behind the columns. */                        \
    X(ENTRIES_BY_IDS, "SELECT " SQL_ENTRY_COLUMNS "," SQL_ENTRY_TAKEN ",t.o FROM"                  \
        " unnest(?1::bigint[]) WITH ORDINALITY AS t(id,o) JOIN @.queue_entry e"                    \
        " ON e.id=ANY(ARRAY[t.id]) ORDER BY t.o")                                                  \
    /* Due times: all of them in pages, and the rows of those that are due. */                     \
    X(QUEUE_TIMES, "SELECT qid,due_ms FROM @.queue WHERE qid>$1::bigint"                           \
        " AND " PG_AMONG("$3", "shard") " ORDER BY qid"                                            \
        " LIMIT $2::bigint")                                                                       \
    X(QUEUES_BY_QID, SQL_READ_QUEUES " WHERE qid=ANY($1::bigint[]) ORDER BY due_ms,qid"            \
        " LIMIT $2::bigint")

#define PG_FETCH_STATEMENTS(X)                                                                     \
    PG_FETCH_WORK_STATEMENTS(X) PG_FETCH_MAIL_STATEMENTS(X) PG_LOAD_STATEMENTS(X)                  \
    PG_QUEUE_STATEMENTS(X)
/* clang-format on */

#endif
