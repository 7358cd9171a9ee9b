/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_schema.c -- the tables of queues: a step of the schema.
 *
 * A push is one row at the end of `queue_entry` and one in the partial index of ready entries,
 * which has neither delayed entries nor those locked together.  A lock names its entries
 * itself and needs no index on them.  Counters are in the queue's own row, written once per
 * group.
 *
 * The pop of one message writes only its lock: changing the entry's row, too, was a quarter of
 * the cost of a pop and its ack.  Such a lock has the entry's id as its number (ids and numbers
 * come from one counter, so no other lock has it).  An entry whose row says ready (0) is locked
 * if a lock has its id as number: every reader looks, by the primary key.  The entry was then
 * delivered once more than its row says.  Schema 3 means that a file may have such locks; older
 * programs must not read it.
 *
 * schema.c runs the steps.
 */
#include "store/sqlite/ddl.h"
#include "store/sqlite/schema.h"

/* clang-format off */
const char *const schema_queue_step[] = {
    "CREATE TABLE queue(\n" SQL_QUEUE(DDL) ") STRICT",
    "CREATE INDEX queue_due ON queue(due_ms) WHERE due_ms>0",

    "CREATE TABLE queue_entry(\n" SQL_ENTRY(DDL) ") STRICT",
    "CREATE INDEX queue_ready ON queue_entry(qid,priority,place) WHERE state=0",
    "CREATE INDEX queue_delayed ON queue_entry(qid,visible_ms) WHERE state=1",
    "CREATE INDEX queue_expiring ON queue_entry(qid,expires_ms) WHERE state<2 AND expires_ms>0",

    "CREATE TABLE queue_lock(\n" SQL_LOCK(DDL)
    "  PRIMARY KEY(qid,number)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE TABLE queue_past( -- locks that ran out\n" SQL_PAST(DDL)
    "  PRIMARY KEY(qid,id)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE INDEX queue_past_number ON queue_past(qid,number)",
    "CREATE TABLE queue_key( -- dedup ids\n" SQL_KEY(DDL)
    "  PRIMARY KEY(qid,key)\n"
    ") STRICT, WITHOUT ROWID",
    "CREATE INDEX queue_key_expiry ON queue_key(qid,expires_ms)",
    NULL,
};
/* clang-format on */
