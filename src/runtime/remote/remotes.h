/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/remotes.h -- what the engine knows of workers that run orchestrations. [engine]
 *
 *   session   one life of one worker process: which code it has, when it was heard
 *   run       one instance whose code is in workers, while that matters: its messages wait for a
 *             worker (READY), or a worker has them (OUT), or a worker knows its history (IDLE)
 *   exchange  one call of a worker: answers in, turns out (exchange.h)
 *
 *               a message asks, a worker waits                 answer
 *      IDLE ─────────────────────────────────────▶ OUT ───────────────────▶ IDLE
 *       │  ▲        a worker calls: unpiled         ▲ │  lease over, release
 *       │  └──────────────── READY ─────────────────┘ └─▶ its letters are delivered again
 *       └─ a message asks, no call waits: READY, the message is a row
 *
 * All of this is in memory, and may be lost: messages are rows in the store, a run that was forgotten
 * is handed out with its whole history, and a token of an earlier process is refused.
 *
 * Invariants (remote_check): a READY run is in one list, of its session or of its code; an OUT run
 * has letters or leases, and a session; run->session is in `sessions`.
 *
 * Private to runtime/remote; the other rooms use playing.h, remote_run.h and exchange.h.
 */
#ifndef PAWL_RUNTIME_REMOTES_H
#define PAWL_RUNTIME_REMOTES_H

#include "base/heap.h"
#include "engine/remote_code.h"
#include "runtime/core/runtime.h"

#include <stdatomic.h>

struct exchange;
struct remote_run;

/* Runs in the order in which they became ready. */
struct run_list {
    struct remote_run *first, *last;
};

/* Code that some session told. */
struct remote_code {
    const struct code_entry *entry;
    struct run_list ready; /* any worker may have these */
    size_t ready_count;
    int64_t heard_ms; /* wall clock, for people */
    char worker[64];  /* the last that told it */
};

struct worker_session {
    char id[PAWL_TURNS_SESSION_MAX + 1];
    char worker[256];
    int64_t heard_ms; /* mono: its last call, or now while one waits */
    uint32_t waiting; /* calls of it that wait */
    uint32_t out;     /* turns it has */
    uint32_t known;   /* runs that are sticky to it */
    bool leaving;
    struct map codes;      /* struct remote_code, by its entry's address */
    struct run_list ready; /* these are its */
    struct worker_session *older, *newer;
    size_t taken_count; /* code it told that C code has, and was not told of yet */
    pawl_turn_code *taken;
    pawl_mem mem;
};

enum run_state { RUN_IDLE, RUN_READY, RUN_OUT };

struct remote_run {
    uint64_t uid;
    enum run_state state;
    struct remote_code *code;
    struct worker_session *session; /* knows it up to known_seq, or has its turn; NULL: none */
    uint64_t known_execution, known_seq;
    struct remote_run *next, *prev; /* of the list it is ready in */
    bool in_session;                /* that list is its session's */
    int64_t ready_ms;               /* mono: since then */
    bool rows;                      /* letters for it wait as rows */
    /* OUT */
    struct letter *letters, **letters_end; /* owned, in order */
    uint32_t letter_count;
    uint64_t serial, execution, seq;
    int64_t at_ms;     /* of its messages */
    char *start_attrs; /* of OrchestrationStarted, fixed with the hand-out; owned; NULL: none */
    struct heap_node until; /* mono: its lease */
    bool unsent;            /* the turn is still being put together */
    uint32_t losses;        /* workers lost in this turn */
    bool alone; /* an answer to several messages failed: one at a time, until one stands */
};

/* The answer that is being applied. */
struct playing {
    uint64_t uid; /* 0: none */
    const struct code_entry *code;
    const struct remote_step *step; /* NULL: a message that is skipped */
    pawl_str start_attrs;
    bool played, refused;
    struct engine_finding finding;
};

struct remotes {
    uint64_t key[2];      /* of the tokens of this process; drawn with its first session */
    _Atomic bool has_key; /* readers of histories look at tokens, too (turn_token.h) */
    char boot[17];
    uint64_t serials;
    struct map sessions; /* by id */
    struct worker_session *newest, *oldest;
    struct map runs;    /* by uid */
    struct map codes;   /* struct remote_code, by its entry's address */
    struct heap leases; /* OUT runs */
    size_t out_count;
    struct exchange *waiting, **waiting_end;
    size_t waiting_count;
    bool inline_waits;   /* see remote_run.h */
    bool serve;          /* an exchange may be answered, or a run be given to one */
    VEC(uint64_t) bring; /* uids whose letters are to be read again */
    struct playing playing;
};

#endif
