/* SPDX-License-Identifier: MIT */
/*
 * server/stream.c -- GET /api/v1/stream: what changed, as server-sent events.
 *
 * The feed only notes the newest state of each instance; the loop makes a batch
 * of the notes, at most ten a second, and puts it into a bounded ring.  A reader
 * that comes back with Last-Event-ID goes on from the ring; when that is too old
 * (or from another life of the server) it gets `event: reset` and should read
 * its lists again.  A slow reader skips the same way: it costs no buffer.
 *
 * Nothing is noted after a minute without a reader.
 */
#include "server/handlers.h"

#include "base/clock.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MS    100
#define PING_MS     15000
#define MEMORY_MS   60000 /* notes are taken for this long after the last reader left */
#define NOTES_MAX   1000  /* in one batch; more: "more":true */
#define RING        64
#define STREAMS_MAX 256
#define BATCH_BYTES (1 << 20)

struct note {
    struct note *next;
    pawl_state state;
    uint64_t execution, seq;
    bool is_queue;
    bool created, removed; /* since the batch before */
    char *orchestration;   /* owned; NULL: its state did not change */
    pawl_str name;         /* behind the struct */
};

/* One reader. [loop] */
struct stream {
    struct stream *next;
    struct call *c;
    uint64_t want; /* number of the next batch */
    bool reset, ended, ping, greeted;
};

struct streams {
    pawl_server *srv;
    pthread_mutex_t lock; /* guards the four below */
    struct map noted[2];  /* by name: instances, queues */
    struct note *notes, **notes_end;
    bool more;
    atomic_bool noting;
    /* [loop] */
    struct stream *readers;
    size_t count;
    char *ring[RING]; /* batch n at n % RING; owned */
    uint64_t last;    /* number of the newest batch */
    int64_t batch_at_ms, ping_at_ms, until_ms;
};

struct streams *streams_create(pawl_server *s)
{
    struct streams *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->srv = s;
    t->notes_end = &t->notes;
    t->until_ms = INT64_MAX;
    pthread_mutex_init(&t->lock, NULL);
    map_init(&t->noted[0]);
    map_init(&t->noted[1]);
    return t;
}

static void drop_notes(struct streams *t)
{
    while (t->notes) {
        struct note *n = t->notes;
        t->notes = n->next;
        free(n->orchestration);
        free(n);
    }
    t->notes_end = &t->notes;
    t->more = false;
    map_reset(&t->noted[0]);
    map_reset(&t->noted[1]);
}

void streams_destroy(struct streams *t)
{
    if (!t)
        return;
    drop_notes(t);
    map_deinit(&t->noted[0]);
    map_deinit(&t->noted[1]);
    for (size_t i = 0; i < RING; i++)
        free(t->ring[i]);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- Notes: any thread -------------------------------------------------------------- */

static struct note *note_of(struct streams *t, pawl_str name, bool is_queue)
{
    struct note *n = map_gets(&t->noted[is_queue], name);
    if (n)
        return n;
    if (t->noted[0].count + t->noted[1].count >= NOTES_MAX) {
        t->more = true;
        return NULL;
    }
    n = calloc(1, sizeof(*n) + name.len + 1);
    if (!n)
        return NULL;
    memcpy((char *)(n + 1), name.ptr, name.len);
    n->name = (pawl_str){(char *)(n + 1), name.len};
    n->is_queue = is_queue;
    if (!map_puts(&t->noted[is_queue], n->name, n)) {
        free(n);
        return NULL;
    }
    *t->notes_end = n;
    t->notes_end = &n->next;
    return n;
}

static void note_change(struct note *n, const pawl_change *c)
{
    n->state = c->state;
    n->execution = c->execution;
    n->seq = c->last_seq;
    n->created = n->created || c->was < 0;
    n->removed = c->removed;
    if (c->orchestration.len && !n->orchestration)
        n->orchestration = strndup(c->orchestration.ptr, c->orchestration.len);
}

void streams_note(struct streams *t, const pawl_change *changes, size_t count)
{
    if (!atomic_load_explicit(&t->noting, memory_order_relaxed))
        return;
    pthread_mutex_lock(&t->lock);
    bool first = !t->notes;
    for (size_t i = 0; i < count; i++) {
        if (changes[i].queue.len) {
            (void)note_of(t, changes[i].queue, true);
            continue;
        }
        struct note *n = note_of(t, changes[i].instance, false);
        if (n)
            note_change(n, &changes[i]);
    }
    pthread_mutex_unlock(&t->lock);
    if (first)
        loop_wake(t->srv);
}

/* ---- Batches: the loop ---------------------------------------------------------------- */

static void write_instance(pawl_json *w, const struct note *n)
{
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_str(w, n->name);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, pawl_state_name(n->state));
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)n->execution);
    pawl_json_key(w, "seq");
    pawl_json_num(w, (int64_t)n->seq);
    if (n->orchestration) {
        pawl_json_key(w, "orchestration");
        pawl_json_cstr(w, n->orchestration);
    }
    if (n->created) {
        pawl_json_key(w, "created");
        pawl_json_truth(w, true);
    }
    if (n->removed) {
        pawl_json_key(w, "removed");
        pawl_json_truth(w, true);
    }
    pawl_json_end(w);
}

