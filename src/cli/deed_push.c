/* SPDX-License-Identifier: MIT */
/*
 * cli/deed_push.c -- pawl queue push: one item, or the lines of standard input.
 *
 * All lines are read and checked before any is pushed, in batches.  With --key every batch has a
 * key made from it, so that repeating the command pushes nothing twice.
 */
#include "base/buf.h"
#include "cli/deed.h"
#include "cli/out.h"

#include <string.h>
#include <unistd.h>

#define BATCH_ITEMS 1000
#define BATCH_BYTES (1U << 20)

/* ---- Lines ------------------------------------------------------------------------------ */

/* The next line that is not blank; false at the end. */
static bool next_line(pawl_str *rest, size_t *number, pawl_str *ret)
{
    while (rest->len) {
        const char *end = memchr(rest->ptr, '\n', rest->len);
        size_t n = end ? (size_t)(end - rest->ptr) : rest->len, skip = end ? n + 1 : n;
        *ret = (pawl_str){rest->ptr, n};
        rest->ptr += skip;
        rest->len -= skip;
        ++*number;
        while (ret->len && strchr(" \t\r", ret->ptr[ret->len - 1]))
            ret->len--;
        while (ret->len && strchr(" \t\r", ret->ptr[0])) {
            ret->ptr++;
            ret->len--;
        }
        if (ret->len)
            return true;
    }
    return false;
}

/* Every line a JSON value; 0 with how many, or an exit status. */
static int check_lines(struct cli *cli, pawl_str text, size_t *retcount)
{
    size_t number = 0, offset;
    pawl_str line;
    for (*retcount = 0; next_line(&text, &number, &line); ++*retcount)
        if (!pawl_json_valid(line, &offset))
            return cli_fail(cli, EXIT_USAGE,
                            "line %zu of the items is not JSON at byte %zu; nothing was pushed: "
                            "give one JSON value, or one a line",
                            number, offset);
    return 0;
}

/* ---- Bodies ----------------------------------------------------------------------------- */

/* The members of an item that the flags give; checked once, before anything is sent. */
static int write_options(struct cli *cli, pawl_json *w)
{
    const struct args *a = &cli->args;
    if (a->priority != CLI_NOT_GIVEN) {
        pawl_json_key(w, "priority");
        pawl_json_num(w, (int64_t)a->priority);
    }
    deed_text(w, "dedup_id", a->dedup_id);
    deed_text(w, "group", a->group);
    if (a->delay_ms >= 0)
        deed_seconds(w, "delay_seconds", a->delay_ms);
    if (a->expires_ms)
        deed_seconds(w, "expires_in_seconds", a->expires_ms);
    if (!a->headers)
        return 0;
    pawl_str headers;
    int status = session_payload(cli, "--headers", a->headers, &headers);
    if (!status && (!headers.len || headers.ptr[0] != '{'))
        status = cli_fail(cli, EXIT_USAGE, "--headers must be a JSON object");
    if (status)
        return status;
    pawl_json_key(w, "headers");
    pawl_json_raw(w, headers);
    return 0;
}

int deed_key_header(struct cli *cli, size_t batch, const char **ret)
{
    const char *key = cli->args.key;
    *ret = NULL;
    if (!key)
        return 0;
    if (!key[0] || strpbrk(key, "\r\n"))
        return cli_fail(cli, EXIT_USAGE, "--key is empty or has a line end; give a text");
    *ret = (batch ? pawl_mem_printf(cli->mem, "Idempotency-Key: %s.%zu\r\n", key, batch)
                  : pawl_mem_printf(cli->mem, "Idempotency-Key: %s\r\n", key))
               .ptr;
    return 0;
}

static int push_one(struct cli *cli, struct session *s, const struct deed *deed, pawl_str item)
{
    pawl_json *w = pawl_json_new(cli->mem);
    const char *header;
    pawl_str answer;
    pawl_json_object(w);
    pawl_json_key(w, "item");
    pawl_json_raw(w, item);
    int status = write_options(cli, w);
    pawl_json_end(w);
    if (!status)
        status = deed_key_header(cli, 0, &header);
    if (!status)
        status = deed_call(cli, s, "POST", deed_path(cli, deed->path), pawl_json_done(w), header,
                           &answer);
    if (status)
        return status;
    pawl_str id = pawl_json_get(answer, "/id");
    if (cli->args.output == OUTPUT_IDS && id.ptr)
        out_id(cli, pawl_json_text(cli->mem, id, "", ""));
    else
        out_value(cli, answer);
    return EXIT_OK;
}

