/* SPDX-License-Identifier: MIT */
/*
 * base/json_same.c -- are two payloads the same value?
 *
 * A client that repeats a request may write it differently: other blanks, members in
 * another order, 1.0 for 1.  The same value means:
 *   objects   have the same members, in any order (of two of one name the first counts)
 *   arrays    have the same elements in the same order
 *   numbers   are equal as numbers, exactly: 1, 1.0 and 10e-1; no rounding
 *   texts     have the same characters, however escaped
 * What is not JSON is the same when its bytes are.
 *
 * Members are sorted, so a large object costs n log n, whatever its order.  Depth is
 * that of a document.  Called by runtime/instance/begin.c.
 */
#include "base/arena.h"
#include "base/json.h"
#include "base/json_scalar.h"

#include <stdlib.h>
#include <string.h>

static bool same_value(pawl_mem *mem, pawl_str a, pawl_str b);

/* ---- Texts and numbers ------------------------------------------------------- */

/* What is between the quotes, escapes undone; copied only when there are some. */
static pawl_str plain_text(pawl_mem *mem, pawl_str inner)
{
    if (!inner.len || !memchr(inner.ptr, '\\', inner.len))
        return inner;
    struct json_text text = json_text_of(inner);
    char *to = arena_alloc(mem, inner.len + 4), *at = to;
    for (size_t n; (n = json_text_next(&text, at)) > 0;)
        at += n;
    return (pawl_str){to, (size_t)(at - to)};
}

static pawl_str inner_of(pawl_str raw)
{
    return (pawl_str){raw.ptr + 1, raw.len - 2};
}

struct decimal {
    bool negative;
    const char *first, *last; /* the digits that count, perhaps with a point between; NULL: zero */
    int64_t power;            /* of ten, at the first */
    bool huge;                /* the power is beyond what is compared */
};

static struct decimal decimal_of(pawl_str raw)
{
    struct decimal d = {.negative = raw.ptr[0] == '-'};
    const char *at = raw.ptr + d.negative, *end = raw.ptr + raw.len, *point = NULL;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.')
            point = at;
        if (*at < '1')
            continue;
        d.first = d.first ? d.first : at;
        d.last = at;
    }
    point = point ? point : at;
    if (d.first)
        d.power = point > d.first ? point - d.first - 1 : point - d.first;
    if (at < end)
        d.power += json_exponent(at + 1, end, &d.huge);
    return d;
}

static bool same_digits(struct decimal a, struct decimal b)
{
    for (; a.first <= a.last && b.first <= b.last; a.first++, b.first++) {
        a.first += *a.first == '.';
        b.first += *b.first == '.';
        if (*a.first != *b.first)
            return false;
    }
    return a.first > a.last && b.first > b.last;
}

static bool same_number(pawl_str x, pawl_str y)
{
    struct decimal a = decimal_of(x), b = decimal_of(y);
    if (!a.first || !b.first)
        return !a.first && !b.first;
    if (a.huge || b.huge)
        return pawl_str_eq(x, y);
    return a.negative == b.negative && a.power == b.power && same_digits(a, b);
}

/* ---- Objects and arrays --------------------------------------------------------- */

struct member {
    pawl_str key, value;
};

static int compare_keys(pawl_str a, pawl_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* By name; of one name the first in the document comes first. */
static int compare_members(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    int order = compare_keys(a->key, b->key);
    return order ? order : (a->value.ptr > b->value.ptr) - (a->value.ptr < b->value.ptr);
}

static size_t members_of(pawl_mem *mem, pawl_str object, struct member **ret)
{
    struct json_iter it;
    size_t count = 0, unique = 0;
    for (json_begin(&it, object); json_next(&it);)
        count++;
    struct member *list = arena_alloc(mem, (count + 1) * sizeof(*list));
    count = 0;
    for (json_begin(&it, object); json_next(&it);)
        list[count++] = (struct member){plain_text(mem, it.key), it.value};
    qsort(list, count, sizeof(*list), compare_members);
    for (size_t i = 0; i < count; i++)
        if (!unique || compare_keys(list[unique - 1].key, list[i].key) != 0)
            list[unique++] = list[i];
    *ret = list;
    return unique;
}

static bool same_objects(pawl_mem *mem, pawl_str a, pawl_str b)
{
    struct member *x, *y;
    size_t count = members_of(mem, a, &x);
    if (members_of(mem, b, &y) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!pawl_str_eq(x[i].key, y[i].key) || !same_value(mem, x[i].value, y[i].value))
            return false;
    return true;
}

static bool same_arrays(pawl_mem *mem, pawl_str a, pawl_str b)
{
    struct json_iter x, y;
    json_begin(&x, a);
    json_begin(&y, b);
    for (;;) {
        bool more = json_next(&x);
        if (json_next(&y) != more)
            return false;
        if (!more)
            return true;
        if (!same_value(mem, x.value, y.value))
            return false;
    }
}

static bool same_value(pawl_mem *mem, pawl_str a, pawl_str b)
{
    enum json_type type = json_type(a);
    if (type != json_type(b))
        return false;
    if (pawl_str_eq(a, b))
        return true;
    switch (type) {
    case JSON_OBJECT:
        return same_objects(mem, a, b);
    case JSON_ARRAY:
        return same_arrays(mem, a, b);
    case JSON_NUMBER:
        return same_number(a, b);
    case JSON_STRING:
        return pawl_str_eq(plain_text(mem, inner_of(a)), plain_text(mem, inner_of(b)));
    case JSON_BOOL:
    case JSON_NULL:
    case JSON_NONE:
        break;
    }
    return false;
}

bool json_same(pawl_mem *mem, pawl_str a, pawl_str b)
{
    if (pawl_str_eq(a, b))
        return true;
    pawl_str x = pawl_json_get(a, ""), y = pawl_json_get(b, "");
    return x.ptr && y.ptr && same_value(mem, x, y);
}
