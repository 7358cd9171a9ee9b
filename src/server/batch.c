/* SPDX-License-Identifier: MIT */
/*
 * server/batch.c -- POST /api/v1/instances:batch: one action on all that match, or on those named.
 *
 * A page of at most `limit` instances is read, or made of the ids given, then every one gets its
 * request; the answer goes out when the last of them is decided.  `next` continues after the page.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/vec.h"
#include "server/handlers.h"
#include "tables/operations.h"

#include <string.h>

#define IDS_MAX 1000

struct batch {
    const char *action;
    pawl_op op;
    bool dry_run;
    pawl_page page;
    pawl_status *results; /* one for each of the page */
    struct unit *units;
    atomic_size_t left;
};

/* One instance of the batch. */
struct unit {
    struct call *c;
    pawl_status *result;
};

/* ---- Input ------------------------------------------------------------------------- */

/* The filter of the body; false: 400 was answered. */
static bool find_filter(struct call *c, pawl_str *ret)
{
    *ret = call_member(c->json, "filter");
    if (ret->ptr && json_type(*ret) == JSON_OBJECT)
        return shape_check(c, *ret, &takes_filter, "filter", NOWHERE);
    answer_error(c, 400, "invalid",
                 ret->ptr ? "filter must be an object; {} means all instances"
                          : "filter or ids is required; the filter {} means all instances");
    return false;
}

static bool refuse_where(struct call *c)
{
    answer_error(c, 400, "invalid",
                 "where must be a list of up to %d conditions: [\"customer=c-42\"]",
                 PAWL_WHERE_MAX);
    return false;
}

/* The conditions on attributes. */
static bool read_where(struct call *c, pawl_str filter, pawl_filter *f)
{
    pawl_str list = call_member(filter, "where");
    pawl_where *where = pawl_mem_alloc(c->mem, PAWL_WHERE_MAX * sizeof(*where));
    pawl_error err;
    struct json_iter it;
    f->where = where;
    if (!list.ptr || json_type(list) == JSON_NULL)
        return true;
    if (json_type(list) != JSON_ARRAY)
        return refuse_where(c);
    for (json_begin(&it, list); json_next(&it);) {
        if (json_type(it.value) != JSON_STRING || f->where_count == PAWL_WHERE_MAX)
            return refuse_where(c);
        if (!pawl_where_parse(c->mem, pawl_json_text(c->mem, it.value, "", ""),
                              &where[f->where_count++], &err)) {
            answer_error(c, 400, "invalid", "where: %s", err.text);
            return false;
        }
    }
    return true;
}

static bool read_filter(struct call *c, pawl_filter *f)
{
    pawl_str filter;
    const char *status;
    int64_t limit;
    if (!find_filter(c, &filter) || !call_text(c, filter, "status", &status) ||
        !call_text(c, filter, "orchestration", &f->orchestration) ||
        !call_text(c, filter, "prefix", &f->prefix) ||
        !call_text(c, filter, "parent", &f->parent) || !call_text(c, filter, "q", &f->text) ||
        !call_truth(c, filter, "roots", &f->roots) ||
        !call_integer(c, filter, "created_after", 0, INT64_MAX, 0, &f->created_after_ms) ||
        !call_integer(c, filter, "created_before", 0, INT64_MAX, 0, &f->created_before_ms) ||
        !call_integer(c, filter, "ended_after", 0, INT64_MAX, 0, &f->ended_after_ms) ||
        !call_integer(c, filter, "ended_before", 0, INT64_MAX, 0, &f->ended_before_ms) ||
        !call_text(c, filter, "error", &f->error) || !read_where(c, filter, f) ||
        !call_text(c, c->json, "after", &f->after) ||
        !call_integer(c, c->json, "limit", 1, 1000, 1000, &limit))
        return false;
    f->limit = (uint32_t)limit;
    return states_of_words(c, status, &f->states);
}

/* The instances by name; false: 400 was answered. */
static bool read_ids(struct call *c, pawl_str list, pawl_page *ret)
{
    struct json_iter it;
    LIST(pawl_info) items = {0};
    bool good = json_type(list) == JSON_ARRAY;
    for (json_begin(&it, list); good && json_next(&it);) {
        pawl_str id = pawl_json_text(c->mem, it.value, "", "");
        good = json_type(it.value) == JSON_STRING && items.count < IDS_MAX &&
               check_instance_id(id, LIMIT_CHILD_ID_BYTES, NULL);
        list_add(c->mem, &items)->instance = id;
    }
    *ret = (pawl_page){.items = items.items, .count = items.count};
    if (good && items.count)
        return true;
    answer_error(c, 400, "invalid", "ids must be a list of 1 to %d ids of instances", IDS_MAX);
    return false;
}

