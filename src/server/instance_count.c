/* SPDX-License-Identifier: MIT */
/*
 * server/instance_count.c -- GET /api/v1/instances:count: how many match, and of which kind (S55).
 *
 * By status or orchestration, of all instances: the census has it (census.h), and nothing is read
 * once it has counted all.  Anything else is pawl_client_count(): along an index, or over at most
 * 1,000,000 rows that match.
 *
 * On a reader thread.
 */
#include "server/census.h"
#include "server/handlers.h"
#include "server/instance_list.h"

#include <string.h>

struct group {
    pawl_str value;
    uint64_t count;
};

static void write_groups(struct call *c, const char *by, const struct group *groups, size_t count)
{
    uint64_t total = 0;
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "by");
    pawl_json_cstr(w, by);
    pawl_json_key(w, "groups");
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++) {
        if (!groups[i].count)
            continue;
        total += groups[i].count;
        pawl_json_object(w);
        pawl_json_key(w, "value");
        pawl_json_str(w, groups[i].value);
        pawl_json_key(w, "count");
        pawl_json_num(w, (int64_t)groups[i].count);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    pawl_json_key(w, "total");
    pawl_json_num(w, (int64_t)total);
    pawl_json_key(w, "examined");
    pawl_json_num(w, 0);
    pawl_json_key(w, "more");
    pawl_json_truth(w, false);
    pawl_json_end(w);
    answer_json(c, 200, w);
}

/* In the order of the words, as pawl_client_count() has them. */
static const pawl_state by_word[] = {PAWL_BLOCKED, PAWL_CANCELLED, PAWL_COMPLETED, PAWL_FAILED,
                                     PAWL_PENDING, PAWL_RUNNING,   PAWL_SUSPENDED};

static bool answer_states(struct call *c, const struct census_view *view)
{
    struct group groups[COUNT_OF(by_word)];
    for (size_t s = 0; s < COUNT_OF(by_word); s++) {
        groups[s] = (struct group){.value = pawl_s(pawl_state_name(by_word[s]))};
        for (size_t i = 0; i < view->kind_count; i++)
            groups[s].count += view->kinds[i].counts[by_word[s]];
    }
    write_groups(c, "status", groups, COUNT_OF(groups));
    return true;
}

/* False: some orchestrations share their counts. */
static bool answer_kinds(struct call *c, const struct census_view *view)
{
    struct group *groups = pawl_mem_alloc(c->mem, (view->kind_count + 1) * sizeof(*groups));
    for (size_t i = 0; i < view->kind_count; i++) {
        groups[i] = (struct group){.value = view->kinds[i].name};
        for (size_t s = 0; s < COUNT_OF(by_word); s++)
            groups[i].count += view->kinds[i].counts[by_word[s]];
        if (!groups[i].value.len && groups[i].count)
            return false;
    }
    write_groups(c, "orchestration", groups, view->kind_count);
    return true;
}

/* False: the census cannot say it, or has not counted all. */
static bool answer_by_census(struct call *c, const char *by)
{
    struct census_view view;
    pawl_error err;
    bool states = by && strcmp(by, "status") == 0, kinds = by && strcmp(by, "orchestration") == 0;
    if (c->param_count != 1 || (!states && !kinds) ||
        !census_walk(c->srv->census, c->srv->client, &err))
        return false;
    census_look(c->srv->census, c->mem, &view);
    return view.exact && (states ? answer_states(c, &view) : answer_kinds(c, &view));
}

void handle_count(struct call *c)
{
    struct list_call l;
    pawl_error err;
    pawl_str text;
    const char *by = call_param(c, "by");
    if (!listing_read(c, &l) || answer_by_census(c, by))
        return;
    if (pawl_client_count(c->srv->client, &l.filter, by, c->mem, &text, &err) == PAWL_OK)
        answer_text(c, 200, NULL, text);
    else
        answer_failure(c, &err);
}
