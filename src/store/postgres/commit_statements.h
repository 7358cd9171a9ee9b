/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/commit_statements.h -- statements that write, X(NAME, SQL); see pg_statements.h.
 *
 * A group has one statement per table that it touches: its parameters are arrays, one per column,
 * and unnest() makes rows of them.  A statement that must find every row divides by whether it did:
 * 1/(count=n)::int.  So the server itself refuses (22012), COMMIT is in the same round trip, and
 * statements after a refusal are not carried out.  The keys of the tables refuse rows that exist
 * already (23505).
 *
 * The columns of each list of a group are in pg_group.h.
 */
#ifndef PAWL_STORE_POSTGRES_COMMIT_STATEMENTS_H
#define PAWL_STORE_POSTGRES_COMMIT_STATEMENTS_H

/* clang-format off */
#define PG_8          "::bigint[]"
#define PG_4          "::int[]"
#define PG_2          "::smallint[]"
#define PG_T          "::text[]"
#define PG_B          "::bytea[]"
#define PG_COUNTED(dml, n) "WITH x AS (" dml " RETURNING 1) SELECT 1/(count(*)=" n "::bigint)::int FROM x"
/* The id of the untried work in a head; open1 is -1 where that is the last event. */
#define PG_OPEN1(h)   "CASE " h ".open1 WHEN -1 THEN " h ".last_rid ELSE " h ".open1 END"
#define PG_BY_NAME    " ORDER BY t.k,t.n COLLATE \"C\""
#define PG_ODD_STATES "2,3,5,6" /* suspended, blocked, failed, cancelled: those in `odd` */
#define PG_STARTED_US "(SELECT (extract(epoch FROM backend_start)*1000000)::bigint FROM pg_stat_activity" \
    " WHERE pid=pg_backend_pid())"
/* The highest id that is stored. */
#define PG_HIGHEST                                                                                 \
    "greatest((SELECT rid+(kind2 IS NOT NULL)::int FROM @.history ORDER BY rid DESC LIMIT 1),"     \
    "(SELECT max(uid) FROM @.instance),(SELECT max(id) FROM @.message),"                           \
    "(SELECT max(id) FROM @.work),(SELECT max(id) FROM @.work_fresh),"                             \
    "(SELECT max(id) FROM @.queue_entry),(SELECT max(qid) FROM @.queue),0)"
/* The connection of a lane is there, and its owner is not this process ($1). */
#define PG_OWNER_LIVES                                                                             \
    "FROM @.lane l JOIN pg_stat_activity a ON a.pid=l.pid WHERE l.lane>0 AND l.owner<>$1::text"    \
    " AND (extract(epoch FROM a.backend_start)*1000000)::bigint=l.started_us"
/* A number that is a set of shards: has it this one? */
#define PG_AMONG(shards, shard) "(" shards "::bigint>>" shard ")&1=1"
#define PG_CLOCK      "(extract(epoch FROM clock_timestamp())*1000)::bigint"
#define PG_BLOCK      "1048576" /* PAWL_ID_BLOCK */
#define PG_HALF_BLOCK "524288"
/* The number of the last commit of a lane. */
#define PG_LAST_GROUP(l)                                                                           \
    "(SELECT g.group_no FROM @.lane_log g WHERE g.lane=" l " ORDER BY g.group_no DESC LIMIT 1)"
#define PG_MESSAGE_STORED                                                                         \
    "id,uid,created_ms,execution,ref,kind,instance,name,data,attrs,shard,visible_ms,attempt,mailbox"
#define PG_INSERT_MAIL(shard)                                                                      \
    "INSERT INTO @.message(" PG_MESSAGE_STORED ") SELECT t.id,t.u,t.c,t.x,t.r,t.k,t.i,t.n,t.d,"    \
    "t.at," shard ",t.v,t.a,t.m FROM unnest($1" PG_8 ",$2" PG_8 ",$3" PG_8 ",$4" PG_8 ",$5" PG_8   \
    ",$6" PG_4 ",$7" PG_T ",$8" PG_T ",$9" PG_B ",$10" PG_B ",$11" PG_8 ",$12" PG_8 ",$13" PG_2    \
    ",$14" PG_2 ") AS t(id,u,c,x,r,k,i,n,d,at,v,a,m,s)"
#define PG_EVENT_STORED                                                                           \
    "rid,uid,prev,at_ms,ref,ref2,execution,seq,kind,kind2,name,data,attrs,name2,data2,attrs2"
#define PG_CLOSED_STORED                                                                          \
    "uid,execution,orchestration,version,last_seq,last_rid,first_rid,created_ms,updated_ms,"       \
    "custom_status"
#define PG_WORK_STORED                                                                            \
    "id,uid,execution,ref,scheduled_ms,instance,name,input,attrs,shard,attempt,crashes,visible_ms,"\
    "deadline_ms,lock_epoch,lock_until_ms,held,lock_token,last_error"
/* Work `d` that was never tried becomes a row: what its event says, and its new state. */
#define PG_WORK_FROM_EVENT                                                                         \
    "INSERT INTO @.work(" PG_WORK_STORED ") SELECT d.id,z.uid,z.execution,"                       \
    "CASE WHEN z.rid=d.id THEN z.ref ELSE z.ref2 END,z.at_ms,coalesce(i.id,''),"                   \
    "CASE WHEN z.rid=d.id THEN z.name ELSE z.name2 END,"                                           \
    "CASE WHEN z.rid=d.id THEN z.data ELSE z.data2 END,"                                           \
    "CASE WHEN z.rid=d.id THEN z.attrs ELSE z.attrs2 END,d.shard,d.a,d.c,d.v,d.dl,d.le,d.lu,d.h,"  \
    "d.lt,d.er"                                                                                    \
    " FROM d JOIN @.history z ON z.rid=ANY(ARRAY[d.id,d.id-1])"                                    \
    " AND (z.rid=d.id OR z.kind2 IS NOT NULL) LEFT JOIN @.instance i ON i.uid=ANY(ARRAY[z.uid])"
#define PG_STATE_OF_WORK "a,c,v,dl,le,lu,h,lt,er" /* attempt, crashes, visible, deadline, lock …, error */

