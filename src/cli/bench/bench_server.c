/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_server.c -- see bench_server.h.
 *
 * The child is forked before this process has threads.  It serves the workloads
 * on a free port in the bench's directory and ends when the pipe it holds the
 * other end of is closed, so it never outlives the command.
 */
#include "cli/bench/bench_server.h"

#include "pawl/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL_MS 60000
#define STOP_MS 5000

/* ---- The child --------------------------------------------------------------------------- */

static void say(int fd, const char *text)
{
    ssize_t n = write(fd, text, strlen(text));
    (void)n; /* the reader may be gone: the end of the pipe says it too */
}

/* Serve until the other side closes `hold`. */
static int serve_child(struct bench *b, int hold, int tell)
{
    pawl_error err = {0};
    pawl_app *app = bench_app();
    pawl_server *server = NULL;
    char byte;
    pawl_runtime *rt = bench_runtime(b, app, &err);
    if (rt)
        server = pawl_server_start(rt, PAWL_SERVER_OPTS(.listen = "127.0.0.1:0"), &err);
    say(tell, server ? pawl_server_url(server) : err.text);
    close(tell);
    while (server && read(hold, &byte, 1) < 0 && errno == EINTR)
        ;
    if (server)
        pawl_server_stop(server, STOP_MS);
    pawl_runtime_close(rt);
    pawl_server_free(server);
    pawl_app_free(app);
    return server ? EXIT_OK : EXIT_NO_STORE;
}

static int start_child(struct bench_server *s, char url[256])
{
    int hold[2], tell[2];
    if (pipe2(hold, O_CLOEXEC) != 0 || pipe2(tell, O_CLOEXEC) != 0)
        return cli_fail(s->bench->cli, EXIT_NO_STORE, "no pipe: %s", strerror(errno));
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) {
        close(hold[1]);
        close(tell[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGPIPE, SIG_IGN);
        _exit(serve_child(s->bench, hold[0], tell[1]));
    }
    close(hold[0]);
    close(tell[1]);
    s->hold_fd = hold[1];
    size_t have = 0;
    for (ssize_t n; (n = read(tell[0], url + have, 255 - have)) > 0;)
        have += (size_t)n;
    url[have] = 0;
    close(tell[0]);
    if (strncmp(url, "http://", 7) == 0)
        return 0;
    return cli_fail(s->bench->cli, EXIT_NO_STORE, "the server did not start: %s",
                    have ? url : strerror(errno));
}

/* ---- From here --------------------------------------------------------------------------- */

int bench_server_open(struct bench_server *s, struct bench *b)
{
    char child[256];
    const char *url = b->cli->args.serve ? NULL : b->cli->args.url;
    pawl_error err = {0};
    *s = (struct bench_server){.bench = b, .hold_fd = -1};
    if (url && strncmp(url, "https:", 6) == 0)
        return cli_fail(b->cli, EXIT_USAGE, "bench speaks http:// only");
    if (!url) {
        int status = start_child(s, child);
        if (status)
            return status;
        url = child;
    }
    if (strncmp(url, "https://", 8) == 0)
        return cli_fail(
            b->cli, EXIT_USAGE,
            "bench measures over plain http://, not '%s'; leave out --url, or tunnel it", url);
    s->http = http_open(url, b->cli->args.token, NULL, &err);
    if (!s->http)
        return cli_fail(b->cli, EXIT_USAGE, "%s", err.text);
    if (!http_listens(s->http))
        return cli_fail(b->cli, EXIT_NO_STORE, "no server answers at %s", url);
    return 0;
}

void bench_server_close(struct bench_server *s)
{
    http_close(s->http);
    s->http = NULL;
    if (s->hold_fd >= 0)
        close(s->hold_fd);
    s->hold_fd = -1;
    if (s->pid > 0)
        (void)waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

int bench_server_call(struct bench_server *s, const char *method, const char *path,
                      const char *body, pawl_str *ret)
{
    struct cli *cli = s->bench->cli;
    struct http_reply reply;
    pawl_error err = {0};
    pawl_status rc =
        http_call(s->http, method, path, pawl_s(body), NULL, CALL_MS, cli->mem, &reply, &err);
    if (rc != PAWL_OK)
        return cli_fail_error(cli, &err);
    if (reply.status / 100 != 2)
        return cli_fail(cli, EXIT_FAILED, "%s %s was answered %u: %.*s", method, path, reply.status,
                        PAWL_FMT(reply.body));
    if (ret)
        *ret = reply.body;
    return 0;
}

static double metric(const char *text, const char *name)
{
    for (const char *at = text ? strstr(text, name) : NULL; at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == '\n') && at[strlen(name)] == ' ')
            return strtod(at + strlen(name), NULL);
    return 0;
}

int bench_server_usage(struct bench_server *s, struct bench_usage *ret)
{
    pawl_str text = {0};
    int status = bench_server_call(s, "GET", "/metrics", "", &text);
    if (status)
        return status;
    ret->commits = metric(text.ptr, "pawl_commits_total");
    ret->cpu_us = metric(text.ptr, "process_cpu_seconds_total") * 1e6;
    ret->rss_kb = metric(text.ptr, "process_resident_memory_bytes") / 1024;
    return 0;
}
