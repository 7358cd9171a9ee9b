/* SPDX-License-Identifier: MIT */
/* tests/unit/test_pack.c -- texts one behind the other. */
#include "../harness.h"
#include "base/pack.h"

TEST(each_text_is_copied_with_a_nul_and_takes_one_byte_more)
{
    char room[16], *at = room;
    char name[] = "name";
    memset(room, 'x', sizeof(room));

    pawl_str a = pack_str(&at, pawl_s(name));
    pawl_str none = pack_str(&at, (pawl_str){0});
    pawl_str b = pack_str(&at, (pawl_str){"a\0b", 3});
    name[0] = 'g';
    ck_assert_ptr_eq(a.ptr, room);
    ck_assert_str_eq(a.ptr, "name");
    ck_assert_ptr_eq(none.ptr, room + 5);
    ck_assert_uint_eq(none.len, 0);
    ck_assert_int_eq(none.ptr[0], 0);
    ck_assert_ptr_eq(b.ptr, room + 6);
    ck_assert_uint_eq(b.len, 3);
    ck_assert_mem_eq(b.ptr, "a\0b", 4);
    ck_assert_ptr_eq(at, room + 10);
    ck_assert_int_eq(room[10], 'x');
}

TEST(no_text_stays_none_and_takes_no_room)
{
    char room[4], *at = room;

    ck_assert_ptr_null(pack_text(&at, NULL));
    ck_assert_ptr_eq(at, room);
    ck_assert_str_eq(pack_text(&at, "abc"), "abc");
    ck_assert_ptr_eq(at, room + 4);
}
