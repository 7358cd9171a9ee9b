/* SPDX-License-Identifier: MIT */
/*
 * view/render.c -- instances and events as JSON, with the field names of the HTTP
 * API.  Called by the server and by every verb that knows -o json.
 */
#include "view/render.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/result.h"
#include "pawl/event.h"
#include "tables/awaitables.h"
#include "tables/instance_texts.h"
#include "view/timeline.h"

#include <string.h>

static pawl_str as_base64(pawl_mem *mem, pawl_str bytes)
{
    char *out = pawl_mem_alloc(mem, BASE64_CHARS(bytes.len) + 1);
    base64_write(out, bytes);
    return (pawl_str){out, BASE64_CHARS(bytes.len)};
}

void render_payload(pawl_json *w, pawl_mem *mem, const char *key, const char *encoding_key,
                    pawl_str payload)
{
    pawl_json_key(w, key);
    if (payload.len == 0) {
        pawl_json_null(w);
    } else if (pawl_json_valid(payload, NULL)) {
        json_put(w, payload);
    } else {
        bool text = utf8_valid(payload);
        pawl_json_str(w, text ? payload : as_base64(mem, payload));
        pawl_json_key(w, encoding_key);
        pawl_json_cstr(w, text ? "text" : "base64");
    }
}

void render_text(pawl_json *w, const char *key, pawl_str text)
{
    pawl_json_key(w, key);
    if (text.len)
        pawl_json_str(w, text);
    else
        pawl_json_null(w);
}

void render_number(pawl_json *w, const char *key, int64_t n)
{
    pawl_json_key(w, key);
    if (n)
        pawl_json_num(w, n);
    else
        pawl_json_null(w);
}

static void render_limit(pawl_json *w, const pawl_waiting *waiting)
{
    pawl_json_key(w, "limit");
    pawl_json_object(w);
    render_text(w, "name", waiting->limit);
    render_text(w, "key", waiting->limit_key);
    pawl_json_key(w, "in_use");
    pawl_json_num(w, (int64_t)waiting->limit_in_use);
    pawl_json_key(w, "concurrency");
    if (waiting->limit_of)
        pawl_json_num(w, waiting->limit_of);
    else
        pawl_json_null(w);
    pawl_json_key(w, "before");
    pawl_json_num(w, (int64_t)waiting->limit_before);
    render_number(w, "begins_at", waiting->limit_ms);
    pawl_json_end(w);
}

void render_waiting_members(pawl_json *w, pawl_mem *mem, const pawl_waiting *waiting)
{
    pawl_json_key(w, "id");
    pawl_json_num(w, (int64_t)waiting->id);
    pawl_json_key(w, "kind");
    pawl_json_cstr(w, waiting->kind);
    render_text(w, "name", waiting->name);
    if (waiting->instance.len)
        render_text(w, "instance", waiting->instance);
    render_number(w, "since", waiting->since_ms);
    if (waiting->due_ms)
        render_number(w, "due_at", waiting->due_ms);
    if (waiting->ask.len) {
        pawl_json_key(w, "ask");
        json_put(w, waiting->ask);
    }
    if (strcmp(waiting->kind, "activity") != 0)
        return;
    pawl_json_key(w, "attempt");
    pawl_json_num(w, waiting->attempt);
    pawl_json_key(w, "running");
    pawl_json_truth(w, waiting->running);
    if (waiting->worker.len)
        render_text(w, "worker", waiting->worker);
    if (waiting->leased_ms)
        render_number(w, "leased_until", waiting->leased_ms);
    if (waiting->unknown) {
        pawl_json_key(w, "unknown");
        pawl_json_truth(w, true);
    }
    if (waiting->meant.len)
        render_text(w, "did_you_mean", waiting->meant);
    render_text(w, "last_error", waiting->last_error);
    if (waiting->started_ms)
        render_number(w, "started_at", waiting->started_ms);
    if (waiting->tries.len) {
        pawl_json_key(w, "tries");
        json_put(w, waiting->tries);
    }
    if (waiting->crashes)
        render_number(w, "crashes", waiting->crashes);
    if (waiting->details.len)
        render_payload(w, mem, "details", "details_encoding", waiting->details);
    if (waiting->limit.len)
        render_limit(w, waiting);
}

