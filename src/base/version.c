/* SPDX-License-Identifier: MIT */
/*
 * base/version.c -- semantic versions (semver.org 2.0), read in place.
 *
 * Orchestrations are registered with a version, and "latest" is decided here.
 * Numbers are compared as text, by length and then by digits, so no version is
 * too large to compare.  Build metadata is allowed and does not count: two
 * versions that differ only there are the same version.
 */
#include "base/limits.h"

#include <string.h>

struct parts {
    pawl_str number[3];
    pawl_str pre; /* without the '-'; empty for a release */
    pawl_str build;
};

static bool split(pawl_str version, struct parts *ret);
static int compare_numbers(pawl_str a, pawl_str b);
static int compare_pre(pawl_str a, pawl_str b);

bool check_version(pawl_str version, pawl_error *reterr)
{
    struct parts parts;

    if (version.len > LIMIT_VERSION_BYTES) {
        error_set(reterr, PAWL_LIMIT, "version has %zu bytes, the limit is %d; shorten it",
                  version.len, LIMIT_VERSION_BYTES);
        return false;
    }
    if (split(version, &parts))
        return true;
    error_set(reterr, PAWL_INVALID,
              "version \"%.*s\" is not major.minor.patch[-pre][+build]; write it like 1.4.0",
              PAWL_FMT(version));
    return false;
}

int version_compare(pawl_str a, pawl_str b)
{
    struct parts left, right;

    (void)split(a, &left); /* both were checked */
    (void)split(b, &right);
    for (int i = 0; i < 3; i++) {
        int order = compare_numbers(left.number[i], right.number[i]);
        if (order)
            return order;
    }
    if (!left.pre.len || !right.pre.len) /* a release comes after its pre-releases */
        return (left.pre.len == 0) - (right.pre.len == 0);
    return compare_pre(left.pre, right.pre);
}

/* Cut off and return what is before the first `c`; `rest` is what follows it. */
static pawl_str cut(pawl_str *rest, char c)
{
    const char *at = rest->len ? memchr(rest->ptr, c, rest->len) : NULL;
    pawl_str head = {.ptr = rest->ptr, .len = at ? (size_t)(at - rest->ptr) : rest->len};

    *rest = at ? (pawl_str){.ptr = at + 1, .len = rest->len - head.len - 1} : (pawl_str){0};
    return head;
}

static bool is_digits(pawl_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0;
}

static bool is_number(pawl_str text)
{
    return text.ptr && is_digits(text) && (text.len == 1 || text.ptr[0] != '0');
}

static bool is_word(pawl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-')
            return false;
    }
    return text.len > 0;
}

/* Dot-separated words, none empty; numbers in a pre-release have no leading zero. */
static bool check_words(pawl_str text, bool zeros_allowed)
{
    for (bool more = true; more;) {
        pawl_str word = cut(&text, '.');
        more = text.ptr != NULL;
        if (!is_word(word) || (!zeros_allowed && is_digits(word) && !is_number(word)))
            return false;
    }
    return true;
}

static bool split(pawl_str version, struct parts *ret)
{
    pawl_str rest = version;

    *ret = (struct parts){0};
    pawl_str core = cut(&rest, '+');
    ret->build = rest;
    if (rest.ptr && !check_words(rest, true))
        return false;
    pawl_str numbers = cut(&core, '-');
    ret->pre = core;
    if (core.ptr && !check_words(core, false))
        return false;
    for (int i = 0; i < 3; i++) {
        ret->number[i] = cut(&numbers, '.');
        if (!is_number(ret->number[i]))
            return false;
    }
    return numbers.ptr == NULL;
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* No leading zeros: the longer number is the larger one. */
static int compare_numbers(pawl_str a, pawl_str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.len ? sign(memcmp(a.ptr, b.ptr, a.len)) : 0;
}

static int compare_words(pawl_str a, pawl_str b)
{
    bool number = is_digits(a);

    if (number != is_digits(b)) /* numbers come before words */
        return number ? -1 : 1;
    if (number)
        return compare_numbers(a, b);
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? sign(order) : (a.len > b.len) - (a.len < b.len);
}

static int compare_pre(pawl_str a, pawl_str b)
{
    while (a.len && b.len) {
        int order = compare_words(cut(&a, '.'), cut(&b, '.'));
        if (order)
            return order;
    }
    return (a.len > 0) - (b.len > 0); /* more words come after fewer */
}
