/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_jansson.c -- a second opinion on JSON.
 *
 * jansson judges the same texts and builds the same values.  A program of its
 * own: base/json.h and jansson.h use the same names.
 */
#include "../harness.h"
#include "base/buf.h"
#include "json_samples.h"
#include "pawl/json.h"
#include "random.h"

#include <jansson.h>
#include <stdio.h>

static const size_t decode_flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;

static int depth_of(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    int deepest = 0;

    json_array_foreach((json_t *)(uintptr_t)value, i, item)
    {
        int depth = depth_of(item);
        deepest = depth > deepest ? depth : deepest;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        int depth = depth_of(item);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (json_is_array(value) || json_is_object(value));
}

/* What jansson refuses although the grammar allows it. */
static bool is_excused(const json_error_t *error)
{
    return json_error_code(error) == json_error_numeric_overflow ||
           json_error_code(error) == json_error_null_byte_in_key ||
           json_error_code(error) == json_error_null_character ||
           strstr(error->text, "invalid Unicode"); /* half a surrogate pair */
}

static void compare_verdicts(const char *text, size_t len)
{
    json_error_t error;
    pawl_str copy = exact(text, len);
    json_t *theirs = json_loadb(text, len, decode_flags, &error);
    bool ours = pawl_json_valid(copy, NULL);

    if (theirs)
        ck_assert_msg(ours || depth_of(theirs) > 64, "only jansson takes %.*s", (int)len, text);
    else
        ck_assert_msg(!ours || is_excused(&error), "only we take %.*s (%s)", (int)len, text,
                      error.text);
    ck_assert(ours == (pawl_json_get(copy, "").ptr != NULL));
    json_decref(theirs);
    drop(copy);
}

TEST(tables_and_verdicts_of_jansson_agree)
{
    for (size_t i = 0; i < COUNT(valid); i++)
        compare_verdicts(valid[i], strlen(valid[i]));
    for (size_t i = 0; i < COUNT(invalid); i++)
        compare_verdicts(invalid[i].text, strlen(invalid[i].text));
}

TEST(mutated_documents_are_judged_like_jansson_does)
{
    static const char bits[] = "{}[]\",:\\/ \n\tu0123456789abcdefDd8-+.eEtrufalsn\x80\xc3\xa4\xff";
    uint64_t state = 2026;

    for (int round = 0; round < 60000; round++) {
        char text[600];
        const char *base =
            random_below(&state, 4) ? valid[random_below(&state, COUNT(valid))] : sample;
        size_t len = strlen(base);
        memcpy(text, base, len);
        for (uint64_t n = random_below(&state, 4) + 1; n > 0 && len > 0; n--) {
            size_t at = random_below(&state, len), tail = len - at;
            switch (random_below(&state, 3)) {
            case 0: /* replace */
                text[at] = bits[random_below(&state, sizeof bits - 1)];
                break;
            case 1: /* insert */
                memmove(text + at + 1, text + at, tail);
                text[at] = bits[random_below(&state, sizeof bits - 1)];
                len++;
                break;
            default: /* remove */
                memmove(text + at, text + at + 1, tail - 1);
                len--;
            }
        }
        compare_verdicts(text, len);
    }
}

TEST(random_bytes_of_json_are_judged_like_jansson_does)
{
    static const char *const pieces[] = {
        "[",    "]",    "{",    "}",     ",",           ":", "\"a\"",    "\"", "1",
        "-0.5", "true", "null", "\\u12", "\"\\u0041\"", " ", "\xc3\xa4", "e9", "\"k\":",
    };
    uint64_t state = 77;

    for (int round = 0; round < 60000; round++) {
        char text[200];
        size_t len = 0;
        for (uint64_t n = random_below(&state, 12); n > 0; n--) {
            const char *piece = pieces[random_below(&state, COUNT(pieces))];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
        compare_verdicts(text, len);
    }
}

static json_t *random_text(uint64_t *state)
{
    char text[64];
    int len = 0;

    for (uint64_t n = random_below(state, 10); n > 0; n--) {
        static const char *const runes[] = {
            "a", "/", "~", "\"", "\\", "\n", "\x01", "\xc3\xa4", "\xf0\x9f\x98\x80",
            "0", " ", "~1"};
        len += snprintf(text + len, sizeof text - (size_t)len, "%s",
                        runes[random_below(state, COUNT(runes))]);
    }
    return json_stringn(text, (size_t)len);
}

static json_t *random_value(uint64_t *state, int depth)
{
    json_t *value;

    switch (random_below(state, depth > 0 ? 7 : 5)) {
    case 0:
        return random_text(state);
    case 1:
        return json_pack("I", (json_int_t)next_random(state) >> random_below(state, 64));
    case 2:
        return json_real((double)(int64_t)next_random(state) / 1e9);
    case 3:
        return json_boolean(random_below(state, 2));
    case 4:
        return json_null();
    case 5:
        value = json_array();
        for (uint64_t n = random_below(state, 5); n > 0; n--)
            json_array_append_new(value, random_value(state, depth - 1));
        return value;
    default:
        value = json_object();
        for (uint64_t n = random_below(state, 5); n > 0; n--) {
            json_t *key = random_text(state);
            json_object_set_new(value, json_string_value(key), random_value(state, depth - 1));
            json_decref(key);
        }
        return value;
    }
}

static void compare_values(pawl_mem *mem, pawl_str payload, const char *pointer, json_t *value);

/* "pointer/key", with the key escaped. */
static const char *pointer_to(pawl_mem *mem, const char *pointer, const char *key)
{
    struct buf b;

    buf_init(&b, 10000);
    buf_printf(&b, "%s/", pointer);
    for (; *key; key++) {
        if (*key == '~')
            buf_puts(&b, "~0");
        else if (*key == '/')
            buf_puts(&b, "~1");
        else
            buf_putc(&b, *key);
    }
    const char *text = pawl_mem_dup(mem, buf_slice(&b)).ptr;
    buf_deinit(&b);
    return text;
}

static void compare_members(pawl_mem *mem, pawl_str payload, const char *pointer, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item)
        compare_values(mem, payload, pawl_mem_printf(mem, "%s/%zu", pointer, i).ptr, item);
    json_object_foreach(value, key, item)
        compare_values(mem, payload, pointer_to(mem, pointer, key), item);
}

static void compare_values(pawl_mem *mem, pawl_str payload, const char *pointer, json_t *value)
{
    pawl_str raw = pawl_json_get(payload, pointer);
    json_error_t error;

    ck_assert_msg(raw.ptr != NULL, "%s not found in %.*s", pointer, PAWL_FMT(payload));
    json_t *again = json_loadb(raw.ptr, raw.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    ck_assert_msg(json_equal(again, value), "%s", pointer);
    json_decref(again);
    if (json_is_string(value)) {
        pawl_str text = pawl_json_text(mem, payload, pointer, "none");
        ck_assert_uint_eq(text.len, json_string_length(value));
        ck_assert_mem_eq(text.ptr, json_string_value(value), text.len);
    } else if (json_is_integer(value)) {
        ck_assert_int_eq(pawl_json_int(payload, pointer, 0), json_integer_value(value));
    } else if (json_is_real(value)) {
        ck_assert_double_eq(pawl_json_number(payload, pointer, 0), json_real_value(value));
    } else if (json_is_boolean(value)) {
        ck_assert_int_eq(pawl_json_bool(payload, pointer, !json_is_true(value)),
                         json_is_true(value));
    } else if (json_is_array(value)) {
        ck_assert_int_eq(pawl_json_count(payload, pointer), (int64_t)json_array_size(value));
    } else if (json_is_object(value)) {
        ck_assert_int_eq(pawl_json_count(payload, pointer), (int64_t)json_object_size(value));
    }
    compare_members(mem, payload, pointer, value);
}

TEST(every_value_of_a_random_document_is_found_by_its_pointer)
{
    static const size_t styles[] = {JSON_COMPACT, JSON_INDENT(2), JSON_ENSURE_ASCII,
                                    JSON_COMPACT | JSON_ESCAPE_SLASH};
    pawl_mem *mem = pawl_mem_new();
    uint64_t state = 4;

    for (int round = 0; round < 300; round++) {
        json_t *value = random_value(&state, 5);
        size_t style = styles[random_below(&state, COUNT(styles))];
        char *text = json_dumps(value, JSON_ENCODE_ANY | style);
        compare_values(mem, pawl_s(text), "", value);
        free(text);
        json_decref(value);
        pawl_mem_reset(mem);
    }
    pawl_mem_free(mem);
}
