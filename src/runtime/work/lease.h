/* SPDX-License-Identifier: MIT */
/*
 * runtime/work/lease.h -- work handed out of the process, by token. [engine]
 *
 * The work row carries the lease (lock_token, lock_until_ms), so a restart knows
 * it.  The end of a lease is a deadline of the row: it wakes the engine, and the
 * row is free again with one attempt and one crash more.  A poll that finds
 * nothing waits in rt->leases.polls until free work appears or its time is over; no
 * thread waits.
 *
 *   lease_client.c   a worker's call, made on its thread
 *   lease.c          the same call on the engine's
 */
#ifndef PAWL_RUNTIME_LEASE_H
#define PAWL_RUNTIME_LEASE_H

#include "pawl/worker.h"
#include "runtime/core/verdict.h"
#include "runtime/work/attempt.h"

enum lease_op { LEASE_POLL, LEASE_EXTEND, LEASE_ABANDON };

/* A worker's call on its way; freed after its answer. */
struct lease_call {
    struct item item;
    struct lease_call *next; /* of the polls that wait */
    enum lease_op op;
    pawl_worker_fn *fn;
    void *arg;
    size_t reply_bytes, lease_bytes; /* of the caller's structs */
    pawl_mem mem;
    const pawl_str *names, *tags;
    size_t name_count, tag_count;
    const pawl_str *trays; /* its activities, by themselves and with its tags */
    size_t tray_count;
    uint32_t max;
    int64_t lock_ms, delay_ms, wait_ms;
    int64_t until_mono_ms; /* of a poll that waits; 0: has not begun to */
    char token[TOKEN_BYTES];
    struct known known; /* of the token's row */
    pawl_str worker;
    pawl_str details; /* extend: of a heartbeat; NULL: none */
    /* what is answered when the stage is committed; in the group's arena */
    pawl_worker_reply reply;
};

/* A poll, an extension or a return arrived; takes ownership. */
enum verdict_kind lease_handle(pawl_runtime *rt, struct item *item);
/* Waiting polls: look for work if some may have appeared, answer those whose time is over. */
void lease_look(pawl_runtime *rt);
/* The poll that calls back with `arg` gets nothing any more. */
void lease_end_wait(pawl_runtime *rt, const void *arg);
/* Mono time at which a poll's time is over; INT64_MAX: none waits. */
int64_t lease_next(const pawl_runtime *rt);
/* The stage of a call was committed: answer. */
void lease_committed(pawl_runtime *rt, struct stage *s);
/* It was not: the item is handled again. */
struct item *lease_back(struct stage *s);
/* The attempt of a row that is, or was, leased: when it began, who has it. */
struct attempt_how lease_how(pawl_runtime *rt, const pawl_work *w);
/* The row that is leased under this token; NOT_FOUND, LOST: it is not, or not any more. */
pawl_status lease_row_of(pawl_runtime *rt, pawl_str token, pawl_work *ret, pawl_error *reterr);
/* A new row, leased for `ms` with the round that inserts it to the worker that decided the call. */
void lease_inline(pawl_runtime *rt, pawl_work *w, int64_t ms);
/* Inline steps whose lease was lost, or whose next attempt is due, at most `max`: taken out of the
 * store.  Each is leased again or given back with store_abandon_work(). */
pawl_status lease_fetch_inline(pawl_runtime *rt, uint32_t max, pawl_mem *mem, pawl_work_list *ret,
                               pawl_error *err);
/* Lease such a row again for `ms`, in a stage of its own; its token is set.  False: not any more. */
bool lease_inline_again(pawl_runtime *rt, pawl_work *w, int64_t ms);
/* May there be some?  Asked once for each time that free work appeared. */
static inline bool lease_looks_inline(pawl_runtime *rt)
{
    bool look = rt->leases.look_inline;
    rt->leases.look_inline = false;
    return look;
}
/* The row's lease has run out. */
void lease_expired(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p);
/* The deadline of a row leased until `until_ms`. */
int64_t lease_deadline(const struct call_policy *p, const pawl_work *w, pawl_str token,
                       int64_t now_ms, int64_t until_ms);
/* Closing: answer one, or all that wait. */
void lease_refuse(pawl_runtime *rt, struct item *item);
void lease_stop(pawl_runtime *rt);
void lease_open(pawl_runtime *rt);

/* There may be work for waiting polls. */
static inline void lease_may_find(pawl_runtime *rt)
{
    rt->leases.look = rt->leases.look_inline = true;
}

/* Does a poll wait, and may there be work? */
static inline bool lease_may_serve(const pawl_runtime *rt)
{
    return rt->leases.polls && rt->leases.look;
}

#endif
