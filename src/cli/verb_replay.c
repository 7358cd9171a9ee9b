/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_replay.c -- export: a history as a file; replay: code against it, event
 * by event; --gdb: a debugger where the code waits.
 *
 * The code runs in a child process.  With --gdb the child stops on the stack of the
 * orchestration and this process becomes the debugger: it is the child's parent,
 * so it may attach, and the child ends with it.
 */
#include "cli/load_history.h"
#include "cli/out.h"
#include "view/render.h"
#include "view/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GDB_WORDS 64

/* One replay while it is printed.  It lives in the child process. */
struct replay_report {
    struct cli *cli;
    int64_t first_ms;
    int stop_fd; /* --gdb: says where the code stopped; -1: do not stop */
    struct sites sites;
};

/* ---- export --------------------------------------------------------------------------- */

int verb_export(struct cli *cli)
{
    struct session session;
    struct loaded_history h;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    status = history_read(cli, &session, cli->words[0], cli->args.execution, cli->mem, &h);
    if (!status)
        history_write(cli, &h);
    session_close(&session);
    return status;
}

/* ---- Printing -------------------------------------------------------------------------- */

static const char *site_of(struct replay_report *t, void *address)
{
    return sites_text(&t->sites, t->cli->mem, address);
}

static void tell_line(struct replay_report *t, const pawl_history_event *e, const char *site)
{
    char text[UNITS_BYTES], ref[32] = "";
    if (!t->first_ms)
        t->first_ms = e->at_ms;
    if (e->ref)
        (void)snprintf(ref, sizeof(ref), "%llu", (unsigned long long)e->ref);
    out_line("%5llu  +%-9s %-28s %4s  %-20s %s%s%s", (unsigned long long)e->seq,
             format_duration(text, e->at_ms - t->first_ms),
             out_clean(t->cli->mem, pawl_s(e->kind)).ptr, ref, out_clean(t->cli->mem, e->name).ptr,
             site[0] ? out_begin(t->cli, stdout, TONE_DIM) : "", site,
             site[0] ? out_end(t->cli, stdout) : "");
}

static void tell_event(struct replay_report *t, const pawl_history_event *e, void *address)
{
    const char *site = site_of(t, address);
    if (t->cli->args.output == OUTPUT_TABLE) {
        tell_line(t, e, site);
    } else if (t->cli->args.output == OUTPUT_JSONL) {
        pawl_json *w = pawl_json_new(t->cli->mem);
        pawl_json_object(w);
        pawl_json_key(w, "event");
        render_event(w, t->cli->mem, e);
        render_text(w, "site", pawl_s(site));
        pawl_json_end(w);
        out_json(t->cli, w);
    } else if (t->cli->args.output == OUTPUT_IDS) {
        printf("%llu\n", (unsigned long long)e->seq);
    }
    fflush(stdout); /* the next line of the code may be its last */
}

/* Tell where a debugger finds this process.  It never returns: the debugger ends this process. */
NORETURN static void pawl_stopped_for_the_debugger(int fd, const char *site)
{
    char text[240];
    (void)snprintf(text, sizeof(text), "%s", site);
    ssize_t sent = write(fd, text, sizeof(text));
    (void)sent;
    for (;;)
        pause();
}

static void step(void *user, const pawl_replay_step *s)
{
    struct replay_report *t = user;
    if (s->what == PAWL_REPLAY_EVENT)
        tell_event(t, s->event, s->site);
    else if (t->stop_fd >= 0)
        pawl_stopped_for_the_debugger(t->stop_fd, site_of(t, s->site));
    else if (s->what == PAWL_REPLAY_WAIT && t->cli->args.output == OUTPUT_TABLE)
        printf("%s%5s  %-10s waits%s %s\n", out_begin(t->cli, stdout, TONE_BOLD), "", "",
               out_end(t->cli, stdout), site_of(t, s->site));
    fflush(stdout);
}

static int conclude(struct cli *cli, const struct loaded_history *h, const pawl_replay_report *r)
{
    bool fits = r->outcome == PAWL_REPLAY_WAITS || r->outcome == PAWL_REPLAY_ENDED;
    if (cli->args.output == OUTPUT_JSON || cli->args.output == OUTPUT_JSONL) {
        char site[240] = "";
        if (!fits || r->outcome == PAWL_REPLAY_WAITS)
            pawl_replay_site(r->address, site, sizeof(site));
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        render_text(w, "instance", h->info.instance);
        pawl_json_key(w, "outcome");
        pawl_json_cstr(w, pawl_replay_outcome_name(r->outcome));
        pawl_json_key(w, "events");
        pawl_json_num(w, (int64_t)r->events);
        render_number(w, "seq", (int64_t)r->seq);
        render_text(w, "recorded", pawl_s(r->recorded));
        render_text(w, "attempted", pawl_s(r->attempted));
        render_text(w, "site", pawl_s(site));
        render_text(w, "text", pawl_s(r->text));
        pawl_json_end(w);
        out_json(cli, w);
    } else if (fits && cli->args.output == OUTPUT_TABLE) {
        printf("all %llu events fit; the code %s\n", (unsigned long long)r->events,
               r->outcome == PAWL_REPLAY_WAITS ? "waits" : "has ended");
    }
    if (fits)
        return EXIT_OK;
    return cli_fail(cli, EXIT_FAILED, "%s%s%s", r->text, r->site[0] ? "; called from " : "",
                    r->site);
}

