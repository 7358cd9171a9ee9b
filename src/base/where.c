/* SPDX-License-Identifier: MIT */
/*
 * base/where.c -- conditions on attributes: read from a text, compared with a set, as a range of
 * keys.
 *
 * A filter is a conjunction of conditions and nothing else: each is served by an index, or is a
 * look at one row.  See attributes.h for keys, and pawl/attribute.h for what a condition means.
 */
#include "base/arena.h"
#include "base/attributes.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/str.h"

#include <string.h>

/* ---- From a text -------------------------------------------------------------------- */

static const struct {
    const char *text;
    pawl_where_op op;
} operators[] = {
    {"!=", PAWL_WHERE_NE    },
    {"<=", PAWL_WHERE_LE    },
    {">=", PAWL_WHERE_GE    },
    {"^=", PAWL_WHERE_BEGINS},
    {"=",  PAWL_WHERE_EQ    },
    {"<",  PAWL_WHERE_LT    },
    {">",  PAWL_WHERE_GT    },
};

#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static bool refuse(pawl_error *reterr, pawl_status status, pawl_where w, const char *why)
{
    error_set(reterr, status, "condition on '%.*s' %s", PAWL_FMT(w.name), why);
    return false;
}

/* As JSON writes an integer. */
static bool is_integer(pawl_str text)
{
    size_t sign = text.len && text.ptr[0] == '-', digits = text.len - sign;
    if (!digits || (text.ptr[sign] == '0' && (digits > 1 || sign)))
        return false;
    for (size_t i = sign; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return true;
}

static bool read_quoted(pawl_mem *mem, pawl_str value, pawl_where *ret, pawl_error *reterr)
{
    size_t offset;
    if (json_check(value, &offset) != JSON_FINE)
        return refuse(reterr, PAWL_INVALID, *ret,
                      "has a value that begins with '\"' and is no JSON text; close the quotes");
    ret->text = pawl_json_text(mem, value, "", "");
    return true;
}

static bool check_text(const pawl_where *w, pawl_error *reterr)
{
    if (w->text.len > PAWL_ATTRIBUTE_TEXT_MAX)
        return refuse(reterr, PAWL_INVALID, *w, "has a text of more than 255 bytes; shorten it");
    if (!utf8_valid(w->text))
        return refuse(reterr, PAWL_INVALID, *w, "has a text that is not UTF-8; encode it so");
    for (size_t i = 0; i < w->text.len; i++)
        if ((unsigned char)w->text.ptr[i] < 0x20 || w->text.ptr[i] == 0x7f)
            return refuse(reterr, PAWL_INVALID, *w, "has a control character; remove it");
    return true;
}

static bool is_order(pawl_where_op op)
{
    return op == PAWL_WHERE_LT || op == PAWL_WHERE_LE || op == PAWL_WHERE_GT || op == PAWL_WHERE_GE;
}

/* A number of JSON that is_integer() does not know.  With "=" it is a text, such as a version. */
static bool is_fraction(pawl_str value)
{
    size_t offset;
    return json_check(value, &offset) == JSON_FINE && json_type(value) == JSON_NUMBER;
}

static bool read_value(pawl_mem *mem, pawl_str value, pawl_where *ret, pawl_error *reterr)
{
    if (value.len && value.ptr[0] == '"') {
        if (!read_quoted(mem, value, ret, reterr))
            return false;
    } else if (ret->op != PAWL_WHERE_BEGINS && is_integer(value)) {
        ret->is_number = true;
        return json_integer(value, &ret->number) ||
               refuse(reterr, PAWL_INVALID, *ret,
                      "has an integer of more than 64 bits; in quotes it is a text");
    } else if (is_order(ret->op) && is_fraction(value)) {
        return refuse(
            reterr, PAWL_INVALID, *ret,
            "compares with a number that is no integer, and no attribute is one; round it, "
            "or write it in quotes as a text");
    } else {
        ret->text = value;
    }
    return check_text(ret, reterr);
}

static bool is_known_name(pawl_str name, pawl_error *reterr)
{
    pawl_str rest = name;
    if (str_begins(name, pawl_s("pawl."))) /* ours may be asked for */
        rest = (pawl_str){name.ptr + 5, name.len - 5};
    return attribute_check_name(rest, reterr);
}

bool where_check(const pawl_where *w, pawl_error *reterr)
{
    if ((unsigned)w->op > PAWL_WHERE_BEGINS || (w->is_number && w->op == PAWL_WHERE_BEGINS)) {
        error_set(reterr, PAWL_INVALID, "a condition has no such operator: %d", (int)w->op);
        return false;
    }
    return is_known_name(w->name, reterr) && (w->is_number || check_text(w, reterr));
}

bool pawl_where_parse(pawl_mem *mem, pawl_str text, pawl_where *ret, pawl_error *reterr)
{
    size_t at = 0, which = 0;
    if (!IS_THERE(mem && ret && !is_odd(text), "memory, a text and room for the condition", reterr))
        return false;
    *ret = (pawl_where){0};
    while (at < text.len && !strchr("=!<>^", text.ptr[at]))
        at++;
    while (which < OPERATORS &&
           !str_begins((pawl_str){text.ptr + at, text.len - at}, pawl_s(operators[which].text)))
        which++;
    if (at >= text.len || which == OPERATORS) {
        error_set(reterr, PAWL_INVALID,
                  "a condition is NAME, one of = != < <= > >= ^=, and VALUE: customer=c-42");
        return false;
    }
    ret->name = (pawl_str){text.ptr, at};
    ret->op = operators[which].op;
    at += strlen(operators[which].text);
    return is_known_name(ret->name, reterr) &&
           read_value(mem, (pawl_str){text.ptr + at, text.len - at}, ret, reterr);
}

/* ---- Compared with a set --------------------------------------------------------------- */

static bool order_fits(pawl_where_op op, int order)
{
    return (op == PAWL_WHERE_EQ && order == 0) || (op == PAWL_WHERE_NE && order != 0) ||
           (op == PAWL_WHERE_LT && order < 0) || (op == PAWL_WHERE_LE && order <= 0) ||
           (op == PAWL_WHERE_GT && order > 0) || (op == PAWL_WHERE_GE && order >= 0);
}

static bool value_fits(const pawl_where *w, pawl_str raw)
{
    char text[PAWL_ATTRIBUTE_TEXT_MAX + 4];
    int64_t number;

    if (json_type(raw) == JSON_NUMBER) {
        if (!w->is_number)
            return w->op == PAWL_WHERE_NE;
        return json_integer(raw, &number) &&
               order_fits(w->op, (number > w->number) - (number < w->number));
    }
    if (w->is_number)
        return w->op == PAWL_WHERE_NE;
    struct json_text from = json_text_of((pawl_str){raw.ptr + 1, raw.len - 2});
    size_t len = 0;
    for (size_t n; len <= PAWL_ATTRIBUTE_TEXT_MAX && (n = json_text_next(&from, text + len));)
        len += n;
    pawl_str value = {text, len};
    return w->op == PAWL_WHERE_BEGINS ? str_begins(value, w->text)
                                      : order_fits(w->op, str_compare(value, w->text));
}

static bool fits(pawl_str set, const pawl_where *w)
{
    struct json_iter it;
    if (!set.len)
        return false;
    for (json_begin(&it, set); json_next(&it);)
        if (pawl_str_eq(it.key, w->name))
            return (json_type(it.value) == JSON_NUMBER || json_type(it.value) == JSON_STRING) &&
                   value_fits(w, it.value);
    return false;
}

bool attributes_fit(pawl_str set, const pawl_where *where, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!fits(set, &where[i]))
            return false;
    return true;
}