static void write_batch(struct streams *t, pawl_json *w)
{
    pawl_json_object(w);
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    for (struct note *n = t->notes; n; n = n->next)
        if (!n->is_queue)
            write_instance(w, n);
    pawl_json_end(w);
    pawl_json_key(w, "queues");
    pawl_json_array(w);
    for (struct note *n = t->notes; n; n = n->next)
        if (n->is_queue)
            pawl_json_str(w, n->name);
    pawl_json_end(w);
    if (t->more) {
        pawl_json_key(w, "more");
        pawl_json_truth(w, true);
    }
    pawl_json_end(w);
}

static void make_batch(struct streams *t)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json *w = pawl_json_new(mem);
    pthread_mutex_lock(&t->lock);
    write_batch(t, w);
    drop_notes(t);
    pthread_mutex_unlock(&t->lock);
    t->last++;
    pawl_str text = pawl_mem_printf(mem, "id: %llx-%llu\nevent: changes\ndata: %s\n\n",
                                    (unsigned long long)t->srv->started_ms,
                                    (unsigned long long)t->last, pawl_json_done(w).ptr);
    free(t->ring[t->last % RING]);
    t->ring[t->last % RING] = strdup(text.ptr);
    pawl_mem_free(mem);
}

/* Any of them may be gone afterwards. */
static void rouse_all(struct streams *t)
{
    for (struct stream *r = t->readers, *next; r; r = next) {
        next = r->next;
        httpd_rouse(r->c->conn);
    }
}

static bool has_notes(struct streams *t)
{
    pthread_mutex_lock(&t->lock);
    bool has = t->notes != NULL;
    pthread_mutex_unlock(&t->lock);
    return has;
}

int64_t streams_tick(struct streams *t, int64_t now_ms)
{
    if (!atomic_load(&t->noting))
        return INT64_MAX;
    bool notes = has_notes(t);
    if (notes && now_ms >= t->batch_at_ms) {
        make_batch(t);
        t->batch_at_ms = now_ms + BATCH_MS;
        notes = false;
        rouse_all(t);
    }
    if (t->count && now_ms >= t->ping_at_ms) {
        t->ping_at_ms = now_ms + PING_MS;
        for (struct stream *r = t->readers; r; r = r->next)
            r->ping = true;
        rouse_all(t);
    }
    if (!t->count && now_ms >= t->until_ms) {
        atomic_store(&t->noting, false);
        pthread_mutex_lock(&t->lock);
        drop_notes(t);
        pthread_mutex_unlock(&t->lock);
        t->last += RING; /* a reader that comes back later missed something */
        return INT64_MAX;
    }
    int64_t at = t->count ? t->ping_at_ms : t->until_ms;
    return notes && t->batch_at_ms < at ? t->batch_at_ms : at;
}

void streams_end(struct streams *t)
{
    for (struct stream *r = t->readers; r; r = r->next)
        r->ended = true;
    rouse_all(t);
}

void streams_end_one(struct call *c)
{
    c->stream->ended = true;
    httpd_rouse(c->conn);
}

/* ---- Readers ------------------------------------------------------------------------------ */

