/* SPDX-License-Identifier: MIT */
/*
 * tools/gentle.c -- lets `make run` end with status 0 when it is told to stop.
 *
 * GNU make always dies of the signal it gets, even when what it runs has ended
 * well.  Loaded into make (the `load` directive, for the goal `run` only), this
 * passes SIGINT, SIGTERM and SIGHUP on to the running recipe instead and lets its
 * status count.  A make without `load` goes on as ever: 130 or 143.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

int plugin_is_GPL_compatible; /* make asks for this name */

int gentle_gmk_setup(void);

/* Only calls that a signal handler may make. */
static void pass_on(int number)
{
    int why = errno;
    char text[1024];
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
    pid_t child = 0;
    for (ssize_t i = 0; i < n; i++) { /* "123 456 " */
        if (text[i] >= '0' && text[i] <= '9') {
            child = child * 10 + (text[i] - '0');
        } else {
            if (child > 0)
                (void)kill(child, number);
            child = 0;
        }
    }
    if (fd >= 0)
        (void)close(fd);
    errno = why;
}

int gentle_gmk_setup(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction had;
        if (sigaction(numbers[i], NULL, &had) == 0 && had.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &act, NULL);
    }
    return 1;
}
