/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_queue.c -- pawl queue …: the queues of a server, from a shell.
 *
 * Each deed (a verb's second word) is a row: its words, the flags that it takes, and its call of the
 * HTTP API.  The answer of the server is printed as it is, or only the
 * part that a person wants; -o jsonl prints one line per item (deed_out.c).
 */
#include "base/clock.h"
#include "cli/deed.h"
#include "cli/flags.h"
#include "cli/out.h"

#include <string.h>

#define PAGE_MAX    1000
#define WAIT_MAX_MS 30000 /* as long as a server waits in one call */

/* ---- Bodies --------------------------------------------------------------------------- */

void deed_text(pawl_json *w, const char *key, const char *text)
{
    if (!text)
        return;
    pawl_json_key(w, key);
    pawl_json_cstr(w, text);
}

void deed_seconds(pawl_json *w, const char *key, int64_t ms)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld.%03lld", (long long)(ms / 1000),
                   (long long)(ms % 1000));
    pawl_json_key(w, key);
    pawl_json_raw(w, pawl_s(text));
}

static void number(pawl_json *w, const char *key, uint64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)n);
}

static int body_of_ack(struct cli *cli, pawl_json *w)
{
    if (cli->word_count == 3) {
        deed_text(w, "lock_id", cli->words[2]);
        return 0;
    }
    pawl_json_key(w, "lock_ids");
    pawl_json_array(w);
    for (size_t i = 2; i < cli->word_count; i++)
        pawl_json_cstr(w, cli->words[i]);
    pawl_json_end(w);
    return 0;
}

static int body_of_lock(struct cli *cli, pawl_json *w)
{
    deed_text(w, "lock_id", cli->words[2]);
    deed_text(w, "reason", cli->args.reason);
    if (cli->args.ttl_ms)
        deed_seconds(w, "ttl_seconds", cli->args.ttl_ms);
    if (cli->args.delay_ms >= 0)
        deed_seconds(w, "delay_seconds", cli->args.delay_ms);
    return 0;
}

static int body_of_purge(struct cli *cli, pawl_json *w)
{
    if (cli->args.priority != CLI_NOT_GIVEN)
        number(w, "priority", cli->args.priority);
    return 0;
}

static int body_of_redrive(struct cli *cli, pawl_json *w)
{
    deed_text(w, "target", cli->args.target);
    if (cli->args.most)
        number(w, "max", cli->args.most);
    if (cli->args.rate)
        number(w, "rate_per_second", cli->args.rate);
    return 0;
}

/* SETTING=VALUE: JSON, or else a text. */
static int add_setting(struct cli *cli, pawl_json *w, const char *word)
{
    const char *equal = strchr(word, '=');
    if (!equal || equal == word)
        return cli_fail(cli, EXIT_USAGE,
                        "'%s' is no setting; write SETTING=VALUE, such as max_locks=0", word);
    pawl_str value = pawl_s(equal + 1);
    pawl_json_key(w, pawl_mem_dup(cli->mem, (pawl_str){word, (size_t)(equal - word)}).ptr);
    if (pawl_json_valid(value, NULL))
        pawl_json_raw(w, value);
    else
        pawl_json_str(w, value);
    return 0;
}

static int body_of_config(struct cli *cli, pawl_json *w)
{
    int status = 0;
    for (size_t i = 2; i < cli->word_count && !status; i++)
        status = add_setting(cli, w, cli->words[i]);
    return status;
}

/* ---- Paths ---------------------------------------------------------------------------- */

static pawl_str pop_path(struct cli *cli, pawl_str path, int64_t wait_ms)
{
    const struct args *a = &cli->args;
    if (a->ack)
        path = deed_with(cli, path, "require_ack", "true");
    if (a->ttl_ms)
        path = deed_with_number(cli, path, "ttl_seconds", (uint64_t)(a->ttl_ms + 999) / 1000);
    if (a->count)
        path = deed_with_number(cli, path, "count", a->count);
    if (a->max_priority != CLI_NOT_GIVEN)
        path = deed_with_number(cli, path, "max_priority", a->max_priority);
    if (wait_ms)
        path = deed_with_number(cli, path, "wait_seconds", (uint64_t)(wait_ms + 999) / 1000);
    if (a->output == OUTPUT_JSONL || a->output == OUTPUT_IDS)
        path = deed_with(cli, path, "meta", "true");
    return path;
}

