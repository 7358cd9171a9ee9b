/* SPDX-License-Identifier: MIT */
/* suite/suite.h -- the groups of tests, for the runner. */
#ifndef PAWL_CONFORMANCE_SUITE_H
#define PAWL_CONFORMANCE_SUITE_H

#include "probe.h"

/* X(group): tests of case_<group>.c, in cases_<group>[]. */
/* clang-format off */
#define CONFORMANCE_GROUPS(X)                                                           \
    X(fence) X(commit) X(refused) X(outcome) X(messages) X(work) X(plain) X(deadlines)          \
    X(instances) X(load) X(history) X(list) X(remove) X(quarantine) X(queues) X(objects) \
    X(attributes) X(payload) X(threads) X(weak) X(clock) \
    X(lanes) X(shards) X(nodes)
/* clang-format on */

#define GROUP_DECLARE(group) extern const struct probe_case cases_##group[];
CONFORMANCE_GROUPS(GROUP_DECLARE)
#undef GROUP_DECLARE

/* spec.c: an interleaving from t->file, and the name of its test. */
void spec_run(struct probe *t);
void spec_name(const char *file, char *name, size_t size);

#endif
