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
}

TEST(what_is_no_url_of_a_store_is_refused)
{
    static const char *const urls[] = {"",         "sqlite",   "sqlite:",        "jsonl:", "memory",
                                       "memory:x", "SQLITE:a", "postgres://h/d", "a/b.db"};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct store_place place;
        ck_assert_msg(!store_place_read(urls[i], &place), "%s", urls[i]);
    }
}
