/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_filter.c -- conditions on attributes, and sets of attributes.
 *
 * The first line is a condition, the rest a change of attributes.  A set that is accepted is
 * canonical: merged into itself it is the same bytes, and each key stands for its value.  Whether a
 * condition holds is said twice, by comparing values (attributes_fit) and by the order of keys
 * (attribute_range), which is what an index does: both must say the same.
 */
#include "base/attributes.h"
#include "base/limits.h"
#include "base/str.h"
#include "fuzz.h"

/* Does the key fit, as an index compares it? */
static bool fits_range(const struct attribute_range *r, pawl_str key)
{
    if (r->exact)
        return pawl_str_eq(key, r->from);
    return str_compare(key, r->from) >= 0 && str_compare(key, r->to) < 0 &&
           !(r->except.len && pawl_str_eq(key, r->except));
}

static bool fits_by_keys(pawl_mem *mem, const struct attribute_list *set, const pawl_where *w)
{
    struct attribute_range r = attribute_range(mem, w);
    for (size_t i = 0; i < set->count; i++)
        if (pawl_str_eq(set->items[i].name, w->name))
            return fits_range(&r, attribute_key(mem, &set->items[i]));
    return false;
}

/* The canonical set of a change; false: it is refused. */
static bool check_set(pawl_mem *mem, pawl_str json, pawl_str *ret)
{
    struct attribute_list change, again;
    pawl_error err = {0};
    pawl_str twice;
    if (!attributes_read(mem, json, ATTRIBUTES_OURS, &change, &err) ||
        !attributes_merge(mem, (pawl_str){0}, &change, ret, &err)) {
        must(err.text[0]);
        return false;
    }
    must(utf8_valid(*ret));
    must(attributes_read(mem, *ret, ATTRIBUTES_OURS, &again, &err));
    must(attributes_merge(mem, *ret, &again, &twice, &err) && pawl_str_eq(*ret, twice));
    for (size_t i = 0; i < again.count; i++) {
        struct attribute back;
        pawl_str key = attribute_key(mem, &again.items[i]);
        must(key.len <= ATTRIBUTE_KEY_MAX && utf8_valid(key) && attribute_of_key(key, &back));
        back.name = again.items[i].name;
        must(attribute_same(&back, &again.items[i]));
    }
    return true;
}

static void check_condition(pawl_mem *mem, pawl_str text, pawl_str set)
{
    pawl_where w;
    pawl_error err = {0};
    if (!pawl_where_parse(mem, text, &w, &err)) {
        must(err.text[0]);
        return;
    }
    must(where_check(&w, &err));
    struct attribute_list items = attributes_of(mem, set);
    must(attributes_fit(set, &w, 1) == fits_by_keys(mem, &items, &w));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    pawl_mem *mem = pawl_mem_new();
    pawl_str condition = pawl_mem_dup(mem, feed_line(&f)), set = {0};
    if (check_set(mem, pawl_mem_dup(mem, feed_rest(&f)), &set))
        check_condition(mem, condition, set);
    else
        check_condition(mem, condition, (pawl_str){0});
    pawl_mem_free(mem);
    return 0;
}
