/* SPDX-License-Identifier: MIT */
/* fair/limit_json.c -- see the header.  null is the same as a member that is not there. */
#include "fair/limit_json.h"

#include "base/arena.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/near.h"

#include <string.h>

struct limit_input {
    struct fair_rule *to;
    pawl_mem *mem;
    pawl_error *err;
};

#define refuse(in, ...)                (error_set((in)->err, PAWL_INVALID, __VA_ARGS__), false)

#define WORD(name, number, word, text) word,
static const char *const by_words[] = {PAWL_LIMIT_BYS(WORD)};
#undef WORD

/* ---- Reading ---------------------------------------------------------------------------- */

/* One member of an object: its name, and what reads it. */
struct limit_member {
    const char *name;
    bool (*read)(const struct limit_input *in, pawl_str raw);
};

static bool refuse_unknown(const struct limit_input *in, const char *what,
                           const struct limit_member *members, size_t count, pawl_str key)
{
    const char *names[8], *near;
    for (size_t i = 0; i < count; i++)
        names[i] = members[i].name;
    near = nearest_word(arena_dup(in->mem, key).ptr, names, count);
    return refuse(in, "%s has no member '%.*s'; %s%s%s", what, (int)(key.len < 64 ? key.len : 64),
                  key.ptr, near ? "did you mean '" : "leave it out", near ? near : "",
                  near ? "'?" : "");
}

static bool read_object(const struct limit_input *in, const char *what,
                        const struct limit_member *members, size_t count, pawl_str raw)
{
    struct json_iter it;
    uint32_t seen = 0;
    if (json_type(raw) != JSON_OBJECT)
        return refuse(in, "%s must be a JSON object", what);
    for (json_begin(&it, raw); json_next(&it);) {
        size_t i = 0;
        while (i < count && !pawl_str_is(it.key, members[i].name))
            i++;
        if (i == count)
            return refuse_unknown(in, what, members, count, it.key);
        if (seen >> i & 1)
            return refuse(in, "%s is given twice; give it once", members[i].name);
        seen |= UINT32_C(1) << i;
        if (json_type(it.value) != JSON_NULL && !members[i].read(in, it.value))
            return false;
    }
    return true;
}

static bool read_number(const struct limit_input *in, const char *name, int64_t most, pawl_str raw,
                        int64_t *ret)
{
    if (json_whole(raw, ret) && *ret >= 1 && *ret <= most)
        return true;
    return refuse(in, "%s must be a whole number from 1 to %lld; leave it out for no limit", name,
                  (long long)most);
}

static bool read_text(const struct limit_input *in, const char *name, pawl_str raw, pawl_str *ret)
{
    if (json_type(raw) != JSON_STRING)
        return refuse(in, "%s must be a text", name);
    *ret = pawl_json_text(in->mem, raw, "", "");
    return true;
}

/* A name, or the beginning of one and '*'; "*" is any. */
static bool check_pattern(const struct limit_input *in, const char *what, pawl_str text)
{
    const char *star = text.len ? memchr(text.ptr, '*', text.len) : NULL;
    if (star && star != text.ptr + text.len - 1)
        return refuse(in, "%s is '%.*s': a '*' may only be its last character", what,
                      PAWL_FMT(text));
    if (star && text.len == 1)
        return true;
    return check_name(what, (pawl_str){text.ptr, text.len - (star != NULL)}, in->err);
}

static bool read_activity(const struct limit_input *in, pawl_str raw)
{
    pawl_str text;
    if (!read_text(in, "activity of a match", raw, &text) ||
        !check_pattern(in, "activity of a match", text))
        return false;
    in->to->names[in->to->name_count++] = text;
    return true;
}

