/* SPDX-License-Identifier: MIT */
/*
 * base/json.h -- the strict in-place reader under pawl/json.h.
 *
 * One pass, no tree, no allocation: a cursor over the bytes.  Values are slices
 * of the input, so payload bytes stay verbatim.  Depth <= 64, UTF-8 checked,
 * no trailing bytes, no duplicates check (first member of a name wins).
 */
#ifndef PAWL_BASE_JSON_H
#define PAWL_BASE_JSON_H

#include "base/buf.h"
#include "pawl/json.h"

enum json_type {
    JSON_NONE,
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* The type of a raw value, by its first byte (the value is taken to be valid). */
enum json_type json_type(pawl_str raw);

/* Walk the members of an object or the elements of an array:
 *   struct json_iter it;
 *   for (json_begin(&it, raw); json_next(&it);) use(it.key, it.value);
 * For arrays `key` is empty.  `key` is raw, without quotes, escapes not undone. */
struct json_iter {
    pawl_str raw;
    size_t at;
    pawl_str key;
    pawl_str value;
};
void json_begin(struct json_iter *it, pawl_str raw);
bool json_next(struct json_iter *it);

/* Unescape a raw string value (with quotes) onto `out`; false when it is no string. */
bool json_unescape(pawl_str raw, struct buf *out);
/* Append `text` as a JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void json_quote(struct buf *out, pawl_str text);
/* A raw number as an integer; false when fractional, out of range or no number. */
bool json_integer(pawl_str raw, int64_t *ret);
/* The same by value: 5.0 and 50e-1 are 5.  (json_integer() reads what is written without point
 * and exponent; orchestrations have read so, and must go on to.) */
bool json_whole(pawl_str raw, int64_t *ret);

/* The same value, whatever the blanks, the order of members, and how numbers and texts are written:
 * see json_same.c.  What is not JSON is the same when its bytes are.  `mem` is for work. */
bool json_same(pawl_mem *mem, pawl_str a, pawl_str b);

/* Why a document is refused.  All but the last mean that it is not JSON. */
enum json_fault { JSON_FINE, JSON_BROKEN, JSON_TOO_DEEP, JSON_HALF_PAIR };
/* As pawl_json_valid(), and why not.  Half of a surrogate pair is JSON by its grammar, but no
 * text: what comes from outside must not have one. */
enum json_fault json_check(pawl_str payload, size_t *retoffset);
/* Where the first half of a surrogate pair is in a valid document; its length when there is none. */
size_t json_half_pair(pawl_str payload);

/* The characters of a raw string without its quotes, one by one, escapes undone:
 * json_text_next writes 1..4 bytes of UTF-8 and returns how many, 0 at the end.
 * Half a surrogate pair comes as U+FFFD. */
struct json_text {
    const char *at;
    const char *end;
};
struct json_text json_text_of(pawl_str inner);
size_t json_text_next(struct json_text *text, char to[4]);

/* The bytes json_quote would append, written to `to` unless it is NULL; returns how many. */
size_t json_quote_into(char *to, pawl_str text);
/* As pawl_json_raw(), for a value that was checked already: it is not looked at again, and
 * may be as deep as a document, so that what came in can go out inside another one. */
void json_put(pawl_json *w, pawl_str json);
/* Exactly one valid value, at most `depth_max` deep: what fits inside a document. */
bool json_fits(pawl_str payload, unsigned depth_max);

#endif
