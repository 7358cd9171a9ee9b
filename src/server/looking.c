/* SPDX-License-Identifier: MIT */
/*
 * server/looking.c -- the calls that read: list, get, history, why, tree.
 *
 * On the reader thread: they see committed data and never wait for the engine,
 * but a long history takes its time.  Shapes are those of view/render.c, which
 * the command line prints too.
 */
#include "base/clock.h"
#include "server/handlers.h"
#include "view/render.h"
#include "view/why.h"

#include <string.h>
#include <unistd.h>

#define TREE_MAX   1000 /* instances in one answer */
#define TREE_DEPTH 30   /* each level is two of JSON's 64 */

int state_of_word(const char *word)
{
    for (int i = PAWL_PENDING; i <= PAWL_CONTINUED_AS_NEW; i++)
        if (strcmp(word, pawl_state_name((pawl_state)i)) == 0)
            return i + 1;
    return 0;
}

bool filter_of_query(struct call *c, pawl_filter *ret)
{
    const char *status = call_param(c, "status");
    int64_t limit;
    *ret = (pawl_filter){.size = sizeof(*ret),
                         .after = call_param(c, "after"),
                         .orchestration = call_param(c, "orchestration"),
                         .prefix = call_param(c, "prefix"),
                         .parent = call_param(c, "parent")};
    if (!call_number(c, "limit", 1, 1000, 100, &limit) ||
        !call_number(c, "created_after", 0, INT64_MAX, 0, &ret->created_after_ms))
        return false;
    ret->limit = (uint32_t)limit;
    if (!status || (ret->state = state_of_word(status)))
        return true;
    answer_error(c, 400, "invalid",
                 "status must be pending, running, suspended, blocked, completed, failed or "
                 "cancelled");
    return false;
}

static void write_instance(struct call *c, pawl_json *w, const pawl_info *info)
{
    pawl_json_object(w);
    render_instance_members(w, c->mem, info);
    pawl_json_end(w);
}

void handle_list(struct call *c)
{
    pawl_filter filter;
    pawl_page page;
    pawl_error err;
    if (!filter_of_query(c, &filter))
        return;
    if (pawl_client_list(c->srv->client, &filter, c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instances");
    pawl_json_array(w);
    for (size_t i = 0; i < page.count; i++)
        write_instance(c, w, &page.items[i]);
    pawl_json_end(w);
    pawl_json_key(w, "next");
    pawl_json_cstr(w, page.next.len ? page.next.ptr : NULL);
    pawl_json_end(w);
    answer_json(c, 200, w);
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

void handle_get(struct call *c)
{
    int64_t execution;
    if (call_number(c, "execution", 0, INT64_MAX, 0, &execution))
        (void)answer_instance(c, c->args[0], (uint64_t)execution, 200);
}

void handle_history(struct call *c)
{
    int64_t execution, after, limit;
    pawl_history page;
    pawl_error err;
    if (!call_number(c, "execution", 0, INT64_MAX, 0, &execution) ||
        !call_number(c, "after", 0, INT64_MAX, 0, &after) ||
        !call_number(c, "limit", 1, 1000, 1000, &limit))
        return;
    if (pawl_client_history(c->srv->client, c->args[0], (uint64_t)execution, (uint64_t)after,
                            (uint32_t)limit, c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, c->args[0]);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)page.execution);
    pawl_json_key(w, "events");
    pawl_json_array(w);
    for (size_t i = 0; i < page.count; i++)
        render_event(w, c->mem, &page.events[i]);
    pawl_json_end(w);
    render_number(w, "next", (int64_t)page.next);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_why(struct call *c)
{
    struct why why = {
        .mem = c->mem, .prog = "pawl", .now_ms = clock_wall_ms(), .owner = (long)getpid()};
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

/* ---- Tree ------------------------------------------------------------------------- */

struct walk {
    struct call *c;
    pawl_json *w;
    size_t count;
    bool cut;
};

static bool visit(struct walk *walk, const pawl_info *info, unsigned depth, pawl_error *reterr);

/* Oldest first, as they were started; the list has the newest first. */
static bool visit_children(struct walk *walk, const pawl_info *info, unsigned depth,
                           pawl_error *reterr)
{
    pawl_page page;
    pawl_filter filter = {.size = sizeof(filter), .limit = 1000, .parent = info->instance.ptr};
    if (depth >= TREE_DEPTH) {
        walk->cut = true;
        return true;
    }
    if (pawl_client_list(walk->c->srv->client, &filter, walk->c->mem, &page, reterr) != PAWL_OK)
        return false;
    walk->cut = walk->cut || page.next.len;
    for (size_t i = page.count; i-- > 0;) {
        if (walk->count >= TREE_MAX) {
            walk->cut = true;
            break;
        }
        if (!visit(walk, &page.items[i], depth + 1, reterr))
            return false;
    }
    return true;
}

static bool visit(struct walk *walk, const pawl_info *info, unsigned depth, pawl_error *reterr)
{
    walk->count++;
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
