/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_open.c -- what a store refuses to open, and what it says then: one line
 * with what to do.  Nothing is made or changed by a refusal.
 */
#include "../harness.h"
#include "chains.h"
#include "pawl/postgres.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1700000000000

static pawl_store *try_open(const char *url, pawl_error *reterr)
{
    *reterr = (pawl_error){0};
    return pawl_postgres_store(url, PAWL_STORE_OPTS(.now_ms = NOW), reterr);
}

/* It is refused with one line that has `words`. */
static void expect_refused(const char *url, const char *words)
{
    pawl_error err;
    pawl_store *s = try_open(url, &err);
    ck_assert_msg(s == NULL, "it opened %s", url);
    ck_assert_msg(err.text[0] && !strchr(err.text, '\n'), "\"%s\"", err.text);
    ck_assert_msg(strstr(err.text, words) != NULL, "\"%s\" is not in: %s", words, err.text);
}

static void expect_opens(const char *url)
{
    pawl_error err;
    pawl_store *s = try_open(url, &err);
    ck_assert_msg(s != NULL, "%s", err.text);
    s->ops->close(s);
}

static int64_t tables_in(const struct scratch *schema)
{
    return scratch_number("SELECT count(*) FROM pg_class c JOIN pg_namespace n ON"
                          " n.oid=c.relnamespace WHERE n.nspname='%s'",
                          schema->schema);
}

/* The URL of the schema for another role. */
static void url_of_role(char url[500], const struct scratch *schema, const char *role)
{
    const char *user = strstr(schema->url, "user=pawl");
    snprintf(url, 500, "%.*suser=%s%s", (int)(user - schema->url), schema->url, role,
             user + strlen("user=pawl"));
}

TEST(a_schema_of_somebody_else_is_left_alone_postgres)
{
    struct scratch schema;
    scratch_new(&schema);
    ck_assert(
        scratch_do("CREATE SCHEMA %s; CREATE TABLE %s.mine(x int)", schema.schema, schema.schema));
    expect_refused(schema.url, "pawl_schema=");
    ck_assert_int_eq(tables_in(&schema), 1);
    scratch_drop(&schema);
}

TEST(an_empty_schema_is_filled_postgres)
{
    struct scratch schema;
    scratch_new(&schema);
    ck_assert(scratch_do("CREATE SCHEMA %s", schema.schema));
    expect_opens(schema.url);
    expect_opens(schema.url);
    scratch_drop(&schema);
}

TEST(a_schema_of_a_newer_version_is_left_alone_postgres)
{
    struct scratch schema;
    scratch_new(&schema);
    expect_opens(schema.url);
    ck_assert(scratch_do("UPDATE %s.meta SET schema_no=99", schema.schema));
    expect_refused(schema.url, "newer");
    ck_assert_int_eq(scratch_number("SELECT schema_no FROM %s.meta", schema.schema), 99);
    scratch_drop(&schema);
}

/* The tables of number 5, with the rows that are there. */
static void make_number_5(const struct scratch *schema)
{
    ck_assert(
        scratch_do("SET search_path TO %s; DROP TABLE cluster,shard,node; DROP INDEX lane_epoch;"
                   "ALTER TABLE lane DROP COLUMN node,DROP COLUMN first_id,DROP COLUMN end_id;"
                   "ALTER TABLE tomb DROP CONSTRAINT tomb_pkey,DROP COLUMN shard,"
                   "ADD PRIMARY KEY(n);"
                   "DROP INDEX message_due,work_due,work_deadline,work_held,"
                   "work_fresh_locked;"
                   "CREATE INDEX message_due ON message(visible_ms,id) WHERE mailbox=0;"
                   "CREATE INDEX work_due ON work(visible_ms) WHERE visible_ms>0;"
                   "CREATE INDEX work_deadline ON work(deadline_ms,id) WHERE deadline_ms>0;"
                   "CREATE INDEX work_held ON work(id) WHERE held;"
                   "CREATE INDEX work_fresh_locked ON work_fresh(lock_epoch)"
                   " WHERE lock_epoch>0; UPDATE meta SET schema_no=5; RESET search_path",
                   schema->schema));
}

