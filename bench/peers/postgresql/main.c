/* SPDX-License-Identifier: MIT */
/*
 * bench/peers/postgresql/main.c -- a table as a queue, with libpq, a thread a connection.
 *
 *     postgresql CONNINFO CONNECTIONS SECONDS
 *
 * push: one insert, one commit.  pop and ack: SELECT … FOR UPDATE SKIP LOCKED and DELETE
 * in one transaction, so that a message costs one commit and is free again when its
 * consumer dies.
 */
#include <libpq-fe.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ITEM "{\"id\":1,\"name\":\"performance-test\",\"note\":\"an item of a benchmark\"}"

struct lane {
    PGconn *conn;
    pthread_t thread;
    bool pops;
    double end;
    uint64_t count;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static PGresult *check(PGconn *conn, PGresult *r)
{
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s\n", PQerrorMessage(conn));
        exit(1);
    }
    return r;
}

static void say(PGconn *conn, const char *sql)
{
    PQclear(check(conn, PQexec(conn, sql)));
}

static PGconn *connect_to(const char *info)
{
    PGconn *conn = PQconnectdb(info);
    if (PQstatus(conn) != CONNECTION_OK) {
        fprintf(stderr, "%s\n", PQerrorMessage(conn));
        exit(1);
    }
    return conn;
}

static void prepare(PGconn *conn)
{
    static const char *const statements[][2] = {
        {"push",   "INSERT INTO bench (item) VALUES ($1)"                                 },
        {"begin",  "BEGIN"                                                                },
        {"pop",    "SELECT id, item FROM bench ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"},
        {"ack",    "DELETE FROM bench WHERE id = $1"                                      },
        {"commit", "COMMIT"                                                               },
    };
    for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
        PQclear(check(conn, PQprepare(conn, statements[i][0], statements[i][1], 0, NULL)));
}

static PGresult *run(PGconn *conn, const char *name, const char *value)
{
    return check(conn, PQexecPrepared(conn, name, value ? 1 : 0, &value, NULL, NULL, 0));
}

static bool pop(PGconn *conn)
{
    PQclear(run(conn, "begin", NULL));
    PGresult *r = run(conn, "pop", NULL);
    bool found = PQntuples(r) == 1;
    if (found)
        PQclear(run(conn, "ack", PQgetvalue(r, 0, 0)));
    PQclear(r);
    PQclear(run(conn, "commit", NULL));
    return found;
}

static void *work(void *arg)
{
    struct lane *l = arg;
    for (l->count = 0; now() < l->end; l->count++) {
        if (l->pops && !pop(l->conn))
            break;
        if (!l->pops)
            PQclear(run(l->conn, "push", ITEM));
    }
    return NULL;
}

static double phase(struct lane *lanes, int count, bool pops, double seconds)
{
    double begin = now();
    uint64_t all = 0;
    for (int i = 0; i < count; i++) {
        lanes[i].pops = pops;
        lanes[i].end = begin + seconds;
        pthread_create(&lanes[i].thread, NULL, work, &lanes[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(lanes[i].thread, NULL);
        all += lanes[i].count;
    }
    return (double)all / (now() - begin);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: postgresql CONNINFO CONNECTIONS SECONDS\n");
        return 2;
    }
    int count = atoi(argv[2]);
    struct lane *lanes = calloc((size_t)count, sizeof(*lanes));
    PGconn *first = connect_to(argv[1]);
    say(first, "DROP TABLE IF EXISTS bench");
    say(first, "CREATE TABLE bench (id bigserial PRIMARY KEY, item text NOT NULL)");
    for (int i = 0; i < count; i++) {
        lanes[i].conn = connect_to(argv[1]);
        prepare(lanes[i].conn);
    }
    double push = phase(lanes, count, false, atof(argv[3]));
    double pop_ack = phase(lanes, count, true, atof(argv[3]));
    printf("{\"push_per_s\":%.0f,\"pop_ack_per_s\":%.0f}\n", push, pop_ack);
    for (int i = 0; i < count; i++)
        PQfinish(lanes[i].conn);
    PQfinish(first);
    free(lanes);
    return 0;
}