static bool read_match(const struct limit_input *in, pawl_str raw)
{
    static const struct limit_member members[] = {
        {"activity", read_activity}
    };
    struct json_iter it;
    if (json_type(raw) != JSON_ARRAY)
        return refuse(in, "match must be a list, like [{\"activity\":\"Charge\"}]");
    for (json_begin(&it, raw); json_next(&it);) {
        size_t before = in->to->name_count;
        if (before == FAIR_MATCHES_MAX)
            return refuse(in, "match has more than %d entries; make a second limit",
                          FAIR_MATCHES_MAX);
        if (!read_object(in, "an entry of match", members, COUNT_OF(members), it.value))
            return false;
        if (in->to->name_count == before)
            return refuse(in, "an entry of match names nothing; give {\"activity\":\"NAME\"}");
    }
    return true;
}

static bool read_by(const struct limit_input *in, pawl_str raw)
{
    pawl_str text = {0};
    if (json_type(raw) == JSON_STRING && !read_text(in, "by", raw, &text))
        return false;
    for (size_t i = 0; i < COUNT_OF(by_words); i++)
        if (pawl_str_is(text, by_words[i])) {
            in->to->by = (enum fair_by)i;
            return true;
        }
    return refuse(in, "by must be one of all, key, first");
}

static bool read_concurrency(const struct limit_input *in, pawl_str raw)
{
    int64_t n = 0;
    bool fits = read_number(in, "concurrency", PAWL_LIMIT_CONCURRENCY_MAX, raw, &n);
    in->to->concurrency = (uint32_t)n;
    return fits;
}

static bool read_count(const struct limit_input *in, pawl_str raw)
{
    int64_t n = 0;
    bool fits = read_number(in, "count of rate", PAWL_LIMIT_RATE_MAX, raw, &n);
    in->to->rate_count = (uint32_t)n;
    return fits;
}

static bool read_per(const struct limit_input *in, pawl_str raw)
{
    return read_number(in, "per_ms of rate", PAWL_LIMIT_PERIOD_MAX, raw, &in->to->rate_per_ms);
}

static bool read_burst(const struct limit_input *in, pawl_str raw)
{
    int64_t n = 0;
    bool fits = read_number(in, "burst of rate", PAWL_LIMIT_RATE_MAX, raw, &n);
    in->to->rate_burst = (uint32_t)n;
    return fits;
}

static bool read_rate(const struct limit_input *in, pawl_str raw)
{
    static const struct limit_member members[] = {
        {"count",  read_count},
        {"per_ms", read_per  },
        {"burst",  read_burst}
    };
    if (!read_object(in, "rate", members, COUNT_OF(members), raw))
        return false;
    if (in->to->rate_count && in->to->rate_per_ms)
        return true;
    return refuse(in, "rate needs count and per_ms, like {\"count\":100,\"per_ms\":60000}");
}

static bool read_weights(const struct limit_input *in, pawl_str raw)
{
    struct json_iter it;
    size_t n = 0;
    if (json_type(raw) != JSON_OBJECT)
        return refuse(in, "weights must be an object of keys, like {\"gold\":4}");
    int64_t count = pawl_json_count(raw, "");
    if (count > FAIR_WEIGHTS_MAX)
        return refuse(in, "weights has %lld keys, the limit is %d; make a second limit",
                      (long long)count, FAIR_WEIGHTS_MAX);
    struct fair_weight *list = arena_array(in->mem, struct fair_weight, (size_t)count + 1);
    for (json_begin(&it, raw); json_next(&it); n++) {
        int64_t weight;
        pawl_str quoted = pawl_mem_printf(in->mem, "\"%.*s\"", PAWL_FMT(it.key));
        list[n].key = pawl_json_text(in->mem, quoted, "", "");
        if (!check_tray_key(list[n].key, in->err))
            return false;
        if (!json_whole(it.value, &weight) || weight < 1 || weight > PAWL_LIMIT_WEIGHT_MAX)
            return refuse(in, "the weight of '%.*s' must be a whole number from 1 to %d",
                          PAWL_FMT(list[n].key), PAWL_LIMIT_WEIGHT_MAX);
        list[n].weight = (uint32_t)weight;
    }
    in->to->weights = list;
    in->to->weight_count = n;
    return true;
}

