/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/queue_browse.c -- pawl/queue.h: looking at messages, from any thread.
 *
 * The order of delivery is three stretches, each with an index in the store: ready by
 * (priority, place), delayed by (time, id), locked by (lock, id).  A cursor is the stretch and the
 * last key that was looked at.  So a page costs what it shows, and changes of the queue between
 * two pages do not shift the next page.
 *
 * Snapshots of the store; they never wait for the engine and change nothing.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "pawl/queue.h"
#include "runtime/api/queue_query.h"
#include "store/store_queue.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX ((size_t)8 << 20) /* of a page */

static pawl_queue_message message_of(const pawl_queue_entry *e, pawl_mem *mem)
{
    return (pawl_queue_message){.id = e->id,
                                .data = e->data,
                                .priority = e->priority,
                                .delivery_count = e->deliveries,
                                .state = (pawl_queue_state)e->state,
                                .enqueued_ms = e->enqueued_ms,
                                .visible_ms = e->visible_ms,
                                .expires_ms = e->expires_ms,
                                .group = pawl_json_text(mem, e->attrs, "/group", ""),
                                .headers = pawl_json_get(e->attrs, "/headers"),
                                .source = pawl_json_text(mem, e->note, "/source", ""),
                                .reason = pawl_json_text(mem, e->note, "/reason", ""),
                                .died_ms = pawl_json_int(e->note, "/died_ms", 0)};
}

/* ---- Cursors ---------------------------------------------------------------------- */

struct browse_cursor {
    int state; /* pawl_queue_state: the stretch */
    int64_t key;
    uint64_t id;
};

static const char letters[] = "rdl";

static pawl_str cursor_text(const struct browse_cursor *at, pawl_mem *mem)
{
    return pawl_mem_printf(mem, "%c%lld.%llu", letters[at->state], (long long)at->key,
                           (unsigned long long)at->id);
}

/* Read a cursor; only the text that cursor_text() writes is accepted. */
static bool cursor_read(const char *text, pawl_mem *mem, struct browse_cursor *ret)
{
    char letter;
    long long key;
    unsigned long long id;
    *ret = (struct browse_cursor){0};
    if (!text || !text[0])
        return true;
    if (strlen(text) > 48 || sscanf(text, "%c%lld.%llu", &letter, &key, &id) != 3)
        return false;
    const char *at = strchr(letters, letter);
    if (!at || key < 0 || id > INT64_MAX)
        return false;
    *ret = (struct browse_cursor){(int)(at - letters), key, id};
    return pawl_str_is(cursor_text(ret, mem), text);
}

/* ---- A page ------------------------------------------------------------------------ */

struct browsing {
    pawl_client *c;
    const pawl_queue_browse *query;
    pawl_queue_row row;
    pawl_mem *mem;
    struct browse_cursor at;
    pawl_queue_message *items;
    size_t count, limit, bytes;
    bool more;
};

static uint64_t count_of(const struct browsing *b, int state)
{
    return state == PAWL_QUEUE_READY     ? b->row.ready
           : state == PAWL_QUEUE_DELAYED ? b->row.delayed
                                         : b->row.locked;
}

/* Does the stretch the cursor is in have anything for this query? */
static bool is_asked(const struct browsing *b)
{
    if ((b->query->state && b->query->state - 1 != b->at.state) || !count_of(b, b->at.state))
        return false;
    return b->at.state != PAWL_QUEUE_READY || !b->query->has_priority ||
           b->at.key <= b->query->priority;
}

static pawl_entry_query look_of(const struct browsing *b)
{
    static const pawl_entry_order orders[] = {PAWL_ENTRIES_READY, PAWL_ENTRIES_DELAYED,
                                              PAWL_ENTRIES_LOCKED};
    pawl_entry_query look = {.qid = b->row.qid,
                             .order = orders[b->at.state],
                             .has_priority = b->query->has_priority,
                             .priority = b->query->priority,
                             .after_key = b->at.key,
                             .after = b->at.id,
                             .limit = (uint32_t)(b->limit - b->count),
                             .bytes_max = BYTES_MAX - b->bytes};
    if (b->at.state == PAWL_QUEUE_READY && (!look.has_priority || look.priority == b->at.key)) {
        look.priority = b->at.key;
        look.place = b->at.id + 1;
    }
    return look;
}

