/* SPDX-License-Identifier: MIT */
/*
 * view/why.h -- what an instance waits for, since when, what can wake it, what
 * failed last, what happens next and when.
 *
 * Used by `pawl why` and by GET /api/v1/instances/{id}/why.  Fill in mem, prog,
 * now_ms, owner and buf_init(sentence), then gather, compose, render.
 */
#ifndef PAWL_VIEW_WHY_H
#define PAWL_VIEW_WHY_H

#include "base/buf.h"
#include "pawl.h"

#define WHY_SENTENCE_MAX (1 << 16)

struct why {
    pawl_mem *mem;
    const char *prog; /* how commands are written in hints: "pawl" */
    pawl_info info;
    int64_t now_ms;
    pawl_str failed_name; /* the last failure in the history; empty: none */
    pawl_str failed_error;
    int64_t failed_ms;
    const pawl_waiting *next; /* with the nearest due time; NULL: none */
    pawl_str schedule;        /* that started it; empty: none */
    int64_t scheduled_ms;     /* and its occurrence */
    long owner;               /* pid that has the store open; 0: none, -1: not known */
    struct buf sentence;
};

/* Read the facts. */
pawl_status why_gather(struct why *y, pawl_client *client, const char *id, pawl_error *reterr);
/* One sentence for people; lives in y->sentence. */
pawl_str why_compose(struct why *y);
/* All of it as one JSON object, after compose. */
void why_render(struct why *y, pawl_json *w);

#endif
