/* SPDX-License-Identifier: MIT */
/*
 * store/sqlite/sqlite.h -- the SQLite store's parts, shared by its files.
 *
 * The writer connection belongs to the engine thread, and only it checkpoints; readers
 * use connections from a pool.  Rows that an engine has taken are known in memory (the
 * `taken` sets) or were inserted as taken (work_local, and the `place` of work rows);
 * take() forgets all of it.
 *
 *   open.c     pawl_sqlite_store, close, the table of operations   library.c  pawl/sqlite.h
 *   reserve.c  DIR/reserve          dirty.c    DIR/dirty        (store/lock.c: DIR/lock)
 *   committed.c  FILE-committed
 *   schema.c   tables, migrations   conn.c     connections, statements, errors
 *   rows.c     bind and decode      pool.c     reader connections
 *   driver.c   what the readers of store/sql need
 *   commit.c   take, commit         round.c    one round
 *   fetch.c    messages, deadlines, next_due   work.c, abandon_work.c  work
 *   purge.c    purge, prune         queue_*.c  queues           backup.c pawl/backup.h
 *
 * Internal functions return SQLite result codes (0 is success); the operations
 * turn them into statuses with conn_error().
 */
#ifndef PAWL_STORE_SQLITE_SQLITE_H
#define PAWL_STORE_SQLITE_SQLITE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/idset.h"
#include "base/map.h"
#include "base/vec.h"
#include "pawl/provider.h"
#include "store/lock.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/work_names.h"
#include "store/sqlite/statements.h"
#include "store/there.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define READERS_MAX 8
#define PAGE_BYTES  4096 /* SQLite's default, which we keep */
/* After the reserve is spent, the pages of the WAL must fit into the room it gave: the WAL is no
 * longer than that (reserve.c). */
#define CHECKPOINT_PAGES       2000
#define WAL_KEPT               "16777216" /* a WAL that a long reader let grow is cut to this */
#define CHECKPOINT_PAGES_SMALL 128

struct sqlite_store;

/* The index of `work` that has a row.  Stored. */
enum place {
    PLACE_READY = 0,
    PLACE_DELAYED = 1,
    PLACE_HELD = 2, /* taken by the engine when it was inserted or updated */
};

/* Arrays that the writer sees as tables (bulk.c). */
enum bulk_kind {
    BULK_ROW,
    BULK_HEAD,
    BULK_EVENT,
    BULK_LOCAL,
    BULK_FRESH,
    BULK_ENTRY,
    BULK_ENTRY_UPDATE,
    BULK_ENTRY_DROP,
    BULK_LOCK,
    BULK_COUNT
};

struct bulk {
    const struct bulk_table *table;
    sqlite3_module module; /* its own, for the columns */
    const char *rows;      /* while its statement runs */
    size_t count;
};

/* Rows of the rounds of a group, written together at its end (pending.c). */
struct pending_row {
    uint64_t uid;
    const pawl_row *row;
};
struct pending_event {
    const pawl_event *event;
    uint64_t uid, prev;
};
struct pending_work {
    uint64_t id, lock_epoch;
    pawl_str name;
};
struct pending {
    VEC(struct pending_row) rows;
    VEC(struct pending_event) events;
    VEC(struct pending_work) local;
    VEC(struct pending_work) fresh;
    uint64_t lowest; /* id; 0: nothing waits */
};

/* A connection and its prepared statements.  Used by one thread at a time. */
struct conn {
    sqlite3 *db;
    struct bulk bulks[BULK_COUNT];      /* the writer's */
    sqlite3_stmt *statements[ST_COUNT]; /* owned; NULL until first used */
    sql_events events;                  /* scratch of read_history, newest first */
    struct conn *next;                  /* in the pool */
    bool is_writer;
    uint64_t sums_from; /* rows from this id on have sums; 0: not looked yet */

    /* While a caller's memory is in use: the caller's hook, called after ours. */
    struct sqlite_store *lender; /* pool to give it back to; NULL: the writer */
    pawl_mem *mem;
    void (*exhausted)(void *user);
    void *exhausted_user;
};

/* A row fetch_work may return. */
struct candidate {
    uint64_t id;
    bool fresh; /* from work_fresh */
};

struct reserve {
    char *path; /* owned */
    int64_t bytes;
    bool spent;
    int64_t tried_ms;
};

struct sqlite_store {
    struct sql_store sql;
    char *file; /* owned */
    char *dir;  /* owned */
    bool read_only;
    int lock_fd;                    /* -1: none */
    char *committed;                /* FILE-committed, mapped; NULL: none */
    atomic_uint_fast64_t wal_bytes; /* of the file, after the last commit */
    atomic_bool gone; /* the database was moved or deleted: reads and writes have ended */

