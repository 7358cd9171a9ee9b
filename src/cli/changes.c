/* SPDX-License-Identifier: MIT */
/* cli/changes.c -- see changes.h. */
#include "cli/changes.h"

#include "base/clock.h"

#include <string.h>

#define RETRY_FIRST_MS 1000
#define RETRY_MOST_MS  5000
#define STREAM_MS      10000     /* for the head of the answer */
#define EVENT_MAX      (4 << 20) /* bytes; the server's have at most one megabyte */
#define NAME_MAX_BYTES 64

int changes_begin(struct changes *c, struct cli *cli, const char *url)
{
    pawl_error err;
    *c = (struct changes){.mem = pawl_mem_new(), .pause_ms = RETRY_FIRST_MS};
    buf_init(&c->in, EVENT_MAX);
    c->http = http_open(url, cli->args.token, cli->args.ca, &err);
    return c->http ? 0 : cli_fail(cli, EXIT_USAGE, "%s", err.text);
}

void changes_end(struct changes *c)
{
    http_close(c->http);
    buf_deinit(&c->in);
    pawl_mem_free(c->mem);
}

int changes_fd(const struct changes *c)
{
    return c->open ? http_fd(c->http) : -1;
}

/* ---- Events ---------------------------------------------------------------------------- */

/* An event: its lines without the empty one that ends it. */
static void tell(const char *text, size_t len, changes_fn *fn, void *arg)
{
    char name[NAME_MAX_BYTES] = "message";
    pawl_str data = {0};
    for (const char *at = text, *end = text + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (n > 7 && memcmp(at, "event: ", 7) == 0)
            (void)snprintf(name, sizeof(name), "%.*s", (int)(n - 7), at + 7);
        else if (n > 6 && memcmp(at, "data: ", 6) == 0)
            data = (pawl_str){at + 6, n - 6}; /* this server's have one line */
        at += n + 1;
    }
    if (data.len)
        fn(arg, name, data);
}

void changes_parse(struct buf *in, changes_fn *fn, void *arg)
{
    size_t done = 0;
    for (;;) {
        const char *from = in->ptr ? in->ptr + done : NULL;
        const char *end = from ? memmem(from, in->len - done, "\n\n", 2) : NULL;
        if (!end)
            break;
        tell(from, (size_t)(end - from), fn, arg);
        done += (size_t)(end - from) + 2;
    }
    if (done) {
        memmove(in->ptr, in->ptr + done, in->len - done);
        in->len -= done;
        in->ptr[in->len] = 0;
    }
}

bool changes_tell_of(pawl_str data, const char *instance)
{
    pawl_mem *mem = pawl_mem_new();
    bool found = pawl_json_bool(data, "/more", false);
    pawl_json_iter it = pawl_json_each(data, "/instances");
    while (!found && pawl_json_next(&it))
        found = pawl_str_is(pawl_json_text(mem, it.value, "/instance", ""), instance);
    pawl_mem_free(mem);
    return found;
}

/* ---- The connection ---------------------------------------------------------------------- */

static void lose(struct changes *c, int64_t now_ms)
{
    c->open = false;
    buf_reset(&c->in);
    c->in.failed = false;
    c->again_ms = now_ms + c->pause_ms;
    c->pause_ms = c->pause_ms * 2 < RETRY_MOST_MS ? c->pause_ms * 2 : RETRY_MOST_MS;
}

static bool connect_stream(struct changes *c)
{
    struct http_reply reply = {0};
    pawl_mem_reset(c->mem);
    if (http_stream(c->http, "/api/v1/stream", STREAM_MS, c->mem, &reply, &c->trouble) != PAWL_OK)
        return false;
    if (reply.status == 200)
        return true;
    (void)snprintf(c->trouble.text, sizeof(c->trouble.text), "the stream answered %u: %s",
                   reply.status, pawl_json_text(c->mem, reply.body, "/error/message", "").ptr);
    return false;
}

void changes_hear(struct changes *c, int64_t now_ms, changes_fn *fn, void *arg)
{
    if (!c->http || (!c->open && now_ms < c->again_ms))
        return;
    if (!c->open) {
        if (!connect_stream(c)) {
            lose(c, clock_mono_ms());
            return;
        }
        c->open = true;
        c->pause_ms = RETRY_FIRST_MS;
        fn(arg, "open", (pawl_str){0});
    }
    bool open = http_stream_read(c->http, &c->in);
    changes_parse(&c->in, fn, arg);
    if (open && !c->in.failed)
        return;
    (void)snprintf(c->trouble.text, sizeof(c->trouble.text), "%s hung up", http_url(c->http));
    lose(c, now_ms);
}
