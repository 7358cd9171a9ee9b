/* SPDX-License-Identifier: MIT */
/*
 * http/head.c -- see head.h.  RFC 9112, its strict side.
 *
 * Refused: a LF without its CR and a CR without its LF, lines that go on in the next
 * one, blanks before a colon, control characters anywhere.  Taken although it need not
 * be: bytes over 0x7f in targets and values, because people type them; paths are
 * checked for UTF-8 further on.
 */
#include "http/head.h"

#include "base/attr.h"
#include "base/word.h"

#include <string.h>
#include <strings.h>

/* What a byte may be part of: names and methods, targets, values of headers. */
enum { TOKEN = 1, TARGET = 2, VALUE = 4 };

/* clang-format off */
static const unsigned char kinds[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    4, 7, 6, 7, 7, 7, 7, 7, 6, 6, 7, 7, 6, 7, 7, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 6,
    6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 7, 6, 7, 0,
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
};
/* clang-format on */

static const char *skip(const char *at, const char *end, unsigned kind)
{
    while (at < end && kinds[(unsigned char)*at] & kind)
        at++;
    return at;
}

/* Eight bytes at once, while they are plain ASCII. */
static const char *skip_value(const char *at, const char *end)
{
    while (end - at >= 8 && !word_odd(word_at(at)))
        at += 8;
    return skip(at, end, VALUE);
}

static bool is_word(pawl_str text, const char *word)
{
    size_t n = strlen(word);
    return text.len == n && strncasecmp(text.ptr, word, n) == 0;
}

/* ---- Where it ends ------------------------------------------------------------- */

size_t head_scan(const char *bytes, size_t n, size_t *scanned, enum head_fault *fault)
{
    size_t at = *scanned;
    *fault = n && !(kinds[(unsigned char)bytes[0]] & TOKEN) ? HEAD_MALFORMED : HEAD_OK;
    while (*fault == HEAD_OK) {
        size_t limit = at == 0 ? HEAD_LINE : HEAD_BYTES;
        size_t seen = n < limit + 1 ? n : limit + 1;
        const char *lf = memchr(bytes + at, '\n', seen - at);
        size_t end = lf ? (size_t)(lf - bytes) + 1 : seen;
        *scanned = at;
        if (end > limit)
            *fault = at == 0 ? HEAD_URI_TOO_LONG : HEAD_TOO_LARGE;
        else if (!lf)
            return 0;
        else if (end - at < 2 || lf[-1] != '\r')
            *fault = HEAD_MALFORMED;
        else if (end - at == 2)
            return end;
        at = end;
    }
    return 0;
}

/* ---- The first line -------------------------------------------------------------- */

/* "http://host/path": the host counts more than the header does. */
static bool parse_absolute(struct head *head)
{
    pawl_str all = head->target;
    size_t scheme = strncasecmp(all.ptr, "http://", 7) == 0 ? 7 : 8;
    const char *host = all.ptr + scheme, *end = all.ptr + all.len;
    const char *path = host;
    while (path < end && *path != '/' && *path != '?' && *path != '#')
        path++;
    head->host = (pawl_str){host, (size_t)(path - host)};
    head->target = path < end ? (pawl_str){path, (size_t)(end - path)} : (pawl_str){"/", 1};
    return head->host.len && !memchr(host, '@', head->host.len) && head->target.ptr[0] == '/';
}

static bool parse_target(struct head *head)
{
    pawl_str t = head->target;
    if (t.len && t.ptr[0] == '/')
        return true;
    if (t.len == 1 && t.ptr[0] == '*')
        return pawl_str_is(head->method, "OPTIONS");
    if ((t.len > 7 && strncasecmp(t.ptr, "http://", 7) == 0) ||
        (t.len > 8 && strncasecmp(t.ptr, "https://", 8) == 0))
        return parse_absolute(head);
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1"; a later 1.x is read as 1.1. */
static enum head_fault parse_version(struct head *head, const char *at, const char *end)
{
    if (end - at != 8 || memcmp(at, "HTTP/", 5) != 0 || !is_digit(at[5]) || at[6] != '.' ||
        !is_digit(at[7]))
        return HEAD_MALFORMED;
    head->is_old = at[7] == '0';
    head->keep_alive = !head->is_old;
    return at[5] == '1' ? HEAD_OK : HEAD_VERSION;
}

static enum head_fault parse_first(struct head *head, const char *at, const char *end)
{
    const char *from = at;
    at = skip(at, end, TOKEN);
    head->method = (pawl_str){from, (size_t)(at - from)};
    if (!head->method.len || at == end || *at != ' ')
        return HEAD_MALFORMED;
    from = ++at;
    at = skip(at, end, TARGET);
    head->target = (pawl_str){from, (size_t)(at - from)};
    if (!head->target.len || at == end || *at != ' ')
        return HEAD_MALFORMED;
    enum head_fault fault = parse_version(head, at + 1, end);
    return fault == HEAD_OK && !parse_target(head) ? HEAD_MALFORMED : fault;
}

/* ---- Headers ------------------------------------------------------------------------ */

struct header_counts {
    unsigned lengths, codings, hosts;
    unsigned single; /* a bit for each of single_headers[] */
    bool closes;     /* whatever else it says */
    pawl_str host;
};

static bool parse_length(pawl_str text, uint64_t *ret)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        n = n > UINT64_MAX / 10 - 1 ? UINT64_MAX : n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *ret = n;
    return text.len > 0;
}

