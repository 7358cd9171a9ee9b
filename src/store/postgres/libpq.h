/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/libpq.h -- the client library of PostgreSQL, loaded when it is first used.
 *
 * A program that never opens a postgres:// store neither needs libpq nor loads it, and building
 * Pawl needs no header of it: the types and numbers below are part of libpq's stable binary
 * interface (tests/unit/test_pg_libpq.c compares them with the installed header).  Pipelines need
 * libpq 14 or newer.
 *
 * Called by link.c, params.c and the files that look at a result.
 */
#ifndef PAWL_STORE_POSTGRES_LIBPQ_H
#define PAWL_STORE_POSTGRES_LIBPQ_H

#include "pawl/types.h"

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;

enum { PQ_CONNECTION_OK = 0 };
enum pq_result {
    PQ_EMPTY_QUERY = 0,
    PQ_COMMAND_OK = 1,
    PQ_TUPLES_OK = 2,
    PQ_BAD_RESPONSE = 5,
    PQ_NONFATAL_ERROR = 6,
    PQ_FATAL_ERROR = 7,
    PQ_PIPELINE_SYNC = 10,
    PQ_PIPELINE_ABORTED = 11,
};
enum {
    PQ_DIAG_SQLSTATE = 'C',
    PQ_DIAG_MESSAGE = 'M',
    PQ_DIAG_CONSTRAINT = 'n',
    PQ_DIAG_FUNCTION = 'R', /* of the server's source, in no language */
};

/* X(result, name, parameters) of every function used; the library's name is PQ ## name. */
/* clang-format off */
#define LIBPQ_FUNCTIONS(X)                                                                         \
    X(PGconn *, connectdbParams, (const char *const *keys, const char *const *values, int expand)) \
    X(void *, conninfoParse, (const char *text, char **reterr))                                    \
    X(void, conninfoFree, (void *options))                                                         \
    X(void, freemem, (void *bytes))                                                                \
    X(void, finish, (PGconn *c))                                                                   \
    X(int, status, (const PGconn *c))                                                              \
    X(char *, errorMessage, (const PGconn *c))                                                     \
    X(int, serverVersion, (const PGconn *c))                                                       \
    X(int, socket, (const PGconn *c))                                                              \
    X(int, backendPID, (const PGconn *c))                                                          \
    X(const char *, parameterStatus, (const PGconn *c, const char *name))                          \
    X(PGresult *, exec, (PGconn *c, const char *sql))                                              \
    X(PGresult *, prepare, (PGconn *c, const char *name, const char *sql, int n, const unsigned *types)) \
    X(PGresult *, execPrepared, (PGconn *c, const char *name, int n, const char *const *values,    \
                                 const int *lengths, const int *formats, int result_format))       \
    X(PGresult *, execParams, (PGconn *c, const char *sql, int n, const unsigned *types,           \
                               const char *const *values, const int *lengths, const int *formats,  \
                               int result_format))                                                 \
    X(int, sendPrepare, (PGconn *c, const char *name, const char *sql, int n, const unsigned *types)) \
    X(int, sendQueryPrepared, (PGconn *c, const char *name, int n, const char *const *values,      \
                               const int *lengths, const int *formats, int result_format))         \
    X(int, sendQueryParams, (PGconn *c, const char *sql, int n, const unsigned *types,             \
                             const char *const *values, const int *lengths, const int *formats,    \
                             int result_format))                                                   \
    X(int, enterPipelineMode, (PGconn *c))                                                         \
    X(int, exitPipelineMode, (PGconn *c))                                                          \
    X(int, pipelineSync, (PGconn *c))                                                              \
    X(PGresult *, getResult, (PGconn *c))                                                          \
    X(enum pq_result, resultStatus, (const PGresult *r))                                           \
    X(char *, resultErrorMessage, (const PGresult *r))                                             \
    X(char *, resultErrorField, (const PGresult *r, int field))                                    \
    X(char *, cmdStatus, (PGresult *r))                                                            \
    X(char *, cmdTuples, (PGresult *r))                                                            \
    X(int, ntuples, (const PGresult *r))                                                           \
    X(int, nfields, (const PGresult *r))                                                           \
    X(char *, getvalue, (const PGresult *r, int row, int column))                                  \
    X(int, getlength, (const PGresult *r, int row, int column))                                    \
    X(int, getisnull, (const PGresult *r, int row, int column))                                    \
    X(void, clear, (PGresult *r))                                                                  \
    X(void *, setNoticeReceiver, (PGconn *c, void (*fn)(void *user, const PGresult *r), void *user))
/* clang-format on */

struct libpq {
#define LIBPQ_MEMBER(result, name, ...) result(*name) __VA_ARGS__;
    LIBPQ_FUNCTIONS(LIBPQ_MEMBER)
#undef LIBPQ_MEMBER
};

/* Set by libpq_load; never changed afterwards. */
extern struct libpq pq;

/* Load the library once in the process.  UNSUPPORTED: it is missing or too old; the error names
 * the package to install. */
pawl_status libpq_load(pawl_error *reterr);

#endif