    /* Engine thread. */
    struct conn writer; /* db is NULL when read-only */
    pawl_fence fence;   /* as stored */
    int64_t now_ms;     /* of the commit under way */
    bool broken;        /* a COMMIT has an unknown outcome: writes have ended */
    struct there file_there, wal_there;
    struct reserve reserve;
    int wal_pages;        /* after the last commit */
    int checkpoint_at;    /* WAL pages that trigger the next checkpoint */
    int checkpoint_pages; /* further pages until the one after it */

    struct pending pending;

    struct idset messages; /* taken */
    int64_t seen_ms;       /* messages up to (seen_ms, seen_id) are taken or not fetchable */
    uint64_t seen_id;
    VEC(pawl_message) fetched; /* scratch */
    VEC(uint64_t) unreadable;  /* scratch: message rows for the quarantine */

    struct work_names names;          /* what is known about free work */
    VEC(struct candidate) candidates; /* scratch */

    pthread_mutex_t pool_lock; /* the three below */
    pthread_cond_t pool_free;
    struct conn *pool; /* idle readers */
    int readers;       /* open ones */
};

static inline struct sqlite_store *sqlite_of(pawl_store *s)
{
    return (struct sqlite_store *)(void *)s;
}

/* ---- reserve.c, dirty.c -------------------------------------------------- */

bool reserve_open(struct reserve *r, const char *dir); /* false: out of memory */
void reserve_close(struct reserve *r);                 /* the file stays */
void reserve_spend(struct reserve *r);                 /* the disk is full: give the file back */
void reserve_refill(struct reserve *r);                /* try to get it again */

/* Remember that the file cannot be trusted (best effort). */
void dirty_mark(const char *dir);
/* If the file is marked: check it, write it again, remove the mark. */
pawl_status dirty_repair(const char *dir, const char *file, pawl_error *reterr);
/* An integrity check; the first thing it found is in `why`. */
bool database_is_whole(sqlite3 *db, char why[160]);
/* `base` with `suffix` behind it, on the heap; out of memory stops the process. */
char *path_of(const char *base, const char *suffix);
/* Open with `flags` and fsync. */
bool sync_path(const char *path, int flags);
/* The directory part of a path, on the heap: "." when there is none; NULL: no memory. */
char *directory_of(const char *file);

/* The VFS of the writer, or NULL for the default one (wal_file.c). */
const char *wal_vfs_name(void);

/* committed.c: the number of the last commit, in its own file. */
pawl_status committed_open(struct sqlite_store *s, pawl_error *reterr); /* PAWL_CORRUPT: behind */
void committed_note(struct sqlite_store *s);                            /* s->fence is durable */
void committed_close(struct sqlite_store *s);

/* ---- conn.c, pool.c ------------------------------------------------------- */

/* Open the file without any settings; returns an SQLite code. */
int conn_open_file(sqlite3 **ret, const char *file, bool writer);
/* Open, set and read back the pragmas. */
pawl_status conn_open(struct conn *c, const char *file, bool writer, pawl_error *reterr);
void conn_close(struct conn *c); /* one that is not open is fine */
/* Reset what is running and leave the transaction. */
void conn_rollback(struct conn *c);
/* The prepared statement, or NULL (then sqlite3_errcode tells why). */
sqlite3_stmt *conn_prepare(struct conn *c, int which);
/* Rows of earlier ids may be without a sum (sum.h). */
uint64_t conn_sums_from(struct conn *c);
/* Run a prepared write to its end. */
int conn_run(struct conn *c, int which);
/* A status and a line for people from an SQLite code. */
pawl_status conn_error(struct conn *c, int rc, const char *what, pawl_error *reterr);
/* From here to conn_leave an exhausted `mem` first resets the connection. */
void conn_enter(struct conn *c, pawl_mem *mem);
void conn_leave(struct conn *c);

static inline sqlite3_stmt *conn_statement(struct conn *c, int which)
{
    sqlite3_stmt *stmt = c->statements[which];
    return __builtin_expect(stmt != NULL, 1) ? stmt : conn_prepare(c, which);
}

/* ---- bulk.c, pending.c --------------------------------------------------------- */

int bulk_set_up(struct conn *c);
/* Write all rows with one statement; they have the type of the kind. */
int bulk_run(struct conn *c, enum bulk_kind kind, const void *rows, size_t count);

/* "12 13": at most 21 bytes per id.  Returns the length. */
#define LOCK_TEXT_BYTES(count) ((count)*21 + 1)
size_t lock_entries_text(char *to, const pawl_queue_lock *l);

