/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_http_head.c -- heads and chunks of requests: what is taken, what is
 * refused with which status, and that it does not matter how the bytes were cut.
 */
#include "../harness.h"
#include "base/attr.h"
#include "base/buf.h"
#include "http/chunk.h"
#include "http/head.h"
#include "http/http_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define H "Host: h\r\n"

/* Scan and parse in one go. */
static enum head_fault judge(const char *text, size_t n, struct head *head, size_t *retlen)
{
    size_t scanned = 0;
    enum head_fault fault;
    *retlen = head_scan(text, n, &scanned, &fault);
    if (fault == HEAD_OK && *retlen)
        fault = head_parse(text, *retlen, head);
    return fault;
}

/* The same, but the bytes come one by one. */
static enum head_fault judge_dripped(const char *text, size_t n, struct head *head, size_t *retlen)
{
    size_t scanned = 0;
    enum head_fault fault = HEAD_OK;
    *retlen = 0;
    for (size_t i = 1; i <= n && fault == HEAD_OK && !*retlen; i++)
        *retlen = head_scan(text, i, &scanned, &fault);
    if (fault == HEAD_OK && *retlen)
        fault = head_parse(text, *retlen, head);
    return fault;
}

static const struct {
    const char *text;
    enum head_fault fault;
    bool ambiguous;
} cases[] = {
    {"GET / HTTP/1.1\r\n" H "\r\n",                                                              HEAD_OK,        false},
    {"GET /a?b=c HTTP/1.1\r\n" H "\r\n",                                                         HEAD_OK,        false},
    {"GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n",                                                      HEAD_OK,        false},
    {"BREW /pot HTTP/1.0\r\n\r\n",                                                               HEAD_OK,        false},
    {"OPTIONS * HTTP/1.1\r\n" H "\r\n",                                                          HEAD_OK,        false},
    {"GET http://h/a HTTP/1.1\r\n" H "\r\n",                                                     HEAD_OK,        false},
    {"GET HTTPS://h:1 HTTP/1.1\r\n" H "\r\n",                                                    HEAD_OK,        false},
    {"GET / HTTP/1.7\r\n" H "\r\n",                                                              HEAD_OK,        false},
    {"GET / HTTP/1.1\r\nHost:h\r\nX:\r\n\r\n",                                                   HEAD_OK,        false},
    {"GET / HTTP/1.1\r\nHost: \t h \t \r\nX: a b\tc\r\n\r\n",                                    HEAD_OK,        false},
    {"POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n",                                        HEAD_OK,        false},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n",                               HEAD_OK,        false},
 /* two readers might differ */
    {"GET / HTTP/1.1\r\n\r\n",                                                                   HEAD_OK,        true },
    {"GET / HTTP/1.1\r\n" H H "\r\n",                                                            HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",                   HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\n",                                     HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n",                                          HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\n",                                       HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\n",                                      HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length: 1 1\r\n\r\n",                                      HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",          HEAD_OK,
     true                                                                                                             },
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",          HEAD_OK,
     true                                                                                                             },
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n\r\n",                                  HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n",                         HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: \r\n\r\n",                                      HEAD_OK,        true },
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
     HEAD_OK,                                                                                                    true },
    {"POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n",                               HEAD_OK,        true },
 /* no request at all */
    {"GARBAGE\r\n\r\n",                                                                          HEAD_MALFORMED, false},
    {"GET /\r\n\r\n",                                                                            HEAD_MALFORMED, false},
    {"GET  / HTTP/1.1\r\n" H "\r\n",                                                             HEAD_MALFORMED, false},
    {"GET / HTTP/1.1 \r\n" H "\r\n",                                                             HEAD_MALFORMED, false},
    {"GET / http/1.1\r\n" H "\r\n",                                                              HEAD_MALFORMED, false},
    {"GET / HTTP/11\r\n" H "\r\n",                                                               HEAD_MALFORMED, false},
    {"GET / HTTP/1.10\r\n" H "\r\n",                                                             HEAD_MALFORMED, false},
    {"GET a HTTP/1.1\r\n" H "\r\n",                                                              HEAD_MALFORMED, false},
    {"GET * HTTP/1.1\r\n" H "\r\n",                                                              HEAD_MALFORMED, false},
    {"CONNECT h:80 HTTP/1.1\r\n" H "\r\n",                                                       HEAD_MALFORMED, false},
    {"GET http:// HTTP/1.1\r\n" H "\r\n",                                                        HEAD_MALFORMED, false},
    {"GET http:///a HTTP/1.1\r\n" H "\r\n",                                                      HEAD_MALFORMED, false},
    {"GET http://u@h/ HTTP/1.1\r\n" H "\r\n",                                                    HEAD_MALFORMED, false},
    {"GET http://h?a HTTP/1.1\r\n" H "\r\n",                                                     HEAD_MALFORMED, false},
    {"GET ftp://h/ HTTP/1.1\r\n" H "\r\n",                                                       HEAD_MALFORMED, false},
    {"G@T / HTTP/1.1\r\n" H "\r\n",                                                              HEAD_MALFORMED, false},
    {"GET /\x01 HTTP/1.1\r\n" H "\r\n",                                                          HEAD_MALFORMED, false},
    {"GET /\x7f HTTP/1.1\r\n" H "\r\n",                                                          HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\n" H "\r\n",                                                                HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\nHost: h\n\r\n",                                                          HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H "\n",                                                                HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\r\n" H "\r\n",                                                            HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n",                                                   HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H " folded\r\n\r\n",                                                   HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H "X: a\r\n\tfolded\r\n\r\n",                                          HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\nHost : h\r\n\r\n",                                                       HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H ": x\r\n\r\n",                                                       HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H "X\r\n\r\n",                                                         HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H "X y: z\r\n\r\n",                                                    HEAD_MALFORMED, false},
    {"GET / HTTP/1.1\r\n" H "X: \x01\r\n\r\n",                                                   HEAD_MALFORMED, false},
    {" GET / HTTP/1.1\r\n" H "\r\n",                                                             HEAD_MALFORMED, false},
    {"\x16\x03\x01\x02",                                                                         HEAD_MALFORMED, false},
    {"GET / HTTP/2.0\r\n" H "\r\n",                                                              HEAD_VERSION,   false},
    {"GET / HTTP/9.9\r\n" H "\r\n",                                                              HEAD_VERSION,   false},
};

