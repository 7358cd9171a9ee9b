/* SPDX-License-Identifier: MIT */
/* runtime/core/lane.c -- see lane.h.  Called by seal.c, job.c, timers_due.c, lease_client.c, open_runtime.c. */
#include "runtime/core/lane.h"

#include "base/limits.h"
#include "runtime/core/registry.h"

#include <stdlib.h>
#include <string.h>

pawl_str lane_of(pawl_mem *mem, pawl_str activity, pawl_str tag)
{
    if (!tag.len)
        return activity;
    return pawl_mem_printf(mem, "%.*s%c%.*s", PAWL_FMT(activity), LANE_MARK, PAWL_FMT(tag));
}

pawl_str lane_of_call(pawl_mem *mem, pawl_str activity, const struct call_policy *p)
{
    if (!p->key.len && p->priority == LIMIT_PRIORITY_DEFAULT)
        return lane_of(mem, activity, p->tag);
    return pawl_mem_printf(mem, "%.*s%c%.*s%c%03u%c%.*s", PAWL_FMT(activity), LANE_MARK,
                           PAWL_FMT(p->tag), LANE_MARK, p->priority, LANE_MARK, PAWL_FMT(p->key));
}

bool lane_cut(pawl_str lane, struct lane_parts *ret)
{
    const char *end = lane.ptr + lane.len;
    const char *one = lane.len ? memchr(lane.ptr, LANE_MARK, lane.len) : NULL;
    const char *two = one ? memchr(one + 1, LANE_MARK, (size_t)(end - one - 1)) : NULL;
    *ret = (struct lane_parts){.class = lane, .priority = LIMIT_PRIORITY_DEFAULT};
    if (!two || end - two < 5 || two[4] != LANE_MARK)
        return false;
    uint32_t priority = 0;
    for (const char *c = two + 1; c < two + 4; c++)
        priority = priority * 10 + (uint32_t)(*c - '0') % 10;
    ret->priority = priority ? priority : LIMIT_PRIORITY_DEFAULT;
    ret->class.len = (size_t)(two - lane.ptr) - (two == one + 1);
    ret->key = (pawl_str){two + 5, (size_t)(end - two - 5)};
    return true;
}

pawl_str lane_activity(pawl_str lane)
{
    const char *mark = lane.len ? memchr(lane.ptr, LANE_MARK, lane.len) : NULL;
    return mark ? (pawl_str){lane.ptr, (size_t)(mark - lane.ptr)} : lane;
}

size_t lane_product(pawl_mem *mem, const pawl_str *activities, size_t activity_count,
                    const pawl_str *tags, size_t tag_count, const pawl_str **ret)
{
    size_t n = 0;
    pawl_str *lanes = arena_array(mem, pawl_str, activity_count * (tag_count + 1) + 1);
    for (size_t i = 0; i < activity_count; i++) {
        lanes[n++] = activities[i];
        for (size_t k = 0; k < tag_count; k++)
            lanes[n++] = lane_of(mem, activities[i], tags[k]);
    }
    *ret = lanes;
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

bool lane_open(pawl_runtime *rt, pawl_error *reterr)
{
    rt->lanes.text = strdup(rt->opts.tags ? rt->opts.tags : "");
    rt->lanes.tags =
        calloc(strlen(rt->opts.tags ? rt->opts.tags : "") / 2 + 1, sizeof(*rt->lanes.tags));
    if (!rt->lanes.text || !rt->lanes.tags) {
        error_set(reterr, PAWL_NO_MEMORY, "out of memory");
        return false;
    }
    const char *at = rt->lanes.text;
    for (pawl_str word; (word = next_word(&at)).len;) {
        if (!check_name("tag", word, reterr))
            return false;
        rt->lanes.tags[rt->lanes.count++] = word;
    }
    return true;
}

void lane_close(pawl_runtime *rt)
{
    free(rt->lanes.tags);
    free(rt->lanes.text);
}

static bool is_last(const pawl_runtime *rt, pawl_str name)
{
    const struct activity_entry *e = rt->lanes.last;
    return e && e->len == name.len && memcmp(e->name, name.ptr, e->len) == 0;
}

/* Entries are never removed, so what was found stays right. */
const struct activity_entry *lane_entry(pawl_runtime *rt, pawl_str activity)
{
    if (!is_last(rt, activity)) {
        const struct activity_entry *e = registry_activity(rt->app, activity);
        if (!e)
            return NULL;
        rt->lanes.last = e;
    }
    return rt->lanes.last;
}

const struct activity_entry *lane_is_ours(pawl_runtime *rt, pawl_str lane)
{
    if (is_last(rt, lane)) /* no tag, most often */
        return rt->lanes.last;
    pawl_str activity = lane_activity(lane);
    size_t skip = activity.len + 1; /* the mark */
    bool ours = skip > lane.len;
    for (size_t i = 0; i < rt->lanes.count && !ours; i++)
        ours = pawl_str_eq(rt->lanes.tags[i], (pawl_str){lane.ptr + skip, lane.len - skip});
    return ours ? lane_entry(rt, activity) : NULL;
}

size_t lane_ours(pawl_runtime *rt, pawl_mem *mem, const pawl_str **ret)
{
    size_t n = registry_activity_names(rt->app, mem, ret);
    return rt->lanes.count ? lane_product(mem, *ret, n, rt->lanes.tags, rt->lanes.count, ret) : n;
}
