/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/test_pg_servers.c -- servers that die, fill up, and are replaced by their standby.
 *
 * Each test has a server of its own (tests/postgres/server).  A child process does the harm while
 * instances take steps; chains.h keeps the ledger.  With PAWL_PG_FULL set everything runs; without
 * it, a sample.
 */
#include "../harness.h"
#include "chains.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE 120

struct own_server {
    char dir[PATH_SIZE];
    struct scratch schema;
    struct chains c;
};

static bool is_full(void)
{
    return getenv("PAWL_PG_FULL") != NULL;
}

/* A shell command as printf writes it; its status. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[800];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command);
}

static void must_shell(const char *verb, const char *dir, const char *more)
{
    ck_assert_msg(shell("tests/postgres/server %s %s %s", verb, dir, more) == 0, "%s %s", verb,
                  dir);
}

static void dir_of(char dir[PATH_SIZE], const char *name)
{
    snprintf(dir, PATH_SIZE, "%s/%s%d", getenv("PAWL_TEST_PG_DIR"), name, (int)getpid());
}

/* From now on `scratch` asks the server in `dir`. */
static void ask_server(const char *dir)
{
    char url[300];
    snprintf(url, sizeof(url), "postgresql:///postgres?host=%s&user=pawl", dir);
    ck_assert_int_eq(setenv("PAWL_TEST_PG", url, 1), 0);
}

static void server_open(struct own_server *o, const char *name, const char *settings)
{
    dir_of(o->dir, name);
    must_shell("make", o->dir, settings);
    must_shell("start", o->dir, "");
    ask_server(o->dir);
    scratch_new(&o->schema);
}

static void server_end(struct own_server *o)
{
    must_shell("remove", o->dir, "");
}

static void chains_tell(const struct chains *c, const char *what)
{
    printf("| %s: %d steps, %d doubts (%d committed), %d commits refused, %d wrong verdicts\n",
           what, (int)c->steps, c->unknown, c->committed, c->refused, c->wrong);
}

/* A child process harms the server, so many times. */
static pid_t harm(const char *command, int times)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    for (int i = 0; i < times; i++) {
        usleep(300000);
        if (shell("%s", command) != 0)
            _exit(1);
    }
    _exit(0);
}

static void survive(struct own_server *o, const char *what, const char *command, int times)
{
    int status = -1;
    chains_begin(&o->c, &o->schema, o->schema.url);
    pid_t pid = harm(command, times);
    while (waitpid(pid, &status, WNOHANG) == 0)
        ck_assert_msg(chains_step(&o->c) == PAWL_OK, "%s", o->c.error.text);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < 10; i++)
        ck_assert_msg(chains_step(&o->c) == PAWL_OK, "%s", o->c.error.text);
    chains_tell(&o->c, what);
    ck_assert_int_gt(o->c.unknown + o->c.refused, 0);
    chains_check(&o->c);
    chains_end(&o->c);
}

static void survive_end(const char *verb, int times)
{
    static struct own_server o;
    char command[400];
    server_open(&o, "b", "");
    snprintf(command, sizeof(command),
             "tests/postgres/server %s %s && tests/postgres/server start %s", verb, o.dir, o.dir);
    survive(&o, verb, command, times);
    server_end(&o);
}

TEST(a_server_that_stops_at_once_loses_nothing_postgres)
{
    survive_end("stop", is_full() ? 10 : 2);
}

TEST(a_server_that_is_killed_loses_nothing_postgres)
{
    survive_end("kill", is_full() ? 10 : 1);
}

/* A pipe: the store is in doubt. */
static int doubts[2];

/* The backend of the writer, while it waits for the standby; 0: it does not. */
static long long waiting_writer(const struct own_server *o)
{
    return scratch_number("SELECT coalesce(max(a.pid),0) FROM pg_stat_activity a"
                          " JOIN %s.lane l ON l.pid=a.pid WHERE a.wait_event='SyncRep'",
                          o->schema.schema);
}

/* A child process: the writer that waits for the standby is told not to, and when the store has
 * noticed, no commit waits any more.  Earlier, the new setting would end the wait, too, and the
 * server would say nothing. */
static pid_t cancel_the_wait(const struct own_server *o)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    for (int i = 0; i < 3000; i++) {
        long long writer = waiting_writer(o);
        char noticed;
        if (writer > 0)
            _exit(scratch_number("SELECT pg_cancel_backend(%lld)::int", writer) != 1 ||
                  read(doubts[0], &noticed, 1) != 1 ||
                  !scratch_do("ALTER SYSTEM RESET synchronous_standby_names") ||
                  !scratch_do("SELECT pg_reload_conf()"));
        usleep(20000);
    }
    _exit(1);
}