int pending_add_row(struct sqlite_store *s, uint64_t uid, const pawl_row *row);
int pending_add_event(struct sqlite_store *s, uint64_t uid, const pawl_event *e, uint64_t prev);
int pending_add_work(struct sqlite_store *s, const pawl_work *w);
int pending_write(struct sqlite_store *s);
/* Write the pending rows now if one of them could have this id, or belong to this uid. */
int pending_before(struct sqlite_store *s, uint64_t id);
void pending_forget(struct sqlite_store *s);
void pending_deinit(struct sqlite_store *s);

/* BEGIN IMMEDIATE on the writer; a snapshot the engine left open ends first. */
int conn_begin_write(struct conn *c);
/* All reads up to conn_snapshot_end see one state.  The engine's own connection always
 * has one open while it reads, and keeps it until it writes or goes to sleep. */
int conn_snapshot(struct conn *c);
void conn_snapshot_end(struct conn *c);
void conn_rest(struct conn *c); /* ends the snapshot, also the engine's */

/* A reader for the calling thread: the writer when it is the engine's.  `mem` may be NULL. */
pawl_status pool_take(struct sqlite_store *s, pawl_mem *mem, struct conn **ret, pawl_error *reterr);
void pool_give(struct sqlite_store *s, struct conn *c);
void pool_close(struct sqlite_store *s);

/* ---- rows.c --------------------------------------------------------------- */

/* A payload that can be TEXT: UTF-8 without NUL. */
bool bytes_are_text(pawl_str s);

static inline void bind_id(sqlite3_stmt *stmt, int at, uint64_t id)
{
    (void)sqlite3_bind_int64(stmt, at, (int64_t)id);
}
static inline void bind_i64(sqlite3_stmt *stmt, int at, int64_t n)
{
    (void)sqlite3_bind_int64(stmt, at, n);
}
void bind_text(sqlite3_stmt *stmt, int at, pawl_str text);  /* names, ids */
void bind_bytes(sqlite3_stmt *stmt, int at, pawl_str data); /* payloads */
void bind_row(sqlite3_stmt *stmt, uint64_t uid, const pawl_row *row);
void bind_head(sqlite3_stmt *stmt, uint64_t uid, const pawl_row *row, uint64_t execution,
               uint64_t last_seq);
void bind_execution(sqlite3_stmt *stmt, uint64_t uid, uint64_t execution, uint64_t last_seq,
                    uint64_t last_rid, uint64_t first_rid, const pawl_row *row);
void bind_message(sqlite3_stmt *stmt, const pawl_message *m);
void bind_message_update(sqlite3_stmt *stmt, const pawl_message_update *u);
void bind_work(sqlite3_stmt *stmt, const pawl_work *w, enum place place);
void bind_work_update(sqlite3_stmt *stmt, const pawl_work_update *u, enum place place);
void bind_queue(sqlite3_stmt *stmt, const pawl_queue_row *q);
void bind_queue_update(sqlite3_stmt *stmt, const pawl_queue_row *q);
void bind_entry_note(sqlite3_stmt *stmt, const pawl_entry_update *u);
void bind_object(sqlite3_stmt *stmt, const pawl_object *r, uint64_t version, int64_t updated_ms);
void bind_lock_update(sqlite3_stmt *stmt, const pawl_queue_lock *l, pawl_str entries);
void bind_past(sqlite3_stmt *stmt, const pawl_queue_past *p);
void bind_queue_key(sqlite3_stmt *stmt, const pawl_queue_key *k);

static inline uint64_t column_id(sqlite3_stmt *stmt, int at)
{
    return (uint64_t)sqlite3_column_int64(stmt, at);
}
static inline int64_t column_i64(sqlite3_stmt *stmt, int at)
{
    return sqlite3_column_int64(stmt, at);
}
pawl_str column_view(sqlite3_stmt *stmt, int at); /* until the next step */
pawl_str column_dup(sqlite3_stmt *stmt, int at, pawl_mem *mem);
void column_row(sqlite3_stmt *stmt, pawl_mem *mem, pawl_row *ret);
bool column_message(sqlite3_stmt *stmt, pawl_mem *mem, pawl_message *ret); /* false: unreadable */
void column_work(sqlite3_stmt *stmt, pawl_mem *mem, pawl_work *ret);
void column_queue(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_row *ret);
int64_t column_entry(sqlite3_stmt *stmt, pawl_queue_entry *ret); /* its numbers; returns its sum */
bool column_object(sqlite3_stmt *stmt, pawl_mem *mem, pawl_object *ret); /* false: damaged */
void column_lock(sqlite3_stmt *stmt, pawl_mem *mem, pawl_queue_lock *ret);
/* Does the row have the check sum it was written with (sum.h)? */
static inline bool sum_fits(struct conn *c, int64_t stored, uint64_t id, int64_t sum)
{
    return stored == sum || (stored == 0 && id < conn_sums_from(c)); /* schema 3 had none */
}
bool row_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_row *row);
bool message_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_message *m);
bool work_fits(struct conn *c, sqlite3_stmt *stmt, const pawl_work *w);
void sqlite_figures(pawl_store *s, pawl_store_figures *ret);

