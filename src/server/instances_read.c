/* SPDX-License-Identifier: MIT */
/*
 * server/instances_read.c -- the calls that read one instance: get, history, why, timeline, tree.
 *
 * On a reader thread: they see committed data and never wait for the engine,
 * but a long history takes its time.  Shapes are those of view/render.c, which
 * the command line prints too.
 *
 * Pages are read in pieces and end, with a `next`, when they have PAGE_BYTES: outputs and
 * events may be megabytes each.
 */
#include "base/rand.h"
#include "server/handlers.h"
#include "server/paging.h"
#include "view/render.h"
#include "view/state_json.h"
#include "view/timeline.h"
#include "view/why.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT_EVENTS 20000 /* in one answer, at most */
#define TREE_MAX      1000  /* instances in one answer */
#define TREE_PIECES   (TREE_MAX / PIECE)
#define TREE_DEPTH    30 /* each level is two of JSON's 64 */

static void write_instance(struct call *c, pawl_json *w, const pawl_info *info)
{
    pawl_json_object(w);
    render_instance_members(w, c->mem, info);
    pawl_json_end(w);
}

bool answer_instance(struct call *c, const char *id, uint64_t execution, unsigned status)
{
    pawl_info info;
    pawl_error err;
    if (pawl_client_get(c->srv->client, id, execution, c->mem, &info, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return false;
    }
    pawl_json *w = pawl_json_new(c->mem);
    write_instance(c, w, &info);
    answer_json(c, status, w);
    return true;
}

/* ---- One, and why it waits ------------------------------------------------------------ */

/* What the answer says about an instance, without what changes by itself: `now` and the sentence. */
static uint64_t mark_of(const struct why *y, pawl_str text)
{
    const uint64_t key[2] = {y->info.mailbox_count * 31 + (uint64_t)y->info.cancel_ms,
                             y->info.history_length * 31 + (uint64_t)y->failed_ms};
    return siphash24(key, text.ptr, text.len);
}

static void write_members(struct call *c, pawl_json *w, const pawl_info *info)
{
    render_instance_members(w, c->mem, info);
    render_number(w, "started_at", info->began_ms);
    pawl_json_key(w, "events");
    pawl_json_num(w, (int64_t)info->history_length);
}

/* 304 to a caller that has it already, else the instance, and with=why the reasons in it. */
static void answer_get(struct call *c, struct why *y, bool with_why)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    write_members(c, w, &y->info);
    pawl_json_end(w);
    pawl_str alone = pawl_json_done(w);
    uint64_t mark = mark_of(y, alone) + with_why;
    (void)snprintf(c->etag, sizeof(c->etag), "\"%016llx\"", (unsigned long long)mark);
    if (c->given.has_etag && strstr(c->given.has_etag, c->etag)) {
        answer_text(c, 304, NULL, (pawl_str){0});
    } else if (with_why) {
        w = pawl_json_new(c->mem);
        pawl_json_object(w);
        write_members(c, w, &y->info);
        pawl_json_key(w, "why");
        (void)why_compose(y);
        why_render(y, w);
        pawl_json_end(w);
        answer_json(c, 200, w);
    } else {
        answer_text(c, 200, NULL, alone);
    }
    c->answer.etag = c->etag;
}

/* False: answered. */
static bool read_get(struct call *c, struct why *y, int64_t execution, bool with_why)
{
    pawl_error err;
    pawl_status rc = with_why && !execution
                         ? why_gather(y, c->srv->client, c->args[0], &err)
                         : pawl_client_get(c->srv->client, c->args[0], (uint64_t)execution, c->mem,
                                           &y->info, &err);
    if (rc != PAWL_OK)
        answer_failure(c, &err);
    return rc == PAWL_OK;
}

void handle_get(struct call *c)
{
    int64_t execution;
    const char *with = call_param(c, "with");
    bool with_why = with && strcmp(with, "why") == 0;
    struct why why = {.mem = c->mem,
                      .prog = "pawl",
                      .now_ms = pawl_client_now(c->srv->client),
                      .owner = (long)getpid()};
    if (!call_number(c, "execution", 0, INT64_MAX, 0, &execution))
        return;
    if (with && !with_why) {
        answer_error(c, 400, "invalid", "with must be why");
        return;
    }
    buf_init(&why.sentence, WHY_SENTENCE_MAX);
    if (read_get(c, &why, execution, with_why))
        answer_get(c, &why, with_why && !execution);
    buf_deinit(&why.sentence);
}

/* ---- Executions ------------------------------------------------------------------------ */

static void write_execution(pawl_json *w, const pawl_info *info)
{
    pawl_json_object(w);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)info->execution);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, pawl_state_name(info->state));
    render_text(w, "version", info->version);
    render_number(w, "started_at", info->began_ms);
    render_number(w, "ended_at", pawl_state_is_terminal(info->state) ? info->updated_ms : 0);
    pawl_json_key(w, "events");
    pawl_json_num(w, (int64_t)info->history_length);
    pawl_json_end(w);
}

