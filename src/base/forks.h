/* SPDX-License-Identifier: MIT */
/* base/forks.h -- is this still the process that made it? */
#ifndef PAWL_BASE_FORKS_H
#define PAWL_BASE_FORKS_H

/* How many forks lie between the first call in an ancestor and this process.  Costs a load. */
unsigned forks_behind(void);

#endif
