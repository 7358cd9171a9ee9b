/* SPDX-License-Identifier: MIT */
/*
 * server/turns_read.c -- a worker's call, from JSON.
 *
 * The members of the call itself are checked by its shape (takes.c) and here, with 400.  An answer
 * that cannot be read is refused alone (PAWL_TURN_UNREADABLE), because the others in the same call
 * are of other instances.  Whether a readable one is right is for the engine.
 *
 * Every object has a table of its members: the word, the type, where the value goes.  An unknown or
 * doubled member, or one of another type, makes the answer unreadable.
 */
#include "server/turns_read.h"

#include "base/base64.h"
#include "base/json.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum to {
    TO_TEXT,
    TO_BYTES,
    TO_INT,
    TO_REF,
    TO_FLAG,
    TO_TRUE,
    TO_RAW,
    TO_REAL,
    TO_CSTR,
    TO_U32,
    TO_BOOL
};

struct turn_member {
    const char *name;
    enum to to;
    size_t at;
    unsigned flag; /* TO_FLAG */
};

/* What is being read, and why it cannot be. */
struct turn_reading {
    pawl_mem *mem;
    const char *why; /* NULL: nothing is wrong */
};

static bool bad(struct turn_reading *r, const char *what, pawl_str key)
{
    if (!r->why)
        r->why =
            pawl_mem_printf(r->mem, "%s: %.*s", what, (int)(key.len < 60 ? key.len : 60), key.ptr)
                .ptr;
    return false;
}

static bool text_of(struct turn_reading *r, pawl_str raw, pawl_str *ret)
{
    if (json_type(raw) != JSON_STRING)
        return false;
    *ret = pawl_json_text(r->mem, raw, "", "");
    return true;
}

static bool bytes_of(struct turn_reading *r, pawl_str raw, pawl_str *ret)
{
    pawl_str text;

    if (!text_of(r, raw, &text))
        return false;
    size_t read, pad = 0;
    char *to = pawl_mem_alloc(r->mem, text.len / 4 * 3 + 3);
    *ret = (pawl_str){to, base64_read(to, text, &read)};
    while (read + pad < text.len && text.ptr[read + pad] == '=')
        pad++;
    return read + pad == text.len && pad <= 2;
}

static bool cstr_of(struct turn_reading *r, pawl_str raw, const char **ret)
{
    pawl_str text;

    if (!text_of(r, raw, &text) || memchr(text.ptr, 0, text.len))
        return false;
    *ret = text.ptr;
    return true;
}

static bool put(struct turn_reading *r, const struct turn_member *m, pawl_str raw, char *to)
{
    int64_t n = 0;

    switch (m->to) {
    case TO_TEXT:
        return text_of(r, raw, (pawl_str *)(void *)to);
    case TO_BYTES:
        return bytes_of(r, raw, (pawl_str *)(void *)to);
    case TO_INT:
        return json_whole(raw, (int64_t *)(void *)to);
    case TO_REF:
        if (!json_whole(raw, &n) || n < 1)
            return false;
        *(uint64_t *)(void *)to = (uint64_t)n;
        return true;
    case TO_U32:
        if (!json_whole(raw, &n) || n < 0 || n > UINT32_MAX)
            return false;
        *(uint32_t *)(void *)to = (uint32_t)n;
        return true;
    case TO_FLAG:
        if (json_type(raw) != JSON_BOOL)
            return false;
        *(unsigned *)(void *)to |= raw.ptr[0] == 't' ? m->flag : 0;
        return true;
    case TO_BOOL:
        *(bool *)to = raw.ptr[0] == 't';
        return json_type(raw) == JSON_BOOL;
    case TO_TRUE:
        return pawl_str_is(raw, "true");
    case TO_RAW:
        *(pawl_str *)(void *)to = raw;
        return json_type(raw) == JSON_OBJECT;
    case TO_REAL:
        *(double *)(void *)to = pawl_json_number(raw, "", 0);
        return json_type(raw) == JSON_NUMBER;
    case TO_CSTR:
        return cstr_of(r, raw, (const char **)(void *)to);
    }
    return false;
}

