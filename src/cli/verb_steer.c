/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_steer.c -- the verbs that change an instance: raise, cancel,
 * terminate, suspend, resume, retry, rm, prune.
 *
 * They record a wish and leave: no module is loaded, so no code runs here.
 * Several ids may be given; every one is tried, and the exit status is that of
 * the first failure.
 */
#include "base/clock.h"
#include "cli/out.h"
#include "cli/session.h"
#include "view/units.h"

#include <string.h>

/* What a verb says when it is done, and how it does it. */
struct steering {
    const char *done; /* "cancel requested" */
    pawl_status (*call)(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret);
    bool counts; /* the reply has counts worth telling */
};

/* ---- The calls --------------------------------------------------------------------- */

static pawl_status call_raise(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    pawl_str data;
    const char *text = cli->word_count > 2 ? cli->words[2] : cli->args.payload;
    if (session_payload(cli, "the event's data", text, &data))
        return PAWL_EMPTY; /* said already */
    return pawl_client_raise(
        c, id, cli->words[1], data,
        PAWL_RAISE_OPTS(.idempotency_key = cli->args.key, .await_start = cli->args.await_start),
        &ret->error);
}

static pawl_status call_cancel(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    return pawl_client_cancel(c, id, cli->args.reason, &ret->error);
}

static pawl_status call_terminate(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    return pawl_client_terminate(c, id, cli->args.reason, &ret->error);
}

static pawl_status call_suspend(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    return pawl_client_suspend(c, id, cli->args.reason, &ret->error);
}

static pawl_status call_resume(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    return pawl_client_resume(c, id, cli->args.reason, &ret->error);
}

static pawl_status call_retry(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    (void)cli;
    return pawl_client_retry(c, id, &ret->error);
}

static pawl_status call_remove(struct cli *cli, pawl_client *c, const char *id, pawl_reply *ret)
{
    return pawl_client_remove(c, id, cli->args.force, ret);
}

/* ---- Saying what was done ------------------------------------------------------------ */

static void write_counts(pawl_json *w, const pawl_reply *reply)
{
    pawl_json_key(w, "instances");
    pawl_json_num(w, (int64_t)reply->instances);
    pawl_json_key(w, "executions");
    pawl_json_num(w, (int64_t)reply->executions);
    pawl_json_key(w, "events");
    pawl_json_num(w, (int64_t)reply->events);
}

static void report_json(struct cli *cli, const struct steering *how, const char *id,
                        const pawl_reply *reply)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, id);
    pawl_json_key(w, "action");
    pawl_json_cstr(w, cli->verb->name);
    if (how->counts)
        write_counts(w, reply);
    pawl_json_end(w);
    out_json(cli, w);
}

static void report(struct cli *cli, const struct steering *how, const char *id,
                   const pawl_reply *reply)
{
    if (cli->args.output == OUTPUT_IDS)
        printf("%s\n", id);
    else if (cli->args.output != OUTPUT_TABLE)
        report_json(cli, how, id, reply);
    else if (!cli->args.quiet && how->counts)
        printf("%s: %s (instances %llu, executions %llu, events %llu)\n", id, how->done,
               (unsigned long long)reply->instances, (unsigned long long)reply->executions,
               (unsigned long long)reply->events);
    else if (!cli->args.quiet)
        printf("%s: %s\n", id, how->done);
}

static int steer(struct cli *cli, const struct steering *how, size_t ids)
{
    struct session session;
    int worst = session_open(cli, SESSION_STEER, &session);
    if (worst)
        return worst;
    for (size_t i = 0; i < ids; i++) {
        pawl_reply reply = {0};
        pawl_status status = how->call(cli, session.client, cli->words[i], &reply);
        if (status == PAWL_OK) {
            report(cli, how, cli->words[i], &reply);
            continue;
        }
        int failed = status == PAWL_EMPTY ? EXIT_USAGE : cli_fail_error(cli, &reply.error);
        worst = worst ? worst : failed;
    }
    session_close(&session);
    return worst;
}

/* ---- The verbs ----------------------------------------------------------------------- */

int verb_raise(struct cli *cli)
{
    if (cli->word_count > 2 && cli->args.payload)
        return cli_fail(cli, EXIT_USAGE, "the event's data was given twice; leave out one");
    return steer(cli, &(struct steering){"event raised", call_raise, false}, 1);
}

int verb_cancel(struct cli *cli)
{
    return steer(cli, &(struct steering){"cancel requested", call_cancel, false}, cli->word_count);
}

int verb_terminate(struct cli *cli)
{
    return steer(cli, &(struct steering){"terminated", call_terminate, false}, cli->word_count);
}

int verb_suspend(struct cli *cli)
{
    return steer(cli, &(struct steering){"suspend requested", call_suspend, false},
                 cli->word_count);
}

int verb_resume(struct cli *cli)
{
    return steer(cli, &(struct steering){"resume requested", call_resume, false}, cli->word_count);
}

int verb_retry(struct cli *cli)
{
    return steer(cli, &(struct steering){"retry requested", call_retry, false}, cli->word_count);
}

int verb_rm(struct cli *cli)
{
    return steer(cli, &(struct steering){"removed", call_remove, true}, cli->word_count);
}

static int prune_all(struct cli *cli, pawl_client *client, pawl_reply *total)
{
    int64_t before = clock_wall_ms() - cli->args.older_than_ms;
    pawl_reply reply;
    do {
        if (pawl_client_prune(client, before, 0, &reply) != PAWL_OK)
            return cli_fail_error(cli, &reply.error);
        total->instances += reply.instances;
        total->executions += reply.executions;
        total->events += reply.events;
    } while (reply.instances || reply.executions);
    return 0;
}

int verb_prune(struct cli *cli)
{
    if (cli->args.older_than_ms < 0)
        return cli_fail(cli, EXIT_USAGE, "say how old: %s prune --older-than 30d", cli->prog);
    struct session session;
    int status = session_open(cli, SESSION_STEER, &session);
    if (status)
        return status;
    pawl_reply total = {0};
    status = prune_all(cli, session.client, &total);
    session_close(&session);
    if (status || cli->args.output == OUTPUT_IDS)
        return status;
    if (cli->args.output == OUTPUT_TABLE) {
        printf("pruned: instances %llu, executions %llu, events %llu\n",
               (unsigned long long)total.instances, (unsigned long long)total.executions,
               (unsigned long long)total.events);
        return EXIT_OK;
    }
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    write_counts(w, &total);
    pawl_json_end(w);
    out_json(cli, w);
    return EXIT_OK;
}
