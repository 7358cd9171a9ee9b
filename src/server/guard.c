/* SPDX-License-Identifier: MIT */
/*
 * server/guard.c -- which requests are let in: Host, framing, origin, token.
 *
 * Before any handler, for every request, in this order:
 *   framing  Content-Length with Transfer-Encoding, or twice, is refused (400):
 *            a proxy in front might read another request than we do
 *   Host     only our own names (421): this stops pages on a rebound DNS name.  An
 *            address is no DNS name; where a token is needed, any address may be used.
 *            Probes (/health, /ready) may use any name, and then get the state only
 *   origin   a browser's cross-site write is refused (403); requests with neither
 *            Sec-Fetch-Site nor Origin come from no browser
 *   token    needed everywhere but on a loopback address; a token that is sent
 *            is checked everywhere, its scope counts, and so do its queue prefixes
 *            where the path names a queue
 */
#include "server/handlers.h"

#include <arpa/inet.h>
#include <string.h>

static const char *header(const struct call *c, const char *name)
{
    return head_get(c->head, name).ptr;
}

static bool check_framing(struct call *c)
{
    const char *packed = header(c, "Content-Encoding");
    if (c->head->ambiguous) {
        answer_error(c, 400, "bad_framing",
                     "ambiguous request: one Content-Length or 'Transfer-Encoding: chunked', and "
                     "one Host");
        c->answer.close = true;
        return false;
    }
    if (c->head->repeated) {
        answer_error(c, 400, "invalid", "the header %s is given twice; give it once",
                     c->head->repeated);
        return false;
    }
    if (packed && strcasecmp(packed, "identity") != 0) {
        answer_error(c, 415, "unsupported_encoding", "compressed requests are not supported");
        return false;
    }
    return true;
}

/* ---- Host ------------------------------------------------------------------------- */

bool guard_is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           strncmp(host, "127.", 4) == 0;
}

/* The name of "name:port" and "[addr]:port"; empty: neither. */
static pawl_str host_name(pawl_str host)
{
    const char *end = host.ptr + host.len, *stop = host.ptr;
    while (stop < end && *stop != (host.ptr[0] == '[' ? ']' : ':'))
        stop++;
    if (stop < end && *stop == ']')
        stop++;
    pawl_str name = {host.ptr, (size_t)(stop - host.ptr)};
    if (stop < end && *stop++ != ':')
        return (pawl_str){"", 0};
    while (stop < end && *stop >= '0' && *stop <= '9')
        stop++;
    return stop == end ? name : (pawl_str){"", 0};
}

static bool is_name(pawl_str a, const char *b, size_t n)
{
    return a.len == n && strncasecmp(a.ptr, b, n) == 0;
}

/* 192.0.2.1, or [2001:db8::1]. */
static bool is_address(pawl_str name)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr any;
    bool six = name.len > 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']';
    pawl_str bare = six ? (pawl_str){name.ptr + 1, name.len - 2} : name;
    if (bare.len >= sizeof(text))
        return false;
    memcpy(text, bare.ptr, bare.len);
    text[bare.len] = 0;
    return inet_pton(six ? AF_INET6 : AF_INET, text, &any) == 1;
}

