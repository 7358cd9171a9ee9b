/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl.h -- a store of plain files, shared by its files.
 *
 *     root/lock                    the owner (as in every store directory)
 *     root/fence.json              epoch, group, ids: two lines, the newer valid one counts
 *     root/INSTANCE/instance.json  the row; replaced by rename
 *     root/INSTANCE/N.jsonl        history of execution N: header, events, turn lines
 *     root/queue/messages.jsonl    put, set, ack and key records
 *     root/queue/work.jsonl        the same for work
 *     root/queue/objects-N.jsonl   named objects of kind N; replaced by rename
 *     root/quarantine.jsonl        messages put aside
 *     root/removed/UID             removed instances, until purged
 *
 * The files are the truth.  A memory store (`mirror`) holds the same and answers
 * every question, so nothing is read back from disk after open; a write that
 * fails half-way throws the mirror away and loads it again.  No transactions: a
 * round is written in the order of clause K1, and clauses K1..K5 hold.
 *
 *   text.c           values as JSON         record.c       structs as objects
 *   jsonl_file.c     append, sync, rename   name.c         ids as file names
 *   jsonl_history.c  one execution's file   jsonl_queue.c  the logs
 *   jsonl_load.c     files to mirror        jsonl_round.c  one round to texts
 *   jsonl_commit.c   texts to files         jsonl_purge.c  remove, prune
 *   jsonl_objects.c  named objects
 *   jsonl_open.c     open, close, lock, fence, the operations
 *
 * Invariants: whatever returned OK is on disk and synced; the mirror equals what a
 * load would give; a half-written turn is cut whole, before anything is appended
 * behind it.
 */
#ifndef PAWL_STORE_JSONL_JSONL_H
#define PAWL_STORE_JSONL_JSONL_H

#include "base/buf.h"
#include "base/vec.h"
#include "pawl/provider.h"
#include "store/memory/memory.h"
#include "store/there.h"

#include <pthread.h>

#define JSONL_PATH_MAX  2048
#define JSONL_BYTES_MAX ((size_t)1 << 40)

/* What a test asks for at a crash point. */
enum jsonl_trouble {
    JSONL_WELL,
    JSONL_FAIL, /* the next step fails, once */
    JSONL_DIE,  /* nothing reaches the disk any more, for ever */
};

/* One of the two logs. */
struct jsonl_log {
    const char *name; /* "messages", "work" */
    size_t lines;     /* in the file */
    bool undecodable; /* a line was put aside at load: rewrite the file */
};

struct jsonl {
    pawl_store base;
    pthread_mutex_t lock; /* everything below */
    char *root;           /* owned */
    int lock_fd;          /* -1: read only */
    bool read_only;
    bool lazy;          /* many files: they are synced together (jsonl_sync_all) */
    pawl_store *mirror; /* owned; a memory store */
    pawl_fence fence;
    uint64_t blanks; /* ids made up for damaged events: no two are the same */
    struct jsonl_log messages, work;
    pawl_mem *mem;                          /* of one call */
    VEC(uint64_t) held_messages, held_work; /* taken rows that this commit changes or drops */
    struct there lock_there, fence_there;
    pawl_status dead; /* UNKNOWN after a failed sync, NOT_FOUND: only a restart helps */
    enum jsonl_trouble trouble;
};

static inline struct memory *jsonl_mirror(const struct jsonl *j)
{
    return ((struct memory_handle *)j->mirror)->tables;
}

/* ---- name.c ---------------------------------------------------------------- */

/* The directory of an instance: its id, %XX for what is not safe in a file name.
 * Ids that get too long are cut and end in "%~UID"; the id itself is in the files. */
bool jsonl_dir(const struct jsonl *j, const pawl_row *row, char path[JSONL_PATH_MAX]);
bool jsonl_file(const struct jsonl *j, const pawl_row *row, uint64_t execution,
                char path[JSONL_PATH_MAX]);
bool jsonl_path(const struct jsonl *j, char path[JSONL_PATH_MAX], const char *format, ...)
    PAWL_PRINTF(3, 4);

/* ---- jsonl_file.c ---------------------------------------------------------------- */

/* A step failed: DISK_FULL, UNAVAILABLE, or UNKNOWN when it is not known what is on disk. */
PAWL_MUST_USE pawl_status jsonl_append(struct jsonl *j, const char *path, pawl_str text,
                                       pawl_error *reterr);