#define PG_COMMIT_STATEMENTS(X)                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(SAVEPOINT, "SAVEPOINT round")                                                                \
    X(RELEASE, "RELEASE SAVEPOINT round")                                                          \
    /* The fence.  The first locks the lane's row; a commit does not change that row. */           \
    X(FENCE, "WITH f AS (SELECT 1 FROM @.lane WHERE lane=$1::bigint AND epoch=$2::bigint"          \
        " AND life=$3::bigint AND life>0 FOR NO KEY UPDATE),l AS (INSERT INTO @.lane_log"          \
        " SELECT $1::bigint,$4::bigint,$5::bigint,"                                                \
        "(extract(epoch FROM clock_timestamp())*1000)::bigint FROM f RETURNING 1)"                 \
        " SELECT 1/(count(*)=1)::int FROM l")                                                      \
    X(LOG_TRIM, "DELETE FROM @.lane_log WHERE lane=$1::bigint AND group_no<$2::bigint")            \
    /* Who lives, and who has what.  All of these lock the row of the cluster first, and then      \
     * lanes: so they come one after another, and a commit waits for none of them. */              \
    X(CLUSTER, "UPDATE @.cluster SET moves=moves+$1::bigint WHERE one=1")                          \
    X(LANES_LOCK, "SELECT lane FROM @.lane WHERE lane>0 ORDER BY lane FOR UPDATE")                 \
    X(LANES_FREE, "SELECT 1/(NOT EXISTS(SELECT 1 " PG_OWNER_LIVES "))::int")                       \
    X(LANES_OWNER, "SELECT l.owner " PG_OWNER_LIVES " LIMIT 1")                                    \
    /* The number that commits go on from; the log of the lane that takes has it from now on. */   \
    X(LANES_LAST, "WITH n AS (SELECT greatest(c.group_no,(SELECT max(" PG_LAST_GROUP("l.lane")     \
        ") FROM @.lane l WHERE l.lane>0)) AS n FROM @.cluster c WHERE c.one=1),"                   \
        "i AS (INSERT INTO @.lane_log SELECT $1::bigint,n,0,0 FROM n WHERE n>0"                    \
        " ON CONFLICT DO NOTHING) SELECT n FROM n")                                                \
    /* Ids go on without a gap where a lane that lives has the last block. */                      \
    X(LANE_TAKE, "WITH a AS (SELECT greatest(l.first_id,(SELECT g.next_id FROM @.lane_log g"       \
        " WHERE g.lane=l.lane ORDER BY g.group_no DESC LIMIT 1)) AS id FROM @.lane l"              \
        " WHERE l.lane>0 AND l.life>0 AND l.end_id=(SELECT ids_end FROM @.cluster WHERE one=1)),"  \
        "h AS MATERIALIZED (SELECT greatest(coalesce((SELECT id FROM a LIMIT 1),c.ids_end)," PG_HIGHEST "+1)"   \
        " AS id,c.ids_end FROM @.cluster c WHERE c.one=1),"                                        \
        "e AS MATERIALIZED (SELECT id,CASE WHEN ids_end-id>=" PG_HALF_BLOCK " THEN ids_end"                     \
        " ELSE greatest(ids_end,id)+" PG_BLOCK " END AS id2 FROM h),"                              \
        "c AS (UPDATE @.cluster SET ids_end=e.id2 FROM e WHERE one=1),"                            \
        "t AS (INSERT INTO @.lane AS l(lane,epoch,life,pid,started_us,owner,taken_ms,node,first_id,"\
        "end_id) SELECT $1::bigint,nextval('@.epochs'),1,"                                         \
        "CASE WHEN $4::bigint=1 THEN pg_backend_pid() ELSE 0 END," PG_STARTED_US ",$2::text,"      \
        "$3::bigint,0,e.id,e.id2 FROM e ON CONFLICT(lane) DO UPDATE SET"                           \
        " epoch=greatest(excluded.epoch,l.epoch+1),life=1,pid=excluded.pid,"                       \
        "started_us=excluded.started_us,owner=excluded.owner,taken_ms=excluded.taken_ms,node=0,"   \
        "first_id=excluded.first_id,end_id=excluded.end_id RETURNING l.epoch,l.first_id,l.end_id),"\
        "f AS (INSERT INTO @.epoch(from_id,epoch) SELECT first_id,epoch FROM t)"                   \
        " SELECT epoch,first_id,end_id FROM t")                                                    \
    X(LANES_GONE, "DELETE FROM @.lane WHERE lane>$1::bigint")                                      \
    X(LOGS_GONE, "DELETE FROM @.lane_log WHERE lane>$1::bigint")                                   \
    X(SHARDS_TAKE, "UPDATE @.shard SET lane=$1::bigint WHERE shard>=0 AND lane<>$1::bigint")       \
    X(LANE_LIFE, "UPDATE @.lane SET life=life+1,"                                                  \
        "pid=CASE WHEN $4::bigint=1 THEN pg_backend_pid() ELSE 0 END,started_us=" PG_STARTED_US    \
        " WHERE lane=$1::bigint AND epoch=$2::bigint AND owner=$3::text RETURNING life")           \
    X(LANE_END, "SELECT pg_terminate_backend(a.pid) FROM @.lane l JOIN pg_stat_activity a"          \
        " ON a.pid=l.pid WHERE l.lane=$1::bigint AND l.epoch=$2::bigint AND l.owner=$3::text"      \
        " AND a.pid<>pg_backend_pid() AND $4::bigint=1"                                            \
        " AND (extract(epoch FROM a.backend_start)*1000000)::bigint=l.started_us")                 \
    X(LANE_READ, "SELECT l.epoch,l.life,coalesce((SELECT max(g.group_no) FROM @.lane_log g"        \
        " WHERE g.lane=l.lane),0) FROM @.lane l WHERE l.lane=$1::bigint")                          \
    X(LOG_HAS, "SELECT 1 FROM @.lane_log WHERE lane=$1::bigint AND group_no=$2::bigint")           \
    /* A lane beside others; the row may be of a former life of this handle. */                    \
    X(LANE_DROP, "WITH d AS (DELETE FROM @.lane WHERE lane=$1::bigint"                             \
        " AND (epoch=$2::bigint OR $2::bigint=0) RETURNING lane),n AS (SELECT " PG_LAST_GROUP("d.lane") " AS n FROM d),"                  \
        "c AS (UPDATE @.cluster SET group_no=greatest(group_no,n.n) FROM n WHERE one=1)"           \
        " UPDATE @.shard s SET lane=0 FROM d WHERE s.lane=ANY(ARRAY[d.lane])")                     \
    X(LOG_DROP, "DELETE FROM @.lane_log WHERE lane=$1::bigint")                                    \
    X(LANE_JOIN, "WITH c AS (UPDATE @.cluster SET ids_end=ids_end+" PG_BLOCK " WHERE one=1"        \
        " RETURNING ids_end-" PG_BLOCK " AS id,ids_end),"                                          \
        "t AS (INSERT INTO @.lane(lane,epoch,life,pid,started_us,owner,taken_ms,node,first_id,"    \
        "end_id) SELECT $1::bigint,nextval('@.epochs'),1,"                                         \
        "CASE WHEN $4::bigint=1 THEN pg_backend_pid() ELSE 0 END," PG_STARTED_US ",$2::text,"      \
        "$3::bigint,$5::bigint,id,ids_end FROM c RETURNING epoch,first_id,end_id),"                \
        "f AS (INSERT INTO @.epoch(from_id,epoch) SELECT first_id,epoch FROM t)"                   \
        " SELECT epoch,first_id,end_id FROM t")                                                    \
    X(LANE_HOLD, "WITH f AS (SELECT 1 FROM @.lane WHERE lane=$1::bigint AND epoch=$2::bigint"      \
        " AND life=$3::bigint AND life>0 FOR NO KEY UPDATE) SELECT 1/(count(*)=1)::int FROM f")    \
    /* $3 the next id of the lane, $4 the end of its block.  It grows where it is the last one. */ \
    X(LANE_IDS, "WITH c AS (UPDATE @.cluster SET ids_end=ids_end+CASE WHEN ids_end=$4::bigint"     \
        " AND ids_end-$3::bigint>=" PG_HALF_BLOCK " THEN 0 ELSE " PG_BLOCK " END WHERE one=1"      \
        " RETURNING ids_end,ids_end<>$4::bigint AND ids_end-" PG_BLOCK "<>$4::bigint AS fresh),"   \
        "e AS (INSERT INTO @.epoch(from_id,epoch) SELECT ids_end-" PG_BLOCK ",$2::bigint FROM c"   \
        " WHERE fresh),t AS (UPDATE @.lane SET end_id=c.ids_end,"                                  \
        "first_id=CASE WHEN c.fresh THEN c.ids_end-" PG_BLOCK " ELSE $3::bigint END FROM c"        \
        " WHERE lane=$1::bigint RETURNING first_id,end_id) SELECT first_id,end_id FROM t")         \
    X(SHARDS_OF, "SELECT coalesce((SELECT bit_or(1::bigint<<s.shard) FROM @.shard s"               \
        " WHERE s.lane=$1::bigint),0) FROM @.lane l WHERE l.lane=$1::bigint"                       \
        " AND l.epoch=$2::bigint AND l.life=$3::bigint")                                           \
    X(SHARDS_CLAIM, "UPDATE @.shard SET lane=$1::bigint WHERE lane=0 AND shard=ANY($2" PG_2 ")")   \
    X(HEIR_NEED, "SELECT 1/(count(*)=1)::int FROM @.lane WHERE epoch=$1::bigint AND life>0")       \
    X(SHARDS_GIVE, "UPDATE @.shard SET lane=coalesce((SELECT l.lane FROM @.lane l"                 \
        " WHERE l.epoch=$3::bigint AND l.life>0),0) WHERE lane=$1::bigint AND shard=ANY($2" PG_2 ")")           \
    /* What memory has of shards that are about to leave. */                                       \
    X(GIVEN_MAIL, "SELECT t.id FROM unnest($1" PG_8 ") AS t(id) JOIN @.message m"                  \
        " ON m.id=ANY(ARRAY[t.id]) WHERE m.shard=ANY($2" PG_2 ")")                                 \
    X(GIVEN_WORK, "SELECT t.id FROM unnest($1" PG_8 ") AS t(id) JOIN @.work w"                     \
        " ON w.id=ANY(ARRAY[t.id]) WHERE w.shard=ANY($2" PG_2 ") UNION ALL"                        \
        " SELECT t.id FROM unnest($1" PG_8 ") AS t(id) JOIN @.work_fresh w"                        \
        " ON w.id=ANY(ARRAY[t.id]) WHERE w.shard=ANY($2" PG_2 ")")                                 \
    /* A lane that is dead: $1 its epoch. */                                                       \
    X(BURY_LOCK, "SELECT lane FROM @.lane WHERE epoch=$1::bigint AND life>0 FOR UPDATE")           \
    X(BURY_END, "SELECT pg_terminate_backend(a.pid) FROM @.lane l JOIN pg_stat_activity a"         \
        " ON a.pid=l.pid WHERE l.epoch=$1::bigint AND a.pid<>pg_backend_pid()"                     \
        " AND (extract(epoch FROM a.backend_start)*1000000)::bigint=l.started_us")                 \
    X(LANES_VIEW, "SELECT l.lane,l.epoch,l.node,coalesce((SELECT bit_or(1::bigint<<s.shard)"       \
        " FROM @.shard s WHERE s.lane=l.lane),0),c.moves,coalesce((SELECT bit_or(1::bigint<<s.shard)"\
        " FROM @.shard s WHERE s.lane=0),0) FROM @.cluster c LEFT JOIN @.lane l"                   \
        " ON l.epoch>0 AND l.life>0 WHERE c.one=1 ORDER BY l.epoch")                                \
    /* Nodes.  A lease ends by the server's clock when the row is looked at. */                    \
    X(NODES_LEASED, "SELECT 1/(NOT EXISTS(SELECT 1 FROM @.node WHERE id>0"                         \
        " AND lease_until_ms>" PG_CLOCK "))::int")                                                 \
    X(NODES_OVER, "SELECT id FROM @.node WHERE id>0 AND lease_until_ms<=" PG_CLOCK " LIMIT 1")     \
    X(NODES_DROP, "DELETE FROM @.node WHERE id>0 AND lease_until_ms<=" PG_CLOCK " RETURNING id")   \
    X(NODE_DROP, "DELETE FROM @.node WHERE id=$1::bigint RETURNING id")                            \
    X(NODE_FORMER, "DELETE FROM @.node WHERE name=$1::text COLLATE \"C\""                          \
        " AND ($2::bigint=1 OR lease_until_ms<=" PG_CLOCK ")")                                     \
    X(NODE_ADD, "WITH c AS (UPDATE @.cluster SET node_no=node_no+1 WHERE one=1 RETURNING node_no)" \
        " INSERT INTO @.node(id,name,joined_ms,about,lease_until_ms,asked)"                        \
        " SELECT node_no,$1::text," PG_CLOCK ",$2::bytea," PG_CLOCK "+$3::bigint,0 FROM c"         \
        " ON CONFLICT(name) DO NOTHING RETURNING id")                                              \
    X(NODE_NEED, "SELECT 1/($1::bigint=0 OR EXISTS(SELECT 1 FROM @.node WHERE id=$1::bigint))::int") \
    X(NODE_BEAT, "UPDATE @.node SET lease_until_ms=" PG_CLOCK "+$2::bigint,"                       \
        "about=coalesce($3::bytea,about) WHERE id=$1::bigint RETURNING"                            \
        " lease_until_ms-$2::bigint,lease_until_ms,asked,"                                         \
        "(SELECT moves FROM @.cluster WHERE one=1)")                                               \
    X(NODE_ASK, "UPDATE @.node SET asked=$2::bigint WHERE id=$1::bigint RETURNING id")             \
    X(NODES, "SELECT id,name,about,joined_ms,lease_until_ms,asked FROM @.node WHERE id>0"          \
        " ORDER BY id")                                                                            \
    X(LANES_ORPHANED, "SELECT lane FROM @.lane l WHERE lane>0 AND node>0"                          \
        " AND (SELECT 1 FROM @.node n WHERE n.id=l.node) IS NULL ORDER BY lane FOR UPDATE")        \
    X(SHARDS_SPREAD, "UPDATE @.shard s SET lane=t.l FROM unnest($1" PG_2 ",$2" PG_8                \
        ") AS t(s,l) WHERE s.shard=ANY(ARRAY[t.s])")                                               \
    /* What former lanes had: of all shards, or of these. */                                       \
    X(FRESH_FREE, "UPDATE @.work_fresh SET lock_epoch=-lock_epoch WHERE lock_epoch>0")             \
    X(WORK_FREE, "UPDATE @.work SET held=false WHERE held")                                        \
    X(HEADS_OPEN, "SELECT h.uid," PG_OPEN1("h") " FROM @.head h WHERE h.busy")                     \
    X(FRESH_FREE_OF, "UPDATE @.work_fresh SET lock_epoch=-lock_epoch WHERE lock_epoch>0"           \
        " AND shard=ANY($1" PG_2 ")")                                                              \
    X(WORK_FREE_OF, "UPDATE @.work SET held=false WHERE held AND shard=ANY($1" PG_2 ")")           \
    X(HEADS_OPEN_OF, "SELECT h.uid," PG_OPEN1("h") " FROM @.head h WHERE h.busy"                   \
        " AND h.shard=ANY($1" PG_2 ")")                                                            \
    /* Work that is a number in a head: it becomes a row, must be there, may be there. */          \
    /* (To updates the server says whose shards the rows are.) */                                  \
    X(OPEN_MOVE, "WITH d AS (UPDATE @.head h SET open1=0,busy=false FROM unnest($1" PG_8 ",$2" PG_8\
        ",$3" PG_8 ",$4" PG_8 ",$5" PG_8 ",$6" PG_8 ",$7" PG_8 ",$8" PG_8 ",$9::bool[],$10" PG_T   \
        ",$11" PG_B ") AS t(uid,id," PG_STATE_OF_WORK ") WHERE h.uid=ANY(ARRAY[t.uid]) AND " PG_OPEN1("h") "=t.id"       \
        " RETURNING t.*,h.shard),i AS (" PG_WORK_FROM_EVENT ")"                                    \
        " SELECT bit_or(1::bigint<<shard) FROM d")                                                 \
    X(OPEN_NEED, PG_COUNTED("UPDATE @.head h SET open1=0,busy=false FROM unnest($1" PG_8 ",$2" PG_8\
        ") AS t(uid,id) WHERE h.uid=ANY(ARRAY[t.uid]) AND " PG_OPEN1("h") "=t.id", "$3"))                                \
    X(OPEN_DROP, "UPDATE @.head h SET open1=0,busy=false FROM unnest($1" PG_8 ",$2" PG_8           \
        ") AS t(uid,id) WHERE h.uid=ANY(ARRAY[t.uid]) AND " PG_OPEN1("h") "=t.id")                                       \
    /* Instances. */                                                                               \
    X(REMOVE, "WITH x AS (DELETE FROM @.head h USING unnest($1" PG_8 ",$2" PG_4 ",$3" PG_4         \
        ") AS t(uid,x,bs) WHERE h.uid=ANY(ARRAY[t.uid]) AND h.execution=t.x AND h.last_seq=t.bs"               \
        " AND " PG_AMONG("$5", "h.shard") " RETURNING h.uid,h.last_rid,h.state,h.shard),i AS (DELETE FROM @.instance i USING x"              \
        " WHERE i.uid=ANY(ARRAY[x.uid])),o AS (DELETE FROM @.odd o USING x WHERE o.state=ANY(ARRAY[x.state])"              \
        " AND o.uid=ANY(ARRAY[x.uid])),b AS (INSERT INTO @.tomb(uid,execution,last_rid,shard)"                 \
        " SELECT uid,0,last_rid,shard FROM x) SELECT 1/(count(*)=$4::bigint)::int FROM x")               \
    X(EXECUTION_END, PG_COUNTED("INSERT INTO @.execution(" PG_CLOSED_STORED ") SELECT i.uid,"     \
        "h.execution,i.orchestration,CASE i.version WHEN '' THEN t.v ELSE i.version END,t.ls,t.lr,"\
        "CASE i.first_rid WHEN 0 THEN t.fr ELSE i.first_rid END,i.created_ms,t.up,i.custom_status" \
        " FROM unnest($1" PG_8 ",$2" PG_4 ",$3" PG_4 ",$4" PG_T ",$5" PG_4 ",$6" PG_8 ",$7" PG_8   \
        ",$8" PG_8 ") AS t(uid,x,bs,v,ls,lr,fr,up) JOIN @.head h ON h.uid=ANY(ARRAY[t.uid])"                   \
        " AND h.execution=t.x AND h.last_seq=t.bs JOIN @.instance i ON i.uid=ANY(ARRAY[t.uid])", "$9"))        \
    X(EXECUTION_MAKE, "INSERT INTO @.execution(" PG_CLOSED_STORED ") SELECT * FROM unnest($1"     \
        PG_8 ",$2" PG_8 ",$3" PG_T ",$4" PG_T ",$5" PG_8 ",$6" PG_8 ",$7" PG_8 ",$8" PG_8 ",$9"    \
        PG_8 ",$10" PG_B ")")                                                                      \
    X(OUTPUT_KEEP, "WITH h AS (UPDATE @.head SET flags=flags-1 WHERE uid=$1::bigint"              \
        " AND flags&1=1 RETURNING uid,last_rid) UPDATE @.instance i SET output="                   \
        "CASE WHEN z.rid=h.last_rid THEN z.data ELSE z.data2 END FROM h JOIN @.history z"          \
        " ON z.rid=ANY(ARRAY[h.last_rid,h.last_rid-1])"                                            \
        " AND z.rid+(z.kind2 IS NOT NULL)::int=h.last_rid WHERE i.uid=ANY(ARRAY[h.uid])")                      \
    X(HEAD_LAST, PG_COUNTED("UPDATE @.head h SET execution=t.nx,last_seq=t.ls,last_rid=t.lr,"      \
        "updated_ms=t.up,open1=t.o2,busy=t.o2<>0 FROM unnest($1" PG_8 ",$2" PG_4 ",$3" PG_4        \
        ",$4" PG_4 ",$5" PG_4 ",$6" PG_8 ",$7" PG_8 ",$8" PG_8 ",$9" PG_8                          \
        ") AS t(uid,x,bs,nx,ls,lr,up,o1,o2) WHERE h.uid=ANY(ARRAY[t.uid]) AND h.execution=t.x"                 \
        " AND h.last_seq=t.bs AND " PG_OPEN1("h") "=t.o1 AND h.flags&1=0", "$10"))                           \
    X(HEAD_ALL, "WITH x AS (UPDATE @.head h SET execution=t.nx,last_seq=t.ls,last_rid=t.lr,"       \
        "updated_ms=t.up,open1=t.o2,busy=t.o2<>0,state=t.st,"                                      \
        "flags=t.fl+CASE WHEN h.state IN (" PG_ODD_STATES ") THEN 2 ELSE 0 END FROM unnest($1" PG_8\
        ",$2" PG_4 ",$3" PG_4 ",$4" PG_4 ",$5" PG_4 ",$6" PG_8 ",$7" PG_8 ",$8" PG_8 ",$9" PG_8    \
        ",$10" PG_2 ",$11" PG_2 ") AS t(uid,x,bs,nx,ls,lr,up,o1,o2,st,fl) WHERE h.uid=ANY(ARRAY[t.uid])"       \
        " AND h.execution=t.x AND h.last_seq=t.bs AND " PG_OPEN1("h") "=t.o1"                                \
        " RETURNING h.uid,h.state,h.flags),d AS (DELETE FROM @.odd o USING x WHERE x.flags>1"      \
        " AND o.state=ANY(ARRAY[" PG_ODD_STATES "]::smallint[]) AND o.uid=ANY(ARRAY[x.uid])"                   \
        " AND o.state<>x.state) SELECT 1/(count(*)=$12::bigint)::int FROM x")                      \
    X(HEAD_CHECK, "SELECT 1/(count(*)=$4::bigint)::int FROM unnest($1" PG_8 ",$2" PG_4 ",$3" PG_4  \
        ") AS t(uid,x,bs) JOIN @.head h ON h.uid=ANY(ARRAY[t.uid]) AND h.execution=t.x AND h.last_seq=t.bs"    \
        " AND " PG_AMONG("$5", "h.shard"))                                                         \
    X(INSTANCE_INSERT, "INSERT INTO @.instance(uid,parent_uid,parent_execution,parent_ref,id,"     \
        "parent_id,created_ms,first_rid,orchestration,version,custom_status,finding,output,"       \
        "attributes)"                                                                              \
        " SELECT * FROM unnest($1" PG_8 ",$2" PG_8 ",$3" PG_8 ",$4" PG_8 ",$5" PG_T ",$6" PG_T     \
        ",$7" PG_8 ",$8" PG_8 ",$9" PG_T ",$10" PG_T ",$11" PG_B ",$12" PG_B ",$13" PG_B ",$14"   \
        PG_B ")")                                                                                  \
    X(HEAD_INSERT, "INSERT INTO @.head(uid,shard,execution,last_seq,last_rid,updated_ms,open1,"    \
        "state,flags,busy) SELECT t.uid,t.sh,t.x,t.ls,t.lr,t.up,t.o,t.st,t.fl,t.o<>0 FROM unnest($1"\
        PG_8 ",$2" PG_4 ",$3" PG_4 ",$4" PG_8 ",$5" PG_8 ",$6" PG_8 ",$7" PG_2 ",$8" PG_2 ",$9" PG_2\
        ") AS t(uid,x,ls,lr,up,o,st,fl,sh)")                                                          \
    X(INSTANCE_UPDATE, "UPDATE @.instance i SET created_ms=t.c,first_rid=t.f,orchestration=t.o,"   \
        "version=t.v,custom_status=t.cs,finding=t.fi,output=t.out,attributes=t.at FROM unnest($1"  \
        PG_8 ",$2" PG_8 ",$3" PG_8 ",$4" PG_T ",$5" PG_T ",$6" PG_B ",$7" PG_B ",$8" PG_B ",$9"    \
        PG_B ") AS t(uid,c,f,o,v,cs,fi,out,at) WHERE i.uid=ANY(ARRAY[t.uid]) AND (i.created_ms<>t.c"                   \
        " OR i.first_rid<>t.f OR i.orchestration<>t.o OR i.version<>t.v OR i.custom_status<>t.cs"  \
        " OR i.finding<>t.fi OR i.output<>t.out OR i.attributes<>t.at)")                           \
    X(ODD_INSERT, "INSERT INTO @.odd SELECT * FROM unnest($1" PG_2 ",$2" PG_8                      \
        ") ON CONFLICT DO NOTHING")                                                                \
    /* Events. */                                                                                  \
    X(WORK_NEED, "WITH a AS (DELETE FROM @.work_fresh WHERE id=ANY($1" PG_8 ") RETURNING 1),"      \
        "b AS (DELETE FROM @.work WHERE id=ANY($1" PG_8 ") RETURNING 1)"                           \
        " SELECT 1/((SELECT count(*) FROM a)+(SELECT count(*) FROM b)=$2::bigint)::int")           \
    /* The key of history is the first event of a row; the second must not be there either. */      \
    X(EVENT_CHECK, "SELECT 1/(NOT EXISTS(SELECT 1 FROM unnest($1" PG_8 ") AS t(id) JOIN @.history h"\
        " ON h.rid=ANY(ARRAY[t.id,t.id-1]) AND (h.rid=t.id OR h.kind2 IS NOT NULL)))::int")        \
    X(EVENT_INSERT, "INSERT INTO @.history(" PG_EVENT_STORED ") SELECT * FROM unnest($1" PG_8     \
        ",$2" PG_8 ",$3" PG_8 ",$4" PG_8 ",$5" PG_8 ",$6" PG_8 ",$7" PG_4 ",$8" PG_4 ",$9" PG_2    \
        ",$10" PG_2 ",$11" PG_T ",$12" PG_B ",$13" PG_B ",$14" PG_T ",$15" PG_B ",$16" PG_B ")")   \
    X(MARK_INSERT, "INSERT INTO @.mark SELECT * FROM unnest($1" PG_8 ",$2" PG_4 ",$3" PG_4 ",$4"   \
        PG_8 ")")                                                                                  \
    /* Messages. */                                                                                \
    X(MESSAGE_INSERT, PG_INSERT_MAIL("t.s"))                                                       \
    /* The label is that of the instance now; t.s where there is none. */                          \
    X(MESSAGE_LOOK, PG_INSERT_MAIL("coalesce(CASE WHEN t.u>0 THEN (SELECT h.shard FROM @.head h"   \
        " WHERE h.uid=t.u) ELSE (SELECT h.shard FROM @.instance i JOIN @.head h"                   \
        " ON h.uid=ANY(ARRAY[i.uid]) WHERE i.id=t.i COLLATE \"C\") END,t.s)") " RETURNING id,shard") \
    X(MESSAGE_UPDATE, "UPDATE @.message m SET visible_ms=t.v,attempt=t.a,mailbox=t.m FROM"         \
        " unnest($1" PG_8 ",$2" PG_8 ",$3" PG_8 ",$4" PG_2 ") AS t(id,v,a,m) WHERE m.id=ANY(ARRAY[t.id])")     \
    X(MESSAGE_MOVE, "UPDATE @.message m SET visible_ms=t.v,attempt=t.a,mailbox=t.m,shard=t.s FROM" \
        " unnest($1" PG_8 ",$2" PG_8 ",$3" PG_8 ",$4" PG_2 ",$5" PG_2 ") AS t(id,v,a,m,s)"         \
        " WHERE m.id=ANY(ARRAY[t.id]) RETURNING m.id,m.shard")                                     \
    X(MAIL_LABELS, "SELECT id,shard FROM @.message WHERE id=ANY($1" PG_8 ")")                      \
    X(QUARANTINE_MOVE, "WITH d AS (DELETE FROM @.message m USING unnest($1" PG_8 ",$2" PG_B        \
        ") WITH ORDINALITY AS t(tid,why,n) WHERE m.id=ANY(ARRAY[t.tid]) RETURNING m.*,t.why,t.n)"              \
        " INSERT INTO @.quarantine(reason," PG_MESSAGE_STORED ") SELECT why," PG_MESSAGE_STORED  \
        " FROM d ORDER BY d.n")                                                                    \
    X(MESSAGE_DELETE, "DELETE FROM @.message WHERE id=ANY($1" PG_8 ")")                            \
    /* Work with rows. */                                                                          \
    X(UNTRIED_CHECK, "SELECT 1/(NOT EXISTS(SELECT 1 FROM @.work_fresh WHERE id=ANY($1" PG_8        \
        ")))::int")                                                                                \
    X(FRESH_INSERT, "INSERT INTO @.work_fresh(id,uid,shard,name,lock_epoch)"                       \
        " SELECT t.id,t.uid,t.s,t.n,t.e FROM unnest($1" PG_8 ",$2" PG_8 ",$3" PG_T ",$4" PG_8      \
        ",$5" PG_2 ") AS t(id,uid,n,e,s)")                                                                      \
    X(WORK_INSERT, "INSERT INTO @.work(" PG_WORK_STORED ") SELECT t.id,t.uid,t.x,t.r,t.s,t.i,t.n,"\
        "t.inp,t.at,t.sh,t.a,t.c,t.v,t.dl,t.le,t.lu,t.h,t.lt,t.er FROM unnest($1" PG_8 ",$2" PG_8     \
        ",$3" PG_8 ",$4" PG_8 ",$5" PG_8 ",$6" PG_T ",$7" PG_T ",$8" PG_B ",$9" PG_B ",$10" PG_8   \
        ",$11" PG_8 ",$12" PG_8 ",$13" PG_8 ",$14" PG_8 ",$15" PG_8 ",$16::bool[],$17" PG_T ",$18" \
        PG_B ",$19" PG_2 ") AS t(id,uid,x,r,s,i,n,inp,at," PG_STATE_OF_WORK ",sh)")                               \
    X(WORK_UPDATE, "WITH t AS (SELECT * FROM unnest($1" PG_8 ",$2" PG_8 ",$3" PG_8 ",$4" PG_8      \
        ",$5" PG_8 ",$6" PG_8 ",$7" PG_8 ",$8::bool[],$9" PG_T ",$10" PG_B ") AS t(id,"            \
        PG_STATE_OF_WORK ")),u AS (UPDATE @.work w SET attempt=t.a,crashes=t.c,visible_ms=t.v,"    \
        "deadline_ms=t.dl,lock_epoch=t.le,lock_until_ms=t.lu,held=t.h,lock_token=t.lt,"            \
        "last_error=t.er FROM t WHERE w.id=ANY(ARRAY[t.id]) RETURNING w.shard),d AS (DELETE FROM @.work_fresh f USING t"         \
        " WHERE f.id=ANY(ARRAY[t.id]) RETURNING t.*,f.shard),"                                                 \
        "i AS (" PG_WORK_FROM_EVENT ") SELECT bit_or(1::bigint<<x.shard)"                          \
        " FROM (SELECT shard FROM u UNION ALL SELECT shard FROM d) x")                             \
    X(WORK_DELETE, "WITH a AS (DELETE FROM @.work_fresh WHERE id=ANY($1" PG_8 "))"                 \
        " DELETE FROM @.work WHERE id=ANY($1" PG_8 ")")                                            \
    X(KEY_INSERT, "INSERT INTO @.dedup SELECT * FROM unnest($1" PG_8 ",$2" PG_B                    \
        ") ON CONFLICT DO NOTHING")                                                                \
    /* Named objects: new, changed, either; removed, and removed whatever its version.  Several    \
     * lanes may write them: in one order. */                                                      \
    X(OBJECT_INSERT, "INSERT INTO @.object(kind,name,version,updated_ms,data)"                     \
        " SELECT t.k,t.n,1,t.u,t.d FROM unnest($1" PG_4 ",$2" PG_T ",$3" PG_8 ",$4" PG_B           \
        ") AS t(k,n,u,d)" PG_BY_NAME)                                                                         \
    X(OBJECT_UPDATE, PG_COUNTED("UPDATE @.object o SET version=o.version+1,updated_ms=t.u,data=t.d"\
        " FROM (SELECT * FROM unnest($1" PG_4 ",$2" PG_T ",$3" PG_8 ",$4" PG_8 ",$5" PG_B          \
        ") AS t(k,n,v,u,d)" PG_BY_NAME ") t"                                                       \
        " WHERE o.kind=ANY(ARRAY[t.k]) AND o.name=t.n AND o.version=t.v", "$6"))                               \
    X(OBJECT_PUT, "INSERT INTO @.object AS o(kind,name,version,updated_ms,data)"                   \
        " SELECT t.k,t.n,1,t.u,t.d FROM unnest($1" PG_4 ",$2" PG_T ",$3" PG_8 ",$4" PG_B           \
        ") AS t(k,n,u,d)" PG_BY_NAME " ON CONFLICT(kind,name) DO UPDATE SET version=o.version+1,"                \
        "updated_ms=excluded.updated_ms,data=excluded.data")                                       \
    X(OBJECT_DELETE, PG_COUNTED("DELETE FROM @.object o USING (SELECT * FROM unnest($1" PG_4       \
        ",$2" PG_T ",$3" PG_8 ") AS t(k,n,v)" PG_BY_NAME ") t WHERE o.kind=ANY(ARRAY[t.k]) AND o.name=t.n AND o.version=t.v", "$4"))             \
    X(OBJECT_DROP, "DELETE FROM @.object o USING (SELECT * FROM unnest($1" PG_4 ",$2" PG_T         \
        ") AS t(k,n)" PG_BY_NAME ") t WHERE o.kind=ANY(ARRAY[t.k]) AND o.name=t.n")                                                        \
    X(ATTRIBUTE_DROP, "DELETE FROM @.attribute a USING unnest($1" PG_T ",$2" PG_T ",$3" PG_8       \
        ") AS t(n,v,u) WHERE a.name=ANY(ARRAY[t.n]) AND a.value=ANY(ARRAY[t.v]) AND a.uid=t.u")    \
    X(ATTRIBUTE_PUT, "INSERT INTO @.attribute(name,value,uid) SELECT * FROM unnest($1" PG_T        \
        ",$2" PG_T ",$3" PG_8 ") ON CONFLICT DO NOTHING")                                          \
    /* A plain step alone: the same without arrays, half the work for the server. */               \
    X(LONE_HEAD, PG_COUNTED("UPDATE @.head h SET last_seq=$4::bigint,last_rid=$5::bigint,"           \
        "updated_ms=$6::bigint,open1=$8::bigint,busy=$8::bigint<>0 WHERE uid=$1::bigint"           \
        " AND execution=$2::bigint AND last_seq=$3::bigint AND " PG_OPEN1("h") "=$7::bigint AND flags&1=0",    \
        "1"))                                                                                      \
    X(LONE_EVENT, "INSERT INTO @.history(" PG_EVENT_STORED ") VALUES($1::bigint,$2::bigint,"      \
        "$3::bigint,$4::bigint,$5::bigint,$6::bigint,$7::bigint,$8::bigint,$9::bigint,$10::bigint,"\
        "$11::text,$12::bytea,$13::bytea,$14::text,$15::bytea,$16::bytea)")                        \
    PG_PURGE_STATEMENTS(X)

