/* SPDX-License-Identifier: MIT */
/*
 * server/instances.c -- the calls that change an instance.
 *
 * Each is one submitted request; the answer goes out when the commit that
 * records it is durable.  Payloads are slices of the body, byte for byte.
 */
#include "base/hex.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/vec.h"
#include "server/handlers.h"

#include <string.h>

static void on_reply(void *arg, const pawl_reply *reply)
{
    struct call *c = arg;
    c->reply = *reply;
    if (reply->status == PAWL_OK && reply->created)
        wait_started(c->srv, reply->instance);
    if (reply->instances)
        wait_removed(c->srv);
    call_done(c);
}

void call_submit(struct call *c, const pawl_request *request, void (*on_back)(struct call *c))
{
    call_away(c);
    call_hand_in(c, request, on_back);
}

void call_hand_in(struct call *c, const pawl_request *request, void (*on_back)(struct call *c))
{
    pawl_error err;
    c->place.on_back = on_back;
    if (pawl_client_submit(c->srv->client, request, on_reply, c, &err) == PAWL_OK)
        return;
    c->reply = (pawl_reply){.status = err.status, .error = err};
    call_done(c); /* the same way back: the call is away already */
}

/* ---- Start ------------------------------------------------------------------------ */

void start_members(const struct call *c, pawl_json *w)
{
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, c->reply.instance);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)c->reply.execution);
    pawl_json_key(w, "created");
    pawl_json_truth(w, c->reply.created);
}

static void started(struct call *c)
{
    const pawl_reply *reply = &c->reply;
    if (reply->status == PAWL_NOT_FOUND && !c->args[0]) { /* a rerun names its instance */
        answer_error(c, 404, "unknown_orchestration", "%s", reply->error.text);
        return;
    }
    if (reply->status != PAWL_OK) {
        answer_failure(c, &reply->error);
        return;
    }
    if (follow_start_update(c))
        return;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    start_members(c, w);
    pawl_json_end(w);
    answer_json(c, reply->created ? 201 : 200, w);
}

/* The id of an instance that is started with an Idempotency-Key and without an id: the same
 * for the same key, so that the second start of two finds the first one's instance.  It
 * cannot be hit by accident, and every key gives a valid id. */
static const char *id_of_key(struct call *c, const char *key)
{
    uint8_t hash[32];
    char *id = pawl_mem_alloc(c->mem, sizeof("key-") + sizeof(hash));
    sha256(key, strlen(key), hash);
    hex_write(mempcpy(id, "key-", 4), hash, sizeof(hash) / 2);
    return id;
}

/* "instance", or "id", or what follows from the key; NULL: the runtime makes one. */
static bool read_instance(struct call *c, const char **ret)
{
    const char *id, *key = c->given.idempotency_key;
    if (!call_text(c, c->json, "instance", ret) || !call_text(c, c->json, "id", &id))
        return false;
    if (!*ret)
        *ret = id;
    if (!call_check_key(c))
        return false;
    if (!*ret && key)
        *ret = id_of_key(c, key);
    return true;
}

/* What to do when the id exists. */
static bool read_if_exists(struct call *c, pawl_if_exists *ret)
{
    static const char *const words[] = {"same", "use", "rerun", "terminate"};
    const char *word;
    if (!call_text(c, c->json, "if_exists", &word))
        return false;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!word || strcmp(word, words[i]) == 0) {
            *ret = (pawl_if_exists)i;
            return true;
        }
    answer_error(c, 400, "invalid", "if_exists must be same, use, rerun or terminate");
    return false;
}

/* An object, or left out. */
static bool read_attributes(struct call *c, pawl_str *ret)
{
    pawl_str given = call_member(c->json, "attributes");
    if (given.ptr && json_type(given) != JSON_NULL)
        *ret = given;
    return true;
}

/* START_FIELDS of takes.c. */
static bool read_start(struct call *c, pawl_request *q)
{
    return read_instance(c, &q->instance) &&
           call_integer(c, c->json, "start_at", 0, INT64_MAX, 0, &q->start_at_ms) &&
           call_integer(c, c->json, "delay_ms", 0, LIMIT_DELAY_MS, 0, &q->delay_ms) &&
           call_integer(c, c->json, "deadline_ms", 1, LIMIT_DELAY_MS, 0, &q->deadline_ms) &&
           read_if_exists(c, &q->if_exists) && read_attributes(c, &q->attributes);
}

static bool is_of_start(pawl_str member)
{
    static const char *const names[] = {"instance",    "id",        "start_at",  "delay_ms",
                                        "deadline_ms", "if_exists", "attributes"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (pawl_str_is(member, names[i]))
            return true;
    return false;
}

/* Events that come with it; absent: none. */
static bool read_raises(struct call *c, pawl_request *q)
{
    pawl_str list = call_field(c, c->json, "raise");
    struct json_iter it;
    if (!list.ptr || json_type(list) == JSON_NULL)
        return true;
    LIST(pawl_raise_item) items = {0};
    bool is_list = json_type(list) == JSON_ARRAY;
    for (json_begin(&it, is_list ? list : pawl_s("[]")); json_next(&it);) {
        if (!call_field(c, it.value, "event").ptr) {
            answer_error(c, 400, "invalid", "raise[%zu] must be an object with \"event\"",
                         items.count);
            return false;
        }
        if (!shape_check(c, it.value, &takes_raised, "raise", items.count))
            return false;
        pawl_raise_item *one = list_add(c->mem, &items);
        if (!call_text(c, it.value, "event", &one->event) ||
            !call_text(c, it.value, "key", &one->idempotency_key))
            return false;
        one->data = call_member(it.value, "data");
    }
    q->raises = items.items;
    q->raise_count = items.count;
    if (is_list)
        return true;
    answer_error(c, 400, "invalid", "raise must be a list: [{\"event\":\"NAME\",\"data\":…}]");
    return false;
}

void handle_start(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_START};
    if (!call_text(c, c->json, "orchestration", &q.name) || !read_start(c, &q) ||
        !call_text(c, c->json, "version", &q.version) ||
        !call_truth(c, c->json, "allow_unregistered", &q.allow_unregistered) ||
        !read_raises(c, &q) || !read_start_update(c, &q))
        return;
    if (!q.name) {
        answer_error(c, 400, "invalid",
                     "say which: {\"orchestration\":\"NAME\",\"input\":…,\"instance\":\"ID\"}");
        return;
    }
    q.data = call_field(c, c->json, "input");
    call_submit(c, &q, started);
}

