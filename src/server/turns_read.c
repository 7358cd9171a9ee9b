/* SPDX-License-Identifier: MIT */
/*
 * server/turns_read.c -- a worker's call, from JSON.
 *
 * The members of the call itself are checked by its shape (takes.c) and here, with 400.  An answer
 * that cannot be read is refused alone (PAWL_TURN_UNREADABLE), because the others in the same call
 * are of other instances.  Whether a readable one is right is for the engine.
 *
 * Decisions are read in turns_decision.c, members of any object by tables in turns_members.c.
 */
#include "server/turns_read.h"

#include "base/json.h"
#include "server/turns_decision.h"
#include "server/turns_members.h"

#include <stddef.h>

/* ---- Steps and answers ---------------------------------------------------------- */

#define IN_STEP(field) offsetof(pawl_turn_step, field)
static const struct turn_member result_members[] = {
    {"lease",  TO_TEXT,  IN_STEP(lease), 0, NULL},
    {"data",   TO_TEXT,  IN_STEP(data),  0, NULL},
    {"data64", TO_BYTES, IN_STEP(data),  0, NULL},
    {"at",     TO_INT,   IN_STEP(at_ms), 0, NULL},
    {NULL,     TO_TEXT,  0,              0, NULL}
};

static bool read_decisions(struct turn_reading *r, void *to, pawl_str value)
{
    return turn_decisions(r, value, to);
}

static bool read_result(struct turn_reading *r, void *to, pawl_str value)
{
    enum { LEASE = 1, DATA = 2, DATA64 = 4, AT = 8 };
    const pawl_turn_step *step = to;
    uint64_t seen = 0;

    if (!turn_object(r, value, result_members, to, &seen))
        return false;
    if (!(seen & AT) || !step->lease.len || (seen & (DATA | DATA64)) == (DATA | DATA64))
        return turn_bad(r, "a result has a lease, at, and data or data64", pawl_s("result"));
    return true;
}

static const struct turn_member step_members[] = {
    {"m",         TO_U32,     IN_STEP(message), 0, NULL          },
    {"seq",       TO_REF,     IN_STEP(seq),     0, NULL          },
    {"decisions", TO_ITS_OWN, 0,                0, read_decisions},
    {"result",    TO_ITS_OWN, 0,                0, read_result   },
    {NULL,        TO_TEXT,    0,                0, NULL          }
};

/* One of the four forms. */
static bool set_form(struct turn_reading *r, pawl_turn_answer *a, pawl_turn_form form)
{
    if (a->form)
        return turn_bad(r, "an answer has one of steps, mismatch, bug, release", pawl_s(""));
    a->form = form;
    return true;
}

static bool read_steps(struct turn_reading *r, void *to, pawl_str raw)
{
    pawl_turn_answer *a = to;
    struct json_iter it;

    if (!set_form(r, a, PAWL_TURN_STEPS))
        return false;
    if (json_type(raw) != JSON_ARRAY)
        return turn_bad(r, "not a list", pawl_s("steps"));
    pawl_turn_step *list = pawl_mem_alloc(r->mem, (turn_length(raw) + 1) * sizeof(*list));
    for (json_begin(&it, raw); json_next(&it);) {
        pawl_turn_step *step = &list[a->step_count++];
        *step = (pawl_turn_step){0};
        if (!turn_object(r, it.value, step_members, step, NULL))
            return false;
        if (!step->seq || !step->decisions || (step->message != 0) == (step->lease.len != 0))
            return turn_bad(r, "a step has seq, decisions, and either m or result", pawl_s(""));
    }
    a->steps = list;
    return true;
}

static bool read_wait_for(struct turn_reading *r, void *to, pawl_str value)
{
    static const char *const words[] = {"any", "all", "settled"};
    pawl_turn_answer *a = to;
    pawl_str word;

    if (!turn_text(r, value, &word))
        return false;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (pawl_str_is(word, words[i]))
            a->wait = (pawl_turn_wait)(i + 1);
    return a->wait != PAWL_TURN_WAIT_NONE;
}

static bool read_refs(struct turn_reading *r, void *to, pawl_str value)
{
    pawl_turn_answer *a = to;
    struct json_iter it;

    if (json_type(value) != JSON_ARRAY)
        return false;
    uint64_t *list = pawl_mem_alloc(r->mem, (turn_length(value) + 1) * sizeof(*list));
    for (json_begin(&it, value); json_next(&it);) {
        int64_t n;
        if (!json_whole(it.value, &n) || n < 1)
            return false;
        list[a->ref_count++] = (uint64_t)n;
    }
    a->refs = list;
    return true;
}