bool limit_read_json(struct fair_rule *ret, pawl_str json, pawl_mem *mem, pawl_error *reterr)
{
    static const struct limit_member members[] = {
        {"match",       read_match      },
        {"by",          read_by         },
        {"concurrency", read_concurrency},
        {"rate",        read_rate       },
        {"weights",     read_weights    }
    };
    const struct limit_input in = {ret, mem, reterr};
    *ret = (struct fair_rule){0};
    json = pawl_json_get(json, ""); /* without the blanks around it; nothing when it is not JSON */
    if (!read_object(&in, "a limit", members, COUNT_OF(members), json))
        return false;
    if (!ret->name_count)
        return refuse(&in, "match is missing: say what is limited, like "
                           "\"match\":[{\"activity\":\"Charge\"}]");
    if (ret->concurrency || ret->rate_count || ret->weight_count)
        return true;
    return refuse(&in, "the limit limits nothing: give concurrency, rate or weights");
}

/* ---- Writing ---------------------------------------------------------------------------- */

static void write_count(pawl_json *w, const char *name, int64_t n)
{
    if (!n)
        return;
    pawl_json_key(w, name);
    pawl_json_num(w, n);
}

static void write_rest(pawl_json *w, const struct fair_rule *rule)
{
    pawl_json_key(w, "by");
    pawl_json_cstr(w, (size_t)rule->by < COUNT_OF(by_words) ? by_words[rule->by] : NULL);
    write_count(w, "concurrency", rule->concurrency);
    if (rule->rate_count || rule->rate_per_ms || rule->rate_burst) {
        pawl_json_key(w, "rate");
        pawl_json_object(w);
        write_count(w, "count", rule->rate_count);
        write_count(w, "per_ms", rule->rate_per_ms);
        write_count(w, "burst", rule->rate_burst);
        pawl_json_end(w);
    }
}

static void begin_weights(pawl_json *w)
{
    pawl_json_key(w, "weights");
    pawl_json_object(w);
}

static void write_match(pawl_json *w, const char *kind, pawl_str name)
{
    pawl_json_object(w);
    pawl_json_key(w, kind);
    pawl_json_str(w, name);
    pawl_json_end(w);
}

void rule_write_json(pawl_json *w, const struct fair_rule *rule)
{
    pawl_json_object(w);
    pawl_json_key(w, "match");
    pawl_json_array(w);
    for (size_t i = 0; i < rule->name_count; i++)
        write_match(w, "activity", rule->names[i]);
    pawl_json_end(w);
    write_rest(w, rule);
    if (rule->weight_count)
        begin_weights(w);
    for (size_t i = 0; i < rule->weight_count; i++) {
        pawl_json_key(w, rule->weights[i].key.ptr);
        pawl_json_num(w, rule->weights[i].weight);
    }
    if (rule->weight_count)
        pawl_json_end(w);
    pawl_json_end(w);
}

/* What the caller's struct has, right or wrong: it is refused when it is read. */
void limit_write_json(pawl_json *w, const pawl_limit *limit)
{
    struct fair_rule rule = {.by = (enum fair_by)limit->by,
                             .concurrency = limit->concurrency,
                             .rate_count = limit->rate_count,
                             .rate_per_ms = limit->rate_per_ms,
                             .rate_burst = limit->rate_burst};
    pawl_json_object(w);
    pawl_json_key(w, "match");
    pawl_json_array(w);
    for (size_t i = 0; i < limit->match_count; i++) {
        if (limit->match[i].activity)
            write_match(w, "activity", pawl_s(limit->match[i].activity));
        else
            pawl_json_null(w);
    }
    pawl_json_end(w);
    write_rest(w, &rule);
    if (limit->weight_count)
        begin_weights(w);
    for (size_t i = 0; i < limit->weight_count; i++) {
        pawl_json_key(w, limit->weights[i].key ? limit->weights[i].key : "");
        pawl_json_num(w, limit->weights[i].weight);
    }
    if (limit->weight_count)
        pawl_json_end(w);
    pawl_json_end(w);
}
