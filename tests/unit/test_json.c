/* SPDX-License-Identifier: MIT */
/* tests/unit/test_json.c -- the strict reader, by tables and against jansson. */
#include "../harness.h"
#include "base/json.h"
#include "base/limits.h"
#include "faults.h"
#include "json_samples.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_valid(const char *text)
{
    pawl_str copy = exact(text, strlen(text));
    bool ok = pawl_json_valid(copy, NULL);

    drop(copy);
    return ok;
}

/* ---- What is JSON ------------------------------------------------------- */

TEST(everything_the_grammar_allows_is_accepted)
{
    for (size_t i = 0; i < COUNT(valid); i++)
        ck_assert_msg(is_valid(valid[i]), "%s", valid[i]);
}

TEST(everything_else_is_refused_where_it_breaks)
{
    for (size_t i = 0; i < COUNT(invalid); i++) {
        size_t offset = 99;
        pawl_str copy = exact(invalid[i].text, strlen(invalid[i].text));
        ck_assert_msg(!pawl_json_valid(copy, &offset), "%s", invalid[i].text);
        ck_assert_msg(offset == invalid[i].offset, "%s: %zu", invalid[i].text, offset);
        ck_assert_uint_eq(pawl_json_get(copy, "").len, 0);
        drop(copy);
    }
    ck_assert(!pawl_json_valid((pawl_str){0}, NULL));
    ck_assert(!pawl_json_valid((pawl_str){"[]\0", 3}, NULL));
    ck_assert(!pawl_json_valid((pawl_str){"\"\0\"", 3}, NULL));
    ck_assert(!pawl_json_valid((pawl_str){"\"\\\0\"", 4}, NULL));
}

static pawl_str nested(char *to, size_t depth, const char *open, const char *close)
{
    char *at = to;

    for (size_t i = 0; i < depth; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, "1");
    for (size_t i = 0; i < depth; i++)
        at = stpcpy(at, close);
    return (pawl_str){to, (size_t)(at - to)};
}

TEST(depth_ends_at_64_in_arrays_objects_and_both)
{
    static char text[8 * 200000];
    static const struct {
        size_t depth;
        bool ok;
    } rows[] = {
        {63,     true },
        {64,     true },
        {65,     false},
        {66,     false},
        {200000, false}
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert(pawl_json_valid(nested(text, rows[i].depth, "[", "]"), NULL) == rows[i].ok);
        ck_assert(pawl_json_valid(nested(text, rows[i].depth, "{\"\":", "}"), NULL) == rows[i].ok);
    }
    ck_assert(pawl_json_valid(nested(text, 32, "[{\"a\":", "}]"), NULL));
    ck_assert(!pawl_json_valid(nested(text, 33, "[{\"a\":", "}]"), NULL));
}

TEST(no_prefix_of_a_document_is_one_and_none_is_read_beyond)
{
    static const char text[] =
        "{\"k\\u00e9y\":[true,false,null,-1.5e+10,\"\xe2\x82\xac\\n\"],\"z\":{}}";

    for (size_t n = 0; n < sizeof text - 1; n++) {
        pawl_str prefix = exact(text, n);
        size_t offset;
        ck_assert_msg(!pawl_json_valid(prefix, &offset), "%zu bytes", n);
        ck_assert_uint_le(offset, n);
        ck_assert_ptr_null(pawl_json_get(prefix, "/z").ptr);
        drop(prefix);
    }
    ck_assert(is_valid(text));
}

/* ---- Finding ------------------------------------------------------------ */

