/* SPDX-License-Identifier: MIT */
/*
 * server/server.c -- pawl/server.h: from options to a listening server, and back.
 *
 * Refuses to start where a mistake would open the store to strangers: an address
 * that is not a loopback one needs a token, and TLS or the explicit option for plain HTTP.
 */
#include "server/server.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "server/census.h"
#include "server/series.h"
#include "server/shared_text.h"
#include "server/stream.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_LISTEN "127.0.0.1:8000"
#define BACKLOG        1024
#define SPARE_FILES    64 /* descriptors for the store and whatever else */

/* ---- Options -------------------------------------------------------------------- */

static const char *keep(pawl_server *s, const char *text)
{
    return text ? pawl_mem_dup(s->mem, pawl_s(text)).ptr : NULL;
}

/* "host:port", "[addr]:port", ":port" or "port". */
static bool parse_listen(pawl_server *s, const char *text, pawl_error *reterr)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    if (!port[0] || *end || number > 65535 || (n && text[0] == '[' && text[n - 1] != ']')) {
        error_set(reterr, PAWL_INVALID, "'%s' is no address to listen on; write 127.0.0.1:8000",
                  text);
        return false;
    }
    s->host = n ? pawl_mem_dup(s->mem, (pawl_str){text, n}).ptr : "127.0.0.1";
    s->port = (unsigned)number;
    return true;
}

static bool check_safety(pawl_server *s, pawl_error *reterr)
{
    bool local = guard_is_loopback(s->host);
    s->has_tls = s->opts.tls_cert || s->opts.tls_key;
    s->needs_token = !local || s->opts.require_token;
    bool some = tokens_exist(s->tokens, reterr);
    if (!some && reterr->text[0])
        return false; /* they cannot be read */
    if (s->needs_token && !some) {
        error_set(reterr, PAWL_INVALID,
                  "listening on %s needs a token, and there is none; make one with: pawl token new "
                  "--scope admin",
                  s->host);
        return false;
    }
    if (!local && !s->has_tls && !s->opts.insecure) {
        error_set(reterr, PAWL_INVALID,
                  "listening on %s without TLS would send tokens in the clear; give --tls-cert "
                  "and --tls-key, or --insecure-listen behind a proxy that encrypts",
                  s->host);
        return false;
    }
    return true;
}

/* As many connections as asked for, as far as the system lets us. */
static void raise_limits(pawl_server *s)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    rlim_t wanted = (rlim_t)s->opts.connections + SPARE_FILES;
    if (files.rlim_cur < wanted) {
        files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur < wanted)
        s->opts.connections = files.rlim_cur > 2 * SPARE_FILES
                                  ? (uint32_t)(files.rlim_cur - SPARE_FILES)
                                  : SPARE_FILES;
}

/* ---- Listening -------------------------------------------------------------------- */

static int try_listen(const struct addrinfo *at)
{
    int one = 1;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* inherited */
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static void note_port(pawl_server *s)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t n = sizeof(name);
    memset(&name, 0, sizeof(name));
    if (getsockname(s->listen_fd, &name.any, &n) == 0)
        s->port = ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
    s->url =
        pawl_mem_printf(s->mem, "%s://%s:%u", s->has_tls ? "https" : "http", s->host, s->port).ptr;
}

static bool open_socket(pawl_server *s, pawl_error *reterr)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    size_t n = strlen(s->host);
    bool bracket = s->host[0] == '[';
    pawl_str host = pawl_mem_dup(s->mem, (pawl_str){s->host + bracket, n - (bracket ? 2 : 0)});
    char port[8];
    (void)snprintf(port, sizeof(port), "%u", s->port);
    int rc = getaddrinfo(host.ptr, port, &hints, &list);
    if (rc != 0) {
        error_set(reterr, PAWL_INVALID, "'%s' is no address of this machine: %s", s->host,
                  gai_strerror(rc));
        return false;
    }
    int why = 0;
    for (struct addrinfo *at = list; at && s->listen_fd < 0; at = at->ai_next) {
        s->listen_fd = try_listen(at);
        why = errno;
    }
    freeaddrinfo(list);
    if (s->listen_fd >= 0)
        note_port(s);
    else if (why == EADDRINUSE)
        error_set(reterr, PAWL_EXISTS,
                  "port %u is taken; choose another: PORT=%u make run, or --listen %s:%u", s->port,
                  s->port + 1, s->host, s->port + 1);
    else
        error_set(reterr, PAWL_UNAVAILABLE, "cannot listen on %s:%u: %s", s->host, s->port,
                  strerror(why));
    return s->listen_fd >= 0;
}

/* ---- Life ---------------------------------------------------------------------------- */

static void fill_in(pawl_server *s, const pawl_server_opts *given)
{
    s->opts = *given;
    s->opts.listen = keep(s, s->opts.listen ? s->opts.listen : DEFAULT_LISTEN);
    s->opts.hosts = keep(s, s->opts.hosts);
    s->opts.tokens = keep(s, s->opts.tokens);
    s->opts.tls_cert = keep(s, s->opts.tls_cert);
    s->opts.tls_key = keep(s, s->opts.tls_key);
    if (!s->opts.max_body)
        s->opts.max_body = 8U << 20;
    if (!s->opts.max_payload)
        s->opts.max_payload = LIMIT_PAYLOAD_BYTES;
    if (!s->opts.max_answers)
        s->opts.max_answers = (size_t)256 << 20;
    if (!s->opts.connections)
        s->opts.connections = 10000;
    s->log = (struct logger){.level = s->opts.log_level,
                             .write = s->opts.log,
                             .user = s->opts.log_user,
                             .json = s->opts.log_json};
}

