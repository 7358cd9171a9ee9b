/* SPDX-License-Identifier: MIT */
/* tests/unit/test_limits.c -- ids and names, both sides of every limit. */
#include "../harness.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static pawl_str repeat(char c, size_t n)
{
    static char bytes[4096];

    ck_assert_uint_le(n, sizeof bytes);
    memset(bytes, c, n);
    return (pawl_str){bytes, n};
}

TEST(a_text_is_cut_behind_its_last_whole_character)
{
    char whole[] = "a\xc3\xa9", half[] = "a\xc3\xa9\xc3", three[] = "x\xf0\x9f\x90", none[] = "";

    utf8_cut(whole);
    utf8_cut(half);
    utf8_cut(three);
    utf8_cut(none);
    ck_assert_str_eq(whole, "a\xc3\xa9");
    ck_assert_str_eq(half, "a\xc3\xa9");
    ck_assert_str_eq(three, "x");
    ck_assert_str_eq(none, "");
}

TEST(instance_ids_are_short_printable_utf8)
{
    static const struct {
        const char *name;
        pawl_str id;
        pawl_status status;
    } rows[] = {
        {"plain",              {"order-1", 7},          PAWL_OK     },
        {"one byte",           {"x", 1},                PAWL_OK     },
        {"slash",              {"a/b/c", 5},            PAWL_OK     },
        {"space",              {"a b", 3},              PAWL_OK     },
        {"percent and quotes", {"%\"'\\", 4},           PAWL_OK     },
        {"umlaut",             {"\xc3\xa4", 2},         PAWL_OK     },
        {"no-break space",     {"\xc2\xa0", 2},         PAWL_OK     },
        {"emoji",              {"\xf0\x9f\x98\x80", 4}, PAWL_OK     },
        {"empty",              {"", 0},                 PAWL_INVALID},
        {"null",               {NULL, 0},               PAWL_INVALID},
        {"nul byte",           {"a\0b", 3},             PAWL_INVALID},
        {"newline",            {"a\n", 2},              PAWL_INVALID},
        {"unit separator",     {"\x1f", 1},             PAWL_INVALID},
        {"delete",             {"\x7f", 1},             PAWL_INVALID},
        {"C1 control",         {"\xc2\x85", 2},         PAWL_INVALID},
        {"cut off",            {"a\xc3", 2},            PAWL_INVALID},
        {"not utf8",           {"\xff", 1},             PAWL_INVALID},
        {"surrogate",          {"\xed\xa0\x80", 3},     PAWL_INVALID},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_error error = {.status = PAWL_OK};
        bool ok = check_instance_id(rows[i].id, LIMIT_INSTANCE_BYTES, &error);
        ck_assert_msg(ok == (rows[i].status == PAWL_OK), "%s", rows[i].name);
        ck_assert_msg(error.status == rows[i].status, "%s", rows[i].name);
        ck_assert_msg(ok == check_instance_id(rows[i].id, LIMIT_INSTANCE_BYTES, NULL), "%s",
                      rows[i].name);
    }
}

TEST(instance_ids_end_at_their_limit)
{
    pawl_error error;

    ck_assert(check_instance_id(repeat('i', 512), LIMIT_INSTANCE_BYTES, &error));
    ck_assert(!check_instance_id(repeat('i', 513), LIMIT_INSTANCE_BYTES, &error));
    ck_assert_int_eq(error.status, PAWL_LIMIT);
    ck_assert_str_eq(error.text, "instance id has 513 bytes, the limit is 512; shorten it");
    ck_assert(check_instance_id(repeat('i', 1024), LIMIT_CHILD_ID_BYTES, &error));
    ck_assert(!check_instance_id(repeat('i', 1025), LIMIT_CHILD_ID_BYTES, &error));
}

TEST(names_have_no_slash_and_end_at_255)
{
    pawl_error error;

    ck_assert(check_name("queue name", repeat('q', 255), &error));
    ck_assert(!check_name("queue name", repeat('q', 256), &error));
    ck_assert_str_eq(error.text, "queue name has 256 bytes, the limit is 255; shorten it");
    ck_assert(!check_name("activity name", pawl_s("mail/send"), &error));
    ck_assert_int_eq(error.status, PAWL_INVALID);
    ck_assert_str_eq(error.text, "activity name has a '/' at byte 4; use '.' or '-' instead");
    ck_assert(!check_name("event name", pawl_s(""), &error));
    ck_assert_str_eq(error.text, "event name is empty; give 1 to 255 bytes");
    ck_assert(!check_name("event name", pawl_s("a\tb"), &error));
    ck_assert_str_eq(error.text, "event name has a control character at byte 1; remove it");
    ck_assert(!check_name("event name", pawl_s("\xc0\x80"), &error));
    ck_assert_str_eq(error.text, "event name is not UTF-8; encode it as UTF-8");
}

TEST(an_error_text_is_cut_between_characters)
{
    for (int shift = 0; shift < 4; shift++) {
        char text[700] = "xxx";
        size_t n = (size_t)shift;
        while (n < 650) {
            memcpy(text + n, "\xe2\x82\xac", 4); /* the euro sign */
            n += 3;
        }
        pawl_error error;
        error_set(&error, PAWL_BUSY, "%s", text);
        ck_assert_int_eq(error.status, PAWL_BUSY);
        size_t len = strlen(error.text);
        ck_assert_uint_ge(len, 495);
        ck_assert_uint_lt(len, sizeof error.text);
        ck_assert_msg(utf8_valid(pawl_s(error.text)), "shift %d", shift);
        ck_assert_mem_eq(error.text, text, len);
    }
}

TEST(an_error_about_a_text_is_the_same_as_a_formatted_one)
{
    char text[600];
    pawl_error a, b;

    memset(text, 'x', sizeof text);
    memcpy(text + 478, "\xe2\x82\xac", 3);
    for (size_t len = 0; len <= sizeof text; len++) {
        memset(&a, 1, sizeof a);
        memset(&b, 2, sizeof b);
        error_about(&a, PAWL_NOT_FOUND, "there is no '", (pawl_str){text, len}, "' here");
        error_set(&b, PAWL_NOT_FOUND, "there is no '%.*s' here", (int)len, text);
        ck_assert_str_eq(a.text, b.text);
        ck_assert_int_eq(a.status, b.status);
    }
    error_about(&a, PAWL_BUSY, "", (pawl_str){0}, "");
    ck_assert_str_eq(a.text, "");
    error_about(NULL, PAWL_BUSY, "nobody", (pawl_str){0}, "listens");
}

TEST(an_error_text_that_just_fits_is_whole)
{
    pawl_error error;

    error_set(&error, PAWL_LIMIT, "%*s", 499, "\xe2\x82\xac");
    ck_assert_uint_eq(strlen(error.text), 499);
    error_set(NULL, PAWL_LIMIT, "nobody listens");
}
