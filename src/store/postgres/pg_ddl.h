/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_ddl.h -- the tables, as text; "@." stands for the schema and its dot.
 *
 * Rules behind it (measured in docs/decisions/0038):
 *   - Every name is qualified: nothing depends on search_path, which poolers lose.
 *   - Text is COLLATE "C" (byte order); payloads are bytea, any bytes; '' and never NULL.
 *   - Columns that never change come first: an update logs only what follows the first change.
 *   - head is HOT: nothing that changes with a step is in an index or in the predicate of one.
 *   - A row of history holds one event, or two with neighbouring rids of one execution and time.
 *   - Tables from which rows are deleted all the time are vacuumed every few thousand rows.
 *   - No foreign keys, no triggers, nothing UNLOGGED.
 *
 * A step is a list of texts, because a compiler need not take one that is longer than 4,095 bytes.
 * `shard` labels rows for several lanes (pg_lane.c).  A step that is released never changes; a later
 * change is a further step (pg_schema.c).
 */
#ifndef PAWL_STORE_POSTGRES_PG_DDL_H
#define PAWL_STORE_POSTGRES_PG_DDL_H

#define PG_C "text COLLATE \"C\" NOT NULL"
#define PG_BUSY_TABLE                                                                              \
    "autovacuum_vacuum_scale_factor=0.01,autovacuum_vacuum_threshold=1000,"                        \
    "autovacuum_vacuum_cost_delay=0"