/* The members that `list` names, into `to`; `others` (may be NULL) gets the rest. */
static bool
read_object(struct turn_reading *r, pawl_str object, const struct turn_member *list, void *to,
            bool (*others)(struct turn_reading *r, void *to, pawl_str key, pawl_str value))
{
    struct json_iter it;
    uint64_t seen = 0;

    if (json_type(object) != JSON_OBJECT)
        return bad(r, "not an object", object);
    for (json_begin(&it, object); json_next(&it);) {
        const struct turn_member *m = list;
        while (m->name && !pawl_str_is(it.key, m->name))
            m++;
        if (!m->name && (!others || !others(r, to, it.key, it.value)))
            return bad(r, "unknown or unreadable member", it.key);
        if (!m->name)
            continue;
        if (seen >> (m - list) & 1)
            return bad(r, "given twice", it.key);
        seen |= UINT64_C(1) << (m - list);
        if (!put(r, m, it.value, (char *)to + m->at))
            return bad(r, "has another type or range", it.key);
    }
    return true;
}

static size_t length_of(pawl_str array)
{
    struct json_iter it;
    size_t n = 0;

    for (json_begin(&it, array); json_next(&it);)
        n++;
    return n;
}

/* ---- Options of a call -------------------------------------------------------- */

#define IN_OPTS(field) offsetof(pawl_call_opts, field)
static const struct turn_member opts_members[] = {
    {"attempts",             TO_U32,  IN_OPTS(attempts),             0},
    {"initial_ms",           TO_INT,  IN_OPTS(initial_ms),           0},
    {"cap_ms",               TO_INT,  IN_OPTS(cap_ms),               0},
    {"factor",               TO_REAL, IN_OPTS(factor),               0},
    {"jitter",               TO_REAL, IN_OPTS(jitter),               0},
    {"no_retry_on_timeout",  TO_BOOL, IN_OPTS(no_retry_on_timeout),  0},
    {"schedule_to_start_ms", TO_INT,  IN_OPTS(schedule_to_start_ms), 0},
    {"start_to_close_ms",    TO_INT,  IN_OPTS(start_to_close_ms),    0},
    {"schedule_to_close_ms", TO_INT,  IN_OPTS(schedule_to_close_ms), 0},
    {"heartbeat_ms",         TO_INT,  IN_OPTS(heartbeat_ms),         0},
    {"tag",                  TO_CSTR, IN_OPTS(tag),                  0},
    {"max_crashes",          TO_U32,  IN_OPTS(max_crashes),          0},
    {"at_most_once",         TO_BOOL, IN_OPTS(at_most_once),         0},
    {"key",                  TO_CSTR, IN_OPTS(key),                  0},
    {"priority",             TO_U32,  IN_OPTS(priority),             0},
    {NULL,                   TO_TEXT, 0,                             0}
};

static bool other_opts(struct turn_reading *r, void *to, pawl_str key, pawl_str value)
{
    static const char *const words[] = {"exponential", "linear", "fixed"};
    static const pawl_backoff backoffs[] = {PAWL_BACKOFF_EXPONENTIAL, PAWL_BACKOFF_LINEAR,
                                            PAWL_BACKOFF_FIXED};
    pawl_call_opts *opts = to;
    struct json_iter it;
    pawl_str text;
    size_t n = 0;

    if (pawl_str_is(key, "backoff") && text_of(r, value, &text))
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (pawl_str_is(text, words[i])) {
                opts->backoff = backoffs[i];
                return true;
            }
    if (!pawl_str_is(key, "final_errors") || json_type(value) != JSON_ARRAY)
        return false;
    const char **list = pawl_mem_alloc(r->mem, (length_of(value) + 1) * sizeof(*list));
    for (json_begin(&it, value); json_next(&it);)
        if (!cstr_of(r, it.value, &list[n++]))
            return false;
    list[n] = NULL;
    opts->final_errors = list;
    return true;
}

