/* SPDX-License-Identifier: MIT */
/* base/attributes.c -- see the header.  Conditions are in where.c. */
#include "base/attributes.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/reserved.h"
#include "base/str.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool refuse(pawl_error *reterr, pawl_status status, pawl_str name, const char *why)
{
    error_set(reterr, status, "attribute '%.*s' %s",
              (int)(name.len < PAWL_ATTRIBUTE_NAME_MAX ? name.len : PAWL_ATTRIBUTE_NAME_MAX),
              name.ptr, why);
    return false;
}

static bool is_name_byte(char c, bool first)
{
    return (c >= 'a' && c <= 'z') ||
           (!first && ((c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'));
}

static bool is_name(pawl_str name, pawl_error *reterr)
{
    bool plain = name.len > 0;
    for (size_t i = 0; i < name.len && plain; i++)
        plain = is_name_byte(name.ptr[i], i == 0);
    if (!plain) {
        error_set(reterr, PAWL_INVALID,
                  "an attribute's name begins with a-z and has a-z, 0-9, '_', '.' or '-'; rename "
                  "one of them");
        return false;
    }
    return name.len <= PAWL_ATTRIBUTE_NAME_MAX ||
           refuse(reterr, PAWL_INVALID, name, "has a name of more than 63 bytes; shorten it");
}

bool attribute_check_name(pawl_str name, pawl_error *reterr)
{
    if (!is_name(name, reterr))
        return false;
    return !str_begins(name, pawl_s(RESERVED)) ||
           refuse(reterr, PAWL_INVALID, name, "begins with 'pawl.', which is reserved; rename it");
}

/* ---- Values --------------------------------------------------------------------- */

/* A raw JSON string into `to`, which has room for one byte more than allowed. */
static bool read_text(pawl_str raw, char to[PAWL_ATTRIBUTE_TEXT_MAX + 4], size_t *retlen,
                      bool *retodd)
{
    struct json_text text = json_text_of((pawl_str){raw.ptr + 1, raw.len - 2});
    size_t len = 0;
    *retodd = false;
    for (size_t n; len <= PAWL_ATTRIBUTE_TEXT_MAX && (n = json_text_next(&text, to + len)) > 0;) {
        *retodd |= (unsigned char)to[len] < 0x20 || to[len] == 0x7f;
        len += n;
    }
    *retlen = len;
    return len <= PAWL_ATTRIBUTE_TEXT_MAX;
}

static bool read_value(pawl_mem *mem, pawl_str raw, struct attribute *ret, pawl_error *reterr)
{
    char text[PAWL_ATTRIBUTE_TEXT_MAX + 4];
    size_t len;
    bool odd;

    switch (json_type(raw)) {
    case JSON_NULL:
        ret->removed = true;
        return true;
    case JSON_NUMBER:
        ret->is_number = true;
        return json_whole(raw, &ret->number) ||
               refuse(reterr, PAWL_INVALID, ret->name,
                      "is no integer of 64 bits; give one, or a text");
    case JSON_STRING:
        if (!read_text(raw, text, &len, &odd))
            return refuse(reterr, PAWL_INVALID, ret->name,
                          "is a text of more than 255 bytes; shorten it");
        if (odd)
            return refuse(reterr, PAWL_INVALID, ret->name,
                          "has a control character in its text; remove it");
        ret->text = arena_dup(mem, (pawl_str){text, len});
        return true;
    case JSON_BOOL:
        return refuse(reterr, PAWL_INVALID, ret->name, "is true or false; give 1 or 0");
    case JSON_NONE:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return refuse(reterr, PAWL_INVALID, ret->name,
                  "is an array or an object; give a text or an integer");
}

/* ---- Sets and changes ------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return str_compare(((const struct attribute *)a)->name, ((const struct attribute *)b)->name);
}

/* The members, in their order. */
static bool read_members(pawl_mem *mem, pawl_str json, enum attribute_owner owner,
                         struct attribute *items, size_t *retcount, pawl_error *reterr)
{
    struct json_iter it;
    size_t count = 0;
    for (json_begin(&it, json); json_next(&it); count++) {
        if (count == PAWL_ATTRIBUTES_MAX * 2) {
            error_set(reterr, PAWL_INVALID, "a change has more than %d attributes; make two of it",
                      PAWL_ATTRIBUTES_MAX * 2);
            return false;
        }
        items[count] = (struct attribute){.name = arena_dup(mem, it.key)};
        if (!(owner == ATTRIBUTES_OURS ? is_name(it.key, reterr)
                                       : attribute_check_name(it.key, reterr)) ||
            !read_value(mem, it.value, &items[count], reterr))
            return false;
    }
    *retcount = count;
    return true;
}

bool attributes_read(pawl_mem *mem, pawl_str json, enum attribute_owner owner,
                     struct attribute_list *ret, pawl_error *reterr)
{
    size_t offset;
    *ret = (struct attribute_list){0};
    if (!json.len)
        return true;
    if (json_check(json, &offset) != JSON_FINE || json_type(json) != JSON_OBJECT) {
        error_set(reterr, PAWL_INVALID,
                  "attributes are a JSON object of texts and integers, such as "
                  "{\"customer\":\"c-42\",\"total\":990}");
        return false;
    }
    struct attribute *items = arena_array(mem, struct attribute, PAWL_ATTRIBUTES_MAX * 2);
    size_t count;
    if (!read_members(mem, json, owner, items, &count, reterr))
        return false;
    qsort(items, count, sizeof(*items), by_name);
    for (size_t i = 1; i < count; i++)
        if (pawl_str_eq(items[i - 1].name, items[i].name))
            return refuse(reterr, PAWL_INVALID, items[i].name, "is there twice; leave one out");
    *ret = (struct attribute_list){items, count};
    return true;
}

struct attribute_list attributes_of(pawl_mem *mem, pawl_str set)
{
    struct attribute_list list;
    return attributes_read(mem, set, ATTRIBUTES_OURS, &list, NULL) ? list
                                                                   : (struct attribute_list){0};
}

bool attribute_same(const struct attribute *a, const struct attribute *b)
{
    return a->is_number == b->is_number &&
           (a->is_number ? a->number == b->number : pawl_str_eq(a->text, b->text));
}

/* The canonical text of items that are in order. */
static pawl_str text_of(pawl_mem *mem, const struct attribute *items, size_t count)
{
    size_t room = 2;
    for (size_t i = 0; i < count; i++)
        room += items[i].name.len + 4 +
                (items[i].is_number ? 21 : json_quote_into(NULL, items[i].text));
    if (!count)
        return (pawl_str){0};
    char *text = arena_alloc(mem, room + 1);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, room + 1 - at, "%c\"%.*s\":", i ? ',' : '{',
                               PAWL_FMT(items[i].name));
        at += items[i].is_number
                  ? (size_t)snprintf(text + at, room + 1 - at, "%" PRId64, items[i].number)
                  : json_quote_into(text + at, items[i].text);
    }
    text[at++] = '}';
    text[at] = '\0';
    return (pawl_str){text, at};
}

bool attributes_merge(pawl_mem *mem, pawl_str set, const struct attribute_list *change,
                      pawl_str *ret, pawl_error *reterr)
{
    struct attribute_list old = attributes_of(mem, set);
    struct attribute *items = arena_array(mem, struct attribute, old.count + change->count + 1);
    size_t count = 0, i = 0, k = 0;

    while (i < old.count || k < change->count) {
        int order = i == old.count       ? 1
                    : k == change->count ? -1
                                         : by_name(&old.items[i], &change->items[k]);
        if (order < 0) {
            items[count++] = old.items[i++];
            continue;
        }
        i += order == 0;
        if (!change->items[k].removed)
            items[count++] = change->items[k];
        k++;
    }
    if (count > PAWL_ATTRIBUTES_MAX) {
        /* alone too many: bad input; with those it has: what it has must go first */
        error_set(reterr, old.count ? PAWL_CONFLICT : PAWL_INVALID,
                  "the instance would have %zu attributes, the limit is %d; remove some with null",
                  count, PAWL_ATTRIBUTES_MAX);
        return false;
    }
    *ret = text_of(mem, items, count);
    return true;
}

/* ---- Keys --------------------------------------------------------------------------- */

pawl_str attribute_key(pawl_mem *mem, const struct attribute *a)
{
    if (a->is_number)
        return pawl_mem_printf(mem, "n%016" PRIx64, (uint64_t)a->number ^ UINT64_C(1) << 63);
    return arena_join(mem, (pawl_str[]){pawl_s("t"), a->text}, 2);
}

bool attribute_of_key(pawl_str key, struct attribute *ret)
{
    *ret = (struct attribute){0};
    if (key.len && key.ptr[0] == 't') {
        ret->text = (pawl_str){key.ptr + 1, key.len - 1};
        return true;
    }
    uint64_t number = 0;
    if (key.len != 17 || key.ptr[0] != 'n')
        return false;
    for (size_t i = 1; i < key.len; i++) {
        char c = key.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        number = number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    ret->is_number = true;
    ret->number = (int64_t)(number ^ UINT64_C(1) << 63);
    return true;
}
