/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_attributes.c -- sets, changes, keys and conditions (base/attributes.h).
 */
#include "../harness.h"
#include "base/arena.h"
#include "base/attributes.h"
#include "base/str.h"
#include "random.h"

#include <stdio.h>
#include <string.h>

static pawl_mem mem;

static const char *refusal(const char *json)
{
    static pawl_error err;
    struct attribute_list list;
    err = (pawl_error){0};
    return attributes_read(&mem, pawl_s(json), ATTRIBUTES_OF_USERS, &list, &err) ? "" : err.text;
}

static const char *merged(const char *set, const char *change)
{
    struct attribute_list list;
    pawl_error err = {0};
    pawl_str ret = {0};
    ck_assert(attributes_read(&mem, pawl_s(change), ATTRIBUTES_OF_USERS, &list, &err));
    return attributes_merge(&mem, pawl_s(set), &list, &ret, &err)
               ? ret.len ? ret.ptr : ""
               : pawl_mem_printf(&mem, "%s", err.text).ptr;
}

TEST(s51_names_and_values_on_both_sides_of_their_limits)
{
    char text[700], name[66];
    arena_init(&mem);
    memset(name, 'a', sizeof(name));
    for (int n = 63; n <= 64; n++) {
        (void)snprintf(text, sizeof(text), "{\"%.*s\":1}", n, name);
        ck_assert_int_eq(refusal(text)[0] == 0, n == 63);
    }
    for (int n = 255; n <= 256; n++) {
        (void)snprintf(text, sizeof(text), "{\"a\":\"%0*d\"}", n, 0);
        ck_assert_int_eq(refusal(text)[0] == 0, n == 255);
    }
    static const char *const fine[] = {"",
                                       "{}",
                                       "{\"a\":9223372036854775807,\"b\":-9223372036854775808}",
                                       "{\"a.b-c_9\":\"\"}",
                                       "{\"pawl\":1,\"pawlx\":2}",
                                       "{\"a\":5.0,\"b\":1e3}", /* whole by value */
                                       "{\"a\":null}"};
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        ck_assert_str_eq(refusal(fine[i]), "");
    static const char *const bad[] = {"[1]",
                                      "{\"a\":1",
                                      "1",
                                      "{\"a\":1.5}",
                                      "{\"a\":1e300}",
                                      "{\"a\":9223372036854775808}",
                                      "{\"a\":{}}",
                                      "{\"a\":[]}",
                                      "{\"a\":true}",
                                      "{\"A\":1}",
                                      "{\"1a\":1}",
                                      "{\"\":1}",
                                      "{\"a b\":1}",
                                      "{\"pawl.queue\":1}",
                                      "{\"a\":\"\\u0000\"}",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"a\":\"\\n\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(refusal(bad[i])[0] != 0, "%s", bad[i]);
        ck_assert_ptr_null(strchr(refusal(bad[i]), '\n'));
    }
    arena_deinit(&mem);
}

TEST(s51_a_change_is_merged_and_null_removes)
{
    arena_init(&mem);
    ck_assert_str_eq(merged("", "{\"b\":2, \"a\":\"\\u0078\"}"), "{\"a\":\"x\",\"b\":2}");
    ck_assert_str_eq(merged("{\"a\":\"x\",\"b\":2}", "{\"b\":null,\"c\":\"\\\"\"}"),
                     "{\"a\":\"x\",\"c\":\"\\\"\"}");
    ck_assert_str_eq(merged("{\"a\":1}", "{\"a\":null}"), "");
    ck_assert_str_eq(merged("{\"a\":1}", ""), "{\"a\":1}");
    ck_assert_str_eq(merged("", "{\"a\":null}"), "");
    pawl_str set = {0};
    for (int i = 0; i < PAWL_ATTRIBUTES_MAX; i++)
        set =
            pawl_s(merged(set.len ? set.ptr : "", pawl_mem_printf(&mem, "{\"n%d\":%d}", i, i).ptr));
    ck_assert_uint_eq(attributes_of(&mem, set).count, PAWL_ATTRIBUTES_MAX);
    ck_assert_ptr_nonnull(strstr(merged(set.ptr, "{\"more\":1}"), "33 attributes"));
    ck_assert_ptr_nonnull(strstr(merged(set.ptr, "{\"more\":1,\"n0\":null}"), "\"more\":1"));
    arena_deinit(&mem);
}

