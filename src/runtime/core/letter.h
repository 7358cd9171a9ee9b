/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/letter.h -- messages in memory, and clients' calls.
 *
 * A letter lives from its arrival (completion, client's call, fetched row) until the
 * commit that consumes it.  A call is copied once, by the thread that makes it: what the engine
 * delivers, stages and answers is that copy.  Stored letters are in rt->letters.inflight under their row
 * id while they live, so the same row is never in memory twice.
 */
#ifndef PAWL_RUNTIME_LETTER_H
#define PAWL_RUNTIME_LETTER_H

#include "runtime/core/runtime.h"

/* Address of pushes recorded by orchestrations: no instance can have it. */
#define QUEUE_MAIL "\x01queue"

/* Keys of raises, of updates and of inputs are kept in one place.  Ours begin with this byte, and
 * no client's may. */
#define RESERVED_KEYS "\x01"
/* Before those of updates. */
#define UPDATE_KEY RESERVED_KEYS "update:"

/* Copy everything into one block; NULL when out of memory. */
struct letter *letter_create(const struct mail *mail, uint64_t uid, pawl_str instance,
                             pawl_str key);
/* From a message row; NULL when it is in memory already. */
struct letter *letter_of_row(pawl_runtime *rt, const pawl_message *row);
/* A client's call; any thread.  NULL when out of memory. */
struct letter *letter_of_request(const pawl_request *args, pawl_reply_fn *fn, void *arg);
/* Give a start without an id one that is made from this time and these random bits. */
void letter_name(struct letter *l, int64_t now_ms, const uint8_t bits[10]);
/* Make a result by token the completion of its work row: give it the address, the kind and the attrs
 * of the completion.  Its data is not copied. */
void letter_completes(struct letter *l, const struct mail *mail, uint64_t uid);
/* It gets these attrs instead of those it came with; once. */
void letter_set_attrs(struct letter *l, pawl_str attrs);
/* Call back.  The letter stays. */
void letter_answer(struct letter *l, const pawl_reply *reply);
void letter_refuse(struct letter *l, pawl_status status, const char *format, ...) PAWL_PRINTF(3, 4);
/* End a call that has no row: call its client back and free it. */
void request_answer(struct letter *call, const pawl_reply *reply);
void request_refuse(struct letter *call, pawl_status status, const char *format, ...)
    PAWL_PRINTF(3, 4);
/* Forget it; a client that waits is answered with `status`. */
void letter_drop(pawl_runtime *rt, struct letter *l, pawl_status status, const char *text);

/* Put at the end of what is to be delivered, or of what waits for the next group. */
void letter_todo(pawl_runtime *rt, struct letter *l);
void letter_later(pawl_runtime *rt, struct letter *l);
/* Put a list back in front of everything, in order, for another try. */
void letter_back(pawl_runtime *rt, struct letter *list);
/* Is the result of that work on its way to its turn, in this group or the next? */
bool letter_has_work(const pawl_runtime *rt, uint64_t work_id);
struct letter *letter_next(pawl_runtime *rt); /* NULL: none */

void letter_open(pawl_runtime *rt);
void letter_close(pawl_runtime *rt);

/* The client's call that this item is. */
static inline struct letter *letter_of_item(struct item *item)
{
    return (struct letter *)(void *)item;
}

/* Is it for an instance or a queue?  Otherwise it is a call that the engine acts on. */
static inline bool letter_is_mail(const struct letter *l)
{
    return l->mail.kind != 0;
}

/* A pass has delivered: what was read for it does not hold any more. */
static inline void letter_pass_done(pawl_runtime *rt)
{
    rt->letters.pass++;
}

/* Memory for what is read ahead of deliveries: it holds until the next pass asks. */
static inline pawl_mem *letter_known_mem(pawl_runtime *rt)
{
    return &rt->letters.known_mem;
}

/* The number of this pass, never 0. */
static inline uint64_t letter_pass(const pawl_runtime *rt)
{
    return rt->letters.pass;
}

/* Note what was read for it in this pass. */
static inline void letter_know(const pawl_runtime *rt, struct letter *l, const struct known *known)
{
    l->known = *known;
    l->known.pass = letter_pass(rt);
}

/* The same if it was read in this pass; NULL: nothing was. */
static inline const struct known *known_now(const pawl_runtime *rt, const struct known *known)
{
    return known->pass == letter_pass(rt) ? known : NULL;
}

static inline const struct known *letter_known(const pawl_runtime *rt, const struct letter *l)
{
    return known_now(rt, &l->known);
}

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
