/* SPDX-License-Identifier: MIT */
/*
 * pawl/worker.h -- activities that run outside this process.
 *
 * A worker polls for work, gets it under a lease (a token and an end time), and delivers
 * the result with pawl_client_complete() or PAWL_OP_COMPLETE.  The lease is durable before
 * the answer and survives a restart.  When it runs out, the work is free again as its next
 * attempt, and a result under the old token returns PAWL_LOST.  A lost lease does not use up
 * the attempts of the call's policy; after max_attempts lost leases the call fails as poison.
 *
 * There are only submit forms: `fn(arg, reply)` runs on the engine thread after the commit
 * (or refusal), exactly once, also at shutdown; be brief there and do not block.  `reply`
 * and what it points to are valid during the call.  If the call itself returns anything
 * other than PAWL_OK, it was refused at once and `fn` is never called.
 */
#ifndef PAWL_WORKER_H
#define PAWL_WORKER_H

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PAWL_POLL_NAMES_MAX 100
#define PAWL_POLL_MAX       100
#define PAWL_POLL_WAIT_MAX  PAWL_SECONDS(60)
#define PAWL_LEASE_MIN      PAWL_SECONDS(1)
#define PAWL_LEASE_MAX      PAWL_HOURS(1)

typedef struct pawl_poll {
    size_t size;                   /* set by PAWL_POLL */
    const char *const *activities; /* the activities it can run: 1..100 names */
    size_t activity_count;
    const char *const *tags; /* calls with a tag go only to workers that ask for it */
    size_t tag_count;        /* 0..100 */
    uint32_t max;            /* the most items: 1..100; 0: 1.  Fewer when inputs reach 4 MiB */
    int64_t wait_ms;         /* how long to wait for work: clamped to 0..60 s */
    int64_t lock_ms;         /* of the lease: clamped to 1 s .. 1 h; 0: 30 s */
    const char *worker;      /* its name, for people; at most 255 bytes */
} pawl_poll;

#define PAWL_POLL(...) PAWL_LEND(pawl_poll, __VA_ARGS__)

/* One piece of work, leased. */
typedef struct pawl_lease {
    pawl_str token;
    pawl_str instance;
    uint64_t execution;
    uint64_t id; /* of the task */
    pawl_str activity;
    pawl_str input;
    pawl_str key;     /* idempotency key: the same for every attempt of the call */
    uint32_t attempt; /* 1, 2, … */
    int64_t locked_until_ms;
    pawl_str details; /* of the last heartbeat that had any, of this or an earlier attempt */
} pawl_lease;

typedef struct pawl_worker_reply {
    pawl_status status;
    const pawl_lease *leases; /* poll: oldest work first; none after wait_ms */
    size_t count;
    int64_t locked_until_ms; /* extend: the new end */
    bool cancelled;          /* extend: the result is no longer wanted */
    pawl_error error;        /* filled in when status is not PAWL_OK */
} pawl_worker_reply;

typedef void pawl_worker_fn(void *arg, const pawl_worker_reply *reply);

PAWL_SIZED pawl_status pawl_worker_poll(pawl_client *c, const pawl_poll *poll, pawl_worker_fn *fn,
                                        void *arg, pawl_error *reterr) PAWL_MUST_USE;
/* A heartbeat that moves the end of the lease to lock_ms (0: 30 s) from now.  PAWL_LOST. */
PAWL_SIZED pawl_status pawl_worker_extend(pawl_client *c, const char *token, int64_t lock_ms,
                                          pawl_worker_fn *fn, void *arg,
                                          pawl_error *reterr) PAWL_MUST_USE;
/* The same with details, at most 16 KiB: where to go on from, for the next attempt (pawl_lease,
 * pawl_activity_resume()).  They are durable with the answer.  Empty: those before stand. */
PAWL_SIZED pawl_status pawl_worker_beat(pawl_client *c, const char *token, int64_t lock_ms,
                                        pawl_str details, pawl_worker_fn *fn, void *arg,
                                        pawl_error *reterr) PAWL_MUST_USE;
/* Give the work back undone; it can be fetched again after delay_ms, and no attempt is counted.
 * PAWL_LOST. */
PAWL_SIZED pawl_status pawl_worker_abandon(pawl_client *c, const char *token, int64_t delay_ms,
                                           pawl_worker_fn *fn, void *arg,
                                           pawl_error *reterr) PAWL_MUST_USE;

/* ---- Workers that poll -------------------------------------------------- */

/* A piece of work that a worker has. */
typedef struct pawl_held {
    pawl_str instance;
    uint64_t id; /* of the task */
    pawl_str activity;
    int64_t until_ms; /* the end of its lease */
} pawl_held;

/* A worker by the name it gave in its polls. */
typedef struct pawl_worker_info {
    pawl_str worker;
    const pawl_str *activities; /* of its last poll */
    size_t activity_count;
    const pawl_str *tags;
    size_t tag_count;
    int64_t seen_ms; /* its last poll */
    uint64_t polls;
    const pawl_held *held;
    size_t held_count;
} pawl_worker_info;

typedef struct pawl_worker_page {
    const pawl_worker_info *items; /* by name */
    size_t count;
} pawl_worker_page;

/* The workers that gave a name and either polled this process in the last ten minutes or hold
 * work.  At most 1,000 are remembered, in memory only: a restart forgets them until they poll
 * again. */
PAWL_SIZED pawl_status pawl_worker_list(pawl_client *c, pawl_mem *mem, pawl_worker_page *ret,
                                        pawl_error *reterr) PAWL_MUST_USE;

#ifdef __cplusplus
}
#endif

#include "pawl/worker_sizes.h" /* the calls marked PAWL_SIZED */
#endif