static bool read_opts(struct turn_reading *r, pawl_str raw, const pawl_call_opts **ret)
{
    pawl_call_opts *opts = pawl_mem_alloc(r->mem, sizeof(*opts));

    *opts = (pawl_call_opts){.size = sizeof(*opts)};
    if (!read_object(r, raw, opts_members, opts, other_opts))
        return false;
    if (opts->tag && strncmp(opts->tag, "pawl.", 5) == 0)
        return bad(r, "a tag that begins with pawl. is reserved", pawl_s(opts->tag));
    *ret = opts;
    return true;
}

/* ---- Decisions ----------------------------------------------------------------- */

#define IN_DECISION(field) offsetof(pawl_decision, field)
static const struct turn_member decision_members[] = {
    {"ref",         TO_REF,   IN_DECISION(ref),         0                    },
    {"name",        TO_TEXT,  IN_DECISION(name),        0                    },
    {"data",        TO_TEXT,  IN_DECISION(data),        0                    },
    {"data64",      TO_BYTES, IN_DECISION(data),        0                    },
    {"text",        TO_TEXT,  IN_DECISION(data),        0                    },
    {"output",      TO_TEXT,  IN_DECISION(data),        0                    },
    {"error",       TO_TEXT,  IN_DECISION(data),        0                    },
    {"input",       TO_TEXT,  IN_DECISION(data),        0                    },
    {"instance",    TO_TEXT,  IN_DECISION(instance),    0                    },
    {"version",     TO_TEXT,  IN_DECISION(version),     0                    },
    {"reason",      TO_TEXT,  IN_DECISION(reason),      0                    },
    {"refused",     TO_TEXT,  IN_DECISION(refused),     0                    },
    {"ask",         TO_RAW,   IN_DECISION(ask),         0                    },
    {"delay_ms",    TO_INT,   IN_DECISION(delay_ms),    0                    },
    {"priority",    TO_INT,   IN_DECISION(priority),    0                    },
    {"deadline_ms", TO_INT,   IN_DECISION(deadline_ms), 0                    },
    {"lease",       TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_LEASE      },
    {"fresh",       TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_FRESH      },
    {"abandon",     TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_ABANDON    },
    {"inherit",     TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_INHERIT    },
    {"await_start", TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_AWAIT_START},
    {"cleared",     TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_CLEARED    },
    {"rejected",    TO_FLAG,  IN_DECISION(flags),       PAWL_DEED_REJECTED   },
    {NULL,          TO_TEXT,  0,                        0                    }
};

static bool read_deed(pawl_str word, pawl_decision *to)
{
#define DEED(name, number, text)                                                                   \
    if (pawl_str_is(word, text) && (number) != PAWL_DEED_FINISH)                                   \
        to->deed = PAWL_DEED_##name;
    PAWL_DEEDS(DEED)
#undef DEED
    return to->deed != 0;
}

static bool read_end(pawl_str word, pawl_decision *to)
{
    static const char *const words[] = {"completed", "failed", "continue", "cancelled"};

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (pawl_str_is(word, words[i]))
            to->end = (pawl_deed_end)(i + 1);
    to->deed = PAWL_DEED_FINISH;
    return to->end != 0;
}

static bool other_of_decision(struct turn_reading *r, void *to, pawl_str key, pawl_str value)
{
    pawl_decision *d = to;
    pawl_str word;

    if (pawl_str_is(key, "opts"))
        return read_opts(r, value, &d->opts);
    if (pawl_str_is(key, "attributes")) {
        d->data = value;
        return json_type(value) == JSON_OBJECT;
    }
    if (d->deed || !text_of(r, value, &word))
        return false;
    if (pawl_str_is(key, "do"))
        return read_deed(word, d) || bad(r, "unknown decision", word);
    return pawl_str_is(key, "end") && (read_end(word, d) || bad(r, "unknown end", word));
}

