/* SPDX-License-Identifier: MIT */
/* runtime/remote/worker_session.c -- see worker_session.h. */
#include "runtime/remote/worker_session.h"

#include "base/hex.h"
#include "base/limits.h"
#include "base/rand.h"
#include "runtime/core/registry.h"
#include "runtime/remote/exchange.h"
#include "runtime/remote/ready.h"
#include "runtime/work/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORGET_MS 600000 /* a silent session is forgotten after this, and a lease */
#define SPARE_MS  60000  /* at the limit: after this */
#define VOUCH_MS  1000   /* its code is looked through this often */

static uint64_t key_of(const void *entry)
{
    return (uint64_t)(uintptr_t)entry;
}

struct worker_session *session_find(const pawl_runtime *rt, pawl_str id)
{
    return map_gets(&rt->hands.remotes->sessions, id);
}

struct remote_code *remote_code_of(pawl_runtime *rt, const struct code_entry *entry)
{
    struct remote_code *code = map_get(&rt->hands.remotes->codes, key_of(entry));

    if (code)
        return code;
    code = calloc(1, sizeof(*code));
    need_memory(code);
    code->entry = entry;
    need_memory(map_put(&rt->hands.remotes->codes, key_of(entry), code));
    return code;
}

bool session_has(const struct worker_session *s, const struct remote_code *code)
{
    return map_get(&s->codes, key_of(code->entry)) != NULL;
}

bool session_is_alive(pawl_runtime *rt, const struct worker_session *s)
{
    return !s->leaving && (s->waiting || rt_mono(rt) - s->heard_ms < SESSION_STICKY_MS);
}

uint64_t session_tag(const struct worker_session *s)
{
    return s->tag;
}

static void unlink_session(struct remotes *all, struct worker_session *s)
{
    *(s->newer ? &s->newer->older : &all->newest) = s->older;
    *(s->older ? &s->older->newer : &all->oldest) = s->newer;
    s->older = s->newer = NULL;
}

static void link_session(struct remotes *all, struct worker_session *s)
{
    s->older = all->newest;
    *(all->newest ? &all->newest->newer : &all->oldest) = s;
    all->newest = s;
}

void session_touch(pawl_runtime *rt, struct worker_session *s)
{
    unlink_session(rt->hands.remotes, s);
    link_session(rt->hands.remotes, s);
    s->heard_ms = rt_mono(rt);
}

/* The first session of this process: from now on there are tokens. */
static void draw_keys(pawl_runtime *rt)
{
    uint64_t boot;

    rt->env.random(rt->env.user, rt->hands.remotes->key, sizeof(rt->hands.remotes->key));
    rt->env.random(rt->env.user, &boot, sizeof(boot));
    hex_write_u64(rt->hands.remotes->boot, boot);
    atomic_store_explicit(&rt->hands.remotes->has_key, true, memory_order_release);
}

static struct worker_session *make(pawl_runtime *rt, pawl_str id)
{
    struct worker_session *s = calloc(1, sizeof(*s));

    need_memory(s);
    if (!rt->hands.remotes->boot[0])
        draw_keys(rt);
    lease_may_find(rt); /* inline steps may have been left behind */
    memcpy(s->id, id.ptr, id.len);
    map_init(&s->codes);
    s->tag = siphash24(rt->hands.remotes->key, id.ptr, id.len) % 1000000000000000000U;
    s->vouched_ms = INT64_MIN / 2;
    s->lease_ms = PAWL_TURNS_LEASE;
    need_memory(map_puts(&rt->hands.remotes->sessions, pawl_s(s->id), s));
    link_session(rt->hands.remotes, s);
    log_info(&rt->log, "turns", "a worker's session begins", "session=%s", s->id);
    return s;
}

/* ---- Its code ----------------------------------------------------------------- */

static void untell(struct worker_session *s)
{
    size_t cursor = 0;

    for (struct remote_code *code; (code = map_next(&s->codes, &cursor));)
        code->sessions--;
    map_reset(&s->codes);
}

/* C code has it: the call is told. */
static void note_taken(struct exchange *ex, const pawl_turn_code *told)
{
    for (size_t i = 0; i < ex->taken.count; i++)
        if (pawl_str_eq(ex->taken.items[i].name, told->name) &&
            pawl_str_eq(ex->taken.items[i].version, told->version))
            return;
    *list_add(&ex->mem, &ex->taken) = *told;
}

static void tell(pawl_runtime *rt, struct worker_session *s, struct exchange *ex)
{
    const pawl_turns *q = &ex->request;

    untell(s);
    s->vouched_ms = INT64_MIN / 2;
    for (size_t i = 0; i < q->code_count; i++) {
        const struct code_entry *entry =
            registry_remote(rt->app, q->code[i].name, q->code[i].version);
        if (!entry) {
            note_taken(ex, &q->code[i]);
            continue;
        }
        struct remote_code *code = remote_code_of(rt, entry);
        code->sessions += !session_has(s, code);
        need_memory(map_put(&s->codes, key_of(entry), code));
    }
}

