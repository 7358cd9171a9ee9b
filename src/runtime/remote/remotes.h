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
 * All of this is in memory, and may be lost: messages are rows in the store (but a start that is
 * handed out before its commit, instance/first_turn.h), a run that was forgotten is handed out with
 * its whole history, and a token of an earlier process is refused.
 *
 * What workers bring has limits (pawl/turns.h, docs/protocol/turns.md), because they come and go and
 * say what they like: sessions, the code they tell, calls that wait, turns that are out and the bytes
 * of their messages, runs that a session is remembered for.  Runs that wait for a worker have none.
 *
 * Invariants: room_check.c.
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
    size_t ready_count;    /* here and in lists of sessions */
    size_t sessions;       /* that have it */
    int64_t heard_ms;      /* wall clock, for people */
    char worker[64];       /* the last that told it */
};

struct worker_session {
    char id[PAWL_TURNS_SESSION_MAX + 1];
    char worker[256];
    uint64_t tag;       /* of its id, for tokens */
    int64_t heard_ms;   /* mono: its last call began, or was answered */
    int64_t vouched_ms; /* mono: when it last said that its code is alive */
    uint32_t waiting;   /* calls of it that wait */
    uint32_t out;       /* turns it has */
    int64_t lease_ms;   /* its inline steps are leased for this long at first */
    bool leaving;
    struct map codes;        /* struct remote_code, by its entry's address */
    struct run_list ready;   /* these are its */
    struct heap_node silent; /* mono: look whether it is; in the heap while it has ready runs */
    struct remote_run *stalest, *freshest; /* the runs that are sticky to it, by use */
    size_t known;                          /* as many */
    struct worker_session *older, *newer;  /* by heard_ms */
};

enum run_state { RUN_IDLE, RUN_READY, RUN_OUT };

struct remote_run {
    uint64_t uid;
    enum run_state state;
    struct remote_code *code;
    struct worker_session *session; /* knows it up to known_seq, or has its turn; NULL: none */
    uint64_t known_execution, known_seq;
    struct remote_run *staler, *fresher; /* of those of its session */
    struct remote_run *next, *prev;      /* of the list it is ready in */
    bool in_session;                     /* that list is its session's */
    int64_t ready_ms;                    /* mono: since then */
    bool rows;                           /* letters for it wait as rows */
    /* OUT */
    struct letter *letters, **letters_end; /* owned, in order */
    uint32_t letter_count;
    size_t bytes; /* of them */
    uint64_t serial, execution, seq;
    int64_t at_ms;     /* of its messages */
    char *start_attrs; /* of OrchestrationStarted, fixed with the hand-out; owned; NULL: none */
    struct heap_node until; /* mono: its lease */
    bool begins;            /* the start that it has is no letter of its yet (first_turn.h) */
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
    struct heap silent; /* sessions with ready runs, by when they may have become silent */
    size_t out_count, out_bytes;
    size_t most_out, most_bytes; /* as many at a time; tests lower them */
    size_t known_count;          /* of all sessions */
    bool held_back;              /* a run was not given because of a limit of turns that are out */
    bool moved;                  /* runs became ready for calls that wait already */
    /* Calls that wait, longest first.  Those from `fresh` on were offered nothing yet; the others
     * are in `ends`. */
    struct exchange *waiting, *waiting_last, *fresh;
    size_t waiting_count;
    uint64_t waited;         /* as many ever began to wait */
    struct heap ends;        /* by when their time is over */
    struct exchange *filled; /* of those that wait: these have turns */
    bool inline_waits;       /* see remote_run.h */
    int64_t first_ms;        /* see RUN_FIRST_MS; tests change it */
    unsigned first_misses;   /* groups that waited for the answer to a start, in vain, in a row */
    VEC(uint64_t) bring;     /* uids whose letters are to be read again */
    struct playing playing;
};

#endif
