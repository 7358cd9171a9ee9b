/* SPDX-License-Identifier: MIT */
/*
 * engine/api_context.c -- returning, time, identity, randomness, patches, status.
 *
 * All answers follow from the history: time is the last message's, random
 * numbers are a keyed hash of (seed, that message, number of the draw), so
 * replay agrees and nothing is stored (SEMANTICS 13).  Patches are looked up in
 * the markers found at load; reached live for the first time they are recorded
 * (SEMANTICS 29).
 *
 * Called by: orchestration code, on its fiber.
 */
#include "base/limits.h"
#include "base/misuse.h"
#include "base/rand.h"
#include "engine/engine_private.h"

#include <stdio.h>
#include <string.h>

static uint64_t draw(const pawl_ctx *ctx, uint64_t word);
static void take_marker(pawl_ctx *ctx, pawl_str name);

/* ---- Returning ---------------------------------------------------------- */

pawl_result pawl_done(pawl_ctx *ctx, const char *output)
{
    MUST_HAVE("a ctx", ctx);
    return pawl_done_str(ctx, pawl_s(output));
}

pawl_result pawl_done_str(pawl_ctx *ctx, pawl_str output)
{
    assert_in_code(ctx);
    if (is_odd(output))
        return result_refused(pawl_s("output has a length and no bytes"));
    return (pawl_result){.ok = true, .value = arena_dup(&ctx->mem, output)};
}

pawl_result pawl_donef(pawl_ctx *ctx, const char *format, ...)
{
    assert_in_code(ctx);
    va_list args;

    va_start(args, format);
    pawl_result r = {.ok = true, .value = arena_vprintf(&ctx->mem, format, args)};
    va_end(args);
    return r;
}

pawl_result pawl_fail(pawl_ctx *ctx, const char *error)
{
    assert_in_code(ctx);
    return (pawl_result){
        .ok = false, .kind = PAWL_RESULT_FAILED, .value = arena_dup(&ctx->mem, pawl_s(error))};
}

pawl_result pawl_failf(pawl_ctx *ctx, const char *format, ...)
{
    assert_in_code(ctx);
    va_list args;

    va_start(args, format);
    pawl_result r = {
        .ok = false, .kind = PAWL_RESULT_FAILED, .value = arena_vprintf(&ctx->mem, format, args)};
    va_end(args);
    return r;
}

pawl_result pawl_continue_as_new(pawl_ctx *ctx, pawl_str input, const char *version)
{
    assert_in_code(ctx);
    pawl_error err;
    pawl_str readable = is_odd(input) ? pawl_s(NULL) : input;

    ctx->continuing = true;
    ctx->next_refusal[0] = '\0';
    ctx->next_input = arena_dup(&ctx->mem, readable);
    ctx->next_version = arena_dup(&ctx->mem, pawl_s(version));
    if (version && strcmp(version, PAWL_SAME_VERSION) == 0)
        ctx->next_version = ctx->version;
    else if (version && !check_version(pawl_s(version), &err))
        (void)snprintf(ctx->next_refusal, sizeof(ctx->next_refusal), "continue as new: %.150s",
                       err.text);
    if (is_odd(input))
        (void)snprintf(ctx->next_refusal, sizeof(ctx->next_refusal),
                       "continue as new: input has a length and no bytes");
    return (pawl_result){.ok = true, .value = pawl_s("")};
}

/* ---- Time, identity, randomness ----------------------------------------- */

int64_t pawl_now(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->now_ms;
}

uint64_t pawl_random(pawl_ctx *ctx)
{
    assert_in_code(ctx);
    ctx->draws++;
    return draw(ctx, 0);
}

pawl_str pawl_uuid(pawl_ctx *ctx)
{
    assert_in_code(ctx);
    ctx->draws++;
    uint64_t words[2] = {draw(ctx, 1), draw(ctx, 2)};
    uint8_t bits[10];
    char text[37];

    memcpy(bits, words, sizeof(bits));
    uuid7_format(text, ctx->now_ms, bits);
    return arena_dup(ctx->scope->mem, pawl_s(text));
}

