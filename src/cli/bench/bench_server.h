/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/bench_server.h -- the server a benchmark talks to: a child of its own
 * (--serve), or one that runs already (--url).
 */
#ifndef PAWL_CLI_BENCH_SERVER_H
#define PAWL_CLI_BENCH_SERVER_H

#include "cli/bench/bench.h"
#include "cli/http.h"

#include <sys/types.h>

struct bench_server {
    struct bench *bench;
    pid_t pid;   /* 0: not ours */
    int hold_fd; /* closing it ends the child; -1: none */
    struct http *http;
};

/* What a server has used so far, by its own /metrics. */
struct bench_usage {
    double commits, cpu_us, rss_kb;
};

/* 0, or an exit status: the error was printed.  Close it in both cases. */
int bench_server_open(struct bench_server *s, struct bench *b);
void bench_server_close(struct bench_server *s);
int bench_server_usage(struct bench_server *s, struct bench_usage *ret);
/* One request; anything but a 2xx is said and EXIT_FAILED. */
int bench_server_call(struct bench_server *s, const char *method, const char *path,
                      const char *body, pawl_str *ret);

#endif
