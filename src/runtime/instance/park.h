/* SPDX-License-Identifier: MIT */
/* runtime/instance/park.h -- letters that cannot be delivered now. [engine] */
#ifndef PAWL_RUNTIME_PARK_H
#define PAWL_RUNTIME_PARK_H

#include "runtime/core/verdict.h"

/* The instance cannot go on with its code: park it (or fail it, by option). */
struct delivered turn_block(pawl_runtime *rt, struct resident *r, struct letter *l,
                            const struct engine_finding *finding);
/* No code here for its version: the letter waits as a row. */
struct delivered turn_codeless(pawl_runtime *rt, struct resident *r, struct letter *l);
/* "waits for code …", or why it is cancelled, by option. */
pawl_str turn_missing(pawl_runtime *rt, const pawl_row *row, pawl_str version);
/* Let a letter wait as a row until the instance can run. */
void turn_pile(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Make a letter a row first; it comes back when that is durable. */
void turn_store(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Undo what this instance did in this group: ALONE, with all its letters (l: NULL, or one more). */
struct delivered turn_again(pawl_runtime *rt, struct resident *r, struct letter *l);
/* Put the rows that wait for this instance into memory again; if they cannot be read, park_look()
 * tries again. */
void turn_unpile(pawl_runtime *rt, uint64_t uid);
/* The instance waits for code: it is looked at again when some is registered. */
void park_codeless(pawl_runtime *rt, uint64_t uid);
/* Read what could not be read; and if code was registered since, what waits for code. */
void park_look(pawl_runtime *rt);
void park_open(pawl_runtime *rt);
void park_close(pawl_runtime *rt);

/* Its letters come back, before any other of the next pass. */
void park_unpile(pawl_runtime *rt, uint64_t uid);

/* Is mail left that could not be read yet? */
static inline bool park_has_piled(const pawl_runtime *rt)
{
    return rt->mail.piled.count != 0;
}

#endif
