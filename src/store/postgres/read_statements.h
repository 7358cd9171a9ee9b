/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/read_statements.h -- the dialect of PostgreSQL for the statements that SQL stores
 * share, and the statements that read in a way of our own, X(NAME, SQL); see pg_statements.h.
 *
 * Columns come in the order of store/sql/columns.h, so that rows are decoded by the same places.
 * A row without a column of that name gets a value in its place: 0 for a check sum, the state from
 * `head`, the data of the last event for the output of an instance that has ended.
 */
#ifndef PAWL_STORE_POSTGRES_READ_STATEMENTS_H
#define PAWL_STORE_POSTGRES_READ_STATEMENTS_H

#include "store/sql/columns.h"

#define SQL_SCHEMA   "@."
#define SQL_IN_ORDER "JOIN"
/* A join that must go along an index is written as `column=ANY(ARRAY[value])`, here and in the
 * other two files of statements.  With `column=value` the planner may read the whole index
 * beside it, because it could merge the two (even where that is switched off), and it does so for
 * a table that had no rows when it was analysed. */
#define SQL_SAME(a, b)     a "=ANY(ARRAY[" b "])"
#define SQL_IS_TEXT        "::text"
#define SQL_IS_BYTES       "::bytea"
#define SQL_MOST(n)        " LIMIT " n
#define SQL_OBJECT_COLUMNS "kind,name,version,updated_ms,data,0"
/* The label of a row comes behind its columns. */
#define SQL_QUEUE_COLUMNS  SQL_QUEUE(SQL_NAMES) ",shard"
#define SQL_CLOSED_COLUMNS SQL_CLOSED_NAMES ",(SELECT h.shard FROM @.head h WHERE h.uid=x.uid)"
#define PG_ROW_SHARD       (ROW_updated_ms + 1)
#define PG_MESSAGE_SHARD   (MESSAGE_sum + 1)
#define PG_WORK_SHARD      (WORK_sum + 1)
#define PG_QUEUE_SHARD     (QUEUE_totals + 1)

/* The event with rid r is in the row r or r - 1; these find and choose it.  `h` is the row, `rid` an
 * expression. */
#define PG_ROW_OF(h, rid)                                                                          \
    h ".rid=ANY(ARRAY[" rid "," rid "-1]) AND (" h ".rid=" rid " OR " h ".kind2 IS NOT NULL)"
/* The same for the last event of a row. */
#define PG_ROW_ENDS(h, rid)                                                                        \
    h ".rid=ANY(ARRAY[" rid "," rid "-1]) AND " h ".rid+(" h ".kind2 IS NOT NULL)::int=" rid
#define PG_PART(h, rid, column)                                                                    \
    "CASE WHEN " h ".rid=" rid " THEN " h "." column " ELSE " h "." column "2 END"

/* ---- Columns ------------------------------------------------------------------------------ */

/* clang-format off */
#define PG_ROW_uid              "i.uid"
#define PG_ROW_state            "h.state"
#define PG_ROW_first_rid        "i.first_rid"
#define PG_ROW_created_ms       "i.created_ms"
#define PG_ROW_id               "i.id"
#define PG_ROW_orchestration    "i.orchestration"
#define PG_ROW_version          "i.version"
#define PG_ROW_parent_uid       "i.parent_uid"
#define PG_ROW_parent_execution "i.parent_execution"
#define PG_ROW_parent_ref       "i.parent_ref"
#define PG_ROW_parent_id        "i.parent_id"
#define PG_ROW_output                                                                              \
    "CASE WHEN h.flags&1=1 THEN (SELECT " PG_PART("z", "h.last_rid", "data")                       \
    " FROM @.history z WHERE " PG_ROW_ENDS("z", "h.last_rid") ") ELSE i.output END"
#define PG_ROW_custom_status    "i.custom_status"
#define PG_ROW_finding          "i.finding"
#define PG_ROW_sum              "0"
#define PG_ROW_attributes       "i.attributes"
#define PG_ROW_NAME(position, use, type, column, note) SQL_COMMA_##position PG_ROW_##column
#define SQL_ROW_COLUMNS SQL_INSTANCE(PG_ROW_NAME) SQL_HEAD(SQL_H_NAMES) ",h.shard"