/* Write FILE.new; then rename it over FILE and sync the directory.  `replace`: both. */
PAWL_MUST_USE pawl_status jsonl_write_new(struct jsonl *j, const char *path, pawl_str text,
                                          pawl_error *reterr);
PAWL_MUST_USE pawl_status jsonl_use_new(struct jsonl *j, const char *path, pawl_error *reterr);
PAWL_MUST_USE pawl_status jsonl_replace(struct jsonl *j, const char *path, pawl_str text,
                                        pawl_error *reterr);
/* Sync whatever was written lazily. */
PAWL_MUST_USE pawl_status jsonl_sync_all(struct jsonl *j, pawl_error *reterr);
PAWL_MUST_USE pawl_status jsonl_mkdir(struct jsonl *j, const char *path, pawl_error *reterr);
PAWL_MUST_USE pawl_status jsonl_sync_dir(struct jsonl *j, const char *path, pawl_error *reterr);
/* The whole file into `mem`; {NULL, 0} when there is none. */
PAWL_MUST_USE pawl_status jsonl_read(const char *path, pawl_mem *mem, pawl_str *ret,
                                     pawl_error *reterr);
/* Cut a file to its first `keep` bytes; what is cut goes to FILE.torn first. */
PAWL_MUST_USE pawl_status jsonl_cut(struct jsonl *j, const char *path, pawl_str all, size_t keep,
                                    pawl_error *reterr);
/* Delete a directory with the files in it. */
PAWL_MUST_USE pawl_status jsonl_delete_dir(const char *path, pawl_error *reterr);
PAWL_MUST_USE pawl_status jsonl_trouble(pawl_error *reterr, const char *what, const char *path);
/* At a crash point: what a test asked for. */
PAWL_MUST_USE pawl_status jsonl_point(struct jsonl *j, const char *name, pawl_error *reterr);

/* ---- jsonl_history.c --------------------------------------------------------------- */

/* Append the header of an execution's file: the row as it is after its first turn.
 * `closed`: the execution before, as it ended, or NULL. */
void history_put_header(struct buf *b, const pawl_row *row, const pawl_row *closed);
/* Append one turn: its events and the line that closes it. */
void history_put_turn(struct buf *b, const pawl_event *events, size_t count, int64_t updated_ms,
                      const pawl_str *keys, size_t key_count);

/* What a file says. */
struct history {
    uint64_t execution;
    pawl_row head;   /* the row when it was begun; uid 0: no header */
    pawl_row closed; /* the execution before, as it ended; uid 0: none */
    VEC(pawl_event) events;
    VEC(pawl_str) keys;
    VEC(uint64_t) damaged; /* rids of events that do not fit */
    int64_t updated_ms;    /* of the last turn */
    size_t whole;          /* bytes up to the end of the last valid turn, or header */
    uint64_t blanks;       /* ids made up so far for what is damaged; goes on from the caller's */
};
/* Strings live in `text` or `mem`. */
void history_parse(struct history *h, pawl_str text, pawl_mem *mem);
void history_deinit(struct history *h);

/* ---- jsonl_queue.c ------------------------------------------------------------------ */

void queue_put_message(struct buf *b, const pawl_message *m, uint64_t key_uid, const pawl_str *keys,
                       size_t key_count);
void queue_put_key(struct buf *b, uint64_t uid, pawl_str key);
void queue_put_message_update(struct buf *b, const pawl_message_update *u);
void queue_put_work(struct buf *b, const pawl_work *w);
void queue_put_work_update(struct buf *b, const pawl_work_update *u);
void queue_put_ack(struct buf *b, uint64_t id);
/* Read the logs and the quarantine into the mirror; instances are there already. */
PAWL_MUST_USE pawl_status queue_load(struct jsonl *j, pawl_error *reterr);
PAWL_MUST_USE pawl_status queue_append(struct jsonl *j, struct jsonl_log *log, struct buf *text,
                                       pawl_error *reterr);
/* Rewrite a log that is mostly dead. */
PAWL_MUST_USE pawl_status queue_compact(struct jsonl *j, pawl_error *reterr);
/* Append a quarantine record. */
void queue_put_aside(struct buf *b, const pawl_message *m, pawl_str reason);

/* ---- jsonl_load.c -------------------------------------------------------------------- */

/* Make the mirror from the files; torn ends are cut unless read only. */
PAWL_MUST_USE pawl_status load_all(struct jsonl *j, pawl_error *reterr);
/* A write failed half-way: what is on disk counts; rows that were taken before it stay taken. */
PAWL_MUST_USE pawl_status load_again(struct jsonl *j, pawl_error *reterr);
/* Hand one round to the mirror; r->result tells. */
void load_round(struct jsonl *j, pawl_round *r, int64_t now_ms);

