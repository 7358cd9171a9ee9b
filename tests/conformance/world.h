/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/world.h -- what the differential test knows, and the random
 * rounds it makes up.
 *
 * Rounds are such as an engine could make (see the notes in test_differential.c),
 * now and then spoilt in one of the ways of clause C3.  The same seed gives the
 * same rounds, whatever the stores answer alike.
 */
#ifndef PAWL_TESTS_WORLD_H
#define PAWL_TESTS_WORLD_H

#include "base/buf.h"
#include "pawl/conformance.h"

#define INSTANCES_MAX 12
#define RECENT        256 /* message ids remembered */
#define WORK_MAX      64  /* live work rows */

struct job {
    uint64_t id, uid;
};

struct world {
    uint64_t random;
    const uint8_t *bytes; /* draws come from these instead; NULL: from `random` */
    size_t left;
    bool weak; /* the other store lacks rounds or delays: K2 and K4 instead of C3 and M3 */
    int64_t now;
    const char *names[2];
    pawl_conformance_factory factories[2];
    pawl_store *stores[2];
    pawl_fence fences[2];
    uint64_t next_id;
    uint64_t uids[INSTANCES_MAX];
    size_t uid_count;
    uint64_t messages[RECENT];
    struct job jobs[WORK_MAX], timers[WORK_MAX]; /* rows with the id of an event of uid */
    size_t job_count, timer_count;
    unsigned name_no;
    pawl_mem *mem;
    struct buf out[2];
    bool failed;
};

/* A round and room for its parts. */
struct plan {
    pawl_round round;
    pawl_row row;
    pawl_event events[8];
    pawl_message messages[8];
    pawl_work work[8];
    uint64_t drop_messages[WORK_MAX + 4], drop_work[WORK_MAX + 4], need_work[2];
    pawl_message_update message_updates[4];
    pawl_work_update work_updates[4];
    pawl_quarantine quarantine[2];
    pawl_str keys[2];
    pawl_object objects[3];
    pawl_round_extra extra;
};

uint64_t world_draw(struct world *w, uint64_t below);
bool world_chance(struct world *w, uint64_t percent);
pawl_str world_activity(struct world *w);
uint64_t world_message(struct world *w); /* an id, mostly of a message that was there */
uint64_t world_job(struct world *w);     /* the same for work */
/* Make up a round; it points into the plan. */
void world_plan(struct world *w, struct plan *p);

#endif
