/* SPDX-License-Identifier: MIT */
/*
 * cli/session.h -- a runtime on the data directory, opened for what a verb does.
 *
 *   LOOK   reads; works beside the process that owns the store
 *   STEER  writes something and leaves; no module is loaded, so nothing runs
 *   START  as STEER, with modules, so that names and versions are known; makes
 *          the store when there is none
 *   RUN    the same, and everything runs on threads
 *
 * LOOK, STEER and START of verbs that take --url go to a server instead, unless
 * a data directory or store is given.  When nothing is given: to the server at
 * the default address if one listens there, else to ./pawl-data.
 */
#ifndef PAWL_CLI_SESSION_H
#define PAWL_CLI_SESSION_H

#include "cli/cli.h"
#include "cli/remote.h"
#include "tables/schemes.h"

enum session_use { SESSION_LOOK, SESSION_STEER, SESSION_START, SESSION_RUN };

struct session {
    pawl_runtime *rt;    /* NULL: the verb talks to a server */
    pawl_client *client; /* borrowed from rt */
    struct http *remote; /* NULL: the verb works on a data directory */
    struct cli *cli;
};

/* Load the modules of --load.  0, or an exit status: the error was printed. */
int session_load(struct cli *cli);
/* For START and RUN after session_load().  0 or an exit status. */
int session_open(struct cli *cli, enum session_use use, struct session *ret);
/* As session_open() with RUN.  While the store is in use or cannot be reached, `wait` is called, and
 * the store is tried again when it returned true.  EXIT_OK without a runtime: it returned false. */
int session_await(struct cli *cli, bool (*wait)(struct cli *cli, const pawl_error *why),
                  struct session *ret);
void session_close(struct session *s);

/* What the flags say: the kind of place, the data directory, the database file. */
enum scheme_place session_place(const struct cli *cli);
const char *session_data(const struct cli *cli);
/* The store as it may be shown: the data directory, or the URL of a server without its password. */
const char *session_shown(const struct cli *cli);
const char *session_file(const struct cli *cli); /* NULL: the store is no file */

/* 0, or an exit status: that there is no store was printed. */
int session_must_exist(struct cli *cli);

/* Pid of the process that has the store open; 0: none, -1: not known. */
long session_owner(const struct cli *cli);

/* The calls of pawl/client.h, wherever the instances are. */
pawl_status session_write(struct session *s, const pawl_request *request, pawl_reply *ret);
pawl_status session_fetch(struct session *s, const char *id, uint64_t execution, pawl_mem *mem,
                          pawl_info *ret, pawl_error *reterr);
pawl_status session_list(struct session *s, const pawl_filter *filter, pawl_mem *mem,
                         pawl_page *ret, pawl_error *reterr);
pawl_status session_history(struct session *s, const char *id, uint64_t execution, uint64_t after,
                            uint32_t limit, pawl_mem *mem, pawl_history *ret, pawl_error *reterr);
/* Does this command talk to a server? */
bool session_is_remote(struct cli *cli);

/* What an argument means: itself, @FILE, or - for standard input; NULL is nothing. */
int session_text(struct cli *cli, const char *text, pawl_str *ret);
/* NAME=VALUE … as the JSON of attributes; NAME=null removes. */
int session_attributes(struct cli *cli, const char *const *items, size_t count, pawl_str *ret);
/* A payload argument: JSON, @FILE, or - for standard input; NULL gives the empty
 * payload.  0, or an exit status: the error was printed. */
int session_payload(struct cli *cli, const char *flag, const char *text, pawl_str *ret);

/* The newest state of an instance, in cli->mem. */
int session_get(struct cli *cli, struct session *s, const char *id, uint64_t execution,
                pawl_info *ret);

/* Print how it ended as run and wait do; the exit status. */
int session_report(struct cli *cli, const pawl_info *info);

#endif
