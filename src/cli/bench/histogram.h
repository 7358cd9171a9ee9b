/* SPDX-License-Identifier: MIT */
/*
 * cli/bench/histogram.h -- percentiles of any number of values in fixed memory.
 *
 * Buckets grow with the value: 64 to each doubling, so a percentile is within
 * 1.6 % of the truth.  Not thread-safe.
 */
#ifndef PAWL_CLI_HISTOGRAM_H
#define PAWL_CLI_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_FINE    64
#define HISTOGRAM_BUCKETS (HISTOGRAM_FINE * 40)

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
};

void histogram_add(struct histogram *h, int64_t value, uint64_t times);
/* The value below which `percent` of them lie; 0 when there are none. */
int64_t histogram_at(const struct histogram *h, double percent);

#endif
