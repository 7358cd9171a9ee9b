/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_queue.c -- the two logs of what waits, and the quarantine.
 *
 *     {"put":{"id":7,"kind":"ExternalRaised","uid":1,"name":"paid",…},"crc":"…"}
 *     {"set":{"id":7,"mailbox":true},"crc":"…"}      {"ack":7,"crc":"…"}
 *     {"uid":1,"keys":["order-1-paid"],"crc":"…"}     remembered for raises
 *
 * Appended only.  When most of a log is dead, a new one is written beside it
 * and renamed over it.  A line that breaks at the end of the file is torn and cut;
 * one in the middle is damage and goes to the quarantine with its bytes.
 */
#include "base/attr.h"
#include "base/json.h"
#include "base/point.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/record.h"
#include "store/jsonl/text.h"

#include <string.h>

#define COMPACT_LINES 1024 /* a log shorter than this is left alone */

/* ---- Lines ---------------------------------------------------------------------- */

static void put_keys(struct buf *b, uint64_t uid, const pawl_str *keys, size_t count)
{
    buf_printf(b, "\"uid\":%llu,\"keys\":[", (unsigned long long)uid);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_putc(b, ',');
        text_put_item(b, keys[i]);
    }
    buf_putc(b, ']');
}

static void put_object(struct buf *b, const char *key, const struct record_form *form,
                       const void *item)
{
    buf_printf(b, "{\"%s\":{", key);
    (void)record_put(b, form, item, ",");
    buf_putc(b, '}');
}

void queue_put_message(struct buf *b, const pawl_message *m, uint64_t key_uid, const pawl_str *keys,
                       size_t key_count)
{
    size_t start = b->len;
    put_object(b, "put", &record_message, m);
    if (key_count) {
        buf_putc(b, ',');
        put_keys(b, key_uid, keys, key_count);
    }
    text_seal(b, start);
}

void queue_put_key(struct buf *b, uint64_t uid, pawl_str key)
{
    size_t start = b->len;
    buf_putc(b, '{');
    put_keys(b, uid, &key, 1);
    text_seal(b, start);
}

void queue_put_message_update(struct buf *b, const pawl_message_update *u)
{
    size_t start = b->len;
    put_object(b, "set", &record_message_update, u);
    text_seal(b, start);
}

void queue_put_work(struct buf *b, const pawl_work *w)
{
    size_t start = b->len;
    put_object(b, "put", &record_work, w);
    text_seal(b, start);
}

void queue_put_work_update(struct buf *b, const pawl_work_update *u)
{
    size_t start = b->len;
    put_object(b, "set", &record_work_update, u);
    text_seal(b, start);
}

void queue_put_ack(struct buf *b, uint64_t id)
{
    size_t start = b->len;
    buf_printf(b, "{\"ack\":%llu", (unsigned long long)id);
    text_seal(b, start);
}

void queue_put_aside(struct buf *b, const pawl_message *m, pawl_str reason)
{
    size_t start = b->len;
    put_object(b, "message", &record_message, m);
    buf_puts(b, ",\"reason\":");
    json_quote(b, reason);
    text_seal(b, start);
}

/* ---- Reading ---------------------------------------------------------------------- */

static bool queue_path(const struct jsonl *j, const struct jsonl_log *log,
                       char path[JSONL_PATH_MAX])
{
    return jsonl_path(j, path, "queue/%s.jsonl", log->name);
}

/* A round without an instance, or of one that is there. */
static void apply(struct jsonl *j, pawl_round *r)
{
    const struct memory_instance *i = r->uid ? memory_instance(jsonl_mirror(j), r->uid) : NULL;
    if (r->uid && !i)
        return; /* removed */
    if (i) {
        r->execution = i->row.execution;
        r->base_seq = i->row.last_seq;
        r->base_rid = i->row.last_rid;
    }
    load_round(j, r, INT64_MIN); /* refused: it is there already */
}

static void read_keys(struct jsonl *j, pawl_str line)
{
    struct json_iter it;
    pawl_str list = pawl_json_get(line, "/keys");
    uint64_t uid = (uint64_t)pawl_json_int(line, "/uid", 0);
    if (!list.len || !uid)
        return;
    for (json_begin(&it, list); json_next(&it);) {
        pawl_str key;
        if (text_get_item(it.value, j->mem, &key))
            apply(j, &(pawl_round){.uid = uid, .keys = &key, .key_count = 1});
    }
}

