/* SPDX-License-Identifier: MIT */
/*
 * cli/load_history.h -- read a whole history from a store, a server or a file of `export`, and
 * replay it in a child process.
 */
#ifndef PAWL_CLI_LOAD_HISTORY_H
#define PAWL_CLI_LOAD_HISTORY_H

#include "cli/session.h"
#include "pawl/replay.h"

struct loaded_history {
    pawl_info info;
    pawl_history_event *events; /* all of one execution, in the pawl_mem given */
    size_t count;
};

/* Execution 0: the newest.  0, or an exit status: the error was printed. */
int history_read(struct cli *cli, struct session *s, const char *id, uint64_t execution,
                 pawl_mem *mem, struct loaded_history *ret);
/* The events of an instance whose `info` is known. */
pawl_status history_events(struct session *s, const pawl_info *info, pawl_mem *mem,
                           struct loaded_history *ret, pawl_error *reterr);
int history_from_file(struct cli *cli, const char *path, struct loaded_history *ret);

/* The document of `export`. */
void history_write(struct cli *cli, const struct loaded_history *h);

/* Places in the code as text.  Each is looked up once, because thousands of histories may diverge
 * at the same line. */
struct sites {
    struct site *first; /* in the pawl_mem given */
};
const char *sites_text(struct sites *s, pawl_mem *mem, void *address); /* "" for NULL */

/*
 * Replay in a child process: code that crashes or does not return is a finding
 * like any other, with outcome MISMATCH and a text that says so.  False when
 * there is no report; the error says why.
 */
bool history_replay_apart(struct cli *cli, const struct loaded_history *h,
                          const pawl_replay_opts *opts, pawl_replay_report *ret,
                          pawl_error *reterr);

#endif
