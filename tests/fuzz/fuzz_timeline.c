/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_timeline.c -- odd histories and odd servers, drawn for a terminal.
 *
 * First byte: the width, and whether the rest is the JSON of a server, or lines of events
 * ("KIND REF AT ATTRS").  A history becomes valid JSON with a whole axis; what is drawn fits its
 * width and has nothing that a terminal obeys.  The same bytes are read as keys.
 */
#include "base/utf8.h"
#include "cli/bars.h"
#include "cli/top/keys.h"
#include "fuzz.h"
#include "pawl/event.h"
#include "view/timeline.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 2000

/* The next word up to `end`; the rest stays in *from. */
static pawl_str word(pawl_str *from, char end)
{
    const char *at = from->len ? memchr(from->ptr, end, from->len) : NULL;
    size_t n = at ? (size_t)(at - from->ptr) : from->len;
    pawl_str out = {from->ptr, n};
    from->ptr += n + (at != NULL);
    from->len -= n + (at != NULL);
    return out;
}

static int64_t number(pawl_mem *mem, pawl_str text)
{
    return strtoll(pawl_mem_dup(mem, text).ptr, NULL, 10);
}

static void add_line(struct timeline *t, pawl_mem *mem, pawl_str line, uint64_t seq)
{
    pawl_str kind = word(&line, ' '), ref = word(&line, ' '), at = word(&line, ' ');
    const char *name = pawl_event_kind_name((int)number(mem, kind));
    pawl_history_event e = {.seq = seq,
                            .kind = name ? name : pawl_mem_dup(mem, kind).ptr,
                            .ref = (uint64_t)number(mem, ref),
                            .at_ms = number(mem, at),
                            .name = line,
                            .attrs = line,
                            .data = line};
    timeline_add(t, &e);
}

static pawl_str of_history(pawl_mem *mem, pawl_str lines, int64_t now)
{
    struct timeline t;
    timeline_begin(&t, mem);
    for (uint64_t seq = 1; lines.len && seq < EVENTS_MAX; seq++)
        add_line(&t, mem, word(&lines, '\n'), seq);
    timeline_finish(&t, now);
    must(t.part_count && t.parts[0].at < 1e-9 && t.parts[t.part_count - 1].until > 1 - 1e-9);
    for (size_t i = 1; i < t.part_count; i++)
        must(t.parts[i].from_ms == t.parts[i - 1].to_ms && t.parts[i].at >= t.parts[i - 1].at);
    pawl_json *w = pawl_json_new(mem);
    timeline_render(&t, w);
    pawl_str doc = pawl_json_done(w);
    must(pawl_json_valid(doc, NULL));
    timeline_end(&t);
    return doc;
}

/* The same bytes as keys: every byte is used up, and what is shown is safe. */
static void check_keys(pawl_str bytes)
{
    for (size_t at = 0; at < bytes.len;) {
        struct key_press press = key_read(bytes.ptr + at, bytes.len - at, true);
        must(press.used && press.used <= bytes.len - at);
        if (press.key == KEY_TEXT)
            must(!utf8_is_unsafe(utf8_decode(press.text, press.used)));
        at += press.used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    unsigned first = feed_byte(&f), width = BARS_WIDTH_MIN + first / 2;
    pawl_mem *mem = pawl_mem_new();
    static struct cli cli; /* too large for a stack frame */
    cli = (struct cli){.prog = "pawl", .args = {.color = COLOR_NEVER}, .mem = mem};
    struct paper p;
    pawl_str rest = feed_rest(&f), doc = first % 2 ? rest : of_history(mem, rest, 1000000);
    check_keys(rest);
    paper_open(&p, &cli, mem, width);
    bars_draw(&p, doc);
    for (unsigned i = 0; i < p.lines; i++)
        must(out_columns(paper_row(&p, i)) <= width);
    for (size_t i = 0; i < p.ink.len; i++)
        must((unsigned char)p.ink.ptr[i] >= ' ' || p.ink.ptr[i] == '\n');
    paper_close(&p);
    pawl_mem_free(mem);
    return 0;
}