static void tell_of_doubt(void *user, bool over)
{
    (void)user;
    if (!over)
        ck_assert_int_eq(write(doubts[1], "d", 1), 1);
}

/* The server says COMMIT and, in a notice, that it may be on one machine only: that is no yes.
 * Commits wait only when the server's checkpointer has read the setting, some time after the
 * sessions have: steps go on until the child has seen one wait. */
TEST(a_commit_whose_wait_for_the_standby_was_cancelled_is_in_doubt_postgres)
{
    static struct own_server o;
    int status = -1;
    server_open(&o, "w", "");
    chains_begin(&o.c, &o.schema, o.schema.url);
    ck_assert(scratch_do("ALTER SYSTEM SET synchronous_standby_names='nobody'") &&
              scratch_do("SELECT pg_reload_conf()"));
    for (int i = 0; i < 500 && scratch_number("SELECT (current_setting('synchronous_standby_names')"
                                              "='nobody')::int") != 1;
         i++)
        usleep(20000);
    ck_assert_int_eq(pipe(doubts), 0);
    o.c.in_doubt = tell_of_doubt;
    pid_t pid = cancel_the_wait(&o);
    do {
        ck_assert_msg(chains_step(&o.c) == PAWL_OK, "%s", o.c.error.text);
    } while (waitpid(pid, &status, WNOHANG) == 0);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(o.c.unknown, 1);
    ck_assert_int_eq(o.c.committed, 1);
    chains_check(&o.c);
    chains_end(&o.c);
    server_end(&o);
}

/* The log is on a small disk.  A server that cannot write it stops, and comes back when there is
 * room.  Segments that were used before need no room: a large record goes beyond them. */
TEST(a_full_disk_loses_nothing_postgres)
{
    static struct own_server o;
    char wal[PATH_SIZE], command[900];
    if (!is_full())
        return;
    dir_of(wal, "wal");
    if (shell("mkdir %s && mount -t tmpfs -o size=32m,mode=777 tmpfs %s 2>/dev/null", wal, wal)) {
        printf("| - a full disk: a tmpfs cannot be mounted here\n");
        return;
    }
    ck_assert_int_eq(shell("install -d -m 700 -o nobody -g nogroup %s/log", wal), 0);
    snprintf(command, sizeof(command), "%s/log", wal);
    ck_assert_int_eq(setenv("PAWL_TEST_PG_WAL", command, 1), 0);
    server_open(&o, "f", "max_wal_size=16MB");
    snprintf(command, sizeof(command),
             "head -c 32M /dev/zero >%s/filler 2>/dev/null; sleep 1;"
             " psql -XAtq 'host=%s user=pawl dbname=postgres' -c \"SELECT "
             "pg_logical_emit_message(false,'',repeat('x',24000000))\""
             " >/dev/null 2>&1; sleep 1; rm %s/filler;"
             " tests/postgres/server stop %s 2>/dev/null; tests/postgres/server start %s",
             wal, o.dir, wal, o.dir, o.dir);
    survive(&o, "a full disk", command, 2);
    ck_assert_int_eq(shell("grep -q 'No space left on device' %s/log", o.dir), 0);
    server_end(&o);
    ck_assert_int_eq(shell("umount -l %s && rmdir %s", wal, wal), 0);
}

/* ---- Another server takes over ------------------------------------------------------------ */

/* Both servers in one URL: libpq takes the one that can write. */
static void url_of_both(char url[400], const struct own_server *o, const char *standby)
{
    snprintf(url, 400,
             "postgresql://pawl@/postgres?host=%s,%s&target_session_attrs=read-write"
             "&pawl_schema=%s",
             o->dir, standby, o->schema.schema);
}

static void standby_open(const struct own_server *o, char standby[PATH_SIZE])
{
    char arguments[300];
    dir_of(standby, "s");
    snprintf(arguments, sizeof(arguments), "%s hot_standby=on cluster_name=s", o->dir);
    must_shell("standby", standby, arguments);
    must_shell("start", standby, "");
}

static void wait_for_standby(const char *state)
{
    for (int i = 0; i < 500; i++) {
        if (scratch_number("SELECT count(*) FROM pg_stat_replication WHERE sync_state='%s'"
                           " AND state='streaming'",
                           state) == 1)
            return;
        usleep(20000);
    }
    ck_abort_msg("the standby does not follow as %s", state);
}

static pid_t promote_later(const char *primary, const char *standby)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    usleep(500000);
    _exit(shell("tests/postgres/server stop %s && tests/postgres/server promote %s", primary,
                standby) != 0);
}