TEST(heads_are_judged_the_same_however_they_come)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct head head, again;
        const char *text = cases[i].text;
        size_t n = strlen(text), len, other;
        enum head_fault fault = judge(text, n, &head, &len);
        if (fault != cases[i].fault ||
            (fault == HEAD_OK && (len != n || head.ambiguous != cases[i].ambiguous)))
            ck_abort_msg("case %zu: %d, %zu of %zu bytes:\n%s", i, (int)fault, len, n, text);
        ck_assert_int_eq(judge_dripped(text, n, &again, &other), (int)fault);
        ck_assert(fault != HEAD_OK || other == len);
        for (size_t cut = 0; cut < n; cut++) { /* what is not all there is no head */
            enum head_fault early = judge(text, cut, &again, &other);
            if ((early != HEAD_OK && early != fault) || other)
                ck_abort_msg("case %zu cut at %zu: %d", i, cut, (int)early);
        }
    }
}

TEST(a_nul_is_no_part_of_a_head)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\nX: abc\r\n\r\n";
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        char bytes[sizeof(text)];
        struct head head;
        size_t len;
        memcpy(bytes, text, sizeof(text));
        bytes[i] = 0;
        enum head_fault fault = judge(bytes, sizeof(text) - 1, &head, &len);
        if (fault == HEAD_OK && len) /* unless the end of the head is gone with it */
            ck_abort_msg("byte %zu", i);
    }
}

static struct head parsed(char *text)
{
    struct head head;
    size_t len;
    ck_assert_int_eq(judge(text, strlen(text), &head, &len), HEAD_OK);
    head_seal(&head, text);
    return head;
}

