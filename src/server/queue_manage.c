/* SPDX-License-Identifier: MIT */
/*
 * server/queue_manage.c -- looking at queues, and their configuration.
 *
 * Reads run on the reader thread and touch nothing.  Times are seconds with a
 * fraction, as everywhere in the queue API.
 */
#include "server/queues.h"

#include "base/clock.h"
#include "base/json.h"
#include "view/render.h"

#include <string.h>

static void number(pawl_json *w, const char *key, uint64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)n);
}

/* ---- Configuration ------------------------------------------------------------------ */

static void write_config(struct call *c, pawl_json *w, const char *queue,
                         const pawl_queue_config *k)
{
    pawl_json_object(w);
    number(w, "max_locks", k->max_locks);
    number(w, "default_ttl_seconds", (uint64_t)k->default_ttl_ms / 1000);
    number(w, "max_lock_seconds", (uint64_t)k->max_lock_ms / 1000);
    pawl_json_key(w, "on_expire");
    pawl_json_cstr(w, k->expire_to_back ? "back" : "front");
    number(w, "max_deliveries", k->max_deliveries);
    pawl_json_key(w, "dead_letter_queue");
    pawl_json_str(w, k->dead_letter_queue.len ? k->dead_letter_queue
                                              : pawl_mem_printf(c->mem, "%s-deadletter", queue));
    pawl_json_key(w, "retry_backoff_seconds");
    pawl_json_array(w);
    for (size_t i = 0; i < k->retry_backoff_count; i++)
        pawl_json_real(w, (double)k->retry_backoff[i] / 1000);
    pawl_json_end(w);
    number(w, "dedup_window_seconds", (uint64_t)k->dedup_window_ms / 1000);
    number(w, "message_ttl_seconds", (uint64_t)k->message_ttl_ms / 1000);
    pawl_json_key(w, "dead_letter_expired");
    pawl_json_truth(w, k->dead_letter_expired);
    number(w, "max_length", k->max_length);
    number(w, "max_bytes", k->max_bytes);
    pawl_json_key(w, "default_priority");
    pawl_json_num(w, k->default_priority);
    pawl_json_key(w, "groups");
    pawl_json_truth(w, false);
    pawl_json_key(w, "retain");
    pawl_json_truth(w, false);
    render_text(w, "orchestration", k->orchestration);
    render_text(w, "version", k->version);
    pawl_json_end(w);
}

