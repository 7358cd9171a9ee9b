/* SPDX-License-Identifier: MIT */
/*
 * tests/postgres/chains.h -- instances that take steps on a store, and a ledger of what must be there.
 *
 * A step of all of them is one commit, as of an engine: each completes its activity, schedules the
 * next, and gets a message instead of the one before.  What a commit, and outcome() after a doubt,
 * said is compared with the server at once, over a connection that no test harms.
 */
#ifndef PAWL_TESTS_CHAINS_H
#define PAWL_TESTS_CHAINS_H

#include "../scratch.h"
#include "pawl/provider.h"

#define CHAINS_MAX 32

struct chain {
    pawl_row row;
    uint64_t work, message; /* that must exist */
    char id[24];
};

struct chains {
    pawl_store *store;
    const char *schema;
    pawl_fence fence;
    uint32_t shard; /* of all of them */
    struct chain all[CHAINS_MAX];
    int count;    /* of them; 4 after chains_begin */
    bool no_mail; /* steps without messages */
    bool ending;  /* the next step is the last of these instances */
    int started;  /* instances so far */
    pawl_mem *mem;
    uint64_t steps;                              /* commits */
    uint64_t events;                             /* that must be there */
    int unknown, committed, not_committed;       /* doubts, and what became of them */
    int refused;                                 /* commits that the store said did not happen */
    int wrong;                                   /* verdicts that are not what the server has */
    pawl_error error;                            /* of the last call that failed */
    void (*in_doubt)(void *user, bool answered); /* before and after outcome(); NULL: nothing */
    void *user;
};

/* Open the store, own it, and start the instances. */
void chains_begin(struct chains *c, const struct scratch *schema, const char *url);
/* The same as a lane beside others, with this shard. */
void chains_join(struct chains *c, const struct scratch *schema, const char *url, uint32_t shard);
/* Others instead of these, not started yet: the next step starts them. */
void chains_renew(struct chains *c, int count);
/* One step of all, repeated until it is committed.  Anything but PAWL_OK: the owner is another. */
pawl_status chains_step(struct chains *c);
/* One try: OK, or the status of a commit that did not happen. */
pawl_status chains_try(struct chains *c);
/* Everything is there exactly once, nothing else is, and no verdict was wrong. */
void chains_check(struct chains *c);
void chains_end(struct chains *c);

#endif
