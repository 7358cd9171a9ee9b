/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_history.c -- lines of a history file, records, payload texts.
 *
 * First byte: as it is, or sealed (with the right CRC on every line, so that the
 * records behind it are reached).  What was read is written again and read again:
 * the same rows, byte for byte.
 */
#include "base/json.h"
#include "fuzz.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/record.h"
#include "store/jsonl/text.h"

#include <string.h>

static bool same_event(const pawl_event *a, const pawl_event *b)
{
    return a->rid == b->rid && a->execution == b->execution && a->seq == b->seq &&
           a->ref == b->ref && a->kind == b->kind && a->at_ms == b->at_ms &&
           pawl_str_eq(a->name, b->name) && pawl_str_eq(a->data, b->data) &&
           pawl_str_eq(a->attrs, b->attrs);
}

/* Each line sealed anew; a line that is no open object is taken as it is. */
static void seal(struct feed *f, struct buf *out)
{
    while (f->at < f->end) {
        pawl_str line = feed_line(f);
        size_t start = out->len;
        buf_put(out, line.ptr, line.len);
        if (line.len && line.ptr[line.len - 1] == '}') {
            out->len--;
            text_seal(out, start);
        } else {
            buf_put(out, "\n", 1);
        }
    }
}

static void check_history(pawl_str text, pawl_mem *mem)
{
    struct history h = {.execution = 1};
    struct buf again;
    history_parse(&h, text, mem);
    must(h.whole <= text.len);
    buf_init(&again, SIZE_MAX / 2);
    if (h.events.count && h.head.uid && h.damaged.count == 0) {
        struct history h2 = {.execution = 1};
        history_put_header(&again, &h.head, h.closed.uid ? &h.closed : NULL);
        history_put_turn(&again, h.events.items, h.events.count, h.updated_ms, h.keys.items,
                         h.keys.count);
        history_parse(&h2, buf_slice(&again), mem);
        must(h2.whole == again.len && h2.events.count == h.events.count);
        for (size_t i = 0; i < h.events.count; i++)
            must(same_event(&h.events.items[i], &h2.events.items[i]));
        must(h2.keys.count == h.keys.count && h2.head.uid == h.head.uid);
        history_deinit(&h2);
    }
    buf_deinit(&again);
    history_deinit(&h);
}

static void check_records(pawl_str text, pawl_mem *mem)
{
    pawl_work work = {0}, work2 = {0};
    struct buf b;
    if (!pawl_json_valid(text, NULL) || json_type(pawl_json_get(text, "")) != JSON_OBJECT)
        return;
    buf_init(&b, SIZE_MAX / 2);
    if (record_get(&record_work, text, &work, mem)) {
        buf_put(&b, "{", 1);
        (void)record_put(&b, &record_work, &work, ",");
        buf_put(&b, "}", 1);
        must(pawl_json_valid(buf_slice(&b), NULL));
        must(record_get(&record_work, buf_slice(&b), &work2, mem));
        must(work.id == work2.id && work.attempt == work2.attempt &&
             work.visible_ms == work2.visible_ms && pawl_str_eq(work.name, work2.name) &&
             pawl_str_eq(work.input, work2.input) && pawl_str_eq(work.attrs, work2.attrs));
    }
    buf_deinit(&b);
}

/* Any bytes as a payload come back. */
static void check_payload(pawl_str bytes, pawl_mem *mem)
{
    struct buf b;
    for (int payload = 0; payload < 2; payload++) {
        pawl_str back = {0};
        buf_init(&b, SIZE_MAX / 2);
        buf_put(&b, "{", 1);
        text_put(&b, "data", bytes, payload);
        buf_put(&b, "}", 1);
        must(pawl_json_valid(buf_slice(&b), NULL));
        must(!memchr(b.ptr, '\n', b.len));
        bool base64 = pawl_str_is(pawl_json_text(mem, buf_slice(&b), "/encoding", ""), "base64");
        must(text_get(pawl_json_get(buf_slice(&b), "/data"), base64, mem, &back));
        must(pawl_str_eq(back, bytes));
        buf_deinit(&b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    pawl_mem *mem = pawl_mem_new();
    struct buf sealed;
    uint8_t how = feed_byte(&f);
    struct feed copy = f;
    pawl_str text = feed_rest(&f);
    check_payload(text, mem);
    check_records(text, mem);
    buf_init(&sealed, SIZE_MAX / 2);
    if (how & 1) {
        seal(&copy, &sealed);
        text = pawl_mem_dup(mem, buf_slice(&sealed));
    }
    check_history(text, mem);
    buf_deinit(&sealed);
    pawl_mem_free(mem);
    return 0;
}
