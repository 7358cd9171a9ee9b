/* SPDX-License-Identifier: MIT */
/*
 * pawl/json.h -- read a JSON payload by pointer, write one piece by piece.
 *
 * Reading never copies or rewrites: a value is a slice of the payload, byte for
 * byte.  Pointers follow RFC 6901: "" is the whole document, "/items/0/sku" a
 * member of an element, "~1" a slash and "~0" a tilde inside a key.  In a payload
 * that is not JSON, or is nested deeper than 64 levels, every look-up finds nothing.
 *
 * Thread-safe: the functions use only their arguments.
 */
#ifndef PAWL_JSON_H
#define PAWL_JSON_H

#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The raw bytes of the value at `pointer` ({NULL, 0} when there is none):
 * strings come with their quotes, objects with their braces. */
PAWL_API pawl_str pawl_json_get(pawl_str payload, const char *pointer);

/* The string at `pointer`, unescaped into `mem`; `otherwise` when there is none
 * or it is not a string. */
PAWL_API pawl_str pawl_json_text(pawl_mem *mem, pawl_str payload, const char *pointer,
                                 const char *otherwise);
/* The integer at `pointer`; `otherwise` when absent, fractional or out of range. */
PAWL_API int64_t pawl_json_int(pawl_str payload, const char *pointer, int64_t otherwise);
PAWL_API double pawl_json_number(pawl_str payload, const char *pointer, double otherwise);
PAWL_API bool pawl_json_bool(pawl_str payload, const char *pointer, bool otherwise);
/* The number of elements of the array, or of members of the object, at `pointer`; -1 when
 * it is neither. */
PAWL_API int64_t pawl_json_count(pawl_str payload, const char *pointer);

/*
 * Walk the elements of the array, or the members of the object, at `pointer`:
 *
 *     pawl_json_iter it = pawl_json_each(payload, "/items");
 *     while (pawl_json_next(&it))
 *         total += pawl_json_int(it.value, "/price", 0);
 *
 * The walk is empty when there is neither.  The whole walk is one pass over the payload;
 * one pointer per element would be one pass per element.
 */
typedef struct pawl_json_iter {
    pawl_str value; /* raw, as of pawl_json_get() */
    pawl_str key;   /* of a member, without quotes, escapes not decoded; empty in an array */
    size_t index;   /* 0, 1, 2 … */
    pawl_str whole; /* private, as are the next two */
    size_t at, count;
} pawl_json_iter;
PAWL_API pawl_json_iter pawl_json_each(pawl_str payload, const char *pointer);
PAWL_API bool pawl_json_next(pawl_json_iter *it);

/* True when `payload` is exactly one valid JSON value (UTF-8, depth <= 64).
 * When not, *retoffset (may be NULL) is the offset of the error. */
PAWL_API bool pawl_json_valid(pawl_str payload, size_t *retoffset);

/*
 * Write a document.  The writer puts the commas; after a mistake (a key outside an
 * object, one end too many) pawl_json_done() returns {NULL, 0}.
 *
 *     pawl_json *w = pawl_json_new(pawl_ctx_mem(ctx));
 *     pawl_json_object(w);
 *     pawl_json_key(w, "sku");   pawl_json_str(w, sku);
 *     pawl_json_key(w, "count"); pawl_json_num(w, 3);
 *     pawl_json_end(w);
 *     pawl_str payload = pawl_json_done(w);
 */
typedef struct pawl_json pawl_json;

PAWL_API pawl_json *pawl_json_new(pawl_mem *mem);
PAWL_API void pawl_json_object(pawl_json *w);
PAWL_API void pawl_json_array(pawl_json *w);
PAWL_API void pawl_json_end(pawl_json *w);
PAWL_API void pawl_json_key(pawl_json *w, const char *key);
PAWL_API void pawl_json_str(pawl_json *w, pawl_str text);     /* invalid UTF-8 becomes U+FFFD */
PAWL_API void pawl_json_cstr(pawl_json *w, const char *text); /* NULL writes null */
PAWL_API void pawl_json_num(pawl_json *w, int64_t number);
PAWL_API void pawl_json_real(pawl_json *w, double number); /* NaN and infinities write null */
PAWL_API void pawl_json_truth(pawl_json *w, bool value);
PAWL_API void pawl_json_null(pawl_json *w);
PAWL_API void pawl_json_raw(pawl_json *w, pawl_str json); /* verbatim; must be one valid value */
PAWL_API pawl_str pawl_json_done(pawl_json *w);

#ifdef __cplusplus
}
#endif
#endif
