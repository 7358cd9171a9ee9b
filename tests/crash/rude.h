/* SPDX-License-Identifier: MIT */
/* tests/crash/rude.h -- the switch of rude.c. */
#ifndef PAWL_TESTS_RUDE_H
#define PAWL_TESTS_RUDE_H

#include <stdbool.h>

extern bool rude_mended;
void rude_mend(void); /* for plan.before */

#endif
