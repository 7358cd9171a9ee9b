/* SPDX-License-Identifier: MIT */
/*
 * pawl/server.h -- the HTTP server of `pawl serve`, for programs of your own.
 *
 * In libpawl-main.  The server is an ordinary client of a runtime: it submits
 * requests, answers when they are committed, and follows the commit feed.  It
 * runs on threads of its own.   To end it: pawl_server_stop(), then close
 * the runtime (which answers the calls that still wait in it), then pawl_server_free().
 */
#ifndef PAWL_SERVER_H
#define PAWL_SERVER_H

#include "pawl/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_server pawl_server;

typedef struct pawl_server_opts {
    size_t size;          /* set by PAWL_SERVER_OPTS */
    const char *listen;   /* "127.0.0.1:8000" by default; port 0: any free one */
    const char *tokens;   /* where the tokens are (pawl token new; below); NULL: none */
    bool require_token;   /* also on a loopback address */
    bool insecure;        /* --insecure-listen: allow another address without TLS */
    const char *hosts;    /* further names of this server, comma-separated; "*": any */
    const char *tls_cert; /* PEM file */
    const char *tls_key;  /* PEM file */
    size_t max_body;      /* bytes of one request; default 8 MiB */
    size_t max_payload;   /* as given to the runtime, for messages; default 2 MiB */
    uint32_t connections; /* default 10,000, less when the system allows fewer */
    bool lenient;         /* ignore unknown query parameters and unknown members of bodies */
    pawl_log_level log_level;
    pawl_log_fn *log; /* default: logfmt lines on stderr */
    void *log_user;
    bool log_json; /* without `log`: one JSON object per line */
    /* Memory for all answers that wait for slow readers; default 256 MiB.  Beyond it the
     * client that has been reading longest is disconnected. */
    size_t max_answers;
} pawl_server_opts;

#define PAWL_SERVER_OPTS(...) PAWL_LEND(pawl_server_opts, __VA_ARGS__)

/* Listen and serve.  PAWL_INVALID: a bad option; PAWL_EXISTS: the port is taken;
 * PAWL_UNAVAILABLE: any other error of the system. */
PAWL_API pawl_server *pawl_server_start(pawl_runtime *rt, const pawl_server_opts *opts,
                                        pawl_error *reterr);
/* The address it listens on: "http://127.0.0.1:8000". */
PAWL_API const char *pawl_server_url(const pawl_server *s);
/* Read tokens and certificates again, as after SIGHUP.  Connections stay open; a caller that
 * waits or listens with a token that is no longer valid is disconnected.  On an error, which
 * is reported, the certificates stay as they were. */
PAWL_API pawl_status pawl_server_reload(pawl_server *s, pawl_error *reterr) PAWL_MUST_USE;
/* For a watchdog, which calls it now and then from one thread: is the runtime healthy, and
 * has the HTTP server made progress since the last call?  If not, *rettrouble says why. */
PAWL_API bool pawl_server_healthy(pawl_server *s, char rettrouble[PAWL_TROUBLE_BYTES]);
/* Refuse new requests (503; /ready answers 503 as well), end long polls and streams, and
 * wait up to `ms` for the answers under way.  It also waits, without a limit, for a commit of
 * its own that is under way while the disk hangs. */
PAWL_API void pawl_server_stop(pawl_server *s, int64_t ms);
/* Call it after the runtime is closed.  NULL is fine. */
PAWL_API void pawl_server_free(pawl_server *s);

/* ---- Tokens --------------------------------------------------------------- */

typedef struct pawl_token_info {
    char id[17];
    char scope[8];   /* "work", "read", "operate", "admin" */
    pawl_str queues; /* prefixes of queue names, comma-separated; empty: all */
    pawl_str name;   /* for people */
    int64_t created_ms;
    bool api; /* with queues: valid outside /queue, too */
} pawl_token_info;

#define PAWL_TOKEN_BYTES 96

/* `file` is a file of tokens, or the URL of a store that keeps them (postgres://…).
 *
 * Make a token; only its hash is stored.  `queues` and `name` may be NULL.  A token with queues
 * is valid for /queue only; with a plus after the scope ("operate+") it is valid for the rest
 * of the server, too.  The file keeps its owner and mode; a new file gets the owner of its
 * directory. */
PAWL_API pawl_status pawl_token_new(const char *file, const char *scope, const char *queues,
                                    const char *name, int64_t now_ms,
                                    char rettoken[PAWL_TOKEN_BYTES],
                                    pawl_error *reterr) PAWL_MUST_USE;
/* All tokens of the file, oldest first; a missing file has none. */
PAWL_API pawl_status pawl_token_list(const char *file, pawl_mem *mem, const pawl_token_info **ret,
                                     size_t *retcount, pawl_error *reterr) PAWL_MUST_USE;
/* Revoke by id; PAWL_NOT_FOUND. */
PAWL_API pawl_status pawl_token_revoke(const char *file, const char *id,
                                       pawl_error *reterr) PAWL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
