/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_wait.c -- wait for an instance that another process runs.
 *
 * Looks at the store from the side, so no commit feed wakes it: it
 * looks often at first and then ever less, at most twice a second.
 */
#include "base/clock.h"
#include "cli/session.h"
#include "cli/watch.h"

#define LOOK_FIRST_MS  10
#define LOOK_LAST_MS   500

#define SERVER_WAIT_MS 60000

/* 0 with *ret filled in, or an exit status. */
static int look(struct cli *cli, struct session *session, pawl_mem *mem, pawl_info *ret)
{
    pawl_error err;
    pawl_mem_reset(mem);
    if (session_fetch(session, cli->words[0], cli->args.execution, mem, ret, &err) == PAWL_OK)
        return 0;
    return cli_fail_error(cli, &err);
}

static int wait_in(struct cli *cli, struct session *session, struct watch *watch, pawl_mem *mem)
{
    int64_t limit = cli->args.timeout_ms;
    int64_t deadline = limit < 0 ? -1 : clock_mono_ms() + limit, pause = LOOK_FIRST_MS;
    for (;;) {
        pawl_info info;
        int status = look(cli, session, mem, &info), signal_number;
        if (status)
            return status;
        int64_t left = deadline < 0 ? LOOK_LAST_MS : deadline - clock_mono_ms();
        if (pawl_state_is_terminal(info.state) || left <= 0)
            return session_report(cli, &info);
        if (watch_next(watch, pause < left ? pause : left, &signal_number) == WATCH_SIGNAL)
            return EXIT_INTERRUPTED + signal_number;
        pause = pause * 2 < LOOK_LAST_MS ? pause * 2 : LOOK_LAST_MS;
    }
}

/* The server answers when the instance has ended, or after a minute. */
static int wait_there(struct cli *cli, struct session *session, pawl_mem *mem)
{
    int64_t limit = cli->args.timeout_ms;
    int64_t deadline = limit < 0 ? -1 : clock_mono_ms() + limit;
    for (;;) {
        int64_t left = deadline < 0 ? SERVER_WAIT_MS : deadline - clock_mono_ms();
        pawl_info info;
        pawl_error err;
        pawl_mem_reset(mem);
        pawl_status rc = remote_wait(session->remote, cli->words[0],
                                     left < 0                ? 0
                                     : left > SERVER_WAIT_MS ? SERVER_WAIT_MS
                                                             : left,
                                     mem, &info, &err);
        if (rc != PAWL_OK && rc != PAWL_TIMEOUT)
            return cli_fail_error(cli, &err);
        if (rc == PAWL_OK || left <= 0)
            return session_report(cli, &info);
    }
}

int verb_wait(struct cli *cli)
{
    struct session session;
    struct watch watch;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (session.remote && !cli->args.execution) {
        pawl_mem *mem = pawl_mem_new();
        status = wait_there(cli, &session, mem);
        pawl_mem_free(mem);
        session_close(&session);
        return status;
    }
    status = watch_open(&watch, cli);
    if (!status) {
        pawl_mem *mem = pawl_mem_new();
        status = wait_in(cli, &session, &watch, mem);
        pawl_mem_free(mem);
        watch_close(&watch);
    }
    session_close(&session);
    return status;
}