static bool read_message(struct jsonl *j, pawl_str line)
{
    pawl_message m = {0};
    pawl_message_update u = {0};
    int64_t id = pawl_json_int(line, "/ack", 0);
    pawl_str put = pawl_json_get(line, "/put"), set = pawl_json_get(line, "/set");
    if ((put.len && !record_get(&record_message, put, &m, j->mem)) ||
        (set.len && !record_get(&record_message_update, set, &u, j->mem)))
        return false;
    uint64_t ack = (uint64_t)id;
    if (m.id)
        apply(j, &(pawl_round){.messages = &m, .message_count = 1});
    if (u.id)
        apply(j, &(pawl_round){.message_updates = &u, .message_update_count = 1});
    if (ack)
        apply(j, &(pawl_round){.drop_messages = &ack, .drop_message_count = 1});
    read_keys(j, line);
    return true;
}

/* Calls with a tag had the plain name of their activity until 0.1.0. */
static void file_by_tag(struct jsonl *j, pawl_work *w)
{
    pawl_str tag = w->attrs.len ? pawl_json_text(j->mem, w->attrs, "/tag", "") : (pawl_str){0};
    if (tag.len && !memchr(w->name.ptr, '/', w->name.len))
        w->name = pawl_mem_printf(j->mem, "%.*s/%.*s", PAWL_FMT(w->name), PAWL_FMT(tag));
}

static bool read_work(struct jsonl *j, pawl_str line)
{
    pawl_work w = {0};
    pawl_work_update u = {0};
    uint64_t ack = (uint64_t)pawl_json_int(line, "/ack", 0);
    pawl_str put = pawl_json_get(line, "/put"), set = pawl_json_get(line, "/set");
    if ((put.len && !record_get(&record_work, put, &w, j->mem)) ||
        (set.len && !record_get(&record_work_update, set, &u, j->mem)))
        return false;
    if (w.id) {
        file_by_tag(j, &w);
        apply(j, &(pawl_round){.work = &w, .work_count = 1});
    }
    if (u.id)
        apply(j, &(pawl_round){.work_updates = &u, .work_update_count = 1});
    if (ack)
        apply(j, &(pawl_round){.drop_work = &ack, .drop_work_count = 1});
    return true;
}

/* Put a damaged line aside: what can be made out of it, or the line itself. */
static void set_aside(struct jsonl *j, struct jsonl_log *log, pawl_str line, struct buf *aside)
{
    pawl_message m = {0};
    pawl_str put = pawl_json_valid(line, NULL) ? pawl_json_get(line, "/put") : (pawl_str){0};
    bool read = log == &j->messages && put.len;
    if (read && !record_get(&record_message, put, &m, j->mem)) {
        m = (pawl_message){.id = (uint64_t)pawl_json_int(put, "/id", 0),
                           .uid = (uint64_t)pawl_json_int(put, "/uid", 0)};
        (void)text_get(pawl_json_get(put, "/data"), pawl_json_get(put, "/encoding").len, j->mem,
                       &m.data);
    }
    if (!m.id)
        m = (pawl_message){.id = j->fence.next_id++, .name = pawl_s(log->name), .data = line};
    log->undecodable = true;
    queue_put_aside(aside, &m, pawl_s("undecodable"));
}

static pawl_status read_log(struct jsonl *j, struct jsonl_log *log, struct buf *aside,
                            pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    pawl_str text = {0};
    pawl_status rc = queue_path(j, log, path) ? jsonl_read(path, j->mem, &text, reterr)
                                              : jsonl_trouble(reterr, "name", log->name);
    if (rc != PAWL_OK)
        return rc;
    size_t whole = 0;
    const char *end;
    for (size_t at = 0; at < text.len && (end = memchr(text.ptr + at, '\n', text.len - at));
         at = (size_t)(end - text.ptr) + 1)
        if (text_sealed((pawl_str){text.ptr + at, (size_t)(end - text.ptr) - at}))
            whole = (size_t)(end - text.ptr) + 1;
    log->lines = 0;
    for (size_t at = 0; at < whole; at = (size_t)(end - text.ptr) + 1, log->lines++) {
        end = memchr(text.ptr + at, '\n', text.len - at);
        pawl_str line = {text.ptr + at, (size_t)(end - text.ptr) - at};
        bool ok = text_sealed(line) && pawl_json_valid(line, NULL) &&
                  (log == &j->messages ? read_message(j, line) : read_work(j, line));
        if (!ok)
            set_aside(j, log, line, aside);
    }
    return whole < text.len ? jsonl_cut(j, path, text, whole, reterr) : PAWL_OK;
}

