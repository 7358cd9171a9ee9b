/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_run.c -- the verbs that run code: run, start, job, work.
 *
 * run is start and wait in one process that owns the store.  Nothing is lost by
 * ending it at any moment: the start is idempotent by id, so the same command
 * continues from the last recorded step.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/near.h"
#include "base/rand.h"
#include "base/reserved.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/watch.h"

#include <string.h>

/* An instance that runs in the foreground. */
struct run {
    struct cli *cli;
    struct session session;
    struct watch watch;
    struct progress progress;
    const char *name;
    const char *id;
    pawl_str input;
    const pawl_raise_item *raised;
    int64_t deadline_ms; /* mono; -1: none */
};

/* ---- Starting ---------------------------------------------------------------- */

static const char *nearest_orchestration(struct cli *cli, const char *name)
{
    const pawl_code *list;
    size_t count = pawl_app_code(cli->app, cli->mem, &list), n = 0;
    const char **names = pawl_mem_alloc(cli->mem, (count + 1) * sizeof(*names));
    for (size_t i = 0; i < count; i++)
        if (list[i].version)
            names[n++] = list[i].name;
    return nearest_word(name, names, n);
}

static int check_registered(struct cli *cli, const char *name)
{
    const char *version = cli->args.version;
    pawl_error err;
    if (!check_startable(pawl_s(name), &err))
        return cli_fail_error(cli, &err);
    if (cli->args.allow_unregistered || pawl_app_has_orchestration(cli->app, name, version))
        return 0;
    if (version && pawl_app_has_orchestration(cli->app, name, NULL))
        return cli_fail(cli, EXIT_NOT_THERE,
                        "orchestration '%s' has no version '%s' here; leave out --version for the "
                        "latest",
                        name, version);
    const char *near = nearest_orchestration(cli, name);
    size_t len = strlen(name);
    if (len > 3 && strcmp(name + len - 3, ".so") == 0)
        return cli_fail(
            cli, EXIT_NOT_THERE,
            "'%s' is a module, not an orchestration; see what it has: %s code --load %s", name,
            cli->prog, name);
    if (near)
        return cli_fail(cli, EXIT_NOT_THERE,
                        "no orchestration '%s' is registered; did you mean '%s'?", name, near);
    if (cli->args.load.count)
        return cli_fail(
            cli, EXIT_NOT_THERE,
            "no loaded module has an orchestration '%s'; --load the one that has it, or "
            "see what they have: %s code --load %s",
            name, cli->prog, cli->args.load.items[0]);
    return cli_fail(cli, EXIT_NOT_THERE,
                    "no orchestration '%s' is registered; load the module that has it with "
                    "--load FILE.so",
                    name);
}

static const char *choose_id(struct cli *cli)
{
    if (cli->args.id)
        return cli->args.id;
    uint8_t bits[10];
    char *id = pawl_mem_alloc(cli->mem, 37);
    random_bytes(bits, sizeof(bits));
    uuid7_format(id, clock_wall_ms(), bits);
    return id;
}

/* Every --raise EVENT=JSON, before anything is started. */
static int read_raises(struct cli *cli, const pawl_raise_item **ret)
{
    uint32_t count = cli->args.raise.count;
    pawl_raise_item *items = pawl_mem_alloc(cli->mem, (count + 1) * sizeof(*items));
    for (uint32_t i = 0; i < count; i++) {
        const char *text = cli->args.raise.items[i], *equals = strchr(text, '=');
        pawl_error err;
        pawl_str event = pawl_mem_dup(
            cli->mem, (pawl_str){text, equals ? (size_t)(equals - text) : strlen(text)});
        if (!check_name("event name", event, &err))
            return cli_fail_error(cli, &err);
        items[i] = (pawl_raise_item){.event = event.ptr};
        const char *what = pawl_mem_printf(cli->mem, "the data of --raise %s", event.ptr).ptr;
        int status = session_payload(cli, what, equals ? equals + 1 : NULL, &items[i].data);
        if (status)
            return status;
    }
    *ret = items;
    return 0;
}

/* `raises`: as many as there are --raise, in the commit of the start; NULL: none. */
static int start_instance(struct cli *cli, struct session *session, const char *name,
                          const char *id, pawl_str input, const pawl_raise_item *raises,
                          pawl_reply *ret)
{
    pawl_str attributes;
    int bad = session_attributes(cli, cli->args.attr.items, cli->args.attr.count, &attributes);
    if (bad)
        return bad;
    const pawl_request *request =
        PAWL_REQUEST(.op = PAWL_OP_START, .name = name, .data = input, .instance = id,
                     .version = cli->args.version,
                     .allow_unregistered = cli->args.allow_unregistered,
                     .start_at_ms = cli->args.start_at_ms, .delay_ms = cli->args.start_in_ms,
                     .deadline_ms = cli->args.deadline_ms,
                     .if_exists = (pawl_if_exists)cli->args.if_exists, .attributes = attributes,
                     .raises = raises, .raise_count = raises ? cli->args.raise.count : 0);
    if (session_write(session, request, ret) == PAWL_OK)
        return 0;
    if (ret->error.status == PAWL_EXISTS)
        return cli_fail(cli, EXIT_NOT_THERE, "%s (--id), or look: %s show %s", ret->error.text,
                        cli->prog, id);
    return cli_fail_error(cli, &ret->error);
}

