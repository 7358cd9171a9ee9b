/* SPDX-License-Identifier: MIT */
/*
 * tests/vfs/test_alloc.c -- the n-th allocation of every story fails, n = 1, 2, 3 …
 *
 *     test_alloc [--full] [--seed N] [--seconds N] [--summary FILE] [WORD]
 *
 * malloc is ours, for SQLite too.  At an allocation the process forks; in the child it
 * and perhaps the next ones return NULL, and the story goes on.  Two ends are right:
 *
 *   - somebody is told and tries again, or nobody notices; the story ends as it should,
 *     and everything that was allocated is given back;
 *   - the process aborts with a line that says so; what it left on its disk is opened
 *     by the next one, where the story ends as it should.
 *
 * A crash of any other kind, a leak, or another story is a failure.
 */
#include "run.h"
#include "world.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOR_LONG    25 /* allocations in a row */
#define IMAGE_BYTES ((size_t)64 << 20)
#define LIVE_SLOTS  ((size_t)1 << 18)

/* Of a child that aborted. */
struct left_behind {
    bool aborted;
    size_t at;
    int64_t now, mono;
    char lock[64];
    size_t len;
    char image[];
};

static struct {
    struct world w;
    const struct run *run;
    struct left_behind *behind; /* shared */
    struct buf expected;
    int errors; /* where children write stderr */
    uint32_t point;
    bool armed, child;
    int left; /* so many still fail */
    long live_at_rest;
    struct run_totals totals;
    char where[160];
} t;

#define fail(...) run_fail("alloc", t.where, &t.totals, __VA_ARGS__)

/* ---- malloc -------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__ /* its heap, as it is below ours */
#define __libc_malloc  __interceptor_malloc
#define __libc_calloc  __interceptor_calloc
#define __libc_realloc __interceptor_realloc
#define __libc_free    __interceptor_free
#endif
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);
extern void __libc_free(void *at);
extern char __executable_start, etext;

/* Blocks our own code has, by address. */
static void *live[LIVE_SLOTS];
static void *live_from[LIVE_SLOTS];
static long live_count;
static bool counting;

