/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/embed.c -- see embed.h.
 *
 * Walk: inbox_post() and inbox_wake() tell, once, until a step has begun; the
 * step takes the telling back before it looks at the inbox, so that what comes
 * during it is told again.  Invariant, under rt->inbox.lock: the descriptor is readable
 * exactly while step_told is set.
 */
#include "runtime/core/embed.h"

#include "base/misuse.h"
#include "runtime/core/here.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

static bool is_stepped(const pawl_runtime *rt)
{
    return !here_has_threads(rt) && !rt->opts.read_only;
}

/* Never 0, 1 or 2: a program that closed those does not expect this one there. */
static int make_fd(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return higher;
}

int pawl_runtime_fd(pawl_runtime *rt)
{
    MUST_HAVE("a runtime", rt);
    if (!is_stepped(rt))
        return -1;
    pthread_mutex_lock(&rt->inbox.lock);
    if (!rt->inbox.step_fd) {
        int fd = make_fd();
        rt->inbox.step_fd = fd > 0 ? fd : 0;
        embed_tell_locked(rt); /* what came before was not reported yet */
    }
    int fd = rt->inbox.step_fd ? rt->inbox.step_fd : -1;
    pthread_mutex_unlock(&rt->inbox.lock);
    return fd;
}

void embed_tell_locked(pawl_runtime *rt)
{
    if (!rt->inbox.step_fd || rt->inbox.step_told)
        return;
    while (eventfd_write(rt->inbox.step_fd, 1) != 0 && errno == EINTR)
        ;
    rt->inbox.step_told = true;
}

void embed_heard(pawl_runtime *rt)
{
    eventfd_t ignored;
    if (!rt->inbox.step_fd)
        return;
    pthread_mutex_lock(&rt->inbox.lock);
    while (rt->inbox.step_told && eventfd_read(rt->inbox.step_fd, &ignored) != 0 && errno == EINTR)
        ;
    rt->inbox.step_told = false;
    pthread_mutex_unlock(&rt->inbox.lock);
}

void embed_close(pawl_runtime *rt)
{
    if (rt->inbox.step_fd)
        close(rt->inbox.step_fd);
    rt->inbox.step_fd = 0;
}