/* ---- commit.c, round.c ----------------------------------------------------- */

/* PAWL_OK, or why this store cannot do an [engine] operation. */
pawl_status engine_check(struct sqlite_store *s, pawl_error *reterr);
/* BEGIN and move the fence: PAWL_OK, or everything is rolled back. */
pawl_status group_begin(struct sqlite_store *s, const pawl_fence *fence, pawl_error *reterr);
/* COMMIT, and tell a failure from an unknown outcome. */
pawl_status transaction_end(struct sqlite_store *s, pawl_error *reterr);
/* The same; then `fence` moves and the WAL is checkpointed when it is due. */
pawl_status group_end(struct sqlite_store *s, pawl_fence *fence, pawl_error *reterr);
/* Roll back and say why. */
pawl_status group_fail(struct sqlite_store *s, int rc, const char *what, pawl_error *reterr);

/* For sqlite3_wal_hook. */
int commit_saw_wal(void *user, sqlite3 *db, const char *name, int pages);

/* Apply one round inside a transaction.  SQLITE_OK: done, or refused with
 * round->result set.  *retwrote tells whether a refused round changed anything. */
int round_apply(struct sqlite_store *s, pawl_round *round, bool *retwrote);
/* Its queue part: SQLITE_CONSTRAINT when it must be refused. */
int queue_round_apply(struct conn *c, const pawl_queue_round *r, bool *retwrote);

/* ---- fetch.c, abandon_work.c ------------------------------------------------ */

/* A message with this key can be fetched again, or for the first time. */
void messages_lower(struct sqlite_store *s, int64_t visible_ms, uint64_t id);

/* Abandon the work that could not be abandoned before (abandon_work.c); SQLITE_OK: none is left. */
int work_abandon_rest(struct sqlite_store *s, pawl_mem *mem);

/* ---- Damage, for tests of M5 and H3; false when there is no such row. ------- */

bool sqlite_damage_message(pawl_store *s, uint64_t id);
bool sqlite_damage_event(pawl_store *s, uint64_t rid);

/* ---- The operations, by file. ----------------------------------------------- */

pawl_status sqlite_take(pawl_store *s, int64_t now_ms, pawl_fence *ret, pawl_error *reterr);
pawl_status sqlite_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                          int64_t now_ms, pawl_error *reterr);
pawl_status sqlite_outcome(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                           int64_t now_ms, bool *retcommitted, pawl_error *reterr);
pawl_status sqlite_fetch_messages(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                  pawl_message_list *ret, pawl_error *reterr);
pawl_status sqlite_list_work_names(pawl_store *s, pawl_str after, uint32_t limit, pawl_mem *mem,
                                   pawl_text_list *ret, pawl_error *reterr);
pawl_status sqlite_read_named_work(pawl_store *s, pawl_str name, int64_t now_ms, uint32_t limit,
                                   pawl_mem *mem, pawl_work_list *ret, pawl_error *reterr);
pawl_status sqlite_fetch_work(pawl_store *s, int64_t now_ms, const pawl_str *names,
                              size_t name_count, uint32_t limit, pawl_mem *mem, pawl_work_list *ret,
                              pawl_error *reterr);
pawl_status sqlite_fetch_deadlines(pawl_store *s, int64_t now_ms, uint32_t limit, pawl_mem *mem,
                                   pawl_work_list *ret, pawl_error *reterr);
void sqlite_abandon_messages(pawl_store *s, const uint64_t *ids, size_t count);
void sqlite_abandon_work(pawl_store *s, const uint64_t *ids, size_t count);
pawl_status sqlite_next_due(pawl_store *s, int64_t after_ms, int64_t *ret, pawl_error *reterr);
pawl_status sqlite_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                         pawl_error *reterr);
pawl_status sqlite_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                    uint64_t before_execution, uint64_t *retcount,
                                    pawl_error *reterr);
pawl_status sqlite_space(pawl_store *s);
/* Reading is store/sql (reads.h), over this. */
extern const struct sql_driver sqlite_driver;

#endif
