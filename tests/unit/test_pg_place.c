/* SPDX-License-Identifier: MIT */
/* tests/unit/test_pg_place.c -- URLs, statements and SQLSTATEs of the PostgreSQL store. */
#include "../harness.h"
#include "base/arena.h"
#include "base/buf.h"
#include "pawl/postgres.h"
#include "store/postgres/postgres.h"

static void expect_url(const char *url, const char *libpq_url, const char *schema)
{
    struct pg_place p;
    pawl_error err;
    ck_assert_msg(pg_place_read(url, &p, &err) == PAWL_OK, "%s: %s", url, err.text);
    ck_assert_str_eq(p.url, libpq_url);
    ck_assert_str_eq(p.schema, schema);
    pg_place_deinit(&p);
}

TEST(our_parameters_are_taken_out_of_the_url)
{
    expect_url("postgres://h/d", "postgres://h/d", "pawl");
    expect_url("postgresql://h/d?pawl_schema=a_1", "postgresql://h/d", "a_1");
    expect_url("postgres://h/d?a=1&pawl_schema=x&b=2", "postgres://h/d?a=1&b=2", "x");
    expect_url("postgres://h/d?pawl_prepare=off&sslmode=require", "postgres://h/d?sslmode=require",
               "pawl");
    expect_url("postgres:///d?host=/s&port=1&", "postgres:///d?host=/s&port=1", "pawl");
}

TEST(our_parameters_say_what_they_say)
{
    struct pg_place p;
    ck_assert_int_eq(pg_place_read("postgres://h/d", &p, NULL), PAWL_OK);
    ck_assert(!p.allow_lossy && !p.no_prepare && !p.pooled);
    pg_place_deinit(&p);
    ck_assert_int_eq(
        pg_place_read("postgres://h/d?pawl_allow_lossy=1&pawl_prepare=off&pawl_pooler=transaction",
                      &p, NULL),
        PAWL_OK);
    ck_assert(p.allow_lossy && p.no_prepare && p.pooled);
    pg_place_deinit(&p);
}

TEST(a_wrong_url_is_refused_without_its_password)
{
    static const char *const urls[] = {
        "mysql://u:secret@h/d",
        "postgres://u:secret@h/d?pawl_schema=",
        "postgres://u:secret@h/d?pawl_schema=A",
        "postgres://u:secret@h/d?pawl_schema=1a",
        "postgres://u:secret@h/d?pawl_schema=a\"b",
        "postgres://u:secret@h/d?pawl_schema=a12345678901234567890123456789012345678901",
        "postgres://u:secret@h/d?pawl_allow_lossy=yes",
        "postgres://u:secret@h/d?pawl_prepare=0",
        "postgres://u:secret@h/d?pawl_pooler=session",
        "postgres://u:secret@h/d?pawl_color=blue",
        "postgres://u:secret@h/d?pawl_",
    };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct pg_place p;
        pawl_error err;
        ck_assert_msg(pg_place_read(urls[i], &p, &err) == PAWL_INVALID, "%s", urls[i]);
        ck_assert_msg(!strstr(err.text, "secret"), "%s", err.text);
        ck_assert_msg(!p.url && !p.schema, "%s", urls[i]);
    }
}

/* libpq repeats what it cannot read; we do not. */
TEST(a_url_that_libpq_cannot_read_is_not_repeated)
{
    static const char *const urls[] = {"postgres://u:secret%zz@h/d", "postgres://u:secret@[h/d",
                                       "postgres://u:secret@h/d?secret",
                                       "postgres://u:secret@h:x/d"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        pawl_error err;
        ck_assert_int_ne(pawl_postgres_migrate(urls[i], &err), PAWL_OK);
        ck_assert_msg(!strstr(err.text, "secret"), "%s", err.text);
    }
}

static void expect_text(const char *text, const char *made)
{
    struct buf b;
    buf_init(&b, 1000);
    pg_text_put(&b, text, "s");
    ck_assert_str_eq(b.ptr, made);
    buf_deinit(&b);
}