TEST(pointers_find_values_as_they_stand)
{
    static const struct {
        const char *pointer;
        const char *raw; /* NULL: nothing */
    } rows[] = {
        {"/items/0",                    "{\"sku\":\"a-1\",\"n\":2}"},
        {"/items/0/sku",                "\"a-1\""                  },
        {"/items/0/n",                  "2"                        },
        {"/items/1",                    "17"                       },
        {"/items/2",                    "[]"                       },
        {"/items/3",                    "[[1],[2,3]]"              },
        {"/items/3/1/0",                "2"                        },
        {"/items/3/0/0",                "1"                        },
        {"/items/4",                    NULL                       },
        {"/items/-",                    NULL                       },
        {"/items/01",                   NULL                       },
        {"/items/+1",                   NULL                       },
        {"/items/1e0",                  NULL                       },
        {"/items/",                     NULL                       },
        {"/items/18446744073709551616", NULL                       },
        {"/items/18446744073709551617", NULL                       },
        {"/items/1/0",                  NULL                       },
        {"/items/0/sku/0",              NULL                       },
        {"/a~1b",                       "1"                        },
        {"/m~0n",                       "2"                        },
        {"/~01",                        "3"                        },
        {"/",                           "4"                        },
        {"/ ",                          "5"                        },
        {"/0",                          "6"                        },
        {"/k\xc3\xa9y",                 "7"                        },
        {"/~1x",                        "8"                        },
        {"/nested/items/n",             "9"                        },
        {"/nested/n",                   NULL                       },
        {"/n",                          NULL                       },
        {"/dup",                        "10"                       },
        {"/first",                      "1"                        },
        {"/first/x",                    NULL                       },
        {"/neg",                        "-0"                       },
        {"/real",                       "-1.25e2"                  },
        {"/item",                       NULL                       },
        {"/itemss",                     NULL                       },
        {"//",                          NULL                       },
        {"items",                       NULL                       },
        {"/m~n",                        NULL                       },
        {"/m~2n",                       NULL                       },
        {"/m~",                         NULL                       },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        pawl_str raw = pawl_json_get(pawl_s(sample), rows[i].pointer);
        ck_assert_msg(pawl_str_is(raw, rows[i].raw), "%s gives %.*s", rows[i].pointer,
                      PAWL_FMT(raw));
        ck_assert_msg((raw.ptr == NULL) == (rows[i].raw == NULL), "%s", rows[i].pointer);
    }
    pawl_str all = pawl_json_get(pawl_s(sample), "");
    ck_assert_uint_eq(all.len, strlen(sample) - 2); /* without the space around */
    ck_assert_ptr_null(pawl_json_get(pawl_s(sample), NULL).ptr);
}

TEST(a_value_is_only_found_in_a_document_that_is_valid_to_its_end)
{
    static const char *const broken[] = {
        "{\"a\":1",    "{\"a\":1}}",
        "{\"a\":1,}",  "{\"a\":1,\"b\":nul}",
        "{\"a\":1} x", "{\"a\":1,\"b\":\"\xff\"}",
    };

    for (size_t i = 0; i < COUNT(broken); i++)
        ck_assert_msg(!pawl_json_get(pawl_s(broken[i]), "/a").ptr, "%s", broken[i]);
}

TEST(values_are_found_in_the_bytes_of_the_payload_itself)
{
    pawl_str payload = pawl_s("[\"x\", 5]");
    pawl_str raw = pawl_json_get(payload, "/1");

    ck_assert_ptr_eq(raw.ptr, payload.ptr + 6);
    ck_assert_uint_eq(raw.len, 1);
}

TEST(scalars_have_no_members)
{
    ck_assert_uint_eq(pawl_json_get(pawl_s(" 12 "), "").len, 2);
    ck_assert_ptr_null(pawl_json_get(pawl_s("12"), "/").ptr);
    ck_assert_ptr_null(pawl_json_get(pawl_s("\"ab\""), "/0").ptr);
}

/* ---- Reading as C values ------------------------------------------------ */