/* Without the columns of other stores, and 0 for those that only SQLite has. */
#define PG_NAMES(position, use, type, column, note) SQL_READ(PG_NAME, position, use, type, column)
#define PG_NAME(position, use, type, column, note)  PG_NAME_##position(#column)
#define PG_NAME_FIRST(name) name
#define PG_NAME_SET(name)   "," name
#define PG_NAME_NEXT(name)  "," name
#define PG_NAME_LAST(name)  "," name
#define PG_NAME_ADDED(name) ",0"
#define SQL_MAIL_COLUMNS SQL_MESSAGE(PG_NAMES) ",shard"
#define PG_WORK_COLUMNS  SQL_WORK(PG_NAMES) ",shard"

/* An entry; when #1 is not 0, only its head, so that the rest is not read. */
#define PG_ENTRY_NAME(position, use, type, column, note) SQL_COMMA_##position PG_ENTRY_##column
#define PG_ENTRY_id          "e.id"
#define PG_ENTRY_qid         "e.qid"
#define PG_ENTRY_state       "e.state"
#define PG_ENTRY_priority    "e.priority"
#define PG_ENTRY_place       "e.place"
#define PG_ENTRY_visible_ms  "e.visible_ms"
#define PG_ENTRY_expires_ms  "e.expires_ms"
#define PG_ENTRY_enqueued_ms "e.enqueued_ms"
#define PG_ENTRY_deliveries  "e.deliveries"
#define PG_ENTRY_bytes       "e.bytes"
#define PG_ENTRY_note        "e.note"
#define PG_ENTRY_data        "CASE WHEN #1=0 THEN e.data ELSE '' END"
#define PG_ENTRY_attrs       "CASE WHEN #1=0 THEN e.attrs ELSE '' END"
#define SQL_ENTRY_COLUMNS    SQL_ENTRY(PG_ENTRY_NAME)

/* Untried work `l` (id, lock_epoch, below 0 when it is free again), from its event: the columns of
 * PG_WORK_COLUMNS. */
#define PG_UNTRIED_COLUMNS PG_UNTRIED_OF("l.shard")
#define PG_UNTRIED_OF(shard)                                                                       \
    "l.id,h.uid,h.execution::bigint," PG_PART("h", "l.id", "ref") ",coalesce(i.id,''),"            \
    PG_PART("h", "l.id", "name") "," PG_PART("h", "l.id", "data") ","                              \
    PG_PART("h", "l.id", "attrs") ",0::bigint,0::bigint,0::bigint,h.at_ms,0::bigint,"              \
    "''::bytea,abs(l.lock_epoch),''::text,0::bigint,0," shard
/* clang-format on */
#define PG_UNTRIED_JOIN                                                                            \
    " l JOIN @.history h ON " PG_ROW_OF(                                                           \
        "h", "l.id") " LEFT JOIN @.instance i ON i.uid=ANY(ARRAY[h.uid])"
/* Work that is a number in a head was inserted as taken, by the owner that gave out its id. */
#define PG_EPOCH_OF(id)                                                                            \
    "(SELECT epoch FROM @.epoch WHERE from_id<=" id " ORDER BY from_id DESC,epoch DESC LIMIT 1)"

/* ---- The other holes of store/sql/sql_statements.h ------------------------------------------ */

/* Not EXISTS: the server may answer that with a table of all locks that it makes in memory. */
#define SQL_ENTRY_LOCK                                                                             \
    "((SELECT 1 FROM @.queue_lock l WHERE l.qid=e.qid AND l.number=e.id) IS NOT NULL)"
#define SQL_ENTRY_UNLOCKED "NOT " SQL_ENTRY_LOCK
#define SQL_ENTRY_TAKEN    "(e.state=0 AND " SQL_ENTRY_LOCK ")"
/* ---- Ours ------------------------------------------------------------------------------------ */

/* clang-format off */
/* Does the text of this parameter occur in these bytes?  It comes in lower case, and both are written in ASCII
 * byte by byte, so that any bytes will do.  A digit may be found in such an escape: the caller
 * compares the rows that come once more. */
