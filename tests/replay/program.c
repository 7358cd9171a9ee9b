/* SPDX-License-Identifier: MIT */
/*
 * tests/replay/program.c -- an orchestration whose code is data.
 *
 * It walks the lines of a program and makes the calls they name; what the calls
 * return is appended to a text, which `return` gives back.  So a script sees
 * everything the code saw.  Owns nothing across an await: all state is in the
 * context's memory.
 *
 *     a = start NAME INPUT      a = timer MS       a = wait NAME [fresh]
 *     a = child NAME INPUT [id=…] [version=…] [abandon]
 *     a = fan N NAME            N activities with inputs 0, 1, 2 …
 *     call NAME INPUT           call-child NAME INPUT …      sleep MS
 *     await a   all a b …   settled a b …   any a b …   race a b …   cancel a   is-done a
 *     detached NAME INPUT [id=…] [version=…]       status TEXT       log TEXT
 *     raise NAME DATA id=… [await-start]
 *     u = update NAME [checked]     answer u VALUE     reject u TEXT   (checked: takes numbers)
 *     set KEY VALUE     clear KEY     get KEY      (published state; get: none when it is not set)
 *     shield  unshield  scope  end-scope
 *     note TEXT  now  uuid  random  length  execution  instance  name  version  is-cancelled
 *     patched NAME … [else …] end      if-cancelled … end      repeat N … end
 *     return [TEXT]   fail [TEXT]   return-last   continue INPUT [version=…]
 *
 * A result is written as its value (ok when empty), !value when failed, ~value
 * when cancelled.
 * $input, $last (value of the last result) and $out may stand for a word.
 */
#include "script.h"

#include "pawl/orchestration.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_BYTES   20000
#define HANDLES_MAX 64
#define TASKS_MAX   12000

struct handle {
    pawl_str name;
    pawl_task one;
    pawl_task *tasks; /* &one, or those of a fan */
    size_t count;
};

struct run {
    pawl_ctx *ctx;
    const struct program *program;
    pawl_str input;
    char *out;
    size_t out_len;
    struct handle *handles;
    int handle_count;
    pawl_task *joined; /* the tasks of one line */
    pawl_result last;
    pawl_result returned;
};

int program_entries;

static bool run_lines(struct run *r, int from, int to);
static bool run_line(struct run *r, int *at, int to);
static bool run_block(struct run *r, const struct line *l, int *at, int to);
static int find_end(const struct run *r, int at, int to, int *retelse);
static bool run_ending(struct run *r, const struct line *l);
static bool run_waiting(struct run *r, const struct line *l);
static bool run_asking(struct run *r, const struct line *l);
static bool run_other(struct run *r, const struct line *l);
static void assign(struct run *r, const struct line *l);
static pawl_str word(const struct run *r, const struct line *l, int i);
static void put(struct run *r, const char *format, ...) PAWL_PRINTF(2, 3);
static void put_result(struct run *r, pawl_result result);
static struct handle *handle_of(struct run *r, pawl_str name, bool make);
static size_t join(struct run *r, const struct line *l);
static pawl_child_opts child_opts(const struct line *l);

pawl_result program_run(pawl_ctx *ctx, pawl_str input)
{
    struct run *r = pawl_alloc(ctx, sizeof(*r));

    program_entries++;
    r->ctx = ctx;
    r->program = pawl_user(ctx);
    r->input = input;
    r->out = pawl_alloc(ctx, OUT_BYTES);
    r->handles = pawl_alloc(ctx, HANDLES_MAX * sizeof(*r->handles));
    r->joined = pawl_alloc(ctx, TASKS_MAX * sizeof(*r->joined));
    if (!run_lines(r, 0, r->program->count))
        r->returned = pawl_done(ctx, r->out);
    return r->returned;
}

/* True when the program has returned. */
static bool run_lines(struct run *r, int from, int to)
{
    for (int at = from; at < to;)
        if (run_line(r, &at, to))
            return true;
    return false;
}

static bool run_line(struct run *r, int *at, int to)
{
    const struct line *l = &r->program->lines[*at];
    pawl_str op = l->words[0];

    if (pawl_str_is(op, "patched") || pawl_str_is(op, "if-cancelled") || pawl_str_is(op, "repeat"))
        return run_block(r, l, at, to);
    ++*at;
    if (l->count > 2 && pawl_str_is(l->words[1], "="))
        assign(r, l);
    else if (run_ending(r, l))
        return true;
    else if (!run_waiting(r, l) && !run_asking(r, l) && !run_other(r, l)) {
        fprintf(stderr, "line %d: unknown statement %s\n", l->number, op.ptr);
        abort();
    }
    return false;
}