/* Show what is left of the stretch the cursor is in, as far as there is room. */
static pawl_status show(struct browsing *b, pawl_error *err)
{
    pawl_entry_query look = look_of(b);
    pawl_entry_list list = {0};
    pawl_status rc = store_query_entries(b->c->rt->store, &look, b->mem, &list, err);
    if (rc != PAWL_OK)
        return rc;
    for (size_t i = 0; i < list.count; i++) {
        b->items[b->count++] = message_of(&list.items[i], b->mem);
        b->bytes += list.items[i].data.len + list.items[i].attrs.len;
    }
    b->more = list.more;
    if (list.more)
        b->at = (struct browse_cursor){b->at.state, list.last_key, list.last_id};
    return PAWL_OK;
}

static pawl_status browse(struct browsing *b, pawl_error *err)
{
    b->limit = queue_page_size(b->query->limit);
    b->items = arena_array(b->mem, pawl_queue_message, b->limit);
    for (; b->at.state <= PAWL_QUEUE_LOCKED;
         b->at = (struct browse_cursor){.state = b->at.state + 1}) {
        if (!is_asked(b))
            continue;
        b->more = b->count == b->limit || b->bytes >= BYTES_MAX;
        pawl_status rc = b->more ? PAWL_OK : show(b, err);
        if (rc != PAWL_OK || b->more)
            return rc;
    }
    return PAWL_OK;
}

static bool begin(struct browsing *b, pawl_error *err)
{
    if (!b->query->after && cursor_read(b->query->cursor, b->mem, &b->at))
        return true;
    error_set(err, PAWL_INVALID,
              "that is no cursor of messages: begin without one, then give the one of each page to "
              "the next");
    return false;
}

pawl_status pawl_queue_browse_messages(pawl_client *c, const char *queue,
                                       const pawl_queue_browse *query, pawl_mem *mem,
                                       pawl_queue_messages *ret, pawl_error *reterr)
{
    struct queue_reading r;
    if (!queue_reading_begin(&r, c, queue ? queue : "", mem, ret, reterr))
        return r.err->status;
    struct browsing b = {.c = c, .mem = mem};
    pawl_queue_browse room;
    b.query = OPTIONS_OF(&room, query, "pawl_queue_browse", r.err);
    if (!b.query || !begin(&b, r.err))
        return r.err->status;
    pawl_status rc = store_find_queue(c->rt->store, pawl_s(queue), mem, &b.row, r.err);
    if (rc == PAWL_OK)
        rc = browse(&b, r.err);
    if (rc != PAWL_OK)
        return rc;
    *ret = (pawl_queue_messages){.items = b.items, .count = b.count, .next = b.more};
    if (b.more)
        ret->cursor = cursor_text(&b.at, mem);
    return PAWL_OK;
}

pawl_status pawl_queue_get_message(pawl_client *c, const char *queue, uint64_t id, pawl_mem *mem,
                                   pawl_queue_message *ret, pawl_error *reterr)
{
    struct queue_reading r;
    if (!queue_reading_begin(&r, c, queue ? queue : "", mem, ret, reterr))
        return r.err->status;
    pawl_queue_row row;
    pawl_entry_list list = {0};
    pawl_status rc = store_find_queue(r.store, pawl_s(queue), mem, &row, r.err);
    if (rc == PAWL_OK)
        rc = store_read_entries(r.store, &id, 1, false, mem, &list, r.err);
    if (rc != PAWL_OK)
        return rc;
    if (!list.count || list.items[0].qid != row.qid) {
        error_set(r.err, PAWL_NOT_FOUND, "there is no message %llu in queue '%s'",
                  (unsigned long long)id, queue);
        return PAWL_NOT_FOUND;
    }
    *ret = message_of(&list.items[0], mem);
    return PAWL_OK;
}
