/* SPDX-License-Identifier: MIT */
/*
 * server/call.c -- one HTTP request: its life, and its answer.
 *
 * Everything a call needs lives in its pawl_mem; calls are used again, so a busy connection
 * allocates nothing.  call_query.c and call_body.c read what it asks for.
 */
#include "server/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE_MAX  256
#define SPARE_BODY 16384 /* larger bodies are given back */

struct call *call_create(pawl_server *s)
{
    struct call *c = s->spare;
    pawl_mem *mem = NULL;
    struct buf body;
    if (c) {
        s->spare = c->place.next;
        s->spare_count--;
        mem = c->mem;
        body = c->body;
    } else {
        c = malloc(sizeof(*c));
        mem = c ? pawl_mem_new() : NULL;
        if (!mem) {
            free(c);
            return NULL;
        }
        buf_init(&body, s->opts.max_body + 1);
    }
    memset(c, 0, offsetof(struct call, fields));
    c->fields.of = (pawl_str){0};
    c->fields.count = 0;
    c->fields.more = false;
    c->srv = s;
    c->mem = mem;
    c->body = body;
    return c;
}

void call_destroy(struct call *c)
{
    pawl_server *s = c->srv;
    assert_that(!c->place.is_away);
    if (s->spare_count >= SPARE_MAX || c->body.cap > SPARE_BODY) {
        pawl_mem_free(c->mem);
        buf_deinit(&c->body);
        free(c);
        return;
    }
    pawl_mem_reset(c->mem);
    buf_reset(&c->body);
    c->body.failed = false;
    c->place.next = s->spare;
    s->spare = c;
    s->spare_count++;
}

/* ---- The answer ----------------------------------------------------------------------- */

void answer_text(struct call *c, unsigned status, const char *type, pawl_str body)
{
    c->answer.status = status;
    c->answer.type = type;
    c->answer.body = body;
}

void answer_json(struct call *c, unsigned status, pawl_json *w)
{
    pawl_str body = pawl_json_done(w);
    assert_that(body.ptr);
    answer_text(c, status, NULL, body);
}

void answer_error(struct call *c, unsigned status, const char *code, const char *format, ...)
{
    char text[600];
    va_list args;
    c->answer.allow = NULL; /* of a refusal that this one takes the place of */
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    if (c->route && c->route->family == FAMILY_QUEUE) {
        pawl_json_key(w, "success");
        pawl_json_truth(w, false);
        pawl_json_key(w, "message");
        pawl_json_cstr(w, text);
    } else {
        pawl_json_key(w, "error");
        pawl_json_object(w);
        pawl_json_key(w, "code");
        pawl_json_cstr(w, code);
        pawl_json_key(w, "message");
        pawl_json_cstr(w, text);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    answer_json(c, status, w);
}

unsigned http_status_of(pawl_status status)
{
    switch (status) {
    case PAWL_OK:
    case PAWL_EMPTY:
        return 200;
    case PAWL_NOT_FOUND:
        return 404;
    case PAWL_EXISTS:
    case PAWL_CONFLICT:
        return 409;
    case PAWL_INVALID:
        return 400;
    case PAWL_LIMIT:
        return 413;
    case PAWL_LOST:
        return 410;
    case PAWL_UNSUPPORTED:
        return 501;
    case PAWL_DISK_FULL:
        return 507;
    case PAWL_TIMEOUT:
    case PAWL_BUSY:
    case PAWL_UNAVAILABLE:
    case PAWL_NO_MEMORY:
    case PAWL_SHUTDOWN:
        return 503;
    case PAWL_FENCED:
    case PAWL_UNKNOWN:
    case PAWL_CORRUPT:
    case PAWL_MISUSE:
        return 500;
    }
    return 500;
}

void answer_failure(struct call *c, const pawl_error *err)
{
    unsigned status = http_status_of(err->status);
    const char *code = err->status == PAWL_LIMIT ? "too_large" : pawl_status_code(err->status);
    if (c->route && c->route->family == FAMILY_QUEUE && status == 500)
        answer_error(c, status, code, "Internal error: %s", err->text);
    else
        answer_error(c, status, code, "%s", err->text);
    if (status == 503 || status == 507)
        c->answer.retry_after = 1;
}
