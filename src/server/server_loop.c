/* SPDX-License-Identifier: MIT */
/*
 * server/server_loop.c -- calls between the HTTP server and the rest.
 *
 * src/http has the connections and runs on the loop thread; here a request becomes a
 * call, is refused or handled, and an answer that came from another thread is given to
 * its connection.  Only the loop touches connections, so a reply that comes while the
 * handler is still at work waits in the list until the next round.
 *
 * What was handed in is committed by the engine, or by the loop itself (stand_in.c).
 *
 * Called by server.c; handlers call call_away(), call_park() and call_done().
 */
#include "base/arena.h"
#include "base/clock.h"
#include "server/condition.h"
#include "server/handlers.h"
#include "server/limit_routes.h"
#include "server/schedules.h"
#include "server/stream.h"

#include <stdlib.h>
#include <string.h>

#define TOKENS_WAIT_MS 3000 /* for tokens that are being read */

/* ---- Coming and going ----------------------------------------------------------- */

void loop_wake(pawl_server *s)
{
    httpd_wake(s->httpd);
}

bool call_back(struct call *c)
{
    pawl_server *s = c->srv;
    bool wake = s->sleeps; /* else it looks before it sleeps */
    s->sleeps = false;
    c->place.next = NULL;
    *s->back_end = c;
    s->back_end = &c->place.next;
    c->place.is_back = true;
    return wake;
}

/* Wake the loop once per batch of replies, not once per reply. */
void call_done_more(struct call *c, bool more)
{
    static _Thread_local pawl_server *owed; /* a waking, by this thread */
    pawl_server *s = c->srv;
    pthread_mutex_lock(&s->lock);
    bool wake = call_back(c);
    pthread_mutex_unlock(&s->lock);
    if (owed && owed != s) {
        loop_wake(owed);
        owed = NULL;
    }
    if (wake)
        owed = s;
    if (owed && !more) {
        loop_wake(owed);
        owed = NULL;
    }
}

void call_done(struct call *c)
{
    call_done_more(c, false);
}

void call_away(struct call *c)
{
    assert_that(!c->place.is_away);
    c->place.is_away = true;
    c->srv->away++;
}

static void park(struct call *c, int64_t until_mono_ms)
{
    c->place.parked = c->place.waited = true;
    c->srv->parked++;
    tokens_hold(c);
    c->place.until.key = until_mono_ms;
    c->place.until.tie = ++c->srv->tie;
    assert_that(heap_push(&c->srv->times, &c->place.until));
}

void call_park(struct call *c, int64_t until_mono_ms)
{
    if (!c->place.is_away)
        call_away(c);
    park(c, until_mono_ms);
}

static void unpark(struct call *c)
{
    if (!c->place.parked)
        return;
    if (c->caller.awaits_tokens)
        tokens_await_no_more(c);
    c->place.parked = false;
    c->srv->parked--;
    heap_remove(&c->srv->times, &c->place.until);
}

void call_linger(struct call *c)
{
    call_away(c);
    c->place.lingers = c->place.waited = true;
    c->srv->lingering++;
    tokens_hold(c);
}

/* To its connection; the call may be gone on return. */
static void deliver(struct call *c)
{
    bool streams = c->stream && !c->answer.status;
    if (streams) {
        c->answer.status = 200;
        c->answer.type = "text/event-stream";
    }
    assert_that(c->answer.status);
    unsigned kind = c->answer.status / 100;
    atomic_fetch_add_explicit(&c->srv->n_status[kind < 6 ? kind : 0], 1, memory_order_relaxed);
    c->answer.holds = arena_bytes(c->mem);
    metrics_answered(c);
    if (streams) {
        tokens_hold(c);
        httpd_stream(c->conn, &c->answer);
    } else {
        httpd_answer(c->conn, &c->answer);
    }
}

static void come_back(struct call *c)
{
    reader_taken(c);
    unpark(c);
    tokens_let_go(c);
    if (c->place.lingers)
        c->srv->lingering--;
    c->place.lingers = false;
    c->place.is_away = false;
    c->srv->away--;
    if (c->place.on_back) {
        void (*on_back)(struct call *) = c->place.on_back;
        c->place.on_back = NULL;
        on_back(c);
    }
    if (!c->place.is_away) /* not given to another thread again */
        deliver(c);
}

void call_unpark(struct call *c)
{
    wait_leave(c);
    come_back(c);
}

static void take_back(pawl_server *s)
{
    pthread_mutex_lock(&s->lock);
    struct call *c = s->back;
    s->sleeps = false;
    s->back = NULL;
    s->back_end = &s->back;
    for (struct call *at = c; at; at = at->place.next)
        at->place.is_back = false;
    pthread_mutex_unlock(&s->lock);
    while (c) {
        struct call *next = c->place.next;
        come_back(c);
        c = next;
    }
}

