/* SPDX-License-Identifier: MIT */
/*
 * base/limits.c -- what ids, names and versions may look like.
 *
 * Checked once, where something enters: at registration, in client calls, in
 * HTTP handlers and in calls of orchestrations.  Behind that line the code
 * relies on it (names in SQL, in URLs, in log lines).  Every refusal is one line
 * that names the limit, the value and what to do; too long is PAWL_LIMIT, wrong
 * is PAWL_INVALID.
 */
#include "base/limits.h"

#include "base/utf8.h"
#include "base/word.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool check_text(const char *what, pawl_str text, size_t max, pawl_error *reterr);

void error_set(pawl_error *err, pawl_status status, const char *format, ...)
{
    va_list args;

    if (!err)
        return;
    err->status = status;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (n < 0)
        err->text[0] = '\0';
    if (n < (int)sizeof err->text)
        return;
    /* Cut before a character, not inside one: texts go into JSON. */
    size_t len = sizeof err->text - 1;
    while (len > 0 && ((unsigned char)err->text[len - 1] & 0xc0) == 0x80)
        len--;
    if (len > 0 && (unsigned char)err->text[len - 1] >= 0xc0)
        err->text[len - 1] = '\0';
}

void error_about(pawl_error *err, pawl_status status, const char *before, pawl_str text,
                 const char *after)
{
    size_t n = strlen(before), m = strlen(after);

    if (!err)
        return;
    if (text.len >= sizeof err->text - n - m) {
        error_set(err, status, "%s%.*s%s", before, PAWL_FMT(text), after);
        return;
    }
    err->status = status;
    char *at = mempcpy(err->text, before, n);
    if (text.len)
        at = mempcpy(at, text.ptr, text.len);
    memcpy(at, after, m + 1);
}

bool check_instance_id(pawl_str id, size_t max, pawl_error *reterr)
{
    return check_text("instance id", id, max, reterr);
}

bool id_is_of_queue(pawl_str id)
{
    size_t prefix = sizeof(ID_OF_QUEUE) - 1, digits = 0;
    if (id.len <= prefix || memcmp(id.ptr, ID_OF_QUEUE, prefix) != 0)
        return false;
    while (digits < id.len - prefix && id.ptr[id.len - 1 - digits] >= '0' &&
           id.ptr[id.len - 1 - digits] <= '9')
        digits++;
    return digits && digits < id.len - prefix && id.ptr[id.len - 1 - digits] == '~';
}

bool check_chosen_id(pawl_str id, size_t max, pawl_error *reterr)
{
    if (!check_instance_id(id, max, reterr))
        return false;
    if (!id_is_of_queue(id))
        return true;
    error_set(reterr, PAWL_INVALID,
              "instance id '%.*s' has the form that bound queues make (" ID_OF_QUEUE
              "NAME~NUMBER); choose another id",
              (int)(id.len < 100 ? id.len : 100), id.ptr);
    return false;
}

bool check_name(const char *what, pawl_str name, pawl_error *reterr)
{
    if (!check_text(what, name, LIMIT_NAME_BYTES, reterr))
        return false;
    const char *slash = memchr(name.ptr, '/', name.len);
    if (!slash)
        return true;
    error_set(reterr, PAWL_INVALID, "%s has a '/' at byte %zu; use '.' or '-' instead", what,
              (size_t)(slash - name.ptr));
    return false;
}

bool check_tray_key(pawl_str key, pawl_error *reterr)
{
    return check_text("key", key, LIMIT_TRAY_KEY_BYTES, reterr);
}

bool check_details(pawl_str details, pawl_error *reterr)
{
    if (details.len <= LIMIT_DETAILS_BYTES)
        return true;
    error_set(reterr, PAWL_LIMIT,
              "details of %zu bytes are over the limit of %d; keep them elsewhere and beat with "
              "where they are",
              details.len, LIMIT_DETAILS_BYTES);
    return false;
}

bool check_queue_name(const char *what, pawl_str name, pawl_error *reterr)
{
    const size_t ending = sizeof(DEAD_LETTERS) - 1;
    pawl_str base = name;
    while (name.len <= 2 * LIMIT_NAME_BYTES && base.len > ending &&
           memcmp(base.ptr + base.len - ending, DEAD_LETTERS, ending) == 0)
        base.len -= ending;
    if (!check_name(what, base, reterr))
        return false;
    if (!pawl_str_is(name, ".") && !pawl_str_is(name, ".."))
        return true;
    error_set(reterr, PAWL_INVALID, "%s is '%.*s', which a URL cannot hold; choose another", what,
              PAWL_FMT(name));
    return false;
}

/* The byte where a control character (C0, DEL, C1) starts; len when there is none. */
static size_t find_control(pawl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f)
            return i;
        if (c == 0xc2 && (unsigned char)text.ptr[i + 1] < 0xa0) /* valid UTF-8: a tail follows */
            return i;
    }
    return text.len;
}

static bool check_text(const char *what, pawl_str text, size_t max, pawl_error *reterr)
{
    if (text.len == 0) {
        error_set(reterr, PAWL_INVALID, "%s is empty; give 1 to %zu bytes", what, max);
        return false;
    }
    if (text.len > max) {
        error_set(reterr, PAWL_LIMIT, "%s has %zu bytes, the limit is %zu; shorten it", what,
                  text.len, max);
        return false;
    }
    if (LIKELY(text.ptr && word_none(text.ptr, text.len, word_odd)))
        return true; /* ASCII and no control character: most often */
    if (!utf8_valid(text)) {
        error_set(reterr, PAWL_INVALID, "%s is not UTF-8; encode it as UTF-8", what);
        return false;
    }
    size_t control = find_control(text);
    if (control < text.len) {
        error_set(reterr, PAWL_INVALID, "%s has a control character at byte %zu; remove it", what,
                  control);
        return false;
    }
    return true;
}
