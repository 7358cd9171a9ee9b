/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/jsonl_history.c -- the file of one execution, written and read.
 *
 *     {"instance":"order-1","uid":1,"orchestration":"Order",…,"crc":"…"}   header
 *     {"seq":1,"kind":"OrchestrationStarted","name":"Order","data":…,…}
 *     {"seq":2,"kind":"ActivityScheduled","ref":1,"name":"Charge",…}
 *     {"turn":[1,2],"updated":"2026-…","crc":"…"}     closes events 1 to 2
 *
 * A turn is one append.  Its last line holds the CRC of all its lines, so half a
 * turn is never taken for one: at the end of a file it is torn and cut, in the
 * middle (a whole turn behind it) it is damage, and reading says which row.
 */
#include "base/attr.h"
#include "base/json.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/record.h"
#include "store/jsonl/text.h"

#include <string.h>

void history_put_header(struct buf *b, const pawl_row *row, const pawl_row *closed)
{
    size_t start = b->len;
    buf_putc(b, '{');
    (void)record_put(b, &record_row, row, ",");
    if (closed) {
        buf_puts(b, ",\"closed\":{");
        (void)record_put(b, &record_row, closed, ",");
        buf_putc(b, '}');
    }
    text_seal(b, start);
}

void history_put_turn(struct buf *b, const pawl_event *events, size_t count, int64_t updated_ms,
                      const pawl_str *keys, size_t key_count)
{
    size_t start = b->len;
    assert_that(count > 0);
    for (size_t i = 0; i < count; i++) {
        buf_putc(b, '{');
        (void)record_put(b, &record_event, &events[i], ",");
        buf_puts(b, "}\n");
    }
    buf_printf(b, "{\"turn\":[%llu,%llu],\"updated\":", (unsigned long long)events[0].seq,
               (unsigned long long)events[count - 1].seq);
    text_put_time(b, updated_ms);
    for (size_t i = 0; i < key_count; i++) {
        buf_puts(b, i ? "," : ",\"keys\":[");
        text_put_item(b, keys[i]);
    }
    if (key_count)
        buf_putc(b, ']');
    text_seal(b, start);
}

/* ---- Reading --------------------------------------------------------------------- */

static bool begins(pawl_str line, const char *text)
{
    size_t n = strlen(text);
    return line.len >= n && memcmp(line.ptr, text, n) == 0;
}

/* The line at `at` without its newline; false: no whole line is left. */
static bool next_line(pawl_str text, size_t at, pawl_str *ret)
{
    const char *end = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    if (!end)
        return false;
    *ret = (pawl_str){text.ptr + at, (size_t)(end - (text.ptr + at))};
    return true;
}

static void read_header(struct history *h, pawl_str line, pawl_mem *mem)
{
    h->head = h->closed = (pawl_row){0};
    if (!pawl_json_valid(line, NULL) || !record_get(&record_row, line, &h->head, mem))
        h->head = (pawl_row){0};
    pawl_str closed = pawl_json_get(line, "/closed");
    if (closed.len && !record_get(&record_row, closed, &h->closed, mem))
        h->closed = (pawl_row){0};
}

static void damaged(struct history *h, uint64_t rid)
{
    uint64_t *slot = vec_push(&h->damaged);
    need_memory(slot);
    *slot = rid;
}

/* One event of a turn; what cannot be read holds its place and is damaged.  Of a turn that
 * is not as it was written (`sealed`) no id is believed: it might be another's. */
static void read_event(struct history *h, pawl_str line, bool sealed, pawl_mem *mem)
{
    pawl_event e = {0};
    uint64_t seq = h->events.count + 1;
    bool ok = pawl_json_valid(line, NULL) && record_get(&record_event, line, &e, mem) && e.rid;
    if (!ok)
        e = (pawl_event){0};
    if (!ok || !sealed)
        e.rid = (UINT64_MAX >> 1) - ++h->blanks;
    if (!ok || !sealed || e.seq != seq)
        damaged(h, e.rid);
    e.seq = seq;
    e.execution = h->execution;
    pawl_event *slot = vec_push(&h->events);
    need_memory(slot);
    *slot = e;
}

static void read_turn_line(struct history *h, pawl_str line, pawl_mem *mem)
{
    (void)text_get_time(pawl_json_get(line, "/updated"), &h->updated_ms);
    struct json_iter it;
    pawl_str keys = pawl_json_get(line, "/keys");
    if (!keys.len)
        return;
    for (json_begin(&it, keys); json_next(&it);) {
        pawl_str *slot = vec_push(&h->keys);
        need_memory(slot);
        (void)text_get_item(it.value, mem, slot);
    }
}

/* All lines of a turn.  `valid`: its CRC is right. */
static void read_turn(struct history *h, pawl_str turn, bool valid, pawl_mem *mem)
{
    pawl_str line;
    for (size_t at = 0; at <= turn.len; at += line.len + 1) {
        if (!next_line(turn, at, &line)) /* the last has no newline here */
            line = (pawl_str){turn.ptr + at, turn.len - at};
        if (begins(line, "{\"turn\":"))
            read_turn_line(h, line, mem);
        else if (line.len)
            read_event(h, line, valid, mem);
    }
}

/* The end of the last turn with a right CRC, or of the header. */
static size_t find_whole(pawl_str text, size_t begin)
{
    size_t whole = begin, start = begin;
    pawl_str line;
    for (size_t at = begin; next_line(text, at, &line); at += line.len + 1) {
        if (!begins(line, "{\"turn\":"))
            continue;
        if (text_sealed((pawl_str){text.ptr + start, at + line.len - start}))
            whole = at + line.len + 1;
        start = at + line.len + 1;
    }
    return whole;
}

void history_parse(struct history *h, pawl_str text, pawl_mem *mem)
{
    pawl_str line;
    size_t at = 0;
    while (next_line(text, at, &line) && begins(line, "{\"instance\":") && text_sealed(line)) {
        read_header(h, line, mem);
        at += line.len + 1;
    }
    h->whole = find_whole(text, at);
    size_t start = at;
    for (; at < h->whole && next_line(text, at, &line); at += line.len + 1) {
        if (!begins(line, "{\"turn\":"))
            continue;
        pawl_str turn = {text.ptr + start, at + line.len - start};
        read_turn(h, turn, text_sealed(turn), mem);
        start = at + line.len + 1;
    }
}

void history_deinit(struct history *h)
{
    vec_deinit(&h->events);
    vec_deinit(&h->keys);
    vec_deinit(&h->damaged);
}
