/* SPDX-License-Identifier: MIT */
/*
 * runtime/api/count_client.c -- pawl_client_count(): instances by status, orchestration, attribute.
 *
 * Two ways.  The values of one attribute of all instances are counted along its index, by the store
 * (L8).  Everything else is a search: its pages are walked on the caller's thread, each a snapshot
 * of its own and at most 10,000 rows, so that a long count holds nothing that others wait for.
 *
 * What lies behind the first GROUPS_MAX groups is only counted in the total.  A key is a text that
 * sorts as the values do.
 */
#include "base/arena.h"
#include "base/attributes.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/str.h"
#include "runtime/api/query.h"
#include "runtime/core/gate.h"
#include "store/store.h"
#include "store/value_counts.h"

#include <string.h>

#define GROUPS_MAX   1000
#define EXAMINED_MAX 1000000
#define PAGE_ROWS    10000

enum by { BY_NOTHING, BY_STATUS, BY_ORCHESTRATION, BY_ATTRIBUTE };

struct counting {
    enum by by;
    pawl_str name; /* as it was given */
    struct value_counts groups;
    uint64_t total, examined;
};

/* ---- Groups ------------------------------------------------------------------------------ */

/* The key that the row is counted under; false: it is in no group. */
static bool key_of(const struct counting *n, const pawl_row *row, pawl_mem *mem, pawl_str *ret)
{
    if (n->by == BY_STATUS)
        *ret = pawl_s(pawl_state_name(row->state));
    else if (n->by == BY_ORCHESTRATION)
        *ret = row->orchestration;
    else if (n->by == BY_ATTRIBUTE) {
        struct attribute_list all = attributes_of(mem, row->attributes);
        for (size_t i = 0; i < all.count; i++)
            if (pawl_str_eq(all.items[i].name, n->name)) {
                *ret = attribute_key(mem, &all.items[i]);
                return true;
            }
    }
    return n->by == BY_STATUS || n->by == BY_ORCHESTRATION;
}

/* ---- Two ways ------------------------------------------------------------------------------ */

static pawl_status walk(pawl_client *c, pawl_search *search, struct counting *n, pawl_error *err)
{
    pawl_mem page;
    pawl_status rc = PAWL_OK;
    bool more = true;
    arena_init(&page);
    search->query.limit = PAGE_ROWS;
    search->query.before_uid = 0;
    while (rc == PAWL_OK && more && n->examined < EXAMINED_MAX) {
        pawl_found found = {.size = sizeof(found)};
        arena_reset(&page);
        rc = store_search(c->rt->store, search, &page, &found, err);
        for (size_t i = 0; rc == PAWL_OK && i < found.rows.count; i++) {
            pawl_str key = {0};
            n->total++;
            if (key_of(n, &found.rows.items[i], &page, &key))
                (void)value_counts_add(&n->groups, key, 1);
        }
        n->examined += found.examined > found.rows.count ? found.examined : found.rows.count;
        search->query.before_uid = found.rows.next_uid;
        more = found.rows.next_uid != 0;
    }
    n->groups.more = n->groups.more || more;
    arena_deinit(&page);
    return rc;
}

/* Is nothing asked for but which values there are? */
static bool is_plain(const pawl_search *s)
{
    const pawl_row_query *q = &s->query;
    return !s->states && !s->roots && !s->text.len && !s->where_count && !s->created_before_ms &&
           !s->ended_after_ms && !s->error.len && !q->state && !q->orchestration.len &&
           !q->prefix.len && !q->parent_uid && !q->created_after_ms && !q->ended_before_ms;
}

static pawl_status count_values(pawl_client *c, struct counting *n, pawl_error *err)
{
    pawl_value_counts values;
    pawl_status rc = store_count_values(c->rt->store, n->name, GROUPS_MAX, EXAMINED_MAX,
                                        n->groups.mem, &values, err);
    if (rc != PAWL_OK)
        return rc;
    for (size_t i = 0; i < values.count; i++)
        n->groups.items[i] = values.items[i];
    n->groups.count = values.count;
    n->groups.more = values.more;
    n->total = n->examined = values.examined;
    return rc;
}

/* ---- The answer ----------------------------------------------------------------------------- */

static void put_number(pawl_json *w, const char *key, uint64_t number)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)number);
}

static void put_group(pawl_json *w, const struct counting *n, const pawl_value_count *group)
{
    struct attribute a = {.text = group->key};
    if (n->by == BY_ATTRIBUTE)
        (void)attribute_of_key(group->key, &a);
    pawl_json_object(w);
    pawl_json_key(w, "value");
    if (a.is_number)
        pawl_json_num(w, a.number);
    else
        pawl_json_str(w, a.text);
    put_number(w, "count", group->count);
    pawl_json_end(w);
}

static pawl_str answer(const struct counting *n, pawl_mem *mem)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    pawl_json_key(w, "by");
    if (n->by == BY_NOTHING)
        pawl_json_null(w);
    else
        pawl_json_str(w, n->name);
    pawl_json_key(w, "groups");
    pawl_json_array(w);
    for (size_t i = 0; i < n->groups.count; i++)
        put_group(w, n, &n->groups.items[i]);
    pawl_json_end(w);
    put_number(w, "total", n->total);
    put_number(w, "examined", n->examined);
    pawl_json_key(w, "more");
    pawl_json_truth(w, n->groups.more);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static bool read_by(struct counting *n, const char *by, pawl_error *err)
{
    n->name = pawl_s(by);
    n->by = !by                                ? BY_NOTHING
            : strcmp(by, "status") == 0        ? BY_STATUS
            : strcmp(by, "orchestration") == 0 ? BY_ORCHESTRATION
                                               : BY_ATTRIBUTE;
    return n->by != BY_ATTRIBUTE || str_begins(n->name, pawl_s("pawl.")) ||
           attribute_check_name(n->name, err);
}

pawl_status pawl_client_count(pawl_client *c, const pawl_filter *filter, const char *by,
                              pawl_mem *mem, pawl_str *ret, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_filter none = {.size = sizeof(none)}, room;
    pawl_search search;
    if (!IS_THERE(c && mem && ret, "a client, memory and room for the answer", err) ||
        !gate_pass(c, GATE_READS, err) ||
        !(filter = OPTIONS_OF(&room, filter ? filter : &none, "pawl_filter", err)))
        return err->status;
    struct counting counting = {0}, *n = &counting;
    value_counts_init(&n->groups, GROUPS_MAX, mem);
    if (!read_by(n, by, err) || !filter_search(c, filter, mem, &search, err))
        return err->status;
    pawl_status rc = PAWL_UNSUPPORTED;
    if (n->by == BY_ATTRIBUTE && is_plain(&search))
        rc = count_values(c, n, err);
    if (rc == PAWL_UNSUPPORTED)
        rc = walk(c, &search, n, err);
    if (rc == PAWL_OK)
        *ret = answer(n, mem);
    return rc;
}