/* The instances that it is about; false: answered. */
static bool read_page(struct call *c, struct batch *b)
{
    pawl_filter filter = {.size = sizeof(filter)};
    pawl_error err;
    pawl_str ids = call_member(c->json, "ids");
    if (ids.ptr && json_type(ids) != JSON_NULL)
        return read_ids(c, ids, &b->page);
    if (!read_filter(c, &filter))
        return false;
    if (pawl_client_list(c->srv->client, &filter, c->mem, &b->page, &err) == PAWL_OK)
        return true;
    answer_failure(c, &err);
    return false;
}

/* "cancel, terminate, …, retry or delete" */
static const char *list_actions(pawl_mem *mem)
{
    const char *text = "", *at = OPERATION_ACTIONS;
    for (size_t n; *at; at += n + (at[n] == ' ')) {
        n = strcspn(at, " ");
        const char *before = !text[0] ? "" : at[n] ? ", " : " or ";
        text = pawl_mem_printf(mem, "%s%s%.*s", text, before, (int)n, at).ptr;
    }
    return text;
}

static bool read_action(struct call *c, struct batch *b)
{
    if (!call_text(c, c->json, "action", &b->action) ||
        !call_truth(c, c->json, "dry_run", &b->dry_run))
        return false;
    if (b->action && operation_of_action(b->action, &b->op))
        return true;
    answer_error(c, 400, "invalid", "action must be %s", list_actions(c->mem));
    return false;
}

/* ---- Output ------------------------------------------------------------------------- */

static void write_failed(pawl_json *w, const struct batch *b)
{
    pawl_json_key(w, "failed");
    pawl_json_array(w);
    for (size_t i = 0; !b->dry_run && i < b->page.count; i++) {
        if (b->results[i] == PAWL_OK)
            continue;
        pawl_json_object(w);
        pawl_json_key(w, "instance");
        pawl_json_str(w, b->page.items[i].instance);
        pawl_json_key(w, "code");
        pawl_json_cstr(w, pawl_status_code(b->results[i]));
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void answer_batch(struct call *c)
{
    const struct batch *b = c->data;
    size_t done = 0;
    for (size_t i = 0; i < b->page.count; i++)
        done += !b->dry_run && b->results[i] == PAWL_OK;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "action");
    pawl_json_cstr(w, b->action);
    pawl_json_key(w, "dry_run");
    pawl_json_truth(w, b->dry_run);
    pawl_json_key(w, "matched");
    pawl_json_num(w, (int64_t)b->page.count);
    pawl_json_key(w, "done");
    pawl_json_num(w, (int64_t)done);
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    for (size_t i = 0; i < b->page.count; i++)
        pawl_json_str(w, b->page.items[i].instance);
    pawl_json_end(w);
    write_failed(w, b);
    pawl_json_key(w, "next");
    pawl_json_cstr(w, b->page.next.len ? b->page.next.ptr : NULL);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- The work ------------------------------------------------------------------------ */

static void unit_done(struct unit *u, pawl_status result)
{
    struct batch *b = u->c->data;
    *u->result = result;
    if (atomic_fetch_sub(&b->left, 1) == 1)
        call_done(u->c);
}

static void on_reply(void *arg, const pawl_reply *reply)
{
    struct unit *u = arg;
    if (reply->instances)
        wait_removed(u->c->srv);
    unit_done(u, reply->status);
}

/* The call is gone from here on: the last reply brings it back. */
static void submit_all(struct call *c, struct batch *b, const char *reason)
{
    pawl_client *client = c->srv->client;
    size_t count = b->page.count;
    reader_keep();
    c->place.on_back = answer_batch;
    atomic_init(&b->left, count);
    for (size_t i = 0; i < count; i++) {
        struct unit *u = &b->units[i];
        pawl_error err;
        *u = (struct unit){c, &b->results[i]};
        if (pawl_client_submit(client,
                               PAWL_REQUEST(.op = b->op, .instance = b->page.items[i].instance.ptr,
                                            .reason = reason, .force = true),
                               on_reply, u, &err) != PAWL_OK)
            unit_done(u, err.status);
    }
}

void handle_batch(struct call *c)
{
    struct batch *b = pawl_mem_alloc(c->mem, sizeof(*b));
    const char *reason;
    c->data = b;
    if (!read_action(c, b) || !call_reason(c, &reason) || !read_page(c, b))
        return;
    b->results = pawl_mem_alloc(c->mem, (b->page.count + 1) * sizeof(*b->results));
    b->units = pawl_mem_alloc(c->mem, (b->page.count + 1) * sizeof(*b->units));
    if (b->dry_run || !b->page.count)
        answer_batch(c);
    else
        submit_all(c, b, reason);
}
