/* SPDX-License-Identifier: MIT */
/*
 * base/json_scalar.h -- the parts of the JSON scanner that know no nesting.
 *
 * Each reads from *at and leaves *at behind what it read; when it returns false,
 * at the place where it breaks.  Nothing is read at or behind `end`.
 */
#ifndef PAWL_BASE_JSON_SCALAR_H
#define PAWL_BASE_JSON_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

bool json_scan_string(const char **at, const char *end); /* **at is the opening quote */
bool json_scan_number(const char **at, const char *end);
bool json_scan_literal(const char **at, const char *end); /* true, false, null */
/* The four hex digits at `at`; -1 when there are not four. */
int json_hex4(const char *at, const char *end);
/* The exponent of a number, behind its `e`, clamped to a range in which nothing overflows; then
 * *rethuge. */
int64_t json_exponent(const char *at, const char *end, bool *rethuge);

#endif
