/* SPDX-License-Identifier: MIT */
/*
 * bench/peers/phases.h -- the phases of `pawl bench queue`, said to another queue.
 *
 * push: one item after another on every connection.  pop and ack: the same, until the
 * queue is empty.  Driven by the loop that drives Pawl (src/cli/bench/wire.c), with the same
 * item; a peer only says what its protocol looks like.
 */
#ifndef PEERS_PHASES_H
#define PEERS_PHASES_H

#include "cli/bench/bench.h"
#include "cli/bench/wire.h"

#define HELD_BYTES 32

enum taken { TAKEN, TAKEN_NOTHING, TAKEN_REFUSED };

struct protocol {
    /* Write a request of connection `number`; its length. */
    size_t (*push)(uint32_t number, char *to);
    size_t (*pop)(uint32_t number, char *to);
    size_t (*ack)(uint32_t number, const char *held, char *to);
    size_t (*whole)(const char *in, size_t n); /* as in wire_plan */
    /* What an answer says; of a pop, `held` is filled in with what ack() needs. */
    enum taken (*judge)(pawl_str answer, bool popped, char held[HELD_BYTES]);
};

/* main(): NAME HOST PORT CONNECTIONS SECONDS; prints one JSON object. */
int phases_main(const struct protocol *p, int argc, char **argv);

#endif
