/* SPDX-License-Identifier: MIT */
/*
 * cli/load_history.c -- see load_history.h.  Called by check, replay and export.
 *
 * A history is append-only, so reading it page by page beside a running owner
 * gives a prefix that was true at some moment.
 */
#include "cli/load_history.h"

#include "base/limits.h"
#include "cli/out.h"
#include "view/render.h"
#include "view/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE        1000
#define REPLAY_SECS 60 /* longer than that, code does not return */

/* ---- Reading ------------------------------------------------------------------------- */

static void append(pawl_mem *mem, struct loaded_history *h, size_t *cap, const pawl_history *page)
{
    if (h->count + page->count > *cap) {
        *cap = (h->count + page->count) * 2;
        pawl_history_event *more = pawl_mem_alloc(mem, *cap * sizeof(*more));
        if (h->count)
            memcpy(more, h->events, h->count * sizeof(*more));
        h->events = more;
    }
    if (page->count)
        memcpy(h->events + h->count, page->events, page->count * sizeof(*h->events));
    h->count += page->count;
}

pawl_status history_events(struct session *s, const pawl_info *info, pawl_mem *mem,
                           struct loaded_history *ret, pawl_error *reterr)
{
    size_t cap = 0;
    uint64_t after = 0;
    *ret = (struct loaded_history){.info = *info};
    do {
        pawl_history page;
        pawl_status rc = session_history(s, info->instance.ptr, info->execution, after, PAGE, mem,
                                         &page, reterr);
        if (rc != PAWL_OK)
            return rc;
        append(mem, ret, &cap, &page);
        after = page.next;
    } while (after);
    return PAWL_OK;
}

int history_read(struct cli *cli, struct session *s, const char *id, uint64_t execution,
                 pawl_mem *mem, struct loaded_history *ret)
{
    pawl_info info;
    pawl_error err;
    int status = session_get(cli, s, id, execution, &info);
    if (status)
        return status;
    if (history_events(s, &info, mem, ret, &err) != PAWL_OK)
        return cli_fail_error(cli, &err);
    if (!ret->count)
        return cli_fail(cli, EXIT_NOT_THERE, "instance '%s' has no history yet: it never ran", id);
    return 0;
}

int history_from_file(struct cli *cli, const char *path, struct loaded_history *ret)
{
    pawl_str text;
    pawl_history list;
    const char *from = pawl_mem_printf(cli->mem, "@%s", path).ptr;
    int status = session_text(cli, strcmp(path, "-") == 0 ? path : from, &text);
    if (status)
        return status;
    if (!pawl_json_valid(text, NULL) ||
        pawl_json_int(text, "/pawl_export", 0) != RENDER_EXPORT_FORMAT)
        return cli_fail(cli, EXIT_USAGE, "%s is not a file of '%s export'", path, cli->prog);
    if (pawl_json_int(text, "/next", 0))
        return cli_fail(cli, EXIT_USAGE,
                        "%s is one page of an export: write all of it with '%s export ID'", path,
                        cli->prog);
    remote_read_info(cli->mem, text, &ret->info);
    remote_read_history(cli->mem, text, &list);
    ret->events = pawl_mem_alloc(cli->mem, (list.count + 1) * sizeof(*ret->events));
    if (list.count)
        memcpy(ret->events, list.events, list.count * sizeof(*ret->events));
    ret->count = list.count;
    return 0;
}

void history_write(struct cli *cli, const struct loaded_history *h)
{
    pawl_json *w = pawl_json_new(cli->mem);
    render_export_begin(w, cli->mem, &h->info);
    for (size_t i = 0; i < h->count; i++)
        render_event(w, cli->mem, &h->events[i]);
    struct timeline t;
    timeline_begin(&t, cli->mem);
    for (size_t i = 0; i < h->count; i++)
        timeline_add(&t, &h->events[i]);
    timeline_waits(&t, &h->info);
    t.execution = h->info.execution;
    timeline_finish(&t, h->info.updated_ms);
    render_export_end(w, 0, &t);
    timeline_end(&t);
    out_json(cli, w);
}

/* ---- Source lines ------------------------------------------------------------------------ */

struct site {
    struct site *next;
    void *address;
    char text[240];
};

const char *sites_text(struct sites *s, pawl_mem *mem, void *address)
{
    struct site *at = s->first;
    while (at && at->address != address)
        at = at->next;
    if (!at) {
        at = pawl_mem_alloc(mem, sizeof(*at));
        at->address = address;
        pawl_replay_site(address, at->text, sizeof(at->text));
        at->next = s->first;
        s->first = at;
    }
    return at->text;
}

/* ---- Replaying apart ------------------------------------------------------------------- */

/* What the child says before it ends. */
struct answer {
    pawl_status status;
    pawl_replay_report report;
    pawl_error error;
};

NORETURN static void child(int to, struct cli *cli, const struct loaded_history *h,
                           const pawl_replay_opts *opts)
{
    struct answer answer = {.status = PAWL_OK};
    (void)alarm(REPLAY_SECS);
    answer.status =
        pawl_replay(cli->app, &h->info, h->events, h->count, opts, &answer.report, &answer.error);
    ssize_t sent = write(to, &answer, sizeof(answer)); /* a pipe takes it whole */
    _exit(sent == (ssize_t)sizeof(answer) ? 0 : 1);
}

static bool receive(int from, void *to, size_t size)
{
    size_t have = 0;
    while (have < size) {
        ssize_t n = read(from, (char *)to + have, size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

static void died(int status, pawl_replay_report *ret)
{
    *ret = (pawl_replay_report){.outcome = PAWL_REPLAY_MISMATCH};
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        (void)snprintf(ret->text, sizeof(ret->text), "the code did not return in %d seconds",
                       REPLAY_SECS);
    else if (WIFSIGNALED(status))
        (void)snprintf(ret->text, sizeof(ret->text), "the code crashed: %s",
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(ret->text, sizeof(ret->text), "the code ended the process with status %d",
                       WEXITSTATUS(status));
}

/* `pawl replay ID | head`: the reader of our output has gone, which is not the fault of the code. */
static void go_with_reader(int status)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGPIPE || poll(&out, 1, 0) != 1 ||
        !(out.revents & POLLERR))
        return;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}

bool history_replay_apart(struct cli *cli, const struct loaded_history *h,
                          const pawl_replay_opts *opts, pawl_replay_report *ret, pawl_error *reterr)
{
    struct answer answer = {.status = PAWL_OK};
    int pipes[2], status = 0;
    fflush(stdout);
    pid_t pid = pipe2(pipes, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0)
        child(pipes[1], cli, h, opts);
    if (pid < 0) {
        error_set(reterr, PAWL_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
        return false;
    }
    close(pipes[1]);
    bool whole = receive(pipes[0], &answer, sizeof(answer));
    close(pipes[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!whole) {
        go_with_reader(status);
        died(status, ret);
        return true;
    }
    *ret = answer.report;
    if (answer.status != PAWL_OK && reterr)
        *reterr = answer.error;
    return answer.status == PAWL_OK;
}
