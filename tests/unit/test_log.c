/* SPDX-License-Identifier: MIT */
/* tests/unit/test_log.c -- one record, one line. */
#include "base/attr.h"
#include "base/log.h"
#include "child.h"
#include "pawl/json.h"

#include <stdio.h>
#include <stdlib.h>

static const struct logger to_stderr = {.level = PAWL_LOG_INFO};

static void log_some(void *arg)
{
    (void)arg;
    log_warn(&to_stderr, "turn", "event dropped", "instance=%s", "order-1");
    log_error(&to_stderr, "store", "a \"quoted\" back\\slash\nand a line", "");
    log_info(&to_stderr, "http", "bell", "path=%s n=%d", "/a\r\nlevel=error\x1b[2J\x7f", 3);
    log_debug(&to_stderr, "turn", "not heard", "");
}

TEST(the_default_writer_prints_logfmt_lines)
{
    struct child_end end;
    int year, month, day, hour, minute, second, ms, n = 0;

    run_child(log_some, NULL, &end);
    ck_assert_int_eq(end.status, 0);
    ck_assert_int_eq(sscanf(end.text, "ts=%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &year, &month, &day,
                            &hour, &minute, &second, &ms, &n),
                     7);
    ck_assert_int_eq(n, 28);
    ck_assert_int_ge(year, 2024);
    char *line = strtok(end.text, "\n");
    ck_assert_str_eq(line + n, "level=warn area=turn msg=\"event dropped\" instance=order-1");
    line = strtok(NULL, "\n");
    ck_assert_str_eq(line + n, "level=error area=store "
                               "msg=\"a \\\"quoted\\\" back\\\\slash\\nand a line\"");
    line = strtok(NULL, "\n");
    ck_assert_str_eq(line + n, "level=info area=http msg=\"bell\" "
                               "path=\"/a\\r\\nlevel=error\\u001b[2J\\u007f\" n=3");
    ck_assert_ptr_null(strtok(NULL, "\n"));
}

/* ---- Whatever a value holds, it comes back as one value ------------------------ */

static const char *const hostile[] = {
    "plain",
    "",
    "two words",
    "a=b level=error",
    "\" level=error x=\"",
    "back\\slash\\",
    "line\nbreak\r\ttab",
    "\x1b[2J\x7f\xc2\x9b\xe2\x80\xae",
    "caf\xc3\xa9 \xe2\x82\xac",
    "broken \xff\xfe \xc3",
    "}{\"a\":1}",
    "%s %n %d",
    "null",
    "17",
};

/* As it must come back: what is no UTF-8 has become U+FFFD. */
static pawl_str mended(pawl_mem *mem, const char *text)
{
    if (strncmp(text, "broken", 6) == 0)
        text = "broken \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd";
    return pawl_mem_dup(mem, pawl_s(text));
}

static void log_hostile(void *arg)
{
    struct logger l = {.level = PAWL_LOG_INFO, .json = *(bool *)arg};

    for (size_t i = 0; i < COUNT_OF(hostile); i++)
        log_info(&l, "area", hostile[i],
                 "a=%s b=\"%.*s\" n=%d u=%u l=%lld m=%llu word=--flag last=\"%s\"", hostile[i],
                 (int)strlen(hostile[i]), hostile[i], -1, 2U, -3LL, 18446744073709551615ULL,
                 hostile[i]);
}

static void check_member(pawl_mem *mem, pawl_str line, const char *pointer, pawl_str want)
{
    pawl_str got = pawl_json_text(mem, line, pointer, "?");
    ck_assert_msg(pawl_str_eq(got, want), "%s of %.*s is '%.*s', not '%.*s'", pointer,
                  PAWL_FMT(line), PAWL_FMT(got), PAWL_FMT(want));
}