static bool run_block(struct run *r, const struct line *l, int *at, int to)
{
    int otherwise, begin = *at + 1, end = find_end(r, *at, to, &otherwise);
    int times = 1;

    *at = end + 1;
    if (pawl_str_is(l->words[0], "repeat"))
        times = (int)word_number(l->words[1]);
    else if (pawl_str_is(l->words[0], "if-cancelled"))
        times = pawl_cancelled(r->ctx);
    else if (!pawl_patched(r->ctx, l->words[1].ptr))
        times = 0;
    for (int i = 0; i < times; i++)
        if (run_lines(r, begin, otherwise ? otherwise : end))
            return true;
    return times == 0 && otherwise && run_lines(r, otherwise + 1, end);
}

static int find_end(const struct run *r, int at, int to, int *retelse)
{
    int depth = 0;

    *retelse = 0;
    for (; at < to; at++) {
        pawl_str op = r->program->lines[at].words[0];
        if (pawl_str_is(op, "patched") || pawl_str_is(op, "if-cancelled") ||
            pawl_str_is(op, "repeat"))
            depth++;
        else if (pawl_str_is(op, "else") && depth == 1)
            *retelse = at;
        else if (pawl_str_is(op, "end") && --depth == 0)
            return at;
    }
    fprintf(stderr, "%s: a block has no end\n", r->program->name);
    abort();
}

static bool run_ending(struct run *r, const struct line *l)
{
    pawl_str op = l->words[0];
    pawl_str text = l->count > 1 ? word(r, l, 1) : (pawl_str){r->out, r->out_len};

    if (pawl_str_is(op, "return"))
        r->returned = pawl_done_str(r->ctx, text);
    else if (pawl_str_is(op, "fail"))
        r->returned = pawl_fail(r->ctx, text.ptr);
    else if (pawl_str_is(op, "return-last"))
        r->returned = r->last;
    else if (pawl_str_is(op, "continue"))
        r->returned = pawl_continue_as_new(r->ctx, text, line_option(l, 2, "version=").ptr);
    else
        return false;
    return true;
}

static bool run_waiting(struct run *r, const struct line *l)
{
    pawl_str op = l->words[0];

    if (pawl_str_is(op, "call")) {
        put_result(r, pawl_call(r->ctx, l->words[1].ptr, word(r, l, 2)));
    } else if (pawl_str_is(op, "call-child")) {
        pawl_child_opts opts = child_opts(l);
        put_result(r, pawl_call_child(r->ctx, l->words[1].ptr, word(r, l, 2), &opts));
    } else if (pawl_str_is(op, "sleep")) {
        put_result(r, pawl_sleep(r->ctx, word_number(l->words[1])));
    } else if (pawl_str_is(op, "await")) {
        struct handle *h = handle_of(r, l->words[1], true);
        put_result(r, pawl_await(r->ctx, h->count ? h->tasks[0] : (pawl_task){0}));
    } else if (pawl_str_is(op, "all")) {
        put_result(r, pawl_await_all(r->ctx, r->joined, join(r, l)));
    } else if (pawl_str_is(op, "settled")) {
        put_result(r, pawl_await_settled(r->ctx, r->joined, join(r, l)));
    } else if (pawl_str_is(op, "any")) {
        put(r, "%d", pawl_await_any(r->ctx, r->joined, join(r, l)));
    } else if (pawl_str_is(op, "race")) {
        put(r, "%d", pawl_race(r->ctx, r->joined, join(r, l)));
    } else {
        return false;
    }
    return true;
}

static void put_state(struct run *r, pawl_str value)
{
    put(r, "%s", !value.ptr ? "none" : value.len > 60 ? "long" : value.ptr);
}