static void read_quarantine(struct jsonl *j, pawl_str text)
{
    const char *end;
    for (size_t at = 0; at < text.len && (end = memchr(text.ptr + at, '\n', text.len - at));
         at = (size_t)(end - text.ptr) + 1) {
        pawl_str line = {text.ptr + at, (size_t)(end - text.ptr) - at};
        pawl_message m = {0};
        if (!text_sealed(line) ||
            !record_get(&record_message, pawl_json_get(line, "/message"), &m, j->mem) || !m.id)
            continue;
        pawl_quarantine q = {m.id, pawl_json_text(j->mem, line, "/reason", "")};
        apply(j, &(pawl_round){.drop_messages = &m.id, .drop_message_count = 1});
        apply(j, &(pawl_round){
                     .messages = &m, .message_count = 1, .quarantine = &q, .quarantine_count = 1});
    }
}

pawl_status queue_load(struct jsonl *j, pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    struct buf aside;
    pawl_str text;
    buf_init(&aside, JSONL_BYTES_MAX);
    pawl_status rc = read_log(j, &j->messages, &aside, reterr);
    if (rc == PAWL_OK)
        rc = read_log(j, &j->work, &aside, reterr);
    if (rc == PAWL_OK && !jsonl_path(j, path, "quarantine.jsonl"))
        rc = jsonl_trouble(reterr, "name", j->root);
    if (rc == PAWL_OK && aside.len && !j->read_only)
        rc = jsonl_append(j, path, buf_slice(&aside), reterr);
    if (rc == PAWL_OK)
        rc = jsonl_read(path, j->mem, &text, reterr);
    if (rc == PAWL_OK)
        read_quarantine(j, text);
    if (rc == PAWL_OK && aside.len && j->read_only)
        read_quarantine(j, buf_slice(&aside));
    buf_deinit(&aside);
    if (rc == PAWL_OK && !j->read_only)
        rc = queue_compact(j, reterr);
    return rc;
}

/* ---- Writing ------------------------------------------------------------------------ */

static size_t count_lines(pawl_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

pawl_status queue_append(struct jsonl *j, struct jsonl_log *log, struct buf *text,
                         pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    if (!text->len)
        return PAWL_OK;
    if (!queue_path(j, log, path))
        return jsonl_trouble(reterr, "name", log->name);
    pawl_status rc = jsonl_append(j, path, buf_slice(text), reterr);
    if (rc == PAWL_OK)
        log->lines += count_lines(buf_slice(text));
    return rc;
}

static void put_living_messages(const struct memory *m, struct buf *b)
{
    for (struct order_node *n = order_first(&m->by_uid); n; n = order_next(n)) {
        const struct memory_instance *i = CONTAINER_OF(n, struct memory_instance, by_uid);
        const pawl_str *key;
        for (size_t cursor = 0; (key = map_next(&i->keys, &cursor));)
            queue_put_key(b, i->row.uid, *key);
    }
    for (struct order_node *n = order_first(&m->messages_by_id); n; n = order_next(n))
        queue_put_message(b, &CONTAINER_OF(n, struct memory_message, by_id)->message, 0, NULL, 0);
}

static void put_living_work(const struct memory *m, struct buf *b)
{
    for (struct order_node *n = order_first(&m->work_by_id); n; n = order_next(n))
        queue_put_work(b, &CONTAINER_OF(n, struct memory_work, by_id)->work);
}

static pawl_status compact(struct jsonl *j, struct jsonl_log *log, size_t living,
                           pawl_error *reterr)
{
    char path[JSONL_PATH_MAX];
    struct buf text;
    if (!log->undecodable && (log->lines < COMPACT_LINES || log->lines < living * 4))
        return PAWL_OK;
    buf_init(&text, JSONL_BYTES_MAX);
    if (log == &j->messages)
        put_living_messages(jsonl_mirror(j), &text);
    else
        put_living_work(jsonl_mirror(j), &text);
    pawl_status rc = PAWL_NO_MEMORY;
    if (!text.failed && queue_path(j, log, path))
        rc = jsonl_replace(j, path, buf_slice(&text), reterr);
    if (rc == PAWL_OK) {
        log->lines = count_lines(buf_slice(&text));
        log->undecodable = false;
        rc = jsonl_point(j, "jsonl.compacted", reterr);
    }
    buf_deinit(&text);
    return rc;
}

pawl_status queue_compact(struct jsonl *j, pawl_error *reterr)
{
    const struct memory *m = jsonl_mirror(j);
    pawl_status rc = compact(j, &j->messages, m->messages_by_id.count + m->by_uid.count, reterr);
    if (rc == PAWL_OK)
        rc = compact(j, &j->work, m->work_by_id.count, reterr);
    return rc;
}