/* The names in the list that the reader's token allows. */
static void put_seen(struct stream *r, struct buf *out, pawl_str queues)
{
    struct json_iter it;
    bool first = true;
    pawl_mem *mem = pawl_mem_new();
    for (json_begin(&it, queues); json_next(&it);) {
        if (!guard_sees(r->c, pawl_json_text(mem, it.value, "", "")))
            continue;
        buf_puts(out, first ? "" : ",");
        buf_put(out, it.value.ptr, it.value.len);
        first = false;
    }
    pawl_mem_free(mem);
}

/* A batch without the queues that the reader's token does not allow, and without instances for one
 * that is for queues only. */
static void put_batch(struct stream *r, struct buf *out, const char *text)
{
    const char *data = strstr(text, "data: ") + 6;
    pawl_str object = {data, strlen(data) - 2}, queues = call_member(object, "queues");
    pawl_str instances = call_member(object, "instances");
    if (!r->c->queues.len) {
        buf_puts(out, text);
        return;
    }
    pawl_str shown = r->c->queues_only ? pawl_s("[]") : instances;
    buf_put(out, text, (size_t)(instances.ptr - text));
    buf_put(out, shown.ptr, shown.len);
    buf_put(out, instances.ptr + instances.len,
            (size_t)(queues.ptr - (instances.ptr + instances.len)));
    buf_puts(out, "[");
    put_seen(r, out, queues);
    buf_puts(out, "]");
    buf_puts(out, queues.ptr + queues.len);
}

/* Put the next thing to say into `out`; false: there is nothing. */
static bool next_text(struct stream *r, struct buf *out)
{
    struct streams *t = r->c->srv->streams;
    unsigned long long life = (unsigned long long)t->srv->started_ms;
    if (!r->greeted) {
        r->greeted = true;
        buf_printf(out, "retry: 1000\nid: %llx-%llu\n\n", life, (unsigned long long)(r->want - 1));
        return true;
    }
    if (r->want <= t->last && (r->want + RING <= t->last || !t->ring[r->want % RING]))
        r->reset = true;
    if (!r->reset && r->want <= t->last) {
        put_batch(r, out, t->ring[r->want++ % RING]);
        if (!out->failed && out->len <= BATCH_BYTES)
            return true;
        buf_reset(out); /* too large for one event: the reader must read the lists */
        out->failed = false;
        r->reset = true;
    }
    if (r->reset) {
        r->reset = false;
        r->want = t->last + 1;
        buf_printf(out, "id: %llx-%llu\nevent: reset\ndata: {}\n\n", life,
                   (unsigned long long)t->last);
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

/* From where: the number of "EPOCH-NUMBER", when it is of this life. */
static void set_start(struct stream *r)
{
    struct streams *t = r->c->srv->streams;
    const char *id = r->c->last_event_id;
    unsigned long long life = 0, number = 0;
    r->want = t->last + 1;
    if (!id)
        return;
    if (sscanf(id, "%llx-%llu", &life, &number) != 2 ||
        life != (unsigned long long)t->srv->started_ms || number > t->last)
        r->reset = true;
    else
        r->want = number + 1;
}

void handle_stream(struct call *c)
{
    struct streams *t = c->srv->streams;
    struct stream *r = t->count < STREAMS_MAX ? calloc(1, sizeof(*r)) : NULL;
    if (!r) {
        answer_error(c, 429, "too_many", "there are %zu readers already", t->count);
        return;
    }
    int64_t now = clock_mono_ms();
    r->c = c;
    set_start(r);
    r->next = t->readers;
    t->readers = r;
    if (t->count++ == 0)
        t->ping_at_ms = now + PING_MS;
    t->until_ms = INT64_MAX;
    atomic_store(&t->noting, true);
    c->stream = r;
}

void streams_leave(struct call *c)
{
    struct streams *t = c->srv->streams;
    for (struct stream **at = &t->readers; *at; at = &(*at)->next) {
        if (*at != c->stream)
            continue;
        *at = c->stream->next;
        t->count--;
        break;
    }
    if (!t->count)
        t->until_ms = clock_mono_ms() + MEMORY_MS;
    free(c->stream);
    c->stream = NULL;
}
