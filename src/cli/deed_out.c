/* SPDX-License-Identifier: MIT */
/*
 * cli/deed_out.c -- print the answers of a server about a queue, for people and programs.
 *
 * -o json is the answer as it came, -o jsonl one line for each thing in it, -o ids
 * what names them.  A pop prints items; with --ack and -o jsonl messages, each
 * with a lock id of its own.
 */
#include "base/json.h"
#include "cli/deed.h"
#include "cli/out.h"

#include <string.h>

static pawl_str member(struct cli *cli, pawl_str object, const char *key)
{
    return pawl_json_get(object, pawl_mem_printf(cli->mem, "/%s", key).ptr);
}

/* The id of a thing, a text or a number. */
static void print_id(struct cli *cli, pawl_str thing, const char *id)
{
    pawl_str raw = member(cli, thing, id);
    if (raw.ptr)
        out_id(cli, json_type(raw) == JSON_STRING ? pawl_json_text(cli->mem, raw, "", "") : raw);
}

static void print_queue(struct cli *cli, pawl_str one)
{
    pawl_str name = out_clean(cli->mem, pawl_json_text(cli->mem, one, "/name", ""));
    printf("%-32.*s  ready %lld  delayed %lld  locked %lld%s\n", PAWL_FMT(name),
           (long long)pawl_json_int(one, "/ready", 0), (long long)pawl_json_int(one, "/delayed", 0),
           (long long)pawl_json_int(one, "/locked", 0),
           pawl_json_bool(one, "/paused", false) ? "  paused" : "");
}

/* ---- One answer ----------------------------------------------------------------------- */

/* Item and message i of a pop as one object. */
static void print_message(struct cli *cli, pawl_str item, pawl_str message)
{
    pawl_json *w = pawl_json_new(cli->mem);
    struct json_iter it;
    pawl_json_object(w);
    pawl_json_key(w, "item");
    pawl_json_raw(w, item);
    if (message.ptr)
        for (json_begin(&it, message); json_next(&it);) {
            pawl_json_key(w, pawl_mem_dup(cli->mem, it.key).ptr);
            pawl_json_raw(w, it.value);
        }
    pawl_json_end(w);
    out_json(cli, w);
}

static int print_popped(struct cli *cli, const struct deed *deed, pawl_str answer)
{
    pawl_str items = pawl_json_get(answer, "/items"), messages = pawl_json_get(answer, "/messages");
    bool any = pawl_json_int(answer, "/count", 0) > 0;
    int output = cli->args.output;
    struct json_iter it, of;
    if (output == OUTPUT_JSON || (output == OUTPUT_TABLE && cli->args.ack && any)) {
        out_value(cli, answer);
        return any ? EXIT_OK : EXIT_TIMEOUT;
    }
    if (!any && output == OUTPUT_TABLE)
        return cli_fail(cli, EXIT_TIMEOUT, "queue '%s' has nothing ready", cli->words[1]);
    if (messages.ptr)
        json_begin(&of, messages);
    if (items.ptr)
        for (json_begin(&it, items); json_next(&it);) {
            pawl_str message = messages.ptr && json_next(&of) ? of.value : (pawl_str){0};
            if (output == OUTPUT_IDS)
                print_id(cli, message, deed->id);
            else if (output == OUTPUT_JSONL && cli->args.ack)
                print_message(cli, it.value, message);
            else
                out_value(cli, it.value);
        }
    return any ? EXIT_OK : EXIT_TIMEOUT;
}

int deed_print(struct cli *cli, const struct deed *deed, pawl_str answer)
{
    pawl_str list = deed->list ? member(cli, answer, deed->list) : (pawl_str){0};
    struct json_iter it;
    if (strcmp(deed->word, "pop") == 0)
        return print_popped(cli, deed, answer);
    if (list.ptr && (cli->args.output == OUTPUT_JSONL || cli->args.output == OUTPUT_IDS)) {
        for (json_begin(&it, list); json_next(&it);)
            if (cli->args.output == OUTPUT_IDS)
                print_id(cli, it.value, deed->id);
            else
                out_value(cli, it.value);
    } else if (cli->args.output == OUTPUT_IDS) {
        out_id(cli, pawl_s(cli->words[1]));
    } else {
        out_value(cli, answer);
    }
    return EXIT_OK;
}

/* ---- Pages ---------------------------------------------------------------------------- */

int deed_pages_begin(struct deed_pages *p, struct cli *cli, const struct deed *deed)
{
    bool names = !deed->path; /* of queues: a table is not JSON */
    *p = (struct deed_pages){.cli = cli, .deed = deed};
    if (cli->args.output == OUTPUT_JSONL || cli->args.output == OUTPUT_IDS ||
        (names && cli->args.output == OUTPUT_TABLE))
        return 0;
    p->w = pawl_json_new(cli->mem);
    pawl_json_object(p->w);
    pawl_json_key(p->w, deed->list);
    pawl_json_array(p->w);
    return 0;
}

void deed_pages_add(struct deed_pages *p, pawl_str answer)
{
    pawl_str list = member(p->cli, answer, p->deed->list);
    struct json_iter it;
    if (!list.ptr)
        return;
    for (json_begin(&it, list); json_next(&it); p->count++) {
        if (p->w)
            pawl_json_raw(p->w, it.value);
        else if (p->cli->args.output == OUTPUT_IDS)
            print_id(p->cli, it.value, p->deed->id);
        else if (p->cli->args.output == OUTPUT_JSONL)
            out_value(p->cli, it.value);
        else
            print_queue(p->cli, it.value);
    }
}

void deed_pages_end(struct deed_pages *p, const char *next)
{
    if (p->w) {
        pawl_json_end(p->w);
        pawl_json_key(p->w, "next");
        pawl_json_cstr(p->w, next);
        pawl_json_end(p->w);
        out_json(p->cli, p->w);
    } else if (next) {
        cli_note(p->cli, "there is more: --after %s, or --all", next);
    } else if (!p->count && p->cli->args.output == OUTPUT_TABLE) {
        cli_note(p->cli, "no queues%s", p->cli->args.prefix ? " with that prefix" : " yet");
    }
}