#define PG_HAS(text, bytes)                                                                        \
    "position(encode(" text "::bytea,'escape') IN lower(encode(" bytes ",'escape') COLLATE \"C\"))>0"
#define PG_HAS_TEXT(bytes) PG_HAS("$10", bytes)
/* Does every condition hold?  $16 names, $17 and $18 the keys from and below which values fit, $19
 * a key that does not.  Values become keys as in base/attributes.h. */
#define PG_KEY_OF(kind, v)                                                                         \
    "(CASE " kind " WHEN 'number' THEN 'n'||lpad(to_hex(int8xor(" v "::bigint,"                    \
    "(-9223372036854775808)::bigint)),16,'0') ELSE 't'||" v " END) COLLATE \"C\""
#define PG_WHERE_HOLDS                                                                             \
    "NOT EXISTS(SELECT 1 FROM unnest($16::text[],$17::text[],$18::text[],$19::text[])"             \
    " AS c(n,f,t,x) LEFT JOIN LATERAL (SELECT " PG_KEY_OF("jsonb_typeof(j.o->c.n)", "(j.o->>c.n)") \
    " AS k FROM (SELECT NULLIF(convert_from(i.attributes,'UTF8'),'')::jsonb AS o) j) y"            \
    " ON true WHERE (y.k>=c.f AND y.k<c.t AND y.k<>c.x) IS NOT TRUE)"
/* The instances whose attribute $13 has the key $14, or one from $14 on and below $15. */
#define PG_OF_VALUE                                                                                \
    "(SELECT uid FROM @.attribute WHERE name=$13::text AND value=$14::text AND uid<$1::bigint"     \
    " ORDER BY uid DESC LIMIT $9::bigint+1) x WHERE true"
#define PG_OF_RANGE                                                                                \
    "@.attribute WHERE name=$13::text AND value>=$14::text AND value<$15::text"
/* The children of $2.  By `parent_uid=$2 ORDER BY uid` the server may read all instances from the
 * newest, when most are children of one: only instance_parent has the order of two columns. */
#define PG_OF_PARENT                                                                               \
    "(SELECT uid FROM @.instance WHERE (parent_uid,uid)<($2::bigint,$1::bigint)"                   \
    " AND parent_uid>=$2::bigint AND parent_uid>0 ORDER BY parent_uid DESC,uid DESC"               \
    " LIMIT $9::bigint+1) x WHERE true"
/* The ids that begin with the text $12: no character comes behind U+10FFFF. */
#define PG_BEGIN_SO                                                                                \
    "@.instance WHERE id>=$12::text AND id<=$12::text||repeat(chr(1114111),1100)"
/* Those of the rare states $3, each along its part of the index. */
#define PG_IN_STATES                                                                               \
    "(SELECT o.uid FROM unnest(ARRAY[2,3,5,6]) st CROSS JOIN LATERAL (SELECT uid FROM @.odd"       \
    " WHERE state=st AND ($3::bigint>>st)&1=1 AND uid<$1::bigint ORDER BY uid DESC"                \
    " LIMIT $9::bigint+1) o) x WHERE true"

/* Instances by `uids`, newest first, of which at most $9 are examined.  $1 uids below it, $2 a
 * parent, $3 states, a bit each, $4 an orchestration, $5 a prefix (both are any bytes, from a
 * client), $6 created after, $7 ended before, $10 a text, $11 roots only, $12 as $5, for an index;
 * $13 to $19 attributes, see above; $20 created before, $21 ended after, $22 a text of an error; 0 and
 * '' are no condition.  At most $8 rows: those that fit, the last examined, and the one behind
 * it, which say where the next page begins.  Two more columns: it fits, its number. */