static size_t slot_of(const void *at)
{
    size_t i = ((uintptr_t)at >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    for (i %= LIVE_SLOTS; live[i] && live[i] != at; i = (i + 1) % LIVE_SLOTS)
        ;
    return i;
}

static void *note(void *at, void *caller)
{
    const char *from = caller;
    if (counting && at && !disk_is_inside() && from >= &__executable_start && from < &etext &&
        live_count < (long)LIVE_SLOTS / 2) {
        size_t i = slot_of(at);
        live_count += !live[i];
        live[i] = at;
        live_from[i] = caller;
    }
    return at;
}

/* Later entries of the same run move up, or they would not be found. */
static void unnote(void *at)
{
    size_t i = at ? slot_of(at) : 0;
    if (!at || !live[i])
        return;
    live[i] = NULL;
    live_count--;
    for (size_t k = (i + 1) % LIVE_SLOTS; live[k]; k = (k + 1) % LIVE_SLOTS) {
        void *moved = live[k];
        live[k] = NULL;
        size_t to = slot_of(moved);
        live[to] = moved;
        live_from[to] = live_from[k];
    }
}

static bool fails(void);

void *malloc(size_t n)
{
    return fails() ? NULL : note(__libc_malloc(n), __builtin_return_address(0));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : note(__libc_calloc(n, size), __builtin_return_address(0));
}

void *realloc(void *at, size_t n)
{
    if (fails())
        return NULL;
    unnote(at);
    return note(__libc_realloc(at, n), __builtin_return_address(0));
}

void free(void *at)
{
    unnote(at);
    __libc_free(at);
}

/* ---- In the child --------------------------------------------------------------------- */

/* The process gives up: what it leaves on its disk goes to the parent. */
static void on_abort(int sig)
{
    (void)sig;
    t.armed = false;
    t.left = 0;
    struct left_behind *b = t.behind;
    size_t len;
    void *image = disk_save(false, &len);
    if (len > IMAGE_BYTES)
        _exit(2);
    memcpy(b->image, image, len);
    b->len = len;
    b->at = t.w.at;
    b->now = t.w.now;
    b->mono = t.w.mono;
    memcpy(b->lock, t.w.lock, sizeof(b->lock));
    b->aborted = true;
    fflush(NULL);
    _exit(1);
}

static void leaves_the_same(bool crashed)
{
    struct buf left;
    struct sight s;
    buf_init(&left, 1 << 20);
    look(&s, true);
    look_at_end(t.w.story, &left);
    if (s.trouble[0])
        fail("%s", s.trouble);
    else if (!t.w.story->loose && !(crashed && t.w.story->flaky) &&
             strcmp(buf_slice(&left).ptr, buf_slice(&t.expected).ptr) != 0)
        fail("it left something else\n--- got\n%s--- expected\n%s", buf_slice(&left).ptr,
             buf_slice(&t.expected).ptr);
    buf_deinit(&left);
}

/* For whoever asked for this point: who allocated what is left. */
static void show_live(void)
{
    fflush(NULL);
    for (size_t i = 0; i < LIVE_SLOTS && t.run->word[0]; i++)
        if (live[i])
            backtrace_symbols_fd(&live_from[i], 1, STDOUT_FILENO);
}

static void end_child(bool told)
{
    t.left = 0;
    if (!told) {
        fail("%s", t.w.trouble);
    } else {
        world_close(&t.w);
        if (!t.w.abandoned && live_count > t.live_at_rest) {
            fail("%ld blocks were not given back", live_count - t.live_at_rest);
            show_live();
        }
        leaves_the_same(false);
    }
    fflush(NULL);
    _exit(t.totals.failed ? 3 : 0);
}

/* The next process finds the disk of the one that aborted. */
static void recover(void)
{
    struct left_behind *b = t.behind;
    disk_hook = NULL;
    alarm(60);
    t.totals = (struct run_totals){0};
    disk_format();
    disk_lose_process();
    disk_load(b->image, b->len);
    t.w.at = b->at;
    t.w.now = b->now;
    t.w.mono = b->mono;
    memcpy(t.w.lock, b->lock, sizeof(b->lock));
    t.w.rt = NULL;
    t.w.app = NULL;
    t.w.again = true;
    bool told = world_tell(&t.w);
    if (!told)
        fail("after the abort: %s", t.w.trouble);
    world_close(&t.w);
    if (told)
        leaves_the_same(true);
    fflush(NULL);
    _exit(t.totals.failed ? 3 : 0);
}

/* ---- In the parent ------------------------------------------------------------------------ */

static bool said_why(char line[200])
{
    ssize_t n = pread(t.errors, line, 199, 0);
    line[n > 0 ? n : 0] = 0;
    char *end = strchr(line, '\n');
    if (end)
        *end = 0;
    return strstr(line, "memory") != NULL;
}

/* The next process is no child of this one, which may be in the middle of somebody's code: it is
 * forked by a midwife that was at rest when she was. */
static struct {
    pid_t pid;
    int to, from; /* pipes: t.where to her, a status back */
} midwife;

static void attend(int requests, int answers)
{
    while (read(requests, t.where, sizeof(t.where)) == (ssize_t)sizeof(t.where)) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0)
            recover();
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            status = -1;
        if (write(answers, &status, sizeof(status)) != (ssize_t)sizeof(status))
            break;
    }
    _exit(0);
}

