/* SPDX-License-Identifier: MIT */
/*
 * store/sql/count.c -- how many instances have each value of an attribute (L8).
 *
 * The index of attributes is in segments of uids; within one the values of a name are in order.  So
 * a segment is one walk that the database groups by itself, and the values of all segments are
 * merged here.  Only the first `max_values` values are kept: a walk ends at the first value behind
 * them, and memory does not grow with what there is.
 *
 * Invariant: `items` are in the order of their keys, each once.
 */
#include "base/arena.h"
#include "base/str.h"
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"

#include <string.h>

struct merging {
    pawl_value_count *items;
    size_t count, max;
    uint64_t left; /* entries that may still be counted */
    bool more;
};

/* Where the key is, or belongs. */
static size_t place_of(const struct merging *m, pawl_str key)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (str_compare(m->items[mid].key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* False: it, and what follows in this segment, is behind those that are kept. */
static bool add(struct merging *m, pawl_mem *mem, pawl_str key, uint64_t count)
{
    size_t at = place_of(m, key);
    if (at < m->count && pawl_str_eq(m->items[at].key, key)) {
        m->items[at].count += count;
        return true;
    }
    if (at == m->max) {
        m->more = true;
        return false;
    }
    m->more = m->more || m->count == m->max; /* the last one makes room */
    m->count -= m->count == m->max;
    memmove(&m->items[at + 1], &m->items[at], (m->count - at) * sizeof(m->items[0]));
    m->items[at] = (pawl_value_count){.key = pawl_mem_dup(mem, key), .count = count};
    m->count++;
    return true;
}

/* False: enough was counted. */
static bool count_segment(struct sql_cursor *c, uint64_t segment, pawl_str name, struct merging *m,
                          pawl_mem *mem)
{
    if (!cursor_use(c, ST_ATTRIBUTE_VALUES))
        return false;
    cursor_bind_id(c, 1, segment);
    cursor_bind_text(c, 2, name);
    while (cursor_next(c)) {
        uint64_t n = (uint64_t)cursor_i64(c, 1);
        if (n > m->left) {
            m->more = true;
            n = m->left;
        }
        m->left -= n;
        if (!n || !add(m, mem, cursor_view(c, 0), n))
            break;
    }
    cursor_rest(c);
    return m->left > 0;
}

/* The newest segment up to this one that has entries; false: there is none. */
static bool find_segment(struct sql_cursor *c, uint64_t *segment)
{
    if (!cursor_use(c, ST_ATTRIBUTE_SEGMENT))
        return false;
    cursor_bind_id(c, 1, *segment);
    bool found = cursor_next(c);
    if (found)
        *segment = cursor_id(c, 0);
    cursor_rest(c);
    return found;
}

pawl_status sql_count_values(pawl_store *s, pawl_str name, uint32_t max_values,
                             uint64_t max_entries, pawl_mem *mem, pawl_value_counts *ret,
                             pawl_error *reterr)
{
    struct sql_cursor c;
    pawl_status status;
    struct merging m = {.max = max_values, .left = max_entries};
    uint64_t segment = INT64_MAX >> 18;

    pawl_fill(ret, &(pawl_value_counts){0}, sizeof(pawl_value_counts));
    if (!cursor_begin(&c, s, ST_ATTRIBUTE_SEGMENT, "count values", mem, &status, reterr))
        return status;
    m.items = pawl_mem_alloc(mem, ((size_t)max_values + 1) * sizeof(*m.items));
    bool more = cursor_snapshot(&c);
    while (more && find_segment(&c, &segment)) {
        more = count_segment(&c, segment, name, &m, mem);
        if (segment-- == 0)
            break;
    }
    pawl_value_counts found = {
        .items = m.items,
        .count = m.count,
        .examined = max_entries - m.left,
        .more = m.more || !m.left,
    };
    pawl_fill(ret, &found, sizeof(found));
    return cursor_end(&c, reterr);
}