#define PG_LIST(uids)                                                                              \
    "SELECT * FROM (SELECT " SQL_ROW_COLUMNS ",s.n<=$9::bigint"                                    \
    " AND ($3::bigint>>h.state)&1=1"                                                               \
    " AND ($4::bytea='' OR convert_to(i.orchestration,'UTF8')=$4::bytea)"                          \
    " AND ($5::bytea='' OR substr(convert_to(i.id,'UTF8'),1,length($5::bytea))=$5::bytea)"         \
    " AND ($6::bigint=0 OR i.created_ms>$6::bigint)"                                               \
    " AND ($7::bigint=0 OR (h.state BETWEEN 4 AND 6 AND h.updated_ms<$7::bigint))"                 \
    " AND ($11::bigint=0 OR i.parent_uid=0) AND ($2::bigint=0 OR i.parent_uid=$2::bigint)"         \
    " AND ($20::bigint=0 OR i.created_ms<$20::bigint)"                                             \
    " AND ($21::bigint=0 OR (h.state BETWEEN 4 AND 6 AND h.updated_ms>$21::bigint))"               \
    " AND " PG_WHERE_HOLDS                                                                         \
    " AND ($22::bytea='' OR (h.state IN (5,6) AND " PG_HAS("$22", PG_ROW_output) ")"               \
    " OR (h.state=3 AND " PG_HAS("$22", "i.finding") "))"                                          \
    " AND ($10::bytea='' OR " PG_HAS_TEXT("convert_to(i.id,'UTF8')")                               \
    " OR " PG_HAS_TEXT("convert_to(i.orchestration,'UTF8')") " OR " PG_HAS_TEXT("i.custom_status") \
    " OR " PG_HAS_TEXT("i.finding")                                                                \
    " OR (h.state IN (5,6) AND " PG_HAS_TEXT(PG_ROW_output) ")) AS fits,s.n,s.ends"                \
    " FROM (SELECT uid,row_number() OVER w AS n,lead(uid) OVER w IS NULL AS ends FROM " uids       \
    " AND uid<$1::bigint AND $2::bigint IS NOT NULL AND $12::text IS NOT NULL"                     \
    " AND $13::text IS NOT NULL AND $14::text IS NOT NULL AND $15::text IS NOT NULL"               \
    " WINDOW w AS (ORDER BY uid DESC) ORDER BY uid DESC LIMIT $9::bigint+1) s"                     \
    " JOIN @.instance i ON i.uid=ANY(ARRAY[s.uid]) JOIN @.head h ON h.uid=ANY(ARRAY[s.uid])"       \
    " ORDER BY s.uid DESC) z WHERE fits OR n>=$9::bigint OR ends LIMIT $8::bigint"
/* clang-format on */

/* History from its end: $1 uid, $2 execution, events after $3, at most $4 or, with 0, all.  The
 * walk begins at a mark, if there is one behind the page; two more columns say where.  A row of
 * zeros says that there is nothing at that place.  Rids fall from row to row, so it always ends. */
/* clang-format off */
#define PG_HISTORY_PARTS(data, data2)                                                              \
    "h.rid,h.uid,h.execution,h.seq,h.prev,h.at_ms,h.kind,h.ref,h.name," data ",h.attrs,"           \
    "h.kind2,h.ref2,h.name2," data2 ",h.attrs2"
/* Between the page and the mark behind it, the data is not read. */
#define PG_IN_PAGE(seq, data)                                                                      \
    "CASE WHEN $4::bigint=0 OR " seq "<=$3::bigint+$4::bigint THEN " data " ELSE '' END"
#define PG_HISTORY                                                                                 \
    "WITH RECURSIVE top AS (SELECT last_seq::bigint AS seq,last_rid AS rid FROM @.head"            \
    " WHERE uid=$1::bigint AND execution=$2::bigint UNION ALL SELECT x.last_seq,x.last_rid"        \
    " FROM @.execution x JOIN @.head h ON h.uid=x.uid"                                             \
    " WHERE x.uid=$1::bigint AND x.execution=$2::bigint),"                                         \
    "s AS (SELECT seq,rid FROM (SELECT m.seq::bigint,m.rid,0 AS o FROM @.mark m,top"               \
    " WHERE m.uid=$1::bigint AND m.execution=$2::bigint AND $4::bigint>0"                          \
    " AND m.seq>=$3::bigint+$4::bigint AND m.seq<=top.seq"                                         \
    " UNION ALL SELECT seq,rid,1 FROM top) z ORDER BY o,seq LIMIT 1),"                             \
    "c AS (SELECT h.* FROM s JOIN @.history h ON " PG_ROW_ENDS("h", "s.rid")                       \
    " WHERE s.seq>$3::bigint"                                                                      \
    " UNION ALL SELECT h.* FROM c JOIN @.history h ON " PG_ROW_ENDS("h", "c.prev")                 \
    " WHERE c.prev>0 AND c.prev<c.rid AND c.seq>$3::bigint+1)"                                     \
    " SELECT " PG_HISTORY_PARTS(PG_IN_PAGE("h.seq", "h.data"), PG_IN_PAGE("h.seq+1", "h.data2"))   \
    ",s.seq,s.rid FROM c h,s"                                                                      \
    " UNION ALL SELECT 0,0,0,0,0,0,0,0,'','','',NULL,NULL,NULL,NULL,NULL,seq,rid FROM s"           \
    " WHERE s.seq>$3::bigint AND NOT EXISTS(SELECT 1 FROM c)"