static pawl_server *create(pawl_runtime *rt, const pawl_server_opts *opts)
{
    pawl_server *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->rt = rt;
    s->client = pawl_runtime_client(rt);
    s->listen_fd = -1;
    s->mem = pawl_mem_new();
    s->back_end = &s->back;
    s->started_ms = clock_wall_ms();
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->read_lock, NULL);
    pthread_mutex_init(&s->loop_lock, NULL);
    pthread_cond_init(&s->read_wake, NULL);
    deadline_cond_init(&s->quiet);
    deadline_cond_init(&s->watch_wake);
    map_init(&s->waiting);
    map_init(&s->state_waiting);
    map_init(&s->update_waiting);
    map_init(&s->begin_waiting);
    recents_init(&s->recents);
    s->feed_mem = pawl_mem_new();
    heap_init(&s->times);
    fill_in(s, opts);
    s->tokens = tokens_open(s->opts.tokens, &s->log, s);
    s->streams = streams_create(s);
    s->census = census_create();
    s->series = series_create(s->rt, s->census);
    s->overview = shared_create();
    s->waits = shared_create();
    return s;
}

pawl_server *pawl_server_start(pawl_runtime *rt, const pawl_server_opts *opts, pawl_error *reterr)
{
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_server_opts known;
    if (!IS_THERE(rt, "a runtime", err) || !OPTIONS_TAKE(&known, opts, "pawl_server_opts", err))
        return NULL;
    pawl_server *s = create(rt, &known);
    if (!s || !s->tokens || !s->streams || !s->series || !s->overview || !s->waits) {
        error_set(err, PAWL_NO_MEMORY, "out of memory");
        pawl_server_free(s);
        return NULL;
    }
    raise_limits(s);
    bool ok = parse_listen(s, s->opts.listen, err) && check_safety(s, err) && open_socket(s, err);
    if (ok && !guard_is_loopback(s->host)) /* one address gets at most 3/4 of the connections */
        s->per_address = s->opts.connections - s->opts.connections / 4;
    if (ok) {
        ok = loop_open(s, err);
    }
    if (ok) { /* the feed wakes the loop: that is there */
        error_set(err, PAWL_UNAVAILABLE, "cannot start a thread");
        s->feed = pawl_client_feed(s->client, wait_feed, s);
        ok = s->feed && reader_start(s) && loop_start(s);
    }
    if (ok)
        return s;
    pawl_server_stop(s, 0);
    pawl_server_free(s);
    return NULL;
}

const char *pawl_server_url(const pawl_server *s)
{
    MUST_HAVE("a server", s);
    return s->url;
}

pawl_status pawl_server_reload(pawl_server *s, pawl_error *reterr)
{
    if (!IS_THERE(s, "a server", reterr))
        return PAWL_MISUSE;
    pawl_error local = {0};
    pawl_error *err = reterr ? reterr : &local;
    pawl_mem *mem = pawl_mem_new();
    const pawl_token_info *list;
    size_t count;
    pawl_status rc = PAWL_OK;
    if (s->opts.tokens)
        rc = pawl_token_list(s->opts.tokens, mem, &list, &count, err);
    pawl_mem_free(mem);
    atomic_store(&s->reload, true);
    loop_wake(s);
    return httpd_reload_tls(s->httpd, err) ? rc : err->status;
}

bool pawl_server_healthy(pawl_server *s, char rettrouble[PAWL_TROUBLE_BYTES])
{
    MUST_HAVE("a server", s);
    unsigned long long rounds = atomic_load(&s->rounds);
    bool moves = rounds != s->rounds_seen || !s->was_asked;
    s->rounds_seen = rounds;
    s->was_asked = true;
    loop_wake(s); /* once round until the next time */
    if (!moves)
        (void)snprintf(rettrouble, PAWL_TROUBLE_BYTES, "the HTTP server does not go on");
    return moves && pawl_runtime_healthy(s->rt, rettrouble);
}

void pawl_server_stop(pawl_server *s, int64_t ms)
{
    if (!s)
        return;
    struct timespec until = deadline_in(ms);
    atomic_store(&s->draining, true);
    if (s->has_thread) {
        loop_wake(s);
        pthread_mutex_lock(&s->lock);
        while (!s->is_quiet && pthread_cond_timedwait(&s->quiet, &s->lock, &until) == 0)
            ;
        pthread_mutex_unlock(&s->lock);
    }
    if (s->feed)
        pawl_client_unfeed(s->client, s->feed);
    s->feed = 0;
    stand_in_rest(s);
    reader_stop(s);
}

void pawl_server_free(pawl_server *s)
{
    if (!s)
        return;
    loop_stop(s);
    streams_destroy(s->streams);
    series_destroy(s->series);
    shared_destroy(s->overview);
    shared_destroy(s->waits);
    census_destroy(s->census);
    tokens_close(s->tokens);
    map_deinit(&s->waiting);
    map_deinit(&s->state_waiting);
    map_deinit(&s->update_waiting);
    map_deinit(&s->begin_waiting);
    recents_deinit(&s->recents);
    pawl_mem_free(s->feed_mem);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->read_lock);
    pthread_mutex_destroy(&s->loop_lock);
    pthread_cond_destroy(&s->watch_wake);
    pthread_cond_destroy(&s->read_wake);
    pthread_cond_destroy(&s->quiet);
    pawl_mem_free(s->mem);
    free(s);
}
