/* SPDX-License-Identifier: MIT */
/*
 * engine/scope.c -- memory and clean-up of the author's code.
 *
 * Scopes are a stack of arenas; the outermost is the execution's own.  A result
 * lives in the scope its task was *started* in, so what was started outside
 * survives the end of an inner scope.  When a scope ends its serial moves on:
 * tasks started inside are forgotten without walking them.  Ended scopes are
 * kept with one block each, so a long loop allocates nothing.
 *
 * Deferred functions run once, last registered first: at the end of their
 * scope, at the end of the execution, or when its stack is dropped.  Nothing
 * here leaves a trace in the history.
 *
 * Called by: execution.c, ending.c, api_context.c.
 */
#include "engine/engine_private.h"

static void run_deferred(struct scope *s);
static struct scope *take_scope(execution *x);
static void leave_waits(execution *x, struct scope *s, void *site);

void scope_init_root(execution *x)
{
    x->root.mem = &x->mem;
    x->root.serial = ++x->scope_serials;
    x->scope = &x->root;
}

void pawl_scope_begin(pawl_ctx *ctx)
{
    assert_in_code(ctx);
    struct scope *s = take_scope(ctx);

    s->serial = ++ctx->scope_serials;
    s->outer = ctx->scope;
    ctx->scope = s;
}

void pawl_scope_end(pawl_ctx *ctx)
{
    assert_in_code(ctx);
    struct scope *s = ctx->scope;

    if (!s->outer)
        return; /* one end too many: ignored */
    if (s->waits)
        leave_waits(ctx, s, CALL_SITE);
    run_deferred(s);
    s->serial = ++ctx->scope_serials;
    arena_reset(&s->own);
    ctx->scope = s->outer;
    s->outer = ctx->spare_scopes;
    ctx->spare_scopes = s;
}

/* They can no longer be awaited: a wait that took an event gives it back, open tasks are
 * withdrawn. */
static void leave_waits(execution *x, struct scope *s, void *site)
{
    s->waits = false;
    for (struct task *t = x->unseen_head, *next; t; t = next) {
        next = t->wait_next;
        if (t->scope == s)
            decide_return(x, t, "its scope ended", site);
    }
    for (struct task *t = x->open_head, *next; t; t = next) {
        next = t->open_next;
        if (t->scope == s && t->scope_serial == s->serial && t->channel)
            decide_leave(x, t, "its scope ended", site);
    }
}

void pawl_defer(pawl_ctx *ctx, void (*fn)(void *arg), void *arg)
{
    assert_in_code(ctx);
    MUST_HAVE("a function", fn);
    /* When the arena is exhausted this call never returns; `registering` makes
     * sure that fn is still run. */
    ctx->registering = (struct deferred){.fn = fn, .arg = arg};
    struct deferred *d = arena_new(ctx->scope->mem, struct deferred);

    *d = (struct deferred){.next = ctx->scope->deferred, .fn = fn, .arg = arg};
    ctx->scope->deferred = d;
    ctx->registering.fn = NULL;
}

pawl_mem *pawl_ctx_mem(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->scope->mem;
}

void *pawl_alloc(pawl_ctx *ctx, size_t size)
{
    assert_in_code(ctx);
    return arena_zalloc(ctx->scope->mem, size);
}

pawl_str pawl_printf(pawl_ctx *ctx, const char *format, ...)
{
    assert_in_code(ctx);
    va_list args;

    va_start(args, format);
    pawl_str text = arena_vprintf(ctx->scope->mem, format, args);
    va_end(args);
    return text;
}

void scope_run_deferred(execution *x)
{
    if (x->registering.fn) {
        void (*fn)(void *) = x->registering.fn;
        x->registering.fn = NULL;
        fn(x->registering.arg);
    }
    for (struct scope *s = x->scope; s; s = s->outer)
        run_deferred(s);
}

void scope_deinit_all(execution *x)
{
    for (struct scope *s = x->scope; s; s = s->outer)
        arena_deinit(&s->own);
    for (struct scope *s = x->spare_scopes; s; s = s->outer)
        arena_deinit(&s->own);
}

size_t scope_bytes(const execution *x)
{
    size_t bytes = 0;

    for (const struct scope *s = x->scope; s; s = s->outer)
        bytes += arena_bytes(&s->own);
    for (const struct scope *s = x->spare_scopes; s; s = s->outer)
        bytes += arena_bytes(&s->own);
    return bytes;
}

static void run_deferred(struct scope *s)
{
    while (s->deferred) {
        struct deferred *d = s->deferred;
        s->deferred = d->next; /* first, so that it never runs twice */
        d->fn(d->arg);
    }
}

static struct scope *take_scope(execution *x)
{
    struct scope *s = x->spare_scopes;

    if (s) {
        x->spare_scopes = s->outer;
        return s;
    }
    s = arena_new(&x->mem, struct scope);
    arena_init(&s->own);
    s->own.limit = x->mem.limit;
    s->own.exhausted = x->mem.exhausted;
    s->own.user = x;
    s->own.budget = &x->budget;
    s->mem = &s->own;
    return s;
}