TEST(the_parts_of_a_head_are_texts)
{
    char text[] =
        "POST /a/b?c=d HTTP/1.1\r\nhOST: h:1\r\nContent-Length:  12 \r\nX-Y: z \r\nE:\r\n\r\n";
    struct head head = parsed(text);
    ck_assert_str_eq(head.method.ptr, "POST");
    ck_assert_str_eq(head.target.ptr, "/a/b?c=d");
    ck_assert(pawl_str_is(head.host, "h:1"));
    ck_assert_uint_eq(head.length, 12);
    ck_assert_str_eq(head_get(&head, "x-y").ptr, "z");
    ck_assert_str_eq(head_get(&head, "e").ptr, "");
    ck_assert(!head_get(&head, "x").ptr);
    ck_assert(head.keep_alive && !head.chunked && !head.is_old && !head.wants_continue);
}

TEST(a_target_with_a_host_has_the_last_word)
{
    char text[] = "GET http://one:1/a?b HTTP/1.1\r\nHost: two\r\n\r\n";
    struct head head = parsed(text);
    ck_assert(pawl_str_is(head.host, "one:1"));
    ck_assert_str_eq(head.target.ptr, "/a?b");
    char bare[] = "GET https://one HTTP/1.1\r\nHost: two\r\n\r\n";
    head = parsed(bare);
    ck_assert(pawl_str_is(head.host, "one"));
    ck_assert_str_eq(head.target.ptr, "/");
}