static bool read_decisions(struct turn_reading *r, pawl_str raw, pawl_turn_step *step)
{
    struct json_iter it;

    if (json_type(raw) != JSON_ARRAY)
        return bad(r, "not a list", pawl_s("decisions"));
    pawl_decision *list = pawl_mem_alloc(r->mem, (length_of(raw) + 1) * sizeof(*list));
    for (json_begin(&it, raw); json_next(&it);) {
        pawl_decision *d = &list[step->count++];
        *d = (pawl_decision){0};
        if (!read_object(r, it.value, decision_members, d, other_of_decision))
            return false;
        if (!d->deed)
            return bad(r, "a decision has 'do' or 'end'", pawl_s(""));
        if (d->refused.len > 399)
            return bad(r, "longer than 399 bytes", pawl_s("refused"));
    }
    step->decisions = list;
    return true;
}

/* ---- Steps and answers ---------------------------------------------------------- */

#define IN_STEP(field) offsetof(pawl_turn_step, field)
static const struct turn_member step_members[] = {
    {"m",   TO_U32,  IN_STEP(message), 0},
    {"seq", TO_REF,  IN_STEP(seq),     0},
    {NULL,  TO_TEXT, 0,                0}
};
static const struct turn_member result_members[] = {
    {"lease",  TO_TEXT,  IN_STEP(lease), 0},
    {"data",   TO_TEXT,  IN_STEP(data),  0},
    {"data64", TO_BYTES, IN_STEP(data),  0},
    {"at",     TO_INT,   IN_STEP(at_ms), 0},
    {NULL,     TO_TEXT,  0,              0}
};

static bool other_of_step(struct turn_reading *r, void *to, pawl_str key, pawl_str value)
{
    pawl_turn_step *step = to;

    if (pawl_str_is(key, "decisions"))
        return read_decisions(r, value, step);
    return pawl_str_is(key, "result") && read_object(r, value, result_members, step, NULL) &&
           (step->lease.len || bad(r, "a result has a lease", key));
}

static bool read_steps(struct turn_reading *r, pawl_str raw, pawl_turn_answer *a)
{
    struct json_iter it;

    if (json_type(raw) != JSON_ARRAY)
        return bad(r, "not a list", pawl_s("steps"));
    pawl_turn_step *list = pawl_mem_alloc(r->mem, (length_of(raw) + 1) * sizeof(*list));
    for (json_begin(&it, raw); json_next(&it);) {
        pawl_turn_step *step = &list[a->step_count++];
        *step = (pawl_turn_step){0};
        if (!read_object(r, it.value, step_members, step, other_of_step))
            return false;
        if (!step->seq || !step->decisions || (step->message != 0) == (step->lease.len != 0))
            return bad(r, "a step has seq, decisions, and either m or result", pawl_s(""));
    }
    a->steps = list;
    return true;
}

static bool read_wait(struct turn_reading *r, pawl_turn_answer *a, pawl_str key, pawl_str value)
{
    static const char *const words[] = {"any", "all", "settled"};
    struct json_iter it;
    pawl_str word;

    if (pawl_str_is(key, "for") && text_of(r, value, &word)) {
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (pawl_str_is(word, words[i]))
                a->wait = (pawl_turn_wait)(i + 1);
        return a->wait != PAWL_TURN_WAIT_NONE;
    }
    if (!pawl_str_is(key, "refs") || json_type(value) != JSON_ARRAY)
        return false;
    uint64_t *list = pawl_mem_alloc(r->mem, (length_of(value) + 1) * sizeof(*list));
    for (json_begin(&it, value); json_next(&it);) {
        int64_t n;
        if (!json_whole(it.value, &n) || n < 1)
            return false;
        list[a->ref_count++] = (uint64_t)n;
    }
    a->refs = list;
    return true;
}

static bool other_of_wait(struct turn_reading *r, void *to, pawl_str key, pawl_str value)
{
    return read_wait(r, to, key, value);
}