/* What an older pawl left goes on where it was: instances, their work, ids, commits. */
TEST(a_store_of_the_schema_before_lanes_goes_on_postgres)
{
    struct scratch schema;
    static struct chains c;
    scratch_new(&schema);
    chains_begin(&c, &schema, schema.url);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(chains_step(&c), PAWL_OK);
    c.store->ops->close(c.store);
    make_number_5(&schema);
    pawl_fence before = c.fence;
    c.store = try_open(schema.url, &c.error);
    ck_assert_msg(c.store != NULL, "%s", c.error.text);
    ck_assert_int_eq(c.store->ops->take(c.store, NOW, &c.fence, &c.error), PAWL_OK);
    ck_assert_uint_gt(c.fence.epoch, before.epoch);
    ck_assert_uint_eq(c.fence.group_no, before.group_no);
    ck_assert_uint_eq(c.fence.next_id, before.next_id); /* without a gap */
    ck_assert_uint_eq(c.fence.shards, PAWL_SHARDS_ALL);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(chains_step(&c), PAWL_OK);
    chains_check(&c);
    chains_end(&c);
    scratch_drop(&schema);
}

TEST(an_older_schema_is_brought_up_to_date_postgres)
{
    struct scratch schema;
    pawl_error err;
    scratch_new(&schema);
    expect_opens(schema.url);
    make_number_5(&schema);
    ck_assert(scratch_do("DROP TABLE %s.object; ALTER TABLE %s.meta DROP COLUMN home;"
                         "DROP TABLE %s.attribute; ALTER TABLE %s.instance DROP COLUMN attributes;"
                         "UPDATE %s.meta SET schema_no=1",
                         schema.schema, schema.schema, schema.schema, schema.schema,
                         schema.schema));
    ck_assert_ptr_null(pawl_postgres_store(schema.url, PAWL_STORE_OPTS(.read_only = true), &err));
    ck_assert_ptr_nonnull(strstr(err.text, "has number 1, this pawl needs 6; run: pawl migrate"));
    expect_opens(schema.url);
    ck_assert_int_eq(scratch_number("SELECT schema_no FROM %s.meta", schema.schema), 6);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.shard", schema.schema), 64);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM %s.object", schema.schema), 0);
    ck_assert_int_eq(scratch_number("SELECT moved_ms FROM %s.meta", schema.schema), 0);
    scratch_drop(&schema);
}

/* The tables of step 4 are there already: it fails when steps 2 and 3 are done. */
TEST(an_older_schema_that_cannot_be_changed_stays_as_it_is_postgres)
{
    struct scratch schema;
    scratch_new(&schema);
    expect_opens(schema.url);
    ck_assert(scratch_do("DROP TABLE %s.object; ALTER TABLE %s.meta DROP COLUMN home;"
                         "UPDATE %s.meta SET schema_no=1",
                         schema.schema, schema.schema, schema.schema));
    int64_t before = tables_in(&schema);
    expect_refused(schema.url, "attributes");
    ck_assert_int_eq(tables_in(&schema), before);
    ck_assert_int_eq(scratch_number("SELECT schema_no FROM %s.meta", schema.schema), 1);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM pg_attribute WHERE attname='home'"
                                    " AND attrelid='%s.meta'::regclass",
                                    schema.schema),
                     0);
    scratch_drop(&schema);
}

TEST(a_database_with_another_encoding_is_refused_postgres)
{
    struct scratch schema;
    char url[500], name[80];
    scratch_new(&schema);
    snprintf(name, sizeof(name), "ascii_%s", schema.schema);
    ck_assert(scratch_do("CREATE DATABASE %s ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
                         " TEMPLATE template0",
                         name));
    const char *rest = strchr(schema.url, '?');
    snprintf(url, sizeof(url), "postgresql:///%s%s", name, rest);
    expect_refused(url, "has the encoding SQL_ASCII; pawl needs UTF8: CREATE DATABASE");
    ck_assert(scratch_do("DROP DATABASE %s", name));
}

/* A type in the way makes the third table fail. */
TEST(tables_are_made_all_or_none_postgres)
{
    struct scratch schema;
    scratch_new(&schema);
    ck_assert(scratch_do("CREATE SCHEMA %s; CREATE DOMAIN %s.history AS int", schema.schema,
                         schema.schema));
    expect_refused(schema.url, "history");
    ck_assert_int_eq(tables_in(&schema), 0);
    ck_assert(scratch_do("DROP DOMAIN %s.history", schema.schema));
    expect_opens(schema.url);
    scratch_drop(&schema);
}

