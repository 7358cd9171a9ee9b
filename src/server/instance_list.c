/* SPDX-License-Identifier: MIT */
/*
 * server/instance_list.c -- GET /api/v1/instances: a page of instances, newest first, that match.
 *
 * The store compares rows (pawl_filter) and looks at 10,000 of them a call; here it is called again
 * until the page is full or LIST_MS are over.  What a row waits for is in no row: `waiting` and
 * `with=waiting` read instances one by one, within the same time.  So a page may be short and have a
 * `next`; `examined` says how many instances it was made from.
 *
 * On a reader thread.
 */
#include "server/instance_list.h"

#include "base/clock.h"
#include "server/handlers.h"
#include "server/paging.h"
#include "view/render.h"

#include <string.h>

#define LIST_MS 20

int state_of_word(const char *word)
{
    for (int i = PAWL_PENDING; i <= PAWL_CONTINUED_AS_NEW; i++)
        if (strcmp(word, pawl_state_name((pawl_state)i)) == 0)
            return i + 1;
    return 0;
}

bool states_of_words(struct call *c, const char *list, uint32_t *ret)
{
    *ret = 0;
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        int state = state_of_word(pawl_mem_dup(c->mem, (pawl_str){at, n}).ptr);
        if (!state) {
            answer_error(c, 400, "invalid",
                         "'%.*s' is no status; give one or more of pending, running, suspended, "
                         "blocked, completed, failed and cancelled, with commas",
                         (int)(n < 40 ? n : 40), at);
            return false;
        }
        *ret |= 1u << (state - 1);
        at += n + (at[n] == ',');
    }
    return true;
}

/* ---- What is asked for -------------------------------------------------------------- */

/* "event", "event:Review", "retrying": what is behind the colon is a name. */
static bool read_waiting(struct call *c, struct list_call *l)
{
    static const char *const kinds[] = {"activity", "timer",    "event",   "update",
                                        "child",    "retrying", "noworker"};
    const char *text = call_param(c, "waiting");
    size_t n = text ? strcspn(text, ":") : 0;
    for (size_t i = 0; text && i < COUNT_OF(kinds); i++)
        if (strlen(kinds[i]) == n && memcmp(kinds[i], text, n) == 0)
            l->wait_kind = kinds[i];
    if (text && text[n])
        l->wait_name = text + n + 1;
    if (!text || l->wait_kind)
        return true;
    answer_error(
        c, 400, "invalid",
        "waiting must be activity, timer, event, update, child, retrying or noworker, and may have "
        "a name behind a colon");
    return false;
}

static bool read_order(struct call *c, struct list_call *l)
{
    static const char *const words[] = {
        [ORDER_NEWEST] = "newest", "updated", "waiting", "attempts"};
    const char *text = call_param(c, "sort");
    size_t i = 0;
    while (text && i < COUNT_OF(words) && strcmp(text, words[i]) != 0)
        i++;
    if (i == COUNT_OF(words)) {
        answer_error(c, 400, "invalid", "sort must be newest, updated, waiting or attempts");
        return false;
    }
    l->order = (enum list_order)i;
    if (l->order == ORDER_NEWEST || !l->filter.after)
        return true;
    answer_error(c, 400, "invalid", "a sorted list is one page: give no after");
    return false;
}

static bool read_with(struct call *c, struct list_call *l)
{
    const char *with = call_param(c, "with");
    l->with_waiting = with && strcmp(with, "waiting") == 0;
    if (!with || l->with_waiting)
        return true;
    answer_error(c, 400, "invalid", "with must be waiting");
    return false;
}

/* Only open instances wait. */
static void leave_out_ended(struct list_call *l)
{
    uint32_t open =
        1u << PAWL_PENDING | 1u << PAWL_RUNNING | 1u << PAWL_SUSPENDED | 1u << PAWL_BLOCKED;
    if (l->wait_kind || l->order == ORDER_WAITING)
        l->filter.states = l->filter.states ? l->filter.states & open : open;
    l->nothing = !l->filter.states && (l->wait_kind || l->order == ORDER_WAITING);
}

/* All that are given hold; each is NAME, an operator, VALUE. */
static bool read_where(struct call *c, struct list_call *l)
{
    pawl_error err;
    for (size_t i = 0; i < c->param_count; i++) {
        if (!pawl_str_is(c->params[i].name, "where"))
            continue;
        if (l->filter.where_count == PAWL_WHERE_MAX) {
            answer_error(c, 400, "invalid", "more than %d conditions; leave some out",
                         PAWL_WHERE_MAX);
            return false;
        }
        if (!pawl_where_parse(c->mem, c->params[i].value, &l->where[l->filter.where_count++],
                              &err)) {
            answer_error(c, 400, "invalid", "where: %s", err.text);
            return false;
        }
    }
    l->filter.where = l->where;
    return true;
}

