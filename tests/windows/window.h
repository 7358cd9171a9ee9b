/* SPDX-License-Identifier: MIT */
/*
 * tests/windows/window.h -- one flow, one store, one thing that goes wrong.
 *
 * A flow is code and the calls a client makes; a plan says which store call, or
 * which crash point inside the jsonl store, fails and how.  window_drive() drives
 * the flow to its end through that: a client whose call was not answered calls
 * again, a runtime that died is opened again on what it left.  What is in the
 * store at the end, as one text, must be what an undisturbed run leaves (ledger
 * A10, B11): the same events of the same tasks, the same outputs, no row left in
 * either queue.
 *
 * A plan with `busy` has somebody beside the flow: another instance, whose activity was
 * running when the process died.  Recovery blames it with a commit of its own before
 * anything is mended, and mending takes a commit for each instance.  That instance is
 * not in the text.
 */
#ifndef PAWL_TESTS_WINDOW_H
#define PAWL_TESTS_WINDOW_H

#include "base/buf.h"
#include "pawl/provider.h"
#include "pawl/runtime.h"
#include "store/fault/fault.h"
#include "store/jsonl/jsonl.h"

enum window_store { WINDOW_MEMORY, WINDOW_SQLITE, WINDOW_JSONL, WINDOW_STORES };

#define WINDOW_CALLS   6
#define STAYS          (-1) /* for ends_after: it does not end by itself */
#define TOGETHER       (-2) /* the same: all calls but the first are made at once */
#define WINDOW_FOREVER 6    /* that many calls in a row fail */

struct flow {
    const char *name;
    pawl_request calls[WINDOW_CALLS]; /* in order, each when all is quiet; size 0: the end */
    int ends_after; /* the call after which all end before the next one; 0: none */
};
extern const struct flow flows[];
extern const size_t flow_count;
void flows_register(pawl_app *app);

enum window_way {
    WAY_NONE,
    WAY_BEFORE,     /* the call fails, once */
    WAY_LONG,       /* it and the next ones fail, then all is well */
    WAY_AFTER,      /* it happens and is reported as failed */
    WAY_LOST,       /* it does not happen, and nobody is told; the store can be asked */
    WAY_DIE,        /* the process dies before it */
    WAY_DIE_AFTER,  /* it happens, then the process dies */
    WAY_POINT_FAIL, /* the jsonl store fails at its nth crash point */
    WAY_POINT_DIE,  /* the process dies there */
    WAY_COUNT
};
extern const char *const window_ways[];

struct plan {
    enum window_way way;
    enum fault_op op;
    uint64_t nth;
    const char *point; /* NULL: the nth of all points; else the nth of these */
    bool busy;         /* an activity of another instance runs all the time */
};

struct window {
    const struct flow *flow;
    enum window_store kind;
    struct plan plan;
    char dir[200];
    pawl_store *inner, *store;
    pawl_app *app;
    pawl_runtime *rt;
    int64_t now, mono;
    uint64_t dice;
    uint64_t beside; /* the work that runs when the process dies; 0: none */
    pawl_mem *mem;
    uint64_t calls[FAULT_OP_COUNT]; /* made so far, over all lives */
    uint64_t points;
    int failing; /* calls that still fail */
    bool fired, died;
    int lives;
    char trouble[300]; /* why it could not be driven to the end; "": it was */
    struct buf left;   /* what is in the store at the end */
};

/* Run it; everything but `left`, `calls`, `points` and `trouble` is gone afterwards. */
void window_drive(struct window *w, const struct flow *flow, enum window_store kind,
                  struct plan plan);
void window_forget(struct window *w);

#endif
