/* SPDX-License-Identifier: MIT */
/*
 * cli/session.h -- a runtime on the data directory, opened for what a verb does.
 *
 *   LOOK   reads; works beside the process that owns the store
 *   STEER  writes something and leaves; no module is loaded, so nothing runs
 *   START  as STEER, with modules, so that names and versions are known; makes
 *          the store when there is none
 *   RUN    the same, and everything runs on threads
 */
#ifndef PAWL_CLI_SESSION_H
#define PAWL_CLI_SESSION_H

#include "cli/cli.h"

enum session_use { SESSION_LOOK, SESSION_STEER, SESSION_START, SESSION_RUN };

struct session {
    pawl_runtime *rt;
    pawl_client *client; /* borrowed from rt */
};

/* Load the modules of --load.  0, or an exit status after having said what is wrong. */
int session_load(struct cli *cli);
/* For START and RUN after session_load().  0 or an exit status. */
int session_open(struct cli *cli, enum session_use use, struct session *ret);
void session_close(struct session *s);

/* The data directory and the database file as the flags say. */
const char *session_data(const struct cli *cli);
const char *session_file(const struct cli *cli); /* NULL: the store is no file */

/* Pid of the process that has the store open; 0: nobody, -1: not known. */
long session_owner(const struct cli *cli);

/* A payload argument: JSON, @FILE, or - for standard input; NULL gives the empty
 * payload.  0, or an exit status after having said what is wrong. */
int session_payload(struct cli *cli, const char *flag, const char *text, pawl_str *ret);

/* The newest state of an instance, in cli->mem. */
int session_get(struct cli *cli, struct session *s, const char *id, uint64_t execution,
                pawl_info *ret);

/* Print how it ended as run and wait do; the exit status. */
int session_report(struct cli *cli, const pawl_info *info);

#endif
