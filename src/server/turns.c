/* SPDX-License-Identifier: MIT */
/*
 * server/turns.c -- workers that run orchestrations: pawl/turns.h over HTTP.
 *
 * The body becomes a pawl_turns (turns_read.c); the engine applies its answers and hands out turns;
 * the reply is written on the engine's thread, because what it reports is valid only there.
 * Payloads are texts: bytes that are no UTF-8 go as data64.  docs/protocol/turns.md is the contract.
 */
#include "server/turns.h"

#include "base/base64.h"
#include "base/json.h"
#include "pawl/turns.h"
#include "server/handlers.h"
#include "server/turns_read.h"

#include <string.h>

static void put_text(pawl_json *w, const char *key, pawl_str text)
{
    pawl_json_key(w, key);
    pawl_json_str(w, text);
}

static void put_number(pawl_json *w, const char *key, uint64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)n);
}

static void put_base64(pawl_json *w, pawl_mem *mem, pawl_str data)
{
    char *text = pawl_mem_alloc(mem, BASE64_CHARS(data.len) + 1);

    base64_write(text, data);
    put_text(w, "data64", (pawl_str){text, BASE64_CHARS(data.len)});
}

static void put_data(pawl_json *w, pawl_mem *mem, pawl_str data)
{
    if (!data.len)
        return;
    if (utf8_valid(data))
        put_text(w, "data", data);
    else
        put_base64(w, mem, data);
}

static void put_event(pawl_json *w, pawl_mem *mem, const pawl_event *e, bool recorded)
{
    pawl_json_object(w);
    if (recorded)
        put_number(w, "seq", e->seq);
    pawl_json_key(w, "kind");
    pawl_json_cstr(w, pawl_event_kind_name(e->kind));
    if (e->ref)
        put_number(w, "ref", e->ref);
    if (e->name.len)
        put_text(w, "name", e->name);
    put_data(w, mem, e->data);
    if (e->attrs.len) {
        pawl_json_key(w, "attrs");
        json_put(w, e->attrs);
    }
    put_number(w, "at", (uint64_t)e->at_ms);
    pawl_json_end(w);
}

static void put_events(pawl_json *w, pawl_mem *mem, const char *key, const pawl_event *list,
                       size_t count, bool recorded)
{
    pawl_json_key(w, key);
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++)
        put_event(w, mem, &list[i], recorded);
    pawl_json_end(w);
}

static void put_leases(pawl_json *w, const pawl_turn_lease *list, size_t count)
{
    pawl_json_key(w, "leases");
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++) {
        pawl_json_object(w);
        put_number(w, "ref", list[i].ref);
        put_text(w, "lease", list[i].lease);
        put_text(w, "key", list[i].key);
        put_number(w, "attempt", list[i].attempt);
        put_number(w, "until", (uint64_t)list[i].until_ms);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void put_answered(pawl_json *w, const pawl_turn_answered *a)
{
    static const char *const words[] = {"lost", "ok", "lost", "refused", "blocked", "released"};

    pawl_json_object(w);
    put_text(w, "token", a->token);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, words[(size_t)a->status < COUNT_OF(words) ? a->status : 0]);
    if (a->status == PAWL_TURN_OK) {
        put_number(w, "seq", a->seq);
        if (a->next.len)
            put_text(w, "next", a->next);
        put_leases(w, a->leases, a->lease_count);
    }
    if (a->code.len && a->status != PAWL_TURN_OK)
        put_text(w, "code", a->code);
    if (a->status == PAWL_TURN_REFUSED && a->seq)
        put_number(w, "seq", a->seq);
    if (a->message.len)
        put_text(w, "message", a->message);
    pawl_json_end(w);
}

static void put_turn(pawl_json *w, pawl_mem *mem, const pawl_turn *t)
{
    pawl_json_object(w);
    put_text(w, "token", t->token);
    put_text(w, "run", t->run);
    put_text(w, "instance", t->instance);
    put_number(w, "execution", t->execution);
    put_text(w, "orchestration", t->orchestration);
    put_text(w, "version", t->version);
    put_number(w, "after", t->after);
    put_events(w, mem, "events", t->events, t->event_count, true);
    pawl_json_key(w, "more");
    pawl_json_truth(w, t->more);
    put_number(w, "seq", t->seq);
    put_events(w, mem, "messages", t->messages, t->message_count, false);
    if (t->carried_count)
        put_events(w, mem, "carried", t->carried, t->carried_count, false);
    put_leases(w, t->leases, t->lease_count);
    put_number(w, "until", (uint64_t)t->until_ms);
    pawl_json_end(w);
}