TEST(strings_are_unescaped)
{
    static const struct {
        const char *raw;
        pawl_str text;
    } rows[] = {
        {"\"\"",                           {"", 0}                            },
        {"\"plain\"",                      {"plain", 5}                       },
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {"\"\\/\b\f\n\r\t", 8}             },
        {"\"a\\u0000b\"",                  {"a\0b", 3}                        },
        {"\"\\u0041\\u00e4\\u20AC\"",      {"A\xc3\xa4\xe2\x82\xac", 6}       },
        {"\"\\uD83D\\uDE00!\"",            {"\xf0\x9f\x98\x80!", 5}           },
        {"\"\\uDBFF\\uDFFF\"",             {"\xf4\x8f\xbf\xbf", 4}            },
        {"\"\\ud800\"",                    {"\xef\xbf\xbd", 3}                },
        {"\"\\ud800x\"",                   {"\xef\xbf\xbdx", 4}               },
        {"\"\\ud800\\n\"",                 {"\xef\xbf\xbd\n", 4}              },
        {"\"\\udc00\\ud800\"",             {"\xef\xbf\xbd\xef\xbf\xbd", 6}    },
        {"\"\\ud800\\ud83d\\ude00\"",      {"\xef\xbf\xbd\xf0\x9f\x98\x80", 7}},
        {"\"\\ud800\\u0041\"",
         {"\xef\xbf\xbd"
          "A",
          4}                                                                  },
        {"\"\xe2\x82\xac\"",               {"\xe2\x82\xac", 3}                },
    };
    pawl_mem *mem = pawl_mem_new();
    struct buf b;

    buf_init(&b, 100);
    for (size_t i = 0; i < COUNT(rows); i++) {
        pawl_str text = pawl_json_text(mem, pawl_s(rows[i].raw), "", "none");
        ck_assert_msg(pawl_str_eq(text, rows[i].text), "%s", rows[i].raw);
        ck_assert_int_eq(text.ptr[text.len], '\0');
        buf_reset(&b);
        buf_puts(&b, ">");
        ck_assert(json_unescape(pawl_s(rows[i].raw), &b));
        ck_assert_uint_eq(b.len, rows[i].text.len + 1);
        ck_assert_mem_eq(b.ptr + 1, rows[i].text.ptr, rows[i].text.len);
    }
    buf_deinit(&b);
    pawl_mem_free(mem);
}

TEST(what_is_no_string_gives_the_other_text)
{
    static const char *const none[] = {"1", "null", "{}", "[\"a\"]", "\"broken", "", "\""};
    pawl_mem *mem = pawl_mem_new();
    struct buf b;

    buf_init(&b, 100);
    for (size_t i = 0; i < COUNT(none); i++) {
        ck_assert_str_eq(pawl_json_text(mem, pawl_s(none[i]), "", "other").ptr, "other");
        ck_assert(!json_unescape(pawl_s(none[i]), &b));
    }
    ck_assert_str_eq(pawl_json_text(mem, pawl_s("{}"), "/a", "other").ptr, "other");
    ck_assert_uint_eq(pawl_json_text(mem, pawl_s("{}"), "/a", NULL).len, 0);
    ck_assert_uint_eq(b.len, 0);
    buf_deinit(&b);
    pawl_mem_free(mem);
}

TEST(unescaping_needs_only_the_room_of_the_result)
{
    struct buf b;

    buf_init(&b, 2);
    ck_assert(json_unescape(pawl_s("\"\\u0041\\u0042\""), &b));
    ck_assert(!b.failed);
    ck_assert_str_eq(b.ptr, "AB");
    ck_assert(json_unescape(pawl_s("\"c\""), &b));
    ck_assert(b.failed);
    buf_deinit(&b);
}

TEST(integers_are_whole_and_fit)
{
    static const struct {
        const char *raw;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0",                       true,  0        },
        {"-0",                      true,  0        },
        {"7",                       true,  7        },
        {"-7",                      true,  -7       },
        {"9223372036854775807",     true,  INT64_MAX},
        {"-9223372036854775808",    true,  INT64_MIN},
        {"9223372036854775808",     false, 0        },
        {"-9223372036854775809",    false, 0        },
        {"18446744073709551617",    false, 0        },
        {"99999999999999999999999", false, 0        },
        {"1.0",                     false, 0        },
        {"1e3",                     false, 0        },
        {"1E0",                     false, 0        },
        {"true",                    false, 0        },
        {"\"5\"",                   false, 0        },
        {"null",                    false, 0        },
        {"[5]",                     false, 0        },
        {"-",                       false, 0        },
        {"01",                      false, 0        },
        {"",                        false, 0        },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t value = 0;
        ck_assert_msg(json_integer(pawl_s(rows[i].raw), &value) == rows[i].ok, "%s", rows[i].raw);
        ck_assert_int_eq(value, rows[i].value);
        ck_assert_int_eq(pawl_json_int(pawl_s(rows[i].raw), "", -99),
                         rows[i].ok ? rows[i].value : -99);
    }
}

