/* SPDX-License-Identifier: MIT */
/*
 * trial/world.c -- see world.h: the process, its code, its store and its clocks.
 * What is called (agenda) and what is seen (events) is in traffic.c.
 */
#include "trial/world.h"

#include "base/attr.h"
#include "base/limits.h"
#include "runtime/core/built_in.h"
#include "runtime/core/registry.h"
#include "runtime/core/runtime.h"
#include "runtime/life/close.h"
#include "runtime/loop/loop.h"
#include "store/fault/fault.h"
#include "store/store.h"
#include "trial/traffic.h"

#include <string.h>

#define LOOK_MS 3600000 /* the loop looks at the wall clock at least this often */

/* The world that steps on this thread: activities find it here, because their `user` is
 * the author's. */
static _Thread_local struct world *stepping;

/* ---- The environment of the runtime --------------------------------------------------- */

static int64_t now_ms(void *user)
{
    return ((struct world *)user)->wall_ms;
}

static int64_t mono_ms(void *user)
{
    return ((struct world *)user)->mono_ms;
}

static void random_bits(void *user, void *to, size_t n)
{
    struct world *w = user;
    for (unsigned char *p = to; n; n--) {
        w->bytes = w->bytes * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        *p++ = (unsigned char)(w->bytes >> 56);
    }
}

static void point(void *user, const char *name)
{
    struct world *w = user;
    if (w->frozen || w->opening || !w->hooks.dies || traffic_starves(w))
        return;
    w->frozen = w->hooks.dies(w->hooks.user, name);
}

static struct fault decide(void *user, enum fault_op op, uint64_t call)
{
    const struct world *w = user;
    (void)call;
    if (!w->frozen)
        return (struct fault){FAULT_NONE, PAWL_OK};
    bool unknown = op == FAULT_OP_commit || op == FAULT_OP_outcome;
    return (struct fault){FAULT_BEFORE, unknown ? PAWL_UNKNOWN : PAWL_UNAVAILABLE};
}

static void log_line(void *user, pawl_log_level level, const char *area, const char *text)
{
    struct world *w = user;
    if (w->hooks.log && !w->frozen)
        w->hooks.log(w->hooks.user, level, area, text);
}

static void committed(void *arg, const pawl_change *changes, size_t count)
{
    (void)changes;
    (void)count;
    ((struct world *)arg)->changes = true;
}

/* ---- Code ------------------------------------------------------------------------------- */

static pawl_result run_activity(pawl_activity *act, pawl_str input)
{
    struct world *w = stepping;
    if (w->frozen)
        return pawl_err(act, "the process is dead");
    return w->hooks.activity(w->hooks.user, act, input);
}

void world_serve(struct world *w, pawl_str name, void *user)
{
    if (registry_activity(w->app, name) || is_reserved(name))
        return; /* known, or the runtime's own */
    const char *copy = arena_dup(&w->mem, name).ptr;
    (void)pawl_register_activity_with(w->app, copy, run_activity, PAWL_REGISTER_OPTS(.user = user));
}

static void borrow_code(struct world *w)
{
    w->app = pawl_app_new();
    for (size_t i = 0; i < w->code->all_code.count; i++) {
        const struct code_entry *c = w->code->all_code.items[i];
        if (is_reserved(pawl_s(c->name)))
            continue; /* every app has it */
        (void)pawl_register_orchestration_with(
            w->app, c->name, c->version, c->fn,
            PAWL_REGISTER_OPTS(.stack_bytes = c->stack_bytes, .user = c->user));
    }
    for (size_t i = 0; i < w->code->all_activities.count; i++)
        world_serve(w, pawl_s(w->code->all_activities.items[i]->name),
                    w->code->all_activities.items[i]->user);
}

/* ---- Life and death ----------------------------------------------------------------------- */