static const char *parsed(const char *text)
{
    pawl_where w;
    pawl_error err = {0};
    if (!pawl_where_parse(&mem, pawl_s(text), &w, &err)) {
        ck_assert(err.text[0] && !strchr(err.text, '\n'));
        return "refused";
    }
    if (w.is_number)
        return pawl_mem_printf(&mem, "%.*s %d %lld", PAWL_FMT(w.name), (int)w.op,
                               (long long)w.number)
            .ptr;
    return pawl_mem_printf(&mem, "%.*s %d '%.*s'", PAWL_FMT(w.name), (int)w.op, PAWL_FMT(w.text))
        .ptr;
}

TEST(s54_conditions_are_read_or_refused)
{
    arena_init(&mem);
    ck_assert_str_eq(parsed("customer=c-42"), "customer 0 'c-42'");
    ck_assert_str_eq(parsed("a=42"), "a 0 42");
    ck_assert_str_eq(parsed("a=\"42\""), "a 0 '42'");
    ck_assert_str_eq(parsed("a=-9223372036854775808"), "a 0 -9223372036854775808");
    ck_assert_str_eq(parsed("a=007"), "a 0 '007'");
    ck_assert_str_eq(parsed("a=-0"), "a 0 '-0'");
    ck_assert_str_eq(parsed("a=1.5"), "a 0 '1.5'");
    ck_assert_str_eq(parsed("a!=1.5"), "a 1 '1.5'");
    ck_assert_str_eq(parsed("a>=\"1.5\""), "a 5 '1.5'");
    ck_assert_str_eq(parsed("a>=1.5.0"), "a 5 '1.5.0'");
    ck_assert_str_eq(parsed("a^=1.5"), "a 6 '1.5'");
    ck_assert_str_eq(parsed("a="), "a 0 ''");
    ck_assert_str_eq(parsed("a==b"), "a 0 '=b'");
    ck_assert_str_eq(parsed("a!=5"), "a 1 5");
    ck_assert_str_eq(parsed("a<5"), "a 2 5");
    ck_assert_str_eq(parsed("a<=5"), "a 3 5");
    ck_assert_str_eq(parsed("a>5"), "a 4 5");
    ck_assert_str_eq(parsed("a>=5"), "a 5 5");
    ck_assert_str_eq(parsed("a^=5"), "a 6 '5'");
    ck_assert_str_eq(parsed("pawl.queue=q"), "pawl.queue 0 'q'");
    static const char *const bad[] = {"",       "a",        "=1",
                                      "a!1",    "a^1",      "A=1",
                                      "a b=1",  "pawl.=1",  "a=9223372036854775808",
                                      "a=\"x",  "a=\"x\"y", "a=\n",
                                      "a=\xff", "a>=1.5",   "a>1.5",
                                      "a<1e3",  "a<=-0.5"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(strcmp(parsed(bad[i]), "refused") == 0, "%s", bad[i]);
    arena_deinit(&mem);
}

static struct attribute some_value(uint64_t *r)
{
    static const char *const texts[] = {"", "a", "ab", "b", "7", "\xc3\xa9", "\xf4\x8f\xbf\xbf"};
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 7, INT64_MAX - 1, INT64_MAX};
    struct attribute a = {.name = pawl_s("x"), .is_number = random_below(r, 2)};
    if (a.is_number)
        a.number = numbers[random_below(r, 7)];
    else
        a.text = pawl_s(texts[random_below(r, 7)]);
    return a;
}

/* A key lies in the range of a condition exactly when the condition holds for the set. */
TEST(s54_ranges_of_keys_and_conditions_agree)
{
    uint64_t r = 18;
    for (int i = 0; i < 20000; i++) {
        arena_init(&mem);
        struct attribute has = some_value(&r), wants = some_value(&r), back;
        pawl_where w = {.name = pawl_s("x"), .op = (pawl_where_op)random_below(&r, 7)};
        if (w.op == PAWL_WHERE_BEGINS)
            while (wants.is_number)
                wants = some_value(&r);
        w.is_number = wants.is_number;
        w.number = wants.number;
        w.text = wants.text;
        pawl_str set, key = attribute_key(&mem, &has);
        ck_assert(
            attributes_merge(&mem, (pawl_str){0}, &(struct attribute_list){&has, 1}, &set, NULL));
        struct attribute_range range = attribute_range(&mem, &w);
        bool in = str_compare(key, range.from) >= 0 && str_compare(key, range.to) < 0 &&
                  !pawl_str_eq(key, range.except);
        ck_assert_int_eq(in, attributes_fit(set, &w, 1));
        ck_assert(attribute_of_key(key, &back) && attribute_same(&has, &back));
        arena_deinit(&mem);
    }
}