/* Start it and print its id. */
static int start_and_print(struct cli *cli, const char *name, pawl_str input,
                           const pawl_raise_item *raises)
{
    struct session session;
    pawl_reply reply;
    int status = session_open(cli, SESSION_START, &session);
    if (status)
        return status;
    status = start_instance(cli, &session, name, choose_id(cli), input, raises, &reply);
    session_close(&session);
    if (status)
        return status;
    if (cli->args.output == OUTPUT_TABLE || cli->args.output == OUTPUT_IDS) {
        out_id(cli, pawl_s(reply.instance));
        return EXIT_OK;
    }
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, reply.instance);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)reply.execution);
    pawl_json_key(w, "created");
    pawl_json_truth(w, reply.created);
    pawl_json_end(w);
    out_json(cli, w);
    return EXIT_OK;
}

int verb_start(struct cli *cli)
{
    pawl_str input;
    const pawl_raise_item *raises = NULL;
    int status = session_payload(cli, "--input", cli->args.input, &input);
    if (!status)
        status = read_raises(cli, &raises);
    bool here = !session_is_remote(cli); /* a server has its own modules */
    if (!status && !here && cli->args.load_given)
        status = cli_fail(cli, EXIT_USAGE,
                          "--load has no effect on a server; load it there (%s serve --load %s), "
                          "or use --data DIR",
                          cli->prog, cli->args.load.items[0]);
    if (!status && here)
        status = session_load(cli);
    if (!status && here)
        status = check_registered(cli, cli->words[0]);
    return status ? status : start_and_print(cli, cli->words[0], input, raises);
}

static void put_text(pawl_json *w, const char *key, const char *text)
{
    if (!text)
        return;
    pawl_json_key(w, key);
    pawl_json_cstr(w, text);
}

static void put_number(pawl_json *w, const char *key, int64_t number)
{
    if (!number)
        return;
    pawl_json_key(w, key);
    pawl_json_num(w, number);
}

int verb_job(struct cli *cli)
{
    pawl_str input;
    int status = session_payload(cli, "--input", cli->args.input, &input);
    if (status)
        return status;
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    put_text(w, "activity", cli->words[0]);
    if (input.len) {
        pawl_json_key(w, "input");
        json_put(w, input);
    }
    put_number(w, "attempts", cli->args.attempts);
    put_text(w, "tag", cli->args.tag);
    put_text(w, "key", cli->args.key);
    if (cli->args.priority != CLI_NOT_GIVEN) {
        pawl_json_key(w, "priority");
        pawl_json_num(w, (int64_t)cli->args.priority);
    }
    put_number(w, "start_to_close_ms", cli->args.start_to_close_ms);
    put_number(w, "schedule_to_close_ms", cli->args.schedule_to_close_ms);
    pawl_json_end(w);
    return start_and_print(cli, PAWL_JOB, pawl_json_done(w), NULL);
}
/* ---- run ----------------------------------------------------------------------- */

/* The key makes it happen once, also when `run` is repeated. */
static int raise_one(struct run *run, const pawl_raise_item *raised)
{
    struct cli *cli = run->cli;
    pawl_str key = pawl_mem_printf(cli->mem, "run:%.100s", raised->event);
    pawl_error err;
    if (pawl_client_raise(run->session.client, run->id, raised->event, raised->data,
                          PAWL_RAISE_OPTS(.idempotency_key = key.ptr), &err) == PAWL_OK)
        return 0;
    return err.status == PAWL_CONFLICT ? 0 : cli_fail_error(cli, &err); /* it ended meanwhile */
}

static int begin(struct run *run)
{
    pawl_reply reply;
    int status =
        start_instance(run->cli, &run->session, run->name, run->id, run->input, NULL, &reply);
    for (uint32_t i = 0; !status && i < run->cli->args.raise.count; i++)
        status = raise_one(run, &run->raised[i]);
    return status;
}

static int64_t sleep_ms(const struct run *run)
{
    int64_t left = run->deadline_ms < 0 ? -1 : run->deadline_ms - clock_mono_ms();
    if (run->deadline_ms >= 0 && left < 0)
        left = 0;
    return run->progress.on && (left < 0 || left > 100) ? 100 : left;
}

