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

#include <stdio.h>

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

void handle_limits(struct call *c)
{
    int64_t limit;
    pawl_str list;
    pawl_error err;
    if (!call_number(c, "limit", 1, 1000, 100, &limit))
        return;
    if (pawl_limit_list(c->srv->client, call_param(c, "prefix"), call_param(c, "after"),
                        (uint32_t)limit, c->mem, &list, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    int64_t n = pawl_json_count(list, "");
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "limits");
    json_put(w, list);
    pawl_json_key(w, "next");
    if (n == limit) {
        char last[40];
        (void)snprintf(last, sizeof(last), "/%lld/name", (long long)n - 1);
        pawl_json_str(w, pawl_json_text(c->mem, list, last, ""));
    } else {
        pawl_json_null(w);
    }
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
