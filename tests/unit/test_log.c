/* SPDX-License-Identifier: MIT */
/* tests/unit/test_log.c -- one record, one line. */
#include "base/log.h"
#include "child.h"

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
                               "path=/a\\x0d\\nlevel=error\\x1b[2J\\x7f n=3");
    ck_assert_ptr_null(strtok(NULL, "\n"));
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
