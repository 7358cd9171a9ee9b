/* SPDX-License-Identifier: MIT */
/*
 * server/limit_routes.c -- limits over HTTP, as the library has them (pawl/limit.h).
 *
 * A call that writes is one submitted request: the answer goes out when it is durable and in force.
 * Called by routes.c.
 */
#include "server/limit_routes.h"

#include "base/json.h"
#include "pawl/limit.h"
#include "server/condition.h"
#include "server/handlers.h"
#include "server/paging.h"

/* ---- Reading ---------------------------------------------------------------------------- */

void handle_limit(struct call *c)
{
    pawl_str stored;
    pawl_error err;
    if (pawl_limit_get(c->srv->client, c->args[0], c->mem, &stored, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    json_put(w, stored);
    answer_json(c, 200, w);
}

/* A piece behind *after, which becomes the last name, or NULL behind the end; false: it was answered. */
static bool write_piece(struct call *c, pawl_json *w, struct paging *p, const char **after)
{
    uint32_t want = paging_piece(p), n = 0;
    pawl_str list;
    pawl_error err;
    if (pawl_limit_list(c->srv->client, call_param(c, "prefix"), *after, want, c->mem, &list,
                        &err) != PAWL_OK) {
        answer_failure(c, &err);
        return false;
    }
    for (pawl_json_iter it = pawl_json_each(list, ""); pawl_json_next(&it); n++) {
        json_put(w, it.value);
        (void)paging_count(p, it.value.len);
        *after = pawl_json_text(c->mem, it.value, "/name", "").ptr;
    }
    if (n < want)
        *after = NULL;
    return true;
}

void handle_limits(struct call *c)
{
    int64_t limit;
    const char *after = call_param(c, "after");
    if (!call_number(c, "limit", 1, 1000, 100, &limit))
        return;
    struct paging p = {.left = (uint32_t)limit};
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "limits");
    pawl_json_array(w);
    do {
        if (!write_piece(c, w, &p, &after))
            return;
    } while (after && p.left && p.bytes < PAGE_BYTES);
    pawl_json_end(w);
    pawl_json_key(w, "next");
    if (after)
        pawl_json_str(w, pawl_s(after));
    else
        pawl_json_null(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- Writing ---------------------------------------------------------------------------- */

/* An answer with the name of the limit; NULL: the call was refused, and that was answered. */
static pawl_json *begin_answer(struct call *c)
{
    if (c->reply.status != PAWL_OK) {
        if (!condition_failed(c))
            answer_failure(c, &c->reply.error);
        return NULL;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "name");
    pawl_json_cstr(w, c->args[0]);
    return w;
}

static void put_done(struct call *c)
{
    pawl_json *w = begin_answer(c);
    if (!w)
        return;
    pawl_json_key(w, "revision");
    pawl_json_num(w, (int64_t)c->reply.revision);
    pawl_json_end(w);
    answer_json(c, c->reply.revision == 1 ? 201 : 200, w);
}

static void removed(struct call *c)
{
    pawl_json *w = begin_answer(c);
    if (!w)
        return;
    pawl_json_key(w, "removed");
    pawl_json_truth(w, true);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

static void submit(struct call *c, pawl_op op, pawl_str data, void (*done)(struct call *))
{
    pawl_request q = {.size = sizeof(q), .op = op, .name = c->args[0], .data = data};
    if (condition_read(c, &q.if_revision))
        call_submit(c, &q, done);
}

void handle_put_limit(struct call *c)
{
    submit(c, PAWL_OP_LIMIT_PUT, c->json, put_done);
}

void handle_remove_limit(struct call *c)
{
    submit(c, PAWL_OP_LIMIT_REMOVE, (pawl_str){0}, removed);
}
