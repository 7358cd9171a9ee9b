/* SPDX-License-Identifier: MIT */
/* runtime/remote/worker_session.c -- see worker_session.h. */
#include "runtime/remote/worker_session.h"

#include "base/hex.h"
#include "runtime/core/registry.h"
#include "runtime/remote/remote_run.h"
#include "runtime/work/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STICKY_MS 2000   /* a silent session keeps its runs this long */
#define FORGET_MS 600000 /* and is forgotten after this */

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
    return !s->leaving && (s->waiting || rt_mono(rt) - s->heard_ms < STICKY_MS);
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
    arena_init(&s->mem);
    need_memory(map_puts(&rt->hands.remotes->sessions, pawl_s(s->id), s));
    link_session(rt->hands.remotes, s);
    log_info(&rt->log, "turns", "a worker's session begins", "session=%s", s->id);
    return s;
}

void session_free(pawl_runtime *rt, struct worker_session *s)
{
    map_removes(&rt->hands.remotes->sessions, pawl_s(s->id));
    unlink_session(rt->hands.remotes, s);
    map_deinit(&s->codes);
    arena_deinit(&s->mem);
    free(s);
}

/* C code has it: the session is told once. */
static void note_taken(struct worker_session *s, const pawl_turn_code *told)
{
    for (size_t i = 0; i < s->taken_count; i++)
        if (pawl_str_eq(s->taken[i].name, told->name) &&
            pawl_str_eq(s->taken[i].version, told->version))
            return;
    s->taken[s->taken_count++] = (pawl_turn_code){.name = arena_dup(&s->mem, told->name),
                                                  .version = arena_dup(&s->mem, told->version)};
}

static void tell(pawl_runtime *rt, struct worker_session *s, const pawl_turns *q)
{
    arena_reset(&s->mem);
    s->taken = arena_array(&s->mem, pawl_turn_code, q->code_count + 1);
    s->taken_count = 0;
    map_reset(&s->codes);
    for (size_t i = 0; i < q->code_count; i++) {
        const struct code_entry *entry =
            registry_remote(rt->app, q->code[i].name, q->code[i].version);
        if (!entry) {
            note_taken(s, &q->code[i]);
            continue;
        }
        struct remote_code *code = remote_code_of(rt, entry);
        need_memory(map_put(&s->codes, key_of(entry), code));
    }
}

/* A worker that has this code called: the highest version among those that live is the latest. */
static void heard_code(pawl_runtime *rt, struct worker_session *s)
{
    size_t cursor = 0;

    for (struct remote_code *code; (code = map_next(&s->codes, &cursor));) {
        code->heard_ms = rt->now_ms;
        registry_heard(code->entry, rt->now_ms);
        (void)snprintf(code->worker, sizeof(code->worker), "%.*s", (int)sizeof(code->worker) - 1,
                       s->worker);
    }
}

struct worker_session *session_heard(pawl_runtime *rt, const pawl_turns *q)
{
    struct worker_session *s = session_find(rt, q->session);

    if (!s && !q->has_code)
        return NULL;
    if (!s)
        s = make(rt, q->session);
    unlink_session(rt->hands.remotes, s);
    link_session(rt->hands.remotes, s);
    s->heard_ms = rt_mono(rt);
    s->leaving = q->leaving;
    if (q->worker.len)
        (void)snprintf(s->worker, sizeof(s->worker), "%.*s", PAWL_FMT(q->worker));
    if (q->has_code)
        tell(rt, s, q);
    heard_code(rt, s);
    return s;
}

void session_look(pawl_runtime *rt)
{
    int64_t mono = rt_mono(rt);

    for (struct worker_session *s = rt->hands.remotes->oldest, *newer; s; s = newer) {
        newer = s->newer;
        if (mono - s->heard_ms < FORGET_MS)
            return;
        if (!s->waiting && !s->out && !s->known)
            session_free(rt, s);
    }
}
