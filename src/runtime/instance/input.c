/* SPDX-License-Identifier: MIT */
/* runtime/instance/input.c -- see input.h.  Called by begin.c and finish.c. */
#include "runtime/instance/input.h"

#include "base/json.h"
#include "base/rand.h"
#include "runtime/core/letter.h"
#include "store/store.h"

/* JSON without the blanks between its words; anything else as it is. */
static pawl_str without_blanks(pawl_mem *mem, pawl_str text)
{
    if (!pawl_json_valid(text, NULL))
        return text;
    char *to = arena_alloc(mem, text.len + 1);
    size_t n = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (!quoted && blank)
            continue;
        to[n++] = c;
        if (quoted && c == '\\' && i + 1 < text.len)
            to[n++] = text.ptr[++i];
        else if (c == '"')
            quoted = !quoted;
    }
    return (pawl_str){to, n};
}

static pawl_str key_of(pawl_runtime *rt, pawl_str data)
{
    static const uint64_t salts[2][2] = {
        {UINT64_C(0x7061776c696e7031), UINT64_C(0x6f6e636520737461)},
        {UINT64_C(0x7061776c696e7032), UINT64_C(0x7274656420776974)}
    };
    pawl_str plain = without_blanks(&rt->group_mem, data);
    return pawl_mem_printf(&rt->group_mem, RESERVED_KEYS "input %016llx%016llx",
                           (unsigned long long)siphash24(salts[0], plain.ptr, plain.len),
                           (unsigned long long)siphash24(salts[1], plain.ptr, plain.len));
}

pawl_status input_of(pawl_runtime *rt, const struct resident *r, pawl_str *ret, uint64_t *retrow)
{
    *retrow = 0;
    if (r->stage && r->stage->change == PAWL_ROW_INSERT && r->stage->letters) {
        *ret = r->stage->letters->mail.data;
        return PAWL_OK;
    }
    pawl_row first;
    pawl_event started;
    pawl_error err;
    pawl_message_list list;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_find_execution(rt->store, r->row.uid, 1, &rt->load_mem, &first, &err);
    if (rc == PAWL_OK && first.first_rid) {
        rc = store_read_event(rt->store, first.first_rid, &rt->load_mem, &started, &err);
        if (rc == PAWL_OK) {
            *ret = started.data;
            return PAWL_OK;
        }
    }
    if (rc != PAWL_OK && rc != PAWL_NOT_FOUND)
        return rc;
    rc = store_read_messages(rt->store, r->row.uid, (pawl_str){0}, &rt->load_mem, &list, &err);
    for (size_t i = 0; rc == PAWL_OK && i < list.count; i++) {
        if (list.items[i].kind == PAWL_MSG_START) {
            *ret = list.items[i].data;
            *retrow = list.items[i].id;
            return PAWL_OK;
        }
    }
    return rc == PAWL_OK ? PAWL_EMPTY : rc;
}

bool input_remember(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    pawl_str input = {0};
    uint64_t row;
    pawl_status rc = input_of(rt, r, &input, &row);
    if (rc == PAWL_OK)
        *list_add(&rt->group_mem, &s->keys) = key_of(rt, input);
    return rc == PAWL_OK || rc == PAWL_EMPTY || rc == PAWL_CORRUPT; /* as far as known */
}

void input_note(pawl_runtime *rt, struct stage *s, pawl_str input)
{
    *list_add(&rt->group_mem, &s->keys) = key_of(rt, input);
}

pawl_status input_is(pawl_runtime *rt, const struct resident *r, pawl_str data)
{
    pawl_str input = {0};
    pawl_error err;
    uint64_t row;
    pawl_status known = input_of(rt, r, &input, &row);
    if (known == PAWL_OK && json_same(&rt->load_mem, input, data))
        return PAWL_OK;
    if (known == PAWL_OK && r->row.execution < 2)
        return PAWL_EMPTY;
    if (known != PAWL_OK && known != PAWL_EMPTY)
        return known;
    if (r->row.execution < 2) /* its start is in the quarantine */
        return PAWL_OK;
    return store_has_key(rt->store, r->row.uid, key_of(rt, data), &err);
}