/* The number of rows: up to 10,000 are counted; above that the server's statistics give an estimate,
 * so that the cost does not grow.  `e` has the estimate for a table or an index, `o` the estimate
 * for each rare state. */
#define PG_ESTIMATES                                                                               \
    "WITH e AS (SELECT c.oid AS r,c.reltuples*(pg_relation_size(c.oid)"                            \
    "/current_setting('block_size')::int)/greatest(c.relpages,1) AS n FROM pg_class c"             \
    " WHERE c.oid=ANY(ARRAY['@.message','@.message_due','@.work','@.work_fresh','@.head_busy',"    \
    "'@.quarantine','@.instance','@.odd']::regclass[]::oid[])),"                                   \
    "o AS (SELECT m.v,m.f*e.n AS n FROM e,pg_stats p,unnest(p.most_common_vals::text::text[],"     \
    "p.most_common_freqs) AS m(v,f) WHERE e.r='@.odd'::regclass AND p.tablename='odd'"             \
    " AND '\"'||p.schemaname||'\"'='@' AND p.attname='state')"
#define PG_DEPTH(rows, estimate)                                                                   \
    "(SELECT CASE WHEN n<=10000 THEN n ELSE greatest(n,(SELECT n FROM " estimate ")::bigint) END"  \
    " FROM (SELECT count(*) AS n FROM (SELECT 1 FROM @." rows " LIMIT 10001) a) b)"
#define PG_REL_DEPTH(rows, rel) PG_DEPTH(rows, "e WHERE r='@." rel "'::regclass")
#define PG_ODD_DEPTH(state)     PG_DEPTH("odd WHERE state=" state, "o WHERE v='" state "'")

/* Those of many executions that are not closed ($1 uids, $2 which), newest event first; behind the
 * columns the place of the question and the bytes up to here.  With the row that exceeds $3 bytes
 * the answer ends. */
#define PG_ROW_BYTES "200+coalesce(octet_length(h.data)+octet_length(h.attrs)+octet_length(h.name),0)" \
    "+coalesce(octet_length(h.data2)+octet_length(h.attrs2)+octet_length(h.name2),0)"
#define PG_HISTORIES                                                                               \
    "WITH RECURSIVE t AS (SELECT a.o,g.last_seq::bigint AS seq,g.last_rid AS rid FROM"             \
    " unnest($1::bigint[],$2::bigint[]) WITH ORDINALITY AS a(uid,execution,o)"                     \
    " CROSS JOIN LATERAL (SELECT last_seq,last_rid FROM @.head WHERE " SQL_SAME("uid", "a.uid")     \
    " AND execution=a.execution OFFSET 0) g),"                                                     \
    "c AS (SELECT t.o,h.* FROM t CROSS JOIN LATERAL (SELECT * FROM @.history h WHERE "             \
    PG_ROW_ENDS("h", "t.rid") " OFFSET 0) h UNION ALL SELECT c.o,h.* FROM c CROSS JOIN LATERAL"    \
    " (SELECT * FROM @.history h WHERE " PG_ROW_ENDS("h", "c.prev") " OFFSET 0) h"                 \
    " WHERE c.prev>0 AND c.prev<c.rid),"                                                           \
    "b AS (SELECT h.*," PG_ROW_BYTES " AS bytes,sum(" PG_ROW_BYTES ") OVER"                        \
    " (ORDER BY h.o,h.rid DESC) AS upto FROM c h)"                                                 \
    " SELECT " PG_HISTORY_PARTS("h.data", "h.data2") ",t.seq,t.rid,t.o,h.upto FROM t"              \
    " LEFT JOIN b h ON h.o=t.o WHERE coalesce(h.upto-h.bytes,0)<=$3::bigint ORDER BY t.o,h.rid DESC"
