/* SPDX-License-Identifier: MIT */
/*
 * trial/sim.c -- pawl/sim.h: many seeds, one after another, each in a process of its
 * own, so that static variables of the code begin afresh, a seed does the same when it
 * is run alone, and a crash costs one seed.
 *
 * The first seed that fails ends it, so the one reported is the smallest.  It is then
 * run again with fewer faults, to find what it takes.
 */
#include "pawl/sim.h"

#include "base/arena.h"
#include "base/asan.h"
#include "base/attr.h"
#include "base/fit.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/core/site.h"
#include "trial/seed.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef HAVE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

#define SAID_BYTES 1200 /* of what a dying process said */

/* One call of pawl_sim(). */
struct sim_run {
    pawl_app *app;
    pawl_sim_opts opts;
    struct board *board; /* shared with the children */
    int said;            /* what they print goes here */
};

static const char *const problems[] = {"none",  "divergence", "hang",    "check", "leak",
                                       "crash", "loop",       "blocked", "lost"};

const char *pawl_sim_problem_name(pawl_sim_problem problem)
{
    return (size_t)problem < COUNT_OF(problems) ? problems[problem] : "unknown";
}

/* ---- For checks ------------------------------------------------------------------------------ */

static pawl_str name_of(const pawl_sim_look *look, const pawl_history_event *e)
{
    for (size_t i = 0; !e->name.len && e->ref && i < look->count; i++)
        if (look->events[i].ref == e->ref && look->events[i].name.len)
            return look->events[i].name;
    return e->name;
}

unsigned pawl_sim_count(const pawl_sim_look *look, const char *kind, const char *name)
{
    MUST_HAVE("a look", look);
    unsigned n = 0;
    for (size_t i = 0; i < look->count; i++)
        n += strcmp(look->events[i].kind, kind) == 0 &&
             (!name || pawl_str_is(name_of(look, &look->events[i]), name));
    return n;
}

/* ---- Children ---------------------------------------------------------------------------------- */

static void look_for_leaks(struct board *b)
{
#ifdef HAVE_ASAN
    if (!b->problem && __lsan_do_recoverable_leak_check())
        board_problem(b, PAWL_SIM_LEAK, pawl_s(""),
                      "memory was lost: what an orchestration owns across a wait must come from "
                      "pawl_alloc() or be freed by pawl_defer()");
#else
    (void)b;
#endif
}

/* ---- Where it died -------------------------------------------------------------------------------- */

static struct board *dying; /* of this process, for the handler */

/* Note the place and die of it.  Runs on the alternate stack that the fibers set up. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    const ucontext_t *c = context;
    (void)info;
#if defined(__x86_64__)
    dying->address = (void *)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    dying->address = (void *)c->uc_mcontext.pc;
#else
    (void)c;
#endif
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void note_deaths(struct board *b)
{
    /* AddressSanitizer says more about the others than we could. */
    static const int numbers[] = {SIGALRM,
#ifndef HAVE_ASAN
                                  SIGSEGV, SIGBUS, SIGFPE, SIGILL
#endif
    };
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    dying = b;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        (void)sigaction(numbers[i], &action, NULL);
}

NORETURN static void child(const struct sim_run *r, uint64_t seed, unsigned faults)
{
    pawl_sim_opts opts = r->opts;
    opts.faults = faults;
    (void)dup2(r->said, 1);
    (void)dup2(r->said, 2);
    note_deaths(r->board);
    (void)alarm(opts.seed_limit_s);
    seed_run(r->app, &opts, seed, r->board);
    look_for_leaks(r->board);
    _exit(0);
}

/* The beginning of what the child printed, on one line. */
static void read_said(const struct sim_run *r, char *to, size_t size)
{
    ssize_t n = pread(r->said, to, size - 1, 0);
    to[n > 0 ? n : 0] = 0;
    const char *remark = "may produce false positives in some cases!\n"; /* of ASan, on fibers */
    char *report = strstr(to, remark);
    if (report)
        memmove(to, report + strlen(remark), strlen(report + strlen(remark)) + 1);
    for (char *p = to; *p; p++)
        if (*p == '\n')
            *p = ' ';
}

static void died(const struct sim_run *r, int status)
{
    char said[SAID_BYTES], site[240] = "";
    read_said(r, said, sizeof(said));
    if (r->board->address)
        site_describe(r->board->address, site, sizeof(site));
    const char *in = site[0] ? " in " : "";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        board_problem(r->board, PAWL_SIM_LOOP, pawl_s(""),
                      "the code did not come to rest in %u seconds; last seen%s%s",
                      r->opts.seed_limit_s, site[0] ? in : " somewhere", site);
    else if (WIFSIGNALED(status))
        board_problem(r->board, PAWL_SIM_CRASHED, pawl_s(""), "the code crashed%s%s: %s%s%s", in,
                      site, strsignal(WTERMSIG(status)), said[0] ? ": " : "", said);
    else if (status != 0)
        board_problem(r->board, PAWL_SIM_CRASHED, pawl_s(""),
                      "the process ended with status %d: %s", WEXITSTATUS(status), said);
    else if (r->board->problem == PAWL_SIM_LEAK && said[0])
        (void)snprintf(r->board->text + strlen(r->board->text),
                       sizeof(r->board->text) - strlen(r->board->text), ": %s", said);
}

