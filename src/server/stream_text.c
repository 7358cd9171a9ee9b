/* SPDX-License-Identifier: MIT */
/*
 * server/stream_text.c -- what one reader of the stream gets: greeting, batches, reset, ping.
 *
 * A batch is one text for all readers; it is taken apart only for a reader whose token hides queues
 * or who watches one name.
 */
#include "server/stream.h"

#include "base/json.h"

#include <string.h>

#define BATCH_BYTES (1 << 20)

static bool shows_queue(const struct stream *r, pawl_str name)
{
    if (r->kind == STREAM_WATCHED && !(r->queue && pawl_str_eq(name, r->queue->name)))
        return false;
    return guard_sees(r->c, name);
}

static bool shows_instance(const struct stream *r, pawl_str id)
{
    if (r->c->caller.queues_only)
        return false;
    if (r->kind != STREAM_WATCHED)
        return true;
    pawl_str mine = r->instance ? r->instance->name : (pawl_str){0};
    return mine.len && id.len >= mine.len && !memcmp(id.ptr, mine.ptr, mine.len) &&
           (id.len == mine.len || id.ptr[mine.len] == ':');
}

/* The items of a list that the reader is shown; returns how many. */
static size_t put_shown(const struct stream *r, struct buf *out, pawl_str list, const char *at,
                        bool (*shows)(const struct stream *r, pawl_str name))
{
    struct json_iter it;
    size_t n = 0;
    pawl_mem *mem = pawl_mem_new();
    buf_puts(out, "[");
    for (json_begin(&it, list); json_next(&it);) {
        if (!shows(r, pawl_json_text(mem, it.value, at, "")))
            continue;
        buf_puts(out, n++ ? "," : "");
        buf_put(out, it.value.ptr, it.value.len);
    }
    buf_puts(out, "]");
    pawl_mem_free(mem);
    return n;
}

/* A batch without what the reader's token does not allow, or what it does not watch.  False: nothing
 * is left for a watcher. */
static bool put_batch(const struct stream *r, struct buf *out, const char *text)
{
    const char *data = strstr(text, "data: ") + 6;
    pawl_str object = {data, strlen(data) - 2}, queues = call_member(object, "queues");
    pawl_str instances = call_member(object, "instances");
    if (r->kind != STREAM_WATCHED && !r->c->caller.queues.len) {
        buf_puts(out, text);
        return true;
    }
    buf_put(out, text, (size_t)(instances.ptr - text));
    size_t n = put_shown(r, out, instances, "/instance", shows_instance);
    buf_put(out, instances.ptr + instances.len,
            (size_t)(queues.ptr - (instances.ptr + instances.len)));
    n += put_shown(r, out, queues, "", shows_queue);
    buf_puts(out, queues.ptr + queues.len);
    if (n || r->kind != STREAM_WATCHED || call_member(object, "more").len)
        return true;
    buf_reset(out);
    return false;
}

static void put_mark(const struct stream *r, struct buf *out, uint64_t number, const char *rest)
{
    const struct streams *t = r->c->srv->streams;
    buf_printf(out, "id: %llx-%s%llu\n%s\n", (unsigned long long)t->srv->started_ms,
               stream_bounds[r->kind].mark, (unsigned long long)number, rest);
}

/* The next batch that has something for it; false: there is none, or it must read its lists. */
static bool next_batch(struct stream *r, struct buf *out)
{
    const struct notes *n = &r->c->srv->streams->notes[r->kind];
    while (!r->reset && r->want <= n->last) {
        const char *text = r->want + NOTES_RING > n->last ? n->ring[r->want % NOTES_RING] : NULL;
        r->want++;
        r->reset = !text;
        if (!text || !put_batch(r, out, text))
            continue;
        if (!out->failed && out->len <= BATCH_BYTES)
            return true;
        buf_reset(out); /* too large for one event */
        out->failed = false;
        r->reset = true;
    }
    return false;
}

/* Put the next thing to say into `out`; false: there is nothing. */
static bool next_text(struct stream *r, struct buf *out)
{
    const struct notes *n = &r->c->srv->streams->notes[r->kind];
    if (!r->greeted) {
        r->greeted = true;
        buf_puts(out, "retry: 1000\n");
        put_mark(r, out, r->want - 1, "");
        return true;
    }
    if (next_batch(r, out))
        return true;
    if (r->reset) {
        r->reset = false;
        r->want = n->last + 1;
        put_mark(r, out, n->last, "event: reset\ndata: {}\n");
        return true;
    }
    if (r->ping) {
        r->ping = false;
        buf_puts(out, ": still here\n\n");
        return true;
    }
    return false;
}

enum httpd_pull streams_pull(struct call *c, struct buf *out)
{
    struct stream *r = c->stream;
    if (r->ended)
        return HTTPD_OVER;
    return next_text(r, out) ? HTTPD_MORE : HTTPD_SLEEP;
}