/* ---- Jobs ------------------------------------------------------------------------- */

/* What is not about the start is the input of pawl.job.  Whole numbers as its code reads them: 5
 * for 5.0. */
static pawl_str job_input(struct call *c)
{
    pawl_json *w = pawl_json_new(c->mem);
    struct json_iter it;
    int64_t whole;
    pawl_json_object(w);
    for (json_begin(&it, c->json); json_next(&it);) {
        bool input = pawl_str_is(it.key, "input");
        if (is_of_start(it.key) || (!input && json_type(it.value) == JSON_NULL))
            continue;
        pawl_json_key(w, pawl_mem_dup(c->mem, it.key).ptr);
        if (!input && json_type(it.value) == JSON_NUMBER && json_whole(it.value, &whole))
            pawl_json_num(w, whole);
        else
            json_put(w, it.value);
    }
    pawl_json_end(w);
    return pawl_json_done(w);
}

void handle_job(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_START, .name = PAWL_JOB};
    if (!read_start(c, &q))
        return;
    q.data = job_input(c);
    call_submit(c, &q, started);
}

void handle_rerun(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_RERUN, .instance = c->args[0]};
    if (!call_text(c, c->json, "version", &q.version) ||
        !call_integer(c, c->json, "deadline_ms", 1, LIMIT_DELAY_MS, 0, &q.deadline_ms) ||
        !read_attributes(c, &q.attributes))
        return;
    q.data = call_field(c, c->json, "input");
    call_submit(c, &q, started);
}

/* ---- Raise and steer ----------------------------------------------------------------- */

static void answer_taken(struct call *c, unsigned status)
{
    if (c->reply.status != PAWL_OK) {
        answer_failure(c, &c->reply.error);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, c->args[0]);
    pawl_json_key(w, "accepted");
    pawl_json_truth(w, true);
    pawl_json_end(w);
    answer_json(c, status, w);
}

static void accepted(struct call *c)
{
    answer_taken(c, 202);
}

void handle_raise(struct call *c)
{
    pawl_request q = {.size = sizeof(q),
                      .op = PAWL_OP_RAISE,
                      .instance = c->args[0],
                      .name = c->args[1],
                      .data = buf_slice(&c->body)};
    q.idempotency_key = c->given.idempotency_key;
    if (!call_check_key(c) || !call_flag(c, "await_start", &q.await_start))
        return;
    call_submit(c, &q, accepted);
}

static void attributes_set(struct call *c)
{
    answer_taken(c, 200);
}

void handle_set_attributes(struct call *c)
{
    pawl_request q = {.size = sizeof(q),
                      .op = PAWL_OP_SET_ATTRIBUTES,
                      .instance = c->args[0],
                      .data = buf_slice(&c->body)};
    call_submit(c, &q, attributes_set);
}

void handle_steer(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = c->route->op, .instance = c->args[0]};
    if (call_reason(c, &q.reason))
        call_submit(c, &q, accepted);
}

/* ---- Remove -------------------------------------------------------------------------- */

static void removed(struct call *c)
{
    if (c->reply.status != PAWL_OK) {
        answer_failure(c, &c->reply.error);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    if (c->args[0]) { /* a prune names none */
        pawl_json_key(w, "instance");
        pawl_json_cstr(w, c->args[0]);
    }
    pawl_json_key(w, "instances");
    pawl_json_num(w, (int64_t)c->reply.instances);
    pawl_json_key(w, "executions");
    pawl_json_num(w, (int64_t)c->reply.executions);
    pawl_json_key(w, "events");
    pawl_json_num(w, (int64_t)c->reply.events);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_remove(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_REMOVE, .instance = c->args[0]};
    if (call_flag(c, "force", &q.force))
        call_submit(c, &q, removed);
}

void handle_prune(struct call *c)
{
    pawl_request q = {.size = sizeof(q), .op = PAWL_OP_PRUNE};
    int64_t limit;
    pawl_str before = call_member(c->json, "before");
    if (!before.ptr || json_type(before) == JSON_NULL) {
        answer_error(c, 400, "invalid",
                     "say what ended before when: {\"before\":MILLISECONDS since 1970}");
        return;
    }
    if (!call_integer(c, c->json, "before", 0, INT64_MAX, 0, &q.before_ms) ||
        !call_integer(c, c->json, "limit", 1, 1000, 1000, &limit))
        return;
    q.limit = (uint32_t)limit;
    call_submit(c, &q, removed);
}
