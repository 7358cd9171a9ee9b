/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/child.h -- run something in a forked child and see how it ends.
 *
 * For what must stop the process, and for what is written to stderr.
 */
#ifndef PAWL_TESTS_CHILD_H
#define PAWL_TESTS_CHILD_H

#include "../harness.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct child_end {
    int signal; /* 0: it ended by itself */
    int status;
    size_t len;
    char text[6000]; /* its stderr, NUL-terminated */
};

static inline void run_child(void (*fn)(void *arg), void *arg, struct child_end *ret)
{
    int ends[2], status;

    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        fn(arg);
        _exit(0);
    }
    close(ends[1]);
    *ret = (struct child_end){0};
    for (ssize_t n; (n = read(ends[0], ret->text + ret->len, sizeof ret->text - 1 - ret->len)) > 0;)
        ret->len += (size_t)n;
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* It must abort, and say `words` on stderr. */
static inline void must_abort(void (*fn)(void *arg), void *arg, const char *words)
{
    struct child_end end;

    run_child(fn, arg, &end);
    ck_assert_int_eq(end.signal, SIGABRT);
    ck_assert_msg(strstr(end.text, words), "stderr has no \"%s\": %s", words, end.text);
}

#endif