/* What tombs still have, a limited number of rows per commit (pg_purge.c). */
#define PG_SOME(table, where, limit)                                                               \
    "DELETE FROM @." table " WHERE ctid=ANY(ARRAY(SELECT ctid FROM @." table " WHERE " where       \
    " LIMIT " limit ")) RETURNING 1"
#define PG_LESS(n, table) "greatest(" n "-(SELECT count(*) FROM " table "),0)"
#define PG_PURGE_STATEMENTS(X)                                                                     \
    X(TOMBS, "SELECT b.n,b.uid,b.execution,b.last_rid,b.shard FROM unnest($2" PG_2 ") AS t(s)"     \
        " CROSS JOIN LATERAL (SELECT * FROM @.tomb WHERE shard=t.s ORDER BY n LIMIT $1::bigint) b" \
        " ORDER BY b.n LIMIT $1::bigint")                                                          \
    X(TOMB_LEFT, "SELECT EXISTS(SELECT 1 FROM @.tomb WHERE shard=ANY($1" PG_2 "))")                \
    /* The chains of these tombs, backwards: the last row of each, the one before it … */          \
    X(CHAINS, "WITH RECURSIVE t AS (SELECT * FROM unnest($2" PG_8 ",$3" PG_8 ",$4" PG_8            \
        ") AS t(n,uid,last_rid)),"                                                                 \
        "c AS (SELECT t.n,t.uid,h.rid,h.prev,h.kind2 IS NOT NULL AS two FROM t JOIN @.history h"   \
        " ON h.rid=ANY(ARRAY[t.last_rid,t.last_rid-1])"                                            \
        " AND h.rid+(h.kind2 IS NOT NULL)::int=t.last_rid AND h.uid=t.uid WHERE t.last_rid>0"      \
        " UNION ALL SELECT c.n,c.uid,h.rid,h.prev,h.kind2 IS NOT NULL FROM c JOIN @.history h"     \
        " ON h.rid=ANY(ARRAY[c.prev,c.prev-1]) AND h.rid+(h.kind2 IS NOT NULL)::int=c.prev"        \
        " AND h.uid=c.uid WHERE c.prev>0 AND c.prev<c.rid)"                                        \
        " SELECT n,rid,prev,two FROM c LIMIT $1::bigint")                                          \
    X(CHAIN_DELETE, "WITH t AS (SELECT * FROM unnest($2" PG_8 ",$3" PG_8 ") AS t(id,uid)),"        \
        "a AS (DELETE FROM @.work w USING t WHERE w.id=ANY(ARRAY[t.id]) AND w.uid=t.uid),"                     \
        "b AS (DELETE FROM @.work_fresh w USING t WHERE w.id=ANY(ARRAY[t.id]) AND w.uid=t.uid),"               \
        "c AS (DELETE FROM @.message m USING t WHERE m.id=ANY(ARRAY[t.id]) AND m.uid=t.uid)"                   \
        " DELETE FROM @.history WHERE rid=ANY($1" PG_8 ")")                                        \
    X(TOMB_KEEP, "UPDATE @.tomb b SET last_rid=t.r FROM unnest($1" PG_8 ",$2" PG_8 ",$3" PG_2      \
        ") AS t(n,r,s) WHERE b.shard=ANY(ARRAY[t.s]) AND b.n=t.n AND b.last_rid<>t.r")                                                      \
    X(TOMB_NEXT, "WITH x AS (DELETE FROM @.execution x USING unnest($1" PG_8 ",$2" PG_8 ",$3" PG_2 \
        ") AS t(n,uid,s) WHERE x.uid=ANY(ARRAY[t.uid]) AND x.execution=(SELECT min(y.execution)"                 \
        " FROM @.execution y WHERE y.uid=t.uid) RETURNING t.n,t.s,x.last_rid)"                     \
        " UPDATE @.tomb b SET last_rid=x.last_rid FROM x WHERE b.shard=ANY(ARRAY[x.s]) AND b.n=x.n" \
        " RETURNING b.n")             \
    X(TOMB_REST, "WITH m AS (" PG_SOME("mark", "uid=ANY($1" PG_8 ")", "$2::bigint")                \
        "),g AS (" PG_SOME("message", "uid=ANY($1" PG_8 ") AND uid>0", PG_LESS("$2::bigint", "m")) \
        "),k AS (" PG_SOME("dedup", "uid=ANY($1" PG_8 ")",                                         \
            PG_LESS(PG_LESS("$2::bigint", "m"), "g"))                                              \
        ") SELECT (SELECT count(*) FROM m)+(SELECT count(*) FROM g)+(SELECT count(*) FROM k)")     \
    X(TOMB_MARKS, "WITH m AS (DELETE FROM @.mark WHERE ctid=ANY(ARRAY(SELECT m.ctid FROM"          \
        " unnest($1" PG_8 ",$2" PG_8 ") AS t(uid,x) JOIN @.mark m ON m.uid=ANY(ARRAY[t.uid])"                  \
        " AND m.execution=t.x LIMIT $3::bigint)) RETURNING 1) SELECT count(*) FROM m")             \
    X(TOMB_QUEUE, "WITH r AS (" PG_SOME("queue_entry", "state=0 AND qid=$1::bigint", "$2::bigint") \
        "),d AS (" PG_SOME("queue_entry", "state=1 AND qid=$1::bigint", PG_LESS("$2::bigint", "r"))\
        "),p AS (" PG_SOME("queue_past", "qid=$1::bigint",                                         \
            PG_LESS(PG_LESS("$2::bigint", "r"), "d"))                                              \
        "),k AS (" PG_SOME("queue_key", "qid=$1::bigint",                                          \
            PG_LESS(PG_LESS(PG_LESS("$2::bigint", "r"), "d"), "p"))                                \
        ") SELECT (SELECT count(*) FROM r)+(SELECT count(*) FROM d)+(SELECT count(*) FROM p)"      \
        "+(SELECT count(*) FROM k)")                                                               \
    X(TOMB_LOCK, "WITH l AS (DELETE FROM @.queue_lock WHERE qid=$1::bigint AND number="            \
        "(SELECT min(number) FROM @.queue_lock WHERE qid=$1::bigint) RETURNING entries),"          \
        "e AS (DELETE FROM @.queue_entry e USING l WHERE e.id=ANY(l.entries) AND e.qid=$1::bigint" \
        " RETURNING 1) SELECT (SELECT count(*) FROM l)+(SELECT count(*) FROM e)")                  \
    X(TOMB_DONE, "DELETE FROM @.tomb b USING unnest($1" PG_8 ",$2" PG_2 ") AS t(n,s)"              \
        " WHERE b.shard=ANY(ARRAY[t.s]) AND b.n=t.n")                                              \
    X(INSTANCE_NEED, "SELECT 1/(count(*)=1)::int FROM @.head WHERE uid=$1::bigint"                 \
        " AND " PG_AMONG("$2", "shard"))                                                           \
    X(PRUNE, "WITH x AS (DELETE FROM @.execution WHERE uid=$1::bigint AND execution<$2::bigint"    \
        " RETURNING uid,execution,last_rid),t AS (INSERT INTO @.tomb(uid,execution,last_rid,shard)"\
        " SELECT x.*,h.shard FROM x JOIN @.head h ON h.uid=ANY(ARRAY[x.uid]) ORDER BY x.execution" \
        " RETURNING 1) SELECT count(*) FROM t")
/* clang-format on */

#endif
