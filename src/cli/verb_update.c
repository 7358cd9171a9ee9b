/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_update.c -- pawl update: ask the code of an instance, and print its answer.
 *
 * Each call has a key, the user's or one that is made up: after a time-out the same command with it
 * gives the answer.  A server is asked with POST …/updates/NAME; its waits are at most a minute, so a
 * longer one is asked again under its key.
 */
#include "base/clock.h"
#include "base/rand.h"
#include "cli/out.h"
#include "cli/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WAIT_MS     10000
#define ONE_WAIT_MS 60000 /* of a server */

struct asked_update {
    struct cli *cli;
    const char *id, *name, *key;
    pawl_str data;
    int64_t until_ms; /* mono */
    pawl_result result;
    pawl_error err;
};

static const char *made_key(struct cli *cli)
{
    uint8_t bits[10];
    char *key = pawl_mem_alloc(cli->mem, 37);
    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
        memset(bits, 0x5a, sizeof(bits));
    uuid7_format(key, clock_wall_ms(), bits);
    return key;
}

static int64_t left(const struct asked_update *u)
{
    int64_t ms = u->until_ms - clock_mono_ms();
    return ms > 0 ? ms : 0;
}

/* One request of at most a minute. */
static pawl_status ask_once(struct asked_update *u, struct session *s)
{
    struct http_reply answer = {0};
    pawl_mem *mem = u->cli->mem;
    int64_t wait = left(u) < ONE_WAIT_MS ? left(u) : ONE_WAIT_MS;
    pawl_str path = pawl_mem_printf(mem, "/api/v1/instances/%s/updates/%s?timeout_ms=%lld",
                                    http_escape(mem, u->id).ptr, http_escape(mem, u->name).ptr,
                                    (long long)wait);
    pawl_str header = pawl_mem_printf(mem, "Idempotency-Key: %s\r\n", u->key);
    pawl_status rc =
        remote_call(s->remote, "POST", path.ptr, u->data, header.ptr, mem, &answer, &u->err);
    if (rc == PAWL_CONFLICT &&
        pawl_str_is(pawl_json_text(mem, answer.body, "/error/code", ""), "rejected")) {
        u->result = (pawl_result){.value = pawl_json_text(mem, answer.body, "/error/message", "")};
        return PAWL_OK;
    }
    if (rc != PAWL_OK)
        return rc;
    u->result = (pawl_result){.ok = true, .value = pawl_json_get(answer.body, "/result")};
    return u->result.value.len ? PAWL_OK : PAWL_TIMEOUT;
}

static pawl_status ask(struct asked_update *u, struct session *s)
{
    pawl_status rc;
    if (!s->remote)
        return pawl_client_update(s->client, u->id, u->name, u->data,
                                  PAWL_UPDATE_OPTS(.idempotency_key = u->key), left(u), u->cli->mem,
                                  &u->result, &u->err);
    do
        rc = ask_once(u, s);
    while (rc == PAWL_TIMEOUT && left(u) > 0);
    return rc;
}

static int report(struct asked_update *u, pawl_status rc)
{
    struct cli *cli = u->cli;
    if (rc == PAWL_TIMEOUT)
        return cli_fail(cli, EXIT_TIMEOUT,
                        "%s: not answered yet; ask again: %s update %s %s … --key %s", u->id,
                        cli->prog, u->id, u->name, u->key);
    if (rc != PAWL_OK)
        return cli_fail_error(cli, &u->err);
    if (!u->result.ok)
        return cli_fail(cli, EXIT_FAILED, "%s: rejected: %.*s", u->id, PAWL_FMT(u->result.value));
    if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(u->key));
    else
        puts(out_clean(cli->mem, u->result.value).ptr);
    return EXIT_OK;
}

int verb_update(struct cli *cli)
{
    struct session session;
    struct asked_update u = {.cli = cli,
                             .id = cli->words[0],
                             .name = cli->words[1],
                             .key = cli->args.key ? cli->args.key : made_key(cli)};
    int status = session_payload(cli, "the update's data",
                                 cli->word_count > 2 ? cli->words[2] : NULL, &u.data);
    if (!status && !session_is_remote(cli))
        status = session_load(cli);
    if (!status)
        status = session_open(cli, SESSION_START, &session);
    if (status)
        return status;
    u.until_ms = clock_mono_ms() + (cli->args.timeout_ms > 0 ? cli->args.timeout_ms : WAIT_MS);
    status = report(&u, ask(&u, &session));
    session_close(&session);
    return status;
}