TEST(a_role_without_rights_is_told_what_to_grant_postgres)
{
    struct scratch schema;
    char url[500], role[80];
    scratch_new(&schema);
    snprintf(role, sizeof(role), "poor_%s", schema.schema);
    ck_assert(scratch_do("CREATE ROLE %s LOGIN", role));
    url_of_role(url, &schema, role);
    expect_refused(url, "GRANT");
    ck_assert_int_eq(tables_in(&schema), 0);
    expect_opens(schema.url);
    expect_refused(url, "rant"); /* it may not look into the tables either */
    scratch_drop(&schema);
    ck_assert(scratch_do("DROP ROLE %s", role));
}

TEST(a_wrong_password_is_told_and_not_repeated_postgres)
{
    struct scratch schema;
    char url[500];
    pawl_error err;
    scratch_new(&schema);
    (void)scratch_do("CREATE ROLE locked LOGIN PASSWORD 'right'");
    url_of_role(url, &schema, "locked&password=hunter2");
    expect_refused(url, "password");
    ck_assert_ptr_null(try_open(url, &err));
    ck_assert_msg(!strstr(err.text, "hunter2"), "%s", err.text);
}

TEST(a_server_that_may_lose_commits_is_refused_postgres)
{
    struct scratch schema;
    char url[500], role[80];
    pawl_error err;
    scratch_new(&schema);
    snprintf(role, sizeof(role), "lossy_%s", schema.schema);
    ck_assert(scratch_do("CREATE ROLE %s LOGIN SUPERUSER; ALTER ROLE %s SET synchronous_commit=off",
                         role, role));
    url_of_role(url, &schema, role);
    expect_refused(url, "pawl_allow_lossy=1");
    ck_assert_int_eq(tables_in(&schema), 0);
    ck_assert_int_eq(pawl_postgres_migrate(url, &err), PAWL_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "synchronous_commit is off on the server"), "%s", err.text);
    ck_assert_int_eq(tables_in(&schema), 0);
    snprintf(url + strlen(url), sizeof(url) - strlen(url), "&pawl_allow_lossy=1");
    ck_assert_int_eq(pawl_postgres_migrate(url, &err), PAWL_OK);
    ck_assert_int_gt(tables_in(&schema), 0);
    expect_opens(url);
    scratch_drop(&schema);
    ck_assert(scratch_do("DROP ROLE %s", role));
}

TEST(a_server_that_is_not_there_is_told_postgres)
{
    expect_refused("postgresql:///postgres?host=/nowhere/at/all&user=pawl", "cannot");
    expect_refused("postgresql:///postgres?pawl_schema=No-Name", "pawl_schema");
    expect_refused("postgresql:///postgres?pawl_mistake=1", "pawl_mistake");
}

/* ---- No client library -------------------------------------------------------------------- */

static bool no_library;

void *__real_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how)
{
    return no_library ? NULL : __real_dlopen(name, how);
}

TEST(a_machine_without_libpq_is_told_what_to_install_postgres)
{
    no_library = true;
    expect_refused("postgresql:///postgres?user=pawl", "libpq5");
}

/* ---- Two owners -------------------------------------------------------------------------- */

/* A process that owns the store and stays. */
static pid_t other_owner(const char *url)
{
    int ends[2];
    char ready = 'n';
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        pawl_error err;
        pawl_fence fence;
        pawl_store *s = try_open(url, &err);
        if (s && s->ops->take(s, NOW, &fence, &err) == PAWL_OK)
            ready = 'y';
        if (write(ends[1], &ready, 1) == 1)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ends[0], &ready, 1), 1);
    ck_assert_int_eq(ready, 'y');
    return pid;
}

TEST(a_store_in_use_is_not_taken_from_its_owner_postgres)
{
    struct scratch schema;
    pawl_error err;
    pawl_fence fence;
    scratch_new(&schema);
    pid_t pid = other_owner(schema.url);
    pawl_store *s = try_open(schema.url, &err);
    ck_assert_msg(s != NULL, "%s", err.text);
    ck_assert_int_eq(s->ops->take(s, NOW, &fence, &err), PAWL_UNAVAILABLE);
    ck_assert_msg(strstr(err.text, "in use") != NULL && !strchr(err.text, '\n'), "%s", err.text);
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    ck_assert_msg(s->ops->take(s, NOW, &fence, &err) == PAWL_OK, "%s", err.text); /* it is free */
    s->ops->close(s);
    scratch_drop(&schema);
}