bool listing_read(struct call *c, struct list_call *l)
{
    int64_t limit;
    *l = (struct list_call){
        .c = c,
        .filter = {.size = sizeof(l->filter),
                   .after = call_param(c, "after"),
                   .orchestration = call_param(c, "orchestration"),
                   .prefix = call_param(c, "prefix"),
                   .parent = call_param(c, "parent"),
                   .text = call_param(c, "q"),
                   .error = call_param(c, "error")},
        .until_ms = clock_mono_ms() + LIST_MS
    };
    if (!call_number(c, "limit", 1, 1000, 100, &limit) ||
        !call_number(c, "created_after", 0, INT64_MAX, 0, &l->filter.created_after_ms) ||
        !call_number(c, "created_before", 0, INT64_MAX, 0, &l->filter.created_before_ms) ||
        !call_number(c, "ended_after", 0, INT64_MAX, 0, &l->filter.ended_after_ms) ||
        !call_number(c, "ended_before", 0, INT64_MAX, 0, &l->filter.ended_before_ms) ||
        !read_where(c, l) || !call_flag(c, "roots", &l->filter.roots) ||
        !states_of_words(c, call_param(c, "status"), &l->filter.states) || !read_waiting(c, l) ||
        !read_order(c, l) || !read_with(c, l))
        return false;
    l->filter.limit = (uint32_t)limit;
    leave_out_ended(l);
    return true;
}

/* ---- What a row waits for ----------------------------------------------------------------- */

bool listing_is_over(const struct list_call *l)
{
    return clock_mono_ms() >= l->until_ms;
}

static bool is_wanted(const struct list_call *l, const pawl_waiting *w)
{
    if (l->wait_name && !pawl_str_is(w->name, l->wait_name))
        return false;
    if (strcmp(l->wait_kind, "retrying") == 0)
        return w->attempt > 1;
    if (strcmp(l->wait_kind, "noworker") == 0)
        return strcmp(w->kind, "activity") == 0 && !w->running &&
               w->due_ms <= pawl_client_now(l->c->srv->client);
    return strcmp(w->kind, l->wait_kind) == 0;
}

const pawl_waiting *listing_wait(struct list_call *l, pawl_mem *mem, pawl_info *info)
{
    pawl_info whole;
    if (pawl_state_is_terminal(info->state) || !info->instance.len ||
        pawl_client_get(l->c->srv->client, info->instance.ptr, 0, mem, &whole, NULL) != PAWL_OK)
        return NULL;
    info->waiting = whole.waiting;
    info->waiting_count = whole.waiting_count;
    for (size_t i = 0; l->wait_kind && i < whole.waiting_count; i++)
        if (is_wanted(l, &whole.waiting[i]))
            return info->waiting + i;
    return NULL;
}

/* ---- The newest first ------------------------------------------------------------------------ */

void listing_write(struct list_call *l, pawl_json *w, pawl_info *info)
{
    if (l->with_waiting && !info->waiting_count && !listing_is_over(l))
        (void)listing_wait(l, l->c->mem, info);
    pawl_json_object(w);
    render_instance_members(w, l->c->mem, info);
    pawl_json_end(w);
}

/* How many of them fit into what is left of an answer: one at least. */
static size_t fitting(const pawl_page *page, struct paging p)
{
    size_t n = 0;
    while (n < page->count && paging_count(&p, paging_bytes_of(&page->items[n++])))
        ;
    return n;
}

/* The next instances of an answer; false: answered.  A piece that is too much is read again
 * without those that do not fit, for its cursor. */
static bool read_piece(struct list_call *l, const struct paging *p, pawl_page *page)
{
    pawl_error err;
    struct call *c = l->c;
    size_t fit = paging_piece(p);
    do {
        l->filter.limit = (uint32_t)fit;
        if (pawl_client_list(c->srv->client, &l->filter, c->mem, page, &err) != PAWL_OK) {
            answer_failure(c, &err);
            return false;
        }
        fit = fitting(page, *p);
    } while (fit < page->count);
    l->examined += page->examined;
    return true;
}

/* The rows of a piece that are wanted; false: the answer has enough, or its time is over. */
static bool write_piece(struct list_call *l, pawl_json *w, const pawl_page *page, struct paging *p)
{
    for (size_t i = 0; i < page->count; i++) {
        pawl_info info = page->items[i];
        if (l->wait_kind && i && listing_is_over(l)) { /* the rest belongs to the next page */
            l->filter.after =
                pawl_mem_printf(l->c->mem, "%llx", (unsigned long long)page->items[i - 1].uid).ptr;
            return false;
        }
        if (l->wait_kind && !listing_wait(l, l->c->mem, &info))
            continue;
        listing_write(l, w, &info);
        if (!paging_count(p, paging_bytes_of(&info)))
            return false;
    }
    return true;
}

/* As many instances as fit; filter.after: where to go on, NULL: that was all.  False: answered. */
static bool write_newest(struct list_call *l, pawl_json *w)
{
    struct paging p = {.left = l->filter.limit};
    pawl_page page;
    bool more = true;
    do {
        if (!read_piece(l, &p, &page))
            return false;
        l->filter.after = page.next.len ? page.next.ptr : NULL;
        more = write_piece(l, w, &page, &p);
    } while (l->filter.after && more && !listing_is_over(l));
    return true;
}

void handle_list(struct call *c)
{
    struct list_call l;
    if (!listing_read(c, &l))
        return;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    if (!l.nothing && !(l.order == ORDER_NEWEST ? write_newest(&l, w) : listing_sorted(&l, w)))
        return;
    pawl_json_end(w);
    pawl_json_key(w, "next");
    pawl_json_cstr(w, l.nothing ? NULL : l.filter.after);
    pawl_json_key(w, "examined");
    pawl_json_num(w, (int64_t)l.examined);
    if (l.order != ORDER_NEWEST) {
        pawl_json_key(w, "complete");
        pawl_json_truth(w, !l.cut);
    }
    pawl_json_end(w);
    answer_json(c, 200, w);
}