/* ---- As a range of keys ----------------------------------------------------------------- */

/* No value that is allowed lies between a key and this one. */
static pawl_str behind(pawl_mem *mem, pawl_str key)
{
    return arena_join(mem, (pawl_str[]){key, pawl_s("\x01")}, 2);
}

/* The texts that begin so: no character comes behind U+10FFFF, and 64 of it are more than fit. */
static pawl_str last_begun(pawl_mem *mem, pawl_str key)
{
    char tail[64 * 4];
    for (size_t i = 0; i < sizeof(tail); i += 4)
        memcpy(tail + i, "\xf4\x8f\xbf\xbf", 4);
    return arena_join(mem,
                      (pawl_str[]){
                          key, {tail, sizeof(tail)},
                           pawl_s("\x01")
    },
                      3);
}

struct attribute_range attribute_range(pawl_mem *mem, const pawl_where *w)
{
    struct attribute value = {.is_number = w->is_number, .number = w->number, .text = w->text};
    pawl_str key = attribute_key(mem, &value);
    struct attribute_range r = {.name = w->name,
                                .exact = w->op == PAWL_WHERE_EQ,
                                .from = pawl_s(w->is_number ? "n" : "t"),
                                .to = pawl_s(w->is_number ? "o" : "u"),
                                .except = pawl_s("")};
    if (w->op == PAWL_WHERE_NE) {
        r.from = pawl_s("n");
        r.to = pawl_s("u");
        r.except = key;
    }
    if (w->op == PAWL_WHERE_EQ || w->op == PAWL_WHERE_GE || w->op == PAWL_WHERE_BEGINS)
        r.from = key;
    if (w->op == PAWL_WHERE_GT)
        r.from = behind(mem, key);
    if (w->op == PAWL_WHERE_LT)
        r.to = key;
    if (w->op == PAWL_WHERE_LE || w->op == PAWL_WHERE_EQ)
        r.to = behind(mem, key);
    if (w->op == PAWL_WHERE_BEGINS)
        r.to = last_begun(mem, key);
    return r;
}