static const struct turn_member wait_members[] = {
    {"for",  TO_ITS_OWN, 0, 0, read_wait_for},
    {"refs", TO_ITS_OWN, 0, 0, read_refs    },
    {NULL,   TO_TEXT,    0, 0, NULL         }
};

static bool read_wait(struct turn_reading *r, void *to, pawl_str value)
{
    uint64_t seen = 0;

    return turn_object(r, value, wait_members, to, &seen) &&
           (seen == 3 || turn_bad(r, "a wait has 'for' and 'refs'", pawl_s("")));
}

#define IN_ANSWER(field) offsetof(pawl_turn_answer, field)
static const struct turn_member mismatch_members[] = {
    {"code",      TO_TEXT, IN_ANSWER(code),      0, NULL},
    {"seq",       TO_INT,  IN_ANSWER(seq),       0, NULL},
    {"text",      TO_TEXT, IN_ANSWER(text),      0, NULL},
    {"recorded",  TO_TEXT, IN_ANSWER(recorded),  0, NULL},
    {"attempted", TO_TEXT, IN_ANSWER(attempted), 0, NULL},
    {"site",      TO_TEXT, IN_ANSWER(site),      0, NULL},
    {NULL,        TO_TEXT, 0,                    0, NULL}
};
static const struct turn_member bug_members[] = {
    {"error", TO_TEXT, IN_ANSWER(text),  0, NULL},
    {"site",  TO_TEXT, IN_ANSWER(site),  0, NULL},
    {"trace", TO_TEXT, IN_ANSWER(trace), 0, NULL},
    {NULL,    TO_TEXT, 0,                0, NULL}
};

static bool read_mismatch(struct turn_reading *r, void *to, pawl_str value)
{
    pawl_turn_answer *a = to;

    return set_form(r, a, PAWL_TURN_MISMATCH) && turn_object(r, value, mismatch_members, a, NULL) &&
           (a->text.len || turn_bad(r, "a mismatch has a text", pawl_s("")));
}

static bool read_bug(struct turn_reading *r, void *to, pawl_str value)
{
    pawl_turn_answer *a = to;

    return set_form(r, a, PAWL_TURN_BUG) && turn_object(r, value, bug_members, a, NULL) &&
           (a->text.len || turn_bad(r, "a bug has an error", pawl_s("")));
}

static bool read_release(struct turn_reading *r, void *to, pawl_str value)
{
    return pawl_str_is(value, "true") && set_form(r, to, PAWL_TURN_RELEASE);
}

static const struct turn_member answer_members[] = {
    {"token",    TO_TEXT,    IN_ANSWER(token), 0, NULL         },
    {"steps",    TO_ITS_OWN, 0,                0, read_steps   },
    {"wait",     TO_ITS_OWN, 0,                0, read_wait    },
    {"mismatch", TO_ITS_OWN, 0,                0, read_mismatch},
    {"bug",      TO_ITS_OWN, 0,                0, read_bug     },
    {"release",  TO_ITS_OWN, 0,                0, read_release },
    {NULL,       TO_TEXT,    0,                0, NULL         }
};

static void read_answer(struct call *c, pawl_str raw, pawl_turn_answer *a)
{
    struct turn_reading r = {.mem = c->mem};

    if (turn_object(&r, raw, answer_members, a, NULL) && !a->form)
        (void)turn_bad(&r, "an answer has one of steps, mismatch, bug, release", pawl_s(""));
    if (a->wait != PAWL_TURN_WAIT_NONE && a->form != PAWL_TURN_STEPS)
        (void)turn_bad(&r, "only steps have a wait", pawl_s(""));
    if (!r.why)
        return;
    pawl_str token = call_member(raw, "token"); /* it may stand behind what cannot be read */
    if (!a->token.len && token.ptr && json_type(token) == JSON_STRING)
        a->token = pawl_json_text(c->mem, token, "", "");
    a->form = PAWL_TURN_UNREADABLE;
    a->step_count = a->ref_count = 0;
    a->text = pawl_s(r.why);
}

/* ---- The call ---------------------------------------------------------------------- */

