/* SPDX-License-Identifier: MIT */
/*
 * schedule/schedule_state.c -- the state of a schedule as JSON; see the header.
 *
 * The names are stored and public: append, never rename.  Members that are 0 or empty are left out.
 */
#include "schedule/schedule_state.h"

#include "base/json.h"
#include "pawl/json.h"

static void put_num(pawl_json *w, const char *key, int64_t n)
{
    if (!n)
        return;
    pawl_json_key(w, key);
    pawl_json_num(w, n);
}

static void put_text(pawl_json *w, const char *key, pawl_str text)
{
    if (!text.len)
        return;
    pawl_json_key(w, key);
    pawl_json_str(w, text);
}

static void put_true(pawl_json *w, const char *key, bool is)
{
    if (!is)
        return;
    pawl_json_key(w, key);
    pawl_json_truth(w, true);
}

static void put_raw(pawl_json *w, const char *key, pawl_str json)
{
    if (!json.len)
        return;
    pawl_json_key(w, key);
    json_put(w, json);
}

static void put_counts(pawl_json *w, const struct schedule_state *s)
{
    put_num(w, "runs", (int64_t)s->runs);
    put_num(w, "missed", (int64_t)s->missed);
    put_num(w, "skipped", (int64_t)s->skipped);
    put_num(w, "existed", (int64_t)s->existed);
    put_num(w, "triggered", (int64_t)s->triggered);
}

static void put_waiting(pawl_json *w, const struct schedule_state *s)
{
    if (!s->waiting.count)
        return;
    pawl_json_key(w, "waiting");
    pawl_json_array(w);
    for (size_t i = 0; i < s->waiting.count; i++)
        pawl_json_num(w, s->waiting.items[i]);
    pawl_json_end(w);
}

static void put_ended(pawl_json *w, const struct schedule_state *s)
{
    if (!s->ended.instance.len)
        return;
    pawl_json_key(w, "last_run");
    pawl_json_object(w);
    put_text(w, "instance", s->ended.instance);
    put_text(w, "state", s->ended.state);
    put_num(w, "ended_ms", s->ended.ended_ms);
    pawl_json_end(w);
}

static void put_backfill(pawl_json *w, const struct schedule_backfill *b)
{
    if (!b->on && !b->to_ms)
        return;
    pawl_json_key(w, "backfill");
    pawl_json_object(w);
    put_true(w, "on", b->on);
    put_num(w, "from_ms", b->from_ms);
    put_num(w, "to_ms", b->to_ms);
    put_num(w, "cursor_ms", b->cursor_ms);
    put_true(w, "allow", b->allow);
    put_raw(w, "spec", b->spec);
    put_num(w, "started", (int64_t)b->started);
    put_num(w, "existed", (int64_t)b->existed);
    put_text(w, "open", b->open);
    pawl_json_end(w);
}

static void put_state(pawl_json *w, const struct schedule_state *s)
{
    put_num(w, "revision", (int64_t)s->revision);
    put_num(w, "created_ms", s->created_ms);
    put_num(w, "last_ms", s->last_ms);
    put_num(w, "next_ms", s->next_ms);
    put_counts(w, s);
    put_text(w, "open", s->open);
    put_true(w, "stopping", s->stopping);
    put_waiting(w, s);
    put_true(w, "paused", s->paused);
    put_text(w, "reason", s->reason);
    put_text(w, "finding", s->finding);
    put_ended(w, s);
    put_backfill(w, &s->backfill);
    put_raw(w, "spec", s->spec);
}

pawl_str state_write(const struct schedule_state *s, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    put_num(w, "row", (int64_t)s->row);
    put_state(w, s);
    pawl_json_end(w);
    return pawl_json_done(w);
}

pawl_str state_show(const struct schedule_state *s, pawl_str name, uint64_t version,
                    int64_t updated_ms, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    put_text(w, "name", name);
    put_num(w, "version", (int64_t)version);
    put_num(w, "updated_ms", updated_ms);
    put_state(w, s);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static uint64_t get_count(pawl_str json, const char *pointer)
{
    int64_t n = pawl_json_int(json, pointer, 0);
    return n > 0 ? (uint64_t)n : 0;
}

static void get_backfill(struct schedule_backfill *b, pawl_str json, pawl_mem *mem)
{
    *b = (struct schedule_backfill){.on = pawl_json_bool(json, "/on", false),
                                    .from_ms = pawl_json_int(json, "/from_ms", 0),
                                    .to_ms = pawl_json_int(json, "/to_ms", 0),
                                    .cursor_ms = pawl_json_int(json, "/cursor_ms", 0),
                                    .allow = pawl_json_bool(json, "/allow", false),
                                    .spec = pawl_json_get(json, "/spec"),
                                    .started = get_count(json, "/started"),
                                    .existed = get_count(json, "/existed"),
                                    .open = pawl_json_text(mem, json, "/open", "")};
}

bool state_read(struct schedule_state *ret, pawl_str json, pawl_mem *mem)
{
    if (!pawl_json_valid(json, NULL) || json_type(pawl_json_get(json, "/spec")) != JSON_OBJECT)
        return false;
    *ret = (struct schedule_state){
        .spec = pawl_json_get(json, "/spec"),
        .revision = get_count(json, "/revision"),
        .created_ms = pawl_json_int(json, "/created_ms", 0),
        .last_ms = pawl_json_int(json, "/last_ms", 0),
        .next_ms = pawl_json_int(json, "/next_ms", 0),
        .row = get_count(json, "/row"),
        .runs = get_count(json, "/runs"),
        .missed = get_count(json, "/missed"),
        .skipped = get_count(json, "/skipped"),
        .existed = get_count(json, "/existed"),
        .triggered = get_count(json, "/triggered"),
        .open = pawl_json_text(mem, json, "/open", ""),
        .stopping = pawl_json_bool(json, "/stopping", false),
        .paused = pawl_json_bool(json, "/paused", false),
        .reason = pawl_json_text(mem, json, "/reason", ""),
        .finding = pawl_json_text(mem, json, "/finding", ""),
        .ended = {.instance = pawl_json_text(mem, json, "/last_run/instance", ""),
                  .state = pawl_json_text(mem, json, "/last_run/state", ""),
                  .ended_ms = pawl_json_int(json, "/last_run/ended_ms", 0)}
    };
    pawl_json_iter it = pawl_json_each(json, "/waiting");
    while (pawl_json_next(&it))
        *list_add(mem, &ret->waiting) = pawl_json_int(it.value, "", 0);
    pawl_str backfill = pawl_json_get(json, "/backfill");
    if (backfill.len)
        get_backfill(&ret->backfill, backfill, mem);
    return true;
}
