/* SPDX-License-Identifier: MIT */
/* tests/unit/test_schemes.c -- URLs of stores. */
#include "../harness.h"
#include "tables/schemes.h"

static void expect(const char *url, enum scheme scheme, enum scheme_place kind, const char *path)
{
    struct store_place place;
    ck_assert(store_place_read(url, &place));
    ck_assert_int_eq(place.scheme, scheme);
    ck_assert_int_eq(place.kind, kind);
    ck_assert_str_eq(place.path, path);
}

TEST(each_scheme_names_its_place)
{
    expect("sqlite:a/b.db", SCHEME_SQLITE, PLACE_FILE, "a/b.db");
    expect("jsonl:/d", SCHEME_JSONL, PLACE_DIRECTORY, "/d");
    expect("memory:", SCHEME_MEMORY, PLACE_NOTHING, "");
    expect("postgres://h/d", SCHEME_POSTGRES, PLACE_SERVER, "postgres://h/d");
    expect("postgresql://", SCHEME_POSTGRESQL, PLACE_SERVER, "postgresql://");
}

TEST(what_is_no_url_of_a_store_is_refused)
{
    static const char *const urls[] = {"",         "sqlite",   "sqlite:",      "jsonl:", "memory",
                                       "memory:x", "SQLITE:a", "postgres:h/d", "a/b.db"};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct store_place place;
        ck_assert_msg(!store_place_read(urls[i], &place), "%s", urls[i]);
    }
}

static void expect_shown(const char *url, const char *shown)
{
    char room[256];
    ck_assert_str_eq(store_url_shown(url, room, sizeof(room)), shown);
}

TEST(a_url_is_shown_without_its_password)
{
    expect_shown("postgres://u:secret@h:5432/d", "postgres://u:***@h:5432/d");
    expect_shown("postgres://u:se@cret@h/d?a=b", "postgres://u:***@h/d?a=b");
    expect_shown("postgres://u@h/d", "postgres://u@h/d");
    expect_shown("postgres://h:5432/d@x:y", "postgres://h:5432/d@x:y");
    expect_shown("postgres://u:@h", "postgres://u:***@h");
    expect_shown("postgres:///d?user=u&password=secret&port=1",
                 "postgres:///d?user=u&password=***&port=1");
    expect_shown("postgres:///d?sslpassword=secret", "postgres:///d?sslpassword=***");
    expect_shown("postgre://u:secret@h/d", "postgre://u:***@h/d");
    expect_shown("sqlite:a:b@c", "sqlite:a:b@c");
    expect_shown("", "");
}

TEST(a_long_url_is_cut_not_overrun)
{
    char room[16];
    ck_assert_str_eq(store_url_shown("postgres://u:secret@host/database", room, sizeof(room)),
                     "postgres://u:**");
}