/* Wait until it has ended, or time is up (0), or a signal came (that signal). */
static int wait_for_end(struct run *run)
{
    int signal_number = 0;
    int state = atomic_load(&run->watch.state);
    while (!watch_is_over(state)) {
        if (run->deadline_ms >= 0 && clock_mono_ms() >= run->deadline_ms)
            return 0;
        if (watch_next(&run->watch, sleep_ms(run), &signal_number) == WATCH_SIGNAL)
            return signal_number;
        progress_update(&run->progress);
        state = atomic_load(&run->watch.state);
    }
    return 0;
}

static int interrupted(struct run *run, int signal_number)
{
    struct cli *cli = run->cli;
    cli_trouble(cli, "stopping; instance '%s' is safe in %s and goes on with: %s run %s --id %s …",
                run->id, session_shown(cli), cli->prog, run->name, run->id);
    return EXIT_INTERRUPTED + signal_number;
}

static int follow(struct run *run)
{
    struct cli *cli = run->cli;
    pawl_info info;
    int status = session_get(cli, &run->session, run->id, 0, &info);
    if (status)
        return status;
    if (watch_is_over((int)info.state))
        atomic_store(&run->watch.state, (int)info.state);
    int signal_number = wait_for_end(run);
    progress_end(&run->progress);
    if (signal_number)
        return interrupted(run, signal_number);
    status = session_get(cli, &run->session, run->id, 0, &info);
    return status ? status : session_report(cli, &info);
}

static int run_on_session(struct run *run)
{
    struct cli *cli = run->cli;
    progress_begin(&run->progress, cli, run->session.client, run->id);
    int status =
        watch_follow(&run->watch, cli, run->session.client, pawl_s(run->id), run->progress.on);
    if (!status)
        status = begin(run);
    if (!status)
        status = follow(run);
    progress_end(&run->progress);
    watch_unfollow(&run->watch);
    fflush(stdout); /* print first: closing may wait for activities of other instances */
    return status;
}

int verb_run(struct cli *cli)
{
    struct run run = {.cli = cli, .name = cli->words[0], .id = choose_id(cli), .deadline_ms = -1};
    if (cli->args.timeout_ms >= 0)
        run.deadline_ms = clock_mono_ms() + cli->args.timeout_ms;
    int status = session_payload(cli, "--input", cli->args.input, &run.input);
    if (!status)
        status = read_raises(cli, &run.raised);
    if (!status)
        status = session_load(cli);
    if (!status)
        status = check_registered(cli, run.name);
    if (status || (status = watch_open(&run.watch, cli)))
        return status;
    status = session_open(cli, SESSION_RUN, &run.session);
    if (!status)
        status = run_on_session(&run);
    watch_close(&run.watch); /* from here on Ctrl-C ends it at once */
    session_close(&run.session);
    return status;
}

/* ---- work ------------------------------------------------------------------------ */

#define IDLE_LOOK_MS 50
#define IDLE_LOOKS   4 /* looks in a row that find no work: idle */
#define HEALTH_MS    5000

/* A commit may take longer than the looks, and trouble with the store longer than that. */
static bool is_quiet(const pawl_stats *now, const pawl_stats *before)
{
    return now->rounds == before->rounds && now->inbox == 0 && now->running_activities == 0 &&
           !now->busy && now->healthy;
}

static void watch_health(struct cli *cli, pawl_runtime *rt, bool *was_healthy)
{
    char trouble[PAWL_TROUBLE_BYTES];
    bool healthy = pawl_runtime_healthy(rt, trouble);
    if (healthy != *was_healthy)
        cli_trouble(cli, healthy ? "the engine is healthy again" : "the engine is in trouble: %s",
                    trouble);
    *was_healthy = healthy;
}

static void work_until_told(struct cli *cli, struct session *session, struct watch *watch)
{
    pawl_stats before = {0}, now;
    int quiet = 0, signal_number;
    bool healthy = true;
    int64_t look_ms = cli->args.until_idle ? IDLE_LOOK_MS : HEALTH_MS;
    while (watch_next(watch, look_ms, &signal_number) != WATCH_SIGNAL) {
        watch_health(cli, session->rt, &healthy);
        if (!cli->args.until_idle)
            continue;
        pawl_runtime_stats(session->rt, &now);
        quiet = is_quiet(&now, &before) ? quiet + 1 : 0;
        if (quiet >= IDLE_LOOKS)
            return;
        before = now;
    }
    cli_note(cli, "stopping; once more stops at once");
}

static void say_work(struct cli *cli)
{
    if (!pawl_app_has_code(cli->app))
        cli_note(cli, "no code is loaded: instances wait for theirs; give it with --load FILE.so");
    if (!cli->args.until_idle)
        cli_note(cli, "working on %s, until Ctrl-C", session_shown(cli));
}

int verb_work(struct cli *cli)
{
    int status = session_load(cli);
    struct watch watch;
    if (status || (status = watch_open(&watch, cli)))
        return status;
    struct session session;
    status = session_open(cli, SESSION_RUN, &session);
    if (!status)
        say_work(cli);
    if (!status)
        work_until_told(cli, &session, &watch);
    watch_close(&watch);
    session_close(&session);
    return status;
}
