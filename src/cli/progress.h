/* SPDX-License-Identifier: MIT */
/*
 * cli/progress.h -- what `run` shows on a terminal while it waits.
 *
 * One line for each step that was recorded, and below them one live line with
 * what the instance is waiting for.  On stderr, and only when that is a terminal.
 * Reads the history like any other client; never asks the engine.
 */
#ifndef PAWL_CLI_PROGRESS_H
#define PAWL_CLI_PROGRESS_H

#include "cli/cli.h"

struct progress_task {
    pawl_str name;
    int64_t at_ms;
};

struct progress {
    const struct cli *cli;
    pawl_client *client;
    const char *id;
    bool on;
    pawl_mem *names;             /* of the tasks below */
    struct progress_task *tasks; /* by ref - 1 */
    size_t task_cap;
    uint64_t execution, seq; /* seen so far */
    uint64_t shown;          /* lines printed */
    int64_t drawn_ms;
};

void progress_begin(struct progress *p, const struct cli *cli, pawl_client *client, const char *id);
/* Draw what is new; cheap when called too often. */
void progress_update(struct progress *p);
void progress_end(struct progress *p);

#endif
