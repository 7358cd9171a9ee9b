/* SPDX-License-Identifier: MIT */
/*
 * tests/scratch.c -- see scratch.h.  A test runs in a child of its program: the name of the
 * program's schema is made in the parent, connections are made in each child.
 *
 * One is made in the parent and empties the schema for every child, one after another: a new
 * session would read the catalog for all tables first, which takes longer than emptying them.  Only
 * whole exchanges go over it, so that it is at rest whenever a child begins; a child that ended in
 * the middle of one leaves `midway` set, and nobody uses it any more.  Children never close it.
 */
#include "scratch.h"

#include "store/postgres/libpq.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SQL_BYTES 6000

static pid_t program; /* the parent of all tests */
static PGconn *connection;
static pid_t connected; /* whose connection that is */
static PGconn *shared;  /* of the parent and all children */
static bool *midway;    /* in memory that they share: somebody is using it */

__attribute__((constructor(200))) static void remember_program(void)
{
    program = getpid();
}

const char *scratch_server(void)
{
    const char *url = getenv("PAWL_TEST_PG");
    return url && *url ? url : NULL;
}

static PGconn *connect_new(void)
{
    const char *const keys[] = {"dbname", "options", NULL};
    const char *const values[] = {scratch_server(), "-c client_min_messages=error", NULL};
    pawl_error err = {0};
    if (libpq_load(&err) != PAWL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return NULL;
    }
    PGconn *c = pq.connectdbParams(keys, values, 1);
    if (pq.status(c) != PQ_CONNECTION_OK)
        fprintf(stderr, "%s: %s", scratch_server(), pq.errorMessage(c));
    return c;
}

static PGconn *connect_once(void)
{
    if (connection && connected == getpid() && pq.status(connection) == PQ_CONNECTION_OK)
        return connection;
    if (connection && connected == getpid())
        pq.finish(connection);
    connected = getpid();
    connection = connect_new();
    return connection;
}

void scratch_share(void)
{
    if (shared || !scratch_server() || getpid() != program)
        return;
    midway = mmap(NULL, sizeof(*midway), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (midway == MAP_FAILED)
        abort();
    shared = connect_new();
}

static bool exchange(PGconn *c, const char *sql)
{
    PGresult *r = pq.exec(c, sql);
    enum pq_result status = pq.resultStatus(r);
    if (status != PQ_COMMAND_OK && status != PQ_TUPLES_OK)
        fprintf(stderr, "%.200s: %s", sql, pq.resultErrorMessage(r));
    pq.clear(r);
    return status == PQ_COMMAND_OK || status == PQ_TUPLES_OK;
}

static PGresult *__attribute__((format(printf, 1, 0))) ask(const char *format, va_list args)
{
    char sql[SQL_BYTES];
    int n = vsnprintf(sql, sizeof(sql), format, args);
    PGconn *c = connect_once();
    if (!c || n < 0 || (size_t)n >= sizeof(sql))
        return NULL;
    PGresult *r = pq.exec(c, sql);
    enum pq_result status = pq.resultStatus(r);
    if (status == PQ_COMMAND_OK || status == PQ_TUPLES_OK)
        return r;
    fprintf(stderr, "%.200s: %s", sql, pq.resultErrorMessage(r));
    pq.clear(r);
    return NULL;
}

bool scratch_do(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    PGresult *r = ask(format, args);
    va_end(args);
    if (r)
        pq.clear(r);
    return r != NULL;
}

int64_t scratch_number(const char *format, ...)
{
    va_list args;
    int64_t number = -1;
    va_start(args, format);
    PGresult *r = ask(format, args);
    va_end(args);
    if (r && pq.ntuples(r) > 0 && !pq.getisnull(r, 0, 0))
        number = strtoll(pq.getvalue(r, 0, 0), NULL, 10);
    if (r)
        pq.clear(r);
    return number;
}

char *scratch_text(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    size_t bytes = 0;
    va_start(args, format);
    PGresult *r = ask(format, args);
    va_end(args);
    FILE *out = r ? open_memstream(&text, &bytes) : NULL;
    for (int row = 0; out && row < pq.ntuples(r); row++)
        fprintf(out, "%s\n", pq.getvalue(r, row, 0));
    if (out)
        fclose(out);
    if (r)
        pq.clear(r);
    return text;
}

/* ---- Schemas ---------------------------------------------------------------- */

static void name_it(struct scratch *ret, int number)
{
    const char *server = scratch_server();
    snprintf(ret->schema, sizeof(ret->schema), "t%d_%d_%d", (int)program, (int)getpid(), number);
    if (number == 0)
        snprintf(ret->schema, sizeof(ret->schema), "t%d", (int)program);
    snprintf(ret->url, sizeof(ret->url), "%s%cpawl_schema=%s", server,
             strchr(server, '?') ? '&' : '?', ret->schema);
}

void scratch_new(struct scratch *ret)
{
    static int count;
    name_it(ret, ++count);
}

#define EMPTY                                                                                      \
    "DO $$DECLARE t text;BEGIN FOR t IN SELECT format('%%I.%%I',schemaname,tablename) FROM"        \
    " pg_tables WHERE schemaname='%s' AND tablename NOT IN('meta','cluster','shard') LOOP"         \
    " EXECUTE 'DELETE FROM '||t;END LOOP;"                                                         \
    "IF to_regclass('%s.lane') IS NOT NULL THEN"                                                   \
    " UPDATE %s.cluster SET ids_end=1,group_no=0,moves=0,node_no=0;UPDATE %s.shard SET lane=0;"    \
    "PERFORM setval('%s.epochs',1,false);END IF;END$$"

/* Deleting rows is much faster than making the tables again. */
void scratch_same(struct scratch *ret)
{
    char sql[SQL_BYTES];
    name_it(ret, 0);
    (void)snprintf(sql, sizeof(sql), EMPTY, ret->schema, ret->schema, ret->schema, ret->schema,
                   ret->schema);
    if (!shared || *midway) {
        (void)scratch_do("%s", sql);
        return;
    }
    *midway = true;
    *midway = !exchange(shared, sql);
}

void scratch_drop(const struct scratch *s)
{
    (void)scratch_do("DROP SCHEMA IF EXISTS %s CASCADE", s->schema);
}

__attribute__((destructor)) static void drop_the_program_s(void)
{
    if (scratch_server() && getpid() == program)
        (void)scratch_do("DROP SCHEMA IF EXISTS t%d CASCADE", (int)program);
    if (connection && connected == getpid())
        pq.finish(connection);
    if (shared && getpid() == program)
        pq.finish(shared);
}
