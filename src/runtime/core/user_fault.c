/* SPDX-License-Identifier: MIT */
/* runtime/core/user_fault.c -- see user_fault.h.  What runs in a handler is async-signal-safe. */
#include "runtime/core/user_fault.h"

#include "fiber/fiber.h"
#include "runtime/core/registry.h"
#include "runtime/core/site.h"
#include "runtime/core/slots.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_MAX 64
#define SITE_BYTES 200
#define LOOK_MS    2000

/* initial-exec: read in signal handlers. */
static __thread struct {
    const struct code_entry *code; /* a turn */
    const pawl_row *row;
    const struct job *job; /* an attempt */
} here __attribute__((tls_model("initial-exec")));

static pid_t owner; /* children of user code are none of our business */

/* The question of the watchdog. */
static struct {
    pthread_mutex_t lock; /* one asks at a time */
    pthread_t thread;
    atomic_int state; /* 0 nothing, 1 asked, 2 answered; stays 1 until the signal comes */
    char text[FAULT_TEXT];
} ask = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fault_turn(const struct code_entry *code, const pawl_row *row)
{
    here.code = code;
    here.row = row;
}

void fault_job(const struct job *job)
{
    here.job = job;
}

/* ---- A line in a fixed buffer ---------------------------------------------------------- */

struct line {
    size_t len;
    char bytes[FAULT_TEXT];
};

static void put(struct line *t, const char *text, size_t n)
{
    for (size_t i = 0; i < n && text[i] && t->len + 2 < sizeof(t->bytes); i++)
        t->bytes[t->len++] = (unsigned char)text[i] < ' ' ? '?' : text[i];
    t->bytes[t->len] = 0;
}

static void put_c(struct line *t, const char *text)
{
    put(t, text, strlen(text));
}

static void put_number(struct line *t, uint64_t n)
{
    char digits[24];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    put(t, digits + at, sizeof(digits) - at);
}

/* ---- Where it is ------------------------------------------------------------------------ */

static const void *object_of(void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* In the copy: the innermost frame in the object that holds the author's function. */
static void describe_site(void *fn, int to)
{
    void *frames[FRAMES_MAX];
    char text[SITE_BYTES] = "";
    int n = backtrace(frames, FRAMES_MAX), i = 0;
    const void *ours = object_of((void *)(uintptr_t)describe_site), *theirs = object_of(fn);
    while (i < n && object_of(frames[i]) != ours) /* a sanitizer's */
        i++;
    while (i < n && object_of(frames[i]) == ours) /* the handler's; then the system's come */
        i++;
    while (i < n && object_of(frames[i]) != theirs)
        i++;
    if (i < n)
        site_describe(frames[i], text, sizeof(text));
    _exit(write(to, text, strlen(text)) < 0);
}

/* The copy may block on a lock that was held: do not wait for it long. */
static void look_up(void *fn, char *to, size_t size)
{
    int fds[2];
    to[0] = 0;
    if (pipe(fds) != 0)
        return;
    pid_t pid = _Fork();
    if (pid == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)signal(SIGSEGV, SIG_DFL);
        describe_site(fn, fds[1]);
    }
    (void)close(fds[1]);
    struct pollfd p = {.fd = fds[0], .events = POLLIN};
    ssize_t n = pid > 0 && poll(&p, 1, LOOK_MS) == 1 ? read(fds[0], to, size - 1) : 0;
    to[n > 0 ? n : 0] = 0;
    (void)close(fds[0]);
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}

/* "orchestration 'Flow', instance 'i', execution 1, at f at order.c:41" */
static void put_what(struct line *t)
{
    char site[SITE_BYTES];
    pawl_str instance = here.job ? here.job->work.instance : here.row->id;
    const char *name = here.job ? here.job->work.name.ptr : here.code ? here.code->name : "?";
    void *fn = here.job    ? (void *)(uintptr_t)here.job->activity->fn
               : here.code ? (void *)(uintptr_t)here.code->fn
                           : NULL;
    put_c(t, here.job ? "activity '" : "orchestration '");
    put_c(t, name);
    put_c(t, "', instance '");
    put(t, instance.ptr, instance.len);
    put_c(t, "', execution ");
    put_number(t, here.job ? here.job->work.execution : here.row->execution);
    look_up(fn, site, sizeof(site));
    if (site[0]) {
        put_c(t, ", at ");
        put_c(t, site);
    }
}

/* ---- The end of the process ---------------------------------------------------------------- */

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV in ";
    case SIGBUS:
        return "SIGBUS in ";
    case SIGABRT:
        return "SIGABRT in ";
    case SIGFPE:
        return "SIGFPE in ";
    default:
        return "SIGILL in ";
    }
}

static void say(const char *how)
{
    struct line t = {0};
    put_c(&t, how);
    put_what(&t);
    slots_say(t.bytes);
    struct line out = {0};
    put_c(&out, "pawl: ");
    put_c(&out, t.bytes);
    out.bytes[out.len++] = '\n';
    if (write(STDERR_FILENO, out.bytes, out.len) < 0)
        return;
}

/* True: it was only a question. */
static bool on_fault(int number, bool sent)
{
    if (getpid() != owner)
        return false;
    if (sent && number == SIGABRT && atomic_load(&ask.state) == 1 &&
        pthread_equal(ask.thread, pthread_self())) {
        struct line t = {0};
        if (here.row)
            put_what(&t);
        memcpy(ask.text, t.bytes, sizeof(ask.text));
        atomic_store(&ask.state, 2);
        return true;
    }
    slots_fault();
    if (here.job || here.row)
        say(signal_name(number));
    return false;
}

static void on_exit_inside(void)
{
    if (getpid() != owner || (!here.job && !here.row))
        return;
    slots_fault();
    say("exit() inside ");
    _exit(FAULT_EXIT);
}

static void open_once(void)
{
    void *frame[1];
    (void)backtrace(frame, 1); /* loads what it needs now, not in a handler */
    (void)atexit(on_exit_inside);
}

void fault_open(const pawl_runtime *rt)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    owner = getpid();
    (void)pthread_once(&once, open_once);
    if (rt->opts.no_signals)
        return;
    fiber_on_fault(on_fault);
    fiber_guard_hold();
}

void fault_moved(void)
{
    owner = getpid();
}

void fault_close(const pawl_runtime *rt)
{
    if (!rt->opts.no_signals)
        fiber_guard_release();
}

void fault_ask(const pawl_runtime *rt, pthread_t thread, char *to, size_t size)
{
    to[0] = 0;
    if (rt->opts.no_signals || !fiber_guard_has(SIGABRT)) /* it would end the process */
        return;
    pthread_mutex_lock(&ask.lock);
    if (atomic_load(&ask.state) != 1) { /* else one is still on its way */
        ask.thread = thread;
        atomic_store(&ask.state, 1);
        if (pthread_kill(thread, SIGABRT) != 0)
            atomic_store(&ask.state, 0);
    }
    for (int i = 0; i < LOOK_MS / 10 + 100 && atomic_load(&ask.state) == 1; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (atomic_load(&ask.state) == 2)
        (void)snprintf(to, size, "%s", ask.text);
    pthread_mutex_unlock(&ask.lock);
}
