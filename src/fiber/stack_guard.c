/* SPDX-License-Identifier: MIT */
/*
 * fiber/stack_guard.c -- say whose stack overflowed before the process dies.
 *
 * A fault inside the guard of the stack this thread runs on is an overflow: one
 * line with the label, then the handler that was there before gets the fault
 * (the default one dumps core at the right place).  All other faults go there
 * directly.  The handler needs a stack of its own, the fiber's being full; a
 * thread that has an alternate stack already (a sanitizer's, a runtime's) keeps it.
 *
 * Everything on_fault() calls is async-signal-safe.
 */
#include "base/attr.h"
#include "fiber/fiber.h"
#include "fiber/stack.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALT_BYTES  ((size_t)64 * 1024)
#define TEXT_BYTES 512

struct guarded_stack {
    const char *guard;     /* NULL: no fiber runs */
    const char *guard_end; /* the bottom of the stack */
    const char *label;
    size_t bytes;
};

/* initial-exec: reading it in a signal handler must not allocate. */
static __thread struct guarded_stack watched __attribute__((tls_model("initial-exec")));

static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
static struct sigaction previous[COUNT_OF(fatal)];
static bool (*fault_hook)(int number, bool sent);
static pthread_key_t alt_key;
static pthread_once_t keyed = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static bool installed;
static unsigned holders;

static void make_key(void);
static void install(void);
static void on_fault(int number, siginfo_t *info, void *context);
static void pass_on(int number, siginfo_t *info, void *context);
static void say_overflow(void);
static void free_alt_stack(void *alt);

void guard_watch(const struct stack *stack, const char *label, size_t bytes)
{
    if (!stack) {
        watched.guard = NULL;
        return;
    }
    watched = (struct guarded_stack){
        .guard = stack->map, .guard_end = stack->bottom, .label = label, .bytes = bytes};
}

void fiber_guard_thread(void)
{
    stack_t now;

    pthread_once(&keyed, make_key);
    pthread_mutex_lock(&lock);
    if (!installed)
        install();
    pthread_mutex_unlock(&lock);
    assert_that(sigaltstack(NULL, &now) == 0);
    if (!(now.ss_flags & SS_DISABLE))
        return;
    void *alt = mmap(NULL, ALT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (alt == MAP_FAILED)
        return; /* an overflow dies without its line, that is all */
    stack_t ours = {.ss_sp = alt, .ss_size = ALT_BYTES};
    assert_that(sigaltstack(&ours, NULL) == 0);
    if (pthread_setspecific(alt_key, alt) != 0)
        free_alt_stack(alt);
}

void fiber_unguard_thread(void)
{
    pthread_once(&keyed, make_key);
    void *alt = pthread_getspecific(alt_key);
    if (alt && pthread_setspecific(alt_key, NULL) == 0)
        free_alt_stack(alt);
}

void fiber_on_fault(bool (*hook)(int number, bool sent))
{
    fault_hook = hook;
}

static void make_key(void)
{
    assert_that(pthread_key_create(&alt_key, free_alt_stack) == 0);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(fatal); i++)
        assert_that(sigaction(fatal[i], &action, &previous[i]) == 0);
    installed = true;
}

bool fiber_guard_has(int number)
{
    struct sigaction now;

    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == on_fault;
}

/* Where another handler came on top of ours, that one stays, and may call ours: it goes on. */
static void uninstall(void)
{
    bool all = true;

    for (size_t i = 0; i < COUNT_OF(fatal); i++) {
        bool ours = fiber_guard_has(fatal[i]);
        if (ours)
            (void)sigaction(fatal[i], &previous[i], NULL);
        all = all && ours;
    }
    installed = !all;
}

void fiber_guard_hold(void)
{
    pthread_mutex_lock(&lock);
    holders++;
    pthread_mutex_unlock(&lock);
}

void fiber_guard_release(void)
{
    pthread_mutex_lock(&lock);
    if (--holders == 0 && installed)
        uninstall();
    pthread_mutex_unlock(&lock);
}

static const struct sigaction *handler_before(int number)
{
    size_t i = 0;

    while (i + 1 < COUNT_OF(fatal) && fatal[i] != number)
        i++;
    return &previous[i];
}

static void free_alt_stack(void *alt)
{
    stack_t off = {.ss_flags = SS_DISABLE};

    (void)sigaltstack(&off, NULL); /* fails only on the stack itself, which is left by now */
    (void)munmap(alt, ALT_BYTES);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const char *address = info->si_addr;
    int saved = errno;
    bool sent = info->si_code <= 0; /* by kill(): si_addr means nothing */

    if (fault_hook && (!sent || info->si_pid == getpid()) && /* abort() is our own doing */
        fault_hook(number, sent)) {
        errno = saved;
        return;
    }
    if (number == SIGSEGV && !sent && watched.guard && address >= watched.guard &&
        address < watched.guard_end) {
        say_overflow();
        /* On return the same instruction faults again, for the handler before. */
        (void)sigaction(SIGSEGV, handler_before(SIGSEGV), NULL);
    } else {
        pass_on(number, info, context);
    }
    errno = saved;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = handler_before(number);

    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    } else if (info->si_code > 0 || before->sa_handler == SIG_DFL) {
        (void)sigaction(number, before, NULL);
        if (info->si_code <= 0)
            (void)raise(number); /* nothing faults again by itself */
    }
}

/* A line in a fixed buffer; snprintf is not async-signal-safe. */
struct text {
    size_t len;
    char bytes[TEXT_BYTES];
};

static void put(struct text *t, const char *s)
{
    while (*s && t->len < TEXT_BYTES)
        t->bytes[t->len++] = *s++;
}

static void put_number(struct text *t, size_t n)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    put(t, digits + at);
}

static void say_overflow(void)
{
    struct text t;

    t.len = 0;
    put(&t, "pawl: stack overflow in orchestration ");
    put(&t, watched.label ? watched.label : "(no name)");
    put(&t, " (stack ");
    put_number(&t, watched.bytes);
    put(&t, " bytes; raise stack_bytes at registration)\n");
    if (write(STDERR_FILENO, t.bytes, t.len) < 0)
        return;
}
