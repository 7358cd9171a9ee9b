/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_json.c -- the JSON reader and writer.
 *
 * First line: a pointer.  Rest: a document.  Whatever the reader takes, walking it,
 * reading it by pointer and writing it again must agree; what it refuses has no
 * values, and the place it names lies in it.
 */
#include "base/json.h"
#include "base/limits.h"
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_text(pawl_str raw)
{
    struct buf plain, quoted, again;
    buf_init(&plain, SIZE_MAX / 2);
    buf_init(&quoted, SIZE_MAX / 2);
    buf_init(&again, SIZE_MAX / 2);
    must(json_unescape(raw, &plain));
    must(utf8_valid(buf_slice(&plain)));
    json_quote(&quoted, buf_slice(&plain));
    must(quoted.len == json_quote_into(NULL, buf_slice(&plain)));
    must(pawl_json_valid(buf_slice(&quoted), NULL));
    must(json_unescape(buf_slice(&quoted), &again));
    must(pawl_str_eq(buf_slice(&plain), buf_slice(&again)));
    buf_deinit(&plain);
    buf_deinit(&quoted);
    buf_deinit(&again);
}

static void check_number(pawl_str raw)
{
    int64_t n = 0;
    double real = pawl_json_number(raw, "", 0);
    if (!json_integer(raw, &n))
        return;
    must(pawl_json_int(raw, "", 0) == n);
    must(fabs(real - (double)n) <= fabs((double)n) * 1e-15);
}

/* How many values there are in it, itself counted. */
static size_t walk(pawl_str raw, unsigned depth)
{
    struct json_iter it;
    size_t count = 1, members = 0;
    enum json_type type = json_type(raw);
    must(depth <= LIMIT_JSON_DEPTH + 1 && type != JSON_NONE);
    must(pawl_json_valid(raw, NULL));
    if (type == JSON_STRING)
        check_text(raw);
    else if (type == JSON_NUMBER)
        check_number(raw);
    else if (type == JSON_ARRAY || type == JSON_OBJECT) {
        for (json_begin(&it, raw); json_next(&it); members++)
            count += depth < 8 ? walk(it.value, depth + 1) : 1;
        must(pawl_json_count(raw, "") == (int64_t)members);
    }
    return count;
}

static void check_pointer(pawl_mem *mem, pawl_str doc, const char *pointer)
{
    pawl_str value = pawl_json_get(doc, pointer);
    must(!value.ptr || (value.ptr >= doc.ptr && value.ptr + value.len <= doc.ptr + doc.len));
    if (value.ptr)
        must(pawl_json_valid(value, NULL));
    (void)pawl_json_text(mem, doc, pointer, "none");
    (void)pawl_json_int(doc, pointer, -1);
    (void)pawl_json_number(doc, pointer, -1);
    (void)pawl_json_bool(doc, pointer, false);
    must(value.ptr || pawl_json_count(doc, pointer) == -1);
}

/* The document inside another one: read back as it is. */
static void check_writing(pawl_mem *mem, pawl_str doc)
{
    pawl_json *w = pawl_json_new(mem);
    pawl_json_object(w);
    pawl_json_key(w, "payload");
    pawl_json_raw(w, doc);
    pawl_json_key(w, "text");
    pawl_json_str(w, doc);
    pawl_json_end(w);
    pawl_str out = pawl_json_done(w);
    if (!json_fits(doc, LIMIT_JSON_DEPTH - 1))
        return;
    must(out.ptr && pawl_json_valid(out, NULL));
    pawl_str text = pawl_json_text(mem, out, "/text", NULL);
    must(pawl_str_eq(text, doc));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    pawl_mem *mem = pawl_mem_new();
    const char *pointer = pawl_mem_dup(mem, feed_line(&f)).ptr;
    pawl_str doc = feed_rest(&f);
    size_t offset = 0;
    if (pawl_json_valid(doc, &offset)) {
        must(walk(pawl_json_get(doc, ""), 1) > 0);
        must(json_fits(doc, LIMIT_JSON_DEPTH));
        check_pointer(mem, doc, pointer);
        check_writing(mem, doc);
    } else {
        must(offset <= doc.len);
        must(!json_fits(doc, LIMIT_JSON_DEPTH) && !pawl_json_get(doc, "").ptr);
        check_pointer(mem, doc, pointer);
    }
    pawl_mem_free(mem);
    return 0;
}
