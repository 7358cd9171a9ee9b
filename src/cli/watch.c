/* SPDX-License-Identifier: MIT */
/*
 * cli/watch.c -- one place to wait: for a signal, a commit, or time.
 */
#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

int watch_open(struct watch *w, const struct cli *cli)
{
    *w = (struct watch){.signals = -1, .wake = -1, .also = -1};
    atomic_init(&w->state, -1);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &w->before);
    w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->signals >= 0 && w->wake >= 0)
        return 0;
    int status = cli_fail(cli, EXIT_NO_STORE, "no file descriptor left: %s", strerror(errno));
    watch_close(w);
    return status;
}

void watch_close(struct watch *w)
{
    if (w->signals >= 0)
        close(w->signals);
    if (w->wake >= 0)
        close(w->wake);
    pthread_sigmask(SIG_SETMASK, &w->before, NULL);
}

bool watch_is_over(int state)
{
    return state == PAWL_BLOCKED || state == PAWL_SUSPENDED ||
           (state >= 0 && pawl_state_is_terminal((pawl_state)state));
}

/* On the engine thread. */
static void on_commit(void *arg, const pawl_change *changes, size_t count)
{
    struct watch *w = arg;
    for (size_t i = 0; i < count; i++) {
        if (changes[i].queue.len ||
            (w->instance.len && !pawl_str_eq(changes[i].instance, w->instance)))
            continue;
        atomic_store(&w->state, (int)changes[i].state);
        atomic_fetch_add(&w->count, 1);
        if (w->every_change || watch_is_over((int)changes[i].state)) {
            uint64_t one = 1;
            ssize_t n = write(w->wake, &one, sizeof(one));
            (void)n; /* full means it is awake already */
        }
    }
}

int watch_follow(struct watch *w, const struct cli *cli, pawl_client *client, pawl_str instance,
                 bool every_change)
{
    w->client = client;
    w->instance = instance;
    w->every_change = every_change;
    w->feed = pawl_client_feed(client, on_commit, w);
    return w->feed ? 0 : cli_fail(cli, EXIT_NO_STORE, "out of memory");
}

void watch_unfollow(struct watch *w)
{
    if (w->feed)
        pawl_client_unfeed(w->client, w->feed);
    w->feed = 0;
}

enum watch_news watch_next(struct watch *w, int64_t timeout_ms, int *retsignal)
{
    struct pollfd fds[] = {
        {.fd = w->signals, .events = POLLIN},
        {.fd = w->wake,    .events = POLLIN},
        {.fd = w->also,    .events = POLLIN}
    };
    int timeout = timeout_ms < 0 ? -1 : timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms;
    if (poll(fds, COUNT_OF(fds), timeout) <= 0)
        return WATCH_TIME;
    struct signalfd_siginfo info;
    if (fds[0].revents && read(w->signals, &info, sizeof(info)) == sizeof(info)) {
        *retsignal = (int)info.ssi_signo;
        return WATCH_SIGNAL;
    }
    uint64_t count;
    ssize_t n = read(w->wake, &count, sizeof(count));
    (void)n; /* only empties it */
    return WATCH_CHANGE;
}
