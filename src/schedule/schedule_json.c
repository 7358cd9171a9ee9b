/* SPDX-License-Identifier: MIT */
/*
 * schedule/schedule_json.c -- a schedule as JSON: one table, read and written.
 *
 * null is the same as a member that is not there.
 */
#include "schedule/schedule_json.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/near.h"

#include <stdio.h>
#include <string.h>

enum kind_of_member {
    TEXT_MEMBER,
    TIME_MEMBER,
    COUNT_MEMBER,
    TRUTH_MEMBER,
    WORD_MEMBER,
    LINES_MEMBER,
    TIMES_MEMBER,
    VALUE_MEMBER
};

#define WORD(name, number, word, text) word,
static const char *const gap_words[] = {PAWL_DST_GAPS(WORD) NULL};
static const char *const fold_words[] = {PAWL_DST_FOLDS(WORD) NULL};
static const char *const overlap_words[] = {PAWL_OVERLAPS(WORD) NULL};
static const char *const missed_words[] = {PAWL_MISSEDS(WORD) NULL};
#undef WORD

/* clang-format off */
#define MEMBER(kind, field, ...) {#field, kind, offsetof(pawl_schedule, field), sizeof(((pawl_schedule *)0)->field), __VA_ARGS__}
static const struct member {
    const char *name;
    enum kind_of_member kind;
    size_t place, bytes;
    const char *const *words;
} members[] = {
    MEMBER(LINES_MEMBER, cron, NULL),
    MEMBER(TIME_MEMBER,  every_ms, NULL),
    MEMBER(TIME_MEMBER,  offset_ms, NULL),
    MEMBER(TIMES_MEMBER, at_ms, NULL),
    MEMBER(TEXT_MEMBER,  zone, NULL),
    MEMBER(WORD_MEMBER,  gap, gap_words),
    MEMBER(WORD_MEMBER,  fold, fold_words),
    MEMBER(TIME_MEMBER,  from_ms, NULL),
    MEMBER(TIME_MEMBER,  until_ms, NULL),
    MEMBER(TIME_MEMBER,  jitter_ms, NULL),
    MEMBER(COUNT_MEMBER, max_runs, NULL),
    MEMBER(WORD_MEMBER,  overlap, overlap_words),
    MEMBER(COUNT_MEMBER, queue_max, NULL),
    MEMBER(WORD_MEMBER,  missed, missed_words),
    MEMBER(TIME_MEMBER,  missed_window_ms, NULL),
    MEMBER(TRUTH_MEMBER, paused, NULL),
    MEMBER(TRUTH_MEMBER, pause_on_failure, NULL),
    MEMBER(TEXT_MEMBER,  orchestration, NULL),
    MEMBER(TEXT_MEMBER,  version, NULL),
    MEMBER(TEXT_MEMBER,  queue, NULL),
    MEMBER(TIME_MEMBER,  priority, NULL),
    MEMBER(VALUE_MEMBER, input, NULL),
    MEMBER(TRUTH_MEMBER, allow_unregistered, NULL),
};
/* clang-format on */

struct input {
    pawl_schedule *to;
    pawl_mem *mem;
    pawl_error *err;
};

#define refuse(in, ...) (error_set((in)->err, PAWL_INVALID, __VA_ARGS__), false)

static void *place_of(pawl_schedule *s, const struct member *m)
{
    return (char *)s + m->place;
}

static const void *value_of(const pawl_schedule *s, const struct member *m)
{
    return (const char *)s + m->place;
}

static bool read_text(const struct input *in, const char *name, pawl_str raw, const char **ret)
{
    if (json_type(raw) != JSON_STRING)
        return refuse(in, "%s must be a text", name);
    pawl_str text = pawl_json_text(in->mem, raw, "", "");
    if (text.len && memchr(text.ptr, 0, text.len))
        return refuse(in, "%s has a NUL character; leave it out", name);
    *ret = text.ptr;
    return true;
}

