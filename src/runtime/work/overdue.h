/* SPDX-License-Identifier: MIT */
/* runtime/work/overdue.h -- rows whose time is over. [engine] */
#ifndef PAWL_RUNTIME_OVERDUE_H
#define PAWL_RUNTIME_OVERDUE_H

#include "runtime/core/runtime.h"

/* Rows whose deadline has passed; attempts that ran too long or went silent. */
void overdue_look(pawl_runtime *rt);
/* The whole call took too long; no attempt began in time.  A job of it is withdrawn. */
void overdue_close(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p, bool running);
void overdue_start(pawl_runtime *rt, const pawl_work *w, const struct call_policy *p);

#endif
