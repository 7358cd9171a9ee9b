/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_steer.c -- the verbs that change an instance: raise, rm, prune, and those of
 * tables/operations.h (cancel, terminate, suspend, resume, retry).
 *
 * They record a request and end: no module is loaded, so no code runs here.
 * Several ids may be given; every one is tried, and the exit status is that of
 * the first failure.
 */
#include "base/clock.h"
#include "cli/out.h"
#include "cli/session.h"
#include "tables/operations.h"
#include "view/units.h"

#include <string.h>

/* ---- The request ------------------------------------------------------------------- */

/* 0, or an exit status: the error was printed. */
static int compose(struct cli *cli, pawl_op op, const char *id, pawl_request *ret)
{
    *ret = (pawl_request){.size = sizeof(*ret),
                          .op = op,
                          .instance = id,
                          .reason = cli->args.reason,
                          .force = cli->args.force};
    if (op == PAWL_OP_RERUN) {
        ret->version = cli->args.version;
        ret->deadline_ms = cli->args.deadline_ms;
        int bad =
            session_attributes(cli, cli->args.attr.items, cli->args.attr.count, &ret->attributes);
        if (bad)
            return bad;
        return cli->args.input ? session_payload(cli, "--input", cli->args.input, &ret->data) : 0;
    }
    if (op == PAWL_OP_SET_ATTRIBUTES)
        return session_attributes(cli, cli->words + 1, cli->word_count - 1, &ret->data);
    if (op != PAWL_OP_RAISE)
        return 0;
    const char *text = cli->word_count > 2 ? cli->words[2] : cli->args.payload;
    ret->name = cli->words[1];
    ret->idempotency_key = cli->args.key;
    ret->await_start = cli->args.await_start;
    return session_payload(cli, "the event's data", text, &ret->data);
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

static void report_json(struct cli *cli, pawl_op op, const char *id, const pawl_reply *reply)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, id);
    pawl_json_key(w, "action");
    pawl_json_cstr(w, cli->verb->name);
    if (op == PAWL_OP_REMOVE)
        write_counts(w, reply);
    pawl_json_end(w);
    out_json(cli, w);
}

static void report(struct cli *cli, pawl_op op, const char *id, const pawl_reply *reply)
{
    const char *shown = out_clean(cli->mem, pawl_s(id)).ptr, *done = operation_at(op)->done;
    if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(id));
    else if (cli->args.output != OUTPUT_TABLE)
        report_json(cli, op, id, reply);
    else if (!cli->args.quiet && op == PAWL_OP_REMOVE)
        printf("%s: %s (instances %llu, executions %llu, events %llu)\n", shown, done,
               (unsigned long long)reply->instances, (unsigned long long)reply->executions,
               (unsigned long long)reply->events);
    else if (!cli->args.quiet)
        printf("%s: %s\n", shown, done);
}

static int steer(struct cli *cli, pawl_op op, size_t ids)
{
    struct session session;
    bool runs = cli->verb->takes & TAKES_LOAD; /* rerun: its code must be known */
    int worst = runs && !session_is_remote(cli) ? session_load(cli) : 0;
    if (!worst)
        worst = session_open(cli, runs ? SESSION_START : SESSION_STEER, &session);
    if (worst)
        return worst;
    for (size_t i = 0; i < ids; i++) {
        pawl_request request;
        pawl_reply reply;
        int failed = compose(cli, op, cli->words[i], &request);
        if (!failed && session_write(&session, &request, &reply) == PAWL_OK)
            report(cli, op, cli->words[i], &reply);
        else if (!failed)
            failed = cli_fail_error(cli, &reply.error);
        worst = worst ? worst : failed;
    }
    session_close(&session);
    return worst;
}

/* ---- The verbs ----------------------------------------------------------------------- */

int verb_attr(struct cli *cli)
{
    return steer(cli, PAWL_OP_SET_ATTRIBUTES, 1);
}

int verb_raise(struct cli *cli)
{
    if (cli->word_count > 2 && cli->args.payload)
        return cli_fail(cli, EXIT_USAGE, "the event's data was given twice; leave out one");
    return steer(cli, PAWL_OP_RAISE, 1);
}

int verb_steer(struct cli *cli)
{
    pawl_op op;
    assert_that(operation_of_word(cli->verb->name, &op));
    return steer(cli, op, cli->word_count);
}

static int prune_all(struct cli *cli, struct session *session, pawl_reply *total)
{
    const pawl_request *request =
        PAWL_REQUEST(.op = PAWL_OP_PRUNE, .before_ms = clock_wall_ms() - cli->args.older_than_ms);
    pawl_reply reply;
    do {
        if (session_write(session, request, &reply) != PAWL_OK)
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
    status = prune_all(cli, &session, &total);
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