TEST(a_statement_is_written_for_the_server)
{
    expect_text("SELECT a FROM @.t WHERE b=?1", "SELECT a FROM \"s\".t WHERE b=$1::bigint");
    expect_text("b=?1::text AND c=?2", "b=$1::text AND c=$2::bigint");
    expect_text("?,?,?1,?", "$1::bigint,$2::bigint,$1::bigint,$3::bigint");
    expect_text("#1 ?1 ?2 #2", "$3::bigint $1::bigint $2::bigint $4::bigint");
    expect_text("$1::int[]", "$1::int[]");
}

TEST(every_statement_has_a_text)
{
    char *texts[ST_PG_COUNT];
    bool near[ST_PG_COUNT] = {0}; /* of stores that are files: none here */
#define NEAR(name, sql) near[ST_##name] = true;
    SQL_NEAR_STATEMENTS(NEAR)
    ck_assert(pg_texts_make(texts, "s"));
    for (int i = 0; i < ST_PG_COUNT; i++)
        if (near[i])
            ck_assert(!texts[i]);
        else
            ck_assert_msg(texts[i] && !strpbrk(texts[i], "@?#"), "%d: %s", i, texts[i]);
    pg_texts_free(texts);
}

TEST(the_tables_are_printed_with_their_schema)
{
    pawl_mem mem;
    pawl_str text;
    arena_init(&mem);
    ck_assert_int_eq(pawl_postgres_ddl("postgres://h/d?pawl_schema=mine", &mem, &text, NULL),
                     PAWL_OK);
    ck_assert(strncmp(text.ptr, "BEGIN;\nCREATE SCHEMA \"mine\";\n", 29) == 0);
    ck_assert(strstr(text.ptr, "INSERT INTO \"mine\".meta"));
    ck_assert(strstr(text.ptr, "COMMIT;\n"));
    ck_assert(!strchr(text.ptr, '@'));
    arena_deinit(&mem);
}

/* docs/internals/postgres.md has this table. */
TEST(a_sqlstate_has_a_status)
{
    static const struct {
        const char *state;
        pawl_status status;
    } cases[] = {
        {"40001", PAWL_BUSY       },
        {"40P01", PAWL_BUSY       },
        {"55P03", PAWL_BUSY       },
        {"57014", PAWL_BUSY       },
        {"53100", PAWL_DISK_FULL  },
        {"53200", PAWL_UNAVAILABLE},
        {"53300", PAWL_UNAVAILABLE},
        {"22012", PAWL_CONFLICT   },
        {"23505", PAWL_CONFLICT   },
        {"XX001", PAWL_CORRUPT    },
        {"XX002", PAWL_CORRUPT    },
        {"08006", PAWL_UNAVAILABLE},
        {"57P01", PAWL_UNAVAILABLE},
        {"25006", PAWL_UNAVAILABLE},
        {"42P01", PAWL_UNAVAILABLE},
        {"",      PAWL_UNAVAILABLE},
        {NULL,    PAWL_UNAVAILABLE},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_msg(sqlstate_status(cases[i].state) == cases[i].status, "%s",
                      cases[i].state ? cases[i].state : "NULL");
}

TEST(an_error_says_what_to_do)
{
    struct link_report report = {.end = LINK_FAILED, .sqlstate = "42P01", .text = "no table"};
    pawl_error err;
    ck_assert_int_eq(link_error(&report, "read", &err), PAWL_UNAVAILABLE);
    ck_assert_str_eq(err.text, "cannot read: no table; the schema does not fit this pawl: run pawl "
                               "migrate");
    report = (struct link_report){.end = LINK_FAILED, .text = "out of memory"};
    ck_assert_int_eq(link_error(&report, "read", &err), PAWL_NO_MEMORY);
    report = (struct link_report){.end = LINK_LOST, .text = "gone"};
    ck_assert_int_eq(link_error(&report, "read", &err), PAWL_UNAVAILABLE);
}
