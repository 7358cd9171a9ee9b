/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_queue.c -- pawl queue …: the queues of a server, from a shell.
 *
 * Each is one call of the HTTP API; what it answers is printed as it came, or
 * the one thing a person wants of it.
 */
#include "cli/out.h"
#include "cli/session.h"

#include <string.h>

/* One sub-verb: how many words it needs, and its call. */
struct deed {
    const char *word;
    size_t words;              /* after "queue", itself included */
    const char *method, *path; /* after /queue/NAME */
    int (*body)(struct cli *cli, pawl_str *ret);
};

static int body_of_push(struct cli *cli, pawl_str *ret)
{
    pawl_str item;
    int status = session_payload(cli, "the item", cli->words[2], &item);
    if (status)
        return status;
    *ret = pawl_mem_printf(cli->mem, "{\"item\":%.*s,\"priority\":%llu}", PAWL_FMT(item),
                           (unsigned long long)cli->args.priority);
    return 0;
}

static int body_of_ack(struct cli *cli, pawl_str *ret)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "lock_id");
    pawl_json_cstr(w, cli->words[2]);
    pawl_json_end(w);
    *ret = pawl_json_done(w);
    return 0;
}

static const struct deed deeds[] = {
    {"ls",      1, "GET",  NULL,           NULL        },
    {"push",    3, "POST", "/push",        body_of_push},
    {"pop",     2, "POST", "/pop",         NULL        },
    {"ack",     3, "POST", "/acknowledge", body_of_ack },
    {"peek",    2, "GET",  "/messages",    NULL        },
    {"stats",   2, "GET",  "",             NULL        },
    {"redrive", 2, "POST", "/redrive",     NULL        },
    {"purge",   2, "POST", "/purge",       NULL        },
};

static const struct deed *find_deed(const struct cli *cli)
{
    for (size_t i = 0; i < COUNT_OF(deeds); i++)
        if (strcmp(deeds[i].word, cli->words[0]) == 0 && cli->word_count == deeds[i].words)
            return &deeds[i];
    return NULL;
}

static pawl_str path_of(struct cli *cli, const struct deed *deed)
{
    if (!deed->path)
        return pawl_s("/queue?limit=1000");
    pawl_str name = http_escape(cli->mem, cli->words[1]);
    pawl_str path = pawl_mem_printf(cli->mem, "/queue/%s%s", name.ptr, deed->path);
    if (strcmp(deed->word, "pop") != 0)
        return path;
    char sep = '?';
    if (cli->args.ack) {
        path = pawl_mem_printf(cli->mem, "%s%crequire_ack=true", path.ptr, sep);
        sep = '&';
    }
    if (cli->args.ttl_ms) {
        path = pawl_mem_printf(cli->mem, "%s%cttl_seconds=%lld", path.ptr, sep,
                               (long long)(cli->args.ttl_ms + 999) / 1000);
        sep = '&';
    }
    if (cli->args.wait_ms)
        path = pawl_mem_printf(cli->mem, "%s%cwait_seconds=%lld", path.ptr, sep,
                               (long long)(cli->args.wait_ms + 999) / 1000);
    return path;
}

static void print_raw(struct cli *cli, pawl_str json)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_raw(w, json);
    out_json(cli, w);
}

static void print_queues(struct cli *cli, pawl_str body)
{
    int64_t count = pawl_json_count(body, "/queues");
    for (int64_t i = 0; i < count; i++) {
        pawl_str one =
            pawl_json_get(body, pawl_mem_printf(cli->mem, "/queues/%lld", (long long)i).ptr);
        pawl_str name = out_clean(cli->mem, pawl_json_text(cli->mem, one, "/name", ""));
        if (cli->args.output == OUTPUT_TABLE)
            printf("%-32.*s  ready %lld  delayed %lld  locked %lld\n", PAWL_FMT(name),
                   (long long)pawl_json_int(one, "/ready", 0),
                   (long long)pawl_json_int(one, "/delayed", 0),
                   (long long)pawl_json_int(one, "/locked", 0));
        else
            printf("%.*s\n", PAWL_FMT(name));
    }
}

/* Exit status of an answer: an empty pop is a time-out of a kind. */
static int print_answer(struct cli *cli, const struct deed *deed, pawl_str body)
{
    bool plain = cli->args.output == OUTPUT_TABLE;
    if (!deed->path && (plain || cli->args.output == OUTPUT_IDS)) {
        print_queues(cli, body);
        return EXIT_OK;
    }
    bool pop = strcmp(deed->word, "pop") == 0;
    bool empty = pop && pawl_json_int(body, "/count", 0) == 0;
    if (empty && plain)
        cli_note(cli, "queue '%s' has nothing ready", cli->words[1]);
    else if (pop && plain && !cli->args.ack)
        print_raw(cli, pawl_json_get(body, "/items/0"));
    else
        print_raw(cli, body);
    return empty ? EXIT_TIMEOUT : EXIT_OK;
}

int verb_queue(struct cli *cli)
{
    const struct deed *deed = find_deed(cli);
    pawl_str body = {0};
    if (!deed)
        return cli_fail(cli, EXIT_USAGE,
                        "say what: ls, push QUEUE JSON, pop QUEUE, ack QUEUE LOCK, peek QUEUE, "
                        "stats QUEUE, redrive QUEUE or purge QUEUE; see: %s queue --help",
                        cli->prog);
    int status = deed->body ? deed->body(cli, &body) : 0;
    struct session session;
    if (status || (status = session_open(cli, SESSION_LOOK, &session)))
        return status;
    struct http_reply answer;
    pawl_error err;
    if (remote_call(session.remote, deed->method, path_of(cli, deed).ptr, body, NULL, cli->mem,
                    &answer, &err) == PAWL_OK)
        status = print_answer(cli, deed, answer.body);
    else
        status = cli_fail_error(cli, &err);
    session_close(&session);
    return status;
}