TEST(a_synchronous_standby_that_takes_over_lacks_nothing_postgres)
{
    static struct own_server o;
    char standby[PATH_SIZE], url[400];
    int status = -1;
    if (!is_full())
        return;
    server_open(&o, "m", "");
    standby_open(&o, standby);
    ck_assert(scratch_do("ALTER SYSTEM SET synchronous_standby_names='s'") &&
              scratch_do("SELECT pg_reload_conf()"));
    wait_for_standby("sync");
    url_of_both(url, &o, standby);
    *strstr(url, "&pawl_schema=") = '\0';
    ck_assert_int_eq(setenv("PAWL_TEST_PG", url, 1),
                     0); /* the ledger asks the one that can write */
    url_of_both(url, &o, standby);
    chains_begin(&o.c, &o.schema, url);
    pid_t pid = promote_later(o.dir, standby);
    while (waitpid(pid, &status, WNOHANG) == 0)
        ck_assert_msg(chains_step(&o.c) == PAWL_OK, "%s", o.c.error.text);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < 50; i++)
        ck_assert_msg(chains_step(&o.c) == PAWL_OK, "%s", o.c.error.text);
    chains_tell(&o.c, "promoted");
    chains_check(&o.c);
    chains_end(&o.c);
    must_shell("remove", standby, "");
    server_end(&o);
}

/* The standby is cut off, the primary goes on and dies: the standby lacks its last commits. */
TEST(an_asynchronous_standby_that_takes_over_tells_what_is_missing_postgres)
{
    static struct own_server o;
    char standby[PATH_SIZE], url[400];
    server_open(&o, "y", "");
    standby_open(&o, standby);
    wait_for_standby("async");
    url_of_both(url, &o, standby);
    chains_begin(&o.c, &o.schema, url);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(chains_step(&o.c), PAWL_OK);
    uint64_t kept = 0;
    for (int i = 0; i < 500 && kept != o.c.fence.group_no; i++) {
        ask_server(standby);
        kept = (uint64_t)scratch_number("SELECT max(group_no) FROM %s.lane_log", o.schema.schema);
        usleep(10000);
    }
    ck_assert_uint_eq(kept, o.c.fence.group_no);
    must_shell("stop", standby, "");
    ask_server(o.dir);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(chains_step(&o.c), PAWL_OK);
    must_shell("stop", o.dir, "");
    must_shell("start", standby, "");
    must_shell("promote", standby, "");
    ask_server(standby);
    pawl_status status = chains_step(&o.c);
    ck_assert_int_eq(status, PAWL_FENCED);
    ck_assert_msg(strstr(o.c.error.text, " 7 ") != NULL, "%s", o.c.error.text);
    printf("| %s\n", o.c.error.text);
    chains_end(&o.c);
    pawl_store *s = pawl_postgres_store(url, PAWL_STORE_OPTS(.now_ms = 1), &o.c.error);
    ck_assert_msg(s != NULL, "%s", o.c.error.text); /* what is there is whole */
    pawl_fence fence = {0};
    ck_assert_int_eq(s->ops->take(s, 1, &fence, &o.c.error), PAWL_OK);
    ck_assert_uint_eq(fence.group_no, kept);
    s->ops->close(s);
    must_shell("remove", standby, "");
    server_end(&o);
}

/* ---- A pooler in between ------------------------------------------------------------------------ */

TEST(a_pooler_that_gives_connections_by_transaction_is_enough_postgres)
{
    static struct own_server o;
    char url[400];
    pawl_error err = {0};
    server_open(&o, "p", "");
    must_shell("bouncer", o.dir, ">/dev/null");
    snprintf(url, sizeof(url),
             "postgresql:///postgres?host=%s/bouncer&user=pawl&pawl_schema=unsaid", o.dir);
    ck_assert_ptr_null(pawl_postgres_store(url, PAWL_STORE_OPTS(.now_ms = 1), &err));
    ck_assert_msg(strstr(err.text, "add pawl_pooler=transaction"), "%s", err.text);
    ck_assert_int_eq(scratch_number("SELECT count(*) FROM pg_namespace WHERE nspname='unsaid'"), 0);
    snprintf(url, sizeof(url),
             "postgresql:///postgres?host=%s/bouncer&user=pawl&pawl_schema=%s"
             "&pawl_pooler=transaction&pawl_prepare=off",
             o.dir, o.schema.schema);
    chains_begin(&o.c, &o.schema, url);
    for (int i = 0; i < (is_full() ? 500 : 30); i++)
        ck_assert_msg(chains_step(&o.c) == PAWL_OK, "%s", o.c.error.text);
    ck_assert_int_eq(o.c.unknown + o.c.refused, 0);
    chains_check(&o.c);
    chains_end(&o.c);
    server_end(&o);
}
