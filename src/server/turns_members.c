/* SPDX-License-Identifier: MIT */
/* server/turns_members.c -- see turns_members.h. */
#include "server/turns_members.h"

#include "base/base64.h"
#include "base/json.h"

#include <string.h>

bool turn_bad(struct turn_reading *r, const char *what, pawl_str key)
{
    if (!r->why)
        r->why =
            pawl_mem_printf(r->mem, "%s: %.*s", what, (int)(key.len < 60 ? key.len : 60), key.ptr)
                .ptr;
    return false;
}

bool turn_text(struct turn_reading *r, pawl_str raw, pawl_str *ret)
{
    if (json_type(raw) != JSON_STRING)
        return false;
    *ret = pawl_json_text(r->mem, raw, "", "");
    return true;
}

static bool bytes_of(struct turn_reading *r, pawl_str raw, pawl_str *ret)
{
    pawl_str text;

    if (!turn_text(r, raw, &text))
        return false;
    size_t read, pad = 0;
    char *to = pawl_mem_alloc(r->mem, text.len / 4 * 3 + 3);
    *ret = (pawl_str){to, base64_read(to, text, &read)};
    while (read + pad < text.len && text.ptr[read + pad] == '=')
        pad++;
    return read + pad == text.len && pad <= 2;
}

bool turn_cstr(struct turn_reading *r, pawl_str raw, const char **ret)
{
    pawl_str text;

    if (!turn_text(r, raw, &text) || memchr(text.ptr, 0, text.len))
        return false;
    *ret = text.ptr;
    return true;
}

static bool put(struct turn_reading *r, const struct turn_member *m, pawl_str raw, void *whole)
{
    char *to = (char *)whole + m->at;
    int64_t n = 0;

    switch (m->to) {
    case TO_TEXT:
        return turn_text(r, raw, (pawl_str *)(void *)to);
    case TO_BYTES:
        return bytes_of(r, raw, (pawl_str *)(void *)to);
    case TO_INT:
        return json_whole(raw, (int64_t *)(void *)to);
    case TO_REF:
        if (!json_whole(raw, &n) || n < 1)
            return false;
        *(uint64_t *)(void *)to = (uint64_t)n;
        return true;
    case TO_U32:
        if (!json_whole(raw, &n) || n < 0 || n > UINT32_MAX)
            return false;
        *(uint32_t *)(void *)to = (uint32_t)n;
        return true;
    case TO_FLAG:
        if (json_type(raw) != JSON_BOOL)
            return false;
        *(unsigned *)(void *)to |= raw.ptr[0] == 't' ? m->flag : 0;
        return true;
    case TO_BOOL:
        *(bool *)to = raw.ptr[0] == 't';
        return json_type(raw) == JSON_BOOL;
    case TO_TRUE:
        return pawl_str_is(raw, "true");
    case TO_RAW:
        *(pawl_str *)(void *)to = raw;
        return json_type(raw) == JSON_OBJECT;
    case TO_REAL:
        *(double *)(void *)to = pawl_json_number(raw, "", 0);
        return json_type(raw) == JSON_NUMBER;
    case TO_CSTR:
        return turn_cstr(r, raw, (const char **)(void *)to);
    case TO_ITS_OWN:
        return m->read(r, whole, raw);
    }
    return false;
}

bool turn_object(struct turn_reading *r, pawl_str object, const struct turn_member *list, void *to,
                 uint64_t *retseen)
{
    struct json_iter it;
    uint64_t seen = 0;

    if (json_type(object) != JSON_OBJECT)
        return turn_bad(r, "not an object", object);
    for (json_begin(&it, object); json_next(&it);) {
        const struct turn_member *m = list;
        while (m->name && !pawl_str_is(it.key, m->name))
            m++;
        if (!m->name)
            return turn_bad(r, "unknown member", it.key);
        if (seen >> (m - list) & 1)
            return turn_bad(r, "given twice", it.key);
        seen |= UINT64_C(1) << (m - list);
        if (!put(r, m, it.value, to))
            return turn_bad(r, "has another type or range", it.key);
    }
    if (retseen)
        *retseen = seen;
    return true;
}

size_t turn_length(pawl_str array)
{
    struct json_iter it;
    size_t n = 0;

    for (json_begin(&it, array); json_next(&it);)
        n++;
    return n;
}