/* clang-format off */
#define PG_STEP_1                                                                                  \
    "CREATE SCHEMA @;\n"                                                                           \
    "CREATE TABLE @.meta(one smallint PRIMARY KEY CHECK(one=1),schema_no int NOT NULL,"            \
    "shards smallint NOT NULL,timeline int NOT NULL,system_id bigint NOT NULL,"                    \
    "cluster uuid NOT NULL,created_ms bigint NOT NULL,moved_ms bigint NOT NULL);\n"                \
    "CREATE SEQUENCE @.epochs;\n"                                                                  \
    /* ---- who writes ---- */                                                                     \
    "CREATE TABLE @.lane(lane bigint PRIMARY KEY,epoch bigint NOT NULL,life bigint NOT NULL,"      \
    "pid int NOT NULL,started_us bigint NOT NULL,owner " PG_C ",taken_ms bigint NOT NULL);\n"      \
    "CREATE TABLE @.epoch(from_id bigint,epoch bigint,PRIMARY KEY(from_id,epoch));\n"              \
    "CREATE TABLE @.lane_log(lane bigint,group_no bigint,next_id bigint NOT NULL,"                 \
    "at_ms bigint NOT NULL,PRIMARY KEY(lane,group_no));\n",                                        \
    /* ---- instances and histories ---- */                                                        \
    "CREATE TABLE @.instance(uid bigint PRIMARY KEY,parent_uid bigint NOT NULL,"                   \
    "parent_execution bigint NOT NULL,parent_ref bigint NOT NULL,id " PG_C ",parent_id " PG_C ","  \
    "created_ms bigint NOT NULL,first_rid bigint NOT NULL,orchestration " PG_C ",version " PG_C ","\
    "custom_status bytea NOT NULL,finding bytea NOT NULL,output bytea NOT NULL)"                   \
    " WITH (fillfactor=95);\n"                                                                     \
    "CREATE UNIQUE INDEX instance_id ON @.instance(id);\n"                                         \
    "CREATE INDEX instance_parent ON @.instance(parent_uid,uid) WHERE parent_uid>0;\n"             \
    "CREATE TABLE @.head(uid bigint PRIMARY KEY,shard smallint NOT NULL,"                          \
    "execution int NOT NULL,last_seq int NOT NULL,last_rid bigint NOT NULL,"                       \
    "updated_ms bigint NOT NULL,open1 bigint NOT NULL,state smallint NOT NULL,"                    \
    "flags smallint NOT NULL,busy boolean NOT NULL) WITH (fillfactor=45,"                          \
    "autovacuum_vacuum_scale_factor=0.02,autovacuum_vacuum_cost_delay=0);\n"                       \
    "COMMENT ON COLUMN @.head.open1 IS 'rid of its one untried activity that the engine has; 0';\n"\
    "COMMENT ON COLUMN @.head.flags IS '1: the output is the data of the last event; '\n"\
    "'2: it was in odd before';\n"                                                                  \
    "CREATE INDEX head_busy ON @.head(shard) WHERE busy;\n"                                        \
    "CREATE TABLE @.odd(state smallint,uid bigint,PRIMARY KEY(state,uid));\n"                      \
    "CREATE TABLE @.execution(uid bigint,execution bigint,orchestration " PG_C ","                 \
    "version " PG_C ",last_seq bigint NOT NULL,last_rid bigint NOT NULL,"                          \
    "first_rid bigint NOT NULL,created_ms bigint NOT NULL,updated_ms bigint NOT NULL,"             \
    "custom_status bytea NOT NULL,PRIMARY KEY(uid,execution));\n"                                  \
    "CREATE TABLE @.history(rid bigint PRIMARY KEY,uid bigint NOT NULL,prev bigint NOT NULL,"      \
    "at_ms bigint NOT NULL,ref bigint NOT NULL,ref2 bigint,execution int NOT NULL,"                \
    "seq int NOT NULL,kind smallint NOT NULL,kind2 smallint,name " PG_C ",data bytea NOT NULL,"    \
    "attrs bytea NOT NULL,name2 text COLLATE \"C\",data2 bytea,attrs2 bytea);\n"                   \
    "ALTER TABLE @.history ALTER data SET STORAGE EXTERNAL,ALTER data2 SET STORAGE EXTERNAL;\n"    \
    "CREATE TABLE @.mark(uid bigint,execution int,seq int,rid bigint NOT NULL,"                    \
    "PRIMARY KEY(uid,execution,seq));\n"                                                           \
    "CREATE VIEW @.event AS SELECT rid,uid,execution,seq,kind,ref,name,data,attrs,at_ms"           \
    " FROM @.history UNION ALL SELECT rid+1,uid,execution,seq+1,kind2,ref2,name2,data2,attrs2,"    \
    "at_ms FROM @.history WHERE kind2 IS NOT NULL;\n",                                             \
    /* ---- messages and work ---- */                                                              \
    "CREATE TABLE @.message(id bigint PRIMARY KEY,uid bigint NOT NULL,created_ms bigint NOT NULL," \
    "execution bigint NOT NULL,ref bigint NOT NULL,kind int,instance " PG_C ",name " PG_C ","      \
    "data bytea NOT NULL,attrs bytea NOT NULL,shard smallint NOT NULL,visible_ms bigint NOT NULL," \
    "attempt bigint NOT NULL,mailbox smallint NOT NULL) WITH (" PG_BUSY_TABLE ");\n"               \
    "CREATE INDEX message_due ON @.message(visible_ms,id) WHERE mailbox=0;\n"                      \
    "CREATE INDEX message_uid ON @.message(uid,visible_ms,id) WHERE uid>0;\n"                      \
    "CREATE INDEX message_name ON @.message(instance,visible_ms,id) WHERE uid=0;\n"                \
    "CREATE TABLE @.quarantine(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"                 \
    "reason bytea NOT NULL,id bigint,uid bigint,created_ms bigint,execution bigint,ref bigint,"     \
    "kind int,instance text COLLATE \"C\",name text COLLATE \"C\",data bytea,attrs bytea,"         \
    "shard smallint,visible_ms bigint,attempt bigint,mailbox smallint);\n"                         \
    "CREATE TABLE @.work_fresh(id bigint PRIMARY KEY,uid bigint NOT NULL,shard smallint NOT NULL," \
    "name " PG_C ",lock_epoch bigint NOT NULL) WITH (" PG_BUSY_TABLE ");\n"                        \
    "CREATE INDEX work_fresh_name ON @.work_fresh(name,id) WHERE lock_epoch<=0;\n"                 \
    "CREATE INDEX work_fresh_locked ON @.work_fresh(lock_epoch) WHERE lock_epoch>0;\n"             \
    "CREATE TABLE @.work(id bigint PRIMARY KEY,uid bigint NOT NULL,execution bigint NOT NULL,"     \
    "ref bigint NOT NULL,scheduled_ms bigint NOT NULL,instance " PG_C ",name " PG_C ","            \
    "input bytea NOT NULL,attrs bytea NOT NULL,shard smallint NOT NULL,attempt bigint NOT NULL,"   \
    "crashes bigint NOT NULL,visible_ms bigint NOT NULL,deadline_ms bigint NOT NULL,"              \
    "lock_epoch bigint NOT NULL,lock_until_ms bigint NOT NULL,held boolean NOT NULL,"              \
    "lock_token " PG_C ",last_error bytea NOT NULL) WITH (fillfactor=70," PG_BUSY_TABLE ");\n"     \
    "CREATE INDEX work_free ON @.work(name,greatest(visible_ms,lock_until_ms),id)"                 \
    " WHERE NOT held;\n"                                                                           \
    "CREATE INDEX work_held ON @.work(id) WHERE held;\n"                                           \
    "CREATE INDEX work_due ON @.work(visible_ms) WHERE visible_ms>0;\n"                            \
    "CREATE INDEX work_deadline ON @.work(deadline_ms,id) WHERE deadline_ms>0;\n"                  \
    "CREATE TABLE @.dedup(uid bigint,key bytea,PRIMARY KEY(uid,key));\n"                           \
    "CREATE TABLE @.tomb(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,uid bigint NOT NULL,"   \
    "execution bigint NOT NULL,last_rid bigint NOT NULL);\n",                                      \
    /* ---- queues ---- */                                                                         \
    "CREATE TABLE @.queue(qid bigint PRIMARY KEY,created_ms bigint NOT NULL,"                      \
    "shard smallint NOT NULL,name " PG_C " UNIQUE,due_ms bigint NOT NULL,ready bigint NOT NULL,"   \
    "delayed bigint NOT NULL,locked bigint NOT NULL,locks bigint NOT NULL,bytes bigint NOT NULL,"  \
    "paused boolean NOT NULL,config bytea NOT NULL,totals bytea NOT NULL) WITH (fillfactor=20,"    \
    "autovacuum_vacuum_cost_delay=0);\n"                                                           \
    "CREATE TABLE @.queue_entry(id bigint PRIMARY KEY,priority bigint NOT NULL,"                   \
    "enqueued_ms bigint NOT NULL,bytes bigint NOT NULL,data bytea NOT NULL,attrs bytea NOT NULL,"  \
    "qid bigint NOT NULL,place bigint NOT NULL,visible_ms bigint NOT NULL,"                        \
    "expires_ms bigint NOT NULL,deliveries bigint NOT NULL,state smallint NOT NULL,"               \
    "note bytea NOT NULL) WITH (" PG_BUSY_TABLE ");\n"                                             \
    "ALTER TABLE @.queue_entry ALTER data SET STORAGE EXTERNAL;\n"                                 \
    "CREATE INDEX queue_ready ON @.queue_entry(qid,priority,place) WHERE state=0;\n"               \
    "CREATE INDEX queue_delayed ON @.queue_entry(qid,visible_ms,id) WHERE state=1;\n"              \
    "CREATE INDEX queue_expiring ON @.queue_entry(qid,expires_ms,id)"                              \
    " WHERE state<2 AND expires_ms>0;\n"                                                           \
    "CREATE TABLE @.queue_lock(qid bigint,number bigint,created_ms bigint NOT NULL,id " PG_C ","   \
    "until_ms bigint NOT NULL,entries bigint[] NOT NULL,PRIMARY KEY(qid,number))"                  \
    " WITH (" PG_BUSY_TABLE ");\n"                                                                 \
    "CREATE TABLE @.queue_past(qid bigint,id bytea,number bigint NOT NULL,"                        \
    "at_ms bigint NOT NULL,PRIMARY KEY(qid,id));\n"                                                \
    "CREATE INDEX queue_past_number ON @.queue_past(qid,number);\n"                                \
    "CREATE TABLE @.queue_key(qid bigint,key bytea,entry bigint NOT NULL,"                         \
    "expires_ms bigint NOT NULL,PRIMARY KEY(qid,key));\n"                                          \
    "CREATE INDEX queue_key_expiry ON @.queue_key(qid,expires_ms);\n"                              \
    /* ---- the server's tokens ---- */                                                            \
    "CREATE TABLE @.token(hash bytea PRIMARY KEY,line text COLLATE \"C\" NOT NULL,"                \
    "created_ms bigint NOT NULL);\n"                                                               \
    "INSERT INTO @.lane VALUES(1,0,0,0,0,'',0);\n"

