/* SPDX-License-Identifier: MIT */
/*
 * base/attributes.h -- sets of attributes as JSON, their changes, their order (pawl/attribute.h).
 *
 * A stored set is canonical: an object without blanks, names in byte order, each once, at most
 * PAWL_ATTRIBUTES_MAX; the empty set is the empty text.  So equal sets are equal bytes.  A key is
 * a value as bytes that sort as values do: 'n' and 16 hex digits for an integer, 't' and the bytes
 * for a text.  Keys are UTF-8 without control characters, so every database can order them.
 *
 * Pure.  Called by the engine (what code sets), the runtime (merging, the index), the stores
 * (conditions on rows), the server and the command line (filters).
 */
#ifndef PAWL_BASE_ATTRIBUTES_H
#define PAWL_BASE_ATTRIBUTES_H

#include "pawl/attribute.h"

#define ATTRIBUTE_KEY_MAX (1 + PAWL_ATTRIBUTE_TEXT_MAX)

struct attribute {
    pawl_str name;
    bool removed; /* null, of a change */
    bool is_number;
    int64_t number;
    pawl_str text;
};

struct attribute_list {
    const struct attribute *items; /* by name, each once */
    size_t count;
};

enum attribute_owner { ATTRIBUTES_OF_USERS, ATTRIBUTES_OURS }; /* ours may begin with `pawl.` */

/* A name that users may choose; else why not. */
bool attribute_check_name(pawl_str name, pawl_error *reterr);
/* Read a change: a JSON object; the empty text is none.  False: it is refused, and why. */
bool attributes_read(pawl_mem *mem, pawl_str json, enum attribute_owner owner,
                     struct attribute_list *ret, pawl_error *reterr);
/* The canonical set `set` after the change; false: it would have too many. */
bool attributes_merge(pawl_mem *mem, pawl_str set, const struct attribute_list *change,
                      pawl_str *ret, pawl_error *reterr);
/* The items of a canonical set; a text that is none has none. */
struct attribute_list attributes_of(pawl_mem *mem, pawl_str set);
pawl_str attribute_key(pawl_mem *mem, const struct attribute *a);
bool attribute_same(const struct attribute *a, const struct attribute *b);
/* The value that a key stands for; false: it is no key. */
bool attribute_of_key(pawl_str key, struct attribute *ret);

/* The keys that fit a condition are those from `from` on, below `to`, and not `except` (empty:
 * none); with `exact`, `from` alone. */
struct attribute_range {
    pawl_str name;
    bool exact;
    pawl_str from, to, except;
};
struct attribute_range attribute_range(pawl_mem *mem, const pawl_where *w);

/* Is it a condition at all?  Else why not. */
bool where_check(const pawl_where *w, pawl_error *reterr);
/* Do all conditions hold for the canonical set? */
bool attributes_fit(pawl_str set, const pawl_where *where, size_t count);

#endif