static bool is_our_name(const pawl_server *s, pawl_str name)
{
    static const char *const local[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < COUNT_OF(local); i++)
        if (is_name(name, local[i], strlen(local[i])))
            return true;
    if (is_name(name, s->host, strlen(s->host)) || (s->needs_token && is_address(name)))
        return true;
    for (const char *at = s->opts.hosts; at && *at;) {
        size_t n = strcspn(at, ",");
        if ((n == 1 && *at == '*') || is_name(name, at, n))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool guard_is_probe(const struct call *c)
{
    return c->route && (c->route->handle == handle_health || c->route->handle == handle_ready);
}

static bool check_host(struct call *c)
{
    pawl_str host = c->head->host;
    if (host.ptr && is_our_name(c->srv, host_name(host)))
        return true;
    if (guard_is_probe(c)) {
        c->caller.stranger = true;
        return true;
    }
    answer_error(c, 421, "wrong_host",
                 "this server does not answer to that Host; allow a name with --allow-host NAME");
    return false;
}

/* ---- Origin ------------------------------------------------------------------------- */

static bool is_safe(const struct call *c)
{
    const char *method = c->head->method.ptr;
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

bool guard_is_our_origin(const struct call *c)
{
    const char *origin = header(c, "Origin"), *from = origin ? strstr(origin, "://") : NULL;
    pawl_str host = c->head->host;
    return from && is_name(host, from + 3, strlen(from + 3));
}

static bool check_origin(struct call *c)
{
    if (is_safe(c))
        return true;
    const char *site = header(c, "Sec-Fetch-Site");
    bool ok = true;
    if (site)
        ok = strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
    else if (header(c, "Origin"))
        ok = guard_is_our_origin(c);
    if (!ok)
        answer_error(c, 403, "cross_site",
                     "refused: the request comes from another site; send it from a page of this "
                     "server, and let a proxy in between pass the Host on");
    return ok;
}

/* ---- Token -------------------------------------------------------------------------- */

/* A token for queues says nothing about the rest. */
static bool is_outside(struct call *c)
{
    if (!c->caller.queues_only || !c->route || c->route->family == FAMILY_QUEUE ||
        c->route->handle == handle_stream) /* which tells of its queues alone */
        return false;
    answer_error(c, 403, "forbidden",
                 "the token is for queues only; one for the rest, too, is made with a plus: pawl "
                 "token new --scope operate+ --queues …");
    return true;
}

void guard_refuse_unreadable(struct call *c)
{
    answer_error(c, 503, "unavailable", "the server cannot read its tokens; its log says why");
    c->answer.retry_after = 1;
}

/* The scope of the token that came with the request, in its header or in the cookie of a sign-in. */
static enum tokens_answer find_scope(struct call *c, const char *given, const char *cookie)
{
    const char *token = cookie;
    if (given)
        token = strncasecmp(given, "Bearer ", 7) == 0 ? given + 7 : NULL;
    if (token)
        return tokens_check(c->srv->tokens, token, c, &c->caller.scope);
    c->caller.scope = given || c->srv->needs_token ? SCOPE_PUBLIC : SCOPE_ADMIN;
    return TOKENS_READ;
}

/* Tokens are being read: must it wait for them?  A probe and the files of the page need none. */
static bool must_wait(const struct call *c)
{
    return !c->route || c->route->scope != SCOPE_PUBLIC || c->route->handle == handle_session;
}

static const char *kept(struct call *c, const char *text)
{
    return text ? pawl_mem_dup(c->mem, pawl_s(text)).ptr : NULL;
}

static bool check_token(struct call *c, const char *given, const char *cookie)
{
    enum token_scope needed = c->route ? c->route->scope : SCOPE_READ;
    enum tokens_answer tokens = find_scope(c, given, cookie);
    c->caller.trusted = c->caller.scope != SCOPE_PUBLIC && !c->caller.stranger;
    c->caller.unjudged = tokens == TOKENS_COMING && must_wait(c);
    if (c->caller.unjudged) {
        c->caller.authorization = kept(c, given);
        c->caller.cookie = kept(c, cookie);
        return true;
    }
    bool by_queue = c->route && c->route->family == FAMILY_QUEUE && c->args[0];
    bool allowed = scope_allows(c->caller.scope, needed);
    if (allowed && needed > SCOPE_PUBLIC && is_outside(c))
        return false;
    if (allowed)
        return !by_queue || guard_queue(c, c->args[0]);
    if (tokens != TOKENS_READ)
        guard_refuse_unreadable(c);
    else if (c->caller.scope == SCOPE_PUBLIC)
        answer_error(c, 401, "unauthorized",
                     given    ? "the token is not valid"
                     : cookie ? "the sign-in has ended: its token is not valid; sign in again"
                              : "a token is needed: Authorization: Bearer …; make one with: "
                                "pawl token new");
    else
        answer_error(c, 403, "forbidden", "the token's scope does not allow this");
    return false;
}

bool guard_check(struct call *c)
{
    const char *given = header(c, "Authorization");
    return check_framing(c) && check_host(c) && check_origin(c) &&
           check_token(c, given, given ? NULL : session_token(c));
}

bool guard_judge(struct call *c)
{
    return check_token(c, c->caller.authorization, c->caller.cookie);
}

bool guard_sees(const struct call *c, pawl_str queue)
{
    if (!c->caller.queues.len)
        return true;
    for (const char *at = c->caller.queues.ptr, *end = at + c->caller.queues.len; at < end;) {
        size_t n = strcspn(at, ",");
        if (n && n <= queue.len && memcmp(queue.ptr, at, n) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

bool guard_sees_all(const struct call *c)
{
    return !c->caller.queues.len;
}

bool guard_queue(struct call *c, const char *queue)
{
    if (guard_sees(c, pawl_s(queue)))
        return true;
    answer_error(c, 403, "forbidden", "the token does not allow this queue");
    return false;
}
