/* SPDX-License-Identifier: MIT */
/*
 * server/queue_manage.c -- looking at queues: their names, counts, messages, locks.
 *
 * Reads run on the reader thread and touch nothing.  Times are seconds with a
 * fraction, as everywhere in the queue API.
 *
 * Called by routes.c.
 */
#include "server/queues.h"

#include "base/json.h"
#include "view/render.h"

#include <string.h>

/* ---- Counts -------------------------------------------------------------------------- */

static void write_counts(struct call *c, pawl_json *w, const pawl_queue_stats *s)
{
    write_count(w, "ready", s->ready);
    write_count(w, "delayed", s->delayed);
    write_count(w, "locked", s->locked);
    write_count(w, "locks", s->locks);
    write_count(w, "bytes", s->bytes);
    pawl_json_key(w, "paused");
    pawl_json_truth(w, s->paused);
    pawl_json_key(w, "oldest_age_seconds");
    if (s->oldest_ms)
        pawl_json_real(w, (double)(pawl_client_now(c->srv->client) - s->oldest_ms) / 1000);
    else
        pawl_json_null(w);
}

static void write_totals(pawl_json *w, const pawl_queue_stats *s)
{
    pawl_json_key(w, "totals");
    pawl_json_object(w);
    write_count(w, "pushed", s->pushed);
    write_count(w, "popped", s->popped);
    write_count(w, "acknowledged", s->acked);
    write_count(w, "expired", s->expired);
    write_count(w, "released", s->released);
    write_count(w, "dead_lettered", s->dead_lettered);
    write_count(w, "dropped", s->dropped);
    write_count(w, "purged", s->purged);
    write_count(w, "duplicates", s->duplicates);
    write_count(w, "redriven", s->redriven);
    write_count(w, "started", s->started);
    write_count(w, "id_taken", s->id_taken);
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
    write_counts(c, w, &s);
    pawl_json_key(w, "ready_by_priority");
    pawl_json_object(w);
    for (size_t i = 0; i < s.level_count; i++)
        write_count(w, pawl_mem_printf(c->mem, "%lld", (long long)s.levels[i].priority).ptr,
                    s.levels[i].ready);
    pawl_json_end(w);
    write_totals(w, &s);
    write_seconds(w, "created_at", s.created_ms);
    pawl_json_key(w, "config");
    write_config(c, w, c->args[0], &s.config, (pawl_str){0});
    write_warning(w, s.warning);
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
    for (const char *at = c->caller.queues.ptr; *at;) {
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

/* Write the queues with a prefix; false: an error was answered. */
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
        write_counts(c, n->w, &page.items[i]);
        pawl_json_end(n->w);
    }
    return true;
}

/* A token with prefixes sees each of them in turn, and nothing of the names between. */
static bool write_allowed(struct names *n, const char *prefix)
{
    const char *at = NULL, *both;
    if (!n->c->caller.queues.len)
        return write_names(n, prefix);
    while (!n->more && (at = next_prefix(n->c, at)))
        if ((both = both_prefixes(at, prefix ? prefix : "")) && !write_names(n, both))
            return false;
    return true;
}

bool queues_write(struct call *c, pawl_json *w, uint32_t most)
{
    struct names names = {.c = c, .w = w, .left = most};
    return write_allowed(&names, NULL);
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
    write_seconds(w, "died_at", m->died_ms);
    render_payload(w, c->mem, "item", "encoding", m->data);
    pawl_json_end(w);
}

static bool read_browse(struct call *c, pawl_queue_browse *b)
{
    int64_t limit;
    const char *state = call_param(c, "state");
    if (!call_number(c, "limit", 1, 1000, 100, &limit) ||
        !call_number(c, "priority", 0, INT64_MAX, 0, &b->priority))
        return false;
    b->limit = (uint32_t)limit;
    b->cursor = call_param(c, "after");
    if (b->cursor && !b->cursor[0]) { /* of a variable that is not set */
        answer_error(c, 400, "invalid",
                     "after is empty: give next of the page before, or leave it out");
        return false;
    }
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
        pawl_json_str(w, page.cursor);
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
        write_count(w, "items", locks.items[i].items);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