#define IN_ANSWER(field) offsetof(pawl_turn_answer, field)
static const struct turn_member none[] = {
    {NULL, TO_TEXT, 0, 0}
};
static const struct turn_member finding_members[] = {
    {"code",      TO_TEXT, IN_ANSWER(code),      0},
    {"seq",       TO_INT,  IN_ANSWER(seq),       0},
    {"text",      TO_TEXT, IN_ANSWER(text),      0},
    {"error",     TO_TEXT, IN_ANSWER(text),      0},
    {"recorded",  TO_TEXT, IN_ANSWER(recorded),  0},
    {"attempted", TO_TEXT, IN_ANSWER(attempted), 0},
    {"site",      TO_TEXT, IN_ANSWER(site),      0},
    {"trace",     TO_TEXT, IN_ANSWER(trace),     0},
    {NULL,        TO_TEXT, 0,                    0}
};
static const struct turn_member answer_members[] = {
    {"token", TO_TEXT, IN_ANSWER(token), 0},
    {NULL,    TO_TEXT, 0,                0}
};

/* One of the four forms. */
static bool set_form(struct turn_reading *r, pawl_turn_answer *a, pawl_turn_form form, pawl_str key)
{
    if (a->form)
        return bad(r, "an answer has one of steps, mismatch, bug, release", key);
    a->form = form;
    return true;
}

static bool other_of_answer(struct turn_reading *r, void *to, pawl_str key, pawl_str value)
{
    pawl_turn_answer *a = to;

    if (pawl_str_is(key, "steps"))
        return set_form(r, a, PAWL_TURN_STEPS, key) && read_steps(r, value, a);
    if (pawl_str_is(key, "wait"))
        return read_object(r, value, none, a, other_of_wait);
    if (pawl_str_is(key, "mismatch"))
        return set_form(r, a, PAWL_TURN_MISMATCH, key) &&
               read_object(r, value, finding_members, a, NULL);
    if (pawl_str_is(key, "bug"))
        return set_form(r, a, PAWL_TURN_BUG, key) &&
               read_object(r, value, finding_members, a, NULL);
    return pawl_str_is(key, "release") && pawl_str_is(value, "true") &&
           set_form(r, a, PAWL_TURN_RELEASE, key);
}

static void read_answer(struct call *c, pawl_str raw, pawl_turn_answer *a)
{
    struct turn_reading r = {.mem = c->mem};

    if (read_object(&r, raw, answer_members, a, other_of_answer) && !a->form)
        (void)bad(&r, "an answer has one of steps, mismatch, bug, release", pawl_s(""));
    if (a->wait != PAWL_TURN_WAIT_NONE && a->form != PAWL_TURN_STEPS)
        (void)bad(&r, "only steps have a wait", pawl_s(""));
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
    if (json_type(raw) != JSON_ARRAY || length_of(raw) > PAWL_TURNS_ANSWERS_MAX) {
        answer_error(c, 400, "invalid", "answers must be a list of at most %d",
                     PAWL_TURNS_ANSWERS_MAX);
        return false;
    }
    pawl_turn_answer *list = pawl_mem_alloc(c->mem, (length_of(raw) + 1) * sizeof(*list));
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
    bool ok = !raw.ptr || (json_type(raw) == JSON_ARRAY && length_of(raw) <= most);

    if (raw.ptr && ok) {
        pawl_str *list = pawl_mem_alloc(c->mem, (length_of(raw) + 1) * sizeof(*list));
        for (json_begin(&it, raw); ok && json_next(&it); ++*retcount)
            ok = text_of(&r, it.value, &list[*retcount]) && list[*retcount].len;
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
        {"name", TO_TEXT, offsetof(pawl_turn_code, name),        0},
        {"version",      TO_TEXT,     offsetof(pawl_turn_code,                version), 0},
        {NULL,     TO_TEXT,            0,                                0                                }
    };
    pawl_str raw = call_member(c->json, "code");
    struct turn_reading r = {.mem = c->mem};
    struct json_iter it;
    bool ok = !raw.ptr || (json_type(raw) == JSON_ARRAY && length_of(raw) <= PAWL_TURNS_CODE_MAX);

    q->has_code = raw.ptr != NULL;
    if (raw.ptr && ok) {
        pawl_turn_code *list = pawl_mem_alloc(c->mem, (length_of(raw) + 1) * sizeof(*list));
        for (json_begin(&it, raw); ok && json_next(&it); q->code_count++) {
            list[q->code_count] = (pawl_turn_code){0};
            ok = read_object(&r, it.value, members, &list[q->code_count], NULL);
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
