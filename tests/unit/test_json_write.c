/* SPDX-License-Identifier: MIT */
/* tests/unit/test_json_write.c -- documents written piece by piece, and quoting. */
#include "../harness.h"
#include "base/json.h"
#include "base/limits.h"
#include "random.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A document as a string of calls:  { object  [ array  } ] end  k key "k"  s "text"
 * c NULL  n number  r real  t true  f false  0 null  x raw "[1]"  X raw "[1"
 */
static pawl_str write_by(pawl_mem *mem, const char *calls)
{
    pawl_json *w = pawl_json_new(mem);

    for (; *calls; calls++) {
        switch (*calls) {
        case '{':
            pawl_json_object(w);
            break;
        case '[':
            pawl_json_array(w);
            break;
        case '}':
        case ']':
            pawl_json_end(w);
            break;
        case 'k':
            pawl_json_key(w, "k");
            break;
        case 'K':
            pawl_json_key(w, NULL);
            break;
        case 's':
            pawl_json_str(w, pawl_s("text"));
            break;
        case 'c':
            pawl_json_cstr(w, NULL);
            break;
        case 'n':
            pawl_json_num(w, -7);
            break;
        case 'r':
            pawl_json_real(w, 0.5);
            break;
        case 't':
            pawl_json_truth(w, true);
            break;
        case 'f':
            pawl_json_truth(w, false);
            break;
        case '0':
            pawl_json_null(w);
            break;
        case 'x':
            pawl_json_raw(w, pawl_s(" [1] "));
            break;
        case 'X':
            pawl_json_raw(w, pawl_s("[1"));
            break;
        default:
            ck_abort_msg("unknown call %c", *calls);
        }
    }
    return pawl_json_done(w);
}

TEST(calls_become_documents_and_mistakes_become_nothing)
{
    static const struct {
        const char *calls;
        const char *text; /* NULL: a mistake */
    } rows[] = {
        {"{}",               "{}"                                },
        {"[]",               "[]"                                },
        {"s",                "\"text\""                          },
        {"c",                "null"                              },
        {"n",                "-7"                                },
        {"x",                " [1] "                             },
        {"[nrtf0c]",         "[-7,0.5,true,false,null,null]"     },
        {"{knks}",           "{\"k\":-7,\"k\":\"text\"}"         },
        {"{k{k[]}k[[][n]]}", "{\"k\":{\"k\":[]},\"k\":[[],[-7]]}"},
        {"[{}{}[]x]",        "[{},{},[], [1] ]"                  },
        {"{kx}",             "{\"k\": [1] }"                     },
        {"",                 NULL                                },
        {"{",                NULL                                },
        {"[[]",              NULL                                },
        {"{}}",              NULL                                },
        {"}",                NULL                                },
        {"{}{}",             NULL                                },
        {"nn",               NULL                                },
        {"[]n",              NULL                                },
        {"k",                NULL                                },
        {"[k]",              NULL                                },
        {"{n}",              NULL                                },
        {"{k}",              NULL                                },
        {"{kk}",             NULL                                },
        {"{kkn}",            NULL                                },
        {"{knn}",            NULL                                },
        {"{Kn}",             NULL                                },
        {"{[]}",             NULL                                },
        {"X",                NULL                                },
        {"[X]",              NULL                                },
        {"[Xn]",             NULL                                },
        {"{}k",              NULL                                },
    };
    pawl_mem *mem = pawl_mem_new();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_str text = write_by(mem, rows[i].calls);
        ck_assert_msg(pawl_str_is(text, rows[i].text), "%s gives %.*s", rows[i].calls,
                      PAWL_FMT(text));
        ck_assert_msg((text.ptr == NULL) == (rows[i].text == NULL), "%s", rows[i].calls);
        ck_assert(!text.ptr || (pawl_json_valid(text, NULL) && text.ptr[text.len] == '\0'));
    }
    pawl_mem_free(mem);
}

