/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/record.h -- structs of pawl/provider.h as JSON objects.
 *
 * A form lists the members of a struct with their keys, in the order a person
 * wants to read them.  Members that are zero or empty are left out and come back
 * as such, so a line says only what there is to say.
 */
#ifndef PAWL_STORE_JSONL_RECORD_H
#define PAWL_STORE_JSONL_RECORD_H

#include "base/buf.h"
#include "pawl/provider.h"

enum record_type {
    RECORD_U64,
    RECORD_U32,
    RECORD_BOOL,
    RECORD_TIME,
    RECORD_STR,          /* a payload: JSON stands as it is */
    RECORD_NAME,         /* always a string */
    RECORD_EVENT_KIND,   /* by name, or the number when it has none */
    RECORD_MESSAGE_KIND, /* the same */
    RECORD_STATE,
};

struct record_member {
    const char *key;
    enum record_type type;
    size_t at;
};

struct record_form {
    const struct record_member *members;
    size_t count;
};

extern const struct record_form record_event, record_row, record_message, record_work,
    record_message_update, record_work_update, record_fence, record_object;

/* Append the members, `separator` between them; true when there was one. */
bool record_put(struct buf *b, const struct record_form *form, const void *item,
                const char *separator);
/* Fill in `item` (zeroed) from an object that is valid JSON; unknown keys are skipped.
 * Strings live in `mem` or in `object`.  False: a member does not fit its type. */
bool record_get(const struct record_form *form, pawl_str object, void *item, pawl_mem *mem);

#endif
