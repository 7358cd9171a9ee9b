/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/queue_schema.c -- the tables of queues: a step of the schema.
 *
 * A push is one row at the end of `queue_entry` and one in the index of ready
 * entries, which is partial: delayed ones are not in it, nor those locked together.  A lock names
 * its entries itself and needs no index on them.  Counters are in the queue's own row, written
 * once a group.
 *
 * The pop of one message writes its lock alone: to change the entry's row too was a quarter
 * of what a pop and its acknowledgement cost.  Such a lock has the entry's id as its
 * number (ids and numbers are drawn from one counter, so no other lock has it), and an entry
 * that says ready (0) is locked if there is a lock of its number: every reader looks, by the
 * primary key.  It was then delivered once more than its row says.  Schema 3 says that a file
 * may have such locks; older programs must not read it.
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
