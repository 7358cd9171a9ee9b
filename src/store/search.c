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

bool search_matches(const pawl_search *s, const pawl_row *row)
{
    const pawl_row_query *q = &s->query;
    if (!(search_states(s) & 1u << row->state) || (s->roots && row->parent_uid))
        return false;
    if (q->orchestration.len && !pawl_str_eq(row->orchestration, q->orchestration))
        return false;
    if (q->parent_uid && row->parent_uid != q->parent_uid)
        return false;
    if (q->created_after_ms && row->created_ms <= q->created_after_ms)
        return false;
    if (q->ended_before_ms &&
        !(pawl_state_is_terminal(row->state) && row->updated_ms < q->ended_before_ms))
        return false;
    return str_begins(row->id, q->prefix) && (!s->text.len || has_text(row, s->text));
}
