/* SPDX-License-Identifier: MIT */
/*
 * store/sql/count.c -- how many instances have each value of an attribute (L8).
 *
 * The index of attributes is in segments of uids; within one the values of a name are in order.  So
 * a segment is one walk that the database groups by itself, and the values of all segments are
 * merged here.  Only the first `max_values` values are kept: a walk ends at the first value behind
 * them, and memory does not grow with what there is.
 */
#include "store/sql/cursor.h"
#include "store/sql/reads.h"
#include "store/sql/sql_statements.h"
#include "store/value_counts.h"

struct merging {
    struct value_counts values;
    uint64_t left; /* entries that may still be counted */
};

/* False: enough was counted. */
static bool count_segment(struct sql_cursor *c, uint64_t segment, pawl_str name, struct merging *m)
{
    if (!cursor_use(c, ST_ATTRIBUTE_VALUES))
        return false;
    cursor_bind_id(c, 1, segment);
    cursor_bind_text(c, 2, name);
    while (cursor_next(c)) {
        uint64_t n = (uint64_t)cursor_i64(c, 1);
        if (n > m->left) {
            m->values.more = true;
            n = m->left;
        }
        m->left -= n;
        if (!n || !value_counts_add(&m->values, cursor_view(c, 0), n))
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
    struct merging m = {.left = max_entries};
    uint64_t segment = INT64_MAX >> 18;

    pawl_fill(ret, &(pawl_value_counts){0}, sizeof(pawl_value_counts));
    if (!cursor_begin(&c, s, ST_ATTRIBUTE_SEGMENT, "count values", mem, &status, reterr))
        return status;
    value_counts_init(&m.values, max_values, mem);
    bool more = cursor_snapshot(&c);
    while (more && find_segment(&c, &segment)) {
        more = count_segment(&c, segment, name, &m);
        if (segment-- == 0)
            break;
    }
    pawl_value_counts found = {
        .items = m.values.items,
        .count = m.values.count,
        .examined = max_entries - m.left,
        .more = m.values.more || !m.left,
    };
    pawl_fill(ret, &found, sizeof(found));
    return cursor_end(&c, reterr);
}
