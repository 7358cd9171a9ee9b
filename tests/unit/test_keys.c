/* SPDX-License-Identifier: MIT */
/* tests/unit/test_keys.c -- bytes of a terminal as keys; events of a stream. */
#include "../harness.h"
#include "base/buf.h"
#include "cli/changes.h"
#include "cli/top/keys.h"

#include <string.h>

static void is_key(const char *bytes, size_t n, bool whole, enum key key, size_t used)
{
    struct key_press press = key_read(bytes, n, whole);
    ck_assert_msg(press.key == key && press.used == used, "%s: key %d, used %zu", bytes, press.key,
                  press.used);
}

TEST(characters_and_controls_are_keys)
{
    is_key("q", 1, false, KEY_TEXT, 1);
    is_key("\xc3\xa4", 2, false, KEY_TEXT, 2);
    is_key("\xc3", 1, false, KEY_NONE, 0); /* half a character: the rest comes */
    is_key("\xc3", 1, true, KEY_NONE, 1);  /* or does not */
    is_key("\xff", 1, false, KEY_NONE, 1);
    is_key("\xe2\x80\xae", 3, false, KEY_NONE, 3); /* would turn the direction of text */
    is_key("\r", 1, false, KEY_ENTER, 1);
    is_key("\x7f", 1, false, KEY_ERASE, 1);
    is_key("\x03", 1, false, KEY_INTERRUPT, 1);
    is_key("\x1a", 1, false, KEY_STOP, 1);
    is_key("\x01", 1, false, KEY_NONE, 1);
    is_key("\0", 1, false, KEY_NONE, 1);
    is_key("", 0, true, KEY_NONE, 0);
}

TEST(sequences_are_keys_and_escape_is_one_after_a_while)
{
    is_key("\033[A", 3, false, KEY_UP, 3);
    is_key("\033OB", 3, false, KEY_DOWN, 3);
    is_key("\033[5~", 4, false, KEY_PAGE_UP, 4);
    is_key("\033[Z", 3, false, KEY_BACK_TAB, 3);
    is_key("\033[1;5C", 6, false, KEY_NONE, 6); /* known as a sequence, not as a key */
    is_key("\033", 1, false, KEY_NONE, 0);
    is_key("\033", 1, true, KEY_ESCAPE, 1);
    is_key("\033q", 2, false, KEY_ESCAPE, 1);
    is_key("\033[", 2, false, KEY_NONE, 0);
    is_key("\033[", 2, true, KEY_ESCAPE, 1);
    is_key("\033[1111111111111111111111", 24, false, KEY_NONE, 17);
}

static char heard[256];

static void hear(void *arg, const char *event, pawl_str data)
{
    (void)arg;
    size_t n = strlen(heard);
    (void)snprintf(heard + n, sizeof(heard) - n, "%s=%.*s;", event, PAWL_FMT(data));
}

TEST(events_of_a_stream_are_told_when_they_are_whole)
{
    static const char text[] = "retry: 1000\nid: 1-0\n\n: still here\n\nid: 1-1\nevent: changes\n"
                               "data: {\"a\":1}\n\nevent: reset\ndata: {}\n\nevent: cha";
    struct buf in;
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        heard[0] = 0;
        buf_init(&in, 4096);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t n = sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece;
            buf_put(&in, text + at, n);
            changes_parse(&in, hear, NULL);
        }
        ck_assert_str_eq(heard, "changes={\"a\":1};reset={};");
        ck_assert_str_eq(in.ptr, "event: cha");
        buf_deinit(&in);
    }
}

TEST(changes_tell_of_an_instance)
{
    pawl_str doc = pawl_s("{\"instances\":[{\"instance\":\"a\\u002fb\"}],\"queues\":[]}");
    ck_assert(changes_tell_of(doc, "a/b"));
    ck_assert(!changes_tell_of(doc, "a"));
    ck_assert(changes_tell_of(pawl_s("{\"instances\":[],\"more\":true}"), "a"));
    ck_assert(!changes_tell_of(pawl_s("nothing"), "a"));
}
