/* SPDX-License-Identifier: MIT */
/*
 * view/units.h -- durations, sizes and times as people write and read them.
 *
 * Pure functions.  Writers fill the caller's buffer and return it.
 */
#ifndef PAWL_VIEW_UNITS_H
#define PAWL_VIEW_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "500ms", "10s", "1h30m", "30d", "0"; false for anything else. */
bool parse_duration(const char *text, int64_t *ret_ms);
/* "4096", "64K", "2M", "1G" (powers of 1024; "2MiB" too); false for anything else. */
bool parse_size(const char *text, uint64_t *ret);
/* "2026-01-31T09:30:00Z", with parts of a second or not, Z or "+01:00", or milliseconds since 1970;
 * false for anything else. */
bool parse_time(const char *text, int64_t *ret_ms);
/* Decimal digits only, at most `max`. */
bool parse_count(const char *text, uint64_t max, uint64_t *ret);

#define UNITS_BYTES 32 /* enough for every writer below */

/* "340 ms", "2.4 s", "3m 20s", "47h 59m", "12d 4h". */
const char *format_duration(char out[UNITS_BYTES], int64_t ms);
/* "2026-01-31T09:30:00.125Z". */
const char *format_time(char out[UNITS_BYTES], int64_t ms);
/* "1.5 GiB". */
const char *format_size(char out[UNITS_BYTES], uint64_t bytes);
/* "12,345" */
const char *format_count(char out[UNITS_BYTES], uint64_t n);

#endif
