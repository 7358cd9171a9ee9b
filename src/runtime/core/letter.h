/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/letter.h -- messages and client requests in memory.
 *
 * A letter lives from its arrival (completion, request, fetched row) until the
 * commit that consumes it.  Stored letters are in rt->letters.inflight under their row
 * id while they live, so the same row is never in memory twice.
 */
#ifndef PAWL_RUNTIME_LETTER_H
#define PAWL_RUNTIME_LETTER_H

#include "runtime/core/runtime.h"

/* Address of pushes recorded by orchestrations: no instance can have it. */
#define QUEUE_MAIL "\x01queue"

/* Copy everything into one block; NULL when out of memory. */
struct letter *letter_create(const struct mail *mail, uint64_t uid, pawl_str instance,
                             pawl_str key);
/* From a message row; NULL when it is in memory already. */
struct letter *letter_of_row(pawl_runtime *rt, const pawl_message *row);
/* Forget it; a request still attached is answered with `status`. */
void letter_drop(pawl_runtime *rt, struct letter *l, pawl_status status, const char *text);

/* Put at the end of what is to be delivered, or of what waits for the next group. */
void letter_todo(pawl_runtime *rt, struct letter *l);
void letter_later(pawl_runtime *rt, struct letter *l);
/* Put a list back in front of everything, in order, for another try. */
void letter_back(pawl_runtime *rt, struct letter *list);
/* Is the result of that work on its way to its turn, in this group or the next? */
bool letter_has_work(const pawl_runtime *rt, uint64_t work_id);
struct letter *letter_next(pawl_runtime *rt); /* NULL: none */

/* A copy of the caller's request; NULL when out of memory. */
struct request *request_create(const pawl_request *args, pawl_reply_fn *fn, void *arg);
/* Call back and free. */
void request_answer(struct request *req, const pawl_reply *reply);
void request_refuse(struct request *req, pawl_status status, const char *format, ...)
    PAWL_PRINTF(3, 4);
void letter_open(pawl_runtime *rt);
void letter_close(pawl_runtime *rt);

/* The letters to deliver, in order, and how many. */
static inline struct letter *letter_first(const pawl_runtime *rt)
{
    return rt->letters.todo;
}

static inline size_t letter_count(const pawl_runtime *rt)
{
    return rt->letters.todo_count;
}

/* Is the message of that row in memory? */
static inline bool letter_is_inflight(const pawl_runtime *rt, uint64_t id)
{
    return map_get(&rt->letters.inflight, id) != NULL;
}

/* A letter that was not stored took the last process down: these are stored first now. */
static inline bool letter_is_stored_first(const pawl_runtime *rt)
{
    return rt->blame.unfused_requests;
}

/* What waited for the next group comes before everything else. */
static inline void letter_back_later(pawl_runtime *rt)
{
    struct letter *later = rt->letters.later;
    rt->letters.later = NULL;
    rt->letters.later_end = &rt->letters.later;
    if (later)
        letter_back(rt, later);
}

#endif
