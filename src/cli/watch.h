/* SPDX-License-Identifier: MIT */
/*
 * cli/watch.h -- one place to wait: for a signal, a commit, or time.
 *
 * The engine's feed runs on its own thread and only notes the state and writes
 * to an eventfd; the verb's thread sleeps in poll().  SIGINT and SIGTERM are
 * blocked from watch_open() on, so that every thread made after it leaves them
 * to the signalfd; watch_close() gives them back, and a second Ctrl-C then ends
 * the process at once, which is as safe as the first.
 */
#ifndef PAWL_CLI_WATCH_H
#define PAWL_CLI_WATCH_H

#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>

struct watch {
    int signals; /* signalfd */
    int wake;    /* eventfd */
    int also;    /* of the caller: readable counts as a change; -1: none */
    sigset_t before;
    pawl_client *client; /* while following */
    uint64_t feed;
    pawl_str instance;  /* followed; empty: any */
    bool every_change;  /* wake for each commit of it, not only for an end */
    atomic_int state;   /* newest seen by the feed; -1: none yet */
    atomic_ulong count; /* changes seen */
};

enum watch_news {
    WATCH_TIME,   /* the time is over */
    WATCH_CHANGE, /* the followed instance changed (or ended) */
    WATCH_SIGNAL, /* asked to stop */
};

int watch_open(struct watch *w, const struct cli *cli); /* 0, or an exit status */
/* Before the session is closed; a followed client must be unfollowed first. */
void watch_close(struct watch *w);

int watch_follow(struct watch *w, const struct cli *cli, pawl_client *client, pawl_str instance,
                 bool every_change);
void watch_unfollow(struct watch *w);

/* Sleep until there is news; timeout_ms < 0 waits for ever.  *retsignal is set
 * with WATCH_SIGNAL. */
enum watch_news watch_next(struct watch *w, int64_t timeout_ms, int *retsignal);
/* True when the state is one that `run` has nothing more to wait for. */
bool watch_is_over(int state);

#endif