/* ---- Where it comes from --------------------------------------------------------------- */

static int find_history(struct cli *cli, struct loaded_history *h)
{
    const char *what = cli->words[0];
    struct session session;
    if (strcmp(what, "-") == 0 || access(what, R_OK) == 0)
        return history_from_file(cli, what, h);
    size_t len = strlen(what);
    if (strchr(what, '/') || (len > 5 && strcmp(what + len - 5, ".json") == 0))
        return cli_fail(cli, EXIT_USAGE, "cannot read '%s': %s", what, strerror(errno));
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    status = history_read(cli, &session, what, cli->args.execution, cli->mem, h);
    session_close(&session);
    return status;
}

/* ---- The debugger ---------------------------------------------------------------------- */

/* A command line that is being built. */
struct words {
    const char *items[GDB_WORDS + 1];
    size_t count;
};

static void add_word(struct words *w, const char *word)
{
    if (w->count < GDB_WORDS)
        w->items[w->count++] = word;
}

static void add_command(struct words *w, pawl_str command)
{
    if (w->count + 2 <= GDB_WORDS) {
        add_word(w, "-ex");
        add_word(w, command.ptr);
    }
}

/* The environment variable GDB (default "gdb -q"), split at spaces, then what we add. */
static int become_gdb(struct cli *cli, pid_t pid, const char *site)
{
    struct words w = {.count = 0};
    const char *at = getenv("GDB"), *function = strstr(site, " at ");
    if (!at || !at[strspn(at, " ")])
        at = "gdb -q";
    for (at += strspn(at, " "); *at; at += strcspn(at, " "), at += strspn(at, " "))
        add_word(&w, pawl_mem_dup(cli->mem, (pawl_str){at, strcspn(at, " ")}).ptr);
    add_word(&w, "-p");
    add_word(&w, pawl_mem_printf(cli->mem, "%d", (int)pid).ptr);
    if (function)
        add_command(&w,
                    pawl_mem_printf(cli->mem, "frame function %.*s", (int)(function - site), site));
    fflush(stdout);
    execvp(w.items[0], (char *const *)(uintptr_t)w.items);
    return cli_fail(cli, EXIT_USAGE,
                    "cannot run '%s': %s; install gdb, or name another in the variable GDB",
                    w.items[0], strerror(errno));
}

/* This process loads the modules, too: the debugger finds them by our pid. */
NORETURN static void debuggee(struct cli *cli, int to, pid_t parent)
{
    struct replay_report t = {.cli = cli, .stop_fd = to};
    struct loaded_history h = {0};
    pawl_replay_report report;
    pawl_error err = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_PTRACER, (unsigned long)parent, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXIT_FAILED);
    int status = session_load(cli);
    if (!status)
        status = find_history(cli, &h);
    if (status)
        _exit(status);
    const pawl_replay_opts *opts =
        PAWL_REPLAY_OPTS(.until_seq = cli->args.until_seq, .step = step, .user = &t);
    if (pawl_replay(cli->app, &h.info, h.events, h.count, opts, &report, &err) != PAWL_OK)
        status = cli_fail_error(cli, &err);
    else
        status = conclude(cli, &h, &report);
    fflush(stdout);
    if (!status)
        status = cli_fail(cli, EXIT_FAILED,
                          "nothing waits there any more; --until SEQ stops at an earlier wait");
    _exit(status);
}

static int debug(struct cli *cli)
{
    int pipes[2], status = 0;
    pid_t self = getpid();
    fflush(stdout);
    pid_t pid = pipe2(pipes, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0)
        return cli_fail(cli, EXIT_NO_STORE, "cannot start a process: %s", strerror(errno));
    if (pid == 0)
        debuggee(cli, pipes[1], self);
    close(pipes[1]);
    char site[240] = "";
    bool stopped = read(pipes[0], site, sizeof(site)) == (ssize_t)sizeof(site);
    close(pipes[0]);
    if (stopped)
        return become_gdb(cli, pid, site);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return cli_fail(cli, EXIT_FAILED, "the code crashed: %s", strsignal(WTERMSIG(status)));
}

/* ---- replay --------------------------------------------------------------------------- */

int verb_replay(struct cli *cli)
{
    struct loaded_history h = {0};
    pawl_error err = {0};
    pawl_replay_report report;
    struct replay_report t = {.cli = cli, .stop_fd = -1};
    if (cli->args.gdb)
        return debug(cli);
    int status = session_load(cli);
    if (!status)
        status = find_history(cli, &h);
    if (status)
        return status;
    const pawl_replay_opts *opts =
        PAWL_REPLAY_OPTS(.until_seq = cli->args.until_seq,
                         .strict_await = cli->args.options.strict_await, .step = step, .user = &t);
    if (!history_replay_apart(cli, &h, opts, &report, &err))
        return cli_fail_error(cli, &err);
    return conclude(cli, &h, &report);
}
