/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_names.c -- names, ids, versions, escapes, durations, times.
 *
 * Lines: the first two are compared as versions; each is tried as every kind of
 * word we read.  Accepted means: it keeps the rule, and writing it out and reading
 * it again gives the same.
 */
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/out.h"
#include "engine/policy.h"
#include "fuzz.h"
#include "server/server.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/text.h"
#include "view/units.h"

#include <string.h>

static bool has_control(pawl_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return true;
    return false;
}

static void check_words(pawl_str word)
{
    pawl_error err = {0};
    if (check_instance_id(word, LIMIT_INSTANCE_BYTES, &err))
        must(word.len && word.len <= LIMIT_INSTANCE_BYTES && utf8_valid(word) &&
             !has_control(word));
    else
        must(err.text[0]);
    if (check_name("name", word, &err))
        must(word.len && word.len <= LIMIT_NAME_BYTES && utf8_valid(word) && !has_control(word) &&
             !memchr(word.ptr, '/', word.len));
    if (check_version(word, &err))
        must(word.len <= LIMIT_VERSION_BYTES && version_compare(word, word) == 0);
}

static void check_order(pawl_str a, pawl_str b, pawl_str c)
{
    if (!check_version(a, NULL) || !check_version(b, NULL) || !check_version(c, NULL))
        return;
    int ab = version_compare(a, b), ba = version_compare(b, a), bc = version_compare(b, c),
        ac = version_compare(a, c);
    must((ab < 0) == (ba > 0) && (ab == 0) == (ba == 0));
    if (ab <= 0 && bc <= 0)
        must(ac <= 0);
}

/* What was escaped comes back; what came undone is UTF-8 without NUL. */
static void check_escapes(pawl_mem *mem, pawl_str raw)
{
    pawl_str plain, again;
    for (int plus = 0; plus < 2; plus++)
        if (percent_decode(mem, raw, plus, &plain))
            must(utf8_valid(plain) && !memchr(plain.ptr, 0, plain.len));
    char *escaped = pawl_mem_alloc(mem, raw.len * 3 + 1), *to = escaped;
    for (size_t i = 0; i < raw.len; i++)
        to += snprintf(to, 4, "%%%02x", (unsigned char)raw.ptr[i]);
    bool good = utf8_valid(raw) && (!raw.len || !memchr(raw.ptr, 0, raw.len));
    bool taken = percent_decode(mem, (pawl_str){escaped, raw.len * 3}, false, &again);
    must(taken == good);
    if (taken)
        must(pawl_str_eq(again, raw));
}

static void check_file_name(pawl_str id, pawl_str other)
{
    char root[] = "r", path[JSONL_PATH_MAX], path2[JSONL_PATH_MAX];
    struct jsonl j = {.root = root};
    pawl_row row = {.id = id, .uid = 7}, row2 = {.id = other, .uid = 8};
    if (!id.len || !other.len)
        return;
    must(jsonl_dir(&j, &row, path) && jsonl_dir(&j, &row2, path2));
    must(!strchr(path + 2, '/') && path[2] && path[2] != '.' && strlen(path) <= 2 + 255);
    must(pawl_str_eq(id, other) || strcmp(path, path2) != 0);
}

static void check_units(pawl_str word, const char *text)
{
    int64_t ms = 0;
    uint64_t n = 0;
    char out[UNITS_BYTES];
    if (parse_duration(text, &ms))
        must(ms >= 0);
    (void)format_duration(out, ms);
    (void)parse_size(text, &n);
    (void)format_size(out, n);
    if (parse_count(text, 1000, &n))
        must(n <= 1000);
    (void)format_count(out, n);
    if (text_get_time(word, &ms)) {
        struct buf b;
        int64_t back = 0;
        buf_init(&b, 100);
        text_put_time(&b, ms);
        must(text_get_time(buf_slice(&b), &back) && back == ms);
        buf_deinit(&b);
    }
    (void)format_time(out, ms);
}

/* A policy read from anything: its delays stay in their bounds. */
static void check_policy(pawl_mem *mem, pawl_str attrs)
{
    struct call_policy p = policy_parse(attrs, mem);
    must(p.attempts >= 1 && p.initial_ms >= 0 && p.cap_ms >= 0);
    for (uint32_t next = 2; next && next < UINT32_MAX / 4; next *= 3) {
        int64_t ms = policy_delay_ms(&p, next, attrs.len * UINT64_C(0x9e3779b97f4a7c15));
        must(ms >= 0 && ms <= p.cap_ms);
    }
    pawl_str text = policy_format(&p, mem);
    struct call_policy again = policy_parse(text, mem);
    must(pawl_str_eq(policy_format(&again, mem), text));
}

/* Nothing that reaches a terminal moves its cursor. */
static void check_clean(pawl_mem *mem, pawl_str text)
{
    pawl_str clean = out_clean(mem, text);
    must(utf8_valid(clean) && !has_control(clean));
    pawl_str cut = out_cut(mem, clean, 10);
    must(utf8_valid(cut));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = feed_of(data, size);
    pawl_mem *mem = pawl_mem_new();
    pawl_str lines[3];
    for (int i = 0; i < 3; i++)
        lines[i] = i < 2 ? feed_line(&f) : feed_rest(&f);
    for (int i = 0; i < 3; i++) {
        check_words(lines[i]);
        check_escapes(mem, lines[i]);
        check_units(lines[i], pawl_mem_dup(mem, lines[i]).ptr);
        check_policy(mem, lines[i]);
        check_clean(mem, lines[i]);
    }
    check_order(lines[0], lines[1], lines[2]);
    if (check_instance_id(lines[0], LIMIT_CHILD_ID_BYTES, NULL) &&
        check_instance_id(lines[1], LIMIT_CHILD_ID_BYTES, NULL))
        check_file_name(lines[0], lines[1]);
    pawl_mem_free(mem);
    return 0;
}
