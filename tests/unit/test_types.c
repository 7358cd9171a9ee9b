/* SPDX-License-Identifier: MIT */
/* tests/unit/test_types.c -- slices, and the words behind the public enums. */
#include "../harness.h"
#include "pawl/event.h"

#include <ctype.h>
#include <string.h>

TEST(a_slice_of_a_c_string_has_its_length)
{
    ck_assert_uint_eq(pawl_s("order").len, 5);
    ck_assert_uint_eq(pawl_s("").len, 0);
    ck_assert_ptr_null(pawl_s(NULL).ptr);
    ck_assert_uint_eq(pawl_s(NULL).len, 0);
}

TEST(slices_are_equal_by_their_bytes)
{
    static const struct {
        pawl_str a, b;
        bool equal;
    } rows[] = {
        {{"abc", 3},      {"abc", 3},      true },
        {{"abcd", 3},     {"abcx", 3},     true },
        {{"abc", 3},      {"abd", 3},      false},
        {{"abc", 3},      {"ab", 2},       false},
        {{NULL, 0},       {"", 0},         true },
        {{NULL, 0},       {NULL, 0},       true },
        {{"a\0b", 3},     {"a\0b", 3},     true },
        {{"a\0b", 3},     {"a\0c", 3},     false},
        {{"\xff\xfe", 2}, {"\xff\xfe", 2}, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(pawl_str_eq(rows[i].a, rows[i].b) == rows[i].equal, "row %zu", i);
        ck_assert_msg(pawl_str_eq(rows[i].b, rows[i].a) == rows[i].equal, "row %zu", i);
    }
}

TEST(a_slice_is_compared_to_all_of_a_c_string)
{
    ck_assert(pawl_str_is((pawl_str){"paid!", 4}, "paid"));
    ck_assert(!pawl_str_is((pawl_str){"paid!", 5}, "paid"));
    ck_assert(!pawl_str_is((pawl_str){"pai", 3}, "paid"));
    ck_assert(!pawl_str_is((pawl_str){"paid\0", 5}, "paid"));
    ck_assert(pawl_str_is((pawl_str){0}, ""));
    ck_assert(pawl_str_is((pawl_str){0}, NULL));
}

TEST(every_status_has_its_code_in_small_letters_and_its_text)
{
    static const struct {
        pawl_status status;
        const char *name;
        const char *text;
    } rows[] = {
#define ROW(name, value, klass, text) {PAWL_##name, #name, text},
        PAWL_STATUS_MAP(ROW)
#undef ROW
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *code = pawl_status_code(rows[i].status);
        ck_assert_uint_eq(strlen(code), strlen(rows[i].name));
        for (size_t k = 0; code[k]; k++)
            ck_assert_int_eq(code[k], tolower((unsigned char)rows[i].name[k]));
        ck_assert_str_eq(pawl_status_text(rows[i].status), rows[i].text);
    }
    ck_assert_str_eq(pawl_status_code(PAWL_NOT_FOUND), "not_found");
}

TEST(numbers_that_are_no_status_still_print)
{
    static const int none[] = {1, -19, 1000, -100000, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_str_eq(pawl_status_code((pawl_status)none[i]), "no_status");
        ck_assert_ptr_nonnull(pawl_status_text((pawl_status)none[i]));
    }
}

TEST(states_have_names_and_four_of_them_are_terminal)
{
    static const struct {
        pawl_state state;
        const char *name;
        bool terminal;
    } rows[] = {
        {PAWL_PENDING,          "pending",          false},
        {PAWL_RUNNING,          "running",          false},
        {PAWL_SUSPENDED,        "suspended",        false},
        {PAWL_BLOCKED,          "blocked",          false},
        {PAWL_COMPLETED,        "completed",        true },
        {PAWL_FAILED,           "failed",           true },
        {PAWL_CANCELLED,        "cancelled",        true },
        {PAWL_CONTINUED_AS_NEW, "continued_as_new", true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_str_eq(pawl_state_name(rows[i].state), rows[i].name);
        ck_assert_int_eq(pawl_state_is_terminal(rows[i].state), rows[i].terminal);
    }
    ck_assert_ptr_null(pawl_state_name((pawl_state)8));
    ck_assert_ptr_null(pawl_state_name((pawl_state)-1));
    ck_assert(!pawl_state_is_terminal((pawl_state)8));
}

TEST(event_kinds_go_to_names_and_back)
{
    int named = 0;

    for (int kind = -5; kind < 200; kind++) {
        const char *name = pawl_event_kind_name(kind);
        if (!name)
            continue;
        named++;
        ck_assert_int_eq(pawl_event_kind_of(pawl_s(name)), kind);
    }
#define ONE(symbol, number, text, klass) +1
    ck_assert_int_eq(named, 0 PAWL_EVENT_KINDS(ONE));
#undef ONE
    ck_assert_str_eq(pawl_event_kind_name(PAWL_EV_TIMER_FIRED), "TimerFired");
}

TEST(words_that_are_no_event_kind_are_zero)
{
    ck_assert_int_eq(pawl_event_kind_of(pawl_s("TimerFire")), 0);
    ck_assert_int_eq(pawl_event_kind_of(pawl_s("timerfired")), 0);
    ck_assert_int_eq(pawl_event_kind_of(pawl_s("")), 0);
    ck_assert_int_eq(pawl_event_kind_of((pawl_str){"TimerFired\0", 11}), 0);
    ck_assert_ptr_null(pawl_event_kind_name(0));
}
