/* SPDX-License-Identifier: MIT */
/* server/turns_decision.h -- the decisions of a worker's step, from JSON; see turns_decision.c. */
#ifndef PAWL_SERVER_TURNS_DECISION_H
#define PAWL_SERVER_TURNS_DECISION_H

#include "server/turns_members.h"

/* The list `raw` into the step.  False: it cannot be read, see `r`. */
bool turn_decisions(struct turn_reading *r, pawl_str raw, pawl_turn_step *step);

#endif