/* False when no process can be made. */
static bool run_seed(const struct sim_run *r, uint64_t seed, unsigned faults, pawl_error *err)
{
    int status = 0;
    board_clear(r->board);
    if (ftruncate(r->said, 0) != 0 || lseek(r->said, 0, SEEK_SET) != 0) {
        error_set(err, PAWL_UNAVAILABLE, "cannot use a temporary file: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        child(r, seed, faults);
    if (pid < 0) {
        error_set(err, PAWL_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
        return false;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    died(r, status);
    return true;
}

/* ---- Reports ------------------------------------------------------------------------------------ */

static void add_up(const struct board *b, pawl_sim_report *ret)
{
    ret->seeds++;
    ret->crashes += b->crashes;
    ret->events += b->events;
    ret->commits += b->commits;
    ret->virtual_ms += b->virtual_ms;
    if (b->problem)
        return;
    switch ((pawl_state)b->state) {
    case PAWL_COMPLETED:
        ret->completed++;
        break;
    case PAWL_FAILED:
        ret->failed++;
        break;
    case PAWL_CANCELLED:
        ret->cancelled++;
        break;
    case PAWL_PENDING:
    case PAWL_RUNNING:
    case PAWL_SUSPENDED:
    case PAWL_BLOCKED:
    case PAWL_CONTINUED_AS_NEW:
        ret->unfinished++;
        break;
    }
}

static void keep_failure(const struct board *b, unsigned faults, pawl_mem *mem,
                         pawl_sim_report *ret)
{
    ret->problem = (pawl_sim_problem)b->problem;
    ret->faults = faults;
    ret->instance = arena_dup(mem, pawl_s(b->instance));
    ret->text = arena_dup(mem, pawl_s(b->text));
    ret->line_count = board_lines(b, mem, &ret->lines);
    ret->cut = b->cut;
}

/* Does it fail in the same way with no fault, or with one? */
static bool shrink(const struct sim_run *r, uint64_t seed, pawl_mem *mem, pawl_sim_report *ret,
                   pawl_error *err)
{
    for (unsigned fault = 0; r->opts.faults && fault <= PAWL_SIM_CANCEL;
         fault = fault ? fault * 2 : 1) {
        if (fault && !(r->opts.faults & fault))
            continue;
        if (!run_seed(r, seed, fault, err))
            return false;
        if (r->board->problem == (int)ret->problem) {
            keep_failure(r->board, fault, mem, ret);
            return true;
        }
    }
    return true;
}

static pawl_status run_all(const struct sim_run *r, pawl_mem *mem, pawl_sim_report *ret,
                           pawl_error *err)
{
    for (uint64_t i = 0; i < r->opts.seeds; i++) {
        uint64_t seed = r->opts.first_seed + i;
        if (!run_seed(r, seed, r->opts.faults, err))
            return err->status;
        add_up(r->board, ret);
        if (r->opts.progress)
            r->opts.progress(r->opts.user, i + 1);
        if (!r->board->problem)
            continue;
        ret->seed = seed;
        keep_failure(r->board, r->opts.faults, mem, ret);
        return shrink(r, seed, mem, ret, err) ? PAWL_OK : err->status;
    }
    return PAWL_OK;
}

static pawl_status check_opts(pawl_app *app, const pawl_sim_opts *o, pawl_error *err)
{
    if (!app || !o || !o->orchestration) {
        error_set(err, PAWL_MISUSE, "pawl_sim() needs an app and an orchestration");
        return PAWL_MISUSE;
    }
    if (pawl_app_has_orchestration(app, o->orchestration, o->version))
        return PAWL_OK;
    error_set(err, PAWL_NOT_FOUND, "no loaded module has an orchestration '%s'%s%s",
              o->orchestration, o->version ? " version " : "", o->version ? o->version : "");
    return PAWL_NOT_FOUND;
}

pawl_status pawl_sim(pawl_app *app, const pawl_sim_opts *opts, pawl_mem *mem, pawl_sim_report *ret,
                     pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    struct sim_run r = {.app = app};
    if (!IS_THERE(mem && ret, "memory and room for the report", err) ||
        !OPTIONS_TAKE(&r.opts, opts, "pawl_sim_opts", err))
        return err->status;
    *ret = (pawl_sim_report){0};
    pawl_status rc = check_opts(app, &r.opts, err);
    if (rc != PAWL_OK)
        return rc;
    r.opts.seeds = r.opts.seeds ? r.opts.seeds : 1000;
    r.opts.first_seed = r.opts.first_seed ? r.opts.first_seed : 1;
    r.opts.horizon_ms = r.opts.horizon_ms ? r.opts.horizon_ms : PAWL_DAYS(3650);
    r.opts.max_steps = r.opts.max_steps ? r.opts.max_steps : 5000;
    r.opts.seed_limit_s = r.opts.seed_limit_s ? r.opts.seed_limit_s : 10;
    r.said = memfd_create("pawl-sim", MFD_CLOEXEC);
    void *shared =
        mmap(NULL, BOARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.said < 0 || shared == MAP_FAILED) {
        error_set(err, PAWL_NO_MEMORY, "no memory to simulate in: %s", strerror(errno));
        rc = PAWL_NO_MEMORY;
    } else {
        r.board = shared;
        rc = run_all(&r, mem, ret, err);
    }
    if (shared != MAP_FAILED)
        munmap(shared, BOARD_BYTES);
    if (r.said >= 0)
        close(r.said);
    return rc;
}

pawl_status pawl_sim_sized(pawl_app *app, const pawl_sim_opts *opts, pawl_mem *mem,
                           pawl_sim_report *ret, pawl_error *reterr, size_t size, size_t line_size)
{
    pawl_sim_report own = {0};
    pawl_status rc = pawl_sim(app, opts, mem, ret ? &own : NULL, reterr);
    own.lines = FIT_ITEMS(mem, own.lines, own.line_count, line_size);
    if (ret)
        fit_struct(ret, size, &own, sizeof(own));
    return rc;
}