static bool start_process(struct world *w)
{
    const pawl_env env = {
        .user = w, .now_ms = now_ms, .mono_ms = mono_ms, .random = random_bits, .point = point};
    pawl_options options = w->options;
    borrow_code(w);
    traffic_serve_open(w);
    w->store = fault_store(w->inner, decide, w);
    options.size = sizeof(options);
    options.opened_store = w->store;
    options.env = &env;
    options.log = log_line;
    options.log_user = w;
    w->opening = true;
    w->rt = pawl_runtime_open(w->app, &options, &w->trouble);
    w->opening = false;
    if (w->rt)
        w->rt->trays.none = true;
    if (w->rt)
        (void)pawl_client_feed(pawl_runtime_client(w->rt), committed, w);
    return w->rt != NULL;
}

static void let_go(struct world *w)
{
    if (w->store)
        (void)fault_store_release(w->store);
    pawl_app_free(w->app);
    w->rt = NULL;
    w->store = NULL;
    w->app = NULL;
}

bool world_open(struct world *w, pawl_app *code, const struct world_hooks *hooks,
                const pawl_options *options, uint64_t seed)
{
    *w = (struct world){.code = code,
                        .hooks = *hooks,
                        .options = *options,
                        .wall_ms = WORLD_BEGIN_MS,
                        .mono_ms = WORLD_MONO_MS,
                        .bytes = seed};
    arena_init(&w->mem);
    if (code->trouble_count) {
        w->trouble = code->trouble;
        return false;
    }
    w->inner = pawl_memory_store();
    return start_process(w);
}

void world_close(struct world *w)
{
    struct world *before = stepping;
    stepping = w;
    pawl_runtime_close(w->rt);
    stepping = before;
    let_go(w);
    if (w->inner)
        store_close(w->inner);
    arena_deinit(&w->mem);
}

void world_crash(struct world *w)
{
    w->crashes++;
    w->frozen = true; /* answers that come now are dropped */
    runtime_discard(w->rt);
    let_go(w);
    w->frozen = false;
    traffic_again(w);
    (void)start_process(w);
    traffic_look(w);
}

void world_deploy(struct world *w, pawl_app *code)
{
    w->code = code;
    world_crash(w);
}

/* ---- Going on ---------------------------------------------------------------------------- */

static bool has_more(struct world *w)
{
    return w->rt->shares.queued || atomic_load(&w->rt->inbox.count) ||
           loop_idle_until(w->rt) <= w->mono_ms;
}

bool world_step(struct world *w)
{
    struct world *before = stepping;
    if (!w->rt)
        return false;
    stepping = w;
    bool did = traffic_send(w);
    did |= has_more(w);
    w->steps++;
    int done = pawl_runtime_step(w->rt, 0);
    stepping = before;
    if (w->frozen || done < 0) {
        world_crash(w);
        return true;
    }
    if (w->changes)
        traffic_look(w);
    return did || done > 0 || has_more(w);
}

/* When something of the runtime is due, on the mono clock. */
static int64_t next_due(struct world *w)
{
    int64_t until = loop_idle_until(w->rt), due = INT64_MAX;
    pawl_error err;
    if (until == INT64_MAX || until < w->mono_ms + LOOK_MS)
        return until;
    if (store_next_due(w->inner, w->wall_ms, &due, &err) != PAWL_OK || due == INT64_MAX)
        return until;
    int64_t wait = due - w->wall_ms;
    return wait > WORLD_NEVER_MS ? INT64_MAX : w->mono_ms + wait;
}

int64_t world_next(struct world *w)
{
    int64_t at = w->rt ? next_due(w) : INT64_MAX;
    if (w->rt && w->agenda && w->agenda->at_ms < at)
        at = w->agenda->at_ms;
    return at;
}

bool world_pass(struct world *w, int64_t until_ms)
{
    int64_t at = world_next(w);
    if (at == INT64_MAX || at > until_ms)
        return false;
    if (at > w->mono_ms) {
        w->wall_ms += at - w->mono_ms;
        w->mono_ms = at;
    }
    return true;
}

void world_jump(struct world *w, int64_t by_ms)
{
    w->wall_ms += by_ms;
}