/* A worker that has this code called: the highest version among those that live is the latest. */
static void vouch(pawl_runtime *rt, struct worker_session *s)
{
    size_t cursor = 0;

    if (rt_mono(rt) - s->vouched_ms < VOUCH_MS)
        return;
    s->vouched_ms = rt_mono(rt);
    for (struct remote_code *code; (code = map_next(&s->codes, &cursor));) {
        code->heard_ms = rt->now_ms;
        registry_heard(code->entry, rt->now_ms);
        (void)snprintf(code->worker, sizeof(code->worker), "%.*s", (int)sizeof(code->worker) - 1,
                       s->worker);
    }
}

/* ---- Its end -------------------------------------------------------------------- */

static void session_free(pawl_runtime *rt, struct worker_session *s)
{
    untell(s);
    map_removes(&rt->hands.remotes->sessions, pawl_s(s->id));
    unlink_session(rt->hands.remotes, s);
    map_deinit(&s->codes);
    free(s);
}

static bool is_idle(const struct worker_session *s)
{
    return !s->waiting && !s->out;
}

static void forget(pawl_runtime *rt, struct worker_session *s)
{
    log_info(&rt->log, "turns", "a worker's session was silent and is forgotten",
             "session=%s worker=%s", s->id, s->worker);
    ready_drop_session(rt, s);
    session_free(rt, s);
}

static int64_t forget_after(const pawl_runtime *rt)
{
    return FORGET_MS + rt->opts.turn_lease_ms;
}

void session_look(pawl_runtime *rt)
{
    struct worker_session *s;

    while ((s = rt->hands.remotes->oldest) && rt_mono(rt) - s->heard_ms >= forget_after(rt)) {
        if (is_idle(s))
            forget(rt, s);
        else /* the engine stood still for that long: a call of it still waits for its answer */
            session_touch(rt, s);
    }
}

int64_t session_next(const pawl_runtime *rt)
{
    const struct worker_session *s = rt->hands.remotes->oldest;

    return s ? s->heard_ms + forget_after(rt) : INT64_MAX;
}

void session_free_all(pawl_runtime *rt)
{
    while (rt->hands.remotes->newest)
        session_free(rt, rt->hands.remotes->newest);
}

/* ---- A call ---------------------------------------------------------------------- */

/* Is there room for one more?  At the limit one that is silent for a minute goes. */
static bool has_room(pawl_runtime *rt, pawl_error *err)
{
    struct remotes *all = rt->hands.remotes;
    struct worker_session *s = all->oldest;

    if (all->sessions.count < PAWL_TURNS_SESSIONS_MAX)
        return true;
    while (s && !is_idle(s))
        s = s->newer;
    if (s && rt_mono(rt) - s->heard_ms >= SPARE_MS) {
        forget(rt, s);
        return true;
    }
    error_set(err, PAWL_BUSY,
              "too_many: this server has %d sessions of workers, the limit; let a process keep one "
              "session for its life, or stop some workers: one that is silent for %d s makes room",
              PAWL_TURNS_SESSIONS_MAX, SPARE_MS / 1000);
    return false;
}

/* Is there room for the code that it tells? */
static bool has_room_for_code(pawl_runtime *rt, const pawl_turns *q, pawl_error *err)
{
    size_t count = rt->hands.remotes->codes.count, more = 0;

    if (count + q->code_count <= PAWL_TURNS_CODES_MAX)
        return true;
    for (size_t i = 0; i < q->code_count; i++)
        more += !registry_code(rt->app, q->code[i].name, q->code[i].version);
    if (count + more <= PAWL_TURNS_CODES_MAX)
        return true;
    error_set(err, PAWL_BUSY,
              "too_many: this server knows %zu orchestrations in workers, %zu more are over the "
              "limit of %d; tell only versions that still run, and restart the server to make it "
              "forget the others",
              count, more, PAWL_TURNS_CODES_MAX);
    return false;
}

struct worker_session *session_heard(pawl_runtime *rt, struct exchange *ex, pawl_error *err)
{
    const pawl_turns *q = &ex->request;
    struct worker_session *s = session_find(rt, q->session);

    if (!s && !q->has_code) {
        error_set(err, PAWL_CONFLICT, "unknown_session: tell the code of this session again");
        return NULL;
    }
    if (!has_room_for_code(rt, q, err) || (!s && !has_room(rt, err)))
        return NULL;
    if (!s)
        s = make(rt, q->session);
    session_touch(rt, s);
    s->leaving = q->leaving;
    if (q->lease_ms)
        s->lease_ms = q->lease_ms;
    if (q->worker.len)
        (void)snprintf(s->worker, sizeof(s->worker), "%.*s", PAWL_FMT(q->worker));
    if (q->has_code)
        tell(rt, s, ex);
    vouch(rt, s);
    return s;
}