TEST(a_mistake_is_not_forgotten)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json *w = pawl_json_new(mem);

    pawl_json_end(w);
    pawl_json_object(w);
    pawl_json_end(w);
    ck_assert_ptr_null(pawl_json_done(w).ptr);
    pawl_json_raw(w, pawl_s("1"));
    ck_assert_ptr_null(pawl_json_done(w).ptr);
    pawl_mem_free(mem);
}

TEST(done_can_be_asked_twice_but_not_written_past)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json *w = pawl_json_new(mem);

    pawl_json_num(w, 1);
    ck_assert_str_eq(pawl_json_done(w).ptr, "1");
    ck_assert_str_eq(pawl_json_done(w).ptr, "1");
    pawl_json_num(w, 2);
    ck_assert_ptr_null(pawl_json_done(w).ptr);
    pawl_mem_free(mem);
}

TEST(depth_ends_at_64_also_through_raw_values)
{
    pawl_mem *mem = pawl_mem_new();

    for (int depth = 63; depth <= 65; depth++) {
        pawl_json *w = pawl_json_new(mem);
        for (int i = 0; i < depth; i++)
            pawl_json_array(w);
        for (int i = 0; i < depth; i++)
            pawl_json_end(w);
        ck_assert((pawl_json_done(w).ptr != NULL) == (depth <= 64));

        w = pawl_json_new(mem); /* the innermost one comes raw */
        for (int i = 0; i < depth - 1; i++)
            pawl_json_array(w);
        pawl_json_raw(w, pawl_s("[]"));
        for (int i = 0; i < depth - 1; i++)
            pawl_json_end(w);
        ck_assert((pawl_json_done(w).ptr != NULL) == (depth <= 64));
    }
    pawl_mem_free(mem);
}

TEST(integers_are_written_whole)
{
    static const struct {
        int64_t number;
        const char *text;
    } rows[] = {
        {0,         "0"                   },
        {-1,        "-1"                  },
        {INT64_MAX, "9223372036854775807" },
        {INT64_MIN, "-9223372036854775808"},
    };
    pawl_mem *mem = pawl_mem_new();

    for (size_t i = 0; i < 4; i++) {
        pawl_json *w = pawl_json_new(mem);
        pawl_json_num(w, rows[i].number);
        ck_assert_str_eq(pawl_json_done(w).ptr, rows[i].text);
    }
    pawl_mem_free(mem);
}

static pawl_str real_text(pawl_mem *mem, double number)
{
    pawl_json *w = pawl_json_new(mem);

    pawl_json_real(w, number);
    return pawl_json_done(w);
}

TEST(reals_are_short_and_read_back_the_same_in_any_locale)
{
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0.0,  "0"    },
        {0.1,  "0.1"  },
        {-2.5, "-2.5" },
        {1e22, "1e+22"},
        {3.0,  "3"    },
    };
    pawl_mem *mem = pawl_mem_new();
    uint64_t state = 8;

    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(real_text(mem, rows[i].number).ptr, rows[i].text);
    for (int i = 0; i < 20000; i++) {
        double number;
        uint64_t bits = next_random(&state);
        memcpy(&number, &bits, sizeof number);
        if (isfinite(number))
            ck_assert(pawl_json_number(real_text(mem, number), "", -1) == number);
    }
    ck_assert_str_eq(real_text(mem, (double)NAN).ptr, "null");
    ck_assert_str_eq(real_text(mem, (double)INFINITY).ptr, "null");
    ck_assert_str_eq(real_text(mem, -(double)INFINITY).ptr, "null");
    pawl_mem_free(mem);
}