/* ---- A request, step by step --------------------------------------------------------- */

static void too_large(struct call *c)
{
    answer_error(c, 413, "too_large",
                 "the request is over the limit of %zu bytes; raise it with --max-body",
                 c->srv->opts.max_body);
    c->answer.close = true;
}

/* The values that handlers ask for when the head is gone. */
static void keep_values(struct call *c, const struct head *head)
{
    pawl_str key = head_get(head, "Idempotency-Key");
    if (key.ptr)
        c->given.idempotency_key = pawl_mem_dup(c->mem, key).ptr;
    if (c->route->handle == handle_stream && head_get(head, "Last-Event-ID").ptr)
        c->given.last_event_id = pawl_mem_dup(c->mem, head_get(head, "Last-Event-ID")).ptr;
    if (c->route->handle == handle_root || c->route->handle == handle_file)
        web_keep_values(c, head);
    if (c->route->handle == handle_get)
        c->given.has_etag = pawl_mem_dup(c->mem, head_get(head, "If-None-Match")).ptr;
    if (c->route->handle == handle_put_schedule || c->route->handle == handle_remove_schedule ||
        c->route->handle == handle_put_limit || c->route->handle == handle_remove_limit)
        condition_keep(c, head);
}

/* The head is there: everything that can be refused without the body is. */
static void *on_begin(void *user, struct httpd_conn *conn, const struct head *head)
{
    pawl_server *s = user;
    struct call *c = call_create(s);
    if (!c)
        return NULL;
    c->conn = conn;
    c->head = head;
    c->began_us = clock_mono_us();
    atomic_fetch_add_explicit(&s->n_requests, 1, memory_order_relaxed);
    bool ok = route_find(c); /* first, so that refusals have the shape of the family */
    if (!guard_check(c))
        ok = false;
    if (ok && !guard_is_probe(c) && !call_parse_query(c))
        ok = false;
    if (ok && head->length > s->opts.max_body) {
        too_large(c);
        ok = false;
    }
    if (ok)
        keep_values(c, head);
    else
        deliver(c); /* goes out now, or when the body is read */
    c->head = NULL;
    return c;
}

static void on_body(void *call, pawl_str bytes)
{
    struct call *c = call;
    if (bytes.len > c->srv->opts.max_body - c->body.len)
        too_large(c);
    else
        buf_put(&c->body, bytes.ptr, bytes.len);
    if (c->body.failed && !c->answer.status)
        answer_error(c, 503, "no_memory", "out of memory");
    if (c->answer.status)
        deliver(c);
}

/* While the server stops, probes and the files of the page are answered, and nothing else. */
static bool may_stop(const struct call *c)
{
    return !guard_is_probe(c) && c->route->handle != handle_root && c->route->handle != handle_file;
}

void call_await_tokens(struct call *c, void (*on_back)(struct call *c))
{
    int64_t now = clock_mono_ms();
    if (!c->caller.judge_by_ms)
        c->caller.judge_by_ms = now + TOKENS_WAIT_MS;
    if (now >= c->caller.judge_by_ms || atomic_load(&c->srv->draining)) {
        guard_refuse_unreadable(c);
    } else if (c->place.asker == ASKER_LOST) {
        call_drop(c);
    } else {
        c->place.on_back = on_back;
        tokens_await(c);
        call_park(c, c->caller.judge_by_ms);
    }
}

static void dispatch(struct call *c)
{
    if (c->caller.unjudged && !guard_judge(c))
        return;
    if (c->caller.unjudged) {
        call_await_tokens(c, dispatch);
        return;
    }
    if (atomic_load(&c->srv->draining) && may_stop(c)) {
        answer_error(c, 503, "shutdown", "the server is stopping; try again");
        c->answer.retry_after = 1;
        return;
    }
    if (!call_parse_body(c))
        return;
    if (c->route->where == ON_READER)
        reader_post(c, c->route->handle);
    else
        c->route->handle(c);
}

static void on_ready(void *call)
{
    struct call *c = call;
    dispatch(c);
    if (!c->place.is_away)
        deliver(c);
}

void call_drop(struct call *c)
{
    atomic_fetch_add_explicit(&c->srv->n_dropped, 1, memory_order_relaxed);
    answer_text(c, 499, NULL, (pawl_str){0});
}

/* Its client has gone: end its wait in the runtime, and its wait here. */
static void on_gone(void *call, bool lost)
{
    struct call *c = call;
    c->place.asker = lost ? ASKER_LOST : ASKER_QUIET;
    if (c->place.lingers) {
        pawl_client_withdraw(c->srv->client, c);
    } else if (c->place.parked) {
        call_unpark(c);
    } else if (!lost) {
        reader_put_off(c);
    } else if (reader_drop(c)) {
        wait_leave(c);
        c->place.on_back = NULL;
        call_drop(c);
        come_back(c);
    }
}