/* Ask for `left` rows; 0: the server chooses how many. */
static pawl_str page_path(struct cli *cli, pawl_str path, const char *after, uint64_t left)
{
    static const char *const states[] = {NULL, "ready", "delayed", "locked"};
    const struct args *a = &cli->args;
    if (left)
        path = deed_with_number(cli, path, "limit", left < PAGE_MAX ? left : PAGE_MAX);
    if (a->prefix)
        path = deed_with(cli, path, "prefix", a->prefix);
    if (a->priority != CLI_NOT_GIVEN)
        path = deed_with_number(cli, path, "priority", a->priority);
    if (a->message_state)
        path = deed_with(cli, path, "state", states[a->message_state]);
    return after ? deed_with(cli, path, "after", after) : path;
}

pawl_str deed_path(struct cli *cli, const char *rest)
{
    if (!rest)
        return pawl_s("/queue");
    return pawl_mem_printf(cli->mem, "/queue/%s%s", http_escape(cli->mem, cli->words[1]).ptr, rest);
}

/* ---- Calls ---------------------------------------------------------------------------- */

int deed_call(struct cli *cli, struct session *s, const char *method, pawl_str path, pawl_str body,
              const char *headers, pawl_str *ret)
{
    struct http_reply answer;
    pawl_error err;
    *ret = (pawl_str){0};
    if (remote_call(s->remote, method, path.ptr, body, headers, cli->mem, &answer, &err) != PAWL_OK)
        return answer.status == 405
                   ? cli_fail(cli, EXIT_USAGE, "%s cannot do that: its version has no '%s %s'",
                              http_url(s->remote), cli->verb->name, cli->words[0])
                   : cli_fail_error(cli, &err);
    *ret = answer.body;
    return 0;
}

static int run_simple(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_str body = {0}, answer;
    pawl_str path = deed_path(cli, deed->path);
    if (deed->body) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        int status = deed->body(cli, w);
        pawl_json_end(w);
        if (status)
            return status;
        body = pawl_json_done(w);
    }
    if (cli->args.force)
        path = deed_with(cli, path, "force", "true");
    int status = deed_call(cli, s, deed->method, path, body, NULL, &answer);
    return status ? status : deed_print(cli, deed, answer);
}

/* When several are acknowledged and some are gone, the server answers 207. */
static int run_ack(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_str answer;
    pawl_json_object(w);
    (void)body_of_ack(cli, w);
    pawl_json_end(w);
    int status =
        deed_call(cli, s, "POST", deed_path(cli, deed->path), pawl_json_done(w), NULL, &answer);
    if (status)
        return status;
    (void)deed_print(cli, deed, answer);
    return pawl_json_bool(answer, "/success", true) ? EXIT_OK : EXIT_NOT_THERE;
}

/* A server waits for half a minute at most.  Ask again until the user's time is over. */
static int run_pop(struct cli *cli, struct session *s, const struct deed *deed)
{
    int64_t end = clock_mono_ms() + cli->args.wait_ms, left = cli->args.wait_ms;
    for (;;) {
        pawl_str answer, path = pop_path(cli, deed_path(cli, deed->path),
                                         left < WAIT_MAX_MS ? left : WAIT_MAX_MS);
        int status = deed_call(cli, s, "POST", path, (pawl_str){0}, NULL, &answer);
        if (status)
            return status;
        left = end - clock_mono_ms();
        if (pawl_json_int(answer, "/count", 0) > 0 || left <= 0)
            return deed_print(cli, deed, answer);
    }
}

/* ls, peek: page by page with --all, and until --limit. */
static int run_pages(struct cli *cli, struct session *s, const struct deed *deed)
{
    struct deed_pages pages;
    const char *after = cli->args.after;
    int status = deed_pages_begin(&pages, cli, deed);
    bool more;
    do {
        pawl_str answer;
        uint64_t left = cli->args.all     ? PAGE_MAX
                        : cli->args.limit ? cli->args.limit - pages.count
                                          : 0;
        pawl_str path = page_path(cli, deed_path(cli, deed->path), after, left);
        if (!status)
            status = deed_call(cli, s, "GET", path, (pawl_str){0}, NULL, &answer);
        if (status)
            return status;
        deed_pages_add(&pages, answer);
        pawl_str next = pawl_json_text(cli->mem, answer, "/next", "");
        after = next.len ? next.ptr : NULL;
        more = after && (cli->args.all || pages.count < cli->args.limit);
    } while (more);
    deed_pages_end(&pages, after);
    return EXIT_OK;
}