#define PG_STEP_2                                                                                  \
    "CREATE TABLE @.object(kind int,name text COLLATE \"C\",version bigint NOT NULL,"              \
    "updated_ms bigint NOT NULL,data bytea NOT NULL,PRIMARY KEY(kind,name))"                       \
    " WITH (fillfactor=50," PG_BUSY_TABLE ");\n"

/* Where the tables are: a dump that is loaded gets other numbers, also on the same server. */
#define PG_HOME                                                                                    \
    "(SELECT oid::text||'/'||'@.meta'::regclass::oid::text FROM pg_database"                       \
    " WHERE datname=current_database())"
#define PG_STEP_3                                                                                  \
    "ALTER TABLE @.meta ADD COLUMN home text NOT NULL DEFAULT '';\n"                               \
    "UPDATE @.meta SET home=" PG_HOME ";\n"
#define PG_STEP_4                                                                                  \
    "ALTER TABLE @.instance ADD COLUMN attributes bytea NOT NULL DEFAULT '';\n"                    \
    "CREATE TABLE @.attribute(name text COLLATE \"C\",value text COLLATE \"C\",uid bigint,"        \
    "PRIMARY KEY(name,value,uid)) WITH (" PG_BUSY_TABLE ");\n"
/* From here on open1 may be -1 (open_work.c); an older pawl must not open these tables. */
#define PG_STEP_5                                                                                  \
    "COMMENT ON COLUMN @.head.open1 IS 'rid of its one untried activity that the engine has; '\n"  \
    "'-1: it is last_rid; 0: none';\n"