/* "close, TE": one word or several. */
static void take_connection(struct head *head, pawl_str list, struct header_counts *t)
{
    const char *at = list.ptr, *end = at + list.len;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        while (at < stop && (*at == ' ' || *at == '\t'))
            at++;
        const char *last = stop;
        while (last > at && (last[-1] == ' ' || last[-1] == '\t'))
            last--;
        pawl_str word = {at, (size_t)(last - at)};
        if (is_word(word, "close"))
            t->closes = true;
        else if (head->is_old && is_word(word, "keep-alive"))
            head->keep_alive = true;
        at = stop + 1;
    }
}

/* Which of two values counts is not known: two readers may choose differently. */
static const char *const single_headers[] = {"If-Match", "Content-Type", "Authorization",
                                             "Last-Event-ID", "Idempotency-Key"};

static void take_single(struct head *head, pawl_str name, struct header_counts *t)
{
    for (unsigned i = 0; i < sizeof(single_headers) / sizeof(single_headers[0]); i++) {
        if (!is_word(name, single_headers[i]))
            continue;
        if (t->single & 1u << i)
            head->repeated = single_headers[i];
        t->single |= 1u << i;
    }
}

/* Those that say how the request is to be read. */
static void take_known(struct head *head, const struct head_header *h, struct header_counts *t)
{
    switch (h->name.len) {
    case sizeof("If-Match") - 1:
    case sizeof("Content-Type") - 1:
    case sizeof("Authorization") - 1: /* Last-Event-ID is as long */
    case sizeof("Idempotency-Key") - 1:
        take_single(head, h->name, t);
        break;
    case 4:
        if (is_word(h->name, "Host") && t->hosts++ == 0)
            t->host = h->value;
        break;
    case 6:
        if (is_word(h->name, "Expect") && is_word(h->value, "100-continue"))
            head->wants_continue = true;
        break;
    case 10:
        if (is_word(h->name, "Connection"))
            take_connection(head, h->value, t);
        break;
    case 14:
        if (is_word(h->name, "Content-Length")) {
            t->lengths++;
            head->ambiguous = head->ambiguous || !parse_length(h->value, &head->length);
        }
        break;
    case 17:
        if (is_word(h->name, "Transfer-Encoding")) {
            t->codings++;
            head->chunked = true;
            head->ambiguous = head->ambiguous || !is_word(h->value, "chunked");
        }
        break;
    default:
        break;
    }
}

static bool parse_header(const char *at, const char *end, struct head_header *ret)
{
    const char *from = at;
    at = skip(at, end, TOKEN);
    ret->name = (pawl_str){from, (size_t)(at - from)};
    if (!ret->name.len || at == end || *at != ':')
        return false;
    for (at++; at < end && (*at == ' ' || *at == '\t');)
        at++;
    from = at;
    at = skip_value(at, end);
    if (at != end)
        return false;
    while (at > from && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    ret->value = (pawl_str){from, (size_t)(at - from)};
    return true;
}

static void judge(struct head *head, const struct header_counts *t)
{
    if (!head->host.ptr)
        head->host = t->host;
    if (t->lengths > 1 || t->codings > 1 || t->hosts > 1 || (t->lengths && t->codings) ||
        (t->codings && head->is_old) || (!t->hosts && !head->is_old))
        head->ambiguous = true;
    if (t->closes)
        head->keep_alive = false;
    if (head->is_old)
        head->wants_continue = false;
    if (head->chunked || head->ambiguous)
        head->length = 0;
}

enum head_fault head_parse(const char *bytes, size_t n, struct head *ret)
{
    struct header_counts tally = {0};
    const char *end = bytes + n, *lf = memchr(bytes, '\n', n);
    memset(ret, 0, offsetof(struct head, headers));
    if (!lf || lf == bytes)
        return HEAD_MALFORMED;
    enum head_fault fault = parse_first(ret, bytes, lf - 1);
    for (const char *at = lf + 1; fault == HEAD_OK && end - at > 2; at = lf + 1) {
        struct head_header *h = &ret->headers[ret->count];
        lf = memchr(at, '\n', (size_t)(end - at));
        if (ret->count == HEAD_HEADERS)
            fault = HEAD_TOO_LARGE;
        else if (!lf || lf == at || !parse_header(at, lf - 1, h))
            fault = HEAD_MALFORMED;
        else {
            ret->count++;
            take_known(ret, h, &tally);
        }
        if (!lf)
            break;
    }
    judge(ret, &tally);
    return fault;
}

void head_seal(struct head *head, char *bytes)
{
    const char *base = bytes;
    bytes[head->method.ptr - base + (ptrdiff_t)head->method.len] = 0;
    if (head->target.ptr[head->target.len])
        bytes[head->target.ptr - base + (ptrdiff_t)head->target.len] = 0;
    for (size_t i = 0; i < head->count; i++) {
        pawl_str value = head->headers[i].value;
        bytes[value.ptr - base + (ptrdiff_t)value.len] = 0;
    }
}

pawl_str head_get(const struct head *head, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < head->count; i++)
        if (head->headers[i].name.len == n && strncasecmp(head->headers[i].name.ptr, name, n) == 0)
            return head->headers[i].value;
    return (pawl_str){0};
}
