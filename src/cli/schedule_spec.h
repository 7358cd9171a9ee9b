/* SPDX-License-Identifier: MIT */
/* cli/schedule_spec.h -- what the flags of `pawl schedule` say, and instants on the screen. */
#ifndef PAWL_CLI_SCHEDULE_SPEC_H
#define PAWL_CLI_SCHEDULE_SPEC_H

#include "cli/deed_object.h"

/* Was one of the flags that say when given? */
bool spec_says_when(const struct cli *cli);
/* All of it, for `put`; spec_times() for the rest. */
int spec_all(struct cli *cli, pawl_schedule *ret);
/* The times of the schedule that the flags describe, in cli->mem.  0, or an exit status: the
 * error was printed. */
int spec_times(struct cli *cli, pawl_schedule *ret);
/* The answer of …/next as the output wants it: a table in both zones, JSON, lines. */
void spec_print_next(struct cli *cli, pawl_str answer);

/* Stored schedules: where they are, and how they look to people. */
extern const struct object_kind schedules;

#endif