static void put_limits(pawl_json *w, const pawl_turns_reply *reply)
{
    pawl_json_key(w, "limits");
    pawl_json_object(w);
    put_number(w, "payload_bytes", reply->limits.payload_bytes);
    put_number(w, "item_bytes", reply->limits.item_bytes);
    pawl_json_key(w, "queues");
    pawl_json_truth(w, reply->limits.queues);
    put_number(w, "turn_ms", (uint64_t)reply->limits.turn_ms);
    pawl_json_end(w);
}

/* Told by this session, and C code has them. */
static void put_taken(pawl_json *w, const pawl_turns_reply *reply)
{
    if (!reply->taken_count)
        return;
    pawl_json_key(w, "code");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->taken_count; i++) {
        pawl_json_object(w);
        put_text(w, "name", reply->taken[i].name);
        put_text(w, "version", reply->taken[i].version);
        put_text(w, "status", pawl_s("taken"));
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void put_beats(pawl_json *w, const pawl_turns_reply *reply)
{
    if (!reply->beats_lost_count)
        return;
    pawl_json_key(w, "beats");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->beats_lost_count; i++) {
        pawl_json_object(w);
        put_text(w, "token", reply->beats_lost[i]);
        put_text(w, "status", pawl_s("lost"));
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void write_reply(struct call *c, const pawl_turns_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);

    pawl_json_object(w);
    put_number(w, "protocol", PAWL_TURNS_PROTOCOL);
    pawl_json_key(w, "boot");
    pawl_json_cstr(w, reply->boot);
    put_number(w, "now", (uint64_t)reply->now_ms);
    put_limits(w, reply);
    put_taken(w, reply);
    put_beats(w, reply);
    pawl_json_key(w, "answered");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->answered_count; i++)
        put_answered(w, &reply->answered[i]);
    pawl_json_end(w);
    pawl_json_key(w, "turns");
    pawl_json_array(w);
    for (size_t i = 0; i < reply->turn_count; i++)
        put_turn(w, c->mem, &reply->turns[i]);
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* "unknown_session: …" and "too_many: …" are a word of the protocol and a sentence. */
static void refuse(struct call *c, const pawl_error *err)
{
    const char *mark = strstr(err->text, ": ");
    bool many = err->status == PAWL_BUSY && strncmp(err->text, "too_many: ", 10) == 0;

    if ((err->status != PAWL_CONFLICT && !many) || !mark) {
        answer_failure(c, err);
        return;
    }
    pawl_str word = {err->text, (size_t)(mark - err->text)};
    answer_error(c, many ? 429 : 409, pawl_mem_dup(c->mem, word).ptr, "%s", mark + 2);
    if (many)
        c->answer.retry_after = 1;
}

/* On the engine thread; the call is ours until call_done(). */
static void replied(void *arg, const pawl_turns_reply *reply)
{
    struct call *c = arg;

    if (reply->status == PAWL_OK)
        write_reply(c, reply);
    else
        refuse(c, &reply->error);
    call_done(c);
}

void handle_turns(struct call *c)
{
    pawl_turns q;
    pawl_error err;

    if (!turns_read(c, &q))
        return;
    call_linger(c);
    if (pawl_turns_exchange(c->srv->client, &q, replied, c, &err) == PAWL_OK)
        return;
    refuse(c, &err);
    call_done(c);
}

void handle_turn_history(struct call *c)
{
    const pawl_event *events;
    size_t count;
    uint64_t seq;
    int64_t after;
    pawl_error err;

    if (!call_number(c, "after", 0, INT64_MAX, 0, &after))
        return;
    if (pawl_turns_history(c->srv->client, pawl_s(c->args[0]), (uint64_t)after, c->mem, &events,
                           &count, &seq, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    put_number(w, "after", (uint64_t)after);
    put_events(w, c->mem, "events", events, count, true);
    uint64_t last = count ? events[count - 1].seq : (uint64_t)after;
    pawl_json_key(w, "more");
    pawl_json_truth(w, last < seq);
    if (last < seq)
        put_number(w, "next", last);
    put_number(w, "seq", seq);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
