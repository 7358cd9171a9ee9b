/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/proc.c -- scratch directories, and children that may end badly.
 *
 * Children are forked, not executed: a test process has no threads and no open
 * database, so the child starts as clean as a new one.  They die with their
 * parent.
 */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD_BYTES 128

char scratch[200];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    (void)remove(path);
    return 0;
}

void scratch_drop(void)
{
    if (scratch[0])
        (void)nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    scratch[0] = 0;
}

/* kill -9 leaves what was written whether it was synced or not, so a sample may as
 * well run in memory; the full matrix runs on a disk. */
static const char *place(void)
{
    struct statvfs fs;
    if (getenv("TMPDIR"))
        return getenv("TMPDIR");
    bool roomy = statvfs("/dev/shm", &fs) == 0 && fs.f_bavail * fs.f_frsize > 1UL << 30;
    return roomy && access("/dev/shm", W_OK) == 0 && !full_matrix() ? "/dev/shm" : "/tmp";
}

void scratch_make(void)
{
    scratch_drop();
    (void)snprintf(scratch, sizeof(scratch), "%s/pawl-crash-XXXXXX", place());
    if (!mkdtemp(scratch))
        abort();
}

const char *in_scratch(const char *name)
{
    static __thread char paths[4][300];
    static __thread unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
    return path;
}

char *read_text(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size), *in = fopen(in_scratch(name), "re");
    for (int c; in && (c = getc(in)) != EOF;)
        putc(c, out);
    if (in)
        fclose(in);
    fclose(out);
    return text;
}

bool text_has(const char *name, const char *words)
{
    char *text = read_text(name);
    bool has = strstr(text, words) != NULL;
    free(text);
    return has;
}

void append_line(const char *name, const char *format, ...)
{
    char line[4096];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    if (n > (int)sizeof(line) - 2)
        n = sizeof(line) - 2;
    line[n] = '\n';
    int fd = open(in_scratch(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)n + 1) != n + 1)
        abort();
    close(fd);
}

void append_record(const char *name, const char *format, ...)
{
    char line[RECORD_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    append_line(name, "%-*s", RECORD_BYTES - 1, line);
}

/* ---- Children ------------------------------------------------------------------ */

pid_t child_start(int (*fn)(void *arg), void *arg)
{
    sigset_t all, before;
    fflush(NULL);
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before); /* until Check's handlers are gone */
    pid_t parent = getpid(), pid = fork();
    if (pid != 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int n = 1; n < 32; n++)
        (void)signal(n, SIG_DFL);
    sigemptyset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    if (getppid() != parent)
        _exit(99);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    int err = open(in_scratch("err"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (err < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(98);
    close(err);
    int status = fn(arg);
    fflush(NULL);
    _exit(status);
}

void nap_ms(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

static long long mono_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int child_wait(pid_t pid, int ms)
{
    long long end = mono_ms() + ms;
    int status;
    for (int i = 0;; i++) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            return status;
        if (got < 0 && errno != EINTR)
            abort();
        if (mono_ms() >= end)
            break;
        nap_ms(i < 20 ? 1 : 5);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return -1;
}

int child_run(int (*fn)(void *arg), void *arg, int ms)
{
    return child_wait(child_start(fn, arg), ms);
}

bool exited_with(int status, int code)
{
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

bool killed_by(int status, int signal_number)
{
    return status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == signal_number;
}

const char *status_words(int status)
{
    static char words[3000];
    char *err = read_text("err");
    size_t len = strlen(err);
    const char *tail = len > 2500 ? err + len - 2500 : err;
    if (status == -1)
        (void)snprintf(words, sizeof(words), "took too long: %s", tail);
    else if (WIFSIGNALED(status))
        (void)snprintf(words, sizeof(words), "signal %d: %s", WTERMSIG(status), tail);
    else
        (void)snprintf(words, sizeof(words), "exit %d: %s", WEXITSTATUS(status), tail);
    free(err);
    return words;
}

bool wait_for_words(const char *name, const char *words, int ms)
{
    for (long long end = mono_ms() + ms; !text_has(name, words); nap_ms(2))
        if (mono_ms() >= end)
            return false;
    return true;
}

bool full_matrix(void)
{
    const char *full = getenv("PAWL_CRASH_FULL");
    return full && full[0];
}