/* Several lanes.  A lane that lives has a row in `lane`; what it has of ids ends at end_id, and from
 * first_id on none was used when it was drawn.  What is sought by its time is sought by its shard
 * first: a lane does not read past what others have. */
#define PG_STEP_6                                                                                  \
    "CREATE TABLE @.cluster(one smallint PRIMARY KEY CHECK(one=1),ids_end bigint NOT NULL,"        \
    "group_no bigint NOT NULL,moves bigint NOT NULL,node_no bigint NOT NULL)"                      \
    " WITH (fillfactor=50);\n"                                                                     \
    "INSERT INTO @.cluster SELECT 1,greatest(1,(SELECT max(next_id) FROM @.lane_log)),0,0,0;\n"    \
    "CREATE TABLE @.node(id bigint PRIMARY KEY,name " PG_C " UNIQUE,joined_ms bigint NOT NULL,"    \
    "about bytea NOT NULL,lease_until_ms bigint NOT NULL,asked bigint NOT NULL)"                   \
    " WITH (fillfactor=50," PG_BUSY_TABLE ");\n"                                                   \
    "CREATE TABLE @.shard(shard smallint PRIMARY KEY,lane bigint NOT NULL);\n"                     \
    "INSERT INTO @.shard SELECT n,(SELECT count(*) FROM @.lane WHERE life>0)"                      \
    " FROM generate_series(0,63) n;\n"                                                             \
    "CREATE INDEX shard_lane ON @.shard(lane);\n"                                                  \
    "ALTER TABLE @.lane ADD COLUMN node bigint NOT NULL DEFAULT 0,"                                \
    "ADD COLUMN first_id bigint NOT NULL DEFAULT 0,ADD COLUMN end_id bigint NOT NULL DEFAULT 0;\n" \
    "UPDATE @.lane SET end_id=(SELECT ids_end FROM @.cluster);\n"                                  \
    "CREATE UNIQUE INDEX lane_epoch ON @.lane(epoch);\n"                                           \
    "ALTER TABLE @.tomb ADD COLUMN shard smallint NOT NULL DEFAULT 0,"                             \
    "DROP CONSTRAINT tomb_pkey;\n"                                                                 \
    "ALTER TABLE @.tomb ADD PRIMARY KEY(shard,n);\n"                                               \
    "DROP INDEX @.message_due,@.work_due,@.work_deadline,@.work_held,@.work_fresh_locked;\n"       \
    "CREATE INDEX work_held ON @.work(shard) WHERE held;\n"                                        \
    "CREATE INDEX work_fresh_locked ON @.work_fresh(shard) WHERE lock_epoch>0;\n"                  \
    "CREATE INDEX message_due ON @.message(shard,visible_ms,id) WHERE mailbox=0;\n"                \
    "CREATE INDEX work_due ON @.work(shard,visible_ms) WHERE visible_ms>0;\n"                      \
    "CREATE INDEX work_deadline ON @.work(shard,deadline_ms,id) WHERE deadline_ms>0;\n"
/* clang-format on */

#endif