static bool read_answers(struct call *c, pawl_turns *q)
{
    pawl_str raw = call_member(c->json, "answers");
    struct json_iter it;

    if (!raw.ptr)
        return true;
    if (json_type(raw) != JSON_ARRAY || turn_length(raw) > PAWL_TURNS_ANSWERS_MAX) {
        answer_error(c, 400, "invalid", "answers must be a list of at most %d",
                     PAWL_TURNS_ANSWERS_MAX);
        return false;
    }
    pawl_turn_answer *list = pawl_mem_alloc(c->mem, (turn_length(raw) + 1) * sizeof(*list));
    for (json_begin(&it, raw); json_next(&it);) {
        pawl_turn_answer *a = &list[q->answer_count++];
        *a = (pawl_turn_answer){0};
        read_answer(c, it.value, a);
        if (!a->token.len) {
            answer_error(c, 400, "invalid", "answers[%zu] has no token", q->answer_count - 1);
            return false;
        }
    }
    q->answers = list;
    return true;
}

static bool read_texts(struct call *c, const char *key, size_t most, const pawl_str **ret,
                       size_t *retcount)
{
    pawl_str raw = call_member(c->json, key);
    struct turn_reading r = {.mem = c->mem};
    struct json_iter it;
    bool ok = !raw.ptr || (json_type(raw) == JSON_ARRAY && turn_length(raw) <= most);

    if (raw.ptr && ok) {
        pawl_str *list = pawl_mem_alloc(c->mem, (turn_length(raw) + 1) * sizeof(*list));
        for (json_begin(&it, raw); ok && json_next(&it); ++*retcount)
            ok = turn_text(&r, it.value, &list[*retcount]) && list[*retcount].len;
        *ret = list;
    }
    if (!ok)
        answer_error(c, 400, "invalid", "%s must be a list of at most %zu texts that are not empty",
                     key, most);
    return ok;
}

static bool read_code(struct call *c, pawl_turns *q)
{
    static const struct turn_member members[] = {
        {"name", TO_TEXT, offsetof(pawl_turn_code, name),        0,                       NULL},
        {"version",      TO_TEXT,     offsetof(pawl_turn_code,                version), 0, NULL},
        {NULL,  TO_TEXT,         0,                             0,                                 NULL                                              }
    };
    pawl_str raw = call_member(c->json, "code");
    struct turn_reading r = {.mem = c->mem};
    struct json_iter it;
    bool ok = !raw.ptr || (json_type(raw) == JSON_ARRAY && turn_length(raw) <= PAWL_TURNS_CODE_MAX);

    q->has_code = raw.ptr != NULL;
    if (raw.ptr && ok) {
        pawl_turn_code *list = pawl_mem_alloc(c->mem, (turn_length(raw) + 1) * sizeof(*list));
        for (json_begin(&it, raw); ok && json_next(&it); q->code_count++) {
            list[q->code_count] = (pawl_turn_code){0};
            ok = turn_object(&r, it.value, members, &list[q->code_count], NULL);
        }
        q->code = list;
    }
    if (!ok)
        answer_error(c, 400, "invalid", "code must be a list of at most %d {name, version}",
                     PAWL_TURNS_CODE_MAX);
    return ok;
}

bool turns_read(struct call *c, pawl_turns *ret)
{
    int64_t protocol, max;
    const char *session, *worker;

    *ret = (pawl_turns){0};
    if (!call_integer(c, c->json, "protocol", 1, INT32_MAX, 0, &protocol) ||
        !call_text(c, c->json, "session", &session) || !call_text(c, c->json, "worker", &worker) ||
        !call_integer(c, c->json, "max", 0, PAWL_TURNS_MAX, 0, &max) ||
        !call_integer(c, c->json, "wait_ms", 0, PAWL_TURNS_WAIT_MAX, 0, &ret->wait_ms) ||
        !call_integer(c, c->json, "lease_ms", PAWL_LEASE_MIN, PAWL_LEASE_MAX, 0, &ret->lease_ms) ||
        !call_truth(c, c->json, "leaving", &ret->leaving) || !read_code(c, ret) ||
        !read_texts(c, "beats", PAWL_TURNS_ANSWERS_MAX, &ret->beats, &ret->beat_count) ||
        !read_texts(c, "forget", PAWL_TURNS_FORGET_MAX, &ret->forget, &ret->forget_count) ||
        !read_answers(c, ret))
        return false;
    ret->protocol = (uint32_t)protocol;
    ret->session = pawl_s(session);
    ret->worker = pawl_s(worker);
    ret->max = (uint32_t)max;
    return true;
}
