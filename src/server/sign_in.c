/* SPDX-License-Identifier: MIT */
/*
 * server/sign_in.c -- a browser signs in once: POST /login, POST /logout, GET /session.
 *
 * The token of a person goes into a cookie that no script can read (HttpOnly) and that no other
 * site can send (SameSite=Strict; Secure under TLS).  The server keeps nothing: each request under
 * the cookie is checked like one under the token, so a revoked token ends the sign-in, and open
 * streams with it (tokens.c).
 *
 * Invariants:
 *  - A cookie counts only for requests of our own page.  The browser says so (Sec-Fetch-Site, or an
 *    Origin that is ours); where it says neither, which is so for plain HTTP under a name, the page
 *    has said so with a header of its own, which no other site can send without being asked first.
 *  - A cookie counts only where a token is needed: on an open server an old one changes nothing.
 *  - The port is part of its name, because browsers send cookies to every port of a host.
 *
 * Called by guard.c (session_token) and routes.c.
 */
#include "server/handlers.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define PAGE_HEADER "Pawl-Page"

static const char *cookie_name(const pawl_server *s, char out[32])
{
    (void)snprintf(out, 32, "%spawl-%u", s->has_tls ? "__Host-" : "", s->port);
    return out;
}

/* The value of a cookie in "a=1; b=2"; {NULL, 0}: it is not there. */
static pawl_str find_cookie(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at;) {
        at += strspn(at, " ;");
        size_t len = strcspn(at, ";");
        if (len > n && at[n] == '=' && memcmp(at, name, n) == 0)
            return (pawl_str){at + n + 1, len - n - 1};
        at += len;
    }
    return (pawl_str){0};
}

static bool is_from_page(const struct call *c)
{
    const char *site = head_get(c->head, "Sec-Fetch-Site").ptr;
    if (site)
        return strcmp(site, "same-origin") == 0;
    if (head_get(c->head, "Origin").ptr)
        return guard_is_our_origin(c);
    return head_get(c->head, PAGE_HEADER).ptr;
}

const char *session_token(struct call *c)
{
    char name[32];
    const char *list = c->srv->needs_token ? head_get(c->head, "Cookie").ptr : NULL;
    if (!list || !is_from_page(c))
        return NULL;
    pawl_str value = find_cookie(list, cookie_name(c->srv, name));
    return value.len ? pawl_mem_dup(c->mem, value).ptr : NULL;
}

/* ---- The answer -------------------------------------------------------------------- */

static void write_queues(struct call *c, pawl_json *w)
{
    pawl_json_key(w, "queues");
    if (!c->caller.queues.len) {
        pawl_json_null(w);
        return;
    }
    pawl_json_array(w);
    for (const char *at = c->caller.queues.ptr; *at;) {
        size_t n = strcspn(at, ",");
        pawl_json_str(w, (pawl_str){at, n});
        at += n + (at[n] == ',');
    }
    pawl_json_end(w);
}

static void answer_session(struct call *c)
{
    static const char *const scopes[] = {NULL, "work", "read", "operate", "admin"};
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "needs_token");
    pawl_json_truth(w, c->srv->needs_token);
    pawl_json_key(w, "scope");
    pawl_json_cstr(w, scopes[c->caller.scope]);
    pawl_json_key(w, "token");
    pawl_json_cstr(w, c->caller.token[0] ? c->caller.token : NULL);
    write_queues(c, w);
    pawl_json_key(w, "queues_only");
    pawl_json_truth(w, c->caller.queues_only);
    pawl_json_key(w, "version");
    pawl_json_cstr(w, c->caller.scope != SCOPE_PUBLIC ? PAWL_VERSION : NULL);
    pawl_json_key(w, "now");
    pawl_json_num(w, clock_wall_ms());
    pawl_json_end(w);
    answer_json(c, 200, w);
}

void handle_session(struct call *c)
{
    answer_session(c);
}

static void give_cookie(struct call *c, const char *value, const char *life)
{
    char name[32];
    c->answer.cookie =
        pawl_mem_printf(c->mem, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
                        cookie_name(c->srv, name), value, c->srv->has_tls ? "; Secure" : "", life)
            .ptr;
}

void handle_login(struct call *c)
{
    const char *token;
    if (!call_some_text(c, c->json, "token", &token))
        return;
    if (!token) {
        answer_error(c, 400, "invalid", "say which: {\"token\":\"pawl_…\"}");
        return;
    }
    enum tokens_answer tokens = tokens_check(c->srv->tokens, token, c, &c->caller.scope);
    if (tokens == TOKENS_COMING)
        call_await_tokens(c, handle_login);
    else if (tokens == TOKENS_UNREADABLE)
        guard_refuse_unreadable(c);
    else if (c->caller.scope == SCOPE_PUBLIC)
        answer_error(c, 401, "unauthorized",
                     "the token is not valid; make one with: pawl token new");
    else {
        answer_session(c);
        give_cookie(c, token, "");
    }
}

/* The cookie is taken away; the token stays valid (pawl token revoke). */
void handle_logout(struct call *c)
{
    c->caller.scope = c->srv->needs_token ? SCOPE_PUBLIC : SCOPE_ADMIN;
    c->caller.token[0] = 0;
    c->caller.queues = (pawl_str){0};
    c->caller.queues_only = false;
    answer_session(c);
    give_cookie(c, "", "; Max-Age=0");
}