/* ---- Many ------------------------------------------------------------------------------- */

struct push_stream {
    struct cli *cli;
    struct session *session;
    const struct deed *deed;
    pawl_mem *mem; /* of one batch */
    size_t batch;
    uint64_t pushed, lines;
};

/* Take lines until the batch is full; false when there was none left. */
static int compose_batch(struct push_stream *b, pawl_str *rest, pawl_json *w)
{
    size_t items = 0, bytes = 0, number = 0;
    pawl_str line, before = *rest;
    int status = 0;
    pawl_json_object(w);
    pawl_json_key(w, "items");
    pawl_json_array(w);
    while (!status && items < BATCH_ITEMS && next_line(rest, &number, &line)) {
        if (items && bytes + line.len > BATCH_BYTES) {
            *rest = before;
            break;
        }
        pawl_json_object(w);
        pawl_json_key(w, "item");
        pawl_json_raw(w, line);
        status = write_options(b->cli, w);
        pawl_json_end(w);
        before = *rest;
        bytes += line.len;
        items++;
    }
    pawl_json_end(w);
    pawl_json_end(w);
    b->lines += items;
    return status;
}

static int push_batch(struct push_stream *b, pawl_str *rest)
{
    struct cli one = *b->cli; /* its memory is the batch's */
    const char *header;
    pawl_str answer;
    pawl_mem_reset(b->mem);
    one.mem = b->mem;
    pawl_json *w = pawl_json_new(b->mem);
    int status = compose_batch(b, rest, w);
    if (!status)
        status = deed_key_header(&one, b->batch++, &header);
    if (!status)
        status = deed_call(&one, b->session, "POST", deed_path(&one, b->deed->path),
                           pawl_json_done(w), header, &answer);
    if (status)
        return status;
    b->pushed += (uint64_t)pawl_json_int(answer, "/items_pushed", 0);
    if (b->cli->args.output == OUTPUT_JSONL) {
        out_value(b->cli, answer);
    } else if (b->cli->args.output == OUTPUT_IDS) {
        int64_t count = pawl_json_count(answer, "/ids");
        for (int64_t i = 0; i < count; i++)
            out_id(b->cli,
                   pawl_json_text(b->mem, answer,
                                  pawl_mem_printf(b->mem, "/ids/%lld", (long long)i).ptr, ""));
    }
    return 0;
}

static int push_lines(struct cli *cli, struct session *s, const struct deed *deed, pawl_str text,
                      size_t count)
{
    struct push_stream b = {.cli = cli, .session = s, .deed = deed, .mem = pawl_mem_new()};
    int status = 0;
    if (cli->args.dedup_id)
        status =
            cli_fail(cli, EXIT_USAGE,
                     "--dedup-id with %zu items would drop all but the first; use --key", count);
    while (!status && b.lines < count)
        status = push_batch(&b, &text);
    pawl_mem_free(b.mem);
    if (status && b.pushed)
        cli_trouble(cli, "%llu items were pushed before that", (unsigned long long)b.pushed);
    if (cli->args.output == OUTPUT_TABLE || cli->args.output == OUTPUT_JSON) {
        pawl_json *w = pawl_json_new(cli->mem);
        pawl_json_object(w);
        pawl_json_key(w, "success");
        pawl_json_truth(w, !status);
        pawl_json_key(w, "items_pushed");
        pawl_json_num(w, (int64_t)b.pushed);
        pawl_json_end(w);
        if (!status)
            out_json(cli, w);
    }
    return status;
}

int deed_push(struct cli *cli, struct session *s, const struct deed *deed)
{
    pawl_str text;
    size_t count = 0;
    bool reads = cli->word_count == 2 || strcmp(cli->words[2], "-") == 0;
    if (cli->word_count == 2 && isatty(STDIN_FILENO))
        return cli_fail(cli, EXIT_USAGE,
                        "say what: %s queue push QUEUE JSON, or lines of JSON on standard input",
                        cli->prog);
    int status = session_text(cli, reads ? "-" : cli->words[2], &text);
    if (status)
        return status;
    if (!text.len)
        return cli_fail(cli, EXIT_USAGE, "there is no item %s",
                        reads ? "on standard input" : "in what was given");
    if (pawl_json_valid(text, NULL))
        return push_one(cli, s, deed, text);
    if (!reads && cli->words[2][0] != '@')
        return session_payload(cli, "the item", cli->words[2], &text);
    status = check_lines(cli, text, &count);
    return status ? status : push_lines(cli, s, deed, text, count);
}
