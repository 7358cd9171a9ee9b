/* SPDX-License-Identifier: MIT */
/* runtime/instance/attribute_set.c -- see attribute_set.h. */
#include "runtime/instance/attribute_set.h"

#include "base/str.h"
#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "runtime/instance/load.h"
#include "store/store.h"

/* ---- At the start ------------------------------------------------------------------ */

/* One of ours on top; one that does not fit is left out. */
static pawl_str with_ours(pawl_runtime *rt, pawl_str set, const char *name, pawl_str text)
{
    struct attribute one = {.name = pawl_s(name), .text = text};
    pawl_str merged;
    if (text.len > PAWL_ATTRIBUTE_TEXT_MAX ||
        !attributes_merge(&rt->group_mem, set, &(struct attribute_list){&one, 1}, &merged, NULL))
        return set;
    return merged;
}

/* What a client gave; it was checked in its thread. */
static pawl_str canonical(pawl_runtime *rt, pawl_str given)
{
    pawl_str set = {0};
    struct attribute_list list;
    if (!given.len)
        return set;
    bool fits = attributes_read(&rt->group_mem, given, ATTRIBUTES_OF_USERS, &list, NULL) &&
                attributes_merge(&rt->group_mem, set, &list, &set, NULL);
    assert_that(fits);
    return set;
}

pawl_str attributes_at_start(pawl_runtime *rt, const struct letter *l)
{
    pawl_str attrs = l->mail.attrs,
             set = canonical(rt, l->asked ? l->ask.attributes : (pawl_str){0});
    if (!attrs.len)
        return set;
    pawl_str inherited = pawl_json_get(attrs, "/attributes");
    if (inherited.len)
        set = inherited;
    if (pawl_json_int(attrs, "/scheduled_at", 0))
        set = with_ours(rt, set, "pawl.schedule",
                        pawl_json_text(&rt->group_mem, attrs, "/schedule", ""));
    pawl_str queue = pawl_json_get(attrs, "/queue");
    return queue.len ? with_ours(rt, set, "pawl.queue",
                                 pawl_json_text(&rt->group_mem, attrs, "/queue", ""))
                     : set;
}

bool attributes_rerun(pawl_runtime *rt, struct stage *s, const struct letter *l, pawl_error *reterr)
{
    if (!l->ask.attributes.len)
        return true;
    struct attribute_list change = attributes_of(&rt->group_mem, l->ask.attributes);
    return attributes_merge(&rt->group_mem, s->row.attributes, &change, &s->row.attributes, reterr);
}

void attributes_repair(pawl_runtime *rt, struct stage *s, const pawl_event *started)
{
    pawl_str set =
        started->attrs.len ? pawl_json_get(started->attrs, "/attributes") : (pawl_str){0};
    if (started->execution != s->row.execution || s->row.attributes.len || !set.len)
        return;
    s->row.attributes = arena_dup(&rt->group_mem, set);
    s->change = s->change == PAWL_ROW_INSERT ? s->change : PAWL_ROW_ALL;
}

/* ---- By its code ---------------------------------------------------------------------- */

bool attributes_ask(void *user, const struct attribute_list *change, pawl_error *reterr)
{
    struct resident *r = user;
    struct stage *s = r->stage;
    if (!s)
        return true;
    pawl_str now = s->asked_attributes ? *s->asked_attributes : s->row.attributes;
    if (!attributes_merge(&r->rt->group_mem, now, change, &now, reterr))
        return false;
    if (!s->asked_attributes)
        s->asked_attributes = arena_new(&r->rt->group_mem, pawl_str);
    *s->asked_attributes = now;
    return true;
}

void attributes_derive(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    struct attribute_list change;
    pawl_error err;
    if (!attributes_read(&rt->group_mem, e->data, ATTRIBUTES_OF_USERS, &change, &err) ||
        !attributes_merge(&rt->group_mem, s->row.attributes, &change, &s->row.attributes, &err)) {
        log_warn(&rt->log, "turn", "attributes are left as they were", "instance=%.*s why=\"%s\"",
                 PAWL_FMT(s->row.id), err.text);
        return;
    }
    s->change = s->change == PAWL_ROW_INSERT ? s->change : PAWL_ROW_ALL;
}

/* ---- The index ------------------------------------------------------------------------- */

/* Entries of what `a` has and `b` has not, or has with another value. */
static size_t add_missing(pawl_mem *mem, const struct attribute_list *a,
                          const struct attribute_list *b, bool drop, pawl_attribute_entry *ret)
{
    size_t count = 0, k = 0;
    for (size_t i = 0; i < a->count; i++) {
        while (k < b->count && str_compare(b->items[k].name, a->items[i].name) < 0)
            k++;
        if (k < b->count && pawl_str_eq(b->items[k].name, a->items[i].name) &&
            attribute_same(&a->items[i], &b->items[k]))
            continue;
        ret[count++] = (pawl_attribute_entry){
            .name = a->items[i].name, .key = attribute_key(mem, &a->items[i]), .drop = drop};
    }
    return count;
}

const pawl_attribute_entry *attributes_entries(pawl_runtime *rt, const struct stage *s,
                                               size_t *retcount)
{
    *retcount = 0;
    if (!s->r)
        return NULL;
    pawl_str before = s->change != PAWL_ROW_INSERT ? s->r->row.attributes : (pawl_str){0};
    pawl_str after = s->change != PAWL_ROW_REMOVE ? s->row.attributes : (pawl_str){0};
    if ((!before.len && !after.len) || pawl_str_eq(before, after))
        return NULL;
    struct attribute_list old = attributes_of(&rt->group_mem, before);
    struct attribute_list now = attributes_of(&rt->group_mem, after);
    pawl_attribute_entry *entries =
        arena_array(&rt->group_mem, pawl_attribute_entry, old.count + now.count + 1);
    *retcount = add_missing(&rt->group_mem, &old, &now, true, entries);
    *retcount += add_missing(&rt->group_mem, &now, &old, false, entries + *retcount);
    return entries;
}

/* ---- By an operator -------------------------------------------------------------------- */

/* A resident has no output; one that has ended keeps its own. */
static bool keep_output(pawl_runtime *rt, struct stage *s)
{
    pawl_row stored;
    if (!pawl_state_is_terminal(s->row.state))
        return true;
    if (store_find_uid(rt->store, s->row.uid, &rt->group_mem, &stored, NULL) != PAWL_OK)
        return false;
    s->row.output = stored.output;
    return true;
}

enum verdict_kind attributes_call(pawl_runtime *rt, struct letter *call)
{
    enum verdict_kind verdict;
    struct attribute_list change;
    pawl_error err;
    pawl_str set;
    struct resident *r = load_for_call(rt, call, &verdict);
    if (!r)
        return verdict;
    if (!attributes_read(&rt->group_mem, call->mail.data, ATTRIBUTES_OF_USERS, &change, &err) ||
        !attributes_merge(&rt->group_mem, r->row.attributes, &change, &set, &err)) {
        request_refuse(call, err.status, "%s", err.text);
        return VERDICT_DONE;
    }
    struct stage *s = stage_of(rt, r);
    if (!keep_output(rt, s)) {
        (void)stage_abort(rt, s);
        request_refuse(call, PAWL_UNAVAILABLE, "the store did not answer; try again");
        return VERDICT_DONE;
    }
    s->row.attributes = set;
    s->change = PAWL_ROW_ALL;
    stage_answer(s, call);
    return VERDICT_DONE;
}
