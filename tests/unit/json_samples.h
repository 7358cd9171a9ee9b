/* SPDX-License-Identifier: MIT */
/* tests/unit/json_samples.h -- texts that are JSON, and texts that are not. */
#ifndef PAWL_TESTS_JSON_SAMPLES_H
#define PAWL_TESTS_JSON_SAMPLES_H

#include "pawl/types.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* A copy that ends where its memory ends, so ASan sees a byte read too far. */
static inline pawl_str exact(const char *text, size_t len)
{
    char *copy = malloc(len ? len : 1);

    memcpy(copy, text, len);
    return (pawl_str){copy, len};
}

static inline void drop(pawl_str text)
{
    free((char *)(uintptr_t)text.ptr);
}

static const char *const valid[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "1.5",
    "1e3",
    "1E+3",
    "1e-3",
    "0.0e00",
    "-0.1E-10",
    "123456789012345678901234567890",
    "1e999",
    "\"\"",
    "\"a\"",
    "[]",
    "{}",
    " [ ] ",
    "\t\r\n {\n}\r\n",
    "[1,2,[3,{}]]",
    "{\"a\":1}",
    "{\"a\" : {\"b\" : [ ] } , \"\":0}",
    "{\"a\":1,\"a\":2}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0000\"",
    "\"\\uD83D\\uDE00\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\x7f\"",
    "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
    "[\"12345678\",\"123456789abcdefg\"]",
};

/* … and where each breaks. */
static const struct {
    const char *text;
    size_t offset;
} invalid[] = {
    {"",                     0},
    {"  ",                   2},
    {"nul",                  0},
    {"nulls",                4},
    {"True",                 0},
    {"NaN",                  0},
    {"Infinity",             0},
    {"-",                    1},
    {"+1",                   0},
    {"01",                   1},
    {"-01",                  2},
    {"1.",                   2},
    {".5",                   0},
    {"1e",                   2},
    {"1e+",                  3},
    {"0x10",                 1},
    {"1 2",                  2},
    {"[",                    1},
    {"]",                    0},
    {"[1",                   2},
    {"[1,]",                 3},
    {"[,1]",                 1},
    {"[1 2]",                3},
    {"[1}",                  2},
    {"[]]",                  2},
    {"{",                    1},
    {"{a:1}",                1},
    {"{'a':1}",              1},
    {"{\"a\"}",              4},
    {"{\"a\":}",             5},
    {"{\"a\":1,}",           7},
    {"{\"a\":1]",            6},
    {"{\"a\" 1}",            5},
    {"{1:2}",                1},
    {"{,}",                  1},
    {"\"",                   1},
    {"\"abc",                4},
    {"\"\\",                 1},
    {"\"\\\"",               3},
    {"\"\\x\"",              1},
    {"\"\\u12\"",            1},
    {"\"\\u12g4\"",          1},
    {"\"a\nb\"",             2},
    {"\"\x01\"",             1},
    {"\"\t\"",               1},
    {"\"\x80\"",             1},
    {"\"\xc0\x80\"",         1},
    {"\"\xed\xa0\x80\"",     1},
    {"\"\xf4\x90\x80\x80\"", 1},
    {"\"12345678\xff\"",     9},
    {"\xef\xbb\xbf[]",       0},
    {"[1] // no",            4},
    {"/**/[]",               0},
    {"\v[]",                 0},
};

/* Everything a pointer can meet. */
static const char sample[] =
    " {\"items\": [ {\"sku\":\"a-1\",\"n\":2} , 17, [], [[1],[2,3]] ],\n"
    "  \"a/b\":1, \"m~n\":2, \"~1\":3, \"\":4, \" \":5, \"0\":6, \"k\\u00e9y\":7, \"\\/x\":8,\n"
    "  \"nested\":{\"items\":{\"n\":9}}, \"dup\":10, \"dup\":11, \"first\":1, "
    "\"first\":{\"x\":12},\n"
    "  \"neg\":-0, \"t\":true, \"f\":false, \"z\":null, \"real\":-1.25e2 } ";

#endif
