/* SPDX-License-Identifier: MIT */
/* runtime/request/felling.c -- see felling.h.  Called by remove.c, loop.c and refuse.c. */
#include "runtime/request/felling.h"

#include "base/limits.h"
#include "runtime/core/health.h"
#include "runtime/core/letter.h"
#include "runtime/core/owed.h"
#include "runtime/instance/halt.h"
#include "runtime/instance/load.h"
#include "runtime/request/remove.h"
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKS      500  /* instances whose children are read, per pass */
#define CHILD_PAGE 1000 /* children per read, and roughly per pass */
#define PIECE      500  /* instances removed per pass */

struct felling {
    struct felling *next;
    struct letter *call; /* NULL: no caller */
    bool force;
    bool over;          /* answered: felling_look() ends it */
    VEC(uint64_t) uids; /* parents before children */
    size_t looked;      /* the children of this many are in the list */
    uint64_t cursor;    /* where to go on among the children of the next one */
    size_t left;        /* after the walk: this many are left, those behind them are gone */
    size_t counted;     /* from this index on, the list is counted in `reply` */
    pawl_reply reply;
};

static bool add(struct felling *f, uint64_t uid)
{
    uint64_t *slot = vec_push(&f->uids);
    if (slot)
        *slot = uid;
    return slot != NULL;
}

void felling_begin(pawl_runtime *rt, const pawl_row *root, struct letter *call, bool force,
                   const pawl_reply *sofar)
{
    struct felling *f = calloc(1, sizeof(*f));
    need_memory(f && add(f, root->uid));
    f->call = call;
    f->force = force;
    f->reply = *sofar;
    if (force)
        halt_tree(rt, root->uid);
    struct felling **end = &rt->removal.fellings;
    while (*end)
        end = &(*end)->next;
    *end = f;
}

bool felling_answers(pawl_runtime *rt, struct letter *call, const pawl_reply *sofar)
{
    if (!rt->removal.fellings)
        return false;
    rt->removal.fellings->call = call;
    rt->removal.fellings->reply = *sofar;
    return true;
}

bool felling_is(const pawl_runtime *rt, uint64_t root_uid)
{
    for (const struct felling *f = rt->removal.fellings; f; f = f->next)
        if (f->uids.items[0] == root_uid)
            return true;
    return false;
}

static void end(pawl_runtime *rt, struct felling *f)
{
    rt->removal.fellings = f->next;
    vec_deinit(&f->uids);
    free(f);
}

/* The tree is gone, or its removal was refused: its instances may run again. */
static void conclude(pawl_runtime *rt, struct felling *f)
{
    if (f->force)
        halt_end(rt, f->uids.items[0]);
    end(rt, f);
}

void felling_stop(pawl_runtime *rt)
{
    const char *text;
    pawl_status status = health_ending(rt, &text);
    while (rt->removal.fellings) {
        if (rt->removal.fellings->call)
            request_refuse(rt->removal.fellings->call, status, "%s", text);
        end(rt, rt->removal.fellings);
    }
}

PAWL_PRINTF(4, 5)
static void refuse(pawl_runtime *rt, struct felling *f, pawl_status status, const char *format, ...)
{
    char text[sizeof(((pawl_error *)0)->text)];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (f->call && f->call->ask.op == PAWL_OP_PRUNE) /* the caller did not name this tree */
        remove_answer(rt, f->call, &f->reply);
    else if (f->call)
        request_refuse(f->call, status, "%s", text);
    f->over = true;
}

/* ---- Looking ------------------------------------------------------------------------ */

/* Add a page of children to the list.  False: not now, or the request was refused. */
static bool add_children(pawl_runtime *rt, struct felling *f, uint64_t parent)
{
    pawl_row_query query = {.parent_uid = parent, .limit = CHILD_PAGE, .before_uid = f->cursor};
    pawl_row_list list;
    pawl_error err = {0};
    arena_reset(&rt->load_mem);
    pawl_status rc = store_list(rt->store, &query, &rt->load_mem, &list, &err);
    if (rc == PAWL_CORRUPT) {
        refuse(rt, f, rc, "%s", err.text);
        return false;
    }
    if (rc != PAWL_OK) {
        health_unread(rt, &err);
        return false;
    }
    for (size_t i = 0; i < list.count; i++) {
        const pawl_row *row = &list.items[i];
        if (!f->force && !pawl_state_is_terminal(row->state)) {
            refuse(rt, f, PAWL_CONFLICT,
                   "instance '%.*s' is %s; cancel it first, or force it (--force, ?force=true)",
                   PAWL_FMT(row->id), pawl_state_name(row->state));
            return false;
        }
        need_memory(add(f, row->uid));
    }
    f->cursor = list.next_uid;
    return true;
}

static void look(pawl_runtime *rt, struct felling *f)
{
    size_t before = f->uids.count;
    for (int i = 0; i < LOOKS && f->uids.count - before < CHILD_PAGE; i++) {
        if (f->looked == f->uids.count || !add_children(rt, f, f->uids.items[f->looked]))
            return;
        if (!f->cursor)
            f->looked++;
    }
}

/* ---- Felling ------------------------------------------------------------------------ */

static void count(struct felling *f, size_t index, const pawl_row *row)
{
    if (index >= f->counted)
        return;
    f->counted = index;
    f->reply.instances++;
    f->reply.executions += row->execution;
    f->reply.events += row->last_seq;
}

/* Stage the removal of the last instances left.  One that is no longer found is gone. */
static void fell(pawl_runtime *rt, struct felling *f)
{
    struct resident *r;
    while (f->left && load_row(rt, f->uids.items[f->left - 1], (pawl_str){0}, &r) == LOAD_NONE)
        halt_gone(rt, f->uids.items[--f->left]);
    for (size_t n = 0; n < PIECE && n < f->left; n++) {
        size_t index = f->left - 1 - n;
        uint64_t uid = f->uids.items[index];
        enum load_result found = load_row(rt, uid, (pawl_str){0}, &r);
        if (found == LOAD_NONE)
            continue;
        if (found == LOAD_DAMAGED) {
            refuse(rt, f, PAWL_CORRUPT, "a row of the tree is damaged; run pawl doctor");
            return;
        }
        if (found != LOAD_OK || !remove_one(rt, &r->row, index == 0))
            return;
        count(f, index, &r->row);
    }
}

static void answer(pawl_runtime *rt, struct felling *f)
{
    if (f->call)
        remove_answer(rt, f->call, &f->reply);
    else
        COUNT_BY(rt, retired, f->reply.instances);
    f->over = true;
}

void felling_look(pawl_runtime *rt)
{
    struct felling *f = rt->removal.fellings;
    if (LIKELY(!f))
        return;
    if (f->call)
        owed_renew(rt, &f->call->item);
    if (f->looked < f->uids.count) {
        look(rt, f);
        if (f->looked == f->uids.count)
            f->left = f->counted = f->uids.count;
    } else {
        fell(rt, f);
        if (!f->over && !f->left)
            answer(rt, f);
    }
    if (f->over)
        conclude(rt, f);
}
