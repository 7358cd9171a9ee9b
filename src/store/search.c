/* SPDX-License-Identifier: MIT */
/* store/search.c -- see search.h. */
#include "store/search.h"

#include "base/str.h"

uint32_t search_states(const pawl_search *s)
{
    uint32_t states = s->states ? s->states : SEARCH_ALL_STATES;
    return s->query.state ? states & 1u << (s->query.state - 1) : states;
}

bool search_reads_output(pawl_state state)
{
    return state == PAWL_FAILED || state == PAWL_CANCELLED;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool is_at(const char *at, pawl_str text)
{
    size_t i = 0;
    while (i < text.len && lower(at[i]) == lower(text.ptr[i]))
        i++;
    return i == text.len;
}

bool search_text_in(pawl_str in, pawl_str text)
{
    for (size_t i = 0; i + text.len <= in.len; i++)
        if (is_at(in.ptr + i, text))
            return true;
    return false;
}

static bool has_text(const pawl_row *row, pawl_str text)
{
    return search_text_in(row->id, text) || search_text_in(row->orchestration, text) ||
           search_text_in(row->custom_status, text) || search_text_in(row->finding, text) ||
           (search_reads_output(row->state) && search_text_in(row->output, text));
}

bool search_error_in(pawl_state state, pawl_str output, pawl_str finding, pawl_str text)
{
    return (search_reads_output(state) && search_text_in(output, text)) ||
           (state == PAWL_BLOCKED && search_text_in(finding, text));
}

const pawl_where *search_along(const pawl_search *s)
{
    const pawl_where *range = NULL;
    for (size_t i = 0; i < s->where_count; i++) {
        if (s->where[i].op == PAWL_WHERE_EQ)
            return &s->where[i];
        if (!range && s->where[i].op != PAWL_WHERE_NE)
            range = &s->where[i];
    }
    return range;
}

static bool times_match(const pawl_search *s, const pawl_row *row)
{
    const pawl_row_query *q = &s->query;
    bool ended = pawl_state_is_terminal(row->state);
    if (q->created_after_ms && row->created_ms <= q->created_after_ms)
        return false;
    if (s->created_before_ms && row->created_ms >= s->created_before_ms)
        return false;
    if (q->ended_before_ms && !(ended && row->updated_ms < q->ended_before_ms))
        return false;
    return !s->ended_after_ms || (ended && row->updated_ms > s->ended_after_ms);
}

bool search_matches(const pawl_search *s, const pawl_row *row)
{
    const pawl_row_query *q = &s->query;
    if (!(search_states(s) & 1u << row->state) || (s->roots && row->parent_uid))
        return false;
    if (q->orchestration.len && !pawl_str_eq(row->orchestration, q->orchestration))
        return false;
    if (q->parent_uid && row->parent_uid != q->parent_uid)
        return false;
    if (!times_match(s, row) || !attributes_fit(row->attributes, s->where, s->where_count))
        return false;
    if (s->error.len && !search_error_in(row->state, row->output, row->finding, s->error))
        return false;
    return str_begins(row->id, q->prefix) && (!s->text.len || has_text(row, s->text));
}
