/* SPDX-License-Identifier: MIT */
/*
 * trial/script.c -- what activities answer in a test (pawl/test.h).
 *
 * An attempt is counted, its input kept, and its answer looked up: first what was
 * said of this very attempt, then what was said of all.  Called by the world for
 * every attempt.
 */
#include "trial/test.h"

#include "base/attr.h"
#include "base/misuse.h"
#include "runtime/core/registry.h"

#include <string.h>

static _Thread_local pawl_test *playing; /* whose attempt runs on this thread */

pawl_test_answer pawl_test_ok(const char *result)
{
    return (pawl_test_answer){.kind = ANSWER_OK, .text = result};
}

pawl_test_answer pawl_test_fail(const char *error)
{
    return (pawl_test_answer){.kind = ANSWER_FAIL, .text = error};
}

pawl_test_answer pawl_test_fail_final(const char *error)
{
    return (pawl_test_answer){.kind = ANSWER_FAIL_FINAL, .text = error};
}

pawl_test_answer pawl_test_time_out(void)
{
    return (pawl_test_answer){.kind = ANSWER_TIME_OUT};
}

pawl_test_answer pawl_test_call(pawl_activity_fn *fn)
{
    return (pawl_test_answer){.kind = ANSWER_CALL, .fn = fn};
}

pawl_test_answer pawl_test_real(void)
{
    return (pawl_test_answer){.kind = ANSWER_REAL};
}

pawl_test_answer pawl_test_after(int64_t ms, pawl_test_answer answer)
{
    answer.after_ms = ms;
    return answer;
}

/* ---- Scripts ------------------------------------------------------------------------------ */

struct script *script_of(pawl_test *t, pawl_str activity)
{
    struct script *s = t->scripts;
    while (s && !pawl_str_is(activity, s->name))
        s = s->next;
    if (!s) {
        s = arena_new(&t->mem, struct script);
        s->name = arena_dup(&t->mem, activity).ptr;
        s->next = t->scripts;
        t->scripts = s;
    }
    return s;
}

void script_free(pawl_test *t)
{
    for (struct script *s = t->scripts; s; s = s->next) {
        vec_deinit(&s->nth);
        vec_deinit(&s->inputs);
        vec_deinit(&s->waiting);
    }
}

static pawl_test_answer keep(pawl_test *t, pawl_test_answer answer)
{
    answer.text = arena_dup(&t->mem, pawl_s(answer.text)).ptr;
    return answer;
}

/* Attempts that wait because no answer was given for them get it now. */
static void answer_waiting(pawl_test *t, struct script *s, const pawl_test_answer *a)
{
    bool plain = a->kind == ANSWER_OK || a->kind == ANSWER_FAIL || a->kind == ANSWER_FAIL_FINAL;
    pawl_str text = pawl_s(plain ? a->text : "scripted after it was called");
    for (size_t i = 0; i < s->waiting.count && a->kind != ANSWER_TIME_OUT; i++)
        world_call(&t->world, a->after_ms,
                   PAWL_REQUEST(.op = PAWL_OP_COMPLETE, .name = s->waiting.items[i], .data = text,
                                .failed = a->kind != ANSWER_OK,
                                .final = a->kind == ANSWER_FAIL_FINAL));
    vec_reset(&s->waiting);
}

void pawl_test_on(pawl_test *t, const char *activity, pawl_test_answer answer)
{
    MUST_HAVE("a test", t);
    struct script *s = script_of(t, pawl_s(activity));
    s->always = keep(t, answer);
    answer_waiting(t, s, &s->always);
}

void pawl_test_on_nth(pawl_test *t, const char *activity, unsigned n, pawl_test_answer answer)
{
    MUST_HAVE("a test", t);
    struct script *s = script_of(t, pawl_s(activity));
    struct nth_answer *slot = vec_push(&s->nth);
    assert_that(slot);
    *slot = (struct nth_answer){n, keep(t, answer)};
    if (n == s->inputs.count)
        answer_waiting(t, s, &slot->answer);
}

static pawl_test_answer answer_of(const struct script *s)
{
    for (size_t i = s->nth.count; i-- > 0;)
        if (s->nth.items[i].n == s->inputs.count)
            return s->nth.items[i].answer;
    return s->always;
}

/* ---- Playing ------------------------------------------------------------------------------ */

static pawl_result run_real(pawl_test *t, pawl_activity *act, pawl_str input)
{
    const struct activity_entry *e = registry_activity(t->world.code, pawl_activity_name(act));
    return e ? e->fn(act, input)
             : pawl_err_final(act, "pawl_test_real(): no such activity is registered");
}

static pawl_result result_of(pawl_test *t, const pawl_test_answer *a, pawl_activity *act,
                             pawl_str input)
{
    switch ((enum answer_kind)a->kind) {
    case ANSWER_OK:
        return pawl_ok(act, a->text);
    case ANSWER_FAIL:
        return pawl_err(act, a->text);
    case ANSWER_FAIL_FINAL:
        return pawl_err_final(act, a->text);
    case ANSWER_CALL:
        return a->fn(act, input);
    case ANSWER_REAL:
        return run_real(t, act, input);
    case ANSWER_NONE:
    case ANSWER_TIME_OUT:
        break;
    }
    return world_answer_later(&t->world, act, -1, (pawl_result){0});
}

pawl_result script_play(void *user, pawl_activity *act, pawl_str input)
{
    pawl_test *t = user, *before = playing;
    struct script *s = script_of(t, pawl_activity_name(act));
    const char **slot = vec_push(&s->inputs);
    assert_that(slot);
    *slot = arena_dup(&t->mem, input).ptr;
    pawl_test_answer a = answer_of(s);
    if (a.kind == ANSWER_NONE) {
        slot = vec_push(&s->waiting);
        assert_that(slot);
        *slot = arena_dup(&t->mem, pawl_s(pawl_activity_token(act))).ptr;
    }
    playing = t;
    pawl_result r = result_of(t, &a, act, input);
    playing = before;
    if (a.after_ms > 0 && (a.kind == ANSWER_OK || a.kind == ANSWER_FAIL))
        return world_answer_later(&t->world, act, a.after_ms, r);
    return r;
}

pawl_test *pawl_test_of(pawl_activity *act)
{
    MUST_HAVE("an activity", act);
    (void)act;
    return playing;
}

void pawl_test_set_user(pawl_test *t, void *user)
{
    MUST_HAVE("a test", t);
    t->user = user;
}

void *pawl_test_user(pawl_test *t)
{
    MUST_HAVE("a test", t);
    return t->user;
}

unsigned pawl_test_runs(pawl_test *t, const char *activity)
{
    MUST_HAVE("a test", t);
    return (unsigned)script_of(t, pawl_s(activity))->inputs.count;
}

const char *pawl_test_input(pawl_test *t, const char *activity, unsigned n)
{
    MUST_HAVE("a test", t);
    const struct script *s = script_of(t, pawl_s(activity));
    return n >= 1 && n <= s->inputs.count ? s->inputs.items[n - 1] : NULL;
}
