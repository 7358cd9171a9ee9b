/* SPDX-License-Identifier: MIT */
/*
 * store/jsonl/text.h -- values as JSON text that people can read and we can read back.
 *
 * A payload that is JSON (on one line, and no string) stands in the file as it
 * is; any other text is a JSON string; what is not UTF-8 is base64 and says so in
 * a member of its own.  So every byte comes back, and `less` shows what it means.
 * Times are UTC with milliseconds; a time outside the calendar is a number.
 */
#ifndef PAWL_STORE_JSONL_TEXT_H
#define PAWL_STORE_JSONL_TEXT_H

#include "base/buf.h"
#include "pawl/types.h"

/* Append `"key":value`, and `"encoding":"base64"` when it has to be (`"KEY_encoding"`
 * for any key but "data").  `payload`: JSON stands as it is. */
void text_put(struct buf *b, const char *key, pawl_str value, bool payload);
/* The bytes a raw JSON value stands for; `base64`: its encoding says so.  Verbatim
 * values are slices of `raw`.  False: no such value. */
bool text_get(pawl_str raw, bool base64, pawl_mem *mem, pawl_str *ret);

/* The same for an item of an array: a string, or an object with `data` and its `encoding`. */
void text_put_item(struct buf *b, pawl_str value);
bool text_get_item(pawl_str raw, pawl_mem *mem, pawl_str *ret);

/* Append a time as a value. */
void text_put_time(struct buf *b, int64_t ms);
bool text_get_time(pawl_str raw, int64_t *ret);

/* CRC-32 (IEEE), as in zip files. */
uint32_t text_crc(pawl_str bytes);
/* End the line begun at `start` (an open object): its CRC covers everything since. */
void text_seal(struct buf *b, size_t start);
/* True when `bytes` (lines, the last without its newline) end with the CRC of the rest. */
bool text_sealed(pawl_str bytes);

#endif