static int run_config(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_str body = {0}, answer;
    const char *method = cli->word_count == 2 ? "GET" : cli->args.replace ? "PUT" : "PATCH";
    const char *first = cli->word_count == 3 ? cli->words[2] : "";
    if (cli->args.replace && cli->word_count == 2)
        return cli_fail(cli, EXIT_USAGE, "say which configuration: '{}' has all defaults");
    int status = 0;
    if (first[0] == '{' || first[0] == '@' || strcmp(first, "-") == 0) {
        status = session_payload(cli, "the configuration", first, &body);
    } else if (cli->word_count > 2) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        status = body_of_config(cli, w);
        pawl_json_end(w);
        body = pawl_json_done(w);
    }
    if (!status)
        status = deed_call(cli, s, method, deed_path(cli, deed->path), body, NULL, &answer);
    return status ? status : deed_print(cli, deed, answer);
}

static int run_revoke(struct cli *cli, struct session *s, const struct deed *deed)
{
    int worst = 0;
    for (size_t i = 2; i < cli->word_count; i++) {
        pawl_str answer, id = http_escape(cli->mem, cli->words[i]);
        pawl_str path = deed_path(cli, pawl_mem_printf(cli->mem, "/messages/%s", id.ptr).ptr);
        int status = deed_call(cli, s, "DELETE", path, (pawl_str){0}, NULL, &answer);
        if (!status)
            status = deed_print(cli, deed, answer);
        worst = worst ? worst : status;
    }
    return worst;
}

/* ---- The table -------------------------------------------------------------------------- */

#define ANY 1000

/* clang-format off */
static const struct deed deeds[] = {
    {"ls",         "",                           1, 1,   "prefix limit after all", run_pages, "GET", NULL, NULL, "queues", "name"},
    {"push",       "QUEUE [JSON]",               2, 3,   "priority delay dedup-id group key expires-in headers", deed_push, "POST", "/push", NULL, NULL, NULL},
    {"pop",        "QUEUE",                      2, 2,   "ack ttl wait count max-priority", run_pop, "POST", "/pop", NULL, "messages", "id"},
    {"ack",        "QUEUE LOCK...",              3, ANY, "", run_ack, "POST", "/acknowledge", NULL, "results", "lock_id"},
    {"extend",     "QUEUE LOCK",                 3, 3,   "ttl", run_simple, "POST", "/extend-lock", body_of_lock, NULL, NULL},
    {"release",    "QUEUE LOCK",                 3, 3,   "delay reason", run_simple, "POST", "/release", body_of_lock, NULL, NULL},
    {"deadletter", "QUEUE LOCK",                 3, 3,   "reason", run_simple, "POST", "/deadletter", body_of_lock, NULL, NULL},
    {"peek",       "QUEUE",                      2, 2,   "limit after all state priority", run_pages, "GET", "/messages", NULL, "messages", "id"},
    {"stats",      "QUEUE",                      2, 2,   "", run_simple, "GET", "", NULL, NULL, NULL},
    {"locks",      "QUEUE",                      2, 2,   "", run_pages, "GET", "/locks", NULL, "locks", "lock_id"},
    {"config",     "QUEUE [SETTING=VALUE...|JSON]", 2, ANY, "replace", run_config, NULL, "/config", NULL, NULL, NULL},
    {"pause",      "QUEUE",                      2, 2,   "", run_simple, "POST", "/pause", NULL, NULL, NULL},
    {"resume",     "QUEUE",                      2, 2,   "", run_simple, "POST", "/resume", NULL, NULL, NULL},
    {"redrive",    "QUEUE",                      2, 2,   "max target rate", run_simple, "POST", "/redrive", body_of_redrive, NULL, NULL},
    {"purge",      "QUEUE",                      2, 2,   "priority", run_simple, "POST", "/purge", body_of_purge, NULL, NULL},
    {"revoke",     "QUEUE MESSAGE...",           3, ANY, "", run_revoke, "DELETE", NULL, NULL, NULL, NULL},
    {"rm",         "QUEUE",                      2, 2,   "force", run_simple, "DELETE", "", NULL, NULL, NULL},
};
/* clang-format on */

int verb_queue(struct cli *cli)
{
    const struct deed *deed;
    int status = deed_find(cli, deeds, COUNT_OF(deeds), TAKES_QUEUE, &deed);
    return status ? status : deed_run(cli, deed);
}