/* The messages of many instances ($1), likewise up to $2 bytes. */
#define PG_MAIL_BYTES "200+coalesce(octet_length(m.data)+octet_length(m.attrs)+octet_length(m.name),0)"
#define PG_MAIL_OF                                                                                 \
    "SELECT " SQL_MAIL_COLUMNS ",o,upto FROM (SELECT m.*,t.o," PG_MAIL_BYTES " AS weight,"         \
    "sum(" PG_MAIL_BYTES ") OVER (ORDER BY t.o,m.visible_ms,m.id) AS upto"                         \
    " FROM unnest($1::bigint[]) WITH ORDINALITY AS t(u,o) CROSS JOIN LATERAL"                      \
    " (SELECT * FROM @.message WHERE " SQL_SAME("uid", "t.u") " AND uid>0 OFFSET 0) m) x"              \
    " WHERE upto-weight<=$2::bigint ORDER BY o,visible_ms,id"

#define PG_READ_STATEMENTS(X)                                                                      \
    X(CLOCK, "SELECT floor(extract(epoch FROM clock_timestamp())*1000)::bigint")                   \
    X(LIST, PG_LIST("@.instance WHERE true"))                                                      \
    X(LIST_PARENT, PG_LIST(PG_OF_PARENT))                                                          \
    X(LIST_STATES, PG_LIST(PG_IN_STATES))                                                          \
    X(LIST_VALUE, PG_LIST(PG_OF_VALUE))                                                            \
    X(LIST_RANGE, PG_LIST(PG_OF_RANGE))                                                            \
    X(COUNT_ENTRIES, "SELECT count(*) FROM (SELECT 1 FROM @.attribute WHERE name=$1::text"         \
        " AND value>=$2::text AND value<$3::text LIMIT $4::bigint) x")                             \
    X(COUNT_VALUES, "SELECT value,count(*),(sum(count(*)) OVER ())::bigint FROM (SELECT value FROM"          \
        " @.attribute WHERE name=$1::text ORDER BY value LIMIT $2::bigint) x GROUP BY value"       \
        " ORDER BY value LIMIT $3::bigint")                                                        \
    X(LIST_PREFIX, PG_LIST("(SELECT uid FROM " PG_BEGIN_SO " LIMIT $9::bigint+1) x WHERE true"))   \
    X(COUNT_PREFIX, "SELECT count(*) FROM (SELECT 1 FROM @.instance WHERE id>=$1::text"            \
        " AND id<=$1::text||repeat(chr(1114111),1100) LIMIT $2::bigint) z")                        \
    /* Timers are nearly all of message_due: what is visible is soon fetched. */                   \
    X(DEPTHS, PG_ESTIMATES " SELECT " PG_REL_DEPTH("message", "message") ","                       \
        PG_REL_DEPTH("message WHERE mailbox=0 AND visible_ms>$1::bigint", "message_due") ","       \
        PG_REL_DEPTH("work", "work") "+" PG_REL_DEPTH("work_fresh", "work_fresh") "+"              \
        PG_REL_DEPTH("head WHERE busy AND open1<>0", "head_busy") ","                              \
        PG_REL_DEPTH("quarantine", "quarantine") "," PG_REL_DEPTH("instance", "instance") ","      \
        PG_ODD_DEPTH("2") "," PG_ODD_DEPTH("3") "," PG_ODD_DEPTH("5") "," PG_ODD_DEPTH("6"))       \
    X(HISTORIES, PG_HISTORIES)                                                                     \
    X(MAIL_OF, PG_MAIL_OF)                                                                         \
    X(HISTORY, PG_HISTORY)                                                                         \
    X(EVENT, "SELECT " PG_HISTORY_PARTS("h.data", "h.data2") " FROM @.history h"                   \
        " WHERE " PG_ROW_OF("h", "$1::bigint"))
/* clang-format on */

#endif