/* Not there when it is empty. */
static void render_json(pawl_json *w, const char *key, pawl_str json)
{
    if (!json.len)
        return;
    pawl_json_key(w, key);
    pawl_json_raw(w, json);
}

void render_instance_members(pawl_json *w, pawl_mem *mem, const pawl_info *info)
{
    render_text(w, "instance", info->instance);
    render_text(w, "orchestration", info->orchestration);
    render_text(w, "version", info->version);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, pawl_state_name(info->state));
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)info->execution);
    render_number(w, "created_at", info->created_ms);
    render_number(w, "updated_at", info->updated_ms);
    render_payload(w, mem, "input", "input_encoding", info->input);
    render_payload(w, mem, "output", "encoding", info->output);
    render_text(w, "error", info->error);
#define PUT(field, as, presence, ...)                                                              \
    if ((presence) == JSON_IF_SET)                                                                 \
        render_json(w, #field, info->field);                                                       \
    else if ((presence) == TEXT_ALWAYS || info->field.len)                                         \
        render_text(w, #field, info->field);
    INSTANCE_TEXTS(PUT)
#undef PUT
    pawl_json_key(w, "waiting_for");
    pawl_json_array(w);
    for (size_t i = 0; i < info->waiting_count; i++) {
        pawl_json_object(w);
        render_waiting_members(w, mem, &info->waiting[i]);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    render_text(w, "parent", info->parent);
    if (info->cancel_ms)
        render_number(w, "cancel_requested_at", info->cancel_ms);
    if (info->start_ms)
        render_number(w, "start_at", info->start_ms);
    if (info->deadline_ms)
        render_number(w, "deadline_at", info->deadline_ms);
}

/* How the task ended that this event completes. */
static void render_result(pawl_json *w, const pawl_history_event *event)
{
    int kind = pawl_event_kind_of(pawl_s(event->kind));
    if (!awaitable_succeeds(kind) && !awaitable_fails(kind))
        return;
    const struct result_of result = result_of_event(kind, event->attrs);
    pawl_json_key(w, "result_kind");
    pawl_json_cstr(w, pawl_result_kind_name((int)result.kind));
    if (kind != PAWL_EV_ACTIVITY_COMPLETED && kind != PAWL_EV_ACTIVITY_FAILED)
        return;
    pawl_json_key(w, "attempts");
    pawl_json_num(w, result.attempts);
}

void render_event(pawl_json *w, pawl_mem *mem, const pawl_history_event *event)
{
    pawl_json_object(w);
    pawl_json_key(w, "seq");
    pawl_json_num(w, (int64_t)event->seq);
    pawl_json_key(w, "kind");
    pawl_json_cstr(w, event->kind);
    render_number(w, "ref", (int64_t)event->ref);
    render_text(w, "name", event->name);
    render_payload(w, mem, "data", "encoding", event->data);
    if (pawl_str_is(event->data, "null")) { /* a null is not the same as nothing */
        pawl_json_key(w, "encoding");
        pawl_json_cstr(w, "json");
    }
    pawl_json_key(w, "at");
    pawl_json_num(w, event->at_ms);
    render_result(w, event);
    if (event->attrs.len && pawl_json_valid(event->attrs, NULL)) {
        pawl_json_key(w, "attrs");
        json_put(w, event->attrs);
    }
    pawl_json_end(w);
}

pawl_str render_detail(const pawl_info *info)
{
    if (info->finding.len && info->state == PAWL_BLOCKED)
        return info->finding;
    if (info->error.len)
        return info->error;
    return info->output.len ? info->output : info->custom_status;
}

void render_export_begin(pawl_json *w, pawl_mem *mem, const pawl_info *info)
{
    pawl_json_object(w);
    pawl_json_key(w, "pawl_export");
    pawl_json_num(w, RENDER_EXPORT_FORMAT);
    render_instance_members(w, mem, info);
    pawl_json_key(w, "events");
    pawl_json_array(w);
}

void render_export_end(pawl_json *w, int64_t next, const struct timeline *timeline)
{
    pawl_json_end(w);
    if (next) {
        pawl_json_key(w, "next");
        pawl_json_num(w, next);
    }
    if (timeline) {
        pawl_json_key(w, "timeline");
        timeline_render(timeline, w);
    }
    pawl_json_end(w);
}
