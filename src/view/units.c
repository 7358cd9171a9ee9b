/* SPDX-License-Identifier: MIT */
/*
 * view/units.c -- durations, sizes and times as people write and read them.
 *
 * A duration without a unit is refused: 30 could mean seconds or milliseconds.
 */
#include "view/units.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    int64_t ms;
} units[] = {
    {"ms", 1        },
    {"s",  1000     },
    {"m",  60000    },
    {"h",  3600000  },
    {"d",  86400000 },
    {"w",  604800000}
};

/* Digits at *at; moves past them. */
static bool read_digits(const char **at, uint64_t max, uint64_t *ret)
{
    const char *p = *at;
    uint64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (p == *at)
        return false;
    *at = p;
    *ret = n;
    return true;
}

bool parse_count(const char *text, uint64_t max, uint64_t *ret)
{
    uint64_t n;
    if (!read_digits(&text, max, &n) || *text)
        return false;
    *ret = n;
    return true;
}

static int64_t read_unit(const char **at)
{
    size_t len = strspn(*at, "abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strlen(units[i].name) == len && memcmp(*at, units[i].name, len) == 0) {
            *at += len;
            return units[i].ms;
        }
    return 0;
}

bool parse_duration(const char *text, int64_t *ret_ms)
{
    if (strcmp(text, "0") == 0) {
        *ret_ms = 0;
        return true;
    }
    int64_t total = 0;
    do {
        uint64_t n;
        if (!read_digits(&text, INT64_MAX, &n))
            return false;
        int64_t unit = read_unit(&text), part;
        if (!unit || __builtin_mul_overflow((int64_t)n, unit, &part) ||
            __builtin_add_overflow(total, part, &total))
            return false;
    } while (*text);
    *ret_ms = total;
    return true;
}

/* "Z", "+01:00": how far it is ahead of UTC, in seconds. */
static bool read_offset(const char *at, int64_t *ret)
{
    unsigned hours, minutes;
    int end = 0;
    if (strcmp(at, "Z") == 0) {
        *ret = 0;
        return true;
    }
    if ((*at != '+' && *at != '-') || strspn(at + 1, "0123456789:") != 5 ||
        sscanf(at + 1, "%2u:%2u%n", &hours, &minutes, &end) != 2 || at[1 + end] || hours > 23 ||
        minutes > 59)
        return false;
    *ret = (*at == '-' ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
    return true;
}

/* ".125" */
static int64_t read_fraction(const char **at)
{
    int64_t ms = 0, unit = 100;
    if (**at != '.')
        return 0;
    for ((*at)++; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
        ms += (**at - '0') * unit;
    return ms;
}

bool parse_time(const char *text, int64_t *ret_ms)
{
    struct tm tm = {0}, given;
    uint64_t number;
    int64_t ahead;
    if (parse_count(text, INT64_MAX, &number)) {
        *ret_ms = (int64_t)number;
        return true;
    }
    const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!at || strspn(text, "0123456789") != 4)
        return false;
    int64_t ms = read_fraction(&at);
    given = tm;
    time_t seconds = timegm(&tm);
    if (!read_offset(at, &ahead) || given.tm_mday != tm.tm_mday || given.tm_sec != tm.tm_sec)
        return false; /* no such day, or a leap second */
    *ret_ms = (int64_t)seconds * 1000 + ms - ahead * 1000;
    return true;
}

bool parse_size(const char *text, uint64_t *ret)
{
    uint64_t n;
    if (!read_digits(&text, UINT64_MAX, &n))
        return false;
    static const char letters[] = "KMGT";
    const char *letter = *text ? strchr(letters, *text & ~0x20) : NULL;
    unsigned shift = letter ? 10U * (unsigned)(letter - letters + 1) : 0;
    text += letter ? 1 : 0;
    if (letter && *text == 'i')
        text++;
    if (*text == 'B' || *text == 'b')
        text++;
    if (*text || (n << shift) >> shift != n)
        return false;
    *ret = n << shift;
    return true;
}

const char *format_duration(char out[UNITS_BYTES], int64_t ms)
{
    if (ms < 0)
        ms = 0;
    long long s = (long long)ms / 1000, m = s / 60, h = m / 60, d = h / 24;
    if (ms < 1000)
        snprintf(out, UNITS_BYTES, "%lld ms", (long long)ms);
    else if (s < 60)
        snprintf(out, UNITS_BYTES, "%lld.%lld s", s, ((long long)ms % 1000) / 100);
    else if (m < 60)
        snprintf(out, UNITS_BYTES, "%lldm %llds", m, s % 60);
    else if (h < 72)
        snprintf(out, UNITS_BYTES, "%lldh %lldm", h, m % 60);
    else
        snprintf(out, UNITS_BYTES, "%lldd %lldh", d, h % 24);
    return out;
}

const char *format_time(char out[UNITS_BYTES], int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    int rest = (int)(ms % 1000);
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    struct tm tm;
    size_t n = gmtime_r(&seconds, &tm) ? strftime(out, UNITS_BYTES, "%Y-%m-%dT%H:%M:%S", &tm) : 0;
    if (n)
        snprintf(out + n, UNITS_BYTES - n, ".%03dZ", rest);
    else
        snprintf(out, UNITS_BYTES, "%lld ms", (long long)ms);
    return out;
}

const char *format_size(char out[UNITS_BYTES], uint64_t bytes)
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit + 1 < COUNT_OF(names)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, UNITS_BYTES, unit ? "%.1f %s" : "%.0f %s", value, names[unit]);
    return out;
}

const char *format_count(char out[UNITS_BYTES], uint64_t n)
{
    char digits[UNITS_BYTES];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    size_t at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}