TEST(text_is_quoted_so_that_it_is_valid_and_safe)
{
    static const struct {
        pawl_str text;
        const char *quoted;
    } rows[] = {
        {{"", 0},                         "\"\""                                    },
        {{NULL, 0},                       "\"\""                                    },
        {{"plain", 5},                    "\"plain\""                               },
        {{"\"\\/\b\f\n\r\t", 8},          "\"\\\"\\\\/\\b\\f\\n\\r\\t\""            },
        {{"\0\x01\x1f\x7f", 4},           "\"\\u0000\\u0001\\u001f\x7f\""           },
        {{"\xc3\xa4\xf0\x9f\x98\x80", 6}, "\"\xc3\xa4\xf0\x9f\x98\x80\""            },
        {{"a\xff"
          "b",
          3},
         "\"a\xef\xbf\xbd"
         "b\""                                                                      },
        {{"\xe2\x82", 2},                 "\"\xef\xbf\xbd\xef\xbf\xbd\""            },
        {{"\xed\xa0\x80", 3},             "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b;
        buf_init(&b, 1000);
        json_quote(&b, rows[i].text);
        ck_assert_str_eq(buf_slice(&b).ptr, rows[i].quoted);
        ck_assert(pawl_json_valid(buf_slice(&b), NULL));
        buf_deinit(&b);
    }
}

TEST(any_bytes_written_are_valid_and_utf8_comes_back)
{
    pawl_mem *mem = pawl_mem_new();
    uint64_t state = 31;

    for (int round = 0; round < 20000; round++) {
        char bytes[40];
        size_t n = random_below(&state, sizeof bytes);
        bool ascii = random_below(&state, 2);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)(next_random(&state) & (ascii ? 0x7f : 0xff));
        pawl_json *w = pawl_json_new(mem);
        pawl_json_str(w, (pawl_str){bytes, n});
        pawl_str text = pawl_json_done(w);
        ck_assert(pawl_json_valid(text, NULL));
        if (utf8_valid((pawl_str){bytes, n}))
            ck_assert(pawl_str_eq(pawl_json_text(mem, text, "", "?"), (pawl_str){bytes, n}));
        pawl_mem_reset(mem);
    }
    pawl_mem_free(mem);
}

TEST(keys_are_quoted_like_text)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json *w = pawl_json_new(mem);

    pawl_json_object(w);
    pawl_json_key(w, "a\"b\n\xff");
    pawl_json_cstr(w, "v");
    pawl_json_end(w);
    ck_assert_str_eq(pawl_json_done(w).ptr, "{\"a\\\"b\\n\xef\xbf\xbd\":\"v\"}");
    pawl_mem_free(mem);
}

/* The fast way for plain text looks at eight bytes at once: every byte at every place of
 * texts of every length around that, against the way that looks at each. */
TEST(every_byte_at_every_place_is_quoted_as_it_should)
{
    pawl_mem *mem = pawl_mem_new();
    char text[20], want[160];

    for (size_t len = 1; len < sizeof text; len++)
        for (size_t at = 0; at < len; at++)
            for (int byte = 0; byte < 256; byte++) {
                memset(text, byte % 2 ? '~' : ' ', len);
                text[at] = (char)byte;
                pawl_json *w = pawl_json_new(mem);
                pawl_json_str(w, (pawl_str){text, len});
                pawl_str got = pawl_json_done(w);
                size_t n = json_quote_into(want, (pawl_str){text, len});
                ck_assert_uint_eq(got.len, n);
                ck_assert_mem_eq(got.ptr, want, n);
                pawl_mem_reset(mem);
            }
    pawl_mem_free(mem);
}

TEST(a_large_document_grows_whole)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_json *w = pawl_json_new(mem);

    pawl_json_array(w);
    for (int i = 0; i < 50000; i++)
        pawl_json_num(w, i);
    pawl_json_end(w);
    pawl_str text = pawl_json_done(w);
    ck_assert_int_eq(pawl_json_count(text, ""), 50000);
    ck_assert_int_eq(pawl_json_int(text, "/49999", -1), 49999);
    pawl_mem_free(mem);
}

TEST(quoting_into_a_full_buffer_fails_it)
{
    struct buf b;

    buf_init(&b, 6);
    json_quote(&b, pawl_s("1234"));
    ck_assert(!b.failed);
    ck_assert_str_eq(b.ptr, "\"1234\"");
    json_quote(&b, pawl_s(""));
    ck_assert(b.failed);
    ck_assert_str_eq(b.ptr, "\"1234\"");
    buf_deinit(&b);
}
