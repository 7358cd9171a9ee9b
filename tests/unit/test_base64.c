/* SPDX-License-Identifier: MIT */
/* tests/unit/test_base64.c -- base64, by the examples of RFC 4648 and there and back. */
#include "../harness.h"
#include "base/base64.h"

#include <string.h>

static void check_text(const char *bytes, const char *want)
{
    char got[16] = {0}, back[16] = {0};
    size_t read, n = strlen(bytes), digits = strcspn(want, "=");

    base64_write(got, pawl_s(bytes));
    ck_assert_str_eq(got, want);
    ck_assert_uint_eq(BASE64_CHARS(n), strlen(want));
    ck_assert_uint_eq(base64_read(back, pawl_s(want), &read), n);
    ck_assert_uint_eq(read, digits);
    ck_assert_str_eq(back, bytes);
    memset(got, 0, sizeof(got));
    base64_write_url(got, bytes, n);
    ck_assert_uint_eq(strlen(got), (4 * n + 2) / 3);
    ck_assert(strncmp(got, want, digits) == 0 && strlen(got) == digits);
}

TEST(the_examples_of_the_rfc_are_written_and_read)
{
    check_text("", "");
    check_text("f", "Zg==");
    check_text("fo", "Zm8=");
    check_text("foo", "Zm9v");
    check_text("foob", "Zm9vYg==");
    check_text("fooba", "Zm9vYmE=");
    check_text("foobar", "Zm9vYmFy");
}

TEST(the_two_alphabets_differ_in_two_digits)
{
    char got[5] = {0};

    base64_write(got, (pawl_str){"\xfb\xff\xbf", 3});
    ck_assert_str_eq(got, "+/+/");
    base64_write_url(got, "\xfb\xff\xbf", 3);
    ck_assert_str_eq(got, "-_-_");
}

TEST(any_bytes_come_back)
{
    for (size_t n = 0; n <= 256; n++) {
        char bytes[256], text[BASE64_CHARS(256) + 1], back[256];
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)(i * 167 + n * 31);
        text[BASE64_CHARS(n)] = '!';
        base64_write(text, (pawl_str){bytes, n});
        ck_assert_int_eq(text[BASE64_CHARS(n)], '!');
        size_t read;
        ck_assert_uint_eq(base64_read(back, (pawl_str){text, BASE64_CHARS(n)}, &read), n);
        ck_assert_mem_eq(back, bytes, n);
    }
}

TEST(reading_ends_at_what_is_no_digit)
{
    char back[16];
    size_t read;

    ck_assert_uint_eq(base64_read(back, pawl_s("Zm9v*mFy"), &read), 3);
    ck_assert_uint_eq(read, 4);
    ck_assert_uint_eq(base64_read(back, (pawl_str){"Zm\0v", 4}, &read), 1);
    ck_assert_uint_eq(read, 2);
    for (int c = 0; c < 256; c++) {
        char one = (char)c;
        bool digit =
            c && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", c);
        ck_assert_uint_eq(base64_read(back, (pawl_str){&one, 1}, &read), 0);
        ck_assert_uint_eq(read, digit);
    }
}