/* A text, or a list of texts. */
static bool read_lines(const struct input *in, pawl_str raw)
{
    const char **lines = arena_array(in->mem, const char *, PAWL_SCHEDULE_LINES_MAX + 1);
    struct json_iter it;
    size_t n = 0;
    in->to->cron = lines;
    if (json_type(raw) == JSON_STRING)
        return read_text(in, "cron", raw, &lines[0]);
    if (json_type(raw) != JSON_ARRAY)
        return refuse(in, "cron must be a text or a list of texts");
    for (json_begin(&it, raw); json_next(&it); n++) {
        if (n == PAWL_SCHEDULE_LINES_MAX)
            return refuse(in, "the schedule has more than %d cron lines; make a second schedule",
                          PAWL_SCHEDULE_LINES_MAX);
        if (!read_text(in, "a line of cron", it.value, &lines[n]))
            return false;
    }
    return true;
}

static bool read_times(const struct input *in, pawl_str raw)
{
    struct json_iter it;
    int64_t count = json_type(raw) == JSON_ARRAY ? pawl_json_count(raw, "") : -1;
    if (count < 0)
        return refuse(in, "at_ms must be a list of milliseconds since 1970");
    if (count > PAWL_SCHEDULE_TIMES_MAX)
        return refuse(in, "at_ms has %lld times, the limit is %d; make a second schedule",
                      (long long)count, PAWL_SCHEDULE_TIMES_MAX);
    int64_t *times = arena_array(in->mem, int64_t, (size_t)count + 1);
    size_t n = 0;
    for (json_begin(&it, raw); json_next(&it); n++)
        if (!json_whole(it.value, &times[n]))
            return refuse(in, "at_ms must be a list of milliseconds since 1970");
    in->to->at_ms = times;
    in->to->at_count = n;
    return true;
}

/* Of the length that the member has. */
static bool read_number(const struct input *in, const struct member *m, pawl_str raw)
{
    int64_t n, most = m->bytes == 4 ? UINT32_MAX : INT64_MAX;
    if (!json_whole(raw, &n) || n < 0 || n > most)
        return refuse(in, "%s must be a whole number from 0 to %lld", m->name, (long long)most);
    if (m->bytes == 4) {
        uint32_t small = (uint32_t)n;
        memcpy(place_of(in->to, m), &small, sizeof(small));
    } else {
        memcpy(place_of(in->to, m), &n, sizeof(n));
    }
    return true;
}

static bool read_word(const struct input *in, const struct member *m, pawl_str raw)
{
    const char *text = NULL;
    char known[100] = "";
    if (json_type(raw) == JSON_STRING && !read_text(in, m->name, raw, &text))
        return false;
    for (unsigned i = 0; m->words[i]; i++) {
        if (text && strcmp(text, m->words[i]) == 0) {
            memcpy(place_of(in->to, m), &i, sizeof(i));
            return true;
        }
        size_t at = strlen(known);
        snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", m->words[i]);
    }
    return refuse(in, "%s must be one of %s", m->name, known);
}

static bool read_truth(const struct input *in, const struct member *m, pawl_str raw)
{
    if (json_type(raw) != JSON_BOOL)
        return refuse(in, "%s must be true or false", m->name);
    *(bool *)place_of(in->to, m) = *raw.ptr == 't';
    return true;
}

static bool read_member(const struct input *in, const struct member *m, pawl_str raw)
{
    if (json_type(raw) == JSON_NULL && m->kind != VALUE_MEMBER)
        return true;
    switch (m->kind) {
    case TEXT_MEMBER:
        return read_text(in, m->name, raw, place_of(in->to, m));
    case TIME_MEMBER:
    case COUNT_MEMBER:
        return read_number(in, m, raw);
    case TRUTH_MEMBER:
        return read_truth(in, m, raw);
    case WORD_MEMBER:
        return read_word(in, m, raw);
    case LINES_MEMBER:
        return read_lines(in, raw);
    case TIMES_MEMBER:
        return read_times(in, raw);
    case VALUE_MEMBER:
        in->to->input = arena_dup(in->mem, raw);
        return true;
    }
    return false;
}

