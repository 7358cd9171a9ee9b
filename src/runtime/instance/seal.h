/* SPDX-License-Identifier: MIT */
/* runtime/instance/seal.h -- from a stage to a round: events numbered, rows derived. [engine] */
#ifndef PAWL_RUNTIME_SEAL_H
#define PAWL_RUNTIME_SEAL_H

#include "runtime/core/runtime.h"

/* Number events, derive rows, fill in the round. */
void stage_seal(pawl_runtime *rt, struct stage *s, pawl_round *ret);
/* The rows that follow from one recorded step (for repair_events.c). */
void seal_derive(pawl_runtime *rt, struct stage *s, const struct step *step);
/* attrs of an OrchestrationStarted event, in the group's arena. */
pawl_str start_attrs(pawl_runtime *rt, pawl_str version, const pawl_row *row, int64_t deadline_ms,
                     struct scheduled scheduled, bool rerun);

#endif