void handle_get_config(struct call *c)
{
    pawl_queue_config config;
    pawl_error err;
    if (pawl_queue_get_config(c->srv->client, c->args[0], c->mem, &config, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    write_config(c, w, c->args[0], &config);
    answer_json(c, 200, w);
}

static bool check_keys(struct call *c)
{
    static const char *const known[] = {"max_locks",
                                        "default_ttl_seconds",
                                        "max_lock_seconds",
                                        "on_expire",
                                        "max_deliveries",
                                        "dead_letter_queue",
                                        "retry_backoff_seconds",
                                        "dedup_window_seconds",
                                        "message_ttl_seconds",
                                        "dead_letter_expired",
                                        "max_length",
                                        "max_bytes",
                                        "default_priority",
                                        "groups",
                                        "retain",
                                        "orchestration",
                                        "version"};
    struct json_iter it;
    if (json_type(c->json) != JSON_OBJECT) {
        answer_error(c, 400, "invalid", "the configuration must be an object");
        return false;
    }
    for (json_begin(&it, c->json); json_next(&it);) {
        bool found = false;
        for (size_t i = 0; i < COUNT_OF(known); i++)
            found = found || pawl_str_is(it.key, known[i]);
        if (!found) {
            answer_error(c, 400, "invalid", "there is no setting '%.*s'", PAWL_FMT(it.key));
            return false;
        }
    }
    return true;
}

static bool read_backoff(struct call *c, pawl_queue_config *k)
{
    pawl_str raw = call_member(c->json, "retry_backoff_seconds");
    struct json_iter it;
    int64_t *list = pawl_mem_alloc(c->mem, 16 * sizeof(*list));
    size_t n = 0;
    bool ok = !raw.ptr || json_type(raw) == JSON_ARRAY;
    if (ok && raw.ptr)
        for (json_begin(&it, raw); ok && json_next(&it); n++) {
            double seconds = pawl_json_number(it.value, "", -1);
            ok = n < 16 && seconds >= 0 && seconds <= 604800;
            if (ok)
                list[n] = (int64_t)(seconds * 1000 + 0.5);
        }
    if (!ok)
        answer_error(c, 400, "invalid", "retry_backoff_seconds must be at most 16 numbers");
    k->retry_backoff = list;
    k->retry_backoff_count = n;
    return ok;
}

static bool read_order(struct call *c, pawl_queue_config *k)
{
    const char *word;
    if (!call_text(c, c->json, "on_expire", &word))
        return false;
    k->expire_to_back = word && strcmp(word, "back") == 0;
    if (!word || k->expire_to_back || strcmp(word, "front") == 0)
        return true;
    answer_error(c, 400, "invalid", "on_expire must be \"front\" or \"back\"");
    return false;
}

static bool read_times(struct call *c, pawl_queue_config *k)
{
    const struct {
        const char *key;
        int64_t min, max;
        int64_t *ms;
    } times[] = {
        {"default_ttl_seconds",  1, 300,       &k->default_ttl_ms },
        {"max_lock_seconds",     1, 604800,    &k->max_lock_ms    },
        {"dedup_window_seconds", 0, 604800,    &k->dedup_window_ms},
        {"message_ttl_seconds",  0, 315360000, &k->message_ttl_ms }
    };
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        int64_t ms;
        if (!read_seconds(c, c->json, times[i].key, times[i].min, times[i].max, &ms))
            return false;
        if (ms >= 0)
            *times[i].ms = ms;
    }
    return true;
}

/* Settings that exist, and have one value so far. */
static bool read_planned(struct call *c)
{
    static const char *const keys[] = {"groups", "retain"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        bool on = false;
        if (!call_truth(c, c->json, keys[i], &on))
            return false;
        if (on) {
            answer_error(c, 400, "unsupported", "%s can only be false in this version", keys[i]);
            return false;
        }
    }
    return true;
}

static bool read_config(struct call *c, pawl_queue_config *k)
{
    int64_t locks, deliveries, length, bytes;
    const char *dead, *orchestration, *version;
    if (!check_keys(c) || !read_order(c, k) || !read_backoff(c, k) || !read_times(c, k) ||
        !call_integer(c, c->json, "max_locks", 0, UINT32_MAX, 1, &locks) ||
        !call_integer(c, c->json, "max_deliveries", 0, UINT32_MAX, 0, &deliveries) ||
        !call_integer(c, c->json, "max_length", 0, INT64_MAX, 0, &length) ||
        !call_integer(c, c->json, "max_bytes", 0, INT64_MAX, 0, &bytes) ||
        !call_integer(c, c->json, "default_priority", 0, INT64_MAX, 0, &k->default_priority) ||
        !call_truth(c, c->json, "dead_letter_expired", &k->dead_letter_expired) ||
        !call_text(c, c->json, "dead_letter_queue", &dead) ||
        !call_text(c, c->json, "orchestration", &orchestration) ||
        !call_text(c, c->json, "version", &version) || !read_planned(c) ||
        (dead && !guard_queue(c, dead)))
        return false;
    k->max_locks = (uint32_t)locks;
    k->max_deliveries = (uint32_t)deliveries;
    k->max_length = (uint64_t)length;
    k->max_bytes = (uint64_t)bytes;
    k->dead_letter_queue = pawl_s(dead);
    k->orchestration = pawl_s(orchestration);
    k->version = pawl_s(version);
    return true;
}

static void write_configured(struct call *c, const pawl_queue_reply *reply)
{
    pawl_json *w = pawl_json_new(c->mem);
    (void)reply;
    write_config(c, w, c->args[0], c->config);
    answer_json(c, 200, w);
}

void handle_put_config(struct call *c)
{
    pawl_queue_config *config = pawl_mem_alloc(c->mem, sizeof(*config));
    *config = pawl_queue_config_default();
    if (!read_config(c, config))
        return;
    c->config = config;
    pawl_queue_request q = {.size = sizeof(q), .op = PAWL_QUEUE_CONFIGURE, .config = config};
    queue_submit(c, &q, write_configured, false);
}

/* ---- Counts -------------------------------------------------------------------------- */

static void write_counts(pawl_json *w, const pawl_queue_stats *s)
{
    number(w, "ready", s->ready);
    number(w, "delayed", s->delayed);
    number(w, "locked", s->locked);
    number(w, "locks", s->locks);
    number(w, "bytes", s->bytes);
    pawl_json_key(w, "paused");
    pawl_json_truth(w, s->paused);
    pawl_json_key(w, "oldest_age_seconds");
    if (s->oldest_ms)
        pawl_json_real(w, (double)(clock_wall_ms() - s->oldest_ms) / 1000);
    else
        pawl_json_null(w);
}

static void write_totals(pawl_json *w, const pawl_queue_stats *s)
{
    pawl_json_key(w, "totals");
    pawl_json_object(w);
    number(w, "pushed", s->pushed);
    number(w, "popped", s->popped);
    number(w, "acknowledged", s->acked);
    number(w, "expired", s->expired);
    number(w, "released", s->released);
    number(w, "dead_lettered", s->dead_lettered);
    number(w, "dropped", s->dropped);
    number(w, "purged", s->purged);
    number(w, "duplicates", s->duplicates);
    number(w, "redriven", s->redriven);
    number(w, "started", s->started);
    pawl_json_end(w);
}

void handle_queue(struct call *c)
{
    pawl_queue_stats s;
    pawl_error err;
    if (pawl_queue_get_stats(c->srv->client, c->args[0], c->mem, &s, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    render_text(w, "name", s.name);
    write_counts(w, &s);
    pawl_json_key(w, "ready_by_priority");
    pawl_json_object(w);
    for (size_t i = 0; i < s.level_count; i++)
        number(w, pawl_mem_printf(c->mem, "%lld", (long long)s.levels[i].priority).ptr,
               s.levels[i].ready);
    pawl_json_end(w);
    write_totals(w, &s);
    write_seconds(w, "created_at", s.created_ms);
    pawl_json_key(w, "config");
    write_config(c, w, c->args[0], &s.config);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* The names that a token's prefix leaves of a query's; NULL: none. */
static const char *both_prefixes(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    return strncmp(a, b, n < m ? n : m) != 0 ? NULL : n > m ? a : b;
}

/* The least of the token's prefixes that is above `last`, and not within it. */
static const char *next_prefix(const struct call *c, const char *last)
{
    const char *best = NULL;
    for (const char *at = c->queues.ptr; *at;) {
        size_t n = strcspn(at, ",");
        const char *one = pawl_mem_dup(c->mem, (pawl_str){at, n}).ptr;
        if (n && (!last || (strcmp(one, last) > 0 && strncmp(one, last, strlen(last)) != 0)) &&
            (!best || strcmp(one, best) < 0))
            best = one;
        at += n + (at[n] == ',');
    }
    return best;
}

struct names {
    struct call *c;
    pawl_json *w;
    uint32_t left; /* that may still be written */
    const char *last;
    bool more;
};

/* Write the queues with a prefix; false after having answered. */
static bool write_names(struct names *n, const char *prefix)
{
    struct call *c = n->c;
    pawl_queue_page page;
    pawl_error err;
    if (pawl_queue_list(c->srv->client, prefix, call_param(c, "after"), n->left ? n->left : 1,
                        c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return false;
    }
    n->more = n->left ? page.next.len != 0 : page.count != 0;
    for (size_t i = 0; i < page.count && n->left; i++, n->left--) {
        n->last = page.items[i].name.ptr;
        pawl_json_object(n->w);
        render_text(n->w, "name", page.items[i].name);
        write_counts(n->w, &page.items[i]);
        pawl_json_end(n->w);
    }
    return true;
}

/* A token with prefixes sees each of them in turn, and nothing of the names between. */
static bool write_allowed(struct names *n, const char *prefix)
{
    const char *at = NULL, *both;
    if (!n->c->queues.len)
        return write_names(n, prefix);
    while (!n->more && (at = next_prefix(n->c, at)))
        if ((both = both_prefixes(at, prefix ? prefix : "")) && !write_names(n, both))
            return false;
    return true;
}

void handle_queues(struct call *c)
{
    int64_t limit;
    if (!call_number(c, "limit", 1, 1000, 100, &limit))
        return;
    struct names names = {.c = c, .w = pawl_json_new(c->mem), .left = (uint32_t)limit};
    pawl_json_object(names.w);
    pawl_json_key(names.w, "queues");
    pawl_json_array(names.w);
    if (!write_allowed(&names, call_param(c, "prefix")))
        return;
    pawl_json_end(names.w);
    pawl_json_key(names.w, "next");
    pawl_json_cstr(names.w, names.more ? names.last : NULL);
    pawl_json_end(names.w);
    answer_json(c, 200, names.w);
}

/* ---- Messages and locks ------------------------------------------------------------------ */

static const char *const states[] = {"ready", "delayed", "locked"};

static void write_message(struct call *c, pawl_json *w, const pawl_queue_message *m)
{
    pawl_json_object(w);
    write_message_members(w, m);
    pawl_json_key(w, "state");
    pawl_json_cstr(w, states[m->state]);
    write_seconds(w, "deliver_at", m->visible_ms);
    write_seconds(w, "expires_at", m->expires_ms);
    render_text(w, "source", m->source);
    render_text(w, "reason", m->reason);
    render_payload(w, c->mem, "item", "encoding", m->data);
    pawl_json_end(w);
}

static bool read_browse(struct call *c, pawl_queue_browse *b)
{
    int64_t limit, after;
    const char *state = call_param(c, "state");
    if (!call_number(c, "limit", 1, 1000, 100, &limit) ||
        !call_number(c, "after", 0, INT64_MAX, 0, &after) ||
        !call_number(c, "priority", 0, INT64_MAX, 0, &b->priority))
        return false;
    b->limit = (uint32_t)limit;
    b->after = (uint64_t)after;
    b->has_priority = call_param(c, "priority") != NULL;
    for (size_t i = 0; state && i < COUNT_OF(states); i++)
        if (strcmp(state, states[i]) == 0)
            b->state = (int)i + 1;
    if (!state || b->state)
        return true;
    answer_error(c, 400, "invalid", "state must be ready, delayed or locked");
    return false;
}

void handle_messages(struct call *c)
{
    pawl_queue_browse browse = {.size = sizeof(browse)};
    pawl_queue_messages page;
    pawl_error err;
    if (!read_browse(c, &browse))
        return;
    if (pawl_queue_browse_messages(c->srv->client, c->args[0], &browse, c->mem, &page, &err) !=
        PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "messages");
    pawl_json_array(w);
    for (size_t i = 0; i < page.count; i++)
        write_message(c, w, &page.items[i]);
    pawl_json_end(w);
    pawl_json_key(w, "next");
    if (page.next)
        pawl_json_str(w, pawl_mem_printf(c->mem, "%llu", (unsigned long long)page.next));
    else
        pawl_json_null(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_message(struct call *c)
{
    pawl_queue_message m;
    uint64_t id;
    pawl_error err;
    if (!queue_message_id(c, &id))
        return;
    if (pawl_queue_get_message(c->srv->client, c->args[0], id, c->mem, &m, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    write_message(c, w, &m);
    answer_json(c, 200, w);
}

void handle_locks(struct call *c)
{
    pawl_queue_locks locks;
    pawl_error err;
    if (pawl_queue_get_locks(c->srv->client, c->args[0], c->mem, &locks, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "locks");
    pawl_json_array(w);
    for (size_t i = 0; i < locks.count; i++) {
        pawl_json_object(w);
        render_text(w, "lock_id", locks.items[i].lock_id);
        write_seconds(w, "created_at", locks.items[i].created_ms);
        write_seconds(w, "expires_at", locks.items[i].expires_ms);
        number(w, "items", locks.items[i].items);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