/* Each is read by itself, with its input, into memory of its own.  Older ones may be pruned.
 * *from: where to go on; 0: that was all.  False: answered. */
static bool write_executions(struct call *c, pawl_json *w, uint64_t *from, int64_t limit)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_info info;
    pawl_error err = {0};
    pawl_status rc = PAWL_OK;
    for (; *from && limit && rc == PAWL_OK; limit--) {
        pawl_mem_reset(mem);
        rc = pawl_client_get(c->srv->client, c->args[0], *from, mem, &info, &err);
        if (rc == PAWL_OK)
            write_execution(w, &info);
        *from = rc == PAWL_OK ? *from - 1 : 0;
    }
    pawl_mem_free(mem);
    if (rc == PAWL_OK || rc == PAWL_NOT_FOUND)
        return true;
    answer_failure(c, &err);
    return false;
}

void handle_executions(struct call *c)
{
    int64_t after, limit;
    pawl_info newest;
    pawl_error err;
    if (!call_number(c, "after", 0, INT64_MAX, 0, &after) ||
        !call_number(c, "limit", 1, 1000, 100, &limit))
        return;
    if (pawl_client_get(c->srv->client, c->args[0], 0, c->mem, &newest, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    uint64_t from =
        after && (uint64_t)after <= newest.execution ? (uint64_t)after - 1 : newest.execution;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, c->args[0]);
    pawl_json_key(w, "executions");
    pawl_json_array(w);
    if (!write_executions(c, w, &from, limit))
        return;
    pawl_json_end(w);
    render_number(w, "next", from ? (int64_t)from + 1 : 0);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- Histories ------------------------------------------------------------------------ */

/* The next events of the same execution.  False: answered. */
static bool read_piece(struct call *c, pawl_history *page, const struct paging *p)
{
    pawl_error err;
    if (pawl_client_history(c->srv->client, c->args[0], page->execution, page->next,
                            paging_piece(p), c->mem, page, &err) == PAWL_OK)
        return true;
    answer_failure(c, &err);
    return false;
}

/* The events read, as far as they fit; false: that was all for this answer. */
static bool write_piece(struct call *c, pawl_json *w, pawl_history *page, struct paging *p)
{
    bool more = true;
    for (size_t i = 0; i < page->count && more; i++) {
        const pawl_history_event *e = &page->events[i];
        render_event(w, c->mem, e);
        more = paging_count(p, e->data.len + e->attrs.len);
        if (!more && i + 1 < page->count)
            page->next = e->seq;
    }
    return more && page->next;
}

void handle_history(struct call *c)
{
    int64_t execution, after, limit;
    if (!call_number(c, "execution", 0, INT64_MAX, 0, &execution) ||
        !call_number(c, "after", 0, INT64_MAX, 0, &after) ||
        !call_number(c, "limit", 1, 1000, 1000, &limit))
        return;
    pawl_history page = {.execution = (uint64_t)execution, .next = (uint64_t)after};
    struct paging p = {.left = (uint32_t)limit};
    if (!read_piece(c, &page, &p))
        return;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, c->args[0]);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)page.execution);
    pawl_json_key(w, "events");
    pawl_json_array(w);
    while (write_piece(c, w, &page, &p))
        if (!read_piece(c, &page, &p))
            return;
    pawl_json_end(w);
    render_number(w, "next", (int64_t)page.next);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* ---- Export ----------------------------------------------------------------------------- */

static bool end_export(struct call *c, pawl_json *w, uint64_t execution)
{
    struct timeline t;
    pawl_error err;
    timeline_begin(&t, c->mem);
    bool ok = timeline_gather(&t, c->srv->client, c->args[0], execution, &err) == PAWL_OK;
    if (ok) {
        timeline_finish(&t, t.info.updated_ms); /* not now: the same run is the same file */
        render_export_end(w, 0, &t);
    } else {
        answer_failure(c, &err);
    }
    timeline_end(&t);
    return ok;
}

/* The text of `pawl export`, which `pawl replay` and the page read.  What does not fit follows in
 * further answers: each but the last has `next`. */