TEST(a_json_line_is_an_object_with_every_value_as_it_was)
{
    bool json = true;
    struct child_end end;
    pawl_mem *mem = pawl_mem_new();
    size_t i = 0;

    run_child(log_hostile, &json, &end);
    ck_assert_int_eq(end.status, 0);
    for (char *text = strtok(end.text, "\n"); text; text = strtok(NULL, "\n"), i++) {
        pawl_str line = pawl_s(text), want = mended(mem, hostile[i]);
        ck_assert_msg(pawl_json_valid(line, NULL), "%s", text);
        ck_assert_int_eq(pawl_json_count(line, ""), 12);
        check_member(mem, line, "/level", pawl_s("info"));
        check_member(mem, line, "/area", pawl_s("area"));
        check_member(mem, line, "/msg", want);
        check_member(mem, line, "/a", want);
        check_member(mem, line, "/b", want);
        check_member(mem, line, "/last", want);
        check_member(mem, line, "/word", pawl_s("--flag"));
        ck_assert_int_eq(pawl_json_int(line, "/n", 0), -1);
        ck_assert_int_eq(pawl_json_int(line, "/l", 0), -3);
        ck_assert(pawl_str_is(pawl_json_get(line, "/m"), "18446744073709551615"));
    }
    ck_assert_uint_eq(i, COUNT_OF(hostile));
    pawl_mem_free(mem);
}

/* The next key=value of a strict reading; the value as text.  False at the end. */
static bool next_pair(pawl_mem *mem, const char **at, pawl_str *retkey, pawl_str *retvalue)
{
    if (!**at)
        return false;
    size_t n = strspn(*at, "abcdefghijklmnopqrstuvwxyz_");
    ck_assert_msg(n > 0 && (*at)[n] == '=', "no key at '%s'", *at);
    *retkey = (pawl_str){*at, n};
    *at += n + 1;
    const char *from = *at;
    if (*from == '"') {
        do
            *at += **at == '\\' ? 2 : 1;
        while (**at && **at != '"');
        ck_assert_int_eq(**at, '"');
        ++*at;
        pawl_str raw = {from, (size_t)(*at - from)};
        ck_assert_msg(pawl_json_valid(raw, NULL), "%.*s", PAWL_FMT(raw));
        *retvalue = pawl_json_text(mem, raw, "", "?");
    } else {
        *at += strcspn(*at, " ");
        *retvalue = (pawl_str){from, (size_t)(*at - from)};
        ck_assert(!memchr(from, '=', retvalue->len) && !memchr(from, '"', retvalue->len));
    }
    ck_assert_msg(!**at || **at == ' ', "rubbish behind a value: '%s'", *at);
    *at += **at == ' ';
    return true;
}

TEST(a_logfmt_line_has_its_own_pairs_and_no_others)
{
    static const char *const keys[] = {"ts", "level", "area", "msg", "a",    "b",
                                       "n",  "u",     "l",    "m",   "word", "last"};
    bool json = false;
    struct child_end end;
    pawl_mem *mem = pawl_mem_new();
    size_t i = 0;

    run_child(log_hostile, &json, &end);
    ck_assert_int_eq(end.status, 0);
    for (char *text = strtok(end.text, "\n"); text; text = strtok(NULL, "\n"), i++) {
        const char *at = text;
        pawl_str key, value, want = mended(mem, hostile[i]);
        size_t n = 0;
        for (; next_pair(mem, &at, &key, &value); n++) {
            ck_assert_uint_lt(n, COUNT_OF(keys));
            ck_assert(pawl_str_is(key, keys[n]));
            if (n == 3 || n == 4 || n == 5 || n == 11)
                ck_assert_msg(pawl_str_eq(value, want), "%s: '%.*s'", keys[n], PAWL_FMT(value));
        }
        ck_assert_uint_eq(n, COUNT_OF(keys));
    }
    ck_assert_uint_eq(i, COUNT_OF(hostile));
    pawl_mem_free(mem);
}

static char much[100000]; /* newlines */

