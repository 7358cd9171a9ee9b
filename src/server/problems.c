/* SPDX-License-Identifier: MIT */
/* server/problems.c -- see problems.h.  Called by overview.c and waits.c. */
#include "server/problems.h"

#include <string.h>

#define CAUSE_BYTES 200

/* Runs of digits as one '#'. */
static pawl_str cause_of(pawl_mem *mem, pawl_str text)
{
    char *out = pawl_mem_alloc(mem, CAUSE_BYTES + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < CAUSE_BYTES; i++) {
        bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        if (!digit || n == 0 || out[n - 1] != '#')
            out[n++] = digit ? '#' : text.ptr[i];
    }
    out[n] = 0;
    return (pawl_str){out, n};
}

static bool is_same(const struct problem *p, const struct problem *like, pawl_str cause)
{
    return strcmp(p->kind, like->kind) == 0 && pawl_str_eq(p->orchestration, like->orchestration) &&
           pawl_str_eq(p->activity, like->activity) && pawl_str_eq(p->cause, cause);
}

static struct problem *group_of(struct problems *all, const struct problem *like)
{
    pawl_str cause = cause_of(all->mem, like->detail);
    for (size_t i = 0; i < all->count; i++)
        if (is_same(&all->items[i], like, cause))
            return &all->items[i];
    if (all->count == PROBLEMS_MAX) {
        all->more = true;
        return NULL;
    }
    struct problem *p = &all->items[all->count++];
    *p = *like;
    p->cause = cause;
    p->count = 0;
    p->named_count = 0;
    return p;
}

void problems_add(struct problems *all, const struct problem *like, pawl_str instance)
{
    struct problem *p = group_of(all, like);
    if (!p)
        return;
    p->count++;
    if (!p->since_ms || like->since_ms < p->since_ms)
        p->since_ms = like->since_ms;
    if (like->attempt > p->attempt)
        p->attempt = like->attempt;
    if (instance.len && p->named_count < PROBLEMS_NAMED)
        p->named[p->named_count++] = instance;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static void put_text(pawl_json *w, const char *key, pawl_str text)
{
    pawl_json_key(w, key);
    if (text.len)
        pawl_json_str(w, text);
    else
        pawl_json_null(w);
}

static void put_number(pawl_json *w, const char *key, int64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, n);
}

static void write_one(pawl_json *w, const struct problem *p)
{
    pawl_json_object(w);
    put_text(w, "kind", pawl_s(p->kind));
    put_number(w, "count", (int64_t)p->count);
    put_number(w, "since", p->since_ms);
    put_text(w, "detail", p->detail);
    put_text(w, "orchestration", p->orchestration);
    if (p->activity.len)
        put_text(w, "activity", p->activity);
    if (p->attempt)
        put_number(w, "attempt", p->attempt);
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    for (size_t i = 0; i < p->named_count; i++)
        pawl_json_str(w, p->named[i]);
    pawl_json_end(w);
    pawl_json_end(w);
}

void problems_write(const struct problems *all, pawl_json *w)
{
    pawl_json_array(w);
    for (size_t i = 0; i < all->count; i++)
        write_one(w, &all->items[i]);
    pawl_json_end(w);
}