void handle_export(struct call *c)
{
    int64_t execution, after;
    pawl_info info;
    pawl_error err;
    struct paging p = {.left = EXPORT_EVENTS};
    if (!call_number(c, "execution", 0, INT64_MAX, 0, &execution) ||
        !call_number(c, "after", 0, INT64_MAX, 0, &after))
        return;
    if (pawl_client_get(c->srv->client, c->args[0], (uint64_t)execution, c->mem, &info, &err) !=
        PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_history page = {.execution = info.execution, .next = (uint64_t)after};
    pawl_json *w = pawl_json_new(c->mem);
    render_export_begin(w, c->mem, &info);
    do
        if (!read_piece(c, &page, &p))
            return;
    while (write_piece(c, w, &page, &p));
    if (page.next)
        render_export_end(w, (int64_t)page.next, NULL);
    else if (!end_export(c, w, info.execution))
        return;
    answer_json(c, 200, w);
}

void handle_why(struct call *c)
{
    struct why why = {.mem = c->mem,
                      .prog = "pawl",
                      .now_ms = pawl_client_now(c->srv->client),
                      .owner = (long)getpid()};
    pawl_error err;
    buf_init(&why.sentence, WHY_SENTENCE_MAX);
    if (why_gather(&why, c->srv->client, c->args[0], &err) == PAWL_OK) {
        pawl_json *w = pawl_json_new(c->mem);
        (void)why_compose(&why);
        why_render(&why, w);
        answer_json(c, 200, w);
    } else {
        answer_failure(c, &err);
    }
    buf_deinit(&why.sentence);
}

void handle_timeline(struct call *c)
{
    int64_t execution;
    struct timeline t;
    pawl_error err;
    if (!call_number(c, "execution", 0, INT64_MAX, 0, &execution))
        return;
    timeline_begin(&t, c->mem);
    if (timeline_gather(&t, c->srv->client, c->args[0], (uint64_t)execution, &err) == PAWL_OK) {
        pawl_json *w = pawl_json_new(c->mem);
        timeline_finish(&t, pawl_client_now(c->srv->client));
        timeline_render(&t, w);
        answer_json(c, 200, w);
    } else {
        answer_failure(c, &err);
    }
    timeline_end(&t);
}

void handle_state(struct call *c)
{
    pawl_error err;
    pawl_json *w = pawl_json_new(c->mem);
    if (state_render(c->srv->client, c->args[0], NULL, c->mem, w, &err) == PAWL_OK)
        answer_json(c, 200, w);
    else
        answer_failure(c, &err);
}

/* ---- Tree ------------------------------------------------------------------------- */

struct walk {
    struct call *c;
    pawl_json *w;
    size_t count, bytes;
    bool cut;
};

static bool visit(struct walk *walk, const pawl_info *info, unsigned depth, pawl_error *reterr);

/* The newest children, in pieces; how many pieces, 0: trouble. */
static size_t read_children(struct walk *walk, const char *parent, pawl_page *pieces,
                            pawl_error *reterr)
{
    pawl_filter filter = {.size = sizeof(filter), .limit = PIECE, .parent = parent};
    size_t n = 0, bytes = walk->bytes;
    do {
        pawl_page *page = &pieces[n++];
        if (pawl_client_list(walk->c->srv->client, &filter, walk->c->mem, page, reterr) != PAWL_OK)
            return 0;
        for (size_t i = 0; i < page->count; i++)
            bytes += paging_bytes_of(&page->items[i]);
        filter.after = page->next.len ? page->next.ptr : NULL;
    } while (filter.after && n < TREE_PIECES && bytes < PAGE_BYTES);
    walk->cut = walk->cut || filter.after;
    return n;
}

/* Oldest first, as they were started; the list has the newest first. */
static bool visit_children(struct walk *walk, const pawl_info *info, unsigned depth,
                           pawl_error *reterr)
{
    pawl_page pieces[TREE_PIECES];
    if (depth >= TREE_DEPTH) {
        walk->cut = true;
        return true;
    }
    size_t n = read_children(walk, info->instance.ptr, pieces, reterr);
    for (size_t p = n; p-- > 0;)
        for (size_t i = pieces[p].count; i-- > 0;) {
            if (walk->count >= TREE_MAX || walk->bytes >= PAGE_BYTES) {
                walk->cut = true;
                return true;
            }
            if (!visit(walk, &pieces[p].items[i], depth + 1, reterr))
                return false;
        }
    return n > 0;
}

static bool visit(struct walk *walk, const pawl_info *info, unsigned depth, pawl_error *reterr)
{
    walk->count++;
    walk->bytes += paging_bytes_of(info);
    pawl_json_object(walk->w);
    render_instance_members(walk->w, walk->c->mem, info);
    pawl_json_key(walk->w, "children");
    pawl_json_array(walk->w);
    bool ok = visit_children(walk, info, depth, reterr);
    pawl_json_end(walk->w);
    if (depth == 0 && walk->cut) {
        pawl_json_key(walk->w, "truncated");
        pawl_json_truth(walk->w, true);
    }
    pawl_json_end(walk->w);
    return ok;
}

void handle_tree(struct call *c)
{
    struct walk walk = {.c = c, .w = pawl_json_new(c->mem)};
    pawl_info root;
    pawl_error err;
    if (pawl_client_get(c->srv->client, c->args[0], 0, c->mem, &root, &err) == PAWL_OK &&
        visit(&walk, &root, 0, &err))
        answer_json(c, 200, walk.w);
    else
        answer_failure(c, &err);
}
