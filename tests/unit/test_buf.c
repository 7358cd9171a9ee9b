/* SPDX-License-Identifier: MIT */
/* tests/unit/test_buf.c -- the growable byte buffer. */
#include "../harness.h"
#include "base/buf.h"
#include "faults.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

TEST(an_empty_buffer_is_an_empty_text)
{
    struct buf b;

    buf_init(&b, 100);
    ck_assert_str_eq(buf_slice(&b).ptr, "");
    ck_assert_uint_eq(buf_slice(&b).len, 0);
    buf_put(&b, NULL, 0);
    ck_assert(!b.failed);
    buf_deinit(&b);
}

TEST(pieces_are_put_one_after_the_other)
{
    struct buf b;

    buf_init(&b, 1000);
    buf_puts(&b, "a=");
    buf_printf(&b, "%d", 42);
    buf_putc(&b, ';');
    buf_str(&b, (pawl_str){"bcdef", 3});
    buf_put(&b, "\0x", 2);
    ck_assert_uint_eq(b.len, 10);
    ck_assert_mem_eq(buf_slice(&b).ptr, "a=42;bcd\0x", 11);
    buf_deinit(&b);
}

TEST(the_maximum_is_reached_but_not_passed)
{
    struct buf b;

    buf_init(&b, 5);
    buf_puts(&b, "12345");
    ck_assert(!b.failed);
    buf_putc(&b, '6');
    ck_assert(b.failed);
    ck_assert_str_eq(buf_slice(&b).ptr, "12345");
    buf_deinit(&b);
}

TEST(a_failed_buffer_drops_what_follows_until_reset)
{
    struct buf b;

    buf_init(&b, 5);
    buf_puts(&b, "123");
    buf_printf(&b, "%s", "456");
    ck_assert(b.failed);
    buf_putc(&b, '4'); /* would fit, but there would be a hole */
    ck_assert_str_eq(buf_slice(&b).ptr, "123");
    buf_reset(&b);
    ck_assert(!b.failed);
    buf_puts(&b, "ok");
    ck_assert_str_eq(buf_slice(&b).ptr, "ok");
    buf_deinit(&b);
}

TEST(a_reset_keeps_the_memory)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_printf(&b, "%5000d", 1);
    const char *ptr = b.ptr;
    buf_reset(&b);
    ck_assert_str_eq(buf_slice(&b).ptr, "");
    buf_printf(&b, "%5000d", 2);
    ck_assert_ptr_eq(b.ptr, ptr);
    buf_deinit(&b);
    buf_puts(&b, "again"); /* usable after deinit */
    ck_assert_str_eq(buf_slice(&b).ptr, "again");
    buf_deinit(&b);
}

TEST(printing_fits_at_every_length_around_the_capacity)
{
    for (int width = 1; width < 300; width++) {
        struct buf b;
        buf_init(&b, 1000);
        buf_puts(&b, "x");
        buf_printf(&b, "%*d", width, 7);
        ck_assert_uint_eq(b.len, 1 + (size_t)width);
        ck_assert_int_eq(b.ptr[b.len - 1], '7');
        ck_assert_int_eq(b.ptr[b.len], '\0');
        buf_deinit(&b);
    }
}

TEST(a_print_over_the_maximum_leaves_no_trace)
{
    struct buf b;

    buf_init(&b, 20);
    buf_puts(&b, "0123456789");
    buf_printf(&b, "%s", "abcdefghijk");
    ck_assert(b.failed);
    ck_assert_str_eq(buf_slice(&b).ptr, "0123456789");
    buf_deinit(&b);
}

TEST(random_appends_give_the_same_bytes_as_an_array)
{
    static char model[200000];
    uint64_t state = 3;
    struct buf b;

    buf_init(&b, sizeof model);
    while (b.len < 150000) {
        char piece[500];
        size_t n = random_below(&state, sizeof piece);
        memset(piece, (int)random_below(&state, 256), n);
        memcpy(model + b.len, piece, n);
        buf_put(&b, piece, n);
        ck_assert_int_eq(b.ptr ? b.ptr[b.len] : 0, '\0');
    }
    ck_assert_mem_eq(b.ptr, model, b.len);
    buf_deinit(&b);
}

TEST(running_out_of_memory_fails_the_buffer_and_keeps_its_text)
{
    for (int n = 0; fault_at(n); n++) {
        struct buf b;
        buf_init(&b, 100000);
        for (int i = 0; i < 200; i++)
            buf_printf(&b, "%d,", i);
        ck_assert(b.failed == fault_hit());
        ck_assert_uint_eq(strlen(buf_slice(&b).ptr), b.len);
        buf_deinit(&b);
    }
}
