/* SPDX-License-Identifier: MIT */
/*
 * server/web_files.c -- the page for people: GET / in a browser, and the files it is made of.
 *
 * A file has an ETag from its bytes and is asked for again each time, so that a new binary shows
 * its own page at once and a page that did not change costs one 304.  The files hold no data and
 * need no token; what the page asks for does.
 *
 * GET / says where the API is to everything but a browser, which asks for text/html.
 */
#include "server/web_files.h"

#include "server/handlers.h"

#include <string.h>

/* Is the word in a list such as "gzip, br;q=0.5", and not refused by ;q=0? */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at && *at;) {
        at += strspn(at, " \t,");
        size_t len = strcspn(at, " \t,;");
        bool same = len == n && strncasecmp(at, word, n) == 0;
        size_t whole = strcspn(at, ",");
        const char *q = same ? memchr(at, '=', whole) : NULL;
        if (same)
            return !q || strspn(q + 1, "0.") < strcspn(q + 1, " \t,;");
        at += whole;
    }
    return false;
}

void web_keep_values(struct call *c, const struct head *head)
{
    pawl_str etag = head_get(head, "If-None-Match");
    c->given.wants_page = lists(head_get(head, "Accept").ptr, "text/html");
    c->given.takes_gzip = lists(head_get(head, "Accept-Encoding").ptr, "gzip");
    if (etag.ptr)
        c->given.has_etag = pawl_mem_dup(c->mem, etag).ptr;
}

static const struct web_file *find_file(const char *name)
{
    const struct web_file *f = web_files;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    return f->name ? f : NULL;
}

static void answer_file(struct call *c, const struct web_file *f)
{
    assert_that(f);
    pawl_str plain = {(const char *)f->plain, f->plain_len};
    pawl_str packed = {(const char *)f->packed, f->packed_len};
    bool same = c->given.has_etag && strstr(c->given.has_etag, f->etag);
    answer_text(c, same ? 304 : 200, f->type, c->given.takes_gzip ? packed : plain);
    c->answer.etag = f->etag;
    c->answer.encoding = c->given.takes_gzip ? "gzip" : NULL;
}

void handle_file(struct call *c)
{
    const struct web_file *f = find_file(c->args[0]);
    if (f)
        answer_file(c, f);
    else
        answer_error(c, 404, "unknown_path", "the page has no file '%.100s'", c->args[0]);
}

void handle_root(struct call *c)
{
    static const char page[] =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pawl</title>"
        "<h1>Pawl</h1><p>Durable execution and durable queues. The API is described at "
        "<a href=\"/openapi.json\">/openapi.json</a>; workflows are under "
        "<a href=\"/api/v1/instances\">/api/v1/instances</a>, queues under "
        "<a href=\"/queue\">/queue</a>; see also <a href=\"/health\">/health</a> and "
        "<a href=\"/metrics\">/metrics</a>.</p></html>\n";
    if (c->given.wants_page)
        answer_file(c, find_file("index.html"));
    else
        answer_text(c, 200, "text/html; charset=utf-8", (pawl_str){page, sizeof(page) - 1});
}