static bool run_asking(struct run *r, const struct line *l)
{
    pawl_str op = l->words[0];

    if (pawl_str_is(op, "note"))
        put(r, "%s", word(r, l, 1).ptr);
    else if (pawl_str_is(op, "now"))
        put(r, "%" PRId64, pawl_now(r->ctx));
    else if (pawl_str_is(op, "uuid"))
        put(r, "%s", pawl_uuid(r->ctx).ptr);
    else if (pawl_str_is(op, "random"))
        put(r, "%016" PRIx64, pawl_random(r->ctx));
    else if (pawl_str_is(op, "length"))
        put(r, "%" PRIu64, pawl_history_length(r->ctx));
    else if (pawl_str_is(op, "execution"))
        put(r, "%" PRIu64, pawl_execution(r->ctx));
    else if (pawl_str_is(op, "instance"))
        put(r, "%s", pawl_instance(r->ctx).ptr);
    else if (pawl_str_is(op, "name"))
        put(r, "%s", pawl_name(r->ctx).ptr);
    else if (pawl_str_is(op, "version"))
        put(r, "%s", pawl_version(r->ctx).ptr);
    else if (pawl_str_is(op, "is-cancelled"))
        put(r, "%s", pawl_cancelled(r->ctx) ? "yes" : "no");
    else if (pawl_str_is(op, "get"))
        put_state(r, pawl_state_get(r->ctx, l->words[1].ptr));
    else if (pawl_str_is(op, "is-done"))
        put(r, "%s",
            pawl_is_done(r->ctx, handle_of(r, l->words[1], false)->tasks[0]) ? "yes" : "no");
    else
        return false;
    return true;
}

static bool run_other(struct run *r, const struct line *l)
{
    pawl_str op = l->words[0];

    if (pawl_str_is(op, "cancel")) {
        pawl_cancel(r->ctx, handle_of(r, l->words[1], false)->tasks[0]);
    } else if (pawl_str_is(op, "detached")) {
        pawl_child_opts opts = child_opts(l);
        put_result(r, pawl_start_detached(r->ctx, l->words[1].ptr, word(r, l, 2), &opts));
    } else if (pawl_str_is(op, "raise")) {
        put_result(r, pawl_raise(r->ctx, child_opts(l).instance, l->words[1].ptr, word(r, l, 2),
                                 line_has(l, 3, "await-start") ? PAWL_RAISE_AWAIT_START : 0));
    } else if (pawl_str_is(op, "status")) {
        pawl_set_status(r->ctx, word(r, l, 1).ptr);
    } else if (pawl_str_is(op, "set")) {
        put_result(r, pawl_state_set(r->ctx, l->words[1].ptr, word(r, l, 2)));
    } else if (pawl_str_is(op, "answer")) {
        pawl_answer(r->ctx, handle_of(r, l->words[1], false)->tasks[0], word(r, l, 2));
    } else if (pawl_str_is(op, "reject")) {
        pawl_reject(r->ctx, handle_of(r, l->words[1], false)->tasks[0], word(r, l, 2).ptr);
    } else if (pawl_str_is(op, "clear")) {
        put_result(r, pawl_state_clear(r->ctx, l->words[1].ptr));
    } else if (pawl_str_is(op, "log")) {
        pawl_log(r->ctx, PAWL_LOG_INFO, "%s", word(r, l, 1).ptr);
    } else if (pawl_str_is(op, "shield")) {
        pawl_shield(r->ctx);
    } else if (pawl_str_is(op, "unshield")) {
        pawl_unshield(r->ctx);
    } else if (pawl_str_is(op, "scope")) {
        pawl_scope_begin(r->ctx);
    } else if (pawl_str_is(op, "end-scope")) {
        pawl_scope_end(r->ctx);
    } else {
        return false;
    }
    return true;
}

static bool takes_numbers(const void *arg, pawl_str data, char *why, size_t size)
{
    (void)arg;
    if (data.len && data.ptr[0] >= '0' && data.ptr[0] <= '9')
        return true;
    (void)snprintf(why, size, "'%.*s' is no number", PAWL_FMT(data));
    return false;
}

