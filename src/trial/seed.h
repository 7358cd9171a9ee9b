/* SPDX-License-Identifier: MIT */
/*
 * trial/seed.h -- one seed: one life of an instance among faults, in this process.
 *
 * What is found goes to a board that another process may read: the one that runs the
 * seed may die of the code it runs.
 */
#ifndef PAWL_TRIAL_SEED_H
#define PAWL_TRIAL_SEED_H

#include "pawl/sim.h"

#define BOARD_BYTES (8 << 20)
#define LINE_DATA   160 /* bytes of a payload that are kept */

/* Shared memory between the process of a seed and the one that started it. */
struct board {
    int problem; /* pawl_sim_problem */
    char instance[520];
    char text[2000];
    int state; /* of the instance the seed began with: a pawl_state */
    uint64_t crashes, events, commits;
    int64_t virtual_ms;
    void *address; /* where it died; NULL: unknown */
    bool cut;
    size_t used; /* bytes of lines */
    char lines[];
};

#define BOARD_ROOM (BOARD_BYTES - sizeof(struct board))

/* Run it; the board has been cleared. */
void seed_run(pawl_app *app, const pawl_sim_opts *opts, uint64_t seed, struct board *board);

/* board.c */
void board_clear(struct board *b);
void board_line(struct board *b, const pawl_sim_line *line);
/* All lines, in `mem`. */
size_t board_lines(const struct board *b, pawl_mem *mem, const pawl_sim_line **ret);
/* The first problem wins. */
void board_problem(struct board *b, pawl_sim_problem problem, pawl_str instance, const char *format,
                   ...) PAWL_PRINTF(4, 5);

#endif
