/* SPDX-License-Identifier: MIT */
/*
 * schedule/zone.c -- TZif files (RFC 8536), read in place.
 *
 * A file is a block with 32-bit times for old readers, which is skipped, a block with 64-bit times,
 * and a line with a POSIX rule for the time after the last transition.  Every count is checked
 * against the length of the file before a byte behind it is read.
 */
#include "schedule/zone.h"

#include "base/limits.h"
#include "base/rand.h"

#include <string.h>

#define HEAD_BYTES  44
#define TYPES_MAX   256
#define OFFSET_LOW  (-89999) /* RFC 8536: more than -25 hours, less than 26 hours */
#define OFFSET_HIGH 93599

struct block {
    uint64_t ut, standard, leaps, times, types, letters; /* counts, in the order of the head */
    uint64_t bytes;                                      /* of the data behind the head */
};

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t get64(const unsigned char *at)
{
    return (int64_t)((uint64_t)get32(at) << 32 | get32(at + 4));
}

/* The head at `at`; its data lies within the `left` bytes behind `at`. */
static bool read_head(const unsigned char *at, size_t left, unsigned time_bytes, struct block *ret)
{
    if (left < HEAD_BYTES || memcmp(at, "TZif", 4) != 0 || at[4] < '2')
        return false;
    at += 20; /* six counts of 32 bits */
    *ret = (struct block){.ut = get32(at),
                          .standard = get32(at + 4),
                          .leaps = get32(at + 8),
                          .times = get32(at + 12),
                          .types = get32(at + 16),
                          .letters = get32(at + 20)};
    ret->bytes = ret->times * (time_bytes + 1) + ret->types * 6 + ret->letters +
                 ret->leaps * (time_bytes + 4) + ret->standard + ret->ut;
    return ret->bytes <= left - HEAD_BYTES;
}

static bool is_ordered(const struct zone *z, const struct block *b)
{
    for (size_t i = 0; i < b->times; i++)
        if (z->kinds[i] >= b->types ||
            (i && get64(z->times + i * 8) <= get64(z->times + i * 8 - 8)))
            return false;
    for (size_t i = 0; i < b->types; i++) {
        int32_t offset = (int32_t)get32(z->types + i * 6);
        if (offset < OFFSET_LOW || offset > OFFSET_HIGH)
            return false;
    }
    return true;
}

/* The line behind the data: LF, rule, LF. */
static bool read_last_line(struct zone *z, const unsigned char *at, size_t left)
{
    const unsigned char *end = left > 1 && *at == '\n' ? memchr(at + 1, '\n', left - 1) : NULL;
    if (!end)
        return false;
    pawl_str line = {(const char *)at + 1, (size_t)(end - at - 1)};
    z->has_rule = line.len > 0;
    return !z->has_rule || zone_read_rule(&z->rule, line);
}

static const char *what_is_wrong(struct zone *z, const unsigned char *at, size_t left)
{
    struct block old, b;
    if (!read_head(at, left, 4, &old))
        return "it is not a TZif file with 64-bit times";
    at += HEAD_BYTES + old.bytes;
    left -= HEAD_BYTES + old.bytes;
    if (!read_head(at, left, 8, &b))
        return "its 64-bit block is cut off";
    if (b.leaps)
        return "it counts leap seconds; use the zone without right/";
    if (!b.types || b.types > TYPES_MAX || b.times > ZONE_TIMES_MAX)
        return "it has more transitions or offsets than a zone can have, or none";
    z->times = at + HEAD_BYTES;
    z->kinds = z->times + b.times * 8;
    z->types = z->kinds + b.times;
    z->time_count = b.times;
    if (!is_ordered(z, &b))
        return "its transitions are not in order";
    if (!read_last_line(z, at + HEAD_BYTES + b.bytes, left - HEAD_BYTES - b.bytes))
        return "its last line is not a rule";
    return NULL;
}

bool zone_read(struct zone *ret, pawl_str bytes, pawl_error *reterr)
{
    static const uint64_t key[2] = {UINT64_C(0x7061776c), UINT64_C(0x7a6f6e65)};
    *ret = (struct zone){.hash = siphash24(key, bytes.ptr, bytes.len)};
    const char *wrong = what_is_wrong(ret, (const unsigned char *)bytes.ptr, bytes.len);
    if (wrong)
        error_set(reterr, PAWL_INVALID, "%s", wrong);
    return !wrong;
}

static int64_t time_at(const struct zone *z, size_t i)
{
    int64_t t = get64(z->times + i * 8);
    return t < -ZONE_FOREVER ? -ZONE_FOREVER : t > ZONE_FOREVER ? ZONE_FOREVER : t;
}

/* How many transitions are not later than `at`. */
static size_t count_until(const struct zone *z, int64_t at)
{
    size_t low = 0, high = z->time_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (time_at(z, middle) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct segment zone_segment(const struct zone *z, int64_t at)
{
    if (!z)
        return (struct segment){-ZONE_FOREVER, ZONE_FOREVER, 0};
    size_t n = count_until(z, at);
    int64_t start = n ? time_at(z, n - 1) : -ZONE_FOREVER;
    if (n == z->time_count && z->has_rule) {
        struct segment s = zone_rule_segment(&z->rule, at);
        s.start = s.start > start ? s.start : start;
        return s;
    }
    return (struct segment){.start = start,
                            .end = n < z->time_count ? time_at(z, n) : ZONE_FOREVER,
                            .offset =
                                (int32_t)get32(z->types + (n ? z->kinds[n - 1] : 0) * (size_t)6)};
}
