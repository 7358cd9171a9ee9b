/* SPDX-License-Identifier: MIT */
/*
 * schedule/zone.h -- time zones: which offset from UTC holds at an instant.
 *
 * A zone is a list of segments: from one instant to another the offset is the same.  They
 * come from the 64-bit block of a TZif file (RFC 8536) and, after the last transition there, from the
 * POSIX rule in its last line.  The bytes are not copied: they must live as long as the zone.
 * Times are seconds here.
 *
 * zone_read() takes any bytes: it refuses what is not a whole, ordered file, so that
 * zone_segment() needs no checks.
 */
#ifndef PAWL_SCHEDULE_ZONE_H
#define PAWL_SCHEDULE_ZONE_H

#include "pawl/types.h"

#define ZONE_FILE_MAX   (256 * 1024) /* bytes; the longest of tzdata has 4 KB */
#define ZONE_TIMES_MAX  8192
#define ZONE_NAME_BYTES 64
#define ZONE_FOREVER    (INT64_C(1) << 40) /* no segment begins before minus this or ends after it */

/* A day of each year and a time of that day. */
struct zone_date {
    enum { DATE_JULIAN, DATE_DAY, DATE_MONTH } kind; /* Jn, n, Mm.w.d */
    int month, week, day;
    int32_t time; /* seconds after midnight; may be negative or longer than a day */
};

struct zone_rule {
    int32_t standard, summer; /* offsets */
    bool changes;             /* between the two; else `standard` for ever */
    struct zone_date begin, end;
};

struct zone {
    const unsigned char *times; /* 8 bytes each, big end first, ascending */
    const unsigned char *kinds; /* of each time: its entry of `types` */
    const unsigned char *types; /* 6 bytes each; the first 4 are the offset */
    size_t time_count;
    bool has_rule;
    struct zone_rule rule;
    uint64_t hash; /* of the bytes: changes when the file does */
};

/* The offset is the same from `start` to before `end`. */
struct segment {
    int64_t start, end;
    int32_t offset; /* local time minus UTC */
};

/* False, with what is wrong with the bytes in `reterr`. */
bool zone_read(struct zone *ret, pawl_str bytes, pawl_error *reterr);
/* The last line of a file, without its line ends. */
bool zone_read_rule(struct zone_rule *ret, pawl_str text);
/* The segment of this instant; `z` NULL: UTC. */
struct segment zone_segment(const struct zone *z, int64_t at);
struct segment zone_rule_segment(const struct zone_rule *rule, int64_t at);

/* Read the file of this zone into `mem`.  PAWL_NOT_FOUND: there is none; PAWL_INVALID: no
 * name of a zone, or the file is damaged.  NULL, "" and "UTC" have no file: *ret is NULL. */
pawl_status zone_load(const char *name, pawl_mem *mem, const struct zone **ret, pawl_error *reterr);

#endif