TEST(whole_numbers_are_told_by_their_value)
{
    static const struct {
        const char *raw;
        bool ok;
        int64_t value;
    } rows[] = {
        {"5",                           true,  5        },
        {"5.0",                         true,  5        },
        {"-5.000",                      true,  -5       },
        {"0.5e1",                       true,  5        },
        {"50e-1",                       true,  5        },
        {"500000.0E-5",                 true,  5        },
        {"1.25e+2",                     true,  125      },
        {"10203e0",                     true,  10203    },
        {"10.0",                        true,  10       },
        {"-0.0",                        true,  0        },
        {"0e99999999999",               true,  0        },
        {"0.000e-99999999999",          true,  0        },
        {"9223372036854775807.0",       true,  INT64_MAX},
        {"-9223372036854775808.0",      true,  INT64_MIN},
        {"922337203685477580700e-2",    true,  INT64_MAX},
        {"9223372036854775808.0",       false, 0        },
        {"-9223372036854775809.0",      false, 0        },
        {"5.5",                         false, 0        },
        {"5e-1",                        false, 0        },
        {"100000.00001",                false, 0        },
        {"1e19",                        false, 0        },
        {"1e99999999999",               false, 0        },
        {"1e-99999999999",              false, 0        },
        {"1000000000000000000000000.1", false, 0        },
        {"true",                        false, 0        },
        {"\"5.0\"",                     false, 0        },
        {"",                            false, 0        },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t value = 0;
        pawl_str raw = exact(rows[i].raw, strlen(rows[i].raw));
        ck_assert_msg(json_whole(raw, &value) == rows[i].ok, "%s", rows[i].raw);
        if (rows[i].ok)
            ck_assert_int_eq(value, rows[i].value);
        drop(raw);
    }
}