static uint64_t draw(const pawl_ctx *ctx, uint64_t word)
{
    const uint64_t key[2] = {ctx->seed, 0x7061776c2d647261};
    const uint64_t data[3] = {ctx->message_seq, ctx->draws, word};

    return siphash24(key, data, sizeof(data));
}

pawl_str pawl_instance(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->spec.instance;
}

int64_t pawl_scheduled_at(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->scheduled.at_ms;
}

uint64_t pawl_execution(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->spec.execution;
}

pawl_str pawl_name(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->name;
}

pawl_str pawl_version(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->version;
}

void *pawl_user(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->spec.code.user;
}

uint64_t pawl_history_length(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->last_seq;
}

/* ---- Watching and steering ---------------------------------------------- */

void pawl_log(pawl_ctx *ctx, pawl_log_level level, const char *format, ...)
{
    assert_in_code(ctx);
    if (ctx->phase == PHASE_REPLAY || !ctx->spec.log)
        return;
    struct arena_mark mark = arena_mark(ctx->scope->mem);
    va_list args;

    va_start(args, format);
    pawl_str text = arena_vprintf(ctx->scope->mem, format, args);
    va_end(args);
    ctx->spec.log(ctx->spec.log_user, level, text);
    arena_rewind(ctx->scope->mem, mark);
}

bool pawl_is_replaying(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->phase == PHASE_REPLAY;
}

bool pawl_cancelled(pawl_ctx *ctx)
{
    MUST_HAVE("a ctx", ctx);
    return ctx->cancel_requested;
}

void pawl_shield(pawl_ctx *ctx)
{
    assert_in_code(ctx);
    ctx->shields++;
}

void pawl_unshield(pawl_ctx *ctx)
{
    assert_in_code(ctx);
    if (ctx->shields > 0)
        ctx->shields--;
}

bool pawl_patched(pawl_ctx *ctx, const char *patch)
{
    assert_in_code(ctx);
    pawl_str name = decide_name(pawl_s(patch));

    for (const struct patch *p = ctx->patches; p; p = p->next)
        if (pawl_str_eq(p->name, name)) {
            take_marker(ctx, name);
            return p->applied;
        }
    struct patch *p = arena_new(&ctx->mem, struct patch);
    *p = (struct patch){.next = ctx->patches,
                        .name = arena_dup(&ctx->mem, name),
                        .applied = ctx->phase == PHASE_LIVE};
    ctx->patches = p;
    if (p->applied)
        (void)decide_append(ctx, PAWL_EV_PATCH_RECORDED, 0, name, (pawl_str){0});
    return p->applied;
}

/* The marker lies where it was recorded: step over it here, so that
 * pawl_history_length() is the same in replay. */
static void take_marker(pawl_ctx *ctx, pawl_str name)
{
    if (ctx->cursor >= ctx->event_count)
        return;
    const pawl_event *e = &ctx->events[ctx->cursor];

    if (e->kind == PAWL_EV_PATCH_RECORDED && pawl_str_eq(e->name, name))
        decide_met(ctx, e, NULL);
}

static void set_status(pawl_ctx *ctx, pawl_str text, void *site)
{
    struct decision d = {.kind = PAWL_EV_CUSTOM_STATUS_UPDATED,
                         .data = text,
                         .api = "pawl_set_status",
                         .site = site};

    judge_status(&d);
    decide_plain(ctx, &d, pawl_s(""));
}

void pawl_set_status(pawl_ctx *ctx, const char *text)
{
    assert_in_code(ctx);
    set_status(ctx, pawl_s(text), CALL_SITE);
}

void pawl_set_statusf(pawl_ctx *ctx, const char *format, ...)
{
    assert_in_code(ctx);
    va_list args;

    va_start(args, format);
    pawl_str text = arena_vprintf(ctx->scope->mem, format, args);
    va_end(args);
    set_status(ctx, text, CALL_SITE);
}
