/* SPDX-License-Identifier: MIT */
/* runtime/instance/adopt.h -- mail kept for a name, until its instance is started. [engine] */
#ifndef PAWL_RUNTIME_ADOPT_H
#define PAWL_RUNTIME_ADOPT_H

#include "runtime/core/runtime.h"

/* Is mail for this id being kept by this very group?  Then the start waits for it. */
bool adopt_is_kept_now(const pawl_runtime *rt, pawl_str id);
/* Mail that was kept for the id of a new instance moves to it, whatever becomes of the start: later
 * events are younger.  What the start raises (`l`) comes behind it.  False: the store did not answer,
 * or no memory. */
bool adopt_mail(pawl_runtime *rt, struct resident *r, struct stage *s, struct letter *l);
/* Mail is kept for this id; false: out of memory. */
bool adopt_note(pawl_runtime *rt, pawl_str id);
/* Its instance has it, durably. */
void adopt_done(pawl_runtime *rt, pawl_str id);
void adopt_free(pawl_runtime *rt);
void adopt_open(pawl_runtime *rt);

#endif
