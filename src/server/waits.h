/* SPDX-License-Identifier: MIT */
/*
 * server/waits.h -- who is waited for, and what is tried again and again.
 *
 * No row and no counter says what an instance waits for: its history does.  So the newest
 * WAITS_LOOKED running instances are looked at, within WAITS_MS of CPU and WAITS_LONGEST_MS; among
 * many that ended they are not always found in that time.  It is the one dear part of an overview,
 * and overview.c makes it seldom, in proportion to what it cost.
 */
#ifndef PAWL_SERVER_WAITS_H
#define PAWL_SERVER_WAITS_H

#include "pawl.h"

#define WAITS_LOOKED     200
#define WAITS_MS         20
#define WAITS_LONGEST_MS 100

/* An object: looked (null: all that run), events, activities, problems.  False: *reterr says why.
 * What it cost: CPU of this thread. */
bool waits_write(pawl_client *client, pawl_mem *mem, pawl_json *w, int64_t *retcost_us,
                 pawl_error *reterr);

#endif
