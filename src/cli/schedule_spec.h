/* SPDX-License-Identifier: MIT */
/* cli/schedule_spec.h -- what the flags of `pawl schedule` say, and instants on the screen. */
#ifndef PAWL_CLI_SCHEDULE_SPEC_H
#define PAWL_CLI_SCHEDULE_SPEC_H

#include "cli/out.h"

/* Was one of the flags that say when given? */
bool spec_says_when(const struct cli *cli);
/* All of it, for `put`; spec_times() for the rest. */
int spec_all(struct cli *cli, pawl_schedule *ret);
/* The times of the schedule that the flags describe, in cli->mem.  0, or an exit status: the
 * error was printed. */
int spec_times(struct cli *cli, pawl_schedule *ret);
/* The answer of …/next as the output wants it: a table in both zones, JSON, lines. */
void spec_print_next(struct cli *cli, pawl_str answer);

/* A stored schedule, for people. */
void spec_print_schedule(struct cli *cli, pawl_str schedule);

/* Pages of schedules as the output wants them. */
struct spec_list {
    struct cli *cli;
    struct table table;
    pawl_json *w; /* one document of all pages; NULL: a table, or a line each */
};

void spec_list_begin(struct spec_list *l, struct cli *cli);
size_t spec_list_add(struct spec_list *l, pawl_str page); /* how many there were */
void spec_list_end(struct spec_list *l, const char *next);

#endif