static void midwife_call(void)
{
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        abort();
    fflush(NULL);
    midwife.pid = fork();
    if (midwife.pid == 0) {
        (void)close(to[1]);
        attend(to[0], from[1]);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    midwife.to = to[1];
    midwife.from = from[0];
}

static void midwife_dismiss(void)
{
    (void)close(midwife.to);
    (void)close(midwife.from);
    (void)waitpid(midwife.pid, NULL, 0);
}

static int in_recovery(void)
{
    int status = -1;
    fflush(NULL);
    if (write(midwife.to, t.where, sizeof(t.where)) != (ssize_t)sizeof(t.where) ||
        read(midwife.from, &status, sizeof(status)) != (ssize_t)sizeof(status))
        return -1;
    return status;
}

static void judge(int status)
{
    char line[200];
    if (status == 0) {
        t.totals.passed++;
    } else if (WIFSIGNALED(status)) {
        fail("killed by signal %d", WTERMSIG(status));
    } else if (!t.behind->aborted) {
        t.totals.failed++;
    } else if (!said_why(line)) {
        fail("aborted without saying that memory ran out: %s", line);
    } else if (in_recovery() != 0) {
        t.totals.failed++;
    } else {
        t.totals.passed++;
        t.totals.aborted++;
    }
}

static void become_child(int times)
{
    (void)dup2(t.errors, STDERR_FILENO);
    if (ftruncate(t.errors, 0) != 0)
        _exit(2);
    (void)lseek(t.errors, 0, SEEK_SET);
    alarm(60);
    (void)signal(SIGABRT, on_abort);
    t.totals = (struct run_totals){0};
    t.child = true;
    t.left = times;
    t.w.again = t.w.disturbed = true;
}

/* True in the child. */
static bool forks(int times)
{
    int status = -1;
    (void)snprintf(t.where, sizeof(t.where), "%s.%u.%s", t.w.story->name, t.point,
                   times > 1 ? "long" : "once");
    if (!run_wants(t.run, t.where))
        return false;
    fflush(NULL);
    t.behind->aborted = false;
    t.armed = false; /* fork and stdio may allocate */
    pid_t pid = fork();
    if (pid == 0) {
        become_child(times);
        return true;
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        status = -1;
    judge(status);
    t.armed = true;
    return false;
}

/* Where it failed, for whoever asked for this point. */
static void show_place(void)
{
    void *frames[24];
    if (t.run->word[0]) {
        fflush(NULL);
        backtrace_symbols_fd(frames, backtrace(frames, 24), STDOUT_FILENO);
    }
}

static bool fails(void)
{
    if (disk_is_inside())
        return false;
    if (t.child)
        return t.left > 0 && t.left--;
    if (!t.armed || run_is_over(t.run))
        return false;
    uint32_t every = t.run->word[0] ? 1 : t.run->full ? 1 : 5;
    if ((++t.point + t.run->seed * 7) % every)
        return false;
    if (!forks(1) && !forks(FOR_LONG))
        return false;
    show_place();
    return t.left-- > 0;
}

/* ---- A story --------------------------------------------------------------------------------- */

/* Twice: what a library keeps for ever it has after the first time. */
static void tell_calmly(const struct story *story)
{
    for (int i = 0; i < 2; i++) {
        buf_reset(&t.expected);
        disk_format();
        world_init(&t.w, story);
        counting = true;
        if (!world_tell(&t.w))
            fail("undisturbed: %s", t.w.trouble);
        world_close(&t.w);
        t.live_at_rest = live_count;
        look_at_end(t.w.story, &t.expected);
    }
}

static struct run_totals run_story(const struct run *run, const struct story *story, bool opening)
{
    t.run = run;
    t.errors = memfd_create("errors", MFD_CLOEXEC);
    t.behind = mmap(NULL, sizeof(*t.behind) + IMAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t.errors < 0 || t.behind == MAP_FAILED)
        abort();
    (void)snprintf(t.where, sizeof(t.where), "%s.calm", story->name);
    buf_init(&t.expected, 1 << 20);
    disk_vfs_install();
    tell_calmly(story);
    disk_format();
    world_init(&t.w, story);
    midwife_call();
    t.armed = opening;
    (void)world_up(&t.w);
    t.armed = !t.child;
    bool told = world_tell(&t.w);
    if (t.child)
        end_child(told);
    t.armed = false;
    midwife_dismiss();
    if (!told)
        fail("undisturbed: %s", t.w.trouble);
    t.totals.points = (int)t.point;
    return t.totals;
}

int main(int argc, char **argv)
{
    struct run run;
    run_options(&run, argc, argv);
    struct run_totals sum = run_all(&run, run_story);
    return run_sum_up(&run, "test_alloc", "allocation points", &sum);
}
