/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_why.c -- what an instance waits for, since when, what can wake it, what
 * failed last, what happens next and when.  The words are made in view/why.c.
 *
 * --watch prints it again when it changed in more than its times, until the instance has ended.
 * A server tells when to look again (changes.h); a store is looked at again, at most twice a
 * second.
 */
#include "base/clock.h"
#include "cli/changes.h"
#include "cli/out.h"
#include "cli/views.h"
#include "cli/watch.h"
#include "view/units.h"

#include <string.h>

#define LOOK_FIRST_MS 20
#define LOOK_LAST_MS  500

static void print_why(struct cli *cli, pawl_mem *mem, pawl_str why)
{
    char now[UNITS_BYTES];
    if (cli->args.output == OUTPUT_TABLE && cli->args.watch)
        printf("%s%.8sZ%s ", out_begin(cli, stdout, TONE_DIM),
               format_time(now, pawl_json_int(why, "/now", 0)) + strlen("2026-11-18T"),
               out_end(cli, stdout));
    if (cli->args.output == OUTPUT_TABLE)
        puts(out_clean(mem, pawl_json_text(mem, why, "/sentence", "")).ptr);
    else if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(cli->words[0]));
    else
        out_value(cli, why);
}

/* ---- Again and again -------------------------------------------------------------------- */

struct watching {
    struct cli *cli;
    struct session *session;
    struct changes changes;
    pawl_mem *mem;
    struct buf said; /* the sentence that was printed last, without its times */
    bool look;       /* the instance may have changed */
    bool gone;       /* the server is gone, and that was printed */
};

static void on_change(void *arg, const char *event, pawl_str data)
{
    struct watching *w = arg;
    w->look = w->look || strcmp(event, "changes") != 0 || changes_tell_of(data, w->cli->words[0]);
}

/* What the sentence says, without its times. */
static pawl_str gist_of(pawl_mem *mem, pawl_str why)
{
    static const char *const parts[] = {"/id",     "/kind",   "/attempt",    "/running",
                                        "/due_at", "/worker", "/last_error", "/details"};
    pawl_str gist = pawl_mem_printf(
        mem, "%.*s %.*s %.*s %.*s %.*s", PAWL_FMT(pawl_json_get(why, "/status")),
        PAWL_FMT(pawl_json_get(why, "/mailbox")), PAWL_FMT(pawl_json_get(why, "/finding")),
        PAWL_FMT(pawl_json_get(why, "/cancel_requested_at")),
        PAWL_FMT(pawl_json_get(why, "/last_failure")));
    pawl_json_iter it = pawl_json_each(why, "/waiting_for");
    while (pawl_json_next(&it))
        for (size_t i = 0; i < COUNT_OF(parts); i++)
            gist = pawl_mem_printf(mem, "%.*s %.*s", PAWL_FMT(gist),
                                   PAWL_FMT(pawl_json_get(it.value, parts[i])));
    return gist;
}

static bool has_ended(pawl_mem *mem, pawl_str why)
{
    pawl_str status = pawl_json_text(mem, why, "/status", "");
    for (int i = PAWL_PENDING; i <= PAWL_CONTINUED_AS_NEW; i++)
        if (pawl_str_is(status, pawl_state_name((pawl_state)i)))
            return pawl_state_is_terminal((pawl_state)i);
    return false;
}

/* -1: continue; else the exit status. */
static int look(struct watching *w)
{
    pawl_error err;
    pawl_str why;
    pawl_mem_reset(w->mem);
    pawl_status rc = views_why(w->session, w->cli->words[0], w->mem, &why, &err);
    if (rc == PAWL_UNAVAILABLE && w->session->remote && w->said.len) {
        if (!w->gone)
            cli_trouble(w->cli, "%s; it is tried again", err.text);
        w->gone = true;
        return -1;
    }
    if (rc != PAWL_OK)
        return cli_fail_error(w->cli, &err);
    w->gone = false;
    pawl_str gist = gist_of(w->mem, why);
    if (!pawl_str_eq(gist, buf_slice(&w->said))) {
        print_why(w->cli, w->mem, why);
        fflush(stdout);
        buf_reset(&w->said);
        buf_str(&w->said, gist);
    }
    return has_ended(w->mem, why) || ferror(stdout) ? EXIT_OK : -1;
}

/* How long to sleep when nothing happens; -1: without end. */
static int64_t pause_of(const struct watching *w, int64_t before)
{
    if (!w->session->remote)
        return before * 2 < LOOK_LAST_MS ? before * 2 : LOOK_LAST_MS;
    int64_t left = w->changes.again_ms - clock_mono_ms();
    return w->changes.open ? -1 : left > 0 ? left : 0;
}

static int watch_until(struct watching *w, struct watch *watch)
{
    int64_t pause = LOOK_FIRST_MS;
    int status = -1, signal_number;
    while (status < 0) {
        changes_hear(&w->changes, clock_mono_ms(), on_change, w);
        size_t before = w->said.len;
        if (w->look || !w->changes.open) /* without a stream: when it is tried again */
            status = look(w);
        w->look = false;
        if (status >= 0)
            break;
        pause = pause_of(w, w->said.len != before ? LOOK_FIRST_MS : pause);
        watch->also = changes_fd(&w->changes);
        if (watch_next(watch, pause, &signal_number) == WATCH_SIGNAL)
            status = EXIT_INTERRUPTED + signal_number;
    }
    return status;
}

static int watch_why(struct cli *cli, struct session *session)
{
    struct watch watch;
    struct watching w = {.cli = cli, .session = session, .mem = pawl_mem_new()};
    buf_init(&w.said, 1 << 20);
    int status = watch_open(&watch, cli);
    if (!status) {
        if (session->remote)
            status = changes_begin(&w.changes, cli, http_url(session->remote));
        if (!status)
            status = watch_until(&w, &watch);
        if (session->remote)
            changes_end(&w.changes);
        watch_close(&watch);
    }
    buf_deinit(&w.said);
    pawl_mem_free(w.mem);
    return status;
}

int verb_why(struct cli *cli)
{
    struct session session;
    pawl_error err;
    pawl_str why;
    if (cli->args.watch && cli->args.output == OUTPUT_JSON)
        return cli_fail(cli, EXIT_USAGE,
                        "--watch prints as it comes, and -o json is one document; use -o jsonl");
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (cli->args.watch)
        status = watch_why(cli, &session);
    else if (views_why(&session, cli->words[0], cli->mem, &why, &err) == PAWL_OK)
        print_why(cli, cli->mem, why);
    else
        status = cli_fail_error(cli, &err);
    session_close(&session);
    return status;
}