TEST(who_stays_connected)
{
    static const struct {
        const char *text;
        bool stays;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" H "\r\n",                                                true },
        {"GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n",                           false},
        {"GET / HTTP/1.1\r\n" H "Connection: TE , Close\r\n\r\n",                      false},
        {"GET / HTTP/1.1\r\n" H "Connection: close , TE\r\n\r\n",                      false},
        {"GET / HTTP/1.1\r\n" H "Connection: close\t,TE\r\n\r\n",                      false},
        {"GET / HTTP/1.1\r\n" H "Connection: closed, keep-alive\r\n\r\n",              true },
        {"GET / HTTP/1.1\r\n" H "Connection: close\r\nConnection: keep-alive\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n",                                                     false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",                           true },
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",                    false},
        {"GET / HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n",                    false},
        {"GET / HTTP/1.0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",      false},
        {"GET / HTTP/1.1\r\n" H "Connection: ,,\r\n\r\n",                              true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct head head;
        size_t len;
        ck_assert_int_eq(judge(rows[i].text, strlen(rows[i].text), &head, &len), HEAD_OK);
        if (head.keep_alive != rows[i].stays)
            ck_abort_msg("%s", rows[i].text);
    }
}

TEST(lengths_do_not_overflow)
{
    static const struct {
        const char *digits;
        uint64_t want;
    } rows[] = {
        {"000000000000000000000000000007",                     7                   },
        {"1844674407370955161",                                1844674407370955161U},
        {"18446744073709551615",                               UINT64_MAX          },
        {"18446744073709551616",                               UINT64_MAX          },
        {"18446744073709551617",                               UINT64_MAX          },
        {"99999999999999999999999999999999999999999999999999", UINT64_MAX          },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[200];
        struct head head;
        size_t len;
        (void)snprintf(text, sizeof(text), "PUT / HTTP/1.1\r\n" H "Content-Length: %s\r\n\r\n",
                       rows[i].digits);
        ck_assert_int_eq(judge(text, strlen(text), &head, &len), HEAD_OK);
        if (rows[i].want == UINT64_MAX)
            ck_assert_uint_ge(head.length, (uint64_t)1 << 60);
        else
            ck_assert_uint_eq(head.length, rows[i].want);
    }
}

static enum head_fault with_lines(size_t target, size_t headers, size_t each)
{
    struct buf b;
    struct head head, again;
    size_t len, other;
    buf_init(&b, 1 << 24);
    buf_puts(&b, "GET /");
    for (size_t i = 0; i < target; i++)
        buf_putc(&b, 'x');
    buf_puts(&b, " HTTP/1.1\r\n" H);
    for (size_t i = 0; i < headers; i++) {
        buf_puts(&b, "X: ");
        for (size_t k = 0; k < each; k++)
            buf_putc(&b, 'y');
        buf_puts(&b, "\r\n");
    }
    buf_puts(&b, "\r\n");
    enum head_fault fault = judge(b.ptr, b.len, &head, &len);
    ck_assert_int_eq(judge_dripped(b.ptr, b.len, &again, &other), (int)fault);
    buf_deinit(&b);
    return fault;
}

TEST(limits_have_statuses_of_their_own)
{
    ck_assert_int_eq(with_lines(HEAD_LINE - 16, 0, 0), HEAD_OK);
    ck_assert_int_eq(with_lines(HEAD_LINE - 15, 0, 0), HEAD_URI_TOO_LONG);
    ck_assert_int_eq(with_lines(100000, 0, 0), HEAD_URI_TOO_LONG);
    ck_assert_int_eq(with_lines(0, 1, 20000), HEAD_OK);
    ck_assert_int_eq(with_lines(0, 1, HEAD_BYTES), HEAD_TOO_LARGE);
    ck_assert_int_eq(with_lines(0, HEAD_HEADERS - 1, 1), HEAD_OK);
    ck_assert_int_eq(with_lines(0, HEAD_HEADERS, 1), HEAD_TOO_LARGE);
    ck_assert_int_eq(with_lines(0, 10000, 1), HEAD_TOO_LARGE);
}

/* ---- Chunks -------------------------------------------------------------------------- */

/* The body of the chunks, given in pieces of `piece` bytes; what was not eaten in *retleft. */
static enum chunk_state eat(const char *text, size_t n, size_t piece, struct buf *body,
                            size_t *retleft)
{
    struct chunk c = {0};
    buf_reset(body);
    *retleft = n;
    for (size_t from = 0; from < n && c.state != CHUNK_END && c.state != CHUNK_BAD; from += piece) {
        size_t end = from + piece < n ? from + piece : n;
        for (size_t at = from; at < end;) {
            pawl_str data;
            size_t used = chunk_eat(&c, text + at, end - at, &data);
            buf_str(body, data);
            at += used;
            *retleft = n - at;
            if (!used || c.state == CHUNK_END || c.state == CHUNK_BAD)
                break;
        }
    }
    return (enum chunk_state)c.state;
}

TEST(chunks_are_the_same_however_they_come)
{
    static const struct {
        const char *text, *body; /* NULL: refused */
        size_t left;
    } rows[] = {
        {"0\r\n\r\n",                                           "",              0},
        {"0\r\n\r\nGET",                                        "",              3},
        {"3\r\nabc\r\n0\r\n\r\n",                               "abc",           0},
        {"3;a=b\r\nabc\r\n00A ; x\r\n0123456789\r\n0\r\n\r\n!", "abc0123456789", 1},
        {"1\r\na\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n",       "a",             0},
        {"3\r\n\r\n\r\r\n0\r\n\r\n",                            "\r\n\r",        0},
        {"\r\n",                                                NULL,            0},
        {"x\r\n",                                               NULL,            0},
        {"-1\r\n",                                              NULL,            0},
        {"+1\r\na\r\n",                                         NULL,            0},
        {" 1\r\na\r\n",                                         NULL,            0},
        {"1\na\r\n",                                            NULL,            0},
        {"1\r\nab\r\n",                                         NULL,            0},
        {"1\r\na\n",                                            NULL,            0},
        {"1\r\na\rx",                                           NULL,            0},
        {"1x\r\n",                                              NULL,            0},
        {"1 \t \r\na\r\n0 \r\n\r\n",                            "a",             0},
        {"1\t;x y\r\na\r\n0\r\n\r\n",                           "a",             0},
        {"1 1\r\na\r\n",                                        NULL,            0},
        {"0a 5 5\r\n0123456789\r\n",                            NULL,            0},
        {"1 x=y\r\na\r\n",                                      NULL,            0},
        {"1 \x01\r\na\r\n",                                     NULL,            0},
        {"0000000000000001\r\na\r\n",                           NULL,            0},
        {"ffffffffffffffff\r\n",                                NULL,            0},
        {"1;\x01\r\n",                                          NULL,            0},
        {"1;a\nb\r\n",                                          NULL,            0},
        {"0\r\n x\r\n\r\n",                                     NULL,            0},
        {"0\r\na\nb\r\n\r\n",                                   NULL,            0},
        {"0\r\n\rx",                                            NULL,            0},
    };
    struct buf body;
    buf_init(&body, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t piece = 1; piece <= strlen(rows[i].text); piece++) {
            size_t left;
            enum chunk_state state = eat(rows[i].text, strlen(rows[i].text), piece, &body, &left);
            bool ok = rows[i].body ? state == CHUNK_END && left == rows[i].left &&
                                         pawl_str_is(buf_slice(&body), rows[i].body)
                                   : state == CHUNK_BAD;
            if (!ok)
                ck_abort_msg("row %zu in pieces of %zu: state %d, body '%s'", i, piece, (int)state,
                             buf_slice(&body).ptr);
        }
    buf_deinit(&body);
}

TEST(extensions_and_trailers_have_an_end)
{
    struct buf text, body;
    size_t left;
    buf_init(&text, 1 << 24);
    buf_init(&body, 1 << 24);
    for (int i = 0; i < 2000; i++)
        buf_puts(&text, "1;0123456789\r\nx\r\n");
    ck_assert_int_eq(eat(text.ptr, text.len, text.len, &body, &left), CHUNK_BAD);
    buf_reset(&text);
    for (int i = 0; i < 2000; i++)
        buf_puts(&text, "1          \r\nx\r\n");
    ck_assert_int_eq(eat(text.ptr, text.len, text.len, &body, &left), CHUNK_BAD);
    buf_reset(&text);
    buf_puts(&text, "0\r\n");
    for (int i = 0; i < 2000; i++)
        buf_puts(&text, "X: 0123456789\r\n");
    ck_assert_int_eq(eat(text.ptr, text.len, 7, &body, &left), CHUNK_BAD);
    buf_deinit(&text);
    buf_deinit(&body);
}

/* ---- Answers --------------------------------------------------------------------------- */

TEST(every_status_has_its_words)
{
    static const struct {
        unsigned status;
        const char *words;
    } all[] = {
        {200, "OK"                             },
        {201, "Created"                        },
        {202, "Accepted"                       },
        {204, "No Content"                     },
        {207, "Multi-Status"                   },
        {400, "Bad Request"                    },
        {401, "Unauthorized"                   },
        {403, "Forbidden"                      },
        {404, "Not Found"                      },
        {405, "Method Not Allowed"             },
        {409, "Conflict"                       },
        {410, "Gone"                           },
        {413, "Content Too Large"              },
        {414, "URI Too Long"                   },
        {415, "Unsupported Media Type"         },
        {421, "Misdirected Request"            },
        {423, "Locked"                         },
        {429, "Too Many Requests"              },
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"          },
        {501, "Not Implemented"                },
        {503, "Service Unavailable"            },
        {505, "HTTP Version Not Supported"     },
        {507, "Insufficient Storage"           },
        {299, "Unknown"                        },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ck_assert_str_eq(http_reason(all[i].status), all[i].words);
}

TEST(every_refusal_says_what_is_wrong)
{
    static const struct {
        unsigned status;
        const char *words;
    } all[] = {
        {400, "bad_request"               },
        {414, "over the limit of 16 KiB"  },
        {431, "20 KiB and 100 headers"    },
        {503, "out of memory"             },
        {505, "only HTTP/1.0 and HTTP/1.1"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pawl_str said = http_refusal(all[i].status);
        ck_assert_msg(said.len && strstr(said.ptr, all[i].words), "%u", all[i].status);
    }
    ck_assert_uint_eq(http_refusal(404).len, 0);
}
