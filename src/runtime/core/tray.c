/* SPDX-License-Identifier: MIT */
/* runtime/core/tray.c -- see tray.h.  Called by seal.c, job.c, timers_due.c, lease_client.c, open_runtime.c. */
#include "runtime/core/tray.h"

#include "base/limits.h"
#include "runtime/core/registry.h"

#include <stdlib.h>
#include <string.h>

pawl_str tray_of(pawl_mem *mem, pawl_str activity, pawl_str tag)
{
    if (!tag.len)
        return activity;
    return pawl_mem_printf(mem, "%.*s%c%.*s", PAWL_FMT(activity), TRAY_MARK, PAWL_FMT(tag));
}

pawl_str tray_of_call(pawl_mem *mem, pawl_str activity, const struct call_policy *p)
{
    if (!p->key.len && p->priority == LIMIT_PRIORITY_DEFAULT)
        return tray_of(mem, activity, p->tag);
    return pawl_mem_printf(mem, "%.*s%c%.*s%c%03u%c%.*s", PAWL_FMT(activity), TRAY_MARK,
                           PAWL_FMT(p->tag), TRAY_MARK, p->priority, TRAY_MARK, PAWL_FMT(p->key));
}

bool tray_cut(pawl_str tray, struct tray_parts *ret)
{
    const char *end = tray.ptr + tray.len;
    const char *one = tray.len ? memchr(tray.ptr, TRAY_MARK, tray.len) : NULL;
    const char *two = one ? memchr(one + 1, TRAY_MARK, (size_t)(end - one - 1)) : NULL;
    *ret = (struct tray_parts){.class = tray, .priority = LIMIT_PRIORITY_DEFAULT};
    if (!two || end - two < 5 || two[4] != TRAY_MARK)
        return false;
    uint32_t priority = 0;
    for (const char *c = two + 1; c < two + 4; c++)
        priority = priority * 10 + (uint32_t)(*c - '0') % 10;
    ret->priority = priority ? priority : LIMIT_PRIORITY_DEFAULT;
    ret->class.len = (size_t)(two - tray.ptr) - (two == one + 1);
    ret->key = (pawl_str){two + 5, (size_t)(end - two - 5)};
    return true;
}

pawl_str tray_activity(pawl_str tray)
{
    const char *mark = tray.len ? memchr(tray.ptr, TRAY_MARK, tray.len) : NULL;
    return mark ? (pawl_str){tray.ptr, (size_t)(mark - tray.ptr)} : tray;
}

size_t tray_product(pawl_mem *mem, const pawl_str *activities, size_t activity_count,
                    const pawl_str *tags, size_t tag_count, const pawl_str **ret)
{
    size_t n = 0;
    pawl_str *trays = arena_array(mem, pawl_str, activity_count * (tag_count + 1) + 1);
    for (size_t i = 0; i < activity_count; i++) {
        trays[n++] = activities[i];
        for (size_t k = 0; k < tag_count; k++)
            trays[n++] = tray_of(mem, activities[i], tags[k]);
    }
    *ret = trays;
    return n;
}

/* ---- Those of this process --------------------------------------------------------- */

/* The next of the words between commas, without the blanks around it. */
static pawl_str next_word(const char **at)
{
    const char *begin = *at + strspn(*at, ", ");
    const char *end = begin + strcspn(begin, ",");
    *at = end;
    while (end > begin && end[-1] == ' ')
        end--;
    return (pawl_str){begin, (size_t)(end - begin)};
}

bool tray_open(pawl_runtime *rt, pawl_error *reterr)
{
    rt->trays.text = strdup(rt->opts.tags ? rt->opts.tags : "");
    rt->trays.tags =
        calloc(strlen(rt->opts.tags ? rt->opts.tags : "") / 2 + 1, sizeof(*rt->trays.tags));
    if (!rt->trays.text || !rt->trays.tags) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return false;
    }
    const char *at = rt->trays.text;
    for (pawl_str word; (word = next_word(&at)).len;) {
        if (!check_name("tag", word, reterr))
            return false;
        rt->trays.tags[rt->trays.count++] = word;
    }
    return true;
}

void tray_close(pawl_runtime *rt)
{
    free(rt->trays.tags);
    free(rt->trays.text);
}

static bool is_last(const pawl_runtime *rt, pawl_str name)
{
    const struct activity_entry *e = rt->trays.last;
    return e && e->len == name.len && memcmp(e->name, name.ptr, e->len) == 0;
}

/* Entries are never removed, so what was found stays right. */
const struct activity_entry *tray_entry(pawl_runtime *rt, pawl_str activity)
{
    if (!is_last(rt, activity)) {
        const struct activity_entry *e = registry_activity(rt->app, activity);
        if (!e)
            return NULL;
        rt->trays.last = e;
    }
    return rt->trays.last;
}

const struct activity_entry *tray_is_ours(pawl_runtime *rt, pawl_str tray)
{
    if (is_last(rt, tray)) /* no tag, most often */
        return rt->trays.last;
    pawl_str activity = tray_activity(tray);
    size_t skip = activity.len + 1; /* the mark */
    bool ours = skip > tray.len;
    for (size_t i = 0; i < rt->trays.count && !ours; i++)
        ours = pawl_str_eq(rt->trays.tags[i], (pawl_str){tray.ptr + skip, tray.len - skip});
    return ours ? tray_entry(rt, activity) : NULL;
}

size_t tray_ours(pawl_runtime *rt, pawl_mem *mem, const pawl_str **ret)
{
    size_t n = registry_activity_names(rt->app, mem, ret);
    return rt->trays.count ? tray_product(mem, *ret, n, rt->trays.tags, rt->trays.count, ret) : n;
}