static bool refuse_unknown(const struct input *in, pawl_str key)
{
    const char *names[COUNT_OF(members)], *near;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        names[i] = members[i].name;
    near = nearest_word(arena_dup(in->mem, key).ptr, names, COUNT_OF(members));
    return refuse(in, "a schedule has no member '%.*s'; %s%s%s", (int)(key.len < 64 ? key.len : 64),
                  key.ptr, near ? "did you mean '" : "leave it out", near ? near : "",
                  near ? "'?" : "");
}

static bool read_all(const struct input *in, pawl_str json)
{
    struct json_iter it;
    uint64_t seen = 0;
    for (json_begin(&it, json); json_next(&it);) {
        size_t i = 0;
        while (i < COUNT_OF(members) && !pawl_str_is(it.key, members[i].name))
            i++;
        if (i == COUNT_OF(members))
            return refuse_unknown(in, it.key);
        if (seen >> i & 1)
            return refuse(in, "%s is given twice; give it once", members[i].name);
        seen |= UINT64_C(1) << i;
        if (!read_member(in, &members[i], it.value))
            return false;
    }
    return true;
}

pawl_status schedule_read_json(pawl_schedule *ret, pawl_str json, pawl_mem *mem, pawl_error *reterr)
{
    const struct input in = {ret, mem, reterr};
    *ret = (pawl_schedule){.size = sizeof(*ret)};
    json = pawl_json_get(json, ""); /* without the blanks around it; nothing when it is not JSON */
    bool ok = json_type(json) == JSON_OBJECT
                  ? read_all(&in, json)
                  : refuse(&in, "a schedule must be a JSON object, like {\"cron\":\"30 2 * * *\"}");
    return ok ? PAWL_OK : PAWL_INVALID;
}

/* ---- Writing --------------------------------------------------------------------------- */

static void write_lines(pawl_json *w, const char *const *lines)
{
    pawl_json_array(w);
    for (; *lines; lines++)
        pawl_json_cstr(w, *lines);
    pawl_json_end(w);
}

static void write_times(pawl_json *w, const pawl_schedule *s)
{
    pawl_json_array(w);
    for (size_t i = 0; i < s->at_count; i++)
        pawl_json_num(w, s->at_ms[i]);
    pawl_json_end(w);
}

static int64_t number_of(const pawl_schedule *s, const struct member *m)
{
    int64_t n = 0; /* little end first: a shorter number is the lower half */
    memcpy(&n, value_of(s, m), m->bytes);
    return n;
}

/* A number that is no word writes null. */
static void write_word(pawl_json *w, const char *const *words, int64_t number)
{
    while (*words && number--)
        words++;
    pawl_json_cstr(w, *words);
}

static bool is_default(const pawl_schedule *s, const struct member *m)
{
    static const char zeroes[sizeof(pawl_str)];
    if (m->kind == LINES_MEMBER)
        return !s->cron || !s->cron[0];
    if (m->kind == TIMES_MEMBER)
        return !s->at_count;
    if (m->kind == VALUE_MEMBER)
        return !s->input.len;
    return memcmp(value_of(s, m), zeroes, m->bytes) == 0;
}

static void write_member(pawl_json *w, const pawl_schedule *s, const struct member *m)
{
    pawl_json_key(w, m->name);
    switch (m->kind) {
    case TEXT_MEMBER:
        pawl_json_cstr(w, *(const char *const *)value_of(s, m));
        break;
    case TIME_MEMBER:
    case COUNT_MEMBER:
        pawl_json_num(w, number_of(s, m));
        break;
    case TRUTH_MEMBER:
        pawl_json_truth(w, *(const bool *)value_of(s, m));
        break;
    case WORD_MEMBER:
        write_word(w, m->words, number_of(s, m));
        break;
    case LINES_MEMBER:
        write_lines(w, s->cron);
        break;
    case TIMES_MEMBER:
        write_times(w, s);
        break;
    case VALUE_MEMBER:
        pawl_json_raw(w, s->input);
        break;
    }
}

void schedule_write_json(pawl_json *w, const pawl_schedule *s)
{
    pawl_json_object(w);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (!is_default(s, &members[i]))
            write_member(w, s, &members[i]);
    pawl_json_end(w);
}