static void assign(struct run *r, const struct line *l)
{
    struct handle *h = handle_of(r, l->words[0], true);
    pawl_str op = l->words[2];
    size_t n = pawl_str_is(op, "fan") ? (size_t)word_number(l->words[3]) : 1;
    char text[32];

    h->tasks = n == 1 ? &h->one : pawl_alloc(r->ctx, n * sizeof(*h->tasks));
    h->count = n;
    if (pawl_str_is(op, "start"))
        h->tasks[0] = pawl_start(r->ctx, l->words[3].ptr, word(r, l, 4));
    else if (pawl_str_is(op, "start-retry"))
        h->tasks[0] = pawl_start_with(r->ctx, l->words[3].ptr, word(r, l, 4),
                                      PAWL_CALL_OPTS(.attempts = 5, .tag = "gpu"));
    else if (pawl_str_is(op, "timer"))
        h->tasks[0] = pawl_timer(r->ctx, word_number(l->words[3]));
    else if (pawl_str_is(op, "wait") && line_has(l, 4, "fresh"))
        h->tasks[0] = pawl_wait_event_with(r->ctx, l->words[3].ptr, PAWL_EVENT_DROP_EARLY);
    else if (pawl_str_is(op, "ask"))
        h->tasks[0] = pawl_wait_event_ask(r->ctx, l->words[3].ptr, word(r, l, 4));
    else if (pawl_str_is(op, "wait"))
        h->tasks[0] = pawl_wait_event(r->ctx, l->words[3].ptr);
    else if (pawl_str_is(op, "update") && line_has(l, 4, "checked"))
        h->tasks[0] = pawl_wait_update_checked(r->ctx, l->words[3].ptr, takes_numbers, NULL);
    else if (pawl_str_is(op, "update"))
        h->tasks[0] = pawl_wait_update(r->ctx, l->words[3].ptr);
    else if (pawl_str_is(op, "none"))
        h->tasks[0] = (pawl_task){(uint64_t)word_number(l->words[3])};
    else if (pawl_str_is(op, "child")) {
        pawl_child_opts opts = child_opts(l);
        h->tasks[0] = pawl_start_child(r->ctx, l->words[3].ptr, word(r, l, 4), &opts);
    } else if (pawl_str_is(op, "fan")) {
        for (size_t i = 0; i < n; i++) {
            (void)snprintf(text, sizeof(text), "%zu", i);
            h->tasks[i] = pawl_start(r->ctx, l->words[4].ptr, pawl_s(text));
        }
    } else {
        fprintf(stderr, "line %d: cannot start %s\n", l->number, op.ptr);
        abort();
    }
}

static pawl_str word(const struct run *r, const struct line *l, int i)
{
    if (i >= l->count)
        return (pawl_str){"", 0};
    if (pawl_str_is(l->words[i], "$input"))
        return r->input;
    if (pawl_str_is(l->words[i], "$last"))
        return r->last.value;
    if (pawl_str_is(l->words[i], "$out"))
        return (pawl_str){r->out, r->out_len};
    return l->words[i];
}

static void put(struct run *r, const char *format, ...)
{
    va_list args;

    if (r->out_len && r->out_len + 1 < OUT_BYTES)
        r->out[r->out_len++] = ' ';
    va_start(args, format);
    int n = vsnprintf(r->out + r->out_len, OUT_BYTES - r->out_len, format, args);
    va_end(args);
    r->out_len += (size_t)n < OUT_BYTES - r->out_len ? (size_t)n : OUT_BYTES - r->out_len - 1;
}

static void put_result(struct run *r, pawl_result result)
{
    r->last = result;
    put(r, "%s%s",
        result.ok          ? ""
        : result.cancelled ? "~"
                           : "!",
        result.ok && result.value.len == 0 ? "ok" : result.value.ptr);
}

static struct handle *handle_of(struct run *r, pawl_str name, bool make)
{
    for (int i = 0; i < r->handle_count; i++)
        if (pawl_str_eq(r->handles[i].name, name))
            return &r->handles[i];
    if (!make || r->handle_count == HANDLES_MAX) {
        fprintf(stderr, "%s: no handle %s\n", r->program->name, name.ptr);
        abort();
    }
    r->handles[r->handle_count].name = name;
    return &r->handles[r->handle_count++];
}

static size_t join(struct run *r, const struct line *l)
{
    size_t n = 0;

    for (int i = 1; i < l->count; i++) {
        const struct handle *h = handle_of(r, l->words[i], false);
        for (size_t k = 0; k < h->count && n < TASKS_MAX; k++)
            r->joined[n++] = h->tasks[k];
    }
    return n;
}

static pawl_child_opts child_opts(const struct line *l)
{
    return (pawl_child_opts){.size = sizeof(pawl_child_opts),
                             .instance = line_option(l, 2, "id=").ptr,
                             .version = line_option(l, 2, "version=").ptr,
                             .flags = line_has(l, 2, "abandon") ? PAWL_CHILD_ABANDON : 0};
}