static void log_long_message(void *arg)
{
    (void)arg;
    log_warn(&to_stderr, "turn", much, "");
}

static void log_long_pairs(void *arg)
{
    (void)arg;
    log_warn(&to_stderr, "turn", "short", "text=%s", much);
}

static void log_json_long(void *arg)
{
    static const struct logger json = {.level = PAWL_LOG_INFO, .json = true};
    (void)arg;
    log_warn(&json, "turn", "short", "text=%s n=%llu more=%s", much, 18446744073709551615ULL, much);
}

TEST(a_json_line_that_is_cut_is_still_an_object)
{
    struct child_end end;

    for (size_t len = 3900; len < 4100; len++) {
        memset(much, len % 2 ? 'x' : '"', len);
        much[len] = 0;
        run_child(log_json_long, NULL, &end);
        ck_assert_uint_le(end.len, 4096);
        ck_assert_msg(pawl_json_valid((pawl_str){end.text, end.len}, NULL), "%zu: %s", len,
                      end.text);
    }
}

TEST(a_line_is_at_most_4096_bytes_and_always_ends)
{
    void (*const writers[])(void *) = {log_long_message, log_long_pairs};
    struct child_end end;

    memset(much, '\n', sizeof much - 1);
    for (int i = 0; i < 2; i++) {
        run_child(writers[i], NULL, &end);
        ck_assert_int_eq(end.status, 0);
        ck_assert_ptr_eq(strchr(end.text, '\n'), end.text + end.len - 1);
        ck_assert_uint_le(end.len, 4096);
        ck_assert_uint_gt(end.len, 4000);
    }
}

struct heard {
    int count;
    pawl_log_level level;
    char area[16];
    char text[200];
};

static void hear(void *user, pawl_log_level level, const char *area, const char *text)
{
    struct heard *h = user;

    h->count++;
    h->level = level;
    snprintf(h->area, sizeof h->area, "%s", area);
    snprintf(h->text, sizeof h->text, "%s", text);
}

TEST(another_writer_gets_message_and_pairs_without_level_and_time)
{
    struct heard h = {0};
    struct logger l = {.level = PAWL_LOG_DEBUG, .write = hear, .user = &h};

    log_debug(&l, "round", "it's \"done\"\n", "events=%d", 3);
    ck_assert_int_eq(h.count, 1);
    ck_assert_int_eq(h.level, PAWL_LOG_DEBUG);
    ck_assert_str_eq(h.area, "round");
    ck_assert_str_eq(h.text, "it's \"done\"\\n events=3");
    log_info(&l, "round", "no pairs", "");
    ck_assert_str_eq(h.text, "no pairs");
}

TEST(records_above_the_level_are_dropped)
{
    static const struct {
        pawl_log_level level;
        int heard;
    } rows[] = {
        {PAWL_LOG_ERROR, 1},
        {PAWL_LOG_WARN,  2},
        {PAWL_LOG_INFO,  3},
        {PAWL_LOG_DEBUG, 4},
    };

    for (size_t i = 0; i < 4; i++) {
        struct heard h = {0};
        struct logger l = {.level = rows[i].level, .write = hear, .user = &h};
        log_error(&l, "a", "m", "");
        log_warn(&l, "a", "m", "");
        log_info(&l, "a", "m", "");
        log_debug(&l, "a", "m", "");
        ck_assert_int_eq(h.count, rows[i].heard);
    }
}

TEST(levels_have_words_and_words_have_levels)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};

    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(log_level_name((pawl_log_level)i), words[i]);
        ck_assert_int_eq(log_level_of(words[i]), i);
    }
    ck_assert_str_eq(log_level_name((pawl_log_level)4), "none");
    ck_assert_int_eq(log_level_of("warning"), -1);
    ck_assert_int_eq(log_level_of(""), -1);
    ck_assert_int_eq(log_level_of(NULL), -1);
}