/* A pop or poll ends with what it has: nothing, or an item taken for it just before. */
void call_revoke(struct call *c)
{
    c->caller.revoked = true;
    if (c->stream)
        streams_end_one(c);
    else if (c->place.parked)
        call_unpark(c);
    else if (c->place.lingers)
        pawl_client_withdraw(c->srv->client, c);
}

static void on_finish(void *call)
{
    struct call *c = call;
    tokens_let_go(c);
    if (c->stream)
        streams_leave(c);
    call_destroy(c);
}

static void on_refused(void *user, unsigned status)
{
    pawl_server *s = user;
    atomic_fetch_add_explicit(&s->n_requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->n_status[status / 100], 1, memory_order_relaxed);
}

/* ---- The round -------------------------------------------------------------------------- */

static void end_polls(pawl_server *s, int64_t now)
{
    struct heap_node *top;
    while ((top = heap_top(&s->times)) && top->key <= now)
        call_unpark(CONTAINER_OF(top, struct call, place.until));
}

/* While draining: the last answer is on its way when nothing is away but parked or waiting. */
static void look_for_quiet(pawl_server *s)
{
    httpd_wind_up(s->httpd);
    streams_end(s->streams);
    end_polls(s, INT64_MAX);
    if (s->away > s->parked + s->lingering)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_quiet = !s->back;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
}

static void on_awake(void *user, int64_t now_ms)
{
    pawl_server *s = user;
    atomic_fetch_add_explicit(&s->rounds, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&s->reload, false, memory_order_relaxed))
        tokens_look_again(s->tokens);
    take_back(s);
    tokens_go_on(s->tokens);
    end_polls(s, now_ms);
    if (atomic_load(&s->draining))
        look_for_quiet(s);
    pawl_client_hold(); /* requests that came together go together */
}

static int64_t on_asleep(void *user, int64_t now_ms)
{
    pawl_server *s = user;
    bool soon = stand_in_work(s);
    int64_t at = streams_tick(s->streams, now_ms), look = tokens_tick(s->tokens, now_ms);
    at = look < at ? look : at;
    struct heap_node *top = heap_top(&s->times);
    pthread_mutex_lock(&s->lock);
    bool more = s->back || soon || (!s->stands_in && atomic_load(&s->has_work));
    s->sleeps = !more;
    pthread_mutex_unlock(&s->lock);
    if (more)
        return now_ms;
    return top && top->key < at ? top->key : at;
}

static enum httpd_pull on_pull(void *call, struct buf *out)
{
    return streams_pull(call, out);
}

static const struct httpd_handler handler = {.begin = on_begin,
                                             .body = on_body,
                                             .ready = on_ready,
                                             .gone = on_gone,
                                             .pull = on_pull,
                                             .finish = on_finish,
                                             .refused = on_refused,
                                             .awake = on_awake,
                                             .asleep = on_asleep};

static void *loop_thread(void *arg)
{
    pawl_server *s = arg;
    pthread_mutex_lock(&s->loop_lock);
    pawl_client_hold(); /* each round begins with the end of the last one */
    httpd_run(s->httpd);
    pawl_client_release();
    pthread_mutex_unlock(&s->loop_lock);
    return NULL;
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

bool loop_open(pawl_server *s, pawl_error *reterr)
{
    struct httpd_opts opts = {.listen_fd = s->listen_fd,
                              .handler = &handler,
                              .user = s,
                              .connections = s->opts.connections,
                              .per_address = s->per_address,
                              .answer_bytes = s->opts.max_answers,
                              .tls_cert = s->opts.tls_cert,
                              .tls_key = s->opts.tls_key,
                              .log = s->log};
    s->listen_fd = -1; /* not ours any more */
    s->httpd = httpd_open(&opts, reterr);
    return s->httpd;
}

bool loop_start(pawl_server *s)
{
    s->has_thread = pthread_create(&s->thread, NULL, loop_thread, s) == 0;
    return s->has_thread && stand_in_start(s);
}

void loop_stop(pawl_server *s)
{
    if (s->has_thread) {
        httpd_end(s->httpd);
        pthread_join(s->thread, NULL);
        stand_in_stop(s);
        take_back(s); /* answers of a runtime that was closed after the loop */
    }
    httpd_free(s->httpd);
    while (s->spare) {
        struct call *next = s->spare->place.next;
        pawl_mem_free(s->spare->mem);
        buf_deinit(&s->spare->body);
        free(s->spare);
        s->spare = next;
    }
    heap_deinit(&s->times);
}