TEST(half_of_a_surrogate_pair_is_found_where_it_is)
{
    static const struct {
        const char *text;
        enum json_fault fault;
        size_t offset;
    } rows[] = {
        {"\"\\ud83d\\ude00\"",        JSON_FINE,      14},
        {"\"\\\\ud83d\"",             JSON_FINE,      9 },
        {"\"\\ud7ff\\ue000\"",        JSON_FINE,      14},
        {"\"\\ufffd\"",               JSON_FINE,      8 },
        {"\"\\ud800\"",               JSON_HALF_PAIR, 1 },
        {"\"\\udfff\"",               JSON_HALF_PAIR, 1 },
        {"[\"\\n\\\\\\uDC00\"]",      JSON_HALF_PAIR, 6 },
        {"\"\\ud83d\\ud83d\\ude00\"", JSON_HALF_PAIR, 1 },
        {"\"\\ud83d\\ude00\\ude00\"", JSON_HALF_PAIR, 13},
        {"\"\\ud83d\\\\ude00\"",      JSON_HALF_PAIR, 1 },
        {"{\"\\ud83d\":1}",           JSON_HALF_PAIR, 2 },
        {"[1,",                       JSON_BROKEN,    3 },
        {"",                          JSON_BROKEN,    0 },
        {"\"\\ud8\"",                 JSON_BROKEN,    1 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t offset = 99;
        pawl_str copy = exact(rows[i].text, strlen(rows[i].text));
        ck_assert_msg(json_check(copy, &offset) == rows[i].fault, "%s", rows[i].text);
        ck_assert_msg(offset == rows[i].offset, "%s: %zu", rows[i].text, offset);
        drop(copy);
    }
    char text[200];
    size_t offset;
    ck_assert_int_eq(json_check(nested(text, 64, "[", "]"), &offset), JSON_FINE);
    ck_assert_int_eq(json_check(nested(text, 65, "[", "]"), &offset), JSON_TOO_DEEP);
    ck_assert_uint_eq(offset, 64);
}

TEST(numbers_are_read_in_any_locale_and_at_the_end_of_memory)
{
    static const struct {
        const char *raw;
        double value;
    } rows[] = {
        {"0",      0.0   },
        {"-1.5",   -1.5  },
        {"0.1",    0.1   },
        {"1e3",    1000.0},
        {"-12E-1", -1.2  },
        {"1e-400", 0.0   },
        {"1e400",  -99.0 }, /* out of range */
        {"\"1\"",  -99.0 },
        {"true",   -99.0 },
        {"{}",     -99.0 },
    };

    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* where it exists, a comma is the point */
    for (size_t i = 0; i < COUNT(rows); i++) {
        pawl_str alone = exact(rows[i].raw, strlen(rows[i].raw));
        ck_assert_double_eq(pawl_json_number(alone, "", -99.0), rows[i].value);
        drop(alone);
        char text[40];
        snprintf(text, sizeof text, "[0,%s]", rows[i].raw);
        ck_assert_double_eq(pawl_json_number(pawl_s(text), "/1", -99.0), rows[i].value);
    }
}

TEST(a_very_long_number_is_read_too)
{
    static char text[3000];

    memset(text, '3', sizeof text);
    memcpy(text, "0.", 2);
    pawl_str alone = exact(text, sizeof text);
    ck_assert_double_eq(pawl_json_number(alone, "", -1), 1.0 / 3.0);
    drop(alone);
}

TEST(truth_and_counts)
{
    pawl_str payload = pawl_s(sample);

    ck_assert(pawl_json_bool(payload, "/t", false));
    ck_assert(!pawl_json_bool(payload, "/f", true));
    ck_assert(pawl_json_bool(payload, "/z", true));
    ck_assert(pawl_json_bool(payload, "/none", true));
    ck_assert(!pawl_json_bool(payload, "/dup", false));
    ck_assert_int_eq(pawl_json_count(payload, "/items"), 4);
    ck_assert_int_eq(pawl_json_count(payload, "/items/2"), 0);
    ck_assert_int_eq(pawl_json_count(payload, "/items/0"), 2);
    ck_assert_int_eq(pawl_json_count(payload, ""), 19);
    ck_assert_int_eq(pawl_json_count(payload, "/dup"), -1);
    ck_assert_int_eq(pawl_json_count(payload, "/none"), -1);
    ck_assert_int_eq(pawl_json_count(pawl_s("[1,"), ""), -1);
    ck_assert_int_eq(pawl_json_count(pawl_s("{}"), ""), 0);
}

TEST(types_are_told_by_the_first_byte)
{
    static const struct {
        const char *raw;
        enum json_type type;
    } rows[] = {
        {"{}",    JSON_OBJECT},
        {"[]",    JSON_ARRAY },
        {"\"\"",  JSON_STRING},
        {"-1",    JSON_NUMBER},
        {"0",     JSON_NUMBER},
        {"9",     JSON_NUMBER},
        {"true",  JSON_BOOL  },
        {"false", JSON_BOOL  },
        {"null",  JSON_NULL  },
        {"",      JSON_NONE  },
        {"x",     JSON_NONE  },
        {" 1",    JSON_NONE  },
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(json_type(pawl_s(rows[i].raw)) == rows[i].type, "%s", rows[i].raw);
}

/* ---- Walking ------------------------------------------------------------ */

static pawl_str walk(pawl_mem *mem, const char *raw)
{
    pawl_str list = pawl_s("");
    struct json_iter it;

    for (json_begin(&it, pawl_s(raw)); json_next(&it);)
        list = pawl_mem_printf(mem, "%.*s%.*s=%.*s;", PAWL_FMT(list), PAWL_FMT(it.key),
                               PAWL_FMT(it.value));
    ck_assert(!json_next(&it)); /* the end stays the end */
    return list;
}

TEST(each_walks_elements_and_members_by_pointer)
{
    pawl_str payload =
        pawl_s("{\"n\":3, \"items\": [ {\"p\":1}, 22 ,[\"x\"]], \"o\":{\"a b\":1,\"\\u0041\":2}}");
    static const char *const values[] = {"{\"p\":1}", "22", "[\"x\"]"};
    size_t seen = 0;

    pawl_json_iter it = pawl_json_each(payload, "/items");
    for (; pawl_json_next(&it); seen++) {
        ck_assert_uint_eq(it.index, seen);
        ck_assert(pawl_str_is(it.value, values[seen]) && it.key.len == 0);
    }
    ck_assert_uint_eq(seen, 3);
    ck_assert(!pawl_json_next(&it)); /* the end stays the end */
    it = pawl_json_each(payload, "/o");
    ck_assert(pawl_json_next(&it) && pawl_str_is(it.key, "a b") && pawl_str_is(it.value, "1"));
    ck_assert(pawl_json_next(&it) && pawl_str_is(it.key, "\\u0041") && it.index == 1);
    ck_assert(!pawl_json_next(&it));
}

TEST(each_of_what_is_no_array_walks_nothing)
{
    static const char *const pointers[] = {"/n", "/none", "n", "/items/3", ""};
    for (size_t i = 0; i < 5; i++) {
        pawl_str payload =
            pawl_s(i < 4 ? "{\"n\":3,\"items\":[1]}" : "[1,2"); /* broken: no values */
        pawl_json_iter it = pawl_json_each(payload, pointers[i]);
        ck_assert(!pawl_json_next(&it));
    }
    pawl_json_iter none = pawl_json_each(pawl_s("[]"), NULL);
    ck_assert(!pawl_json_next(&none));
}

TEST(members_and_elements_come_in_order)
{
    static const struct {
        const char *raw;
        const char *list;
    } rows[] = {
        {"{}",                                      ""                                 },
        {"[]",                                      ""                                 },
        {"[ ]",                                     ""                                 },
        {"{\"a\":1}",                               "a=1;"                             },
        {"{ \"a\" : [1, 2] , \"b\\n\":{\"a\":3} }", "a=[1, 2];b\\n={\"a\":3};"         },
        {"[1,\"x,y]\",[2,[3]],{\"k\":4} ]",         "=1;=\"x,y]\";=[2,[3]];={\"k\":4};"},
        {"{\"a\":1,\"a\":2}",                       "a=1;a=2;"                         },
        {"17",                                      ""                                 },
        {"\"[1]\"",                                 ""                                 },
        {"",                                        ""                                 },
        {"[1,",                                     "=1;"                              },
        {"[1 2]",                                   "=1;"                              },
        {"{\"a\":1,b:2}",                           "a=1;"                             },
        {"{\"a\"",                                  ""                                 },
    };
    pawl_mem *mem = pawl_mem_new();

    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_str_eq(walk(mem, rows[i].raw).ptr, rows[i].list);
    pawl_mem_free(mem);
}

/* ---- The same value ------------------------------------------------------ */

/* Rows of one class are the same value; rows of different ones are not. */
TEST(the_same_value_is_told_however_it_is_written)
{
    static const char *const classes[][6] = {
        {"1",                                   "1.0",                                 "10e-1",             " 1 ",                                       "0.1e1",                                       "1E0"             },
        {"0",                                   "-0",                                  "0.00",              "0e99999999999999",                          "-0.0e-5",                                     "0.0"             },
        {"-1",                                  "-1.0",                                "-10e-1",            "-1",                                        "-1",                                          "-1"              },
        {"12.34",                               "1234e-2",                             "0.001234e4",        "12.340",                                    "12.34",                                       "12.34"           },
        {"100",                                 "1e2",                                 "100.0",             "0.1e+3",                                    "1.00e2",                                      "100"             },
        {"1001",                                "1.001e3",                             "10.01E2",           "1001.0",                                    "1001",                                        "1001"            },
        {"10.01",                               "1001e-2",                             "10.010",            "10.01",                                     "10.01",                                       "10.01"           },
        {"9007199254740993",                    "9007199254740993.0",                  "9007199254740993",  "9007199254740993",
         "9007199254740993",                                                                                                                                                                            "9007199254740993"},
        {"9007199254740992",                    "9007199254740992.0",                  "9007199254740992",  "9007199254740992",
         "9007199254740992",                                                                                                                                                                            "9007199254740992"},
        {"1e400",                               "10e399",                              "0.1e401",           "1e400",                                     "1e400",                                       "1e400"           },
        {"1e99999999999",                       "1e99999999999 ",                      "1e99999999999",     "1e99999999999",                             "1e99999999999",
         "1e99999999999"                                                                                                                                                                                                  },
        {"1e999999999999",                      "1e999999999999",                      "1e999999999999",    "1e999999999999",                            "1e999999999999",
         "1e999999999999"                                                                                                                                                                                                 },
        {"\"A/\\u00e4\"",                       "\"\\u0041\\/\\u00E4\"",               "\"A\\/\\u00e4\"",   "\"A/\xc3\xa4\"",
         "\"\\u0041/\xc3\xa4\"",                                                                                                                                                                        " \"A/\\u00e4\""  },
        {"\"1\"",                               "\"\\u0031\"",                         "\"1\"",             "\"1\"",                                     "\"1\"",                                       "\"1\""           },
        {"\"\"",                                " \"\" ",                              "\"\"",              "\"\"",                                      "\"\"",                                        "\"\""            },
        {"null",                                " null",                               "null",              "null",                                      "null",                                        "null"            },
        {"true",                                "true ",                               "true",              "true",                                      "true",                                        "true"            },
        {"false",                               "false ",                              "false",             "false",                                     "false",                                       "false"           },
        {"{}",                                  "{ }",                                 "\n{}",              "{}",                                        "{}",                                          "{}"              },
        {"[]",                                  "[ ]",                                 "\n[]",              "[]",                                        "[]",                                          "[]"              },
        {"[1,2]",                               "[ 1 , 2 ]",                           "[1.0,2]",           "[1,20e-1]",                                 "[1,2]",                                       "[1,2]"           },
        {"[2,1]",                               "[2, 1]",                              "[2,1]",             "[2,1]",                                     "[2,1]",                                       "[2,1]"           },
        {"[1]",                                 "[1 ]",                                "[1.0]",             "[1]",                                       "[1]",                                         "[1]"             },
        {"{\"a\":1,\"b\":[{\"c\":2,\"d\":3}]}", "{\"b\":[{\"d\":3,\"c\":2}],\"a\":1}",
         "{ \"a\" : 1.0 , \"b\" : [ { \"c\" : 2 , \"d\" : 3 } ] }",                                         "{\"\\u0061\":1,\"b\":[{\"c\":2,\"d\":3}]}", "{\"a\":1,\"a\":9,\"b\":[{\"c\":2,\"d\":3}]}",
         "{\"b\":[{\"d\":3,\"c\":2}],\"a\":1,\"a\":7,\"b\":0}"                                                                                                                                                            },
        {"{\"a\":1}",                           "{\"a\":1.0}",                         "{\"a\" :1}",        "{\"a\":1,\"a\":2}",                         "{\"a\":1}",                                   "{\"a\":1}"       },
        {"{\"a\":2}",                           "{\"a\":2.0}",                         "{\"a\":2,\"a\":1}", "{\"a\":2}",                                 "{\"a\":2}",                                   "{\"a\":2}"       },
        {"{\"ab\":1}",                          "{\"ab\":1.0}",                        "{\"ab\" :1}",       "{\"ab\":1}",                                "{\"ab\":1}",                                  "{\"ab\":1}"      },
        {"{\"b\":1}",                           "{\"b\":1.0}",                         "{\"b\" :1}",        "{\"b\":1}",                                 "{\"b\":1}",                                   "{\"b\":1}"       },
        {"{\"a\":{}}",                          "{\"a\":{ }}",                         "{\"a\":{}}",        "{\"a\":{}}",                                "{\"a\":{}}",                                  "{\"a\":{}}"      },
        {"x",                                   "x",                                   "x",                 "x",                                         "x",                                           "x"               }, /* no JSON: its bytes */
        {"x ",                                  "x ",                                  "x ",                "x ",                                        "x ",                                          "x "              },
        {"",                                    "",                                    "",                  "",                                          "",                                            ""                },
        {"[1,2",                                "[1,2",                                "[1,2",              "[1,2",                                      "[1,2",                                        "[1,2"            },
        {"[1, 2",                               "[1, 2",                               "[1, 2",             "[1, 2",                                     "[1, 2",                                       "[1, 2"           },
    };
    pawl_mem *mem = pawl_mem_new();

    for (size_t i = 0; i < COUNT(classes) * 6; i++)
        for (size_t k = 0; k < COUNT(classes) * 6; k++) {
            const char *a = classes[i / 6][i % 6], *b = classes[k / 6][k % 6];
            pawl_str x = exact(a, strlen(a)), y = exact(b, strlen(b));
            ck_assert_msg(json_same(mem, x, y) == (i / 6 == k / 6), "%s and %s", a, b);
            drop(x);
            drop(y);
        }
    pawl_mem_free(mem);
}

/* ---- Without allocation ------------------------------------------------- */

TEST(reading_allocates_nothing)
{
    pawl_str payload = pawl_s(sample);
    struct json_iter it;
    int64_t sum = 0;
    double real;

    fault_at(0);
    bool ok = pawl_json_valid(payload, NULL);
    pawl_str raw = pawl_json_get(payload, "/items/3/1/0");
    real = pawl_json_number(payload, "/real", 0);
    sum += pawl_json_int(payload, "/dup", 0) + pawl_json_count(payload, "/items");
    sum += pawl_json_bool(payload, "/t", false);
    for (json_begin(&it, pawl_json_get(payload, "/items")); json_next(&it);)
        sum++;
    long count = allocation_count;
    ck_assert(!fault_hit());
    ck_assert_int_eq(count, 0);
    ck_assert(ok && raw.len == 1 && sum == 19);
    ck_assert_double_eq(real, -125.0);
}