/* ---- jsonl_round.c -------------------------------------------------------------------- */

/* One append to a history file. */
struct jsonl_append {
    uint64_t uid;
    char *path; /* in the call's memory */
    char *dir;  /* to be made first; NULL: it is there */
    struct buf text;
};

/* A kind of objects that a batch changes. */
struct jsonl_kind {
    int kind;
    bool puts, removes;
};

/* Rounds as texts, by phase. */
struct jsonl_batch {
    VEC(struct jsonl_append) appends;
    VEC(uint64_t) rows;           /* uids whose instance.json is written */
    VEC(pawl_row) removed;        /* uid and id, in the call's memory */
    VEC(struct jsonl_kind) kinds; /* of objects, whose files are written */
    VEC(pawl_object) gone;        /* objects that it removes, as they were; in the call's memory */
    struct buf put_messages, put_work, put_quarantine, drop_messages, drop_work;
};
void round_batch_init(struct jsonl_batch *b);
void round_batch_deinit(struct jsonl_batch *b);
/* Check one round, apply it to the mirror and add its texts; sets r->result. */
void round_stage(struct jsonl *j, struct jsonl_batch *b, pawl_round *r, int64_t now_ms);

/* ---- jsonl_objects.c ---------------------------------------------------------------------- */

/* Remember the objects that a round will remove, before it is applied. */
void objects_note_gone(struct jsonl *j, struct jsonl_batch *b, const pawl_round *r);
/* Remember which files a round that was applied changes. */
void objects_note(struct jsonl_batch *b, const pawl_round *r);
/* Write them with what was put, and all that is to go; then without it. */
PAWL_MUST_USE pawl_status objects_write(struct jsonl *j, const struct jsonl_batch *b,
                                        pawl_error *reterr);
PAWL_MUST_USE pawl_status objects_drop(struct jsonl *j, const struct jsonl_batch *b,
                                       pawl_error *reterr);
PAWL_MUST_USE pawl_status objects_load(struct jsonl *j, pawl_error *reterr);

/* ---- jsonl_commit.c --------------------------------------------------------------------- */

pawl_status jsonl_commit(pawl_store *s, pawl_fence *fence, pawl_round *rounds, size_t count,
                         int64_t now_ms, pawl_error *reterr);
PAWL_MUST_USE pawl_status fence_read(struct jsonl *j, pawl_error *reterr);
PAWL_MUST_USE pawl_status fence_write(struct jsonl *j, const pawl_fence *fence, pawl_error *reterr);
/* PAWL_OK, or why nothing is written any more. */
PAWL_MUST_USE pawl_status fence_alive(struct jsonl *j, pawl_error *reterr);
/* A write failed: the files count, if they are there. */
PAWL_MUST_USE pawl_status jsonl_failed(struct jsonl *j, pawl_status rc, pawl_error *reterr);
PAWL_MUST_USE pawl_status fence_check(struct jsonl *j, const pawl_fence *fence, pawl_error *reterr);
/* The directory, or what is in it, was deleted, moved or replaced: dead from now on. */
bool jsonl_is_gone(struct jsonl *j);
/* The commit is whole: move the fence, durably. */
PAWL_MUST_USE pawl_status fence_move(struct jsonl *j, pawl_fence *fence, pawl_error *reterr);

/* ---- jsonl_purge.c ------------------------------------------------------------------------ */

pawl_status jsonl_purge(pawl_store *s, pawl_fence *fence, uint32_t limit, bool *retleft,
                        pawl_error *reterr);
pawl_status jsonl_prune_executions(pawl_store *s, pawl_fence *fence, uint64_t uid,
                                   uint64_t before_execution, uint64_t *retcount,
                                   pawl_error *reterr);

/* ---- jsonl_open.c --------------------------------------------------------------------------- */

/* True, and refused: links in the directory are not followed. */
bool jsonl_is_link(const char *path, pawl_error *reterr);
struct jsonl *jsonl_lock(pawl_store *s);
void jsonl_unlock(struct jsonl *j);
/* For tests: what happens at the next crash point; and what a restart would find. */
void jsonl_set_trouble(pawl_store *s, enum jsonl_trouble trouble);
PAWL_MUST_USE pawl_status jsonl_reload(pawl_store *s, pawl_error *reterr);

#endif
